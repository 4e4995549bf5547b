/* The recogniser of patterns.def: a search with backtracking over goals, each a part of a row's text and the value that it has
 * to match. Rows are short and values are followed through few ops, so nothing is precompiled. */
#include "fuse/patterns.h"
#include "base/decimal.h"

#include <math.h>

static const struct {
    const char *name, *text;
} rows[] = {
#define PATTERN(name, text) {name, text},
#include "fuse/patterns.def"
};
enum {
    ROWS = sizeof rows / sizeof *rows,
    DEPTH = 6,
    STEPS = 4000, /* of a match */
    KERNEL_STEPS = 20000,
    CANDIDATES = 256 /* values of a kernel, at most, at which rows are tried */
};

struct search {
    const struct ir_module *m;
    ir_val bound[26]; /* $a … $z */
    uint32_t steps;   /* that are left */
};

struct goal {
    const char *text;
    ir_val v;
    uint32_t depth; /* of ~ */
    const struct goal *next;
};

static ir_op def_of(const struct search *s, ir_val v) {
    return ir_val_get(s->m, v)->op;
}

/* The value without conversions and changes of shape. */
static ir_val source(const struct search *s, ir_val v) {
    for (ir_op op = def_of(s, v); !IR_NONE(op); op = def_of(s, v)) {
        enum ir_op_kind kind = ir_kind(s->m, op);
        if (!ir_op_has(kind, IR_T_ALIAS) && kind != IR_CONVERT && kind != IR_BROADCAST_IN_DIM && kind != IR_TRANSPOSE)
            return v;
        v = ir_operand(s->m, op, ir_val_get(s->m, v)->index);
    }
    return v;
}

static bool is_number(const struct search *s, ir_val v, double want) {
    if (!fuse_is_constant(s->m, v))
        return false;
    const struct ir_attr_data *a = ir_attr_get(s->m, ir_constant_value(s->m, def_of(s, v)));
    const struct ir_dtype_info *d = ir_dtype_get(ir_val_type(s->m, v)->dtype);
    int64_t i;
    if (opt_integer(s->m, v, &i))
        return (double)i == want;
    return a->kind == IR_ATTR_DENSE && a->splat && a->data && d->cls == IR_FLOAT &&
           fabs(fp_decode(d->fp, fp_load(d->fp, a->data)) - want) <= 0.004 * fabs(want);
}

/* A reduction whose body is this op alone. `last`: of the last dimensions only. */
static bool is_reduce(const struct search *s, ir_op op, enum ir_op_kind kind, bool last) {
    if (ir_kind(s->m, op) != IR_REDUCE || ir_op_get(s->m, op)->nresults != 1)
        return false;
    ir_block b = ir_region_get(s->m, ir_op_region(s->m, op, 0))->first;
    ir_op first = ir_block_get(s->m, b)->first;
    size_t n;
    const int64_t *d = ir_prop_i64s(s->m, op, IR_REDUCE_dimensions, &n);
    uint32_t rank = ir_val_type(s->m, ir_operand(s->m, op, 0))->rank;
    for (size_t i = 0; i < n && last; i++)
        if (d[i] < (int64_t)(rank - n))
            return false;
    return ir_kind(s->m, first) == kind && IR_SAME(ir_op_get(s->m, first)->next, ir_terminator(s->m, b));
}

static bool has_one_row(const struct search *s, ir_val v) {
    const struct ir_type_data *t = ir_val_type(s->m, v);
    return t->rank < 2 || t->dims[t->rank - 2] == 1;
}

/* The end of the term that begins here: a name with its operands, a number, a variable with what it stands for. */
static const char *after_term(const char *p) {
    for (int depth = 0; *p; p++) {
        depth += *p == '(';
        if (depth == 0 && (*p == ',' || *p == ')'))
            break;
        depth -= *p == ')';
    }
    return p;
}

static bool solve(struct search *s, const struct goal *g);

/* Whether the op has a name of patterns.def. */
static bool is_named(const struct search *s, ir_op op, struct str name) {
    enum ir_op_kind kind = ir_kind(s->m, op);
    const char *mnemonic = strchr(ir_op_info(kind)->name, '.');
    if (str_is(name, "dot"))
        return kind == IR_DOT_GENERAL || kind == IR_DOT;
    if (str_is(name, "sum") || str_is(name, "sum_last"))
        return is_reduce(s, op, IR_ADD, name.n > 3);
    if (str_is(name, "max"))
        return is_reduce(s, op, IR_MAXIMUM, false);
    return mnemonic && str_is(name, mnemonic + 1);
}

/* The operands, from `p` on, one after the other; `swapped`: the first two in the other order. */
static bool solve_operands(struct search *s, const struct goal *g, ir_op op, const char *p, bool swapped) {
    enum { MOST = 3 };
    const struct ir_op_data *x = ir_op_get(s->m, op);
    struct goal goals[MOST];
    uint32_t n = 0;
    for (const char *end = p - 2; end[0] != ')' || n == 0; n++) {
        uint32_t which = swapped && n < 2 ? 1 - n : n;
        if (n == MOST || which >= x->noperands)
            return false;
        goals[n] = (struct goal){end + 2, x->operands[which], 0, g->next};
        if (n)
            goals[n - 1].next = &goals[n];
        end = after_term(end + 2);
    }
    return solve(s, goals);
}

static bool solve_op(struct search *s, const struct goal *g) {
    ir_op op = def_of(s, g->v);
    struct str name = {g->text, strcspn(g->text, "(,)")};
    const char *p = g->text + name.n + 1;
    if (str_is(name, "row")) {
        struct goal in = {p, g->v, 0, g->next};
        return has_one_row(s, g->v) && solve(s, &in);
    }
    if (IR_NONE(op) || !is_named(s, op, name))
        return false;
    bool commutes = ir_op_has(ir_kind(s->m, op), IR_T_COMMUTATIVE) && ir_op_get(s->m, op)->noperands == 2;
    return solve_operands(s, g, op, p, false) || (commutes && solve_operands(s, g, op, p, true));
}

/* ~p: here, or in what elementwise ops are computed from. */
static bool solve_within(struct search *s, const struct goal *g) {
    struct goal in = {g->text + 1, g->v, 0, g->next};
    if (solve(s, &in))
        return true;
    ir_op op = def_of(s, source(s, g->v));
    if (IR_NONE(op) || g->depth == DEPTH || fuse_class(ir_kind(s->m, op)) != FUSE_ELEMENT)
        return false;
    for (uint32_t i = 0; i < ir_op_get(s->m, op)->noperands; i++) {
        struct goal below = {g->text, ir_operand(s->m, op, i), g->depth + 1, g->next};
        if (solve(s, &below))
            return true;
    }
    return false;
}

static bool solve_bound(struct search *s, const struct goal *g) {
    ir_val *slot = &s->bound[g->text[1] - 'a'], v = source(s, g->v);
    if (slot->i)
        return IR_SAME(*slot, v) && solve(s, g->next);
    struct goal in = {g->text + 3, g->v, 0, g->next};
    *slot = v;
    bool found = solve(s, g->text[2] == ':' ? &in : g->next);
    if (!found)
        slot->i = 0;
    return found;
}

static bool solve_name(struct search *s, const struct goal *g) {
    struct str name = {g->text + 1, strcspn(g->text + 1, ">")};
    for (size_t i = 0; i < ROWS; i++) {
        struct goal in = {rows[i].text, g->v, 0, g->next};
        if (str_is(name, rows[i].name) && solve(s, &in))
            return true;
    }
    return false;
}

static bool solve_number(struct search *s, const struct goal *g) {
    double want;
    const char *next;
    return dec_parse_double(g->text, g->text + strcspn(g->text, "(,)"), &want, &next) && is_number(s, g->v, want) &&
           solve(s, g->next);
}

static bool solve(struct search *s, const struct goal *g) {
    if (!g)
        return true;
    if (s->steps == 0)
        return false;
    s->steps--;
    struct goal in = *g;
    in.v = *g->text == 'r' && strncmp(g->text, "row(", 4) == 0 ? g->v : source(s, g->v);
    switch (*g->text) {
    case '_':
        return solve(s, g->next);
    case '~':
        return solve_within(s, g);
    case '$':
        return solve_bound(s, g);
    case '<':
        return solve_name(s, g);
    default:
        if (*g->text >= '0' && *g->text <= '9')
            return solve_number(s, &in);
        return solve_op(s, &in);
    }
}

/* ---- kernels --------------------------------------------------------------------------------- */

static bool is_helper(const char *name) {
    size_t n = strlen(name);
    return n > 3 && strcmp(name + n - 3, " of") == 0;
}

/* The values that the kernel computes, as far as they are found within `fuel` steps: each once. */
struct candidates {
    uint32_t n;
    ir_val v[CANDIDATES];
};

static void collect(const struct ir_module *m, const struct fuse_block *b, const struct fuse_kernel *k, ir_val v,
                    struct candidates *c, uint32_t *fuel) {
    ir_op op = ir_val_get(m, v)->op;
    uint32_t step = opt_ids_get(&b->kernel_of, v.i);
    if (IR_NONE(op) || !IR_SAME(ir_op_get(m, op)->parent, ir_op_get(m, k->root)->parent) || *fuel == 0 ||
        fuse_is_constant(m, v) || (step && b->steps.v[step - 1].kernel != k))
        return;
    --*fuel;
    for (uint32_t i = 0; i < c->n; i++)
        if (IR_SAME(c->v[i], v))
            return;
    if (c->n < CANDIDATES)
        c->v[c->n++] = v;
    for (uint32_t i = 0; i < ir_op_get(m, op)->noperands; i++)
        collect(m, b, k, ir_operand(m, op, i), c, fuel);
}

/* False: the value's op is not the one that the row begins with. A name of patterns.def begins as that of its op, but for
   reductions. */
static bool may_begin(const struct ir_module *m, ir_val v, const char *text) {
    enum ir_op_kind kind = ir_kind(m, ir_val_get(m, v)->op);
    const char *mnemonic = strchr(ir_op_info(kind)->name, '.');
    return *text == '<' || kind == IR_REDUCE || (mnemonic && mnemonic[1] == *text);
}

/* Whether the row matches at the value. `left`: steps of all searches of the kernel. */
static bool matches(const struct ir_module *m, ir_val v, size_t row, uint32_t *left) {
    uint32_t steps = *left < STEPS ? *left : STEPS;
    struct search s = {.m = m, .steps = steps};
    struct goal g = {rows[row].text, v, 0, NULL};
    if (!may_begin(m, v, g.text))
        return false;
    bool found = IR_SAME(source(&s, v), v) && solve(&s, &g);
    *left -= steps - s.steps;
    return found;
}

const char *fuse_pattern(const struct ir_module *m, const struct fuse_block *b, const struct fuse_kernel *k) {
    struct candidates c = {.n = 0};
    uint32_t left = KERNEL_STEPS;
    for (uint32_t i = 0; i < k->outs.n; i++) {
        uint32_t fuel = 2 * k->nops + 8;
        collect(m, b, k, k->outs.v[i], &c, &fuel);
    }
    for (size_t row = 0; row < ROWS; row++)
        for (uint32_t i = 0; i < c.n && !is_helper(rows[row].name); i++)
            if (matches(m, c.v[i], row, &left))
                return rows[row].name;
    return NULL;
}
