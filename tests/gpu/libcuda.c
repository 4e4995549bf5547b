/* A stand-in for NVIDIA's driver, libcuda.so.1, which runs launches on the machine of ptx.h. It implements what cuda.def lists,
 * by the driver's documentation, and is stricter than the driver:
 *   - Device memory is not the host's: its addresses are pages that nothing may access.
 *   - What is enqueued runs late: when the host waits for it, or, now and then, some of it before. Memory that is freed is
 *     given out again at once, which is legal in the order of the stream, and filled with nonsense before its next use.
 *   - Copies from pinned memory read it late.
 *   - The nodes of a graph run in any order that their dependencies allow. An update changes later launches alone.
 *   - Tensor maps are of device memory, and a kernel has pointers to what its maps are of.
 *   - Handles of devices are not their ordinals; each has a primary context, and a number of multiprocessors of its own.
 *   - Calls without a context, unknown handles, addresses outside of live memory and what ptx.h finds are reported on
 *     standard error, and every further call fails.
 * Environment: HILO_FAKE_CUDA_FAIL=n lets the n-th call fail (of those that may), HILO_FAKE_CUDA_MEMORY=bytes,
 * HILO_FAKE_CUDA_SM=90, HILO_FAKE_CUDA_NO_CUBINS=1, HILO_FAKE_CUDA_SEED=n, HILO_FAKE_CUDA_DEVICES=n,
 * HILO_FAKE_CUDA_PITCH=bytes that a row of a copy in a graph may have,
 * HILO_FAKE_CUDA_REPORT=file: a line is appended at the end,
 * "calls N failed N leaks N launches N uploads N downloads N bytes N peak N graphs N updates N waits N device N", where bytes
 * are those of uploads and downloads; launches are of single kernels, graphs of graphs, updates of their nodes, waits for
 * streams and events; the device is the ordinal of that whose context was retained last.
 * Leaks are told on standard error, too. */
#include "gpu/cubin.h"
#include "gpu/cuda.h"
#include "gpu/libcuda.h"
#include "gpu/ptx.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define EXPORT __attribute__((visibility("default")))
#define CUDA(name, ...) static int name(__VA_ARGS__);
#include "gpu/cuda.def"

enum {
    OK = 0, INVALID_VALUE = 1, OUT_OF_MEMORY = 2, NOT_INITIALIZED = 3, INVALID_DEVICE = 101, INVALID_CONTEXT = 201,
    NO_BINARY = 209,
    INVALID_PTX = 218, INVALID_HANDLE = 400, NOT_FOUND = 500, LAUNCH_FAILED = 719, UNKNOWN = 999
};
static const struct { int error; const char *name, *text; } error_names[] = {
    {INVALID_VALUE, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
    {OUT_OF_MEMORY, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
    {NOT_INITIALIZED, "CUDA_ERROR_NOT_INITIALIZED", "initialization error"},
    {INVALID_DEVICE, "CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal"},
    {INVALID_CONTEXT, "CUDA_ERROR_INVALID_CONTEXT", "invalid device context"},
    {NO_BINARY, "CUDA_ERROR_NO_BINARY_FOR_GPU", "no kernel image is available for execution on the device"},
    {INVALID_PTX, "CUDA_ERROR_INVALID_PTX", "a PTX JIT compilation failed"},
    {INVALID_HANDLE, "CUDA_ERROR_INVALID_HANDLE", "invalid resource handle"},
    {NOT_FOUND, "CUDA_ERROR_NOT_FOUND", "named symbol not found"},
    {LAUNCH_FAILED, "CUDA_ERROR_LAUNCH_FAILED", "unspecified launch failure"},
    {UNKNOWN, "CUDA_ERROR_UNKNOWN", "unknown error"}};

/* ---- state ----------------------------------------------------------------------------------- */

#define RANGE ((size_t)1 << 36) /* bytes of addresses */
enum { PAGE = 256, POISON = 0xA5, MOST_PARAMS = 512 };

struct allocation {
    struct allocation *next;
    struct stream *freed; /* by which it was freed last; or NULL */
    uint64_t address;     /* offset in the range */
    size_t bytes, room;
    bool live;
};
struct pinned { struct pinned *next; char *p; size_t bytes; };

struct function { struct function *next; struct module *module; char name[128]; unsigned shared; };
struct module { struct module *next; struct ptx *code; struct function *functions; };

enum kind { UPLOAD, DOWNLOAD, MOVE, LAUNCH, LIBRARY, FRESH, FREED };
struct work {
    struct work *next;
    enum kind kind;
    void *to;
    const void *from;
    size_t bytes;
    void *staged; /* what `from` was, of memory that is not pinned */
    void (*library)(void *user); /* with `to` */
    struct function *function;
    uint32_t blocks, shared, nparams, nmaps;
    struct hilo_gpu_map maps[HILO_GPU_MAPS];
    struct ptx_buffer params[];
};
/* A graph, or what was made of one to be launched: then `of` is the graph, whose nodes are those of the same numbers. */
struct node {
    size_t number;
    size_t *after, nafter;
    struct function *function; /* NULL: a copy */
    uint32_t blocks, shared, nparams, nmaps;
    struct hilo_gpu_map maps[HILO_GPU_MAPS];
    size_t bytes;
    uint64_t params[MOST_PARAMS]; /* of a copy: destination, source */
};
/* What a tensor map of this driver has in it; the param of `map` is not known yet. */
struct fake_map { uint64_t mark, address; struct hilo_gpu_map map; };
#define FAKE_MAP_MARK UINT64_C(0x70616D206F6C6968)
struct graph { const struct graph *of; struct node **nodes; size_t n; };
struct stream { struct work *first, **last; uint64_t enqueued, done; };
struct event { struct stream *stream; uint64_t after; /* so many works of it */ };

enum { MOST_DEVICES = 4, FIRST_DEVICE = 7 /* the handle of device 0 */ };

static struct {
    pthread_mutex_t lock;
    bool started, told;
    char *range, *storage; /* addresses that the host may not touch; the bytes that they stand for */
    uint64_t top, seed;
    size_t used, peak, memory;
    int retained[MOST_DEVICES], sticky, nstreams, nevents, ngraphs, last_device;
    uint64_t calls, fail, failed, launches, uploads, downloads, bytes /* of both */, graphs, updates, waits;
    uint64_t queued; /* work that was enqueued and is not done */
    struct allocation *allocations;
    struct pinned *pinned;
    struct module *modules;
} fake = {.lock = PTHREAD_MUTEX_INITIALIZER};
static char contexts[MOST_DEVICES]; /* their addresses are the primary contexts */
static _Thread_local void *current;

static uint64_t number(const char *name, uint64_t otherwise) {
    const char *text = getenv(name);
    return text && *text ? strtoull(text, NULL, 0) : otherwise;
}

static uint64_t next_random(void) {
    uint64_t z = fake.seed += UINT64_C(0x9E3779B97F4A7C15);
    z = (z ^ z >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    return (z ^ z >> 27) * UINT64_C(0x94D049BB133111EB) >> 32;
}

static int misuse(int error, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static int misuse(int error, const char *fmt, ...) {
    va_list args;
    va_start(args, fmt);
    fprintf(stderr, "fake cuda: ");
    vfprintf(stderr, fmt, args);
    fprintf(stderr, "\n");
    va_end(args);
    fake.sticky = error;
    return error;
}

static int count_devices(void) {
    uint64_t n = number("HILO_FAKE_CUDA_DEVICES", 1);
    return n < MOST_DEVICES ? (int)n : MOST_DEVICES;
}

/* The ordinal of a handle; -1 when there is none. */
static int ordinal_of(int device) {
    return device >= FIRST_DEVICE && device < FIRST_DEVICE + count_devices() ? device - FIRST_DEVICE : -1;
}

static bool is_context(const void *p) {
    for (int i = 0; i < MOST_DEVICES; i++)
        if (p == &contexts[i])
            return fake.retained[i] > 0;
    return false;
}

/* Begins a call that may fail; it ends with leave(). */
static int enter(bool needs_context, const char *name) {
    pthread_mutex_lock(&fake.lock);
    fake.calls++;
    if (fake.fail && fake.calls == fake.fail) {
        fake.failed++;
        return strstr(name, "Alloc") ? OUT_OF_MEMORY : UNKNOWN;
    }
    if (!fake.started)
        return NOT_INITIALIZED;
    if (needs_context && !is_context(current))
        return misuse(INVALID_CONTEXT, "%s without a context", name);
    return fake.sticky;
}

static int leave(int error) {
    pthread_mutex_unlock(&fake.lock);
    return error;
}

#define ENTER(needs_context)                          \
    int error = enter(needs_context, __func__);       \
    if (error)                                        \
    return leave(error)

/* Calls that free may not fail when they are told to: nothing could be done about it. */
#define ENTER_FREE()              \
    pthread_mutex_lock(&fake.lock); \
    int error = OK

/* ---- memory ---------------------------------------------------------------------------------- */

static struct allocation *allocation_at(uint64_t address) {
    uint64_t at = address - (uint64_t)(uintptr_t)fake.range;
    for (struct allocation *a = fake.allocations; a && address; a = a->next)
        if (a->live && at >= a->address && at < a->address + a->bytes)
            return a;
    return NULL;
}

/* The bytes of device memory; NULL, with a message, when they are not all of one allocation. */
static char *device_bytes(uint64_t address, size_t bytes, const char *what) {
    struct allocation *a = allocation_at(address);
    uint64_t at = address - (uint64_t)(uintptr_t)fake.range;
    if (a && bytes <= a->address + a->bytes - at)
        return fake.storage + at;
    misuse(INVALID_VALUE, "%s: %zu bytes at %llx are not device memory", what, bytes, (unsigned long long)address);
    return NULL;
}

static bool is_pinned(const void *p) {
    for (struct pinned *x = fake.pinned; x; x = x->next)
        if ((const char *)p >= x->p && (const char *)p < x->p + x->bytes)
            return true;
    return false;
}

/* ---- streams --------------------------------------------------------------------------------- */

static struct work *work_new(struct stream *s, enum kind kind, uint32_t nparams) {
    struct work *w = calloc(1, sizeof *w + nparams * sizeof *w->params);
    w->kind = kind;
    w->nparams = nparams;
    *s->last = w;
    s->last = &w->next;
    s->enqueued++;
    fake.queued++;
    return w;
}

static void run_launch(const struct work *w) {
    char why[256];
    if (!ptx_run(w->function->module->code, w->function->name, w->blocks, w->shared, w->params, w->nparams, w->maps, w->nmaps,
                 next_random(), NULL, why, sizeof why))
        misuse(LAUNCH_FAILED, "%s: %s", w->function->name, why);
}

static void run_some(struct stream *s, uint64_t n) {
    for (struct work *w; n-- > 0 && (w = s->first) != NULL && !fake.sticky;) {
        if (w->kind == LAUNCH)
            run_launch(w);
        else if (w->kind == LIBRARY)
            w->library(w->to);
        else if (w->kind == FRESH || w->kind == FREED)
            memset(w->to, POISON, w->bytes);
        else
            memmove(w->to, w->staged ? w->staged : w->from, w->bytes);
        s->first = w->next;
        if (!s->first)
            s->last = &s->first;
        s->done++;
        fake.queued--;
        free(w->staged);
        free(w);
    }
}

static void run_perhaps(struct stream *s) {
    if (next_random() % 4 == 0)
        run_some(s, next_random() % 8);
}

static void drop_all(struct stream *s) {
    for (struct work *w; (w = s->first) != NULL; free(w)) {
        s->first = w->next;
        fake.queued--;
        free(w->staged);
    }
}

static int cuStreamCreate(void **stream, unsigned flags) {
    (void)flags;
    ENTER(true);
    struct stream *s = calloc(1, sizeof *s);
    s->last = &s->first;
    fake.nstreams++;
    *stream = s;
    return leave(OK);
}

static int cuStreamDestroy(void *stream) {
    ENTER_FREE();
    run_some(stream, UINT64_MAX);
    drop_all(stream);
    for (struct allocation *a = fake.allocations; a; a = a->next)
        a->freed = a->freed == stream ? NULL : a->freed;
    free(stream);
    fake.nstreams--;
    return leave(error);
}

static int cuStreamSynchronize(void *stream) {
    ENTER(true);
    fake.waits++;
    run_some(stream, UINT64_MAX);
    return leave(fake.sticky);
}

static int cuEventCreate(void **event, unsigned flags) {
    ENTER(true);
    if (flags != 2)
        return leave(misuse(INVALID_VALUE, "an event with flags %u", flags));
    *event = calloc(1, sizeof(struct event));
    fake.nevents++;
    return leave(OK);
}

static int cuEventRecord(void *event, void *stream) {
    ENTER(true);
    *(struct event *)event = (struct event){stream, ((struct stream *)stream)->enqueued};
    return leave(OK);
}

/* What was enqueued later may wait. */
static int cuEventSynchronize(void *event) {
    ENTER(true);
    const struct event *e = event;
    fake.waits++;
    if (e->stream && e->after > e->stream->done)
        run_some(e->stream, e->after - e->stream->done);
    return leave(fake.sticky);
}

static int cuEventDestroy(void *event) {
    ENTER_FREE();
    free(event);
    fake.nevents--;
    return leave(error);
}

/* ---- memory, as the driver's functions ------------------------------------------------------- */

static int cuDeviceGetDefaultMemPool(void **pool, int device) {
    ENTER(false);
    *pool = &fake;
    return leave(ordinal_of(device) < 0 ? INVALID_DEVICE : OK);
}

static int cuMemPoolSetAttribute(void *pool, int attribute, void *value) {
    (void)value;
    ENTER(false);
    return leave(pool == &fake && attribute == 4 ? OK : INVALID_VALUE);
}

static int cuMemPoolTrimTo(void *pool, size_t keep) {
    (void)pool;
    (void)keep;
    ENTER_FREE();
    return leave(error);
}

static int cuMemAllocAsync(uint64_t *address, size_t bytes, void *stream) {
    ENTER(true);
    size_t room = (bytes + PAGE - 1) / PAGE * PAGE;
    if (!bytes)
        return leave(misuse(INVALID_VALUE, "cuMemAllocAsync of nothing"));
    if (room > fake.memory - fake.used)
        return leave(OUT_OF_MEMORY);
    struct allocation *a = fake.allocations;
    while (a && (a->live || a->room != room))
        a = a->next;
    if (!a) {
        if (room > RANGE - fake.top)
            return leave(OUT_OF_MEMORY);
        a = calloc(1, sizeof *a);
        *a = (struct allocation){fake.allocations, NULL, fake.top, bytes, room, true};
        fake.allocations = a;
        fake.top += room;
    }
    if (a->freed && a->freed != stream) /* the driver makes one stream wait for the other */
        run_some(a->freed, UINT64_MAX);
    a->bytes = bytes;
    a->live = true;
    fake.used += room;
    fake.peak = fake.used > fake.peak ? fake.used : fake.peak;
    struct work *w = work_new(stream, FRESH, 0);
    w->to = fake.storage + a->address;
    w->bytes = bytes;
    *address = (uint64_t)(uintptr_t)fake.range + a->address;
    return leave(OK);
}

static int cuMemFreeAsync(uint64_t address, void *stream) {
    ENTER_FREE();
    struct allocation *a = allocation_at(address);
    if (!a || address != (uint64_t)(uintptr_t)fake.range + a->address)
        return leave(misuse(INVALID_VALUE, "cuMemFreeAsync of what is not allocated"));
    a->live = false;
    a->freed = stream;
    fake.used -= a->room;
    struct work *w = work_new(stream, FREED, 0);
    w->to = fake.storage + a->address;
    w->bytes = a->bytes;
    return leave(error);
}

static int cuMemHostAlloc(void **p, size_t bytes, unsigned flags) {
    (void)flags;
    ENTER(true);
    struct pinned *x = calloc(1, sizeof *x);
    *x = (struct pinned){fake.pinned, aligned_alloc(64, (bytes + 63) / 64 * 64), bytes};
    fake.pinned = x;
    *p = x->p;
    return leave(OK);
}

static int cuMemFreeHost(void *p) {
    ENTER_FREE();
    for (struct pinned **at = &fake.pinned; *at; at = &(*at)->next)
        if ((*at)->p == p) {
            struct pinned *x = *at;
            *at = x->next;
            free(x->p);
            free(x);
            return leave(error);
        }
    return leave(misuse(INVALID_VALUE, "cuMemFreeHost of what is not pinned"));
}

static int cuMemcpyHtoDAsync(uint64_t to, const void *from, size_t bytes, void *stream) {
    ENTER(true);
    char *p = device_bytes(to, bytes, __func__);
    if (!p)
        return leave(INVALID_VALUE);
    struct work *w = work_new(stream, UPLOAD, 0);
    w->to = p;
    w->from = from;
    w->bytes = bytes;
    if (!is_pinned(from))
        w->staged = memcpy(malloc(bytes), from, bytes);
    fake.uploads++;
    fake.bytes += bytes;
    run_perhaps(stream);
    return leave(fake.sticky);
}

static int cuMemcpyDtoHAsync(void *to, uint64_t from, size_t bytes, void *stream) {
    ENTER(true);
    char *p = device_bytes(from, bytes, __func__);
    if (!p)
        return leave(INVALID_VALUE);
    struct work *w = work_new(stream, DOWNLOAD, 0);
    w->to = to;
    w->from = p;
    w->bytes = bytes;
    fake.downloads++;
    fake.bytes += bytes;
    if (is_pinned(to))
        run_perhaps(stream);
    else
        run_some(stream, UINT64_MAX);
    return leave(fake.sticky);
}

static int cuMemcpyDtoDAsync(uint64_t to, uint64_t from, size_t bytes, void *stream) {
    ENTER(true);
    char *p = device_bytes(to, bytes, __func__), *q = device_bytes(from, bytes, __func__);
    if (!p || !q)
        return leave(INVALID_VALUE);
    struct work *w = work_new(stream, MOVE, 0);
    w->to = p;
    w->from = q;
    w->bytes = bytes;
    run_perhaps(stream);
    return leave(fake.sticky);
}

/* ---- code ------------------------------------------------------------------------------------ */

/* The PTX in a cubin of the stand-in for nvJitLink that this device runs: of the same major version, or of this one;
   NULL, as for cubins of the true one. HILO_FAKE_CUDA_NO_CUBINS: it runs none. */
static const char *ptx_of_cubin(const char *image) {
    int mine = (int)number("HILO_FAKE_CUDA_SM", 90), sm = FAKE_CUBIN_SM(image);
    bool exact = FAKE_CUBIN_EXACT(image);
    if (memcmp(image + FAKE_CUBIN_MARK_AT, FAKE_CUBIN_MARK, sizeof FAKE_CUBIN_MARK) != 0 ||
        number("HILO_FAKE_CUDA_NO_CUBINS", 0) || (exact ? sm != mine : sm / 10 != mine / 10 || sm > mine))
        return NULL;
    return image + FAKE_CUBIN_HEAD;
}

/* PTX for sm_90a runs on 9.0 alone, that for sm_80 on all later GPUs, too. */
static bool runs_here(const char *text) {
    const char *target = strstr(text, ".target sm_");
    int sm = target ? atoi(target + strlen(".target sm_")) : 0, mine = (int)number("HILO_FAKE_CUDA_SM", 90);
    bool exact = target && target[strlen(".target sm_") + strspn(target + strlen(".target sm_"), "0123456789")] == 'a';
    return sm > 0 && (exact ? sm == mine : sm <= mine);
}

static int cuModuleLoadDataEx(void **module, const void *image, unsigned n, int *options, void **values) {
    ENTER(true);
    char why[256] = "PTX of another target", *log = NULL;
    size_t size = 0;
    for (unsigned i = 0; i < n; i++) {
        if (options[i] == 5)
            log = values[i];
        if (options[i] == 6)
            size = (size_t)(uintptr_t)values[i];
    }
    if (memcmp(image, "\177ELF", 4) == 0 && !(image = ptx_of_cubin(image)))
        return leave(NO_BINARY);
    struct ptx *code = runs_here(image) ? ptx_load(image, strlen(image), why, sizeof why) : NULL;
    if (!code) {
        if (log)
            snprintf(log, size, "ptxas error: %s", why);
        return leave(INVALID_PTX);
    }
    struct module *m = calloc(1, sizeof *m);
    m->code = code;
    m->next = fake.modules;
    fake.modules = m;
    *module = m;
    return leave(OK);
}

static int cuModuleUnload(void *module) {
    ENTER_FREE();
    for (struct module **at = &fake.modules; *at; at = &(*at)->next)
        if (*at == module) {
            struct module *m = *at;
            *at = m->next;
            for (struct function *f; (f = m->functions) != NULL; free(f))
                m->functions = f->next;
            ptx_free(m->code);
            free(m);
            return leave(error);
        }
    return leave(misuse(INVALID_HANDLE, "cuModuleUnload of an unknown module"));
}

static int cuModuleGetFunction(void **function, void *module, const char *name) {
    ENTER(true);
    struct module *m = module;
    if (!ptx_threads(m->code, name))
        return leave(NOT_FOUND);
    struct function *f = calloc(1, sizeof *f);
    f->module = m;
    f->shared = 48 << 10;
    f->next = m->functions;
    snprintf(f->name, sizeof f->name, "%s", name);
    m->functions = f;
    *function = f;
    return leave(OK);
}

static int cuFuncSetAttribute(void *function, int attribute, int value) {
    ENTER(true);
    struct function *f = function;
    if (attribute != 8 || value > 227 << 10)
        return leave(INVALID_VALUE);
    f->shared = (unsigned)value;
    return leave(OK);
}

static bool is_multiple(uint64_t v, uint64_t of) {
    return v % of == 0;
}

static int cuTensorMapEncodeTiled(void *map, int type, unsigned rank, void *address, const uint64_t *sizes,
                                  const uint64_t *strides, const unsigned *box, const unsigned *steps, int interleave,
                                  int swizzle, int l2, int fill) {
    ENTER(true);
    static const uint8_t bytes[] = {1, 2, 4, 0, 8}; /* of elements of these types */
    uint64_t at = (uint64_t)(uintptr_t)address, each = type >= 0 && type < (int)sizeof bytes ? bytes[type] : 0;
    if (!is_multiple((uint64_t)(uintptr_t)map, 64) || rank != 2 || !each || !is_multiple(at, 16) || interleave || fill ||
        l2 > 3 || swizzle != 3 || steps[0] != 1 || steps[1] != 1 || box[0] * each != 128 || box[1] < 1 || box[1] > 256)
        return leave(misuse(INVALID_VALUE, "a tensor map of another kind"));
    for (int i = 0; i < 2; i++)
        if (!sizes[i] || sizes[i] > (uint64_t)1 << 32)
            return leave(misuse(INVALID_VALUE, "a tensor map of %llu elements", (unsigned long long)sizes[i]));
    if (!is_multiple(*strides, 16) || *strides >> 40 || *strides < sizes[0] * each)
        return leave(misuse(INVALID_VALUE, "a tensor map of lines %llu bytes apart", (unsigned long long)*strides));
    if (!device_bytes(at, (sizes[1] - 1) * *strides + sizes[0] * each, __func__))
        return leave(INVALID_VALUE);
    struct fake_map x = {FAKE_MAP_MARK, at, {0, (uint32_t)each, box[1], sizes[0], sizes[1], *strides}};
    memset(map, 0, 128);
    memcpy(map, &x, sizeof x);
    return leave(OK);
}

/* The tensor maps of a launch, which follow its pointers. */
static uint32_t take_maps(const struct function *f, void *const *params, const uint64_t *addresses, uint32_t n,
                          struct hilo_gpu_map *out) {
    uint32_t nmaps = ptx_maps(f->module->code, f->name);
    if (nmaps > HILO_GPU_MAPS)
        misuse(INVALID_VALUE, "%s has %u tensor maps", f->name, nmaps);
    for (uint32_t i = 0; i < nmaps && !fake.sticky; i++) {
        struct fake_map x;
        uint32_t j = 0;
        memcpy(&x, params[n + i], sizeof x);
        while (j < n && addresses[j] != x.address)
            j++;
        if (x.mark != FAKE_MAP_MARK || j == n)
            misuse(INVALID_VALUE, "tensor map %u of %s is none, or of no pointer that it has", i, f->name);
        out[i] = x.map;
        out[i].param = j;
    }
    return nmaps;
}

/* Enqueues a kernel whose parameters are these addresses and maps of them. */
static void enqueue_launch(struct stream *stream, struct function *f, uint32_t blocks, uint32_t shared, const uint64_t *params,
                           uint32_t n, const struct hilo_gpu_map *maps, uint32_t nmaps) {
    if (fake.sticky)
        return;
    struct work *w = work_new(stream, LAUNCH, n);
    w->function = f;
    w->blocks = blocks;
    w->shared = shared;
    w->nmaps = nmaps;
    memcpy(w->maps, maps, nmaps * sizeof *maps);
    for (uint32_t i = 0; i < n; i++) {
        struct allocation *a = allocation_at(params[i]);
        uint64_t at = params[i] - (uint64_t)(uintptr_t)fake.range, from = a ? at / PAGE * PAGE : 0;
        if (a)
            w->params[i] = (struct ptx_buffer){fake.storage + from, a->address + a->bytes - from, at - from};
    }
}

static bool launch_is_right(const struct function *f, unsigned blocks, unsigned threads, unsigned shared) {
    return blocks && threads == ptx_threads(f->module->code, f->name) &&
           ptx_params(f->module->code, f->name) <= MOST_PARAMS && shared <= f->shared;
}

static int cuLaunchKernel(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                          unsigned shared, void *stream, void **params, void **extra) {
    ENTER(true);
    struct function *f = function;
    uint32_t n = ptx_params(f->module->code, f->name);
    uint64_t addresses[MOST_PARAMS];
    struct hilo_gpu_map maps[HILO_GPU_MAPS];
    if (extra || gy != 1 || gz != 1 || by != 1 || bz != 1 || !launch_is_right(f, gx, bx, shared))
        return leave(misuse(INVALID_VALUE, "cuLaunchKernel of %s with %u blocks of %u threads", f->name, gx, bx));
    for (uint32_t i = 0; i < n; i++)
        addresses[i] = *(uint64_t *)params[i];
    uint32_t nmaps = take_maps(f, params, addresses, n, maps);
    enqueue_launch(stream, f, gx, shared, addresses, n, maps, nmaps);
    fake.launches++;
    run_perhaps(stream);
    return leave(fake.sticky);
}

/* ---- graphs ---------------------------------------------------------------------------------- */

static int cuGraphCreate(void **graph, unsigned flags) {
    ENTER(true);
    if (flags)
        return leave(misuse(INVALID_VALUE, "a graph with flags %u", flags));
    *graph = calloc(1, sizeof(struct graph));
    fake.ngraphs++;
    return leave(OK);
}

static void free_graph(struct graph *x) {
    for (size_t i = 0; i < x->n; i++) {
        free(x->nodes[i]->after);
        free(x->nodes[i]);
    }
    free(x->nodes);
    free(x);
    fake.ngraphs--;
}

static int cuGraphDestroy(void *graph) {
    ENTER_FREE();
    free_graph(graph);
    return leave(error);
}

static int cuGraphExecDestroy(void *runnable) {
    ENTER_FREE();
    free_graph(runnable);
    return leave(error);
}

/* Nodes that it waits for have to be of the graph. */
static struct node *node_add(struct graph *x, void *const *after, size_t n) {
    struct node *node = calloc(1, sizeof *node);
    node->number = x->n;
    node->nafter = n;
    node->after = calloc(n + 1, sizeof *node->after);
    for (size_t i = 0; i < n; i++) {
        node->after[i] = ((const struct node *)after[i])->number;
        if (node->after[i] >= x->n || x->nodes[node->after[i]] != after[i])
            misuse(INVALID_VALUE, "a node that waits for one of another graph");
    }
    x->nodes = realloc(x->nodes, (x->n + 1) * sizeof(struct node *));
    return x->nodes[x->n++] = node;
}

static int set_launch(struct node *node, const struct cuda_launch *l) {
    struct function *f = l->function;
    if (l->extra || l->kernel || l->context || l->grid[1] != 1 || l->grid[2] != 1 || l->block[1] != 1 || l->block[2] != 1 ||
        !launch_is_right(f, l->grid[0], l->block[0], l->shared_bytes))
        return misuse(INVALID_VALUE, "a node that launches %s with %u blocks of %u threads", f->name, l->grid[0], l->block[0]);
    node->function = f;
    node->blocks = l->grid[0];
    node->shared = l->shared_bytes;
    node->nparams = ptx_params(f->module->code, f->name);
    for (uint32_t i = 0; i < node->nparams; i++)
        node->params[i] = *(uint64_t *)l->params[i];
    node->nmaps = take_maps(f, l->params, node->params, node->nparams, node->maps);
    return fake.sticky;
}

static size_t most_pitch(void) {
    return number("HILO_FAKE_CUDA_PITCH", INT32_MAX);
}

static int set_copy(struct node *node, const struct cuda_copy *c, const void *in) {
    const struct cuda_side *v[] = {&c->to, &c->from};
    for (int i = 0; i < 2; i++) {
        if (v[i]->x || v[i]->y || v[i]->z || v[i]->level || v[i]->reserved || v[i]->type != CUDA_DEVICE_MEMORY ||
            v[i]->pitch < c->width || v[i]->pitch > most_pitch() || v[i]->height != 1 ||
            c->height != 1 || c->depth != 1 || in != current)
            return misuse(INVALID_VALUE, "a node that copies what is not a row of bytes of the device");
        node->params[i] = v[i]->device;
    }
    node->bytes = c->width;
    return fake.sticky;
}

static int cuGraphAddKernelNode(void **node, void *graph, void *const *after, size_t n, const struct cuda_launch *launch) {
    ENTER(true);
    struct node *x = node_add(graph, after, n);
    *node = x;
    return leave(set_launch(x, launch));
}

static int cuGraphAddMemcpyNode(void **node, void *graph, void *const *after, size_t n, const struct cuda_copy *copy,
                                void *in) {
    ENTER(true);
    struct node *x = node_add(graph, after, n);
    *node = x;
    return leave(set_copy(x, copy, in));
}

static int cuGraphInstantiateWithFlags(void **runnable, void *graph, unsigned long long flags) {
    ENTER(true);
    const struct graph *from = graph;
    struct graph *x = calloc(1, sizeof *x);
    if (flags || !from->n)
        misuse(INVALID_VALUE, "cuGraphInstantiateWithFlags of %zu nodes", from->n);
    *x = (struct graph){.of = from, .n = from->n, .nodes = calloc(from->n + 1, sizeof *x->nodes)};
    for (size_t i = 0; i < x->n; i++) {
        size_t bytes = (from->nodes[i]->nafter + 1) * sizeof *from->nodes[i]->after;
        x->nodes[i] = memcpy(malloc(sizeof(struct node)), from->nodes[i], sizeof(struct node));
        x->nodes[i]->after = memcpy(malloc(bytes), from->nodes[i]->after, bytes);
    }
    fake.ngraphs++;
    *runnable = x;
    return leave(fake.sticky);
}

/* The copy of a node in what was made of its graph; NULL, with a message, where the one is not of the other. */
static struct node *node_to_update(const struct graph *x, const struct node *node) {
    fake.updates++;
    if (node->number < x->n && x->of->nodes[node->number] == node)
        return x->nodes[node->number];
    misuse(INVALID_VALUE, "an update of a node of another graph");
    return NULL;
}

static int cuGraphExecKernelNodeSetParams(void *runnable, void *node, const struct cuda_launch *launch) {
    ENTER(true);
    struct node *x = node_to_update(runnable, node);
    if (!x || x->function != launch->function) /* the driver allows others of the same context */
        return leave(misuse(INVALID_VALUE, "an update to another kernel"));
    return leave(set_launch(x, launch));
}

static int cuGraphExecMemcpyNodeSetParams(void *runnable, void *node, const struct cuda_copy *copy, void *in) {
    ENTER(true);
    struct node *x = node_to_update(runnable, node);
    if (!x || x->function)
        return leave(misuse(INVALID_VALUE, "an update of a kernel to a copy"));
    return leave(set_copy(x, copy, in));
}

static void enqueue_node(struct stream *stream, const struct node *x) {
    if (x->function) {
        enqueue_launch(stream, x->function, x->blocks, x->shared, x->params, x->nparams, x->maps, x->nmaps);
        return;
    }
    char *to = device_bytes(x->params[0], x->bytes, __func__), *from = device_bytes(x->params[1], x->bytes, __func__);
    if (!to || !from)
        return;
    struct work *w = work_new(stream, MOVE, 0);
    w->to = to;
    w->from = from;
    w->bytes = x->bytes;
}

/* Those that wait for nothing more, from a random one on. */
static int cuGraphLaunch(void *runnable, void *stream) {
    ENTER(true);
    const struct graph *x = runnable;
    bool *done = calloc(x->n, 1);
    for (size_t left = x->n, at = next_random() % x->n; left && !fake.sticky; at = (at + 1) % x->n) {
        bool ready = !done[at];
        for (size_t i = 0; i < x->nodes[at]->nafter; i++)
            ready &= done[x->nodes[at]->after[i]];
        if (!ready)
            continue;
        enqueue_node(stream, x->nodes[at]);
        done[at] = true;
        left--;
    }
    free(done);
    fake.graphs++;
    run_perhaps(stream);
    return leave(fake.sticky);
}

/* ---- devices --------------------------------------------------------------------------------- */

static int cuInit(unsigned flags) {
    pthread_mutex_lock(&fake.lock);
    if (!fake.started) {
        fake.fail = number("HILO_FAKE_CUDA_FAIL", fake.fail);
        fake.memory = number("HILO_FAKE_CUDA_MEMORY", (uint64_t)1 << 32);
        fake.seed = number("HILO_FAKE_CUDA_SEED", 1);
        fake.range = mmap(NULL, RANGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        fake.storage = mmap(NULL, RANGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        fake.started = fake.range != MAP_FAILED && fake.storage != MAP_FAILED;
    }
    pthread_mutex_unlock(&fake.lock);
    ENTER(false);
    return leave(flags ? INVALID_VALUE : OK);
}

static int cuDriverGetVersion(int *version) {
    ENTER(false);
    *version = 12040;
    return leave(OK);
}

static int cuGetErrorName(int code, const char **name) {
    *name = NULL;
    for (size_t i = 0; i < sizeof error_names / sizeof *error_names; i++)
        if (error_names[i].error == code)
            *name = error_names[i].name;
    return *name ? OK : INVALID_VALUE;
}

static int cuGetErrorString(int code, const char **text) {
    *text = NULL;
    for (size_t i = 0; i < sizeof error_names / sizeof *error_names; i++)
        if (error_names[i].error == code)
            *text = error_names[i].text;
    return *text ? OK : INVALID_VALUE;
}

static int cuDeviceGetCount(int *n) {
    ENTER(false);
    *n = count_devices();
    return leave(OK);
}

static int cuDeviceGet(int *device, int ordinal) {
    ENTER(false);
    *device = FIRST_DEVICE + ordinal;
    return leave(ordinal_of(*device) < 0 ? INVALID_DEVICE : OK);
}

static int cuDeviceGetName(char *name, int size, int device) {
    ENTER(false);
    snprintf(name, (size_t)size, "stand-in GPU");
    return leave(ordinal_of(device) < 0 ? INVALID_DEVICE : OK);
}

static int cuDeviceGetAttribute(int *value, int attribute, int device) {
    ENTER(false);
    int sm = (int)number("HILO_FAKE_CUDA_SM", 90), ordinal = ordinal_of(device);
    const struct { int attribute, value; } known[] = {{11, (int)most_pitch()}, {16, 4 + ordinal}, {38, 1 << 20}, {75, sm / 10},
                                                      {76, sm % 10},           {97, 232448},      {115, 1}};
    for (size_t i = 0; i < sizeof known / sizeof *known && ordinal >= 0; i++)
        if (known[i].attribute == attribute) {
            *value = known[i].value;
            return leave(OK);
        }
    return leave(INVALID_VALUE);
}

static int cuDeviceTotalMem(size_t *bytes, int device) {
    ENTER(false);
    *bytes = fake.memory;
    return leave(ordinal_of(device) < 0 ? INVALID_DEVICE : OK);
}

static int cuDevicePrimaryCtxRetain(void **to, int device) {
    ENTER(false);
    int ordinal = ordinal_of(device);
    if (ordinal < 0)
        return leave(INVALID_DEVICE);
    fake.retained[ordinal]++;
    fake.last_device = ordinal;
    *to = &contexts[ordinal];
    return leave(OK);
}

static int cuDevicePrimaryCtxRelease(int device) {
    ENTER_FREE();
    int ordinal = ordinal_of(device);
    if (ordinal < 0 || fake.retained[ordinal] == 0)
        return leave(misuse(INVALID_DEVICE, "%s of a device without a context", __func__));
    fake.retained[ordinal]--;
    return leave(error);
}

static int cuCtxSetCurrent(void *to) {
    ENTER(false);
    current = to;
    return leave(OK);
}

/* ---- names ----------------------------------------------------------------------------------- */

static const struct { const char *name; void (*function)(void); } functions[] = {
#define CUDA(name, ...) {#name, (void (*)(void))name},
#include "gpu/cuda.def"
};

EXPORT int cuGetProcAddress_v2(const char *name, void **function, int version, uint64_t flags, int *found);
EXPORT int cuGetProcAddress_v2(const char *name, void **function, int version, uint64_t flags, int *found) {
    (void)flags;
    (void)found;
    *function = NULL;
    for (size_t i = 0; i < sizeof functions / sizeof *functions && version >= 12000; i++)
        if (strcmp(functions[i].name, name) == 0)
            memcpy(function, &functions[i].function, sizeof *function);
    return *function ? OK : NOT_FOUND;
}

/* ---- the end --------------------------------------------------------------------------------- */

static uint64_t count_live(void) {
    uint64_t n = (uint64_t)(fake.nstreams + fake.nevents + fake.ngraphs);
    for (int i = 0; i < MOST_DEVICES; i++)
        n += (uint64_t)fake.retained[i];
    for (struct allocation *a = fake.allocations; a; a = a->next)
        n += a->live;
    for (struct pinned *x = fake.pinned; x; x = x->next)
        n++;
    for (struct module *m = fake.modules; m; m = m->next)
        n++;
    return n;
}

EXPORT void fake_cuda_fail(uint64_t after) {
    pthread_mutex_lock(&fake.lock);
    fake.fail = after == UINT64_MAX ? 0 : fake.calls + after + 1;
    pthread_mutex_unlock(&fake.lock);
}

EXPORT void fake_cuda_enqueue(void *stream, void (*work)(void *user), void *user) {
    pthread_mutex_lock(&fake.lock);
    struct work *w = work_new(stream, LIBRARY, 0);
    w->library = work;
    w->to = user;
    run_perhaps(stream);
    pthread_mutex_unlock(&fake.lock);
}

EXPORT char *fake_cuda_bytes(uint64_t address, size_t bytes) {
    pthread_mutex_lock(&fake.lock);
    char *p = device_bytes(address, bytes, "a library");
    pthread_mutex_unlock(&fake.lock);
    return p;
}

EXPORT int fake_cuda_has_context(void) {
    return is_context(current);
}

EXPORT void fake_cuda_read(struct fake_cuda *out) {
    pthread_mutex_lock(&fake.lock);
    *out = (struct fake_cuda){fake.calls, fake.failed, count_live(), fake.launches, fake.graphs, fake.updates, fake.uploads,
                              fake.downloads, fake.waits, fake.queued};
    pthread_mutex_unlock(&fake.lock);
}

__attribute__((destructor)) static void report(void) {
    uint64_t leaks = count_live();
    const char *path = getenv("HILO_FAKE_CUDA_REPORT");
    for (struct allocation *a = fake.allocations, *next; a; a = next) {
        next = a->next;
        free(a);
    }
    if (leaks)
        fprintf(stderr, "fake cuda: %llu handles or allocations were not freed\n", (unsigned long long)leaks);
    FILE *f = path && *path ? fopen(path, "a") : NULL;
    if (!f)
        return;
    fprintf(f, "calls %llu failed %llu leaks %llu launches %llu uploads %llu downloads %llu bytes %llu peak %zu "
               "graphs %llu updates %llu waits %llu device %d\n",
            (unsigned long long)fake.calls, (unsigned long long)fake.failed, (unsigned long long)leaks,
            (unsigned long long)fake.launches, (unsigned long long)fake.uploads, (unsigned long long)fake.downloads,
            (unsigned long long)fake.bytes, fake.peak, (unsigned long long)fake.graphs, (unsigned long long)fake.updates,
            (unsigned long long)fake.waits, fake.last_device);
    fclose(f);
}
