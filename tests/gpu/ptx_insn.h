/* Instructions of PTX as the machine of ptx.h knows them, decoded once. */
#ifndef HILO_TESTS_GPU_PTX_INSN_H
#define HILO_TESTS_GPU_PTX_INSN_H

#include <stdbool.h>
#include <stdint.h>

enum { MOST_ARGS = 16 };

enum type { B8, B16, B32, B64, U8, U16, U32, U64, S8, S16, S32, S64, F16, F32, F64, PRED, BF16, TYPES };
static inline unsigned type_bits(enum type t) {
    static const uint8_t bits[TYPES] = {8, 16, 32, 64, 8, 16, 32, 64, 8, 16, 32, 64, 16, 32, 64, 1, 16};
    return bits[t];
}
static inline bool type_signed(enum type t) {
    return t >= S8 && t <= S64;
}
static inline bool type_float(enum type t) {
    return t >= F16 && t <= F64;
}

enum op {
    ABS, ADD, AND, BAR, BFE, BFI, BRA, CLZ, COPYSIGN, CP, CVT, CVTA, DIV, FENCE, FMA, LD, LDMATRIX, MAD, MAX,
    MBARRIER, MIN, MMA, MOV, MUL, NEG, NOT, OR, POPC, RCP, REM, RET, SELP, SETP, SHFL, SHL, SHR, SQRT, ST, SUB, WGMMA, XOR, OPS
};
/* Modifiers: each is a bit. Those that change nothing here are known, too, so that others are errors. */
enum { M_NONE, M_LO = 1 << 0, M_HI = 1 << 1, M_WIDE = 1 << 2, M_RZI = 1 << 3, M_RNI = 1 << 4, M_RMI = 1 << 5, M_RPI = 1 << 6,
       M_NAN = 1 << 7, M_SHARED = 1 << 8, M_GLOBAL = 1 << 9, M_PARAM = 1 << 10, M_RED = 1 << 11, M_V2 = 1 << 12,
       M_V4 = 1 << 13, M_OR = 1 << 14, M_SAT = 1 << 15, M_DOWN = 1 << 16, M_IDX = 1 << 17, M_TRANS = 1 << 18,
       M_COMMIT = 1 << 19, M_WAIT = 1 << 20, M_FENCE = 1 << 21, M_PRODUCT = 1 << 22, M_BULK = 1 << 23,
       M_INIT = 1 << 24, M_INVAL = 1 << 25, M_EXPECT = 1 << 26, M_TRY = 1 << 27 };
#define MAP_BASE (UINT64_C(1) << 62) /* what stands for the address of tensor map 0 */
enum cmp {
    C_EQ, C_NE, C_LT, C_LE, C_GT, C_GE, C_LO, C_LS, C_HS, C_EQU, C_NEU, C_LTU, C_LEU, C_GTU, C_GEU, C_NUM, C_NANS, CMPS
};
enum arg_kind { NO_ARG, REGISTER, IMMEDIATE, TID, CTAID, NTID, NCTAID, LABEL };
struct arg {
    enum arg_kind kind;
    uint32_t reg;    /* REGISTER */
    uint64_t imm;    /* IMMEDIATE; LABEL: the instruction; addresses: what is added */
};
struct insn {
    enum op op;
    enum type type, from, others[2]; /* from: of CVT; of B and the sums of MMA, where `type` is the result's, `from` A's */
    enum cmp cmp;
    unsigned mods;
    int guard; /* predicate register, -1 = none */
    bool negated, unpacks;
    struct arg v[MOST_ARGS], lanes[4]; /* lanes: of a vector load or store, or of packing */
    uint32_t n, nlanes;
    struct arg *sums; /* of WGMMA, which has no room in v */
    uint32_t nsums, columns;
    int line;
};

struct kernel {
    char *name;
    struct insn *code;
    uint32_t ncode, cap, params, maps, threads, registers;
    bool wgmma; /* has products of warpgroups, or copies boxes of matrices */
};
struct ptx {
    struct kernel *kernels;
    uint32_t n;
};

/* NULL when there is none of this name. */
const struct kernel *ptx_kernel_named(const struct ptx *p, const char *name);

#endif
