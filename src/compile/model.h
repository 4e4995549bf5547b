/* Which steps are left to installed libraries: what `hilo calibrate` has measured on this machine, and what it is good for.
 *
 * The time of an op is fixed + work × flops + bytes × what it reads and writes, for each routine, type of elements and
 * provider: hilo's own code, or a library. The numbers are those of one thread; of a GPU those of a run, with all threads where
 * the host computes, and its transfers. They are kept as lines of text in the directory of the compile cache, in a file for the
 * processor and one for a GPU, with the processor, the GPU and the versions of the libraries, and count for nothing where those
 * are others. */
#ifndef HILO_COMPILE_MODEL_H
#define HILO_COMPILE_MODEL_H

#include "external/external.h"
#include "runtime/internal.h"

struct model_cost {
    bool known;
    double fixed, flop, byte; /* ns */
};

struct model {
    bool there;
    double cores; /* of the machine, by which times of one thread may be divided */
    double copy;  /* ns a byte that is written and read again */
    struct model_cost cost[LIB_ROUTINE_COUNT][IR_DTYPE_COUNT][LIB_EXTERNAL_COUNT];
};

/* The file, in `out`, terminated; false when there is no cache directory. */
bool model_path(const hilo_client *client, char *out, size_t size);
/* Loads it. NULL when it is used; else why not, in `why`. */
const char *model_load(const hilo_client *client, struct model *out, char *why, size_t size);
/* Keeps it. */
hilo_status model_store(const hilo_client *client, const struct model *m, struct diag_list *d);

/* What an op costs by: arithmetic, and bytes of operands and results. */
struct model_work {
    double flops, bytes;
};
struct model_work model_work(const struct ir_module *m, ir_op op);
double model_ns(const struct model_cost *c, const struct model_work *w);
/* The cost that fits measured times best, in relative error, with no part below zero. */
struct model_cost model_fit(const struct model_work *work, const double *ns, size_t n);

/* Compiles a program for the calibration: whatever this library can do is left to it; with LIB_OWN nothing. (compile.c) */
hilo_status model_compile(hilo_client *client, hilo_module *module, enum lib_external by, hilo_executable **out);

#endif
