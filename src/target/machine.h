/* A machine of a processor and a GPU: what placing steps on one or the other is decided by. It comes from a file of lines,
 *
 *   gpu sm_90a             the name of its row in targets.def
 *   processor 1000 200 2000  ns that a step takes at least, bytes/ns and operations/ns of all cores
 *   device 4000 3352 66900 80e9  the same of the GPU, and bytes of its memory
 *   link 10000 50          of a transfer: ns that it takes at least, bytes/ns; `link 0 0`: memory is shared
 *   arguments host         where callers have their arguments and want their results: host or device
 *   together 0.9 1         what the processor and the GPU keep of their operations/ns while both compute, at most 1
 *
 * each of which has to be there once, but for the last, in any order, with comments after '#'. Numbers are 0 or from 0.001 to
 * 1e18. */
#ifndef HILO_TARGET_MACHINE_H
#define HILO_TARGET_MACHINE_H

#include "base/diag.h"

struct machine_unit {
    double least_ns;     /* of a step: synchronisation, launch */
    double memory_rate;  /* bytes/ns */
    double compute_rate; /* operations/ns, two for a multiply-add */
};

struct machine {
    char gpu[16];
    struct machine_unit processor, device;
    double device_bytes;       /* of its memory */
    double link_ns, link_rate; /* of a transfer; rate 0 = there are none, memory is shared */
    double processor_kept, device_kept; /* of compute_rate, while both compute */
    bool arguments_on_device;
};

/* Reads the text of such a file; `name` is for messages. INVALID_ARGUMENT with the line and what is expected there. */
hilo_status machine_read(struct str text, const char *name, struct diag_list *d, struct machine *out);

#endif
