/* Attributes: numbers, strings, lists, dictionaries, symbols, arrays and resources, and the short forms of custom assembly.
 * Those of dialects are in struct.c, dense constants in dense.c, aliases and locations in alias.c. */
#include "read/text/text.h"

#include <stdlib.h>

/* ---- numbers ----------------------------------------------------------------------------------------------------- */

/* [-]INT or [-]FLOAT optionally followed by `: type`, if `suffix` allows it. */
static hilo_status attr_number(struct text_parser *p, ir_type expected, bool suffix, ir_attr *out) {
    const char *at = p->tok.at, *next;
    text_accept(p, TEXT_MINUS);
    bool is_float = text_is(p, TEXT_FLOAT);
    if (!is_float && !text_is(p, TEXT_INT))
        return text_expected(p, "a number");
    text_next(p);
    const char *end = p->last;
    ir_type type = IR_NONE(expected) ? ir_type_scalar(p->m, is_float ? IR_F64_T : IR_I64_T) : expected;
    if (suffix && text_accept(p, TEXT_COLON))
        HILO_TRY(text_type(p, &type));
    const struct ir_type_data *t = ir_type_get(p->m, type);
    const struct ir_dtype_info *dt = ir_dtype_get(t->dtype);
    if (t->kind == IR_TYPE_OPAQUE) { /* 3 : i10 */
        *out = ir_attr_opaque(p->m, (struct str){at, (size_t)(p->last - at)});
        return HILO_OK;
    }
    if (t->kind != IR_TYPE_SCALAR || dt->cls == IR_COMPLEX_CLASS)
        return text_error(p, at, "the type of a number must be an integer, a float or index");
    uint64_t bits = 0;
    HILO_TRY(text_element(p, t->dtype, at, end, &bits, &next));
    if (dt->cls == IR_FLOAT)
        *out = ir_attr_float(p->m, type, fp_decode(dt->fp, bits));
    else if (dt->cls == IR_PRED)
        *out = ir_attr_bool(p->m, bits != 0);
    else if (dt->cls == IR_UINT)
        *out = ir_attr_int(p->m, type, (int64_t)bits);
    else
        *out = ir_attr_int(p->m, type, (int64_t)(bits << (64 - 8 * dt->bytes)) >> (64 - 8 * dt->bytes));
    return HILO_OK;
}

/* Numbers of type `t` with commas between them, up to and with the token `close`, as an array<t: …>. */
static hilo_status attr_numbers(struct text_parser *p, enum ir_dtype t, enum text_kind close, ir_attr *out) {
    struct { uint64_t *v; uint32_t n, cap; } list = {0};
    size_t size = ir_dtype_get(t)->bytes;
    while (!text_accept(p, close)) {
        uint64_t bits = 0;
        const char *next;
        if (list.n && !text_accept(p, TEXT_COMMA))
            return text_expect(p, close);
        HILO_TRY(text_element(p, t, p->tok.at, p->end, &bits, &next));
        text_resume(p, next);
        ARENA_PUSH(&p->m->arena, &list, bits);
    }
    char *data = (char *)list.v; /* packed in place */
    for (uint32_t i = 0; i < list.n; i++)
        memmove(data + i * size, &list.v[i], size);
    *out = ir_attr_dense_array(p->m, ir_type_scalar(p->m, t), data, list.n);
    return HILO_OK;
}

/* `array<i64: 1, 2>` at the word. */
static hilo_status attr_dense_array(struct text_parser *p, ir_attr *out) {
    ir_type type;
    text_next(p);
    HILO_TRY(text_expect(p, TEXT_LESS));
    const char *at = p->tok.at;
    HILO_TRY(text_type(p, &type));
    const struct ir_type_data *t = ir_type_get(p->m, type);
    if (t->kind != IR_TYPE_SCALAR || ir_dtype_get(t->dtype)->cls == IR_COMPLEX_CLASS)
        return text_error(p, at, "the elements of an array must be integers or floats");
    if (!text_accept(p, TEXT_COLON) && !text_is(p, TEXT_GREATER))
        return text_expected(p, "':' or '>'");
    return attr_numbers(p, t->dtype, TEXT_GREATER, out);
}

/* ---- lists and dictionaries -------------------------------------------------------------------------------------- */

struct attr_list { ir_attr *v; uint32_t n, cap; };

/* `[item, …]`; an item is any attribute, or with `form` one in that form. */
static hilo_status attr_array(struct text_parser *p, enum ir_attr_form form, int of, ir_attr *out) {
    struct attr_list list = {0};
    HILO_TRY(text_expect(p, TEXT_LSQUARE));
    while (!text_accept(p, TEXT_RSQUARE)) {
        ir_attr item;
        if (list.n && !text_accept(p, TEXT_COMMA))
            return text_expected(p, "',' or ']'");
        HILO_TRY(text_attr_form(p, form, of, &item));
        ARENA_PUSH(&p->m->arena, &list, item);
    }
    *out = ir_attr_array(p->m, list.v, list.n);
    return HILO_OK;
}

/* Order of names by id, then by place, so that a name that is there twice is found at its second place. */
struct attr_key { uint32_t name, i; };

static int attr_key_compare(const void *x, const void *y) {
    const struct attr_key *a = x, *b = y;
    uint32_t l = a->name != b->name ? a->name : a->i, r = a->name != b->name ? b->name : b->i;
    return (l > r) - (l < r);
}

static hilo_status attr_check_names(struct text_parser *p, const struct text_attrs *a) {
    if (a->n < 2)
        return HILO_OK;
    struct attr_key *keys = ARENA_ARRAY(&p->m->arena, struct attr_key, a->n);
    for (uint32_t i = 0; i < a->n; i++)
        keys[i] = (struct attr_key){a->v[i].name.i, i};
    qsort(keys, a->n, sizeof *keys, attr_key_compare);
    for (uint32_t i = 1; i < a->n; i++) {
        struct str name = ir_str_get(p->m, (ir_str){keys[i].name});
        if (keys[i].name == keys[i - 1].name)
            return text_error(p, a->v[keys[i].i].at, "attribute '%.*s' is there twice", (int)name.n, name.p);
    }
    return HILO_OK;
}

hilo_status text_attr_dict(struct text_parser *p, struct text_attrs *out) {
    HILO_TRY(text_expect(p, TEXT_LBRACE));
    for (bool first = true; !text_accept(p, TEXT_RBRACE); first = false) {
        const char *at;
        struct str name;
        ir_attr attr;
        if (!first && !text_accept(p, TEXT_COMMA))
            return text_expected(p, "',' or '}'");
        at = p->tok.at;
        name = p->tok.text;
        if (text_is(p, TEXT_STRING))
            HILO_TRY(text_unescape(p, name, &name));
        else if (!text_is(p, TEXT_IDENT))
            return text_expected(p, "the name of an attribute");
        ir_str id = ir_str_of(p->m, name);
        text_next(p);
        if (text_accept(p, TEXT_EQUAL))
            HILO_TRY(text_attr(p, (ir_type){0}, &attr));
        else
            attr = ir_attr_unit(p->m);
        ARENA_PUSH(&p->m->arena, out, ((__typeof__(*out->v)){id, attr, at}));
    }
    return attr_check_names(p, out);
}

static hilo_status attr_dict(struct text_parser *p, ir_attr *out) {
    struct text_attrs a = {0};
    HILO_TRY(text_attr_dict(p, &a));
    ir_str *names = ARENA_ARRAY(&p->m->arena, ir_str, a.n);
    ir_attr *items = ARENA_ARRAY(&p->m->arena, ir_attr, a.n);
    for (uint32_t i = 0; i < a.n; i++) {
        names[i] = a.v[i].name;
        items[i] = a.v[i].attr;
    }
    *out = ir_attr_dict(p->m, names, items, a.n);
    return HILO_OK;
}

/* ---- strings, symbols, resources --------------------------------------------------------------------------------- */

static hilo_status attr_string(struct text_parser *p, ir_attr *out) {
    struct str s;
    HILO_TRY(text_unescape(p, p->tok.text, &s));
    *out = ir_attr_string(p->m, s);
    text_next(p);
    return HILO_OK;
}

/* `@root::@nested` */
static hilo_status attr_symbol(struct text_parser *p, ir_attr *out) {
    struct attr_list nested = {0};
    struct str root = p->tok.text;
    HILO_TRY(text_expect(p, TEXT_AT));
    while (text_accept(p, TEXT_COLON2)) {
        ir_attr name = ir_attr_string(p->m, p->tok.text);
        HILO_TRY(text_expect(p, TEXT_AT));
        ARENA_PUSH(&p->m->arena, &nested, name);
    }
    *out = ir_attr_symbol(p->m, root, nested.v, nested.n);
    return HILO_OK;
}

/* `dense_resource<key> : type` at the word. */
static hilo_status attr_resource(struct text_parser *p, ir_attr *out) {
    ir_type type;
    text_next(p);
    HILO_TRY(text_expect(p, TEXT_LESS));
    struct str key = p->tok.text;
    if (text_is(p, TEXT_STRING))
        HILO_TRY(text_unescape(p, key, &key));
    else if (!text_is(p, TEXT_IDENT))
        return text_expected(p, "the key of a resource");
    text_next(p);
    HILO_TRY(text_expect(p, TEXT_GREATER));
    HILO_TRY(text_expect(p, TEXT_COLON));
    const char *at = p->tok.at;
    HILO_TRY(text_type(p, &type));
    if (!ir_type_is_static(ir_type_get(p->m, type)))
        return text_error(p, at, "expected a tensor of static shape for a resource");
    *out = ir_attr_resource(p->m, type, key);
    return HILO_OK;
}

/* `word<…>` kept as it is written: affine maps, layouts of memrefs. */
static hilo_status attr_opaque_word(struct text_parser *p, ir_attr *out) {
    const char *at = p->tok.at;
    struct str inside;
    text_next(p);
    HILO_TRY(text_expect(p, TEXT_LESS));
    HILO_TRY(text_balanced(p, TEXT_GREATER, &inside));
    text_next(p);
    *out = ir_attr_opaque(p->m, (struct str){at, (size_t)(p->last - at)});
    return HILO_OK;
}

/* ---- dispatch ---------------------------------------------------------------------------------------------------- */

static hilo_status attr_type(struct text_parser *p, ir_attr *out) {
    ir_type type;
    HILO_TRY(text_type(p, &type));
    *out = ir_attr_of_type(p->m, type);
    return HILO_OK;
}

static hilo_status attr_word(struct text_parser *p, ir_type expected, ir_attr *out) {
    if (text_is_word(p, "dense"))
        return text_dense(p, expected, out);
    if (text_is_word(p, "array"))
        return attr_dense_array(p, out);
    if (text_is_word(p, "loc"))
        return text_loc(p, out);
    if (text_is_word(p, "dense_resource"))
        return attr_resource(p, out);
    if (text_is_word(p, "affine_map") || text_is_word(p, "affine_set") || text_is_word(p, "strided"))
        return attr_opaque_word(p, out);
    if (text_is_word(p, "true") || text_is_word(p, "false")) {
        *out = ir_attr_bool(p->m, text_is_word(p, "true"));
        text_next(p);
        return HILO_OK;
    }
    if (text_accept_word(p, "unit")) {
        *out = ir_attr_unit(p->m);
        return HILO_OK;
    }
    return attr_type(p, out);
}

static hilo_status attr_any(struct text_parser *p, ir_type expected, ir_attr *out) {
    switch (p->tok.kind) {
    case TEXT_IDENT:
        return attr_word(p, expected, out);
    case TEXT_INT:
    case TEXT_FLOAT:
    case TEXT_MINUS:
        return attr_number(p, expected, /*suffix=*/true, out);
    case TEXT_STRING:
        return attr_string(p, out);
    case TEXT_LSQUARE:
        return attr_array(p, IR_AF_ANY, 0, out);
    case TEXT_LBRACE:
        return attr_dict(p, out);
    case TEXT_AT:
        return attr_symbol(p, out);
    case TEXT_HASH:
        if (memchr(p->tok.text.p, '.', p->tok.text.n) || (p->at < p->end && *p->at == '<'))
            return text_dialect_attr(p, out);
        return text_alias_attr(p, out);
    case TEXT_BANG:
    case TEXT_LPAREN:
        return attr_type(p, out);
    default:
        return text_expected(p, "an attribute");
    }
}

hilo_status text_attr(struct text_parser *p, ir_type expected, ir_attr *out) {
    HILO_TRY(text_enter(p));
    HILO_TRY(attr_any(p, expected, out));
    text_leave(p);
    return HILO_OK;
}

/* `[1, 2]`; an array<…> or dense<…> otherwise. */
static hilo_status attr_form_numbers(struct text_parser *p, enum ir_dtype t, ir_attr *out) {
    if (!text_is(p, TEXT_LSQUARE))
        return text_attr(p, (ir_type){0}, out);
    text_next(p);
    return attr_numbers(p, t, TEXT_RSQUARE, out);
}

static hilo_status attr_form_number(struct text_parser *p, enum ir_dtype t, ir_attr *out) {
    return attr_number(p, ir_type_scalar(p->m, t), /*suffix=*/false, out);
}

hilo_status text_attr_form(struct text_parser *p, enum ir_attr_form form, int of, ir_attr *out) {
    bool b;
    if (text_is(p, TEXT_HASH)) /* an alias, or the full form */
        return text_attr(p, (ir_type){0}, out);
    switch (form) {
    case IR_AF_I64:
        return attr_form_number(p, IR_I64_T, out);
    case IR_AF_I32:
        return attr_form_number(p, IR_I32_T, out);
    case IR_AF_UI64:
        return attr_form_number(p, IR_UI64_T, out);
    case IR_AF_UI32:
        return attr_form_number(p, IR_UI32_T, out);
    case IR_AF_F32:
        return attr_form_number(p, IR_F32_T, out);
    case IR_AF_F64:
        return attr_form_number(p, IR_F64_T, out);
    case IR_AF_I64S:
        return attr_form_numbers(p, IR_I64_T, out);
    case IR_AF_I32S:
        return attr_form_numbers(p, IR_I32_T, out);
    case IR_AF_BOOLS:
        return attr_form_numbers(p, IR_I1_T, out);
    case IR_AF_BOOL:
        HILO_TRY(text_bool(p, &b));
        *out = ir_attr_bool(p->m, b);
        return HILO_OK;
    case IR_AF_ENUM:
        return text_case(p, (enum ir_enum)of, out);
    case IR_AF_ENUMS:
        return attr_array(p, IR_AF_ENUM, of, out);
    case IR_AF_STRUCT:
        return text_struct_body(p, (enum ir_struct)of, out);
    case IR_AF_SYM:
        return attr_symbol(p, out);
    case IR_AF_SYMS:
        return attr_array(p, IR_AF_SYM, 0, out);
    case IR_AF_SYMSS:
        return attr_array(p, IR_AF_SYMS, 0, out);
    case IR_AF_TYPE:
        return attr_type(p, out);
    case IR_AF_STR:
        if (!text_is(p, TEXT_STRING))
            return text_expected(p, "a string");
        return attr_string(p, out);
    case IR_AF_UNIT:
    case IR_AF_ELEMENTS:
    case IR_AF_I64ELEMS:
    case IR_AF_GROUPS:
    case IR_AF_DICT:
    case IR_AF_ARRAY:
    case IR_AF_ANY:
        break;
    }
    return text_attr(p, (ir_type){0}, out);
}
