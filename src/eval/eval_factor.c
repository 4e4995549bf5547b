/* Custom calls that are LAPACK's functions: see factor.h. */
#include "eval/eval_core.h"
#include "eval/factor.h"

/* ---- which factor a call is -------------------------------------------------------------------- */

static const struct {
    const char *real, *complex; /* LAPACK's name, without its first letter */
    enum factor_kind kind;
} names[] = {{"getrf", "getrf", FACTOR_LU},   {"geqrf", "geqrf", FACTOR_QR},  {"orgqr", "ungqr", FACTOR_REFLECTORS},
             {"syevd", "heevd", FACTOR_EIGH}, {"gesdd", "gesdd", FACTOR_SVD}, {"gesvd", "gesvd", FACTOR_SVD}};

static bool named(struct str target, struct factor *f) {
    static const struct {
        char letter;
        enum ir_dtype type;
    } types[] = {{'s', IR_F32_T}, {'d', IR_F64_T}, {'c', IR_C64_T}, {'z', IR_C128_T}};
    static const char before[] = "lapack_", after[] = "_ffi";
    enum { AT = sizeof before - 1, LETTERS = 5, BYTES = AT + 1 + LETTERS + sizeof after - 1 };
    if (target.n != BYTES || memcmp(target.p, before, AT) != 0 ||
        memcmp(target.p + AT + 1 + LETTERS, after, sizeof after - 1) != 0)
        return false;
    size_t t = 0, i = 0;
    while (t < 4 && types[t].letter != target.p[AT])
        t++;
    if (t == 4)
        return false;
    while (i < sizeof names / sizeof *names &&
           memcmp(t < 2 ? names[i].real : names[i].complex, target.p + AT + 1, LETTERS) != 0)
        i++;
    if (i == sizeof names / sizeof *names)
        return false;
    *f = (struct factor){.kind = names[i].kind, .type = types[t].type};
    return true;
}

/* A letter of the configuration; 0 where there is none. */
static int letter(const struct ir_module *m, ir_op op, struct str name) {
    ir_attr config = ir_prop(m, op, IR_CUSTOM_CALL_backend_config), attrs = ir_op_get(m, op)->attrs;
    int64_t v = 0;
    if ((IR_NONE(config) || ir_attr_get(m, config)->kind != IR_ATTR_DICT) && !IR_NONE(attrs))
        config = ir_dict_find(m, attrs, STR("mhlo.backend_config"));
    if (IR_NONE(config) || ir_attr_get(m, config)->kind != IR_ATTR_DICT)
        return 0;
    ir_attr a = ir_dict_find(m, config, name);
    return !IR_NONE(a) && ir_attr_as_i64(m, a, &v) && v > 0 && v < 128 ? (int)v : 0;
}

/* Whether a value is a tensor of the type, a batch of `rank` dimensions more, of these sizes; those of the batch are those of
   `like`. */
static bool is_batch(const struct ir_module *m, ir_val v, ir_val like, uint32_t rank, enum ir_dtype type, size_t rows,
                     size_t columns) {
    const struct ir_type_data *t = ir_val_type(m, v), *l = ir_val_type(m, like);
    if (t->kind != IR_TYPE_TENSOR || !ir_type_is_static(t) || t->quant || t->dtype != type || t->rank + 2 != l->rank + rank)
        return false;
    for (uint32_t i = 0; i + 2 < l->rank; i++)
        if (t->dims[i] != l->dims[i])
            return false;
    return (rank < 2 || (size_t)t->dims[t->rank - 2] == rows) && (rank < 1 || (size_t)t->dims[t->rank - 1] == columns);
}

static bool has_results(const struct ir_module *m, ir_op op, const struct factor *f) {
    const struct ir_op_data *o = ir_op_get(m, op);
    ir_val x = o->operands[0];
    const ir_val r[] = {ir_result(m, op, 0), o->nresults > 1 ? ir_result(m, op, 1) : x,
                        o->nresults > 2 ? ir_result(m, op, 2) : x};
    if (!is_batch(m, r[0], x, 2, f->type, f->m, f->n))
        return false;
    switch (f->kind) {
    case FACTOR_LU:
        return o->noperands == 1 && o->nresults == 3 && is_batch(m, r[1], x, 1, IR_I32_T, 0, f->k) &&
               is_batch(m, r[2], x, 0, IR_I32_T, 0, 0);
    case FACTOR_QR:
        return o->noperands == 1 && o->nresults == 2 && is_batch(m, r[1], x, 1, f->type, 0, f->k);
    case FACTOR_REFLECTORS:
        return o->noperands == 2 && o->nresults == 1 && f->m >= f->n && f->k <= f->n &&
               is_batch(m, o->operands[1], x, 1, f->type, 0, f->k);
    case FACTOR_EIGH:
        return o->noperands == 1 && o->nresults == 3 && f->m == f->n &&
               is_batch(m, r[1], x, 1, factor_real(f->type), 0, f->n) && is_batch(m, r[2], x, 0, IR_I32_T, 0, 0);
    default:
        return o->noperands == 1 && o->nresults == 5 && is_batch(m, r[1], x, 1, factor_real(f->type), 0, f->k) &&
               is_batch(m, ir_result(m, op, 4), x, 0, IR_I32_T, 0, 0) &&
               (!f->vectors || (is_batch(m, r[2], x, 2, f->type, f->m, f->full ? f->m : f->k) &&
                                is_batch(m, ir_result(m, op, 3), x, 2, f->type, f->full ? f->n : f->k, f->n)));
    }
}

bool factor_of(const struct ir_module *m, ir_op op, struct factor *out) {
    const struct ir_op_data *o = ir_op_get(m, op);
    if (ir_kind(m, op) != IR_CUSTOM_CALL || !named(ir_prop_str(m, op, IR_CUSTOM_CALL_call_target_name), out) || !o->noperands)
        return false;
    const struct ir_type_data *x = ir_val_type(m, o->operands[0]);
    if (x->kind != IR_TYPE_TENSOR || !ir_type_is_static(x) || x->dtype != out->type || x->rank < 2 || !o->nresults)
        return false;
    out->batch = 1;
    for (uint32_t i = 0; i + 2 < x->rank; i++)
        out->batch *= (size_t)x->dims[i]; /* of a type whose bytes are a size */
    out->m = (size_t)x->dims[x->rank - 2];
    out->n = (size_t)x->dims[x->rank - 1];
    out->k = out->m < out->n ? out->m : out->n;
    if (out->kind == FACTOR_REFLECTORS && o->noperands == 2 && ir_val_type(m, o->operands[1])->rank + 1 == x->rank)
        out->k = (size_t)ir_val_type(m, o->operands[1])->dims[x->rank - 2];
    int mode = letter(m, op, STR("mode"));
    out->vectors = mode != 'N';
    out->full = mode == 'A';
    out->upper = letter(m, op, STR("uplo")) == 'U';
    return (mode != 'O') && has_results(m, op, out);
}

/* Bytes of `rows` × `columns` numbers of each of the batch. */
static bool bytes_of(const struct factor *f, enum ir_dtype type, size_t rows, size_t columns, size_t *out) {
    return mem_mul(f->batch, rows, out) && mem_mul(*out, columns, out) && mem_mul(*out, ir_dtype_get(type)->bytes, out);
}

bool factor_bytes(const struct factor *f, uint32_t *nin, uint32_t *nout, size_t *bytes) {
    size_t matrices, scalars, reals, u, v, numbers;
    if (!bytes_of(f, f->type, f->m, f->n, &matrices) || !bytes_of(f, f->type, f->k, 1, &scalars) ||
        !bytes_of(f, factor_real(f->type), f->k, 1, &reals) || !bytes_of(f, IR_I32_T, f->k ? f->k : 1, 1, &numbers) ||
        !bytes_of(f, f->type, f->m, f->full ? f->m : f->k, &u) || !bytes_of(f, f->type, f->full ? f->n : f->k, f->n, &v))
        return false;
    size_t one = f->batch * sizeof(int32_t); /* at most `numbers` */
    const struct {
        uint32_t nin, nout;
        size_t bytes[FACTOR_BUFFERS];
    } all[FACTOR_KINDS] = {
        [FACTOR_LU] = {1, 3, {matrices, matrices, f->batch * f->k * sizeof(int32_t), one}},
        [FACTOR_QR] = {1, 2, {matrices, matrices, scalars}},
        [FACTOR_REFLECTORS] = {2, 1, {matrices, scalars, matrices}},
        [FACTOR_EIGH] = {1, 3, {matrices, matrices, reals, one}},
        [FACTOR_SVD] = {1, 5, {matrices, matrices, reals, f->vectors ? u : 0, f->vectors ? v : 0, one}},
    };
    *nin = all[f->kind].nin;
    *nout = all[f->kind].nout;
    memcpy(bytes, all[f->kind].bytes, sizeof all[f->kind].bytes);
    return true;
}

/* ---- evaluation -------------------------------------------------------------------------------- */

hilo_status eval_factor(struct eval *cx, ir_op op, struct value *const *in, struct value **out) {
    const struct ir_op_data *o = ir_op_get(cx->m, op);
    struct factor f;
    size_t bytes;
    const void *from[2];
    void *to[FACTOR_BUFFERS];
    if (!factor_of(cx->m, op, &f))
        return HILO_UNIMPLEMENTED;
    if (!factor_scratch(&f, &bytes))
        return HILO_RESOURCE_EXHAUSTED;
    for (uint32_t i = 0; i < o->noperands; i++)
        from[i] = in[i]->data;
    for (uint32_t i = 0; i < o->nresults; i++) {
        const struct ir_type_data *t = ir_val_type(cx->m, ir_result(cx->m, op, i));
        HILO_TRY(eval_out(cx, op, i, t->dims, t->rank, &out[i]));
        memset(out[i]->data, 0, out[i]->bytes); /* of results that may be anything */
        to[i] = out[i]->data;
    }
    void *scratch = mem_alloc(&cx->al, bytes);
    hilo_status status = scratch || !bytes ? HILO_OK : HILO_RESOURCE_EXHAUSTED;
    for (size_t i = 0; i < f.batch && f.m && f.n && status == HILO_OK; i++) {
        factor_one(&f, i, from, to, scratch);
        status = eval_work(cx, op, f.m * f.n * (f.k + 1));
    }
    mem_free(&cx->al, scratch, bytes);
    return status;
}
