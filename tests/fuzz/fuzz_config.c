/* libFuzzer target: any bytes, read as a config.json, are read or refused, and what was read describes a model within the
 * bounds that its readers rely on; any bytes are a chat template. The config, generation_config.json and the template come one
 * after the other, with zero bytes between them. */
#include "llm/chat.h"
#include "llm/config.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t nbytes);

/* The next part, and the rest in `s`. */
static struct str part(struct str *s) {
    const char *zero = s->n ? memchr(s->p, 0, s->n) : NULL;
    size_t n = zero ? (size_t)(zero - s->p) : s->n, skip = zero ? n + 1 : n;
    struct str first = {s->p, n};
    *s = (struct str){s->p + skip, s->n - skip};
    return first;
}

static void check(const struct llm_config *c) {
    static float frequencies[LLM_MAX_FREQUENCIES];
    if (c->layers < 1 || c->layers > LLM_MAX_LAYERS || c->kv_heads < 1 || c->heads % c->kv_heads || c->head_dim % 2 ||
        c->head_dim > 4096 || c->neos > LLM_MAX_EOS || c->bos >= c->vocab || c->positions < 1 || !c->family)
        abort();
    for (size_t i = 0; i < c->neos; i++)
        if (c->eos[i] < 0 || c->eos[i] >= c->vocab)
            abort();
    if (c->layout != LLM_LAYOUT_PLAIN && c->bits != 4 && c->bits != 8)
        abort();
    for (int64_t i = 0; i < c->layers; i++) {
        const struct llm_layer *at = &c->layer[i];
        int64_t dim = at->sliding ? c->local_rope.dim : c->rope.dim;
        if (at->head_dim < 2 || at->head_dim % 2 || at->kv_heads < 1 || c->heads % at->kv_heads || at->ffn < 1 ||
            at->cache < 0 || at->cache + LLM_LAYER_ARRAYS > c->arrays || (dim > at->head_dim && !at->recurrent))
            abort();
    }
    if (c->rope.dim < 2 || c->rope.dim > 2 * LLM_MAX_FREQUENCIES || c->local_rope.dim > 2 * LLM_MAX_FREQUENCIES)
        abort();
    if (c->delta.heads && (c->delta.key_heads < 1 || c->delta.heads % c->delta.key_heads || c->delta.taps < 2))
        abort();
    llm_rope_frequencies(&c->rope, false, frequencies);
    llm_rope_frequencies(&c->local_rope, true, frequencies);
}

static void render(struct str template, struct diag_list *d) {
    const struct llm_message m[] = {{STR("system"), STR("Be brief.")}, {STR("user"), STR(" Why? ")},
                                    {STR("assistant"), STR("So.")}, {STR("user"), STR("")}};
    const struct jinja_options o = {.steps = 20000, .bytes = 16 << 20, .now = 1};
    struct jinja_template *t;
    struct jinja_text text = {.al = d->al};
    if (jinja_parse(d->al, d, STR("template"), template, &t) != HILO_OK)
        return;
    json_t *input = llm_chat_input(m, 4);
    if (input && jinja_render(t, input, NULL, &o, d, &text) != HILO_OK && !d->first)
        abort();
    jinja_text_free(&text);
    json_decref(input);
    jinja_free(t);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t nbytes) {
    struct str rest = {(const char *)bytes, nbytes};
    struct str config = part(&rest), generation = part(&rest);
    struct llm_config c;
    struct diag_list d;
    diag_init(&d, mem_system_allocator());
    if (llm_config_parse(config, generation, &d, &c) == HILO_OK)
        check(&c);
    else if (!d.first)
        abort();
    diag_clear(&d);
    if (rest.n)
        render(part(&rest), &d);
    diag_clear(&d);
    return 0;
}
