/* The shape of a convolution: what its routines share. */
#ifndef HILO_LIBRARY_CONV_H
#define HILO_LIBRARY_CONV_H

#include "library/gemm.h"

enum { CONV_MOST = 3, CONV_PARAMS = 11 };

struct conv {
    const struct lib_call *c;
    enum ir_dtype in, out;
    int64_t batch_groups, feature_groups, group_in, group_out;              /* features of a group, in and out */
    int64_t out_batch;                                                      /* of a batch group */
    int64_t in_batch, in_feature, w_in, w_out, out_batch_step, out_feature; /* strides */
    uint32_t nspatial;
    struct conv_dim {
        int64_t in, window, out, stride, low, base, dilation, reverse;
        int64_t in_step, w_step, out_step; /* strides */
    } dim[CONV_MOST];
    bool joined; /* features under neighbouring places of the last dimension follow each other: they are one line */
    struct gemm g;
};

/* Reads parameters; false when some are missing. What they say is not checked, and `joined` and `g` are the routine's own. */
bool conv_read(const int64_t *params, uint32_t nparams, struct conv *out);

#endif
