/* The functions that handlers of custom calls may call, and the handlers that there are. */
#include "pjrt/ffi.h"

#include <stdlib.h>

/* ---- errors ---------------------------------------------------------------------------------- */

static struct ffi_error *fail(int code, const char *message) {
    struct ffi_error *e = pjrt_alloc(1, sizeof *e);
    char *copy = e ? pjrt_dup(message, strlen(message)) : NULL;
    if (!copy) { /* a handler that gets no error believes that all is well: rather none at all */
        free(e);
        static struct ffi_error exhausted = {HILO_RESOURCE_EXHAUSTED, NULL};
        return &exhausted;
    }
    *e = (struct ffi_error){code ? code : HILO_UNKNOWN, copy};
    return e;
}

static struct ffi_error *ffi_Error_Create(struct ffi_Error_Create *a) {
    return fail(a->code, a->message ? a->message : "");
}

static void ffi_Error_GetMessage(struct ffi_Error_GetMessage *a) {
    a->message = a->error && a->error->message ? a->error->message : "out of memory";
}

static void ffi_Error_Destroy(struct ffi_Error_Destroy *a) {
    if (!a->error || !a->error->message)
        return;
    free(a->error->message);
    free(a->error);
}

/* ---- services for handlers ------------------------------------------------------------------- */

static struct ffi_error *ffi_Stream_Get(struct ffi_Stream_Get *a) {
    (void)a;
    return fail(HILO_UNIMPLEMENTED, "the device has no streams");
}

static struct ffi_error *ffi_ExecutionContext_Get(struct ffi_ExecutionContext_Get *a) {
    const struct pjrt_running *r = a->context->running;
    return r && pjrt_context_find(r->context, *a->type_id, &a->data)
               ? NULL
               : fail(HILO_NOT_FOUND, "the execution has no data of this type");
}

static struct ffi_error *ffi_State_Set(struct ffi_State_Set *a) {
    struct ffi_state *s = a->stage >= 0 && a->stage < FFI_EXECUTE ? a->context->states[a->stage] : NULL;
    if (!s)
        return fail(HILO_INVALID_ARGUMENT, "a state belongs to the stage instantiate, prepare or initialize");
    if (s->type)
        return fail(HILO_FAILED_PRECONDITION, "the state of this stage is set already");
    *s = (struct ffi_state){*a->type_id, a->state};
    return NULL;
}

static struct ffi_error *ffi_State_Get(struct ffi_State_Get *a) {
    const struct ffi_state *s = a->stage >= 0 && a->stage < FFI_EXECUTE ? a->context->states[a->stage] : NULL;
    if (!s || !s->type)
        return fail(HILO_NOT_FOUND, "the stage has set no state");
    if (s->type != *a->type_id)
        return fail(HILO_INVALID_ARGUMENT, "the state has another type");
    a->state = s->value;
    return NULL;
}

static struct ffi_error *ffi_DeviceMemory_Allocate(struct ffi_DeviceMemory_Allocate *a) {
    size_t align = a->alignment > sizeof(void *) ? a->alignment : sizeof(void *);
    return posix_memalign(&a->data, align, a->size ? a->size : 1) == 0 ? NULL : fail(HILO_RESOURCE_EXHAUSTED, "out of memory");
}

static struct ffi_error *ffi_DeviceMemory_Free(struct ffi_DeviceMemory_Free *a) {
    free(a->data);
    return NULL;
}

/* A handler may wait for its tasks, and these for each other: so they run on threads of their own, in turn. */
struct task {
    struct pjrt_job job; /* first */
    void (*run)(void *data);
    void *data;
};

static void task_run(struct pjrt_job *job) {
    struct task *t = (struct task *)job;
    t->run(t->data);
    free(t);
}

static struct ffi_error *ffi_ThreadPool_Schedule(struct ffi_ThreadPool_Schedule *a) {
    struct pjrt_client *c = a->context->client;
    struct task *t = pjrt_alloc(1, sizeof *t);
    if (t) {
        *t = (struct task){{NULL, task_run}, a->task, a->data};
        size_t next = atomic_fetch_add_explicit(&c->next_worker, 1, memory_order_relaxed);
        if (pjrt_queue_push(&c->workers[next % c->nworkers], &t->job))
            return NULL;
        free(t);
    }
    a->task(a->data);
    return NULL;
}

static struct ffi_error *ffi_ThreadPool_NumThreads(struct ffi_ThreadPool_NumThreads *a) {
    *a->num_threads = (int64_t)a->context->client->nworkers;
    return NULL;
}

static struct ffi_error *ffi_RunId_Get(struct ffi_RunId_Get *a) {
    a->run_id = a->context->running ? a->context->running->run_id : 0;
    return NULL;
}

static struct ffi_error *ffi_DeviceOrdinal_Get(struct ffi_DeviceOrdinal_Get *a) {
    a->device_ordinal = a->context->running ? a->context->running->device : 0;
    return NULL;
}

/* ---- futures --------------------------------------------------------------------------------- */

struct ffi_future {
    struct pjrt_event *event;
    struct ffi_error *error;
};

static struct ffi_error *ffi_Future_Create(struct ffi_Future_Create *a) {
    struct ffi_future *f = pjrt_alloc(1, sizeof *f);
    if (f)
        f->event = pjrt_event_new();
    if (!f || !f->event) {
        free(f);
        return fail(HILO_RESOURCE_EXHAUSTED, "out of memory");
    }
    a->future = f;
    return NULL;
}

static struct ffi_error *ffi_Future_SetAvailable(struct ffi_Future_SetAvailable *a) {
    pjrt_event_set(a->future->event, NULL);
    return NULL;
}

static struct ffi_error *ffi_Future_SetError(struct ffi_Future_SetError *a) {
    a->future->error = a->error;
    pjrt_event_set(a->future->event, NULL);
    return NULL;
}

struct ffi_error *pjrt_ffi_wait(struct ffi_future *future) {
    pjrt_event_wait(future->event);
    struct ffi_error *error = future->error;
    pjrt_event_unref(future->event);
    free(future);
    return error;
}

/* ---- handlers and types ---------------------------------------------------------------------- */

/* Handlers and types are registered for the process, independently of clients: the interface names none. */
struct known {
    struct known *next;
    struct ffi_handlers handlers; /* without an EXECUTE: a type */
    int64_t id;                   /* of a type, from 1 */
    void (*deleter)(void *object); /* of a type; or NULL */
    size_t n;
    char name[];
};

static struct {
    pthread_mutex_t lock;
    struct known *first;
    int64_t ntypes;
} registry = {.lock = PTHREAD_MUTEX_INITIALIZER};

static bool is_type(const struct known *k) {
    return !k->handlers.stages[FFI_EXECUTE];
}

static struct known **find(struct str name, bool type) {
    struct known **at = &registry.first;
    while (*at && (is_type(*at) != type || !str_eq((struct str){(*at)->name, (*at)->n}, name)))
        at = &(*at)->next;
    return at;
}

static struct known *add(struct str name) {
    struct known *k = name.n < SIZE_MAX - sizeof *k ? malloc(sizeof *k + name.n) : NULL;
    if (!k)
        return NULL;
    *k = (struct known){.next = registry.first, .n = name.n};
    if (name.n)
        memcpy(k->name, name.p, name.n);
    registry.first = k;
    return k;
}

bool pjrt_ffi_find(struct str target, struct ffi_handlers *out) {
    pthread_mutex_lock(&registry.lock);
    struct known *k = *find(target, false);
    if (k)
        *out = k->handlers;
    pthread_mutex_unlock(&registry.lock);
    return k;
}

/* Keeps handlers until the process ends. Without an EXECUTE, removes them. */
static struct pjrt_error *pjrt_ffi_register(struct str target, const struct ffi_handlers *handlers) {
    if (!target.p || !target.n)
        return pjrt_fail(HILO_INVALID_ARGUMENT, "the name of the custom call is missing");
    pthread_mutex_lock(&registry.lock);
    struct known **at = find(target, false), *old = *at, *fresh = NULL;
    bool wanted = handlers->stages[FFI_EXECUTE];
    if (old) {
        *at = old->next;
        free(old);
    }
    if (wanted && (fresh = add(target)))
        fresh->handlers = *handlers;
    pthread_mutex_unlock(&registry.lock);
    return wanted && !fresh ? pjrt_exhausted() : NULL;
}

/* Gives a type the number that it has, or the next. A size of 0 in `given` would be an older interface without a deleter. */
static bool type_register(struct str name, const struct ffi_type_info *given, int64_t *id) {
    struct ffi_type_info info;
    pjrt_struct(&info, sizeof info, given);
    pthread_mutex_lock(&registry.lock);
    struct known *k = *find(name, true), *fresh = NULL;
    if (!k && (k = fresh = add(name))) {
        k->id = ++registry.ntypes;
        k->deleter = info.deleter;
    }
    bool ok = k && (*id == 0 || *id == k->id || fresh);
    if (ok)
        *id = k->id;
    pthread_mutex_unlock(&registry.lock);
    return ok;
}

void pjrt_ffi_delete(int64_t type, void *value) {
    pthread_mutex_lock(&registry.lock);
    struct known *k = registry.first;
    while (k && !(is_type(k) && k->id == type))
        k = k->next;
    void (*deleter)(void *object) = k ? k->deleter : NULL;
    pthread_mutex_unlock(&registry.lock);
    if (deleter && value)
        deleter(value);
}

static struct ffi_error *ffi_Handler_Register(struct ffi_Handler_Register *a) {
    struct pjrt_error *error = pjrt_ffi_register((struct str){a->name.p, a->name.n}, &a->handlers);
    struct ffi_error *answer = error ? fail(error->code, error->text) : NULL;
    pjrt_error_free(error);
    return answer;
}

static struct ffi_error *ffi_Type_Register(struct ffi_Type_Register *a) {
    return type_register((struct str){a->name.p, a->name.n}, a->type_info, a->type_id)
               ? NULL
               : fail(HILO_INVALID_ARGUMENT, "the type is registered with another number");
}

#define FFI_NAMED(name, ...) .name = ffi_##name,
const struct ffi_api pjrt_ffi_api = {
    .struct_size = sizeof pjrt_ffi_api,
    .version = {.struct_size = sizeof pjrt_ffi_api.version, .major_version = FFI_MAJOR, .minor_version = FFI_MINOR},
    FFI_FUNCTIONS(FFI_NAMED, FFI_NAMED)
};

int pjrt_ffi_dtype(hilo_dtype dtype) {
    static const uint8_t numbers[] = {
        [HILO_PRED] = 1,      [HILO_S8] = 2,       [HILO_S16] = 3,      [HILO_S32] = 4,          [HILO_S64] = 5,
        [HILO_U8] = 6,        [HILO_U16] = 7,      [HILO_U32] = 8,      [HILO_U64] = 9,          [HILO_F16] = 10,
        [HILO_F32] = 11,      [HILO_F64] = 12,     [HILO_BF16] = 16,    [HILO_C64] = 15,         [HILO_C128] = 18,
        [HILO_F8E5M2] = 19,   [HILO_F8E4M3FN] = 20, [HILO_S4] = 21,     [HILO_U4] = 22,          [HILO_TOKEN] = 17,
        [HILO_F8E4M3B11FNUZ] = 23, [HILO_F8E5M2FNUZ] = 24, [HILO_F8E4M3FNUZ] = 25, [HILO_S2] = 26, [HILO_U2] = 27,
        [HILO_F8E4M3] = 28,   [HILO_F8E3M4] = 29,  [HILO_F4E2M1FN] = 32, [HILO_F8E8M0FNU] = 33,
    };
    return dtype > 0 && (size_t)dtype < sizeof numbers ? numbers[dtype] : 0;
}

/* ---- the extension --------------------------------------------------------------------------- */

struct pjrt_error *pjrt_ffi_type_register(struct pjrt_ffi_type_register *a) {
    if (!a->name || !a->name_size)
        return pjrt_fail(HILO_INVALID_ARGUMENT, "the name of the type is missing");
    if (!type_register((struct str){a->name, a->name_size}, a->type_info, &a->type_id))
        return pjrt_fail(HILO_INVALID_ARGUMENT, "the type '%.*s' is registered with another number", (int)a->name_size,
                         a->name);
    return NULL;
}

struct pjrt_error *pjrt_ffi_user_data_add(struct pjrt_ffi_user_data_add *a) {
    if (!a->context)
        return pjrt_fail(HILO_INVALID_ARGUMENT, "the context of the execution is missing");
    return pjrt_context_add(a->context, a->type_id, a->data);
}

struct pjrt_error *pjrt_ffi_register_handler(struct pjrt_ffi_register_handler *a) {
    struct ffi_handlers handlers = {.stages = {NULL}};
    memcpy(&handlers.stages[FFI_EXECUTE], &a->handler, sizeof a->handler);
    return pjrt_ffi_register((struct str){a->target, a->target_size}, &handlers);
}

struct pjrt_error *pjrt_ffi_register_stages(struct pjrt_ffi_register_stages *a) {
    struct ffi_handlers handlers;
    memcpy(&handlers, a->stages, sizeof handlers);
    if (!handlers.stages[FFI_EXECUTE])
        return pjrt_fail(HILO_INVALID_ARGUMENT, "the custom call has no handler to execute");
    return pjrt_ffi_register((struct str){a->target, a->target_size}, &handlers);
}
