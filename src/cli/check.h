/* hilo check: check.c finds cases, distributes them to processes, and reports; check_case.c runs one. */
#ifndef HILO_CLI_CHECK_H
#define HILO_CLI_CHECK_H

#include "cli/cli.h"

#include <stdatomic.h>

struct check_options {
    struct cli_compile compile;
    const char *filter;
    int64_t timeout; /* seconds a case */
    int64_t jobs;    /* concurrent cases; 0 = one per core */
    bool verbose;
    bool reload;     /* run executables after a round trip through a .hilo file */
    int64_t shardings, seed; /* partitions that entries are divided for, see check_shardings.c; 0 = one device */
    bool arguments;  /* constants of the entries become arguments, see check_arguments.c */
};

/* How the ops of compiled programs are computed, over all cases; shared by the worker processes. */
enum check_how { CHECK_KERNEL, CHECK_ROUTINE, CHECK_EVALUATED, CHECK_WHOLE, CHECK_HOW_COUNT };
struct check_counts {
    atomic_size_t ops[CHECK_HOW_COUNT]; /* CHECK_WHOLE: programs that are evaluated as a whole */
};

/* A part of a file between `// -----` lines. */
struct check_case {
    const char *path;
    struct str text;
    uint32_t line;   /* number of its first line */
    bool alone;      /* the file has no other part */
};

/* True when the case passes. Else `why` begins with a place and is one line, or with `verbose` all diagnostics. The
   client's diagnostics are left empty. */
bool check_case(hilo_client *client, const struct check_case *c, const struct check_options *o,
                struct check_counts *counts, char *why, size_t size);

/* Replaces the constants of a function of the module, without parameters so far, by parameters; *inputs[n] are their values,
   which the caller releases and frees, also after an error. The caller must be the only user of the module. */
hilo_status check_arguments(hilo_client *client, hilo_module *module, size_t function, hilo_buffer ***inputs, size_t *n);

/* Gives the values of a function of the module, whose parameters are its constants, random shardings, and partitions it.
   *partitions becomes 1 for a program that is not divided. The caller must be the only user of the module. */
hilo_status check_shardings(hilo_client *client, hilo_module *module, size_t function, uint32_t *partitions, uint64_t seed);
/* Runs a program by as many processes, all with the same inputs. */
hilo_status check_run(hilo_executable *exe, hilo_buffer *const *inputs, size_t ninputs, uint32_t partitions);

#endif
