/* HLO text: shapes, constants, attributes. */
#include "read/hlo/write.h"

#include "base/decimal.h"

#include <math.h>
#include <stdio.h>

/* ---- shapes ---------------------------------------------------------------------------------- */

static void put_dims(const struct ir_type_data *t, struct strbuf *out) {
    strbuf_putc(out, '[');
    for (uint32_t i = 0; i < t->rank; i++) {
        if (i)
            strbuf_putc(out, ',');
        if (t->dims[i] != IR_DYNAMIC)
            strbuf_i64(out, t->dims[i]);
        else if (t->bounds && t->bounds[i] != IR_DYNAMIC)
            strbuf_printf(out, "<=%lld", (long long)t->bounds[i]);
        else
            strbuf_putc(out, '?');
    }
    strbuf_putc(out, ']');
    for (uint32_t i = t->rank; i > 0; i--) /* a scalar has no layout */
        strbuf_printf(out, i == t->rank ? "{%u" : ",%u", i - 1);
    if (t->rank)
        strbuf_putc(out, '}');
}

struct str hlo_text(struct hlo_writer *w, const char *fmt, ...) {
    char text[200];
    va_list ap;
    va_start(ap, fmt);
    int n = vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    size_t used = n < 0 ? 0 : (size_t)n < sizeof text ? (size_t)n : sizeof text - 1;
    return (struct str){arena_dup(&w->arena, text, used, 1), used};
}

static hilo_status put_shapes(struct hlo_writer *w, const ir_type *t, uint32_t n, struct strbuf *out) {
    strbuf_putc(out, '(');
    for (uint32_t i = 0; i < n; i++) {
        if (i)
            strbuf_puts(out, ", ");
        HILO_TRY(hlo_put_shape(w, t[i], out));
    }
    strbuf_putc(out, ')');
    return HILO_OK;
}

hilo_status hlo_put_shape(struct hlo_writer *w, ir_type type, struct strbuf *out) {
    const struct ir_type_data *t = ir_type_get(w->m, type);
    if (t->kind == IR_TYPE_TOKEN) {
        strbuf_puts(out, "token[]");
        return HILO_OK;
    }
    if (t->kind == IR_TYPE_TUPLE)
        return put_shapes(w, t->types, t->ntypes, out);
    if (t->kind != IR_TYPE_TENSOR || t->quant || ir_dtype_get(t->dtype)->cls == IR_INDEX_CLASS)
        return hlo_refuse(w, "has an operand or result of a type that HLO does not have");
    hlo_dtype_name(t->dtype, out);
    put_dims(t, out);
    return HILO_OK;
}

hilo_status hlo_shape_of(struct hlo_writer *w, const ir_val *v, uint32_t n, bool tuple, struct str *out) {
    ir_type *types = ARENA_ARRAY(&w->arena, ir_type, n);
    for (uint32_t i = 0; i < n; i++)
        types[i] = ir_val_get(w->m, v[i])->type;
    struct strbuf *text = &w->scope->text; /* written at its end, then removed */
    size_t before = text->n;
    hilo_status status = tuple ? put_shapes(w, types, n, text) : hlo_put_shape(w, types[0], text);
    if (!text->failed)
        *out = (struct str){arena_dup(&w->arena, text->p + before, text->n - before, 1), text->n - before};
    else
        *out = STR("");
    text->n = before;
    return status;
}

/* ---- constants ------------------------------------------------------------------------------- */

/* Digits that read back as the same number. */
static void put_float(enum fp_kind kind, const void *p, struct strbuf *out) {
    const struct fp_info *f = fp_get(kind);
    uint64_t bits = fp_load(kind, p), mantissa = ((uint64_t)1 << f->man_bits) - 1;
    double x = fp_decode(kind, bits);
    char text[DEC_PRINT_SIZE];
    if (isnan(x)) {
        strbuf_puts(out, f->sign && (bits & f->sign) ? "-nan" : "nan");
        if (f->flavour == FPF_IEEE && (bits & ~f->sign) != f->nan)
            strbuf_printf(out, "(0x%llx)", (unsigned long long)(bits & mantissa));
    } else if (isinf(x)) {
        strbuf_puts(out, x < 0 ? "-inf" : "inf");
    } else if (x == rint(x) && fabs(x) < 1e6) {
        strbuf_printf(out, signbit(x) && x == 0 ? "-0.0" : "%lld", (long long)x); /* to XLA, -0 is an integer */
    } else {
        dec_print_fp(text, kind, bits);
        if (text[0] == '0' && text[1] == 'x') /* what would look like an integer */
            snprintf(text, sizeof text, "%.17g", x);
        strbuf_puts(out, text);
    }
}

static void put_element(const struct ir_dtype_info *e, const char *p, struct strbuf *out) {
    int64_t v = 0;
    switch (e->cls) {
    case IR_FLOAT: put_float(e->fp, p, out); return;
    case IR_PRED: strbuf_putc(out, *p ? '1' : '0'); return;
    case IR_COMPLEX_CLASS:
        strbuf_putc(out, '(');
        put_float(e->fp, p, out);
        strbuf_puts(out, ", ");
        put_float(e->fp, p + e->bytes / 2, out);
        strbuf_putc(out, ')');
        return;
    default:
        memcpy(&v, p, e->bytes);
        if (e->cls == IR_SINT) /* the bits above the element's are its sign */
            strbuf_i64(out, (int64_t)((uint64_t)v << (64 - 8 * e->bytes)) >> (64 - 8 * e->bytes));
        else
            strbuf_printf(out, "%llu", (unsigned long long)v);
    }
}

/* Dimension `axis` from the data at `p`; returns the end. */
static const char *put_list(const struct ir_type_data *t, uint32_t axis, const char *p, struct strbuf *out) {
    const struct ir_dtype_info *e = ir_dtype_get(t->dtype);
    if (axis == t->rank) {
        put_element(e, p, out);
        return p + e->bytes;
    }
    strbuf_putc(out, '{');
    for (int64_t i = 0; i < t->dims[axis]; i++) {
        if (i)
            strbuf_puts(out, axis + 1 < t->rank ? ", " : ",");
        p = put_list(t, axis + 1, p, out);
    }
    strbuf_putc(out, '}');
    return p;
}

hilo_status hlo_put_literal(struct hlo_writer *w, ir_attr value, bool one, struct strbuf *out) {
    const struct ir_attr_data *d = ir_attr_get(w->m, value);
    const struct ir_type_data *t = ir_type_get(w->m, d->type);
    size_t count, size = ir_dtype_get(t->dtype)->bytes;
    if ((d->kind != IR_ATTR_DENSE && d->kind != IR_ATTR_RESOURCE) || !ir_type_count(t, &count) || (count && !d->data) ||
        (d->nbytes != count * size && !(d->splat && one)))
        return hlo_refuse(w, "has no data");
    if (one)
        put_element(ir_dtype_get(t->dtype), d->data, out);
    else
        put_list(t, 0, d->data, out);
    return HILO_OK;
}

/* ---- values of attributes -------------------------------------------------------------------- */

void hlo_put_i64s(const int64_t *v, size_t n, struct strbuf *out) {
    strbuf_putc(out, '{');
    for (size_t i = 0; i < n; i++) {
        if (i)
            strbuf_putc(out, ',');
        strbuf_i64(out, v[i]);
    }
    strbuf_putc(out, '}');
}

void hlo_put_string(struct str s, struct strbuf *out) {
    strbuf_putc(out, '"');
    for (size_t i = 0; i < s.n; i++) {
        unsigned char ch = (unsigned char)s.p[i];
        if (ch == '"' || ch == '\\')
            strbuf_printf(out, "\\%c", ch);
        else if (ch == '\n')
            strbuf_puts(out, "\\n");
        else if (ch < ' ')
            strbuf_printf(out, "\\%03o", ch);
        else
            strbuf_putc(out, (char)ch);
    }
    strbuf_putc(out, '"');
}

/* Cases of precision and of random numbers are in lower case, the latter after `rng_`. */
static void put_case(enum ir_enum e, int64_t v, struct strbuf *out) {
    enum ir_enum of = ir_enum_get(e)->cases_of;
    bool rng = of == IR_ENUM_RNG_DISTRIBUTION || of == IR_ENUM_RNG_ALGORITHM, lower = rng || of == IR_ENUM_PRECISION;
    const char *name = ir_enum_case_name(e, v);
    strbuf_puts(out, rng ? "rng_" : "");
    for (; name && *name; name++)
        strbuf_putc(out, lower && *name >= 'A' && *name <= 'Z' ? (char)(*name + 'a' - 'A') : *name);
}

/* Rows of devices, without the -1 at their ends. */
static hilo_status put_groups(struct hlo_writer *w, ir_attr a, struct strbuf *out) {
    const struct ir_attr_data *d = ir_attr_get(w->m, a);
    size_t n;
    const int64_t *v = ir_attr_as_i64s(w->m, a, &n);
    const struct ir_type_data *t = v ? ir_type_get(w->m, d->type) : NULL;
    if (!t || t->rank != 2)
        return hlo_refuse(w, "has groups of devices in a form that HLO does not have");
    strbuf_putc(out, '{');
    for (int64_t r = 0; r < t->dims[0]; r++) {
        int64_t width = t->dims[1];
        const int64_t *row = d->splat ? v : v + r * width;
        while (width && !d->splat && row[width - 1] < 0)
            width--;
        if (r)
            strbuf_putc(out, ',');
        strbuf_putc(out, '{');
        for (int64_t k = 0; k < width; k++)
            strbuf_printf(out, k ? ",%lld" : "%lld", (long long)(d->splat ? v[0] : row[k]));
        strbuf_putc(out, '}');
    }
    strbuf_putc(out, '}');
    return HILO_OK;
}

static hilo_status put_algorithm(struct hlo_writer *w, ir_attr a, struct strbuf *out) {
    static const enum ir_field_slot types[3] = {IR_DOT_ALGORITHM_lhs_precision_type_F, IR_DOT_ALGORITHM_rhs_precision_type_F,
                                                IR_DOT_ALGORITHM_accumulation_type_F};
    enum ir_dtype t[3];
    for (int k = 0; k < 3; k++)
        t[k] = ir_type_get(w->m, ir_attr_get(w->m, ir_field(w->m, a, types[k]))->type)->dtype;
    const struct hlo_algorithm *row;
    for (size_t i = 0; (row = hlo_algorithm(i)) != NULL; i++)
        if (t[0] == row->lhs && t[1] == row->rhs && t[2] == row->sum &&
            ir_field_i64(w->m, a, IR_DOT_ALGORITHM_num_primitive_operations_F) == row->operations &&
            ir_field_i64(w->m, a, IR_DOT_ALGORITHM_lhs_component_count_F) == row->components &&
            ir_field_i64(w->m, a, IR_DOT_ALGORITHM_rhs_component_count_F) == row->components &&
            (ir_field_i64(w->m, a, IR_DOT_ALGORITHM_allow_imprecise_accumulation_F) != 0) == row->imprecise) {
            strbuf_puts(out, row->name);
            return HILO_OK;
        }
    return hlo_refuse(w, "has an algorithm that HLO does not have");
}

static void put_slice(struct hlo_writer *w, ir_op op, struct strbuf *out) {
    size_t n;
    const int64_t *low = ir_prop_i64s(w->m, op, IR_SLICE_start_indices, &n);
    const int64_t *high = ir_prop_i64s(w->m, op, IR_SLICE_limit_indices, &n);
    const int64_t *stride = ir_prop_i64s(w->m, op, IR_SLICE_strides, &n);
    strbuf_putc(out, '{');
    for (size_t i = 0; i < n; i++) {
        strbuf_printf(out, i ? ", [%lld:%lld" : "[%lld:%lld", (long long)low[i], (long long)high[i]);
        if (stride[i] != 1)
            strbuf_printf(out, ":%lld", (long long)stride[i]);
        strbuf_putc(out, ']');
    }
    strbuf_putc(out, '}');
}

static void put_padding(struct hlo_writer *w, ir_op op, struct strbuf *out) {
    size_t n;
    const int64_t *low = ir_prop_i64s(w->m, op, IR_PAD_edge_padding_low, &n);
    const int64_t *high = ir_prop_i64s(w->m, op, IR_PAD_edge_padding_high, &n);
    const int64_t *inside = ir_prop_i64s(w->m, op, IR_PAD_interior_padding, &n);
    for (size_t i = 0; i < n; i++)
        strbuf_printf(out, i ? "x%lld_%lld_%lld" : "%lld_%lld_%lld", (long long)low[i], (long long)high[i],
                      (long long)inside[i]);
}

/* ---- windows --------------------------------------------------------------------------------- */

/* One part: a number, or a pair, of each dimension; nothing where the op does not say it. */
static void put_window_part(struct hlo_writer *w, ir_attr a, const char *name, bool pairs, struct strbuf *out) {
    const struct ir_attr_data *d = ir_attr_get(w->m, a);
    const uint8_t *flags = NULL;
    size_t n = 0;
    const int64_t *v = ir_attr_as_i64s(w->m, a, &n);
    if (!v && (d->kind == IR_ATTR_DENSE_ARRAY || d->kind == IR_ATTR_DENSE)) { /* of i1 */
        flags = d->data;
        n = d->n;
        if (d->kind == IR_ATTR_DENSE)
            ir_type_count(ir_type_get(w->m, d->type), &n);
    } else if (v && d->kind == IR_ATTR_DENSE) {
        ir_type_count(ir_type_get(w->m, d->type), &n);
    }
    if (n == 0)
        return;
    strbuf_printf(out, out->n && out->p[out->n - 1] == '{' ? "%s=" : " %s=", name);
    for (size_t i = 0; i < n; i++) {
        if (i)
            strbuf_putc(out, pairs && i % 2 ? '_' : 'x');
        strbuf_i64(out, flags ? flags[d->splat ? 0 : i] : v[d->splat ? 0 : i]);
    }
}

static hilo_status put_window(struct hlo_writer *w, ir_op op, struct strbuf *out) {
    enum ir_op_kind kind = ir_kind(w->m, op);
    strbuf_putc(out, '{');
    if (kind == IR_CONVOLUTION) { /* the size is the kernel's */
        size_t n;
        const struct ir_type_data *t = ir_val_type(w->m, ir_operand(w->m, op, 1));
        const int64_t *spatial = ir_field_dims(w->m, ir_prop(w->m, op, IR_CONVOLUTION_dimension_numbers),
                                               IR_CONV_kernel_spatial_dimensions_F, &n);
        for (size_t i = 0; i < n; i++)
            strbuf_printf(out, i ? "x%lld" : "size=%lld", (long long)t->dims[spatial[i]]);
    }
    for (enum hlo_window_part part = HLO_WINDOW_SIZE; part < HLO_WINDOW_PARTS; part++) {
        uint32_t slot = hlo_window_slot(kind, part);
        if (slot)
            put_window_part(w, ir_prop(w->m, op, (enum ir_slot)slot), hlo_window_part(part), part == HLO_WINDOW_PAD, out);
    }
    strbuf_putc(out, '}');
    return HILO_OK;
}

static hilo_status put_labels(struct hlo_writer *w, ir_attr a, struct strbuf *out) {
    enum { DIMS_MOST = 12 };
    static const struct { const char *letters, *before; enum ir_field_slot first, second, spatial; } groups[3] = {
        {"bf", "", IR_CONV_input_batch_dimension_F, IR_CONV_input_feature_dimension_F, IR_CONV_input_spatial_dimensions_F},
        {"io", "_", IR_CONV_kernel_input_feature_dimension_F, IR_CONV_kernel_output_feature_dimension_F,
         IR_CONV_kernel_spatial_dimensions_F},
        {"bf", "->", IR_CONV_output_batch_dimension_F, IR_CONV_output_feature_dimension_F, IR_CONV_output_spatial_dimensions_F},
    };
    for (int g = 0; g < 3; g++) {
        char label[DIMS_MOST];
        size_t n;
        const int64_t *spatial = ir_field_dims(w->m, a, groups[g].spatial, &n);
        int64_t first = ir_field_i64(w->m, a, groups[g].first), second = ir_field_i64(w->m, a, groups[g].second);
        if (n > DIMS_MOST - 2)
            return hlo_refuse(w, "has more than %d spatial dimensions", DIMS_MOST - 2);
        label[first] = groups[g].letters[0];
        label[second] = groups[g].letters[1];
        for (size_t i = 0; i < n; i++)
            label[spatial[i]] = (char)('0' + i);
        strbuf_puts(out, groups[g].before);
        strbuf_putn(out, label, n + 2);
    }
    return HILO_OK;
}

/* ---- rows ------------------------------------------------------------------------------------ */

/* Whether a row is worth printing: the attribute is there, and not what its absence means. */
static bool row_is_said(const struct hlo_writer *w, const struct hlo_attr_row *row, ir_attr a) {
    const struct ir_attr_data *d = ir_attr_get(w->m, a);
    int64_t v = 0;
    bool number = ir_attr_as_i64(w->m, a, &v);
    switch (row->syntax) {
    case HLO_WINDOW:
    case HLO_SLICE:
    case HLO_LABELS:
    case HLO_FIRST: return true;
    case HLO_PADDING: return d->n > 0;
    case HLO_DIMS: return row->dflt != HLO_NONE || d->n > 0;
    case HLO_INT: return row->dflt == HLO_NEED || (number && v != row->dflt);
    case HLO_UNIT: return d->kind == IR_ATTR_UNIT || v;
    case HLO_BOOL: return number && v != row->dflt && (v || row->dflt >= 0);
    case HLO_ENUM: return number && !(row->slot == IR_COMPARE_compare_type && v == IR_COMPARISON_TYPE_NOTYPE);
    case HLO_CHANNEL: return ir_field_i64(w->m, a, IR_CHANNEL_HANDLE_handle_F) > 0;
    case HLO_STRING: return ir_attr_as_str(w->m, a).n > 0;
    default: return !IR_NONE(a);
    }
}

static hilo_status put_row(struct hlo_writer *w, ir_op op, const struct hlo_attr_row *row, ir_attr a, struct strbuf *out) {
    const struct ir_attr_data *d = ir_attr_get(w->m, a);
    int64_t v = 0;
    size_t n = 0;
    const int64_t *list;
    char text[DEC_PRINT_SIZE];
    ir_attr_as_i64(w->m, a, &v);
    switch (row->syntax) {
    case HLO_INT:
    case HLO_I32: strbuf_i64(out, v); break;
    case HLO_FIRST:
        v = ir_prop_i64(w->m, op, (enum ir_slot)row->slot);
        if (v < 0)
            v += ir_val_type(w->m, ir_operand(w->m, op, 0))->rank;
        hlo_put_i64s(&v, 1, out);
        break;
    case HLO_BOOL:
    case HLO_UNIT: strbuf_puts(out, v || d->kind == IR_ATTR_UNIT ? "true" : "false"); break;
    case HLO_DIMS:
        list = ir_attr_as_i64s(w->m, a, &n);
        hlo_put_i64s(list, n, out);
        break;
    case HLO_ENUM: put_case((enum ir_enum)d->sub, v, out); break;
    case HLO_ENUMS:
        strbuf_putc(out, '{');
        for (uint32_t i = 0; i < d->n; i++) {
            strbuf_puts(out, i ? "," : "");
            put_case((enum ir_enum)ir_attr_get(w->m, d->items[i])->sub, ir_attr_get(w->m, d->items[i])->i, out);
        }
        strbuf_putc(out, '}');
        break;
    case HLO_F32:
        snprintf(text, sizeof text, "%.9g", d->f);
        strbuf_puts(out, text);
        break;
    case HLO_CHANNEL: strbuf_i64(out, ir_field_i64(w->m, a, IR_CHANNEL_HANDLE_handle_F)); break;
    case HLO_STRING: hlo_put_string(ir_attr_as_str(w->m, a), out); break;
    case HLO_GROUPS:
    case HLO_PAIRS: return put_groups(w, a, out);
    case HLO_ALGORITHM: return put_algorithm(w, a, out);
    case HLO_LABELS: return put_labels(w, a, out);
    case HLO_WINDOW: return put_window(w, op, out);
    case HLO_SLICE: put_slice(w, op, out); break;
    case HLO_PADDING: put_padding(w, op, out); break;
    }
    return HILO_OK;
}

hilo_status hlo_put_attrs(struct hlo_writer *w, ir_op op) {
    struct strbuf *out = &w->scope->text;
    uint32_t n;
    const struct hlo_attr_row *row = hlo_attr_rows(ir_kind(w->m, op), &n);
    for (; n > 0; n--, row++) {
        ir_attr a = ir_prop(w->m, op, (enum ir_slot)row->slot);
        if (row->field)
            a = ir_field(w->m, a, (enum ir_field_slot)row->field);
        if (!row_is_said(w, row, a))
            continue;
        strbuf_printf(out, ", %s=", row->name);
        if (row->field && IR_NONE(a) && row->syntax == HLO_INT)
            strbuf_putc(out, '0'); /* what a struct leaves out */
        else
            HILO_TRY(put_row(w, op, row, a, out));
    }
    return HILO_OK;
}

/* ---- places, shardings ----------------------------------------------------------------------- */

/* The name and the innermost place of a location. */
static void find_place(const struct hlo_writer *w, ir_attr loc, struct str *name, const struct ir_attr_data **file, int depth) {
    const struct ir_attr_data *d = ir_attr_get(w->m, loc);
    if (IR_NONE(loc) || depth > HLO_DEPTH)
        return;
    if (d->kind == IR_ATTR_LOC_NAME && !name->n && depth == 0)
        *name = ir_str_get(w->m, d->str);
    if (d->kind == IR_ATTR_LOC_FILE)
        *file = d;
    else if (d->n && d->kind != IR_ATTR_LOC_UNKNOWN)
        find_place(w, d->items[0], name, file, depth + 1);
}

void hlo_put_discardable(struct hlo_writer *w, ir_attr dict) {
    struct strbuf *out = &w->scope->text;
    if (IR_NONE(dict))
        return;
    struct str shards = ir_attr_as_str(w->m, ir_dict_find(w->m, dict, STR("mhlo.sharding")));
    ir_attr front = ir_dict_find(w->m, dict, STR("mhlo.frontend_attributes"));
    const struct ir_attr_data *f = ir_attr_get(w->m, front);
    if (shards.n) {
        strbuf_puts(out, ", sharding=");
        strbuf_str(out, shards);
    }
    for (uint32_t i = 0; f->kind == IR_ATTR_DICT && i < f->n; i++) {
        strbuf_puts(out, i ? "," : ", frontend_attributes={");
        strbuf_str(out, ir_str_get(w->m, f->names[i]));
        strbuf_putc(out, '=');
        hlo_put_string(ir_attr_as_str(w->m, f->items[i]), out);
    }
    if (f->kind == IR_ATTR_DICT && f->n)
        strbuf_putc(out, '}');
}

void hlo_put_common(struct hlo_writer *w, ir_op op) {
    hlo_put_discardable(w, ir_op_get(w->m, op)->attrs);
    hlo_put_metadata(w, ir_op_get(w->m, op)->loc);
}

void hlo_put_metadata(struct hlo_writer *w, ir_attr loc) {
    struct strbuf *out = &w->scope->text;
    struct str name = {NULL, 0};
    const struct ir_attr_data *file = NULL;
    find_place(w, loc, &name, &file, 0);
    if (!name.n && !file)
        return;
    strbuf_puts(out, ", metadata={");
    if (name.n) {
        strbuf_puts(out, "op_name=");
        hlo_put_string(name, out);
    }
    if (file) {
        strbuf_puts(out, name.n ? " source_file=" : "source_file=");
        hlo_put_string(ir_str_get(w->m, file->str), out);
        strbuf_printf(out, " source_line=%u", (unsigned)((uint64_t)file->i >> 32));
    }
    strbuf_putc(out, '}');
}
