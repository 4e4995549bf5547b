/* VECTOR loops: which values differ between lanes, the main loop and its tail, reductions.
 *
 * All full steps run without a mask. What remains is one step with a mask, or, where the processor would have to split a masked
 * access, a scalar loop.
 *
 * Every second element of two vectors of AVX2 is picked within their halves by one instruction, and then put in order across
 * them by another one, of which some processors begin one in a cycle. So a loop with more such loads than others and stores has
 * its lanes in the order of the first. */
#include "codegen/emit.h"

#include "kir/node.h"

#include <stdio.h>

/* ---- classes --------------------------------------------------------------------------------- */

struct classify {
    struct emit *e;
    kir_block body;
    bool changed; /* a register was found to vary: repeat the analysis */
};

static enum emit_class classify_of(const struct classify *c, kir_val v) {
    return emit_is(v) ? (enum emit_class)c->e->nodes[v.i].class : EMIT_UNIFORM;
}

/* The loop's index, of which lane 0 has a multiple of the width, divided by less than that. */
static bool classify_steps(const struct classify *c, const struct kir_node *n, int64_t *out, int64_t *every) {
    const struct kir_node *loop = kir_get(c->e->k, n->arg[0]);
    *out = 1;
    return n->op == KIR_DIV && loop->op == KIR_LOOP && loop->sub == KIR_VECTOR && kir_is_const(c->e->k, n->arg[1], every) &&
           *every > 0 && (*every & (*every - 1)) == 0 && *every <= loop->width;
}

/* Sums and multiples of linear values are linear. */
static bool classify_linear(const struct classify *c, const struct kir_node *n, int64_t *out, int64_t *every) {
    const struct emit_node *nodes = c->e->nodes;
    if (n->type != KIR_I64 || classify_of(c, n->arg[0]) == EMIT_VARYING || classify_of(c, n->arg[1]) == EMIT_VARYING)
        return false;
    if (classify_steps(c, n, out, every))
        return true;
    int64_t a = nodes[n->arg[0].i].stride, b = nodes[n->arg[1].i].stride, by;
    *every = a || b ? nodes[(a ? n->arg[0] : n->arg[1]).i].every : 1;
    if (a && b && nodes[n->arg[0].i].every != nodes[n->arg[1].i].every)
        return false;
    switch (n->op) {
    case KIR_ADD:
        return !__builtin_add_overflow(a, b, out);
    case KIR_SUB:
        return !__builtin_sub_overflow(a, b, out);
    case KIR_NEG:
        return !__builtin_sub_overflow(0, a, out);
    case KIR_MUL:
        if (kir_is_const(c->e->k, n->arg[1], &by))
            return !__builtin_mul_overflow(a, by, out);
        return kir_is_const(c->e->k, n->arg[0], &by) && !__builtin_mul_overflow(b, by, out);
    case KIR_SHL:
        return kir_is_const(c->e->k, n->arg[1], &by) && by >= 0 && by < 32 && !__builtin_mul_overflow(a, (int64_t)1 << by, out);
    default:
        return false;
    }
}

static void classify_register(struct classify *c, uint32_t reg, kir_val value) {
    struct emit_node *en = &c->e->nodes[reg];
    if (classify_of(c, value) == EMIT_UNIFORM || en->class == EMIT_VARYING)
        return;
    en->class = EMIT_VARYING;
    c->changed = true;
}

static void classify_node(struct classify *c, kir_val v) {
    const struct kir *k = c->e->k;
    const struct kir_node *n = kir_get(k, v);
    struct emit_node *en = &c->e->nodes[v.i];
    bool outside =
        (n->op == KIR_SET || n->op == KIR_ACC || n->op == KIR_GET) && !kir_block_within(k, k->nodes.v[n->of].block, c->body);
    en->every = 1;
    switch ((enum kir_op)n->op) {
    case KIR_REG:
        classify_register(c, v.i, n->arg[0]);
        return;
    case KIR_SET:
        if (outside)
            emit_fail(c->e, "a VECTOR loop sets a register from outside");
        else
            classify_register(c, n->of, n->arg[0]);
        return;
    case KIR_ACC:
        if (!outside)
            classify_register(c, n->of, n->arg[0]);
        return;
    case KIR_LDMATRIX:
    case KIR_MMA:
        c->changed |= c->e->nodes[kir_changes(n)].class != EMIT_VARYING;
        c->e->nodes[kir_changes(n)].class = EMIT_VARYING;
        return;
    case KIR_GET:
        en->class = outside ? EMIT_UNIFORM : c->e->nodes[n->of].class;
        return;
    case KIR_ANY:
    case KIR_LOOP:
        en->class = EMIT_UNIFORM;
        return;
    default:
        break;
    }
    int64_t stride, every = 1;
    bool uniform = true;
    for (int i = 0; i < 3; i++)
        uniform &= classify_of(c, n->arg[i]) == EMIT_UNIFORM;
    en->stride = 0;
    en->narrow = false;
    if (uniform) {
        en->class = EMIT_UNIFORM;
    } else if (classify_linear(c, n, &stride, &every)) {
        en->class = stride ? EMIT_LINEAR : EMIT_UNIFORM;
        en->stride = stride;
        en->every = every;
    } else {
        en->class = EMIT_VARYING;
        en->narrow = n->type == KIR_I64 && emit_is_narrow(c->e, n);
    }
}

static void classify_block(struct classify *c, kir_block b) {
    for (kir_val v = kir_block_get(c->e->k, b)->first; emit_is(v); v = kir_get(c->e->k, v)->next) {
        const struct kir_node *n = kir_get(c->e->k, v);
        classify_node(c, v);
        if (n->other.i)
            classify_block(c, n->other);
        if (n->body.i)
            classify_block(c, n->body);
    }
}

/* Whether operand i of a node is used as a scalar although the node is not. */
static bool classify_takes_scalar(const struct classify *c, const struct kir_node *n, int i) {
    enum emit_class class = classify_of(c, n->arg[i]);
    switch ((enum kir_op)n->op) {
    case KIR_LOAD:
        return (i == 0 && class == EMIT_LINEAR) || (i == 1 && class == EMIT_UNIFORM);
    case KIR_STORE:
        return (i == 0 && class == EMIT_LINEAR) || (i == 2 && class == EMIT_UNIFORM);
    case KIR_PREFETCH:
    case KIR_GET:
        return true;
    case KIR_SET:
        return i == 1 || c->e->nodes[n->of].class == EMIT_UNIFORM;
    case KIR_ACC:
    case KIR_LDMATRIX:
        return i == 1;
    default:
        return false;
    }
}

static void classify_uses(struct classify *c, kir_block b) {
    for (kir_val v = kir_block_get(c->e->k, b)->first; emit_is(v); v = kir_get(c->e->k, v)->next) {
        const struct kir_node *n = kir_get(c->e->k, v);
        bool effect = n->op == KIR_STORE || n->op == KIR_ACC || n->op == KIR_SET || n->op == KIR_PREFETCH ||
                      n->op == KIR_LDMATRIX || n->op == KIR_COPY_ASYNC;
        if (effect || c->e->nodes[v.i].class == EMIT_VARYING)
            for (int i = 0; i < 3; i++)
                if (emit_is(n->arg[i]) && !classify_takes_scalar(c, n, i))
                    c->e->nodes[n->arg[i].i].as_vector = true;
        if (n->other.i)
            classify_uses(c, n->other);
        if (n->body.i)
            classify_uses(c, n->body);
    }
}

void emit_classify(struct emit *e, kir_val loop) {
    struct classify c = {.e = e, .body = kir_get(e->k, loop)->body};
    e->nodes[loop.i].class = EMIT_LINEAR;
    e->nodes[loop.i].stride = e->nodes[loop.i].every = 1;
    do {
        c.changed = false;
        classify_block(&c, c.body);
    } while (c.changed && e->status == HILO_OK);
    classify_uses(&c, c.body);
}

/* ---- values ---------------------------------------------------------------------------------- */

bool emit_varies(const struct emit *e, kir_val v) {
    return e->width && e->nodes[v.i].class == EMIT_VARYING;
}

LLVMValueRef emit_scalar(struct emit *e, kir_val v) {
    const struct kir_node *n = kir_get(e->k, v);
    if (n->op == KIR_CONST)
        return emit_const(e, (enum kir_type)n->type, n->imm);
    if (!emit_varies(e, v) && e->nodes[v.i].value)
        return e->blocks && e->nodes[v.i].narrow ? emit_cast(e, LLVMSExt, e->nodes[v.i].value, e->i64) : e->nodes[v.i].value;
    emit_fail(e, "a value that differs between lanes, or is not there yet, is used as one for all");
    return e->l->GetPoison(emit_scalar_type(e, (enum kir_type)n->type));
}

LLVMValueRef emit_scalar32(struct emit *e, kir_val v) {
    const struct emit_node *en = &e->nodes[v.i];
    return en->narrow && en->value && e->blocks ? en->value : emit_cast(e, LLVMTrunc, emit_scalar(e, v), e->i32);
}

/* The lane at place i. */
static uint32_t vector_lane(const struct emit *e, uint32_t i) {
    return e->order ? e->order[i] : i;
}

LLVMValueRef emit_reorder(struct emit *e, LLVMValueRef v) {
    return e->order ? emit_shuffle(e, v, e->l->GetPoison(e->l->TypeOf(v)), e->order, e->width) : v;
}

/* base + <0, stride, 2 · stride …>, each `every` times */
static LLVMValueRef vector_linear(struct emit *e, LLVMValueRef base, int64_t stride, int64_t every) {
    LLVMValueRef *steps = ARENA_ARRAY(&e->arena, LLVMValueRef, e->width), all = emit_splat(e, base, e->width);
    for (uint32_t i = 0; i < e->width; i++)
        steps[i] = e->l->ConstInt(e->l->TypeOf(base), (uint64_t)stride * (vector_lane(e, i) / (uint64_t)every), true);
    return stride ? emit_bin(e, LLVMAdd, all, e->l->ConstVector(steps, e->width)) : all;
}

/* The vector of a value known as a scalar, in 64 or 32 bits; of one from outside it is made once, before the loop. */
static LLVMValueRef vector_of(struct emit *e, kir_val v, bool narrow, bool here) {
    const struct llvm *l = e->l;
    const struct kir_node *n = kir_get(e->k, v);
    struct emit_node *en = &e->nodes[v.i];
    LLVMValueRef scalar = emit_scalar(e, v);
    if (en->lanes[narrow].stamp == e->stamp)
        return en->lanes[narrow].v;
    bool inside = kir_block_within(e->k, n->op == KIR_LOOP ? n->body : n->block, e->vector_body);
    bool outside = !inside && !l->IsConstant(scalar);
    LLVMBasicBlockRef at = l->GetInsertBlock(e->b);
    if (outside)
        l->PositionBuilderBefore(e->b, l->GetBasicBlockTerminator(e->before));
    LLVMValueRef lanes = vector_linear(e, narrow ? emit_cast(e, LLVMTrunc, scalar, e->i32) : scalar, inside ? en->stride : 0,
                                       inside ? en->every : 1);
    if (outside)
        l->PositionBuilderAtEnd(e->b, at);
    if (outside || here) {
        en->lanes[narrow].v = lanes;
        en->lanes[narrow].stamp = e->stamp;
    }
    return lanes;
}

LLVMValueRef emit_lanes(struct emit *e, kir_val v) {
    const struct emit_node *en = &e->nodes[v.i];
    if (!emit_varies(e, v))
        return vector_of(e, v, false, false);
    return en->narrow ? emit_cast(e, LLVMSExt, en->value, e->i64) : en->value;
}

LLVMValueRef emit_lanes32(struct emit *e, kir_val v) {
    const struct emit_node *en = &e->nodes[v.i];
    if (!emit_varies(e, v))
        return vector_of(e, v, true, false);
    return en->narrow ? en->value : emit_cast(e, LLVMTrunc, en->value, e->i32);
}

void emit_lanes_here(struct emit *e, kir_val v) {
    vector_of(e, v, false, true);
    if (emit_fits(e, v))
        vector_of(e, v, true, true);
}

/* ---- reductions ------------------------------------------------------------------------------ */

static bool reduce_splits(const struct kir_node *acc, enum kir_type t) {
    return kir_is_float(t) && (acc->sub == KIR_MIN || acc->sub == KIR_MAX);
}

/* As many lanes as fill one register: of wider vectors, the checks of all parts are combined before they are accumulated. */
static uint32_t reduce_checked_lanes(const struct emit *e, enum kir_type t) {
    uint32_t lanes = e->width, bytes = kir_type_bits(t) / 8;
    while (lanes * bytes > e->t->vector_bytes)
        lanes /= 2;
    return lanes;
}

/* Flags of lanes, which processors without mask registers hold in vectors as wide as the operands of the comparison. */
static LLVMTypeRef reduce_flags(const struct emit *e, LLVMTypeRef bits) {
    return e->t->vector_bytes == 64 ? emit_lanes_type(e, e->i1, e->l->GetVectorSize(bits)) : bits;
}

/* Registers from outside that the loop accumulates into begin with lanes of the neutral element. */
static void reduce_begin(struct emit *e, kir_block b, bool split) {
    const struct kir *k = e->k;
    for (kir_val v = kir_block_get(k, b)->first; emit_is(v); v = kir_get(k, v)->next) {
        const struct kir_node *n = kir_get(k, v), *reg = &k->nodes.v[n->of];
        if (n->op == KIR_ACC && !kir_block_within(k, reg->block, e->vector_body)) {
            enum kir_type t = (enum kir_type)reg->type;
            uint32_t slot = e->nodes[n->of].slot, lanes = reduce_checked_lanes(e, t);
            uint64_t neutral = (uint64_t)kir_neutral_bits((enum kir_op)n->sub, n->flags, t);
            for (uint32_t i = 0; i < (uint32_t)reg->imm; i++) {
                struct emit_slot *s = &e->slots[slot + i];
                if (e->accs[slot + i] && (e->accs[slot + i]->sub != n->sub || e->accs[slot + i]->flags != n->flags))
                    emit_fail(e, "a VECTOR loop accumulates in two ways into one register");
                e->accs[slot + i] = n;
                s->value = emit_like(e, emit_lanes_type(e, emit_scalar_type(e, t), e->width), neutral);
                if (!split || !reduce_splits(n, t))
                    continue;
                LLVMTypeRef bits = emit_lanes_type(e, t == KIR_F64 ? e->i64 : e->i32, lanes);
                s->zeros = emit_like(e, bits, n->sub == KIR_MAX ? UINT64_MAX : 0);
                s->nans = emit_like(e, reduce_flags(e, bits), 0);
            }
        }
        if (n->body.i)
            reduce_begin(e, n->body, split);
        if (n->other.i)
            reduce_begin(e, n->other, split);
    }
}

/* The greater (smaller) of what are numbers; which zero, and a NaN of `b`, do not matter: one instruction. */
static LLVMValueRef reduce_number(struct emit *e, enum kir_op op, LLVMValueRef b, LLVMValueRef a) {
    LLVMValueRef c = e->l->BuildFCmp(e->b, op == KIR_MAX ? LLVMRealOGT : LLVMRealOLT, b, a, "");
    return emit_select(e, c, b, a);
}

/* A minimum or maximum in three registers: see struct emit_slot. */
static void reduce_split(struct emit *e, const struct kir_node *n, struct emit_slot *s, LLVMValueRef v, enum kir_type t) {
    enum kir_op op = (enum kir_op)n->sub;
    LLVMOpcode join = op == KIR_MAX ? LLVMAnd : LLVMOr;
    if (e->mask)
        v = emit_select(e, e->mask, v, emit_like(e, e->l->TypeOf(v), (uint64_t)kir_neutral_bits(op, 0, t)));
    s->value = reduce_number(e, op, v, s->value);
    LLVMValueRef bits = emit_cast(e, LLVMBitCast, v, t == KIR_F64 ? e->i64 : e->i32), nans;
    uint32_t most = emit_lanes_of(e, s->nans);
    if (most < emit_lanes_of(e, v)) /* one comparison for two numbers */
        nans = e->l->BuildFCmp(e->b, LLVMRealUNO, emit_half(e, v, false), emit_half(e, v, true), "");
    else
        nans = e->l->BuildFCmp(e->b, LLVMRealUNO, v, v, "");
    if (e->t->vector_bytes < 64)
        nans = emit_cast(e, LLVMSExt, nans, e->l->GetElementType(e->l->TypeOf(bits)));
    while (emit_lanes_of(e, nans) > most)
        nans = emit_bin(e, LLVMOr, emit_half(e, nans, false), emit_half(e, nans, true));
    while (emit_lanes_of(e, bits) > most)
        bits = emit_bin(e, join, emit_half(e, bits, false), emit_half(e, bits, true));
    s->zeros = emit_bin(e, join, s->zeros, bits);
    s->nans = emit_bin(e, LLVMOr, s->nans, nans);
}

void emit_vector_accumulators(struct emit *e, kir_block body) {
    e->vector_body = body;
    reduce_begin(e, body, false);
}

void emit_acc(struct emit *e, const struct kir_node *n) {
    enum kir_type t = (enum kir_type)e->k->nodes.v[n->of].type;
    bool reduction = (e->width || e->in_vector) && !kir_block_within(e->k, e->k->nodes.v[n->of].block, e->vector_body);
    bool scalar = e->blocks || (!reduction && !emit_varies(e, (kir_val){n->of}));
    LLVMValueRef v = emit_value(e, n->arg[0], scalar);
    struct emit_slot *s = &e->slots[emit_slot_of(e, n, n->arg[1])];
    if (e->status != HILO_OK)
        return;
    if (s->nans) {
        reduce_split(e, n, s, v, t);
        return;
    }
    LLVMValueRef sum = emit_binary(e, (enum kir_op)n->sub, n->flags, t, s->value, v);
    s->value = reduction && e->mask ? emit_select(e, e->mask, sum, s->value) : sum;
}

typedef LLVMValueRef reduce_fn(struct emit *e, const struct kir_node *acc, enum kir_type t, LLVMValueRef a, LLVMValueRef b);

static LLVMValueRef reduce_op(struct emit *e, const struct kir_node *acc, enum kir_type t, LLVMValueRef a, LLVMValueRef b) {
    return emit_binary(e, (enum kir_op)acc->sub, acc->flags, t, a, b);
}
static LLVMValueRef reduce_numbers(struct emit *e, const struct kir_node *acc, enum kir_type t, LLVMValueRef a,
                                   LLVMValueRef b) {
    (void)t;
    return reduce_number(e, (enum kir_op)acc->sub, b, a);
}
static LLVMValueRef reduce_zeros(struct emit *e, const struct kir_node *acc, enum kir_type t, LLVMValueRef a, LLVMValueRef b) {
    (void)t;
    return emit_bin(e, acc->sub == KIR_MAX ? LLVMAnd : LLVMOr, a, b);
}
/* Lane l with lane l + half, until one is left. */
static LLVMValueRef reduce_lanes(struct emit *e, const struct kir_node *acc, enum kir_type t, LLVMValueRef v, reduce_fn *fn) {
    uint32_t lanes = emit_lanes_of(e, v);
    if (lanes == 0) /* of a loop of one lane */
        return v;
    for (; lanes > 2; lanes /= 2)
        v = fn(e, acc, t, emit_half(e, v, false), emit_half(e, v, true));
    LLVMValueRef first = e->l->BuildExtractElement(e->b, v, emit_int(e, 0), "");
    return fn(e, acc, t, first, e->l->BuildExtractElement(e->b, v, emit_int(e, 1), ""));
}

static LLVMValueRef reduce_joined(struct emit *e, const struct kir_node *acc, enum kir_type t, const struct emit_slot *s) {
    LLVMValueRef number = reduce_lanes(e, acc, t, s->value, reduce_numbers), zeros, nan;
    LLVMTypeRef type = emit_scalar_type(e, t), bits = t == KIR_F64 ? e->i64 : e->i32;
    zeros = reduce_lanes(e, acc, t, s->zeros, reduce_zeros);
    LLVMTypeRef nans = e->l->TypeOf(s->nans);
    nan = emit_intrinsic(e, "llvm.vector.reduce.or", &nans, 1, (LLVMValueRef[]){s->nans}, 1);
    if (e->l->TypeOf(nan) != e->i1)
        nan = emit_icmp(e, LLVMIntNE, nan, e->l->ConstNull(e->l->TypeOf(nan)));
    zeros = emit_bin(e, LLVMAnd, zeros, emit_like(e, bits, (uint64_t)1 << (kir_type_bits(t) - 1)));
    LLVMValueRef is_zero = e->l->BuildFCmp(e->b, LLVMRealOEQ, number, emit_like(e, type, 0), "");
    number = emit_select(e, is_zero, emit_cast(e, LLVMBitCast, zeros, type), number);
    return emit_select(e, nan, emit_like(e, type, t == KIR_F64 ? UINT64_C(0x7FF8) << 48 : 0x7FC00000), number);
}

static void reduce_end(struct emit *e, const struct emit_slots *changes, const struct emit_slot *outside) {
    for (uint32_t i = 0; i < changes->n; i++) {
        struct emit_slot *s = &e->slots[changes->v[i]];
        const struct kir_node *acc = e->accs[changes->v[i]];
        if (!acc)
            continue;
        enum kir_type t = (enum kir_type)e->k->nodes.v[acc->of].type;
        LLVMValueRef all = s->nans ? reduce_joined(e, acc, t, s) : reduce_lanes(e, acc, t, s->value, reduce_op);
        *s = (struct emit_slot){.value = emit_binary(e, (enum kir_op)acc->sub, acc->flags, t, outside[i].value, all)};
        e->accs[changes->v[i]] = NULL;
    }
}

/* ---- the loop -------------------------------------------------------------------------------- */

static void vector_body(struct emit *e, kir_val loop, LLVMValueRef index) {
    struct emit_node *en = &e->nodes[loop.i];
    en->value = emit_index(e, loop, index);
    en->lanes[0].stamp = en->lanes[1].stamp = 0;
    if (e->width && en->as_vector)
        emit_lanes_here(e, loop);
    emit_block(e, kir_get(e->k, loop)->body);
}

/* <0 < n, 1 < n …> */
static LLVMValueRef vector_mask(struct emit *e, LLVMValueRef n) {
    bool narrow = e->width * 4 > 4 * e->t->vector_bytes && e->width <= 64;
    LLVMTypeRef t = narrow ? e->i8 : e->i32;
    LLVMValueRef *lanes = ARENA_ARRAY(&e->arena, LLVMValueRef, e->width);
    for (uint32_t i = 0; i < e->width; i++)
        lanes[i] = e->l->ConstInt(t, vector_lane(e, i), false);
    LLVMValueRef all = emit_splat(e, emit_cast(e, LLVMTrunc, n, t), e->width);
    return emit_icmp(e, LLVMIntSLT, e->l->ConstVector(lanes, e->width), all);
}

static LLVMValueRef vector_const_mask(struct emit *e, int64_t n) {
    LLVMValueRef *lanes = ARENA_ARRAY(&e->arena, LLVMValueRef, e->width);
    for (uint32_t i = 0; i < e->width; i++)
        lanes[i] = e->l->ConstInt(e->i1, vector_lane(e, i) < n, false);
    return e->l->ConstVector(lanes, e->width);
}

/* In memory, i1 takes a byte. */
static LLVMTypeRef vector_kept_type(const struct emit *e, enum kir_type t) {
    return t == KIR_I1 ? e->i8 : emit_scalar_type(e, t);
}

static LLVMValueRef vector_alloca(struct emit *e, LLVMTypeRef t) {
    const struct llvm *l = e->l;
    LLVMBasicBlockRef at = l->GetInsertBlock(e->b);
    l->PositionBuilderBefore(e->b, l->GetFirstInstruction(l->GetEntryBasicBlock(e->fn)));
    LLVMValueRef p = l->BuildAlloca(e->b, t, "");
    l->PositionBuilderAtEnd(e->b, at);
    return p;
}

/* A scalar loop over the lanes of the tail; accumulators are in memory meanwhile. */
static void vector_scalar_tail(struct emit *e, kir_val v, LLVMValueRef start, LLVMValueRef end,
                               const struct emit_slots *changes) {
    static const struct emit_slots none = {0};
    const struct llvm *l = e->l;
    struct emit_loop f;
    uint32_t width = e->width;
    LLVMValueRef *kept = ARENA_ARRAY(&e->arena, LLVMValueRef, changes->n + 1);
    LLVMTypeRef *type = ARENA_ARRAY(&e->arena, LLVMTypeRef, changes->n + 1);
    enum kir_type *t = ARENA_ARRAY(&e->arena, enum kir_type, changes->n + 1);
    for (uint32_t i = 0; i < changes->n; i++) {
        t[i] = (enum kir_type)e->k->nodes.v[e->accs[changes->v[i]]->of].type;
        type[i] = vector_kept_type(e, t[i]);
        kept[i] = vector_alloca(e, l->VectorType(type[i], width));
        LLVMValueRef all = e->slots[changes->v[i]].value;
        l->BuildStore(e->b, t[i] == KIR_I1 ? emit_cast(e, LLVMZExt, all, e->i8) : all, kept[i]);
    }
    e->width = 0;
    LLVMValueRef index = emit_loop_begin(e, &f, start, end, 1, true, v, &none), lane = emit_bin(e, LLVMSub, index, start);
    for (uint32_t i = 0; i < changes->n; i++) {
        LLVMValueRef one = l->BuildLoad2(e->b, type[i], l->BuildGEP2(e->b, type[i], kept[i], &lane, 1, ""), "");
        e->slots[changes->v[i]].value = t[i] == KIR_I1 ? emit_cast(e, LLVMTrunc, one, e->i1) : one;
    }
    vector_body(e, v, index);
    for (uint32_t i = 0; i < changes->n; i++) {
        LLVMValueRef one = e->slots[changes->v[i]].value;
        l->BuildStore(e->b, t[i] == KIR_I1 ? emit_cast(e, LLVMZExt, one, e->i8) : one,
                      l->BuildGEP2(e->b, type[i], kept[i], &lane, 1, ""));
    }
    emit_loop_end(e, &f);
    e->width = width;
    for (uint32_t i = 0; i < changes->n; i++) {
        LLVMValueRef all = l->BuildLoad2(e->b, l->VectorType(type[i], width), kept[i], "");
        e->slots[changes->v[i]].value = t[i] == KIR_I1 ? emit_cast(e, LLVMTrunc, all, e->i1) : all;
    }
}

static void vector_const(struct emit *e, kir_val v, int64_t extent, bool masked, const struct emit_slots *changes) {
    struct emit_loop f;
    int64_t main = extent / e->width * e->width;
    if (main == e->width) {
        vector_body(e, v, emit_int(e, 0));
    } else if (main > 0) {
        LLVMValueRef index = emit_loop_begin(e, &f, emit_int(e, 0), emit_int(e, main), e->width, false, v, changes);
        vector_body(e, v, index);
        emit_loop_end(e, &f);
    }
    if (main >= extent || e->status != HILO_OK)
        return;
    if (!masked) {
        vector_scalar_tail(e, v, emit_int(e, main), emit_int(e, extent), changes);
        return;
    }
    e->mask = vector_const_mask(e, extent - main);
    vector_body(e, v, emit_int(e, main));
}

/* `whole`: the extent is a multiple of the width. */
static void vector_dynamic(struct emit *e, kir_val v, LLVMValueRef extent, bool whole, bool masked,
                           const struct emit_slots *changes) {
    struct emit_loop f;
    struct emit_branch tail;
    LLVMValueRef args[] = {extent, emit_int(e, 0)};
    extent = emit_intrinsic(e, "llvm.smax", &e->i64, 1, args, 2);
    LLVMValueRef main = whole ? extent : emit_bin(e, LLVMAnd, extent, emit_int(e, -(int64_t)e->width));
    LLVMValueRef index = emit_loop_begin(e, &f, emit_int(e, 0), main, e->width, true, v, changes);
    vector_body(e, v, index);
    emit_loop_end(e, &f);
    if (whole || e->status != HILO_OK)
        return;
    if (!masked) {
        vector_scalar_tail(e, v, main, extent, changes);
        return;
    }
    emit_branch_begin(e, &tail, emit_icmp(e, LLVMIntSLT, main, extent), false, changes);
    e->mask = vector_mask(e, emit_bin(e, LLVMSub, extent, main));
    vector_body(e, v, main);
    emit_branch_end(e, &tail);
}

/* Width 1: a scalar loop, with accumulators of its own. */
static void vector_single(struct emit *e, kir_val v, LLVMValueRef extent, const struct emit_slots *changes,
                          const struct emit_slot *outside) {
    const struct kir_node *n = kir_get(e->k, v);
    struct emit_loop f;
    emit_vector_accumulators(e, n->body);
    if (extent || n->imm > 0) {
        LLVMValueRef end = extent ? extent : emit_int(e, n->imm);
        e->nodes[v.i].value = emit_loop_begin(e, &f, emit_int(e, 0), end, 1, extent != NULL, v, changes);
        emit_block(e, n->body);
        emit_loop_end(e, &f);
    }
    if (e->status == HILO_OK)
        reduce_end(e, changes, outside);
}

/* How many instructions fewer a block has with lanes in another order. False: it has an op that needs them in order. */
static bool vector_weigh(const struct emit *e, kir_block b, int64_t times, int64_t *fewer) {
    enum { UNKNOWN = 8 }; /* iterations */
    const struct kir *k = e->k;
    for (kir_val v = kir_block_get(k, b)->first; emit_is(v); v = kir_get(k, v)->next) {
        const struct kir_node *n = kir_get(k, v);
        enum kir_shape shape = kir_op_get((enum kir_op)n->op)->shape;
        if (n->op == KIR_STORE || (n->op == KIR_LOAD && e->nodes[v.i].class == EMIT_VARYING)) {
            if (!emit_is_near(e, n) || ir_dtype_get(k->buffers.v[n->of].dtype)->bytes != 4)
                return false;
            *fewer += e->nodes[n->arg[0].i].stride == 2 ? times : -times;
        } else if (n->op == KIR_ACC ? !kir_block_within(k, k->nodes.v[n->of].block, e->vector_body)
                                    : shape == KIR_SHAPE_EFFECT && n->op != KIR_SET && n->op != KIR_PREFETCH) {
            return false;
        }
        int64_t inside = n->op == KIR_LOOP && !emit_is(n->arg[0]) ? n->imm : n->op == KIR_IF ? 1 : UNKNOWN, all;
        if (!n->body.i)
            continue;
        if (__builtin_mul_overflow(times, inside, &all) || all > INT32_MAX || !vector_weigh(e, n->body, all, fewer) ||
            (n->other.i && !vector_weigh(e, n->other, all, fewer)))
            return false;
    }
    return true;
}

/* The order of lanes of the loop that is open. */
static const uint32_t *vector_order(const struct emit *e) {
    static const uint32_t picked[] = {0, 1, 4, 5, 2, 3, 6, 7};
    int64_t fewer = 0;
    bool halves = e->t->isa == TARGET_X86_64 && e->t->vector_bytes == 32 && e->width == sizeof picked / sizeof *picked;
    return halves && vector_weigh(e, e->vector_body, 1, &fewer) && fewer > 0 ? picked : NULL;
}

/* Whether the sums of a loop take half of the vector registers or more. */
static bool vector_is_full(const struct emit *e, const struct kir_node *loop) {
    int64_t bits = 0;
    for (kir_val v = kir_block_get(e->k, loop->body)->first; emit_is(v); v = kir_get(e->k, v)->next) {
        const struct kir_node *n = kir_get(e->k, v);
        bits += n->op == KIR_REG ? n->imm * loop->width * kir_type_bits((enum kir_type)n->type) : 0;
    }
    return bits * 2 >= (int64_t)e->t->vector_registers * e->t->vector_bytes * 8;
}

/* Nothing stays in vector registers across this. LLVM moves the constants of an epilogue out of the loops around a product, and
   then spills the product's sums; those of the same VECTOR loop it leaves there. */
static void vector_clear(struct emit *e) {
    const struct llvm *l = e->l;
    char clobbers[32 * sizeof "~{xmm31}"];
    size_t at = 0;
    for (uint32_t i = 0; i < e->t->vector_registers && i < 32; i++)
        at += (size_t)snprintf(clobbers + at, sizeof clobbers - at, "%s~{xmm%u}", i ? "," : "", (unsigned)i);
    LLVMTypeRef type = l->FunctionType(l->VoidTypeInContext(e->context), NULL, 0, false);
    LLVMValueRef code = l->GetInlineAsm(type, "", 0, clobbers, at, true, false, LLVMInlineAsmDialectATT, false);
    l->BuildCall2(e->b, type, code, NULL, 0, "");
}

/* The most loads of vectors that a block has. */
static uint32_t vector_most_loads(const struct emit *e, kir_block b) {
    uint32_t loads = 0, most = 0;
    for (kir_val v = kir_block_get(e->k, b)->first; emit_is(v); v = kir_get(e->k, v)->next) {
        const struct kir_node *n = kir_get(e->k, v);
        uint32_t body = n->body.i ? vector_most_loads(e, n->body) : 0, other = n->other.i ? vector_most_loads(e, n->other) : 0;
        loads += n->op == KIR_LOAD && e->nodes[v.i].class == EMIT_VARYING;
        most = body > most ? body : most;
        most = other > most ? other : most;
    }
    return loads > most ? loads : most;
}

/* LLVM begins loads early, and multiplies late. In a block with more loads than there are registers, such as the unrolled taps
   of a window, it then spills what was loaded. So there are points, some loads apart, at which all sums have to be there:
   emit_loaded. */
static void vector_pace(struct emit *e, const struct kir_node *loop) {
    enum { LEAST = 4, PART = 4 }; /* sums; of the registers that these leave, between two points */
    e->loads = e->loads_apart = 0;
    if (!e->hoists || e->t->isa != TARGET_X86_64 || e->t->vector_bytes != 32 || e->width != 8)
        return;
    for (kir_val v = kir_block_get(e->k, loop->body)->first; emit_is(v); v = kir_get(e->k, v)->next) {
        const struct kir_node *n = kir_get(e->k, v);
        if (n->op != KIR_REG || n->type != KIR_F32 || n->imm < LEAST || n->imm >= (int64_t)e->t->vector_registers ||
            vector_most_loads(e, loop->body) <= e->t->vector_registers)
            continue;
        e->sums = v;
        e->loads_apart = (e->t->vector_registers - (uint32_t)n->imm + PART - 1) / PART;
        return;
    }
}

/* Passes the sums through an empty assembler statement: those that the block of the load sets, since others are not merged
   where control flow meets again. */
void emit_loaded(struct emit *e, kir_val load) {
    enum { MOST = 32 };
    const struct llvm *l = e->l;
    LLVMTypeRef types[MOST];
    LLVMValueRef values[MOST];
    struct emit_slot *sums[MOST];
    char constraints[MOST * sizeof "=x,31,"];
    uint32_t n = 0, set = 0;
    size_t at = 0;
    int64_t i;
    if (!e->width || !e->loads_apart || ++e->loads < e->loads_apart)
        return;
    e->loads = 0;
    for (kir_val v = kir_block_get(e->k, kir_get(e->k, load)->block)->first; emit_is(v); v = kir_get(e->k, v)->next) {
        const struct kir_node *of = kir_get(e->k, v);
        if (of->op == KIR_SET && of->of == e->sums.i && kir_is_const(e->k, of->arg[1], &i) && i >= 0 && i < MOST)
            set |= UINT32_C(1) << i;
    }
    for (uint32_t j = 0; j < MOST; j++) {
        struct emit_slot *s = &e->slots[e->nodes[e->sums.i].slot + j];
        if (!(set >> j & 1) || !s->value || l->IsConstant(s->value) || emit_lanes_of(e, s->value) != e->width)
            continue;
        values[n] = s->value;
        types[n] = l->TypeOf(s->value);
        sums[n++] = s;
    }
    if (n < 2) /* one would be no structure */
        return;
    for (uint32_t j = 0; j < n; j++)
        at += (size_t)snprintf(constraints + at, sizeof constraints - at, "=x,");
    for (uint32_t j = 0; j < n; j++)
        at += (size_t)snprintf(constraints + at, sizeof constraints - at, "%s%u", j ? "," : "", (unsigned)j);
    LLVMTypeRef all = l->StructTypeInContext(e->context, types, n, false), type = l->FunctionType(all, types, n, false);
    LLVMValueRef code = l->GetInlineAsm(type, "", 0, constraints, at, true, false, LLVMInlineAsmDialectATT, false);
    LLVMValueRef out = l->BuildCall2(e->b, type, code, values, n, "");
    for (uint32_t j = 0; j < n; j++)
        sums[j]->value = l->BuildExtractValue(e->b, out, j, "");
}

void emit_vector_loop(struct emit *e, kir_val v) {
    const struct kir_node *n = kir_get(e->k, v);
    const struct emit_slots *changes = e->nodes[v.i].changes;
    if (e->width || n->width == 0 || n->width > 1024 || (n->width & (n->width - 1))) {
        emit_fail(e, "a VECTOR loop inside of another, or of a width that is not a power of two up to 1024");
        return;
    }
    LLVMValueRef extent = emit_is(n->arg[0]) ? emit_scalar(e, n->arg[0]) : NULL;
    struct emit_slot *outside = ARENA_ARRAY(&e->arena, struct emit_slot, changes->n + 1);
    for (uint32_t i = 0; i < changes->n; i++)
        outside[i] = e->slots[changes->v[i]];
    if (n->width == 1) {
        vector_single(e, v, extent, changes, outside);
        return;
    }
    bool masked = emit_can_mask(e, n->body);
    bool clears = e->hoists && e->nvectors > 1 && vector_is_full(e, n);
    if (clears)
        vector_clear(e);
    LLVMBasicBlockRef first = emit_new_block(e, "vector");
    e->before = e->l->GetInsertBlock(e->b);
    e->l->BuildBr(e->b, first);
    e->l->PositionBuilderAtEnd(e->b, first);
    e->width = n->width;
    e->vector_body = n->body;
    e->order = vector_order(e);
    vector_pace(e, n);
    e->stamp++;
    reduce_begin(e, n->body, masked);
    if (extent)
        vector_dynamic(e, v, extent, kir_zeros(e->k, n->arg[0]) >= (uint32_t)__builtin_ctz(n->width), masked, changes);
    else if (n->imm > 0)
        vector_const(e, v, n->imm, masked, changes);
    e->width = 0;
    e->mask = NULL;
    e->order = NULL;
    if (e->status == HILO_OK)
        reduce_end(e, changes, outside);
    if (clears)
        vector_clear(e);
}
