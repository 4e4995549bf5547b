/* Rules of ops that read and write slices at computed places: gather, dynamic_gather, scatter. */
#include "ir/rules/shape.h"

#include <inttypes.h>

/* ---- dimension numbers ----------------------------------------------------------------------- */

struct dim_list { const char *name; const int64_t *v; size_t n; };

static struct dim_list slicing_field(const struct shape *s, ir_attr numbers, enum ir_field_slot field) {
    struct dim_list l = {.name = ir_field_get((uint32_t)field)->name};
    l.v = ir_field_dims(s->m, numbers, field, &l.n);
    return l;
}

/* What gather and scatter have in common: a window in the result of a gather (the updates of a
   scatter) has the dimensions `window`; the operand's others are `dropped` or `batching`; indices
   are vectors along `vector_dim`, whose elements are starts along the dimensions `map`. */
struct slicing {
    struct dim_list window, dropped, batching, index_batching, map;
    int64_t vector_dim;
    const struct ir_type_data *operand, *indices;
};

/* What is demanded of that, and of the types around it; NULL where the specification has no number
   for it. The last ones are gather's alone. */
struct slicing_labels {
    const char *rank, *vector_dim, *window_order, *window_range, *disjoint, *dropped_order,
        *dropped_range, *batching_order, *batching_range, *index_unique, *index_range, *index_apart,
        *batching_count, *batching_sizes, *map_count, *map_unique, *map_range, *shape;
    const char *dropped_slices, *batching_slices, *slice_count, *slice_range, *elem;
};

static hilo_status slicing_in_range(struct shape *s, const char *label, const struct dim_list *l,
                                    int64_t upper) {
    return shape_in_range(s, label, l->name, l->v, l->n, upper);
}
static hilo_status slicing_unique(struct shape *s, const char *label, const struct dim_list *l) {
    return shape_unique(s, label, l->name, l->v, l->n);
}
static hilo_status slicing_sorted(struct shape *s, const char *label, const struct dim_list *l) {
    return shape_sorted(s, label, l->name, l->v, l->n);
}
static hilo_status slicing_distinct(struct shape *s, const char *label, const struct dim_list *a,
                                    const struct dim_list *b) {
    return shape_distinct(s, label, a->name, a->v, a->n, b->name, b->v, b->n);
}

/* The size of the vectors of indices; a vector_dim after the last dimension means scalars. */
static int64_t slicing_vector_size(const struct slicing *c) {
    return c->vector_dim < c->indices->rank ? c->indices->dims[c->vector_dim] : 1;
}

static hilo_status slicing_batching(struct shape *s, const struct slicing *c,
                                    const struct slicing_labels *l) {
    HILO_TRY(slicing_sorted(s, l->batching_order, &c->batching));
    HILO_TRY(slicing_in_range(s, l->batching_range, &c->batching, c->operand->rank));
    HILO_TRY(slicing_unique(s, l->index_unique, &c->index_batching));
    HILO_TRY(slicing_in_range(s, l->index_range, &c->index_batching, c->indices->rank));
    if (shape_contains(c->index_batching.v, c->index_batching.n, c->vector_dim))
        return shape_fail(s, l->index_apart, "%s must not contain index_vector_dim %" PRId64,
                          c->index_batching.name, c->vector_dim);
    if (c->batching.n != c->index_batching.n)
        return shape_fail(s, l->batching_count, "%s and %s must have one size, but have %zu and %zu",
                          c->batching.name, c->index_batching.name, c->batching.n,
                          c->index_batching.n);
    for (size_t i = 0; i < c->batching.n; i++) {
        int64_t a = c->operand->dims[c->batching.v[i]];
        int64_t b = c->indices->dims[c->index_batching.v[i]];
        if (!shape_dims_agree(a, b))
            return shape_fail(s, l->batching_sizes, "batching dimension %zu has size %" PRId64
                              " in the operand, but %" PRId64 " in the indices", i, a, b);
    }
    return HILO_OK;
}

static hilo_status slicing_check(struct shape *s, const struct slicing *c,
                                 const struct slicing_labels *l) {
    size_t rank = c->window.n + c->dropped.n + c->batching.n;
    if (rank != c->operand->rank)
        return shape_fail(s, l->rank, "%s, %s and %s must have one element for each of the "
                          "operand's %u dimensions, but have %zu", c->window.name, c->dropped.name,
                          c->batching.name, c->operand->rank, rank);
    HILO_TRY(slicing_sorted(s, l->window_order, &c->window));
    HILO_TRY(slicing_unique(s, l->window_order, &c->window));
    HILO_TRY(slicing_distinct(s, l->disjoint, &c->dropped, &c->batching));
    HILO_TRY(slicing_sorted(s, l->dropped_order, &c->dropped));
    HILO_TRY(slicing_in_range(s, l->dropped_range, &c->dropped, c->operand->rank));
    HILO_TRY(slicing_batching(s, c, l));
    if (!shape_dims_agree(slicing_vector_size(c), (int64_t)c->map.n))
        return shape_fail(s, l->map_count, "%s must have as many elements as there are indices in "
                          "a vector, %" PRId64 ", but has %zu", c->map.name, slicing_vector_size(c),
                          c->map.n);
    HILO_TRY(slicing_distinct(s, l->map_unique, &c->map, &c->batching));
    return slicing_in_range(s, l->map_range, &c->map, c->operand->rank);
}

/* The operand's dimension that window dimension k goes along: the k-th that is not dropped. */
static uint32_t slicing_window_to_operand(const struct slicing *c, uint32_t k) {
    uint32_t d = 0;
    for (;; d++)
        if (!shape_contains(c->dropped.v, c->dropped.n, d) &&
            !shape_contains(c->batching.v, c->batching.n, d) && k-- == 0)
            return d;
}

/* The dimension of the indices that batch dimension k of the result (updates) goes along. */
static uint32_t slicing_batch_to_indices(const struct slicing *c, uint32_t k) {
    return k + (k >= c->vector_dim);
}

static hilo_status slicing_vector_dim(struct shape *s, const struct slicing *c,
                                      const struct slicing_labels *l) {
    return shape_in_range(s, l->vector_dim, "index_vector_dim", &c->vector_dim, 1,
                          (int64_t)c->indices->rank + 1);
}

/* The rank of the result (updates), with such a dimension. */
static size_t slicing_rank(const struct slicing *c) {
    return c->window.n + c->indices->rank - (c->vector_dim < c->indices->rank);
}

/* ---- gather ---------------------------------------------------------------------------------- */

static const struct slicing_labels gather_labels = {
    .rank = "gather_c1", .vector_dim = "gather_c2", .map_count = "gather_c3",
    .window_order = "gather_c4", .window_range = "gather_c5", .disjoint = "gather_c6",
    .dropped_order = "gather_c7", .dropped_range = "gather_c8", .dropped_slices = "gather_c9",
    .batching_order = "gather_c10", .batching_range = "gather_c11",
    .batching_slices = "gather_c12", .index_unique = "gather_c13", .index_range = "gather_c14",
    .index_apart = "gather_c15", .batching_count = "gather_c16", .batching_sizes = "gather_c17",
    .map_unique = "gather_c18", .map_range = "gather_c19", .slice_count = "gather_c20",
    .slice_range = "gather_c21", .shape = "gather_c22", .elem = "gather_c23",
};

/* The specification of dynamic_gather does not speak of batching dimensions. */
static const struct slicing_labels dynamic_gather_labels = {
    .rank = "dynamic_gather_c1", .vector_dim = "dynamic_gather_c2",
    .map_count = "dynamic_gather_c3", .window_order = "dynamic_gather_c4",
    .window_range = "dynamic_gather_c5", .disjoint = "dynamic_gather_c6",
    .dropped_order = "dynamic_gather_c6", .dropped_range = "dynamic_gather_c7",
    .dropped_slices = "dynamic_gather_c8", .map_unique = "dynamic_gather_c9",
    .map_range = "dynamic_gather_c10", .slice_count = "dynamic_gather_c11",
    .slice_range = "dynamic_gather_c12", .shape = "dynamic_gather_c13",
    .elem = "dynamic_gather_c14",
};

/* Slices have at most size 1 along these dimensions. */
static hilo_status gather_unit_slices(struct shape *s, const char *label, const struct dim_list *l,
                                      const int64_t *sizes) {
    for (size_t i = 0; i < l->n; i++)
        if (sizes[l->v[i]] > 1)
            return shape_fail(s, label, "slices must have at most size 1 along %s, but have size %"
                              PRId64 " along dimension %" PRId64, l->name, sizes[l->v[i]], l->v[i]);
    return HILO_OK;
}

static hilo_status gather_slices(struct shape *s, const struct slicing *c,
                                 const struct slicing_labels *l, const int64_t *sizes) {
    HILO_TRY(gather_unit_slices(s, l->dropped_slices, &c->dropped, sizes));
    HILO_TRY(gather_unit_slices(s, l->batching_slices, &c->batching, sizes));
    for (uint32_t i = 0; i < c->operand->rank; i++)
        if (sizes[i] < 0 || (shape_known(c->operand->dims[i]) && sizes[i] > c->operand->dims[i]))
            return shape_fail(s, l->slice_range, "slice size %" PRId64 " does not fit dimension %u "
                              "of size %s", sizes[i], i, shape_dim_text(s, c->operand->dims[i]));
    return HILO_OK;
}

/* `sizes` of the slices are NULL when they are not known. */
static hilo_status gather_infer(struct shape *s, ir_attr numbers, const struct slicing_labels *l,
                                const int64_t *sizes, size_t nsizes) {
    struct slicing c = {
        .window = slicing_field(s, numbers, IR_GATHER_offset_dims_F),
        .dropped = slicing_field(s, numbers, IR_GATHER_collapsed_slice_dims_F),
        .batching = slicing_field(s, numbers, IR_GATHER_operand_batching_dims_F),
        .index_batching = slicing_field(s, numbers, IR_GATHER_start_indices_batching_dims_F),
        .map = slicing_field(s, numbers, IR_GATHER_start_index_map_F),
        .vector_dim = ir_field_i64(s->m, numbers, IR_GATHER_index_vector_dim_F),
        .operand = shape_in(s, 0),
        .indices = shape_in(s, 1),
    };
    HILO_TRY(slicing_vector_dim(s, &c, l));
    HILO_TRY(slicing_check(s, &c, l));
    HILO_TRY(shape_size(s, l->slice_count, "slice_sizes", nsizes, c.operand->rank));
    if (sizes)
        HILO_TRY(gather_slices(s, &c, l, sizes));
    size_t rank = slicing_rank(&c);
    if (rank > IR_MAX_RANK)
        return shape_fail(s, l->shape, "a result of %zu dimensions has too many", rank);
    HILO_TRY(slicing_in_range(s, l->window_range, &c.window, (int64_t)rank));

    struct shape_dim dims[IR_MAX_RANK];
    for (uint32_t i = 0, window = 0; i < rank; i++) {
        if (!shape_contains(c.window.v, c.window.n, i)) {
            dims[i] = shape_dim_of(c.indices, slicing_batch_to_indices(&c, i - window));
            continue;
        }
        uint32_t along = slicing_window_to_operand(&c, window++);
        dims[i] = (struct shape_dim){sizes ? sizes[along] : IR_DYNAMIC, IR_DYNAMIC};
    }
    if (s->verifying && !IR_SAME(shape_res(s, 0)->elem, c.operand->elem))
        return shape_fail(s, l->elem, "operand and result must have one element type, but have %s "
                          "and %s", shape_type_text(s, c.operand->elem),
                          shape_type_text(s, shape_res(s, 0)->elem));
    s->out_label = l->shape;
    s->out[0] = shape_tensor(s, c.operand->elem, dims, (uint32_t)rank);
    return HILO_OK;
}

hilo_status shape_gather(struct shape *s) {
    size_t n;
    const int64_t *sizes = ir_prop_i64s(s->m, s->op, IR_GATHER_slice_sizes, &n);
    return gather_infer(s, ir_prop(s->m, s->op, IR_GATHER_dimension_numbers), &gather_labels, sizes, n);
}

hilo_status shape_dynamic_gather(struct shape *s) {
    const int64_t *sizes;
    size_t n, length = (size_t)shape_in(s, 2)->dims[0];
    if (!shape_const_i64s(s, s->o->operands[2], &sizes, &n))
        sizes = NULL;
    return gather_infer(s, ir_prop(s->m, s->op, IR_DYNAMIC_GATHER_dimension_numbers),
                        &dynamic_gather_labels, sizes, length);
}

/* ---- scatter --------------------------------------------------------------------------------- */

static const struct slicing_labels scatter_labels = {
    .rank = "scatter_c2", .shape = "scatter_c4", .window_order = "scatter_c7",
    .window_range = "scatter_c8", .disjoint = "scatter_c9", .dropped_order = "scatter_c10",
    .dropped_range = "scatter_c11", .batching_order = "scatter_c12",
    .batching_range = "scatter_c13", .index_unique = "scatter_c14", .index_range = "scatter_c15",
    .index_apart = "scatter_c16", .batching_count = "scatter_c17", .batching_sizes = "scatter_c18",
    .map_count = "scatter_c19", .map_unique = "scatter_c20", .map_range = "scatter_c21",
    .vector_dim = "scatter_c22",
};

/* Updates have the shape of what a gather would read: windows no larger than the input. */
static hilo_status scatter_updates(struct shape *s, const struct slicing *c,
                                   const struct ir_type_data *updates) {
    const struct slicing_labels *l = &scatter_labels;
    if (updates->rank != slicing_rank(c))
        return shape_fail(s, l->shape, "updates must have %zu dimensions, but have %u",
                          slicing_rank(c), updates->rank);
    HILO_TRY(slicing_check(s, c, l));
    HILO_TRY(slicing_in_range(s, l->window_range, &c->window, updates->rank));
    for (uint32_t i = 0, window = 0; i < updates->rank; i++) {
        int64_t size = updates->dims[i];
        if (shape_contains(c->window.v, c->window.n, i)) {
            int64_t most = c->operand->dims[slicing_window_to_operand(c, window++)];
            if (shape_known(size) && shape_known(most) && size > most)
                return shape_fail(s, l->shape, "window dimension %u of the updates has size %"
                                  PRId64 ", but the input's has only %" PRId64, i, size, most);
            continue;
        }
        int64_t want = c->indices->dims[slicing_batch_to_indices(c, i - window)];
        if (!shape_dims_agree(size, want))
            return shape_fail(s, l->shape, "dimension %u of the updates has size %" PRId64 ", but "
                              "that of the indices has size %" PRId64, i, size, want);
    }
    return HILO_OK;
}

hilo_status shape_scatter(struct shape *s) {
    struct shape_range in = shape_in_group(s, 0), indices = shape_in_group(s, 1),
                       updates = shape_in_group(s, 2);
    ir_attr numbers = ir_prop(s->m, s->op, IR_SCATTER_scatter_dimension_numbers);
    if (in.n == 0)
        return shape_fail(s, "scatter_c5", "needs at least one input");
    HILO_TRY(shape_results(s, "scatter_c24", in.n));
    HILO_TRY(shape_same_shapes(s, "scatter_c1", "inputs", in));
    HILO_TRY(shape_same_shapes(s, "scatter_c3", "updates", updates));
    struct slicing c = {
        .window = slicing_field(s, numbers, IR_SCATTER_update_window_dims_F),
        .dropped = slicing_field(s, numbers, IR_SCATTER_inserted_window_dims_F),
        .batching = slicing_field(s, numbers, IR_SCATTER_input_batching_dims_F),
        .index_batching = slicing_field(s, numbers, IR_SCATTER_scatter_indices_batching_dims_F),
        .map = slicing_field(s, numbers, IR_SCATTER_scatter_dims_to_operand_dims_F),
        .vector_dim = ir_field_i64(s->m, numbers, IR_SCATTER_index_vector_dim_F),
        .indices = shape_in(s, indices.first),
    };
    HILO_TRY(slicing_vector_dim(s, &c, &scatter_labels));
    ir_type *inits = ARENA_ARRAY(&s->m->arena, ir_type, in.n);
    for (uint32_t i = 0; i < in.n; i++) {
        c.operand = shape_in(s, in.first + i);
        HILO_TRY(scatter_updates(s, &c, shape_in(s, updates.first + i)));
        inits[i] = shape_scalar_of(s, shape_in(s, updates.first + i)->elem);
    }
    struct shape_reducer r = {
        .n = in.n, .inputs = shape_in_types(s, in), .inits = inits,
        .label = "scatter_c23", .init_label = "scatter_c6",
    };
    HILO_TRY(shape_reducer(s, &r));
    s->out_label = "scatter_c24";
    for (uint32_t i = 0; i < in.n; i++) {
        ir_type elem = ir_type_get(s->m, shape_yield_type(s, 0, i))->elem;
        HILO_TRY(shape_result_elem(s, "scatter_c25", i, elem));
        s->out[i] = shape_with_elem(s, shape_in_type(s, in.first + i), elem);
    }
    return HILO_OK;
}
