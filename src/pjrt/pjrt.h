/* The PJRT plugin: hilo as a backend of JAX and other frameworks. The loadable module exports one symbol, GetPjrtApi.
 *
 *   api.c         the table of functions; checks of all of them: struct sizes, missing handles
 *   error.c       errors, made of statuses and of hilo's diagnostics
 *   event.c       events: set once, awaited by threads and callbacks
 *   queue.c       the thread of a device, and its jobs
 *   client.c      clients, devices, memories
 *   nodes.c       several processes: the key-value store, the other nodes
 *   remote.c      transfers between processes
 *   topology.c    descriptions of devices without a client
 *   proto.c       the few messages of protocol buffers that cross the interface
 *   options.c     compile options, client options
 *   buffer.c      buffers: life, properties, references from outside
 *   transfer.c    between host and buffers, between buffers
 *   manager.c     buffers that are filled piece by piece; buffers that another buffer or an error will fulfil
 *   executable.c  compiling, loading, saving; properties of programs
 *   ports.c       layouts, memories and donations of parameters and results
 *   execute.c     running
 *   extension.c   extensions of the interface
 *   ffi.c, call.c custom calls
 *   partitioner.c custom calls that their framework divides
 *   unimplemented.c  functions that are not implemented
 *
 * Functions of the interface are pjrt_<Name>, a row of pjrt_api.def each; they return an error, or NULL. They may be
 * called from any thread. A handle that is destroyed must not be in use, but what it stands for lives on while
 * something needs it: handles are counted references. */
#ifndef HILO_PJRT_PJRT_H
#define HILO_PJRT_PJRT_H

#include "base/str.h"
#include "hilo.h"
#include "pjrt/pjrt_api.h"

#include <pthread.h>
#include <stdatomic.h>

/* Forwards an error of the interface. */
#define PJRT_TRY(expr)                            \
    do {                                          \
        struct pjrt_error *try_error_ = (expr);   \
        if (try_error_)                           \
            return try_error_;                    \
    } while (0)

#define FN(name, handle, in, rest) struct pjrt_error *pjrt_##name(struct pjrt_##name *a);
#define FN_FREE(name, in, rest)    struct pjrt_error *pjrt_##name(struct pjrt_##name *a);
#define FN_VOID(name, in, rest)    void pjrt_##name(struct pjrt_##name *a);
#include "pjrt/pjrt_api.def"

/* Copies a struct of the caller's, which begins with its size, over zeroes; NULL leaves them. */
void pjrt_struct(void *out, size_t size, const void *given);

/* ---- memory (error.c) ---- */

/* Zeroed; NULL when exhausted. */
void *pjrt_alloc(size_t n, size_t size);
/* A terminated copy; NULL when exhausted. */
char *pjrt_dup(const char *p, size_t n);

/* Memory that the caller reads and then passes to its deleter: a reference to the object that owns it. */
struct pjrt_bytes {
    void (*release)(void *object);
    void *object;
};
struct pjrt_bytes *pjrt_bytes_new(void (*release)(void *object), void *object);
/* An owner of a copy, which *bytes is set to; NULL when memory is exhausted. */
struct pjrt_bytes *pjrt_bytes_copy(const char *p, size_t n, const char **bytes);
void pjrt_bytes_delete(struct pjrt_bytes *b);

/* ---- errors (error.c) ---- */

enum pjrt_payload { PJRT_PLACE, PJRT_LABEL, PJRT_SOURCE, PJRT_NPAYLOADS };

struct pjrt_error {
    const struct pjrt_error_table *table;
    int code;                           /* hilo_status */
    char *text;
    size_t text_size;
    char *payloads[PJRT_NPAYLOADS];     /* of the first diagnostic; or NULL */
};

/* Never NULL: when memory is exhausted, the one static error for that. */
struct pjrt_error *pjrt_fail(hilo_status status, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
struct pjrt_error *pjrt_fail_n(int code, const char *text, size_t n);
struct pjrt_error *pjrt_exhausted(void);
struct pjrt_error *pjrt_error_copy(const struct pjrt_error *error); /* NULL for NULL */
void pjrt_error_free(struct pjrt_error *error);                     /* NULL is fine */

/* The diagnostics of this thread between begin and end become one error. */
struct pjrt_capture {
    struct pjrt_capture *outer;
    struct strbuf text;
    char *payloads[PJRT_NPAYLOADS];
};
void pjrt_capture_begin(struct pjrt_client *client, struct pjrt_capture *l);
/* The error for `status`; NULL for HILO_OK. */
struct pjrt_error *pjrt_capture_end(struct pjrt_client *client, struct pjrt_capture *l, hilo_status status);
/* The log function of hilo's clients, `user` is the pjrt_client: writes warnings to stderr, each text once for a client, as
   frameworks do, unless TF_CPP_MIN_LOG_LEVEL sets less or more. Errors are not written: the caller gets them. */
void pjrt_log(void *user, hilo_log_level level, const char *message);
/* Logs a warning `what: names`, where there are any. */
void pjrt_log_ignored(struct pjrt_client *client, const char *what, const struct strbuf *names);
/* The diagnostic function of hilo clients; `user` is the pjrt_client. */
void pjrt_on_diagnostic(void *user, const hilo_diagnostic *d);

/* ---- events (event.c) ---- */

struct pjrt_waiter;

struct pjrt_event {
    atomic_int refs;
    atomic_bool ready;
    pthread_mutex_t lock;
    pthread_cond_t set;
    struct pjrt_error *error;       /* once ready; or NULL */
    struct pjrt_waiter *waiters;    /* oldest first */
};

struct pjrt_event *pjrt_event_new(void); /* NULL when memory is exhausted */
struct pjrt_event *pjrt_event_ref(struct pjrt_event *e);
void pjrt_event_unref(struct pjrt_event *e);
/* Takes over the error. What was set stays as it is. */
void pjrt_event_set(struct pjrt_event *e, struct pjrt_error *error);
bool pjrt_event_ready(struct pjrt_event *e);
/* Waits; the error belongs to the event. */
const struct pjrt_error *pjrt_event_wait(struct pjrt_event *e);
/* Calls `fn` with a copy of the error: at once when the event is ready, else on the thread that sets it. */
struct pjrt_error *pjrt_event_then(struct pjrt_event *e, pjrt_ready_fn *fn, void *user);

/* ---- queues (queue.c) ---- */

struct pjrt_job {
    struct pjrt_job *next;
    void (*run)(struct pjrt_job *job); /* ends the job's life */
};

/* A thread that does one job after the other. It is started by the first. */
struct pjrt_queue {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct pjrt_job *first, **last;
    atomic_int pending;     /* jobs that have not ended */
    bool started, ended;
    pthread_t thread;
};

void pjrt_queue_init(struct pjrt_queue *q);
/* Does what is left, then ends the thread. */
void pjrt_queue_end(struct pjrt_queue *q);
/* False when no thread can be had: then the job is still the caller's. */
bool pjrt_queue_push(struct pjrt_queue *q, struct pjrt_job *job);

/* ---- clients, devices, memories (client.c, topology.c) ---- */

enum { PJRT_MOST_DEVICES = 256 };
#define PJRT_PLATFORM "hilo"
#define PJRT_PLATFORM_GPU PJRT_PLATFORM "_gpu"

/* Kinds of memory of a device: all are the host's; of a GPU the first is its own. */
#define PJRT_MEMORY_KINDS(M) M(DEVICE, "device") M(PINNED, "pinned_host") M(UNPINNED, "unpinned_host")
enum pjrt_memory_kind {
#define M(id, name) PJRT_MEMORY_##id,
    PJRT_MEMORY_KINDS(M)
#undef M
    PJRT_NKINDS
};
extern const char *const pjrt_memory_kinds[PJRT_NKINDS];

struct pjrt_description {
    int id;
    int process;     /* that owns it: the node */
    char *text; /* "HILO_0" */
    const char *kind; /* what it is called, the platform's name or the GPU's; of the topology, or the client */
};

struct pjrt_topology {
    size_t ndevices;
    struct pjrt_description *descriptions;
    struct pjrt_description **list;
    const char *platform;   /* the same plugin is two of them, for processors and for GPUs */
    const char *target;     /* of the GPUs, a row of targets.def; "" = processors, or not known */
    char *version;          /* of the platform: of hilo, and what it runs on */
    uint64_t fingerprint;
};

/* gpu: for GPUs of this target; NULL = for processors. RESOURCE_EXHAUSTED is the only failure. */
struct pjrt_error *pjrt_topology_init(struct pjrt_topology *t, size_t ndevices, const char *gpu);
struct comm;
/* Tells the devices of which node they are. */
void pjrt_topology_of_nodes(struct pjrt_topology *t, const struct comm *comm);
void pjrt_topology_free(struct pjrt_topology *t);

struct pjrt_user_data;

struct pjrt_memory {
    const struct pjrt_memory_table *table;
    struct pjrt_device *device;
    enum pjrt_memory_kind kind;
    int id;
    char *text;
    pthread_mutex_t lock;
    struct pjrt_user_data *data; /* guarded by the lock */
};

struct pjrt_device {
    struct pjrt_client *client;
    struct pjrt_description *description;
    struct pjrt_memory memories[PJRT_NKINDS];
    struct pjrt_memory *list[PJRT_NKINDS];
    struct pjrt_queue queue;
    struct pjrt_queue marks; /* waits until what runs have enqueued for a GPU is done */
    int local;       /* its number among those of this process; -1: it is another one's */
};

/* Counts the memory of a client. */
struct pjrt_alloc_stats {
    hilo_allocator al;
    atomic_size_t now, peak, largest, count;
};

/* What the interface cannot say: counters that a framework in this process keeps. */
struct pjrt_framework {
    _Atomic int64_t host_guarded; /* not 0 while transfers to the host are guarded: buffers are not shared but copied */
    _Atomic int64_t compiling;    /* not 0 while it compiles, when it requests programs for their shardings alone */
};

enum { PJRT_TEXT = 1024 }; /* bytes of an option that is a text, with its NUL */

struct pjrt_client_options {
    int64_t devices;     /* HILO_NUM_DEVICES; default 1 */
    int64_t node, nodes; /* the number of this process, of how many */
    int64_t threads;     /* 0 = as many as there are cores */
    int64_t level;       /* of optimisation; default 2 */
    int64_t memory_limit; /* bytes of results and temporaries of a program; 0 = none */
    hilo_backend backend;
    int64_t framework;   /* address of a struct pjrt_framework, which outlives the client; 0 = there is none */
    char device[PJRT_TEXT]; /* that programs run on; "" = the processor */
    bool program;        /* returns the optimised program on request */
    char dump_to[PJRT_TEXT]; /* directory for programs, HILO_DUMP_TO; "" = none */
    char unchanged[PJRT_TEXT]; /* of a compilation: see pjrt_compile_options */
};

struct pjrt_client {
    atomic_int refs;
    hilo_client *hilo;
    bool gpu;                      /* programs run on one: what is enqueued is done later */
    struct pjrt_client_options options;
    struct pjrt_topology topology;
    struct pjrt_device *devices;   /* topology.ndevices, of all processes */
    struct pjrt_device **list;
    size_t first, here;            /* this process's devices: first … first + here - 1 */
    struct pjrt_memory **memories; /* of these */
    struct pjrt_event *done;       /* an event that is ready */
    hilo_buffer *token;            /* a token */
    pthread_key_t listener;        /* of the thread, struct pjrt_capture; or NULL */
    pthread_key_t running;         /* of the thread, struct pjrt_running; or NULL */
    atomic_int_least64_t next_run; /* of the last run, its id */
    struct pjrt_queue *workers;    /* for the tasks of custom calls */
    size_t nworkers;               /* as many as the client has threads */
    atomic_size_t next_worker;
    struct { uint64_t *v; size_t n; } told; /* guarded by the lock: hashes of warnings that were logged */
    uint64_t last_mark;            /* guarded by the lock */
    pthread_mutex_t lock;          /* of what buffers change */
    pthread_mutex_t launch;        /* held while the queues of several devices get their parts of one run */
    struct pjrt_alloc_stats alloc_stats;
};

/* NULL when there is none. */
static inline const struct pjrt_framework *pjrt_framework(const struct pjrt_client *c) {
    return (const struct pjrt_framework *)(intptr_t)c->options.framework;
}

/* The key-value store of a framework (nodes.c): callbacks of its, valid while the client is created. */
struct pjrt_store {
    void *get, *get_user, *put, *put_user;
};
/* The arguments of these callbacks, which make errors by `error`. */
typedef struct pjrt_error *pjrt_kv_error(int code, const char *message, size_t message_size);
struct pjrt_kv_get {
    PJRT_HEAD
    const char *key;
    size_t key_size;
    int timeout_in_ms;
    pjrt_kv_error **error;
    void *user;
    char *value; /* from here on set by the callback */
    size_t value_size;
    void (*deleter)(char *value);
};
struct pjrt_kv_put {
    PJRT_HEAD
    const char *key;
    size_t key_size;
    const char *value;
    size_t value_size;
    pjrt_kv_error **error;
    void *user;
};
typedef struct pjrt_error *pjrt_kv_get_fn(struct pjrt_kv_get *a);
typedef struct pjrt_error *pjrt_kv_put_fn(struct pjrt_kv_put *a);
hilo_node_store pjrt_store(struct pjrt_store *store); /* which outlives it */

struct pjrt_client *pjrt_client_ref(struct pjrt_client *c);
void pjrt_client_unref(struct pjrt_client *c);

/* ---- options (options.c, proto.c) ---- */

/* A field of a message in the wire format of protocol buffers. */
struct pjrt_field {
    uint32_t number;
    uint64_t value;    /* of a varint or fixed field */
    struct str bytes;  /* of a field with a length; else p is NULL */
};
/* Steps through a message, which shrinks: 1 = there was a field, 0 = the end, -1 = it is damaged. */
int pjrt_proto_next(struct str *message, struct pjrt_field *out);
/* One number of a packed list, which shrinks; false when there is none. */
bool pjrt_proto_value(struct str *list, uint64_t *out);
void pjrt_proto_varint(struct strbuf *out, uint32_t number, uint64_t value);
void pjrt_proto_bytes(struct strbuf *out, uint32_t number, struct str bytes);

/* What hilo uses of a CompileOptionsProto. */
struct pjrt_compile_options {
    int64_t nreplicas, npartitions;
    struct str assignment;     /* DeviceAssignmentProto, in the bytes that were read; empty = not said */
    int64_t device_ordinal;    /* -1 = not said */
    bool portable;             /* for any device */
    int32_t level;
    int64_t memory_limit; /* bytes; 0 = none */
    hilo_backend backend;
    char dump_to[PJRT_TEXT]; /* "" = none */
    char unchanged[PJRT_TEXT]; /* parameters that are the same buffers in most runs, "0-147,150"; "" = none */
};
/* The next range of such a text, which the options' reader has checked: parameters first … last. False at the end, *ok false
   where it is none. */
bool pjrt_range_next(struct str *text, uint32_t *first, uint32_t *last, bool *ok);
/* Options that cannot be obeyed are refused, but for hints, whose names are appended to `ignored`, unless that is NULL. */
struct pjrt_error *pjrt_compile_options_read(struct str bytes, const struct pjrt_client_options *defaults,
                                             struct pjrt_compile_options *out, struct strbuf *ignored);
/* The devices of an assignment, `n` of them, computation by computation within a replica. */
struct pjrt_error *pjrt_assignment_read(struct str bytes, int64_t nreplicas, int64_t npartitions, int *ids);
/* Writes one; the ids are in the same order. */
void pjrt_assignment_write(struct strbuf *out, int64_t nreplicas, int64_t npartitions, const int *ids);

/* Options of a client: from XLA_FLAGS, from other variables, then from its creator; the last counts. The names of flags without
   effect are appended to `ignored`, unless that is NULL. */
struct pjrt_error *pjrt_client_options_read(const struct pjrt_named *named, size_t n, struct pjrt_client_options *out,
                                            struct strbuf *ignored);

/* ---- buffers (buffer.c, transfer.c) ---- */

struct pjrt_buffer {
    atomic_int refs;
    struct pjrt_client *client;
    struct pjrt_memory *memory;
    struct pjrt_event *ready;
    hilo_dtype dtype;
    uint32_t rank;
    size_t bytes;
    const int64_t *minor_to_major; /* the layout: rank dimensions, the fastest varying first */
    /* guarded by the client's lock: */
    hilo_buffer *data;      /* NULL until it is ready, and once it is not needed any more */
    bool deleted;           /* for all callers; the data stays while it is held */
    int held;               /* by runs and transfers that are under way, and from outside */
    int external;           /* of those, from outside */
    uint64_t mark;          /* of the last call that donated it: the client's last_mark then */
    enum { PJRT_UNASKED, PJRT_ON_CPU, PJRT_ELSEWHERE } place; /* what was answered before */
    int64_t dims[];
};

/* Without data. minor_to_major NULL = row-major. `ready` NULL = an event of its own; else one more reference is taken. */
struct pjrt_error *pjrt_buffer_new(struct pjrt_memory *memory, int dtype, const int64_t *dims, size_t rank,
                                   const int64_t *minor_to_major, struct pjrt_event *ready, struct pjrt_buffer **out);
/* Its dimensions in the order of memory, the slowest varying first: those of its data. */
void pjrt_buffer_physical_dims(const struct pjrt_buffer *b, int64_t *out);
struct pjrt_buffer *pjrt_buffer_ref(struct pjrt_buffer *b);
void pjrt_buffer_unref(struct pjrt_buffer *b);
/* Takes over `data`. To be called before the event is set. */
void pjrt_buffer_fill(struct pjrt_buffer *b, hilo_buffer *data);
void pjrt_buffer_delete(struct pjrt_buffer *b);
/* Keeps the data, and the buffer, until it is let go; fails when the buffer was deleted. */
struct pjrt_error *pjrt_buffer_hold(struct pjrt_buffer *b);
void pjrt_buffer_unhold(struct pjrt_buffer *b);
/* Waits for the data of a buffer that is held: it stays the buffer's. On a GPU what will fill it is enqueued then, before all
   that will read it. */
struct pjrt_error *pjrt_buffer_data(struct pjrt_buffer *b, hilo_buffer **out);
/* Whether pjrt_buffer_data need not wait. */
bool pjrt_buffer_enqueued(struct pjrt_buffer *b);
/* Brings data to the buffer's kind of memory, before it is filled with it; whether that is the device's own. */
struct pjrt_error *pjrt_buffer_place(struct pjrt_buffer *b, hilo_buffer *data);
bool pjrt_memory_on_device(const struct pjrt_memory *memory);

hilo_dtype pjrt_dtype(int number);       /* HILO_DTYPE_INVALID where there is none */
int pjrt_dtype_number(hilo_dtype dtype);
/* Device or memory of the caller's choice, or the default. */
struct pjrt_memory *pjrt_place(struct pjrt_client *c, struct pjrt_device *device, struct pjrt_memory *memory);
/* An error unless the layout is row-major. */
struct pjrt_error *pjrt_layout_row_major(const struct pjrt_layout *layout, const int64_t *dims, size_t rank, int dtype);
bool pjrt_is_row_major(const int64_t *minor_to_major, size_t rank);
/* Number of bytes, where it can be represented. */
struct pjrt_error *pjrt_shape_bytes(int dtype, const int64_t *dims, size_t rank, size_t *out);

/* ---- executables (executable.c, ports.c) ---- */

/* A parameter or result of a program, as far as the compiler does not know it. */
struct pjrt_port {
    enum pjrt_memory_kind kind;
    bool donor;              /* a parameter that is donated without a result to alias */
    uint32_t laid_out;       /* the rank, where minor_to_major is not the row-major order; else 0 */
    int64_t minor_to_major[64];
};

struct ir_module;
struct diag_list;

/* Whether the bytes of a program name any of this: otherwise its ports are all zero. */
bool pjrt_ports_named(struct str code);
/* Reads the ports of @main, parameters, then results; chooses the layouts that are automatic. Layout constraints are removed
   from @main. *out is the caller's to free, on failure too. */
hilo_status pjrt_ports_read(struct ir_module *m, struct diag_list *d, struct pjrt_port **out, size_t *n);
/* Makes @main take and give tensors in the order of memory. */
hilo_status pjrt_ports_apply(struct ir_module *m, struct diag_list *d, struct pjrt_port *ports, size_t n);

struct pjrt_executable {
    atomic_int refs;
    struct pjrt_client *client;
    hilo_executable *hilo;
    struct pjrt_compile_options options; /* its bytes are in option_bytes */
    struct str option_bytes, code;       /* as they came; owned */
    bool again;                          /* made of a program that was compiled earlier */
    struct str partitioned;                  /* the program of a partition, as text, where there are several; owned */
    struct str optimised;                /* MLIR with kernels as fusions, once asked for; owned; guarded by the client's lock */
    char fingerprint[33];
    size_t ninputs, noutputs;
    int *dtypes;                         /* of the outputs */
    int64_t *dims;                       /* of the outputs, one after the other; HILO_DYNAMIC = unknown */
    size_t *ranks;
    bool dynamic;                        /* an output's shape is known only when the program runs */
    bool *donated;                       /* which inputs are */
    bool *tokens;                        /* which inputs are */
    struct pjrt_layout_text **layouts;   /* of the inputs, then of the outputs */
    struct pjrt_port *ports;             /* likewise; nports of them until there is an executable, then of all */
    size_t nports;
    const char **kinds;                  /* of the memory: likewise */
    size_t *kind_sizes;
    struct pjrt_named cost[3];           /* operations, bytes, of temporaries the scratch of kernels */
    atomic_uint_least64_t run_ns;        /* of recent runs */
    pthread_mutex_t states_lock;
    struct pjrt_call_state *states;      /* of custom calls that are instantiated; guarded by the lock */
};

struct pjrt_loaded {
    atomic_int refs;
    struct pjrt_executable *executable;
    uint64_t program;             /* its fingerprint, for other nodes */
    size_t nprocesses;            /* replicas x partitions */
    uint32_t *all;                /* of each, the number of its device */
    size_t ndevices;              /* of these, what is of this process: */
    struct pjrt_device **devices;
    uint32_t *indices;            /* which they are */
    struct pjrt_logical_id *ids;
    atomic_bool deleted;
};

void pjrt_loaded_unref(struct pjrt_loaded *l);

/* ---- runs (execute.c) ---- */

/* Data of a framework's for the custom calls of an execution: a counted reference. */
struct pjrt_context_data {
    struct pjrt_context_data *next;
    int64_t type;
    void *data;
};
struct pjrt_context {
    atomic_int refs;
    pthread_mutex_t lock;
    struct pjrt_context_data *first; /* guarded by the lock */
};
struct pjrt_error *pjrt_context_add(struct pjrt_context *x, int64_t type, void *data);
/* False when there is no such data, or no context. */
bool pjrt_context_find(struct pjrt_context *x, int64_t type, void **data);

/* The run of a thread, for the custom calls in it. */
struct pjrt_running {
    struct pjrt_executable *executable;
    struct pjrt_context *context; /* or NULL */
    int64_t run_id;               /* one for all devices of a launch */
    int32_t device;
};

/* ---- extensions (extension.c, ffi.c, call.c) ---- */

struct pjrt_error *pjrt_ffi_type_register(struct pjrt_ffi_type_register *a);
struct pjrt_error *pjrt_ffi_user_data_add(struct pjrt_ffi_user_data_add *a);
struct pjrt_error *pjrt_ffi_register_handler(struct pjrt_ffi_register_handler *a);
struct pjrt_error *pjrt_ffi_register_stages(struct pjrt_ffi_register_stages *a);
/* A layout as text: the dimensions, the fastest varying first; "{2,1,0}" is row-major. */
struct pjrt_layout_text {
    size_t n;
    char text[];
};
/* To be freed. minor_to_major NULL = row-major. */
struct pjrt_error *pjrt_layout_new(size_t rank, const int64_t *minor_to_major, struct pjrt_layout_text **out);
/* Makes the handlers known to a client. */
void pjrt_call_init(struct pjrt_client *c);
/* Ends what the custom calls of an executable have instantiated. */
void pjrt_call_states_free(struct pjrt_executable *x);

/* Custom calls that their framework divides (partitioner.c). */
struct pjrt_error *pjrt_divider_register(struct pjrt_divider_register *a);
struct pjrt_error *pjrt_batched_register(struct pjrt_batched_register *a);
/* For the pass `partition` over one program. `inspect`: calls of InspectSharding call what they name; else they do nothing.
   NULL when memory is exhausted. */
struct pjrt_partitioner;
struct opt_partitioner;
struct pjrt_partitioner *pjrt_partitioner_new(struct pjrt_client *c, bool inspect, struct opt_partitioner *out);
void pjrt_partitioner_free(struct pjrt_partitioner *p);

/* Transfers between processes (remote.c). */
#define PJRT_REMOTE_FUNCTION(name, ...) struct pjrt_error *pjrt_remote_##name(struct pjrt_remote_##name *a);
PJRT_REMOTE_FUNCTIONS(PJRT_REMOTE_FUNCTION)
#undef PJRT_REMOTE_FUNCTION
/* The chain begins with the layouts. */
#define PJRT_LAYOUT_MEMBER(name, ...) struct pjrt_error *(*name)(struct pjrt_layout_##name *a);
extern const struct pjrt_extensions {
    struct pjrt_extension base;
    PJRT_LAYOUT_FUNCTIONS(PJRT_LAYOUT_MEMBER)
} pjrt_extensions;
#undef PJRT_LAYOUT_MEMBER

#endif
