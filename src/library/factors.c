/* Factors of matrices by the custom calls that are LAPACK's functions. The host leaves them to the evaluator, or to what is
 * registered for the call; here they are what libraries of a GPU compute, and what takes their place where they do not. */
#include "library/factors.h"

bool factors_read(enum factor_kind kind, const int64_t *params, uint32_t nparams, struct factor *out) {
    struct lib_reader r = lib_reader_of(params, nparams);
    *out = (struct factor){.kind = kind, .type = (enum ir_dtype)lib_get_size(&r, IR_DTYPE_COUNT - 1)};
    out->batch = lib_get_size(&r, PTRDIFF_MAX);
    out->m = lib_get_size(&r, INT32_MAX);
    out->n = lib_get_size(&r, INT32_MAX);
    out->k = lib_get_size(&r, INT32_MAX);
    out->vectors = lib_get(&r) != 0;
    out->full = lib_get(&r) != 0;
    out->upper = lib_get(&r) != 0;
    bool typed = out->type == IR_F32_T || out->type == IR_F64_T || out->type == IR_C64_T || out->type == IR_C128_T;
    size_t least = out->m < out->n ? out->m : out->n;
    return !r.short_ && typed && (kind == FACTOR_REFLECTORS ? out->k <= out->n && out->n <= out->m : out->k == least) &&
           (kind != FACTOR_EIGH || out->m == out->n);
}

static bool factors_match(const struct ir_module *m, ir_op op, enum factor_kind kind, struct lib_match *out) {
    struct factor f;
    if (ir_kind(m, op) != IR_CUSTOM_CALL || !lib_tensors(m, op) || !factor_of(m, op, &f) || f.kind != kind ||
        f.m > INT32_MAX || f.n > INT32_MAX || !factor_scratch(&f, &out->scratch_bytes))
        return false;
    const int64_t params[] = {f.type, (int64_t)f.batch, (int64_t)f.m, (int64_t)f.n, (int64_t)f.k, f.vectors, f.full, f.upper};
    bool fits = true;
    for (size_t i = 0; i < sizeof params / sizeof *params; i++)
        fits = fits && lib_put(out, params[i]);
    out->ns = 20.0 * (double)f.batch * (double)f.m * (double)f.n * (double)f.k;
    out->alone = true;
    return fits;
}

static hilo_status factors_run(const struct lib_call *c, enum factor_kind kind) {
    struct factor f;
    uint32_t nin, nout;
    size_t need[FACTOR_BUFFERS], scratch;
    if (!factors_read(kind, c->params, c->nparams, &f) || !factor_bytes(&f, &nin, &nout, need) || !factor_scratch(&f, &scratch))
        return HILO_INVALID_ARGUMENT;
    if (c->check)
        return lib_checked(c->check, nin, nout, need, scratch);
    for (size_t i = 0; i < f.batch && f.m && f.n; i++)
        factor_one(&f, i, c->in, c->out, c->scratch);
    return HILO_OK;
}

#define FACTORS(ID, name)                                                                                                      \
    bool lib_match_##name(const struct ir_module *m, ir_op op, struct lib_match *out) {                                        \
        return factors_match(m, op, FACTOR_##ID, out);                                                                         \
    }                                                                                                                          \
    hilo_status lib_##name(const struct lib_call *c) {                                                                         \
        return factors_run(c, FACTOR_##ID);                                                                                    \
    }
FACTORS(LU, lu)
FACTORS(QR, qr)
FACTORS(REFLECTORS, reflectors)
FACTORS(EIGH, eigh)
FACTORS(SVD, svd)
