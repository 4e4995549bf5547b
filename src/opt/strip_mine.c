/* strip-mine: large values part by part
 * does       values larger than strip_bytes, and what is computed from them, are computed in a loop over parts of a dimension
 *            that they have in common (strip-mining). What later ops need of such a value is computed again, in a loop of
 *            theirs; smaller results are stored part by part, and sums over the dimension are accumulated
 * requires   nothing
 * preserves  nothing
 * cost       linear, for each group of values, up to a bound for all that are tried
 * example    p = exp(q·kᵀ); o = p·v; t = pᵀ·g  ⇒  while (i < n) { p = exp(q[i]·kᵀ); o[i] = p·v; t += p[i]ᵀ·g[i] }
 *
 * It takes time, since values are computed again and parts are small, so it is no step of the pipeline: programs for limited
 * memory have it (`fit` in compile/compile.c). The backward pass of attention is then computed without a matrix of all rows
 * by all columns, as in Dao et al., "FlashAttention: Fast and Memory-Efficient Exact Attention with IO-Awareness", NeurIPS
 * 2022, section 3.1: statistics of rows are smaller results, and stored; weights are computed again.
 *
 * Which dimensions belong together is what sharding rules say (sdy_rule.h). A loop can use nothing of its own complete
 * results, so ops have stages: one more than that of a result which is complete only after a loop. Ops outside of the group
 * have stages, too, and are ordered by them; each loop comes after the ops of its stage. */
#include "opt/rules.h"
#include "opt/sdy_rule.h"
#include "opt/spmd.h"

enum {
    STRIP_BYTES = 1 << 20,  /* strip_bytes where none is given */
    STRIP_STAGES = 8,       /* of a group, at most */
    STRIP_OPERANDS = 8,     /* of an op */
    STRIP_STATISTIC = 64,   /* ops that a smaller value is computed by from a large one */
    STRIP_WORK = 1 << 20    /* values that are looked at in all, since a value may be in many groups that fail */
};

struct use {
    ir_op op;
    const struct use *next;
};

struct strip {
    struct rules r;
    struct ir_module *m;
    struct arena *a;
    struct sdy sdy;
    ir_block body;
    size_t most;             /* bytes of what is not large */
    struct {
        ir_op *v;
        uint32_t n, cap;
    } ops;                   /* of the body */
    struct opt_ids uses;     /* by value: 1 + the last entry of `all` */
    struct {
        struct use **v;
        uint32_t n, cap;
    } all;
    struct opt_ids enclosed; /* by value: 1 = a region of an op reads it */
    struct opt_ids tried;    /* by value: 1 = it begins no group */
    struct opt_ids rule;     /* by op: 1 + the entry of its rule */
    struct {
        const struct sdy_rule **v;
        uint32_t n, cap;
    } rules;
    uint32_t work;           /* values that were looked at */
};

/* An op that is computed part by part. */
struct member {
    ir_op op;
    const struct sdy_rule *rule; /* NULL: of a constant or iota */
    uint32_t factor;
    bool sums;                   /* over the dimension */
    bool stored;                 /* the result is needed after the loop */
};

/* Values with a dimension in common, and the ops that compute them. */
struct group {
    struct strip *s;
    int64_t size, parts;
    bool fails;
    struct opt_sparse dim;   /* by value: 1 + the dimension */
    struct opt_sparse index; /* by op: 1 + its entry of members */
    struct opt_ids stage;    /* by op of the body */
    uint32_t stages;
    struct {
        struct member *v;
        uint32_t n, cap;
    } members;
    struct {
        ir_val *v;
        uint32_t n, cap;
    } todo;                /* values that have the dimension, whose ops are still to be looked at */
    struct opt_map done;   /* what is complete: values, after their loops */
};

/* ---- the body --------------------------------------------------------------------------------- */

/* Masks count as what they are a mask of. */
static bool is_large(const struct strip *s, ir_val v) {
    const struct ir_type_data *t = ir_val_type(s->m, v);
    size_t bytes, count;
    return t->kind == IR_TYPE_TENSOR && ir_type_is_static(t) && ir_type_bytes(t, &bytes) && ir_type_count(t, &count) &&
           (bytes > s->most || count > s->most / 4);
}

static bool is_in_body(const struct strip *s, ir_op op) {
    return !IR_NONE(op) && IR_SAME(ir_op_get(s->m, op)->parent, s->body);
}

static void note_enclosed(struct strip *s, ir_op op) {
    for (uint32_t i = 0; i < ir_op_get(s->m, op)->nregions; i++)
        for (ir_block b = ir_region_get(s->m, ir_op_region(s->m, op, i))->first; !IR_NONE(b); b = ir_block_get(s->m, b)->next)
            for (ir_op o = ir_block_get(s->m, b)->first; !IR_NONE(o); o = ir_op_get(s->m, o)->next) {
                for (uint32_t k = 0; k < ir_op_get(s->m, o)->noperands; k++)
                    opt_ids_set(&s->enclosed, ir_operand(s->m, o, k).i, 1);
                note_enclosed(s, o);
            }
}

static void note_uses(struct strip *s) {
    s->ops.n = 0;
    s->uses = s->enclosed = (struct opt_ids){.a = s->a};
    for (ir_op op = ir_block_get(s->m, s->body)->first; !IR_NONE(op); op = ir_op_get(s->m, op)->next) {
        ARENA_PUSH(s->a, &s->ops, op);
        note_enclosed(s, op);
        for (uint32_t i = 0; i < ir_op_get(s->m, op)->noperands; i++) {
            uint32_t id = ir_operand(s->m, op, i).i, last = opt_ids_get(&s->uses, id);
            struct use *u = ARENA_NEW(s->a, struct use);
            *u = (struct use){op, last ? s->all.v[last - 1] : NULL};
            ARENA_PUSH(s->a, &s->all, u);
            opt_ids_set(&s->uses, id, s->all.n);
        }
    }
}

static const struct use *uses_of(const struct strip *s, ir_val v) {
    uint32_t last = opt_ids_get(&s->uses, v.i);
    return last ? s->all.v[last - 1] : NULL;
}

/* ---- groups ----------------------------------------------------------------------------------- */

/* Parts of its result follow from parts of its operands, or are summed up; `products`: those of products, too. */
static bool is_divisible(const struct strip *s, ir_op op, bool products) {
    enum ir_op_kind kind = ir_kind(s->m, op);
    const struct ir_op_data *x = ir_op_get(s->m, op);
    if (x->nresults != 1 || x->noperands > STRIP_OPERANDS || !ir_op_has(kind, IR_T_PURE) || ir_op_has(kind, IR_T_RANDOM))
        return false;
    if (x->nregions && (kind != IR_REDUCE || rules_reducer(&s->r, op) == IR_OP_NONE))
        return false;
    return ir_op_has(kind, IR_T_ELEMENTWISE) || kind == IR_BROADCAST_IN_DIM || kind == IR_TRANSPOSE || kind == IR_RESHAPE ||
           kind == IR_REDUCE || (products && kind == IR_DOT_GENERAL);
}

/* Whether a value that is not large is computed from one, without products: a statistic of rows, for example. */
static bool is_statistic(const struct strip *s, ir_val v, uint32_t *ops) {
    ir_op op = ir_val_get(s->m, v)->op;
    if (!is_in_body(s, op) || !is_divisible(s, op, false))
        return false;
    for (uint32_t i = 0; i < ir_op_get(s->m, op)->noperands && *ops; i++) {
        ir_val in = ir_operand(s->m, op, i);
        if (is_large(s, in))
            return true;
        --*ops;
        if (*ops && is_statistic(s, in, ops))
            return true;
    }
    return false;
}

/* The dimension of a tensor of the op that is the factor; -1 = none. A dimension of several factors is none that is divided. */
static int64_t dim_of(const struct sdy_rule *rule, uint32_t tensor, uint32_t factor, bool *fails) {
    int64_t found = -1;
    for (uint32_t d = 0; d < rule->ranks[tensor]; d++)
        for (uint32_t i = 0; i < rule->dims[tensor][d].n; i++) {
            if (rule->dims[tensor][d].v[i] != factor)
                continue;
            *fails |= found >= 0 || rule->dims[tensor][d].n > 1;
            found = d;
        }
    return found;
}

static void has_dim(struct group *g, ir_val v, int64_t d) {
    const struct ir_type_data *t = ir_val_type(g->s->m, v);
    uint32_t known = opt_sparse_get(&g->dim, v.i);
    if (known) {
        g->fails |= known != d + 1;
        return;
    }
    g->fails |= !ir_type_is_static(t) || d >= t->rank || t->dims[d] != g->size || t->quant;
    opt_sparse_set(&g->dim, v.i, (uint32_t)d + 1);
    ARENA_PUSH(g->s->a, &g->todo, v);
}

static bool is_splat(const struct strip *s, ir_op op) {
    return ir_kind(s->m, op) == IR_CONSTANT && ir_attr_get(s->m, ir_constant_value(s->m, op))->splat;
}

/* The rule by which the op is divided; NULL = it is not. */
static const struct sdy_rule *rule_of(struct strip *s, ir_op op) {
    uint32_t known = opt_ids_get(&s->rule, op.i);
    if (known)
        return s->rules.v[known - 1];
    const struct sdy_rule *rule = NULL;
    bool is_known = is_in_body(s, op) && is_divisible(s, op, true) && sdy_rule_of(&s->sdy, op, &rule) == HILO_OK;
    if (!is_known || (rule && rule->custom))
        rule = NULL;
    ARENA_PUSH(s->a, &s->rules, rule);
    opt_ids_set(&s->rule, op.i, s->rules.n);
    return rule;
}

/* The op, whose operand or result v has the dimension, is computed part by part. */
static void add_member(struct group *g, ir_op op, ir_val v) {
    struct strip *s = g->s;
    const struct ir_op_data *x = ir_op_get(s->m, op);
    struct member new = {.op = op};
    if (opt_sparse_get(&g->index, op.i) || g->fails)
        return;
    if (is_splat(s, op) || x->kind == IR_IOTA) {
        ARENA_PUSH(s->a, &g->members, new);
        opt_sparse_set(&g->index, op.i, g->members.n);
        return;
    }
    new.rule = rule_of(s, op);
    if (!new.rule) {
        g->fails = true;
        return;
    }
    uint32_t d = opt_sparse_get(&g->dim, v.i) - 1, tensor = 0;
    while (tensor < x->noperands && !IR_SAME(x->operands[tensor], v))
        tensor++;
    if (new.rule->dims[tensor][d].n != 1) {
        g->fails = true;
        return;
    }
    new.factor = new.rule->dims[tensor][d].v[0];
    const struct sdy_factor *f = &new.rule->factors[new.factor];
    int64_t out = dim_of(new.rule, x->noperands, new.factor, &g->fails);
    struct spmd p = {.o = s->r.o, .m = s->m, .a = s->a};
    new.sums = out < 0;
    const struct ir_dtype_info *to = ir_dtype_get(ir_val_type(s->m, ir_result(s->m, op, 0))->dtype);
    bool is_wide = to->bits >= 32 || (x->kind == IR_DOT_GENERAL && to->cls == IR_FLOAT); /* or accumulated in f32 */
    bool is_reducible = f->type == SDY_REDUCTION && spmd_combiner(&p, op) == IR_ADD &&
                        (to->cls == IR_FLOAT || to->cls == IR_SINT) && is_wide;
    g->fails |= f->size != g->size || (new.sums ? !is_reducible : f->type != SDY_PASS_THROUGH);
    ARENA_PUSH(s->a, &g->members, new);
    opt_sparse_set(&g->index, op.i, g->members.n);
    for (uint32_t i = 0; i < x->noperands; i++) {
        int64_t in = dim_of(new.rule, i, new.factor, &g->fails);
        if (in >= 0)
            has_dim(g, x->operands[i], in);
    }
    if (!new.sums)
        has_dim(g, ir_result(s->m, op, 0), out);
}

/* Everything that belongs together with dimension d of v. */
static void close_group(struct group *g, ir_val v, uint32_t d) {
    struct strip *s = g->s;
    g->size = ir_val_type(s->m, v)->dims[d];
    has_dim(g, v, d);
    for (uint32_t i = 0; i < g->todo.n && !g->fails; i++) {
        ir_val x = g->todo.v[i];
        ir_op op = ir_val_get(s->m, x)->op;
        uint32_t ops = STRIP_STATISTIC;
        bool large = is_large(s, x);
        g->fails |= s->work++ >= STRIP_WORK;
        if (is_in_body(s, op) && (large || is_statistic(s, x, &ops)))
            add_member(g, op, x);
        if (!large || !is_in_body(s, op))
            continue;
        g->fails |= opt_ids_get(&s->enclosed, x.i) != 0;
        for (const struct use *u = uses_of(s, x); u; u = u->next)
            if (!ir_op_has(ir_kind(s->m, u->op), IR_T_TERMINATOR))
                add_member(g, u->op, x);
    }
}

/* The member that the op is; NULL. */
static struct member *member_of(const struct group *g, ir_op op) {
    uint32_t i = IR_NONE(op) ? 0 : opt_sparse_get(&g->index, op.i);
    return i ? &g->members.v[i - 1] : NULL;
}

/* Whether a member reads a part of operand i in each iteration, not all of it. */
static bool reads_part(const struct member *x, uint32_t i) {
    bool fails = false;
    return x && x->rule && dim_of(x->rule, i, x->factor, &fails) >= 0;
}

static uint32_t stage_of(const struct group *g, ir_op op) {
    return opt_ids_get(&g->stage, op.i);
}

/* Stages of what the op, or one inside of it, reads. */
static uint32_t stage_of_operands(const struct group *g, ir_op op, const struct member *x) {
    const struct ir_module *m = g->s->m;
    uint32_t stage = 0;
    for (uint32_t i = 0; i < ir_op_get(m, op)->noperands; i++) {
        ir_op from = ir_val_get(m, ir_operand(m, op, i))->op;
        const struct member *y = member_of(g, from);
        if (!is_in_body(g->s, from))
            continue;
        bool complete = y && (y->sums || !reads_part(x, i));
        uint32_t least = stage_of(g, from) + complete;
        stage = least > stage ? least : stage;
    }
    for (uint32_t i = 0; i < ir_op_get(m, op)->nregions; i++)
        for (ir_block b = ir_region_get(m, ir_op_region(m, op, i))->first; !IR_NONE(b); b = ir_block_get(m, b)->next)
            for (ir_op o = ir_block_get(m, b)->first; !IR_NONE(o); o = ir_op_get(m, o)->next) {
                uint32_t least = stage_of_operands(g, o, NULL);
                stage = least > stage ? least : stage;
            }
    return stage;
}

/* Constants and iotas are there in all stages, as are large values, which are computed again. */
static bool is_computed_again(const struct group *g, const struct member *x) {
    return !x->rule || is_large(g->s, ir_result(g->s->m, x->op, 0));
}

/* Notes which members are read as they are complete. */
static void find_stored(struct group *g, ir_op op, const struct member *x) {
    const struct ir_module *m = g->s->m;
    for (uint32_t i = 0; i < ir_op_get(m, op)->noperands; i++) {
        struct member *y = member_of(g, ir_val_get(m, ir_operand(m, op, i))->op);
        if (!y)
            continue;
        bool part = reads_part(x, i) && !y->sums;
        g->fails |= !part && x && !y->sums && is_large(g->s, ir_operand(m, op, i));
        y->stored |= !part;
    }
}

/* The ops that the loop of a stage has: what is stored of the stage needs them. They read parts of others' results, which are
   stored by loops before. */
static void find_needed(struct group *g, uint32_t stage, struct opt_ids *needed) {
    const struct ir_module *m = g->s->m;
    for (uint32_t i = g->s->ops.n; i-- > 0;) {
        ir_op op = g->s->ops.v[i];
        const struct member *x = member_of(g, op);
        if (!x)
            continue;
        if (x->stored && stage_of(g, op) == stage)
            opt_ids_set(needed, op.i, 1);
        if (!opt_ids_get(needed, op.i))
            continue;
        for (uint32_t k = 0; k < ir_op_get(m, op)->noperands; k++) {
            struct member *y = member_of(g, ir_val_get(m, ir_operand(m, op, k))->op);
            if (!y || y->sums || !reads_part(x, k))
                continue;
            if (stage_of(g, y->op) == stage || is_computed_again(g, y))
                opt_ids_set(needed, y->op.i, 1);
            else
                y->stored = true;
        }
    }
}

static void find_stages(struct group *g) {
    struct strip *s = g->s;
    for (uint32_t i = 0; i < s->ops.n && !g->fails; i++) {
        ir_op op = s->ops.v[i];
        struct member *x = member_of(g, op);
        uint32_t stage = stage_of_operands(g, op, x);
        opt_ids_set(&g->stage, op.i, stage);
        g->stages = stage + 1 > g->stages ? stage + 1 : g->stages;
        g->fails |= stage >= STRIP_STAGES || (!x && opt_has_effect(s->r.o, op));
    }
    for (uint32_t i = 0; i < s->ops.n && !g->fails; i++)
        find_stored(g, s->ops.v[i], member_of(g, s->ops.v[i]));
    for (uint32_t i = 0; i < g->members.n; i++)
        if (opt_ids_get(&s->enclosed, ir_result(s->m, g->members.v[i].op, 0).i))
            g->members.v[i].stored = true;
    for (uint32_t stage = g->stages; stage-- > 0 && !g->fails;) {
        struct opt_ids needed = {.a = s->a};
        find_needed(g, stage, &needed);
    }
}

/* How many parts there are: the fewest that divide the dimension, with which none is large. */
static void find_parts(struct group *g) {
    size_t bytes, most = 0;
    for (uint32_t i = 0; i < g->members.n; i++) {
        const struct member *x = &g->members.v[i];
        if (!x->sums && ir_type_bytes(ir_val_type(g->s->m, ir_result(g->s->m, x->op, 0)), &bytes) && bytes > most)
            most = bytes;
    }
    uint64_t least = (most + g->s->most - 1) / g->s->most;
    g->parts = least < 2 ? 2 : least > (uint64_t)g->size ? g->size + 1 : (int64_t)least;
    while (g->parts <= g->size && g->size % g->parts)
        g->parts++;
    g->fails |= g->parts > g->size || g->size > INT32_MAX;
}

/* A group that has dimension d of v; `sums`: results may be sums over it. */
static bool find_group(struct strip *s, ir_val v, uint32_t d, bool sums, struct group *g) {
    *g = (struct group){.s = s, .dim = {.a = s->a}, .index = {.a = s->a}, .stage = {.a = s->a}, .done = opt_map_new(s->r.o)};
    close_group(g, v, d);
    for (uint32_t i = 0; i < g->members.n && !sums; i++)
        g->fails |= g->members.v[i].sums;
    if (!g->fails)
        find_stages(g);
    if (!g->fails)
        find_parts(g);
    return !g->fails;
}

/* ---- loops ------------------------------------------------------------------------------------ */

/* A loop that is built. */
struct loop {
    struct group *g;
    ir_op end;              /* of its body */
    ir_val begin;           /* the first element of the part */
    struct opt_ids needed;  /* by op: 1 = the body computes it */
    struct opt_map parts;   /* of values */
};

static ir_val make(struct strip *s, ir_op at, enum ir_op_kind kind, const ir_val *in, uint32_t n, ir_type type) {
    return ir_result(s->m, rules_make(&s->r, at, kind, in, n, type), 0);
}

static ir_val make_number(struct strip *s, ir_op at, int32_t v) {
    return rules_make_splat(&s->r, at, ir_type_of(s->m, IR_I32_T, NULL, 0), &v);
}

static ir_val make_zeros(struct strip *s, ir_op at, ir_type type) {
    static const char zeros[16];
    return rules_make_splat(&s->r, at, type, zeros);
}

static ir_val make_broadcast(struct strip *s, ir_op at, ir_val scalar, ir_type type) {
    ir_val out = make(s, at, IR_BROADCAST_IN_DIM, &scalar, 1, type);
    ir_set_prop(s->m, ir_val_get(s->m, out)->op, IR_BROADCAST_IN_DIM_broadcast_dimensions, ir_attr_i64s(s->m, NULL, 0));
    return out;
}

/* The type of a part of a value. */
static ir_type part_type(const struct group *g, ir_val v) {
    const struct ir_type_data *t = ir_val_type(g->s->m, v);
    int64_t dims[IR_MAX_RANK];
    memcpy(dims, t->dims, t->rank * sizeof *dims);
    dims[opt_sparse_get(&g->dim, v.i) - 1] = g->size / g->parts;
    return ir_type_with_dims(g->s->m, ir_val_get(g->s->m, v)->type, dims, t->rank);
}

/* Indices of a part of a value, behind `n` operands; returns the number of all. */
static uint32_t add_indices(const struct loop *l, ir_val v, ir_val *in, uint32_t n) {
    uint32_t rank = ir_val_type(l->g->s->m, v)->rank, dim = opt_sparse_get(&l->g->dim, v.i) - 1;
    ir_val zero = make_number(l->g->s, l->end, 0);
    for (uint32_t i = 0; i < rank; i++)
        in[n + i] = i == dim ? l->begin : zero;
    return n + rank;
}

/* The part of a value that was computed, or is cut out of what is complete. */
static ir_val part_of(struct loop *l, ir_val v) {
    struct strip *s = l->g->s;
    ir_val known = opt_map_get(&l->parts, v), in[IR_MAX_RANK + 1];
    if (!IR_SAME(known, v))
        return known;
    in[0] = opt_map_get(&l->g->done, v);
    ir_type type = part_type(l->g, v);
    ir_val out = make(s, l->end, IR_DYNAMIC_SLICE, in, add_indices(l, v, in, 1), type);
    const struct ir_type_data *t = ir_type_get(s->m, type);
    ir_set_prop(s->m, ir_val_get(s->m, out)->op, IR_DYNAMIC_SLICE_slice_sizes, ir_attr_i64s(s->m, t->dims, t->rank));
    opt_map_set(&l->parts, v, out);
    return out;
}

/* An iota or a splat. */
static ir_val compute_number(struct loop *l, ir_op op) {
    struct strip *s = l->g->s;
    ir_val v = ir_result(s->m, op, 0), in[2];
    ir_type type = part_type(l->g, v);
    const struct ir_type_data *t = ir_type_get(s->m, type);
    if (ir_kind(s->m, op) == IR_CONSTANT)
        return rules_make_splat(&s->r, l->end, type, ir_attr_get(s->m, ir_constant_value(s->m, op))->data);
    int64_t dim = ir_prop_i64(s->m, op, IR_IOTA_iota_dimension);
    bool along = dim == (int64_t)opt_sparse_get(&l->g->dim, v.i) - 1;
    ir_type counted = along ? ir_type_of(s->m, IR_I32_T, t->dims, t->rank) : type; /* sums of floats may be rounded */
    in[0] = make(s, l->end, IR_IOTA, NULL, 0, counted);
    ir_set_prop(s->m, ir_val_get(s->m, in[0])->op, IR_IOTA_iota_dimension, ir_attr_i64(s->m, dim));
    if (!along)
        return in[0];
    in[1] = make_broadcast(s, l->end, l->begin, counted);
    ir_val sum = make(s, l->end, IR_ADD, in, 2, counted);
    return t->dtype == IR_I32_T ? sum : make(s, l->end, IR_CONVERT, &sum, 1, type);
}

/* The type in which sums are accumulated: at least f32. */
static ir_type sum_type(const struct strip *s, ir_val v) {
    const struct ir_type_data *t = ir_val_type(s->m, v);
    return ir_dtype_get(t->dtype)->bits < 32 ? ir_type_of(s->m, IR_F32_T, t->dims, t->rank) : ir_val_get(s->m, v)->type;
}

/* A part of what a member computes. */
static ir_val compute_part(struct loop *l, const struct member *x) {
    struct strip *s = l->g->s;
    ir_val v = ir_result(s->m, x->op, 0);
    struct opt_map none = opt_map_new(s->r.o);
    if (!x->rule)
        return compute_number(l, x->op);
    ir_val in[STRIP_OPERANDS];
    uint32_t n = ir_op_get(s->m, x->op)->noperands;
    for (uint32_t i = 0; i < n; i++) {
        ir_val operand = ir_operand(s->m, x->op, i);
        in[i] = reads_part(x, i) ? part_of(l, operand) : opt_map_get(&l->g->done, operand);
    }
    ir_op op = opt_clone(&none, x->op);
    ir_set_operands(s->m, op, in, n);
    ir_insert_before(s->m, l->end, op);
    ir_set_type(s->m, ir_result(s->m, op, 0), x->sums ? sum_type(s, v) : part_type(l->g, v));
    return ir_result(s->m, op, 0);
}

/* A block of the loop with its arguments; returns its terminator, without operands. */
static ir_op add_block(struct strip *s, ir_op loop, uint32_t region) {
    ir_block b = ir_block_new(s->m, ir_op_region(s->m, loop, region));
    for (uint32_t i = 0; i < ir_op_get(s->m, loop)->noperands; i++)
        ir_block_add_arg(s->m, b, ir_val_get(s->m, ir_operand(s->m, loop, i))->type);
    ir_op end = ir_op_new(s->m, IR_RETURN, NULL, 0, NULL, 0, 0);
    const struct ir_op_data *x = ir_op_get(s->m, loop);
    ir_set_loc(s->m, end, x->loc, x->line, x->col);
    ir_append(s->m, b, end);
    return end;
}

static void make_test(struct strip *s, ir_op loop, int64_t parts) {
    ir_op end = add_block(s, loop, 0);
    ir_val in[] = {ir_block_get(s->m, ir_op_get(s->m, end)->parent)->args[0], make_number(s, end, (int32_t)parts)};
    ir_val less = make(s, end, IR_COMPARE, in, 2, ir_type_of(s->m, IR_I1_T, NULL, 0));
    ir_set_prop(s->m, ir_val_get(s->m, less)->op, IR_COMPARE_comparison_direction,
                ir_attr_enum(s->m, IR_ENUM_COMPARISON_DIRECTION, IR_COMPARISON_DIRECTION_LT));
    ir_set_operands(s->m, end, &less, 1);
}

/* The loop of a stage, before `at`, where something of it is stored. */
static void make_loop(struct group *g, uint32_t stage, ir_op at) {
    struct strip *s = g->s;
    struct member **stored = ARENA_ARRAY(s->a, struct member *, g->members.n + 1);
    ir_val *in = ARENA_ARRAY(s->a, ir_val, g->members.n + 1);
    ir_type *types = ARENA_ARRAY(s->a, ir_type, g->members.n + 1);
    struct loop l = {.g = g, .needed = {.a = s->a}, .parts = opt_map_new(s->r.o)};
    uint32_t n = 0;
    for (uint32_t i = 0; i < s->ops.n; i++) {
        struct member *x = member_of(g, s->ops.v[i]);
        if (x && x->stored && stage_of(g, x->op) == stage)
            stored[++n] = x;
    }
    if (!n)
        return;
    in[0] = make_number(s, at, 0);
    for (uint32_t i = 1; i <= n; i++)
        in[i] = make_zeros(s, at, stored[i]->sums ? sum_type(s, ir_result(s->m, stored[i]->op, 0))
                                                  : ir_val_get(s->m, ir_result(s->m, stored[i]->op, 0))->type);
    for (uint32_t i = 0; i <= n; i++)
        types[i] = ir_val_get(s->m, in[i])->type;
    ir_op loop = ir_op_new(s->m, IR_WHILE, in, n + 1, types, n + 1, 2);
    const struct ir_op_data *first = ir_op_get(s->m, stored[1]->op);
    ir_set_loc(s->m, loop, first->loc, first->line, first->col);
    ir_insert_before(s->m, at, loop);
    make_test(s, loop, g->parts);
    l.end = add_block(s, loop, 1);
    const ir_val *args = ir_block_get(s->m, ir_op_get(s->m, l.end)->parent)->args;
    ir_val by[] = {args[0], make_number(s, l.end, (int32_t)(g->size / g->parts))};
    l.begin = make(s, l.end, IR_MULTIPLY, by, 2, types[0]);
    find_needed(g, stage, &l.needed);
    for (uint32_t i = 0; i < s->ops.n; i++)
        if (opt_ids_get(&l.needed, s->ops.v[i].i))
            opt_map_set(&l.parts, ir_result(s->m, s->ops.v[i], 0), compute_part(&l, member_of(g, s->ops.v[i])));
    ir_val next[] = {args[0], make_number(s, l.end, 1)};
    in[0] = make(s, l.end, IR_ADD, next, 2, types[0]);
    for (uint32_t i = 1; i <= n; i++) {
        ir_val v = ir_result(s->m, stored[i]->op, 0), both[IR_MAX_RANK + 2] = {args[i], opt_map_get(&l.parts, v)};
        in[i] = stored[i]->sums ? make(s, l.end, IR_ADD, both, 2, types[i])
                                : make(s, l.end, IR_DYNAMIC_UPDATE_SLICE, both, add_indices(&l, v, both, 2), types[i]);
    }
    ir_set_operands(s->m, l.end, in, n + 1);
    for (uint32_t i = 1; i <= n; i++) {
        ir_val v = ir_result(s->m, stored[i]->op, 0), out = ir_result(s->m, loop, i);
        if (!IR_SAME(types[i], ir_val_get(s->m, v)->type))
            out = make(s, at, IR_CONVERT, &out, 1, ir_val_get(s->m, v)->type);
        opt_map_set(&g->done, v, out);
    }
}

/* Orders the ops of the body by stage, and replaces the members by loops. */
static void mine(struct group *g) {
    struct strip *s = g->s;
    ir_op end = s->ops.v[s->ops.n - 1];
    for (uint32_t i = 0; i + 1 < s->ops.n; i++)
        ir_unlink(s->m, s->ops.v[i]);
    for (uint32_t stage = 0; stage < g->stages; stage++) {
        for (uint32_t i = 0; i + 1 < s->ops.n; i++) {
            ir_op op = s->ops.v[i];
            if (stage_of(g, op) != stage || member_of(g, op))
                continue;
            opt_update_all(&g->done, op);
            ir_insert_before(s->m, end, op);
        }
        make_loop(g, stage, end);
    }
    opt_update_all(&g->done, end);
    s->r.o->changes++;
}

/* ---- the pass --------------------------------------------------------------------------------- */

/* Computes the last large value part by part that can be, with what belongs to it; false where there is none. */
static bool mine_one(struct strip *s) {
    struct group g;
    note_uses(s);
    for (uint32_t i = s->ops.n; i-- > 0 && s->work < STRIP_WORK;) {
        if (ir_op_get(s->m, s->ops.v[i])->nresults != 1)
            continue;
        ir_val v = ir_result(s->m, s->ops.v[i], 0);
        if (!is_large(s, v) || opt_ids_get(&s->tried, v.i) || !is_divisible(s, s->ops.v[i], true))
            continue;
        uint32_t rank = ir_val_type(s->m, v)->rank;
        for (uint32_t k = 0; k < 2 * rank; k++)
            if (find_group(s, v, k % rank, k >= rank, &g)) {
                mine(&g);
                return true;
            }
        opt_ids_set(&s->tried, v.i, 1);
    }
    return false;
}

hilo_status opt_strip_mine(struct opt *o) {
    struct strip s = {.r = {.o = o, .m = o->m, .map = opt_map_new(o)}, .m = o->m, .a = &o->scratch,
                      .sdy = {.m = o->m, .a = &o->scratch}, .tried = {.a = &o->scratch}, .rule = {.a = &o->scratch}};
    s.most = o->options.strip_bytes ? o->options.strip_bytes : STRIP_BYTES;
    for (ir_op f = ir_block_get(o->m, ir_module_body(o->m))->first; !IR_NONE(f); f = ir_op_get(o->m, f)->next) {
        if (ir_kind(o->m, f) != IR_FUNC || IR_NONE(ir_func_body(o->m, f)))
            continue;
        s.body = ir_func_body(o->m, f);
        while (mine_one(&s))
            ;
    }
    return HILO_OK;
}
