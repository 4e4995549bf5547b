/* Programs for little memory; see remat.c. */
#ifndef HILO_COMPILE_REMAT_H
#define HILO_COMPILE_REMAT_H

#include "compile/build.h"

struct remat {
    struct ir_module *m; /* the optimised program, which is changed */
    ir_op entry;
    const struct build *like; /* how its plan will be made */
    size_t limit;             /* bytes, as plan_needs counts them */
    size_t least;             /* what is needed at the least, known afterwards */
    struct diag_list *d;
    struct arena arena;       /* of a plan on trial, with its recovery point; and what else it has */
    struct ir_module *copy;
    struct build *trial;
    struct opt opt;           /* for cloning */
    struct plan plan;
};

/* Changes the program until its plan needs no more than the limit; it computes the same values. RESOURCE_EXHAUSTED, with what
   it needs at the least, when that cannot be reached. Jumps to the arena's recovery point when memory ends; remat_free, which
   may be called any number of times, frees what was left. */
hilo_status remat_fit(struct remat *r);
void remat_free(void *remat);

#endif
