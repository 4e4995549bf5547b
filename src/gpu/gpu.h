/* NVIDIA GPUs through their driver, which is opened when a device is first asked for.
 *
 *   cuda.def, driver.c   the driver's functions, its errors        device.c   devices: context, stream, properties
 *   memory.c             device and pinned memory, copies          module.c   PTX to functions, launches
 *   graph.c              many launches as one
 *
 * All work of a device goes through one stream: launches, copies and the end of memory are done in the order in which they were
 * enqueued, so memory that is freed while a kernel still uses it may be given out at once. The host waits (gpu_wait) before it
 * reads what was copied to it. Every function may be called from any thread. Addresses of device memory are not the host's to
 * read or write. */
#ifndef HILO_GPU_GPU_H
#define HILO_GPU_GPU_H

#include "base/diag.h"
#include "base/mem.h"
#include "base/str.h"
#include "hilo_kernel_abi.h"

#include <stdint.h>

/* ---- devices (device.c) ------------------------------------------------------------------------ */

struct gpu;

struct gpu_properties {
    char name[96];
    int32_t ordinal, major, minor;  /* its number; compute capability */
    int32_t multiprocessors, driver; /* driver: version, 12040 = 12.4 */
    size_t memory_bytes, l2_bytes, shared_bytes; /* shared: at most for a thread block */
};

/* What is in use of its memory, by this process through hilo. */
struct gpu_memory {
    size_t used_bytes, peak_bytes;
    uint64_t allocations; /* made so far */
};

/* UNAVAILABLE, saying what to install, where there is no driver. */
hilo_status gpu_count(struct diag_list *d, int32_t *out);
hilo_status gpu_describe(int32_t ordinal, struct diag_list *d, struct gpu_properties *out);
/* Opens a device. NOT_FOUND when there are fewer; UNIMPLEMENTED for one without memory pools. Freed by gpu_close, before which
   its modules and memory are freed; NULL is fine. */
hilo_status gpu_open(int32_t ordinal, const hilo_allocator *al, struct diag_list *d, struct gpu **out);
void gpu_close(struct gpu *g);
const struct gpu_properties *gpu_properties(const struct gpu *g);

/* Waits until all that was enqueued is done. What failed since the last wait is reported here. */
hilo_status gpu_wait(struct gpu *g, struct diag_list *d);

/* Its stream, as the driver has it, for libraries; the device's context becomes that of the calling thread. */
hilo_status gpu_stream(struct gpu *g, struct diag_list *d, void **out);

/* What a library has for this device, its handle: made by the first that asks for it (with the context as above), shared by all
   threads, and released by gpu_close, in any order, with the context. `library` tells them apart: it is compared by address,
   and outlives the device. A failure of `make` is returned, and the next that asks has it made again. */
struct gpu_library {
    hilo_status (*make)(struct gpu *g, struct diag_list *d, void **out);
    void (*release)(void *handle);
};
hilo_status gpu_library(struct gpu *g, const struct gpu_library *library, struct diag_list *d, void **out);

/* An event after all that was enqueued so far, to wait for that alone. It ends with gpu_event_wait or gpu_event_free, before
   gpu_close. */
struct gpu_event;
hilo_status gpu_event_record(struct gpu *g, struct diag_list *d, struct gpu_event **out);
hilo_status gpu_event_wait(struct gpu *g, struct gpu_event *e, struct diag_list *d);
/* Moves it after all that was enqueued so far; ends it without a wait (NULL is fine). */
hilo_status gpu_event_move(struct gpu *g, struct gpu_event *e, struct diag_list *d);
void gpu_event_free(struct gpu *g, struct gpu_event *e);

/* ---- memory (memory.c) ------------------------------------------------------------------------- */

/* Device memory, aligned to 256 bytes. RESOURCE_EXHAUSTED tells what is in use, and of how much; `what` is what it is for. */
hilo_status gpu_alloc(struct gpu *g, size_t bytes, const char *what, struct diag_list *d, void **out);
void gpu_free(struct gpu *g, void *p, size_t bytes); /* NULL is fine */
struct gpu_memory gpu_memory(struct gpu *g);
/* Host memory that copies need not wait for. */
hilo_status gpu_host_alloc(struct gpu *g, size_t bytes, struct diag_list *d, void **out);
void gpu_host_free(struct gpu *g, void *p); /* waits for the copies; NULL is fine */

/* Enqueues a copy. Of pinned memory it reads and writes later: until gpu_wait nothing else may; of other memory, once it
   returns, it is done with. */
enum gpu_direction { GPU_TO_DEVICE, GPU_TO_HOST, GPU_ON_DEVICE };
hilo_status gpu_copy(struct gpu *g, enum gpu_direction direction, void *to, const void *from, size_t bytes,
                     struct diag_list *d);

/* ---- code (module.c) --------------------------------------------------------------------------- */

struct gpu_module;
struct gpu_function;

/* Loads PTX, or a cubin, of which the headers are checked; a failure has the log of the driver's compiler.
   FAILED_PRECONDITION for what this driver and device cannot run. `image` may be freed afterwards. */
hilo_status gpu_module_load(struct gpu *g, struct str image, struct diag_list *d, struct gpu_module **out);
void gpu_module_free(struct gpu_module *m); /* NULL is fine; waits for what runs of it */
/* NULL, without a diagnostic, when it has none of this name. It lives as long as the module. */
struct gpu_function *gpu_module_find(struct gpu_module *m, const char *name);
/* Lets launches of a function have so much dynamic shared memory. Before those that have more than 48 KiB. */
hilo_status gpu_function_shared(struct gpu *g, struct gpu_function *f, uint32_t bytes, struct diag_list *d);
/* Enqueues a launch; params: an address for each of its parameters. */
hilo_status gpu_launch(struct gpu *g, struct gpu_function *f, const struct hilo_gpu_launch *launch, void *const *params,
                       struct diag_list *d);

/* ---- graphs (graph.c) -------------------------------------------------------------------------- */

struct gpu_graph;

/* A list of launches and copies, to be enqueued at once, by one thread at a time: recorded after _begin, run by _run; each time
   anew, in which what equals the list of the last time costs little. `launch` outlives the graph. An error of _run leaves a
   graph that can be recorded again; nothing was enqueued. */
hilo_status gpu_graph_new(struct gpu *g, struct diag_list *d, struct gpu_graph **out);
void gpu_graph_begin(struct gpu_graph *x);
hilo_status gpu_graph_launch(struct gpu_graph *x, struct gpu_function *f, const struct hilo_gpu_launch *launch,
                             void *const *params, struct diag_list *d);
hilo_status gpu_graph_copy(struct gpu_graph *x, void *to, const void *from, size_t bytes, struct diag_list *d);
hilo_status gpu_graph_run(struct gpu_graph *x, struct diag_list *d);
void gpu_graph_free(struct gpu_graph *x); /* NULL is fine; waits for it. Before its modules are freed */

#endif
