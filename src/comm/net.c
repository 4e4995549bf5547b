/* The connection of this node with the others.
 *
 * Nodes meet in the store: each puts what it is and its address, node 0 collects these and puts them as one value, which the
 * others get. Messages of n values, then, are n + 1 instead of n squared. Of two nodes the one with the lower number connects
 * and says hello, and only then the other one does: UCX 1.13 may abort when both connect at once and a connection is lost.
 *
 * Frames that come are matched with the receives that wait for them, by clique, run, sequence and processes. The transport
 * makes progress only while a thread is in it: that is the first of the threads that wait, which sleeps in it, while the others
 * wait for the first; and when none waits, a thread of the comm looks after it: all the time while long blocks are under way,
 * else ten times a second, so that failures are seen and told. A wait is for known nodes: when one of them fails, it ends with
 * that node's name, and with those that were lost before, of whose loss it may be a consequence. A node that only waits itself
 * is not to blame: a long wait asks the nodes, and names one that does not answer, or does not wait.
 *
 * A process that is killed while it writes a frame to shared memory leaves it unfinished, in a queue that all processes of the
 * host write to: nothing that comes after it is ever received, and the transport always says that there is something to do. So
 * processes are looked at also when the transport does not let the thread sleep. */
#include "comm/net.h"

#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum {
    NET_SPIN_US = 20,     /* before a sleep */
    NET_IDLE_MS = 100,    /* between looks when no thread waits */
    NET_POLL_MS = 50,     /* between questions whether the run is cancelled */
    NET_GATHER_MS = 120000, /* node 0, for the others; these wait longer */
    NET_GIVE_UP_MS = 500, /* for what is under way when a group has failed */
    NET_LINGER_MS = 500,  /* for others to read why a run has failed, before their connections end */
    NET_STUCK_MS = 1000,  /* until a transport that has something to do, and does nothing, is given up */
    NET_NAMED = 4,        /* of the other lost nodes, in a message */
    NET_WHY_BYTES = 1000, /* of a reason that is sent, at most */
    NET_ASK_MS = 5000     /* between questions of a long wait; at most a quarter of its time */
};

/* A frame that has come before its receive. */
struct arrival {
    struct arrival *next;
    struct comm_frame head;
    void *data, *announced;
    size_t bytes;
};

struct clique {
    struct clique *next;
    uint64_t hash;
    uint32_t runs; /* that were begun */
};

struct node {
    struct comm_node about;
    bool failed, connected, greeted; /* greeted: it is connected with this one */
    bool ended;      /* its process, on this host */
    bool waits;      /* in the run that it was asked about, when it answered */
    int64_t asked_ms; /* without an answer; 0: it has answered, or was not asked */
    int pidfd;       /* of a process that this one can watch; or -1 */
    char why[160];   /* it failed */
    char told[400];  /* why a run failed there that had ended here */
};

struct comm {
    hilo_allocator al;
    struct comm_options o;
    const struct comm_transport *transport;
    void *t;
    pid_t pid;                  /* that opened it: a child process must not use it */
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool leading;               /* a thread is in the transport */
    bool sleeping;              /* and sleeps there */
    bool closing, looked_after;
    uint32_t watched;           /* exchanges that have started, and that no thread waits for */
    int64_t stuck_ms;           /* since when the transport has something to do and does nothing; 0: it is not so */
    int64_t told_ms;            /* when it told others that a run had failed; 0: never */
    pthread_t looker;
    struct comm_request *waiting; /* receives without a frame */
    struct arrival *arrivals, **last_arrival;
    struct comm_listener *listeners;
    struct clique *cliques;
    struct pollfd *polled;      /* nnodes + 1 */
    uint32_t ndevices;
    struct node nodes[];
};

int64_t comm_now_ms(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static int64_t now_us(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

uint32_t comm_self(const struct comm *c) {
    return c->o.node;
}

uint32_t comm_nnodes(const struct comm *c) {
    return c->o.nnodes;
}

uint32_t comm_ndevices(const struct comm *c) {
    return c->ndevices;
}

const struct comm_node *comm_node_get(const struct comm *c, uint32_t node) {
    return &c->nodes[node].about;
}

uint32_t comm_node_of_device(const struct comm *c, uint32_t device) {
    uint32_t node = 0;
    while (node + 1 < c->o.nnodes && c->nodes[node + 1].about.first_device <= device)
        node++;
    return node;
}

bool comm_node_lost(const struct comm *c, uint32_t node) {
    return c->nodes[node].failed;
}

int64_t comm_timeout_ms(const struct comm *c) {
    return c->o.timeout_ms;
}

void comm_node_text(const struct comm *c, uint32_t node, struct strbuf *out) {
    const struct comm_node *n = &c->nodes[node].about;
    strbuf_printf(out, "node %" PRIu32 " (host %s, pid %" PRId64 ")", node, n->host, n->pid);
}

/* ---- what a node tells of itself ------------------------------------------------------------- */

/* The first line of a file. */
static void read_line(const char *path, char *out, size_t n) {
    FILE *f = fopen(path, "re");
    out[0] = '\0';
    if (f && !fgets(out, (int)n, f))
        out[0] = '\0';
    if (f)
        fclose(f);
    out[strcspn(out, "\n")] = '\0';
}

/* When a process started, in the clock ticks of the kernel: the 22nd field; the 2nd may have spaces. 0 = unknown. */
static int64_t process_started(int64_t pid) {
    char path[64], line[1024];
    snprintf(path, sizeof path, "/proc/%" PRId64 "/stat", pid);
    read_line(path, line, sizeof line);
    char *p = strrchr(line, ')');
    for (int i = 2; p && i < 22; i++)
        p = strchr(p + 1, ' ');
    return p ? strtoll(p, NULL, 10) : 0;
}

static void describe_self(struct comm *c) {
    struct comm_node *n = &c->nodes[c->o.node].about;
    *n = (struct comm_node){.pid = getpid(), .started = process_started(getpid()), .ndevices = c->o.ndevices};
    if (gethostname(n->host, sizeof n->host - 1) != 0)
        snprintf(n->host, sizeof n->host, "unknown");
    read_line("/proc/sys/kernel/random/boot_id", n->boot, sizeof n->boot);
}

/* A block of bytes with its length before it. */
static void put_block(struct strbuf *out, const void *p, size_t n) {
    uint32_t size = (uint32_t)n;
    strbuf_putn(out, (const char *)&size, sizeof size);
    strbuf_putn(out, p, n);
}

static bool get_block(struct str *from, struct str *out) {
    uint32_t size;
    if (from->n < sizeof size)
        return false;
    memcpy(&size, from->p, sizeof size);
    if (from->n - sizeof size < size)
        return false;
    *out = (struct str){from->p + sizeof size, size};
    *from = (struct str){from->p + sizeof size + size, from->n - sizeof size - size};
    return true;
}

static void write_node(const struct comm *c, struct strbuf *out) {
    struct str address = c->transport->address(c->t);
    put_block(out, c->o.about, strlen(c->o.about));
    put_block(out, &c->nodes[c->o.node].about, sizeof(struct comm_node));
    put_block(out, address.p, address.n);
}

/* Of another node; its address stays where it is. */
static hilo_status read_node(struct comm *c, uint32_t node, struct str text, struct str *address, struct strbuf *why) {
    struct str about, info;
    struct node *n = &c->nodes[node];
    bool whole = get_block(&text, &about) && get_block(&text, &info) && get_block(&text, address) && !text.n &&
                 info.n == sizeof n->about;
    if (!whole) {
        strbuf_printf(why, "node %" PRIu32 " is of another version", node);
        return HILO_FAILED_PRECONDITION;
    }
    struct comm_node told;
    memcpy(&told, info.p, sizeof told);
    if (node == c->o.node && (told.pid != n->about.pid || told.started != n->about.started)) {
        strbuf_printf(why, "node %" PRIu32 " is known as the process with pid %" PRId64
                      ", which is gone: all nodes have to start again", node, told.pid);
        return HILO_FAILED_PRECONDITION;
    }
    n->about = told;
    n->about.host[COMM_NAME - 1] = n->about.boot[COMM_NAME - 1] = '\0';
    if (!str_is(about, c->o.about)) {
        comm_node_text(c, node, why);
        strbuf_printf(why, " is '%.*s', but node %" PRIu32 " is '%s': all must be alike, or results would differ", (int)about.n,
                      about.p, c->o.node, c->o.about);
        return HILO_FAILED_PRECONDITION;
    }
    if (n->about.ndevices == 0 || n->about.ndevices > COMM_MOST_DEVICES) {
        strbuf_printf(why, "node %" PRIu32 " has %" PRIu32 " devices", node, n->about.ndevices);
        return HILO_FAILED_PRECONDITION;
    }
    return HILO_OK;
}

/* ---- rendezvous --------------------------------------------------------------------------------- */

static void node_key(uint32_t node, char out[48]) {
    snprintf(out, 48, "hilo/node/%" PRIu32, node);
}

/* Node 0: waits for what every node has put, and puts all of it. */
static hilo_status gather(struct comm *c, struct strbuf *all, struct strbuf *why) {
    char key[48];
    for (uint32_t i = 0; i < c->o.nnodes; i++) {
        struct strbuf one;
        strbuf_init(&one, c->al);
        node_key(i, key);
        hilo_status status = comm_store_get(&c->o.store, key, NET_GATHER_MS, &one, why);
        put_block(all, one.p ? one.p : "", one.n);
        all->failed = all->failed || one.failed;
        strbuf_free(&one);
        if (status != HILO_OK) {
            strbuf_printf(why, " (node %" PRIu32 " of %" PRIu32 " has not come)", i, c->o.nnodes);
            return status;
        }
    }
    return all->failed ? HILO_RESOURCE_EXHAUSTED : comm_store_put(&c->o.store, "hilo/nodes", (struct str){all->p, all->n}, why);
}

/* Reads what node 0 has put. */
static hilo_status read_nodes(struct comm *c, struct str all, struct str *addresses, struct strbuf *why) {
    struct str one;
    for (uint32_t i = 0; i < c->o.nnodes; i++) {
        if (!get_block(&all, &one)) {
            strbuf_printf(why, "node 0 is of another version");
            return HILO_FAILED_PRECONDITION;
        }
        HILO_TRY(read_node(c, i, one, &addresses[i], why));
        c->nodes[i].about.first_device = c->ndevices;
        c->ndevices += c->nodes[i].about.ndevices;
        if (c->ndevices > COMM_MOST_DEVICES) {
            strbuf_printf(why, "there are more than %d devices", COMM_MOST_DEVICES);
            return HILO_INVALID_ARGUMENT;
        }
    }
    return HILO_OK;
}

/* The kernel tells of the end of a process at once, when it is one of the same system, that can be seen from here. */
static void watch_processes(struct comm *c) {
    const struct comm_node *self = &c->nodes[c->o.node].about;
    for (uint32_t i = 0; i < c->o.nnodes; i++) {
        struct node *n = &c->nodes[i];
        bool here = i != c->o.node && *self->boot && strcmp(n->about.boot, self->boot) == 0 && n->about.started &&
                    process_started(n->about.pid) == n->about.started;
        n->pidfd = here ? (int)syscall(SYS_pidfd_open, (pid_t)n->about.pid, 0) : -1;
    }
}

/* ---- frames ---------------------------------------------------------------------------------- */

void comm_request_done(struct comm_request *r, hilo_status status) {
    r->status = status;
    r->done = true;
}

static bool same_block(const struct comm_frame *a, const struct comm_frame *b) {
    return a->clique == b->clique && a->run == b->run && a->sequence == b->sequence && a->from == b->from && a->to == b->to;
}

static struct comm_listener *listener_of(struct comm *c, const struct comm_frame *head) {
    struct comm_listener *l = c->listeners;
    while (l && !(l->clique == head->clique && l->run == head->run))
        l = l->next;
    return l;
}

/* The receive is in no list. Bytes of another program, or of another number, are an error of it. */
static void deliver(struct comm *c, struct comm_request *r, const struct comm_frame *head, const void *data, void *announced,
                    size_t bytes) {
    bool fits = bytes == r->bytes && head->program == r->head.program;
    memcpy(r->head.name, head->name, sizeof r->head.name);
    if (!fits) {
        r->head.program = head->program;
        if (announced)
            c->transport->drop(c->t, announced);
        comm_request_done(r, HILO_FAILED_PRECONDITION);
    } else if (announced) {
        c->transport->fetch(c->t, announced, r);
    } else {
        if (bytes)
            memcpy(r->data, data, bytes);
        comm_request_done(r, HILO_OK);
    }
}

/* Whether the frame is of a run that has ended here. */
static bool is_over(struct comm *c, const struct comm_frame *head) {
    const struct clique *k = c->cliques;
    while (k && k->hash != head->clique)
        k = k->next;
    return k && head->run < k->runs && !listener_of(c, head);
}

static void keep_arrival(struct comm *c, const struct comm_frame *head, const void *data, void *announced, size_t bytes) {
    struct arrival *a = mem_alloc(&c->al, sizeof *a);
    size_t copied = announced ? 0 : bytes;
    void *copy = copied ? mem_alloc(&c->al, copied) : NULL;
    if (!a || (copied && !copy)) { /* the receive ends with its deadline */
        if (a)
            mem_free(&c->al, a, sizeof *a);
        if (announced)
            c->transport->drop(c->t, announced);
        return;
    }
    if (copied)
        memcpy(copy, data, bytes);
    *a = (struct arrival){.head = *head, .data = copy, .announced = announced, .bytes = bytes};
    *c->last_arrival = a;
    c->last_arrival = &a->next;
}

/* Takes an arrival out of the list. */
static void arrival_unlink(struct comm *c, struct arrival **at) {
    struct arrival *a = *at;
    *at = a->next;
    if (c->last_arrival == &a->next)
        c->last_arrival = at;
}

static void arrival_free(struct comm *c, struct arrival *a) {
    if (a->data)
        mem_free(&c->al, a->data, a->bytes);
    mem_free(&c->al, a, sizeof *a);
}

static void tell_listener(struct comm_listener *l, const struct comm_frame *head, struct str why) {
    l->failed(l->user, head->from, (hilo_status)head->status, why);
}

/* Tells a node something, without waiting. The lock is held. */
static void tell(struct comm *c, uint32_t node, enum comm_frame_kind kind, const struct comm_frame *about, uint32_t status,
                 struct str text) {
    struct comm_frame f = about ? *about : (struct comm_frame){0};
    f.kind = kind;
    f.node = c->o.node;
    f.status = status;
    if (c->nodes[node].connected && !c->nodes[node].failed)
        c->transport->send(c->t, node, &f, text.n ? text.p : "", text.n, NULL);
}

/* What is said from node to node. */
static void on_told(struct comm *c, const struct comm_frame *head, struct str text) {
    struct node *n = &c->nodes[head->node];
    const struct comm_request *r = c->waiting;
    n->greeted = n->greeted || head->kind == COMM_HELLO;
    if (head->kind == COMM_LEAVES) {
        snprintf(n->told, sizeof n->told, "%.*s", (int)text.n, text.n ? text.p : "");
    } else if (head->kind == COMM_ANSWER) {
        n->asked_ms = 0;
        n->waits = head->status;
    } else if (head->kind == COMM_ASK) {
        while (r && !(r->head.clique == head->clique && r->head.run == head->run))
            r = r->next;
        tell(c, head->node, COMM_ANSWER, head, r != NULL, STR(""));
    }
}

static void on_failure(struct comm *c, const struct comm_frame *head, const void *data, size_t bytes) {
    struct comm_listener *l = listener_of(c, head);
    if (l)
        tell_listener(l, head, (struct str){data, bytes});
    else if (!is_over(c, head))
        keep_arrival(c, head, data, NULL, bytes);
    else
        snprintf(c->nodes[head->node].told, sizeof c->nodes->told, "%.*s", (int)bytes, bytes ? (const char *)data : "");
}

void comm_arrived(struct comm *c, const struct comm_frame *h, const void *data, void *announced, size_t bytes) {
    struct comm_request **at = &c->waiting;
    struct comm_frame copy = *h, *head = &copy;
    head->name[COMM_NAME - 1] = '\0';
    bool known = head->node < c->o.nnodes && head->node != c->o.node;
    if (announced && (head->kind != COMM_BLOCK || !known)) { /* only blocks are long */
        c->transport->drop(c->t, announced);
        announced = NULL;
        bytes = 0;
    }
    if (!known)
        return;
    if (head->kind == COMM_FAILED) {
        on_failure(c, head, data, bytes);
        return;
    }
    if (head->kind != COMM_BLOCK) {
        on_told(c, head, (struct str){data, bytes});
        return;
    }
    while (*at && !same_block(&(*at)->head, head))
        at = &(*at)->next;
    if (*at) {
        struct comm_request *r = *at;
        *at = r->next;
        deliver(c, r, head, data, announced, bytes);
    } else if (!is_over(c, head)) {
        keep_arrival(c, head, data, announced, bytes);
    } else if (announced) {
        c->transport->drop(c->t, announced);
    }
}

void comm_node_failed(struct comm *c, uint32_t node, const char *why) {
    struct node *n = &c->nodes[node];
    if (n->failed)
        return;
    n->failed = true;
    snprintf(n->why, sizeof n->why, "%s", why);
    pthread_cond_broadcast(&c->changed);
}

/* ---- requests -------------------------------------------------------------------------------- */

/* With the lock held: lets the thread that sleeps in the transport see what was begun. */
static void wake(struct comm *c) {
    if (c->sleeping)
        c->transport->signal(c->t);
    pthread_cond_broadcast(&c->changed);
}

void comm_wake(struct comm *c) {
    pthread_mutex_lock(&c->lock);
    wake(c);
    pthread_mutex_unlock(&c->lock);
}

void comm_watch(struct comm *c, bool begin) {
    pthread_mutex_lock(&c->lock);
    c->watched = begin ? c->watched + 1 : c->watched - 1;
    wake(c); /* that thread starts, or makes room for the one that waits next */
    pthread_mutex_unlock(&c->lock);
}

void comm_start_send(struct comm *c, struct comm_request *r) {
    r->done = false;
    r->handle = NULL;
    pthread_mutex_lock(&c->lock);
    if (c->nodes[r->node].failed)
        comm_request_done(r, HILO_UNAVAILABLE);
    else
        c->transport->send(c->t, r->node, &r->head, r->data, r->bytes, r);
    wake(c);
    pthread_mutex_unlock(&c->lock);
}

void comm_start_receive(struct comm *c, struct comm_request *r) {
    r->done = false;
    r->handle = NULL;
    pthread_mutex_lock(&c->lock);
    struct arrival **at = &c->arrivals;
    while (*at && !((*at)->head.kind == COMM_BLOCK && same_block(&(*at)->head, &r->head)))
        at = &(*at)->next;
    if (*at) {
        struct arrival *a = *at;
        arrival_unlink(c, at);
        deliver(c, r, &a->head, a->data, a->announced, a->bytes);
        arrival_free(c, a);
    } else if (c->nodes[r->node].failed) {
        comm_request_done(r, HILO_UNAVAILABLE);
    } else {
        r->next = c->waiting;
        c->waiting = r;
    }
    pthread_mutex_unlock(&c->lock);
}

void comm_tell_failure(struct comm *c, uint32_t node, const struct comm_frame *head, const char *why) {
    size_t n = strlen(why);
    pthread_mutex_lock(&c->lock);
    c->told_ms = comm_now_ms();
    if (!c->nodes[node].failed)
        c->transport->send(c->t, node, head, why, n < NET_WHY_BYTES ? n : NET_WHY_BYTES, NULL);
    wake(c);
    pthread_mutex_unlock(&c->lock);
}

/* ---- listeners ------------------------------------------------------------------------------- */

uint32_t comm_listen(struct comm *c, uint64_t hash, struct comm_listener *l) {
    pthread_mutex_lock(&c->lock);
    struct clique *k = c->cliques;
    while (k && k->hash != hash)
        k = k->next;
    if (!k && (k = mem_alloc(&c->al, sizeof *k))) {
        *k = (struct clique){c->cliques, hash, 0};
        c->cliques = k;
    }
    l->clique = hash;
    l->run = k ? k->runs++ : UINT32_MAX;
    l->next = c->listeners;
    c->listeners = l;
    for (struct arrival **at = &c->arrivals; *at;) {
        struct arrival *a = *at;
        if (a->head.kind != COMM_FAILED || a->head.clique != hash || a->head.run != l->run) {
            at = &a->next;
            continue;
        }
        arrival_unlink(c, at);
        tell_listener(l, &a->head, (struct str){a->data, a->bytes});
        arrival_free(c, a);
    }
    pthread_mutex_unlock(&c->lock);
    return l->run;
}

/* What still comes of the run is dropped, and so is what has come. */
void comm_unlisten(struct comm *c, struct comm_listener *l) {
    pthread_mutex_lock(&c->lock);
    struct comm_listener **k = &c->listeners;
    while (*k != l)
        k = &(*k)->next;
    *k = l->next;
    for (struct arrival **at = &c->arrivals; *at;) {
        struct arrival *a = *at;
        if (a->head.clique != l->clique || a->head.run != l->run) {
            at = &a->next;
            continue;
        }
        arrival_unlink(c, at);
        if (a->announced)
            c->transport->drop(c->t, a->announced);
        arrival_free(c, a);
    }
    pthread_mutex_unlock(&c->lock);
}

/* ---- waiting --------------------------------------------------------------------------------- */

static bool progress(struct comm *c) {
    bool any = false;
    while (c->transport->progress(c->t))
        any = true;
    if (any)
        c->stuck_ms = 0;
    return any;
}

/* Marks the nodes whose processes have ended, after what they sent was taken. The lock is held. */
static void look_at_processes(struct comm *c, nfds_t n) {
    for (nfds_t i = 1; i < n; i++)
        if (c->polled[i].revents) {
            progress(c);
            for (uint32_t k = 0; k < c->o.nnodes; k++)
                if (c->nodes[k].pidfd == c->polled[i].fd) {
                    close(c->nodes[k].pidfd);
                    c->nodes[k].pidfd = -1;
                    c->nodes[k].ended = true;
                    comm_node_failed(c, k, "its process has ended");
                    break;
                }
        }
}

/* With the lock held, which is let go meanwhile: until a process has ended, or there is something to do for the transport,
   whose descriptor is fd; -1: processes alone. */
static void poll_processes(struct comm *c, int fd, int64_t timeout_ms) {
    nfds_t n = 0;
    c->polled[n++] = (struct pollfd){.fd = fd, .events = POLLIN};
    for (uint32_t i = 0; i < c->o.nnodes; i++)
        if (c->nodes[i].pidfd >= 0 && !c->nodes[i].failed)
            c->polled[n++] = (struct pollfd){.fd = c->nodes[i].pidfd, .events = POLLIN};
    c->sleeping = fd >= 0;
    pthread_mutex_unlock(&c->lock);
    int ready = poll(c->polled, n, (int)timeout_ms);
    pthread_mutex_lock(&c->lock);
    c->sleeping = false;
    if (ready > 0)
        look_at_processes(c, n);
}

/* The transport has something to do. When that does not get done, and a process of this host has ended, nothing is received
   from the others there either. */
static void look_whether_stuck(struct comm *c) {
    int64_t now = comm_now_ms();
    bool ended = false;
    c->stuck_ms = c->stuck_ms ? c->stuck_ms : now;
    for (uint32_t i = 0; i < c->o.nnodes && now - c->stuck_ms >= NET_STUCK_MS; i++)
        ended = ended || c->nodes[i].ended;
    for (uint32_t i = 0; i < c->o.nnodes && ended; i++)
        if (c->nodes[i].pidfd >= 0)
            comm_node_failed(c, i, "nothing more is received from this host");
}

/* With the lock held, which is let go meanwhile: until something may have happened. */
static void sleep_in_transport(struct comm *c, int64_t timeout_ms) {
    int fd;
    if (c->transport->arm(c->t, &fd)) {
        c->stuck_ms = 0;
        poll_processes(c, fd, timeout_ms);
    } else {
        poll_processes(c, -1, 0);
        look_whether_stuck(c);
    }
}

static bool all_done(const struct comm_request *r, uint32_t n) {
    for (uint32_t i = 0; i < n; i++)
        if (!r[i].done)
            return false;
    return true;
}

/* Until something has happened that may concern one of the requests; n = 0: at all. */
static void lead(struct comm *c, const struct comm_request *r, uint32_t n, int64_t timeout_ms) {
    bool any = false;
    c->leading = true;
    for (int64_t end = now_us() + NET_SPIN_US; !(any = progress(c)) && !(n && all_done(r, n)) && now_us() < end;)
        ;
    if (n ? !all_done(r, n) : !any)
        sleep_in_transport(c, timeout_ms);
    progress(c);
    c->leading = false;
    pthread_cond_broadcast(&c->changed);
}

static void wait_changed(struct comm *c, int64_t timeout_ms) {
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    t.tv_sec += timeout_ms / 1000;
    t.tv_nsec += timeout_ms % 1000 * 1000000;
    if (t.tv_nsec >= 1000000000) {
        t.tv_sec++;
        t.tv_nsec -= 1000000000;
    }
    pthread_cond_timedwait(&c->changed, &c->lock, &t);
}

/* Lets go of the lock for some time. */
static void turn(struct comm *c, const struct comm_request *r, uint32_t n, int64_t timeout_ms) {
    if (c->leading)
        wait_changed(c, timeout_ms);
    else
        lead(c, r, n, timeout_ms);
}

/* What else has happened by now: which other processes have ended, and what those that have failed have said. */
static void look_again(struct comm *c) {
    if (c->leading) /* that thread looks */
        return;
    c->leading = true;
    poll_processes(c, -1, 0);
    progress(c);
    c->leading = false;
    pthread_cond_broadcast(&c->changed);
}

/* Whether the transfer may still end by itself. */
static bool may_end(const struct comm *c, const struct comm_request *r) {
    return !r->done && !c->nodes[r->node].failed;
}

/* What waits for a frame is taken back. What is under way has some time to end, unless its node has failed or has not
   answered in time; then its connection ends. */
static void give_up(struct comm *c, struct comm_request *r, uint32_t n, int64_t grace_ms) {
    for (uint32_t i = 0; i < n; i++) {
        struct comm_request **at = &c->waiting;
        while (*at && *at != &r[i])
            at = &(*at)->next;
        if (*at) {
            *at = r[i].next;
            comm_request_done(&r[i], HILO_CANCELLED);
        }
    }
    for (int64_t end = comm_now_ms() + grace_ms; comm_now_ms() < end;) {
        uint32_t i = 0;
        while (i < n && !may_end(c, &r[i]))
            i++;
        if (i == n)
            break;
        turn(c, r, n, NET_POLL_MS);
    }
    for (uint32_t i = 0; i < n; i++)
        if (!r[i].done) {
            c->transport->cancel(c->t, &r[i]);
            comm_node_failed(c, r[i].node, "the connection was given up");
        }
}

/* The request that is the reason to end the wait, of those that are not done or have failed; n = none. */
static uint32_t find_failed(const struct comm *c, const struct comm_request *r, uint32_t n) {
    for (uint32_t i = 0; i < n; i++)
        if (r[i].done ? r[i].status != HILO_OK : c->nodes[r[i].node].failed)
            return i;
    return n;
}

/* The other nodes that are lost: of a node that ends since another one has, only its end may be known here. */
static void name_lost(const struct comm *c, uint32_t node, struct strbuf *why) {
    uint32_t named = 0;
    for (uint32_t i = 0; i < c->o.nnodes && named < NET_NAMED; i++) {
        if (i == node || !c->nodes[i].failed)
            continue;
        strbuf_puts(why, named++ ? ", " : "; lost as well: ");
        comm_node_text(c, i, why);
        strbuf_printf(why, ", %s", c->nodes[i].why);
    }
}

/* The other side sent what does not fit. */
static bool differs(const struct comm_request *r) {
    return r->done && r->status == HILO_FAILED_PRECONDITION;
}

static hilo_status failure(const struct comm *c, const struct comm_request *r, struct strbuf *why) {
    const struct node *n = &c->nodes[r->node];
    comm_node_text(c, r->node, why);
    if (differs(r)) {
        strbuf_printf(why, " runs another program, '%s', or has other shapes", r->head.name);
        return HILO_FAILED_PRECONDITION;
    }
    strbuf_printf(why, " cannot be reached: %s", *n->why ? n->why : "the connection has failed");
    if (*n->told)
        strbuf_printf(why, ", after %s", n->told);
    name_lost(c, r->node, why);
    return HILO_UNAVAILABLE;
}

static uint32_t first_open(const struct comm_request *r, uint32_t n) {
    uint32_t i = 0;
    while (i < n && r[i].done)
        i++;
    return i;
}

/* Asks the nodes that are waited for, those again that have answered. */
static void ask(struct comm *c, const struct comm_request *r, uint32_t n, int64_t now) {
    for (uint32_t i = 0; i < n; i++) {
        struct node *node = &c->nodes[r[i].node];
        if (r[i].done || node->asked_ms)
            continue;
        node->asked_ms = now;
        tell(c, r[i].node, COMM_ASK, &r[i].head, 0, STR(""));
    }
}

/* Whose fault it is that the wait is long: of the nodes that it is for, the one that has not answered for the longest time;
   else one that answers and does not wait in this run itself; else the first. */
static const struct comm_request *find_stuck(const struct comm *c, const struct comm_request *r, uint32_t n, int64_t now) {
    const struct comm_request *best = &r[first_open(r, n)];
    int64_t most = -1;
    for (uint32_t i = 0; i < n; i++) {
        const struct node *node = &c->nodes[r[i].node];
        int64_t silent = node->asked_ms ? 1 + now - node->asked_ms : 0;
        int64_t rank = silent ? silent : !node->waits ? 0 : -1;
        if (!r[i].done && rank > most) {
            most = rank;
            best = &r[i];
        }
    }
    return best;
}

static void warn(struct comm *c, const struct comm_request *r, const struct comm_wait *w) {
    struct strbuf text;
    if (!c->o.warn)
        return;
    strbuf_init(&text, c->al);
    strbuf_printf(&text, "%s of '%s' has been waiting for %d s for ", w->op, w->program, COMM_WARN_MS / 1000);
    comm_node_text(c, r->node, &text);
    if (!text.failed)
        c->o.warn(c->o.warn_user, text.p);
    strbuf_free(&text);
}

hilo_status comm_wait(struct comm *c, struct comm_request *r, uint32_t n, const struct comm_wait *w, struct strbuf *why) {
    int64_t begin = comm_now_ms(), end = w->patient ? INT64_MAX : begin + c->o.timeout_ms;
    int64_t every = c->o.timeout_ms / 4 < NET_ASK_MS ? c->o.timeout_ms / 4 : NET_ASK_MS, asked = begin;
    bool warned = false, looked = false;
    hilo_status status = HILO_OK;
    pthread_mutex_lock(&c->lock);
    c->stuck_ms = 0;
    while (!all_done(r, n)) {
        int64_t now = comm_now_ms();
        uint32_t lost = find_failed(c, r, n);
        if (lost < n && !looked && !differs(&r[lost])) { /* it may have ended because another one has */
            looked = true;
            look_again(c);
            continue;
        }
        if (w->failed && atomic_load(w->failed)) /* before the ends of nodes, which may be its consequence */
            status = HILO_ABORTED;
        else if (lost < n)
            break;
        else if (w->stop && w->stop(w->user))
            status = HILO_CANCELLED;
        else if (now >= end)
            status = HILO_DEADLINE_EXCEEDED;
        if (status != HILO_OK)
            break;
        if (!w->patient && !warned && now - begin >= COMM_WARN_MS) {
            warned = true;
            warn(c, find_stuck(c, r, n, now), w);
        }
        if (!w->patient && now - asked >= every) {
            asked = now;
            ask(c, r, n, now);
        }
        int64_t left = end - now < NET_IDLE_MS ? end - now : NET_IDLE_MS;
        turn(c, r, n, w->stop && left > NET_POLL_MS ? NET_POLL_MS : left);
    }
    uint32_t bad = find_failed(c, r, n);
    if (status == HILO_OK && bad < n)
        status = failure(c, &r[bad], why);
    else if (status == HILO_DEADLINE_EXCEEDED) {
        uint32_t stuck = find_stuck(c, r, n, comm_now_ms())->node;
        comm_node_text(c, stuck, why);
        strbuf_printf(why, " did not answer in %" PRId64 " ms", c->o.timeout_ms);
        name_lost(c, stuck, why);
    }
    if (status != HILO_OK)
        give_up(c, r, n, status == HILO_DEADLINE_EXCEEDED ? 0 : NET_GIVE_UP_MS);
    pthread_mutex_unlock(&c->lock);
    return status;
}

/* ---- meeting, once all are known ------------------------------------------------------------- */

static hilo_status connect_node(struct comm *c, uint32_t node, struct str address, struct strbuf *why) {
    struct strbuf text;
    strbuf_init(&text, c->al);
    hilo_status status = c->transport->connect(c->t, node, address, &text);
    if (status == HILO_OK) {
        c->nodes[node].connected = true;
        tell(c, node, COMM_HELLO, NULL, 0, STR(""));
    } else {
        comm_node_text(c, node, why);
        strbuf_printf(why, " cannot be reached: %s", text.p ? text.p : "");
    }
    strbuf_free(&text);
    return status;
}

/* Connects with those of higher numbers, then with the others, which have connected first. All have when it returns. */
static hilo_status connect_nodes(struct comm *c, const struct str *addresses, struct strbuf *why) {
    hilo_status status = HILO_OK;
    uint32_t left = c->o.nnodes - 1, i;
    pthread_mutex_lock(&c->lock);
    for (i = c->o.node + 1; i < c->o.nnodes && status == HILO_OK; i++)
        status = connect_node(c, i, addresses[i], why);
    for (int64_t end = comm_now_ms() + NET_GATHER_MS; left && status == HILO_OK;) {
        lead(c, NULL, 0, NET_IDLE_MS);
        left = 0;
        for (i = 0; i < c->o.nnodes && status == HILO_OK; i++) {
            struct node *n = &c->nodes[i];
            bool late = !n->greeted && comm_now_ms() >= end;
            if (i == c->o.node || (n->greeted && n->connected)) /* and if it has failed since, that is for runs to tell */
                continue;
            left++;
            if (n->greeted && !n->connected)
                status = connect_node(c, i, addresses[i], why);
            else if (n->failed || late) {
                comm_node_text(c, i, why);
                strbuf_printf(why, " cannot be reached: %s%s%s", late ? "it does not answer" : n->why,
                              *n->told ? ", after " : "", n->told);
                status = late ? HILO_DEADLINE_EXCEEDED : HILO_UNAVAILABLE;
            }
        }
    }
    for (i = 0; i < c->o.nnodes && status != HILO_OK; i++)
        tell(c, i, COMM_LEAVES, NULL, 0, (struct str){why->p, why->n < NET_WHY_BYTES ? why->n : NET_WHY_BYTES});
    pthread_mutex_unlock(&c->lock);
    return status;
}

static hilo_status meet(struct comm *c, struct strbuf *why) {
    struct strbuf mine, all;
    char key[48];
    strbuf_init(&mine, c->al);
    strbuf_init(&all, c->al);
    node_key(c->o.node, key);
    describe_self(c);
    write_node(c, &mine);
    struct str *addresses = mem_alloc(&c->al, c->o.nnodes * sizeof *addresses);
    hilo_status status = mine.failed || !addresses ? HILO_RESOURCE_EXHAUSTED
                                                   : comm_store_put(&c->o.store, key, (struct str){mine.p, mine.n}, why);
    if (status == HILO_OK)
        status = c->o.node == 0 ? gather(c, &all, why)
                                : comm_store_get(&c->o.store, "hilo/nodes", NET_GATHER_MS + 60000, &all, why);
    if (status == HILO_OK)
        status = read_nodes(c, (struct str){all.p, all.n}, addresses, why);
    if (status == HILO_OK) {
        watch_processes(c);
        status = connect_nodes(c, addresses, why);
    }
    if (addresses)
        mem_free(&c->al, addresses, c->o.nnodes * sizeof *addresses);
    strbuf_free(&mine);
    strbuf_free(&all);
    return status;
}

/* Looks after the transport while no thread waits. */
static void *look_after(void *user) {
    struct comm *c = user;
    pthread_mutex_lock(&c->lock);
    while (!c->closing) {
        if (c->watched && !c->leading) {
            lead(c, NULL, 0, NET_IDLE_MS);
            continue;
        }
        wait_changed(c, NET_IDLE_MS);
        if (!c->leading && !c->closing)
            progress(c);
    }
    pthread_mutex_unlock(&c->lock);
    return NULL;
}

/* ---- blocks outside of runs ------------------------------------------------------------------ */

hilo_status comm_transfer(struct comm *c, const struct comm_transfer *transfers, uint32_t n, struct strbuf *why) {
    struct comm_wait w = {.op = "a transfer", .program = "device_put", .patient = n && transfers[0].patient};
    size_t bytes;
    struct comm_request *r = mem_mul(n, sizeof *r, &bytes) ? mem_alloc(&c->al, bytes) : NULL;
    if (!r)
        return HILO_RESOURCE_EXHAUSTED;
    for (uint32_t i = 0; i < n; i++) {
        const struct comm_transfer *t = &transfers[i];
        struct comm_frame head = {.clique = t->key, .run = UINT32_MAX, .from = t->from, .to = t->to, .node = c->o.node};
        r[i] = (struct comm_request){.head = head, .node = t->node, .data = t->data, .bytes = t->bytes};
        (t->receives ? comm_start_receive : comm_start_send)(c, &r[i]);
    }
    hilo_status status = comm_wait(c, r, n, &w, why);
    mem_free(&c->al, r, bytes);
    return status;
}

/* ---- life ------------------------------------------------------------------------------------ */

static size_t comm_bytes(uint32_t nnodes) {
    return sizeof(struct comm) + nnodes * sizeof(struct node);
}

hilo_status comm_open(const hilo_allocator *al, const struct comm_options *o, struct strbuf *why, struct comm **out) {
    if (!o->nnodes || o->nnodes > COMM_MOST_NODES || o->node >= o->nnodes || !o->ndevices || o->ndevices > COMM_MOST_DEVICES) {
        strbuf_printf(why, "node %" PRIu32 " of %" PRIu32 " with %" PRIu32 " devices: that cannot be", o->node, o->nnodes,
                      o->ndevices);
        return HILO_INVALID_ARGUMENT;
    }
    struct comm *c = mem_alloc(al, comm_bytes(o->nnodes));
    if (!c)
        return HILO_RESOURCE_EXHAUSTED;
    memset(c, 0, comm_bytes(o->nnodes));
    c->al = *al;
    c->o = *o;
    if (!c->o.timeout_ms)
        c->o.timeout_ms = COMM_TIMEOUT_MS;
    c->transport = o->transport ? o->transport : &comm_ucx;
    c->pid = getpid();
    c->last_arrival = &c->arrivals;
    for (uint32_t i = 0; i < o->nnodes; i++)
        c->nodes[i].pidfd = -1;
    pthread_mutex_init(&c->lock, NULL);
    pthread_cond_init(&c->changed, NULL);
    c->polled = mem_alloc(al, (o->nnodes + 1) * sizeof *c->polled);
    hilo_status status = c->polled ? c->transport->open(c, al, o->nnodes, why, &c->t) : HILO_RESOURCE_EXHAUSTED;
    if (status == HILO_OK)
        status = meet(c, why);
    if (status == HILO_OK) {
        c->looked_after = pthread_create(&c->looker, NULL, look_after, c) == 0;
        if (!c->looked_after)
            status = HILO_RESOURCE_EXHAUSTED;
        else
            pthread_setname_np(c->looker, "hilo-nodes");
    }
    if (status != HILO_OK) {
        comm_close(c);
        return status;
    }
    c->o.about = NULL; /* the caller's */
    *out = c;
    return HILO_OK;
}

/* A connection that ends may take with it what was said last, if the other side is sending: so those who were told of a failure
   have some time to read of it, and to leave first. */
static void linger(struct comm *c) {
    bool any = c->told_ms != 0;
    pthread_mutex_lock(&c->lock);
    for (int64_t now = comm_now_ms(), end = c->told_ms + NET_LINGER_MS; any && now < end; now = comm_now_ms()) {
        any = false;
        for (uint32_t i = 0; i < c->o.nnodes; i++)
            any = any || (c->nodes[i].connected && !c->nodes[i].failed && !c->nodes[i].asked_ms);
        if (any)
            lead(c, NULL, 0, end - now < NET_POLL_MS ? end - now : NET_POLL_MS);
    }
    pthread_mutex_unlock(&c->lock);
}

void comm_close(struct comm *c) {
    if (!c || c->pid != getpid())
        return;
    if (c->looked_after) {
        pthread_mutex_lock(&c->lock);
        c->closing = true;
        pthread_cond_broadcast(&c->changed);
        pthread_mutex_unlock(&c->lock);
        pthread_join(c->looker, NULL);
    }
    linger(c);
    for (struct arrival *a = c->arrivals, *next; a; a = next) {
        next = a->next;
        if (a->announced)
            c->transport->drop(c->t, a->announced);
        arrival_free(c, a);
    }
    if (c->t)
        c->transport->close(c->t);
    for (uint32_t i = 0; i < c->o.nnodes; i++)
        if (c->nodes[i].pidfd >= 0)
            close(c->nodes[i].pidfd);
    for (struct clique *k = c->cliques, *next; k; k = next) {
        next = k->next;
        mem_free(&c->al, k, sizeof *k);
    }
    if (c->polled)
        mem_free(&c->al, c->polled, (c->o.nnodes + 1) * sizeof *c->polled);
    pthread_cond_destroy(&c->changed);
    pthread_mutex_destroy(&c->lock);
    hilo_allocator al = c->al;
    mem_free(&al, c, comm_bytes(c->o.nnodes));
}
