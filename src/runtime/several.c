/* One program by several processes: clients that are nodes, and hilo_execute on their devices. */
#include "runtime/run.h"

#include "ir/ir.h"

#include <stdlib.h>

/* ---- clients --------------------------------------------------------------------------------- */

/* Nodes of one system share its cores. */
static int32_t sharers(const struct comm *comm) {
    const struct comm_node *self = comm ? comm_node_get(comm, comm_self(comm)) : NULL;
    int32_t n = 1;
    for (uint32_t i = 0; self && i < comm_nnodes(comm); i++)
        n += i != comm_self(comm) && strcmp(comm_node_get(comm, i)->boot, self->boot) == 0;
    return n;
}

hilo_status rt_client_join(hilo_client *client, const hilo_client_options *o, struct strbuf *why) {
    uint32_t devices = o->devices > 0 ? (uint32_t)o->devices : 1, nodes = o->nodes > 0 ? (uint32_t)o->nodes : 1;
    if (o->devices < 0 || o->devices > COMM_MOST_DEVICES || o->nodes < 0 || o->node < 0 || (uint32_t)o->node >= nodes) {
        strbuf_printf(why, "node %d of %d with %d devices: that cannot be", (int)o->node, (int)o->nodes, (int)o->devices);
        return HILO_INVALID_ARGUMENT;
    }
    if (nodes > 1) {
        struct comm_options c = {.node = (uint32_t)o->node, .nnodes = nodes, .ndevices = devices, .store = o->node_store};
        if (!c.store.get && o->node_dir)
            c.store = comm_store_directory(o->node_dir);
        if (!c.store.get || !c.store.put) {
            strbuf_printf(why, "%u nodes need a key-value store, or a directory", nodes);
            return HILO_INVALID_ARGUMENT;
        }
        HILO_TRY(rt_client_connect(client, &c, why));
    }
    client->several = o->devices > 0 || nodes > 1 ? devices : 0;
    return rt_client_divide(client, (int32_t)devices, o->threads ? 1 : sharers(client->comm));
}

uint32_t rt_client_world(const hilo_client *client, uint32_t *here) {
    if (here)
        *here = client->several ? client->several : 1;
    return client->comm ? comm_ndevices(client->comm) : client->several ? client->several : 1;
}

/* ---- runs ------------------------------------------------------------------------------------ */

struct member {
    hilo_executable *exe;
    hilo_execute_options options;
    hilo_buffer *const *inputs;
    hilo_buffer **outputs;
    size_t ninputs, noutputs;
    struct rt_launch *launch;
    uint32_t process;
    int32_t device;
    bool started;
    hilo_status status;
    pthread_t thread;
};

static void *member_main(void *user) {
    struct member *m = user;
    m->status = rt_execute(m->exe, &m->options, m->inputs, m->ninputs, m->outputs, m->noutputs, m->device, m->launch,
                           m->process);
    rt_launch_end(m->launch, m->process, m->status, diag_status_name(m->status)); /* rt_execute has told more of an error */
    return NULL;
}

/* The first runs on the thread of the caller, which is told of its steps. */
static void member_init(struct member *m, uint32_t i, const hilo_execute_options *o, size_t ninputs) {
    m->options = *o;
    if (i) {
        m->options.timing = NULL;
        m->options.step = NULL;
        m->options.task = NULL;
    }
    if (o->donate)
        m->options.donate = o->donate + i * ninputs;
}

hilo_status rt_execute_several(hilo_executable *exe, const hilo_execute_options *options,
                               const struct rt_launch_options *launch, uint32_t first, uint32_t here,
                               hilo_buffer *const *inputs, hilo_buffer **outputs) {
    hilo_client *c = exe->client;
    size_t nin = hilo_executable_input_count(exe), nout = hilo_executable_output_count(exe), bytes;
    bool fits = mem_mul(nout, sizeof *outputs, &bytes) && mem_add(bytes, sizeof(struct member), &bytes) &&
                mem_mul(here, bytes, &bytes);
    struct member *m = fits ? mem_alloc(&c->memory, bytes) : NULL; /* and results, which are given when all are there */
    struct rt_launch *run = m ? rt_launch_new(c, launch) : NULL;
    hilo_status status = run ? HILO_OK : HILO_RESOURCE_EXHAUSTED;
    hilo_buffer **made = m ? (hilo_buffer **)(void *)(m + here) : NULL;
    for (size_t i = 0; i < here * nout && m; i++)
        made[i] = NULL;
    for (uint32_t i = 0; i < here && run; i++) {
        m[i] = (struct member){.exe = exe, .inputs = nin ? inputs + i * nin : NULL, .outputs = made + i * nout, .ninputs = nin,
                               .noutputs = nout, .launch = run, .process = first + i, .device = (int32_t)i};
        member_init(&m[i], i, options, nin);
    }
    for (uint32_t i = 1; i < here && run; i++) {
        m[i].started = pthread_create(&m[i].thread, NULL, member_main, &m[i]) == 0;
        if (!m[i].started) {
            m[i].status = HILO_RESOURCE_EXHAUSTED;
            rt_launch_end(run, first + i, m[i].status, "there is no thread for it");
        }
    }
    if (run)
        member_main(&m[0]);
    for (uint32_t i = 0; i < here && run; i++) {
        if (m[i].started)
            pthread_join(m[i].thread, NULL);
        if (status == HILO_OK || (status == HILO_ABORTED && m[i].status != HILO_OK)) /* the cause rather than what follows */
            status = m[i].status;
    }
    rt_launch_free(run);
    for (size_t i = 0; i < here * nout && m; i++)
        if (status == HILO_OK)
            outputs[i] = made[i];
        else
            hilo_buffer_release(made[i]);
    if (m)
        mem_free(&c->memory, m, bytes);
    return status;
}

/* How often the module says that its program runs. */
static uint32_t replicas_of(const hilo_executable *exe) {
    const struct ir_module *m = rt_executable_program(exe);
    int64_t n;
    bool said = m && ir_attr_as_i64(m, ir_dict_find(m, ir_op_get(m, m->root)->attrs, STR("mhlo.num_replicas")), &n);
    return said && n > 0 && n < COMM_MOST_DEVICES ? (uint32_t)n : 1;
}

hilo_status rt_execute_everywhere(hilo_executable *exe, const hilo_execute_options *options, hilo_buffer *const *inputs,
                                  size_t ninputs, hilo_buffer **outputs, size_t noutputs) {
    hilo_client *c = exe->client;
    struct comm *comm = c->comm;
    uint32_t here = c->several, all = comm ? comm_ndevices(comm) : here, replicas = replicas_of(exe);
    uint32_t first = comm ? comm_node_get(comm, comm_self(comm))->first_device : 0;
    struct diag_list d;
    diag_init(&d, c->al);
    double begin = rt_now_ms();
    hilo_status status = HILO_OK;
    size_t nin = hilo_executable_input_count(exe), nout = hilo_executable_output_count(exe);
    if (ninputs != here * nin || noutputs != here * nout)
        status = diag_error(&d, HILO_INVALID_ARGUMENT,
                            "%zu inputs and %zu outputs: expected those of %u devices, %zu and %zu each", ninputs,
                            noutputs, here, nin, nout);
    uint32_t *devices = status == HILO_OK ? mem_alloc(&c->memory, all * sizeof *devices) : NULL;
    for (uint32_t i = 0; i < all && devices; i++)
        devices[i] = i;
    const char *name = rt_executable_name(exe);
    replicas = all % replicas == 0 ? replicas : 1;
    struct rt_launch_options launch = {.replicas = replicas, .partitions = all / replicas, .devices = devices,
                                       .program = rt_executable_fingerprint(exe), .name = *name ? name : "program"};
    bool ran = devices != NULL;
    if (ran)
        status = rt_execute_several(exe, options, &launch, first, here, inputs, outputs);
    else if (status == HILO_OK)
        status = HILO_RESOURCE_EXHAUSTED;
    if (devices)
        mem_free(&c->memory, devices, all * sizeof *devices);
    if (status == HILO_OK && options->timing)
        options->timing->total_ms = rt_now_ms() - begin;
    if (ran && status != HILO_RESOURCE_EXHAUSTED)
        return status; /* the process that failed has told why */
    return rt_finish(c, &d, status);
}
