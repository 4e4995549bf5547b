/* Offloading: which steps of a program run on the GPU of a machine, and which on its processor.
 *
 * A step takes on either unit what a roofline gives: the unit's least time, and the larger of arithmetic and memory traffic. A
 * value that the other side reads crosses once. The assignment with the least sum is a minimum cut of the network of steps and
 * values (Stone 1977). Where arguments and constants exceed the GPU's memory, their bytes get a price, which rises until the
 * rest fits. What a run takes is then found by going through the steps in order: the GPU goes on while the host computes, until
 * one needs what the other has. A step may also be divided (divide.h), where both sides together are expected to be faster.
 * Both units must be expected to be better than one by a factor: estimates are rough. */
#ifndef HILO_COMPILE_OFFLOAD_H
#define HILO_COMPILE_OFFLOAD_H

#include "compile/divide.h"
#include "target/machine.h"

enum offload_to { OFFLOAD_NONE, OFFLOAD_ALL, OFFLOAD_PART, OFFLOAD_WAYS };

struct offload {
    enum offload_to to;
    double ns[OFFLOAD_WAYS]; /* expected, of a run; infinite where it is impossible */
    bool *on_device;         /* PART: by step of the block */
    struct {
        struct division *v;
        uint32_t n, cap;
    } divisions;             /* PART: of steps, in order */
    char reason[600];        /* one line: "GPU: …" */
};

/* Decides for the entry's block and its clusters; `revoked`: a run was slower than expected, so it is not divided. The result
   is in `a`, the rest in `scratch`, and it jumps from them when memory is exhausted. */
void offload(struct arena *a, struct arena *scratch, const struct ir_module *m, ir_block block, const struct fuse_block *f,
             const struct machine *machine, bool revoked, struct offload *out);

/* Places the steps of a block whose steps were divided: by step, in `a`. A concatenation is where what it joins is read. */
bool *offload_divided(struct arena *a, struct arena *scratch, const struct ir_module *m, ir_block block,
                      const struct fuse_block *f, const struct machine *machine, const struct divided *divided);

#endif
