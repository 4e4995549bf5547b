/* What a record of attributes holds, and what the codes of attributes and types mean: bytecode.def and vhlo.def looked up. */
#include "read/bytecode/bytecode.h"

#include <stdlib.h>

static const struct bc_code attr_codes[] = {
#define BC_ATTR(dialect, code, since, form, of) {BC_##dialect, code, since, BC_##form, of},
#include "read/bytecode/bytecode.def"
};

static const struct bc_code type_codes[] = {
#define BC_TYPE(dialect, code, since, form, of) {BC_##dialect, code, since, BC_##form, of},
#include "read/bytecode/bytecode.def"
};

static const struct bc_code *find_code(const struct bc_code *v, size_t n, enum bc_dialect dialect, uint64_t code) {
    for (size_t i = 0; i < n; i++)
        if (v[i].dialect == dialect && v[i].code == code)
            return &v[i];
    return NULL;
}

const struct bc_code *bc_attr_code(enum bc_dialect dialect, uint64_t code) {
    return find_code(attr_codes, sizeof attr_codes / sizeof *attr_codes, dialect, code);
}

const struct bc_code *bc_type_code(enum bc_dialect dialect, uint64_t code) {
    return find_code(type_codes, sizeof type_codes / sizeof *type_codes, dialect, code);
}

static const struct bc_code *find_form(const struct bc_code *v, size_t n, enum bc_dialect dialect, enum bc_form form, int of) {
    for (size_t i = 0; i < n; i++)
        if (v[i].dialect == dialect && v[i].form == form && v[i].of == of)
            return &v[i];
    return NULL;
}

const struct bc_code *bc_attr_form(enum bc_dialect dialect, enum bc_form form, int of) {
    return find_form(attr_codes, sizeof attr_codes / sizeof *attr_codes, dialect, form, of);
}

const struct bc_code *bc_type_form(enum bc_dialect dialect, enum bc_form form, int of) {
    return find_form(type_codes, sizeof type_codes / sizeof *type_codes, dialect, form, of);
}

/* ---- versions of ops ------------------------------------------------------------------------- */

static const struct { enum ir_op_kind kind; int k, since; } op_versions[] = {
#define VHLO_OP(op, k, version) {IR_##op, k, version},
#include "read/bytecode/vhlo.def"
};

int bc_vhlo_since(enum ir_op_kind kind, int k) {
    for (size_t i = 0; i < sizeof op_versions / sizeof *op_versions; i++)
        if (op_versions[i].kind == kind && op_versions[i].k == k)
            return op_versions[i].since;
    return k == 1 ? BC_V(0, 9) : 0;
}

enum ir_op_kind bc_vhlo_op(const struct ir_module *m, struct str name, int k, enum ir_op_kind parent) {
    enum ir_op_kind kind;
    char full[64] = "stablehlo.";
    if (str_is(name, "func"))
        kind = IR_FUNC;
    else if (str_is(name, "call"))
        kind = IR_CALL;
    else if (str_is(name, "return") && parent == IR_FUNC)
        kind = IR_FUNC_RETURN;
    else if (strlen(full) + name.n < sizeof full)
        kind = ir_op_named(m, str_of(strncat(full, name.p, name.n)));
    else
        kind = IR_OP_NONE;
    return kind != IR_OP_NONE && bc_vhlo_since(kind, k) ? kind : IR_OP_NONE;
}

/* ---- records --------------------------------------------------------------------------------- */

static const struct { uint32_t slot; int k; } attr_versions[] = {
#define VHLO_ATTR(op, attr, k) {IR_##op##_##attr, k},
#include "read/bytecode/vhlo.def"
};

static const struct { uint32_t field; int k; const char *name; } field_versions[] = {
#define VHLO_FIELD(struct_, field, k, name) {IR_##struct_##_##field##_F, k, name},
#include "read/bytecode/vhlo.def"
};

static const struct { enum ir_op_kind kind; const char *name; int k; } gone[] = {
#define VHLO_GONE(op, name, k) {IR_##op, name, k},
#include "read/bytecode/vhlo.def"
};

static const struct { uint32_t slot; int64_t value; } fills[] = {
#define VHLO_FILL(op, attr, value) {IR_##op##_##attr, value},
#include "read/bytecode/vhlo.def"
};

/* Attributes of the func dialect that only its own form has. */
static const struct { enum ir_op_kind kind; const char *name; } plain_only[] = {
    {IR_FUNC, "no_inline"}, {IR_CALL, "arg_attrs"}, {IR_CALL, "no_inline"}, {IR_CALL, "res_attrs"},
};

/* Attributes that ops of other dialects than VHLO got later. */
static const uint32_t plain_newer[] = {IR_SDY_ALL_REDUCE_reduction_op, IR_SDY_REDUCE_SCATTER_reduction_op};

bool bc_fill(uint32_t slot, int64_t *value) {
    for (size_t i = 0; i < sizeof fills / sizeof *fills; i++)
        if (fills[i].slot == slot) {
            *value = fills[i].value;
            return true;
        }
    return false;
}

bool bc_is_spread(enum ir_struct s) {
    return !bc_attr_form(BC_VHLO, BC_STRUCT, (int)s);
}

static void schema_add(struct bc_schema *out, const char *name, uint32_t slot, uint32_t field, int k) {
    if (out->n < BC_RECORD_MOST)
        out->v[out->n++] = (struct bc_stored){.name = name, .slot = slot, .field = field, .k = k};
}

static int schema_order(const void *a, const void *b) {
    return strcmp(((const struct bc_stored *)a)->name, ((const struct bc_stored *)b)->name);
}

static int attr_since(uint32_t slot) {
    for (size_t i = 0; i < sizeof attr_versions / sizeof *attr_versions; i++)
        if (attr_versions[i].slot == slot)
            return attr_versions[i].k;
    return 1;
}

/* The fields of a struct that version k of an op has. The type of a channel is stored where there must be one. */
static void schema_spread(struct bc_schema *out, uint32_t slot, int k) {
    const struct ir_slot_info *info = ir_slot_get(slot);
    const struct ir_struct_info *s = ir_struct_get((enum ir_struct)info->of);
    for (uint32_t f = s->first_field; f < s->first_field + s->nfields; f++) {
        const char *name = ir_field_get(f)->name;
        int since = 1;
        for (size_t i = 0; i < sizeof field_versions / sizeof *field_versions; i++)
            if (field_versions[i].field == f) {
                name = field_versions[i].name;
                since = field_versions[i].k;
            }
        if (since <= k && (f != IR_CHANNEL_HANDLE_type_F || (info->flags & IR_REQ)))
            schema_add(out, name, slot, f, since);
    }
}

void bc_schema_vhlo(enum ir_op_kind kind, int k, struct bc_schema *out) {
    const struct ir_op_info *info = ir_op_info(kind);
    out->n = 0;
    for (uint32_t slot = info->first_slot; slot < info->first_slot + info->nslots; slot++) {
        const struct ir_slot_info *s = ir_slot_get(slot);
        if (attr_since(slot) > k)
            continue;
        if (s->form == IR_AF_STRUCT && bc_is_spread((enum ir_struct)s->of))
            schema_spread(out, slot, k);
        else
            schema_add(out, s->name, slot, IR_FIELD_NONE, attr_since(slot));
    }
    for (size_t i = 0; i < sizeof gone / sizeof *gone; i++)
        if (gone[i].kind == kind && k <= gone[i].k)
            schema_add(out, gone[i].name, IR_SLOT_NONE, IR_FIELD_NONE, 1);
    qsort(out->v, out->n, sizeof *out->v, schema_order);
}

void bc_schema_plain(enum ir_op_kind kind, struct bc_schema *out) {
    const struct ir_op_info *info = ir_op_info(kind);
    out->n = 0;
    for (uint32_t slot = info->first_slot; slot < info->first_slot + info->nslots; slot++) {
        int k = attr_since(slot);
        for (size_t i = 0; i < sizeof plain_newer / sizeof *plain_newer; i++)
            k = plain_newer[i] == slot ? 2 : k;
        schema_add(out, ir_slot_get(slot)->name, slot, IR_FIELD_NONE, k);
    }
    for (size_t i = 0; i < sizeof plain_only / sizeof *plain_only; i++)
        if (plain_only[i].kind == kind)
            schema_add(out, plain_only[i].name, IR_SLOT_NONE, IR_FIELD_NONE, 2);
    qsort(out->v, out->n, sizeof *out->v, schema_order);
}

bool bc_schema_moving(struct str name, struct bc_schema *out) {
    static const struct { const char *name, *axes; } ops[] = {
        {"sdy.all_gather", "gathering_axes"}, {"sdy.all_slice", "slicing_axes"}, {"sdy.all_to_all", "params"},
        {"sdy.collective_permute", NULL}, {"sdy.replicated_to_unreduced", "axes"}, {"sdy.sharded_to_unreduced", "axes"}};
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++) {
        if (!str_is(name, ops[i].name))
            continue;
        out->n = 0;
        schema_add(out, "out_sharding", IR_SDY_RESHARD_sharding, IR_FIELD_NONE, 1);
        if (ops[i].axes) {
            schema_add(out, ops[i].axes, IR_SLOT_NONE, IR_FIELD_NONE, 1);
            out->v[out->n - 1].dropped = true;
        }
        qsort(out->v, out->n, sizeof *out->v, schema_order);
        return true;
    }
    return false;
}
