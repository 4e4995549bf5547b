/* collectives
 * does       replaces collectives by all_gather and all_to_all of whole blocks along dimension 0, and by ops on what these
 *            bring: sums are elementwise ops in the order of the group, which are compiled and fused as any others
 * requires   nothing
 * preserves  nothing
 * cost       linear; a sum has an op for each member of the group
 * example    all_reduce(%x), a group of 2, add  ⇒  %0 = all_gather [1, n] to [2, n]; add %0[0], %0[1]
 *
 * Small sums are computed by every member of what all have (one round); of larger ones, each member computes a part, and
 * gathers the others (two rounds, 2 (n - 1) / n of the bytes). Both are in the order of the group, with the evaluator's
 * roundings, so the bits do not depend on the choice. Two members give each other what they have, where x + y is y + x: one
 * round, the same bytes, and no memory for what a member has itself (of two NaNs each member may get its own). What this cannot
 * express stays as it is: bodies of other than elementwise ops, groups of unknown or different sizes. */
#include "opt/rules.h"

hilo_status opt_collectives(struct opt *o) {
    return opt_rules(o, OPT_PASS_collectives);
}

/* ---- groups ---------------------------------------------------------------------------------- */

/* Of the module: 0 = not said. */
static int64_t count_of(const struct rules *r, const char *name) {
    int64_t n;
    ir_attr a = ir_dict_find(r->m, ir_op_get(r->m, r->m->root)->attrs, str_of(name));
    return !IR_NONE(a) && ir_attr_as_i64(r->m, a, &n) && n > 0 ? n : 0;
}

/* What a collective is made again with. */
struct group {
    int64_t n;              /* members; 0 = unknown, or not the same in all groups */
    ir_attr groups, channel, global;
    bool exchanges;         /* an all_to_all can be of these groups: */
    ir_attr exchange_channel;
    ir_attr pairs;          /* then, of two members each: who sends to whom */
};

static int64_t row_length(const struct ir_groups *g) {
    for (size_t i = 0; i < g->n * g->cols; i++)
        if (g->ids[i] < 0)
            return 0;
    return (int64_t)g->cols;
}

static ir_attr pairs_of(struct rules *r, const struct ir_groups *x) {
    int64_t dims[2] = {x->n ? 2 * (int64_t)x->n : 2, 2}, *pairs = ARENA_ARRAY(&r->o->scratch, int64_t, 2 * (size_t)dims[0]);
    for (int64_t i = 0; i < dims[0]; i++) { /* without rows, 0 and 1 are the group */
        pairs[2 * i] = x->n ? x->ids[i] : i;
        pairs[2 * i + 1] = x->n ? x->ids[i ^ 1] : i ^ 1;
    }
    return ir_attr_dense_i64s(r->m, pairs, dims, 2);
}

static struct group group_of(struct rules *r, ir_op op, enum ir_slot groups, enum ir_slot channel, enum ir_slot global) {
    struct group g = {.groups = ir_prop(r->m, op, groups)};
    int64_t replicas = count_of(r, "mhlo.num_replicas"), partitions = count_of(r, "mhlo.num_partitions");
    struct ir_groups x;
    if (channel != IR_SLOT_NONE)
        g.channel = ir_prop(r->m, op, channel);
    if (global != IR_SLOT_NONE)
        g.global = ir_prop(r->m, op, global);
    if (replicas + partitions > 0) { /* who says one of them has 1 of the other */
        replicas = replicas ? replicas : 1;
        partitions = partitions ? partitions : 1;
    }
    bool read = ir_groups_read(r->m, op, &r->o->scratch.al, r->o->d, &x) == HILO_OK;
    if (read) {
        int64_t all = x.how == IR_FLATTENED_IDS ? replicas * partitions : x.how == IR_CROSS_PARTITION ? partitions : replicas;
        g.n = (x.n && x.cols ? row_length(&x) : all) * (x.how == IR_CROSS_BOTH ? partitions : 1);
        bool of_partitions = x.how == IR_CROSS_PARTITION || (x.how == IR_FLATTENED_IDS && replicas == 1);
        bool of_replicas = x.how == IR_CROSS_REPLICA || (x.how != IR_CROSS_PARTITION && partitions == 1);
        g.exchanges = of_partitions || of_replicas;
        g.exchange_channel = of_partitions ? g.channel : (ir_attr){0};
        if (g.exchanges && g.n == 2)
            g.pairs = pairs_of(r, &x);
    }
    ir_groups_free(&r->o->scratch.al, &x);
    return g;
}

/* ---- building -------------------------------------------------------------------------------- */

struct maker {
    struct rules *r;
    ir_op at;
    struct group group;
};

static ir_type shaped(const struct maker *k, ir_val like, const int64_t *dims, uint32_t rank) {
    return ir_type_tensor(k->r->m, rules_shape(k->r, like)->elem, dims, rank, (ir_attr){0});
}

static ir_val reshape(const struct maker *k, ir_val v, const int64_t *dims, uint32_t rank) {
    ir_type t = shaped(k, v, dims, rank);
    return IR_SAME(t, rules_type(k->r, v)) ? v : ir_result(k->r->m, rules_make(k->r, k->at, IR_RESHAPE, &v, 1, t), 0);
}

/* Dimension i of the result is dimension order[i] of v. */
static ir_val transpose(const struct maker *k, ir_val v, const int64_t *order) {
    const struct ir_type_data *t = rules_shape(k->r, v);
    int64_t dims[IR_MAX_RANK];
    uint32_t rank = t->rank;
    bool same = true;
    for (uint32_t i = 0; i < rank; i++) {
        dims[i] = t->dims[order[i]];
        same = same && order[i] == i;
    }
    if (same)
        return v;
    ir_op op = rules_make(k->r, k->at, IR_TRANSPOSE, &v, 1, shaped(k, v, dims, rank));
    ir_set_prop(k->r->m, op, IR_TRANSPOSE_permutation, ir_attr_i64s(k->r->m, order, rank));
    return ir_result(k->r->m, op, 0);
}

/* Elements begin … end - 1 of dimension 0. */
static ir_val slice(const struct maker *k, ir_val v, int64_t begin, int64_t end) {
    const struct ir_type_data *t = rules_shape(k->r, v);
    int64_t from[IR_MAX_RANK] = {0}, to[IR_MAX_RANK], steps[IR_MAX_RANK], dims[IR_MAX_RANK];
    uint32_t rank = t->rank;
    if (begin == 0 && end == t->dims[0])
        return v;
    for (uint32_t i = 0; i < rank; i++) {
        to[i] = dims[i] = t->dims[i];
        steps[i] = 1;
    }
    from[0] = begin;
    to[0] = end;
    dims[0] = end - begin;
    ir_op op = rules_make(k->r, k->at, IR_SLICE, &v, 1, shaped(k, v, dims, rank));
    ir_set_prop(k->r->m, op, IR_SLICE_start_indices, ir_attr_i64s(k->r->m, from, rank));
    ir_set_prop(k->r->m, op, IR_SLICE_limit_indices, ir_attr_i64s(k->r->m, to, rank));
    ir_set_prop(k->r->m, op, IR_SLICE_strides, ir_attr_i64s(k->r->m, steps, rank));
    return ir_result(k->r->m, op, 0);
}

/* [1, …] of each member to [n, …]. */
static ir_val gather(const struct maker *k, ir_val v) {
    struct ir_module *m = k->r->m;
    const struct ir_type_data *t = rules_shape(k->r, v);
    int64_t dims[IR_MAX_RANK];
    memcpy(dims, t->dims, t->rank * sizeof *dims);
    dims[0] *= k->group.n;
    ir_op op = rules_make(k->r, k->at, IR_ALL_GATHER, &v, 1, shaped(k, v, dims, t->rank));
    ir_set_prop(m, op, IR_ALL_GATHER_all_gather_dim, ir_attr_i64(m, 0));
    ir_set_prop(m, op, IR_ALL_GATHER_replica_groups, k->group.groups);
    ir_set_prop(m, op, IR_ALL_GATHER_channel_handle, k->group.channel);
    ir_set_prop(m, op, IR_ALL_GATHER_use_global_device_ids, k->group.global);
    return ir_result(m, op, 0);
}

/* Row i of [n, …] goes to member i; row i of the result is that of member i. */
static ir_val exchange(const struct maker *k, ir_val v) {
    struct ir_module *m = k->r->m;
    ir_op op = rules_make(k->r, k->at, IR_ALL_TO_ALL, &v, 1, rules_type(k->r, v));
    ir_set_prop(m, op, IR_ALL_TO_ALL_split_dimension, ir_attr_i64(m, 0));
    ir_set_prop(m, op, IR_ALL_TO_ALL_concat_dimension, ir_attr_i64(m, 0));
    ir_set_prop(m, op, IR_ALL_TO_ALL_split_count, ir_attr_i64(m, k->group.n));
    ir_set_prop(m, op, IR_ALL_TO_ALL_replica_groups, k->group.groups);
    ir_set_prop(m, op, IR_ALL_TO_ALL_channel_handle, k->group.exchange_channel);
    return ir_result(m, op, 0);
}

/* v of the other member of two. */
static ir_val swap(const struct maker *k, ir_val v) {
    ir_op op = rules_make(k->r, k->at, IR_COLLECTIVE_PERMUTE, &v, 1, rules_type(k->r, v));
    ir_set_prop(k->r->m, op, IR_COLLECTIVE_PERMUTE_source_target_pairs, k->group.pairs);
    ir_set_prop(k->r->m, op, IR_COLLECTIVE_PERMUTE_channel_handle, k->group.exchange_channel);
    return ir_result(k->r->m, op, 0);
}

/* ---- sums ------------------------------------------------------------------------------------ */

/* Whether a region computes one scalar of two by elementwise ops. */
static bool is_fold(const struct rules *r, ir_region region) {
    ir_block b = ir_region_get(r->m, region)->first;
    if (IR_NONE(b) || ir_block_get(r->m, b)->nargs != 2)
        return false;
    for (ir_op op = ir_block_get(r->m, b)->first; !IR_NONE(op); op = ir_op_get(r->m, op)->next) {
        const struct ir_op_data *x = ir_op_get(r->m, op);
        enum ir_op_kind kind = (enum ir_op_kind)x->kind;
        if (IR_SAME(op, ir_terminator(r->m, b)))
            return x->noperands == 1;
        if (!(ir_op_has(kind, IR_T_ELEMENTWISE) && x->nresults == 1 && !x->nregions) && kind != IR_CONSTANT)
            return false;
        for (uint32_t i = 0; i < x->noperands; i++)
            if (!ir_is_inside(r->m, x->operands[i], ir_region_get(r->m, region)->parent))
                return false;
    }
    return false;
}

/* The body of the fold on tensors of the shape of a. */
static ir_val combine(const struct maker *k, ir_region region, ir_val a, ir_val b) {
    struct ir_module *m = k->r->m;
    ir_block block = ir_region_get(m, region)->first;
    const struct ir_type_data *t = rules_shape(k->r, a);
    struct opt_map map = opt_map_new(k->r->o);
    ir_op end = ir_terminator(m, block);
    opt_map_set(&map, ir_block_get(m, block)->args[0], a);
    opt_map_set(&map, ir_block_get(m, block)->args[1], b);
    for (ir_op op = ir_block_get(m, block)->first; !IR_SAME(op, end); op = ir_op_get(m, op)->next) {
        ir_val old = ir_result(m, op, 0);
        ir_type type = ir_type_tensor(m, ir_val_type(m, old)->elem, t->dims, t->rank, (ir_attr){0});
        if (ir_kind(m, op) == IR_CONSTANT) {
            const struct ir_attr_data *c = ir_attr_get(m, ir_prop(m, op, IR_CONSTANT_value));
            opt_map_set(&map, old, rules_make_splat(k->r, k->at, type, c->data));
            continue;
        }
        const struct ir_op_data *x = ir_op_get(m, op);
        ir_op copy = opt_remake(k->r->o, op, x->operands, x->noperands, &type, 1);
        opt_update(&map, copy);
        ir_insert_before(m, k->at, copy);
        opt_map_set(&map, old, ir_result(m, copy, 0));
    }
    return opt_map_get(&map, ir_operand(m, end, 0));
}

/* Whether the fold of x and y has the bits of that of y and x. */
static bool is_symmetric(const struct rules *r, ir_region region) {
    if (IR_NONE(region))
        return true;
    ir_block b = ir_region_get(r->m, region)->first;
    ir_op op = ir_block_get(r->m, b)->first;
    const struct ir_op_data *x = ir_op_get(r->m, op);
    const ir_val *args = ir_block_get(r->m, b)->args;
    if (!IR_SAME(x->next, ir_terminator(r->m, b)) || x->noperands != 2 ||
        !IR_SAME(ir_operand(r->m, x->next, 0), ir_result(r->m, op, 0)) || IR_SAME(x->operands[0], x->operands[1]))
        return false;
    for (uint32_t i = 0; i < 2; i++)
        if (!IR_SAME(x->operands[i], args[0]) && !IR_SAME(x->operands[i], args[1]))
            return false;
    return ir_op_has((enum ir_op_kind)x->kind, IR_T_COMMUTATIVE);
}

static ir_val converted(const struct maker *k, ir_val v, ir_type elem) {
    const struct ir_type_data *t = rules_shape(k->r, v);
    ir_type type = ir_type_tensor(k->r->m, elem, t->dims, t->rank, (ir_attr){0});
    return IR_SAME(rules_type(k->r, v), type) ? v : ir_result(k->r->m, rules_make(k->r, k->at, IR_CONVERT, &v, 1, type), 0);
}

/* Two tensors of one type combined; no region: added. */
static ir_val combine_two(const struct maker *k, ir_region region, ir_val a, ir_val b) {
    return IR_NONE(region) ? ir_result(k->r->m, rules_make(k->r, k->at, IR_ADD, (ir_val[]){a, b}, 2, rules_type(k->r, a)), 0)
                           : combine(k, region, a, b);
}

/* The rows of [n, …], combined from the first in elements of type `elem`. */
static ir_val fold(const struct maker *k, ir_region region, ir_type elem, ir_val rows) {
    const struct ir_type_data *t = rules_shape(k->r, rows);
    int64_t dims[IR_MAX_RANK];
    uint32_t rank = t->rank - 1;
    memcpy(dims, t->dims + 1, rank * sizeof *dims);
    ir_val sum = {0};
    for (int64_t i = 0; i < k->group.n; i++) {
        ir_val row = converted(k, reshape(k, slice(k, rows, i, i + 1), dims, rank), elem);
        sum = i ? combine_two(k, region, sum, row) : row;
    }
    return sum;
}

static ir_val flatten(const struct maker *k, ir_val v) {
    size_t n;
    (void)ir_type_count(rules_shape(k->r, v), &n);
    int64_t count = (int64_t)n;
    return reshape(k, v, &count, 1);
}

/* Whether one round, which brings (n - 1) times the bytes, takes no longer than two, which bring 2 (n - 1) / n times. */
static bool is_one_round(const struct maker *k, int64_t count, size_t each) {
    struct target portable;
    const struct target *t = k->r->o->options.target;
    double n = (double)k->group.n, bytes = (double)count * (double)each;
    if (!t) {
        target_portable(&portable);
        t = &portable;
    }
    return bytes * (n - 1) * (n - 2) / n <= t->exchange_ns * t->exchange_rate;
}

/* The sum of a flat tensor over the group, in all forms. */
static ir_val reduce_flat(const struct maker *k, ir_region region, ir_type elem, ir_val flat) {
    struct ir_module *m = k->r->m;
    const struct ir_type_data *t = rules_shape(k->r, flat);
    int64_t n = k->group.n, count = t->dims[0], part, padded;
    if (!IR_NONE(k->group.pairs) && is_symmetric(k->r, region))
        return combine_two(k, region, converted(k, flat, elem), converted(k, swap(k, flat), elem));
    if (is_one_round(k, count, ir_dtype_get(t->dtype)->bytes) || !k->group.exchanges ||
        __builtin_add_overflow(count, n - 1, &part) || __builtin_mul_overflow(part / n, n, &padded))
        return fold(k, region, elem, gather(k, reshape(k, flat, (int64_t[]){1, count}, 2)));
    part /= n;
    if (padded != count) {
        uint64_t zero[2] = {0};
        int64_t low = 0, high = padded - count;
        ir_val in[2] = {flat, rules_make_splat(k->r, k->at, ir_type_tensor(m, t->elem, NULL, 0, (ir_attr){0}), zero)};
        ir_op pad = rules_make(k->r, k->at, IR_PAD, in, 2, shaped(k, flat, &padded, 1));
        ir_set_prop(m, pad, IR_PAD_edge_padding_low, ir_attr_i64s(m, &low, 1));
        ir_set_prop(m, pad, IR_PAD_edge_padding_high, ir_attr_i64s(m, &high, 1));
        ir_set_prop(m, pad, IR_PAD_interior_padding, ir_attr_i64s(m, &low, 1));
        flat = ir_result(m, pad, 0);
    }
    ir_val rows = exchange(k, reshape(k, flat, (int64_t[]){n, part}, 2));
    ir_val mine = reshape(k, fold(k, region, elem, rows), (int64_t[]){1, part}, 2);
    return slice(k, reshape(k, gather(k, mine), &padded, 1), 0, count);
}

static bool can_move(const struct rules *r, ir_val v) {
    return rules_static(r, v) && !rules_shape(r, v)->quant;
}

static bool all_reduce(struct rules *r, ir_op op, const struct maker *k, ir_region region) {
    struct ir_module *m = r->m;
    uint32_t n = ir_op_get(m, op)->noperands;
    ir_val *out = ARENA_ARRAY(&r->o->scratch, ir_val, n), *flat = ARENA_ARRAY(&r->o->scratch, ir_val, n);
    bool one_type = n > 1;
    int64_t total = 0;
    if (k->group.n < 1)
        return false;
    for (uint32_t i = 0; i < n; i++) {
        size_t count;
        if (!can_move(r, rules_in(r, op, i)) || !can_move(r, ir_result(m, op, i)))
            return false;
        one_type = one_type && IR_SAME(rules_shape(r, rules_in(r, op, i))->elem, rules_shape(r, rules_in(r, op, 0))->elem) &&
                   ir_type_count(rules_shape(r, rules_in(r, op, i)), &count) &&
                   !__builtin_add_overflow(total, (int64_t)count, &total);
    }
    for (uint32_t i = 0; i < n; i++)
        flat[i] = flatten(k, rules_in(r, op, i));
    ir_val all = {0};
    if (one_type) { /* several operands are one block */
        ir_op joined = rules_make(r, op, IR_CONCATENATE, flat, n, shaped(k, flat[0], &total, 1));
        ir_set_prop(m, joined, IR_CONCATENATE_dimension, ir_attr_i64(m, 0));
        all = reduce_flat(k, region, rules_shape(r, ir_result(m, op, 0))->elem, ir_result(m, joined, 0));
    }
    int64_t at = 0;
    for (uint32_t i = 0; i < n; i++) {
        ir_val result = ir_result(m, op, i);
        int64_t count = rules_shape(r, flat[i])->dims[0];
        out[i] = one_type ? slice(k, all, at, at + count) : reduce_flat(k, region, rules_shape(r, result)->elem, flat[i]);
        out[i] = reshape(k, out[i], rules_shape(r, result)->dims, rules_shape(r, result)->rank);
        at += count;
    }
    opt_replace(&r->map, op, out);
    return true;
}

bool opt_rule_all_reduce(struct rules *r, ir_op op) {
    struct maker k = {r, op, group_of(r, op, IR_ALL_REDUCE_replica_groups, IR_ALL_REDUCE_channel_handle,
                                      IR_ALL_REDUCE_use_global_device_ids)};
    ir_region region = ir_op_region(r->m, op, 0);
    return is_fold(r, region) && all_reduce(r, op, &k, region);
}

bool opt_rule_cross_replica_sum(struct rules *r, ir_op op) {
    struct maker k = {r, op, group_of(r, op, IR_CROSS_REPLICA_SUM_replica_groups, IR_SLOT_NONE, IR_SLOT_NONE)};
    return all_reduce(r, op, &k, (ir_region){0});
}

/* ---- movement -------------------------------------------------------------------------------- */

/* Dimension `dim` of v in n parts: [n, …, part, …]. */
static ir_val split(const struct maker *k, ir_val v, uint32_t dim) {
    const struct ir_type_data *t = rules_shape(k->r, v);
    int64_t dims[IR_MAX_RANK], order[IR_MAX_RANK];
    uint32_t rank = t->rank;
    for (uint32_t i = 0; i < rank; i++)
        dims[i < dim ? i : i + 1] = t->dims[i];
    dims[dim] = k->group.n;
    dims[dim + 1] = t->dims[dim] / k->group.n;
    order[0] = dim;
    for (uint32_t i = 0; i < rank; i++)
        order[i + 1] = i < dim ? i : i + 1;
    return transpose(k, reshape(k, v, dims, rank + 1), order);
}

/* The rows of [n, …] one after the other along dimension `dim` of the rest. */
static ir_val join(const struct maker *k, ir_val v, uint32_t dim) {
    const struct ir_type_data *t = rules_shape(k->r, v);
    int64_t order[IR_MAX_RANK], dims[IR_MAX_RANK];
    uint32_t rank = t->rank - 1;
    for (uint32_t i = 0; i < rank; i++) {
        order[i < dim ? i : i + 1] = i + 1;
        dims[i] = t->dims[i + 1] * (i == dim ? k->group.n : 1);
    }
    order[dim] = 0;
    return reshape(k, transpose(k, v, order), dims, rank);
}

/* Whether the parts of the dimension are whole blocks. */
static bool is_outermost(const struct ir_type_data *t, int64_t dim) {
    for (int64_t i = 0; i < dim; i++)
        if (t->dims[i] != 1)
            return false;
    return true;
}

static bool splits(const struct rules *r, ir_val v, int64_t dim, int64_t n) {
    const struct ir_type_data *t = rules_shape(r, v);
    return can_move(r, v) && dim >= 0 && dim < (int64_t)t->rank && t->rank < IR_MAX_RANK && n > 0 && t->dims[dim] % n == 0;
}

bool opt_rule_all_gather(struct rules *r, ir_op op) {
    struct maker k = {r, op, group_of(r, op, IR_ALL_GATHER_replica_groups, IR_ALL_GATHER_channel_handle,
                                      IR_ALL_GATHER_use_global_device_ids)};
    int64_t dim = ir_prop_i64(r->m, op, IR_ALL_GATHER_all_gather_dim);
    uint32_t n = ir_op_get(r->m, op)->noperands;
    bool outermost = true;
    for (uint32_t i = 0; i < n; i++) {
        const struct ir_type_data *t = rules_shape(r, rules_in(r, op, i));
        if (!splits(r, rules_in(r, op, i), dim, 1) || !can_move(r, ir_result(r->m, op, i)) || k.group.n < 1 ||
            rules_shape(r, ir_result(r->m, op, i))->dims[dim] != t->dims[dim] * k.group.n)
            return false;
        outermost = outermost && is_outermost(t, dim);
    }
    if (outermost)
        return false;
    ir_val *out = ARENA_ARRAY(&r->o->scratch, ir_val, n);
    for (uint32_t i = 0; i < n; i++) {
        const struct ir_type_data *t = rules_shape(r, rules_in(r, op, i));
        int64_t dims[IR_MAX_RANK] = {1};
        memcpy(dims + 1, t->dims, t->rank * sizeof *dims);
        out[i] = join(&k, gather(&k, reshape(&k, rules_in(r, op, i), dims, t->rank + 1)), (uint32_t)dim);
    }
    opt_replace(&r->map, op, out);
    return true;
}

bool opt_rule_all_to_all(struct rules *r, ir_op op) {
    struct maker k = {r, op, group_of(r, op, IR_ALL_TO_ALL_replica_groups, IR_ALL_TO_ALL_channel_handle, IR_SLOT_NONE)};
    int64_t from = ir_prop_i64(r->m, op, IR_ALL_TO_ALL_split_dimension);
    int64_t to = ir_prop_i64(r->m, op, IR_ALL_TO_ALL_concat_dimension);
    uint32_t n = ir_op_get(r->m, op)->noperands;
    bool outermost = from == to;
    k.group.n = ir_prop_i64(r->m, op, IR_ALL_TO_ALL_split_count);
    k.group.exchange_channel = k.group.channel;
    for (uint32_t i = 0; i < n; i++) {
        if (!splits(r, rules_in(r, op, i), from, k.group.n) || !splits(r, rules_in(r, op, i), to, 1))
            return false;
        outermost = outermost && is_outermost(rules_shape(r, rules_in(r, op, i)), from);
    }
    if (outermost)
        return false;
    ir_val *out = ARENA_ARRAY(&r->o->scratch, ir_val, n);
    for (uint32_t i = 0; i < n; i++)
        out[i] = join(&k, exchange(&k, split(&k, rules_in(r, op, i), (uint32_t)from)), (uint32_t)to);
    opt_replace(&r->map, op, out);
    return true;
}

bool opt_rule_reduce_scatter(struct rules *r, ir_op op) {
    struct maker k = {r, op, group_of(r, op, IR_REDUCE_SCATTER_replica_groups, IR_REDUCE_SCATTER_channel_handle,
                                      IR_REDUCE_SCATTER_use_global_device_ids)};
    int64_t dim = ir_prop_i64(r->m, op, IR_REDUCE_SCATTER_scatter_dimension);
    ir_region region = ir_op_region(r->m, op, 0);
    ir_val in = rules_in(r, op, 0), out = ir_result(r->m, op, 0);
    if (!k.group.exchanges || !is_fold(r, region) || !splits(r, in, dim, k.group.n) || !can_move(r, out))
        return false;
    ir_val sum = fold(&k, region, rules_shape(r, out)->elem, exchange(&k, split(&k, in, (uint32_t)dim)));
    return rules_become(r, op, sum);
}
