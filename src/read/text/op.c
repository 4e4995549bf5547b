/* Operations, regions and the module: names of values, the generic form, and an interpreter for the forms of ops.def.
 *
 * An op is read into a struct text_state and becomes an op of the module at its end, when its types are known. Its regions
 * come before its types, so their blocks are built on their own and put into the op afterwards. */
#include "base/decimal.h"
#include "base/torture.h"
#include "read/text/text.h"

#include <inttypes.h>
#include <stdio.h>

/* ---- names of values --------------------------------------------------------------------------------------------- */

struct scope_def {
    struct str name;
    uint64_t hash;
    ir_val first;     /* of `count` consecutive values */
    uint32_t count;
};

/* Names are defined and forgotten like a stack: those of a region end with it. The table holds places in that stack. It is
   always as if filled in the order of the stack, so that taking the newest name out never breaks a chain. */
struct text_scope {
    struct { struct scope_def *v; uint32_t n, cap; } defs;
    uint32_t *slots, nslots;                /* place in defs + 1, 0 = free; at most half full */
    uint32_t hidden;                        /* names before this one are outside the isolated region */
    struct text_state *states[TEXT_DEPTH];  /* of the ops being read, by nesting */
    uint32_t nesting;
};

/* The slot of a visible name, or the free one where it belongs. */
static uint32_t *scope_slot(const struct text_scope *sc, struct str name, uint64_t hash) {
    for (uint32_t i = (uint32_t)hash;; i++) {
        uint32_t *slot = &sc->slots[i & (sc->nslots - 1)];
        if (!*slot)
            return slot;
        const struct scope_def *def = &sc->defs.v[*slot - 1];
        if (*slot > sc->hidden && def->hash == hash && str_eq(def->name, name))
            return slot;
    }
}

static void scope_grow(struct text_parser *p) {
    struct text_scope *sc = p->scope;
    sc->nslots = sc->nslots ? sc->nslots * 2 : TORTURED(TORTURE_BUCKETS, 64);
    if (!sc->nslots)
        arena_exhausted(&p->m->arena);
    sc->slots = ARENA_ARRAY(&p->m->arena, uint32_t, sc->nslots);
    for (uint32_t n = 0; n < sc->defs.n; n++) {
        uint32_t i = (uint32_t)sc->defs.v[n].hash;
        while (sc->slots[i & (sc->nslots - 1)])
            i++;
        sc->slots[i & (sc->nslots - 1)] = n + 1;
    }
}

static hilo_status scope_define(struct text_parser *p, const struct text_operand *o, ir_val first, uint32_t count) {
    struct text_scope *sc = p->scope;
    uint64_t hash = str_hash(o->name.p, o->name.n, 0);
    if (sc->defs.n >= sc->nslots / 2)
        scope_grow(p);
    uint32_t *slot = scope_slot(sc, o->name, hash);
    if (*slot)
        return text_error(p, o->at, "value '%%%.*s' is already defined", (int)o->name.n, o->name.p);
    ARENA_PUSH(&p->m->arena, &sc->defs, ((struct scope_def){o->name, hash, first, count}));
    *slot = sc->defs.n;
    return HILO_OK;
}

/* Forgets all names but the first n. */
static void scope_forget(struct text_scope *sc, uint32_t n) {
    for (; sc->defs.n > n; sc->defs.n--) {
        uint32_t i = (uint32_t)sc->defs.v[sc->defs.n - 1].hash;
        while (sc->slots[i & (sc->nslots - 1)] != sc->defs.n)
            i++;
        sc->slots[i & (sc->nslots - 1)] = 0;
    }
}

static hilo_status scope_type_error(struct text_parser *p, const struct text_operand *o, ir_type is, ir_type used) {
    struct strbuf a, b;
    strbuf_init(&a, p->m->arena.al);
    strbuf_init(&b, p->m->arena.al);
    ir_print_type(p->m, is, &a);
    ir_print_type(p->m, used, &b);
    text_error(p, o->at, "'%%%.*s' has type %s, but is used as %s", (int)o->name.n, o->name.p, a.p ? a.p : "",
               b.p ? b.p : "");
    strbuf_free(&a);
    strbuf_free(&b);
    return HILO_INVALID_ARGUMENT;
}

static hilo_status scope_use(struct text_parser *p, const struct text_operand *o, ir_type type, ir_val *out) {
    struct text_scope *sc = p->scope;
    uint32_t n = sc->nslots ? *scope_slot(sc, o->name, str_hash(o->name.p, o->name.n, 0)) : 0;
    if (!n)
        return text_error(p, o->at, "use of undeclared value '%%%.*s'", (int)o->name.n, o->name.p);
    const struct scope_def *def = &sc->defs.v[n - 1];
    if (o->index >= def->count)
        return text_error(p, o->at, "'%%%.*s' has no result #%u, it has %u", (int)o->name.n, o->name.p, o->index,
                          def->count);
    *out = (ir_val){def->first.i + o->index};
    ir_type is = ir_val_get(p->m, *out)->type;
    return IR_SAME(is, type) ? HILO_OK : scope_type_error(p, o, is, type);
}

/* ---- pieces ------------------------------------------------------------------------------------------------------ */

hilo_status text_operand(struct text_parser *p, struct text_operand *out) {
    if (!text_is(p, TEXT_PERCENT))
        return text_expected(p, "an operand");
    *out = (struct text_operand){.name = p->tok.text, .at = p->tok.at};
    text_next(p);
    if (text_is(p, TEXT_HASH) && p->tok.text.p[0] >= '0' && p->tok.text.p[0] <= '9') {
        uint64_t index;
        const char *next;
        if (!dec_parse_u64(p->tok.text.p, p->at, &index, &next) || index > UINT32_MAX)
            return text_error(p, NULL, "the number of a result is out of range");
        out->index = (uint32_t)index;
        text_next(p);
    }
    return HILO_OK;
}

hilo_status text_name(struct text_parser *p, struct text_operand *out) {
    *out = (struct text_operand){.name = p->tok.text, .index = 1, .at = p->tok.at};
    return text_accept(p, TEXT_PERCENT) ? HILO_OK : text_expected(p, "the name of a value");
}

hilo_status text_operands(struct text_parser *p, struct text_state *s) {
    if (!text_is(p, TEXT_PERCENT))
        return HILO_OK;
    do {
        struct text_operand o;
        HILO_TRY(text_operand(p, &o));
        ARENA_PUSH(&p->m->arena, &s->operands, o);
    } while (text_accept(p, TEXT_COMMA));
    return HILO_OK;
}

hilo_status text_paren_operands(struct text_parser *p, struct text_state *s) {
    HILO_TRY(text_expect(p, TEXT_LPAREN));
    HILO_TRY(text_operands(p, s));
    return text_expect(p, TEXT_RPAREN);
}

void text_operand_type(struct text_parser *p, struct text_state *s, ir_type t) {
    ARENA_PUSH(&p->m->arena, &s->operand_types, t);
}

void text_result_type(struct text_parser *p, struct text_state *s, ir_type t) {
    ARENA_PUSH(&p->m->arena, &s->result_types, t);
}

/* Any type, also a function type. */
static hilo_status form_type(struct text_parser *p, struct text_state *s, ir_type *out) {
    s->types_at = p->tok.at;
    return text_is(p, TEXT_LPAREN) ? text_function_type(p, out) : text_type(p, out);
}

static void form_take_signature(struct text_parser *p, struct text_state *s, const struct ir_type_data *fn) {
    for (uint32_t i = 0; i < fn->ntypes; i++) {
        if (i < fn->ninputs)
            text_operand_type(p, s, fn->types[i]);
        else
            text_result_type(p, s, fn->types[i]);
    }
}

hilo_status text_signature(struct text_parser *p, struct text_state *s) {
    ir_type t;
    HILO_TRY(form_type(p, s, &t));
    const struct ir_type_data *fn = ir_type_get(p->m, t);
    if (fn->kind != IR_TYPE_FUNCTION)
        return text_error(p, s->types_at, "expected a function type, (operand types) -> result types");
    form_take_signature(p, s, fn);
    return HILO_OK;
}

/* The dictionary of a custom form. A number out of its attribute's range is reported here: its place is not that of the
 * op. */
hilo_status text_dict(struct text_parser *p, struct text_state *s) {
    const char *at = p->tok.at, *mnemonic = strchr(ir_op_info(s->kind)->name, '.');
    if (!text_is(p, TEXT_LBRACE))
        return HILO_OK;
    HILO_TRY(text_attr_dict(p, &s->attrs));
    for (uint32_t i = 0; i < s->attrs.n; i++) {
        const struct ir_slot_info *slot = ir_slot_get(ir_slot_named(s->kind, ir_str_get(p->m, s->attrs.v[i].name)));
        const struct ir_attr_data *a = ir_attr_get(p->m, s->attrs.v[i].attr);
        const char *range = a->kind == IR_ATTR_INT ? ir_slot_range(slot, a->i) : NULL;
        char label[32] = "";
        if (range && slot->flags >= IR_C(1) && mnemonic)
            snprintf(label, sizeof label, "%s_c%u", mnemonic + 1, slot->flags / IR_C(1));
        if (range)
            return text_constraint(p, at, label, "attribute '%s' must be %s, but is %" PRId64, slot->name, range, a->i);
    }
    return HILO_OK;
}

hilo_status text_prop(struct text_parser *p, struct text_state *s, uint32_t slot, ir_attr a, const char *at) {
    ir_attr *prop = &s->props.v[slot - ir_op_info(s->kind)->first_slot];
    if (!IR_NONE(*prop))
        return text_error(p, at, "attribute '%s' is given twice", ir_slot_get(slot)->name);
    *prop = a;
    return HILO_OK;
}

hilo_status text_prop_form(struct text_parser *p, struct text_state *s, uint32_t slot) {
    const struct ir_slot_info *info = ir_slot_get(slot);
    const char *at = p->tok.at;
    ir_attr a;
    HILO_TRY(text_attr_form(p, info->form, info->of, &a));
    return text_prop(p, s, slot, a, at);
}

hilo_status text_arg(struct text_parser *p, struct text_args *args) {
    struct text_arg arg = {0};
    HILO_TRY(text_name(p, &arg.name));
    HILO_TRY(text_expect(p, TEXT_COLON));
    HILO_TRY(text_type(p, &arg.type));
    if (text_is_word(p, "loc"))
        HILO_TRY(text_loc(p, &arg.loc));
    ARENA_PUSH(&p->m->arena, args, arg);
    return HILO_OK;
}

/* ---- regions ----------------------------------------------------------------------------------------------------- */

static hilo_status op_read(struct text_parser *p, ir_block into);

static hilo_status region_args(struct text_parser *p, ir_block b, const struct text_args *args) {
    for (uint32_t i = 0; i < args->n; i++) {
        const struct text_arg *arg = &args->v[i];
        ir_val v = ir_block_add_arg(p->m, b, arg->type);
        if (!IR_NONE(arg->loc))
            ir_set_val_loc(p->m, v, arg->loc);
        HILO_TRY(scope_define(p, &arg->name, v, 1));
    }
    return HILO_OK;
}

/* `^name(%a: type, …):` */
static hilo_status region_label(struct text_parser *p, ir_block b) {
    struct text_args args = {0};
    text_next(p);
    if (text_accept(p, TEXT_LPAREN)) {
        if (!text_is(p, TEXT_RPAREN))
            do
                HILO_TRY(text_arg(p, &args));
            while (text_accept(p, TEXT_COMMA));
        HILO_TRY(text_expect(p, TEXT_RPAREN));
    }
    HILO_TRY(text_expect(p, TEXT_COLON));
    return region_args(p, b, &args);
}

static hilo_status region_block(struct text_parser *p, ir_block b, const struct text_args *args) {
    if (args && args->n)
        HILO_TRY(region_args(p, b, args));
    else if (text_is(p, TEXT_CARET))
        HILO_TRY(region_label(p, b));
    while (!text_is(p, TEXT_RBRACE)) {
        if (text_is(p, TEXT_CARET))
            return text_error(p, NULL, "a region of several blocks is not supported");
        HILO_TRY(op_read(p, b));
    }
    return HILO_OK;
}

hilo_status text_region(struct text_parser *p, struct text_state *s, const struct text_args *args) {
    struct text_scope *sc = p->scope;
    uint32_t names = sc->defs.n, hidden = sc->hidden;
    ir_block b = {0};
    HILO_TRY(text_expect(p, TEXT_LBRACE));
    if (ir_op_has(s->kind, IR_T_ISOLATED))
        sc->hidden = names;
    if (!text_is(p, TEXT_RBRACE) || (args && args->n)) {
        b = ir_block_new(p->m, (ir_region){0});
        HILO_TRY(region_block(p, b, args));
    }
    text_next(p);
    scope_forget(sc, names);
    sc->hidden = hidden;
    ARENA_PUSH(&p->m->arena, &s->regions, b);
    return HILO_OK;
}

/* ---- the generic form -------------------------------------------------------------------------------------------- */

/* The dialects whose ops are all in ops.def. */
static bool op_is_ours(struct str name) {
    static const char *const dialects[] = {"stablehlo.", "chlo.", "func.", "check.", "interpreter."};
    for (size_t i = 0; i < sizeof dialects / sizeof *dialects; i++)
        if (str_starts(name, dialects[i]))
            return true;
    return false;
}

static void op_set_kind(struct text_parser *p, struct text_state *s, enum ir_op_kind kind) {
    s->kind = kind;
    s->props.n = 0;
    for (uint32_t i = 0; i < ir_op_info(kind)->nslots; i++)
        ARENA_PUSH(&p->m->arena, &s->props, (ir_attr){0});
}

static hilo_status op_no_successors(struct text_parser *p) {
    return text_is(p, TEXT_LSQUARE) ? text_error(p, NULL, "an op with successor blocks is not supported") : HILO_OK;
}

static hilo_status op_generic(struct text_parser *p, struct text_state *s) {
    HILO_TRY(text_unescape(p, p->tok.text, &s->name));
    enum ir_op_kind kind = ir_op_named(p->m, s->name);
    if (kind == IR_OP_NONE && op_is_ours(s->name))
        return text_error(p, NULL, "unknown op '%.*s'", (int)s->name.n, s->name.p);
    if (s->name.n == 0)
        return text_error(p, NULL, "an op without a name");
    op_set_kind(p, s, kind == IR_OP_NONE ? IR_UNREGISTERED : kind);
    text_next(p);
    HILO_TRY(text_paren_operands(p, s));
    HILO_TRY(op_no_successors(p));
    if (text_accept(p, TEXT_LESS)) {
        HILO_TRY(text_attr_dict(p, &s->attrs));
        HILO_TRY(text_expect(p, TEXT_GREATER));
    }
    if (text_accept(p, TEXT_LPAREN)) {
        do
            HILO_TRY(text_region(p, s, NULL));
        while (text_accept(p, TEXT_COMMA));
        HILO_TRY(text_expect(p, TEXT_RPAREN));
    }
    if (text_is(p, TEXT_LBRACE))
        HILO_TRY(text_attr_dict(p, &s->attrs));
    HILO_TRY(text_expect(p, TEXT_COLON));
    return text_signature(p, s);
}

/* ---- custom forms ------------------------------------------------------------------------------------------------ */

/* The next word of a form; false at its end. */
static bool form_word(const char **form, struct str *word) {
    const char *at = *form + strspn(*form, " ");
    *word = (struct str){at, strcspn(at, " ")};
    *form = at + word->n;
    return word->n > 0;
}

static enum text_kind form_mark(char c) {
    switch (c) {
    case '(': return TEXT_LPAREN;
    case ')': return TEXT_RPAREN;
    case '[': return TEXT_LSQUARE;
    case ']': return TEXT_RSQUARE;
    case '{': return TEXT_LBRACE;
    case '}': return TEXT_RBRACE;
    case ',': return TEXT_COMMA;
    case '=': return TEXT_EQUAL;
    default: return TEXT_IDENT;
    }
}

static hilo_status form_literal(struct text_parser *p, struct str word) {
    enum text_kind mark = form_mark(word.p[0]);
    if (mark != TEXT_IDENT)
        return text_expect(p, mark);
    char z[64];
    snprintf(z, sizeof z, "%.*s", (int)word.n, word.p);
    return text_expect_word(p, z);
}

/* `%0`, `%*` or `%,*` */
static hilo_status form_operands(struct text_parser *p, struct text_state *s, struct str word) {
    if (word.p[1] == '*')
        return text_operands(p, s);
    bool many = word.p[1] == ',';
    while (!many || text_is(p, TEXT_PERCENT)) {
        struct text_operand o;
        HILO_TRY(text_operand(p, &o));
        ARENA_PUSH(&p->m->arena, &s->operands, o);
        if (!many)
            break;
        HILO_TRY(text_expect(p, TEXT_COMMA));
    }
    return HILO_OK;
}

/* Gives all operands, and as many results as the table has, one type. */
static void form_same_types(struct text_parser *p, struct text_state *s, ir_type t) {
    struct str word;
    for (uint32_t i = 0; i < s->operands.n; i++)
        text_operand_type(p, s, t);
    for (const char *results = ir_op_info(s->kind)->results; form_word(&results, &word);)
        text_result_type(p, s, t);
}

/* `: type, …` with, for `:arrow`, `-> type` or `-> (type, …)`; without, the dictionary may follow the colon. */
static hilo_status form_type_list(struct text_parser *p, struct text_state *s, bool arrow) {
    ir_type *types;
    uint32_t n;
    if (!arrow)
        HILO_TRY(text_dict(p, s));
    s->types_at = p->tok.at;
    HILO_TRY(text_type_list(p, &types, &n));
    for (uint32_t i = 0; i < n; i++)
        text_operand_type(p, s, types[i]);
    if (!arrow)
        return HILO_OK;
    HILO_TRY(text_expect(p, TEXT_ARROW));
    bool many = text_accept(p, TEXT_LPAREN);
    do {
        ir_type t;
        HILO_TRY(text_type(p, &t));
        text_result_type(p, s, t);
    } while (many && text_accept(p, TEXT_COMMA));
    return many ? text_expect(p, TEXT_RPAREN) : HILO_OK;
}

static hilo_status form_types(struct text_parser *p, struct text_state *s, struct str word) {
    HILO_TRY(text_expect(p, TEXT_COLON));
    if (str_is(word, ":fn"))
        return text_signature(p, s);
    if (!str_is(word, ":same"))
        return form_type_list(p, s, str_is(word, ":arrow"));
    ir_type t;
    HILO_TRY(form_type(p, s, &t));
    if (ir_type_get(p->m, t)->kind == IR_TYPE_FUNCTION)
        form_take_signature(p, s, ir_type_get(p->m, t));
    else
        form_same_types(p, s, t);
    return HILO_OK;
}

/* The type of an attribute that has one. */
static ir_type form_attr_type(struct text_parser *p, ir_attr a) {
    const struct ir_attr_data *d = ir_attr_get(p->m, a);
    if (d->kind == IR_ATTR_BOOL)
        return ir_type_scalar(p->m, IR_I1_T);
    return d->type;
}

/* `@name`; until types are given, operands and results have the type of a constant. */
static hilo_status form_attr(struct text_parser *p, struct text_state *s, struct str word) {
    uint32_t slot = ir_slot_named(s->kind, (struct str){word.p + 1, word.n - 1});
    enum ir_attr_form form = ir_slot_get(slot)->form;
    const char *at = p->tok.at;
    HILO_TRY(text_prop_form(p, s, slot));
    if (form != IR_AF_ELEMENTS && form != IR_AF_ANY)
        return HILO_OK;
    ir_type t = form_attr_type(p, s->props.v[slot - ir_op_info(s->kind)->first_slot]);
    if (IR_NONE(t))
        return text_error(p, at, "expected an attribute with a type");
    form_same_types(p, s, t);
    return HILO_OK;
}

static hilo_status form_piece(struct text_parser *p, struct text_state *s, struct str word) {
    if (word.n > 1) {
        switch (word.p[0]) {
        case '%': return form_operands(p, s, word);
        case '@': return form_attr(p, s, word);
        case ':': return form_types(p, s, word);
        case '<': return text_custom(p, s, (struct str){word.p + 1, word.n - 2});
        case '{': return text_dict(p, s);
        default: break;
        }
    }
    return form_literal(p, word);
}

static hilo_status form_read(struct text_parser *p, struct text_state *s, const char *form) {
    struct str word;
    bool group = false;
    while (form_word(&form, &word)) {
        if (group && str_is(word, ")")) {
            group = false;
        } else if (str_is(word, "?(")) { /* a group is there when its first mark is */
            group = text_is(p, form_mark(form[1]));
            while (!group && form_word(&form, &word) && !str_is(word, ")")) {}
        } else {
            HILO_TRY(form_piece(p, s, word));
        }
    }
    return HILO_OK;
}

/* The op with a name as written: `return` and `module` are short for func.return and builtin.module. */
static enum ir_op_kind op_short_name(const struct text_parser *p, struct str name) {
    static const char *const dialects[] = {"func", "builtin"};
    enum ir_op_kind kind = ir_op_named(p->m, name);
    for (size_t i = 0; kind == IR_OP_NONE && i < 2 && !memchr(name.p, '.', name.n); i++) {
        char full[32];
        int n = snprintf(full, sizeof full, "%s.%.*s", dialects[i], (int)name.n, name.p);
        if (n > 0 && (size_t)n < sizeof full)
            kind = ir_op_named(p->m, (struct str){full, (size_t)n});
    }
    return kind;
}

/* Collectives that Shardy's own partitioner makes and that leave the value the same: reshards, from which hilo's makes its own.
   NULL for others, which also reduce. */
static const char *moving_form(struct str name) {
    static const struct { struct str name; const char *form; } forms[] = {
        {{"sdy.all_gather", 14}, "<axes> %0 <outsharding> {} :same"},
        {{"sdy.all_slice", 13}, "<axes> %0 <outsharding> {} :same"},
        {{"sdy.all_to_all", 14}, "<axes> %0 <outsharding> {} :same"},
        {{"sdy.collective_permute", 22}, "%0 <outsharding> {} :same"},
        {{"sdy.replicated_to_unreduced", 27}, "<axes> %0 <outsharding> {} :same"},
        {{"sdy.sharded_to_unreduced", 24}, "<axes> %0 <outsharding> {} :same"}};
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
        if (str_eq(name, forms[i].name))
            return forms[i].form;
    return NULL;
}

static hilo_status op_custom(struct text_parser *p, struct text_state *s) {
    struct str name = p->tok.text;
    const char *form = moving_form(name);
    enum ir_op_kind kind = form ? IR_SDY_RESHARD : op_short_name(p, name);
    if (kind == IR_OP_NONE && (op_is_ours(name) || !memchr(name.p, '.', name.n)))
        return text_error(p, NULL, "unknown op '%.*s'", (int)name.n, name.p);
    if (kind == IR_OP_NONE || !*ir_op_info(kind)->form)
        return text_error(p, NULL, "'%.*s' can only be read in its generic form, \"%.*s\"(…)", (int)name.n, name.p,
                          (int)name.n, name.p);
    op_set_kind(p, s, kind);
    text_next(p);
    return form_read(p, s, form ? form : ir_op_info(kind)->form);
}

/* ---- any op ------------------------------------------------------------------------------------------------------ */

static struct text_state *op_state(struct text_parser *p) {
    struct text_scope *sc = p->scope;
    struct text_state *s = sc->states[sc->nesting];
    if (!s)
        s = sc->states[sc->nesting] = ARENA_NEW(&p->m->arena, struct text_state);
    sc->nesting++;
    s->names.n = s->operands.n = s->values.n = s->operand_types.n = s->result_types.n = 0;
    s->attrs.n = s->regions.n = 0;
    s->name = (struct str){NULL, 0};
    s->loc = (ir_attr){0};
    return s;
}

/* `%a, %b:2 =`, where there is one. */
static hilo_status op_names(struct text_parser *p, struct text_state *s) {
    if (!text_is(p, TEXT_PERCENT))
        return HILO_OK;
    do {
        struct text_operand o;
        HILO_TRY(text_name(p, &o));
        if (text_accept(p, TEXT_COLON)) {
            const char *at = p->tok.at;
            int64_t count;
            HILO_TRY(text_i64(p, &count));
            if (count < 1 || count > UINT32_MAX)
                return text_error(p, at, "expected the number of results");
            o.index = (uint32_t)count;
        }
        ARENA_PUSH(&p->m->arena, &s->names, o);
    } while (text_accept(p, TEXT_COMMA));
    return text_expect(p, TEXT_EQUAL);
}

static hilo_status op_define_names(struct text_parser *p, const struct text_state *s, ir_op op) {
    uint64_t count = 0;
    for (uint32_t i = 0; i < s->names.n; i++)
        count += s->names.v[i].index;
    if (s->names.n && count != s->result_types.n)
        return text_error(p, s->names.v[0].at, "the op has %u result%s, but %" PRIu64 " %s named", s->result_types.n,
                          s->result_types.n == 1 ? "" : "s", count, count == 1 ? "is" : "are");
    uint32_t result = 0;
    for (uint32_t i = 0; i < s->names.n; i++) {
        HILO_TRY(scope_define(p, &s->names.v[i], ir_result(p->m, op, result), s->names.v[i].index));
        result += s->names.v[i].index;
    }
    return HILO_OK;
}

/* Older programs write lists as dense<[…]> : tensor<Nxi64>, where array<i64: …> is the form of today. */
static ir_attr op_modern_list(struct text_parser *p, enum ir_attr_form form, ir_attr a) {
    const struct ir_attr_data *d = ir_attr_get(p->m, a);
    enum ir_dtype want = form == IR_AF_I64S    ? IR_I64_T
                         : form == IR_AF_I32S  ? IR_I32_T
                         : form == IR_AF_BOOLS ? IR_I1_T
                                               : IR_DTYPE_NONE;
    if (want == IR_DTYPE_NONE || d->kind != IR_ATTR_DENSE)
        return a;
    const struct ir_type_data *t = ir_type_get(p->m, d->type);
    size_t count;
    if (t->dtype != want || t->quant || t->rank != 1 || !ir_type_count(t, &count) ||
        d->nbytes != count * ir_dtype_get(want)->bytes)
        return a;
    return ir_attr_dense_array(p->m, ir_type_scalar(p->m, want), d->data, (uint32_t)count);
}

/* Moves inherent attributes from the dictionaries to their slots, and makes a dictionary of the others. */
static hilo_status op_sort_attrs(struct text_parser *p, struct text_state *s, ir_attr *others) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < s->attrs.n; i++) {
        uint32_t slot = ir_slot_named(s->kind, ir_str_get(p->m, s->attrs.v[i].name));
        if (slot == IR_SLOT_NONE)
            s->attrs.v[n++] = s->attrs.v[i];
        else
            HILO_TRY(text_prop(p, s, slot, op_modern_list(p, ir_slot_get(slot)->form, s->attrs.v[i].attr),
                               s->attrs.v[i].at));
    }
    *others = (ir_attr){0};
    if (n == 0)
        return HILO_OK;
    ir_str *names = ARENA_ARRAY(&p->m->arena, ir_str, n);
    ir_attr *items = ARENA_ARRAY(&p->m->arena, ir_attr, n);
    for (uint32_t i = 0; i < n; i++) {
        names[i] = s->attrs.v[i].name;
        items[i] = s->attrs.v[i].attr;
    }
    *others = ir_attr_dict(p->m, names, items, n);
    return HILO_OK;
}

static hilo_status op_check_regions(struct text_parser *p, struct text_state *s) {
    const struct ir_op_info *info = ir_op_info(s->kind);
    if (s->regions.n > UINT16_MAX)
        return text_error(p, s->at, "more than %d regions", UINT16_MAX);
    if (info->nregions >= 0 && s->regions.n != (uint32_t)info->nregions)
        return text_error(p, s->at, "'%s' has %d region%s, found %u", info->name, info->nregions,
                          info->nregions == 1 ? "" : "s", s->regions.n);
    if (s->kind == IR_MODULE && IR_NONE(s->regions.v[0]))
        s->regions.v[0] = ir_block_new(p->m, (ir_region){0});
    return HILO_OK;
}

/* Makes the op of what was read. */
static hilo_status op_build(struct text_parser *p, struct text_state *s, ir_block into) {
    struct ir_module *m = p->m;
    ir_attr others;
    if (s->operands.n != s->operand_types.n)
        return text_error(p, s->types_at, "%u operand%s, but %u operand type%s", s->operands.n,
                          s->operands.n == 1 ? "" : "s", s->operand_types.n, s->operand_types.n == 1 ? "" : "s");
    for (uint32_t i = 0; i < s->operands.n; i++) {
        ir_val v = {0};
        HILO_TRY(scope_use(p, &s->operands.v[i], s->operand_types.v[i], &v));
        ARENA_PUSH(&m->arena, &s->values, v);
    }
    HILO_TRY(op_sort_attrs(p, s, &others));
    HILO_TRY(op_check_regions(p, s));
    ir_op op = ir_op_new(m, s->kind, s->values.v, s->values.n, s->result_types.v, s->result_types.n, s->regions.n);
    for (uint32_t i = 0; i < s->props.n; i++)
        if (!IR_NONE(s->props.v[i]))
            ir_set_prop(m, op, (enum ir_slot)(ir_op_info(s->kind)->first_slot + i), s->props.v[i]);
    for (uint32_t i = 0; i < s->regions.n; i++)
        if (!IR_NONE(s->regions.v[i]))
            ir_block_append(m, ir_op_region(m, op, i), s->regions.v[i]);
    ir_set_attrs(m, op, others);
    if (s->kind == IR_UNREGISTERED)
        ir_set_name(m, op, ir_str_of(m, s->name));
    ir_set_loc(m, op, s->loc, s->line, s->col);
    ir_append(m, into, op);
    return op_define_names(p, s, op);
}

static hilo_status op_read(struct text_parser *p, ir_block into) {
    HILO_TRY(text_enter(p));
    struct text_state *s = op_state(p);
    HILO_TRY(op_names(p, s));
    s->at = s->types_at = p->tok.at;
    text_place(p, s->at, &s->line, &s->col);
    if (text_is(p, TEXT_STRING))
        HILO_TRY(op_generic(p, s));
    else if (text_is(p, TEXT_IDENT))
        HILO_TRY(op_custom(p, s));
    else
        return text_is(p, TEXT_EOF) ? text_expected(p, "an operation") : text_error(p, NULL, "expected an operation");
    if (text_is_word(p, "loc"))
        HILO_TRY(text_loc(p, &s->loc));
    HILO_TRY(op_build(p, s, into));
    p->scope->nesting--;
    text_leave(p);
    return HILO_OK;
}

/* ---- the file's own data ----------------------------------------------------------------------------------------- */

/* `key:` */
static hilo_status meta_key(struct text_parser *p, struct str *key) {
    *key = p->tok.text;
    if (text_is(p, TEXT_STRING))
        HILO_TRY(text_unescape(p, p->tok.text, key));
    else if (!text_is(p, TEXT_IDENT))
        return text_expected(p, "a key");
    text_next(p);
    return text_expect(p, TEXT_COLON);
}

/* The inside of `{…}`, unread. */
static hilo_status meta_skip(struct text_parser *p) {
    struct str inside;
    HILO_TRY(text_expect(p, TEXT_LBRACE));
    HILO_TRY(text_balanced(p, TEXT_RBRACE, &inside));
    return text_expect(p, TEXT_RBRACE);
}

/* "0x" and hexadecimal digits: four bytes of alignment, little endian, then the data. */
static hilo_status meta_resource(struct text_parser *p, struct str key) {
    enum { HEAD = 2 + 8 };
    struct str hex = p->tok.text;
    uint8_t alignment[4];
    if (!text_is(p, TEXT_STRING) || hex.n < HEAD || memcmp(hex.p, "0x", 2) != 0 || !hex_decode(hex.p + 2, 8, alignment))
        return text_expected(p, "a string of hexadecimal digits that begins with 0x and four bytes of alignment");
    size_t n = (hex.n - HEAD) / 2;
    uint8_t *data = ir_blob_new(p->m, n);
    if (!hex_decode(hex.p + HEAD, hex.n - HEAD, data))
        return text_error(p, NULL, "resource '%.*s' is no string of hexadecimal bytes", (int)key.n, key.p);
    ir_resource_set(p->m, key, data, n, false);
    text_next(p);
    return HILO_OK;
}

/* `{ dialect: { key: "0x…", … }, … }` */
static hilo_status meta_dialects(struct text_parser *p) {
    HILO_TRY(text_expect(p, TEXT_LBRACE));
    while (!text_accept(p, TEXT_RBRACE)) {
        struct str dialect, key;
        HILO_TRY(meta_key(p, &dialect));
        if (!str_is(dialect, "builtin")) {
            HILO_TRY(meta_skip(p));
        } else {
            HILO_TRY(text_expect(p, TEXT_LBRACE));
            while (!text_accept(p, TEXT_RBRACE)) {
                HILO_TRY(meta_key(p, &key));
                HILO_TRY(meta_resource(p, key));
                if (!text_accept(p, TEXT_COMMA) && !text_is(p, TEXT_RBRACE))
                    return text_expected(p, "',' or '}'");
            }
        }
        if (!text_accept(p, TEXT_COMMA) && !text_is(p, TEXT_RBRACE))
            return text_expected(p, "',' or '}'");
    }
    return HILO_OK;
}

/* `{-# dialect_resources: …, external_resources: … #-}`; what other tools keep there is skipped. */
static hilo_status meta_read(struct text_parser *p) {
    text_next(p);
    while (!text_accept(p, TEXT_FILE_META_END)) {
        struct str section;
        HILO_TRY(meta_key(p, &section));
        if (str_is(section, "dialect_resources"))
            HILO_TRY(meta_dialects(p));
        else
            HILO_TRY(meta_skip(p));
        if (!text_accept(p, TEXT_COMMA) && !text_is(p, TEXT_FILE_META_END))
            return text_expected(p, "',' or '#-}'");
    }
    return HILO_OK;
}

/* ---- entry ------------------------------------------------------------------------------------------------------- */

hilo_status read_text(struct ir_module *m, struct diag_list *d, struct str source, uint32_t first_line) {
    struct text_parser p;
    if (m->text.n == 0)
        m->text = source;
    text_lex_init(&p, m, d, source);
    p.line_no = first_line;
    if (source.n && source.p >= m->text.p && source.p <= m->text.p + m->text.n)
        p.begin = m->text.p; /* errors quote lines of the whole file */
    p.scope = ARENA_NEW(&m->arena, struct text_scope);
    ir_block body = ir_module_body(m);
    while (!text_is(&p, TEXT_EOF)) {
        if (text_is(&p, TEXT_HASH) || text_is(&p, TEXT_BANG))
            HILO_TRY(text_alias(&p));
        else if (text_is(&p, TEXT_FILE_META_BEGIN))
            HILO_TRY(meta_read(&p));
        else
            HILO_TRY(op_read(&p, body));
    }
    ir_op first = ir_block_get(m, body)->first;
    if (!IR_NONE(first) && IR_SAME(first, ir_block_get(m, body)->last) && ir_kind(m, first) == IR_MODULE) {
        ir_unlink(m, first); /* the file has a module of its own */
        m->root = first;
    }
    return HILO_OK;
}

static bool part_is_blank(struct str line) {
    while (line.n && strchr(" \t\r\n", line.p[line.n - 1]))
        line.n--;
    return line.n == 0;
}

bool read_next_part(struct str *rest, uint32_t *line, struct str *part, uint32_t *first_line) {
    bool blank = true;
    *part = (struct str){rest->p, 0};
    *first_line = *line;
    while (rest->n) {
        const char *nl = memchr(rest->p, '\n', rest->n);
        struct str l = {rest->p, nl ? (size_t)(nl + 1 - rest->p) : rest->n};
        rest->p += l.n;
        rest->n -= l.n;
        ++*line;
        if (!str_starts(l, "// -----")) {
            part->n += l.n;
            blank = blank && part_is_blank(l);
        } else if (!blank) {
            return true;
        } else {
            *part = (struct str){rest->p, 0};
            *first_line = *line;
        }
    }
    return !blank;
}
