/* Types as MLIR writes them.
 *
 * Types that no op of ours takes (i10, f80, none, !shape.witness …) are kept as they are written: it is the verifier that
 * refuses them, at the op that uses them. */
#include "read/text/text.h"

#include <math.h>
#include <stdio.h>

static hilo_status type_any(struct text_parser *p, ir_type *out);

/* ---- scalars ----------------------------------------------------------------------------------------------------- */

/* MLIR's integers of any width, and the floats that are not in dtypes.def. */
static bool type_is_foreign_scalar(struct str s) {
    if (str_is(s, "none") || str_is(s, "f80") || str_is(s, "f128"))
        return true;
    size_t i = s.n && (s.p[0] == 'u' || s.p[0] == 's');
    if (s.n < i + 2 || s.n > i + 8 || s.p[i] != 'i' || s.p[i + 1] == '0')
        return false;
    while (++i < s.n)
        if (s.p[i] < '0' || s.p[i] > '9')
            return false;
    return true;
}

static hilo_status type_scalar(struct text_parser *p, ir_type *out) {
    struct str name = p->tok.text;
    enum ir_dtype t = ir_dtype_named(name);
    if (t != IR_DTYPE_NONE)
        *out = ir_type_scalar(p->m, t);
    else if (type_is_foreign_scalar(name))
        *out = ir_type_opaque(p->m, name);
    else
        return text_error(p, NULL, "unknown type '%.*s'", (int)name.n, name.p);
    text_next(p);
    return HILO_OK;
}

/* At `<` after the word complex. */
static hilo_status type_complex(struct text_parser *p, ir_type *out) {
    ir_type part;
    HILO_TRY(text_expect(p, TEXT_LESS));
    const char *at = p->tok.at;
    HILO_TRY(text_type(p, &part));
    const struct ir_type_data *d = ir_type_get(p->m, part);
    struct str name = ir_str_get(p->m, d->text);
    if (d->kind == IR_TYPE_SCALAR)
        name = str_of(ir_dtype_get(d->dtype)->name);
    else if (!type_is_foreign_scalar(name))
        return text_error(p, at, "expected a float or integer type as the part of a complex number");
    char spelled[32];
    int n = snprintf(spelled, sizeof spelled, "complex<%.*s>", (int)name.n, name.p);
    struct str whole = {spelled, (size_t)n};
    enum ir_dtype t = ir_dtype_named(whole);
    *out = t == IR_DTYPE_NONE ? ir_type_opaque(p->m, whole) : ir_type_scalar(p->m, t);
    return text_expect(p, TEXT_GREATER);
}

/* ---- shapes ------------------------------------------------------------------------------------------------------ */

/* The digits of a dimension: `0x3` is a hexadecimal number to the lexer, but means 0, x, 3 here. */
static hilo_status type_dim(struct text_parser *p, int64_t *out) {
    int64_t n = 0;
    const char *s = p->tok.at;
    for (; s < p->at && *s >= '0' && *s <= '9'; s++)
        if (__builtin_mul_overflow(n, 10, &n) || __builtin_add_overflow(n, *s - '0', &n))
            return text_error(p, NULL, "dimension is out of the range of 64 bits");
    *out = n;
    text_resume(p, s);
    return HILO_OK;
}

/* `2x?x3x` up to the element type; the x is the first letter of a word. */
static hilo_status type_dims(struct text_parser *p, int64_t dims[IR_MAX_RANK], uint32_t *rank) {
    for (*rank = 0; text_is(p, TEXT_INT) || text_is(p, TEXT_QUESTION); (*rank)++) {
        if (*rank == IR_MAX_RANK)
            return text_error(p, NULL, "more than %d dimensions", (int)IR_MAX_RANK);
        dims[*rank] = IR_DYNAMIC;
        if (!text_accept(p, TEXT_QUESTION))
            HILO_TRY(type_dim(p, &dims[*rank]));
        if (!text_is(p, TEXT_IDENT) || p->tok.at[0] != 'x')
            return text_expected(p, "'x' after a dimension");
        text_resume(p, p->tok.at + 1);
    }
    return HILO_OK;
}

/* The encoding of a tensor whose bounds do not fit its dimensions is refused. */
static hilo_status type_check_bounds(struct text_parser *p, const char *at, ir_attr encoding, const int64_t *dims,
                                     uint32_t rank) {
    size_t n;
    const int64_t *bounds = ir_field_dims(p->m, encoding, IR_TYPE_EXTENSIONS_bounds_F, &n);
    if (ir_attr_get(p->m, encoding)->sub != IR_STRUCT_TYPE_EXTENSIONS)
        return HILO_OK;
    if (n != rank)
        return text_error(p, at, "%zu bounds for a tensor of rank %u", n, (unsigned)rank);
    for (uint32_t i = 0; i < rank; i++)
        if (bounds[i] != IR_DYNAMIC && dims[i] != IR_DYNAMIC)
            return text_error(p, at, "dimension %u has the static size %lld and cannot have a bound; expected '?'",
                              (unsigned)i, (long long)dims[i]);
    return HILO_OK;
}

/* What follows the element type: an encoding, or the layout and memory space of a memref. */
static hilo_status type_encoding(struct text_parser *p, enum ir_type_kind kind, ir_attr *out) {
    if (kind != IR_TYPE_MEMREF)
        return text_attr(p, (ir_type){0}, out);
    struct str text;
    const char *at = p->tok.at;
    if (text_is(p, TEXT_HASH)) {
        HILO_TRY(text_attr(p, (ir_type){0}, out));
        if (text_is(p, TEXT_GREATER))
            return HILO_OK;
        text_resume(p, at);
    }
    HILO_TRY(text_balanced(p, TEXT_GREATER, &text));
    *out = ir_attr_opaque(p->m, text);
    return HILO_OK;
}

static hilo_status type_shaped(struct text_parser *p, enum ir_type_kind kind, ir_type *out) {
    int64_t dims[IR_MAX_RANK];
    uint32_t rank = 0;
    ir_type elem;
    ir_attr encoding = {0};
    HILO_TRY(text_expect(p, TEXT_LESS));
    if (kind == IR_TYPE_TENSOR && text_accept(p, TEXT_STAR)) {
        kind = IR_TYPE_UNRANKED;
        if (!text_is(p, TEXT_IDENT) || p->tok.at[0] != 'x')
            return text_expected(p, "'x' after '*'");
        text_resume(p, p->tok.at + 1);
    } else {
        HILO_TRY(type_dims(p, dims, &rank));
    }
    const char *at = p->tok.at;
    HILO_TRY(text_type(p, &elem));
    enum ir_type_kind ek = ir_type_get(p->m, elem)->kind;
    if (ek != IR_TYPE_SCALAR && ek != IR_TYPE_QUANT && ek != IR_TYPE_OPAQUE)
        return text_error(p, at, "'%.*s' cannot be an element", (int)(p->last - at), at);
    if (text_accept(p, TEXT_COMMA)) {
        at = p->tok.at;
        if (kind == IR_TYPE_UNRANKED)
            return text_error(p, at, "an unranked tensor cannot have an encoding");
        HILO_TRY(type_encoding(p, kind, &encoding));
        if (kind == IR_TYPE_TENSOR)
            HILO_TRY(type_check_bounds(p, at, encoding, dims, rank));
    }
    *out = ir_type_shaped(p->m, kind, elem, dims, rank, encoding);
    return text_expect(p, TEXT_GREATER);
}

/* ---- groups ------------------------------------------------------------------------------------------------------ */

struct type_list { ir_type *v; uint32_t n, cap; };

/* Types with commas between them, up to a token of kind `close`, which is consumed. */
static hilo_status type_until(struct text_parser *p, enum text_kind close, struct type_list *out) {
    while (!text_accept(p, close)) {
        if (out->n && !text_accept(p, TEXT_COMMA))
            return text_expect(p, close);
        ir_type t;
        HILO_TRY(text_type(p, &t));
        ARENA_PUSH(&p->m->arena, out, t);
    }
    return HILO_OK;
}

hilo_status text_type_list(struct text_parser *p, ir_type **out, uint32_t *n) {
    struct type_list list = {0};
    do {
        ir_type t;
        HILO_TRY(text_type(p, &t));
        ARENA_PUSH(&p->m->arena, &list, t);
    } while (text_accept(p, TEXT_COMMA));
    *out = list.v;
    *n = list.n;
    return HILO_OK;
}

hilo_status text_function_type(struct text_parser *p, ir_type *out) {
    struct type_list ins = {0}, outs = {0};
    HILO_TRY(text_expect(p, TEXT_LPAREN));
    HILO_TRY(type_until(p, TEXT_RPAREN, &ins));
    HILO_TRY(text_expect(p, TEXT_ARROW));
    if (text_accept(p, TEXT_LPAREN)) {
        HILO_TRY(type_until(p, TEXT_RPAREN, &outs));
    } else {
        ir_type t;
        HILO_TRY(text_type(p, &t));
        ARENA_PUSH(&p->m->arena, &outs, t);
    }
    *out = ir_type_function(p->m, ins.v, ins.n, outs.v, outs.n);
    return HILO_OK;
}

static hilo_status type_tuple(struct text_parser *p, ir_type *out) {
    struct type_list list = {0};
    HILO_TRY(text_expect(p, TEXT_LESS));
    HILO_TRY(type_until(p, TEXT_GREATER, &list));
    *out = ir_type_group(p->m, IR_TYPE_TUPLE, list.v, list.n);
    return HILO_OK;
}

static hilo_status type_future(struct text_parser *p, ir_type *out) {
    struct type_list list = {0};
    HILO_TRY(text_expect(p, TEXT_LESS));
    do {
        ir_type t;
        const char *at = p->tok.at;
        HILO_TRY(text_type(p, &t));
        if (ir_type_get(p->m, t)->kind != IR_TYPE_TENSOR)
            return text_error(p, at, "a future must be of ranked tensors, found '%.*s'", (int)(p->last - at), at);
        ARENA_PUSH(&p->m->arena, &list, t);
    } while (text_accept(p, TEXT_COMMA));
    *out = ir_type_group(p->m, IR_TYPE_FUTURE, list.v, list.n);
    return text_expect(p, TEXT_GREATER);
}

/* ---- quantised elements ------------------------------------------------------------------------------------------ */

struct type_quant {
    struct ir_quant q;
    struct { double *v; uint32_t n, cap; } scales;
    struct { int64_t *v; uint32_t n, cap; } zeros;
    struct { int64_t *v; uint32_t n, cap; } axes, blocks;
    int64_t dims[IR_MAX_RANK]; /* lengths of the nested lists of scales; 0 while not known */
};

/* Storage is spelled u8 where other types are spelled ui8; si8 is the dtype i8. */
static enum ir_dtype quant_storage_named(struct str name) {
    char spelled[8] = "ui";
    if (str_starts(name, "si"))
        return ir_dtype_named((struct str){name.p + 1, name.n - 1});
    if (!str_starts(name, "u") || name.n > 4 || str_starts(name, "ui"))
        return ir_dtype_named(name);
    memcpy(spelled + 2, name.p + 1, name.n - 1);
    return ir_dtype_named((struct str){spelled, name.n + 1});
}

/* The storage type, and perhaps its range. */
static hilo_status quant_storage(struct text_parser *p, struct ir_quant *q) {
    q->storage = text_is(p, TEXT_IDENT) ? quant_storage_named(p->tok.text) : IR_DTYPE_NONE;
    q->signed_storage = str_starts(p->tok.text, "si");
    const struct ir_dtype_info *info = ir_dtype_get(q->storage);
    bool is_unsigned = info->cls == IR_UINT;
    if (q->storage == IR_DTYPE_NONE || (info->cls != IR_SINT && !is_unsigned) || info->bits > 32)
        return text_expected(p, "a storage type: i2, i4, i8, i16, i32, or one of u2 to u32");
    text_next(p);
    int64_t least = is_unsigned ? 0 : -((int64_t)1 << (info->bits - 1));
    int64_t most = ((int64_t)1 << (info->bits - !is_unsigned)) - 1;
    q->storage_min = least;
    q->storage_max = most;
    if (!text_accept(p, TEXT_LESS))
        return HILO_OK;
    const char *at = p->tok.at;
    HILO_TRY(text_i64(p, &q->storage_min));
    HILO_TRY(text_expect(p, TEXT_COLON));
    HILO_TRY(text_i64(p, &q->storage_max));
    if (q->storage_min < least || q->storage_max > most || q->storage_min >= q->storage_max)
        return text_constraint(p, at, "quantized_element_type_c3",
                               "storage range %lld:%lld is empty or exceeds that of %s, %lld:%lld",
                               (long long)q->storage_min, (long long)q->storage_max, info->name, (long long)least,
                               (long long)most);
    q->has_range = q->storage_min != least || q->storage_max != most;
    return text_expect(p, TEXT_GREATER);
}

static hilo_status quant_axis(struct text_parser *p, int64_t *out) {
    const char *at = p->tok.at;
    HILO_TRY(text_i64(p, out));
    if (*out < 0)
        return text_constraint(p, at, "quantized_element_type_c11", "quantized dimension %lld is negative",
                               (long long)*out);
    return HILO_OK;
}

/* `{axis:size, …}` */
static hilo_status quant_blocks(struct text_parser *p, struct type_quant *t) {
    HILO_TRY(text_expect(p, TEXT_LBRACE));
    do {
        const char *at = p->tok.at;
        int64_t axis, size;
        HILO_TRY(quant_axis(p, &axis));
        for (uint32_t i = 0; i < t->axes.n; i++)
            if (t->axes.v[i] == axis)
                return text_error(p, at, "quantized dimension %lld is named twice", (long long)axis);
        if (t->axes.n == IR_MAX_RANK)
            return text_error(p, at, "more than %d dimensions", (int)IR_MAX_RANK);
        HILO_TRY(text_expect(p, TEXT_COLON));
        at = p->tok.at;
        HILO_TRY(text_i64(p, &size));
        if (size <= 0)
            return text_error(p, at, "expected a positive block size, found %lld", (long long)size);
        ARENA_PUSH(&p->m->arena, &t->axes, axis);
        ARENA_PUSH(&p->m->arena, &t->blocks, size);
    } while (text_accept(p, TEXT_COMMA));
    return text_expect(p, TEXT_RBRACE);
}

/* `scale` or `scale:zero_point` */
static hilo_status quant_scale(struct text_parser *p, struct type_quant *t) {
    const char *at = p->tok.at;
    double scale;
    int64_t zero = 0;
    HILO_TRY(text_f64(p, &scale));
    if (!(scale > 0) || !isfinite(scale))
        return text_constraint(p, at, !(scale > 0) ? "quantized_element_type_c5" : "quantized_element_type_c6",
                               "expected a positive and finite scale, found %g", scale);
    enum fp_kind fp = ir_dtype_get(t->q.expressed)->fp;
    if (scale < fp_decode(fp, 1) || scale > fp_decode(fp, fp_largest(fp)))
        return text_constraint(p, at, "quantized_element_type_c4", "scale %g is out of the range of %s", scale,
                               ir_dtype_get(t->q.expressed)->name);
    if (text_accept(p, TEXT_COLON))
        HILO_TRY(text_i64(p, &zero));
    ARENA_PUSH(&p->m->arena, &t->scales, scale);
    ARENA_PUSH(&p->m->arena, &t->zeros, zero);
    return HILO_OK;
}

/* Scales in nested lists: all are at one depth, q.scale_rank, and the lists of one depth have one length. */
static hilo_status quant_scales(struct text_parser *p, struct type_quant *t, uint32_t level) {
    const char *at = p->tok.at;
    bool leaf = !text_is(p, TEXT_LBRACE);
    if (leaf && t->scales.n == 0)
        t->q.scale_rank = level;
    if (t->scales.n && leaf != (level == t->q.scale_rank))
        return text_error(p, NULL, "scales lie at different depths of the lists");
    if (leaf)
        return quant_scale(p, t);
    if (level == IR_MAX_RANK)
        return text_error(p, NULL, "more than %d dimensions", (int)IR_MAX_RANK);
    text_next(p);
    int64_t n = 0;
    do {
        HILO_TRY(quant_scales(p, t, level + 1));
        n++;
    } while (text_accept(p, TEXT_COMMA));
    if (t->dims[level] && t->dims[level] != n)
        return text_error(p, at, "expected a list of %lld as before, found %lld", (long long)t->dims[level],
                          (long long)n);
    t->dims[level] = n;
    return text_expect(p, TEXT_RBRACE);
}

/* At `<` after !quant.uniform. */
static hilo_status type_quant(struct text_parser *p, ir_type *out) {
    struct type_quant t = {0};
    struct ir_quant *q = &t.q;
    ir_type expressed;
    HILO_TRY(text_expect(p, TEXT_LESS));
    HILO_TRY(quant_storage(p, q));
    HILO_TRY(text_expect(p, TEXT_COLON));
    const char *at = p->tok.at;
    HILO_TRY(text_type(p, &expressed));
    q->expressed = ir_type_get(p->m, expressed)->dtype;
    if (ir_type_get(p->m, expressed)->kind != IR_TYPE_SCALAR || ir_dtype_get(q->expressed)->cls != IR_FLOAT)
        return text_error(p, at, "expected a float as the expressed type");
    if (text_accept(p, TEXT_COLON)) {
        q->kind = text_is(p, TEXT_LBRACE) ? IR_QUANT_BLOCK : IR_QUANT_AXIS;
        if (q->kind == IR_QUANT_BLOCK) {
            HILO_TRY(quant_blocks(p, &t));
        } else {
            int64_t axis;
            HILO_TRY(quant_axis(p, &axis));
            ARENA_PUSH(&p->m->arena, &t.axes, axis);
        }
    }
    HILO_TRY(text_expect(p, TEXT_COMMA));
    at = p->tok.at;
    HILO_TRY(quant_scales(p, &t, 0));
    if (q->kind == IR_QUANT_TENSOR && q->scale_rank > 0)
        return text_error(p, at, "expected one scale, found a list without a quantized dimension");
    if (q->kind != IR_QUANT_TENSOR && (q->scale_rank == 0 || (q->kind == IR_QUANT_AXIS && q->scale_rank > 1)))
        return text_error(p, at, "expected a list of scales in braces, one for each slice of the quantized dimension");
    for (uint32_t i = 0; q->kind == IR_QUANT_BLOCK && i < t.axes.n; i++)
        if (t.axes.v[i] >= q->scale_rank)
            return text_error(p, at, "expected scales nested deeper than the quantized dimension %lld, found rank %u",
                              (long long)t.axes.v[i], (unsigned)q->scale_rank);
    q->naxes = t.axes.n;
    q->axes = t.axes.v;
    q->block_sizes = t.blocks.v;
    q->nscales = t.scales.n;
    q->scales = t.scales.v;
    q->zero_points = t.zeros.v;
    if (q->kind == IR_QUANT_BLOCK)
        q->scale_dims = t.dims;
    else
        q->scale_rank = 0;
    *out = ir_type_quant(p->m, q);
    return text_expect(p, TEXT_GREATER);
}

/* ---- dispatch ---------------------------------------------------------------------------------------------------- */

/* At a BANG token with a dot in it. */
static hilo_status type_dialect(struct text_parser *p, ir_type *out) {
    struct str name = p->tok.text, text;
    if (str_is(name, "stablehlo.token")) {
        text_next(p);
        *out = ir_type_simple(p->m, IR_TYPE_TOKEN);
        return HILO_OK;
    }
    if (str_is(name, "stablehlo.future")) {
        text_next(p);
        return type_future(p, out);
    }
    if (str_is(name, "quant.uniform")) {
        text_next(p);
        return type_quant(p, out);
    }
    size_t dialect = (size_t)((const char *)memchr(name.p, '.', name.n) - name.p);
    struct str owner = {name.p, dialect}, mnemonic = {name.p + dialect + 1, name.n - dialect - 1};
    if (str_is(owner, "stablehlo") || str_is(owner, "chlo"))
        return text_error(p, NULL, "unknown %.*s type: %.*s", (int)owner.n, owner.p, (int)mnemonic.n, mnemonic.p);
    HILO_TRY(text_opaque(p, &text));
    *out = ir_type_opaque(p->m, text);
    return HILO_OK;
}

static hilo_status type_word(struct text_parser *p, ir_type *out) {
    if (text_accept_word(p, "tensor"))
        return type_shaped(p, IR_TYPE_TENSOR, out);
    if (text_accept_word(p, "vector"))
        return type_shaped(p, IR_TYPE_VECTOR, out);
    if (text_accept_word(p, "memref"))
        return type_shaped(p, IR_TYPE_MEMREF, out);
    if (text_accept_word(p, "tuple"))
        return type_tuple(p, out);
    if (text_accept_word(p, "complex"))
        return type_complex(p, out);
    return type_scalar(p, out);
}

static hilo_status type_any(struct text_parser *p, ir_type *out) {
    struct str text;
    switch (p->tok.kind) {
    case TEXT_LPAREN:
        return text_function_type(p, out);
    case TEXT_IDENT:
        return type_word(p, out);
    case TEXT_BANG:
        if (memchr(p->tok.text.p, '.', p->tok.text.n))
            return type_dialect(p, out);
        if (p->at == p->end || *p->at != '<')
            return text_alias_type(p, out);
        HILO_TRY(text_opaque(p, &text));
        *out = ir_type_opaque(p->m, text);
        return HILO_OK;
    default:
        return text_expected(p, "a type");
    }
}

hilo_status text_type(struct text_parser *p, ir_type *out) {
    HILO_TRY(text_enter(p));
    HILO_TRY(type_any(p, out));
    text_leave(p);
    return HILO_OK;
}
