/* cuSOLVER's interface, for the files that use it. Its matrices are columns one after the other. */
#ifndef HILO_EXTERNAL_CUSOLVER_H
#define HILO_EXTERNAL_CUSOLVER_H

#include "external/handle.h"
#include "ir/ir.h"

enum { CUSOLVER_TYPES = 4 }; /* f32, f64, complex of both: the order of the tables */

struct cusolver {
    int (*version)(int *version);
    int (*create)(void **handle);
    int (*destroy)(void *handle);
    int (*stream)(void *handle, void *stream);
    int (*deterministic)(void *handle, int mode); /* NULL in versions that know no other */
    int (*potrf_size[CUSOLVER_TYPES])(void *handle, int fill, int n, void *a, int step, int *numbers);
    int (*potrf[CUSOLVER_TYPES])(void *handle, int fill, int n, void *a, int step, void *area, int numbers, int *info);
    int (*getrf_size[CUSOLVER_TYPES])(void *handle, int m, int n, void *a, int step, int *numbers);
    int (*getrf[CUSOLVER_TYPES])(void *handle, int m, int n, void *a, int step, void *area, int *pivots, int *info);
    int (*geqrf_size[CUSOLVER_TYPES])(void *handle, int m, int n, void *a, int step, int *numbers);
    int (*geqrf[CUSOLVER_TYPES])(void *handle, int m, int n, void *a, int step, void *tau, void *area, int numbers, int *info);
    int (*orgqr_size[CUSOLVER_TYPES])(void *handle, int m, int n, int k, const void *a, int step, const void *tau,
                                      int *numbers);
    int (*orgqr[CUSOLVER_TYPES])(void *handle, int m, int n, int k, void *a, int step, const void *tau, void *area,
                                 int numbers, int *info);
    int (*syevd_size[CUSOLVER_TYPES])(void *handle, int vectors, int fill, int n, const void *a, int step, const void *w,
                                      int *numbers);
    int (*syevd[CUSOLVER_TYPES])(void *handle, int vectors, int fill, int n, void *a, int step, void *w, void *area,
                                 int numbers, int *info);
    int (*gesvd_size[CUSOLVER_TYPES])(void *handle, int m, int n, int *numbers);
    int (*gesvd[CUSOLVER_TYPES])(void *handle, signed char u, signed char v, int m, int n, void *a, int step, void *s,
                                 void *to_u, int u_step, void *to_v, int v_step, void *area, int numbers, void *beside,
                                 int *info);
};

/* What was opened: after ext_open_cusolver, where it is there. */
const struct cusolver *ext_cusolver(void);
hilo_status ext_cusolver_check(int error, const char *call, struct diag_list *d);
/* Its handle of a device, a struct ext_handle. */
extern const struct gpu_library ext_cusolver_library;
/* The number of a type; CUSOLVER_TYPES for what it has none for. */
unsigned ext_cusolver_type(enum ir_dtype t);

#endif
