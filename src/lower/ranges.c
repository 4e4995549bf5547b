/* Products with zeros that a mask makes, as in attention that is not computed by stages.c: its backward pass, which reads
 * stored weights. Scores of a tile are not computed where all are masked, nor gradients of weights. Of each packed tile or
 * panel of weights the lines are found that are not 0, in whole groups; others before and after them are not multiplied. That
 * holds for any mask, and rows of NaN are multiplied as they are; but factors of the other operand that are NaN or infinite do
 * not make NaN of a weight that is 0 (docs/adr/0016-online-attention.md). */
#include "lower/block.h"
#include "lower/stages.h"

enum {
    RANGE_LINES = TORTURED(4, 32), /* of a group: a multiple of the lines of an iteration */
    RANGE_USES = 32                /* multiply-adds of a vector of factors: fewer do not pay for reading it once more */
};

uint32_t block_masked_operand(const struct blocking *b) {
    const struct contraction *c = b->c;
    int64_t uses[2]; /* by operand */
    uses[b->lhs] = c->result[b->column].size;
    uses[b->rhs] = b->rows.size;
    if (b->kernel != BLOCK_FMA || !kir_is_float(c->acc) || c->nsum != 1 || c->conv || b->parts > 1 ||
        c->l->target->block_threads)
        return 2;
    for (uint32_t side = 0; side < 2; side++)
        if (uses[side] >= TORTURED(1, RANGE_USES) && lower_is_masked_weight(c->l, ir_operand(c->l->m, c->op, side)))
            return side;
    return 2;
}

/* Whether any element of `count` lines from `line` on of a packed tile or panel is not 0; `first`: its first element. */
static kir_val is_any(const struct blocking *b, kir_val first, kir_val line, kir_val count) {
    struct lower *l = b->c->l;
    struct kir *k = l->k;
    bool is_lhs = b->masked == b->lhs, by_rows = is_lhs && !b->lhs_transposed;
    uint32_t buffer = is_lhs ? b->lhs_buffer : b->rhs_buffer;
    int64_t width = by_rows ? 1 : is_lhs ? b->lhs_stride : b->panel.size;
    kir_val any = kir_reg(k, kir_int(k, KIR_I1, 0), 1), none = {0};
    if (by_rows)
        first = lower_add(l, first, lower_mul(l, kir_loop(k, KIR_SERIAL, b->tile.size, 0), b->sum.depth));
    kir_val i = kir_loop_to(k, KIR_VECTOR, lower_mul(l, count, width), (uint32_t)contract_vector(b->c));
    kir_val x = kir_load(k, buffer, lower_add(l, lower_add(l, first, lower_mul(l, line, width)), i));
    kir_acc(k, KIR_OR, KIR_U, any, none, kir_cmp(k, KIR_NE, 0, x, contract_zero(b->c)));
    lower_close(l, by_rows ? 2 : 1);
    return kir_get_reg(k, any, none);
}

void block_find_ranges(struct blocking *b, const struct block *at) {
    struct lower *l = b->c->l;
    struct kir *k = l->k;
    bool is_lhs = b->masked == b->lhs;
    kir_val unit = kir_loop_to(k, KIR_SERIAL, is_lhs ? at->tiles : at->panels, 0), none = {0}, zero = kir_i64(k, 0);
    kir_val first = is_lhs ? lower_mul(l, block_tile_place(b, at, unit), block_tile_elements(b))
                           : lower_mul(l, block_first_line(b, at, unit), b->panel.size);
    kir_val begin = kir_reg(k, at->lines, 1), end = kir_reg(k, zero, 1);
    kir_val groups = lower_div(l, lower_add(l, at->lines, kir_i64(k, RANGE_LINES - 1)), RANGE_LINES);
    kir_val line = lower_mul(l, kir_loop_to(k, KIR_SERIAL, groups, 0), RANGE_LINES);
    kir_val count = kir_op2(k, KIR_MIN, 0, kir_i64(k, RANGE_LINES), kir_op2(k, KIR_SUB, 0, at->lines, line));
    kir_val any = is_any(b, first, line, count);
    kir_val low = kir_op2(k, KIR_MIN, 0, kir_get_reg(k, begin, none), kir_select(k, any, line, at->lines));
    kir_set_reg(k, begin, none, low);
    kir_set_reg(k, end, none, kir_select(k, any, lower_add(l, line, count), kir_get_reg(k, end, none)));
    kir_close(k);
    kir_val last = kir_get_reg(k, end, none), place = lower_mul(l, unit, 2);
    kir_store(k, b->range_buffer, place, kir_op2(k, KIR_MIN, 0, kir_get_reg(k, begin, none), last));
    kir_store(k, b->range_buffer, lower_add(l, place, kir_i64(k, 1)), last);
    kir_close(k);
}

void block_range(const struct blocking *b, kir_val p, kir_val t, kir_val *begin, kir_val *end) {
    struct lower *l = b->c->l;
    kir_val place = lower_mul(l, b->masked == b->lhs ? t : p, 2);
    *begin = kir_load(l->k, b->range_buffer, place);
    *end = kir_load(l->k, b->range_buffer, lower_add(l, place, kir_i64(l->k, 1)));
}

bool block_unmasked(struct blocking *b, const struct block *at, kir_val p, kir_val row, kir_val *possible) {
    struct contraction *c = b->c;
    struct lower *l = c->l;
    const struct fuse_kernel *kernel = l->kernel;
    ir_val product = ir_result(l->m, c->op, 0), out = kernel->outs.v[0];
    kir_val column = block_column(b, lower_add(l, at->panel0, p)), ends[2][IR_MAX_RANK];
    struct lower_span span[IR_MAX_RANK];
    struct lower_mask mask;
    struct index to[2];
    if (b->kernel != BLOCK_FMA || !kir_is_float(c->acc) || c->conv || b->parts > 1 || b->rows.n != 1 || kernel->anchor_map)
        return false;
    for (uint32_t i = 0; i < 2; i++) { /* the first and the last element of the tile */
        kir_val end = lower_add(l, column, kir_i64(l->k, b->panel.size - 1));
        end = kir_op2(l->k, KIR_MIN, 0, end, kir_i64(l->k, c->result[b->column].size - 1));
        for (uint32_t axis = 0; axis < c->nresult; axis++)
            ends[i][axis] = axis == b->column      ? i ? end : column
                            : axis == b->rows.v[0] ? lower_add(l, row, kir_i64(l->k, i ? b->tile.size - 1 : 0))
                                                   : c->result[axis].at;
        lower_project_index(l, ir_val_type(l->m, out), ir_val_type(l->m, product)->dims, ends[i], c->nresult, &to[i]);
    }
    for (uint32_t i = 0; i < to[0].n; i++)
        span[i] = (struct lower_span){to[0].at[i], to[1].at[i]};
    if (kernel->outs.n == 1 && lower_unmasked(l, out, span, &mask)) {
        *possible = mask.possible;
        return true;
    }
    for (uint32_t i = 0; i < c->nresult; i++)
        span[i] = (struct lower_span){ends[0][i], ends[1][i]};
    return lower_masked_uses(l, product, span, possible);
}
