/* A `while` as one kernel: the clusters of its condition and body are consecutive loop nests. Scalar states are registers,
 * tensor states and values between clusters are in memory. For bodies of so little work that the steps of a plan would cost
 * more than the work. */
#include "lower/lower.h"

#include <math.h>

enum {
    NATIVE_OPS = 400, /* bounds the kernel's size */
    NATIVE_TRIP_COUNT = 1 << 24 /* runs are cancelled between steps only, so a kernel must end soon */
};

static ir_block region_block(const struct ir_module *m, ir_op op, uint32_t i) {
    return ir_region_get(m, ir_op_region(m, op, i))->first;
}

/* ---- the decision ----------------------------------------------------------------------------- */

static double op_count(const struct ir_module *m, const struct fuse_kernel *k) {
    double n = k->nops + 1.0;
    for (uint32_t i = 0; i < k->rank; i++)
        n *= (double)k->dims[i];
    if (k->schedule == FUSE_CONTRACT) /* rows x columns x contracted elements, from the three element counts */
        n += sqrt((double)ir_val_count(m, ir_operand(m, k->anchor, 0)) * (double)ir_val_count(m, ir_operand(m, k->anchor, 1)) *
                  (double)ir_val_count(m, ir_result(m, k->anchor, 0)));
    return n;
}

/* Whether the block may overwrite the value: a state or a value of its own that has no other use. */
static bool is_overwritable(const struct ir_module *m, ir_block b, ir_val v) {
    const struct ir_val_data *x = ir_val_get(m, v);
    bool mine = IR_NONE(x->op) ? IR_SAME(x->block, b) : IR_SAME(ir_op_get(m, x->op)->parent, b) && !fuse_is_constant(m, v);
    return mine && opt_uses_in(m, b, v) == 1;
}

static bool supports_block(const struct ir_module *m, ir_block b, const struct fuse_block *f, double *work, uint32_t *nops) {
    for (uint32_t i = 0; i < f->steps.n; i++) {
        const struct fuse_step *s = &f->steps.v[i];
        if (s->kind == FUSE_STEP_OP)
            return false;
        if (s->kind == FUSE_STEP_ALIAS) {
            if (ir_op_get(m, s->op)->nresults != 1)
                return false;
            continue;
        }
        if (s->kernel->schedule == FUSE_STAGES)
            return false;
        if (s->kernel->schedule == FUSE_INTO &&
            !(is_overwritable(m, b, ir_operand(m, s->op, 0)) && IR_NONE(ir_val_get(m, ir_operand(m, s->op, 0))->op) &&
              ir_val_count(m, ir_operand(m, s->op, 1))))
            return false;
        if (s->kernel->nested && ir_val_count(m, s->kernel->outs.v[0]) == 0)
            return false;
        for (uint32_t k = 0; k < s->kernel->outs.n; k++)
            if (ir_val_count(m, s->kernel->outs.v[k]) == 0)
                return false;
        if (s->kernel->nested) /* its reductions read each element of their operands once */
            for (uint32_t k = 0; k < ir_op_get(m, s->op)->noperands; k++)
                *work += (double)ir_val_count(m, ir_operand(m, s->op, k));
        *work += op_count(m, s->kernel);
        *nops += s->kernel->nops + 1;
        if (*nops > NATIVE_OPS)
            return false;
    }
    return true;
}

bool lower_supports_loop(const struct ir_module *m, ir_op op, const struct fuse_block *test, const struct fuse_block *body,
                         const struct target *target) {
    double work = 0;
    uint32_t nops = 0, n = ir_op_get(m, op)->noperands;
    ir_block bt = region_block(m, op, 0), bb = region_block(m, op, 1);
    const ir_val *args = ir_block_get(m, bb)->args, *nexts = ir_op_get(m, ir_terminator(m, bb))->operands;
    uint64_t trip_count;
    if (n > 48 || !opt_trip_count(m, op, &trip_count) || trip_count > NATIVE_TRIP_COUNT ||
        !supports_block(m, bt, test, &work, &nops) || !supports_block(m, bb, body, &work, &nops) ||
        work > (double)target->parallel_ops || nops > NATIVE_OPS)
        return false;
    for (uint32_t i = 0; i < n; i++) {
        if (ir_val_count(m, args[i]) == 0)
            return false;
        for (uint32_t j = 0; j < n; j++) /* swapped tensors would need a copy */
            if (j != i && IR_SAME(nexts[i], args[j]) && ir_val_count(m, args[i]) > 1)
                return false;
        ir_op made = ir_val_get(m, nexts[i])->op;
        if (!IR_NONE(made) && ir_val_count(m, args[i]) > 1 && fuse_is_alias(m, made))
            return false;
    }
    return true;
}

/* ---- the loop --------------------------------------------------------------------------------- */

static bool is_scalar(const struct lower *l, ir_val v) {
    return ir_val_count(l->m, v) == 1;
}

static void index_zero(struct lower *l, ir_val v, struct index *at) {
    *at = (struct index){.n = ir_val_type(l->m, v)->rank};
    for (uint32_t i = 0; i < at->n; i++)
        at->at[i] = kir_i64(l->k, 0);
}

static struct elem scalar(struct lower *l, ir_val v) {
    struct index at;
    index_zero(l, v, &at);
    return lower_value(l, v, &at);
}

static void know_scalar(struct lower *l, ir_val v, struct elem e) {
    struct index at;
    index_zero(l, v, &at);
    lower_define(l, v, &at, e);
}

bool lower_native_store(struct lower *l, ir_val v, const struct index *at, struct elem e) {
    if (is_scalar(l, v)) {
        (void)at;
        know_scalar(l, v, e);
        return true;
    }
    if (!opt_sparse_get(&l->param_of, v.i)) {
        const struct ir_type_data *t = ir_val_type(l->m, v);
        uint32_t temp =
            lower_new_temp(l, ir_dtype_part(t->dtype), (int64_t)ir_val_count(l->m, v) * (lower_is_complex(t->dtype) ? 2 : 1));
        opt_sparse_set(&l->param_of, v.i, lower_temp(l, temp, KIR_INOUT) + 1);
    }
    return false;
}

struct state {
    ir_val first, result, test, body, next;
    kir_val re, im;    /* registers of a scalar */
    bool scalar, invariant; /* invariant: the body returns it unchanged */
};

static void bind(struct lower *l, const struct state *s, ir_val arg) {
    kir_val none = {0};
    if (s->invariant && s->scalar) {
        know_scalar(l, arg, scalar(l, s->first));
    } else if (s->scalar) {
        know_scalar(l, arg, (struct elem){kir_get_reg(l->k, s->re, none), s->im.i ? kir_get_reg(l->k, s->im, none) : none});
    } else {
        uint32_t b = s->invariant ? lower_param(l, s->first, KIR_IN) : opt_sparse_get(&l->param_of, s->result.i) - 1;
        opt_sparse_set(&l->param_of, arg.i, b + 1);
    }
}

static void lower_steps(struct lower *l, ir_block block, const struct fuse_block *f) {
    l->block = block;
    l->fused = f;
    for (uint32_t i = 0; i < f->steps.n; i++) {
        const struct fuse_step *s = &f->steps.v[i];
        ir_val v = ir_result(l->m, s->op, 0), from = ir_operand(l->m, s->op, 0);
        if (s->kind == FUSE_STEP_ALIAS && is_scalar(l, v)) {
            know_scalar(l, v, scalar(l, from));
        } else if (s->kind == FUSE_STEP_ALIAS) {
            uint32_t known = opt_sparse_get(&l->param_of, from.i);
            opt_sparse_set(&l->param_of, v.i, known ? known : lower_param(l, from, KIR_IN) + 1);
        } else {
            if (s->kernel->schedule == FUSE_INTO)
                opt_sparse_set(&l->param_of, v.i, opt_sparse_get(&l->param_of, from.i));
            lower_schedule(l, s->kernel);
        }
    }
    l->kernel = NULL;
}

static void update_states(struct lower *l, struct state *states, uint32_t n) {
    struct elem next[64];
    kir_val none = {0};
    for (uint32_t i = 0; i < n; i++)
        if (states[i].scalar && !states[i].invariant)
            next[i] = scalar(l, states[i].next);
    for (uint32_t i = 0; i < n; i++) {
        const struct state *s = &states[i];
        if (s->invariant)
            continue;
        if (s->scalar) {
            kir_set_reg(l->k, s->re, none, next[i].re);
            if (s->im.i)
                kir_set_reg(l->k, s->im, none, next[i].im);
            continue;
        }
        uint32_t to = opt_sparse_get(&l->param_of, s->result.i) - 1;
        if (opt_sparse_get(&l->param_of, s->next.i) == to + 1)
            continue; /* updated in place */
        const struct ir_type_data *t = ir_val_type(l->m, s->next);
        struct index at = {.flat = true, .n = 1};
        at.at[0] = kir_loop(l->k, KIR_VECTOR, (int64_t)ir_val_count(l->m, s->next), lower_lanes(l, 4, 2));
        struct elem e = lower_value(l, s->next, &at);
        kir_val place = lower_is_complex(t->dtype) ? lower_mul(l, at.at[0], 2) : at.at[0];
        kir_store(l->k, to, place, e.re);
        if (e.im.i)
            kir_store(l->k, to, lower_add(l, place, kir_i64(l->k, 1)), e.im);
        kir_close(l->k);
    }
}

void lower_loop(struct arena *a, const struct ir_module *m, ir_op op, const struct fuse_block *test,
                const struct fuse_block *body, const struct target *target, struct lowered *out) {
    struct lower l = {.a = a, .m = m, .target = target, .all = out};
    struct state states[64];
    uint32_t n = ir_op_get(m, op)->noperands;
    kir_val none = {0};
    ir_block bt = region_block(m, op, 0), bb = region_block(m, op, 1);
    *out = (struct lowered){.nkernels = 0};
    lower_begin(&l);
    for (uint32_t i = 0; i < n; i++) {
        struct state *s = &states[i];
        *s = (struct state){.first = ir_operand(m, op, i),
                            .result = ir_result(m, op, i),
                            .test = ir_block_get(m, bt)->args[i],
                            .body = ir_block_get(m, bb)->args[i],
                            .next = ir_operand(m, ir_terminator(m, bb), i)};
        s->scalar = is_scalar(&l, s->first);
        s->invariant = IR_SAME(s->next, s->body);
        if (s->scalar && !s->invariant) {
            struct elem e = scalar(&l, s->first);
            s->re = kir_reg(l.k, e.re, 1);
            s->im = e.im.i ? kir_reg(l.k, e.im, 1) : none;
        } else if (!s->invariant) {
            (void)lower_param(&l, s->result, KIR_INOUT);
        }
    }
    l.native = true;
    kir_while(l.k);
    for (uint32_t i = 0; i < n; i++)
        bind(&l, &states[i], states[i].test);
    lower_steps(&l, bt, test);
    kir_do(l.k, scalar(&l, ir_operand(m, ir_terminator(m, bt), 0)).re);
    for (uint32_t i = 0; i < n; i++)
        bind(&l, &states[i], states[i].body);
    lower_steps(&l, bb, body);
    update_states(&l, states, n);
    kir_close(l.k);
    l.native = false;
    l.block = (ir_block){0};
    for (uint32_t i = 0; i < n; i++)
        if (states[i].scalar && !states[i].invariant) {
            struct index at;
            const struct state *s = &states[i];
            index_zero(&l, s->result, &at);
            lower_store(&l, s->result, &at,
                        (struct elem){kir_get_reg(l.k, s->re, none), s->im.i ? kir_get_reg(l.k, s->im, none) : none});
        }
    out->kernels[0].ns = 1e4;
}
