/* Values as text for people: nested lists, and numbers with as few digits as tell them apart in their format. */
#include "base/decimal.h"
#include "runtime/runtime.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

/* ---- numbers --------------------------------------------------------------------------------- */

static bool reads_back(enum fp_kind kind, uint64_t bits, const char *text) {
    const char *end = text + strlen(text), *next;
    float f;
    double d;
    if (kind == FP_F32)
        return dec_parse_float(text, end, &f, &next) && fp_f32_bits(f) == bits;
    return dec_parse_double(text, end, &d, &next) && fp_encode(kind, d) == bits;
}

/* The fewest digits that read back; without an exponent where that is short. */
static void put_float(enum fp_kind kind, const void *p, struct strbuf *out) {
    uint64_t bits = fp_load(kind, p);
    double x = fp_decode(kind, bits);
    char text[64];
    if (!isfinite(x)) {
        strbuf_puts(out, isnan(x) ? "nan" : x < 0 ? "-inf" : "inf");
        return;
    }
    int digits = 1;
    snprintf(text, sizeof text, "%.0e", x);
    for (; digits < 17 && !reads_back(kind, bits, text); digits++)
        snprintf(text, sizeof text, "%.*e", digits, x);
    int exponent = x != 0 ? (int)floor(log10(fabs(x))) : 0;
    if (exponent >= -5 && exponent < 16)
        snprintf(text, sizeof text, "%.*f", digits > exponent + 1 ? digits - exponent - 1 : 1, x);
    strbuf_puts(out, text);
}

static void put_element(const struct value *v, size_t i, struct strbuf *out) {
    const struct ir_dtype_info *info = ir_dtype_get(v->dtype);
    const char *p = (const char *)v->data + i * info->bytes;
    switch (info->cls) {
    case IR_FLOAT:
        put_float(info->fp, p, out);
        break;
    case IR_COMPLEX_CLASS:
        strbuf_putc(out, '(');
        put_float(info->fp, p, out);
        strbuf_puts(out, ", ");
        put_float(info->fp, p + info->bytes / 2, out);
        strbuf_putc(out, ')');
        break;
    case IR_PRED:
        strbuf_puts(out, *p ? "true" : "false");
        break;
    case IR_UINT:
        strbuf_printf(out, "%" PRIu64, (uint64_t)value_i64(v, i));
        break;
    default:
        strbuf_i64(out, value_i64(v, i));
    }
}

/* ---- lists ----------------------------------------------------------------------------------- */

enum { EDGE = 3 }; /* elements shown at both ends of a dimension that is cut */

struct lister {
    const struct value *v;
    struct strbuf *out;
    bool cut;
    int indent;
};

/* The sub-tensor from element `first` on, of `count` elements, along dimension `axis`. */
static void put_list(const struct lister *l, uint32_t axis, size_t first, size_t count) {
    if (axis == l->v->rank) {
        put_element(l->v, first, l->out);
        return;
    }
    size_t n = (size_t)l->v->dims[axis], each = n ? count / n : 0;
    bool cut = l->cut && n > 2 * EDGE, nested = axis + 1 < l->v->rank;
    strbuf_putc(l->out, '[');
    for (size_t i = 0; i < n; i++) {
        if (i && nested)
            strbuf_printf(l->out, ",\n%*s", l->indent + (int)axis + 1, "");
        else if (i)
            strbuf_puts(l->out, ", ");
        if (cut && i == EDGE) {
            strbuf_puts(l->out, "...");
            i = n - EDGE - 1;
        } else {
            put_list(l, axis + 1, first + i * each, each);
        }
    }
    strbuf_putc(l->out, ']');
}

void rt_value_text(const struct value *v, size_t most, int indent, struct strbuf *out) {
    if (v->kind != EVAL_TENSOR) {
        value_type_text(v, out);
        return;
    }
    struct lister l = {v, out, most && v->count > most, indent};
    if (v->count || v->rank == 0)
        put_list(&l, 0, 0, v->count);
    else
        strbuf_puts(out, "[]");
}
