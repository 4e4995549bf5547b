/* Bytecode: what is written reads back as what it was at every version, and what is wrong is refused. */
#include "read/bytecode/bytecode.h"
#include "read/text/text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

/* ---- programs -------------------------------------------------------------------------------------------------- */

struct program {
    struct ir_module *m;
    struct diag_list d;
    hilo_status status;
};

static jmp_buf out_of_memory;

static struct program program_new(void) {
    struct program x = {.m = ir_module_new(mem_system_allocator(), &out_of_memory)};
    assert_non_null(x.m);
    diag_init(&x.d, mem_system_allocator());
    return x;
}

static void program_free(struct program *x) {
    ir_module_free(x->m);
    diag_clear(&x->d);
}

static const char *program_message(const struct program *x) {
    return x->d.first ? x->d.first->message : "";
}

static struct program program_text(const char *text) {
    struct program x = program_new();
    x.status = read_text(x.m, &x.d, str_of(text), 1);
    if (x.status == HILO_OK)
        x.status = ir_verify(x.m, &x.d);
    if (x.status != HILO_OK)
        fail_msg("%s\nin: %s", program_message(&x), text);
    return x;
}

/* The bytes are of their exact size, so that a sanitizer sees reads after them. */
static struct program program_bytes(struct str bytes) {
    struct program x = program_new();
    char *exact = malloc(bytes.n ? bytes.n : 1);
    assert_non_null(exact);
    if (bytes.n)
        memcpy(exact, bytes.p, bytes.n);
    x.status = read_bytecode(x.m, &x.d, (struct str){exact, bytes.n});
    free(exact);
    return x;
}

static struct strbuf program_print(const struct program *x) {
    struct strbuf out;
    struct ir_print_options o = {.locations = true};
    strbuf_init(&out, mem_system_allocator());
    ir_print_module(x->m, &o, &out);
    assert_false(out.failed);
    return out;
}

/* The program as bytecode, to be freed; `status` is the writer's. */
static struct strbuf write_at(struct program *x, int target, hilo_status status) {
    struct strbuf out;
    strbuf_init(&out, mem_system_allocator());
    hilo_status s = write_bytecode(x->m, &x->d, target, &out);
    if (s != status)
        fail_msg("at %d: status %d: %s", target, (int)s, program_message(x));
    return out;
}

static struct str bytes_of(const struct strbuf *b) {
    return (struct str){b->p, b->n};
}

/* ---- write and read -------------------------------------------------------------------------------------------- */

/* As bytecode has it: no attribute that only has its default, and a location on everything. */
static const char small[] =
    "module {\n"
    "  func.func @main(%arg0: tensor<2xf32>) -> tensor<2xf32> {\n"
    "    %0 = stablehlo.add %arg0, %arg0 : tensor<2xf32>\n"
    "    return %0 : tensor<2xf32>\n"
    "  }\n"
    "}\n";

static const char *const programs[] = {
    small,
    /* constants of every width, splats, special numbers */
    "func.func @main() {\n"
    "  %0 = stablehlo.constant dense<[true, false, true]> : tensor<3xi1>\n"
    "  %1 = stablehlo.constant dense<true> : tensor<3xi1>\n"
    "  %2 = stablehlo.constant dense<[-8, 7, 0]> : tensor<3xi4>\n"
    "  %3 = stablehlo.constant dense<[0x7F800000, 0xFF800000, 0x7FC00001]> : tensor<3xf32>\n"
    "  %4 = stablehlo.constant dense<[(1.0, -2.0), (0.0, 3.0)]> : tensor<2xcomplex<f64>>\n"
    "  %5 = stablehlo.constant dense<> : tensor<0x2xui8>\n"
    "  %6 = stablehlo.constant dense<[18446744073709551615, 1]> : tensor<2xui64>\n"
    "  %7 = stablehlo.constant dense<[1.0, 2.0]> : tensor<2xbf16>\n"
    "  %8 = stablehlo.constant dense<[0.5, 448.0]> : tensor<2xf8E4M3FN>\n"
    "  return\n}\n",
    /* regions, values from outside, several results */
    "func.func @main(%p: tensor<i1>, %x: tensor<f32>) -> (tensor<f32>, tensor<i32>) {\n"
    "  %0:2 = \"stablehlo.if\"(%p) ({\n"
    "    %1 = stablehlo.negate %x : tensor<f32>\n"
    "    %2 = stablehlo.constant dense<1> : tensor<i32>\n"
    "    stablehlo.return %1, %2 : tensor<f32>, tensor<i32>\n"
    "  }, {\n"
    "    %1 = stablehlo.constant dense<2> : tensor<i32>\n"
    "    stablehlo.return %x, %1 : tensor<f32>, tensor<i32>\n"
    "  }) : (tensor<i1>) -> (tensor<f32>, tensor<i32>)\n"
    "  return %0#0, %0#1 : tensor<f32>, tensor<i32>\n}\n",
    /* attributes of other dialects, of arguments and results; dynamic sizes, tuples, tokens */
    "module @named attributes {mhlo.num_partitions = 1 : i32} {\n"
    "  func.func public @main(%t: !stablehlo.token, %x: tensor<?x2xf32> {jax.arg_info = \"x\"})\n"
    "      -> (tensor<?x2xf32> {jax.result_info = \"y\"}, !stablehlo.token) {\n"
    "    %0 = stablehlo.tuple %x, %t : tuple<tensor<?x2xf32>, !stablehlo.token>\n"
    "    %1 = stablehlo.get_tuple_element %0[0] : (tuple<tensor<?x2xf32>, !stablehlo.token>) -> tensor<?x2xf32>\n"
    "    %2 = stablehlo.custom_call @f(%1) {backend_config = \"a\\00b\"} : (tensor<?x2xf32>) -> tensor<?x2xf32>\n"
    "    return %2, %t : tensor<?x2xf32>, !stablehlo.token\n"
    "  }\n"
    "  func.func private @declared(tensor<f32>)\n"
    "}\n",
    /* locations */
    "func.func @main(%x: tensor<f32>) -> tensor<f32> {\n"
    "  %0 = stablehlo.sine %x : tensor<f32> loc(\"f.py\":12:3)\n"
    "  %1 = stablehlo.cosine %0 : tensor<f32> loc(\"name\"(\"f.py\":1:2))\n"
    "  %2 = stablehlo.tan %1 : tensor<f32> loc(callsite(\"a\" at \"b\"))\n"
    "  %3 = stablehlo.tanh %2 : tensor<f32> loc(fused[\"a\", \"b\"])\n"
    "  %4 = stablehlo.tanh %3 : tensor<f32> loc(fused<\"why\">[\"a\", \"b\"])\n"
    "  %5 = stablehlo.tanh %4 : tensor<f32> loc(fused<3 : i32>[\"a\", \"b\"])\n"
    "  return %5 : tensor<f32>\n}\n",
};

/* The text after a round trip at the newest version equals that of every older one. */
static void test_versions(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++) {
        struct program x = program_text(programs[i]);
        struct strbuf expected = program_print(&x);
        for (int minor = 4; minor <= BC_STABLEHLO % 1000; minor++) {
            struct strbuf bytes = write_at(&x, BC_V(1, minor), HILO_OK);
            struct program y = program_bytes(bytes_of(&bytes));
            if (y.status != HILO_OK || ir_verify(y.m, &y.d) != HILO_OK)
                fail_msg("program %zu at 1.%d: %s", i, minor, program_message(&y));
            struct strbuf printed = program_print(&y);
            assert_string_equal(printed.p, expected.p);
            strbuf_free(&printed);
            strbuf_free(&bytes);
            program_free(&y);
        }
        strbuf_free(&expected);
        program_free(&x);
    }
}

/* The same program gives the same bytes, and what was read gives them again. */
static void test_stable(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++) {
        struct program x = program_text(programs[i]);
        struct strbuf a = write_at(&x, BC_STABLEHLO, HILO_OK), b = write_at(&x, BC_STABLEHLO, HILO_OK);
        assert_true(str_eq(bytes_of(&a), bytes_of(&b)));
        struct program y = program_bytes(bytes_of(&a));
        struct strbuf c = write_at(&y, BC_STABLEHLO, HILO_OK);
        assert_true(str_eq(bytes_of(&a), bytes_of(&c)));
        strbuf_free(&a);
        strbuf_free(&b);
        strbuf_free(&c);
        program_free(&x);
        program_free(&y);
    }
}

static void test_targets(void **state) {
    (void)state;
    static const struct { const char *op; int since; } rows[] = {
        {"%0 = stablehlo.add %a, %a : tensor<4xf32>", BC_V(1, 0)},
        {"%0 = stablehlo.tan %a : tensor<4xf32>", BC_V(1, 4)},
        {"%0 = stablehlo.convert %a : (tensor<4xf32>) -> tensor<4xf8E3M4>", BC_V(1, 7)},
        {"%0 = stablehlo.exponential %a {result_accuracy = #stablehlo.result_accuracy<"
         "mode = #stablehlo.result_accuracy_mode<HIGHEST>>} : tensor<4xf32>", BC_V(1, 9)},
        {"%0 = stablehlo.sine %a {result_accuracy = #stablehlo.result_accuracy<"
         "mode = #stablehlo.result_accuracy_mode<HIGHEST>>} : tensor<4xf32>", BC_V(1, 10)},
        {"%0:2 = \"stablehlo.all_gather\"(%a, %a) <{all_gather_dim = 0 : i64, "
         "replica_groups = dense<[[0]]> : tensor<1x1xi64>}> : (tensor<4xf32>, tensor<4xf32>) -> "
         "(tensor<4xf32>, tensor<4xf32>)", BC_V(1, 5)},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char text[512];
        snprintf(text, sizeof text, "func.func @main(%%a: tensor<4xf32>) {\n  %s\n  return\n}\n", rows[i].op);
        struct program x = program_text(text);
        struct strbuf good = write_at(&x, rows[i].since, HILO_OK);
        strbuf_free(&good);
        if (rows[i].since > BC_OLDEST_TARGET) {
            struct strbuf bad = write_at(&x, rows[i].since - 1, HILO_UNIMPLEMENTED);
            char both[2][24];
            snprintf(both[0], sizeof both[0], "StableHLO 1.%d,", rows[i].since % 1000);
            snprintf(both[1], sizeof both[1], "target is 1.%d", rows[i].since % 1000 - 1);
            if (!strstr(program_message(&x), both[0]) || !strstr(program_message(&x), both[1]))
                fail_msg("%s\nexpected %s … %s", program_message(&x), both[0], both[1]);
            assert_int_equal(x.d.first->line, 2);
            strbuf_free(&bad);
        }
        program_free(&x);
    }
}

static void test_target_range(void **state) {
    (void)state;
    static const int targets[] = {BC_V(0, 9), BC_V(0, 20), BC_STABLEHLO + 1, BC_V(2, 0), -1};
    for (size_t i = 0; i < sizeof targets / sizeof *targets; i++) {
        struct program x = program_text(small);
        struct strbuf none = write_at(&x, targets[i], HILO_INVALID_ARGUMENT);
        assert_non_null(strstr(program_message(&x), "cannot be written, only 1.0 to 1."));
        strbuf_free(&none);
        program_free(&x);
    }
}

static void test_version_names(void **state) {
    (void)state;
    static const struct { const char *text; int version; } rows[] = {
        {"1.9.0", BC_V(1, 9)}, {"1.9", BC_V(1, 9)}, {"0.20.3", BC_V(0, 20)}, {"12.345.6", BC_V(12, 345)},
        {"", -1}, {"1", -1}, {".", -1}, {"1.", -1}, {".1", -1}, {"1..2", -1}, {"1.2.", -1}, {"1.2.3.4", -1}, {"v1.2", -1},
        {"1.2 ", -1}, {"-1.2", -1}, {"1.99999999999999999999", -1},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        int version = -1;
        bool named = bc_version_named(str_of(rows[i].text), &version);
        if (named != (rows[i].version >= 0) || (named && version != rows[i].version))
            fail_msg("%s: %s, %d", rows[i].text, named ? "true" : "false", version);
    }
}

/* ---- refusals -------------------------------------------------------------------------------------------------- */

static void assert_refused(struct str bytes, const char *part) {
    struct program x = program_bytes(bytes);
    if (x.status != HILO_INVALID_ARGUMENT || x.d.errors != 1 || !strstr(program_message(&x), part))
        fail_msg("status %d, %u errors: %s\nexpected: %s", (int)x.status, x.d.errors, program_message(&x), part);
    program_free(&x);
}

/* The file is refused wherever it ends. */
static void test_truncated(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++) {
        struct program x = program_text(programs[i]);
        struct strbuf bytes = write_at(&x, BC_STABLEHLO, HILO_OK);
        for (size_t n = 0; n < bytes.n; n++)
            assert_refused((struct str){bytes.p, n}, n < 4 ? "expected MLIR bytecode" : "");
        strbuf_putc(&bytes, '\0');
        assert_refused(bytes_of(&bytes), "");
        strbuf_free(&bytes);
        program_free(&x);
    }
}

static void test_head(void **state) {
    (void)state;
    struct program x = program_text(small);
    struct strbuf bytes = write_at(&x, BC_STABLEHLO, HILO_OK);
    assert_true(read_is_bytecode(bytes_of(&bytes)));
    bytes.p[3]++;
    assert_false(read_is_bytecode(bytes_of(&bytes)));
    assert_refused(bytes_of(&bytes), "at byte 0: expected MLIR bytecode");
    bytes.p[3]--;
    bytes.p[4] = 7 << 1 | 1;
    assert_refused(bytes_of(&bytes), "version 7 of MLIR bytecode is newer than 6, the newest that is known");
    bytes.p[4] = 6 << 1 | 1;
    memset(bytes.p + 5, 'x', bytes.n - 5);
    assert_refused(bytes_of(&bytes), "ended by the byte 0");
    assert_refused(STR(""), "expected MLIR bytecode");
    strbuf_free(&bytes);
    program_free(&x);
}

/* Replaces the first `from` by `to`, of the same length. */
static void patch(struct strbuf *bytes, const char *from, const char *to) {
    char *at = memmem(bytes->p, bytes->n, from, strlen(from));
    assert_non_null(at);
    assert_int_equal(strlen(from), strlen(to));
    memcpy(at, to, strlen(to));
}

/* A file of tomorrow's StableHLO: the message has its version, and the newest that is known. */
static void test_newer(void **state) {
    (void)state;
    char known[64];
    snprintf(known, sizeof known, "is not of StableHLO %d.%d", BC_STABLEHLO / 1000, BC_STABLEHLO % 1000);
    struct program x = program_text(small);
    struct strbuf bytes = write_at(&x, BC_V(1, 17), HILO_OK);
    patch(&bytes, "StableHLO_v1.17.0", "StableHLO_v1.77.0");
    patch(&bytes, "add_v1", "add_v9");
    assert_refused(bytes_of(&bytes), known);
    assert_refused(bytes_of(&bytes), "the file is from StableHLO_v1.77.0");
    patch(&bytes, "add_v9", "odd_v1");
    assert_refused(bytes_of(&bytes), "odd_v1");
    strbuf_free(&bytes);
    program_free(&x);
}

/* No byte can be changed to something that crashes, hangs, or leaves an error unsaid; lengths and offsets are the likeliest. */
static void test_hostile_bytes(void **state) {
    (void)state;
    static const unsigned char values[] = {0x00, 0x01, 0x7F, 0x80, 0xFE, 0xFF};
    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++) {
        struct program x = program_text(programs[i]);
        struct strbuf bytes = write_at(&x, BC_STABLEHLO, HILO_OK);
        for (size_t at = 4; at < bytes.n; at++) {
            char kept = bytes.p[at];
            for (size_t k = 0; k < sizeof values; k++) {
                bytes.p[at] = (char)values[k];
                struct program y = program_bytes(bytes_of(&bytes));
                if (y.status == HILO_OK)
                    y.status = ir_verify(y.m, &y.d);
                if (y.status != HILO_OK && y.d.errors == 0)
                    fail_msg("program %zu, byte %zu = %u: no diagnostic", i, at, values[k]);
                program_free(&y);
            }
            bytes.p[at] = kept;
        }
        strbuf_free(&bytes);
        program_free(&x);
    }
}

/* A number of 2^60 costs nothing: the memory that is taken stays near what the file's size allows. */
static void test_hostile_lengths(void **state) {
    (void)state;
    static const char head[] = "ML\xEFR\x0D";
    static const char huge[] = "\0\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x0F"; /* 2^60 - 1 or so */
    for (unsigned char section = 0; section < 10; section++)
        for (int inside = 0; inside < 2; inside++) {
            struct strbuf bytes;
            strbuf_init(&bytes, mem_system_allocator());
            strbuf_putn(&bytes, head, sizeof head - 1);
            strbuf_putn(&bytes, "x", 2);
            strbuf_putc(&bytes, (char)section);
            if (inside)
                strbuf_putc(&bytes, (char)(9 << 1 | 1));
            strbuf_putn(&bytes, huge, 9);
            struct program x = program_bytes(bytes_of(&bytes));
            assert_int_equal(x.status, HILO_INVALID_ARGUMENT);
            assert_true(x.m->arena.bytes < 1 << 20);
            program_free(&x);
            strbuf_free(&bytes);
        }
}

int main(void) {
    if (setjmp(out_of_memory))
        return 1;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_versions),       cmocka_unit_test(test_stable),
        cmocka_unit_test(test_targets),        cmocka_unit_test(test_target_range),
        cmocka_unit_test(test_version_names),  cmocka_unit_test(test_truncated),
        cmocka_unit_test(test_head),           cmocka_unit_test(test_newer),
        cmocka_unit_test(test_hostile_bytes),  cmocka_unit_test(test_hostile_lengths),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
