/* Writing a model: see model.h. The config describes the quantisation as MLX does. */
#include "llm/json.h"
#include "llm/model.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* Files of a model besides config and weights; those that exist are copied. */
static const char *const others[] = {"tokenizer.json", "tokenizer_config.json", "generation_config.json",
                                     "special_tokens_map.json", "chat_template.jinja"};

static bool join(const char *dir, const char *name, char *out, size_t size) {
    return snprintf(out, size, "%s/%s", dir, name) < (int)size;
}

static hilo_status copy_others(const char *from, const char *to, hilo_allocator al, struct diag_list *d) {
    char source[4096], target[4096];
    struct file f;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        if (!join(from, others[i], source, sizeof source) || !join(to, others[i], target, sizeof target))
            return diag_error(d, HILO_INVALID_ARGUMENT, "the path '%s' is too long", to);
        if (access(source, F_OK) != 0)
            continue;
        HILO_TRY(file_open(source, al, d, &f));
        hilo_status status = file_write(target, f.text, d);
        file_close(&f);
        HILO_TRY(status);
    }
    return HILO_OK;
}

/* Writes the config with the quantisation of the weights. */
static hilo_status write_config(const struct llm_model *m, const char *from, const char *to, struct diag_list *d) {
    char source[4096], target[4096];
    struct llm_json j;
    bool plain = m->precision == LLM_BF16 || m->precision == LLM_F16;
    int bits = m->precision == LLM_INT8 ? 8 : 4;
    if (!join(from, "config.json", source, sizeof source) || !join(to, "config.json", target, sizeof target))
        return diag_error(d, HILO_INVALID_ARGUMENT, "the path '%s' is too long", to);
    hilo_status status = llm_json_open(&j, source, m->arena.al, d);
    if (status == HILO_OK) {
        json_object_del(j.root, "quantization_config"); /* how the weights were packed before */
        json_t *quantisation = json_pack("{s:i,s:i}", "bits", bits, "group_size", bits == 8 ? 0 : LLM_INT4_GROUP);
        const char *type = m->precision == LLM_F16 ? "float16" : "bfloat16";
        bool set = plain ? json_object_set_new(j.root, "torch_dtype", json_string(type)) == 0
                         : json_object_set(j.root, "quantization", quantisation) == 0;
        char *text = set ? json_dumps(j.root, JSON_INDENT(2)) : NULL;
        status = text ? file_write(target, str_of(text), d) : HILO_RESOURCE_EXHAUSTED;
        free(text);
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
    for (size_t i = 0; i < m->nweights; i++) { /* as MLX stores them, eight in a word */
        const struct llm_weight *w = &m->weights[i];
        if (w->bits == 4 && w->offsets && w->cols % 8 == 0) {
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
    char text[128];
    if (mkdir(to, 0777) != 0 && errno != EEXIST)
        return diag_error(d, HILO_UNAVAILABLE, "cannot make the directory '%s': %s", to, strerror_r(errno, text, sizeof text));
    if (stat(from, &a) == 0 && stat(to, &b) == 0 && a.st_dev == b.st_dev && a.st_ino == b.st_ino)
        return diag_error(d, HILO_INVALID_ARGUMENT, "'%s' is the model itself", to);
    HILO_TRY(write_weights(m, to, d));
    HILO_TRY(write_config(m, from, to, d));
    return copy_others(from, to, m->arena.al, d);
}
