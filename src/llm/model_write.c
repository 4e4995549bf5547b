/* Writing a model: see model.h. The config describes the quantisation as MLX does. */
#include "llm/document.h"
#include "llm/model.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static bool join(const char *dir, const char *name, char *out, size_t size) {
    return snprintf(out, size, "%s/%s", dir, name) < (int)size;
}

static hilo_status write_json(const json_t *root, const char *path, struct diag_list *d) {
    char *text = json_dumps(root, JSON_INDENT(2) | JSON_ENSURE_ASCII);
    hilo_status status = text ? file_write(path, str_of(text), d) : HILO_RESOURCE_EXHAUSTED;
    free(text);
    return status;
}

/* It may exist. */
static hilo_status make_directory(const char *path, struct diag_list *d) {
    char text[128];
    if (mkdir(path, 0777) == 0 || errno == EEXIST)
        return HILO_OK;
    return diag_error(d, HILO_UNAVAILABLE, "cannot make the directory '%s': %s", path, strerror_r(errno, text, sizeof text));
}

/* Files besides config and weights; those that exist are copied. */
static hilo_status copy_files(const char *from, const char *to, hilo_allocator al, struct diag_list *d) {
    static const char *const names[] = {"tokenizer.json", "tokenizer_config.json", "generation_config.json",
                                        "special_tokens_map.json", "chat_template.jinja",
                                        "additional_chat_templates/tool_use.jinja"};
    char source[4096], target[4096];
    struct file f;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (!join(from, names[i], source, sizeof source) || !join(to, names[i], target, sizeof target))
            return diag_error(d, HILO_INVALID_ARGUMENT, "the path '%s' is too long", to);
        if (access(source, F_OK) != 0)
            continue;
        char *slash = strrchr(target, '/');
        *slash = '\0';
        HILO_TRY(make_directory(target, d));
        *slash = '/';
        HILO_TRY(file_open(source, al, d, &f));
        hilo_status status = file_write(target, f.text, d);
        file_close(&f);
        HILO_TRY(status);
    }
    return HILO_OK;
}

/* The documents that a GGUF file stands for. */
static hilo_status write_documents(const char *from, const char *to, hilo_allocator al, struct diag_list *d) {
    static const enum llm_document which[] = {LLM_TOKENIZER_JSON, LLM_TOKENIZER_CONFIG_JSON};
    char target[4096];
    struct llm_json j;
    for (size_t i = 0; i < 2; i++) {
        if (!join(to, llm_document_name(which[i]), target, sizeof target))
            return diag_error(d, HILO_INVALID_ARGUMENT, "the path '%s' is too long", to);
        hilo_status status = llm_document_open(from, which[i], al, d, &j);
        if (status == HILO_OK)
            status = write_json(j.root, target, d);
        llm_json_close(&j);
        HILO_TRY(status);
    }
    return HILO_OK;
}

static hilo_status copy_others(const char *from, const char *to, hilo_allocator al, struct diag_list *d) {
    return gguf_is_path(from) ? write_documents(from, to, al, d) : copy_files(from, to, al, d);
}

/* Writes the config with the quantisation of the weights: that of the first matrix that has one. */
static hilo_status write_config(const struct llm_model *m, const char *from, const char *to, struct diag_list *d) {
    static const char *const types[LLM_PRECISIONS] = {[LLM_F32] = "float32", [LLM_BF16] = "bfloat16", [LLM_F16] = "float16"};
    char target[4096];
    struct llm_json j;
    const struct llm_weight *w = NULL;
    if (!join(to, "config.json", target, sizeof target))
        return diag_error(d, HILO_INVALID_ARGUMENT, "the path '%s' is too long", to);
    for (size_t i = 0; i < m->nweights && !w; i++)
        w = m->weights[i].bits ? &m->weights[i] : NULL;
    hilo_status status = llm_document_open(from, LLM_CONFIG_JSON, m->arena.al, d, &j);
    if (status == HILO_OK) {
        const char *type = types[m->precision];
        static const char *const dropped[] = {"quantization_config", "gguf_interleaved", "gguf_shifted_norms"};
        for (size_t i = 0; i < sizeof dropped / sizeof *dropped; i++) /* how the weights were stored before */
            json_object_del(j.root, dropped[i]);
        json_t *quantisation = w ? json_pack("{s:i,s:I}", "bits", (int)w->bits, "group_size",
                                             (json_int_t)(w->groups > 1 ? w->cols / w->groups : 0)) : NULL;
        bool set = (!type || json_object_set_new(j.root, "torch_dtype", json_string(type)) == 0) &&
                   (!w || json_object_set(j.root, "quantization", quantisation) == 0);
        status = set ? write_json(j.root, target, d) : HILO_RESOURCE_EXHAUSTED;
        json_decref(quantisation);
    }
    llm_json_close(&j);
    return status;
}

static hilo_status write_weights(const struct llm_model *m, const char *to, struct diag_list *d) {
    char path[4096];
    size_t bytes;
    struct llm_tensor *v = mem_mul(m->nparams, sizeof *v, &bytes) ? mem_alloc(&m->arena.al, bytes) : NULL;
    if (!v || !join(to, "model.safetensors", path, sizeof path)) {
        mem_free(&m->arena.al, v, v ? bytes : 0);
        return HILO_RESOURCE_EXHAUSTED;
    }
    for (size_t i = 0; i < m->nparams; i++) {
        const struct llm_param *p = &m->params[i];
        v[i] = (struct llm_tensor){.name = p->name, .dtype = p->dtype, .rank = p->rank, .dims = {p->dims[0], p->dims[1]},
                                   .data = p->data, .bytes = p->bytes};
    }
    for (size_t i = 0; i < m->nweights; i++) {
        const struct llm_weight *w = &m->weights[i];
        if (w->role == LLM_W_DELTA_CONV) { /* kernels of a depthwise convolution */
            v[w->first].rank = 3;
            v[w->first].dims[1] = 1;
            v[w->first].dims[2] = w->cols;
        }
        if (w->bits == 4 && w->offsets && w->cols % 8 == 0) { /* as MLX stores them, eight in a word */
            v[w->first].dtype = IR_UI32_T;
            v[w->first].dims[1] = w->cols / 8;
        }
    }
    hilo_status status = llm_tensors_write(path, v, m->nparams, m->arena.al, d);
    mem_free(&m->arena.al, v, bytes);
    return status;
}

hilo_status llm_model_write(const struct llm_model *m, const char *from, const char *to, struct diag_list *d) {
    struct stat a, b;
    HILO_TRY(make_directory(to, d));
    if (stat(from, &a) == 0 && stat(to, &b) == 0 && a.st_dev == b.st_dev && a.st_ino == b.st_ino)
        return diag_error(d, HILO_INVALID_ARGUMENT, "'%s' is the model itself", to);
    HILO_TRY(write_weights(m, to, d));
    HILO_TRY(write_config(m, from, to, d));
    return copy_others(from, to, m->arena.al, d);
}
