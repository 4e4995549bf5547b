/* Instructions in SSA form, blocks, value numbering.
 *
 * A pure instruction that a dominating place already has is shared when it is built. Control flow is structured and built in
 * order, so the dominator of a block is known when it is placed: only jumps back are missing then. */
#include "x86/x86.h"

const struct x86_row x86_rows[X86_OP_COUNT] = {
#define X86(name, mnemonic, form, map, prefix, opcode, w, memory, result)                                                      \
    {mnemonic, form, map, prefix, opcode, w, memory, result},
#include "x86/insns.def"
};

void x86_refuse(struct x86_module *m, const char *why) {
    m->refused = why;
    longjmp(*m->arena->recover, 1);
}

/* ---- blocks ----------------------------------------------------------------------------------- */

struct x86_block *x86_block_new(struct x86_module *m) {
    return ARENA_NEW(m->arena, struct x86_block);
}

static struct x86_block *ins_common_dominator(struct x86_block *a, struct x86_block *b) {
    while (a != b) {
        if (a->depth >= b->depth)
            a = a->dominator;
        else
            b = b->dominator;
    }
    return a;
}

static void ins_place(struct x86_module *m, struct x86_block *b) {
    struct x86_function *f = m->f;
    b->placed = true;
    b->index = f->nblocks++;
    if (f->placed_last)
        f->placed_last->next = b;
    f->placed_last = b;
    for (const struct x86_pred *p = b->preds; p; p = p->next)
        if (p->from->dominator || p->from == f->entry) /* else nothing reaches it */
            b->dominator = b->dominator ? ins_common_dominator(b->dominator, p->from) : p->from;
    b->depth = b->dominator ? b->dominator->depth + 1 : 0;
}

void x86_at_end(struct x86_module *m, struct x86_block *b) {
    if (!b->placed)
        ins_place(m, b);
    m->at = b;
    m->before = NULL;
}

void x86_before(struct x86_module *m, struct x86_ins *i) {
    m->at = i->block;
    m->before = i;
}

struct x86_function *x86_function_new(struct x86_module *m, const char *name) {
    struct x86_function *f = ARENA_NEW(m->arena, struct x86_function);
    size_t n = strlen(name) + 1;
    f->name = arena_dup(m->arena, name, n, 1);
    if (m->last)
        m->last->next = f;
    else
        m->functions = f;
    m->last = f;
    return f;
}

void x86_function_begin(struct x86_module *m, struct x86_function *f) {
    m->f = f;
    memset(m->numbered, 0, sizeof m->numbered);
    f->entry = x86_block_new(m);
    x86_at_end(m, f->entry);
    for (int i = 0; i < 4; i++) {
        struct x86_ins *p = x86_detached(m, X86_PARAM, 8);
        p->imm = i;
        x86_link(f->entry, NULL, p);
        f->params[i] = x86_value_of(m, i < 2 ? &m->scalar[X86_POINTER] : x86_type_int(m, 64), p);
    }
}

static void ins_edge(struct x86_module *m, struct x86_block *from, struct x86_block *to) {
    struct x86_pred *p = ARENA_NEW(m->arena, struct x86_pred);
    *p = (struct x86_pred){to->preds, from};
    to->preds = p;
}

/* ---- instructions ------------------------------------------------------------------------------ */

void x86_link(struct x86_block *b, struct x86_ins *before, struct x86_ins *i) {
    i->block = b;
    i->next = before;
    i->prev = before ? before->prev : b->last;
    if (i->prev)
        i->prev->next = i;
    else
        b->first = i;
    if (before)
        before->prev = i;
    else
        b->last = i;
}

void x86_unlink(struct x86_ins *i) {
    struct x86_block *b = i->block;
    if (i->prev)
        i->prev->next = i->next;
    else
        b->first = i->next;
    if (i->next)
        i->next->prev = i->prev;
    else
        b->last = i->prev;
}

struct x86_ins *x86_detached(struct x86_module *m, enum x86_op op, uint8_t size) {
    struct x86_ins *i = ARENA_NEW(m->arena, struct x86_ins);
    i->op = (uint16_t)op;
    i->size = size;
    i->reg = X86_NO_REGISTER;
    i->order = ++m->order;
    return i;
}

static uint32_t ins_hash(const struct x86_ins *i) {
    uint64_t h = (uint64_t)i->op * UINT64_C(0x9E3779B97F4A7C15) + i->cc + ((uint64_t)i->test << 16) + i->size;
    for (int j = 0; j < i->nargs; j++)
        h = (h ^ i->arg[j]->order) * UINT64_C(0xD6E8FEB86659FD93);
    h ^= (i->base ? i->base->order : 0) + (uint64_t)(i->index ? i->index->order : 0) * 31 + (uint32_t)i->disp;
    h = (h ^ (uint64_t)i->imm) * UINT64_C(0xD6E8FEB86659FD93);
    return (uint32_t)(h >> 32);
}

static bool ins_equal(const struct x86_ins *a, const struct x86_ins *b) {
    if (a->op != b->op || a->size != b->size || a->cc != b->cc || a->test != b->test || a->nargs != b->nargs ||
        a->imm != b->imm || a->memory != b->memory || a->base != b->base || a->index != b->index || a->scale != b->scale ||
        a->disp != b->disp)
        return false;
    for (int j = 0; j < a->nargs; j++)
        if (a->arg[j] != b->arg[j])
            return false;
    return true;
}

/* Whether a load yields what an earlier one of the same address did. */
static bool ins_unwritten(const struct x86_module *m, const struct x86_ins *i) {
    return i->invariant || (!m->before && i->block == m->at && i->number == m->at->writes);
}

static bool ins_available(const struct x86_module *m, const struct x86_ins *i) {
    enum { FAR = 64 };
    const struct x86_block *at = m->at, *b = i->block;
    for (int n = 0; at && n < FAR && at->depth >= b->depth; n++, at = at->dominator)
        if (at == b)
            return true;
    return false;
}

static struct x86_ins *ins_find(struct x86_module *m, const struct x86_ins *like, bool load) {
    if (m->before && m->before->op < X86_JMP) /* before phis and the beginning of a block: little is known there */
        return NULL;
    for (struct x86_ins *i = m->numbered[like->hash % X86_HASHES]; i; i = i->chain)
        if (i->hash == like->hash && ins_equal(i, like) && ins_available(m, i) && (!load || ins_unwritten(m, i)))
            return i;
    return NULL;
}

static void ins_number(struct x86_module *m, struct x86_ins *i) {
    i->chain = m->numbered[i->hash % X86_HASHES];
    m->numbered[i->hash % X86_HASHES] = i;
}

/* One that is pure, or a load, may be one that is there already. */
static struct x86_ins *ins_add(struct x86_module *m, const struct x86_ins *like, bool shared) {
    struct x86_ins key = *like, *i;
    bool writes = x86_rows[key.op].class == X86_NO_CLASS && key.memory && key.op != X86_PREFETCH;
    if (shared) {
        key.hash = ins_hash(&key);
        i = ins_find(m, &key, key.memory && key.op != X86_LEA);
        if (i)
            return i;
    }
    m->at->writes += writes;
    key.number = m->before ? UINT32_MAX : m->at->writes;
    i = ARENA_NEW(m->arena, struct x86_ins);
    *i = key;
    i->reg = X86_NO_REGISTER;
    i->order = ++m->order;
    x86_link(m->at, m->before, i);
    if (shared)
        ins_number(m, i);
    if (x86_rows[i->op].class == X86_V && i->size == 32)
        m->f->wide = true;
    return i;
}

struct x86_ins *x86_ins0(struct x86_module *m, enum x86_op op, uint8_t size) {
    struct x86_ins i = {.op = (uint16_t)op, .size = size};
    return ins_add(m, &i, false);
}

struct x86_ins *x86_ins1(struct x86_module *m, enum x86_op op, uint8_t size, struct x86_ins *a, int64_t imm) {
    struct x86_ins i = {.op = (uint16_t)op, .size = size, .nargs = 1, .arg = {a}, .imm = imm};
    return ins_add(m, &i, true);
}

struct x86_ins *x86_ins2(struct x86_module *m, enum x86_op op, uint8_t size, struct x86_ins *a, struct x86_ins *b,
                         int64_t imm) {
    struct x86_ins i = {.op = (uint16_t)op, .size = size, .nargs = 2, .arg = {a, b}, .imm = imm};
    return ins_add(m, &i, true);
}

struct x86_ins *x86_ins3(struct x86_module *m, enum x86_op op, uint8_t size, struct x86_ins *a, struct x86_ins *b,
                         struct x86_ins *c, int64_t imm) {
    struct x86_ins i = {.op = (uint16_t)op, .size = size, .nargs = 3, .arg = {a, b, c}, .imm = imm};
    return ins_add(m, &i, true);
}

struct x86_ins *x86_ins_cc(struct x86_module *m, enum x86_op op, uint8_t size, enum x86_cc cc, bool test,
                           struct x86_ins *const *args, uint8_t nargs) {
    struct x86_ins i = {.op = (uint16_t)op, .size = size, .cc = (uint8_t)cc, .test = test, .nargs = nargs};
    memcpy(i.arg, args, nargs * sizeof *args);
    return ins_add(m, &i, op != X86_JCC);
}

struct x86_ins *x86_ins_memory(struct x86_module *m, enum x86_op op, uint8_t size, const struct x86_value *address,
                               int32_t plus, struct x86_ins *const *args, uint8_t nargs, int64_t imm) {
    struct x86_ins i = {.op = (uint16_t)op, .size = size, .nargs = nargs, .memory = true, .imm = imm};
    int64_t disp = (int64_t)address->disp + plus;
    i.base = address->base;
    i.index = address->index;
    i.scale = address->scale;
    if (disp != (int32_t)disp)
        x86_refuse(m, "an address too far from its base");
    i.disp = (int32_t)disp;
    if (nargs)
        memcpy(i.arg, args, nargs * sizeof *args);
    return ins_add(m, &i, x86_rows[op].class != X86_NO_CLASS);
}

struct x86_ins *x86_phi(struct x86_module *m, struct x86_block *b, enum x86_class class, uint8_t size) {
    struct x86_ins *i = x86_detached(m, class == X86_G ? X86_PHI_G : X86_PHI_V, size);
    i->block = b;
    i->next = b->phis;
    b->phis = i;
    if (class == X86_V && size == 32)
        m->f->wide = true;
    return i;
}

void x86_phi_add(struct x86_module *m, struct x86_ins *phi, struct x86_ins *v, struct x86_block *from) {
    struct x86_incoming *in = ARENA_NEW(m->arena, struct x86_incoming);
    *in = (struct x86_incoming){phi->in, from, v};
    phi->in = in;
}

void x86_jump(struct x86_module *m, struct x86_block *to) {
    struct x86_block *from = m->at;
    x86_ins0(m, X86_JMP, 8);
    from->to[0] = to;
    ins_edge(m, from, to);
}

void x86_build_branch(struct x86_module *m, struct x86_value *c, struct x86_block *then, struct x86_block *other) {
    uint64_t known;
    if (x86_all_lanes(c, &known)) {
        x86_jump(m, known ? then : other);
        return;
    }
    struct x86_ins *i = x86_mask(m, c, 0)[0], *zero[2] = {i, i};
    struct x86_block *from = m->at;
    if (i->op == X86_SETCC)
        x86_ins_cc(m, X86_JCC, i->size, (enum x86_cc)i->cc, i->test, i->arg, i->nargs);
    else
        x86_ins_cc(m, X86_JCC, 4, X86_NE, true, zero, 2);
    from->to[0] = then;
    from->to[1] = other;
    ins_edge(m, from, then);
    ins_edge(m, from, other);
}

/* ---- constants --------------------------------------------------------------------------------- */

struct x86_ins *x86_const_g(struct x86_module *m, int64_t v) {
    uint32_t h = (uint32_t)((uint64_t)v * UINT64_C(0x9E3779B97F4A7C15) >> 40) % X86_HASHES;
    for (struct x86_ins *i = m->constants[h]; i; i = i->chain)
        if (i->imm == v && i->op == X86_CONST_G)
            return i;
    struct x86_ins *i = x86_detached(m, X86_CONST_G, 8);
    i->imm = v;
    i->chain = m->constants[h];
    m->constants[h] = i;
    return i;
}

static struct x86_pooled *ins_pooled(struct x86_module *m, const uint8_t bytes[32]) {
    uint64_t words[4], h = 0;
    memcpy(words, bytes, sizeof words);
    for (int i = 0; i < 4; i++)
        h = (h ^ words[i]) * UINT64_C(0x9E3779B97F4A7C15), h ^= h >> 29;
    uint32_t hash = (uint32_t)(h >> 16);
    struct x86_pooled **head = &m->pool[hash % X86_HASHES];
    for (struct x86_pooled *p = *head; p; p = p->chain)
        if (p->hash == hash && memcmp(p->bytes, bytes, 32) == 0)
            return p;
    struct x86_pooled *p = ARENA_NEW(m->arena, struct x86_pooled);
    p->chain = *head;
    p->hash = hash;
    p->at = UINT32_MAX;
    memcpy(p->bytes, bytes, 32);
    *head = p;
    return p;
}

struct x86_ins *x86_const_v(struct x86_module *m, const uint8_t *bytes, uint32_t n) {
    uint8_t all[32];
    for (uint32_t i = 0; i < 32; i += n)
        memcpy(all + i, bytes, n);
    struct x86_pooled *p = ins_pooled(m, all);
    for (struct x86_ins *i = m->constants[p->hash % X86_HASHES]; i; i = i->chain)
        if (i->pooled == p)
            return i;
    struct x86_ins *i = x86_detached(m, X86_CONST_V, 32);
    i->pooled = p;
    i->chain = m->constants[p->hash % X86_HASHES];
    m->constants[p->hash % X86_HASHES] = i;
    return i;
}

struct x86_ins *x86_zero(struct x86_module *m) {
    static const uint8_t zero[16] = {0};
    return x86_const_v(m, zero, 16);
}

struct x86_ins *x86_ones(struct x86_module *m) {
    static const uint8_t ones[16] = {255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255};
    return x86_const_v(m, ones, 16);
}

static bool ins_all_bytes(const struct x86_ins *i, uint8_t byte) {
    if (i->op != X86_CONST_V)
        return false;
    for (int j = 0; j < 32; j++)
        if (i->pooled->bytes[j] != byte)
            return false;
    return true;
}

bool x86_is_zero(const struct x86_ins *i) {
    return ins_all_bytes(i, 0);
}

bool x86_is_ones(const struct x86_ins *i) {
    return ins_all_bytes(i, 255);
}
