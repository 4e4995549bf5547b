/* Data movement in the reference evaluator, where tests/op does not reach: strided copies against their definition, errors that
 * only the run can find (test_eval_move.mlir), and what happens when memory ends. */
#include "eval/move.h"
#include "read/text/text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

/* ---- copies ------------------------------------------------------------------------------------------------------------ */

enum { COPY_RANK = 4 };

static uint32_t draw(uint32_t *state, uint32_t n) {
    *state = *state * 1664525 + 1013904223;
    return (*state >> 8) % n;
}

/* Strides of a tensor whose dimensions are in memory in random order, some of them backwards; returns its elements, and in
   `first` the place of index 0. */
static int64_t draw_strides(uint32_t *state, const int64_t *dims, uint32_t rank, bool repeats, int64_t *strides,
                            int64_t *first) {
    uint32_t order[COPY_RANK];
    int64_t n = 1;
    *first = 0;
    for (uint32_t i = 0; i < rank; i++) {
        uint32_t k = draw(state, i + 1);
        order[i] = order[k];
        order[k] = i;
    }
    for (uint32_t i = 0; i < rank; i++) {
        uint32_t d = order[i];
        if (repeats && draw(state, 4) == 0) {
            strides[d] = 0;
            continue;
        }
        strides[d] = n;
        n *= dims[d] + draw(state, 2);
        if (draw(state, 4) == 0) {
            *first += (dims[d] - 1) * strides[d];
            strides[d] = -strides[d];
        }
    }
    return n;
}

static void copies_are_what_they_say(void **test) {
    (void)test;
    uint32_t state = 1;
    for (int round = 0; round < 3000; round++) {
        uint32_t rank = draw(&state, COPY_RANK + 1);
        int64_t dims[COPY_RANK], to[COPY_RANK], from[COPY_RANK], index[COPY_RANK] = {0}, to0, from0;
        for (uint32_t i = 0; i < rank; i++)
            dims[i] = 1 + draw(&state, draw(&state, 5) ? 4 : 20);
        size_t size = (size_t)1 << draw(&state, 5);
        size_t nto = (size_t)draw_strides(&state, dims, rank, false, to, &to0) * size;
        size_t nfrom = (size_t)draw_strides(&state, dims, rank, true, from, &from0) * size;
        char *source = malloc(nfrom), *want = calloc(nto, 1), *got = calloc(nto, 1);
        for (size_t i = 0; i < nfrom; i++)
            source[i] = (char)draw(&state, 256);
        do {
            int64_t t = to0, f = from0;
            for (uint32_t i = 0; i < rank; i++) {
                t += index[i] * to[i];
                f += index[i] * from[i];
            }
            memcpy(want + (size_t)t * size, source + (size_t)f * size, size);
        } while (index_next(index, dims, rank));
        move_strided(got + (size_t)to0 * size, to, source + (size_t)from0 * size, from, dims, rank, size);
        assert_memory_equal(got, want, nto);
        free(source);
        free(want);
        free(got);
    }
}

static void nothing_is_copied_of_nothing(void **test) {
    (void)test;
    const int64_t dims[] = {3, 0, INT64_MAX}, strides[] = {INT64_MAX, INT64_MIN, 1};
    move_strided(NULL, strides, NULL, strides, dims, 3, 4);
}

/* ---- programs ------------------------------------------------------------------------------------------------------------ */

static char *file_read(const char *path, size_t *n) {
    FILE *f = fopen(path, "rb");
    if (!f)
        fail_msg("%s is missing", path);
    char *text = malloc(1 << 20);
    *n = fread(text, 1, 1 << 20, f);
    fclose(f);
    return text;
}

static jmp_buf out_of_memory;

struct program {
    struct ir_module *m;
    struct diag_list d;
};

static struct program program_read(struct str part, uint32_t line) {
    struct program x;
    diag_init(&x.d, mem_system_allocator());
    x.m = ir_module_new(mem_system_allocator(), &out_of_memory);
    if (read_text(x.m, &x.d, part, line) != HILO_OK || ir_verify(x.m, &x.d) != HILO_OK)
        fail_msg("line %u: %s", x.d.first->line, x.d.first->message);
    return x;
}

static void program_free(struct program *x) {
    ir_module_free(x->m);
    diag_clear(&x->d);
}

/* The text in `// expected-error@+1 {{…}}`, and the line that it is about. */
static char *expectation(struct str part, uint32_t *line) {
    const char *word = "expected-error@+1 {{", *at = memmem(part.p, part.n, word, strlen(word));
    assert_non_null(at);
    for (const char *p = part.p; p < at; p++)
        *line += *p == '\n';
    ++*line;
    at += strlen(word);
    const char *end = memmem(at, part.n - (size_t)(at - part.p), "}}", 2);
    assert_non_null(end);
    return strndup(at, (size_t)(end - at));
}

static void errors_of_the_run(void **test) {
    (void)test;
    struct str part;
    uint32_t line = 1, first;
    size_t n;
    char *text = file_read("tests/eval/test_eval_move.mlir", &n);
    struct str rest = {text, n};
    while (read_next_part(&rest, &line, &part, &first)) {
        struct program x = program_read(part, first);
        hilo_allocator al = mem_system_allocator();
        uint32_t where = first;
        char *says = expectation(part, &where);
        hilo_status status = eval_func(x.m, ir_module_symbol(x.m, STR("main")), NULL, 0, NULL, 0, &al, NULL, &x.d);
        if (status != HILO_INVALID_ARGUMENT || !x.d.first || x.d.first->line != where || !strstr(x.d.first->message, says))
            fail_msg("line %u: expected '%s', not %s", where, says, x.d.first ? x.d.first->message : "success");
        free(says);
        program_free(&x);
    }
    free(text);
}

/* ---- when memory ends ---------------------------------------------------------------------------------------------------- */

struct budget {
    size_t left, live; /* allocations; bytes */
};

static void *budget_realloc(void *user, void *p, size_t old_bytes, size_t new_bytes, size_t align) {
    struct budget *b = user;
    hilo_allocator system = mem_system_allocator();
    if (new_bytes && b->left == 0)
        return NULL;
    b->left -= new_bytes > 0;
    b->live += new_bytes - old_bytes;
    return system.realloc_fn(system.user, p, old_bytes, new_bytes, align);
}

/* A function with ever more memory, until it is enough. */
static void run_short_of_memory(struct str part, uint32_t line, uint32_t function) {
    hilo_status status = HILO_RESOURCE_EXHAUSTED;
    for (size_t most = 0; status == HILO_RESOURCE_EXHAUSTED; most++) {
        struct program x = program_read(part, line);
        struct budget b = {.left = most};
        hilo_allocator al = {budget_realloc, &b};
        ir_op op = ir_block_get(x.m, ir_module_body(x.m))->first;
        for (uint32_t i = 0; i < function; i++)
            op = ir_op_get(x.m, op)->next;
        status = eval_func(x.m, op, NULL, 0, NULL, 0, &al, NULL, &x.d);
        assert_int_equal(b.live, 0);
        program_free(&x);
    }
    assert_int_equal(status, HILO_OK);
}

static void out_of_memory_is_an_answer(void **test) {
    (void)test;
    static const char *const ops[] = {
        "broadcast", "broadcast_in_dim", "concatenate", "dynamic_slice", "dynamic_update_slice", "dynamic_pad", "slice",
        "dynamic_reshape", "reverse", "transpose", "dynamic_iota", "gather", "dynamic_gather", "torch_index_select", "scatter",
        "batch_norm_inference", "batch_norm_grad", "top_k",
    };
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++) {
        char path[64];
        struct str part;
        uint32_t line = 1, first;
        size_t n;
        snprintf(path, sizeof path, "tests/op/%s.mlir", ops[i]);
        char *text = file_read(path, &n);
        struct str rest = {text, n};
        assert_true(read_next_part(&rest, &line, &part, &first));
        struct program x = program_read(part, first);
        uint32_t function = 0;
        for (ir_op op = ir_block_get(x.m, ir_module_body(x.m))->first; !IR_NONE(op); op = ir_op_get(x.m, op)->next)
            run_short_of_memory(part, first, function++);
        program_free(&x);
        free(text);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(copies_are_what_they_say),
        cmocka_unit_test(nothing_is_copied_of_nothing),
        cmocka_unit_test(errors_of_the_run),
        cmocka_unit_test(out_of_memory_is_an_answer),
    };
    return cmocka_run_group_tests_name("eval_move", tests, NULL, NULL);
}
