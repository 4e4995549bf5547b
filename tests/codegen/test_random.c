/* Random kernels: values before the grid, all ways of indexing, nested loops, branches, guards, registers, reductions, tails of
 * every length. */
#include "harness.h"

enum { ROW = 70, ROWS = 3, N = 2 * ROW * ROWS + 8, POOL = 24 };

struct gen {
    struct kir *k;
    kir_val pool[KIR_TYPE_COUNT][POOL]; /* values that exist here */
    uint32_t n[KIR_TYPE_COUNT];
    uint32_t in[4], index, out[3];
    kir_val row, i;  /* base of this row of the grid; the loop's index */
    kir_val regs[4]; /* outside of the vector loop */
    uint32_t nregs;
    enum kir_type type[4];
    uint8_t acc[4]; /* how each is accumulated */
    bool vector;    /* in the vector loop, or in one like it of single lanes */
};

static enum ir_dtype any_dtype(void) {
    return (enum ir_dtype)(IR_I1_T + (int)harness_below(IR_F64_T - IR_I1_T + 1));
}
static enum kir_type any_type(void) {
    return (enum kir_type)(KIR_I1 + (int)harness_below(7));
}

static void add(struct gen *g, kir_val v) {
    enum kir_type t = kir_type(g->k, v);
    g->pool[t][g->n[t] < POOL ? g->n[t]++ : harness_below(POOL)] = v;
}

static kir_val any(struct gen *g, enum kir_type t) {
    if (g->n[t] && harness_below(8))
        return g->pool[t][harness_below(g->n[t])];
    return kir_is_float(t) ? kir_float(g->k, t, ((double)harness_below(64) - 32) / 8)
                           : kir_int(g->k, t, (int64_t)harness_below(200) - 100);
}

static kir_val any_index(struct gen *g) {
    struct kir *k = g->k;
    kir_val at = kir_op2(k, KIR_ADD, 0, g->row, g->i);
    switch (harness_below(7)) {
    case 0:
        return kir_op2(k, KIR_ADD, 0, at, kir_i64(k, harness_below(8)));
    case 1:
        return kir_op2(k, KIR_ADD, 0, kir_op2(k, KIR_MUL, 0, at, kir_i64(k, 2)), kir_i64(k, harness_below(2)));
    case 2:
        return kir_op2(k, KIR_SUB, 0, kir_i64(k, N - 1), at);
    case 3:
        return g->row;
    case 4:
        return kir_typed(k, KIR_CONVERT, KIR_U, KIR_I64, kir_load(k, g->index, at));
    default:
        return at;
    }
}

static kir_val any_load(struct gen *g) {
    struct kir *k = g->k;
    uint32_t b = g->in[harness_below(4)];
    enum kir_type t = kir_type_of(k->buffers.v[b].dtype);
    if (harness_below(8) == 0)
        return kir_load(k, g->out[0], kir_op2(k, KIR_ADD, 0, g->row, g->i));
    if (harness_below(3))
        return kir_load(k, b, any_index(g));
    kir_val far = kir_op2(k, KIR_SUB, 0, any_index(g), kir_i64(k, harness_below(ROW))); /* may be outside: then not read */
    kir_val inside = kir_op2(k, KIR_AND, 0, kir_cmp(k, KIR_GE, 0, far, kir_i64(k, 0)), any(g, KIR_I1));
    return kir_load_if(k, b, far, inside, any(g, t));
}

static kir_val any_value(struct gen *g) {
    static const uint8_t ints[] = {KIR_ADD, KIR_SUB, KIR_MUL, KIR_DIV, KIR_REM, KIR_MIN,  KIR_MAX,
                                   KIR_AND, KIR_OR,  KIR_XOR, KIR_SHL, KIR_SHR, KIR_MULHI};
    static const uint8_t floats[] = {KIR_ADD, KIR_SUB, KIR_MUL, KIR_DIV, KIR_MIN, KIR_MAX, KIR_COPYSIGN};
    static const uint8_t ones[] = {KIR_NEG, KIR_ABS, KIR_SQRT, KIR_FLOOR, KIR_RINT};
    struct kir *k = g->k;
    enum kir_type t = any_type(), from = any_type();
    unsigned u = harness_below(2);
    switch (harness_below(6)) {
    case 0:
        return any_load(g);
    case 1:
        return kir_cmp(k, (enum kir_cmp)harness_below(6), u, any(g, t), any(g, t));
    case 2:
        return kir_select(k, any(g, KIR_I1), any(g, t), any(g, t));
    case 3:
        return from == t ? any(g, t) : kir_typed(k, KIR_CONVERT, u, t, any(g, from));
    default:
        break;
    }
    if (t == KIR_I1)
        return kir_op2(k, (enum kir_op[]){KIR_AND, KIR_OR, KIR_XOR}[harness_below(3)], 0, any(g, t), any(g, t));
    if (!kir_is_float(t))
        return kir_op2(k, (enum kir_op)ints[harness_below(13)], u, any(g, t), any(g, t));
    if (harness_below(4) == 0)
        return kir_op1(k, (enum kir_op)ones[harness_below(5)], any(g, t));
    if (t == KIR_F32 && harness_below(4) == 0)
        return kir_fma(k, any(g, t), any(g, t), any(g, t));
    return kir_op2(k, (enum kir_op)floats[harness_below(7)], 0, any(g, t), any(g, t));
}

/* Values that are the same in all iterations of the grid. */
static void before_grid(struct gen *g) {
    for (uint32_t n = harness_below(8); n > 0; n--) {
        enum kir_type t = any_type();
        uint32_t b = g->in[harness_below(4)];
        add(g, kir_load(g->k, b, kir_i64(g->k, harness_below(N))));
        if (t != KIR_I1 && !kir_is_float(t))
            add(g, kir_op2(g->k, harness_below(2) ? KIR_DIV : KIR_REM, harness_below(2), any(g, t), any(g, t)));
    }
}

static void any_store(struct gen *g) {
    struct kir *k = g->k;
    uint32_t which = harness_below(3), b = g->out[which];
    kir_val at = kir_op2(k, KIR_ADD, 0, g->row, g->i), v = any(g, kir_type_of(k->buffers.v[b].dtype));
    if (which == 1)
        at = kir_op2(k, KIR_ADD, 0, kir_op2(k, KIR_MUL, 0, at, kir_i64(k, 2)), kir_i64(k, harness_below(2)));
    if (which == 2)
        at = kir_op2(k, KIR_SUB, 0, kir_i64(k, N - 1), at);
    if (harness_below(3))
        kir_store(k, b, at, v);
    else
        kir_store_if(k, b, at, v, any(g, KIR_I1));
}

/* As the parts of a complex number. */
static void store_pair(struct gen *g) {
    struct kir *k = g->k;
    uint32_t b = g->out[1];
    enum kir_type t = kir_type_of(k->buffers.v[b].dtype);
    kir_val at = kir_op2(k, KIR_MUL, 0, kir_op2(k, KIR_ADD, 0, g->row, g->i), kir_i64(k, 2)), v = any(g, t), w = any(g, t);
    kir_store(k, b, at, v);
    kir_store(k, b, kir_op2(k, KIR_ADD, 0, at, kir_i64(k, 1)), w);
}

static void accumulate(struct gen *g, uint32_t i) {
    enum kir_type t = kir_type(g->k, g->regs[i]);
    kir_acc(g->k, (enum kir_op)g->acc[i], t < KIR_F32 ? i & 1 : 0, g->regs[i], (kir_val){0}, any(g, t));
}

static void statements(struct gen *g, int depth, uint32_t n);

/* Values of a construct's body are unknown after it. */
static void nested(struct gen *g, int depth, uint32_t n) {
    struct gen saved = *g;
    statements(g, depth, n);
    struct kir *k = g->k;
    *g = saved;
    g->k = k;
}

static void any_loop(struct gen *g, int depth, bool written_out) {
    struct kir *k = g->k;
    enum kir_type t = any_type();
    kir_val reg = kir_reg(k, any(g, t), 3);
    kir_val j = kir_loop(k, written_out ? KIR_UNROLLED : KIR_SERIAL, 1 + harness_below(3), 0);
    struct gen saved = *g;
    add(g, j);
    add(g, kir_get_reg(k, reg, written_out ? j : kir_i64(k, 1)));
    statements(g, depth + 1, 3);
    kir_set_reg(k, reg, written_out ? j : kir_i64(k, harness_below(3)), any(g, t));
    *g = saved;
    kir_close(k);
    add(g, kir_get_reg(k, reg, kir_i64(k, harness_below(3))));
}

/* A condition that is the same in all lanes. */
static void any_branch(struct gen *g, int depth) {
    struct kir *k = g->k;
    enum kir_type t = any_type();
    kir_val reg = kir_reg(k, any(g, t), 1);
    if (harness_below(2))
        kir_if(k, kir_cmp(k, KIR_LT, 0, g->row, kir_i64(k, harness_below(ROW * ROWS))));
    else
        kir_if(k, kir_op1(k, KIR_ANY, any(g, KIR_I1)));
    nested(g, depth + 1, 2);
    kir_set_reg(k, reg, (kir_val){0}, any(g, t));
    if (harness_below(2)) {
        kir_else(k);
        nested(g, depth + 1, 2);
        kir_set_reg(k, reg, (kir_val){0}, any(g, t));
    }
    kir_close(k);
    add(g, kir_get_reg(k, reg, (kir_val){0}));
}

static void any_while(struct gen *g, int depth) {
    struct kir *k = g->k;
    kir_val left = kir_reg(k, kir_i64(k, harness_below(4)), 1);
    kir_while(k);
    kir_do(k, kir_cmp(k, KIR_GT, 0, kir_get_reg(k, left, (kir_val){0}), kir_i64(k, 0)));
    kir_set_reg(k, left, (kir_val){0}, kir_op2(k, KIR_SUB, 0, kir_get_reg(k, left, (kir_val){0}), kir_i64(k, 1)));
    nested(g, depth + 1, 3);
    kir_close(k);
}

static void statements(struct gen *g, int depth, uint32_t n) {
    for (uint32_t i = 0; i < n; i++)
        switch (harness_below(depth < 2 ? 14 : 10)) {
        case 8:
            any_store(g);
            break;
        case 9:
            accumulate(g, harness_below(g->nregs));
            break;
        case 10:
            any_loop(g, depth, false);
            break;
        case 11:
            any_loop(g, depth, true);
            break;
        case 12:
            any_branch(g, depth);
            break;
        case 13:
            any_while(g, depth);
            break;
        default:
            add(g, any_value(g));
            break;
        }
}

static void choose_registers(struct gen *g) {
    static const uint8_t ints[] = {KIR_ADD, KIR_MUL, KIR_MIN, KIR_MAX, KIR_AND, KIR_OR, KIR_XOR};
    for (g->nregs = 0; g->nregs < 4; g->nregs++) {
        enum kir_type t = g->type[g->nregs] = any_type();
        g->acc[g->nregs] = ints[harness_below(kir_is_float(t) ? 4 : 7)];
    }
}

static void random_kernel(struct harness_batch *batch) {
    struct gen g = {.k = harness_new(batch)};
    struct kir *k = g.k;
    for (int i = 0; i < 4; i++)
        g.in[i] = kir_param(k, KIR_IN, i == 0 ? IR_F32_T : any_dtype(), N);
    g.index = kir_param(k, KIR_IN, IR_UI32_T, N);
    uint32_t extent = kir_param(k, KIR_IN, IR_UI8_T, ROWS);
    for (int i = 0; i < 3; i++)
        g.out[i] = kir_param(k, KIR_INOUT, any_dtype(), N);
    uint32_t sums[4];
    choose_registers(&g);
    for (uint32_t i = 0; i < g.nregs; i++) {
        static const enum ir_dtype types[] = {0, IR_I1_T, IR_I8_T, IR_I16_T, IR_I32_T, IR_I64_T, IR_F32_T, IR_F64_T};
        sums[i] = kir_param(k, KIR_OUT, types[g.type[i]], ROWS);
    }
    before_grid(&g);
    kir_val row = kir_loop(k, KIR_GRID, ROWS, 0);
    g.row = kir_op2(k, KIR_MUL, 0, row, kir_i64(k, ROW));
    for (uint32_t i = 0; i < g.nregs; i++)
        g.regs[i] = kir_reg(k, any(&g, g.type[i]), 1);
    uint32_t width = 1u << harness_below(7);
    if (harness_below(2))
        g.i = kir_loop(k, KIR_VECTOR, 2 + harness_below(ROW - 1), width);
    else
        g.i = kir_loop_to(k, KIR_VECTOR, kir_typed(k, KIR_CONVERT, KIR_U, KIR_I64, kir_load(k, extent, row)), width);
    add(&g, g.i);
    for (int i = 0; i < 4; i++)
        add(&g, any_load(&g));
    statements(&g, 0, 6 + harness_below(14));
    for (int i = 0; i < 3; i++)
        any_store(&g);
    if (harness_below(2))
        store_pair(&g);
    kir_close(k);
    for (uint32_t i = 0; i < g.nregs; i++)
        kir_store(k, sums[i], row, kir_get_reg(k, g.regs[i], (kir_val){0}));
    kir_close(k);
}

static void test_random(void **state) {
    (void)state;
    static const int64_t indices[RIG_BUFFERS] = {[4] = N, [5] = ROW + 1};
    const char *seed = getenv("SEED"), *count = getenv("COUNT");
    harness_state = seed ? strtoull(seed, NULL, 0) : 1;
    for (long left = count ? strtol(count, NULL, 0) : 4; left > 0; left--) {
        struct harness_batch batch = {.n = 0};
        uint64_t at = harness_state;
        for (int i = 0; i < 12; i++)
            random_kernel(&batch);
        print_message("seed %#llx\n", (unsigned long long)at);
        harness_flush(&batch, indices);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_random)};
    return setjmp(harness_memory) ? 1 : cmocka_run_group_tests(tests, NULL, NULL);
}
