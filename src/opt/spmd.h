/* SPMD partitioning: a program over global tensors, with the shardings that were propagated, becomes the program of one
 * partition over local shards (after the partitioner of openxla/shardy, transforms/export). Parts of the pass `partition`.
 *
 *   partition.c      the function: parameters, results, attributes for frameworks
 *   spmd_op.c        ops: the axes of each factor, local ops, sums of partial results
 *   spmd_local.c     what of an op's attributes and operands differs between partitions
 *   spmd_halo.c      windows along divided dimensions, for which neighbours exchange elements
 *   spmd_slice.c     dynamic slices and updates along divided dimensions
 *   spmd_reshard.c   from one sharding to another: slices and collectives, and what they cost
 *   spmd_call.c      custom calls that a framework divides
 *   sharding.c       shardings as HLO writes them
 *
 * A value is defined in one form; others are made where they are first used, and kept. */
#ifndef HILO_OPT_SPMD_H
#define HILO_OPT_SPMD_H

#include "opt/sdy_graph.h"

enum { SPMD_AXES = 16 }; /* in a list: as many as 4,096 partitions can have, with axes of two or more */

/* A value as one partition has it. NULL: all of it. Along unreduced axes partitions have what is to be combined. */
struct spmd_form {
    const struct sdy_sharding *s;
    enum ir_op_kind kind;           /* by which; IR_ADD where nothing is */
    ir_val v;
    const struct spmd_form *next;
};

struct spmd_value {
    ir_type type;                   /* global, or inside of a manual computation that of its free axes */
    const struct sdy_sharding *s;   /* that was propagated */
    const struct spmd_form *forms;  /* the one it is defined in first */
};

/* Elements along a dimension of a local value that were sent. */
struct spmd_sent {
    ir_val v, fill;
    bool masked;                /* with `fill`, none for zeros, for its padding */
    uint32_t dim, npairs;
    int64_t size;
    const int32_t *begins;      /* by partition: the first that it sent */
    const int64_t *pairs;       /* of source and target */
    ir_val made;                /* what came */
};

struct spmd {
    struct opt *o;
    struct ir_module *m;
    struct arena *a;
    struct sdy_graph *g;
    uint32_t partitions, replicas;
    bool by_replica;                /* of a program of one partition, with a mesh over its replicas: partitions are these */
    struct opt_ids of;              /* by value: 1 + its entry; values without one are as they were */
    struct { struct spmd_value *v; uint32_t n, cap; } values;
    ir_op at;                       /* the op that is walked */
    struct opt_ids rotations;       /* by op: the elements by which a concatenate rotates its operand, which it has twice */
    struct opt_ids reduced;         /* by op, an sdy.all_reduce or sdy.reduce_scatter: 1 + its entry */
    struct { struct sdy_axes *v; uint32_t n, cap; } sums; /* the axes along which it combines what its operand is */
    struct { struct spmd_sent *v; uint32_t n, cap; } sent; /* between neighbours, for windows */
    struct opt_ids own;             /* by value: 1 where it depends on the number of the partition */
    const int32_t *group;           /* of the computation that is walked: partitions of one number see one global value */
    const struct sdy_mesh *manual;  /* over which the manual computation is that is walked; NULL outside of all */
};

/* ---- shardings (spmd_reshard.c) ---------------------------------------------------------------- */

/* INVALID_ARGUMENT, with an error at the op, for a mesh that has not as many devices as the program partitions. */
hilo_status spmd_check_mesh(const struct spmd *p, ir_op op, const struct sdy_mesh *mesh);
/* The sharding as far as its parts have one size; NULL where nothing is divided, as no value of a quantised type is. */
const struct sdy_sharding *spmd_even(struct spmd *p, const struct sdy_sharding *s, const struct ir_type_data *t);
/* The sharding with all axes of each dimension where they make its parts smaller than those that divide it evenly do; the last
   parts may end in padding, whose elements are anything. NULL where nothing is divided. */
const struct sdy_sharding *spmd_parts(struct spmd *p, const struct sdy_sharding *s, const struct ir_type_data *t);
/* Whether parts of a dimension of that global size end in padding. */
bool spmd_is_uneven(const struct sdy_sharding *s, uint32_t dim, int64_t size);
bool spmd_equal(const struct sdy_sharding *a, const struct sdy_sharding *b);
/* The sharding, NULL for none, with these unreduced axes; NULL where it has no axes then. */
const struct sdy_sharding *spmd_partial(struct spmd *p, const struct sdy_sharding *s, const struct sdy_mesh *mesh,
                                        uint32_t rank, struct sdy_axes axes);
ir_type spmd_local_type(struct spmd *p, ir_type global, const struct sdy_sharding *s);
/* By partition: which part of a dimension over these axes it has. */
const int32_t *spmd_held(struct spmd *p, const struct sdy_mesh *mesh, struct sdy_axes axes);

/* By partition: the one that has part part[partition] over these axes, and is at the same place along the others; -1 for -1. */
int32_t *spmd_partners(struct spmd *p, const struct sdy_mesh *mesh, struct sdy_axes axes, const int32_t *part);

/* ---- values ------------------------------------------------------------------------------------- */

ir_type spmd_global_type(const struct spmd *p, ir_val v);
/* The sharding of a value; it may be there in other forms only. */
const struct sdy_sharding *spmd_sharding(const struct spmd *p, ir_val v);
/* Notes that a value, which has the sharding s, is there in the form `made`; its parts of sums, if any, are combined by `kind`
   where the value is first needed in a form without them. */
void spmd_define(struct spmd *p, ir_val v, ir_type global, const struct sdy_sharding *s, const struct sdy_sharding *made,
                 enum ir_op_kind kind, ir_val local);
/* The value in that form, made from the nearest one that there is. */
ir_val spmd_get(struct spmd *p, ir_val v, const struct sdy_sharding *s);
/* Bytes that each partition receives to get that form. */
double spmd_cost(struct spmd *p, ir_val v, const struct sdy_sharding *s);
/* The same for a value of that type in one form. */
double spmd_reshard_cost(struct spmd *p, ir_type global, const struct sdy_sharding *from, enum ir_op_kind kind,
                         const struct sdy_sharding *to);

/* ---- building ------------------------------------------------------------------------------------ */

/* A new op before `at`. */
ir_val spmd_make(struct spmd *p, ir_op at, enum ir_op_kind kind, const ir_val *in, uint32_t nin, ir_type type, ir_op *op);
/* `kind` of two values and all elements along a dimension, from an initial value. */
ir_val spmd_make_reduce(struct spmd *p, ir_op at, const ir_val *in, int64_t dim, enum ir_op_kind kind, ir_type type);
/* What changes nothing that it is added to: zeros, of floats with a sign. */
ir_val spmd_make_zero(struct spmd *p, ir_op at, ir_type type);
/* A constant of i32: n elements, or one of rank 0. */
ir_val spmd_make_table(struct spmd *p, ir_op at, const int32_t *v, int64_t n, uint32_t rank);
/* The number of this partition: a scalar of ui32. */
ir_val spmd_make_id(struct spmd *p, ir_op at);
/* The value that partition `from` has, for all. */
ir_val spmd_make_broadcast(struct spmd *p, ir_op at, ir_val v, uint32_t from);
/* The value of another partition, by n pairs of source and target; zeros for who is no target. */
ir_val spmd_make_permute(struct spmd *p, ir_op at, ir_val v, const int64_t *pairs, int64_t n);
/* Elements [from, to) along a dimension. */
ir_val spmd_make_slice(struct spmd *p, ir_op at, ir_val v, uint32_t dim, int64_t from, int64_t to);
/* With zeros at both ends of a dimension, so many as are given: a value of that type. */
ir_val spmd_make_pad(struct spmd *p, ir_op at, ir_val v, uint32_t dim, int64_t before, int64_t behind, ir_type type, ir_op *op);
/* `size` times the number of this partition in a table, as a scalar of i32. */
ir_val spmd_begin(struct spmd *p, ir_op at, const int32_t *held, int64_t size);

/* ---- windows (spmd_halo.c) ------------------------------------------------------------------------- */

/* Whether the op reads, along the dimension of its first operand that has the factor, other elements than those of the same
   part: it is a window, a pad, a slice or a reversal. */
bool spmd_is_halo(const struct spmd *p, ir_op op, const struct sdy_rule *rule, uint32_t factor);
/* False where such a dimension cannot be divided into so many parts, or where that moves as much as gathering it. */
bool spmd_halo_fits(const struct spmd *p, ir_op op, const struct sdy_rule *rule, uint32_t factor, int64_t parts);
/* Bytes that each partition receives of others' parts; global types and shardings of operands, then results. */
double spmd_halo_cost(const struct spmd *p, ir_op op, const ir_type *types, const struct sdy_sharding *const *s);
/* Gives the op, whose operands are local and whose results are not yet, what it reads of other parts, and makes its attributes
   those of one part. */
void spmd_halo(struct spmd *p, ir_op op, const ir_type *types, const struct sdy_sharding *const *s);

/* The local value rotated along a divided dimension: element i of the whole is what element i + by was, 0 < by < size. */
ir_val spmd_rotate(struct spmd *p, ir_op at, ir_val v, const struct sdy_sharding *s, uint32_t dim, int64_t by);

/* ---- slices (spmd_slice.c) ---------------------------------------------------------------------------- */

/* False where a dynamic slice or update along a dimension in so many parts would reach over a whole part. */
bool spmd_slice_fits(const struct spmd *p, ir_op op, const struct sdy_rule *rule, uint32_t factor, int64_t parts);
/* Make a dynamic slice, or update, whose operands are local, one of this partition's part: of a slice the elements that are in
   others' parts are zeros. Global types and shardings of operands, then results. False, with nothing done, where a slice cuts
   nothing that is divided. */
bool spmd_slice(struct spmd *p, ir_op op, const ir_type *types, const struct sdy_sharding *const *s);
void spmd_update(struct spmd *p, ir_op op, const ir_type *types, const struct sdy_sharding *const *s);

/* ---- ops (spmd_op.c) ------------------------------------------------------------------------------ */

/* Makes all ops of a block local, its terminator too where `end`. */
hilo_status spmd_walk(struct spmd *p, ir_block b, bool end);

/* ---- custom calls (spmd_call.c) --------------------------------------------------------------------- */

/* The sharding as HLO writes it. */
void spmd_text(struct spmd *p, const struct sdy_sharding *s, struct strbuf *out);
/* Whether the partitioner of the options divides the op. */
bool spmd_is_divided(const struct spmd *p, ir_op op);
/* Replaces the op by what its partitioner says. */
hilo_status spmd_divide(struct spmd *p, ir_op op);

/* ---- single ops (spmd_local.c) -------------------------------------------------------------------- */

/* The op's sharding rule, as it is divided by; NULL for none. */
const struct sdy_rule *spmd_rule(struct spmd *p, ir_op op);
/* Whether the op can be computed on shards along a factor, by each partition alone or, for a reduction, but for the sum. */
bool spmd_is_local(struct spmd *p, ir_op op, const struct sdy_rule *rule, uint32_t factor);
/* Whether the last parts along a factor, along which the op is local, may end in padding. */
bool spmd_may_pad(const struct spmd *p, ir_op op, const struct sdy_rule *rule, uint32_t factor);
/* The local value with `fill`, of rank 0, or none for zeros, behind the first `size` elements of all parts of a dimension. */
ir_val spmd_mask_end(struct spmd *p, ir_op op, ir_val v, const struct sdy_sharding *s, uint32_t dim, int64_t size, ir_val fill);
/* Gives the op, whose operands are local, such operands that padding leaves what it sums as it is. */
void spmd_mask(struct spmd *p, ir_op op, const struct sdy_rule *rule, const struct sdy_sharding *const *s);
/* What partial results are combined with; IR_OP_NONE where that is not known. */
enum ir_op_kind spmd_combiner(struct spmd *p, ir_op op);
/* The operands in which the op is linear, as a set; *product: in each of them alone, else in all together. */
uint32_t spmd_linear(struct spmd *p, ir_op op, bool *product);
/* Makes the attributes and operands of an op, whose operands are local, those of one partition; global types and shardings of
   operands, then results. Before the results get their local types. */
void spmd_localize(struct spmd *p, ir_op op, const ir_type *types, const struct sdy_sharding *const *s);
/* Result i as it is to be, where that differs from what the op gives: the numbers of iota from where this part begins, what a
   gather took from this part. Behind the op, before `at`, when results have their local types. */
ir_val spmd_finish(struct spmd *p, ir_op op, const ir_type *types, const struct sdy_sharding *const *s, uint32_t result,
                   ir_op at);

#endif
