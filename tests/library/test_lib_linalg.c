/* cholesky and triangular_solve against the evaluator. */
#include "library_test.h"

static struct check_rule close_to(const char *type) {
    bool wide = strcmp(type, "f64") == 0 || strcmp(type, "complex<f64>") == 0;
    return (struct check_rule){.how = CHECK_ALMOST, .tolerance = wide ? 1e-10 : 2e-3};
}

/* A number of a tensor of floats or complex numbers, and its change. */
static void scale(struct value *v, size_t i, double factor, double add) {
    const struct ir_dtype_info *t = ir_dtype_get(v->dtype);
    size_t parts = t->cls == IR_COMPLEX_CLASS ? 2 : 1, bytes = t->bytes / parts;
    for (size_t p = 0; p < parts; p++) {
        char *at = (char *)v->data + (i * parts + p) * bytes;
        double x;
        fp_decode_n_f64(t->fp, at, &x, 1);
        x = x * factor + (p == 0 ? add : 0);
        fp_encode_n_f64(t->fp, &x, at, 1);
    }
}

/* Diagonals are large: both triangles of a matrix are well-conditioned, and it is positive definite. */
static void dominate(struct value *a) {
    size_t n = (size_t)a->dims[a->rank - 1];
    for (size_t i = 0; i < a->count; i++)
        scale(a, i, 1.0 / (double)n, i / n % n == i % n ? 2.0 : 0.0);
}

static void prepare(struct value *const *args) {
    dominate(args[0]);
}

/* A matrix that is not positive definite from row n / 2 on, and a NaN that earlier columns do not see. */
static void prepare_indefinite(struct value *const *args) {
    dominate(args[0]);
    size_t n = (size_t)args[0]->dims[args[0]->rank - 1];
    scale(args[0], n / 2 * (n + 1), 1.0, -9.0);
    scale(args[0], (n - 1) * n + n / 3, 0.0, (double)NAN);
}

static void prepare_special(struct value *const *args) {
    dominate(args[0]);
    size_t n = (size_t)args[0]->dims[args[0]->rank - 1];
    scale(args[0], n / 2 * (n + 1), 0.0, (double)NAN);
    scale(args[1], n / 4, 0.0, (double)NAN);
}

static void cholesky(const char *type, const char *batch, int n, bool lower, void (*prepare_)(struct value *const *)) {
    routine_check(&(struct routine_case){
        .kind = IR_CHOLESKY,
        .fill = {FILL_PLAIN},
        .rule = close_to(type),
        .seed = 31,
        .prepare = prepare_,
        .text =
            program("func.func @main(%%a: tensor<%s%dx%dx%s>) -> tensor<%s%dx%dx%s> {\n"
                    "  %%r = stablehlo.cholesky %%a, lower = %s : tensor<%s%dx%dx%s>\n  return %%r : tensor<%s%dx%dx%s>\n}\n",
                    batch, n, n, type, batch, n, n, type, lower ? "true" : "false", batch, n, n, type, batch, n, n, type)});
}

static const char *const types[] = {"f32", "f64", "complex<f32>", "complex<f64>"};

static void test_cholesky(void **state) {
    (void)state;
    static const int sizes[] = {1, 2, 5, 6, 17, 64, 65, 130, 200};
    for (int t = 0; t < 4; t++)
        for (int lower = 0; lower < 2; lower++) {
            for (int s = 0; s < 9; s++)
                cholesky(types[t], "", sizes[s], lower, prepare);
            cholesky(types[t], "", 0, lower, NULL);
            cholesky(types[t], "3x2x", 9, lower, prepare);
            cholesky(types[t], "2x", 140, lower, prepare);
            cholesky(types[t], "0x", 3, lower, NULL);
            cholesky(types[t], "", 150, lower, prepare_indefinite);
            cholesky(types[t], "", 20, lower, prepare_indefinite);
        }
}

static void solve(const char *type, const char *batch, int rows, int cols, bool left, bool lower, bool unit,
                  const char *transpose, void (*prepare_)(struct value *const *)) {
    int n = left ? rows : cols;
    routine_check(&(struct routine_case){
        .kind = IR_TRIANGULAR_SOLVE,
        .fill = {FILL_PLAIN, FILL_PLAIN},
        .rule = close_to(type),
        .seed = 32,
        .prepare = prepare_,
        .text = program(
            "func.func @main(%%a: tensor<%s%dx%dx%s>, %%b: tensor<%s%dx%dx%s>) -> tensor<%s%dx%dx%s> {\n"
            "  %%r = \"stablehlo.triangular_solve\"(%%a, %%b) <{left_side = %s, lower = %s, unit_diagonal = %s,\n"
            "    transpose_a = #stablehlo<transpose %s>}>\n"
            "    : (tensor<%s%dx%dx%s>, tensor<%s%dx%dx%s>) -> tensor<%s%dx%dx%s>\n  return %%r : tensor<%s%dx%dx%s>\n}\n",
            batch, n, n, type, batch, rows, cols, type, batch, rows, cols, type, left ? "true" : "false",
            lower ? "true" : "false", unit ? "true" : "false", transpose, batch, n, n, type, batch, rows, cols, type, batch,
            rows, cols, type, batch, rows, cols, type)});
}

static void test_triangular_solve(void **state) {
    (void)state;
    static const char *const transposes[] = {"NO_TRANSPOSE", "TRANSPOSE", "ADJOINT"};
    static const int sizes[][2] = {{1, 1}, {5, 3}, {7, 40}, {33, 17}, {80, 16}, {3, 0}, {0, 4}};
    for (int t = 0; t < 4; t++)
        for (int how = 0; how < 24; how++) {
            bool left = how & 1, lower = how & 2, unit = how & 4;
            const char *transpose = transposes[how / 8];
            for (int s = 0; s < 7; s++)
                solve(types[t], "", sizes[s][0], sizes[s][1], left, lower, unit, transpose,
                      sizes[s][0] && sizes[s][1] ? prepare : NULL);
            solve(types[t], "3x2x", 8, 9, left, lower, unit, transpose, prepare);
            solve(types[t], "", 24, 24, left, lower, unit, transpose, prepare_special);
        }
    solve("f32", "", 150, 150, true, true, false, "NO_TRANSPOSE", prepare);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_cholesky), cmocka_unit_test(test_triangular_solve)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
