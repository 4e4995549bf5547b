/* What the files of the kernel IR share: nodes without the builder's rules, and the meaning of one pure op on scalars. */
#ifndef HILO_KIR_NODE_H
#define HILO_KIR_NODE_H

#include "kir/kir.h"

#define KIR_IS(v) ((v).i != 0)

/* The last block of the chain from a block to the kernel's body in which a value exists: a loop's index is in its body. */
static inline kir_block kir_scope(const struct kir *k, kir_val v) {
    const struct kir_node *n = kir_get(k, v);
    return n->op == KIR_LOOP ? n->body : n->block;
}
/* Whether `outer` is `b` or around it. */
bool kir_block_within(const struct kir *k, kir_block b, kir_block outer);

/* Ops whose value depends on their operands alone, wherever they are. Loads from KIR_IN buffers are not counted here. */
static inline bool kir_is_pure(const struct kir_node *n) {
    return kir_op_get((enum kir_op)n->op)->shape >= KIR_SHAPE_SAME;
}
bool kir_is_const_load(const struct kir *k, const struct kir_node *n);
/* The REG that a node changes; 0 = none. */
static inline uint32_t kir_changes(const struct kir_node *n) {
    bool writes = n->op == KIR_SET || n->op == KIR_ACC || n->op == KIR_MMA || n->op == KIR_WGMMA ||
                  n->op == KIR_WGMMA_WAIT;
    return writes ? n->of : n->op == KIR_LDMATRIX ? n->arg[1].i : 0;
}
/* The first register of operand i of MMA: 0 the sums, 1 A, 2 B. */
static inline uint32_t kir_mma_first(const struct kir_node *n, int i) { return (uint32_t)(n->imm >> 16 * i) & 0xFFFF; }
/* The parts of imm of WGMMA: the first register of the sums; of A (i = 0), of B (1) whether it lies across the sum, its
   buffer. */
static inline int64_t kir_wgmma_imm(int64_t first, bool a_across, bool b_across, uint32_t a, uint32_t b) {
    return first | (int64_t)a_across << 16 | (int64_t)b_across << 17 | (int64_t)a << 32 | (int64_t)b << 47;
}
static inline uint32_t kir_wgmma_first(const struct kir_node *n) { return (uint32_t)n->imm & 0xFFFF; }
static inline bool kir_wgmma_across(const struct kir_node *n, int i) { return n->imm >> (16 + i) & 1; }
static inline uint32_t kir_wgmma_buffer(const struct kir_node *n, int i) {
    return (uint32_t)(n->imm >> (i ? 47 : 32)) & (KIR_WGMMA_BUFFERS - 1);
}
/* Bytes of its scratch memory that WGMMA reads of an operand. */
static inline uint32_t kir_wgmma_bytes(const struct kir_node *n, int i) {
    return (i ? n->width : KIR_WGMMA_ROWS) * KIR_WGMMA_TERMS * 2;
}
/* Elements of a line of a box; bytes of a box. */
static inline int64_t kir_box_columns(const struct kir *k, const struct kir_map *m) {
    return KIR_BOX_BYTES / ir_dtype_get(k->buffers.v[m->buffer].dtype)->bytes;
}
static inline uint32_t kir_box_bytes(const struct kir_map *m) { return m->box * KIR_BOX_BYTES; }
/* Factors in a word of a format. */
static inline uint32_t kir_tile_factors(enum kir_tile t) { return t == KIR_TILE_BF16 || t == KIR_TILE_F16 ? 2 : 4; }
/* Whether the bytes of A (i = 0), of B (1) have no sign. */
static inline bool kir_tile_unsigned(enum kir_tile t, int i) {
    return t == KIR_TILE_U8U8 || t == (i == 0 ? KIR_TILE_U8S8 : KIR_TILE_S8U8);
}

/* A node (op, type, operands … of `n`) at the end of a block, before its open child; its range is computed. */
kir_val kir_put(struct kir *k, kir_block b, const struct kir_node *n);
kir_block kir_new_block(struct kir *k, kir_val owner, kir_block parent);
/* Into a block before `next`, or at its end; out of its block. */
void kir_link(struct kir *k, kir_block b, kir_val next, kir_val v);
void kir_unlink(struct kir *k, kir_val v);
/* A pure value, or a load that is one: an equal node, a simpler value, or a new node where it belongs. */
kir_val kir_pure(struct kir *k, struct kir_node *n);
/* Forgets all equal values but constants: before the builder inserts before existing nodes. */
void kir_forget(struct kir *k);
/* Makes a node known as a value that is computed. */
void kir_remember(struct kir *k, kir_val v);

/* Sets n->lo and n->hi from those of the operands (fold.c). */
void kir_set_range(const struct kir *k, struct kir_node *n);
/* A value equal to the pure op `n`, or none; may put its operands into another order (fold.c). */
kir_val kir_simplify(struct kir *k, struct kir_node *n);

/* ---- scalars (eval.c): bits, sign-extended from the width of their type; i1: 0, 1 -------------- */

int64_t kir_narrow(enum kir_type t, uint64_t bits);
/* The value of a pure op but MATH. from: the type of arg[0] of unary ops and comparisons. */
int64_t kir_eval(const struct kir_node *n, enum kir_type from, int64_t a, int64_t b, int64_t c);
/* What an ACC makes of two values, and the value that changes none. */
int64_t kir_combine(const struct kir_node *acc, enum kir_type t, int64_t a, int64_t b);
int64_t kir_neutral_bits(enum kir_op op, unsigned flags, enum kir_type t);

/* ---- checks (verify.c) ----------------------------------------------------------------------- */

enum { KIR_MOST_LANES = 1024, KIR_MOST_REGISTERS = 1 << 16, KIR_MOST_DEPTH = 64, KIR_MOST_GROUPS = 64 /* of copies */ };

/* What is wrong with a node by itself: its fields, the types of its operands (which exist). NULL when nothing is. */
const char *kir_flaw(const struct kir *k, const struct kir_node *n);

/* ---- running (interp.c) ---------------------------------------------------------------------- */

/* kir_run, but for at most `steps` values computed. */
bool kir_run_within(const struct kir *k, void *const *buffers, void *scratch, int64_t begin, int64_t end, uint64_t steps,
                    struct diag_list *d);

/* ---- names (print.c) ------------------------------------------------------------------------- */

const char *kir_cmp_name(enum kir_cmp c);
const char *kir_loop_name(enum kir_loop l);
const char *kir_tile_name(enum kir_tile t);
const char *kir_role_name(enum kir_role r);

#endif
