/* What must hold of a kernel: its tree, operands that exist where they are used, types, and the rules of loops.
 *
 * Values are named as kir_print numbers them. */
#include "kir/node.h"

/* ---- nodes by themselves --------------------------------------------------------------------- */

enum { B = 1, I = 2, F = 4 }; /* types of operands: i1, other integers, floats */

static const uint8_t classes[KIR_OP_COUNT] = {
    [KIR_ADD] = B | I | F,  [KIR_SUB] = I | F,      [KIR_MUL] = B | I | F,     [KIR_DIV] = I | F,     [KIR_REM] = I | F,
    [KIR_MIN] = B | I | F,  [KIR_MAX] = B | I | F,  [KIR_NEG] = I | F,         [KIR_ABS] = I | F,     [KIR_FMA] = F,
    [KIR_SQRT] = F,         [KIR_FLOOR] = F,        [KIR_CEIL] = F,            [KIR_TRUNC] = F,       [KIR_RINT] = F,
    [KIR_COPYSIGN] = F,     [KIR_AND] = B | I,      [KIR_OR] = B | I,          [KIR_XOR] = B | I,     [KIR_NOT] = B | I,
    [KIR_SHL] = I,          [KIR_SHR] = I,          [KIR_MULHI] = I,           [KIR_CLZ] = I,         [KIR_POPCNT] = I,
    [KIR_EXT] = I,          [KIR_CMP] = B | I | F,  [KIR_CONVERT] = B | I | F, [KIR_BITCAST] = I | F, [KIR_ANY] = B,
    [KIR_ROUND] = F,        [KIR_MATH] = F,         [KIR_DOT2] = I,            [KIR_DOT4] = I,        [KIR_DOT2_BF16] = I,
    [KIR_DOT2_I8] = I,
};

static unsigned class_of(enum kir_type t) { return kir_is_float(t) ? F : t == KIR_I1 ? B : I; }

static enum kir_type arg_type(const struct kir *k, const struct kir_node *n, int i) {
    return KIR_IS(n->arg[i]) ? kir_type(k, n->arg[i]) : KIR_VOID;
}

/* Fewer operands than in the table are an index of registers, a guard, an extent. */
static bool has_operands(const struct kir_node *n) {
    int most = n->op == KIR_MATH ? kir_math_get((enum kir_math)n->sub)->nargs : kir_op_get((enum kir_op)n->op)->nargs;
    int least = most;
    switch (n->op) {
    case KIR_LOOP:
    case KIR_GET: least = 0; break;
    case KIR_SET:
    case KIR_ACC: least = 1; break;
    case KIR_LOAD: least = KIR_IS(n->arg[1]) ? 3 : 1; break;
    case KIR_STORE:
    case KIR_COPY_ASYNC: least = 2; break;
    default: break;
    }
    for (int i = 0; i < 3; i++)
        if ((i < least && !KIR_IS(n->arg[i])) || (i >= most && KIR_IS(n->arg[i])))
            return false;
    return true;
}

static const char *flaw_of_pure(const struct kir *k, const struct kir_node *n) {
    enum kir_type a = arg_type(k, n, 0), t = (enum kir_type)n->type;
    bool same = !KIR_IS(n->arg[1]) || arg_type(k, n, 1) == a;
    if (n->op == KIR_CONST)
        return t == KIR_VOID || n->imm != kir_narrow(t, (uint64_t)n->imm) ? "is no constant of its type" : NULL;
    if (n->op == KIR_SELECT)
        return a == KIR_I1 && arg_type(k, n, 1) == t && arg_type(k, n, 2) == t
                   ? NULL : "must choose by an i1 of two values of its type";
    if (!(classes[n->op] & class_of(a)))
        return "does not take this type of operands";
    if (!same || ((n->op == KIR_FMA || n->op == KIR_DOT4 || n->op == KIR_DOT2_I8) && arg_type(k, n, 2) != a))
        return "has operands of different types";
    if ((n->op == KIR_DOT2 || n->op == KIR_DOT4 || n->op == KIR_DOT2_I8 || n->op == KIR_DOT2_BF16) && a != KIR_I32)
        return "must have i32 operands";
    if (n->op == KIR_DOT2_BF16)
        return arg_type(k, n, 2) != KIR_F32 || t != KIR_F32 ? "must add to an f32" : NULL;
    if (n->op == KIR_CMP)
        return n->sub > KIR_GE || t != KIR_I1 ? "must be a comparison that gives i1" : NULL;
    if (n->op == KIR_BITCAST)
        return kir_type_bits(t) != kir_type_bits(a) ? "must keep the width" : NULL;
    if (n->op == KIR_EXT && (n->imm < 1 || n->imm > (int64_t)kir_type_bits(a)))
        return "extends more or fewer bits than there are";
    if (n->op == KIR_ROUND && (n->imm < 0 || n->imm >= FP_COUNT))
        return "rounds to no format";
    return n->op != KIR_CONVERT && t != a ? "must have the type of its operands" : t == KIR_VOID ? "must have a type" : NULL;
}

static bool accumulates(uint8_t op, enum kir_type t) {
    switch (op) {
    case KIR_ADD:
    case KIR_MUL:
    case KIR_MIN:
    case KIR_MAX:
    case KIR_AND:
    case KIR_OR:
    case KIR_XOR: return classes[op] & class_of(t);
    default: return false;
    }
}

static const char *flaw_of_register(const struct kir *k, const struct kir_node *n) {
    if (n->op == KIR_REG)
        return n->type == arg_type(k, n, 0) && n->imm >= 1 && n->imm <= KIR_MOST_REGISTERS
                   ? NULL : "must be 1 to 65536 of its value";
    if (n->of >= k->nodes.n || k->nodes.v[n->of].op != KIR_REG)
        return "names no register";
    const struct kir_node *reg = &k->nodes.v[n->of];
    kir_val index = n->arg[n->op != KIR_GET];
    if (n->op == KIR_GET ? n->type != reg->type : arg_type(k, n, 0) != (enum kir_type)reg->type)
        return "is not of its register's type";
    if (n->op == KIR_ACC && !accumulates(n->sub, (enum kir_type)reg->type))
        return "must accumulate by add, mul, min, max, and, or, xor";
    if (KIR_IS(index) && (kir_type(k, index) != KIR_I64 || kir_get(k, index)->lo < 0 || kir_get(k, index)->hi >= reg->imm))
        return "has an index that is not known to be one of the registers";
    return NULL;
}

/* Whether `n` registers from `first` on are there, of a type. */
static bool has_registers(const struct kir *k, uint32_t reg, uint32_t first, uint32_t n, enum kir_type t) {
    const struct kir_node *r = &k->nodes.v[reg < k->nodes.n ? reg : 0];
    return r->op == KIR_REG && r->type == t && first + n <= r->imm;
}

static const char *flaw_of_warp(const struct kir *k, const struct kir_node *n) {
    if (n->op == KIR_MMA) {
        enum kir_type sums = n->sub == KIR_TILE_BF16 || n->sub == KIR_TILE_F16 ? KIR_F32 : KIR_I32;
        return n->sub < KIR_TILE_COUNT && n->imm >> 48 == 0 && has_registers(k, n->of, kir_mma_first(n, 0), 4, sums) &&
                       has_registers(k, n->arg[0].i, kir_mma_first(n, 1), 4, KIR_I32) &&
                       has_registers(k, n->arg[1].i, kir_mma_first(n, 2), 2, KIR_I32)
                   ? NULL : "must have registers for sums, of f32 or i32, and for words of A and B";
    }
    if (n->of >= k->buffers.n || k->buffers.v[n->of].role != KIR_SCRATCH ||
        ((n->flags & KIR_T) && ir_dtype_get(k->buffers.v[n->of].dtype)->bytes != 2))
        return "must read scratch memory, transposed of elements of 16 bits";
    return n->imm < 0 || n->imm > KIR_MOST_REGISTERS || !has_registers(k, n->arg[1].i, (uint32_t)n->imm, 4, KIR_I32) ||
                   arg_type(k, n, 0) != KIR_I64
               ? "must have an index of type i64 and four registers of i32" : NULL;
}

static const char *flaw_of_wgmma(const struct kir *k, const struct kir_node *n) {
    uint32_t first = n->op == KIR_WGMMA ? kir_wgmma_first(n) : 0, columns = n->op == KIR_WGMMA ? n->width : 2;
    if (!has_registers(k, n->of, first, columns / 2, KIR_F32) || k->nodes.v[n->of].imm > KIR_WGMMA_COLUMNS)
        return "must have registers of f32 for its sums, of 256 at most";
    if (n->op == KIR_WGMMA_WAIT)
        return NULL;
    if (n->sub != KIR_TILE_BF16 && n->sub != KIR_TILE_F16)
        return "must have factors of bf16 or f16";
    if (columns < 8 || columns > KIR_WGMMA_COLUMNS || columns % (kir_wgmma_across(n, 1) ? KIR_WGMMA_TERMS : 8))
        return "must have 8 to 256 columns, a multiple of 8, across the sum of 64";
    for (int i = 0; i < 2; i++) {
        const struct kir_buffer *b = &k->buffers.v[kir_wgmma_buffer(n, i)];
        if (kir_wgmma_buffer(n, i) >= k->buffers.n || b->role != KIR_SCRATCH || ir_dtype_get(b->dtype)->bytes != 2)
            return "must read scratch memory of elements of 16 bits";
    }
    return arg_type(k, n, 0) != KIR_I64 || arg_type(k, n, 1) != KIR_I64 ? "must have indices of type i64" : NULL;
}

static const char *flaw_of_copy(const struct kir *k, const struct kir_node *n) {
    uint32_t from = kir_copy_from(n);
    if (n->op == KIR_COPY_COMMIT)
        return NULL;
    if (n->op == KIR_COPY_WAIT)
        return n->imm < 0 || n->imm > KIR_MOST_GROUPS ? "must be for all groups but at most 64" : NULL;
    if (n->of >= k->buffers.n || from >= k->buffers.n || k->buffers.v[n->of].role != KIR_SCRATCH ||
        k->buffers.v[from].role != KIR_IN || k->buffers.v[n->of].dtype != k->buffers.v[from].dtype)
        return "must be from memory that is only read to scratch memory of its type";
    uint64_t bytes = (uint64_t)kir_copy_elements(n) * ir_dtype_get(k->buffers.v[from].dtype)->bytes;
    if (bytes != 4 && bytes != 8 && bytes != 16)
        return "must copy 4, 8 or 16 bytes";
    return arg_type(k, n, 0) != KIR_I64 || arg_type(k, n, 1) != KIR_I64 || (KIR_IS(n->arg[2]) && arg_type(k, n, 2) != KIR_I1)
               ? "must have indices of type i64, and an i1 as guard" : NULL;
}

/* Whether a buffer may hold mbarriers. */
static bool holds_mbarriers(const struct kir *k, uint32_t buffer) {
    const struct kir_buffer *b = &k->buffers.v[buffer];
    return buffer < k->buffers.n && b->role == KIR_SCRATCH && b->dtype == IR_I64_T && b->count >= 1 &&
           b->count <= KIR_MOST_MBARRIERS;
}

static bool fits_i32(const struct kir *k, kir_val v) {
    return kir_type(k, v) == KIR_I64 && kir_get(k, v)->lo >= INT32_MIN && kir_get(k, v)->hi <= INT32_MAX;
}

static const char *flaw_of_tensor(const struct kir *k, const struct kir_node *n) {
    if (n->op != KIR_COPY_TENSOR) {
        if (!holds_mbarriers(k, n->of) || arg_type(k, n, 0) != KIR_I64)
            return "must be of a group, an i64, of 1 to 8 mbarriers, i64 in scratch memory";
        return n->op == KIR_MBARRIER_EXPECT && (n->imm < 1 || n->imm > INT32_MAX) ? "must be of some bytes" : NULL;
    }
    if (n->imm < 0 || n->imm >= k->maps.n)
        return "names no map";
    if (n->of >= k->buffers.n || k->buffers.v[n->of].role != KIR_SCRATCH ||
        k->buffers.v[n->of].dtype != k->buffers.v[k->maps.v[n->imm].buffer].dtype)
        return "must be to scratch memory of the type of its map";
    return arg_type(k, n, 0) != KIR_I64 || !fits_i32(k, n->arg[1]) || !fits_i32(k, n->arg[2])
               ? "must have an index of type i64, and a column and a line that are known to fit 32 bits" : NULL;
}

static const char *flaw_of_memory(const struct kir *k, const struct kir_node *n) {
    if (n->of >= k->buffers.n)
        return "names no buffer";
    const struct kir_buffer *b = &k->buffers.v[n->of];
    enum kir_type element = kir_type_of(b->dtype);
    if (arg_type(k, n, 0) != KIR_I64)
        return "must have an index of type i64";
    switch (n->op) {
    case KIR_LOAD:
        if (KIR_IS(n->arg[1]) && (arg_type(k, n, 1) != KIR_I1 || arg_type(k, n, 2) != element))
            return "must have an i1 as guard, and another value of its type";
        return n->type != element ? "is not of its element's type" : NULL;
    case KIR_STORE:
        if (KIR_IS(n->arg[2]) && arg_type(k, n, 2) != KIR_I1)
            return "must have an i1 as guard";
        if (b->role == KIR_IN)
            return "writes what is only read";
        return arg_type(k, n, 1) != element ? "is not of its element's type" : NULL;
    case KIR_TSTORE:
    case KIR_TLOAD:
        if (n->imm < 0 || n->imm > 7 || arg_type(k, n, 1) != KIR_I64)
            return "must name one of 8 tiles, and a distance of type i64";
        return n->op == KIR_TSTORE && b->role == KIR_IN ? "writes what is only read" : NULL;
    default: return NULL;
    }
}

static const char *flaw_of_loop(const struct kir *k, const struct kir_node *n) {
    bool dynamic = KIR_IS(n->arg[0]);
    if (n->sub > KIR_UNROLLED || n->type != KIR_I64 || n->imm < 0 || (dynamic && arg_type(k, n, 0) != KIR_I64))
        return "must run up to a number of type i64";
    if (dynamic && (n->sub == KIR_GRID || n->sub == KIR_UNROLLED))
        return "must have a constant extent";
    bool power = n->width && !(n->width & (n->width - 1)) && n->width <= KIR_MOST_LANES;
    return n->sub == KIR_VECTOR ? (power ? NULL : "must have a power of two up to 1024 as lanes")
                                : n->width ? "has lanes without being a vector loop" : NULL;
}

const char *kir_flaw(const struct kir *k, const struct kir_node *n) {
    if (n->op == KIR_NONE || n->op >= KIR_OP_COUNT || n->type >= KIR_TYPE_COUNT ||
        (n->op == KIR_MATH && n->sub >= KIR_MATH_COUNT))
        return "is no op";
    for (int i = 0; i < 3; i++) {
        const struct kir_node *a = kir_get(k, n->arg[i]);
        bool registers = (n->op == KIR_MMA && i < 2) || (n->op == KIR_LDMATRIX && i == 1);
        if (KIR_IS(n->arg[i]) && ((a->op == KIR_REG) != registers || a->type == KIR_VOID))
            return "has an operand that is no value";
    }
    if (!has_operands(n) && n->op != KIR_WHILE)
        return "has too few operands, or too many";
    if (n->flags & ~(unsigned)(KIR_U | KIR_NT | KIR_T) || ((n->flags & KIR_NT) && n->op != KIR_STORE) ||
        ((n->flags & KIR_T) && n->op != KIR_LDMATRIX))
        return "has a flag that is not its";
    if (kir_is_pure(n))
        return flaw_of_pure(k, n);
    if (kir_op_get((enum kir_op)n->op)->shape == KIR_SHAPE_EFFECT && n->type != KIR_VOID)
        return "has no value";
    switch (n->op) {
    case KIR_LOOP: return flaw_of_loop(k, n);
    case KIR_IF: return arg_type(k, n, 0) != KIR_I1 ? "must have a condition of type i1" : NULL;
    case KIR_WHILE: return KIR_IS(n->arg[0]) && arg_type(k, n, 0) != KIR_I1 ? "must have a condition of type i1" : NULL;
    case KIR_REG:
    case KIR_GET:
    case KIR_SET:
    case KIR_ACC: return flaw_of_register(k, n);
    case KIR_TZERO: return n->imm < 0 || n->imm > 7 ? "must name one of 8 tiles" : NULL;
    case KIR_LDMATRIX:
    case KIR_MMA: return flaw_of_warp(k, n);
    case KIR_WGMMA:
    case KIR_WGMMA_WAIT: return flaw_of_wgmma(k, n);
    case KIR_COPY_ASYNC:
    case KIR_COPY_COMMIT:
    case KIR_COPY_WAIT: return flaw_of_copy(k, n);
    case KIR_MBARRIER_EXPECT:
    case KIR_COPY_TENSOR:
    case KIR_MBARRIER_WAIT: return flaw_of_tensor(k, n);
    case KIR_TMUL: return n->imm < 0 || n->imm > 0777 || n->sub >= KIR_TILE_F16 ? "must name three of 8 tiles" : NULL;
    default: return flaw_of_memory(k, n);
    }
}

/* ---- placement of nodes ---------------------------------------------------------------------- */

struct facts {
    uint32_t number;  /* as kir_print gives it; 0 for what has none */
    uint32_t acc;     /* REG: 1 + op and flags of the reductions over the lanes of the current vector loop */
    bool seen, alive; /* alive: in scope */
    bool varies;      /* from lane to lane */
    bool constant;    /* after unrolled loops are expanded */
    bool in_flight;   /* REG: products of warpgroups are added to it */
};

struct verify {
    const struct kir *k;
    struct diag_list *d;
    struct facts *facts; /* by node */
    uint32_t numbers;
    kir_val vector;      /* the current loop */
    kir_val grid;        /* of the kernel */
    bool in_grid;
    uint32_t in_flight;  /* REGs */
    bool *mbarriers;     /* by buffer: it holds mbarriers */
    int64_t expected;    /* bytes of copies that an mbarrier expects and that have not begun */
};

static hilo_status flawed(struct verify *c, kir_val v, const char *what) {
    const char *op = kir_op_get((enum kir_op)kir_get(c->k, v)->op)->name;
    if (c->facts[v.i].number)
        return diag_error(c->d, HILO_INTERNAL, "kernel %s: %%%u (%s) %s", c->k->name, (unsigned)c->facts[v.i].number, op, what);
    return diag_error(c->d, HILO_INTERNAL, "kernel %s: %s after %%%u %s", c->k->name, op, (unsigned)c->numbers, what);
}

static bool in_vector(const struct verify *c, kir_val v) {
    return KIR_IS(c->vector) && kir_block_within(c->k, kir_scope(c->k, v), kir_get(c->k, c->vector)->body);
}

static hilo_status check_operands(struct verify *c, kir_val v) {
    const struct kir_node *n = kir_get(c->k, v);
    struct facts *f = &c->facts[v.i];
    f->constant = kir_is_pure(n);
    for (int i = 0; i < 3; i++) {
        if (!KIR_IS(n->arg[i]) || n->op == KIR_WHILE)
            continue;
        const struct facts *a = &c->facts[n->arg[i].i];
        if (!a->alive)
            return flawed(c, v, "has an operand that is not computed before it");
        f->varies |= a->varies;
        f->constant &= a->constant;
    }
    if (n->op == KIR_ANY)
        f->varies = false;
    return HILO_OK;
}

static hilo_status check_register(struct verify *c, kir_val v) {
    const struct kir_node *n = kir_get(c->k, v);
    kir_val index = n->arg[n->op != KIR_GET], reg = {n->of};
    struct facts *r = &c->facts[n->of];
    bool lanes = KIR_IS(c->vector) && !in_vector(c, reg);
    uint32_t acc = 1 + n->sub + ((uint32_t)n->flags << 8);
    if (!r->alive)
        return flawed(c, v, "names a register that does not exist here");
    if (KIR_IS(index) && !c->facts[index.i].constant)
        return flawed(c, v, "has an index that is not constant once loops are unrolled");
    bool over_grid = c->in_grid && !kir_block_within(c->k, kir_scope(c->k, reg), kir_get(c->k, c->grid)->body);
    if (over_grid && n->op != KIR_GET)
        return flawed(c, v, "changes a register from outside of the grid");
    if (lanes && n->op == KIR_SET)
        return flawed(c, v, "sets a register from outside of the vector loop");
    if (lanes && n->op == KIR_ACC) {
        if (r->acc && r->acc != acc)
            return flawed(c, v, "accumulates what is read or accumulated otherwise in the vector loop");
        r->acc = acc;
        return HILO_OK;
    }
    if (n->op == KIR_GET) {
        if (lanes && r->acc && r->acc != UINT32_MAX)
            return flawed(c, v, "reads what the vector loop accumulates");
        if (lanes)
            r->acc = UINT32_MAX;
        c->facts[v.i].varies |= r->varies;
    } else if (c->facts[v.i].varies) {
        r->varies = true;
    }
    return HILO_OK;
}

/* All lanes of a warp take part, and registers that are changed are theirs. */
static hilo_status check_warp(struct verify *c, kir_val v) {
    const struct kir_node *n = kir_get(c->k, v), *loop = kir_get(c->k, c->vector);
    kir_val of = {kir_changes(n)};
    if (!KIR_IS(c->vector) || KIR_IS(loop->arg[0]) || loop->imm != loop->width || loop->width % KIR_WARP)
        return flawed(c, v, "must stand in a vector loop of one step that runs all lanes of warps");
    if ((n->op == KIR_WGMMA || n->op == KIR_WGMMA_WAIT) && loop->width % KIR_WARPGROUP)
        return flawed(c, v, "must stand in a vector loop of whole warpgroups");
    if (!KIR_IS(of))
        return HILO_OK;
    if (!c->facts[of.i].alive || !in_vector(c, of))
        return flawed(c, v, "changes registers that are not of the lanes");
    c->facts[of.i].varies = true;
    return HILO_OK;
}

/* What may stand between products of a warpgroup and the wait for them. */
static hilo_status check_in_flight(struct verify *c, kir_val v) {
    const struct kir_node *n = kir_get(c->k, v);
    uint32_t reg = n->op == KIR_GET ? n->of : kir_changes(n);
    bool stores = n->op == KIR_STORE && c->k->buffers.v[n->of].role == KIR_SCRATCH;
    bool used = reg && c->facts[reg].in_flight;
    for (int i = 0; i < 2 && n->op == KIR_MMA; i++)
        used |= c->facts[n->arg[i].i].in_flight;
    if (n->op == KIR_WGMMA_WAIT) {
        if (!used)
            return flawed(c, v, "waits for registers to which no products are added");
        c->facts[reg].in_flight = false;
        c->in_flight--;
        return HILO_OK;
    }
    if (c->in_flight && (n->body.i || n->other.i))
        return flawed(c, v, "stands between products of warpgroups and the wait for them");
    if (c->in_flight && stores)
        return flawed(c, v, "stores to scratch memory that products which are not waited for may read");
    if (used)
        return flawed(c, v, "uses sums before their products are waited for");
    c->facts[reg].in_flight = n->op == KIR_WGMMA;
    c->in_flight += n->op == KIR_WGMMA;
    return HILO_OK;
}

/* Mbarriers, the copies that follow those that expect them, and other ops, which do not use mbarriers. */
static hilo_status check_tensor(struct verify *c, kir_val v) {
    const struct kir_node *n = kir_get(c->k, v);
    bool memory = n->op == KIR_LOAD || n->op == KIR_STORE || n->op == KIR_LDMATRIX || n->op == KIR_COPY_ASYNC ||
                  n->op == KIR_PREFETCH || n->op == KIR_COPY_TENSOR;
    if ((memory && c->mbarriers[n->of]) || (n->op == KIR_WGMMA && (c->mbarriers[kir_wgmma_buffer(n, 0)] ||
                                                                   c->mbarriers[kir_wgmma_buffer(n, 1)])))
        return flawed(c, v, "uses mbarriers as memory");
    if (n->op == KIR_MBARRIER_EXPECT || n->op == KIR_COPY_TENSOR || n->op == KIR_MBARRIER_WAIT) {
        if (c->facts[v.i].varies)
            return flawed(c, v, "has operands that depend on the lane");
    }
    if (n->op == KIR_MBARRIER_WAIT && c->in_flight)
        return flawed(c, v, "stands between products of warpgroups and the wait for them");
    if (c->expected && (n->op == KIR_MBARRIER_EXPECT || n->op == KIR_MBARRIER_WAIT || n->body.i || n->other.i))
        return flawed(c, v, "stands between an mbarrier and the copies that it expects");
    if (n->op == KIR_MBARRIER_EXPECT)
        c->expected = n->imm;
    if (n->op != KIR_COPY_TENSOR)
        return HILO_OK;
    c->expected -= kir_box_bytes(&c->k->maps.v[n->imm]);
    return c->expected < 0 ? flawed(c, v, "copies what no mbarrier expects") : HILO_OK;
}

static hilo_status check_block(struct verify *c, kir_block b);

/* Whether some register became varying by the body of the vector loop: then it is visited again, since what was read from it
   further up varies too. */
static uint32_t count_varying(const struct verify *c) {
    uint32_t n = 0;
    for (uint32_t i = 1; i < c->k->nodes.n; i++)
        n += c->k->nodes.v[i].op == KIR_REG && c->facts[i].varies;
    return n;
}

static void forget_accumulators(struct verify *c) {
    for (uint32_t i = 1; i < c->k->nodes.n; i++)
        c->facts[i].acc = 0;
}

static void unsee(struct verify *c, kir_block b) {
    for (kir_val v = kir_block_get(c->k, b)->first; KIR_IS(v); v = kir_get(c->k, v)->next) {
        const struct kir_node *n = kir_get(c->k, v);
        c->facts[v.i].seen = false;
        if (n->body.i)
            unsee(c, n->body);
        if (n->other.i)
            unsee(c, n->other);
    }
}

static hilo_status check_vector(struct verify *c, kir_val v) {
    uint32_t before, numbers = c->numbers;
    if (KIR_IS(c->vector))
        return flawed(c, v, "stands in a vector loop");
    c->vector = v;
    c->facts[v.i].varies = true;
    do {
        before = count_varying(c);
        c->numbers = numbers;
        unsee(c, kir_get(c->k, v)->body);
        forget_accumulators(c);
        HILO_TRY(check_block(c, kir_get(c->k, v)->body));
    } while (count_varying(c) != before);
    forget_accumulators(c);
    c->vector = (kir_val){0};
    return HILO_OK;
}

static hilo_status check_loop(struct verify *c, kir_val v) {
    const struct kir_node *n = kir_get(c->k, v);
    struct facts *f = &c->facts[v.i];
    if (n->sub == KIR_GRID && (n->block.i != 1 || KIR_IS(n->next)))
        return flawed(c, v, "must be the last of the kernel");
    if (f->varies)
        return flawed(c, v, "has an extent that depends on the lane");
    f->alive = true;
    f->constant = n->sub == KIR_UNROLLED;
    c->in_grid |= n->sub == KIR_GRID;
    HILO_TRY(n->sub == KIR_VECTOR ? check_vector(c, v) : check_block(c, n->body));
    f->alive = false;
    return HILO_OK;
}

static hilo_status check_flow(struct verify *c, kir_val v) {
    const struct kir_node *n = kir_get(c->k, v);
    if (n->op == KIR_LOOP)
        return check_loop(c, v);
    if (n->op == KIR_WHILE) {
        if (!n->other.i || !KIR_IS(n->arg[0]))
            return flawed(c, v, "must have a condition");
        HILO_TRY(check_block(c, n->other));
    }
    if (c->facts[v.i].varies)
        return flawed(c, v, "has a condition that depends on the lane");
    HILO_TRY(check_block(c, n->body));
    return n->op == KIR_IF && n->other.i ? check_block(c, n->other) : HILO_OK;
}

/* Tiles count as memory: they outlast an iteration. */
static bool touches_memory(const struct kir_node *n) {
    return n->op == KIR_LOAD || n->op == KIR_STORE || n->op >= KIR_LDMATRIX;
}

static hilo_status check_node(struct verify *c, kir_val v) {
    const struct kir_node *n = kir_get(c->k, v);
    struct facts *f = &c->facts[v.i];
    if (f->seen)
        return flawed(c, v, "stands in two places");
    f->seen = true;
    f->number = n->type != KIR_VOID && n->op != KIR_CONST ? ++c->numbers : 0;
    const char *flaw = kir_flaw(c->k, n);
    if (flaw)
        return flawed(c, v, flaw);
    HILO_TRY(check_operands(c, v));
    HILO_TRY(check_tensor(c, v));
    if (n->op == KIR_LOOP || n->op == KIR_IF || n->op == KIR_WHILE)
        return c->in_flight ? check_in_flight(c, v) : check_flow(c, v);
    if (n->op == KIR_GET || n->op == KIR_SET || n->op == KIR_ACC)
        HILO_TRY(check_register(c, v));
    if (n->op >= KIR_LDMATRIX && n->op < KIR_TZERO)
        HILO_TRY(check_warp(c, v));
    HILO_TRY(check_in_flight(c, v));
    if (KIR_IS(c->vector) && n->op >= KIR_TZERO)
        return flawed(c, v, "stands in a vector loop");
    if (KIR_IS(c->grid) && !c->in_grid && touches_memory(n) && !kir_is_const_load(c->k, n))
        return flawed(c, v, "is before the grid loop, and is no load of read-only memory");
    f->alive = n->type != KIR_VOID;
    return HILO_OK;
}

static hilo_status check_block(struct verify *c, kir_block b) {
    const struct kir_block_data *data = kir_block_get(c->k, b);
    const struct kir_node *owner = kir_get(c->k, data->owner);
    kir_val prev = {0};
    if (data->depth > KIR_MOST_DEPTH)
        return flawed(c, data->owner, "stands too deep");
    for (kir_val v = data->first; KIR_IS(v); prev = v, v = kir_get(c->k, v)->next) {
        if (kir_get(c->k, v)->block.i != b.i || kir_get(c->k, v)->prev.i != prev.i)
            return flawed(c, v, "is not where it says");
        HILO_TRY(check_node(c, v));
    }
    if (c->in_flight)
        return flawed(c, prev, "ends a block before the products of warpgroups in it are waited for");
    if (c->expected)
        return flawed(c, prev, "ends a block before the copies that an mbarrier expects");
    if (owner->op == KIR_WHILE && owner->other.i == b.i) {
        if (!c->facts[owner->arg[0].i].alive)
            return flawed(c, data->owner, "has a condition that its test does not compute");
        c->facts[data->owner.i].varies |= c->facts[owner->arg[0].i].varies;
    }
    for (kir_val v = data->first; KIR_IS(v); v = kir_get(c->k, v)->next)
        c->facts[v.i].alive = false;
    return HILO_OK;
}

static hilo_status check_buffers(struct verify *c) {
    for (uint32_t i = 0; i < c->k->buffers.n; i++) {
        const struct kir_buffer *b = &c->k->buffers.v[i];
        const struct ir_dtype_info *info = ir_dtype_get(b->dtype);
        size_t bytes, end;
        if (b->dtype == IR_DTYPE_NONE || kir_type_of(b->dtype) == KIR_VOID || info->cls == IR_INDEX_CLASS || b->count < 0 ||
            !mem_mul((size_t)b->count, info->bytes, &bytes) || bytes > PTRDIFF_MAX)
            return diag_error(c->d, HILO_INTERNAL, "kernel %s: b%u is no buffer of scalars", c->k->name, (unsigned)i);
        if (b->role == KIR_SCRATCH &&
            (b->offset % 64 || !mem_add(b->offset, bytes, &end) || end > c->k->scratch_bytes))
            return diag_error(c->d, HILO_INTERNAL, "kernel %s: b%u is not inside of the scratch memory", c->k->name,
                              (unsigned)i);
    }
    return HILO_OK;
}

static hilo_status check_maps(struct verify *c) {
    for (uint32_t i = 0; i < c->k->maps.n; i++) {
        const struct kir_map *m = &c->k->maps.v[i];
        const struct kir_buffer *b = &c->k->buffers.v[m->buffer];
        bool known = m->buffer < c->k->buffers.n && b->role == KIR_IN && i < KIR_MOST_MAPS;
        int64_t bytes = known ? ir_dtype_get(b->dtype)->bytes : 0;
        if (!known || bytes & (bytes - 1) || bytes > 8 || m->box < 1 || m->box > KIR_BOX_LINES || m->lines < 1 ||
            m->lines > INT32_MAX || m->columns < 1 || m->columns > INT32_MAX || m->stride < m->columns ||
            m->stride >= INT64_C(1) << 36 || m->stride * bytes % 16 || m->columns > b->count ||
            (m->lines > 1 && m->stride > (b->count - m->columns) / (m->lines - 1)))
            return diag_error(c->d, HILO_INTERNAL, "kernel %s: m%u is no map of a matrix that is only read", c->k->name,
                              (unsigned)i);
    }
    return HILO_OK;
}

hilo_status kir_verify(const struct kir *k, struct diag_list *d) {
    size_t bytes = k->nodes.n * sizeof(struct facts) + k->buffers.n * sizeof(bool);
    struct verify c = {.k = k, .d = d, .facts = mem_alloc(&k->arena.al, bytes), .grid = kir_grid(k)};
    if (!c.facts)
        return diag_error(d, HILO_RESOURCE_EXHAUSTED, "out of memory");
    memset(c.facts, 0, bytes);
    c.mbarriers = (bool *)(c.facts + k->nodes.n);
    for (uint32_t i = 1; i < k->nodes.n; i++) {
        const struct kir_node *n = &k->nodes.v[i];
        if ((n->op == KIR_MBARRIER_EXPECT || n->op == KIR_MBARRIER_WAIT) && n->of < k->buffers.n)
            c.mbarriers[n->of] = true;
    }
    hilo_status status = check_buffers(&c);
    if (status == HILO_OK)
        status = check_maps(&c);
    if (status == HILO_OK && k->open.n)
        status = diag_error(d, HILO_INTERNAL, "kernel %s: a loop or branch is still open", k->name);
    if (status == HILO_OK)
        status = check_block(&c, (kir_block){1});
    mem_free(&k->arena.al, c.facts, bytes);
    return status;
}
