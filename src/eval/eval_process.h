/* Processes and how they meet: what eval_process.c offers to the collectives (eval_collective.c). */
#ifndef HILO_EVAL_PROCESS_H
#define HILO_EVAL_PROCESS_H

#include "eval/eval_core.h"

struct grid;    /* num_replicas x num_partitions processes that can talk to each other */
struct meeting; /* the operands that the members of a group have brought to one collective op */

struct eval_process {
    const struct eval_process *outer; /* the process that has started this one's grid, or NULL */
    struct grid *grid;
    uint32_t index;                   /* replica * partitions + partition */
    uint32_t replicas, partitions;    /* of the grid */
    uint32_t infeed;                  /* values read so far */
};

/* The process that runs `cx`. Outside of run_parallel the only one of a grid of its own; NULL when memory ends. */
struct eval_process *eval_process_of(struct eval *cx);

/* Waits until all n members (process indices, this one among them) have come to an op of this kind and channel, each with
   `count` values. Then meeting_value() gives every member's, until meeting_leave(). An error, with a diagnostic, when a process
   fails or when they can never all come. */
hilo_status meeting_join(struct eval *cx, ir_op op, int64_t channel, const uint32_t *members, uint32_t n,
                         struct value *const *values, uint32_t count, struct meeting **out);
struct value *meeting_value(const struct meeting *m, uint32_t member, uint32_t i); /* member: position in the group */
void meeting_leave(struct eval *cx, struct meeting *m);
/* A tensor of elements of type `t` in the shape of value i, which is made for all members (the meeting's): each fills its part,
   then meeting_finish() waits until all have. */
hilo_status meeting_common(struct eval *cx, struct meeting *m, uint32_t i, enum ir_dtype t, struct value **out);
hilo_status meeting_finish(struct eval *cx, ir_op op, struct meeting *m);

/* Where a parcel goes: first in, first out among equals. */
struct parcel_key {
    uint16_t kind;           /* enum ir_op_kind of the op that sends */
    int64_t channel;
    uint32_t source, target; /* process indices, or PARCEL_ANY */
};
enum { PARCEL_ANY = UINT32_MAX };

/* Leaves values for whoever fetches them under that key; never waits. */
hilo_status parcel_send(struct eval *cx, const struct parcel_key *key, struct value *const *values, uint32_t n);
/* Waits for a parcel of n values and moves them to `out`. */
hilo_status parcel_fetch(struct eval *cx, ir_op op, const struct parcel_key *key, struct value **out, uint32_t n);

#endif
