/* Runs the .kir files here: each kernel is parsed, printed, parsed and printed again, verified and run by the interpreter.
 *
 * Comments before a kernel say what is in its parameters and what comes out:
 *   // b0 = 1 2.5 nan     elements before; the rest are 0
 *   // b1 -> 3 0x7f       elements after (the first ones)
 *   // error: WORDS       it does not parse, verify or run, and a diagnostic has these words
 * and `// grid 2 5` runs a part of it. */
#include "kir/kir.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include <glob.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

struct directives {
    char before[16][4096], after[16][4096], error[1024];
    int64_t begin, end;
    bool part;
};

static void read_line(struct directives *x, const char *line, size_t n) {
    char text[4096];
    int b, at = 0;
    assert_true(n < sizeof text);
    memcpy(text, line, n);
    text[n] = 0;
    if (sscanf(text, "// b%d = %n", &b, &at) == 1 && at && b < 16)
        strcpy(x->before[b], text + at);
    else if (sscanf(text, "// b%d -> %n", &b, &at) == 1 && at && b < 16)
        strcpy(x->after[b], text + at);
    else if (strncmp(text, "// error: ", 10) == 0)
        snprintf(x->error, sizeof x->error, "%.1000s", text + 10);
    else if (sscanf(text, "// grid %lld %lld", (long long *)&x->begin, (long long *)&x->end) == 2)
        x->part = true;
}

/* The comments before the next kernel. */
static void read_directives(struct directives *x, struct str text, size_t at) {
    memset(x, 0, sizeof *x);
    while (at < text.n && text.p[at] != 'k') {
        size_t end = at;
        while (end < text.n && text.p[end] != '\n')
            end++;
        if (text.p[at] == '/')
            read_line(x, text.p + at, end - at);
        at = end + 1;
    }
}

static void put(enum ir_dtype t, void *p, const char *word) {
    const struct ir_dtype_info *info = ir_dtype_get(t);
    bool hex = word[0] == '0' && word[1] == 'x';
    uint64_t bits = hex ? strtoull(word, NULL, 16) : info->cls == IR_FLOAT ? fp_encode(info->fp, strtod(word, NULL))
                                                                           : (uint64_t)strtoll(word, NULL, 10);
    memcpy(p, &bits, info->bytes); /* little-endian, as everything that LLVM generates code for here */
}

/* Writes the elements of a list, or compares them with what is there. */
static void elements(const struct kir_buffer *b, char *data, char *list, bool compare, const char *file, unsigned buffer) {
    uint32_t size = ir_dtype_get(b->dtype)->bytes;
    int64_t i = 0;
    for (char *word = strtok(list, " "); word; word = strtok(NULL, " "), i++) {
        assert_true(i < b->count);
        char want[8];
        put(b->dtype, compare ? want : data + i * size, word);
        if (!compare || memcmp(want, data + i * size, size) == 0)
            continue;
        double x = 0, y = 0;
        if (ir_dtype_get(b->dtype)->cls == IR_FLOAT) {
            x = fp_decode(ir_dtype_get(b->dtype)->fp, fp_load(ir_dtype_get(b->dtype)->fp, want));
            y = fp_decode(ir_dtype_get(b->dtype)->fp, fp_load(ir_dtype_get(b->dtype)->fp, data + i * size));
            if (isnan(x) && isnan(y))
                continue;
        }
        fail_msg("%s: b%u[%d]: expected %s, got %02x… (%g)", file, buffer, (int)i, word, (unsigned)(uint8_t)data[i * size], y);
    }
}

static bool run(const struct kir *k, struct directives *x, const char *file, struct diag_list *d) {
    void *buffers[16], *scratch = NULL;
    uint32_t n = 0;
    for (uint32_t i = 0; i < k->buffers.n; i++) {
        const struct kir_buffer *b = &k->buffers.v[i];
        if (b->role == KIR_SCRATCH)
            continue;
        buffers[n] = test_calloc((size_t)b->count + 1, ir_dtype_get(b->dtype)->bytes);
        elements(b, buffers[n++], x->before[i], false, file, i);
    }
    if (k->scratch_bytes)
        scratch = test_calloc(k->scratch_bytes, 1);
    bool ok = kir_run(k, buffers, scratch, x->part ? x->begin : 0, x->part ? x->end : kir_grid_extent(k), d);
    n = 0;
    for (uint32_t i = 0; i < k->buffers.n; i++) {
        if (k->buffers.v[i].role == KIR_SCRATCH)
            continue;
        if (ok)
            elements(&k->buffers.v[i], buffers[n], x->after[i], true, file, i);
        test_free(buffers[n++]);
    }
    test_free(scratch);
    return ok;
}

/* Printed, it is a kernel that prints the same. */
static void check_text(const struct kir *k, const char *file) {
    struct strbuf first, second;
    struct diag_list d;
    jmp_buf recover;
    size_t at = 0;
    struct kir *again = NULL;
    diag_init(&d, mem_system_allocator());
    strbuf_init(&first, mem_system_allocator());
    strbuf_init(&second, mem_system_allocator());
    kir_print(k, &first);
    if (kir_parse((struct str){first.p, first.n}, &at, mem_system_allocator(), &recover, &d, &again) != HILO_OK)
        fail_msg("%s: what was printed does not parse: %s\n%s", file, d.first->message, first.p);
    kir_print(again, &second);
    assert_string_equal(first.p, second.p);
    kir_free(again);
    strbuf_free(&first);
    strbuf_free(&second);
    diag_clear(&d);
}

static void check_file(const char *file, struct str text) {
    size_t at = 0;
    for (;;) {
        struct directives x;
        struct diag_list d;
        jmp_buf recover;
        struct kir *k = NULL;
        read_directives(&x, text, at);
        diag_init(&d, mem_system_allocator());
        hilo_status status = kir_parse(text, &at, mem_system_allocator(), &recover, &d, &k);
        if (status == HILO_NOT_FOUND)
            return;
        bool ok = status == HILO_OK && kir_verify(k, &d) == HILO_OK;
        if (ok)
            check_text(k, file);
        if (ok && strstr(file, "math"))
            kir_expand_math(k);
        ok = ok && kir_verify(k, &d) == HILO_OK && run(k, &x, file, &d);
        if (!ok && !x.error[0])
            fail_msg("%s:%u: %s: %s", file, (unsigned)d.first->line, k ? k->name : "", d.first->message);
        if (x.error[0] && (ok || !strstr(d.first->message, x.error)))
            fail_msg("%s: expected an error with '%s', got '%s'", file, x.error, ok ? "none" : d.first->message);
        kir_free(k);
        diag_clear(&d);
        if (status != HILO_OK)
            for (; at < text.n && memcmp(text.p + at, "\n}\n", 3) != 0; at++)
                ;
        at += status != HILO_OK ? 3 : 0;
    }
}

static void test_files(void **state) {
    glob_t files;
    (void)state;
    assert_int_equal(glob("tests/kir/*.kir", 0, NULL, &files), 0);
    for (size_t i = 0; i < files.gl_pathc; i++) {
        FILE *f = fopen(files.gl_pathv[i], "rb");
        assert_non_null(f);
        char *text = test_malloc(1 << 20);
        size_t n = fread(text, 1, (1 << 20) - 4, f);
        memset(text + n, 0, 4);
        fclose(f);
        check_file(files.gl_pathv[i], (struct str){text, n});
        test_free(text);
    }
    globfree(&files);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_files)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
