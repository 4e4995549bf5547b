/* HLO instructions: what is not an op of StableHLO by itself, and by the tables what is. */
#include "read/hlo/hlo.h"

#include "read/text/text.h"

/* ---- pieces ---------------------------------------------------------------------------------- */

/* An op at the end of the block, with the instruction's place. */
static ir_op hlo_new_op(struct hlo_body *b, enum ir_op_kind kind, const ir_val *operands, uint32_t noperands,
                        const ir_type *results, uint32_t nresults, uint32_t nregions) {
    ir_op op = ir_op_new(b->h->m, kind, operands, noperands, results, nresults, nregions);
    ir_set_loc(b->h->m, op, b->loc, b->instr->line, b->instr->col);
    ir_append(b->h->m, b->block, op);
    return op;
}

/* With one result. */
static ir_val op_one(struct hlo_body *b, enum ir_op_kind kind, const ir_val *operands, uint32_t noperands, ir_type result,
                     enum ir_slot slot, ir_attr a) {
    ir_op op = hlo_new_op(b, kind, operands, noperands, &result, 1, 0);
    if (slot != IR_SLOT_NONE)
        ir_set_prop(b->h->m, op, slot, a);
    return ir_result(b->h->m, op, 0);
}

static hilo_status op_error(struct hlo_body *b, const char *what) {
    return hlo_error(b->h, b->instr->opcode.p, "%.*s %s", (int)b->instr->opcode.n, b->instr->opcode.p, what);
}

static const struct hlo_value *operand(const struct hlo_body *b, uint32_t k) {
    return &b->values[b->instr->operands[k]];
}

static const struct hlo_shape *operand_shape(const struct hlo_body *b, uint32_t k) {
    return &b->comp->v[b->instr->operands[k]].shape;
}

static hilo_status need_operands(struct hlo_body *b, uint32_t n) {
    if (b->instr->noperands == n)
        return HILO_OK;
    return hlo_error(b->h, b->instr->opcode.p, "%.*s needs %u operands, not %u", (int)b->instr->opcode.n, b->instr->opcode.p, n,
                     b->instr->noperands);
}

/* The leaves of operands from `first` on; all must be there. */
static hilo_status leaves_of(struct hlo_body *b, uint32_t first, struct hlo_value *out) {
    struct { ir_val *v; uint32_t n, cap; } list = {NULL, 0, 0};
    for (uint32_t k = first; k < b->instr->noperands; k++)
        for (uint32_t j = 0; j < operand(b, k)->n; j++) {
            if (IR_NONE(operand(b, k)->v[j]))
                return op_error(b, "takes the result of a -start that no -done completes");
            ARENA_PUSH(&b->h->m->arena, &list, operand(b, k)->v[j]);
        }
    *out = (struct hlo_value){list.v, list.n};
    return HILO_OK;
}

static ir_type *leaf_types(struct hlo_body *b, const struct hlo_shape *shape) {
    ir_type *types = ARENA_ARRAY(&b->h->m->arena, ir_type, shape->nleaves);
    hlo_leaves(shape, types);
    return types;
}

static struct hlo_value results_of(struct hlo_body *b, ir_op op) {
    uint32_t n = ir_op_get(b->h->m, op)->nresults;
    struct hlo_value out = {ARENA_ARRAY(&b->h->m->arena, ir_val, n), n};
    for (uint32_t k = 0; k < n; k++)
        out.v[k] = ir_result(b->h->m, op, k);
    return out;
}

/* What an instruction forwards must have its shape. */
static hilo_status check_types(struct hlo_body *b, const struct hlo_shape *shape, const struct hlo_value *v) {
    ir_type *types = leaf_types(b, shape);
    bool same = v->n == shape->nleaves;
    for (uint32_t k = 0; same && k < v->n; k++)
        same = IR_NONE(v->v[k]) || IR_SAME(types[k], ir_val_get(b->h->m, v->v[k])->type);
    return same ? HILO_OK : op_error(b, "is of another shape than what it takes");
}

static hilo_status needs_attr(struct hlo_body *b, const char *name) {
    struct str opcode = b->instr->opcode;
    return hlo_error(b->h, opcode.p, "%.*s needs an attribute '%s'", (int)opcode.n, opcode.p, name);
}

/* The computation that an attribute names. */
static hilo_status take_comp(struct hlo_body *b, const char *name, struct hlo_comp **out) {
    struct hlo_cursor c = hlo_take(b->instr, name);
    if (!c.at)
        return needs_attr(b, name);
    HILO_TRY(hlo_comp_named(b->h, &c, out));
    return hlo_end(b->h, &c);
}

/* An op of the tables, with these operands and results. */
static hilo_status table_op(struct hlo_body *b, enum ir_op_kind kind, const struct hlo_value *in, const ir_type *types,
                            uint32_t n, ir_op *out) {
    struct hlo *h = b->h;
    int nregions = ir_op_info(kind)->nregions;
    ir_attr attrs;
    if (++h->nops > h->max_ops)
        return op_error(b, "exceeds the limit on ops: computations are used too often");
    ir_op op = *out = hlo_new_op(b, kind, in->v, in->n, types, n, nregions > 0 ? (uint32_t)nregions : 0);
    HILO_TRY(hlo_set_props(h, b->instr, op));
    const char *name;
    for (uint32_t r = 0; (name = hlo_region_name(kind, r)) != NULL; r++) {
        struct hlo_comp *comp;
        HILO_TRY(take_comp(b, name, &comp));
        HILO_TRY(hlo_region(b, ir_op_region(h->m, op, r), comp, NULL));
    }
    HILO_TRY(hlo_discardable(h, b->instr, true, &attrs));
    ir_set_attrs(h->m, op, attrs);
    return HILO_OK;
}

/* ---- structure ------------------------------------------------------------------------------- */

static hilo_status hlo_op(struct hlo_body *b, enum ir_op_kind kind, struct hlo_value *out) {
    struct hlo_value in;
    ir_op op;
    HILO_TRY(leaves_of(b, 0, &in));
    HILO_TRY(table_op(b, kind, &in, leaf_types(b, &b->instr->shape), b->instr->shape.nleaves, &op));
    *out = results_of(b, op);
    return HILO_OK;
}

static hilo_status hlo_parameter(struct hlo_body *b, enum ir_op_kind kind, struct hlo_value *out) {
    (void)kind;
    if (b->instr->param < b->comp->nparams && &b->comp->v[b->comp->params[b->instr->param]] == b->instr)
        *out = b->params[b->instr->param];
    for (uint32_t k = 0; k < out->n && !IR_NONE(b->loc); k++)
        if (IR_SAME(ir_val_get(b->h->m, out->v[k])->block, b->block)) /* else it is a value from outside */
            ir_set_val_loc(b->h->m, out->v[k], b->loc);
    return check_types(b, &b->instr->shape, out);
}

/* `(1, {2, 3})` for a tuple. */
static hilo_status constant_leaves(struct hlo_body *b, struct hlo_cursor *c, const struct hlo_shape *shape,
                                   struct hlo_value *out) {
    if (shape->tuple) {
        HILO_TRY(hlo_expect(b->h, c, "("));
        for (uint32_t k = 0; k < shape->nitems; k++) {
            if (k)
                HILO_TRY(hlo_expect(b->h, c, ","));
            HILO_TRY(constant_leaves(b, c, &shape->items[k], out));
        }
        return hlo_expect(b->h, c, ")");
    }
    ir_attr value;
    HILO_TRY(hlo_literal(b->h, c, shape->type, &value));
    out->v[out->n++] = op_one(b, IR_CONSTANT, NULL, 0, shape->type, IR_CONSTANT_value, value);
    return HILO_OK;
}

static hilo_status hlo_constant(struct hlo_body *b, enum ir_op_kind kind, struct hlo_value *out) {
    (void)kind;
    struct hlo_cursor c = hlo_over(b->instr->inside);
    out->v = ARENA_ARRAY(&b->h->m->arena, ir_val, b->instr->shape.nleaves);
    HILO_TRY(constant_leaves(b, &c, &b->instr->shape, out));
    return hlo_end(b->h, &c);
}

static hilo_status hlo_tuple(struct hlo_body *b, enum ir_op_kind kind, struct hlo_value *out) {
    (void)kind;
    HILO_TRY(leaves_of(b, 0, out));
    return check_types(b, &b->instr->shape, out);
}

static hilo_status hlo_get_tuple_element(struct hlo_body *b, enum ir_op_kind kind, struct hlo_value *out) {
    (void)kind;
    struct hlo_cursor c = hlo_take(b->instr, "index");
    uint32_t index;
    HILO_TRY(need_operands(b, 1));
    const struct hlo_shape *shape = operand_shape(b, 0);
    if (!c.at)
        return needs_attr(b, "index");
    HILO_TRY(hlo_u32(b->h, &c, &index));
    if (!shape->tuple || index >= shape->nitems)
        return op_error(b, "is of no such part of a tuple");
    uint32_t first = shape->items[index].first;
    if (operand(b, 0)->n < first + shape->items[index].nleaves)
        return op_error(b, "takes the result of a -start that no -done completes");
    *out = (struct hlo_value){operand(b, 0)->v + first, shape->items[index].nleaves};
    return check_types(b, &b->instr->shape, out);
}

/* What changes no value, or orders effects that values order already. */
static hilo_status hlo_forward(struct hlo_body *b, enum ir_op_kind kind, struct hlo_value *out) {
    (void)kind;
    if (b->instr->noperands == 0)
        return need_operands(b, 1);
    *out = *operand(b, 0);
    return check_types(b, &b->instr->shape, out);
}

static hilo_status hlo_after_all(struct hlo_body *b, enum ir_op_kind kind, struct hlo_value *out) {
    return hlo_op(b, b->instr->noperands ? kind : IR_CREATE_TOKEN, out);
}

/* ---- control --------------------------------------------------------------------------------- */

static hilo_status hlo_call(struct hlo_body *b, enum ir_op_kind kind, struct hlo_value *out) {
    (void)kind;
    struct hlo_comp *comp;
    struct hlo_value in;
    ir_attr attrs;
    bool applied = hlo_find(b->instr->attrs, b->instr->nattrs, "to_apply").p != NULL;
    HILO_TRY(take_comp(b, applied ? "to_apply" : "calls", &comp));
    HILO_TRY(leaves_of(b, 0, &in));
    HILO_TRY(hlo_func(b->h, comp, /*entry=*/false));
    ir_op op = hlo_new_op(b, IR_CALL, in.v, in.n, leaf_types(b, &b->instr->shape), b->instr->shape.nleaves, 0);
    ir_set_prop(b->h->m, op, IR_CALL_callee, comp->symbol);
    HILO_TRY(hlo_discardable(b->h, b->instr, true, &attrs));
    ir_set_attrs(b->h->m, op, attrs);
    *out = results_of(b, op);
    return HILO_OK;
}

static hilo_status hlo_while(struct hlo_body *b, enum ir_op_kind kind, struct hlo_value *out) {
    HILO_TRY(need_operands(b, 1));
    return hlo_op(b, kind, out);
}

/* The computations of a conditional: two for a pred, a list for an index. */
static hilo_status branches(struct hlo_body *b, bool two, struct hlo_comp ***v, uint32_t *n) {
    struct { struct hlo_comp **v; uint32_t n, cap; } list = {NULL, 0, 0};
    struct hlo_comp *comp;
    if (two) {
        HILO_TRY(take_comp(b, "true_computation", &comp));
        ARENA_PUSH(&b->h->m->arena, &list, comp);
        HILO_TRY(take_comp(b, "false_computation", &comp));
        ARENA_PUSH(&b->h->m->arena, &list, comp);
    } else {
        struct hlo_cursor c = hlo_take(b->instr, "branch_computations");
        if (!c.at)
            return needs_attr(b, "branch_computations");
        HILO_TRY(hlo_expect(b->h, &c, "{"));
        while (!hlo_accept(&c, "}")) {
            if (list.n)
                HILO_TRY(hlo_expect(b->h, &c, ","));
            HILO_TRY(hlo_comp_named(b->h, &c, &comp));
            ARENA_PUSH(&b->h->m->arena, &list, comp);
        }
    }
    *v = list.v;
    *n = list.n;
    return HILO_OK;
}

/* The branches see their operand from outside. */
static hilo_status hlo_conditional(struct hlo_body *b, enum ir_op_kind kind, struct hlo_value *out) {
    struct ir_module *m = b->h->m;
    struct hlo_comp **comps = NULL;
    uint32_t n = 0;
    ir_attr attrs;
    if (b->instr->noperands == 0 || operand(b, 0)->n != 1 || IR_NONE(operand(b, 0)->v[0]))
        return op_error(b, "needs a predicate or an index");
    ir_val index = operand(b, 0)->v[0];
    bool two = ir_val_type(m, index)->dtype == IR_I1_T;
    HILO_TRY(branches(b, two, &comps, &n));
    HILO_TRY(need_operands(b, n + 1));
    if (++b->h->nops > b->h->max_ops)
        return op_error(b, "exceeds the limit on ops: computations are used too often");
    ir_op op = hlo_new_op(b, two ? IR_IF : kind, &index, 1, leaf_types(b, &b->instr->shape), b->instr->shape.nleaves, n);
    for (uint32_t k = 0; k < n; k++) {
        if (comps[k]->nparams != 1)
            return op_error(b, "needs branches of one parameter");
        HILO_TRY(hlo_region(b, ir_op_region(m, op, k), comps[k], operand(b, k + 1)));
    }
    HILO_TRY(hlo_discardable(b->h, b->instr, true, &attrs));
    ir_set_attrs(m, op, attrs);
    *out = results_of(b, op);
    return HILO_OK;
}

/* ---- custom calls ---------------------------------------------------------------------------- */

static hilo_status custom_api(struct hlo_body *b, int64_t *version) {
    static const char *const names[] = {"API_VERSION_ORIGINAL", "API_VERSION_STATUS_RETURNING",
                                        "API_VERSION_STATUS_RETURNING_UNIFIED", "API_VERSION_TYPED_FFI"};
    struct hlo_cursor c = hlo_take(b->instr, "api_version"), start = c;
    struct str word;
    *version = 1;
    if (!c.at)
        return HILO_OK;
    hlo_word(&c, &word);
    for (int64_t k = 0; k < 4; k++)
        if (str_is(word, names[k])) {
            *version = k + 1;
            return HILO_OK;
        }
    return hlo_expected(b->h, &start, "API_VERSION_ORIGINAL, _STATUS_RETURNING, _STATUS_RETURNING_UNIFIED or _TYPED_FFI");
}

/* A dictionary of MLIR attributes where the call is of that form, else the text. */
static hilo_status custom_config(struct hlo_body *b, ir_op op, int64_t version) {
    struct hlo *h = b->h;
    struct hlo_cursor c = hlo_take(b->instr, "backend_config");
    struct str text;
    ir_attr config;
    if (!c.at)
        return HILO_OK;
    if (hlo_next_is(&c, '"'))
        HILO_TRY(hlo_string(h, &c, &text));
    else
        HILO_TRY(hlo_balanced(h, &c, &text));
    if (version == 4 && text.n) {
        struct text_parser p;
        text_lex_init(&p, h->m, h->d, text);
        HILO_TRY(text_attr(&p, (ir_type){0}, &config));
        if (!text_is(&p, TEXT_EOF) || ir_attr_get(h->m, config)->kind != IR_ATTR_DICT)
            return hlo_error(h, c.at, "expected a dictionary as backend_config");
    } else {
        config = ir_attr_string(h->m, text);
    }
    if (text.n)
        ir_set_prop(h->m, op, IR_CUSTOM_CALL_backend_config, config);
    return HILO_OK;
}

static hilo_status custom_computations(struct hlo_body *b, ir_op op) {
    struct { ir_attr *v; uint32_t n, cap; } list = {NULL, 0, 0};
    struct hlo_cursor c = hlo_take(b->instr, "called_computations");
    struct hlo_comp *comp;
    bool many = c.at != NULL;
    if (!many)
        c = hlo_take(b->instr, "to_apply");
    if (!c.at)
        return HILO_OK;
    if (many)
        HILO_TRY(hlo_expect(b->h, &c, "{"));
    while (!many || !hlo_accept(&c, "}")) {
        if (list.n)
            HILO_TRY(hlo_expect(b->h, &c, ","));
        HILO_TRY(hlo_comp_named(b->h, &c, &comp));
        HILO_TRY(hlo_func(b->h, comp, /*entry=*/false));
        ARENA_PUSH(&b->h->m->arena, &list, comp->symbol);
        if (!many)
            break;
    }
    ir_set_prop(b->h->m, op, IR_CUSTOM_CALL_called_computations, ir_attr_array(b->h->m, list.v, list.n));
    return HILO_OK;
}

/* Layouts as StableHLO has them: one list of dimensions for each leaf, minor to major. */
static ir_attr custom_layouts(struct hlo_body *b, const struct hlo_shape *shape) {
    struct ir_module *m = b->h->m;
    struct { ir_attr *v; uint32_t n, cap; } list = {NULL, 0, 0};
    for (uint32_t k = 0; k < shape->nleaves; k++) {
        const struct hlo_shape *leaf = hlo_leaf(shape, k);
        uint32_t rank = ir_type_get(m, leaf->type)->kind == IR_TYPE_TENSOR ? ir_type_get(m, leaf->type)->rank : 0;
        int64_t order[IR_MAX_RANK];
        for (uint32_t i = 0; i < rank; i++)
            order[i] = leaf->layout ? leaf->layout[i] : (int64_t)(rank - 1 - i);
        ir_type type = ir_type_of(m, IR_INDEX_T, (int64_t[]){rank}, 1);
        ARENA_PUSH(&m->arena, &list, ir_attr_dense(m, type, order, rank * sizeof *order, rank == 1, false));
    }
    return ir_attr_array(m, list.v, list.n);
}

/* `{f32[2,3]{0,1}, …}`, one an operand */
static hilo_status custom_constraints(struct hlo_body *b, ir_op op) {
    struct { struct hlo_shape *v; uint32_t n, cap; } list = {NULL, 0, 0};
    struct hlo_cursor c = hlo_take(b->instr, "operand_layout_constraints");
    struct hlo_shape all = {.tuple = true};
    if (!c.at)
        return HILO_OK;
    HILO_TRY(hlo_expect(b->h, &c, "{"));
    while (!hlo_accept(&c, "}")) {
        struct hlo_shape shape;
        if (list.n)
            HILO_TRY(hlo_expect(b->h, &c, ","));
        HILO_TRY(hlo_shape(b->h, &c, &shape));
        shape.first = all.nleaves;
        all.nleaves += shape.nleaves;
        ARENA_PUSH(&b->h->m->arena, &list, shape);
    }
    all.items = list.v;
    all.nitems = list.n;
    ir_set_prop(b->h->m, op, IR_CUSTOM_CALL_operand_layouts, custom_layouts(b, &all));
    ir_set_prop(b->h->m, op, IR_CUSTOM_CALL_result_layouts, custom_layouts(b, &b->instr->shape));
    return HILO_OK;
}

/* `{{0}: (1, {})}` */
static hilo_status custom_aliases(struct hlo_body *b, ir_op op) {
    struct { ir_attr *v; uint32_t n, cap; } list = {NULL, 0, 0};
    struct hlo *h = b->h;
    struct hlo_cursor c = hlo_take(b->instr, "output_to_operand_aliasing");
    const int64_t *v;
    uint32_t n;
    int64_t number;
    if (!c.at)
        return HILO_OK;
    HILO_TRY(hlo_expect(h, &c, "{"));
    while (!hlo_accept(&c, "}")) {
        ir_attr f[3];
        if (list.n)
            HILO_TRY(hlo_expect(h, &c, ","));
        HILO_TRY(hlo_i64s(h, &c, "{", "}", &v, &n));
        f[0] = ir_attr_i64s(h->m, v, n);
        HILO_TRY(hlo_expect(h, &c, ":"));
        HILO_TRY(hlo_expect(h, &c, "("));
        HILO_TRY(hlo_i64(h, &c, &number));
        f[1] = ir_attr_i64(h->m, number);
        HILO_TRY(hlo_expect(h, &c, ","));
        HILO_TRY(hlo_i64s(h, &c, "{", "}", &v, &n));
        f[2] = ir_attr_i64s(h->m, v, n);
        HILO_TRY(hlo_expect(h, &c, ")"));
        ARENA_PUSH(&h->m->arena, &list, ir_attr_struct(h->m, IR_STRUCT_OUTPUT_OPERAND_ALIAS, f));
    }
    ir_set_prop(h->m, op, IR_CUSTOM_CALL_output_operand_aliases, ir_attr_array(h->m, list.v, list.n));
    return HILO_OK;
}

/* What XLA makes of `topk` for CPUs: k is the size of the results. */
static hilo_status custom_top_k(struct hlo_body *b, struct hlo_value *out) {
    struct hlo_value in;
    ir_type *types = leaf_types(b, &b->instr->shape);
    HILO_TRY(leaves_of(b, 0, &in));
    hlo_take(b->instr, "called_computations");
    hlo_take(b->instr, "to_apply");
    const struct ir_type_data *t = b->instr->shape.nleaves == 2 ? ir_type_get(b->h->m, types[0]) : NULL;
    if (!t || t->rank == 0)
        return op_error(b, "of TopK gives values and indices");
    ir_op op = hlo_new_op(b, IR_TOP_K, in.v, in.n, types, 2, 0);
    ir_set_prop(b->h->m, op, IR_TOP_K_k, ir_attr_i64(b->h->m, t->dims[t->rank - 1]));
    *out = results_of(b, op);
    return HILO_OK;
}

static hilo_status hlo_custom_call(struct hlo_body *b, enum ir_op_kind kind, struct hlo_value *out) {
    struct hlo *h = b->h;
    struct hlo_value in;
    struct str target;
    int64_t version;
    ir_op op;
    struct hlo_cursor c = hlo_take(b->instr, "custom_call_target"), effect = hlo_take(b->instr, "custom_call_has_side_effect");
    if (!c.at)
        return needs_attr(b, "custom_call_target");
    HILO_TRY(hlo_string(h, &c, &target));
    if (str_is(target, "TopK"))
        return custom_top_k(b, out);
    HILO_TRY(leaves_of(b, 0, &in));
    HILO_TRY(table_op(b, kind, &in, leaf_types(b, &b->instr->shape), b->instr->shape.nleaves, &op));
    ir_set_prop(h->m, op, IR_CUSTOM_CALL_call_target_name, ir_attr_string(h->m, target));
    if (effect.at && hlo_accept(&effect, "true"))
        ir_set_prop(h->m, op, IR_CUSTOM_CALL_has_side_effect, ir_attr_bool(h->m, true));
    HILO_TRY(custom_api(b, &version));
    if (version != 1)
        ir_set_prop(h->m, op, IR_CUSTOM_CALL_api_version, ir_attr_int(h->m, ir_type_scalar(h->m, IR_I32_T), version));
    HILO_TRY(custom_config(b, op, version));
    HILO_TRY(custom_computations(b, op));
    HILO_TRY(custom_constraints(b, op));
    HILO_TRY(custom_aliases(b, op));
    hlo_take(b->instr, "schedule");
    *out = results_of(b, op);
    return HILO_OK;
}

/* ---- bitcasts -------------------------------------------------------------------------------- */

/* The dimensions of a leaf in the order of memory, from major to minor. */
static void memory_order(const struct hlo_shape *s, uint32_t rank, int64_t *order) {
    for (uint32_t i = 0; i < rank; i++)
        order[i] = s->layout ? s->layout[rank - 1 - i] : (int64_t)i;
}

static ir_type type_permuted(struct ir_module *m, const struct ir_type_data *t, const int64_t *order) {
    int64_t dims[IR_MAX_RANK];
    for (uint32_t i = 0; i < t->rank; i++)
        dims[i] = t->dims[order[i]];
    return ir_type_of(m, t->dtype, dims, t->rank);
}

/* Whether two shapes are the same but for dimensions of size 1. */
static bool same_but_ones(const struct ir_type_data *a, const struct ir_type_data *c) {
    uint32_t i = 0, k = 0;
    for (;; i++, k++) {
        while (i < a->rank && a->dims[i] == 1)
            i++;
        while (k < c->rank && c->dims[k] == 1)
            k++;
        if (i == a->rank || k == c->rank)
            return i == a->rank && k == c->rank;
        if (a->dims[i] != c->dims[k])
            return false;
    }
}

static ir_val reshaped(struct hlo_body *b, ir_val v, ir_type to) {
    return IR_SAME(ir_val_get(b->h->m, v)->type, to) ? v : op_one(b, IR_RESHAPE, &v, 1, to, IR_SLOT_NONE, (ir_attr){0});
}

static ir_val transposed(struct hlo_body *b, ir_val v, ir_type to, const int64_t *order) {
    ir_attr dims = ir_attr_i64s(b->h->m, order, ir_type_get(b->h->m, to)->rank);
    return op_one(b, IR_TRANSPOSE, &v, 1, to, IR_TRANSPOSE_permutation, dims);
}

/* The same bits as elements of type `t`. Where widths differ, the array is flat, and what divides or joins is a dimension. */
static ir_val recast(struct hlo_body *b, ir_val v, enum ir_dtype t) {
    struct ir_module *m = b->h->m;
    const struct ir_type_data *from = ir_val_type(m, v);
    size_t n = 0;
    ir_type_count(from, &n);
    uint32_t wide = ir_dtype_get(from->dtype)->bits, narrow = ir_dtype_get(t)->bits;
    ir_type to = ir_type_of(m, t, from->dims, from->rank);
    if (wide > narrow) {
        v = reshaped(b, v, ir_type_of(m, from->dtype, (int64_t[]){(int64_t)n}, 1));
        to = ir_type_of(m, t, (int64_t[]){(int64_t)n, wide / narrow}, 2);
    } else if (wide < narrow) {
        int64_t parts = narrow / wide, joined = (int64_t)n / parts;
        v = reshaped(b, v, ir_type_of(m, from->dtype, (int64_t[]){joined, parts}, 2));
        to = ir_type_of(m, t, (int64_t[]){joined}, 1);
    }
    return op_one(b, IR_BITCAST_CONVERT, &v, 1, to, IR_SLOT_NONE, (ir_attr){0});
}

/* The same memory, seen as another array: in the order of memory it is of the new type, then of the new shape. */
static hilo_status hlo_bitcast(struct hlo_body *b, enum ir_op_kind kind, struct hlo_value *out) {
    (void)kind;
    struct ir_module *m = b->h->m;
    const struct hlo_shape *to = &b->instr->shape;
    HILO_TRY(need_operands(b, 1));
    const struct hlo_shape *from = operand_shape(b, 0);
    if (to->tuple || from->tuple || operand(b, 0)->n != 1 || IR_NONE(operand(b, 0)->v[0]))
        return op_error(b, "needs an array");
    ir_val v = operand(b, 0)->v[0];
    const struct ir_type_data *a = ir_type_get(m, from->type), *r = ir_type_get(m, to->type);
    int64_t order[IR_MAX_RANK], back[IR_MAX_RANK];
    size_t na, nr;
    if (a->kind != IR_TYPE_TENSOR || r->kind != IR_TYPE_TENSOR || !ir_type_count(a, &na) || !ir_type_count(r, &nr) ||
        !mem_mul(na, ir_dtype_get(a->dtype)->bits, &na) || !mem_mul(nr, ir_dtype_get(r->dtype)->bits, &nr) || na != nr)
        return op_error(b, "needs arrays of one size");
    if ((from->tiled || to->tiled) && !same_but_ones(a, r))
        return op_error(b, "between tiled layouts of different shapes is not supported");
    if (from->layout) {
        memory_order(from, a->rank, order);
        v = transposed(b, v, type_permuted(m, a, order), order);
    }
    if (a->dtype != r->dtype)
        v = recast(b, v, r->dtype);
    memory_order(to, r->rank, order);
    v = reshaped(b, v, type_permuted(m, r, order));
    if (to->layout) {
        for (uint32_t i = 0; i < r->rank; i++)
            back[order[i]] = i;
        v = transposed(b, v, to->type, back);
    }
    *out = (struct hlo_value){arena_dup(&m->arena, &v, sizeof v, _Alignof(ir_val)), 1};
    return HILO_OK;
}

/* ---- scatters -------------------------------------------------------------------------------- */

/* By number of an index vector: where a window ends at the operand's end when it begins there, and the operand's size. false
   when windows are of one element wherever indices move them, or the verifier will refuse the op. */
static bool moved_windows(const struct ir_module *m, ir_op op, const struct ir_type_data *indices, int64_t *last,
                          int64_t *size) {
    const struct ir_op_data *x = ir_op_get(m, op);
    const struct ir_type_data *to = ir_val_type(m, x->operands[0]), *part = ir_val_type(m, x->operands[x->noperands / 2 + 1]);
    ir_attr numbers = ir_prop(m, op, IR_SCATTER_scatter_dimension_numbers);
    size_t nwindow, ninserted, nbatching, nmap, next = 0;
    const int64_t *window = ir_field_dims(m, numbers, IR_SCATTER_update_window_dims_F, &nwindow);
    const int64_t *inserted = ir_field_dims(m, numbers, IR_SCATTER_inserted_window_dims_F, &ninserted);
    const int64_t *batching = ir_field_dims(m, numbers, IR_SCATTER_input_batching_dims_F, &nbatching);
    const int64_t *map = ir_field_dims(m, numbers, IR_SCATTER_scatter_dims_to_operand_dims_F, &nmap);
    int64_t along = ir_field_i64(m, numbers, IR_SCATTER_index_vector_dim_F), of[IR_MAX_RANK];
    bool moved = false;
    if (!ir_type_is_static(to) || !ir_type_is_static(part) || !ir_type_is_static(indices) || along < 0 || nmap > IR_MAX_RANK ||
        along > indices->rank || (int64_t)nmap != (along < indices->rank ? indices->dims[along] : 1))
        return false;
    for (uint32_t d = 0; d < to->rank; d++) {
        bool kept = true;
        for (size_t i = 0; i < ninserted; i++)
            kept = kept && inserted[i] != d;
        for (size_t i = 0; i < nbatching; i++)
            kept = kept && batching[i] != d;
        if (kept && (next == nwindow || window[next] < 0 || window[next] >= part->rank))
            return false;
        of[d] = kept ? part->dims[window[next++]] : 1;
    }
    for (size_t k = 0; k < nmap; k++) {
        if (map[k] < 0 || map[k] >= to->rank)
            return false;
        size[k] = to->dims[map[k]];
        last[k] = size[k] - of[map[k]];
        moved = moved || of[map[k]] > 1;
    }
    return moved;
}

/* A tensor of the indices' shape, by number of an index vector. */
static ir_val index_constant(struct hlo_body *b, ir_type type, const int64_t *v, int64_t n, int64_t along) {
    struct ir_module *m = b->h->m;
    uint32_t rank = along < ir_type_get(m, type)->rank;
    ir_attr value = ir_attr_dense_i64s(m, v, &n, rank);
    ir_val out = op_one(b, IR_CONSTANT, NULL, 0, ir_attr_get(m, value)->type, IR_CONSTANT_value, value);
    ir_attr dims = ir_attr_i64s(m, &along, rank);
    return op_one(b, IR_BROADCAST_IN_DIM, &out, 1, type, IR_BROADCAST_IN_DIM_broadcast_dimensions, dims);
}

/* HLO leaves windows out that are partly outside of the operand, StableHLO only the elements that are: such windows are put
   wholly outside. */
static hilo_status hlo_scatter(struct hlo_body *b, enum ir_op_kind kind, struct hlo_value *out) {
    struct ir_module *m = b->h->m;
    static const int64_t zeros[IR_MAX_RANK];
    int64_t last[IR_MAX_RANK], size[IR_MAX_RANK];
    HILO_TRY(hlo_op(b, kind, out));
    ir_op op = ir_block_get(m, b->block)->last;
    uint32_t noperands = ir_op_get(m, op)->noperands, at = noperands / 2;
    if (noperands % 2 == 0 || noperands == 1)
        return HILO_OK;
    ir_val v = ir_operand(m, op, at);
    const struct ir_type_data t = *ir_val_type(m, v);
    enum ir_dtype_class class = t.kind == IR_TYPE_TENSOR ? ir_dtype_get(t.dtype)->cls : IR_PRED;
    if ((class != IR_SINT && class != IR_UINT) || !moved_windows(m, op, &t, last, size))
        return HILO_OK;
    int64_t along = ir_field_i64(m, ir_prop(m, op, IR_SCATTER_scatter_dimension_numbers), IR_SCATTER_index_vector_dim_F);
    int64_t n = along < t.rank ? t.dims[along] : 1;
    ir_type wide = ir_type_of(m, IR_I64_T, t.dims, t.rank), pred = ir_type_of(m, IR_I1_T, t.dims, t.rank);
    ir_unlink(m, op);
    if (t.dtype != IR_I64_T)
        v = op_one(b, IR_CONVERT, &v, 1, wide, IR_SLOT_NONE, (ir_attr){0});
    ir_val range[] = {index_constant(b, wide, zeros, n, along), v, index_constant(b, wide, last, n, along)};
    ir_val same[] = {v, op_one(b, IR_CLAMP, range, 3, wide, IR_SLOT_NONE, (ir_attr){0})};
    ir_val inside = op_one(b, IR_COMPARE, same, 2, pred, IR_COMPARE_comparison_direction,
                           ir_attr_enum(m, IR_ENUM_COMPARISON_DIRECTION, IR_COMPARISON_DIRECTION_EQ));
    ir_val either[] = {inside, v, index_constant(b, wide, size, n, along)};
    ir_set_operand(m, op, at, op_one(b, IR_SELECT, either, 3, wide, IR_SLOT_NONE, (ir_attr){0}));
    ir_append(m, b->block, op);
    return HILO_OK;
}

/* ---- shapes as operands ---------------------------------------------------------------------- */

/* The sizes are scalars. */
static hilo_status hlo_dynamic_reshape(struct hlo_body *b, enum ir_op_kind kind, struct hlo_value *out) {
    struct ir_module *m = b->h->m;
    struct hlo_value in;
    HILO_TRY(leaves_of(b, 0, &in));
    if (in.n == 0 || b->instr->shape.tuple)
        return op_error(b, "needs an array and sizes");
    if (in.n == 1)
        return hlo_op(b, IR_RESHAPE, out); /* to a scalar */
    enum ir_dtype t = ir_val_type(m, in.v[1])->dtype;
    ir_type one = ir_type_of(m, t, (int64_t[]){1}, 1), all = ir_type_of(m, t, (int64_t[]){(int64_t)in.n - 1}, 1);
    for (uint32_t k = 1; k < in.n; k++)
        in.v[k] = op_one(b, IR_RESHAPE, &in.v[k], 1, one, IR_SLOT_NONE, (ir_attr){0});
    in.v[1] = op_one(b, IR_CONCATENATE, in.v + 1, in.n - 1, all, IR_CONCATENATE_dimension, ir_attr_i64(m, 0));
    *out = results_of(b, hlo_new_op(b, kind, in.v, 2, &b->instr->shape.type, 1, 0));
    return HILO_OK;
}

static hilo_status hlo_rng(struct hlo_body *b, enum ir_op_kind kind, struct hlo_value *out) {
    struct ir_module *m = b->h->m;
    const struct ir_type_data *t = ir_type_get(m, b->instr->shape.type);
    struct hlo_value in;
    ir_op op;
    HILO_TRY(need_operands(b, 2));
    HILO_TRY(leaves_of(b, 0, &in));
    if (in.n != 2 || b->instr->shape.tuple || !ir_type_is_static(t))
        return op_error(b, "needs two scalars and a known shape");
    ir_attr dims = ir_attr_dense_i64s(m, t->dims, (int64_t[]){t->rank}, 1);
    ir_val v[3] = {in.v[0], in.v[1], op_one(b, IR_CONSTANT, NULL, 0, ir_attr_get(m, dims)->type, IR_CONSTANT_value, dims)};
    HILO_TRY(table_op(b, kind, &(struct hlo_value){v, 3}, &b->instr->shape.type, 1, &op));
    *out = results_of(b, op);
    return HILO_OK;
}

/* Inputs, then `num_carries` of them are initial values; results are outputs, then carries. */
static hilo_status hlo_scan(struct hlo_body *b, enum ir_op_kind kind, struct hlo_value *out) {
    struct ir_module *m = b->h->m;
    struct hlo_cursor c = hlo_take(b->instr, "num_carries");
    struct hlo_value in;
    uint32_t ncarries = 0, nresults = b->instr->shape.nleaves;
    ir_op op;
    if (c.at)
        HILO_TRY(hlo_u32(b->h, &c, &ncarries));
    HILO_TRY(leaves_of(b, 0, &in));
    if (ncarries > in.n || ncarries > nresults)
        return op_error(b, "has more carries than operands or results");
    HILO_TRY(table_op(b, kind, &in, leaf_types(b, &b->instr->shape), nresults, &op));
    int32_t operands[2] = {(int32_t)(in.n - ncarries), (int32_t)ncarries};
    int32_t results[2] = {(int32_t)(nresults - ncarries), (int32_t)ncarries};
    ir_type i32 = ir_type_scalar(m, IR_I32_T);
    ir_set_prop(m, op, IR_SCAN_operandSegmentSizes, ir_attr_dense_array(m, i32, operands, 2));
    ir_set_prop(m, op, IR_SCAN_resultSegmentSizes, ir_attr_dense_array(m, i32, results, 2));
    *out = results_of(b, op);
    return HILO_OK;
}

static hilo_status hlo_topk(struct hlo_body *b, enum ir_op_kind kind, struct hlo_value *out) {
    struct hlo_cursor c = hlo_take(b->instr, "largest");
    if (c.at && !hlo_accept(&c, "true"))
        return op_error(b, "of the smallest elements is not supported");
    return hlo_op(b, kind, out);
}

/* ---- processes ------------------------------------------------------------------------------- */

/* One dimension is divided and joined again; as many parts as a group has devices. */
static void finish_all_to_all(struct ir_module *m, ir_op op) {
    const struct ir_type_data *groups = ir_type_get(m, ir_attr_get(m, ir_prop(m, op, IR_ALL_TO_ALL_replica_groups))->type);
    ir_set_prop(m, op, IR_ALL_TO_ALL_concat_dimension, ir_prop(m, op, IR_ALL_TO_ALL_split_dimension));
    ir_set_prop(m, op, IR_ALL_TO_ALL_split_count, ir_attr_i64(m, groups->dims[1]));
}

/* Arrays of one shape, one for each device of the group: they are rows of one array. */
static hilo_status all_to_all_parts(struct hlo_body *b, enum ir_op_kind kind, struct hlo_value *out) {
    struct ir_module *m = b->h->m;
    struct hlo_value in;
    HILO_TRY(leaves_of(b, 0, &in));
    const struct ir_type_data *t = in.n ? ir_val_type(m, in.v[0]) : NULL;
    if (!t || t->kind != IR_TYPE_TENSOR || !ir_type_is_static(t) || t->rank == IR_MAX_RANK || b->instr->shape.nleaves != in.n)
        return op_error(b, "needs arrays of known sizes, and gives as many");
    int64_t dims[IR_MAX_RANK], low[IR_MAX_RANK] = {0}, strides[IR_MAX_RANK];
    uint32_t rank = t->rank + 1;
    dims[0] = 1;
    memcpy(dims + 1, t->dims, t->rank * sizeof *dims);
    ir_type row = ir_type_of(m, t->dtype, dims, rank), one = ir_val_get(m, in.v[0])->type;
    dims[0] = in.n;
    ir_type all = ir_type_of(m, t->dtype, dims, rank);
    struct hlo_value rows = {ARENA_ARRAY(&m->arena, ir_val, in.n), in.n};
    for (uint32_t k = 0; k < in.n; k++) {
        if (!IR_SAME(ir_val_get(m, in.v[k])->type, one))
            return op_error(b, "needs arrays of one shape");
        rows.v[k] = reshaped(b, in.v[k], row);
    }
    ir_val joined = op_one(b, IR_CONCATENATE, rows.v, in.n, all, IR_CONCATENATE_dimension, ir_attr_i64(m, 0));
    ir_op op;
    HILO_TRY(table_op(b, kind, &(struct hlo_value){&joined, 1}, &all, 1, &op));
    ir_set_prop(m, op, IR_ALL_TO_ALL_split_dimension, ir_attr_i64(m, 0));
    finish_all_to_all(m, op);
    for (uint32_t i = 0; i < rank; i++)
        strides[i] = 1;
    ir_val result = ir_result(m, op, 0);
    for (uint32_t k = 0; k < in.n; k++) {
        low[0] = k;
        dims[0] = k + 1;
        op = hlo_new_op(b, IR_SLICE, &result, 1, &row, 1, 0);
        ir_set_prop(m, op, IR_SLICE_start_indices, ir_attr_i64s(m, low, rank));
        ir_set_prop(m, op, IR_SLICE_limit_indices, ir_attr_i64s(m, dims, rank));
        ir_set_prop(m, op, IR_SLICE_strides, ir_attr_i64s(m, strides, rank));
        rows.v[k] = reshaped(b, ir_result(m, op, 0), one);
    }
    *out = rows;
    return check_types(b, &b->instr->shape, out);
}

static hilo_status hlo_all_to_all(struct hlo_body *b, enum ir_op_kind kind, struct hlo_value *out) {
    struct ir_module *m = b->h->m;
    if (!hlo_find(b->instr->attrs, b->instr->nattrs, "dimensions").p)
        return all_to_all_parts(b, kind, out);
    HILO_TRY(hlo_op(b, kind, out));
    ir_op op = ir_terminator(m, b->block);
    finish_all_to_all(m, op);
    return HILO_OK;
}

static hilo_status channel(struct hlo_body *b, ir_op op, enum ir_slot slot, bool sends) {
    enum { DEVICE_TO_DEVICE = 1, DEVICE_TO_HOST, HOST_TO_DEVICE };
    struct hlo_cursor c = hlo_take(b->instr, "channel_id");
    struct str host = hlo_find(b->instr->attrs, b->instr->nattrs, "is_host_transfer");
    int64_t id = 0, type = host.p && str_is(host, "true") ? (sends ? DEVICE_TO_HOST : HOST_TO_DEVICE) : DEVICE_TO_DEVICE;
    if (c.at)
        HILO_TRY(hlo_i64(b->h, &c, &id));
    ir_attr fields[2] = {ir_attr_i64(b->h->m, id), ir_attr_i64(b->h->m, type)};
    ir_set_prop(b->h->m, op, slot, ir_attr_struct(b->h->m, IR_STRUCT_CHANNEL_HANDLE, fields));
    return HILO_OK;
}

/* The results are the data, a context that nothing but `send-done` and `recv-done` takes, and the token. */
static hilo_status hlo_send(struct hlo_body *b, enum ir_op_kind kind, struct hlo_value *out) {
    struct hlo_value in;
    ir_op op;
    ir_type token = ir_type_simple(b->h->m, IR_TYPE_TOKEN);
    HILO_TRY(leaves_of(b, 0, &in));
    if (in.n == 0 || b->instr->shape.nleaves != in.n + 1)
        return op_error(b, "needs data and a token");
    HILO_TRY(table_op(b, kind, &in, &token, 1, &op));
    HILO_TRY(channel(b, op, IR_SEND_channel_handle, /*sends=*/true));
    out->n = in.n + 1;
    out->v = ARENA_ARRAY(&b->h->m->arena, ir_val, out->n);
    memcpy(out->v, in.v, (in.n - 1) * sizeof *in.v);
    out->v[in.n] = ir_result(b->h->m, op, 0);
    return HILO_OK;
}

static hilo_status hlo_recv(struct hlo_body *b, enum ir_op_kind kind, struct hlo_value *out) {
    struct hlo_value in;
    ir_op op;
    uint32_t n = b->instr->shape.nleaves;
    HILO_TRY(leaves_of(b, 0, &in));
    if (in.n != 1 || n < 2)
        return op_error(b, "needs a token and gives data, a context and a token");
    ir_type *types = leaf_types(b, &b->instr->shape);
    types[n - 2] = types[n - 1]; /* without the context */
    HILO_TRY(table_op(b, kind, &in, types, n - 1, &op));
    HILO_TRY(channel(b, op, IR_RECV_channel_handle, /*sends=*/false));
    *out = (struct hlo_value){ARENA_ARRAY(&b->h->m->arena, ir_val, n), n};
    for (uint32_t k = 0; k < n; k++)
        if (k != n - 2)
            out->v[k] = ir_result(b->h->m, op, k == n - 1 ? n - 2 : k);
    return HILO_OK;
}

static hilo_status hlo_send_done(struct hlo_body *b, enum ir_op_kind kind, struct hlo_value *out) {
    (void)kind;
    HILO_TRY(need_operands(b, 1));
    const struct hlo_value *in = operand(b, 0);
    hlo_take(b->instr, "channel_id");
    hlo_take(b->instr, "is_host_transfer");
    if (in->n < 2)
        return op_error(b, "needs what send begins");
    *out = (struct hlo_value){in->v + in->n - 1, 1};
    return check_types(b, &b->instr->shape, out);
}

static hilo_status hlo_recv_done(struct hlo_body *b, enum ir_op_kind kind, struct hlo_value *out) {
    (void)kind;
    HILO_TRY(need_operands(b, 1));
    const struct hlo_value *in = operand(b, 0);
    hlo_take(b->instr, "channel_id");
    hlo_take(b->instr, "is_host_transfer");
    if (in->n < 2)
        return op_error(b, "needs what recv begins");
    *out = (struct hlo_value){ARENA_ARRAY(&b->h->m->arena, ir_val, in->n - 1), in->n - 1};
    memcpy(out->v, in->v, (in->n - 2) * sizeof *in->v);
    out->v[in->n - 2] = in->v[in->n - 1];
    return check_types(b, &b->instr->shape, out);
}

/* ---- dispatch -------------------------------------------------------------------------------- */

typedef hilo_status build(struct hlo_body *b, enum ir_op_kind kind, struct hlo_value *out);
struct opcode { const char *name; enum ir_op_kind kind; build *how; };
static const struct opcode opcodes[] = {
#define HLO(opcode, id, how) {opcode, IR_##id, hlo_##how},
#include "read/hlo/hlo.def"
};

static const struct opcode *opcode_named(struct str name) {
    for (size_t k = 0; k < sizeof opcodes / sizeof *opcodes; k++)
        if (str_is(name, opcodes[k].name))
            return &opcodes[k];
    return NULL;
}

/* An opcode without this ending; NULL when it has another. */
static const struct opcode *opcode_without(struct str name, const char *ending) {
    size_t n = strlen(ending);
    if (name.n <= n || memcmp(name.p + name.n - n, ending, n) != 0)
        return NULL;
    return opcode_named((struct str){name.p, name.n - n});
}

/* `x-start`: the whole operation. Its shape has the result among what the hardware needs: the result alone, or
   (operands, result, …), or for a copy (result, operand, …). */
static hilo_status start(struct hlo_body *b, const struct opcode *o, struct hlo_value *out) {
    struct hlo_shape whole = b->instr->shape;
    bool copies = str_is(b->instr->opcode, "copy-start"), alone = str_is(b->instr->opcode, "all-reduce-start");
    uint32_t at = copies ? 0 : 1;
    if (!alone) {
        if (!whole.tuple || whole.nitems <= at)
            return op_error(b, "needs a tuple of operands and results");
        b->instr->shape = whole.items[at];
    }
    hilo_status status = o->how(b, o->kind, out);
    b->instr->shape = whole;
    return status;
}

/* `x-done`, `x-update`: the result of the op that it completes. */
static hilo_status done(struct hlo_body *b, const struct opcode *o, struct hlo_value *out) {
    HILO_TRY(need_operands(b, 1));
    struct str begun = b->comp->v[b->instr->operands[0]].opcode;
    if (opcode_without(begun, "-start") != o && opcode_without(begun, "-update") != o)
        return op_error(b, "completes no instruction of its kind");
    *out = *operand(b, 0);
    hlo_take(b->instr, "calls");
    return opcode_without(b->instr->opcode, "-done") ? check_types(b, &b->instr->shape, out) : HILO_OK;
}

hilo_status hlo_instruction(struct hlo_body *b, struct hlo_value *out) {
    struct str name = b->instr->opcode;
    const struct opcode *o = opcode_named(name);
    if (++b->h->nops > b->h->max_ops)
        return op_error(b, "exceeds the limit on ops: computations are used too often");
    if (o && str_is(name, "async"))
        o = NULL;
    if (o)
        return o->how(b, o->kind, out);
    if ((o = opcode_without(name, "-start")) != NULL)
        return start(b, o, out);
    if ((o = opcode_without(name, "-done")) != NULL || (o = opcode_without(name, "-update")) != NULL)
        return done(b, o, out);
    return hlo_error(b->h, name.p, "there is no opcode '%.*s' that is supported", (int)name.n, name.p);
}
