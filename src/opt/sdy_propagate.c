/* Propagation of shardings (openxla/shardy, basic_propagation.cc, op_priority_propagation.cc,
 * user_priority_propagation.cc): by the priorities of users, in each by the priorities of ops, in each to a fixpoint over a
 * worklist. The worklist is that of MLIR's greedy rewriter, newest first, and ops without uses and effects are erased as they
 * come up, as there: the order decides conflicts. */
#include "opt/sdy_graph.h"

enum { ROUNDS = 5 }; /* of the priorities of ops */

struct propagate {
    struct sdy_graph *g;
    enum sdy_strategy strategy;
    int round;                           /* -1: everything goes in both directions */
    struct sdy_ops worklist;             /* an op that was removed is none */
    struct opt_ids listed;               /* by op: 1 + its place */
    struct { ir_val *v; uint32_t n, cap; } *groups;
    uint32_t ngroups;
    struct opt_ids group;                /* by value: 1 + its group */
    ir_op current;
};

/* ---- worklist ---------------------------------------------------------------------------------- */

static void push(struct propagate *p, ir_op op) {
    if (opt_ids_get(&p->listed, op.i))
        return;
    ARENA_PUSH(&p->g->o->scratch, &p->worklist, op);
    opt_ids_set(&p->listed, op.i, p->worklist.n);
}

/* With the ops that it is in. */
static void push_all(struct propagate *p, ir_op op) {
    while (!IR_SAME(op, p->g->m->root)) {
        push(p, op);
        op = ir_region_get(p->g->m, ir_block_get(p->g->m, ir_op_get(p->g->m, op)->parent)->parent)->parent;
    }
}

static bool pop(struct propagate *p, ir_op *op) {
    while (p->worklist.n) {
        *op = p->worklist.v[--p->worklist.n];
        if (!IR_NONE(*op)) {
            opt_ids_set(&p->listed, op->i, 0);
            return true;
        }
    }
    return false;
}

static void changed(struct propagate *p, ir_op op) {
    if (!IR_SAME(op, p->current))
        push_all(p, op);
}

static void users_changed(struct propagate *p, ir_val v) {
    const struct sdy_graph *g = p->g;
    for (const struct sdy_use *u = sdy_first_use(g, v); u; u = sdy_next_use(g, u)) {
        ir_op edge = sdy_edge_of_source(g, u->op, u->index);
        if (!IR_NONE(edge))
            changed(p, edge);
        else if (ir_op_has(ir_kind(g->m, u->op), IR_T_TERMINATOR))
            changed(p, ir_region_get(g->m, ir_block_get(g->m, ir_op_get(g->m, u->op)->parent)->parent)->parent);
        else
            changed(p, u->op);
    }
}

/* Targets of an edge besides its owner: the arguments of a loop. */
static void value_changed(struct propagate *p, ir_val v) {
    struct sdy_graph *g = p->g;
    ir_op op = sdy_owner(g, v);
    if (ir_kind(g->m, op) == IR_SDY_DATA_FLOW_EDGE) {
        ir_val owner = ir_operand(g->m, op, 0);
        ir_op loop = sdy_owner(g, owner);
        uint32_t index = ir_val_get(g->m, owner)->index;
        for (uint32_t i = 0; ir_kind(g->m, loop) == IR_WHILE && i < 2; i++)
            users_changed(p, ir_block_get(g->m, ir_region_get(g->m, ir_op_region(g->m, loop, i))->first)->args[index]);
    }
    changed(p, op);
    users_changed(p, v);
}

/* ---- one op ------------------------------------------------------------------------------------ */

/* Operands, or sources of an edge, and results, or its targets. */
struct tensors {
    uint32_t n, nin;
    ir_val *v;
    const struct sdy_sharding **s;
    const struct sdy_sharding **func_result; /* the last is not a value, but this result of the entry function */
    ir_op edge;                              /* the last is the target of an edge */
};

static struct tensors tensors_new(struct propagate *p, uint32_t room) {
    return (struct tensors){.v = ARENA_ARRAY(&p->g->o->scratch, ir_val, room + 1),
                            .s = ARENA_ARRAY(&p->g->o->scratch, const struct sdy_sharding *, room + 1)};
}

/* The mesh that all shardings have; NULL where they have none, or several. */
static const struct sdy_mesh *common_mesh(const struct tensors *t) {
    const struct sdy_mesh *mesh = NULL;
    for (uint32_t i = 0; i < t->n; i++) {
        if (!t->s[i])
            continue;
        if (!mesh || sdy_mesh_empty(mesh))
            mesh = t->s[i]->mesh;
        else if (!sdy_mesh_empty(t->s[i]->mesh) && !sdy_mesh_equal(mesh, t->s[i]->mesh))
            return NULL;
    }
    return mesh;
}

static const struct sdy_sharding *edge_sharding(struct sdy_graph *g, ir_op edge, const struct sdy_sharding *s, bool before) {
    ir_val owner = ir_operand(g->m, edge, 0);
    ir_op op = sdy_owner(g, owner);
    if (ir_kind(g->m, op) != IR_SDY_MANUAL_COMPUTATION || !s)
        return s;
    bool argument = IR_NONE(ir_val_get(g->m, owner)->op);
    const struct sdy_manual *m = sdy_manual_axes(g, op);
    if (argument != before)
        return sdy_without_manual(g, s, m);
    return sdy_raw(g, owner) ? sdy_with_free(g, sdy_raw(g, owner), s, m) : s;
}

/* Tensor i has another sharding. */
static void update(struct propagate *p, struct tensors *t, uint32_t i, const struct sdy_sharding *s) {
    struct sdy_graph *g = p->g;
    bool last = i + 1 == t->n;
    if (last && t->func_result) {
        *t->func_result = s;
        return;
    }
    if (last && !IR_NONE(t->edge))
        sdy_set_raw(g, t->v[i], edge_sharding(g, t->edge, s, false));
    else
        sdy_set(g, t->v[i], s);
    ir_val v = sdy_holder(g, t->v[i]);
    bool listed = p->round >= -1; /* else the function's results, after or before all of the worklist */
    if (listed)
        value_changed(p, v);
    uint32_t group = opt_ids_get(&p->group, v.i);
    for (uint32_t k = 0; group && k < p->groups[group - 1].n; k++) {
        ir_val other = p->groups[group - 1].v[k];
        if (IR_SAME(other, v))
            continue;
        sdy_set(g, other, s);
        if (listed)
            value_changed(p, other);
    }
}

static void propagate_op(struct propagate *p, struct tensors *t, const struct sdy_rule *rule,
                         const enum sdy_direction *directions, bool elementwise) {
    struct arena *a = &p->g->o->scratch;
    const struct sdy_mesh *mesh = common_mesh(t);
    if (!mesh || sdy_mesh_maximal(mesh))
        return;
    enum sdy_direction *allowed = ARENA_ARRAY(a, enum sdy_direction, rule->nfactors + 1);
    bool *updated = ARENA_ARRAY(a, bool, t->n + 1);
    for (uint32_t f = 0; f < rule->nfactors; f++)
        allowed[f] = rule->factors[f].blocked ? SDY_NONE : directions[f];
    for (uint32_t i = 0; i < t->n; i++)
        if (t->s[i] && t->s[i]->rank != rule->ranks[i])
            return;
    struct sdy_projection projection = sdy_project(a, rule, mesh, t->s, false);
    sdy_propagate_factors(&projection, p->strategy, allowed, elementwise, updated);
    for (uint32_t i = 0; i < t->n; i++) {
        if (!updated[i])
            continue;
        const struct sdy_sharding *s = sdy_unproject(&projection, i);
        if (t->s[i] ? !sdy_sharding_equal(s, t->s[i]) : !sdy_sharding_is_empty(s))
            update(p, t, i, s);
    }
}

/* ---- directions -------------------------------------------------------------------------------- */

/* No operand that can be sharded has another use. */
static bool single_use(const struct sdy_graph *g, ir_op op) {
    for (uint32_t i = 0; i < ir_op_get(g->m, op)->noperands; i++)
        if (!sdy_is_scalar(g, ir_operand(g->m, op, i)) && !sdy_has_one_use(g, ir_operand(g->m, op, i)))
            return false;
    return true;
}

static bool is_offload(const struct sdy_graph *g, ir_op op) {
    if (ir_kind(g->m, op) != IR_CUSTOM_CALL)
        return false;
    struct str target = ir_prop_str(g->m, op, IR_CUSTOM_CALL_call_target_name);
    return str_is(target, "MoveToDevice") || str_is(target, "MoveToHost");
}

/* The directions of a round are those of the rounds before, too. */
static enum sdy_direction direction(const struct propagate *p, ir_op op, const struct sdy_rule *rule, uint32_t factor) {
    const struct sdy_graph *g = p->g;
    enum ir_op_kind kind = ir_kind(g->m, op);
    bool edge = kind == IR_SDY_DATA_FLOW_EDGE, broadcast = kind == IR_BROADCAST_IN_DIM;
    unsigned out = SDY_NONE;
    if (p->round < 0 || p->round >= 4)
        return SDY_BOTH;
    if (p->round >= 1 || single_use(g, op)) {
        if (sdy_is_elementwise(g, op) || is_offload(g, op) || kind == IR_RESHAPE || kind == IR_TRANSPOSE || edge)
            out |= SDY_BOTH;
        if (kind == IR_DYNAMIC_SLICE || kind == IR_DYNAMIC_UPDATE_SLICE)
            out |= SDY_FORWARD;
    }
    if (p->round >= 3 || (p->round == 2 && (edge || rule->factors[factor].type == SDY_PASS_THROUGH)))
        out |= broadcast ? SDY_BACKWARD : SDY_BOTH;
    return (enum sdy_direction)out;
}

static const enum sdy_direction *directions_of(struct propagate *p, ir_op op, const struct sdy_rule *rule) {
    enum sdy_direction *out = ARENA_ARRAY(&p->g->o->scratch, enum sdy_direction, rule->nfactors + 1);
    for (uint32_t f = 0; f < rule->nfactors; f++)
        out[f] = IR_NONE(op) ? SDY_BOTH : direction(p, op, rule, f);
    return out;
}

/* ---- kinds of ops ------------------------------------------------------------------------------ */

static void visit_edge(struct propagate *p, ir_op edge) {
    struct sdy_graph *g = p->g;
    ir_val result = ir_result(g->m, edge, 0);
    if (!sdy_is_static(g, result))
        return;
    struct tensors t = tensors_new(p, sdy_edge_room(g, edge) + 2);
    sdy_edge_sources(g, edge, t.v, &t.nin);
    for (uint32_t i = 0; i < t.nin; i++)
        t.s[i] = sdy_get(g, t.v[i]);
    t.v[t.nin] = result;
    t.s[t.nin] = edge_sharding(g, edge, sdy_raw(g, result), true);
    t.n = t.nin + 1;
    t.edge = edge;
    const struct sdy_rule *rule = sdy_rule_identity(&g->o->scratch, ir_val_type(g->m, result), t.nin);
    propagate_op(p, &t, rule, directions_of(p, edge, rule), false);
}

static void visit(struct propagate *p, ir_op op) {
    struct sdy_graph *g = p->g;
    const struct ir_op_data *x = ir_op_get(g->m, op);
    if (x->kind == IR_SDY_DATA_FLOW_EDGE) {
        visit_edge(p, op);
        return;
    }
    bool barrier = x->kind == IR_SDY_PROPAGATION_BARRIER;
    const struct sdy_rule *rule = barrier ? sdy_rule_identity(&g->o->scratch, ir_val_type(g->m, x->operands[0]), 1)
                                          : sdy_rule(g, op);
    if (!rule)
        return;
    struct tensors t = tensors_new(p, x->noperands + x->nresults);
    t.nin = x->noperands;
    t.n = t.nin + x->nresults;
    for (uint32_t i = 0; i < t.n; i++) {
        t.v[i] = i < t.nin ? x->operands[i] : ir_result(g->m, op, i - t.nin);
        t.s[i] = sdy_get(g, t.v[i]);
    }
    enum sdy_direction *directions = ARENA_ARRAY(&g->o->scratch, enum sdy_direction, rule->nfactors + 1);
    int64_t only = barrier ? ir_prop_i64(g->m, op, IR_SDY_PROPAGATION_BARRIER_allowed_direction) : SDY_BOTH;
    for (uint32_t f = 0; f < rule->nfactors; f++)
        directions[f] = barrier ? (enum sdy_direction)only : direction(p, op, rule, f);
    propagate_op(p, &t, rule, directions, sdy_is_elementwise(g, op));
}

/* Between what the entry function returns and the shardings of its results. */
static void visit_results(struct propagate *p) {
    struct sdy_graph *g = p->g;
    ir_op end = ir_terminator(g->m, ir_func_body(g->m, g->entry));
    int round = p->round;
    p->round = -2;
    for (uint32_t i = 0; i < ir_op_get(g->m, end)->noperands; i++) {
        ir_val v = ir_operand(g->m, end, i);
        if (!sdy_is_static(g, v))
            continue;
        struct tensors t = tensors_new(p, 2);
        t.n = 2;
        t.nin = 1;
        t.v[0] = t.v[1] = v;
        t.s[0] = sdy_get(g, v);
        t.s[1] = g->results[i];
        t.func_result = &g->results[i];
        const struct sdy_rule *rule = sdy_rule_identity(&g->o->scratch, ir_val_type(g->m, v), 1);
        propagate_op(p, &t, rule, directions_of(p, (ir_op){0}, rule), false);
    }
    p->round = round;
}

/* ---- fixpoint ---------------------------------------------------------------------------------- */

/* An op without uses; its operands come up again, which may be needed no longer either. */
static bool erase_if_dead(struct propagate *p, ir_op op) {
    struct sdy_graph *g = p->g;
    const struct ir_op_data *x = ir_op_get(g->m, op);
    for (uint32_t i = 0; i < x->nresults; i++)
        if (sdy_first_use(g, ir_result(g->m, op, i)))
            return false;
    if (ir_op_has((enum ir_op_kind)x->kind, IR_T_TERMINATOR | IR_T_SYMBOL) || !sdy_has_no_effect(g, op))
        return false;
    for (uint32_t i = 0; i < x->noperands; i++) {
        ir_op definition = ir_val_get(g->m, x->operands[i])->op, other = {0};
        bool many = false;
        for (const struct sdy_use *u = sdy_first_use(g, x->operands[i]); u; u = sdy_next_use(g, u)) {
            if (IR_SAME(u->op, op) || IR_SAME(u->op, other))
                continue;
            many |= !IR_NONE(other);
            other = u->op;
        }
        if (!IR_NONE(definition) && !many)
            push_all(p, definition);
    }
    struct sdy_ops inside = {0};
    sdy_walk(g, op, false, &inside);
    for (uint32_t i = 0; i < inside.n; i++) {
        uint32_t at = opt_ids_get(&p->listed, inside.v[i].i);
        if (at)
            p->worklist.v[at - 1] = (ir_op){0};
        opt_ids_set(&p->listed, inside.v[i].i, 0);
    }
    sdy_erase(g, op);
    return true;
}

static void fixpoint(struct propagate *p) {
    struct sdy_graph *g = p->g;
    struct sdy_ops ops = {0};
    visit_results(p);
    sdy_walk(g, g->m->root, false, &ops);
    for (uint32_t i = ops.n; i-- > 0;)
        push(p, ops.v[i]);
    while (pop(p, &p->current))
        if (!erase_if_dead(p, p->current))
            visit(p, p->current);
    p->current = (ir_op){0};
    visit_results(p);
}

static void by_ops(struct propagate *p, bool priorities) {
    p->round = -1;
    if (!priorities)
        fixpoint(p);
    for (int round = 0; priorities && round < ROUNDS; round++) {
        p->round = round;
        fixpoint(p);
    }
}

/* ---- priorities of users ------------------------------------------------------------------------ */

/* A sharding that was given, with a priority: of a value, or of a result of the entry function. */
struct given {
    ir_val v;
    uint32_t result; /* 1 + its number, where it is of a result */
    const struct sdy_sharding *s;
};

struct givens { struct given *v; uint32_t n, cap; };

/* Dimensions of a priority above 0 are empty and closed at first, and their axes replicated. */
static const struct sdy_sharding *initial(struct sdy_graph *g, const struct sdy_sharding *s) {
    struct sdy_dim *dims;
    struct sdy_sharding *out = sdy_sharding_copy(&g->o->scratch, s, &dims);
    uint32_t n = s->replicated.n;
    for (uint32_t d = 0; d < s->rank; d++)
        n += s->dims[d].axes.n;
    struct sdy_axis *v = ARENA_ARRAY(&g->o->scratch, struct sdy_axis, n + 1);
    for (n = 0; n < s->replicated.n; n++)
        v[n] = s->replicated.v[n];
    for (uint32_t d = 0; d < s->rank; d++) {
        dims[d].priority = -1;
        if (s->dims[d].priority <= 0)
            continue;
        for (uint32_t i = 0; i < s->dims[d].axes.n; i++)
            v[n++] = s->dims[d].axes.v[i];
        dims[d] = (struct sdy_dim){.closed = true, .priority = -1};
    }
    for (uint32_t i = 1; i < n; i++) { /* in the mesh's order, without merging */
        struct sdy_axis x = v[i];
        uint32_t at = i;
        for (; at && (x.axis != v[at - 1].axis ? x.axis < v[at - 1].axis : x.pre < v[at - 1].pre); at--)
            v[at] = v[at - 1];
        v[at] = x;
    }
    out->replicated = (struct sdy_axes){n, v};
    return out;
}

/* What was given comes back in the dimensions of that priority. */
static const struct sdy_sharding *restored(struct sdy_graph *g, const struct sdy_sharding *now,
                                           const struct sdy_sharding *given, int64_t priority) {
    struct sdy_dim *dims;
    struct sdy_sharding *out = sdy_sharding_copy(&g->o->scratch, now, &dims);
    struct sdy_axis *v = ARENA_ARRAY(&g->o->scratch, struct sdy_axis, now->replicated.n + 1);
    uint32_t n = 0;
    for (uint32_t i = 0; i < now->replicated.n; i++) {
        bool back = false;
        for (uint32_t d = 0; d < given->rank; d++)
            for (uint32_t k = 0; given->dims[d].priority == priority && k < given->dims[d].axes.n; k++)
                back |= sdy_axis_equal(given->dims[d].axes.v[k], now->replicated.v[i]);
        if (!back)
            v[n++] = now->replicated.v[i];
    }
    for (uint32_t d = 0; d < now->rank; d++)
        if (given->dims[d].priority == priority) {
            dims[d] = given->dims[d];
            dims[d].priority = -1;
        }
    out->replicated = (struct sdy_axes){n, v};
    return out;
}

/* Notes a sharding, and gives the first one. */
static const struct sdy_sharding *note(struct sdy_graph *g, struct givens *all, ir_val v, uint32_t result,
                                       const struct sdy_sharding *s) {
    bool any = false;
    for (uint32_t d = 0; d < s->rank; d++)
        any |= s->dims[d].priority > 0;
    if (any)
        ARENA_PUSH(&g->o->scratch, all, ((struct given){v, result, s}));
    return initial(g, s);
}

static void note_values(struct sdy_graph *g, struct givens *all) {
    for (uint32_t i = 1; i < g->at.cap; i++) {
        ir_val v = {i};
        const struct sdy_sharding *s = sdy_raw(g, v);
        if (s && IR_NONE(sdy_edge_of_target(g, v)))
            sdy_set_raw(g, v, note(g, all, v, 0, s));
    }
    for (uint32_t i = 0; i < ir_op_get(g->m, ir_terminator(g->m, ir_func_body(g->m, g->entry)))->noperands; i++)
        if (g->results[i])
            g->results[i] = note(g, all, (ir_val){0}, i + 1, g->results[i]);
}

/* The least priority above one; -1 when there is none. */
static int64_t next_priority(const struct givens *all, int64_t after) {
    int64_t next = -1;
    for (uint32_t i = 0; i < all->n; i++)
        for (uint32_t d = 0; d < all->v[i].s->rank; d++) {
            int64_t priority = all->v[i].s->dims[d].priority;
            if (priority > after && (next < 0 || priority < next))
                next = priority;
        }
    return next;
}

static bool has_priority(const struct sdy_sharding *s, int64_t priority) {
    for (uint32_t d = 0; d < s->rank; d++)
        if (s->dims[d].priority == priority)
            return true;
    return false;
}

static void by_users(struct propagate *p, bool op_priorities) {
    struct sdy_graph *g = p->g;
    struct givens all = {0};
    note_values(g, &all);
    by_ops(p, op_priorities);
    for (int64_t priority = next_priority(&all, 0); priority > 0; priority = next_priority(&all, priority)) {
        for (uint32_t i = 0; i < all.n; i++) {
            const struct given *x = &all.v[i];
            if (!has_priority(x->s, priority))
                continue;
            if (x->result)
                g->results[x->result - 1] = restored(g, g->results[x->result - 1], x->s, priority);
            else if (sdy_raw(g, x->v))
                sdy_set_raw(g, x->v, restored(g, sdy_raw(g, x->v), x->s, priority));
        }
        by_ops(p, op_priorities);
    }
}

/* ---- groups ------------------------------------------------------------------------------------ */

static hilo_status find_groups(struct propagate *p) {
    struct sdy_graph *g = p->g;
    struct sdy_ops ops = {0};
    sdy_walk(g, g->m->root, true, &ops);
    for (uint32_t i = 0; i < ops.n; i++) {
        if (ir_kind(g->m, ops.v[i]) != IR_SDY_SHARDING_GROUP)
            continue;
        int64_t id = ir_prop_i64(g->m, ops.v[i], IR_SDY_SHARDING_GROUP_group_id);
        if (id >= ops.n)
            return ir_op_error(g->m, g->o->d, ops.v[i], HILO_INVALID_ARGUMENT, NULL, "has groups that are not numbered from 0");
        if (id >= p->ngroups)
            p->ngroups = (uint32_t)id + 1;
    }
    p->groups = arena_array(&g->o->scratch, p->ngroups + 1, sizeof *p->groups, 16);
    for (uint32_t i = 0; i < ops.n; i++)
        if (ir_kind(g->m, ops.v[i]) == IR_SDY_SHARDING_GROUP) {
            uint32_t id = (uint32_t)ir_prop_i64(g->m, ops.v[i], IR_SDY_SHARDING_GROUP_group_id);
            ir_val v = ir_operand(g->m, ops.v[i], 0);
            ARENA_PUSH(&g->o->scratch, &p->groups[id], v);
            opt_ids_set(&p->group, v.i, id + 1);
        }
    return HILO_OK;
}

static bool is_open_and_replicated(const struct sdy_sharding *s) {
    bool out = true;
    for (uint32_t d = 0; d < s->rank; d++)
        out &= !s->dims[d].closed && !s->dims[d].axes.n;
    return out;
}

/* The members of a group begin with the sharding that one of them has; where several have different ones, each member is
   replaced by an open constraint of it. */
static void sync_group(struct propagate *p, uint32_t id) {
    struct sdy_graph *g = p->g;
    const struct sdy_sharding *s = NULL;
    bool conflict = false;
    for (uint32_t i = 0; i < p->groups[id].n && !conflict; i++) {
        const struct sdy_sharding *other = sdy_get(g, p->groups[id].v[i]);
        if (p->groups[id].n > 1 && (!other || is_open_and_replicated(other)))
            continue;
        conflict = s && !sdy_sharding_equal(s, other);
        s = s ? s : other;
    }
    for (uint32_t i = 0; s && i < p->groups[id].n; i++) {
        ir_val v = p->groups[id].v[i];
        if (!conflict) {
            sdy_set(g, v, s);
            continue;
        }
        ir_type type = ir_val_get(g->m, v)->type;
        ir_op op = ir_op_new(g->m, IR_SDY_SHARDING_CONSTRAINT, &v, 1, &type, 1, 0);
        sdy_insert_after(g, v, op);
        sdy_add_uses(g, op);
        sdy_set_raw(g, ir_result(g->m, op, 0), sdy_sharding_of_none(&g->o->scratch, s->mesh, s->rank, false));
        sdy_replace_uses(g, v, ir_result(g->m, op, 0), op);
        opt_ids_set(&p->group, v.i, 0);
        opt_ids_set(&p->group, ir_result(g->m, op, 0).i, id + 1);
        p->groups[id].v[i] = ir_result(g->m, op, 0);
    }
}

/* ---- all --------------------------------------------------------------------------------------- */

/* A result through which nothing can be propagated; none = there is none. */
static ir_op find_unknown(const struct sdy_graph *g) {
    struct sdy_graph all = *g;
    struct sdy_ops ops = {0};
    sdy_walk(&all, g->m->root, false, &ops);
    for (uint32_t i = 0; i < ops.n; i++)
        for (uint32_t k = 0; k < ir_op_get(g->m, ops.v[i])->nresults; k++) {
            const struct ir_type_data *t = ir_val_type(g->m, ir_result(g->m, ops.v[i], k));
            if ((ir_type_is_shaped(t) && !ir_type_is_static(t)) || t->kind == IR_TYPE_TUPLE)
                return ops.v[i];
        }
    return (ir_op){0};
}

bool sdy_can_propagate(const struct sdy_graph *g) {
    return IR_NONE(find_unknown(g));
}

static hilo_status check_types(struct sdy_graph *g) {
    ir_op op = find_unknown(g);
    return IR_NONE(op) ? HILO_OK
                       : ir_op_error(g->m, g->o->d, op, HILO_UNIMPLEMENTED, NULL,
                                     "has a result of unknown size or a tuple, through which shardings are not propagated");
}

hilo_status sdy_propagate(struct sdy_graph *g, enum sdy_strategy strategy, bool op_priorities, bool user_priorities) {
    struct arena *a = &g->o->scratch;
    struct propagate p = {.g = g, .strategy = strategy, .listed = {.a = a}, .group = {.a = a}};
    HILO_TRY(check_types(g));
    HILO_TRY(find_groups(&p));
    for (uint32_t i = 0; i < p.ngroups; i++)
        sync_group(&p, i);
    if (user_priorities)
        by_users(&p, op_priorities);
    else
        by_ops(&p, op_priorities);
    return HILO_OK;
}

static hilo_status run(struct opt *o, enum sdy_strategy strategy, bool op_priorities, bool user_priorities) {
    struct sdy_graph g;
    HILO_TRY(sdy_graph_begin(&g, o));
    HILO_TRY(sdy_propagate(&g, strategy, op_priorities, user_priorities));
    sdy_graph_end(&g);
    return HILO_OK;
}

hilo_status opt_sdy_basic(struct opt *o) {
    return run(o, SDY_BASIC, false, false);
}

hilo_status opt_sdy_aggressive(struct opt *o) {
    return run(o, SDY_AGGRESSIVE, false, false);
}

hilo_status opt_sdy_op_priority(struct opt *o) {
    return run(o, SDY_AGGRESSIVE, true, false);
}

hilo_status opt_sdy_user_priority(struct opt *o) {
    return run(o, SDY_AGGRESSIVE, true, true);
}

/* import, propagation and export */
hilo_status opt_sdy_propagate(struct opt *o) {
    struct sdy_graph g;
    HILO_TRY(sdy_graph_begin(&g, o));
    HILO_TRY(sdy_import(&g));
    HILO_TRY(sdy_propagate(&g, SDY_AGGRESSIVE, true, true));
    HILO_TRY(sdy_export(&g));
    sdy_graph_end(&g);
    return HILO_OK;
}

/* Writes the rule of each op that has one as its attribute. */
hilo_status opt_sdy_rules(struct opt *o) {
    struct sdy_graph g;
    struct sdy_ops ops = {0};
    HILO_TRY(sdy_graph_begin(&g, o));
    sdy_walk(&g, o->m->root, true, &ops);
    for (uint32_t i = 0; i < ops.n; i++) {
        const struct sdy_rule *rule = sdy_rule(&g, ops.v[i]);
        if (!rule)
            continue;
        ir_attr attrs = ir_op_get(o->m, ops.v[i])->attrs;
        ir_set_attrs(o->m, ops.v[i], sdy_dict_with(&g, attrs, STR("sdy.sharding_rule"), sdy_rule_attr(o->m, rule)));
        o->changes++;
    }
    return HILO_OK;
}
