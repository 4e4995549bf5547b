/* Running. The data of the outputs comes later than their buffers: a run is a job of its device's thread, unless the
 * program is known to be short, its inputs are there and the device has nothing else to do; then it is done at once. */
#include "pjrt/pjrt.h"

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
    struct pjrt_event *done;    /* of all outputs; NULL = the run is done at once */
    struct input *inputs;
    struct pjrt_buffer **outputs;
    size_t ninputs, noutputs;
};

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
    struct pjrt_listener l;
    pjrt_listen(x->client, &l);
    uint64_t begin = now_ns();
    hilo_status status = hilo_execute(x->hilo, &o, in, r->ninputs, out, r->noutputs);
    uint64_t ns = now_ns() - begin;
    PJRT_TRY(pjrt_heard(x->client, &l, status));
    uint64_t before = atomic_load_explicit(&x->run_ns, memory_order_relaxed);
    atomic_store_explicit(&x->run_ns, before == UINT64_MAX ? ns : before - before / 4 + ns / 4, memory_order_relaxed);
    return NULL;
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
    for (size_t i = 0; i < r->noutputs && !error; i++)
        pjrt_buffer_fill(r->outputs[i], out[i]);
    if (block != few)
        free(block);
    return error;
}

static void run_free(struct run *r) {
    for (size_t i = 0; i < r->ninputs; i++)
        if (r->inputs[i].buffer)
            pjrt_buffer_let_go(r->inputs[i].buffer);
    for (size_t i = 0; i < r->noutputs; i++)
        pjrt_buffer_unref(r->outputs[i]);
    pjrt_event_unref(r->done);
    pjrt_loaded_unref(r->loaded);
    free(r);
}

static void run_job(struct pjrt_job *job) {
    struct run *r = (struct run *)job;
    struct pjrt_error *error = run_now(r);
    for (size_t i = 0; i < r->ninputs; i++) { /* whoever waits may expect them to be free */
        pjrt_buffer_let_go(r->inputs[i].buffer);
        r->inputs[i].buffer = NULL;
    }
    pjrt_event_set(r->done, error);
    run_free(r);
}

/* ---- arguments ------------------------------------------------------------------------------- */

static bool may_donate(const struct pjrt_execute_options *o, size_t index) {
    for (size_t i = 0; i < o->num_non_donatable_input_indices; i++)
        if (o->non_donatable_input_indices[i] == (int64_t)index)
            return false;
    return true;
}

/* Holds the inputs; those that are donated are deleted from here on. */
static struct pjrt_error *take_inputs(struct run *r, const struct pjrt_execute_options *o, struct pjrt_buffer *const *args) {
    struct pjrt_executable *x = r->loaded->executable;
    for (size_t i = 0; i < r->ninputs; i++) {
        bool donated = x->aliases[i] >= 0 && may_donate(o, i);
        for (size_t k = 0; k < r->ninputs && (donated || r->inputs[k].donated); k++)
            if (k != i && args[k] == args[i] && donated && x->aliases[k] >= 0 && may_donate(o, k))
                return pjrt_fail(HILO_INVALID_ARGUMENT, "Attempt to donate the same buffer twice in Execute() (arguments %zu "
                                 "and %zu)", i, k);
            else if (k != i && args[k] == args[i] && donated)
                return pjrt_fail(HILO_INVALID_ARGUMENT, "Attempt to donate a buffer which is also used by the same call to "
                                 "Execute() (arguments %zu and %zu)", i, k);
        r->inputs[i].donated = donated;
    }
    for (size_t i = 0; i < r->ninputs; i++) {
        if (args[i]->client != x->client)
            return pjrt_fail(HILO_INVALID_ARGUMENT, "argument %zu belongs to another client", i);
        if (args[i]->memory->device != r->device)
            return pjrt_fail(HILO_INVALID_ARGUMENT, "argument %zu is on device %d; the program runs on device %d", i,
                             args[i]->memory->device->description->id, r->device->description->id);
        struct pjrt_error *error = pjrt_buffer_hold(args[i]);
        if (error) {
            pjrt_error_free(error);
            return pjrt_fail(HILO_INVALID_ARGUMENT, "Invalid buffer passed to Execute(): argument %zu has been deleted or "
                             "donated", i);
        }
        r->inputs[i].buffer = args[i];
    }
    pthread_mutex_lock(&x->client->lock);
    for (size_t i = 0; i < r->ninputs; i++)
        if (r->inputs[i].donated) {
            args[i]->deleted = true;
            r->inputs[i].donated = args[i]->held == 1; /* whoever else holds it still needs its data */
        }
    pthread_mutex_unlock(&x->client->lock);
    return NULL;
}

/* Outputs of known shape; those of a program whose shapes are known only later come from `shape_outputs`. */
static struct pjrt_error *make_outputs(struct run *r, struct pjrt_event *ready) {
    const struct pjrt_executable *x = r->loaded->executable;
    const int64_t *dims = x->dims;
    for (size_t i = 0; i < r->noutputs; dims += x->ranks[i++])
        PJRT_TRY(pjrt_buffer_new(r->device->list[PJRT_MEMORY_DEVICE], x->dtypes[i], dims, x->ranks[i], ready, &r->outputs[i]));
    return NULL;
}

/* The arguments, the outputs and the run itself are one block. */
static struct run *run_new(struct pjrt_loaded *l, struct pjrt_device *device) {
    const struct pjrt_executable *x = l->executable;
    size_t bytes = sizeof(struct run) + x->ninputs * sizeof(struct input) + x->noutputs * sizeof(struct pjrt_buffer *);
    struct run *r = pjrt_alloc(1, bytes);
    if (!r)
        return NULL;
    r->job.run = run_job;
    atomic_fetch_add_explicit(&l->refs, 1, memory_order_relaxed);
    r->loaded = l;
    r->device = device;
    r->inputs = (struct input *)(r + 1);
    r->ninputs = x->ninputs;
    r->outputs = (struct pjrt_buffer **)(r->inputs + x->ninputs);
    r->noutputs = x->noutputs;
    return r;
}

/* ---- the call -------------------------------------------------------------------------------- */

static bool at_once(const struct run *r) {
    const struct pjrt_executable *x = r->loaded->executable;
    if (x->dynamic || pjrt_queue_inside(&r->device->queue))
        return true; /* its thread cannot wait for itself */
    bool idle = !atomic_load_explicit(&r->device->queue.pending, memory_order_acquire);
    bool is_short = atomic_load_explicit(&x->run_ns, memory_order_relaxed) <= SHORT_RUN;
    /* A copy of what the host holds has to be there before the host goes on: it may change its memory then. */
    if (!x->copies && !(idle && is_short))
        return false;
    for (size_t i = 0; i < r->ninputs; i++)
        if (!pjrt_event_ready(r->inputs[i].buffer->ready))
            return false;
    return true;
}

/* The outputs, in the caller's list, and the event of the run. */
static struct pjrt_error *hand_out(struct run *r, struct pjrt_buffer **outputs, struct pjrt_event *done,
                                   struct pjrt_event **complete) {
    for (size_t i = 0; i < r->noutputs; i++)
        outputs[i] = pjrt_buffer_ref(r->outputs[i]);
    if (complete)
        *complete = pjrt_event_ref(done);
    return NULL;
}

static struct pjrt_error *start(struct run *r, struct pjrt_buffer **outputs, struct pjrt_event **complete) {
    struct pjrt_client *c = r->loaded->executable->client;
    if (at_once(r)) {
        struct pjrt_error *error = make_outputs(r, c->done);
        if (!error)
            error = run_now(r);
        if (!error)
            error = hand_out(r, outputs, c->done, complete);
        run_free(r);
        return error;
    }
    r->done = pjrt_event_new();
    struct pjrt_error *error = r->done ? make_outputs(r, r->done) : pjrt_exhausted();
    if (!error)
        error = hand_out(r, outputs, r->done, complete);
    if (error) {
        run_free(r);
        return error;
    }
    if (!pjrt_queue_push(&r->device->queue, &r->job))
        run_job(&r->job); /* there is no other thread: this one will do */
    return NULL;
}

struct pjrt_error *pjrt_LoadedExecutable_Execute(struct pjrt_LoadedExecutable_Execute *a) {
    struct pjrt_loaded *l = a->loaded;
    const struct pjrt_executable *x = l->executable;
    struct pjrt_execute_options o;
    pjrt_struct(&o, sizeof o, a->options);
    if (atomic_load(&l->deleted))
        return pjrt_fail(HILO_INVALID_ARGUMENT, "Execute() was called on a deleted executable");
    if (a->ndevices != 1 || l->ndevices != 1)
        return pjrt_fail(HILO_UNIMPLEMENTED, "programs for several devices are not supported");
    if (a->nargs != x->ninputs)
        return pjrt_fail(HILO_INVALID_ARGUMENT, "Execution supplied %zu buffers but compiled program expected %zu buffers",
                         a->nargs, x->ninputs);
    if (o.num_send_ops || o.num_recv_ops)
        return pjrt_fail(HILO_UNIMPLEMENTED, "callbacks that send or receive are not supported");
    if ((x->ninputs && (!a->argument_lists || !a->argument_lists[0])) ||
        (x->noutputs && (!a->output_lists || !a->output_lists[0])) ||
        (o.num_non_donatable_input_indices && !o.non_donatable_input_indices))
        return pjrt_fail(HILO_INVALID_ARGUMENT, "LoadedExecutable_Execute: the lists of arguments or outputs are missing");
    for (size_t i = 0; i < x->ninputs; i++)
        if (!a->argument_lists[0][i])
            return pjrt_fail(HILO_INVALID_ARGUMENT, "argument %zu is missing", i);
    struct run *r = run_new(l, a->execute_device ? a->execute_device : l->devices[0]);
    if (!r)
        return pjrt_exhausted();
    struct pjrt_error *error = take_inputs(r, &o, x->ninputs ? a->argument_lists[0] : NULL);
    if (error) {
        run_free(r);
        return error;
    }
    return start(r, x->noutputs ? a->output_lists[0] : NULL, a->device_complete_events);
}

/* ---- contexts -------------------------------------------------------------------------------- */

/* What a framework hands to the custom calls of an execution. */
struct pjrt_context {
    char none;
};

struct pjrt_error *pjrt_ExecuteContext_Create(struct pjrt_ExecuteContext_Create *a) {
    a->context = pjrt_alloc(1, sizeof *a->context);
    return a->context ? NULL : pjrt_exhausted();
}

struct pjrt_error *pjrt_ExecuteContext_Destroy(struct pjrt_ExecuteContext_Destroy *a) {
    free(a->context);
    return NULL;
}
