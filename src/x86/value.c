/* Types, constants, and the registers that hold a value. */
#include "x86/x86.h"

/* ---- types ------------------------------------------------------------------------------------- */

void x86_module_init(struct x86_module *m, struct arena *a) {
    static const uint8_t bits[] = {0, 0, 16, 16, 32, 64, 64};
    memset(m, 0, sizeof *m);
    m->arena = a;
    for (int i = X86_VOID; i <= X86_POINTER; i++)
        m->scalar[i] = (struct x86_type){.kind = (enum x86_type_kind)i, .bits = bits[i], .m = m};
}

/* Integers are a list of the first scalar type. */
struct x86_type *x86_type_int(struct x86_module *m, uint32_t bits) {
    for (struct x86_type *t = m->scalar[X86_INT].next; t; t = t->next)
        if (t->bits == bits)
            return t;
    struct x86_type *t = ARENA_NEW(m->arena, struct x86_type);
    *t = (struct x86_type){.kind = X86_INT, .bits = bits, .m = m, .next = m->scalar[X86_INT].next};
    m->scalar[X86_INT].next = t;
    return t;
}

struct x86_type *x86_type_vector(struct x86_module *m, struct x86_type *element, uint32_t lanes) {
    for (struct x86_type *t = element->vectors; t; t = t->next)
        if (t->lanes == lanes)
            return t;
    struct x86_type *t = ARENA_NEW(m->arena, struct x86_type);
    *t = (struct x86_type){
        .kind = X86_VECTOR, .bits = element->bits, .lanes = lanes, .element = element, .m = m, .next = element->vectors};
    element->vectors = t;
    return t;
}

struct x86_type *x86_type_like(struct x86_module *m, struct x86_type *element, const struct x86_type *lanes_of) {
    return lanes_of->lanes ? x86_type_vector(m, element, lanes_of->lanes) : element;
}

/* ---- values ------------------------------------------------------------------------------------ */

struct x86_value *x86_value_new(struct x86_module *m, struct x86_type *t, enum x86_kind kind) {
    struct x86_value *v = ARENA_NEW(m->arena, struct x86_value);
    v->type = t;
    v->kind = kind;
    return v;
}

static uint64_t value_cut(uint64_t v, uint32_t bits) {
    return bits < 64 ? v & (((uint64_t)1 << bits) - 1) : v;
}

int64_t x86_extend(uint64_t v, uint32_t bits) {
    return bits < 64 ? (int64_t)(v << (64 - bits)) >> (64 - bits) : (int64_t)v;
}

struct x86_value *x86_const(struct x86_module *m, struct x86_type *t, const uint64_t *lanes) {
    struct x86_value *v = x86_value_new(m, t, X86_CONSTANT);
    uint32_t n = x86_lanes(t);
    v->lanes = ARENA_ARRAY(m->arena, uint64_t, n);
    for (uint32_t i = 0; i < n; i++)
        v->lanes[i] = value_cut(lanes[i], t->bits);
    return v;
}

struct x86_value *x86_const_all(struct x86_module *m, struct x86_type *t, uint64_t lane) {
    struct x86_value *v = x86_value_new(m, t, X86_CONSTANT);
    uint32_t n = x86_lanes(t);
    v->lanes = ARENA_ARRAY(m->arena, uint64_t, n);
    for (uint32_t i = 0; i < n; i++)
        v->lanes[i] = value_cut(lane, t->bits);
    return v;
}

struct x86_value *x86_const_int(struct x86_module *m, struct x86_type *t, uint64_t v) {
    struct x86_value **head = &m->ints[value_cut(v, t->bits) * UINT64_C(0x9E3779B97F4A7C15) >> 40 & (X86_HASHES - 1)];
    for (struct x86_value *c = *head; c; c = c->chain)
        if (c->type == t && c->lanes[0] == value_cut(v, t->bits))
            return c;
    struct x86_value *c = x86_const_all(m, t, v);
    c->chain = *head;
    *head = c;
    return c;
}

struct x86_value *x86_poison(struct x86_module *m, struct x86_type *t) {
    struct x86_value *v = x86_const_all(m, t, 0);
    v->poison = true;
    return v;
}

struct x86_value *x86_value_of(struct x86_module *m, struct x86_type *t, struct x86_ins *i) {
    struct x86_value *v = x86_value_new(m, t, X86_PARTS);
    v->nparts = 1;
    v->parts = ARENA_NEW(m->arena, struct x86_ins *);
    v->parts[0] = i;
    return v;
}

bool x86_all_lanes(const struct x86_value *v, uint64_t *out) {
    if (v->kind != X86_CONSTANT)
        return false;
    for (uint32_t i = 1; i < x86_lanes(v->type); i++)
        if (v->lanes[i] != v->lanes[0])
            return false;
    *out = v->lanes[0];
    return true;
}

uint32_t x86_nparts(uint32_t lanes, uint32_t bits, uint8_t *size) {
    uint32_t bytes = lanes * bits / 8;
    *size = bytes >= 32 ? 32 : 16;
    return bytes > 32 ? bytes / 32 : 1;
}

/* ---- constants in registers --------------------------------------------------------------------- */

static struct x86_ins **value_constant_lanes(struct x86_module *m, const uint64_t *lanes, uint32_t n, uint32_t bits) {
    uint8_t size, bytes[32];
    uint32_t nparts = x86_nparts(n, bits, &size), each = bits / 8;
    struct x86_ins **parts = ARENA_ARRAY(m->arena, struct x86_ins *, nparts);
    for (uint32_t p = 0; p < nparts; p++) {
        memset(bytes, 0, sizeof bytes);
        for (uint32_t i = 0; i < size / each && p * (size / each) + i < n; i++)
            memcpy(bytes + i * each, &lanes[p * (size / each) + i], each);
        parts[p] = x86_const_v(m, bytes, size);
    }
    return parts;
}

static struct x86_ins **value_constant(struct x86_module *m, const struct x86_value *v) {
    const struct x86_type *t = v->type, *e = x86_element(t);
    struct x86_ins **parts = ARENA_NEW(m->arena, struct x86_ins *);
    if (!t->lanes && (e->kind == X86_INT || e->kind == X86_POINTER)) {
        parts[0] = x86_const_g(m, x86_extend(v->lanes[0], e->bits));
        return parts;
    }
    if (!t->lanes) { /* in all lanes, as vectors of constants are */
        uint8_t bytes[16];
        for (uint32_t i = 0; i < 16; i += e->bits / 8)
            memcpy(bytes + i, v->lanes, e->bits / 8);
        parts[0] = x86_const_v(m, bytes, 16);
        return parts;
    }
    return value_constant_lanes(m, v->lanes, t->lanes, e->bits);
}

/* ---- lanes that were inserted one by one --------------------------------------------------------- */

static struct x86_ins *value_lane_register(struct x86_module *m, struct x86_value *one, uint32_t bits) {
    struct x86_ins *i = x86_part(m, one);
    if (x86_is_float(one->type) || one->type->kind == X86_HALF)
        return i;
    return x86_ins1(m, bits == 64 ? X86_VMOVQ_VG : X86_VMOVD_VG, 16, i, 0);
}

static struct x86_ins *value_insert_lane(struct x86_module *m, struct x86_ins *into, struct x86_value *one, uint32_t at,
                                         uint32_t bits) {
    struct x86_ins *i = x86_part(m, one);
    if (one->type->kind == X86_FLOAT)
        return x86_ins2(m, X86_VINSERTPS, 16, into, i, at << 4);
    if (one->type->kind == X86_DOUBLE)
        return at ? x86_ins2(m, X86_VUNPCKLPD, 16, into, i, 0) : x86_ins2(m, X86_VPBLENDD, 16, into, i, 3);
    if (one->type->kind == X86_HALF)
        i = x86_ins1(m, X86_VMOVD_GV, 4, i, 0);
    enum x86_op op = bits == 8 ? X86_VPINSRB : bits == 16 ? X86_VPINSRW : bits == 32 ? X86_VPINSRD : X86_VPINSRQ;
    return x86_ins2(m, op, 16, into, i, at);
}

/* 16 bytes from lane `first` on. */
static struct x86_ins *value_join16(struct x86_module *m, const struct x86_value *v, uint32_t first, uint32_t n) {
    uint32_t bits = v->type->bits;
    bool whole = v->a->poison;
    struct x86_ins *all = NULL;
    for (uint32_t i = 0; i < n && !whole; i++)
        whole = i == n - 1 && v->scalars[first + i];
    for (uint32_t i = 0; i < n && whole; i++)
        whole = v->scalars[first + i] || v->a->poison;
    if (!whole || !v->scalars[first]) {
        uint64_t lanes[16] = {0};
        if (v->a->kind == X86_CONSTANT)
            memcpy(lanes, v->a->lanes + first, n * sizeof *lanes);
        else
            x86_refuse(m, "a lane inserted into a vector that is computed");
        all = value_constant_lanes(m, lanes, n, bits)[0];
    }
    for (uint32_t i = 0; i < n; i++)
        if (v->scalars[first + i])
            all = all ? value_insert_lane(m, all, v->scalars[first + i], i, bits)
                      : value_lane_register(m, v->scalars[first + i], bits);
    return all;
}

static struct x86_ins **value_join(struct x86_module *m, const struct x86_value *v) {
    uint8_t size;
    uint32_t lanes = v->type->lanes, bits = v->type->bits, nparts = x86_nparts(lanes, bits, &size), per = 128 / bits;
    struct x86_ins **parts = ARENA_ARRAY(m->arena, struct x86_ins *, nparts);
    for (uint32_t p = 0; p < nparts; p++) {
        uint32_t first = p * (8u * size / bits);
        parts[p] = value_join16(m, v, first, lanes < per ? lanes : per);
        if (size == 32)
            parts[p] = x86_ins2(m, X86_VINSERTF128, 32, parts[p], value_join16(m, v, first + per, per), 1);
    }
    return parts;
}

/* ---- parts ------------------------------------------------------------------------------------- */

static void value_settle(struct x86_value *v, struct x86_ins **parts) {
    uint8_t size;
    v->parts = parts;
    v->nparts = v->type->lanes ? x86_nparts(v->type->lanes, v->type->bits, &size) : 1;
}

struct x86_ins **x86_parts(struct x86_module *m, struct x86_value *v) {
    if (x86_is_int(v->type, 1))
        return x86_mask(m, v, v->type->lanes ? 32 : 0);
    switch (v->kind) {
    case X86_PARTS:
        return v->parts;
    case X86_CONSTANT:
        if (!v->parts)
            value_settle(v, value_constant(m, v));
        return v->parts;
    case X86_LANES: /* joined at each use: the places of others may not dominate it; else it is the same instruction */
        value_settle(v, value_join(m, v));
        return v->parts;
    case X86_ADDRESS: {
        struct x86_ins **parts = ARENA_NEW(m->arena, struct x86_ins *);
        *parts = v->index || v->disp ? x86_ins_memory(m, X86_LEA, 8, v, 0, NULL, 0, 0) : v->base;
        return parts;
    }
    default:
        x86_refuse(m, "a value that has no registers");
        v = x86_poison(m, v->type->lanes ? x86_type_vector(m, x86_type_int(m, 64), v->type->lanes) : x86_type_int(m, 64));
        return value_constant(m, v);
    }
}

struct x86_ins *x86_part(struct x86_module *m, struct x86_value *v) {
    return x86_parts(m, v)[0];
}

struct x86_ins *x86_extended(struct x86_module *m, struct x86_value *v, bool is_signed) {
    struct x86_ins *i = x86_part(m, v);
    if (v->kind == X86_CONSTANT)
        return x86_const_g(m, is_signed ? x86_extend(v->lanes[0], v->type->bits) : (int64_t)v->lanes[0]);
    switch (v->type->bits) {
    case 1:
        return i;
    case 8:
        if (!is_signed && i->op == X86_LD8)
            return i;
        return x86_ins1(m, is_signed ? X86_MOVSX8 : X86_MOVZX8, 8, i, 0);
    case 16:
        if (!is_signed && i->op == X86_LD16)
            return i;
        return x86_ins1(m, is_signed ? X86_MOVSX16 : X86_MOVZX16, 8, i, 0);
    case 32:
        return x86_ins1(m, is_signed ? X86_MOVSX32 : X86_MOVZX32, 8, i, 0);
    default:
        return i;
    }
}

/* ---- masks ------------------------------------------------------------------------------------- */

/* Half the width of lanes: two parts become one, with the quarters in order. */
static struct x86_ins *value_pack(struct x86_module *m, struct x86_ins *a, struct x86_ins *b, uint32_t bits, uint8_t size) {
    if (bits == 64) {
        struct x86_ins *v = x86_ins2(m, X86_VSHUFPS, size, a, b, 0x88);
        return size == 32 ? x86_ins1(m, X86_VPERMQ, 32, v, 0xD8) : v;
    }
    struct x86_ins *v = x86_ins2(m, bits == 32 ? X86_VPACKSSDW : X86_VPACKSSWB, size, a, b, 0);
    return size == 32 ? x86_ins1(m, X86_VPERMQ, 32, v, 0xD8) : v;
}

static struct x86_ins **value_narrow_mask(struct x86_module *m, struct x86_ins **from, uint32_t lanes, uint32_t bits) {
    uint8_t wide, size;
    uint32_t n = x86_nparts(lanes, bits, &wide), left = x86_nparts(lanes, bits / 2, &size);
    struct x86_ins **parts = ARENA_ARRAY(m->arena, struct x86_ins *, left);
    for (uint32_t i = 0; i < left; i++)
        if (n == 1 && wide == 32) /* one part of 32 becomes one of 16 */
            parts[i] = value_pack(m, from[0], x86_ins1(m, X86_VEXTRACTF128, 32, from[0], 1), bits, 16);
        else if (n == 1)
            parts[i] = value_pack(m, from[0], from[0], bits, 16);
        else
            parts[i] = value_pack(m, from[2 * i], from[2 * i + 1], bits, 32);
    return parts;
}

/* A scalar in a general register as lane 0 of a mask. */
static struct x86_ins **value_mask_of_scalar(struct x86_module *m, struct x86_ins *i, uint32_t bits) {
    struct x86_ins **parts = ARENA_NEW(m->arena, struct x86_ins *);
    struct x86_ins *all = x86_ins1(m, X86_NEG, 8, i, 0);
    *parts = x86_ins1(m, bits == 64 ? X86_VMOVQ_VG : X86_VMOVD_VG, 16, all, 0);
    return parts;
}

static struct x86_ins **value_scalar_of_mask(struct x86_module *m, struct x86_ins *i) {
    struct x86_ins **parts = ARENA_NEW(m->arena, struct x86_ins *);
    *parts = x86_ins2(m, X86_AND, 4, x86_ins1(m, X86_VMOVD_GV, 4, i, 0), x86_const_g(m, 1), 0);
    return parts;
}

struct x86_ins **x86_mask(struct x86_module *m, struct x86_value *v, uint32_t bits) {
    uint32_t lanes = v->type->lanes;
    if (v->kind == X86_CONSTANT) {
        if (!lanes && !bits) {
            struct x86_ins **parts = ARENA_NEW(m->arena, struct x86_ins *);
            *parts = x86_const_g(m, (int64_t)v->lanes[0]);
            return parts;
        }
        uint64_t *all = ARENA_ARRAY(m->arena, uint64_t, x86_lanes(v->type));
        for (uint32_t i = 0; i < x86_lanes(v->type); i++)
            all[i] = v->lanes[i] ? UINT64_MAX : 0;
        return value_constant_lanes(m, all, x86_lanes(v->type), bits ? bits : 32);
    }
    if (v->kind != X86_PARTS) {
        x86_refuse(m, "a mask of lanes that were inserted one by one");
        return x86_mask(m, x86_poison(m, v->type), bits);
    }
    struct x86_ins **parts = v->parts;
    if (!lanes) {
        if (v->mask_bits == 32 && bits == 64) {
            parts = ARENA_NEW(m->arena, struct x86_ins *);
            *parts = x86_ins1(m, X86_VPMOVSXDQ, 16, v->parts[0], 0);
        }
        if (!v->mask_bits == !bits)
            return parts;
        return bits ? value_mask_of_scalar(m, *parts, bits) : value_scalar_of_mask(m, *parts);
    }
    uint32_t now = v->mask_bits;
    bits = bits ? bits : now;
    for (; now > bits; now /= 2)
        parts = value_narrow_mask(m, parts, lanes, now);
    return now < bits ? x86_widen(m, parts, lanes, now, bits, true) : parts;
}

/* ---- lane by lane ------------------------------------------------------------------------------- */

struct x86_value *x86_by_lanes(struct x86_module *m, x86_lane_fn *fn, int what, struct x86_type *to,
                               struct x86_value *const *args, uint32_t nargs) {
    struct x86_value *all = x86_poison(m, to), *one[3];
    struct x86_type *index = x86_type_int(m, 32);
    for (uint32_t i = 0; i < to->lanes; i++) {
        struct x86_value *at = x86_const_all(m, index, i);
        for (uint32_t j = 0; j < nargs; j++)
            one[j] = x86_build_extract(m, args[j], at);
        all = x86_build_insert(m, all, fn(m, one, what, to->element), at);
    }
    return all;
}
