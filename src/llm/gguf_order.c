/* What converters to GGUF change in weights: see model.h. */
#include "llm/model.h"

bool llm_gguf_order(const struct llm_config *c, const struct llm_weight *w, bool interleaved, struct llm_gguf_order *out) {
    const struct llm_delta *d = &c->delta;
    int64_t served = d->heads ? d->heads / d->key_heads : 0;
    /* Heads of values that use the same key are neighbours in a model; a file has the first of each key, then the second. */
    *out = (struct llm_gguf_order){.count = 1, .a = d->key_heads, .b = served, .unit = d->value_dim};
    switch (w->role) {
    case LLM_W_Q: case LLM_W_K: case LLM_W_Q_BIAS: case LLM_W_K_BIAS: /* halves of a head become pairs of neighbours */
        *out = (struct llm_gguf_order){.count = w->rows / c->head_dim, .a = 2, .b = c->head_dim / 2, .unit = 1};
        return interleaved;
    case LLM_W_DELTA_IN: case LLM_W_DELTA_CONV: /* values follow queries and keys */
        out->first = 2 * d->key_heads * d->key_dim;
        break;
    case LLM_W_DELTA_GATE:
        break;
    case LLM_W_DELTA_OUT:
        out->columns = true;
        break;
    case LLM_W_DELTA_BETA: case LLM_W_DELTA_TIME: case LLM_W_DELTA_TIME_BIAS: case LLM_W_DELTA_DECAY:
        out->unit = 1;
        break;
    default:
        return false;
    }
    return served > 1 && d->key_heads > 1;
}

int64_t llm_gguf_source(const struct llm_gguf_order *o, int64_t i) {
    int64_t stretch = o->a * o->b * o->unit, at = i - o->first;
    if (at < 0 || at >= o->count * stretch)
        return i;
    int64_t rest = at % stretch, piece = rest / o->unit;
    return i - rest + (piece % o->a * o->b + piece / o->a) * o->unit + rest % o->unit;
}
