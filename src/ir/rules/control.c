/* Rules of ops that run regions or functions as they are: if, case, while, scan, asynchronous ops,
   composites, programs in parallel. */
#include "ir/rules/shape.h"

#include <inttypes.h>

/* ---- conditionals ---------------------------------------------------------------------------- */

/* Branches take nothing, and return what the op does. */
static hilo_status control_branches(struct shape *s, const char *takes, const char *same,
                                    const char *results) {
    uint32_t nbranches = s->o->nregions, n = shape_yield(s, 0)->noperands;
    if (shape_in(s, 0)->rank != 0)
        return shape_fail(s, NULL, "the condition must be a scalar, but has type %s",
                          shape_type_text(s, shape_in_type(s, 0)));
    for (uint32_t b = 0; b < nbranches; b++) {
        if (shape_block(s, b)->nargs != 0)
            return shape_fail(s, takes, "branch %u must take nothing, but takes %u values", b,
                              shape_block(s, b)->nargs);
        if (shape_yield(s, b)->noperands != n)
            return shape_fail(s, same, "branch 0 returns %u values, but branch %u returns %u", n, b,
                              shape_yield(s, b)->noperands);
        for (uint32_t i = 0; i < n; i++)
            if (!shape_types_compatible(s->m, shape_yield_type(s, 0, i), shape_yield_type(s, b, i)))
                return shape_fail(s, same, "value %u of branch 0 has type %s, but that of branch "
                                  "%u has type %s", i,
                                  shape_type_text(s, shape_yield_type(s, 0, i)), b,
                                  shape_type_text(s, shape_yield_type(s, b, i)));
    }
    HILO_TRY(shape_results(s, results, n));
    s->out_label = results;
    ir_type *types = ARENA_ARRAY(&s->m->arena, ir_type, nbranches);
    for (uint32_t i = 0; i < n; i++) {
        for (uint32_t b = 0; b < nbranches; b++)
            types[b] = shape_yield_type(s, b, i);
        HILO_TRY(shape_join_types(s, same, types, nbranches, &s->out[i]));
    }
    return HILO_OK;
}

hilo_status shape_if(struct shape *s) {
    return control_branches(s, "if_c1", "if_c2", "if_c3");
}

hilo_status shape_case(struct shape *s) {
    if (s->o->nregions == 0)
        return shape_fail(s, "case_c1", "needs at least one branch");
    return control_branches(s, "case_c2", "case_c3", "case_c4");
}

/* ---- loops ----------------------------------------------------------------------------------- */

/* Region r takes values of the operands' types. */
static hilo_status loop_takes(struct shape *s, const char *label, const char *name, uint32_t r) {
    uint32_t n = s->o->noperands;
    if (shape_block(s, r)->nargs != n)
        return shape_fail(s, label, "the %s must take %u values, but takes %u", name, n,
                          shape_block(s, r)->nargs);
    for (uint32_t i = 0; i < n; i++)
        if (!shape_types_compatible(s->m, shape_in_type(s, i), shape_arg_type(s, r, i)))
            return shape_fail(s, label, "argument %u of the %s has type %s, but operand %u has "
                              "type %s", i, name, shape_type_text(s, shape_arg_type(s, r, i)), i,
                              shape_type_text(s, shape_in_type(s, i)));
    return HILO_OK;
}

/* The region takes the operands. */
hilo_status shape_fusion(struct shape *s) {
    const struct ir_op_data *yield = shape_yield(s, 0);
    HILO_TRY(loop_takes(s, NULL, "computation", 0));
    HILO_TRY(shape_results(s, NULL, yield->noperands));
    for (uint32_t i = 0; i < yield->noperands; i++)
        s->out[i] = shape_yield_type(s, 0, i);
    return HILO_OK;
}

hilo_status shape_while(struct shape *s) {
    uint32_t n = s->o->noperands;
    const struct ir_op_data *test = shape_yield(s, 0), *next = shape_yield(s, 1);
    HILO_TRY(loop_takes(s, "while_c1", "condition", 0));
    HILO_TRY(loop_takes(s, "while_c2", "body", 1));
    if (next->noperands != n)
        return shape_fail(s, "while_c2", "the body must return %u values, but returns %u", n,
                          next->noperands);
    for (uint32_t i = 0; i < n; i++)
        if (!shape_types_compatible(s->m, shape_in_type(s, i), shape_yield_type(s, 1, i)))
            return shape_fail(s, "while_c2", "value %u of the body has type %s, but operand %u has "
                              "type %s", i, shape_type_text(s, shape_yield_type(s, 1, i)), i,
                              shape_type_text(s, shape_in_type(s, i)));
    if (test->noperands != 1)
        return shape_fail(s, "while_c1", "the condition must return one value, but returns %u",
                          test->noperands);
    if (!shape_is_truth(s, shape_yield_type(s, 0, 0)))
        return shape_fail(s, "while_c1", "the condition must return tensor<i1>, but returns %s",
                          shape_type_text(s, shape_yield_type(s, 0, 0)));
    HILO_TRY(shape_results(s, "while_c3", n));
    s->out_label = "while_c3";
    for (uint32_t i = 0; i < n; i++)
        s->out[i] = shape_in_type(s, i);
    return HILO_OK;
}

/* ---- scan ------------------------------------------------------------------------------------ */

/* The size along the scanned dimension that all inputs agree on, from the attribute or from them. */
static hilo_status scan_size(struct shape *s, struct shape_range in, int64_t dim, int64_t *size) {
    *size = IR_DYNAMIC;
    if (!IR_NONE(ir_prop(s->m, s->op, IR_SCAN_scan_dim_size)))
        *size = ir_prop_i64(s->m, s->op, IR_SCAN_scan_dim_size);
    for (uint32_t i = in.first; i < in.first + in.n; i++) {
        const struct ir_type_data *t = shape_in(s, i);
        if (!shape_ranked(t))
            return shape_fail(s, NULL, "operand %u must be ranked", i);
        if (dim >= t->rank)
            return shape_fail(s, NULL, "operand %u of type %s has no dimension %" PRId64, i,
                              shape_type_text(s, shape_in_type(s, i)), dim);
        if (!shape_dims_agree(*size, t->dims[dim]))
            return shape_fail(s, NULL, "operand %u has size %" PRId64 " along the scanned "
                              "dimension, not %" PRId64, i, t->dims[dim], *size);
        if (!shape_known(*size))
            *size = t->dims[dim];
    }
    return HILO_OK;
}

/* The body takes a slice of each input, and the carries. */
static hilo_status scan_takes(struct shape *s, struct shape_range in, int64_t dim) {
    if (shape_block(s, 0)->nargs != s->o->noperands)
        return shape_fail(s, NULL, "the body must take %u values, but takes %u", s->o->noperands,
                          shape_block(s, 0)->nargs);
    for (uint32_t i = 0; i < s->o->noperands; i++) {
        const struct ir_type_data *t = shape_in(s, i);
        ir_type want = shape_in_type(s, i);
        if (!shape_ranked(t))
            return shape_fail(s, NULL, "operand %u must be ranked", i);
        if (i - in.first < in.n) {
            struct shape_dim dims[IR_MAX_RANK];
            for (uint32_t d = 0, n = 0; d < t->rank; d++)
                if (d != dim)
                    dims[n++] = shape_dim_of(t, d);
            want = shape_tensor(s, t->elem, dims, t->rank - 1);
        }
        if (!shape_types_compatible(s->m, want, shape_arg_type(s, 0, i)))
            return shape_fail(s, NULL, "argument %u of the body must have type %s, but has %s", i,
                              shape_type_text(s, want),
                              shape_type_text(s, shape_arg_type(s, 0, i)));
    }
    return HILO_OK;
}

/* The type of slices of type t, put side by side along a new dimension. */
static hilo_status scan_output(struct shape *s, uint32_t i, int64_t dim, int64_t size) {
    const struct ir_type_data *t = ir_type_get(s->m, shape_yield_type(s, 0, i));
    struct shape_dim dims[IR_MAX_RANK];
    if (dim > t->rank || t->rank == IR_MAX_RANK)
        return shape_fail(s, NULL, "value %u of the body has type %s, to which no dimension %" PRId64
                          " can be added", i, shape_type_text(s, shape_yield_type(s, 0, i)), dim);
    for (uint32_t d = 0; d < t->rank; d++)
        dims[d + (d >= dim)] = shape_dim_of(t, d);
    dims[dim] = (struct shape_dim){size, IR_DYNAMIC};
    s->out[i] = shape_tensor(s, t->elem, dims, t->rank + 1);
    return HILO_OK;
}

hilo_status shape_scan(struct shape *s) {
    struct shape_range in = shape_in_group(s, 0), init = shape_in_group(s, 1);
    int64_t dim = ir_prop_i64(s->m, s->op, IR_SCAN_dimension), size;
    uint32_t returns = shape_yield(s, 0)->noperands;
    if (in.n == 0 && shape_res_group(s, 0).n == 0)
        return shape_fail(s, NULL, "needs at least one input or output");
    HILO_TRY(scan_size(s, in, dim, &size));
    HILO_TRY(scan_takes(s, in, dim));
    if (returns < init.n)
        return shape_fail(s, NULL, "the body must return at least %u carries, but returns %u values",
                          init.n, returns);
    HILO_TRY(shape_results(s, NULL, returns));
    if (shape_res_group(s, 1).n != init.n)
        return shape_fail(s, NULL, "has %u initial values, but %u carries", init.n,
                          shape_res_group(s, 1).n);
    for (uint32_t i = 0; i < returns; i++) {
        if (ir_type_get(s->m, shape_yield_type(s, 0, i))->kind != IR_TYPE_TENSOR)
            return shape_fail(s, NULL, "value %u of the body must be ranked, but has type %s", i,
                              shape_type_text(s, shape_yield_type(s, 0, i)));
        if (i < returns - init.n)
            HILO_TRY(scan_output(s, i, dim, size));
        else
            s->out[i] = shape_yield_type(s, 0, i);
    }
    return HILO_OK;
}

/* ---- asynchronous ops ------------------------------------------------------------------------ */

hilo_status shape_async_start(struct shape *s) {
    const struct ir_block_data *b = shape_block(s, 0);
    const struct ir_op_data *end = shape_yield(s, 0);
    if (IR_SAME(b->first, b->last) || !IR_SAME(end->prev, b->first))
        return shape_fail(s, "async_start_c1", "the body must be one operation and a return");
    if (!ir_op_has(ir_kind(s->m, b->first), IR_T_ASYNC))
        return shape_fail(s, "async_start_c2", "the body must be a collective or a slice, but is "
                          "'%s'", ir_op_info(ir_kind(s->m, b->first))->name);
    if (b->nargs != s->o->noperands)
        return shape_fail(s, "async_start_c3", "has %u operands, but the body takes %u values",
                          s->o->noperands, b->nargs);
    for (uint32_t i = 0; i < b->nargs; i++)
        if (!IR_SAME(shape_in_type(s, i), shape_arg_type(s, 0, i)))
            return shape_fail(s, "async_start_c3", "operand %u has type %s, but the body takes %s",
                              i, shape_type_text(s, shape_in_type(s, i)),
                              shape_type_text(s, shape_arg_type(s, 0, i)));
    if (end->noperands != 1)
        return shape_fail(s, "async_start_c4", "the body must return one value, but returns %u",
                          end->noperands);
    ir_type result = shape_yield_type(s, 0, 0);
    if (ir_type_get(s->m, result)->kind != IR_TYPE_TENSOR)
        return shape_fail(s, "async_start_c4", "a future is of ranked tensors, not of %s",
                          shape_type_text(s, result));
    s->out_label = "async_start_c4";
    s->out[0] = ir_type_group(s->m, IR_TYPE_FUTURE, &result, 1);
    return HILO_OK;
}

hilo_status shape_async_done(struct shape *s) {
    const struct ir_type_data *future = shape_in(s, 0);
    if (future->ntypes != 1)
        return shape_fail(s, "async_done_c1", "the future must be of one value, but is of %u",
                          future->ntypes);
    s->out_label = "async_done_c1";
    s->out[0] = future->types[0];
    return HILO_OK;
}

/* ---- composites ------------------------------------------------------------------------------ */

static bool composite_is_letter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool composite_is_word(char c) {
    return composite_is_letter(c) || (c >= '0' && c <= '9') || c == '_';
}

/* A namespace, which begins with a letter, and at least one word after a dot. Words after the first
   may have a $. */
static bool composite_is_name(struct str name) {
    bool dotted = false, empty = false;
    if (name.n == 0 || !composite_is_letter(name.p[0]))
        return false;
    for (size_t i = 1; i < name.n; i++) {
        if (name.p[i] == '.') {
            if (empty)
                return false;
            dotted = empty = true;
        } else if (composite_is_word(name.p[i]) || (dotted && name.p[i] == '$')) {
            empty = false;
        } else {
            return false;
        }
    }
    return dotted && !empty;
}

hilo_status shape_composite(struct shape *s) {
    struct str name = ir_prop_str(s->m, s->op, IR_COMPOSITE_name);
    if (!composite_is_name(name))
        return shape_fail(s, "composite_c1", "name must be a namespace and an op name, such as "
                          "\"my_namespace.my_op\", but is \"%.*s\"", (int)name.n, name.p);
    return shape_callee(s, ir_prop(s->m, s->op, IR_COMPOSITE_decomposition), "composite_c2",
                        "composite_c3", "composite_c4");
}

/* ---- programs in parallel -------------------------------------------------------------------- */

/* The type of the function that a symbol names, or an error. */
static hilo_status parallel_type(struct shape *s, ir_attr symbol, const struct ir_type_data **out) {
    ir_op func = shape_lookup_func(s, symbol);
    struct str name = ir_attr_as_str(s->m, symbol);
    if (IR_NONE(func))
        return shape_fail(s, NULL, "there is no function '%.*s'", (int)name.n, name.p);
    *out = ir_type_get(s->m, ir_attr_get(s->m, ir_prop(s->m, func, IR_FUNC_function_type))->type);
    return HILO_OK;
}

/* Functions that each give one tensor to infeed. */
static hilo_status parallel_infeed(struct shape *s) {
    const struct ir_attr_data *infeed =
        ir_attr_get(s->m, ir_prop(s->m, s->op, IR_RUN_PARALLEL_infeed));
    if (infeed->kind == IR_ATTR_NONE)
        return HILO_OK;
    if (infeed->n == 0)
        return shape_fail(s, NULL, "infeed must not be empty");
    for (uint32_t i = 0; i < infeed->n; i++) {
        const struct ir_type_data *t;
        struct str name = ir_attr_as_str(s->m, infeed->items[i]);
        HILO_TRY(parallel_type(s, infeed->items[i], &t));
        if (t->ntypes - t->ninputs != 1)
            return shape_fail(s, NULL, "'%.*s' must return one tensor for infeed, but returns %u",
                              (int)name.n, name.p, t->ntypes - t->ninputs);
        if (!ir_type_is_shaped(ir_type_get(s->m, t->types[t->ninputs])))
            return shape_fail(s, NULL, "'%.*s' must return a tensor for infeed, but returns %s",
                              (int)name.n, name.p, shape_type_text(s, t->types[t->ninputs]));
    }
    return HILO_OK;
}

/* A function takes the operands from `in` on and gives the results from `out` on; both move on. */
static hilo_status parallel_program(struct shape *s, ir_attr symbol, uint32_t *in, uint32_t *out) {
    const struct ir_type_data *t;
    struct str name = ir_attr_as_str(s->m, symbol);
    HILO_TRY(parallel_type(s, symbol, &t));
    uint32_t nresults = t->ntypes - t->ninputs;
    if (t->ninputs > s->o->noperands - *in)
        return shape_fail(s, NULL, "has %u operands, which are not enough for all programs",
                          s->o->noperands);
    if (nresults > s->nout - *out)
        return shape_fail(s, NULL, "has %u results, but the programs give more", s->nout);
    for (uint32_t i = 0; i < t->ninputs; i++)
        if (!shape_types_compatible(s->m, shape_in_type(s, *in + i), t->types[i]))
            return shape_fail(s, NULL, "operand %u has type %s, but '%.*s' takes %s", *in + i,
                              shape_type_text(s, shape_in_type(s, *in + i)), (int)name.n, name.p,
                              shape_type_text(s, t->types[i]));
    for (uint32_t i = 0; i < nresults; i++)
        s->out[*out + i] = t->types[t->ninputs + i];
    *in += t->ninputs;
    *out += nresults;
    return HILO_OK;
}

/* Programs by replica and partition take their inputs, and give their results, one after the
   other. */
hilo_status shape_run_parallel(struct shape *s) {
    const struct ir_attr_data *replicas =
        ir_attr_get(s->m, ir_prop(s->m, s->op, IR_RUN_PARALLEL_programs));
    uint32_t npartitions = replicas->n ? ir_attr_get(s->m, replicas->items[0])->n : 0;
    uint32_t in = 0, out = 0;
    if (npartitions == 0)
        return shape_fail(s, NULL, "programs must not be empty");
    for (uint32_t r = 0; r < replicas->n; r++) {
        const struct ir_attr_data *row = ir_attr_get(s->m, replicas->items[r]);
        if (row->n != npartitions)
            return shape_fail(s, NULL, "programs must have %u partitions throughout, but replica "
                              "%u has %u", npartitions, r, row->n);
        for (uint32_t p = 0; p < npartitions; p++)
            HILO_TRY(parallel_program(s, row->items[p], &in, &out));
    }
    if (in != s->o->noperands)
        return shape_fail(s, NULL, "has %u operands, but the programs take %u", s->o->noperands, in);
    if (out != s->nout)
        return shape_fail(s, NULL, "has %u results, but the programs give %u", s->nout, out);
    return parallel_infeed(s);
}
