/* Fusion of a product of few rows with an epilogue that reads its columns in equal parts: element j of a row is computed from
 * columns j, j + width, j + 2 width … of the product. So are the gates of an LSTM or a GRU, which are one product, and
 * gated units. The sums of a block of columns, of all parts, are in scratch memory until the epilogue reads them.
 *
 * In a loop that saves a step, and that the threads wait for each other between the two: a thread has the elements of its own
 * columns. Sums are those of the product alone, bit for bit. */
#include "fuse/parts.h"

#include <string.h>

enum { PARTS_ROWS_MIN = 4, PARTS_ROWS_MOST = 24, PARTS_OPS = 256 };

struct parts {
    const struct fuse_stages *x;
    const struct fuse_kernel *reader;
    ir_val product; /* or what another kernel stores for the reader */
    int64_t width;
    struct opt_sparse seen; /* by value: 1, or 2 where it is also read by other than elementwise ops, which is stricter */
};

static bool is_own(const struct parts *p, ir_val v) {
    ir_op op = ir_val_get(p->x->m, v)->op;
    bool stored = opt_ids_get(p->x->stored, v.i) != 0;
    for (uint32_t i = 0; i < p->reader->outs.n; i++)
        stored &= !IR_SAME(p->reader->outs.v[i], v);
    return !IR_NONE(op) && IR_SAME(ir_op_get(p->x->m, op)->parent, p->x->block) && !fuse_is_constant(p->x->m, v) &&
           (!stored || IR_SAME(v, p->product));
}

/* Whether the op is one part of the product. */
static bool is_part(const struct parts *p, ir_op op) {
    const struct ir_module *m = p->x->m;
    const struct ir_type_data *t = ir_val_type(m, ir_result(m, op, 0)), *from = ir_val_type(m, p->product);
    size_t n;
    if (ir_kind(m, op) != IR_SLICE || !IR_SAME(ir_operand(m, op, 0), p->product))
        return false;
    const int64_t *start = ir_prop_i64s(m, op, IR_SLICE_start_indices, &n);
    const int64_t *stride = ir_prop_i64s(m, op, IR_SLICE_strides, &n);
    for (size_t i = 0; i + 1 < n; i++)
        if (t->dims[i] != from->dims[i])
            return false;
    return t->dims[n - 1] == p->width && stride[n - 1] == 1 && start[n - 1] % p->width == 0;
}

/* Whether v is computed from `from`, if at all, by elementwise ops alone: from its own element, or, if `parts`, from one of
   each part. */
static bool is_elementwise(struct parts *p, ir_val v, ir_val from, bool parts, bool elementwise) {
    const struct ir_module *m = p->x->m;
    if (IR_SAME(v, from))
        return elementwise && !parts;
    if (!is_own(p, v) || opt_sparse_get(&p->seen, v.i) >= 2u - elementwise)
        return true;
    opt_sparse_set(&p->seen, v.i, 2u - elementwise);
    ir_op op = ir_val_get(m, v)->op;
    enum ir_op_kind kind = ir_kind(m, op);
    if (parts && elementwise && is_part(p, op))
        return true;
    elementwise &= fuse_class(kind) == FUSE_ELEMENT && kind != IR_MAP;
    for (uint32_t i = 0; i < ir_op_get(m, op)->noperands; i++)
        if (!is_elementwise(p, ir_operand(m, op, i), from, parts, elementwise))
            return false;
    return true;
}

static bool has_dims(const struct ir_module *m, ir_val v, const int64_t *dims, uint32_t rank) {
    const struct ir_type_data *t = ir_val_type(m, v);
    return t->rank == rank && memcmp(t->dims, dims, rank * sizeof *dims) == 0;
}

/* A product of f32 of few rows with a matrix in memory that never changes, whose lines are contiguous: it is packed once.
   *terms: of its sums. */
static bool is_product(const struct fuse_stages *x, const struct fuse_kernel *k, int64_t *terms) {
    const struct ir_module *m = x->m;
    size_t nbatch, nsum;
    if (k->schedule != FUSE_CONTRACT || k->parts || k->anchor_map || k->strict || k->batch_invariant || k->outs.n != 1 ||
        ir_kind(m, k->anchor) != IR_DOT_GENERAL)
        return false;
    ir_val r = ir_result(m, k->anchor, 0), lhs = ir_operand(m, k->anchor, 0), rhs = ir_operand(m, k->anchor, 1);
    const struct ir_type_data *t = ir_val_type(m, rhs), *left = ir_val_type(m, lhs);
    ir_attr a = ir_prop(m, k->anchor, IR_DOT_GENERAL_dot_dimension_numbers);
    (void)ir_field_dims(m, a, IR_DOT_lhs_batching_dimensions_F, &nbatch);
    const int64_t *sum[] = {ir_field_dims(m, a, IR_DOT_lhs_contracting_dimensions_F, &nsum),
                            ir_field_dims(m, a, IR_DOT_rhs_contracting_dimensions_F, &nsum)};
    if (nbatch || nsum != 1 || t->rank != 2 || sum[1][0] != 0 || sum[0][0] != (int64_t)left->rank - 1)
        return false;
    *terms = t->dims[0];
    return t->dtype == IR_F32_T && left->dtype == IR_F32_T && ir_val_type(m, r)->dtype == IR_F32_T &&
           has_dims(m, k->outs.v[0], k->dims, k->rank) && has_dims(m, r, k->dims, k->rank) &&
           fuse_is_invariant(m, x->block, rhs);
}

/* Whether the elements of a row divide into vectors of register tiles of two, for all cores. */
static bool divides(const struct target *t, int64_t width) {
    int64_t tile = 2 * (int64_t)t->vector_bytes / 4, cores = t->cores;
    return width > 0 && width % tile == 0 && width / tile >= cores;
}

bool fuse_parts(const struct fuse_stages *x, bool hoists, struct fuse_kernel *reader, const struct fuse_kernel *product) {
    const struct ir_module *m = x->m;
    int64_t terms, rows = 1;
    if (!hoists || x->target->block_threads || reader->schedule != FUSE_MAP || reader->nested || !reader->rank ||
        !is_product(x, product, &terms) || reader->rank != product->rank || reader->nops + product->nops > PARTS_OPS)
        return false;
    uint32_t last = reader->rank - 1;
    struct parts p = {x, reader, product->outs.v[0], reader->dims[last], {.a = x->a}}, q = p;
    int64_t columns = product->dims[last];
    for (uint32_t i = 0; i < last; i++)
        rows *= reader->dims[i];
    if (rows < PARTS_ROWS_MIN || rows > PARTS_ROWS_MOST || !divides(x->target, p.width) || columns % p.width ||
        columns / p.width < 2 || columns / p.width > FUSE_PARTS_MOST ||
        (double)rows * (double)columns * (double)terms < (double)x->target->parallel_ops ||
        !is_elementwise(&q, p.product, ir_result(m, product->anchor, 0), false, true))
        return false;
    for (uint32_t i = 0; i < reader->outs.n; i++)
        if (!has_dims(m, reader->outs.v[i], reader->dims, reader->rank) ||
            !is_elementwise(&p, reader->outs.v[i], p.product, true, true))
            return false;
    reader->schedule = FUSE_CONTRACT;
    reader->anchor = product->anchor;
    reader->parts = (uint32_t)(columns / p.width);
    reader->nops += product->nops;
    reader->code_size_cost += product->code_size_cost;
    return true;
}

bool fuse_into_parts(const struct fuse_stages *x, struct fuse_kernel *reader, const struct fuse_kernel *feed) {
    uint32_t last = reader->rank - 1;
    if (!reader->parts || feed->schedule != FUSE_MAP || feed->nested || feed->outs.n != 1 || feed->rank != reader->rank ||
        reader->nops + feed->nops > PARTS_OPS || !has_dims(x->m, feed->outs.v[0], feed->dims, feed->rank))
        return false;
    struct parts p = {x, reader, feed->outs.v[0], reader->dims[last], {.a = x->a}};
    for (uint32_t i = 0; i < reader->outs.n; i++)
        if (!is_elementwise(&p, reader->outs.v[i], p.product, true, true))
            return false;
    reader->nops += feed->nops;
    reader->code_size_cost += feed->code_size_cost;
    return true;
}
