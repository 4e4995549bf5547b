/* Ops of one partition (openxla/shardy, insert_explicit_reshards, convert_global_to_local); see spmd.h.
 *
 * An op's sharding rule gives it factors. Each factor gets one list of axes: operands are brought into the forms that follow,
 * the op is computed on shards, partial results are summed where they are first needed as sums. Which lists is decided by what
 * that moves: the lists that operands and results have are candidates, taken in the order of the bytes that they suit, each
 * first once; the cheapest choice is taken. What has no rule, or cannot be computed on shards, is computed in full by every
 * partition. */
#include "opt/spmd.h"

/* Iterations that take as long as moving a byte between partitions, about: decides where choices move as much. */
static const double iterations_per_byte = 8;

/* ---- the axes of factors ------------------------------------------------------------------------ */

struct candidate {
    uint32_t factor;
    struct sdy_axes axes;
    double bytes;           /* of the tensors that have them already */
};

struct choice {
    struct sdy_axes *axes;                   /* by factor */
    const struct sdy_sharding **s;           /* of operands, then results */
    double cost;
};

struct chooser {
    struct spmd *p;
    ir_op op;
    const struct sdy_rule *rule;
    const struct sdy_mesh *mesh;
    uint32_t n;                              /* tensors */
    const ir_type *types;                    /* global */
    const struct sdy_sharding **want;        /* by tensor: its sharding */
    struct sdy_axes *unreduced;              /* by tensor: what it has, and of results is left, so */
    enum ir_op_kind kind;                    /* that partial results are combined with */
    struct { struct candidate *v; uint32_t n, cap; } candidates;
};

static double bytes_of(const struct spmd *p, ir_type type) {
    const struct ir_type_data *t = ir_type_get(p->m, type);
    double bytes = ir_dtype_get(t->dtype)->bits / 8.0;
    for (uint32_t d = 0; d < t->rank; d++)
        bytes *= (double)t->dims[d];
    return bytes;
}

/* Whether two axes cannot be used at once: they are not parts of one division of an axis of the mesh. */
static bool is_exclusive(struct sdy_axis a, struct sdy_axis b) {
    return sdy_axis_overlaps(a, b) || (a.axis == b.axis && b.pre % (a.pre * a.size) && a.pre % (b.pre * b.size));
}

static bool axes_overlap(struct sdy_axes a, struct sdy_axes b) {
    for (uint32_t i = 0; i < a.n; i++)
        for (uint32_t k = 0; k < b.n; k++)
            if (is_exclusive(a.v[i], b.v[k]))
                return true;
    return false;
}

static bool axes_begin(struct sdy_axes all, struct sdy_axes prefix) {
    return prefix.n <= all.n && sdy_axes_equal((struct sdy_axes){prefix.n, all.v}, prefix);
}

/* The dimension of the values that select_and_scatter adds, which has a factor of its own that follows this one; -1: none. */
static int64_t follower(const struct chooser *c, uint32_t factor) {
    if (ir_kind(c->p->m, c->op) != IR_SELECT_AND_SCATTER || c->rule->factors[factor].type != SDY_PERMUTATION)
        return -1;
    for (uint32_t d = 0; d < c->rule->ranks[0]; d++)
        if (c->rule->dims[0][d].n == 1 && c->rule->dims[0][d].v[0] == factor)
            return d;
    return -1;
}

static void add_candidate(struct chooser *c, uint32_t factor, struct sdy_axes axes) {
    int64_t d = follower(c, factor);
    if ((c->rule->factors[factor].size % sdy_axes_size(axes) && !spmd_may_pad(c->p, c->op, c->rule, factor)) ||
        (d >= 0 && ir_type_get(c->p->m, c->types[1])->dims[d] % sdy_axes_size(axes)) ||
        !spmd_halo_fits(c->p, c->op, c->rule, factor, sdy_axes_size(axes)) ||
        !spmd_slice_fits(c->p, c->op, c->rule, factor, sdy_axes_size(axes)))
        return;
    for (uint32_t t = 0; t < c->n; t++)
        if (axes_overlap(axes, c->unreduced[t]))
            return;
    for (uint32_t i = 0; i < c->candidates.n; i++)
        if (c->candidates.v[i].factor == factor && sdy_axes_equal(c->candidates.v[i].axes, axes))
            return;
    ARENA_PUSH(c->p->a, &c->candidates, ((struct candidate){factor, axes, 0}));
}

static void find_candidates(struct chooser *c) {
    struct sdy_projection now = sdy_project(c->p->a, c->rule, c->mesh, c->want, true);
    for (uint32_t f = 0; f < c->rule->nfactors; f++) {
        if (!spmd_is_local(c->p, c->op, c->rule, f))
            continue;
        for (uint32_t t = 0; t < c->n; t++) {
            struct sdy_list l = now.tensors[t].along[f].axes;
            for (uint32_t n = l.n; n && now.tensors[t].along[f].mapped; n--)
                add_candidate(c, f, (struct sdy_axes){n, l.v});
        }
    }
    for (uint32_t i = 0; i < c->candidates.n; i++)
        for (uint32_t t = 0; t < c->n; t++) {
            const struct sdy_along *x = &now.tensors[t].along[c->candidates.v[i].factor];
            if (x->mapped && axes_begin((struct sdy_axes){x->axes.n, x->axes.v}, c->candidates.v[i].axes))
                c->candidates.v[i].bytes += bytes_of(c->p, c->types[t]);
        }
}

/* Whether two factors are of one dimension of the first operand. */
static bool share_dim(const struct sdy_rule *rule, uint32_t a, uint32_t b) {
    for (uint32_t d = 0; rule->noperands && d < rule->ranks[0]; d++) {
        uint32_t found = 0;
        for (uint32_t i = 0; i < rule->dims[0][d].n; i++)
            found += rule->dims[0][d].v[i] == a || rule->dims[0][d].v[i] == b;
        if (found > 1)
            return true;
    }
    return false;
}

/* Whether factors without axes, or with others, leave room for the candidate. A dimension of windows is divided along one
   factor. */
static bool can_take(const struct chooser *c, const struct choice *x, const struct candidate *k) {
    if (x->axes[k->factor].n)
        return false;
    for (uint32_t f = 0; f < c->rule->nfactors; f++)
        if (axes_overlap(x->axes[f], k->axes) ||
            (x->axes[f].n && share_dim(c->rule, f, k->factor) && spmd_is_halo(c->p, c->op, c->rule, f)))
            return false;
    return true;
}

/* One candidate first, then as many as there is room for, those that suit the most bytes first. */
static void take(const struct chooser *c, struct choice *x, uint32_t first) {
    if (first < c->candidates.n)
        x->axes[c->candidates.v[first].factor] = c->candidates.v[first].axes;
    for (;;) {
        const struct candidate *best = NULL;
        for (uint32_t i = 0; i < c->candidates.n; i++) {
            const struct candidate *k = &c->candidates.v[i];
            if (can_take(c, x, k) && (!best || k->bytes > best->bytes ||
                                      (k->bytes == best->bytes && k->factor == best->factor && k->axes.n > best->axes.n)))
                best = k;
        }
        if (!best)
            return;
        x->axes[best->factor] = best->axes;
    }
}

/* The axes along which each partition has a part of a sum. */
static struct sdy_axes partial(const struct chooser *c, const struct choice *x) {
    struct sdy_axis *v = ARENA_ARRAY(c->p->a, struct sdy_axis, SPMD_AXES * (c->rule->nfactors + 1));
    uint32_t n = 0;
    for (uint32_t f = 0; f < c->rule->nfactors; f++)
        for (uint32_t i = 0; c->rule->factors[f].type == SDY_REDUCTION && i < x->axes[f].n; i++)
            v[n++] = x->axes[f].v[i];
    return (struct sdy_axes){n, v};
}

/* Shardings of all tensors from the axes of factors. Axes that tensors cannot have so, because a dimension has another factor
   that is major to it and not divided wholly, are dropped. */
static void shard(struct chooser *c, struct choice *x) {
    struct arena *a = c->p->a;
    const struct sdy_sharding **none = ARENA_ARRAY(a, const struct sdy_sharding *, c->n + 1);
    for (bool sound = false; !sound;) {
        struct sdy_projection to = sdy_project(a, c->rule, c->mesh, none, true);
        for (uint32_t t = 0; t < c->n; t++)
            for (uint32_t f = 0; f < c->rule->nfactors; f++)
                for (uint32_t i = 0; to.tensors[t].along[f].mapped && i < x->axes[f].n; i++) {
                    struct sdy_list *l = &to.tensors[t].along[f].axes;
                    l->v[l->n++] = x->axes[f].v[i];
                }
        for (uint32_t f = 0; f < c->rule->nfactors; f++) {
            int64_t d = follower(c, f);
            struct sdy_list *l = d < 0 ? NULL : &to.tensors[1].along[c->rule->dims[1][d].v[0]].axes;
            for (uint32_t i = 0; l && i < x->axes[f].n; i++)
                l->v[l->n++] = x->axes[f].v[i];
        }
        for (uint32_t t = 0; t < c->n; t++)
            x->s[t] = sdy_unproject(&to, t);
        struct sdy_projection back = sdy_project(a, c->rule, c->mesh, x->s, true);
        sound = true;
        for (uint32_t t = 0; t < c->n && sound; t++)
            for (uint32_t f = 0; f < c->rule->nfactors && sound; f++) {
                const struct sdy_along *l = &back.tensors[t].along[f];
                sound = !l->mapped || (t == 1 && c->rule->factors[f].type == SDY_NEED_REPLICATION) ||
                        sdy_axes_equal((struct sdy_axes){l->axes.n, l->axes.v}, x->axes[f]);
                if (!sound)
                    x->axes[f].n = 0;
            }
    }
    struct sdy_axes sums = partial(c, x);
    for (uint32_t t = 0; t < c->n; t++) {
        struct sdy_axes axes = c->unreduced[t];
        if (t >= c->rule->noperands && sums.n) {
            struct sdy_axis *v = sdy_axes_copy(a, axes, sums.n);
            memcpy(v + axes.n, sums.v, sums.n * sizeof *v);
            axes = (struct sdy_axes){axes.n + sums.n, v};
        }
        x->s[t] = spmd_partial(c->p, x->s[t], c->mesh, c->rule->ranks[t], axes);
    }
}

static void count_cost(struct chooser *c, struct choice *x) {
    double iterations = 1;
    x->cost = 0;
    for (uint32_t t = 0; t < c->n; t++) {
        if (t < c->rule->noperands)
            x->cost += spmd_cost(c->p, ir_operand(c->p->m, c->op, t), x->s[t]);
        else
            x->cost += spmd_reshard_cost(c->p, c->types[t], x->s[t], c->kind, c->want[t]);
    }
    x->cost += spmd_halo_cost(c->p, c->op, c->types, x->s);
    for (uint32_t f = 0; f < c->rule->nfactors; f++)
        iterations *= (double)c->rule->factors[f].size / (double)sdy_axes_size(x->axes[f]);
    x->cost += iterations / iterations_per_byte;
}

static bool is_as_wanted(const struct chooser *c, const struct choice *x) {
    for (uint32_t t = 0; t < c->n; t++)
        if (!spmd_equal(x->s[t], c->want[t]))
            return false;
    return true;
}

static struct choice choice_new(const struct chooser *c) {
    return (struct choice){.axes = ARENA_ARRAY(c->p->a, struct sdy_axes, c->rule->nfactors + 1),
                           .s = ARENA_ARRAY(c->p->a, const struct sdy_sharding *, c->n + 1)};
}

static struct choice choose(struct chooser *c) {
    find_candidates(c);
    struct choice best = choice_new(c);
    take(c, &best, c->candidates.n);
    shard(c, &best);
    if (is_as_wanted(c, &best))
        return best;
    count_cost(c, &best);
    for (uint32_t i = 0; i <= c->candidates.n; i++) {
        struct choice x = choice_new(c);
        if (i < c->candidates.n)
            take(c, &x, i);
        shard(c, &x);
        count_cost(c, &x);
        if (x.cost < best.cost)
            best = x;
    }
    return best;
}

/* ---- ops ---------------------------------------------------------------------------------------- */

static const struct sdy_sharding *wanted(struct spmd *p, ir_val v) {
    return spmd_parts(p, sdy_raw(p->g, v), ir_type_get(p->m, spmd_global_type(p, v)));
}

/* Inside of a manual computation axes of another mesh would divide a value among partitions that see different ones. */
static hilo_status check_sharding(struct spmd *p, ir_op op, const struct sdy_sharding *s) {
    if (s && p->manual && !sdy_sharding_is_empty(s) && !sdy_mesh_equal(s->mesh, p->manual))
        return ir_op_error(p->m, p->o->d, op, HILO_UNIMPLEMENTED, NULL,
                           "has a sharding over another mesh than the manual computation around it, which is not supported");
    return s ? spmd_check_mesh(p, op, s->mesh) : HILO_OK;
}

static hilo_status walk_regions(struct spmd *p, ir_op op) {
    for (uint32_t i = 0; i < ir_op_get(p->m, op)->nregions; i++)
        for (ir_block b = ir_region_get(p->m, ir_op_region(p->m, op, i))->first; !IR_NONE(b); b = ir_block_get(p->m, b)->next)
            HILO_TRY(spmd_walk(p, b, true));
    return HILO_OK;
}

static void set_operands(struct spmd *p, ir_op op, const struct sdy_sharding *const *s) {
    for (uint32_t i = 0; i < ir_op_get(p->m, op)->noperands; i++) {
        ir_val v = spmd_get(p, ir_operand(p->m, op, i), s ? s[i] : NULL);
        if (!IR_SAME(v, ir_operand(p->m, op, i)))
            ir_set_operand(p->m, op, i, v);
    }
}

/* Whether partitions compute different values. */
static bool is_own(struct spmd *p, ir_op op) {
    enum ir_op_kind kind = ir_kind(p->m, op);
    bool own = kind == (p->by_replica ? IR_REPLICA_ID : IR_PARTITION_ID);
    for (uint32_t i = 0; i < ir_op_get(p->m, op)->noperands && !own; i++)
        own = opt_ids_get(&p->own, ir_operand(p->m, op, i).i) != 0;
    for (uint32_t i = 0; i < ir_op_get(p->m, op)->nresults && own; i++)
        opt_ids_set(&p->own, ir_result(p->m, op, i).i, 1);
    return own;
}

static bool is_on_one(const struct spmd *p, ir_op op) {
    for (uint32_t i = 0; i < ir_op_get(p->m, op)->nresults; i++) {
        const struct sdy_sharding *s = sdy_raw(p->g, ir_result(p->m, op, i));
        if (s && sdy_mesh_maximal(s->mesh))
            return true;
    }
    return false;
}

/* Computed in full. A result on one partition alone is what that computes, where partitions compute different ones (`own`). */
static hilo_status replicate(struct spmd *p, ir_op op, bool own) {
    set_operands(p, op, NULL);
    HILO_TRY(walk_regions(p, op));
    ir_op at = ir_op_get(p->m, op)->next;
    for (uint32_t i = 0; i < ir_op_get(p->m, op)->nresults; i++) {
        ir_val v = ir_result(p->m, op, i), made = v;
        const struct sdy_sharding *s = sdy_raw(p->g, v);
        if (own && s && sdy_mesh_maximal(s->mesh) && s->mesh->devices[0] >= 0 && s->mesh->devices[0] < p->partitions &&
            ir_type_is_shaped(ir_val_type(p->m, v)))
            made = spmd_make_broadcast(p, at, v, (uint32_t)s->mesh->devices[0]);
        spmd_define(p, v, ir_val_get(p->m, v)->type, wanted(p, v), NULL, IR_ADD, made);
    }
    return HILO_OK;
}

/* Computed on shards; results with unreduced axes are parts of what is combined by `kind`. Global types of all tensors. */
static hilo_status localize(struct spmd *p, ir_op op, const struct sdy_rule *rule, const ir_type *types,
                            const struct sdy_sharding *const *s, enum ir_op_kind kind) {
    uint32_t nin = ir_op_get(p->m, op)->noperands;
    set_operands(p, op, s);
    spmd_mask(p, op, rule, s);
    spmd_localize(p, op, types, s);
    spmd_halo(p, op, types, s);
    HILO_TRY(walk_regions(p, op));
    ir_op at = ir_op_get(p->m, op)->next;
    for (uint32_t i = 0; i < ir_op_get(p->m, op)->nresults; i++) {
        ir_val v = ir_result(p->m, op, i), local;
        ir_type global = ir_val_get(p->m, v)->type;
        const struct sdy_sharding *want = wanted(p, v); /* by its type before */
        ir_set_type(p->m, v, spmd_local_type(p, global, s[nin + i]));
        local = spmd_finish(p, op, types, s, i, at);
        spmd_define(p, v, global, want, s[nin + i], kind, local);
    }
    p->o->changes++;
    return HILO_OK;
}

/* An op without operands whose elements each partition can make. */
static bool is_generated(const struct spmd *p, ir_op op) {
    enum ir_op_kind kind = ir_kind(p->m, op);
    if (kind == IR_CONSTANT || kind == IR_SDY_CONSTANT)
        return ir_attr_get(p->m, ir_constant_value(p->m, op))->splat;
    return kind == IR_IOTA;
}

static bool overlap_in_dims(const struct sdy_sharding *s, struct sdy_axes axes) {
    for (uint32_t d = 0; s && d < s->rank; d++)
        if (axes_overlap(s->dims[d].axes, axes))
            return true;
    return false;
}

/* Of a set of operands: those from the 32nd are in the set of all alone. */
static uint32_t operand_bit(uint32_t set, uint32_t operand) {
    return operand < 32 ? set & (UINT32_C(1) << operand) : set == UINT32_MAX;
}

/* Axes along which the op is done for each part of a sum: those of operands that results keep. In a product one operand alone
   has parts; where operands are added, all of them get parts. */
static void find_unreduced(struct chooser *c) {
    uint32_t nin = c->rule->noperands;
    bool product;
    uint32_t linear = spmd_linear(c->p, c->op, &product);
    c->unreduced = ARENA_ARRAY(c->p->a, struct sdy_axes, c->n + 1);
    struct sdy_axes kept = c->n == nin + 1 && c->want[nin] ? c->want[nin]->unreduced : (struct sdy_axes){0, NULL};
    for (uint32_t i = 0; i < kept.n; i++) {
        uint32_t have = 0;
        bool free = !overlap_in_dims(c->want[nin], (struct sdy_axes){1, &kept.v[i]});
        for (uint32_t t = 0; t < nin; t++)
            for (uint32_t k = 0; c->want[t] && k < c->want[t]->unreduced.n; k++)
                have |= sdy_axis_equal(kept.v[i], c->want[t]->unreduced.v[k]) ? operand_bit(linear, t) : 0;
        if (!have || !free || (product && (have & (have - 1))))
            continue;
        for (uint32_t t = 0; t < c->n; t++)
            if (t >= nin || operand_bit(product ? have : linear, t)) {
                struct sdy_axis *v = sdy_axes_copy(c->p->a, c->unreduced[t], 1);
                v[c->unreduced[t].n] = kept.v[i];
                c->unreduced[t] = (struct sdy_axes){c->unreduced[t].n + 1, v};
            }
    }
}

/* Without the axes that it is unreduced along. */
static const struct sdy_sharding *reduced(struct spmd *p, const struct sdy_sharding *s) {
    return s ? spmd_partial(p, s, s->mesh, s->rank, (struct sdy_axes){0, NULL}) : NULL;
}

static hilo_status walk_any(struct spmd *p, ir_op op) {
    const struct ir_op_data *x = ir_op_get(p->m, op);
    const struct sdy_rule *rule = spmd_rule(p, op);
    uint32_t nin = x->noperands, n = nin + x->nresults;
    struct chooser c = {.p = p, .op = op, .rule = rule, .n = n, .kind = spmd_combiner(p, op)};
    c.kind = c.kind == IR_OP_NONE ? IR_ADD : c.kind;
    c.want = ARENA_ARRAY(p->a, const struct sdy_sharding *, n + 1);
    ir_type *types = ARENA_ARRAY(p->a, ir_type, n + 1);
    for (uint32_t t = 0; t < n; t++) {
        ir_val v = t < nin ? ir_operand(p->m, op, t) : ir_result(p->m, op, t - nin);
        types[t] = spmd_global_type(p, v);
        if (t >= nin)
            HILO_TRY(check_sharding(p, op, sdy_raw(p->g, v)));
        c.want[t] = t < nin ? spmd_sharding(p, v) : wanted(p, v);
        c.mesh = c.mesh ? c.mesh : c.want[t] ? c.want[t]->mesh : NULL;
    }
    c.types = types;
    if (is_own(p, op) && is_on_one(p, op))
        return replicate(p, op, true);
    if (c.mesh && is_generated(p, op)) {
        c.want[0] = reduced(p, c.want[0]);
        return localize(p, op, rule, types, c.want, IR_ADD);
    }
    if (!c.mesh || !rule || rule->noperands != nin || rule->nresults != n - nin)
        return replicate(p, op, false);
    for (uint32_t t = 0; t < n; t++)
        if (c.want[t] && !sdy_mesh_equal(c.want[t]->mesh, c.mesh))
            c.want[t] = NULL;
    find_unreduced(&c);
    struct choice best = choose(&c);
    bool any = false;
    for (uint32_t t = 0; t < n; t++)
        any |= best.s[t] != NULL;
    return any ? localize(p, op, rule, types, best.s, c.kind) : replicate(p, op, false);
}

/* A concatenate of the end and the beginning of one value. Where the dimension is not divided, each partition does it alone. */
static hilo_status walk_rotation(struct spmd *p, ir_op op, int64_t by) {
    ir_val result = ir_result(p->m, op, 0);
    ir_type global = ir_val_get(p->m, result)->type;
    uint32_t dim = (uint32_t)ir_prop_i64(p->m, op, IR_CONCATENATE_dimension);
    HILO_TRY(check_sharding(p, op, sdy_raw(p->g, result)));
    const struct sdy_sharding *s = spmd_even(p, sdy_raw(p->g, result), ir_type_get(p->m, global));
    ir_val v = spmd_get(p, ir_operand(p->m, op, 0), s), made;
    if (s && s->dims[dim].axes.n) {
        made = spmd_rotate(p, op, v, s, dim, by);
    } else {
        int64_t size = ir_val_type(p->m, v)->dims[dim];
        ir_op join;
        ir_val in[2] = {spmd_make_slice(p, op, v, dim, by, size), spmd_make_slice(p, op, v, dim, 0, by)};
        made = spmd_make(p, op, IR_CONCATENATE, in, 2, spmd_local_type(p, global, s), &join);
        ir_set_prop(p->m, join, IR_CONCATENATE_dimension, ir_attr_i64(p->m, dim));
    }
    spmd_define(p, result, global, s, s, IR_ADD, made);
    ir_unlink(p->m, op);
    p->o->changes++;
    return HILO_OK;
}

/* Whether operands of a concatenate are divided along its dimension, as is its result. */
static bool joins_parts(struct spmd *p, ir_op op) {
    uint32_t dim = (uint32_t)ir_prop_i64(p->m, op, IR_CONCATENATE_dimension);
    const struct sdy_sharding *s = wanted(p, ir_result(p->m, op, 0));
    const struct ir_type_data *t = ir_val_type(p->m, ir_result(p->m, op, 0));
    bool divided = false, partial = s && s->unreduced.n;
    for (uint32_t i = 0; i < ir_op_get(p->m, op)->noperands; i++) {
        const struct sdy_sharding *in = spmd_sharding(p, ir_operand(p->m, op, i));
        divided |= in && in->dims[dim].axes.n;
        partial |= in && in->unreduced.n;
    }
    return divided && !partial && s && s->dims[dim].axes.n && t->dims[dim] <= INT32_MAX;
}

/* Walks an op that is new, whose result is divided like that of another. */
static hilo_status walk_new(struct spmd *p, ir_op op, const struct sdy_sharding *s, ir_val *out) {
    *out = ir_result(p->m, op, 0);
    sdy_set_raw(p->g, *out, s);
    p->at = op;
    return walk_any(p, op);
}

/* A concatenate along a divided dimension: its operands are padded to all of it, for which partitions exchange what their parts
 * need, and each element is selected from the operand that has it. */
static hilo_status walk_joined(struct spmd *p, ir_op op) {
    struct ir_module *m = p->m;
    ir_val result = ir_result(m, op, 0), places, out = {0};
    ir_type type = ir_val_get(m, result)->type;
    const struct ir_type_data *t = ir_type_get(m, type);
    const struct sdy_sharding *s = sdy_raw(p->g, result);
    uint32_t dim = (uint32_t)ir_prop_i64(m, op, IR_CONCATENATE_dimension);
    ir_type numbers = ir_type_of(m, IR_I32_T, t->dims, t->rank), flags = ir_type_of(m, IR_I1_T, t->dims, t->rank);
    ir_attr none = ir_attr_i64s(m, NULL, 0), less = ir_attr_enum(m, IR_ENUM_COMPARISON_DIRECTION, IR_COMPARISON_DIRECTION_LT);
    ir_op made;
    HILO_TRY(check_sharding(p, op, s));
    (void)spmd_make(p, op, IR_IOTA, NULL, 0, numbers, &made);
    ir_set_prop(m, made, IR_IOTA_iota_dimension, ir_attr_i64(m, dim));
    HILO_TRY(walk_new(p, made, s, &places));
    int64_t from = 0;
    for (uint32_t i = 0; i < ir_op_get(m, op)->noperands; i++) {
        ir_val v = ir_operand(m, op, i), begin, before, padded;
        int64_t to = from + ir_type_get(m, spmd_global_type(p, v))->dims[dim];
        (void)spmd_make_pad(p, op, v, dim, from, t->dims[dim] - to, type, &made);
        HILO_TRY(walk_new(p, made, s, &padded));
        if (i) {
            begin = spmd_make_table(p, op, &(int32_t){(int32_t)from}, 1, 0);
            (void)spmd_make(p, op, IR_BROADCAST_IN_DIM, &begin, 1, numbers, &made);
            ir_set_prop(m, made, IR_BROADCAST_IN_DIM_broadcast_dimensions, none);
            HILO_TRY(walk_new(p, made, s, &begin));
            (void)spmd_make(p, op, IR_COMPARE, (ir_val[]){places, begin}, 2, flags, &made);
            ir_set_prop(m, made, IR_COMPARE_comparison_direction, less);
            HILO_TRY(walk_new(p, made, s, &before));
            (void)spmd_make(p, op, IR_SELECT, (ir_val[]){before, out, padded}, 3, type, &made);
            HILO_TRY(walk_new(p, made, s, &padded));
        }
        out = padded;
        from = to;
    }
    opt_ids_set(&p->of, result.i, opt_ids_get(&p->of, out.i));
    opt_ids_set(&p->own, result.i, opt_ids_get(&p->own, out.i));
    ir_unlink(m, op);
    p->o->changes++;
    return HILO_OK;
}

/* ---- control flow ------------------------------------------------------------------------------- */

/* The values of a terminator in the forms of what they become. */
static void give(struct spmd *p, ir_block b, const struct sdy_sharding *const *s) {
    p->at = ir_terminator(p->m, b);
    set_operands(p, p->at, s);
}

/* Gives a value, a result or an argument, the type of its shard. */
static void become_local(struct spmd *p, ir_val v, const struct sdy_sharding *s) {
    ir_type global = ir_val_get(p->m, v)->type;
    ir_set_type(p->m, v, spmd_local_type(p, global, s));
    spmd_define(p, v, global, s, s, IR_ADD, v);
}

static hilo_status results_become_local(struct spmd *p, ir_op op, const struct sdy_sharding *const *s) {
    for (uint32_t i = 0; i < ir_op_get(p->m, op)->nresults; i++)
        become_local(p, ir_result(p->m, op, i), s[i]);
    return HILO_OK;
}

static hilo_status result_shardings(struct spmd *p, ir_op op, const struct sdy_sharding ***out) {
    uint32_t n = ir_op_get(p->m, op)->nresults;
    *out = ARENA_ARRAY(p->a, const struct sdy_sharding *, n + 1);
    for (uint32_t i = 0; i < n; i++) {
        HILO_TRY(check_sharding(p, op, sdy_raw(p->g, ir_result(p->m, op, i))));
        (*out)[i] = wanted(p, ir_result(p->m, op, i));
    }
    return HILO_OK;
}

/* Operands, arguments, what the body gives, and results are sharded alike. */
static hilo_status walk_while(struct spmd *p, ir_op op) {
    const struct sdy_sharding **s;
    uint32_t n = ir_op_get(p->m, op)->nresults;
    HILO_TRY(result_shardings(p, op, &s));
    set_operands(p, op, s);
    for (uint32_t r = 0; r < 2; r++) {
        ir_block b = ir_region_get(p->m, ir_op_region(p->m, op, r))->first;
        for (uint32_t i = 0; i < n; i++)
            become_local(p, ir_block_get(p->m, b)->args[i], s[i]);
        HILO_TRY(spmd_walk(p, b, r == 0));
        if (r == 1)
            give(p, b, s);
    }
    return results_become_local(p, op, s);
}

static hilo_status walk_branches(struct spmd *p, ir_op op) {
    const struct sdy_sharding **s;
    HILO_TRY(result_shardings(p, op, &s));
    set_operands(p, op, NULL);
    for (uint32_t r = 0; r < ir_op_get(p->m, op)->nregions; r++) {
        ir_block b = ir_region_get(p->m, ir_op_region(p->m, op, r))->first;
        if (IR_NONE(b))
            continue;
        HILO_TRY(spmd_walk(p, b, false));
        give(p, b, s);
    }
    return results_become_local(p, op, s);
}

static hilo_status walk_barrier(struct spmd *p, ir_op op) {
    const struct sdy_sharding **s;
    HILO_TRY(result_shardings(p, op, &s));
    set_operands(p, op, s);
    return results_become_local(p, op, s);
}

/* ---- shardings that are given ------------------------------------------------------------------- */

static hilo_status walk_reshard(struct spmd *p, ir_op op) {
    ir_val from = ir_operand(p->m, op, 0), to = ir_result(p->m, op, 0);
    HILO_TRY(check_sharding(p, op, sdy_raw(p->g, to)));
    const struct sdy_sharding *s = wanted(p, to);
    spmd_define(p, to, ir_val_get(p->m, to)->type, s, s, IR_ADD, spmd_get(p, from, s));
    ir_unlink(p->m, op);
    p->o->changes++;
    return HILO_OK;
}

/* Partitions hold values that are combined along the axes: those of the operand, along axes that it is not a sum of itself. */
static hilo_status walk_reduced(struct spmd *p, ir_op op) {
    static const enum ir_op_kind kinds[] = {IR_ADD, IR_MAXIMUM, IR_MINIMUM};
    ir_val from = ir_operand(p->m, op, 0), to = ir_result(p->m, op, 0);
    ir_attr kind = ir_prop(p->m, op, ir_kind(p->m, op) == IR_SDY_ALL_REDUCE ? IR_SDY_ALL_REDUCE_reduction_op
                                                                            : IR_SDY_REDUCE_SCATTER_reduction_op);
    const struct sdy_sharding *raw = sdy_raw(p->g, to);
    struct sdy_axes axes = p->sums.v[opt_ids_get(&p->reduced, op.i) - 1];
    ir_type type = spmd_global_type(p, from);
    int64_t by = 0;
    if (!IR_NONE(kind) && (!ir_attr_as_i64(p->m, kind, &by) || by < 0 || by > 2))
        return ir_op_error(p->m, p->o->d, op, HILO_INVALID_ARGUMENT, NULL, "has no such reduction_op");
    HILO_TRY(check_sharding(p, op, raw));
    const struct sdy_sharding *s = wanted(p, to), *held = s;
    if (s && axes.n) {
        struct sdy_dim *dims;
        struct sdy_sharding *copy = sdy_sharding_copy(p->a, s, &dims);
        for (uint32_t d = 0; d < s->rank; d++) {
            struct sdy_axis *v = ARENA_ARRAY(p->a, struct sdy_axis, 2 * (dims[d].axes.n + axes.n) + 1);
            dims[d].axes = (struct sdy_axes){sdy_axes_minus(s->mesh, dims[d].axes, axes, v), v};
        }
        held = sdy_sharding_is_empty(copy) ? NULL : copy;
    }
    ir_val v = spmd_get(p, from, held);
    if (axes.n) {
        struct sdy_axes had = held ? held->unreduced : (struct sdy_axes){0, NULL};
        struct sdy_axis *all = sdy_axes_copy(p->a, had, axes.n);
        memcpy(all + had.n, axes.v, axes.n * sizeof *all);
        held = spmd_partial(p, held, raw->mesh, raw->rank, (struct sdy_axes){had.n + axes.n, all});
    }
    spmd_define(p, to, type, s, held, kinds[by], v);
    ir_unlink(p->m, op);
    p->o->changes++;
    return HILO_OK;
}

/* Partitions of one number see the same values inside: those that did outside, and are at one place along the manual axes. */
static const int32_t *inner_group(struct spmd *p, const struct sdy_mesh *mesh, const struct sdy_manual *manual) {
    int32_t *group = ARENA_ARRAY(p->a, int32_t, p->partitions);
    struct sdy_axis *v = ARENA_ARRAY(p->a, struct sdy_axis, (mesh ? mesh->naxes : 0) + 1);
    uint32_t n = 0;
    for (uint32_t i = 0; mesh && i < mesh->naxes; i++)
        for (uint32_t k = 0; k < manual->n; k++)
            if (str_eq(mesh->axes[i].name, manual->names[k]) && mesh->axes[i].size > 1)
                v[n++] = sdy_axis_whole(mesh, i);
    const int32_t *at = spmd_held(p, mesh, (struct sdy_axes){n, v});
    for (uint32_t i = 0; i < p->partitions; i++) {
        group[i] = (int32_t)i;
        for (uint32_t k = 0; k < i && group[i] == (int32_t)i; k++)
            if (at[k] == at[i] && p->group[k] == p->group[i])
                group[i] = (int32_t)k;
    }
    return group;
}

/* A sharding of what is the same value as another, with that one's unreduced axes. */
static const struct sdy_sharding *unreduced_as(struct spmd *p, const struct sdy_sharding *s, const struct sdy_sharding *other) {
    if (!other || (s && (s->unreduced.n || !sdy_mesh_equal(s->mesh, other->mesh))) || overlap_in_dims(s, other->unreduced))
        return s;
    return spmd_partial(p, s, other->mesh, other->rank, other->unreduced);
}

/* The body takes and gives what partitions along the manual axes have, itself sharded along the others. */
static hilo_status walk_manual(struct spmd *p, ir_op op) {
    static const struct sdy_manual no_axes = {NULL, 0};
    bool is_manual = ir_kind(p->m, op) == IR_SDY_MANUAL_COMPUTATION;
    const struct sdy_manual *manual = is_manual ? sdy_manual_axes(p->g, op) : &no_axes;
    ir_block body = ir_region_get(p->m, ir_op_region(p->m, op, 0))->first;
    uint32_t nin = ir_op_get(p->m, op)->noperands, nout = ir_op_get(p->m, op)->nresults;
    const struct sdy_mesh *mesh = NULL;
    const int32_t *outer = p->group;
    const struct sdy_mesh *outer_mesh = p->manual;
    if (IR_NONE(body) || ir_block_get(p->m, body)->nargs != nin ||
        ir_op_get(p->m, ir_terminator(p->m, body))->noperands != nout)
        return ir_op_error(p->m, p->o->d, op, HILO_INVALID_ARGUMENT, NULL,
                           "has a body of other arguments or results than its own");
    for (uint32_t i = 0; i < nin; i++) {
        ir_val arg = ir_block_get(p->m, body)->args[i], from = ir_operand(p->m, op, i);
        const struct sdy_sharding *raw = sdy_raw(p->g, arg);
        HILO_TRY(check_sharding(p, op, raw));
        const struct sdy_sharding *s = spmd_even(p, raw, ir_type_get(p->m, spmd_global_type(p, from)));
        s = is_manual ? s : unreduced_as(p, s, spmd_sharding(p, from));
        const struct sdy_sharding *inner = s ? sdy_without_manual(p->g, s, manual) : NULL;
        ir_val v = spmd_get(p, from, s);
        inner = inner && sdy_sharding_is_empty(inner) ? NULL : inner;
        mesh = mesh ? mesh : raw ? raw->mesh : NULL;
        if (!IR_SAME(ir_val_get(p->m, v)->type, spmd_local_type(p, ir_val_get(p->m, arg)->type, inner)))
            return ir_op_error(p->m, p->o->d, op, HILO_INVALID_ARGUMENT, NULL,
                               "has argument %u of another type than its shard", (unsigned)i);
        spmd_define(p, arg, ir_val_get(p->m, arg)->type, inner, inner, IR_ADD, v);
    }
    for (uint32_t i = 0; i < nout && !mesh; i++)
        mesh = sdy_raw(p->g, ir_result(p->m, op, i)) ? sdy_raw(p->g, ir_result(p->m, op, i))->mesh : NULL;
    if (mesh)
        HILO_TRY(spmd_check_mesh(p, op, mesh));
    p->group = inner_group(p, mesh, manual);
    p->manual = mesh && manual->n ? mesh : outer_mesh;
    HILO_TRY(spmd_walk(p, body, false));
    for (uint32_t i = 0; i < nout; i++) {
        ir_op end = ir_terminator(p->m, body);
        ir_val result = ir_result(p->m, op, i);
        ir_type global = ir_val_get(p->m, result)->type;
        const struct sdy_sharding *raw = sdy_raw(p->g, result);
        HILO_TRY(check_sharding(p, op, raw));
        const struct sdy_sharding *s = spmd_even(p, raw, ir_type_get(p->m, global));
        s = is_manual ? s : unreduced_as(p, s, spmd_sharding(p, ir_operand(p->m, end, i)));
        const struct sdy_sharding *inner = s ? sdy_without_manual(p->g, s, manual) : NULL;
        inner = inner && sdy_sharding_is_empty(inner) ? NULL : inner;
        p->at = end;
        ir_val v = spmd_get(p, ir_operand(p->m, end, i), inner);
        if (!IR_SAME(ir_val_get(p->m, v)->type, spmd_local_type(p, global, s)))
            return ir_op_error(p->m, p->o->d, op, HILO_INVALID_ARGUMENT, NULL,
                               "has result %u of another type than its shard", (unsigned)i);
        spmd_define(p, result, global, s, s, IR_ADD, v);
    }
    p->group = outer;
    p->manual = outer_mesh;
    opt_splice(p->o, body, op);
    ir_unlink(p->m, op);
    p->o->changes++;
    return HILO_OK;
}

/* ---- custom calls that not all partitions make ---------------------------------------------------- */

/* The partition that makes the call, by a sharding on one device; -1: all of them do. Before the attribute is dropped. */
static hilo_status find_caller(struct spmd *p, ir_op op, int64_t *caller) {
    uint32_t n = ir_op_get(p->m, op)->nresults;
    *caller = -1;
    if (ir_kind(p->m, op) != IR_CUSTOM_CALL || p->partitions == 1 || p->manual)
        return HILO_OK;
    for (uint32_t i = 0; i < n; i++) {
        const struct ir_type_data *t = ir_val_type(p->m, ir_result(p->m, op, i));
        if (t->kind != IR_TYPE_TOKEN && (t->kind != IR_TYPE_TENSOR || t->quant || !ir_type_is_static(t)))
            return HILO_OK;
    }
    ir_attr given = ir_dict_find(p->m, ir_op_get(p->m, op)->attrs, STR("sdy.sharding"));
    const struct sdy_sharding *s = NULL;
    if (!n && !IR_NONE(given)) /* of a call without results, which has one */
        HILO_TRY(sdy_read_shardings(&p->g->sdy, op, given, NULL, 1, &s));
    for (uint32_t i = 0; i < n && !(s && sdy_mesh_maximal(s->mesh)); i++)
        s = sdy_raw(p->g, ir_result(p->m, op, i));
    if (s && sdy_mesh_maximal(s->mesh) && s->mesh->devices[0] >= 0 && s->mesh->devices[0] < p->partitions)
        *caller = s->mesh->devices[0];
    return HILO_OK;
}

/* One partition calls with all of the operands, and the others get the results. */
static hilo_status walk_call_of_one(struct spmd *p, ir_op op, uint32_t caller) {
    struct ir_module *m = p->m;
    uint32_t n = ir_op_get(m, op)->nresults, id = caller;
    ir_val *results = ARENA_ARRAY(p->a, ir_val, n + 1), *others = ARENA_ARRAY(p->a, ir_val, n + 1);
    ir_type *types = ARENA_ARRAY(p->a, ir_type, n + 1), number = ir_type_of(m, IR_UI32_T, NULL, 0);
    ir_op constant, compare;
    set_operands(p, op, NULL);
    ir_val in[2] = {spmd_make_id(p, op), spmd_make(p, op, IR_CONSTANT, NULL, 0, number, &constant)};
    ir_set_prop(m, constant, IR_CONSTANT_value, ir_attr_dense(m, number, &id, sizeof id, true, false));
    ir_val self = spmd_make(p, op, IR_COMPARE, in, 2, ir_type_of(m, IR_I1_T, NULL, 0), &compare);
    ir_set_prop(m, compare, IR_COMPARE_comparison_direction,
                ir_attr_enum(m, IR_ENUM_COMPARISON_DIRECTION, IR_COMPARISON_DIRECTION_EQ));
    for (uint32_t i = 0; i < n; i++) {
        results[i] = ir_result(m, op, i);
        types[i] = ir_val_get(m, results[i])->type;
        others[i] = ir_val_type(m, results[i])->kind == IR_TYPE_TOKEN
                        ? spmd_make(p, op, IR_CREATE_TOKEN, NULL, 0, types[i], NULL)
                        : spmd_make_zero(p, op, types[i]);
    }
    ir_op branch = ir_op_new(m, IR_IF, &self, 1, types, n, 2), at = ir_op_get(m, op)->next;
    ir_set_loc(m, branch, ir_op_get(m, op)->loc, ir_op_get(m, op)->line, ir_op_get(m, op)->col);
    ir_insert_before(m, op, branch);
    ir_unlink(m, op);
    for (uint32_t r = 0; r < 2; r++) {
        ir_block b = ir_block_new(m, ir_op_region(m, branch, r));
        if (r == 0)
            ir_append(m, b, op);
        ir_append(m, b, ir_op_new(m, IR_RETURN, r ? others : results, n, NULL, 0, 0));
    }
    for (uint32_t i = 0; i < n; i++) {
        ir_val v = ir_result(m, branch, i);
        if (ir_val_type(m, v)->kind == IR_TYPE_TENSOR)
            v = spmd_make_broadcast(p, at, v, caller);
        spmd_define(p, results[i], types[i], wanted(p, results[i]), NULL, IR_ADD, v);
    }
    p->o->changes++;
    return HILO_OK;
}

/* Each partition calls with its shards; results are tokens. */
static hilo_status walk_call_on_shards(struct spmd *p, ir_op op) {
    const struct ir_op_data *x = ir_op_get(p->m, op);
    const struct sdy_sharding **s = ARENA_ARRAY(p->a, const struct sdy_sharding *, x->noperands + 1);
    for (uint32_t i = 0; i < x->noperands; i++) { /* without padding */
        const struct ir_type_data *t = ir_type_get(p->m, spmd_global_type(p, x->operands[i]));
        s[i] = reduced(p, spmd_even(p, spmd_sharding(p, x->operands[i]), t));
    }
    for (uint32_t i = 0; i < x->nresults; i++)
        if (ir_val_type(p->m, ir_result(p->m, op, i))->kind != IR_TYPE_TOKEN)
            return ir_op_error(p->m, p->o->d, op, HILO_UNIMPLEMENTED, NULL,
                               "is called on shards, and has results, which is not supported");
    set_operands(p, op, s);
    p->o->changes++;
    return HILO_OK;
}

/* ---- all ---------------------------------------------------------------------------------------- */

/* Without the attributes that shardings are given by. */
static void drop_attrs(struct spmd *p, ir_op op) {
    ir_attr attrs = ir_op_get(p->m, op)->attrs;
    static const struct str names[] = {{"sdy.sharding", 12}, {"sdy.sharding_rule", 17}, {"hilo.on_shards", 14}};
    for (size_t i = 0; i < sizeof names / sizeof *names && !IR_NONE(attrs); i++)
        if (!IR_NONE(ir_dict_find(p->m, attrs, names[i])))
            ir_set_attrs(p->m, op, attrs = sdy_dict_with(p->g, attrs, names[i], (ir_attr){0}));
}

/* Such a body is one op, with nothing beside it. */
static bool is_in_async(const struct spmd *p, ir_op op) {
    ir_region r = ir_block_get(p->m, ir_op_get(p->m, op)->parent)->parent;
    return ir_kind(p->m, ir_region_get(p->m, r)->parent) == IR_ASYNC_START;
}

static hilo_status walk_op(struct spmd *p, ir_op op) {
    int64_t caller;
    bool on_shards = !IR_NONE(ir_dict_find(p->m, ir_op_get(p->m, op)->attrs, STR("hilo.on_shards")));
    p->at = op;
    HILO_TRY(find_caller(p, op, &caller));
    drop_attrs(p, op);
    if (is_in_async(p, op))
        return replicate(p, op, false);
    switch (ir_kind(p->m, op)) {
    case IR_SDY_MANUAL_COMPUTATION:
    case IR_SDY_NAMED_COMPUTATION: return walk_manual(p, op);
    case IR_SDY_RESHARD:
    case IR_SDY_SHARDING_CONSTRAINT:
    case IR_SDY_PROPAGATION_BARRIER: return walk_reshard(p, op);
    case IR_SDY_ALL_REDUCE:
    case IR_SDY_REDUCE_SCATTER: return walk_reduced(p, op);
    case IR_WHILE: return walk_while(p, op);
    case IR_CASE:
    case IR_IF: return walk_branches(p, op);
    case IR_OPTIMIZATION_BARRIER: return walk_barrier(p, op);
    case IR_CONCATENATE: {
        uint32_t by = opt_ids_get(&p->rotations, op.i);
        return by ? walk_rotation(p, op, by) : joins_parts(p, op) ? walk_joined(p, op) : walk_any(p, op);
    }
    case IR_CUSTOM_CALL:
        if (p->partitions > 1 && str_starts(ir_prop_str(p->m, op, IR_CUSTOM_CALL_call_target_name), "SPMD"))
            return ir_op_error(p->m, p->o->d, op, HILO_UNIMPLEMENTED, NULL,
                               "is for an automatic partitioner, which is not supported; use Shardy's shardings");
        if (spmd_is_divided(p, op))
            return spmd_divide(p, op);
        if (on_shards)
            return walk_call_on_shards(p, op);
        return caller >= 0 ? walk_call_of_one(p, op, (uint32_t)caller) : walk_any(p, op);
    default: return walk_any(p, op);
    }
}

hilo_status spmd_walk(struct spmd *p, ir_block b, bool end) {
    ir_op next;
    for (ir_op op = ir_block_get(p->m, b)->first; !IR_NONE(op); op = next) {
        next = ir_op_get(p->m, op)->next;
        if (!IR_NONE(next) || end)
            HILO_TRY(walk_op(p, op));
    }
    return HILO_OK;
}
