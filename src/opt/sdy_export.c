/* What comes after propagation (openxla/shardy, transforms/export): split constants are merged again, edges and groups go,
 * constraints become reshards, and shardings are closed; those of arguments and results divide evenly. */
#include "opt/sdy_graph.h"

/* ---- constants --------------------------------------------------------------------------------- */

static bool is_mergeable(const struct sdy_graph *g, ir_op op) {
    enum ir_op_kind kind = ir_kind(g->m, op);
    return ir_op_has(kind, IR_T_CONSTANT) || (kind == IR_BROADCAST_IN_DIM && sdy_is_scalar(g, ir_operand(g->m, op, 0)));
}

/* In one region, with one value and one sharding. */
static bool is_same(struct sdy_graph *g, ir_op a, ir_op b) {
    const struct ir_op_data *x = ir_op_get(g->m, a), *y = ir_op_get(g->m, b);
    ir_val u = ir_result(g->m, a, 0), v = ir_result(g->m, b, 0);
    if (x->kind != y->kind || x->noperands != y->noperands || !IR_SAME(x->attrs, y->attrs) ||
        !IR_SAME(ir_block_get(g->m, x->parent)->parent, ir_block_get(g->m, y->parent)->parent) ||
        !IR_SAME(ir_val_get(g->m, u)->type, ir_val_get(g->m, v)->type) || !sdy_sharding_equal(sdy_raw(g, u), sdy_raw(g, v)))
        return false;
    for (uint32_t i = 0; i < x->noperands; i++)
        if (!IR_SAME(x->operands[i], y->operands[i]))
            return false;
    for (uint32_t i = 0; i < ir_op_info((enum ir_op_kind)x->kind)->nslots; i++)
        if (!IR_SAME(x->props[i], y->props[i]))
            return false;
    return true;
}

/* By a hash of what is compared first, so that programs of many constants take linear time. */
static void merge_constants(struct sdy_graph *g) {
    struct sdy_ops ops = {0};
    sdy_walk(g, g->m->root, true, &ops);
    uint32_t nbuckets = 64;
    while (nbuckets < ops.n)
        nbuckets *= 2;
    struct sdy_ops *buckets = ARENA_ARRAY(&g->o->scratch, struct sdy_ops, nbuckets);
    for (uint32_t i = 0; i < ops.n; i++) {
        ir_op op = ops.v[i], first = {0};
        const struct ir_op_data *x = ir_op_get(g->m, op);
        if (!is_mergeable(g, op))
            continue;
        uint32_t key[3] = {x->noperands ? x->operands[0].i : x->props[0].i,
                           ir_val_get(g->m, ir_result(g->m, op, 0))->type.i, x->kind};
        struct sdy_ops *bucket = &buckets[str_hash(key, sizeof key, 0) & (nbuckets - 1)];
        for (uint32_t k = 0; k < bucket->n && IR_NONE(first); k++)
            if (is_same(g, bucket->v[k], op))
                first = bucket->v[k];
        if (IR_NONE(first)) {
            ARENA_PUSH(&g->o->scratch, bucket, op);
        } else {
            sdy_replace_uses(g, ir_result(g->m, op, 0), ir_result(g->m, first, 0), (ir_op){0});
            sdy_erase(g, op);
        }
    }
}

/* ---- edges ------------------------------------------------------------------------------------- */

/* The shardings of edges are those of their owners. */
static void sink(struct sdy_graph *g, const ir_val *v, uint32_t n, const struct sdy_manual *manual) {
    const struct sdy_sharding **s = ARENA_ARRAY(&g->o->scratch, const struct sdy_sharding *, n + 1);
    const struct sdy_mesh *mesh = NULL;
    for (uint32_t i = 0; i < n; i++) {
        ir_op edge = sdy_edge_of_target(g, v[i]);
        s[i] = IR_NONE(edge) ? NULL : sdy_raw(g, ir_result(g->m, edge, 0));
        mesh = !mesh && s[i] ? s[i]->mesh : mesh;
    }
    for (uint32_t i = 0; mesh && i < n; i++) {
        const struct sdy_sharding *x = s[i];
        if (!x)
            x = sdy_sharding_of_none(&g->o->scratch, mesh, ir_val_type(g->m, v[i])->rank, false);
        sdy_set_raw(g, v[i], manual && sdy_raw(g, v[i]) ? sdy_with_free(g, sdy_raw(g, v[i]), x, manual) : x);
    }
}

static void sink_edges(struct sdy_graph *g) {
    struct sdy_ops ops = {0};
    sdy_walk(g, g->m->root, false, &ops);
    for (uint32_t i = 0; i < ops.n; i++) {
        const struct ir_op_data *x = ir_op_get(g->m, ops.v[i]);
        enum ir_op_kind kind = (enum ir_op_kind)x->kind;
        if (kind == IR_SDY_DATA_FLOW_EDGE) {
            sdy_replace_uses(g, ir_result(g->m, ops.v[i], 0), x->operands[0], (ir_op){0});
            sdy_erase(g, ops.v[i]);
        }
        if (!sdy_is_data_flow(kind))
            continue;
        ir_val *results = ARENA_ARRAY(&g->o->scratch, ir_val, x->nresults + 1);
        for (uint32_t k = 0; k < x->nresults; k++)
            results[k] = ir_result(g->m, ops.v[i], k);
        if (sdy_owns_arguments(kind)) {
            const struct ir_block_data *body = ir_block_get(g->m, ir_region_get(g->m, ir_op_region(g->m, ops.v[i], 0))->first);
            sink(g, body->args, body->nargs, kind == IR_SDY_MANUAL_COMPUTATION ? sdy_manual_axes(g, ops.v[i]) : NULL);
        }
        sink(g, results, x->nresults, NULL);
    }
}

/* ---- constraints, groups ------------------------------------------------------------------------ */

static void replace_constraints(struct sdy_graph *g) {
    struct sdy_ops ops = {0};
    sdy_walk(g, g->m->root, true, &ops);
    for (uint32_t i = 0; i < ops.n; i++) {
        const struct ir_op_data *x = ir_op_get(g->m, ops.v[i]);
        if (x->kind == IR_SDY_SHARDING_GROUP)
            sdy_erase(g, ops.v[i]);
        if (x->kind != IR_SDY_SHARDING_CONSTRAINT)
            continue;
        ir_val v = ir_result(g->m, ops.v[i], 0);
        ir_type type = ir_val_get(g->m, v)->type;
        ir_op op = ir_op_new(g->m, IR_SDY_RESHARD, x->operands, 1, &type, 1, 0);
        ir_set_attrs(g->m, op, x->attrs);
        ir_insert_before(g->m, ops.v[i], op);
        sdy_add_uses(g, op);
        sdy_set_raw(g, ir_result(g->m, op, 0), sdy_raw(g, v));
        sdy_replace_uses(g, v, ir_result(g->m, op, 0), (ir_op){0});
        sdy_erase(g, ops.v[i]);
    }
}

/* ---- parts of one size -------------------------------------------------------------------------- */

/* The first axes that divide the dimension, of the last a part. */
static struct sdy_axes even_axes(struct sdy_graph *g, const struct sdy_mesh *mesh, struct sdy_axes axes, int64_t size) {
    struct sdy_axis *v = ARENA_ARRAY(&g->o->scratch, struct sdy_axis, axes.n + 1);
    uint32_t n = 0;
    for (uint32_t i = 0; i < axes.n; i++) {
        int64_t common = sdy_gcd(axes.v[i].size, size);
        if (common == 1)
            break;
        v[n++] = sdy_axis_part(mesh, axes.v[i].axis, axes.v[i].pre, common);
        if (common != axes.v[i].size)
            break;
        size /= common;
    }
    return (struct sdy_axes){n, v};
}

static const struct sdy_sharding *even(struct sdy_graph *g, const struct sdy_sharding *s, const struct ir_type_data *t) {
    struct sdy_dim *dims;
    if (!s || !ir_type_is_shaped(t) || !ir_type_is_static(t) || t->rank != s->rank)
        return s;
    struct sdy_sharding *out = sdy_sharding_copy(&g->o->scratch, s, &dims);
    for (uint32_t d = 0; d < s->rank; d++)
        if (t->dims[d] % sdy_dim_parts(&s->dims[d])) {
            dims[d].axes = even_axes(g, s->mesh, s->dims[d].axes, t->dims[d]);
            dims[d].priority = -1;
        }
    return out;
}

/* Open dimensions end before the first part of an axis. */
static const struct sdy_sharding *whole(struct sdy_graph *g, const struct sdy_sharding *s) {
    struct sdy_dim *dims;
    if (!s)
        return NULL;
    struct sdy_sharding *out = sdy_sharding_copy(&g->o->scratch, s, &dims);
    for (uint32_t d = 0; d < s->rank; d++)
        for (uint32_t i = 0; i < dims[d].axes.n && !dims[d].closed; i++)
            if (dims[d].axes.v[i].part)
                dims[d].axes.n = i;
    return out;
}

static void even_interface(struct sdy_graph *g) {
    const struct ir_block_data *body = ir_block_get(g->m, ir_func_body(g->m, g->entry));
    const struct ir_op_data *end = ir_op_get(g->m, body->last);
    for (uint32_t i = 0; i < body->nargs; i++)
        if (sdy_raw(g, body->args[i]))
            sdy_set_raw(g, body->args[i], whole(g, even(g, sdy_raw(g, body->args[i]), ir_val_type(g->m, body->args[i]))));
    for (uint32_t i = 0; i < end->noperands; i++)
        g->results[i] = whole(g, even(g, g->results[i], ir_val_type(g->m, end->operands[i])));
}

static void even_manual(struct sdy_graph *g) {
    struct sdy_ops ops = {0};
    sdy_walk(g, g->m->root, false, &ops);
    for (uint32_t i = 0; i < ops.n; i++) {
        if (ir_kind(g->m, ops.v[i]) != IR_SDY_MANUAL_COMPUTATION)
            continue;
        const struct ir_block_data *body = ir_block_get(g->m, ir_region_get(g->m, ir_op_region(g->m, ops.v[i], 0))->first);
        const struct sdy_manual *m = sdy_manual_axes(g, ops.v[i]);
        for (uint32_t k = 0; k < body->nargs; k++) {
            const struct sdy_sharding *outer = sdy_raw(g, body->args[k]);
            if (outer)
                sdy_set_raw(g, body->args[k], sdy_with_free(g, outer, even(g, sdy_without_manual(g, outer, m),
                                                                          ir_val_type(g->m, body->args[k])), m));
        }
        for (uint32_t k = 0; k < ir_op_get(g->m, ops.v[i])->nresults; k++) {
            ir_val v = ir_result(g->m, ops.v[i], k);
            if (sdy_raw(g, v))
                sdy_set_raw(g, v, even(g, sdy_raw(g, v), ir_val_type(g->m, v)));
        }
    }
}

static const struct sdy_sharding *closed(struct sdy_graph *g, const struct sdy_sharding *s) {
    struct sdy_dim *dims;
    if (!s)
        return NULL;
    struct sdy_sharding *out = sdy_sharding_copy(&g->o->scratch, s, &dims);
    for (uint32_t d = 0; d < s->rank; d++)
        dims[d].closed = true;
    out->replicated = (struct sdy_axes){0, NULL};
    return out;
}

/* ---- all --------------------------------------------------------------------------------------- */

hilo_status sdy_export(struct sdy_graph *g) {
    merge_constants(g);
    sink_edges(g);
    replace_constraints(g);
    even_manual(g);
    even_interface(g);
    for (uint32_t i = 0; i < g->shardings.n; i++)
        g->shardings.v[i] = closed(g, g->shardings.v[i]);
    uint32_t n = ir_op_get(g->m, ir_terminator(g->m, ir_func_body(g->m, g->entry)))->noperands;
    for (uint32_t i = 0; i < n; i++)
        g->results[i] = closed(g, g->results[i]);
    return HILO_OK;
}

hilo_status opt_sdy_export(struct opt *o) {
    struct sdy_graph g;
    HILO_TRY(sdy_graph_begin(&g, o));
    HILO_TRY(sdy_export(&g));
    sdy_graph_end(&g);
    return HILO_OK;
}
