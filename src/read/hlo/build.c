/* From computations to functions and regions. */
#include "read/hlo/hlo.h"

/* ---- bodies ---------------------------------------------------------------------------------- */

/* Builds every instruction of a computation; `root` is the last one's value. */
static hilo_status build_body(struct hlo *h, struct hlo_comp *comp, ir_block block, const struct hlo_value *params,
                              struct hlo_value *root) {
    struct hlo_body b = {.h = h, .comp = comp, .block = block, .params = params};
    const char *at = comp->name.p;
    if (comp->open)
        return hlo_error(h, at, "computation '%.*s' uses itself", (int)comp->name.n, comp->name.p);
    HILO_TRY(hlo_enter(h, at));
    comp->open = true;
    b.values = ARENA_ARRAY(&h->m->arena, struct hlo_value, comp->n);
    for (uint32_t i = 0; i < comp->n; i++) {
        b.instr = &comp->v[i];
        b.instr->taken = 0;
        HILO_TRY(hlo_location(h, b.instr, &b.loc));
        HILO_TRY(hlo_instruction(&b, &b.values[i]));
        HILO_TRY(hlo_check_attrs(h, b.instr));
    }
    *root = b.values[comp->root];
    comp->open = false;
    hlo_leave(h);
    for (uint32_t i = 0; i < root->n; i++)
        if (IR_NONE(root->v[i]))
            return hlo_error(h, comp->v[comp->root].opcode.p, "an op that is not completed is the result of a computation");
    return HILO_OK;
}

/* Arguments of a block for all parameters, by their leaves. */
static const struct hlo_value *block_params(struct hlo *h, const struct hlo_comp *comp, ir_block block) {
    struct hlo_value *params = ARENA_ARRAY(&h->m->arena, struct hlo_value, comp->nparams);
    for (uint32_t i = 0; i < comp->nparams; i++) {
        const struct hlo_shape *shape = &comp->v[comp->params[i]].shape;
        ir_type *types = ARENA_ARRAY(&h->m->arena, ir_type, shape->nleaves);
        params[i] = (struct hlo_value){ARENA_ARRAY(&h->m->arena, ir_val, shape->nleaves), shape->nleaves};
        hlo_leaves(shape, types);
        for (uint32_t k = 0; k < shape->nleaves; k++)
            params[i].v[k] = ir_block_add_arg(h->m, block, types[k]);
    }
    return params;
}

static void end_block(struct hlo *h, const struct hlo_comp *comp, ir_block block, enum ir_op_kind kind,
                      const struct hlo_value *root) {
    ir_op op = ir_op_new(h->m, kind, root->v, root->n, NULL, 0, 0);
    ir_set_loc(h->m, op, (ir_attr){0}, comp->v[comp->root].line, comp->v[comp->root].col);
    ir_append(h->m, block, op);
}

hilo_status hlo_region(struct hlo_body *b, ir_region r, struct hlo_comp *comp, const struct hlo_value *captured) {
    struct hlo_value root;
    ir_block block = ir_block_new(b->h->m, r);
    const struct hlo_value *params = captured ? captured : block_params(b->h, comp, block);
    HILO_TRY(build_body(b->h, comp, block, params, &root));
    end_block(b->h, comp, block, IR_RETURN, &root);
    return HILO_OK;
}

/* ---- functions ------------------------------------------------------------------------------- */

/* The function of the entry is @main; that of another computation has its name. */
static struct str func_name(const struct hlo *h, struct hlo_comp *comp, bool entry) {
    if (entry)
        return STR("main");
    return str_is(comp->name, "main") && &h->comps.v[h->entry - 1] != comp ? STR("main.called") : comp->name;
}

/* `{0,1}`, minor to major */
static ir_attr layout_mode(struct hlo *h, const int64_t *order, uint32_t rank) {
    char text[IR_MAX_RANK * 4], *p = text;
    *p++ = '{';
    for (uint32_t i = 0; i < rank; i++) {
        if (i)
            *p++ = ',';
        if (order[i] > 9)
            *p++ = (char)('0' + order[i] / 10);
        *p++ = (char)('0' + order[i] % 10);
    }
    *p++ = '}';
    return ir_attr_string(h->m, (struct str){text, (size_t)(p - text)});
}

/* A dictionary and one more name. */
static ir_attr dict_with(struct hlo *h, ir_attr dict, const char *name, ir_attr value) {
    const struct ir_attr_data *d = ir_attr_get(h->m, dict);
    uint32_t n = IR_NONE(dict) ? 0 : d->n;
    ir_str *names = ARENA_ARRAY(&h->m->arena, ir_str, n + 1);
    ir_attr *items = ARENA_ARRAY(&h->m->arena, ir_attr, n + 1);
    for (uint32_t i = 0; i < n; i++) {
        names[i] = d->names[i];
        items[i] = d->items[i];
    }
    names[n] = ir_str_of(h->m, str_of(name));
    items[n] = value;
    return ir_attr_dict(h->m, names, items, n + 1);
}

static void add_layout(struct hlo *h, const struct hlo_shape *leaf, ir_attr *dict) {
    if (leaf->layout)
        *dict = dict_with(h, *dict, "mhlo.layout_mode", layout_mode(h, leaf->layout, ir_type_get(h->m, leaf->type)->rank));
}

/* Attributes of the leaves of a parameter or of the result: layouts and, piece by piece, shardings. `shape` is where the
   layouts are said. */
static hilo_status leaf_attrs(struct hlo *h, const struct hlo_instr *i, const struct hlo_shape *shape, ir_attr *out) {
    struct str shards = hlo_find(i->attrs, i->nattrs, "sharding");
    struct hlo_cursor c = hlo_over(shards);
    bool split = shape->tuple && shards.p && hlo_accept(&c, "{") && hlo_next_is(&c, '{');
    for (uint32_t k = 0; k < shape->nleaves; k++) {
        struct str piece = shards;
        if (!shape->tuple)
            HILO_TRY(hlo_discardable(h, i, false, &out[k]));
        if (split) {
            if (k)
                HILO_TRY(hlo_expect(h, &c, ","));
            HILO_TRY(hlo_balanced(h, &c, &piece));
        }
        if (shards.p && (split || !shape->tuple || str_is(shards, "{replicated}")))
            out[k] = dict_with(h, out[k], "mhlo.sharding", ir_attr_string(h->m, piece));
        add_layout(h, hlo_leaf(shape, k), &out[k]);
    }
    return HILO_OK;
}

/* `{0, 1}`: which part of a tuple; as the number of its first leaf. */
static hilo_status leaf_index(struct hlo *h, struct hlo_cursor *c, const struct hlo_shape *shape, uint32_t *leaf) {
    const int64_t *path;
    uint32_t n;
    hlo_space(c);
    const char *at = c->at;
    HILO_TRY(hlo_i64s(h, c, "{", "}", &path, &n));
    *leaf = 0;
    for (uint32_t k = 0; k < n; k++) {
        if (!shape->tuple || path[k] < 0 || path[k] >= shape->nitems)
            return hlo_error(h, at, "there is no such part of the tuple");
        shape = &shape->items[path[k]];
        *leaf += shape->first;
    }
    return shape->tuple ? hlo_error(h, at, "expected the place of an array") : HILO_OK;
}

/* Attributes of the entry's arguments, with the first leaf of each parameter. */
struct entry_attrs {
    const struct hlo_comp *comp;
    const uint32_t *first;
    ir_attr *args;
};

/* `(1, {}` of an alias or a donor: the argument. */
static hilo_status entry_arg(struct hlo *h, struct hlo_cursor *c, const struct entry_attrs *e, uint32_t *arg) {
    uint32_t param, leaf;
    HILO_TRY(hlo_expect(h, c, "("));
    hlo_space(c);
    const char *at = c->at;
    HILO_TRY(hlo_u32(h, c, &param));
    if (param >= e->comp->nparams)
        return hlo_error(h, at, "there is no parameter %u", param);
    HILO_TRY(hlo_expect(h, c, ","));
    HILO_TRY(leaf_index(h, c, &e->comp->v[e->comp->params[param]].shape, &leaf));
    *arg = e->first[param] + leaf;
    return HILO_OK;
}

/* `{ {0}: (1, {}, may-alias) }` */
static hilo_status entry_aliases(struct hlo *h, const struct entry_attrs *e) {
    struct hlo_cursor c = hlo_over(hlo_find(h->attrs.v, h->attrs.n, "input_output_alias"));
    uint32_t leaf, arg;
    struct str kind;
    if (!c.at)
        return HILO_OK;
    HILO_TRY(hlo_expect(h, &c, "{"));
    while (!hlo_accept(&c, "}")) {
        HILO_TRY(leaf_index(h, &c, &e->comp->v[e->comp->root].shape, &leaf));
        HILO_TRY(hlo_expect(h, &c, ":"));
        HILO_TRY(entry_arg(h, &c, e, &arg));
        if (hlo_accept(&c, ",") && !hlo_word(&c, &kind))
            return hlo_expected(h, &c, "may-alias or must-alias");
        HILO_TRY(hlo_expect(h, &c, ")"));
        hlo_accept(&c, ",");
        ir_attr number = ir_attr_int(h->m, ir_type_scalar(h->m, IR_I32_T), leaf);
        e->args[arg] = dict_with(h, e->args[arg], "tf.aliasing_output", number);
    }
    return HILO_OK;
}

/* `{ (0, {}) }` */
static hilo_status entry_donors(struct hlo *h, const struct entry_attrs *e) {
    struct hlo_cursor c = hlo_over(hlo_find(h->attrs.v, h->attrs.n, "buffer_donor"));
    uint32_t arg;
    if (!c.at)
        return HILO_OK;
    HILO_TRY(hlo_expect(h, &c, "{"));
    while (!hlo_accept(&c, "}")) {
        HILO_TRY(entry_arg(h, &c, e, &arg));
        HILO_TRY(hlo_expect(h, &c, ")"));
        hlo_accept(&c, ",");
        e->args[arg] = dict_with(h, e->args[arg], "jax.buffer_donor", ir_attr_bool(h->m, true));
    }
    return HILO_OK;
}

/* The shapes of `entry_computation_layout={(f32[2]{0})->f32[2]{0}}`, which have the layouts; false when it is not said. */
static hilo_status entry_layout(struct hlo *h, const struct hlo_comp *comp, struct hlo_shape *params, struct hlo_shape *result,
                                bool *said) {
    struct hlo_cursor c = hlo_over(hlo_find(h->attrs.v, h->attrs.n, "entry_computation_layout"));
    *said = c.at != NULL;
    if (!*said)
        return HILO_OK;
    const char *at = c.at;
    HILO_TRY(hlo_expect(h, &c, "{"));
    HILO_TRY(hlo_shape(h, &c, params));
    HILO_TRY(hlo_expect(h, &c, "->"));
    HILO_TRY(hlo_shape(h, &c, result));
    HILO_TRY(hlo_expect(h, &c, "}"));
    bool same = params->tuple && params->nitems == comp->nparams && result->nleaves == comp->v[comp->root].shape.nleaves;
    for (uint32_t i = 0; same && i < comp->nparams; i++)
        same = params->items[i].nleaves == comp->v[comp->params[i]].shape.nleaves;
    return same ? HILO_OK : hlo_error(h, at, "the entry has other parameters and results");
}

static ir_attr dicts(struct hlo *h, ir_attr *v, uint32_t n) {
    bool any = false;
    for (uint32_t i = 0; i < n; i++) {
        any = any || !IR_NONE(v[i]);
        if (IR_NONE(v[i]))
            v[i] = ir_attr_dict(h->m, NULL, NULL, 0);
    }
    return any ? ir_attr_array(h->m, v, n) : (ir_attr){0};
}

static hilo_status entry_attrs(struct hlo *h, const struct hlo_comp *comp, ir_op func, uint32_t nargs) {
    const struct hlo_instr *root = &comp->v[comp->root];
    uint32_t *first = ARENA_ARRAY(&h->m->arena, uint32_t, comp->nparams + 1), nresults = root->shape.nleaves;
    ir_attr *args = ARENA_ARRAY(&h->m->arena, ir_attr, nargs), *results = ARENA_ARRAY(&h->m->arena, ir_attr, nresults);
    struct hlo_shape params, result;
    bool said;
    HILO_TRY(entry_layout(h, comp, &params, &result, &said));
    for (uint32_t i = 0; i < comp->nparams; i++) {
        const struct hlo_instr *p = &comp->v[comp->params[i]];
        HILO_TRY(leaf_attrs(h, p, said ? &params.items[i] : &p->shape, args + first[i]));
        first[i + 1] = first[i] + p->shape.nleaves;
    }
    HILO_TRY(leaf_attrs(h, root, said ? &result : &root->shape, results));
    struct entry_attrs e = {comp, first, args};
    HILO_TRY(entry_aliases(h, &e));
    HILO_TRY(entry_donors(h, &e));
    ir_set_prop(h->m, func, IR_FUNC_arg_attrs, dicts(h, args, nargs));
    ir_set_prop(h->m, func, IR_FUNC_res_attrs, dicts(h, results, nresults));
    return HILO_OK;
}

hilo_status hlo_func(struct hlo *h, struct hlo_comp *comp, bool entry) {
    struct hlo_value root;
    if (!IR_NONE(comp->symbol) && !comp->open)
        return HILO_OK;
    struct ir_module *m = h->m;
    ir_op func = ir_op_new(m, IR_FUNC, NULL, 0, NULL, 0, 1);
    ir_append(m, ir_module_body(m), func);
    ir_set_loc(m, func, (ir_attr){0}, comp->v[0].line, comp->v[0].col);
    struct str name = func_name(h, comp, entry);
    comp->symbol = ir_attr_symbol(m, name, NULL, 0);
    ir_set_prop(m, func, IR_FUNC_sym_name, ir_attr_string(m, name));
    ir_set_prop(m, func, IR_FUNC_sym_visibility, ir_attr_string(m, entry ? STR("public") : STR("private")));
    ir_block block = ir_block_new(m, ir_op_region(m, func, 0));
    const struct hlo_value *params = block_params(h, comp, block);
    const struct ir_block_data *args = ir_block_get(m, block);
    HILO_TRY(build_body(h, comp, block, params, &root));
    end_block(h, comp, block, IR_FUNC_RETURN, &root);
    ir_type *types = ARENA_ARRAY(&m->arena, ir_type, (size_t)args->nargs + root.n);
    for (uint32_t i = 0; i < args->nargs; i++)
        types[i] = ir_val_get(m, args->args[i])->type;
    for (uint32_t i = 0; i < root.n; i++)
        types[args->nargs + i] = ir_val_get(m, root.v[i])->type;
    ir_type type = ir_type_function(m, types, args->nargs, types + args->nargs, root.n);
    ir_set_prop(m, func, IR_FUNC_function_type, ir_attr_of_type(m, type));
    return entry ? entry_attrs(h, comp, func, args->nargs) : HILO_OK;
}

/* ---- the module ------------------------------------------------------------------------------ */

/* The devices that a module is for. */
static hilo_status module_attrs(struct hlo *h, ir_attr *dict) {
    static const char *const counts[][2] = {{"num_partitions", "mhlo.num_partitions"}, {"replica_count", "mhlo.num_replicas"}};
    for (int k = 0; k < 2; k++) {
        struct hlo_cursor c = hlo_over(hlo_find(h->attrs.v, h->attrs.n, counts[k][0]));
        uint32_t n;
        if (!c.at)
            continue;
        HILO_TRY(hlo_u32(h, &c, &n));
        HILO_TRY(hlo_end(h, &c));
        *dict = dict_with(h, *dict, counts[k][1], ir_attr_int(h->m, ir_type_scalar(h->m, IR_I32_T), n));
    }
    return HILO_OK;
}

static hilo_status hlo_module(struct hlo *h) {
    ir_attr dict = {0};
    struct hlo_instr all = {.attrs = h->attrs.v, .nattrs = h->attrs.n};
    HILO_TRY(hlo_discardable(h, &all, false, &dict));
    HILO_TRY(module_attrs(h, &dict));
    ir_set_prop(h->m, h->m->root, IR_MODULE_sym_name, ir_attr_string(h->m, h->name));
    ir_set_attrs(h->m, h->m->root, dict);
    return hlo_func(h, &h->comps.v[h->entry - 1], /*entry=*/true);
}

hilo_status read_hlo(struct ir_module *m, struct diag_list *d, struct str text, uint32_t first_line) {
    struct hlo h = {.m = m, .d = d, .text = text, .first_line = first_line, .c = hlo_over(text), .line_at = text.p,
                    .line_begin = text.p, .line_no = first_line};
    HILO_TRY(hlo_parse(&h));
    h.max_ops = HLO_OPS;
    for (uint32_t i = 0; i < h.comps.n; i++)
        h.max_ops += 2 * (uint64_t)h.comps.v[i].n;
    return hlo_module(&h);
}
