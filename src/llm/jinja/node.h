/* What the files of the Jinja engine share: values, nodes of the tree, the state of a rendering. */
#ifndef HILO_LLM_JINJA_NODE_H
#define HILO_LLM_JINJA_NODE_H

#include "llm/jinja/jinja.h"

/* ---- values ---------------------------------------------------------------------------------- */

/* Immutable bytes; input[i] is 1 where byte i comes from the input, NULL = none does. Markup, what the filter `safe` gives:
   strings that are added to it are escaped for HTML, as Python's markupsafe does. */
struct jstr {
    const char *p;
    const uint8_t *input;
    size_t n;
    bool markup;
};

enum jkind {
    J_UNDEFINED, J_NONE, J_BOOL, J_INT, J_FLOAT, J_STR, J_LIST, J_DICT, J_NAMESPACE, J_MACRO, J_LOOP, J_METHOD, J_GLOBAL
};

struct jval;
struct jlist {
    struct jval *v;
    uint32_t n, cap;
    bool tuple;
};
/* Insertion order, as Python's; keys are strings or numbers. */
struct jdict {
    struct jval *keys, *values;
    uint32_t n, cap;
};

struct jval {
    enum jkind kind;
    union {
        bool b;
        int64_t i;
        double f;
        struct jstr s;                 /* J_STR; J_UNDEFINED: what is undefined, for messages */
        struct jlist *list;
        struct jdict *dict;            /* J_DICT, J_NAMESPACE */
        const struct jmacro *macro;
        struct jloop *loop;
        const struct jmethod *method;  /* a method of a value */
        const struct jfunction *global;
    } u;
};

/* ---- the tree -------------------------------------------------------------------------------- */

enum jop {
    /* expressions */
    JN_CONST, JN_NAME, JN_LIST, JN_TUPLE, JN_DICT, JN_ATTR, JN_ITEM, JN_SLICE, JN_CALL, JN_FILTER, JN_TEST,
    JN_NOT, JN_AND, JN_OR, JN_NEG, JN_POS, JN_ADD, JN_SUB, JN_MUL, JN_DIV, JN_FLOORDIV, JN_MOD, JN_POW, JN_CONCAT,
    JN_COMPARE, /* kids: operands; compare: one operator between each two */
    JN_IF_EXPR, /* a if b else c */
    /* statements */
    JN_TEXT, JN_OUTPUT, JN_FOR, JN_IF, JN_SET, JN_SET_BLOCK, JN_MACRO, JN_CALL_BLOCK, JN_FILTER_BLOCK, JN_WITH, JN_BREAK,
    JN_CONTINUE
};
enum jcompare { JC_EQ, JC_NE, JC_LT, JC_LE, JC_GT, JC_GE, JC_IN, JC_NOT_IN };

struct jnodes {
    struct jnode **v;
    uint32_t n, cap;
};

struct jnode {
    enum jop op;
    const char *at;          /* in the text, for messages */
    struct str name;         /* NAME, ATTR, FILTER, TEST, MACRO; of a keyword argument */
    struct jval value;       /* CONST, TEXT */
    struct jnode *a, *b, *c; /* operands; FOR: iterable, condition, -; IF: condition; SLICE: begin, end, step of `d` */
    struct jnode *d;
    struct jnodes kids;      /* elements, arguments; DICT: keys and values alternately; a statement's body */
    struct jnodes named;     /* keyword arguments (name, a); MACRO: parameters (name, a = default or NULL) */
    struct jnodes other;     /* else */
    uint8_t *compare;
    bool negated, uses_varargs, uses_kwargs, uses_caller;
};

struct jinja_template {
    hilo_allocator al;
    struct arena arena;
    struct str name, text;   /* text: with "\n" for every line end */
    struct jnodes body;
};

/* Line and column of a place in the text, from 1. */
void jinja_place(const struct jinja_template *t, const char *at, uint32_t *line, uint32_t *col);

/* ---- a rendering ----------------------------------------------------------------------------- */

struct jbuf { /* text that grows, in the arena */
    char *p;
    uint8_t *input;
    size_t n, cap;
};

struct jscope {
    struct jscope *outer;
    struct { struct jbinding { struct str name; struct jval value; } *v; uint32_t n, cap; } names;
};

struct jmacro {
    const struct jnode *node; /* MACRO, or CALL_BLOCK as `caller` */
    struct jscope *scope;     /* where it is defined */
};

struct jloop {
    struct jlist *items;
    uint32_t index;
    struct jval changed; /* arguments of loop.changed before, a list */
    bool has_changed;
};

struct jargs {
    struct jval *v;
    uint32_t n;
    const struct jbinding *named;
    uint32_t nnamed;
};

struct jinja {
    const struct jinja_template *t;
    struct jinja_options o;
    struct diag_list *d;
    struct arena arena;
    jmp_buf recover, failed;  /* memory ended; an error was added to d */
    hilo_status status;
    const struct jnode *at;   /* evaluated now, for messages */
    json_t *json;             /* being converted: released after an error, too */
    size_t steps;
    uint32_t depth;
    struct jscope *scope, *globals;
    struct jbuf *out;
    enum { JF_NEXT, JF_BREAK, JF_CONTINUE } flow;
};

typedef struct jval jfn(struct jinja *j, struct jval self, const struct jargs *a);
struct jfunction { const char *name; jfn *fn; };
struct jmethod { struct jval self; const struct jfunction *f; };

_Noreturn void jinja_fail(struct jinja *j, hilo_status status, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
void *jinja_alloc(struct jinja *j, size_t n, size_t size); /* within the bound of memory */
void jinja_step(struct jinja *j);
void jinja_work(struct jinja *j, size_t n); /* steps for looking at n bytes */

struct jval jinja_eval(struct jinja *j, const struct jnode *n);

/* Argument i, or the keyword argument of that name; NULL when it is absent. */
const struct jval *jinja_argument(const struct jargs *a, uint32_t i, const char *name);

/* value.c */
static inline struct jval jbool(bool b) { return (struct jval){.kind = J_BOOL, .u.b = b}; }
static inline struct jval jint(int64_t i) { return (struct jval){.kind = J_INT, .u.i = i}; }
static inline struct jval jfloat(double f) { return (struct jval){.kind = J_FLOAT, .u.f = f}; }
static inline struct jval jnone(void) { return (struct jval){.kind = J_NONE}; }
static inline struct jstr jliteral(struct str s) { return (struct jstr){s.p, NULL, s.n, false}; } /* not input */
static inline struct jval jundefined(struct str name) {
    return (struct jval){.kind = J_UNDEFINED, .u.s = jliteral(name)};
}
static inline struct jval jstring(struct jstr s) { return (struct jval){.kind = J_STR, .u.s = s}; }
static inline struct jval jtext(const char *z) { return jstring(jliteral(str_of(z))); }
static inline struct str jplain(struct jstr s) { return (struct str){s.p, s.n}; }

struct jval jlist_new(struct jinja *j, bool tuple);
void jlist_push(struct jinja *j, struct jval list, struct jval v);
struct jval jdict_new(struct jinja *j);
void jdict_set(struct jinja *j, struct jdict *d, struct jval key, struct jval value);
const struct jval *jdict_get(struct jinja *j, const struct jdict *d, struct jval key); /* NULL when absent */
struct jval jfrom_json(struct jinja *j, const json_t *v, bool input);

void jbuf_put(struct jinja *j, struct jbuf *b, const char *p, size_t n, const uint8_t *input);
void jbuf_str(struct jinja *j, struct jbuf *b, struct jstr s);
struct jstr jbuf_take(const struct jbuf *b);

const char *jtype(struct jval v);                                /* "dict", for messages */
bool jtrue(struct jval v);
bool jequal(struct jinja *j, struct jval a, struct jval b);
int jorder(struct jinja *j, struct jval a, struct jval b);       /* fails where Python does */
bool jcontains(struct jinja *j, struct jval container, struct jval v);
struct jstr jto_str(struct jinja *j, struct jval v);             /* as {{ v }} prints it */
void jrepr(struct jinja *j, struct jbuf *b, struct jval v, uint32_t depth);
struct jval jsequence(struct jinja *j, struct jval v);           /* a list of what iterating over v gives */
struct jstr jslice(struct jstr s, size_t at, size_t n);
size_t jlength(struct jstr s);                                   /* in code points */
size_t jcode_end(struct jstr s, size_t at);                      /* where the code point at byte `at` ends */
struct jval jattr(struct jinja *j, struct jval v, struct str name);
struct jval jitem(struct jinja *j, struct jval v, struct jval key);
struct jstr jjson(struct jinja *j, struct jval v, const struct jargs *a);
struct jval jparse_json(struct jinja *j, struct jstr s);

/* filters.c; NULL when there is none of that name */
const struct jfunction *jinja_filter(struct str name);
const struct jfunction *jinja_test(struct str name);
const struct jfunction *jinja_method(enum jkind kind, struct str name);
const struct jfunction *jinja_global(struct str name);
struct jstr jinja_escape(struct jinja *j, struct jstr s); /* for HTML; markup as it is */
struct jval jinja_format(struct jinja *j, struct jstr form, const struct jval *v, uint32_t n); /* "%s" % … */

#endif
