/* Propagation along the factors of one op (openxla/shardy, sharding_projection.cc, basic_factor_propagation.cc,
 * aggressive_factor_propagation.cc). */
#ifndef HILO_OPT_SDY_FACTOR_H
#define HILO_OPT_SDY_FACTOR_H

#include "ir/sdy.h"

/* Directions, as sets. */
enum sdy_direction { SDY_NONE = 0, SDY_FORWARD = 1, SDY_BACKWARD = 2, SDY_BOTH = SDY_FORWARD | SDY_BACKWARD };

enum sdy_strategy { SDY_BASIC, SDY_AGGRESSIVE };

/* A list of axes that is edited: room for every part that a mesh can be divided into. */
struct sdy_list {
    uint32_t n;
    struct sdy_axis *v;
};

/* How a tensor is sharded along one factor. */
struct sdy_along {
    bool mapped;             /* a dimension of the tensor has the factor */
    bool closed, minor;      /* minor: the last factor of its dimension */
    struct sdy_list axes;
    struct sdy_list overflow; /* the axes of the dimension that follow and do not divide the factor */
};

struct sdy_projected {
    struct sdy_along *along; /* by factor */
    struct sdy_axes replicated, unreduced;
};

/* All operands and results of an op, seen as factors. */
struct sdy_projection {
    struct arena *a;
    const struct sdy_rule *rule;
    const struct sdy_mesh *mesh;
    uint32_t room;                   /* of each list */
    struct sdy_projected *tensors;   /* operands, then results */
};

/* Shardings of the operands, then the results; NULL is open, or closed where `closed`. */
struct sdy_projection sdy_project(struct arena *a, const struct sdy_rule *rule, const struct sdy_mesh *mesh,
                                  const struct sdy_sharding *const *shardings, bool closed);
/* The sharding of tensor t, with that mesh's symbol. */
const struct sdy_sharding *sdy_unproject(const struct sdy_projection *p, uint32_t t);

/* Propagates; directions by factor. `elementwise`: the op is. *updated by tensor. */
void sdy_propagate_factors(struct sdy_projection *p, enum sdy_strategy strategy, const enum sdy_direction *directions,
                           bool elementwise, bool *updated);

#endif
