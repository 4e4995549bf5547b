/* Products of matrices by OpenBLAS, through the backend `library`: all types and layouts against the evaluator, the same bits
 * for any number of threads, and what is refused. Skipped where OpenBLAS is not installed. */
#include "hilo.h"
#include "library/library.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static bool installed(void) {
    struct diag_list d;
    diag_init(&d, mem_system_allocator());
    bool found = lib_external_open(&d) == HILO_OK;
    if (!found)
        print_message("OpenBLAS is not installed: %s\n", d.first->message);
    diag_clear(&d);
    return found;
}

/* ---- a product ------------------------------------------------------------------------------- */

struct product {
    const char *type;
    hilo_dtype dtype;
    int64_t batch, m, n, k;
    bool a_transposed, b_transposed;
};

static void shape(int64_t *dims, int64_t batch, int64_t rows, int64_t columns, bool transposed) {
    dims[0] = batch;
    dims[1] = transposed ? columns : rows;
    dims[2] = transposed ? rows : columns;
}

static void program(const struct product *p, char *out, size_t size) {
    int64_t a[3], b[3];
    shape(a, p->batch, p->m, p->k, p->a_transposed);
    shape(b, p->batch, p->k, p->n, p->b_transposed);
    snprintf(out, size,
             "func.func @main(%%a: tensor<%dx%dx%dx%s>, %%b: tensor<%dx%dx%dx%s>) -> tensor<%dx%dx%dx%s> {\n"
             "  %%0 = stablehlo.dot_general %%a, %%b, batching_dims = [0] x [0], contracting_dims = [%d] x [%d] : "
             "(tensor<%dx%dx%dx%s>, tensor<%dx%dx%dx%s>) -> tensor<%dx%dx%dx%s>\n"
             "  return %%0 : tensor<%dx%dx%dx%s>\n}\n",
             (int)a[0], (int)a[1], (int)a[2], p->type, (int)b[0], (int)b[1], (int)b[2], p->type, (int)p->batch, (int)p->m,
             (int)p->n, p->type, p->a_transposed ? 1 : 2, p->b_transposed ? 2 : 1, (int)a[0], (int)a[1], (int)a[2], p->type,
             (int)b[0], (int)b[1], (int)b[2], p->type, (int)p->batch, (int)p->m, (int)p->n, p->type, (int)p->batch,
             (int)p->m, (int)p->n, p->type);
}

static size_t reals(hilo_dtype t) { return t == HILO_C64 || t == HILO_C128 ? 2 : 1; }
static bool wide(hilo_dtype t) { return t == HILO_F64 || t == HILO_C128; }

static double real_at(const void *data, hilo_dtype t, size_t i) {
    return wide(t) ? ((const double *)data)[i] : (double)((const float *)data)[i];
}

static hilo_buffer *fill(hilo_client *client, hilo_dtype t, const int64_t *dims, unsigned seed) {
    hilo_buffer *b = NULL;
    assert_int_equal(hilo_buffer_create(client, t, dims, 3, &b), HILO_OK);
    void *data = hilo_buffer_data(b);
    for (size_t i = 0; i < hilo_buffer_bytes(b) / hilo_dtype_size(t) * reals(t); i++) {
        seed = seed * 1664525 + 1013904223;
        double x = (double)(seed >> 8) / (1 << 24) - 0.5;
        if (wide(t))
            ((double *)data)[i] = x;
        else
            ((float *)data)[i] = (float)x;
    }
    return b;
}

static void count_step(void *user, const hilo_step_event *event) {
    *(int *)user += strcmp(event->name, "blas") == 0;
}

/* Runs the program; *calls counts the steps of OpenBLAS. */
static void run(const struct product *p, hilo_backend backend, int threads, hilo_buffer **out, hilo_client **client,
                int *calls) {
    char text[2048];
    int64_t dims[3];
    hilo_client_options co;
    hilo_compile_options o;
    hilo_execute_options e;
    hilo_module *module = NULL;
    hilo_executable *exe = NULL;
    hilo_client_options_init(&co);
    hilo_compile_options_init(&o);
    hilo_execute_options_init(&e);
    co.threads = threads;
    o.backend = backend;
    e.step = count_step;
    e.step_user = calls;
    program(p, text, sizeof text);
    assert_int_equal(hilo_client_create(&co, client), HILO_OK);
    assert_int_equal(hilo_module_parse(*client, text, strlen(text), NULL, &module), HILO_OK);
    assert_int_equal(hilo_compile(*client, module, &o, &exe), HILO_OK);
    hilo_buffer *in[2];
    shape(dims, p->batch, p->m, p->k, p->a_transposed);
    in[0] = fill(*client, p->dtype, dims, 1);
    shape(dims, p->batch, p->k, p->n, p->b_transposed);
    in[1] = fill(*client, p->dtype, dims, 2);
    assert_int_equal(hilo_execute(exe, &e, in, 2, out, 1), HILO_OK);
    hilo_buffer_release(in[0]);
    hilo_buffer_release(in[1]);
    hilo_executable_release(exe);
    hilo_module_release(module);
}

static void check(const struct product *p) {
    hilo_client *clients[3];
    hilo_buffer *want, *one, *three;
    int calls = 0, none = 0;
    run(p, HILO_BACKEND_REFERENCE, 1, &want, &clients[0], &none);
    run(p, HILO_BACKEND_LIBRARY, 1, &one, &clients[1], &calls);
    run(p, HILO_BACKEND_LIBRARY, 3, &three, &clients[2], &calls);
    if (p->k != 1) /* then it may be a product of elements */
        assert_int_equal(calls, p->batch * p->m * p->n * p->k >= 4096 ? 2 : 0);
    assert_memory_equal(hilo_buffer_data(one), hilo_buffer_data(three), hilo_buffer_bytes(one));
    double bound = (wide(p->dtype) ? 1e-15 : 1e-6) * (double)(p->k + 1);
    for (size_t i = 0; i < hilo_buffer_bytes(want) / hilo_dtype_size(p->dtype) * reals(p->dtype); i++) {
        double x = real_at(hilo_buffer_data(one), p->dtype, i), y = real_at(hilo_buffer_data(want), p->dtype, i);
        if (!(fabs(x - y) <= bound))
            fail_msg("%s %d x %d x %d: element %zu is %g, not %g", p->type, (int)p->m, (int)p->n, (int)p->k, i, x, y);
    }
    hilo_buffer_release(want);
    hilo_buffer_release(one);
    hilo_buffer_release(three);
    for (int i = 0; i < 3; i++)
        hilo_client_release(clients[i]);
}

/* ---- tests ----------------------------------------------------------------------------------- */

static void test_products(void **state) {
    static const struct { const char *name; hilo_dtype dtype; } types[] = {
        {"f32", HILO_F32}, {"f64", HILO_F64}, {"complex<f32>", HILO_C64}, {"complex<f64>", HILO_C128}};
    static const int64_t sizes[][4] = {{1, 16, 16, 16}, {3, 17, 33, 9}, {1, 300, 600, 20}, {2, 1, 64, 64}, {1, 64, 1, 64},
                                       {2, 70, 70, 1}, {1, 2, 2, 2}, {5, 4, 4, 80}};
    (void)state;
    if (!installed())
        skip();
    for (size_t t = 0; t < 4; t++)
        for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
            for (int layout = 0; layout < 4; layout++)
                check(&(struct product){types[t].name, types[t].dtype, sizes[s][0], sizes[s][1], sizes[s][2], sizes[s][3],
                                        layout & 1, layout >> 1});
}

/* Nothing to sum up is zero, whatever was in the memory. */
static void test_empty(void **state) {
    (void)state;
    if (!installed())
        skip();
    check(&(struct product){"f32", HILO_F32, 1, 40, 40, 0, false, false});
    check(&(struct product){"f64", HILO_F64, 0, 40, 40, 40, false, true});
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_products), cmocka_unit_test(test_empty)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
