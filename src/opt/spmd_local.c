/* What of single ops differs between partitions (openxla/shardy, convert_global_to_local); see spmd.h. */
#include "opt/rules.h"
#include "opt/spmd.h"

/* ---- rules -------------------------------------------------------------------------------------- */

/* What is cut out of a dimension is summed over its parts, of which others than the slice's are zeros. */
static const struct sdy_rule *slice_rule(struct spmd *p, ir_op op, const struct sdy_rule *rule) {
    const struct ir_type_data *in = ir_type_get(p->m, spmd_global_type(p, ir_operand(p->m, op, 0)));
    const struct ir_type_data *out = ir_val_type(p->m, ir_result(p->m, op, 0));
    struct sdy_rule *made = ARENA_NEW(p->a, struct sdy_rule);
    struct sdy_factor *factors = ARENA_ARRAY(p->a, struct sdy_factor, rule->nfactors + out->rank + 1);
    struct sdy_dim_factors *dims = ARENA_ARRAY(p->a, struct sdy_dim_factors, out->rank + 1);
    const struct sdy_dim_factors **all = ARENA_ARRAY(p->a, const struct sdy_dim_factors *, rule->noperands + 2);
    *made = *rule;
    memcpy(factors, rule->factors, rule->nfactors * sizeof *factors);
    memcpy(all, rule->dims, (rule->noperands + 1) * sizeof *all);
    memcpy(dims, rule->dims[rule->noperands], out->rank * sizeof *dims);
    for (uint32_t d = 0; d < out->rank; d++) {
        if (in->dims[d] == out->dims[d])
            continue;
        uint32_t *v = ARENA_NEW(p->a, uint32_t);
        *v = made->nfactors++;
        factors[*v] = (struct sdy_factor){.size = out->dims[d], .type = SDY_NEED_REPLICATION};
        factors[rule->dims[0][d].v[0]] = (struct sdy_factor){.size = in->dims[d], .type = SDY_REDUCTION};
        dims[d] = (struct sdy_dim_factors){1, v};
    }
    all[rule->noperands] = dims;
    made->factors = factors;
    made->dims = all;
    return made;
}

/* A dimension of windows is divided along one factor: the larger one, which is the major one. */
static const struct sdy_rule *convolution_rule(struct spmd *p, const struct sdy_rule *rule) {
    struct sdy_rule *made = ARENA_NEW(p->a, struct sdy_rule);
    struct sdy_dim_factors *dims = ARENA_ARRAY(p->a, struct sdy_dim_factors, rule->ranks[0] + 1);
    const struct sdy_dim_factors **all = ARENA_ARRAY(p->a, const struct sdy_dim_factors *, 4);
    memcpy(all, rule->dims, 3 * sizeof *all);
    memcpy(dims, rule->dims[0], rule->ranks[0] * sizeof *dims);
    for (uint32_t d = 0; d < rule->ranks[0]; d++)
        for (uint32_t i = 0; i < dims[d].n; i++)
            if (rule->factors[dims[d].v[i]].type == SDY_PERMUTATION)
                dims[d].n = 1;
    all[0] = dims;
    *made = *rule;
    made->dims = all;
    return made;
}

const struct sdy_rule *spmd_rule(struct spmd *p, ir_op op) {
    const struct sdy_rule *rule = sdy_rule(p->g, op);
    const struct ir_op_data *x = ir_op_get(p->m, op);
    if (!rule || !rule->nfactors || rule->custom || rule->noperands != x->noperands || rule->nresults != x->nresults)
        return rule;
    if (x->kind == IR_DYNAMIC_SLICE)
        return slice_rule(p, op, rule);
    return x->kind == IR_CONVOLUTION ? convolution_rule(p, rule) : rule;
}

/* ---- which factors ------------------------------------------------------------------------------ */

static bool maps(const struct sdy_rule *rule, uint32_t tensor, uint32_t factor) {
    for (uint32_t d = 0; d < rule->ranks[tensor]; d++)
        for (uint32_t i = 0; i < rule->dims[tensor][d].n; i++)
            if (rule->dims[tensor][d].v[i] == factor)
                return true;
    return false;
}

static bool maps_dim(const struct sdy_rule *rule, uint32_t tensor, int64_t dim, uint32_t factor) {
    for (uint32_t i = 0; i < rule->dims[tensor][dim].n; i++)
        if (rule->dims[tensor][dim].v[i] == factor)
            return true;
    return false;
}

/* All elements of a constant leave what `kind` combines them with as it is. */
static bool is_neutral(const struct spmd *p, ir_val v, enum ir_op_kind kind) {
    static const struct { enum ir_op_kind kind; enum rules_number number; } neutral[] = {
        {IR_ADD, RULES_ZERO}, {IR_ADD, RULES_MINUS_ZERO}, {IR_OR, RULES_ZERO}, {IR_XOR, RULES_ZERO}, {IR_AND, RULES_ONES},
        {IR_MULTIPLY, RULES_ONE}, {IR_MAXIMUM, RULES_LEAST}, {IR_MINIMUM, RULES_GREATEST}};
    struct rules r = {.o = p->o, .m = p->m};
    ir_op op = ir_val_get(p->m, v)->op;
    if (IR_NONE(op))
        return false;
    if (ir_kind(p->m, op) == IR_BROADCAST_IN_DIM || ir_kind(p->m, op) == IR_SDY_RESHARD)
        return is_neutral(p, ir_operand(p->m, op, 0), kind);
    if (!ir_op_has(ir_kind(p->m, op), IR_T_CONSTANT))
        return false;
    for (size_t i = 0; i < sizeof neutral / sizeof *neutral; i++)
        if (neutral[i].kind == kind && rules_is(&r, v, neutral[i].number))
            return true;
    return false;
}

/* The op that the body combines two elements of operand `data` with, in the type of the result. */
static enum ir_op_kind reducer(const struct spmd *p, ir_op op, uint32_t data) {
    struct rules r = {.o = p->o, .m = p->m};
    const struct ir_op_data *x = ir_op_get(p->m, op);
    ir_block b = ir_region_get(p->m, ir_op_region(p->m, op, 0))->first;
    if (x->nresults != 1 || IR_NONE(b) || ir_block_get(p->m, b)->nargs != 2)
        return IR_OP_NONE;
    ir_type elem = ir_val_type(p->m, ir_block_get(p->m, b)->args[0])->elem;
    if (!IR_SAME(elem, ir_val_type(p->m, x->operands[data])->elem) ||
        !IR_SAME(elem, ir_val_type(p->m, ir_result(p->m, op, 0))->elem))
        return IR_OP_NONE;
    return rules_reducer(&r, op);
}

/* Not in an algorithm's narrower type. */
static bool sums_in_result(const struct spmd *p, ir_op op) {
    ir_attr algorithm = ir_prop(p->m, op, IR_DOT_GENERAL_algorithm);
    ir_attr sum = IR_NONE(algorithm) ? algorithm : ir_field(p->m, algorithm, IR_DOT_ALGORITHM_accumulation_type_F);
    return IR_NONE(algorithm) || IR_SAME(ir_attr_get(p->m, sum)->type, ir_val_type(p->m, ir_result(p->m, op, 0))->elem);
}

enum ir_op_kind spmd_combiner(struct spmd *p, ir_op op) {
    const struct ir_op_data *x = ir_op_get(p->m, op);
    if (x->kind == IR_DOT_GENERAL)
        return sums_in_result(p, op) ? IR_ADD : IR_OP_NONE;
    if (ir_op_has((enum ir_op_kind)x->kind, IR_T_CONTRACTION))
        return IR_ADD;
    if (x->kind == IR_GATHER || x->kind == IR_DYNAMIC_SLICE) /* of what one partition has, the others have what is neutral */
        return ir_val_type(p->m, ir_result(p->m, op, 0))->dtype == IR_I1_T ? IR_OR : IR_ADD;
    bool reduce = x->kind == IR_REDUCE && x->noperands == 2;
    if (!reduce && (x->kind != IR_SCATTER || x->noperands != 3))
        return IR_OP_NONE;
    enum ir_op_kind kind = reducer(p, op, 0); /* scatter: of updates into what is neutral */
    return is_neutral(p, x->operands[reduce], kind) ? kind : IR_OP_NONE;
}

/* Sums of parts of the op's first operand, and of its second in a product, wrap as sums of the result do. */
static bool keeps_sums(const struct spmd *p, ir_op op, bool product) {
    const struct ir_dtype_info *to = ir_dtype_get(ir_val_type(p->m, ir_result(p->m, op, 0))->dtype);
    for (uint32_t i = 0; i < (product ? 2u : 1u); i++) {
        const struct ir_dtype_info *from = ir_dtype_get(ir_val_type(p->m, ir_operand(p->m, op, i))->dtype);
        if (from->cls == IR_FLOAT ? to->cls != IR_FLOAT : from->cls != to->cls || to->bits > from->bits)
            return false;
    }
    return true;
}

uint32_t spmd_linear(struct spmd *p, ir_op op, bool *product) {
    static const struct { enum ir_op_kind kind; uint32_t operands; bool product; } linear[] = {
        {IR_ADD, 3, false}, {IR_SUBTRACT, 3, false}, {IR_COMPLEX, 3, false}, {IR_NEGATE, 1, false}, {IR_CONVERT, 1, false},
        {IR_REAL, 1, false}, {IR_IMAG, 1, false}, {IR_RESHAPE, 1, false}, {IR_TRANSPOSE, 1, false},
        {IR_BROADCAST_IN_DIM, 1, false}, {IR_SLICE, 1, false}, {IR_REVERSE, 1, false}, {IR_DYNAMIC_SLICE, 1, false},
        {IR_DYNAMIC_UPDATE_SLICE, 3, false}, {IR_PAD, 3, false}, {IR_CONCATENATE, UINT32_MAX, false}, {IR_SELECT, 6, false},
        {IR_GATHER, 1, false}, {IR_REDUCE, 3, false}, {IR_SCATTER, 5, false}, {IR_MULTIPLY, 3, true}, {IR_DIVIDE, 1, true},
        {IR_DOT_GENERAL, 3, true}, {IR_CONVOLUTION, 3, true}};
    enum ir_op_kind kind = ir_kind(p->m, op);
    *product = false;
    for (uint32_t i = 0; i < ir_op_get(p->m, op)->nresults; i++)
        if (ir_val_type(p->m, ir_result(p->m, op, i))->dtype == IR_I1_T)
            return 0;
    if (((kind == IR_REDUCE || kind == IR_SCATTER) && spmd_combiner(p, op) != IR_ADD) ||
        (kind == IR_DIVIDE && ir_dtype_get(ir_val_type(p->m, ir_result(p->m, op, 0))->dtype)->cls != IR_FLOAT))
        return 0;
    for (size_t i = 0; i < sizeof linear / sizeof *linear; i++)
        if (linear[i].kind == kind) {
            *product = linear[i].product;
            return (*product || kind == IR_CONVERT) && !keeps_sums(p, op, *product) ? 0 : linear[i].operands;
        }
    return 0;
}

/* Calls whose rules are of dimensions along which they do the same for each part. */
static bool is_local_call(const struct spmd *p, ir_op op) {
    static const char *const targets[] = {"mhlo.erf", "mhlo.topk", "annotate_device_placement", "LayoutConstraint",
                                          "MoveToDevice", "MoveToHost"};
    struct str target = ir_prop_str(p->m, op, IR_CUSTOM_CALL_call_target_name);
    ir_attr frontend = ir_dict_find(p->m, ir_op_get(p->m, op)->attrs, STR("mhlo.frontend_attributes"));
    if (!IR_NONE(ir_dict_find(p->m, frontend, STR("num_batch_dims"))))
        return true;
    for (size_t i = 0; i < sizeof targets / sizeof *targets; i++)
        if (str_is(target, targets[i]))
            return true;
    return false;
}

/* The kernel's features are divided as the input's are. */
static bool local_convolution(const struct spmd *p, ir_op op, const struct sdy_rule *rule, uint32_t factor) {
    ir_attr dims = ir_prop(p->m, op, IR_CONVOLUTION_dimension_numbers);
    int64_t in = ir_field_i64(p->m, dims, IR_CONV_kernel_input_feature_dimension_F);
    return rule->factors[factor].type == SDY_PASS_THROUGH || maps_dim(rule, 1, in, factor);
}

/* Types with a scale for each part of a dimension stay whole. */
static bool has_scales(const struct spmd *p, ir_op op) {
    const struct ir_op_data *x = ir_op_get(p->m, op);
    for (uint32_t i = 0; i < x->noperands + x->nresults; i++)
        if (ir_val_type(p->m, i < x->noperands ? x->operands[i] : ir_result(p->m, op, i - x->noperands))->quant)
            return true;
    return false;
}

/* Every dimension with the factor is as large as its factors: nothing of it is cut off, added or dilated. */
static bool is_whole(const struct spmd *p, ir_op op, const struct sdy_rule *rule, uint32_t factor) {
    for (uint32_t t = 0; t < rule->noperands + rule->nresults; t++) {
        ir_val v = t < rule->noperands ? ir_operand(p->m, op, t) : ir_result(p->m, op, t - rule->noperands);
        const struct ir_type_data *type = ir_type_get(p->m, spmd_global_type(p, v));
        for (uint32_t d = 0; d < rule->ranks[t]; d++) {
            int64_t size = 1;
            for (uint32_t i = 0; i < rule->dims[t][d].n; i++)
                size *= rule->factors[rule->dims[t][d].v[i]].size;
            if (maps_dim(rule, t, d, factor) && size != type->dims[d])
                return false;
        }
    }
    return true;
}

/* A dimension of the first operand that has the factor; -1 = none. */
static int64_t input_dim(const struct sdy_rule *rule, uint32_t factor) {
    for (uint32_t d = 0; d < rule->ranks[0]; d++)
        if (maps_dim(rule, 0, d, factor))
            return d;
    return -1;
}

static bool has_dim(const int64_t *v, size_t n, int64_t x) {
    for (size_t i = 0; i < n; i++)
        if (v[i] == x)
            return true;
    return false;
}

/* The dimensions of the first operand of gather or scatter that indices are for, in the order of their components. */
static const int64_t *indexed_dims(const struct spmd *p, ir_op op, size_t *n) {
    return ir_kind(p->m, op) == IR_GATHER
               ? ir_field_dims(p->m, ir_prop(p->m, op, IR_GATHER_dimension_numbers), IR_GATHER_start_index_map_F, n)
               : ir_field_dims(p->m, ir_prop(p->m, op, IR_SCATTER_scatter_dimension_numbers),
                               IR_SCATTER_scatter_dims_to_operand_dims_F, n);
}

/* Along a dimension that indices are for, each partition takes those of its part: the slices or updates are of one element. */
static bool local_gather(const struct spmd *p, ir_op op, const struct sdy_rule *rule, uint32_t factor) {
    size_t n;
    const int64_t *dims = indexed_dims(p, op, &n);
    return rule->factors[factor].type != SDY_REDUCTION || has_dim(dims, n, input_dim(rule, factor));
}

static bool local_scatter(const struct spmd *p, ir_op op, const struct sdy_rule *rule, uint32_t factor) {
    size_t n;
    const int64_t *dims = indexed_dims(p, op, &n), in = input_dim(rule, factor);
    bool updates = maps(rule, rule->noperands - 1, factor);
    if (rule->factors[factor].type == SDY_REDUCTION)
        return true;
    return in < 0 ? false : updates ? !has_dim(dims, n, in) : rule->noperands == 3 && has_dim(dims, n, in);
}

/* Each window is in the part that its place belongs to. */
static bool local_select_and_scatter(const struct spmd *p, ir_op op, const struct sdy_rule *rule, uint32_t factor) {
    static const enum ir_slot slots[] = {IR_SELECT_AND_SCATTER_window_dimensions, IR_SELECT_AND_SCATTER_window_strides,
                                         IR_SELECT_AND_SCATTER_padding};
    int64_t d = input_dim(rule, factor), v[3] = {1, 1, 0};
    if (rule->factors[factor].type == SDY_PASS_THROUGH)
        return true;
    for (size_t i = 0, n; d >= 0 && i < 3; i++) {
        const int64_t *items = ir_prop_i64s(p->m, op, slots[i], &n);
        size_t at = i == 2 ? 2 * (size_t)d : (size_t)d;
        v[i] = at < n ? items[at] : v[i];
    }
    int64_t windows = d < 0 ? 0 : ir_type_get(p->m, spmd_global_type(p, ir_operand(p->m, op, 1)))->dims[d], size;
    return d >= 0 && v[0] <= v[1] && !v[2] && !__builtin_mul_overflow(windows, v[1], &size) &&
           size == rule->factors[factor].size;
}

static bool local_dynamic_update_slice(const struct spmd *p, ir_op op, const struct sdy_rule *rule, uint32_t factor) {
    (void)p, (void)op;
    return maps(rule, 0, factor);
}

static bool local_reshape(const struct spmd *p, ir_op op, const struct sdy_rule *rule, uint32_t factor) {
    (void)p, (void)op;
    return maps(rule, 0, factor) && maps(rule, 1, factor);
}

/* A factor of operands alone, or of results alone, says nothing of what the call does with parts. */
static bool local_custom_call(const struct spmd *p, ir_op op, const struct sdy_rule *rule, uint32_t factor) {
    bool in = false, out = false;
    for (uint32_t t = 0; t < rule->noperands + rule->nresults; t++)
        *(t < rule->noperands ? &in : &out) |= maps(rule, t, factor);
    return in && out && (rule->custom || is_local_call(p, op));
}

static bool local_all(const struct spmd *p, ir_op op, const struct sdy_rule *rule, uint32_t factor) {
    (void)p, (void)op, (void)rule, (void)factor;
    return true;
}

static bool local_none(const struct spmd *p, ir_op op, const struct sdy_rule *rule, uint32_t factor) {
    (void)p, (void)op, (void)rule, (void)factor;
    return false;
}

static bool (*const local[])(const struct spmd *p, ir_op op, const struct sdy_rule *rule, uint32_t factor) = {
#define OP(id, name, form, operands, results, regions, traits, cost, rule, eval, lower, local, sharding) \
    [IR_##id] = local_##local,
#include "ir/ops.def"
};

bool spmd_is_local(struct spmd *p, ir_op op, const struct sdy_rule *rule, uint32_t factor) {
    enum sdy_factor_type type = rule->factors[factor].type;
    enum ir_op_kind kind = ir_kind(p->m, op);
    if (type == SDY_NEED_REPLICATION || has_scales(p, op))
        return false;
    if (type == SDY_REDUCTION && spmd_combiner(p, op) == IR_OP_NONE)
        return false;
    if (spmd_is_halo(p, op, rule, factor))
        return true;
    if (type == SDY_PERMUTATION && kind != IR_SELECT_AND_SCATTER)
        return false;
    if (kind != IR_CONVOLUTION && kind != IR_CUSTOM_CALL && !is_whole(p, op, rule, factor))
        return false;
    return local[kind](p, op, rule, factor);
}

/* ---- padding ------------------------------------------------------------------------------------- */

/* Whether a factor is of a window of a convolution. */
static bool is_of_kernel(const struct spmd *p, ir_op op, const struct sdy_rule *rule, uint32_t factor) {
    ir_attr dims = ir_prop(p->m, op, IR_CONVOLUTION_dimension_numbers);
    size_t n;
    const int64_t *spatial = ir_field_dims(p->m, dims, IR_CONV_kernel_spatial_dimensions_F, &n);
    for (size_t i = 0; i < n; i++)
        if (maps_dim(rule, 1, spatial[i], factor))
            return true;
    return false;
}

/* Ops that do the same for each element along a factor, sum them with masks, or read those of other parts. What a product with
   an algorithm sums, whose type is narrow or which has terms that cancel, is divided evenly or not at all; so are groups and
   windows of convolutions. */
bool spmd_may_pad(const struct spmd *p, ir_op op, const struct sdy_rule *rule, uint32_t factor) {
    static const enum ir_op_kind kinds[] = {IR_TRANSPOSE, IR_BROADCAST_IN_DIM, IR_RESHAPE, IR_CONCATENATE, IR_SLICE, IR_PAD,
                                            IR_REVERSE, IR_DYNAMIC_SLICE, IR_DYNAMIC_UPDATE_SLICE, IR_GATHER, IR_SCATTER,
                                            IR_REDUCE_WINDOW, IR_SORT, IR_FFT, IR_CHOLESKY, IR_TRIANGULAR_SOLVE, IR_REDUCE,
                                            IR_DOT_GENERAL};
    enum ir_op_kind kind = ir_kind(p->m, op);
    bool may = ir_op_has(kind, IR_T_ELEMENTWISE | IR_T_BROADCASTING);
    if (rule->factors[factor].size == 1) /* which stands for dimensions that are not divided along any other */
        return false;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        may |= kind == kinds[i];
    if (kind == IR_DOT_GENERAL && rule->factors[factor].type == SDY_REDUCTION)
        may = IR_NONE(ir_prop(p->m, op, IR_DOT_GENERAL_algorithm));
    if (kind == IR_CONVOLUTION)
        may = ir_prop_i64(p->m, op, IR_CONVOLUTION_feature_group_count) == 1 &&
              ir_prop_i64(p->m, op, IR_CONVOLUTION_batch_group_count) == 1 && !is_of_kernel(p, op, rule, factor);
    for (uint32_t t = 0; t < rule->noperands + rule->nresults && may; t++)
        for (uint32_t d = 0; d < rule->ranks[t] && may; d++)
            may = !maps_dim(rule, t, d, factor) || rule->dims[t][d].n == 1;
    return may;
}

ir_val spmd_mask_end(struct spmd *p, ir_op op, ir_val v, const struct sdy_sharding *s, uint32_t dim, int64_t size,
                     ir_val fill) {
    if (!spmd_is_uneven(s, dim, size))
        return v;
    if (IR_NONE(fill))
        fill = spmd_make_zero(p, op, ir_type_tensor(p->m, ir_val_type(p->m, v)->elem, NULL, 0, (ir_attr){0}));
    ir_type type = ir_val_get(p->m, v)->type;
    const struct ir_type_data *t = ir_type_get(p->m, type);
    int64_t local_size = t->dims[dim];
    ir_type numbers = ir_type_of(p->m, IR_I32_T, t->dims, t->rank), flags = ir_type_of(p->m, IR_I1_T, t->dims, t->rank);
    const int32_t *held = spmd_held(p, s->mesh, s->dims[dim].axes);
    int32_t *left = ARENA_ARRAY(p->a, int32_t, p->partitions);
    ir_attr none = ir_attr_i64s(p->m, NULL, 0);
    ir_op made;
    for (uint32_t i = 0; i < p->partitions; i++) {
        int64_t n = size - held[i] * local_size;
        left[i] = (int32_t)(n < 0 ? 0 : n < local_size ? n : local_size);
    }
    ir_val in[3] = {spmd_make(p, op, IR_IOTA, NULL, 0, numbers, &made), spmd_begin(p, op, left, 1)};
    ir_set_prop(p->m, made, IR_IOTA_iota_dimension, ir_attr_i64(p->m, dim));
    in[1] = spmd_make(p, op, IR_BROADCAST_IN_DIM, &in[1], 1, numbers, &made);
    ir_set_prop(p->m, made, IR_BROADCAST_IN_DIM_broadcast_dimensions, none);
    in[0] = spmd_make(p, op, IR_COMPARE, in, 2, flags, &made);
    ir_set_prop(p->m, made, IR_COMPARE_comparison_direction,
                ir_attr_enum(p->m, IR_ENUM_COMPARISON_DIRECTION, IR_COMPARISON_DIRECTION_LT));
    in[1] = v;
    in[2] = spmd_make(p, op, IR_BROADCAST_IN_DIM, &fill, 1, type, &made);
    ir_set_prop(p->m, made, IR_BROADCAST_IN_DIM_broadcast_dimensions, none);
    return spmd_make(p, op, IR_SELECT, in, 3, type, NULL);
}

/* An element of a value, all of whose are alike. */
static ir_val first_of(struct spmd *p, ir_op op, ir_val v) {
    for (uint32_t d = 0; d < ir_val_type(p->m, v)->rank; d++)
        v = spmd_make_slice(p, op, v, d, 0, 1);
    return spmd_make(p, op, IR_RESHAPE, &v, 1, ir_type_tensor(p->m, ir_val_type(p->m, v)->elem, NULL, 0, (ir_attr){0}), NULL);
}

/* What is neutral is a reduction's initial value, or what a scatter puts updates into, or they would not be computed on
   shards. */
void spmd_mask(struct spmd *p, ir_op op, const struct sdy_rule *rule, const struct sdy_sharding *const *s) {
    enum ir_op_kind kind = ir_kind(p->m, op);
    bool scatter = kind == IR_SCATTER;
    if (!scatter && kind != IR_REDUCE && !ir_op_has(kind, IR_T_CONTRACTION))
        return;
    for (uint32_t t = scatter ? rule->noperands - 1 : 0; rule && t < rule->noperands; t++)
        for (uint32_t d = 0; d < rule->ranks[t]; d++) {
            uint32_t factor = rule->dims[t][d].v[0];
            const struct sdy_factor *f = &rule->factors[factor];
            if (f->type != SDY_REDUCTION || !spmd_may_pad(p, op, rule, factor) || !spmd_is_uneven(s[t], d, f->size))
                continue;
            ir_val fill = {0};
            if (scatter)
                fill = first_of(p, op, ir_operand(p->m, op, 0));
            else if (kind == IR_REDUCE)
                fill = ir_operand(p->m, op, rule->noperands / 2 + t);
            ir_set_operand(p->m, op, t, spmd_mask_end(p, op, ir_operand(p->m, op, t), s[t], d, f->size, fill));
        }
}

/* ---- attributes --------------------------------------------------------------------------------- */

static int64_t parts_of(const struct sdy_sharding *s, uint32_t dim) {
    return s ? sdy_dim_parts(&s->dims[dim]) : 1;
}

/* The sizes of an attribute, those of divided dimensions divided. */
static void divide_sizes(struct spmd *p, ir_op op, enum ir_slot slot, const struct sdy_sharding *s) {
    size_t n;
    const int64_t *old = ir_prop_i64s(p->m, op, slot, &n);
    int64_t sizes[IR_MAX_RANK];
    for (uint32_t d = 0; d < n && d < IR_MAX_RANK; d++)
        sizes[d] = old[d] / parts_of(s, d) + (old[d] % parts_of(s, d) != 0);
    ir_set_prop(p->m, op, slot, ir_attr_i64s(p->m, sizes, (uint32_t)n));
}

/* Slices of one element along divided dimensions stay so. */
static void divide_slices(struct spmd *p, ir_op op, const struct sdy_sharding *s) {
    size_t n;
    const int64_t *old = ir_prop_i64s(p->m, op, IR_GATHER_slice_sizes, &n);
    int64_t sizes[IR_MAX_RANK];
    for (uint32_t d = 0; d < n && d < IR_MAX_RANK; d++)
        sizes[d] = old[d] / parts_of(s, d) + (old[d] % parts_of(s, d) != 0);
    ir_set_prop(p->m, op, IR_GATHER_slice_sizes, ir_attr_i64s(p->m, sizes, (uint32_t)n));
}

static void divide_groups(struct spmd *p, ir_op op, const struct sdy_sharding *const *s) {
    ir_attr dims = ir_prop(p->m, op, IR_CONVOLUTION_dimension_numbers);
    int64_t features = ir_prop_i64(p->m, op, IR_CONVOLUTION_feature_group_count);
    int64_t batches = ir_prop_i64(p->m, op, IR_CONVOLUTION_batch_group_count);
    int64_t feature = parts_of(s[0], (uint32_t)ir_field_i64(p->m, dims, IR_CONV_input_feature_dimension_F));
    int64_t kernel_in = parts_of(s[1], (uint32_t)ir_field_i64(p->m, dims, IR_CONV_kernel_input_feature_dimension_F));
    int64_t batch = parts_of(s[0], (uint32_t)ir_field_i64(p->m, dims, IR_CONV_input_batch_dimension_F));
    int64_t batch_out = parts_of(s[2], (uint32_t)ir_field_i64(p->m, dims, IR_CONV_output_batch_dimension_F));
    if (features > 1)
        ir_set_prop(p->m, op, IR_CONVOLUTION_feature_group_count, ir_attr_i64(p->m, features / (feature / kernel_in)));
    if (batches > 1)
        ir_set_prop(p->m, op, IR_CONVOLUTION_batch_group_count, ir_attr_i64(p->m, batches / (batch / batch_out)));
}

/* ---- indices ------------------------------------------------------------------------------------ */

/* The indices of a gather or scatter, of which some components are for divided dimensions. */
struct indices {
    size_t n;                       /* components */
    const int64_t *dims;            /* of the first operand, by component */
    int64_t vector;                 /* the dimension of the components; the rank where there is one alone */
    const int64_t *sizes;           /* of slices; NULL: one element */
    const struct ir_type_data *in;  /* the first operand, local */
    const struct ir_type_data *whole; /* and global */
    const struct sdy_sharding *s;   /* its sharding */
    uint32_t operand;
};

/* False where indices are for nothing that is divided. The first operand is local already; `whole` is its global type. */
static bool indices_of(struct spmd *p, ir_op op, ir_type whole, const struct sdy_sharding *s, struct indices *x) {
    bool gather = ir_kind(p->m, op) == IR_GATHER, any = false;
    size_t nsizes;
    *x = (struct indices){.s = s, .operand = 1, .in = ir_val_type(p->m, ir_operand(p->m, op, 0)),
                          .whole = ir_type_get(p->m, whole)};
    x->dims = indexed_dims(p, op, &x->n);
    ir_attr numbers = ir_prop(p->m, op, gather ? IR_GATHER_dimension_numbers : IR_SCATTER_scatter_dimension_numbers);
    x->vector = ir_field_i64(p->m, numbers, gather ? IR_GATHER_index_vector_dim_F : IR_SCATTER_index_vector_dim_F);
    x->sizes = gather ? ir_prop_i64s(p->m, op, IR_GATHER_slice_sizes, &nsizes) : NULL;
    for (size_t i = 0; s && i < x->n; i++)
        any |= s->dims[x->dims[i]].axes.n && (!x->sizes || x->sizes[x->dims[i]] == 1);
    return any;
}

static bool is_divided(const struct indices *x, size_t component) {
    int64_t d = x->dims[component];
    return x->s->dims[d].axes.n && (!x->sizes || x->sizes[d] == 1);
}

/* A value for each component, in the shape of the indices. `rows`: a row for each partition, else one row. */
static ir_val components(struct spmd *p, ir_op at, const struct indices *x, const int64_t *v, bool rows, ir_type type) {
    const struct ir_type_data *t = ir_type_get(p->m, type);
    enum ir_dtype dtype = t->dtype;
    int64_t n = (int64_t)x->n, dims[2] = {rows ? p->partitions : 1, n}, sizes[2] = {1, n}, along = x->vector;
    bool single = along == t->rank;
    size_t bytes = ir_dtype_get(dtype)->bytes, count = (size_t)(dims[0] * n);
    char *data = ARENA_ARRAY(p->a, char, count * bytes + 1);
    for (size_t i = 0; i < count; i++)
        memcpy(data + i * bytes, &v[i], bytes); /* little-endian */
    ir_op op;
    ir_type table = ir_type_of(p->m, dtype, dims, 2);
    ir_val out = spmd_make(p, at, IR_CONSTANT, NULL, 0, table, &op);
    ir_set_prop(p->m, op, IR_CONSTANT_value, ir_attr_dense(p->m, table, data, count * bytes, false, false));
    if (rows) {
        static const uint32_t zero = 0;
        ir_type index = ir_type_of(p->m, IR_UI32_T, NULL, 0);
        ir_val in[3] = {out};
        in[1] = spmd_make_id(p, at);
        in[2] = spmd_make(p, at, IR_CONSTANT, NULL, 0, index, &op);
        ir_set_prop(p->m, op, IR_CONSTANT_value, ir_attr_dense(p->m, index, &zero, sizeof zero, false, false));
        out = spmd_make(p, at, IR_DYNAMIC_SLICE, in, 3, ir_type_of(p->m, dtype, sizes, 2), &op);
        ir_set_prop(p->m, op, IR_DYNAMIC_SLICE_slice_sizes, ir_attr_i64s(p->m, sizes, 2));
    }
    out = spmd_make(p, at, IR_RESHAPE, &out, 1, ir_type_of(p->m, dtype, &n, !single), NULL);
    out = spmd_make(p, at, IR_BROADCAST_IN_DIM, &out, 1, type, &op);
    ir_set_prop(p->m, op, IR_BROADCAST_IN_DIM_broadcast_dimensions, ir_attr_i64s(p->m, &along, !single));
    return out;
}

/* The type that places are computed in: signed, and wide enough. */
static ir_type index_type(struct spmd *p, ir_val v) {
    const struct ir_type_data *t = ir_val_type(p->m, v);
    const struct ir_dtype_info *info = ir_dtype_get(t->dtype);
    bool narrow = info->bits < 32 || t->dtype == IR_I32_T;
    return ir_type_of(p->m, narrow ? IR_I32_T : IR_I64_T, t->dims, t->rank);
}

/* Indices from where this partition's part begins; those of gather first within bounds, as it would bring them. */
static void localize_indices(struct spmd *p, ir_op op, const struct indices *x) {
    ir_val v = ir_operand(p->m, op, x->operand);
    ir_type old = ir_val_get(p->m, v)->type, type = index_type(p, v);
    int64_t *begins = ARENA_ARRAY(p->a, int64_t, p->partitions * x->n), *most = ARENA_ARRAY(p->a, int64_t, x->n);
    int64_t *least = ARENA_ARRAY(p->a, int64_t, x->n);
    bool wide = ir_type_get(p->m, old)->dtype == IR_UI64_T;
    for (size_t i = 0; i < x->n; i++) {
        int64_t d = x->dims[i], size = x->whole->dims[d];
        const int32_t *held = spmd_held(p, x->s->mesh, x->s->dims[d].axes);
        most[i] = is_divided(x, i) ? size - 1 : INT32_MAX;
        least[i] = is_divided(x, i) ? 0 : INT32_MIN;
        for (uint32_t k = 0; k < p->partitions && is_divided(x, i); k++)
            begins[k * x->n + i] = held[k] * x->in->dims[d];
    }
    if (x->sizes && wide) {
        ir_val in[2] = {v, components(p, op, x, most, false, old)};
        v = spmd_make(p, op, IR_MINIMUM, in, 2, old, NULL);
    }
    if (!IR_SAME(old, type))
        v = spmd_make(p, op, IR_CONVERT, &v, 1, type, NULL);
    if (x->sizes) {
        ir_val in[3] = {components(p, op, x, least, false, type), v, components(p, op, x, most, false, type)};
        v = spmd_make(p, op, IR_CLAMP, in, 3, type, NULL);
    }
    ir_val in[2] = {v, components(p, op, x, begins, true, type)};
    ir_set_operand(p->m, op, x->operand, spmd_make(p, op, IR_SUBTRACT, in, 2, type, NULL));
}

static ir_val all_of(struct spmd *p, ir_op at, ir_val v, int64_t dim) {
    const struct ir_type_data *t = ir_val_type(p->m, v);
    static const uint8_t yes = 1;
    int64_t dims[IR_MAX_RANK];
    uint32_t n = 0;
    for (uint32_t d = 0; d < t->rank; d++)
        if (d != dim)
            dims[n++] = t->dims[d];
    ir_type scalar = ir_type_of(p->m, IR_I1_T, NULL, 0), type = ir_type_of(p->m, IR_I1_T, dims, n);
    ir_op op;
    ir_val in[2] = {v, spmd_make(p, at, IR_CONSTANT, NULL, 0, scalar, &op)};
    ir_set_prop(p->m, op, IR_CONSTANT_value, ir_attr_dense(p->m, scalar, &yes, 1, false, false));
    return spmd_make_reduce(p, at, in, dim, IR_AND, type);
}

/* What was gathered from this partition's part, and what is neutral for the rest. */
static ir_val mask_gathered(struct spmd *p, ir_op op, const struct indices *x, ir_op at) {
    ir_val places = ir_operand(p->m, op, x->operand), v = ir_result(p->m, op, 0), valid[2];
    ir_type type = ir_val_get(p->m, places)->type, result = ir_val_get(p->m, v)->type;
    const struct ir_type_data *t = ir_type_get(p->m, type), *out = ir_type_get(p->m, result);
    uint32_t rank = t->rank;
    int64_t *least = ARENA_ARRAY(p->a, int64_t, x->n), *most = ARENA_ARRAY(p->a, int64_t, x->n), batch[IR_MAX_RANK];
    for (size_t i = 0; i < x->n; i++) {
        least[i] = is_divided(x, i) ? 0 : INT32_MIN;
        most[i] = is_divided(x, i) ? x->in->dims[x->dims[i]] - 1 : INT32_MAX;
    }
    ir_type flags = ir_type_of(p->m, IR_I1_T, t->dims, t->rank), all = ir_type_of(p->m, IR_I1_T, out->dims, out->rank);
    for (int i = 0; i < 2; i++) {
        ir_val in[2] = {places, components(p, at, x, i ? most : least, false, type)};
        ir_op compare;
        valid[i] = spmd_make(p, at, IR_COMPARE, in, 2, flags, &compare);
        ir_attr direction = ir_attr_enum(p->m, IR_ENUM_COMPARISON_DIRECTION,
                                         i ? IR_COMPARISON_DIRECTION_LE : IR_COMPARISON_DIRECTION_GE);
        ir_set_prop(p->m, compare, IR_COMPARE_comparison_direction, direction);
    }
    ir_val mask = spmd_make(p, at, IR_AND, valid, 2, flags, NULL);
    if (x->vector < rank)
        mask = all_of(p, at, mask, x->vector);
    size_t noffset;
    uint32_t n = 0;
    ir_attr numbers = ir_prop(p->m, op, IR_GATHER_dimension_numbers);
    const int64_t *offset = ir_field_dims(p->m, numbers, IR_GATHER_offset_dims_F, &noffset);
    for (uint32_t d = 0; d < ir_type_get(p->m, result)->rank; d++)
        if (!has_dim(offset, noffset, d))
            batch[n++] = d;
    ir_op broadcast;
    mask = spmd_make(p, at, IR_BROADCAST_IN_DIM, &mask, 1, all, &broadcast);
    ir_set_prop(p->m, broadcast, IR_BROADCAST_IN_DIM_broadcast_dimensions, ir_attr_i64s(p->m, batch, n));
    ir_val in[3] = {mask, v, spmd_make_zero(p, at, result)};
    return spmd_make(p, at, IR_SELECT, in, 3, result, NULL);
}

void spmd_localize(struct spmd *p, ir_op op, const ir_type *types, const struct sdy_sharding *const *s) {
    enum ir_op_kind kind = ir_kind(p->m, op);
    uint32_t nin = ir_op_get(p->m, op)->noperands;
    if (kind == IR_CONSTANT || kind == IR_SDY_CONSTANT) {
        const struct ir_attr_data *value = ir_attr_get(p->m, ir_constant_value(p->m, op));
        ir_type type = spmd_local_type(p, ir_val_get(p->m, ir_result(p->m, op, 0))->type, s[0]);
        enum ir_slot slot = kind == IR_CONSTANT ? IR_CONSTANT_value : IR_SDY_CONSTANT_value;
        ir_set_prop(p->m, op, slot, ir_attr_dense(p->m, type, value->data, value->nbytes, true, false));
    } else if (kind == IR_SLICE) { /* divided dimensions are not cut */
        divide_sizes(p, op, IR_SLICE_limit_indices, s[nin]);
    } else if (kind == IR_DYNAMIC_SLICE) {
        if (!spmd_slice(p, op, types, s))
            divide_sizes(p, op, IR_DYNAMIC_SLICE_slice_sizes, s[nin]);
    } else if (kind == IR_DYNAMIC_UPDATE_SLICE) {
        spmd_update(p, op, types, s);
    } else if (kind == IR_GATHER) {
        struct indices x;
        if (indices_of(p, op, types[0], s[0], &x))
            localize_indices(p, op, &x);
        divide_slices(p, op, s[0]);
    } else if (kind == IR_SCATTER) {
        struct indices x;
        if (nin == 3 && indices_of(p, op, types[0], s[0], &x))
            localize_indices(p, op, &x);
    } else if (kind == IR_CONVOLUTION) {
        divide_groups(p, op, s);
    }
}

/* The numbers of this partition's part of the dimension, from those that begin at 0: added as integers, since a sum of rounded
   numbers may be another than the rounded sum. */
static ir_val offset_iota(struct spmd *p, ir_op op, const struct sdy_sharding *s, ir_op at) {
    ir_val v = ir_result(p->m, op, 0);
    uint32_t dim = (uint32_t)ir_prop_i64(p->m, op, IR_IOTA_iota_dimension);
    ir_type type = ir_val_get(p->m, v)->type;
    const struct ir_type_data *t = ir_type_get(p->m, type);
    bool integer = ir_dtype_get(t->dtype)->cls != IR_FLOAT && ir_dtype_get(t->dtype)->cls != IR_COMPLEX_CLASS;
    ir_type counted = integer ? type : ir_type_of(p->m, IR_I32_T, t->dims, t->rank);
    int64_t size = t->dims[dim];
    if (!s->dims[dim].axes.n)
        return v;
    ir_op made;
    ir_val both[2] = {v};
    if (!integer) {
        both[0] = spmd_make(p, at, IR_IOTA, NULL, 0, counted, &made);
        ir_set_prop(p->m, made, IR_IOTA_iota_dimension, ir_attr_i64(p->m, dim));
    }
    ir_val number = spmd_begin(p, at, spmd_held(p, s->mesh, s->dims[dim].axes), size);
    if (integer)
        number = spmd_make(p, at, IR_CONVERT, &number, 1, ir_type_of(p->m, t->dtype, NULL, 0), NULL);
    both[1] = spmd_make(p, at, IR_BROADCAST_IN_DIM, &number, 1, counted, &made);
    ir_set_prop(p->m, made, IR_BROADCAST_IN_DIM_broadcast_dimensions, ir_attr_i64s(p->m, NULL, 0));
    ir_val out = spmd_make(p, at, IR_ADD, both, 2, counted, NULL);
    return integer ? out : spmd_make(p, at, IR_CONVERT, &out, 1, type, NULL);
}

ir_val spmd_finish(struct spmd *p, ir_op op, const ir_type *types, const struct sdy_sharding *const *s, uint32_t result,
                   ir_op at) {
    enum ir_op_kind kind = ir_kind(p->m, op);
    struct indices x;
    if (kind == IR_IOTA && s[0])
        return offset_iota(p, op, s[0], at);
    if (kind == IR_GATHER && indices_of(p, op, types[0], s[0], &x))
        return mask_gathered(p, op, &x, at);
    return ir_result(p->m, op, result);
}
