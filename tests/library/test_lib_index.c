/* scatter and gather against the evaluator. */
#include "library_test.h"

static const struct check_rule same_numbers = {.how = CHECK_ULP};

struct indexing {
    const char *base, *indices, *packed; /* shapes, as "4x5x" */
    const char *numbers;                 /* of gather, or of scatter */
    const char *sizes;                   /* slice sizes of gather */
};

static int compare_i32(const void *a, const void *b) {
    int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
    return (x > y) - (x < y);
}

static void sort_indices(struct value *const *args) {
    qsort(args[1]->data, args[1]->count, sizeof(int32_t), compare_i32);
}

/* sorted: indices are of i32, and sorted. */
static struct lib_match scatter(const struct indexing *x, const char *type, const char *index, const char *op, enum fill fill,
                                bool sorted) {
    char body[256];
    if (op)
        snprintf(body, sizeof body, "    %%c = stablehlo.%s %%x, %%y : tensor<%s>\n    stablehlo.return %%c : tensor<%s>\n", op,
                 type, type);
    else
        snprintf(body, sizeof body, "    stablehlo.return %%y : tensor<%s>\n", type);
    return routine_check(&(struct routine_case){
        .kind = IR_SCATTER,
        .prepare = sorted ? sort_indices : NULL,
        .fill = {fill, FILL_INDEX, fill},
        .rule = same_numbers,
        .seed = 21,
        .text =
            program("func.func @main(%%a: tensor<%s%s>, %%i: tensor<%s%s>, %%u: tensor<%s%s>) -> tensor<%s%s> {\n"
                    "  %%r = \"stablehlo.scatter\"(%%a, %%i, %%u) <{scatter_dimension_numbers = #stablehlo.scatter<%s>%s}> ({\n"
                    "  ^bb0(%%x: tensor<%s>, %%y: tensor<%s>):\n%s"
                    "  }) : (tensor<%s%s>, tensor<%s%s>, tensor<%s%s>) -> tensor<%s%s>\n"
                    "  return %%r : tensor<%s%s>\n}\n",
                    x->base, type, x->indices, index, x->packed, type, x->base, type, x->numbers,
                    sorted ? ", indices_are_sorted = true" : "", type, type, body, x->base, type, x->indices, index, x->packed,
                    type, x->base, type, x->base, type)});
}

static void gather(const struct indexing *x, const char *type, const char *index) {
    routine_check(&(struct routine_case){
        .kind = IR_GATHER,
        .fill = {FILL_SPECIAL, FILL_INDEX},
        .seed = 22,
        .text = program("func.func @main(%%a: tensor<%s%s>, %%i: tensor<%s%s>) -> tensor<%s%s> {\n"
                        "  %%r = \"stablehlo.gather\"(%%a, %%i) <{dimension_numbers = #stablehlo.gather<%s>,\n"
                        "    slice_sizes = array<i64: %s>}> : (tensor<%s%s>, tensor<%s%s>) -> tensor<%s%s>\n"
                        "  return %%r : tensor<%s%s>\n}\n",
                        x->base, type, x->indices, index, x->packed, type, x->numbers, x->sizes, x->base, type, x->indices,
                        index, x->packed, type, x->packed, type)});
}

/* Tasks search for their updates; where slices overlap, and of the index vectors of two dimensions, they cannot. */
static void test_scatter_sorted(void **state) {
    (void)state;
    static const struct indexing shapes[] = {
        {"9x7x", "400x1x", "400x7x",
         "update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1",
         NULL},
        {"9x3000x", "40x1x", "40x3000x",
         "update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1",
         NULL},
        {"12x4000x", "30x1x", "30x3x4000x",
         "update_window_dims = [1, 2], scatter_dims_to_operand_dims = [0], index_vector_dim = 1", NULL},
        {"9x5000x", "40x1x", "40x9x",
         "update_window_dims = [1], inserted_window_dims = [1], "
         "scatter_dims_to_operand_dims = [1], index_vector_dim = 1",
         NULL},
        {"1x9x8000x", "30x1x", "30x1x8000x",
         "update_window_dims = [1, 2], inserted_window_dims = [1], "
         "scatter_dims_to_operand_dims = [1], index_vector_dim = 1",
         NULL},
        {"30x", "60000x1x", "60000x", "inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1",
         NULL},
        {"9x7x", "0x1x", "0x7x",
         "update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1",
         NULL},
    };
    static const char *const ops[] = {NULL, "add", "subtract"};
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++)
        for (size_t o = 0; o < sizeof ops / sizeof *ops; o++)
            (void)scatter(&shapes[s], "f32", "i32", ops[o], FILL_PLAIN, true);
}

/* Updates of a small result, which tasks apply to copies of their own. The numbers are integers, so that sums are exact. */
static void test_scatter_privatised(void **state) {
    (void)state;
    static const struct {
        struct indexing x;
        int64_t copies;
    } shapes[] = {
        {{"6x2x", "60000x1x", "60000x2x",
          "update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1",
          NULL},
         7},
        {{"2x3x", "40000x2x", "40000x",
          "inserted_window_dims = [0, 1], scatter_dims_to_operand_dims = [0, 1], index_vector_dim = 1", NULL},
         2},
        {{"4000x", "40000x1x", "40000x", "inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1",
          NULL},
         1},
    };
    static const struct {
        const char *type, *op;
        int64_t bytes; /* 0: not privatised */
    } bodies[] = {{"f32", "add", 4},      {"f64", "add", 8},     {"i32", "add", 4},     {"ui32", "add", 4},
                  {"f32", "maximum", 4},  {"f64", "minimum", 8}, {"i32", "minimum", 4}, {"bf16", "add", 0},
                  {"f32", "subtract", 0}, {"f32", NULL, 0}};
    static const int64_t elements[] = {12, 6, 4000};
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++)
        for (size_t b = 0; b < sizeof bodies / sizeof *bodies; b++) {
            struct lib_match match = scatter(&shapes[s].x, bodies[b].type, "i32", bodies[b].op, FILL_SMALL, false);
            assert_int_equal(match.scratch_bytes, (shapes[s].copies - 1) * elements[s] * bodies[b].bytes);
        }
}

static const char *const index_types[] = {"i8", "i32", "i64", "ui32", "ui64", "ui8", "i16"};

static void test_scatter(void **state) {
    (void)state;
    static const struct indexing shapes[] = {
        {"9x7x", "5x1x", "5x7x",
         "update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], "
         "index_vector_dim = 1",
         NULL},
        {"9x7x4x", "5x6x1x", "5x6x7x4x",
         "update_window_dims = [2, 3], inserted_window_dims = [0], "
         "scatter_dims_to_operand_dims = [0], index_vector_dim = 2",
         NULL},
        {"9x8x", "40x2x", "40x", "inserted_window_dims = [0, 1], scatter_dims_to_operand_dims = [1, 0], index_vector_dim = 1",
         NULL},
        {"30x", "60x", "60x", "inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1", NULL},
        {"9x8x", "2x5x", "3x5x4x", "update_window_dims = [0, 2], scatter_dims_to_operand_dims = [1, 0], index_vector_dim = 0",
         NULL},
        {"3x9x8x", "3x4x1x", "3x4x8x",
         "update_window_dims = [2], inserted_window_dims = [1], input_batching_dims = [0], "
         "scatter_indices_batching_dims = [0], scatter_dims_to_operand_dims = [1], "
         "index_vector_dim = 2",
         NULL},
        {"1x9x8x", "1x", "1x3x5x", "update_window_dims = [0, 1, 2], scatter_dims_to_operand_dims = [1], index_vector_dim = 0",
         NULL},
        {"0x7x", "5x1x", "5x7x",
         "update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], "
         "index_vector_dim = 1",
         NULL},
        {"9x7x", "0x1x", "0x7x",
         "update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], "
         "index_vector_dim = 1",
         NULL},
        {"20x11x", "5x300x2x", "5x300x", /* several blocks of slices */
         "inserted_window_dims = [0, 1], scatter_dims_to_operand_dims = [0, 1], index_vector_dim = 2", NULL},
        {"20x11x", "400x1x", "400x3x",
         "update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], "
         "index_vector_dim = 1",
         NULL},
        {"12x9000x", "70x1x", "70x9000x",
         "update_window_dims = [1], inserted_window_dims = [0], "
         "scatter_dims_to_operand_dims = [0], index_vector_dim = 1",
         NULL},
    };
    static const char *const ops[] = {NULL, "add", "maximum", "multiply", "subtract"};
    static const char *const types[] = {"f32", "f64", "bf16", "i32", "i8", "i1", "complex<f32>", "f8E4M3FN"};
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++)
        for (size_t o = 0; o < sizeof ops / sizeof *ops; o++)
            for (size_t t = 0; t < sizeof types / sizeof *types; t++) {
                bool subtracts = o == 4 && strcmp(types[t], "i1") == 0;
                if (!subtracts)
                    scatter(&shapes[s], types[t], index_types[(s + t) % 7], ops[o], o == 3 ? FILL_SMALL : FILL_PLAIN, false);
            }
}

static void test_gather(void **state) {
    (void)state;
    static const struct indexing shapes[] = {
        {"9x7x", "5x1x", "5x7x", "offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1",
         "1, 7"},
        {"9x7x4x", "5x6x1x", "5x6x7x4x",
         "offset_dims = [2, 3], collapsed_slice_dims = [0], start_index_map = [0], "
         "index_vector_dim = 2",
         "1, 7, 4"},
        {"9x8x", "40x2x", "40x", "collapsed_slice_dims = [0, 1], start_index_map = [1, 0], index_vector_dim = 1", "1, 1"},
        {"9x8x", "2x5x", "3x5x4x", "offset_dims = [0, 2], start_index_map = [1, 0], index_vector_dim = 0", "3, 4"},
        {"3x9x8x", "3x4x1x", "3x4x8x",
         "offset_dims = [2], collapsed_slice_dims = [1], operand_batching_dims = [0], "
         "start_indices_batching_dims = [0], start_index_map = [1], index_vector_dim = 2",
         "1, 1, 8"},
        {"9x8x", "0x1x", "0x8x", "offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1",
         "1, 8"},
        {"9x8x", "3x200x2x", "3x200x", "collapsed_slice_dims = [0, 1], start_index_map = [1, 0], index_vector_dim = 2", "1, 1"},
        {"20x900x", "300x1x", "300x900x",
         "offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], "
         "index_vector_dim = 1",
         "1, 900"},
    };
    static const char *const types[] = {"f32", "f64", "bf16", "i8", "complex<f64>"};
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++)
        for (size_t t = 0; t < sizeof types / sizeof *types; t++)
            for (int i = 0; i < 7; i++)
                gather(&shapes[s], types[t], index_types[i]);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_scatter), cmocka_unit_test(test_scatter_privatised),
                                       cmocka_unit_test(test_scatter_sorted), cmocka_unit_test(test_gather)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
