/* A run of a program by several processes, and what they exchange.
 *
 * A process exchanges with all its peers at once; in each exchange there is at most one block each way between two of them, and
 * blocks are matched by their numbers. A process may start several exchanges before it finishes the first, and while it waits
 * for one it receives those of the others too, so that processes need not finish them in the same order. On one node a process
 * shows what it offers and where it wants what it gets; the receiver copies, as soon as both are there, so that copies run in
 * parallel. What goes to other nodes has left before it waits for those on its own.
 *
 * A process waits for others only here. When one fails all waits end with an error; on one node also when none can go on. */
#include "comm/net.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <time.h>

enum {
    GROUP_POLL_MS = 50,
    GROUP_LONG_BYTES = 8 << 10 /* of longer blocks transports send an announcement first */
};

/* What a process offers one peer, or wants of it. */
struct side {
    void *data;
    size_t bytes;
    uint32_t number; /* of the block, among those of this pair of processes */
    bool open;
};

/* An exchange that has started; at most one for each number. */
struct exchange {
    bool started;
    uint32_t left;          /* sides that are open */
    uint32_t nrequests, nparts;
    const struct comm_part *parts;
    struct side *send, *receive;   /* by process */
    struct comm_request *requests; /* 2 n; NULL where all are here */
    struct comm_part *room;        /* n */
};

struct member {
    struct comm_group *group;
    uint32_t device, node;
    bool here, ended;
    uint32_t read;          /* peers that copy from it right now */
    bool waiting;
    uint32_t waits_for;     /* the exchange */
    struct exchange exchanges[COMM_EXCHANGES];
    uint32_t *sent, *received;     /* blocks that went to other processes and came, by process */
};

struct comm_group {
    hilo_allocator al;
    struct comm *comm;      /* NULL: all are here */
    uint64_t clique, program;
    uint32_t run, n, running, waiting;
    const char *name;
    atomic_bool failed;
    bool stuck;
    char why[1200];         /* which process failed, and the reason, may be cut; set before `failed` is */
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

/* The arrays of a member: of its exchanges, and the numbers of its blocks. */
static char *member_arrays(struct member *m, uint32_t n, bool nodes, char *at) {
    for (int i = 0; i < COMM_EXCHANGES; i++) {
        struct exchange *x = &m->exchanges[i];
        x->send = (struct side *)(void *)at;
        x->receive = x->send + n;
        memset(at, 0, 2 * n * sizeof(struct side));
        x->room = (struct comm_part *)(void *)(x->receive + n);
        x->requests = nodes ? (struct comm_request *)(void *)(x->room + n) : NULL;
        at = nodes ? (char *)(x->requests + 2 * n) : (char *)(x->room + n);
    }
    m->sent = (uint32_t *)(void *)at;
    m->received = m->sent + n;
    memset(at, 0, 2 * n * sizeof(uint32_t));
    return (char *)(m->received + n);
}

struct comm_group *comm_group_new(const hilo_allocator *al, const struct comm_group_options *o) {
    uint32_t here = 0;
    for (uint32_t i = 0; i < o->n; i++)
        here += !o->comm || comm_node_of_device(o->comm, o->devices[i]) == comm_self(o->comm);
    size_t all, head = sizeof(struct comm_group) + o->n * sizeof(struct member);
    size_t each = 2 * sizeof(struct side) + sizeof(struct comm_part) + (here < o->n ? 2 * sizeof(struct comm_request) : 0);
    size_t per = o->n * (COMM_EXCHANGES * each + 2 * sizeof(uint32_t));
    if (!mem_mul(per, here, &all) || !mem_add(all, head, &all))
        return NULL;
    struct comm_group *g = mem_alloc(al, all);
    if (!g)
        return NULL;
    memset(g, 0, head);
    *g = (struct comm_group){.al = *al, .program = o->program, .n = o->n, .name = o->name, .bytes = all, .running = here};
    char *at = (char *)&g->members[o->n];
    for (uint32_t i = 0; i < o->n; i++) {
        struct member *m = &g->members[i];
        m->group = g;
        m->device = o->devices ? o->devices[i] : i;
        m->node = o->comm ? comm_node_of_device(o->comm, m->device) : 0;
        m->here = !o->comm || m->node == comm_self(o->comm);
        if (m->here)
            at = member_arrays(m, o->n, here < o->n, at);
        else
            g->comm = o->comm;
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

struct comm_part *comm_group_parts(struct comm_group *g, uint32_t process, uint32_t number) {
    return g->members[process].exchanges[number < COMM_EXCHANGES ? number : 0].room;
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

void comm_group_fail(struct comm_group *g, uint32_t process, hilo_status status, const char *why) {
    pthread_mutex_lock(&g->lock);
    bool first = !atomic_load(&g->failed);
    if (first && *why)
        snprintf(g->why, sizeof g->why, "process %" PRIu32 " failed: %s", process, why);
    atomic_store(&g->failed, true);
    pthread_cond_broadcast(&g->changed);
    pthread_mutex_unlock(&g->lock);
    if (g->comm && first)
        tell_nodes(g, process, status, why);
    if (g->comm)
        comm_wake(g->comm);
}

void comm_group_end(struct comm_group *g, uint32_t process) {
    pthread_mutex_lock(&g->lock);
    g->members[process].ended = true;
    g->running--;
    look(g);
    pthread_cond_broadcast(&g->changed);
    pthread_mutex_unlock(&g->lock);
}

/* ---- exchanges ------------------------------------------------------------------------------- */

static hilo_status call_error(struct comm_group *g, const struct comm_call *call, uint32_t process, hilo_status status,
                              const char *why, struct diag_list *d) {
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
static void show(struct comm_group *g, uint32_t process, struct exchange *x) {
    struct member *m = &g->members[process];
    for (uint32_t i = 0; i < x->nparts; i++) {
        const struct comm_part *p = &x->parts[i];
        struct member *peer = &g->members[p->peer];
        if (!peer->here)
            continue;
        if (p->receive)
            x->receive[p->peer] = (struct side){p->receive, p->receive_bytes, m->received[p->peer]++, true};
        if (p->send) {
            x->send[p->peer] = (struct side){(void *)(uintptr_t)p->send, p->send_bytes, m->sent[p->peer]++, true};
            end_wait(g, peer); /* it may be what it waits for: it looks again */
        }
        x->left += (p->send ? 1u : 0u) + (p->receive ? 1u : 0u);
    }
    pthread_cond_broadcast(&g->changed);
}

/* The exchange in which a peer offers the process the block of this number; NULL: it does not yet. */
static struct exchange *find_offer(struct member *peer, uint32_t process, uint32_t number) {
    for (int i = 0; i < COMM_EXCHANGES; i++) {
        const struct side *s = &peer->exchanges[i].send[process];
        if (s->open && s->number == number)
            return &peer->exchanges[i];
    }
    return NULL;
}

/* Copies what a peer has for this process, if it is there: 1, or -1 when it is of another size. The lock is held, and let go
   while it copies. */
static int take_one(struct comm_group *g, struct exchange *x, uint32_t process, struct member *peer, struct side *to) {
    struct exchange *other = to->open ? find_offer(peer, process, to->number) : NULL;
    if (!other)
        return 0;
    struct side *from = &other->send[process];
    if (from->bytes != to->bytes)
        return -1;
    peer->read++;
    pthread_mutex_unlock(&g->lock);
    if (to->bytes)
        memcpy(to->data, from->data, to->bytes);
    pthread_mutex_lock(&g->lock);
    peer->read--;
    to->open = from->open = false;
    x->left--;
    if (other->left && --other->left == 0 && &peer->exchanges[peer->waits_for] == other)
        end_wait(g, peer);
    pthread_cond_broadcast(&g->changed);
    return 1;
}

/* All that is there, of all exchanges of the process. False: a peer has something of another size. */
static bool take(struct comm_group *g, uint32_t process) {
    struct member *m = &g->members[process];
    bool any = true, fits = true;
    while (any) {
        any = false;
        for (struct exchange *x = m->exchanges; x < m->exchanges + COMM_EXCHANGES; x++)
            for (uint32_t i = 0; x->left && i < x->nparts; i++) {
                struct member *peer = &g->members[x->parts[i].peer];
                if (!x->parts[i].receive || !peer->here)
                    continue;
                int taken = take_one(g, x, process, peer, &x->receive[x->parts[i].peer]);
                fits = fits && taken >= 0;
                any = any || taken > 0;
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
    for (struct exchange *x = m->exchanges; x < m->exchanges + COMM_EXCHANGES; x++) {
        for (uint32_t i = 0; i < g->n; i++)
            x->send[i].open = x->receive[i].open = false;
        x->left = 0;
    }
    while (m->read)
        pthread_cond_wait(&g->changed, &g->lock);
}

/* After an error nothing is left of any exchange of the process on this node. */
static hilo_status finish_here(struct comm_group *g, uint32_t process, uint32_t number, const struct comm_call *call,
                               struct diag_list *d) {
    struct member *m = &g->members[process];
    struct exchange *x = &m->exchanges[number];
    pthread_mutex_lock(&g->lock);
    bool fits, over = atomic_load(&g->failed) || g->stuck; /* peers that wait may have given up already */
    while ((fits = take(g, process)) && x->left && !over) {
        over = atomic_load(&g->failed) || g->stuck || (call->stop && call->stop(call->user));
        if (over)
            break;
        m->waiting = true;
        m->waits_for = number;
        g->waiting++;
        look(g);
        if (!g->stuck)
            sleep_some(g, call->stop || g->comm);
        end_wait(g, m);
    }
    bool done = fits && !x->left;
    if (!done)
        take_back(g, m);
    pthread_mutex_unlock(&g->lock);
    if (!fits)
        return call_error(g, call, process, HILO_INVALID_ARGUMENT, "another process has operands of another size", d);
    return done ? HILO_OK : wait_error(g, call, process, d);
}

/* What goes to other nodes and comes from them begins. */
static void begin_there(struct comm_group *g, uint32_t process, struct exchange *x) {
    struct member *m = &g->members[process];
    for (int receive = 1; receive >= 0; receive--) /* first, so that what comes has a place */
        for (uint32_t i = 0; i < x->nparts; i++) {
            const struct comm_part *p = &x->parts[i];
            const struct member *peer = &g->members[p->peer];
            if (peer->here || !(receive ? p->receive : p->send))
                continue;
            struct comm_request *r = &x->requests[x->nrequests++];
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

/* Without `d` the process has failed already, and has said why: what is under way ends, and nothing is said. */
static hilo_status end_there(struct comm_group *g, uint32_t process, struct exchange *x, const struct comm_call *call,
                             struct diag_list *d) {
    static const atomic_bool yes = true;
    struct comm_wait w = {.failed = d ? &g->failed : &yes, .stop = call->stop, .user = call->user, .op = call->op,
                          .program = g->name};
    struct strbuf why;
    strbuf_init(&why, g->al);
    hilo_status status = comm_wait(g->comm, x->requests, x->nrequests, &w, &why);
    x->nrequests = 0;
    if (d && (status == HILO_ABORTED || status == HILO_CANCELLED))
        wait_error(g, call, process, d);
    else if (d && status != HILO_OK)
        call_error(g, call, process, status, why.p ? why.p : "failed", d);
    strbuf_free(&why);
    return status;
}

static hilo_status start(struct comm_group *g, uint32_t process, uint32_t number, const struct comm_part *parts, uint32_t n,
                         const struct comm_call *call, struct diag_list *d) {
    struct exchange *x = number < COMM_EXCHANGES ? &g->members[process].exchanges[number] : NULL;
    if (!x || x->started)
        return call_error(g, call, process, HILO_INVALID_ARGUMENT, "an exchange of this number has started already", d);
    x->started = true;
    x->parts = parts;
    x->nparts = n;
    if (g->comm)
        begin_there(g, process, x);
    pthread_mutex_lock(&g->lock);
    show(g, process, x);
    (void)take(g, process); /* what does not fit is found again when it is finished */
    pthread_mutex_unlock(&g->lock);
    return HILO_OK;
}

static hilo_status finish(struct comm_group *g, uint32_t process, uint32_t number, struct comm_call *call,
                          struct diag_list *d) {
    struct exchange *x = number < COMM_EXCHANGES ? &g->members[process].exchanges[number] : NULL;
    if (!x || !x->started)
        return call_error(g, call, process, HILO_INVALID_ARGUMENT, "no exchange of this number has started", d);
    hilo_status status = finish_here(g, process, number, call, d);
    if (x->nrequests) { /* also after an error: nothing may be under way when this returns */
        hilo_status other = end_there(g, process, x, call, status == HILO_OK ? d : NULL);
        status = status == HILO_OK ? other : status;
    }
    x->started = false;
    for (uint32_t i = 0; i < x->nparts && status == HILO_OK; i++)
        if (x->parts[i].send) {
            call->bytes += x->parts[i].send_bytes;
            call->messages++;
        }
    return status;
}

hilo_status comm_exchange(struct comm_group *g, uint32_t process, const struct comm_part *parts, uint32_t n,
                          struct comm_call *call, struct diag_list *d) {
    HILO_TRY(start(g, process, 0, parts, n, call, d));
    return finish(g, process, 0, call, d);
}

/* Whether the bytes of a block wait for the other side, rather than going with its announcement. */
static bool has_long(const struct exchange *x) {
    for (uint32_t i = 0; i < x->nrequests; i++)
        if (x->requests[i].bytes > GROUP_LONG_BYTES)
            return true;
    return false;
}

hilo_status comm_start(struct comm_group *g, uint32_t process, uint32_t number, const struct comm_part *parts, uint32_t n,
                       const struct comm_call *call, struct diag_list *d) {
    HILO_TRY(start(g, process, number, parts, n, call, d));
    if (has_long(&g->members[process].exchanges[number]))
        comm_watch(g->comm, true);
    return HILO_OK;
}

hilo_status comm_finish(struct comm_group *g, uint32_t process, uint32_t number, struct comm_call *call, struct diag_list *d) {
    if (number < COMM_EXCHANGES && has_long(&g->members[process].exchanges[number]))
        comm_watch(g->comm, false);
    return finish(g, process, number, call, d);
}

void comm_abandon(struct comm_group *g, uint32_t process) {
    struct member *m = &g->members[process];
    struct comm_call call = {.op = "an exchange"};
    bool any = false;
    for (int i = 0; i < COMM_EXCHANGES; i++)
        any = any || m->exchanges[i].started;
    if (!any)
        return;
    pthread_mutex_lock(&g->lock);
    take_back(g, m);
    pthread_mutex_unlock(&g->lock);
    for (struct exchange *x = m->exchanges; x < m->exchanges + COMM_EXCHANGES; x++) {
        if (x->started && has_long(x))
            comm_watch(g->comm, false);
        if (x->started && x->nrequests)
            (void)end_there(g, process, x, &call, NULL);
        x->started = false;
    }
}
