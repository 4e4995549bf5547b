/* partition
 * does       rewrites a program over global arrays (Shardy, GSPMD) as the program of one partition, over local shards: main
 *            takes and returns its shards, manual computations are inlined, and ops on shards are computed locally
 * requires   nothing; calls of functions that hold manual computations are to be inlined before
 * preserves  nothing
 * cost       linear, and the number of partitions for each value that is resharded
 * example    func @main(%0: tensor<8xf32> {sdy.sharding = <@mesh, [{"x"}]>})  ⇒  func @main(%0: tensor<2xf32>)
 *
 * Outside of manual computations those ops are sharded that then need no data of other partitions (propagate.h). Operands of
 * others are gathered where they are defined, and each partition computes all of such an op. A value exists replicated, as
 * shards, or both; each form is made once, after its definition, so that it dominates every use. Module attributes give the
 * shardings of parameters and results to frameworks (mhlo.spmd_parameters_shardings, mhlo.spmd_output_sharding). */
#include "opt/propagate.h"
#include "opt/rewrite.h"

#include <inttypes.h>

/* A form in which partitions have a value. */
struct shard {
    struct sharding sharding;
    ir_val v;
    struct shard *next;
};

/* A value that is sharded, or both sharded and replicated. */
struct place {
    ir_type type;           /* global */
    ir_val replicated;      /* or none */
    struct shard *shards;   /* the one that its definition requires first */
    const int32_t *group;   /* partitions of one number see the same global value; by partition */
};

struct partition {
    struct opt_map map;     /* wholes of replaced values */
    struct opt_ids of;      /* by value: 1 + its place */
    struct { struct place *v; uint32_t n, cap; } places;
    ir_op func;
    uint32_t partitions, replicas;
    const int32_t *group;   /* of the computation that is walked */
    struct propagation *propagation;
    struct opt_ids gspmd;   /* by op: a constraint of GSPMD's */
    struct opt_ids told;    /* by attribute: a sharding of GSPMD's that is not supported, of which a warning told */
};

/* ---- making forms ---------------------------------------------------------------------------- */

static ir_val new_op(struct partition *c, enum ir_op_kind kind, const ir_val *in, uint32_t nin, ir_type type, ir_op *op) {
    *op = ir_op_new(c->map.o->m, kind, in, nin, &type, 1, 0);
    return ir_result(c->map.o->m, *op, 0);
}

/* Inserts an op after the definition of `v`: after its op, or first in the block whose argument it is. */
static void insert_after(struct partition *c, ir_val v, ir_op op) {
    struct ir_module *m = c->map.o->m;
    const struct ir_val_data *x = ir_val_get(m, v);
    ir_insert_before(m, IR_NONE(x->op) ? ir_block_get(m, x->block)->first : ir_op_get(m, x->op)->next, op);
}

static bool same_elsewhere(const struct partition *c, const struct sharding *s, uint32_t dim, uint32_t p, uint32_t q) {
    for (uint32_t d = 0; d < s->rank; d++)
        if (d != dim && s->held[(size_t)d * c->partitions + p] != s->held[(size_t)d * c->partitions + q])
            return false;
    return true;
}

/* Groups of partitions, a row each, whose shards of a dimension make up all of it, in order. Where several hold one part,
   the first of each makes a group, the second of each the next. */
static ir_attr groups_along(struct partition *c, const struct sharding *s, uint32_t dim, const int32_t *group) {
    struct opt *o = c->map.o;
    const int32_t *held = s->held + (size_t)dim * c->partitions;
    int64_t parts = s->parts[dim], rows = c->partitions / parts, row = 0;
    int64_t *ids = ARENA_ARRAY(&o->scratch, int64_t, (size_t)c->replicas * c->partitions);
    int64_t dims[2] = {c->replicas * rows, parts};
    for (uint32_t p = 0; p < c->partitions; p++) {
        if (held[p] != 0)
            continue;
        uint32_t before = 0;
        for (uint32_t q = 0; q < p; q++)
            before += held[q] == 0 && group[q] == group[p] && same_elsewhere(c, s, dim, p, q);
        for (int64_t part = 0; part < parts; part++) {
            uint32_t skip = before, q = 0;
            while (q < c->partitions && (held[q] != part || group[q] != group[p] || !same_elsewhere(c, s, dim, p, q) || skip--))
                q++;
            for (uint32_t r = 0; r < c->replicas && row < rows; r++)
                ids[(r * rows + row) * parts + part] = (int64_t)r * c->partitions + q;
        }
        row++;
    }
    return ir_attr_dense_i64s(o->m, ids, dims, 2);
}

static ir_val gather(struct partition *c, ir_val v, const struct sharding *s, uint32_t dim, const int32_t *group) {
    struct ir_module *m = c->map.o->m;
    const struct ir_type_data *t = ir_val_type(m, v);
    int64_t dims[IR_MAX_RANK];
    ir_op op;
    memcpy(dims, t->dims, t->rank * sizeof *dims);
    dims[dim] *= s->parts[dim];
    ir_val out = new_op(c, IR_ALL_GATHER, &v, 1, ir_type_with_dims(m, ir_val_get(m, v)->type, dims, t->rank), &op);
    ir_attr channel[] = {ir_attr_i64(m, 1), ir_attr_i64(m, 1)};
    ir_set_prop(m, op, IR_ALL_GATHER_all_gather_dim, ir_attr_i64(m, dim));
    ir_set_prop(m, op, IR_ALL_GATHER_replica_groups, groups_along(c, s, dim, group));
    ir_set_prop(m, op, IR_ALL_GATHER_channel_handle, ir_attr_struct(m, IR_STRUCT_CHANNEL_HANDLE, channel));
    ir_set_prop(m, op, IR_ALL_GATHER_use_global_device_ids, ir_attr_unit(m));
    insert_after(c, v, op);
    return out;
}

/* A replicated value without elements. */
static ir_val empty_after(struct partition *c, ir_val v, ir_type type) {
    struct ir_module *m = c->map.o->m;
    ir_op op;
    ir_val out = new_op(c, IR_CONSTANT, NULL, 0, type, &op);
    ir_set_prop(m, op, IR_CONSTANT_value, ir_attr_dense(m, type, NULL, 0, false, false));
    insert_after(c, v, op);
    return out;
}

static ir_val replicated_value(struct partition *c, ir_val v) {
    uint32_t at = opt_ids_get(&c->of, v.i);
    if (!at)
        return opt_map_get(&c->map, v);
    struct place *x = &c->places.v[at - 1];
    if (IR_NONE(x->replicated)) {
        const struct shard *s = x->shards;
        x->replicated = s->v;
        if (ir_val_count(c->map.o->m, s->v) == 0)
            x->replicated = empty_after(c, s->v, x->type);
        else
            for (uint32_t d = 0; d < s->sharding.rank; d++)
                if (s->sharding.parts[d] > 1)
                    x->replicated = gather(c, x->replicated, &s->sharding, d, x->group);
    }
    return x->replicated;
}

/* A constant of i32. */
static ir_val table(struct partition *c, ir_val after, const int32_t *v, int64_t n, uint32_t rank) {
    struct ir_module *m = c->map.o->m;
    ir_op op;
    ir_type type = ir_type_of(m, IR_I32_T, &n, rank);
    ir_val out = new_op(c, IR_CONSTANT, NULL, 0, type, &op);
    ir_set_prop(m, op, IR_CONSTANT_value, ir_attr_dense(m, type, v, (size_t)n * sizeof *v, false, false));
    insert_after(c, after, op);
    return out;
}

/* Where this partition's part of a dimension begins, from a table by partition. */
static ir_val begin_of(struct partition *c, ir_val after, const int32_t *held, int64_t size) {
    struct opt *o = c->map.o;
    struct ir_module *m = o->m;
    int32_t *begins = ARENA_ARRAY(&o->scratch, int32_t, c->partitions);
    for (uint32_t p = 0; p < c->partitions; p++)
        begins[p] = (int32_t)(held[p] * size);
    ir_op op, slice, reshape;
    int64_t one = 1;
    ir_val in[2];
    in[0] = table(c, after, begins, c->partitions, 1);
    in[1] = new_op(c, IR_PARTITION_ID, NULL, 0, ir_type_of(m, IR_UI32_T, NULL, 0), &op);
    insert_after(c, in[0], op);
    ir_val part = new_op(c, IR_DYNAMIC_SLICE, in, 2, ir_type_of(m, IR_I32_T, &one, 1), &slice);
    ir_set_prop(m, slice, IR_DYNAMIC_SLICE_slice_sizes, ir_attr_i64s(m, &one, 1));
    insert_after(c, in[1], slice);
    ir_val out = new_op(c, IR_RESHAPE, &part, 1, ir_type_of(m, IR_I32_T, NULL, 0), &reshape);
    insert_after(c, part, reshape);
    return out;
}

/* This partition's shard of a replicated value. */
static ir_val cut(struct partition *c, ir_val replicated, const struct sharding *s) {
    struct ir_module *m = c->map.o->m;
    ir_type type = sharding_type(m, s, ir_val_get(m, replicated)->type);
    const struct ir_type_data *t = ir_type_get(m, type);
    static const int32_t zero = 0;
    ir_val in[IR_MAX_RANK + 1] = {replicated}, last = replicated;
    for (uint32_t d = 0; d < s->rank; d++)
        last = in[d + 1] = s->parts[d] > 1 ? begin_of(c, last, s->held + (size_t)d * c->partitions, t->dims[d])
                                           : table(c, last, &zero, 1, 0);
    ir_op op;
    ir_val out = new_op(c, IR_DYNAMIC_SLICE, in, s->rank + 1, type, &op);
    ir_set_prop(m, op, IR_DYNAMIC_SLICE_slice_sizes, ir_attr_i64s(m, t->dims, t->rank));
    insert_after(c, last, op);
    return out;
}

/* The place of a value, which is made where it has none. */
static uint32_t place_of(struct partition *c, ir_val v) {
    uint32_t at = opt_ids_get(&c->of, v.i);
    if (at)
        return at - 1;
    struct place x = {.type = ir_val_get(c->map.o->m, v)->type, .replicated = opt_map_get(&c->map, v), .group = c->group};
    ARENA_PUSH(&c->map.o->scratch, &c->places, x);
    opt_ids_set(&c->of, v.i, c->places.n);
    return c->places.n - 1;
}

static void add_shard(struct partition *c, uint32_t place, const struct sharding *s, ir_val v) {
    struct shard *x = ARENA_NEW(&c->map.o->scratch, struct shard);
    *x = (struct shard){*s, v, NULL};
    struct shard **end = &c->places.v[place].shards;
    while (*end)
        end = &(*end)->next;
    *end = x;
}

/* The value with that sharding; NULL = replicated. */
static ir_val local_shard(struct partition *c, ir_val v, const struct sharding *s) {
    if (!s || sharding_is_replicated(s))
        return replicated_value(c, v);
    uint32_t at = place_of(c, v);
    for (const struct shard *x = c->places.v[at].shards; x; x = x->next)
        if (sharding_equal(&x->sharding, s, c->partitions))
            return x->v;
    ir_val out = cut(c, replicated_value(c, v), s);
    add_shard(c, at, s, out);
    return out;
}

/* A value that is defined as shards. */
static void define(struct partition *c, ir_val v, ir_type global, const struct sharding *s, ir_val shard) {
    if (sharding_is_replicated(s)) {
        if (!IR_SAME(v, shard))
            opt_map_set(&c->map, v, shard);
        return;
    }
    uint32_t at = place_of(c, v);
    c->places.v[at].replicated = (ir_val){0};
    c->places.v[at].type = global;
    add_shard(c, at, s, shard);
}

/* ---- ops ------------------------------------------------------------------------------------- */

static hilo_status walk_block(struct partition *c, ir_block b, bool end);

static ir_type global_type(const struct partition *c, ir_val v) {
    uint32_t at = opt_ids_get(&c->of, v.i);
    return at ? c->places.v[at - 1].type : ir_val_get(c->map.o->m, v)->type;
}

static ir_type *types_of(struct partition *c, const ir_val *v, uint32_t n) {
    ir_type *types = ARENA_ARRAY(&c->map.o->scratch, ir_type, n + 1);
    for (uint32_t i = 0; i < n; i++)
        types[i] = global_type(c, v[i]);
    return types;
}

/* The partitions of one number in both see the same global value inside. */
static hilo_status inner_group(struct partition *c, ir_op op, sharding_axes axes, const int32_t **out) {
    struct opt *o = c->map.o;
    int32_t *fresh = ARENA_ARRAY(&o->scratch, int32_t, c->partitions), *pair = ARENA_ARRAY(&o->scratch, int32_t, c->partitions);
    enum ir_slot slots[] = {IR_SDY_MANUAL_COMPUTATION_in_shardings, IR_SDY_MANUAL_COMPUTATION_out_shardings};
    bool found = false;
    for (int i = 0; i < 2 && !found; i++) {
        HILO_TRY(sharding_number(o, op, ir_prop(o->m, op, slots[i]), axes, c->partitions, fresh));
        for (uint32_t p = 0; p < c->partitions; p++)
            found = found || fresh[p] != 0;
    }
    for (uint32_t p = 0; p < c->partitions; p++) {
        pair[p] = (int32_t)p;
        for (uint32_t q = 0; q < p && pair[p] == (int32_t)p; q++)
            if (fresh[q] == fresh[p] && c->group[q] == c->group[p])
                pair[p] = (int32_t)q;
    }
    *out = pair;
    return HILO_OK;
}

/* The body takes and gives shards of what the op does. */
static hilo_status manual(struct partition *c, ir_op op) {
    struct opt *o = c->map.o;
    struct ir_module *m = o->m;
    const struct ir_op_data *x = ir_op_get(m, op);
    ir_block body = ir_region_get(m, ir_op_region(m, op, 0))->first;
    uint32_t nin = x->noperands, nout = x->nresults;
    ir_val *results = ARENA_ARRAY(&o->scratch, ir_val, nout + 1);
    for (uint32_t i = 0; i < nout; i++)
        results[i] = ir_result(m, op, i);
    struct sharding *in = ARENA_ARRAY(&o->scratch, struct sharding, nin + 1);
    struct sharding *out = ARENA_ARRAY(&o->scratch, struct sharding, nout + 1);
    const ir_type *types = types_of(c, results, nout);
    sharding_axes axes;
    const int32_t *outer = c->group;
    HILO_TRY(sharding_read_axes(o, op, ir_prop(m, op, IR_SDY_MANUAL_COMPUTATION_manual_axes), &axes));
    ir_attr ins = ir_prop(m, op, IR_SDY_MANUAL_COMPUTATION_in_shardings);
    ir_attr outs = ir_prop(m, op, IR_SDY_MANUAL_COMPUTATION_out_shardings);
    HILO_TRY(sharding_read_list(o, op, ins, types_of(c, x->operands, nin), nin, c->partitions, axes, in));
    HILO_TRY(sharding_read_list(o, op, outs, types, nout, c->partitions, axes, out));
    if (IR_NONE(body) || ir_block_get(m, body)->nargs != nin || ir_op_get(m, ir_terminator(m, body))->noperands != nout)
        return ir_op_error(m, o->d, op, HILO_INVALID_ARGUMENT, NULL, "has a body of other arguments or results than its own");
    for (uint32_t i = 0; i < nin; i++) {
        ir_val arg = ir_block_get(m, body)->args[i], v = local_shard(c, ir_operand(m, op, i), &in[i]);
        if (!IR_SAME(ir_val_get(m, v)->type, ir_val_get(m, arg)->type))
            return ir_op_error(m, o->d, op, HILO_INVALID_ARGUMENT, NULL,
                               "has argument %" PRIu32 " of another type than its shard", i);
        opt_map_set(&c->map, arg, v);
    }
    HILO_TRY(inner_group(c, op, axes, &c->group));
    HILO_TRY(walk_block(c, body, true));
    c->group = outer;
    for (uint32_t i = 0; i < nout; i++) {
        ir_val v = ir_operand(m, ir_terminator(m, body), i);
        if (!IR_SAME(ir_val_get(m, v)->type, sharding_type(m, &out[i], types[i])))
            return ir_op_error(m, o->d, op, HILO_INVALID_ARGUMENT, NULL,
                               "has result %" PRIu32 " of another type than its shard", i);
        define(c, results[i], types[i], &out[i], v);
    }
    opt_splice(o, body, op);
    ir_unlink(m, op);
    o->changes++;
    return HILO_OK;
}

/* GSPMD's: a call that gives what it takes. */
static bool is_gspmd_constraint(const struct ir_module *m, ir_op op) {
    const struct ir_op_data *x = ir_op_get(m, op);
    return x->kind == IR_CUSTOM_CALL && str_is(ir_prop_str(m, op, IR_CUSTOM_CALL_call_target_name), "Sharding") &&
           x->noperands == 1 && x->nresults == 1 &&
           IR_SAME(ir_val_get(m, x->operands[0])->type, ir_val_get(m, ir_result(m, op, 0))->type);
}

/* Before or after its operand became shards. */
static hilo_status read_constraint(struct partition *c, ir_op op, struct sharding *out) {
    struct opt *o = c->map.o;
    ir_type type = ir_val_get(o->m, ir_result(o->m, op, 0))->type;
    if (ir_kind(o->m, op) == IR_SDY_SHARDING_CONSTRAINT)
        return sharding_read(o, op, ir_prop(o->m, op, IR_SDY_SHARDING_CONSTRAINT_sharding), type, c->partitions, NULL, out);
    ir_attr attr = ir_dict_find(o->m, ir_op_get(o->m, op)->attrs, STR("mhlo.sharding"));
    struct str text = ir_attr_as_str(o->m, attr);
    bool supported = true; /* what is not is not followed: the value is the same */
    *out = sharding_replicated(o, ir_type_get(o->m, type)->rank, c->partitions);
    if (text.n)
        HILO_TRY(sharding_read_hlo(o, op, text, type, c->partitions, out, &supported));
    if (!supported && !opt_ids_get(&c->told, attr.i)) {
        opt_ids_set(&c->told, attr.i, 1);
        ir_op_warn(o->m, o->d, op, "has the sharding '%.*s', which is not supported: the value stays as it is",
                   (int)(text.n < 200 ? text.n : 200), text.p);
    }
    return HILO_OK;
}

/* A constraint on the sharding of a value, which results follow. Ignored inside of manual computations. */
static hilo_status constraint(struct partition *c, ir_op op) {
    struct opt *o = c->map.o;
    ir_val from = ir_operand(o->m, op, 0), to = ir_result(o->m, op, 0);
    struct sharding s;
    HILO_TRY(read_constraint(c, op, &s));
    bool outermost = true;
    for (uint32_t p = 0; p < c->partitions; p++)
        outermost = outermost && c->group[p] == c->group[0];
    if (outermost && !sharding_is_replicated(&s)) {
        ir_val v = local_shard(c, from, &s);
        uint32_t at = place_of(c, from);
        struct shard *first = ARENA_NEW(&o->scratch, struct shard);
        *first = (struct shard){s, v, c->places.v[at].shards};
        struct place x = c->places.v[at];
        x.shards = first;
        ARENA_PUSH(&o->scratch, &c->places, x);
        opt_ids_set(&c->of, to.i, c->places.n);
    } else if (opt_ids_get(&c->of, from.i)) {
        opt_ids_set(&c->of, to.i, opt_ids_get(&c->of, from.i));
    } else {
        opt_map_set(&c->map, to, opt_map_get(&c->map, from));
    }
    ir_unlink(o->m, op);
    o->changes++;
    return HILO_OK;
}

/* Gives the value the type of its local shard. */
static void localize_value(struct partition *c, ir_val v, const struct sharding *s) {
    struct ir_module *m = c->map.o->m;
    ir_type type = ir_val_get(m, v)->type;
    ir_set_type(m, v, sharding_type(m, s, type));
    define(c, v, type, s, v);
}

/* The numbers of this partition's part of the dimension, from those that begin at 0. */
static void count_on(struct partition *c, ir_op op, const struct sharding *s) {
    struct ir_module *m = c->map.o->m;
    uint32_t dim = (uint32_t)ir_prop_i64(m, op, IR_IOTA_iota_dimension);
    ir_val v = ir_result(m, op, 0);
    ir_type type = ir_val_get(m, v)->type, part = sharding_type(m, s, type);
    const struct ir_type_data *t = ir_type_get(m, part);
    ir_op convert, broadcast, add;
    ir_set_type(m, v, part);
    ir_val begin = begin_of(c, v, s->held + (size_t)dim * c->partitions, t->dims[dim]);
    ir_val number = new_op(c, IR_CONVERT, &begin, 1, ir_type_of(m, t->dtype, NULL, 0), &convert);
    insert_after(c, begin, convert);
    ir_val both[2] = {v, new_op(c, IR_BROADCAST_IN_DIM, &number, 1, part, &broadcast)};
    ir_set_prop(m, broadcast, IR_BROADCAST_IN_DIM_broadcast_dimensions, ir_attr_i64s(m, NULL, 0));
    insert_after(c, number, broadcast);
    ir_val sum = new_op(c, IR_ADD, both, 2, part, &add);
    insert_after(c, both[1], add);
    define(c, v, type, s, sum);
}

/* The attribute of an op that gives the size of its result. */
static void resize(struct partition *c, ir_op op, const struct sharding *s) {
    struct ir_module *m = c->map.o->m;
    ir_type part = sharding_type(m, s, ir_val_get(m, ir_result(m, op, 0))->type);
    const struct ir_type_data *t = ir_type_get(m, part);
    size_t n;
    int64_t sizes[IR_MAX_RANK];
    if (ir_kind(m, op) == IR_CONSTANT) {
        const struct ir_attr_data *value = ir_attr_get(m, ir_prop(m, op, IR_CONSTANT_value));
        ir_set_prop(m, op, IR_CONSTANT_value, ir_attr_dense(m, part, value->data, value->nbytes, true, false));
    } else if (ir_kind(m, op) == IR_DYNAMIC_SLICE) {
        ir_set_prop(m, op, IR_DYNAMIC_SLICE_slice_sizes, ir_attr_i64s(m, t->dims, t->rank));
    } else if (ir_kind(m, op) == IR_SLICE) {
        const int64_t *old = ir_prop_i64s(m, op, IR_SLICE_limit_indices, &n);
        for (size_t i = 0; i < n; i++)
            sizes[i] = s->parts[i] > 1 ? t->dims[i] : old[i];
        ir_set_prop(m, op, IR_SLICE_limit_indices, ir_attr_i64s(m, sizes, t->rank));
    } else if (ir_kind(m, op) == IR_GATHER) {
        const struct sharding *from = propagation_operand(c->propagation, op, 0);
        const int64_t *old = ir_prop_i64s(m, op, IR_GATHER_slice_sizes, &n);
        for (size_t i = 0; i < n; i++) /* dimensions that indices go along stay 1 */
            sizes[i] = from && old[i] > 1 ? old[i] / from->parts[i] : old[i];
        ir_set_prop(m, op, IR_GATHER_slice_sizes, ir_attr_i64s(m, sizes, (uint32_t)n));
    }
}

/* An op on shards. */
static void localize_op(struct partition *c, ir_op op, const struct sharding *s) {
    struct ir_module *m = c->map.o->m;
    for (uint32_t i = 0; i < ir_op_get(m, op)->noperands; i++)
        ir_set_operand(m, op, i, local_shard(c, ir_operand(m, op, i), propagation_operand(c->propagation, op, i)));
    c->map.o->changes++;
    if (ir_kind(m, op) == IR_IOTA && s->parts[ir_prop_i64(m, op, IR_IOTA_iota_dimension)] > 1) {
        count_on(c, op, s);
        return;
    }
    resize(c, op, s);
    for (uint32_t i = 0; i < ir_op_get(m, op)->nresults; i++)
        localize_value(c, ir_result(m, op, i), propagation_sharding(c->propagation, ir_result(m, op, i)));
}

/* A while with sharded variables. */
static hilo_status localize_loop(struct partition *c, ir_op op) {
    struct ir_module *m = c->map.o->m;
    uint32_t n = ir_op_get(m, op)->noperands;
    ir_block in[2];
    for (uint32_t r = 0; r < 2; r++)
        in[r] = ir_region_get(m, ir_op_region(m, op, r))->first;
    for (uint32_t k = 0; k < n; k++) {
        const struct sharding *s = propagation_sharding(c->propagation, ir_result(m, op, k));
        ir_set_operand(m, op, k, local_shard(c, ir_operand(m, op, k), s));
        for (int r = 0; r < 2 && s; r++)
            localize_value(c, ir_block_get(m, in[r])->args[k], s);
        if (s)
            localize_value(c, ir_result(m, op, k), s);
    }
    HILO_TRY(walk_block(c, in[0], true));
    HILO_TRY(walk_block(c, in[1], false));
    ir_op end = ir_terminator(m, in[1]);
    for (uint32_t k = 0; k < n; k++)
        ir_set_operand(m, end, k, local_shard(c, ir_operand(m, end, k),
                                              propagation_sharding(c->propagation, ir_result(m, op, k))));
    c->map.o->changes++;
    return HILO_OK;
}

static hilo_status walk_op(struct partition *c, ir_op op) {
    struct ir_module *m = c->map.o->m;
    enum ir_op_kind kind = ir_kind(m, op);
    const struct sharding *s = NULL;
    if (kind == IR_SDY_MANUAL_COMPUTATION)
        return manual(c, op);
    if (kind == IR_SDY_SHARDING_CONSTRAINT || opt_ids_get(&c->gspmd, op.i))
        return constraint(c, op);
    if (kind == IR_CUSTOM_CALL && c->partitions > 1 && str_starts(ir_prop_str(m, op, IR_CUSTOM_CALL_call_target_name), "SPMD"))
        return ir_op_error(m, c->map.o->d, op, HILO_UNIMPLEMENTED, NULL,
                           "is for an automatic partitioner, which is not supported; use Shardy's shardings");
    for (uint32_t i = 0; i < ir_op_get(m, op)->nresults && !s; i++)
        s = propagation_sharding(c->propagation, ir_result(m, op, i));
    if (s && kind == IR_WHILE)
        return localize_loop(c, op);
    if (s) {
        localize_op(c, op, s);
        return HILO_OK;
    }
    for (uint32_t i = 0; i < ir_op_get(m, op)->noperands; i++) {
        ir_val v = replicated_value(c, ir_operand(m, op, i));
        if (!IR_SAME(v, ir_operand(m, op, i)))
            ir_set_operand(m, op, i, v);
    }
    for (uint32_t i = 0; i < ir_op_get(m, op)->nregions; i++)
        for (ir_block b = ir_region_get(m, ir_op_region(m, op, i))->first; !IR_NONE(b); b = ir_block_get(m, b)->next)
            HILO_TRY(walk_block(c, b, true));
    return HILO_OK;
}

/* With `end`, its terminator too. */
static hilo_status walk_block(struct partition *c, ir_block b, bool end) {
    ir_op next;
    for (ir_op op = ir_block_get(c->map.o->m, b)->first; !IR_NONE(op); op = next) {
        next = ir_op_get(c->map.o->m, op)->next;
        if (!IR_NONE(next) || end)
            HILO_TRY(walk_op(c, op));
    }
    return HILO_OK;
}

/* ---- the function ---------------------------------------------------------------------------- */

static ir_attr port_attrs(const struct partition *c, enum ir_slot slot, uint32_t i) {
    const struct ir_attr_data *a = ir_attr_get(c->map.o->m, ir_prop(c->map.o->m, c->func, slot));
    return a->kind == IR_ATTR_ARRAY && i < a->n ? a->items[i] : (ir_attr){0};
}

/* The sharding given for a parameter or result; *given is false when there is none. */
static hilo_status port_sharding(struct partition *c, enum ir_slot slot, uint32_t i, ir_type type, struct sharding *out,
                                 bool *given) {
    struct opt *o = c->map.o;
    ir_attr attrs = port_attrs(c, slot, i), a = ir_dict_find(o->m, attrs, STR("sdy.sharding"));
    struct str hlo = ir_attr_as_str(o->m, ir_dict_find(o->m, attrs, STR("mhlo.sharding")));
    *out = sharding_replicated(o, ir_type_get(o->m, type)->rank, c->partitions);
    *given = !IR_NONE(a);
    if (*given)
        return sharding_read(o, c->func, a, type, c->partitions, NULL, out);
    *given = *given || hlo.n;
    bool supported = true;
    if (hlo.n && c->partitions > 1)
        HILO_TRY(sharding_read_hlo(o, c->func, hlo, type, c->partitions, out, &supported));
    if (!supported)
        return ir_op_error(o->m, o->d, c->func, HILO_UNIMPLEMENTED, NULL, "is divided by '%.*s', which is not supported",
                           (int)(hlo.n < 100 ? hlo.n : 100), hlo.p);
    return HILO_OK;
}

/* The result that parameter i may give its memory to, which is why frameworks name results only where shardings are theirs to
   say: the first of its type that no other parameter has; -1 = none. `taken`: by result. */
static int64_t donated_to(struct partition *c, uint32_t i, bool *taken, uint32_t nout) {
    struct ir_module *m = c->map.o->m;
    ir_block body = ir_func_body(m, c->func);
    ir_attr attrs = port_attrs(c, IR_FUNC_arg_attrs, i);
    const struct ir_attr_data *donor = ir_attr_get(m, ir_dict_find(m, attrs, STR("jax.buffer_donor")));
    if (donor->kind != IR_ATTR_BOOL || !donor->i || !IR_NONE(ir_dict_find(m, attrs, STR("tf.aliasing_output"))))
        return -1;
    ir_type type = ir_val_get(m, ir_block_get(m, body)->args[i])->type;
    for (uint32_t j = 0; j < nout; j++)
        if (!taken[j] && IR_SAME(ir_val_get(m, ir_operand(m, ir_terminator(m, body), j))->type, type)) {
            taken[j] = true;
            return j;
        }
    return -1;
}

/* Results for the parameters that may be donated; those that are named must still have the parameter's type. By parameter, -1
   = none. */
static int64_t *find_donors(struct partition *c, uint32_t nin, uint32_t nout) {
    struct opt *o = c->map.o;
    int64_t *to = ARENA_ARRAY(&o->scratch, int64_t, nin + 1);
    bool *taken = ARENA_ARRAY(&o->scratch, bool, nout + 1);
    ir_block body = ir_func_body(o->m, c->func);
    memset(taken, 0, nout + 1);
    for (uint32_t i = 0; i < nin; i++) {
        ir_attr named = ir_dict_find(o->m, port_attrs(c, IR_FUNC_arg_attrs, i), STR("tf.aliasing_output"));
        ir_type type = ir_val_get(o->m, ir_block_get(o->m, body)->args[i])->type;
        if (!ir_attr_as_i64(o->m, named, &to[i]) || to[i] < 0 || to[i] >= nout || taken[to[i]] ||
            !IR_SAME(ir_val_get(o->m, ir_operand(o->m, ir_terminator(o->m, body), (uint32_t)to[i]))->type, type))
            to[i] = -1;
        else
            taken[to[i]] = true;
    }
    for (uint32_t i = 0; i < nin; i++)
        if (to[i] < 0)
            to[i] = donated_to(c, i, taken, nout);
    return to;
}

/* The entries of a list of dictionaries without what shardings and donations given; with `donors`, by entry, where they go. */
static void drop_shardings(struct partition *c, enum ir_slot slot, const int64_t *donors) {
    struct opt *o = c->map.o;
    const struct ir_attr_data *list = ir_attr_get(o->m, ir_prop(o->m, c->func, slot));
    if (list->kind != IR_ATTR_ARRAY)
        return;
    ir_attr *items = ARENA_ARRAY(&o->scratch, ir_attr, list->n + 1);
    for (uint32_t i = 0; i < list->n; i++) {
        const struct ir_attr_data *d = ir_attr_get(o->m, list->items[i]);
        ir_attr *kept = ARENA_ARRAY(&o->scratch, ir_attr, d->n + 2);
        ir_str *names = ARENA_ARRAY(&o->scratch, ir_str, d->n + 2);
        uint32_t n = 0;
        for (uint32_t k = 0; k < d->n; k++) {
            struct str name = ir_str_get(o->m, d->names[k]);
            if (str_is(name, "sdy.sharding") || str_is(name, "mhlo.sharding") ||
                (donors && (str_is(name, "tf.aliasing_output") || str_is(name, "jax.buffer_donor"))))
                continue;
            names[n] = d->names[k];
            kept[n++] = d->items[k];
        }
        if (donors && d->kind == IR_ATTR_DICT && donors[i] >= 0) {
            names[n] = ir_str_of(o->m, STR("tf.aliasing_output"));
            kept[n++] = ir_attr_int(o->m, ir_type_scalar(o->m, IR_I32_T), donors[i]);
        }
        items[i] = d->kind == IR_ATTR_DICT ? ir_attr_dict(o->m, names, kept, n) : list->items[i];
    }
    ir_set_prop(o->m, c->func, slot, ir_attr_array(o->m, items, list->n));
}

/* What parameters, results and ops on the way say is where, and what follows from that. */
static hilo_status decide(struct partition *c, ir_block body, struct sharding *in) {
    struct opt *o = c->map.o;
    struct ir_module *m = o->m;
    ir_op end = ir_terminator(m, body);
    uint32_t nout = ir_op_get(m, end)->noperands;
    const struct sharding **results = ARENA_ARRAY(&o->scratch, const struct sharding *, nout + 1);
    bool given;
    c->propagation = propagation_new(o, c->partitions);
    for (uint32_t i = 0; i < ir_block_get(m, body)->nargs; i++) {
        ir_val arg = ir_block_get(m, body)->args[i];
        HILO_TRY(port_sharding(c, IR_FUNC_arg_attrs, i, ir_val_get(m, arg)->type, &in[i], &given));
        propagation_seed(c->propagation, arg, &in[i]);
    }
    for (ir_op op = ir_block_get(m, body)->first; !IR_NONE(op); op = ir_op_get(m, op)->next) {
        const struct ir_op_data *x = ir_op_get(m, op);
        if (c->partitions > 1 && is_gspmd_constraint(m, op))
            opt_ids_set(&c->gspmd, op.i, 1);
        else if (x->kind != IR_SDY_SHARDING_CONSTRAINT && x->kind != IR_SDY_MANUAL_COMPUTATION)
            continue;
        struct sharding *s = ARENA_ARRAY(&o->scratch, struct sharding, x->nresults + 1);
        ir_type *types = ARENA_ARRAY(&o->scratch, ir_type, x->nresults + 1);
        sharding_axes axes = NULL;
        for (uint32_t i = 0; i < x->nresults; i++)
            types[i] = ir_val_get(m, ir_result(m, op, i))->type;
        if (x->kind == IR_SDY_MANUAL_COMPUTATION) {
            HILO_TRY(sharding_read_axes(o, op, ir_prop(m, op, IR_SDY_MANUAL_COMPUTATION_manual_axes), &axes));
            HILO_TRY(sharding_read_list(o, op, ir_prop(m, op, IR_SDY_MANUAL_COMPUTATION_out_shardings), types, x->nresults,
                                        c->partitions, axes, s));
        } else {
            HILO_TRY(read_constraint(c, op, s));
        }
        for (uint32_t i = 0; i < x->nresults; i++)
            propagation_seed(c->propagation, ir_result(m, op, i), &s[i]);
    }
    for (uint32_t i = 0; i < nout; i++) {
        struct sharding *s = ARENA_NEW(&o->scratch, struct sharding);
        HILO_TRY(port_sharding(c, IR_FUNC_res_attrs, i, ir_val_get(m, ir_operand(m, end, i))->type, s, &given));
        results[i] = given ? s : NULL;
    }
    propagation_run(c->propagation, body, results);
    return HILO_OK;
}

/* A result has its given sharding; else that of its definition, or the preferred one; else it is replicated. */
static hilo_status give_results(struct partition *c, struct sharding *out) {
    struct ir_module *m = c->map.o->m;
    ir_op end = ir_terminator(m, ir_func_body(m, c->func));
    for (uint32_t i = 0; i < ir_op_get(m, end)->noperands; i++) {
        ir_val v = ir_operand(m, end, i);
        uint32_t at = opt_ids_get(&c->of, v.i);
        bool given;
        HILO_TRY(port_sharding(c, IR_FUNC_res_attrs, i, global_type(c, v), &out[i], &given));
        if (!given && at && c->places.v[at - 1].shards)
            out[i] = c->places.v[at - 1].shards->sharding;
        ir_set_operand(m, end, i, local_shard(c, v, &out[i]));
    }
    return HILO_OK;
}

static void emit_sharding_attrs(struct partition *c, const struct sharding *in, uint32_t nin, const struct sharding *out,
                          uint32_t nout) {
    struct opt *o = c->map.o;
    struct ir_module *m = o->m;
    const struct ir_attr_data *old = ir_attr_get(m, ir_op_get(m, m->root)->attrs);
    ir_attr *items = ARENA_ARRAY(&o->scratch, ir_attr, old->n + 2), *list = ARENA_ARRAY(&o->scratch, ir_attr, nin + 1);
    ir_str *names = ARENA_ARRAY(&o->scratch, ir_str, old->n + 2);
    struct strbuf text;
    strbuf_init(&text, o->d->al);
    for (uint32_t i = 0; i < nin; i++) {
        text.n = 0;
        sharding_text(&in[i], c->partitions, &text);
        list[i] = ir_attr_string(m, (struct str){text.p ? text.p : "", text.n});
    }
    text.n = 0;
    strbuf_puts(&text, nout == 1 ? "" : "{");
    for (uint32_t i = 0; i < nout; i++) {
        strbuf_puts(&text, i ? ", " : "");
        sharding_text(&out[i], c->partitions, &text);
    }
    strbuf_puts(&text, nout == 1 ? "" : nout ? "}" : "{replicated}}"); /* XLA wants one of no results, too */
    uint32_t n = 0;
    for (; n < old->n; n++) {
        names[n] = old->names[n];
        items[n] = old->items[n];
    }
    names[n] = ir_str_of(m, STR("mhlo.spmd_parameters_shardings"));
    items[n++] = ir_attr_array(m, list, nin);
    names[n] = ir_str_of(m, STR("mhlo.spmd_output_sharding"));
    items[n++] = ir_attr_string(m, (struct str){text.p ? text.p : "", text.n});
    strbuf_free(&text);
    ir_set_attrs(m, m->root, ir_attr_dict(m, names, items, n));
}

/* The number of a module attribute; 1 when it is not there. */
static uint32_t module_count(const struct ir_module *m, const char *name) {
    int64_t n;
    if (!ir_attr_as_i64(m, ir_dict_find(m, ir_op_get(m, m->root)->attrs, str_of(name)), &n) || n < 1)
        n = 1;
    return n > SHARDING_PARTITIONS ? SHARDING_PARTITIONS : (uint32_t)n;
}

/* The entry, @main, or the first function that can be called from outside. */
static ir_op find_entry(const struct opt *o) {
    ir_op func = IR_NONE(o->options.entry) ? ir_module_symbol(o->m, STR("main")) : o->options.entry;
    ir_op op = ir_block_get(o->m, ir_module_body(o->m))->first;
    for (; IR_NONE(func) && !IR_NONE(op); op = ir_op_get(o->m, op)->next)
        if (ir_kind(o->m, op) == IR_FUNC && !str_is(ir_prop_str(o->m, op, IR_FUNC_sym_visibility), "private"))
            func = op;
    return !IR_NONE(func) && ir_kind(o->m, func) == IR_FUNC && !IR_NONE(ir_func_body(o->m, func)) ? func : (ir_op){0};
}

hilo_status opt_partition(struct opt *o) {
    struct ir_module *m = o->m;
    ir_op func = find_entry(o);
    if (IR_NONE(func))
        return HILO_OK;
    struct partition c = {.map = opt_map_new(o), .of = {.a = &o->scratch}, .gspmd = {.a = &o->scratch},
                          .told = {.a = &o->scratch}, .func = func,
                          .partitions = module_count(m, "mhlo.num_partitions"),
                          .replicas = module_count(m, "mhlo.num_replicas")};
    int32_t *group = ARENA_ARRAY(&o->scratch, int32_t, c.partitions);
    memset(group, 0, c.partitions * sizeof *group);
    c.group = group;
    ir_block body = ir_func_body(m, func);
    uint32_t nin = ir_block_get(m, body)->nargs, nout = ir_op_get(m, ir_terminator(m, body))->noperands;
    struct sharding *in = ARENA_ARRAY(&o->scratch, struct sharding, nin + 1);
    struct sharding *out = ARENA_ARRAY(&o->scratch, struct sharding, nout + 1);
    HILO_TRY(decide(&c, body, in));
    for (uint32_t i = 0; i < nin; i++)
        if (!sharding_is_replicated(&in[i]))
            localize_value(&c, ir_block_get(m, body)->args[i], &in[i]);
    HILO_TRY(walk_block(&c, body, false));
    HILO_TRY(give_results(&c, out));
    ir_type *types = ARENA_ARRAY(&o->scratch, ir_type, nin + nout + 1);
    for (uint32_t i = 0; i < nin; i++)
        types[i] = ir_val_get(m, ir_block_get(m, body)->args[i])->type;
    for (uint32_t i = 0; i < nout; i++)
        types[nin + i] = ir_val_get(m, ir_operand(m, ir_terminator(m, body), i))->type;
    ir_type type = ir_type_function(m, types, nin, types + nin, nout);
    ir_set_prop(m, func, IR_FUNC_function_type, ir_attr_of_type(m, type));
    drop_shardings(&c, IR_FUNC_arg_attrs, find_donors(&c, nin, nout));
    drop_shardings(&c, IR_FUNC_res_attrs, NULL);
    if (c.partitions > 1)
        emit_sharding_attrs(&c, in, nin, out, nout);
    o->changes++;
    return HILO_OK;
}
