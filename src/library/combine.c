/* Bodies of one binary op over many elements: see combine.h. */
#include "library/combine.h"

#include "eval/eval_elt.h"

enum { COMBINE_BLOCK = 256 };

/* Vectors, and vectors at any place of an array. */
#define VECTOR(T, v, u)                                                                                                        \
    typedef T v __attribute__((vector_size(32)));                                                                              \
    typedef T u __attribute__((vector_size(32), aligned(sizeof(T)), may_alias))
VECTOR(float, v8f, u8f);
VECTOR(int32_t, v8i, u8i);
VECTOR(uint32_t, v8u, u8u);
VECTOR(double, v4d, u4d);
typedef int64_t v4l __attribute__((vector_size(32)));

struct row_loop {
    enum ir_dtype dtype;
    enum ir_op_kind op;
    void (*rows)(void *acc, const void *const *rows, size_t nrows, size_t n);
    void (*at)(void *acc, const int64_t *to, const void *x, const int64_t *from, size_t n);
};

#define NAME(x) plain_##x
#define TARGET
#include "library/combine_rows.h"
#if LIB_X86
#define NAME(x) avx2_##x
#define TARGET  LIB_AVX2
#include "library/combine_rows.h"
#endif

static bool kernel_resolve(struct elt_kernel *k) {
    switch (ir_dtype_get(k->in)->cls) {
    case IR_FLOAT:
        return elt_float_resolve(k);
    case IR_COMPLEX_CLASS:
        return elt_complex_resolve(k);
    default:
        return elt_int_resolve(k);
    }
}

bool combine_of(enum ir_op_kind op, enum ir_dtype dtype, struct combine *out) {
    if (op <= IR_OP_NONE || op >= IR_OP_COUNT || dtype <= IR_DTYPE_NONE || dtype >= IR_DTYPE_COUNT || op == IR_COMPARE ||
        op == IR_COMPLEX || !ir_op_has(op, IR_T_ELEMENTWISE))
        return false;
    *out = (struct combine){.op = op,
                            .dtype = dtype,
                            .bytes = ir_dtype_get(dtype)->bytes,
                            .kernel = {.op = op, .in = dtype, .out = dtype, .nin = 2}};
    const struct row_loop *loops = plain_loops;
#if LIB_X86
    if (lib_has_avx2())
        loops = avx2_loops;
#endif
    for (size_t i = 0; i < sizeof plain_loops / sizeof *plain_loops; i++)
        if (loops[i].dtype == dtype && loops[i].op == op)
            out->rows = loops[i].rows, out->at = loops[i].at;
    return kernel_resolve(&out->kernel);
}

bool combine_compare(enum ir_dtype dtype, int64_t direction, int64_t type, struct elt_kernel *out) {
    if (dtype <= IR_DTYPE_NONE || dtype >= IR_DTYPE_COUNT || direction < 0 || direction >= ELT_DIRECTIONS)
        return false;
    *out = (struct elt_kernel){.op = IR_COMPARE, .in = dtype, .out = IR_I1_T, .nin = 2, .param = {direction, type}};
    return kernel_resolve(out);
}

enum ir_op_kind combine_body(const struct ir_module *m, ir_region r, enum ir_dtype dtype) {
    enum ir_op_kind op = lanes_single_op(m, r);
    if (op == IR_OP_NONE)
        return op;
    const struct ir_block_data *b = ir_block_get(m, ir_region_get(m, r)->first);
    const struct ir_type_data *result = ir_val_type(m, ir_op_get(m, b->last)->operands[0]);
    bool fits = result->dtype == (op == IR_COMPARE ? IR_I1_T : dtype) && !result->quant;
    for (uint32_t i = 0; i < b->nargs; i++)
        fits = fits && ir_val_type(m, b->args[i])->dtype == dtype && !ir_val_type(m, b->args[i])->quant;
    return fits ? op : IR_OP_NONE;
}

void combine_rows(const struct combine *c, void *acc, const void *const *rows, size_t nrows, size_t stride, size_t n) {
    _Alignas(64) char packed[16 * COMBINE_BLOCK];
    if (c->rows && stride == 1) {
        c->rows(acc, rows, nrows, n);
        return;
    }
    for (size_t at = 0; at < n; at += COMBINE_BLOCK) {
        size_t m = n - at < COMBINE_BLOCK ? n - at : COMBINE_BLOCK;
        char *to = (char *)acc + at * c->bytes;
        for (size_t r = 0; r < nrows; r++) {
            const void *from = (const char *)rows[r] + at * stride * c->bytes;
            if (stride != 1) {
                combine_pack(from, stride, c->bytes, m, packed);
                from = packed;
            }
            if (c->rows)
                c->rows(to, &from, 1, m);
            else
                combine_run(c, to, from, m);
        }
    }
}

void combine_at(const struct combine *c, void *acc, const int64_t *to, const void *x, const int64_t *from, size_t n) {
    if (c->at) {
        c->at(acc, to, x, from, n);
        return;
    }
    for (size_t i = 0; i < n; i++)
        combine_run(c, (char *)acc + to[i] * (ptrdiff_t)c->bytes, (const char *)x + from[i] * (ptrdiff_t)c->bytes, 1);
}

typedef uint64_t half_aligned_u64 __attribute__((aligned(4))); /* complex numbers are aligned as their parts are */
struct pair {
    uint64_t a, b;
};

#define COPY_AT(T)                                                                                                             \
    do {                                                                                                                       \
        const T *p = x;                                                                                                        \
        T *q = acc;                                                                                                            \
        for (size_t i = 0; i < n; i++)                                                                                         \
            q[to[i]] = p[from[i]];                                                                                             \
    } while (0)

void combine_copy_at(void *acc, const int64_t *to, const void *x, const int64_t *from, size_t bytes, size_t n) {
    switch (bytes) {
    case 1:
        COPY_AT(uint8_t);
        break;
    case 2:
        COPY_AT(uint16_t);
        break;
    case 4:
        COPY_AT(uint32_t);
        break;
    case 8:
        COPY_AT(half_aligned_u64);
        break;
    default:
        COPY_AT(struct pair);
        break;
    }
}

#define PACK(T)                                                                                                                \
    do {                                                                                                                       \
        const T *p = from;                                                                                                     \
        T *q = to;                                                                                                             \
        for (size_t i = 0; i < n; i++)                                                                                         \
            q[i] = p[i * stride];                                                                                              \
    } while (0)

void combine_pack(const void *from, size_t stride, size_t bytes, size_t n, void *to) {
    switch (bytes) {
    case 1:
        PACK(uint8_t);
        break;
    case 2:
        PACK(uint16_t);
        break;
    case 4:
        PACK(uint32_t);
        break;
    case 8:
        PACK(half_aligned_u64);
        break;
    default:
        PACK(struct pair);
        break;
    }
}

#define FILL(T)                                                                                                                \
    do {                                                                                                                       \
        T v, *q = to;                                                                                                          \
        memcpy(&v, element, sizeof v);                                                                                         \
        for (size_t i = 0; i < n; i++)                                                                                         \
            q[i] = v;                                                                                                          \
    } while (0)

void combine_fill(void *to, const void *element, size_t bytes, size_t n) {
    switch (bytes) {
    case 1:
        FILL(uint8_t);
        break;
    case 2:
        FILL(uint16_t);
        break;
    case 4:
        FILL(uint32_t);
        break;
    case 8:
        FILL(half_aligned_u64);
        break;
    default:
        FILL(struct pair);
        break;
    }
}

/* Zero for sums, one for products, false for exclusive or; what is idempotent has met the element already. */
bool combine_neutral(const struct combine *c, const void *element) {
    const struct ir_dtype_info *t = ir_dtype_get(c->dtype);
    double value = 0;
    uint64_t bits = 0;
    if (combine_idempotent(c->op))
        return true;
    if (t->cls == IR_COMPLEX_CLASS || (c->op != IR_ADD && c->op != IR_MULTIPLY && c->op != IR_XOR))
        return false;
    memcpy(&bits, element, t->bytes);
    if (t->cls != IR_FLOAT)
        return bits == (c->op == IR_MULTIPLY);
    fp_decode_n_f64(t->fp, element, &value, 1);
    return c->op == IR_MULTIPLY ? value == 1 : c->op == IR_ADD && value == 0;
}

bool combine_start(const struct combine *c, void *element) {
    static const struct {
        enum ir_dtype dtype;
        uint64_t add, multiply, maximum, minimum; /* a sum of -0 and x is x, also where x is a zero */
    } starts[] = {
        {IR_F32_T, 0x80000000, 0x3F800000, 0xFF800000, 0x7F800000},
        {IR_F64_T, UINT64_C(1) << 63, UINT64_C(0x3FF) << 52, UINT64_C(0xFFF) << 52, UINT64_C(0x7FF) << 52},
        {IR_I32_T, 0, 1, 0x80000000, 0x7FFFFFFF},
        {IR_UI32_T, 0, 1, 0, UINT32_MAX},
    };
    for (size_t i = 0; c->rows && i < sizeof starts / sizeof *starts; i++) {
        if (starts[i].dtype != c->dtype)
            continue;
        uint64_t bits = c->op == IR_ADD        ? starts[i].add
                        : c->op == IR_MULTIPLY ? starts[i].multiply
                        : c->op == IR_MAXIMUM  ? starts[i].maximum
                                               : starts[i].minimum;
        uint32_t half = (uint32_t)bits;
        memcpy(element, c->bytes == sizeof half ? (const void *)&half : &bits, c->bytes);
        return true;
    }
    return false;
}
