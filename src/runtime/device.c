/* The GPU of a client: values in its memory, the code of executables, and transfers between buffers' two forms. */
#include "runtime/device.h"

#include "target/target.h"

#include <stdio.h>
#include <stdlib.h>

enum { STATIC_SHARED = 48 << 10 }; /* bytes of shared memory that any launch may have */

/* ---- the client's ---------------------------------------------------------------------------- */

hilo_status rt_device_open(hilo_client *client, const char *device, struct diag_list *d) {
    static const char gpu[] = "gpu";
    const char *end = device ? device + sizeof gpu - 1 : NULL;
    long ordinal = 0;
    if (device && strcmp(device, "cpu") == 0)
        return HILO_OK;
    if (!device || strncmp(device, gpu, sizeof gpu - 1) != 0 || (*end && *end != ':'))
        return diag_error(d, HILO_NOT_FOUND, "no such device; there are: cpu, gpu, gpu:N");
    if (*end) {
        char *rest;
        ordinal = strtol(end + 1, &rest, 10);
        if (rest == end + 1 || *rest || ordinal < 0 || ordinal > INT32_MAX)
            return diag_error(d, HILO_NOT_FOUND, "device %.32s: expected a number, as in gpu:0", device);
    }
    HILO_TRY(gpu_open((int32_t)ordinal, &client->al, d, &client->gpu));
    const struct gpu_properties *p = gpu_properties(client->gpu);
    client->gpu_target = target_gpu(p->major, p->minor);
    if (!client->gpu_target)
        return diag_error(d, HILO_UNIMPLEMENTED, "GPU %d (%s) has compute capability %d.%d; hilo needs 8.0", p->ordinal,
                          p->name, p->major, p->minor);
    snprintf(client->device, sizeof client->device, "gpu:%ld", ordinal);
    return HILO_OK;
}

const char *rt_client_gpu_target(const hilo_client *client) {
    return client->gpu_target;
}

struct gpu *rt_client_gpu(const hilo_client *client) {
    return client->gpu;
}

/* ---- values ---------------------------------------------------------------------------------- */

static void device_release(void *user, void *data) {
    const struct value *v = user;
    gpu_free(v->device, data, v->bytes);
}

hilo_status rt_device_tensor(hilo_client *client, enum ir_dtype t, const int64_t *dims, uint32_t rank, const char *what,
                             struct diag_list *d, struct value **out) {
    struct value *v;
    HILO_TRY(value_borrow(&client->memory, t, dims, rank, NULL, device_release, NULL, &v));
    v->user = v;
    v->device = client->gpu;
    hilo_status status = v->bytes ? gpu_alloc(client->gpu, v->bytes, what, d, &v->data) : HILO_OK;
    if (status == HILO_OK)
        *out = v;
    else
        value_unref(v);
    return status;
}

hilo_status rt_device_put(hilo_client *client, const struct value *v, const char *what, struct diag_list *d,
                          struct value **out) {
    struct value *made;
    HILO_TRY(rt_device_tensor(client, v->dtype, v->dims, v->rank, what, d, &made));
    hilo_status status = gpu_copy(client->gpu, GPU_TO_DEVICE, made->data, v->data, v->bytes, d);
    if (status == HILO_OK)
        *out = made;
    else
        value_unref(made);
    return status;
}

hilo_status rt_device_get(hilo_client *client, const struct value *v, struct diag_list *d, struct value **out) {
    struct value *made;
    HILO_TRY(value_tensor(&client->memory, v->dtype, v->dims, v->rank, &made));
    hilo_status status = gpu_copy(client->gpu, GPU_TO_HOST, made->data, v->data, v->bytes, d);
    if (status == HILO_OK)
        status = gpu_wait(client->gpu, d);
    if (status == HILO_OK)
        *out = made;
    else
        value_unref(made);
    return status;
}

/* ---- buffers --------------------------------------------------------------------------------- */

/* Makes the form from the other one, outside of the lock: what was there may be replaced, and is never taken away. */
hilo_status rt_buffer_form(hilo_buffer *b, bool device, struct diag_list *d) {
    hilo_client *client = b->client;
    struct value **slot = device ? &b->device : &b->value, **other = device ? &b->value : &b->device, *made = NULL,
                 *dropped = NULL;
    pthread_mutex_lock(&client->lock);
    bool stale = b->truth == (device ? RT_HOST_FORM : RT_DEVICE_FORM);
    struct value *from = (*slot && !stale) || !*other || (*other)->kind != EVAL_TENSOR ? NULL : value_ref(*other);
    pthread_mutex_unlock(&client->lock);
    if (!from)
        return HILO_OK;
    hilo_status status = device ? rt_device_put(client, from, "an input", d, &made) : rt_device_get(client, from, d, &made);
    if (status == HILO_OK) {
        pthread_mutex_lock(&client->lock);
        if (*slot || *other) {
            struct value *old = *slot;
            *slot = made;
            made = old;
            if (device && b->truth == RT_EITHER) { /* it would only take memory */
                dropped = b->value;
                b->value = NULL;
            }
        }
        pthread_mutex_unlock(&client->lock);
    }
    value_unref(made);
    value_unref(dropped);
    value_unref(from);
    return status;
}

/* ---- code ------------------------------------------------------------------------------------ */

static bool device_runs(const hilo_client *client, const char *cpu) {
    const struct gpu_properties *p = client->gpu ? gpu_properties(client->gpu) : NULL;
    return p && target_gpu_runs(cpu, p->major, p->minor);
}

hilo_status rt_device_check(const hilo_client *client, const char *cpu, struct diag_list *d) {
    if (device_runs(client, cpu))
        return HILO_OK;
    return diag_error(d, HILO_FAILED_PRECONDITION, "the program is for a GPU (%.16s); this is %s%s%s", cpu, client->device,
                      client->gpu ? ", " : "", client->gpu ? gpu_properties(client->gpu)->name : "");
}

static void free_module(void *module) {
    gpu_module_free(module);
}

/* Finds the functions of kernels in a module that was loaded. */
static void find_functions(hilo_executable *exe, struct gpu_module *module) {
    for (uint32_t i = 0; i < exe->plan.nsteps; i++) {
        struct plan_kernel *k = (struct plan_kernel *)(uintptr_t)exe->plan.steps[i].kernel;
        if (k && k->gpu.threads && !k->function)
            k->function = gpu_module_find(module, k->name);
    }
}

/* Object i: as a cubin, where it has one that is for this device and its driver takes it; else as PTX. */
static hilo_status load_object(hilo_executable *exe, uint32_t i, struct diag_list *d, struct gpu_module **out) {
    struct gpu *g = exe->client->gpu;
    const struct gpu_properties *p = gpu_properties(g);
    struct diag_list why;
    if (exe->runs_cubins && target_gpu_runs_cubin(exe->features, p->major, p->minor)) {
        diag_init(&why, exe->client->al);
        hilo_status status = gpu_module_load(g, exe->cubins[i], &why, out);
        if (status != HILO_FAILED_PRECONDITION) {
            diag_move(d, &why);
            exe->code_bytes += exe->cubins[i].n;
            return status;
        }
        rt_log(exe->client, HILO_LOG_WARNING, "cubins for %s are not used: %s", exe->features,
               why.first ? why.first->message : "out of memory");
        diag_clear(&why);
    }
    exe->runs_cubins = false;
    exe->code_bytes += exe->objects[i].n;
    return gpu_module_load(g, exe->objects[i], d, out);
}

hilo_status rt_device_link(hilo_executable *exe, struct diag_list *d) {
    exe->code_bytes = 0;
    if (!device_runs(exe->client, exe->features)) {
        exe->foreign = exe->features;
        for (uint32_t i = 0; i < exe->nobjects; i++)
            exe->code_bytes += exe->objects[i].n;
        return HILO_OK;
    }
    exe->runs_cubins = exe->cubins != NULL;
    for (uint32_t i = 0; i < exe->nobjects; i++) {
        struct rt_kept *k = ARENA_NEW(&exe->arena, struct rt_kept);
        struct gpu_module *module;
        HILO_TRY(load_object(exe, i, d, &module));
        *k = (struct rt_kept){exe->kept, free_module, module};
        exe->kept = k;
        find_functions(exe, module);
    }
    for (uint32_t i = 0; i < exe->plan.nsteps; i++) {
        const struct plan_kernel *k = exe->plan.steps[i].kernel;
        if (k && k->gpu.threads && !k->function)
            return diag_error(d, HILO_INTERNAL, "the code has no kernel '%s'", k->name);
        if (k && k->gpu.shared_bytes > STATIC_SHARED)
            HILO_TRY(gpu_function_shared(exe->client->gpu, k->function, k->gpu.shared_bytes, d));
    }
    return HILO_OK;
}

hilo_status rt_device_constants(hilo_executable *exe, struct diag_list *d) {
    const struct plan *p = &exe->plan;
    struct gpu *g = exe->client->gpu;
    if (!p->device_constants || exe->foreign)
        return HILO_OK;
    HILO_TRY(gpu_alloc(g, p->device_constants, "the program's constants", d, &exe->device_constants));
    for (uint32_t i = 0; i < p->nbuffers; i++) {
        const struct plan_buffer *x = &p->buffers[i];
        if (x->place == PLAN_CONSTANT && x->space == PLAN_DEVICE && x->root == i)
            HILO_TRY(gpu_copy(g, GPU_TO_DEVICE, (char *)exe->device_constants + x->offset, x->data, x->bytes, d));
    }
    return HILO_OK;
}

/* ---- the guard of divided programs ------------------------------------------------------------ */

bool rt_guard_begin(hilo_executable *exe, bool may_time) {
    struct rt_guarded *x = &exe->guarded;
    if (!exe->guard.program)
        return false;
    pthread_mutex_lock(&exe->lock);
    x->disturbed |= x->timing;
    bool timed = may_time && !x->running && !x->judged;
    x->running++;
    if (timed) {
        x->timing = true;
        x->disturbed = false;
    }
    pthread_mutex_unlock(&exe->lock);
    return timed;
}

void rt_guard_end(hilo_executable *exe, bool timed, hilo_status status, double ms) {
    hilo_client *client = exe->client;
    const struct rt_guard *guard = &exe->guard;
    struct rt_guarded *x = &exe->guarded;
    if (!guard->program)
        return;
    pthread_mutex_lock(&exe->lock);
    x->running--;
    if (timed) {
        x->timing = false;
        x->judged = status == HILO_OK && !x->disturbed;
    }
    bool contradicted = timed && x->judged && ms > guard->other_ms;
    pthread_mutex_unlock(&exe->lock);
    if (!contradicted)
        return;
    pthread_mutex_lock(&client->lock);
    client->revoked[client->nrevoked++ % RT_REVOKED] = guard->program;
    pthread_mutex_unlock(&client->lock);
    rt_log(client, HILO_LOG_WARNING,
           "placement: divided, a run takes %.3g ms, not %.3g; one side alone is expected to take %.3g ms, and is used when "
           "the program is compiled again", ms, guard->expected_ms, guard->other_ms);
}

bool rt_client_revoked(hilo_client *client, uint64_t program) {
    bool found = false;
    pthread_mutex_lock(&client->lock);
    for (uint32_t i = 0; i < RT_REVOKED && i < client->nrevoked; i++)
        found |= client->revoked[i] == program;
    pthread_mutex_unlock(&client->lock);
    return found;
}

/* ---- memory of either kind ------------------------------------------------------------------- */

hilo_status rt_memory_alloc(hilo_client *client, bool device, size_t bytes, const char *what, struct diag_list *d, void **out) {
    if (device)
        return gpu_alloc(client->gpu, bytes, what, d, out);
    *out = mem_alloc(&client->memory, bytes);
    return *out ? HILO_OK : HILO_RESOURCE_EXHAUSTED;
}

void rt_memory_free(hilo_client *client, bool device, void *p, size_t bytes) {
    if (device && p)
        gpu_free(client->gpu, p, bytes);
    else if (!device)
        mem_free(&client->memory, p, bytes);
}
