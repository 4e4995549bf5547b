/* rng_bit_generator: Threefry 2x32-20 and Philox 4x32-10, laid out as XLA lays them out, so that programs see the same bits.
 *
 * State: [key, counter] for Threefry; [key, counter low, counter high] for Philox, where a state of two words has its key once
 * more as the high word. Every output is a function of its counter, so that blocks of counters are independent. */
#include "library/routine.h"

#if LIB_X86
#include <immintrin.h>
#endif

enum { RNG_BLOCK = 64, RNG_BLOCKS_PER_TASK = 32 };

typedef uint32_t v8u __attribute__((vector_size(32)));
typedef uint32_t u8u __attribute__((vector_size(32), aligned(4), may_alias));
typedef uint64_t v4ul __attribute__((vector_size(32)));
typedef uint64_t u4ul __attribute__((vector_size(32), aligned(8), may_alias));

#define NAME(x) plain_##x
#define TARGET
#define MUL32(a, b) ((a) * (b))
#include "library/rng_lanes.h"
#if LIB_X86
#define NAME(x)     avx2_##x
#define TARGET      LIB_AVX2
#define MUL32(a, b) ((v4ul)_mm256_mul_epu32((__m256i)(a), (__m256i)(b)))
#include "library/rng_lanes.h"
#endif

struct rng {
    const struct lib_call *c;
    bool threefry;
    size_t state_bytes;
    const struct ir_dtype_info *dtype;
    /* Elements are [before][dim][after]. Threefry draws 32 bits in pairs, the words of one output, which are adjacent along
       dim: `half` pairs, whose last one is cut where dim is odd. Other draws are in a row. */
    size_t before, dim, after, half, count;
    size_t draws; /* counters used */
    uint64_t state[3];
};

/* Element i from the low bits of a word; types of fewer bits than their storage keep them so. */
static void rng_store(const struct rng *r, size_t i, uint32_t word) {
    char *to = (char *)r->c->out[1] + i * r->dtype->bytes;
    if (r->dtype->bits < 8) {
        uint32_t unused = 32 - r->dtype->bits;
        word = r->dtype->cls == IR_SINT ? (uint32_t)((int32_t)(word << unused) >> unused) : word << unused >> unused;
    }
    memcpy(to, &word, r->dtype->bytes);
}

/* Words of pairs [from, to). */
static void rng_pairs(const struct rng *r, size_t from, size_t to, const uint32_t *low, const uint32_t *high) {
    if (r->after == 1 && r->dim % 2 == 0 && r->dtype->bytes == 4) {
        uint32_t *out = (uint32_t *)r->c->out[1] + 2 * from;
        for (size_t i = 0; i < to - from; i++) {
            out[2 * i] = low[i];
            out[2 * i + 1] = high[i];
        }
        return;
    }
    size_t inner = from % r->after, pair = from / r->after % r->half, before = from / r->after / r->half;
    for (size_t i = 0; i < to - from; i++) {
        size_t at = (before * r->dim + 2 * pair) * r->after + inner;
        rng_store(r, at, low[i]);
        if (2 * pair + 1 < r->dim)
            rng_store(r, at + r->after, high[i]);
        if (++inner == r->after) {
            inner = 0;
            before += ++pair == r->half;
            pair = pair == r->half ? 0 : pair;
        }
    }
}

/* Outputs [from, to) of 64 bits, or of two times 64 bits, one after the other: those of 64-bit types are elements, those of
   others two or four words. */
static void rng_row(const struct rng *r, size_t from, size_t to, const uint64_t *low, const uint64_t *high) {
    size_t words = high ? 4 : 2, per = r->dtype->bytes == 8 ? words / 2 : words;
    for (size_t i = 0; i < to - from; i++) {
        uint64_t v[2] = {low[i], high ? high[i] : 0};
        uint32_t word[4] = {(uint32_t)v[0], (uint32_t)(v[0] >> 32), (uint32_t)v[1], (uint32_t)(v[1] >> 32)};
        size_t at = (from + i) * per, n = r->count - at < per ? r->count - at : per;
        if (r->dtype->bytes >= 4) {
            memcpy((char *)r->c->out[1] + at * r->dtype->bytes, v, n * r->dtype->bytes);
            continue;
        }
        for (size_t k = 0; k < n; k++)
            rng_store(r, at + k, word[k]);
    }
}

static void rng_block(const struct rng *r, size_t from, size_t to) {
    uint64_t key = r->state[0], counter[2] = {r->state[1] + from, r->state[2]};
    uint32_t low[RNG_BLOCK], high[RNG_BLOCK];
    uint64_t low64[RNG_BLOCK], high64[RNG_BLOCK];
    counter[1] += counter[0] < r->state[1];
    bool avx2 = false;
#if LIB_X86
    avx2 = lib_has_avx2();
    if (avx2 && r->threefry)
        avx2_threefry(key, counter[0], low, high);
    else if (avx2)
        avx2_philox(key, counter, low64, high64);
#endif
    if (!avx2 && r->threefry)
        plain_threefry(key, counter[0], low, high);
    else if (!avx2)
        plain_philox(key, counter, low64, high64);
    if (r->threefry && r->dtype->bytes < 8) {
        rng_pairs(r, from, to, low, high);
        return;
    }
    for (size_t i = 0; i < RNG_BLOCK && r->threefry; i++)
        low64[i] = low[i] | (uint64_t)high[i] << 32;
    rng_row(r, from, to, low64, r->threefry ? NULL : high64);
}

static void rng_task(void *user, int64_t task) {
    const struct rng *r = user;
    size_t at = (size_t)task * RNG_BLOCKS_PER_TASK * RNG_BLOCK, end = at + RNG_BLOCKS_PER_TASK * RNG_BLOCK;
    end = end < r->draws ? end : r->draws;
    for (; at < end; at += RNG_BLOCK)
        rng_block(r, at, at + RNG_BLOCK < end ? at + RNG_BLOCK : end);
}

hilo_status lib_rng_bit_generator(const struct lib_call *c) {
    struct lib_reader p = lib_reader_of(c->params, c->nparams);
    struct rng r = {.c = c, .threefry = lib_get(&p) != 0, .state_bytes = lib_get_size(&p, sizeof r.state)};
    enum ir_dtype t = (enum ir_dtype)lib_get_size(&p, IR_DTYPE_COUNT - 1);
    r.dtype = ir_dtype_get(t);
    r.before = lib_get_size(&p, PTRDIFF_MAX);
    r.dim = lib_get_size(&p, PTRDIFF_MAX);
    r.after = lib_get_size(&p, PTRDIFF_MAX);
    r.half = (r.dim + 1) / 2;
    if (p.short_ || r.dtype->bytes == 0 || r.dtype->bytes > 8 || !mem_mul(r.before, r.dim, &r.count) ||
        !mem_mul(r.count, r.after, &r.count))
        return HILO_INVALID_ARGUMENT;
    if (c->check) {
        const size_t all = lib_times(r.count, r.dtype->bytes), state = r.state_bytes;
        bool known = state == 16 || (state == 24 && !r.threefry);
        return known ? lib_checked(c->check, 1, 2, (const size_t[]){state, state, all}, 0) : HILO_INVALID_ARGUMENT;
    }
    size_t words = r.threefry ? 2 : 4, per = r.dtype->bytes == 8 ? words / 2 : words;
    r.draws = r.threefry && r.dtype->bytes < 8 ? r.before * r.half * r.after : r.count / per + (r.count % per != 0);
    memcpy(r.state, c->in[0], r.state_bytes);
    if (r.state_bytes == 16)
        r.state[2] = r.state[0];
    size_t each = RNG_BLOCKS_PER_TASK * RNG_BLOCK;
    lib_each(c->pool, (int64_t)(r.draws / each + (r.draws % each != 0)), rng_task, &r);
    uint64_t before = r.state[1];
    r.state[1] += r.draws;
    if (!r.threefry)
        r.state[2] += r.state[1] < before;
    memcpy(c->out[0], r.state, r.state_bytes);
    return HILO_OK;
}

bool lib_match_rng_bit_generator(const struct ir_module *m, ir_op op, struct lib_match *out) {
    if (ir_kind(m, op) != IR_RNG_BIT_GENERATOR || !lib_tensors(m, op))
        return false;
    const struct ir_type_data *state = ir_val_type(m, ir_operand(m, op, 0)), *t = ir_val_type(m, ir_result(m, op, 1));
    bool threefry = ir_prop_i64(m, op, IR_RNG_BIT_GENERATOR_rng_algorithm) == IR_RNG_ALGORITHM_THREE_FRY, even = false;
    size_t bytes;
    uint32_t split = 0;
    if (!ir_type_bytes(state, &bytes) || (bytes != 16 && (threefry || bytes != 24)) ||
        ir_dtype_get(t->dtype)->cls == IR_COMPLEX_CLASS)
        return false;
    for (uint32_t i = 0; i < t->rank && !even; i++) { /* an even dimension, else the largest, has the pairs */
        even = t->dims[i] % 2 == 0;
        if (even || t->dims[i] > t->dims[split])
            split = i;
    }
    size_t dim = t->rank ? (size_t)t->dims[split] : 1, before = lib_product(t->dims, 0, split);
    size_t after = t->rank ? lib_product(t->dims, split + 1, t->rank) : 1;
    out->in_place = true;
    out->ns = 1.0 * (double)before * (double)dim * (double)after;
    return lib_put(out, threefry) && lib_put(out, (int64_t)bytes) && lib_put(out, t->dtype) && lib_put(out, (int64_t)before) &&
           lib_put(out, (int64_t)dim) && lib_put(out, (int64_t)after);
}
