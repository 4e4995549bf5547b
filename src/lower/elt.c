/* Elements of elementwise ops, and which ops kernels can compute. */
#include "lower/lower.h"

/* ---- types ----------------------------------------------------------------------------------- */

static enum ir_dtype dtype_of(const struct lower *l, ir_val v) {
    return ir_val_type(l->m, v)->dtype;
}

static enum ir_dtype result_dtype(const struct lower *l, ir_op op) {
    return dtype_of(l, ir_result(l->m, op, 0));
}

static bool is_float(enum ir_dtype t) {
    return ir_dtype_get(t)->cls == IR_FLOAT;
}

struct elem lower_round(struct lower *l, enum ir_dtype t, struct elem e) {
    const struct ir_dtype_info *d = ir_dtype_get(t);
    if (d->cls == IR_FLOAT && d->fp != FP_F32 && d->fp != FP_F64)
        e.re = kir_imm(l->k, KIR_ROUND, 0, d->fp, e.re);
    if ((d->cls == IR_SINT || d->cls == IR_UINT) && d->bits < 8)
        e.re = kir_imm(l->k, KIR_EXT, lower_sign(t), d->bits, e.re);
    return e;
}

static struct elem real(kir_val v) {
    return (struct elem){v, {0}};
}

/* ---- complex numbers -------------------------------------------------------------------------- */

static kir_val op2(struct lower *l, enum kir_op op, kir_val a, kir_val b) {
    return kir_op2(l->k, op, 0, a, b);
}

static struct elem complex_mul(struct lower *l, struct elem a, struct elem b) {
    return (struct elem){op2(l, KIR_SUB, op2(l, KIR_MUL, a.re, b.re), op2(l, KIR_MUL, a.im, b.im)),
                         op2(l, KIR_ADD, op2(l, KIR_MUL, a.re, b.im), op2(l, KIR_MUL, a.im, b.re))};
}

static struct elem complex_alu(struct lower *l, enum kir_op op, struct elem a, struct elem b) {
    switch (op) {
    case KIR_NEG:
        return (struct elem){kir_op1(l->k, KIR_NEG, a.re), kir_op1(l->k, KIR_NEG, a.im)};
    case KIR_MUL:
        return complex_mul(l, a, b);
    default: /* ADD, SUB */
        return (struct elem){op2(l, op, a.re, b.re), op2(l, op, a.im, b.im)};
    }
}

/* ---- arithmetic ------------------------------------------------------------------------------- */

struct elem elem_alu(struct lower *l, ir_op op, uint32_t what, const struct index *at) {
    enum ir_dtype t = dtype_of(l, ir_operand(l->m, op, 0));
    struct elem a = lower_operand(l, op, 0, at), b = {{0}, {0}};
    bool two = ir_op_get(l->m, op)->noperands == 2;
    if (two)
        b = lower_operand(l, op, 1, at);
    enum kir_op k = (enum kir_op)what;
    if (lower_is_complex(t))
        return complex_alu(l, k, a, b);
    unsigned u = k == KIR_SHR ? (ir_kind(l->m, op) == IR_SHIFT_RIGHT_LOGICAL ? KIR_U : 0) : lower_sign(t);
    kir_val v = two ? kir_op2(l->k, k, is_float(t) ? 0 : u, a.re, b.re) : kir_op1(l->k, k, a.re);
    return lower_round(l, result_dtype(l, op), real(v));
}

struct elem elem_fun(struct lower *l, ir_op op, uint32_t what, const struct index *at) {
    kir_val a = lower_operand(l, op, 0, at).re, b = {0};
    if (ir_op_get(l->m, op)->noperands == 2)
        b = lower_operand(l, op, 1, at).re;
    return lower_round(l, result_dtype(l, op), real(kir_math(l->k, (enum kir_math)what, a, b)));
}

struct elem elem_square(struct lower *l, ir_op op, uint32_t what, const struct index *at) {
    struct elem a = lower_operand(l, op, 0, at);
    (void)what;
    if (a.im.i)
        return complex_mul(l, a, a);
    return lower_round(l, result_dtype(l, op), real(op2(l, KIR_MUL, a.re, a.re)));
}

struct elem elem_sign(struct lower *l, ir_op op, uint32_t what, const struct index *at) {
    kir_val x = lower_operand(l, op, 0, at).re;
    enum kir_type t = kir_type(l->k, x);
    (void)what;
    kir_val zero = kir_is_float(t) ? kir_float(l->k, t, 0) : kir_int(l->k, t, 0);
    kir_val one = kir_is_float(t) ? kir_float(l->k, t, 1) : kir_int(l->k, t, 1);
    kir_val minus = kir_is_float(t) ? kir_float(l->k, t, -1) : kir_int(l->k, t, -1);
    kir_val less = kir_select(l->k, kir_cmp(l->k, KIR_LT, 0, x, zero), minus, x); /* 0 and NaN stay */
    return real(kir_select(l->k, kir_cmp(l->k, KIR_GT, 0, x, zero), one, less));
}

struct elem elem_compare(struct lower *l, ir_op op, uint32_t what, const struct index *at) {
    static const uint8_t directions[] = {
        [IR_COMPARISON_DIRECTION_EQ] = KIR_EQ, [IR_COMPARISON_DIRECTION_NE] = KIR_NE, [IR_COMPARISON_DIRECTION_GE] = KIR_GE,
        [IR_COMPARISON_DIRECTION_GT] = KIR_GT, [IR_COMPARISON_DIRECTION_LE] = KIR_LE, [IR_COMPARISON_DIRECTION_LT] = KIR_LT};
    enum ir_dtype t = dtype_of(l, ir_operand(l->m, op, 0));
    struct elem a = lower_operand(l, op, 0, at), b = lower_operand(l, op, 1, at);
    enum kir_cmp cmp = (enum kir_cmp)directions[ir_prop_i64(l->m, op, IR_COMPARE_comparison_direction)];
    (void)what;
    if (is_float(t) && ir_prop_i64(l->m, op, IR_COMPARE_compare_type) == IR_COMPARISON_TYPE_TOTALORDER) {
        enum kir_type bits = kir_type(l->k, a.re) == KIR_F64 ? KIR_I64 : KIR_I32;
        kir_val *v[] = {&a.re, &b.re};
        for (int i = 0; i < 2; i++) { /* the order of negative numbers is reversed */
            kir_val x = kir_typed(l->k, KIR_BITCAST, 0, bits, *v[i]);
            kir_val sign = op2(l, KIR_SHR, x, kir_int(l->k, bits, kir_type_bits(bits) - 1));
            *v[i] = op2(l, KIR_XOR, x, op2(l, KIR_AND, sign, kir_int(l->k, bits, bits == KIR_I64 ? INT64_MAX : INT32_MAX)));
        }
        return real(kir_cmp(l->k, cmp, 0, a.re, b.re));
    }
    kir_val re = kir_cmp(l->k, cmp, is_float(t) || lower_is_complex(t) ? 0 : lower_sign(t), a.re, b.re);
    if (!a.im.i)
        return real(re);
    return real(op2(l, cmp == KIR_EQ ? KIR_AND : KIR_OR, re, kir_cmp(l->k, cmp, 0, a.im, b.im)));
}

struct elem elem_select(struct lower *l, ir_op op, uint32_t what, const struct index *at) {
    kir_val c = lower_operand(l, op, 0, at).re;
    struct elem a = lower_operand(l, op, 1, at), b = lower_operand(l, op, 2, at);
    (void)what;
    return (struct elem){kir_select(l->k, c, a.re, b.re), a.im.i ? kir_select(l->k, c, a.im, b.im) : (kir_val){0}};
}

struct elem elem_clamp(struct lower *l, ir_op op, uint32_t what, const struct index *at) {
    enum ir_dtype t = result_dtype(l, op);
    unsigned u = is_float(t) ? 0 : lower_sign(t);
    kir_val low = lower_operand(l, op, 0, at).re, x = lower_operand(l, op, 1, at).re, high = lower_operand(l, op, 2, at).re;
    (void)what;
    return real(kir_op2(l->k, KIR_MIN, u, kir_op2(l->k, KIR_MAX, u, x, low), high));
}

static kir_val infinity(struct lower *l, kir_val like) {
    return kir_float(l->k, kir_type(l->k, like), (double)__builtin_inf());
}

struct elem elem_is_finite(struct lower *l, ir_op op, uint32_t what, const struct index *at) {
    kir_val x = kir_op1(l->k, KIR_ABS, lower_operand(l, op, 0, at).re);
    (void)what;
    return real(kir_cmp(l->k, KIR_LT, 0, x, infinity(l, x)));
}

struct elem elem_is_inf(struct lower *l, ir_op op, uint32_t what, const struct index *at) {
    enum ir_op_kind kind = ir_kind(l->m, op);
    kir_val x = lower_operand(l, op, 0, at).re;
    (void)what;
    if (kind != IR_IS_POS_INF)
        x = kir_op1(l->k, kind == IR_IS_INF ? KIR_ABS : KIR_NEG, x);
    return real(kir_cmp(l->k, KIR_EQ, 0, x, infinity(l, x)));
}

/* Only bf16 and tf32 of f32, which has the same exponent range: supports_reduce_precision. */
struct elem elem_reduce_precision(struct lower *l, ir_op op, uint32_t what, const struct index *at) {
    bool is_bf16 = ir_prop_i64(l->m, op, IR_REDUCE_PRECISION_mantissa_bits) == 7;
    (void)what;
    return real(kir_imm(l->k, KIR_ROUND, 0, is_bf16 ? FP_BF16 : FP_TF32, lower_operand(l, op, 0, at).re));
}

struct elem elem_complex(struct lower *l, ir_op op, uint32_t what, const struct index *at) {
    (void)what;
    return (struct elem){lower_operand(l, op, 0, at).re, lower_operand(l, op, 1, at).re};
}

struct elem elem_real(struct lower *l, ir_op op, uint32_t what, const struct index *at) {
    (void)what;
    return real(lower_operand(l, op, 0, at).re);
}

struct elem elem_imag(struct lower *l, ir_op op, uint32_t what, const struct index *at) {
    struct elem a = lower_operand(l, op, 0, at);
    (void)what;
    return real(a.im.i ? a.im : kir_float(l->k, kir_type(l->k, a.re), 0));
}

struct elem elem_conj(struct lower *l, ir_op op, uint32_t what, const struct index *at) {
    struct elem a = lower_operand(l, op, 0, at);
    (void)what;
    return (struct elem){a.re, a.im.i ? kir_op1(l->k, KIR_NEG, a.im) : a.im};
}

struct elem elem_map(struct lower *l, ir_op op, uint32_t what, const struct index *at) {
    struct elem args[64], out;
    (void)what;
    for (uint32_t i = 0; i < ir_op_get(l->m, op)->noperands; i++)
        args[i] = lower_operand(l, op, i, at);
    lower_region(l, ir_op_region(l->m, op, 0), args, &out);
    return out;
}

/* ---- conversion ------------------------------------------------------------------------------- */

/* A real number of element type `from` as one of `to`. */
static kir_val convert(struct lower *l, kir_val x, enum ir_dtype from, enum ir_dtype to) {
    const struct ir_dtype_info *a = ir_dtype_get(from), *b = ir_dtype_get(to);
    enum kir_type t = kir_type_of(to);
    bool narrow = b->cls == IR_FLOAT && b->fp != FP_F32 && b->fp != FP_F64;
    if (from == to)
        return x;
    if (narrow) { /* from a type that holds the value exactly, so that it is rounded once */
        bool wide = from == IR_F64_T || (a->cls != IR_FLOAT && a->bits > 16);
        kir_val y = a->cls == IR_FLOAT ? x : kir_typed(l->k, KIR_CONVERT, lower_sign(from), wide ? KIR_F64 : KIR_F32, x);
        y = kir_imm(l->k, KIR_ROUND, 0, b->fp, y);
        return wide ? kir_typed(l->k, KIR_CONVERT, 0, KIR_F32, y) : y;
    }
    if (a->cls == IR_FLOAT && b->bits < 8 && b->cls != IR_PRED) { /* saturates to less than a byte */
        enum kir_type f = kir_type(l->k, x);
        double low = b->cls == IR_UINT ? 0 : -(double)(1 << (b->bits - 1));
        double high = b->cls == IR_UINT ? (1 << b->bits) - 1 : (1 << (b->bits - 1)) - 1;
        x = op2(l, KIR_MIN, op2(l, KIR_MAX, x, kir_float(l->k, f, low)), kir_float(l->k, f, high));
    }
    unsigned u = a->cls == IR_FLOAT ? lower_sign(to) : lower_sign(from);
    kir_val y = kir_typed(l->k, KIR_CONVERT, u, t, x);
    return lower_round(l, to, real(y)).re;
}

struct elem elem_convert(struct lower *l, ir_op op, uint32_t what, const struct index *at) {
    enum ir_dtype from = dtype_of(l, ir_operand(l->m, op, 0)), to = result_dtype(l, op);
    struct elem x = lower_operand(l, op, 0, at);
    (void)what;
    enum ir_dtype a = ir_dtype_part(from), b = ir_dtype_part(to);
    struct elem y = {convert(l, x.re, a, b), {0}};
    if (lower_is_complex(to))
        y.im = x.im.i ? convert(l, x.im, a, b) : kir_float(l->k, kir_type_of(b), 0);
    return y;
}

/* An element of less than a byte, extracted from the 32-bit word that holds it. */
static bool bitcast_word(struct lower *l, ir_op op, const struct index *at, kir_val which, struct elem *out) {
    ir_val v = ir_operand(l->m, op, 0), r = ir_result(l->m, op, 0);
    const struct ir_type_data *t = ir_val_type(l->m, v);
    const struct ir_dtype_info *part = ir_dtype_get(ir_val_type(l->m, r)->dtype);
    uint32_t buffer = lower_word_param(l, v);
    if (buffer == LOWER_NO_PARAM || l->guard.i)
        return false;
    int64_t parts = ir_dtype_get(t->dtype)->bits / part->bits, in_word = 32 / part->bits;
    kir_val i = lower_add(l, lower_mul(l, lower_linear(l, t->dims, t->rank, at), parts), which);
    kir_val word = kir_load(l->k, buffer, lower_div(l, i, in_word));
    kir_val by = kir_typed(l->k, KIR_CONVERT, 0, KIR_I32, lower_mul(l, lower_rem(l, i, in_word), part->bits));
    kir_val x = kir_imm(l->k, KIR_EXT, lower_sign(ir_val_type(l->m, r)->dtype), part->bits,
                        kir_op2(l->k, KIR_SHR, KIR_U, word, by));
    *out = real(kir_typed(l->k, KIR_CONVERT, 0, kir_type_of(ir_val_type(l->m, r)->dtype), x));
    return true;
}

/* Bitcast to narrower integers: the last dimension of the result selects the part, lowest bits first. */
static struct elem bitcast_part(struct lower *l, ir_op op, const struct index *at) {
    const struct ir_type_data *r = ir_val_type(l->m, ir_result(l->m, op, 0));
    const struct ir_dtype_info *part = ir_dtype_get(r->dtype);
    struct index i = *at;
    if (at->flat) {
        i = (struct index){.n = r->rank};
        lower_unflatten(l, at->at[0], r->dims, r->rank, i.at);
    }
    kir_val which = i.at[--i.n];
    struct elem e = {{0}, {0}};
    if (part->bits <= l->word_bits && part->bits < 8 && bitcast_word(l, op, &i, which, &e))
        return e;
    kir_val x = lower_value(l, ir_operand(l->m, op, 0), &i).re;
    kir_val bits = lower_mul(l, which, part->bits);
    x = kir_op2(l->k, KIR_SHR, KIR_U, x, kir_typed(l->k, KIR_CONVERT, 0, kir_type(l->k, x), bits));
    if (kir_type(l->k, x) != kir_type_of(r->dtype))
        x = kir_typed(l->k, KIR_CONVERT, 0, kir_type_of(r->dtype), x);
    return lower_round(l, r->dtype, real(x));
}

struct elem elem_bitcast(struct lower *l, ir_op op, uint32_t what, const struct index *at) {
    (void)what;
    if (ir_val_type(l->m, ir_result(l->m, op, 0))->rank > ir_val_type(l->m, ir_operand(l->m, op, 0))->rank)
        return bitcast_part(l, op, at);
    kir_val x = lower_operand(l, op, 0, at).re;
    enum kir_type t = kir_type_of(result_dtype(l, op));
    return real(kir_type(l->k, x) == t ? x : kir_typed(l->k, KIR_BITCAST, 0, t, x));
}

/* ---- supported ops ---------------------------------------------------------------------- */

static bool is_plain(const struct ir_module *m, ir_val v) {
    const struct ir_type_data *t = ir_val_type(m, v);
    size_t n;
    return t->kind == IR_TYPE_TENSOR && !t->quant && t->dtype != IR_TF32_T && t->dtype != IR_INDEX_T && ir_type_bytes(t, &n);
}

/* Whether a region is one block of scalar elementwise ops. */
static bool plain_region(const struct ir_module *m, ir_region r) {
    ir_block b = ir_region_get(m, r)->first;
    if (IR_NONE(b) || !IR_NONE(ir_block_get(m, b)->next))
        return false;
    for (ir_op op = ir_block_get(m, b)->first; !IR_NONE(op); op = ir_op_get(m, op)->next) {
        if (ir_op_has(ir_kind(m, op), IR_T_TERMINATOR))
            return true;
        if (fuse_class(ir_kind(m, op)) != FUSE_ELEMENT && !ir_op_has(ir_kind(m, op), IR_T_CONSTANT))
            return false;
        if (!lower_supports(m, op) || ir_val_type(m, ir_result(m, op, 0))->rank)
            return false;
    }
    return false;
}

typedef bool supports_fn(const struct ir_module *m, ir_op op);

static enum ir_dtype operand_dtype(const struct ir_module *m, ir_op op) {
    return ir_val_type(m, ir_operand(m, op, 0))->dtype;
}

static bool supports_alu(const struct ir_module *m, ir_op op) {
    enum ir_op_kind kind = ir_kind(m, op);
    enum ir_dtype t = operand_dtype(m, op);
    bool ring = kind == IR_ADD || kind == IR_SUBTRACT || kind == IR_MULTIPLY || kind == IR_NEGATE;
    if (lower_is_complex(t))
        return ring;
    if (ir_dtype_get(t)->cls != IR_FLOAT && ir_dtype_get(t)->bits < 8 && t != IR_I1_T)
        return ring || ir_op_has(kind, IR_T_ASSOCIATIVE);
    return true;
}

static bool supports_fun(const struct ir_module *m, ir_op op) {
    enum ir_dtype t = operand_dtype(m, op);
    if (ir_kind(m, op) == IR_NEXT_AFTER && t != IR_F32_T && t != IR_F64_T)
        return false; /* depends on the format */
    return is_float(t) && kir_math_known((enum kir_math)lower_function(ir_kind(m, op)), kir_type_of(t));
}

static bool is_integer(enum ir_dtype t) {
    return ir_dtype_get(t)->cls == IR_SINT || ir_dtype_get(t)->cls == IR_UINT;
}

/* Between types of equal width that KIR has, and from integers to narrower integers. */
static bool supports_bitcast(const struct ir_module *m, ir_op op) {
    enum ir_dtype from = operand_dtype(m, op), to = ir_val_type(m, ir_result(m, op, 0))->dtype;
    uint32_t a = ir_dtype_get(from)->bits, b = ir_dtype_get(to)->bits;
    if (is_integer(from) && is_integer(to) && a >= 8 && b < a)
        return true;
    return kir_type_of(from) && kir_type_of(to) && a == b && a >= 8 && a == kir_type_bits(kir_type_of(from)) &&
           b == kir_type_bits(kir_type_of(to));
}

static bool supports_reduce_precision(const struct ir_module *m, ir_op op) { /* to bf16, tf32 */
    int64_t mantissa = ir_prop_i64(m, op, IR_REDUCE_PRECISION_mantissa_bits);
    return operand_dtype(m, op) == IR_F32_T && ir_prop_i64(m, op, IR_REDUCE_PRECISION_exponent_bits) == 8 &&
           (mantissa == 7 || mantissa == 10);
}

static bool supports_sign(const struct ir_module *m, ir_op op) {
    return !lower_is_complex(operand_dtype(m, op)) && ir_dtype_get(operand_dtype(m, op))->cls != IR_UINT;
}

static bool supports_map(const struct ir_module *m, ir_op op) {
    return ir_op_get(m, op)->noperands <= 64 && plain_region(m, ir_op_region(m, op, 0));
}

static bool supports_compare(const struct ir_module *m, ir_op op) {
    return !lower_is_complex(operand_dtype(m, op)) ||
           ir_prop_i64(m, op, IR_COMPARE_comparison_direction) <= IR_COMPARISON_DIRECTION_NE;
}

static bool supports_clamp(const struct ir_module *m, ir_op op) {
    return !lower_is_complex(operand_dtype(m, op));
}

/* Windows of one operand. Large ones, of which neighbours share most of their work, are left to routines. */
static bool supports_reduce_window(const struct ir_module *m, ir_op op) {
    enum { MOST = 64 };
    size_t n;
    const int64_t *size = ir_prop_i64s(m, op, IR_REDUCE_WINDOW_window_dimensions, &n);
    ir_val x = ir_operand(m, op, 0), r = ir_result(m, op, 0);
    int64_t taps = 1;
    if (ir_op_get(m, op)->nresults != 1 || !plain_region(m, ir_op_region(m, op, 0)) || ir_val_count(m, x) == 0)
        return false;
    for (size_t i = 0; i < n; i++) {
        bool running = size[i] > 1 && size[i] >= ir_val_type(m, x)->dims[i] && ir_val_type(m, r)->dims[i] > 1;
        if (running || size[i] < 1 || size[i] > MOST || (taps *= size[i]) > MOST)
            return false;
    }
    return ir_val_type(m, x)->dtype == ir_val_type(m, r)->dtype;
}

static bool supports_convert(const struct ir_module *m, ir_op op) {
    return !(lower_is_complex(operand_dtype(m, op)) && ir_val_type(m, ir_result(m, op, 0))->dtype == IR_I1_T);
}

#define ALU(x) supports_alu
#define FUN(x) supports_fun
#define ELT_IF(x) supports_##x
#define ELT(x) NULL
#define MOVE(x) NULL
#define WINDOW(x) supports_##x
#define AS(x) NULL
#define REDUCTION NULL
#define CONTRACTION NULL
#define UPDATE NULL
#define FLOW NULL
#define NONE NULL
/* Of ops computed element by element; NULL = always. */
static supports_fn *const supports[] = {
#define OP(id, name, form, operands, results, regions, traits, cost, rule, eval, lower, local, sharding) [IR_##id] = lower,
#include "ir/ops.def"
};

static bool supports_element(const struct ir_module *m, ir_op op) {
    supports_fn *fn = supports[ir_kind(m, op)];
    return !fn || fn(m, op);
}

static bool supports_reduction(const struct ir_module *m, ir_op op) {
    return ir_op_get(m, op)->nresults <= LOWER_RESULTS && (lower_reducer(m, op) || plain_region(m, ir_op_region(m, op, 0)));
}

/* Kernels multiply real numbers: f64 and wide integers in their own type, others in f32 or i32. */
static bool supports_contraction(const struct ir_module *m, ir_op op) {
    enum ir_dtype a = ir_val_type(m, ir_operand(m, op, 0))->dtype, b = ir_val_type(m, ir_operand(m, op, 1))->dtype;
    if (lower_is_complex(a) || lower_is_complex(b) || a == IR_I1_T || b == IR_I1_T)
        return false;
    if (ir_kind(m, op) == IR_DOT_GENERAL && !IR_NONE(ir_prop(m, op, IR_DOT_GENERAL_algorithm)))
        return false; /* opt/numerics.c writes it out */
    return ir_val_count(m, ir_operand(m, op, 0)) && ir_val_count(m, ir_operand(m, op, 1));
}

bool lower_supports(const struct ir_module *m, ir_op op) {
    const struct ir_op_data *x = ir_op_get(m, op);
    enum fuse_class cls = fuse_class((enum ir_op_kind)x->kind);
    if (cls == FUSE_NONE || cls == FUSE_FLOW)
        return false;
    for (uint32_t i = 0; i < x->noperands; i++)
        if (!is_plain(m, x->operands[i]))
            return false;
    for (uint32_t i = 0; i < x->nresults; i++)
        if (!is_plain(m, ir_result(m, op, i)))
            return false;
    switch (cls) {
    case FUSE_ELEMENT:
        return supports_element(m, op);
    case FUSE_WINDOW:
        return supports_element(m, op);
    case FUSE_REDUCTION:
        return supports_reduction(m, op);
    case FUSE_CONTRACTION:
        return supports_contraction(m, op);
    default:
        return (x->kind != IR_GATHER && x->kind != IR_DYNAMIC_SLICE) || ir_val_count(m, x->operands[0]);
    }
}
