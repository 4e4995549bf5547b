/* Uses, shardings and data flow edges of a module (openxla/shardy, utils.cc, dialect.cc); see sdy_graph.h. */
#include "opt/sdy_graph.h"

/* ---- ops --------------------------------------------------------------------------------------- */

static void walk_op(struct sdy_graph *g, ir_op op, bool post, struct sdy_ops *out) {
    const struct ir_op_data *x = ir_op_get(g->m, op);
    if (!post)
        ARENA_PUSH(&g->o->scratch, out, op);
    for (uint32_t i = 0; i < x->nregions; i++)
        for (ir_block b = ir_region_get(g->m, ir_op_region(g->m, op, i))->first; !IR_NONE(b); b = ir_block_get(g->m, b)->next)
            for (ir_op in = ir_block_get(g->m, b)->first; !IR_NONE(in); in = ir_op_get(g->m, in)->next)
                walk_op(g, in, post, out);
    if (post)
        ARENA_PUSH(&g->o->scratch, out, op);
}

void sdy_walk(struct sdy_graph *g, ir_op root, bool post, struct sdy_ops *out) {
    walk_op(g, root, post, out);
    /* without the root itself */
    if (post) {
        out->n--;
    } else {
        out->v++;
        out->n--;
        out->cap--;
    }
}

ir_op sdy_owner(const struct sdy_graph *g, ir_val v) {
    const struct ir_val_data *x = ir_val_get(g->m, v);
    return IR_NONE(x->op) ? ir_region_get(g->m, ir_block_get(g->m, x->block)->parent)->parent : x->op;
}

bool sdy_is_scalar(const struct sdy_graph *g, ir_val v) {
    const struct ir_type_data *t = ir_val_type(g->m, v);
    return t->kind == IR_TYPE_TENSOR && t->rank == 0;
}

bool sdy_is_static(const struct sdy_graph *g, ir_val v) {
    const struct ir_type_data *t = ir_val_type(g->m, v);
    return ir_type_is_shaped(t) && ir_type_is_static(t);
}

bool sdy_has_no_effect(const struct sdy_graph *g, ir_op op) {
    const struct ir_op_data *x = ir_op_get(g->m, op);
    enum ir_op_kind kind = (enum ir_op_kind)x->kind;
    if (ir_op_has(kind, IR_T_TERMINATOR))
        return true;
    if (kind == IR_SDY_SHARDING_CONSTRAINT || kind == IR_SDY_DATA_FLOW_EDGE || kind == IR_CALL ||
        !ir_op_has(kind, IR_T_PURE | IR_T_CONTROL))
        return false;
    for (uint32_t i = 0; i < x->nregions; i++)
        for (ir_block b = ir_region_get(g->m, ir_op_region(g->m, op, i))->first; !IR_NONE(b); b = ir_block_get(g->m, b)->next)
            for (ir_op in = ir_block_get(g->m, b)->first; !IR_NONE(in); in = ir_op_get(g->m, in)->next)
                if (!sdy_has_no_effect(g, in))
                    return false;
    return true;
}

bool sdy_is_elementwise(const struct sdy_graph *g, ir_op op) {
    enum ir_op_kind kind = ir_kind(g->m, op);
    if (kind == IR_BITCAST_CONVERT)
        return ir_val_type(g->m, ir_operand(g->m, op, 0))->rank == ir_val_type(g->m, ir_result(g->m, op, 0))->rank;
    return ir_op_has(kind, IR_T_ELEMENTWISE | IR_T_BROADCASTING) || kind == IR_SDY_PROPAGATION_BARRIER ||
           kind == IR_SDY_SHARDING_CONSTRAINT || kind == IR_SDY_RESHARD;
}

/* ---- uses -------------------------------------------------------------------------------------- */

const struct sdy_use *sdy_first_use(const struct sdy_graph *g, ir_val v) {
    uint32_t at = opt_ids_get(&g->uses, v.i);
    return at ? &g->pool.v[at - 1] : NULL;
}

const struct sdy_use *sdy_next_use(const struct sdy_graph *g, const struct sdy_use *u) {
    return u->next ? &g->pool.v[u->next - 1] : NULL;
}

bool sdy_has_one_use(const struct sdy_graph *g, ir_val v) {
    const struct sdy_use *u = sdy_first_use(g, v);
    return u && !u->next;
}

static void use_add(struct sdy_graph *g, ir_val v, ir_op op, uint32_t index) {
    ARENA_PUSH(&g->o->scratch, &g->pool, ((struct sdy_use){op, index, opt_ids_get(&g->uses, v.i)}));
    opt_ids_set(&g->uses, v.i, g->pool.n);
}

static void use_remove(struct sdy_graph *g, ir_val v, ir_op op, uint32_t index) {
    uint32_t before = 0, at = opt_ids_get(&g->uses, v.i);
    while (at && !(IR_SAME(g->pool.v[at - 1].op, op) && g->pool.v[at - 1].index == index)) {
        before = at;
        at = g->pool.v[at - 1].next;
    }
    if (at && before)
        g->pool.v[before - 1].next = g->pool.v[at - 1].next;
    else if (at)
        opt_ids_set(&g->uses, v.i, g->pool.v[at - 1].next);
}

void sdy_add_uses(struct sdy_graph *g, ir_op op) {
    struct sdy_ops ops = {0};
    walk_op(g, op, true, &ops);
    for (uint32_t i = 0; i < ops.n; i++)
        for (uint32_t k = 0; k < ir_op_get(g->m, ops.v[i])->noperands; k++)
            use_add(g, ir_operand(g->m, ops.v[i], k), ops.v[i], k);
}

void sdy_set_operand(struct sdy_graph *g, ir_op op, uint32_t index, ir_val v) {
    use_remove(g, ir_operand(g->m, op, index), op, index);
    ir_set_operand(g->m, op, index, v);
    use_add(g, v, op, index);
}

void sdy_replace_uses(struct sdy_graph *g, ir_val from, ir_val to, ir_op except) {
    uint32_t at = opt_ids_get(&g->uses, from.i);
    while (at) {
        struct sdy_use u = g->pool.v[at - 1];
        if (!IR_SAME(u.op, except))
            sdy_set_operand(g, u.op, u.index, to);
        at = u.next;
    }
}

void sdy_erase(struct sdy_graph *g, ir_op op) {
    struct sdy_ops ops = {0};
    walk_op(g, op, true, &ops);
    for (uint32_t i = 0; i < ops.n; i++)
        for (uint32_t k = 0; k < ir_op_get(g->m, ops.v[i])->noperands; k++)
            use_remove(g, ir_operand(g->m, ops.v[i], k), ops.v[i], k);
    ir_unlink(g->m, op);
    g->o->changes++;
}

void sdy_insert_after(struct sdy_graph *g, ir_val v, ir_op op) {
    const struct ir_val_data *x = ir_val_get(g->m, v);
    ir_insert_before(g->m, IR_NONE(x->op) ? ir_block_get(g->m, x->block)->first : ir_op_get(g->m, x->op)->next, op);
}

/* ---- data flow edges --------------------------------------------------------------------------- */

bool sdy_owns_arguments(enum ir_op_kind kind) {
    return kind == IR_SDY_MANUAL_COMPUTATION || kind == IR_SDY_NAMED_COMPUTATION;
}

bool sdy_is_data_flow(enum ir_op_kind kind) {
    return kind == IR_WHILE || kind == IR_CASE || kind == IR_OPTIMIZATION_BARRIER || sdy_owns_arguments(kind);
}

/* The owner of the edge with that target. */
static ir_val owner_of_target(const struct sdy_graph *g, ir_op op, ir_val v) {
    bool argument = IR_NONE(ir_val_get(g->m, v)->op);
    return argument && ir_kind(g->m, op) == IR_WHILE ? ir_result(g->m, op, ir_val_get(g->m, v)->index) : v;
}

static ir_op edge_of_owner(const struct sdy_graph *g, ir_val owner) {
    const struct sdy_use *u = sdy_first_use(g, owner);
    return u && !u->next && ir_kind(g->m, u->op) == IR_SDY_DATA_FLOW_EDGE ? u->op : (ir_op){0};
}

ir_op sdy_edge_of_target(const struct sdy_graph *g, ir_val v) {
    ir_op op = sdy_owner(g, v);
    return sdy_is_data_flow(ir_kind(g->m, op)) ? edge_of_owner(g, owner_of_target(g, op, v)) : (ir_op){0};
}

ir_op sdy_edge_of_source(const struct sdy_graph *g, ir_op user, uint32_t index) {
    bool terminator = ir_op_has(ir_kind(g->m, user), IR_T_TERMINATOR);
    ir_op op = user;
    if (terminator)
        op = ir_region_get(g->m, ir_block_get(g->m, ir_op_get(g->m, user)->parent)->parent)->parent;
    enum ir_op_kind kind = ir_kind(g->m, op);
    if (!sdy_is_data_flow(kind))
        return (ir_op){0};
    if (sdy_owns_arguments(kind) && !terminator) /* as in Shardy, a changed operand does not bring up the argument's edge */
        return (ir_op){0};
    return index < ir_op_get(g->m, op)->nresults ? edge_of_owner(g, ir_result(g->m, op, index)) : (ir_op){0};
}

uint32_t sdy_edge_room(const struct sdy_graph *g, ir_op edge) {
    return ir_op_get(g->m, sdy_owner(g, ir_operand(g->m, edge, 0)))->nregions + 1u;
}

static ir_val returned(const struct sdy_graph *g, ir_op op, uint32_t region, uint32_t index) {
    ir_block b = ir_region_get(g->m, ir_op_region(g->m, op, region))->first;
    return ir_operand(g->m, ir_terminator(g->m, b), index);
}

void sdy_edge_sources(struct sdy_graph *g, ir_op edge, ir_val *out, uint32_t *n) {
    ir_val owner = ir_operand(g->m, edge, 0);
    ir_op op = sdy_owner(g, owner);
    uint32_t index = ir_val_get(g->m, owner)->index;
    enum ir_op_kind kind = ir_kind(g->m, op);
    *n = 0;
    if (kind == IR_CASE) {
        for (uint32_t i = 0; i < ir_op_get(g->m, op)->nregions; i++)
            out[(*n)++] = returned(g, op, i, index);
    } else if (sdy_owns_arguments(kind)) {
        bool argument = IR_NONE(ir_val_get(g->m, owner)->op);
        out[(*n)++] = argument ? ir_operand(g->m, op, index) : returned(g, op, 0, index);
    } else if (sdy_is_data_flow(kind)) {
        out[(*n)++] = ir_operand(g->m, op, index);
        if (kind == IR_WHILE)
            out[(*n)++] = returned(g, op, 1, index);
    }
}

/* ---- manual axes ------------------------------------------------------------------------------- */

const struct sdy_manual *sdy_manual_axes(const struct sdy_graph *g, ir_op op) {
    return &g->manual.v[opt_ids_get(&g->manual_at, op.i) - 1];
}

static bool is_manual(const struct sdy_mesh *mesh, struct sdy_axis x, const struct sdy_manual *m) {
    for (uint32_t i = 0; i < m->n; i++)
        if (str_eq(mesh->axes[x.axis].name, m->names[i]))
            return true;
    return false;
}

/* Manual axes come first. */
static uint32_t count_manual(const struct sdy_mesh *mesh, struct sdy_axes axes, const struct sdy_manual *m) {
    uint32_t n = 0;
    while (n < axes.n && is_manual(mesh, axes.v[n], m))
        n++;
    return n;
}

static struct sdy_axes only_free(struct sdy_graph *g, const struct sdy_mesh *mesh, struct sdy_axes axes,
                                 const struct sdy_manual *m) {
    struct sdy_axis *v = ARENA_ARRAY(&g->o->scratch, struct sdy_axis, axes.n + 1);
    uint32_t n = 0;
    for (uint32_t i = 0; i < axes.n; i++)
        if (!is_manual(mesh, axes.v[i], m))
            v[n++] = axes.v[i];
    return (struct sdy_axes){n, v};
}

const struct sdy_sharding *sdy_without_manual(struct sdy_graph *g, const struct sdy_sharding *s, const struct sdy_manual *m) {
    struct sdy_dim *dims;
    if (!s || !m->n)
        return s;
    struct sdy_sharding *out = sdy_sharding_copy(&g->o->scratch, s, &dims);
    for (uint32_t d = 0; d < s->rank; d++) {
        uint32_t n = count_manual(s->mesh, s->dims[d].axes, m);
        dims[d].axes = (struct sdy_axes){s->dims[d].axes.n - n, s->dims[d].axes.v + n};
    }
    out->replicated = only_free(g, s->mesh, s->replicated, m);
    out->unreduced = only_free(g, s->mesh, s->unreduced, m);
    return out;
}

const struct sdy_sharding *sdy_with_free(struct sdy_graph *g, const struct sdy_sharding *outer,
                                         const struct sdy_sharding *inner, const struct sdy_manual *m) {
    struct sdy_dim *dims;
    struct sdy_sharding *out = sdy_sharding_copy(&g->o->scratch, inner, &dims);
    for (uint32_t d = 0; d < inner->rank && d < outer->rank; d++) {
        struct sdy_axes had = outer->dims[d].axes, free = inner->dims[d].axes;
        uint32_t n = count_manual(outer->mesh, had, m);
        struct sdy_axis *v = ARENA_ARRAY(&g->o->scratch, struct sdy_axis, n + free.n + 1);
        for (uint32_t i = 0; i < n + free.n; i++)
            v[i] = i < n ? had.v[i] : free.v[i - n];
        dims[d].axes = (struct sdy_axes){n + free.n, v};
    }
    out->replicated = outer->replicated;
    out->unreduced = outer->unreduced;
    return out;
}

/* ---- shardings --------------------------------------------------------------------------------- */

const struct sdy_sharding *sdy_raw(const struct sdy_graph *g, ir_val v) {
    uint32_t at = opt_ids_get(&g->at, v.i);
    return at ? g->shardings.v[at - 1] : NULL;
}

void sdy_set_raw(struct sdy_graph *g, ir_val v, const struct sdy_sharding *s) {
    uint32_t at = opt_ids_get(&g->at, v.i);
    if (!at) {
        ARENA_PUSH(&g->o->scratch, &g->shardings, s);
        opt_ids_set(&g->at, v.i, g->shardings.n);
    } else {
        g->shardings.v[at - 1] = s;
    }
}

ir_val sdy_holder(const struct sdy_graph *g, ir_val v) {
    ir_op edge = sdy_edge_of_target(g, v), op = sdy_owner(g, v);
    enum ir_op_kind kind = ir_kind(g->m, op);
    if (!IR_NONE(edge))
        return ir_result(g->m, edge, 0);
    if (!IR_NONE(ir_val_get(g->m, v)->op) || kind == IR_FUNC)
        return v;
    if (kind == IR_ASYNC_START)
        return ir_operand(g->m, op, ir_val_get(g->m, v)->index);
    return kind == IR_WHILE || sdy_owns_arguments(kind) ? owner_of_target(g, op, v) : (ir_val){0};
}

/* An argument of a manual computation, which has the sharding outside of it. */
static bool is_manual_argument(const struct sdy_graph *g, ir_val v) {
    return IR_NONE(ir_val_get(g->m, v)->op) && ir_kind(g->m, sdy_owner(g, v)) == IR_SDY_MANUAL_COMPUTATION;
}

const struct sdy_sharding *sdy_get(struct sdy_graph *g, ir_val v) {
    ir_val at = sdy_holder(g, v);
    if (IR_NONE(at))
        return NULL;
    const struct sdy_sharding *s = sdy_raw(g, at);
    return s && is_manual_argument(g, at) ? sdy_without_manual(g, s, sdy_manual_axes(g, sdy_owner(g, at))) : s;
}

static void open_where_none(struct sdy_graph *g, ir_val v, const struct sdy_mesh *mesh) {
    if (!sdy_raw(g, v))
        sdy_set_raw(g, v, sdy_sharding_of_none(&g->o->scratch, mesh, ir_val_type(g->m, v)->rank, false));
}

void sdy_set(struct sdy_graph *g, ir_val v, const struct sdy_sharding *s) {
    ir_val at = sdy_holder(g, v);
    if (IR_NONE(at))
        return;
    const struct ir_val_data *x = ir_val_get(g->m, at);
    ir_op op = sdy_owner(g, at);
    if (is_manual_argument(g, at) && sdy_raw(g, at))
        s = sdy_with_free(g, sdy_raw(g, at), s, sdy_manual_axes(g, op));
    sdy_set_raw(g, at, s);
    if (ir_kind(g->m, op) == IR_FUNC)
        return;
    uint32_t n = IR_NONE(x->op) ? ir_block_get(g->m, x->block)->nargs : ir_op_get(g->m, op)->nresults;
    for (uint32_t i = 0; i < n; i++)
        open_where_none(g, IR_NONE(x->op) ? ir_block_get(g->m, x->block)->args[i] : ir_result(g->m, op, i), s->mesh);
}

const struct sdy_rule *sdy_rule(struct sdy_graph *g, ir_op op) {
    uint32_t at = opt_ids_get(&g->rule_at, op.i);
    if (!at) {
        const struct sdy_rule *rule = NULL;
        if (sdy_rule_of(&g->sdy, op, &rule) != HILO_OK)
            rule = NULL; /* sdy_graph_begin has read it */
        ARENA_PUSH(&g->o->scratch, &g->rules, rule);
        opt_ids_set(&g->rule_at, op.i, at = g->rules.n);
    }
    return g->rules.v[at - 1];
}

void sdy_note_rules(struct sdy_graph *g) {
    struct sdy_ops ops = {0};
    sdy_walk(g, g->entry, true, &ops);
    for (uint32_t i = 0; i < ops.n; i++)
        (void)sdy_rule(g, ops.v[i]);
}

/* ---- reading ----------------------------------------------------------------------------------- */

static const struct str sharding_name = {"sdy.sharding", 12};

static void found_sharding(void *user, ir_val v, const struct sdy_sharding *s) {
    sdy_set_raw(user, v, s);
}

static void found_manual(void *user, ir_op op, const struct str *names, uint32_t n) {
    struct sdy_graph *g = user;
    struct sdy_manual m = {names, n};
    ARENA_PUSH(&g->o->scratch, &g->manual, m);
    opt_ids_set(&g->manual_at, op.i, g->manual.n);
}

hilo_status sdy_graph_begin(struct sdy_graph *g, struct opt *o) {
    struct arena *a = &o->scratch;
    struct sdy_ops ops = {0};
    *g = (struct sdy_graph){.o = o, .m = o->m, .sdy = {.m = o->m, .a = a, .d = o->d}, .uses = {.a = a}, .at = {.a = a},
                            .rule_at = {.a = a}, .manual_at = {.a = a}};
    g->entry = IR_NONE(o->options.entry) ? ir_module_entry(o->m) : o->options.entry;
    if (IR_NONE(g->entry) || IR_NONE(ir_func_body(g->m, g->entry)))
        return ir_op_error(o->m, o->d, o->m->root, HILO_UNIMPLEMENTED, NULL,
                           "has no function @main, nor one function, from which shardings are propagated");
    const struct sdy_found found = {g, found_sharding, found_manual};
    sdy_walk(g, g->m->root, true, &ops);
    for (uint32_t i = 0; i < ops.n; i++) {
        for (uint32_t k = 0; k < ir_op_get(g->m, ops.v[i])->noperands; k++)
            use_add(g, ir_operand(g->m, ops.v[i], k), ops.v[i], k);
        HILO_TRY(sdy_read_op(&g->sdy, ops.v[i], &found));
    }
    ir_op end = ir_terminator(g->m, ir_func_body(g->m, g->entry));
    uint32_t n = ir_op_get(g->m, end)->noperands;
    g->results = ARENA_ARRAY(a, const struct sdy_sharding *, n + 1);
    return sdy_read_results(&g->sdy, g->entry, g->results);
}

/* ---- writing ----------------------------------------------------------------------------------- */

ir_attr sdy_dict_with(struct sdy_graph *g, ir_attr dict, struct str name, ir_attr value) {
    const struct ir_attr_data *d = ir_attr_get(g->m, dict);
    uint32_t had = IR_NONE(dict) ? 0 : d->n, n = 0;
    ir_str *names = ARENA_ARRAY(&g->o->scratch, ir_str, had + 1);
    ir_attr *items = ARENA_ARRAY(&g->o->scratch, ir_attr, had + 1);
    bool found = false;
    for (uint32_t i = 0; i < had; i++) {
        bool is = str_eq(ir_str_get(g->m, d->names[i]), name);
        found |= is;
        if (is && IR_NONE(value))
            continue;
        names[n] = d->names[i];
        items[n++] = is ? value : d->items[i];
    }
    if (!found && !IR_NONE(value)) {
        names[n] = ir_str_of(g->m, name);
        items[n++] = value;
    }
    return ir_attr_dict(g->m, names, items, n);
}

static void write_func(struct sdy_graph *g, ir_op op, enum ir_slot slot, const struct sdy_sharding *const *s, uint32_t n) {
    const struct ir_attr_data *d = ir_attr_get(g->m, ir_prop(g->m, op, slot));
    bool had = !IR_NONE(ir_prop(g->m, op, slot)), any = had;
    ir_attr *dicts = ARENA_ARRAY(&g->o->scratch, ir_attr, n + 1);
    for (uint32_t i = 0; i < n; i++) {
        any |= s[i] != NULL;
        dicts[i] = sdy_dict_with(g, had && i < d->n ? d->items[i] : (ir_attr){0}, sharding_name,
                                 s[i] ? sdy_sharding_attr(g->m, s[i]) : (ir_attr){0});
    }
    if (any)
        ir_set_prop(g->m, op, slot, ir_attr_array(g->m, dicts, n));
}

/* The list of the shardings of these values; none when they have none. */
static ir_attr list_of(struct sdy_graph *g, const ir_val *v, uint32_t n) {
    const struct sdy_sharding **list = ARENA_ARRAY(&g->o->scratch, const struct sdy_sharding *, n + 1);
    const struct sdy_mesh *mesh = NULL;
    for (uint32_t i = 0; i < n; i++) {
        list[i] = sdy_raw(g, v[i]);
        mesh = list[i] ? list[i]->mesh : mesh;
    }
    for (uint32_t i = 0; i < n && mesh; i++)
        if (!list[i])
            list[i] = sdy_sharding_of_none(&g->o->scratch, mesh, ir_val_type(g->m, v[i])->rank, false);
    return mesh ? sdy_shardings_attr(g->m, list, n) : (ir_attr){0};
}

static void write_op(struct sdy_graph *g, ir_op op) {
    const struct ir_op_data *x = ir_op_get(g->m, op);
    enum ir_op_kind kind = (enum ir_op_kind)x->kind;
    ir_val *results = ARENA_ARRAY(&g->o->scratch, ir_val, x->nresults + 1);
    for (uint32_t i = 0; i < x->nresults; i++)
        results[i] = ir_result(g->m, op, i);
    if (kind == IR_SDY_SHARDING_CONSTRAINT || kind == IR_SDY_RESHARD || kind == IR_SDY_DATA_FLOW_EDGE ||
        kind == IR_SDY_ALL_REDUCE || kind == IR_SDY_REDUCE_SCATTER) {
        const struct sdy_sharding *s = sdy_raw(g, results[0]);
        if (s)
            ir_set_prop(g->m, op, (enum ir_slot)ir_op_info(kind)->first_slot, sdy_sharding_attr(g->m, s));
        return;
    }
    ir_attr list = list_of(g, results, x->nresults);
    if (sdy_owns_arguments(kind)) {
        const struct ir_block_data *body = ir_block_get(g->m, ir_region_get(g->m, ir_op_region(g->m, op, 0))->first);
        bool manual = kind == IR_SDY_MANUAL_COMPUTATION;
        enum ir_slot ins = manual ? IR_SDY_MANUAL_COMPUTATION_in_shardings : IR_SDY_NAMED_COMPUTATION_in_shardings;
        enum ir_slot outs = manual ? IR_SDY_MANUAL_COMPUTATION_out_shardings : IR_SDY_NAMED_COMPUTATION_out_shardings;
        ir_attr in = list_of(g, body->args, body->nargs);
        if (!IR_NONE(in))
            ir_set_prop(g->m, op, ins, in);
        if (!IR_NONE(list))
            ir_set_prop(g->m, op, outs, list);
        return;
    }
    ir_attr had = ir_dict_find(g->m, x->attrs, sharding_name);
    if (x->nresults && !IR_SAME(had, list))
        ir_set_attrs(g->m, op, sdy_dict_with(g, x->attrs, sharding_name, list));
}

void sdy_graph_end(struct sdy_graph *g) {
    struct sdy_ops ops = {0};
    sdy_walk(g, g->m->root, false, &ops);
    for (uint32_t i = 0; i < ops.n; i++) {
        ir_block body = ir_kind(g->m, ops.v[i]) == IR_FUNC ? ir_func_body(g->m, ops.v[i]) : (ir_block){0};
        if (ir_kind(g->m, ops.v[i]) != IR_FUNC) {
            write_op(g, ops.v[i]);
        } else if (!IR_NONE(body)) {
            const struct ir_block_data *b = ir_block_get(g->m, body);
            const struct sdy_sharding **args = ARENA_ARRAY(&g->o->scratch, const struct sdy_sharding *, b->nargs + 1);
            for (uint32_t k = 0; k < b->nargs; k++)
                args[k] = sdy_raw(g, b->args[k]);
            write_func(g, ops.v[i], IR_FUNC_arg_attrs, args, b->nargs);
        }
    }
    uint32_t n = ir_op_get(g->m, ir_terminator(g->m, ir_func_body(g->m, g->entry)))->noperands;
    write_func(g, g->entry, IR_FUNC_res_attrs, g->results, n);
    g->o->changes++;
}
