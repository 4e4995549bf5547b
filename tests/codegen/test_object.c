/* Objects: what code is made of, for which processors, on several threads, and how it is loaded or refused. */
#include "harness.h"
#include "tests/tools/meter.h"

#include <pthread.h>
#include <sys/wait.h>

static struct target machine_named(const char *name) {
    struct target t;
    struct diag_list d;
    diag_init(&d, mem_system_allocator());
    assert_int_equal(cg_target(name, &t, &d), HILO_OK);
    return t;
}

static struct str compile_tier(const struct kir *k, const char *target, enum cg_tier tier, enum cg_emit emit) {
    struct target t = machine_named(target);
    hilo_allocator al = mem_system_allocator();
    struct diag_list d;
    void *p;
    size_t n;
    diag_init(&d, al);
    harness_must(kir_verify(k, &d), &d, k, "?");
    harness_must(cg_compile(&k, 1, &t, tier, emit, &al, &d, &p, &n), &d, k, target ? target : "host");
    return (struct str){p, n};
}

static struct str compile(const struct kir *k, const char *target, enum cg_emit emit) {
    return compile_tier(k, target, CG_OPTIMISED, emit);
}

static void give_back(struct str s) {
    hilo_allocator al = mem_system_allocator();
    mem_free(&al, (void *)(uintptr_t)s.p, s.n);
}

static size_t count(struct str text, const char *what) {
    size_t n = 0;
    for (const char *p = text.p; (p = memmem(p, text.n - (size_t)(p - text.p), what, strlen(what))) != NULL; p++)
        n++;
    return n;
}

/* C = A · B for panels, `rows` × `columns` accumulators in registers. i32: factors in pairs. */
static struct kir *micro_kernel(struct harness_batch *b, enum ir_dtype t, int64_t rows, uint32_t columns, int64_t depth) {
    struct kir *k = harness_new(b);
    uint32_t x = kir_param(k, KIR_IN, t, rows * depth), y = kir_param(k, KIR_IN, t, columns * depth),
             z = kir_param(k, KIR_OUT, t, rows * columns);
    kir_val zero = t == IR_F32_T ? kir_float(k, KIR_F32, 0) : kir_int(k, KIR_I32, 0);
    kir_val j = kir_loop(k, KIR_VECTOR, columns, columns), sums = kir_reg(k, zero, rows);
    kir_val p = kir_loop(k, KIR_SERIAL, depth, 0);
    kir_val right = kir_load(k, y, kir_op2(k, KIR_ADD, 0, kir_op2(k, KIR_MUL, 0, p, kir_i64(k, columns)), j));
    kir_val i = kir_loop(k, KIR_UNROLLED, rows, 0);
    kir_val left = kir_load(k, x, kir_op2(k, KIR_ADD, 0, kir_op2(k, KIR_MUL, 0, p, kir_i64(k, rows)), i));
    kir_val sum = kir_get_reg(k, sums, i);
    kir_set_reg(k, sums, i,
                t == IR_F32_T ? kir_fma(k, left, right, sum)
                              : kir_op2(k, KIR_ADD, 0, kir_op2(k, KIR_DOT2, 0, left, right), sum));
    kir_close(k);
    kir_close(k);
    i = kir_loop(k, KIR_UNROLLED, rows, 0);
    kir_store(k, z, kir_op2(k, KIR_ADD, 0, kir_op2(k, KIR_MUL, 0, i, kir_i64(k, columns)), j), kir_get_reg(k, sums, i));
    kir_close(k);
    kir_close(k);
    return k;
}

/* Accumulators stay in registers: nothing of the stack is touched. */
static void test_register_tiles(void **state) {
    (void)state;
    static const struct {
        const char *target;
        enum ir_dtype t;
        int64_t rows;
        uint32_t columns;
        const char *product;
        size_t products;
    } tiles[] = {{"x86-64-v4", IR_F32_T, 6, 64, "vfmadd", 24},   {"x86-64-v4", IR_F32_T, 14, 32, "vfmadd", 28},
                 {"x86-64-v3", IR_F32_T, 6, 16, "vfmadd", 12},   {"aarch64", IR_F32_T, 8, 8, "fmla", 16},
                 {"x86-64-v3", IR_F32_T, 14, 8, "vfmadd", 14}, /* with all registers */
                 {"x86-64-v3", IR_I32_T, 6, 16, "vpmaddwd", 12}, {"sapphirerapids", IR_I32_T, 6, 64, "vpdpwssd", 24}};
    for (size_t i = 0; i < sizeof tiles / sizeof *tiles; i++) {
        struct harness_batch b = {.n = 0};
        struct kir *k = micro_kernel(&b, tiles[i].t, tiles[i].rows, tiles[i].columns, 64);
        struct str text = compile(k, tiles[i].target, CG_ASSEMBLY);
        assert_int_equal(count(text, tiles[i].product), tiles[i].products);
        assert_int_equal(count(text, "(%rsp)") + count(text, "Spill"), 0);
        give_back(text);
        harness_flush(&b, NULL);
    }
}

/* 16 × 16 sums of products of pairs (bf16) or fours (bytes). */
static struct kir *tile_kernel(struct harness_batch *b, enum kir_tile format, enum ir_dtype in, enum ir_dtype out) {
    struct kir *k = harness_new(b);
    int64_t row = 64 / ir_dtype_get(in)->bytes;
    uint32_t x = kir_param(k, KIR_IN, in, 2 * 16 * row), y = kir_param(k, KIR_IN, in, 2 * 16 * row),
             z = kir_param(k, KIR_OUT, out, 16 * 16);
    kir_val none = {0}, stride = kir_i64(k, row);
    kir_tile(k, KIR_TZERO, 0, format, 0, none, none);
    kir_val i = kir_loop(k, KIR_SERIAL, 2, 0), at = kir_op2(k, KIR_MUL, 0, i, kir_i64(k, 16 * row));
    kir_tile(k, KIR_TLOAD, 1, format, x, at, stride);
    kir_tile(k, KIR_TLOAD, 2, format, y, at, stride);
    kir_tile(k, KIR_TMUL, 0 | 1 << 3 | 2 << 6, format, 0, none, none);
    kir_close(k);
    kir_tile(k, KIR_TSTORE, 0, format, z, kir_i64(k, 0), kir_i64(k, 16));
    return k;
}

static void test_matrix_unit(void **state) {
    (void)state;
    static const struct {
        enum kir_tile format;
        enum ir_dtype in, out;
        const char *product;
    } forms[] = {{KIR_TILE_BF16, IR_BF16_T, IR_F32_T, "tdpbf16ps"},
                 {KIR_TILE_S8S8, IR_I8_T, IR_I32_T, "tdpbssd"},
                 {KIR_TILE_U8S8, IR_I8_T, IR_I32_T, "tdpbusd"}};
    struct target host = machine_named(NULL);
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        struct harness_batch b = {.n = 0};
        struct kir *k = tile_kernel(&b, forms[i].format, forms[i].in, forms[i].out);
        struct str text = compile(k, "sapphirerapids", CG_ASSEMBLY);
        assert_int_equal(count(text, forms[i].product), 1);
        assert_int_equal(count(text, "ldtilecfg"), 1);
        assert_int_equal(count(text, "tilerelease"), 1);
        give_back(text);
        struct target old = machine_named("x86-64-v4");
        struct diag_list d;
        void *p;
        size_t n;
        hilo_allocator al = mem_system_allocator();
        diag_init(&d, al);
        assert_int_equal(cg_compile((const struct kir *const *)b.v, 1, &old, CG_OPTIMISED, CG_OBJECT, &al, &d, &p, &n),
                         HILO_UNIMPLEMENTED);
        diag_clear(&d);
        if (host.tile_bf16 && host.tile_i8) {
            struct str object = compile(k, NULL, CG_OBJECT);
            struct rt_code *code;
            harness_must(rt_code_load(&object, 1, 0, al, &d, &code), &d, k, "host");
            harness_run(k, "host", rt_code_find(code, k->name), NULL);
            rt_code_free(code);
            give_back(object);
        }
        kir_free(k);
    }
}

static struct kir *copy_kernel(struct harness_batch *b, int64_t n, bool nontemporal, bool aligned) {
    struct kir *k = harness_new(b);
    uint32_t x = kir_param(k, KIR_IN, IR_F32_T, n), y = kir_param(k, KIR_OUT, IR_F32_T, n);
    k->buffers.v[y].aligned = aligned;
    kir_store_flags(k, nontemporal ? KIR_NT : 0);
    kir_val i = kir_loop(k, KIR_VECTOR, n, 32);
    kir_val v = kir_load(k, x, i);
    kir_store(k, y, i, kir_op2(k, KIR_ADD, 0, v, kir_float(k, KIR_F32, 0.1)));
    kir_close(k);
    return k;
}

/* Instructions between the first label that a jump goes back to and that jump. */
static size_t loop_length(struct str text, const char *jump) {
    char label[32];
    const char *end = text.p + text.n, *back = text.p, *name, *head = NULL;
    size_t n = 0;
    while (!head && (back = memmem(back, (size_t)(end - back), jump, strlen(jump))) != NULL) {
        name = memmem(back, (size_t)(end - back), ".LBB", 4);
        assert_non_null(name);
        snprintf(label, sizeof label, "\n%.*s:", (int)strcspn(name, "\n"), name);
        head = memmem(text.p, (size_t)(back - text.p), label, strlen(label));
        back += strlen(jump);
    }
    assert_non_null(head);
    for (const char *line = head + 1; line < back; line = strchr(line, '\n') + 1)
        n += *line == '\t' && line[1] != '.';
    return n;
}

/* Sums of rows, each a parameter's row or its last one, every third element. */
static struct kir *clamped_rows(struct harness_batch *b, int64_t rows, int64_t columns) {
    struct kir *k = harness_new(b);
    uint32_t x = kir_param(k, KIR_IN, IR_F32_T, rows * columns), y = kir_param(k, KIR_OUT, IR_F32_T, 2 * rows);
    kir_val block = kir_loop(k, KIR_GRID, rows / 2, 0), sums = kir_reg(k, kir_float(k, KIR_F32, 0), 4);
    kir_val first = kir_op2(k, KIR_MUL, 0, block, kir_i64(k, 4));
    kir_val p = kir_loop(k, KIR_SERIAL, columns / 3, 0), i = kir_loop(k, KIR_UNROLLED, 4, 0);
    kir_val row = kir_op2(k, KIR_MIN, 0, kir_op2(k, KIR_ADD, 0, first, i), kir_i64(k, rows - 1));
    kir_val column = kir_op2(k, KIR_MUL, 0, p, kir_i64(k, 3));
    kir_val v = kir_load(k, x, kir_op2(k, KIR_ADD, 0, column, kir_op2(k, KIR_MUL, 0, row, kir_i64(k, columns))));
    kir_set_reg(k, sums, i, kir_op2(k, KIR_ADD, 0, kir_get_reg(k, sums, i), v));
    kir_close(k);
    kir_close(k);
    i = kir_loop(k, KIR_UNROLLED, 4, 0);
    kir_store(k, y, kir_op2(k, KIR_ADD, 0, first, i), kir_get_reg(k, sums, i));
    kir_close(k);
    kir_close(k);
    return k;
}

/* An innermost loop has an instruction for each pointer and no other arithmetic on addresses; LLVM's passes find nothing that
   they could make of its index. */
static void test_addresses(void **state) {
    static const struct {
        const char *target, *jump;
        size_t tile, rows; /* instructions of the loops */
    } machines[] = {
        {"x86-64-v4", "\tjl\t", 1 + 6 + 2 + 3, 4 + 4 + 3}, {"x86-64-v3", "\tjl\t", 2 + 6 * 3 + 2 + 3, 4 + 4 + 3},
        {"aarch64", "\tb.lt\t", 2 + 4 + 24 + 2 + 3, 4 + 4 + 3}};
    (void)state;
    for (size_t i = 0; i < sizeof machines / sizeof *machines; i++) {
        struct harness_batch b = {.n = 0};
        struct str tile = compile(micro_kernel(&b, IR_F32_T, 6, 16, 100), machines[i].target, CG_ASSEMBLY);
        struct str rows = compile(clamped_rows(&b, 14, 300), machines[i].target, CG_ASSEMBLY);
        struct str text = compile(b.v[1], machines[i].target, CG_LLVM);
        assert_int_equal(loop_length(tile, machines[i].jump), machines[i].tile);
        assert_int_equal(loop_length(rows, machines[i].jump), machines[i].rows);
        assert_int_equal(count(text, "phi i64"), 4 + 2); /* the pointers, the indices of both loops */
        assert_int_equal(count(text, "freeze i64"), 4 + 2);
        give_back(tile);
        give_back(rows);
        give_back(text);
        harness_flush(&b, NULL);
    }
}

/* Rows by a matrix that was copied to scratch memory, `rows` of them at once, and none beyond the last one. */
static struct kir *rows_by_scratch(struct harness_batch *b, int64_t rows, int64_t depth) {
    enum { COLUMNS = 16, BLOCKS = 3, UNROLL = 4 };
    struct kir *k = harness_new(b);
    uint32_t x = kir_param(k, KIR_IN, IR_F32_T, (BLOCKS * rows - 2) * depth),
             y = kir_param(k, KIR_IN, IR_F32_T, COLUMNS * depth), z = kir_param(k, KIR_OUT, IR_F32_T, BLOCKS * rows * COLUMNS),
             s = kir_scratch(k, IR_F32_T, COLUMNS * depth);
    kir_val i = kir_loop(k, KIR_VECTOR, COLUMNS * depth, 8);
    kir_store(k, s, i, kir_load(k, y, i));
    kir_close(k);
    kir_val block = kir_loop(k, KIR_SERIAL, BLOCKS, 0), first = kir_op2(k, KIR_MUL, 0, block, kir_i64(k, rows));
    kir_val j = kir_loop(k, KIR_VECTOR, COLUMNS, COLUMNS), sums = kir_reg(k, kir_float(k, KIR_F32, 0), rows);
    kir_val p = kir_op2(k, KIR_MUL, 0, kir_loop(k, KIR_SERIAL, depth / UNROLL, 0), kir_i64(k, UNROLL));
    p = kir_op2(k, KIR_ADD, 0, p, kir_loop(k, KIR_UNROLLED, UNROLL, 0));
    kir_val at = kir_op2(k, KIR_ADD, 0, kir_op2(k, KIR_MUL, 0, p, kir_i64(k, COLUMNS)), j);
    i = kir_loop(k, KIR_UNROLLED, rows, 0);
    kir_val row = kir_op2(k, KIR_MIN, 0, kir_op2(k, KIR_ADD, 0, first, i), kir_i64(k, BLOCKS * rows - 3));
    kir_val left = kir_load(k, x, kir_op2(k, KIR_ADD, 0, p, kir_op2(k, KIR_MUL, 0, row, kir_i64(k, depth))));
    kir_set_reg(k, sums, i, kir_fma(k, left, kir_load(k, s, at), kir_get_reg(k, sums, i)));
    for (int open = 0; open < 3; open++)
        kir_close(k);
    i = kir_loop(k, KIR_UNROLLED, rows, 0);
    row = kir_op2(k, KIR_ADD, 0, first, i);
    kir_store(k, z, kir_op2(k, KIR_ADD, 0, kir_op2(k, KIR_MUL, 0, row, kir_i64(k, COLUMNS)), j), kir_get_reg(k, sums, i));
    for (int open = 0; open < 3; open++)
        kir_close(k);
    return k;
}

/* Instructions of VEX's map 0F 38 with this opcode whose M operand has these bits of ModRM. */
static size_t count_vex38(struct str code, uint8_t opcode, uint8_t mask, uint8_t bits) {
    const uint8_t *p = (const uint8_t *)code.p;
    size_t n = 0;
    for (size_t i = 0; i + 4 < code.n; i++)
        n += p[i] == 0xC4 && (p[i + 1] & 0x1F) == 2 && (p[i + 2] & 3) == 1 && p[i + 3] == opcode && (p[i + 4] & mask) == bits;
    return n;
}

/* The baseline tier loads an element of scratch memory once for all rows that it is multiplied by, and has a pointer for each
   of the rows. */
static void test_baseline_tile(void **state) {
    (void)state;
    enum { ROWS = 6, UNROLL = 4, VFMADD231PS = 0xB8, VBROADCASTSS = 0x18, MOD = 0xC0, RM = 7, SIB = 4 };
    struct target t = machine_named("x86-64-v3");
    struct harness_batch b = {.n = 0};
    struct kir *k = rows_by_scratch(&b, ROWS, 64);
    if (cg_has_baseline(&t)) {
        struct str code = compile_tier(k, "x86-64-v3", CG_BASELINE, CG_OBJECT);
        assert_int_equal(count_vex38(code, VFMADD231PS, 0, 0), ROWS * UNROLL * 2);
        assert_int_equal(count_vex38(code, VFMADD231PS, MOD, MOD), ROWS * UNROLL * 2);
        assert_int_equal(count_vex38(code, VBROADCASTSS, 0, 0), ROWS * UNROLL);
        assert_in_range(count_vex38(code, VBROADCASTSS, RM, SIB), 0, UNROLL); /* an index, or the register 12 */
        give_back(code);
    }
    harness_flush(&b, NULL);
}

/* Stores past the caches need whole, aligned vectors; where the buffer may not be aligned, its address decides. */
static void test_nontemporal(void **state) {
    (void)state;
    enum { N = 1024 };
    for (int i = 0; i < 3; i++) {
        struct harness_batch b = {.n = 0};
        struct str text = compile(copy_kernel(&b, N, i > 0, i == 1), "x86-64-v4", CG_ASSEMBLY);
        assert_int_equal(count(text, "vmovntps"), i ? 2 : 0);
        assert_int_equal(count(text, "sfence"), i > 0);
        assert_int_equal(count(text, "vmovups\t%zmm") > 0, i != 1);
        give_back(text);
        kir_free(b.v[0]);
    }
    struct harness_batch b = {.n = 0};
    struct kir *k = copy_kernel(&b, N, true, false);
    struct str object = compile(k, NULL, CG_OBJECT);
    struct diag_list d;
    struct rt_code *code;
    static _Alignas(64) float x[N], y[N + 16];
    diag_init(&d, mem_system_allocator());
    harness_must(rt_code_load(&object, 1, 0, mem_system_allocator(), &d, &code), &d, k, "host");
    for (int i = 0; i < N; i++)
        x[i] = (float)i;
    for (int from = 0; from < 16; from += 5) {
        memset(y, 0, sizeof y);
        rt_code_find(code, k->name)((void *[]){x, y + from}, NULL, 0, 1);
        for (int i = 0; i < N; i++)
            assert_true(y[from + i] == (float)i + 0.1f);
    }
    rt_code_free(code);
    give_back(object);
    kir_free(k);
}

/* Parts of complex numbers: stores that become one, in either order; a third, and one that is read in between, stay alone. */
static void test_pairs(void **state) {
    (void)state;
    enum { N = 50 };
    struct harness_batch b = {.n = 0};
    for (uint32_t form = 0; form < 8; form++) {
        struct kir *k = harness_new(&b);
        uint32_t x = kir_param(k, KIR_IN, IR_F32_T, N), z = kir_param(k, KIR_INOUT, form & 4 ? IR_BF16_T : IR_F32_T, 2 * N + 3);
        kir_val i = kir_loop(k, KIR_VECTOR, N, 8), v = kir_load(k, x, i), at[2], w = kir_op1(k, KIR_NEG, v);
        for (int j = 0; j < 2; j++)
            at[j] = kir_op2(k, KIR_ADD, 0, kir_op2(k, KIR_MUL, 0, i, kir_i64(k, 2)),
                            kir_i64(k, (int64_t)(form + (uint32_t)j) % 2 + 1));
        kir_store(k, z, at[0], v);
        if (form & 2)
            w = kir_load(k, z, at[1]);
        kir_store(k, z, at[1], w);
        kir_store(k, z, at[0], kir_op1(k, KIR_SQRT, v));
        kir_close(k);
        if (form == 0) {
            struct str text = compile(k, "x86-64-v3", CG_LLVM);
            assert_true(count(text, "store <16 x float>") >= 1);
            give_back(text);
        }
    }
    harness_flush(&b, NULL);
}

/* Elements of 8 and 16 bits anywhere: loads are gathers of words, and adjacent stores of a lane are one scatter. Lanes may have
   the same elements. */
static void test_parts(void **state) {
    (void)state;
    enum { LANES = 32, MOST = 8 };
    static const enum ir_dtype types[] = {IR_BF16_T, IR_I8_T, IR_F16_T, IR_UI8_T, IR_I1_T};
    static const int64_t bounds[] = {0, LANES - 3, 0};
    struct harness_batch b = {.n = 0};
    for (size_t t = 0; t < sizeof types / sizeof *types; t++)
        for (int64_t n = 2; n <= MOST; n *= 2) {
            struct kir *k = harness_new(&b);
            uint32_t x = kir_param(k, KIR_IN, types[t], LANES * MOST), at = kir_param(k, KIR_IN, IR_I32_T, LANES);
            uint32_t z = kir_param(k, KIR_OUT, types[t], LANES * MOST);
            kir_val i = kir_loop(k, KIR_VECTOR, LANES, LANES);
            kir_val place = kir_typed(k, KIR_CONVERT, 0, KIR_I64, kir_load(k, at, i));
            kir_val from = kir_op2(k, KIR_ADD, 0, place, kir_i64(k, 3)); /* no multiple of a word */
            kir_val copy = kir_loop(k, KIR_UNROLLED, n, 0);
            kir_val v = kir_load(k, x, kir_op2(k, KIR_ADD, 0, from, copy));
            kir_store(k, z, kir_op2(k, KIR_ADD, 0, kir_op2(k, KIR_MUL, 0, place, kir_i64(k, n)), copy), v);
            kir_close(k);
            kir_close(k);
            struct str text = compile(k, "x86-64-v4", CG_LLVM);
            int64_t bits = n * 8 * ir_dtype_get(types[t])->bytes, most = bits > 64 ? 64 : bits;
            assert_int_equal(count(text, "call <32 x i32> @llvm.masked.gather"), n);
            assert_int_equal(count(text, "call void @llvm.masked.scatter"), bits < 32 ? 0 : bits / most);
            assert_int_equal(count(text, "store i"), bits < 32 ? n * LANES : 0);
            give_back(text);
        }
    harness_flush(&b, bounds);
}

/* A line of each vector of 256 bytes; of single elements, one. */
static void test_prefetch(void **state) {
    (void)state;
    struct harness_batch b = {.n = 0};
    struct kir *k = harness_new(&b);
    uint32_t x = kir_param(k, KIR_IN, IR_F32_T, 128), z = kir_param(k, KIR_OUT, IR_F32_T, 128);
    for (int serial = 0; serial < 2; serial++) {
        kir_val i = kir_loop(k, serial ? KIR_SERIAL : KIR_VECTOR, 128, serial ? 0 : 64);
        kir_prefetch(k, x, kir_op2(k, KIR_ADD, 0, i, kir_i64(k, 1 << 20)));
        kir_store(k, z, i, kir_load(k, x, i));
        kir_close(k);
    }
    struct str text = compile(k, "x86-64-v3", CG_ASSEMBLY);
    assert_int_equal(count(text, "prefetcht0"), 4 + 1);
    give_back(text);
    harness_flush(&b, NULL);
}

/* A process of its own, since a library is opened once. */
static void test_without_llvm(void **state) {
    (void)state;
    int status;
    pid_t child = fork();
    if (child == 0) {
        struct diag_list d;
        struct target t;
        diag_init(&d, mem_system_allocator());
        setenv("HILO_LLVM_PATH", "/nowhere/libLLVM.so", 1);
        bool refused = cg_open_untried() && cg_open(&d) == HILO_UNAVAILABLE && !cg_open_untried() && d.errors == 1 &&
                       strstr(d.first->message, "libllvm19") != NULL;
        refused &= cg_target(NULL, &t, &d) == HILO_OK && cg_target("aarch64", &t, &d) == HILO_OK;
        _exit(refused ? 0 : 1);
    }
    assert_true(waitpid(child, &status, 0) == child && WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

static void test_names(void **state) {
    (void)state;
    struct diag_list d;
    struct target t;
    diag_init(&d, mem_system_allocator());
    assert_int_equal(cg_target("pdp11", &t, &d), HILO_NOT_FOUND);
    assert_non_null(strstr(d.first->message, "sapphirerapids"));
    diag_clear(&d);
    t = machine_named("x86-64-v4");
    assert_int_equal(t.vector_bytes, 64);
    assert_false(t.tile_bf16);
    t = machine_named("aarch64");
    assert_int_equal(t.vector_bytes, 16);
    assert_true(t.fma);
}

/* One name, two functions: neither in one object nor in two. */
static void test_twice(void **state) {
    (void)state;
    hilo_allocator al = mem_system_allocator();
    struct harness_batch b = {.n = 0};
    struct kir *k = copy_kernel(&b, 10, false, false);
    const struct kir *both[] = {k, k};
    struct target t = machine_named(NULL);
    struct diag_list d;
    void *p;
    size_t n;
    diag_init(&d, al);
    assert_int_equal(cg_compile(both, 2, &t, CG_OPTIMISED, CG_OBJECT, &al, &d, &p, &n), HILO_INTERNAL);
    diag_clear(&d);
    struct str object = compile(k, NULL, CG_OBJECT), twice[] = {object, object};
    struct rt_code *code;
    assert_int_equal(rt_code_load(twice, 2, 0, al, &d, &code), HILO_INVALID_ARGUMENT);
    diag_clear(&d);
    assert_int_equal(rt_code_load(twice, 1, 0, al, &d, &code), HILO_OK);
    assert_non_null(rt_code_find(code, "k0"));
    assert_null(rt_code_find(code, "k"));
    assert_null(rt_code_find(code, "k00"));
    rt_code_free(code);
    give_back(object);
    kir_free(k);
}

/* Several objects, each with constants of its own, in one mapping. */
static void test_together(void **state) {
    (void)state;
    enum { MANY = 12 };
    hilo_allocator al = mem_system_allocator();
    struct harness_batch b = {.n = 0};
    struct str objects[MANY];
    struct rt_code *code;
    struct diag_list d;
    diag_init(&d, al);
    for (int i = 0; i < MANY; i++)
        objects[i] = compile(copy_kernel(&b, 10 + i, false, false), NULL, CG_OBJECT);
    assert_int_equal(rt_code_load(objects, MANY, 0, al, &d, &code), HILO_OK);
    for (int i = 0; i < MANY; i++) {
        give_back(objects[i]);
        harness_run(b.v[i], "host", rt_code_find(code, b.v[i]->name), NULL);
        kir_free(b.v[i]);
    }
    assert_true(rt_code_bytes(code) <= 4 * (size_t)sysconf(_SC_PAGESIZE));
    rt_code_free(code);
}

/* Files that are cut off, and files with a byte that is wrong: refused, or loaded without harm. */
static void test_damaged(void **state) {
    (void)state;
    hilo_allocator al = mem_system_allocator();
    for (int arm = 0; arm < 2; arm++) {
        struct harness_batch b = {.n = 0};
        struct str object = compile(copy_kernel(&b, 100, false, false), arm ? "aarch64" : "x86-64-v3", CG_OBJECT);
        struct rt_code *code;
        struct diag_list d;
        diag_init(&d, al);
        for (size_t n = 0; n < object.n; n++) {
            char *cut = malloc(n + 1);
            memcpy(cut, object.p, n);
            struct str s = {cut, n};
            assert_int_equal(rt_code_load(&s, 1, RT_CODE_FOREIGN, al, &d, &code), HILO_INVALID_ARGUMENT);
            diag_clear(&d);
            free(cut);
        }
        for (size_t i = 0; i < object.n; i++) {
            char *wrong = malloc(object.n);
            memcpy(wrong, object.p, object.n);
            wrong[i] = (char)(wrong[i] ^ (char)(1u << harness_below(8)));
            struct str s = {wrong, object.n};
            if (rt_code_load(&s, 1, RT_CODE_FOREIGN, al, &d, &code) == HILO_OK)
                rt_code_free(code);
            diag_clear(&d);
            free(wrong);
        }
        give_back(object);
        kir_free(b.v[0]);
    }
}

struct job {
    const struct kir *k;
    struct target target;
    struct str object;
};

static void *compile_job(void *p) {
    struct job *j = p;
    hilo_allocator al = mem_system_allocator();
    struct diag_list d;
    void *object;
    diag_init(&d, al);
    if (cg_compile(&j->k, 1, &j->target, CG_OPTIMISED, CG_OBJECT, &al, &d, &object, &j->object.n) == HILO_OK)
        j->object.p = object;
    return NULL;
}

/* The same bytes on four threads at once. */
static void test_threads(void **state) {
    (void)state;
    struct harness_batch b = {.n = 0};
    struct kir *k = micro_kernel(&b, IR_F32_T, 4, 16, 32);
    struct str expected = compile(k, NULL, CG_OBJECT);
    struct job jobs[4];
    pthread_t threads[4];
    for (int i = 0; i < 4; i++) {
        jobs[i] = (struct job){.k = k, .target = machine_named(NULL)};
        assert_int_equal(pthread_create(&threads[i], NULL, compile_job, &jobs[i]), 0);
    }
    for (int i = 0; i < 4; i++) {
        pthread_join(threads[i], NULL);
        assert_non_null(jobs[i].object.p);
        assert_int_equal(jobs[i].object.n, expected.n);
        assert_memory_equal(jobs[i].object.p, expected.p, expected.n);
        give_back(jobs[i].object);
    }
    give_back(expected);
    kir_free(k);
}

/* Every allocation fails, one at a time: the error is returned, and nothing leaks. */
static void check_exhaustion(enum cg_tier tier) {
    struct harness_batch b = {.n = 0};
    const struct kir *k = micro_kernel(&b, IR_F32_T, 2, 16, 8);
    struct target t = machine_named(NULL);
    hilo_status s = HILO_RESOURCE_EXHAUSTED;
    long failures = 0;
    for (long left = 0; s != HILO_OK; left++) {
        struct meter m = {.left = left};
        hilo_allocator al = {meter_realloc, &m};
        struct diag_list d;
        struct rt_code *code = NULL;
        void *p = NULL;
        size_t n = 0;
        diag_init(&d, mem_system_allocator());
        s = cg_compile(&k, 1, &t, tier, CG_OBJECT, &al, &d, &p, &n);
        struct str object = {p, n};
        if (s == HILO_OK)
            s = rt_code_load(&object, 1, 0, al, &d, &code);
        rt_code_free(code);
        if (p)
            mem_free(&al, p, n);
        assert_true(s == HILO_OK || s == HILO_RESOURCE_EXHAUSTED);
        assert_int_equal(m.live, 0);
        failures += s != HILO_OK;
        diag_clear(&d);
    }
    assert_true(failures > 4);
    kir_free(b.v[0]);
}

static void test_exhaustion(void **state) {
    (void)state;
    struct target t = machine_named(NULL);
    check_exhaustion(CG_OPTIMISED);
    if (cg_has_baseline(&t))
        check_exhaustion(CG_BASELINE);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_without_llvm),   cmocka_unit_test(test_pairs),       cmocka_unit_test(test_parts),
        cmocka_unit_test(test_prefetch),
        cmocka_unit_test(test_register_tiles), cmocka_unit_test(test_matrix_unit), cmocka_unit_test(test_addresses),
        cmocka_unit_test(test_baseline_tile),
        cmocka_unit_test(test_nontemporal),
        cmocka_unit_test(test_names),          cmocka_unit_test(test_twice),       cmocka_unit_test(test_together),
        cmocka_unit_test(test_damaged),        cmocka_unit_test(test_threads),     cmocka_unit_test(test_exhaustion),
    };
    return setjmp(harness_memory) ? 1 : cmocka_run_group_tests(tests, NULL, NULL);
}
