/* The file of a portable artifact: what its sections hold, and their order. */
#include "read/bytecode/write.h"

#include <inttypes.h>

/* ---- bytes ----------------------------------------------------------------------------------- */

void bc_put_byte(struct bc_writer *w, struct bc_bytes *to, uint8_t byte) {
    ARENA_PUSH(&w->arena, to, byte);
}

void bc_put_bytes(struct bc_writer *w, struct bc_bytes *to, struct str s) {
    for (size_t i = 0; i < s.n; i++)
        bc_put_byte(w, to, (uint8_t)s.p[i]);
}

/* As many zeros below the lowest one of the first byte as bytes follow. */
void bc_put_vi(struct bc_writer *w, struct bc_bytes *to, uint64_t v) {
    unsigned more = 0;
    while (more < 8 && v >> (7 * (more + 1)))
        more++;
    if (more == 8)
        bc_put_byte(w, to, 0);
    else
        v = (v << 1 | 1) << more;
    for (unsigned i = 0; i < (more == 8 ? 8 : more + 1); i++)
        bc_put_byte(w, to, (uint8_t)(v >> (8 * i)));
}

void bc_put_svi(struct bc_writer *w, struct bc_bytes *to, int64_t v) {
    bc_put_vi(w, to, (uint64_t)v << 1 ^ (0 - ((uint64_t)v >> 63)));
}

void bc_put_flagged(struct bc_writer *w, struct bc_bytes *to, uint64_t v, bool flag) {
    bc_put_vi(w, to, v << 1 | flag);
}

/* ---- entries --------------------------------------------------------------------------------- */

static bool item_equal(const void *cx, uint32_t id, const void *key) {
    const struct bc_item *a = &((const struct bc_items *)cx)->item.v[id], *b = key;
    return a->dialect == b->dialect && a->custom == b->custom && str_eq(a->head, b->head) && str_eq(a->data, b->data);
}

uint32_t bc_item(struct bc_writer *w, struct bc_items *in, struct bc_item item) {
    uint64_t hash = str_hash(item.data.p, item.data.n, str_hash(item.head.p, item.head.n, item.dialect));
    uint32_t id = intern_find(&in->set, hash, item_equal, in, &item);
    if (!id) {
        if (in->item.n == 0)
            ARENA_PUSH(&w->arena, &in->item, ((struct bc_item){0}));
        id = in->item.n;
        item.head.p = arena_dup(&w->arena, item.head.p, item.head.n, 1);
        ARENA_PUSH(&w->arena, &in->item, item);
        intern_add(&in->set, &w->arena, hash, id);
    }
    return id - 1;
}

static uint32_t count_items(const struct bc_items *in) {
    return in->item.n ? in->item.n - 1 : 0;
}

uint32_t bc_string_index(struct bc_writer *w, struct str s) {
    return bc_item(w, &w->strings, (struct bc_item){.head = s});
}

uint32_t bc_dialect_index(struct bc_writer *w, const char *name) {
    for (uint32_t i = 0; i < w->dialects.n; i++)
        if (str_is(w->dialects.v[i], name))
            return i;
    struct str s = str_of(name);
    s.p = arena_dup(&w->arena, s.p, s.n, 1);
    ARENA_PUSH(&w->arena, &w->dialects, s);
    return w->dialects.n - 1;
}

uint32_t *bc_map(struct bc_writer *w, uint32_t **v, uint32_t *cap, uint32_t id) {
    while (id >= *cap)
        *v = arena_grow(&w->arena, *v, *cap, cap, sizeof **v);
    return &(*v)[id];
}

hilo_status bc_refuse(struct bc_writer *w, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    hilo_status status = ir_op_verror(w->m, w->d, w->op, HILO_UNIMPLEMENTED, NULL, fmt, ap);
    va_end(ap);
    return status;
}

hilo_status bc_check_since(struct bc_writer *w, int since, const char *what) {
    if (since <= w->target)
        return HILO_OK;
    return bc_refuse(w, "%s%sneeds StableHLO %d.%d, the target is %d.%d", what ? what : "", what ? " " : "", since / 1000,
                     since % 1000, w->target / 1000, w->target % 1000);
}

/* ---- sections -------------------------------------------------------------------------------- */

enum { SECTION_STRING, SECTION_DIALECT, SECTION_ATTR_TYPE, SECTION_OFFSETS, SECTION_IR, SECTION_PROPERTIES = 8 };

static void put_head(struct bc_writer *w, struct strbuf *out, uint8_t id, size_t n) {
    struct bc_bytes head = {NULL, 0, 0};
    bc_put_byte(w, &head, id);
    bc_put_vi(w, &head, n);
    strbuf_putn(out, (const char *)head.v, head.n);
}

static void put_section(struct bc_writer *w, struct strbuf *out, uint8_t id, const struct bc_bytes *bytes) {
    put_head(w, out, id, bytes->n);
    strbuf_putn(out, (const char *)bytes->v, bytes->n);
}

static void put_strings(struct bc_writer *w, struct strbuf *out) {
    struct bc_bytes sizes = {NULL, 0, 0};
    size_t n = 0;
    uint32_t count = count_items(&w->strings);
    bc_put_vi(w, &sizes, count);
    for (uint32_t i = count; i > 0; i--) {
        bc_put_vi(w, &sizes, w->strings.item.v[i].head.n + 1);
        n += w->strings.item.v[i].head.n + 1;
    }
    put_head(w, out, SECTION_STRING, sizes.n + n);
    strbuf_putn(out, (const char *)sizes.v, sizes.n);
    for (uint32_t i = 1; i <= count; i++) {
        strbuf_str(out, w->strings.item.v[i].head);
        strbuf_putc(out, '\0');
    }
}

/* Runs of op names of one dialect are groups. */
static void put_dialects(struct bc_writer *w, struct strbuf *out) {
    struct bc_bytes b = {NULL, 0, 0};
    bc_put_vi(w, &b, w->dialects.n);
    for (uint32_t i = 0; i < w->dialects.n; i++)
        bc_put_flagged(w, &b, bc_string_index(w, w->dialects.v[i]), /*has a version=*/false);
    bc_put_vi(w, &b, w->op_names.n);
    for (uint32_t i = 0, n; i < w->op_names.n; i += n) {
        for (n = 1; i + n < w->op_names.n && w->op_names.v[i + n].dialect == w->op_names.v[i].dialect; n++)
            ;
        bc_put_vi(w, &b, w->op_names.v[i].dialect);
        bc_put_vi(w, &b, n);
        for (uint32_t j = i; j < i + n; j++)
            bc_put_flagged(w, &b, w->op_names.v[j].name, /*registered=*/true);
    }
    put_section(w, out, SECTION_DIALECT, &b);
}

static void put_offsets(struct bc_writer *w, struct bc_bytes *b, const struct bc_items *in, size_t *total) {
    const struct bc_item *v = in->item.v;
    uint32_t count = count_items(in);
    for (uint32_t i = 1, n; i <= count; i += n) {
        for (n = 1; i + n <= count && v[i + n].dialect == v[i].dialect; n++)
            ;
        bc_put_vi(w, b, v[i].dialect);
        bc_put_vi(w, b, n);
        for (uint32_t j = i; j < i + n; j++) {
            bc_put_flagged(w, b, v[j].head.n + v[j].data.n, v[j].custom);
            *total += v[j].head.n + v[j].data.n;
        }
    }
}

static void put_items(struct strbuf *out, const struct bc_items *in) {
    for (uint32_t i = 1; i <= count_items(in); i++) {
        strbuf_str(out, in->item.v[i].head);
        strbuf_str(out, in->item.v[i].data);
    }
}

static void put_attr_types(struct bc_writer *w, struct strbuf *out) {
    struct bc_bytes b = {NULL, 0, 0};
    size_t total = 0;
    bc_put_vi(w, &b, count_items(&w->attrs));
    bc_put_vi(w, &b, count_items(&w->types));
    put_offsets(w, &b, &w->attrs, &total);
    put_offsets(w, &b, &w->types, &total);
    put_section(w, out, SECTION_OFFSETS, &b);
    put_head(w, out, SECTION_ATTR_TYPE, total);
    put_items(out, &w->attrs);
    put_items(out, &w->types);
}

static void put_records(struct bc_writer *w, struct strbuf *out) {
    struct bc_bytes b = {NULL, 0, 0};
    bc_put_vi(w, &b, count_items(&w->records));
    for (uint32_t i = 1; i <= count_items(&w->records); i++) {
        bc_put_vi(w, &b, w->records.item.v[i].head.n);
        bc_put_bytes(w, &b, w->records.item.v[i].head);
    }
    put_section(w, out, SECTION_PROPERTIES, &b);
}

/* ---- entry ----------------------------------------------------------------------------------- */

static hilo_status write_file(struct bc_writer *w, struct strbuf *out) {
    struct bc_bytes head = {NULL, 0, 0}, ir = {NULL, 0, 0};
    bc_dialect_index(w, "builtin");
    bc_dialect_index(w, "vhlo");
    HILO_TRY(bc_write_module(w, &ir));
    bc_put_bytes(w, &head, STR("ML\xEFR"));
    bc_put_vi(w, &head, BC_NEWEST);
    strbuf_putn(out, (const char *)head.v, head.n);
    strbuf_printf(out, "StableHLO_v%d.%d.0", w->target / 1000, w->target % 1000);
    strbuf_putc(out, '\0');
    put_dialects(w, out);
    put_attr_types(w, out);
    put_section(w, out, SECTION_IR, &ir);
    put_strings(w, out);
    put_records(w, out);
    return out->failed ? HILO_RESOURCE_EXHAUSTED : HILO_OK;
}

hilo_status write_bytecode(const struct ir_module *m, struct diag_list *d, int target, struct strbuf *out) {
    jmp_buf recover;
    struct bc_writer w = {.m = m, .d = d, .target = target};
    if (target < BC_OLDEST_TARGET || target > BC_STABLEHLO)
        return diag_error(d, HILO_INVALID_ARGUMENT, "StableHLO %d.%d cannot be written, only 1.0 to %d.%d", target / 1000,
                          target % 1000, BC_STABLEHLO / 1000, BC_STABLEHLO % 1000);
    arena_init(&w.arena, out->al, &recover);
    volatile hilo_status status = HILO_RESOURCE_EXHAUSTED;
    if (setjmp(recover) == 0)
        status = write_file(&w, out);
    arena_free(&w.arena);
    return status;
}

bool bc_version_named(struct str text, int *out) {
    int part[3] = {0, 0, 0}, n = 0;
    for (size_t i = 0; i < text.n; i++) {
        if (text.p[i] == '.' && n < 2 && i > 0 && text.p[i - 1] != '.' && i + 1 < text.n)
            n++;
        else if (text.p[i] >= '0' && text.p[i] <= '9' && part[n] < 100)
            part[n] = part[n] * 10 + (text.p[i] - '0');
        else
            return false;
    }
    *out = BC_V(part[0], part[1]);
    return n > 0 && part[1] < 1000;
}
