/* The JSON documents of a model: see document.h. */
#include "llm/document.h"

#include "base/file.h"
#include "llm/gguf.h"

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
    struct file f;
    struct gguf g;
    if (!documents[which].from_gguf)
        return HILO_OK;
    HILO_TRY(file_open(path, al, d, &f));
    hilo_status status = gguf_parse(f.text, path, al, d, &g);
    if (status == HILO_OK) {
        out->root = documents[which].from_gguf(&g);
        status = out->root ? HILO_OK : HILO_INVALID_ARGUMENT;
    }
    gguf_close(&g);
    file_close(&f);
    return status;
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
        return llm_json_open(out, path, al, d);
    if (snprintf(file, sizeof file, "%s/%s", path, documents[which].name) >= (int)sizeof file)
        return out->status = diag_error(d, HILO_INVALID_ARGUMENT, "the path '%s' is too long", path);
    if (!documents[which].required && access(file, F_OK) != 0)
        return HILO_OK;
    llm_json_open(out, file, al, d);
    out->file = documents[which].name;
    return out->status;
}
