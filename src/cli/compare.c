/* Results of two backends on the same inputs, compared.
 *
 * Integers must be equal. A float may be off by T (|x| + S), where T is the tolerance, x the expected element, and S the
 * magnitudes that were added up on the way to it: where terms cancel, the element itself does not bound its rounding error.
 * S is measured: the reference evaluator runs the program again with every float that goes in or is computed moved by one
 * unit in the last place, up or down at random (the same numbers each time). An element that moves by D
 * has terms of about D / epsilon; S is the largest of several runs, doubled because random signs average out. This takes
 * further runs of the evaluator, but only if an element is off by more than T |x|. */
#include "cli/compare.h"

#include <math.h>
#include <stdlib.h>

enum { NUDGED_RUNS = 4 };

/* ---- elements -------------------------------------------------------------------------------- */

/* The parts of element i as doubles: of complex numbers two, else one. */
static size_t element_parts(const struct value *v, size_t i, double parts[2]) {
    const struct ir_dtype_info *t = ir_dtype_get(v->dtype);
    const char *p = (const char *)v->data + i * t->bytes;
    if (t->cls == IR_COMPLEX_CLASS) {
        parts[0] = fp_decode(t->fp, fp_load(t->fp, p));
        parts[1] = fp_decode(t->fp, fp_load(t->fp, p + t->bytes / 2));
        return 2;
    }
    if (t->cls == IR_FLOAT)
        parts[0] = fp_decode(t->fp, fp_load(t->fp, p));
    else
        parts[0] = (double)value_i64(v, i);
    return 1;
}

static bool is_float(const struct value *v) {
    enum ir_dtype_class c = ir_dtype_get(v->dtype)->cls;
    return c == IR_FLOAT || c == IR_COMPLEX_CLASS;
}

/* One unit in the last place of 1. */
static double epsilon_of(const struct value *v) {
    return ldexp(1, -(int)fp_get(ir_dtype_get(v->dtype)->fp)->man_bits);
}

static double tolerance_of(const struct value *v, double given) {
    if (!is_float(v))
        return 0;
    return given > 0 ? given : fmax(16 * epsilon_of(v), 1e-12);
}

/* The distance of two elements; infinity where one is not finite and the other is something else. */
static double distance(const struct value *a, const struct value *b, size_t i) {
    double x[2], y[2], apart = 0;
    size_t n = element_parts(a, i, x);
    element_parts(b, i, y);
    for (size_t k = 0; k < n; k++)
        if (x[k] != y[k] && !(isnan(x[k]) && isnan(y[k])))
            apart = fmax(apart, isfinite(x[k]) && isfinite(y[k]) ? fabs(x[k] - y[k]) : INFINITY);
    if (apart == 0 && !is_float(a) && value_i64(a, i) != value_i64(b, i))
        apart = 1; /* integers that are one double */
    return apart;
}

static double magnitude(const struct value *v, size_t i) {
    double parts[2], largest = 0;
    for (size_t k = element_parts(v, i, parts); k-- > 0;)
        largest = isfinite(parts[k]) ? fmax(largest, fabs(parts[k])) : largest;
    return largest;
}

/* ---- results --------------------------------------------------------------------------------- */

struct difference {
    size_t count, worst;  /* elements that differ at all; the one that does most, compared with what it may */
    double apart, allowed; /* there */
};

/* `terms`: by element the magnitudes that were added up, or NULL. */
static struct difference find_difference(const struct value *a, const struct value *b, double tolerance, const double *terms) {
    struct difference d = {0};
    double worst = 0;
    for (size_t i = 0; i < a->count; i++) {
        double apart = distance(a, b, i);
        if (apart == 0)
            continue;
        double allowed = tolerance * (magnitude(b, i) + (terms ? terms[i] : 0)),
               excess = allowed > 0 ? apart / allowed : INFINITY;
        d.count++;
        if (excess > worst || d.count == 1) {
            worst = excess;
            d.worst = i;
            d.apart = apart;
            d.allowed = allowed;
        }
    }
    return d;
}

static bool same_shape(const struct value *a, const struct value *b) {
    return a->kind == b->kind && a->count == b->count && a->dtype == b->dtype;
}

bool cli_compare_close(const struct cli_comparison *c) {
    for (size_t i = 0; i < c->n; i++) {
        const struct value *a = rt_buffer_value(c->results[i]), *b = rt_buffer_value(c->expected[i]);
        if (!same_shape(a, b))
            return false;
        if (a->kind != EVAL_TENSOR)
            continue;
        struct difference d = find_difference(a, b, tolerance_of(a, c->tolerance), NULL);
        if (d.count && d.apart > d.allowed)
            return false;
    }
    return true;
}

/* ---- what was added up ----------------------------------------------------------------------- */

static uint64_t mix(uint64_t x) { /* splitmix64 */
    x += UINT64_C(0x9E3779B97F4A7C15);
    x = (x ^ x >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    x = (x ^ x >> 27) * UINT64_C(0x94D049BB133111EB);
    return x ^ x >> 31;
}

struct nudger {
    const struct cli_comparison *c;
    uint64_t state; /* of the random numbers */
};

/* Moves each float by one unit in the last place, in a copy if others see the value. Types below 16 bits, which are data rather
   than approximations, and everything else stay; so do values for whose copies there is no memory. */
static void nudge(struct nudger *n, struct value **v) {
    const struct value *from = *v;
    const struct ir_dtype_info *t = from->kind == EVAL_TENSOR ? ir_dtype_get(from->dtype) : NULL;
    uint32_t part = !t ? 0 : t->cls == IR_COMPLEX_CLASS ? t->bytes / 2 : t->bytes;
    struct value *to = *v;
    if (part < 2 || !is_float(from))
        return;
    if (atomic_load(&from->refs) > 1 || from->release) {
        if (value_tensor(&from->al, from->dtype, from->dims, from->rank, &to) != HILO_OK)
            return;
        memcpy(to->data, from->data, from->bytes);
        value_unref(*v);
        *v = to;
    }
    char *p = to->data;
    double epsilon = epsilon_of(to);
    for (size_t i = 0; i < to->bytes; i += part, p += part) {
        double x = fp_decode(t->fp, fp_load(t->fp, p)), y = x + (mix(n->state++) & 1 ? epsilon : -epsilon) * fabs(x);
        if (isfinite(x) && isfinite(y))
            fp_store(t->fp, p, fp_encode(t->fp, y));
    }
}

static void on_computed(void *user, const struct ir_module *m, ir_op op, struct value **results, uint32_t n) {
    bool rounds = !ir_op_has(ir_kind(m, op), IR_T_MOVEMENT) && !ir_op_has(ir_kind(m, op), IR_T_CONTROL);
    for (uint32_t i = 0; i < n && rounds; i++)
        nudge(user, &results[i]);
}

static bool is_cancelled(void *user) {
    const struct nudger *n = user;
    return n->c->execute->cancelled && n->c->execute->cancelled(n->c->execute->cancelled_user);
}

/* Raises terms[] by what the results of one run moved. */
static void add_moves(const struct cli_comparison *c, struct value *const *moved, double *const *terms) {
    for (size_t i = 0; i < c->n; i++) {
        const struct value *a = moved[i], *b = rt_buffer_value(c->expected[i]);
        for (size_t k = 0; terms[i] && same_shape(a, b) && k < b->count; k++) {
            double apart = distance(a, b, k);
            if (isfinite(apart))
                terms[i][k] = fmax(terms[i][k], 2 * apart / epsilon_of(b));
        }
    }
}

static hilo_status run_nudged(struct nudger *n, const struct ir_module *m, ir_op entry, double *const *terms) {
    const struct cli_comparison *c = n->c;
    hilo_allocator al = mem_system_allocator();
    struct eval_hooks hooks = {.computed = on_computed, .cancelled = is_cancelled, .user = n};
    struct value **in = cli_alloc(c->ninputs, sizeof *in), **out = cli_alloc(c->n, sizeof *out);
    struct diag_list d;
    diag_init(&d, al);
    for (size_t i = 0; i < c->ninputs; i++) {
        in[i] = value_ref(rt_buffer_value(c->inputs[i]));
        nudge(n, &in[i]);
    }
    hilo_status status = eval_func(m, entry, in, (uint32_t)c->ninputs, out, (uint32_t)c->n, &al, &hooks, &d);
    if (status == HILO_OK)
        add_moves(c, out, terms);
    for (size_t i = 0; i < c->ninputs; i++)
        value_unref(in[i]);
    for (size_t i = 0; i < c->n; i++)
        value_unref(out[i]);
    diag_clear(&d);
    free(in);
    free(out);
    return status;
}

void cli_compare_measure_terms(const struct cli_comparison *c, double **terms) {
    struct nudger n = {c, 0};
    hilo_executable *exe = NULL;
    hilo_compile_options o = *c->compile;
    o.backend = HILO_BACKEND_REFERENCE;
    o.cache = false; /* the program itself is needed */
    for (size_t i = 0; i < c->n; i++) {
        const struct value *v = rt_buffer_value(c->expected[i]);
        terms[i] = v->kind == EVAL_TENSOR && is_float(v) ? cli_alloc(v->count, sizeof **terms) : NULL;
    }
    hilo_status status = hilo_compile_file(c->client, c->file, NULL, &o, &exe);
    for (int run = 0; run < NUDGED_RUNS && status == HILO_OK; run++)
        status = run_nudged(&n, rt_executable_plan(exe)->m, rt_executable_entry(exe), terms);
    hilo_diagnostics_clear(c->client); /* terms that could not be measured are 0 */
    hilo_executable_release(exe);
}

/* ---- report ---------------------------------------------------------------------------------- */

static void put_index(const struct value *v, size_t i, struct strbuf *out) {
    int64_t index[IR_MAX_RANK];
    for (uint32_t k = v->rank; k-- > 0; i /= (size_t)v->dims[k])
        index[k] = (int64_t)(i % (size_t)v->dims[k]);
    strbuf_putc(out, '[');
    for (uint32_t k = 0; k < v->rank; k++)
        strbuf_printf(out, "%s%lld", k ? ", " : "", (long long)index[k]);
    strbuf_putc(out, ']');
}

static void put_parts(const struct value *v, size_t i, struct strbuf *out) {
    double parts[2];
    if (element_parts(v, i, parts) == 2)
        strbuf_printf(out, "(%.9g, %.9g)", parts[0], parts[1]);
    else
        strbuf_printf(out, "%.9g", parts[0]);
}

/* A line about one result; returns whether it is within the tolerance. */
static bool compare_result(const struct value *a, const struct value *b, double given, const double *terms,
                           struct strbuf *out) {
    if (a->kind != EVAL_TENSOR || !same_shape(a, b)) {
        strbuf_puts(out, same_shape(a, b) ? "equal\n" : "of another shape\n");
        return same_shape(a, b);
    }
    struct difference d = find_difference(a, b, tolerance_of(a, given), terms);
    if (d.count == 0) {
        strbuf_puts(out, "equal\n");
        return true;
    }
    bool within = d.apart <= d.allowed;
    strbuf_printf(out, "%s: %zu of %zu elements differ; worst: ", within ? "within tolerance" : "outside tolerance", d.count,
                  a->count);
    put_parts(a, d.worst, out);
    strbuf_puts(out, ", expected ");
    put_parts(b, d.worst, out);
    strbuf_puts(out, " at ");
    put_index(a, d.worst, out);
    strbuf_printf(out, " (off by %.2g, tolerance %.2g)\n", d.apart, d.allowed);
    return within;
}

int cli_compare_print(const struct cli_comparison *c, double *const *terms) {
    struct strbuf b;
    bool agree = true;
    strbuf_init(&b, mem_system_allocator());
    for (size_t i = 0; i < c->n; i++) {
        const char *name = hilo_executable_output_name(c->exe, i);
        if (*name)
            strbuf_printf(&b, "%s: ", name);
        else
            strbuf_printf(&b, "%zu: ", i);
        const struct value *result = rt_buffer_value(c->results[i]), *expected = rt_buffer_value(c->expected[i]);
        agree &= compare_result(result, expected, c->tolerance, terms ? terms[i] : NULL, &b);
    }
    if (b.n)
        fwrite(b.p, 1, b.n, stdout);
    strbuf_free(&b);
    return agree ? CLI_OK : cli_error(CLI_FAILED, "results differ by more than the tolerance");
}
