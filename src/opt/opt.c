/* The driver of the passes, and the analyses that they request. See opt.h. */
#include "opt/opt.h"
#include "base/torture.h"

#include <time.h>

/* ---- tables ---------------------------------------------------------------------------------- */

#define NOTHING OPT_NOTHING
#define USES OPT_USES
#define CALLS OPT_CALLS
#define ALL OPT_ALL

static const struct opt_pass passes[] = {
#define PASS(id, name, level, requires, preserves, text) {name, level, requires, preserves, text, opt_##id},
#include "opt/passes.def"
};

static const enum opt_pass_id steps[] = {
#define STEP(id) OPT_PASS_##id,
#include "opt/passes.def"
};

const struct opt_pass *opt_pass_get(enum opt_pass_id id) {
    return &passes[id];
}

const struct opt_pass *opt_step(size_t k) {
    return k < sizeof steps / sizeof *steps ? &passes[steps[k]] : NULL;
}

static const struct opt_pass *pass_named(struct str name) {
    for (size_t i = 0; i < OPT_PASS_COUNT; i++)
        if (str_is(name, passes[i].name))
            return &passes[i];
    return NULL;
}

void opt_ids_set(struct opt_ids *t, uint32_t id, uint32_t number) {
    if (id >= t->cap) {
        uint32_t cap = t->cap ? t->cap : TORTURED(TORTURE_ROOM, 256), n = t->cap;
        while (cap <= id)
            cap = cap > UINT32_MAX / 2 ? UINT32_MAX : cap * 2;
        uint32_t *v = ARENA_ARRAY(t->a, uint32_t, cap);
        if (n)
            memcpy(v, t->v, n * sizeof *v);
        t->v = v;
        t->cap = cap;
    }
    t->v[id] = number;
}

static struct opt_sparse_entry *sparse_slot(const struct opt_sparse *t, uint32_t id) {
    uint32_t i = id * UINT32_C(0x9E3779B1) >> 7;
    while (t->v[i & (t->cap - 1)].id && t->v[i & (t->cap - 1)].id != id)
        i++;
    return &t->v[i & (t->cap - 1)];
}

uint32_t opt_sparse_get(const struct opt_sparse *t, uint32_t id) {
    return t->cap ? sparse_slot(t, id)->number : 0;
}

void opt_sparse_set(struct opt_sparse *t, uint32_t id, uint32_t number) {
    if (2 * (t->n + 1) > t->cap) {
        struct opt_sparse old = *t;
        if (old.cap > UINT32_MAX / 2)
            arena_exhausted(t->a);
        t->cap = old.cap ? 2 * old.cap : 16;
        t->v = ARENA_ARRAY(t->a, struct opt_sparse_entry, t->cap);
        for (uint32_t i = 0; i < old.cap; i++)
            if (old.v[i].id)
                *sparse_slot(t, old.v[i].id) = old.v[i];
    }
    struct opt_sparse_entry *e = sparse_slot(t, id);
    t->n += e->id == 0;
    *e = (struct opt_sparse_entry){id, number};
}

/* ---- uses ------------------------------------------------------------------------------------ */

static void uses_block(struct opt *o, ir_block b) {
    for (ir_op op = ir_block_get(o->m, b)->first; !IR_NONE(op); op = ir_op_get(o->m, op)->next) {
        const struct ir_op_data *x = ir_op_get(o->m, op);
        for (uint32_t i = 0; i < x->noperands; i++)
            opt_ids_set(&o->uses.count, x->operands[i].i, opt_ids_get(&o->uses.count, x->operands[i].i) + 1);
        for (uint32_t i = 0; i < x->nregions; i++)
            for (ir_block c = ir_region_get(o->m, ir_op_region(o->m, op, i))->first; !IR_NONE(c);
                 c = ir_block_get(o->m, c)->next)
                uses_block(o, c);
    }
}

const struct opt_uses *opt_uses(struct opt *o) {
    if (!(o->valid & OPT_USES)) {
        o->uses = (struct opt_uses){{.a = &o->facts}};
        uses_block(o, ir_module_body(o->m));
        o->valid |= OPT_USES;
    }
    return &o->uses;
}

/* ---- calls ----------------------------------------------------------------------------------- */

bool opt_is_root(const struct opt *o, ir_op func) {
    if (!IR_NONE(o->options.entry))
        return IR_SAME(func, o->options.entry);
    struct str visibility = ir_prop_str(o->m, func, IR_FUNC_sym_visibility);
    return visibility.n == 0 || str_is(visibility, "public");
}

ir_op opt_callee(const struct opt *o, ir_op op) {
    enum ir_op_kind kind = ir_kind(o->m, op);
    if (kind != IR_CALL && kind != IR_COMPOSITE)
        return (ir_op){0};
    ir_attr symbol = ir_prop(o->m, op, kind == IR_CALL ? IR_CALL_callee : IR_COMPOSITE_decomposition);
    ir_op func = ir_module_symbol(o->m, ir_attr_as_str(o->m, symbol));
    bool body = !IR_NONE(func) && ir_kind(o->m, func) == IR_FUNC && !IR_NONE(ir_func_body(o->m, func));
    return body ? func : (ir_op){0};
}

/* Whether an op of this kind by itself may do more than compute its results. Random numbers come from one stream: to
   remove a draw would change those after it. */
static bool effect_itself(const struct opt *o, ir_op op) {
    const struct ir_op_data *x = ir_op_get(o->m, op);
    if (x->kind == IR_CUSTOM_CALL)
        return x->nresults == 0 || ir_prop_i64(o->m, op, IR_CUSTOM_CALL_has_side_effect) != 0 ||
               str_starts(ir_prop_str(o->m, op, IR_CUSTOM_CALL_call_target_name), "check.");
    return ir_op_has((enum ir_op_kind)x->kind, IR_T_EFFECT | IR_T_COLLECTIVE | IR_T_RANDOM | IR_T_SYMBOL);
}

static bool effect_callee(const struct opt *o, const struct opt_calls *calls, ir_op op) {
    enum ir_op_kind kind = ir_kind(o->m, op);
    if (kind != IR_CALL && kind != IR_COMPOSITE)
        return false;
    uint32_t i = opt_ids_get(&calls->index, opt_callee(o, op).i);
    return i == 0 || calls->v[i - 1].effects;
}

/* The ops of a region are counted on the way; `effects` is set when one has any. */
static uint32_t survey_region(struct opt *o, const struct opt_calls *calls, ir_region r, bool *effects) {
    uint32_t n = 0;
    for (ir_block b = ir_region_get(o->m, r)->first; !IR_NONE(b); b = ir_block_get(o->m, b)->next)
        for (ir_op op = ir_block_get(o->m, b)->first; !IR_NONE(op); op = ir_op_get(o->m, op)->next) {
            n++;
            *effects |= effect_itself(o, op) || effect_callee(o, calls, op);
            for (uint32_t i = 0; i < ir_op_get(o->m, op)->nregions; i++)
                n += survey_region(o, calls, ir_op_region(o->m, op, i), effects);
        }
    return n;
}

bool opt_has_effect(struct opt *o, ir_op op) {
    const struct opt_calls *calls = opt_calls(o);
    bool effects = effect_itself(o, op) || effect_callee(o, calls, op);
    for (uint32_t i = 0; i < ir_op_get(o->m, op)->nregions && !effects; i++)
        survey_region(o, calls, ir_op_region(o->m, op, i), &effects);
    return effects;
}

/* The functions that something refers to, found by walking ops and attributes. */
struct refs {
    struct opt *o;
    struct { ir_op *v; uint32_t n, cap; } found;
};

static void refs_attr(struct refs *r, ir_attr attr) {
    const struct ir_attr_data *a = ir_attr_get(r->o->m, attr);
    if (a->kind == IR_ATTR_SYMBOL) {
        ir_op func = ir_module_symbol(r->o->m, ir_str_get(r->o->m, a->str));
        if (!IR_NONE(func) && ir_kind(r->o->m, func) == IR_FUNC)
            ARENA_PUSH(&r->o->facts, &r->found, func);
    }
    if (a->kind == IR_ATTR_ARRAY || a->kind == IR_ATTR_DICT || a->kind == IR_ATTR_STRUCT)
        for (uint32_t i = 0; i < a->n; i++)
            refs_attr(r, a->items[i]);
}

static void refs_op(struct refs *r, ir_op op) {
    const struct ir_module *m = r->o->m;
    const struct ir_op_data *x = ir_op_get(m, op);
    for (uint32_t i = 0; i < ir_op_info((enum ir_op_kind)x->kind)->nslots; i++)
        refs_attr(r, x->props[i]);
    refs_attr(r, x->attrs);
    for (uint32_t i = 0; i < x->nregions; i++)
        for (ir_block b = ir_region_get(m, ir_op_region(m, op, i))->first; !IR_NONE(b); b = ir_block_get(m, b)->next)
            for (ir_op inner = ir_block_get(m, b)->first; !IR_NONE(inner); inner = ir_op_get(m, inner)->next)
                refs_op(r, inner);
}

/* A depth-first walk over references with a stack of its own, for a chain of calls may be of any length. A function is
   entered into the list when everything that it refers to is there, or still open. */
struct frame {
    ir_op func;
    const ir_op *refs;
    uint32_t n, next;
};

static void calls_finish(struct opt *o, ir_op func, bool reached) {
    struct opt_calls *c = &o->calls;
    struct opt_func *f = &c->v[c->n];
    *f = (struct opt_func){.op = func, .reached = reached};
    f->nops = survey_region(o, c, ir_op_region(o->m, func, 0), &f->effects);
    f->effects |= IR_NONE(ir_func_body(o->m, func));
    opt_ids_set(&c->index, func.i, ++c->n);
}

static void calls_from(struct opt *o, struct opt_ids *seen, ir_op root, bool reached) {
    struct { struct frame *v; uint32_t n, cap; } stack = {NULL, 0, 0};
    ir_op enter = root;
    do {
        if (!IR_NONE(enter) && !opt_ids_get(seen, enter.i)) {
            struct refs r = {.o = o};
            opt_ids_set(seen, enter.i, 1);
            refs_op(&r, enter);
            for (uint32_t i = 0; i < r.found.n; i++)
                opt_ids_set(&o->calls.refs, r.found.v[i].i, opt_ids_get(&o->calls.refs, r.found.v[i].i) + 1);
            ARENA_PUSH(&o->facts, &stack, ((struct frame){enter, r.found.v, r.found.n, 0}));
        }
        if (stack.n == 0)
            return;
        struct frame *top = &stack.v[stack.n - 1];
        if (top->next < top->n) {
            enter = top->refs[top->next++];
        } else {
            calls_finish(o, top->func, reached);
            stack.n--;
            enter = (ir_op){0};
        }
    } while (stack.n);
}

const struct opt_calls *opt_calls(struct opt *o) {
    if (o->valid & OPT_CALLS)
        return &o->calls;
    struct opt_ids seen = {.a = &o->facts};
    ir_op first = ir_block_get(o->m, ir_module_body(o->m))->first;
    uint32_t n = 0;
    for (ir_op op = first; !IR_NONE(op); op = ir_op_get(o->m, op)->next)
        n += ir_kind(o->m, op) == IR_FUNC;
    o->calls = (struct opt_calls){ARENA_ARRAY(&o->facts, struct opt_func, n), 0, {.a = &o->facts}, {.a = &o->facts}};
    for (int roots = 1; roots >= 0; roots--)
        for (ir_op op = first; !IR_NONE(op); op = ir_op_get(o->m, op)->next)
            if (ir_kind(o->m, op) == IR_FUNC && (!roots || opt_is_root(o, op)))
                calls_from(o, &seen, op, roots);
    o->valid |= OPT_CALLS;
    return &o->calls;
}

/* ---- running --------------------------------------------------------------------------------- */

static double now_us(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

/* The op's constraints hold, and the sizes of its result are those that it was given. */
static bool sizes_hold(struct opt *o, ir_op op) {
    struct diag_list ignored;
    ir_type inferred = {0};
    diag_init(&ignored, o->d->al);
    bool valid = ir_infer(o->m, &ignored, op, &inferred, 1) == HILO_OK;
    diag_clear(&ignored);
    if (!valid || IR_NONE(inferred))
        return valid;
    const struct ir_type_data *a = ir_type_get(o->m, inferred), *b = ir_val_type(o->m, ir_result(o->m, op, 0));
    for (uint32_t i = 0; i < a->rank && a->rank == b->rank; i++)
        if (a->dims[i] != IR_DYNAMIC && b->dims[i] != IR_DYNAMIC && a->dims[i] != b->dims[i])
            return false;
    return a->rank == b->rank || a->kind == IR_TYPE_UNRANKED || b->kind == IR_TYPE_UNRANKED;
}

/* What was computed may be a constant now. A program that would have failed when it came to this op must not become invalid,
   for it may never come there: wrong constants go through a barrier. */
static void guard(struct opt *o, ir_op op) {
    if (sizes_hold(o, op))
        return;
    for (uint32_t i = 0; i < ir_op_get(o->m, op)->noperands; i++) {
        ir_val v = ir_operand(o->m, op, i);
        ir_op def = ir_val_get(o->m, v)->op;
        if (IR_NONE(def) || !ir_op_has(ir_kind(o->m, def), IR_T_CONSTANT))
            continue;
        ir_op barrier = ir_op_new(o->m, IR_OPTIMIZATION_BARRIER, &v, 1, &ir_val_get(o->m, v)->type, 1, 0);
        ir_insert_before(o->m, op, barrier);
        ir_set_operand(o->m, op, i, ir_result(o->m, barrier, 0));
    }
}

/* Counts the ops, and guards them. */
static uint32_t survey_ops(struct opt *o, ir_region r) {
    uint32_t n = 0;
    for (ir_block b = ir_region_get(o->m, r)->first; !IR_NONE(b); b = ir_block_get(o->m, b)->next)
        for (ir_op op = ir_block_get(o->m, b)->first; !IR_NONE(op); op = ir_op_get(o->m, op)->next) {
            n++;
            if (ir_op_has(ir_kind(o->m, op), IR_T_MAY_FAIL))
                guard(o, op);
            for (uint32_t i = 0; i < ir_op_get(o->m, op)->nregions; i++)
                n += survey_ops(o, ir_op_region(o->m, op, i));
        }
    return n;
}

/* Forgets the analyses that are not in `keep`. Their memory is freed when none is left. */
static void forget(struct opt *o, unsigned keep) {
    o->valid &= keep;
    if (!o->valid)
        arena_free(&o->facts);
}

static void require(struct opt *o, unsigned analyses) {
    if (analyses & OPT_USES)
        opt_uses(o);
    if (analyses & OPT_CALLS)
        opt_calls(o);
}

static hilo_status run_pass(struct opt *o, const struct opt_pass *p) {
    ir_region root = ir_op_region(o->m, o->m->root, 0);
    uint32_t before = o->rows.n ? o->rows.v[o->rows.n - 1].after : survey_ops(o, root);
    double begin = now_us();
    o->changes = 0;
    o->ops = before;
    require(o, p->requires);
    HILO_TRY(p->run(o));
    arena_free(&o->scratch);
    if (o->changes)
        forget(o, p->preserves);
    struct opt_row row = {p, before, survey_ops(o, root), o->changes, now_us() - begin};
    ARENA_PUSH(&o->arena, &o->rows, row);
    if (o->options.verify && ir_verify(o->m, o->d) != HILO_OK)
        return diag_error(o->d, HILO_INTERNAL, "the program is not valid any more after the pass '%s'", p->name);
    const char *dump = o->options.dump_after;
    if (dump && (strcmp(dump, "all") == 0 || strcmp(dump, p->name) == 0))
        o->options.dump(o->options.dump_user, o->m, p->name, o->changes != 0);
    return HILO_OK;
}

static hilo_status unknown_pass(struct opt *o, struct str name) {
    struct strbuf names;
    strbuf_init(&names, o->d->al);
    for (size_t i = 0; i < OPT_PASS_COUNT; i++)
        strbuf_printf(&names, "%s%s", i ? ", " : "", passes[i].name);
    hilo_status status = diag_error(o->d, HILO_INVALID_ARGUMENT, "there is no pass '%.*s'; there are: %s", (int)name.n,
                                    name.p, names.p ? names.p : "");
    strbuf_free(&names);
    return status;
}

static hilo_status known_rule(struct opt *o, const char *name) {
    const struct opt_rule_info *rule;
    for (size_t i = 0; (rule = opt_rule_get(i)); i++)
        if (strcmp(rule->name, name) == 0)
            return HILO_OK;
    return diag_error(o->d, HILO_INVALID_ARGUMENT, "there is no rule '%s'; see: hilo opt --list-passes", name);
}

static bool last(const struct opt *o, const struct opt_pass *p) {
    return o->options.stop_after && strcmp(o->options.stop_after, p->name) == 0;
}

/* The names in a list with commas. */
static hilo_status run_list(struct opt *o, const char *list) {
    for (const char *p = list; *p;) {
        struct str name = {p, strcspn(p, ",")};
        const struct opt_pass *pass = pass_named(name);
        if (!pass)
            return unknown_pass(o, name);
        HILO_TRY(run_pass(o, pass));
        if (last(o, pass))
            return HILO_OK;
        p += name.n + (p[name.n] == ',');
    }
    return HILO_OK;
}

static hilo_status run_pipeline(struct opt *o) {
    const struct opt_pass *p;
    for (size_t k = 0; (p = opt_step(k)); k++) {
        if (p->level > o->options.level)
            continue;
        HILO_TRY(run_pass(o, p));
        if (last(o, p))
            return HILO_OK;
    }
    return HILO_OK;
}

static hilo_status run(struct opt *o) {
    const char *names[] = {o->options.stop_after, o->options.dump_after};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (names[i] && !pass_named(str_of(names[i])) && !(i == 1 && strcmp(names[i], "all") == 0))
            return unknown_pass(o, str_of(names[i]));
    for (size_t i = 0; i < o->options.ndisabled; i++)
        HILO_TRY(known_rule(o, o->options.disabled[i]));
    return o->options.passes ? run_list(o, o->options.passes) : run_pipeline(o);
}

hilo_status opt_run(struct opt *o) {
    jmp_buf recover;
    o->m->arena.recover = o->scratch.recover = o->arena.recover = o->facts.recover = &recover;
    hilo_status status = HILO_RESOURCE_EXHAUSTED;
    if (!setjmp(recover))
        status = run(o);
    o->m->arena.recover = o->scratch.recover = o->arena.recover = o->facts.recover = NULL;
    return status;
}

void opt_init(struct opt *o, struct ir_module *m, struct diag_list *d) {
    *o = (struct opt){.m = m, .d = d, .options.rule_limit = UINT64_MAX};
    arena_init(&o->scratch, m->arena.al, NULL);
    arena_init(&o->arena, m->arena.al, NULL);
    arena_init(&o->facts, m->arena.al, NULL);
#ifndef NDEBUG
    o->options.verify = true;
#endif
}

void opt_free(struct opt *o) {
    arena_free(&o->scratch);
    arena_free(&o->arena);
    arena_free(&o->facts);
}
