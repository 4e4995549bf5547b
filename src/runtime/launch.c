/* Runs of a program by several processes, on one node or more, and the steps in which they exchange blocks. */
#include "runtime/run.h"

#include "target/target.h"

#include <stdlib.h>

/* ---- clients that are nodes ------------------------------------------------------------------ */

static void warn_client(void *user, const char *message) {
    rt_log(user, HILO_LOG_WARNING, "%s", message);
}

/* HILO_COLLECTIVE_TIMEOUT, in seconds; 0 = the default. */
static int64_t timeout_ms(void) {
    const char *text = secure_getenv("HILO_COLLECTIVE_TIMEOUT");
    double seconds = text ? strtod(text, NULL) : 0;
    return seconds > 0 && seconds < 1e9 ? (int64_t)(seconds * 1e3) + 1 : 0;
}

/* All on which results depend: sums are in the lanes of the processor's vectors. */
static hilo_status describe(hilo_client *client, struct strbuf *out) {
    struct target *t = mem_alloc(&client->al, sizeof *t);
    struct diag_list d;
    if (!t)
        return HILO_RESOURCE_EXHAUSTED;
    diag_init(&d, client->al);
    bool known = target_host(t, &d) == HILO_OK;
    strbuf_printf(out, "hilo %s, %s", hilo_version(), known ? t->features : "no code generator");
    diag_clear(&d);
    mem_free(&client->al, t, sizeof *t);
    return out->failed ? HILO_RESOURCE_EXHAUSTED : HILO_OK;
}

hilo_status rt_client_connect(hilo_client *client, const struct comm_options *options, struct strbuf *why) {
    struct comm_options o = *options;
    struct strbuf about;
    strbuf_init(&about, client->al);
    o.timeout_ms = o.timeout_ms ? o.timeout_ms : timeout_ms();
    o.warn = warn_client;
    o.warn_user = client;
    hilo_status status = describe(client, &about);
    o.about = about.p;
    if (status == HILO_OK)
        status = comm_open(&client->al, &o, why, &client->comm);
    strbuf_free(&about);
    return status;
}

struct comm *rt_client_comm(const hilo_client *client) {
    return client->comm;
}

/* ---- fingerprints ---------------------------------------------------------------------------- */

uint64_t rt_executable_fingerprint(const hilo_executable *exe) {
    const char *name = rt_executable_name(exe);
    return str_hash(name, strlen(name), exe->about.fingerprint);
}

/* ---- launches -------------------------------------------------------------------------------- */

struct rt_launch {
    hilo_client *client;
    struct rt_launch_options o;
    struct eval_process_group *processes; /* for steps that are evaluated */
    struct comm_group *group;
    size_t bytes;
    uint32_t members[];                   /* n of each process: of its group */
};

struct rt_launch *rt_launch_new(hilo_client *client, const struct rt_launch_options *o) {
    uint32_t n;
    size_t bytes;
    if (__builtin_mul_overflow(o->replicas, o->partitions, &n) || !mem_mul(n, n, &bytes) ||
        !mem_mul(bytes, sizeof(uint32_t), &bytes) || !mem_add(bytes, sizeof(struct rt_launch), &bytes))
        return NULL;
    struct rt_launch *l = mem_alloc(&client->memory, bytes);
    if (!l)
        return NULL;
    *l = (struct rt_launch){.client = client, .o = *o, .bytes = bytes};
    struct comm_group_options g = {.comm = client->comm, .n = n, .devices = o->devices, .program = o->program, .name = o->name};
    l->processes = eval_process_group_new(&client->memory, o->replicas, o->partitions);
    l->group = comm_group_new(&client->memory, &g);
    if (l->processes && l->group) {
        for (uint32_t i = 0; i < n; i++) /* the evaluator does not wait for those on other nodes */
            if (!comm_group_is_local(l->group, i))
                eval_process_elsewhere(eval_process_group_get(l->processes, i));
        return l;
    }
    rt_launch_free(l);
    return NULL;
}

void rt_launch_end(struct rt_launch *l, uint32_t process, hilo_status status, const char *why) {
    if (status != HILO_OK) /* before the end of the evaluator's process, which has no reason to tell */
        comm_group_fail(l->group, process, status, why);
    eval_process_end(eval_process_group_get(l->processes, process), status);
    comm_group_end(l->group, process);
}

void rt_launch_free(struct rt_launch *l) {
    if (!l)
        return;
    eval_process_group_free(l->processes);
    comm_group_free(l->group);
    mem_free(&l->client->memory, l, l->bytes);
}

struct eval_process *launch_process(struct rt_launch *l, uint32_t process) {
    return l ? eval_process_group_get(l->processes, process) : NULL;
}

const char *launch_failed(struct rt_launch *l) {
    return l ? comm_group_failed(l->group) : NULL;
}

/* ---- exchanges ------------------------------------------------------------------------------- */

/* The process that runs, and its group in the step. */
struct place {
    uint32_t index, replicas, partitions;
    uint32_t *members, n, rank;
    struct comm_part *parts;
};

_Static_assert((int)PLAN_EXCHANGES == (int)COMM_EXCHANGES, "the numbers of exchanges of plans are those of groups");

static bool stopped(void *user) {
    return run_cancelled(user);
}

/* Adds what goes to a member, and what comes from it; what stays here is copied. */
static void add_part(const struct place *p, uint32_t *n, uint32_t member, const void *send, size_t send_bytes, void *receive,
                     size_t receive_bytes) {
    if (member != p->index) {
        p->parts[(*n)++] = (struct comm_part){member, send, receive, send_bytes, receive_bytes};
        return;
    }
    if (send && receive && receive_bytes)
        memcpy(receive, send, receive_bytes);
}

static hilo_status wrong(struct run *r, const struct plan_collective *c, const char *why) {
    return diag_error(r->d, HILO_INVALID_ARGUMENT, "'%s' %s", plan_exchange_name(c->kind), why);
}

/* The parts of an op with a group; how many there are. */
static hilo_status group_parts(struct run *r, const struct plan_collective *c, struct place *p, const char *in, size_t in_bytes,
                               char *out, size_t out_bytes, uint32_t *n) {
    const char *why = ir_groups_find(&c->groups, p->index, p->replicas, p->partitions, p->members, &p->n, &p->rank);
    if (why)
        return wrong(r, c, why);
    if (p->n == 0 && c->kind != PLAN_BROADCAST)
        return wrong(r, c, "has no group for this process");
    if (p->n == 0 && out_bytes)
        memset(out, 0, out_bytes);
    size_t part = c->kind == PLAN_ALL_TO_ALL && p->n ? in_bytes / p->n : in_bytes, all;
    if (c->kind == PLAN_ALL_GATHER ? !mem_mul(part, p->n, &all) || all != out_bytes
                                   : c->kind == PLAN_ALL_TO_ALL && part * p->n != in_bytes)
        return wrong(r, c, "has groups of another size than its results are of");
    for (uint32_t i = 0; i < p->n; i++) {
        bool first = p->rank == 0;
        if (c->kind == PLAN_ALL_GATHER)
            add_part(p, n, p->members[i], in, part, out + i * part, part);
        else if (c->kind == PLAN_ALL_TO_ALL)
            add_part(p, n, p->members[i], in + i * part, part, out + i * part, part);
        else if (first)
            add_part(p, n, p->members[i], in, part, i == 0 ? out : NULL, part);
        else if (i == 0)
            add_part(p, n, p->members[i], NULL, 0, out, part);
    }
    return HILO_OK;
}

static hilo_status permute_parts(struct run *r, const struct plan_collective *c, struct place *p, const char *in, size_t bytes,
                                 char *out, uint32_t *n) {
    uint32_t to, from;
    const char *why = ir_groups_partner(&c->groups, p->index, p->replicas, p->partitions, 0, &to);
    if (!why)
        why = ir_groups_partner(&c->groups, p->index, p->replicas, p->partitions, 1, &from);
    if (why)
        return wrong(r, c, why);
    if (from == UINT32_MAX && bytes)
        memset(out, 0, bytes);
    if (to == from && to != UINT32_MAX) {
        add_part(p, n, to, in, bytes, out, bytes);
        return HILO_OK;
    }
    if (to != UINT32_MAX)
        add_part(p, n, to, in, bytes, NULL, 0);
    if (from != UINT32_MAX)
        add_part(p, n, from, NULL, 0, out, bytes);
    return HILO_OK;
}

static struct comm_call call_of(struct run *r, const struct plan_collective *c) {
    return (struct comm_call){.op = plan_exchange_name(c->kind), .stop = r->o->cancelled ? stopped : NULL, .user = r};
}

static void count(struct run *r, const struct comm_call *call) {
    r->sent_bytes += call->bytes;
    r->messages += call->messages;
}

static hilo_status exchange(struct run *r, const struct plan_collective *c, struct place *p, char *in, size_t in_bytes,
                            char *out, size_t out_bytes) {
    uint32_t n = 0;
    HILO_TRY(c->kind == PLAN_PERMUTE ? permute_parts(r, c, p, in, in_bytes, out, &n)
                                     : group_parts(r, c, p, in, in_bytes, out, out_bytes, &n));
    if (!r->launch)
        return HILO_OK;
    struct comm_call call = call_of(r, c);
    if (c->number)
        return comm_start(r->launch->group, p->index, c->number, p->parts, n, &call, r->d);
    hilo_status status = n ? comm_exchange(r->launch->group, p->index, p->parts, n, &call, r->d) : HILO_OK;
    count(r, &call);
    return status;
}

hilo_status step_done(struct run *r, const struct plan_step *s, void **v) {
    (void)v;
    if (!r->launch)
        return HILO_OK;
    struct comm_call call = call_of(r, s->collective);
    hilo_status status = comm_finish(r->launch->group, r->process, s->collective->number, &call, r->d);
    count(r, &call);
    return status;
}

void launch_fail(const struct run *r, hilo_status status) {
    const char *why = r->d->first ? r->d->first->message : NULL;
    if (r->launch && status != HILO_OK)
        comm_group_fail(r->launch->group, r->process, status, why ? why : diag_status_name(status));
}

void launch_abandon(struct rt_launch *l, uint32_t process) {
    if (l)
        comm_abandon(l->group, process);
}

hilo_status step_collective(struct run *r, const struct plan_step *s, void **v) {
    const struct plan_collective *c = s->collective;
    void *none = r; /* a buffer of no bytes has no address, but takes part */
    uint32_t alone, count = s->nuses / 2;
    struct place p = {.replicas = 1, .partitions = 1, .members = &alone};
    struct comm_part one;
    p.parts = &one;
    if (r->launch) {
        struct rt_launch *l = r->launch;
        uint32_t n = l->o.replicas * l->o.partitions;
        p = (struct place){.index = r->process, .replicas = l->o.replicas, .partitions = l->o.partitions,
                           .members = l->members + (size_t)r->process * n,
                           .parts = comm_group_parts(l->group, r->process, c->number)};
    }
    if (c->kind >= PLAN_REPLICA_ID) {
        *(uint32_t *)v[0] = c->kind == PLAN_REPLICA_ID ? p.index / p.partitions : p.index % p.partitions;
        return HILO_OK;
    }
    hilo_status status = HILO_OK;
    for (uint32_t i = 0; i < count && status == HILO_OK; i++)
        status = exchange(r, c, &p, v[i] ? v[i] : none, r->plan->buffers[s->uses[i].buffer].bytes,
                          v[count + i] ? v[count + i] : none, r->plan->buffers[s->uses[count + i].buffer].bytes);
    return status;
}
