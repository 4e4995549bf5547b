/* Choosing tokens: see generate.h. */
#include "llm/generate.h"

#include <math.h>
#include <stdlib.h>

bool llm_sampling_greedy(const struct llm_sampling *o) {
    return o->temperature == 0 && o->repetition == 1;
}

const char *llm_sampling_flaw(const struct llm_sampling *o) {
    if (!(o->temperature >= 0) || isinf(o->temperature))
        return "the temperature is not 0 or more";
    if (!(o->repetition > 0) || isinf(o->repetition))
        return "the repetition penalty is not positive";
    if (!(o->top_p > 0 && o->top_p <= 1))
        return "top-p is not above 0 and up to 1";
    if (!(o->min_p >= 0 && o->min_p <= 1))
        return "min-p is not 0 to 1";
    return o->top_k < 0 ? "top-k is negative" : NULL;
}

/* splitmix64 (Vigna), as a number in [0, 1). */
static double next_random(uint64_t *state) {
    uint64_t z = *state += 0x9E3779B97F4A7C15u;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return (double)((z ^ z >> 31) >> 11) * 0x1p-53;
}

/* Keskar et al., CTRL (arXiv 1909.05858). A token counts once, however often it occurred: `done` marks those seen. */
static void penalise(float *logits, size_t n, const int32_t *seen, size_t nseen, float by, struct llm_candidate *done) {
    for (size_t i = 0; i < n; i++)
        done[i].id = 0;
    for (size_t i = 0; i < nseen; i++) {
        size_t id = (size_t)seen[i];
        if (seen[i] < 0 || id >= n || done[id].id++)
            continue;
        logits[id] = logits[id] > 0 ? logits[id] / by : logits[id] * by;
    }
}

static int greater_first(const void *a, const void *b) {
    const struct llm_candidate *x = a, *y = b;
    if (x->x != y->x)
        return x->x > y->x ? -1 : 1;
    return x->id < y->id ? -1 : x->id > y->id;
}

static int32_t greatest(const float *logits, size_t n) {
    size_t best = 0;
    for (size_t i = 1; i < n; i++)
        if (logits[i] > logits[best])
            best = i;
    return (int32_t)best;
}

/* Probabilities instead of logits, not normalised; returns their sum. */
static double weigh(struct llm_candidate *c, size_t n, float most, double temperature) {
    double sum = 0;
    for (size_t i = 0; i < n; i++) {
        c[i].x = (float)exp(((double)c[i].x - (double)most) / temperature);
        sum += (double)c[i].x;
    }
    return sum;
}

static size_t keep_likely(struct llm_candidate *c, size_t n, double least) {
    size_t kept = 0;
    for (size_t i = 0; i < n; i++)
        if ((double)c[i].x >= least)
            c[kept++] = c[i];
    return kept;
}

int32_t llm_sample(const struct llm_sampling *o, float *logits, size_t n, const int32_t *seen, size_t nseen,
                   struct llm_candidate *candidates, uint64_t *state) {
    if (o->repetition != 1)
        penalise(logits, n, seen, nseen, (float)o->repetition, candidates);
    int32_t best = greatest(logits, n);
    if (o->temperature == 0)
        return best;
    for (size_t i = 0; i < n; i++)
        candidates[i] = (struct llm_candidate){logits[i], (int32_t)i};
    size_t k = o->top_k && (size_t)o->top_k < n ? (size_t)o->top_k : n;
    if (k < n || o->top_p < 1)
        qsort(candidates, n, sizeof *candidates, greater_first);
    double sum = weigh(candidates, k, logits[best], o->temperature);
    if (o->top_p < 1) {
        double reach = 0;
        size_t kept = 0;
        while (kept < k && reach < o->top_p * sum)
            reach += (double)candidates[kept++].x;
        k = kept;
    }
    if (o->min_p > 0) /* the greatest is 1 */
        k = keep_likely(candidates, k, o->min_p);
    sum = 0;
    for (size_t i = 0; i < k; i++)
        sum += (double)candidates[i].x;
    double at = next_random(state) * sum;
    for (size_t i = 0; i < k; i++)
        if ((at -= (double)candidates[i].x) < 0)
            return candidates[i].id;
    return best; /* rounding, or NaN logits */
}
