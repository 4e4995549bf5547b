/* See random_plan.h. */
#include "random_plan.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_BUFFERS = 400, MOST_USES = 8, MOST_RUN = 2000, ARGUMENTS = 4, RESULTS = 4, DEPTH = 3 };

/* ---- programs -------------------------------------------------------------------------------- */

enum op { OP_KERNEL, OP_DECIDE, OP_COPY, OP_UNDEFINED, OP_EXCHANGE, OP_LOOP, OP_BRANCH };

struct command {
    enum op op;
    uint32_t id;
    uint32_t nuses;
    struct plan_use uses[MOST_USES];
    size_t sizes[MOST_USES];       /* bytes of each use */
    bool choice;                   /* DECIDE: for a BRANCH */
    struct plan_kernel kernel;
    struct command *lists[3], *next, *older;
    uint32_t nlists;
    bool counted;                  /* LOOP: it runs `trips` times */
    uint32_t trips;
    uint32_t calls;                /* of a DECIDE, in this run: a loop ends at the fourth iteration at the latest */
};

struct program {
    const uint8_t *bytes;
    size_t left;
    struct arena a;
    struct plan_builder *b;
    uint32_t defined[MOST_BUFFERS], ndefined; /* may be read now */
    uint32_t ncommands;
    struct command *first, **tail, *newest;
    uint32_t narguments, nresults, results[RESULTS];
    uint32_t budget;
    bool places; /* some kernels are on a device */
};

static uint32_t draw(struct program *p, uint32_t n) {
    if (!p->left)
        return 0;
    p->left--;
    return *p->bytes++ % n;
}

static size_t bytes_of(const struct program *p, uint32_t buffer) {
    return plan_buffer_get(p->b, buffer)->bytes;
}

static uint32_t root_of(const struct program *p, uint32_t buffer) {
    return plan_buffer_get(p->b, buffer)->root;
}

static int64_t draw_size(struct program *p) {
    static const int64_t sizes[] = {1, 64, 100, 100, 128, 0, 700, 3000};
    return sizes[draw(p, 8)];
}

static uint32_t temp(struct program *p, int64_t size) {
    return plan_temp(p->b, IR_UI8_T, 1, &size);
}

static struct command *command(struct program *p, enum op op) {
    struct command *c = ARENA_NEW(&p->a, struct command);
    *c = (struct command){.op = op, .id = ++p->ncommands, .older = p->newest};
    p->newest = c;
    *p->tail = c;
    p->tail = &c->next;
    return c;
}

static void use(struct program *p, struct command *c, uint32_t buffer, enum plan_role role) {
    c->sizes[c->nuses] = bytes_of(p, buffer);
    c->uses[c->nuses++] = (struct plan_use){buffer, role, 0, 0};
}

static void define(struct program *p, uint32_t buffer) {
    if (p->ndefined < MOST_BUFFERS)
        p->defined[p->ndefined++] = buffer;
}

static uint32_t some(struct program *p) {
    return p->defined[draw(p, p->ndefined)];
}

/* A defined temporary that the command does not use yet, or none. */
static bool some_variable(struct program *p, const struct command *c, uint32_t *out) {
    uint32_t x = some(p);
    const struct plan_buffer *v = plan_buffer_get(p->b, x);
    bool fits = v->place == PLAN_BLOCK && v->dtype == IR_UI8_T;
    for (uint32_t i = 0; i < c->nuses; i++)
        fits &= root_of(p, c->uses[i].buffer) != v->root;
    *out = x;
    return fits;
}

static bool run_kernel(const struct kir *kir, void *const *buffers, void *scratch, int64_t begin, int64_t end,
                       struct diag_list *d);

static void put_kernel(struct program *p, struct command *c) {
    c->kernel = (struct plan_kernel){.name = "k", .interpret = run_kernel, .kir = (const struct kir *)(const void *)c,
                                     .nparams = c->nuses, .grid = 1, .ns = PLAN_SHARED_NS,
                                     .gpu.threads = p->places && draw(p, 2) ? 32 : 0};
    plan_kernel(p->b, &c->kernel, c->uses);
}

static void make_kernel(struct program *p) {
    struct command *c = command(p, OP_KERNEL);
    uint32_t nin = p->ndefined ? draw(p, 4) : 0, nout = 1 + draw(p, 2), x;
    for (uint32_t i = 0; i < nin; i++)
        use(p, c, some(p), PLAN_IN);
    if (nin && draw(p, 4) == 0 && some_variable(p, c, &x))
        use(p, c, x, PLAN_INOUT);
    uint32_t fresh[2] = {0, 0}, nfresh = 0;
    for (uint32_t i = 0; i < nout; i++) {
        if (!p->ndefined || draw(p, 3) || !some_variable(p, c, &x) || root_of(p, x) != x)
            fresh[nfresh++] = x = temp(p, nin && draw(p, 2) ? (int64_t)c->sizes[draw(p, nin)] : draw_size(p));
        use(p, c, x, PLAN_OUT);
        for (uint32_t k = 0; k < nin; k++)
            if (draw(p, 2) && c->sizes[k] == bytes_of(p, x))
                c->uses[c->nuses - 1].overlay |= (uint64_t)1 << k;
    }
    put_kernel(p, c);
    for (uint32_t i = 0; i < nfresh; i++)
        define(p, fresh[i]);
}

/* An i1 for a loop or branch. */
static uint32_t make_decision(struct program *p, bool choice) {
    struct command *c = command(p, OP_DECIDE);
    enum ir_dtype t = choice ? IR_I32_T : IR_I1_T;
    uint32_t out = plan_temp(p->b, t, 0, NULL);
    if (p->ndefined)
        use(p, c, some(p), PLAN_IN);
    use(p, c, out, PLAN_OUT);
    c->choice = choice;
    put_kernel(p, c);
    return out;
}

static void put_copy(struct program *p, uint32_t n, const uint32_t *from, const uint32_t *to) {
    struct command *c = command(p, OP_COPY);
    for (uint32_t i = 0; i < n; i++) {
        use(p, c, from[i], PLAN_IN);
        use(p, c, to[i], PLAN_OUT);
    }
    plan_copy(p->b, n, from, to);
}

static void make_copy(struct program *p) {
    uint32_t n = 1 + draw(p, 3), from[3], to[3];
    for (uint32_t i = 0; i < n; i++) {
        from[i] = some(p);
        to[i] = temp(p, (int64_t)bytes_of(p, from[i]));
    }
    put_copy(p, n, from, to);
    for (uint32_t i = 0; i < n; i++)
        define(p, to[i]);
}

/* Variables of one size change places. */
static void make_rotation(struct program *p) {
    uint32_t n = 0, from[3], to[3];
    for (uint32_t i = 0; i < p->ndefined && n < 3; i++) {
        const struct plan_buffer *v = plan_buffer_get(p->b, p->defined[i]);
        bool fits = v->place == PLAN_BLOCK && v->root == p->defined[i] && v->dtype == IR_UI8_T;
        for (uint32_t k = 0; k < n; k++)
            fits &= to[k] != p->defined[i] && bytes_of(p, to[k]) == v->bytes;
        if (fits)
            to[n++] = p->defined[i];
    }
    for (uint32_t i = 0; i < n; i++)
        from[i] = to[(i + 1) % n];
    if (n)
        put_copy(p, n, from, to);
}

/* A buffer written in two parts. */
static void make_parts(struct program *p) {
    int64_t size = 2 * draw_size(p), half = size / 2;
    uint32_t x = temp(p, size), part[2];
    use(p, command(p, OP_UNDEFINED), x, PLAN_OUT);
    plan_undefined(p->b, x);
    for (int i = 0; i < 2; i++) {
        struct command *c = command(p, OP_KERNEL);
        part[i] = plan_alias(p->b, x, (size_t)(half * i), IR_UI8_T, 1, &half);
        if (p->ndefined)
            use(p, c, some(p), PLAN_IN);
        use(p, c, part[i], PLAN_OUT);
        put_kernel(p, c);
    }
    define(p, x);
    define(p, part[draw(p, 2)]);
}

static void make_alias(struct program *p) {
    uint32_t x = some(p);
    int64_t all = (int64_t)bytes_of(p, x), n = draw(p, 2) ? all : all / 2;
    if (plan_buffer_get(p->b, x)->dtype == IR_UI8_T)
        define(p, plan_alias(p->b, x, (size_t)(all - n), IR_I8_T, 2, (int64_t[]){1, n}));
}

/* With one process: what it sends is what it receives. */
static void make_exchange(struct program *p) {
    struct command *c = command(p, OP_EXCHANGE);
    uint32_t in = some(p), out = temp(p, (int64_t)bytes_of(p, in));
    use(p, c, in, PLAN_IN);
    use(p, c, out, PLAN_OUT);
    plan_exchange(p->b, &(struct plan_collective){.kind = PLAN_ALL_GATHER}, 1, &in, 1, &out);
    define(p, out);
}

static void make_list(struct program *p, struct command **list, uint32_t depth);

/* The commands of a list are appended to those that are there. */
static void nested(struct program *p, struct command **list, uint32_t depth) {
    struct command **outer = p->tail;
    while (*list)
        list = &(*list)->next;
    p->tail = list;
    make_list(p, list, depth);
    p->tail = outer;
}

static void make_loop(struct program *p, uint32_t depth) {
    uint32_t n = p->ndefined ? draw(p, 3) : 0, init[2], state[2], next[2];
    for (uint32_t i = 0; i < n; i++) {
        init[i] = some(p);
        state[i] = temp(p, (int64_t)bytes_of(p, init[i]));
    }
    if (n)
        put_copy(p, n, init, state);
    uint32_t outside = p->ndefined;
    for (uint32_t i = 0; i < n; i++)
        define(p, state[i]);
    uint32_t kept = p->ndefined;
    struct command *c = command(p, OP_LOOP), **outer = p->tail;
    c->nlists = 2;
    c->counted = draw(p, 3) == 0;
    if (c->counted) {
        c->trips = draw(p, 4);
        plan_loop_begin_counted(p->b, c->trips);
    } else {
        plan_loop_begin(p->b);
        nested(p, &c->lists[0], depth + 1);
        p->tail = &c->lists[0];
        while (*p->tail)
            p->tail = &(*p->tail)->next;
        uint32_t predicate = make_decision(p, false);
        use(p, c, predicate, PLAN_IN);
        plan_loop_body(p->b, predicate);
    }
    nested(p, &c->lists[1], depth + 1);
    for (uint32_t i = 0; i < n; i++) {
        next[i] = some(p);
        if (bytes_of(p, next[i]) != bytes_of(p, state[i]))
            next[i] = state[draw(p, n)];
        if (bytes_of(p, next[i]) != bytes_of(p, state[i]))
            next[i] = state[i];
    }
    p->tail = &c->lists[1];
    while (*p->tail)
        p->tail = &(*p->tail)->next;
    if (n)
        put_copy(p, n, next, state);
    plan_loop_end(p->b);
    p->tail = outer;
    p->ndefined = draw(p, 2) ? kept : outside;
}

static void make_branch(struct program *p, uint32_t depth) {
    bool choice = draw(p, 2);
    uint32_t selector = make_decision(p, choice);
    struct command *c = command(p, OP_BRANCH), **outer = p->tail;
    use(p, c, selector, PLAN_IN);
    c->choice = choice;
    c->nlists = 1 + draw(p, 3);
    uint32_t before = p->ndefined, out = temp(p, draw_size(p));
    plan_branch_begin(p->b, selector);
    for (uint32_t i = 0; i < c->nlists; i++) {
        if (i)
            plan_branch_next(p->b);
        nested(p, &c->lists[i], depth + 1);
        p->tail = &c->lists[i];
        while (*p->tail)
            p->tail = &(*p->tail)->next;
        uint32_t x = p->ndefined ? some(p) : out;
        if (x != out && bytes_of(p, x) == bytes_of(p, out)) {
            put_copy(p, 1, &x, &out);
        } else {
            struct command *k = command(p, OP_KERNEL);
            if (p->ndefined)
                use(p, k, some(p), PLAN_IN);
            use(p, k, out, PLAN_OUT);
            put_kernel(p, k);
        }
        p->ndefined = before;
        p->tail = outer;
    }
    plan_branch_end(p->b);
    define(p, out);
}

static void make_list(struct program *p, struct command **list, uint32_t depth) {
    (void)list;
    for (uint32_t n = 1 + draw(p, depth ? 4 : 24); n > 0 && p->budget; n--, p->budget--)
        switch (draw(p, 12)) {
        case 0:
            if (depth < DEPTH)
                make_loop(p, depth);
            break;
        case 1:
            if (depth < DEPTH)
                make_branch(p, depth);
            break;
        case 2:
            if (p->ndefined)
                make_copy(p);
            break;
        case 3:
            make_parts(p);
            break;
        case 4:
            if (p->ndefined)
                make_alias(p);
            break;
        case 5:
            make_rotation(p);
            break;
        case 6:
            if (p->ndefined)
                make_exchange(p);
            break;
        default:
            make_kernel(p);
        }
}

static const uint8_t constant_bytes[256] = {1, 2, 3, 5, 7, 11, 13, 17, 19};

static void make_program(struct program *p) {
    p->narguments = draw(p, ARGUMENTS + 1);
    p->nresults = draw(p, RESULTS + 1);
    p->b = plan_new(&p->a, NULL, p->narguments, p->nresults);
    p->budget = 60;
    p->places = draw(p, 2);
    p->tail = &p->first;
    for (uint32_t i = 0; i < p->narguments; i++) {
        int64_t size = draw_size(p);
        define(p, plan_argument(p->b, i, IR_UI8_T, 1, &size));
    }
    if (draw(p, 2) || !p->ndefined)
        define(p, plan_constant(p->b, IR_UI8_T, 1, (int64_t[]){100}, constant_bytes));
    make_list(p, &p->first, 0);
    for (uint32_t i = 0; i < p->nresults; i++) {
        p->results[i] = some(p);
        plan_result(p->b, i, p->results[i]);
        if (p->narguments && draw(p, 3) == 0)
            plan_donor(p->b, draw(p, p->narguments), i);
    }
    if (p->places)
        plan_place(p->b, (enum plan_space)draw(p, PLAN_SPACES));
    else {
        const struct plan_link link = {draw(p, 4) * 20000.0, draw(p, 2) * 10.0};
        plan_overlap(p->b, &link);
        if (draw(p, 2))
            plan_group(p->b);
    }
}

/* ---- kernels --------------------------------------------------------------------------------- */

static uint32_t mix(uint32_t h, uint32_t x) {
    h = (h ^ x) * 0x01000193u;
    return h ^ h >> 15;
}

static bool is_under(const struct command *c, uint32_t i) {
    bool under = false;
    for (uint32_t k = 0; k < c->nuses; k++)
        under |= c->uses[k].overlay >> i & 1;
    return under;
}

/* Iteration j reads byte j of what may alias a result and, from its end on, of what may not, then writes byte j. A result
   over nothing is first filled with something else. */
static bool run_kernel(const struct kir *kir, void *const *buffers, void *scratch, int64_t begin, int64_t end,
                       struct diag_list *d) {
    struct command *c = (struct command *)(uintptr_t)kir;
    uint32_t h = c->id;
    size_t most = 0;
    (void)scratch, (void)begin, (void)end, (void)d;
    for (uint32_t i = 0; i < c->nuses; i++) {
        most = c->sizes[i] > most ? c->sizes[i] : most;
        if (c->uses[i].role == PLAN_OUT && !c->uses[i].overlay && c->sizes[i])
            memset(buffers[i], 0xAB, c->sizes[i]);
        for (size_t j = 0; c->op == OP_DECIDE && c->uses[i].role == PLAN_IN && j < c->sizes[i]; j++)
            h = mix(h, ((const uint8_t *)buffers[i])[j]);
    }
    if (c->op == OP_DECIDE && c->choice) {
        int32_t choice = (int32_t)(h % 4) - 1;
        memcpy(buffers[c->nuses - 1], &choice, sizeof choice);
        return true;
    }
    if (c->op == OP_DECIDE) {
        *(uint8_t *)buffers[c->nuses - 1] = h % 5 != 0 && ++c->calls % 4;
        return true;
    }
    for (size_t j = 0; j < most; j++) {
        uint32_t x = mix(h, (uint32_t)j);
        for (uint32_t i = 0; i < c->nuses; i++) {
            const uint8_t *in = buffers[i];
            if (c->uses[i].role != PLAN_OUT && j < c->sizes[i])
                x = mix(x, in[c->uses[i].role == PLAN_INOUT || is_under(c, i) ? j : c->sizes[i] - 1 - j]);
        }
        for (uint32_t i = 0; i < c->nuses; i++)
            if (j < c->sizes[i] && c->uses[i].role != PLAN_IN)
                ((uint8_t *)buffers[i])[j] = (uint8_t)(x + i);
    }
    return true;
}

/* ---- as it was written ----------------------------------------------------------------------- */

struct machine {
    const struct program *p;
    uint8_t **memory; /* by root */
    uint32_t steps;   /* that may still be run */
};

static uint8_t *at(const struct machine *m, uint32_t buffer) {
    const struct plan_buffer *x = plan_buffer_get(m->p->b, buffer);
    return m->memory[x->root] + x->root_offset;
}

static bool decide(const struct machine *m, const struct command *c) {
    return *at(m, c->uses[0].buffer) != 0;
}

/* False when it takes too long. */
static bool run_list(struct machine *m, const struct command *c) {
    for (; c; c = c->next) {
        void *buffers[MOST_USES];
        if (m->steps-- == 0)
            return false;
        for (uint32_t i = 0; i < c->nuses; i++)
            buffers[i] = at(m, c->uses[i].buffer);
        if (c->op == OP_KERNEL || c->op == OP_DECIDE) {
            run_kernel(c->kernel.kir, buffers, NULL, 0, 1, NULL);
        } else if (c->op == OP_EXCHANGE) {
            memmove(buffers[1], buffers[0], c->sizes[0]);
        } else if (c->op == OP_COPY) {
            uint8_t values[MOST_USES][6000];
            for (uint32_t i = 0; i < c->nuses; i += 2)
                memcpy(values[i], buffers[i], c->sizes[i]);
            for (uint32_t i = 0; i < c->nuses; i += 2)
                memcpy(buffers[i + 1], values[i], c->sizes[i]);
        } else if (c->op == OP_LOOP) {
            for (uint32_t n = 0;; n++) {
                if (!run_list(m, c->lists[0]))
                    return false;
                if (c->counted ? n == c->trips : !decide(m, c))
                    break;
                if (!run_list(m, c->lists[1]))
                    return false;
            }
        } else if (c->op == OP_BRANCH) {
            int32_t k = 0;
            memcpy(&k, buffers[0], c->choice ? sizeof k : 1);
            if (!c->choice)
                k = !k;
            if (k < 0 || k >= (int32_t)c->nlists)
                k = (int32_t)c->nlists - 1;
            if (!run_list(m, c->lists[k]))
                return false;
        }
    }
    return true;
}

/* ---- as planned ------------------------------------------------------------------------------ */

struct planned {
    const struct plan *p;
    uint8_t *block[PLAN_SPACES], *constants, *arguments[ARGUMENTS], *results[RESULTS]; /* constants: on the device */
    uint64_t *counters;
    bool misplaced; /* a step used memory of the other side */
};

static void *planned_at(const struct planned *r, uint32_t buffer) {
    const struct plan_buffer *x = &r->p->buffers[buffer];
    switch (x->place) {
    case PLAN_BLOCK:
        return r->block[x->space] + x->offset;
    case PLAN_CONSTANT:
        return x->space == PLAN_DEVICE ? r->constants + x->offset : (void *)(uintptr_t)x->data;
    case PLAN_ARGUMENT:
        return r->arguments[x->index] + x->offset;
    default:
        return r->results[x->index] + x->offset;
    }
}

/* The steps of a group in the order that is the least like the one in which they are written. */
static void planned_group(const struct planned *r, const struct plan_step *s) {
    for (uint32_t i = s->group; i-- > 0;) {
        void *v[MOST_USES];
        for (uint32_t k = 0; k < s[i].nuses; k++)
            v[k] = planned_at(r, s[i].uses[k].buffer);
        s[i].kernel->interpret(s[i].kernel->kir, v, NULL, 0, 1, NULL);
    }
}

static bool is_placed(const struct planned *r, const struct plan_step *s) {
    enum plan_space space = plan_on_device(r->p, s) ? PLAN_DEVICE : PLAN_HOST;
    for (uint32_t i = 0; i < s->nuses && s->kind != PLAN_COPY; i++)
        if (r->p->buffers[s->uses[i].buffer].space != space)
            return false;
    return true;
}

static bool planned_run(struct planned *r, bool places) {
    uint32_t left = MOST_RUN * 4, i = 0;
    while (i < r->p->nsteps) {
        const struct plan_step *s = &r->p->steps[i++];
        void *v[MOST_USES];
        if (left-- == 0)
            return false;
        r->misplaced |= places && !is_placed(r, s);
        if (s->group) {
            planned_group(r, s);
            i += s->group - 1;
            continue;
        }
        for (uint32_t k = 0; k < s->nuses; k++)
            v[k] = planned_at(r, s->uses[k].buffer);
        if (s->kind == PLAN_KERNEL) {
            s->kernel->interpret(s->kernel->kir, v, NULL, 0, 1, NULL);
        } else if (s->kind == PLAN_COPY) {
            memmove(v[1], v[0], r->p->buffers[s->uses[0].buffer].bytes);
        } else if (s->kind == PLAN_TEST && s->nuses == 0) {
            uint64_t *n = &r->counters[s->counter];
            bool again = *n < s->trips;
            *n = again ? *n + 1 : 0;
            i = again ? i : s->targets[0];
        } else if (s->kind == PLAN_COLLECTIVE && s->collective->number) { /* what is there early may be overwritten */
            memset(v[1], 0xAB, r->p->buffers[s->uses[1].buffer].bytes);
        } else if (s->collective) {
            memmove(v[1], v[0], r->p->buffers[s->uses[0].buffer].bytes);
        } else if (s->kind == PLAN_TEST) {
            i = *(uint8_t *)v[0] ? i : s->targets[0];
        } else if (s->kind == PLAN_JUMP) {
            i = s->targets[0];
        } else {
            int32_t k = 0;
            bool wide = r->p->buffers[s->uses[0].buffer].bytes == 4;
            memcpy(&k, v[0], wide ? sizeof k : 1);
            if (!wide)
                k = !k;
            i = s->targets[k < 0 || k >= (int32_t)s->ntargets ? s->ntargets - 1 : (uint32_t)k];
        }
    }
    return true;
}

/* ---- both ------------------------------------------------------------------------------------ */

static void fill(uint8_t *p, size_t n, uint32_t seed) {
    for (size_t i = 0; i < n; i++)
        p[i] = (uint8_t)mix(seed, (uint32_t)i);
}

static void forget_calls(const struct program *p) {
    for (struct command *c = p->newest; c; c = c->older)
        c->calls = 0;
}

static bool same_bytes(const uint8_t *x, const uint8_t *y, size_t n) {
    return n == 0 || memcmp(x, y, n) == 0;
}

/* Runs the plan, with the donors in `donate`, and compares. */
static bool compare(const struct program *p, const struct plan *plan, const struct machine *m, unsigned donate,
                    struct arena *a, struct strbuf *why) {
    struct planned r = {.p = plan, .constants = arena_alloc(a, plan->device_constants, 64),
                        .counters = ARENA_ARRAY(a, uint64_t, plan->ncounters)};
    for (int space = 0; space < PLAN_SPACES; space++) {
        r.block[space] = arena_alloc(a, plan->memory[space].block_bytes + 64, 64);
        memset(r.block[space], 0xCD, plan->memory[space].block_bytes + 64);
    }
    for (uint32_t i = 0; i < plan->nbuffers; i++)
        if (plan->buffers[i].place == PLAN_CONSTANT && plan->buffers[i].space == PLAN_DEVICE && plan->buffers[i].root == i)
            memcpy(r.constants + plan->buffers[i].offset, plan->buffers[i].data, plan->buffers[i].bytes);
    for (uint32_t i = 0; i < p->narguments; i++) {
        size_t n = plan->buffers[plan->arguments[i]].bytes;
        r.arguments[i] = arena_alloc(a, n, 64);
        fill(r.arguments[i], n, i);
    }
    for (uint32_t i = 0; i < p->nresults; i++) {
        int32_t donor = plan->donors[i];
        r.results[i] = donor >= 0 && donate >> donor & 1 ? r.arguments[donor]
                                                         : arena_alloc(a, plan->buffers[plan->results[i]].bytes, 64);
    }
    forget_calls(p);
    if (!planned_run(&r, p->places)) {
        strbuf_printf(why, "the plan does not end (donated: %x)", donate);
        return false;
    }
    for (uint32_t i = 0; i < p->nresults; i++)
        if (!same_bytes(r.results[i], at(m, p->results[i]), bytes_of(p, p->results[i]))) {
            strbuf_printf(why, "result %u differs (donated: %x)", i, donate);
            return false;
        }
    for (uint32_t i = 0; i < p->narguments; i++) {
        uint8_t want[6000];
        size_t n = plan->buffers[plan->arguments[i]].bytes;
        fill(want, n, i);
        if (!(donate >> i & 1) && !same_bytes(want, r.arguments[i], n)) {
            strbuf_printf(why, "argument %u was written (donated: %x)", i, donate);
            return false;
        }
    }
    for (size_t i = 0; i < 64 * PLAN_SPACES; i++)
        if (r.block[i / 64][plan->memory[i / 64].block_bytes + i % 64] != 0xCD) {
            strbuf_puts(why, "memory after the block was written");
            return false;
        }
    if (r.misplaced)
        strbuf_puts(why, "a step uses memory of the other side");
    return !r.misplaced;
}

static bool check_places(const struct plan *plan, struct strbuf *why) {
    for (uint32_t i = 0; i < plan->nbuffers; i++) {
        const struct plan_buffer *x = &plan->buffers[i];
        if (x->root == i && x->place == PLAN_BLOCK && x->offset % 64)
            strbuf_printf(why, "buffer %u is not aligned", i);
    }
    for (int space = 0; space < PLAN_SPACES; space++)
        if (plan->memory[space].block_bytes < plan->memory[space].live_bytes || plan->memory[space].block_bytes % 64)
            strbuf_printf(why, "block of %zu bytes, of which %zu live", plan->memory[space].block_bytes,
                          plan->memory[space].live_bytes);
    return why->n == 0;
}

static bool check_program(struct program *p, struct diag_list *d, struct strbuf *why) {
    make_program(p);
    uint32_t n = 0; /* buffers of the program */
    struct machine m = {.p = p, .steps = MOST_RUN, .memory = ARENA_ARRAY(&p->a, uint8_t *, 4 * MOST_BUFFERS)};
    uint32_t end = plan_temp(p->b, IR_UI8_T, 0, NULL);
    for (; n < end && n < 4 * MOST_BUFFERS; n++) {
        const struct plan_buffer *x = plan_buffer_get(p->b, n);
        m.memory[n] = arena_alloc(&p->a, x->bytes, 64);
        if (x->place == PLAN_CONSTANT)
            memcpy(m.memory[n], constant_bytes, x->bytes);
        if (x->place == PLAN_ARGUMENT)
            fill(m.memory[n], x->bytes, x->index);
    }
    if (!run_list(&m, p->first))
        return true; /* too long to be of use */
    struct plan plan;
    if (plan_finish(p->b, &plan, d) != HILO_OK) {
        strbuf_printf(why, "plan_finish: %s", d->first ? d->first->message : "");
        return false;
    }
    bool right = check_places(&plan, why) && compare(p, &plan, &m, 0, &p->a, why) &&
                 compare(p, &plan, &m, 0xF, &p->a, why) && compare(p, &plan, &m, 0x5, &p->a, why);
    if (!right) {
        strbuf_putc(why, '\n');
        plan_print(&plan, why);
    }
    return right;
}

bool random_plan_check(const uint8_t *bytes, size_t nbytes, struct strbuf *why) {
    jmp_buf recover;
    struct diag_list d;
    diag_init(&d, mem_system_allocator());
    struct program *p = calloc(1, sizeof *p);
    bool right = false;
    if (p && !setjmp(recover)) {
        p->bytes = bytes;
        p->left = nbytes;
        arena_init(&p->a, mem_system_allocator(), &recover);
        right = check_program(p, &d, why);
    }
    if (p)
        arena_free(&p->a);
    free(p);
    diag_clear(&d);
    return right;
}
