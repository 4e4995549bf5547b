/* What comes before propagation (openxla/shardy, transforms/import): meshes get names, calls become computations in place,
 * constants are split by use, data flow edges are inserted, constraints are applied, and groups are united. */
#include "opt/sdy_graph.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* ---- meshes ------------------------------------------------------------------------------------ */

/* Propagation takes meshes of different names for different ones. Equal meshes become the first of them in the module; one that
 * is written where it is used becomes an op with a name of its own. */
struct meshes {
    struct sdy_graph *g;
    struct { const struct sdy_mesh **v; uint32_t n, cap; } named;
    ir_op last;                          /* sdy.mesh of the module */
};

/* Names as Shardy gives them: the first of NAME, NAME_0, NAME_1 … that is no symbol of the module. */
static struct str free_symbol(struct sdy_graph *g, const struct sdy_mesh *mesh) {
    char name[48];
    if (sdy_mesh_maximal(mesh))
        snprintf(name, sizeof name, "maximal_mesh_%" PRId64, mesh->devices[0]);
    else
        snprintf(name, sizeof name, "%s", mesh->naxes ? "mesh" : "empty_mesh");
    size_t n = strlen(name);
    for (uint32_t i = 0; !IR_NONE(ir_module_symbol(g->m, (struct str){name, strlen(name)})); i++)
        snprintf(name + n, sizeof name - n, "_%" PRIu32, i);
    n = strlen(name);
    char *copy = ARENA_ARRAY(&g->o->scratch, char, n);
    memcpy(copy, name, n);
    return (struct str){copy, n};
}

static const struct sdy_mesh *lift(struct meshes *l, const struct sdy_mesh *mesh) {
    struct ir_module *m = l->g->m;
    for (uint32_t i = 0; i < l->named.n; i++)
        if (sdy_mesh_equal(l->named.v[i], mesh))
            return l->named.v[i];
    struct sdy_mesh *lifted = ARENA_NEW(&l->g->o->scratch, struct sdy_mesh);
    *lifted = *mesh;
    lifted->symbol = free_symbol(l->g, mesh);
    ir_op op = ir_op_new(m, IR_SDY_MESH, NULL, 0, NULL, 0, 0);
    ir_set_prop(m, op, IR_SDY_MESH_sym_name, ir_attr_string(m, lifted->symbol));
    ir_set_prop(m, op, IR_SDY_MESH_mesh, sdy_mesh_attr(m, lifted));
    ir_op after = IR_NONE(l->last) ? ir_block_get(m, ir_module_body(m))->first : ir_op_get(m, l->last)->next;
    ir_insert_before(m, after, op);
    l->last = op;
    ARENA_PUSH(&l->g->o->scratch, &l->named, lifted);
    return lifted;
}

static void lift_sharding(struct meshes *l, const struct sdy_sharding **s) {
    const struct sdy_mesh *mesh = *s ? lift(l, (*s)->mesh) : NULL;
    if (!*s || mesh == (*s)->mesh)
        return;
    struct sdy_dim *dims;
    struct sdy_sharding *copy = sdy_sharding_copy(&l->g->o->scratch, *s, &dims);
    copy->mesh = mesh;
    *s = copy;
}

static hilo_status lift_meshes(struct sdy_graph *g) {
    struct meshes l = {.g = g};
    for (ir_op op = ir_block_get(g->m, ir_module_body(g->m))->first; !IR_NONE(op); op = ir_op_get(g->m, op)->next) {
        const struct sdy_mesh *mesh;
        if (ir_kind(g->m, op) != IR_SDY_MESH)
            continue;
        HILO_TRY(sdy_mesh_named(&g->sdy, op, ir_prop_str(g->m, op, IR_SDY_MESH_sym_name), &mesh));
        ARENA_PUSH(&g->o->scratch, &l.named, mesh);
        l.last = op;
    }
    for (uint32_t i = 0; i < g->shardings.n; i++)
        lift_sharding(&l, &g->shardings.v[i]);
    for (uint32_t i = 0; i < ir_op_get(g->m, ir_terminator(g->m, ir_func_body(g->m, g->entry)))->noperands; i++)
        lift_sharding(&l, &g->results[i]);
    return HILO_OK;
}

/* ---- axes of size one -------------------------------------------------------------------------- */

static struct sdy_axes longer_than_one(struct sdy_graph *g, struct sdy_axes axes) {
    struct sdy_axis *v = ARENA_ARRAY(&g->o->scratch, struct sdy_axis, axes.n + 1);
    uint32_t n = 0;
    for (uint32_t i = 0; i < axes.n; i++)
        if (axes.v[i].size != 1)
            v[n++] = axes.v[i];
    return (struct sdy_axes){n, v};
}

static const struct sdy_sharding *without_size_one(struct sdy_graph *g, const struct sdy_sharding *s) {
    struct sdy_dim *dims;
    struct sdy_sharding *out = sdy_sharding_copy(&g->o->scratch, s, &dims);
    for (uint32_t d = 0; d < s->rank; d++) {
        dims[d].axes = longer_than_one(g, s->dims[d].axes);
        if (!dims[d].axes.n && dims[d].closed)
            dims[d].priority = -1;
    }
    out->replicated = longer_than_one(g, s->replicated);
    out->unreduced = longer_than_one(g, s->unreduced);
    return sdy_sharding_equal(s, out) ? s : out;
}

static void remove_size_one(struct sdy_graph *g) {
    for (uint32_t i = 0; i < g->shardings.n; i++)
        if (g->shardings.v[i])
            g->shardings.v[i] = without_size_one(g, g->shardings.v[i]);
    for (uint32_t i = 0; i < ir_op_get(g->m, ir_terminator(g->m, ir_func_body(g->m, g->entry)))->noperands; i++)
        if (g->results[i])
            g->results[i] = without_size_one(g, g->results[i]);
}

/* ---- constants --------------------------------------------------------------------------------- */

/* Constant computations are copied for each op that is none, so that each copy can have a sharding of its own. */
struct split {
    struct sdy_graph *g;
    struct opt_ids constant;             /* by op: 1, or 2 for a broadcast of a scalar that is not constant */
    struct sdy_ops constants, expansions;
    struct opt_ids varies;               /* by function: 1 when a call of it is not constant for constant operands */
    ir_op func;
};

static bool preserves_constants(const struct split *s, ir_op op) {
    const struct ir_module *m = s->g->m;
    enum ir_op_kind kind = ir_kind(m, op);
    if (kind == IR_CALL)
        return !opt_ids_get(&s->varies, opt_callee(s->g->o, op).i);
    return kind == IR_BROADCAST_IN_DIM || kind == IR_RESHAPE || kind == IR_SLICE ||
           (sdy_is_elementwise(s->g, op) && sdy_has_no_effect(s->g, op));
}

static bool is_constant(const struct split *s, ir_op op) {
    const struct ir_op_data *x = ir_op_get(s->g->m, op);
    if (ir_op_has((enum ir_op_kind)x->kind, IR_T_CONSTANT) || x->kind == IR_IOTA)
        return true;
    if (!preserves_constants(s, op))
        return false;
    for (uint32_t i = 0; i < x->noperands; i++) {
        ir_op definition = ir_val_get(s->g->m, x->operands[i])->op;
        if (IR_NONE(definition) || opt_ids_get(&s->constant, definition.i) != 1)
            return false;
    }
    return true;
}

/* Copies of the ops that a value is computed by, before each; scalars are not copied. */
static void clone_computation(struct split *s, struct opt_map *map, ir_val v) {
    struct ir_module *m = s->g->m;
    ir_op op = ir_val_get(m, v)->op;
    if (sdy_is_scalar(s->g, v) || !IR_SAME(opt_map_get(map, v), v))
        return;
    for (uint32_t i = 0; i < ir_op_get(m, op)->noperands; i++)
        if (!IR_NONE(ir_val_get(m, ir_operand(m, op, i))->op))
            clone_computation(s, map, ir_operand(m, op, i));
    ir_op copy = opt_clone(map, op);
    ir_insert_before(m, op, copy);
    sdy_add_uses(s->g, copy);
    for (uint32_t i = 0; i < ir_op_get(m, op)->nresults; i++)
        if (sdy_raw(s->g, ir_result(m, op, i)))
            sdy_set_raw(s->g, ir_result(m, copy, i), sdy_raw(s->g, ir_result(m, op, i)));
    struct sdy_ops groups = {0};
    for (const struct sdy_use *u = sdy_first_use(s->g, v); u; u = sdy_next_use(s->g, u))
        if (ir_kind(m, u->op) == IR_SDY_SHARDING_GROUP)
            ARENA_PUSH(&s->g->o->scratch, &groups, u->op);
    for (uint32_t i = 0; i < groups.n; i++) {
        ir_op group = opt_clone(map, groups.v[i]);
        ir_insert_before(m, op, group);
        sdy_add_uses(s->g, group);
    }
}

static void split_op(struct split *s, ir_op op) {
    struct ir_module *m = s->g->m;
    enum ir_op_kind kind = ir_kind(m, op);
    if (kind == IR_SDY_SHARDING_GROUP)
        return;
    if (is_constant(s, op)) {
        opt_ids_set(&s->constant, op.i, 1);
        ARENA_PUSH(&s->g->o->scratch, &s->constants, op);
        return;
    }
    if (!preserves_constants(s, op) && !ir_op_has(kind, IR_T_TERMINATOR))
        opt_ids_set(&s->varies, s->func.i, 1);
    if (kind == IR_BROADCAST_IN_DIM && sdy_is_scalar(s->g, ir_operand(m, op, 0))) {
        opt_ids_set(&s->constant, op.i, 2);
        ARENA_PUSH(&s->g->o->scratch, &s->expansions, op);
        return;
    }
    for (uint32_t i = 0; i < ir_op_get(m, op)->noperands; i++) {
        ir_val v = ir_operand(m, op, i);
        ir_op definition = ir_val_get(m, v)->op;
        if (IR_NONE(definition) || !opt_ids_get(&s->constant, definition.i))
            continue;
        struct opt_map map = opt_map_new(s->g->o);
        if (!sdy_is_scalar(s->g, v))
            clone_computation(s, &map, v);
        sdy_set_operand(s->g, op, i, opt_map_get(&map, v));
    }
}

/* Unless something but sharding groups uses it, which go with it. */
static void erase_unused(struct sdy_graph *g, ir_op op) {
    struct sdy_ops groups = {0};
    for (uint32_t i = 0; i < ir_op_get(g->m, op)->nresults; i++)
        for (const struct sdy_use *u = sdy_first_use(g, ir_result(g->m, op, i)); u; u = sdy_next_use(g, u)) {
            if (ir_kind(g->m, u->op) != IR_SDY_SHARDING_GROUP)
                return;
            ARENA_PUSH(&g->o->scratch, &groups, u->op);
        }
    for (uint32_t i = 0; i < groups.n; i++)
        sdy_erase(g, groups.v[i]);
    sdy_erase(g, op);
}

static void split_constants(struct sdy_graph *g) {
    const struct opt_calls *calls = opt_calls(g->o);
    struct split s = {.g = g, .constant = {.a = &g->o->scratch}, .varies = {.a = &g->o->scratch}};
    for (uint32_t f = 0; f < calls->n; f++) {
        struct sdy_ops ops = {0};
        s.func = calls->v[f].op;
        s.constants.n = s.expansions.n = 0;
        sdy_walk(g, s.func, false, &ops);
        for (uint32_t i = 0; i < ops.n; i++)
            split_op(&s, ops.v[i]);
        for (uint32_t i = 0; i < s.expansions.n; i++)
            erase_unused(g, s.expansions.v[i]);
        for (uint32_t i = s.constants.n; i-- > 0;)
            erase_unused(g, s.constants.v[i]);
    }
}

/* ---- manual computations ----------------------------------------------------------------------- */

/* Manual axes that a sharding does not use are replicated in it. */
static const struct sdy_sharding *with_unused(struct sdy_graph *g, const struct sdy_sharding *s, const struct sdy_mesh *mesh,
                                              const struct sdy_manual *m) {
    struct arena *a = &g->o->scratch;
    struct sdy_axis *manual = ARENA_ARRAY(a, struct sdy_axis, m->n + 1);
    uint32_t nmanual = 0, nused = 0, room = s->replicated.n + s->unreduced.n;
    for (uint32_t i = 0; i < m->n; i++)
        for (uint32_t k = 0; k < mesh->naxes; k++)
            if (str_eq(mesh->axes[k].name, m->names[i]))
                manual[nmanual++] = sdy_axis_whole(mesh, k);
    for (uint32_t d = 0; d < s->rank; d++)
        room += s->dims[d].axes.n;
    struct sdy_axis *used = ARENA_ARRAY(a, struct sdy_axis, room + 1);
    struct sdy_axis *out = ARENA_ARRAY(a, struct sdy_axis, 2 * (size_t)room + nmanual + 1);
    for (uint32_t d = 0; d < s->rank + 2; d++) {
        struct sdy_axes axes = d < s->rank ? s->dims[d].axes : d == s->rank ? s->replicated : s->unreduced;
        for (uint32_t i = 0; i < axes.n; i++)
            used[nused++] = axes.v[i];
    }
    uint32_t n = sdy_axes_minus(mesh, (struct sdy_axes){nmanual, manual}, (struct sdy_axes){nused, used}, out);
    if (!n)
        return s;
    for (uint32_t i = 0; i < s->replicated.n; i++)
        out[n++] = s->replicated.v[i];
    sdy_axes_sort(mesh, out, &n);
    struct sdy_sharding *copy = ARENA_NEW(a, struct sdy_sharding);
    *copy = *s;
    copy->mesh = mesh;
    copy->replicated = (struct sdy_axes){n, out};
    return copy;
}

static const struct sdy_mesh *mesh_of(struct sdy_graph *g, const ir_val *v, uint32_t n) {
    for (uint32_t i = 0; i < n; i++) {
        const struct sdy_sharding *s = sdy_raw(g, v[i]);
        if (s && !sdy_mesh_empty(s->mesh))
            return s->mesh;
    }
    return NULL;
}

static void clean_manual(struct sdy_graph *g, ir_op op) {
    const struct ir_block_data *body = ir_block_get(g->m, ir_region_get(g->m, ir_op_region(g->m, op, 0))->first);
    uint32_t n = body->nargs, nresults = ir_op_get(g->m, op)->nresults, nsorted = 0;
    ir_val *v = ARENA_ARRAY(&g->o->scratch, ir_val, n + nresults + 1);
    for (uint32_t i = 0; i < n + nresults; i++)
        v[i] = i < n ? body->args[i] : ir_result(g->m, op, i - n);
    const struct sdy_mesh *mesh = mesh_of(g, v, n + nresults);
    struct sdy_manual *m = &g->manual.v[opt_ids_get(&g->manual_at, op.i) - 1];
    if (!mesh)
        return;
    struct str *sorted = ARENA_ARRAY(&g->o->scratch, struct str, m->n + 1);
    for (uint32_t k = 0; k < mesh->naxes; k++)
        for (uint32_t i = 0; i < m->n; i++)
            if (str_eq(mesh->axes[k].name, m->names[i]))
                sorted[nsorted++] = m->names[i];
    m->names = sorted;
    m->n = nsorted;
    ir_set_prop(g->m, op, IR_SDY_MANUAL_COMPUTATION_manual_axes, sdy_manual_axes_attr(g->m, sorted, nsorted));
    for (uint32_t i = 0; i < n + nresults; i++)
        if (sdy_raw(g, v[i]) && ir_type_is_shaped(ir_val_type(g->m, v[i])))
            sdy_set_raw(g, v[i], with_unused(g, sdy_raw(g, v[i]), mesh, m));
}

/* ---- calls ------------------------------------------------------------------------------------- */

/* A sharding for each value where one has one that is not of one device only. */
static void open_rest(struct sdy_graph *g, const ir_val *v, uint32_t n, const struct sdy_sharding *const *s) {
    const struct sdy_mesh *mesh = NULL;
    for (uint32_t i = n; i-- > 0;)
        if (s[i] && !sdy_mesh_maximal(s[i]->mesh))
            mesh = s[i]->mesh;
    for (uint32_t i = 0; mesh && i < n; i++)
        sdy_set_raw(g, v[i], s[i] ? s[i] : sdy_sharding_of_none(&g->o->scratch, mesh, ir_val_type(g->m, v[i])->rank, false));
}

/* Shardings of a function's results, NULL where there is none. */
static hilo_status read_results(struct sdy_graph *g, ir_op func, uint32_t n, const struct sdy_sharding **out) {
    const struct ir_attr_data *d = ir_attr_get(g->m, ir_prop(g->m, func, IR_FUNC_res_attrs));
    for (uint32_t i = 0; i < n && !IR_NONE(ir_prop(g->m, func, IR_FUNC_res_attrs)) && i < d->n; i++) {
        ir_attr s = ir_dict_find(g->m, d->items[i], STR("sdy.sharding"));
        if (!IR_NONE(s))
            HILO_TRY(sdy_read_sharding(&g->sdy, func, s, UINT32_MAX, &out[i]));
        out[i] = out[i] ? without_size_one(g, out[i]) : NULL;
    }
    return HILO_OK;
}

/* Shardings inside of a copy, from the original. */
static void copy_shardings(struct sdy_graph *g, ir_op from, ir_op to) {
    struct sdy_ops old = {0}, new = {0};
    sdy_walk(g, from, false, &old);
    sdy_walk(g, to, false, &new);
    for (uint32_t i = 0; i < old.n && i < new.n; i++) {
        const struct ir_op_data *x = ir_op_get(g->m, old.v[i]);
        for (uint32_t k = 0; k < x->nresults; k++)
            if (sdy_raw(g, ir_result(g->m, old.v[i], k)))
                sdy_set_raw(g, ir_result(g->m, new.v[i], k), sdy_raw(g, ir_result(g->m, old.v[i], k)));
        if (!sdy_owns_arguments((enum ir_op_kind)x->kind))
            continue;
        const struct ir_block_data *a = ir_block_get(g->m, ir_region_get(g->m, ir_op_region(g->m, old.v[i], 0))->first);
        const struct ir_block_data *b = ir_block_get(g->m, ir_region_get(g->m, ir_op_region(g->m, new.v[i], 0))->first);
        for (uint32_t k = 0; k < a->nargs; k++)
            if (sdy_raw(g, a->args[k]))
                sdy_set_raw(g, b->args[k], sdy_raw(g, a->args[k]));
        opt_ids_set(&g->manual_at, new.v[i].i, opt_ids_get(&g->manual_at, old.v[i].i));
    }
}

/* A call becomes a named computation with a copy of the function's body. */
static hilo_status import_call(struct sdy_graph *g, ir_op call, ir_op callee) {
    struct ir_module *m = g->m;
    const struct ir_op_data *x = ir_op_get(m, call);
    uint32_t n = x->noperands, nresults = x->nresults;
    ir_type *types = ARENA_ARRAY(&g->o->scratch, ir_type, nresults + 1);
    const struct sdy_sharding **s = ARENA_ARRAY(&g->o->scratch, const struct sdy_sharding *, n + nresults + 1);
    ir_val *results = ARENA_ARRAY(&g->o->scratch, ir_val, nresults + 1);
    for (uint32_t i = 0; i < nresults; i++)
        types[i] = ir_val_get(m, ir_result(m, call, i))->type;
    ir_op op = ir_op_new(m, IR_SDY_NAMED_COMPUTATION, x->operands, n, types, nresults, 1);
    ir_set_prop(m, op, IR_SDY_NAMED_COMPUTATION_name, ir_attr_string(m, ir_prop_str(m, call, IR_CALL_callee)));
    struct opt_map map = opt_map_new(g->o);
    opt_clone_region(&map, ir_op_region(m, callee, 0), ir_op_region(m, op, 0));
    ir_insert_before(m, call, op);
    ir_block body = ir_region_get(m, ir_op_region(m, op, 0))->first;
    ir_op end = ir_terminator(m, body);
    ir_op back = ir_op_new(m, IR_SDY_RETURN, ir_op_get(m, end)->operands, ir_op_get(m, end)->noperands, NULL, 0, 0);
    ir_insert_before(m, end, back);
    ir_unlink(m, end);
    sdy_add_uses(g, op);
    copy_shardings(g, callee, op);
    for (uint32_t i = 0; i < n; i++)
        s[i] = sdy_raw(g, ir_block_get(m, ir_func_body(m, callee))->args[i]);
    open_rest(g, ir_block_get(m, body)->args, n, s);
    bool any = false;
    for (uint32_t i = 0; i < nresults; i++) {
        results[i] = ir_result(m, op, i);
        s[i] = sdy_raw(g, ir_result(m, call, i));
        any |= s[i] != NULL;
    }
    if (!any)
        HILO_TRY(read_results(g, callee, nresults, s));
    open_rest(g, results, nresults, s);
    for (uint32_t i = 0; i < nresults; i++)
        sdy_replace_uses(g, ir_result(m, call, i), results[i], (ir_op){0});
    sdy_erase(g, call);
    return HILO_OK;
}

enum { CALL_DEPTH = 100 };

static hilo_status import_calls(struct sdy_graph *g, ir_op in, uint32_t depth) {
    struct sdy_ops ops = {0};
    sdy_walk(g, in, false, &ops);
    for (uint32_t i = 0; i < ops.n; i++) {
        if (ir_kind(g->m, ops.v[i]) != IR_CALL)
            continue;
        ir_op callee = opt_callee(g->o, ops.v[i]), at = ir_op_get(g->m, ops.v[i])->prev;
        ir_block parent = ir_op_get(g->m, ops.v[i])->parent;
        if (IR_NONE(callee) || depth == CALL_DEPTH)
            return ir_op_error(g->m, g->o->d, ops.v[i], HILO_UNIMPLEMENTED, NULL,
                               "is a call without a body, or a recursion, through which shardings are not propagated");
        HILO_TRY(import_call(g, ops.v[i], callee));
        HILO_TRY(import_calls(g, IR_NONE(at) ? ir_block_get(g->m, parent)->first : ir_op_get(g->m, at)->next, depth + 1));
    }
    return HILO_OK;
}

/* Private functions that nothing refers to any more. */
static void erase_functions(struct sdy_graph *g) {
    g->o->valid &= ~(unsigned)OPT_CALLS;
    const struct opt_calls *calls = opt_calls(g->o);
    for (uint32_t i = 0; i < calls->n; i++)
        if (!calls->v[i].reached && !IR_SAME(calls->v[i].op, g->entry) && !opt_is_root(g->o, calls->v[i].op))
            sdy_erase(g, calls->v[i].op);
}

/* ---- edges ------------------------------------------------------------------------------------- */

static void add_edge(struct sdy_graph *g, ir_val owner) {
    if (!sdy_is_static(g, owner) || !IR_NONE(sdy_edge_of_target(g, owner)))
        return;
    const struct sdy_sharding *s = sdy_get(g, owner);
    ir_type type = ir_val_get(g->m, owner)->type;
    ir_op edge = ir_op_new(g->m, IR_SDY_DATA_FLOW_EDGE, &owner, 1, &type, 1, 0);
    sdy_insert_after(g, owner, edge);
    sdy_add_uses(g, edge);
    if (s)
        sdy_set_raw(g, ir_result(g->m, edge, 0), s);
    sdy_replace_uses(g, owner, ir_result(g->m, edge, 0), edge);
}

static void add_edges(struct sdy_graph *g, bool named) {
    struct sdy_ops ops = {0};
    sdy_walk(g, g->m->root, true, &ops);
    for (uint32_t i = 0; i < ops.n; i++) {
        const struct ir_op_data *x = ir_op_get(g->m, ops.v[i]);
        enum ir_op_kind kind = (enum ir_op_kind)x->kind;
        if (!sdy_is_data_flow(kind) || named != (kind == IR_SDY_NAMED_COMPUTATION))
            continue;
        if (sdy_owns_arguments(kind)) {
            ir_block body = ir_region_get(g->m, ir_op_region(g->m, ops.v[i], 0))->first;
            for (uint32_t k = ir_block_get(g->m, body)->nargs; k-- > 0;)
                add_edge(g, ir_block_get(g->m, body)->args[k]);
        }
        for (uint32_t k = x->nresults; k-- > 0;)
            add_edge(g, ir_result(g->m, ops.v[i], k));
    }
}

/* ---- constraints ------------------------------------------------------------------------------- */

static bool is_constraint(const struct sdy_graph *g, ir_op op) {
    return ir_kind(g->m, op) == IR_SDY_SHARDING_CONSTRAINT || ir_kind(g->m, op) == IR_SDY_MANUAL_COMPUTATION;
}

/* What a use of a value demands: the sharding of a constraint, or that in which a manual computation takes it. */
static const struct sdy_sharding *demanded(struct sdy_graph *g, const struct sdy_use *u) {
    if (ir_kind(g->m, u->op) == IR_SDY_SHARDING_CONSTRAINT)
        return sdy_raw(g, ir_result(g->m, u->op, 0));
    return sdy_raw(g, ir_block_get(g->m, ir_region_get(g->m, ir_op_region(g->m, u->op, 0))->first)->args[u->index]);
}

static bool is_closed(const struct sdy_sharding *s) {
    for (uint32_t d = 0; d < s->rank; d++)
        if (!s->dims[d].closed)
            return false;
    return true;
}

static bool applies(struct sdy_graph *g, ir_val v, const struct sdy_sharding *s) {
    if (!s || IR_NONE(sdy_holder(g, v)) || sdy_get(g, v) || !is_closed(s))
        return false;
    for (const struct sdy_use *u = sdy_first_use(g, v); u; u = sdy_next_use(g, u))
        if (is_constraint(g, u->op) && !sdy_sharding_equal(demanded(g, u), s))
            return false;
    return true;
}

/* A fully closed constraint is the sharding of what it constrains; the target of an edge is constrained where it is defined. */
static void apply(struct sdy_graph *g, ir_op op, ir_val v, const struct sdy_sharding *s) {
    struct sdy_dim *dims;
    ir_op definition = ir_val_get(g->m, v)->op;
    if (!applies(g, v, s))
        return;
    bool edge = !IR_NONE(definition) && ir_kind(g->m, definition) == IR_SDY_DATA_FLOW_EDGE;
    if (!edge && IR_NONE(sdy_edge_of_target(g, v))) {
        sdy_set(g, v, s);
        return;
    }
    if (ir_kind(g->m, op) == IR_SDY_SHARDING_CONSTRAINT) {
        ir_unlink(g->m, op);
    } else {
        ir_type type = ir_val_get(g->m, v)->type;
        op = ir_op_new(g->m, IR_SDY_SHARDING_CONSTRAINT, &v, 1, &type, 1, 0);
        sdy_add_uses(g, op);
        sdy_set_raw(g, ir_result(g->m, op, 0), s);
    }
    sdy_insert_after(g, v, op);
    sdy_replace_uses(g, v, ir_result(g->m, op, 0), op);
    if (s->unreduced.n) {
        const struct sdy_sharding *had = sdy_get(g, v);
        had = had ? had : sdy_sharding_of_none(&g->o->scratch, s->mesh, s->rank, false);
        struct sdy_sharding *copy = sdy_sharding_copy(&g->o->scratch, had, &dims);
        copy->unreduced = s->unreduced;
        sdy_set(g, v, copy);
    }
}

static bool is_constrained(struct sdy_graph *g, ir_val v, ir_op except) {
    for (const struct sdy_use *u = sdy_first_use(g, v); u; u = sdy_next_use(g, u))
        if (!IR_SAME(u->op, except) && is_constraint(g, u->op))
            return true;
    return false;
}

/* The end of a chain of constraints that begins here, where only the end has other uses; none when it is no such chain. */
static ir_op tail_of(struct sdy_graph *g, ir_op head) {
    ir_val v = ir_operand(g->m, head, 0);
    ir_op definition = ir_val_get(g->m, v)->op, tail = head;
    if ((!IR_NONE(definition) && ir_kind(g->m, definition) == IR_SDY_SHARDING_CONSTRAINT) || sdy_get(g, v) ||
        is_constrained(g, v, head))
        return (ir_op){0};
    while (sdy_has_one_use(g, ir_result(g->m, tail, 0))) {
        ir_op next = sdy_first_use(g, ir_result(g->m, tail, 0))->op;
        if (ir_kind(g->m, next) != IR_SDY_SHARDING_CONSTRAINT)
            break;
        tail = next;
    }
    return IR_SAME(tail, head) || is_constrained(g, ir_result(g->m, tail, 0), (ir_op){0}) ? (ir_op){0} : tail;
}

static bool comes_after(const struct sdy_graph *g, ir_op op, ir_op after) {
    for (ir_op at = ir_op_get(g->m, after)->next; !IR_NONE(at); at = ir_op_get(g->m, at)->next)
        if (IR_SAME(at, op))
            return true;
    return false;
}

/* Uses behind the chain are of its end. */
static void use_tail(struct sdy_graph *g, ir_op head, ir_op tail) {
    struct { struct sdy_use *v; uint32_t n, cap; } uses = {0};
    for (const struct sdy_use *u = sdy_first_use(g, ir_operand(g->m, head, 0)); u; u = sdy_next_use(g, u))
        if (!IR_SAME(u->op, head) && ir_kind(g->m, u->op) != IR_FUNC_RETURN && comes_after(g, u->op, tail))
            ARENA_PUSH(&g->o->scratch, &uses, *u);
    for (uint32_t i = 0; i < uses.n; i++)
        sdy_set_operand(g, uses.v[i].op, uses.v[i].index, ir_result(g->m, tail, 0));
}

static void apply_constraints(struct sdy_graph *g) {
    struct sdy_ops ops = {0};
    sdy_walk(g, g->m->root, true, &ops);
    for (uint32_t i = 0; i < ops.n; i++) {
        ir_op op = ops.v[i];
        if (ir_kind(g->m, op) == IR_SDY_SHARDING_CONSTRAINT) {
            ir_op tail = tail_of(g, op);
            if (!IR_NONE(tail))
                use_tail(g, op, tail);
            apply(g, op, ir_operand(g->m, op, 0), sdy_raw(g, ir_result(g->m, op, 0)));
        } else if (ir_kind(g->m, op) == IR_SDY_MANUAL_COMPUTATION) {
            ir_block body = ir_region_get(g->m, ir_op_region(g->m, op, 0))->first;
            for (uint32_t k = 0; k < ir_op_get(g->m, op)->noperands; k++)
                apply(g, op, ir_operand(g->m, op, k), sdy_raw(g, ir_block_get(g->m, body)->args[k]));
        }
    }
}

/* ---- groups ------------------------------------------------------------------------------------ */

static uint32_t leader(uint32_t *parent, uint32_t i) {
    while (parent[i] != i)
        i = parent[i] = parent[parent[i]];
    return i;
}

/* The manual computation that an op is in; none when it is in none. */
static ir_op manual_around(const struct sdy_graph *g, ir_op op) {
    do
        op = ir_region_get(g->m, ir_block_get(g->m, ir_op_get(g->m, op)->parent)->parent)->parent;
    while (!IR_SAME(op, g->m->root) && ir_kind(g->m, op) != IR_SDY_MANUAL_COMPUTATION);
    return IR_SAME(op, g->m->root) ? (ir_op){0} : op;
}

static bool same_shape(const struct sdy_graph *g, ir_val a, ir_val b) {
    const struct ir_type_data *s = ir_val_type(g->m, a), *t = ir_val_type(g->m, b);
    return s->rank == t->rank && (s->rank == 0 || memcmp(s->dims, t->dims, s->rank * sizeof *s->dims) == 0);
}

/* Groups with a common member are one; they are numbered from 0 in the order of their least numbers. */
static hilo_status unite_groups(struct sdy_graph *g) {
    struct sdy_ops ops = {0}, groups = {0};
    sdy_walk(g, g->m->root, true, &ops);
    for (uint32_t i = 0; i < ops.n; i++)
        if (ir_kind(g->m, ops.v[i]) == IR_SDY_SHARDING_GROUP)
            ARENA_PUSH(&g->o->scratch, &groups, ops.v[i]);
    uint32_t n = groups.n, *parent = ARENA_ARRAY(&g->o->scratch, uint32_t, n + 1);
    int64_t *least = ARENA_ARRAY(&g->o->scratch, int64_t, n + 1);
    for (uint32_t i = 0; i < n; i++) {
        parent[i] = i;
        least[i] = ir_prop_i64(g->m, groups.v[i], IR_SDY_SHARDING_GROUP_group_id);
        ir_val v = ir_operand(g->m, groups.v[i], 0);
        for (uint32_t k = 0; k < i; k++) {
            ir_val w = ir_operand(g->m, groups.v[k], 0);
            bool same = ir_prop_i64(g->m, groups.v[k], IR_SDY_SHARDING_GROUP_group_id) == least[i];
            if (same && (!IR_SAME(manual_around(g, groups.v[i]), manual_around(g, groups.v[k])) || !same_shape(g, v, w)))
                return ir_op_error(g->m, g->o->d, groups.v[i], HILO_INVALID_ARGUMENT, NULL,
                                   "is of a group with a value of another shape or in another manual computation");
            if (same || IR_SAME(v, w)) {
                uint32_t a = leader(parent, i), b = leader(parent, k);
                parent[a] = b;
                least[b] = least[a] < least[b] ? least[a] : least[b];
            }
        }
    }
    for (uint32_t i = 0; i < n; i++) {
        int64_t number = 0, mine = least[leader(parent, i)];
        for (uint32_t k = 0; k < n; k++)
            number += leader(parent, k) == k && least[k] < mine;
        ir_set_prop(g->m, groups.v[i], IR_SDY_SHARDING_GROUP_group_id, ir_attr_i64(g->m, number));
    }
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t k = 0; k < i; k++)
            if (IR_SAME(ir_operand(g->m, groups.v[i], 0), ir_operand(g->m, groups.v[k], 0))) {
                sdy_erase(g, groups.v[i]);
                break;
            }
    return HILO_OK;
}

/* ---- all --------------------------------------------------------------------------------------- */

hilo_status sdy_import(struct sdy_graph *g) {
    struct sdy_ops ops = {0};
    HILO_TRY(lift_meshes(g));
    remove_size_one(g);
    split_constants(g);
    sdy_walk(g, g->m->root, true, &ops);
    for (uint32_t i = 0; i < ops.n; i++)
        if (ir_kind(g->m, ops.v[i]) == IR_SDY_MANUAL_COMPUTATION)
            clean_manual(g, ops.v[i]);
    add_edges(g, false);
    HILO_TRY(import_calls(g, g->entry, 0));
    erase_functions(g);
    add_edges(g, true);
    apply_constraints(g);
    return unite_groups(g);
}

hilo_status opt_sdy_import(struct opt *o) {
    struct sdy_graph g;
    HILO_TRY(sdy_graph_begin(&g, o));
    HILO_TRY(sdy_import(&g));
    sdy_graph_end(&g);
    return HILO_OK;
}
