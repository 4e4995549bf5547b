/* Sharding rules of the ops (openxla/shardy, op_sharding_rule_registry.cc); see sdy_rule.h. Factors are in the order of
 * Shardy's rules, on which the resolution of conflicts depends. */
#include "opt/sdy_rule.h"

enum { NO_DIM = -1 };

/* A rule that is being built. */
struct build {
    struct sdy *s;
    const struct ir_module *m;
    ir_op op;
    uint32_t noperands, nresults;
    const struct ir_type_data **types;                     /* of operands, then results */
    struct factor_list { uint32_t *v; uint32_t n, cap; } **dims; /* [tensor][dimension] */
    struct { struct sdy_factor *v; uint32_t n, cap; } factors;
    bool none;                                             /* there is no rule */
};

typedef void rule_fn(struct build *b);

static struct build build_new(struct sdy *s, ir_op op, const struct ir_type_data *const *types, uint32_t noperands,
                              uint32_t nresults) {
    uint32_t n = noperands + nresults;
    struct build b = {.s = s, .m = s->m, .op = op, .noperands = noperands, .nresults = nresults};
    b.types = ARENA_ARRAY(s->a, const struct ir_type_data *, n + 1);
    b.dims = ARENA_ARRAY(s->a, struct factor_list *, n + 1);
    for (uint32_t i = 0; i < n; i++) {
        b.types[i] = types[i];
        b.dims[i] = ARENA_ARRAY(s->a, struct factor_list, types[i]->rank + 1);
    }
    return b;
}

/* What has no factor gets one of size 1. */
static const struct sdy_rule *build_end(struct build *b) {
    uint32_t n = b->noperands + b->nresults, *ranks = ARENA_ARRAY(b->s->a, uint32_t, n + 1);
    const struct sdy_dim_factors **dims = ARENA_ARRAY(b->s->a, const struct sdy_dim_factors *, n + 1);
    struct sdy_rule *rule = ARENA_NEW(b->s->a, struct sdy_rule);
    if (b->none)
        return NULL;
    for (uint32_t t = 0; t < n; t++) {
        struct sdy_dim_factors *out = ARENA_ARRAY(b->s->a, struct sdy_dim_factors, b->types[t]->rank + 1);
        for (uint32_t d = 0; d < b->types[t]->rank; d++) {
            struct factor_list *list = &b->dims[t][d];
            if (!list->n) {
                ARENA_PUSH(b->s->a, list, b->factors.n);
                ARENA_PUSH(b->s->a, &b->factors, ((struct sdy_factor){.size = 1}));
            }
            out[d] = (struct sdy_dim_factors){list->n, list->v};
        }
        ranks[t] = b->types[t]->rank;
        dims[t] = out;
    }
    *rule = (struct sdy_rule){b->factors.n, b->noperands, b->nresults, b->factors.v, ranks, dims, false};
    return rule;
}

/* A factor that no tensor has yet. */
static uint32_t reserve(struct build *b, int64_t size, enum sdy_factor_type type, bool blocked) {
    ARENA_PUSH(b->s->a, &b->factors, ((struct sdy_factor){size, type, blocked}));
    return b->factors.n - 1;
}

static void map_dim(struct build *b, uint32_t tensor, int64_t dim, uint32_t factor) {
    if (dim < 0 || dim >= b->types[tensor]->rank)
        return;
    struct factor_list *list = &b->dims[tensor][dim];
    if (b->factors.v[factor].size != 1 || !list->n)
        ARENA_PUSH(b->s->a, list, factor);
}

/* A factor of the given dimension of each operand and result; NO_DIM: the tensor does not have it. */
static void add(struct build *b, const int64_t *operands, const int64_t *results, int64_t size, enum sdy_factor_type type,
                bool blocked) {
    uint32_t factor = reserve(b, size, type, blocked);
    for (uint32_t i = 0; i < b->noperands; i++)
        map_dim(b, i, operands[i], factor);
    for (uint32_t i = 0; i < b->nresults; i++)
        map_dim(b, b->noperands + i, results[i], factor);
}

/* … of two operands, or one, and one result */
static void add3(struct build *b, int64_t lhs, int64_t rhs, int64_t result, int64_t size, enum sdy_factor_type type) {
    add(b, (int64_t[]){lhs, rhs}, &result, size, type, false);
}

static void add2(struct build *b, int64_t in, int64_t out, int64_t size, enum sdy_factor_type type, bool blocked) {
    add(b, &in, &out, size, type, blocked);
}

/* Of the same dimension of the tensors from `first` on, scalars left out. */
static void add_range(struct build *b, uint32_t first, uint32_t n, int64_t dim, int64_t size, enum sdy_factor_type type,
                      bool blocked) {
    uint32_t factor = reserve(b, size, type, blocked);
    for (uint32_t i = first; i < first + n; i++)
        if (dim < b->types[i]->rank)
            ARENA_PUSH(b->s->a, &b->dims[i][dim], factor);
}

static void add_all(struct build *b, int64_t dim, int64_t size, enum sdy_factor_type type, bool blocked) {
    add_range(b, 0, b->noperands + b->nresults, dim, size, type, blocked);
}

static const struct ir_type_data *operand(const struct build *b, uint32_t i) {
    return b->types[i];
}

static const struct ir_type_data *result(const struct build *b, uint32_t i) {
    return b->types[b->noperands + i];
}

static const int64_t *ints(const struct build *b, enum ir_slot slot, size_t *n) {
    return ir_prop_i64s(b->m, b->op, slot, n);
}

static bool has(const int64_t *v, size_t n, int64_t x) {
    for (size_t i = 0; i < n; i++)
        if (v[i] == x)
            return true;
    return false;
}

/* The op that defines operand i, IR_OP_NONE for an argument. */
static enum ir_op_kind definition(const struct build *b, ir_val v) {
    ir_op op = ir_val_get(b->m, v)->op;
    return IR_NONE(op) ? IR_OP_NONE : ir_kind(b->m, op);
}

/* ---- elementwise, one size to one ------------------------------------------------------------- */

static void rule_none(struct build *b) {
    b->none = true;
}

static void rule_pointwise(struct build *b) {
    const struct ir_type_data *t = b->nresults ? result(b, 0) : NULL;
    if (!t || t->kind != IR_TYPE_TENSOR) {
        b->none = true;
        return;
    }
    for (uint32_t d = 0; d < t->rank; d++)
        add_all(b, d, t->dims[d], SDY_PASS_THROUGH, false);
}

/* The dimensions of the first operand; those of another size in the result are of that type. */
static void pointwise_unless(struct build *b, enum sdy_factor_type mismatch, bool blocked) {
    const struct ir_type_data *in = operand(b, 0), *out = result(b, 0);
    for (uint32_t d = 0; d < in->rank && d < out->rank; d++) {
        bool same = in->dims[d] == out->dims[d];
        add_all(b, d, in->dims[d], same ? SDY_PASS_THROUGH : mismatch, !same && blocked);
    }
}

static void rule_slice(struct build *b) {
    pointwise_unless(b, SDY_PERMUTATION, false);
}

static void rule_pad(struct build *b) {
    pointwise_unless(b, SDY_PERMUTATION, false);
}

static void rule_dynamic_slice(struct build *b) {
    pointwise_unless(b, SDY_NEED_REPLICATION, true);
}

static void rule_reverse(struct build *b) {
    size_t n;
    const int64_t *dims = ints(b, IR_REVERSE_dimensions, &n);
    for (uint32_t d = 0; d < result(b, 0)->rank; d++)
        add_all(b, d, result(b, 0)->dims[d], has(dims, n, d) ? SDY_PERMUTATION : SDY_PASS_THROUGH, false);
}

static void rule_bitcast_convert(struct build *b) {
    const struct ir_type_data *in = operand(b, 0), *out = result(b, 0), *less = in->rank < out->rank ? in : out;
    for (uint32_t d = 0; d < less->rank; d++)
        add_all(b, d, less->dims[d], SDY_PASS_THROUGH, false);
    if (in->rank < out->rank)
        add2(b, NO_DIM, out->rank - 1, out->dims[out->rank - 1], SDY_NEED_REPLICATION, false);
    else if (in->rank > out->rank)
        add2(b, in->rank - 1, NO_DIM, in->dims[in->rank - 1], SDY_NEED_REPLICATION, false);
}

static void rule_batch_norm_inference(struct build *b) {
    const struct ir_type_data *t = operand(b, 0);
    int64_t feature = ir_prop_i64(b->m, b->op, IR_BATCH_NORM_INFERENCE_feature_index);
    for (int64_t d = 0; d < t->rank; d++) {
        int64_t scale = d == feature ? 0 : NO_DIM;
        add(b, (int64_t[]){d, scale, scale, scale, scale}, &d, t->dims[d], SDY_PASS_THROUGH, false);
    }
}

/* ---- movement --------------------------------------------------------------------------------- */

static void rule_broadcast_in_dim(struct build *b) {
    const struct ir_type_data *in = operand(b, 0), *out = result(b, 0);
    size_t n;
    const int64_t *dims = ints(b, IR_BROADCAST_IN_DIM_broadcast_dimensions, &n);
    for (int64_t d = 0; d < out->rank; d++) {
        int64_t from = NO_DIM;
        for (size_t i = 0; i < n; i++)
            if (dims[i] == d)
                from = (int64_t)i;
        if (from >= 0 && in->dims[from] == 1 && out->dims[d] != 1) {
            add2(b, from, NO_DIM, 1, SDY_PASS_THROUGH, false);
            from = NO_DIM;
        }
        add2(b, from, d, out->dims[d], SDY_PASS_THROUGH, false);
    }
}

static void rule_transpose(struct build *b) {
    size_t n;
    const int64_t *order = ints(b, IR_TRANSPOSE_permutation, &n);
    for (size_t i = 0; i < n; i++)
        add2(b, order[i], (int64_t)i, operand(b, 0)->dims[order[i]], SDY_PASS_THROUGH, false);
}

/* The next factor of the side that is behind; `behind`, `ahead`: products of the factors so far. */
static int64_t diverged(int64_t next, int64_t common, int64_t behind, int64_t ahead) {
    if (ahead % behind == 0 && next % (ahead / behind) == 0)
        return ahead / behind;
    return next > common ? next / common : next;
}

/* Greatest common divisors from the major dimensions on. */
static void rule_reshape(struct build *b) {
    const struct ir_type_data *in = operand(b, 0), *out = result(b, 0);
    uint32_t i = 0, k = 0;
    int64_t size_in = 1, size_out = 1, done_in = 1, done_out = 1;
    for (uint32_t d = 0; d < in->rank; d++)
        b->none |= in->dims[d] == 0;
    while (!b->none && (i < in->rank || k < out->rank)) {
        if (i < in->rank && in->dims[i] == 1) {
            add2(b, i++, NO_DIM, 1, SDY_PASS_THROUGH, false);
            continue;
        }
        if (k < out->rank && out->dims[k] == 1) {
            add2(b, NO_DIM, k++, 1, SDY_PASS_THROUGH, false);
            continue;
        }
        if (i < in->rank && size_in == done_in)
            size_in *= in->dims[i];
        if (k < out->rank && size_out == done_out)
            size_out *= out->dims[k];
        int64_t next_in = size_in / done_in, next_out = size_out / done_out, common = sdy_gcd(next_in, next_out);
        if (done_in == done_out && common > 1) {
            add2(b, i, k, common, SDY_PASS_THROUGH, false);
            done_in *= common;
            done_out *= common;
        } else if (done_in == done_out) {
            add2(b, i, NO_DIM, next_in, SDY_PASS_THROUGH, false);
            done_in *= next_in;
            add2(b, NO_DIM, k, next_out, SDY_PASS_THROUGH, false);
            done_out *= next_out;
        } else if (done_in < done_out) {
            next_in = diverged(next_in, common, done_in, done_out);
            add2(b, i, NO_DIM, next_in, SDY_PASS_THROUGH, false);
            done_in *= next_in;
        } else {
            next_out = diverged(next_out, common, done_out, done_in);
            add2(b, NO_DIM, k, next_out, SDY_PASS_THROUGH, false);
            done_out *= next_out;
        }
        i += i < in->rank && size_in == done_in;
        k += k < out->rank && size_out == done_out;
    }
}

static ir_val before_slice(const struct build *b, ir_val v) {
    return definition(b, v) == IR_SLICE ? ir_operand(b->m, ir_val_get(b->m, v)->op, 0) : v;
}

/* Of slices of anything, or of one value and slices of it: a rotation, for which neighbours exchange their ends. */
static bool is_rotation(const struct build *b) {
    const struct ir_op_data *x = ir_op_get(b->m, b->op);
    bool all = true, any = false, same = true;
    for (uint32_t i = 0; i < x->noperands; i++) {
        bool slice = definition(b, x->operands[i]) == IR_SLICE;
        all &= slice;
        any |= slice;
        same &= IR_SAME(before_slice(b, x->operands[i]), before_slice(b, x->operands[0]));
    }
    return all || (same && any);
}

static void rule_concatenate(struct build *b) {
    int64_t dim = ir_prop_i64(b->m, b->op, IR_CONCATENATE_dimension);
    enum sdy_factor_type along = is_rotation(b) ? SDY_PERMUTATION : SDY_NEED_REPLICATION;
    for (int64_t d = 0; d < result(b, 0)->rank; d++)
        add_all(b, d, result(b, 0)->dims[d], d == dim ? along : SDY_PASS_THROUGH, false);
}

static void rule_dynamic_update_slice(struct build *b) {
    const struct ir_type_data *in = operand(b, 0), *update = operand(b, 1);
    int64_t *dims = ARENA_ARRAY(b->s->a, int64_t, b->noperands);
    bool constant = true;
    for (uint32_t i = 0; i < b->noperands; i++) {
        enum ir_op_kind kind = definition(b, ir_operand(b->m, b->op, i));
        constant &= i < 2 || (kind != IR_OP_NONE && ir_op_has(kind, IR_T_CONSTANT));
        dims[i] = NO_DIM;
    }
    for (int64_t d = 0; d < in->rank; d++) {
        int64_t none = NO_DIM;
        if (in->dims[d] == update->dims[d]) {
            add_all(b, d, in->dims[d], SDY_PASS_THROUGH, false);
            continue;
        }
        dims[0] = d;
        dims[1] = NO_DIM;
        add(b, dims, &d, in->dims[d], SDY_PASS_THROUGH, false);
        dims[0] = NO_DIM;
        dims[1] = d;
        add(b, dims, &none, update->dims[d], constant ? SDY_PASS_THROUGH : SDY_NEED_REPLICATION, false);
    }
}

/* ---- gather and scatter ----------------------------------------------------------------------- */

struct slices {
    bool scatter;
    uint32_t inputs;                               /* of scatter: tensors that are scattered into */
    const int64_t *offset, *collapsed, *input_batch, *index_batch;
    size_t noffset, ncollapsed, nbatch;
    int64_t vector;                                /* dimension of index vectors */
    bool reduces;                                  /* the body is a monoid */
};

static void add_slices(struct build *b, const struct slices *g, int64_t input, int64_t index, int64_t slice, int64_t size,
                       enum sdy_factor_type type, bool blocked) {
    if (!g->scatter) {
        add(b, (int64_t[]){input, index}, &slice, size, type, blocked);
        return;
    }
    int64_t *in = ARENA_ARRAY(b->s->a, int64_t, b->noperands), *out = ARENA_ARRAY(b->s->a, int64_t, b->nresults + 1);
    for (uint32_t i = 0; i < g->inputs; i++) {
        in[i] = out[i] = input;
        in[g->inputs + 1 + i] = slice;
    }
    in[g->inputs] = index;
    add(b, in, out, size, type, blocked);
}

/* A dimension of a window: dimension `input` of the operand. */
static void window_dim(struct build *b, const struct slices *g, int64_t input, int64_t size, int64_t slice, int64_t sliced) {
    if (size == sliced) {
        add_slices(b, g, input, NO_DIM, slice, size, SDY_PASS_THROUGH, false);
    } else if (g->scatter || sliced == 1) {
        add_slices(b, g, input, NO_DIM, NO_DIM, size, g->scatter ? SDY_NEED_REPLICATION : SDY_REDUCTION, false);
        add_slices(b, g, NO_DIM, NO_DIM, slice, sliced, SDY_NEED_REPLICATION, false);
    } else {
        add_slices(b, g, input, NO_DIM, slice, size, SDY_NEED_REPLICATION, true);
    }
}

static void slices_rule(struct build *b, const struct slices *g, const struct ir_type_data *input,
                        const struct ir_type_data *slices, const struct ir_type_data *indices) {
    int64_t in = 0, batch = 0;
    for (int64_t d = 0; d < slices->rank; d++) {
        if (has(g->offset, g->noffset, d)) {
            while (has(g->collapsed, g->ncollapsed, in) || has(g->input_batch, g->nbatch, in))
                in++;
            window_dim(b, g, in, input->dims[in], d, slices->dims[d]);
            in++;
            continue;
        }
        int64_t index = batch < g->vector ? batch : batch + 1, from = NO_DIM;
        for (size_t i = 0; i < g->nbatch; i++)
            if (g->index_batch[i] == index)
                from = g->input_batch[i];
        enum sdy_factor_type type = !g->scatter || from >= 0 ? SDY_PASS_THROUGH
                                    : g->reduces             ? SDY_REDUCTION
                                                             : SDY_NEED_REPLICATION;
        add_slices(b, g, from, index, d, slices->dims[d], type, false);
        batch++;
    }
    for (size_t i = 0; i < g->ncollapsed; i++) {
        int64_t size = input->dims[g->collapsed[i]];
        enum sdy_factor_type type = g->scatter ? SDY_PASS_THROUGH : size == 1 ? SDY_NEED_REPLICATION : SDY_REDUCTION;
        add_slices(b, g, g->collapsed[i], NO_DIM, NO_DIM, size, type, false);
    }
    if (g->vector < indices->rank)
        add_slices(b, g, NO_DIM, g->vector, NO_DIM, indices->dims[g->vector], SDY_NEED_REPLICATION, false);
}

static void rule_gather(struct build *b) {
    ir_attr dims = ir_prop(b->m, b->op, IR_GATHER_dimension_numbers);
    struct slices g = {0};
    g.offset = ir_field_dims(b->m, dims, IR_GATHER_offset_dims_F, &g.noffset);
    g.collapsed = ir_field_dims(b->m, dims, IR_GATHER_collapsed_slice_dims_F, &g.ncollapsed);
    g.input_batch = ir_field_dims(b->m, dims, IR_GATHER_operand_batching_dims_F, &g.nbatch);
    g.index_batch = ir_field_dims(b->m, dims, IR_GATHER_start_indices_batching_dims_F, &g.nbatch);
    g.vector = ir_field_i64(b->m, dims, IR_GATHER_index_vector_dim_F);
    slices_rule(b, &g, operand(b, 0), result(b, 0), operand(b, 1));
}

/* Every result of the body is the same associative and commutative op of the two arguments that belong to it. */
static bool body_reduces(const struct build *b, uint32_t inputs) {
    ir_block body = ir_region_get(b->m, ir_op_region(b->m, b->op, 0))->first;
    const struct ir_block_data *x = IR_NONE(body) ? NULL : ir_block_get(b->m, body);
    if (!x || x->nargs != 2 * inputs || IR_NONE(x->last) || ir_op_get(b->m, x->last)->noperands != inputs)
        return false;
    enum ir_op_kind first = IR_OP_NONE;
    for (uint32_t i = 0; i < inputs; i++) {
        ir_val v = ir_operand(b->m, x->last, i);
        ir_op op = ir_val_get(b->m, v)->op;
        if (IR_NONE(op) || ir_op_get(b->m, op)->noperands != 2)
            return false;
        enum ir_op_kind kind = ir_kind(b->m, op);
        bool logical = ir_val_type(b->m, v)->dtype == IR_I1_T && (kind == IR_AND || kind == IR_OR);
        bool known = kind == IR_ADD || kind == IR_MULTIPLY || kind == IR_MAXIMUM || kind == IR_MINIMUM;
        ir_val lhs = ir_operand(b->m, op, 0), rhs = ir_operand(b->m, op, 1), old = x->args[i], update = x->args[i + inputs];
        bool both = (IR_SAME(lhs, old) && IR_SAME(rhs, update)) || (IR_SAME(lhs, update) && IR_SAME(rhs, old));
        if (!(logical || known) || !both || (i && kind != first))
            return false;
        first = kind;
    }
    return true;
}

static void rule_scatter(struct build *b) {
    ir_attr dims = ir_prop(b->m, b->op, IR_SCATTER_scatter_dimension_numbers);
    struct slices g = {.scatter = true, .inputs = b->nresults, .reduces = body_reduces(b, b->nresults)};
    g.offset = ir_field_dims(b->m, dims, IR_SCATTER_update_window_dims_F, &g.noffset);
    g.collapsed = ir_field_dims(b->m, dims, IR_SCATTER_inserted_window_dims_F, &g.ncollapsed);
    g.input_batch = ir_field_dims(b->m, dims, IR_SCATTER_input_batching_dims_F, &g.nbatch);
    g.index_batch = ir_field_dims(b->m, dims, IR_SCATTER_scatter_indices_batching_dims_F, &g.nbatch);
    g.vector = ir_field_i64(b->m, dims, IR_SCATTER_index_vector_dim_F);
    slices_rule(b, &g, operand(b, 0), operand(b, b->nresults + 1), operand(b, b->nresults));
}

/* ---- reductions, windows ---------------------------------------------------------------------- */

static void rule_reduce(struct build *b) {
    uint32_t inputs = b->nresults;
    size_t n;
    const int64_t *reduced = ints(b, IR_REDUCE_dimensions, &n);
    int64_t *in = ARENA_ARRAY(b->s->a, int64_t, b->noperands + 1), *out = ARENA_ARRAY(b->s->a, int64_t, inputs + 1), next = 0;
    for (int64_t d = 0; d < operand(b, 0)->rank; d++) {
        bool gone = has(reduced, n, d);
        for (uint32_t i = 0; i < b->noperands; i++)
            in[i] = i < inputs ? d : NO_DIM;
        for (uint32_t i = 0; i < inputs; i++)
            out[i] = gone ? NO_DIM : next;
        next += !gone;
        add(b, in, out, operand(b, 0)->dims[d], gone ? SDY_REDUCTION : SDY_PASS_THROUGH, false);
    }
}

/* A window of one element, of stride 1, without padding. */
static bool is_whole_window(const struct build *b, enum ir_slot size, enum ir_slot stride, enum ir_slot padding, uint32_t d) {
    size_t nsize, nstride, npad;
    const int64_t *sizes = ints(b, size, &nsize), *strides = ints(b, stride, &nstride), *pads = ints(b, padding, &npad);
    if (2 * (size_t)d + 1 < npad && (pads[2 * d] || pads[2 * d + 1]))
        return false;
    return (d >= nsize || sizes[d] == 1) && (d >= nstride || strides[d] == 1);
}

static void rule_reduce_window(struct build *b) {
    for (uint32_t d = 0; d < result(b, 0)->rank; d++) {
        bool whole = is_whole_window(b, IR_REDUCE_WINDOW_window_dimensions, IR_REDUCE_WINDOW_window_strides,
                                     IR_REDUCE_WINDOW_padding, d);
        add_all(b, d, result(b, 0)->dims[d], whole ? SDY_PASS_THROUGH : SDY_PERMUTATION, false);
    }
}

static void rule_select_and_scatter(struct build *b) {
    for (int64_t d = 0; d < result(b, 0)->rank; d++) {
        int64_t none = NO_DIM;
        if (is_whole_window(b, IR_SELECT_AND_SCATTER_window_dimensions, IR_SELECT_AND_SCATTER_window_strides,
                            IR_SELECT_AND_SCATTER_padding, (uint32_t)d)) {
            add_all(b, d, result(b, 0)->dims[d], SDY_PASS_THROUGH, false);
            continue;
        }
        add(b, (int64_t[]){NO_DIM, d, NO_DIM}, &none, operand(b, 1)->dims[d], SDY_NEED_REPLICATION, false);
        add(b, (int64_t[]){d, NO_DIM, NO_DIM}, &d, result(b, 0)->dims[d], SDY_PERMUTATION, false);
    }
}

static void rule_sort(struct build *b) {
    const struct ir_type_data *t = operand(b, 0);
    int64_t along = ir_prop_i64(b->m, b->op, IR_SORT_dimension);
    along = along < 0 ? along + t->rank : along;
    bool alone = true;
    for (int64_t d = 0; d < t->rank; d++)
        alone &= d == along || t->dims[d] == 1;
    for (int64_t d = 0; d < t->rank; d++)
        add_all(b, d, t->dims[d], d == along ? SDY_NEED_REPLICATION : SDY_PASS_THROUGH, d == along && alone);
}

/* ---- products --------------------------------------------------------------------------------- */

static void rule_dot_general(struct build *b) {
    const struct ir_type_data *lhs = operand(b, 0), *rhs = operand(b, 1);
    ir_attr dims = ir_prop(b->m, b->op, IR_DOT_GENERAL_dot_dimension_numbers);
    size_t nbatch, ncontract;
    const int64_t *lhs_batch = ir_field_dims(b->m, dims, IR_DOT_lhs_batching_dimensions_F, &nbatch);
    const int64_t *rhs_batch = ir_field_dims(b->m, dims, IR_DOT_rhs_batching_dimensions_F, &nbatch);
    const int64_t *lhs_sum = ir_field_dims(b->m, dims, IR_DOT_lhs_contracting_dimensions_F, &ncontract);
    const int64_t *rhs_sum = ir_field_dims(b->m, dims, IR_DOT_rhs_contracting_dimensions_F, &ncontract);
    int64_t out = 0;
    for (size_t i = 0; i < nbatch; i++)
        add3(b, lhs_batch[i], rhs_batch[i], out++, lhs->dims[lhs_batch[i]], SDY_PASS_THROUGH);
    for (int64_t d = 0; d < lhs->rank; d++)
        if (!has(lhs_sum, ncontract, d) && !has(lhs_batch, nbatch, d))
            add3(b, d, NO_DIM, out++, lhs->dims[d], SDY_PASS_THROUGH);
    for (int64_t d = 0; d < rhs->rank; d++)
        if (!has(rhs_sum, ncontract, d) && !has(rhs_batch, nbatch, d))
            add3(b, NO_DIM, d, out++, rhs->dims[d], SDY_PASS_THROUGH);
    for (size_t i = 0; i < ncontract; i++)
        add3(b, lhs_sum[i], rhs_sum[i], NO_DIM, lhs->dims[lhs_sum[i]], SDY_REDUCTION);
}

static void rule_dot(struct build *b) {
    const struct ir_type_data *lhs = operand(b, 0), *rhs = operand(b, 1);
    int64_t matrix = lhs->rank == 2;
    if (matrix)
        add3(b, 0, NO_DIM, 0, lhs->dims[0], SDY_PASS_THROUGH);
    if (rhs->rank == 2)
        add3(b, NO_DIM, 1, matrix, rhs->dims[1], SDY_PASS_THROUGH);
    add3(b, matrix, 0, NO_DIM, rhs->dims[0], SDY_REDUCTION);
}

/* Windows and elements of a window, the larger number major: the input can be divided along either. */
static void spatial(struct build *b, int64_t lhs, int64_t rhs, int64_t out) {
    int64_t windows = result(b, 0)->dims[out], window = operand(b, 1)->dims[rhs], rest = operand(b, 0)->dims[lhs];
    for (int i = 0; i < 2; i++) {
        bool contracts = (i == 0) != (windows >= window);
        int64_t size = contracts ? window : windows;
        size = size < rest ? size : rest;
        if (size <= 1)
            continue;
        add3(b, lhs, contracts ? rhs : NO_DIM, contracts ? NO_DIM : out, size, contracts ? SDY_REDUCTION : SDY_PERMUTATION);
        rest /= size;
    }
}

static void rule_convolution(struct build *b) {
    ir_attr dims = ir_prop(b->m, b->op, IR_CONVOLUTION_dimension_numbers);
    int64_t in_batch = ir_field_i64(b->m, dims, IR_CONV_input_batch_dimension_F);
    int64_t in_feature = ir_field_i64(b->m, dims, IR_CONV_input_feature_dimension_F);
    int64_t kernel_in = ir_field_i64(b->m, dims, IR_CONV_kernel_input_feature_dimension_F);
    int64_t kernel_out = ir_field_i64(b->m, dims, IR_CONV_kernel_output_feature_dimension_F);
    int64_t out_batch = ir_field_i64(b->m, dims, IR_CONV_output_batch_dimension_F);
    int64_t out_feature = ir_field_i64(b->m, dims, IR_CONV_output_feature_dimension_F);
    int64_t batches = ir_prop_i64(b->m, b->op, IR_CONVOLUTION_batch_group_count);
    int64_t features = ir_prop_i64(b->m, b->op, IR_CONVOLUTION_feature_group_count);
    size_t n;
    const int64_t *lhs = ir_field_dims(b->m, dims, IR_CONV_input_spatial_dimensions_F, &n);
    const int64_t *rhs = ir_field_dims(b->m, dims, IR_CONV_kernel_spatial_dimensions_F, &n);
    const int64_t *out = ir_field_dims(b->m, dims, IR_CONV_output_spatial_dimensions_F, &n);
    if (batches > 1)
        add3(b, in_batch, kernel_out, out_feature, batches, SDY_PASS_THROUGH);
    add3(b, in_batch, NO_DIM, out_batch, result(b, 0)->dims[out_batch], SDY_PASS_THROUGH);
    for (size_t i = 0; i < n; i++)
        spatial(b, lhs[i], rhs[i], out[i]);
    if (features > 1)
        add3(b, in_feature, kernel_out, out_feature, features, SDY_PASS_THROUGH);
    add3(b, in_feature, kernel_in, NO_DIM, operand(b, 1)->dims[kernel_in], SDY_REDUCTION);
    int64_t size = result(b, 0)->dims[out_feature] / (batches * features);
    if (size > 1)
        add3(b, NO_DIM, kernel_out, out_feature, size, SDY_PASS_THROUGH);
}

static void rule_cholesky(struct build *b) {
    const struct ir_type_data *t = operand(b, 0);
    for (uint32_t d = 0; d < t->rank; d++)
        add_all(b, d, t->dims[d], d + 2 < t->rank ? SDY_PASS_THROUGH : SDY_NEED_REPLICATION, false);
}

static void rule_triangular_solve(struct build *b) {
    const struct ir_type_data *a = operand(b, 0), *rhs = operand(b, 1);
    int64_t rows = a->rank - 2, columns = a->rank - 1;
    int64_t transpose = ir_prop_i64(b->m, b->op, IR_TRIANGULAR_SOLVE_transpose_a);
    bool transposed = transpose == IR_TRANSPOSE_TRANSPOSE || transpose == IR_TRANSPOSE_ADJOINT;
    bool left = ir_prop_i64(b->m, b->op, IR_TRIANGULAR_SOLVE_left_side) != 0;
    int64_t contracted = left == transposed ? rows : columns, other = left == transposed ? columns : rows;
    for (int64_t d = 0; d < rows; d++)
        add_all(b, d, a->dims[d], SDY_PASS_THROUGH, false);
    if (left) {
        add3(b, other, rows, NO_DIM, a->dims[other], SDY_NEED_REPLICATION);
        add3(b, NO_DIM, columns, columns, rhs->dims[columns], SDY_NEED_REPLICATION);
        add3(b, contracted, NO_DIM, rows, a->dims[contracted], SDY_NEED_REPLICATION);
    } else {
        add3(b, NO_DIM, rows, rows, rhs->dims[rows], SDY_NEED_REPLICATION);
        add3(b, other, columns, NO_DIM, a->dims[other], SDY_NEED_REPLICATION);
        add3(b, contracted, NO_DIM, columns, a->dims[contracted], SDY_NEED_REPLICATION);
    }
}

static void rule_fft(struct build *b) {
    const struct ir_type_data *in = operand(b, 0), *out = result(b, 0);
    size_t n;
    (void)ints(b, IR_FFT_fft_length, &n);
    for (uint32_t d = 0; d < in->rank; d++) {
        bool batch = d + n < in->rank, last = d + 1 == in->rank;
        add_all(b, d, in->dims[d], batch ? SDY_PASS_THROUGH : SDY_NEED_REPLICATION,
                !batch && last && in->dims[d] != out->dims[d]);
    }
}

/* The state is computed by everybody, and what is generated can be divided. */
static void rule_rng_bit_generator(struct build *b) {
    for (int64_t d = 0; d < operand(b, 0)->rank; d++)
        add(b, &d, (int64_t[]){d, NO_DIM}, operand(b, 0)->dims[d], SDY_NEED_REPLICATION, true);
    for (int64_t d = 0; d < result(b, 1)->rank; d++)
        add(b, (int64_t[]){NO_DIM}, (int64_t[]){NO_DIM, d}, result(b, 1)->dims[d], SDY_PASS_THROUGH, false);
}

/* ---- collectives ------------------------------------------------------------------------------ */

/* Dimensions other than these two pass; each side of these has a factor of its own. */
static void collective(struct build *b, int64_t first, int64_t second) {
    const struct ir_type_data *in = operand(b, 0), *out = result(b, 0);
    for (int64_t d = 0; d < in->rank; d++)
        if (d != first && d != second)
            add_all(b, d, in->dims[d], SDY_PASS_THROUGH, false);
    for (int i = 0; i < (first == second ? 1 : 2); i++) {
        int64_t d = i ? second : first;
        add_range(b, 0, b->noperands, d, in->dims[d], SDY_NEED_REPLICATION, false);
        add_range(b, b->noperands, b->nresults, d, out->dims[d], SDY_NEED_REPLICATION, false);
    }
}

static void rule_all_gather(struct build *b) {
    int64_t d = ir_prop_i64(b->m, b->op, IR_ALL_GATHER_all_gather_dim);
    collective(b, d, d);
}

static void rule_all_to_all(struct build *b) {
    collective(b, ir_prop_i64(b->m, b->op, IR_ALL_TO_ALL_split_dimension),
               ir_prop_i64(b->m, b->op, IR_ALL_TO_ALL_concat_dimension));
}

static void rule_reduce_scatter(struct build *b) {
    int64_t d = ir_prop_i64(b->m, b->op, IR_REDUCE_SCATTER_scatter_dimension);
    collective(b, d, d);
}

/* ---- custom calls ----------------------------------------------------------------------------- */

/* Batch dimensions, all but the last two of the first operand. */
static bool batches(struct build *b, int64_t *rows) {
    const struct ir_type_data *t = operand(b, 0);
    *rows = (int64_t)t->rank - 2;
    for (int64_t d = 0; d < *rows; d++)
        add_all(b, d, t->dims[d], SDY_PASS_THROUGH, false);
    b->none = *rows < 0;
    return !b->none;
}

static void call_eigh(struct build *b) {
    const struct ir_type_data *t = operand(b, 0);
    int64_t rows, columns;
    if (!batches(b, &rows))
        return;
    columns = rows + 1;
    add(b, &rows, (int64_t[]){rows, NO_DIM}, t->dims[rows], SDY_PASS_THROUGH, false);
    add(b, &columns, (int64_t[]){columns, rows}, t->dims[columns], SDY_PASS_THROUGH, false);
}

static void call_qr(struct build *b) {
    const struct ir_type_data *t = operand(b, 0);
    int64_t rows, columns, none = NO_DIM;
    if (!batches(b, &rows))
        return;
    columns = rows + 1;
    add(b, &rows, (int64_t[]){rows, NO_DIM}, t->dims[rows], SDY_NEED_REPLICATION, false);
    add(b, &columns, (int64_t[]){columns, NO_DIM}, t->dims[columns], SDY_NEED_REPLICATION, false);
    add(b, &none, (int64_t[]){NO_DIM, rows}, result(b, 1)->dims[rows], SDY_NEED_REPLICATION, false);
}

static void call_householder(struct build *b) {
    const struct ir_type_data *t = operand(b, 0);
    int64_t rows, columns;
    if (!batches(b, &rows))
        return;
    columns = rows + 1;
    add3(b, rows, NO_DIM, rows, t->dims[rows], SDY_NEED_REPLICATION);
    add3(b, columns, NO_DIM, columns, t->dims[columns], SDY_NEED_REPLICATION);
    add3(b, NO_DIM, rows, NO_DIM, operand(b, 1)->dims[rows], SDY_NEED_REPLICATION);
}

static void call_top_k(struct build *b) {
    pointwise_unless(b, SDY_NEED_REPLICATION, true);
}

static void call_approx_top_k(struct build *b) {
    static const int64_t none[] = {NO_DIM, NO_DIM, NO_DIM, NO_DIM};
    const struct ir_type_data *in = operand(b, 0), *out = result(b, 0);
    for (int64_t d = 0; d < in->rank && d < out->rank; d++) {
        if (in->dims[d] == out->dims[d]) {
            add_all(b, d, in->dims[d], SDY_PASS_THROUGH, false);
            continue;
        }
        add(b, (int64_t[]){d, d, NO_DIM, NO_DIM}, none, in->dims[d], SDY_PASS_THROUGH, false);
        add(b, none, (int64_t[]){d, d}, out->dims[d], SDY_NEED_REPLICATION, true);
    }
}

/* Two halves of the state of a random generator, which is replicated. */
static void call_combine(struct build *b) {
    ir_val v = ir_result(b->m, b->op, 0);
    for (ir_op op = ir_op_get(b->m, b->op)->next; !IR_NONE(op); op = ir_op_get(b->m, op)->next)
        if (ir_kind(b->m, op) == IR_RNG_BIT_GENERATOR && IR_SAME(ir_operand(b->m, op, 0), v) && result(b, 0)->rank == 1) {
            add_all(b, 0, result(b, 0)->dims[0], SDY_NEED_REPLICATION, true);
            return;
        }
    rule_pointwise(b);
}

/* A call, of JAX's linear algebra, whose first dimensions are those of a batch. */
static void call_batched(struct build *b) {
    ir_attr frontend = ir_dict_find(b->m, ir_op_get(b->m, b->op)->attrs, STR("mhlo.frontend_attributes"));
    struct str text = ir_attr_as_str(b->m, ir_dict_find(b->m, frontend, STR("num_batch_dims")));
    bool known = text.n == 1 && *text.p > '0' && *text.p <= '9' && b->nresults;
    for (uint32_t d = 0; known && d < (uint32_t)(*text.p - '0') && d < result(b, 0)->rank; d++)
        add_all(b, d, result(b, 0)->dims[d], SDY_PASS_THROUGH, false);
    b->none = !known;
}

static void rule_custom_call(struct build *b) {
    static const struct { const char *target; uint32_t noperands, nresults; rule_fn *rule; } calls[] = {
        {"annotate_device_placement", 0, 0, rule_pointwise}, {"Cholesky", 0, 0, rule_pointwise},
        {"CompactWyHelper", 0, 0, rule_pointwise}, {"InspectSharding", 0, 0, rule_pointwise},
        {"InvertDiagBlocksLowerTriangular", 0, 0, rule_pointwise}, {"InvertDiagBlocksUpperTriangular", 0, 0, rule_pointwise},
        {"LayoutConstraint", 0, 0, rule_pointwise}, {"mhlo.erf", 0, 0, rule_pointwise},
        {"MoveToDevice", 0, 0, rule_pointwise}, {"MoveToHost", 0, 0, rule_pointwise},
        {"X64SplitHigh", 0, 0, rule_pointwise}, {"X64SplitLow", 0, 0, rule_pointwise},
        {"X64Combine", 2, 1, call_combine}, {"xla.megascale.provide_metadata", 0, 0, rule_pointwise},
        {"_SPMDInternalOp_MultiPad", 0, 0, rule_pointwise}, {"_SPMDInternalOp_RotateRight", 0, 0, rule_pointwise},
        {"_SPMDInternalOp_MultiRotate", 0, 0, rule_pointwise}, {"_SPMDInternalOp_MultiSlice", 0, 0, rule_pointwise},
        {"_SPMDInternalOp_Wrap", 0, 0, rule_pointwise}, {"Eigh", 1, 2, call_eigh}, {"Qr", 1, 2, call_qr},
        {"QrDecompositionBlock", 1, 2, call_qr}, {"ProductOfElementaryHouseholderReflectors", 2, 1, call_householder},
        {"mhlo.topk", 1, 2, call_top_k}, {"ApproxTopK", 4, 2, call_approx_top_k}, {"PartialReduce", 4, 2, call_approx_top_k},
    };
    struct str target = ir_prop_str(b->m, b->op, IR_CUSTOM_CALL_call_target_name);
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
        if (str_is(target, calls[i].target) && (!calls[i].noperands || (calls[i].noperands == b->noperands &&
                                                                        calls[i].nresults == b->nresults))) {
            calls[i].rule(b);
            return;
        }
    call_batched(b);
}

/* ---- all -------------------------------------------------------------------------------------- */

static rule_fn *const rules[] = {
#define OP(id, name, form, operands, results, regions, traits, cost, rule, eval, lower, local, sharding) \
    [IR_##id] = rule_##sharding,
#include "ir/ops.def"
};

hilo_status sdy_rule_of(struct sdy *s, ir_op op, const struct sdy_rule **out) {
    const struct ir_op_data *x = ir_op_get(s->m, op);
    ir_attr custom = ir_dict_find(s->m, x->attrs, STR("sdy.sharding_rule"));
    *out = NULL;
    if (!IR_NONE(custom))
        return sdy_read_rule(s, op, custom, out);
    if (rules[x->kind] == rule_none)
        return HILO_OK;
    uint32_t n = x->noperands + x->nresults;
    const struct ir_type_data **types = ARENA_ARRAY(s->a, const struct ir_type_data *, n + 1);
    for (uint32_t i = 0; i < n; i++)
        types[i] = ir_val_type(s->m, i < x->noperands ? x->operands[i] : ir_result(s->m, op, i - x->noperands));
    struct build b = build_new(s, op, types, x->noperands, x->nresults);
    rules[x->kind](&b);
    *out = build_end(&b);
    return HILO_OK;
}

const struct sdy_rule *sdy_rule_identity(struct arena *a, const struct ir_type_data *t, uint32_t noperands) {
    struct sdy s = {.a = a};
    const struct ir_type_data **types = ARENA_ARRAY(a, const struct ir_type_data *, noperands + 2);
    for (uint32_t i = 0; i <= noperands; i++)
        types[i] = t;
    struct build b = build_new(&s, (ir_op){0}, types, noperands, 1);
    for (uint32_t d = 0; d < t->rank; d++)
        add_all(&b, d, t->dims[d], SDY_PASS_THROUGH, false);
    return build_end(&b);
}
