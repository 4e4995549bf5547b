/* What the tests of routines share: a program is run by the evaluator, and its one op of interest by the routine, on the same
 * random operands; by one thread, by three, and with tasks in reversed order, whose results must be the same bits. */
#ifndef HILO_TESTS_LIBRARY_TEST_H
#define HILO_TESTS_LIBRARY_TEST_H

#include "eval/eval.h"
#include "library/library.h"
#include "read/text/text.h"

#include <inttypes.h>
#include <math.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

/* ---- pools ----------------------------------------------------------------------------------------------------------- */

struct pool_job {
    atomic_llong next;
    int64_t n;
    void (*task)(void *user, int64_t i);
    void *user;
};

static void *pool_thread(void *p) {
    struct pool_job *job = p;
    for (int64_t i; (i = atomic_fetch_add(&job->next, 1)) < job->n;)
        job->task(job->user, i);
    return NULL;
}

static void pool_threads(const struct lib_pool *pool, int64_t n, void (*task)(void *user, int64_t i), void *user) {
    struct pool_job job = {.n = n, .task = task, .user = user};
    pthread_t thread[8];
    for (int i = 0; i < pool->threads; i++)
        assert_int_equal(pthread_create(&thread[i], NULL, pool_thread, &job), 0);
    for (int i = 0; i < pool->threads; i++)
        pthread_join(thread[i], NULL);
}

static void pool_reversed(const struct lib_pool *pool, int64_t n, void (*task)(void *user, int64_t i), void *user) {
    (void)pool;
    while (n-- > 0)
        task(user, n);
}

static const struct lib_pool pools[] = {{1, pool_reversed}, {3, pool_threads}, {2, pool_reversed}};
enum { POOLS = sizeof pools / sizeof *pools };

/* ---- random operands --------------------------------------------------------------------------------------------------- */

static uint64_t random_state;

static uint64_t random_bits(void) { /* xorshift64* */
    random_state ^= random_state >> 12;
    random_state ^= random_state << 25;
    random_state ^= random_state >> 27;
    return random_state * UINT64_C(0x2545F4914F6CDD1D);
}
static double random_unit(void) {
    return (double)(random_bits() >> 11) * 0x1p-53;
}

enum fill {
    FILL_PLAIN,    /* numbers of either sign, some equal */
    FILL_SPECIAL,  /* and zeros of both signs, infinities, NaN of both signs */
    FILL_SMALL,    /* integers from -3 to 3 */
    FILL_INDEX,    /* integers from -2 to 9 */
    FILL_POSITIVE, /* between 1/2 and 3/2 */
};

static double random_number(enum fill fill) {
    double x = random_unit() * 4 - 2;
    unsigned r = (unsigned)(random_bits() % 16);
    switch (fill) {
    case FILL_PLAIN:
        return r == 0 ? floor(x) : x;
    case FILL_SPECIAL:
        switch (r) {
        case 0:
            return 0.0;
        case 1:
            return -0.0;
        case 2:
            return INFINITY;
        case 3:
            return -INFINITY;
        case 4:
            return (double)NAN;
        case 5:
            return -(double)NAN;
        case 6:
        case 7:
        case 8:
            return floor(x);
        default:
            return x;
        }
    case FILL_SMALL:
        return floor(x * 1.75 + 0.5);
    case FILL_INDEX:
        return floor(random_unit() * 12) - 2;
    default:
        return 0.5 + random_unit();
    }
}

static void random_fill(struct value *v, enum fill fill) {
    const struct ir_dtype_info *t = ir_dtype_get(v->dtype);
    size_t parts = t->cls == IR_COMPLEX_CLASS ? 2 : 1, bytes = t->bytes / parts;
    for (size_t i = 0; i < v->count * parts; i++) {
        char *to = (char *)v->data + i * bytes;
        double x = random_number(fill);
        if (t->cls == IR_FLOAT || t->cls == IR_COMPLEX_CLASS) {
            fp_encode_n_f64(t->fp, &x, to, 1);
        } else {
            int64_t wide = fill == FILL_INDEX ? (int64_t)x : (int64_t)(random_bits() >> (random_bits() % 64));
            wide = fill == FILL_SMALL ? (int64_t)x : wide;
            wide = t->cls == IR_PRED ? (int64_t)(random_bits() & 1) : wide;
            if (t->bits < 8) /* in a byte, as such elements are kept */
                wide = t->cls == IR_PRED || t->cls == IR_UINT ? wide & ((1 << t->bits) - 1)
                                                              : (int64_t)((uint64_t)wide << (64 - t->bits)) >> (64 - t->bits);
            memcpy(to, &wide, bytes);
        }
    }
}

/* Text into a static buffer, for programs that differ in a few words. */
__attribute__((format(printf, 1, 2))) static const char *program(const char *fmt, ...) {
    static char text[1 << 14];
    va_list ap;
    va_start(ap, fmt);
    int n = vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    assert_true(n >= 0 && (size_t)n < sizeof text);
    return text;
}

/* ---- programs ---------------------------------------------------------------------------------------------------------- */

enum { MOST_VALUES = 16 };

struct routine_case {
    const char *text; /* main has one op of `kind`; its operands are main's arguments or constants */
    enum ir_op_kind kind;
    enum fill fill[MOST_VALUES]; /* by argument of main */
    struct check_rule rule;      /* of routine against evaluator */
    uint64_t seed;
    void (*prepare)(struct value *const *args); /* changes them before the run; or NULL */
};

static jmp_buf case_memory;

static ir_op case_op(const struct ir_module *m, ir_op func, enum ir_op_kind kind) {
    ir_op op = ir_block_get(m, ir_func_body(m, func))->first;
    while (!IR_NONE(op) && ir_kind(m, op) != kind)
        op = ir_op_get(m, op)->next;
    return op;
}

static struct value *case_tensor(const struct ir_module *m, ir_val v) {
    hilo_allocator al = mem_system_allocator();
    const struct ir_type_data *t = ir_val_type(m, v);
    struct value *out;
    assert_int_equal(value_tensor(&al, t->dtype, t->dims, t->rank, &out), HILO_OK);
    memset(out->data, 0x5A, out->bytes);
    return out;
}

/* An operand of the op: an argument of main, or a constant. */
static struct value *case_operand(const struct ir_module *m, ir_val v, struct value *const *args) {
    const struct ir_val_data *d = ir_val_get(m, v);
    if (IR_NONE(d->op))
        return value_ref(args[d->index]);
    assert_int_equal(ir_kind(m, d->op), IR_CONSTANT);
    const struct ir_attr_data *a = ir_attr_get(m, ir_prop(m, d->op, IR_CONSTANT_value));
    struct value *out = case_tensor(m, v);
    size_t bytes = ir_dtype_get(out->dtype)->bytes;
    for (size_t i = 0; i < out->count; i++)
        memcpy((char *)out->data + i * bytes, (const char *)a->data + (a->splat ? 0 : i * bytes), bytes);
    return out;
}

/* The parameters fit these buffers, and no smaller ones; indices that are unused may be missing. */
static void case_sizes(const struct lib_match *match, struct value *const *in, uint32_t nin, struct value **out,
                       uint32_t nout) {
    size_t bytes[2 * MOST_VALUES];
    struct lib_sizes sizes = {bytes, nin, nout, match->scratch_bytes};
    bool indexed = match->routine == LIB_GATHER || match->routine == LIB_SCATTER;
    for (uint32_t i = 0; i < nin + nout; i++)
        bytes[i] = i < nin ? in[i]->bytes : out[i - nin]->bytes;
    assert_true(lib_fits(match, &sizes));
    for (uint32_t i = 0; i < nin + nout; i++) {
        if (bytes[i] == 0 || (indexed && i == 1))
            continue;
        bytes[i]--;
        assert_false(lib_fits(match, &sizes));
        bytes[i]++;
    }
    if (sizes.scratch) {
        sizes.scratch--;
        assert_false(lib_fits(match, &sizes));
        sizes.scratch++;
    }
    sizes.nin--, sizes.nout++;
    assert_false(lib_fits(match, &sizes));
}

/* Runs the routine with a pool; `in_place`: result 0 over a copy of operand 0. */
static void case_call(const struct lib_match *match, struct value *const *in, uint32_t nin, struct value **out, uint32_t nout,
                      const struct lib_pool *pool, bool in_place) {
    const void *ins[MOST_VALUES];
    void *outs[MOST_VALUES];
    char *scratch = aligned_alloc(64, (match->scratch_bytes + 64) & ~(size_t)63);
    assert_non_null(scratch);
    memset(scratch, 0xA5, match->scratch_bytes);
    for (uint32_t i = 0; i < nin; i++)
        ins[i] = in[i]->data;
    for (uint32_t i = 0; i < nout; i++)
        outs[i] = out[i]->data;
    if (in_place) {
        assert_int_equal(in[0]->bytes, out[0]->bytes);
        memcpy(out[0]->data, in[0]->data, in[0]->bytes);
        ins[0] = out[0]->data;
    }
    case_sizes(match, in, nin, out, nout);
    struct lib_call call = {match->params, match->nparams, ins, outs, scratch, pool, NULL, NULL};
    assert_int_equal(lib_run(match->routine, &call), HILO_OK);
    struct lib_call none = {match->params, 0, ins, outs, scratch, pool, NULL, NULL}; /* a plan that lacks its parameters */
    assert_int_equal(lib_run(match->routine, &none), HILO_INVALID_ARGUMENT);
    free(scratch);
}

static void case_same(const struct routine_case *c, const struct value *got, const struct value *want,
                      const struct check_rule *rule, const char *what) {
    struct strbuf why;
    strbuf_init(&why, mem_system_allocator());
    if (rule->how == CHECK_EXACT && got->bytes && memcmp(got->data, want->data, got->bytes) == 0)
        return;
    if (!check_values(got, want, rule, &why))
        fail_msg("%s: %.*s\nin: %s", what, (int)why.n, why.p, c->text);
    strbuf_free(&why);
}

/* A case's program: its op, and what that takes. */
struct case_program {
    const struct routine_case *c;
    struct ir_module *m;
    ir_op func, op;
    struct diag_list d;
    uint32_t nargs, nin, nout;
    struct value *args[MOST_VALUES], *in[MOST_VALUES];
};

static void case_read(const struct routine_case *c, struct case_program *p) {
    hilo_allocator al = mem_system_allocator();
    *p = (struct case_program){.c = c, .m = ir_module_new(al, &case_memory)};
    diag_init(&p->d, al);
    assert_non_null(p->m);
    p->m->name = STR("test.mlir");
    if (read_text(p->m, &p->d, str_of(c->text), 1) != HILO_OK)
        fail_msg("line %u: %s\nin: %s", p->d.first->line, p->d.first->message, c->text);
    p->func = ir_module_symbol(p->m, STR("main"));
    p->op = case_op(p->m, p->func, c->kind);
    p->nin = ir_op_get(p->m, p->op)->noperands;
    p->nout = ir_op_get(p->m, p->op)->nresults;
}

/* Makes arguments, and the evaluator's results for them. */
static void case_evaluate(struct case_program *p, struct value **want) {
    const struct ir_block_data *body = ir_block_get(p->m, ir_func_body(p->m, p->func));
    hilo_allocator al = mem_system_allocator();
    p->nargs = body->nargs;
    random_state = p->c->seed * 2 + 1;
    for (uint32_t i = 0; i < p->nargs; i++) {
        p->args[i] = case_tensor(p->m, body->args[i]);
        random_fill(p->args[i], p->c->fill[i]);
    }
    if (p->c->prepare)
        p->c->prepare(p->args);
    if (eval_func(p->m, p->func, p->args, p->nargs, want, p->nout, &al, NULL, &p->d) != HILO_OK)
        fail_msg("line %u: %s\nin: %s", p->d.first->line, p->d.first->message, p->c->text);
    for (uint32_t i = 0; i < p->nin; i++)
        p->in[i] = case_operand(p->m, ir_operand(p->m, p->op, i), p->args);
}

static void case_close(struct case_program *p) {
    for (uint32_t i = 0; p->nargs && i < p->nin; i++)
        value_unref(p->in[i]);
    for (uint32_t i = 0; i < p->nargs; i++)
        value_unref(p->args[i]);
    ir_module_free(p->m);
    diag_clear(&p->d);
}

/* Compares the routine with the evaluator; returns it. */
__attribute__((unused)) static struct lib_match routine_check(const struct routine_case *c) {
    struct value *want[MOST_VALUES], *first[MOST_VALUES], *out[MOST_VALUES];
    struct case_program p;
    struct lib_match match;
    case_read(c, &p);
    if (!lib_match(p.m, p.op, &match))
        fail_msg("no routine\nin: %s", c->text);
    case_evaluate(&p, want);
    struct value **in = p.in;
    uint32_t nin = p.nin, nout = p.nout;
    for (uint32_t i = 0; i < nout; i++)
        first[i] = case_tensor(p.m, ir_result(p.m, p.op, i));
    case_call(&match, in, nin, first, nout, &pools[0], false);
    for (uint32_t i = 0; i < nout; i++)
        case_same(c, first[i], want[i], &c->rule, "against the evaluator");
    for (int t = 0; t < POOLS; t++)
        for (int in_place = 0; in_place <= match.in_place; in_place++) {
            for (uint32_t i = 0; i < nout; i++)
                out[i] = case_tensor(p.m, ir_result(p.m, p.op, i));
            case_call(&match, in, nin, out, nout, &pools[t], in_place);
            for (uint32_t i = 0; i < nout; i++) {
                if (first[i]->bytes && memcmp(first[i]->data, out[i]->data, first[i]->bytes) != 0)
                    fail_msg("pool %d%s changes result %u\nin: %s", t, in_place ? " in place" : "", i, c->text);
                value_unref(out[i]);
            }
        }
    for (uint32_t i = 0; i < nout; i++) {
        value_unref(want[i]);
        value_unref(first[i]);
    }
    case_close(&p);
    return match;
}

#endif
