/* Kernels and their builder: blocks, placement of values, value numbering, loops, registers, memory.
 *
 * A pure value goes to the outermost block in which its operands exist, before the child that is open there. Everything in
 * a block around the insertion point therefore comes before it, which is why an equal value there can be used again. */
#include "kir/node.h"
#include "base/torture.h"

#include <assert.h>

static const struct { const char *name; uint8_t bits; enum fp_kind fp; } types[KIR_TYPE_COUNT] = {
    [KIR_VOID] = {"void", 0, 0},     [KIR_I1] = {"i1", 1, 0},   [KIR_I8] = {"i8", 8, 0},         [KIR_I16] = {"i16", 16, 0},
    [KIR_I32] = {"i32", 32, 0},      [KIR_I64] = {"i64", 64, 0}, [KIR_F32] = {"f32", 32, FP_F32},
    [KIR_F64] = {"f64", 64, FP_F64},
};

const char *kir_type_name(enum kir_type t) { return types[t].name; }
unsigned kir_type_bits(enum kir_type t) { return types[t].bits; }

enum kir_type kir_type_of(enum ir_dtype t) {
    const struct ir_dtype_info *info = ir_dtype_get(t);
    switch (info->cls) {
    case IR_PRED: return KIR_I1;
    case IR_COMPLEX_CLASS: return KIR_VOID;
    case IR_FLOAT: return info->bits == 64 ? KIR_F64 : KIR_F32;
    default: return info->bits <= 8 ? KIR_I8 : info->bits == 16 ? KIR_I16 : info->bits == 32 ? KIR_I32 : KIR_I64;
    }
}

const struct kir_op_info *kir_op_get(enum kir_op op) {
    static const struct kir_op_info info[KIR_OP_COUNT] = {
        [KIR_NONE] = {"none", 0, KIR_SHAPE_FLOW},
#define KIR(id, name, nargs, shape, what) [KIR_##id] = {name, nargs, KIR_SHAPE_##shape},
#include "kir/kir.def"
    };
    return &info[op];
}

const struct kir_math_info *kir_math_get(enum kir_math f) {
    static const struct kir_math_info info[KIR_MATH_COUNT] = {
#define MATH(id, name, nargs) [KIR_MATH_##id] = {name, nargs},
#include "kir/math.def"
    };
    return &info[f];
}

/* ---- kernels --------------------------------------------------------------------------------- */

struct kir *kir_new(const char *name, hilo_allocator al, jmp_buf *recover) {
    struct kir *k = mem_alloc(&al, sizeof *k);
    if (!k)
        return NULL;
    memset(k, 0, sizeof *k);
    jmp_buf here;
    arena_init(&k->arena, al, &here);
    if (setjmp(here)) {
        kir_free(k);
        return NULL;
    }
    ARENA_PUSH(&k->arena, &k->nodes, (struct kir_node){0});
    ARENA_PUSH(&k->arena, &k->blocks, (struct kir_block_data){0});
    k->name = arena_dup(&k->arena, name, strlen(name) + 1, 1);
    k->at = kir_new_block(k, (kir_val){0}, (kir_block){0});
    k->counts = ARENA_ARRAY(&k->arena, atomic_ullong, KIR_COUNTS);
    k->arena.recover = recover;
    return k;
}

void kir_free(struct kir *k) {
    if (!k)
        return;
    hilo_allocator al = k->arena.al;
    arena_free(&k->arena);
    mem_free(&al, k, sizeof *k);
}

kir_val kir_grid(const struct kir *k) {
    kir_val last = k->blocks.v[1].last;
    const struct kir_node *n = kir_get(k, last);
    return n->op == KIR_LOOP && n->sub == KIR_GRID ? last : (kir_val){0};
}

int64_t kir_grid_extent(const struct kir *k) {
    kir_val grid = kir_grid(k);
    return KIR_IS(grid) ? kir_get(k, grid)->imm : 1;
}

/* How often the nodes of a block run, at most, or `most`. */
static int64_t block_runs(const struct kir *k, kir_block b, int64_t most) {
    int64_t runs = 1;
    for (kir_val v; KIR_IS(v = kir_block_get(k, b)->owner); b = kir_block_get(k, b)->parent) {
        const struct kir_node *n = kir_get(k, v);
        int64_t extent = n->op == KIR_IF ? 1 : n->op == KIR_LOOP ? n->imm : most;
        if (n->op == KIR_LOOP && KIR_IS(n->arg[0]))
            extent = kir_get(k, n->arg[0])->hi;
        if (extent <= 0)
            return 0;
        if (__builtin_mul_overflow(runs, extent, &runs) || runs > most)
            return most;
    }
    return runs;
}

int64_t kir_read_elements(const struct kir *k, uint32_t buffer) {
    int64_t count = k->buffers.v[buffer].count, read = 0;
    for (uint32_t i = 1; i < k->nodes.n && read < count; i++) {
        const struct kir_node *n = &k->nodes.v[i];
        bool whole = n->op == KIR_COPY_ASYNC ? kir_copy_from(n) == buffer
                     : n->op == KIR_COPY_TENSOR ? k->maps.v[n->imm].buffer == buffer
                                                : n->op == KIR_TLOAD && n->of == buffer;
        if (!whole && !(n->op == KIR_LOAD && n->of == buffer && n->block.i))
            continue;
        int64_t runs = whole ? count : block_runs(k, n->block, count);
        read = runs < count - read ? read + runs : count;
    }
    return read;
}

uint32_t kir_param_count(const struct kir *k) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < k->buffers.n; i++)
        n += k->buffers.v[i].role != KIR_SCRATCH;
    return n;
}

uint32_t kir_param(struct kir *k, enum kir_role role, enum ir_dtype dtype, int64_t count) {
    ARENA_PUSH(&k->arena, &k->buffers, ((struct kir_buffer){.role = role, .dtype = dtype, .count = count}));
    return k->buffers.n - 1;
}

uint32_t kir_scratch(struct kir *k, enum ir_dtype dtype, int64_t count) {
    size_t bytes, end;
    if (count < 0 || !mem_mul((size_t)count, ir_dtype_get(dtype)->bytes, &bytes) || bytes > SIZE_MAX - 63 ||
        !mem_add(k->scratch_bytes, (bytes + 63) & ~(size_t)63, &end))
        arena_exhausted(&k->arena);
    struct kir_buffer b = {KIR_SCRATCH, dtype, count, k->scratch_bytes, true};
    k->scratch_bytes = end;
    ARENA_PUSH(&k->arena, &k->buffers, b);
    return k->buffers.n - 1;
}

uint32_t kir_map(struct kir *k, struct kir_map map) {
    for (uint32_t i = 0; i < k->maps.n; i++) {
        const struct kir_map *m = &k->maps.v[i];
        if (m->buffer == map.buffer && m->box == map.box && m->lines == map.lines && m->columns == map.columns &&
            m->stride == map.stride)
            return i;
    }
    ARENA_PUSH(&k->arena, &k->maps, map);
    return k->maps.n - 1;
}

/* ---- blocks ---------------------------------------------------------------------------------- */

kir_block kir_new_block(struct kir *k, kir_val owner, kir_block parent) {
    struct kir_block_data b = {.owner = owner, .parent = parent, .depth = parent.i ? kir_block_get(k, parent)->depth + 1 : 0};
    ARENA_PUSH(&k->arena, &k->blocks, b);
    return (kir_block){k->blocks.n - 1};
}

bool kir_block_within(const struct kir *k, kir_block b, kir_block outer) {
    uint32_t depth = kir_block_get(k, outer)->depth;
    while (kir_block_get(k, b)->depth > depth)
        b = kir_block_get(k, b)->parent;
    return b.i == outer.i;
}

void kir_link(struct kir *k, kir_block b, kir_val next, kir_val v) {
    struct kir_block_data *data = kir_block_get(k, b);
    struct kir_node *n = kir_get(k, v);
    n->block = b;
    n->next = next;
    n->prev = KIR_IS(next) ? kir_get(k, next)->prev : data->last;
    if (KIR_IS(n->prev))
        kir_get(k, n->prev)->next = v;
    else
        data->first = v;
    if (KIR_IS(next))
        kir_get(k, next)->prev = v;
    else
        data->last = v;
}

void kir_unlink(struct kir *k, kir_val v) {
    struct kir_node *n = kir_get(k, v);
    struct kir_block_data *b = kir_block_get(k, n->block);
    if (KIR_IS(n->prev))
        kir_get(k, n->prev)->next = n->next;
    else
        b->first = n->next;
    if (KIR_IS(n->next))
        kir_get(k, n->next)->prev = n->prev;
    else
        b->last = n->prev;
    if (k->last_const.i == v.i)
        k->last_const = n->prev;
    n->prev = n->next = (kir_val){0};
    n->block = (kir_block){0};
}

kir_val kir_put(struct kir *k, kir_block b, const struct kir_node *n) {
    struct kir_node fresh = *n;
    kir_set_range(k, &fresh);
    ARENA_PUSH(&k->arena, &k->nodes, fresh);
    kir_val v = {k->nodes.n - 1}, next = kir_block_get(k, b)->open;
    if (n->op == KIR_CONST) {
        b = (kir_block){1};
        next = KIR_IS(k->last_const) ? kir_get(k, k->last_const)->next : kir_block_get(k, b)->first;
        k->last_const = v;
    }
    kir_link(k, b, next, v);
    return v;
}

kir_block kir_goto(struct kir *k, kir_block b) {
    kir_block old = k->at;
    k->at = b;
    return old;
}

/* ---- equal values ---------------------------------------------------------------------------- */

/* What makes two pure values equal. */
struct key {
    uint32_t op, type, sub, flags, of, arg[3];
    int64_t imm;
};

static struct key key_of(const struct kir_node *n) {
    return (struct key){n->op, n->type, n->sub, n->flags, n->of, {n->arg[0].i, n->arg[1].i, n->arg[2].i}, n->imm};
}

static uint32_t slot_of(const struct kir *k, const struct key *key) {
    return (uint32_t)str_hash(key, sizeof *key, 0) & (k->nbuckets - 1);
}

static void remember_in(struct kir *k, kir_val v) {
    struct key key = key_of(kir_get(k, v));
    uint32_t i = slot_of(k, &key);
    while (k->buckets[i])
        i = (i + 1) & (k->nbuckets - 1);
    k->buckets[i] = v.i;
}

void kir_remember(struct kir *k, kir_val v) {
    if (2 * (k->nequal + 1) > k->nbuckets) {
        uint32_t nold = k->nbuckets, *old = k->buckets;
        if (nold > UINT32_MAX / 4)
            arena_exhausted(&k->arena);
        k->nbuckets = nold ? 2 * nold : TORTURED(TORTURE_BUCKETS, 16);
        k->buckets = ARENA_ARRAY(&k->arena, uint32_t, k->nbuckets);
        for (uint32_t i = 0; i < nold; i++)
            if (old[i])
                remember_in(k, (kir_val){old[i]});
    }
    remember_in(k, v);
    k->nequal++;
}

void kir_forget(struct kir *k) {
    if (k->nbuckets)
        memset(k->buckets, 0, k->nbuckets * sizeof *k->buckets);
    k->nequal = 0;
    for (kir_val v = k->blocks.v[1].first; KIR_IS(v) && kir_get(k, v)->op == KIR_CONST; v = kir_get(k, v)->next)
        kir_remember(k, v);
}

/* An equal value in the block or one around it. */
static kir_val find_equal(const struct kir *k, const struct kir_node *n, kir_block b) {
    struct key key = key_of(n);
    if (!k->nbuckets)
        return (kir_val){0};
    for (uint32_t i = slot_of(k, &key); k->buckets[i]; i = (i + 1) & (k->nbuckets - 1)) {
        kir_val v = {k->buckets[i]};
        struct key other = key_of(kir_get(k, v));
        if (memcmp(&key, &other, sizeof key) == 0 && kir_block_within(k, b, kir_get(k, v)->block))
            return v;
    }
    return (kir_val){0};
}

/* ---- pure values ----------------------------------------------------------------------------- */

bool kir_is_const_load(const struct kir *k, const struct kir_node *n) {
    return n->op == KIR_LOAD && k->buffers.v[n->of].role == KIR_IN;
}

/* Whether what is in a block may run less often than the block around it: never, for a loop that has no iteration. */
static bool may_not_run(const struct kir *k, kir_block b) {
    const struct kir_node *owner = kir_get(k, kir_block_get(k, b)->owner);
    return owner->op != KIR_LOOP || (KIR_IS(owner->arg[0]) ? kir_get(k, owner->arg[0])->lo < 1 : owner->imm < 1);
}

/* The outermost block in which the operands exist; for a load not outside of one that may not run. */
static kir_block home_of(const struct kir *k, const struct kir_node *n) {
    kir_block home = {1};
    for (int i = 0; i < 3; i++)
        if (KIR_IS(n->arg[i])) {
            kir_block b = kir_scope(k, n->arg[i]);
            if (kir_block_get(k, b)->depth > kir_block_get(k, home)->depth)
                home = b;
        }
    if (n->op == KIR_LOAD)
        for (kir_block b = k->at; kir_block_get(k, b)->depth > kir_block_get(k, home)->depth; b = kir_block_get(k, b)->parent)
            if (may_not_run(k, b))
                return b;
    return home;
}

kir_val kir_pure(struct kir *k, struct kir_node *n) {
    kir_val v = kir_simplify(k, n);
    if (KIR_IS(v))
        return v;
    kir_block home = home_of(k, n);
    v = find_equal(k, n, home);
    if (KIR_IS(v))
        return v;
    v = kir_put(k, home, n);
    kir_remember(k, v);
    return v;
}

kir_val kir_int(struct kir *k, enum kir_type t, int64_t v) {
    assert(t != KIR_VOID && !kir_is_float(t));
    struct kir_node n = {.op = KIR_CONST, .type = (uint8_t)t, .imm = kir_narrow(t, (uint64_t)v)};
    return kir_pure(k, &n);
}

kir_val kir_i64(struct kir *k, int64_t v) { return kir_int(k, KIR_I64, v); }

kir_val kir_float(struct kir *k, enum kir_type t, double v) {
    assert(kir_is_float(t));
    struct kir_node n = {.op = KIR_CONST, .type = (uint8_t)t, .imm = kir_narrow(t, fp_encode(types[t].fp, v))};
    return kir_pure(k, &n);
}

bool kir_is_const(const struct kir *k, kir_val v, int64_t *out_bits) {
    const struct kir_node *n = kir_get(k, v);
    if (n->op != KIR_CONST)
        return false;
    if (out_bits)
        *out_bits = n->imm;
    return true;
}

kir_val kir_op1(struct kir *k, enum kir_op op, kir_val a) {
    struct kir_node n = {.op = (uint8_t)op, .type = kir_get(k, a)->type, .arg = {a}};
    return kir_pure(k, &n);
}

kir_val kir_op2(struct kir *k, enum kir_op op, unsigned flags, kir_val a, kir_val b) {
    assert(kir_type(k, a) == kir_type(k, b));
    struct kir_node n = {.op = (uint8_t)op, .type = kir_get(k, a)->type, .flags = (uint8_t)flags, .arg = {a, b}};
    return kir_pure(k, &n);
}

kir_val kir_fma(struct kir *k, kir_val a, kir_val b, kir_val c) {
    assert(kir_type(k, a) == kir_type(k, b) && kir_type(k, a) == kir_type(k, c) && kir_is_float(kir_type(k, a)));
    struct kir_node n = {.op = KIR_FMA, .type = kir_get(k, a)->type, .arg = {a, b, c}};
    return kir_pure(k, &n);
}

kir_val kir_dot4(struct kir *k, unsigned flags, kir_val a, kir_val b, kir_val sum) {
    assert(kir_type(k, a) == KIR_I32 && kir_type(k, b) == KIR_I32 && kir_type(k, sum) == KIR_I32);
    struct kir_node n = {.op = KIR_DOT4, .type = KIR_I32, .flags = (uint8_t)flags, .arg = {a, b, sum}};
    return kir_pure(k, &n);
}

kir_val kir_dot2_i8(struct kir *k, kir_val a, kir_val b, kir_val sum) {
    assert(kir_type(k, a) == KIR_I32 && kir_type(k, b) == KIR_I32 && kir_type(k, sum) == KIR_I32);
    struct kir_node n = {.op = KIR_DOT2_I8, .type = KIR_I32, .arg = {a, b, sum}};
    return kir_pure(k, &n);
}

kir_val kir_dot2_bf16(struct kir *k, kir_val a, kir_val b, kir_val sum) {
    assert(kir_type(k, a) == KIR_I32 && kir_type(k, b) == KIR_I32 && kir_type(k, sum) == KIR_F32);
    struct kir_node n = {.op = KIR_DOT2_BF16, .type = KIR_F32, .arg = {a, b, sum}};
    return kir_pure(k, &n);
}

kir_val kir_cmp(struct kir *k, enum kir_cmp cmp, unsigned flags, kir_val a, kir_val b) {
    assert(kir_type(k, a) == kir_type(k, b));
    struct kir_node n = {.op = KIR_CMP, .type = KIR_I1, .sub = (uint8_t)cmp, .flags = (uint8_t)flags, .arg = {a, b}};
    return kir_pure(k, &n);
}

kir_val kir_select(struct kir *k, kir_val condition, kir_val a, kir_val b) {
    assert(kir_type(k, condition) == KIR_I1 && kir_type(k, a) == kir_type(k, b));
    struct kir_node n = {.op = KIR_SELECT, .type = kir_get(k, a)->type, .arg = {condition, a, b}};
    return kir_pure(k, &n);
}

kir_val kir_typed(struct kir *k, enum kir_op op, unsigned flags, enum kir_type t, kir_val a) {
    struct kir_node n = {.op = (uint8_t)op, .type = (uint8_t)t, .flags = (uint8_t)flags, .arg = {a}};
    return kir_pure(k, &n);
}

kir_val kir_imm(struct kir *k, enum kir_op op, unsigned flags, int64_t imm, kir_val a) {
    struct kir_node n = {.op = (uint8_t)op, .type = kir_get(k, a)->type, .flags = (uint8_t)flags, .imm = imm, .arg = {a}};
    return kir_pure(k, &n);
}

kir_val kir_math(struct kir *k, enum kir_math f, kir_val a, kir_val b) {
    assert((kir_math_get(f)->nargs == 2) == KIR_IS(b));
    struct kir_node n = {.op = KIR_MATH, .type = kir_get(k, a)->type, .sub = (uint8_t)f, .arg = {a, b}};
    return kir_pure(k, &n);
}

/* ---- loops, branches ------------------------------------------------------------------------- */

/* Inserts a construct at the insertion point, which moves into its first block. */
static kir_val enter(struct kir *k, struct kir_node *n) {
    kir_block parent = k->at;
    kir_val v = {k->nodes.n};
    if (n->op == KIR_WHILE)
        n->other = kir_new_block(k, v, parent);
    n->body = kir_new_block(k, v, parent);
    k->at = n->op == KIR_WHILE ? n->other : n->body;
    kir_put(k, parent, n);
    kir_block_get(k, parent)->open = v;
    ARENA_PUSH(&k->arena, &k->open, v);
    return v;
}

static kir_val enter_loop(struct kir *k, enum kir_loop kind, int64_t extent, kir_val to, uint32_t width) {
    if (KIR_IS(to) && kir_is_const(k, to, &extent))
        to = (kir_val){0};
    if (!KIR_IS(to) && extent == 1 && kind != KIR_GRID) {
        ARENA_PUSH(&k->arena, &k->open, (kir_val){0});
        return kir_i64(k, 0);
    }
    struct kir_node n = {.op = KIR_LOOP, .type = KIR_I64, .sub = (uint8_t)kind, .arg = {to}, .imm = KIR_IS(to) ? 0 : extent,
                         .width = kind == KIR_VECTOR ? width : 0};
    return enter(k, &n);
}

kir_val kir_loop(struct kir *k, enum kir_loop kind, int64_t extent, uint32_t width) {
    return enter_loop(k, kind, extent, (kir_val){0}, width);
}

kir_val kir_loop_to(struct kir *k, enum kir_loop kind, kir_val extent, uint32_t width) {
    return enter_loop(k, kind, 0, extent, width);
}

void kir_if(struct kir *k, kir_val condition) {
    struct kir_node n = {.op = KIR_IF, .arg = {condition}};
    enter(k, &n);
}

void kir_else(struct kir *k) {
    kir_val v = k->open.v[k->open.n - 1];
    kir_block other = kir_new_block(k, v, kir_get(k, v)->block);
    assert(kir_get(k, v)->op == KIR_IF && k->at.i == kir_get(k, v)->body.i);
    kir_get(k, v)->other = k->at = other;
}

void kir_while(struct kir *k) {
    struct kir_node n = {.op = KIR_WHILE};
    enter(k, &n);
}

void kir_do(struct kir *k, kir_val condition) {
    struct kir_node *n = kir_get(k, k->open.v[k->open.n - 1]);
    assert(n->op == KIR_WHILE && k->at.i == n->other.i);
    n->arg[0] = condition;
    k->at = n->body;
}

/* The child before which the construct was put, if any, is open again. */
void kir_close(struct kir *k) {
    assert(k->open.n);
    kir_val v = k->open.v[--k->open.n];
    if (!KIR_IS(v))
        return;
    const struct kir_node *n = kir_get(k, v);
    k->at = n->block;
    kir_block_get(k, n->block)->open = n->next;
}

/* ---- registers, memory ----------------------------------------------------------------------- */

kir_val kir_reg(struct kir *k, kir_val init, int64_t count) {
    struct kir_node n = {.op = KIR_REG, .type = kir_get(k, init)->type, .imm = count, .arg = {init}};
    return kir_put(k, k->at, &n);
}

kir_val kir_get_reg(struct kir *k, kir_val reg, kir_val index) {
    struct kir_node n = {.op = KIR_GET, .type = kir_get(k, reg)->type, .of = reg.i, .arg = {index}};
    return kir_put(k, k->at, &n);
}

void kir_set_reg(struct kir *k, kir_val reg, kir_val index, kir_val v) {
    assert(kir_type(k, v) == kir_type(k, reg));
    struct kir_node n = {.op = KIR_SET, .of = reg.i, .arg = {v, index}};
    kir_put(k, k->at, &n);
}

void kir_acc(struct kir *k, enum kir_op op, unsigned flags, kir_val reg, kir_val index, kir_val v) {
    assert(kir_type(k, v) == kir_type(k, reg));
    struct kir_node n = {.op = KIR_ACC, .sub = (uint8_t)op, .flags = (uint8_t)flags, .of = reg.i, .arg = {v, index}};
    kir_put(k, k->at, &n);
}

kir_val kir_load(struct kir *k, uint32_t buffer, kir_val index) {
    return kir_load_if(k, buffer, index, (kir_val){0}, (kir_val){0});
}

kir_val kir_load_if(struct kir *k, uint32_t buffer, kir_val index, kir_val guard, kir_val otherwise) {
    int64_t holds;
    if (KIR_IS(guard) && kir_is_const(k, guard, &holds)) {
        if (!holds)
            return otherwise;
        guard = otherwise = (kir_val){0};
    }
    struct kir_node n = {.op = KIR_LOAD, .type = (uint8_t)kir_type_of(k->buffers.v[buffer].dtype), .of = buffer,
                         .arg = {index, guard, otherwise}};
    return kir_is_const_load(k, &n) ? kir_pure(k, &n) : kir_put(k, k->at, &n);
}

void kir_store(struct kir *k, uint32_t buffer, kir_val index, kir_val v) {
    kir_store_if(k, buffer, index, v, (kir_val){0});
}

void kir_store_if(struct kir *k, uint32_t buffer, kir_val index, kir_val v, kir_val guard) {
    int64_t holds;
    if (KIR_IS(guard) && kir_is_const(k, guard, &holds)) {
        if (!holds)
            return;
        guard = (kir_val){0};
    }
    struct kir_node n = {.op = KIR_STORE, .flags = (uint8_t)k->store_flags, .of = buffer, .arg = {index, v, guard}};
    kir_put(k, k->at, &n);
}

void kir_store_flags(struct kir *k, unsigned flags) { k->store_flags = flags; }

void kir_prefetch(struct kir *k, uint32_t buffer, kir_val index) {
    struct kir_node n = {.op = KIR_PREFETCH, .of = buffer, .arg = {index}};
    kir_put(k, k->at, &n);
}

void kir_ldmatrix(struct kir *k, unsigned flags, kir_val reg, int64_t first, uint32_t buffer, kir_val index) {
    struct kir_node n = {.op = KIR_LDMATRIX, .flags = (uint8_t)flags, .of = buffer, .imm = first, .arg = {index, reg}};
    kir_put(k, k->at, &n);
}

void kir_mma(struct kir *k, enum kir_tile format, kir_val sums, int64_t sum, kir_val lhs, int64_t a, kir_val rhs, int64_t b) {
    struct kir_node n = {.op = KIR_MMA, .sub = (uint8_t)format, .of = sums.i, .imm = sum | a << 16 | b << 32,
                         .arg = {lhs, rhs}};
    kir_put(k, k->at, &n);
}

void kir_wgmma(struct kir *k, enum kir_tile format, kir_val sums, int64_t first, struct kir_factors a, struct kir_factors b,
               uint32_t columns) {
    struct kir_node n = {.op = KIR_WGMMA, .sub = (uint8_t)format, .of = sums.i, .width = columns, .arg = {a.at, b.at},
                         .imm = kir_wgmma_imm(first, a.across, b.across, a.buffer, b.buffer)};
    kir_put(k, k->at, &n);
}

void kir_wgmma_wait(struct kir *k, kir_val sums) {
    struct kir_node n = {.op = KIR_WGMMA_WAIT, .of = sums.i};
    kir_put(k, k->at, &n);
}

void kir_copy_async(struct kir *k, uint32_t buffer, kir_val index, uint32_t from, kir_val at, kir_val guard, int64_t elements) {
    int64_t holds;
    if (KIR_IS(guard) && kir_is_const(k, guard, &holds) && holds)
        guard = (kir_val){0};
    struct kir_node n = {.op = KIR_COPY_ASYNC, .of = buffer, .imm = (int64_t)from | elements << 32, .arg = {index, at, guard}};
    kir_put(k, k->at, &n);
}

void kir_copy_commit(struct kir *k) {
    struct kir_node n = {.op = KIR_COPY_COMMIT};
    kir_put(k, k->at, &n);
}

void kir_copy_wait(struct kir *k, int64_t groups) {
    struct kir_node n = {.op = KIR_COPY_WAIT, .imm = groups};
    kir_put(k, k->at, &n);
}

void kir_mbarrier_expect(struct kir *k, uint32_t mbarriers, kir_val group, int64_t bytes) {
    struct kir_node n = {.op = KIR_MBARRIER_EXPECT, .of = mbarriers, .imm = bytes, .arg = {group}};
    kir_put(k, k->at, &n);
}

void kir_copy_tensor(struct kir *k, uint32_t buffer, kir_val index, uint32_t map, kir_val column, kir_val line) {
    struct kir_node n = {.op = KIR_COPY_TENSOR, .of = buffer, .imm = map, .arg = {index, column, line}};
    kir_put(k, k->at, &n);
}

void kir_mbarrier_wait(struct kir *k, uint32_t mbarriers, kir_val group) {
    struct kir_node n = {.op = KIR_MBARRIER_WAIT, .of = mbarriers, .arg = {group}};
    kir_put(k, k->at, &n);
}

void kir_tile(struct kir *k, enum kir_op op, int64_t imm, enum kir_tile format, uint32_t buffer, kir_val index,
              kir_val stride) {
    struct kir_node n = {.op = (uint8_t)op, .sub = (uint8_t)format, .of = buffer, .imm = imm, .arg = {index, stride}};
    kir_put(k, k->at, &n);
}
