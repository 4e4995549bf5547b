/* Addresses, loads, stores. */
#include "x86/parts.h"

/* ---- addresses ---------------------------------------------------------------------------------------- */

static struct x86_value *memory_address(struct x86_module *m, struct x86_value *p) {
    if (p->kind == X86_ADDRESS)
        return p;
    struct x86_value *v = x86_value_new(m, p->type, X86_ADDRESS);
    v->base = x86_part(m, p);
    return v;
}

/* An index as another one and a constant. */
static struct x86_ins *memory_without_constant(struct x86_ins *i, int64_t *constant) {
    bool sum = i->op == X86_ADD && i->size == 8 && i->arg[1]->op == X86_CONST_G;
    *constant = sum ? i->arg[1]->imm : 0;
    return sum ? i->arg[0] : i;
}

static bool memory_plus(struct x86_value *v, int64_t bytes) {
    int64_t sum = v->disp;
    if (__builtin_add_overflow(sum, bytes, &sum) || sum != (int32_t)sum)
        return false;
    v->disp = (int32_t)sum;
    return true;
}

struct x86_value *x86_build_gep(struct x86_module *m, struct x86_type *t, struct x86_value *base, struct x86_value *index) {
    int64_t bytes = t->bits / 8 * (int64_t)x86_lanes(t), constant = 0;
    if (index->type->lanes) {
        struct x86_value *v = x86_value_new(m, x86_type_vector(m, &m->scalar[X86_POINTER], index->type->lanes), X86_POINTERS);
        v->a = base;
        v->b = index;
        v->number = bytes;
        return v;
    }
    struct x86_value *from = memory_address(m, base), *v = x86_value_new(m, base->type, X86_ADDRESS);
    *v = *from;
    struct x86_ins *i = x86_extended(m, index, true);
    if (i->op == X86_CONST_G) {
        if (!__builtin_mul_overflow(i->imm, bytes, &constant) && memory_plus(v, constant))
            return v;
        i = x86_const_g(m, (int64_t)((uint64_t)i->imm * (uint64_t)bytes));
        bytes = 1;
    } else {
        struct x86_ins *rest = memory_without_constant(i, &constant);
        if (constant && !__builtin_mul_overflow(constant, bytes, &constant) && memory_plus(v, constant))
            i = rest;
    }
    if (v->index) {
        struct x86_ins *sum = x86_ins_memory(
            m, X86_LEA, 8, &(struct x86_value){.base = v->base, .index = v->index, .scale = v->scale}, 0, NULL, 0, 0);
        v->base = sum;
        v->index = NULL;
    }
    uint32_t log = (uint32_t)__builtin_ctzll((uint64_t)bytes);
    v->scale = 0;
    if (bytes == (int64_t)1 << log && log <= 3)
        v->scale = (uint8_t)log;
    else
        i = x86_ins2(m, X86_IMUL, 8, i, x86_const_g(m, bytes), 0);
    v->index = i;
    return v;
}

/* ---- loads --------------------------------------------------------------------------------------------- */

/* The least power of two bytes, 16 at most, that hold a small vector. */
static struct x86_ins *memory_load_small(struct x86_module *m, const struct x86_value *p, uint32_t bytes, int32_t at) {
    switch (bytes) {
    case 1:
    case 2: {
        struct x86_ins *i = x86_ins_memory(m, bytes == 1 ? X86_LD8 : X86_LD16, 4, p, at, NULL, 0, 0);
        return x86_ins1(m, X86_VMOVD_VG, 16, i, 0);
    }
    case 4:
        return x86_ins_memory(m, X86_VLD4, 16, p, at, NULL, 0, 0);
    default:
        return x86_ins_memory(m, X86_VLD8, 16, p, at, NULL, 0, 0);
    }
}

static struct x86_value *memory_load_scalar(struct x86_module *m, struct x86_type *t, const struct x86_value *p) {
    enum x86_op op = t->bits == 8 ? X86_LD8 : t->bits == 16 ? X86_LD16 : t->bits == 32 ? X86_LD32 : X86_LD64;
    if (t->kind == X86_INT || t->kind == X86_POINTER)
        return x86_value_of(m, t, x86_ins_memory(m, op, t->bits == 64 ? 8 : 4, p, 0, NULL, 0, 0));
    return x86_value_of(m, t, memory_load_small(m, p, t->bits / 8, 0));
}

struct x86_value *x86_build_load(struct x86_module *m, struct x86_type *t, struct x86_value *at) {
    struct x86_value *p = memory_address(m, at), *v;
    if (t->bits == 1)
        x86_refuse(m, "single bits in memory");
    if (!t->lanes) {
        v = memory_load_scalar(m, t, p);
        v->ins = v->parts[0];
        return v;
    }
    uint8_t size;
    uint32_t bytes = t->lanes * t->bits / 8;
    v = x86_new_parts(m, t, &size);
    for (uint32_t i = 0; i < v->nparts; i++)
        v->parts[i] =
            bytes < 16 ? memory_load_small(m, p, bytes, 0) : x86_ins_memory(m, X86_VLD, size, p, (int32_t)i * size, NULL, 0, 0);
    v->ins = v->parts[0];
    return v;
}

void x86_build_invariant(struct x86_value *load) {
    for (uint32_t p = 0; p < load->nparts; p++)
        load->parts[p]->invariant |= load->parts[p]->memory;
}

/* ---- stores -------------------------------------------------------------------------------------------- */

static struct x86_ins *memory_store_scalar(struct x86_module *m, struct x86_value *v, const struct x86_value *p) {
    uint32_t bits = v->type->bits;
    enum x86_op op = bits == 8 ? X86_ST8 : bits == 16 ? X86_ST16 : bits == 32 ? X86_ST32 : X86_ST64;
    struct x86_ins *i = x86_part(m, v);
    if (v->type->kind == X86_HALF)
        op = X86_VST2;
    else if (x86_is_float(v->type))
        op = bits == 32 ? X86_VST4 : X86_VST8;
    return x86_ins_memory(m, op, bits == 64 ? 8 : 4, p, 0, &i, 1, 0);
}

struct x86_value *x86_build_store(struct x86_module *m, struct x86_value *v, struct x86_value *at) {
    struct x86_value *p = memory_address(m, at), *store = x86_value_new(m, v->type, X86_PARTS);
    uint32_t bytes = x86_lanes(v->type) * v->type->bits / 8;
    uint8_t size;
    if (v->type->bits == 1)
        x86_refuse(m, "single bits in memory");
    if (!v->type->lanes) {
        store->ins = memory_store_scalar(m, v, p);
        return store;
    }
    struct x86_ins **parts = x86_parts(m, v);
    store->nparts = x86_nparts(v->type->lanes, v->type->bits, &size);
    store->parts = ARENA_ARRAY(m->arena, struct x86_ins *, store->nparts);
    enum x86_op op = bytes == 1 ? X86_VST1 : bytes == 2 ? X86_VST2 : bytes == 4 ? X86_VST4 : bytes == 8 ? X86_VST8 : X86_VST;
    for (uint32_t i = 0; i < store->nparts; i++)
        store->parts[i] = x86_ins_memory(m, op, size, p, (int32_t)i * size, &parts[i], 1, 0);
    store->ins = store->parts[0];
    return store;
}

void x86_build_stream(struct x86_value *store) {
    for (uint32_t i = 0; i < store->nparts; i++)
        if (store->parts[i]->op == X86_VST)
            store->parts[i]->op = X86_VSTNT;
}

struct x86_value *x86_build_alloca(struct x86_module *m, struct x86_type *t) {
    enum { ALIGN = 32, MOST = 1 << 16 };
    uint32_t bytes = x86_lanes(t) * t->bits / 8;
    struct x86_value *v = x86_value_new(m, &m->scalar[X86_POINTER], X86_ADDRESS);
    struct x86_ins *base = x86_detached(m, X86_FRAME, 8);
    base->reg = X86_RSP;
    v->base = base;
    v->disp = m->f->frame;
    m->f->frame += (int32_t)((bytes + ALIGN - 1) & ~(uint32_t)(ALIGN - 1));
    if (m->f->frame > MOST)
        x86_refuse(m, "a large frame");
    return v;
}

/* ---- masks --------------------------------------------------------------------------------------------- */

struct x86_value *x86_build_masked_load(struct x86_module *m, struct x86_value *at, struct x86_value *mask,
                                        struct x86_value *instead) {
    struct x86_value *p = memory_address(m, at), *v;
    struct x86_type *t = instead->type;
    uint32_t bits = t->bits;
    uint64_t known;
    uint8_t size;
    if (x86_all_lanes(mask, &known))
        return known ? x86_build_load(m, t, at) : instead;
    if (bits < 32)
        x86_refuse(m, "a masked access to elements of 8 or 16 bits");
    v = x86_new_parts(m, t, &size);
    struct x86_ins **lanes = x86_mask(m, mask, bits);
    uint32_t bytes = t->lanes * bits / 8;
    if (bytes < 16)
        x86_refuse(m, "a masked access to less than 16 bytes");
    for (uint32_t i = 0; i < v->nparts; i++)
        v->parts[i] = x86_is_zero(lanes[i])   ? x86_zero(m)
                      : x86_is_ones(lanes[i]) ? x86_ins_memory(m, X86_VLD, size, p, (int32_t)i * size, NULL, 0, 0)
                                              : x86_ins_memory(m, bits == 32 ? X86_VMASKLDPS : X86_VMASKLDPD, size, p,
                                                               (int32_t)i * size, &lanes[i], 1, 0);
    if (x86_all_lanes(instead, &known) && known == 0)
        return v;
    return x86_build_select(m, mask, v, instead);
}

struct x86_value *x86_build_masked_store(struct x86_module *m, struct x86_value *v, struct x86_value *at,
                                         struct x86_value *mask) {
    struct x86_value *p = memory_address(m, at);
    uint32_t bits = v->type->bits;
    uint64_t known;
    uint8_t size;
    if (x86_all_lanes(mask, &known))
        return known ? x86_build_store(m, v, at) : v;
    if (bits < 32 || v->type->lanes * bits < 128)
        x86_refuse(m, "a masked access to elements of 8 or 16 bits");
    struct x86_ins **lanes = x86_mask(m, mask, bits), **parts = x86_parts(m, v);
    uint32_t n = x86_nparts(v->type->lanes, bits, &size);
    for (uint32_t i = 0; i < n; i++) {
        struct x86_ins *args[] = {lanes[i], parts[i]};
        if (x86_is_ones(lanes[i]))
            x86_ins_memory(m, X86_VST, size, p, (int32_t)i * size, &parts[i], 1, 0);
        else if (!x86_is_zero(lanes[i]))
            x86_ins_memory(m, bits == 32 ? X86_VMASKSTPS : X86_VMASKSTPD, size, p, (int32_t)i * size, args, 2, 0);
    }
    return v;
}

void x86_build_prefetch(struct x86_module *m, struct x86_value *p) {
    x86_ins_memory(m, X86_PREFETCH, 8, memory_address(m, p), 0, NULL, 0, 0);
}

/* ---- phis ---------------------------------------------------------------------------------------------- */

struct x86_value *x86_build_phi(struct x86_module *m, struct x86_type *t) {
    struct x86_value *v = x86_value_new(m, t, X86_PARTS);
    bool vector = t->lanes || x86_is_float(t) || t->kind == X86_HALF;
    uint8_t size = 8;
    v->mask_bits = t->bits == 1 && t->lanes ? 32 : 0;
    v->nparts = t->lanes ? x86_nparts(t->lanes, v->mask_bits ? v->mask_bits : t->bits, &size) : 1;
    v->parts = ARENA_ARRAY(m->arena, struct x86_ins *, v->nparts);
    for (uint32_t i = 0; i < v->nparts; i++)
        v->parts[i] = x86_phi(m, m->at, vector ? X86_V : X86_G, t->lanes ? size : vector ? 16 : 8);
    v->ins = v->parts[0];
    return v;
}

/* Instructions that prepare a value go before the jump of the block that it comes from. */
void x86_build_incoming(struct x86_module *m, struct x86_value *phi, struct x86_value *v, struct x86_block *from) {
    struct x86_block *at = m->at;
    struct x86_ins *before = m->before;
    m->at = from;
    m->before = from->last && (from->last->op == X86_JMP || from->last->op == X86_JCC) ? from->last : NULL;
    struct x86_ins **parts = phi->type->bits == 1 ? x86_mask(m, v, phi->mask_bits) : x86_parts(m, v);
    for (uint32_t i = 0; i < phi->nparts; i++) {
        struct x86_ins *p = parts[i];
        if (phi->type->kind == X86_INT && !phi->type->lanes && p->op != X86_CONST_G && x86_rows[p->op].class == X86_V)
            x86_refuse(m, "a phi of two kinds of registers");
        x86_phi_add(m, phi->parts[i], p, from);
    }
    m->at = at;
    m->before = before;
}
