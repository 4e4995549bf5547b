/* The file of HLO text: its head, the tables of places, computations, and instructions with their operands and attributes. */
#include "read/hlo/hlo.h"

enum { ATTRS_MOST = 64 }; /* of an instruction */

/* ---- attributes ------------------------------------------------------------------------------ */

struct str hlo_find(const struct hlo_attr *v, uint32_t n, const char *name) {
    for (uint32_t i = 0; i < n; i++)
        if (str_is(v[i].name, name))
            return v[i].value;
    return (struct str){NULL, 0};
}

struct attrs { struct hlo_attr *v; uint32_t n, cap; };

/* A value `mesh[a=2,b=2]` goes on: `, device_ids=(…) {axes}`. */
static hilo_status parse_mesh(struct hlo *h, struct hlo_cursor *c, struct str *value) {
    struct hlo_cursor ids = *c;
    struct str inside;
    if (hlo_accept(&ids, ",") && hlo_accept(&ids, "device_ids") && hlo_accept(&ids, "=") && hlo_next_is(&ids, '(')) {
        HILO_TRY(hlo_brackets(h, &ids, &inside));
        *c = ids;
    }
    if (hlo_next_is(c, '{'))
        HILO_TRY(hlo_brackets(h, c, &inside));
    value->n = (size_t)(c->at - value->p);
    return HILO_OK;
}

/* `, name=value` as often as it comes; no name twice. */
static hilo_status parse_attrs(struct hlo *h, struct hlo_cursor *c, struct attrs *out) {
    while (hlo_accept(c, ",")) {
        struct hlo_attr a;
        hlo_space(c);
        const char *at = c->at;
        if (!hlo_word(c, &a.name))
            return hlo_expected(h, c, "an attribute, name=value");
        HILO_TRY(hlo_expect(h, c, "="));
        HILO_TRY(hlo_balanced(h, c, &a.value));
        if (str_starts(a.value, "mesh["))
            HILO_TRY(parse_mesh(h, c, &a.value));
        for (uint32_t i = 0; i < out->n; i++)
            if (str_eq(out->v[i].name, a.name))
                return hlo_error(h, at, "there are two attributes '%.*s'", (int)a.name.n, a.name.p);
        if (out->n == ATTRS_MOST)
            return hlo_error(h, at, "more than %d attributes", (int)ATTRS_MOST);
        ARENA_PUSH(&h->m->arena, out, a);
    }
    return HILO_OK;
}

/* ---- instructions ---------------------------------------------------------------------------- */

/* The instructions of a computation, while it is read. */
struct instrs {
    struct hlo_instr *v;
    uint32_t n, cap;
    struct intern names;
    uint32_t root; /* number, from 1 */
};

static bool instr_named(const void *cx, uint32_t id, const void *key) {
    return str_eq(((const struct instrs *)cx)->v[id - 1].name, *(const struct str *)key);
}

/* The number, from 1; 0 when there is none of that name. */
static uint32_t instr_find(const struct instrs *in, struct str name) {
    return intern_find(&in->names, str_hash(name.p, name.n, 0), instr_named, in, &name);
}

/* `shape name, …`: the shapes, which older dumps have, are skipped. */
static hilo_status parse_operands(struct hlo *h, const struct instrs *in, struct hlo_instr *out) {
    struct { uint32_t *v; uint32_t n, cap; } list = {NULL, 0, 0};
    struct hlo_cursor c = hlo_over(out->inside);
    for (hlo_space(&c); c.at < c.end; hlo_space(&c)) {
        struct hlo_shape shape;
        struct str name;
        if (list.n)
            HILO_TRY(hlo_expect(h, &c, ","));
        struct hlo_cursor ahead = c;
        if (hlo_next_is(&ahead, '(') || (hlo_word(&ahead, &name) && ahead.at < ahead.end && *ahead.at == '['))
            HILO_TRY(hlo_shape(h, &c, &shape));
        hlo_space(&c);
        const char *at = c.at;
        HILO_TRY(hlo_name(h, &c, "the name of an instruction", &name));
        uint32_t number = instr_find(in, name);
        if (!number)
            return hlo_error(h, at, "there is no instruction '%.*s' before this one", (int)name.n, name.p);
        ARENA_PUSH(&h->m->arena, &list, number - 1);
    }
    out->operands = list.v;
    out->noperands = list.n;
    return HILO_OK;
}

/* `ROOT name = shape opcode(operands), name=value, …` */
static hilo_status parse_instr(struct hlo *h, struct hlo_cursor *c, struct instrs *in) {
    struct hlo_instr out = {.nattrs = 0};
    struct attrs attrs = {NULL, 0, 0};
    hlo_space(c);
    const char *at = c->at;
    bool root = hlo_accept(c, "ROOT");
    if (root && in->root)
        return hlo_error(h, at, "there are two instructions marked ROOT");
    hlo_space(c);
    at = c->at;
    HILO_TRY(hlo_name(h, c, "the name of an instruction", &out.name));
    if (instr_find(in, out.name))
        return hlo_error(h, at, "there are two instructions '%.*s'", (int)out.name.n, out.name.p);
    HILO_TRY(hlo_expect(h, c, "="));
    HILO_TRY(hlo_shape(h, c, &out.shape));
    hlo_space(c);
    hlo_locate(h, c->at, &out.line, &out.col);
    if (!hlo_word(c, &out.opcode))
        return hlo_expected(h, c, "an opcode");
    if (!hlo_next_is(c, '('))
        return hlo_expected(h, c, "'(' and operands");
    HILO_TRY(hlo_brackets(h, c, &out.inside));
    if (!str_is(out.opcode, "parameter") && !str_is(out.opcode, "constant"))
        HILO_TRY(parse_operands(h, in, &out));
    HILO_TRY(parse_attrs(h, c, &attrs));
    out.attrs = attrs.v;
    out.nattrs = attrs.n;
    ARENA_PUSH(&h->m->arena, in, out);
    intern_add(&in->names, &h->m->arena, str_hash(out.name.p, out.name.n, 0), in->n);
    if (root)
        in->root = in->n;
    return HILO_OK;
}

/* ---- computations ---------------------------------------------------------------------------- */

/* Parameters by their numbers, each of which must be there once. */
static hilo_status number_params(struct hlo *h, struct hlo_comp *comp) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < comp->n; i++)
        n += str_is(comp->v[i].opcode, "parameter");
    uint32_t *params = ARENA_ARRAY(&h->m->arena, uint32_t, n);
    for (uint32_t i = 0; i < comp->n; i++) {
        if (!str_is(comp->v[i].opcode, "parameter"))
            continue;
        struct hlo_cursor c = hlo_over(comp->v[i].inside);
        uint32_t number;
        HILO_TRY(hlo_u32(h, &c, &number));
        HILO_TRY(hlo_end(h, &c));
        if (number >= n)
            return hlo_error(h, comp->v[i].inside.p, "parameter %u of a computation with %u parameters", number, n);
        if (params[number])
            return hlo_error(h, comp->v[i].inside.p, "there are two parameters %u", number);
        params[number] = i + 1;
        comp->v[i].param = number;
    }
    for (uint32_t i = 0; i < n; i++)
        params[i]--;
    comp->params = params;
    comp->nparams = n;
    return HILO_OK;
}

static bool comp_named(const void *cx, uint32_t id, const void *key) {
    return str_eq(((const struct hlo *)cx)->comps.v[id - 1].name, *(const struct str *)key);
}

static uint32_t comp_find(const struct hlo *h, struct str name) {
    return intern_find(&h->comp_names, str_hash(name.p, name.n, 0), comp_named, h, &name);
}

hilo_status hlo_comp_named(struct hlo *h, struct hlo_cursor *c, struct hlo_comp **out) {
    struct str name;
    hlo_space(c);
    const char *at = c->at;
    HILO_TRY(hlo_name(h, c, "the name of a computation", &name));
    uint32_t number = comp_find(h, name);
    if (!number)
        return hlo_error(h, at, "there is no computation '%.*s'", (int)name.n, name.p);
    *out = &h->comps.v[number - 1];
    return HILO_OK;
}

/* `ENTRY name (parameters) -> shape { instructions }`; parameters and shape are said again inside. */
static hilo_status parse_comp(struct hlo *h, struct hlo_cursor *c) {
    struct hlo_comp comp = {.n = 0};
    struct instrs in = {NULL, 0, 0, {0}, 0};
    struct attrs attrs = {NULL, 0, 0};
    struct hlo_shape shape;
    struct str params;
    hlo_space(c);
    const char *at = c->at;
    bool entry = hlo_accept(c, "ENTRY");
    if (entry && h->entry)
        return hlo_error(h, at, "there are two computations marked ENTRY");
    hlo_space(c);
    at = c->at;
    HILO_TRY(hlo_name(h, c, "a computation", &comp.name));
    if (comp_find(h, comp.name))
        return hlo_error(h, at, "there are two computations '%.*s'", (int)comp.name.n, comp.name.p);
    if (hlo_next_is(c, '(')) {
        HILO_TRY(hlo_brackets(h, c, &params));
        HILO_TRY(hlo_expect(h, c, "->"));
        HILO_TRY(hlo_shape(h, c, &shape));
    }
    HILO_TRY(hlo_expect(h, c, "{"));
    do
        HILO_TRY(parse_instr(h, c, &in));
    while (!hlo_accept(c, "}"));
    HILO_TRY(parse_attrs(h, c, &attrs)); /* execution_thread */
    comp.v = in.v;
    comp.n = in.n;
    comp.root = (in.root ? in.root : in.n) - 1;
    HILO_TRY(number_params(h, &comp));
    ARENA_PUSH(&h->m->arena, &h->comps, comp);
    intern_add(&h->comp_names, &h->m->arena, str_hash(comp.name.p, comp.name.n, 0), h->comps.n);
    if (entry)
        h->entry = h->comps.n;
    return HILO_OK;
}

/* ---- the tables of places -------------------------------------------------------------------- */

static bool next_is_digit(struct hlo_cursor *c) {
    hlo_space(c);
    return c->at < c->end && *c->at >= '0' && *c->at <= '9';
}

/* `1 "text"`, numbered in order. */
static hilo_status parse_texts(struct hlo *h, struct hlo_cursor *c, struct hlo_texts *out) {
    uint32_t number;
    struct str text;
    while (next_is_digit(c)) {
        HILO_TRY(hlo_u32(h, c, &number));
        HILO_TRY(hlo_string(h, c, &text));
        ARENA_PUSH(&h->m->arena, out, text);
    }
    return HILO_OK;
}

/* `1 {name=2 name=3 …}`: of these names, the values; 0 where there is none. */
static hilo_status parse_numbers(struct hlo *h, struct hlo_cursor *c, const char *const *names, uint32_t n, uint32_t *out) {
    uint32_t number;
    struct str name;
    HILO_TRY(hlo_u32(h, c, &number));
    HILO_TRY(hlo_expect(h, c, "{"));
    memset(out, 0, n * sizeof *out);
    while (!hlo_accept(c, "}")) {
        if (!hlo_word(c, &name))
            return hlo_expected(h, c, "a name or '}'");
        HILO_TRY(hlo_expect(h, c, "="));
        HILO_TRY(hlo_u32(h, c, &number));
        for (uint32_t i = 0; i < n; i++)
            if (str_is(name, names[i]))
                out[i] = number;
    }
    return HILO_OK;
}

static hilo_status parse_places(struct hlo *h, struct hlo_cursor *c) {
    static const char *const place_names[] = {"file_name_id", "function_name_id", "line", "column"};
    static const char *const frame_names[] = {"file_location_id", "parent_frame_id"};
    uint32_t v[4];
    if (hlo_accept(c, "FileNames"))
        HILO_TRY(parse_texts(h, c, &h->files));
    if (hlo_accept(c, "FunctionNames"))
        HILO_TRY(parse_texts(h, c, &h->functions));
    if (hlo_accept(c, "FileLocations"))
        while (next_is_digit(c)) {
            HILO_TRY(parse_numbers(h, c, place_names, 4, v));
            ARENA_PUSH(&h->m->arena, &h->places, ((struct hlo_place){v[0], v[1], v[2], v[3]}));
        }
    if (hlo_accept(c, "StackFrames"))
        while (next_is_digit(c)) {
            HILO_TRY(parse_numbers(h, c, frame_names, 2, v));
            /* The parent's number is one too high; 1 stands for none. */
            ARENA_PUSH(&h->m->arena, &h->frames, ((struct hlo_frame){.place = v[0], .parent = v[1] ? v[1] - 1 : 0}));
        }
    return HILO_OK;
}

/* ---- the file -------------------------------------------------------------------------------- */

bool read_is_hlo(struct str text) {
    struct hlo_cursor c = hlo_over(text);
    return hlo_accept(&c, "HloModule");
}

hilo_status hlo_parse(struct hlo *h) {
    struct hlo_cursor *c = &h->c;
    struct attrs attrs = {NULL, 0, 0};
    HILO_TRY(hlo_expect(h, c, "HloModule"));
    HILO_TRY(hlo_name(h, c, "the name of the module", &h->name));
    HILO_TRY(parse_attrs(h, c, &attrs));
    h->attrs.v = attrs.v;
    h->attrs.n = attrs.n;
    HILO_TRY(parse_places(h, c));
    do {
        HILO_TRY(parse_comp(h, c));
        hlo_space(c);
    } while (c->at < c->end);
    if (!h->entry)
        h->entry = h->comps.n; /* the last one, where none is marked */
    return HILO_OK;
}
