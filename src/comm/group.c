/* A run of a program by several processes, and what they exchange.
 *
 * A process exchanges with all its peers at once, and then goes on; so between two processes there is at most one block each
 * way, and blocks are matched by being the next ones. On one node a process shows what it offers and where it wants what it
 * gets; the receiver copies, as soon as both are there, so that copies run in parallel. What goes to other nodes has left
 * before it waits for those on its own.
 *
 * A process waits for others only here. When one fails all waits end with an error; on one node also when none can go on. */
#include "comm/net.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <time.h>

enum { GROUP_POLL_MS = 50 };

/* What a process offers one peer, or wants of it. */
struct side {
    void *data;
    size_t bytes;
    bool open;
};

struct member {
    struct comm_group *group;
    uint32_t device, node;
    bool here, ended;
    uint32_t left;          /* sides of the exchange that are open */
    uint32_t read;          /* peers that copy from it right now */
    bool waiting;
    struct side *send, *receive; /* by process */
    struct comm_request *requests; /* 2 n */
    struct comm_part *parts;       /* n */
    uint32_t *sent, *received;     /* blocks that went to other nodes and came, by process */
    char why[1024];                /* its exchange has failed; may be cut */
};

struct comm_group {
    hilo_allocator al;
    struct comm *comm;      /* NULL: all are here */
    uint64_t clique, program;
    uint32_t run, n, running, waiting;
    const char *name;
    atomic_bool failed;
    bool stuck;
    char why[1200];         /* it failed on another node; set before `failed` is */
    struct comm_listener listener;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    size_t bytes;           /* of this allocation */
    struct member members[];
};

/* ---- life ------------------------------------------------------------------------------------ */

/* On the thread that makes progress, under the lock of the comm. */
static void on_failed(void *user, uint32_t from, hilo_status status, struct str why) {
    struct comm_group *g = user;
    struct strbuf b;
    (void)status;
    if (from >= g->n)
        return;
    strbuf_init(&b, g->al);
    comm_node_text(g->comm, g->members[from].node, &b);
    pthread_mutex_lock(&g->lock);
    if (!atomic_load(&g->failed)) {
        snprintf(g->why, sizeof g->why, "process %" PRIu32 " of %.*s failed: %.*s", from, (int)b.n, b.p ? b.p : "", (int)why.n,
                 why.p ? why.p : "");
        atomic_store(&g->failed, true);
    }
    pthread_cond_broadcast(&g->changed);
    pthread_mutex_unlock(&g->lock);
    strbuf_free(&b);
}

struct comm_group *comm_group_new(const hilo_allocator *al, const struct comm_group_options *o) {
    size_t per = 2 * o->n * sizeof(struct side) + 2 * o->n * sizeof(struct comm_request) +
                 o->n * sizeof(struct comm_part) + 2 * o->n * sizeof(uint32_t), all;
    uint32_t here = 0;
    for (uint32_t i = 0; i < o->n; i++)
        here += !o->comm || comm_node_of_device(o->comm, o->devices[i]) == comm_self(o->comm);
    per = (per + 7) & ~(size_t)7;
    if (!mem_mul(per, here, &all) || !mem_add(all, sizeof(struct comm_group) + o->n * sizeof(struct member), &all))
        return NULL;
    struct comm_group *g = mem_alloc(al, all);
    if (!g)
        return NULL;
    memset(g, 0, all);
    *g = (struct comm_group){.al = *al, .program = o->program, .n = o->n, .name = o->name, .bytes = all, .running = here};
    char *at = (char *)&g->members[o->n];
    for (uint32_t i = 0; i < o->n; i++) {
        struct member *m = &g->members[i];
        m->group = g;
        m->device = o->devices ? o->devices[i] : i;
        m->node = o->comm ? comm_node_of_device(o->comm, m->device) : 0;
        m->here = !o->comm || m->node == comm_self(o->comm);
        if (!m->here) {
            g->comm = o->comm;
            continue;
        }
        m->send = (struct side *)(void *)at;
        m->receive = m->send + o->n;
        m->requests = (struct comm_request *)(void *)(m->receive + o->n);
        m->parts = (struct comm_part *)(void *)(m->requests + 2 * o->n);
        m->sent = (uint32_t *)(void *)(m->parts + o->n);
        m->received = m->sent + o->n;
        at += per;
    }
    atomic_init(&g->failed, false);
    pthread_mutex_init(&g->lock, NULL);
    pthread_cond_init(&g->changed, NULL);
    if (g->comm) {
        g->clique = str_hash(o->devices, o->n * sizeof *o->devices, o->n);
        g->listener = (struct comm_listener){.failed = on_failed, .user = g};
        g->run = comm_listen(g->comm, g->clique, &g->listener);
    }
    return g;
}

void comm_group_free(struct comm_group *g) {
    if (!g)
        return;
    if (g->comm)
        comm_unlisten(g->comm, &g->listener);
    pthread_cond_destroy(&g->changed);
    pthread_mutex_destroy(&g->lock);
    hilo_allocator al = g->al;
    mem_free(&al, g, g->bytes);
}

bool comm_group_is_local(const struct comm_group *g, uint32_t process) {
    return g->members[process].here;
}

const char *comm_group_failed(const struct comm_group *g) {
    if (!atomic_load_explicit(&g->failed, memory_order_acquire))
        return NULL;
    return *g->why ? g->why : "another process has failed";
}

struct comm_part *comm_group_parts(struct comm_group *g, uint32_t process) {
    return g->members[process].parts;
}

bool comm_group_spans_nodes(const struct comm_group *g) {
    return g->comm != NULL;
}

/* With the lock held: all waits end when no process is left that could end them. Other nodes may. */
static void look(struct comm_group *g) {
    if (g->running && g->waiting == g->running && !g->comm) {
        g->stuck = true;
        pthread_cond_broadcast(&g->changed);
    }
}

static struct comm_frame frame_of(const struct comm_group *g, uint32_t from, uint32_t to) {
    struct comm_frame f = {.clique = g->clique, .run = g->run, .from = from, .to = to, .node = comm_self(g->comm),
                           .program = g->program};
    snprintf(f.name, sizeof f.name, "%s", g->name);
    return f;
}

/* Once to each other node. */
static void tell_nodes(struct comm_group *g, uint32_t process, hilo_status status, const char *why) {
    for (uint32_t i = 0; i < g->n; i++) {
        bool first = !g->members[i].here;
        for (uint32_t k = 0; k < i && first; k++)
            first = g->members[k].node != g->members[i].node;
        if (!first)
            continue;
        struct comm_frame f = frame_of(g, process, i);
        f.kind = COMM_FAILED;
        f.status = (uint32_t)status;
        comm_tell_failure(g->comm, g->members[i].node, &f, why);
    }
}

void comm_group_end(struct comm_group *g, uint32_t process, hilo_status status, const char *why) {
    pthread_mutex_lock(&g->lock);
    bool first = status != HILO_OK && !atomic_exchange(&g->failed, true);
    g->members[process].ended = true;
    g->running--;
    look(g);
    pthread_cond_broadcast(&g->changed);
    pthread_mutex_unlock(&g->lock);
    if (g->comm && first)
        tell_nodes(g, process, status, why ? why : g->members[process].why);
    if (g->comm && status != HILO_OK)
        comm_wake(g->comm);
}

/* ---- exchanges ------------------------------------------------------------------------------- */

static hilo_status call_error(struct comm_group *g, const struct comm_call *call, uint32_t process, hilo_status status,
                              const char *why, struct diag_list *d) {
    struct member *m = &g->members[process];
    snprintf(m->why, sizeof m->why, "%s of '%s': %.900s", call->op, g->name, why);
    return diag_error(d, status, "%s of '%s' in process %" PRIu32 ": %s", call->op, g->name, process, why);
}

static hilo_status wait_error(struct comm_group *g, const struct comm_call *call, uint32_t process, struct diag_list *d) {
    if (atomic_load(&g->failed))
        return call_error(g, call, process, HILO_ABORTED, comm_group_failed(g), d);
    if (g->stuck)
        return call_error(g, call, process, HILO_FAILED_PRECONDITION, "deadlock: it waits for a process that does not join", d);
    return call_error(g, call, process, HILO_CANCELLED, "the run was cancelled", d);
}

/* With the lock held: the process can go on. */
static void end_wait(struct comm_group *g, struct member *m) {
    if (m->waiting) {
        m->waiting = false;
        g->waiting--;
    }
}

/* The sides of this process, for those on this node to see. The lock is held. */
static void show(struct comm_group *g, uint32_t process, const struct comm_part *parts, uint32_t n) {
    struct member *m = &g->members[process];
    for (uint32_t i = 0; i < n; i++) {
        const struct comm_part *p = &parts[i];
        struct member *peer = &g->members[p->peer];
        if (!peer->here)
            continue;
        if (p->receive)
            m->receive[p->peer] = (struct side){p->receive, p->receive_bytes, true};
        if (p->send) {
            m->send[p->peer] = (struct side){(void *)(uintptr_t)p->send, p->send_bytes, true};
            if (peer->receive[process].open)
                end_wait(g, peer);
        }
        m->left += (p->send ? 1u : 0u) + (p->receive ? 1u : 0u);
    }
    pthread_cond_broadcast(&g->changed);
}

/* Copies what a peer has for this process, if it is there. The lock is held, and let go while it copies. */
static bool take_one(struct comm_group *g, struct member *m, uint32_t process, struct member *peer, struct side *to) {
    struct side *from = &peer->send[process];
    if (!to->open || !from->open || from->bytes != to->bytes)
        return false;
    peer->read++;
    pthread_mutex_unlock(&g->lock);
    if (to->bytes)
        memcpy(to->data, from->data, to->bytes);
    pthread_mutex_lock(&g->lock);
    peer->read--;
    to->open = from->open = false;
    m->left--;
    if (peer->left && --peer->left == 0)
        end_wait(g, peer);
    pthread_cond_broadcast(&g->changed);
    return true;
}

/* All that is there. False: a peer has something of another size. */
static bool take(struct comm_group *g, uint32_t process, const struct comm_part *parts, uint32_t n) {
    struct member *m = &g->members[process];
    bool any = true, fits = true;
    while (any && m->left) {
        any = false;
        for (uint32_t i = 0; i < n; i++) {
            struct member *peer = &g->members[parts[i].peer];
            struct side *to = &m->receive[parts[i].peer];
            if (!parts[i].receive || !peer->here || !to->open)
                continue;
            fits = fits && !(peer->send[process].open && peer->send[process].bytes != to->bytes);
            any = take_one(g, m, process, peer, to) || any;
        }
    }
    return fits;
}

static void sleep_some(struct comm_group *g, bool polled) {
    if (!polled) {
        pthread_cond_wait(&g->changed, &g->lock);
        return;
    }
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    t.tv_nsec += GROUP_POLL_MS * 1000000;
    t.tv_sec += t.tv_nsec / 1000000000;
    t.tv_nsec %= 1000000000;
    pthread_cond_timedwait(&g->changed, &g->lock, &t);
}

/* Takes back what peers have not taken. Those that copy right now are waited for. */
static void take_back(struct comm_group *g, struct member *m) {
    for (uint32_t i = 0; i < g->n; i++)
        m->send[i].open = m->receive[i].open = false;
    m->left = 0;
    while (m->read)
        pthread_cond_wait(&g->changed, &g->lock);
}

static hilo_status exchange_here(struct comm_group *g, uint32_t process, const struct comm_part *parts, uint32_t n,
                                 const struct comm_call *call, struct diag_list *d) {
    struct member *m = &g->members[process];
    pthread_mutex_lock(&g->lock);
    bool fits, over = atomic_load(&g->failed) || g->stuck; /* peers that wait may have given up already */
    show(g, process, parts, n);
    while ((fits = take(g, process, parts, n)) && m->left && !over) {
        over = atomic_load(&g->failed) || g->stuck || (call->stop && call->stop(call->user));
        if (over)
            break;
        m->waiting = true;
        g->waiting++;
        look(g);
        if (!g->stuck)
            sleep_some(g, call->stop || g->comm);
        end_wait(g, m);
    }
    bool done = fits && !m->left;
    if (!done)
        take_back(g, m);
    pthread_mutex_unlock(&g->lock);
    if (!fits)
        return call_error(g, call, process, HILO_INVALID_ARGUMENT, "another process has operands of another size", d);
    return done ? HILO_OK : wait_error(g, call, process, d);
}

/* What goes to other nodes and comes from them begins; the requests of this process are the first *n of its array. */
static void begin_there(struct comm_group *g, uint32_t process, const struct comm_part *parts, uint32_t nparts,
                        uint32_t *n) {
    struct member *m = &g->members[process];
    *n = 0;
    for (int receive = 1; receive >= 0; receive--) /* first, so that what comes has a place */
        for (uint32_t i = 0; i < nparts; i++) {
            const struct comm_part *p = &parts[i];
            const struct member *peer = &g->members[p->peer];
            if (peer->here || !(receive ? p->receive : p->send))
                continue;
            struct comm_request *r = &m->requests[(*n)++];
            *r = (struct comm_request){.node = peer->node, .data = receive ? p->receive : (void *)(uintptr_t)p->send,
                                       .bytes = receive ? p->receive_bytes : p->send_bytes,
                                       .head = receive ? frame_of(g, p->peer, process) : frame_of(g, process, p->peer)};
            r->head.sequence = receive ? m->received[p->peer]++ : m->sent[p->peer]++;
            if (receive)
                comm_start_receive(g->comm, r);
            else
                comm_start_send(g->comm, r);
        }
}

static hilo_status end_there(struct comm_group *g, uint32_t process, uint32_t n, const struct comm_call *call,
                             const atomic_bool *failed, struct diag_list *d) {
    struct comm_wait w = {.failed = failed, .stop = call->stop, .user = call->user, .op = call->op, .program = g->name};
    struct strbuf why;
    strbuf_init(&why, g->al);
    hilo_status status = comm_wait(g->comm, g->members[process].requests, n, &w, &why);
    if (status == HILO_ABORTED || status == HILO_CANCELLED)
        wait_error(g, call, process, d);
    else if (status != HILO_OK)
        call_error(g, call, process, status, why.p ? why.p : "failed", d);
    strbuf_free(&why);
    return status;
}

hilo_status comm_exchange(struct comm_group *g, uint32_t process, const struct comm_part *parts, uint32_t n,
                          struct comm_call *call, struct diag_list *d) {
    static const atomic_bool yes = true;
    uint32_t there = 0;
    if (g->comm)
        begin_there(g, process, parts, n, &there);
    hilo_status status = exchange_here(g, process, parts, n, call, d);
    if (there) { /* also after an error: nothing may be under way when this returns */
        struct diag_list unused;
        bool ok = status == HILO_OK;
        diag_init(&unused, g->al);
        hilo_status other = end_there(g, process, there, call, ok ? &g->failed : &yes, ok ? d : &unused);
        diag_clear(&unused);
        status = status == HILO_OK ? other : status;
    }
    for (uint32_t i = 0; i < n && status == HILO_OK; i++)
        if (parts[i].send) {
            call->bytes += parts[i].send_bytes;
            call->messages++;
        }
    return status;
}
