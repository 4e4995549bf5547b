/* Contractions by the matrix units of a GPU, a part of the schedule in shared.c: each of the eight warps of a block has
 * fragments of 16 rows by 8 columns of sums in its registers, and reads those of the factors from scratch memory, 16 bytes a
 * thread. Factors stay in their narrow type. Units of warpgroups read factors from scratch memory themselves: each of the two
 * warpgroups of a block has 64 rows of sums, a warp 16 of them. */
#include "lower/shared.h"

#include <math.h>

enum {
    MMA_WARP_ROWS = 2,    /* warps of a block along rows */
    MMA_WARP_COLUMNS = SHARED_THREADS / KIR_WARP / MMA_WARP_ROWS,
    MMA_DEPTH = 64,       /* bytes of a line of a slab */
    MMA_FRAGMENTS = 8,    /* of a thread at most: 16 rows by 16 columns each */
    MMA_COLUMNS = 2 * KIR_MMA_COLUMNS /* of a fragment: words of four matrices are read at once */
};

/* Fragments of a warp along the lines of an operand. */
static int64_t fragments(const struct shared *s, uint32_t side) {
    return s->side[side].each / (side ? MMA_COLUMNS : KIR_MMA_ROWS);
}

/* ---- the choice ------------------------------------------------------------------------------- */

static bool find_format(struct shared *s) {
    const struct ir_module *m = s->c->l->m;
    enum ir_dtype t[2];
    for (uint32_t i = 0; i < 2; i++)
        t[i] = ir_val_type(m, ir_operand(m, s->c->op, i))->dtype;
    if (s->c->acc == KIR_F32 && t[0] == t[1] && (t[0] == IR_BF16_T || t[0] == IR_F16_T)) {
        s->format = t[0] == IR_BF16_T ? KIR_TILE_BF16 : KIR_TILE_F16;
    } else if (s->c->acc == KIR_I32 && (t[0] == IR_I8_T || t[0] == IR_UI8_T) && (t[1] == IR_I8_T || t[1] == IR_UI8_T)) {
        static const enum kir_tile formats[2][2] = {{KIR_TILE_S8S8, KIR_TILE_S8U8}, {KIR_TILE_U8S8, KIR_TILE_U8U8}};
        s->format = formats[t[0] == IR_UI8_T][t[1] == IR_UI8_T];
    } else {
        return false;
    }
    for (uint32_t i = 0; i < 2; i++)
        s->side[i].dtype = t[i];
    return true;
}

/* The fragments that take the least time, in products of fragments, for as many rounds as the blocks take on all
   multiprocessors. Reading a fragment takes about as long as multiplying two. */
static void choose_fragments(struct shared *s) {
    const struct target *t = s->c->l->target;
    double least = INFINITY;
    for (int64_t rows = MMA_FRAGMENTS / 2; rows >= 1; rows /= 2)
        for (int64_t columns = MMA_FRAGMENTS / rows < 4 ? MMA_FRAGMENTS / rows : 4; columns >= 1; columns /= 2) {
            double lines = ceil((double)s->side[0].lines.size / (double)(rows * KIR_MMA_ROWS * MMA_WARP_ROWS));
            double blocks = lines * (double)s->batch.size *
                            ceil((double)s->side[1].lines.size / (double)(columns * MMA_COLUMNS * MMA_WARP_COLUMNS));
            double time = ceil(blocks / t->cores) * (double)(rows * columns + 2 * (rows + columns));
            if (time < least) {
                least = time;
                s->side[0].each = rows * KIR_MMA_ROWS;
                s->side[1].each = columns * MMA_COLUMNS;
            }
        }
    s->side[0].size = s->side[0].each * MMA_WARP_ROWS;
    s->side[1].size = s->side[1].each * MMA_WARP_COLUMNS;
}

bool mma_choose(struct shared *s) {
    const struct target *t = s->c->l->target;
    if (s->c->l->kernel->strict || t->f16_tile_rate == 0 || t->warp_threads != KIR_WARP || !find_format(s))
        return false;
    choose_fragments(s);
    s->mma = true;
    s->depth = MMA_DEPTH / ir_dtype_get(s->side[0].dtype)->bytes;
    for (uint32_t i = 0; i < 2; i++) {
        struct panel *p = &s->side[i];
        int64_t loaded = p->size * s->depth / SHARED_THREADS;
        p->access = SHARED_ACCESS / ir_dtype_get(p->dtype)->bytes;
        p->unit = loaded < p->access ? loaded : p->access;
    }
    return true;
}

/* The columns that take the least time, likewise: what a slab of 64 columns costs besides is about a half of it. */
static void choose_columns(struct shared *s) {
    double least = INFINITY, rows = ceil((double)s->side[0].lines.size / (double)s->side[0].size);
    for (int64_t columns = KIR_WGMMA_COLUMNS; columns >= KIR_WGMMA_TERMS; columns /= 2) {
        double blocks = rows * (double)s->batch.size * ceil((double)s->side[1].lines.size / (double)columns);
        double time = ceil(blocks / s->c->l->target->cores) * (double)(columns + KIR_WGMMA_TERMS / 2);
        if (time < least) {
            least = time;
            s->side[1].size = s->side[1].each = columns;
        }
    }
}

bool wgmma_choose(struct shared *s) {
    const struct lower *l = s->c->l;
    bool large = s->side[0].lines.size >= KIR_WGMMA_ROWS && s->side[1].lines.size >= KIR_WGMMA_TERMS;
    /* scratch memory that begins where factors have to */
    if (l->kernel->strict || !l->target->wgmma || !large || l->k->scratch_bytes % KIR_WGMMA_ALIGN || !find_format(s) ||
        s->c->acc != KIR_F32)
        return false;
    s->side[0].each = KIR_MMA_ROWS;
    s->side[0].size = SHARED_THREADS / KIR_WARP * KIR_MMA_ROWS;
    choose_columns(s);
    s->mma = s->wgmma = true;
    s->depth = KIR_WGMMA_TERMS;
    for (uint32_t i = 0; i < 2; i++)
        s->side[i].unit = s->side[i].access = SHARED_ACCESS / ir_dtype_get(s->side[i].dtype)->bytes;
    return true;
}

int64_t mma_sums(const struct shared *s) {
    return 2 * 4 * fragments(s, 0) * fragments(s, 1);
}

/* ---- products --------------------------------------------------------------------------------- */

void mma_begin(struct shared *s) {
    struct lower *l = s->c->l;
    kir_val warp = lower_div(l, s->lane, KIR_WARP);
    if (s->wgmma) {
        s->side[0].thread = lower_mul(l, warp, KIR_MMA_ROWS);
        s->side[1].thread = kir_i64(l->k, 0);
        return;
    }
    s->side[0].thread = lower_mul(l, lower_div(l, warp, MMA_WARP_COLUMNS), s->side[0].each);
    s->side[1].thread = lower_mul(l, lower_rem(l, warp, MMA_WARP_COLUMNS), s->side[1].each);
}

/* Registers 4i … 4i + 3 of p->part = fragment i of the warp, of terms from `first` on. Of a left operand the four matrices are
   two of 8 rows, then those of the next terms; of a right one those of the next terms come second. */
static void read_fragments(struct shared *s, uint32_t side, kir_val first) {
    struct lower *l = s->c->l;
    struct panel *p = &s->side[side];
    kir_val lane = lower_rem(l, s->lane, KIR_WARP), row = lower_rem(l, lane, 8);
    kir_val second = lower_rem(l, lower_div(l, lane, 8), 2), later = lower_div(l, lane, 16);
    kir_val line = lower_add(l, p->thread, lower_mul(l, side ? later : second, 8));
    kir_val term = lower_add(l, first, lower_mul(l, side ? second : later, p->access));
    if (p->along_sum)
        line = lower_add(l, line, row);
    else
        term = lower_add(l, term, row);
    for (int64_t i = 0; i < fragments(s, side); i++) {
        kir_val at = shared_place(l, s, p, lower_add(l, line, kir_i64(l->k, i * MMA_COLUMNS)), term);
        kir_ldmatrix(l->k, p->along_sum ? 0 : KIR_T, p->part, 4 * i, p->scratch, at);
    }
}

/* The 64 rows of a warpgroup, by all columns; of a left operand, each 64 rows are side by side in either layout. */
static void multiply_by_groups(struct shared *s, kir_val sums) {
    struct lower *l = s->c->l;
    struct kir_factors factors[2];
    kir_val group = lower_mul(l, lower_div(l, s->lane, KIR_WARPGROUP), KIR_WGMMA_ROWS * KIR_WGMMA_TERMS);
    for (uint32_t i = 0; i < 2; i++) {
        struct panel *p = &s->side[i];
        factors[i] = (struct kir_factors){p->scratch, i ? p->stage : lower_add(l, p->stage, group), !p->along_sum};
    }
    kir_wgmma(l->k, s->format, sums, 0, factors[0], factors[1], (uint32_t)s->side[1].size);
}

void mma_multiply(struct shared *s, kir_val sums) {
    struct lower *l = s->c->l;
    if (s->wgmma) {
        multiply_by_groups(s, sums);
        return;
    }
    int64_t step = 2 * s->side[0].access;
    kir_val first = lower_mul(l, kir_loop(l->k, KIR_UNROLLED, s->depth / step, 0), step);
    for (uint32_t i = 0; i < 2; i++) {
        s->side[i].part = kir_reg(l->k, kir_int(l->k, KIR_I32, 0), 4 * fragments(s, i));
        read_fragments(s, i, first);
    }
    for (int64_t i = 0; i < fragments(s, 0); i++)
        for (int64_t j = 0; j < 2 * fragments(s, 1); j++)
            kir_mma(l->k, s->format, sums, 4 * (i * 2 * fragments(s, 1) + j), s->side[0].part, 4 * i, s->side[1].part, 2 * j);
    kir_close(l->k);
}

/* ---- results ---------------------------------------------------------------------------------- */

void mma_finish(struct shared *s, kir_val sums) {
    struct lower *l = s->c->l;
    int64_t columns = 2 * fragments(s, 1);
    kir_val lane = lower_rem(l, s->lane, KIR_WARP);
    kir_val i = kir_loop(l->k, KIR_UNROLLED, fragments(s, 0), 0), half = kir_loop(l->k, KIR_UNROLLED, 2, 0);
    kir_val row = lower_add(l, lower_mul(l, i, KIR_MMA_ROWS), lower_mul(l, half, KIR_MMA_ROWS / 2));
    row = lower_add(l, lower_add(l, s->side[0].thread, lower_div(l, lane, 4)), row);
    kir_val j = kir_loop(l->k, KIR_UNROLLED, columns, 0), x = kir_loop(l->k, KIR_UNROLLED, 2, 0);
    kir_val column = lower_add(l, lower_mul(l, j, KIR_MMA_COLUMNS), x);
    column = lower_add(l, lower_add(l, s->side[1].thread, lower_mul(l, lower_rem(l, lane, 4), 2)), column);
    kir_val at = lower_mul(l, lower_add(l, lower_mul(l, i, columns), j), 4);
    at = lower_add(l, at, lower_add(l, lower_mul(l, half, 2), x));
    l->guard = s->guard;
    shared_set_line(s, &s->side[0], row);
    shared_set_line(s, &s->side[1], column);
    contract_finish(s->c, kir_get_reg(l->k, sums, at));
    l->guard = s->guard;
    lower_close(l, 4);
}
