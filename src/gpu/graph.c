/* Graphs: launches and copies that follow each other, enqueued by one call, which takes much less time than one each.
 *
 * A graph is recorded anew each time that it is run, and what the driver has of it is changed as little as possible: where
 * kernels are the same as the last time, only those whose pointers differ are updated; else it is made anew. */
#include "gpu/device.h"

#include <string.h>

/* A launch, or a copy: of params[1] to params[0]. */
struct node {
    struct gpu_function *function;        /* NULL: a copy */
    const struct hilo_gpu_launch *launch;
    size_t bytes;
    size_t first; /* of its parameters */
    void *handle;
    bool changed; /* its parameters are not those that the driver has */
};

struct gpu_graph {
    struct gpu *g;
    struct node *nodes;
    void **params;
    size_t n, room, nparams, params_room;
    size_t made;          /* nodes that the driver's graph has */
    bool other;           /* what was recorded is another graph */
    void *graph, *runnable; /* the driver's; NULL = none */
};

hilo_status gpu_graph_new(struct gpu *g, struct diag_list *d, struct gpu_graph **out) {
    struct gpu_graph *x = mem_alloc(&g->al, sizeof *x);
    if (!x)
        return diag_error(d, HILO_RESOURCE_EXHAUSTED, "out of memory");
    *x = (struct gpu_graph){.g = g};
    *out = x;
    return HILO_OK;
}

/* It may be running. */
static void graph_drop(struct gpu_graph *x) {
    const struct gpu_driver *driver = x->g->driver;
    if (x->graph || x->runnable) {
        (void)driver->cuCtxSetCurrent(x->g->context);
        (void)driver->cuStreamSynchronize(x->g->stream);
    }
    if (x->runnable)
        (void)driver->cuGraphExecDestroy(x->runnable);
    if (x->graph)
        (void)driver->cuGraphDestroy(x->graph);
    x->graph = x->runnable = NULL;
    x->made = 0;
}

void gpu_graph_free(struct gpu_graph *x) {
    if (!x)
        return;
    graph_drop(x);
    hilo_allocator al = x->g->al;
    mem_free(&al, x->nodes, x->room * sizeof *x->nodes);
    mem_free(&al, x->params, x->params_room * sizeof *x->params);
    mem_free(&al, x, sizeof *x);
}

/* ---- recording ------------------------------------------------------------------------------- */

void gpu_graph_begin(struct gpu_graph *x) {
    x->n = x->nparams = 0;
    x->other = false;
}

/* An array with room for `need` elements, to which it changes *room; NULL when memory is exhausted. */
static void *grow(struct gpu *g, void *v, size_t need, size_t size, size_t *room) {
    size_t want = *room ? *room : 64;
    if (need <= *room)
        return v;
    while (want < need)
        want *= 2; /* of what a plan has, which is in memory */
    void *p = mem_resize(&g->al, v, *room * size, want * size);
    *room = p ? want : *room;
    return p;
}

static hilo_status make_room(struct gpu_graph *x, size_t nparams, struct diag_list *d) {
    struct node *nodes = grow(x->g, x->nodes, x->n + 1, sizeof *nodes, &x->room);
    x->nodes = nodes ? nodes : x->nodes;
    void **params = nodes ? grow(x->g, x->params, x->nparams + nparams + 1, sizeof *params, &x->params_room) : NULL;
    x->params = params ? params : x->params;
    return params ? HILO_OK : diag_error(d, HILO_RESOURCE_EXHAUSTED, "out of memory");
}

static hilo_status record(struct gpu_graph *x, struct node node, void *const *params, size_t nparams, struct diag_list *d) {
    size_t at = x->n;
    bool same = !x->other && at < x->made && x->nodes[at].function == node.function && x->nodes[at].launch == node.launch &&
                x->nodes[at].bytes == node.bytes;
    if (!same) {
        x->other = true;
        x->made = 0; /* also if this recording is not ended */
        HILO_TRY(make_room(x, nparams, d));
        node.first = x->nparams;
        x->nodes[at] = node;
    }
    void **kept = x->params + x->nparams;
    if (nparams && (!same || memcmp(kept, params, nparams * sizeof *kept) != 0)) {
        memcpy(kept, params, nparams * sizeof *kept);
        x->nodes[at].changed = true;
    }
    x->n++;
    x->nparams += nparams;
    return HILO_OK;
}

hilo_status gpu_graph_launch(struct gpu_graph *x, struct gpu_function *f, const struct hilo_gpu_launch *launch,
                             void *const *params, struct diag_list *d) {
    HILO_TRY(gpu_check_launch(launch, d));
    return launch->blocks ? record(x, (struct node){.function = f, .launch = launch}, params, launch->params, d) : HILO_OK;
}

hilo_status gpu_graph_copy(struct gpu_graph *x, void *to, const void *from, size_t bytes, struct diag_list *d) {
    for (size_t at = 0, n; at < bytes; at += n) {
        void *params[] = {(char *)to + at, (void *)((uintptr_t)from + at)};
        n = bytes - at < x->g->most_pitch ? bytes - at : x->g->most_pitch;
        HILO_TRY(record(x, (struct node){.bytes = n}, params, 2, d));
    }
    return HILO_OK;
}

/* ---- the driver's graph ---------------------------------------------------------------------- */

static struct cuda_launch launch_of(const struct node *node, void **at) {
    return (struct cuda_launch){.function = node->function, .grid = {node->launch->blocks, 1, 1},
                                .block = {node->launch->threads, 1, 1}, .shared_bytes = node->launch->shared_bytes,
                                .params = at};
}

static struct cuda_side side_of(const void *p, size_t bytes) {
    return (struct cuda_side){.type = CUDA_DEVICE_MEMORY, .device = (uintptr_t)p, .pitch = bytes, .height = 1};
}

static struct cuda_copy copy_of(const struct gpu_graph *x, const struct node *node) {
    return (struct cuda_copy){side_of(x->params[node->first + 1], node->bytes), side_of(x->params[node->first], node->bytes),
                              node->bytes, 1, 1};
}

/* Adds a node after the one before it, or changes one that is there. */
static hilo_status put_node(struct gpu_graph *x, size_t i, bool change, struct diag_list *d) {
    const struct gpu_driver *driver = x->g->driver;
    struct node *node = &x->nodes[i];
    struct gpu_arguments a;
    void *const *after = i ? &x->nodes[i - 1].handle : NULL;
    if (node->function) {
        HILO_TRY(gpu_make_arguments(x->g, node->launch, x->params + node->first, &a, d));
        const struct cuda_launch launch = launch_of(node, a.at);
        HILO_TRY(change ? GPU_CALL(driver, d, cuGraphExecKernelNodeSetParams, x->runnable, node->handle, &launch)
                        : GPU_CALL(driver, d, cuGraphAddKernelNode, &node->handle, x->graph, after, i != 0, &launch));
    } else {
        const struct cuda_copy copy = copy_of(x, node);
        HILO_TRY(change ? GPU_CALL(driver, d, cuGraphExecMemcpyNodeSetParams, x->runnable, node->handle, &copy, x->g->context)
                        : GPU_CALL(driver, d, cuGraphAddMemcpyNode, &node->handle, x->graph, after, i != 0, &copy,
                                   x->g->context));
    }
    node->changed = false;
    return HILO_OK;
}

static hilo_status graph_make(struct gpu_graph *x, struct diag_list *d) {
    const struct gpu_driver *driver = x->g->driver;
    graph_drop(x);
    HILO_TRY(GPU_CALL(driver, d, cuGraphCreate, &x->graph, 0));
    for (size_t i = 0; i < x->n; i++)
        HILO_TRY(put_node(x, i, false, d));
    HILO_TRY(GPU_CALL(driver, d, cuGraphInstantiateWithFlags, &x->runnable, x->graph, 0));
    x->made = x->n;
    return HILO_OK;
}

hilo_status gpu_graph_run(struct gpu_graph *x, struct diag_list *d) {
    if (!x->n)
        return HILO_OK;
    HILO_TRY(gpu_enter(x->g, d));
    hilo_status status = HILO_OK;
    if (x->other || x->n != x->made)
        status = graph_make(x, d);
    for (size_t i = 0; i < x->n && status == HILO_OK; i++)
        if (x->nodes[i].changed)
            status = put_node(x, i, true, d);
    if (status == HILO_OK)
        status = GPU_CALL(x->g->driver, d, cuGraphLaunch, x->runnable, x->g->stream);
    if (status != HILO_OK)
        graph_drop(x);
    return status;
}
