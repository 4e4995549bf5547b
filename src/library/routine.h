/* What the routines share: parameters that are written at the match and read at the run, and work for a pool. */
#ifndef HILO_LIBRARY_ROUTINE_H
#define HILO_LIBRARY_ROUTINE_H

#include "library/library.h"

#include <stdatomic.h>

typedef bool lib_match_fn(const struct ir_module *m, ir_op op, struct lib_match *out);
typedef hilo_status lib_run_fn(const struct lib_call *c);
#define ROUTINE(id, name, what)                                                                                                \
    lib_match_fn lib_match_##name;                                                                                             \
    lib_run_fn lib_##name;
#include "library/routines.def"

/* Tasks of a routine at most: enough to share the work evenly among many threads. Where each task has scratch memory there are
   fewer. Neither depends on the machine: the scratch memory of a compiled program is the same wherever it runs. */
enum { LIB_TASKS = 256, LIB_SCRATCH_TASKS = 64 };
static inline size_t lib_tasks(size_t parts, size_t most) {
    return parts < most ? parts : most;
}

/* ---- parameters ------------------------------------------------------------------------------ */

/* Adds a parameter; false when there is no room for it. */
static inline bool lib_put(struct lib_match *out, int64_t v) {
    if (out->nparams == LIB_MOST_PARAMS)
        return false;
    out->params[out->nparams++] = v;
    return true;
}

/* A cursor over a call's parameters: what is missing reads as 0 and is remembered. */
struct lib_reader {
    const int64_t *at, *end;
    bool short_;
};
static inline struct lib_reader lib_reader_of(const int64_t *params, uint32_t n) {
    return (struct lib_reader){params, params + n, false};
}
static inline int64_t lib_get(struct lib_reader *r) {
    if (r->at == r->end) {
        r->short_ = true;
        return 0;
    }
    return *r->at++;
}
/* The same for a number of elements, a size, an index: below 0 or above `most` counts as missing. */
static inline size_t lib_get_size(struct lib_reader *r, size_t most) {
    int64_t v = lib_get(r);
    if (v < 0 || (uint64_t)v > most) {
        r->short_ = true;
        return 0;
    }
    return (size_t)v;
}

/* ---- checks: what a call accesses ------------------------------------------------------------- */

/* Sizes that do not fit are SIZE_MAX, which no memory has. */
static inline size_t lib_times(size_t a, size_t b) {
    size_t n;
    return mem_mul(a, b, &n) ? n : SIZE_MAX;
}

/* Elements from the first to the last one that strides reach; lib_reach adds a dimension. */
struct lib_extent {
    size_t last;
    bool empty;
};
static inline void lib_reach(struct lib_extent *e, int64_t size, int64_t stride) {
    size_t most = size > 0 && stride >= 0 ? lib_times((size_t)(size - 1), (size_t)stride) : size > 1 ? SIZE_MAX : 0;
    e->empty |= size <= 0;
    e->last = mem_add(e->last, most, &most) ? most : SIZE_MAX;
}
static inline size_t lib_extent_bytes(const struct lib_extent *e, size_t bytes) {
    return e->empty ? 0 : e->last == SIZE_MAX ? SIZE_MAX : lib_times(e->last + 1, bytes);
}

/* The answer to a check: OK when the call has these operands and results, of at least these bytes, and scratch. */
static inline hilo_status lib_checked(const struct lib_sizes *have, uint32_t nin, uint32_t nout, const size_t *need,
                                      size_t scratch) {
    bool fits = have->nin == nin && have->nout == nout && scratch <= have->scratch;
    for (uint32_t i = 0; i < nin + nout && fits; i++)
        fits = need[i] <= have->bytes[i];
    return fits ? HILO_OK : HILO_INVALID_ARGUMENT;
}

/* ---- what matchers ask ----------------------------------------------------------------------- */

/* True when all operands and results of an op are such tensors. */
bool lib_tensors(const struct ir_module *m, ir_op op);
/* Product of dims[from..to). */
size_t lib_product(const int64_t *dims, uint32_t from, uint32_t to);
/* The bits of the scalar (or splat) constant that a value is; false when it is none, or of more than eight bytes. */
bool lib_constant(const struct ir_module *m, ir_val v, uint64_t *bits);
/* The op that makes a value when it is of that kind; none else. */
ir_op lib_made_by(const struct ir_module *m, ir_val v, enum ir_op_kind kind);

/* ---- instruction sets ------------------------------------------------------------------------ */

/* Loops are written once, with vector types, and compiled once more for AVX2, which is looked for at run time. Products and
   sums are never contracted, so that both give the same bits. */
#if defined(__x86_64__) && defined(__GNUC__)
#define LIB_X86      1
#define LIB_AVX2     __attribute__((target("avx2")))
#define LIB_AVX2_FMA __attribute__((target("avx2,fma")))
static inline bool lib_has_avx2(void) {
    return __builtin_cpu_supports("avx2");
}
static inline bool lib_has_fma(void) {
    return __builtin_cpu_supports("fma");
}
#else
#define LIB_X86 0
#endif

/* ---- work ------------------------------------------------------------------------------------ */

/* Calls task(user, 0 … n-1) on the pool, and without it where there is nothing to share. */
static inline void lib_each(const struct lib_pool *pool, int64_t n, void (*task)(void *user, int64_t i), void *user) {
    if (n > 1 && pool) {
        pool->run(pool, n, task, user);
        return;
    }
    for (int64_t i = 0; i < n; i++)
        task(user, i);
}

/* Part i of n things in `parts` parts: [*from, *to). */
static inline void lib_part(size_t n, size_t parts, size_t i, size_t *from, size_t *to) {
    size_t whole = n / parts, rest = n % parts;
    *from = i * whole + (i < rest ? i : rest);
    *to = *from + whole + (i < rest);
}

/* Scratch is laid out by adding up sizes: each part begins at a multiple of 64 bytes. False on overflow. */
static inline bool lib_reserve(size_t *total, size_t n, size_t size, size_t *offset) {
    size_t bytes;
    *offset = *total;
    return mem_mul(n, size, &bytes) && mem_add(bytes, 63, &bytes) && mem_add(*total, bytes & ~(size_t)63, total);
}

#endif
