/* Slices and updates whose place is known when the program runs, along dimensions that are divided; see spmd.h.
 *
 * Each partition reads as many elements of its part as the slice has, from where the slice begins or as near as its part goes,
 * and brings those that are of the slice to their places in it. The rest of a slice is neutral, and summed over partitions; the
 * rest of an update is what was there. So an update is done in place, and what moves is the slice alone. */
#include "opt/spmd.h"

/* A slice, or an update, of an op: of which dimensions and where. */
struct window {
    struct spmd *p;
    ir_op op;
    uint32_t rank, first;           /* the operand of the first start index */
    ir_type index;                  /* of places: scalars of i64 */
    int64_t whole[IR_MAX_RANK];     /* its global sizes */
    int64_t size[IR_MAX_RANK];      /* of the slice, along dimensions that it cuts global, else local */
    bool cut[IR_MAX_RANK];          /* whether part of a divided dimension is named */
    ir_val start[IR_MAX_RANK];      /* in the local operand */
    ir_val off[IR_MAX_RANK];        /* along cut dimensions: by how much later than the slice it is */
};

/* Of i64 or ui64. */
static ir_val number(const struct window *w, ir_type type, int64_t v) {
    ir_op op;
    ir_val out = spmd_make(w->p, w->op, IR_CONSTANT, NULL, 0, type, &op);
    ir_set_prop(w->p->m, op, IR_CONSTANT_value, ir_attr_dense(w->p->m, type, &v, sizeof v, true, false));
    return out;
}

static ir_val combine(const struct window *w, enum ir_op_kind kind, ir_val a, ir_val b) {
    ir_val in[2] = {a, b};
    return spmd_make(w->p, w->op, kind, in, 2, ir_val_get(w->p->m, a)->type, NULL);
}

static ir_val clamp(const struct window *w, int64_t from, ir_val v, int64_t to) {
    ir_val in[3] = {number(w, w->index, from), v, number(w, w->index, to)};
    return spmd_make(w->p, w->op, IR_CLAMP, in, 3, w->index, NULL);
}

/* The start index of a dimension, where the slice lies within it. */
static ir_val place(const struct window *w, uint32_t d) {
    ir_val v = ir_operand(w->p->m, w->op, w->first + d);
    ir_type type = ir_val_get(w->p->m, v)->type;
    int64_t last = w->cut[d] ? w->whole[d] - w->size[d] : w->whole[d];
    if (ir_type_get(w->p->m, type)->dtype == IR_UI64_T)
        v = combine(w, IR_MINIMUM, v, number(w, type, last));
    if (!IR_SAME(type, w->index))
        v = spmd_make(w->p, w->op, IR_CONVERT, &v, 1, w->index, NULL);
    return w->cut[d] ? clamp(w, 0, v, last) : v;
}

/* False where the op cuts nothing that is divided. `sizes`: global, of the slice; s: of the first operand, the slice. */
static bool window_of(struct spmd *p, ir_op op, uint32_t first, ir_type whole, const int64_t *sizes,
                      const struct sdy_sharding *s, const struct sdy_sharding *slice, struct window *w) {
    const struct ir_type_data *t = ir_type_get(p->m, whole), *local = ir_val_type(p->m, ir_operand(p->m, op, 0));
    bool any = false;
    *w = (struct window){.p = p, .op = op, .rank = t->rank, .first = first, .index = ir_type_of(p->m, IR_I64_T, NULL, 0)};
    for (uint32_t d = 0; d < t->rank; d++) {
        w->whole[d] = t->dims[d];
        w->cut[d] = s && s->dims[d].axes.n && sizes[d] != t->dims[d];
        w->size[d] = slice && slice->dims[d].axes.n ? local->dims[d] : sizes[d];
        any |= w->cut[d];
    }
    for (uint32_t d = 0; d < t->rank && any; d++) {
        w->start[d] = place(w, d);
        if (!w->cut[d])
            continue;
        ir_val begin = spmd_begin(p, op, spmd_held(p, s->mesh, s->dims[d].axes), local->dims[d]);
        begin = spmd_make(p, op, IR_CONVERT, &begin, 1, w->index, NULL);
        ir_val from = combine(w, IR_SUBTRACT, w->start[d], begin);
        w->start[d] = clamp(w, 0, from, local->dims[d] - w->size[d]);
        w->off[d] = combine(w, IR_SUBTRACT, w->start[d], from);
    }
    return any;
}

static ir_type sized(const struct window *w, ir_val v, const int64_t *dims) {
    return ir_type_with_dims(w->p->m, ir_val_get(w->p->m, v)->type, dims, w->rank);
}

/* What of the local operand is where the slice is, or near. */
static ir_val read_window(const struct window *w) {
    ir_val in[IR_MAX_RANK + 1] = {ir_operand(w->p->m, w->op, 0)};
    ir_op op;
    memcpy(in + 1, w->start, w->rank * sizeof *in);
    ir_val out = spmd_make(w->p, w->op, IR_DYNAMIC_SLICE, in, w->rank + 1, sized(w, in[0], w->size), &op);
    ir_set_prop(w->p->m, op, IR_DYNAMIC_SLICE_slice_sizes, ir_attr_i64s(w->p->m, w->size, w->rank));
    return out;
}

/* The elements of v, of the slice's sizes, later by `off`, or earlier where `back`; others are `fill`. Along dimensions of one
   element nothing can be elsewhere. */
static ir_val shift(const struct window *w, ir_val v, bool back, ir_val fill) {
    struct ir_module *m = w->p->m;
    int64_t edges[IR_MAX_RANK] = {0}, none[IR_MAX_RANK] = {0}, dims[IR_MAX_RANK];
    ir_val in[IR_MAX_RANK + 1];
    bool any = false;
    ir_op op;
    for (uint32_t d = 0; d < w->rank; d++) {
        bool moves = w->cut[d] && w->size[d] > 1;
        edges[d] = moves ? w->size[d] : 0;
        dims[d] = w->size[d] + 2 * edges[d];
        any |= moves;
        in[d + 1] = number(w, w->index, edges[d]);
        if (moves)
            in[d + 1] = clamp(w, 0, combine(w, back ? IR_ADD : IR_SUBTRACT, in[d + 1], w->off[d]), 2 * edges[d]);
    }
    if (!any)
        return v;
    ir_val pad[2] = {v, fill};
    in[0] = spmd_make(w->p, w->op, IR_PAD, pad, 2, sized(w, v, dims), &op);
    ir_set_prop(m, op, IR_PAD_edge_padding_low, ir_attr_i64s(m, edges, w->rank));
    ir_set_prop(m, op, IR_PAD_edge_padding_high, ir_attr_i64s(m, edges, w->rank));
    ir_set_prop(m, op, IR_PAD_interior_padding, ir_attr_i64s(m, none, w->rank));
    ir_val out = spmd_make(w->p, w->op, IR_DYNAMIC_SLICE, in, w->rank + 1, sized(w, v, w->size), &op);
    ir_set_prop(m, op, IR_DYNAMIC_SLICE_slice_sizes, ir_attr_i64s(m, w->size, w->rank));
    return out;
}

static ir_val splat(const struct window *w, ir_type type, uint8_t v) {
    ir_op op;
    ir_val out = spmd_make(w->p, w->op, IR_CONSTANT, NULL, 0, type, &op);
    ir_set_prop(w->p->m, op, IR_CONSTANT_value, ir_attr_dense(w->p->m, type, &v, 1, true, false));
    return out;
}

/* Whether the slice's one element along cut dimensions is in this part: a scalar; none where there are no such dimensions. */
static ir_val is_here(const struct window *w) {
    ir_val all = {0};
    for (uint32_t d = 0; d < w->rank; d++) {
        if (!w->cut[d] || w->size[d] != 1)
            continue;
        ir_op op;
        ir_val in[2] = {w->off[d], number(w, w->index, 0)};
        ir_val is = spmd_make(w->p, w->op, IR_COMPARE, in, 2, ir_type_of(w->p->m, IR_I1_T, NULL, 0), &op);
        ir_set_prop(w->p->m, op, IR_COMPARE_comparison_direction,
                    ir_attr_enum(w->p->m, IR_ENUM_COMPARISON_DIRECTION, IR_COMPARISON_DIRECTION_EQ));
        all = IR_NONE(all) ? is : combine(w, IR_AND, all, is);
    }
    return all;
}

static bool any_moves(const struct window *w) {
    for (uint32_t d = 0; d < w->rank; d++)
        if (w->cut[d] && w->size[d] > 1)
            return true;
    return false;
}

static ir_val choose(const struct window *w, ir_val flag, ir_val yes, ir_val no) {
    ir_val in[3] = {flag, yes, no};
    return spmd_make(w->p, w->op, IR_SELECT, in, 3, ir_val_get(w->p->m, yes)->type, NULL);
}

static bool sliced(const struct spmd *p, ir_op op, const struct sdy_rule *rule, uint32_t factor, int64_t *size, int64_t *of) {
    enum ir_op_kind kind = ir_kind(p->m, op);
    const struct ir_type_data *in = ir_type_get(p->m, spmd_global_type(p, ir_operand(p->m, op, 0)));
    if (kind != IR_DYNAMIC_SLICE && kind != IR_DYNAMIC_UPDATE_SLICE)
        return false;
    const struct ir_type_data *slice = kind == IR_DYNAMIC_SLICE
                                           ? ir_val_type(p->m, ir_result(p->m, op, 0))
                                           : ir_type_get(p->m, spmd_global_type(p, ir_operand(p->m, op, 1)));
    for (uint32_t d = 0; d < rule->ranks[0]; d++)
        if (rule->dims[0][d].n == 1 && rule->dims[0][d].v[0] == factor && in->dims[d] != slice->dims[d]) {
            *size = slice->dims[d];
            *of = in->dims[d];
            return true;
        }
    return false;
}

bool spmd_slice_fits(const struct spmd *p, ir_op op, const struct sdy_rule *rule, uint32_t factor, int64_t parts) {
    int64_t size, of;
    return !sliced(p, op, rule, factor, &size, &of) || size <= of / parts + (of % parts != 0);
}

bool spmd_slice(struct spmd *p, ir_op op, const ir_type *types, const struct sdy_sharding *const *s) {
    size_t n;
    struct window w;
    uint32_t nin = ir_op_get(p->m, op)->noperands;
    const int64_t *sizes = ir_prop_i64s(p->m, op, IR_DYNAMIC_SLICE_slice_sizes, &n);
    if (!window_of(p, op, 1, types[0], sizes, s[0], s[nin], &w))
        return false;
    ir_val v = read_window(&w), here = is_here(&w);
    ir_type elem = ir_type_tensor(p->m, ir_val_type(p->m, v)->elem, NULL, 0, (ir_attr){0});
    if (!IR_NONE(here))
        v = choose(&w, here, v, spmd_make_zero(p, op, ir_val_get(p->m, v)->type));
    if (any_moves(&w))
        v = shift(&w, v, false, spmd_make_zero(p, op, elem));
    ir_set_operand(p->m, op, 0, v);
    for (uint32_t d = 0; d < w.rank; d++)
        ir_set_operand(p->m, op, 1 + d, number(&w, w.index, 0));
    ir_set_prop(p->m, op, IR_DYNAMIC_SLICE_slice_sizes, ir_attr_i64s(p->m, w.size, w.rank));
    return true;
}

void spmd_update(struct spmd *p, ir_op op, const ir_type *types, const struct sdy_sharding *const *s) {
    struct window w;
    if (!window_of(p, op, 2, types[0], ir_type_get(p->m, types[1])->dims, s[0], s[1], &w))
        return;
    ir_val old = read_window(&w), v = ir_operand(p->m, op, 1), here = is_here(&w);
    ir_type flag = ir_type_of(p->m, IR_I1_T, NULL, 0), flags = ir_type_of(p->m, IR_I1_T, w.size, w.rank);
    ir_type elem = ir_type_tensor(p->m, ir_val_type(p->m, v)->elem, NULL, 0, (ir_attr){0});
    if (any_moves(&w)) {
        v = shift(&w, v, true, spmd_make_zero(p, op, elem));
        v = choose(&w, shift(&w, splat(&w, flags, 1), true, splat(&w, flag, 0)), v, old);
    }
    if (!IR_NONE(here))
        v = choose(&w, here, v, old);
    ir_set_operand(p->m, op, 1, v);
    for (uint32_t d = 0; d < w.rank; d++)
        ir_set_operand(p->m, op, 2 + d, w.start[d]);
}
