/* Custom calls that have a definition (fused.def), and what their definitions are built with. */
#ifndef HILO_OPT_FUSED_H
#define HILO_OPT_FUSED_H

#include "opt/rules.h"

/* A call that is written out. New ops are inserted before it. The first error is kept in `status`; values made after it mean
 * nothing, but there are some, so that builders need not look. */
struct fused {
    struct rules r;
    ir_op op;
    const char *attributes; /* of its row */
    ir_attr config;         /* a dictionary, or none */
    hilo_status status;
};
typedef ir_val fused_fn(struct fused *c);
#define CALL(name, least, most, attributes) fused_fn fused_##name;
#include "opt/fused.def"

/* An error at the call; INVALID_ARGUMENT. */
void fused_fail(struct fused *c, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* ---- the configuration, checked before --------------------------------------------------------- */

double fused_float(const struct fused *c, const char *name, double missing);
int64_t fused_int(const struct fused *c, const char *name, int64_t missing);
bool fused_bool(const struct fused *c, const char *name, bool missing);
struct str fused_text(const struct fused *c, const char *name, const char *missing);
/* How many there are, no more than `most`; 0 where it is missing. */
uint32_t fused_ints(struct fused *c, const char *name, int64_t *out, uint32_t most);

/* ---- building ------------------------------------------------------------------------------------ */

static inline uint32_t fused_count(const struct fused *c) { return ir_op_get(c->r.m, c->op)->noperands; }
static inline ir_val fused_in(const struct fused *c, uint32_t i) { return ir_operand(c->r.m, c->op, i); }
static inline const struct ir_type_data *fused_shape(const struct fused *c, ir_val v) { return ir_val_type(c->r.m, v); }

ir_val fused_unary(struct fused *c, enum ir_op_kind kind, ir_val a);
ir_val fused_binary(struct fused *c, enum ir_op_kind kind, ir_val a, ir_val b); /* of the type of a */
ir_val fused_like(struct fused *c, ir_val v, double number);                    /* a constant of the type of v */
ir_val fused_convert(struct fused *c, ir_val v, enum ir_dtype t);
/* Floats of less than 32 bits as f32, in which they are computed. */
ir_val fused_wide(struct fused *c, ir_val v);
ir_val fused_reshape(struct fused *c, ir_val v, const int64_t *dims, uint32_t rank);
/* Dimension i of v is dimension at[i] of dims. */
ir_val fused_spread(struct fused *c, ir_val v, const int64_t *dims, uint32_t rank, const int64_t *at);
/* The same of the last dimensions, where sizes of 1 fit all; an error that names `what` where v does not fit. */
ir_val fused_align(struct fused *c, ir_val v, const int64_t *dims, uint32_t rank, const char *what);
/* Reduced by ADD or MAXIMUM, and spread to the shape of v again. */
ir_val fused_reduce(struct fused *c, enum ir_op_kind kind, ir_val v, const int64_t *dims, uint32_t n);
/* A dot of `batch` leading dimensions, that sums over one of each operand, with results of type t. */
ir_val fused_dot(struct fused *c, ir_val a, ir_val b, uint32_t batch, uint32_t sum_a, uint32_t sum_b, enum ir_dtype t);
ir_val fused_slice(struct fused *c, ir_val v, uint32_t dim, int64_t from, int64_t to);
ir_val fused_select(struct fused *c, ir_val p, ir_val a, ir_val b);
/* axis, negative ones from the end; an error when it is none of v. */
int64_t fused_axis(struct fused *c, ir_val v, int64_t axis);

#endif
