/* run --compare: results of two backends. */
#ifndef HILO_CLI_COMPARE_H
#define HILO_CLI_COMPARE_H

#include "cli/cli.h"

struct cli_comparison {
    hilo_client *client;
    const char *file;                      /* the program */
    const hilo_compile_options *compile;   /* for the expected results */
    const hilo_execute_options *execute;
    const hilo_executable *exe;            /* whose results are compared: for their names */
    hilo_buffer *const *inputs;
    size_t ninputs;
    hilo_buffer *const *results, *const *expected;
    size_t n;                              /* results */
    double tolerance;                      /* relative; 0: 16 units in the last place of each type, at least 1e-12 */
};

/* Whether all elements are within the tolerance of their own magnitudes. */
bool cli_compare_close(const struct cli_comparison *c);
/* By result and element the magnitudes that were added up, 0 where they are not known; terms[i] is NULL or the caller's to
   free. Runs the reference evaluator several times. */
void cli_compare_measure_terms(const struct cli_comparison *c, double **terms);
/* Prints a line per result on standard output. `terms` may be NULL. Returns CLI_OK, or CLI_FAILED after a message. */
int cli_compare_print(const struct cli_comparison *c, double *const *terms);

#endif
