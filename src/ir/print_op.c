/* Operations as MLIR text: the forms of ops.def backwards, or the generic form where an op does not fit its own.
 *
 * Values are numbered per function: arguments %arg0, %arg1 …, results %0, %1 …. */
#include "ir/print.h"
#include "ir/store.h"

static void print_op(struct printer *p, ir_op op);

/* ---- names ----------------------------------------------------------------------------------- */

void print_name(struct printer *p, ir_val v, uint32_t number, uint32_t arg) {
    if (v.i < p->nnames)
        p->names[v.i] = number << 1 | arg;
}

void print_value(struct printer *p, ir_val v) {
    const struct ir_val_data *d = ir_val_get(p->m, v);
    ir_val first = {v.i - (IR_NONE(d->op) ? 0 : d->index)};
    uint32_t name = first.i < p->nnames ? p->names[first.i] : 0;
    strbuf_printf(p->out, name & PRINT_ARG ? "%%arg%u" : "%%%u", name >> 1);
    if (!IR_NONE(d->op) && ir_op_get(p->m, d->op)->nresults > 1)
        strbuf_printf(p->out, "#%u", d->index);
}

void print_values(struct printer *p, const ir_val *v, uint32_t n) {
    for (uint32_t i = 0; i < n; i++) {
        strbuf_puts(p->out, i ? ", " : "");
        print_value(p, v[i]);
    }
}

/* ---- pieces ---------------------------------------------------------------------------------- */

void print_newline(struct printer *p) {
    strbuf_putc(p->out, '\n');
    for (int i = 0; i < p->indent; i++)
        strbuf_puts(p->out, "  ");
}

void print_loc(struct printer *p, ir_attr loc) {
    if (p->o.locations && !IR_NONE(loc)) {
        bool foreign = ir_attr_get(p->m, loc)->kind == IR_ATTR_OPAQUE; /* a location of another dialect */
        strbuf_puts(p->out, foreign ? " loc(" : " ");
        print_attr(p, loc);
        strbuf_puts(p->out, foreign ? ")" : "");
    }
}

void print_val_type(struct printer *p, ir_val v) {
    print_type(p, ir_val_get(p->m, v)->type);
}

void print_operand_types(struct printer *p, const struct ir_op_data *o) {
    for (uint32_t i = 0; i < o->noperands; i++) {
        strbuf_puts(p->out, i ? ", " : "");
        print_val_type(p, o->operands[i]);
    }
}

/* `(a, b) -> c`: one result is printed without parentheses unless it is a function. */
void print_result_types(struct printer *p, ir_op op) {
    const struct ir_op_data *o = ir_op_get(p->m, op);
    bool bare = o->nresults == 1 && ir_val_type(p->m, o->result0)->kind != IR_TYPE_FUNCTION;
    strbuf_puts(p->out, bare ? "" : "(");
    for (uint32_t i = 0; i < o->nresults; i++) {
        strbuf_puts(p->out, i ? ", " : "");
        print_val_type(p, ir_result(p->m, op, i));
    }
    strbuf_puts(p->out, bare ? "" : ")");
}

void print_fn_type(struct printer *p, ir_op op) {
    strbuf_putc(p->out, '(');
    print_operand_types(p, ir_op_get(p->m, op));
    strbuf_puts(p->out, ") -> ");
    print_result_types(p, op);
}

void print_block_args(struct printer *p, ir_block b) {
    const struct ir_block_data *d = ir_block_get(p->m, b);
    for (uint32_t i = 0; i < d->nargs; i++) {
        strbuf_puts(p->out, i ? ", " : "");
        print_value(p, d->args[i]);
        strbuf_puts(p->out, ": ");
        print_val_type(p, d->args[i]);
        print_loc(p, ir_val_get(p->m, d->args[i])->loc);
    }
}

void print_name_args(struct printer *p, ir_block b) {
    const struct ir_block_data *d = ir_block_get(p->m, b);
    for (uint32_t i = 0; i < d->nargs; i++)
        print_name(p, d->args[i], p->next_arg++, PRINT_ARG);
}

/* `{ … }`; the block's arguments are named already when they are printed elsewhere (`header` = false). */
void print_region(struct printer *p, ir_region r, bool header) {
    strbuf_putc(p->out, '{');
    for (ir_block b = ir_region_get(p->m, r)->first; !IR_NONE(b); b = ir_block_get(p->m, b)->next) {
        const struct ir_block_data *d = ir_block_get(p->m, b);
        if (header && d->nargs) {
            print_name_args(p, b);
            print_newline(p);
            strbuf_puts(p->out, "^bb0(");
            print_block_args(p, b);
            strbuf_puts(p->out, "):");
        }
        p->indent++;
        for (ir_op op = d->first; !IR_NONE(op); op = ir_op_get(p->m, op)->next) {
            print_newline(p);
            print_op(p, op);
        }
        p->indent--;
    }
    print_newline(p);
    strbuf_putc(p->out, '}');
}

/* Attributes of an op as entries of a dictionary: properties whose bit is not in `said`, then the discardable ones. */
void print_dict(struct printer *p, ir_op op, const char *lead, uint64_t said, bool props, bool discardable) {
    const struct ir_op_data *o = ir_op_get(p->m, op);
    const struct ir_op_info *info = ir_op_info((enum ir_op_kind)o->kind);
    const struct ir_attr_data *dict = ir_attr_get(p->m, o->attrs);
    const char *open = lead;
    for (uint32_t s = 0; props && s < info->nslots; s++) {
        if (IR_NONE(o->props[s]) || (said >> s & 1))
            continue;
        strbuf_puts(p->out, open);
        print_dict_entry(p, str_of(ir_slot_get(info->first_slot + s)->name), o->props[s]);
        open = ", ";
    }
    bool brief = discardable && p->o.portable && !IR_NONE(ir_dict_find(p->m, o->attrs, STR("hilo.of_process")));
    for (uint32_t i = 0; discardable && i < dict->n; i++) {
        if (brief && str_is(ir_str_get(p->m, dict->names[i]), "mhlo.backend_config"))
            continue;
        strbuf_puts(p->out, open);
        print_dict_entry(p, ir_str_get(p->m, dict->names[i]), dict->items[i]);
        open = ", ";
    }
    if (open != lead)
        strbuf_putc(p->out, '}');
}

static void print_generic(struct printer *p, ir_op op) {
    const struct ir_op_data *o = ir_op_get(p->m, op);
    print_string(p, ir_op_name(p->m, op));
    strbuf_putc(p->out, '(');
    print_values(p, o->operands, o->noperands);
    strbuf_putc(p->out, ')');
    size_t before = p->out->n;
    print_dict(p, op, " <{", 0, true, false);
    if (p->out->n != before)
        strbuf_putc(p->out, '>');
    for (uint32_t i = 0; i < o->nregions; i++) {
        strbuf_puts(p->out, i ? ", " : " (");
        print_region(p, ir_op_region(p->m, op, i), true);
    }
    strbuf_puts(p->out, o->nregions ? ")" : "");
    print_dict(p, op, " {", 0, false, true);
    strbuf_puts(p->out, " : ");
    print_fn_type(p, op);
}

/* ---- forms ----------------------------------------------------------------------------------- */

/* The next word of a form; false at its end. */
static bool form_word(const char **at, struct str *word) {
    const char *s = *at;
    while (*s == ' ')
        s++;
    const char *e = s;
    while (*e && *e != ' ')
        e++;
    *at = e;
    *word = (struct str){s, (size_t)(e - s)};
    return e > s;
}

static uint32_t form_slot(enum ir_op_kind k, struct str word) {
    return ir_slot_named(k, (struct str){word.p + 1, word.n - 1});
}

/* Whether an optional group is to be printed: its attribute is there and is not the default. */
static bool group_is_said(const struct printer *p, ir_op op, const char *at) {
    struct str w;
    int64_t v;
    while (form_word(&at, &w) && !str_is(w, ")"))
        if (w.p[0] == '@') {
            const struct ir_slot_info *s = ir_slot_get(form_slot(ir_kind(p->m, op), w));
            ir_attr a = ir_prop(p->m, op, (enum ir_slot)form_slot(ir_kind(p->m, op), w));
            return !IR_NONE(a) && !((s->flags & IR_DEF) && ir_attr_as_i64(p->m, a, &v) && v == s->value);
        }
    return false;
}

/* Whether a word that gives types can give the op's. */
static bool types_fit(const struct printer *p, ir_op op, struct str w) {
    const struct ir_op_data *o = ir_op_get(p->m, op);
    if (str_is(w, ":arrow"))
        return o->noperands && o->nresults;
    return !str_is(w, ":operands") || (o->noperands && o->nresults == 0);
}

static bool constant_has_type(const struct ir_module *m, ir_attr constant, ir_val v) {
    const struct ir_attr_data *a = ir_attr_get(m, constant);
    const struct ir_type_data *t = ir_val_type(m, v);
    if (a->kind == IR_ATTR_BOOL)
        return t->kind == IR_TYPE_SCALAR && t->dtype == IR_I1_T;
    return !IR_NONE(a->type) && IR_SAME(a->type, ir_val_get(m, v)->type);
}

/* Where a form gives no types, they are those of its constant. */
static bool constant_types_fit(const struct printer *p, ir_op op, ir_attr constant) {
    const struct ir_op_data *o = ir_op_get(p->m, op);
    for (uint32_t i = 0; i < o->noperands; i++)
        if (!constant_has_type(p->m, constant, o->operands[i]))
            return false;
    for (uint32_t i = 0; i < o->nresults; i++)
        if (!constant_has_type(p->m, constant, ir_result(p->m, op, i)))
            return false;
    return o->nresults == print_table_results((enum ir_op_kind)o->kind);
}

/* Custom forms are refused with numbers out of their attribute's range. */
static bool ranges_fit(const struct ir_module *m, ir_op op) {
    const struct ir_op_data *o = ir_op_get(m, op);
    const struct ir_op_info *info = ir_op_info((enum ir_op_kind)o->kind);
    for (uint32_t i = 0; i < info->nslots; i++) {
        const struct ir_attr_data *a = ir_attr_get(m, o->props[i]);
        if (a->kind == IR_ATTR_INT && ir_slot_range(ir_slot_get(info->first_slot + i), a->i))
            return false;
    }
    return true;
}

/* An op fits its form when every piece can say it: all operands are named, attributes have the kind of their slot, types
   follow from what is printed. */
static bool form_fits(const struct printer *p, ir_op op) {
    enum ir_op_kind k = ir_kind(p->m, op);
    const char *at = ir_op_info(k)->form;
    uint32_t noperands = ir_op_get(p->m, op)->noperands, named = 0;
    struct str w;
    bool typed = false, group = false;
    ir_attr constant = {0};
    if (*at == '\0' || !ranges_fit(p->m, op))
        return false;
    while (form_word(&at, &w)) {
        if (str_is(w, "?(")) {
            group = true;
        } else if (group && str_is(w, ")")) {
            group = false;
        } else if (w.p[0] == '%') {
            named = w.p[1] >= '0' && w.p[1] <= '9' ? (uint32_t)(w.p[1] - '0') + 1 : noperands > named ? noperands : named;
        } else if (w.p[0] == '@') {
            const struct ir_slot_info *slot = ir_slot_get(form_slot(k, w));
            ir_attr a = ir_prop(p->m, op, (enum ir_slot)form_slot(k, w));
            if (!(group && IR_NONE(a)) && !print_form_fits(p->m, a, slot))
                return false;
            if (slot->form == IR_AF_ELEMENTS || slot->form == IR_AF_ANY)
                constant = a;
        } else if (w.p[0] == ':') {
            typed = true;
            if (!types_fit(p, op, w))
                return false;
        } else if (w.p[0] == '<' && w.n > 1) {
            const struct word *word = word_find((struct str){w.p + 1, w.n - 2});
            if (word->fits && !word->fits(p, op))
                return false;
            typed |= word->types;
            named = word->operands ? noperands : named;
        }
    }
    return named == noperands && (typed || constant_types_fit(p, op, constant));
}

static void form_blank(struct printer *p, struct form *f) {
    if (f->blank)
        strbuf_putc(p->out, ' ');
    f->blank = true;
}

static void form_operands(struct printer *p, struct form *f, bool commas) {
    const struct ir_op_data *o = ir_op_get(p->m, f->op);
    if (o->noperands > f->next_operand)
        form_blank(p, f);
    print_values(p, o->operands + f->next_operand, o->noperands - f->next_operand);
    strbuf_puts(p->out, commas && o->noperands > f->next_operand ? "," : "");
    f->next_operand = o->noperands;
}

static void form_types(struct printer *p, struct form *f, struct str w) {
    const struct ir_op_data *o = ir_op_get(p->m, f->op);
    form_blank(p, f);
    strbuf_puts(p->out, ": ");
    if (str_is(w, ":same") && print_same_types(p, f->op, 0)) {
        print_val_type(p, o->nresults ? o->result0 : o->operands[0]);
    } else if (str_is(w, ":arrow")) {
        print_operand_types(p, o);
        strbuf_puts(p->out, " -> ");
        print_result_types(p, f->op);
    } else if (str_is(w, ":operands")) {
        print_operand_types(p, o);
    } else {
        print_fn_type(p, f->op);
    }
}

static void form_literal(struct printer *p, struct form *f, struct str w) {
    bool closes = w.n == 1 && (w.p[0] == ',' || w.p[0] == ')' || w.p[0] == ']');
    bool opens = w.n == 1 && (w.p[0] == '(' || w.p[0] == '[');
    if (f->blank && !closes && !opens)
        strbuf_putc(p->out, ' ');
    strbuf_str(p->out, w);
    f->blank = !opens;
}

static void print_form(struct printer *p, ir_op op) {
    enum ir_op_kind k = ir_kind(p->m, op);
    const char *at = ir_op_info(k)->form;
    struct form f = {.op = op, .blank = true};
    struct str w;
    bool skip = false, group = false;
    for (const char *all = at; form_word(&all, &w);) /* also what comes after the dictionary is not said in it */
        if (w.p[0] == '@')
            form_say(p, &f, (enum ir_slot)form_slot(k, w));
    while (form_word(&at, &w)) {
        if (str_is(w, "?(")) {
            group = true;
            skip = !group_is_said(p, op, at);
        } else if (group && str_is(w, ")")) {
            group = skip = false;
        } else if (w.p[0] == '@') {
            uint32_t slot = form_slot(k, w);
            if (skip)
                continue;
            form_blank(p, &f);
            print_attr_form(p, ir_prop(p->m, op, (enum ir_slot)slot), ir_slot_get(slot)->form);
        } else if (skip) {
            continue;
        } else if (str_is(w, "{}")) {
            print_dict(p, op, " {", f.said, true, true);
            f.blank = true;
        } else if (str_is(w, "%*") || str_is(w, "%,*")) {
            form_operands(p, &f, w.n == 3);
        } else if (w.p[0] == '%') {
            form_blank(p, &f);
            print_value(p, ir_operand(p->m, op, f.next_operand = (uint32_t)(w.p[1] - '0')));
            f.next_operand++;
        } else if (w.p[0] == ':') {
            form_types(p, &f, w);
        } else if (w.p[0] == '<' && w.n > 1) {
            const struct word *word = word_find((struct str){w.p + 1, w.n - 2});
            size_t before = p->out->n;
            if (f.blank && !word->tight)
                strbuf_putc(p->out, ' ');
            size_t start = p->out->n;
            word->print(p, &f);
            if (p->out->n == start && !p->out->failed) { /* it had nothing to say */
                p->out->n = before;
                continue;
            }
            f.blank = true;
        } else {
            form_literal(p, &f, w);
        }
    }
}

/* Ops whose name the printer shortens. */
static struct str op_short_name(struct printer *p, ir_op op) {
    struct str name = ir_op_name(p->m, op);
    if (ir_kind(p->m, op) == IR_MODULE)
        return STR("module");
    if (ir_kind(p->m, op) == IR_FUNC_RETURN)
        return STR("return");
    if (ir_kind(p->m, op) == IR_CALL)
        return STR("call");
    return name;
}

/* Inside regions of ops that are not functions, `call` and `return` need their dialect's name. */
static bool op_directly_in_func(const struct printer *p, ir_op op) {
    ir_block b = ir_op_get(p->m, op)->parent;
    if (IR_NONE(b))
        return false;
    ir_op parent = ir_region_get(p->m, ir_block_get(p->m, b)->parent)->parent;
    return ir_kind(p->m, parent) == IR_FUNC;
}

static void print_op(struct printer *p, ir_op op) {
    const struct ir_op_data *o = ir_op_get(p->m, op);
    enum ir_op_kind k = (enum ir_op_kind)o->kind;
    if (o->nresults) {
        uint32_t number = p->next_result++;
        print_name(p, o->result0, number, 0);
        strbuf_printf(p->out, "%%%u", number);
        if (o->nresults > 1)
            strbuf_printf(p->out, ":%u", o->nresults);
        strbuf_puts(p->out, " = ");
    }
    if (p->o.generic || !form_fits(p, op)) {
        print_generic(p, op);
    } else {
        bool shorten = k == IR_MODULE || op_directly_in_func(p, op);
        strbuf_str(p->out, shorten ? op_short_name(p, op) : ir_op_name(p->m, op));
        print_form(p, op);
    }
    print_loc(p, o->loc);
}

/* ---- entries --------------------------------------------------------------------------------- */

static void print_named(const struct ir_module *m, ir_op op, const struct ir_print_options *o, bool *resources,
                        struct strbuf *out) {
    struct printer p = {.m = m, .o = *o, .out = out, .resources = resources, .nnames = m->t->vals.n};
    size_t nbytes = p.nnames * sizeof *p.names;
    p.names = mem_alloc(&out->al, nbytes);
    if (!p.names) {
        out->failed = true;
        return;
    }
    memset(p.names, 0, nbytes);
    print_op(&p, op);
    mem_free(&out->al, p.names, nbytes);
}

/* The file section that dense_resource attributes refer to. */
static void print_resources(const struct ir_module *m, const bool *used, struct strbuf *out) {
    static const char digit[] = "0123456789ABCDEF";
    bool any = false;
    for (uint32_t i = 0; i < m->t->resources.n; i++) {
        const struct ir_attr_data *a = ir_attr_get(m, m->t->resources.v[i].attr);
        if (!a->data || !used[i + 1] || m->t->strs.v[a->str.i].resource != i + 1)
            continue;
        struct printer p = {.m = m, .out = out};
        strbuf_puts(out, any ? ",\n      " : "\n{-#\n  dialect_resources: {\n    builtin: {\n      ");
        print_string(&p, ir_str_get(m, a->str));
        strbuf_puts(out, ": \"0x40000000"); /* alignment 64, little endian */
        const unsigned char *e = a->data;
        for (size_t b = 0; b < a->nbytes; b++) {
            strbuf_putc(out, digit[e[b] >> 4]);
            strbuf_putc(out, digit[e[b] & 15]);
        }
        strbuf_putc(out, '"');
        any = true;
    }
    if (any)
        strbuf_puts(out, "\n    }\n  }\n#-}\n");
}

void ir_print_module(const struct ir_module *m, const struct ir_print_options *o, struct strbuf *out) {
    size_t nbytes = (size_t)m->t->resources.n + 1;
    bool *resources = mem_alloc(&out->al, nbytes);
    if (!resources) {
        out->failed = true;
        return;
    }
    memset(resources, 0, nbytes);
    print_named(m, m->root, o, resources, out);
    strbuf_putc(out, '\n');
    print_resources(m, resources, out);
    mem_free(&out->al, resources, nbytes);
}
