/* Routines by libraries that may be installed: opened on first use, never linked, and never needed.
 *
 *   external.c        opening them; which of them can do an op       openblas.c   products, Cholesky factors, triangular solves
 *   onednn.h, .c      oneDNN's interface, of versions 2 and 3        fftw.c       Fourier transforms
 *   onednn_dot.c      products        onednn_window.c   convolution and pooling
 *   cublaslt.h, .c    products on a GPU                              nvjitlink.h, .c   PTX to cubins
 *   cudnn.h, .c       convolutions on a GPU; cudnn.def: its values   handle.h, .c      handles of libraries of a GPU
 *   cufft.c           Fourier transforms on a GPU
 *   cusolver.h, .c    Cholesky factors and triangular solves on a GPU     cusolver_factors.c   LAPACK's factors
 *
 * Each call of a library is on one thread, and what is computed by one call depends on shapes alone: so results are the same
 * for any number of threads. Their interfaces are declared here, as far as hilo needs them, from their documentation.
 *
 * A library is one for a process, so these are the library's only variables: written once, by the first user. */
#ifndef HILO_EXTERNAL_EXTERNAL_H
#define HILO_EXTERNAL_EXTERNAL_H

#include "library/routine.h"

/* ---- for the compiler ------------------------------------------------------------------------- */

/* "oneDNN"; what has it, "Debian: libdnnl2". */
const char *ext_title(enum lib_external by);
const char *ext_packages(enum lib_external by);
/* Opens it. NULL when it is there; else why not, one line. */
const char *ext_missing(enum lib_external by);
/* The version that was opened, "2.6.3"; "" where none is. */
const char *ext_version(enum lib_external by);
/* The routine that an op is to libraries; LIB_NONE for those that none does. */
enum lib_routine ext_routine(const struct ir_module *m, ir_op op);
/* The library that may compute an op of this kind in place of a GPU's kernel; LIB_OWN: none. */
enum lib_external ext_instead(enum ir_op_kind kind);
/* Whether it does the routine. */
bool ext_does(enum lib_external by, enum lib_routine r);
/* Fills `out` when this library can compute the op with its static shapes, on the GPU if there is one (a library that runs on
   one makes its context the calling thread's), or the host; as lib_match. */
bool ext_match(const struct ir_module *m, ir_op op, enum lib_external by, struct gpu *gpu, struct lib_match *out);

/* How they do what they do: for lib_prepare. */
const struct lib_by *const *ext_rows(void);

/* ---- for its files ---------------------------------------------------------------------------- */

#define BY(id, name, ROUTINE, routine, OP)                                                                                     \
    bool ext_##name##_##routine##_can(struct lib_match *out);                                                                  \
    void *ext_##name##_##routine##_prepare(const struct lib_match *match);                                                     \
    void ext_##name##_##routine##_release(void *state);                                                                        \
    hilo_status ext_##name##_##routine##_run(void *state, const struct lib_call *c);
#include "library/externals.def"

/* What opening a library came to; `why` is empty when it is there. */
struct ext_opened {
    char why[256], version[96];
};
#define EXTERNAL(id, name, title, packages, device) const struct ext_opened *ext_open_##name(void);
#include "library/externals.def"

struct ext_function {
    const char *name;
    size_t offset; /* of its pointer in a table */
    bool optional;
};
/* Opens the first of the names (NULL ends them) that is there, in the directory that the environment's `variable` names, or
   where the system looks; a variable that is empty means none. Fills in the table. NULL, and the reason in `why`, when there is
   no such library or it lacks a function. It stays open for good. */
void *ext_open(const char *variable, const char *const *names, const struct ext_function *functions, size_t n, void *table,
               struct ext_opened *out);

/* OpenMP's setting of how many threads a call on this thread may use, where the library has OpenMP. */
struct ext_omp {
    int (*get)(void);
    void (*set)(int n);
};
#define EXT_OMP(type, field)                                                                                                   \
    {"omp_get_max_threads", offsetof(type, field.get), true}, {                                                                \
        "omp_set_num_threads", offsetof(type, field.set), true                                                                 \
    }
/* One thread from here on; returns what ext_omp_end takes to restore the number. */
static inline int ext_omp_begin(const struct ext_omp *o) {
    int n = o->get && o->set ? o->get() : 1;
    if (n > 1)
        o->set(1);
    return n;
}
static inline void ext_omp_end(const struct ext_omp *o, int n) {
    if (n > 1)
        o->set(n);
}

#endif
