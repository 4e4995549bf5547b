/* What components above runtime may use of the objects of hilo.h besides hilo.h itself. Their structs are in runtime.h, which
 * only runtime and compile include (scripts/check-components.sh).
 *
 * What a function returns belongs to its object and lives as long as it, unless said otherwise, and any thread may call it. A
 * public function gathers what went wrong in a list of its own and passes it to the client at the end (rt_finish), so that
 * calls on several threads do not mix their diagnostics. */
#ifndef HILO_RUNTIME_INTERNAL_H
#define HILO_RUNTIME_INTERNAL_H

#include "comm/comm.h"
#include "eval/eval.h"
#include "plan/plan.h"
#include "runtime/pool.h"
#include "runtime/store.h"

/* ---- clients --------------------------------------------------------------------------------- */

hilo_client *rt_client_retain(hilo_client *client);
/* Leaves a client a share of its threads, of `sharers` equal ones, and divides it among that number of devices, each with at
   least one. Nothing may have been compiled yet. */
hilo_status rt_client_divide(hilo_client *client, int32_t ndevices, int32_t sharers);

/* Gives the client its devices, and connects it with other nodes, as the options say; they are valid. */
hilo_status rt_client_join(hilo_client *client, const hilo_client_options *options, struct strbuf *why);
/* Makes the client a node of several: the processes of its launches may be on other ones. Nothing may run yet. */
hilo_status rt_client_connect(hilo_client *client, const struct comm_options *options, struct strbuf *why);
struct comm *rt_client_comm(const hilo_client *client); /* NULL: it is alone */
/* The number of devices, of all nodes, on which hilo_execute runs programs at once; *here: those of this node, or NULL. */
uint32_t rt_client_world(const hilo_client *client, uint32_t *here);

/* The row of targets.def of the GPU that a client is for; NULL = it is for the processor. */
const char *rt_client_gpu_target(const hilo_client *client);
/* Whether a run has contradicted the division of a program between processor and GPU (struct rt_guard). */
bool rt_client_revoked(hilo_client *client, uint64_t program);
struct gpu *rt_client_gpu(const hilo_client *client); /* NULL: it has none */
/* The one that hilo_client_create was given, or malloc; thread-safe as far as that is. */
const hilo_allocator *rt_client_allocator(const hilo_client *client);
const hilo_allocator *rt_client_memory(const hilo_client *client); /* for values: reuses memory; thread-safe */
/* "auto", "baseline", "optimised"; NULL and "" are AUTO. False, and AUTO, for another name. */
bool rt_tier_named(const char *name, hilo_tier *out);
struct rt_pool *rt_client_pool(const hilo_client *client);         /* the threads of the first device */
const struct rt_store *rt_client_store(const hilo_client *client); /* its compile cache: for rt_store_list, … */

/* Runs a custom call without a registered handler, on the thread of the run; the results become the caller's. UNIMPLEMENTED
   declines. */
typedef hilo_status rt_custom_call_hook(void *user, struct str target, const struct ir_module *m, ir_op op,
                                        struct value *const *in, uint32_t nin, struct value **results, uint32_t nresults,
                                        struct diag_list *d);
/* Before anything runs; `user` outlives the client. */
void rt_client_on_custom_call(hilo_client *client, rt_custom_call_hook *hook, void *user);

/* The end of a public function: moves `d` into the client's diagnostics, logs it, and returns `status`. A failure
   without a diagnostic gets one. */
hilo_status rt_finish(hilo_client *client, struct diag_list *d, hilo_status status);

void rt_log(const hilo_client *client, hilo_log_level level, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* Writes the defaults, of `size` bytes, and the size of the struct into the first struct_size bytes of `out`, which may be an
   older header's struct or a newer one's; NULL is fine. */
void rt_options_init(void *out, size_t struct_size, const void *defaults, size_t size);

/* Copies the caller's option struct (NULL = none), which begins with its size, over the defaults in `out`. False when
   the size is impossible or a field that this version does not know is set. */
bool rt_options(void *out, size_t size, const void *given);

double rt_now_ms(void); /* monotonic */

/* ---- element types and buffers --------------------------------------------------------------- */

enum ir_dtype rt_dtype(hilo_dtype t); /* IR_DTYPE_NONE for what no tensor is made of */

/* A buffer's value on the host; NULL once donated, so no other thread may donate it meanwhile, and where a GPU cannot be read,
   which rt_buffer_fetch tells before. */
struct value *rt_buffer_value(const hilo_buffer *buffer);
hilo_status rt_buffer_fetch(hilo_buffer *const *buffers, size_t n);
/* Of the client of a GPU, whose buffers have a form in the memory of the host and one in the device's, of which each is made of
   the other when it is needed; of another client all of these leave the buffer as it is.
   rt_buffer_move: makes the form that there is not, the host's in pinned memory, and lets the other go.
   rt_buffer_read: `bytes` from byte `offset` on, which are in the buffer.
   rt_buffer_address: of the device's form, which stays valid, and is the truth from here on; else the host's address.
   rt_buffer_copy: a buffer with the same data on the device, or the host. */
bool rt_client_on_device(const hilo_client *client);
hilo_status rt_buffer_move(hilo_buffer *buffer, bool device);
hilo_status rt_buffer_read(const hilo_buffer *buffer, size_t offset, void *dst, size_t bytes);
hilo_status rt_buffer_address(hilo_buffer *buffer, void **out);
hilo_status rt_buffer_copy(hilo_buffer *buffer, bool device, hilo_buffer **out);
/* As hilo_buffer_wrap, over memory of the device, which is copied where it is not aligned to 16 bytes; `release` is called
   without that, too. */
hilo_status rt_buffer_wrap_device(hilo_client *client, hilo_dtype dtype, const int64_t *dims, uint32_t rank, void *data,
                                  void (*release)(void *user, void *data), void *user, hilo_buffer **out);
/* A mark after all that was enqueued for a device so far; NULL of other clients, which enqueue nothing. It ends with the wait
   for it, which tells what has failed. */
struct rt_mark;
hilo_status rt_client_mark(hilo_client *client, struct rt_mark **out);
hilo_status rt_mark_wait(hilo_client *client, struct rt_mark *mark);
/* Bytes of the device's memory: in use through this client, at most so far, and of all. */
struct rt_device_memory { size_t used, peak, all; };
struct rt_device_memory rt_client_device_memory(const hilo_client *client);
const char *rt_client_device_name(const hilo_client *client); /* "NVIDIA H100 …"; NULL = the processor */

/* `tensor<2x3xf32>` or `token`. */
void rt_type_text(hilo_dtype dtype, uint32_t rank, const int64_t *dims, struct strbuf *out);
/* A tensor's elements as nested lists, the middle of long dimensions left out when there are more than `most`
   elements (0 = never). Lines after the first are indented by `indent`. */
void rt_value_text(const struct value *v, size_t most, int indent, struct strbuf *out);

/* ---- modules --------------------------------------------------------------------------------- */

/* A module that was read; takes over `m`. Memory is taken from the module's arena, so its recovery point must be set.
   NULL when the client's memory is exhausted (then `m` stays the caller's). */
hilo_module *rt_module_new(hilo_client *client, struct ir_module *m);
hilo_module *rt_module_retain(hilo_module *module);
/* Its program. Only the creator of the module may change it, before it is compiled or shared. */
struct ir_module *rt_module_ir(const hilo_module *module);
/* After such a change: it is no longer the program of the bytes that it was read from. */
void rt_module_changed(hilo_module *module);
size_t rt_module_nfunctions(const hilo_module *module);
const ir_op *rt_module_functions(const hilo_module *module); /* of rt_module_ir; rt_module_nfunctions of them */

/* ---- executables ----------------------------------------------------------------------------- */

/* True when `bytes` begin as a .hilo file does. */
bool rt_is_file(struct str bytes);
const struct plan *rt_executable_plan(const hilo_executable *exe);
/* The row of targets.def of the GPU that kernels of it are for; NULL = none are. */
const char *rt_executable_gpu(const hilo_executable *exe);
/* Its code for that GPU. */
struct rt_gpu_code {
    uint64_t ptx_bytes, cubin_bytes; /* cubin: 0 = none */
    bool loaded, runs_cubins;        /* on the client's device; cubins, else what the driver made of PTX */
};
struct rt_gpu_code rt_executable_gpu_code(const hilo_executable *exe);
/* How a kernel, a group or a copy of a plan is divided among threads: `pieces` of `each` iterations, the last of the rest; of a
   group they are pieces of its kernels. {1, 1}: one thread runs it, or a routine divides it itself. */
struct rt_split { int64_t pieces, each; };
struct rt_split rt_step_split(const struct plan *p, uint32_t step, int32_t threads);
const hilo_module *rt_executable_module(const hilo_executable *exe);     /* that it was compiled from; NULL = from a file */
const struct ir_module *rt_executable_program(const hilo_executable *exe); /* optimised; NULL where a file has none */
ir_op rt_executable_entry(const hilo_executable *exe);                   /* in the plan's program; none when from a file */
const char *rt_executable_name(const hilo_executable *exe);              /* of its module; or "" */
bool rt_executable_only_copies(const hilo_executable *exe);              /* it moves data, and does nothing else */
/* One run of a program by replicas x partitions processes, of which (r, p) has the index r * partitions + p, each on a thread
   of its own. Collectives wait for all members; when a process fails, or when none can go on, all waits end with an error. */
struct rt_launch;
struct rt_launch_options {
    uint32_t replicas, partitions;
    const uint32_t *devices; /* of all nodes, by process; NULL: all processes are here */
    uint64_t program;        /* fingerprint: the same on all nodes */
    const char *name;        /* of the program, for messages; outlives the launch */
};
/* What two nodes compare before they exchange anything: the executable's name, and the program's ops, types, attributes and
   constants. It does not depend on where the program was compiled, nor on its locations. */
uint64_t rt_executable_fingerprint(const hilo_executable *exe);
struct rt_launch *rt_launch_new(hilo_client *client, const struct rt_launch_options *o); /* NULL: memory is exhausted */
/* To be called once for each process that is here, also for one that never began. An error stops the others, which tell of
   `why`, if rt_execute has not told them already; NULL with HILO_OK. */
void rt_launch_end(struct rt_launch *l, uint32_t process, hilo_status status, const char *why);
void rt_launch_free(struct rt_launch *l); /* all processes have ended; NULL is fine */

/* As hilo_execute, on the threads of a device and, where `launch` is not NULL, as a process of it, whose end is the caller's to
   tell. */
hilo_status rt_execute(hilo_executable *exe, const hilo_execute_options *options, hilo_buffer *const *inputs, size_t ninputs,
                       hilo_buffer **outputs, size_t noutputs, int32_t device, struct rt_launch *launch, uint32_t process);
/* One launch, of which this node has the `here` processes from `first` on, each on the device of its place among these. Inputs
   and outputs are those of the first, then those of the next; no output is set on failure. */
hilo_status rt_execute_several(hilo_executable *exe, const hilo_execute_options *options,
                               const struct rt_launch_options *launch, uint32_t first, uint32_t here,
                               hilo_buffer *const *inputs, hilo_buffer **outputs);
/* hilo_execute of a client with devices or nodes. */
hilo_status rt_execute_everywhere(hilo_executable *exe, const hilo_execute_options *options, hilo_buffer *const *inputs,
                                  size_t ninputs, hilo_buffer **outputs, size_t noutputs);

#endif
