/* Programs on several devices and nodes: see processes.c. */
#ifndef HILO_CLI_PROCESSES_H
#define HILO_CLI_PROCESSES_H

#include "cli/cli.h"

/* Whether the environment says that this process is a node: HILO_NODE. */
bool cli_is_node(void);
/* Runs this command n times, once for each node, and prints what they print in their order. */
int cli_start_nodes(int64_t n);
/* The other nodes of a command that is node 0 itself, which was started with what the user wrote. */
struct cli_nodes {
    char dir[32];
    int64_t n; /* of all; 0 = none was started */
    int *pids;
};
/* Starts nodes 1 … n - 1, which neither read nor print, nor end by Ctrl-C or SIGTERM, and makes this process node 0. */
int cli_lead_nodes(int64_t n, struct cli_nodes *out);
/* Waits for their end, which is at once if this node failed; returns the exit code: `code`, unless only they failed. */
int cli_end_nodes(struct cli_nodes *nodes, int code);
/* Makes a client's options those of a node, where this process is one, with that many devices. */
int cli_node_options(int64_t devices, hilo_client_options *o);
/* The results of this node's processes. */
void cli_processes_print(hilo_client *client, const hilo_executable *exe, hilo_buffer **outputs, int64_t devices);

#endif
