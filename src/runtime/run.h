/* One run of an executable, as its parts see it.
 *
 *   run.c     hilo_execute: inputs, outputs, statistics       step.c    the loop over a plan's steps
 *   frame.c   memory that successive runs share               hooks.c   hooks of the reference evaluator
 *   init.c    init steps; defer.c   those of large constants  launch.c  several processes, what they exchange
 *   step_device.c   steps on a GPU */
#ifndef HILO_RUNTIME_RUN_H
#define HILO_RUNTIME_RUN_H

#include "runtime/runtime.h"

#include <setjmp.h>

/* An allocator that counts. Results outlive it and are freed to the client's. */
struct run_meter {
    hilo_allocator al;
    atomic_size_t now, peak;
};

/* A value that the program has put aside, to be compared later. */
struct run_probe {
    struct run_probe *next;
    struct value *value;
    size_t bytes; /* of this allocation */
    struct str id;
};

enum { RUN_WARM = 2 }; /* the first run of a frame takes its memory, the second makes its graphs */

/* What a run needs besides its own stack; kept by the executable for the next. */
struct run_frame {
    struct run_frame *next;
    size_t bytes;             /* of this allocation */
    char *memory[PLAN_SPACES]; /* the plan's block, then the caller's scratch; NULL = none is held */
    char *patched[PLAN_SPACES]; /* the memory that the pointers are of */
    uint64_t *counters;       /* of the plan: how often each test was passed; zeros before and after a loop */
    void **pointers;          /* of the uses of all steps */
    struct value **values;    /* of the arguments; owned */
    struct value **results;   /* owned */
    hilo_buffer **fresh;      /* of the results */
    struct value **slots;     /* of the plan's values (PLAN_VALUE); owned, NULL between runs */
    struct rt_packed **packed; /* of the sections of init steps, what the run reads; owned, NULL between runs */
    char **init;              /* the memory of each section that the pointers are of */
    uint32_t runs;            /* that used it and ended well, unless their steps were observed; at most RUN_WARM */
    struct run_graph {        /* of each segment of the executable */
        struct gpu_graph *graph; /* NULL = none yet; owned */
        bool ran;
    } *graphs;
};

/* Transfers that the host has not waited for: what of its memory they read or write. Those that came before the event need not
   be waited for together with what was enqueued after it. */
enum { RUN_TRANSFERS = 32 };
struct run_transfers {
    struct run_transfer {
        const char *at;
        size_t bytes;
        bool writes;
    } v[RUN_TRANSFERS];
    uint32_t n, before; /* the first `before` of n came before the event */
    struct gpu_event *event; /* NULL: there was none yet */
    bool all;           /* the host waits for all that was enqueued, whatever it uses: more transfers, or no transfer at all */
};

struct run {
    hilo_executable *exe;
    const struct plan *plan;
    hilo_client *client;
    const hilo_execute_options *o;
    struct diag_list *d;
    struct rt_pool *pool;
    struct lib_pool library;  /* the same for routines, which may be cancelled */
    struct rt_poll poll;
    jmp_buf routine_stopped;  /* where the pool jumps out of a routine to */
    struct rt_launch *launch;    /* that it is a part of; or NULL */
    uint32_t process;            /* in it */
    uint64_t sent_bytes, messages; /* to other processes */
    struct eval_session session; /* of the evaluations; its process: or NULL */
    struct run_meter meter;
    hilo_allocator al;        /* the meter's */
    struct run_frame *frame;
    struct run_probe *probes; /* newest first */
    double begin;             /* ms */
    bool first;               /* the frame is new */
    uint64_t taken;           /* the cache's count when the run began */
    uint64_t copied_bytes;
    uint32_t step;            /* that runs */
    uint64_t packs;           /* kernels that packed */
    uint64_t transfers, transferred_bytes;
    struct run_transfers pending;
    char *area;               /* where init steps that are left to the first run write; NULL = this is another one */
};

/* A frame from the executable or a new one; NULL when memory is exhausted. frame_put keeps it. */
struct run_frame *frame_get(struct run *r);
/* Its memory, and pointers to all but arguments and results; then those. */
hilo_status frame_bind_memory(struct run *r);
void frame_bind_io(struct run *r);
/* The memory that a section of init steps writes, or wrote. */
void frame_bind_init(struct run *r, uint32_t section, char *memory);
/* Gives large memory back, so that other executables may have it. Of a device it may be in use still, by what was enqueued. */
void frame_release_block(struct run *r);

/* The plan's steps from number `from` on, before number `to`. */
hilo_status run_steps(struct run *r, uint32_t from, uint32_t to);
/* Runs the init steps of arguments whose buffers are not those of which they ran last, and binds what they wrote;
   run_release_init ends that. */
hilo_status run_init(struct run *r, hilo_buffer *const *inputs);
void run_release_init(struct run *r);
/* Runs those of constants, into exe->init_memory: those that are deferred, or the others. */
hilo_status run_init_constants(struct run *r, bool deferred);
/* Of a first run: deferred init steps will run before the steps that need them, into an area of the run, which ends with
   run_defer_end. Else they run, unless they have. Memory and arguments are bound. */
hilo_status run_defer_begin(struct run *r);
/* Runs those that a step, or the group that begins there, needs. Where r->area is there. */
hilo_status run_defer_needs(struct run *r, uint32_t step);
void run_defer_end(struct run *r);
/* Has all of them write what is kept. */
hilo_status run_deferred(struct run *r);
/* Runs a routine on these buffers, of which the first `nin` are operands; v is in the host's memory. */
hilo_status step_host_routine(struct run *r, const struct lib_match *x, void **v, uint32_t nin, void *scratch);
/* Enqueues one that a library of the device computes; where that is missing or cannot, it runs on the host, with transfers. */
hilo_status step_device_routine(struct run *r, const struct plan_step *s, void **v, uint32_t nin);
/* Enqueues a kernel, or a copy, of a plan that is on a device. */
hilo_status step_launch(struct run *r, const struct plan_step *s, void *const *v);
hilo_status step_transfer(struct run *r, const struct plan_step *s, void *const *v);
/* Enqueues the steps of a segment, which begins at a step, as a graph; *done: false where that is not worth it yet. */
hilo_status step_segment(struct run *r, uint32_t step, bool *done);
/* Waits for transfers: for all; for those that use what a step of the host reads or writes. */
hilo_status step_wait(struct run *r);
hilo_status step_wait_for(struct run *r, const struct plan_step *s, void *const *v);
/* Tells the caller of a step that began at `begin` (ms) and ends now. */
void report_step_event(const struct run *r, const struct plan_step *s, double begin);
/* Tells the caller of a task that began at `begin` and ends now. */
void report_task_event(const struct run *r, double begin);
/* Values over a step's memory have this as `release`: they end with the step. */
void run_step_memory(void *user, void *data);

/* Exchanges blocks with the other processes of the launch, or starts to; step_done: until they are there. */
hilo_status step_collective(struct run *r, const struct plan_step *s, void **v);
hilo_status step_done(struct run *r, const struct plan_step *s, void **v);
/* Tells the other processes of the launch why this one fails, if it does: the first of the run's errors. Twice is fine. */
void launch_fail(const struct run *r, hilo_status status);
/* Gives up exchanges that were started and not finished: after launch_fail, since peers may notice. */
void launch_abandon(struct rt_launch *l, uint32_t process);
struct eval_process *launch_process(struct rt_launch *l, uint32_t process); /* NULL without a launch */
const char *launch_failed(struct rt_launch *l); /* why; NULL: it has not */

/* A reference to the value that may outlive its step: to a copy, where its memory is the step's. */
hilo_status run_keep(struct run *r, struct value *v, struct value **out);
/* The evaluator's hooks; probes are kept in the run. */
struct eval_hooks run_hooks(struct run *r);
void run_drop_probes(struct run *r);
bool run_cancelled(const struct run *r);
/* What to poll during long steps; NULL where the run cannot be cancelled. */
static inline struct rt_poll *run_poll(struct run *r) {
    return r->o->cancelled ? &r->poll : NULL;
}

#endif
