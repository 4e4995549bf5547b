/* Every op on every type, in lanes and alone, by the interpreter's results. */
#include "harness.h"

#include <math.h>

/* The element type whose values are of a type. */
static enum ir_dtype memory_of(enum kir_type t) {
    static const enum ir_dtype types[] = {
        [KIR_I1] = IR_I1_T,   [KIR_I8] = IR_I8_T,   [KIR_I16] = IR_I16_T, [KIR_I32] = IR_I32_T,
        [KIR_I64] = IR_I64_T, [KIR_F32] = IR_F32_T, [KIR_F64] = IR_F64_T};
    return types[t];
}

/* One op with two results: of lanes (extent no multiple of the width), and of scalars. Constant operands on request. */
static void one_op(struct harness_batch *batch, const struct kir_node *op, enum kir_type from, int constant, int64_t value) {
    enum { N = 53, WIDTH = 16 };
    struct kir *k = harness_new(batch);
    uint32_t in[3], out[2];
    int nargs = op->op == KIR_MATH ? 0 : kir_op_get((enum kir_op)op->op)->nargs;
    for (int i = 0; i < 3; i++)
        in[i] = kir_param(k, KIR_IN, memory_of(op->op == KIR_SELECT && i == 0       ? KIR_I1
                                               : op->op == KIR_DOT2_BF16 && i == 2 ? KIR_F32
                                                                                   : from), N);
    for (int i = 0; i < 2; i++)
        out[i] = kir_param(k, KIR_OUT, memory_of((enum kir_type)op->type), N);
    for (int i = 0; i < 2; i++) {
        kir_val at = kir_loop(k, i ? KIR_SERIAL : KIR_VECTOR, N, i ? 0 : WIDTH);
        struct kir_node n = *op;
        for (int j = 0; j < nargs; j++) {
            n.arg[j] = kir_load(k, in[j], at);
            if (op->op == KIR_DOT2_BF16 && j < 2) /* 2^-31 at least: units may count subnormals as zero */
                n.arg[j] = kir_op2(k, KIR_OR, 0, n.arg[j], kir_int(k, KIR_I32, 0x30003000));
        }
        if (constant >= 0 && constant < nargs)
            n.arg[constant] = kir_is_float(from)
                                  ? kir_float(k, from, fp_decode(from == KIR_F32 ? FP_F32 : FP_F64, (uint64_t)value))
                                  : kir_int(k, from, value);
        kir_store(k, out[i], at, kir_pure(k, &n));
        kir_close(k);
    }
    if (batch->n == RIG_KERNELS)
        harness_flush(batch, NULL);
}

static bool applies(enum kir_op op, enum kir_type t) {
    bool f = kir_is_float(t), b = t == KIR_I1;
    switch (op) {
    case KIR_FMA:
    case KIR_SQRT:
    case KIR_FLOOR:
    case KIR_CEIL:
    case KIR_TRUNC:
    case KIR_RINT:
    case KIR_COPYSIGN:
        return f;
    case KIR_AND:
    case KIR_OR:
    case KIR_XOR:
    case KIR_NOT:
        return !f;
    case KIR_SHL:
    case KIR_SHR:
    case KIR_MULHI:
    case KIR_CLZ:
    case KIR_POPCNT:
        return !f && !b;
    case KIR_DOT2:
    case KIR_DOT4:
    case KIR_DOT2_I8:
    case KIR_DOT2_BF16:
        return t == KIR_I32;
    case KIR_ADD:
    case KIR_MUL:
    case KIR_MIN:
    case KIR_MAX:
        return true;
    case KIR_SUB:
    case KIR_DIV:
    case KIR_REM:
    case KIR_NEG:
    case KIR_ABS:
        return !b;
    default:
        return false;
    }
}

static void test_arithmetic(void **state) {
    (void)state;
    struct harness_batch batch = {.n = 0}, fma = {.n = 0};
    for (int op = KIR_ADD; op < KIR_OP_COUNT; op++)
        for (int t = KIR_I1; t <= KIR_F64; t++)
            for (unsigned flags = 0; flags < (kir_is_float((enum kir_type)t) ? 1 : 2); flags++) {
                struct kir_node n = {.op = (uint8_t)op, .type = (uint8_t)t, .flags = (uint8_t)flags};
                if (op == KIR_DOT2_BF16)
                    n.type = KIR_F32;
                if (applies((enum kir_op)op, (enum kir_type)t))
                    one_op(op == KIR_FMA ? &fma : &batch, &n, (enum kir_type)t, -1, 0);
            }
    harness_flush(&batch, NULL);
    harness_flush(&fma, NULL);
}

/* Ops for which a constant operand makes other code. */
static void test_constants(void **state) {
    (void)state;
    static const uint8_t ops[] = {KIR_DIV, KIR_REM, KIR_SHL, KIR_SHR, KIR_MIN, KIR_MAX};
    static const int64_t ints[] = {0, 1, -1, 2, 7, -7, 31, 100, -128};
    static const double floats[] = {0.0, -0.0, 1.5, -2, (double)INFINITY, -(double)INFINITY, (double)NAN};
    struct harness_batch batch = {.n = 0};
    for (size_t j = 0; j < sizeof ops; j++)
        for (int t = KIR_I8; t <= KIR_F64; t++)
            for (unsigned i = 0; i < (t < KIR_F32 ? 9 : 7); i++) {
                bool is_float = t >= KIR_F32, extreme = ops[j] == KIR_MIN || ops[j] == KIR_MAX;
                struct kir_node n = {.op = ops[j], .type = (uint8_t)t, .flags = i & 1 && !is_float ? KIR_U : 0};
                enum fp_kind f = t == KIR_F32 ? FP_F32 : FP_F64;
                if (!applies((enum kir_op)ops[j], (enum kir_type)t) || extreme != is_float)
                    continue;
                int64_t value = is_float ? (int64_t)fp_encode(f, floats[i]) : ints[i];
                one_op(&batch, &n, (enum kir_type)t, 1, value);
                if (extreme)
                    one_op(&batch, &n, (enum kir_type)t, 0, value);
            }
    harness_flush(&batch, NULL);
}

static void test_conversions(void **state) {
    (void)state;
    struct harness_batch batch = {.n = 0};
    for (int from = KIR_I1; from <= KIR_F64; from++)
        for (int to = KIR_I1; to <= KIR_F64; to++)
            for (unsigned flags = 0; flags < 2; flags++) {
                struct kir_node n = {.op = KIR_CONVERT, .type = (uint8_t)to, .flags = (uint8_t)flags};
                if (from != to)
                    one_op(&batch, &n, (enum kir_type)from, -1, 0);
                n = (struct kir_node){.op = KIR_BITCAST, .type = (uint8_t)to};
                if (from != to && !flags && kir_type_bits((enum kir_type)from) == kir_type_bits((enum kir_type)to))
                    one_op(&batch, &n, (enum kir_type)from, -1, 0);
            }
    harness_flush(&batch, NULL);
}

static void test_choices(void **state) {
    (void)state;
    struct harness_batch batch = {.n = 0};
    for (int t = KIR_I1; t <= KIR_F64; t++) {
        struct kir_node select = {.op = KIR_SELECT, .type = (uint8_t)t};
        one_op(&batch, &select, (enum kir_type)t, -1, 0);
        for (uint8_t cmp = KIR_EQ; cmp <= KIR_GE; cmp++)
            for (unsigned flags = 0; flags < 2; flags++) {
                struct kir_node n = {.op = KIR_CMP, .type = KIR_I1, .sub = cmp, .flags = (uint8_t)flags};
                one_op(&batch, &n, (enum kir_type)t, -1, 0);
            }
    }
    for (int64_t bits = 1; bits < 8; bits++)
        for (unsigned flags = 0; flags < 2; flags++) {
            struct kir_node n = {.op = KIR_EXT, .type = KIR_I8, .flags = (uint8_t)flags, .imm = bits};
            one_op(&batch, &n, KIR_I8, -1, 0);
        }
    harness_flush(&batch, NULL);
}

static void test_rounding(void **state) {
    (void)state;
    struct harness_batch batch = {.n = 0};
    for (int f = 0; f < FP_COUNT; f++)
        for (int t = KIR_F32; t <= KIR_F64; t++) {
            struct kir_node n = {.op = KIR_ROUND, .type = (uint8_t)t, .imm = f};
            one_op(&batch, &n, (enum kir_type)t, -1, 0);
        }
    harness_flush(&batch, NULL);
}

/* Loads and stores of every element type; of floats also what was rounded before. */
static void test_elements(void **state) {
    (void)state;
    enum { N = 777, WIDTH = 32 };
    struct harness_batch batch = {.n = 0};
    for (enum ir_dtype t = IR_I1_T; t <= IR_F64_T; t++)
        for (int rounded = 0; rounded < 2; rounded++) {
            const struct ir_dtype_info *info = ir_dtype_get(t);
            bool narrow = info->cls == IR_FLOAT && info->bits < 32;
            enum kir_type type = kir_type_of(t);
            if (rounded && !narrow)
                continue;
            struct kir *k = harness_new(&batch);
            uint32_t in = kir_param(k, KIR_IN, t, N), wide = kir_param(k, KIR_IN, memory_of(type), N);
            uint32_t value[2], code[2];
            for (int i = 0; i < 2; i++) {
                value[i] = kir_param(k, KIR_OUT, memory_of(type), N);
                code[i] = kir_param(k, KIR_OUT, t, N);
            }
            for (int i = 0; i < 2; i++) {
                kir_val at = kir_loop(k, i ? KIR_SERIAL : KIR_VECTOR, N, i ? 0 : WIDTH), x = kir_load(k, wide, at);
                kir_store(k, value[i], at, kir_load(k, in, at));
                kir_store(k, code[i], at, rounded ? kir_imm(k, KIR_ROUND, 0, info->fp, x) : x);
                kir_close(k);
            }
        }
    harness_flush(&batch, NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_arithmetic), cmocka_unit_test(test_constants), cmocka_unit_test(test_conversions),
        cmocka_unit_test(test_choices),    cmocka_unit_test(test_rounding),  cmocka_unit_test(test_elements),
    };
    return setjmp(harness_memory) ? 1 : cmocka_run_group_tests(tests, NULL, NULL);
}
