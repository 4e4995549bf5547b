/* safetensors files: one, shards, written and read again, and what is refused. */
#include "llm/tensors.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static const char *type_of(const struct llm_tensor *t, struct strbuf *out) {
    out->n = 0;
    llm_tensor_type(t, out);
    return out->p;
}

static void test_model(void **state) {
    (void)state;
    struct llm_tensors t;
    struct diag_list d;
    struct strbuf text;
    diag_init(&d, mem_system_allocator());
    strbuf_init(&text, d.al);
    assert_int_equal(llm_tensors_open("tests/llm/tiny-llama", d.al, &d, &t), HILO_OK);
    assert_int_equal(t.n, 38);
    assert_true(t.files[0].file.mapped);
    const struct llm_tensor *k = llm_tensors_find(&t, "model.layers.3.self_attn.k_proj.weight");
    assert_non_null(k);
    assert_string_equal(type_of(k, &text), "BF16[32, 128]");
    assert_int_equal(k->bytes, 8192);
    assert_null(llm_tensors_find(&t, "model.layers.4.self_attn.k_proj.weight"));
    llm_tensors_close(&t);
    strbuf_free(&text);
    diag_clear(&d);
}

/* A file of this header and n bytes of data. */
static size_t make_file(const char *header, size_t n, char *out) {
    size_t length = strlen(header);
    memset(out, 0, 8);
    out[0] = (char)(length & 0xFF);
    out[1] = (char)(length >> 8);
    memcpy(out + 8, header, length);
    memset(out + 8 + length, 7, n);
    return 8 + length + n;
}

#define ENTRY(name, dtype, shape, from, to) \
    "\"" name "\":{\"dtype\":\"" dtype "\",\"shape\":[" shape "],\"data_offsets\":[" #from "," #to "]}"

static void test_refusals(void **state) {
    (void)state;
    static const struct { const char *header; size_t data; const char *why; } cases[] = {
        {"{" ENTRY("a", "F32", "2", 0, 8) "}", 8, NULL},
        {"{\"__metadata__\":{\"x\":\"y\"}," ENTRY("a", "I4", "3,2", 0, 3) "," ENTRY("b", "F8_E4M3", "", 3, 4) "}", 4, NULL},
        {"{" ENTRY("a", "F32", "0,5", 0, 0) "}", 0, NULL},
        {"{}", 0, NULL},
        {"[]", 0, "object"},
        {"{\"a\":", 0, "not JSON"},
        {"{\"a\":7}", 0, "tensor 'a' has no 'dtype'"},
        {"{" ENTRY("a", "F31", "2", 0, 8) "}", 8, "tensor 'a' has the dtype 'F31'"},
        {"{" ENTRY("a", "F32", "2.5", 0, 8) "}", 8, "tensor 'a' has a 'shape'"},
        {"{" ENTRY("a", "F32", "-2", 0, 8) "}", 8, "tensor 'a' has a 'shape'"},
        {"{" ENTRY("a", "F32", "1,1,1,1,1,1,1,1,1", 0, 4) "}", 4, "tensor 'a' has no 'shape' of at most 8"},
        {"{" ENTRY("a", "F32", "4294967296,4294967296,4294967296", 0, 8) "}", 8, "too large"},
        {"{" ENTRY("a", "I4", "3", 0, 2) "}", 2, "no number of bytes"},
        {"{" ENTRY("a", "F32", "2", 0, 16) "}", 8, "there are 8 bytes of data"},
        {"{" ENTRY("a", "F32", "2", 8, 0) "}", 8, "tensor 'a' has data_offsets [8, 0]"},
        {"{" ENTRY("a", "F32", "2", -8, 0) "}", 8, "tensor 'a' has data_offsets [-8, 0]"},
        {"{" ENTRY("a", "F32", "3", 0, 8) "}", 8, "tensor 'a' has 8 bytes of data, but its type takes 12"},
        {"{" ENTRY("a", "F32", "1", 0, 4) "," ENTRY("b", "F32", "1", 2, 6) "}", 6, "tensor 'b' overlaps"},
        {"{" ENTRY("a", "F32", "1", 0, 4) "," ENTRY("b", "F32", "1", 8, 12) "}", 12, "tensor 'b' leaves a hole"},
        {"{" ENTRY("a", "F32", "1", 0, 4) "}", 8, "4 bytes after"},
        {"{" ENTRY("a", "F32", "1", 0, 4) "," ENTRY("a", "F32", "1", 0, 4) "}", 4, "duplicate"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char file[1024];
        struct llm_tensors t;
        struct diag_list d;
        diag_init(&d, mem_system_allocator());
        size_t n = make_file(cases[i].header, cases[i].data, file);
        hilo_status status = llm_tensors_parse((struct str){file, n}, "x.safetensors", d.al, &d, &t);
        assert_int_equal(status, cases[i].why ? HILO_INVALID_ARGUMENT : HILO_OK);
        if (cases[i].why && !strstr(d.first->message, cases[i].why))
            fail_msg("'%s' expected in: %s", cases[i].why, d.first->message);
        llm_tensors_close(&t);
        diag_clear(&d);
        for (size_t k = 0; cases[i].why == NULL && k < n - 1; k++) { /* cut anywhere, it is refused */
            if (llm_tensors_parse((struct str){file, k}, "x", d.al, &d, &t) == HILO_OK && cases[i].data)
                fail_msg("%zu of %zu bytes are accepted", k, n);
            llm_tensors_close(&t);
            diag_clear(&d);
        }
    }
}

/* A header is bounded before it is read: it would take many times its size. */
static void test_long_header(void **state) {
    (void)state;
    const size_t n = 100000001;
    struct llm_tensors t;
    struct diag_list d;
    diag_init(&d, mem_system_allocator());
    char *file = calloc(n + 8, 1);
    assert_non_null(file);
    for (size_t i = 0; i < 4; i++)
        file[i] = (char)(n >> 8 * i);
    assert_int_equal(llm_tensors_parse((struct str){file, n + 8}, "x.safetensors", d.al, &d, &t), HILO_INVALID_ARGUMENT);
    assert_non_null(strstr(d.first->message, "a header of 100000001 bytes; at most 100000000"));
    llm_tensors_close(&t);
    free(file);
    diag_clear(&d);
}

static void put_text(const char *dir, const char *name, const char *text) {
    char path[256];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    fputs(text, f);
    assert_int_equal(fclose(f), 0);
}

static void put_shard(const char *dir, const char *name, const char *tensor, float x) {
    char path[256];
    struct diag_list d;
    diag_init(&d, mem_system_allocator());
    snprintf(path, sizeof path, "%s/%s", dir, name);
    const struct llm_tensor t = {.name = str_of(tensor), .dtype = IR_F32_T, .rank = 1, .dims = {1}, .data = &x, .bytes = 4};
    assert_int_equal(llm_tensors_write(path, &t, 1, d.al, &d), HILO_OK);
}

/* Data begins at a multiple of 64 bytes of the file, however long the names are: after the length of the header, and that. */
static void check_data_offset(const char *dir, const char *name) {
    char path[256];
    unsigned char length[8];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    assert_int_equal(fread(length, 1, sizeof length, f), sizeof length);
    assert_int_equal(fclose(f), 0);
    assert_int_equal((sizeof length + length[0] + 256u * length[1]) % 64, 0);
}

static hilo_status open_index(const char *dir, const char *index, struct llm_tensors *t, struct diag_list *d) {
    put_text(dir, "model.safetensors.index.json", index);
    diag_clear(d);
    return llm_tensors_open(dir, d->al, d, t);
}

static void test_shards(void **state) {
    (void)state;
    char dir[] = "/tmp/hilo-tensors-XXXXXX";
    struct llm_tensors t;
    struct diag_list d;
    diag_init(&d, mem_system_allocator());
    assert_non_null(mkdtemp(dir));
    put_shard(dir, "1.safetensors", "b\"\\", 1);
    put_shard(dir, "2.safetensors", "a", 2);
    check_data_offset(dir, "1.safetensors");
    check_data_offset(dir, "2.safetensors");
    static const char right[] = "{\"weight_map\":{\"b\\\"\\\\\":\"1.safetensors\",\"a\":\"2.safetensors\"}}";
    assert_int_equal(open_index(dir, right, &t, &d), HILO_OK);
    assert_int_equal(t.n, 2);
    assert_true(*(const float *)llm_tensors_find(&t, "a")->data == 2);
    assert_true(*(const float *)llm_tensors_find(&t, "b\"\\")->data == 1);
    llm_tensors_close(&t);
    static const char *const wrong[] = {
        "{\"weight_map\":{\"c\":\"1.safetensors\"}}", "{\"weight_map\":{\"a\":\"../2.safetensors\"}}",
        "{\"weight_map\":{\"a\":7}}", "{}", "{\"weight_map\":{\"a\":\"\"}}",
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        assert_int_equal(open_index(dir, wrong[i], &t, &d), HILO_INVALID_ARGUMENT);
        llm_tensors_close(&t);
    }
    assert_int_equal(open_index(dir, "{\"weight_map\":{\"a\":\"3.safetensors\"}}", &t, &d), HILO_NOT_FOUND);
    llm_tensors_close(&t);
    put_shard(dir, "3.safetensors", "a", 3);
    assert_int_equal(open_index(dir, "{\"weight_map\":{\"a\":\"3.safetensors\",\"x\":\"2.safetensors\"}}", &t, &d),
                     HILO_INVALID_ARGUMENT);
    assert_non_null(strstr(d.first->message, "in two files"));
    llm_tensors_close(&t);
    static const char *const names[] = {"1.safetensors", "2.safetensors", "3.safetensors", "model.safetensors.index.json"};
    for (size_t i = 0; i < 4; i++) {
        char path[256];
        snprintf(path, sizeof path, "%s/%s", dir, names[i]);
        unlink(path);
    }
    assert_int_equal(llm_tensors_open(dir, d.al, &d, &t), HILO_NOT_FOUND);
    llm_tensors_close(&t);
    rmdir(dir);
    diag_clear(&d);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_model), cmocka_unit_test(test_refusals),
                                       cmocka_unit_test(test_shards), cmocka_unit_test(test_long_header)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
