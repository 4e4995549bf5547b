/* Types and attributes as MLIR text. What is printed parses back to the same type or attribute. */
#include "ir/print.h"
#include "ir/store.h"

#include "base/decimal.h"

/* From this many elements on numbers are printed as one hexadecimal string, as MLIR does. */
enum { PRINT_HEX_ELEMENTS = 101 };

/* ---- small pieces ---------------------------------------------------------------------------- */

void print_string(struct printer *p, struct str s) {
    strbuf_putc(p->out, '"');
    for (size_t i = 0; i < s.n; i++) {
        unsigned char c = (unsigned char)s.p[i];
        if (c == '"' || c == '\\')
            strbuf_printf(p->out, "\\%c", c);
        else if (c < 0x20 || c >= 0x7f)
            strbuf_printf(p->out, "\\%02X", c);
        else
            strbuf_putc(p->out, (char)c);
    }
    strbuf_putc(p->out, '"');
}

/* [a-zA-Z_][a-zA-Z0-9_$.]* needs no quotes. */
static bool print_is_bare(struct str s) {
    for (size_t i = 0; i < s.n; i++) {
        char c = s.p[i];
        bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
        bool later = (c >= '0' && c <= '9') || c == '$' || c == '.';
        if (!letter && !(later && i > 0))
            return false;
    }
    return s.n > 0;
}

void print_symbol(struct printer *p, struct str s) {
    strbuf_putc(p->out, '@');
    if (print_is_bare(s))
        strbuf_str(p->out, s);
    else
        print_string(p, s);
}

static void print_dim(struct printer *p, int64_t d) {
    if (d == IR_DYNAMIC)
        strbuf_putc(p->out, '?');
    else
        strbuf_i64(p->out, d);
}

void print_dims(struct printer *p, const int64_t *dims, size_t n) {
    strbuf_putc(p->out, '[');
    for (size_t i = 0; i < n; i++) {
        strbuf_puts(p->out, i ? ", " : "");
        print_dim(p, dims[i]);
    }
    strbuf_putc(p->out, ']');
}

static void print_double(struct printer *p, double v) {
    char text[DEC_PRINT_SIZE];
    strbuf_putn(p->out, text, dec_print_double(text, v));
}

static uint64_t load_bits(const void *data, size_t nbytes) {
    uint64_t bits = 0;
    memcpy(&bits, data, nbytes);
    return bits;
}

/* ---- types ----------------------------------------------------------------------------------- */

/* with commas */
static void print_types(struct printer *p, const ir_type *t, uint32_t n) {
    for (uint32_t i = 0; i < n; i++) {
        strbuf_puts(p->out, i ? ", " : "");
        print_type(p, t[i]);
    }
}

static void print_scale(struct printer *p, const struct ir_quant *q, uint32_t i) {
    print_double(p, q->scales[i]);
    if (q->zero_points[i]) {
        strbuf_putc(p->out, ':');
        strbuf_i64(p->out, q->zero_points[i]);
    }
}

/* The scales of a sub-channel type: nested lists of the shape of the scale tensor. */
static void print_scales(struct printer *p, const struct ir_quant *q, uint32_t dim, uint32_t *at) {
    if (dim == q->scale_rank) {
        print_scale(p, q, (*at)++);
        return;
    }
    strbuf_putc(p->out, '{');
    for (int64_t i = 0; i < q->scale_dims[dim]; i++) {
        strbuf_puts(p->out, i ? ", " : "");
        print_scales(p, q, dim + 1, at);
    }
    strbuf_putc(p->out, '}');
}

static void print_quant(struct printer *p, const struct ir_quant *q) {
    const struct ir_dtype_info *storage = ir_dtype_get(q->storage);
    bool is_unsigned = storage->cls == IR_UINT; /* ui8 is spelled u8 */
    strbuf_printf(p->out, "!quant.uniform<%s%s", is_unsigned ? "u" : q->signed_storage ? "s" : "",
                  storage->name + (is_unsigned ? 2 : 0));
    if (q->has_range)
        strbuf_printf(p->out, "<%lld:%lld>", (long long)q->storage_min, (long long)q->storage_max);
    strbuf_printf(p->out, ":%s", ir_dtype_get(q->expressed)->name);
    if (q->kind == IR_QUANT_AXIS)
        strbuf_printf(p->out, ":%lld", (long long)q->axes[0]);
    if (q->kind == IR_QUANT_BLOCK) {
        strbuf_puts(p->out, ":{");
        for (uint32_t i = 0; i < q->naxes; i++)
            strbuf_printf(p->out, "%s%lld:%lld", i ? ", " : "", (long long)q->axes[i], (long long)q->block_sizes[i]);
        strbuf_putc(p->out, '}');
    }
    strbuf_puts(p->out, ", ");
    if (q->kind == IR_QUANT_TENSOR) {
        print_scale(p, q, 0);
    } else if (q->kind == IR_QUANT_BLOCK) {
        uint32_t at = 0;
        print_scales(p, q, 0, &at);
    } else {
        for (uint32_t i = 0; i < q->nscales; i++) {
            strbuf_puts(p->out, i ? "," : "{");
            print_scale(p, q, i);
        }
        strbuf_putc(p->out, '}');
    }
    strbuf_putc(p->out, '>');
}

static void print_shaped(struct printer *p, const struct ir_type_data *t, const char *word) {
    strbuf_puts(p->out, word);
    strbuf_putc(p->out, '<');
    if (t->kind == IR_TYPE_UNRANKED)
        strbuf_puts(p->out, "*x");
    for (uint32_t i = 0; i < t->rank; i++) {
        print_dim(p, t->dims[i]);
        strbuf_putc(p->out, 'x');
    }
    print_type(p, t->elem);
    if (!IR_NONE(t->encoding)) {
        strbuf_puts(p->out, ", ");
        print_attr(p, t->encoding);
    }
    strbuf_putc(p->out, '>');
}

static void print_function_type(struct printer *p, const struct ir_type_data *t) {
    uint32_t nouts = t->ntypes - t->ninputs;
    strbuf_putc(p->out, '(');
    print_types(p, t->types, t->ninputs);
    strbuf_puts(p->out, ") -> ");
    bool bare = nouts == 1 && ir_type_get(p->m, t->types[t->ninputs])->kind != IR_TYPE_FUNCTION;
    strbuf_puts(p->out, bare ? "" : "(");
    if (nouts)
        print_types(p, t->types + t->ninputs, nouts);
    strbuf_puts(p->out, bare ? "" : ")");
}

void print_type(struct printer *p, ir_type type) {
    const struct ir_type_data *t = ir_type_get(p->m, type);
    switch (t->kind) {
    case IR_TYPE_NONE: strbuf_puts(p->out, "none"); break;
    case IR_TYPE_SCALAR: strbuf_puts(p->out, ir_dtype_get(t->dtype)->name); break;
    case IR_TYPE_QUANT: print_quant(p, t->quant); break;
    case IR_TYPE_TENSOR:
    case IR_TYPE_UNRANKED: print_shaped(p, t, "tensor"); break;
    case IR_TYPE_MEMREF: print_shaped(p, t, "memref"); break;
    case IR_TYPE_VECTOR: print_shaped(p, t, "vector"); break;
    case IR_TYPE_TOKEN: strbuf_puts(p->out, "!stablehlo.token"); break;
    case IR_TYPE_TUPLE:
    case IR_TYPE_FUTURE:
        strbuf_puts(p->out, t->kind == IR_TYPE_TUPLE ? "tuple<" : "!stablehlo.future<");
        print_types(p, t->types, t->ntypes);
        strbuf_putc(p->out, '>');
        break;
    case IR_TYPE_FUNCTION: print_function_type(p, t); break;
    case IR_TYPE_OPAQUE: strbuf_str(p->out, ir_str_get(p->m, t->text)); break;
    }
}

/* ---- constants ------------------------------------------------------------------------------- */

static void print_integer(struct printer *p, const struct ir_dtype_info *dt, int64_t v) {
    if (dt->cls == IR_UINT && dt->bits == 64)
        strbuf_printf(p->out, "%llu", (unsigned long long)v);
    else
        strbuf_i64(p->out, v);
}

static void print_float_bits(struct printer *p, enum fp_kind fp, const void *bits, size_t nbytes) {
    char text[DEC_PRINT_SIZE];
    strbuf_putn(p->out, text, dec_print_fp(text, fp, load_bits(bits, nbytes)));
}

static void print_element(struct printer *p, const struct ir_dtype_info *dt, const char *e) {
    uint64_t bits = load_bits(e, dt->bytes < 8 ? dt->bytes : 8);
    switch (dt->cls) {
    case IR_PRED: strbuf_puts(p->out, bits ? "true" : "false"); break;
    case IR_SINT:
    case IR_INDEX_CLASS: strbuf_i64(p->out, (int64_t)(bits << (64 - dt->bytes * 8)) >> (64 - dt->bytes * 8)); break;
    case IR_UINT: print_integer(p, dt, (int64_t)bits); break;
    case IR_FLOAT: print_float_bits(p, dt->fp, e, dt->bytes); break;
    case IR_COMPLEX_CLASS:
        strbuf_putc(p->out, '(');
        print_float_bits(p, dt->fp, e, dt->bytes / 2);
        strbuf_putc(p->out, ',');
        print_float_bits(p, dt->fp, e + dt->bytes / 2, dt->bytes / 2);
        strbuf_putc(p->out, ')');
        break;
    }
}

/* Nested lists of the tensor's shape; `e` moves on element by element. */
static void print_elements(struct printer *p, const struct ir_type_data *t, uint32_t dim, const char **e) {
    const struct ir_dtype_info *dt = ir_dtype_get(t->dtype);
    if (dim == t->rank) {
        print_element(p, dt, *e);
        *e += dt->bytes;
        return;
    }
    strbuf_putc(p->out, '[');
    for (int64_t i = 0; i < t->dims[dim]; i++) {
        strbuf_puts(p->out, i ? ", " : "");
        print_elements(p, t, dim + 1, e);
    }
    strbuf_putc(p->out, ']');
}

static void print_hex(struct printer *p, const void *data, size_t nbytes) {
    static const char digit[] = "0123456789ABCDEF";
    const unsigned char *e = data;
    char block[512];
    strbuf_puts(p->out, "\"0x");
    for (size_t i = 0; i < nbytes;) {
        size_t n = 0;
        for (; n < sizeof block && i < nbytes; i++) {
            block[n++] = digit[e[i] >> 4];
            block[n++] = digit[e[i] & 15];
        }
        strbuf_putn(p->out, block, n);
    }
    strbuf_putc(p->out, '"');
}

static void print_dense(struct printer *p, const struct ir_attr_data *a) {
    const struct ir_type_data *t = ir_type_get(p->m, a->type);
    const struct ir_dtype_info *dt = ir_dtype_get(t->dtype);
    size_t count = 0;
    ir_type_count(t, &count);
    if (!a->splat && p->o.elide_elements && count > p->o.elide_elements) {
        strbuf_puts(p->out, "dense_resource<__elided__> : ");
        print_type(p, a->type);
        return;
    }
    const char *e = a->data;
    strbuf_puts(p->out, "dense<");
    if (count && a->splat)
        print_element(p, dt, e);
    else if (count >= PRINT_HEX_ELEMENTS && dt->bits >= 8) /* bits of packed types are laid out in several ways */
        print_hex(p, a->data, a->nbytes);
    else if (count)
        print_elements(p, t, 0, &e);
    strbuf_puts(p->out, "> : ");
    print_type(p, a->type);
}

static void print_dense_array(struct printer *p, const struct ir_attr_data *a) {
    const struct ir_dtype_info *dt = ir_dtype_get(ir_type_get(p->m, a->type)->dtype);
    strbuf_printf(p->out, "array<%s", dt->name);
    for (uint32_t i = 0; i < a->n; i++) {
        strbuf_puts(p->out, i ? ", " : ": ");
        print_element(p, dt, (const char *)a->data + (size_t)i * dt->bytes);
    }
    strbuf_putc(p->out, '>');
}

/* ---- structured attributes ------------------------------------------------------------------- */

static const struct conv_group { enum ir_field_slot first, second, spatial; char name[2]; } conv_groups[3] = {
    {IR_CONV_input_batch_dimension_F, IR_CONV_input_feature_dimension_F, IR_CONV_input_spatial_dimensions_F, "bf"},
    {IR_CONV_kernel_input_feature_dimension_F, IR_CONV_kernel_output_feature_dimension_F,
     IR_CONV_kernel_spatial_dimensions_F, "io"},
    {IR_CONV_output_batch_dimension_F, IR_CONV_output_feature_dimension_F, IR_CONV_output_spatial_dimensions_F, "bf"},
};

/* The entry at place `at` of a group: its letter, the number of a spatial dimension, or -1 when nothing does. */
static int64_t conv_dim_at(const struct ir_module *m, ir_attr a, const struct conv_group *g, int64_t at) {
    size_t n;
    const int64_t *spatial = ir_field_dims(m, a, g->spatial, &n);
    if (at == ir_field_i64(m, a, g->first))
        return g->name[0];
    if (at == ir_field_i64(m, a, g->second))
        return g->name[1];
    for (size_t s = 0; s < n; s++)
        if (spatial[s] == at)
            return (int64_t)s;
    return -1;
}

bool print_conv_fits(const struct ir_module *m, ir_attr a) {
    const struct ir_attr_data *d = ir_attr_get(m, a);
    if (d->kind != IR_ATTR_STRUCT || d->sub != IR_STRUCT_CONV)
        return false;
    for (int g = 0; g < 3; g++) {
        size_t n;
        ir_field_dims(m, a, conv_groups[g].spatial, &n);
        if (n > IR_MAX_RANK)
            return false;
        for (int64_t at = 0; at < (int64_t)n + 2; at++) /* as many as there are places: every place taken, each once */
            if (conv_dim_at(m, a, &conv_groups[g], at) < 0)
                return false;
    }
    return true;
}

void print_conv_dims(struct printer *p, ir_attr a) {
    for (int g = 0; g < 3; g++) {
        size_t n;
        ir_field_dims(p->m, a, conv_groups[g].spatial, &n);
        strbuf_puts(p->out, g == 0 ? "[" : g == 1 ? "x[" : "->[");
        for (int64_t at = 0; at < (int64_t)n + 2; at++) {
            int64_t dim = conv_dim_at(p->m, a, &conv_groups[g], at);
            strbuf_puts(p->out, at ? ", " : "");
            if (dim > IR_MAX_RANK)
                strbuf_putc(p->out, (char)dim);
            else
                strbuf_i64(p->out, dim);
        }
        strbuf_putc(p->out, ']');
    }
}

static void print_field(struct printer *p, const struct ir_field_info *info, ir_attr a) {
    const struct ir_attr_data *d = ir_attr_get(p->m, a);
    size_t n;
    const int64_t *dims;
    switch (info->kind) {
    case IR_FK_DIMS:
        dims = ir_attr_as_i64s(p->m, a, &n);
        print_dims(p, dims, n);
        break;
    case IR_FK_I64: strbuf_i64(p->out, d->i); break;
    case IR_FK_BOOL: strbuf_puts(p->out, d->i ? "true" : "false"); break;
    case IR_FK_F64: print_double(p, d->f); break;
    case IR_FK_TYPE: print_type(p, d->type); break;
    case IR_FK_STR: print_string(p, ir_str_get(p->m, d->str)); break;
    case IR_FK_ATTR: print_attr(p, a); break;
    case IR_FK_SUBAXIS:
        strbuf_printf(p->out, "(%lld)%lld", (long long)ir_attr_get(p->m, d->items[0])->i,
                      (long long)ir_attr_get(p->m, d->items[1])->i);
        break;
    }
}

/* Empty lists and zeros that may be missing are left out. */
static bool print_field_is_empty(struct printer *p, const struct ir_field_info *info, ir_attr a) {
    const struct ir_attr_data *d = ir_attr_get(p->m, a);
    if (d->kind == IR_ATTR_NONE)
        return true;
    if (!info->optional)
        return false;
    return (info->kind == IR_FK_DIMS && d->n == 0) || (info->kind == IR_FK_I64 && d->i == 0) ||
           (info->kind == IR_FK_F64 && d->f == 0);
}

static void print_struct(struct printer *p, ir_attr attr) {
    const struct ir_attr_data *a = ir_attr_get(p->m, attr);
    const struct ir_struct_info *info = ir_struct_get((enum ir_struct)a->sub);
    if (a->sub == IR_STRUCT_TYPE_EXTENSIONS) {
        size_t n;
        const int64_t *bounds = ir_field_dims(p->m, attr, IR_TYPE_EXTENSIONS_bounds_F, &n);
        strbuf_puts(p->out, "#stablehlo.bounds<");
        for (size_t i = 0; i < n; i++) {
            strbuf_puts(p->out, i ? ", " : "");
            print_dim(p, bounds[i]);
        }
        strbuf_putc(p->out, '>');
        return;
    }
    strbuf_printf(p->out, "#%s.%s<", info->dialect, info->mnemonic);
    if (info->form == IR_FORM_CONV && print_conv_fits(p->m, attr)) {
        print_conv_dims(p, attr);
    } else {
        const char *comma = info->form == IR_FORM_CONV ? "raw " : "";
        for (uint32_t i = 0; i < info->nfields; i++) {
            const struct ir_field_info *field = ir_field_get(info->first_field + i);
            if (print_field_is_empty(p, field, a->items[i]))
                continue;
            strbuf_printf(p->out, "%s%s = ", comma, field->name);
            print_field(p, field, a->items[i]);
            comma = ", ";
        }
    }
    strbuf_putc(p->out, '>');
}

/* ---- attributes ------------------------------------------------------------------------------ */

void print_dict_entry(struct printer *p, struct str name, ir_attr a) {
    if (print_is_bare(name))
        strbuf_str(p->out, name);
    else
        print_string(p, name);
    if (ir_attr_get(p->m, a)->kind != IR_ATTR_UNIT) {
        strbuf_puts(p->out, " = ");
        print_attr(p, a);
    }
}

static void print_items(struct printer *p, const ir_attr *items, uint32_t n) {
    for (uint32_t i = 0; i < n; i++) {
        strbuf_puts(p->out, i ? ", " : "");
        print_attr(p, items[i]);
    }
}

static void print_number(struct printer *p, const struct ir_attr_data *a) {
    const struct ir_type_data *t = ir_type_get(p->m, a->type);
    const struct ir_dtype_info *dt = ir_dtype_get(t->dtype);
    char text[DEC_PRINT_SIZE];
    if (a->kind == IR_ATTR_INT)
        print_integer(p, dt, a->i);
    else
        strbuf_putn(p->out, text, dec_print_fp(text, dt->fp, fp_encode(dt->fp, a->f)));
    strbuf_puts(p->out, " : ");
    print_type(p, a->type);
}

/* The attribute of MLIR's complex dialect: `#complex.number<:f32 1.0, 2.0> : complex<f32>`. */
static void print_complex(struct printer *p, const struct ir_attr_data *a) {
    const struct ir_attr_data *re = ir_attr_get(p->m, a->items[0]), *im = ir_attr_get(p->m, a->items[1]);
    const struct ir_dtype_info *part = ir_dtype_get(ir_type_get(p->m, re->type)->dtype);
    char text[DEC_PRINT_SIZE];
    strbuf_printf(p->out, "#complex.number<:%s ", part->name);
    strbuf_putn(p->out, text, dec_print_fp(text, part->fp, fp_encode(part->fp, re->f)));
    strbuf_puts(p->out, ", ");
    strbuf_putn(p->out, text, dec_print_fp(text, part->fp, fp_encode(part->fp, im->f)));
    strbuf_puts(p->out, "> : ");
    print_type(p, a->type);
}

static void print_symbol_ref(struct printer *p, const struct ir_attr_data *a) {
    print_symbol(p, ir_str_get(p->m, a->str));
    for (uint32_t i = 0; i < a->n; i++) {
        strbuf_puts(p->out, "::");
        print_symbol(p, ir_attr_as_str(p->m, a->items[i]));
    }
}

/* A location without its loc( … ), as nested inside another. */
static void print_location(struct printer *p, ir_attr attr) {
    const struct ir_attr_data *a = ir_attr_get(p->m, attr);
    switch (a->kind) {
    case IR_ATTR_LOC_FILE:
        print_string(p, ir_str_get(p->m, a->str));
        strbuf_printf(p->out, ":%u:%u", (unsigned)((uint64_t)a->i >> 32), (unsigned)(uint32_t)a->i);
        break;
    case IR_ATTR_LOC_NAME:
        print_string(p, ir_str_get(p->m, a->str));
        if (a->n && ir_attr_get(p->m, a->items[0])->kind != IR_ATTR_LOC_UNKNOWN) {
            strbuf_putc(p->out, '(');
            print_location(p, a->items[0]);
            strbuf_putc(p->out, ')');
        }
        break;
    case IR_ATTR_LOC_CALL:
        strbuf_puts(p->out, "callsite(");
        print_location(p, a->items[0]);
        strbuf_puts(p->out, " at ");
        print_location(p, a->items[1]);
        strbuf_putc(p->out, ')');
        break;
    case IR_ATTR_LOC_FUSED:
        strbuf_puts(p->out, "fused");
        if (a->i) {
            strbuf_putc(p->out, '<');
            print_attr(p, a->items[a->n - 1]);
            strbuf_putc(p->out, '>');
        }
        strbuf_putc(p->out, '[');
        for (uint32_t i = 0; i + (a->i != 0) < a->n; i++) {
            strbuf_puts(p->out, i ? ", " : "");
            print_location(p, a->items[i]);
        }
        strbuf_putc(p->out, ']');
        break;
    case IR_ATTR_OPAQUE: print_attr(p, attr); break; /* of another dialect */
    default: strbuf_puts(p->out, "unknown"); break;
    }
}

static void print_enum(struct printer *p, const struct ir_attr_data *a) {
    const struct ir_enum_info *e = ir_enum_get((enum ir_enum)a->sub);
    const char *name = ir_enum_case_name((enum ir_enum)a->sub, a->i);
    strbuf_printf(p->out, e->angle ? "#%s.%s<%s>" : "#%s<%s %s>", e->dialect, e->mnemonic, name ? name : "");
}

void print_attr(struct printer *p, ir_attr attr) {
    const struct ir_attr_data *a = ir_attr_get(p->m, attr);
    switch (a->kind) {
    case IR_ATTR_NONE: break;
    case IR_ATTR_UNIT: strbuf_puts(p->out, "unit"); break;
    case IR_ATTR_BOOL: strbuf_puts(p->out, a->i ? "true" : "false"); break;
    case IR_ATTR_INT:
    case IR_ATTR_FLOAT: print_number(p, a); break;
    case IR_ATTR_COMPLEX: print_complex(p, a); break;
    case IR_ATTR_STRING: print_string(p, ir_str_get(p->m, a->str)); break;
    case IR_ATTR_TYPE: print_type(p, a->type); break;
    case IR_ATTR_ARRAY:
        strbuf_putc(p->out, '[');
        print_items(p, a->items, a->n);
        strbuf_putc(p->out, ']');
        break;
    case IR_ATTR_DICT:
        strbuf_putc(p->out, '{');
        for (uint32_t i = 0; i < a->n; i++) {
            strbuf_puts(p->out, i ? ", " : "");
            print_dict_entry(p, ir_str_get(p->m, a->names[i]), a->items[i]);
        }
        strbuf_putc(p->out, '}');
        break;
    case IR_ATTR_SYMBOL: print_symbol_ref(p, a); break;
    case IR_ATTR_DENSE: print_dense(p, a); break;
    case IR_ATTR_DENSE_ARRAY: print_dense_array(p, a); break;
    case IR_ATTR_RESOURCE:
        if (p->resources)
            p->resources[p->m->t->strs.v[a->str.i].resource] = true;
        strbuf_puts(p->out, "dense_resource<");
        if (print_is_bare(ir_str_get(p->m, a->str)))
            strbuf_str(p->out, ir_str_get(p->m, a->str));
        else
            print_string(p, ir_str_get(p->m, a->str));
        strbuf_puts(p->out, "> : ");
        print_type(p, a->type);
        break;
    case IR_ATTR_ENUM: print_enum(p, a); break;
    case IR_ATTR_STRUCT: print_struct(p, attr); break;
    case IR_ATTR_OPAQUE: strbuf_str(p->out, ir_str_get(p->m, a->str)); break;
    case IR_ATTR_LOC_UNKNOWN:
    case IR_ATTR_LOC_FILE:
    case IR_ATTR_LOC_NAME:
    case IR_ATTR_LOC_CALL:
    case IR_ATTR_LOC_FUSED:
        strbuf_puts(p->out, "loc(");
        print_location(p, attr);
        strbuf_putc(p->out, ')');
        break;
    }
}

bool print_form_fits(const struct ir_module *m, ir_attr attr, const struct ir_slot_info *slot) {
    const struct ir_attr_data *a = ir_attr_get(m, attr);
    const struct ir_type_data *t = ir_type_get(m, a->type);
    size_t n;
    switch (slot->form) {
    case IR_AF_I64: return a->kind == IR_ATTR_INT && t->dtype == IR_I64_T;
    case IR_AF_I32: return a->kind == IR_ATTR_INT && t->dtype == IR_I32_T;
    case IR_AF_UI64: return a->kind == IR_ATTR_INT && t->dtype == IR_UI64_T;
    case IR_AF_UI32: return a->kind == IR_ATTR_INT && t->dtype == IR_UI32_T;
    case IR_AF_I64S: return ir_attr_as_i64s(m, attr, &n) != NULL && (a->kind == IR_ATTR_DENSE_ARRAY || t->rank == 1);
    case IR_AF_BOOL: return a->kind == IR_ATTR_BOOL;
    case IR_AF_STR: return a->kind == IR_ATTR_STRING;
    case IR_AF_F32: return a->kind == IR_ATTR_FLOAT && t->dtype == IR_F32_T;
    case IR_AF_F64: return a->kind == IR_ATTR_FLOAT && t->dtype == IR_F64_T;
    case IR_AF_SYM: return a->kind == IR_ATTR_SYMBOL;
    case IR_AF_ENUM: return a->kind == IR_ATTR_ENUM && a->sub == slot->of && ir_enum_case_name((enum ir_enum)a->sub, a->i);
    case IR_AF_ELEMENTS: return a->kind == IR_ATTR_DENSE || a->kind == IR_ATTR_RESOURCE;
    default: return a->kind != IR_ATTR_NONE;
    }
}

void print_attr_form(struct printer *p, ir_attr attr, enum ir_attr_form form) {
    const struct ir_attr_data *a = ir_attr_get(p->m, attr);
    size_t n;
    const int64_t *dims;
    switch (form) {
    case IR_AF_I64:
    case IR_AF_I32:
    case IR_AF_UI64:
    case IR_AF_UI32: print_integer(p, ir_dtype_get(ir_type_get(p->m, a->type)->dtype), a->i); break;
    case IR_AF_F32:
    case IR_AF_F64: print_double(p, a->f); break;
    case IR_AF_I64S:
        dims = ir_attr_as_i64s(p->m, attr, &n);
        print_dims(p, dims, n);
        break;
    case IR_AF_ENUM: strbuf_puts(p->out, ir_enum_case_name((enum ir_enum)a->sub, a->i)); break;
    default: print_attr(p, attr); break;
    }
}

/* ---- entries --------------------------------------------------------------------------------- */

void ir_print_type(const struct ir_module *m, ir_type t, struct strbuf *out) {
    struct printer p = {.m = m, .out = out};
    print_type(&p, t);
}

void ir_print_attr(const struct ir_module *m, ir_attr a, struct strbuf *out) {
    struct printer p = {.m = m, .out = out};
    print_attr(&p, a);
}
