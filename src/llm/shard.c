/* Shards of models: see shard.h. */
#include "llm/shard.h"

int64_t llm_shard_range(int64_t n, struct llm_shard s, int64_t *from) {
    *from = n * s.index / s.count;
    return n < s.count ? 1 : n / s.count;
}

static hilo_status check(int64_t n, const char *what, int64_t layer, int64_t count, struct diag_list *d) {
    return n % count == 0 ? HILO_OK
                          : diag_error(d, HILO_UNIMPLEMENTED, "%lld %s in layer %lld cannot be divided by %lld devices",
                                       (long long)n, what, (long long)layer, (long long)count);
}

hilo_status llm_shard_check(const struct llm_config *c, int64_t count, struct diag_list *d) {
    for (int64_t i = 0; i < c->layers && count > 1; i++) {
        const struct llm_layer *at = &c->layer[i];
        if (!at->recurrent)
            HILO_TRY(check(c->heads, "heads", i, count, d));
        if (!at->recurrent && count % at->kv_heads) /* else each device has one, which others may have, too */
            HILO_TRY(check(at->kv_heads, "heads of keys", i, count, d));
        if (!c->experts || c->parallel_experts)
            HILO_TRY(check(at->ffn, "inner values of the MLP", i, count, d));
        if (c->experts)
            HILO_TRY(check(c->expert_ffn, "inner values of experts", i, count, d));
        HILO_TRY(check(c->shared_ffn, "inner values of the expert of all tokens", i, count, d));
        if (at->spread != 0)
            return diag_error(d, HILO_UNIMPLEMENTED, "the gates of layer %lld depend on the deviation of all of them, so that "
                              "they cannot be divided", (long long)i);
    }
    return HILO_OK;
}

void llm_shard_config(struct llm_config *c, int64_t count) {
    int64_t from;
    c->heads /= count;
    c->expert_ffn /= count;
    c->shared_ffn /= count;
    for (int64_t i = 0; i < c->layers; i++) {
        c->layer[i].kv_heads = llm_shard_range(c->layer[i].kv_heads, (struct llm_shard){0, count}, &from);
        c->layer[i].ffn /= count;
    }
}
