/* Random convolutions: shapes, dimension numbers, strides, dilations, groups, padding and types, weights as an argument or a
 * constant, against the evaluator; machine code with one, two and three threads, and kernels for other processors in the
 * interpreter. All numbers are small integers, whose sums are exact, so that results are the same bits whatever the order of a
 * sum. Convolutions with fewer multiplications (lower/winograd.c) also get infinities and NaNs. */
#include "hilo.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { CASES = 70, FIRST = 100 /* seed */, SPATIAL = 3, RANK = SPATIAL + 2, MOST_PRODUCTS = 400000, TEXT = 1 << 20 };

static uint64_t state;

static int64_t take(int64_t n) { /* 0 … n - 1; xorshift64* */
    state ^= state >> 12;
    state ^= state << 25;
    state ^= state >> 27;
    return (int64_t)((state * UINT64_C(0x2545F4914F6CDD1D) >> 33) % (uint64_t)n);
}

static int64_t pick(const int64_t *v, size_t n) {
    return v[take((int64_t)n)];
}
#define PICK(...) pick((const int64_t[]){__VA_ARGS__}, sizeof(int64_t[]){__VA_ARGS__} / sizeof(int64_t))

struct convolution {
    uint32_t n;                                /* spatial dimensions */
    int64_t batch, channels, features, groups; /* channels of a group, features of all */
    struct {
        int64_t in, window, stride, low, high, base, dilation, out;
        int reverse;
    } dim[SPATIAL];
    int place[3][RANK]; /* by operand and result: where batch (input channels), features (output), spatial dimensions are */
    const char *type;
    hilo_dtype dtype;
    bool constant; /* the weights */
    bool residual; /* the result is the convolution of max(2x, 0) plus 2x, in the shape of x */
};

static void make(struct convolution *v) {
    static const struct {
        const char *name;
        hilo_dtype dtype;
    } types[] = {{"f32", HILO_F32}, {"f32", HILO_F32}, {"f32", HILO_F32}, {"f64", HILO_F64}, {"bf16", HILO_BF16}};
    int64_t products, kind;
    do {
        kind = take(4);
        int64_t multiple = PICK(1, 1, 1, 2, 3); /* few features in a group, groups, one group, long sums */
        *v = (struct convolution){.n = (uint32_t)PICK(1, 2, 2, 2, 3), .batch = PICK(1, 1, 2, 3)};
        v->groups = kind == 0 ? PICK(4, 7, 16, 24, 33) : kind == 1 ? PICK(2, 3) : 1;
        v->channels = kind == 0 ? PICK(1, 1, 2) : kind == 3 ? PICK(130, 520, 600) : PICK(1, 3, 8, 17);
        v->features = v->groups * (kind == 0 ? multiple : PICK(5, 8, 16, 24, 32, 70));
        products = v->batch * v->channels * v->features;
        for (uint32_t i = 0; i < v->n; i++) {
            int64_t window = PICK(1, 2, 3, 3, 5), dilation = PICK(1, 1, 1, 2), base = PICK(1, 1, 1, 1, 2), span;
            v->dim[i].in = PICK(1, 3, 7, 9, 14, 20, 33);
            v->dim[i].window = window;
            v->dim[i].stride = PICK(1, 1, 2, 3);
            v->dim[i].low = take(4) - 1;
            v->dim[i].high = take(4) - 1;
            v->dim[i].base = base;
            v->dim[i].dilation = dilation;
            v->dim[i].reverse = take(6) == 0;
            span = (v->dim[i].in - 1) * base + 1 + v->dim[i].low + v->dim[i].high - (window - 1) * dilation - 1;
            v->dim[i].out = span < 0 ? 0 : span / v->dim[i].stride + 1;
            products *= window * v->dim[i].out;
        }
    } while (products == 0 || products > (kind == 3 ? 8 : 1) * MOST_PRODUCTS);
    v->constant = take(2) == 0;
    size_t t = (size_t)take(sizeof types / sizeof *types);
    v->type = types[t].name;
    v->dtype = types[t].dtype;
    for (int k = 0; k < 3; k++) {
        int64_t form = take(3), rank = v->n + 2;
        for (int i = 0; i < (int)rank; i++) /* channels last, channels first, any order */
            v->place[k][i] = form == 0             ? (k == 1   ? (i < 2 ? (int)rank - 2 + i : i - 2)
                                                      : i == 0 ? 0
                                                      : i == 1 ? (int)rank - 1
                                                               : i - 1)
                             : form == 1 && k == 1 ? (i < 2 ? 1 - i : i)
                                                   : i;
        for (int64_t i = form < 2 ? 0 : rank - 1; i > 0; i--) {
            int64_t j = take(i + 1);
            int x = v->place[k][i];
            v->place[k][i] = v->place[k][j];
            v->place[k][j] = x;
        }
    }
}

static void append(char *text, const char *format, ...) {
    size_t n = strlen(text);
    va_list list;
    va_start(list, format);
    vsnprintf(text + n, TEXT - n, format, list);
    va_end(list);
}

/* The sizes of an operand or the result, in order. */
static void shape_of(const struct convolution *v, int k, int64_t *dims) {
    dims[v->place[k][0]] = k == 1 ? v->channels : v->batch;
    dims[v->place[k][1]] = k == 0 ? v->channels * v->groups : v->features;
    for (uint32_t i = 0; i < v->n; i++)
        dims[v->place[k][2 + i]] = k == 0 ? v->dim[i].in : k == 1 ? v->dim[i].window : v->dim[i].out;
}

static void append_type(char *text, const struct convolution *v, int k) {
    int64_t dims[RANK];
    shape_of(v, k, dims);
    append(text, "tensor<");
    for (uint32_t i = 0; i < v->n + 2; i++)
        append(text, "%lldx", (long long)dims[i]);
    append(text, "%s>", v->type);
}

static void append_numbers(char *text, const struct convolution *v, int k, char first, char second) {
    for (uint32_t i = 0; i < v->n + 2; i++) {
        int at = 0;
        while (v->place[k][at] != (int)i)
            at++;
        append(text, "%s%c", i ? ", " : "[", at == 0 ? first : at == 1 ? second : (char)('0' + at - 2));
    }
    append(text, "]");
}

static void append_list(char *text, const struct convolution *v, const char *name, int field) {
    append(text, "%s = [", name);
    for (uint32_t i = 0; i < v->n; i++) {
        int64_t x[] = {v->dim[i].stride, v->dim[i].base, v->dim[i].dilation};
        append(text, "%s%lld", i ? ", " : "", (long long)x[field]);
    }
    append(text, "], ");
}

static void write(const struct convolution *v, const hilo_buffer *weights, char *text) {
    text[0] = '\0';
    append(text, "func.func @main(%%x: ");
    append_type(text, v, 0);
    append(text, ", %%%s: ", v->constant ? "unused" : "w");
    append_type(text, v, 1);
    append(text, ") -> ");
    append_type(text, v, 2);
    append(text, " {\n");
    if (v->constant) {
        append(text, "  %%w = stablehlo.constant dense<\"0x");
        char *at = text + strlen(text);
        for (size_t i = 0; i < hilo_buffer_bytes(weights) && at + 2 < text + TEXT; i++, at += 2)
            snprintf(at, 3, "%02X", ((const unsigned char *)hilo_buffer_data(weights))[i]);
        append(text, "\"> : ");
        append_type(text, v, 1);
        append(text, "\n");
    }
    if (v->residual) {
        const char *lines[] = {"  %%m = stablehlo.add %%x, %%x : ", "  %%zero = stablehlo.constant dense<0.0> : ",
                               "  %%r = stablehlo.maximum %%m, %%zero : "};
        for (int i = 0; i < 3; i++) {
            append(text, lines[i]);
            append_type(text, v, 0);
            append(text, "\n");
        }
    }
    append(text, "  %%y = stablehlo.convolution(%%%s, %%w) dim_numbers = ", v->residual ? "r" : "x");
    append_numbers(text, v, 0, 'b', 'f');
    append(text, "x");
    append_numbers(text, v, 1, 'i', 'o');
    append(text, "->");
    append_numbers(text, v, 2, 'b', 'f');
    append(text, ", window = {");
    append_list(text, v, "stride", 0);
    append(text, "pad = [");
    for (uint32_t i = 0; i < v->n; i++)
        append(text, "%s[%lld, %lld]", i ? ", " : "", (long long)v->dim[i].low, (long long)v->dim[i].high);
    append(text, "], ");
    append_list(text, v, "lhs_dilate", 1);
    append_list(text, v, "rhs_dilate", 2);
    append(text, "reverse = [");
    for (uint32_t i = 0; i < v->n; i++)
        append(text, "%s%s", i ? ", " : "", v->dim[i].reverse ? "true" : "false");
    append(text, "]} {batch_group_count = 1 : i64, feature_group_count = %lld : i64} : (", (long long)v->groups);
    append_type(text, v, 0);
    append(text, ", ");
    append_type(text, v, 1);
    append(text, ") -> ");
    append_type(text, v, 2);
    if (v->residual) {
        append(text, "\n  %%sum = stablehlo.add %%y, %%m : ");
        append_type(text, v, 2);
    }
    append(text, "\n  return %%%s : ", v->residual ? "sum" : "y");
    append_type(text, v, 2);
    append(text, "\n}\n");
}

/* A buffer of integers from -3 to 3; in one of `rare` f32 elements, if not 0, an infinity or a NaN. */
static hilo_buffer *fill(hilo_client *client, const struct convolution *v, int k, int64_t rare) {
    int64_t dims[RANK];
    hilo_buffer *b = NULL;
    shape_of(v, k, dims);
    assert_int_equal(hilo_buffer_create(client, v->dtype, dims, v->n + 2, &b), HILO_OK);
    size_t size = v->dtype == HILO_F64 ? 8 : v->dtype == HILO_F32 ? 4 : 2;
    for (size_t i = 0; i < hilo_buffer_bytes(b) / size; i++) {
        double x = (double)(take(7) - 3);
        float f = rare && take(rare) == 0 ? (float)PICK(-1, 0, 1) / 0.0f : (float)x;
        char *to = (char *)hilo_buffer_data(b) + i * size;
        uint32_t bits;
        memcpy(&bits, &f, sizeof bits);
        uint16_t high = (uint16_t)(bits >> 16);
        memcpy(to, size == 8 ? (const void *)&x : size == 4 ? (const void *)&f : (const void *)&high, size);
    }
    return b;
}

static const struct way {
    const char *name;
    int32_t threads;
    hilo_backend backend;
    const char *target;
} ways[] = {{"the evaluator", 1, HILO_BACKEND_REFERENCE, NULL},
            {"one thread", 1, HILO_BACKEND_AUTO, NULL},
            {"two threads", 2, HILO_BACKEND_AUTO, NULL},
            {"three threads", 3, HILO_BACKEND_AUTO, NULL},
            {"vectors of 16 bytes", 1, HILO_BACKEND_INTERPRETER, "x86-64-v2"},
            {"vectors of 32 bytes", 1, HILO_BACKEND_INTERPRETER, "x86-64-v3"},
            {"vectors of 64 bytes", 1, HILO_BACKEND_INTERPRETER, "x86-64-v4"}};
enum { WAYS = sizeof ways / sizeof *ways };

static void create_clients(hilo_client **client) {
    for (int32_t t = 1; t < 4; t++) {
        hilo_client_options o;
        hilo_client_options_init(&o);
        o.threads = t;
        assert_int_equal(hilo_client_create(&o, &client[t]), HILO_OK);
    }
}

/* The same bits, or both NaN. */
static bool is_same(const struct convolution *v, const hilo_buffer *a, const hilo_buffer *b) {
    const float *x = hilo_buffer_data(a), *y = hilo_buffer_data(b);
    size_t n = hilo_buffer_bytes(a);
    if (n != hilo_buffer_bytes(b) || v->dtype != HILO_F32)
        return n == hilo_buffer_bytes(b) && memcmp(x, y, n) == 0;
    for (size_t i = 0; i < n / sizeof *x; i++)
        if (memcmp(x + i, y + i, sizeof *x) != 0 && !(isnan(x[i]) && isnan(y[i])))
            return false;
    return true;
}

/* Case i, in all ways, on clients by threads. */
static void compare(hilo_client **client, const struct convolution *v, int i, int64_t rare) {
    static char text[TEXT];
    hilo_buffer *in[4][2] = {{NULL}}, *expected = NULL; /* by threads */
    for (int t = 1; t < 4; t++) {
        state = 88172645463325252u + (uint64_t)(FIRST + i);
        in[t][0] = fill(client[t], v, 0, rare);
        in[t][1] = fill(client[t], v, 1, 0);
    }
    write(v, in[1][1], text);
    for (int w = 0; w < WAYS; w++) {
        hilo_client *c = client[ways[w].threads];
        hilo_compile_options o;
        hilo_executable *exe = NULL;
        hilo_buffer *out = NULL;
        hilo_compile_options_init(&o);
        o.backend = ways[w].backend;
        o.target_cpu = ways[w].target;
        o.cache = 0;
        if (hilo_compile_source(c, text, strlen(text), NULL, &o, &exe) != HILO_OK)
            fail_msg("case %d, %s does not compile:\n%s", i, ways[w].name, text);
        assert_int_equal(hilo_execute(exe, NULL, in[ways[w].threads], 2, &out, 1), HILO_OK);
        if (w && !is_same(v, out, expected))
            fail_msg("case %d, %s: other results than the evaluator's:\n%s", i, ways[w].name, text);
        hilo_executable_release(exe);
        if (w)
            hilo_buffer_release(out);
        else
            expected = out;
    }
    hilo_buffer_release(expected);
    for (int k = 2; k < 8; k++)
        hilo_buffer_release(in[k / 2][k % 2]);
}

static void random_convolutions(void **unused) {
    hilo_client *client[4] = {NULL};
    (void)unused;
    create_clients(client);
    for (int i = 0; i < CASES; i++) {
        struct convolution v;
        state = 0x9E3779B97F4A7C15u + (uint64_t)(FIRST + i) * 7919;
        make(&v);
        compare(client, &v, i, 0);
    }
    for (int t = 1; t < 4; t++)
        hilo_client_release(client[t]);
}

/* Windows of 3x3 with a stride of 1: images of odd and even sizes, which fill units or not, long sums, channels that do not
   fill cache lines, features that do not fill panels; constant weights, and others, whose features are not contiguous, or
   whose images have channels first; inputs that are computed. */
static void few_multiplications(void **unused) {
    static const int64_t shapes[][6] = {/* batch, channels, features, rows, columns, padding */
                                        {1, 32, 32, 16, 16, 1}, {2, 17, 24, 13, 11, 1}, {1, 144, 40, 12, 9, 2},
                                        {3, 48, 70, 8, 7, 0},   {1, 16, 16, 40, 33, 1}, {5, 256, 16, 7, 7, 1},
                                        {2, 64, 64, 16, 16, 1}, {3, 32, 48, 15, 17, 1}};
    hilo_client *client[4] = {NULL};
    (void)unused;
    create_clients(client);
    for (int i = 0; i < 3 * (int)(sizeof shapes / sizeof *shapes); i++) {
        const int64_t *s = shapes[i / 3];
        struct convolution v = {.n = 2,
                                .batch = s[0],
                                .channels = s[1],
                                .features = s[2],
                                .groups = 1,
                                .type = "f32",
                                .dtype = HILO_F32,
                                .constant = i % 3 == 0,
                                .residual = i % 3 && s[1] == s[2] && s[5] == 1,
                                .place = {{0, 3, 1, 2}, {2, 3, 0, 1}, {0, 3, 1, 2}}};
        if (!v.constant)
            memcpy(v.place[1], (const int[]){1, 0, 2, 3}, 4 * sizeof(int));
        if (i % 3 == 2)
            for (int k = 0; k < 4; k++)
                v.place[0][k] = v.place[2][k] = k;
        for (int d = 0; d < 2; d++) {
            v.dim[d].in = s[3 + d];
            v.dim[d].window = 3;
            v.dim[d].stride = v.dim[d].base = v.dim[d].dilation = 1;
            v.dim[d].low = s[5];
            v.dim[d].high = s[5] - (v.residual ? 0 : d);
            v.dim[d].out = v.dim[d].in + v.dim[d].low + v.dim[d].high - 2;
            v.dim[d].reverse = i / 3 == d;
        }
        compare(client, &v, i, i / 3 % 3 * 500);
    }
    for (int t = 1; t < 4; t++)
        hilo_client_release(client[t]);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(random_convolutions), cmocka_unit_test(few_multiplications)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
