/* Shardy's attributes (openxla/shardy, attrs.td) as structures: meshes, axes and sub-axes, shardings, sharding rules.
 *
 * A module keeps an attribute as its text, interned, as it keeps every attribute of another dialect. Passes decode what they
 * work on once, into an arena, and encode what they made; encoding gives the text that MLIR prints. A list of axes is major
 * first. Axes are numbered by their place in the mesh, so that order by number is the mesh's order. */
#ifndef HILO_IR_SDY_H
#define HILO_IR_SDY_H

#include "ir/ir.h"

enum {
    SDY_MESH_AXES = 64,          /* more are refused */
    SDY_MESH_DEVICES = 1 << 24
};

struct sdy_mesh_axis {
    struct str name;
    int64_t size;
};

struct sdy_mesh {
    struct str symbol;                 /* of the sdy.mesh; empty for one that is written where it is used */
    uint32_t naxes;
    const struct sdy_mesh_axis *axes;
    uint32_t ndevices;                 /* 0: devices are numbered in order */
    const int64_t *devices;
};

/* An axis of a mesh, or the part of it that coordinate / (size of the axis / (pre * size)) % size is. */
struct sdy_axis {
    uint32_t axis;
    bool part;
    int64_t pre, size;                 /* of the whole axis: 1 and its size */
};

struct sdy_axes {
    uint32_t n;
    const struct sdy_axis *v;
};

struct sdy_dim {
    struct sdy_axes axes;
    bool closed;                       /* no more axes may be added */
    int64_t priority;                  /* -1: none is given, which means 0 */
};

struct sdy_sharding {
    const struct sdy_mesh *mesh;
    uint32_t rank;
    const struct sdy_dim *dims;
    struct sdy_axes replicated, unreduced;
};

enum sdy_factor_type { SDY_PASS_THROUGH, SDY_REDUCTION, SDY_NEED_REPLICATION, SDY_PERMUTATION };

struct sdy_factor {
    int64_t size;
    enum sdy_factor_type type;
    bool blocked;                      /* nothing is propagated along it */
};

/* The factors of a dimension of a tensor, major first; at least one. */
struct sdy_dim_factors {
    uint32_t n;
    const uint32_t *v;
};

struct sdy_rule {
    uint32_t nfactors, noperands, nresults;
    const struct sdy_factor *factors;
    const uint32_t *ranks;                           /* of operands, then results */
    const struct sdy_dim_factors *const *dims;       /* [tensor][dimension] */
    bool custom;                                     /* given by the user */
};

/* What is decoded: the meshes of a module, each once. Memory: `a`. */
struct sdy {
    const struct ir_module *m;
    struct arena *a;
    struct diag_list *d;               /* NULL: what cannot be read is told to nobody */
    struct { const struct sdy_mesh **v; uint32_t n, cap; } meshes;
};

/* ---- decoding -------------------------------------------------------------------------------- */

/* These answer INVALID_ARGUMENT, with an error at `op`, for what cannot be read: syntax, a mesh that is not there, axes that
   the mesh does not have or that overlap. */
hilo_status sdy_mesh_named(struct sdy *s, ir_op op, struct str symbol, const struct sdy_mesh **out);
/* `#sdy.sharding<…>`; `rank` is what it must have, UINT32_MAX for any. */
hilo_status sdy_read_sharding(struct sdy *s, ir_op op, ir_attr a, uint32_t rank, const struct sdy_sharding **out);
/* `#sdy.sharding_per_value<[…]>` of n values; ranks may be NULL. */
hilo_status sdy_read_shardings(struct sdy *s, ir_op op, ir_attr a, const uint32_t *ranks, uint32_t n,
                               const struct sdy_sharding **out);
/* `#sdy<manual_axes{…}>`: names in the arena. */
hilo_status sdy_read_manual_axes(struct sdy *s, ir_op op, ir_attr a, const struct str **out, uint32_t *n);
/* Of sdy.all_reduce and sdy.reduce_scatter: the axes along which values are combined, of all dimensions together, and the
   sharding of the result. */
hilo_status sdy_read_reduced_axes(struct sdy *s, ir_op op, struct sdy_axes *axes, const struct sdy_sharding **out);
/* `#sdy.op_sharding_rule<…>` for the operands and results of an op. */
hilo_status sdy_read_rule(struct sdy *s, ir_op op, ir_attr a, const struct sdy_rule **out);

/* What sdy_read_op finds. */
struct sdy_found {
    void *user;
    void (*sharding)(void *user, ir_val v, const struct sdy_sharding *s);      /* of a value */
    void (*manual)(void *user, ir_op op, const struct str *names, uint32_t n); /* the axes of a manual computation */
};
/* Reads what an op says: of results, of the arguments of its body, of a function's parameters; a sharding rule. */
hilo_status sdy_read_op(struct sdy *s, ir_op op, const struct sdy_found *found);
/* Of the results of a function with a body, by result; those that it does not give are left as they are. */
hilo_status sdy_read_results(struct sdy *s, ir_op func, const struct sdy_sharding **out);
/* Whether all that a verified module says of shardings can be read. */
hilo_status sdy_verify(const struct ir_module *m, struct diag_list *d);

/* ---- encoding -------------------------------------------------------------------------------- */

ir_attr sdy_mesh_attr(struct ir_module *m, const struct sdy_mesh *mesh);
ir_attr sdy_sharding_attr(struct ir_module *m, const struct sdy_sharding *s);
ir_attr sdy_shardings_attr(struct ir_module *m, const struct sdy_sharding *const *s, uint32_t n);
ir_attr sdy_rule_attr(struct ir_module *m, const struct sdy_rule *r);
ir_attr sdy_manual_axes_attr(struct ir_module *m, const struct str *names, uint32_t n);

/* ---- axes ------------------------------------------------------------------------------------ */

static inline bool sdy_axis_equal(struct sdy_axis a, struct sdy_axis b) {
    return a.axis == b.axis && a.pre == b.pre && a.size == b.size;
}
bool sdy_axes_equal(struct sdy_axes a, struct sdy_axes b);
struct sdy_axis sdy_axis_whole(const struct sdy_mesh *mesh, uint32_t axis);
/* The part of an axis, or all of it where that is what it is. */
struct sdy_axis sdy_axis_part(const struct sdy_mesh *mesh, uint32_t axis, int64_t pre, int64_t size);
bool sdy_axis_contains(struct sdy_axis a, struct sdy_axis b);      /* b is in a */
bool sdy_axis_is_prefix(struct sdy_axis a, struct sdy_axis of);
bool sdy_axis_overlaps(struct sdy_axis a, struct sdy_axis b);
/* What of `a` is major to b; false when nothing is. */
bool sdy_axis_before(const struct sdy_mesh *mesh, struct sdy_axis a, struct sdy_axis b, struct sdy_axis *out);
bool sdy_axis_before_all(const struct sdy_mesh *mesh, struct sdy_axis a, struct sdy_axes b, struct sdy_axis *out);
/* What of `a` is minor to b. */
bool sdy_axis_behind(const struct sdy_mesh *mesh, struct sdy_axis a, struct sdy_axis b, struct sdy_axis *out);
/* b continues a: both are parts of one axis. */
bool sdy_axis_can_merge(struct sdy_axis a, struct sdy_axis b);
/* The greatest common divisor of two sizes. */
int64_t sdy_gcd(int64_t a, int64_t b);
/* Product of the sizes. */
int64_t sdy_axes_size(struct sdy_axes a);
/* A copy with room for more. */
struct sdy_axis *sdy_axes_copy(struct arena *a, struct sdy_axes axes, uint32_t more);
/* Appends, merging with the last where that is continued; v has room. */
void sdy_axes_append(const struct sdy_mesh *mesh, struct sdy_axis *v, uint32_t *n, struct sdy_axis x);
/* Sorts by the mesh's order and merges what can be. */
void sdy_axes_sort(const struct sdy_mesh *mesh, struct sdy_axis *v, uint32_t *n);
/* a without b, in the order of a; `out` has room for a.n + b.n. */
uint32_t sdy_axes_minus(const struct sdy_mesh *mesh, struct sdy_axes a, struct sdy_axes b, struct sdy_axis *out);

/* ---- shardings ------------------------------------------------------------------------------- */

/* Same axes and devices; the symbols may differ. */
bool sdy_mesh_equal(const struct sdy_mesh *a, const struct sdy_mesh *b);
static inline bool sdy_mesh_empty(const struct sdy_mesh *m) { return m->naxes == 0 && m->ndevices == 0; }
/* Of one device, which is not propagated. */
static inline bool sdy_mesh_maximal(const struct sdy_mesh *m) { return m->naxes == 0 && m->ndevices == 1; }
/* Equal as attributes: the same mesh, axes, openness and priorities. NULL equals NULL only. */
bool sdy_sharding_equal(const struct sdy_sharding *a, const struct sdy_sharding *b);
/* No axis is used, replicated or unreduced. */
bool sdy_sharding_is_empty(const struct sdy_sharding *s);
/* No axes, all dimensions open or all closed. */
const struct sdy_sharding *sdy_sharding_of_none(struct arena *a, const struct sdy_mesh *mesh, uint32_t rank, bool closed);
/* A copy whose lists may be replaced; `dims` is new, too. */
struct sdy_sharding *sdy_sharding_copy(struct arena *a, const struct sdy_sharding *s, struct sdy_dim **dims);
int64_t sdy_dim_parts(const struct sdy_dim *d);

#endif
