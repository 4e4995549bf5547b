/* The JSON documents of a model: see document.h. */
#include "llm/document.h"

#include "base/file.h"
#include "llm/gguf.h"
#include "llm/tok_files.h"

#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

static const struct {
    const char *name;
    bool required;
    json_t *(*from_gguf)(const struct gguf *g);
} documents[LLM_DOCUMENTS] = {
    [LLM_CONFIG_JSON] = {"config.json", true, gguf_config},
    [LLM_GENERATION_JSON] = {"generation_config.json", false, NULL},
    [LLM_TOKENIZER_JSON] = {"tokenizer.json", true, gguf_tokenizer},
    [LLM_TOKENIZER_CONFIG_JSON] = {"tokenizer_config.json", false, gguf_tokenizer_config},
};

const char *llm_document_name(enum llm_document which) {
    return documents[which].name;
}

static hilo_status from_gguf(const char *path, enum llm_document which, hilo_allocator al, struct diag_list *d,
                             struct llm_json *out) {
    struct gguf_files f;
    if (!documents[which].from_gguf)
        return HILO_OK;
    hilo_status status = gguf_files_open(path, al, d, &f);
    if (status == HILO_OK) {
        out->root = documents[which].from_gguf(&f.all);
        status = out->root ? HILO_OK : HILO_INVALID_ARGUMENT;
    }
    gguf_files_close(&f);
    return status;
}

/* A file tokenizer.json, tekken.json, a SentencePiece model, or a list of ranks. */
static hilo_status open_tokenizer(const char *path, hilo_allocator al, struct diag_list *d, struct llm_json *out) {
    const char *dot = strrchr(path, '.');
    struct file f;
    if (!dot || strcmp(dot, ".json") == 0) {
        llm_json_open(out, path, al, d);
        bool tekken = !json_object_get(out->root, "model") && json_is_array(json_object_get(out->root, "vocab"));
        return tekken ? tok_from_tekken(out, al) : out->status;
    }
    out->status = file_open(path, al, d, &f);
    if (out->status != HILO_OK)
        return out->status;
    (tok_is_spm(f.text) ? tok_from_spm : tok_from_tiktoken)(out, f.text, al);
    file_close(&f);
    return out->status;
}

hilo_status llm_document_open(const char *path, enum llm_document which, hilo_allocator al, struct diag_list *d,
                              struct llm_json *out) {
    char file[4096];
    struct stat st;
    *out = (struct llm_json){.file = path, .d = d};
    bool directory = stat(path, &st) == 0 && S_ISDIR(st.st_mode);
    if (!directory && gguf_is_path(path))
        return out->status = from_gguf(path, which, al, d, out);
    if (!directory && which == LLM_TOKENIZER_JSON && access(path, F_OK) == 0)
        return open_tokenizer(path, al, d, out);
    if (snprintf(file, sizeof file, "%s/%s", path, documents[which].name) >= (int)sizeof file)
        return out->status = diag_error(d, HILO_INVALID_ARGUMENT, "the path '%s' is too long", path);
    if (!documents[which].required && access(file, F_OK) != 0)
        return HILO_OK;
    static const char *const others[] = {"tekken.json", "tokenizer.model", "spiece.model", "sentencepiece.model"};
    char other[4096];
    for (size_t i = 0; i < sizeof others / sizeof *others && which == LLM_TOKENIZER_JSON && access(file, F_OK) != 0; i++)
        if (snprintf(other, sizeof other, "%s/%s", path, others[i]) < (int)sizeof other && access(other, F_OK) == 0) {
            out->file = others[i];
            return open_tokenizer(other, al, d, out);
        }
    llm_json_open(out, file, al, d);
    out->file = documents[which].name;
    return out->status;
}
