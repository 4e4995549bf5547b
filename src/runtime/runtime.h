/* The objects of hilo.h, and what they are built from: for runtime itself and for compile, which fills executables in. The
 * components above them read the objects through runtime/internal.h.
 *
 *   client.c       clients: allocator, threads, diagnostics, log, custom calls; option structs
 *   dtype.c        versions, statuses, element types
 *   buffer.c       buffers: counted values with a client       buffer_device.c   their two forms, where there is a GPU
 *   module.c       modules, once they are read: printing, functions
 *   executable.c   executables: inputs, outputs, statistics                      specialise.c   those of unknown sizes
 *   internal.c     what internal.h reads of them
 *   run.c          hilo_execute: checks, donation; run.h lists the other parts of a run
 *   init.c         what is computed once, of constants and of unchanged arguments; defer.c   not before it is needed
 *   pool.c         the client's threads                          cache.c   memory that is used again
 *   text.c         values as text                                file_write.c, file_read.c   .hilo files
 *   store.c        the compile cache                       device.c   the client's GPU: values and code there
 *   tier.c         optimised code that replaces baseline code
 *   cpu.c          what the processor can do
 *
 * Objects are counted and keep their client alive. */
#ifndef HILO_RUNTIME_RUNTIME_H
#define HILO_RUNTIME_RUNTIME_H

#include "base/file.h"
#include "runtime/cache.h"
#include "runtime/internal.h"

#include <pthread.h>

/* ---- clients --------------------------------------------------------------------------------- */

struct rt_custom_call {
    struct rt_custom_call *next;
    hilo_custom_call_fn fn;
    void *user;
    size_t bytes;   /* of this allocation */
    char target[];  /* terminated */
};

/* What the components above register when a client is created. */
struct rt_compiler {
    /* Reads the program, as text, that steps by the reference evaluator are functions of. */
    hilo_status (*read_program)(hilo_allocator al, struct str text, struct diag_list *d, struct ir_module **out);
    /* Of a file whose program has unknown sizes: has runs compile exe->optimised, which was read from `text` and becomes the
       executable's module, for the shapes that they bring, at exe->specialise_level. Needs the arena's recovery point. */
    hilo_status (*specialise_loaded)(hilo_executable *exe, struct str text);
    /* Routines by installed libraries. */
    lib_rows_fn *externals;
};

enum { RT_REVOKED = 32 };

/* The thread that makes optimised code, and what it has to do (tier.c). */
struct rt_tiers {
    pthread_mutex_t lock;     /* of what follows, and of all struct rt_tier_up */
    pthread_cond_t changed;
    struct rt_tier_up *queue; /* those with batches that no thread has taken */
    pthread_t thread;
    bool started, ending;
};

struct hilo_client {
    atomic_int refs;
    hilo_allocator al;
    const struct rt_compiler *compiler;   /* NULL in libhilo-runtime: hilo's own code does everything, without a reader */
    struct rt_cache cache;                /* over it */
    hilo_allocator memory;                /* the cache: for buffers, values, and what runs need */
    struct gpu *gpu;                      /* that programs run on; NULL = the processor */
    const char *gpu_target;               /* its row of targets.def */
    char device[16];                      /* "cpu", "gpu:0" */
    struct rt_pool *pool;                 /* the first of: */
    struct rt_pool **pools;               /* one for each device; npools */
    int32_t npools, threads;              /* threads: of all pools together */
    struct comm *comm;                    /* with other nodes; NULL = alone */
    hilo_tier tier;                       /* HILO_TIER in the environment */
    uint32_t several;                     /* devices on which hilo_execute runs programs at once; 0 = one, alone */
    void (*log)(void *user, hilo_log_level level, const char *message); /* or NULL */
    void *log_user;
    void (*diagnostic)(void *user, const hilo_diagnostic *diagnostic); /* in place of `diags`; or NULL */
    void *diagnostic_user;
    rt_custom_call_hook *custom_call;     /* see rt_client_on_custom_call; or NULL */
    void *custom_call_user;
    pthread_mutex_t lock;                 /* of what follows, and of all buffers' values */
    struct diag_list diags;
    struct rt_custom_call *custom_calls;
    struct rt_store store;                /* its lists are guarded by the lock, too */
    struct rt_tiers tiers;
    atomic_uint read, compiled;           /* programs, so far */
    struct rt_packed *packed;             /* what executables keep of buffers; guarded by the lock */
    uint64_t revoked[RT_REVOKED];         /* programs that are not divided again (struct rt_guard); guarded by the lock */
    uint32_t nrevoked;                    /* so far: the latest ones are kept */
    atomic_ullong buffers;                /* made so far */
    atomic_bool told_evaluated;           /* that programs are evaluated for want of a code generator was logged */
};

/* hilo_client_create, with what is registered (NULL = nothing), which outlives the client. */
hilo_status rt_client_create(const hilo_client_options *options, const struct rt_compiler *compiler, hilo_client **out);

/* ---- buffers --------------------------------------------------------------------------------- */

struct hilo_buffer {
    atomic_int refs;
    hilo_client *client;
    /* Both guarded by the client's lock; NULL once donated. Of a GPU's client each is made of the other when it is needed. */
    struct value *value, *device;
    enum { RT_EITHER, RT_HOST_FORM, RT_DEVICE_FORM } truth; /* whose address the caller has had: it may have written to it */
    uint64_t id;         /* no other buffer of the client ever has it */
    uint64_t version;    /* guarded by the client's lock: how often its contents were changed */
    bool packed;         /* guarded by it, too: an executable may keep what it made of the buffer */
    hilo_dtype dtype;
    uint32_t rank;
    size_t bytes;        /* of the data */
    int64_t dims[];
};

/* Drops what executables keep of a buffer. */
void rt_packed_drop_buffer(hilo_client *client, const hilo_buffer *buffer);
/* A buffer over a tensor or token; takes over the reference. NULL when memory is exhausted (the reference stays). */
hilo_buffer *rt_buffer_new(hilo_client *client, struct value *v);
/* The same, which takes over the reference to `v`, also when it fails; RESOURCE_EXHAUSTED. */
hilo_status rt_buffer_adopt(hilo_client *client, struct value *v, hilo_buffer **out);

/* ---- modules --------------------------------------------------------------------------------- */

struct hilo_module {
    atomic_int refs;
    hilo_client *client;
    struct ir_module *m;     /* never changed: any number of threads may read it */
    const ir_op *functions;  /* in its arena */
    size_t nfunctions;
    bool unverified;         /* read without a look at constraints: to be printed only */
    bool has_source;         /* what follows is known */
    uint8_t source[RT_KEY_BYTES]; /* hash of the bytes that it was read from */
    struct file file;        /* what it was read from, where constants stay in it; else empty */
    struct rt_aligned *aligned; /* copies of such constants; guarded by the client's lock */
};

/* A constant at an address that only kernels read, once more where anything may. */
struct rt_aligned {
    struct rt_aligned *next;
    const void *of;
    size_t bytes;
    char *data; /* from the client's memory */
};


/* ---- executables ----------------------------------------------------------------------------- */

/* A parameter or result of an executable. */
struct rt_port {
    hilo_type type;
    const int64_t *bounds; /* rank upper bounds of dynamic dimensions (IR_DYNAMIC = none), or NULL */
    const char *name;      /* or "" */
    int32_t alias;         /* of a parameter: see hilo_executable_input_alias */
    bool on_host;          /* a parameter that no step on the GPU uses, of a plan with such steps */
};

/* Name, cost and identity of a program; loops count once. */
struct rt_about {
    const char *name;      /* of its module; or "" */
    double flops, bytes;   /* arithmetic operations; bytes that ops read and write */
    bool copies;           /* it moves data, and does nothing else */
    uint64_t fingerprint;  /* of the program as it was given, where it has collectives; else 0 */
};

/* A pointer of a frame, into argument or result `index`, or the block. */
struct rt_patch {
    uint32_t at, index;
    size_t offset;
};
struct rt_patches {
    struct rt_patch *v;
    uint32_t n;
};

/* Steps that are enqueued on a device one after the other, and always together: no branch goes into their midst. */
struct rt_segment {
    uint32_t nsteps; /* from this one on; 0 = none begins here */
    uint32_t number;
};

/* Something of a component below that the executable keeps alive. */
struct rt_kept {
    struct rt_kept *next;
    void (*release)(void *p);
    void *p;
};

struct run_frame;
struct rt_specialisation;

/* What was expected when a program was divided between processor and GPU; a run is held against it. */
struct rt_guard {
    uint64_t program;             /* that and the machine; 0 = it was not divided */
    double expected_ms, other_ms; /* of a run; of one on the better side alone */
};
/* The runs of such a program that are going on, for the choice of the one that is timed. */
struct rt_guarded {
    uint32_t running;
    bool timing, disturbed; /* one of them is timed; another one was going on at the same time */
    bool judged;            /* one was timed to its end: no other will be */
};

/* How kernels with baseline code get optimised code (tier.c); part of a struct of compile, which fills in its first half. What
   a thread compiles does not refer to the executable, which may end meanwhile. */
struct rt_tier_up {
    hilo_executable *exe;           /* NULL once it has ended */
    hilo_allocator al;
    struct plan_kernel **kernels;   /* that get it; nkernels */
    struct str *objects;            /* of each batch, once it is compiled; nbatches */
    const struct str *all;          /* for files: these, and before them what the other kernels have; nall */
    uint32_t nkernels, nbatches, nall;
    double cost_ms;                 /* what making it takes, about */
    uint64_t ir_bytes;              /* of the kernels' IR */
    bool keyed;                     /* it is written to the compile cache, by exe->key */
    /* Compiles a batch; any thread, each batch once. */
    hilo_status (*compile)(struct rt_tier_up *x, uint32_t batch, struct diag_list *d);
    void (*forget)(struct rt_tier_up *x); /* frees the IR */
    void (*free)(struct rt_tier_up *x);   /* frees all of it, with `code` */
    /* what follows is tier.c's; zeros before */
    struct rt_tier_up *next;        /* in the queue */
    atomic_int state;
    atomic_ullong spent_ns;         /* by runs so far */
    uint32_t taken, running;        /* batches; those that are compiled now */
    hilo_status status;
    char why[256];                  /* of a status that is not OK */
    double compile_ms;              /* of all batches */
    struct rt_code *code;
    size_t code_bytes;              /* of its memory */
    uint32_t nreplaced;
};
enum rt_tier_state {
    RT_TIER_BASELINE,   /* runs have not taken long enough */
    RT_TIER_QUEUED,     /* it is being compiled, or will be */
    RT_TIER_INSTALLING, /* it is loaded and written; the executable does not end meanwhile */
    RT_TIER_SETTLED     /* it is there, or never will be */
};

struct hilo_executable {
    atomic_int refs;
    hilo_client *client;
    hilo_module *module;
    struct ir_module *optimised; /* the plan's program: a copy of the module's, or a file's; NULL = the module's */
    struct hilo_executable *base; /* whose plan, code and ports these are; NULL = its own */
    ir_op entry;                /* in the plan's program; none when it comes from a file */
    struct arena arena;         /* of plan and ports */
    struct plan plan;
    struct rt_kept *kept;
    void *image;                /* the file that it comes from, or NULL */
    void (*free_image)(void *image);
    /* Of an executable with a base, what follows up to `code_bytes` is the base's. */
    const struct str *objects;  /* machine code; for files, once rt_tier_up has returned */
    const struct str *cubins;   /* of each object, which is PTX, what it was compiled to ahead of time; NULL = nothing */
    uint32_t nobjects;
    size_t code_bytes;          /* of memory that it takes once it is loaded, but that of: */
    struct rt_tier_up *tier_up; /* NULL = no other code follows */
    uint32_t nkernels[2];       /* for the processor, by the tier of their first code */
    const char *features;       /* that it needs, "+avx2,+fma"; "" = none */
    const char *machine;        /* that it is for, as target_cpu_machine returns it; of a GPU, "nvptx64" */
    bool on_device;             /* the plan has steps on a GPU */
    bool runs_cubins;           /* the device took those */
    bool divided;               /* it has kernels for the processor, too, whose code is not in `objects` */
    const char *foreign;        /* what this processor lacks to run it; NULL = nothing */
    uint32_t nuses, *first_use; /* of all steps; of each, in a frame */
    struct rt_segment *segments; /* by step, of a plan on a device; else NULL */
    bool two_sided;              /* kernels of a plan on a device run on the host */
    uint32_t nsegments;
    struct rt_patches in_block[PLAN_SPACES], in_arguments, in_results, in_device_constants;
    struct rt_guard guard;
    struct rt_patches *in_init; /* by section of the plan's init steps */
    char *init_memory;          /* of the first section, once its steps have run; on the device if the plan is */
    struct rt_deferral *deferral; /* of init steps to runs; NULL = none is deferred */
    void *device_constants;     /* of the plan, there */
    struct rt_packed **packed;  /* of the others, what is kept; guarded by the client's lock */
    struct rt_port *inputs, *outputs; /* plan.narguments, plan.nresults */
    struct rt_about about;
    /* Where sizes are not known: makes an executable for inputs that fit; sets *out to NULL where the plan is to be run itself.
       NULL = sizes are known, or there is no compiler. */
    hilo_status (*specialise)(void *user, hilo_executable *exe, hilo_buffer *const *inputs, struct diag_list *d,
                              hilo_executable **out);
    void *specialiser;          /* its `user` */
    int32_t specialise_level;   /* of optimisation where it is compiled for the shapes of inputs; -1 = it never is */
    bool specialise_keyed;      /* what is made is kept in the compile cache, by `key` and the shapes */
    int32_t cached;             /* as in hilo_stats */
    uint8_t key[RT_KEY_BYTES];  /* in the compile cache, once it is there; see specialise_keyed */
    bool is_loaded;              /* it is in the list of the client's store */
    struct hilo_executable *next_loaded; /* guarded by the client's lock */
    pthread_mutex_t lock;       /* of what follows */
    pthread_cond_t specialise_done;
    struct rt_guarded guarded;
    struct rt_specialisation *specialisations; /* specialise.c */
    struct run_frame *frames;   /* that no run uses */
    uint64_t executions, peak_bytes, allocations, copied_bytes, packs, nspecialisations, sent_bytes, messages;
    uint64_t transfers, transferred_bytes;
    double total_ms, last_ms, compile_ms;
};

/* An executable with nothing in it but client, module (may be NULL) and an arena without recovery point, to be filled in by
   the compiler. NULL when memory is exhausted. */
hilo_executable *rt_executable_new(hilo_client *client, hilo_module *module);
hilo_executable *rt_executable_retain(hilo_executable *exe);
/* The executable whose plan and code it has. */
static inline hilo_executable *rt_executable_base(const hilo_executable *exe) {
    return exe->base ? exe->base : (hilo_executable *)(uintptr_t)exe;
}
/* Another handle to what is loaded, with runs and statistics of its own. NULL when memory is exhausted. */
hilo_executable *rt_executable_share(hilo_executable *exe);
/* Keeps `p` until the executable ends. Takes memory from its arena first, so that `p` is the caller's when that fails. */
void rt_executable_keep(hilo_executable *exe, void *p, void (*release)(void *p));
/* Loads object files, which outlive the executable, and finds the functions of the plan's kernels in them, by name.
   `features`: LLVM's list for the processor that they are for, of the executable's machine. What this processor cannot run is
   loaded, to be written to a file; runs are refused. INTERNAL when a kernel is missing; else as rt_code_load. */
hilo_status rt_executable_link(hilo_executable *exe, const struct str *objects, uint32_t n, const char *features,
                               struct diag_list *d);
/* The same for the kernels of such a plan that are for the processor, where the others are for a GPU. */
hilo_status rt_executable_link_processor(hilo_executable *exe, const struct str *objects, uint32_t n, struct diag_list *d);
/* Once the plan is there: prepares its runs, and runs the init steps of constants. Needs the arena's recovery point. */
hilo_status rt_executable_ready(hilo_executable *exe, struct diag_list *d);
/* Runs the init steps of constants, into exe->init_memory: those that are deferred, unless they have run, or the others. */
hilo_status rt_run_init(hilo_executable *exe, bool deferred, struct diag_list *d);
/* Finds those that are left to runs (defer.c). Needs the arena's recovery point. */
hilo_status rt_defer(hilo_executable *exe);
void rt_defer_free(hilo_executable *exe);
bool rt_is_deferred(const hilo_executable *exe, uint32_t step); /* an init step of constants */
void rt_frames_free(hilo_executable *exe);
/* Frees what init steps wrote. */
void rt_init_free(hilo_executable *exe);
/* One more reference to the executable to run with these inputs, which fit: one made for their shapes, or `exe` itself. Where
   exe->specialise is there. */
hilo_status rt_specialise(hilo_executable *exe, hilo_buffer *const *inputs, size_t n, struct diag_list *d,
                           hilo_executable **out);
void rt_specialisations_free(hilo_executable *exe);

/* ---- tiers ----------------------------------------------------------------------------------- */

void rt_tiers_init(struct rt_tiers *t);
/* When nothing else of the client is left: ends the thread. */
void rt_tiers_end(hilo_client *client);
/* A run begins: makes optimised code in the background, if it pays by what the runs before it have taken. */
void rt_tier_runs(const hilo_executable *exe);
/* A run has taken so long. */
void rt_tier_ran(const hilo_executable *exe, double ms);
/* Returns once the optimised code is there, of which it makes what is missing; the reason why there is none. */
hilo_status rt_tier_up(const hilo_executable *exe, struct diag_list *d);
/* The executable ends: nothing is made for it any more. */
void rt_tier_release(hilo_executable *exe);
/* Sets what is known of its code. */
void rt_tier_stats(const hilo_executable *exe, hilo_stats *s);

/* ---- .hilo files ----------------------------------------------------------------------------- */

/* Numbers are little-endian; `head` is at the start, the rest is described by its writer (file_write.c). */
#define RT_FILE_MAGIC "\x89HILO\r\n\x1a"
enum { RT_FILE_VERSION = 15, RT_FILE_ALIGN = 64 };

struct rt_file_head {
    char magic[8];
    uint32_t version, abi; /* RT_FILE_VERSION, HILO_KERNEL_ABI_VERSION */
    uint64_t bytes;        /* of the file */
    uint64_t table;        /* of that, what precedes the constants */
    uint64_t hash[2];      /* of the key and the table after this head, then of the constants */
    uint8_t key[RT_KEY_BYTES]; /* of a file of the compile cache; else zeros */
};

/* Writes a file with this key (NULL = none). OUT_OF_RANGE, and nothing is written, if it would be larger than `most` bytes. */
hilo_status rt_file_write(const hilo_executable *exe, const uint8_t *key, uint64_t most, hilo_write_fn write, void *user,
                          struct diag_list *d);
/* Loads a file, which is taken over, of this key (NULL = any). */
hilo_status rt_file_load(hilo_client *client, struct file *file, const uint8_t *key, struct diag_list *d,
                         hilo_executable **out);

#endif
