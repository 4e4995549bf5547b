/* Grammars and JSON schemas: what is parsed matches any bytes without a crash, and every schema that is accepted makes a
 * grammar that parses. The first byte chooses the form, the bytes after a zero are matched. */
#include "llm/grammar.h"

#include "llm/json.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);
int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size) {
    hilo_allocator al = mem_system_allocator();
    struct diag_list d;
    struct strbuf made;
    struct llm_grammar *g = NULL;
    if (!size || size > 1 << 14)
        return 0;
    const unsigned char *zero = memchr(data, 0, size);
    size_t n = zero ? (size_t)(zero - data) : size;
    struct str text = {(const char *)data + 1, n ? n - 1 : 0};
    diag_init(&d, al);
    strbuf_init(&made, al);
    if (data[0] % 2) {
        json_error_t e;
        json_t *schema = llm_json_load(text, JSON_DECODE_ANY, al, &e);
        hilo_status status = schema ? llm_grammar_schema(schema, &d, &made) : HILO_INVALID_ARGUMENT;
        if (status == HILO_OK) {
            status = llm_grammar_parse((struct str){made.p, made.n}, al, &d, &g);
            if (status != HILO_OK && status != HILO_RESOURCE_EXHAUSTED)
                abort();
        }
        json_decref(schema);
    } else {
        (void)llm_grammar_parse(text, al, &d, &g);
    }
    struct llm_grammar_state *s = g ? llm_grammar_begin(g, NULL) : NULL;
    if (s && zero && llm_grammar_accept_bytes(s, (struct str){(const char *)zero + 1, size - n - 1}))
        (void)llm_grammar_complete(s);
    llm_grammar_end(s);
    llm_grammar_free(g);
    strbuf_free(&made);
    diag_clear(&d);
    return 0;
}
