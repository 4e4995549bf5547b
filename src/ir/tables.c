/* The tables of ops.def and its sisters as arrays, and look-ups in them by id and by name. */
#include "ir/ir.h"

/* ---- element types --------------------------------------------------------------------------- */

#define CLASS_PRED IR_PRED
#define CLASS_SINT IR_SINT
#define CLASS_UINT IR_UINT
#define CLASS_FLOAT IR_FLOAT
#define CLASS_COMPLEX IR_COMPLEX_CLASS
#define CLASS_INDEX IR_INDEX_CLASS
static const struct ir_dtype_info dtypes[IR_DTYPE_COUNT] = {
    [IR_DTYPE_NONE] = {.name = "none", .npy = ""},
#define DTYPE(id, name, class, bits, bytes, fp, npy, hilo) \
    [IR_##id##_T] = {name, CLASS_##class, bits, bytes, fp, npy, HILO_##hilo},
#include "ir/dtypes.def"
};

const struct ir_dtype_info *ir_dtype_get(enum ir_dtype t) {
    return &dtypes[t];
}

enum ir_dtype ir_dtype_named(struct str name) {
    for (int t = 1; t < IR_DTYPE_COUNT; t++)
        if (str_is(name, dtypes[t].name))
            return (enum ir_dtype)t;
    return IR_DTYPE_NONE;
}

/* ---- enumerations ---------------------------------------------------------------------------- */

static const struct ir_enum_info enums[IR_ENUM_COUNT] = {
#define ENUM(id, dialect, mnemonic, angle) [IR_ENUM_##id] = {dialect, mnemonic, IR_ENUM_##id, angle},
#define ENUM_ALIAS(id, dialect, mnemonic, of) [IR_ENUM_##id] = {dialect, mnemonic, IR_ENUM_##of, false},
#include "ir/enums.def"
};

static const struct { enum ir_enum of; const char *name; int64_t value; } cases[] = {
#define CASE(id, name, value) {IR_ENUM_##id, #name, value},
#include "ir/enums.def"
};

const struct ir_enum_info *ir_enum_get(enum ir_enum e) {
    return &enums[e];
}

const char *ir_enum_case_name(enum ir_enum e, int64_t value) {
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        if (cases[i].of == enums[e].cases_of && cases[i].value == value)
            return cases[i].name;
    return NULL;
}

bool ir_enum_case_named(enum ir_enum e, struct str name, int64_t *out_value) {
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        if (cases[i].of == enums[e].cases_of && str_is(name, cases[i].name)) {
            *out_value = cases[i].value;
            return true;
        }
    return false;
}

/* ---- structured attributes ------------------------------------------------------------------- */

/* The same numbering as enum ir_field_slot, with each struct's first slot and the one after its last. */
enum {
    FIELD_NONE,
#define STRUCT(id, dialect, mnemonic, form) FIELD_FIRST_##id, FIELD_FIRST_BACK_##id = FIELD_FIRST_##id - 1,
#define FIELD(struct_, name, kind, flags) FIELD_##struct_##_##name,
#define END(id) FIELD_END_##id, FIELD_END_BACK_##id = FIELD_END_##id - 1,
#include "ir/structs.def"
    FIELD_COUNT
};
_Static_assert(FIELD_COUNT == (int)IR_FIELD_COUNT, "one numbering");

#define OPT true
static const struct ir_field_info fields[IR_FIELD_COUNT] = {
#define FIELD(struct_, name, kind, flags) \
    [IR_##struct_##_##name##_F] = {IR_STRUCT_##struct_, #name, IR_FK_##kind, flags},
#include "ir/structs.def"
};
#undef OPT

static const struct ir_struct_info structs[IR_STRUCT_COUNT] = {
#define STRUCT(id, dialect, mnemonic, form) \
    [IR_STRUCT_##id] = {dialect, mnemonic, IR_FORM_##form, FIELD_FIRST_##id, FIELD_END_##id - FIELD_FIRST_##id},
#include "ir/structs.def"
};

const struct ir_struct_info *ir_struct_get(enum ir_struct s) {
    return &structs[s];
}

const struct ir_field_info *ir_field_get(uint32_t slot) {
    return &fields[slot];
}

/* ---- ops and their attributes ---------------------------------------------------------------- */

/* The same numbering as enum ir_slot, with each op's first slot and the one after its last. */
enum {
    SLOT_NONE,
#define ATTRS(op) SLOT_FIRST_##op, SLOT_FIRST_BACK_##op = SLOT_FIRST_##op - 1,
#define ATTR(op, name, kind, of, flags, value) SLOT_##op##_##name,
#define END(op) SLOT_END_##op, SLOT_END_BACK_##op = SLOT_END_##op - 1,
#include "ir/attrs.def"
    SLOT_COUNT
};
_Static_assert(SLOT_COUNT == (int)IR_SLOT_COUNT, "one numbering");

#define REQ IR_REQ
#define OPT IR_OPT
#define DEF IR_DEF
#define GE0 IR_GE0
#define GT0 IR_GT0
#define PER_DIM IR_PER_DIM
#define DIMS IR_DIMS
#define C(n) IR_C(n)
static const struct ir_slot_info slots[IR_SLOT_COUNT] = {
#define ATTR(op, name, kind, of, flags, value) [IR_##op##_##name] = {IR_##op, #name, IR_AF_##kind, of, flags, value},
#include "ir/attrs.def"
};

#define BY(f) -1
#define AS(x) IR_##x
#define ALU(x) IR_OP_NONE
#define FUN(x) IR_OP_NONE
#define ELT(x) IR_OP_NONE
#define ELT_IF(x) IR_OP_NONE
#define MOVE(x) IR_OP_NONE
#define WINDOW(x) IR_OP_NONE
#define REDUCTION IR_OP_NONE
#define CONTRACTION IR_OP_NONE
#define UPDATE IR_OP_NONE
#define FLOW IR_OP_NONE
#define NONE IR_OP_NONE
static const struct ir_op_info ops[IR_OP_COUNT] = {
    [IR_OP_NONE].name = "none",
#define OP(id, name_, form_, operands_, results_, regions_, traits_, cost_, rule, eval, lower, local, sharding)                \
    [IR_##id].name = name_, [IR_##id].form = form_, [IR_##id].operands = operands_,                          \
    [IR_##id].results = results_, [IR_##id].nregions = regions_, [IR_##id].traits = traits_,                 \
    [IR_##id].cost = cost_, [IR_##id].base = lower,
#include "ir/ops.def"
#define ATTRS(op) [IR_##op].first_slot = SLOT_FIRST_##op, [IR_##op].nslots = SLOT_END_##op - SLOT_FIRST_##op,
#include "ir/attrs.def"
};

const struct ir_slot_info *ir_slot_get(uint32_t slot) {
    return &slots[slot];
}

const struct ir_op_info *ir_op_info(enum ir_op_kind k) {
    return &ops[k];
}

uint32_t ir_slot_named(enum ir_op_kind k, struct str name) {
    const struct ir_op_info *info = &ops[k];
    for (uint32_t s = info->first_slot; s < info->first_slot + info->nslots; s++)
        if (str_is(name, slots[s].name))
            return s;
    return IR_SLOT_NONE;
}
