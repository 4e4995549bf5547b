/* Weights in the layouts of GPTQ, AWQ and MLX: files are packed here as those projects describe it, and must mean the numbers
 * that they were made of, to the bit, and the same logits as a model of plain numbers. */
#include "base/fp.h"
#include "llm/session.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

enum { GROUP = 32, VOCAB = 2054, HIDDEN = 64, MOST_ROWS = 128, MOST_COLS = 128, MOST_TENSORS = 64 };
enum method { GPTQ, AWQ, MLX };

static const struct variant {
    const char *name, *config; /* of config.json */
    enum method method;
    uint32_t bits;
    bool symmetric, less_one, scattered;
    enum llm_precision precision;
} variants[] = {
    {"gptq", "\"quantization_config\":{\"quant_method\":\"gptq\",\"bits\":4,\"group_size\":32,\"desc_act\":false}",
     GPTQ, 4, false, true, false, LLM_INT4Z},
    {"gptq, symmetric", "\"quantization_config\":{\"quant_method\":\"gptq\",\"bits\":4,\"group_size\":32,\"sym\":true}",
     GPTQ, 4, true, true, false, LLM_INT4},
    {"gptq_v2, 8 bits", "\"quantization_config\":{\"quant_method\":\"gptq\",\"bits\":8,\"group_size\":32,"
                        "\"checkpoint_format\":\"gptq_v2\"}", GPTQ, 8, false, false, false, LLM_INT8},
    {"gptq, 8 bits, symmetric", "\"quantization_config\":{\"quant_method\":\"gptq\",\"bits\":8,\"group_size\":32}",
     GPTQ, 8, true, true, false, LLM_INT8},
    {"gptq, by activation", "\"quantization_config\":{\"quant_method\":\"gptq\",\"bits\":4,\"group_size\":32,"
                            "\"desc_act\":true}", GPTQ, 4, false, true, true, LLM_F16},
    {"awq", "\"quantization_config\":{\"quant_method\":\"awq\",\"bits\":4,\"group_size\":32,\"version\":\"gemm\","
            "\"zero_point\":true}", AWQ, 4, false, false, false, LLM_INT4Z},
    {"awq, symmetric", "\"quantization_config\":{\"quant_method\":\"awq\",\"bits\":4,\"group_size\":32}",
     AWQ, 4, true, false, false, LLM_INT4},
    {"mlx", "\"quantization\":{\"group_size\":32,\"bits\":4}", MLX, 4, false, false, false, LLM_INT4Z},
    {"mlx, 8 bits", "\"quantization\":{\"group_size\":32,\"bits\":8,\"mode\":\"affine\"},"
                    "\"quantization_config\":{\"group_size\":32,\"bits\":8}", MLX, 8, false, false, false, LLM_INT8},
};

static const struct matrix { const char *name; int64_t rows, cols; } matrices[] = {
    {"self_attn.q_proj", 64, 64}, {"self_attn.k_proj", 32, 64}, {"self_attn.v_proj", 32, 64}, {"self_attn.o_proj", 64, 64},
    {"mlp.gate_proj", 128, 64}, {"mlp.up_proj", 128, 64}, {"mlp.down_proj", 64, 128},
};
enum { MATRICES = sizeof matrices / sizeof *matrices };

/* ---- files ----------------------------------------------------------------------------------- */

struct tensors {
    struct llm_tensor v[MOST_TENSORS];
    char names[MOST_TENSORS][160];
    size_t n;
};

/* One more tensor, of zeros. cols 0: a vector. */
static void *add(struct tensors *t, const char *layer, const char *suffix, enum ir_dtype type, int64_t rows, int64_t cols) {
    assert_true(t->n < MOST_TENSORS);
    char *name = t->names[t->n];
    struct llm_tensor *x = &t->v[t->n++];
    snprintf(name, sizeof t->names[0], "model.%s.%s", layer, suffix);
    size_t bytes = (size_t)(rows * (cols ? cols : 1)) * ir_dtype_get(type)->bytes;
    void *data = calloc(1, bytes);
    assert_non_null(data);
    *x = (struct llm_tensor){.name = str_of(name), .dtype = type, .rank = cols ? 2 : 1, .dims = {rows, cols}, .data = data,
                             .bytes = bytes};
    return data;
}

static void drop(struct tensors *t) {
    while (t->n)
        free((void *)(uintptr_t)t->v[--t->n].data);
}

static uint32_t draw(uint64_t *x) {
    *x ^= *x << 13, *x ^= *x >> 7, *x ^= *x << 17;
    return (uint32_t)(*x >> 32);
}

static float small(uint64_t *x) {
    return (float)((double)draw(x) * 0x1p-32 - 0.5) * 0.4f;
}

static void add_plain(struct tensors *t, uint64_t *x) {
    static const char *const norms[] = {"layers.0.input_layernorm", "layers.0.post_attention_layernorm", "norm"};
    float *table = add(t, "embed_tokens", "weight", IR_F32_T, VOCAB, HIDDEN);
    for (int i = 0; i < VOCAB * HIDDEN; i++)
        table[i] = small(x);
    for (size_t k = 0; k < 3; k++) {
        float *norm = add(t, norms[k], "weight", IR_F32_T, HIDDEN, 0);
        for (int i = 0; i < HIDDEN; i++)
            norm[i] = 1 + small(x);
    }
}

/* A matrix before it is packed. */
struct loose {
    uint32_t value[MOST_ROWS][MOST_COLS], zero[MOST_ROWS][MOST_COLS / GROUP];
    uint16_t scale[MOST_ROWS][MOST_COLS / GROUP], offset[MOST_ROWS][MOST_COLS / GROUP]; /* offset: MLX */
    int32_t group[MOST_COLS];
};

static void draw_matrix(const struct variant *v, const struct matrix *m, uint64_t *x, struct loose *out) {
    for (int64_t r = 0; r < m->rows; r++) {
        for (int64_t c = 0; c < m->cols; c++)
            out->value[r][c] = draw(x) & ((1u << v->bits) - 1);
        for (int64_t g = 0; g < m->cols / GROUP; g++) {
            out->zero[r][g] = v->symmetric ? 1u << (v->bits - 1) : draw(x) & ((1u << v->bits) - 1);
            out->scale[r][g] = f32_to_f16((0.3f + small(x)) / (float)(1u << v->bits));
            out->offset[r][g] = f32_to_f16(small(x));
        }
    }
    for (int64_t c = 0; c < m->cols; c++)
        out->group[c] = (int32_t)((v->scattered ? 5 * c % m->cols : c) / GROUP);
}

static float number(const struct variant *v, const struct loose *l, int64_t r, int64_t c) {
    int32_t g = l->group[c];
    float scale = f16_to_f32(l->scale[r][g]), q = (float)l->value[r][c];
    return v->method == MLX ? q * scale + f16_to_f32(l->offset[r][g]) : (q - (float)l->zero[r][g]) * scale;
}

static void pack(const struct variant *v, const struct matrix *m, const struct loose *l, const char *layer,
                 struct tensors *t) {
    static const int64_t awq[8] = {0, 2, 4, 6, 1, 3, 5, 7};
    int64_t n = 32 / v->bits, groups = m->cols / GROUP;
    if (v->method == MLX) {
        uint32_t *words = add(t, layer, "weight", IR_UI32_T, m->rows, m->cols / n);
        uint16_t *scales = add(t, layer, "scales", IR_F16_T, m->rows, groups);
        uint16_t *offsets = add(t, layer, "biases", IR_F16_T, m->rows, groups);
        for (int64_t r = 0; r < m->rows; r++) {
            for (int64_t c = 0; c < m->cols; c++)
                words[r * (m->cols / n) + c / n] |= l->value[r][c] << (uint32_t)(c % n) * v->bits;
            memcpy(scales + r * groups, l->scale[r], (size_t)groups * sizeof *scales);
            memcpy(offsets + r * groups, l->offset[r], (size_t)groups * sizeof *offsets);
        }
        return;
    }
    bool is_awq = v->method == AWQ;
    uint32_t *words = add(t, layer, "qweight", IR_I32_T, is_awq ? m->cols : m->cols / n, is_awq ? m->rows / n : m->rows);
    uint32_t *zeros = add(t, layer, "qzeros", IR_I32_T, groups, m->rows / n);
    uint16_t *scales = add(t, layer, "scales", IR_F16_T, groups, m->rows);
    for (int64_t g = 0; g < groups; g++)
        for (int64_t w = 0; w < m->rows / n; w++)
            for (int64_t k = 0; k < n; k++) {
                int64_t r = n * w + (is_awq ? awq[k] : k);
                uint32_t zero = (l->zero[r][g] - v->less_one) & ((1u << v->bits) - 1);
                zeros[g * (m->rows / n) + w] |= zero << (uint32_t)k * v->bits;
                scales[g * m->rows + r] = l->scale[r][g];
            }
    for (int64_t c = 0; c < m->cols; c++)
        for (int64_t r = 0; r < m->rows && !is_awq; r++)
            words[c / n * m->rows + r] |= l->value[r][c] << (uint32_t)(c % n) * v->bits;
    for (int64_t c = 0; c < m->cols && is_awq; c++)
        for (int64_t w = 0; w < m->rows / n; w++)
            for (int64_t k = 0; k < n; k++)
                words[c * (m->rows / n) + w] |= l->value[n * w + awq[k]][c] << (uint32_t)k * v->bits;
    if (!is_awq) {
        int32_t *order = add(t, layer, "g_idx", IR_I32_T, m->cols, 0);
        memcpy(order, l->group, (size_t)m->cols * sizeof *order);
    }
}

static void write_model(const char *dir, const char *config, const struct tensors *t) {
    char text[1024], path[256];
    struct diag_list d;
    diag_init(&d, mem_system_allocator());
    snprintf(text, sizeof text, "{\"model_type\":\"llama\",\"hidden_size\":64,\"num_hidden_layers\":1,"
             "\"num_attention_heads\":4,\"num_key_value_heads\":2,\"intermediate_size\":128,"
             "\"vocab_size\":2054,\"max_position_embeddings\":64,\"tie_word_embeddings\":true%s%s}",
             *config ? "," : "", config);
    snprintf(path, sizeof path, "%s/config.json", dir);
    assert_int_equal(file_write(path, str_of(text), &d), HILO_OK);
    snprintf(path, sizeof path, "%s/model.safetensors", dir);
    assert_int_equal(llm_tensors_write(path, t->v, t->n, d.al, &d), HILO_OK);
}

/* Models of the same numbers, packed and plain, in two directories. */
static void make_models(const struct variant *v, const char *packed_dir, const char *plain_dir) {
    static struct tensors packed, plain;
    static struct loose loose;
    uint64_t x = 88172645463325252u, y = x;
    char layer[96];
    add_plain(&packed, &x);
    add_plain(&plain, &y);
    for (size_t i = 0; i < MATRICES; i++) {
        const struct matrix *m = &matrices[i];
        snprintf(layer, sizeof layer, "layers.0.%s", m->name);
        draw_matrix(v, m, &x, &loose);
        pack(v, m, &loose, layer, &packed);
        float *numbers = add(&plain, layer, "weight", IR_F32_T, m->rows, m->cols);
        for (int64_t r = 0; r < m->rows; r++)
            for (int64_t c = 0; c < m->cols; c++)
                numbers[r * m->cols + c] = number(v, &loose, r, c);
    }
    write_model(packed_dir, v->config, &packed);
    write_model(plain_dir, "", &plain);
    drop(&packed);
    drop(&plain);
}

/* ---- comparing ------------------------------------------------------------------------------- */

/* A number of a weight, stored as model.h defines. */
static float stored(const struct llm_model *m, const struct llm_weight *w, int64_t r, int64_t c) {
    const struct llm_param *p = &m->params[w->first];
    float x = 0, scale, offset = 0;
    if (!w->bits) {
        size_t size = ir_dtype_get(p->dtype)->bytes;
        fp_decode_n_f32(ir_dtype_get(p->dtype)->fp, (const char *)p->data + (size_t)(r * w->cols + c) * size, &x, 1);
        return x;
    }
    int64_t at = r * w->groups + c / (w->cols / w->groups);
    const uint8_t *bytes = p->data;
    if (w->bits == 8)
        x = p->dtype == IR_I8_T ? (float)(int8_t)bytes[r * w->cols + c] : (float)bytes[r * w->cols + c];
    else {
        int nibble = bytes[(r * w->cols + c) / 2] >> 4 * (c % 2) & 15;
        x = (float)(w->offsets ? nibble : (nibble ^ 8) - 8);
    }
    size_t size = ir_dtype_get(p[1].dtype)->bytes;
    fp_decode_n_f32(ir_dtype_get(p[1].dtype)->fp, (const char *)p[1].data + (size_t)at * size, &scale, 1);
    if (w->offsets) {
        size = ir_dtype_get(p[2].dtype)->bytes;
        fp_decode_n_f32(ir_dtype_get(p[2].dtype)->fp, (const char *)p[2].data + (size_t)at * size, &offset, 1);
    }
    return x * scale + offset;
}

static void compare_weights(const struct variant *v, const struct llm_model *packed, const struct llm_model *plain) {
    assert_int_equal(packed->nweights, plain->nweights);
    for (size_t i = 0; i < plain->nweights; i++) {
        const struct llm_weight *a = &packed->weights[i], *b = &plain->weights[i];
        assert_true(a->role == b->role && a->rows == b->rows && a->cols == b->cols);
        for (int64_t r = 0; r < a->rows && a->cols; r++)
            for (int64_t c = 0; c < a->cols; c++) {
                float want = stored(plain, b, r, c), got = stored(packed, a, r, c);
                if (v->scattered && a->role != LLM_W_EMBED)
                    want = f16_to_f32(f32_to_f16(want));
                if (got != want)
                    fail_msg("%s, weight %zu: [%lld, %lld] is %g, %g expected", v->name, i, (long long)r, (long long)c,
                             (double)got, (double)want);
            }
    }
}

static struct llm_session *session(hilo_client *client, const char *dir, enum llm_precision precision) {
    struct llm_session *s;
    const struct llm_session_options o = {.precision = precision, .level = 2};
    if (llm_session_open(client, dir, &o, &s) != HILO_OK) {
        hilo_diagnostics_write(client, 0, hilo_write_stderr, NULL);
        fail_msg("no session");
    }
    return s;
}

static void check_variant(hilo_client *client, const struct variant *v, char dirs[2][64]) {
    const int32_t ids[] = {1, 500, 7, 2000, 33, 9}, *p = ids;
    static float logits[2][VOCAB];
    make_models(v, dirs[0], dirs[1]);
    struct llm_session *s[2] = {session(client, dirs[0], LLM_F32), session(client, dirs[1], LLM_F32)};
    compare_weights(v, &s[0]->model, &s[1]->model);
    for (int i = 0; i < 2; i++)
        assert_int_equal(llm_session_prefill(s[i], &p, (size_t[]){6}, NULL, logits[i]), HILO_OK);
    for (int i = 0; i < VOCAB; i++)
        assert_true(fabsf(logits[0][i] - logits[1][i]) < (v->scattered ? 2e-2f : 1e-4f));
    llm_session_close(s[0]);
    llm_session_close(s[1]);
    struct llm_model m;
    struct diag_list d;
    diag_init(&d, mem_system_allocator());
    assert_int_equal(llm_model_open(dirs[0], LLM_AS_STORED, LLM_UNDIVIDED, NULL, NULL, d.al, &d, &m), HILO_OK);
    assert_int_equal(m.precision, v->precision);
    assert_int_equal(llm_model_write(&m, dirs[0], dirs[1], &d), HILO_OK); /* in our own layout */
    struct llm_model again;
    assert_int_equal(llm_model_open(dirs[1], LLM_AS_STORED, LLM_UNDIVIDED, NULL, NULL, d.al, &d, &again), HILO_OK);
    compare_weights(v->scattered ? &variants[0] : v, &again, &m);
    llm_model_close(&again);
    llm_model_close(&m);
}

/* ---- tests ----------------------------------------------------------------------------------- */

static void make_dirs(char dirs[2][64]) {
    struct diag_list d;
    struct file tokenizer;
    char path[256];
    diag_init(&d, mem_system_allocator());
    assert_int_equal(file_open("tests/llm/tiny-llama/tokenizer.json", d.al, &d, &tokenizer), HILO_OK);
    for (int i = 0; i < 2; i++) {
        snprintf(dirs[i], 64, "/tmp/hilo-packed-XXXXXX");
        assert_non_null(mkdtemp(dirs[i]));
        snprintf(path, sizeof path, "%s/tokenizer.json", dirs[i]);
        assert_int_equal(file_write(path, tokenizer.text, &d), HILO_OK);
    }
    file_close(&tokenizer);
}

static void remove_dirs(char dirs[2][64]) {
    static const char *const files[] = {"config.json", "model.safetensors", "tokenizer.json"};
    char path[256];
    for (int i = 0; i < 2; i++) {
        for (size_t k = 0; k < 3; k++) {
            snprintf(path, sizeof path, "%s/%s", dirs[i], files[k]);
            unlink(path);
        }
        rmdir(dirs[i]);
    }
}

static void test_packed(void **state) {
    char dirs[2][64];
    hilo_client *client;
    (void)state;
    make_dirs(dirs);
    assert_int_equal(hilo_client_create(NULL, &client), HILO_OK);
    for (size_t i = 0; i < sizeof variants / sizeof *variants; i++)
        check_variant(client, &variants[i], dirs);
    hilo_client_release(client);
    remove_dirs(dirs);
}

static void refuse(const char *dir, const char *config, const struct tensors *t, const char *why) {
    struct llm_model m;
    struct diag_list d;
    diag_init(&d, mem_system_allocator());
    write_model(dir, config, t);
    assert_int_equal(llm_model_open(dir, LLM_AS_STORED, LLM_UNDIVIDED, NULL, NULL, d.al, &d, &m), HILO_INVALID_ARGUMENT);
    if (!strstr(d.first->message, why))
        fail_msg("'%s' expected in: %s", why, d.first->message);
    diag_clear(&d);
}

static struct llm_tensor *tensor(struct tensors *t, const char *suffix) {
    for (size_t i = 0; i < t->n; i++)
        if (strstr(t->names[i], suffix))
            return &t->v[i];
    fail_msg("no tensor %s", suffix);
    return NULL;
}

static void test_refusals(void **state) {
    static struct tensors t;
    static struct loose loose;
    char dirs[2][64];
    uint64_t x = 1;
    const char *gptq = variants[0].config;
    (void)state;
    make_dirs(dirs);
    add_plain(&t, &x);
    draw_matrix(&variants[0], &matrices[0], &x, &loose);
    pack(&variants[0], &matrices[0], &loose, "layers.0.self_attn.q_proj", &t);
    refuse(dirs[0], gptq, &t, "'model.layers.0.self_attn.k_proj.weight' is missing"); /* the first matrix was fine */
    int32_t *order = (int32_t *)(uintptr_t)tensor(&t, "g_idx")->data;
    order[5] = 2;
    refuse(dirs[0], gptq, &t, "'model.layers.0.self_attn.q_proj.g_idx' names the group 2");
    order[5] = 0;
    struct llm_tensor *zeros = tensor(&t, "qzeros");
    zeros->dims[0] = 8, zeros->dims[1] = 2;
    refuse(dirs[0], gptq, &t, "'model.layers.0.self_attn.q_proj.qzeros' is I32[8, 2]; the config calls for I32[2, 8]");
    refuse(dirs[0], "\"quantization_config\":{\"quant_method\":\"gptq\",\"bits\":4,\"group_size\":48}", &t, "groups of 48");
    refuse(dirs[0], "\"quantization_config\":{\"quant_method\":\"gptq\",\"bits\":3}", &t, "'quantization_config.bits' is 3");
    refuse(dirs[0], "\"quantization_config\":{\"quant_method\":\"awq\",\"bits\":8}", &t, "'quantization_config.bits' is 8");
    refuse(dirs[0], "\"quantization_config\":{\"quant_method\":\"awq\",\"version\":\"gemv\"}", &t, "'gemv'");
    refuse(dirs[0], "\"quantization_config\":{\"quant_method\":\"gptq\",\"checkpoint_format\":\"marlin\"}", &t, "'marlin'");
    refuse(dirs[0], "\"quantization_config\":{\"quant_method\":\"fp8\"}", &t, "'fp8'; this version knows gptq and awq");
    refuse(dirs[0], "\"quantization\":{\"mode\":\"mxfp4\"}", &t, "'mxfp4'");
    drop(&t);
    remove_dirs(dirs);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_packed), cmocka_unit_test(test_refusals)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
