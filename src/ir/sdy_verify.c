/* Shardings of a module: where they are written (struct sdy_found), and whether all of them can be read. Passes do not keep
 * those of ops up to date, so this is of a module as it was read. */
#include "ir/sdy.h"

static const struct str sharding_name = {"sdy.sharding", 12};

/* ---- what an op says ------------------------------------------------------------------------- */

/* The values that an op's list of shardings is for. */
static hilo_status read_list(struct sdy *s, ir_op op, ir_attr a, bool arguments, const struct sdy_found *found) {
    ir_block body = arguments ? ir_region_get(s->m, ir_op_region(s->m, op, 0))->first : (ir_block){0};
    uint32_t n = IR_NONE(a) ? 0 : arguments ? ir_block_get(s->m, body)->nargs : ir_op_get(s->m, op)->nresults;
    if (!n)
        return HILO_OK;
    const struct sdy_sharding **list = ARENA_ARRAY(s->a, const struct sdy_sharding *, n + 1);
    uint32_t *ranks = ARENA_ARRAY(s->a, uint32_t, n + 1);
    for (uint32_t i = 0; i < n; i++)
        ranks[i] = ir_val_type(s->m, arguments ? ir_block_get(s->m, body)->args[i] : ir_result(s->m, op, i))->rank;
    HILO_TRY(sdy_read_shardings(s, op, a, ranks, n, list));
    for (uint32_t i = 0; i < n; i++)
        found->sharding(found->user, arguments ? ir_block_get(s->m, body)->args[i] : ir_result(s->m, op, i), list[i]);
    return HILO_OK;
}

static hilo_status read_one(struct sdy *s, ir_op op, ir_val v, ir_attr a, const struct sdy_found *found) {
    const struct sdy_sharding *x;
    if (IR_NONE(a))
        return HILO_OK;
    HILO_TRY(sdy_read_sharding(s, op, a, ir_val_type(s->m, v)->rank, &x));
    found->sharding(found->user, v, x);
    return HILO_OK;
}

/* The entry of a function's list of dictionaries. */
static ir_attr in_dicts(const struct sdy *s, ir_attr list, uint32_t i) {
    const struct ir_attr_data *d = ir_attr_get(s->m, list);
    return !IR_NONE(list) && i < d->n ? ir_dict_find(s->m, d->items[i], sharding_name) : (ir_attr){0};
}

static hilo_status read_func(struct sdy *s, ir_op op, const struct sdy_found *found) {
    ir_block body = ir_func_body(s->m, op);
    uint32_t n = IR_NONE(body) ? 0 : ir_block_get(s->m, body)->nargs;
    for (uint32_t i = 0; i < n; i++)
        HILO_TRY(read_one(s, op, ir_block_get(s->m, body)->args[i], in_dicts(s, ir_prop(s->m, op, IR_FUNC_arg_attrs), i),
                          found));
    return HILO_OK;
}

static hilo_status read_bodied(struct sdy *s, ir_op op, enum ir_slot in, enum ir_slot out, const struct sdy_found *found) {
    if (IR_NONE(ir_region_get(s->m, ir_op_region(s->m, op, 0))->first))
        return ir_op_error(s->m, s->d, op, HILO_INVALID_ARGUMENT, NULL, "has no body");
    if (ir_kind(s->m, op) == IR_SDY_MANUAL_COMPUTATION) {
        const struct str *names;
        uint32_t n;
        HILO_TRY(sdy_read_manual_axes(s, op, ir_prop(s->m, op, IR_SDY_MANUAL_COMPUTATION_manual_axes), &names, &n));
        found->manual(found->user, op, names, n);
    }
    HILO_TRY(read_list(s, op, ir_prop(s->m, op, in), true, found));
    return read_list(s, op, ir_prop(s->m, op, out), false, found);
}

hilo_status sdy_read_op(struct sdy *s, ir_op op, const struct sdy_found *found) {
    const struct sdy_rule *rule;
    enum ir_op_kind kind = ir_kind(s->m, op);
    ir_attr attrs = ir_op_get(s->m, op)->attrs, custom = ir_dict_find(s->m, attrs, STR("sdy.sharding_rule"));
    if (!IR_NONE(custom))
        HILO_TRY(sdy_read_rule(s, op, custom, &rule));
    switch (kind) {
    case IR_FUNC: return read_func(s, op, found);
    case IR_SDY_SHARDING_CONSTRAINT:
    case IR_SDY_RESHARD:
    case IR_SDY_ALL_REDUCE:
    case IR_SDY_REDUCE_SCATTER:
    case IR_SDY_DATA_FLOW_EDGE:
        return read_one(s, op, ir_result(s->m, op, 0), ir_prop(s->m, op, (enum ir_slot)ir_op_info(kind)->first_slot), found);
    case IR_SDY_MANUAL_COMPUTATION:
        return read_bodied(s, op, IR_SDY_MANUAL_COMPUTATION_in_shardings, IR_SDY_MANUAL_COMPUTATION_out_shardings, found);
    case IR_SDY_NAMED_COMPUTATION:
        return read_bodied(s, op, IR_SDY_NAMED_COMPUTATION_in_shardings, IR_SDY_NAMED_COMPUTATION_out_shardings, found);
    default: return read_list(s, op, ir_dict_find(s->m, attrs, sharding_name), false, found);
    }
}

hilo_status sdy_read_results(struct sdy *s, ir_op func, const struct sdy_sharding **out) {
    ir_op end = ir_terminator(s->m, ir_func_body(s->m, func));
    for (uint32_t i = 0; i < ir_op_get(s->m, end)->noperands; i++) {
        ir_attr a = in_dicts(s, ir_prop(s->m, func, IR_FUNC_res_attrs), i);
        if (!IR_NONE(a))
            HILO_TRY(sdy_read_sharding(s, func, a, ir_val_type(s->m, ir_operand(s->m, end, i))->rank, &out[i]));
    }
    return HILO_OK;
}

/* ---- a module -------------------------------------------------------------------------------- */

static void ignore_sharding(void *user, ir_val v, const struct sdy_sharding *sharding) {
    (void)user, (void)v, (void)sharding;
}

static void ignore_manual(void *user, ir_op op, const struct str *names, uint32_t n) {
    (void)user, (void)op, (void)names, (void)n;
}

static hilo_status verify_op(struct sdy *s, ir_op op) {
    static const struct sdy_found nobody = {NULL, ignore_sharding, ignore_manual};
    const struct sdy_mesh *mesh;
    const struct sdy_sharding *out;
    struct sdy_axes axes;
    HILO_TRY(sdy_read_op(s, op, &nobody));
    if (ir_kind(s->m, op) == IR_SDY_ALL_REDUCE || ir_kind(s->m, op) == IR_SDY_REDUCE_SCATTER)
        HILO_TRY(sdy_read_reduced_axes(s, op, &axes, &out));
    if (ir_kind(s->m, op) == IR_SDY_MESH)
        HILO_TRY(sdy_mesh_named(s, op, ir_prop_str(s->m, op, IR_SDY_MESH_sym_name), &mesh));
    if (ir_kind(s->m, op) == IR_FUNC && !IR_NONE(ir_func_body(s->m, op))) {
        uint32_t n = ir_op_get(s->m, ir_terminator(s->m, ir_func_body(s->m, op)))->noperands;
        HILO_TRY(sdy_read_results(s, op, ARENA_ARRAY(s->a, const struct sdy_sharding *, n + 1)));
    }
    for (uint32_t r = 0; r < ir_op_get(s->m, op)->nregions; r++)
        for (ir_block b = ir_region_get(s->m, ir_op_region(s->m, op, r))->first; !IR_NONE(b); b = ir_block_get(s->m, b)->next)
            for (ir_op in = ir_block_get(s->m, b)->first; !IR_NONE(in); in = ir_op_get(s->m, in)->next)
                HILO_TRY(verify_op(s, in));
    return HILO_OK;
}

hilo_status sdy_verify(const struct ir_module *m, struct diag_list *d) {
    jmp_buf recover;
    struct arena scratch;
    struct sdy s = {.m = m, .a = &scratch, .d = d};
    hilo_status status;
    arena_init(&scratch, m->arena.al, &recover);
    if (!setjmp(recover))
        status = verify_op(&s, m->root);
    else
        status = HILO_RESOURCE_EXHAUSTED;
    arena_free(&scratch);
    return status;
}
