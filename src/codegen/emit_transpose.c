/* Strided loads of adjacent elements: the lanes of one load are a stride apart, and later loads have the same lanes one element
 * on. As many such loads as there are lanes make a square block of memory, which is read row by row and transposed in
 * registers: a quarter of the work of a gather for each. Of 32-bit elements, so do four. */
#include "codegen/emit.h"

enum {
    TRANSPOSE_MAX_LANES = 16,
    TRANSPOSE_SEARCH = 4096, /* nodes in which the other loads are searched */
    TRANSPOSE_LEAST = 4      /* loads */
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

/* Shuffles two vectors within each group of four lanes: lane i of a group is lane of[i], from 4 on of the second vector. */
static LLVMValueRef transpose_shuffle4(struct emit *e, LLVMValueRef a, LLVMValueRef b, const uint32_t of[4]) {
    uint32_t lanes[TRANSPOSE_MAX_LANES];
    for (uint32_t i = 0; i < e->width; i++)
        lanes[i] = i / 4 * 4 + of[i % 4] % 4 + (of[i % 4] >= 4 ? e->width : 0);
    return emit_shuffle(e, a, b, lanes, e->width);
}

/* Every second group of four lanes of two vectors, the even or the odd ones. */
static LLVMValueRef transpose_groups(struct emit *e, LLVMValueRef a, LLVMValueRef b, uint32_t odd) {
    uint32_t lanes[TRANSPOSE_MAX_LANES], half = e->width / 2;
    for (uint32_t i = 0; i < e->width; i++)
        lanes[i] = (i % half / 4 * 2 + odd) * 4 + i % 4 + (i < half ? 0 : e->width);
    return emit_shuffle(e, a, b, lanes, e->width);
}

/* Transposes the groups of four lanes: group q of v[4 c + i] becomes what group c of v[4 q + i] was. */
static void transpose_blocks(struct emit *e, LLVMValueRef *v) {
    LLVMValueRef t[TRANSPOSE_MAX_LANES];
    for (uint32_t fours = e->width / 4; fours > 1; fours /= 2) {
        memcpy(t, v, sizeof t);
        for (uint32_t i = 0; i < e->width; i += 8)
            for (uint32_t c = 0; c < 4; c++) {
                uint32_t pair = i / 8;
                v[pair * 4 + c] = transpose_groups(e, t[i + c], t[i + 4 + c], 0);
                v[e->width / 2 + pair * 4 + c] = transpose_groups(e, t[i + c], t[i + 4 + c], 1);
            }
    }
}

/* Transposes 4 x 4 blocks: those in the same groups of v[4 c] .. v[4 c + 3]. */
static void transpose_within_blocks(struct emit *e, uint32_t columns, LLVMValueRef *v) {
    static const uint32_t low[] = {0, 4, 1, 5}, high[] = {2, 6, 3, 7}, first[] = {0, 1, 4, 5}, second[] = {2, 3, 6, 7};
    for (uint32_t g = 0; g < columns; g += 4) {
        LLVMValueRef a = transpose_shuffle4(e, v[g], v[g + 1], low), b = transpose_shuffle4(e, v[g], v[g + 1], high);
        LLVMValueRef c = transpose_shuffle4(e, v[g + 2], v[g + 3], low), d = transpose_shuffle4(e, v[g + 2], v[g + 3], high);
        v[g] = transpose_shuffle4(e, a, c, first);
        v[g + 1] = transpose_shuffle4(e, a, c, second);
        v[g + 2] = transpose_shuffle4(e, b, d, first);
        v[g + 3] = transpose_shuffle4(e, b, d, second);
    }
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

/* The rows of the block with their 4 x 4 blocks transposed as a whole: group q of v[4 c + i] has columns 4 c .. 4 c + 3 of row
   4 q + i. Rows of 32 bits are loaded so, group by group: loads that insert into a vector cost less than shuffles, to run and
   to compile. Narrower rows are widened first, for which whole vectors are loaded. */
static void transpose_load_blocks(struct emit *e, const struct kir_node *n, unsigned bytes, uint32_t columns, LLVMValueRef *v) {
    LLVMTypeRef element = bytes == 1 ? e->i8 : bytes == 2 ? e->i16 : e->i32;
    if (bytes < 4) {
        for (uint32_t i = 0; i < e->width; i++)
            v[i] = emit_cast(e, LLVMZExt, transpose_load(e, n, i, 0, e->l->VectorType(element, e->width)), e->i32);
        transpose_blocks(e, v);
        return;
    }
    for (uint32_t i = 0; i < columns; i++) {
        LLVMValueRef group[TRANSPOSE_MAX_LANES / 4] = {NULL};
        for (uint32_t q = 0; q < e->width / 4; q++)
            group[q] = transpose_load(e, n, 4 * q + i % 4, i / 4 * 4, e->l->VectorType(element, 4));
        for (uint32_t left = e->width / 8; left; left /= 2)
            for (uint32_t q = 0; q < left; q++)
                group[q] = emit_join(e, group[2 * q], group[2 * q + 1]);
        v[i] = group[0];
    }
}

bool emit_transposed_loads(struct emit *e, kir_val v) {
    const struct kir_node *n = kir_get(e->k, v);
    enum ir_dtype t = e->k->buffers.v[n->of].dtype;
    kir_val members[TRANSPOSE_MAX_LANES];
    LLVMValueRef rows[TRANSPOSE_MAX_LANES];
    if (e->width < 4 || e->width > TRANSPOSE_MAX_LANES || e->width != e->t->vector_bytes / 4 ||
        (e->mask && !e->l->IsConstant(e->mask)) || !transpose_is_strided(e, n))
        return false;
    uint32_t columns = transpose_columns(e, v, members);
    if (!columns)
        return false;
    unsigned bytes = ir_dtype_get(t)->bytes;
    LLVMTypeRef stored = e->l->VectorType(emit_memory_type(e, t), e->width);
    transpose_load_blocks(e, n, bytes, columns, rows);
    transpose_within_blocks(e, columns, rows);
    for (uint32_t i = 0; i < columns; i++) {
        if (bytes < 4)
            rows[i] = emit_cast(e, LLVMTrunc, rows[i], bytes == 1 ? e->i8 : e->i16);
        e->nodes[members[i].i].code = emit_decode(e, t, e->l->BuildCast(e->b, LLVMBitCast, rows[i], stored, ""));
    }
    return true;
}
