/* Results of two ways to run a program, side by side. */
#include "cli/cli.h"

#include <math.h>
#include <stdlib.h>

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

/* What part of the largest magnitude two results may be apart: rounding in another order, no more. */
static double tolerance_of(const struct value *v, double given) {
    if (!is_float(v))
        return 0;
    double epsilon = ldexp(1, -(int)fp_get(ir_dtype_get(v->dtype)->fp)->man_bits);
    return given > 0 ? given : fmax(16 * epsilon, 1e-12);
}

static double largest_magnitude(const struct value *v) {
    double largest = 0, parts[2];
    for (size_t i = 0; i < v->count; i++)
        for (size_t k = element_parts(v, i, parts); k-- > 0;)
            if (isfinite(parts[k]))
                largest = fmax(largest, fabs(parts[k]));
    return largest;
}

struct difference {
    size_t count, worst; /* elements that differ at all, and where they do most */
    double apart;        /* there; infinity where one is not finite and the other is something else */
};

static double parts_apart(double a, double b) {
    if (a == b || (isnan(a) && isnan(b)))
        return 0;
    return isfinite(a) && isfinite(b) ? fabs(a - b) : INFINITY;
}

static struct difference find_difference(const struct value *a, const struct value *b) {
    struct difference d = {0};
    for (size_t i = 0; i < a->count; i++) {
        double x[2], y[2], apart = 0;
        size_t n = element_parts(a, i, x);
        element_parts(b, i, y);
        while (n-- > 0)
            apart = fmax(apart, parts_apart(x[n], y[n]));
        if (apart == 0 && !is_float(a) && value_i64(a, i) != value_i64(b, i))
            apart = 1; /* integers that are one double */
        d.count += apart > 0;
        if (apart > d.apart) {
            d.apart = apart;
            d.worst = i;
        }
    }
    return d;
}

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

/* A line about one result; answers whether the two agree. */
static bool compare_result(const struct value *a, const struct value *b, double given, struct strbuf *out) {
    if (a->kind != EVAL_TENSOR || a->count != b->count) {
        bool same = a->kind == b->kind && a->count == b->count;
        strbuf_puts(out, same ? "equal\n" : "of another shape\n");
        return same;
    }
    struct difference d = find_difference(a, b);
    if (d.count == 0) {
        strbuf_puts(out, "equal\n");
        return true;
    }
    double largest = largest_magnitude(b), share = d.apart / (largest > 0 ? largest : 1), most = tolerance_of(a, given);
    strbuf_printf(out, "%zu of %zu elements differ, by %.2g of the largest at most (%.2g is allowed): ", d.count, a->count,
                  share, most);
    put_parts(a, d.worst, out);
    strbuf_puts(out, " for ");
    put_parts(b, d.worst, out);
    strbuf_puts(out, " at ");
    put_index(a, d.worst, out);
    strbuf_putc(out, '\n');
    return share <= most;
}

int cli_compare_print(const hilo_executable *exe, hilo_buffer *const *results, hilo_buffer *const *expected,
                      double tolerance) {
    struct strbuf b;
    bool agree = true;
    strbuf_init(&b, mem_system_allocator());
    for (size_t i = 0; i < hilo_executable_output_count(exe); i++) {
        const char *name = hilo_executable_output_name(exe, i);
        if (*name)
            strbuf_printf(&b, "%s: ", name);
        else
            strbuf_printf(&b, "%zu: ", i);
        agree &= compare_result(results[i]->value, expected[i]->value, tolerance, &b);
    }
    if (b.n)
        fwrite(b.p, 1, b.n, stdout);
    strbuf_free(&b);
    return agree ? CLI_OK : cli_error(CLI_FAILED, "results differ");
}
