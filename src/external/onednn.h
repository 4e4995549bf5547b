/* oneDNN's C interface, of versions 2 (from 2.6 on) and 3, and units of work made from it. See onednn.c. */
#ifndef HILO_EXTERNAL_ONEDNN_H
#define HILO_EXTERNAL_ONEDNN_H

#include "external/external.h"

enum { DNN_MOST_DIMS = 6, DNN_MOST_PLACES = 3 };

/* What a unit does. Dimensions are in oneDNN's order: images, features, places. */
enum dnn_kind { DNN_MATMUL, DNN_CONVOLUTION, DNN_POOL_MAX, DNN_POOL_SUM };

/* A tensor of given strides, in elements. any: oneDNN chooses the layout, and the tensor is reordered to it and
 * back. */
struct dnn_tensor {
    enum ir_dtype dtype;
    int rank;
    bool any;
    int64_t dims[DNN_MOST_DIMS], strides[DNN_MOST_DIMS];
};

struct dnn_spec {
    enum dnn_kind kind;
    struct dnn_tensor in, weights, out; /* weights: not of pools; of a product the right side */
    /* of windows, by place; dilation 1 = none */
    int64_t window[DNN_MOST_PLACES], stride[DNN_MOST_PLACES], dilation[DNN_MOST_PLACES], low[DNN_MOST_PLACES],
        high[DNN_MOST_PLACES];
};

/* A piece of work of one shape, for any number of calls at once, each on one thread. */
struct dnn_unit;

/* What the unit would be; with `like`, one that takes its weights as that one has them packed. NULL where oneDNN is not there,
   has only its reference for it, or memory is exhausted. */
struct dnn_unit *dnn_unit_look(const struct dnn_spec *s, const struct dnn_unit *like);
/* The same, ready for calls. */
struct dnn_unit *dnn_unit_new(const struct dnn_spec *s, const struct dnn_unit *like);
bool dnn_can(const struct dnn_spec *s); /* dnn_unit_look has an answer */
void dnn_unit_free(struct dnn_unit *u); /* NULL is fine */
/* Bytes of packed weights; 0 when they are taken as they come. */
size_t dnn_packed_bytes(const struct dnn_unit *u);
/* Packs them, on one thread. */
bool dnn_pack(struct dnn_unit *u, const void *weights, void *packed);
/* False when memory is exhausted, or oneDNN fails. `weights`: packed, where that takes bytes. */
bool dnn_unit_run(struct dnn_unit *u, const void *in, const void *weights, void *out);

#endif
