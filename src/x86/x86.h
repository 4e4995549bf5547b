/* Machine code for x86-64 with AVX2 and FMA, without LLVM: what the baseline tier of cg_compile consists of.
 *
 *   value.c     values of any type, as registers that hold their parts; constants and their folding
 *   scalar.c    integers in general registers        vector.c   arithmetic of lanes, floating point
 *   convert.c   between types                        shuffle.c  lanes from other lanes
 *   memory.c    addresses, loads, stores             ins.c      instructions in SSA form, blocks, value numbering
 *   select.c    what is dead, operands in memory, immediate operands
 *   allocate.c  registers                            encode.c   bytes            object.c   the object file
 *
 * A vector of any number of lanes is cut into parts of 32 bytes, or is one part of 16 whose upper end may be unused, as it is
 * built: so every instruction is one of the machine's from the start (insns.def), on registers without number. A vector of i1
 * is a mask with lanes of -1 and 0, as wide as what it came from.
 *
 * What cannot be done is noted in the module, and building ends at the recovery point of the arena, which has all memory. */
#ifndef HILO_X86_X86_H
#define HILO_X86_X86_H

#include "base/mem.h"
#include "base/str.h"

enum x86_class { X86_NO_CLASS, X86_G, X86_V };
enum x86_op {
#define X86(name, mnemonic, form, map, prefix, opcode, w, memory, result) X86_##name,
#include "x86/insns.def"
    X86_OP_COUNT
};
/* How operands are encoded. R: the register field; M: the register or memory operand; V: the field of VEX; I: a byte. */
enum x86_form {
    X86_F_NONE,
    X86_F_RM,
    X86_F_RMI,
    X86_F_RXM, /* V is the same register as M, or the result's */
    X86_F_RXMI,
    X86_F_RZM, /* likewise; M is a general register */
    X86_F_RVM,
    X86_F_RVM_C, /* whose operands may be exchanged */
    X86_F_RVMI,
    X86_F_RVMR, /* the third operand is in bits of the immediate byte */
    X86_F_RMV,
    X86_F_VMI, /* R extends the opcode */
    X86_F_MR,  /* M is the result, or the memory written */
    X86_F_MRI,
    X86_F_MVR,
    X86_F_FMA,
    /* general registers */
    X86_F_LEGACY_RM,
    X86_F_STORE,
    X86_F_ALU, /* two operands, the first of which is the result */
    X86_F_UNARY,
    X86_F_SHIFT,
    X86_F_MOVI,
    X86_F_SETCC,
    X86_F_CMOV,
    X86_F_DIVIDE,
    X86_F_MULHI,
    X86_F_PREFETCH,
    X86_F_FENCE,
    X86_F_JUMP,
    X86_F_RET
};

struct x86_row {
    const char *mnemonic;
    uint8_t form, map, prefix, opcode, w;
    int8_t memory;
    uint8_t class;
};
extern const struct x86_row x86_rows[X86_OP_COUNT];

/* Conditions, as instructions number them. */
enum x86_cc { X86_B = 2, X86_AE, X86_E, X86_NE, X86_BE, X86_A, X86_L = 12, X86_GE, X86_LE, X86_GREATER };

enum { X86_RAX, X86_RCX, X86_RDX, X86_RBX, X86_RSP, X86_RBP, X86_RSI, X86_RDI, X86_REGISTERS = 16, X86_ARGS = 4 };
enum { X86_NO_REGISTER = 0xFF };

struct x86_ins;
struct x86_block;

/* Bytes in the code, 32 at most. */
struct x86_pooled {
    struct x86_pooled *chain;
    uint8_t bytes[32];
    uint32_t hash, at; /* from the beginning of the constants, of a module; UINT32_MAX = not used so far */
};

struct x86_incoming {
    struct x86_incoming *next;
    struct x86_block *from;
    struct x86_ins *v;
};

/* An instruction, which is also its result. */
struct x86_ins {
    uint16_t op;  /* enum x86_op */
    uint8_t size; /* 4, 8 bytes of a general register; 16, 32 of a vector; comparisons: of what is compared */
    uint8_t cc;   /* enum x86_cc */
    uint8_t nargs;
    uint8_t scale;  /* of the index, as a power of two */
    bool memory;    /* the M operand is at base + (index << scale) + disp, or is `pooled` */
    bool invariant; /* a load of what nothing writes */
    bool test;      /* a comparison with 0 of operand 0 "and" operand 1 */
    bool live;
    uint8_t reg;
    uint8_t folded; /* the operand that is in memory, from 1 on; 0 = none */
    int32_t disp;
    uint32_t uses, order;
    uint32_t number;   /* of stores before it, in its block; UINT32_MAX: unknown. select.c counts what is left */
    uint32_t pos, end; /* allocate.c: its interval */
    int64_t imm;
    struct x86_ins *arg[X86_ARGS], *base, *index;
    struct x86_pooled *pooled;
    struct x86_ins *next, *prev;
    struct x86_block *block; /* NULL: constants */
    struct x86_ins *chain;   /* of instructions with the same hash */
    struct x86_incoming *in; /* of a phi */
    struct x86_ins *phi;     /* one that this flows into */
    struct x86_slot *slot;   /* in memory */
    uint32_t hash;
    float weight; /* of its uses, by loops */
    bool reload;  /* lives for so short a time that it has to be in a register */
};

struct x86_slot {
    int32_t at; /* in the frame; -1 = none yet */
    uint8_t size;
};

struct x86_block {
    struct x86_ins *first, *last, *phis; /* the last one is a jump */
    struct x86_block *next;              /* in the order in which they are emitted */
    struct x86_block *to[2];             /* a conditional jump: where its condition holds, where not */
    struct x86_block *dominator;
    struct x86_pred {
        struct x86_pred *next;
        struct x86_block *from;
    } * preds;
    struct x86_loop *loop;
    uint32_t index, depth; /* in the order; below the entry in the tree of dominators */
    uint32_t start, stop;  /* positions of its begin and its jump */
    uint32_t at;           /* in the code */
    uint32_t writes;       /* stores so far */
    bool placed;
};

struct x86_loop {
    struct x86_loop *around;
    uint32_t first, last, stop; /* blocks; the position of its end */
    uint32_t depth;
};

enum x86_type_kind { X86_VOID, X86_INT, X86_HALF, X86_BFLOAT, X86_FLOAT, X86_DOUBLE, X86_POINTER, X86_VECTOR };

struct x86_type {
    enum x86_type_kind kind;
    uint32_t bits, lanes; /* of an element; 0 = scalar */
    struct x86_type *element, *vectors, *next;
    struct x86_module *m;
};

enum x86_kind {
    X86_CONSTANT,
    X86_PARTS,    /* registers */
    X86_ADDRESS,  /* of a pointer, not computed yet */
    X86_LANES,    /* a vector of scalars, not joined yet */
    X86_POINTERS, /* a vector of addresses */
    X86_WIDE,     /* 128 bits: a product, or a factor of it */
    X86_CALLEE
};

struct x86_value {
    struct x86_type *type;
    enum x86_kind kind;
    uint32_t mask_bits; /* i1: of its lanes; 0 = a scalar in a general register */
    uint32_t nparts;
    bool poison;
    uint64_t *lanes;         /* constant: each lane, or the scalar */
    struct x86_value *chain; /* constant: of the same hash */
    struct x86_ins **parts;
    struct x86_ins *ins; /* the instruction of a load, store or phi */
    struct x86_value **scalars;
    struct x86_value *a, *b; /* POINTERS: base and indices; WIDE: factors; LANES: what lanes without a scalar have */
    struct x86_ins *base, *index;
    uint8_t scale;
    int32_t disp;
    int64_t number; /* WIDE: bits it was shifted by; POINTERS: bytes of an element; CALLEE: which */
    bool is_signed;
    struct x86_compare { /* i1: what was compared */
        struct x86_value *a, *b;
        int predicate;
        bool is_float;
    } * compared;
};

struct x86_function {
    const char *name;
    struct x86_block *entry, *placed_last;
    uint32_t nblocks;
    struct x86_value *params[4];
    uint32_t at, bytes; /* its code */
    int32_t frame;      /* bytes of its stack that allocas take */
    bool wide;          /* has vectors of 32 bytes */
    bool entered;       /* the entry is in use */
    struct x86_function *next;
};

enum { X86_HASHES = 1024 };

struct x86_module {
    struct arena *arena;
    const char *refused; /* why there is no code; NULL = there is */
    struct x86_type scalar[11];
    struct x86_function *functions, *last;
    struct x86_function *f; /* that is built */
    struct x86_block *at;   /* where instructions go */
    struct x86_ins *before; /* before this one; NULL = at the end */
    struct x86_ins *numbered[X86_HASHES];
    struct x86_pooled *pool[X86_HASHES];
    struct x86_ins *constants[X86_HASHES];
    struct x86_value *ints[X86_HASHES];
    uint32_t order; /* instructions so far */
    /* encoded */
    uint8_t *code;
    uint32_t ncode, code_capacity;
    struct x86_fixup *fixups;
    uint32_t pool_bytes;
};

/* ---- ins.c ------------------------------------------------------------------------------------ */

/* Jumps to the arena's recovery point. */
_Noreturn void x86_refuse(struct x86_module *m, const char *why);
struct x86_function *x86_function_new(struct x86_module *m, const char *name);
void x86_function_begin(struct x86_module *m, struct x86_function *f);
struct x86_block *x86_block_new(struct x86_module *m);
void x86_at_end(struct x86_module *m, struct x86_block *b);
void x86_before(struct x86_module *m, struct x86_ins *i);
/* An instruction; one of the same operands that was computed before, where it is pure. */
struct x86_ins *x86_ins0(struct x86_module *m, enum x86_op op, uint8_t size);
struct x86_ins *x86_ins1(struct x86_module *m, enum x86_op op, uint8_t size, struct x86_ins *a, int64_t imm);
struct x86_ins *x86_ins2(struct x86_module *m, enum x86_op op, uint8_t size, struct x86_ins *a, struct x86_ins *b, int64_t imm);
struct x86_ins *x86_ins3(struct x86_module *m, enum x86_op op, uint8_t size, struct x86_ins *a, struct x86_ins *b,
                         struct x86_ins *c, int64_t imm);
/* SETCC, CMOV, JCC. */
struct x86_ins *x86_ins_cc(struct x86_module *m, enum x86_op op, uint8_t size, enum x86_cc cc, bool test,
                           struct x86_ins *const *args, uint8_t nargs);
/* Of memory: a load where the op has a result, else a store. */
struct x86_ins *x86_ins_memory(struct x86_module *m, enum x86_op op, uint8_t size, const struct x86_value *address,
                               int32_t plus, struct x86_ins *const *args, uint8_t nargs, int64_t imm);
struct x86_ins *x86_phi(struct x86_module *m, struct x86_block *b, enum x86_class class, uint8_t size);
void x86_phi_add(struct x86_module *m, struct x86_ins *phi, struct x86_ins *v, struct x86_block *from);
void x86_jump(struct x86_module *m, struct x86_block *to);
struct x86_ins *x86_const_g(struct x86_module *m, int64_t v);
/* 32 bytes; of 16, the lower ones are repeated. */
struct x86_ins *x86_const_v(struct x86_module *m, const uint8_t *bytes, uint32_t n);
struct x86_ins *x86_zero(struct x86_module *m);
struct x86_ins *x86_ones(struct x86_module *m);
bool x86_is_zero(const struct x86_ins *i);
bool x86_is_ones(const struct x86_ins *i);
struct x86_ins *x86_detached(struct x86_module *m, enum x86_op op, uint8_t size);
void x86_link(struct x86_block *b, struct x86_ins *before, struct x86_ins *i);
void x86_unlink(struct x86_ins *i);

/* ---- values ------------------------------------------------------------------------------------ */

void x86_module_init(struct x86_module *m, struct arena *a);
struct x86_type *x86_type_int(struct x86_module *m, uint32_t bits);
struct x86_type *x86_type_vector(struct x86_module *m, struct x86_type *element, uint32_t lanes);
struct x86_type *x86_type_like(struct x86_module *m, struct x86_type *element, const struct x86_type *lanes_of);
static inline const struct x86_type *x86_element(const struct x86_type *t) {
    return t->lanes ? t->element : t;
}
static inline bool x86_is_int(const struct x86_type *t, uint32_t bits) {
    return x86_element(t)->kind == X86_INT && x86_element(t)->bits == bits;
}
static inline bool x86_is_float(const struct x86_type *t) {
    return x86_element(t)->kind == X86_FLOAT || x86_element(t)->kind == X86_DOUBLE;
}
static inline uint32_t x86_lanes(const struct x86_type *t) {
    return t->lanes ? t->lanes : 1;
}
struct x86_value *x86_const(struct x86_module *m, struct x86_type *t, const uint64_t *lanes);
struct x86_value *x86_const_all(struct x86_module *m, struct x86_type *t, uint64_t lane);
/* Of a scalar type; the same value each time, as LLVM's constants are: the emitter compares addresses. */
struct x86_value *x86_const_int(struct x86_module *m, struct x86_type *t, uint64_t v);
struct x86_value *x86_poison(struct x86_module *m, struct x86_type *t);
struct x86_value *x86_value_new(struct x86_module *m, struct x86_type *t, enum x86_kind kind);
struct x86_value *x86_value_of(struct x86_module *m, struct x86_type *t, struct x86_ins *i); /* one part */
/* Parts of a vector with lanes of `bits` bits, and their size in bytes. */
uint32_t x86_nparts(uint32_t lanes, uint32_t bits, uint8_t *size);
/* The registers of a value; of i1, of masks with lanes of so many bits (0: the value's own, or 0/1 of a scalar). */
struct x86_ins **x86_parts(struct x86_module *m, struct x86_value *v);
struct x86_ins **x86_mask(struct x86_module *m, struct x86_value *v, uint32_t bits);
struct x86_ins *x86_part(struct x86_module *m, struct x86_value *v); /* of a scalar */
bool x86_all_lanes(const struct x86_value *v, uint64_t *out);        /* a constant, the same in all lanes */
int64_t x86_extend(uint64_t v, uint32_t bits);
/* A general register with an integer extended to 64 bits. */
struct x86_ins *x86_extended(struct x86_module *m, struct x86_value *v, bool is_signed);
/* Applies an operation of scalars to each lane. */
typedef struct x86_value *x86_lane_fn(struct x86_module *m, struct x86_value *const *args, int what, struct x86_type *to);
struct x86_value *x86_by_lanes(struct x86_module *m, x86_lane_fn *fn, int what, struct x86_type *to,
                               struct x86_value *const *args, uint32_t nargs);

enum x86_binary {
    X86_OP_ADD,
    X86_OP_SUB,
    X86_OP_MUL,
    X86_OP_UDIV,
    X86_OP_SDIV,
    X86_OP_AND,
    X86_OP_OR,
    X86_OP_XOR,
    X86_OP_SHL,
    X86_OP_LSHR,
    X86_OP_ASHR,
    X86_OP_FADD,
    X86_OP_FSUB,
    X86_OP_FMUL,
    X86_OP_FDIV,
    X86_OP_SMIN,
    X86_OP_SMAX,
    X86_OP_UMIN,
    X86_OP_UMAX
};
enum x86_unary {
    X86_OP_ABS,
    X86_OP_CTLZ,
    X86_OP_CTPOP,
    X86_OP_FABS,
    X86_OP_SQRT,
    X86_OP_FLOOR,
    X86_OP_CEIL,
    X86_OP_FTRUNC,
    X86_OP_RINT,
    X86_OP_FNEG
};
enum x86_cast {
    X86_TO_TRUNC,
    X86_TO_ZEXT,
    X86_TO_SEXT,
    X86_TO_FPTOUI,
    X86_TO_FPTOSI,
    X86_TO_UITOFP,
    X86_TO_SITOFP,
    X86_TO_FPTRUNC,
    X86_TO_FPEXT,
    X86_TO_BITCAST,
    X86_TO_PTRTOINT,
    X86_TO_INTTOPTR
};
/* Predicates as LLVM numbers them: of integers from 32 on. */
enum { X86_EQ = 32, X86_NEQ, X86_UGT, X86_UGE, X86_ULT, X86_ULE, X86_SGT, X86_SGE, X86_SLT, X86_SLE };

struct x86_value *x86_build_binary(struct x86_module *m, enum x86_binary op, struct x86_value *a, struct x86_value *b);
struct x86_value *x86_build_unary(struct x86_module *m, enum x86_unary op, struct x86_value *a);
struct x86_value *x86_build_compare(struct x86_module *m, int predicate, bool is_float, struct x86_value *a,
                                    struct x86_value *b);
struct x86_value *x86_build_select(struct x86_module *m, struct x86_value *c, struct x86_value *a, struct x86_value *b);
struct x86_value *x86_build_cast(struct x86_module *m, enum x86_cast op, struct x86_value *a, struct x86_type *to);
struct x86_value *x86_build_fma(struct x86_module *m, struct x86_value *a, struct x86_value *b, struct x86_value *c);
struct x86_value *x86_build_copysign(struct x86_module *m, struct x86_value *a, struct x86_value *b);
struct x86_value *x86_build_shuffle(struct x86_module *m, struct x86_value *a, struct x86_value *b, const uint64_t *lanes,
                                    uint32_t n);
struct x86_value *x86_build_extract(struct x86_module *m, struct x86_value *v, struct x86_value *at);
struct x86_value *x86_build_insert(struct x86_module *m, struct x86_value *v, struct x86_value *one, struct x86_value *at);
struct x86_value *x86_build_any(struct x86_module *m, struct x86_value *v); /* llvm.vector.reduce.or */
struct x86_value *x86_build_saturate(struct x86_module *m, bool is_signed, struct x86_value *v, struct x86_type *to);
struct x86_value *x86_build_madd(struct x86_module *m, struct x86_value *a, struct x86_value *b, struct x86_type *to);
struct x86_value *x86_build_phi(struct x86_module *m, struct x86_type *t);
void x86_build_incoming(struct x86_module *m, struct x86_value *phi, struct x86_value *v, struct x86_block *from);
void x86_build_branch(struct x86_module *m, struct x86_value *c, struct x86_block *then, struct x86_block *other);
struct x86_value *x86_build_gep(struct x86_module *m, struct x86_type *t, struct x86_value *base, struct x86_value *index);
struct x86_value *x86_build_load(struct x86_module *m, struct x86_type *t, struct x86_value *p);
struct x86_value *x86_build_store(struct x86_module *m, struct x86_value *v, struct x86_value *p);
/* Nothing writes what was loaded: it may be loaded later, and loads of its address yield the same. */
void x86_build_invariant(struct x86_value *load);
void x86_build_stream(struct x86_value *store);
struct x86_value *x86_build_alloca(struct x86_module *m, struct x86_type *t);
struct x86_value *x86_build_masked_load(struct x86_module *m, struct x86_value *p, struct x86_value *mask,
                                        struct x86_value *instead);
struct x86_value *x86_build_masked_store(struct x86_module *m, struct x86_value *v, struct x86_value *p,
                                         struct x86_value *mask);
void x86_build_prefetch(struct x86_module *m, struct x86_value *p);
/* shuffle.c: lanes of `bits` bits of a vector of that many, from those of two others, `n` of each. */
void x86_shuffle_parts(struct x86_module *m, struct x86_ins *const *a, struct x86_ins *const *b, uint32_t bits, uint32_t from,
                       const uint32_t *lanes, uint32_t n, struct x86_ins **out);
/* vector.c: lanes from `at` on, as the lower ones of a register. */
struct x86_ins *x86_upper(struct x86_module *m, struct x86_ins *part, uint32_t bytes);
struct x86_ins **x86_widen(struct x86_module *m, struct x86_ins *const *parts, uint32_t lanes, uint32_t from, uint32_t to,
                           bool is_signed);

/* ---- code -------------------------------------------------------------------------------------- */

/* What select.c, allocate.c and encode.c do to the function that was built. */
void x86_select(struct x86_module *m, struct x86_function *f);
/* The number of the operand of an instruction that may be in memory; -1 = none. */
int x86_memory_operand(const struct x86_ins *i);
struct x86_frame {
    int32_t bytes;  /* of the stack */
    uint32_t saved; /* registers, as bits */
    bool aligned;   /* there is a frame */
};
void x86_allocate(struct x86_module *m, struct x86_function *f, struct x86_frame *frame);
void x86_encode(struct x86_module *m, struct x86_function *f, const struct x86_frame *frame);
void x86_function_end(struct x86_module *m, struct x86_function *f);
/* encode.c: places constants after the code. */
void x86_encode_constants(struct x86_module *m);
/* The object file, in memory of the arena. */
struct str x86_object(struct x86_module *m);

#endif
