/* PTX to cubins by nvJitLink, where it is installed. */
#ifndef HILO_EXTERNAL_NVJITLINK_H
#define HILO_EXTERNAL_NVJITLINK_H

#include "base/diag.h"
#include "base/mem.h"
#include "base/str.h"

/* Opens it once for the process. NULL when it is there; else why not, one line. */
const char *ext_nvjitlink_missing(void);
/* A cubin for a GPU, by its name in targets.def, of PTX for it; mem_alloc'ed from `al`. UNAVAILABLE without the library,
   FAILED_PRECONDITION with what the library says where it cannot, as for GPUs that are newer than it. Any thread; calls on
   several threads run in parallel. */
hilo_status ext_cubin(struct str ptx, const char *gpu, const hilo_allocator *al, struct diag_list *d, void **out,
                      size_t *bytes);

#endif
