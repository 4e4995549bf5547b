/* Squares of memory: the lanes of a load lie a distance apart, and loads that follow are of the elements behind. As many
 * of them as there are lanes are read line by line and turned in registers, a quarter of the work of gathering each. */
#include "codegen/emit.h"

enum { SQUARE_MOST = 16, SQUARE_FAR = 4096 /* nodes that are looked at for the others */ };

/* Whether a load is of lanes that lie apart, all of them, in memory that the kernel does not write. */
static bool square_row(const struct emit *e, const struct kir_node *n) {
    if (n->op != KIR_LOAD || emit_is(n->arg[1]) || e->k->buffers.v[n->of].role != KIR_IN)
        return false;
    const struct emit_node *index = &e->nodes[n->arg[0].i];
    int64_t width = e->width;
    return index->class == EMIT_LINEAR && index->every == 1 && (index->stride >= width || index->stride <= -width) &&
           ir_dtype_get(e->k->buffers.v[n->of].dtype)->bytes <= 4;
}

/* The loads of the square that begins with `v`, in the order of their elements. */
static bool square_find(const struct emit *e, kir_val v, kir_val *members) {
    const struct kir_node *first = kir_get(e->k, v);
    int64_t from, at;
    kir_val base = emit_without_constant(e, first->arg[0], &from);
    uint32_t found = 1;
    memset(members, 0, SQUARE_MOST * sizeof *members);
    members[0] = v;
    for (int i = 0; i < SQUARE_FAR && found < e->width; i++) {
        v = kir_get(e->k, v)->next;
        if (!emit_is(v))
            return false;
        const struct kir_node *n = kir_get(e->k, v);
        if (!square_row(e, n) || n->of != first->of || emit_without_constant(e, n->arg[0], &at).i != base.i)
            continue;
        if (at > from && at - from < e->width && !emit_is(members[at - from])) {
            members[at - from] = v;
            found++;
        }
    }
    return found == e->width;
}

/* Lanes of two vectors: four at a time, in each the lanes `of` names, from 4 on those of the second. */
static LLVMValueRef square_mix(struct emit *e, LLVMValueRef a, LLVMValueRef b, const uint32_t of[4]) {
    uint32_t lanes[SQUARE_MOST];
    for (uint32_t i = 0; i < e->width; i++)
        lanes[i] = i / 4 * 4 + of[i % 4] % 4 + (of[i % 4] >= 4 ? e->width : 0);
    return emit_shuffle(e, a, b, lanes, e->width);
}

/* Fours of lanes: every other one of each, from the `odd`-th on. */
static LLVMValueRef square_fours(struct emit *e, LLVMValueRef a, LLVMValueRef b, uint32_t odd) {
    uint32_t lanes[SQUARE_MOST], half = e->width / 2;
    for (uint32_t i = 0; i < e->width; i++)
        lanes[i] = (i % half / 4 * 2 + odd) * 4 + i % 4 + (i < half ? 0 : e->width);
    return emit_shuffle(e, a, b, lanes, e->width);
}

/* Rows of a square become its columns: fours of lanes by fours of rows, then those among each other. */
static void square_turn(struct emit *e, LLVMValueRef *v) {
    static const uint32_t low[] = {0, 4, 1, 5}, high[] = {2, 6, 3, 7}, first[] = {0, 1, 4, 5}, second[] = {2, 3, 6, 7};
    LLVMValueRef t[SQUARE_MOST];
    for (uint32_t g = 0; g < e->width; g += 4) {
        LLVMValueRef a = square_mix(e, v[g], v[g + 1], low), b = square_mix(e, v[g], v[g + 1], high);
        LLVMValueRef c = square_mix(e, v[g + 2], v[g + 3], low), d = square_mix(e, v[g + 2], v[g + 3], high);
        v[g] = square_mix(e, a, c, first);
        v[g + 1] = square_mix(e, a, c, second);
        v[g + 2] = square_mix(e, b, d, first);
        v[g + 3] = square_mix(e, b, d, second);
    }
    for (uint32_t fours = e->width / 4; fours > 1; fours /= 2) { /* v[4 g + c] has column 4 q + c in its q-th four */
        memcpy(t, v, sizeof t);
        for (uint32_t i = 0; i < e->width; i += 8)
            for (uint32_t c = 0; c < 4; c++) {
                uint32_t pair = i / 8;
                v[pair * 4 + c] = square_fours(e, t[i + c], t[i + 4 + c], 0);
                v[e->width / 2 + pair * 4 + c] = square_fours(e, t[i + c], t[i + 4 + c], 1);
            }
    }
}

bool emit_square(struct emit *e, kir_val v) {
    const struct kir_node *n = kir_get(e->k, v);
    enum ir_dtype t = e->k->buffers.v[n->of].dtype;
    kir_val members[SQUARE_MOST];
    LLVMValueRef rows[SQUARE_MOST];
    if (e->width < 4 || e->width > SQUARE_MOST || e->width != e->t->vector_bytes / 4 || e->mask || !square_row(e, n) ||
        !square_find(e, v, members))
        return false;
    unsigned bytes = ir_dtype_get(t)->bytes;
    LLVMTypeRef element = bytes == 1 ? e->i8 : bytes == 2 ? e->i16 : e->i32, row = e->l->VectorType(element, e->width);
    LLVMTypeRef stored = e->l->VectorType(emit_memory_type(e, t), e->width);
    for (uint32_t i = 0; i < e->width; i++) {
        LLVMValueRef at = emit_bin(e, LLVMAdd, emit_scalar(e, n->arg[0]), emit_int(e, e->nodes[n->arg[0].i].stride * i));
        rows[i] = emit_row(e, n->of, at, row);
        if (bytes < 4)
            rows[i] = emit_cast(e, LLVMZExt, rows[i], e->i32);
    }
    square_turn(e, rows);
    for (uint32_t i = 0; i < e->width; i++) {
        if (bytes < 4)
            rows[i] = emit_cast(e, LLVMTrunc, rows[i], element);
        e->nodes[members[i].i].code = emit_decode(e, t, e->l->BuildCast(e->b, LLVMBitCast, rows[i], stored, ""));
    }
    return true;
}
