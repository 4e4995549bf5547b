/* reduce_window: at each element of the result a loop over its window, in the evaluator's order. Where the window covers
 * padding the initial value is combined. */
#include "lower/lower.h"

enum { WINDOW_UNROLLED = TORTURED(1, 32) /* windows of more elements are loops */ };

static kir_val both(struct lower *l, kir_val a, kir_val b) {
    return a.i ? kir_op2(l->k, KIR_AND, 0, a, b) : b;
}

/* The operand's index under a tap of the window of dimension i; *guard: whether it is inside, none = always. */
static kir_val place(struct lower *l, ir_op op, uint32_t i, kir_val at, kir_val tap, kir_val *guard) {
    int64_t stride = ir_prop_i64_at(l->m, op, IR_REDUCE_WINDOW_window_strides, i, 1);
    int64_t low = ir_prop_i64_at(l->m, op, IR_REDUCE_WINDOW_padding, 2 * i, 0);
    int64_t base = ir_prop_i64_at(l->m, op, IR_REDUCE_WINDOW_base_dilations, i, 1);
    int64_t dilation = ir_prop_i64_at(l->m, op, IR_REDUCE_WINDOW_window_dilations, i, 1);
    int64_t size = ir_prop_i64_at(l->m, op, IR_REDUCE_WINDOW_window_dimensions, i, 1);
    int64_t in = ir_val_type(l->m, ir_operand(l->m, op, 0))->dims[i], span = (in - 1) * base + 1;
    int64_t out = ir_val_type(l->m, ir_result(l->m, op, 0))->dims[i];
    kir_val p = lower_add(l, lower_mul(l, at, stride), lower_mul(l, tap, dilation));
    p = lower_add(l, p, kir_i64(l->k, -low));
    if (low > 0)
        *guard = both(l, *guard, kir_cmp(l->k, KIR_GE, 0, p, kir_i64(l->k, 0)));
    if ((out - 1) * stride + (size - 1) * dilation - low >= span)
        *guard = both(l, *guard, kir_cmp(l->k, KIR_LT, 0, p, kir_i64(l->k, span)));
    if (base == 1)
        return p;
    *guard = both(l, *guard, kir_cmp(l->k, KIR_EQ, 0, lower_rem(l, p, base), kir_i64(l->k, 0)));
    return lower_div(l, p, base);
}

/* The element at `in`, or the initial value where the guard does not hold. */
static struct elem element(struct lower *l, ir_op op, const struct index *in, kir_val guard, struct elem init) {
    kir_val outer = l->guard;
    l->guard = outer.i && guard.i ? kir_op2(l->k, KIR_AND, 0, outer, guard) : guard.i ? guard : outer;
    struct elem x = lower_value(l, ir_operand(l->m, op, 0), in);
    l->guard = outer;
    if (!guard.i)
        return x;
    return (struct elem){kir_select(l->k, guard, x.re, init.re),
                         x.im.i ? kir_select(l->k, guard, x.im, init.im) : (kir_val){0}};
}

struct elem elem_reduce_window(struct lower *l, ir_op op, uint32_t what, const struct index *at) {
    static const struct index scalar_index;
    const struct ir_type_data *t = ir_val_type(l->m, ir_result(l->m, op, 0));
    const struct ir_dtype_info *type = ir_dtype_get(t->dtype);
    struct index here = *at, in = {.n = t->rank};
    struct elem init = lower_value(l, ir_operand(l->m, op, 1), &scalar_index), args[2], out;
    kir_val none = {0}, guard = {0}, re = kir_reg(l->k, init.re, 1), im = init.im.i ? kir_reg(l->k, init.im, 1) : none;
    bool exact = type->cls != IR_FLOAT || type->bits >= 32; /* steps need no rounding */
    enum kir_op acc = exact ? lower_reducer(l->m, op) : KIR_NONE;
    int64_t taps = 1;
    uint32_t opened = 0;
    (void)what;
    if (at->flat) {
        here = (struct index){.n = t->rank};
        lower_unflatten(l, at->at[0], t->dims, t->rank, here.at);
    }
    for (uint32_t i = 0; i < t->rank; i++)
        taps *= ir_prop_i64_at(l->m, op, IR_REDUCE_WINDOW_window_dimensions, i, 1);
    for (uint32_t i = 0; i < t->rank; i++, opened++) {
        kir_val tap = kir_loop(l->k, taps <= WINDOW_UNROLLED ? KIR_UNROLLED : KIR_SERIAL,
                               ir_prop_i64_at(l->m, op, IR_REDUCE_WINDOW_window_dimensions, i, 1), 0);
        in.at[i] = place(l, op, i, here.at[i], tap, &guard);
    }
    args[1] = element(l, op, &in, guard, init);
    if (acc) {
        kir_acc(l->k, acc, lower_sign(t->dtype), re, none, args[1].re);
    } else {
        args[0] = (struct elem){kir_get_reg(l->k, re, none), im.i ? kir_get_reg(l->k, im, none) : none};
        lower_region(l, ir_op_region(l->m, op, 0), args, &out);
        kir_set_reg(l->k, re, none, out.re);
        if (im.i)
            kir_set_reg(l->k, im, none, out.im);
    }
    lower_close(l, opened);
    return (struct elem){kir_get_reg(l->k, re, none), im.i ? kir_get_reg(l->k, im, none) : none};
}
