/* What the parts of `hilo calibrate` share. */
#ifndef HILO_CLI_CALIBRATE_H
#define HILO_CLI_CALIBRATE_H

#include "cli/cli.h"

/* The median time in ns of a run of a program of at most two inputs and one output, until the device is done. */
int calibrate_measure(hilo_client *client, hilo_executable *exe, double *ns);

/* Measures the processor, the GPU and the link between them, and writes the file of the machine (target/machine.h). */
int calibrate_machine(const struct cli_compile *gpu, const char *path);

#endif
