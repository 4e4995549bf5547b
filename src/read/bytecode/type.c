/* Types of MLIR bytecode; and the one way in which attributes and types are read. */
#include "read/bytecode/bytecode.h"
#include "read/text/text.h"

#include <inttypes.h>
#include <stdio.h>

/* ---- entries --------------------------------------------------------------------------------- */

/* What an entry's bytes say. */
static hilo_status entry_decode(struct bc *b, struct bc_entry *e, const struct bc_kind *kind) {
    struct bc_cursor c = {e->at, e->at + e->n};
    if (!e->custom) {
        HILO_TRY(kind->from_text(b, &c, NULL, &e->id));
    } else {
        uint64_t number;
        HILO_TRY(bc_vi(b, &c, &number));
        const struct bc_code *code = kind->code(b->dialects.v[e->dialect].id, number);
        if (!code) {
            char what[96];
            struct str dialect = b->dialects.v[e->dialect].name;
            snprintf(what, sizeof what, "%s %" PRIu64 " of dialect %.*s", kind->one, number,
                     (int)(dialect.n < 32 ? dialect.n : 32), dialect.p);
            if (b->dialects.v[e->dialect].id == BC_VHLO)
                return bc_newer(b, e->at, what);
            return bc_error(b, e->at, "%s is not known", what);
        }
        HILO_TRY(kind->decode(b, &c, code, &e->id));
    }
    if (c.at != c.end)
        return bc_error(b, c.at, "%zu bytes too many in this %s", bc_left(&c), kind->one);
    return HILO_OK;
}

hilo_status bc_entry(struct bc *b, const uint8_t *at, uint64_t index, struct bc_entries *in, const struct bc_kind *kind,
                     uint32_t *id) {
    HILO_TRY(bc_check_index(b, at, index, in->n, kind->many));
    struct bc_entry *e = &in->v[index];
    if (b->depth == 0)
        b->parts = 0;
    if (e->state == BC_OPEN)
        return bc_error(b, at, "%s %u contains itself", kind->one, (unsigned)index);
    if (e->state == BC_UNREAD) {
        if (b->depth == BC_DEPTH)
            return bc_error(b, at, "%s are nested more than %d deep", kind->many, (int)BC_DEPTH);
        uint32_t outer = b->parts;
        b->parts = 1;
        b->depth++;
        e->state = BC_OPEN;
        HILO_TRY(entry_decode(b, e, kind));
        e->state = BC_DONE;
        b->depth--;
        e->parts = b->parts;
        b->parts = outer;
    }
    if (e->parts > BC_PARTS - b->parts)
        return bc_error(b, at, "%s %u has more than %d parts", kind->one, (unsigned)index, (int)BC_PARTS);
    b->parts += e->parts;
    *id = e->id;
    return HILO_OK;
}

/* ---- shapes and elements --------------------------------------------------------------------- */

hilo_status bc_i64s(struct bc *b, struct bc_cursor *c, const int64_t **out, uint32_t *n) {
    HILO_TRY(bc_count(b, c, n));
    int64_t *v = ARENA_ARRAY(&b->m->arena, int64_t, *n);
    for (uint32_t i = 0; i < *n; i++)
        HILO_TRY(bc_svi(b, c, &v[i]));
    *out = v;
    return HILO_OK;
}

/* A number of this width or `complex` of it, by the name that text gives it: known, or kept as written. */
static ir_type named_scalar(struct bc *b, const char *name) {
    enum ir_dtype t = ir_dtype_named(str_of(name));
    return t == IR_DTYPE_NONE ? ir_type_opaque(b->m, str_of(name)) : ir_type_scalar(b->m, t);
}

static hilo_status type_integer(struct bc *b, struct bc_cursor *c, ir_type *out) {
    static const char *const prefix[] = {"i", "si", "ui"};
    enum { WIDTH_MOST = 1 << 24 };
    const uint8_t *at = c->at;
    uint64_t v;
    char name[32];
    HILO_TRY(bc_vi(b, c, &v));
    if ((v & 3) == 3 || v >> 2 == 0 || v >> 2 >= WIDTH_MOST)
        return bc_error(b, at, "expected a type of integers, found width %" PRIu64 " and sign %d", v >> 2, (int)(v & 3));
    snprintf(name, sizeof name, "%s%" PRIu64, prefix[v & 3], v >> 2);
    *out = named_scalar(b, name);
    return HILO_OK;
}

static hilo_status type_complex(struct bc *b, struct bc_cursor *c, ir_type *out) {
    const uint8_t *at = c->at;
    ir_type part;
    char name[32];
    HILO_TRY(bc_type(b, c, &part));
    const struct ir_type_data *t = ir_type_get(b->m, part);
    if (t->kind != IR_TYPE_SCALAR)
        return bc_error(b, at, "expected a float or integer type as the part of a complex number");
    snprintf(name, sizeof name, "complex<%s>", ir_dtype_get(t->dtype)->name);
    *out = named_scalar(b, name);
    return HILO_OK;
}

static hilo_status check_shape(struct bc *b, const uint8_t *at, const int64_t *dims, uint32_t rank, ir_type elem,
                               ir_attr encoding) {
    enum ir_type_kind kind = ir_type_get(b->m, elem)->kind;
    size_t nbounds;
    const int64_t *bounds = ir_field_dims(b->m, encoding, IR_TYPE_EXTENSIONS_bounds_F, &nbounds);
    if (kind != IR_TYPE_SCALAR && kind != IR_TYPE_QUANT && kind != IR_TYPE_OPAQUE)
        return bc_error(b, at, "expected the type of an element");
    if (rank > IR_MAX_RANK)
        return bc_error(b, at, "%u dimensions are more than %d", rank, (int)IR_MAX_RANK);
    for (uint32_t i = 0; i < rank; i++)
        if (dims[i] < 0 && dims[i] != IR_DYNAMIC)
            return bc_error(b, at, "expected a size, found %" PRId64, dims[i]);
    if (bounds && nbounds != rank)
        return bc_error(b, at, "%zu bounds for a tensor of rank %u", nbounds, rank);
    return HILO_OK;
}

/* `encoding` precedes the shape; the layout of a memref follows it. */
static hilo_status type_shaped(struct bc *b, struct bc_cursor *c, enum ir_type_kind kind, bool layout, ir_attr encoding,
                               ir_type *out) {
    const uint8_t *at = c->at;
    const int64_t *dims = NULL;
    uint32_t rank = 0;
    ir_type elem;
    if (kind != IR_TYPE_UNRANKED)
        HILO_TRY(bc_i64s(b, c, &dims, &rank));
    HILO_TRY(bc_type(b, c, &elem));
    if (layout) {
        HILO_TRY(bc_attr(b, c, &encoding));
        const struct ir_attr_data *map = ir_attr_get(b->m, encoding); /* the identity is not printed */
        if (map->kind == IR_ATTR_OPAQUE && str_starts(ir_str_get(b->m, map->str), "affine_map<"))
            encoding = (ir_attr){0};
    }
    HILO_TRY(check_shape(b, at, dims, rank, elem, encoding));
    *out = ir_type_shaped(b->m, kind, elem, dims, rank, encoding);
    return HILO_OK;
}

/* ---- quantised elements ---------------------------------------------------------------------- */

/* Storage is an integer without a sign of its own in the builtin dialect; the flag has it. */
static hilo_status quant_types(struct bc *b, struct bc_cursor *c, struct ir_quant *q) {
    const uint8_t *at = c->at;
    uint64_t flags;
    ir_type storage, expressed;
    char name[16];
    HILO_TRY(bc_vi(b, c, &flags));
    HILO_TRY(bc_type(b, c, &storage));
    HILO_TRY(bc_type(b, c, &expressed));
    const struct ir_type_data *s = ir_type_get(b->m, storage), *e = ir_type_get(b->m, expressed);
    const struct ir_dtype_info *info = ir_dtype_get(s->dtype);
    if (s->kind != IR_TYPE_SCALAR || (info->cls != IR_SINT && info->cls != IR_UINT) || info->bits > 32)
        return bc_error(b, at, "expected an integer of at most 32 bits as the storage type");
    if (e->kind != IR_TYPE_SCALAR || ir_dtype_get(e->dtype)->cls != IR_FLOAT)
        return bc_error(b, at, "expected a float as the expressed type");
    snprintf(name, sizeof name, "%s%u", flags & 1 ? "i" : "ui", info->bits);
    q->storage = ir_dtype_named(str_of(name));
    q->expressed = e->dtype;
    return HILO_OK;
}

static hilo_status quant_range(struct bc *b, struct bc_cursor *c, struct ir_quant *q) {
    const struct ir_dtype_info *info = ir_dtype_get(q->storage);
    bool is_signed = info->cls == IR_SINT;
    int64_t most = (INT64_C(1) << (info->bits - is_signed)) - 1, least = is_signed ? ~most : 0;
    HILO_TRY(bc_svi(b, c, &q->storage_min));
    HILO_TRY(bc_svi(b, c, &q->storage_max));
    q->has_range = q->storage_min != least || q->storage_max != most;
    return HILO_OK;
}

static hilo_status type_quant(struct bc *b, struct bc_cursor *c, ir_type *out) {
    struct ir_quant q = {.kind = IR_QUANT_TENSOR, .nscales = 1};
    double scale;
    int64_t zero;
    HILO_TRY(quant_types(b, c, &q));
    HILO_TRY(bc_f64(b, c, &scale));
    HILO_TRY(bc_svi(b, c, &zero));
    HILO_TRY(quant_range(b, c, &q));
    q.scales = &scale;
    q.zero_points = &zero;
    *out = ir_type_quant(b->m, &q);
    return HILO_OK;
}

static hilo_status type_quant_axis(struct bc *b, struct bc_cursor *c, ir_type *out) {
    struct ir_quant q = {.kind = IR_QUANT_AXIS, .naxes = 1};
    const uint8_t *at = c->at;
    uint64_t axis;
    HILO_TRY(quant_types(b, c, &q));
    HILO_TRY(bc_vi(b, c, &axis));
    HILO_TRY(quant_range(b, c, &q));
    if (axis >= IR_MAX_RANK)
        return bc_error(b, at, "expected a quantized dimension, found %" PRIu64, axis);
    int64_t axis0 = (int64_t)axis;
    HILO_TRY(bc_count(b, c, &q.nscales));
    double *scales = ARENA_ARRAY(&b->m->arena, double, q.nscales);
    for (uint32_t i = 0; i < q.nscales; i++)
        HILO_TRY(bc_f64(b, c, &scales[i]));
    uint32_t nzeros;
    HILO_TRY(bc_i64s(b, c, &q.zero_points, &nzeros));
    if (nzeros != q.nscales || nzeros == 0)
        return bc_error(b, at, "expected a scale and a zero point for each slice, found %u and %u", q.nscales, nzeros);
    q.axes = &axis0;
    q.scales = scales;
    *out = ir_type_quant(b->m, &q);
    return HILO_OK;
}

/* ---- dispatch -------------------------------------------------------------------------------- */

static hilo_status type_function(struct bc *b, struct bc_cursor *c, ir_type *out) {
    const ir_type *ins, *outs;
    uint32_t nins, nouts;
    HILO_TRY(bc_types(b, c, &ins, &nins));
    HILO_TRY(bc_types(b, c, &outs, &nouts));
    *out = ir_type_function(b->m, ins, nins, outs, nouts);
    return HILO_OK;
}

static hilo_status type_group(struct bc *b, struct bc_cursor *c, enum ir_type_kind kind, ir_type *out) {
    const ir_type *types;
    uint32_t n;
    HILO_TRY(bc_types(b, c, &types, &n));
    *out = ir_type_group(b->m, kind, types, n);
    return HILO_OK;
}

static hilo_status type_decode(struct bc *b, struct bc_cursor *c, const struct bc_code *code, uint32_t *id) {
    ir_type out = {0};
    ir_attr encoding = {0};
    switch (code->form) {
    case BC_SCALAR: out = ir_type_scalar(b->m, (enum ir_dtype)code->of); break;
    case BC_INTEGER: HILO_TRY(type_integer(b, c, &out)); break;
    case BC_COMPLEX: HILO_TRY(type_complex(b, c, &out)); break;
    case BC_FUNCTION: HILO_TRY(type_function(b, c, &out)); break;
    case BC_TENSOR: HILO_TRY(type_shaped(b, c, IR_TYPE_TENSOR, false, encoding, &out)); break;
    case BC_TENSOR_ENCODED:
        HILO_TRY(bc_attr(b, c, &encoding));
        HILO_TRY(type_shaped(b, c, IR_TYPE_TENSOR, false, encoding, &out));
        break;
    case BC_UNRANKED: HILO_TRY(type_shaped(b, c, IR_TYPE_UNRANKED, false, encoding, &out)); break;
    case BC_MEMREF: HILO_TRY(type_shaped(b, c, IR_TYPE_MEMREF, true, encoding, &out)); break;
    case BC_BUFFER: HILO_TRY(type_shaped(b, c, IR_TYPE_MEMREF, false, encoding, &out)); break;
    case BC_VECTOR: HILO_TRY(type_shaped(b, c, IR_TYPE_VECTOR, false, encoding, &out)); break;
    case BC_TUPLE: HILO_TRY(type_group(b, c, IR_TYPE_TUPLE, &out)); break;
    case BC_FUTURE: HILO_TRY(type_group(b, c, IR_TYPE_FUTURE, &out)); break;
    case BC_TOKEN: out = ir_type_simple(b->m, IR_TYPE_TOKEN); break;
    case BC_QUANT: HILO_TRY(type_quant(b, c, &out)); break;
    case BC_QUANT_AXIS: HILO_TRY(type_quant_axis(b, c, &out)); break;
    default: out = ir_type_opaque(b->m, STR("none")); break; /* BC_NOTHING */
    }
    *id = out.i;
    return HILO_OK;
}

/* A type in its assembly form. */
static hilo_status type_from_text(struct bc *b, struct bc_cursor *c, const struct bc_code *code, uint32_t *id) {
    (void)code;
    struct text_parser p;
    ir_type out;
    size_t n = bc_left(c) && c->end[-1] == '\0' ? bc_left(c) - 1 : bc_left(c);
    text_lex_init(&p, b->m, b->d, (struct str){(const char *)c->at, n});
    HILO_TRY(text_type(&p, &out));
    HILO_TRY(text_expect(&p, TEXT_EOF));
    c->at = c->end;
    *id = out.i;
    return HILO_OK;
}

static const struct bc_kind types = {"type", "types", bc_type_code, type_decode, type_from_text};

hilo_status bc_type(struct bc *b, struct bc_cursor *c, ir_type *out) {
    const uint8_t *at = c->at;
    uint64_t index;
    HILO_TRY(bc_vi(b, c, &index));
    return bc_entry(b, at, index, &b->types, &types, &out->i);
}

hilo_status bc_flagged_type(struct bc *b, struct bc_cursor *c, ir_type *out, bool *flag) {
    const uint8_t *at = c->at;
    uint64_t index;
    HILO_TRY(bc_flagged(b, c, &index, flag));
    return bc_entry(b, at, index, &b->types, &types, &out->i);
}

hilo_status bc_types(struct bc *b, struct bc_cursor *c, const ir_type **out, uint32_t *n) {
    HILO_TRY(bc_count(b, c, n));
    ir_type *v = ARENA_ARRAY(&b->m->arena, ir_type, *n);
    for (uint32_t i = 0; i < *n; i++)
        HILO_TRY(bc_type(b, c, &v[i]));
    *out = v;
    return HILO_OK;
}
