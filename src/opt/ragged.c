/* custom_call @ragged_all_to_all(operand, output, input_offsets, send_sizes, output_offsets, recv_sizes), of JAX: member i of
 * a group of n sends rows input_offsets[k] … input_offsets[k] + send_sizes[k] - 1 of its operand to member k, where they become
 * the rows of the result from output_offsets[k] on; its other rows are those of `output`. Lists of u n numbers are u blocks of
 * rows for each member, those of member k from number u k on.
 *
 * An all_to_all brings what each member says of this one, an all_gather the operands in full, since sizes are not known before
 * the run; each row of the result is then looked up. Rows that would be outside of the result are dropped, those outside of an
 * operand are its nearest row, and where two members write one row the last does. */
#include "opt/ragged.h"

#include "opt/fused.h"

enum { OPERAND, OUTPUT, INPUT_OFFSETS, SEND_SIZES, OUTPUT_OFFSETS, RECV_SIZES, OPERANDS };

bool opt_is_ragged_all_to_all(const struct ir_module *m, ir_op op) {
    return ir_kind(m, op) == IR_CUSTOM_CALL && str_is(ir_prop_str(m, op, IR_CUSTOM_CALL_call_target_name), "ragged_all_to_all");
}

/* ---- what is given --------------------------------------------------------------------------- */

struct ragged {
    struct fused c;        /* for building */
    int64_t n, blocks;     /* members of a group, blocks of rows of all members that one receives */
    int64_t rows, from;    /* of the result, of the operand */
    ir_attr groups, channel, global;
};

/* How many offsets or sizes; 0: that is not what it is. */
static int64_t list_length(const struct fused *c, uint32_t i) {
    const struct ir_type_data *t = fused_shape(c, fused_in(c, i));
    return rules_static(&c->r, fused_in(c, i)) && rules_is_integer(&c->r, fused_in(c, i)) && t->rank == 1 ? t->dims[0] : 0;
}

static bool read(struct ragged *x) {
    struct fused *c = &x->c;
    struct ir_module *m = c->r.m;
    const struct ir_op_data *o = ir_op_get(m, c->op);
    ir_attr config = ir_prop(m, c->op, IR_CUSTOM_CALL_backend_config);
    if (ir_attr_get(m, config)->kind != IR_ATTR_DICT || o->noperands != OPERANDS || o->nresults != 1)
        return false;
    x->groups = ir_dict_find(m, config, STR("replica_groups"));
    ir_attr channel = ir_dict_find(m, config, STR("channel_id"));
    const struct ir_attr_data *groups = ir_attr_get(m, x->groups);
    const struct ir_type_data *t = groups->kind == IR_ATTR_DENSE ? ir_type_get(m, groups->type) : NULL;
    if (!t || t->rank != 2 || t->dims[1] < 1 || t->dtype != IR_I64_T)
        return false;
    x->n = t->dims[1];
    if (!IR_NONE(channel)) {
        x->channel = ir_attr_struct(m, IR_STRUCT_CHANNEL_HANDLE, (ir_attr[]){channel, ir_attr_i64(m, 1)});
        x->global = ir_attr_unit(m);
    }
    if (!rules_static(&c->r, fused_in(c, OPERAND)) || !rules_static(&c->r, fused_in(c, OUTPUT)) ||
        !IR_SAME(rules_type(&c->r, fused_in(c, OUTPUT)), rules_result(&c->r, c->op)))
        return false;
    const struct ir_type_data *in = fused_shape(c, fused_in(c, OPERAND)), *out = fused_shape(c, fused_in(c, OUTPUT));
    bool fits = in->rank == out->rank && in->rank > 0 && IR_SAME(in->elem, out->elem) && !in->quant;
    for (uint32_t i = 1; i < in->rank && fits; i++)
        fits = in->dims[i] == out->dims[i];
    x->blocks = list_length(c, INPUT_OFFSETS);
    for (uint32_t i = SEND_SIZES; i < OPERANDS && fits; i++)
        fits = list_length(c, i) == x->blocks;
    if (!fits || x->blocks < 1 || x->blocks % x->n)
        return false;
    x->from = in->dims[0];
    x->rows = out->dims[0];
    int64_t all;
    return !__builtin_mul_overflow(x->n, x->from, &all);
}

/* ---- building -------------------------------------------------------------------------------- */

static ir_val make(struct ragged *x, enum ir_op_kind kind, const ir_val *in, uint32_t n, enum ir_dtype t, const int64_t *dims,
                   uint32_t rank) {
    return ir_result(x->c.r.m, rules_make(&x->c.r, x->c.op, kind, in, n, ir_type_of(x->c.r.m, t, dims, rank)), 0);
}

static void set(struct ragged *x, ir_val v, enum ir_slot slot, ir_attr a) {
    ir_set_prop(x->c.r.m, ir_val_get(x->c.r.m, v)->op, slot, a);
}

/* Integers of a shape, all of them `value`. */
static ir_val number(struct ragged *x, int64_t value, const int64_t *dims, uint32_t rank) {
    return rules_make_splat(&x->c.r, x->c.op, ir_type_of(x->c.r.m, IR_I64_T, dims, rank), &value);
}

static ir_val position(struct ragged *x, const int64_t dims[2], int64_t dim) {
    ir_val v = make(x, IR_IOTA, NULL, 0, IR_I64_T, dims, 2);
    set(x, v, IR_IOTA_iota_dimension, ir_attr_i64(x->c.r.m, dim));
    return v;
}

static ir_val compare(struct ragged *x, int direction, ir_val a, ir_val b) {
    const struct ir_type_data *t = fused_shape(&x->c, a);
    ir_val v = make(x, IR_COMPARE, (ir_val[]){a, b}, 2, IR_I1_T, t->dims, t->rank);
    set(x, v, IR_COMPARE_comparison_direction, ir_attr_enum(x->c.r.m, IR_ENUM_COMPARISON_DIRECTION, direction));
    return v;
}

/* [blocks, 3], by member: where in its operand what it has for this one begins, how many rows, and where they go. */
static ir_val exchange_lists(struct ragged *x) {
    struct ir_module *m = x->c.r.m;
    int64_t column[2] = {x->blocks, 1}, all[2] = {x->blocks, 3};
    ir_val in[3];
    for (uint32_t i = 0; i < 3; i++)
        in[i] = fused_reshape(&x->c, fused_convert(&x->c, fused_in(&x->c, INPUT_OFFSETS + i), IR_I64_T), column, 2);
    ir_val joined = make(x, IR_CONCATENATE, in, 3, IR_I64_T, all, 2);
    set(x, joined, IR_CONCATENATE_dimension, ir_attr_i64(m, 1));
    ir_val v = make(x, IR_ALL_TO_ALL, &joined, 1, IR_I64_T, all, 2);
    set(x, v, IR_ALL_TO_ALL_split_dimension, ir_attr_i64(m, 0));
    set(x, v, IR_ALL_TO_ALL_concat_dimension, ir_attr_i64(m, 0));
    set(x, v, IR_ALL_TO_ALL_split_count, ir_attr_i64(m, x->n));
    set(x, v, IR_ALL_TO_ALL_replica_groups, x->groups);
    set(x, v, IR_ALL_TO_ALL_channel_handle, x->channel);
    return v;
}

/* Column i of that, for each row of the result: [rows, blocks]. */
static ir_val column(struct ragged *x, ir_val lists, int64_t i) {
    int64_t dims[2] = {x->rows, x->blocks}, at = 1;
    return fused_spread(&x->c, fused_reshape(&x->c, fused_slice(&x->c, lists, 1, i, i + 1), &x->blocks, 1), dims, 2, &at);
}

/* By row of the result: the row of the operands, one after the other, that it becomes; -1 = none. */
static ir_val sources(struct ragged *x, ir_val lists) {
    struct fused *c = &x->c;
    int64_t dims[2] = {x->rows, x->blocks}, dim = 1;
    ir_val zero = number(x, 0, dims, 2), last = number(x, x->from - 1, dims, 2);
    ir_val begin = column(x, lists, 0), size = column(x, lists, 1), to = column(x, lists, 2);
    ir_val at = fused_binary(c, IR_SUBTRACT, position(x, dims, 0), to);
    ir_val inside = fused_binary(c, IR_AND, compare(x, IR_COMPARISON_DIRECTION_GE, at, zero),
                                 compare(x, IR_COMPARISON_DIRECTION_LT, at, size));
    ir_val row = fused_binary(c, IR_MINIMUM, fused_binary(c, IR_MAXIMUM, fused_binary(c, IR_ADD, begin, at), zero), last);
    ir_val member = fused_binary(c, IR_DIVIDE, position(x, dims, 1), number(x, x->blocks / x->n, dims, 2));
    ir_val before = fused_binary(c, IR_MULTIPLY, member, number(x, x->from, dims, 2));
    ir_val source = fused_select(c, inside, fused_binary(c, IR_ADD, before, row), number(x, -1, dims, 2));
    ir_val in[2] = {source, number(x, -1, NULL, 0)};
    ir_op reduce = rules_make_reduce(&c->r, c->op, IR_MAXIMUM, in, ir_type_of(c->r.m, IR_I64_T, dims, 1));
    ir_set_prop(c->r.m, reduce, IR_REDUCE_dimensions, ir_attr_i64s(c->r.m, &dim, 1));
    return ir_result(c->r.m, reduce, 0);
}

static ir_val gather_operands(struct ragged *x) {
    struct ir_module *m = x->c.r.m;
    ir_val in = fused_in(&x->c, OPERAND);
    const struct ir_type_data *t = fused_shape(&x->c, in);
    int64_t dims[IR_MAX_RANK];
    memcpy(dims, t->dims, t->rank * sizeof *dims);
    dims[0] = x->n * x->from;
    ir_val v = make(x, IR_ALL_GATHER, &in, 1, t->dtype, dims, t->rank);
    set(x, v, IR_ALL_GATHER_all_gather_dim, ir_attr_i64(m, 0));
    set(x, v, IR_ALL_GATHER_replica_groups, x->groups);
    set(x, v, IR_ALL_GATHER_channel_handle, x->channel);
    set(x, v, IR_ALL_GATHER_use_global_device_ids, x->global);
    return v;
}

/* The rows of `all` with these numbers. */
static ir_val rows_of(struct ragged *x, ir_val all, ir_val numbers) {
    struct ir_module *m = x->c.r.m;
    const struct ir_type_data *t = fused_shape(&x->c, all);
    int64_t dims[IR_MAX_RANK], sizes[IR_MAX_RANK], offset[IR_MAX_RANK], zero = 0, rank = t->rank;
    for (int64_t i = 0; i < rank; i++) {
        dims[i] = i ? t->dims[i] : x->rows;
        sizes[i] = i ? t->dims[i] : 1;
        offset[i] = i + 1;
    }
    ir_attr none = ir_attr_i64s(m, NULL, 0), first = ir_attr_i64s(m, &zero, 1);
    ir_attr parts[] = {ir_attr_i64s(m, offset, (uint32_t)rank - 1), first, none, none, first, ir_attr_i64(m, 1)};
    ir_val in[2] = {all, fused_reshape(&x->c, numbers, (int64_t[]){x->rows, 1}, 2)};
    ir_val v = make(x, IR_GATHER, in, 2, t->dtype, dims, (uint32_t)rank);
    set(x, v, IR_GATHER_dimension_numbers, ir_attr_struct(m, IR_STRUCT_GATHER, parts));
    set(x, v, IR_GATHER_slice_sizes, ir_attr_i64s(m, sizes, (uint32_t)rank));
    return v;
}

hilo_status opt_ragged_all_to_all(struct opt_map *map, ir_op op) {
    struct ir_module *m = map->o->m;
    struct ragged x = {.c = {.r = {.o = map->o, .m = m}, .op = op, .attributes = ""}};
    if (!read(&x))
        return ir_op_error(m, map->o->d, op, HILO_INVALID_ARGUMENT, NULL,
                           "calls ragged_all_to_all: expected an operand and an output that differ in the first size alone, "
                           "four lists of as many integers, a multiple of the members of a group, and replica_groups in "
                           "backend_config");
    ir_val v = fused_in(&x.c, OUTPUT);
    if (x.from && x.rows) {
        const struct ir_type_data *t = fused_shape(&x.c, v);
        int64_t dims[IR_MAX_RANK], at = 0;
        uint32_t rank = t->rank;
        memcpy(dims, t->dims, rank * sizeof *dims);
        ir_val source = sources(&x, exchange_lists(&x)), all = gather_operands(&x), zero = number(&x, 0, &x.rows, 1);
        ir_val written = compare(&x, IR_COMPARISON_DIRECTION_GE, source, zero);
        ir_val rows = rows_of(&x, all, fused_binary(&x.c, IR_MAXIMUM, source, zero));
        v = fused_select(&x.c, fused_spread(&x.c, written, dims, rank, &at), rows, v);
    }
    opt_replace(map, op, &v);
    map->o->changes++;
    return HILO_OK;
}
