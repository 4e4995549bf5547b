/* The core of lowering: computes elements on demand, each once; indices; loads and stores; reductions. See lower.h. */
#include "lower/lower.h"

#include <math.h>

/* ---- elements that were computed ------------------------------------------------------------ */

struct memo_entry {
    struct memo_entry *next;
    struct elem e;
    ir_val v;
    kir_val guard;
    kir_block block; /* that computes it */
    uint32_t generation, n;
    bool flat;
    kir_val at[];
};

enum { MEMO_BUCKETS = TORTURED(TORTURE_BUCKETS, 1024) };
struct lower_memo {
    struct memo_entry *v[MEMO_BUCKETS];
};

static uint32_t memo_bucket(ir_val v, const struct index *at) {
    uint32_t h = v.i * 2654435761u;
    for (uint32_t i = 0; i < at->n; i++)
        h = (h ^ at->at[i].i) * 16777619u;
    return (h ^ h >> 16) % MEMO_BUCKETS;
}

/* Whether values of block b can be used at the builder's position. */
static bool is_visible(const struct kir *k, kir_block b) {
    for (kir_block c = k->at; c.i; c = kir_block_get(k, c)->parent)
        if (c.i == b.i)
            return true;
    return false;
}

static bool memo_find(const struct lower *l, ir_val v, uint32_t generation, const struct index *at, struct elem *out) {
    for (const struct memo_entry *e = l->memo->v[memo_bucket(v, at)]; e; e = e->next)
        if (IR_SAME(e->v, v) && e->n == at->n && e->flat == at->flat && e->generation == generation &&
            (e->guard.i == 0 || e->guard.i == l->guard.i) &&
            (at->n == 0 || memcmp(e->at, at->at, at->n * sizeof *at->at) == 0) && is_visible(l->k, e->block)) {
            *out = e->e;
            return true;
        }
    return false;
}

static void memo_add(struct lower *l, ir_val v, uint32_t generation, const struct index *at, kir_val guard, struct elem x) {
    struct memo_entry *e = arena_alloc(l->a, sizeof *e + at->n * sizeof *at->at, _Alignof(struct memo_entry));
    struct memo_entry **bucket = &l->memo->v[memo_bucket(v, at)];
    kir_block block = kir_get(l->k, x.re)->block;
    if (x.im.i && kir_block_get(l->k, kir_get(l->k, x.im)->block)->depth > kir_block_get(l->k, block)->depth)
        block = kir_get(l->k, x.im)->block;
    *e = (struct memo_entry){*bucket, x, v, guard, block, generation, at->n, at->flat};
    if (at->n)
        memcpy(e->at, at->at, at->n * sizeof *at->at);
    *bucket = e;
}

void lower_define(struct lower *l, ir_val v, const struct index *at, struct elem e) {
    memo_add(l, v, 0, at, (kir_val){0}, e);
}

/* ---- index arithmetic ------------------------------------------------------------------------ */

kir_val lower_add(struct lower *l, kir_val a, kir_val b) {
    return kir_op2(l->k, KIR_ADD, 0, a, b);
}

kir_val lower_mul(struct lower *l, kir_val a, int64_t b) {
    return kir_op2(l->k, KIR_MUL, 0, a, kir_i64(l->k, b));
}

kir_val lower_div(struct lower *l, kir_val a, int64_t b) {
    return kir_op2(l->k, KIR_DIV, KIR_U, a, kir_i64(l->k, b));
}

kir_val lower_rem(struct lower *l, kir_val a, int64_t b) {
    return kir_op2(l->k, KIR_REM, KIR_U, a, kir_i64(l->k, b));
}

/* How many dimensions, up to and including `last`, have indices that lower_unflatten made of one linear index; *number is that
   linear index within them. */
static uint32_t digits_of(struct lower *l, const int64_t *dims, const kir_val *at, uint32_t last, kir_val *number) {
    const struct kir_node *n = kir_get(l->k, at[last]);
    int64_t size;
    if (n->op != KIR_REM || !(n->flags & KIR_U) || !kir_is_const(l->k, n->arg[1], &size) || size != dims[last])
        return 1;
    kir_val linear = n->arg[0];
    for (uint32_t i = last; i-- > 0;) {
        kir_val q = lower_div(l, linear, size);
        if (dims[i] == 1)
            continue;
        if (at[i].i == q.i) {
            *number = linear;
            return last - i + 1;
        }
        if (at[i].i != lower_rem(l, q, dims[i]).i) {
            *number = lower_rem(l, linear, size);
            return last - i;
        }
        size *= dims[i];
    }
    *number = lower_rem(l, linear, size);
    return last + 1;
}

int64_t lower_count(const struct lower *l, uint32_t from, uint32_t to) {
    int64_t n = 1;
    for (uint32_t i = from; i < to; i++)
        n *= l->kernel->dims[i];
    return n;
}

kir_val lower_linear(struct lower *l, const int64_t *dims, uint32_t rank, const struct index *at) {
    if (at->flat)
        return at->at[0];
    kir_val sum = kir_i64(l->k, 0), x;
    int64_t stride = 1;
    for (uint32_t i = rank; i-- > 0;) {
        x = at->at[i];
        uint32_t n = dims[i] == 1 ? 1 : digits_of(l, dims, at->at, i, &x);
        sum = lower_add(l, lower_mul(l, x, stride), sum);
        for (; n > 1; n--)
            stride *= dims[i--];
        stride *= dims[i];
    }
    return sum;
}

void lower_unflatten(struct lower *l, kir_val flat, const int64_t *dims, uint32_t rank, kir_val *out) {
    int64_t stride = 1;
    uint32_t first = 0;
    while (first < rank && dims[first] == 1)
        first++;
    for (uint32_t i = rank; i-- > 0; stride *= dims[i]) {
        kir_val q = lower_div(l, flat, stride);
        out[i] = dims[i] == 1 ? kir_i64(l->k, 0) : i == first ? q : lower_rem(l, q, dims[i]);
    }
}

void lower_project_index(struct lower *l, const struct ir_type_data *t, const int64_t *dims, const kir_val *at, uint32_t rank,
                         struct index *out) {
    uint32_t j = 0;
    *out = (struct index){.n = t->rank};
    for (uint32_t i = 0; i < t->rank; i++) {
        while (j < rank && dims[j] == 1)
            j++;
        out->at[i] = t->dims[i] == 1 || j == rank ? kir_i64(l->k, 0) : at[j++];
    }
}

kir_val lower_extent(struct lower *l, kir_val begin, int64_t size, int64_t length) {
    if (length % size == 0)
        return kir_i64(l->k, size);
    kir_val rest = kir_op2(l->k, KIR_SUB, 0, kir_i64(l->k, length), begin);
    return kir_op2(l->k, KIR_MIN, 0, rest, kir_i64(l->k, size));
}

kir_val lower_chunk_loop(struct lower *l, kir_val begin, int64_t size, int64_t length, enum kir_loop kind, uint32_t width) {
    return lower_add(l, begin, kir_loop_to(l->k, kind, lower_extent(l, begin, size, length), width));
}

void lower_close(struct lower *l, uint32_t n) {
    while (n-- > 0)
        kir_close(l->k);
}

/* ---- memory ---------------------------------------------------------------------------------- */

bool lower_is_complex(enum ir_dtype t) {
    return ir_dtype_get(t)->cls == IR_COMPLEX_CLASS;
}

uint32_t lower_param(struct lower *l, ir_val v, enum kir_role role) {
    uint32_t known = opt_sparse_get(&l->param_of, v.i);
    if (known)
        return known - 1;
    const struct ir_type_data *t = ir_val_type(l->m, v);
    size_t count = ir_val_count(l->m, v);
    struct lower_param p = {.v = v, .role = role};
    ARENA_PUSH(l->a, &l->out->params, p);
    uint32_t b = kir_param(l->k, role, ir_dtype_part(t->dtype), (int64_t)count * (lower_is_complex(t->dtype) ? 2 : 1));
    opt_sparse_set(&l->param_of, v.i, b + 1);
    return b;
}

bool lower_is_invariant(const struct lower *l, ir_val v) {
    return l->fused->hoists && fuse_is_invariant(l->m, l->block, v);
}

uint32_t lower_word_param(struct lower *l, ir_val v) {
    while (!fuse_is_constant(l->m, v) && !lower_is_stored(l, v) && fuse_is_alias(l->m, ir_val_get(l->m, v)->op))
        v = ir_operand(l->m, ir_val_get(l->m, v)->op, 0);
    const struct ir_type_data *t = ir_val_type(l->m, v);
    const struct ir_dtype_info *d = ir_dtype_get(t->dtype);
    uint32_t known = opt_sparse_get(&l->word_param_of, v.i);
    size_t bytes;
    if (known)
        return known - 1;
    bool is_words = d->cls == IR_UINT || d->cls == IR_SINT || (d->cls == IR_FLOAT && d->fp == FP_BF16);
    if (fuse_is_constant(l->m, v) || !lower_is_stored(l, v) || !is_words || d->bits < 8 || !ir_type_bytes(t, &bytes) ||
        bytes % 4)
        return LOWER_NO_PARAM;
    struct lower_param p = {.v = v, .role = KIR_IN};
    ARENA_PUSH(l->a, &l->out->params, p);
    uint32_t b = kir_param(l->k, KIR_IN, IR_I32_T, (int64_t)(bytes / 4));
    opt_sparse_set(&l->word_param_of, v.i, b + 1);
    return b;
}

uint32_t lower_new_temp(struct lower *l, enum ir_dtype t, int64_t count) {
    struct lower_temp x = {t, count};
    ARENA_PUSH(l->a, &l->all->temps, x);
    return l->all->temps.n - 1;
}

kir_val lower_grid(struct lower *l, int64_t extent) {
    return kir_loop(l->k, l->native ? KIR_SERIAL : KIR_GRID, extent, 0);
}

void lower_grid_nd(struct lower *l, const int64_t *dims, uint32_t rank, kir_val *at) {
    int64_t extent = 1;
    for (uint32_t i = 0; i < rank; i++)
        extent *= dims[i];
    lower_unflatten(l, lower_grid(l, extent), dims, rank, at);
}

uint32_t lower_temp(struct lower *l, uint32_t temp, enum kir_role role) {
    struct lower_param p = {.temp = temp, .role = role};
    ARENA_PUSH(l->a, &l->out->params, p);
    return kir_param(l->k, role, l->all->temps.v[temp].dtype, l->all->temps.v[temp].count);
}

kir_val lower_load_guarded(struct lower *l, uint32_t buffer, kir_val at) {
    if (!l->guard.i)
        return kir_load(l->k, buffer, at);
    enum kir_type t = kir_type_of(l->k->buffers.v[buffer].dtype);
    return kir_load_if(l->k, buffer, at, l->guard, kir_is_float(t) ? kir_float(l->k, t, 0) : kir_int(l->k, t, 0));
}

/* Loads a signed 8-bit integer by extracting it from the 32-bit word that holds it. */
static bool load_byte(struct lower *l, ir_val v, const struct index *at, struct elem *out) {
    const struct ir_type_data *t = ir_val_type(l->m, v);
    const struct ir_dtype_info *d = ir_dtype_get(t->dtype);
    uint32_t buffer;
    if (d->bits != 8 || d->cls != IR_SINT || l->guard.i || (buffer = lower_word_param(l, v)) == LOWER_NO_PARAM)
        return false;
    kir_val i = lower_linear(l, t->dims, t->rank, at), word = kir_load(l->k, buffer, lower_div(l, i, 4));
    kir_val by = kir_typed(l->k, KIR_CONVERT, 0, KIR_I32, lower_mul(l, lower_rem(l, i, 4), 8));
    kir_val x = kir_imm(l->k, KIR_EXT, 0, 8, kir_op2(l->k, KIR_SHR, KIR_U, word, by));
    *out = (struct elem){kir_typed(l->k, KIR_CONVERT, 0, KIR_I8, x), {0}};
    return true;
}

/* Loads a bf16 in the same way. */
static bool load_half(struct lower *l, ir_val v, const struct index *at, struct elem *out) {
    const struct ir_type_data *t = ir_val_type(l->m, v);
    const struct ir_dtype_info *d = ir_dtype_get(t->dtype);
    uint32_t buffer;
    if (d->cls != IR_FLOAT || d->fp != FP_BF16 || l->guard.i || (buffer = lower_word_param(l, v)) == LOWER_NO_PARAM)
        return false;
    kir_val i = lower_linear(l, t->dims, t->rank, at), word = kir_load(l->k, buffer, lower_div(l, i, 2));
    kir_val by = kir_typed(l->k, KIR_CONVERT, 0, KIR_I32, lower_mul(l, lower_rem(l, i, 2), 16));
    kir_val bits = kir_op2(l->k, KIR_SHL, 0, kir_op2(l->k, KIR_SHR, KIR_U, word, by), kir_int(l->k, KIR_I32, 16));
    *out = (struct elem){kir_typed(l->k, KIR_BITCAST, 0, KIR_F32, bits), {0}};
    return true;
}

struct elem lower_load(struct lower *l, ir_val v, const struct index *at) {
    const struct ir_type_data *t = ir_val_type(l->m, v);
    struct elem part;
    if ((l->word_bits >= 8 && load_byte(l, v, at, &part)) || (l->word_bits >= 16 && load_half(l, v, at, &part)))
        return part;
    uint32_t buffer = lower_param(l, v, KIR_IN);
    kir_val i = lower_linear(l, t->dims, t->rank, at);
    if (!lower_is_complex(t->dtype))
        return (struct elem){lower_load_guarded(l, buffer, i), {0}};
    i = lower_mul(l, i, 2);
    return (struct elem){lower_load_guarded(l, buffer, i), lower_load_guarded(l, buffer, lower_add(l, i, kir_i64(l->k, 1)))};
}

static void store_part(struct lower *l, uint32_t buffer, kir_val at, kir_val v) {
    if (l->guard.i)
        kir_store_if(l->k, buffer, at, v, l->guard);
    else
        kir_store(l->k, buffer, at, v);
}

bool lower_goes_past_caches(const struct lower *l, ir_val v) {
    size_t bytes, most = l->target->nontemporal_bytes;
    bool in_order = l->kernel && (l->kernel->schedule == FUSE_MAP || l->kernel->schedule == FUSE_ROWS); /* else a small loop */
    return most && in_order && !l->splits_lines && ir_type_bytes(ir_val_type(l->m, v), &bytes) && bytes >= most;
}

void lower_store(struct lower *l, ir_val v, const struct index *at, struct elem e) {
    if ((l->native && lower_native_store(l, v, at, e)) || (l->stages && lower_stage_store(l, v, at, e)))
        return;
    const struct ir_type_data *t = ir_val_type(l->m, v);
    uint32_t buffer = lower_param(l, v, KIR_OUT);
    kir_val i = lower_linear(l, t->dims, t->rank, at);
    if (!lower_is_complex(t->dtype)) {
        kir_store_flags(l->k, lower_goes_past_caches(l, v) ? KIR_NT : 0);
        store_part(l, buffer, i, e.re);
        kir_store_flags(l->k, 0);
        return;
    }
    i = lower_mul(l, i, 2);
    store_part(l, buffer, i, e.re);
    store_part(l, buffer, lower_add(l, i, kir_i64(l->k, 1)), e.im);
}

void lower_store_outputs(struct lower *l, const struct index *domain) {
    for (uint32_t i = 0; i < l->kernel->outs.n; i++) {
        ir_val v = l->kernel->outs.v[i];
        struct index at = *domain;
        if (!at.flat)
            lower_project_index(l, ir_val_type(l->m, v), l->kernel->dims, domain->at, l->kernel->rank, &at);
        lower_store(l, v, &at, lower_value(l, v, &at));
    }
}

/* ---- elements -------------------------------------------------------------------------------- */

static lower_fn reduction;

#define NONE                                                                                                                   \
    { NULL, 0 }
#define REDUCTION                                                                                                              \
    { reduction, 0 }
#define CONTRACTION                                                                                                            \
    { NULL, 0 }
#define UPDATE                                                                                                                 \
    { NULL, 0 }
#define FLOW                                                                                                                   \
    { NULL, 0 }
#define ALU(x)                                                                                                                 \
    { elem_alu, KIR_##x }
#define FUN(x)                                                                                                                 \
    { elem_fun, KIR_MATH_##x }
#define ELT(x)                                                                                                                 \
    { elem_##x, 0 }
#define ELT_IF(x) ELT(x)
#define MOVE(x) ELT(x)
#define WINDOW(x) ELT(x)
#define AS(x) NONE
static const struct {
    lower_fn *fn;
    uint32_t what;
} handlers[] = {
#define OP(id, name, form, operands, results, regions, traits, cost, rule, eval, lower, local, sharding) [IR_##id] = lower,
#include "ir/ops.def"
};

int lower_function(enum ir_op_kind kind) {
    return handlers[kind].fn == elem_fun ? (int)handlers[kind].what : -1;
}

bool lower_is_stored(const struct lower *l, ir_val v) {
    ir_op op = ir_val_get(l->m, v)->op;
    if (IR_NONE(op))
        return true;
    ir_block parent = ir_op_get(l->m, op)->parent;
    if (!IR_NONE(l->body) && IR_SAME(parent, l->body))
        return false;
    if (!IR_SAME(parent, l->block))
        return true;
    uint32_t step = opt_ids_get(&l->fused->kernel_of, v.i);
    return step && l->fused->steps.v[step - 1].kernel != l->kernel;
}

struct elem lower_value(struct lower *l, ir_val v, const struct index *at) {
    struct elem e;
    ir_op op = ir_val_get(l->m, v)->op;
    bool in_body = !IR_NONE(l->body) &&
                   (IR_NONE(op) ? IR_SAME(ir_val_get(l->m, v)->block, l->body) : IR_SAME(ir_op_get(l->m, op)->parent, l->body));
    uint32_t generation = in_body ? l->generation : 0;
    if (memo_find(l, v, generation, at, &e))
        return e;
    if (l->rows && lower_rows_cached(l, v, at, &e))
        return e;
    if (l->stages && lower_stage_value(l, v, at, &e)) {
        memo_add(l, v, generation, at, l->guard, e);
        return e;
    }
    if (!fuse_is_constant(l->m, v) && lower_is_stored(l, v))
        e = lower_load(l, v, at);
    else if (ir_op_get(l->m, op)->nresults > 1) {
        lower_reduce_inline(l, op, at);
        if (memo_find(l, v, generation, at, &e))
            return e;
    } else {
        enum ir_op_kind kind = ir_kind(l->m, op);
        e = handlers[kind].fn(l, op, handlers[kind].what, at);
    }
    memo_add(l, v, generation, at, l->guard, e);
    return e;
}

struct elem lower_operand(struct lower *l, ir_op op, uint32_t i, const struct index *at) {
    ir_val v = ir_operand(l->m, op, i);
    static const struct index none;
    return lower_value(l, v, ir_val_type(l->m, v)->rank == 0 ? &none : at);
}

void lower_region(struct lower *l, ir_region r, const struct elem *args, struct elem *out) {
    static const struct index none;
    ir_block outer = l->body, b = ir_region_get(l->m, r)->first;
    kir_val guard = l->guard;
    l->body = b;
    l->guard = (kir_val){0};
    l->generation++;
    uint32_t generation = l->generation;
    for (uint32_t i = 0; i < ir_block_get(l->m, b)->nargs; i++)
        memo_add(l, ir_block_get(l->m, b)->args[i], generation, &none, (kir_val){0}, args[i]);
    const struct ir_op_data *end = ir_op_get(l->m, ir_terminator(l->m, b));
    for (uint32_t i = 0; i < end->noperands; i++)
        out[i] = lower_value(l, end->operands[i], &none);
    l->body = outer;
    l->guard = guard;
    l->generation++;
}

/* ---- reductions ------------------------------------------------------------------------------- */

enum kir_op lower_reducer(const struct ir_module *m, ir_op reduce) {
    enum ir_op_kind kind = fuse_reducer(m, reduce);
    enum ir_dtype t = ir_val_type(m, ir_result(m, reduce, 0))->dtype;
    if (kind == IR_OP_NONE || lower_is_complex(t))
        return KIR_NONE;
    if (ir_dtype_get(t)->bits < 8) /* i1 has ops of its own */
        return t == IR_I1_T && kind == IR_AND ? KIR_AND : t == IR_I1_T && kind == IR_OR ? KIR_OR : KIR_NONE;
    return (enum kir_op)handlers[kind].what;
}

struct elem lower_reduce_result(struct lower *l, ir_op op, uint32_t i, struct elem e) {
    return lower_round(l, ir_val_type(l->m, ir_result(l->m, op, i))->dtype, e);
}

/* Opens loops over the reduced dimensions; *out is the operand's index inside. Returns how many loops were opened. */
static uint32_t reduce_loops(struct lower *l, ir_op op, const struct index *at, struct index *out) {
    const struct ir_type_data *t = ir_val_type(l->m, ir_operand(l->m, op, 0));
    size_t n;
    const int64_t *d = ir_prop_i64s(l->m, op, IR_REDUCE_dimensions, &n);
    uint32_t dim = 0, opened = 0;
    bool reduced[IR_MAX_RANK] = {false};
    for (size_t i = 0; i < n; i++)
        reduced[d[i]] = true;
    *out = (struct index){.n = t->rank};
    for (uint32_t i = 0; i < t->rank; i++) {
        if (!reduced[i]) {
            out->at[i] = at->at[dim++];
        } else if (t->dims[i] == 1) {
            out->at[i] = kir_i64(l->k, 0);
        } else {
            out->at[i] = kir_loop(l->k, KIR_SERIAL, t->dims[i], 0);
            opened++;
        }
    }
    return opened;
}

void lower_reduce_inline(struct lower *l, ir_op op, const struct index *at) {
    uint32_t n = ir_op_get(l->m, op)->nresults;
    struct elem init[LOWER_RESULTS], args[2 * LOWER_RESULTS] = {{{0}, {0}}}, out[LOWER_RESULTS];
    kir_val re[LOWER_RESULTS], im[LOWER_RESULTS], none = {0};
    static const struct index scalar_index;
    enum kir_op acc = lower_reducer(l->m, op);
    size_t count = ir_val_count(l->m, ir_operand(l->m, op, 0));
    struct index full, here = *at;
    if (at->flat) {
        const struct ir_type_data *t = ir_val_type(l->m, ir_result(l->m, op, 0));
        here = (struct index){.n = t->rank};
        lower_unflatten(l, at->at[0], t->dims, t->rank, here.at);
    }
    for (uint32_t i = 0; i < n; i++) {
        init[i] = lower_value(l, ir_operand(l->m, op, n + i), &scalar_index);
        re[i] = kir_reg(l->k, init[i].re, 1);
        im[i] = init[i].im.i ? kir_reg(l->k, init[i].im, 1) : none;
    }
    uint32_t opened = count ? reduce_loops(l, op, &here, &full) : 0;
    if (count && acc) {
        enum ir_dtype t = ir_val_type(l->m, ir_operand(l->m, op, 0))->dtype;
        kir_acc(l->k, acc, lower_sign(t), re[0], none, lower_value(l, ir_operand(l->m, op, 0), &full).re);
    } else if (count) {
        for (uint32_t i = 0; i < n; i++) {
            args[i].re = kir_get_reg(l->k, re[i], none);
            args[i].im = im[i].i ? kir_get_reg(l->k, im[i], none) : none;
            args[n + i] = lower_value(l, ir_operand(l->m, op, i), &full);
        }
        lower_region(l, ir_op_region(l->m, op, 0), args, out);
        for (uint32_t i = 0; i < n; i++) {
            kir_set_reg(l->k, re[i], none, out[i].re);
            if (im[i].i)
                kir_set_reg(l->k, im[i], none, out[i].im);
        }
    }
    lower_close(l, opened);
    for (uint32_t i = 0; i < n; i++) {
        struct elem e = {kir_get_reg(l->k, re[i], none), im[i].i ? kir_get_reg(l->k, im[i], none) : none};
        memo_add(l, ir_result(l->m, op, i), 0, at, l->guard, lower_reduce_result(l, op, i, e));
    }
}

static struct elem reduction(struct lower *l, ir_op op, uint32_t what, const struct index *at) {
    struct elem e = {{0}, {0}};
    (void)what;
    lower_reduce_inline(l, op, at);
    (void)memo_find(l, ir_result(l->m, op, 0), 0, at, &e);
    return e;
}

/* ---- kernels --------------------------------------------------------------------------------- */

uint32_t lower_lanes(const struct lower *l, uint32_t bytes, uint32_t registers) {
    if (l->target->block_threads)
        return l->target->block_threads;
    uint32_t lanes = l->target->vector_bytes / bytes * registers;
    return lanes ? lanes : 1;
}

int64_t lower_next_square(int64_t at_once) {
    return at_once > 4 ? 4 : at_once > 1 ? 1 : 0;
}

uint32_t lower_bytes(const struct lower *l) {
    uint32_t bytes = 4;
    for (uint32_t i = 0; i < l->kernel->outs.n; i++) {
        uint32_t b = ir_dtype_get(ir_dtype_part(ir_val_type(l->m, l->kernel->outs.v[i])->dtype))->bytes;
        bytes = b > bytes ? b : bytes;
    }
    return bytes;
}

/* A rough estimate from memory traffic and operations. */
static double estimate(const struct lower *l, const struct lowered_kernel *k) {
    double bytes = 0, elements = 1;
    for (uint32_t i = 0; i < k->kernel->buffers.n; i++) {
        const struct kir_buffer *b = &k->kernel->buffers.v[i];
        int64_t count = b->role == KIR_SCRATCH ? 0 : b->role == KIR_IN ? kir_read_elements(k->kernel, i) : b->count;
        bytes += (double)count * ir_dtype_get(b->dtype)->bytes;
    }
    if (k != l->out) /* a prologue that packs an operand */
        return bytes / l->target->memory_rate;
    for (uint32_t i = 0; i < l->kernel->rank; i++)
        elements *= (double)l->kernel->dims[i];
    if (l->kernel->schedule == FUSE_INTO)
        bytes = elements * 8;
    if (l->kernel->schedule == FUSE_CONTRACT) { /* the contracted size from the element counts of operands and result */
        size_t a = ir_val_count(l->m, ir_operand(l->m, l->kernel->anchor, 0));
        size_t b = ir_val_count(l->m, ir_operand(l->m, l->kernel->anchor, 1));
        elements += sqrt((double)a * (double)b * (double)ir_val_count(l->m, ir_result(l->m, l->kernel->anchor, 0))) / 4;
    }
    if (l->kernel->schedule == FUSE_STAGES) { /* both dots, and the rows between */
        double scores = (double)ir_val_count(l->m, l->kernel->stages[1]->outs.v[0]);
        ir_val q = ir_operand(l->m, l->kernel->stages[0]->anchor, 0);
        elements += scores * (double)ir_val_type(l->m, q)->dims[ir_val_type(l->m, q)->rank - 1] / 4;
    }
    return bytes / l->target->memory_rate + elements * (l->kernel->nops + 1) / l->target->compute_rate;
}

/* ---- outputs that may share an input's memory ---------------------------------------------- */

/* Whether every load of the parameter reads the index that `store` writes, in the same block and before it. */
static bool reads_before(const struct kir *k, uint32_t param, kir_val store) {
    const struct kir_node *s = kir_get(k, store);
    for (uint32_t i = 1; i < k->nodes.n; i++) {
        const struct kir_node *n = &k->nodes.v[i];
        if ((n->op == KIR_COPY_ASYNC && kir_copy_from(n) == param) ||
            (n->op == KIR_COPY_TENSOR && k->maps.v[n->imm].buffer == param))
            return false;
        if (n->op != KIR_LOAD || n->of != param)
            continue;
        bool before = false;
        for (kir_val v = s->prev; v.i && !before; v = kir_get(k, v)->prev)
            before = v.i == i;
        if (!before || n->arg[0].i != s->arg[0].i)
            return false;
    }
    return true;
}

static void find_overlays(const struct lower *l) {
    const struct kir *k = l->k;
    uint32_t buffer[64], n = 0; /* of each parameter: scratch memory is none */
    for (uint32_t i = 0; i < k->buffers.n && n < 64; i++)
        if (k->buffers.v[i].role != KIR_SCRATCH)
            buffer[n++] = i;
    for (uint32_t i = 0; i < n; i++) {
        struct lower_param *p = &l->out->params.v[i];
        kir_val store = {0};
        uint32_t stores = 0;
        for (uint32_t v = 1; v < k->nodes.n && p->role == KIR_OUT; v++)
            if (k->nodes.v[v].op == KIR_STORE && k->nodes.v[v].of == buffer[i]) {
                store.i = v;
                stores++;
            }
        const struct kir_buffer *to = &k->buffers.v[buffer[i]];
        for (uint32_t j = 0; j < n && stores == 1; j++) {
            const struct kir_buffer *from = &k->buffers.v[buffer[j]];
            if (l->out->params.v[j].role == KIR_IN && from->count == to->count &&
                ir_dtype_get(from->dtype)->bytes == ir_dtype_get(to->dtype)->bytes && reads_before(k, buffer[j], store))
                p->overlay |= (uint64_t)1 << j;
        }
    }
}

static void (*const schedules[])(struct lower *) = {
    [FUSE_MAP] = lower_loops, [FUSE_ROWS] = lower_rows, [FUSE_CONTRACT] = lower_contract, [FUSE_INTO] = lower_into,
    [FUSE_STAGES] = lower_stages};

void lower_schedule(struct lower *l, const struct fuse_kernel *kernel) {
    l->kernel = kernel;
    schedules[kernel->schedule](l);
}

ir_val lower_inplace_operand(const struct ir_module *m, ir_val v) {
    const struct ir_val_data *x = ir_val_get(m, v);
    return ir_operand(m, x->op, ir_kind(m, x->op) == IR_WHILE ? x->index : 0);
}

/* Makes l->out, whose owner has it already, what is built. */
static void start_kernel(struct lower *l) {
    if (!l->out->kernel)
        arena_exhausted(l->a);
    l->k = l->out->kernel;
    l->memo = ARENA_NEW(l->a, struct lower_memo);
    l->param_of = l->word_param_of = (struct opt_sparse){.a = l->a};
}

void lower_begin(struct lower *l) {
    l->out = &l->all->kernels[l->all->nkernels++];
    *l->out = (struct lowered_kernel){.kernel = kir_new("kernel", l->a->al, l->a->recover)};
    start_kernel(l);
}

void lower_begin_prologue(const struct lower *l, struct lower *out) {
    *out = *l;
    lower_begin(out);
}

void lower_probe_begin(const struct lower *l, struct lower *out) {
    *out = *l;
    out->out = ARENA_NEW(l->a, struct lowered_kernel);
    l->all->probe = out->out->kernel = kir_new("probe", l->a->al, l->a->recover);
    start_kernel(out);
}

void lower_probe_end(struct lower *probe) {
    kir_free(probe->k);
    probe->all->probe = NULL;
}

void lower_kernel(struct arena *a, const struct ir_module *m, const struct fuse_block *b, ir_block block,
                  const struct fuse_kernel *kernel, const struct target *target, struct lowered *out) {
    struct lower l = {.a = a, .m = m, .fused = b, .kernel = kernel, .target = target, .all = out, .block = block};
    *out = (struct lowered){.nkernels = 0};
    lower_begin(&l);
    l.stores_once = kernel->schedule == FUSE_MAP; /* others may compute an element twice: the tiles of contractions overlap */
    lower_schedule(&l, kernel);
    if (l.stores_once)
        find_overlays(&l);
    for (uint32_t i = 0; i < out->nkernels; i++)
        out->kernels[i].ns = estimate(&l, &out->kernels[i]);
}

void lowered_free(struct lowered *l) {
    for (uint32_t i = 0; i < l->nkernels; i++)
        kir_free(l->kernels[i].kernel);
    kir_free(l->probe);
    *l = (struct lowered){.nkernels = 0};
}
