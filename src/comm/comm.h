/* Communication between the processes of a run: on threads of one node, and between nodes.
 *
 *   group.c   a run of a program by several processes, and what they exchange
 *   net.c     the connection of this node with the others: who they are, frames, waiting, nodes that fail
 *   store.c   the key-value store by which nodes find each other, as a directory
 *   ucx.c     the transport between nodes: UCX, opened at run time
 *
 * A node is a process of the operating system, with one device or several; a process is a participant of a run, as in
 * StableHLO: it has one device. Everything that processes exchange is blocks of bytes: sums are computed by kernels, in the
 * order of the group, so that results do not depend on which processes are on one node. */
#ifndef HILO_COMM_COMM_H
#define HILO_COMM_COMM_H

#include "base/diag.h"
#include "base/mem.h"
#include "base/str.h"

#include <stdatomic.h>

/* ---- the store ------------------------------------------------------------------------------- */

/* A directory that all nodes see; `path` outlives the store. A run of a job needs a directory of its own. */
hilo_node_store comm_store_directory(const char *path);
/* The store's functions with strings; what they append when they fail is the reason. */
hilo_status comm_store_put(const hilo_node_store *s, const char *key, struct str value, struct strbuf *why);
hilo_status comm_store_get(const hilo_node_store *s, const char *key, int64_t timeout_ms, struct strbuf *value,
                           struct strbuf *why);

/* ---- nodes ----------------------------------------------------------------------------------- */

enum { COMM_MOST_NODES = 4096, COMM_MOST_DEVICES = 65536, COMM_NAME = 64 };

struct comm_options {
    uint32_t node, nnodes, ndevices; /* ndevices: of this node */
    hilo_node_store store;
    const char *about;               /* what all nodes have to have in common: version, processor */
    int64_t timeout_ms;              /* of the exchange of addresses, and of each collective; 0 = COMM_TIMEOUT_MS */
    void (*warn)(void *user, const char *message); /* or NULL */
    void *warn_user;
    const struct comm_transport *transport; /* NULL: UCX */
};
enum { COMM_TIMEOUT_MS = 300000, COMM_WARN_MS = 20000 };

/* What a node has told of itself. */
struct comm_node {
    char host[COMM_NAME];
    char boot[COMM_NAME];            /* of the operating system it runs on */
    int64_t pid, started;            /* started: in the clock ticks of /proc */
    uint32_t ndevices, first_device; /* devices are numbered node by node */
};

/* This node's connection with the others. */
struct comm;
/* Meets the others in the store, and connects. Every node calls it. UNAVAILABLE when there is no transport, FAILED_PRECONDITION
   when nodes differ in what they must have in common, DEADLINE_EXCEEDED; `why` says which node. */
hilo_status comm_open(const hilo_allocator *al, const struct comm_options *o, struct strbuf *why, struct comm **out);
/* No group is left; NULL is fine. */
void comm_close(struct comm *c);
uint32_t comm_self(const struct comm *c);
uint32_t comm_nnodes(const struct comm *c);
uint32_t comm_ndevices(const struct comm *c); /* of all nodes */
const struct comm_node *comm_node_get(const struct comm *c, uint32_t node);
uint32_t comm_node_of_device(const struct comm *c, uint32_t device);

/* A block of bytes outside of runs: both nodes have agreed on its key and its devices, which together are used once. */
struct comm_transfer {
    uint32_t node;         /* the other one */
    uint64_t key;
    uint32_t from, to;     /* devices */
    bool receives;
    bool patient;          /* however long it takes: for what may not come for hours. The first one's is that of all */
    void *data;
    size_t bytes;
};
/* Returns when all are done, or when one has failed and the others are given up; `why` says what. Any thread may call it. */
hilo_status comm_transfer(struct comm *c, const struct comm_transfer *transfers, uint32_t n, struct strbuf *why);

/* ---- groups ---------------------------------------------------------------------------------- */

/* One run of a program by n processes. */
struct comm_group;

struct comm_group_options {
    struct comm *comm;        /* NULL: all processes are here */
    uint32_t n;
    const uint32_t *devices;  /* of each process, by its index; NULL: all are here */
    uint64_t program;         /* its fingerprint: the same on all nodes */
    const char *name;         /* of the program, for messages; outlives the group */
};
/* Groups of the same devices are to be made in the same order on all nodes. NULL when memory is exhausted. */
struct comm_group *comm_group_new(const hilo_allocator *al, const struct comm_group_options *o);
void comm_group_free(struct comm_group *g); /* all processes have ended; NULL is fine */
bool comm_group_is_local(const struct comm_group *g, uint32_t process);
bool comm_group_spans_nodes(const struct comm_group *g);
/* A process that is here has failed: this stops the others, on all nodes, which tell of `why`, if it is the first. To be called
   before anything else lets them notice. Any thread may call it. */
void comm_group_fail(struct comm_group *g, uint32_t process, hilo_status status, const char *why);
/* To be called once for each process that is here, which waits and exchanges no more. */
void comm_group_end(struct comm_group *g, uint32_t process);

/* Why the group has failed, as far as this node knows; NULL: it has not. */
const char *comm_group_failed(const struct comm_group *g);
/* Room for the parts of an exchange of the process: 0 is that of comm_exchange. */
struct comm_part *comm_group_parts(struct comm_group *g, uint32_t process, uint32_t number);

/* A block that a process sends to another one, and one that it receives from it. NULL: none. */
struct comm_part {
    uint32_t peer;
    const void *send;
    void *receive;
    size_t send_bytes, receive_bytes;
};
struct comm_call {
    const char *op;               /* for messages */
    bool (*stop)(void *user);     /* polled; true: the run is to stop. Or NULL */
    void *user;
    size_t bytes, messages;       /* that left this process are added */
};
/* Sends and receives n blocks, at most one from and to each process, itself excluded. All peers take part with the
   counterparts. Returns when all data is where it belongs and what was sent may be changed. On the thread of the process. */
hilo_status comm_exchange(struct comm_group *g, uint32_t process, const struct comm_part *parts, uint32_t n,
                          struct comm_call *call, struct diag_list *d);
/* The halves of an exchange: the blocks, and the parts, stay as they are between them. `number`: 1 … COMM_EXCHANGES - 1, of an
   exchange that has not started; all processes of a group start their exchanges in one order. INVALID_ARGUMENT when the
   exchange has started already, or has not. comm_start does not wait. */
enum { COMM_EXCHANGES = 4 };
hilo_status comm_start(struct comm_group *g, uint32_t process, uint32_t number, const struct comm_part *parts, uint32_t n,
                       const struct comm_call *call, struct diag_list *d);
hilo_status comm_finish(struct comm_group *g, uint32_t process, uint32_t number, struct comm_call *call, struct diag_list *d);
/* Gives up what the process has started and not finished; nothing reads or writes its blocks then. To be called by a process
   that may have failed, after comm_group_fail and before comm_group_end. */
void comm_abandon(struct comm_group *g, uint32_t process);

#endif
