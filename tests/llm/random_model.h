/* Models with random weights, for tests: the config says which weights there are. */
#ifndef HILO_TESTS_RANDOM_MODEL_H
#define HILO_TESTS_RANDOM_MODEL_H

#include "llm/generate.h"
#include "llm/gguf.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

enum { MOST_TENSORS = 160 };

static float random_number(uint64_t *x) {
    *x ^= *x << 13, *x ^= *x >> 7, *x ^= *x << 17;
    return (float)((double)(*x >> 11) * 0x1p-53 - 0.5) * 0.5f;
}

static void put_file(const char *dir, const char *name, const char *text) {
    char path[256];
    struct diag_list d;
    diag_init(&d, mem_system_allocator());
    snprintf(path, sizeof path, "%s/%s", dir, name);
    assert_int_equal(file_write(path, str_of(text), &d), HILO_OK);
}

/* The model reports the tensors that it needs, one after the other: each that is missing is made. */
static void make_model(const char *dir, const char *config, struct llm_model *m) {
    static struct llm_tensor v[MOST_TENSORS];
    static char names[MOST_TENSORS][160];
    char path[256];
    struct diag_list d;
    size_t n = 0;
    uint64_t x = 88172645463325252u;
    diag_init(&d, mem_system_allocator());
    put_file(dir, "config.json", config);
    snprintf(path, sizeof path, "%s/model.safetensors", dir);
    for (;;) {
        assert_int_equal(llm_tensors_write(path, v, n, d.al, &d), HILO_OK);
        if (llm_model_open(dir, LLM_AS_STORED, LLM_UNDIVIDED, NULL, NULL, d.al, &d, m) == HILO_OK)
            break;
        long long rows, cols = 1;
        assert_true(n < MOST_TENSORS);
        static const char missing[] = "tensor '%159[^']' is missing; the config calls for [%lld, %lld]";
        int got = sscanf(d.first->message, missing, names[n], &rows, &cols);
        if (got < 2)
            fail_msg("%s", d.first->message);
        size_t count = (size_t)(rows * cols);
        float *data = malloc(count * sizeof *data);
        for (size_t i = 0; i < count; i++)
            data[i] = random_number(&x) + (got == 2 && strstr(names[n], "norm") ? 1.0f : 0.0f);
        v[n] = (struct llm_tensor){.name = str_of(names[n]), .dtype = IR_F32_T, .rank = (uint32_t)got - 1, .dims = {rows, cols},
                                   .data = data, .bytes = count * sizeof *data};
        n++;
        diag_clear(&d);
    }
    while (n)
        free((void *)(uintptr_t)v[--n].data);
}

/* A GGUF file that is written of the model in a directory is the same model, but for the rounding of norms; or none is written,
   and the message says why: `refused`. */
static inline void check_gguf(const struct llm_model *m, const char *dir, const char *name, const char *refused) {
    char path[256];
    struct diag_list d;
    struct llm_model back;
    diag_init(&d, mem_system_allocator());
    snprintf(path, sizeof path, "%s/model.gguf", dir);
    hilo_status status = llm_model_write_gguf(m, dir, path, NULL, &d);
    if (refused && (status == HILO_OK || !strstr(d.first->message, refused)))
        fail_msg("%s: %s", name, status == HILO_OK ? "a GGUF file is written" : d.first->message);
    if (!refused && status == HILO_OK)
        status = llm_model_open(path, LLM_AS_STORED, LLM_UNDIVIDED, NULL, NULL, d.al, &d, &back);
    if (!refused && status != HILO_OK)
        fail_msg("%s: %s", name, d.first->message);
    diag_clear(&d);
    assert_int_equal(access(path, F_OK) == 0, !refused);
    if (refused)
        return;
    unlink(path);
    assert_int_equal(back.nweights, m->nweights);
    for (size_t i = 0; i < m->nweights; i++) {
        const struct llm_weight *a = &m->weights[i], *b = &back.weights[i];
        int64_t first = a->role == LLM_W_PLACES ? m->config.offset : 0; /* a file has no rows before the first position */
        assert_int_equal(a->role, b->role);
        assert_int_equal(a->bits, b->bits);
        assert_true(b->rows >= a->rows - first && a->cols == b->cols);
        for (uint32_t k = 0; k < a->nparams; k++) {
            const struct llm_param *p = &m->params[a->first + k], *q = &back.params[b->first + k];
            const char *from = (const char *)p->data + first * a->cols * (int64_t)sizeof(float);
            size_t bytes = p->bytes - (size_t)(from - (const char *)p->data);
            bool same = a->bits && memcmp(from, q->data, bytes) == 0;
            for (size_t e = 0; e < bytes / sizeof(float) && !a->bits; e++) {
                same = fabsf(((const float *)(const void *)from)[e] - ((const float *)q->data)[e]) <= 3e-7f;
                if (!same)
                    break;
            }
            if (!same)
                fail_msg("%s: %s is another", name, p->name.p);
        }
    }
    llm_model_close(&back);
}

static const char family_dir[] = "/tmp/hilo-llm-XXXXXX";

/* A directory with a tokenizer, for models. */
static hilo_client *open_directory(char dir[sizeof family_dir]) {
    char path[256];
    struct diag_list d;
    struct file tokenizer;
    hilo_client *client;
    diag_init(&d, mem_system_allocator());
    memcpy(dir, family_dir, sizeof family_dir);
    assert_non_null(mkdtemp(dir));
    assert_int_equal(hilo_client_create(NULL, &client), HILO_OK);
    assert_int_equal(file_open("tests/llm/tiny-llama/tokenizer.json", d.al, &d, &tokenizer), HILO_OK);
    snprintf(path, sizeof path, "%s/tokenizer.json", dir);
    assert_int_equal(file_write(path, tokenizer.text, &d), HILO_OK);
    file_close(&tokenizer);
    return client;
}

static void close_directory(const char *dir, hilo_client *client) {
    static const char *const files[] = {"config.json", "model.safetensors", "tokenizer.json"};
    char path[256];
    for (size_t i = 0; i < 3; i++) {
        snprintf(path, sizeof path, "%s/%s", dir, files[i]);
        unlink(path);
    }
    rmdir(dir);
    hilo_client_release(client);
}

#endif
