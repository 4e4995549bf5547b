/* What installed libraries compute: each op against the evaluator over types, layouts and shapes, the same bits for any number
 * of threads, and hilo's own code where a library is not there or cannot. Libraries that are missing are skipped. */
#include "library_test.h"
#include "../test.h"

#include "external/external.h"

/* Whether the library takes ops of which the text has one; else nothing of it is tested. */
static bool is_here(enum lib_external by) {
    if (ext_missing(by))
        print_message("skipped: %s is not installed: %s\n", ext_title(by), ext_missing(by));
    return !ext_missing(by);
}

static void need(enum lib_external by) {
    if (ext_missing(by))
        SKIP_BECAUSE("%s is not installed: %s", ext_title(by), ext_missing(by));
}

/* ---- one op ---------------------------------------------------------------------------------------------------------- */

struct external_case {
    struct routine_case c;
    enum lib_external by;
    bool refuses; /* the library cannot: nothing is compared */
    bool may;     /* that depends on its version and the processor */
};

static void external_call(const struct lib_match *match, struct value *const *in, uint32_t nin, struct value *out,
                          const struct lib_pool *pool) {
    const void *ins[MOST_VALUES];
    void *outs[1] = {out->data};
    char *scratch = aligned_alloc(64, (match->scratch_bytes + 64) & ~(size_t)63);
    assert_non_null(scratch);
    memset(scratch, 0xA5, match->scratch_bytes);
    for (uint32_t i = 0; i < nin; i++)
        ins[i] = in[i]->data;
    struct lib_call call = {match->params, match->nparams, ins, outs, scratch, pool, NULL, NULL};
    assert_int_equal(lib_run_match(match, &call), HILO_OK);
    free(scratch);
}

/* The library, and hilo's code from the same parameters, against the evaluator. */
static void external_check(const struct external_case *e) {
    const struct routine_case *c = &e->c;
    struct value *want, *first, *out;
    struct case_program p;
    struct lib_match match;
    case_read(c, &p);
    bool takes = ext_match(p.m, p.op, e->by, NULL, &match);
    if (takes == e->refuses && !e->may)
        fail_msg("%s %s\nin: %s", ext_title(e->by), e->refuses ? "takes it" : "does not take it", c->text);
    if (!takes) {
        case_close(&p);
        return;
    }
    assert_int_equal(match.by, e->by);
    case_evaluate(&p, &want);
    struct value **in = p.in;
    uint32_t nin = p.nin;
    first = case_tensor(p.m, ir_result(p.m, p.op, 0));
    external_call(&match, in, nin, first, &pools[0]); /* nothing is prepared: hilo's code */
    case_same(c, first, want, &c->rule, "hilo's code against the evaluator");
    lib_prepare(&match, ext_rows, NULL);
    if (!match.how)
        fail_msg("%s cannot be prepared\nin: %s", ext_title(e->by), c->text);
    memset(first->data, 0x5A, first->bytes);
    external_call(&match, in, nin, first, &pools[0]);
    case_same(c, first, want, &c->rule, "the library against the evaluator");
    for (int t = 0; t < POOLS; t++)
        for (int again = 0; again < 2; again++) {
            out = case_tensor(p.m, ir_result(p.m, p.op, 0));
            external_call(&match, in, nin, out, &pools[t]);
            if (first->bytes && memcmp(first->data, out->data, first->bytes) != 0)
                fail_msg("pool %d changes the result\nin: %s", t, c->text);
            value_unref(out);
        }
    lib_release(&match);
    assert_null(match.how);
    value_unref(want);
    value_unref(first);
    case_close(&p);
}

/* ---- products -------------------------------------------------------------------------------------------------------- */

struct dot_type {
    const char *in, *out;
    double close;
};

static void dot(enum lib_external by, const struct dot_type *t, const char *numbers, const char *a, const char *b,
                const char *r, bool refuses) {
    bool whole = strcmp(t->in, "i8") == 0;
    external_check(&(struct external_case){
        .by = by,
        .refuses = refuses,
        .may = strcmp(t->in, "bf16") == 0,
        .c = {.kind = IR_DOT_GENERAL,
              .fill = {FILL_PLAIN, FILL_PLAIN},
              .seed = 71,
              .rule = {.how = whole ? CHECK_EXACT : CHECK_ALMOST, .tolerance = t->close},
              .text = program("func.func @main(%%a: tensor<%s%s>, %%b: tensor<%s%s>) -> tensor<%s%s> {\n"
                              "  %%r = stablehlo.dot_general %%a, %%b, %s : (tensor<%s%s>, tensor<%s%s>) -> tensor<%s%s>\n"
                              "  return %%r : tensor<%s%s>\n}\n",
                              a, t->in, b, t->in, r, t->out, numbers, a, t->in, b, t->in, r, t->out, r, t->out)}});
}

static void dots(enum lib_external by, const struct dot_type *t) {
    dot(by, t, "contracting_dims = [1] x [0]", "32x32x", "32x32x", "32x32x", false);
    dot(by, t, "contracting_dims = [1] x [0]", "300x70x", "70x530x", "300x530x", false);
    dot(by, t, "contracting_dims = [1] x [0]", "257x33x", "33x513x", "257x513x", false);
    dot(by, t, "contracting_dims = [0] x [1]", "129x65x", "63x129x", "65x63x", false);
    dot(by, t, "contracting_dims = [1] x [1]", "1x4000x", "77x4000x", "1x77x", false);
    dot(by, t, "contracting_dims = [1] x [0]", "601x300x", "300x1x", "601x1x", false);
    dot(by, t, "batching_dims = [0] x [0], contracting_dims = [2] x [1]", "37x17x33x", "37x33x9x", "37x17x9x", false);
    dot(by, t, "batching_dims = [0] x [0], contracting_dims = [2] x [2]", "3x260x64x", "3x40x64x", "3x260x40x", false);
    dot(by, t, "contracting_dims = [0, 1] x [0, 1]", "9x15x44x", "9x15x51x", "44x51x", false);
    dot(by, t, "contracting_dims = [1] x [0]", "2x2x", "2x2x", "2x2x", true); /* not worth it */
    dot(by, t, "contracting_dims = [1] x [0]", "40x0x", "0x40x", "40x40x", true);
    dot(by, t, "contracting_dims = [1] x [0]", "0x40x", "40x40x", "0x40x", true);
}

static void test_products(void **state) {
    static const struct dot_type blas[] = {{"f32", "f32", 2e-3},
                                           {"f64", "f64", 1e-11},
                                           {"complex<f32>", "complex<f32>", 3e-3},
                                           {"complex<f64>", "complex<f64>", 1e-11}};
    static const struct dot_type dnn[] = {{"f32", "f32", 2e-3}, {"bf16", "f32", 2e-3}, {"bf16", "bf16", 1}, {"i8", "i32", 0}};
    (void)state;
    for (size_t i = 0; is_here(LIB_OPENBLAS) && i < 4; i++)
        dots(LIB_OPENBLAS, &blas[i]);
    for (size_t i = 0; is_here(LIB_ONEDNN) && i < 4; i++)
        if (i < 3 || __builtin_cpu_supports("avx512vnni"))
            dots(LIB_ONEDNN, &dnn[i]);
}

/* ---- convolution ----------------------------------------------------------------------------------------------------- */

struct convolution {
    const char *numbers, *window; /* window: what is between the braces */
    int feature_groups;
    const char *x, *w, *y; /* shapes */
    bool refuses;
};

static void test_convolution(void **state) {
    static const struct convolution forms[] = {
        {"[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]", "stride = [2, 2], pad = [[2, 3], [2, 3]]", 1, "3x32x32x3x", "7x7x3x16x",
         "3x16x16x16x", false},
        {"[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]", "stride = [1, 1], pad = [[1, 1], [1, 1]]", 1, "1x28x28x32x", "3x3x32x48x",
         "1x28x28x48x", false},
        {"[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]", "stride = [2, 1], pad = [[0, 1], [2, 0]]", 1, "2x19x18x15x", "3x3x15x17x",
         "2x9x18x17x", false},
        {"[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]", "stride = [2, 2]", 1, "37x14x14x32x", "1x1x32x64x", "37x7x7x64x", false},
        {"[b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1]", "stride = [1, 2], pad = [[1, 1], [1, 1]], rhs_dilate = [2, 1]", 1,
         "2x6x29x30x", "20x6x3x3x", "2x20x27x15x", false},
        {"[b, f, 0, 1]x[o, i, 0, 1]->[b, 0, 1, f]", "pad = [[1, 1], [1, 1]]", 1, "1x16x30x30x", "32x16x3x3x", "1x30x30x32x",
         false},
        {"[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]", "pad = [[1, 1], [1, 1]]", 32, "2x20x20x32x", "3x3x1x32x", "2x20x20x32x",
         false},
        {"[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]", "pad = [[1, 1], [1, 1]]", 2, "1x20x20x32x", "3x3x16x24x", "1x20x20x24x",
         false},
        {"[b, 0, f]x[0, i, o]->[b, 0, f]", "stride = [1], pad = [[3, 3]]", 1, "2x120x16x", "4x16x32x", "2x123x32x", false},
        {"[b, 0, 1, 2, f]x[0, 1, 2, i, o]->[b, 0, 1, 2, f]", "pad = [[1, 1], [1, 1], [1, 1]]", 1, "1x8x9x10x8x", "3x3x3x8x16x",
         "1x8x9x10x16x", false},
        {"[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]", "lhs_dilate = [2, 2]", 1, "2x15x14x16x", "3x3x16x16x", "2x27x25x16x", true},
        {"[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]", "reverse = [true, true]", 1, "2x15x14x16x", "3x3x16x16x", "2x13x12x16x",
         true},
        {"[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]", "pad = [[-1, 0], [0, 0]]", 1, "2x15x14x16x", "3x3x16x16x", "2x12x12x16x",
         true},
        {"[b, 0, f]x[0, i, o]->[b, 0, f]", "stride = [1]", 1, "0x90x40x", "5x40x60x", "0x86x60x", true},
        {"[b, 0, f]x[0, i, o]->[b, 0, f]", "stride = [1]", 1, "2x90x0x", "5x0x60x", "2x86x60x", true},
    };
    static const char *const types[][2] = {{"f32", "f32"}, {"bf16", "bf16"}, {"bf16", "f32"}};
    (void)state;
    need(LIB_ONEDNN);
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
        for (size_t t = 0; t < sizeof types / sizeof *types; t++) {
            const struct convolution *v = &forms[i];
            const char *in = types[t][0], *out = types[t][1];
            external_check(&(struct external_case){
                .by = LIB_ONEDNN,
                .refuses = v->refuses,
                .may = t > 0,
                .c = {.kind = IR_CONVOLUTION,
                      .fill = {FILL_PLAIN, FILL_PLAIN},
                      .seed = 72,
                      .rule = {.how = CHECK_ALMOST, .tolerance = strcmp(out, "f32") == 0 ? 1e-3 : 0.6},
                      .text = program("func.func @main(%%x: tensor<%s%s>, %%w: tensor<%s%s>) -> tensor<%s%s> {\n"
                                      "  %%r = stablehlo.convolution(%%x, %%w) dim_numbers = %s, window = {%s}\n"
                                      "    {batch_group_count = 1 : i64, feature_group_count = %d : i64}\n"
                                      "    : (tensor<%s%s>, tensor<%s%s>) -> tensor<%s%s>\n  return %%r : tensor<%s%s>\n}\n",
                                      v->x, in, v->w, in, v->y, out, v->numbers, v->window, v->feature_groups, v->x, in, v->w,
                                      in, v->y, out, v->y, out)}});
        }
}

/* ---- pooling --------------------------------------------------------------------------------------------------------- */

static void pooling(const char *op, const char *first, const char *x, const char *y, const char *window, const char *strides,
                    const char *padding, enum fill fill, bool refuses) {
    external_check(&(struct external_case){
        .by = LIB_ONEDNN,
        .refuses = refuses,
        .c = {.kind = IR_REDUCE_WINDOW,
              .fill = {fill},
              .seed = 73,
              .rule = {.how = CHECK_ALMOST, .tolerance = 1e-5},
              .text = program("func.func @main(%%x: tensor<%sf32>) -> tensor<%sf32> {\n"
                              "  %%i = stablehlo.constant dense<%s> : tensor<f32>\n"
                              "  %%r = \"stablehlo.reduce_window\"(%%x, %%i) ({\n"
                              "  ^bb0(%%a: tensor<f32>, %%b: tensor<f32>):\n"
                              "    %%c = stablehlo.%s %%a, %%b : tensor<f32>\n"
                              "    stablehlo.return %%c : tensor<f32>\n"
                              "  }) {window_dimensions = array<i64: %s>, window_strides = array<i64: %s>,\n"
                              "      padding = dense<%s> : tensor<4x2xi64>}\n"
                              "    : (tensor<%sf32>, tensor<f32>) -> tensor<%sf32>\n  return %%r : tensor<%sf32>\n}\n",
                              x, y, first, op, window, strides, padding, x, y, y)}});
}

static void test_pooling(void **state) {
    static const char *const ops[][2] = {{"maximum", "0xFF800000"}, {"add", "0.0"}, {"maximum", "0.5"}, {"add", "1.0"}};
    static const enum fill fills[] = {FILL_PLAIN, FILL_SPECIAL};
    (void)state;
    need(LIB_ONEDNN);
    for (int f = 0; f < 2; f++)
        for (int i = 0; i < 4; i++) { /* the last two begin with what oneDNN does not know: hilo's code */
            pooling(ops[i][0], ops[i][1], "3x28x28x32x", "3x14x14x32x", "1, 3, 3, 1", "1, 2, 2, 1",
                    "[[0, 0], [0, 1], [0, 1], [0, 0]]", fills[f], false);
            pooling(ops[i][0], ops[i][1], "1x40x37x16x", "1x39x19x16x", "1, 2, 3, 1", "1, 1, 2, 1",
                    "[[0, 0], [0, 0], [1, 1], [0, 0]]", fills[f], false);
            pooling(ops[i][0], ops[i][1], "33x12x12x5x", "33x11x11x5x", "1, 2, 2, 1", "1, 1, 1, 1",
                    "[[0, 0], [0, 0], [0, 0], [0, 0]]", fills[f], false);
        }
    pooling("minimum", "0x7F800000", "3x28x28x32x", "3x14x14x32x", "1, 3, 3, 1", "1, 2, 2, 1",
            "[[0, 0], [0, 1], [0, 1], [0, 0]]", FILL_PLAIN, true);
    pooling("maximum", "0xFF800000", "0x28x28x32x", "0x14x14x32x", "1, 3, 3, 1", "1, 2, 2, 1",
            "[[0, 0], [0, 1], [0, 1], [0, 0]]", FILL_PLAIN, true);
}

/* ---- linear algebra -------------------------------------------------------------------------------------------------- */

/* Diagonals are made large: matrices are positive definite, and solves are well-conditioned. */
static void make_dominant(struct value *const *args) {
    struct value *a = args[0];
    const struct ir_dtype_info *t = ir_dtype_get(a->dtype);
    size_t n = (size_t)a->dims[a->rank - 1], parts = t->cls == IR_COMPLEX_CLASS ? 2 : 1, wide = t->bytes / parts == 8;
    for (size_t i = 0; n && i < a->count / (n * n); i++)
        for (size_t r = 0; r < n; r++) {
            size_t at = parts * (i * n * n + r * n + r);
            double v[2] = {3 * (double)n + 1, 0};
            for (size_t p = 0; p < parts; p++)
                if (wide)
                    ((double *)a->data)[at + p] = v[p];
                else
                    ((float *)a->data)[at + p] = (float)v[p];
        }
}

/* For a diagonal of ones. */
static void make_small(struct value *const *args) {
    struct value *a = args[0];
    const struct ir_dtype_info *t = ir_dtype_get(a->dtype);
    size_t n = (size_t)a->dims[a->rank - 1], parts = t->cls == IR_COMPLEX_CLASS ? 2 : 1;
    for (size_t i = 0; i < a->count * parts; i++)
        if (t->bytes / parts == 8)
            ((double *)a->data)[i] /= 2 * (double)n;
        else
            ((float *)a->data)[i] /= 2 * (float)n;
}

static void make_indefinite(struct value *const *args) {
    make_dominant(args);
    size_t n = (size_t)args[0]->dims[args[0]->rank - 1];
    if (args[0]->dtype == IR_F64_T)
        ((double *)args[0]->data)[(n / 2) * (n + 1)] = -1;
}

static const struct dot_type linalg_types[] = {
    {"f32", "f32", 1e-3}, {"f64", "f64", 1e-11}, {"complex<f32>", "", 1e-3}, {"complex<f64>", "", 1e-11}};

static void factor(const struct dot_type *t, const char *shape, bool lower, void (*prepare)(struct value *const *args),
                   bool refuses) {
    external_check(&(struct external_case){
        .by = LIB_OPENBLAS,
        .refuses = refuses,
        .c = {.kind = IR_CHOLESKY,
              .fill = {FILL_PLAIN},
              .seed = 74,
              .rule = {.how = CHECK_ALMOST, .tolerance = t->close},
              .prepare = prepare,
              .text = program("func.func @main(%%a: tensor<%s%s>) -> tensor<%s%s> {\n"
                              "  %%r = stablehlo.cholesky %%a, lower = %s : tensor<%s%s>\n  return %%r : tensor<%s%s>\n}\n",
                              shape, t->in, shape, t->in, lower ? "true" : "false", shape, t->in, shape, t->in)}});
}

static void test_cholesky(void **state) {
    (void)state;
    need(LIB_OPENBLAS);
    for (int i = 0; i < 4; i++)
        for (int lower = 0; lower < 2; lower++) {
            static const char *const shapes[] = {"1x1x", "7x5x5x", "2x130x130x", "300x300x", "391x391x"};
            for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++)
                factor(&linalg_types[i], shapes[s], lower, make_dominant, false);
            factor(&linalg_types[i], "0x0x", lower, NULL, true);
            factor(&linalg_types[i], "0x5x5x", lower, NULL, true);
        }
    factor(&linalg_types[1], "300x300x", true, make_indefinite, false); /* NaN, by hilo's code */
    factor(&linalg_types[1], "5x6x6x", false, make_indefinite, false);
}

static void test_solve(void **state) {
    static const struct {
        const char *a, *left, *right;
        bool refuses;
    } shapes[] = {{"5x5x", "5x3x", "3x5x", false},
                  {"3x40x40x", "3x40x300x", "3x300x40x", false},
                  {"200x200x", "200x129x", "129x200x", false},
                  {"9x1x1x", "9x1x2x", "9x2x1x", false},
                  {"4x4x", "4x0x", "0x4x", true},
                  {"0x0x", "0x4x", "4x0x", true}};
    static const char *const hows[] = {"NO_TRANSPOSE", "TRANSPOSE", "ADJOINT"};
    (void)state;
    need(LIB_OPENBLAS);
    for (size_t i = 0; i < 4; i++)
        for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++)
            for (int how = 0; how < 12 * 2; how++) {
                const char *t = linalg_types[i].in;
                bool left = how & 1, lower = how >> 1 & 1, unit = how >> 2 & 1;
                const char *b = left ? shapes[s].left : shapes[s].right;
                external_check(&(struct external_case){
                    .by = LIB_OPENBLAS,
                    .refuses = shapes[s].refuses,
                    .c = {.kind = IR_TRIANGULAR_SOLVE,
                          .fill = {FILL_POSITIVE, FILL_PLAIN},
                          .seed = 75,
                          .rule = {.how = CHECK_ALMOST, .tolerance = linalg_types[i].close},
                          .prepare = unit ? make_small : make_dominant,
                          .text =
                              program("func.func @main(%%a: tensor<%s%s>, %%b: tensor<%s%s>) -> tensor<%s%s> {\n"
                                      "  %%r = \"stablehlo.triangular_solve\"(%%a, %%b) {left_side = %s, lower = %s,\n"
                                      "    unit_diagonal = %s, transpose_a = #stablehlo<transpose %s>}\n"
                                      "    : (tensor<%s%s>, tensor<%s%s>) -> tensor<%s%s>\n  return %%r : tensor<%s%s>\n}\n",
                                      shapes[s].a, t, b, t, b, t, left ? "true" : "false", lower ? "true" : "false",
                                      unit ? "true" : "false", hows[how / 8], shapes[s].a, t, b, t, b, t, b, t)}});
            }
}

/* ---- Fourier transforms ---------------------------------------------------------------------------------------------- */

static void fft(const char *type, const char *length, const char *in, const char *x, const char *out, const char *y,
                double close) {
    external_check(&(struct external_case){
        .by = LIB_FFTW,
        .c = {.kind = IR_FFT,
              .fill = {FILL_PLAIN},
              .seed = 76,
              .rule = {.how = CHECK_ALMOST, .tolerance = close},
              .text = program("func.func @main(%%x: tensor<%s%s>) -> tensor<%s%s> {\n"
                              "  %%r = stablehlo.fft %%x, type = %s, length = [%s] : (tensor<%s%s>) -> tensor<%s%s>\n"
                              "  return %%r : tensor<%s%s>\n}\n",
                              x, in, y, out, type, length, x, in, y, out, y, out)}});
}

static void test_fft(void **state) {
    static const char *const complex_shapes[][2] = {{"1", "5x1x"},
                                                    {"7", "7x"},
                                                    {"1000", "37x1000x"},
                                                    {"4096", "9x4096x"},
                                                    {"20000", "20000x"},
                                                    {"17, 12", "3x5x17x12x"},
                                                    {"4, 6, 10", "7x4x6x10x"}};
    static const char *const real_shapes[][3] = {{"9", "33x9x", "33x5x"},
                                                 {"1024", "40x1024x", "40x513x"},
                                                 {"1", "3x1x", "3x1x"},
                                                 {"8, 15", "11x8x15x", "11x8x8x"},
                                                 {"3, 4, 6", "2x3x4x6x", "2x3x4x4x"}};
    (void)state;
    need(LIB_FFTW);
    for (int wide = 0; wide < 2; wide++) {
        const char *real = wide ? "f64" : "f32", *complex = wide ? "complex<f64>" : "complex<f32>";
        double close = wide ? 1e-10 : 2e-3;
        for (size_t i = 0; i < sizeof complex_shapes / sizeof *complex_shapes; i++)
            for (int inverse = 0; inverse < 2; inverse++)
                fft(inverse ? "IFFT" : "FFT", complex_shapes[i][0], complex, complex_shapes[i][1], complex,
                    complex_shapes[i][1], close);
        for (size_t i = 0; i < sizeof real_shapes / sizeof *real_shapes; i++) {
            fft("RFFT", real_shapes[i][0], real, real_shapes[i][1], complex, real_shapes[i][2], close);
            fft("IRFFT", real_shapes[i][0], complex, real_shapes[i][2], real, real_shapes[i][1], close);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_products), cmocka_unit_test(test_convolution), cmocka_unit_test(test_pooling),
        cmocka_unit_test(test_cholesky), cmocka_unit_test(test_solve),       cmocka_unit_test(test_fft),
    };
    if (setjmp(case_memory))
        return 1;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
