/* Sharding propagation: see propagate.h.
 *
 * Shardings go forward, from operands to results, then backward, from uses to values that have no other use. A while is tried
 * with all variables sharded that can be, until its body needs none of them replicated and yields each with its sharding. */
#include "opt/propagate.h"

#include "base/decimal.h"

enum {
    PROPAGATE_SHARDINGS = 256, /* different shardings; values that would need more are replicated */
    PROPAGATE_NESTED = 2,      /* loops in loops; values of deeper ones are replicated */
    PROPAGATE_ATTEMPTS = 8     /* at a loop */
};

/* A sharding of one dimension; number 0 is replicated. */
struct dim_sharding {
    int64_t parts;
    const int32_t *held; /* by partition */
};

/* A sharding of all dimensions; number 0 is replicated. */
struct known_sharding {
    uint32_t dim_ids[IR_MAX_RANK];
    struct sharding sharding;
};

struct propagation {
    struct opt *o;
    uint32_t partitions, depth;
    struct { struct dim_sharding *v; uint32_t n, cap; } dim_shardings;
    struct { struct known_sharding *v; uint32_t n, cap; } shardings;
    struct opt_ids of;   /* by value: its id */
    struct opt_ids need; /* by value: the sharding that its uses so far need: 0 = unknown, 1 + id; replicated if they differ */
    struct opt_ids at;   /* by sharded op: where in `taken` the ids of its operands begin */
    struct { uint32_t *v; uint32_t n, cap; } taken;
};

static void forward(struct propagation *d, ir_block b);
static void backward(struct propagation *d, ir_block b);

/* ---- ids ----------------------------------------------------------------------------------- */

/* The number of a row; PROPAGATE_SHARDINGS when there are too many. */
static uint32_t dim_sharding_id(struct propagation *d, int64_t parts, const int32_t *held) {
    uint32_t r = 0;
    if (parts == 1)
        return 0;
    for (r = 1; r < d->dim_shardings.n; r++)
        if (d->dim_shardings.v[r].parts == parts && memcmp(d->dim_shardings.v[r].held, held, d->partitions * sizeof *held) == 0)
            return r;
    struct dim_sharding row = {parts, held};
    if (r < PROPAGATE_SHARDINGS)
        ARENA_PUSH(&d->o->scratch, &d->dim_shardings, row);
    return r;
}

/* Every tile is held by as many partitions as any other. */
static bool is_even(struct propagation *d, const uint32_t *dim_ids, uint32_t rank) {
    int64_t tiles = 1;
    for (uint32_t i = 0; i < rank; i++) {
        if (d->dim_shardings.v[dim_ids[i]].parts > d->partitions / tiles)
            return false;
        tiles *= d->dim_shardings.v[dim_ids[i]].parts;
    }
    uint32_t *count = ARENA_ARRAY(&d->o->scratch, uint32_t, (size_t)tiles);
    memset(count, 0, (size_t)tiles * sizeof *count);
    for (uint32_t p = 0; p < d->partitions; p++) {
        int64_t tile = 0;
        for (uint32_t i = 0; i < rank; i++)
            tile = dim_ids[i] ? tile * d->dim_shardings.v[dim_ids[i]].parts + d->dim_shardings.v[dim_ids[i]].held[p] : tile;
        if (++count[tile] > d->partitions / tiles)
            return false;
    }
    return d->partitions % tiles == 0;
}

/* The number of a id; false when there is none, or there are too many. */
static bool sharding_id(struct propagation *d, const uint32_t *dim_ids, uint32_t rank, uint32_t *out) {
    bool whole = true;
    for (uint32_t i = 0; i < rank; i++)
        whole = whole && !dim_ids[i];
    *out = 0;
    if (whole)
        return true;
    for (uint32_t k = 1; k < d->shardings.n; k++)
        if (d->shardings.v[k].sharding.rank == rank &&
            memcmp(d->shardings.v[k].dim_ids, dim_ids, rank * sizeof *dim_ids) == 0) {
            *out = k;
            return true;
        }
    if (d->shardings.n == PROPAGATE_SHARDINGS || !is_even(d, dim_ids, rank))
        return false;
    struct arena *a = &d->o->scratch;
    int64_t *parts = ARENA_ARRAY(a, int64_t, rank);
    int32_t *held = ARENA_ARRAY(a, int32_t, (size_t)rank * d->partitions);
    struct known_sharding id = {.sharding = {rank, parts, held}};
    for (uint32_t i = 0; i < rank; i++) {
        id.dim_ids[i] = dim_ids[i];
        parts[i] = d->dim_shardings.v[dim_ids[i]].parts;
        memcpy(held + (size_t)i * d->partitions, d->dim_shardings.v[dim_ids[i]].held, d->partitions * sizeof *held);
    }
    ARENA_PUSH(a, &d->shardings, id);
    *out = d->shardings.n - 1;
    return true;
}

static bool sharding_id_read(struct propagation *d, const struct sharding *s, uint32_t *out) {
    uint32_t dim_ids[IR_MAX_RANK];
    for (uint32_t i = 0; i < s->rank; i++) {
        dim_ids[i] = dim_sharding_id(d, s->parts[i], s->held + (size_t)i * d->partitions);
        if (dim_ids[i] == PROPAGATE_SHARDINGS)
            return false;
    }
    return sharding_id(d, dim_ids, s->rank, out);
}

/* ---- ops ------------------------------------------------------------------------------------- */

static bool plain(const struct ir_module *m, ir_val v) {
    const struct ir_type_data *t = ir_val_type(m, v);
    return t->kind == IR_TYPE_TENSOR && !t->quant && ir_type_is_static(t);
}

static bool listed(const int64_t *v, size_t n, int64_t x) {
    for (size_t i = 0; i < n; i++)
        if (v[i] == x)
            return true;
    return false;
}

/* ---- dimensions ------------------------------------------------------------------------------ */

/* The handlers of column `dims` of ops.def: the dimension of the results that dimension `dim` of operand i becomes; -1 when all
 * of it is needed, or it is one element for many. */
typedef int64_t dims_fn(const struct ir_module *m, ir_op op, uint32_t i, uint32_t dim);

static const struct ir_type_data *operand_type(const struct ir_module *m, ir_op op, uint32_t i) {
    return ir_val_type(m, ir_operand(m, op, i));
}

static const struct ir_type_data *result_type(const struct ir_module *m, ir_op op) {
    return ir_val_type(m, ir_result(m, op, 0));
}

static int64_t dims_none(const struct ir_module *m, ir_op op, uint32_t i, uint32_t dim) {
    (void)m, (void)op, (void)i, (void)dim;
    return -1;
}

/* Element by element, where scalars are for all of them, or a part of the operand in its place. */
static int64_t dims_same(const struct ir_module *m, ir_op op, uint32_t i, uint32_t dim) {
    return operand_type(m, op, i)->rank == result_type(m, op)->rank ? (int64_t)dim : -1;
}

static int64_t dims_broadcast_in_dim(const struct ir_module *m, ir_op op, uint32_t i, uint32_t dim) {
    (void)i;
    size_t n;
    return ir_prop_i64s(m, op, IR_BROADCAST_IN_DIM_broadcast_dimensions, &n)[dim];
}

/* Of the dimensions of the operand that are not of one element, the k-th is the k-th of such of the result, where all of them
   are. */
static int64_t dims_reshape(const struct ir_module *m, ir_op op, uint32_t operand, uint32_t dim) {
    const struct ir_type_data *from = operand_type(m, op, operand), *to = result_type(m, op);
    int64_t out = -1;
    uint32_t k = 0;
    for (uint32_t i = 0; i < from->rank; i++) {
        if (from->dims[i] == 1)
            continue;
        while (k < to->rank && to->dims[k] == 1)
            k++;
        if (k == to->rank || to->dims[k] != from->dims[i])
            return -1;
        if (i == dim)
            out = k;
        k++;
    }
    return out;
}

static int64_t dims_transpose(const struct ir_module *m, ir_op op, uint32_t i, uint32_t dim) {
    (void)i;
    size_t n;
    const int64_t *order = ir_prop_i64s(m, op, IR_TRANSPOSE_permutation, &n);
    for (size_t k = 0; k < n; k++)
        if (order[k] == dim)
            return (int64_t)k;
    return -1;
}

static int64_t dims_concatenate(const struct ir_module *m, ir_op op, uint32_t i, uint32_t dim) {
    (void)i;
    return ir_prop_i64(m, op, IR_CONCATENATE_dimension) == dim ? -1 : (int64_t)dim;
}

static int64_t dims_reduce(const struct ir_module *m, ir_op op, uint32_t i, uint32_t dim) {
    size_t n;
    const int64_t *reduced = ir_prop_i64s(m, op, IR_REDUCE_dimensions, &n);
    if (i >= ir_op_get(m, op)->noperands / 2 || listed(reduced, n, dim))
        return -1;
    int64_t out = dim;
    for (size_t k = 0; k < n; k++)
        out -= reduced[k] < dim;
    return out;
}

/* Along what is updated, all is needed. */
static int64_t dims_dynamic_update_slice(const struct ir_module *m, ir_op op, uint32_t i, uint32_t dim) {
    return i < 2 && operand_type(m, op, 0)->dims[dim] == operand_type(m, op, 1)->dims[dim] ? (int64_t)dim : -1;
}

/* Batching dimensions of the result come first, then those of lhs, then those of rhs. */
static int64_t dims_dot_general(const struct ir_module *m, ir_op op, uint32_t i, uint32_t dim) {
    ir_attr numbers = ir_prop(m, op, IR_DOT_GENERAL_dot_dimension_numbers);
    static const enum ir_field_slot batch[] = {IR_DOT_lhs_batching_dimensions_F, IR_DOT_rhs_batching_dimensions_F};
    static const enum ir_field_slot summed[] = {IR_DOT_lhs_contracting_dimensions_F, IR_DOT_rhs_contracting_dimensions_F};
    size_t nbatch, nsummed;
    const int64_t *b = ir_field_dims(m, numbers, batch[i], &nbatch), *s = ir_field_dims(m, numbers, summed[i], &nsummed);
    for (size_t k = 0; k < nbatch; k++)
        if (b[k] == dim)
            return (int64_t)k;
    if (listed(s, nsummed, dim))
        return -1;
    int64_t at = (int64_t)nbatch;
    if (i == 1)
        at = ir_val_type(m, ir_operand(m, op, 0))->rank - (int64_t)nsummed; /* batching ones counted */
    for (uint32_t k = 0; k < dim; k++)
        at += !listed(b, nbatch, k) && !listed(s, nsummed, k);
    return at;
}

/* Dimensions of slices that are as long as the operand, or that indices go along. */
static int64_t dims_gather(const struct ir_module *m, ir_op op, uint32_t i, uint32_t dim) {
    ir_attr numbers = ir_prop(m, op, IR_GATHER_dimension_numbers);
    size_t noffset, ncollapsed, nbatch, n;
    const int64_t *offset = ir_field_dims(m, numbers, IR_GATHER_offset_dims_F, &noffset);
    const int64_t *collapsed = ir_field_dims(m, numbers, IR_GATHER_collapsed_slice_dims_F, &ncollapsed);
    const int64_t *batch = ir_field_dims(m, numbers, IR_GATHER_operand_batching_dims_F, &nbatch);
    const int64_t *along = ir_field_dims(m, numbers, IR_GATHER_start_indices_batching_dims_F, &n);
    int64_t vector = ir_field_i64(m, numbers, IR_GATHER_index_vector_dim_F), out = 0, skip;
    if (i == 0 && !listed(batch, nbatch, dim)) {
        if (listed(collapsed, ncollapsed, dim))
            return -1;
        for (uint32_t k = 0; k < dim; k++)
            out += !listed(collapsed, ncollapsed, k) && !listed(batch, nbatch, k);
        return offset[out];
    }
    int64_t of = dim; /* the dimension of the indices */
    for (size_t k = 0; i == 0 && k < nbatch; k++)
        if (batch[k] == dim)
            of = along[k];
    if (of == vector)
        return -1;
    for (skip = of - (of > vector); listed(offset, noffset, out) || skip--; out++)
        ;
    return out;
}

/* Dimensions that nothing is added to. */
static int64_t dims_pad(const struct ir_module *m, ir_op op, uint32_t i, uint32_t dim) {
    static const enum ir_slot lists[] = {IR_PAD_edge_padding_low, IR_PAD_edge_padding_high, IR_PAD_interior_padding};
    size_t n;
    for (int k = 0; k < 3 && i == 0; k++)
        if (ir_prop_i64s(m, op, lists[k], &n)[dim])
            return -1;
    return i == 0 ? (int64_t)dim : -1;
}

/* Dimensions of the operand that updates have in full, or that indices go along. */
static int64_t dims_scatter(const struct ir_module *m, ir_op op, uint32_t i, uint32_t dim) {
    ir_attr numbers = ir_prop(m, op, IR_SCATTER_scatter_dimension_numbers);
    size_t nwindow, ninserted, nbatch, nscattered, n;
    const int64_t *window = ir_field_dims(m, numbers, IR_SCATTER_update_window_dims_F, &nwindow);
    const int64_t *inserted = ir_field_dims(m, numbers, IR_SCATTER_inserted_window_dims_F, &ninserted);
    const int64_t *batch = ir_field_dims(m, numbers, IR_SCATTER_input_batching_dims_F, &nbatch);
    const int64_t *along = ir_field_dims(m, numbers, IR_SCATTER_scatter_indices_batching_dims_F, &n);
    const int64_t *scattered = ir_field_dims(m, numbers, IR_SCATTER_scatter_dims_to_operand_dims_F, &nscattered);
    int64_t vector = ir_field_i64(m, numbers, IR_SCATTER_index_vector_dim_F), of = dim;
    if (ir_op_get(m, op)->noperands != 3)
        return -1;
    if (i == 2 && !listed(window, nwindow, dim)) { /* the dimension of the indices that it is */
        of = 0;
        for (uint32_t k = 0; k < dim; k++)
            of += !listed(window, nwindow, k);
        of += of >= vector;
    }
    if (i == 1 || (i == 2 && !listed(window, nwindow, dim))) {
        for (size_t k = 0; k < nbatch && of != vector; k++)
            if (along[k] == of)
                return batch[k];
        return -1;
    }
    if (i == 0 && listed(batch, nbatch, dim))
        return dim;
    size_t at = 0; /* in the window */
    for (uint32_t k = 0; k < operand_type(m, op, 0)->rank; k++) {
        if (listed(inserted, ninserted, k) || listed(batch, nbatch, k))
            continue;
        bool full = !listed(scattered, nscattered, k) && at < nwindow &&
                    operand_type(m, op, 2)->dims[window[at]] == operand_type(m, op, 0)->dims[k];
        if (i == 0 ? k == dim : window[at] == dim)
            return full ? (int64_t)k : -1;
        at++;
    }
    return -1;
}

/* The leading dimensions along which a custom call computes batch by batch, as JAX says: all results have them, and operands of
   as many dimensions. 0 = none, or not all of that holds. */
static uint32_t batch_dims(const struct ir_module *m, ir_op op) {
    const struct ir_op_data *x = ir_op_get(m, op);
    if (x->kind != IR_CUSTOM_CALL || x->nresults == 0 || ir_prop_i64(m, op, IR_CUSTOM_CALL_has_side_effect))
        return 0;
    ir_attr front = ir_dict_find(m, x->attrs, STR("mhlo.frontend_attributes"));
    struct str text = ir_attr_get(m, front)->kind == IR_ATTR_DICT
                          ? ir_attr_as_str(m, ir_dict_find(m, front, STR("num_batch_dims"))) : (struct str){NULL, 0};
    const struct ir_type_data *first = result_type(m, op);
    const char *next;
    int64_t n;
    if (!text.n || !dec_parse_i64(text.p, text.p + text.n, &n, &next) || next != text.p + text.n || n < 1 || n > first->rank)
        return 0;
    for (uint32_t i = 0; i < x->nresults + x->noperands; i++) {
        const struct ir_type_data *t = ir_val_type(m, i < x->nresults ? ir_result(m, op, i) : x->operands[i - x->nresults]);
        bool has = t->kind == IR_TYPE_TENSOR && t->rank >= n;
        if (!has && i < x->nresults)
            return 0;
        for (int64_t k = 0; k < n && has; k++)
            if (t->dims[k] != first->dims[k])
                return 0;
    }
    return (uint32_t)n;
}

static int64_t dims_custom_call(const struct ir_module *m, ir_op op, uint32_t i, uint32_t dim) {
    uint32_t n = batch_dims(m, op);
    return dim < n && operand_type(m, op, i)->rank >= n ? (int64_t)dim : -1;
}

static dims_fn *const dims_of[] = {
#define OP(id, name, form, operands, results, regions, traits, cost, rule, eval, lower, dims, sharding) [IR_##id] = dims_##dims,
#include "ir/ops.def"
};

/* The dimension of the results that has the elements of dimension `dim` of operand i in the same places; -1 when none has. */
static int64_t result_dim(const struct ir_module *m, ir_op op, uint32_t i, uint32_t dim) {
    const struct ir_type_data *from = operand_type(m, op, i), *to = result_type(m, op);
    int64_t out = dims_of[ir_kind(m, op)](m, op, i, dim);
    return out >= 0 && out < to->rank && from->dims[dim] == to->dims[out] ? out : -1;
}

/* An op that can compute shards of its results from shards of its operands. */
static bool can_shard(const struct ir_module *m, ir_op op) {
    const struct ir_op_data *x = ir_op_get(m, op);
    if (dims_of[x->kind] == dims_none || x->nresults == 0 || (x->kind == IR_CUSTOM_CALL && !batch_dims(m, op)) ||
        (x->kind == IR_CONSTANT && !ir_attr_get(m, ir_constant_value(m, op))->splat))
        return false;
    for (uint32_t i = 0; i < x->noperands; i++)
        if (!plain(m, x->operands[i]))
            return false;
    for (uint32_t i = 0; i < x->nresults; i++)
        if (!plain(m, ir_result(m, op, i)))
            return false;
    return true;
}

/* Every partition can make its part of this dimension of the result, which is in no operand. */
static bool makes_locally(const struct ir_module *m, ir_op op, uint32_t dim) {
    enum ir_op_kind kind = ir_kind(m, op);
    if (kind == IR_CONSTANT || kind == IR_BROADCAST_IN_DIM) /* dimensions of one element are not becoming one of many */
        return true;
    if (kind != IR_IOTA)
        return false;
    const struct ir_dtype_info *t = ir_dtype_get(result_type(m, op)->dtype);
    return ir_prop_i64(m, op, IR_IOTA_iota_dimension) != dim ||
           ((t->cls == IR_SINT || t->cls == IR_UINT) && t->bits >= 32); /* others cannot count on from anywhere */
}

static bool is_reversed(const struct ir_module *m, ir_op op, uint32_t dim) {
    size_t n;
    const int64_t *dims = ir_prop_i64s(m, op, IR_REVERSE_dimensions, &n);
    return listed(dims, n, dim);
}

/* The row with the last part where the first one was. */
static uint32_t reversed_sharding(struct propagation *d, uint32_t row) {
    int64_t parts = d->dim_shardings.v[row].parts;
    int32_t *held = ARENA_ARRAY(&d->o->scratch, int32_t, d->partitions);
    for (uint32_t p = 0; p < d->partitions; p++)
        held[p] = (int32_t)(parts - 1 - d->dim_shardings.v[row].held[p]);
    return dim_sharding_id(d, parts, held);
}

/* What an op with results of that id needs of operand i. */
static bool operand_sharding(struct propagation *d, ir_op op, uint32_t result, uint32_t i, uint32_t *out) {
    const struct ir_module *m = d->o->m;
    uint32_t dim_ids[IR_MAX_RANK], rank = ir_val_type(m, ir_operand(m, op, i))->rank;
    for (uint32_t k = 0; k < rank; k++) {
        int64_t to = result_dim(m, op, i, k);
        dim_ids[k] = to < 0 ? 0 : d->shardings.v[result].dim_ids[to];
        if (dim_ids[k] && ir_kind(m, op) == IR_REVERSE && is_reversed(m, op, k))
            dim_ids[k] = reversed_sharding(d, dim_ids[k]);
        if (dim_ids[k] == PROPAGATE_SHARDINGS)
            return false;
    }
    return sharding_id(d, dim_ids, rank, out);
}

/* The id of result i where the first has `id`. */
static bool other_result(struct propagation *d, ir_op op, uint32_t id, uint32_t i, uint32_t *out) {
    uint32_t dim_ids[IR_MAX_RANK] = {0}, rank = ir_val_type(d->o->m, ir_result(d->o->m, op, i))->rank;
    const struct known_sharding *first = &d->shardings.v[id];
    for (uint32_t k = 0; k < rank && k < first->sharding.rank; k++)
        dim_ids[k] = first->dim_ids[k];
    return sharding_id(d, dim_ids, rank, out);
}

/* The op can have results of that id. */
static bool can_be(struct propagation *d, ir_op op, uint32_t id) {
    const struct ir_module *m = d->o->m;
    const struct ir_op_data *x = ir_op_get(m, op);
    const struct known_sharding *k = &d->shardings.v[id];
    uint32_t unused;
    for (uint32_t r = 0; r < k->sharding.rank; r++) {
        bool found = !k->dim_ids[r] || makes_locally(m, op, r);
        for (uint32_t i = 0; i < x->noperands && !found; i++)
            for (uint32_t dim = 0; dim < ir_val_type(m, x->operands[i])->rank && !found; dim++)
                found = result_dim(m, op, i, dim) == r;
        if (!found)
            return false;
    }
    for (uint32_t i = 0; i < x->noperands; i++)
        if (!operand_sharding(d, op, id, i, &unused))
            return false;
    for (uint32_t i = 1; i < x->nresults; i++)
        if (!other_result(d, op, id, i, &unused))
            return false;
    return true;
}

/* The id that results have by the op's operands; of dimensions that cannot both be divided as operands say, the first. */
static uint32_t result_sharding(struct propagation *d, ir_op op) {
    const struct ir_module *m = d->o->m;
    const struct ir_op_data *x = ir_op_get(m, op);
    uint32_t dim_ids[IR_MAX_RANK] = {0}, rank = ir_val_type(m, ir_result(m, op, 0))->rank, out = 0;
    for (uint32_t i = 0; i < x->noperands; i++) {
        uint32_t from = opt_ids_get(&d->of, x->operands[i].i);
        for (uint32_t dim = 0; from && dim < ir_val_type(m, x->operands[i])->rank; dim++) {
            int64_t to = d->shardings.v[from].dim_ids[dim] ? result_dim(m, op, i, dim) : -1;
            if (to < 0 || dim_ids[to])
                continue;
            uint32_t tried;
            dim_ids[to] = d->shardings.v[from].dim_ids[dim];
            if (sharding_id(d, dim_ids, rank, &tried))
                out = tried;
            else
                dim_ids[to] = 0;
        }
    }
    return out;
}

/* ---- what is known, what is needed ----------------------------------------------------------- */

/* The results have the sharding of the first; those of other ranks that of its leading dimensions. */
static void set_results(struct propagation *d, ir_op op, uint32_t id) {
    for (uint32_t i = 0; i < ir_op_get(d->o->m, op)->nresults; i++) {
        uint32_t of = id;
        (void)other_result(d, op, id, i, &of); /* there is one, as can_be found */
        opt_ids_set(&d->of, ir_result(d->o->m, op, i).i, of);
    }
}

static uint32_t needed(const struct propagation *d, ir_val v) {
    uint32_t n = opt_ids_get(&d->need, v.i);
    return n ? n - 1 : 0;
}

static void need(struct propagation *d, ir_val v, uint32_t id) {
    uint32_t old = opt_ids_get(&d->need, v.i);
    opt_ids_set(&d->need, v.i, old && old != 1 + id ? 1 : 1 + id);
}

/* All that the op, and what is inside of it, uses. */
static void need_replicated(struct propagation *d, ir_op op) {
    const struct ir_module *m = d->o->m;
    const struct ir_op_data *x = ir_op_get(m, op);
    for (uint32_t i = 0; i < x->noperands; i++)
        need(d, x->operands[i], 0);
    for (uint32_t r = 0; r < x->nregions; r++)
        for (ir_block b = ir_region_get(m, ir_op_region(m, op, r))->first; !IR_NONE(b); b = ir_block_get(m, b)->next)
            for (ir_op in = ir_block_get(m, b)->first; !IR_NONE(in); in = ir_op_get(m, in)->next)
                need_replicated(d, in);
}

/* Nothing is known of what the block defines, and nothing needed. */
static void forget(struct propagation *d, ir_block b) {
    const struct ir_module *m = d->o->m;
    for (uint32_t i = 0; i < ir_block_get(m, b)->nargs; i++) {
        opt_ids_set(&d->of, ir_block_get(m, b)->args[i].i, 0);
        opt_ids_set(&d->need, ir_block_get(m, b)->args[i].i, 0);
    }
    for (ir_op op = ir_block_get(m, b)->first; !IR_NONE(op); op = ir_op_get(m, op)->next) {
        const struct ir_op_data *x = ir_op_get(m, op);
        for (uint32_t i = 0; i < x->nresults; i++) {
            opt_ids_set(&d->of, ir_result(m, op, i).i, 0);
            opt_ids_set(&d->need, ir_result(m, op, i).i, 0);
        }
        for (uint32_t r = 0; r < x->nregions; r++)
            for (ir_block in = ir_region_get(m, ir_op_region(m, op, r))->first; !IR_NONE(in); in = ir_block_get(m, in)->next)
                forget(d, in);
    }
}

/* ---- loops ----------------------------------------------------------------------------------- */

/* With variables of these ids: takes those back that this is not good for, adds those that the body makes as shards and that
   are not tried yet, and returns their number. */
static uint32_t try_loop(struct propagation *d, ir_op op, const ir_block *in, uint32_t *ids, bool *tried) {
    const struct ir_module *m = d->o->m;
    uint32_t n = ir_op_get(m, op)->noperands, changed = 0;
    ir_op end = ir_terminator(m, in[1]);
    for (int r = 0; r < 2; r++) {
        forget(d, in[r]);
        for (uint32_t k = 0; k < n; k++)
            opt_ids_set(&d->of, ir_block_get(m, in[r])->args[k].i, ids[k]);
        forward(d, in[r]);
    }
    need_replicated(d, ir_terminator(m, in[0]));
    for (uint32_t k = 0; k < n; k++)
        need(d, ir_operand(m, end, k), ids[k]);
    for (int r = 0; r < 2; r++)
        backward(d, in[r]);
    for (uint32_t k = 0; k < n; k++) {
        uint32_t made = opt_ids_get(&d->of, ir_operand(m, end, k).i), old = ids[k];
        bool good = made == old;
        for (int r = 0; r < 2; r++) {
            uint32_t asked = opt_ids_get(&d->need, ir_block_get(m, in[r])->args[k].i);
            good = good && (!asked || asked == 1 + old);
        }
        if (old && !good)
            ids[k] = 0;
        else if (!old && !tried[k])
            ids[k] = made;
        tried[k] = tried[k] || ids[k];
        changed += ids[k] != old;
    }
    return changed;
}

static void loop(struct propagation *d, ir_op op) {
    const struct ir_module *m = d->o->m;
    const struct ir_op_data *x = ir_op_get(m, op);
    uint32_t *ids = ARENA_ARRAY(&d->o->scratch, uint32_t, x->noperands + 1), some = 0, changed = 1;
    bool *tried = ARENA_ARRAY(&d->o->scratch, bool, x->noperands + 1);
    ir_block in[2];
    for (uint32_t k = 0; k < x->noperands; k++) {
        ir_val v = ir_result(m, op, k);
        ids[k] = opt_ids_get(&d->of, x->operands[k].i);
        if (!ids[k] && plain(m, v))
            ids[k] = opt_ids_get(&d->of, v.i) ? opt_ids_get(&d->of, v.i) : needed(d, v);
        tried[k] = ids[k] != 0;
        some += ids[k] != 0;
    }
    for (uint32_t r = 0; r < 2; r++)
        in[r] = ir_region_get(m, ir_op_region(m, op, r))->first;
    if (!some || d->depth == PROPAGATE_NESTED)
        return;
    d->depth++;
    for (int attempt = 0; attempt < PROPAGATE_ATTEMPTS && changed; attempt++)
        changed = try_loop(d, op, in, ids, tried);
    d->depth--;
    for (uint32_t k = 0; k < x->noperands; k++)
        opt_ids_set(&d->of, ir_result(m, op, k).i, changed ? 0 : ids[k]);
    for (int r = 0; r < 2 && changed; r++)
        forget(d, in[r]);
}

static void loop_needs(struct propagation *d, ir_op op) {
    const struct ir_module *m = d->o->m;
    loop(d, op);
    bool divided = false;
    for (uint32_t k = 0; k < ir_op_get(m, op)->noperands; k++)
        divided = divided || opt_ids_get(&d->of, ir_result(m, op, k).i);
    if (!divided) {
        need_replicated(d, op);
        return;
    }
    for (uint32_t k = 0; k < ir_op_get(m, op)->noperands; k++)
        need(d, ir_operand(m, op, k), opt_ids_get(&d->of, ir_result(m, op, k).i));
}

/* ---- blocks ---------------------------------------------------------------------------------- */

static void forward(struct propagation *d, ir_block b) {
    const struct ir_module *m = d->o->m;
    for (ir_op op = ir_block_get(m, b)->first; !IR_NONE(op); op = ir_op_get(m, op)->next) {
        if (ir_kind(m, op) == IR_WHILE) {
            loop(d, op);
        } else if (can_shard(m, op) && !opt_ids_get(&d->of, ir_result(m, op, 0).i)) {
            uint32_t id = result_sharding(d, op);
            if (id && can_be(d, op, id))
                set_results(d, op, id);
        }
    }
}

/* Of all ops but the terminator, whose needs are known. */
static void backward(struct propagation *d, ir_block b) {
    const struct ir_module *m = d->o->m;
    for (ir_op op = ir_op_get(m, ir_terminator(m, b))->prev; !IR_NONE(op); op = ir_op_get(m, op)->prev) {
        const struct ir_op_data *x = ir_op_get(m, op);
        if (x->kind == IR_WHILE) {
            loop_needs(d, op);
            continue;
        }
        uint32_t given = x->nresults == 1 ? opt_ids_get(&d->of, ir_result(m, op, 0).i) : 0;
        bool constrains = x->kind == IR_CUSTOM_CALL && given && !batch_dims(m, op);
        if (x->kind == IR_SDY_SHARDING_CONSTRAINT || constrains) {
            need(d, x->operands[0], given);
            continue;
        }
        if (!can_shard(m, op)) {
            need_replicated(d, op);
            continue;
        }
        ir_val v = ir_result(m, op, 0);
        if (!opt_ids_get(&d->of, v.i) && x->nresults == 1 && needed(d, v) && can_be(d, op, needed(d, v)))
            set_results(d, op, needed(d, v));
        uint32_t id = opt_ids_get(&d->of, v.i), asked;
        for (uint32_t i = 0; i < x->noperands; i++)
            need(d, x->operands[i], id && operand_sharding(d, op, id, i, &asked) ? asked : 0);
    }
}

/* What ops take, while all values have the types of wholes. */
static void note(struct propagation *d, ir_block b) {
    const struct ir_module *m = d->o->m;
    for (ir_op op = ir_block_get(m, b)->first; !IR_NONE(op); op = ir_op_get(m, op)->next) {
        if (ir_kind(m, op) == IR_WHILE) {
            for (uint32_t r = 0; r < 2; r++)
                note(d, ir_region_get(m, ir_op_region(m, op, r))->first);
            continue;
        }
        uint32_t id = can_shard(m, op) ? opt_ids_get(&d->of, ir_result(m, op, 0).i) : 0, taken;
        if (id)
            opt_ids_set(&d->at, op.i, d->taken.n);
        for (uint32_t i = 0; i < ir_op_get(m, op)->noperands && id; i++) {
            taken = 0; /* there is one, as can_be found */
            (void)operand_sharding(d, op, id, i, &taken);
            ARENA_PUSH(&d->o->scratch, &d->taken, taken);
        }
    }
}

/* ---- entry ----------------------------------------------------------------------------------- */

struct propagation *propagation_new(struct opt *o, uint32_t partitions) {
    struct propagation *d = ARENA_NEW(&o->scratch, struct propagation);
    *d = (struct propagation){.o = o, .partitions = partitions, .of = {.a = &o->scratch}, .need = {.a = &o->scratch},
                         .at = {.a = &o->scratch}};
    int32_t *zeros = ARENA_ARRAY(&o->scratch, int32_t, partitions);
    memset(zeros, 0, partitions * sizeof *zeros);
    ARENA_PUSH(&o->scratch, &d->dim_shardings, ((struct dim_sharding){1, zeros}));
    ARENA_PUSH(&o->scratch, &d->shardings, (struct known_sharding){.sharding = {.rank = 0}});
    return d;
}

void propagation_seed(struct propagation *d, ir_val v, const struct sharding *s) {
    uint32_t id;
    if (plain(d->o->m, v) && sharding_id_read(d, s, &id))
        opt_ids_set(&d->of, v.i, id);
}

void propagation_run(struct propagation *d, ir_block body, const struct sharding *const *results) {
    const struct ir_module *m = d->o->m;
    ir_op end = ir_terminator(m, body);
    uint32_t id;
    forward(d, body);
    for (uint32_t i = 0; i < ir_op_get(m, end)->noperands; i++)
        if (results[i])
            need(d, ir_operand(m, end, i), sharding_id_read(d, results[i], &id) ? id : 0);
    backward(d, body);
    note(d, body);
}

const struct sharding *propagation_sharding(const struct propagation *d, ir_val v) {
    uint32_t id = opt_ids_get(&d->of, v.i);
    return id ? &d->shardings.v[id].sharding : NULL;
}

const struct sharding *propagation_operand(const struct propagation *d, ir_op op, uint32_t i) {
    uint32_t id = d->taken.v[opt_ids_get(&d->at, op.i) + i];
    return id ? &d->shardings.v[id].sharding : NULL;
}
