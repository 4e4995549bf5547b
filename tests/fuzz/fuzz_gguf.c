/* libFuzzer target: any bytes, read as a GGUF file, are read or refused; every tensor is within them and unpacks; its metadata
 * are documents that their readers read or refuse. */
#include "llm/config.h"
#include "llm/gguf.h"
#include "llm/json.h"
#include "llm/tokenizer.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t nbytes);

static void unpack(const struct gguf_tensor *t, const uint8_t *bytes, size_t nbytes) {
    const uint8_t *data = t->data;
    if (data < bytes || data + t->bytes > bytes + nbytes)
        abort();
    if (!t->format->unpack || t->rank != 2 || t->bytes == 0)
        return;
    struct gguf_rows m = {.format = t->format, .data = t->data, .rows = t->dims[0], .cols = t->dims[1]};
    size_t n = t->bytes / t->format->bytes * t->format->elements;
    m.values = malloc(n), m.scales = malloc(4 * n), m.offsets = malloc(4 * n);
    for (int i = 0; i < 1 + t->format->units && m.values && m.scales && m.offsets; i++) {
        if (i)
            m.units[0] = malloc(2 * n), m.units[1] = malloc(2 * n);
        gguf_unpack_rows(&m, 0, m.rows);
    }
    free(m.values), free(m.scales), free(m.offsets), free(m.units[0]), free(m.units[1]);
}

static void read_tokenizer(const struct gguf *g, struct diag_list *d) {
    struct llm_json j = {.file = "fuzz", .d = d, .root = gguf_tokenizer(g)};
    struct llm_tok *t;
    struct llm_ids ids;
    if (!j.root || llm_tok_read(&j, d->al, &t) != HILO_OK)
        return;
    llm_ids_init(&ids, d->al);
    if (llm_tok_encode(t, STR("a word, <s> \xC3\xA9\xFF"), NULL, LLM_TOK_POST, d, &ids) == HILO_OK)
        for (size_t i = 0; i < ids.n; i++)
            if (ids.v[i] < 0 || (size_t)ids.v[i] >= llm_tok_size(t))
                abort();
    llm_ids_free(&ids);
    llm_tok_free(t);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t nbytes) {
    struct gguf g;
    struct diag_list d;
    diag_init(&d, mem_system_allocator());
    if (gguf_parse((struct str){(const char *)bytes, nbytes}, "fuzz", d.al, &d, &g) == HILO_OK) {
        struct llm_config c;
        json_t *config = gguf_config(&g), *tokenizer = gguf_tokenizer_config(&g);
        char *text = config ? json_dumps(config, 0) : NULL;
        for (size_t i = 0; i < g.ntensors; i++)
            unpack(&g.tensors[i], bytes, nbytes);
        if (text)
            llm_config_parse(str_of(text), (struct str){NULL, 0}, &d, &c);
        free(text);
        json_decref(config);
        json_decref(tokenizer);
        read_tokenizer(&g, &d);
    } else if (!d.first) {
        abort();
    }
    gguf_close(&g);
    diag_clear(&d);
    return 0;
}
