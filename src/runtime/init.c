/* Init steps (plan.h): what is made of constants once for an executable, and of an argument that is the same buffer in most
 * runs when another buffer comes. Of each section an executable keeps what was made last, until the buffer that it was made
 * of ends. */
#include "runtime/device.h"
#include "runtime/run.h"

/* What a section made of a buffer. */
struct rt_packed {
    struct rt_packed *next;     /* in the client's list; guarded by its lock, as is all of the entry but `refs` and the data */
    struct rt_packed **owner;   /* the executable's place for it; NULL once it is not in the list */
    atomic_int refs;            /* the list's, and of runs that read it */
    hilo_client *client;
    bool device;                /* the data is on it */
    uint64_t buffer, version;   /* identity and version of the buffer */
    size_t bytes;               /* of the data */
    char *data;
};

static void packed_unref(struct rt_packed *x) {
    if (!x || atomic_fetch_sub_explicit(&x->refs, 1, memory_order_acq_rel) != 1)
        return;
    rt_memory_free(x->client, x->device, x->data, x->bytes);
    mem_free(&x->client->memory, x, sizeof *x);
}

/* Takes entries out of the client's list: of a buffer, or those in an executable's places. */
static void packed_drop(hilo_client *client, uint64_t buffer, struct rt_packed **places, uint32_t nplaces) {
    struct rt_packed *dropped = NULL, *x;
    pthread_mutex_lock(&client->lock);
    for (struct rt_packed **at = &client->packed; (x = *at) != NULL;) {
        bool owned = x->owner >= places && x->owner < places + nplaces;
        if (!(buffer && x->buffer == buffer) && !(nplaces && owned)) {
            at = &x->next;
            continue;
        }
        *at = x->next;
        *x->owner = NULL;
        x->next = dropped;
        dropped = x;
    }
    pthread_mutex_unlock(&client->lock);
    for (; (x = dropped) != NULL; packed_unref(x))
        dropped = x->next;
}

void rt_packed_drop_buffer(hilo_client *client, const hilo_buffer *buffer) {
    packed_drop(client, buffer->id, NULL, 0);
}

void rt_init_free(hilo_executable *exe) {
    if (exe->packed)
        packed_drop(exe->client, 0, exe->packed, exe->plan.nsections);
    rt_defer_free(exe);
    if (exe->init_memory)
        rt_memory_free(exe->client, exe->on_device, exe->init_memory, exe->plan.sections->bytes);
    rt_memory_free(exe->client, true, exe->device_constants, exe->plan.device_constants);
}

/* ---- runs ------------------------------------------------------------------------------------- */

/* What the section made of the buffer as it is, with a reference for the run; NULL = it has to be made, and what it made of
   another is dropped. */
static struct rt_packed *packed_find(struct run *r, uint32_t section, const hilo_buffer *from) {
    struct rt_packed **place = &r->exe->packed[section];
    pthread_mutex_lock(&r->client->lock);
    struct rt_packed *x = *place;
    bool same = x && x->buffer == from->id && x->version == from->version;
    if (same)
        atomic_fetch_add_explicit(&x->refs, 1, memory_order_relaxed);
    pthread_mutex_unlock(&r->client->lock);
    if (x && !same)
        packed_drop(r->client, 0, place, 1);
    return same ? x : NULL;
}

/* Puts it in the executable's place, where another run may have been faster. */
static void packed_keep(struct run *r, uint32_t section, struct rt_packed *x, hilo_buffer *from) {
    struct rt_packed **place = &r->exe->packed[section];
    pthread_mutex_lock(&r->client->lock);
    if (!*place) {
        *place = x;
        x->owner = place;
        x->next = r->client->packed;
        r->client->packed = x;
        from->packed = true;
        atomic_fetch_add_explicit(&x->refs, 1, memory_order_relaxed);
    }
    pthread_mutex_unlock(&r->client->lock);
}

static hilo_status packed_make(struct run *r, uint32_t section, uint32_t first, hilo_buffer *from, struct rt_packed **out) {
    const struct plan_init *s = &r->plan->sections[section];
    struct rt_packed *x = mem_alloc(&r->client->memory, sizeof *x);
    if (!x)
        return HILO_RESOURCE_EXHAUSTED;
    *x = (struct rt_packed){.client = r->client, .buffer = from->id, .version = from->version, .bytes = s->bytes,
                            .device = r->exe->on_device};
    atomic_init(&x->refs, 1);
    void *data = NULL;
    hilo_status status = rt_memory_alloc(r->client, x->device, s->bytes, "a packed argument", r->d, &data);
    x->data = data;
    if (status == HILO_OK) {
        frame_bind_init(r, section, x->data);
        status = run_steps(r, first, first + s->nsteps);
    }
    if (status == HILO_OK) {
        packed_keep(r, section, x, from);
        *out = x;
    } else {
        packed_unref(x);
    }
    return status;
}

hilo_status run_init(struct run *r, hilo_buffer *const *inputs) {
    const struct plan *p = r->plan;
    for (uint32_t i = 1, first = p->nsections ? p->sections->nsteps : 0; i < p->nsections; first += p->sections[i++].nsteps) {
        hilo_buffer *from = inputs[p->sections[i].argument];
        struct rt_packed *x = packed_find(r, i, from);
        if (x)
            frame_bind_init(r, i, x->data);
        else
            HILO_TRY(packed_make(r, i, first, from, &x));
        r->frame->packed[i] = x;
    }
    return HILO_OK;
}

void run_release_init(struct run *r) {
    for (uint32_t i = 0; i < r->plan->nsections; i++) {
        packed_unref(r->frame->packed[i]);
        r->frame->packed[i] = NULL;
    }
}

/* Those that are not deferred. */
static hilo_status run_prompt(struct run *r) {
    uint32_t n = r->plan->sections->nsteps;
    for (uint32_t i = 0, end; i < n; i = end + 1) {
        for (end = i; end < n && !rt_is_deferred(r->exe, end);)
            end++;
        HILO_TRY(run_steps(r, i, end));
    }
    return HILO_OK;
}

hilo_status run_init_constants(struct run *r, bool deferred) {
    r->frame = frame_get(r);
    if (!r->frame)
        return HILO_RESOURCE_EXHAUSTED;
    hilo_status status = frame_bind_memory(r);
    if (status == HILO_OK)
        status = deferred ? run_deferred(r) : run_prompt(r);
    frame_release_block(r);
    return status;
}
