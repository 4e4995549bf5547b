/* The state of the machine of ptx.h, which its files share. */
#ifndef HILO_TESTS_GPU_PTX_MACHINE_H
#define HILO_TESTS_GPU_PTX_MACHINE_H

#include "ptx.h"
#include "ptx_insn.h"

enum { WARP = 32, MOST_THREADS = 1024, SECTOR = 32, BANKS = 32 };
#define GLOBAL_BASE(i) ((uint64_t)((i) + 1) << 40) /* of parameter i: addresses that meet no other buffer */

/* Who accessed a byte last: of shared memory since the block's start, of global memory since the launch. */
struct shadow { uint32_t writer, reader, write_block, read_block, write_phase, read_phase; }; /* threads, blocks from 1 */
enum { MANY = UINT32_MAX };                                                                   /* several readers */

/* Asynchronous copies of a thread that are under way, and groups that it has committed. */
struct copies {
    struct copy { uint64_t to; uint32_t bytes, group; unsigned char data[16]; const struct insn *by; } *v;
    uint32_t n, cap, groups;
};

/* Products of a warpgroup that a warp has begun: the 16 bytes in shared memory that they read, their group; groups that it has
   committed; what it did, which the warps of a group have in common. */
struct products {
    struct product { const struct insn *by; uint32_t group, n; uint64_t *units; } *v;
    uint32_t n, cap, groups;
    uint64_t trail;
};
/* When a thread ordered its stores before products: last, in which phase, and last in an earlier phase. */
struct fence { uint64_t last, earlier; uint32_t phase; };
enum { TOUCHED = 1, IN_FLIGHT = 2 }; /* a register: since the last wgmma.fence; products are added to it */

struct machine {
    const struct kernel *k;
    const struct ptx_buffer *params;
    struct shadow **shadows, *shared_shadow; /* of each parameter; of shared memory */
    unsigned char *shared;
    bool *copied; /* of bytes of shared memory: a copy to them is under way */
    struct copies *copies; /* of each thread */
    uint8_t *touched;      /* of each register of a thread; NULL in a kernel without wgmma, as the next four are */
    struct products *products; /* of each warp */
    struct fence *fences;      /* of each thread */
    struct { uint64_t stored; uint32_t by, readers; } *factors; /* of shared bytes: when and by whom; products that read it */
    uint64_t clock;
    size_t shared_bytes;
    const struct hilo_gpu_map *maps;
    struct tensors *tensors;
    uint64_t *registers; /* of each thread */
    struct thread { uint32_t pc; bool waits, sleeps, ended; } *threads; /* waits: at a barrier; sleeps: for an mbarrier */
    bool *votes;
    uint32_t nparams, nmaps, block, blocks, phase; /* phase: barriers that the block has passed */
    struct ptx_counts *counts;
    char *why;
    size_t size;
};


/* False, having written why: in the line of an instruction. */
bool machine_fail(struct machine *m, const struct insn *x, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
/* Host memory of an address, after the checks. store: what is stored there; storing what is there already is no race: blocks
   may compute the same elements. NULL: an error. */
unsigned char *machine_access(struct machine *m, const struct insn *x, uint64_t address, unsigned bytes, uint32_t thread,
                              const unsigned char *store);
/* Whether the units of the asynchronous proxy see what was stored in a byte: by a thread that has fenced it, before a barrier
   if it is another one. first: of the warp that uses it. */
bool machine_sees(const struct machine *m, uint64_t address, uint32_t first);
uint64_t machine_arg(const struct machine *m, uint32_t thread, const struct arg *a);
void machine_set(struct machine *m, uint32_t thread, const struct arg *a, uint64_t v);

/* ---- ptx_tensor.c: mbarriers, boxes of matrices ------------------------------------------------ */

void tensors_new(struct machine *m);
void tensors_reset(struct machine *m); /* at the start of a block */
void tensors_free(struct machine *m);
/* mbarrier.*, cp.async.bulk.tensor of a thread. */
bool tensors_run(struct machine *m, uint32_t thread, const struct insn *x);
/* Whether a thread has waited for the box that a byte of shared memory is of, and the byte is of no mbarrier. After a store it
   is of no box any more. */
bool tensors_access(struct machine *m, const struct insn *x, uint64_t address, uint32_t thread, bool store);
/* All threads have waited for what any of them has. */
void tensors_barrier(struct machine *m);
/* When no thread can do anything, and some wait for mbarriers: a box lands, one that they wait for if there is any, and they
   try again. False: none is left. */
bool tensors_wake(struct machine *m, uint64_t random);
bool tensors_done(struct machine *m); /* at the end of a block */

#endif
