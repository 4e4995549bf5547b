/* Products of rows with a model's matrices: see product.h. */
#include "llm/product.h"

enum {
    FEW_ROWS = 16, /* with fewer, converting a matrix to bytes does not pay */
    BYTE_LIMIT = 127,
    ROW_GROUP = 32, /* columns of a row whose integers share a scale */
    ROW_LIMIT = BYTE_LIMIT << 8, /* of a row's integers, whose two bytes are signed */
    MAX_COLS = 1 << 17 /* so that sums of byte products fit 32 bits */
};
#define LEAST_UNIT 1e-30 /* instead of zero, to divide by */

#define DIMS(...) (const int64_t[]){__VA_ARGS__}, (sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t))
#define MAP(...) (const int64_t[]){__VA_ARGS__}

static int64_t size(const struct build *b, ir_val x, uint32_t dim) {
    return build_type(b, x)->dims[dim];
}

/* x op a number */
static ir_val with(struct build *b, enum ir_op_kind op, ir_val x, double number) {
    const struct ir_type_data *t = build_type(b, x);
    return build_binary(b, op, x, build_splat(b, t->dtype, t->dims, t->rank, number));
}

/* ---- quantised matrices ---------------------------------------------------------------------- */

/* Scales or offsets, f32[rows, groups]: where there are units, each group's integer times that of its block of groups. */
static ir_val numbers_of(struct build *b, const struct llm_weight *w, const ir_val parts[LLM_PARTS], enum llm_part part) {
    ir_val x = build_convert(b, parts[part], IR_F32_T);
    if (!w->units)
        return x;
    int64_t rows = size(b, x, 0), blocks[] = {rows, w->units, w->groups / w->units};
    ir_val units = build_convert(b, parts[part == LLM_SCALES ? LLM_SCALE_UNITS : LLM_OFFSET_UNITS], IR_F32_T);
    x = build_binary(b, IR_MULTIPLY, build_reshape(b, x, blocks, 3), build_broadcast(b, units, blocks, 3, MAP(0, 1)));
    return build_reshape(b, x, DIMS(rows, w->groups));
}

/* Integers times scale, plus offset, of their group; both f32[rows, groups]. */
static ir_val scaled(struct build *b, const struct llm_weight *w, ir_val values, ir_val scales, ir_val offsets) {
    if (w->bits == 4)
        values = build_nibbles(b, values, w->offsets ? IR_UI4_T : IR_I4_T);
    int64_t rows = size(b, values, 0), grouped[] = {rows, w->groups, w->cols / w->groups};
    ir_val x = build_reshape(b, build_convert(b, values, IR_F32_T), grouped, 3);
    x = build_binary(b, IR_MULTIPLY, x, build_broadcast(b, scales, grouped, 3, MAP(0, 1)));
    if (w->offsets)
        x = build_binary(b, IR_ADD, x, build_broadcast(b, offsets, grouped, 3, MAP(0, 1)));
    return build_reshape(b, x, DIMS(rows, w->cols));
}

ir_val product_dequantise(struct build *b, const struct llm_weight *w, const ir_val parts[LLM_PARTS]) {
    ir_val scales = numbers_of(b, w, parts, LLM_SCALES), offsets = w->offsets ? numbers_of(b, w, parts, LLM_OFFSETS) : scales;
    return scaled(b, w, parts[LLM_VALUES], scales, offsets);
}

/* An upper bound for each row: f32[rows]. The steps of bytes follow from it, so that it allows for no more than the values of
   the format, which may have fewer bits than they take here. */
static ir_val greatest(struct build *b, const struct llm_weight *w, ir_val scales, ir_val offsets) {
    double most = w->reach ? w->reach : w->offsets ? (1u << w->bits) - 1 : 1u << (w->bits - 1);
    ir_val x;
    if (w->offsets) { /* values are 0 or more: a group's numbers lie between its offset and this */
        x = build_binary(b, IR_ADD, build_scale(b, scales, most), offsets);
        x = build_binary(b, IR_MAXIMUM, build_unary(b, IR_ABS, x), build_unary(b, IR_ABS, offsets));
    } else {
        x = build_unary(b, IR_ABS, build_scale(b, scales, most));
    }
    return with(b, IR_MAXIMUM, build_reduce(b, IR_MAXIMUM, x, 1), LEAST_UNIT);
}

/* The matrix as i8[rows, cols], and f32[rows]: the scale of each row. */
static ir_val bytes_of(struct build *b, const struct llm_weight *w, const ir_val parts[LLM_PARTS], bool by_row, ir_val *unit) {
    ir_val scales = numbers_of(b, w, parts, LLM_SCALES), offsets = scales;
    if (by_row) {
        *unit = build_reshape(b, scales, DIMS(w->rows));
        return parts[LLM_VALUES];
    }
    if (w->offsets)
        offsets = numbers_of(b, w, parts, LLM_OFFSETS);
    *unit = build_scale(b, greatest(b, w, scales, offsets), 1.0 / BYTE_LIMIT);
    ir_val per_unit = build_broadcast_like(b, build_reciprocal(b, *unit), scales, MAP(0));
    scales = build_binary(b, IR_MULTIPLY, scales, per_unit);
    if (w->offsets)
        offsets = build_binary(b, IR_MULTIPLY, offsets, per_unit);
    ir_val x = scaled(b, w, parts[LLM_VALUES], scales, offsets);
    return build_convert(b, build_unary(b, IR_ROUND_NEAREST_EVEN, x), IR_I8_T);
}

/* ---- rows as integers ------------------------------------------------------------------------ */

/* x f32[n, cols] as integers of 16 bits, still f32, and f32[n], the scale of each row. */
static ir_val integers_of(struct build *b, ir_val x, ir_val *unit) {
    ir_val most = build_reduce(b, IR_MAXIMUM, build_unary(b, IR_ABS, x), 1);
    *unit = build_scale(b, with(b, IR_MAXIMUM, most, LEAST_UNIT), 1.0 / ROW_LIMIT);
    x = build_binary(b, IR_MULTIPLY, x, build_broadcast_like(b, build_reciprocal(b, *unit), x, MAP(0)));
    return build_unary(b, IR_ROUND_NEAREST_EVEN, x);
}

/* The exact sums of products of integers q f32[n, cols] and m i8[rows, cols], f64[n, rows]: of the high bytes of q and of the
   low ones, both signed, which are rows of one product. */
static ir_val sums_of_bytes(struct build *b, ir_val q, ir_val m) {
    int64_t n = size(b, q, 0);
    ir_val high = build_unary(b, IR_FLOOR, with(b, IR_ADD, build_scale(b, q, 1.0 / 256), 0.5));
    ir_val low = build_binary(b, IR_SUBTRACT, q, build_scale(b, high, 256));
    q = build_concat(b, build_convert(b, high, IR_I8_T), build_convert(b, low, IR_I8_T), 0);
    ir_val sums = build_dot(b, q, m, 0, 1, 1, IR_I32_T);
    high = build_convert(b, build_slice(b, sums, 0, 0, n), IR_F64_T);
    return build_binary(b, IR_ADD, with(b, IR_MULTIPLY, high, 256),
                        build_convert(b, build_slice(b, sums, 0, n, 2 * n), IR_F64_T));
}

static ir_val product_of_integers(struct build *b, ir_val x, const struct llm_model *model, const struct llm_weight *w,
                                  const ir_val parts[LLM_PARTS], bool by_row) {
    ir_val row_unit, unit, q = integers_of(b, x, &row_unit), m = bytes_of(b, w, parts, by_row, &unit), y;
    if (model->prompts_in_words && size(b, x, 0) > FEW_ROWS) {
        q = build_convert(b, q, IR_I16_T);
        build_barrier(b, &q, &row_unit); /* however many products have x, it is stored as integers */
        y = build_dot(b, build_convert(b, q, IR_F64_T), build_convert(b, m, IR_F64_T), 0, 1, 1, IR_F64_T);
    } else {
        y = sums_of_bytes(b, q, m);
    }
    y = build_convert(b, y, IR_F32_T); /* of exact sums, so that both forms have the same bits */
    y = build_binary(b, IR_MULTIPLY, y, build_broadcast_like(b, row_unit, y, MAP(0)));
    return build_binary(b, IR_MULTIPLY, y, build_broadcast_like(b, unit, y, MAP(1)));
}

/* x f32[n, cols] as multiplied by a matrix in groups: integers of 8 bits times a scale for each group of columns. */
static ir_val rounded(struct build *b, ir_val x, const struct llm_weight *w) {
    int64_t n = size(b, x, 0), group = w->cols / w->groups;
    group = group % ROW_GROUP ? group : ROW_GROUP;
    int64_t grouped[] = {n, w->cols / group, group};
    x = build_reshape(b, x, grouped, 3);
    ir_val most = build_reduce(b, IR_MAXIMUM, build_unary(b, IR_ABS, x), 2);
    ir_val unit = build_scale(b, with(b, IR_MAXIMUM, most, LEAST_UNIT), 1.0 / BYTE_LIMIT);
    ir_val q = build_binary(b, IR_MULTIPLY, x, build_broadcast_like(b, build_reciprocal(b, unit), x, MAP(0, 1)));
    q = build_convert(b, build_unary(b, IR_ROUND_NEAREST_EVEN, q), IR_I8_T);
    /* However many products have x, each multiplies the integers: their products with the scales are not stored for all. */
    build_barrier(b, &q, &unit);
    x = build_binary(b, IR_MULTIPLY, build_convert(b, q, IR_F32_T), build_broadcast_like(b, unit, x, MAP(0, 1)));
    return build_reshape(b, x, DIMS(n, w->cols));
}

/* ---- products -------------------------------------------------------------------------------- */

ir_val product_of(struct build *b, ir_val x, const struct llm_model *model, const struct llm_weight *w,
                  const ir_val parts[LLM_PARTS], enum ir_dtype type, bool rounds) {
    bool by_row = w->bits == 8 && w->groups == 1 && !w->offsets; /* one scale for each row is applied after the sum */
    bool whole = model->prompts_by_row && size(b, x, 0) >= FEW_ROWS;
    if (w->bits && type != IR_F32_T && w->cols <= MAX_COLS && (by_row || whole))
        return product_of_integers(b, x, model, w, parts, by_row);
    if (w->bits && !by_row) {
        x = rounds && model->precision != LLM_F32 ? rounded(b, x, w) : x;
        type = IR_F32_T;
    }
    ir_val m = w->bits && !by_row ? product_dequantise(b, w, parts) : parts[LLM_VALUES];
    ir_val y = build_dot(b, build_convert(b, x, type), build_convert(b, m, type), 0, 1, 1, IR_F32_T);
    if (!by_row)
        return y;
    ir_val s = build_reshape(b, build_convert(b, parts[LLM_SCALES], IR_F32_T), DIMS(w->rows));
    return build_binary(b, IR_MULTIPLY, y, build_broadcast_like(b, s, y, MAP(1)));
}
