/* Processes, rendezvous and messages: what eval_process.c offers to the collectives (eval_collective.c). */
#ifndef HILO_EVAL_PROCESS_H
#define HILO_EVAL_PROCESS_H

#include "eval/eval_core.h"

struct process_group; /* num_replicas x num_partitions processes that can communicate */
struct rendezvous;    /* the operands of one collective op, contributed by the members of a replica group */

struct eval_process {
    const struct eval_process *outer; /* the process that started this one's group, or NULL */
    struct process_group *group;
    uint32_t index;                   /* replica * partitions + partition */
    uint32_t replicas, partitions;    /* of the process group */
    uint32_t infeed;                  /* values read so far */
};

/* The process that runs `cx`. Outside of run_parallel it is the only one of its group. NULL if memory is
   exhausted. */
struct eval_process *eval_process_of(struct eval *cx);

/* Waits until all n members (process indices, this one among them) have reached an op of this kind and channel, each with
   `count` values. Then rendezvous_value() returns every member's, until rendezvous_leave(). Fails, with a diagnostic, if a
   process fails or if they can never all join. */
hilo_status rendezvous_join(struct eval *cx, ir_op op, int64_t channel, const uint32_t *members, uint32_t n,
                         struct value *const *values, uint32_t count, struct rendezvous **out);
struct value *rendezvous_value(const struct rendezvous *m, uint32_t member, uint32_t i); /* member: position in the group */
void rendezvous_leave(struct eval *cx, struct rendezvous *m);
/* A tensor with the shape of value i and elements of type `t`, owned by the rendezvous and shared by all members: each fills
   its part, then rendezvous_finish() waits until all have. */
hilo_status rendezvous_common(struct eval *cx, struct rendezvous *m, uint32_t i, enum ir_dtype t, struct value **out);
hilo_status rendezvous_finish(struct eval *cx, ir_op op, struct rendezvous *m);

/* The address of a message; messages with equal keys are first in, first out. */
struct message_key {
    uint16_t kind;           /* enum ir_op_kind of the op that sends */
    int64_t channel;
    uint32_t source, target; /* process indices, or MESSAGE_ANY */
};
enum { MESSAGE_ANY = UINT32_MAX };

/* Sends values to the process that fetches them with this key; does not block. */
hilo_status message_send(struct eval *cx, const struct message_key *key, struct value *const *values, uint32_t n);
/* Waits for a message of n values and moves them to `out`. */
hilo_status message_fetch(struct eval *cx, ir_op op, const struct message_key *key, struct value **out, uint32_t n);

#endif
