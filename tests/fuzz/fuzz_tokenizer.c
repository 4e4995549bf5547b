/* libFuzzer target: any bytes, read as a tokenizer.json, are read or refused; what was read encodes any text. The tokenizer is
 * what precedes the first zero byte, the text what follows it; or all is a SentencePiece model, which begins with a tag. */
#include "llm/tok_files.h"
#include "llm/tokenizer.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t nbytes);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t nbytes) {
    const uint8_t *zero = nbytes ? memchr(bytes, 0, nbytes) : NULL;
    size_t n = zero ? (size_t)(zero - bytes) : nbytes;
    struct str json = {(const char *)bytes, n}, text = {(const char *)bytes + n, nbytes - n};
    struct llm_tok *t = NULL;
    struct diag_list d;
    diag_init(&d, mem_system_allocator());
    struct str all = {(const char *)bytes, nbytes};
    hilo_status status;
    if (tok_is_spm(all)) {
        struct llm_json j = {.file = "fuzz", .d = &d};
        tok_from_spm(&j, all, d.al);
        status = llm_tok_read(&j, d.al, &t);
    } else {
        status = llm_tok_parse(json, "fuzz", d.al, &d, &t);
    }
    if (status == HILO_OK) {
        struct llm_ids ids;
        struct strbuf out;
        llm_ids_init(&ids, d.al);
        strbuf_init(&out, d.al);
        if (llm_tok_encode(t, text.n ? text : json, NULL, LLM_TOK_POST, &d, &ids) == HILO_OK)
            llm_tok_decode(t, ids.v, ids.n, true, &out);
        for (size_t i = 0; i < ids.n; i++)
            if (ids.v[i] < 0 || (size_t)ids.v[i] >= llm_tok_size(t))
                abort();
        strbuf_free(&out);
        llm_ids_free(&ids);
        llm_tok_free(t);
    } else if (!d.first) {
        abort();
    }
    diag_clear(&d);
    return 0;
}
