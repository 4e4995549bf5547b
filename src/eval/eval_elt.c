/* Elementwise ops: which kernel an op on given element types takes, and the handlers that run it over
 * whole tensors.
 *
 * CHLO's broadcasting ops are the same kernels on operands that are stretched first. */
#include "eval/eval_elt.h"

#include "eval/body.h"

#include <inttypes.h>

/* ---- kernels that do not look at the number -------------------------------------------------- */

#define SELECT(name, T)                                                                            \
    ELT_LOOP(name, ELT_SIMD, T, const uint8_t *p = in[0]; const T *a = in[1]; const T *b = in[2],  \
             const T x = a[i]; const T y = b[i], p[i] ? x : y)
SELECT(select_8, uint8_t)
SELECT(select_16, uint16_t)
SELECT(select_32, uint32_t)
typedef uint64_t elt_u64 __attribute__((aligned(4))); /* complex numbers are aligned as their parts are */
SELECT(select_64, elt_u64)

struct pair {
    uint64_t low, high;
};
ELT_LOOP(select_128, ELT_PLAIN, struct pair, const uint8_t *p = in[0]; const struct pair *a = in[1];
         const struct pair *b = in[2], , p[i] ? a[i] : b[i])

static elt_run *select_of(enum ir_dtype t) {
    switch (ir_dtype_get(t)->bytes) {
    case 1: return select_8;
    case 2: return select_16;
    case 4: return select_32;
    case 8: return select_64;
    default: return select_128;
    }
}

/* The element that has the low bits of `bits`: two- and four-bit integers carry their sign. */
static uint8_t byte_element(const struct ir_dtype_info *t, uint64_t bits) {
    unsigned unused = 8 - t->bits;
    uint8_t high = (uint8_t)(bits << unused);
    return (uint8_t)(t->cls == IR_SINT ? (int8_t)high >> unused : high >> unused);
}

/* Elements of less than a byte: those of one type, from the low bits on, make up those of the other.
   `n` counts the wider ones, which have at most 64 bits. */
static void bitcast_packed(enum ir_dtype from, enum ir_dtype to, const void *in, void *out, size_t n) {
    const struct ir_dtype_info *a = ir_dtype_get(from), *b = ir_dtype_get(to);
    uint32_t width = a->bits > b->bits ? a->bits : b->bits;
    const uint8_t *src = in;
    uint8_t *dst = out;
    for (size_t i = 0; i < n; i++) {
        uint64_t bits = 0;
        for (uint32_t at = 0; at < width; at += a->bits, src += a->bytes) {
            uint64_t element = 0;
            memcpy(&element, src, a->bytes);
            if (a->bits < 64)
                element &= (UINT64_C(1) << a->bits) - 1;
            bits |= element << at;
        }
        for (uint32_t at = 0; at < width; at += b->bits, dst += b->bytes) {
            uint64_t element = bits >> at;
            if (b->bits < 8)
                *dst = byte_element(b, element);
            else
                memcpy(dst, &element, b->bytes);
        }
    }
}

/* `bytes` of the source, whose elements make up n of the wider type. */
static void bitcast(enum ir_dtype from, enum ir_dtype to, const void *in, void *out, size_t n,
                    size_t bytes) {
    if (ir_dtype_get(from)->bits % 8 || ir_dtype_get(to)->bits % 8)
        bitcast_packed(from, to, in, out, n);
    else if (bytes)
        memmove(out, in, bytes);
}

static void bitcast_same(const struct elt_kernel *k, const void *const *in, void *out, size_t n) {
    bitcast(k->in, k->out, in[0], out, n, n * ir_dtype_get(k->in)->bytes);
}

/* ---- resolution ------------------------------------------------------------------------------ */

const struct elt_row *elt_find(const struct elt_row *table, enum ir_op_kind op) {
    for (; table->op != IR_OP_NONE; table++)
        if (table->op == op)
            return table;
    return NULL;
}

/* The op that a broadcasting op applies; any other op itself. */
static enum ir_op_kind base_kind(enum ir_op_kind op) {
    return ir_op_info(op)->base ? ir_op_info(op)->base : op;
}

static bool parameters(const struct ir_module *m, ir_op op, struct elt_kernel *k) {
    bool broadcast = ir_kind(m, op) == IR_BROADCAST_COMPARE;
    if (k->op == IR_COMPARE) {
        k->param[0] = ir_prop_i64(m, op, broadcast ? IR_BROADCAST_COMPARE_comparison_direction
                                                   : IR_COMPARE_comparison_direction);
        k->param[1] = ir_prop_i64(m, op, broadcast ? IR_BROADCAST_COMPARE_compare_type
                                                   : IR_COMPARE_compare_type);
        return k->param[0] >= 0 && k->param[0] < ELT_DIRECTIONS;
    }
    if (k->op == IR_REDUCE_PRECISION) {
        k->param[0] = ir_prop_i64(m, op, IR_REDUCE_PRECISION_exponent_bits);
        k->param[1] = ir_prop_i64(m, op, IR_REDUCE_PRECISION_mantissa_bits);
        return k->param[0] > 0 && k->param[1] >= 0;
    }
    return true;
}

/* The element type that the op's result must have, so that a kernel never writes past its element. */
static bool result_fits(const struct elt_kernel *k) {
    switch (k->op) {
    case IR_CONVERT: return true;
    case IR_BITCAST_CONVERT: return ir_dtype_get(k->in)->bits == ir_dtype_get(k->out)->bits;
    case IR_COMPARE:
    case IR_IS_FINITE:
    case IR_IS_INF:
    case IR_IS_NEG_INF:
    case IR_IS_POS_INF: return k->out == IR_I1_T;
    case IR_ABS:
    case IR_REAL:
    case IR_IMAG: return k->out == ir_dtype_part(k->in);
    case IR_COMPLEX: return k->in == ir_dtype_part(k->out) && k->in != k->out;
    default: return k->out == k->in;
    }
}

static bool resolve_by_type(struct elt_kernel *k) {
    switch (k->op) {
    case IR_CONVERT: return elt_convert_resolve(k);
    case IR_SELECT: k->run = select_of(k->in); return true;
    case IR_BITCAST_CONVERT: k->run = bitcast_same; return true;
    case IR_COMPLEX: return elt_complex_resolve(k);
    default: break;
    }
    switch (ir_dtype_get(k->in)->cls) {
    case IR_FLOAT: return elt_float_resolve(k);
    case IR_COMPLEX_CLASS: return elt_complex_resolve(k);
    default: return elt_int_resolve(k);
    }
}

bool elt_lookup(const struct ir_module *m, ir_op op, const enum ir_dtype *in, uint32_t nin,
                enum ir_dtype out, struct elt_kernel *k) {
    enum ir_op_kind kind = base_kind(ir_kind(m, op));
    bool select = kind == IR_SELECT;
    if (nin <= select || nin > 3 || nin != ir_op_get(m, op)->noperands)
        return false;
    *k = (struct elt_kernel){.op = kind, .in = in[select], .out = out, .nin = nin};
    for (uint32_t i = 0; i < nin; i++)
        if (in[i] != (select && i == 0 ? IR_I1_T : k->in))
            return false;
    return result_fits(k) && parameters(m, op, k) && resolve_by_type(k);
}

hilo_status elt_resolve(const struct ir_module *m, struct diag_list *d, ir_op op,
                        const enum ir_dtype *in, uint32_t nin, enum ir_dtype out,
                        struct elt_kernel *k) {
    if (elt_lookup(m, op, in, nin, out, k))
        return HILO_OK;
    return ir_op_error(m, d, op, HILO_UNIMPLEMENTED, NULL, "has no meaning for elements of %s",
                       ir_dtype_get(in[nin > 1])->name);
}

/* ---- over whole tensors ---------------------------------------------------------------------- */

/* What one run needs: where the operands' elements are, and which of them have only one. */
struct run {
    const void *data[3];
    bool splat[3];
};

/* Runs a kernel over n elements, piece by piece; operands with one element are expanded to blocks of copies. */
static hilo_status run_kernel(struct eval *cx, ir_op op, const struct elt_kernel *k, const enum ir_dtype *types,
                              const struct run *r, void *out, size_t n) {
    enum { RUN_PIECE = 1 << 14, RUN_UNITS = 8 }; /* elements; scalar operations of a function */
    _Alignas(16) uint8_t copies[3][16 * ELT_BLOCK];
    size_t out_bytes = ir_dtype_get(k->out)->bytes, piece = r->splat[0] || r->splat[1] || r->splat[2] ? ELT_BLOCK : RUN_PIECE;
    for (uint32_t j = 0; j < k->nin; j++) {
        size_t bytes = ir_dtype_get(types[j])->bytes;
        for (size_t i = 0; r->splat[j] && i < elt_block(n, 0); i++)
            memcpy(copies[j] + i * bytes, r->data[j], bytes);
    }
    for (size_t i = 0; i < n; i += piece) {
        const void *block[3] = {NULL, NULL, NULL};
        size_t count = n - i < piece ? n - i : piece;
        for (uint32_t j = 0; j < k->nin; j++)
            block[j] = r->splat[j] ? copies[j]
                                   : (const uint8_t *)r->data[j] + i * ir_dtype_get(types[j])->bytes;
        k->run(k, block, (uint8_t *)out + i * out_bytes, count);
        HILO_TRY(eval_work(cx, op, RUN_UNITS * count));
    }
    return HILO_OK;
}

static bool same_shape(const struct value *a, const struct value *b) {
    return a->rank == b->rank &&
           (a->rank == 0 || memcmp(a->dims, b->dims, a->rank * sizeof *a->dims) == 0);
}

static hilo_status shapes_differ(struct eval *cx, ir_op op, const struct value *a, uint32_t i,
                                 const struct value *b) {
    struct strbuf have, want;
    strbuf_init(&have, cx->al);
    strbuf_init(&want, cx->al);
    value_type_text(a, &want);
    value_type_text(b, &have);
    hilo_status status = EVAL_FAIL(cx, op, HILO_INVALID_ARGUMENT,
                                   "operand %" PRIu32 " is %s, which does not fit %s", i,
                                   have.p ? have.p : "", want.p ? want.p : "");
    strbuf_free(&have);
    strbuf_free(&want);
    return status;
}

/* An op whose operands have the shape of operand `like`, but for scalars where `scalars` has their
   bit. */
static hilo_status apply(struct eval *cx, ir_op op, struct value *const *in, uint32_t like,
                         unsigned scalars, struct value **out) {
    struct elt_kernel k;
    struct run r = {0};
    enum ir_dtype types[3] = {IR_DTYPE_NONE};
    uint32_t nin = ir_op_get(cx->m, op)->noperands, over = like;
    for (uint32_t i = 0; i < nin && i < 3; i++) {
        types[i] = in[i]->dtype;
        r.data[i] = in[i]->data;
        r.splat[i] = (scalars >> i & 1) && in[i]->rank == 0 && in[like]->rank != 0;
        if (!r.splat[i] && !same_shape(in[i], in[like]))
            return shapes_differ(cx, op, in[like], i, in[i]);
    }
    HILO_TRY(elt_resolve(cx->m, cx->d, op, types, nin, eval_result_dtype(cx, op, 0), &k));
    for (uint32_t i = 0; i < nin; i++)
        if (!r.splat[i] && eval_reusable(cx, op, i, in[i]) &&
            ir_dtype_get(types[i])->bytes == ir_dtype_get(k.out)->bytes)
            over = i;
    HILO_TRY(eval_out_over(cx, op, 0, in, over, &out[0]));
    return run_kernel(cx, op, &k, types, &r, out[0]->data, out[0]->count);
}

#define SAME_SHAPE(name)                                                                           \
    hilo_status eval_##name(struct eval *cx, ir_op op, struct value *const *in, struct value **out) \
    {                                                                                              \
        return apply(cx, op, in, 0, 0, out);                                                       \
    }
SAME_SHAPE(unary)
SAME_SHAPE(binary)
SAME_SHAPE(compare)
SAME_SHAPE(complex)
SAME_SHAPE(convert)
SAME_SHAPE(reduce_precision)

hilo_status eval_clamp(struct eval *cx, ir_op op, struct value *const *in, struct value **out) {
    return apply(cx, op, in, 1, 1u << 0 | 1u << 2, out);
}

/* A predicate for all elements chooses one of the branches as it is. */
hilo_status eval_select(struct eval *cx, ir_op op, struct value *const *in, struct value **out) {
    if (in[0]->rank != 0 || !same_shape(in[1], in[2]) || in[1]->dtype != in[2]->dtype)
        return apply(cx, op, in, 1, 1u << 0, out);
    out[0] = value_ref(in[value_i64(in[0], 0) ? 1 : 2]);
    return HILO_OK;
}

/* The shape gains or loses an innermost dimension where the widths differ. */
hilo_status eval_bitcast_convert(struct eval *cx, ir_op op, struct value *const *in,
                                 struct value **out) {
    const struct value *v = in[0];
    enum ir_dtype type = eval_result_dtype(cx, op, 0);
    int64_t from = ir_dtype_get(v->dtype)->bits, to = ir_dtype_get(type)->bits;
    int64_t dims[IR_MAX_RANK + 1];
    uint32_t rank = v->rank;
    if (rank)
        memcpy(dims, v->dims, rank * sizeof *dims);
    bool fits = from < to ? to % from == 0 && rank > 0 && dims[rank - 1] == to / from
                          : from % to == 0;
    if (!fits || ((from % 8 != 0 || to % 8 != 0) && (from > 64 || to > 64)))
        return EVAL_FAIL(cx, op, HILO_INVALID_ARGUMENT, "cannot reinterpret %s as %s in this shape",
                         ir_dtype_get(v->dtype)->name, ir_dtype_get(type)->name);
    if (from < to)
        rank--;
    else if (from > to)
        dims[rank++] = from / to;
    HILO_TRY(eval_out(cx, op, 0, dims, rank, &out[0]));
    bitcast(v->dtype, type, v->data, out[0]->data, from < to ? out[0]->count : v->count, v->bytes);
    return HILO_OK;
}

/* ---- broadcasting ---------------------------------------------------------------------------- */

/* Result dimension that dimension i of operand v maps to: by broadcast_dimensions for the
   operand of lower rank, else aligned at the innermost one. */
static uint32_t aligned_dim(const int64_t *along, size_t nalong, uint32_t rank, const struct value *v,
                            uint32_t i) {
    if (along && nalong == v->rank && v->rank < rank && along[i] >= 0 && along[i] < rank)
        return (uint32_t)along[i];
    return rank - v->rank + i;
}

/* v in the shape `dims`: strides of 0 along the dimensions it lacks. */
static void stretch(const struct value *v, const int64_t *strides, const int64_t *dims, uint32_t rank,
                    uint8_t *out) {
    size_t bytes = ir_dtype_get(v->dtype)->bytes;
    size_t inner = (size_t)dims[rank - 1];
    int64_t index[IR_MAX_RANK] = {0};
    do {
        int64_t offset = 0;
        for (uint32_t d = 0; d + 1 < rank; d++)
            offset += index[d] * strides[d];
        const uint8_t *src = (const uint8_t *)v->data + (size_t)offset * bytes;
        if (strides[rank - 1] == 1) {
            memcpy(out, src, inner * bytes);
            out += inner * bytes;
        } else {
            for (size_t i = 0; i < inner; i++, out += bytes)
                memcpy(out, src + i * (size_t)strides[rank - 1] * bytes, bytes);
        }
    } while (index_next(index, dims, rank - 1));
}

struct broadcast {
    const int64_t *along; /* broadcast_dimensions or NULL */
    size_t nalong;
    uint32_t rank;
    int64_t dims[IR_MAX_RANK];
};

/* Widens the shape by an operand. */
static hilo_status broadcast_with(struct eval *cx, ir_op op, const struct value *v, struct broadcast *b) {
    for (uint32_t i = 0; i < v->rank; i++) {
        int64_t *dim = &b->dims[aligned_dim(b->along, b->nalong, b->rank, v, i)];
        if (*dim == 1)
            *dim = v->dims[i];
        else if (v->dims[i] != 1 && v->dims[i] != *dim)
            return EVAL_FAIL(cx, op, HILO_INVALID_ARGUMENT,
                             "cannot broadcast a dimension of %" PRId64 " with one of %" PRId64,
                             v->dims[i], *dim);
    }
    return HILO_OK;
}

/* A new reference to v, or to a stretched copy. */
static hilo_status broadcast_one(struct eval *cx, struct value *v, const struct broadcast *b,
                                 struct value **out) {
    if (v->rank == b->rank && memcmp(v->dims, b->dims, v->rank * sizeof *v->dims) == 0) {
        *out = value_ref(v);
        return HILO_OK;
    }
    int64_t own[IR_MAX_RANK], strides[IR_MAX_RANK] = {0};
    value_strides(v->dims, v->rank, own);
    for (uint32_t i = 0; i < v->rank; i++)
        if (v->dims[i] != 1)
            strides[aligned_dim(b->along, b->nalong, b->rank, v, i)] = own[i];
    HILO_TRY(value_tensor(&cx->al, v->dtype, b->dims, b->rank, out));
    if ((*out)->count)
        stretch(v, strides, b->dims, b->rank, (*out)->data);
    return HILO_OK;
}

static hilo_status broadcast_run(struct eval *cx, ir_op op, struct value *const *in, uint32_t nin,
                                 const struct broadcast *b, struct value **out) {
    struct elt_kernel k;
    struct run r = {0};
    enum ir_dtype types[3] = {IR_DTYPE_NONE};
    struct value *wide[3] = {NULL, NULL, NULL};
    for (uint32_t i = 0; i < nin; i++)
        types[i] = in[i]->dtype;
    HILO_TRY(elt_resolve(cx->m, cx->d, op, types, nin, eval_result_dtype(cx, op, 0), &k));
    hilo_status status = HILO_OK;
    for (uint32_t i = 0; i < nin && status == HILO_OK; i++) {
        r.splat[i] = in[i]->rank == 0 && b->rank != 0;
        status = r.splat[i] ? HILO_OK : broadcast_one(cx, in[i], b, &wide[i]);
        r.data[i] = wide[i] ? wide[i]->data : in[i]->data;
    }
    if (status == HILO_OK)
        status = eval_out(cx, op, 0, b->dims, b->rank, &out[0]);
    if (status == HILO_OK)
        status = run_kernel(cx, op, &k, types, &r, out[0]->data, out[0]->count);
    for (uint32_t i = 0; i < nin; i++)
        value_unref(wide[i]);
    return status;
}

hilo_status eval_chlo_broadcast(struct eval *cx, ir_op op, struct value *const *in, struct value **out) {
    struct broadcast b = {.rank = 0};
    uint32_t nin = ir_op_get(cx->m, op)->noperands;
    uint32_t slot = ir_slot_named(ir_kind(cx->m, op), STR("broadcast_dimensions"));
    if (slot != IR_SLOT_NONE)
        b.along = ir_prop_i64s(cx->m, op, (enum ir_slot)slot, &b.nalong);
    for (uint32_t i = 0; i < nin; i++)
        b.rank = in[i]->rank > b.rank ? in[i]->rank : b.rank;
    for (uint32_t d = 0; d < b.rank; d++)
        b.dims[d] = 1;
    for (uint32_t i = 0; i < nin; i++)
        HILO_TRY(broadcast_with(cx, op, in[i], &b));
    return broadcast_run(cx, op, in, nin, &b, out);
}

/* ---- constants and maps ---------------------------------------------------------------------- */

/* One element of a number's attribute; false for anything else. */
static bool constant_element(const struct ir_module *m, ir_attr a, enum ir_dtype t, uint8_t bytes[16]) {
    const struct ir_dtype_info *info = ir_dtype_get(t);
    const struct ir_attr_data *d = ir_attr_get(m, a);
    int64_t i;
    if (d->kind == IR_ATTR_FLOAT && info->cls == IR_FLOAT) {
        fp_store(info->fp, bytes, fp_encode(info->fp, d->f));
        return true;
    }
    if (d->kind == IR_ATTR_COMPLEX && ir_type_get(m, d->type)->dtype == t) {
        double parts[2] = {ir_attr_get(m, d->items[0])->f, ir_attr_get(m, d->items[1])->f};
        fp_encode_n_f64(info->fp, parts, bytes, 2);
        return true;
    }
    if (!ir_attr_as_i64(m, a, &i) || info->cls == IR_FLOAT || info->cls == IR_COMPLEX_CLASS)
        return false;
    if (info->bits < 8)
        bytes[0] = byte_element(info, (uint64_t)i);
    else
        memcpy(bytes, &i, info->bytes); /* little endian, as all data of a module */
    return true;
}

hilo_status eval_constant_like(struct eval *cx, ir_op op, struct value *const *in, struct value **out) {
    uint8_t element[16];
    enum ir_dtype t = eval_result_dtype(cx, op, 0);
    ir_attr value = ir_prop(cx->m, op, IR_CONSTANT_LIKE_value);
    if (!constant_element(cx->m, value, t, element))
        return EVAL_FAIL(cx, op, HILO_UNIMPLEMENTED, "needs a number of type %s as its value",
                         ir_dtype_get(t)->name);
    HILO_TRY(eval_out(cx, op, 0, in[0]->dims, in[0]->rank, &out[0]));
    size_t bytes = ir_dtype_get(t)->bytes;
    for (size_t i = 0; i < out[0]->count; i++)
        memcpy((uint8_t *)out[0]->data + i * bytes, element, bytes);
    return HILO_OK;
}

hilo_status eval_map(struct eval *cx, ir_op op, struct value *const *in, struct value **out) {
    struct body body;
    uint32_t nin = ir_op_get(cx->m, op)->noperands;
    if (nin == 0)
        return EVAL_FAIL(cx, op, HILO_INVALID_ARGUMENT, "needs an operand");
    for (uint32_t i = 1; i < nin; i++)
        if (!same_shape(in[0], in[i]))
            return shapes_differ(cx, op, in[0], i, in[i]);
    size_t nbytes = (nin + 1) * sizeof(void *);
    const void **args = mem_alloc(&cx->al, nbytes);
    if (!args)
        return HILO_RESOURCE_EXHAUSTED;
    for (uint32_t i = 0; i < nin; i++)
        args[i] = in[i]->data;
    hilo_status status = body_open(cx, op, ir_op_region(cx->m, op, 0), &body);
    if (status == HILO_OK) {
        status = eval_out(cx, op, 0, in[0]->dims, in[0]->rank, &out[0]);
        if (status == HILO_OK)
            status = body_run(&body, args, &out[0]->data, out[0]->count);
        body_close(&body);
    }
    mem_free(&cx->al, args, nbytes);
    return status;
}
