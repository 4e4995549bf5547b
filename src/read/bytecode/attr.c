/* Attributes and constants of MLIR bytecode. */
#include "read/bytecode/bytecode.h"
#include "read/text/text.h"

#include <inttypes.h>

/* ---- numbers --------------------------------------------------------------------------------- */

/* The bits of an integer or float of `width` bits, at most 64. */
static hilo_status bc_bits(struct bc *b, struct bc_cursor *c, uint32_t width, uint64_t *out) {
    if (width <= 8) {
        uint8_t byte;
        HILO_TRY(bc_byte(b, c, &byte));
        *out = byte;
    } else {
        int64_t v;
        HILO_TRY(bc_svi(b, c, &v));
        *out = (uint64_t)v;
    }
    if (width < 64)
        *out &= (UINT64_C(1) << width) - 1;
    return HILO_OK;
}

hilo_status bc_f64(struct bc *b, struct bc_cursor *c, double *out) {
    uint64_t bits;
    HILO_TRY(bc_bits(b, c, 64, &bits));
    *out = fp_f64_from_bits(bits);
    return HILO_OK;
}

static uint64_t sign_extend(uint64_t bits, uint32_t width) {
    uint64_t sign = UINT64_C(1) << (width - 1);
    return (bits ^ sign) - sign;
}

static hilo_status attr_int(struct bc *b, struct bc_cursor *c, ir_attr *out) {
    const uint8_t *at = c->at;
    ir_type type;
    uint64_t bits;
    HILO_TRY(bc_type(b, c, &type));
    const struct ir_type_data *t = ir_type_get(b->m, type);
    const struct ir_dtype_info *info = ir_dtype_get(t->dtype);
    if (t->kind != IR_TYPE_SCALAR || info->cls == IR_FLOAT || info->cls == IR_COMPLEX_CLASS)
        return bc_error(b, at, "expected a type of integers");
    HILO_TRY(bc_bits(b, c, info->bits, &bits));
    if (info->cls == IR_PRED)
        *out = ir_attr_bool(b->m, bits != 0);
    else
        *out = ir_attr_int(b->m, type, (int64_t)(info->cls == IR_UINT ? bits : sign_extend(bits, info->bits)));
    return HILO_OK;
}

static hilo_status attr_float(struct bc *b, struct bc_cursor *c, ir_attr *out) {
    const uint8_t *at = c->at;
    ir_type type;
    uint64_t bits;
    HILO_TRY(bc_type(b, c, &type));
    const struct ir_type_data *t = ir_type_get(b->m, type);
    if (t->kind != IR_TYPE_SCALAR || ir_dtype_get(t->dtype)->cls != IR_FLOAT)
        return bc_error(b, at, "expected a type of floats");
    HILO_TRY(bc_bits(b, c, ir_dtype_get(t->dtype)->bits, &bits));
    *out = ir_attr_float(b->m, type, fp_decode(ir_dtype_get(t->dtype)->fp, bits));
    return HILO_OK;
}

/* 0 or 1: a number in VHLO, where StableHLO itself has a byte. */
static hilo_status read_bool(struct bc *b, struct bc_cursor *c, enum bc_dialect dialect, bool *out) {
    const uint8_t *at = c->at;
    uint64_t v;
    uint8_t byte;
    if (dialect == BC_VHLO) {
        HILO_TRY(bc_vi(b, c, &v));
    } else {
        HILO_TRY(bc_byte(b, c, &byte));
        v = byte;
    }
    if (v > 1)
        return bc_error(b, at, "expected 0 or 1, found %" PRIu64, v);
    *out = v != 0;
    return HILO_OK;
}

/* ---- constants ------------------------------------------------------------------------------- */

/* How the file stores the elements of a constant, and how a module does. */
struct elements {
    const struct ir_dtype_info *dtype;
    size_t count;
    size_t stored; /* bytes of an element in the file */
};

/* Truth values are packed into bits, or take a byte each, or are one byte for all: 0xFF or 0, or 0 or 1. */
static void unpack_bools(struct str data, size_t count, uint8_t *out) {
    const uint8_t *p = (const uint8_t *)data.p;
    if (data.n == 1 && p[0] == 0xFF)
        memset(out, 1, count);
    else if (data.n == count)
        for (size_t i = 0; i < count; i++)
            out[i] = p[i] != 0;
    else
        for (size_t i = 0; i < count; i++)
            out[i] = p[i / 8] >> (i % 8) & 1;
}

/* Elements that are not stored as a module stores them: narrower than a byte, or of a size that is no power of two. */
static void unpack_odd(const struct elements *e, struct str data, size_t count, uint8_t *out) {
    for (size_t i = 0; i < count; i++) {
        uint64_t v = 0;
        memcpy(&v, data.p + i * e->stored, e->stored);
        v &= (UINT64_C(1) << e->dtype->bits) - 1;
        if (e->dtype->cls == IR_SINT)
            v = sign_extend(v, e->dtype->bits);
        memcpy(out + i * e->dtype->bytes, &v, e->dtype->bytes);
    }
}

/* A constant: small ones are interned, large ones become a blob, copied once, or stay where they are. */
static hilo_status dense_data(struct bc *b, const uint8_t *at, ir_type type, const struct elements *e, struct str data,
                              ir_attr *out) {
    size_t size = e->dtype->bytes, nbytes, full;
    bool is_bool = e->dtype->cls == IR_PRED;
    bool splat = !is_bool && e->count != 1 && data.n == e->stored;
    if (!mem_mul(e->count, size, &nbytes) || !mem_mul(e->count, e->stored, &full))
        return bc_error(b, at, "a constant of %zu elements is too large", e->count);
    if (is_bool && data.n == 1 && e->count > 8) { /* one for all: not unpacked */
        uint8_t one = data.p[0] != 0;
        *out = ir_attr_dense(b->m, type, &one, 1, true, false);
        return HILO_OK;
    }
    if (!is_bool && !splat && data.n != full)
        return bc_error(b, at, "expected %zu bytes for %zu elements, or %zu for one that all are equal to, found %zu", full,
                        e->count, e->stored, data.n);
    if (is_bool && data.n != e->count && data.n != (e->count + 7) / 8)
        return bc_error(b, at, "expected %zu bytes for %zu truth values, found %zu", (e->count + 7) / 8, e->count, data.n);
    uint8_t small[IR_BLOB_BYTES];
    size_t n = splat ? size : nbytes;
    bool as_stored = !is_bool && e->dtype->bits >= 8 && e->stored == size;
    if (as_stored && bc_stays(b, n) && ir_data_may_stay(ir_type_get(b->m, type)->dtype, data.p)) {
        b->m->bytes_used = true;
        *out = ir_attr_dense(b->m, type, data.p, n, splat, false);
        return HILO_OK;
    }
    uint8_t *copy = n <= sizeof small ? small : ir_blob_new(b->m, n);
    if (is_bool)
        unpack_bools(data, e->count, copy);
    else if (!as_stored)
        unpack_odd(e, data, splat ? 1 : e->count, copy);
    else
        memcpy(copy, data.p, n);
    *out = ir_attr_dense(b->m, type, copy, n, splat, false);
    return HILO_OK;
}

static hilo_status attr_dense(struct bc *b, struct bc_cursor *c, ir_attr *out) {
    const uint8_t *at = c->at;
    ir_type type;
    uint64_t size;
    struct str data;
    HILO_TRY(bc_type(b, c, &type));
    const struct ir_type_data *t = ir_type_get(b->m, type);
    struct elements e = {.dtype = ir_dtype_get(t->dtype)};
    if (!ir_type_is_shaped(t) || !ir_type_count(t, &e.count) || t->dtype == IR_DTYPE_NONE || t->quant)
        return bc_error(b, at, "expected the type of a constant, a tensor of numbers with known sizes");
    e.stored = e.dtype->cls == IR_COMPLEX_CLASS ? e.dtype->bytes : (e.dtype->bits + 7) / 8;
    HILO_TRY(bc_vi(b, c, &size));
    at = c->at;
    HILO_TRY(bc_take(b, c, size, &data));
    if (e.count == 0) {
        *out = ir_attr_dense(b->m, type, NULL, 0, false, false);
        return HILO_OK;
    }
    return dense_data(b, at, type, &e, data, out);
}

static hilo_status attr_dense_array(struct bc *b, struct bc_cursor *c, ir_attr *out) {
    const uint8_t *at = c->at;
    ir_type elem;
    uint64_t count, size;
    struct str data;
    HILO_TRY(bc_type(b, c, &elem));
    HILO_TRY(bc_vi(b, c, &count));
    HILO_TRY(bc_vi(b, c, &size));
    HILO_TRY(bc_take(b, c, size, &data));
    const struct ir_type_data *t = ir_type_get(b->m, elem);
    const struct ir_dtype_info *info = ir_dtype_get(t->dtype);
    size_t nbytes;
    if (t->kind != IR_TYPE_SCALAR || info->cls == IR_COMPLEX_CLASS || (info->bits < 8 && info->cls != IR_PRED))
        return bc_error(b, at, "expected the type of an array of numbers");
    if (count > UINT32_MAX || !mem_mul((size_t)count, info->bytes, &nbytes) || nbytes != data.n)
        return bc_error(b, at, "expected the %u bytes of each of %" PRIu64 " elements, found %zu", info->bytes, count, data.n);
    uint8_t *copy = arena_dup(&b->m->arena, data.p, data.n, 8);
    for (size_t i = 0; info->cls == IR_PRED && i < data.n; i++)
        copy[i] = copy[i] != 0;
    *out = ir_attr_dense_array(b->m, elem, copy, (uint32_t)count);
    return HILO_OK;
}

static hilo_status attr_resource(struct bc *b, struct bc_cursor *c, ir_attr *out) {
    const uint8_t *at = c->at;
    uint32_t handle;
    ir_type type;
    HILO_TRY(bc_type(b, c, &type));
    HILO_TRY(bc_index(b, c, b->resources.n, "resources", &handle));
    if (!ir_type_is_shaped(ir_type_get(b->m, type)))
        return bc_error(b, at, "expected the type of a constant");
    *out = ir_attr_resource(b->m, type, b->resources.v[handle].key);
    return HILO_OK;
}

/* ---- lists and names ------------------------------------------------------------------------- */

static hilo_status attr_dict(struct bc *b, struct bc_cursor *c, ir_attr *out) {
    uint32_t n;
    HILO_TRY(bc_count(b, c, &n));
    ir_str *names = ARENA_ARRAY(&b->m->arena, ir_str, n);
    ir_attr *items = ARENA_ARRAY(&b->m->arena, ir_attr, n);
    for (uint32_t i = 0; i < n; i++) {
        ir_attr name;
        HILO_TRY(bc_attr_kind(b, c, IR_ATTR_STRING, "a name", &name));
        HILO_TRY(bc_attr(b, c, &items[i]));
        names[i] = ir_attr_get(b->m, name)->str;
    }
    *out = ir_attr_dict(b->m, names, items, n);
    return HILO_OK;
}

static hilo_status bc_attrs(struct bc *b, struct bc_cursor *c, const ir_attr **out, uint32_t *n) {
    HILO_TRY(bc_count(b, c, n));
    ir_attr *v = ARENA_ARRAY(&b->m->arena, ir_attr, *n);
    for (uint32_t i = 0; i < *n; i++)
        HILO_TRY(bc_attr(b, c, &v[i]));
    *out = v;
    return HILO_OK;
}

static hilo_status attr_symbol(struct bc *b, struct bc_cursor *c, bool nested, ir_attr *out) {
    ir_attr root;
    const ir_attr *items = NULL;
    uint32_t n = 0;
    HILO_TRY(bc_attr_kind(b, c, IR_ATTR_STRING, "the name of a symbol", &root));
    if (nested) {
        HILO_TRY(bc_attrs(b, c, &items, &n));
        ir_attr *names = ARENA_ARRAY(&b->m->arena, ir_attr, n);
        for (uint32_t i = 0; i < n; i++) {
            if (ir_attr_get(b->m, items[i])->kind != IR_ATTR_SYMBOL)
                return bc_error(b, c->at, "expected the name of a nested symbol");
            names[i] = ir_attr_string(b->m, ir_attr_as_str(b->m, items[i]));
        }
        items = names;
    }
    *out = ir_attr_symbol(b->m, ir_attr_as_str(b->m, root), items, n);
    return HILO_OK;
}

static hilo_status attr_array(struct bc *b, struct bc_cursor *c, ir_attr *out) {
    const ir_attr *items;
    uint32_t n;
    HILO_TRY(bc_attrs(b, c, &items, &n));
    *out = ir_attr_array(b->m, items, n);
    return HILO_OK;
}

static hilo_status attr_string(struct bc *b, struct bc_cursor *c, bool typed, ir_attr *out) {
    struct str s;
    ir_type type;
    HILO_TRY(bc_string(b, c, &s));
    if (typed)
        HILO_TRY(bc_type(b, c, &type));
    *out = ir_attr_string(b->m, s);
    return HILO_OK;
}

/* ---- enumerations and structs ---------------------------------------------------------------- */

static hilo_status attr_enum(struct bc *b, struct bc_cursor *c, const struct bc_code *code, ir_attr *out) {
    const uint8_t *at = c->at;
    enum ir_enum e = (enum ir_enum)code->of;
    uint64_t v;
    HILO_TRY(bc_vi(b, c, &v));
    if (v > IR_ENUM_CASE_MAX || !ir_enum_case_name(e, (int64_t)v))
        return bc_error(b, at, "expected a case of %s, found the number %" PRIu64, ir_enum_get(e)->mnemonic, v);
    *out = ir_attr_enum(b->m, e, (int64_t)v);
    return HILO_OK;
}

/* The version of the interface of custom calls is a plain integer in a module. */
static hilo_status attr_api_version(struct bc *b, struct bc_cursor *c, ir_attr *out) {
    const uint8_t *at = c->at;
    uint64_t v;
    HILO_TRY(bc_vi(b, c, &v));
    if (v > INT32_MAX)
        return bc_error(b, at, "expected the version of a custom call, found the number %" PRIu64, v);
    *out = ir_attr_int(b->m, ir_type_scalar(b->m, IR_I32_T), (int64_t)v);
    return HILO_OK;
}

static hilo_status attr_sub_axis(struct bc *b, struct bc_cursor *c, ir_attr *out) {
    int64_t pre, size;
    HILO_TRY(bc_svi(b, c, &pre));
    HILO_TRY(bc_svi(b, c, &size));
    *out = ir_attr_array(b->m, (ir_attr[]){ir_attr_i64(b->m, pre), ir_attr_i64(b->m, size)}, 2);
    return HILO_OK;
}

/* An attribute that may be missing, preceded by a flag. */
static hilo_status field_optional(struct bc *b, struct bc_cursor *c, enum bc_dialect dialect, ir_attr *out) {
    bool there = false;
    HILO_TRY(read_bool(b, c, dialect, &there));
    return there ? bc_attr(b, c, out) : HILO_OK;
}

/* The axes of groups are a list in StableHLO and an attribute in VHLO, where the name of a mesh is a string. */
static hilo_status field_attr(struct bc *b, struct bc_cursor *c, uint32_t slot, enum bc_dialect dialect, ir_attr *out) {
    if (slot == IR_MESH_device_ids_F)
        return dialect == BC_VHLO ? bc_optional_attr(b, c, out) : field_optional(b, c, dialect, out);
    if (slot == IR_REPLICA_GROUP_MESH_AXES_axes_F && dialect != BC_VHLO)
        return attr_array(b, c, out);
    HILO_TRY(bc_attr(b, c, out));
    if (slot == IR_REPLICA_GROUP_MESH_AXES_mesh_F && ir_attr_get(b->m, *out)->kind == IR_ATTR_STRING)
        *out = ir_attr_symbol(b->m, ir_attr_as_str(b->m, *out), NULL, 0);
    return HILO_OK;
}

static hilo_status struct_field(struct bc *b, struct bc_cursor *c, uint32_t slot, enum bc_dialect dialect, ir_attr *out) {
    const struct ir_field_info *f = ir_field_get(slot);
    const int64_t *dims;
    uint32_t n;
    int64_t i;
    double x;
    bool flag = false;
    ir_type type;
    switch (f->kind) {
    case IR_FK_DIMS:
        HILO_TRY(bc_i64s(b, c, &dims, &n));
        if (n || !f->optional)
            *out = ir_attr_i64s(b->m, dims, n);
        return HILO_OK;
    case IR_FK_I64:
        HILO_TRY(bc_svi(b, c, &i));
        if (i || !f->optional)
            *out = ir_attr_i64(b->m, i);
        return HILO_OK;
    case IR_FK_F64:
        HILO_TRY(bc_f64(b, c, &x));
        if (x != 0 || !f->optional)
            *out = ir_attr_float(b->m, ir_type_scalar(b->m, IR_F64_T), x);
        return HILO_OK;
    case IR_FK_BOOL:
        HILO_TRY(read_bool(b, c, dialect, &flag));
        *out = ir_attr_bool(b->m, flag);
        return HILO_OK;
    case IR_FK_TYPE:
        HILO_TRY(bc_type(b, c, &type));
        *out = ir_attr_of_type(b->m, type);
        return HILO_OK;
    case IR_FK_STR:
        return dialect == BC_VHLO ? bc_attr_kind(b, c, IR_ATTR_STRING, "a string", out) : attr_string(b, c, false, out);
    case IR_FK_SUBAXIS:
        return field_optional(b, c, dialect, out);
    case IR_FK_ATTR:
        break;
    }
    return field_attr(b, c, slot, dialect, out);
}

static hilo_status attr_struct(struct bc *b, struct bc_cursor *c, const struct bc_code *code, ir_attr *out) {
    const struct ir_struct_info *info = ir_struct_get((enum ir_struct)code->of);
    ir_attr fields[BC_FIELDS_MOST] = {0};
    for (uint32_t i = 0; i < info->nfields; i++)
        HILO_TRY(struct_field(b, c, info->first_field + i, code->dialect, &fields[i]));
    *out = ir_attr_struct(b->m, (enum ir_struct)code->of, fields);
    return HILO_OK;
}

/* ---- locations ------------------------------------------------------------------------------- */

static bool is_location(enum ir_attr_kind kind) {
    return (kind >= IR_ATTR_LOC_UNKNOWN && kind <= IR_ATTR_LOC_FUSED) || kind == IR_ATTR_OPAQUE;
}

static hilo_status any_location(struct bc *b, struct bc_cursor *c, ir_attr *out) {
    const uint8_t *at = c->at;
    HILO_TRY(bc_attr(b, c, out));
    return is_location(ir_attr_get(b->m, *out)->kind) ? HILO_OK : bc_error(b, at, "expected a location");
}

hilo_status bc_location(struct bc *b, struct bc_cursor *c, ir_attr *out) {
    HILO_TRY(any_location(b, c, out));
    if (ir_attr_get(b->m, *out)->kind == IR_ATTR_LOC_UNKNOWN)
        *out = (ir_attr){0};
    return HILO_OK;
}

static ir_attr loc_file(struct bc *b, ir_attr file, uint64_t line, uint64_t col) {
    if (line > UINT32_MAX || col > UINT32_MAX)
        line = col = 0;
    return ir_attr_loc(b->m, IR_ATTR_LOC_FILE, ir_attr_get(b->m, file)->str, (int64_t)(line << 32 | col), NULL, 0);
}

/* A stretch of a file: of its numbers the first two are kept. */
static hilo_status loc_range(struct bc *b, struct bc_cursor *c, bool counted, ir_attr *out) {
    ir_attr file;
    uint32_t n = 2;
    uint64_t v[2] = {0, 0}, x;
    HILO_TRY(bc_attr_kind(b, c, IR_ATTR_STRING, "the name of a file", &file));
    if (counted)
        HILO_TRY(bc_count(b, c, &n));
    for (uint32_t i = 0; i < n; i++) {
        HILO_TRY(bc_vi(b, c, &x));
        if (i < 2)
            v[i] = x;
    }
    *out = loc_file(b, file, v[0], v[1]);
    return HILO_OK;
}

static hilo_status loc_name(struct bc *b, struct bc_cursor *c, ir_attr *out) {
    ir_attr name, child;
    HILO_TRY(bc_attr_kind(b, c, IR_ATTR_STRING, "the name of a place", &name));
    HILO_TRY(bc_location(b, c, &child));
    *out = ir_attr_loc(b->m, IR_ATTR_LOC_NAME, ir_attr_get(b->m, name)->str, 0, &child, !IR_NONE(child));
    return HILO_OK;
}

static hilo_status loc_call(struct bc *b, struct bc_cursor *c, ir_attr *out) {
    ir_attr pair[2];
    HILO_TRY(any_location(b, c, &pair[0]));
    HILO_TRY(any_location(b, c, &pair[1]));
    *out = ir_attr_loc(b->m, IR_ATTR_LOC_CALL, (ir_str){0}, 0, pair, 2);
    return HILO_OK;
}

static hilo_status loc_fused(struct bc *b, struct bc_cursor *c, bool meta, ir_attr *out) {
    uint32_t n;
    HILO_TRY(bc_count(b, c, &n));
    ir_attr *items = ARENA_ARRAY(&b->m->arena, ir_attr, n + 1);
    for (uint32_t i = 0; i < n; i++)
        HILO_TRY(any_location(b, c, &items[i]));
    if (meta)
        HILO_TRY(bc_attr(b, c, &items[n]));
    *out = ir_attr_loc(b->m, IR_ATTR_LOC_FUSED, (ir_str){0}, meta, items, n + meta);
    return HILO_OK;
}

/* ---- dispatch -------------------------------------------------------------------------------- */

static hilo_status attr_decode(struct bc *b, struct bc_cursor *c, const struct bc_code *code, uint32_t *id) {
    ir_attr out = {0};
    ir_type type;
    bool flag = false;
    switch (code->form) {
    case BC_ARRAY: HILO_TRY(attr_array(b, c, &out)); break;
    case BC_DICT: HILO_TRY(attr_dict(b, c, &out)); break;
    case BC_STRING: HILO_TRY(attr_string(b, c, false, &out)); break;
    case BC_STRING_TYPED: HILO_TRY(attr_string(b, c, true, &out)); break;
    case BC_SYMBOL: HILO_TRY(attr_symbol(b, c, false, &out)); break;
    case BC_SYMBOL_NESTED: HILO_TRY(attr_symbol(b, c, true, &out)); break;
    case BC_TYPE_OF:
        HILO_TRY(bc_type(b, c, &type));
        out = ir_attr_of_type(b->m, type);
        break;
    case BC_UNIT: out = ir_attr_unit(b->m); break;
    case BC_BOOL:
        HILO_TRY(read_bool(b, c, code->dialect, &flag));
        out = ir_attr_bool(b->m, flag);
        break;
    case BC_INT: HILO_TRY(attr_int(b, c, &out)); break;
    case BC_FLOAT: HILO_TRY(attr_float(b, c, &out)); break;
    case BC_ENUM: HILO_TRY(attr_enum(b, c, code, &out)); break;
    case BC_API_VERSION: HILO_TRY(attr_api_version(b, c, &out)); break;
    case BC_STRUCT: HILO_TRY(attr_struct(b, c, code, &out)); break;
    case BC_SUB_AXIS: HILO_TRY(attr_sub_axis(b, c, &out)); break;
    case BC_DENSE: HILO_TRY(attr_dense(b, c, &out)); break;
    case BC_DENSE_ARRAY: HILO_TRY(attr_dense_array(b, c, &out)); break;
    case BC_RESOURCE: HILO_TRY(attr_resource(b, c, &out)); break;
    case BC_LOC_CALL: HILO_TRY(loc_call(b, c, &out)); break;
    case BC_LOC_FILE: HILO_TRY(loc_range(b, c, false, &out)); break;
    case BC_LOC_RANGE: HILO_TRY(loc_range(b, c, true, &out)); break;
    case BC_LOC_FUSED: HILO_TRY(loc_fused(b, c, false, &out)); break;
    case BC_LOC_FUSED_META: HILO_TRY(loc_fused(b, c, true, &out)); break;
    case BC_LOC_NAME: HILO_TRY(loc_name(b, c, &out)); break;
    case BC_SDY_TEXT: HILO_TRY(bc_sdy_attr(b, c, code, &out)); break;
    default: out = ir_attr_loc(b->m, IR_ATTR_LOC_UNKNOWN, (ir_str){0}, 0, NULL, 0); break;
    }
    *id = out.i;
    return HILO_OK;
}

/* An attribute in its assembly form. */
static hilo_status attr_from_text(struct bc *b, struct bc_cursor *c, const struct bc_code *code, uint32_t *id) {
    (void)code;
    struct text_parser p;
    ir_attr out;
    size_t n = bc_left(c) && c->end[-1] == '\0' ? bc_left(c) - 1 : bc_left(c);
    text_lex_init(&p, b->m, b->d, (struct str){(const char *)c->at, n});
    HILO_TRY(text_attr(&p, (ir_type){0}, &out));
    HILO_TRY(text_expect(&p, TEXT_EOF));
    c->at = c->end;
    *id = out.i;
    return HILO_OK;
}

static const struct bc_kind kinds = {"attribute", "attributes", bc_attr_code, attr_decode, attr_from_text};

hilo_status bc_attr(struct bc *b, struct bc_cursor *c, ir_attr *out) {
    const uint8_t *at = c->at;
    uint64_t index;
    HILO_TRY(bc_vi(b, c, &index));
    return bc_entry(b, at, index, &b->attrs, &kinds, &out->i);
}

hilo_status bc_attr_kind(struct bc *b, struct bc_cursor *c, enum ir_attr_kind kind, const char *what, ir_attr *out) {
    const uint8_t *at = c->at;
    HILO_TRY(bc_attr(b, c, out));
    return ir_attr_get(b->m, *out)->kind == kind ? HILO_OK : bc_error(b, at, "expected %s", what);
}

hilo_status bc_optional_attr(struct bc *b, struct bc_cursor *c, ir_attr *out) {
    const uint8_t *at = c->at;
    uint64_t index;
    bool there = false;
    *out = (ir_attr){0};
    HILO_TRY(bc_flagged(b, c, &index, &there));
    return there ? bc_entry(b, at, index, &b->attrs, &kinds, &out->i) : HILO_OK;
}
