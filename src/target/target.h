/* What a machine is like: one record, which clustering, lowering, the cost model, code generation and reports read. It comes
 * from the host (CPUID, sysconf) or from a row of targets.def. No other place holds a number about a machine.
 *
 * Whatever generated code depends on is printed by target_print, which is a part of the key of the compile cache: a field that
 * is added is printed there. Results must not depend on the number of threads: how sums are split follows from `tasks` and
 * `parallel_ops`, which are the same for all machines of a kind; `cores` may decide how independent work is divided.
 *
 * How limits of schedules follow from the record:
 *   registers of a tile       vector_registers less those for operands, at least fma_in_flight sums
 *   blocks of a contraction   a panel in l1_bytes, a block of panels in l2_bytes, at least `tasks` blocks; matrix units by
 *                             tile_rows and tile_row_bytes
 *   lines of a matrix         read line_bytes at a time, in streams of stream_bytes, prefetch_bytes ahead; partial sums in
 *                             l1_bytes
 *   rows of a kernel          at least `tasks`, else the reduction is split
 *   serial loops              up to parallel_ops operations; more is worth the threads
 *   non-temporal stores       of results of nontemporal_bytes, which exceed the caches; operands are prefetched
 *                             map_prefetch_bytes ahead
 *   times in plans            memory_rate and compute_rate */
#ifndef HILO_TARGET_TARGET_H
#define HILO_TARGET_TARGET_H

#include "base/diag.h"
#include "base/str.h"

enum target_isa { TARGET_NO_ISA, TARGET_X86_64, TARGET_AARCH64, TARGET_NVPTX /* GPUs */ };

struct target {
    const char *name; /* of the row of targets.def; "host", "portable" */

    /* code generation */
    enum target_isa isa;
    char triple[64], cpu[64], features[4096]; /* LLVM's; "+avx512f,-…" */
    const char *tune;                         /* the processor whose latencies LLVM schedules for; NULL = `cpu` */

    /* units of a core */
    uint32_t vector_bytes;     /* of a register: 64, 32, 16; of a GPU: of all lanes of a thread block */
    uint32_t vector_registers; /* 32, 16 */
    bool fma;
    uint32_t fma_in_flight;    /* multiply-adds that do not depend on each other, from which their latency is hidden */
    bool dot_i8, dot_i8_signed; /* vector sums of four products of bytes, of u8 by i8 and of i8 by i8: VNNI, AVX-VNNI-INT8 */
    bool dot2_i8;              /* of two products of u8 by i8, in 16 bits: SSSE3 */
    bool dot_bf16;             /* of two products of bf16: AVX512-BF16 */
    bool tile_i8, tile_bf16;   /* matrix unit (AMX) */
    uint32_t tile_rows, tile_row_bytes, tile_registers; /* of the matrix unit; 0 = none */

    /* a GPU */
    uint32_t block_threads;           /* of a block, which is what its vectors are; 0 = a processor */
    uint32_t warp_threads;            /* threads that run together */
    size_t shared_bytes;              /* of shared memory that a block may have */
    const char *ptx_version;          /* in the header of its code */
    double f32_rate, f64_rate;        /* operations/ns, two for a multiply-add */
    double f16_tile_rate, s8_tile_rate; /* of matrix units */
    bool wgmma;                       /* matrix units that 128 threads use together, with factors in shared memory */

    /* memory */
    size_t l1_bytes, l2_bytes, l3_bytes; /* data caches: of a core, of a core, shared (0 = unknown) */
    uint32_t line_bytes;                 /* of a cache line */
    uint32_t l1_way_bytes;               /* addresses that far apart compete for one set of the L1 cache */
    uint32_t stream_bytes;               /* read from one place before another: hardware prefetchers run ahead of it */
    uint32_t prefetch_bytes;             /* from a load of a stream to what is prefetched with it; 0 = the hardware suffices */
    uint32_t map_prefetch_bytes;         /* the same in elementwise loops whose results go past the caches */
    size_t nontemporal_bytes;            /* of a result, from which on stores go past the caches; 0 = none do */
    size_t scratch_bytes;                /* fast memory in which a kernel may hold a row of values */
    double memory_rate;                  /* bytes/ns of one thread, of all of a GPU; a rough estimate */
    double compute_rate;                 /* elementwise operations/ns, likewise */
    double link_rate;                    /* bytes/ns between a GPU's memory and the host's; else 0 */
    double exchange_ns, exchange_rate;   /* until the first byte from another process; bytes/ns then: of one host, or a fast
                                            network; a rough estimate */

    /* threads */
    uint32_t cores;       /* that the machine has, not those that the process may use; 0 = unknown; multiprocessors of a GPU */
    uint32_t tasks;       /* parts of a kernel that keep threads evenly occupied */
    int64_t parallel_ops; /* operations below which threads are not worth their synchronisation */
    int64_t kernel_ops;   /* operations below which starting a kernel costs about as much */
    int64_t packed_min;   /* rows, columns and terms from which packing the operands of a contraction pays */
};

/* The least common machine, whose kernels the interpreter runs. */
void target_portable(struct target *out);
/* A row of targets.def; NOT_FOUND, listing them, for another name. */
hilo_status target_named(const char *name, struct target *out, struct diag_list *d);
/* The machine that the process runs on, as CPUID and the system report it. UNAVAILABLE where hilo has no code generator. */
hilo_status target_host(struct target *out, struct diag_list *d);
/* Sets the units by the features. */
void target_set_features(struct target *t, const char *features);
/* The machine of a name as uname has it, "x86_64"; UNAVAILABLE: "no code generator for riscv64". */
hilo_status target_isa_named(const char *machine, enum target_isa *out, struct diag_list *d);
const char *target_isa_name(enum target_isa isa);

/* Whether code for a GPU, by its name in targets.def ("sm_80"), runs on one of a compute capability: later ones run it, too,
   unless its name ends in a letter. */
bool target_gpu_runs(const char *cpu, int32_t major, int32_t minor);
/* The same of what was compiled to the end for it, a cubin: only GPUs of the same major version run it. */
bool target_gpu_runs_cubin(const char *cpu, int32_t major, int32_t minor);
/* The last row of targets.def whose code a GPU of this compute capability runs; NULL = none. */
const char *target_gpu(int32_t major, int32_t minor);

/* Whether LLVM's feature is on, by its name without the sign. */
bool target_has(const struct target *t, const char *feature);
/* Appends "isa x86_64\nvectors 64 B x 32 …": all that generated code depends on, line by line. */
void target_print(const struct target *t, struct strbuf *out);

/* ---- the processor of the process (cpu.c) ----------------------------------------------------- */

/* What this library was built for: "x86_64", "aarch64", "riscv64" … */
const char *target_cpu_machine(void);
/* True when the processor has a feature, "avx2"; false for one that hilo does not know. */
bool target_cpu_has(struct str feature);
/* All its features that hilo uses, as a list of LLVM's: "+avx,+avx2,…". */
void target_cpu_list(char *out, size_t size);
/* The next feature that a list of LLVM's, "+avx2,-avx512f,…", turns on, of those that matter to generated code; *at advances.
   False at the end. */
bool target_cpu_next(struct str features, size_t *at, struct str *out);

/* ---- threads (threads.c) ---------------------------------------------------------------------- */

/* Threads that the process may use at once, at least 1: its affinity, and the CPU quota of its control groups. */
uint32_t target_threads(void);
/* Cores of the machine, at least 1: field `cores` of the host. */
uint32_t target_cores(void);
/* Makes a processor one of `threads` cores when that is more than this machine has: code for more threads than there are cores
   is divided as for a machine that has them. */
void target_expect_threads(struct target *t, int32_t threads);
/* CPUs that control groups allow, rounded up; 0 = no limit. `groups`: text of /proc/self/cgroup; `root`: where the file systems
   of control groups are mounted, /sys/fs/cgroup. */
uint32_t target_cgroup_cpus(const char *root, struct str groups);

#endif
