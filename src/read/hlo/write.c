/* HLO text: the module, its computations, their lines. */
#include "read/hlo/write.h"

#include <stdio.h>

hilo_status hlo_refuse(struct hlo_writer *w, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    hilo_status status = ir_op_verror(w->m, w->d, w->op, HILO_UNIMPLEMENTED, NULL, fmt, ap);
    va_end(ap);
    return status;
}

/* ---- names ----------------------------------------------------------------------------------- */

/* A fresh name that begins with a letter: the stem without its numeric suffix, and a new number. */
static struct str fresh(struct hlo_writer *w, struct str stem) {
    char text[80];
    size_t end = stem.n;
    while (end && stem.p[end - 1] >= '0' && stem.p[end - 1] <= '9')
        end--;
    if (end > 1 && end < stem.n && stem.p[end - 1] == '.')
        stem.n = end - 1;
    int n = snprintf(text, sizeof text, "%.*s.%u", (int)(stem.n < 60 ? stem.n : 60), stem.p, ++w->counter);
    for (char *s = text; *s; s++)
        if (!(*s >= 'a' && *s <= 'z') && !(*s >= 'A' && *s <= 'Z') && !(*s >= '0' && *s <= '9') && *s != '.' && *s != '-')
            *s = '_';
    if (text[0] >= '0' && text[0] <= '9')
        text[0] = '_';
    return (struct str){arena_dup(&w->arena, text, (size_t)n, 1), (size_t)n};
}

static bool value_is(const void *cx, uint32_t id, const void *key) {
    return IR_SAME(((const struct hlo_scope *)cx)->names.v[id - 1].of, *(const ir_val *)key);
}

static uint64_t value_hash(ir_val v) {
    return str_hash(&v.i, sizeof v.i, 0);
}

/* Its number, from 1; 0 when it has no name in the scope. */
static uint32_t find_value(const struct hlo_scope *s, ir_val v) {
    return intern_find(&s->set, value_hash(v), value_is, s, &v);
}

static void add_value(struct hlo_writer *w, ir_val of, struct str name, size_t line) {
    struct hlo_scope *s = w->scope;
    ARENA_PUSH(&w->arena, &s->names, ((__typeof__(*s->names.v)){of, name, line}));
    intern_add(&s->set, &w->arena, value_hash(of), s->names.n);
}

void hlo_same_value(struct hlo_writer *w, ir_val of, ir_val as) {
    uint32_t i = find_value(w->scope, as);
    add_value(w, of, w->scope->names.v[i - 1].name, w->scope->names.v[i - 1].line);
}

/* What needs nothing can be written where it is used. */
static bool is_constant(const struct hlo_writer *w, ir_val v) {
    ir_op op = ir_val_get(w->m, v)->op;
    return !IR_NONE(op) && ir_op_get(w->m, op)->noperands == 0 && ir_op_has(ir_kind(w->m, op), IR_T_PURE);
}

hilo_status hlo_names_of(struct hlo_writer *w, const ir_val *v, uint32_t n, const struct str **out) {
    struct str *names = ARENA_ARRAY(&w->arena, struct str, n);
    for (uint32_t i = 0; i < n; i++) {
        if (!find_value(w->scope, v[i]) && w->scope->clones && is_constant(w, v[i])) {
            ir_op user = w->op;
            HILO_TRY(hlo_write_op(w, ir_val_get(w->m, v[i])->op));
            w->op = user;
        }
        uint32_t k = find_value(w->scope, v[i]);
        if (!k)
            return hlo_refuse(w, "takes a value from outside of a region that HLO gives none but constants");
        names[i] = w->scope->names.v[k - 1].name;
    }
    *out = names;
    return HILO_OK;
}

/* ---- lines ----------------------------------------------------------------------------------- */

struct str hlo_line(struct hlo_writer *w, const char *opcode, ir_val of, struct str shape, const struct str *operands,
                    uint32_t n) {
    struct strbuf *text = &w->scope->text;
    struct str name = fresh(w, str_of(opcode));
    w->scope->line = text->n;
    if (!IR_NONE(of))
        add_value(w, of, name, text->n);
    strbuf_puts(text, "  ");
    strbuf_str(text, name);
    strbuf_puts(text, " = ");
    strbuf_str(text, shape);
    strbuf_putc(text, ' ');
    strbuf_puts(text, opcode);
    strbuf_putc(text, '(');
    for (uint32_t i = 0; i < n; i++) {
        if (i)
            strbuf_puts(text, ", ");
        strbuf_str(text, operands[i]);
    }
    strbuf_putc(text, ')');
    return name;
}

hilo_status hlo_write_tuple(struct hlo_writer *w, const ir_val *v, uint32_t n, struct str *name) {
    const struct str *names;
    struct str shape;
    HILO_TRY(hlo_names_of(w, v, n, &names));
    HILO_TRY(hlo_shape_of(w, v, n, true, &shape));
    *name = hlo_line(w, "tuple", (ir_val){0}, shape, names, n);
    hlo_end_line(w);
    return HILO_OK;
}

hilo_status hlo_write_part(struct hlo_writer *w, struct str tuple, uint32_t index, ir_val of) {
    struct str shape;
    HILO_TRY(hlo_shape_of(w, &of, 1, false, &shape));
    hlo_line(w, "get-tuple-element", of, shape, &tuple, 1);
    strbuf_printf(&w->scope->text, ", index=%u\n", index);
    return HILO_OK;
}

hilo_status hlo_write_results(struct hlo_writer *w, ir_op op, struct str name) {
    uint32_t n = ir_op_get(w->m, op)->nresults;
    if (n == 1)
        add_value(w, ir_result(w->m, op, 0), name, w->scope->line);
    for (uint32_t i = 0; i < n && n != 1; i++)
        HILO_TRY(hlo_write_part(w, name, i, ir_result(w->m, op, i)));
    return HILO_OK;
}

/* ---- computations ---------------------------------------------------------------------------- */

static hilo_status open_scope(struct hlo_writer *w, bool clones) {
    if (++w->depth > HLO_DEPTH)
        return hlo_refuse(w, "is nested more than %d levels deep", (int)HLO_DEPTH);
    struct hlo_scope *s = ARENA_NEW(&w->arena, struct hlo_scope);
    s->outer = w->scope;
    s->clones = clones;
    strbuf_init(&s->text, w->out->al);
    w->scope = s;
    return HILO_OK;
}

/* `name {` instructions `}`, the one whose line begins at `root` marked. */
static void close_scope(struct hlo_writer *w, struct str name, bool entry, size_t root) {
    struct hlo_scope *s = w->scope;
    size_t indented = root + 2;
    if (entry)
        strbuf_puts(w->out, "ENTRY ");
    strbuf_str(w->out, name);
    strbuf_puts(w->out, " {\n");
    if (!s->text.failed && s->text.n >= indented) {
        strbuf_putn(w->out, s->text.p, indented);
        strbuf_puts(w->out, "ROOT ");
        strbuf_putn(w->out, s->text.p + indented, s->text.n - indented);
    }
    strbuf_puts(w->out, entry ? "}\n" : "}\n\n");
    w->out->failed = w->out->failed || s->text.failed;
    w->scope = s->outer;
    w->depth--;
    strbuf_free(&s->text);
}

static hilo_status write_ops(struct hlo_writer *w, ir_block block) {
    for (ir_op op = ir_block_get(w->m, block)->first; !IR_NONE(op); op = ir_op_get(w->m, op)->next)
        if (!ir_op_has(ir_kind(w->m, op), IR_T_TERMINATOR))
            HILO_TRY(hlo_write_op(w, op));
    return HILO_OK;
}

/* The result of a computation: the one value, or a tuple; where its line begins. */
static hilo_status write_root(struct hlo_writer *w, const ir_val *v, uint32_t n, bool tuple, size_t *line) {
    const struct str *names;
    struct str name;
    if (n == 1 && !tuple) {
        HILO_TRY(hlo_names_of(w, v, 1, &names));
        *line = w->scope->names.v[find_value(w->scope, v[0]) - 1].line;
        return HILO_OK;
    }
    HILO_TRY(hlo_write_tuple(w, v, n, &name));
    *line = w->scope->line;
    return HILO_OK;
}

static hilo_status write_params(struct hlo_writer *w, ir_block block, ir_attr arg_attrs) {
    const struct ir_block_data *b = ir_block_get(w->m, block);
    const struct ir_attr_data *attrs = ir_attr_get(w->m, arg_attrs);
    for (uint32_t i = 0; i < b->nargs; i++) {
        struct str number = hlo_text(w, "%u", i), shape;
        HILO_TRY(hlo_shape_of(w, &b->args[i], 1, false, &shape));
        hlo_line(w, "parameter", b->args[i], shape, &number, 1);
        if (attrs->kind == IR_ATTR_ARRAY && i < attrs->n)
            hlo_put_discardable(w, attrs->items[i]);
        hlo_put_metadata(w, ir_val_get(w->m, b->args[i])->loc);
        hlo_end_line(w);
    }
    return HILO_OK;
}

static ir_block entry_block(const struct hlo_writer *w, ir_region r) {
    return ir_region_get(w->m, r)->first;
}

hilo_status hlo_write_region(struct hlo_writer *w, ir_region r, const char *stem, struct str *name) {
    ir_block block = entry_block(w, r);
    const struct ir_op_data *end = ir_op_get(w->m, ir_terminator(w->m, block));
    size_t root;
    *name = fresh(w, str_of(stem));
    HILO_TRY(open_scope(w, /*clones=*/true));
    HILO_TRY(write_params(w, block, (ir_attr){0}));
    HILO_TRY(write_ops(w, block));
    HILO_TRY(write_root(w, end->operands, end->noperands, false, &root));
    close_scope(w, *name, false, root);
    return HILO_OK;
}

hilo_status hlo_write_tupled(struct hlo_writer *w, ir_region r, const struct hlo_vals *captured, bool carries, bool tuple,
                             struct str *name) {
    ir_block block = entry_block(w, r);
    const struct ir_block_data *b = ir_block_get(w->m, block);
    const struct ir_op_data *end = ir_op_get(w->m, ir_terminator(w->m, block));
    struct hlo_vals params = {NULL, 0, 0}, results = {NULL, 0, 0};
    struct str parameter, shape, zero = STR("0");
    size_t root;
    for (uint32_t i = 0; i < b->nargs; i++)
        ARENA_PUSH(&w->arena, &params, b->args[i]);
    for (uint32_t i = 0; i < end->noperands; i++)
        ARENA_PUSH(&w->arena, &results, end->operands[i]);
    for (uint32_t i = 0; i < captured->n; i++) {
        ARENA_PUSH(&w->arena, &params, captured->v[i]);
        if (carries)
            ARENA_PUSH(&w->arena, &results, captured->v[i]);
    }
    *name = fresh(w, STR("region"));
    HILO_TRY(open_scope(w, /*clones=*/false));
    HILO_TRY(hlo_shape_of(w, params.v, params.n, true, &shape));
    parameter = hlo_line(w, "parameter", (ir_val){0}, shape, &zero, 1);
    hlo_end_line(w);
    for (uint32_t i = 0; i < params.n; i++)
        HILO_TRY(hlo_write_part(w, parameter, i, params.v[i]));
    HILO_TRY(write_ops(w, block));
    HILO_TRY(write_root(w, results.v, results.n, tuple, &root));
    close_scope(w, *name, false, root);
    return HILO_OK;
}

/* ---- captured values ------------------------------------------------------------------------- */

static void captured_in(struct hlo_writer *w, ir_op outer, ir_region r, struct hlo_vals *out) {
    for (ir_block b = ir_region_get(w->m, r)->first; !IR_NONE(b); b = ir_block_get(w->m, b)->next)
        for (ir_op op = ir_block_get(w->m, b)->first; !IR_NONE(op); op = ir_op_get(w->m, op)->next) {
            const struct ir_op_data *o = ir_op_get(w->m, op);
            for (uint32_t i = 0; i < o->noperands; i++) {
                bool known = ir_is_inside(w->m, o->operands[i], outer);
                for (uint32_t k = 0; k < out->n && !known; k++)
                    known = IR_SAME(out->v[k], o->operands[i]);
                if (!known)
                    ARENA_PUSH(&w->arena, out, o->operands[i]);
            }
            for (uint32_t k = 0; k < o->nregions; k++)
                captured_in(w, outer, ir_op_region(w->m, op, k), out);
        }
}

void hlo_captured(struct hlo_writer *w, ir_op op, uint32_t first, uint32_t n, struct hlo_vals *out) {
    for (uint32_t k = first; k < first + n; k++)
        captured_in(w, op, ir_op_region(w->m, op, k), out);
}

/* A string or a number of a dictionary. */
static ir_attr dict_get(const struct hlo_writer *w, ir_attr dict, const char *name) {
    return IR_NONE(dict) ? dict : ir_dict_find(w->m, dict, str_of(name));
}

static ir_attr item(const struct hlo_writer *w, ir_attr list, uint32_t i) {
    const struct ir_attr_data *d = ir_attr_get(w->m, list);
    return d->kind == IR_ATTR_ARRAY && i < d->n ? d->items[i] : (ir_attr){0};
}

/* `, sharding={{…}, {…}}` after the tuple of the last line, if every result has one. */
static void put_result_shardings(struct hlo_writer *w, ir_attr dicts, uint32_t n) {
    struct strbuf *text = &w->scope->text;
    for (uint32_t i = 0; i < n; i++)
        if (ir_attr_as_str(w->m, dict_get(w, item(w, dicts, i), "mhlo.sharding")).n == 0)
            return;
    if (n == 0)
        return;
    hlo_take_off(text, '\n');
    for (uint32_t i = 0; i < n; i++) {
        strbuf_puts(text, i ? ", " : ", sharding={");
        strbuf_str(text, ir_attr_as_str(w->m, dict_get(w, item(w, dicts, i), "mhlo.sharding")));
    }
    strbuf_puts(text, "}\n");
}

/* ---- functions ------------------------------------------------------------------------------- */

hilo_status hlo_write_func(struct hlo_writer *w, ir_op func, struct str *name) {
    uint32_t at = 0;
    while (at < w->funcs.n && !IR_SAME(w->funcs.v[at].func, func))
        at++;
    if (at < w->funcs.n) {
        *name = w->funcs.v[at].name;
        return name->n ? HILO_OK : hlo_refuse(w, "calls a function that calls itself");
    }
    ir_block body = ir_func_body(w->m, func);
    if (IR_NONE(body))
        return hlo_refuse(w, "calls a function without a body");
    ARENA_PUSH(&w->arena, &w->funcs, ((__typeof__(*w->funcs.v)){func, {NULL, 0}}));
    bool entry = at == 0; /* the first one */
    const struct ir_op_data *end = ir_op_get(w->m, ir_terminator(w->m, body));
    ir_op user = w->op;
    size_t root;
    w->op = func;
    *name = fresh(w, ir_prop_str(w->m, func, IR_FUNC_sym_name));
    HILO_TRY(open_scope(w, /*clones=*/false));
    HILO_TRY(write_params(w, body, ir_prop(w->m, func, IR_FUNC_arg_attrs)));
    HILO_TRY(write_ops(w, body));
    HILO_TRY(write_root(w, end->operands, end->noperands, false, &root));
    if (entry && end->noperands != 1)
        put_result_shardings(w, ir_prop(w->m, func, IR_FUNC_res_attrs), end->noperands);
    close_scope(w, *name, entry, root);
    w->op = user;
    w->funcs.v[at].name = *name;
    return HILO_OK;
}

/* ---- the module ------------------------------------------------------------------------------ */

/* A shape with the layout that its attributes say. */
static hilo_status put_laid_out(struct hlo_writer *w, ir_type t, ir_attr dict, struct strbuf *out) {
    struct str layout = ir_attr_as_str(w->m, dict_get(w, dict, "mhlo.layout_mode"));
    HILO_TRY(hlo_put_shape(w, t, out));
    if (layout.n < 2 || layout.p[0] != '{')
        return HILO_OK;
    hlo_take_off(out, '{'); /* the row-major layout */
    strbuf_str(out, layout);
    return HILO_OK;
}

/* `{(shape, shape)->shape}` */
static hilo_status put_entry_layout(struct hlo_writer *w, ir_op func, struct strbuf *out) {
    const struct ir_type_data *t = ir_type_get(w->m, ir_attr_get(w->m, ir_prop(w->m, func, IR_FUNC_function_type))->type);
    uint32_t nresults = t->ntypes - t->ninputs;
    strbuf_puts(out, ", entry_computation_layout={(");
    for (uint32_t i = 0; i < t->ntypes; i++) {
        bool result = i >= t->ninputs;
        ir_attr dicts = ir_prop(w->m, func, result ? IR_FUNC_res_attrs : IR_FUNC_arg_attrs);
        if (i == t->ninputs)
            strbuf_puts(out, nresults == 1 ? ")->" : ")->(");
        else if (i)
            strbuf_puts(out, ", ");
        HILO_TRY(put_laid_out(w, t->types[i], item(w, dicts, result ? i - t->ninputs : i), out));
    }
    if (nresults == 0)
        strbuf_puts(out, ")->(");
    strbuf_puts(out, nresults == 1 ? "}" : ")}");
    return HILO_OK;
}

/* Arguments whose memory a result takes, or any may take. */
static void put_donations(struct hlo_writer *w, ir_op func, struct strbuf *out) {
    ir_attr dicts = ir_prop(w->m, func, IR_FUNC_arg_attrs);
    const struct ir_type_data *t = ir_type_get(w->m, ir_attr_get(w->m, ir_prop(w->m, func, IR_FUNC_function_type))->type);
    bool one = t->ntypes - t->ninputs == 1;
    static const char *const names[2] = {"tf.aliasing_output", "jax.buffer_donor"};
    for (int k = 0; k < 2; k++) {
        uint32_t found = 0;
        for (uint32_t i = 0; i < t->ninputs; i++) {
            int64_t v;
            if (!ir_attr_as_i64(w->m, dict_get(w, item(w, dicts, i), names[k]), &v))
                continue;
            strbuf_puts(out, found++ ? ", " : k ? ", buffer_donor={ " : ", input_output_alias={ ");
            if (k == 0 && one)
                strbuf_puts(out, "{}: ");
            else if (k == 0)
                strbuf_printf(out, "{%lld}: ", (long long)v);
            strbuf_printf(out, k ? "(%u, {})" : "(%u, {}, may-alias)", i);
        }
        if (found)
            strbuf_puts(out, " }");
    }
}

static hilo_status write_module(struct hlo_writer *w, struct strbuf *out) {
    static const char *const counts[][2] = {{"mhlo.num_replicas", "replica_count"}, {"mhlo.num_partitions", "num_partitions"}};
    ir_op func = ir_module_entry(w->m);
    struct str name = ir_prop_str(w->m, w->m->root, IR_MODULE_sym_name);
    ir_attr dict = ir_op_get(w->m, w->m->root)->attrs;
    int64_t v;
    if (IR_NONE(func))
        return diag_error(w->d, HILO_INVALID_ARGUMENT, "there is neither a function @main nor a single public one");
    w->op = func;
    strbuf_puts(out, "HloModule ");
    for (size_t i = 0; i < name.n; i++) {
        char ch = name.p[i];
        bool word = (ch >= 'a' && ch <= 'z') || (ch >= 'A' && ch <= 'Z') || (i && ch >= '0' && ch <= '9');
        strbuf_putc(out, word ? ch : '_');
    }
    if (name.n == 0)
        strbuf_puts(out, "module");
    put_donations(w, func, out);
    HILO_TRY(put_entry_layout(w, func, out));
    for (int k = 0; k < 2; k++)
        if (ir_attr_as_i64(w->m, dict_get(w, dict, counts[k][0]), &v) && v > 1)
            strbuf_printf(out, ", %s=%lld", counts[k][1], (long long)v);
    strbuf_puts(out, "\n\n");
    w->out = out;
    return hlo_write_func(w, func, &name);
}

hilo_status write_hlo(const struct ir_module *m, struct diag_list *d, struct strbuf *out) {
    jmp_buf recover;
    struct hlo_writer w = {.m = m, .d = d};
    arena_init(&w.arena, out->al, &recover);
    volatile hilo_status status = HILO_RESOURCE_EXHAUSTED;
    if (setjmp(recover) == 0)
        status = write_module(&w, out);
    for (struct hlo_scope *s = w.scope; s; s = s->outer) /* what an error left open */
        strbuf_free(&s->text);
    arena_free(&w.arena);
    return status == HILO_OK && out->failed ? HILO_RESOURCE_EXHAUSTED : status;
}
