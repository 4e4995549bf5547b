/* Running. The data of the outputs comes later than their buffers: a run is a job of its device's thread, unless the
 * program is known to be short, its inputs are there and the device has nothing else to do; then it is done at once.
 *
 * A program for several devices is a run on each; they meet in collectives. All queues get their runs in one order, so
 * that each run is at the head of its queue before a later one is. */
#include "pjrt/pjrt.h"
#include "runtime/internal.h"

#include <stdlib.h>
#include <time.h>

/* Programs that take longer, in nanoseconds, are left to the device's thread. */
enum { SHORT_RUN = 200000 };

struct input {
    struct pjrt_buffer *buffer; /* held */
    bool donated;
};

struct run {
    struct pjrt_job job;        /* first: the job is the run */
    struct pjrt_loaded *loaded;
    struct pjrt_device *device;
    struct pjrt_context *context; /* or NULL */
    int64_t id;
    struct launch *launch;      /* that it is a part of; or NULL */
    uint32_t index, slot;       /* in it: the process; the number in `runs` */
    struct rt_mark *mark;       /* after what it has enqueued for a GPU; or NULL */
    struct pjrt_event *done;    /* of all outputs; NULL = the run is done at once */
    struct input *inputs;
    struct pjrt_buffer **outputs;
    size_t ninputs, noutputs;
};

/* The runs of a program on several devices. It ends with the last of them. */
struct launch {
    struct rt_launch *launch;
    atomic_size_t left;         /* runs that have not ended */
    size_t n;
    pthread_mutex_t lock;
    struct pjrt_error *error;   /* the first that is not about another run */
    struct run *runs[];         /* NULL once they have ended well */
};

/* The data belongs to the caller that added it. */
static void context_unref(struct pjrt_context *x) {
    if (!x || atomic_fetch_sub_explicit(&x->refs, 1, memory_order_acq_rel) != 1)
        return;
    for (struct pjrt_context_data *d = x->first, *next; d; d = next) {
        next = d->next;
        free(d);
    }
    pthread_mutex_destroy(&x->lock);
    free(x);
}

static uint64_t now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* ---- the program ----------------------------------------------------------------------------- */

/* Runs the program on what the inputs hold, and gives the outputs their data. */
static struct pjrt_error *run_program(struct run *r, hilo_buffer **in, uint8_t *donate, hilo_buffer **out) {
    struct pjrt_executable *x = r->loaded->executable;
    for (size_t i = 0; i < r->ninputs; i++) {
        PJRT_TRY(pjrt_buffer_data(r->inputs[i].buffer, &in[i]));
        donate[i] = r->inputs[i].donated;
        if (x->tokens[i] && r->inputs[i].buffer->bytes == 0) /* frameworks may hold a token as an empty array */
            in[i] = x->client->token;
    }
    hilo_execute_options o;
    hilo_execute_options_init(&o);
    o.donate = donate;
    struct pjrt_running running = {x, r->context, r->id, r->device->description->id};
    struct pjrt_capture l;
    pjrt_capture_begin(x->client, &l);
    void *outer = pthread_getspecific(x->client->running);
    pthread_setspecific(x->client->running, &running);
    uint64_t begin = now_ns();
    hilo_status status = rt_execute(x->hilo, &o, in, r->ninputs, out, r->noutputs, r->device->local,
                                    r->launch ? r->launch->launch : NULL, r->index);
    uint64_t ns = now_ns() - begin;
    pthread_setspecific(x->client->running, outer);
    PJRT_TRY(pjrt_capture_end(x->client, &l, status));
    uint64_t before = atomic_load_explicit(&x->run_ns, memory_order_relaxed);
    atomic_store_explicit(&x->run_ns, before == UINT64_MAX ? ns : before - before / 4 + ns / 4, memory_order_relaxed);
    return NULL;
}

static struct pjrt_memory *output_memory(const struct run *r, size_t i) {
    const struct pjrt_executable *x = r->loaded->executable;
    return r->device->list[x->ports[x->ninputs + i].kind];
}

static const int64_t *output_order(const struct pjrt_executable *x, size_t i) {
    const struct pjrt_port *port = &x->ports[x->ninputs + i];
    return port->laid_out ? port->minor_to_major : NULL;
}

/* The buffer of an output whose shape the run has found; it is ready. */
static struct pjrt_error *output_of(struct run *r, size_t i, hilo_buffer *data) {
    const struct pjrt_executable *x = r->loaded->executable;
    const int64_t *physical = hilo_buffer_dims(data), *order = output_order(x, i);
    size_t rank = x->ranks[i];
    int64_t dims[64];
    for (size_t k = 0; k < rank; k++)
        dims[order ? (size_t)order[rank - 1 - k] : k] = physical[k];
    return pjrt_buffer_new(output_memory(r, i), x->dtypes[i], dims, rank, order, r->done ? r->done : x->client->done,
                           &r->outputs[i]);
}

static struct pjrt_error *run_now(struct run *r) {
    size_t n = r->ninputs + r->noutputs;
    void *few[32];
    size_t words = n + (r->ninputs + 7) / 8; /* the donations are bytes */
    void **block = words <= sizeof few / sizeof *few ? few : pjrt_alloc(words, sizeof *block);
    if (!block)
        return pjrt_exhausted();
    hilo_buffer **in = (hilo_buffer **)block, **out = in + r->ninputs;
    struct pjrt_error *error = run_program(r, in, (uint8_t *)(block + n), out);
    bool ran = !error;
    for (size_t i = 0; i < r->noutputs && !error; i++)
        if (!r->outputs[i])
            error = output_of(r, i, out[i]);
    for (size_t i = 0; i < r->noutputs && !error; i++)
        if (!pjrt_memory_on_device(r->outputs[i]->memory))
            error = pjrt_buffer_place(r->outputs[i], out[i]);
    for (size_t i = 0; i < r->noutputs && ran; i++)
        if (error)
            hilo_buffer_release(out[i]);
        else
            pjrt_buffer_fill(r->outputs[i], out[i]);
    if (block != few)
        free(block);
    return error;
}

static void run_free(struct run *r) {
    for (size_t i = 0; i < r->ninputs; i++)
        if (r->inputs[i].buffer)
            pjrt_buffer_unhold(r->inputs[i].buffer);
    for (size_t i = 0; i < r->noutputs; i++)
        pjrt_buffer_unref(r->outputs[i]);
    pjrt_event_unref(r->done);
    context_unref(r->context);
    pjrt_loaded_unref(r->loaded);
    free(r);
}

static void release_inputs(struct run *r) {
    for (size_t i = 0; i < r->ninputs; i++) { /* a waiting thread may expect them to be free */
        if (r->inputs[i].buffer)
            pjrt_buffer_unhold(r->inputs[i].buffer);
        r->inputs[i].buffer = NULL;
    }
}

/* Marks the end of what the run has enqueued for a GPU. */
static struct pjrt_error *run_mark(struct run *r) {
    struct pjrt_client *c = r->loaded->executable->client;
    struct pjrt_capture l;
    pjrt_capture_begin(c, &l);
    return pjrt_capture_end(c, &l, rt_client_mark(c->hilo, &r->mark));
}

static struct pjrt_error *run_await(struct run *r) {
    struct pjrt_client *c = r->loaded->executable->client;
    struct pjrt_capture l;
    pjrt_capture_begin(c, &l);
    return pjrt_capture_end(c, &l, rt_mark_wait(c->hilo, r->mark));
}

static void mark_job(struct pjrt_job *job) {
    struct run *r = (struct run *)job;
    pjrt_event_set(r->done, run_await(r));
    run_free(r);
}

/* The end of a run, whose inputs are no longer held: what it has enqueued is done later, and told by another thread. */
static void run_end(struct run *r, struct pjrt_error *error) {
    if (!error)
        error = run_mark(r);
    if (r->mark) {
        r->job.run = mark_job;
        if (!pjrt_queue_push(&r->device->marks, &r->job))
            mark_job(&r->job); /* there is no other thread: this one will do */
        return;
    }
    pjrt_event_set(r->done, error);
    run_free(r);
}

static void run_job(struct pjrt_job *job) {
    struct run *r = (struct run *)job;
    struct pjrt_error *error = run_now(r);
    release_inputs(r);
    run_end(r, error);
}

/* ---- several devices ------------------------------------------------------------------------- */

static void launch_free(struct launch *l) {
    if (!l)
        return;
    for (size_t i = 0; i < l->n; i++)
        if (l->runs[i])
            run_free(l->runs[i]);
    rt_launch_free(l->launch);
    pjrt_error_free(l->error);
    pthread_mutex_destroy(&l->lock);
    free(l);
}

/* Those that have failed wait for the last, so that all of them tell what the first failure was. */
static void end_partition(struct run *r, struct pjrt_error *error) {
    struct launch *l = r->launch;
    uint32_t index = r->index, slot = r->slot;
    rt_launch_end(l->launch, index, error ? (hilo_status)error->code : HILO_OK, error ? error->text : NULL);
    release_inputs(r);
    if (!error) {
        pjrt_event_set(r->done, NULL);
        run_free(r);
        l->runs[slot] = NULL;
    } else {
        pthread_mutex_lock(&l->lock);
        if (!l->error || (l->error->code == HILO_ABORTED && error->code != HILO_ABORTED)) {
            struct pjrt_error *other = l->error;
            l->error = error;
            error = other;
        }
        pthread_mutex_unlock(&l->lock);
        pjrt_error_free(error);
    }
    if (atomic_fetch_sub_explicit(&l->left, 1, memory_order_acq_rel) != 1)
        return;
    for (size_t i = 0; i < l->n; i++)
        if (l->runs[i])
            pjrt_event_set(l->runs[i]->done, pjrt_error_copy(l->error));
    launch_free(l);
}

static void partition_job(struct pjrt_job *job) {
    struct run *r = (struct run *)job;
    struct pjrt_error *error = run_now(r);
    if (!error)
        error = run_mark(r);
    end_partition(r, error ? error : run_await(r));
}

/* ---- arguments ------------------------------------------------------------------------------- */

/* The first of two arguments that are one buffer of which one is donated; ninputs when there are none. */
static size_t find_donated_twice(const struct run *r, struct pjrt_buffer *const *args) {
    struct pjrt_client *c = r->loaded->executable->client;
    size_t found = r->ninputs;
    pthread_mutex_lock(&c->lock);
    uint64_t mark = ++c->last_mark;
    for (int donated = 1; donated >= 0; donated--) /* the donated ones are marked first */
        for (size_t i = 0; i < r->ninputs && found == r->ninputs; i++) {
            if (r->inputs[i].donated != donated)
                continue;
            if (args[i]->mark == mark)
                found = i;
            else if (donated)
                args[i]->mark = mark;
        }
    pthread_mutex_unlock(&c->lock);
    return found;
}

/* Finds out which inputs are donated, and that none of those is needed twice. */
static struct pjrt_error *find_donated(struct run *r, const struct pjrt_execute_options *o, struct pjrt_buffer *const *args) {
    struct pjrt_executable *x = r->loaded->executable;
    bool any = false;
    for (size_t i = 0; i < r->ninputs; i++)
        r->inputs[i].donated = x->donated[i];
    for (size_t i = 0; i < o->num_non_donatable_input_indices; i++) {
        int64_t index = o->non_donatable_input_indices[i];
        if (index >= 0 && (uint64_t)index < r->ninputs)
            r->inputs[index].donated = false;
    }
    for (size_t i = 0; i < r->ninputs; i++)
        any = any || r->inputs[i].donated;
    size_t i = any ? find_donated_twice(r, args) : r->ninputs, k = 0;
    if (i == r->ninputs)
        return NULL;
    while (k == i || args[k] != args[i])
        k++;
    bool twice = r->inputs[i].donated && r->inputs[k].donated;
    return pjrt_fail(HILO_INVALID_ARGUMENT, "Attempt to donate %s Execute() (arguments %zu and %zu)",
                     twice ? "the same buffer twice in" : "a buffer which is also used by the same call to", k, i);
}

static struct pjrt_error *hold_inputs(struct run *r, const struct pjrt_execute_options *o, struct pjrt_buffer *const *args) {
    struct pjrt_executable *x = r->loaded->executable;
    for (size_t i = 0; i < r->ninputs; i++)
        if (args[i]->client != x->client)
            return pjrt_fail(HILO_INVALID_ARGUMENT, "argument %zu belongs to another client", i);
    PJRT_TRY(find_donated(r, o, args));
    for (size_t i = 0; i < r->ninputs; i++) {
        if (args[i]->memory->device != r->device)
            return pjrt_fail(HILO_INVALID_ARGUMENT, "argument %zu is on device %d; the program runs on device %d", i,
                             args[i]->memory->device->description->id, r->device->description->id);
        const struct pjrt_port *port = &x->ports[i];
        const int64_t *order = args[i]->minor_to_major;
        if (port->laid_out ? memcmp(order, port->minor_to_major, args[i]->rank * sizeof *order) != 0
                           : !pjrt_is_row_major(order, args[i]->rank))
            return pjrt_fail(HILO_INVALID_ARGUMENT, "argument %zu has another layout than the program's parameter, %.*s", i,
                             (int)x->layouts[i]->n, x->layouts[i]->text);
        struct pjrt_error *error = pjrt_buffer_hold(args[i]);
        if (error) {
            pjrt_error_free(error);
            return pjrt_fail(HILO_INVALID_ARGUMENT, "Invalid buffer passed to Execute(): argument %zu has been deleted or "
                             "donated", i);
        }
        r->inputs[i].buffer = args[i];
    }
    return NULL;
}

/* Inputs that are donated are deleted from here on. */
static void donate_inputs(struct run *r) {
    struct pjrt_client *c = r->loaded->executable->client;
    bool any = false;
    for (size_t i = 0; i < r->ninputs; i++)
        any = any || r->inputs[i].donated;
    if (!any)
        return;
    pthread_mutex_lock(&c->lock);
    for (size_t i = 0; i < r->ninputs; i++)
        if (r->inputs[i].donated) {
            r->inputs[i].buffer->deleted = true;
            r->inputs[i].donated = r->inputs[i].buffer->held == 1; /* other holders still need its data */
        }
    pthread_mutex_unlock(&c->lock);
}

/* The outputs of a program whose shapes are all known; the run makes those of others. */
static struct pjrt_error *make_outputs(struct run *r, struct pjrt_event *ready) {
    const struct pjrt_executable *x = r->loaded->executable;
    const int64_t *dims = x->dims;
    for (size_t i = 0; i < r->noutputs && !x->dynamic; dims += x->ranks[i++])
        PJRT_TRY(pjrt_buffer_new(output_memory(r, i), x->dtypes[i], dims, x->ranks[i], output_order(x, i), ready,
                                 &r->outputs[i]));
    return NULL;
}

static int64_t next_run(const struct pjrt_loaded *l) {
    return 1 + (int64_t)atomic_fetch_add_explicit(&l->executable->client->next_run, 1, memory_order_relaxed);
}

/* The arguments, the outputs and the run itself are one block. */
static struct run *run_new(struct pjrt_loaded *l, struct pjrt_device *device, struct pjrt_context *context, int64_t id) {
    const struct pjrt_executable *x = l->executable;
    size_t bytes = sizeof(struct run) + x->ninputs * sizeof(struct input) + x->noutputs * sizeof(struct pjrt_buffer *);
    struct run *r = pjrt_alloc(1, bytes);
    if (!r)
        return NULL;
    r->job.run = run_job;
    atomic_fetch_add_explicit(&l->refs, 1, memory_order_relaxed);
    r->loaded = l;
    r->device = device;
    r->id = id;
    r->context = context;
    if (context)
        atomic_fetch_add_explicit(&context->refs, 1, memory_order_relaxed);
    r->inputs = (struct input *)(r + 1);
    r->ninputs = x->ninputs;
    r->outputs = (struct pjrt_buffer **)(r->inputs + x->ninputs);
    r->noutputs = x->noutputs;
    return r;
}

/* ---- the call -------------------------------------------------------------------------------- */

static bool runs_inline(const struct run *r) {
    const struct pjrt_executable *x = r->loaded->executable;
    if (x->dynamic || pthread_getspecific(x->client->running))
        return true; /* a custom call's own run: the queues may be waiting for the call */
    bool idle = !atomic_load_explicit(&r->device->queue.pending, memory_order_acquire);
    bool is_short = atomic_load_explicit(&x->run_ns, memory_order_relaxed) <= SHORT_RUN;
    /* A copy of what the host holds has to be there before the host goes on: it may change its memory then. */
    if (!rt_executable_only_copies(x->hilo) && !(idle && is_short))
        return false;
    for (size_t i = 0; i < r->ninputs; i++)
        if (!pjrt_buffer_enqueued(r->inputs[i].buffer))
            return false;
    return true;
}

/* The outputs, in the caller's list, and the event of the run. */
static void return_outputs(struct run *r, struct pjrt_buffer **outputs, struct pjrt_event *done, struct pjrt_event **complete) {
    for (size_t i = 0; i < r->noutputs; i++)
        outputs[i] = pjrt_buffer_ref(r->outputs[i]);
    if (complete)
        *complete = pjrt_event_ref(done);
}

static struct pjrt_error *start(struct run *r, struct pjrt_buffer **outputs, struct pjrt_event **complete) {
    struct pjrt_client *c = r->loaded->executable->client;
    bool is_inline = runs_inline(r);
    if (!is_inline || c->gpu)
        r->done = pjrt_event_new();
    struct pjrt_event *done = is_inline && !c->gpu ? c->done : r->done;
    struct pjrt_error *error = done ? make_outputs(r, done) : pjrt_exhausted();
    if (!error && is_inline)
        error = run_now(r);
    if (!error && is_inline)
        return_outputs(r, outputs, done, complete);
    if (!error && is_inline && c->gpu) {
        release_inputs(r);
        run_end(r, NULL);
        return NULL;
    }
    if (error || is_inline) {
        run_free(r);
        return error;
    }
    return_outputs(r, outputs, r->done, complete);
    if (!pjrt_queue_push(&r->device->queue, &r->job))
        run_job(&r->job); /* there is no other thread: this one will do */
    return NULL;
}

static struct pjrt_error *execute_one(struct pjrt_LoadedExecutable_Execute *a, const struct pjrt_execute_options *o) {
    struct pjrt_loaded *l = a->loaded;
    struct run *r = run_new(l, a->execute_device ? a->execute_device : l->devices[0], o->context, next_run(l));
    if (!r)
        return pjrt_exhausted();
    struct pjrt_error *error = hold_inputs(r, o, r->ninputs ? a->argument_lists[0] : NULL);
    if (error) {
        run_free(r);
        return error;
    }
    donate_inputs(r);
    return start(r, r->noutputs ? a->output_lists[0] : NULL, a->device_complete_events);
}

/* The runs of all devices with their inputs and outputs; nothing is started or returned yet. */
static struct pjrt_error *launch_fill(struct launch *x, struct pjrt_LoadedExecutable_Execute *a,
                                      const struct pjrt_execute_options *o) {
    struct pjrt_loaded *l = a->loaded;
    const struct pjrt_compile_options *c = &l->executable->options;
    int64_t id = next_run(l);
    struct rt_launch_options options = {.replicas = (uint32_t)c->nreplicas, .partitions = (uint32_t)c->npartitions,
                                        .devices = l->all, .program = l->program,
                                        .name = rt_executable_name(l->executable->hilo)};
    x->launch = rt_launch_new(l->executable->client->hilo, &options);
    for (size_t i = 0; i < x->n; i++) {
        struct run *r = x->runs[i] = run_new(l, l->devices[i], o->context, id);
        if (!r || !x->launch || !(r->done = pjrt_event_new()))
            return pjrt_exhausted();
        r->job.run = partition_job;
        r->launch = x;
        r->index = l->indices[i];
        r->slot = (uint32_t)i;
        PJRT_TRY(hold_inputs(r, o, r->ninputs ? a->argument_lists[i] : NULL));
        PJRT_TRY(make_outputs(r, r->done));
    }
    return NULL;
}

static struct pjrt_error *execute_several(struct pjrt_LoadedExecutable_Execute *a, const struct pjrt_execute_options *o) {
    struct pjrt_client *c = a->loaded->executable->client;
    size_t n = a->ndevices;
    struct launch *x = pjrt_alloc(1, sizeof *x + n * sizeof *x->runs);
    if (!x)
        return pjrt_exhausted();
    pthread_mutex_init(&x->lock, NULL);
    atomic_init(&x->left, n);
    x->n = n;
    pthread_mutex_lock(&c->launch); /* launches have numbers, in which nodes agree: their order is that of the queues */
    struct pjrt_error *error = launch_fill(x, a, o);
    if (error) {
        for (size_t i = 0; i < n && x->launch; i++)
            rt_launch_end(x->launch, a->loaded->indices[i], (hilo_status)error->code, error->text);
        launch_free(x);
        pthread_mutex_unlock(&c->launch);
        return error;
    }
    for (size_t i = 0; i < n; i++) {
        donate_inputs(x->runs[i]);
        return_outputs(x->runs[i], x->runs[i]->noutputs ? a->output_lists[i] : NULL, x->runs[i]->done,
                 a->device_complete_events ? &a->device_complete_events[i] : NULL);
    }
    for (size_t i = 0; i < n; i++) {
        struct run *r = x->runs[i]; /* x itself may end with the last push */
        if (!pjrt_queue_push(&r->device->queue, &r->job))
            end_partition(r, pjrt_fail(HILO_RESOURCE_EXHAUSTED, "device %d has no thread", r->device->description->id));
    }
    pthread_mutex_unlock(&c->launch);
    return NULL;
}

static struct pjrt_error *check_lists(const struct pjrt_LoadedExecutable_Execute *a, const struct pjrt_execute_options *o) {
    const struct pjrt_executable *x = a->loaded->executable;
    bool ok = (!x->ninputs || a->argument_lists) && (!x->noutputs || a->output_lists) &&
              (!o->num_non_donatable_input_indices || o->non_donatable_input_indices);
    for (size_t d = 0; d < a->ndevices && ok; d++)
        ok = (!x->ninputs || a->argument_lists[d]) && (!x->noutputs || a->output_lists[d]);
    if (!ok)
        return pjrt_fail(HILO_INVALID_ARGUMENT, "LoadedExecutable_Execute: the lists of arguments or outputs are missing");
    for (size_t d = 0; d < a->ndevices; d++)
        for (size_t i = 0; i < x->ninputs; i++)
            if (!a->argument_lists[d][i])
                return pjrt_fail(HILO_INVALID_ARGUMENT, "argument %zu is missing", i);
    return NULL;
}

struct pjrt_error *pjrt_LoadedExecutable_Execute(struct pjrt_LoadedExecutable_Execute *a) {
    struct pjrt_loaded *l = a->loaded;
    const struct pjrt_executable *x = l->executable;
    struct pjrt_execute_options o;
    pjrt_struct(&o, sizeof o, a->options);
    if (atomic_load(&l->deleted))
        return pjrt_fail(HILO_INVALID_ARGUMENT, "Execute() was called on a deleted executable");
    if (a->ndevices != l->ndevices)
        return pjrt_fail(HILO_INVALID_ARGUMENT, "the program runs on %zu devices, but there are arguments for %zu", l->ndevices,
                         a->ndevices);
    if (l->ndevices == 0) /* the program is of other processes: its arguments are theirs */
        return NULL;
    if (a->nargs != x->ninputs)
        return pjrt_fail(HILO_INVALID_ARGUMENT, "Execution supplied %zu buffers but compiled program expected %zu buffers",
                         a->nargs, x->ninputs);
    if (o.num_send_ops || o.num_recv_ops)
        return pjrt_fail(HILO_UNIMPLEMENTED, "callbacks that send or receive are not supported");
    if (l->nprocesses > 1 && (a->execute_device || x->dynamic))
        return pjrt_fail(HILO_UNIMPLEMENTED, a->execute_device ? "a program for several devices runs on all of them at once"
                                                               : "programs for several devices need outputs of known shapes");
    PJRT_TRY(check_lists(a, &o));
    return l->nprocesses == 1 ? execute_one(a, &o) : execute_several(a, &o);
}

/* ---- contexts -------------------------------------------------------------------------------- */

struct pjrt_error *pjrt_ExecuteContext_Create(struct pjrt_ExecuteContext_Create *a) {
    struct pjrt_context *x = a->context = pjrt_alloc(1, sizeof *x);
    if (!x)
        return pjrt_exhausted();
    atomic_init(&x->refs, 1);
    pthread_mutex_init(&x->lock, NULL);
    return NULL;
}

struct pjrt_error *pjrt_ExecuteContext_Destroy(struct pjrt_ExecuteContext_Destroy *a) {
    context_unref(a->context);
    return NULL;
}

/* The lock is held. */
static const struct pjrt_context_data *context_get(const struct pjrt_context *x, int64_t type) {
    const struct pjrt_context_data *d = x->first;
    while (d && d->type != type)
        d = d->next;
    return d;
}

struct pjrt_error *pjrt_context_add(struct pjrt_context *x, int64_t type, void *data) {
    struct pjrt_context_data *d = pjrt_alloc(1, sizeof *d);
    if (!d)
        return pjrt_exhausted();
    pthread_mutex_lock(&x->lock);
    bool known = context_get(x, type);
    if (!known) {
        *d = (struct pjrt_context_data){x->first, type, data};
        x->first = d;
    }
    pthread_mutex_unlock(&x->lock);
    if (!known)
        return NULL;
    free(d);
    return pjrt_fail(HILO_ALREADY_EXISTS, "the execution has data of this type already");
}

bool pjrt_context_find(struct pjrt_context *x, int64_t type, void **data) {
    if (!x)
        return false;
    pthread_mutex_lock(&x->lock);
    const struct pjrt_context_data *d = context_get(x, type);
    if (d)
        *data = d->data;
    pthread_mutex_unlock(&x->lock);
    return d;
}
