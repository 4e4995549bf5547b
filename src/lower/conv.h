/* The geometry of a convolution, read once from its attributes: what its schedules and the factors of its operands share.
 *
 * The input is seen as an image with padding around it and holes between its elements (lhs_dilation): position q of dimension i
 * is element (q - low) / base of the operand where that exists, else 0. Output o under tap k of the window reads position
 * o · stride + k · dilation. */
#ifndef HILO_LOWER_CONV_H
#define HILO_LOWER_CONV_H

#include "lower/lower.h"

struct conv_dim {
    uint32_t axis, in, kernel; /* the dimension of the result, of the input, of the window */
    int64_t out, size, window; /* elements of the result, the input, the window */
    int64_t stride, dilation, low, base;
    int64_t image; /* positions that windows cover */
    bool reversed;
};

struct conv {
    uint32_t n; /* spatial dimensions */
    struct conv_dim dim[IR_MAX_RANK];
    uint32_t batch, feature;                              /* axes of the result */
    uint32_t in_batch, in_feature, kernel_in, kernel_out; /* dimensions of the operands */
    int64_t batches;                                      /* of the input */
    int64_t channels, features;                           /* input channels of a group; features of all groups */
    int64_t groups, batch_groups;
};

void lower_conv_read(const struct ir_module *m, ir_op op, struct conv *out);
/* The kernel's index at a tap of the window, an input channel of the group and a feature. */
void lower_conv_kernel_index(struct lower *l, const struct conv *v, const kir_val *tap, kir_val channel, kir_val feature,
                             struct index *out);
/* The input's element under a position of dimension i. *guard (i1): whether it exists and *guard held; none = it does. `most`:
   the largest position. */
kir_val lower_conv_position(struct lower *l, const struct conv *v, uint32_t i, kir_val position, int64_t most, kir_val *guard);

#endif
