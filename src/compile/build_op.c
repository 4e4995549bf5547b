/* Ops that no kernel computes: routines, evaluations, loops, branches. See build.h. */
#include "compile/build.h"
#include "opt/rewrite.h"

#include <stdio.h>

static uint32_t *operand_buffers(struct build *b, ir_op op) {
    const struct ir_op_data *x = ir_op_get(b->m, op);
    uint32_t *v = ARENA_ARRAY(b->a, uint32_t, x->noperands + 1);
    for (uint32_t i = 0; i < x->noperands; i++)
        v[i] = build_buffer(b, x->operands[i]);
    return v;
}

static uint32_t *result_buffers(struct build *b, ir_op op) {
    const struct ir_op_data *x = ir_op_get(b->m, op);
    uint32_t *v = ARENA_ARRAY(b->a, uint32_t, x->nresults + 1);
    for (uint32_t i = 0; i < x->nresults; i++)
        v[i] = build_temp(b, ir_result(b->m, op, i));
    return v;
}

/* ---- evaluations ------------------------------------------------------------------------------ */

struct captures {
    struct build *b;
    ir_op op;
    struct {
        ir_val *v;
        uint32_t n, cap;
    } values;
};

static void capture(struct captures *c, ir_val v) {
    for (uint32_t i = 0; i < c->values.n; i++)
        if (IR_SAME(c->values.v[i], v))
            return;
    ARENA_PUSH(c->b->a, &c->values, v);
}

static void capture_region(struct captures *c, ir_region r) {
    const struct ir_module *m = c->b->m;
    for (ir_block b = ir_region_get(m, r)->first; !IR_NONE(b); b = ir_block_get(m, b)->next)
        for (ir_op op = ir_block_get(m, b)->first; !IR_NONE(op); op = ir_op_get(m, op)->next) {
            for (uint32_t i = 0; i < ir_op_get(m, op)->noperands; i++)
                if (!ir_is_inside(m, ir_operand(m, op, i), c->op))
                    capture(c, ir_operand(m, op, i));
            for (uint32_t i = 0; i < ir_op_get(m, op)->nregions; i++)
                capture_region(c, ir_op_region(m, op, i));
        }
}

/* A private function of the captured values that does what the op does. */
static ir_op outline(struct captures *c) {
    struct build *b = c->b;
    struct ir_module *m = b->m;
    const struct ir_op_data *x = ir_op_get(m, c->op);
    ir_op func = ir_op_new(m, IR_FUNC, NULL, 0, NULL, 0, 1);
    ir_block body = ir_block_new(m, ir_op_region(m, func, 0));
    struct opt_map map = opt_map_new(&b->opt);
    ir_type *ins = ARENA_ARRAY(b->a, ir_type, c->values.n + 1), *outs = ARENA_ARRAY(b->a, ir_type, x->nresults + 1);
    ir_val *results = ARENA_ARRAY(b->a, ir_val, x->nresults + 1);
    for (uint32_t i = 0; i < c->values.n; i++) {
        ins[i] = ir_val_get(m, c->values.v[i])->type;
        opt_map_set(&map, c->values.v[i], ir_block_add_arg(m, body, ins[i]));
    }
    ir_op copy = opt_clone(&map, c->op);
    ir_append(m, body, copy);
    for (uint32_t i = 0; i < x->nresults; i++) {
        results[i] = ir_result(m, copy, i);
        outs[i] = ir_val_get(m, results[i])->type;
    }
    ir_append(m, body, ir_op_new(m, IR_FUNC_RETURN, results, x->nresults, NULL, 0, 0));
    char name[48];
    int n = snprintf(name, sizeof name, "hilo.step.%u", b->nfuncs++);
    ir_type type = ir_type_function(m, ins, c->values.n, outs, x->nresults);
    ir_set_prop(m, func, IR_FUNC_sym_name, ir_attr_string(m, (struct str){name, (size_t)n}));
    ir_set_prop(m, func, IR_FUNC_function_type, ir_attr_of_type(m, type));
    ir_set_prop(m, func, IR_FUNC_sym_visibility, ir_attr_string(m, STR("private")));
    ir_set_loc(m, func, x->loc, x->line, x->col);
    ir_append(m, ir_module_body(m), func);
    return func;
}

static void reference(struct build *b, ir_op op) {
    struct captures c = {.b = b, .op = op};
    const struct ir_op_data *x = ir_op_get(b->m, op);
    for (uint32_t i = 0; i < x->noperands; i++)
        capture(&c, x->operands[i]);
    for (uint32_t i = 0; i < x->nregions; i++)
        capture_region(&c, ir_op_region(b->m, op, i));
    uint32_t *in = ARENA_ARRAY(b->a, uint32_t, c.values.n + 1);
    for (uint32_t i = 0; i < c.values.n; i++)
        in[i] = build_buffer(b, c.values.v[i]);
    bool effect = !ir_op_has((enum ir_op_kind)x->kind, IR_T_PURE);
    uint32_t nresults = x->nresults;
    ir_op func = outline(&c);
    plan_note(b->p, build_note_op(b, op));
    plan_reference(b->p, func, effect, c.values.n, in, nresults, result_buffers(b, op));
    plan_note(b->p, NULL);
}

/* ---- loops and branches ----------------------------------------------------------------------- */

static ir_block only_block(const struct build *b, ir_op op, uint32_t region) {
    return ir_region_get(b->m, ir_op_region(b->m, op, region))->first;
}

/* A loop of little work is one kernel. */
static bool native_loop(struct build *b, ir_op op, const struct fuse_block *test, const struct fuse_block *body) {
    const ir_val *args = ir_block_get(b->m, only_block(b, op, 1))->args;
    if (b->level < 2 || !build_is_static(b, op) || !lower_supports_loop(b->m, op, test, body, b->target))
        return false;
    uint32_t *first = operand_buffers(b, op);
    for (uint32_t i = 0; i < ir_op_get(b->m, op)->noperands; i++)
        if (IR_SAME(ir_operand(b->m, ir_terminator(b->m, only_block(b, op, 1)), i), args[i]))
            build_bind(b, ir_result(b->m, op, i), first[i]);
    lower_loop(&b->scratch, b->m, op, test, body, b->target, &b->now);
    b->note = build_note_op(b, op);
    build_lowered(b);
    b->note = NULL;
    return true;
}

/* Whether the number of iterations is known, so that the test need not run: it must have no effect, and not fail. */
static bool is_counted(const struct build *b, ir_op op, uint64_t *trips) {
    for (ir_op x = ir_block_get(b->m, only_block(b, op, 0))->first; !IR_NONE(x); x = ir_op_get(b->m, x)->next)
        if (!ir_op_has(ir_kind(b->m, x), IR_T_PURE | IR_T_TERMINATOR) || ir_op_has(ir_kind(b->m, x), IR_T_MAY_FAIL) ||
            ir_op_get(b->m, x)->nregions)
            return false;
    return opt_trip_count(b->m, op, trips);
}

/* Whether nothing uses a state but the op that computes its next value, as a counter may be where the test need not run. */
static bool is_idle(const struct build *b, ir_op loop, uint32_t i) {
    ir_block body = only_block(b, loop, 1);
    ir_val arg = ir_block_get(b->m, body)->args[i], next = ir_operand(b->m, ir_terminator(b->m, body), i);
    ir_op op = ir_val_get(b->m, next)->op;
    bool own = false, pure = !IR_NONE(op) && ir_op_has(ir_kind(b->m, op), IR_T_PURE) && ir_op_get(b->m, op)->nregions == 0 &&
                             ir_op_get(b->m, op)->nresults == 1;
    for (uint32_t k = 0; pure && k < ir_op_get(b->m, op)->noperands; k++)
        own |= IR_SAME(ir_operand(b->m, op, k), arg);
    return own && opt_uses_in(b->m, body, arg) == 1 && opt_uses_in(b->m, body, next) == 1 &&
           opt_uses_in(b->m, ir_op_get(b->m, loop)->parent, ir_result(b->m, loop, i)) == 0;
}

/* A state that the body passes on unchanged, or that nothing uses, needs no memory of its own. */
static void while_loop(struct build *b, ir_op op) {
    ir_block test = only_block(b, op, 0), body = only_block(b, op, 1);
    struct fuse_block ft, fb;
    build_cluster(b, test, &ft);
    build_cluster(b, body, &fb);
    if (native_loop(b, op, &ft, &fb))
        return;
    uint32_t n = ir_op_get(b->m, op)->noperands, states = 0, copied = 0, fills;
    uint64_t trips = 0;
    bool counted = is_counted(b, op, &trips);
    uint32_t *from = operand_buffers(b, op), *first = ARENA_ARRAY(b->a, uint32_t, n + 1),
             *filled = ARENA_ARRAY(b->a, uint32_t, n + 1), *state = ARENA_ARRAY(b->a, uint32_t, n + 1),
             *which = ARENA_ARRAY(b->a, uint32_t, n + 1);
    const ir_val *tests = ir_block_get(b->m, test)->args, *args = ir_block_get(b->m, body)->args;
    const ir_val *nexts = ir_op_get(b->m, ir_terminator(b->m, body))->operands;
    const bool *overwritten = opt_loop_overwrites(b->m, op, b->a);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t buffer = from[i];
        if (!IR_SAME(nexts[i], args[i]) && !(counted && is_idle(b, op, i))) {
            buffer = build_temp(b, ir_result(b->m, op, i));
            which[states] = i;
            state[states++] = buffer;
            if (overwritten[i]) {
                plan_undefined(b->p, buffer);
            } else {
                first[copied] = from[i];
                filled[copied++] = buffer;
            }
        }
        build_bind(b, ir_result(b->m, op, i), buffer);
        build_bind(b, tests[i], buffer);
        build_bind(b, args[i], buffer);
    }
    plan_copy(b->p, copied, first, filled);
    fills = b->fills.n;
    if (counted) {
        plan_loop_begin_counted(b->p, trips);
    } else {
        plan_loop_begin(b->p);
        build_block(b, test, &ft);
        uint32_t predicate = build_buffer(b, ir_operand(b->m, ir_terminator(b->m, test), 0));
        build_forget(b, fills);
        plan_loop_body(b->p, predicate);
    }
    build_block(b, body, &fb);
    for (uint32_t i = 0; i < states; i++)
        from[i] = build_buffer(b, ir_operand(b->m, ir_terminator(b->m, body), which[i]));
    plan_copy(b->p, states, from, state);
    build_forget(b, fills);
    plan_loop_end(b->p);
}

static void branch(struct build *b, ir_op op) {
    const struct ir_op_data *x = ir_op_get(b->m, op);
    uint32_t nregions = x->nregions, n = x->nresults;
    uint32_t selector = build_buffer(b, x->operands[0]), *to = ARENA_ARRAY(b->a, uint32_t, n + 1);
    for (uint32_t i = 0; i < n; i++)
        to[i] = build_temp(b, ir_result(b->m, op, i));
    plan_branch_begin(b->p, selector);
    for (uint32_t r = 0; r < nregions; r++) {
        if (r)
            plan_branch_next(b->p);
        ir_block block = only_block(b, op, r);
        struct fuse_block f;
        uint32_t fills = b->fills.n, *from = ARENA_ARRAY(b->a, uint32_t, n + 1);
        build_cluster(b, block, &f);
        build_block(b, block, &f);
        for (uint32_t i = 0; i < n; i++)
            from[i] = build_buffer(b, ir_operand(b->m, ir_terminator(b->m, block), i));
        plan_copy(b->p, n, from, to);
        build_forget(b, fills);
    }
    plan_branch_end(b->p);
}

/* ---- collectives ------------------------------------------------------------------------------ */

/* Whether parts along the dimension are whole blocks of memory. */
static bool is_outermost(const struct ir_type_data *t, int64_t dim) {
    for (int64_t i = 0; i < dim; i++)
        if (t->dims[i] != 1)
            return false;
    return true;
}

static bool has_blocks(const struct build *b, ir_op op, int64_t dim) {
    for (uint32_t i = 0; i < ir_op_get(b->m, op)->noperands; i++) {
        const struct ir_type_data *t = ir_val_type(b->m, ir_operand(b->m, op, i));
        if (dim < 0 || dim >= (int64_t)t->rank || !is_outermost(t, dim))
            return false;
    }
    return true;
}

static bool is_quantised(const struct build *b, ir_op op) {
    return ir_op_get(b->m, op)->noperands && ir_val_type(b->m, ir_operand(b->m, op, 0))->quant;
}

/* The exchange that the op is, of those that the pass `collectives` leaves; PLAN_NEXCHANGES: none. */
static enum plan_exchange exchange_of(const struct build *b, ir_op op) {
    const struct ir_module *m = b->m;
    switch (ir_kind(m, op)) {
    case IR_REPLICA_ID:
        return PLAN_REPLICA_ID;
    case IR_PARTITION_ID:
        return PLAN_PARTITION_ID;
    case IR_ALL_GATHER:
        return has_blocks(b, op, ir_prop_i64(m, op, IR_ALL_GATHER_all_gather_dim)) ? PLAN_ALL_GATHER : PLAN_NEXCHANGES;
    case IR_ALL_TO_ALL:
        return ir_prop_i64(m, op, IR_ALL_TO_ALL_split_dimension) == ir_prop_i64(m, op, IR_ALL_TO_ALL_concat_dimension) &&
                       has_blocks(b, op, ir_prop_i64(m, op, IR_ALL_TO_ALL_split_dimension))
                   ? PLAN_ALL_TO_ALL
                   : PLAN_NEXCHANGES;
    case IR_COLLECTIVE_BROADCAST: /* zeros of quantised types are not zero bytes */
        return IR_NONE(ir_prop(m, op, IR_COLLECTIVE_BROADCAST_has_dynamic_root)) && !is_quantised(b, op) ? PLAN_BROADCAST
                                                                                                    : PLAN_NEXCHANGES;
    case IR_COLLECTIVE_PERMUTE:
        return is_quantised(b, op) ? PLAN_NEXCHANGES : PLAN_PERMUTE;
    default:
        return PLAN_NEXCHANGES;
    }
}

/* False, and nothing is done, when the op's groups make no sense, which its evaluation will tell. */
static bool collective(struct build *b, ir_op op, enum plan_exchange kind) {
    struct plan_collective c = {.kind = kind};
    const struct ir_op_data *x = ir_op_get(b->m, op);
    uint32_t nin = x->noperands, nout = x->nresults;
    struct diag_list d;
    diag_init(&d, b->a->al);
    bool read = kind >= PLAN_REPLICA_ID || ir_groups_read(b->m, op, &b->a->al, &d, &c.groups) == HILO_OK;
    diag_clear(&d);
    if (c.groups.own) { /* of a mesh: read again, because nothing may be owned where the arena's memory may end */
        size_t n = c.groups.n * c.groups.cols;
        ir_groups_free(&b->a->al, &c.groups);
        int64_t *ids = ARENA_ARRAY(b->a, int64_t, n);
        read = ir_groups_read(b->m, op, &b->a->al, b->d, &c.groups) == HILO_OK;
        if (read)
            memcpy(ids, c.groups.own, n * sizeof *ids);
        ir_groups_free(&b->a->al, &c.groups);
        c.groups.ids = ids;
    }
    if (!read)
        return false;
    const uint32_t *in = operand_buffers(b, op);
    plan_note(b->p, build_note_op(b, op));
    plan_exchange(b->p, &c, nin, in, nout, result_buffers(b, op));
    plan_note(b->p, NULL);
    return true;
}

/* ---- divided steps ---------------------------------------------------------------------------- */

/* Parts of what is in memory: the same memory, or a copy, which is a transfer where the other side reads it. */
static void slice_of(struct build *b, ir_op op, bool copied) {
    ir_val v = ir_result(b->m, op, 0);
    const struct ir_type_data *t = ir_val_type(b->m, v), *from = ir_val_type(b->m, ir_operand(b->m, op, 0));
    size_t n, offset = 0;
    const int64_t *start = ir_prop_i64s(b->m, op, IR_SLICE_start_indices, &n);
    for (uint32_t i = 0; i < t->rank; i++)
        if (t->dims[i] != from->dims[i]) {
            offset = (size_t)start[i] * divide_bytes(from, i);
            if (!divide_is_outermost(from, i)) {
                build_single(b, op);
                return;
            }
        }
    uint32_t part = plan_alias(b->p, build_buffer(b, ir_operand(b->m, op, 0)), offset, t->dtype, t->rank, t->dims);
    if (!copied) {
        build_bind(b, v, part);
        return;
    }
    uint32_t to = build_temp(b, v);
    plan_copy(b->p, 1, &part, &to);
}

/* Parts that are not in their place are copied there. */
static void join(struct build *b, ir_op op) {
    uint32_t axis = (uint32_t)ir_prop_i64(b->m, op, IR_CONCATENATE_dimension);
    if (!divide_is_outermost(ir_val_type(b->m, ir_result(b->m, op, 0)), axis)) {
        build_single(b, op);
        return;
    }
    uint32_t all = build_joined(b, op);
    size_t at = 0;
    for (uint32_t i = 0; i < DIVIDE_SIDES; i++) {
        uint32_t part = build_buffer(b, ir_operand(b->m, op, i));
        struct plan_buffer x = *plan_buffer_get(b->p, part);
        if (x.root != plan_buffer_get(b->p, all)->root) {
            uint32_t to = plan_alias(b->p, all, at, x.dtype, x.rank, x.dims);
            plan_copy(b->p, 1, &part, &to);
        }
        at += x.bytes;
    }
}

/* ---- all -------------------------------------------------------------------------------------- */

/* At level 0 sums of products are the evaluator's, step by step. */
static bool has_routine(struct build *b, ir_op op, struct lib_match *match) {
    const struct build_choice *c = build_choose(b, op);
    if (c && c->match.by != LIB_OWN) {
        *match = c->match;
        return true;
    }
    return ir_kind(b->m, op) != IR_CUSTOM_CALL && /* by what is registered for it, or evaluated */
           !(b->level == 0 && ir_op_has(ir_kind(b->m, op), IR_T_CONTRACTION)) && lib_match(b->m, op, match);
}

void build_op(struct build *b, ir_op op) {
    struct lib_match *match = ARENA_NEW(b->a, struct lib_match);
    enum ir_op_kind kind = ir_kind(b->m, op);
    uint32_t own = b->divided ? opt_ids_get(&b->divided->own, op.i) : DIVIDE_NOT_OWN;
    if (own == DIVIDE_JOIN)
        join(b, op);
    else if (own)
        slice_of(b, op, own == DIVIDE_COPIED);
    else if (kind == IR_WHILE)
        while_loop(b, op);
    else if (kind == IR_IF || kind == IR_CASE)
        branch(b, op);
    else if (build_is_static(b, op) && exchange_of(b, op) != PLAN_NEXCHANGES && collective(b, op, exchange_of(b, op)))
        return;
    else if (build_is_static(b, op) && has_routine(b, op, match)) {
        const struct ir_op_data *x = ir_op_get(b->m, op);
        uint32_t nin = x->noperands, nout = x->nresults;
        const uint32_t *in = operand_buffers(b, op);
        plan_note(b->p, build_note_op(b, op));
        plan_routine(b->p, match, nin, in, nout, result_buffers(b, op));
        plan_note(b->p, NULL);
    } else {
        reference(b, op);
    }
}
