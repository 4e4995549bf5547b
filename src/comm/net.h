/* What net.c offers to group.c, and transports to net.c. */
#ifndef HILO_COMM_NET_H
#define HILO_COMM_NET_H

#include "comm/comm.h"

/* ---- frames ---------------------------------------------------------------------------------- */

enum comm_frame_kind {
    COMM_BLOCK,  /* of a process for another one */
    COMM_FAILED, /* a process of a group has failed; the data is the reason */
    COMM_HELLO,  /* the node is connected */
    COMM_LEAVES, /* the node could not meet all others; the data is the reason */
    COMM_ASK,    /* the node waits in the group and run: is the other there? */
    COMM_ANSWER  /* of the node; `status`: whether it waits in that run, too */
};

/* What precedes the bytes of a frame. A block is told by the first five members. */
struct comm_frame {
    uint64_t clique;    /* hash of the group's devices */
    uint32_t run;       /* the number of the group among those of its clique */
    uint32_t sequence;  /* of blocks from this process to that */
    uint32_t from, to;  /* processes */
    uint32_t node;      /* that sends it */
    uint32_t kind;
    uint32_t status;    /* FAILED: of the process; ANSWER */
    uint64_t program;
    char name[COMM_NAME]; /* of the program, shortened */
};

/* A block under way. All members are guarded by the lock of the comm, but while nothing is under way. */
struct comm_request {
    struct comm_request *next;
    struct comm_frame head;
    void *data;
    size_t bytes;
    uint32_t node;      /* the other side */
    bool done;
    hilo_status status; /* once done */
    void *handle;       /* the transport's */
};

/* Starts to send or receive r->bytes at r->data, as r->head says, to or from r->node. */
void comm_start_send(struct comm *c, struct comm_request *r);
void comm_start_receive(struct comm *c, struct comm_request *r);
/* Waits until all are done. When one fails, or the deadline passes, the others are given up too; nothing is under way then. */
struct comm_wait {
    const atomic_bool *failed;  /* set when the group has failed; or NULL */
    bool (*stop)(void *user);
    void *user;
    bool patient;               /* no deadline, nothing is asked or warned of */
    const char *op, *program;   /* for warnings */
};
hilo_status comm_wait(struct comm *c, struct comm_request *r, uint32_t n, const struct comm_wait *w, struct strbuf *why);
/* Tells a node, without waiting, that a process of a group has failed. */
void comm_tell_failure(struct comm *c, uint32_t node, const struct comm_frame *head, const char *why);

/* Groups register to be told of failures. */
struct comm_listener {
    struct comm_listener *next;
    uint64_t clique;
    uint32_t run;
    void (*failed)(void *user, uint32_t from, hilo_status status, struct str why);
    void *user;
};
/* The number of the next group of the clique; tells at once of failures that came before. */
uint32_t comm_listen(struct comm *c, uint64_t clique, struct comm_listener *l);
void comm_unlisten(struct comm *c, struct comm_listener *l);
/* Ends the sleep of the thread that waits for the transport, if one does. */
void comm_wake(struct comm *c);
/* Between such a pair of calls a thread makes progress while no other one waits. */
void comm_watch(struct comm *c, bool begin);
/* "process of node 3 (host h, pid 17)" */
void comm_node_text(const struct comm *c, uint32_t node, struct strbuf *out);
int64_t comm_now_ms(void);
int64_t comm_timeout_ms(const struct comm *c);

/* ---- transports ------------------------------------------------------------------------------ */

/* All functions are called under the lock of the comm. */
struct comm_transport {
    const char *name;
    hilo_status (*open)(struct comm *c, const hilo_allocator *al, uint32_t nnodes, struct strbuf *why, void **out);
    void (*close)(void *t);
    /* Of this node; for `connect` of others. */
    struct str (*address)(void *t);
    hilo_status (*connect)(void *t, uint32_t node, struct str address, struct strbuf *why);
    /* Begins to send; ends with comm_request_done. A frame without a request is copied, and no thread waits for it. */
    void (*send)(void *t, uint32_t node, const struct comm_frame *head, const void *data, size_t bytes, struct comm_request *r);
    /* Begins to receive what was announced at r->data; ends with comm_request_done. */
    void (*fetch)(void *t, void *announced, struct comm_request *r);
    void (*drop)(void *t, void *announced);
    /* Gives up what is under way; the request is done when it returns. */
    void (*cancel)(void *t, struct comm_request *r);
    bool (*progress)(void *t);     /* true: something has happened */
    bool (*arm)(void *t, int *fd); /* before a sleep on fd; false: there is something to do */
    void (*signal)(void *t);       /* ends such a sleep */
};
extern const struct comm_transport comm_ucx;

void comm_request_done(struct comm_request *r, hilo_status status);
/* A frame has come; its bytes at `data`, or `announced`, to be fetched or dropped. */
void comm_arrived(struct comm *c, const struct comm_frame *head, const void *data, void *announced, size_t bytes);
void comm_node_failed(struct comm *c, uint32_t node, const char *why);
bool comm_node_lost(const struct comm *c, uint32_t node); /* it has failed before */

#endif
