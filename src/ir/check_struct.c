/* Structured attributes that are invalid on any op. The reader refuses them where they are
   written, the verifier in modules that were built. */
#include "ir/ir.h"

/* ---- dot_algorithm --------------------------------------------------------------------------- */

/* Algorithms that some hardware has: operands are rounded to these types, and a multiplication takes
   `products` of them. Two 8-bit floats with f32 sums are one more. */
static const struct algorithm { enum ir_dtype lhs, rhs, sum; int64_t products; } algorithms[] = {
    {IR_F16_T, IR_F16_T, IR_F16_T, 1},    {IR_F16_T, IR_F16_T, IR_F32_T, 1},
    {IR_BF16_T, IR_BF16_T, IR_BF16_T, 1}, {IR_BF16_T, IR_BF16_T, IR_F32_T, 1},
    {IR_BF16_T, IR_BF16_T, IR_F32_T, 3},  {IR_BF16_T, IR_BF16_T, IR_F32_T, 6},
    {IR_BF16_T, IR_BF16_T, IR_F32_T, 9},  {IR_TF32_T, IR_TF32_T, IR_F32_T, 1},
    {IR_TF32_T, IR_TF32_T, IR_F32_T, 3},  {IR_F32_T, IR_F32_T, IR_F32_T, 1},
    {IR_F64_T, IR_F64_T, IR_F64_T, 1},
};

static bool is_f8(enum ir_dtype t) {
    return ir_dtype_get(t)->cls == IR_FLOAT && ir_dtype_get(t)->bits == 8 && t != IR_F8E8M0FNU_T;
}

/* Only sums of 8-bit floats may be imprecise. */
static bool is_known(const struct algorithm *a, bool imprecise) {
    if (is_f8(a->lhs) && is_f8(a->rhs) && a->sum == IR_F32_T && a->products == 1)
        return true;
    for (size_t i = 0; i < sizeof algorithms / sizeof *algorithms; i++)
        if (a->lhs == algorithms[i].lhs && a->rhs == algorithms[i].rhs &&
            a->sum == algorithms[i].sum && a->products == algorithms[i].products)
            return !imprecise;
    return false;
}

/* The scalar type in a field. */
static enum ir_dtype field_type(const struct ir_module *m, ir_attr a, enum ir_field_slot field) {
    const struct ir_type_data *t = ir_type_get(m, ir_attr_get(m, ir_field(m, a, field))->type);
    return t->kind == IR_TYPE_SCALAR ? t->dtype : IR_DTYPE_NONE;
}

static const char *algorithm_flaw(const struct ir_module *m, ir_attr a, const char **label) {
    int64_t lhs = ir_field_i64(m, a, IR_DOT_ALGORITHM_lhs_component_count_F);
    int64_t rhs = ir_field_i64(m, a, IR_DOT_ALGORITHM_rhs_component_count_F);
    bool imprecise = ir_field_i64(m, a, IR_DOT_ALGORITHM_allow_imprecise_accumulation_F) != 0;
    struct algorithm algorithm = {
        .lhs = field_type(m, a, IR_DOT_ALGORITHM_lhs_precision_type_F),
        .rhs = field_type(m, a, IR_DOT_ALGORITHM_rhs_precision_type_F),
        .sum = field_type(m, a, IR_DOT_ALGORITHM_accumulation_type_F),
        .products = ir_field_i64(m, a, IR_DOT_ALGORITHM_num_primitive_operations_F),
    };
    if (lhs < 1) {
        *label = "dot_general_c22";
        return "lhs_component_count must be positive";
    }
    if (rhs < 1) {
        *label = "dot_general_c23";
        return "rhs_component_count must be positive";
    }
    if (algorithm.products < 1) {
        *label = "dot_general_c24";
        return "num_primitive_operations must be positive";
    }
    if (lhs != 1 || rhs != 1 || !is_known(&algorithm, imprecise))
        return "no hardware is known to have this dot algorithm";
    return NULL;
}

/* ---- replica_group_mesh_axes ----------------------------------------------------------------- */

static bool has_axis(const struct ir_module *m, const struct ir_attr_data *axes, ir_attr name) {
    for (uint32_t i = 0; i < axes->n; i++)
        if (IR_SAME(ir_field(m, axes->items[i], IR_MESH_AXIS_name_F), name))
            return true;
    return false;
}

/* A mesh that is written out has the axes that groups are made of; of one that is named, they are
   not known. */
static const char *groups_flaw(const struct ir_module *m, ir_attr a) {
    ir_attr mesh = ir_field(m, a, IR_REPLICA_GROUP_MESH_AXES_mesh_F);
    const struct ir_attr_data *d = ir_attr_get(m, mesh);
    const struct ir_attr_data *axes =
        ir_attr_get(m, ir_field(m, a, IR_REPLICA_GROUP_MESH_AXES_axes_F));
    bool named = d->kind == IR_ATTR_SYMBOL && d->n == 0;
    if (!named && (d->kind != IR_ATTR_STRUCT || d->sub != IR_STRUCT_MESH))
        return "mesh must be a mesh or the name of one";
    if (axes->kind != IR_ATTR_ARRAY)
        return "axes must be an array";
    for (uint32_t i = 0; !named && i < axes->n; i++) {
        ir_attr name = ir_field(m, axes->items[i], IR_AXIS_REF_name_F);
        if (IR_NONE(name))
            return "axes must be references to axes of the mesh";
        if (!has_axis(m, ir_attr_get(m, ir_field(m, mesh, IR_MESH_axes_F)), name))
            return "the mesh has no axis of that name";
    }
    return NULL;
}

/* ---- result_accuracy ------------------------------------------------------------------------- */

static const char *accuracy_flaw(const struct ir_module *m, ir_attr a) {
    double atol = ir_attr_get(m, ir_field(m, a, IR_RESULT_ACCURACY_atol_F))->f;
    double rtol = ir_attr_get(m, ir_field(m, a, IR_RESULT_ACCURACY_rtol_F))->f;
    int64_t ulps = ir_field_i64(m, a, IR_RESULT_ACCURACY_ulps_F);
    const struct ir_attr_data *mode = ir_attr_get(m, ir_field(m, a, IR_RESULT_ACCURACY_mode_F));
    if (mode->kind != IR_ATTR_ENUM || mode->sub != IR_ENUM_RESULT_ACCURACY_MODE)
        return "mode must be a result_accuracy_mode";
    if (!(atol >= 0) || !(rtol >= 0) || ulps < 0)
        return "tolerances must not be negative";
    if (mode->i != IR_RESULT_ACCURACY_MODE_TOLERANCE && (atol != 0 || rtol != 0 || ulps != 0))
        return "tolerances must be zero unless the mode is TOLERANCE";
    return NULL;
}

/* ---- entry ----------------------------------------------------------------------------------- */

const char *ir_attr_flaw(const struct ir_module *m, ir_attr a, const char **label) {
    const struct ir_attr_data *d = ir_attr_get(m, a);
    *label = NULL;
    if (d->kind != IR_ATTR_STRUCT)
        return NULL;
    switch (d->sub) {
    case IR_STRUCT_DOT_ALGORITHM: return algorithm_flaw(m, a, label);
    case IR_STRUCT_REPLICA_GROUP_MESH_AXES: return groups_flaw(m, a);
    case IR_STRUCT_RESULT_ACCURACY: return accuracy_flaw(m, a);
    default: return NULL;
    }
}
