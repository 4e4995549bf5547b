/* Programs on several devices and nodes: see processes.c. */
#ifndef HILO_CLI_PROCESSES_H
#define HILO_CLI_PROCESSES_H

#include "cli/cli.h"

/* Whether the environment says that this process is a node: HILO_NODE. */
bool cli_is_node(void);
/* Runs this command n times, once for each node, and prints what they print in their order. */
int cli_start_nodes(int64_t n);
/* Gives the client that many devices, and connects it where it is a node. */
int cli_join_nodes(hilo_client *client, int64_t devices);

struct cli_launch {
    hilo_client *client;
    hilo_executable *exe;
    const char *file;
    const hilo_execute_options *options;
    int64_t devices;         /* of this node */
    hilo_buffer **inputs;    /* of every process */
    hilo_buffer **outputs;   /* noutputs of each process of this node */
    size_t ninputs, noutputs;
};
/* One run by all processes of all nodes. */
int cli_launch(const struct cli_launch *l, double *ms);
/* The results of this node's processes. */
void cli_launch_print(const struct cli_launch *l);

#endif
