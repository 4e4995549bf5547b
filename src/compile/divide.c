/* See divide.h. */
#include "compile/divide.h"

#include <string.h>

enum { DIVIDE_OPS = 64 }; /* of a kernel: more are not divided */

/* An op of the kernel, of which a part along a dimension of its results is needed, or all (-1). */
struct part {
    ir_op op;
    int32_t axis;
    ir_op made[DIVIDE_SIDES];
};

struct divider {
    struct arena *a;
    const struct ir_module *m;
    ir_block block;
    const struct fuse_block *f;
    struct division *x;
    struct {
        struct part *v;
        uint32_t n, cap;
    } parts;
    /* of divide_steps: */
    struct opt *o;
    struct opt_map map;
    struct divided *marks;
    ir_op at; /* what is made goes before it */
};

bool divide_is_outermost(const struct ir_type_data *t, uint32_t axis) {
    for (uint32_t i = 0; i < axis; i++)
        if (t->dims[i] != 1)
            return false;
    return true;
}

size_t divide_bytes(const struct ir_type_data *t, uint32_t axis) {
    size_t bytes = 0;
    return ir_type_bytes(t, &bytes) && t->dims[axis] > 0 ? bytes / (size_t)t->dims[axis] : 0;
}

/* ---- which parts are needed ------------------------------------------------------------------ */

static bool is_plain(const struct ir_module *m, ir_val v) {
    const struct ir_type_data *t = ir_val_type(m, v);
    return t->kind == IR_TYPE_TENSOR && ir_type_is_static(t) && !t->quant && IR_NONE(t->encoding);
}

static bool contains(const int64_t *v, size_t n, int64_t x) {
    for (size_t i = 0; i < n; i++)
        if (v[i] == x)
            return true;
    return false;
}

/* The operand's dimension that is the result's dimension `axis` of a product: batch, free ones of the left, of the right. */
static int32_t product_axis(const struct ir_module *m, ir_op op, uint32_t i, uint32_t axis) {
    static const enum ir_field_slot batches[] = {IR_DOT_lhs_batching_dimensions_F, IR_DOT_rhs_batching_dimensions_F},
                                    sums[] = {IR_DOT_lhs_contracting_dimensions_F, IR_DOT_rhs_contracting_dimensions_F};
    ir_attr numbers = ir_prop(m, op, IR_DOT_GENERAL_dot_dimension_numbers);
    size_t nbatch, nsum;
    const int64_t *batch = ir_field_dims(m, numbers, batches[i], &nbatch);
    if (axis < nbatch)
        return (int32_t)batch[axis];
    uint32_t at = (uint32_t)nbatch;
    for (uint32_t side = 0; side <= i; side++) {
        const struct ir_type_data *t = ir_val_type(m, ir_operand(m, op, side));
        batch = ir_field_dims(m, numbers, batches[side], &nbatch);
        const int64_t *sum = ir_field_dims(m, numbers, sums[side], &nsum);
        for (uint32_t k = 0; k < t->rank; k++)
            if (!contains(batch, nbatch, k) && !contains(sum, nsum, k) && at++ == axis)
                return side == i ? (int32_t)k : -1;
    }
    return -1;
}

static bool reshape_axis(const struct ir_type_data *in, const struct ir_type_data *out, uint32_t axis, int32_t *of) {
    int64_t before = 1, n = 1;
    for (uint32_t k = 0; k < axis; k++)
        before *= out->dims[k];
    for (uint32_t k = 0; k < in->rank; n *= in->dims[k++])
        if (n == before && in->dims[k] == out->dims[axis]) {
            *of = (int32_t)k;
            return true;
        }
    return false;
}

/* The dimension of operand i of which a part suffices for a part of the results along `axis`; -1: all of it is needed. False
   where the op has no parts. */
static bool operand_axis(const struct ir_module *m, ir_op op, uint32_t i, uint32_t axis, int32_t *of) {
    enum ir_op_kind kind = ir_kind(m, op);
    const struct ir_type_data *in = ir_val_type(m, ir_operand(m, op, i)), *out = ir_val_type(m, ir_result(m, op, 0));
    size_t n;
    *of = -1;
    if (ir_op_has(kind, IR_T_ELEMENTWISE)) {
        *of = in->rank ? (int32_t)axis : -1;
        return in->rank == 0 || (in->rank == out->rank && in->dims[axis] == out->dims[axis]);
    }
    switch (kind) {
    case IR_BROADCAST_IN_DIM: {
        const int64_t *dims = ir_prop_i64s(m, op, IR_BROADCAST_IN_DIM_broadcast_dimensions, &n);
        for (size_t k = 0; k < n; k++)
            if (dims[k] == (int64_t)axis && in->dims[k] == out->dims[axis])
                *of = (int32_t)k;
        return true;
    }
    case IR_TRANSPOSE:
        *of = (int32_t)ir_prop_i64s(m, op, IR_TRANSPOSE_permutation, &n)[axis];
        return true;
    case IR_RESHAPE:
        return reshape_axis(in, out, axis, of);
    case IR_DOT_GENERAL:
        *of = product_axis(m, op, i, axis);
        return true;
    case IR_REDUCE: {
        const int64_t *dims = ir_prop_i64s(m, op, IR_REDUCE_dimensions, &n);
        uint32_t left = axis + 1, k = 0;
        if (in->rank == 0) /* an initial value */
            return true;
        for (;; k++)
            if (!contains(dims, n, k) && --left == 0)
                break;
        *of = (int32_t)k;
        return true;
    }
    default:
        return false;
    }
}

/* Whether another step stores it, or it is an argument or a constant. */
static bool is_read(const struct divider *d, ir_val v) {
    ir_op op = ir_val_get(d->m, v)->op;
    uint32_t step = opt_ids_get(&d->f->kernel_of, v.i);
    return IR_NONE(op) || !IR_SAME(ir_op_get(d->m, op)->parent, d->block) || fuse_is_constant(d->m, v) ||
           (step && step != d->x->step + 1);
}

static bool is_splat(const struct ir_module *m, ir_val v) {
    ir_op op = ir_val_get(m, v)->op;
    if (IR_NONE(op) || !ir_op_has(ir_kind(m, op), IR_T_CONSTANT))
        return false;
    const struct ir_attr_data *a = ir_attr_get(m, ir_constant_value(m, op));
    return a->kind == IR_ATTR_DENSE && a->splat;
}

static struct divide_read *read_of(const struct divider *d, ir_val v, int32_t axis) {
    for (uint32_t i = 0; i < d->x->reads.n; i++)
        if (IR_SAME(d->x->reads.v[i].v, v) && d->x->reads.v[i].axis == axis)
            return &d->x->reads.v[i];
    return NULL;
}

static struct part *part_of(const struct divider *d, ir_op op, int32_t axis) {
    for (uint32_t i = 0; i < d->parts.n; i++)
        if (IR_SAME(d->parts.v[i].op, op) && d->parts.v[i].axis == axis)
            return &d->parts.v[i];
    return NULL;
}

/* Finds the ops of the kernel, and what they read, that a part of the value, or all of it, is computed from. */
static bool find(struct divider *d, ir_val v, int32_t axis) {
    if (!is_plain(d->m, v))
        return false;
    if (is_splat(d->m, v))
        return true;
    if (is_read(d, v)) {
        struct divide_read r = {.v = v, .axis = axis};
        if (!read_of(d, v, axis))
            ARENA_PUSH(d->a, &d->x->reads, r);
        return true;
    }
    ir_op op = ir_val_get(d->m, v)->op;
    struct part fresh = {.op = op, .axis = axis};
    if (part_of(d, op, axis))
        return true;
    if (d->parts.n == DIVIDE_OPS || !ir_op_has(ir_kind(d->m, op), IR_T_PURE))
        return false;
    ARENA_PUSH(d->a, &d->parts, fresh);
    for (uint32_t i = 0; i < ir_op_get(d->m, op)->noperands; i++) {
        int32_t of = -1;
        if ((axis >= 0 && !operand_axis(d->m, op, i, (uint32_t)axis, &of)) || !find(d, ir_operand(d->m, op, i), of))
            return false;
    }
    return axis < 0 || ir_op_get(d->m, op)->noperands > 0; /* an iota has no parts */
}

/* Of all that it stores: so the parts are complete, whatever the kernel computes on the way. */
static bool find_all(struct divider *d) {
    const struct fuse_kernel *k = d->f->steps.v[d->x->step].kernel;
    if (!k || k->schedule == FUSE_INTO)
        return false;
    for (uint32_t i = 0; i < k->outs.n; i++) {
        const struct ir_type_data *t = ir_val_type(d->m, k->outs.v[i]);
        if (d->x->axis >= t->rank || t->dims[d->x->axis] != ir_val_type(d->m, k->outs.v[0])->dims[d->x->axis] ||
            !find(d, k->outs.v[i], (int32_t)d->x->axis))
            return false;
    }
    return true;
}

bool divide_find(struct arena *a, const struct ir_module *m, ir_block block, const struct fuse_block *f, struct division *x) {
    struct divider d = {.a = a, .m = m, .block = block, .f = f, .x = x};
    x->reads.n = 0;
    if (!find_all(&d))
        return false;
    x->size = ir_val_type(m, f->steps.v[x->step].kernel->outs.v[0])->dims[x->axis];
    return true;
}

/* ---- parts ----------------------------------------------------------------------------------- */

static int64_t begin_of(const struct divider *d, enum divide_side side) {
    return side == DIVIDE_DEVICE ? 0 : d->x->first;
}

static int64_t size_of(const struct divider *d, enum divide_side side) {
    return side == DIVIDE_DEVICE ? d->x->first : d->x->size - d->x->first;
}

static ir_type part_type(const struct divider *d, ir_val v, int32_t axis, enum divide_side side) {
    const struct ir_type_data *t = ir_val_type(d->m, v);
    int64_t dims[IR_MAX_RANK];
    for (uint32_t i = 0; i < t->rank; i++)
        dims[i] = t->dims[i];
    if (axis >= 0)
        dims[axis] = size_of(d, side);
    return ir_type_with_dims(d->o->m, ir_val_get(d->m, v)->type, dims, t->rank);
}

static void insert(struct divider *d, ir_op op, ir_op like) {
    const struct ir_op_data *x = ir_op_get(d->m, like);
    ir_set_loc(d->o->m, op, x->loc, x->line, x->col);
    ir_insert_before(d->o->m, d->at, op);
}

static ir_op new_op(struct divider *d, enum ir_op_kind kind, const ir_val *in, uint32_t n, ir_type type) {
    ir_op op = ir_op_new(d->o->m, kind, in, n, &type, 1, 0);
    insert(d, op, d->f->steps.v[d->x->step].kernel->root);
    return op;
}

static ir_val splat(struct divider *d, ir_val v, int32_t axis, enum divide_side side) {
    const struct ir_attr_data *a = ir_attr_get(d->m, ir_constant_value(d->m, ir_val_get(d->m, v)->op));
    char one[16];
    size_t bytes = a->nbytes < sizeof one ? a->nbytes : sizeof one;
    memcpy(one, a->data, bytes);
    ir_type type = part_type(d, v, axis, side);
    ir_op op = new_op(d, IR_CONSTANT, NULL, 0, type);
    ir_set_prop(d->o->m, op, IR_CONSTANT_value, ir_attr_dense(d->o->m, type, one, bytes, true, false));
    return ir_result(d->m, op, 0);
}

/* A part of a value in memory, or what all of it is copied to for the other side. */
static ir_val slice(struct divider *d, const struct divide_read *r, enum divide_side side) {
    const struct ir_type_data *t = ir_val_type(d->m, r->v);
    int64_t from[IR_MAX_RANK] = {0}, to[IR_MAX_RANK], strides[IR_MAX_RANK];
    uint32_t rank = t->rank, axis = r->axis >= 0 ? (uint32_t)r->axis : 0;
    bool outermost = divide_is_outermost(t, axis), aligned = r->axis < 0;
    for (uint32_t i = 0; i < rank; i++) {
        to[i] = t->dims[i];
        strides[i] = 1;
    }
    if (r->axis >= 0) {
        from[axis] = begin_of(d, side);
        to[axis] = from[axis] + size_of(d, side);
        aligned = (size_t)from[axis] * divide_bytes(t, axis) % DIVIDE_ALIGN == 0;
    }
    ir_op op = new_op(d, IR_SLICE, &r->v, 1, part_type(d, r->v, r->axis, side));
    ir_set_prop(d->o->m, op, IR_SLICE_start_indices, ir_attr_i64s(d->o->m, from, rank));
    ir_set_prop(d->o->m, op, IR_SLICE_limit_indices, ir_attr_i64s(d->o->m, to, rank));
    ir_set_prop(d->o->m, op, IR_SLICE_strides, ir_attr_i64s(d->o->m, strides, rank));
    if (!r->at[side])
        opt_ids_set(&d->marks->own, op.i, DIVIDE_COPIED);
    else if (outermost && aligned)
        opt_ids_set(&d->marks->own, op.i, DIVIDE_OF_MEMORY);
    return ir_result(d->m, op, 0);
}

/* What crosses to the processor does so before the GPU begins with its part, for which it would have to wait. */
static void make_reads(struct divider *d) {
    for (uint32_t i = 0; i < d->x->reads.n; i++) {
        struct divide_read *r = &d->x->reads.v[i];
        for (int side = 0; side < DIVIDE_SIDES; side++) {
            bool whole = r->axis < 0 && (r->at[side] || side == DIVIDE_DEVICE);
            r->part[side] = whole ? r->v : slice(d, r, (enum divide_side)side);
        }
    }
}

static ir_val make(struct divider *d, ir_val v, int32_t axis, enum divide_side side) {
    if (is_splat(d->m, v))
        return splat(d, v, axis, side);
    if (is_read(d, v))
        return read_of(d, v, axis)->part[side];
    ir_op op = ir_val_get(d->m, v)->op;
    struct part *p = part_of(d, op, axis);
    if (!IR_NONE(p->made[side]))
        return ir_result(d->m, p->made[side], ir_val_get(d->m, v)->index);
    uint32_t nin = ir_op_get(d->m, op)->noperands, nout = ir_op_get(d->m, op)->nresults;
    ir_val *in = ARENA_ARRAY(d->a, ir_val, nin + 1);
    ir_type *types = ARENA_ARRAY(d->a, ir_type, nout + 1);
    for (uint32_t i = 0; i < nin; i++) {
        int32_t of = -1;
        if (axis >= 0)
            (void)operand_axis(d->m, op, i, (uint32_t)axis, &of);
        in[i] = make(d, ir_operand(d->m, op, i), of, side);
    }
    for (uint32_t i = 0; i < nout; i++)
        types[i] = part_type(d, ir_result(d->m, op, i), axis, side);
    ir_op made = opt_remake(d->o, op, in, nin, types, nout);
    struct opt_map inside = opt_map_new(d->o);
    for (uint32_t i = 0; i < ir_op_get(d->m, op)->nregions; i++)
        opt_clone_region(&inside, ir_op_region(d->m, op, i), ir_op_region(d->m, made, i));
    insert(d, made, op);
    opt_ids_set(&d->marks->side, made.i, 1 + side);
    p->made[side] = made;
    return ir_result(d->m, made, ir_val_get(d->m, v)->index);
}

static void join(struct divider *d, ir_val v, const ir_val *parts) {
    struct ir_module *m = d->o->m;
    ir_op op = new_op(d, IR_CONCATENATE, parts, DIVIDE_SIDES, ir_val_get(m, v)->type);
    ir_set_prop(m, op, IR_CONCATENATE_dimension, ir_attr_i64(m, d->x->axis));
    opt_ids_set(&d->marks->own, op.i, DIVIDE_JOIN);
    for (int i = 0; i < DIVIDE_SIDES; i++)
        opt_ids_set(&d->marks->joined, parts[i].i, op.i);
    opt_map_set(&d->map, v, ir_result(m, op, 0));
}

/* The kernel's ops stay, and nothing uses them any more. */
static void divide(struct divider *d) {
    const struct fuse_kernel *k = d->f->steps.v[d->x->step].kernel;
    ir_val *parts = ARENA_ARRAY(d->a, ir_val, DIVIDE_SIDES * k->outs.n);
    d->at = ir_op_get(d->m, k->root)->next;
    ir_op rest = d->at;
    (void)find_all(d);
    make_reads(d);
    for (int side = DIVIDE_SIDES; side-- > 0;) /* in a concatenation the GPU's part is the first */
        for (uint32_t i = 0; i < k->outs.n; i++)
            parts[DIVIDE_SIDES * i + (side == DIVIDE_PROCESSOR)] =
                make(d, k->outs.v[i], (int32_t)d->x->axis, (enum divide_side)side);
    for (uint32_t i = 0; i < k->outs.n; i++)
        join(d, k->outs.v[i], parts + DIVIDE_SIDES * i);
    for (; !IR_NONE(rest); rest = ir_op_get(d->m, rest)->next)
        opt_update_all(&d->map, rest);
}

/* The last first: what a later one reads of an earlier one is found by its old name, and replaced with the rest. */
void divide_steps(struct opt *o, ir_block block, const struct fuse_block *f, struct division *v, uint32_t n,
                  struct divided *out) {
    struct arena *a = &o->scratch;
    *out = (struct divided){.side = {.a = a}, .own = {.a = a}, .joined = {.a = a}};
    while (n-- > 0) {
        struct divider d = {.a = a, .m = o->m, .block = block, .f = f, .x = &v[n], .o = o, .map = opt_map_new(o), .marks = out};
        divide(&d);
    }
}
