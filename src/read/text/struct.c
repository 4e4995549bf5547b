/* The attributes of StableHLO and CHLO: enumerations and structs, read by their tables (enums.def, structs.def). */
#include "read/text/text.h"

#include <stdio.h>

/* Appends `, word` to a list of words for a message; what does not fit is left out. */
static void struct_list(char *list, size_t size, const char *word) {
    size_t n = strlen(list);
    snprintf(list + n, size - n, "%s%s", n ? ", " : "", word);
}

/* ---- enumerations ------------------------------------------------------------------------------------------------ */

hilo_status text_case(struct text_parser *p, enum ir_enum e, ir_attr *out) {
    int64_t value;
    if (text_is(p, TEXT_IDENT) && ir_enum_case_named(e, p->tok.text, &value)) {
        *out = ir_attr_enum(p->m, e, value);
        text_next(p);
        return HILO_OK;
    }
    char words[200] = "";
    for (value = 0; value < IR_ENUM_CASE_MAX; value++)
        if (ir_enum_case_name(e, value))
            struct_list(words, sizeof words, ir_enum_case_name(e, value));
    char what[256];
    snprintf(what, sizeof what, "one of %s", words);
    return text_expected(p, what);
}

/* ---- fields ------------------------------------------------------------------------------------------------------ */

/* The axes of a mesh, `[<name = "x", size = 2>, …]`, where MLIR leaves out the `#stablehlo.mesh_axis`. */
static hilo_status struct_axes(struct text_parser *p, ir_attr *out) {
    struct { ir_attr *v; uint32_t n, cap; } axes = {0};
    ir_attr axis;
    HILO_TRY(text_expect(p, TEXT_LSQUARE));
    while (!text_accept(p, TEXT_RSQUARE)) {
        if (axes.n && !text_accept(p, TEXT_COMMA))
            return text_expected(p, "',' or ']'");
        if (text_is(p, TEXT_LESS))
            HILO_TRY(text_struct_body(p, IR_STRUCT_MESH_AXIS, &axis));
        else
            HILO_TRY(text_attr(p, (ir_type){0}, &axis));
        ARENA_PUSH(&p->m->arena, &axes, axis);
    }
    *out = ir_attr_array(p->m, axes.v, axes.n);
    return HILO_OK;
}

static hilo_status struct_dims(struct text_parser *p, ir_attr *out) {
    const int64_t *dims;
    uint32_t n;
    HILO_TRY(text_dims(p, &dims, &n));
    *out = ir_attr_i64s(p->m, dims, n);
    return HILO_OK;
}

/* `(pre_size)size` */
static hilo_status struct_sub_axis(struct text_parser *p, ir_attr *out) {
    int64_t pre, size;
    HILO_TRY(text_expect(p, TEXT_LPAREN));
    HILO_TRY(text_i64(p, &pre));
    HILO_TRY(text_expect(p, TEXT_RPAREN));
    HILO_TRY(text_i64(p, &size));
    *out = ir_attr_array(p->m, (ir_attr[]){ir_attr_i64(p->m, pre), ir_attr_i64(p->m, size)}, 2);
    return HILO_OK;
}

static hilo_status struct_field(struct text_parser *p, uint32_t slot, ir_attr *out) {
    int64_t i;
    double f;
    bool b;
    ir_type t;
    switch (ir_field_get(slot)->kind) {
    case IR_FK_DIMS:
        return struct_dims(p, out);
    case IR_FK_I64:
        HILO_TRY(text_i64(p, &i));
        *out = ir_attr_i64(p->m, i);
        return HILO_OK;
    case IR_FK_BOOL:
        HILO_TRY(text_bool(p, &b));
        *out = ir_attr_bool(p->m, b);
        return HILO_OK;
    case IR_FK_F64:
        HILO_TRY(text_f64(p, &f));
        *out = ir_attr_float(p->m, ir_type_scalar(p->m, IR_F64_T), f);
        return HILO_OK;
    case IR_FK_TYPE:
        HILO_TRY(text_type(p, &t));
        *out = ir_attr_of_type(p->m, t);
        return HILO_OK;
    case IR_FK_STR:
        if (!text_is(p, TEXT_STRING))
            return text_expected(p, "a string");
        return text_attr(p, (ir_type){0}, out);
    case IR_FK_SUBAXIS:
        return struct_sub_axis(p, out);
    case IR_FK_ATTR:
        break;
    }
    return slot == IR_MESH_axes_F ? struct_axes(p, out) : text_attr(p, (ir_type){0}, out);
}

/* An empty list or a zero where the field may be missing is the same as none, so that equal attributes have equal ids. */
static bool struct_is_default(struct text_parser *p, uint32_t slot, ir_attr a) {
    const struct ir_attr_data *d = ir_attr_get(p->m, a);
    switch (ir_field_get(slot)->kind) {
    case IR_FK_DIMS:
        return ir_field_get(slot)->optional && d->n == 0;
    case IR_FK_I64:
        return ir_field_get(slot)->optional && d->i == 0;
    case IR_FK_F64:
        return ir_field_get(slot)->optional && d->f == 0;
    default:
        return false;
    }
}

/* The field that the current word names, or 0. */
static uint32_t struct_field_named(const struct text_parser *p, const struct ir_struct_info *info) {
    for (uint32_t slot = info->first_field; slot < info->first_field + info->nfields; slot++)
        if (text_is_word(p, ir_field_get(slot)->name))
            return slot;
    return 0;
}

static hilo_status struct_unknown_field(struct text_parser *p, const struct ir_struct_info *info) {
    char words[400] = "one of ";
    for (uint32_t i = 0; i < info->nfields; i++)
        snprintf(words + strlen(words), sizeof words - strlen(words), "%s%s", i ? ", " : "",
                 ir_field_get(info->first_field + i)->name);
    return text_error(p, NULL, "expected %s, found '%.*s'", words, (int)p->tok.text.n, p->tok.text.p);
}

/* `name = value, …` in any order, up to and with the `>`. */
static hilo_status struct_fields(struct text_parser *p, enum ir_struct s, ir_attr *out) {
    enum { FIELDS_MOST = 16 };
    const struct ir_struct_info *info = ir_struct_get(s);
    ir_attr fields[FIELDS_MOST] = {0};
    uint32_t seen = 0;
    while (!text_is(p, TEXT_GREATER)) {
        uint32_t slot = struct_field_named(p, info), i = slot - info->first_field;
        if (!slot)
            return struct_unknown_field(p, info);
        if (seen >> i & 1)
            return text_error(p, NULL, "duplicated field '%s'", ir_field_get(slot)->name);
        seen |= 1u << i;
        text_next(p);
        HILO_TRY(text_expect(p, TEXT_EQUAL));
        HILO_TRY(struct_field(p, slot, &fields[i]));
        if (struct_is_default(p, slot, fields[i]))
            fields[i] = (ir_attr){0};
        if (!text_accept(p, TEXT_COMMA))
            break;
    }
    for (uint32_t i = 0; i < info->nfields; i++)
        if (text_is(p, TEXT_GREATER) && !(seen >> i & 1) && !ir_field_get(info->first_field + i)->optional)
            return text_error(p, NULL, "expected the field '%s' of %s.%s", ir_field_get(info->first_field + i)->name,
                              info->dialect, info->mnemonic);
    *out = ir_attr_struct(p->m, s, fields);
    return text_expect(p, TEXT_GREATER);
}

hilo_status text_struct_body(struct text_parser *p, enum ir_struct s, ir_attr *out) {
    const char *at = p->tok.at, *label;
    HILO_TRY(text_enter(p));
    HILO_TRY(text_expect(p, TEXT_LESS));
    /* The fields of `conv<raw …>` are written out, so that tests can write invalid ones. */
    if (ir_struct_get(s)->form == IR_FORM_CONV && !text_accept_word(p, "raw")) {
        HILO_TRY(text_conv_dims(p, out));
        HILO_TRY(text_expect(p, TEXT_GREATER));
    } else {
        HILO_TRY(struct_fields(p, s, out));
    }
    text_leave(p);
    const char *flaw = ir_attr_flaw(p->m, *out, &label);
    return flaw ? text_constraint(p, at, label, "%s", flaw) : HILO_OK;
}

/* ---- dimension numbers of convolutions --------------------------------------------------------------------------- */

/* One of the three lists: the places of its two named dimensions and of its spatial ones. */
struct conv_list {
    int64_t named[2], spatial[IR_MAX_RANK];
    uint32_t n; /* spatial dimensions */
};

/* `b`, `f`, `i` or `o` at place `place`. */
static hilo_status conv_name(struct text_parser *p, const char names[3], int64_t place, struct conv_list *out) {
    struct str name = p->tok.text;
    for (int i = 0; name.n == 1 && i < 2; i++) {
        if (name.p[0] == names[i] && out->named[i] < 0) {
            out->named[i] = place;
            text_next(p);
            return HILO_OK;
        }
    }
    if (out->named[0] >= 0 && out->named[1] >= 0)
        return text_error(p, NULL, "unexpected dimension '%.*s', '%c' and '%c' are there already", (int)name.n, name.p,
                          names[0], names[1]);
    return text_error(p, NULL, "unexpected dimension '%.*s', expected '%c' and '%c' once each", (int)name.n, name.p,
                      names[0], names[1]);
}

/* The number of a spatial dimension. */
static hilo_status conv_spatial(struct text_parser *p, int64_t place, struct conv_list *out) {
    const char *at = p->tok.at;
    int64_t dim;
    HILO_TRY(text_i64(p, &dim));
    if (dim < 0 || dim >= IR_MAX_RANK)
        return text_error(p, at, "unexpected dimension %lld, expected 0 to %d", (long long)dim, (int)IR_MAX_RANK - 1);
    if (out->spatial[dim] >= 0)
        return text_error(p, at, "duplicate entries for spatial dimension %lld", (long long)dim);
    out->spatial[dim] = place;
    if (dim >= out->n)
        out->n = (uint32_t)dim + 1;
    return HILO_OK;
}

/* `[b, 0, 1, f]` with the two names given. */
static hilo_status conv_list(struct text_parser *p, const char names[3], struct conv_list *out) {
    out->n = 0;
    out->named[0] = out->named[1] = -1;
    for (int i = 0; i < IR_MAX_RANK; i++)
        out->spatial[i] = -1;
    HILO_TRY(text_expect(p, TEXT_LSQUARE));
    int64_t place = 0;
    do {
        if (text_is(p, TEXT_IDENT))
            HILO_TRY(conv_name(p, names, place, out));
        else
            HILO_TRY(conv_spatial(p, place, out));
        place++;
    } while (text_accept(p, TEXT_COMMA));
    for (int i = 0; i < 2; i++)
        if (out->named[i] < 0)
            return text_error(p, NULL, "expected dimension '%c', it is not specified", names[i]);
    for (uint32_t i = 0; i < out->n; i++)
        if (out->spatial[i] < 0)
            return text_error(p, NULL, "expected spatial dimension %u, it is not specified", (unsigned)i);
    return text_expect(p, TEXT_RSQUARE);
}

hilo_status text_conv_dims(struct text_parser *p, ir_attr *out) {
    struct conv_list lists[3];
    ir_attr fields[9];
    HILO_TRY(conv_list(p, "bf", &lists[0]));
    HILO_TRY(text_expect_word(p, "x"));
    HILO_TRY(conv_list(p, "io", &lists[1]));
    HILO_TRY(text_expect(p, TEXT_ARROW));
    HILO_TRY(conv_list(p, "bf", &lists[2]));
    for (int i = 0; i < 3; i++) { /* the order of structs.def */
        fields[3 * i] = ir_attr_i64(p->m, lists[i].named[0]);
        fields[3 * i + 1] = ir_attr_i64(p->m, lists[i].named[1]);
        fields[3 * i + 2] = ir_attr_i64s(p->m, lists[i].spatial, lists[i].n);
    }
    *out = ir_attr_struct(p->m, IR_STRUCT_CONV, fields);
    return HILO_OK;
}

/* ---- dispatch ---------------------------------------------------------------------------------------------------- */

static enum ir_enum dialect_enum(struct str dialect, struct str mnemonic) {
    for (int e = IR_ENUM_NONE + 1; e < IR_ENUM_COUNT; e++)
        if (str_is(dialect, ir_enum_get((enum ir_enum)e)->dialect) &&
            str_is(mnemonic, ir_enum_get((enum ir_enum)e)->mnemonic))
            return (enum ir_enum)e;
    return IR_ENUM_NONE;
}

static enum ir_struct dialect_struct(struct str dialect, struct str mnemonic) {
    for (int s = IR_STRUCT_NONE + 1; s < IR_STRUCT_COUNT; s++)
        if (str_is(dialect, ir_struct_get((enum ir_struct)s)->dialect) &&
            str_is(mnemonic, ir_struct_get((enum ir_struct)s)->mnemonic))
            return (enum ir_struct)s;
    return IR_STRUCT_NONE;
}

/* `<?, 4>`, the short form of `#stablehlo.type_extensions<bounds = [?, 4]>`. */
static hilo_status dialect_bounds(struct text_parser *p, ir_attr *out) {
    struct { int64_t *v; uint32_t n, cap; } bounds = {0};
    HILO_TRY(text_expect(p, TEXT_LESS));
    while (!text_is(p, TEXT_GREATER)) { /* a tensor of rank 0 has none */
        int64_t x = IR_DYNAMIC;
        if (!text_accept(p, TEXT_QUESTION))
            HILO_TRY(text_i64(p, &x));
        ARENA_PUSH(&p->m->arena, &bounds, x);
        if (!text_accept(p, TEXT_COMMA))
            break;
    }
    ir_attr list = ir_attr_i64s(p->m, bounds.v, bounds.n);
    *out = ir_attr_struct(p->m, IR_STRUCT_TYPE_EXTENSIONS, &list);
    return text_expect(p, TEXT_GREATER);
}

/* `#dialect.mnemonic<…>` or `#dialect<mnemonic …>`, where enumerations have their `<` and `>` only in the first. */
/* One part of a complex number, as an attribute of its type. */
static hilo_status complex_part(struct text_parser *p, ir_type part, double *out) {
    const char *at = p->tok.at;
    ir_attr a;
    HILO_TRY(text_attr(p, part, &a));
    const struct ir_attr_data *d = ir_attr_get(p->m, a);
    if (d->kind != IR_ATTR_FLOAT || !IR_SAME(d->type, part))
        return text_error(p, at, "expected a number of the preceding type");
    *out = d->f;
    return HILO_OK;
}

/* `#complex.number<:f32 1.0, 2.0>`, optionally followed by its type. */
static hilo_status dialect_complex(struct text_parser *p, ir_attr *out) {
    double re = 0, im = 0;
    ir_type part, whole;
    text_next(p);
    HILO_TRY(text_expect(p, TEXT_LESS));
    HILO_TRY(text_expect(p, TEXT_COLON));
    const char *at = p->tok.at;
    HILO_TRY(text_type(p, &part));
    enum ir_dtype t = ir_type_get(p->m, part)->dtype;
    if (ir_type_get(p->m, part)->kind != IR_TYPE_SCALAR || (t != IR_F32_T && t != IR_F64_T))
        return text_error(p, at, "expected f32 or f64");
    HILO_TRY(complex_part(p, part, &re));
    HILO_TRY(text_expect(p, TEXT_COMMA));
    HILO_TRY(complex_part(p, part, &im));
    HILO_TRY(text_expect(p, TEXT_GREATER));
    *out = ir_attr_complex(p->m, t == IR_F32_T ? IR_C64_T : IR_C128_T, re, im);
    if (!text_accept(p, TEXT_COLON))
        return HILO_OK;
    at = p->tok.at;
    HILO_TRY(text_type(p, &whole));
    return IR_SAME(whole, ir_attr_get(p->m, *out)->type) ? HILO_OK : text_error(p, at, "expected the type of the number");
}

hilo_status text_dialect_attr(struct text_parser *p, ir_attr *out) {
    struct str dialect = p->tok.text, mnemonic = {0}, text;
    const char *dot = memchr(dialect.p, '.', dialect.n), *at = p->tok.at;
    if (dot) {
        mnemonic = (struct str){dot + 1, dialect.n - (size_t)(dot + 1 - dialect.p)};
        dialect.n = (size_t)(dot - dialect.p);
    }
    if (str_is(dialect, "complex") && dot && str_is(mnemonic, "number"))
        return dialect_complex(p, out);
    bool fusion = str_is(dialect, "mhlo") && str_starts((struct str){p->at, (size_t)(p->end - p->at)}, "<fusion_kind ");
    if (!str_is(dialect, "stablehlo") && !str_is(dialect, "chlo") && !fusion) {
        HILO_TRY(text_opaque(p, &text));
        *out = ir_attr_opaque(p->m, text);
        return HILO_OK;
    }
    text_next(p);
    if (!dot) {
        HILO_TRY(text_expect(p, TEXT_LESS));
        at = p->tok.at;
        mnemonic = p->tok.text;
        HILO_TRY(text_expect(p, TEXT_IDENT));
    }
    enum ir_enum e = dialect_enum(dialect, mnemonic);
    enum ir_struct s = dialect_struct(dialect, mnemonic);
    if (e) {
        bool angle = dot || text_is(p, TEXT_LESS);
        if (angle)
            HILO_TRY(text_expect(p, TEXT_LESS));
        HILO_TRY(text_case(p, e, out));
        if (angle)
            HILO_TRY(text_expect(p, TEXT_GREATER));
    } else if (s) {
        HILO_TRY(text_struct_body(p, s, out));
    } else if (str_is(dialect, "stablehlo") && str_is(mnemonic, "bounds")) {
        HILO_TRY(dialect_bounds(p, out));
    } else {
        return text_error(p, at, "unknown %.*s attribute: %.*s", (int)dialect.n, dialect.p, (int)mnemonic.n, mnemonic.p);
    }
    return dot ? HILO_OK : text_expect(p, TEXT_GREATER);
}
