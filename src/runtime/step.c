/* The loop over a plan's steps. Kernels and routines that take long enough are shared by the client's pool. */
#include "runtime/run.h"
#include "base/torture.h"

enum {
    STEP_PIECES = 8,      /* for each thread: those that are done early take more */
    STEP_PIECE_NS = 5000, /* of a group */
    STEP_POLL_NS = 20000000, /* a piece of work that may be cancelled, about */
    STEP_COPY_BYTES = TORTURED(TORTURE_BLOCK, 256 << 10) /* a piece of a copy */
};

static void *scratch_of(const struct run *r) {
    return r->frame->memory[PLAN_HOST] + r->plan->memory[PLAN_HOST].block_bytes;
}

/* ---- kernels --------------------------------------------------------------------------------- */

struct piece {
    const struct run *run;
    const struct plan_kernel *kernel;
    void *const *buffers;
};

static void run_piece(void *user, void *scratch, int64_t begin, int64_t end) {
    const struct piece *p = user;
    double since = p->run->o->task ? rt_now_ms() : 0;
    if (TORTURE && p->kernel->scratch_bytes)
        memset(scratch, TORTURE_DEAD, p->kernel->scratch_bytes);
    plan_kernel_fn(p->kernel)(p->buffers, scratch, begin, end);
    if (p->run->o->task)
        report_task_event(p->run, since);
}

static struct rt_split split_kernel(const struct plan_kernel *k, int32_t threads) {
    int64_t pieces = (int64_t)threads * STEP_PIECES;
    if (k->ns < PLAN_SHARED_NS || k->grid <= 1 || threads == 1)
        return (struct rt_split){1, k->grid};
    int64_t each = k->grid > pieces ? k->grid / pieces : 1;
    return (struct rt_split){(k->grid + each - 1) / each, each};
}

/* Pieces of a kernel in a group. */
static int64_t group_pieces(const struct plan_kernel *k) {
    double pieces = k->ns / STEP_PIECE_NS;
    return pieces < 1 ? 1 : pieces < (double)k->grid ? (int64_t)pieces : k->grid;
}

struct rt_split rt_step_split(const struct plan *p, uint32_t step, int32_t threads) {
    const struct plan_step *s = &p->steps[step];
    struct rt_split split = {1, 1};
    if (s->group && threads > 1) {
        split.pieces = 0;
        for (uint32_t i = 0; i < s->group; i++)
            split.pieces += group_pieces(s[i].kernel);
    } else if (s->kind == PLAN_KERNEL) {
        split = split_kernel(s->kernel, threads);
    } else if (s->kind == PLAN_COPY && threads > 1) {
        size_t bytes = p->buffers[s->uses[1].buffer].bytes;
        if (bytes >= 4 * STEP_COPY_BYTES)
            split.pieces = (int64_t)((bytes + STEP_COPY_BYTES - 1) / STEP_COPY_BYTES);
    }
    return split;
}

/* By the interpreter of kernels, an iteration at a time where the run may be cancelled. */
static hilo_status interpret(struct run *r, const struct plan_kernel *k, void **v) {
    int64_t each = r->o->cancelled ? 1 : k->grid;
    bool done = k->interpret != NULL;
    for (int64_t i = 0; i < k->grid && done && !run_cancelled(r); i += each)
        done = k->interpret(k->kir, v, scratch_of(r), i, i + each, r->d);
    return done ? HILO_OK : diag_error(r->d, HILO_INTERNAL, "kernel '%s' cannot be run", k->name);
}

static hilo_status step_kernel(struct run *r, const struct plan_step *s, void **v) {
    const struct plan_kernel *k = s->kernel;
    if (k->gpu.threads)
        return step_launch(r, s, v);
    if (k->grid <= 0)
        return HILO_OK;
    r->packs += k->packs;
    if (!plan_kernel_fn(k))
        return interpret(r, k, v);
    struct rt_pool *pool = r->pool;
    struct piece p = {r, k, v};
    struct rt_poll *poll = k->ns > STEP_POLL_NS ? run_poll(r) : NULL;
    int64_t each = split_kernel(k, rt_pool_threads(pool)).each;
    if (poll && (double)each > (double)k->grid / (k->ns / STEP_POLL_NS)) /* a piece must not outlast a poll */
        each = (int64_t)((double)k->grid / (k->ns / STEP_POLL_NS));
    if (each >= k->grid)
        run_piece(&p, scratch_of(r), 0, k->grid);
    else
        rt_pool_run_polled(pool, k->grid, each < 1 ? 1 : each, run_piece, &p, scratch_of(r), poll);
    return HILO_OK;
}

/* ---- groups ---------------------------------------------------------------------------------- */

/* Kernels whose pieces follow each other: those of the i-th are first[i] … first[i + 1] - 1. */
struct group {
    const struct run *run;
    const struct plan_step *steps;
    void **const *buffers;
    uint32_t n;
    int64_t first[PLAN_GROUP_MOST + 1];
};

static void run_group_piece(void *user, void *scratch, int64_t begin, int64_t end) {
    const struct group *g = user;
    uint32_t i = 0;
    for (; begin < end; begin++) {
        while (begin >= g->first[i + 1])
            i++;
        const struct plan_kernel *k = g->steps[i].kernel;
        int64_t pieces = g->first[i + 1] - g->first[i], at = begin - g->first[i], each = k->grid / pieces;
        struct piece p = {g->run, k, g->buffers[i]};
        run_piece(&p, scratch, at * each, at + 1 == pieces ? k->grid : (at + 1) * each);
    }
}

/* The kernels of a group as one job. False when they are better run one after the other, because no thread is free, or because
   they are not machine code. */
static bool step_group(struct run *r, const struct plan_step *s, const uint32_t *first_use) {
    void **buffers[PLAN_GROUP_MOST];
    struct group g = {.run = r, .steps = s, .buffers = buffers, .n = s->group};
    if (rt_pool_threads(r->pool) == 1)
        return false;
    for (uint32_t i = 0; i < g.n; i++) {
        const struct plan_kernel *k = s[i].kernel;
        if (!plan_kernel_fn(k))
            return false;
        buffers[i] = r->frame->pointers + first_use[i];
        g.first[i + 1] = g.first[i] + group_pieces(k);
    }
    rt_pool_run(r->pool, g.first[g.n], 1, run_group_piece, &g, scratch_of(r));
    return true;
}

/* ---- copies ---------------------------------------------------------------------------------- */

struct copy {
    char *to;
    const char *from;
    size_t bytes;
};

static void copy_piece(void *user, void *scratch, int64_t begin, int64_t end) {
    const struct copy *c = user;
    size_t at = (size_t)begin * STEP_COPY_BYTES, to = (size_t)end * STEP_COPY_BYTES;
    (void)scratch;
    memcpy(c->to + at, c->from + at, (to < c->bytes ? to : c->bytes) - at);
}

/* The value that a step reads: of an argument, or one of the run's; borrowed. */
static struct value *value_of(const struct run *r, uint32_t buffer) {
    const struct plan_buffer *x = &r->plan->buffers[buffer];
    return x->place == PLAN_VALUE ? r->frame->slots[x->index] : r->frame->values[x->index];
}

/* Takes over the value. */
static void set_value(struct run *r, uint32_t buffer, struct value *v) {
    struct value **slot = &r->frame->slots[r->plan->buffers[buffer].index];
    value_unref(*slot);
    *slot = v;
}

/* Where the source or the destination is no memory. */
static hilo_status copy_value(struct run *r, const struct plan_step *s, void *const *v) {
    const struct plan_buffer *from = &r->plan->buffers[s->uses[0].buffer], *to = &r->plan->buffers[s->uses[1].buffer];
    struct value *x = NULL;
    if (plan_is_value(from) && (x = value_of(r, s->uses[0].buffer)))
        value_ref(x);
    else if (!plan_is_value(from))
        HILO_TRY(value_tensor(&r->client->memory, from->dtype, from->dims, from->rank, &x));
    if (!plan_is_value(from) && from->bytes)
        memcpy(x->data, v[0], from->bytes);
    if (plan_is_value(to)) {
        set_value(r, s->uses[1].buffer, x);
        return HILO_OK;
    }
    bool fits = x && x->kind == EVAL_TENSOR && x->bytes == to->bytes;
    if (fits && to->bytes)
        memcpy(v[1], x->data, to->bytes);
    value_unref(x);
    return fits ? HILO_OK : diag_error(r->d, HILO_INTERNAL, "a copied value has another size than its buffer");
}

static hilo_status step_copy(struct run *r, const struct plan_step *s, void **v) {
    if (plan_is_value(&r->plan->buffers[s->uses[0].buffer]) || plan_is_value(&r->plan->buffers[s->uses[1].buffer]))
        return copy_value(r, s, v);
    if (plan_on_device(r->plan, s) || plan_is_transfer(r->plan, s))
        return step_transfer(r, s, v);
    struct copy c = {v[1], v[0], r->plan->buffers[s->uses[1].buffer].bytes};
    if (c.to == c.from || c.bytes == 0) /* a donated argument that is the result itself */
        return HILO_OK;
    r->copied_bytes += c.bytes;
    if (c.bytes < 4 * STEP_COPY_BYTES)
        memcpy(c.to, c.from, c.bytes);
    else
        rt_pool_run(r->pool, (int64_t)((c.bytes + STEP_COPY_BYTES - 1) / STEP_COPY_BYTES), 1, copy_piece, &c, NULL);
    return HILO_OK;
}

/* ---- routines, the reference evaluator ------------------------------------------------------- */

static uint32_t count_inputs(const struct plan_step *s) {
    uint32_t n = 0;
    while (n < s->nuses && s->uses[n].role == PLAN_IN)
        n++;
    return n;
}

/* What a stopped phase of a routine has not computed is not read by its next one. */
static hilo_status run_routine(struct run *r, const struct lib_match *x, const struct lib_call *c) {
    if (!r->o->cancelled)
        return lib_run_match(x, c);
    return setjmp(r->routine_stopped) ? HILO_CANCELLED : lib_run_match(x, c);
}

hilo_status step_host_routine(struct run *r, const struct lib_match *x, void **v, uint32_t nin, void *scratch) {
    struct lib_call c = {.params = x->params, .nparams = x->nparams, .in = (const void *const *)v, .out = v + nin,
                         .scratch = scratch,
                         .pool = x->ns < PLAN_SHARED_NS ? NULL : &r->library};
    hilo_status status = run_routine(r, x, &c);
    if (status == HILO_CANCELLED)
        diag_error(r->d, status, "the run was cancelled");
    else if (status != HILO_OK)
        diag_error(r->d, status, "routine '%s' cannot work on this data", lib_match_name(x));
    return status;
}

static hilo_status step_routine(struct run *r, const struct plan_step *s, void **v) {
    if (plan_on_device(r->plan, s))
        return step_device_routine(r, s, v, count_inputs(s));
    return step_host_routine(r, s->routine, v, count_inputs(s), scratch_of(r));
}

static hilo_status borrow(struct run *r, const struct plan_use *u, void *data, struct value **out) {
    const struct plan_buffer *x = &r->plan->buffers[u->buffer];
    if (plan_is_value(x)) {
        *out = value_of(r, u->buffer);
        if (!*out)
            return diag_error(r->d, HILO_INTERNAL, "a step reads a value that was not computed");
        if (u->overlay)
            r->frame->slots[x->index] = NULL;
        else
            value_ref(*out);
        return HILO_OK;
    }
    return value_borrow(&r->al, x->dtype, x->dims, x->rank, data, run_step_memory, NULL, out);
}

static hilo_status store(struct run *r, const struct plan_use *u, void *data, struct value *v) {
    if (plan_is_value(&r->plan->buffers[u->buffer])) {
        struct value *kept;
        HILO_TRY(run_keep(r, v, &kept));
        set_value(r, u->buffer, kept);
        return HILO_OK;
    }
    size_t bytes = r->plan->buffers[u->buffer].bytes;
    if (v->kind != EVAL_TENSOR || v->bytes != bytes)
        return diag_error(r->d, HILO_INTERNAL, "a step's result has another size than its buffer");
    if (bytes)
        memmove(data, v->data, bytes);
    r->copied_bytes += bytes;
    return HILO_OK;
}

static hilo_status step_reference(struct run *r, const struct plan_step *s, void **v) {
    uint32_t nin = count_inputs(s), nout = s->nuses - nin;
    size_t bytes = s->nuses * sizeof(struct value *);
    struct value **x = mem_alloc(&r->al, bytes);
    if (!x)
        return HILO_RESOURCE_EXHAUSTED;
    memset(x, 0, bytes);
    hilo_status status = HILO_OK;
    for (uint32_t i = 0; i < nin && status == HILO_OK; i++)
        status = borrow(r, &s->uses[i], v[i], &x[i]);
    struct eval_hooks hooks = run_hooks(r);
    if (status == HILO_OK)
        status = eval_plan_run_in(r->plan->reference, s->func, x, nin, x + nin, nout, &r->al, &hooks, r->d, &r->session);
    for (uint32_t i = nin; i < s->nuses && status == HILO_OK; i++)
        status = store(r, &s->uses[i], v[i], x[i]);
    for (uint32_t i = 0; i < s->nuses; i++)
        value_unref(x[i]);
    mem_free(&r->al, x, bytes);
    return status;
}

/* Overwrites what is dead after a step, so that reads of it are found; but for transfers, which may still read it. */
static hilo_status poison_dead_buffers(struct run *r, uint32_t step) {
    const struct plan_dead *dead = &r->plan->dead[step];
    if (dead->n)
        HILO_TRY(step_wait(r));
    for (uint32_t i = 0; i < dead->n; i++)
        memset(r->frame->memory[PLAN_HOST] + dead->v[i].offset, TORTURE_DEAD, dead->v[i].bytes);
    return HILO_OK;
}

/* ---- control --------------------------------------------------------------------------------- */

/* The step after a TEST, SWITCH or JUMP at `at`. */
static uint32_t step_next(const struct run *r, const struct plan_step *s, void *const *v, uint32_t at) {
    if (s->kind == PLAN_JUMP)
        return s->targets[0];
    if (s->kind == PLAN_TEST && s->nuses == 0) {
        uint64_t *n = &r->frame->counters[s->counter];
        bool again = *n < s->trips;
        *n = again ? *n + 1 : 0;
        return again ? at + 1 : s->targets[0];
    }
    bool bit = *(const uint8_t *)v[0] != 0;
    if (s->kind == PLAN_TEST)
        return bit ? at + 1 : s->targets[0];
    int32_t choice = !bit;
    if (r->plan->buffers[s->uses[0].buffer].dtype != IR_I1_T)
        memcpy(&choice, v[0], sizeof choice);
    return s->targets[choice < 0 || (uint32_t)choice >= s->ntargets ? s->ntargets - 1 : (uint32_t)choice];
}

typedef hilo_status step_fn(struct run *r, const struct plan_step *s, void **v);
static step_fn *const step_kinds[] = {[PLAN_KERNEL] = step_kernel, [PLAN_ROUTINE] = step_routine,
                                      [PLAN_REFERENCE] = step_reference, [PLAN_COPY] = step_copy,
                                      [PLAN_COLLECTIVE] = step_collective, [PLAN_DONE] = step_done};

void report_step_event(const struct run *r, const struct plan_step *s, double begin) {
    const char *kind = plan_kind_name(s->kind);
    hilo_step_event e = {.struct_size = sizeof e, .kind = kind, .name = kind, .begin_ms = begin - r->begin,
                         .end_ms = rt_now_ms() - r->begin, .step = (uint32_t)(s - r->plan->steps)};
    if (s->kind == PLAN_KERNEL)
        e.name = s->kernel->name;
    else if (s->kind == PLAN_ROUTINE)
        e.name = lib_match_name(s->routine);
    else if (s->collective)
        e.name = plan_exchange_name(s->collective->kind);
    else if (s->kind == PLAN_REFERENCE)
        e.name = ir_prop_str(r->plan->m, s->func, IR_FUNC_sym_name).p;
    for (uint32_t i = 0; i < s->nuses; i++)
        e.bytes += (s->uses[i].role == PLAN_INOUT ? 2 : 1) * r->plan->buffers[s->uses[i].buffer].bytes;
    r->o->step(r->o->step_user, &e);
}

void report_task_event(const struct run *r, double begin) {
    hilo_task_event e = {.struct_size = sizeof e, .begin_ms = begin - r->begin, .end_ms = rt_now_ms() - r->begin,
                         .step = r->step};
    r->o->task(r->o->task_user, &e);
}

/* Whether it is one task: kernels, and routines that share the pool, tell of theirs. */
static bool is_task(const struct plan_step *s) {
    return s->kind == PLAN_REFERENCE || s->kind == PLAN_COPY || s->collective ||
           (s->kind == PLAN_ROUTINE && (s->routine->alone || s->routine->ns < PLAN_SHARED_NS));
}

hilo_status run_steps(struct run *r, uint32_t from, uint32_t to) {
    const struct plan *p = r->plan;
    bool polled = r->o->cancelled != NULL, told = r->o->step != NULL;
    for (uint32_t i = from; i < to;) {
        const struct plan_step *s = &p->steps[i];
        void **v = r->frame->pointers + r->exe->first_use[i];
        r->step = i;
        if (polled && run_cancelled(r))
            return diag_error(r->d, HILO_CANCELLED, "the run was cancelled");
        const char *failed = launch_failed(r->launch);
        if (failed || (r->session.process && eval_process_stopped(r->session.process)))
            return diag_error(r->d, HILO_ABORTED, "the run was stopped: %s", failed ? failed : "another process has failed");
        if (s->nuses && !plan_on_device(p, s) && !plan_is_transfer(p, s))
            HILO_TRY(step_wait_for(r, s, v));
        if (r->area && i >= p->ninit)
            HILO_TRY(run_defer_needs(r, i));
        if (s->kind >= PLAN_TEST) {
            i = step_next(r, s, v, i);
            continue;
        }
        if (s->group && !told && step_group(r, s, r->exe->first_use + i)) {
            for (uint32_t end = i + s->group; i < end; i++)
                if (TORTURE && p->dead)
                    HILO_TRY(poison_dead_buffers(r, i));
            continue;
        }
        const struct rt_segment *segment = r->exe->segments && !told && !r->o->task ? &r->exe->segments[i] : NULL;
        if (segment && segment->nsteps) {
            bool done;
            HILO_TRY(step_segment(r, i, &done));
            i += done ? segment->nsteps : 0;
            if (done)
                continue;
        }
        double begin = told || r->o->task ? rt_now_ms() : 0;
        HILO_TRY(step_kinds[s->kind](r, s, v));
        if ((told || r->o->task) && (plan_on_device(p, s) || plan_is_transfer(p, s))) { /* else only its start is timed */
            r->pending.all = true;
            HILO_TRY(step_wait(r));
        }
        if (r->poll.stopped)
            return diag_error(r->d, HILO_CANCELLED, "the run was cancelled");
        if (TORTURE && p->dead)
            HILO_TRY(poison_dead_buffers(r, i));
        if (r->o->task && is_task(s))
            report_task_event(r, begin);
        if (told)
            report_step_event(r, s, begin);
        i++;
    }
    return HILO_OK;
}
