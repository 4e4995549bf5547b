/* Several processes: interpreter.run_parallel runs each on a thread of its own; the calling thread is the first.
 *
 * All shared state is in a process group, under its lock. A process waits for two things only: a rendezvous of its replica
 * group, or a message. The process that ends a wait counts the waiting process as running from that moment, so that `waiting ==
 * running` means exactly a deadlock: then, as when a process fails, all waits end with an error. The error of a program is that
 * of the first process, by index, that did not merely stop because of another. */
#include "eval/eval_process.h"

#include <inttypes.h>
#include <pthread.h>

enum { PROCESS_STACK = 8 << 20 };

struct rendezvous {
    struct rendezvous *next;
    uint16_t kind;
    int64_t channel;
    uint32_t n, count;      /* members, values of each */
    uint32_t arrived, finished, left;
    bool complete, common;  /* common: all have finished their parts of what is made together */
    size_t bytes;           /* of this block */
    struct value **values;  /* n x count, then what is made together: count */
    uint32_t members[];
};

struct message {
    struct message *next;
    struct message_key key;
    uint32_t n;
    struct value *values[];
};

/* A process that waits for a message. */
struct message_wait {
    struct message_wait *next;
    struct message_key key;
    struct message *got;
    bool done;
};

struct process_group {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    pthread_mutex_t hooks_own, *hooks; /* serialises callbacks; shared with the groups that this one's processes start */
    hilo_allocator al;
    uint32_t running, waiting;
    atomic_bool failed;                /* a process has failed: the others stop */
    bool stuck;                        /* no process can proceed */
    bool elsewhere;                    /* some of its processes run on other nodes, where the evaluator does not reach them */
    struct rendezvous *open;             /* not complete */
    struct message *messages;            /* not fetched, oldest first */
    struct message_wait *waits;         /* without a message, oldest first */
    ir_attr infeed;                    /* ARRAY of SYMBOL, or none */
    bool apart;                        /* processes end one by one, with their memory: what they pass on is copied */
};

/* ---- process groups ------------------------------------------------------------------------------------------------------ */

static void group_init(struct process_group *g, const hilo_allocator *al, uint32_t processes, const struct eval_process *outer,
                      ir_attr infeed) {
    memset(g, 0, sizeof *g);
    pthread_mutex_init(&g->lock, NULL);
    pthread_cond_init(&g->changed, NULL);
    pthread_mutex_init(&g->hooks_own, NULL);
    g->hooks = outer ? outer->group->hooks : &g->hooks_own;
    g->al = *al;
    g->running = processes;
    atomic_init(&g->failed, false);
    g->infeed = infeed;
}

static void rendezvous_free(struct process_group *g, struct rendezvous *m) {
    eval_drop(m->values, (m->n + 1) * m->count);
    mem_free(&g->al, m, m->bytes);
}

static void message_free(struct process_group *g, struct message *p) {
    eval_drop(p->values, p->n);
    mem_free(&g->al, p, sizeof *p + p->n * sizeof *p->values);
}

static void group_free(struct process_group *g) {
    for (struct rendezvous *m = g->open, *next; m; m = next) {
        next = m->next;
        rendezvous_free(g, m);
    }
    for (struct message *p = g->messages, *next; p; p = next) {
        next = p->next;
        message_free(g, p);
    }
    pthread_mutex_destroy(&g->hooks_own);
    pthread_cond_destroy(&g->changed);
    pthread_mutex_destroy(&g->lock);
}

/* A group of a single process, for programs outside of run_parallel. */
struct single_process {
    struct eval_process process;
    struct process_group group;
};

struct eval_process *eval_process_of(struct eval *cx) {
    if (cx->process)
        return cx->process;
    struct single_process *s = mem_alloc(&cx->al, sizeof *s);
    if (!s)
        return NULL;
    group_init(&s->group, &cx->al, 1, NULL, (ir_attr){0});
    s->process = (struct eval_process){.group = &s->group, .replicas = 1, .partitions = 1};
    return cx->process = &s->process;
}

void eval_process_close(struct eval_process *p) {
    if (!p || p->group->apart)
        return;
    struct single_process *s = (struct single_process *)p;
    hilo_allocator al = s->group.al;
    group_free(&s->group);
    mem_free(&al, s, sizeof *s);
}

bool eval_process_stopped(const struct eval_process *p) {
    for (; p; p = p->outer)
        if (atomic_load_explicit(&p->group->failed, memory_order_relaxed))
            return true;
    return false;
}

void eval_process_lock(struct eval_process *p) {
    if (p)
        pthread_mutex_lock(p->group->hooks);
}

void eval_process_unlock(struct eval_process *p) {
    if (p)
        pthread_mutex_unlock(p->group->hooks);
}

/* With the lock held: all waits end when no running process is left that could end them. */
static void group_look(struct process_group *g) {
    if (g->running && g->waiting == g->running) {
        g->stuck = true;
        pthread_cond_broadcast(&g->changed);
    }
}

/* With the lock held: until *done, which another process sets after lowering `waiting`. */
static bool group_wait(struct process_group *g, const bool *done) {
    g->waiting++;
    group_look(g);
    while (!*done && !atomic_load(&g->failed) && !g->stuck)
        pthread_cond_wait(&g->changed, &g->lock);
    return *done;
}

static void group_leave(struct process_group *g, hilo_status status) {
    pthread_mutex_lock(&g->lock);
    g->running--;
    if (status != HILO_OK)
        atomic_store(&g->failed, true);
    group_look(g);
    pthread_cond_broadcast(&g->changed);
    pthread_mutex_unlock(&g->lock);
}

static hilo_status wait_error(struct eval *cx, ir_op op) {
    if (atomic_load(&cx->process->group->failed))
        return EVAL_FAIL(cx, op, HILO_ABORTED, "was not finished: another process has failed");
    if (cx->process->group->elsewhere)
        return EVAL_FAIL(cx, op, HILO_UNIMPLEMENTED,
                         "is evaluated and waits for processes of other nodes, with which compiled collectives alone exchange");
    return EVAL_FAIL(cx, op, HILO_FAILED_PRECONDITION,
                     "deadlock: process (%" PRIu32 ", %" PRIu32 ") waits for a process that does not join",
                     cx->process->index / cx->process->partitions, cx->process->index % cx->process->partitions);
}

/* A reference for other processes. NULL when memory ends. */
static struct value *lend(struct process_group *g, struct value *v) {
    struct value *copy;
    if (!g->apart || v->kind != EVAL_TENSOR)
        return value_ref(v);
    if (value_tensor(&g->al, v->dtype, v->dims, v->rank, &copy) != HILO_OK)
        return NULL;
    if (v->bytes)
        memcpy(copy->data, v->data, v->bytes);
    return copy;
}

/* All of them, or none. */
static bool lend_all(struct process_group *g, struct value *const *values, uint32_t n, struct value **out) {
    uint32_t i = 0;
    while (i < n && (out[i] = lend(g, values[i])))
        i++;
    if (i == n)
        return true;
    eval_drop(out, i);
    return false;
}

/* ---- rendezvous ---------------------------------------------------------------------------------------------------------- */

static struct rendezvous *rendezvous_find(struct process_group *g, uint16_t kind, int64_t channel, const uint32_t *members,
                                          uint32_t n) {
    for (struct rendezvous *m = g->open; m; m = m->next)
        if (m->kind == kind && m->channel == channel && m->n == n && memcmp(m->members, members, n * sizeof *members) == 0)
            return m;
    return NULL;
}

static struct rendezvous *rendezvous_open(struct process_group *g, uint16_t kind, int64_t channel, const uint32_t *members,
                                          uint32_t n, uint32_t count) {
    size_t head = (sizeof(struct rendezvous) + n * sizeof *members + 7) & ~(size_t)7;
    size_t bytes = head + ((size_t)n + 1) * count * sizeof(struct value *);
    struct rendezvous *m = mem_alloc(&g->al, bytes);
    if (!m)
        return NULL;
    memset(m, 0, bytes);
    *m = (struct rendezvous){.next = g->open, .kind = kind, .channel = channel, .n = n, .count = count, .bytes = bytes,
                          .values = (struct value **)((char *)m + head)};
    memcpy(m->members, members, n * sizeof *members);
    return g->open = m;
}

static void rendezvous_complete(struct process_group *g, struct rendezvous *m) {
    struct rendezvous **at = &g->open;
    while (*at != m)
        at = &(*at)->next;
    *at = m->next;
    m->complete = true;
    g->waiting -= m->n - 1;
    pthread_cond_broadcast(&g->changed);
}

/* With references that are the rendezvous's, unless an error comes before they are. */
static hilo_status join(struct eval *cx, ir_op op, int64_t channel, const uint32_t *members, uint32_t n,
                        struct value **lent, uint32_t count, struct rendezvous **out) {
    struct eval_process *self = cx->process;
    struct process_group *g = self->group;
    uint16_t kind = (uint16_t)ir_kind(cx->m, op);
    uint32_t rank = 0;
    while (members[rank] != self->index)
        rank++;
    pthread_mutex_lock(&g->lock);
    if (atomic_load(&g->failed) || g->stuck) { /* members that wait may have given up already */
        pthread_mutex_unlock(&g->lock);
        return wait_error(cx, op);
    }
    struct rendezvous *m = rendezvous_find(g, kind, channel, members, n);
    if (!m)
        m = rendezvous_open(g, kind, channel, members, n, count);
    hilo_status status = !m ? HILO_RESOURCE_EXHAUSTED : m->count != count ? HILO_INVALID_ARGUMENT : HILO_OK;
    bool complete = false;
    if (status == HILO_OK) {
        memcpy(&m->values[rank * count], lent, count * sizeof *lent);
        memset(lent, 0, count * sizeof *lent);
        if (++m->arrived == n)
            rendezvous_complete(g, m);
        complete = m->complete || group_wait(g, &m->complete);
    }
    pthread_mutex_unlock(&g->lock);
    if (status == HILO_INVALID_ARGUMENT)
        return EVAL_FAIL(cx, op, status, "has another number of operands in another process");
    if (status == HILO_OK && !complete)
        return wait_error(cx, op);
    *out = m;
    return status;
}

hilo_status rendezvous_join(struct eval *cx, ir_op op, int64_t channel, const uint32_t *members, uint32_t n,
                         struct value *const *values, uint32_t count, struct rendezvous **out) {
    size_t bytes = count * sizeof *values;
    struct value **lent = mem_alloc(&cx->al, bytes);
    if (!lent)
        return HILO_RESOURCE_EXHAUSTED;
    hilo_status status = HILO_RESOURCE_EXHAUSTED;
    if (lend_all(cx->process->group, values, count, lent)) {
        status = join(cx, op, channel, members, n, lent, count, out);
        eval_drop(lent, count);
    }
    mem_free(&cx->al, lent, bytes);
    return status;
}

hilo_status rendezvous_common(struct eval *cx, struct rendezvous *m, uint32_t i, enum ir_dtype t, struct value **out) {
    struct process_group *g = cx->process->group;
    struct value **common = &m->values[m->n * m->count + i];
    const struct value *like = m->values[i];
    hilo_status status = HILO_OK;
    pthread_mutex_lock(&g->lock);
    if (!*common)
        status = value_tensor(&g->al, t, like->dims, like->rank, common);
    pthread_mutex_unlock(&g->lock);
    *out = *common;
    return status;
}

hilo_status rendezvous_finish(struct eval *cx, ir_op op, struct rendezvous *m) {
    struct process_group *g = cx->process->group;
    pthread_mutex_lock(&g->lock);
    bool all = ++m->finished == m->n;
    if (all) {
        m->common = true;
        g->waiting -= m->n - 1;
        pthread_cond_broadcast(&g->changed);
    } else {
        all = group_wait(g, &m->common);
    }
    pthread_mutex_unlock(&g->lock);
    return all ? HILO_OK : wait_error(cx, op);
}

struct value *rendezvous_value(const struct rendezvous *m, uint32_t member, uint32_t i) {
    return m->values[member * m->count + i];
}

void rendezvous_leave(struct eval *cx, struct rendezvous *m) {
    struct process_group *g = cx->process->group;
    pthread_mutex_lock(&g->lock);
    bool last = ++m->left == m->n;
    pthread_mutex_unlock(&g->lock);
    if (last)
        rendezvous_free(g, m);
}

/* ---- processes of an embedder ---------------------------------------------------------------------------------------- */

struct eval_process_group {
    struct process_group group;
    hilo_allocator al;
    size_t bytes;
    struct eval_process processes[];
};

struct eval_process_group *eval_process_group_new(const hilo_allocator *al, uint32_t replicas, uint32_t partitions) {
    uint32_t n = replicas * partitions;
    size_t bytes = sizeof(struct eval_process_group) + n * sizeof(struct eval_process);
    struct eval_process_group *g = mem_alloc(al, bytes);
    if (!g)
        return NULL;
    memset(g, 0, bytes);
    g->al = *al;
    g->bytes = bytes;
    group_init(&g->group, al, n, NULL, (ir_attr){0});
    g->group.apart = true;
    for (uint32_t i = 0; i < n; i++)
        g->processes[i] = (struct eval_process){.group = &g->group, .index = i, .replicas = replicas, .partitions = partitions};
    return g;
}

struct eval_process *eval_process_group_get(struct eval_process_group *g, uint32_t index) {
    return &g->processes[index];
}

void eval_process_elsewhere(struct eval_process *p) {
    p->group->elsewhere = true;
    eval_process_end(p, HILO_OK);
}

void eval_process_end(struct eval_process *p, hilo_status status) {
    group_leave(p->group, status);
}

void eval_process_group_free(struct eval_process_group *g) {
    if (!g)
        return;
    hilo_allocator al = g->al;
    group_free(&g->group);
    mem_free(&al, g, g->bytes);
}

/* ---- messages ------------------------------------------------------------------------------------------------------------ */

static bool message_same_key(const struct message_key *a, const struct message_key *b) {
    return a->kind == b->kind && a->channel == b->channel && a->source == b->source && a->target == b->target;
}

hilo_status message_send(struct eval *cx, const struct message_key *key, struct value *const *values, uint32_t n) {
    struct process_group *g = cx->process->group;
    struct message *p = mem_alloc(&g->al, sizeof *p + n * sizeof *values);
    if (!p)
        return HILO_RESOURCE_EXHAUSTED;
    *p = (struct message){.key = *key, .n = n};
    if (!lend_all(g, values, n, p->values)) {
        mem_free(&g->al, p, sizeof *p + n * sizeof *values);
        return HILO_RESOURCE_EXHAUSTED;
    }
    pthread_mutex_lock(&g->lock);
    struct message_wait **w = &g->waits;
    while (*w && !message_same_key(&(*w)->key, key))
        w = &(*w)->next;
    if (*w) {
        struct message_wait *got = *w;
        *w = got->next;
        got->got = p;
        got->done = true;
        g->waiting--;
        pthread_cond_broadcast(&g->changed);
    } else {
        struct message **end = &g->messages;
        while (*end)
            end = &(*end)->next;
        *end = p;
    }
    pthread_mutex_unlock(&g->lock);
    return HILO_OK;
}

hilo_status message_fetch(struct eval *cx, ir_op op, const struct message_key *key, struct value **out, uint32_t n) {
    struct process_group *g = cx->process->group;
    struct message_wait wait = {.key = *key};
    pthread_mutex_lock(&g->lock);
    struct message **at = &g->messages;
    while (*at && !message_same_key(&(*at)->key, key))
        at = &(*at)->next;
    if (*at) {
        wait.got = *at;
        *at = wait.got->next;
    } else {
        struct message_wait **end = &g->waits;
        while (*end)
            end = &(*end)->next;
        *end = &wait;
        if (!group_wait(g, &wait.done)) {
            for (end = &g->waits; *end != &wait;)
                end = &(*end)->next;
            *end = wait.next;
        }
    }
    pthread_mutex_unlock(&g->lock);
    if (!wait.got)
        return wait_error(cx, op);
    bool fits = wait.got->n == n;
    if (fits) {
        memcpy(out, wait.got->values, n * sizeof *out);
        memset(wait.got->values, 0, n * sizeof *out);
    }
    message_free(g, wait.got);
    return fits ? HILO_OK : EVAL_FAIL(cx, op, HILO_INVALID_ARGUMENT, "receives another number of values than were sent");
}

/* ---- ops ------------------------------------------------------------------------------------------------------------- */

hilo_status eval_process_id(struct eval *cx, ir_op op, struct value *const *in, struct value **out) {
    (void)in;
    uint32_t replica = cx->process ? cx->process->index / cx->process->partitions : 0;
    uint32_t partition = cx->process ? cx->process->index % cx->process->partitions : 0;
    HILO_TRY(eval_out(cx, op, 0, NULL, 0, out));
    *(uint32_t *)(*out)->data = ir_kind(cx->m, op) == IR_REPLICA_ID ? replica : partition;
    return HILO_OK;
}

/* Every process reads the whole infeed by itself: the values of its functions in order. */
hilo_status eval_infeed(struct eval *cx, ir_op op, struct value *const *in, struct value **out) {
    struct eval_process *self = eval_process_of(cx);
    if (!self)
        return HILO_RESOURCE_EXHAUSTED;
    const struct ir_attr_data *queue = ir_attr_get(cx->m, self->group->infeed);
    uint32_t n = ir_op_get(cx->m, op)->nresults - 1;
    if (queue->kind != IR_ATTR_ARRAY || self->infeed >= queue->n)
        return EVAL_FAIL(cx, op, HILO_FAILED_PRECONDITION, "finds the infeed empty");
    uint32_t f = eval_callee(cx, op, ir_attr_as_str(cx->m, queue->items[self->infeed++]), 0, n);
    if (!f)
        return HILO_INVALID_ARGUMENT;
    HILO_TRY(eval_body(cx, f, NULL, out));
    out[n] = value_ref(in[0]);
    return HILO_OK;
}

/* The outfeed is not read. */
hilo_status eval_outfeed(struct eval *cx, ir_op op, struct value *const *in, struct value **out) {
    out[0] = value_ref(in[ir_op_get(cx->m, op)->noperands - 1]);
    return HILO_OK;
}

/* ---- run_parallel ---------------------------------------------------------------------------------------------------- */

struct worker {
    struct eval cx;
    struct eval_process self;
    struct diag_list d;
    ir_op op;                /* run_parallel */
    uint32_t block;          /* of its function */
    struct value **args, **results;
    uint32_t nargs, nresults;
    hilo_status status;
    pthread_t thread;
    bool started;
};

static void *worker_main(void *user) {
    struct worker *w = user;
    w->status = eval_body(&w->cx, w->block, w->args, w->results);
    if (w->status != HILO_OK && w->d.errors == 0)
        ir_op_error(w->cx.m, &w->d, w->op, w->status, NULL, "could not run a process: out of memory");
    group_leave(w->self.group, w->status);
    return NULL;
}

static void workers_run(struct worker *w, uint32_t n) {
    pthread_attr_t attr;
    bool ready = pthread_attr_init(&attr) == 0;
    if (ready)
        pthread_attr_setstacksize(&attr, PROCESS_STACK);
    for (uint32_t i = 1; i < n; i++) {
        w[i].started = ready && pthread_create(&w[i].thread, &attr, worker_main, &w[i]) == 0;
        if (!w[i].started) {
            w[i].status = ir_op_error(w->cx.m, &w[i].d, w[i].op, HILO_RESOURCE_EXHAUSTED, NULL,
                                      "could not start a thread for process %" PRIu32, i);
            eval_drop(w[i].args, w[i].nargs);
            group_leave(w[i].self.group, w[i].status);
        }
    }
    worker_main(&w[0]);
    for (uint32_t i = 1; i < n; i++)
        if (w[i].started)
            pthread_join(w[i].thread, NULL);
    if (ready)
        pthread_attr_destroy(&attr);
}

/* The program of each process and its share of operands and results. */
static hilo_status workers_init(struct eval *cx, ir_op op, const struct ir_attr_data *rows, struct process_group *g,
                                struct worker *w, uint32_t partitions, struct value **args, struct value **results) {
    const struct ir_op_data *o = ir_op_get(cx->m, op);
    uint32_t nargs = 0, nresults = 0, n = rows->n * partitions;
    for (uint32_t i = 0; i < n; i++, w++) {
        struct str name = ir_attr_as_str(cx->m, ir_attr_get(cx->m, rows->items[i / partitions])->items[i % partitions]);
        uint32_t id = eval_plan_body(cx->plan, ir_module_symbol(cx->m, name));
        if (!id)
            return EVAL_FAIL(cx, op, HILO_INVALID_ARGUMENT, "runs '%.*s', which is not a function with a body",
                             (int)name.n, name.p);
        const struct plan_block *b = &cx->plan->blocks[id];
        *w = (struct worker){.cx = *cx, .op = op, .block = id, .nargs = b->nargs, .args = args + nargs,
                             .results = results + nresults};
        w->nresults = cx->plan->steps[b->first + b->nsteps - 1].noperands;
        nargs += w->nargs;
        nresults += w->nresults;
        if (nargs > o->noperands || nresults > o->nresults)
            break;
        w->self = (struct eval_process){.outer = cx->process, .group = g, .index = i, .replicas = rows->n,
                                        .partitions = partitions};
        diag_init(&w->d, cx->d->al);
        w->cx.d = &w->d;
        w->cx.process = &w->self;
        w->cx.depth = i == 0 ? cx->depth : 0;
        w->cx.rng_state = cx->rng_state + i;
    }
    if (nargs != o->noperands || nresults != o->nresults)
        return EVAL_FAIL(cx, op, HILO_INVALID_ARGUMENT,
                         "has other numbers of operands and results than its programs together");
    return HILO_OK;
}

/* The status to answer, with its diagnostics moved to the caller's. */
static hilo_status workers_status(struct eval *cx, struct worker *w, uint32_t n) {
    struct worker *bad = NULL;
    for (uint32_t i = 0; i < n; i++)
        if (w[i].status != HILO_OK && (!bad || (bad->status == HILO_ABORTED && w[i].status != HILO_ABORTED)))
            bad = &w[i];
    if (!bad)
        return HILO_OK;
    diag_move(cx->d, &bad->d);
    for (uint32_t i = 0; i < n; i++) {
        eval_drop(w[i].results, w[i].nresults);
        diag_clear(&w[i].d);
    }
    return bad->status;
}

hilo_status eval_run_parallel(struct eval *cx, ir_op op, struct value *const *in, struct value **out) {
    const struct ir_attr_data *rows = ir_attr_get(cx->m, ir_prop(cx->m, op, IR_RUN_PARALLEL_programs));
    uint32_t partitions = rows->kind == IR_ATTR_ARRAY && rows->n ? ir_attr_get(cx->m, rows->items[0])->n : 0;
    bool sound = partitions > 0 && rows->n < UINT32_MAX / partitions;
    for (uint32_t i = 0; sound && i < rows->n; i++) {
        const struct ir_attr_data *row = ir_attr_get(cx->m, rows->items[i]);
        sound = row->kind == IR_ATTR_ARRAY && row->n == partitions;
    }
    if (!sound)
        return EVAL_FAIL(cx, op, HILO_INVALID_ARGUMENT, "needs programs in rows of one length");
    uint32_t n = rows->n * partitions;
    size_t bytes = n * sizeof(struct worker);
    struct worker *w = mem_alloc(&cx->al, bytes);
    if (!w)
        return HILO_RESOURCE_EXHAUSTED;
    struct value **args = out + ir_op_get(cx->m, op)->nresults; /* see plan_block.nscratch */
    struct process_group g;
    group_init(&g, &cx->al, n, cx->process, ir_prop(cx->m, op, IR_RUN_PARALLEL_infeed));
    hilo_status status = workers_init(cx, op, rows, &g, w, partitions, args, out);
    if (status == HILO_OK) {
        eval_take(cx, in, args);
        workers_run(w, n);
        status = workers_status(cx, w, n);
    }
    group_free(&g);
    mem_free(&cx->al, w, bytes);
    return status;
}
