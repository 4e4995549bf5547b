/* See ptx.h. A register is 64 bits, of which a type uses the low ones. */
#include "ptx_machine.h"

#include "base/fp.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- memory ---------------------------------------------------------------------------------- */

bool machine_fail(struct machine *m, const struct insn *x, const char *fmt, ...) {
    char text[160];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    snprintf(m->why, m->size, "kernel %s, block %u, line %d: %s", m->k->name, m->block, x->line, text);
    return false;
}

static bool note_access(struct machine *m, const struct insn *x, struct shadow *s, uint32_t thread, bool store) {
    uint32_t me = thread + 1, block = m->block + 1;
    bool wrote = s->writer && (s->write_block != block || (s->write_phase == m->phase && s->writer != me));
    bool read = s->reader && (s->read_block != block || (s->read_phase == m->phase && s->reader != me));
    if (wrote)
        return machine_fail(m, x, "race: thread %u of block %u stored what thread %u %s", s->writer - 1, s->write_block - 1,
                            thread, store ? "stores" : "loads");
    if (read && store)
        return machine_fail(m, x, "race: thread %u stores what another thread loaded", thread);
    if (store) {
        s->writer = me, s->write_block = block, s->write_phase = m->phase;
    } else {
        bool others = s->reader && s->read_block == block && s->read_phase == m->phase && s->reader != me;
        s->reader = others ? MANY : me, s->read_block = block, s->read_phase = m->phase;
    }
    return true;
}

/* Notes a store to shared memory, which products in flight must not read. */
static bool note_store(struct machine *m, const struct insn *x, uint64_t address, unsigned bytes, uint32_t thread) {
    m->clock++;
    for (unsigned i = 0; i < bytes; i++) {
        if (m->factors[address + i].readers)
            return machine_fail(m, x, "thread %u stores to %llx, which products read", thread, (unsigned long long)address);
        m->factors[address + i].stored = m->clock;
        m->factors[address + i].by = thread;
    }
    return true;
}

unsigned char *machine_access(struct machine *m, const struct insn *x, uint64_t address, unsigned bytes, uint32_t thread,
                              const unsigned char *store) {
    struct shadow *s;
    unsigned char *p;
    if (address % bytes) {
        machine_fail(m, x, "address %llx is not aligned to %u", (unsigned long long)address, bytes);
        return NULL;
    }
    if (x->mods & M_SHARED) {
        if (address > m->shared_bytes || bytes > m->shared_bytes - address) {
            machine_fail(m, x, "address %llx is outside of shared memory", (unsigned long long)address);
            return NULL;
        }
        p = m->shared + address, s = m->shared_shadow + address;
        for (unsigned i = 0; i < bytes; i++)
            if (m->copied[address + i]) {
                machine_fail(m, x, "thread %u accesses %llx before its copy has been waited for", thread,
                             (unsigned long long)address);
                return NULL;
            }
        for (unsigned i = 0; i < bytes; i++)
            if (!tensors_access(m, x, address + i, thread, store != NULL))
                return NULL;
    } else {
        uint64_t i = (address >> 40) - 1, at = address & ((UINT64_C(1) << 40) - 1);
        if (i >= m->nparams || at > m->params[i].bytes || bytes > m->params[i].bytes - at) {
            machine_fail(m, x, "thread %u: address %llx is outside of all buffers", thread, (unsigned long long)address);
            return NULL;
        }
        p = (unsigned char *)m->params[i].p + at, s = m->shadows[i] + at;
    }
    for (unsigned i = 0; i < bytes; i++)
        if (!(store && s[i].writer && p[i] == store[i]) && !note_access(m, x, &s[i], thread, store != NULL))
            return NULL;
    if (store && m->touched && x->mods & M_SHARED && !note_store(m, x, address, bytes, thread))
        return NULL;
    return p;
}

static int compare_addresses(const void *a, const void *b) {
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

/* Sectors of global memory or passes over banks of one instruction of a warp. */
static void count_memory(struct machine *m, const struct insn *x, uint64_t *address, uint32_t n, unsigned bytes) {
    uint64_t sectors = 0, distinct = 0;
    uint32_t passes[BANKS] = {0}, most = 0;
    if (!m->counts || n == 0)
        return;
    qsort(address, n, sizeof *address, compare_addresses);
    for (uint32_t i = 0; i < n; i++) {
        if (i && address[i] == address[i - 1])
            continue;
        distinct += bytes;
        sectors += i == 0 || address[i] / SECTOR != address[i - 1] / SECTOR;
        if (i == 0 || address[i] / 4 != address[i - 1] / 4)
            most = ++passes[address[i] / 4 % BANKS] > most ? passes[address[i] / 4 % BANKS] : most;
    }
    if (x->mods & M_SHARED) {
        uint64_t least = (distinct + 4 * BANKS - 1) / (4 * BANKS);
        m->counts->conflicts += most > least ? most - least : 0;
    } else if (x->mods & M_GLOBAL) {
        m->counts->sectors += sectors;
        m->counts->wanted += (distinct + SECTOR - 1) / SECTOR;
    }
}

/* ---- values ---------------------------------------------------------------------------------- */

static uint64_t cut(enum type t, uint64_t v) {
    unsigned bits = type_bits(t);
    return bits == 64 ? v : v & ((UINT64_C(1) << bits) - 1);
}
static int64_t extended(enum type t, uint64_t v) {
    unsigned by = 64 - type_bits(t);
    return (int64_t)(v << by) >> by;
}
static float f32_of(uint64_t v) {
    uint32_t bits = (uint32_t)v;
    float f;
    memcpy(&f, &bits, sizeof f);
    return f;
}
static double f64_of(uint64_t v) {
    double f;
    memcpy(&f, &v, sizeof f);
    return f;
}
static uint64_t bits_of_f32(float f) {
    uint32_t bits;
    memcpy(&bits, &f, sizeof bits);
    return bits;
}
static uint64_t bits_of_f64(double f) {
    uint64_t bits;
    memcpy(&bits, &f, sizeof bits);
    return bits;
}
static double number_of(enum type t, uint64_t v) {
    return t == F16 ? fp_decode(FP_F16, v) : t == F32 ? (double)f32_of(v) : f64_of(v);
}

uint64_t machine_arg(const struct machine *m, uint32_t thread, const struct arg *a) {
    switch (a->kind) {
    case REGISTER:
        return m->registers[(size_t)thread * m->k->registers + a->reg];
    case TID:
        return thread;
    case CTAID:
        return m->block;
    case NTID:
        return m->k->threads;
    case NCTAID:
        return m->blocks;
    default:
        return a->imm;
    }
}

void machine_set(struct machine *m, uint32_t thread, const struct arg *a, uint64_t v) {
    m->registers[(size_t)thread * m->k->registers + a->reg] = v;
}

/* ---- arithmetic ------------------------------------------------------------------------------ */

static uint64_t high_half(enum type t, uint64_t a, uint64_t b) {
    unsigned bits = type_bits(t);
    if (type_signed(t))
        return (uint64_t)((__int128)extended(t, a) * extended(t, b) >> bits);
    return (uint64_t)((unsigned __int128)a * b >> bits);
}

static uint64_t multiply(const struct insn *x, uint64_t a, uint64_t b) {
    bool sign = type_signed(x->type);
    if (x->mods & M_WIDE)
        return sign ? (uint64_t)(extended(x->type, a) * extended(x->type, b)) : a * b;
    return x->mods & M_HI ? high_half(x->type, a, b) : a * b;
}

static uint64_t integer_op(const struct insn *x, uint64_t a, uint64_t b, uint64_t c) {
    enum type t = x->type;
    unsigned bits = type_bits(t);
    int64_t sa = extended(t, a), sb = extended(t, b);
    bool sign = type_signed(t);
    switch (x->op) {
    case ADD:
        return a + b;
    case SUB:
        return a - b;
    case MUL:
        return multiply(x, a, b);
    case MAD:
        return multiply(x, a, b) + c;
    case DIV:
        return b == 0 ? UINT64_MAX : !sign ? a / b : sb == -1 ? 0 - (uint64_t)sa : (uint64_t)(sa / sb);
    case REM:
        return b == 0 ? a : !sign ? a % b : sb == -1 ? 0 : (uint64_t)(sa % sb);
    case MIN:
        return sign ? (uint64_t)(sa < sb ? sa : sb) : a < b ? a : b;
    case MAX:
        return sign ? (uint64_t)(sa > sb ? sa : sb) : a > b ? a : b;
    case NEG:
        return 0 - a;
    case ABS:
        return sa < 0 ? 0 - (uint64_t)sa : (uint64_t)sa;
    case SHL:
        return (b & UINT32_MAX) >= bits ? 0 : a << (b & UINT32_MAX);
    case SHR: {
        uint64_t by = b & UINT32_MAX;
        return sign ? (uint64_t)(sa >> (by < bits ? by : bits - 1)) : by < bits ? a >> by : 0;
    }
    case BFE: {
        uint64_t from = b & 255, n = c & 255;
        uint64_t v = from < 64 ? a >> from : 0;
        v = n < 64 ? v & ((UINT64_C(1) << n) - 1) : v;
        return sign && n && n < 64 && from + n <= bits ? (uint64_t)((int64_t)(v << (64 - n)) >> (64 - n)) : v;
    }
    default:
        return 0;
    }
}

/* Both minima (maxima): -0 is less than +0; NaN only when both are or when asked for. */
static bool second_wanted(enum op op, double a, double b) {
    if (a == b)
        return op == MIN ? signbit(b) && !signbit(a) : !signbit(b) && signbit(a);
    return op == MIN ? b < a : b > a;
}

static uint64_t extreme(const struct insn *x, uint64_t a, uint64_t b) {
    double u = number_of(x->type, a), v = number_of(x->type, b);
    uint64_t nan = x->type == F64 ? UINT64_C(0x7FFFFFFFFFFFFFFF) : 0x7FFFFFFF;
    if (isnan(u) || isnan(v))
        return (x->mods & M_NAN) || (isnan(u) && isnan(v)) ? nan : isnan(u) ? b : a;
    return second_wanted(x->op, u, v) ? b : a;
}

static uint64_t float_op(const struct insn *x, uint64_t a, uint64_t b, uint64_t c) {
    bool wide = x->type == F64;
    float fa = f32_of(a), fb = f32_of(b);
    double da = f64_of(a), db = f64_of(b);
    uint64_t sign = wide ? UINT64_C(1) << 63 : UINT64_C(1) << 31;
    switch (x->op) {
    case ADD:
        return wide ? bits_of_f64(da + db) : bits_of_f32(fa + fb);
    case SUB:
        return wide ? bits_of_f64(da - db) : bits_of_f32(fa - fb);
    case MUL:
        return wide ? bits_of_f64(da * db) : bits_of_f32(fa * fb);
    case DIV:
        return wide ? bits_of_f64(da / db) : bits_of_f32(fa / fb);
    case RCP:
        return wide ? bits_of_f64(1 / da) : bits_of_f32(1 / fa);
    case FMA:
        return wide ? bits_of_f64(fma(da, db, f64_of(c))) : bits_of_f32(fmaf(fa, fb, f32_of(c)));
    case SQRT:
        return wide ? bits_of_f64(sqrt(da)) : bits_of_f32(sqrtf(fa));
    case NEG:
        return a ^ sign;
    case ABS:
        return a & ~sign;
    case COPYSIGN: /* the sign of the first operand */
        return (b & ~sign) | (a & sign);
    case MIN:
    case MAX:
        return extreme(x, a, b);
    default:
        return 0;
    }
}

static bool compare(const struct insn *x, uint64_t a, uint64_t b) {
    if (type_float(x->type)) {
        double u = number_of(x->type, a), v = number_of(x->type, b);
        bool unordered = isnan(u) || isnan(v);
        switch (x->cmp) {
        case C_EQ: return u == v;
        case C_NE: return !unordered && u != v;
        case C_LT: return u < v;
        case C_LE: return u <= v;
        case C_GT: return u > v;
        case C_GE: return u >= v;
        case C_EQU: return unordered || u == v;
        case C_NEU: return u != v;
        case C_LTU: return unordered || u < v;
        case C_LEU: return unordered || u <= v;
        case C_GTU: return unordered || u > v;
        case C_GEU: return unordered || u >= v;
        case C_NUM: return !unordered;
        default: return unordered;
        }
    }
    bool less = type_signed(x->type) ? extended(x->type, a) < extended(x->type, b) : a < b;
    switch (x->cmp) {
    case C_EQ: return a == b;
    case C_NE: return a != b;
    case C_LT: case C_LO: return less;
    case C_LE: case C_LS: return less || a == b;
    case C_GT: return !less && a != b;
    default: return !less;
    }
}

static double rounded(const struct insn *x, double v) {
    if (x->mods & M_RNI)
        return nearbyint(v);
    return x->mods & M_RZI ? trunc(v) : x->mods & M_RMI ? floor(v) : x->mods & M_RPI ? ceil(v) : v;
}

static uint64_t to_integer(enum type t, double v) {
    unsigned bits = type_bits(t) - type_signed(t);
    double end = ldexp(1, (int)bits), least = type_signed(t) ? -end : 0;
    if (isnan(v))
        return 0;
    if (v >= end)
        return bits == 64 ? UINT64_MAX : (UINT64_C(1) << bits) - 1;
    if (v <= least)
        return (uint64_t)(int64_t)least;
    return type_signed(t) ? (uint64_t)(int64_t)v : (uint64_t)v;
}

static uint64_t convert(const struct insn *x, uint64_t v) {
    enum type to = x->type, from = x->from;
    if (type_float(from)) {
        double d = number_of(from, v);
        if (!type_float(to))
            return to_integer(to, rounded(x, d));
        d = rounded(x, d);
        return to == F64 ? bits_of_f64(d) : to == F32 ? bits_of_f32((float)d) : fp_encode(FP_F16, d);
    }
    int64_t s = extended(from, v);
    if (to == F64)
        return bits_of_f64(type_signed(from) ? (double)s : (double)v);
    if (to == F32)
        return bits_of_f32(type_signed(from) ? (float)s : (float)v);
    return type_signed(from) ? (uint64_t)s : v;
}

static uint64_t compute(const struct insn *x, uint64_t a, uint64_t b, uint64_t c) {
    enum type t = x->type;
    switch (x->op) {
    case AND:
        return a & b;
    case OR:
        return a | b;
    case XOR:
        return a ^ b;
    case NOT:
        return ~a;
    case CLZ:
        return a ? (uint64_t)__builtin_clzll(a) - (64 - type_bits(t)) : type_bits(t);
    case POPC:
        return (uint64_t)__builtin_popcountll(a);
    case SETP:
        return compare(x, a, b);
    case SELP:
        return c ? a : b;
    case CVT:
        return convert(x, a);
    case MOV:
    case CVTA: /* addresses of tensor maps are generic as they are */
        return a;
    default:
        return type_float(t) ? float_op(x, a, b, c) : integer_op(x, a, b, c);
    }
}

/* The type of operand i. */
static enum type operand_type(const struct insn *x, int i) {
    if (x->op == CVT)
        return x->from;
    if ((x->op == SHL || x->op == SHR || x->op == BFE) && i > 0)
        return U32;
    if (x->op == SELP && i == 2)
        return PRED;
    if (x->op == MAD && i == 2 && (x->mods & M_WIDE))
        return type_bits(x->type) == 16 ? U32 : U64;
    return x->type;
}

static enum type result_type(const struct insn *x) {
    if (x->op == SETP)
        return PRED;
    if (x->op == CLZ || x->op == POPC)
        return U32;
    if ((x->op == MUL || x->op == MAD) && (x->mods & M_WIDE))
        return type_bits(x->type) == 16 ? U32 : U64;
    return x->type;
}

/* The low `n` bits of a in place of those of b from `from` on. */
static uint64_t inserted(enum type t, uint64_t a, uint64_t b, uint64_t from, uint64_t n) {
    uint64_t bits = type_bits(t), mask = n < 64 ? (UINT64_C(1) << n) - 1 : UINT64_MAX;
    mask = (from &= 255) < bits ? mask << from : 0;
    return (b & ~mask) | (from < bits ? a << from & mask : 0);
}

static void run_pure(struct machine *m, uint32_t thread, const struct insn *x) {
    uint64_t v[4] = {0};
    for (uint32_t i = 0; i + 1 < x->n && i < 4; i++)
        v[i] = cut(operand_type(x, (int)i), machine_arg(m, thread, &x->v[i + 1]));
    if (x->op == BFI) {
        machine_set(m, thread, &x->v[0], cut(x->type, inserted(x->type, v[0], v[1], v[2], v[3] & 255)));
        return;
    }
    uint64_t r = cut(result_type(x), compute(x, v[0], v[1], v[2]));
    /* a narrow result of a conversion to a wider register is extended */
    if (x->op == CVT && type_signed(x->type))
        r = (uint64_t)extended(x->type, r);
    machine_set(m, thread, &x->v[0], r);
}

/* mov.b64 %rd, {%r1, %r2}; mov.b64 {%r1, %r2}, %rd */
static void run_pack(struct machine *m, uint32_t thread, const struct insn *x) {
    unsigned bits = type_bits(x->type) / x->nlanes;
    uint64_t part = bits == 64 ? UINT64_MAX : (UINT64_C(1) << bits) - 1, all = 0;
    for (uint32_t i = 0; i < x->nlanes; i++)
        all |= (machine_arg(m, thread, &x->lanes[i]) & part) << i * bits;
    machine_set(m, thread, &x->v[0], all);
}

static void run_unpack(struct machine *m, uint32_t thread, const struct insn *x) {
    unsigned bits = type_bits(x->type) / x->nlanes;
    uint64_t part = bits == 64 ? UINT64_MAX : (UINT64_C(1) << bits) - 1, all = machine_arg(m, thread, &x->v[0]);
    for (uint32_t i = 0; i < x->nlanes; i++)
        if (x->lanes[i].kind == REGISTER)
            machine_set(m, thread, &x->lanes[i], all >> i * bits & part);
}

/* ---- memory instructions --------------------------------------------------------------------- */

static bool run_memory(struct machine *m, uint32_t thread, const struct insn *x, uint64_t *address) {
    unsigned bytes = type_bits(x->type) / 8, lanes = x->nlanes ? x->nlanes : 1;
    bool store = x->op == ST;
    const struct arg *at = &x->v[store || x->nlanes ? 0 : 1], *value = &x->v[store ? 1 : 0];
    if (x->mods & M_PARAM) {
        if (at->imm >= m->nparams)
            return machine_fail(m, x, "a load of what is no pointer");
        machine_set(m, thread, value, GLOBAL_BASE(at->imm) + m->params[at->imm].skew);
        return true;
    }
    *address = (at->kind == REGISTER ? machine_arg(m, thread, at) : 0) + at->imm;
    if (*address % (bytes * lanes))
        return machine_fail(m, x, "address %llx is not aligned to %u", (unsigned long long)*address, bytes * lanes);
    for (unsigned i = 0; i < lanes; i++) {
        const struct arg *a = x->nlanes ? &x->lanes[i] : value;
        uint64_t v = store ? machine_arg(m, thread, a) : 0;
        unsigned char *p = machine_access(m, x, *address + i * bytes, bytes, thread, store ? (unsigned char *)&v : NULL);
        if (!p)
            return false;
        if (store) {
            memcpy(p, &v, bytes);
        } else {
            memcpy(&v, p, bytes);
            machine_set(m, thread, a, type_signed(x->type) ? (uint64_t)extended(x->type, v) : v);
        }
    }
    return true;
}

/* ---- asynchronous copies ---------------------------------------------------------------------- */

/* The copy reads what it copies now, and stores it as late as it may: when its thread waits for it. An access to its place
   meanwhile is an error; so is the copy where another thread accessed it since the last barrier, as if it stored at once. */
static bool begin_copy(struct machine *m, uint32_t thread, const struct insn *x, uint64_t *to, uint64_t *from) {
    struct copies *c = &m->copies[thread];
    struct insn store = *x, load = *x;
    uint32_t bytes = (uint32_t)x->v[2].imm, wanted = x->n > 3 ? (uint32_t)machine_arg(m, thread, &x->v[3]) : bytes;
    struct copy y = {.bytes = bytes, .group = c->groups, .by = x};
    store.mods = M_SHARED, load.mods = M_GLOBAL;
    y.to = *to = machine_arg(m, thread, &x->v[0]) + (x->v[0].kind == REGISTER ? x->v[0].imm : 0);
    *from = machine_arg(m, thread, &x->v[1]) + (x->v[1].kind == REGISTER ? x->v[1].imm : 0);
    if ((bytes != 4 && bytes != 8 && bytes != 16) || (wanted && wanted != bytes))
        return machine_fail(m, x, "a copy of %u bytes, %u of them read", bytes, wanted);
    if (wanted) {
        const unsigned char *p = machine_access(m, &load, *from, bytes, thread, NULL);
        if (!p)
            return false;
        memcpy(y.data, p, bytes);
    } else {
        *from = UINT64_MAX;
    }
    if (!machine_access(m, &store, y.to, bytes, thread, y.data))
        return false;
    memset(m->copied + y.to, true, bytes);
    if (c->n == c->cap)
        c->v = realloc(c->v, (c->cap = c->cap ? 2 * c->cap : 16) * sizeof *c->v);
    c->v[c->n++] = y;
    return true;
}

/* All groups but the last `but` of a thread take place. */
static bool wait_copies(struct machine *m, uint32_t thread, uint32_t but) {
    struct copies *c = &m->copies[thread];
    uint32_t left = 0;
    for (uint32_t i = 0; i < c->n; i++) {
        struct copy y = c->v[i];
        struct insn store = *y.by;
        store.mods = M_SHARED;
        if (y.group + but >= c->groups) {
            c->v[left++] = y;
            continue;
        }
        memset(m->copied + y.to, false, y.bytes);
        unsigned char *p = machine_access(m, &store, y.to, y.bytes, thread, y.data);
        if (!p)
            return false;
        memcpy(p, y.data, y.bytes);
    }
    c->n = left;
    return true;
}

/* shfl.sync: each thread takes the value of another one of its warp. All threads of the warp have to be there. */
static bool run_shuffle(struct machine *m, uint32_t first, uint32_t end, uint32_t pc, const struct insn *x) {
    uint64_t given[WARP];
    for (uint32_t t = first; t < end; t++) {
        const struct thread *h = &m->threads[t];
        if (h->waits || h->sleeps || h->ended || h->pc != pc || end - first != WARP)
            return machine_fail(m, x, "thread %u does not take part in the exchange within its warp", t);
        given[t - first] = machine_arg(m, t, &x->v[1]);
    }
    for (uint32_t t = first; t < end; t++) {
        uint32_t lane = t - first, by = (uint32_t)machine_arg(m, t, &x->v[2]), from = x->mods & M_DOWN ? lane + by : by;
        if (machine_arg(m, t, &x->v[3]) != WARP - 1 || (uint32_t)machine_arg(m, t, &x->v[4]) != UINT32_MAX)
            return machine_fail(m, x, "an exchange within a part of a warp");
        machine_set(m, t, &x->v[0], cut(U32, given[from < WARP ? from : lane]));
        m->threads[t].pc++;
    }
    return true;
}

/* ---- matrix units ---------------------------------------------------------------------------- */

/* All threads of a warp are at an instruction. */
static bool whole_warp(struct machine *m, uint32_t first, uint32_t end, uint32_t pc, const struct insn *x) {
    for (uint32_t t = first; t < end; t++) {
        const struct thread *h = &m->threads[t];
        if (h->waits || h->sleeps || h->ended || h->pc != pc || end - first != WARP || x->guard >= 0)
            return machine_fail(m, x, "thread %u does not take part", t);
    }
    for (uint32_t t = first; t < end; t++)
        m->threads[t].pc++;
    return true;
}

/* Thread 8i + r has the address of row r of matrix i: eight elements of two bytes. Register i of a thread holds two elements of
   row t/4 from column 2(t%4) on; of the transpose, if that is asked for. */
static bool run_ldmatrix(struct machine *m, uint32_t first, uint32_t end, uint32_t pc, const struct insn *x) {
    enum { SIDE = 8, ROW_BYTES = 16 };
    uint16_t matrix[4][SIDE][SIDE];
    uint64_t address[WARP];
    if (!whole_warp(m, first, end, pc, x))
        return false;
    for (uint32_t t = 0; t < WARP; t++) {
        const struct arg *at = &x->v[0];
        address[t] = (at->kind == REGISTER ? machine_arg(m, first + t, at) : 0) + at->imm;
        unsigned char *p = machine_access(m, x, address[t], ROW_BYTES, first + t, NULL);
        if (!p)
            return false;
        memcpy(matrix[t / SIDE][t % SIDE], p, ROW_BYTES);
    }
    for (uint32_t i = 0; i < WARP; i += SIDE)
        count_memory(m, x, address + i, SIDE, ROW_BYTES);
    for (uint32_t t = 0; t < WARP; t++)
        for (uint32_t i = 0; i < 4; i++) {
            uint32_t row = t / 4, column = 2 * (t % 4);
            bool trans = x->mods & M_TRANS;
            uint32_t low = trans ? matrix[i][column][row] : matrix[i][row][column];
            uint32_t high = trans ? matrix[i][column + 1][row] : matrix[i][row][column + 1];
            machine_set(m, first + t, &x->lanes[i], low | high << 16);
        }
    return true;
}

/* Element `i` of a register of factors. */
static double factor_of(enum type t, uint64_t word, uint32_t i) {
    if (t == BF16)
        return fp_decode(FP_BF16, word >> 16 * i & 0xFFFF);
    if (t == F16)
        return fp_decode(FP_F16, word >> 16 * i & 0xFFFF);
    return t == S8 ? (double)(int8_t)(word >> 8 * i) : (double)(uint8_t)(word >> 8 * i);
}

/* Matrices of 16 by k, k by 8 and 16 by 8. Sums are rounded after each product, in the order of k, as the kernel IR defines it;
   GPUs add in another order. */
static bool run_mma(struct machine *m, uint32_t first, uint32_t end, uint32_t pc, const struct insn *x) {
    enum { ROWS = 16, COLUMNS = 8, MOST_K = 32 };
    double a[ROWS][MOST_K], b[MOST_K][COLUMNS];
    uint32_t each = type_bits(x->from) == 8 ? 4 : 2, k = 8 * each;
    if (x->n != 14 || !whole_warp(m, first, end, pc, x))
        return x->n == 14 ? false : machine_fail(m, x, "a product without its registers");
    for (uint32_t t = 0; t < WARP; t++)
        for (uint32_t i = 0; i < 6; i++)
            for (uint32_t e = 0; e < each; e++) {
                uint64_t word = machine_arg(m, first + t, &x->v[4 + i]);
                if (i < 4) /* rows t/4 and t/4 + 8 in turn, then the second half of k */
                    a[t / 4 + 8 * (i % 2)][each * (t % 4) + e + k / 2 * (i / 2)] = factor_of(x->from, word, e);
                else
                    b[each * (t % 4) + e + k / 2 * (i - 4)][t / 4] = factor_of(x->others[0], word, e);
            }
    for (uint32_t t = 0; t < WARP; t++)
        for (uint32_t i = 0; i < 4; i++) {
            uint32_t row = t / 4 + 8 * (i / 2), column = 2 * (t % 4) + i % 2;
            uint64_t sum = machine_arg(m, first + t, &x->v[10 + i]);
            for (uint32_t j = 0; j < k; j++)
                if (x->type == F32)
                    sum = bits_of_f32(fmaf((float)a[row][j], (float)b[j][column], f32_of(sum)));
                else
                    sum = cut(U32, sum + (uint64_t)(int64_t)(a[row][j] * b[j][column]));
            machine_set(m, first + t, &x->v[i], sum);
        }
    return true;
}

/* ---- warpgroups ------------------------------------------------------------------------------ */

/* Sums of products in flight are not touched by other instructions. */
static bool touch(struct machine *m, const struct insn *x, uint32_t thread, const struct arg *a, uint32_t n) {
    for (uint32_t i = 0; i < n; i++) {
        uint8_t *at = &m->touched[(size_t)thread * m->k->registers + a[i].reg];
        if (a[i].kind != REGISTER)
            continue;
        if (*at & IN_FLIGHT)
            return machine_fail(m, x, "thread %u uses a sum before its products have been waited for", thread);
        *at |= TOUCHED;
    }
    return true;
}

/* Where a factor is, of a matrix of which a descriptor says how it lies: 8 lines of 128 bytes after each other, whose 16 bytes
   are swizzled by the line's number. trans: lines are terms, with 64 rows or columns each. */
static uint64_t factor_at(uint64_t descriptor, bool trans, uint32_t line, uint32_t term) {
    uint64_t start = (descriptor & 0x3FFF) << 4, groups = (descriptor >> 16 & 0x3FFF) << 4;
    uint64_t lines = (descriptor >> 32 & 0x3FFF) << 4;
    uint64_t at = trans ? start + line / 64 * groups + term / 8 * lines + term % 8 * 128 + line % 64 * 2
                        : start + line / 8 * lines + line % 8 * 128 + term * 2;
    return at ^ (at >> 7 & 7) << 4;
}

bool machine_sees(const struct machine *m, uint64_t address, uint32_t first) {
    uint64_t stored = m->factors[address].stored;
    const struct fence *f = &m->fences[m->factors[address].by];
    bool own = m->factors[address].by / WARP == first / WARP;
    return (own || f->phase != m->phase ? f->last : f->earlier) >= stored;
}

/* `lines` rows or columns from `first` on, of 16 terms each, as numbers; p notes what was read. */
static bool read_factors(struct machine *m, uint32_t warp, const struct insn *x, uint64_t descriptor, bool trans,
                         uint32_t first, uint32_t lines, double (*out)[16], struct product *p) {
    enum { UNIT = 8 };
    struct insn load = *x;
    load.mods = M_SHARED;
    if (descriptor >> 62 != 1 || (descriptor >> 49 & 7) || (descriptor << 4 & 0x380))
        return machine_fail(m, x, "a descriptor that is not of 128-byte swizzled lines");
    for (uint32_t i = 0; i < lines * 2; i++) {
        uint32_t line = trans ? i / 16 * UNIT : i / 2, term = trans ? i % 16 : i % 2 * UNIT;
        uint64_t at = factor_at(descriptor, trans, first + line, term);
        const unsigned char *from = machine_access(m, &load, at, 2 * UNIT, warp, NULL);
        if (!from)
            return false;
        for (uint32_t b = 0; b < 2 * UNIT; b++) {
            if (!machine_sees(m, at + b, warp))
                return machine_fail(m, x, "products read %llx, which was stored without a fence", (unsigned long long)at);
            m->factors[at + b].readers++;
        }
        p->units[p->n++] = at;
        for (uint32_t e = 0; e < UNIT; e++) {
            uint64_t bits = from[2 * e] | (uint64_t)from[2 * e + 1] << 8;
            out[line + (trans ? e : 0)][term + (trans ? 0 : e)] = factor_of(x->from, bits, 0);
        }
    }
    return true;
}

/* The 16 rows of a warp of a product of 64 rows, its columns and 16 terms. Sums are as of run_mma. Their registers have them at
   once, but count as in flight. */
static bool run_product(struct machine *m, uint32_t first, const struct insn *x) {
    static double a[WARP / 2][16], b[256][16];
    struct products *all = &m->products[first / WARP];
    uint64_t descriptor[2] = {machine_arg(m, first, &x->v[0]), machine_arg(m, first, &x->v[1])};
    struct product p = {.by = x, .group = all->groups, .units = calloc(2 * 256 + WARP, sizeof *p.units)};
    bool ok = x->n == 7 && x->columns >= 8 && x->columns <= 256 && x->columns % 8 == 0 && x->nsums == x->columns / 2;
    ok = ok && x->type == F32 && x->from == x->others[0] && x->v[2].imm == 1 && x->v[3].imm == 1 && x->v[4].imm == 1;
    if (all->n == all->cap)
        all->v = realloc(all->v, (all->cap = all->cap ? 2 * all->cap : 16) * sizeof *all->v);
    if (!ok) {
        free(p.units);
        return machine_fail(m, x, "a product of another form");
    }
    ok = read_factors(m, first, x, descriptor[0], x->v[5].imm, first / WARP % 4 * 16, 16, a, &p) &&
         read_factors(m, first, x, descriptor[1], x->v[6].imm, 0, x->columns, b, &p);
    all->v[all->n++] = p;
    for (uint32_t t = first; t < first + WARP && ok; t++)
        for (uint32_t i = 0; i < x->nsums && ok; i++) {
            uint32_t row = (t - first) / 4 + 8 * (i / 2 % 2), column = 8 * (i / 4) + 2 * (t % 4) + i % 2;
            float sum = f32_of(machine_arg(m, t, &x->sums[i]));
            uint8_t *at = &m->touched[(size_t)t * m->k->registers + x->sums[i].reg];
            if (x->sums[i].kind != REGISTER || *at & TOUCHED)
                ok = machine_fail(m, x, "thread %u used a sum since the last wgmma.fence", t);
            for (uint32_t j = 0; j < 16; j++)
                sum = fmaf((float)a[row][j], (float)b[column][j], sum);
            machine_set(m, t, &x->sums[i], bits_of_f32(sum));
            *at |= IN_FLIGHT;
        }
    for (uint32_t t = first; t < first + WARP && ok; t++)
        if (machine_arg(m, t, &x->v[0]) != descriptor[0] || machine_arg(m, t, &x->v[1]) != descriptor[1])
            ok = machine_fail(m, x, "threads of a warp have different descriptors");
    all->trail = (all->trail * 31 + descriptor[0]) * 31 + descriptor[1];
    return ok;
}

/* All groups of products of a warp but the last `but` are done. */
static void wait_products(struct machine *m, uint32_t first, uint32_t but) {
    struct products *all = &m->products[first / WARP];
    uint32_t left = 0;
    for (uint32_t i = 0; i < all->n; i++) {
        struct product p = all->v[i];
        if (p.group + but >= all->groups) {
            all->v[left++] = p;
            continue;
        }
        for (uint32_t t = first; t < first + WARP; t++)
            for (uint32_t j = 0; j < p.by->nsums; j++)
                m->touched[(size_t)t * m->k->registers + p.by->sums[j].reg] &= (uint8_t)~IN_FLIGHT;
        for (uint32_t j = 0; j < p.n; j++)
            for (uint32_t b = 0; b < 16; b++)
                m->factors[p.units[j] + b].readers--;
        free(p.units);
    }
    all->n = left;
    for (uint32_t i = 0; i < left; i++) /* sums that later products are added to */
        for (uint32_t t = first; t < first + WARP; t++)
            for (uint32_t j = 0; j < all->v[i].by->nsums; j++)
                m->touched[(size_t)t * m->k->registers + all->v[i].by->sums[j].reg] |= IN_FLIGHT;
}

static bool run_wgmma(struct machine *m, uint32_t first, uint32_t end, uint32_t pc, const struct insn *x) {
    struct products *all = &m->products[first / WARP];
    if (!whole_warp(m, first, end, pc, x))
        return false;
    all->trail = all->trail * 31 + pc;
    if (x->mods & M_PRODUCT)
        return run_product(m, first, x);
    if (x->mods & M_COMMIT)
        all->groups++;
    else if (x->mods & M_WAIT)
        wait_products(m, first, (uint32_t)x->v[0].imm);
    else
        for (size_t i = (size_t)first * m->k->registers; i < (size_t)end * m->k->registers; i++)
            m->touched[i] &= (uint8_t)~TOUCHED;
    return true;
}

/* The warps of each warpgroup have done the same. */
static bool groups_agree(struct machine *m) {
    for (uint32_t w = 0; m->touched && w < m->k->threads / WARP; w++)
        if (m->products[w].trail != m->products[w / 4 * 4].trail)
            return machine_fail(m, m->k->code, "warp %u does not have the products of its warpgroup", w);
    return true;
}

/* ---- warps ----------------------------------------------------------------------------------- */

/* One instruction for the threads of a warp that are at the lowest one, but an exchange within the warp only when none of its
   threads can do anything else: it waits for all of them. False: an error; *moved: whether any thread could. */
static bool step_warp(struct machine *m, uint32_t first, uint32_t end, bool *moved) {
    uint32_t pc = UINT32_MAX, exchange = UINT32_MAX, n = 0, read = 0;
    uint64_t address[WARP], source[WARP];
    for (uint32_t t = first; t < end; t++) {
        const struct thread *h = &m->threads[t];
        uint32_t *least = h->pc < m->k->ncode && m->k->code[h->pc].op == SHFL ? &exchange : &pc;
        if (!h->waits && !h->sleeps && !h->ended && h->pc < *least)
            *least = h->pc;
    }
    pc = pc == UINT32_MAX ? exchange : pc;
    *moved = pc != UINT32_MAX;
    if (!*moved)
        return true;
    if (pc >= m->k->ncode)
        return machine_fail(m, &m->k->code[m->k->ncode - 1], "the code ends without ret");
    const struct insn *x = &m->k->code[pc];
    bool memory = x->op == LD || x->op == ST;
    if (m->counts)
        m->counts->instructions++;
    for (uint32_t t = first; t < end && m->touched && x->op != WGMMA; t++) {
        const struct thread *h = &m->threads[t];
        struct arg guard = {.kind = REGISTER, .reg = (uint32_t)x->guard};
        if (h->waits || h->sleeps || h->ended || h->pc != pc)
            continue;
        if (!touch(m, x, t, x->v, x->n) || !touch(m, x, t, x->lanes, x->nlanes) || !touch(m, x, t, &guard, x->guard >= 0))
            return false;
    }
    if (x->op == WGMMA)
        return run_wgmma(m, first, end, pc, x);
    if (x->op == SHFL)
        return run_shuffle(m, first, end, pc, x);
    if (x->op == LDMATRIX || x->op == MMA)
        return (x->op == MMA ? run_mma : run_ldmatrix)(m, first, end, pc, x);
    for (uint32_t t = first; t < end; t++) {
        struct thread *h = &m->threads[t];
        if (h->waits || h->sleeps || h->ended || h->pc != pc)
            continue;
        h->pc++;
        if (x->guard >= 0 && (m->registers[(size_t)t * m->k->registers + (uint32_t)x->guard] & 1) == x->negated)
            continue;
        if (memory) {
            if (!run_memory(m, t, x, &address[n]))
                return false;
            n++;
        } else if (x->op == BRA) {
            h->pc = (uint32_t)x->v[0].imm;
        } else if (x->op == MBARRIER || (x->op == CP && x->mods & M_BULK)) {
            if (!tensors_run(m, t, x))
                return false;
        } else if (x->op == CP && x->mods & M_COMMIT) {
            m->copies[t].groups++;
        } else if (x->op == CP && x->mods & M_WAIT) {
            if (!wait_copies(m, t, (uint32_t)x->v[0].imm))
                return false;
        } else if (x->op == CP) {
            if (!begin_copy(m, t, x, &address[n], &source[read]))
                return false;
            read += source[read] != UINT64_MAX;
            n++;
        } else if (x->op == FENCE) {
            struct fence *f = m->fences ? &m->fences[t] : NULL;
            if (f)
                *f = (struct fence){m->clock, f->phase != m->phase ? f->last : f->earlier, m->phase};
        } else if (x->op == RET) {
            if (m->touched && m->products[first / WARP].n)
                return machine_fail(m, x, "thread %u ends before its products have been waited for", t);
            if (m->copies[t].n)
                return machine_fail(m, x, "thread %u ends before its copies have been waited for", t);
            h->ended = true;
        } else if (x->op == BAR) {
            h->waits = true;
            m->votes[t] = x->mods & M_RED ? machine_arg(m, t, &x->v[2]) & 1 : false;
        } else if (x->nlanes) {
            (x->unpacks ? run_unpack : run_pack)(m, t, x);
        } else {
            run_pure(m, t, x);
        }
    }
    if (memory)
        count_memory(m, x, address, n, type_bits(x->type) / 8 * (x->nlanes ? x->nlanes : 1));
    if (x->op == CP && n && !(x->mods & M_BULK)) {
        struct insn store = *x, load = *x;
        store.mods = M_SHARED, load.mods = M_GLOBAL;
        count_memory(m, &store, address, n, (unsigned)x->v[2].imm);
        count_memory(m, &load, source, read, (unsigned)x->v[2].imm);
    }
    return true;
}

/* All threads wait at one barrier: they go on. */
static bool pass_barrier(struct machine *m) {
    uint32_t pc = m->threads[0].pc;
    bool any = false;
    const struct insn *x = &m->k->code[pc - 1];
    for (uint32_t t = 0; t < m->k->threads; t++) {
        if (m->threads[t].ended || m->threads[t].pc != pc)
            return machine_fail(m, x, "thread %u does not reach the barrier", t);
        any |= m->votes[t];
    }
    for (uint32_t t = 0; t < m->k->threads; t++) {
        m->threads[t].waits = false;
        if (x->mods & M_RED)
            machine_set(m, t, &x->v[0], any);
    }
    m->phase++;
    tensors_barrier(m);
    if (m->counts)
        m->counts->barriers++;
    return true;
}

static uint64_t next_random(uint64_t *state) {
    uint64_t z = *state += UINT64_C(0x9E3779B97F4A7C15);
    z = (z ^ z >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    return (z ^ z >> 27) * UINT64_C(0x94D049BB133111EB) >> 32;
}

static bool run_block(struct machine *m, uint64_t *random) {
    enum { MOST_STEPS = 1 << 26 }; /* instructions of a warp */
    uint32_t steps = 0;
    uint32_t warps = (m->k->threads + WARP - 1) / WARP, order[MOST_THREADS / WARP];
    memset(m->threads, 0, m->k->threads * sizeof *m->threads);
    memset(m->shared_shadow, 0, (m->shared_bytes + 8) * sizeof *m->shared_shadow);
    memset(m->shared, 0xA5, m->shared_bytes);
    memset(m->copied, 0, m->shared_bytes);
    for (uint32_t t = 0; t < m->k->threads; t++)
        m->copies[t].n = m->copies[t].groups = 0;
    if (m->touched) {
        memset(m->touched, TOUCHED, (size_t)m->k->threads * m->k->registers);
        for (uint32_t w = 0; w < warps; w++)
            m->products[w].groups = 0, m->products[w].trail = 0;
        memset(m->fences, 0, m->k->threads * sizeof *m->fences);
        memset(m->factors, 0, m->shared_bytes * sizeof *m->factors);
        m->clock = 0;
    }
    tensors_reset(m);
    memset(m->registers, 0xA5, (size_t)m->k->threads * m->k->registers * sizeof *m->registers);
    for (;;) {
        bool waits = false, sleeps = false;
        for (uint32_t i = 0; i < warps; i++) {
            uint32_t j = (uint32_t)(next_random(random) % (i + 1));
            order[i] = order[j];
            order[j] = i;
        }
        for (uint32_t i = 0; i < warps; i++) {
            uint32_t first = order[i] * WARP, end = first + WARP < m->k->threads ? first + WARP : m->k->threads;
            for (bool moved = true; moved;)
                if (!step_warp(m, first, end, &moved))
                    return false;
                else if (++steps > MOST_STEPS)
                    return machine_fail(m, m->k->code, "it does not end");
        }
        for (uint32_t t = 0; t < m->k->threads; t++) {
            waits |= m->threads[t].waits;
            sleeps |= m->threads[t].sleeps;
        }
        if (sleeps) {
            if (!tensors_wake(m, next_random(random)))
                return false;
            continue;
        }
        if (!groups_agree(m))
            return false;
        if (!waits)
            return tensors_done(m);
        if (!pass_barrier(m))
            return false;
    }
}

bool ptx_run(const struct ptx *p, const char *kernel, uint32_t blocks, size_t shared_bytes, const struct ptx_buffer *params,
             uint32_t nparams, const struct hilo_gpu_map *maps, uint32_t nmaps, uint64_t seed, struct ptx_counts *counts,
             char *why, size_t size) {
    const struct kernel *k = ptx_kernel_named(p, kernel);
    struct machine m = {
        .k = k, .shared_bytes = shared_bytes,
        .params = params, .nparams = nparams, .maps = maps, .nmaps = nmaps, .blocks = blocks,
        .counts = counts, .why = why, .size = size};
    bool ok = true;
    if (!k || k->params != nparams || k->maps != nmaps || k->threads > MOST_THREADS) {
        snprintf(why, size, "no kernel %s of %u parameters and %u maps", kernel, nparams, nmaps);
        return false;
    }
    m.shared = malloc(shared_bytes + 8);
    m.copied = malloc(shared_bytes + 8);
    m.copies = calloc(k->threads, sizeof *m.copies);
    m.shared_shadow = malloc((shared_bytes + 8) * sizeof *m.shared_shadow);
    m.registers = malloc((size_t)k->threads * (k->registers + 1) * sizeof *m.registers);
    m.threads = malloc(k->threads * sizeof *m.threads);
    m.votes = calloc(k->threads, sizeof *m.votes);
    if (k->wgmma) {
        m.touched = malloc((size_t)k->threads * k->registers);
        m.products = calloc(k->threads / WARP + 1, sizeof *m.products);
        m.fences = malloc(k->threads * sizeof *m.fences);
        m.factors = malloc((shared_bytes + 8) * sizeof *m.factors);
    }
    tensors_new(&m);
    m.shadows = malloc((nparams + 1) * sizeof *m.shadows);
    for (uint32_t i = 0; i < nparams; i++)
        m.shadows[i] = calloc(params[i].bytes + 8, sizeof *m.shadows[i]);
    for (m.block = 0; m.block < blocks && ok; m.block++) {
        m.phase = 0;
        ok = run_block(&m, &seed);
    }
    for (uint32_t i = 0; i < nparams; i++)
        free(m.shadows[i]);
    free(m.shadows);
    free(m.votes);
    for (uint32_t w = 0; m.products && w <= k->threads / WARP; w++) {
        for (uint32_t i = 0; i < m.products[w].n; i++)
            free(m.products[w].v[i].units);
        free(m.products[w].v);
    }
    tensors_free(&m);
    free(m.touched);
    free(m.products);
    free(m.fences);
    free(m.factors);
    for (uint32_t t = 0; t < k->threads; t++)
        free(m.copies[t].v);
    free(m.copies);
    free(m.copied);
    free(m.threads);
    free(m.registers);
    free(m.shared_shadow);
    free(m.shared);
    return ok;
}
