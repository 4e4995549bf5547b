/* The kernel IR: what a cluster of StableHLO ops is lowered to, and what machine code is made from.
 *
 *   kir.def, math.def   the ops, the functions        print.c, parse.c   as text, and back
 *   kir.c               kernels, the builder           verify.c           invariants
 *   fold.c              algebraic simplification       eval.c, interp.c   its definition, by running it
 *   passes.def, .c      the passes over a kernel
 *   math*.c             functions as arithmetic        clean.c            dead code elimination
 *   split.c             index set splitting            node.h             what these files share
 *
 * A kernel is a tree of blocks: loops, branches and straight code over scalar values, registers and flat buffers. It is
 * already scheduled: a loop has its kind of execution (enum kir_loop), and no later stage changes it. Code generators
 * widen the body of a VECTOR loop to lanes, and are otherwise literal.
 *
 * Index arithmetic is ordinary i64 arithmetic; the builder folds constants, keeps equal pure values once, and places a pure
 * value in the outermost block in which its operands exist, so that what a loop does not change is computed before it.
 *
 * A kernel owns its memory in one arena; ids, not pointers, across calls. Not thread-safe while it is built. */
#ifndef HILO_KIR_KIR_H
#define HILO_KIR_KIR_H

#include "hilo_kernel_abi.h"
#include "ir/ir.h"

#include <stdatomic.h>

/* ---- types, ops ------------------------------------------------------------------------------ */

enum kir_type { KIR_VOID, KIR_I1, KIR_I8, KIR_I16, KIR_I32, KIR_I64, KIR_F32, KIR_F64, KIR_TYPE_COUNT };

const char *kir_type_name(enum kir_type t);
unsigned kir_type_bits(enum kir_type t);
static inline bool kir_is_float(enum kir_type t) { return t == KIR_F32 || t == KIR_F64; }
/* The type of an element once it is loaded: integers of less than a byte are i8, floats below f64 are f32. Complex numbers
   have none: they are two elements of their parts' type. KIR_VOID then. */
enum kir_type kir_type_of(enum ir_dtype t);

enum kir_op {
    KIR_NONE,
#define KIR(id, name, nargs, shape, what) KIR_##id,
#include "kir/kir.def"
    KIR_OP_COUNT
};
enum kir_shape { KIR_SHAPE_FLOW, KIR_SHAPE_EFFECT, KIR_SHAPE_READ, KIR_SHAPE_SAME, KIR_SHAPE_BIT, KIR_SHAPE_TYPED };
struct kir_op_info { const char *name; int nargs; enum kir_shape shape; };
const struct kir_op_info *kir_op_get(enum kir_op op);

enum kir_math {
#define MATH(id, name, nargs) KIR_MATH_##id,
#include "kir/math.def"
    KIR_MATH_COUNT
};
struct kir_math_info { const char *name; int nargs; };
const struct kir_math_info *kir_math_get(enum kir_math f);

enum kir_loop {
    KIR_GRID,    /* outermost, at most one: iterations are independent and may run anywhere */
    KIR_SERIAL,  /* in order */
    KIR_VECTOR,  /* `width` lanes at a time, see below */
    KIR_UNROLLED /* expanded; constant extent. Its index is a constant in each copy, so it may choose registers */
};
/* VECTOR. Lane l runs iterations l, width + l, 2·width + l …; all lanes of a step run an op before any runs the next. They
   must not depend on each other: no SET of a register from outside, no two lanes storing to one element; but where one step
   runs all lanes (constant extent = width), an op may load from scratch what an earlier one stored in other lanes. Registers
   declared inside are a lane's own. An ACC on a register from outside is a reduction: every lane accumulates on its own,
   beginning with the op's neutral element, after the loop lane l is combined with lane l + width/2, and so on with half the
   width until one is left, and then the register = register `sub` that. Serial and unrolled loops may be inside; their
   extents, IF conditions and WHILE do not depend on the lane. VECTOR loops do not nest. */

enum kir_cmp { KIR_EQ, KIR_NE, KIR_LT, KIR_LE, KIR_GT, KIR_GE };
/* Formats of A and B of TMUL, MMA and WGMMA; f16: not of TMUL. */
enum kir_tile { KIR_TILE_BF16, KIR_TILE_S8S8, KIR_TILE_U8S8, KIR_TILE_S8U8, KIR_TILE_U8U8, KIR_TILE_F16, KIR_TILE_COUNT };
/* MMA and LDMATRIX: lane l of a warp holds, of A in register i the word l%4 + 4·(i/2) of row l/4 + 8·(i%2); of B in register i
   the word l%4 + 4·i of column l/4; of the sums in register i row l/4 + 8·(i/2), column 2·(l%4) + i%2. A row of A and a column
   of B are 8 words of factors that follow one another in the sum. LDMATRIX: in register i word l%4 of row l/4 of matrix i. */
enum kir_warp { KIR_WARP = 32, KIR_MMA_ROWS = 16, KIR_MMA_COLUMNS = 8, KIR_MMA_WORDS = 8 };
/* WGMMA: sums are where MMA has them, those of rows 16w … 16w + 15 in warp w of the warpgroup, those of columns 8j … 8j + 7 in
   registers 4j … 4j + 3. Factors lie in lines of 128 bytes, or 64 factors, which are the rows of A and the columns of B; or, of
   an operand that lies across the sum, its terms: line t then has factor t of 64 rows or columns, and those of the next 64 are
   8192 bytes after them. In line i the 16 bytes u of 8 are in place of the 16 bytes u ^ i%8, so that eight lines use all
   banks. */
enum kir_wgmma {
    KIR_WARPGROUP = 128,     /* lanes */
    KIR_WGMMA_ROWS = 64,
    KIR_WGMMA_TERMS = 64,
    KIR_WGMMA_COLUMNS = 256, /* at most; multiples of 8, of 64 where B lies across the sum */
    KIR_WGMMA_ALIGN = 1024,  /* bytes */
    KIR_WGMMA_BUFFERS = 1 << 15
};
enum { KIR_U = 1, KIR_NT = 2, KIR_T = 4 };                        /* flags */

/* ---- kernels --------------------------------------------------------------------------------- */

typedef struct { uint32_t i; } kir_val;   /* a node; 0 = none */
typedef struct { uint32_t i; } kir_block; /* 0 = none; 1 = the kernel's body */

struct kir_node {
    uint8_t op;        /* enum kir_op */
    uint8_t type;      /* enum kir_type of its value */
    uint8_t sub;       /* enum kir_loop, kir_cmp, kir_math, kir_tile; ACC: enum kir_op */
    uint8_t flags;
    uint32_t of;       /* GET, SET, ACC, MMA, WGMMA, WGMMA_WAIT: node of the REG; ops on memory: buffer, COPY_ASYNC,
                          COPY_TENSOR: that is written; MBARRIER_EXPECT, MBARRIER_WAIT: that of the mbarriers */
    kir_val arg[3];    /* 0 = absent */
    uint32_t width;    /* VECTOR loops: lanes, a power of two; WGMMA: columns */
    int64_t imm;
    kir_block body, other; /* LOOP, IF, WHILE */
    kir_block block;   /* that contains it */
    kir_val prev, next; /* there */
    int64_t lo, hi;    /* integers, i1: the value lies between, both included, read with its sign; i1 is 0 or 1 */
};

/* COPY_ASYNC: the buffer that is read, and how many elements. */
static inline uint32_t kir_copy_from(const struct kir_node *n) { return (uint32_t)n->imm; }
static inline uint32_t kir_copy_elements(const struct kir_node *n) { return (uint32_t)(n->imm >> 32); }

struct kir_block_data {
    kir_val first, last;
    kir_val owner;     /* LOOP, IF or WHILE; none for the body of the kernel */
    kir_block parent;
    uint32_t depth;    /* 0 for the body of the kernel */
    kir_val open;      /* while building: the child that is open; what is placed here goes before it */
};

/* What the interpreter executed: multiplications by the unit that would do them, of elements, not of instructions; what is
   loaded and stored; iterations of the grid. Index arithmetic does not count. */
enum kir_count {
    KIR_COUNT_MUL,
    KIR_COUNT_FMA,
    KIR_COUNT_DOT2,
    KIR_COUNT_DOT4,
    KIR_COUNT_DOT2_I8,
    KIR_COUNT_DOT2_BF16,
    KIR_COUNT_TILE, /* of TMUL, MMA and WGMMA */
    KIR_COUNT_LOADS,
    KIR_COUNT_LOADED_BYTES,
    KIR_COUNT_STORES,
    KIR_COUNT_STORED_BYTES,
    KIR_COUNT_ITERATIONS,
    KIR_COUNTS
};
const char *kir_count_name(enum kir_count c); /* "fma", "loaded bytes" */

enum kir_role { KIR_IN, KIR_OUT, KIR_INOUT, KIR_SCRATCH };

struct kir_buffer {
    enum kir_role role;
    enum ir_dtype dtype;   /* of its elements in memory: not complex */
    int64_t count;         /* elements */
    size_t offset;         /* SCRATCH: in the scratch memory, a multiple of 64 */
    bool aligned;          /* begins at a multiple of 64 bytes */
};

/* A matrix in a buffer that is only read, for COPY_TENSOR, of elements of 1, 2, 4 or 8 bytes: lines of `columns` elements,
   `stride` elements apart, a multiple of 16 bytes. A box is `box` lines of 128 bytes. */
struct kir_map {
    uint32_t buffer, box;
    int64_t lines, columns, stride;
};
enum kir_tensor {
    KIR_BOX_LINES = 256,   /* at most */
    KIR_BOX_BYTES = 128,   /* of a line */
    KIR_MOST_MAPS = 4,     /* of a kernel */
    KIR_MOST_MBARRIERS = 8 /* of a buffer */
};

struct kir {
    struct arena arena;
    const char *name;               /* a C identifier */
    struct { struct kir_node *v; uint32_t n, cap; } nodes;        /* from 1 */
    struct { struct kir_block_data *v; uint32_t n, cap; } blocks; /* from 1 */
    struct { struct kir_buffer *v; uint32_t n, cap; } buffers;    /* parameters in order, scratch among them */
    struct { struct kir_map *v; uint32_t n, cap; } maps;
    size_t scratch_bytes;
    kir_block at;                   /* where the builder places */
    struct { kir_val *v; uint32_t n, cap; } open; /* LOOP, IF, WHILE that kir_close closes; 0 for one that left no node */
    unsigned store_flags;
    kir_val last_const;             /* constants are the first nodes of the body */
    uint32_t *buckets;              /* of equal pure values (kir.c) */
    uint32_t nbuckets, nequal;
    atomic_ullong *counts;          /* by enum kir_count: of all runs by the interpreter, on any thread */
};

/* An empty kernel; name copied. Memory: arena of `al`, exhaustion jumps to `recover`. NULL when not even the struct fits. */
struct kir *kir_new(const char *name, hilo_allocator al, jmp_buf *recover);
void kir_free(struct kir *k); /* NULL is fine */
static inline struct kir_node *kir_get(const struct kir *k, kir_val v) { return &k->nodes.v[v.i]; }
static inline struct kir_block_data *kir_block_get(const struct kir *k, kir_block b) { return &k->blocks.v[b.i]; }
/* The GRID loop (always the last node of the body); none when the kernel has one iteration. */
kir_val kir_grid(const struct kir *k);
int64_t kir_grid_extent(const struct kir *k); /* 1 when there is none */
/* Elements of a parameter that the kernel reads, at most: never more than it has. */
int64_t kir_read_elements(const struct kir *k, uint32_t buffer);
/* Parameters: the buffers that are not scratch. */
uint32_t kir_param_count(const struct kir *k);

/* ---- building -------------------------------------------------------------------------------- */

/* The number of the new buffer. kir_scratch adds to scratch_bytes; a count that overflows is exhaustion. */
uint32_t kir_param(struct kir *k, enum kir_role role, enum ir_dtype dtype, int64_t count);
uint32_t kir_scratch(struct kir *k, enum ir_dtype dtype, int64_t count);
/* The number of a new map, or of an equal one. */
uint32_t kir_map(struct kir *k, struct kir_map map);

kir_val kir_int(struct kir *k, enum kir_type t, int64_t v);   /* any integer type, i1 */
kir_val kir_i64(struct kir *k, int64_t v);
kir_val kir_float(struct kir *k, enum kir_type t, double v);  /* rounded to t */
bool kir_is_const(const struct kir *k, kir_val v, int64_t *out_bits);

/* Loops, branches: the builder goes into the body; kir_close returns to the block around it. The value is the index. A loop of
   one iteration leaves no node: its index is the constant 0 (GRID loops stay). width: VECTOR only. */
kir_val kir_loop(struct kir *k, enum kir_loop kind, int64_t extent, uint32_t width);
/* extent known when it begins; may be 0 */
kir_val kir_loop_to(struct kir *k, enum kir_loop kind, kir_val extent, uint32_t width);
void kir_if(struct kir *k, kir_val condition);
void kir_else(struct kir *k);                       /* from the body of an IF into its `other` */
void kir_while(struct kir *k);                      /* into `other`, the test */
void kir_do(struct kir *k, kir_val condition);      /* from the test into the body */
void kir_close(struct kir *k);

/* Goes to an enclosing block (from kir_get(…)->block or k->at of earlier), before the child that is open there, and
   back: the answer is what to hand to the second call. */
kir_block kir_goto(struct kir *k, kir_block b);

kir_val kir_reg(struct kir *k, kir_val init, int64_t count);
kir_val kir_get_reg(struct kir *k, kir_val reg, kir_val index);             /* index: none = 0 */
void kir_set_reg(struct kir *k, kir_val reg, kir_val index, kir_val v);
void kir_acc(struct kir *k, enum kir_op op, unsigned flags, kir_val reg, kir_val index, kir_val v);

/* A load from a buffer that the kernel only reads is pure and placed as pure values are, but never out of an IF or WHILE, nor
   out of a loop that may have no iteration. */
kir_val kir_load(struct kir *k, uint32_t buffer, kir_val index);
kir_val kir_load_if(struct kir *k, uint32_t buffer, kir_val index, kir_val guard, kir_val otherwise);
void kir_store(struct kir *k, uint32_t buffer, kir_val index, kir_val v);
void kir_store_if(struct kir *k, uint32_t buffer, kir_val index, kir_val v, kir_val guard);
/* Flags (KIR_NT) of the stores that follow. */
void kir_store_flags(struct kir *k, unsigned flags);
void kir_prefetch(struct kir *k, uint32_t buffer, kir_val index);
/* Four matrices from a buffer to the registers of `reg` from `first` on; sums from register `sum` on of `sums` += the products
   of A from `a` on and of B from `b` on. */
void kir_ldmatrix(struct kir *k, unsigned flags, kir_val reg, int64_t first, uint32_t buffer, kir_val index);
void kir_mma(struct kir *k, enum kir_tile format, kir_val sums, int64_t sum, kir_val lhs, int64_t a, kir_val rhs, int64_t b);
/* An operand of WGMMA: a buffer, an index; whether it lies across the sum. */
struct kir_factors {
    uint32_t buffer;
    kir_val at;
    bool across;
};
/* Sums from register `first` on of `sums` += products of 64 rows of A by `columns` columns of B; the wait for them. */
void kir_wgmma(struct kir *k, enum kir_tile format, kir_val sums, int64_t first, struct kir_factors a, struct kir_factors b,
               uint32_t columns);
void kir_wgmma_wait(struct kir *k, kir_val sums);
/* `elements` elements of a buffer from `at` on to another one from `index` on; zeros where guard (none = holds) is false. */
void kir_copy_async(struct kir *k, uint32_t buffer, kir_val index, uint32_t from, kir_val at, kir_val guard, int64_t elements);
void kir_copy_commit(struct kir *k);
void kir_copy_wait(struct kir *k, int64_t groups); /* all but so many */
/* Group `group` of the mbarriers in a buffer: the copies that follow, of so many bytes; the wait for it. A box of a map. */
void kir_mbarrier_expect(struct kir *k, uint32_t mbarriers, kir_val group, int64_t bytes);
void kir_copy_tensor(struct kir *k, uint32_t buffer, kir_val index, uint32_t map, kir_val column, kir_val line);
void kir_mbarrier_wait(struct kir *k, uint32_t mbarriers, kir_val group);
/* TZERO, TLOAD, TSTORE (buffer, index, stride; else 0 and none), TMUL (format). imm as in kir.def. */
void kir_tile(struct kir *k, enum kir_op op, int64_t imm, enum kir_tile format, uint32_t buffer, kir_val index, kir_val stride);

/* Pure values. The type is inferred; kir_typed names it (CONVERT, BITCAST). Folded when all operands are constants (but
   MATH), by x+0, x-0, x·1, x·0 (integers), x/1, x%1, select of a constant, and and or with constants, double negation, and on
   i64 index arithmetic: (x·a)·b, (x+a)+b, (x·a)/a, (x·a)%a, and (x·a+y)/a = x, %a = y where y is an index below a. */
kir_val kir_op1(struct kir *k, enum kir_op op, kir_val a);
kir_val kir_op2(struct kir *k, enum kir_op op, unsigned flags, kir_val a, kir_val b);
kir_val kir_fma(struct kir *k, kir_val a, kir_val b, kir_val c);
kir_val kir_dot4(struct kir *k, unsigned flags, kir_val a, kir_val b, kir_val sum);
kir_val kir_dot2_i8(struct kir *k, kir_val a, kir_val b, kir_val sum);
kir_val kir_dot2_bf16(struct kir *k, kir_val a, kir_val b, kir_val sum);
kir_val kir_cmp(struct kir *k, enum kir_cmp cmp, unsigned flags, kir_val a, kir_val b);
kir_val kir_select(struct kir *k, kir_val condition, kir_val a, kir_val b);
kir_val kir_typed(struct kir *k, enum kir_op op, unsigned flags, enum kir_type t, kir_val a);
kir_val kir_imm(struct kir *k, enum kir_op op, unsigned flags, int64_t imm, kir_val a); /* EXT, ROUND */
kir_val kir_math(struct kir *k, enum kir_math f, kir_val a, kir_val b);                  /* b: none for one operand */
static inline enum kir_type kir_type(const struct kir *k, kir_val v) { return (enum kir_type)kir_get(k, v)->type; }

/* The value of an i64 expression as base + stride · index of `loop`, stride constant: true when it is so. What the loop does
   not change has stride 0. */
bool kir_linear(const struct kir *k, kir_val v, kir_val loop, int64_t *out_stride);
/* How many of the lowest bits of an integer are known to be 0: 4 for what is a multiple of 16. */
uint32_t kir_zeros(const struct kir *k, kir_val v);

/* The neutral element of an ACC op on a type. */
kir_val kir_neutral(struct kir *k, enum kir_op op, unsigned flags, enum kir_type t);

/* ---- transformations, checks, text, running --------------------------------------------------- */

/* Whether kir_expand_math supports a function on a type. */
bool kir_math_known(enum kir_math f, enum kir_type t);
/* One function as arithmetic at the builder's place (math*.c): portable, the same bits everywhere; MATH-free. */
kir_val kir_math_expand(struct kir *k, enum kir_math f, kir_val a, kir_val b);

/* The passes; what they do is in passes.def. */
void kir_fold(struct kir *k);
void kir_split(struct kir *k);
void kir_expand_math(struct kir *k);
void kir_clean(struct kir *k);
struct kir_pass {
    const char *name, *text;
    void (*run)(struct kir *k);
};
const struct kir_pass *kir_pass_get(size_t i);  /* NULL after the last */
const struct kir_pass *kir_pass_step(size_t i); /* of the pipeline, in order; NULL after the last */
/* Runs passes by their names, "expand-math,clean", or the pipeline where `names` is NULL. With `dump`, appends the kernel's
   text after each. INVALID_ARGUMENT for a name that is no pass. */
hilo_status kir_run_passes(struct kir *k, const char *names, struct strbuf *dump, struct diag_list *d);

/* HILO_INTERNAL with a diagnostic that names the node when the kernel is not well formed. */
hilo_status kir_verify(const struct kir *k, struct diag_list *d);
void kir_print(const struct kir *k, struct strbuf *out);
/* What kir_print writes, several kernels in a text; the next one from *at on, which moves past it. Node for node: nothing is
   folded or moved. HILO_NOT_FOUND at the end; INVALID_ARGUMENT with a place in the text. Should memory end, *out is to be freed
   where `recover` leads. */
hilo_status kir_parse(struct str text, size_t *at, hilo_allocator al, jmp_buf *recover, struct diag_list *d, struct kir **out);

/* Runs the kernel, without MATH, as a hilo_kernel_fn would; the definition of what it computes, bit for bit. Checks every
   access. Returns false (and the reason in `d`) when an index is outside of its buffer or memory ends. */
bool kir_run(const struct kir *k, void *const *buffers, void *scratch, int64_t begin, int64_t end, struct diag_list *d);

#endif
