/* Rules of ops that combine elements by a region: reduce, map, sort; and what such regions share. */
#include "ir/rules/shape.h"

#include <inttypes.h>

/* ---- regions that reduce --------------------------------------------------------------------- */

/* The dimensions of t are some of `dims`, in that order. */
static bool reducer_has_some_of(const struct ir_type_data *t, const int64_t *dims, size_t n) {
    uint32_t found = 0;
    for (size_t i = 0; i < n && found < t->rank; i++)
        found += shape_dims_agree(dims[i], t->dims[found]);
    return found == t->rank;
}

/* Argument i is what value i was so far, argument n + i is what comes to it. */
static hilo_status reducer_value(struct shape *s, const struct shape_reducer *r, uint32_t i) {
    ir_type result = shape_yield_type(s, r->region, i);
    ir_type so_far = shape_arg_type(s, r->region, i), next = shape_arg_type(s, r->region, r->n + i);
    const struct ir_type_data *e = ir_type_get(s->m, result), *a = ir_type_get(s->m, so_far),
                              *b = ir_type_get(s->m, next);
    const struct ir_type_data *init = ir_type_get(s->m, r->inits[i]),
                              *input = ir_type_get(s->m, r->inputs[i]);
    if (e->kind != IR_TYPE_TENSOR || a->kind != IR_TYPE_TENSOR || b->kind != IR_TYPE_TENSOR)
        return shape_fail(s, r->label, "the reduction must take and return tensors, but takes %s "
                          "and %s and returns %s", shape_type_text(s, so_far),
                          shape_type_text(s, next), shape_type_text(s, result));
    if (!shape_compatible(e, a) || !shape_same_elem(e, a, false))
        return shape_fail(s, r->label, "the reduction's argument %u has type %s, but its result "
                          "has type %s", i, shape_type_text(s, so_far), shape_type_text(s, result));
    if (!shape_compatible(e, b) || !shape_same_elem(e, b, true))
        return shape_fail(s, r->label, "the reduction's argument %u has type %s, but its result "
                          "has type %s", r->n + i, shape_type_text(s, next),
                          shape_type_text(s, result));
    if (!shape_compatible(init, e) || !shape_promotable(init, e))
        return shape_fail(s, r->init_label, "the reduction's result type %s cannot hold what it "
                          "starts from, %s", shape_type_text(s, result),
                          shape_type_text(s, r->inits[i]));
    if (!shape_promotable(input, b))
        return shape_fail(s, r->label, "the reduction's argument type %s cannot hold elements of "
                          "type %s", shape_type_text(s, next), shape_type_text(s, input->elem));
    if (!reducer_has_some_of(b, r->dims, r->ndims))
        return shape_fail(s, r->label, "the reduction's argument %u has type %s, whose dimensions "
                          "are not among %s", r->n + i, shape_type_text(s, next),
                          shape_list_text(s, r->dims, r->ndims));
    return HILO_OK;
}

hilo_status shape_reducer(struct shape *s, const struct shape_reducer *r) {
    uint32_t takes = shape_block(s, r->region)->nargs;
    uint32_t returns = shape_yield(s, r->region)->noperands;
    if (takes % 2 != 0 || takes / 2 != r->n)
        return shape_fail(s, r->label, "the reduction must take %" PRIu64 " values, but takes %u",
                          2 * (uint64_t)r->n, takes);
    if (returns != r->n)
        return shape_fail(s, r->label, "the reduction must return %u values, but returns %u", r->n,
                          returns);
    for (uint32_t i = 0; i < r->n; i++)
        HILO_TRY(reducer_value(s, r, i));
    return HILO_OK;
}

/* ---- reduce ---------------------------------------------------------------------------------- */

hilo_status shape_reduce(struct shape *s) {
    struct shape_range in = shape_in_group(s, 0), init = shape_in_group(s, 1);
    if (in.n == 0)
        return shape_fail(s, "reduce_c3", "needs at least one input");
    HILO_TRY(shape_results(s, "reduce_c3", in.n));
    HILO_TRY(shape_same_shapes(s, "reduce_c1", "inputs", in));
    const struct ir_type_data *t = shape_in(s, in.first);
    size_t n;
    const int64_t *dimensions = ir_prop_i64s(s->m, s->op, IR_REDUCE_dimensions, &n);
    HILO_TRY(shape_in_range(s, "reduce_c4", "dimensions", dimensions, n, t->rank));
    HILO_TRY(shape_unique(s, "reduce_c5", "dimensions", dimensions, n));

    struct shape_dim kept[IR_MAX_RANK];
    int64_t sizes[IR_MAX_RANK];
    uint32_t rank = 0;
    for (uint32_t i = 0; i < t->rank; i++) {
        if (shape_contains(dimensions, n, i))
            continue;
        kept[rank] = shape_dim_of(t, i);
        sizes[rank++] = t->dims[i];
    }
    struct shape_reducer r = {
        .n = in.n, .inputs = shape_in_types(s, in), .inits = shape_in_types(s, init),
        .dims = sizes, .ndims = rank, .label = "reduce_c6", .init_label = "reduce_c2",
    };
    HILO_TRY(shape_reducer(s, &r));
    s->out_label = "reduce_c7";
    for (uint32_t i = 0; i < in.n; i++) {
        ir_type elem = ir_type_get(s->m, shape_yield_type(s, 0, i))->elem;
        HILO_TRY(shape_result_elem(s, "reduce_c8", i, elem));
        s->out[i] = shape_tensor(s, elem, kept, rank);
    }
    return HILO_OK;
}

/* ---- map ------------------------------------------------------------------------------------- */

hilo_status shape_map(struct shape *s) {
    const struct ir_block_data *b = shape_block(s, 0);
    const struct ir_op_data *end = shape_yield(s, 0);
    if (s->o->noperands == 0)
        return shape_fail(s, "map_c2", "needs at least one input");
    if (b->nargs != s->o->noperands)
        return shape_fail(s, "map_c4", "the computation must take %u values, but takes %u",
                          s->o->noperands, b->nargs);
    for (uint32_t i = 0; i < b->nargs; i++) {
        ir_type want = shape_scalar_of(s, shape_in(s, i)->elem);
        if (!IR_SAME(shape_arg_type(s, 0, i), want))
            return shape_fail(s, "map_c4", "argument %u of the computation must have type %s, but "
                              "has %s", i, shape_type_text(s, want),
                              shape_type_text(s, shape_arg_type(s, 0, i)));
    }
    if (end->noperands != 1)
        return shape_fail(s, "map_c4", "the computation must return one value, but returns %u",
                          end->noperands);
    const struct ir_type_data *result = ir_type_get(s->m, shape_yield_type(s, 0, 0));
    if (result->kind != IR_TYPE_TENSOR || result->rank != 0)
        return shape_fail(s, "map_c4", "the computation must return a scalar, but returns %s",
                          shape_type_text(s, shape_yield_type(s, 0, 0)));
    HILO_TRY(shape_same_shape(s, "map_c1"));
    size_t n;
    const int64_t *dimensions = ir_prop_i64s(s->m, s->op, IR_MAP_dimensions, &n);
    bool all = n == shape_in(s, 0)->rank;
    for (size_t i = 0; all && i < n; i++)
        all = dimensions[i] == (int64_t)i;
    if (!all)
        return shape_fail(s, "map_c3", "dimensions must be all of the operands' in order, but are "
                          "%s", shape_list_text(s, dimensions, n));
    HILO_TRY(shape_result_elem(s, "map_c4", 0, result->elem));
    const ir_type *types = shape_in_types(s, (struct shape_range){0, s->o->noperands});
    HILO_TRY(shape_meet_types(s, "map_c1", types, s->o->noperands, &s->out[0]));
    s->out_label = "map_c1";
    s->out[0] = shape_with_elem(s, s->out[0], result->elem);
    return HILO_OK;
}

/* ---- sort ------------------------------------------------------------------------------------ */

/* The comparator takes a pair of scalars for each input. */
static hilo_status sort_comparator(struct shape *s) {
    const struct ir_block_data *b = shape_block(s, 0);
    const struct ir_op_data *end = shape_yield(s, 0);
    if (b->nargs % 2 != 0 || b->nargs / 2 != s->o->noperands)
        return shape_fail(s, "sort_c5", "the comparator must take %" PRIu64 " values, but takes %u",
                          2 * (uint64_t)s->o->noperands, b->nargs);
    for (uint32_t i = 0; i < b->nargs; i++) {
        ir_type want = shape_scalar_of(s, shape_in(s, i / 2)->elem);
        if (!IR_SAME(shape_arg_type(s, 0, i), want))
            return shape_fail(s, "sort_c5", "argument %u of the comparator must have type %s, but "
                              "has %s", i, shape_type_text(s, want),
                              shape_type_text(s, shape_arg_type(s, 0, i)));
    }
    if (end->noperands != 1)
        return shape_fail(s, "sort_c5", "the comparator must return one value, but returns %u",
                          end->noperands);
    if (!shape_is_truth(s, shape_yield_type(s, 0, 0)))
        return shape_fail(s, "sort_c5", "the comparator must return tensor<i1>, but returns %s",
                          shape_type_text(s, shape_yield_type(s, 0, 0)));
    return HILO_OK;
}

hilo_status shape_sort(struct shape *s) {
    if (s->o->noperands == 0)
        return shape_fail(s, "sort_c1", "needs at least one input");
    HILO_TRY(shape_results(s, "sort_c2", s->o->noperands));
    HILO_TRY(shape_same_shape(s, "sort_c3"));
    int64_t dimension = ir_prop_i64(s->m, s->op, IR_SORT_dimension), rank = shape_in(s, 0)->rank;
    if (dimension < -rank || dimension >= rank)
        return shape_fail(s, "sort_c4", "dimension must be in [-%" PRId64 ", %" PRId64 "), but is "
                          "%" PRId64, rank, rank, dimension);
    HILO_TRY(sort_comparator(s));
    s->out_label = "sort_c2";
    for (uint32_t i = 0; i < s->nout; i++)
        s->out[i] = shape_in_type(s, i);
    return HILO_OK;
}
