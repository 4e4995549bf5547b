/* check.*: comparison of values, as tests want it.
 *
 *   exact    equal numbers: -0 equals 0, and NaN equals nothing
 *   almost   equal, both NaN, or finite with at most `tolerance` between them, computed in double
 *   ulp      a distance from min_ulp to max_ulp: 0 for equal bits and for two NaNs, else the number of steps between finite
 *            values, beyond any bound when one is not finite; of complex numbers the larger of both parts'
 *
 * Integers and booleans are compared exactly under every rule. */
#include "eval/eval_core.h"

#include "base/decimal.h"

#include <inttypes.h>
#include <math.h>

/* ---- one element ----------------------------------------------------------------------------------------------------- */

static bool is_finite_code(enum fp_kind kind, uint64_t bits) {
    const struct fp_info *f = fp_get(kind);
    return !fp_is_nan(kind, bits) && (bits & ~f->sign) <= f->largest;
}

static uint64_t ulp_distance(enum fp_kind kind, uint64_t a, uint64_t b) {
    const struct fp_info *f = fp_get(kind);
    if (a == b || (fp_is_nan(kind, a) && fp_is_nan(kind, b)))
        return 0;
    if (!is_finite_code(kind, a) || !is_finite_code(kind, b))
        return UINT64_MAX;
    uint64_t x = a & ~f->sign, y = b & ~f->sign;
    if ((a & f->sign) != (b & f->sign))
        return x + y;
    return x > y ? x - y : y - x;
}

static bool almost_equal(enum fp_kind kind, uint64_t a, uint64_t b, double tolerance) {
    double x = fp_decode(kind, a), y = fp_decode(kind, b);
    if (x == y || (isnan(x) && isnan(y)))
        return true;
    return isfinite(x) && isfinite(y) && fabs(x - y) <= tolerance;
}

/* The elements' kind of float, how many of them make a number (complex: 2), and the bytes of one. */
struct parts {
    enum fp_kind kind;
    size_t n, bytes;
    bool is_float;
};

static struct parts parts_of(enum ir_dtype t) {
    const struct ir_dtype_info *info = ir_dtype_get(t);
    bool is_complex = info->cls == IR_COMPLEX_CLASS;
    return (struct parts){.kind = info->fp, .n = is_complex ? 2 : 1, .bytes = info->bytes / (is_complex ? 2 : 1),
                          .is_float = info->cls == IR_FLOAT || is_complex};
}

static uint64_t element_distance(const struct parts *p, const char *a, const char *b) {
    uint64_t most = 0;
    for (size_t i = 0; i < p->n; i++) {
        uint64_t d = ulp_distance(p->kind, fp_load(p->kind, a + i * p->bytes), fp_load(p->kind, b + i * p->bytes));
        most = d > most ? d : most;
    }
    return most;
}

static bool element_agrees(const struct parts *p, const struct check_rule *rule, const char *a, const char *b, size_t i) {
    struct check_rule floor = {.how = CHECK_ALMOST};
    if (!p->is_float)
        return memcmp(a, b, p->bytes) == 0;
    if (rule->how == CHECK_ULP) {
        uint64_t d = element_distance(p, a, b);
        if ((d >= rule->min_ulp && d <= rule->max_ulp) || !rule->terms)
            return d >= rule->min_ulp && d <= rule->max_ulp;
        struct parts t = parts_of(rule->terms->dtype);
        double sum = fp_decode(t.kind, fp_load(t.kind, (const char *)rule->terms->data + i * t.bytes));
        floor.tolerance = CHECK_SUM_EPSILONS * ldexp(sum, -fp_get(p->kind)->man_bits);
        rule = &floor;
    }
    for (size_t k = 0; k < p->n; k++) {
        uint64_t x = fp_load(p->kind, a + k * p->bytes), y = fp_load(p->kind, b + k * p->bytes);
        if (rule->how == CHECK_ALMOST ? !almost_equal(p->kind, x, y, rule->tolerance)
                                      : fp_decode(p->kind, x) != fp_decode(p->kind, y))
            return false;
    }
    return true;
}

/* ---- messages -------------------------------------------------------------------------------------------------------- */

static void part_text(enum fp_kind kind, uint64_t bits, struct strbuf *out) {
    char buf[DEC_PRINT_SIZE];
    double x = fp_decode(kind, bits);
    if (isnan(x))
        strbuf_puts(out, signbit(x) ? "-nan" : "nan");
    else if (isinf(x))
        strbuf_puts(out, x < 0 ? "-inf" : "inf");
    else
        strbuf_putn(out, buf, dec_print_fp(buf, kind, bits));
}

static void element_text(const struct value *v, size_t i, struct strbuf *out) {
    struct parts p = parts_of(v->dtype);
    const char *at = (const char *)v->data + i * p.bytes * p.n;
    if (v->dtype == IR_I1_T) {
        strbuf_puts(out, value_i64(v, i) ? "true" : "false");
    } else if (!p.is_float) {
        bool is_unsigned = ir_dtype_get(v->dtype)->cls == IR_UINT;
        strbuf_printf(out, is_unsigned ? "%" PRIu64 : "%" PRId64, value_i64(v, i));
    } else if (p.n == 1) {
        part_text(p.kind, fp_load(p.kind, at), out);
    } else {
        strbuf_putc(out, '(');
        part_text(p.kind, fp_load(p.kind, at), out);
        strbuf_puts(out, ", ");
        part_text(p.kind, fp_load(p.kind, at + p.bytes), out);
        strbuf_putc(out, ')');
    }
}

static void index_text(const struct value *v, size_t i, struct strbuf *out) {
    size_t stride = v->count;
    strbuf_putc(out, '[');
    for (uint32_t d = 0; d < v->rank; d++) {
        stride /= (size_t)v->dims[d];
        strbuf_printf(out, "%s%zu", d ? ", " : "", i / stride);
        i %= stride;
    }
    strbuf_putc(out, ']');
}

static void explain(const struct value *got, const struct value *want, const struct check_rule *rule, size_t first,
                    size_t differ, struct strbuf *why) {
    struct parts p = parts_of(got->dtype);
    size_t at = first * p.bytes * p.n;
    strbuf_puts(why, "element ");
    index_text(got, first, why);
    strbuf_puts(why, " is ");
    element_text(got, first, why);
    strbuf_puts(why, ", expected ");
    element_text(want, first, why);
    uint64_t ulp = p.is_float ? element_distance(&p, (const char *)got->data + at, (const char *)want->data + at) : 0;
    if (p.is_float && rule->how == CHECK_ULP && ulp != UINT64_MAX)
        strbuf_printf(why, " (%" PRIu64 " ulp apart)", ulp);
    if (p.is_float && rule->how == CHECK_ALMOST)
        strbuf_printf(why, " within %g", rule->tolerance);
    strbuf_printf(why, "; %zu of %zu differ", differ, got->count);
}

bool check_values(const struct value *got, const struct value *want, const struct check_rule *rule, struct strbuf *why) {
    bool same_type = got->kind == EVAL_TENSOR && want->kind == EVAL_TENSOR && got->dtype == want->dtype &&
                     got->rank == want->rank &&
                     (got->rank == 0 || memcmp(got->dims, want->dims, got->rank * sizeof *got->dims) == 0);
    if (!same_type) {
        if (why) {
            value_type_text(got, why);
            strbuf_puts(why, " is compared with ");
            value_type_text(want, why);
        }
        return false;
    }
    struct parts p = parts_of(got->dtype);
    const char *a = got->data, *b = want->data;
    size_t size = p.bytes * p.n, first = 0, differ = 0;
    for (size_t i = 0; i < got->count; i++)
        if (!element_agrees(&p, rule, a + i * size, b + i * size, i) && differ++ == 0)
            first = i;
    if (differ && why)
        explain(got, want, rule, first, differ, why);
    return differ == 0;
}

/* ---- ops ------------------------------------------------------------------------------------------------------------- */

static hilo_status check_pair(struct eval *cx, ir_op op, const struct value *got, const struct value *want,
                              const struct check_rule *rule) {
    struct strbuf why;
    strbuf_init(&why, cx->al);
    hilo_status status = HILO_OK;
    if (!check_values(got, want, rule, &why))
        status = EVAL_FAIL(cx, op, HILO_FAILED_PRECONDITION, "failed: %s", why.p ? why.p : "values differ");
    strbuf_free(&why);
    return status;
}

/* The attributes of an op say how it compares: a tolerance, differences in ulp, or exactly; with a constant or an operand. */
hilo_status eval_check(struct eval *cx, ir_op op, struct value *const *in, struct value **out) {
    (void)out;
    enum ir_op_kind kind = ir_kind(cx->m, op);
    struct check_rule rule = {.how = CHECK_EXACT};
    uint32_t tolerance = ir_slot_named(kind, STR("tolerance")), constant = ir_slot_named(kind, STR("value"));
    if (tolerance) {
        const struct ir_attr_data *a = ir_attr_get(cx->m, ir_prop(cx->m, op, (enum ir_slot)tolerance));
        rule = (struct check_rule){.how = CHECK_ALMOST, .tolerance = a->kind == IR_ATTR_FLOAT ? a->f : 1e-4};
    } else if (kind == IR_CHECK_CLOSE) {
        rule = (struct check_rule){.how = CHECK_ULP,
                                   .min_ulp = (uint64_t)ir_prop_i64(cx->m, op, IR_CHECK_CLOSE_min_ulp_difference),
                                   .max_ulp = (uint64_t)ir_prop_i64(cx->m, op, IR_CHECK_CLOSE_max_ulp_difference)};
    }
    if (!constant)
        return check_pair(cx, op, in[0], in[1], &rule);
    struct value *want;
    HILO_TRY(eval_literal(cx, op, ir_prop(cx->m, op, (enum ir_slot)constant), &want));
    hilo_status status = check_pair(cx, op, in[0], want, &rule);
    value_unref(want);
    return status;
}

hilo_status eval_check_serialized(struct eval *cx, ir_op op, struct value *const *in, struct value **out) {
    (void)out;
    if (!cx->hooks || !cx->hooks->probed)
        return EVAL_FAIL(cx, op, HILO_UNIMPLEMENTED, "needs the directory that probes were written to");
    struct value *want;
    uint32_t iteration = (uint32_t)ir_prop_i64(cx->m, op, IR_CHECK_SERIALIZED_EQ_iteration);
    struct str id = ir_prop_str(cx->m, op, IR_CHECK_SERIALIZED_EQ_probe_id);
    eval_process_lock(cx->process);
    hilo_status status = cx->hooks->probed(cx->hooks->user, id, iteration, in[0], &want);
    eval_process_unlock(cx->process);
    if (status != HILO_OK)
        return EVAL_FAIL(cx, op, status, "finds no value %" PRIu32 " of probe '%.*s'", iteration, (int)id.n, id.p);
    status = check_pair(cx, op, want, in[0], &(struct check_rule){.how = CHECK_EXACT});
    value_unref(want);
    return status;
}

/* The targets by which programs without the check dialect test themselves, with the bounds that they are read with. A third
   operand is check_rule.terms. */
static const struct {
    const char *target;
    struct check_rule rule;
} check_calls[] = {
    {"check.eq", {.how = CHECK_ALMOST, .tolerance = 1e-4}}, /* integers exactly, as always */
    {"check.expect_eq", {.how = CHECK_EXACT}},
    {"check.expect_almost_eq", {.how = CHECK_ALMOST, .tolerance = 1e-3}},
    {"check.expect_close", {.how = CHECK_ULP, .max_ulp = 3}},
};

bool eval_check_call(struct eval *cx, ir_op op, struct str target, struct value *const *in, struct value **out,
                     hilo_status *status) {
    const struct ir_op_data *o = ir_op_get(cx->m, op);
    if (o->noperands < 2 || o->noperands > 3 || o->nresults > 1)
        return false;
    for (size_t i = 0; i < sizeof check_calls / sizeof *check_calls; i++) {
        if (!str_is(target, check_calls[i].target))
            continue;
        struct check_rule rule = check_calls[i].rule;
        rule.terms = o->noperands == 3 ? in[2] : NULL;
        *status = rule.terms && rule.terms->count != in[0]->count
                      ? EVAL_FAIL(cx, op, HILO_INVALID_ARGUMENT, "has %zu sums of magnitudes for %zu elements",
                                  rule.terms->count, in[0]->count)
                      : check_pair(cx, op, in[0], in[1], &rule);
        if (*status == HILO_OK && o->nresults == 1) /* tensor<i1>: true */
            *status = eval_out(cx, op, 0, NULL, 0, out);
        if (*status == HILO_OK && o->nresults == 1)
            memset(out[0]->data, 1, out[0]->bytes);
        return true;
    }
    return false;
}
