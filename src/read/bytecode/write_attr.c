/* Attributes, types and locations in bytecode: as VHLO has them, or the builtin dialect. */
#include "read/bytecode/write.h"

#include <stdio.h>
#include <stdlib.h>

static struct bc_item item_of(enum bc_dialect dialect, const struct bc_bytes *head) {
    return (struct bc_item){.head = {(const char *)head->v, head->n}, .dialect = dialect == BC_VHLO, .custom = true};
}

static void put_i64s(struct bc_writer *w, struct bc_bytes *to, const int64_t *v, size_t n) {
    bc_put_vi(w, to, n);
    for (size_t i = 0; i < n; i++)
        bc_put_svi(w, to, v[i]);
}

/* As many low bits as the width, not sign-extended. */
static void put_bits(struct bc_writer *w, struct bc_bytes *to, uint64_t bits, uint32_t width) {
    if (width < 64)
        bits &= (UINT64_C(1) << width) - 1;
    if (width <= 8)
        bc_put_byte(w, to, (uint8_t)bits);
    else
        bc_put_svi(w, to, (int64_t)bits);
}

/* ---- types ----------------------------------------------------------------------------------- */

static hilo_status put_types(struct bc_writer *w, struct bc_bytes *to, const ir_type *v, uint32_t n, enum bc_dialect dialect) {
    bc_put_vi(w, to, n);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t index;
        HILO_TRY(bc_write_type(w, v[i], dialect, &index));
        bc_put_vi(w, to, index);
    }
    return HILO_OK;
}

/* The code of a scalar; integers of the builtin dialect have a width and a sign instead. */
static const struct bc_code *scalar_code(enum ir_dtype t, enum bc_dialect dialect) {
    const struct ir_dtype_info *info = ir_dtype_get(t);
    if (info->cls == IR_COMPLEX_CLASS)
        return bc_type_form(dialect, BC_COMPLEX, 0);
    if (dialect == BC_BUILTIN && (info->cls == IR_PRED || info->cls == IR_SINT || info->cls == IR_UINT))
        return bc_type_form(dialect, BC_INTEGER, 0);
    return bc_type_form(dialect, BC_SCALAR, (int)t);
}

static hilo_status scalar_index(struct bc_writer *w, enum ir_dtype t, enum bc_dialect dialect, uint32_t *out);

static hilo_status put_scalar(struct bc_writer *w, struct bc_bytes *to, enum ir_dtype t, const struct bc_code *code) {
    const struct ir_dtype_info *info = ir_dtype_get(t);
    uint32_t part;
    bc_put_vi(w, to, code->code);
    if (code->form == BC_INTEGER)
        bc_put_vi(w, to, (uint64_t)info->bits << 2 | (info->cls == IR_UINT ? 2 : 0));
    if (code->form == BC_COMPLEX) {
        HILO_TRY(scalar_index(w, info->fp == FP_F32 ? IR_F32_T : IR_F64_T, code->dialect, &part));
        bc_put_vi(w, to, part);
    }
    return HILO_OK;
}

static hilo_status scalar_index(struct bc_writer *w, enum ir_dtype t, enum bc_dialect dialect, uint32_t *out) {
    const struct bc_code *code = scalar_code(t, dialect);
    struct bc_bytes b = {NULL, 0, 0};
    if (!code)
        return bc_refuse(w, "type %s cannot be written", ir_dtype_get(t)->name);
    HILO_TRY(bc_check_since(w, code->since, ir_dtype_get(t)->name));
    HILO_TRY(put_scalar(w, &b, t, code));
    *out = bc_item(w, &w->types, item_of(dialect, &b));
    return HILO_OK;
}

/* The storage of quantised elements has no sign of its own; a flag has it. */
static hilo_status put_quant(struct bc_writer *w, struct bc_bytes *to, const struct ir_quant *q, enum bc_dialect dialect) {
    static const enum ir_dtype plain[] = {[2] = IR_I2_T, [4] = IR_I4_T, [8] = IR_I8_T, [16] = IR_I16_T, [32] = IR_I32_T};
    const struct ir_dtype_info *info = ir_dtype_get(q->storage);
    uint32_t storage, expressed;
    bc_put_vi(w, to, info->cls == IR_SINT);
    HILO_TRY(scalar_index(w, plain[info->bits], dialect, &storage));
    HILO_TRY(scalar_index(w, q->expressed, dialect, &expressed));
    bc_put_vi(w, to, storage);
    bc_put_vi(w, to, expressed);
    if (q->kind == IR_QUANT_TENSOR) {
        put_bits(w, to, fp_f64_bits(q->scales[0]), 64);
        bc_put_svi(w, to, q->zero_points[0]);
    } else {
        bc_put_vi(w, to, (uint64_t)q->axes[0]);
    }
    bc_put_svi(w, to, q->storage_min);
    bc_put_svi(w, to, q->storage_max);
    if (q->kind == IR_QUANT_TENSOR)
        return HILO_OK;
    bc_put_vi(w, to, q->nscales);
    for (uint32_t i = 0; i < q->nscales; i++)
        put_bits(w, to, fp_f64_bits(q->scales[i]), 64);
    put_i64s(w, to, q->zero_points, q->nscales);
    return HILO_OK;
}

static hilo_status put_shaped(struct bc_writer *w, struct bc_bytes *to, const struct ir_type_data *t, enum bc_dialect dialect) {
    uint32_t elem, encoding;
    HILO_TRY(bc_write_type(w, t->elem, dialect, &elem));
    if (!IR_NONE(t->encoding)) {
        HILO_TRY(bc_write_attr(w, t->encoding, dialect, &encoding));
        bc_put_vi(w, to, encoding);
    }
    if (t->kind != IR_TYPE_UNRANKED)
        put_i64s(w, to, t->dims, t->rank);
    bc_put_vi(w, to, elem);
    return HILO_OK;
}

static enum bc_form form_of_type(const struct ir_module *m, const struct ir_type_data *t) {
    bool encoded = !IR_NONE(t->encoding);
    switch (t->kind) {
    case IR_TYPE_NONE: break;
    case IR_TYPE_SCALAR: return BC_SCALAR;
    case IR_TYPE_QUANT:
        return t->quant->kind == IR_QUANT_TENSOR ? BC_QUANT : t->quant->kind == IR_QUANT_AXIS ? BC_QUANT_AXIS : BC_NO_FORM;
    case IR_TYPE_TENSOR: return encoded ? BC_TENSOR_ENCODED : BC_TENSOR;
    case IR_TYPE_UNRANKED: return BC_UNRANKED;
    case IR_TYPE_MEMREF: return encoded ? BC_NO_FORM : BC_BUFFER;
    case IR_TYPE_VECTOR: return BC_VECTOR;
    case IR_TYPE_TUPLE: return BC_TUPLE;
    case IR_TYPE_TOKEN: return BC_TOKEN;
    case IR_TYPE_FUTURE: return BC_FUTURE;
    case IR_TYPE_FUNCTION: return BC_FUNCTION;
    case IR_TYPE_OPAQUE: return str_is(ir_str_get(m, t->text), "none") ? BC_NOTHING : BC_NO_FORM;
    }
    return BC_NO_FORM;
}

static hilo_status put_type(struct bc_writer *w, struct bc_bytes *to, const struct ir_type_data *t,
                            const struct bc_code *code) {
    bc_put_vi(w, to, code->code);
    switch (code->form) {
    case BC_QUANT:
    case BC_QUANT_AXIS: return put_quant(w, to, t->quant, code->dialect);
    case BC_TENSOR:
    case BC_TENSOR_ENCODED:
    case BC_UNRANKED:
    case BC_BUFFER:
    case BC_VECTOR: return put_shaped(w, to, t, code->dialect);
    case BC_TUPLE:
    case BC_FUTURE: return put_types(w, to, t->types, t->ntypes, code->dialect);
    case BC_FUNCTION:
        HILO_TRY(put_types(w, to, t->types, t->ninputs, code->dialect));
        return put_types(w, to, t->types ? t->types + t->ninputs : NULL, t->ntypes - t->ninputs, code->dialect);
    default: return HILO_OK;
    }
}

static hilo_status refuse_type(struct bc_writer *w, ir_type t) {
    struct strbuf text;
    strbuf_init(&text, w->d->al);
    ir_print_type(w->m, t, &text);
    hilo_status status = bc_refuse(w, "type %s has no form in a portable artifact", text.p ? text.p : "");
    strbuf_free(&text);
    return status;
}

hilo_status bc_write_type(struct bc_writer *w, ir_type t, enum bc_dialect dialect, uint32_t *out) {
    const struct ir_type_data *d = ir_type_get(w->m, t);
    int which = dialect == BC_VHLO;
    uint32_t seen = *bc_map(w, &w->type_of[which].v, &w->type_of[which].cap, t.i);
    if (seen) {
        *out = seen - 1;
        return HILO_OK;
    }
    if (d->kind == IR_TYPE_SCALAR) {
        HILO_TRY(scalar_index(w, d->dtype, dialect, out));
    } else {
        enum bc_form form = form_of_type(w->m, d);
        const struct bc_code *code = form == BC_NO_FORM ? NULL : bc_type_form(dialect, form, 0);
        struct bc_bytes b = {NULL, 0, 0};
        if (!code || w->depth == BC_DEPTH)
            return refuse_type(w, t);
        HILO_TRY(bc_check_since(w, code->since, "a type"));
        w->depth++;
        HILO_TRY(put_type(w, &b, d, code));
        w->depth--;
        *out = bc_item(w, &w->types, item_of(dialect, &b));
    }
    *bc_map(w, &w->type_of[which].v, &w->type_of[which].cap, t.i) = *out + 1;
    return HILO_OK;
}

/* tensor<n x t> */
static hilo_status list_type(struct bc_writer *w, enum ir_dtype t, int64_t n, enum bc_dialect dialect, uint32_t *out) {
    struct bc_bytes b = {NULL, 0, 0};
    uint32_t elem;
    HILO_TRY(scalar_index(w, t, dialect, &elem));
    bc_put_vi(w, &b, bc_type_form(dialect, BC_TENSOR, 0)->code);
    put_i64s(w, &b, &n, 1);
    bc_put_vi(w, &b, elem);
    *out = bc_item(w, &w->types, item_of(dialect, &b));
    return HILO_OK;
}

/* ---- constants ------------------------------------------------------------------------------- */

/* Elements as the file has them, where that is not as the module has them. */
static struct str pack_elements(struct bc_writer *w, const struct ir_dtype_info *t, struct str data, size_t n) {
    size_t stored = (t->bits + 7) / 8;
    uint8_t *out = arena_alloc(&w->arena, t->cls == IR_PRED ? (n + 7) / 8 : n * stored, 1);
    for (size_t i = 0; i < n; i++) {
        uint64_t v = 0;
        memcpy(&v, data.p + i * t->bytes, t->bytes);
        if (t->cls == IR_PRED) {
            out[i / 8] = (uint8_t)(out[i / 8] | (v != 0) << (i % 8));
        } else {
            v &= (UINT64_C(1) << t->bits) - 1;
            memcpy(out + i * stored, &v, stored);
        }
    }
    return (struct str){(const char *)out, t->cls == IR_PRED ? (n + 7) / 8 : n * stored};
}

/* `data` has one element when it is a splat, else all `count`. */
static hilo_status dense_index(struct bc_writer *w, uint32_t type, enum ir_dtype dtype, struct str data, size_t count,
                               bool splat, enum bc_dialect dialect, uint32_t *out) {
    static const char yes = '\xFF', no = '\0';
    const struct ir_dtype_info *t = ir_dtype_get(dtype);
    const struct bc_code *code = bc_attr_form(dialect, BC_DENSE, 0);
    struct bc_bytes b = {NULL, 0, 0};
    bool odd = t->cls == IR_PRED || (t->cls != IR_COMPLEX_CLASS && (t->bits < 8 || t->bytes != (t->bits + 7) / 8));
    if (count == 0)
        data = STR("");
    else if (splat && t->cls == IR_PRED)
        data = (struct str){*data.p ? &yes : &no, 1};
    else if (odd)
        data = pack_elements(w, t, data, splat ? 1 : count);
    else if (splat)
        data.n = t->bytes;
    bc_put_vi(w, &b, code->code);
    bc_put_vi(w, &b, type);
    bc_put_vi(w, &b, data.n);
    struct bc_item item = item_of(dialect, &b);
    item.data = data;
    *out = bc_item(w, &w->attrs, item);
    return HILO_OK;
}

static hilo_status write_dense(struct bc_writer *w, ir_attr a, enum bc_dialect dialect, uint32_t *out) {
    const struct ir_attr_data *d = ir_attr_get(w->m, a);
    const struct ir_type_data *t = ir_type_get(w->m, d->type);
    struct str data = {d->data, d->nbytes};
    uint32_t type;
    size_t count = d->n;
    if (d->kind == IR_ATTR_DENSE_ARRAY) {
        bool splat = d->nbytes && memcmp(data.p, data.p + ir_dtype_get(t->dtype)->bytes,
                                         d->nbytes - ir_dtype_get(t->dtype)->bytes) == 0;
        if (t->dtype != IR_I64_T && t->dtype != IR_I1_T)
            return bc_refuse(w, "an array of %s has no form in a portable artifact", ir_dtype_get(t->dtype)->name);
        HILO_TRY(list_type(w, t->dtype, d->n, dialect, &type));
        return dense_index(w, type, t->dtype, data, count, splat, dialect, out);
    }
    HILO_TRY(bc_write_type(w, d->type, dialect, &type));
    if (!ir_type_count(t, &count) || (!d->data && count))
        return bc_refuse(w, "a constant without its data cannot be written");
    bool splat = d->splat || (count && d->nbytes < count * ir_dtype_get(t->dtype)->bytes);
    return dense_index(w, type, t->dtype, data, count, splat, dialect, out);
}

/* ---- attributes ------------------------------------------------------------------------------ */

/* A struct's fields in order; of VHLO alone. */
static hilo_status put_field(struct bc_writer *w, struct bc_bytes *to, uint32_t slot, ir_attr a) {
    const struct ir_attr_data *d = ir_attr_get(w->m, a);
    size_t n;
    uint32_t index;
    const int64_t *dims;
    switch (ir_field_get(slot)->kind) {
    case IR_FK_DIMS:
        dims = ir_attr_as_i64s(w->m, a, &n);
        put_i64s(w, to, dims, n);
        return HILO_OK;
    case IR_FK_I64: bc_put_svi(w, to, d->i); return HILO_OK;
    case IR_FK_BOOL: bc_put_vi(w, to, d->i != 0); return HILO_OK;
    case IR_FK_F64: put_bits(w, to, fp_f64_bits(d->f), 64); return HILO_OK;
    case IR_FK_SUBAXIS:
        bc_put_vi(w, to, !IR_NONE(a));
        if (!IR_NONE(a)) {
            struct bc_bytes b = {NULL, 0, 0};
            bc_put_vi(w, &b, bc_attr_form(BC_VHLO, BC_SUB_AXIS, 0)->code);
            for (uint32_t i = 0; i < d->n; i++)
                bc_put_svi(w, &b, ir_attr_get(w->m, d->items[i])->i);
            bc_put_vi(w, to, bc_item(w, &w->attrs, item_of(BC_VHLO, &b)));
        }
        return HILO_OK;
    case IR_FK_TYPE:
    case IR_FK_STR:
    case IR_FK_ATTR: break;
    }
    if (ir_field_get(slot)->optional && IR_NONE(a)) {
        bc_put_flagged(w, to, 0, false);
        return HILO_OK;
    }
    HILO_TRY(bc_write_attr(w, a, BC_VHLO, &index));
    if (ir_field_get(slot)->optional)
        bc_put_flagged(w, to, index, true);
    else
        bc_put_vi(w, to, index);
    return HILO_OK;
}

struct named { struct str name; ir_attr attr; };

static int named_order(const void *a, const void *b) {
    struct str x = ((const struct named *)a)->name, y = ((const struct named *)b)->name;
    int order = memcmp(x.p, y.p, x.n < y.n ? x.n : y.n);
    return order ? order : (x.n > y.n) - (x.n < y.n);
}

static uint32_t string_attr(struct bc_writer *w, struct str s, enum bc_dialect dialect) {
    struct bc_bytes b = {NULL, 0, 0};
    bc_put_vi(w, &b, bc_attr_form(dialect, BC_STRING, 0)->code);
    bc_put_vi(w, &b, bc_string_index(w, s));
    return bc_item(w, &w->attrs, item_of(dialect, &b));
}

/* Sorted by name, as MLIR has them. `names` is the dialect of the names. */
static hilo_status put_dict(struct bc_writer *w, struct bc_bytes *to, const struct ir_attr_data *d, enum bc_dialect names,
                            enum bc_dialect values) {
    struct named *v = ARENA_ARRAY(&w->arena, struct named, d->n);
    for (uint32_t i = 0; i < d->n; i++)
        v[i] = (struct named){ir_str_get(w->m, d->names[i]), d->items[i]};
    qsort(v, d->n, sizeof *v, named_order);
    bc_put_vi(w, to, d->n);
    for (uint32_t i = 0; i < d->n; i++) {
        uint32_t index;
        HILO_TRY(bc_write_attr(w, v[i].attr, values, &index));
        bc_put_vi(w, to, string_attr(w, v[i].name, names));
        bc_put_vi(w, to, index);
    }
    return HILO_OK;
}

hilo_status bc_write_dict(struct bc_writer *w, ir_attr dict, enum bc_dialect dialect, uint32_t *out) {
    struct bc_bytes b = {NULL, 0, 0};
    bc_put_vi(w, &b, bc_attr_form(BC_BUILTIN, BC_DICT, 0)->code);
    HILO_TRY(put_dict(w, &b, ir_attr_get(w->m, dict), BC_BUILTIN, dialect));
    *out = bc_item(w, &w->attrs, item_of(BC_BUILTIN, &b));
    return HILO_OK;
}

/* What an attribute is in the dialect; symbols are strings in VHLO, and truth values integers of the builtin dialect. */
static const struct bc_code *code_of_attr(const struct ir_attr_data *d, enum bc_dialect dialect) {
    switch (d->kind) {
    case IR_ATTR_UNIT: return bc_attr_form(dialect, BC_UNIT, 0);
    case IR_ATTR_BOOL: return bc_attr_form(dialect, dialect == BC_BUILTIN ? BC_INT : BC_BOOL, 0);
    case IR_ATTR_INT: return bc_attr_form(dialect, BC_INT, 0);
    case IR_ATTR_FLOAT: return bc_attr_form(dialect, BC_FLOAT, 0);
    case IR_ATTR_STRING: return bc_attr_form(dialect, BC_STRING, 0);
    case IR_ATTR_SYMBOL: return d->n ? NULL : bc_attr_form(dialect, dialect == BC_VHLO ? BC_STRING : BC_SYMBOL, 0);
    case IR_ATTR_TYPE: return bc_attr_form(dialect, BC_TYPE_OF, 0);
    case IR_ATTR_ARRAY: return bc_attr_form(dialect, BC_ARRAY, 0);
    case IR_ATTR_DICT: return bc_attr_form(dialect, BC_DICT, 0);
    case IR_ATTR_ENUM: return bc_attr_form(dialect, BC_ENUM, d->sub);
    case IR_ATTR_STRUCT: return bc_attr_form(dialect, BC_STRUCT, d->sub);
    default: return NULL;
    }
}

static hilo_status put_attr(struct bc_writer *w, struct bc_bytes *to, const struct ir_attr_data *d, enum bc_dialect dialect) {
    const struct ir_type_data *t = ir_type_get(w->m, d->type);
    uint32_t index;
    switch (d->kind) {
    case IR_ATTR_BOOL:
        if (dialect == BC_VHLO) {
            bc_put_vi(w, to, d->i != 0);
            return HILO_OK;
        }
        HILO_TRY(scalar_index(w, IR_I1_T, dialect, &index));
        bc_put_vi(w, to, index);
        put_bits(w, to, d->i != 0, 1);
        return HILO_OK;
    case IR_ATTR_INT:
    case IR_ATTR_FLOAT:
        if (t->kind != IR_TYPE_SCALAR)
            return bc_refuse(w, "a number of an unknown type cannot be written");
        HILO_TRY(bc_write_type(w, d->type, dialect, &index));
        bc_put_vi(w, to, index);
        put_bits(w, to, d->kind == IR_ATTR_INT ? (uint64_t)d->i : fp_encode(ir_dtype_get(t->dtype)->fp, d->f),
                 ir_dtype_get(t->dtype)->bits);
        return HILO_OK;
    case IR_ATTR_STRING: bc_put_vi(w, to, bc_string_index(w, ir_str_get(w->m, d->str))); return HILO_OK;
    case IR_ATTR_SYMBOL:
        bc_put_vi(w, to, dialect == BC_VHLO ? bc_string_index(w, ir_str_get(w->m, d->str))
                                            : string_attr(w, ir_str_get(w->m, d->str), dialect));
        return HILO_OK;
    case IR_ATTR_TYPE:
        HILO_TRY(bc_write_type(w, d->type, dialect, &index));
        bc_put_vi(w, to, index);
        return HILO_OK;
    case IR_ATTR_ARRAY:
        bc_put_vi(w, to, d->n);
        for (uint32_t i = 0; i < d->n; i++) {
            HILO_TRY(bc_write_attr(w, d->items[i], dialect, &index));
            bc_put_vi(w, to, index);
        }
        return HILO_OK;
    case IR_ATTR_DICT: return put_dict(w, to, d, dialect, dialect);
    case IR_ATTR_ENUM: bc_put_vi(w, to, (uint64_t)d->i); return HILO_OK;
    case IR_ATTR_STRUCT:
        for (uint32_t i = 0; i < d->n; i++)
            HILO_TRY(put_field(w, to, ir_struct_get((enum ir_struct)d->sub)->first_field + i, d->items[i]));
        return HILO_OK;
    default: return HILO_OK;
    }
}

static hilo_status refuse_attr(struct bc_writer *w, ir_attr a) {
    struct strbuf text;
    strbuf_init(&text, w->d->al);
    ir_print_attr(w->m, a, &text);
    hilo_status status = bc_refuse(w, "attribute %s has no form in a portable artifact", text.p ? text.p : "");
    strbuf_free(&text);
    return status;
}

hilo_status bc_write_attr(struct bc_writer *w, ir_attr a, enum bc_dialect dialect, uint32_t *out) {
    const struct ir_attr_data *d = ir_attr_get(w->m, a);
    int which = dialect == BC_VHLO;
    uint32_t seen = *bc_map(w, &w->attr_of[which].v, &w->attr_of[which].cap, a.i);
    if (seen) {
        *out = seen - 1;
        return HILO_OK;
    }
    if (d->kind == IR_ATTR_DENSE || d->kind == IR_ATTR_DENSE_ARRAY || d->kind == IR_ATTR_RESOURCE) {
        HILO_TRY(write_dense(w, a, dialect, out));
    } else {
        const struct bc_code *code = code_of_attr(d, dialect);
        struct bc_bytes b = {NULL, 0, 0};
        if (!code || w->depth == BC_DEPTH)
            return refuse_attr(w, a);
        HILO_TRY(bc_check_since(w, code->since, "an attribute"));
        w->depth++;
        bc_put_vi(w, &b, code->code);
        HILO_TRY(put_attr(w, &b, d, dialect));
        w->depth--;
        *out = bc_item(w, &w->attrs, item_of(dialect, &b));
    }
    *bc_map(w, &w->attr_of[which].v, &w->attr_of[which].cap, a.i) = *out + 1;
    return HILO_OK;
}

/* ---- locations ------------------------------------------------------------------------------- */

static hilo_status put_location(struct bc_writer *w, struct bc_bytes *to, const struct ir_attr_data *d) {
    uint32_t index;
    switch (d->kind) {
    case IR_ATTR_LOC_FILE:
        bc_put_vi(w, to, bc_attr_form(BC_BUILTIN, BC_LOC_FILE, 0)->code);
        bc_put_vi(w, to, string_attr(w, ir_str_get(w->m, d->str), BC_BUILTIN));
        bc_put_vi(w, to, (uint64_t)d->i >> 32);
        bc_put_vi(w, to, (uint32_t)d->i);
        return HILO_OK;
    case IR_ATTR_LOC_NAME:
        HILO_TRY(bc_write_location(w, d->n ? d->items[0] : (ir_attr){0}, &index));
        bc_put_vi(w, to, bc_attr_form(BC_BUILTIN, BC_LOC_NAME, 0)->code);
        bc_put_vi(w, to, string_attr(w, ir_str_get(w->m, d->str), BC_BUILTIN));
        bc_put_vi(w, to, index);
        return HILO_OK;
    case IR_ATTR_LOC_CALL:
    case IR_ATTR_LOC_FUSED: { /* of the metadata, text and numbers are written: the rest may be of any dialect */
        bool fused = d->kind == IR_ATTR_LOC_FUSED, said = fused && d->i == 1;
        uint32_t n = d->n - said;
        enum ir_attr_kind meta = said ? ir_attr_get(w->m, d->items[n])->kind : IR_ATTR_NONE;
        said = meta == IR_ATTR_STRING || meta == IR_ATTR_INT || meta == IR_ATTR_UNIT;
        enum bc_form form = said ? BC_LOC_FUSED_META : fused ? BC_LOC_FUSED : BC_LOC_CALL;
        bc_put_vi(w, to, bc_attr_form(BC_BUILTIN, form, 0)->code);
        if (fused)
            bc_put_vi(w, to, n);
        for (uint32_t i = 0; i < n; i++) {
            HILO_TRY(bc_write_location(w, d->items[i], &index));
            bc_put_vi(w, to, index);
        }
        if (said) {
            HILO_TRY(bc_write_attr(w, d->items[n], BC_BUILTIN, &index));
            bc_put_vi(w, to, index);
        }
        return HILO_OK;
    }
    default: bc_put_vi(w, to, bc_attr_form(BC_BUILTIN, BC_LOC_UNKNOWN, 0)->code); return HILO_OK;
    }
}

hilo_status bc_write_location(struct bc_writer *w, ir_attr loc, uint32_t *out) {
    uint32_t seen = *bc_map(w, &w->attr_of[0].v, &w->attr_of[0].cap, loc.i);
    struct bc_bytes b = {NULL, 0, 0};
    if (seen) {
        *out = seen - 1;
        return HILO_OK;
    }
    if (w->depth == BC_DEPTH)
        return bc_refuse(w, "has a location nested more than %d deep", (int)BC_DEPTH);
    w->depth++;
    HILO_TRY(put_location(w, &b, ir_attr_get(w->m, loc)));
    w->depth--;
    *out = bc_item(w, &w->attrs, item_of(BC_BUILTIN, &b));
    *bc_map(w, &w->attr_of[0].v, &w->attr_of[0].cap, loc.i) = *out + 1;
    return HILO_OK;
}

/* ---- records --------------------------------------------------------------------------------- */

static hilo_status int_attr(struct bc_writer *w, int64_t v, uint32_t *out) {
    struct bc_bytes b = {NULL, 0, 0};
    uint32_t type;
    HILO_TRY(scalar_index(w, IR_I64_T, BC_VHLO, &type));
    bc_put_vi(w, &b, bc_attr_form(BC_VHLO, BC_INT, 0)->code);
    bc_put_vi(w, &b, type);
    put_bits(w, &b, (uint64_t)v, 64);
    *out = bc_item(w, &w->attrs, item_of(BC_VHLO, &b));
    return HILO_OK;
}

/* One number that follows a code: of an enumeration, a truth value, or 0 things in a list. */
static void number_attr(struct bc_writer *w, enum bc_form form, int of, uint64_t v, uint32_t *out) {
    struct bc_bytes b = {NULL, 0, 0};
    bc_put_vi(w, &b, bc_attr_form(BC_VHLO, form, of)->code);
    bc_put_vi(w, &b, v);
    *out = bc_item(w, &w->attrs, item_of(BC_VHLO, &b));
}

static hilo_status empty_list(struct bc_writer *w, uint32_t *out) {
    uint32_t type;
    HILO_TRY(list_type(w, IR_I64_T, 0, BC_VHLO, &type));
    return dense_index(w, type, IR_I64_T, STR(""), 0, false, BC_VHLO, out);
}

/* A list with `value` for each of the dimensions that a window has; pairs of it for padding. */
static hilo_status filled_list(struct bc_writer *w, ir_op op, uint32_t slot, int64_t value, uint32_t *out) {
    bool conv = ir_kind(w->m, op) == IR_CONVOLUTION || ir_kind(w->m, op) == IR_DYNAMIC_CONV;
    int64_t rank = (int64_t)ir_val_type(w->m, ir_operand(w->m, op, 0))->rank - (conv ? 2 : 0), pair[2] = {rank, 2};
    enum ir_dtype t = ir_slot_get(slot)->form == IR_AF_BOOLS ? IR_I1_T : IR_I64_T;
    struct bc_bytes b = {NULL, 0, 0};
    uint32_t type, elem;
    if (rank < 0)
        rank = 0;
    if (ir_slot_get(slot)->form == IR_AF_I64ELEMS) {
        HILO_TRY(scalar_index(w, t, BC_VHLO, &elem));
        bc_put_vi(w, &b, bc_type_form(BC_VHLO, BC_TENSOR, 0)->code);
        put_i64s(w, &b, pair, 2);
        bc_put_vi(w, &b, elem);
        type = bc_item(w, &w->types, item_of(BC_VHLO, &b));
    } else {
        HILO_TRY(list_type(w, t, rank, BC_VHLO, &type));
    }
    struct str one = {arena_dup(&w->arena, &value, sizeof value, 8), sizeof value};
    return dense_index(w, type, t, one, (size_t)rank, true, BC_VHLO, out);
}

static void default_accuracy(struct bc_writer *w, uint32_t *out) {
    struct bc_bytes b = {NULL, 0, 0};
    uint32_t mode;
    number_attr(w, BC_ENUM, IR_ENUM_RESULT_ACCURACY_MODE, IR_RESULT_ACCURACY_MODE_DEFAULT, &mode);
    bc_put_vi(w, &b, bc_attr_form(BC_VHLO, BC_STRUCT, IR_STRUCT_RESULT_ACCURACY)->code);
    put_bits(w, &b, fp_f64_bits(0), 64);
    put_bits(w, &b, fp_f64_bits(0), 64);
    bc_put_svi(w, &b, 0);
    bc_put_vi(w, &b, mode);
    *out = bc_item(w, &w->attrs, item_of(BC_VHLO, &b));
}

/* The precisions of both operands. */
static void default_precision(struct bc_writer *w, uint32_t *out) {
    struct bc_bytes b = {NULL, 0, 0};
    uint32_t one;
    number_attr(w, BC_ENUM, IR_ENUM_PRECISION, IR_PRECISION_DEFAULT, &one);
    bc_put_vi(w, &b, bc_attr_form(BC_VHLO, BC_ARRAY, 0)->code);
    bc_put_vi(w, &b, 2);
    bc_put_vi(w, &b, one);
    bc_put_vi(w, &b, one);
    *out = bc_item(w, &w->attrs, item_of(BC_VHLO, &b));
}

/* What VHLO has where StableHLO has nothing. */
static hilo_status write_default(struct bc_writer *w, ir_op op, uint32_t slot, uint32_t *out) {
    enum { TYPED_FFI = 4 };
    const struct ir_slot_info *s = ir_slot_get(slot);
    int64_t fill;
    if (bc_fill(slot, &fill))
        return filled_list(w, op, slot, fill, out);
    switch (s->form) {
    case IR_AF_I64: return int_attr(w, s->value, out);
    case IR_AF_I32:
        if (slot != IR_CUSTOM_CALL_api_version)
            return int_attr(w, s->value, out);
        number_attr(w, BC_API_VERSION, 0, (uint64_t)s->value, out);
        return HILO_OK;
    case IR_AF_BOOL: number_attr(w, BC_BOOL, 0, (uint64_t)s->value, out); return HILO_OK;
    case IR_AF_UNIT: number_attr(w, BC_BOOL, 0, 0, out); return HILO_OK;
    case IR_AF_ENUM: number_attr(w, BC_ENUM, s->of, (uint64_t)s->value, out); return HILO_OK;
    case IR_AF_ENUMS: default_precision(w, out); return HILO_OK;
    case IR_AF_STRUCT: default_accuracy(w, out); return HILO_OK;
    case IR_AF_STR: *out = string_attr(w, STR(""), BC_VHLO); return HILO_OK;
    case IR_AF_ANY: /* the configuration of a custom call */
        if (ir_prop_i64(w->m, op, IR_CUSTOM_CALL_api_version) == TYPED_FFI)
            number_attr(w, BC_DICT, 0, 0, out);
        else
            *out = string_attr(w, STR(""), BC_VHLO);
        return HILO_OK;
    case IR_AF_DICT: number_attr(w, BC_DICT, 0, 0, out); return HILO_OK;
    case IR_AF_SYMS:
    case IR_AF_ARRAY: number_attr(w, BC_ARRAY, 0, 0, out); return HILO_OK;
    case IR_AF_I64S:
    case IR_AF_I64ELEMS: return empty_list(w, out);
    default: return bc_refuse(w, "requires attribute '%s'", s->name);
    }
}

/* A field of a struct that VHLO spreads out; of one that is absent, too. */
static hilo_status write_field(struct bc_writer *w, ir_attr whole, uint32_t field, uint32_t *out) {
    ir_attr a = ir_field(w->m, whole, (enum ir_field_slot)field);
    if (!IR_NONE(a))
        return bc_write_attr(w, a, BC_VHLO, out);
    if (ir_field_get(field)->of == IR_STRUCT_DOT_ALGORITHM) {
        struct bc_bytes b = {NULL, 0, 0};
        bc_put_vi(w, &b, bc_type_form(BC_VHLO, BC_NOTHING, 0)->code);
        number_attr(w, BC_TYPE_OF, 0, bc_item(w, &w->types, item_of(BC_VHLO, &b)), out);
        return HILO_OK;
    }
    return ir_field_get(field)->kind == IR_FK_DIMS ? empty_list(w, out) : int_attr(w, 0, out);
}

hilo_status bc_write_stored(struct bc_writer *w, ir_op op, const struct bc_stored *at, uint32_t *out) {
    ir_attr a = ir_prop(w->m, op, (enum ir_slot)at->slot);
    if (at->field != IR_FIELD_NONE)
        return write_field(w, a, at->field, out);
    if (IR_NONE(a))
        return write_default(w, op, at->slot, out);
    if (ir_slot_get(at->slot)->form == IR_AF_UNIT)
        number_attr(w, BC_BOOL, 0, 1, out);
    else if (at->slot == IR_CUSTOM_CALL_api_version)
        number_attr(w, BC_API_VERSION, 0, (uint64_t)ir_attr_get(w->m, a)->i, out);
    else
        return bc_write_attr(w, a, BC_VHLO, out);
    return HILO_OK;
}
