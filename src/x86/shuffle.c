/* Lanes from other lanes. */
#include "x86/parts.h"

enum { NOWHERE = UINT32_MAX };

/* ---- 32 bits in a register --------------------------------------------------------------------------- */

struct shuffle {
    struct x86_module *m;
    struct x86_ins *const *part; /* of both operands; b after a */
};

static bool shuffle_is(const uint32_t *at, uint32_t n, const uint32_t *like, uint32_t base) {
    for (uint32_t i = 0; i < n; i++)
        if (at[i] != NOWHERE && at[i] != like[i] + base)
            return false;
    return true;
}

/* Each group of four lanes has the same order, within the group: its immediate byte; else -1. */
static int shuffle_in_groups(const uint32_t *at, uint32_t n) {
    uint32_t of[4] = {NOWHERE, NOWHERE, NOWHERE, NOWHERE};
    for (uint32_t i = 0; i < n; i++) {
        if (at[i] == NOWHERE)
            continue;
        if (at[i] / 4 != i / 4 || (of[i % 4] != NOWHERE && of[i % 4] != at[i] % 4))
            return -1;
        of[i % 4] = at[i] % 4;
    }
    int imm = 0;
    for (uint32_t i = 0; i < 4; i++)
        imm |= (int)(of[i] == NOWHERE ? i : of[i]) << 2 * i;
    return imm;
}

static struct x86_ins *shuffle_indices(struct x86_module *m, const uint32_t *at, uint32_t n) {
    uint32_t words[8] = {0};
    for (uint32_t i = 0; i < n; i++)
        words[i] = at[i] == NOWHERE ? 0 : at[i];
    return x86_const_v(m, (const uint8_t *)words, n * 4);
}

/* Of one register; `at`: numbers of its dwords, four or eight of them. */
static struct x86_ins *shuffle_one(struct x86_module *m, struct x86_ins *a, const uint32_t *at, uint32_t n) {
    static const uint32_t same[] = {0, 1, 2, 3, 4, 5, 6, 7}, halves[] = {4, 5, 6, 7, 0, 1, 2, 3};
    if (shuffle_is(at, n, same, 0))
        return a;
    if (n == 4 && shuffle_is(at, n, same, 4))
        return x86_ins1(m, X86_VEXTRACTF128, 32, a, 1);
    int imm = shuffle_in_groups(at, n);
    if (imm >= 0)
        return x86_ins1(m, X86_VPSHUFD, n == 8 ? 32 : 16, a, imm);
    if (n == 4) {
        uint32_t lower[4];
        bool all_upper = true;
        for (uint32_t i = 0; i < 4; i++) {
            all_upper &= at[i] == NOWHERE || at[i] >= 4;
            lower[i] = at[i] == NOWHERE ? NOWHERE : at[i] % 4;
        }
        if (all_upper)
            return x86_ins1(m, X86_VPSHUFD, 16, x86_ins1(m, X86_VEXTRACTF128, 32, a, 1), shuffle_in_groups(lower, 4));
    }
    if (n == 8 && shuffle_is(at, n, halves, 0))
        return x86_ins1(m, X86_VPERMQ, 32, a, 0x4E);
    int quads = 0;
    for (uint32_t i = 0; n == 8 && quads >= 0 && i < 8; i += 2) {
        bool pair = at[i] != NOWHERE && at[i] % 2 == 0 && (at[i + 1] == NOWHERE || at[i + 1] == at[i] + 1);
        quads = pair ? quads | (int)(at[i] / 2 << i) : -1;
    }
    if (n == 8 && quads >= 0)
        return x86_ins1(m, X86_VPERMQ, 32, a, quads);
    return x86_ins2(m, X86_VPERMPS, 32, shuffle_indices(m, at, n), a, 0);
}

static struct x86_ins *shuffle_splat(struct x86_module *m, struct x86_ins *a, const uint32_t *at, uint32_t n) {
    for (uint32_t i = 0; i < n; i++)
        if (at[i] != 0)
            return NULL;
    return x86_ins1(m, X86_VBROADCASTSS, n == 8 ? 32 : 16, a, 0);
}

/* Two registers by one instruction; dwords of the second count from 8 on. NULL = there is none. */
static struct x86_ins *shuffle_pair(struct x86_module *m, struct x86_ins *a, struct x86_ins *b, const uint32_t *at,
                                    uint32_t n) {
    static const struct {
        uint32_t of[8];
        enum x86_op op;
        int imm;
    } known[] = {{{0, 8, 1, 9, 4, 12, 5, 13}, X86_VUNPCKLPS, 0},     {{2, 10, 3, 11, 6, 14, 7, 15}, X86_VUNPCKHPS, 0},
                 {{0, 1, 8, 9, 4, 5, 12, 13}, X86_VUNPCKLPD, 0},     {{2, 3, 10, 11, 6, 7, 14, 15}, X86_VUNPCKHPD, 0},
                 {{0, 1, 2, 3, 8, 9, 10, 11}, X86_VPERM2F128, 0x20}, {{4, 5, 6, 7, 12, 13, 14, 15}, X86_VPERM2F128, 0x31},
                 {{4, 5, 6, 7, 8, 9, 10, 11}, X86_VPERM2F128, 0x21}, {{0, 1, 2, 3, 12, 13, 14, 15}, X86_VPERM2F128, 0x30}};
    uint8_t size = n == 8 ? 32 : 16;
    for (uint32_t i = 0; i < sizeof known / sizeof *known; i++)
        if ((n == 8 || known[i].op != X86_VPERM2F128) && shuffle_is(at, n, known[i].of, 0))
            return known[i].op == X86_VPERM2F128 && known[i].imm == 0x20 ? x86_ins2(m, X86_VINSERTF128, 32, a, b, 1)
                                                                         : x86_ins2(m, known[i].op, size, a, b, known[i].imm);
    int blend = 0, imm = 0;
    for (uint32_t i = 0; i < n; i++) {
        if (at[i] != NOWHERE && at[i] % 8 != i)
            blend = -1;
        else if (at[i] != NOWHERE && blend >= 0)
            blend |= (int)(at[i] / 8) << i;
    }
    if (blend >= 0)
        return x86_ins2(m, X86_VPBLENDD, size, a, b, blend);
    uint32_t of[4] = {NOWHERE, NOWHERE, NOWHERE, NOWHERE};
    for (uint32_t i = 0; i < n; i++) { /* two lanes of the first, then two of the second, in each group */
        if (at[i] == NOWHERE)
            continue;
        bool fits = at[i] / 8 == i % 4 / 2 && at[i] % 8 / 4 == i / 4 && (of[i % 4] == NOWHERE || of[i % 4] == at[i] % 4);
        if (!fits)
            return NULL;
        of[i % 4] = at[i] % 4;
    }
    for (uint32_t i = 0; i < 4; i++)
        imm |= (int)(of[i] == NOWHERE ? 0 : of[i]) << 2 * i;
    return x86_ins2(m, X86_VSHUFPS, size, a, b, imm);
}

/* One register from any number of others: `at` counts dwords of all, `per` in each. */
static struct x86_ins *shuffle_dwords(const struct shuffle *s, const uint32_t *at, uint32_t n, uint32_t per) {
    struct x86_module *m = s->m;
    uint32_t sources[8], nsources = 0, local[8];
    for (uint32_t i = 0; i < n; i++) {
        uint32_t j = 0;
        while (at[i] != NOWHERE && j < nsources && sources[j] != at[i] / per)
            j++;
        if (at[i] != NOWHERE && j == nsources)
            sources[nsources++] = at[i] / per;
    }
    if (nsources == 2) {
        struct x86_ins *a = s->part[sources[0]], *b = s->part[sources[1]], *r;
        for (int exchange = 0; exchange < 2; exchange++) {
            for (uint32_t i = 0; i < n; i++)
                local[i] = at[i] == NOWHERE ? NOWHERE : at[i] % per + (at[i] / per == sources[!exchange] ? 8 : 0);
            r = shuffle_pair(m, exchange ? b : a, exchange ? a : b, local, n);
            if (r)
                return r;
        }
    }
    struct x86_ins *all = NULL;
    for (uint32_t j = 0; j < nsources; j++) {
        int mine = 0;
        for (uint32_t i = 0; i < n; i++) {
            bool here = at[i] != NOWHERE && at[i] / per == sources[j];
            local[i] = here ? at[i] % per : NOWHERE;
            mine |= here << i;
        }
        struct x86_ins *one = nsources == 1 ? shuffle_splat(m, s->part[sources[0]], local, n) : NULL;
        one = one ? one : shuffle_one(m, s->part[sources[j]], local, n);
        all = all ? x86_ins2(m, X86_VPBLENDD, n == 8 ? 32 : 16, all, one, mine) : one;
    }
    return all ? all : x86_zero(m);
}

/* ---- bytes in a register ------------------------------------------------------------------------------ */

/* Bytes that one half of a source gives to a half of the result, by vpshufb; NULL = none. */
static struct x86_ins *shuffle_bytes_of(struct x86_module *m, struct x86_ins *a, const uint32_t *at, uint32_t n, uint32_t from,
                                        bool crossed) {
    uint8_t index[32];
    bool any = false;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t half = i / 16 ^ crossed;
        bool here = at[i] != NOWHERE && at[i] >= from && at[i] - from < 32 && (at[i] - from) / 16 == half;
        index[i] = here ? (uint8_t)(at[i] % 16) : 0x80;
        any |= here;
    }
    if (!any)
        return NULL;
    return x86_ins2(m, X86_VPSHUFB, n == 32 ? 32 : 16, a, x86_const_v(m, index, n), 0);
}

/* Two registers of 16 bytes by one instruction: bytes or words in turns, of their lower or upper halves. NULL = there is
   none. */
static struct x86_ins *shuffle_interleaved(const struct shuffle *s, const uint32_t *at, uint32_t n, uint32_t per) {
    static const struct {
        enum x86_op op;
        uint32_t bytes, from;
    } known[] = {{X86_VPUNPCKLBW, 1, 0}, {X86_VPUNPCKHBW, 1, 8}, {X86_VPUNPCKLWD, 2, 0}, {X86_VPUNPCKHWD, 2, 8}};
    for (uint32_t k = 0; n == 16 && per == 16 && k < sizeof known / sizeof *known; k++) {
        uint32_t sources[2] = {NOWHERE, NOWHERE}, bytes = known[k].bytes;
        bool found = true;
        for (uint32_t i = 0; i < n && found; i++) {
            uint32_t *source = &sources[i / bytes % 2];
            if (at[i] == NOWHERE)
                continue;
            found = at[i] % per == known[k].from + i / bytes / 2 * bytes + i % bytes &&
                    (*source == NOWHERE || *source == at[i] / per);
            *source = at[i] / per;
        }
        if (found && sources[0] != NOWHERE && sources[1] != NOWHERE)
            return x86_ins2(s->m, known[k].op, 16, s->part[sources[0]], s->part[sources[1]], 0);
    }
    return NULL;
}

static struct x86_ins *shuffle_bytes(const struct shuffle *s, const uint32_t *at, uint32_t n, uint32_t per, uint32_t nsources) {
    struct x86_module *m = s->m;
    struct x86_ins *all = shuffle_interleaved(s, at, n, per);
    uint32_t spread[32];
    if (all)
        return all;
    for (uint32_t j = 0; j < nsources; j++) {
        bool crossing = false, used = false;
        for (uint32_t i = 0; i < n; i++) {
            bool here = at[i] != NOWHERE && at[i] / per == j;
            spread[i] = here ? at[i] % per : NOWHERE;
            used |= here;
            crossing |= here && spread[i] / 16 != i / 16;
        }
        if (!used)
            continue;
        struct x86_ins *a = s->part[j], *crossed = NULL;
        if (crossing)
            crossed = n == 32 && per == 32 ? x86_ins1(m, X86_VPERMQ, 32, a, 0x4E)
                      : n == 32            ? x86_ins2(m, X86_VINSERTF128, 32, a, a, 1)
                                           : x86_ins1(m, X86_VEXTRACTF128, 32, a, 1);
        struct x86_ins *parts[] = {shuffle_bytes_of(m, a, spread, n, 0, false),
                                   crossed ? shuffle_bytes_of(m, crossed, spread, n, 0, true) : NULL};
        for (int i = 0; i < 2; i++)
            if (parts[i])
                all = all ? x86_ins2(m, X86_VOR, n == 32 ? 32 : 16, all, parts[i], 0) : parts[i];
    }
    return all ? all : x86_zero(m);
}

/* ---- vectors ------------------------------------------------------------------------------------------- */

/* Splats of bytes and words. */
static struct x86_ins *shuffle_narrow_splat(struct x86_module *m, struct x86_ins *a, uint32_t bits, uint8_t size) {
    return x86_ins1(m, bits == 8 ? X86_VPBROADCASTB : X86_VPBROADCASTW, size, a, 0);
}

void x86_shuffle_parts(struct x86_module *m, struct x86_ins *const *a, struct x86_ins *const *b, uint32_t bits, uint32_t from,
                       const uint32_t *lanes, uint32_t n, struct x86_ins **out) {
    uint8_t size, source;
    uint32_t nout = x86_nparts(n, bits, &size), nin = x86_nparts(from, bits, &source), unit = bits < 32 ? 8 : 32;
    uint32_t per_in = source * 8u / unit, per_out = size * 8u / unit, each = bits / unit, at[32];
    struct x86_ins **all = ARENA_ARRAY(m->arena, struct x86_ins *, 2 * nin);
    struct shuffle s = {m, all};
    for (uint32_t i = 0; i < nin; i++)
        all[i] = a[i], all[nin + i] = b ? b[i] : a[i];
    bool splat = true;
    for (uint32_t i = 0; i < n; i++)
        splat &= lanes[i] == 0;
    for (uint32_t p = 0; p < nout; p++) {
        if (splat && (bits < 32 || bits == 64)) {
            out[p] = bits == 64 ? x86_ins1(m, X86_VPBROADCASTQ, size, a[0], 0) : shuffle_narrow_splat(m, a[0], bits, size);
            continue;
        }
        for (uint32_t i = 0; i < per_out; i++) {
            uint32_t lane = p * (per_out / each) + i / each, of = lane < n ? lanes[lane] : NOWHERE;
            uint32_t operand = of != NOWHERE && of >= from, local = of == NOWHERE ? 0 : of - operand * from;
            at[i] = of == NOWHERE ? NOWHERE : operand * nin * per_in + local * each + i % each;
        }
        out[p] = unit == 32 ? shuffle_dwords(&s, at, per_out, per_in) : shuffle_bytes(&s, at, per_out, per_in, 2 * nin);
    }
}

static struct x86_value *shuffle_constants(struct x86_module *m, struct x86_type *t, const struct x86_value *a,
                                           const struct x86_value *b, const uint64_t *lanes) {
    struct x86_value *v = x86_const_all(m, t, 0);
    uint32_t from = a->type->lanes;
    for (uint32_t i = 0; i < t->lanes; i++)
        v->lanes[i] = lanes[i] < from ? a->lanes[lanes[i]] : lanes[i] < 2 * from ? b->lanes[lanes[i] - from] : 0;
    return v;
}

struct x86_value *x86_build_shuffle(struct x86_module *m, struct x86_value *a, struct x86_value *b, const uint64_t *lanes,
                                    uint32_t n) {
    struct x86_type *t = x86_type_vector(m, a->type->element, n);
    uint32_t *at = ARENA_ARRAY(m->arena, uint32_t, n), bits = t->bits, from = a->type->lanes;
    bool from_b = false, is_mask = bits == 1;
    if (a->kind == X86_CONSTANT && b->kind == X86_CONSTANT)
        return shuffle_constants(m, t, a, b, lanes);
    for (uint32_t i = 0; i < n; i++) {
        at[i] = (uint32_t)lanes[i];
        if (b->poison && at[i] >= from)
            at[i] = NOWHERE;
        from_b |= at[i] != NOWHERE && at[i] >= from;
    }
    struct x86_value *v = x86_value_new(m, t, X86_PARTS);
    uint8_t size;
    if (is_mask)
        bits = v->mask_bits = a->kind == X86_CONSTANT ? b->mask_bits : a->mask_bits;
    v->nparts = x86_nparts(n, bits, &size);
    v->parts = ARENA_ARRAY(m->arena, struct x86_ins *, v->nparts);
    if (a->kind == X86_LANES && !from_b && a->scalars[0]) { /* a splat of a scalar */
        uint32_t i = 0;
        while (i < n && at[i] == 0)
            i++;
        if (i == n && is_mask)
            return x86_spread(m, a->scalars[0], n);
        if (i == n) {
            struct x86_ins *one = x86_part(m, x86_build_extract(m, a, x86_const_all(m, x86_type_int(m, 32), 0)));
            if (x86_rows[one->op].class == X86_G)
                one = x86_ins1(m, bits == 64 ? X86_VMOVQ_VG : X86_VMOVD_VG, 16, one, 0);
            x86_shuffle_parts(m, &one, NULL, bits, 128 / bits, at, n, v->parts);
            return v;
        }
    }
    struct x86_ins **x = is_mask ? x86_mask(m, a, bits) : x86_parts(m, a);
    struct x86_ins **y = !from_b ? NULL : is_mask ? x86_mask(m, b, bits) : x86_parts(m, b);
    x86_shuffle_parts(m, x, y, bits, from, at, n, v->parts);
    return v;
}

/* ---- one lane ------------------------------------------------------------------------------------------ */

static struct x86_value *shuffle_extract(struct x86_module *m, struct x86_value *v, uint32_t at) {
    struct x86_type *t = v->type->element;
    uint32_t bits = t->bits == 1 ? v->mask_bits : t->bits;
    uint8_t size;
    x86_nparts(v->type->lanes, bits, &size);
    struct x86_ins *part =
        t->bits == 1 ? x86_mask(m, v, bits)[at / (size * 8u / bits)] : x86_parts(m, v)[at / (size * 8u / bits)];
    at %= size * 8u / bits;
    if (at >= 128 / bits) {
        part = x86_ins1(m, X86_VEXTRACTF128, 32, part, 1);
        at -= 128 / bits;
    }
    if (t->kind != X86_INT) {
        uint32_t byte = at * bits / 8;
        if (byte && bits >= 32)
            part = x86_ins1(m, X86_VPSHUFD, 16, part, bits == 64 ? 0xEE : (int64_t)(at * 0x55));
        else if (byte)
            part = x86_ins1(m, X86_VPSRLDQ, 16, part, byte);
        return x86_value_of(m, t, part);
    }
    enum x86_op op = bits == 8    ? X86_VPEXTRB
                     : bits == 16 ? X86_VPEXTRW
                     : bits == 32 ? (at ? X86_VPEXTRD : X86_VMOVD_GV)
                                  : (at ? X86_VPEXTRQ : X86_VMOVQ_GV);
    struct x86_ins *i = x86_ins1(m, op, bits == 64 ? 8 : 4, part, at);
    if (t->bits == 1)
        i = x86_ins2(m, X86_AND, 4, i, x86_const_g(m, 1), 0);
    return x86_value_of(m, t, i);
}

/* The address in one lane. */
static struct x86_value *shuffle_extract_pointer(struct x86_module *m, const struct x86_value *v, uint32_t at) {
    struct x86_value *index = x86_build_extract(m, v->b, x86_const_all(m, x86_type_int(m, 32), at));
    if (index->type->bits < 64)
        index = x86_build_cast(m, X86_TO_SEXT, index, x86_type_int(m, 64));
    struct x86_type element = {.kind = X86_INT, .bits = (uint32_t)v->number * 8};
    return x86_build_gep(m, &element, v->a, index);
}

struct x86_value *x86_build_extract(struct x86_module *m, struct x86_value *v, struct x86_value *at) {
    uint64_t i;
    if (!x86_all_lanes(at, &i)) {
        x86_refuse(m, "a lane whose number is not constant");
        return x86_poison(m, v->type->element);
    }
    if (v->kind == X86_CONSTANT)
        return x86_const_all(m, v->type->element, v->lanes[i]);
    if (v->kind == X86_POINTERS)
        return shuffle_extract_pointer(m, v, (uint32_t)i);
    if (v->kind == X86_LANES && v->scalars[i])
        return v->scalars[i];
    return shuffle_extract(m, v, (uint32_t)i);
}

/* The scalars are shared with the vector that one is inserted into: vectors are made lane by lane, and only the last one is
   used. */
struct x86_value *x86_build_insert(struct x86_module *m, struct x86_value *v, struct x86_value *one, struct x86_value *at) {
    uint64_t i;
    if (!x86_all_lanes(at, &i)) {
        x86_refuse(m, "a lane whose number is not constant");
        return v;
    }
    struct x86_value *next = x86_value_new(m, v->type, X86_LANES);
    next->a = v->kind == X86_LANES ? v->a : v;
    next->scalars = v->kind == X86_LANES ? v->scalars : ARENA_ARRAY(m->arena, struct x86_value *, v->type->lanes);
    next->scalars[i] = one;
    return next;
}
