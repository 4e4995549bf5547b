/* The rule of custom_call. The specification leaves the op's meaning open; these are the rules of
   its attributes, and of the calls that make buffers. */
#include "ir/rules/shape.h"

#include <inttypes.h>

/* ---- layouts --------------------------------------------------------------------------------- */

/* A layout names the dimensions of its value from minor to major; values without a shape have none. */
static hilo_status custom_layout(struct shape *s, ir_type type, ir_attr layout, const char *what,
                                 uint32_t i) {
    const struct ir_type_data *t = ir_type_get(s->m, type);
    const int64_t *v;
    size_t n;
    if (!shape_attr_ints(s, layout, &v, &n))
        return shape_fail(s, NULL, "the layout of %s %u must be a list of integers", what, i);
    if (t->kind == IR_TYPE_TUPLE)
        return shape_fail(s, NULL, "%s %u is a tuple, which cannot have a layout", what, i);
    if (!ir_type_is_shaped(t) && n != 0)
        return shape_fail(s, NULL, "%s %u of type %s cannot have the layout %s", what, i,
                          shape_type_text(s, type), shape_list_text(s, v, n));
    if (!shape_ranked(t))
        return HILO_OK;
    bool permutes = n == t->rank;
    for (uint32_t d = 0; permutes && d < t->rank; d++)
        permutes = shape_contains(v, n, d);
    if (!permutes)
        return shape_fail(s, NULL, "the layout of %s %u must order the dimensions of %s, but is %s",
                          what, i, shape_type_text(s, type), shape_list_text(s, v, n));
    return HILO_OK;
}

static hilo_status custom_layouts(struct shape *s, enum ir_slot slot, const ir_type *types,
                                  uint32_t n, const char *what) {
    const struct ir_attr_data *layouts = ir_attr_get(s->m, ir_prop(s->m, s->op, slot));
    HILO_TRY(shape_size(s, NULL, ir_slot_get(slot)->name, layouts->n, n));
    for (uint32_t i = 0; i < n; i++)
        HILO_TRY(custom_layout(s, types[i], layouts->items[i], what, i));
    return HILO_OK;
}

/* A tuple that is the only result has layouts for its members. */
static hilo_status custom_all_layouts(struct shape *s, const ir_type *results) {
    bool in = !IR_NONE(ir_prop(s->m, s->op, IR_CUSTOM_CALL_operand_layouts));
    bool out = !IR_NONE(ir_prop(s->m, s->op, IR_CUSTOM_CALL_result_layouts));
    if (in != out)
        return shape_fail(s, NULL, "must have layouts for both operands and results, or none");
    if (!in)
        return HILO_OK;
    const ir_type *operands = shape_in_types(s, (struct shape_range){0, s->o->noperands});
    HILO_TRY(custom_layouts(s, IR_CUSTOM_CALL_operand_layouts, operands, s->o->noperands, "operand"));
    uint32_t n = s->nout;
    if (n == 1 && ir_type_get(s->m, results[0])->kind == IR_TYPE_TUPLE) {
        n = ir_type_get(s->m, results[0])->ntypes;
        results = ir_type_get(s->m, results[0])->types;
    }
    return custom_layouts(s, IR_CUSTOM_CALL_result_layouts, results, n, "result");
}

/* ---- aliases --------------------------------------------------------------------------------- */

/* A part of the results that aliases a part of an operand. */
struct alias {
    const int64_t *out, *in; /* paths into tuples */
    size_t nout, nin;
    int64_t operand;
    ir_type type;
};

/* The part of a type that a path leads to; false when there is none. */
static bool alias_follow(const struct ir_module *m, ir_type type, const int64_t *path, size_t n,
                         ir_type *out) {
    for (size_t i = 0; i < n; i++) {
        const struct ir_type_data *t = ir_type_get(m, type);
        if (t->kind != IR_TYPE_TUPLE || path[i] < 0 || path[i] >= t->ntypes)
            return false;
        type = t->types[path[i]];
    }
    *out = type;
    return true;
}

static hilo_status alias_read(struct shape *s, ir_attr a, ir_type result, struct alias *out) {
    const struct ir_attr_data *d = ir_attr_get(s->m, a);
    ir_type part;
    if (d->kind != IR_ATTR_STRUCT || d->sub != IR_STRUCT_OUTPUT_OPERAND_ALIAS)
        return shape_fail(s, NULL, "output_operand_aliases must be of aliases");
    out->out = ir_field_dims(s->m, a, IR_OUTPUT_OPERAND_ALIAS_output_tuple_indices_F, &out->nout);
    out->in = ir_field_dims(s->m, a, IR_OUTPUT_OPERAND_ALIAS_operand_tuple_indices_F, &out->nin);
    out->operand = ir_field_i64(s->m, a, IR_OUTPUT_OPERAND_ALIAS_operand_index_F);
    HILO_TRY(shape_in_range(s, NULL, "operand_index of an alias", &out->operand, 1,
                            s->o->noperands));
    if (!alias_follow(s->m, shape_in_type(s, (uint32_t)out->operand), out->in, out->nin, &out->type))
        return shape_fail(s, NULL, "operand_tuple_indices %s of an alias are out of range",
                          shape_list_text(s, out->in, out->nin));
    if (!alias_follow(s->m, result, out->out, out->nout, &part))
        return shape_fail(s, NULL, "output_tuple_indices %s of an alias are out of range",
                          shape_list_text(s, out->out, out->nout));
    if (!IR_SAME(part, out->type))
        return shape_fail(s, NULL, "an alias must be of one type, but the operand has %s and the "
                          "result %s", shape_type_text(s, out->type), shape_type_text(s, part));
    return HILO_OK;
}

static bool alias_same_path(const int64_t *a, size_t na, const int64_t *b, size_t nb) {
    return na == nb && (na == 0 || memcmp(a, b, na * sizeof *a) == 0);
}

static bool custom_is_buffer(const struct shape *s, ir_type t) {
    return ir_type_get(s->m, t)->kind == IR_TYPE_MEMREF;
}

/* No buffer is in two aliases. */
static hilo_status custom_buffers_once(struct shape *s, const struct alias *v, uint32_t n) {
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t k = 0; k < i && custom_is_buffer(s, v[i].type); k++) {
            if (alias_same_path(v[i].out, v[i].nout, v[k].out, v[k].nout))
                return shape_fail(s, NULL, "the result buffer at %s has more than one alias",
                                  shape_list_text(s, v[i].out, v[i].nout));
            if (v[i].operand == v[k].operand && alias_same_path(v[i].in, v[i].nin, v[k].in, v[k].nin))
                return shape_fail(s, NULL, "the buffer at %s of operand %" PRId64 " has more than "
                                  "one alias", shape_list_text(s, v[i].in, v[i].nin),
                                  v[i].operand);
        }
    return HILO_OK;
}

enum { MOST_NESTING = 64 }; /* of tuples in results that are checked for buffers */

/* Each buffer in a result of that type, at that path, is in an alias. */
static hilo_status custom_buffers_aliased(struct shape *s, const struct alias *v, uint32_t n, ir_type type,
                                          int64_t *path, size_t depth) {
    const struct ir_type_data *t = ir_type_get(s->m, type);
    if (t->kind == IR_TYPE_TUPLE && depth == MOST_NESTING)
        return shape_fail(s, NULL, "tuples are nested deeper than %d", MOST_NESTING);
    for (uint32_t i = 0; t->kind == IR_TYPE_TUPLE && i < t->ntypes; i++) {
        path[depth] = i;
        HILO_TRY(custom_buffers_aliased(s, v, n, t->types[i], path, depth + 1));
    }
    bool found = t->kind != IR_TYPE_MEMREF;
    for (uint32_t i = 0; !found && i < n; i++)
        found = alias_same_path(path, depth, v[i].out, v[i].nout);
    if (!found)
        return shape_fail(s, NULL, "the result buffer at %s has no alias",
                          shape_list_text(s, path, depth));
    return HILO_OK;
}

/* ---- calls that make buffers ----------------------------------------------------------------- */

/* Calls with a meaning of their own, by operand and result. */
static const struct buffer_call { const char *name; enum ir_type_kind in, out; } buffer_calls[] = {
    {"CreateBuffer", IR_TYPE_NONE, IR_TYPE_MEMREF},
    {"Pin", IR_TYPE_TENSOR, IR_TYPE_MEMREF},
    {"Unpin", IR_TYPE_MEMREF, IR_TYPE_TENSOR},
};

static bool custom_is_kind(const struct shape *s, ir_type type, enum ir_type_kind kind) {
    enum ir_type_kind have = ir_type_get(s->m, type)->kind;
    return have == kind || (kind == IR_TYPE_TENSOR && have == IR_TYPE_UNRANKED);
}

static const char *custom_kind_text(enum ir_type_kind kind) {
    return kind == IR_TYPE_NONE ? "nothing" : kind == IR_TYPE_MEMREF ? "one buffer" : "one tensor";
}

static hilo_status custom_buffer_call(struct shape *s, const struct buffer_call *c, ir_type result) {
    bool takes = c->in == IR_TYPE_NONE
                     ? s->o->noperands == 0
                     : s->o->noperands == 1 && custom_is_kind(s, shape_in_type(s, 0), c->in);
    if (!takes)
        return shape_fail(s, NULL, "'%s' must take %s", c->name, custom_kind_text(c->in));
    if (s->nout != 1 || !custom_is_kind(s, result, c->out))
        return shape_fail(s, NULL, "'%s' must return %s", c->name, custom_kind_text(c->out));
    if (c->in == IR_TYPE_NONE)
        return HILO_OK;
    const struct ir_type_data *a = shape_in(s, 0), *b = ir_type_get(s->m, result);
    if (!shape_compatible(a, b) || !shape_same_elem(a, b, false))
        return shape_fail(s, NULL, "'%s' must keep the shape and the elements, but takes %s and "
                          "returns %s", c->name, shape_type_text(s, shape_in_type(s, 0)),
                          shape_type_text(s, result));
    return HILO_OK;
}

/* ---- custom_call ----------------------------------------------------------------------------- */

enum { TYPED_FFI = 4 }; /* the last api_version, and the only one whose backend_config is no text */

static hilo_status custom_config(struct shape *s) {
    int64_t version = ir_prop_i64(s->m, s->op, IR_CUSTOM_CALL_api_version);
    enum ir_attr_kind want = version == TYPED_FFI ? IR_ATTR_DICT : IR_ATTR_STRING;
    enum ir_attr_kind have =
        ir_attr_get(s->m, ir_prop(s->m, s->op, IR_CUSTOM_CALL_backend_config))->kind;
    if (version > TYPED_FFI)
        return shape_fail(s, NULL, "there is no api_version %" PRId64, version);
    if (have != IR_ATTR_NONE && have != want)
        return shape_fail(s, NULL, "backend_config of api_version %" PRId64 " must be a %s",
                          version, version == TYPED_FFI ? "dictionary" : "string");
    return HILO_OK;
}

/* Aliases speak of the only result, or of all as a tuple. */
static hilo_status custom_aliases(struct shape *s, ir_type result) {
    const struct ir_attr_data *list =
        ir_attr_get(s->m, ir_prop(s->m, s->op, IR_CUSTOM_CALL_output_operand_aliases));
    struct alias *v = ARENA_ARRAY(&s->m->arena, struct alias, list->n);
    for (uint32_t i = 0; i < list->n; i++)
        HILO_TRY(alias_read(s, list->items[i], result, &v[i]));
    struct str target = ir_prop_str(s->m, s->op, IR_CUSTOM_CALL_call_target_name);
    for (size_t i = 0; i < sizeof buffer_calls / sizeof *buffer_calls; i++)
        if (str_is(target, buffer_calls[i].name))
            return custom_buffer_call(s, &buffer_calls[i], result);
    int64_t path[MOST_NESTING];
    HILO_TRY(custom_buffers_once(s, v, list->n));
    return custom_buffers_aliased(s, v, list->n, result, path, 0);
}

hilo_status shape_custom_call(struct shape *s) {
    HILO_TRY(custom_config(s));
    if (!s->verifying)
        return HILO_OK;
    ir_type *results = ARENA_ARRAY(&s->m->arena, ir_type, s->nout);
    for (uint32_t i = 0; i < s->nout; i++)
        results[i] = shape_res_type(s, i);
    HILO_TRY(custom_all_layouts(s, results));
    return custom_aliases(s, s->nout == 1 ? results[0]
                          : ir_type_group(s->m, IR_TYPE_TUPLE, results, s->nout));
}
