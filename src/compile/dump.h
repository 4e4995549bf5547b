/* Dumps: the program before and after each pass of a compilation, in files named as XLA names its own. See dump.c. */
#ifndef HILO_COMPILE_DUMP_H
#define HILO_COMPILE_DUMP_H

#include "opt/opt.h"
#include "runtime/runtime.h"

struct dump {
    const char *dir;       /* NULL = no dumps */
    const char *name;      /* "DIR/module_0001.NAME", in the executable's arena */
    int level;             /* of optimisation */
    uint32_t npasses;      /* that were dumped */
    struct diag_list *d;
    hilo_status status;    /* the first error of a pass's dump */
};

/* The directory that the options or HILO_DUMP_TO name; NULL = none. */
const char *dump_directory(const hilo_compile_options *o);
/* Writes the program that comes in, which claims a number in the directory. */
hilo_status dump_begin(struct dump *to, hilo_executable *exe, const struct ir_module *m, const hilo_compile_options *o,
                       struct diag_list *d);
/* Has the passes write what they change. */
void dump_passes(struct dump *to, struct opt_options *o);
/* Writes the optimised program, as text and, where HLO has all of its ops, as HLO text with its kernels as fusions. */
hilo_status dump_end(struct dump *to, const struct ir_module *m);

#endif
