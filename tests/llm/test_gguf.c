/* GGUF: blocks of every format unpack to what the package gguf dequantises them to, to the bit; products of many rows are as
   exact as bytes allow; damaged files are refused. */
#include "base/file.h"
#include "base/fp.h"
#include "llm/config.h"
#include "llm/engine.h"
#include "llm/product.h"
#include "llm/tensors.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#define FILE_NAME "tests/llm/blocks.gguf" /* tests/tools/gen_gguf_blocks.py */

static const struct gguf_tensor *tensor(const struct gguf *g, const char *name) {
    for (size_t i = 0; i < g->ntensors; i++)
        if (str_is(g->tensors[i].name, name))
            return &g->tensors[i];
    return NULL;
}

/* Scale or offset i as it is unpacked. */
static float number(const struct gguf_format *f, const char *numbers, const uint16_t *units, size_t i) {
    float x;
    if (units)
        return (float)(int8_t)numbers[i] * f16_to_f32(units[i / (f->elements / f->group)]);
    fp_decode_n_f32(ir_dtype_get(f->scale)->fp, numbers + i * ir_dtype_get(f->scale)->bytes, &x, 1);
    return x;
}

static void check_blocks(const struct gguf_tensor *t, const float *want, bool with_units) {
    const struct gguf_format *f = t->format;
    size_t n = (size_t)(t->dims[0] * t->dims[1]);
    int8_t *values = malloc(n);
    char *scales = malloc(4 * n), *offsets = malloc(4 * n);
    uint16_t *units[2] = {with_units ? malloc(2 * n) : NULL, with_units ? malloc(2 * n) : NULL};
    struct gguf_rows m = {f, t->data, t->dims[0], t->dims[1], values, scales, offsets, {units[0], units[1]}};
    for (int64_t r = t->dims[0]; r-- > 0;)
        gguf_unpack_rows(&m, r, r + 1);
    for (size_t i = 0; i < n; i++) {
        float s, o, x = 0;
        int v = f->bits == 8 ? values[i] : values[i / 2] >> i % 2 * 4 & 15;
        v = f->offsets ? f->bits == 8 ? (uint8_t)v : v : f->bits == 4 && v > 7 ? v - 16 : v;
        s = number(f, scales, units[0], i / f->group);
        o = f->offsets ? number(f, offsets, units[1], i / f->group) : 0;
        memcpy(&x, (const char *)want + i * sizeof x, sizeof x);
        float got = s * (float)v;
        if (got + o != x)
            fail_msg("%s: element %zu is %.9g, %.9g expected", f->name, i, (double)(got + o), (double)x);
    }
    free(values);
    free(scales);
    free(offsets);
    free(units[0]);
    free(units[1]);
}

/* The parts of a matrix, in the order of parameters. */
struct part { enum llm_part part; enum ir_dtype type; hilo_dtype dtype; int64_t cols; };

static uint32_t parts_of(const struct llm_weight *w, const struct gguf_format *f, struct part *out) {
    bool is_signed = f->bits == 8 && !f->offsets, half = f->scale == IR_F16_T;
    struct part scales = {LLM_SCALES, f->scale, half ? HILO_F16 : HILO_F32, w->groups};
    if (w->units)
        scales = (struct part){LLM_SCALES, IR_I8_T, HILO_S8, w->groups};
    uint32_t n = 0;
    out[n++] = (struct part){LLM_VALUES, is_signed ? IR_I8_T : IR_UI8_T, is_signed ? HILO_S8 : HILO_U8, w->cols * f->bits / 8};
    out[n++] = scales;
    scales.part = LLM_OFFSETS;
    if (f->offsets)
        out[n++] = scales;
    for (enum llm_part p = LLM_SCALE_UNITS; w->units && p <= (f->offsets ? LLM_OFFSET_UNITS : LLM_SCALE_UNITS); p++)
        out[n++] = (struct part){p, IR_F16_T, HILO_F16, w->units};
    return n;
}

enum { LINES = 26 }; /* many, as of prompts */

/* A function of x f32[LINES, cols] and the parts of `w`: their product. */
static hilo_module *module_of_product(hilo_client *client, struct ir_module *m, const struct llm_model *model,
                                      const struct llm_weight *w, const struct gguf_format *f) {
    struct part parts[LLM_PARTS];
    uint32_t n = parts_of(w, f, parts);
    ir_type t[1 + LLM_PARTS];
    ir_val x, v[LLM_PARTS] = {{0}};
    ir_op func = ir_op_new(m, IR_FUNC, NULL, 0, NULL, 0, 1);
    ir_append(m, ir_module_body(m), func);
    struct build b = {m, ir_block_new(m, ir_op_region(m, func, 0))};
    x = ir_block_add_arg(m, b.at, t[0] = ir_type_of(m, IR_F32_T, (int64_t[]){LINES, w->cols}, 2));
    for (uint32_t i = 0; i < n; i++) {
        t[1 + i] = ir_type_of(m, parts[i].type, (int64_t[]){w->rows, parts[i].cols}, 2);
        v[parts[i].part] = ir_block_add_arg(m, b.at, t[1 + i]);
    }
    ir_val y = product_of(&b, x, model, w, v, IR_BF16_T, true);
    ir_type result = ir_val_get(m, y)->type;
    ir_append(m, b.at, ir_op_new(m, IR_FUNC_RETURN, &y, 1, NULL, 0, 0));
    ir_set_prop(m, func, IR_FUNC_sym_name, ir_attr_string(m, STR("main")));
    ir_set_prop(m, func, IR_FUNC_sym_visibility, ir_attr_string(m, STR("public")));
    ir_set_prop(m, func, IR_FUNC_function_type, ir_attr_of_type(m, ir_type_function(m, t, 1 + n, &result, 1)));
    return rt_module_new(client, m);
}

/* y = x f32[LINES, cols] times the matrix of `parts`. */
static void run_product(struct llm_engine *e, const struct llm_model *model, const struct llm_weight *w,
                        const struct gguf_format *f, const float *x, char *const data[LLM_PARTS], float *y) {
    struct part parts[LLM_PARTS];
    uint32_t n = parts_of(w, f, parts);
    void *in[1 + LLM_PARTS], *program, *out;
    const void *rows = x;
    jmp_buf recover;
    struct ir_module *m = ir_module_new(*rt_client_allocator(e->client), &recover);
    assert_non_null(m);
    if (setjmp(recover))
        fail_msg("out of memory");
    hilo_module *module = module_of_product(e->client, m, model, w, f);
    m->arena.recover = NULL;
    assert_int_equal(e->ops->compile(e, module, &program), HILO_OK);
    hilo_module_release(module);
    assert_int_equal(e->ops->keep(e, HILO_F32, (int64_t[]){LINES, w->cols}, 2, &rows, &in[0]), HILO_OK);
    for (size_t i = 0; i < n; i++) {
        const void *p = data[parts[i].part];
        int64_t dims[] = {w->rows, parts[i].cols};
        assert_int_equal(e->ops->keep(e, parts[i].dtype, dims, 2, &p, &in[1 + i]), HILO_OK);
    }
    assert_int_equal(e->ops->run(e, program, in, 1 + n, (const uint8_t[1 + LLM_PARTS]){0}, &out, 1), HILO_OK);
    assert_int_equal(e->ops->read(e, out, y, LINES * (size_t)w->rows * sizeof *y), HILO_OK);
    for (size_t i = 0; i <= n; i++)
        e->ops->release(e, in[i]);
    e->ops->release(e, out);
    e->ops->release_program(e, program);
}

/* The error of a product of bytes: steps of a 127th of the largest number, rounded: that of a row of the matrix, or of a group
   of x, in which it is near 1. */
static void check_product(struct llm_engine *e, bool by_row, bool units, const struct gguf_tensor *t, const float *want) {
    const struct llm_model model = {.precision = LLM_INT4, .prompts_by_row = by_row};
    const struct gguf_format *f = t->format;
    size_t n = (size_t)(t->dims[0] * t->dims[1]), cols = (size_t)t->dims[1], rows = (size_t)t->dims[0];
    struct llm_weight w = {.rows = t->dims[0], .cols = t->dims[1], .bits = f->bits, .groups = t->dims[1] / f->group,
                           .offsets = f->offsets, .reach = f->reach, .units = units ? t->dims[1] / f->elements : 0};
    float *x = malloc(LINES * cols * sizeof *x), *y = malloc(LINES * rows * sizeof *y);
    char *parts[LLM_PARTS];
    for (int i = 0; i < LLM_PARTS; i++)
        parts[i] = malloc(4 * n);
    struct gguf_rows unpacked = {f, t->data, t->dims[0], t->dims[1], parts[LLM_VALUES], parts[LLM_SCALES], parts[LLM_OFFSETS],
                                 {units ? parts[LLM_SCALE_UNITS] : NULL, units ? parts[LLM_OFFSET_UNITS] : NULL}};
    gguf_unpack_rows(&unpacked, 0, t->dims[0]);
    for (size_t i = 0; i < LINES * cols; i++)
        x[i] = (float)((int)(i * 7919 % 2001) - 1000) / 1000;
    run_product(e, &model, &w, f, x, parts, y);
    double error = 0, expected = 0;
    for (size_t r = 0; r < rows; r++)
        for (size_t i = 0; i < LINES; i++) {
            double sum = 0, squares = 0, most = 0;
            for (size_t k = 0; k < cols; k++) {
                float v;
                memcpy(&v, (const char *)want + (r * cols + k) * sizeof v, sizeof v);
                sum += (double)x[i * cols + k] * (double)v;
                squares += by_row ? (double)x[i * cols + k] * (double)x[i * cols + k] : (double)v * (double)v;
                most = by_row ? fmax(most, fabs((double)v)) : 1;
            }
            error += ((double)y[i * rows + r] - sum) * ((double)y[i * rows + r] - sum);
            expected += squares * most * most / (127.0 * 127 * 12);
        }
    if (!(sqrt(error) <= 1.5 * sqrt(expected)))
        fail_msg("%s: the error is %g, %g expected", f->name, sqrt(error), sqrt(expected));
    for (int i = 0; i < LLM_PARTS; i++)
        free(parts[i]);
    free(x);
    free(y);
}

/* Rows of 16 bits times a matrix of 8 bits by row: the evaluator, and kernels, as words and as two bytes, have the same bits,
   those of the sums of integers. Some rows are all as large as they can be, with which a sum of 512 products is near 2^31. */
static void test_rows_of_words(void **state) {
    enum { COLS = 1100, ROWS = 40 };
    (void)state;
    static const char *const engines[] = {"reference", "hilo"};
    const struct gguf_format *f = gguf_format_named("q8_0");
    struct llm_weight w = {.rows = ROWS, .cols = COLS, .bits = 8, .groups = 1};
    float *x = malloc(LINES * COLS * sizeof *x), *y = malloc(LINES * ROWS * sizeof *y), *z = malloc(LINES * ROWS * sizeof *z);
    int8_t *values = malloc(ROWS * COLS);
    uint16_t scales[ROWS];
    hilo_client *client;
    for (size_t i = 0; i < LINES * COLS; i++)
        x[i] = i / COLS < 2 ? -1 : (float)((int)(i * 7919 % 2001) - 1000) / 777;
    for (size_t i = 0; i < ROWS * COLS; i++)
        values[i] = i / COLS < 2 ? -128 : (int8_t)(i * 7907 % 251);
    for (size_t r = 0; r < ROWS; r++)
        scales[r] = f32_to_f16(1 / (float)(r + 3));
    for (size_t i = 0; i < LINES; i++) {
        float most = 0;
        for (size_t k = 0; k < COLS; k++)
            most = fmaxf(most, fabsf(x[i * COLS + k]));
        float unit = most * (float)(1.0 / (127 << 8)), inverse = 1 / unit;
        for (size_t r = 0; r < ROWS; r++) {
            int64_t sum = 0;
            for (size_t k = 0; k < COLS; k++)
                sum += (int64_t)rintf(x[i * COLS + k] * inverse) * values[r * COLS + k];
            z[i * ROWS + r] = (float)sum * unit * f16_to_f32(scales[r]);
        }
    }
    assert_int_equal(hilo_client_create(NULL, &client), HILO_OK);
    for (size_t n = 0; n < 2; n++)
        for (int words = 0; words < 2; words++) {
            const struct llm_model model = {.precision = LLM_INT8, .prompts_in_words = words};
            struct llm_engine *e;
            assert_int_equal(llm_engine_open(client, engines[n], &(struct llm_engine_options){.level = 2}, &e), HILO_OK);
            run_product(e, &model, &w, f, x, (char *[LLM_PARTS]){(char *)values, (char *)scales}, y);
            for (size_t i = 0; i < LINES * ROWS; i++)
                if (y[i] != z[i])
                    fail_msg("%s, %d: result %zu is %.9g, %.9g expected", engines[n], words, i, (double)y[i], (double)z[i]);
            llm_engine_close(e);
        }
    hilo_client_release(client);
    free(x);
    free(y);
    free(z);
    free(values);
}

static void test_blocks(void **state) {
    (void)state;
    struct file file;
    struct gguf g;
    struct diag_list d;
    size_t formats = 0;
    hilo_client *client;
    struct llm_engine *e;
    assert_int_equal(hilo_client_create(NULL, &client), HILO_OK);
    assert_int_equal(llm_engine_open(client, "reference", &(struct llm_engine_options){.level = 0}, &e), HILO_OK);
    diag_init(&d, mem_system_allocator());
    assert_int_equal(file_open(FILE_NAME, d.al, &d, &file), HILO_OK);
    assert_int_equal(gguf_parse(file.text, FILE_NAME, d.al, &d, &g), HILO_OK);
    for (size_t i = 0; i < g.ntensors; i++) {
        char name[64];
        snprintf(name, sizeof name, "%s.expected", g.tensors[i].name.p);
        if (!g.tensors[i].format->unpack)
            continue;
        assert_non_null(tensor(&g, name));
        const struct gguf_tensor *t = &g.tensors[i], *want = tensor(&g, name);
        for (int units = 0; units <= t->format->units; units++) {
            check_blocks(t, want->data, units);
            if (strcmp(t->format->name, "mxfp4") != 0) /* those in the file exceed f32's range */
                for (int by_row = 0; by_row < 2; by_row++)
                    check_product(e, by_row, units, t, want->data);
        }
        formats++;
    }
    assert_int_equal(formats, 13);
    llm_engine_close(e);
    hilo_client_release(client);
    gguf_close(&g);
    file_close(&file);
}

/* Every prefix of the file, and numbers that do not fit, are refused with a reason. */
static void test_damage(void **state) {
    (void)state;
    struct file file;
    struct gguf g;
    struct diag_list d;
    diag_init(&d, mem_system_allocator());
    assert_int_equal(file_open(FILE_NAME, d.al, &d, &file), HILO_OK);
    for (size_t n = 0; n < file.text.n; n += n < 3000 ? 1 : 4999) {
        char *part = malloc(n + 1); /* so that reading past the end is noticed */
        memcpy(part, file.text.p, n);
        assert_int_equal(gguf_parse((struct str){part, n}, "cut", d.al, &d, &g), HILO_INVALID_ARGUMENT);
        assert_non_null(d.first);
        gguf_close(&g);
        diag_clear(&d);
        free(part);
    }
    char *copy = malloc(file.text.n);
    for (size_t at = 4; at < 2000; at++) { /* bytes of the header, each set to its greatest value */
        memcpy(copy, file.text.p, file.text.n);
        copy[at] = (char)0xFF;
        if (gguf_parse((struct str){copy, file.text.n}, "changed", d.al, &d, &g) != HILO_OK)
            assert_non_null(d.first);
        for (size_t i = 0; i < g.ntensors && !d.first; i++)
            assert_true((const char *)g.tensors[i].data + g.tensors[i].bytes <= copy + file.text.n);
        gguf_close(&g);
        diag_clear(&d);
    }
    free(copy);
    file_close(&file);
}

/* ---- models in several files -------------------------------------------------------------------- */

static void put_number(struct strbuf *out, uint64_t v, size_t bytes) {
    for (size_t i = 0; i < bytes; i++)
        strbuf_putc(out, (char)(v >> 8 * i));
}

static void put_text(struct strbuf *out, const char *s) {
    put_number(out, strlen(s), 8);
    strbuf_puts(out, s);
}

/* A tensor without elements is within the file, also of one that ends before its data would begin. */
static void test_empty_tensor(void **state) {
    (void)state;
    struct strbuf out;
    struct diag_list d;
    struct gguf g;
    diag_init(&d, mem_system_allocator());
    strbuf_init(&out, d.al);
    strbuf_puts(&out, "GGUF");
    put_number(&out, 3, 4);
    put_number(&out, 1, 8);
    put_number(&out, 0, 8);
    put_text(&out, "none");
    put_number(&out, 2, 4);
    put_number(&out, 32, 8);
    put_number(&out, 0, 8);
    put_number(&out, 0, 4);
    put_number(&out, 0, 8);
    assert_true(out.n % 32 != 0);
    assert_int_equal(gguf_parse((struct str){out.p, out.n}, "empty", d.al, &d, &g), HILO_OK);
    assert_int_equal(g.tensors[0].bytes, 0);
    assert_ptr_equal(g.tensors[0].data, out.p + out.n);
    gguf_close(&g);
    strbuf_free(&out);
}

/* A file with one tensor of four numbers; part `number` of two. */
static void put_part(const char *path, int number, const char *tensor_name, float first) {
    static const char *const keys[] = {"split.no", "split.count"};
    struct strbuf out;
    struct diag_list d;
    diag_init(&d, mem_system_allocator());
    strbuf_init(&out, d.al);
    strbuf_puts(&out, "GGUF");
    put_number(&out, 3, 4);
    put_number(&out, 1, 8);
    put_number(&out, 2, 8);
    for (int i = 0; i < 2; i++) {
        put_text(&out, keys[i]);
        put_number(&out, GGUF_U16, 4);
        put_number(&out, i ? 2 : (uint64_t)number, 2);
    }
    put_text(&out, tensor_name);
    put_number(&out, 1, 4);
    put_number(&out, 4, 8);
    put_number(&out, 0, 4);
    put_number(&out, 0, 8);
    while (out.n % 32)
        strbuf_putc(&out, 0);
    const float x[] = {first, 2, 3, 4};
    strbuf_putn(&out, (const char *)x, sizeof x);
    assert_int_equal(file_write(path, (struct str){out.p, out.n}, &d), HILO_OK);
    strbuf_free(&out);
}

static void refuse_parts(const char *path, hilo_status status, const char *why) {
    struct llm_tensors t;
    struct diag_list d;
    diag_init(&d, mem_system_allocator());
    assert_int_equal(llm_tensors_open(path, d.al, &d, &t), status);
    if (!strstr(d.first->message, why))
        fail_msg("'%s' expected in: %s", why, d.first->message);
    llm_tensors_close(&t);
    diag_clear(&d);
}

static void test_parts(void **state) {
    (void)state;
    char dir[] = "/tmp/hilo-gguf-XXXXXX", first[64], second[64], other[64];
    struct llm_tensors t;
    struct gguf_files f;
    struct diag_list d;
    float x = 0;
    diag_init(&d, mem_system_allocator());
    assert_non_null(mkdtemp(dir));
    snprintf(first, sizeof first, "%s/m-00001-of-00002.gguf", dir);
    snprintf(second, sizeof second, "%s/m-00002-of-00002.gguf", dir);
    snprintf(other, sizeof other, "%s/m.gguf", dir);
    put_part(first, 0, "a", 10);
    put_part(other, 0, "a", 10);
    refuse_parts(first, HILO_NOT_FOUND, "m-00002-of-00002.gguf");
    refuse_parts(other, HILO_INVALID_ARGUMENT, "a name that ends in -00001-of-00002.gguf was expected");
    put_part(second, 1, "b", 20);
    refuse_parts(second, HILO_INVALID_ARGUMENT, "this is file 2 of 2; name the first");
    assert_int_equal(llm_tensors_open(first, d.al, &d, &t), HILO_OK);
    assert_int_equal(t.n, 2);
    memcpy(&x, llm_tensors_find(&t, "b")->data, sizeof x);
    assert_true(x == 20);
    llm_tensors_close(&t);
    assert_int_equal(gguf_files_open(first, d.al, &d, &f), HILO_OK);
    assert_non_null(tensor(&f.all, "a"));
    assert_non_null(tensor(&f.all, "b"));
    gguf_files_close(&f);
    put_part(second, 1, "a", 20);
    refuse_parts(first, HILO_INVALID_ARGUMENT, "tensor 'a' is there twice");
    unlink(first);
    unlink(second);
    unlink(other);
    rmdir(dir);
}

/* ---- metadata as a config ------------------------------------------------------------------------ */

/* A list has the type of its elements, and its values in `list`. */
struct field { const char *key; enum gguf_type type; uint64_t value; const char *text; const uint32_t *list; };
struct matrix { const char *name; int64_t rows; };
enum { COLS = 8 };

/* The config of a file with the fields and matrices, which end with an empty name; NULL: *d says why. */
static json_t *read_document(const char *arch, const struct field *fields, const struct matrix *matrices, struct diag_list *d) {
    struct strbuf out;
    struct gguf g;
    uint64_t nfields = 1, n = 0, at = 0;
    diag_init(d, mem_system_allocator());
    strbuf_init(&out, d->al);
    while (fields[nfields - 1].key)
        nfields++;
    while (matrices[n].name)
        n++;
    strbuf_puts(&out, "GGUF");
    put_number(&out, 3, 4);
    put_number(&out, n, 8);
    put_number(&out, nfields, 8);
    put_text(&out, "general.architecture");
    put_number(&out, GGUF_STRING, 4);
    put_text(&out, arch);
    for (const struct field *f = fields; f->key; f++) {
        char key[128];
        snprintf(key, sizeof key, "%s.%s", arch, f->key);
        put_text(&out, key);
        put_number(&out, f->list ? GGUF_ARRAY : f->type, 4);
        if (f->list) {
            put_number(&out, f->type, 4);
            put_number(&out, f->value, 8);
        }
        for (uint64_t i = 0; f->list && i < f->value; i++)
            put_number(&out, f->list[i], f->type == GGUF_BOOL ? 1 : 4);
        if (f->type == GGUF_STRING)
            put_text(&out, f->text);
        else if (!f->list)
            put_number(&out, f->value, 4);
    }
    for (const struct matrix *m = matrices; m->name; m++) {
        put_text(&out, m->name);
        put_number(&out, 2, 4);
        put_number(&out, COLS, 8);
        put_number(&out, (uint64_t)m->rows, 8);
        put_number(&out, 0, 4);
        put_number(&out, at, 8);
        at += (uint64_t)m->rows * COLS * sizeof(float);
    }
    while (out.n % 32)
        strbuf_putc(&out, 0);
    for (uint64_t i = 0; i < at; i++)
        strbuf_putc(&out, 0);
    assert_int_equal(gguf_parse((struct str){out.p, out.n}, "test", d->al, d, &g), HILO_OK);
    json_t *config = gguf_config(&g);
    gguf_close(&g);
    strbuf_free(&out);
    return config;
}

static json_t *document_of(const char *arch, const struct field *fields, const struct matrix *matrices) {
    struct diag_list d;
    json_t *config = read_document(arch, fields, matrices, &d);
    assert_non_null(config);
    return config;
}

static struct llm_config config_of(const char *arch, const struct field *fields, const struct matrix *matrices) {
    struct diag_list d;
    struct llm_config c;
    diag_init(&d, mem_system_allocator());
    json_t *config = document_of(arch, fields, matrices);
    char *text = json_dumps(config, 0);
    assert_int_equal(llm_config_parse(str_of(text), (struct str){NULL, 0}, &d, &c), HILO_OK);
    free(text);
    json_decref(config);
    return c;
}

static void test_configs(void **state) {
    (void)state;
    static const struct field bert[] = {
        {"block_count", GGUF_U32, 2, NULL, NULL},          {"context_length", GGUF_U32, 16, NULL, NULL},
        {"embedding_length", GGUF_U32, COLS, NULL, NULL},  {"feed_forward_length", GGUF_U32, 24, NULL, NULL},
        {"pooling_type", GGUF_U32, 2, NULL, NULL},         {"attention.head_count", GGUF_U32, 2, NULL, NULL},
        {"attention.layer_norm_epsilon", GGUF_F32, 0x3f000000, NULL, NULL}, {0},
    };
    static const struct matrix bert_tensors[] = {
        {"token_embd.weight", 12}, {"token_types.weight", 4}, {"blk.0.ffn_up.bias", 4}, {0}};
    struct llm_config c = config_of("bert", bert, bert_tensors);
    assert_true(c.sum_norms && c.layer_norm && c.bidirectional && c.mlp_bias && !c.generates);
    assert_int_equal(c.pooling, LLM_POOL_FIRST);
    assert_int_equal(c.types, 4);
    assert_int_equal(c.learned, 16);
    assert_int_equal(c.vocab, 12);
    assert_true(c.norm_eps == 0.5);
    static const struct field gpt_oss[] = {
        {"block_count", GGUF_U32, 2, NULL, NULL},          {"context_length", GGUF_U32, 64, NULL, NULL},
        {"embedding_length", GGUF_U32, COLS, NULL, NULL},  {"feed_forward_length", GGUF_U32, 24, NULL, NULL},
        {"attention.head_count", GGUF_U32, 2, NULL, NULL}, {"attention.key_length", GGUF_U32, 4, NULL, NULL},
        {"attention.sliding_window", GGUF_U32, 5, NULL, NULL}, {"expert_count", GGUF_U32, 6, NULL, NULL},
        {"expert_used_count", GGUF_U32, 3, NULL, NULL},    {"expert_feed_forward_length", GGUF_U32, 20, NULL, NULL},
        {"rope.scaling.type", GGUF_STRING, 0, "yarn", NULL}, {"rope.scaling.factor", GGUF_F32, 0x42000000, NULL, NULL},
        {"rope.scaling.original_context_length", GGUF_U32, 16, NULL, NULL}, {0},
    };
    static const struct matrix gpt_oss_tensors[] = {{"token_embd.weight", 12}, {"output.weight", 12}, {"blk.0.attn_q.bias", 4},
                                                    {0}};
    c = config_of("gpt-oss", gpt_oss, gpt_oss_tensors);
    assert_true(c.sinks && c.expert_bias && c.qkv_bias && c.o_bias && !c.tied);
    assert_true(c.layer[0].sliding && !c.layer[1].sliding);
    assert_int_equal(c.experts, 6);
    assert_int_equal(c.chosen, 3);
    assert_int_equal(c.expert_ffn, 20);
    assert_int_equal(c.rope.kind, LLM_ROPE_YARN);
    assert_true(c.rope.factor == 32 && !c.rope.truncate);
}

#define LAYERS_AND_SIZES {"block_count", GGUF_U32, 4, NULL, NULL}, {"context_length", GGUF_U32, 64, NULL, NULL}, \
    {"embedding_length", GGUF_U32, COLS, NULL, NULL}, {"attention.head_count", GGUF_U32, 2, NULL, NULL}
enum { HALF = 0x3f000000, TWO = 0x40000000, NEVER = 0xff800000u /* minus infinity */ };

/* What only lists say. */
static void test_layers(void **state) {
    (void)state;
    static const uint32_t recurrent[] = {1, 0, 1, 0}, slides[] = {1, 0, 1, 0}, kv[] = {2, 1, 2, 1}, widths[] = {24, 24, 24, 48};
    static const uint32_t narrow[] = {24, 8, 24, 8}, sparse[] = {NEVER, 0, HALF, NEVER};
    static const struct field qwen[] = {
        LAYERS_AND_SIZES, {"feed_forward_length", GGUF_U32, 24, NULL, NULL}, {"attention.key_length", GGUF_U32, 8, NULL, NULL},
        {"nextn_predict_layers", GGUF_U32, 1, NULL, NULL}, {"attention.recurrent_layers", GGUF_BOOL, 4, NULL, recurrent},
        {"ssm.conv_kernel", GGUF_U32, 3, NULL, NULL}, {"ssm.state_size", GGUF_U32, 6, NULL, NULL},
        {"ssm.group_count", GGUF_U32, 2, NULL, NULL}, {"ssm.time_step_rank", GGUF_U32, 4, NULL, NULL},
        {"ssm.inner_size", GGUF_U32, 20, NULL, NULL}, {"rope.dimension_count", GGUF_U32, 4, NULL, NULL}, {0},
    };
    static const struct matrix tensors[] = {{"token_embd.weight", 12}, {"blk.0.laurel_l.weight", 3},
                                            {"per_layer_token_embd.weight", 11}, {"blk.1.attn_k.weight", 4}, {0}};
    struct llm_config c = config_of("qwen35", qwen, tensors);
    assert_int_equal(c.layers, 3);
    assert_true(c.layer[0].recurrent && !c.layer[1].recurrent && c.layer[2].recurrent);
    assert_true(c.delta.taps == 3 && c.delta.key_dim == 6 && c.delta.key_heads == 2 && c.delta.heads == 4);
    assert_int_equal(c.delta.value_dim, 5);
    assert_int_equal(c.rope.dim, 4);
    assert_true(c.shifted_norms && !c.interleaved);
    static const struct field gemma3n[] = {
        LAYERS_AND_SIZES, {"feed_forward_length", GGUF_I32, 4, NULL, narrow}, {"attention.key_length", GGUF_U32, 4, NULL, NULL},
        {"attention.sliding_window", GGUF_U32, 5, NULL, NULL}, {"attention.shared_kv_layers", GGUF_U32, 1, NULL, NULL},
        {"attention.sliding_window_pattern", GGUF_BOOL, 4, NULL, slides}, {"altup.num_inputs", GGUF_U32, 3, NULL, NULL},
        {"embedding_length_per_layer_input", GGUF_U32, 2, NULL, NULL}, {"rope.freq_base_swa", GGUF_F32, TWO, NULL, NULL},
        {"activation_sparsity_scale", GGUF_F32, 4, NULL, sparse}, {0},
    };
    c = config_of("gemma3n", gemma3n, tensors);
    assert_true(c.layer[0].sliding && !c.layer[1].sliding && !c.layer[2].borrows && c.layer[3].borrows);
    assert_true(c.layer[0].ffn == 24 && c.layer[1].ffn == 8 && c.streams == 3 && c.rank == 3);
    assert_true(c.side == 2 && c.side_rows == 11 && c.local_rope.theta == 2);
    assert_true(c.layer[0].spread == 0 && fabs(c.layer[1].spread) < 1e-6 && fabs(c.layer[2].spread - 0.5) < 1e-6);
    static const struct field gemma4[] = {
        LAYERS_AND_SIZES, {"feed_forward_length", GGUF_I32, 4, NULL, widths}, {"attention.key_length", GGUF_U32, 8, NULL, NULL},
        {"attention.sliding_window", GGUF_U32, 5, NULL, NULL}, {"attention.shared_kv_layers", GGUF_U32, 1, NULL, NULL},
        {"attention.sliding_window_pattern", GGUF_BOOL, 4, NULL, slides}, {"attention.head_count_kv", GGUF_I32, 4, NULL, kv},
        {"attention.key_length_swa", GGUF_U32, 4, NULL, NULL}, {"expert_count", GGUF_U32, 6, NULL, NULL},
        {"expert_used_count", GGUF_U32, 2, NULL, NULL}, {"expert_feed_forward_length", GGUF_U32, 20, NULL, NULL},
        {"rope.freq_base_swa", GGUF_F32, TWO, NULL, NULL}, {0},
    };
    c = config_of("gemma4", gemma4, tensors);
    assert_true(c.layer[0].head_dim == 4 && c.layer[1].head_dim == 8 && c.layer[0].kv_heads == 2 && c.layer[1].kv_heads == 1);
    assert_true(c.layer[1].one_key_value && !c.layer[0].one_key_value && c.layer[3].borrows && c.layer[3].ffn == 48);
    assert_true(c.experts == 6 && c.chosen == 2 && c.expert_ffn == 20 && c.parallel_experts);
    assert_true(c.rope.kind == LLM_ROPE_PROPORTIONAL && c.local_rope.kind == LLM_ROPE_PLAIN && c.local_rope.theta == 2);
    static const struct field endless[] = {{"block_count", GGUF_U32, 0xffffffffu, NULL, NULL},
                                           {"ssm.group_count", GGUF_U32, 2, NULL, NULL},
                                           {"nextn_predict_layers", GGUF_U32, 1, NULL, NULL}, {0}};
    json_t *config = document_of("qwen35", endless, tensors); /* which config.c refuses */
    assert_int_equal(json_integer_value(json_object_get(config, "num_hidden_layers")), 0xfffffffell);
    assert_int_equal(json_array_size(json_object_get(config, "layer_types")), LLM_MAX_LAYERS);
    json_decref(config);
}

/* JSON has no such numbers: the file is refused, and the message names the key. */
static void test_not_finite(void **state) {
    (void)state;
    enum { NOT_A_NUMBER = 0x7fc00000, INFINITE = 0x7f800000 };
    static const uint32_t widths[] = {0, NOT_A_NUMBER};
    static const struct matrix tensors[] = {{"token_embd.weight", 12}, {0}};
    static const struct field wrong[] = {
        {"attention.layer_norm_rms_epsilon", GGUF_F32, NOT_A_NUMBER, NULL, NULL},
        {"block_count", GGUF_F32, INFINITE, NULL, NULL},
        {"rope.freq_base", GGUF_F32, NEVER, NULL, NULL},
        {"activation_sparsity_scale", GGUF_F32, 2, NULL, widths},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        const struct field fields[] = {wrong[i], {"altup.num_inputs", GGUF_U32, 3, NULL, NULL}, {0}};
        struct diag_list d;
        assert_null(read_document("gemma3n", fields, tensors, &d));
        assert_int_equal(d.first->status, HILO_INVALID_ARGUMENT);
        assert_non_null(strstr(d.first->message, wrong[i].key));
        assert_non_null(strstr(d.first->message, "is not a finite number"));
        assert_null(d.first->next);
        diag_clear(&d);
    }
}

/* The order of heads and of halves in files. */
static void test_order(void **state) {
    (void)state;
    struct llm_config c = {.head_dim = 4, .delta = {.heads = 6, .key_heads = 2, .key_dim = 1, .value_dim = 2}};
    struct llm_weight w = {.role = LLM_W_DELTA_IN, .rows = 16, .cols = 3};
    struct llm_gguf_order o;
    static const int64_t values[] = {0, 1, 2, 3, 4, 5, 10, 11, 6, 7, 12, 13, 8, 9, 14, 15}, halves[] = {0, 2, 1, 3, 4, 6, 5, 7};
    assert_true(llm_gguf_order(&c, &w, false, &o) && !o.columns);
    for (int64_t i = 0; i < 16; i++)
        assert_int_equal(llm_gguf_source(&o, i), values[i]);
    w.role = LLM_W_DELTA_OUT;
    assert_true(llm_gguf_order(&c, &w, false, &o) && o.columns);
    for (int64_t i = 0; i < 12; i++)
        assert_int_equal(llm_gguf_source(&o, i), values[i + 4] - 4);
    w = (struct llm_weight){.role = LLM_W_K, .rows = 8, .cols = 3};
    assert_false(llm_gguf_order(&c, &w, false, &o));
    assert_true(llm_gguf_order(&c, &w, true, &o));
    for (int64_t i = 0; i < 8; i++)
        assert_int_equal(llm_gguf_source(&o, i), halves[i]);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_blocks),
                                       cmocka_unit_test(test_rows_of_words), cmocka_unit_test(test_damage),
                                       cmocka_unit_test(test_empty_tensor),
                                       cmocka_unit_test(test_parts), cmocka_unit_test(test_configs),
                                       cmocka_unit_test(test_layers), cmocka_unit_test(test_not_finite),
                                       cmocka_unit_test(test_order)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
