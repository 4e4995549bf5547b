/* A region of scalars applied to many elements: the bodies of reduce, reduce_window, select_and_scatter, sort … ; or a
 * function's body instead of a region.
 *
 * Runs as a program over lanes (eval_lanes.c) where the region is one, else element by element through eval_region: callers see
 * no difference but time. */
#ifndef HILO_EVAL_BODY_H
#define HILO_EVAL_BODY_H

#include "eval/eval.h"

struct body {
    struct eval *cx;
    ir_op op;
    ir_region region;
    uint32_t callee;              /* block of the function whose body the region is; 0: it is the op's own */
    struct lanes *lanes;          /* NULL: run the region */
    uint32_t nargs, nresults;
    enum ir_dtype *arg, *result;  /* element types, in one allocation */
    struct value **boxes;         /* without lanes: nargs scalars, reused, nresults results, and room for nargs references */
    size_t nboxes;
};

hilo_status body_open(struct eval *cx, ir_op op, ir_region r, struct body *b);
void body_close(struct body *b);

/* args[k] points to n elements of b->arg[k], results[k] to room for n elements of b->result[k]; results may be the very memory
   of an argument, else apart. */
hilo_status body_run(struct body *b, const void *const *args, void *const *results, size_t n);

/* `v` with elements of type `t`: a new reference to v itself where it has them. */
hilo_status body_convert(struct eval *cx, struct value *v, enum ir_dtype t, struct value **out);

#endif
