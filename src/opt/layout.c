/* layout: the order of dimensions in memory
 * does       gives convolutions, pooling, normalisation and what lies between them the order of dimensions in which they are
 *            fastest, and other ops the one in which the fewest transposes remain
 * requires   nothing
 * preserves  nothing
 * cost       linear, times a few layouts that are tried for values that have one
 * example    convolution %nchw; maximum; convolution  =>  transpose %nchw; convolution; maximum; convolution; transpose
 *
 * Layouts of arguments and results of functions are fixed. Transposes are made where a value in one layout is needed in
 * another, before its first use there. layout.h says how layouts are represented, layout_class.c how they are chosen. */
#include "opt/layout.h"

#include <string.h>

/* ---- values in their layouts ----------------------------------------------------------------- */

/* Types of values stay those of the program until all ops are rewritten, so that what ops do with dimensions can be looked up
   in any order. New ops have the types that their results will have. */

static layout_id layout_of(const struct layout *l, ir_val v) {
    return opt_ids_get(&l->layout, v.i);
}

/* The type of the program in a layout. */
static ir_type type_in(const struct layout *l, ir_val v, layout_id layout) {
    const struct ir_type_data *t = ir_val_type(l->o->m, v);
    int64_t order[IR_MAX_RANK], dims[IR_MAX_RANK];
    layout_order(l, layout, t->rank, order);
    for (uint32_t i = 0; i < t->rank; i++)
        dims[i] = t->dims[order[i]];
    return ir_type_with_dims(l->o->m, ir_val_get(l->o->m, v)->type, dims, t->rank);
}

/* The op that defines the value makes it in that layout. */
static void set_layout(struct layout *l, ir_val v, layout_id layout) {
    if (!layout)
        return;
    opt_ids_set(&l->layout, v.i, layout);
    ARENA_PUSH(&l->o->scratch, &l->retyped, v);
    l->o->changes++;
}

/* Where something is made of `v` that `op` needs: before the op, or, if that is in a region, right after the value. */
static ir_op place(const struct layout *l, ir_val v, ir_op op) {
    const struct ir_module *m = l->o->m;
    const struct ir_val_data *x = ir_val_get(m, v);
    ir_block b = IR_NONE(x->op) ? x->block : ir_op_get(m, x->op)->parent;
    if (IR_SAME(ir_op_get(m, op)->parent, b))
        return op;
    return IR_NONE(x->op) ? ir_block_get(m, b)->first : ir_op_get(m, x->op)->next;
}

/* A constant or the like, which has the layout of its type, made in another one. */
static ir_op remade(struct layout *l, ir_val v, const int64_t *order, ir_type type) {
    struct ir_module *m = l->o->m;
    ir_op op = ir_val_get(m, v)->op;
    ir_op copy = opt_remake(l->o, op, ir_op_get(m, op)->operands, ir_op_get(m, op)->noperands, &type, 1);
    if (ir_kind(m, op) == IR_CONSTANT) {
        const struct ir_attr_data *a = ir_attr_get(m, ir_constant_value(m, op));
        size_t bytes = ir_dtype_get(ir_type_get(m, type)->dtype)->bytes;
        ir_set_prop(m, copy, IR_CONSTANT_value, ir_attr_dense(m, type, a->data, bytes, /*splat=*/true, /*owned=*/false));
    } else {
        layout_permute(m, copy, order);
    }
    return copy;
}

/* A transpose of the value, which is in memory as `order` says then, or a reshape where only dimensions of size 1 move. */
static ir_op moved(struct layout *l, ir_val v, const int64_t *order, uint32_t rank, ir_type type, bool ones) {
    struct ir_module *m = l->o->m;
    ir_op op = ir_op_new(m, ones ? IR_RESHAPE : IR_TRANSPOSE, &v, 1, &type, 1, 0);
    if (!ones)
        ir_set_prop(m, op, IR_TRANSPOSE_permutation, ir_attr_i64s(m, order, rank));
    return op;
}

/* Whether a value can be made in another layout without moving elements: iota, a broadcast, a constant of equal elements. */
static bool can_remake(const struct layout *l, ir_val v) {
    const struct ir_module *m = l->o->m;
    ir_op op = ir_val_get(m, v)->op;
    if (!layout_is_free(m, v))
        return false;
    const struct ir_attr_data *a = ir_attr_get(m, ir_kind(m, op) == IR_CONSTANT ? ir_constant_value(m, op) : (ir_attr){0});
    return ir_kind(m, op) != IR_CONSTANT || (a->kind == IR_ATTR_DENSE && a->splat);
}

/* The value in a layout, for `user`. */
static ir_val in_layout(struct layout *l, ir_val v, layout_id layout, ir_op user) {
    struct ir_module *m = l->o->m;
    const uint32_t rank = ir_val_type(m, v)->rank;
    int64_t have[IR_MAX_RANK], want[IR_MAX_RANK], at[IR_MAX_RANK], order[IR_MAX_RANK];
    ir_val now = opt_ids_get(&l->now, v.i) ? (ir_val){opt_ids_get(&l->now, v.i)} : v;
    if (layout_of(l, v) == layout)
        return now;
    if (opt_ids_get(&l->cached, v.i) && opt_ids_get(&l->cached_layout, v.i) == layout)
        return (ir_val){opt_ids_get(&l->cached, v.i)};
    layout_order(l, layout_of(l, v), rank, have);
    layout_order(l, layout, rank, want);
    for (uint32_t i = 0; i < rank; i++)
        at[have[i]] = i;
    for (uint32_t i = 0; i < rank; i++)
        order[i] = at[want[i]];
    bool alike = layout_alike(l, ir_val_type(m, v), layout_of(l, v), layout);
    ir_type type = type_in(l, v, layout);
    ir_op op = can_remake(l, v) ? remade(l, v, order, type)
                                : moved(l, now, order, rank, type, alike);
    const struct ir_op_data *x = ir_op_get(m, user);
    ir_set_loc(m, op, x->loc, x->line, x->col);
    ir_insert_before(m, place(l, now, user), op);
    opt_ids_set(&l->cached, v.i, ir_result(m, op, 0).i);
    opt_ids_set(&l->cached_layout, v.i, layout);
    l->o->changes++;
    return ir_result(m, op, 0);
}

static void set_operand(struct layout *l, ir_op op, uint32_t i, layout_id layout) {
    ir_val v = ir_operand(l->o->m, op, i), to = in_layout(l, v, layout, op);
    if (!IR_SAME(v, to))
        ir_set_operand(l->o->m, op, i, to);
}

/* ---- ops ------------------------------------------------------------------------------------- */

static void rewrite_fixed(struct layout *l, ir_op op) {
    for (uint32_t i = 0; i < ir_op_get(l->o->m, op)->noperands; i++)
        set_operand(l, op, i, 0);
}

static void rewrite_same(struct layout *l, ir_op op) {
    struct ir_module *m = l->o->m;
    ir_val result = ir_result(m, op, 0);
    layout_id layout = layout_chosen(l, result);
    int64_t order[IR_MAX_RANK];
    for (uint32_t i = 0; i < ir_op_get(m, op)->noperands; i++)
        set_operand(l, op, i, ir_val_type(m, ir_operand(m, op, i))->rank ? layout : 0);
    if (!layout)
        return;
    layout_order(l, layout, ir_val_type(m, result)->rank, order);
    layout_permute(m, op, order);
    for (uint32_t i = 0; i < ir_op_get(m, op)->nresults; i++)
        set_layout(l, ir_result(m, op, i), layout);
}

/* The layout of a convolution's operand `which`, or of its result, instead of `given`: the fastest if that is worth a
   transpose. */
static layout_id conv_layout(struct layout *l, ir_op op, uint32_t which, ir_val v, layout_id given) {
    struct ir_module *m = l->o->m;
    int64_t order[IR_MAX_RANK];
    layout_order(l, given, ir_val_type(m, v)->rank, order);
    if (layout_conv_fits(m, op, which, order))
        return given;
    layout_conv_order(m, op, which, order);
    layout_id best = layout_number(l, order, ir_val_type(m, v)->rank);
    if (best == LAYOUT_NONE)
        return given;
    return layout_conv_ns(m, &l->target, op, which) > layout_transpose_ns(m, &l->target, v) ? best : given;
}

static ir_op insert(struct layout *l, enum ir_op_kind kind, ir_val *in, uint32_t n, ir_type type, ir_op before) {
    struct ir_module *m = l->o->m;
    ir_op op = ir_op_new(m, kind, in, n, &type, 1, 0);
    const struct ir_op_data *x = ir_op_get(m, before);
    ir_set_loc(m, op, x->loc, x->line, x->col);
    ir_insert_before(m, before, op);
    return op;
}

/* The places of an image that a convolution's strides and negative padding leave. Its spatial dimensions follow two others, in
   order. */
static ir_val take_places(struct layout *l, ir_op op, ir_val image) {
    struct ir_module *m = l->o->m;
    const struct ir_type_data *t = ir_val_type(m, image), *result = ir_val_type(m, ir_result(m, op, 0));
    int64_t begin[IR_MAX_RANK], end[IR_MAX_RANK], step[IR_MAX_RANK], dims[IR_MAX_RANK];
    bool all = true;
    for (uint32_t i = 0; i < t->rank; i++) {
        bool spatial = i >= 2;
        step[i] = spatial ? ir_prop_i64_at(m, op, IR_CONVOLUTION_window_strides, i - 2, 1) : 1;
        begin[i] = spatial ? -ir_prop_i64_at(m, op, IR_CONVOLUTION_padding, 2 * (i - 2), 0) : 0; /* [dimension][low, high] */
        dims[i] = spatial ? result->dims[i] : t->dims[i];
        end[i] = begin[i] + (dims[i] - 1) * step[i] + 1;
        all &= dims[i] == t->dims[i];
    }
    if (all)
        return image;
    ir_op slice = insert(l, IR_SLICE, &image, 1, ir_type_with_dims(m, ir_val_get(m, image)->type, dims, t->rank), op);
    ir_set_prop(m, slice, IR_SLICE_start_indices, ir_attr_i64s(m, begin, t->rank));
    ir_set_prop(m, slice, IR_SLICE_limit_indices, ir_attr_i64s(m, end, t->rank));
    ir_set_prop(m, slice, IR_SLICE_strides, ir_attr_i64s(m, step, t->rank));
    return ir_result(m, slice, 0);
}

/* A convolution that multiplies planes becomes the product of its window, a matrix of features, and the planes as lines. */
static void rewrite_product(struct layout *l, ir_op op) {
    struct ir_module *m = l->o->m;
    ir_attr numbers = ir_prop(m, op, IR_CONVOLUTION_dimension_numbers), none = ir_attr_i64s(m, NULL, 0);
    ir_val in[2], result = ir_result(m, op, 0), window = ir_operand(m, op, 1);
    int64_t from = ir_field_i64(m, numbers, IR_CONV_kernel_input_feature_dimension_F);
    int64_t to = ir_field_i64(m, numbers, IR_CONV_kernel_output_feature_dimension_F);
    int64_t channels = ir_val_type(m, window)->dims[from], features = ir_val_type(m, window)->dims[to], summed = from > to;
    int64_t places = (int64_t)ir_val_count(m, result) / features;
    int64_t dims[3][2] = {{summed ? features : channels, summed ? channels : features}, {channels, places}, {features, places}};
    for (uint32_t i = 0; i < 2; i++) {
        set_operand(l, op, i, 0);
        in[1 - i] = ir_operand(m, op, i);
    }
    in[1] = take_places(l, op, in[1]);
    for (uint32_t i = 0; i < 2; i++) {
        ir_type matrix = ir_type_with_dims(m, ir_val_get(m, in[i])->type, dims[i], 2);
        in[i] = ir_result(m, insert(l, IR_RESHAPE, &in[i], 1, matrix, op), 0);
    }
    ir_op dot = insert(l, IR_DOT_GENERAL, in, 2, ir_type_with_dims(m, ir_val_get(m, result)->type, dims[2], 2), op);
    ir_attr sums[2] = {ir_attr_i64s(m, &summed, 1), ir_attr_i64s(m, (int64_t[]){0}, 1)};
    ir_set_prop(m, dot, IR_DOT_GENERAL_dot_dimension_numbers,
                ir_attr_struct(m, IR_STRUCT_DOT, (ir_attr[]){none, none, sums[0], sums[1]}));
    const struct ir_attr_data *config = ir_attr_get(m, ir_prop(m, op, IR_CONVOLUTION_precision_config));
    if (config->kind == IR_ATTR_ARRAY && config->n == 2)
        ir_set_prop(m, dot, IR_DOT_GENERAL_precision_config,
                    ir_attr_array(m, (ir_attr[]){config->items[1], config->items[0]}, 2));
    ir_val product = ir_result(m, dot, 0);
    ir_op shaped = insert(l, IR_RESHAPE, &product, 1, ir_val_get(m, result)->type, op);
    opt_ids_set(&l->now, result.i, ir_result(m, shaped, 0).i);
    ir_unlink(m, op);
    l->o->changes++;
}

static void rewrite_conv(struct layout *l, ir_op op) {
    struct ir_module *m = l->o->m;
    ir_val v[3] = {ir_operand(m, op, 0), ir_operand(m, op, 1), ir_result(m, op, 0)};
    layout_id to[3];
    int64_t order[IR_MAX_RANK];
    if (!layout_of(l, v[0]) && !layout_of(l, v[1]) && !layout_chosen(l, v[2]) && layout_multiplies_planes(m, &l->target, op)) {
        rewrite_product(l, op);
        return;
    }
    for (uint32_t i = 0; i < 3; i++)
        to[i] = conv_layout(l, op, i, v[i], i < 2 ? layout_of(l, v[i]) : layout_chosen(l, v[i]));
    for (uint32_t i = 0; i < 3; i++) {
        layout_order(l, to[i], ir_val_type(m, v[i])->rank, order);
        if (to[i])
            layout_conv_set(m, op, i, order);
        if (i < 2)
            set_operand(l, op, i, to[i]);
        else
            set_layout(l, v[i], to[i]);
    }
}

/* Both orders are those of layouts; the result is the operand where its dimensions are already in that order. */
static void rewrite_transpose(struct layout *l, ir_op op, const int64_t *from, const int64_t *to) {
    struct ir_module *m = l->o->m;
    ir_val operand = ir_operand(m, op, 0), result = ir_result(m, op, 0);
    uint32_t rank = ir_val_type(m, result)->rank;
    int64_t at[IR_MAX_RANK], order[IR_MAX_RANK];
    size_t n;
    const int64_t *p = ir_prop_i64s(m, op, IR_TRANSPOSE_permutation, &n);
    bool same = true;
    for (uint32_t i = 0; i < rank; i++)
        at[from[i]] = i;
    for (uint32_t i = 0; i < rank; i++) {
        order[i] = at[p[to[i]]];
        same = same && order[i] == i;
    }
    layout_id layout = layout_number(l, to, rank);
    if (same) {
        opt_ids_set(&l->now, result.i, in_layout(l, operand, layout_of(l, operand), op).i);
        opt_ids_set(&l->layout, result.i, layout);
        ir_unlink(m, op);
        l->o->changes++;
        return;
    }
    set_operand(l, op, 0, layout_of(l, operand));
    ir_set_prop(m, op, IR_TRANSPOSE_permutation, ir_attr_i64s(m, order, rank));
    set_layout(l, result, layout);
}

static void rewrite_broadcast(struct layout *l, ir_op op, const int64_t *from, const int64_t *to) {
    struct ir_module *m = l->o->m;
    ir_val operand = ir_operand(m, op, 0), result = ir_result(m, op, 0);
    uint32_t rank = ir_val_type(m, result)->rank;
    int64_t at[IR_MAX_RANK], dims[IR_MAX_RANK];
    size_t n;
    const int64_t *d = ir_prop_i64s(m, op, IR_BROADCAST_IN_DIM_broadcast_dimensions, &n);
    for (uint32_t i = 0; i < rank; i++)
        at[to[i]] = i;
    for (size_t i = 0; i < n; i++)
        dims[i] = at[d[from[i]]];
    set_operand(l, op, 0, layout_of(l, operand));
    ir_set_prop(m, op, IR_BROADCAST_IN_DIM_broadcast_dimensions, ir_attr_i64s(m, dims, (uint32_t)n));
    set_layout(l, result, layout_number(l, to, rank));
}

/* The operands in one layout, the results in the one that follows. */
static void rewrite_reduce(struct layout *l, ir_op op, layout_id layout, const int64_t *from, const int64_t *to) {
    struct ir_module *m = l->o->m;
    const struct ir_op_data *x = ir_op_get(m, op);
    uint32_t rank = ir_val_type(m, x->operands[0])->rank, nresults = x->nresults, ndims = 0;
    int64_t at[IR_MAX_RANK], dims[IR_MAX_RANK];
    size_t n;
    const int64_t *d = ir_prop_i64s(m, op, IR_REDUCE_dimensions, &n);
    for (uint32_t i = 0; i < rank; i++)
        at[from[i]] = i;
    for (uint32_t i = 0; i < rank; i++) /* in ascending order */
        for (size_t k = 0; k < n; k++)
            if (at[d[k]] == i)
                dims[ndims++] = i;
    for (uint32_t i = 0; i < nresults; i++) {
        ir_val result = ir_result(m, op, i);
        layout_id follows = layout_number(l, to, ir_val_type(m, result)->rank);
        set_operand(l, op, i, layout);
        set_operand(l, op, nresults + i, 0);
        set_layout(l, result, follows);
    }
    if (layout)
        ir_set_prop(m, op, IR_REDUCE_dimensions, ir_attr_i64s(m, dims, ndims));
}

static void rewrite_view(struct layout *l, ir_op op) {
    struct ir_module *m = l->o->m;
    ir_val operand = ir_operand(m, op, 0), result = ir_result(m, op, 0);
    uint32_t rank = ir_val_type(m, operand)->rank, result_rank = ir_val_type(m, result)->rank;
    int64_t from[IR_MAX_RANK], to[IR_MAX_RANK];
    layout_id layout = layout_of(l, operand);
    enum ir_op_kind kind = ir_kind(m, op);
    layout_order(l, layout, rank, from);
    layout_order(l, layout_chosen(l, result), result_rank, to);
    if (kind == IR_TRANSPOSE) {
        rewrite_transpose(l, op, from, to);
    } else if (kind == IR_BROADCAST_IN_DIM) {
        rewrite_broadcast(l, op, from, to);
    } else if (layout && !layout_reorders(m, op, from) && layout_forward(m, op, from, to) &&
               layout_number(l, to, result_rank) != LAYOUT_NONE) {
        if (kind == IR_REDUCE) {
            rewrite_reduce(l, op, layout, from, to);
        } else {
            layout_id follows = layout_number(l, to, result_rank), wanted = layout_chosen(l, result);
            set_operand(l, op, 0, layout);
            set_layout(l, result, layout_alike(l, ir_val_type(m, result), follows, wanted) ? wanted : follows);
        }
    } else {
        rewrite_fixed(l, op);
    }
}

/* ---- the walk -------------------------------------------------------------------------------- */

static void rewrite_block(struct layout *l, ir_block b);

/* Results, and arguments of regions, have the layouts that were chosen; operands, and what regions return, are brought into
   them. */
static void rewrite_pass(struct layout *l, ir_op op) {
    struct ir_module *m = l->o->m;
    const struct ir_op_data *x = ir_op_get(m, op);
    bool loop = ir_op_has((enum ir_op_kind)x->kind, IR_T_PREDICATE), operands = loop || !x->nregions;
    uint32_t nresults = x->nresults, nregions = x->nregions, noperands = x->noperands;
    for (uint32_t i = 0; i < noperands; i++)
        set_operand(l, op, i, operands ? layout_chosen(l, ir_result(m, op, i)) : 0);
    for (uint32_t r = 0; r < nregions; r++) {
        ir_block b = ir_region_get(m, ir_op_region(m, op, r))->first;
        for (uint32_t i = 0; loop && i < nresults; i++)
            set_layout(l, ir_block_get(m, b)->args[i], layout_chosen(l, ir_result(m, op, i)));
        rewrite_block(l, b);
        for (uint32_t i = 0; i < nresults && (!loop || r > 0); i++)
            set_operand(l, ir_terminator(m, b), i, layout_chosen(l, ir_result(m, op, i)));
    }
    for (uint32_t i = 0; i < nresults; i++)
        set_layout(l, ir_result(m, op, i), layout_chosen(l, ir_result(m, op, i)));
}

static void rewrite_op(struct layout *l, ir_op op) {
    struct ir_module *m = l->o->m;
    enum layout_role role = layout_role(m, op);
    if (role == LAYOUT_PASS) {
        rewrite_pass(l, op);
        return;
    }
    for (uint32_t i = 0; i < ir_op_get(m, op)->nregions; i++)
        for (ir_block b = ir_region_get(m, ir_op_region(m, op, i))->first; !IR_NONE(b); b = ir_block_get(m, b)->next)
            rewrite_block(l, b);
    if (role == LAYOUT_SAME)
        rewrite_same(l, op);
    else if (role == LAYOUT_VIEW)
        rewrite_view(l, op);
    else if (role == LAYOUT_CONV)
        rewrite_conv(l, op);
    else
        rewrite_fixed(l, op);
}

/* The terminator of a region of an op that passes values on is the op's. */
static void rewrite_block(struct layout *l, ir_block b) {
    const struct ir_module *m = l->o->m;
    ir_op parent = ir_region_get(m, ir_block_get(m, b)->parent)->parent, next;
    bool passed = layout_role(m, parent) == LAYOUT_PASS;
    for (ir_op op = ir_block_get(m, b)->first; !IR_NONE(op); op = next) {
        next = ir_op_get(m, op)->next;
        if (!IR_NONE(next) || !passed)
            rewrite_op(l, op);
    }
}

/* Whether any op has a reason to change layouts. */
static bool has_layouts(const struct ir_module *m, ir_block b) {
    for (ir_op op = ir_block_get(m, b)->first; !IR_NONE(op); op = ir_op_get(m, op)->next) {
        if (ir_kind(m, op) == IR_CONVOLUTION || ir_kind(m, op) == IR_TRANSPOSE)
            return true;
        for (uint32_t i = 0; i < ir_op_get(m, op)->nregions; i++)
            for (ir_block c = ir_region_get(m, ir_op_region(m, op, i))->first; !IR_NONE(c); c = ir_block_get(m, c)->next)
                if (has_layouts(m, c))
                    return true;
    }
    return false;
}

hilo_status opt_layout(struct opt *o) {
    struct arena *a = &o->scratch;
    struct layout l = {.o = o, .layout = {.a = a}, .now = {.a = a}, .cached = {.a = a}, .cached_layout = {.a = a}};
    if (!has_layouts(o->m, ir_module_body(o->m)))
        return HILO_OK;
    if (o->options.target)
        l.target = *o->options.target;
    else
        target_portable(&l.target);
    layout_find(&l);
    if (layout_split(&l))
        layout_find(&l);
    layout_choose(&l);
    rewrite_block(&l, ir_module_body(o->m));
    for (uint32_t i = 0; i < l.retyped.n; i++) {
        ir_val v = l.retyped.v[i];
        ir_set_type(o->m, v, type_in(&l, v, layout_of(&l, v)));
    }
    return HILO_OK;
}
