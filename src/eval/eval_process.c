/* Several processes: interpreter.run_parallel runs each on a thread of its own; the calling thread is the first.
 *
 * All that processes share is in a grid and under its lock. A process waits for two things only: a meeting of its group, or a
 * parcel. Whoever makes a wait end counts the waiting process as running from that moment, so that `waiting == running` means
 * exactly that nobody can ever go on: then, as when a process fails, all waits end with an error. A program's error is that of
 * the first process, by index, that did not merely stop because of another. */
#include "eval/eval_process.h"

#include <inttypes.h>
#include <pthread.h>

enum { PROCESS_STACK = 8 << 20 };

struct meeting {
    struct meeting *next;
    uint16_t kind;
    int64_t channel;
    uint32_t n, count;      /* members, values of each */
    uint32_t arrived, finished, left;
    bool complete, common;  /* common: all have finished their parts of what is made together */
    size_t bytes;           /* of this block */
    struct value **values;  /* n x count, then what is made together: count */
    uint32_t members[];
};

struct parcel {
    struct parcel *next;
    struct parcel_key key;
    uint32_t n;
    struct value *values[];
};

/* A process that waits for a parcel. */
struct parcel_wait {
    struct parcel_wait *next;
    struct parcel_key key;
    struct parcel *got;
    bool done;
};

struct grid {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    pthread_mutex_t hooks_own, *hooks; /* serialises callbacks; shared with the grids that this one's processes start */
    hilo_allocator al;
    uint32_t running, waiting;
    atomic_bool failed;                /* a process has failed: the others stop */
    bool stuck;                        /* nobody can go on */
    struct meeting *meetings;          /* not complete */
    struct parcel *parcels;            /* not fetched, oldest first */
    struct parcel_wait *waits;         /* without a parcel, oldest first */
    ir_attr infeed;                    /* ARRAY of SYMBOL, or none */
    bool apart;                        /* processes end one by one, with their memory: what they hand over is copied */
};

/* ---- grids ----------------------------------------------------------------------------------------------------------- */

static void grid_init(struct grid *g, const hilo_allocator *al, uint32_t processes, const struct eval_process *outer,
                      ir_attr infeed) {
    memset(g, 0, sizeof *g);
    pthread_mutex_init(&g->lock, NULL);
    pthread_cond_init(&g->changed, NULL);
    pthread_mutex_init(&g->hooks_own, NULL);
    g->hooks = outer ? outer->grid->hooks : &g->hooks_own;
    g->al = *al;
    g->running = processes;
    atomic_init(&g->failed, false);
    g->infeed = infeed;
}

static void meeting_free(struct grid *g, struct meeting *m) {
    eval_drop(m->values, (m->n + 1) * m->count);
    mem_free(&g->al, m, m->bytes);
}

static void parcel_free(struct grid *g, struct parcel *p) {
    eval_drop(p->values, p->n);
    mem_free(&g->al, p, sizeof *p + p->n * sizeof *p->values);
}

static void grid_free(struct grid *g) {
    for (struct meeting *m = g->meetings, *next; m; m = next) {
        next = m->next;
        meeting_free(g, m);
    }
    for (struct parcel *p = g->parcels, *next; p; p = next) {
        next = p->next;
        parcel_free(g, p);
    }
    pthread_mutex_destroy(&g->hooks_own);
    pthread_cond_destroy(&g->changed);
    pthread_mutex_destroy(&g->lock);
}

/* A grid of one process, for programs that talk to nobody but themselves. */
struct solo {
    struct eval_process process;
    struct grid grid;
};

struct eval_process *eval_process_of(struct eval *cx) {
    if (cx->process)
        return cx->process;
    struct solo *s = mem_alloc(&cx->al, sizeof *s);
    if (!s)
        return NULL;
    grid_init(&s->grid, &cx->al, 1, NULL, (ir_attr){0});
    s->process = (struct eval_process){.grid = &s->grid, .replicas = 1, .partitions = 1};
    return cx->process = &s->process;
}

void eval_process_close(struct eval_process *p) {
    if (!p || p->grid->apart)
        return;
    struct solo *s = (struct solo *)p;
    hilo_allocator al = s->grid.al;
    grid_free(&s->grid);
    mem_free(&al, s, sizeof *s);
}

bool eval_process_stopped(const struct eval_process *p) {
    for (; p; p = p->outer)
        if (atomic_load_explicit(&p->grid->failed, memory_order_relaxed))
            return true;
    return false;
}

void eval_process_lock(struct eval_process *p) {
    if (p)
        pthread_mutex_lock(p->grid->hooks);
}

void eval_process_unlock(struct eval_process *p) {
    if (p)
        pthread_mutex_unlock(p->grid->hooks);
}

/* With the lock held: all waits end when nobody is left who could end them. */
static void grid_look(struct grid *g) {
    if (g->running && g->waiting == g->running) {
        g->stuck = true;
        pthread_cond_broadcast(&g->changed);
    }
}

/* With the lock held: until *done, which somebody sets after lowering `waiting`. */
static bool grid_wait(struct grid *g, const bool *done) {
    g->waiting++;
    grid_look(g);
    while (!*done && !atomic_load(&g->failed) && !g->stuck)
        pthread_cond_wait(&g->changed, &g->lock);
    return *done;
}

static void grid_leave(struct grid *g, hilo_status status) {
    pthread_mutex_lock(&g->lock);
    g->running--;
    if (status != HILO_OK)
        atomic_store(&g->failed, true);
    grid_look(g);
    pthread_cond_broadcast(&g->changed);
    pthread_mutex_unlock(&g->lock);
}

static hilo_status wait_error(struct eval *cx, ir_op op) {
    if (atomic_load(&cx->process->grid->failed))
        return EVAL_FAIL(cx, op, HILO_ABORTED, "was not finished: another process has failed");
    return EVAL_FAIL(cx, op, HILO_FAILED_PRECONDITION,
                     "waits in process (%" PRIu32 ", %" PRIu32 ") for a process that never comes",
                     cx->process->index / cx->process->partitions, cx->process->index % cx->process->partitions);
}

/* A reference for other processes. NULL when memory ends. */
static struct value *lend(struct grid *g, struct value *v) {
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
static bool lend_all(struct grid *g, struct value *const *values, uint32_t n, struct value **out) {
    uint32_t i = 0;
    while (i < n && (out[i] = lend(g, values[i])))
        i++;
    if (i == n)
        return true;
    eval_drop(out, i);
    return false;
}

/* ---- meetings -------------------------------------------------------------------------------------------------------- */

static struct meeting *meeting_find(struct grid *g, uint16_t kind, int64_t channel, const uint32_t *members, uint32_t n) {
    for (struct meeting *m = g->meetings; m; m = m->next)
        if (m->kind == kind && m->channel == channel && m->n == n && memcmp(m->members, members, n * sizeof *members) == 0)
            return m;
    return NULL;
}

static struct meeting *meeting_open(struct grid *g, uint16_t kind, int64_t channel, const uint32_t *members, uint32_t n,
                                    uint32_t count) {
    size_t head = (sizeof(struct meeting) + n * sizeof *members + 7) & ~(size_t)7;
    size_t bytes = head + ((size_t)n + 1) * count * sizeof(struct value *);
    struct meeting *m = mem_alloc(&g->al, bytes);
    if (!m)
        return NULL;
    memset(m, 0, bytes);
    *m = (struct meeting){.next = g->meetings, .kind = kind, .channel = channel, .n = n, .count = count, .bytes = bytes,
                          .values = (struct value **)((char *)m + head)};
    memcpy(m->members, members, n * sizeof *members);
    return g->meetings = m;
}

static void meeting_complete(struct grid *g, struct meeting *m) {
    struct meeting **at = &g->meetings;
    while (*at != m)
        at = &(*at)->next;
    *at = m->next;
    m->complete = true;
    g->waiting -= m->n - 1;
    pthread_cond_broadcast(&g->changed);
}

/* With references that are the meeting's, unless an error comes before they are. */
static hilo_status join(struct eval *cx, ir_op op, int64_t channel, const uint32_t *members, uint32_t n,
                        struct value **lent, uint32_t count, struct meeting **out) {
    struct eval_process *self = cx->process;
    struct grid *g = self->grid;
    uint16_t kind = (uint16_t)ir_kind(cx->m, op);
    uint32_t rank = 0;
    while (members[rank] != self->index)
        rank++;
    pthread_mutex_lock(&g->lock);
    if (atomic_load(&g->failed) || g->stuck) { /* members that wait may have given up already */
        pthread_mutex_unlock(&g->lock);
        return wait_error(cx, op);
    }
    struct meeting *m = meeting_find(g, kind, channel, members, n);
    if (!m)
        m = meeting_open(g, kind, channel, members, n, count);
    hilo_status status = !m ? HILO_RESOURCE_EXHAUSTED : m->count != count ? HILO_INVALID_ARGUMENT : HILO_OK;
    bool complete = false;
    if (status == HILO_OK) {
        memcpy(&m->values[rank * count], lent, count * sizeof *lent);
        memset(lent, 0, count * sizeof *lent);
        if (++m->arrived == n)
            meeting_complete(g, m);
        complete = m->complete || grid_wait(g, &m->complete);
    }
    pthread_mutex_unlock(&g->lock);
    if (status == HILO_INVALID_ARGUMENT)
        return EVAL_FAIL(cx, op, status, "has another number of operands in another process");
    if (status == HILO_OK && !complete)
        return wait_error(cx, op);
    *out = m;
    return status;
}

hilo_status meeting_join(struct eval *cx, ir_op op, int64_t channel, const uint32_t *members, uint32_t n,
                         struct value *const *values, uint32_t count, struct meeting **out) {
    size_t bytes = count * sizeof *values;
    struct value **lent = mem_alloc(&cx->al, bytes);
    if (!lent)
        return HILO_RESOURCE_EXHAUSTED;
    hilo_status status = HILO_RESOURCE_EXHAUSTED;
    if (lend_all(cx->process->grid, values, count, lent)) {
        status = join(cx, op, channel, members, n, lent, count, out);
        eval_drop(lent, count);
    }
    mem_free(&cx->al, lent, bytes);
    return status;
}

hilo_status meeting_common(struct eval *cx, struct meeting *m, uint32_t i, enum ir_dtype t, struct value **out) {
    struct grid *g = cx->process->grid;
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

hilo_status meeting_finish(struct eval *cx, ir_op op, struct meeting *m) {
    struct grid *g = cx->process->grid;
    pthread_mutex_lock(&g->lock);
    bool all = ++m->finished == m->n;
    if (all) {
        m->common = true;
        g->waiting -= m->n - 1;
        pthread_cond_broadcast(&g->changed);
    } else {
        all = grid_wait(g, &m->common);
    }
    pthread_mutex_unlock(&g->lock);
    return all ? HILO_OK : wait_error(cx, op);
}

struct value *meeting_value(const struct meeting *m, uint32_t member, uint32_t i) {
    return m->values[member * m->count + i];
}

void meeting_leave(struct eval *cx, struct meeting *m) {
    struct grid *g = cx->process->grid;
    pthread_mutex_lock(&g->lock);
    bool last = ++m->left == m->n;
    pthread_mutex_unlock(&g->lock);
    if (last)
        meeting_free(g, m);
}

/* ---- processes of an embedder ---------------------------------------------------------------------------------------- */

struct eval_grid {
    struct grid grid;
    hilo_allocator al;
    size_t bytes;
    struct eval_process processes[];
};

struct eval_grid *eval_grid_new(const hilo_allocator *al, uint32_t replicas, uint32_t partitions) {
    uint32_t n = replicas * partitions;
    size_t bytes = sizeof(struct eval_grid) + n * sizeof(struct eval_process);
    struct eval_grid *g = mem_alloc(al, bytes);
    if (!g)
        return NULL;
    memset(g, 0, bytes);
    g->al = *al;
    g->bytes = bytes;
    grid_init(&g->grid, al, n, NULL, (ir_attr){0});
    g->grid.apart = true;
    for (uint32_t i = 0; i < n; i++)
        g->processes[i] = (struct eval_process){.grid = &g->grid, .index = i, .replicas = replicas, .partitions = partitions};
    return g;
}

struct eval_process *eval_grid_process(struct eval_grid *g, uint32_t index) {
    return &g->processes[index];
}

void eval_process_end(struct eval_process *p, hilo_status status) {
    grid_leave(p->grid, status);
}

void eval_grid_free(struct eval_grid *g) {
    if (!g)
        return;
    hilo_allocator al = g->al;
    grid_free(&g->grid);
    mem_free(&al, g, g->bytes);
}

/* ---- parcels --------------------------------------------------------------------------------------------------------- */

static bool parcel_same_key(const struct parcel_key *a, const struct parcel_key *b) {
    return a->kind == b->kind && a->channel == b->channel && a->source == b->source && a->target == b->target;
}

hilo_status parcel_send(struct eval *cx, const struct parcel_key *key, struct value *const *values, uint32_t n) {
    struct grid *g = cx->process->grid;
    struct parcel *p = mem_alloc(&g->al, sizeof *p + n * sizeof *values);
    if (!p)
        return HILO_RESOURCE_EXHAUSTED;
    *p = (struct parcel){.key = *key, .n = n};
    if (!lend_all(g, values, n, p->values)) {
        mem_free(&g->al, p, sizeof *p + n * sizeof *values);
        return HILO_RESOURCE_EXHAUSTED;
    }
    pthread_mutex_lock(&g->lock);
    struct parcel_wait **w = &g->waits;
    while (*w && !parcel_same_key(&(*w)->key, key))
        w = &(*w)->next;
    if (*w) {
        struct parcel_wait *got = *w;
        *w = got->next;
        got->got = p;
        got->done = true;
        g->waiting--;
        pthread_cond_broadcast(&g->changed);
    } else {
        struct parcel **end = &g->parcels;
        while (*end)
            end = &(*end)->next;
        *end = p;
    }
    pthread_mutex_unlock(&g->lock);
    return HILO_OK;
}

hilo_status parcel_fetch(struct eval *cx, ir_op op, const struct parcel_key *key, struct value **out, uint32_t n) {
    struct grid *g = cx->process->grid;
    struct parcel_wait wait = {.key = *key};
    pthread_mutex_lock(&g->lock);
    struct parcel **at = &g->parcels;
    while (*at && !parcel_same_key(&(*at)->key, key))
        at = &(*at)->next;
    if (*at) {
        wait.got = *at;
        *at = wait.got->next;
    } else {
        struct parcel_wait **end = &g->waits;
        while (*end)
            end = &(*end)->next;
        *end = &wait;
        if (!grid_wait(g, &wait.done)) {
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
    parcel_free(g, wait.got);
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
    const struct ir_attr_data *queue = ir_attr_get(cx->m, self->grid->infeed);
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

/* Nobody reads the outfeed. */
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
    grid_leave(w->self.grid, w->status);
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
            grid_leave(w[i].self.grid, w[i].status);
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
static hilo_status workers_init(struct eval *cx, ir_op op, const struct ir_attr_data *rows, struct grid *g, struct worker *w,
                                uint32_t partitions, struct value **args, struct value **results) {
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
        w->self = (struct eval_process){.outer = cx->process, .grid = g, .index = i, .replicas = rows->n,
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
    struct grid g;
    grid_init(&g, &cx->al, n, cx->process, ir_prop(cx->m, op, IR_RUN_PARALLEL_infeed));
    hilo_status status = workers_init(cx, op, rows, &g, w, partitions, args, out);
    if (status == HILO_OK) {
        eval_take(cx, in, args);
        workers_run(w, n);
        status = workers_status(cx, w, n);
    }
    grid_free(&g);
    mem_free(&cx->al, w, bytes);
    return status;
}
