/* Random expressions, built twice: by the builder, which folds, moves and shares, and node for node. Both must compute the
 * same. Index arithmetic is favoured: sums and products of loop indices with constants, divided again. */
#include "kir/node.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdio.h>

enum { KERNELS = 3000, VALUES = 60, STORES = 12, CELLS = 4 * 6 * 9 };

static uint64_t state = 1;
static uint64_t next(void) {
    uint64_t z = state += 0x9E3779B97F4A7C15;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9;
    z = (z ^ z >> 27) * 0x94D049BB133111EB;
    return z ^ z >> 31;
}
static uint32_t below(uint32_t n) { return (uint32_t)(next() % n); }

/* The same kernel twice. */
struct twins {
    struct kir *k[2]; /* built; literal */
    jmp_buf recover;
    kir_val v[VALUES][2];
    uint32_t n;
};

static enum kir_type type_of(const struct twins *t, uint32_t i) { return kir_type(t->k[0], t->v[i][0]); }

static void add_value(struct twins *t, kir_val a, kir_val b) {
    t->v[t->n][0] = a;
    t->v[t->n++][1] = b;
}

/* A value of a type that exists already; any type when it is KIR_VOID. */
static uint32_t pick(const struct twins *t, enum kir_type type) {
    for (;;) {
        uint32_t i = below(4) ? t->n - 1 - below(t->n < 20 ? t->n : 20) : below(t->n);
        if (type == KIR_VOID || type_of(t, i) == type)
            return i;
    }
}

static int64_t random_int(void) {
    static const int64_t edges[] = {0,  1,  -1, 2,  3,  4,         6,         8,         9,        12,
                                    16, 24, 54, 63, 64, INT32_MAX, INT32_MIN, INT64_MAX, INT64_MIN};
    return below(8) ? edges[below(14)] : edges[below(sizeof edges / sizeof *edges)];
}

static void add_constant(struct twins *t) {
    enum kir_type type = (enum kir_type[]){KIR_I64, KIR_I64, KIR_I64, KIR_I32, KIR_I8, KIR_I1, KIR_F32, KIR_F64}[below(8)];
    static const double reals[] = {0, -0.0, 1, -1, 2, 0.5, 3e9, -1e30};
    double x = reals[below(8)];
    int64_t i = random_int();
    kir_val v[2];
    for (int s = 0; s < 2; s++)
        v[s] = kir_is_float(type) ? kir_float(t->k[s], type, x) : kir_int(t->k[s], type, i);
    add_value(t, v[0], v[1]);
}

/* A pure op on values that exist; both built through the same node. */
static void add_op(struct twins *t) {
    static const uint8_t index_ops[] = {KIR_ADD, KIR_ADD, KIR_ADD, KIR_MUL, KIR_SUB,
                                        KIR_DIV, KIR_REM, KIR_MIN, KIR_MAX, KIR_CMP};
    struct kir_node n = {0}, m;
    bool index = below(3) != 0;
    uint32_t a = pick(t, index ? KIR_I64 : KIR_VOID), b, c = 0;
    do
        n.op = index ? index_ops[below(sizeof index_ops)] : (uint8_t)(KIR_ADD + below(KIR_ROUND - KIR_ADD));
    while (n.op == KIR_ANY);
    if (n.op == KIR_SELECT) {
        c = pick(t, KIR_VOID);
        b = a;
        a = pick(t, KIR_I1);
        c = pick(t, type_of(t, b));
    } else {
        b = pick(t, type_of(t, a));
        bool adds = n.op == KIR_FMA || n.op == KIR_DOT4 || n.op == KIR_DOT2_I8;
        c = n.op == KIR_DOT2_BF16 ? pick(t, KIR_F32) : adds ? pick(t, type_of(t, a)) : 0;
    }
    int nargs = kir_op_get((enum kir_op)n.op)->nargs;
    n.type = (uint8_t)(n.op == KIR_DOT2_BF16 ? KIR_F32 : type_of(t, n.op == KIR_SELECT ? b : a));
    if (n.op == KIR_CMP)
        n.type = KIR_I1, n.sub = (uint8_t)below(6);
    if (n.op == KIR_CONVERT)
        n.type = (uint8_t)(KIR_I1 + below(7));
    if (n.op == KIR_BITCAST)
        n.type = (uint8_t)(n.type == KIR_F32 ? KIR_I32 : n.type == KIR_F64 ? KIR_I64 : n.type == KIR_I32 ? KIR_F32 : n.type);
    n.imm = n.op == KIR_EXT ? 1 + below(kir_type_bits((enum kir_type)n.type)) : 0;
    n.flags = below(4) == 0 ? KIR_U : 0;
    m = n;
    for (int i = 0; i < nargs; i++) {
        uint32_t arg = i == 0 ? a : i == 1 ? b : c;
        n.arg[i] = t->v[arg][0];
        m.arg[i] = t->v[arg][1];
    }
    if (kir_flaw(t->k[1], &m))
        return;
    assert_null(kir_flaw(t->k[0], &n));
    kir_val folded = kir_pure(t->k[0], &n);
    add_value(t, folded, kir_put(t->k[1], t->k[1]->at, &m));
}

static void build(struct twins *t) {
    kir_val index[2][3], first[2];
    uint32_t in[3], out = 0;
    t->n = 0;
    int64_t dynamic = below(2);
    for (int s = 0; s < 2; s++) {
        struct kir *k = t->k[s] = kir_new(s ? "literal" : "built", mem_system_allocator(), &t->recover);
        assert_non_null(k);
        in[0] = kir_param(k, KIR_IN, IR_I64_T, 16);
        in[1] = kir_param(k, KIR_IN, IR_F32_T, 16);
        in[2] = kir_param(k, KIR_IN, IR_I8_T, 16);
        for (int o = 0; o < STORES; o++)
            out = kir_param(k, KIR_OUT, IR_F64_T, CELLS);
        first[s] = kir_load(k, in[0], kir_i64(k, 0));
        index[s][0] = kir_loop(k, KIR_GRID, 4, 0);
        index[s][1] = dynamic ? kir_loop_to(k, KIR_SERIAL, kir_op2(k, KIR_MIN, 0, first[s], kir_i64(k, 6)), 0)
                              : kir_loop(k, KIR_SERIAL, 6, 0);
        index[s][2] = kir_loop(k, KIR_VECTOR, 9, 4);
    }
    add_value(t, first[0], first[1]);
    for (int i = 0; i < 3; i++)
        add_value(t, index[0][i], index[1][i]);
    for (int i = 0; i < 3; i++)
        add_value(t, kir_load(t->k[0], in[i], index[0][i]), kir_load(t->k[1], in[i], index[1][i]));
    add_value(t, kir_int(t->k[0], KIR_I1, 1), kir_int(t->k[1], KIR_I1, 1));
    while (t->n < VALUES)
        if (below(5) == 0)
            add_constant(t);
        else
            add_op(t);
    uint32_t stored[STORES];
    for (int o = 0; o < STORES; o++)
        stored[o] = t->n - 1 - below(VALUES - 8);
    for (int s = 0; s < 2; s++) {
        struct kir *k = t->k[s];
        kir_val row = kir_op2(k, KIR_ADD, 0, kir_op2(k, KIR_MUL, 0, index[s][0], kir_i64(k, 6)), index[s][1]);
        kir_val cell = kir_op2(k, KIR_ADD, 0, kir_op2(k, KIR_MUL, 0, row, kir_i64(k, 9)), index[s][2]);
        for (int o = 0; o < STORES; o++) {
            kir_val v = t->v[stored[o]][s];
            if (kir_type(k, v) == KIR_I64) /* its low bits, exactly */
                v = kir_typed(k, KIR_CONVERT, 0, KIR_I32, v);
            if (kir_type(k, v) != KIR_F64)
                v = kir_typed(k, KIR_CONVERT, 0, KIR_F64, v);
            kir_store(k, out - STORES + 1 + (uint32_t)o, cell, v);
        }
        for (int i = 0; i < 3; i++)
            kir_close(k);
    }
}

static void explain(const struct twins *t, const char *what) {
    struct strbuf text;
    strbuf_init(&text, mem_system_allocator());
    for (int s = 0; s < 2; s++)
        kir_print(t->k[s], &text);
    fail_msg("%s\n%s", what, text.p);
}

static void run(struct twins *t) {
    int64_t ints[16];
    float floats[16];
    int8_t bytes[16];
    static double out[2][STORES][CELLS];
    for (int i = 0; i < 16; i++) {
        ints[i] = i ? random_int() : below(9);
        floats[i] = (float)((double)below(2001) / 100 - 10);
        bytes[i] = (int8_t)next();
    }
    memset(out, 0, sizeof out);
    for (int s = 0; s < 2; s++) {
        void *buffers[3 + STORES] = {ints, floats, bytes};
        struct diag_list d;
        diag_init(&d, mem_system_allocator());
        for (int o = 0; o < STORES; o++)
            buffers[3 + o] = out[s][o];
        if (kir_verify(t->k[s], &d) != HILO_OK || !kir_run(t->k[s], buffers, NULL, 0, 4, &d))
            explain(t, d.first->message);
        diag_clear(&d);
    }
    for (int o = 0; o < STORES; o++)
        for (int i = 0; i < CELLS; i++) {
            char what[96];
            double x = out[0][o][i], y = out[1][o][i];
            if (memcmp(&x, &y, 8) == 0 || (x != x && y != y))
                continue;
            snprintf(what, sizeof what, "b%d[%d]: %.17g built, %.17g literally", 3 + o, i, x, y);
            explain(t, what);
        }
}

static void test_expressions(void **unused) {
    (void)unused;
    for (uint32_t i = 0; i < KERNELS; i++) {
        static struct twins t;
        state = i;
        build(&t);
        run(&t);
        kir_fold(t.k[1]);
        run(&t);
        kir_clean(t.k[0]);
        kir_clean(t.k[1]);
        run(&t);
        kir_free(t.k[0]);
        kir_free(t.k[1]);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_expressions)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
