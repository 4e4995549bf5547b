/* The tree to text. */
#include "llm/jinja/node.h"

#include <math.h>
#include <stdio.h>

enum { DEPTH_MOST = 500, MEMORY_MOST = 256 << 20, STEPS_MOST = 20000000 };

/* ---- errors and bounds ---------------------------------------------------------------------------- */

void jinja_fail(struct jinja *j, hilo_status status, const char *fmt, ...) {
    struct diag_loc loc = {.file = j->t->name, .length = 1};
    va_list ap;
    if (j->at)
        jinja_place(j->t, j->at->at, &loc.line, &loc.col);
    va_start(ap, fmt);
    diag_vadd(j->d, DIAG_ERROR, status, NULL, loc, j->t->text, fmt, ap);
    va_end(ap);
    j->status = status;
    longjmp(j->failed, 1);
}

void *jinja_alloc(struct jinja *j, size_t n, size_t size) {
    size_t bytes;
    if (!mem_mul(n, size, &bytes) || bytes > j->o.bytes || j->arena.bytes > j->o.bytes - bytes)
        jinja_fail(j, HILO_RESOURCE_EXHAUSTED, "the template needs more than %zu bytes of memory", j->o.bytes);
    return arena_alloc(&j->arena, bytes ? bytes : 1, 16);
}

void jinja_step(struct jinja *j) {
    if (++j->steps > j->o.steps)
        jinja_fail(j, HILO_RESOURCE_EXHAUSTED, "the template takes more than %zu steps", j->o.steps);
}

void jinja_work(struct jinja *j, size_t n) {
    enum { BYTES_OF_STEP = 64 };
    j->steps += n / BYTES_OF_STEP;
    jinja_step(j);
}

static void enter(struct jinja *j, const struct jnode *n) {
    j->at = n;
    jinja_step(j);
    if (++j->depth > DEPTH_MOST)
        jinja_fail(j, HILO_RESOURCE_EXHAUSTED, "the template is nested deeper than %d levels", DEPTH_MOST);
}

const struct jval *jinja_argument(const struct jargs *a, uint32_t i, const char *name) {
    for (uint32_t k = 0; k < a->nnamed; k++)
        if (str_is(a->named[k].name, name))
            return &a->named[k].value;
    return i < a->n ? &a->v[i] : NULL;
}

/* ---- names ----------------------------------------------------------------------------------------- */

static struct jval *find_in(struct jscope *s, struct str name) {
    for (uint32_t i = s->names.n; i-- > 0;)
        if (str_eq(s->names.v[i].name, name))
            return &s->names.v[i].value;
    return NULL;
}

static void set_name(struct jinja *j, struct jscope *s, struct str name, struct jval value) {
    struct jval *old = find_in(s, name);
    if (old)
        *old = value;
    else
        ARENA_PUSH(&j->arena, &s->names, ((struct jbinding){name, value}));
}

static struct jval get_name(struct jinja *j, struct str name) {
    for (struct jscope *s = j->scope; s; s = s->outer) {
        const struct jval *v = find_in(s, name);
        if (v)
            return *v;
    }
    const struct jfunction *f = jinja_global(name);
    return f ? (struct jval){.kind = J_GLOBAL, .u.global = f} : jundefined(name);
}

static struct jscope *push_scope(struct jinja *j, struct jscope *outer) {
    struct jscope *before = j->scope, *s = jinja_alloc(j, 1, sizeof *s);
    s->outer = outer;
    j->scope = s;
    return before;
}

static void assign(struct jinja *j, const struct jnode *target, struct jval value) {
    if (target->op == JN_NAME) {
        set_name(j, j->scope, target->name, value);
    } else if (target->op == JN_ATTR) {
        struct jval ns = jinja_eval(j, target->a);
        if (ns.kind != J_NAMESPACE)
            jinja_fail(j, HILO_INVALID_ARGUMENT, "attributes of namespaces alone can be set");
        jdict_set(j, ns.u.dict, jstring(jliteral(target->name)), value);
    } else {
        struct jval list = jsequence(j, value);
        if (list.u.list->n != target->kids.n)
            jinja_fail(j, HILO_INVALID_ARGUMENT, "%u values are assigned to %u names", list.u.list->n, target->kids.n);
        for (uint32_t i = 0; i < target->kids.n; i++)
            assign(j, target->kids.v[i], list.u.list->v[i]);
    }
}

/* ---- arithmetic ------------------------------------------------------------------------------------- */

static bool is_integer(struct jval v) {
    return v.kind == J_INT || v.kind == J_BOOL;
}

static int64_t integer(struct jval v) {
    return v.kind == J_BOOL ? v.u.b : v.u.i;
}

static double real(struct jval v) {
    return v.kind == J_FLOAT ? v.u.f : (double)integer(v);
}

/* Python's: rounded down, the remainder has the divisor's sign. */
static struct jval divide_integers(struct jinja *j, enum jop op, int64_t a, int64_t b) {
    if (b == 0)
        jinja_fail(j, HILO_INVALID_ARGUMENT, "division by zero");
    if (b == -1)
        return op == JN_MOD ? jint(0) : a == INT64_MIN ? jfloat(-(double)a) : jint(-a);
    int64_t q = a / b, r = a % b;
    bool down = r != 0 && (r < 0) != (b < 0);
    return jint(op == JN_MOD ? r + (down ? b : 0) : q - down);
}

static struct jval power_of_integers(struct jinja *j, int64_t a, int64_t b) {
    int64_t r = 1;
    for (; b > 0; b--) {
        jinja_step(j);
        if (__builtin_mul_overflow(r, a, &r))
            jinja_fail(j, HILO_INVALID_ARGUMENT, "an integer does not fit 64 bits");
        if (r == 0 || (r == 1 && a == 1))
            break;
    }
    return jint(r);
}

static struct jval repeat(struct jinja *j, struct jstr s, int64_t n) {
    struct jbuf b = {0};
    for (; n > 0 && s.n; n--) {
        jinja_step(j);
        jbuf_str(j, &b, s);
    }
    return jstring(jbuf_take(&b));
}

static struct jval arithmetic(struct jinja *j, enum jop op, struct jval a, struct jval b) {
    int64_t r;
    struct jbuf text = {0};
    const struct jval *undefined = a.kind == J_UNDEFINED ? &a : b.kind == J_UNDEFINED ? &b : NULL;
    if (undefined)
        jinja_fail(j, HILO_INVALID_ARGUMENT, "'%.*s' is undefined", (int)undefined->u.s.n, undefined->u.s.p);
    if (op == JN_ADD && a.kind == J_STR && b.kind == J_STR) {
        bool markup = a.u.s.markup || b.u.s.markup;
        jbuf_str(j, &text, markup ? jinja_escape(j, a.u.s) : a.u.s);
        jbuf_str(j, &text, markup ? jinja_escape(j, b.u.s) : b.u.s);
        return jstring((struct jstr){text.p, text.input, text.n, markup});
    }
    if (op == JN_ADD && a.kind == J_LIST && b.kind == J_LIST) {
        struct jval out = jlist_new(j, a.u.list->tuple);
        for (int side = 0; side < 2; side++)
            for (uint32_t i = 0; i < (side ? b : a).u.list->n; i++) {
                jinja_step(j);
                jlist_push(j, out, (side ? b : a).u.list->v[i]);
            }
        return out;
    }
    if (op == JN_MUL && a.kind == J_STR && is_integer(b))
        return repeat(j, a.u.s, integer(b));
    if (op == JN_MUL && b.kind == J_STR && is_integer(a))
        return repeat(j, b.u.s, integer(a));
    if (op == JN_MOD && a.kind == J_STR)
        return b.kind == J_LIST && b.u.list->tuple ? jinja_format(j, a.u.s, b.u.list->v, b.u.list->n)
                                                    : jinja_format(j, a.u.s, &b, 1);
    if (is_integer(a) && is_integer(b) && op != JN_DIV && !(op == JN_POW && integer(b) < 0)) {
        int64_t x = integer(a), y = integer(b);
        if (op == JN_FLOORDIV || op == JN_MOD)
            return divide_integers(j, op, x, y);
        if (op == JN_POW)
            return power_of_integers(j, x, y);
        if (op == JN_ADD ? __builtin_add_overflow(x, y, &r)
                         : op == JN_SUB ? __builtin_sub_overflow(x, y, &r) : __builtin_mul_overflow(x, y, &r))
            jinja_fail(j, HILO_INVALID_ARGUMENT, "an integer does not fit 64 bits");
        return jint(r);
    }
    if (!(is_integer(a) || a.kind == J_FLOAT) || !(is_integer(b) || b.kind == J_FLOAT))
        jinja_fail(j, HILO_INVALID_ARGUMENT, "the operator does not take a %s and a %s", jtype(a), jtype(b));
    double x = real(a), y = real(b);
    if ((op == JN_DIV || op == JN_FLOORDIV || op == JN_MOD) && y == 0)
        jinja_fail(j, HILO_INVALID_ARGUMENT, "division by zero");
    switch (op) {
    case JN_ADD:
        return jfloat(x + y);
    case JN_SUB:
        return jfloat(x - y);
    case JN_MUL:
        return jfloat(x * y);
    case JN_DIV:
        return jfloat(x / y);
    case JN_POW:
        return jfloat(pow(x, y));
    case JN_FLOORDIV:
        return jfloat(floor(x / y));
    default:
        return jfloat(x - y * floor(x / y));
    }
}

static struct jval sign(struct jinja *j, enum jop op, struct jval v) {
    if (is_integer(v) && (op == JN_POS || integer(v) != INT64_MIN))
        return jint(op == JN_NEG ? -integer(v) : integer(v));
    if (v.kind != J_FLOAT)
        jinja_fail(j, HILO_INVALID_ARGUMENT, "the sign of a %s cannot be changed", jtype(v));
    return jfloat(op == JN_NEG ? -v.u.f : v.u.f);
}

static struct jval compare(struct jinja *j, const struct jnode *n) {
    struct jval a = jinja_eval(j, n->kids.v[0]);
    for (uint32_t i = 1; i < n->kids.n; i++) {
        struct jval b = jinja_eval(j, n->kids.v[i]);
        enum jcompare op = (enum jcompare)n->compare[i - 1];
        bool holds;
        j->at = n;
        if (op == JC_EQ || op == JC_NE)
            holds = jequal(j, a, b) == (op == JC_EQ);
        else if (op == JC_IN || op == JC_NOT_IN)
            holds = jcontains(j, b, a) == (op == JC_IN);
        else if ((a.kind == J_FLOAT && isnan(a.u.f)) || (b.kind == J_FLOAT && isnan(b.u.f)))
            holds = false;
        else {
            int c = jorder(j, a, b);
            holds = op == JC_LT ? c < 0 : op == JC_LE ? c <= 0 : op == JC_GT ? c > 0 : c >= 0;
        }
        if (!holds)
            return jbool(false);
        a = b;
    }
    return jbool(true);
}

/* A bound of a slice: within [low, high]; `absent` when it is not there. */
static int64_t bound(struct jinja *j, const struct jnode *n, int64_t length, int64_t low, int64_t high, int64_t absent) {
    struct jval v = n ? jinja_eval(j, n) : jnone();
    if (v.kind == J_NONE)
        return absent;
    if (!is_integer(v))
        jinja_fail(j, HILO_INVALID_ARGUMENT, "a slice wants integers, not a %s", jtype(v));
    int64_t i = integer(v);
    i = i < 0 ? (i < -length ? -length - 1 : i) + length : i;
    return i < low ? low : i > high ? high : i;
}

static struct jval slice(struct jinja *j, const struct jnode *n) {
    struct jval v = jinja_eval(j, n->d), step = n->c ? jinja_eval(j, n->c) : jnone();
    bool text = v.kind == J_STR;
    if (v.kind == J_UNDEFINED)
        jinja_fail(j, HILO_INVALID_ARGUMENT, "'%.*s' is undefined", (int)v.u.s.n, v.u.s.p);
    if (!text && v.kind != J_LIST)
        jinja_fail(j, HILO_INVALID_ARGUMENT, "a %s has no slices", jtype(v));
    if (step.kind != J_NONE && (!is_integer(step) || integer(step) == 0))
        jinja_fail(j, HILO_INVALID_ARGUMENT, "the step of a slice is an integer that is not 0");
    int64_t by = step.kind == J_NONE ? 1 : integer(step);
    struct jlist *l = jsequence(j, v).u.list;
    int64_t length = l->n;
    int64_t from = bound(j, n->a, length, by > 0 ? 0 : -1, by > 0 ? length : length - 1, by > 0 ? 0 : length - 1);
    int64_t to = bound(j, n->b, length, by > 0 ? 0 : -1, by > 0 ? length : length - 1, by > 0 ? length : -1);
    struct jval out = jlist_new(j, !text && l->tuple);
    struct jbuf b = {0};
    for (int64_t i = from; by > 0 ? i < to : i > to;) {
        jinja_step(j);
        if (text)
            jbuf_str(j, &b, l->v[i].u.s);
        else
            jlist_push(j, out, l->v[i]);
        if (__builtin_add_overflow(i, by, &i))
            break;
    }
    return text ? jstring(jbuf_take(&b)) : out;
}

/* ---- calls ------------------------------------------------------------------------------------------ */

static struct jargs arguments(struct jinja *j, const struct jnode *n) {
    struct jval *v = jinja_alloc(j, n->kids.n, sizeof *v);
    struct jbinding *named = jinja_alloc(j, n->named.n, sizeof *named);
    for (uint32_t i = 0; i < n->kids.n; i++)
        v[i] = jinja_eval(j, n->kids.v[i]);
    for (uint32_t i = 0; i < n->named.n; i++)
        named[i] = (struct jbinding){n->named.v[i]->name, jinja_eval(j, n->named.v[i]->a)};
    return (struct jargs){v, n->kids.n, named, n->named.n};
}

static void render_all(struct jinja *j, const struct jnodes *nodes);

/* What nodes render, as a string. */
static struct jval captured(struct jinja *j, const struct jnodes *nodes) {
    struct jbuf b = {0}, *before = j->out;
    j->out = &b;
    render_all(j, nodes);
    j->out = before;
    return jstring(jbuf_take(&b));
}

/* What a function may look at: bytes of a string, elements of a list or of a dict. */
static size_t extent(struct jval v) {
    return v.kind == J_STR ? v.u.s.n : v.kind == J_LIST ? (size_t)v.u.list->n * sizeof v
           : v.kind == J_DICT ? (size_t)v.u.dict->n * sizeof v : 0;
}

static struct jval call_macro(struct jinja *j, const struct jmacro *macro, const struct jargs *a) {
    const struct jnode *n = macro->node;
    struct jscope *before = push_scope(j, macro->scope);
    bool wants_caller = n->uses_caller;
    if (a->n > n->named.n && !n->uses_varargs)
        jinja_fail(j, HILO_INVALID_ARGUMENT, "macro '%.*s' takes %u arguments, not %u", (int)n->name.n, n->name.p, n->named.n,
                   a->n);
    for (uint32_t i = 0; i < n->named.n; i++) {
        const struct jnode *p = n->named.v[i];
        const struct jval *named = NULL;
        for (uint32_t k = 0; k < a->nnamed && !named; k++)
            named = str_eq(a->named[k].name, p->name) ? &a->named[k].value : NULL;
        if (i < a->n)
            set_name(j, j->scope, p->name, a->v[i]);
        else
            set_name(j, j->scope, p->name, named ? *named : p->a ? jinja_eval(j, p->a) : jundefined(p->name));
    }
    if (n->uses_varargs) {
        struct jval rest = jlist_new(j, true);
        for (uint32_t i = n->named.n; i < a->n; i++)
            jlist_push(j, rest, a->v[i]);
        set_name(j, j->scope, STR("varargs"), rest);
    }
    struct jval extra = jdict_new(j);
    for (uint32_t k = 0; k < a->nnamed; k++) {
        bool known = str_is(a->named[k].name, "caller") && wants_caller;
        if (known)
            set_name(j, j->scope, STR("caller"), a->named[k].value);
        for (uint32_t i = 0; i < n->named.n; i++)
            known |= str_eq(n->named.v[i]->name, a->named[k].name);
        if (known)
            continue;
        if (!n->uses_kwargs)
            jinja_fail(j, HILO_INVALID_ARGUMENT, "macro '%.*s' has no argument '%.*s'", (int)n->name.n, n->name.p,
                       (int)a->named[k].name.n, a->named[k].name.p);
        jdict_set(j, extra.u.dict, jstring(jliteral(a->named[k].name)), a->named[k].value);
    }
    if (n->uses_kwargs)
        set_name(j, j->scope, STR("kwargs"), extra);
    struct jval out = captured(j, &n->kids);
    j->scope = before;
    return out;
}

static struct jval jinja_call(struct jinja *j, struct jval f, const struct jargs *a) {
    switch (f.kind) {
    case J_MACRO:
        return call_macro(j, f.u.macro, a);
    case J_METHOD:
        jinja_work(j, extent(f.u.method->self));
        return f.u.method->f->fn(j, f.u.method->self, a);
    case J_GLOBAL:
        return f.u.global->fn(j, jnone(), a);
    case J_UNDEFINED:
        jinja_fail(j, HILO_INVALID_ARGUMENT, "'%.*s' is undefined", (int)f.u.s.n, f.u.s.p);
    default:
        jinja_fail(j, HILO_INVALID_ARGUMENT, "a %s cannot be called", jtype(f));
    }
}

/* ---- expressions -------------------------------------------------------------------------------------- */

static struct jval collection(struct jinja *j, const struct jnode *n) {
    struct jval out = n->op == JN_DICT ? jdict_new(j) : jlist_new(j, n->op == JN_TUPLE);
    for (uint32_t i = 0; i < n->kids.n; i++) {
        struct jval v = jinja_eval(j, n->kids.v[i]);
        if (n->op == JN_DICT)
            jdict_set(j, out.u.dict, v, jinja_eval(j, n->kids.v[++i]));
        else
            jlist_push(j, out, v);
    }
    return out;
}

static struct jval concatenation(struct jinja *j, const struct jnode *n) {
    struct jbuf b = {0};
    jbuf_str(j, &b, jto_str(j, jinja_eval(j, n->a)));
    jbuf_str(j, &b, jto_str(j, jinja_eval(j, n->b)));
    return jstring(jbuf_take(&b));
}

static struct jval eval_node(struct jinja *j, const struct jnode *n) {
    struct jval a, b;
    struct jargs args;
    switch (n->op) {
    case JN_CONST:
        return n->value;
    case JN_NAME:
        return get_name(j, n->name);
    case JN_LIST:
    case JN_TUPLE:
    case JN_DICT:
        return collection(j, n);
    case JN_ATTR:
        a = jinja_eval(j, n->a);
        j->at = n;
        return jattr(j, a, n->name);
    case JN_ITEM:
        a = jinja_eval(j, n->a);
        b = jinja_eval(j, n->b);
        j->at = n;
        return jitem(j, a, b);
    case JN_SLICE:
        return slice(j, n);
    case JN_CALL:
        a = jinja_eval(j, n->a);
        args = arguments(j, n);
        j->at = n->a;
        return jinja_call(j, a, &args);
    case JN_FILTER:
    case JN_TEST:
        a = jinja_eval(j, n->a);
        jinja_work(j, extent(a));
        args = arguments(j, n);
        j->at = n;
        if (n->op == JN_FILTER)
            return jinja_filter(n->name)->fn(j, a, &args);
        return jbool(jtrue(jinja_test(n->name)->fn(j, a, &args)) != n->negated);
    case JN_NOT:
        return jbool(!jtrue(jinja_eval(j, n->a)));
    case JN_AND:
    case JN_OR:
        a = jinja_eval(j, n->a);
        return jtrue(a) == (n->op == JN_OR) ? a : jinja_eval(j, n->b);
    case JN_NEG:
    case JN_POS:
        return sign(j, n->op, jinja_eval(j, n->a));
    case JN_CONCAT:
        return concatenation(j, n);
    case JN_COMPARE:
        return compare(j, n);
    case JN_IF_EXPR:
        if (jtrue(jinja_eval(j, n->b)))
            return jinja_eval(j, n->a);
        return n->c ? jinja_eval(j, n->c) : jundefined(STR("the inline if without else"));
    default:
        a = jinja_eval(j, n->a);
        b = jinja_eval(j, n->b);
        j->at = n;
        return arithmetic(j, n->op, a, b);
    }
}

struct jval jinja_eval(struct jinja *j, const struct jnode *n) {
    enter(j, n);
    struct jval v = eval_node(j, n);
    j->depth--;
    return v;
}

/* ---- statements ---------------------------------------------------------------------------------------- */

/* The elements that the loop runs over: those for which its condition holds. */
static struct jlist *loop_items(struct jinja *j, const struct jnode *n) {
    struct jval all = jsequence(j, jinja_eval(j, n->a));
    if (!n->b)
        return all.u.list;
    struct jval some = jlist_new(j, false);
    for (uint32_t i = 0; i < all.u.list->n; i++) {
        struct jscope *before = push_scope(j, j->scope);
        assign(j, n->d, all.u.list->v[i]);
        if (jtrue(jinja_eval(j, n->b)))
            jlist_push(j, some, all.u.list->v[i]);
        j->scope = before;
    }
    return some.u.list;
}

static void render_for(struct jinja *j, const struct jnode *n) {
    struct jloop *loop = jinja_alloc(j, 1, sizeof *loop);
    loop->items = loop_items(j, n);
    for (; loop->index < loop->items->n; loop->index++) {
        struct jscope *before = push_scope(j, j->scope);
        set_name(j, j->scope, STR("loop"), (struct jval){.kind = J_LOOP, .u.loop = loop});
        assign(j, n->d, loop->items->v[loop->index]);
        render_all(j, &n->kids);
        j->scope = before;
        bool leave = j->flow == JF_BREAK;
        j->flow = JF_NEXT;
        if (leave)
            return;
    }
    if (loop->items->n == 0)
        render_all(j, &n->other);
}

static void define_macro(struct jinja *j, const struct jnode *n, struct jval *out) {
    struct jmacro *macro = jinja_alloc(j, 1, sizeof *macro);
    *macro = (struct jmacro){n, j->scope};
    *out = (struct jval){.kind = J_MACRO, .u.macro = macro};
}

/* {% call %}: the macro gets the block as `caller`. */
static void render_call(struct jinja *j, const struct jnode *n) {
    struct jval f = jinja_eval(j, n->a->a), caller;
    struct jargs args = arguments(j, n->a);
    struct jbinding *named = jinja_alloc(j, args.nnamed + 1, sizeof *named);
    if (args.nnamed)
        memcpy(named, args.named, args.nnamed * sizeof *named);
    define_macro(j, n, &caller);
    named[args.nnamed] = (struct jbinding){STR("caller"), caller};
    args.named = named;
    args.nnamed++;
    jbuf_str(j, j->out, jto_str(j, jinja_call(j, f, &args)));
}

/* The value of the filters of a block, applied to its text: the chain's innermost node stands for it. */
static struct jval filtered(struct jinja *j, const struct jnode *n) {
    struct jnode text = *n->b, *chain[64];
    uint32_t depth = 0;
    struct jval v = captured(j, &n->kids);
    for (struct jnode *at = n->a; at != n->b; at = at->a) {
        if (depth == sizeof chain / sizeof *chain)
            jinja_fail(j, HILO_INVALID_ARGUMENT, "more than %zu filters follow each other", sizeof chain / sizeof *chain);
        chain[depth++] = at;
    }
    while (depth > 0) {
        struct jnode call = *chain[--depth];
        text.value = v;
        call.a = &text;
        v = jinja_eval(j, &call);
    }
    return v;
}

static void render(struct jinja *j, const struct jnode *n) {
    struct jval v;
    struct jscope *before;
    switch (n->op) {
    case JN_TEXT:
        jbuf_str(j, j->out, n->value.u.s);
        break;
    case JN_OUTPUT:
        jbuf_str(j, j->out, jto_str(j, jinja_eval(j, n->a)));
        break;
    case JN_FOR:
        render_for(j, n);
        break;
    case JN_IF:
        render_all(j, jtrue(jinja_eval(j, n->a)) ? &n->kids : &n->other);
        break;
    case JN_SET:
        assign(j, n->d, jinja_eval(j, n->a));
        break;
    case JN_SET_BLOCK:
        before = push_scope(j, j->scope);
        v = filtered(j, n);
        j->scope = before;
        assign(j, n->d, v);
        break;
    case JN_MACRO:
        define_macro(j, n, &v);
        set_name(j, j->scope, n->name, v);
        break;
    case JN_CALL_BLOCK:
        render_call(j, n);
        break;
    case JN_FILTER_BLOCK:
        before = push_scope(j, j->scope);
        v = filtered(j, n);
        j->scope = before;
        jbuf_str(j, j->out, jto_str(j, v));
        break;
    case JN_WITH:
        before = push_scope(j, j->scope);
        for (uint32_t i = 0; i < n->named.n; i++)
            set_name(j, j->scope, n->named.v[i]->name, jinja_eval(j, n->named.v[i]->a));
        render_all(j, &n->kids);
        j->scope = before;
        break;
    case JN_BREAK:
        j->flow = JF_BREAK;
        break;
    default:
        j->flow = JF_CONTINUE;
        break;
    }
}

static void render_all(struct jinja *j, const struct jnodes *nodes) {
    for (uint32_t i = 0; i < nodes->n && j->flow == JF_NEXT; i++) {
        enter(j, nodes->v[i]);
        render(j, nodes->v[i]);
        j->depth--;
    }
}

/* ---- entry ------------------------------------------------------------------------------------------------ */

static void set_members(struct jinja *j, const json_t *object, bool input) {
    json_t *o = (json_t *)(uintptr_t)object;
    for (void *at = json_object_iter(o); at; at = json_object_iter_next(o, at))
        set_name(j, j->globals, (struct str){json_object_iter_key(at), json_object_iter_key_len(at)},
                 jfrom_json(j, json_object_iter_value(at), input));
}

static hilo_status take_text(struct jinja *j, const struct jbuf *b, struct jinja_text *out) {
    out->n = b->n;
    out->p = mem_alloc(&out->al, b->n);
    out->from_input = mem_alloc(&out->al, b->n);
    if (!out->p || !out->from_input) {
        jinja_text_free(out);
        return diag_error(j->d, HILO_RESOURCE_EXHAUSTED, "out of memory");
    }
    if (b->n)
        memcpy(out->p, b->p, b->n);
    if (b->n && b->input)
        memcpy(out->from_input, b->input, b->n);
    else
        memset(out->from_input, 0, b->n);
    return HILO_OK;
}

hilo_status jinja_render(const struct jinja_template *t, const json_t *input, const json_t *trusted,
                         const struct jinja_options *o, struct diag_list *d, struct jinja_text *out) {
    struct jbuf text = {0};
    struct jinja *j = mem_alloc(&t->al, sizeof *j); /* on the heap: it is changed between setjmp and longjmp */
    *out = (struct jinja_text){.al = t->al};
    if (!j)
        return HILO_RESOURCE_EXHAUSTED;
    *j = (struct jinja){.t = t, .d = d, .o = o ? *o : (struct jinja_options){0}, .out = &text};
    j->o.steps = j->o.steps ? j->o.steps : STEPS_MOST;
    j->o.bytes = j->o.bytes ? j->o.bytes : MEMORY_MOST;
    arena_init(&j->arena, t->al, &j->recover);
    if (setjmp(j->recover)) {
        j->status = HILO_RESOURCE_EXHAUSTED;
    } else if (setjmp(j->failed) == 0) {
        push_scope(j, NULL);
        j->globals = j->scope;
        set_members(j, input, true);
        set_members(j, trusted, false);
        render_all(j, &t->body);
        j->status = take_text(j, &text, out);
    }
    hilo_status status = j->status;
    json_decref(j->json); /* NULL is fine */
    arena_free(&j->arena);
    mem_free(&t->al, j, sizeof *j);
    return status;
}

void jinja_text_free(struct jinja_text *text) {
    if (text->p)
        mem_free(&text->al, text->p, text->n);
    if (text->from_input)
        mem_free(&text->al, text->from_input, text->n);
    *text = (struct jinja_text){.al = text->al};
}
