/* Strided loads of adjacent elements: the lanes of one load are a stride apart, and later loads have the same lanes one element
 * on. As many such loads as there are lanes make a square block of memory, which is read row by row and transposed in
 * registers: a quarter of the work of a gather for each. Of 32-bit elements, so do four. Narrower ones are transposed as
 * they are in memory. */
#include "codegen/emit.h"

enum {
    TRANSPOSE_MAX_LANES = 16,
    TRANSPOSE_SEARCH = 4096, /* nodes in which the other loads are searched */
    TRANSPOSE_LEAST = 4,     /* loads */
    TRANSPOSE_BYTES = 16     /* of the part of a vector in which lanes are interleaved by one instruction */
};

/* Whether all lanes of a load are at least TRANSPOSE_LEAST elements apart, in memory that the kernel does not write. */
static bool transpose_is_strided(const struct emit *e, const struct kir_node *n) {
    if (n->op != KIR_LOAD || emit_is(n->arg[1]) || e->k->buffers.v[n->of].role != KIR_IN)
        return false;
    const struct emit_node *index = &e->nodes[n->arg[0].i];
    int64_t least = TRANSPOSE_LEAST;
    return index->class == EMIT_LINEAR && index->every == 1 && (index->stride >= least || index->stride <= -least) &&
           ir_dtype_get(e->k->buffers.v[n->of].dtype)->bytes <= 4;
}

/* The loads of a block of `columns` elements from each lane that begins with `v`, in the order of their elements. */
static bool transpose_find_loads(const struct emit *e, kir_val v, uint32_t columns, kir_val *members) {
    const struct kir_node *first = kir_get(e->k, v);
    int64_t from, at;
    kir_val base = emit_without_constant(e, first->arg[0], &from);
    uint32_t found = 1;
    memset(members, 0, TRANSPOSE_MAX_LANES * sizeof *members);
    members[0] = v;
    for (int i = 0; i < TRANSPOSE_SEARCH && found < columns; i++) {
        v = kir_get(e->k, v)->next;
        if (!emit_is(v))
            return false;
        const struct kir_node *n = kir_get(e->k, v);
        if (!transpose_is_strided(e, n) || n->of != first->of || emit_without_constant(e, n->arg[0], &at).i != base.i)
            continue;
        if (at > from && at - from < columns && !emit_is(members[at - from])) {
            members[at - from] = v;
            found++;
        }
    }
    return found == columns;
}

/* How many loads make the block that begins with `v`; 0 = there is none. */
static uint32_t transpose_columns(const struct emit *e, kir_val v, kir_val *members) {
    const struct kir_node *n = kir_get(e->k, v);
    int64_t stride = e->nodes[n->arg[0].i].stride, width = e->width;
    if ((stride >= width || stride <= -width) && transpose_find_loads(e, v, e->width, members))
        return e->width;
    return ir_dtype_get(e->k->buffers.v[n->of].dtype)->bytes == 4 && transpose_find_loads(e, v, TRANSPOSE_LEAST, members)
               ? TRANSPOSE_LEAST
               : 0;
}

/* Whether lane i is known to be masked. */
static bool transpose_is_masked(const struct emit *e, uint32_t i) {
    return e->mask && e->l->ConstIntGetSExtValue(e->l->BuildExtractElement(e->b, e->mask, emit_int(e, i), "")) == 0;
}

/* n elements of row i of the block that begins with load n, from column `column` on; zeros for a masked lane. */
static LLVMValueRef transpose_load(struct emit *e, const struct kir_node *n, uint32_t i, uint32_t column, LLVMTypeRef type) {
    int64_t offset = e->nodes[n->arg[0].i].stride * i + column;
    if (transpose_is_masked(e, i))
        return e->l->ConstNull(type);
    return emit_row(e, n->of, n->arg[0], offset, type);
}

/* The rows of the block with its squares of `square` by `square` elements transposed as a whole: elements square q … of row
   square c + i are those of columns square c … of row square q + i. Rows are loaded so, 16 bytes at a time: loads that insert
   into a vector cost less than shuffles, to run and to compile. */
static void transpose_load_squares(struct emit *e, const struct kir_node *n, uint32_t square, uint32_t columns,
                                   LLVMValueRef *v) {
    LLVMTypeRef element = emit_memory_type(e, e->k->buffers.v[n->of].dtype), part = e->l->VectorType(element, square);
    for (uint32_t i = 0; i < columns; i++) {
        LLVMValueRef parts[TRANSPOSE_MAX_LANES];
        uint32_t count = e->width / square;
        for (uint32_t q = 0; q < count; q++)
            parts[q] = transpose_load(e, n, square * q + i % square, i / square * square, part);
        for (; count > 1; count /= 2)
            for (uint32_t q = 0; q < count / 2; q++)
                parts[q] = emit_join(e, parts[2 * q], parts[2 * q + 1]);
        v[i] = parts[0];
    }
}

/* Elements of two vectors in turns, within each group of `square` lanes: of its lower or upper half. */
static LLVMValueRef transpose_interleave(struct emit *e, LLVMValueRef a, LLVMValueRef b, uint32_t square, bool upper) {
    uint32_t lanes[TRANSPOSE_MAX_LANES];
    for (uint32_t i = 0; i < e->width; i++)
        lanes[i] = i / square * square + (upper ? square / 2 : 0) + i % square / 2 + (i % 2 ? e->width : 0);
    return emit_shuffle(e, a, b, lanes, e->width);
}

/* Transposes the squares, those in the same lanes of `square` vectors at once: each round moves a bit of the number of a vector
   into that of a lane. */
static void transpose_within_squares(struct emit *e, uint32_t square, uint32_t columns, LLVMValueRef *v) {
    LLVMValueRef t[TRANSPOSE_MAX_LANES];
    for (uint32_t first = 0; first < columns; first += square)
        for (uint32_t round = 1; round < square; round *= 2) {
            for (uint32_t i = 0; i < square; i++)
                t[i] = transpose_interleave(e, v[first + i / 2], v[first + i / 2 + square / 2], square, i % 2);
            memcpy(v + first, t, square * sizeof *t);
        }
}

bool emit_transposed_loads(struct emit *e, kir_val v) {
    const struct kir_node *n = kir_get(e->k, v);
    uint32_t bytes = ir_dtype_get(e->k->buffers.v[n->of].dtype)->bytes;
    kir_val members[TRANSPOSE_MAX_LANES];
    LLVMValueRef rows[TRANSPOSE_MAX_LANES];
    if (e->width < 4 || e->width > TRANSPOSE_MAX_LANES || e->width != e->t->vector_bytes / 4 ||
        (e->mask && !e->l->IsConstant(e->mask)) || !transpose_is_strided(e, n))
        return false;
    uint32_t columns = transpose_columns(e, v, members);
    if (!columns)
        return false;
    uint32_t square = TRANSPOSE_BYTES / bytes < e->width ? TRANSPOSE_BYTES / bytes : e->width;
    transpose_load_squares(e, n, square, columns, rows);
    transpose_within_squares(e, square, columns, rows);
    for (uint32_t i = 0; i < columns; i++)
        emit_loaded_together(e, members[i], rows[i]);
    return true;
}
