/* Running an executable: inputs are checked and taken from their buffers, the plan runs, what it leaves becomes new buffers. A
 * run shares nothing with other runs but the plan, so any number may go on at once. */
#include "runtime/device.h"
#include "runtime/run.h"

#include <stdio.h>

/* ---- memory of a run ------------------------------------------------------------------------- */

static void *meter_realloc(void *user, void *ptr, size_t old_bytes, size_t new_bytes, size_t align) {
    struct run_meter *m = user;
    void *p = m->al.realloc_fn(m->al.user, ptr, old_bytes, new_bytes, align);
    if (!p && new_bytes)
        return NULL;
    size_t now = atomic_fetch_add(&m->now, new_bytes - old_bytes) + new_bytes - old_bytes;
    size_t peak = atomic_load(&m->peak);
    while (now > peak && !atomic_compare_exchange_weak(&m->peak, &peak, now))
        ;
    return p;
}

/* ---- inputs ---------------------------------------------------------------------------------- */

static bool fits(const struct rt_port *p, const hilo_buffer *b) {
    if (b->dtype != p->type.dtype || b->rank != p->type.rank)
        return false;
    for (uint32_t i = 0; i < b->rank; i++) {
        int64_t want = p->type.dims[i], most = p->bounds ? p->bounds[i] : HILO_DYNAMIC;
        if (want != HILO_DYNAMIC ? b->dims[i] != want : most != HILO_DYNAMIC && b->dims[i] > most)
            return false;
    }
    return true;
}

static hilo_status misfit(struct run *r, size_t i, const hilo_buffer *b) {
    const struct rt_port *p = &r->exe->inputs[i];
    struct strbuf want, got;
    strbuf_init(&want, r->client->al);
    strbuf_init(&got, r->client->al);
    rt_type_text(p->type.dtype, p->type.rank, p->type.dims, &want);
    rt_type_text(b->dtype, b->rank, b->dims, &got);
    hilo_status status = diag_error(r->d, HILO_INVALID_ARGUMENT, "input %zu%s%s%s is %s, but the program expects %s", i,
                                    *p->name ? " ('" : "", p->name, *p->name ? "')" : "", got.p ? got.p : "",
                                    want.p ? want.p : "");
    strbuf_free(&want);
    strbuf_free(&got);
    return status;
}

static hilo_status check_inputs(struct run *r, hilo_buffer *const *inputs, size_t ninputs, size_t noutputs) {
    if (ninputs != r->plan->narguments)
        return diag_error(r->d, HILO_INVALID_ARGUMENT, "%zu inputs were given, but the program has %u", ninputs,
                          r->plan->narguments);
    if (noutputs != r->plan->nresults)
        return diag_error(r->d, HILO_INVALID_ARGUMENT, "there is room for %zu outputs, but the program has %u",
                          noutputs, r->plan->nresults);
    for (size_t i = 0; i < ninputs; i++) {
        if (!inputs[i])
            return diag_error(r->d, HILO_INVALID_ARGUMENT, "input %zu is missing", i);
        if (inputs[i]->client != r->client)
            return diag_error(r->d, HILO_INVALID_ARGUMENT, "input %zu belongs to another client", i);
        if (!fits(&r->exe->inputs[i], inputs[i]))
            return misfit(r, i, inputs[i]);
    }
    return HILO_OK;
}

/* The form of a buffer's value that the run reads: tokens are on no device. */
static struct value *form_of(const hilo_buffer *b, bool on_device) {
    return on_device && b->dtype != HILO_TOKEN ? b->device : b->value;
}

static bool on_device(const struct run *r, uint32_t input) {
    return r->exe->on_device && !r->exe->inputs[input].on_host;
}

/* Makes the forms that the run reads, and locks the client; *missing: the first input that was donated, or their number. */
static hilo_status lock_forms(struct run *r, hilo_buffer *const *inputs, uint32_t *missing) {
    uint32_t n = r->plan->narguments, i = 0;
    for (;;) {
        for (i = 0; r->client->gpu && i < n; i++)
            HILO_TRY(rt_buffer_form(inputs[i], on_device(r, i), r->d));
        pthread_mutex_lock(&r->client->lock);
        for (i = 0; i < n && form_of(inputs[i], on_device(r, i));)
            i++;
        *missing = i;
        if (i == n || (!inputs[i]->device && !inputs[i]->value))
            return HILO_OK;
        pthread_mutex_unlock(&r->client->lock); /* another input that is the same buffer, or another run, had it moved */
    }
}

/* Takes the values out of their buffers, all or none: other threads may donate them at the same time. */
static hilo_status take_inputs(struct run *r, hilo_buffer *const *inputs) {
    uint32_t n = r->plan->narguments, i;
    size_t bytes = 0;
    HILO_TRY(lock_forms(r, inputs, &i));
    if (i == n)
        for (i = 0; i < n; i++) {
            r->frame->values[i] = value_ref(form_of(inputs[i], on_device(r, i)));
            bytes += inputs[i]->bytes;
        }
    if (i == n && r->o->donate)
        for (i = 0; i < n; i++)
            if (r->o->donate[i]) { /* the run has a reference to one of them */
                value_unref(inputs[i]->value);
                value_unref(inputs[i]->device);
                inputs[i]->value = inputs[i]->device = NULL;
            }
    pthread_mutex_unlock(&r->client->lock);
    if (i < n)
        return diag_error(r->d, HILO_FAILED_PRECONDITION, "input %u was donated to another run and has no data", i);
    atomic_store_explicit(&r->meter.now, bytes, memory_order_relaxed);
    atomic_store_explicit(&r->meter.peak, bytes, memory_order_relaxed);
    return HILO_OK;
}

/* ---- outputs --------------------------------------------------------------------------------- */

/* Copies a result into a value of its own, of the client's memory, so that writes by its holder stay private. */
static hilo_status own_result(struct run *r, struct value **v) {
    if ((*v)->device && atomic_load(&(*v)->refs) > 1) {
        struct value *copy;
        HILO_TRY(rt_device_tensor(r->client, (*v)->dtype, (*v)->dims, (*v)->rank, "a result", r->d, &copy));
        hilo_status status = gpu_copy(r->client->gpu, GPU_ON_DEVICE, copy->data, (*v)->data, copy->bytes, r->d);
        if (status != HILO_OK) {
            value_unref(copy);
            return status;
        }
        r->copied_bytes += copy->bytes;
        value_unref(*v);
        *v = copy;
    } else if ((*v)->kind == EVAL_TENSOR && atomic_load(&(*v)->refs) > 1) {
        struct value *copy;
        HILO_TRY(value_tensor(&r->al, (*v)->dtype, (*v)->dims, (*v)->rank, &copy));
        if (copy->bytes)
            memcpy(copy->data, (*v)->data, copy->bytes);
        r->copied_bytes += copy->bytes;
        value_unref(*v);
        *v = copy;
    }
    if ((*v)->al.user == &r->meter)
        (*v)->al = r->client->memory;
    return HILO_OK;
}

static hilo_status new_result(struct run *r, uint32_t i, const hilo_type *t) {
    struct value **out = &r->frame->results[i];
    char what[32];
    if (r->plan->buffers[r->plan->results[i]].space == PLAN_HOST)
        return value_tensor(&r->al, rt_dtype(t->dtype), t->dims, t->rank, out);
    snprintf(what, sizeof what, "result %u", i);
    HILO_TRY(rt_device_tensor(r->client, rt_dtype(t->dtype), t->dims, t->rank, what, r->d, out));
    size_t now = atomic_fetch_add(&r->meter.now, (*out)->bytes) + (*out)->bytes, peak = atomic_load(&r->meter.peak);
    if (now > peak)
        atomic_store(&r->meter.peak, now);
    return HILO_OK;
}

/* Memory for the results of a plan: that of a donated argument where the plan allows it and nothing else refers to it. */
static hilo_status make_results(struct run *r) {
    const struct plan *p = r->plan;
    struct run_frame *f = r->frame;
    hilo_status status = HILO_OK;
    for (uint32_t i = 0; i < p->nresults; i++) {
        if (plan_is_value(&p->buffers[p->results[i]])) {
            f->results[i] = NULL;
            continue;
        }
        int32_t a = p->donors[i];
        struct value *v = r->o->donate && a >= 0 && r->o->donate[a] ? f->values[a] : NULL;
        f->results[i] = NULL;
        if (v && (!v->release || v->device) && atomic_load(&v->refs) == 1) {
            f->results[i] = value_ref(v);
            continue;
        }
        const hilo_type *t = &r->exe->outputs[i].type;
        if (status == HILO_OK)
            status = new_result(r, i, t);
    }
    return status;
}

/* Takes over the results' values. */
static hilo_status make_outputs(struct run *r) {
    struct run_frame *f = r->frame;
    hilo_status status = HILO_OK;
    uint32_t made = 0;
    for (uint32_t i = 0; i < r->plan->nresults; i++) {
        if (status == HILO_OK)
            status = own_result(r, &f->results[i]);
        if (status == HILO_OK && !(f->fresh[i] = rt_buffer_new(r->client, f->results[i])))
            status = HILO_RESOURCE_EXHAUSTED;
        if (status == HILO_OK)
            made++;
        else
            value_unref(f->results[i]);
    }
    for (uint32_t i = 0; i < made && status != HILO_OK; i++)
        hilo_buffer_release(f->fresh[i]);
    return status;
}

/* ---- the call -------------------------------------------------------------------------------- */

static hilo_status run_whole(struct run *r) {
    const struct plan *p = r->plan;
    struct eval_hooks hooks = run_hooks(r);
    if (run_cancelled(r))
        return diag_error(r->d, HILO_CANCELLED, "the run was cancelled");
    double begin = r->o->step ? rt_now_ms() : 0;
    hilo_status status = eval_plan_run_in(p->reference, p->steps->func, r->frame->values, p->narguments, r->frame->results,
                                          p->nresults, &r->al, &hooks, r->d, &r->session);
    if (status == HILO_OK && r->o->step)
        report_step_event(r, p->steps, begin);
    return status;
}

/* Results that are values of the run. */
static hilo_status take_values(struct run *r) {
    const struct plan *p = r->plan;
    struct run_frame *f = r->frame;
    for (uint32_t i = 0; i < p->nresults; i++) {
        const struct plan_buffer *x = &p->buffers[p->results[i]];
        if (!plan_is_value(x))
            continue;
        struct value *v = x->place == PLAN_VALUE ? f->slots[x->index] : f->values[x->index];
        if (!v)
            return diag_error(r->d, HILO_INTERNAL, "result %u was not computed", i);
        f->results[i] = value_ref(v);
    }
    return HILO_OK;
}

static hilo_status run_plan(struct run *r, hilo_buffer *const *inputs) {
    struct run_frame *f = r->frame;
    bool observed = r->o->step || r->o->task; /* then it waits after each step */
    HILO_TRY(frame_bind_memory(r));
    bool timed = rt_guard_begin(r->exe, f->runs == RUN_WARM && !observed);
    hilo_status status = make_results(r);
    if (status == HILO_OK) {
        frame_bind_io(r);
        memset(r->frame->counters, 0, r->plan->ncounters * sizeof(uint64_t)); /* the run before may have stopped in a loop */
        status = run_init(r, inputs);
    }
    if (status == HILO_OK)
        status = run_defer_begin(r);
    if (status == HILO_OK)
        status = run_steps(r, r->plan->ninit, r->plan->nsteps);
    launch_fail(r, status);
    launch_abandon(r->launch, r->process); /* before its memory is free */
    run_release_init(r);
    run_defer_end(r);
    r->pending.all |= r->exe->on_device && (r->o->timing || status != HILO_OK || timed);
    hilo_status waited = step_wait(r); /* the frame's memory is free for the next run */
    gpu_event_free(r->client->gpu, r->pending.event);
    r->pending.event = NULL;
    status = status == HILO_OK ? waited : status;
    rt_guard_end(r->exe, timed, status, rt_now_ms() - r->begin);
    f->runs += status == HILO_OK && !observed && f->runs < RUN_WARM;
    if (status == HILO_OK)
        status = take_values(r);
    for (uint32_t i = 0; i < r->plan->nvalues; i++) {
        value_unref(r->frame->slots[i]);
        r->frame->slots[i] = NULL;
    }
    if (status != HILO_OK)
        for (uint32_t i = 0; i < r->plan->nresults; i++)
            value_unref(r->frame->results[i]);
    frame_release_block(r);
    return status;
}

static hilo_status run(struct run *r, hilo_buffer *const *inputs, hilo_buffer **outputs, double *run_ms) {
    const struct plan *p = r->plan;
    struct run_frame *f = r->frame = frame_get(r);
    if (!f)
        return HILO_RESOURCE_EXHAUSTED;
    hilo_status status = take_inputs(r, inputs);
    if (status == HILO_OK) {
        double begin = r->o->timing ? rt_now_ms() : 0;
        status = p->evaluated ? run_whole(r) : run_plan(r, inputs);
        if (r->o->timing)
            *run_ms = rt_now_ms() - begin;
        run_drop_probes(r);
        for (uint32_t i = 0; i < p->narguments; i++)
            value_unref(f->values[i]);
        if (status == HILO_OK)
            status = make_outputs(r);
    }
    if (status == HILO_OK && p->nresults)
        memcpy(outputs, f->fresh, p->nresults * sizeof *outputs);
    return status;
}

void hilo_execute_options_init_sized(hilo_execute_options *options, size_t struct_size) {
    static const hilo_execute_options defaults = {.donate = NULL};
    rt_options_init(options, struct_size, &defaults, sizeof defaults);
}

/* Keeps the frame for the next run. The lock is held. */
static void put_frame(struct run *r) {
    if (!r->frame)
        return;
    r->frame->next = r->exe->frames;
    r->exe->frames = r->frame;
    r->frame = NULL;
}

/* Runs what is compiled for the shapes of the inputs. */
static hilo_status run_specialised(struct run *r, hilo_buffer *const *inputs, hilo_buffer **outputs, double *run_ms) {
    HILO_TRY(rt_specialise(r->exe, inputs, r->plan->narguments, r->d, &r->exe));
    r->plan = &r->exe->plan;
    rt_tier_runs(r->exe);
    double since = rt_now_ms();
    hilo_status status = run(r, inputs, outputs, run_ms);
    pthread_mutex_lock(&r->exe->lock);
    put_frame(r);
    pthread_mutex_unlock(&r->exe->lock);
    rt_tier_ran(r->exe, rt_now_ms() - since);
    hilo_executable_release(r->exe);
    return status;
}

/* The end of a run. */
static void count_run(struct run *r, hilo_executable *exe, hilo_status status, double ms) {
    size_t peak = atomic_load_explicit(&r->meter.peak, memory_order_relaxed);
    pthread_mutex_lock(&exe->lock);
    put_frame(r);
    if (status == HILO_OK) {
        exe->executions++;
        exe->allocations += r->first ? 0 : atomic_load(&r->client->cache.taken) - r->taken;
        exe->copied_bytes += r->copied_bytes;
        exe->packs += r->packs;
        exe->sent_bytes += r->sent_bytes;
        exe->messages += r->messages;
        exe->transfers += r->transfers;
        exe->transferred_bytes += r->transferred_bytes;
        exe->last_ms = ms;
        exe->total_ms += ms;
        if (exe->peak_bytes < peak)
            exe->peak_bytes = peak;
    }
    pthread_mutex_unlock(&exe->lock);
    rt_tier_ran(exe, ms);
}

hilo_status hilo_execute(hilo_executable *exe, const hilo_execute_options *options, hilo_buffer *const *inputs,
                         size_t ninputs, hilo_buffer **outputs, size_t noutputs) {
    hilo_execute_options o;
    hilo_execute_options_init(&o);
    if (!exe || !exe->client->several)
        return rt_execute(exe, options, inputs, ninputs, outputs, noutputs, 0, NULL, 0);
    if ((ninputs && !inputs) || (noutputs && !outputs) || !rt_options(&o, sizeof o, options))
        return HILO_INVALID_ARGUMENT;
    return rt_execute_everywhere(exe, &o, inputs, ninputs, outputs, noutputs);
}

static bool on_poll(void *user) {
    return run_cancelled(user);
}

struct observed {
    const struct run *run;
    void (*task)(void *user, int64_t i);
    void *user;
};

static void observed_task(void *user, int64_t i) {
    const struct observed *x = user;
    double begin = rt_now_ms();
    x->task(x->user, i);
    report_task_event(x->run, begin);
}

/* For routines: r->library is the pool of the run. */
static void library_tasks(const struct lib_pool *pool, int64_t n, void (*task)(void *user, int64_t i), void *user) {
    struct run *r = (struct run *)((char *)(uintptr_t)pool - offsetof(struct run, library));
    struct observed x = {r, task, user};
    rt_pool_tasks(r->pool, n, r->o->task ? observed_task : task, r->o->task ? &x : user, run_poll(r));
    if (r->poll.stopped)
        longjmp(r->routine_stopped, 1);
}

/* The run stays where it is until it ends. */
static void begin(struct run *r, hilo_executable *exe, const hilo_execute_options *o, struct diag_list *d, int32_t device) {
    *r = (struct run){.exe = exe, .plan = &exe->plan, .client = exe->client, .o = o, .d = d, .pool = exe->client->pools[device],
                      .begin = rt_now_ms(), .taken = atomic_load(&exe->client->cache.taken)};
    r->poll = (struct rt_poll){.stop = on_poll, .user = r};
    r->library = (struct lib_pool){rt_pool_threads(r->pool), library_tasks};
    r->meter.al = exe->client->memory;
    r->al = (hilo_allocator){meter_realloc, &r->meter};
}

hilo_status rt_run_init(hilo_executable *exe, bool deferred, struct diag_list *d) {
    struct run r;
    hilo_execute_options o;
    hilo_execute_options_init(&o);
    begin(&r, exe, &o, d, 0);
    hilo_status status = run_init_constants(&r, deferred);
    pthread_mutex_lock(&exe->lock);
    put_frame(&r);
    pthread_mutex_unlock(&exe->lock);
    return status;
}

hilo_status rt_execute(hilo_executable *exe, const hilo_execute_options *options, hilo_buffer *const *inputs, size_t ninputs,
                       hilo_buffer **outputs, size_t noutputs, int32_t device, struct rt_launch *launch, uint32_t process) {
    hilo_execute_options o;
    hilo_execute_options_init(&o);
    if (!exe || (ninputs && !inputs) || (noutputs && !outputs) || !rt_options(&o, sizeof o, options))
        return HILO_INVALID_ARGUMENT;
    struct diag_list d;
    diag_init(&d, exe->client->al);
    struct run r;
    begin(&r, exe, &o, &d, device);
    r.launch = launch;
    r.process = process;
    r.session.process = launch_process(launch, process);
    double run_ms = 0;
    hilo_status status = HILO_OK;
    if (exe->foreign)
        status = diag_error(&d, HILO_FAILED_PRECONDITION, "the program was compiled for a %s with %s",
                            exe->on_device ? "GPU" : "processor", exe->foreign);
    if (status == HILO_OK)
        status = check_inputs(&r, inputs, ninputs, noutputs);
    if (status == HILO_OK)
        rt_tier_runs(exe);
    if (status == HILO_OK)
        status = (exe->specialise ? run_specialised : run)(&r, inputs, outputs, &run_ms);
    launch_fail(&r, status); /* what failed before the plan ran, or after */
    if (!launch)
        eval_session_end(&r.session);
    double total_ms = rt_now_ms() - r.begin;
    count_run(&r, exe, status, total_ms);
    if (o.timing)
        *o.timing = (hilo_timing){total_ms, run_ms};
    return rt_finish(exe->client, &d, status);
}
