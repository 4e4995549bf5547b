/* The file of MLIR bytecode: numbers, sections, and the tables that ops refer to. */
#include "read/bytecode/bytecode.h"

#include <inttypes.h>

enum bc_section_id {
    SECTION_STRING, SECTION_DIALECT, SECTION_ATTR_TYPE, SECTION_ATTR_TYPE_OFFSET, SECTION_IR, SECTION_RESOURCE,
    SECTION_RESOURCE_OFFSET, SECTION_DIALECT_VERSIONS, SECTION_PROPERTIES, SECTION_COUNT
};

static const char *const section_names[SECTION_COUNT] = {
    "string", "dialect", "attribute and type", "attribute and type offset", "IR", "resource", "resource offset",
    "dialect version", "property",
};

hilo_status bc_error(struct bc *b, const void *at, const char *fmt, ...) {
    struct strbuf text;
    va_list ap;
    strbuf_init(&text, b->d->al);
    va_start(ap, fmt);
    strbuf_vprintf(&text, fmt, ap);
    va_end(ap);
    size_t offset = (size_t)((const char *)at - b->file.p);
    diag_add(b->d, DIAG_ERROR, HILO_INVALID_ARGUMENT, NULL, (struct diag_loc){.file = b->m->name}, (struct str){NULL, 0},
             "at byte %zu: %s", offset, text.p ? text.p : "");
    strbuf_free(&text);
    return HILO_INVALID_ARGUMENT;
}

hilo_status bc_newer(struct bc *b, const void *at, const char *what) {
    return bc_error(b, at, "%s is not of StableHLO %d.%d, the newest version that is known; the file is from %.*s", what,
                    BC_STABLEHLO / 1000, BC_STABLEHLO % 1000, (int)b->producer.n, b->producer.p);
}

/* ---- numbers --------------------------------------------------------------------------------- */

/* Results are set in any case, so that callers need not. */
hilo_status bc_byte(struct bc *b, struct bc_cursor *c, uint8_t *out) {
    *out = 0;
    if (c->at == c->end)
        return bc_error(b, c->at, "expected a byte, found the end of the section");
    *out = *c->at++;
    return HILO_OK;
}

/* The zeros below the lowest one of the first byte count the bytes that follow. */
hilo_status bc_vi(struct bc *b, struct bc_cursor *c, uint64_t *out) {
    *out = 0;
    if (c->at == c->end)
        return bc_error(b, c->at, "expected a number, found the end of the section");
    unsigned more = *c->at ? (unsigned)__builtin_ctz(*c->at) : 8;
    if (bc_left(c) <= more)
        return bc_error(b, c->at, "expected a number of %u bytes, found %zu", more + 1, bc_left(c));
    uint64_t v = 0;
    for (unsigned i = more == 8 ? 8 : more; i > 0; i--)
        v = v << 8 | c->at[i];
    *out = more == 8 ? v : (v << 8 | c->at[0]) >> (more + 1);
    c->at += more + 1;
    return HILO_OK;
}

hilo_status bc_svi(struct bc *b, struct bc_cursor *c, int64_t *out) {
    uint64_t u;
    HILO_TRY(bc_vi(b, c, &u));
    *out = (int64_t)(u >> 1 ^ (0 - (u & 1)));
    return HILO_OK;
}

hilo_status bc_flagged(struct bc *b, struct bc_cursor *c, uint64_t *out, bool *flag) {
    uint64_t u;
    *out = 0;
    *flag = false;
    HILO_TRY(bc_vi(b, c, &u));
    *flag = u & 1;
    *out = u >> 1;
    return HILO_OK;
}

static hilo_status check_count(struct bc *b, const struct bc_cursor *c, const uint8_t *at, uint64_t n) {
    if (n > bc_left(c) || n > UINT32_MAX / 2)
        return bc_error(b, at, "a count of %" PRIu64 " does not fit into the %zu bytes that are left", n, bc_left(c));
    return HILO_OK;
}

hilo_status bc_count(struct bc *b, struct bc_cursor *c, uint32_t *out) {
    const uint8_t *at = c->at;
    uint64_t n;
    HILO_TRY(bc_vi(b, c, &n));
    HILO_TRY(check_count(b, c, at, n));
    *out = (uint32_t)n;
    return HILO_OK;
}

hilo_status bc_take(struct bc *b, struct bc_cursor *c, uint64_t n, struct str *out) {
    *out = (struct str){NULL, 0};
    if (n > bc_left(c))
        return bc_error(b, c->at, "expected %" PRIu64 " bytes, found %zu", n, bc_left(c));
    *out = (struct str){(const char *)c->at, (size_t)n};
    c->at += n;
    return HILO_OK;
}

hilo_status bc_check_index(struct bc *b, const uint8_t *at, uint64_t i, uint32_t n, const char *what) {
    return i < n ? HILO_OK : bc_error(b, at, "expected one of %u %s, found number %" PRIu64, n, what, i);
}

hilo_status bc_index(struct bc *b, struct bc_cursor *c, uint32_t n, const char *what, uint32_t *out) {
    const uint8_t *at = c->at;
    uint64_t i;
    HILO_TRY(bc_vi(b, c, &i));
    HILO_TRY(bc_check_index(b, at, i, n, what));
    *out = (uint32_t)i;
    return HILO_OK;
}

hilo_status bc_string(struct bc *b, struct bc_cursor *c, struct str *out) {
    uint32_t i;
    HILO_TRY(bc_index(b, c, b->strings.n, "strings", &i));
    *out = b->strings.v[i];
    return HILO_OK;
}

static hilo_status expect_end(struct bc *b, const struct bc_cursor *c, enum bc_section_id id) {
    if (c->at == c->end)
        return HILO_OK;
    return bc_error(b, c->at, "%zu bytes too many in the %s section", bc_left(c), section_names[id]);
}

/* ---- sections -------------------------------------------------------------------------------- */

hilo_status bc_section(struct bc *b, struct bc_cursor *c, uint8_t *id, struct bc_cursor *inside) {
    enum { ALIGNED = 0x80, PADDING = 0xCB };
    const uint8_t *at = c->at;
    uint64_t n, alignment;
    struct str bytes;
    HILO_TRY(bc_byte(b, c, id));
    HILO_TRY(bc_vi(b, c, &n));
    if (*id & ALIGNED) {
        HILO_TRY(bc_vi(b, c, &alignment));
        if (alignment == 0 || (alignment & (alignment - 1)))
            return bc_error(b, at, "expected a power of two as alignment, found %" PRIu64, alignment);
        while ((size_t)((const char *)c->at - b->file.p) & (alignment - 1)) {
            uint8_t padding;
            HILO_TRY(bc_byte(b, c, &padding));
            if (padding != PADDING)
                return bc_error(b, c->at - 1, "expected the byte 0xCB as padding, found 0x%02X", padding);
        }
        *id &= ALIGNED - 1;
    }
    if (*id >= SECTION_COUNT)
        return bc_error(b, at, "expected a section, found the number %u", (unsigned)*id);
    HILO_TRY(bc_take(b, c, n, &bytes));
    *inside = (struct bc_cursor){(const uint8_t *)bytes.p, (const uint8_t *)bytes.p + bytes.n};
    return HILO_OK;
}

/* The sizes of the strings come first, from the last to the first, each with the byte 0 that ends it. */
static hilo_status read_strings(struct bc *b, struct bc_cursor c) {
    HILO_TRY(bc_count(b, &c, &b->strings.n));
    b->strings.v = ARENA_ARRAY(&b->m->arena, struct str, b->strings.n);
    for (uint32_t i = b->strings.n; i-- > 0;) {
        const uint8_t *at = c.at;
        uint64_t size;
        HILO_TRY(bc_vi(b, &c, &size));
        if (size == 0 || size > bc_left(&c))
            return bc_error(b, at, "a string of %" PRIu64 " bytes does not fit into the %zu bytes that are left", size,
                            bc_left(&c));
        b->strings.v[i].n = (size_t)size - 1;
    }
    for (uint32_t i = 0; i < b->strings.n; i++) {
        struct str bytes;
        HILO_TRY(bc_take(b, &c, (uint64_t)b->strings.v[i].n + 1, &bytes));
        if (bytes.p[bytes.n - 1] != '\0')
            return bc_error(b, bytes.p + bytes.n - 1, "expected the byte 0 at the end of a string");
        b->strings.v[i].p = bytes.p;
    }
    return expect_end(b, &c, SECTION_STRING);
}

static enum bc_dialect dialect_named(struct str name) {
    static const struct { const char *name; enum bc_dialect id; } known[] = {
        {"builtin", BC_BUILTIN}, {"vhlo", BC_VHLO}, {"stablehlo", BC_STABLEHLO_DIALECT}, {"chlo", BC_CHLO},
        {"func", BC_FUNC}, {"quant", BC_QUANT_DIALECT}, {"sdy", BC_SDY},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (str_is(name, known[i].name))
            return known[i].id;
    return BC_OTHER;
}

static hilo_status read_op_names(struct bc *b, struct bc_cursor *c) {
    uint64_t total;
    if (b->version >= 4)
        HILO_TRY(bc_vi(b, c, &total)); /* a hint for readers that allocate in advance */
    while (c->at != c->end) {
        struct bc_op_name op = {0};
        uint32_t n;
        HILO_TRY(bc_index(b, c, b->dialects.n, "dialects", &op.dialect));
        HILO_TRY(bc_count(b, c, &n));
        while (n-- > 0) {
            const uint8_t *at = c->at;
            uint64_t name;
            op.registered = true;
            if (b->version >= 5)
                HILO_TRY(bc_flagged(b, c, &name, &op.registered));
            else
                HILO_TRY(bc_vi(b, c, &name));
            HILO_TRY(bc_check_index(b, at, name, b->strings.n, "strings"));
            op.name = b->strings.v[name];
            ARENA_PUSH(&b->m->arena, &b->op_names, op);
        }
    }
    return HILO_OK;
}

static hilo_status read_dialects(struct bc *b, struct bc_cursor c) {
    HILO_TRY(bc_count(b, &c, &b->dialects.n));
    b->dialects.v = arena_array(&b->m->arena, b->dialects.n, sizeof *b->dialects.v, 8);
    for (uint32_t i = 0; i < b->dialects.n; i++) {
        const uint8_t *at = c.at;
        bool has_version = false;
        uint64_t name;
        uint8_t id;
        struct bc_cursor version;
        if (b->version >= 1)
            HILO_TRY(bc_flagged(b, &c, &name, &has_version));
        else
            HILO_TRY(bc_vi(b, &c, &name));
        HILO_TRY(bc_check_index(b, at, name, b->strings.n, "strings"));
        b->dialects.v[i].name = b->strings.v[name];
        b->dialects.v[i].id = dialect_named(b->strings.v[name]);
        if (has_version) /* in a form of the dialect */
            HILO_TRY(bc_section(b, &c, &id, &version));
    }
    return read_op_names(b, &c);
}

/* Places of the attributes, then of the types, in groups of one dialect each. */
static hilo_status read_entries(struct bc *b, struct bc_cursor *offsets, struct bc_cursor *data, struct bc_entries *out) {
    for (uint32_t i = 0; i < out->n;) {
        const uint8_t *at = offsets->at;
        uint32_t dialect, n;
        HILO_TRY(bc_index(b, offsets, b->dialects.n, "dialects", &dialect));
        HILO_TRY(bc_count(b, offsets, &n));
        if (n > out->n - i)
            return bc_error(b, at, "%u entries more than the %u that were announced", n - (out->n - i), out->n);
        for (; n > 0; n--, i++) {
            struct bc_entry *e = &out->v[i];
            struct str bytes;
            uint64_t size;
            HILO_TRY(bc_flagged(b, offsets, &size, &e->custom));
            HILO_TRY(bc_take(b, data, size, &bytes));
            e->at = (const uint8_t *)bytes.p;
            e->n = bytes.n;
            e->dialect = dialect;
        }
    }
    return HILO_OK;
}

static hilo_status read_attr_types(struct bc *b, struct bc_cursor offsets, struct bc_cursor data) {
    HILO_TRY(bc_count(b, &offsets, &b->attrs.n));
    HILO_TRY(bc_count(b, &offsets, &b->types.n));
    b->attrs.v = ARENA_ARRAY(&b->m->arena, struct bc_entry, b->attrs.n);
    b->types.v = ARENA_ARRAY(&b->m->arena, struct bc_entry, b->types.n);
    HILO_TRY(read_entries(b, &offsets, &data, &b->attrs));
    HILO_TRY(read_entries(b, &offsets, &data, &b->types));
    HILO_TRY(expect_end(b, &offsets, SECTION_ATTR_TYPE_OFFSET));
    return expect_end(b, &data, SECTION_ATTR_TYPE);
}

static hilo_status read_records(struct bc *b, struct bc_cursor c) {
    HILO_TRY(bc_count(b, &c, &b->records.n));
    b->records.v = ARENA_ARRAY(&b->m->arena, struct str, b->records.n);
    for (uint32_t i = 0; i < b->records.n; i++) {
        uint64_t size;
        HILO_TRY(bc_vi(b, &c, &size));
        HILO_TRY(bc_take(b, &c, size, &b->records.v[i]));
    }
    return expect_end(b, &c, SECTION_PROPERTIES);
}

/* ---- resources ------------------------------------------------------------------------------- */

/* The data of a resource of kind blob: aligned in the file, alignment and size before it. */
static hilo_status resource_blob(struct bc *b, struct bc_cursor c, struct str *out) {
    const uint8_t *at = c.at;
    uint64_t alignment, size;
    HILO_TRY(bc_vi(b, &c, &alignment));
    HILO_TRY(bc_vi(b, &c, &size));
    if (alignment == 0 || (alignment & (alignment - 1)))
        return bc_error(b, at, "expected a power of two as alignment, found %" PRIu64, alignment);
    size_t past = (size_t)((const char *)c.at - b->file.p) & (alignment - 1);
    struct str padding;
    HILO_TRY(bc_take(b, &c, past ? alignment - past : 0, &padding));
    HILO_TRY(bc_take(b, &c, size, out));
    return expect_end(b, &c, SECTION_RESOURCE);
}

/* One group: resources of a tool or of a dialect, the latter kept in the order in which attributes count them. */
static hilo_status resource_group(struct bc *b, struct bc_cursor *c, struct bc_cursor *data, bool keep) {
    enum { BLOB, KINDS = 3 };
    uint32_t n;
    HILO_TRY(bc_count(b, c, &n));
    while (n-- > 0) {
        struct str key, bytes, blob = {NULL, 0};
        uint64_t size;
        uint8_t kind;
        HILO_TRY(bc_string(b, c, &key));
        HILO_TRY(bc_vi(b, c, &size));
        HILO_TRY(bc_byte(b, c, &kind));
        if (kind >= KINDS)
            return bc_error(b, c->at - 1, "expected a kind of resource, found the number %u", (unsigned)kind);
        HILO_TRY(bc_take(b, data, size, &bytes));
        if (!keep)
            continue;
        if (kind == BLOB && bytes.n)
            HILO_TRY(resource_blob(b, (struct bc_cursor){(const uint8_t *)bytes.p, (const uint8_t *)bytes.p + bytes.n}, &blob));
        ARENA_PUSH(&b->m->arena, &b->resources, ((__typeof__(*b->resources.v)){key, blob}));
    }
    return HILO_OK;
}

static hilo_status read_resources(struct bc *b, struct bc_cursor offsets, struct bc_cursor data) {
    uint32_t groups, dialect;
    struct str key;
    if (offsets.at == offsets.end)
        return HILO_OK;
    if (!data.at)
        data = (struct bc_cursor){offsets.end, offsets.end}; /* resources without data */
    HILO_TRY(bc_count(b, &offsets, &groups));
    for (; groups > 0; groups--) {
        HILO_TRY(bc_string(b, &offsets, &key));
        HILO_TRY(resource_group(b, &offsets, &data, /*keep=*/false));
    }
    while (offsets.at != offsets.end) {
        HILO_TRY(bc_index(b, &offsets, b->dialects.n, "dialects", &dialect));
        HILO_TRY(resource_group(b, &offsets, &data, /*keep=*/true));
    }
    return HILO_OK;
}

bool bc_stays(const struct bc *b, size_t n) {
    enum { LEAST = 64 << 10 }; /* bytes; smaller ones are copied, which costs nothing, and lets the file go */
    return b->m->bytes_stay && n >= LEAST;
}

/* Every attribute that names a resource sees its data, copied once or where it is. */
static void set_resources(struct bc *b) {
    for (uint32_t i = 0; i < b->resources.n; i++) {
        struct str data = b->resources.v[i].data;
        if (!data.p)
            continue;
        if (bc_stays(b, data.n) && (uintptr_t)data.p % 8 == 0) { /* of whatever type */
            b->m->bytes_used = true;
            ir_resource_set(b->m, b->resources.v[i].key, data.p, data.n, false);
            continue;
        }
        void *copy = ir_blob_new(b->m, data.n);
        if (data.n)
            memcpy(copy, data.p, data.n);
        ir_resource_set(b->m, b->resources.v[i].key, copy, data.n, false);
    }
}

/* ---- entry ----------------------------------------------------------------------------------- */

static const char magic[4] = {'M', 'L', '\xEF', 'R'};

bool read_is_bytecode(struct str bytes) {
    return bytes.n >= sizeof magic && memcmp(bytes.p, magic, sizeof magic) == 0;
}

/* Magic, version, producer. */
static hilo_status read_head(struct bc *b, struct bc_cursor *c) {
    if (!read_is_bytecode(b->file))
        return bc_error(b, b->file.p, "expected MLIR bytecode");
    *c = (struct bc_cursor){(const uint8_t *)b->file.p + sizeof magic, (const uint8_t *)b->file.p + b->file.n};
    const uint8_t *at = c->at, *end;
    HILO_TRY(bc_vi(b, c, &b->version));
    if (b->version > BC_NEWEST)
        return bc_error(b, at, "version %" PRIu64 " of MLIR bytecode is newer than %d, the newest that is known", b->version,
                        (int)BC_NEWEST);
    if (!(end = memchr(c->at, '\0', bc_left(c))))
        return bc_error(b, c->at, "expected the name of the producer, ended by the byte 0");
    b->producer = (struct str){(const char *)c->at, (size_t)(end - c->at)};
    c->at = end + 1;
    return HILO_OK;
}

static hilo_status read_sections(struct bc *b, struct bc_cursor c, struct bc_cursor *sections) {
    static const enum bc_section_id needed[] = {
        SECTION_STRING, SECTION_DIALECT, SECTION_ATTR_TYPE, SECTION_ATTR_TYPE_OFFSET, SECTION_IR, SECTION_PROPERTIES,
    };
    while (c.at != c.end) {
        const uint8_t *at = c.at;
        struct bc_cursor inside;
        uint8_t id;
        HILO_TRY(bc_section(b, &c, &id, &inside));
        if (sections[id].at || id == SECTION_DIALECT_VERSIONS)
            return bc_error(b, at, "unexpected %s section", section_names[id]);
        sections[id] = inside;
    }
    for (size_t i = 0; i < sizeof needed / sizeof *needed; i++)
        if (!sections[needed[i]].at && (needed[i] != SECTION_PROPERTIES || b->version >= 5))
            return bc_error(b, c.at, "expected a %s section, found the end of the file", section_names[needed[i]]);
    return HILO_OK;
}

hilo_status read_bytecode(struct ir_module *m, struct diag_list *d, struct str bytes) {
    struct bc b = {.m = m, .d = d, .file = bytes};
    struct bc_cursor c, s[SECTION_COUNT] = {0};
    HILO_TRY(read_head(&b, &c));
    HILO_TRY(read_sections(&b, c, s));
    HILO_TRY(read_strings(&b, s[SECTION_STRING]));
    HILO_TRY(read_dialects(&b, s[SECTION_DIALECT]));
    HILO_TRY(read_attr_types(&b, s[SECTION_ATTR_TYPE_OFFSET], s[SECTION_ATTR_TYPE]));
    if (s[SECTION_PROPERTIES].at)
        HILO_TRY(read_records(&b, s[SECTION_PROPERTIES]));
    HILO_TRY(read_resources(&b, s[SECTION_RESOURCE_OFFSET], s[SECTION_RESOURCE]));
    HILO_TRY(bc_module(&b, s[SECTION_IR]));
    set_resources(&b);
    return HILO_OK;
}
