/* An engine on several nodes: that of node 0 does what it is asked to with its own devices, and has the others do the same,
 * which follow (llm_engine_follow). So only node 0 has sessions, prompts and samplers; the others have their shard of the
 * weights, and arrays under the numbers that node 0 gives them.
 *
 * Commands are collected until a program is compiled or run, and sent as one message. */
#include "llm/engine_nodes.h"

#include "llm/engine.h"
#include "read/bytecode/bytecode.h"

/* Of node 0. */
struct array { void *local; uint32_t id; };
struct program { void *local; uint32_t id; };

struct nodes_engine {
    struct llm_engine engine;
    struct llm_engine *local;
    struct comm *comm;
    uint64_t messages;
    struct strbuf pending;                             /* of node 0 */
    struct { uint32_t *v; size_t n, cap; } unused;     /* numbers of arrays; of node 0 */
    struct { void **v; size_t n, cap; } arrays, programs; /* by number; of node 0 only how many there are */
};

static hilo_status out_of_memory(struct nodes_engine *x) {
    return llm_error(x->engine.client, HILO_RESOURCE_EXHAUSTED, "out of memory");
}

static bool leads(const struct nodes_engine *x) {
    return comm_self(x->comm) == 0;
}

/* ---- messages -------------------------------------------------------------------------------- */

/* From node 0 to all others. `key`: used once. */
static hilo_status transfer(struct nodes_engine *x, uint64_t key, void *data, size_t bytes) {
    uint32_t nnodes = comm_nnodes(x->comm), self = comm_self(x->comm), n = leads(x) ? nnodes - 1 : 1;
    const hilo_allocator *al = rt_client_allocator(x->engine.client);
    struct comm_transfer *t = mem_alloc(al, n * sizeof *t);
    struct strbuf why;
    if (!t)
        return out_of_memory(x);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t other = leads(x) ? i + 1 : 0, from = leads(x) ? self : other, to = leads(x) ? other : self;
        t[i] = (struct comm_transfer){.node = other, .key = key, .from = comm_node_get(x->comm, from)->first_device,
                                      .to = comm_node_get(x->comm, to)->first_device, .receives = !leads(x), .data = data,
                                      .bytes = bytes, .patient = !leads(x)};
    }
    strbuf_init(&why, *al);
    hilo_status status = comm_transfer(x->comm, t, n, &why);
    if (status != HILO_OK)
        llm_error(x->engine.client, status, "the nodes of the model cannot go on: %s",
                  why.p ? why.p : hilo_status_name(status));
    strbuf_free(&why);
    mem_free(al, t, n * sizeof *t);
    return status;
}

static hilo_status send_pending(struct nodes_engine *x) {
    char block[LLM_NODE_BLOCK] = {0};
    uint64_t n = x->pending.n, key = 2 * x->messages;
    size_t first = n < LLM_NODE_FIRST ? (size_t)n : LLM_NODE_FIRST;
    if (x->pending.failed)
        return out_of_memory(x);
    if (n == 0)
        return HILO_OK;
    memcpy(block, &n, sizeof n);
    memcpy(block + sizeof n, x->pending.p, first);
    x->messages++;
    hilo_status status = transfer(x, key, block, sizeof block);
    if (status == HILO_OK && n > LLM_NODE_FIRST)
        status = transfer(x, key + 1, x->pending.p + first, x->pending.n - first);
    x->pending.n = 0;
    return status;
}

/* Waits for the next message, however long. `out` begins at a multiple of 8. */
static hilo_status receive(struct nodes_engine *x, char **out, size_t *n) {
    char block[LLM_NODE_BLOCK];
    uint64_t bytes, key = 2 * x->messages++;
    HILO_TRY(transfer(x, key, block, sizeof block));
    memcpy(&bytes, block, sizeof bytes);
    if (bytes == 0)
        return llm_error(x->engine.client, HILO_INTERNAL, "node 0 sent an empty message");
    char *p = mem_alloc(rt_client_allocator(x->engine.client), (size_t)bytes);
    if (!p)
        return out_of_memory(x);
    size_t first = bytes < LLM_NODE_FIRST ? (size_t)bytes : LLM_NODE_FIRST;
    memcpy(p, block + sizeof bytes, first);
    hilo_status status = bytes > LLM_NODE_FIRST ? transfer(x, key + 1, p + first, (size_t)bytes - first) : HILO_OK;
    if (status != HILO_OK)
        mem_free(rt_client_allocator(x->engine.client), p, (size_t)bytes);
    *out = p;
    *n = (size_t)bytes;
    return status;
}

/* ---- node 0 ---------------------------------------------------------------------------------- */

static void put_data(struct nodes_engine *x, const void *data, size_t n) {
    strbuf_putn(&x->pending, data, n);
}

static void put_end(struct nodes_engine *x) {
    static const char zeros[8] = {0};
    strbuf_putn(&x->pending, zeros, -x->pending.n % 8);
}

static void put(struct nodes_engine *x, struct llm_node_command c, const void *data, size_t bytes) {
    c.bytes = bytes;
    put_data(x, &c, sizeof c);
    if (bytes)
        put_data(x, data, bytes);
    put_end(x);
}

static struct array *new_array(struct nodes_engine *x) {
    struct array *a = mem_alloc(rt_client_allocator(x->engine.client), sizeof *a);
    if (a)
        *a = (struct array){NULL, x->unused.n ? x->unused.v[--x->unused.n] : (uint32_t)x->arrays.n++};
    else
        out_of_memory(x);
    return a;
}

/* Its number can be used again: the others do everything in the same order. */
static void forget(struct nodes_engine *x, struct array *a) {
    const hilo_allocator *al = rt_client_allocator(x->engine.client);
    if (x->unused.n == x->unused.cap) {
        size_t cap = 2 * x->unused.cap + 64;
        uint32_t *v = mem_resize(al, x->unused.v, x->unused.cap * sizeof *v, cap * sizeof *v);
        if (v) {
            x->unused.v = v;
            x->unused.cap = cap;
        }
    }
    if (x->unused.n < x->unused.cap)
        x->unused.v[x->unused.n++] = a->id;
    mem_free(al, a, sizeof *a);
}

static void release(struct llm_engine *e, void *array) {
    struct nodes_engine *x = (struct nodes_engine *)e;
    struct array *a = array;
    if (!a)
        return;
    x->local->ops->release(x->local, a->local);
    if (leads(x))
        put(x, (struct llm_node_command){.kind = LLM_NODE_RELEASE, .id = a->id}, NULL, 0);
    forget(x, a);
}

static hilo_status upload(struct llm_engine *e, hilo_dtype t, const int64_t *dims, uint32_t rank, const void *data,
                          void **out) {
    struct nodes_engine *x = (struct nodes_engine *)e;
    struct llm_node_command c = {.kind = data ? LLM_NODE_UPLOAD : LLM_NODE_ZEROS, .dtype = (uint32_t)t, .rank = rank};
    struct array *a = new_array(x);
    size_t bytes = hilo_dtype_size(t);
    if (!a)
        return HILO_RESOURCE_EXHAUSTED;
    hilo_status status = x->local->ops->upload(x->local, t, dims, rank, data, &a->local);
    if (status != HILO_OK) {
        forget(x, a);
        return status;
    }
    for (uint32_t i = 0; i < rank; i++) {
        c.dims[i] = dims[i];
        bytes *= (size_t)dims[i]; /* the array exists */
    }
    c.id = a->id;
    put(x, c, data, data ? bytes : 0);
    *out = a;
    return HILO_OK;
}

static hilo_status compile(struct llm_engine *e, hilo_module *m, void **out) {
    struct nodes_engine *x = (struct nodes_engine *)e;
    hilo_client *client = e->client;
    struct strbuf code;
    struct diag_list d;
    hilo_module *same = NULL;
    struct program *p = mem_alloc(rt_client_allocator(client), sizeof *p);
    if (!p)
        return out_of_memory(x);
    *p = (struct program){NULL, (uint32_t)x->programs.n};
    diag_init(&d, *rt_client_allocator(client));
    strbuf_init(&code, *rt_client_allocator(client));
    hilo_status status = rt_finish(client, &d, write_bytecode(rt_module_ir(m), &d, BC_STABLEHLO, &code));
    if (status == HILO_OK) {
        put(x, (struct llm_node_command){.kind = LLM_NODE_COMPILE, .id = p->id}, code.p, code.n);
        status = send_pending(x);
    }
    if (status == HILO_OK) /* what the others compile, to the byte */
        status = hilo_module_parse(client, code.p, code.n, NULL, &same);
    if (status == HILO_OK)
        status = x->local->ops->compile(x->local, same, &p->local);
    hilo_module_release(same);
    strbuf_free(&code);
    e->ncached = x->local->ncached;
    if (status == HILO_OK) {
        x->programs.n++;
        *out = p;
    } else {
        mem_free(rt_client_allocator(client), p, sizeof *p);
    }
    return status;
}

/* The arguments, results and donations of a run as node 0 has them, in one block. */
struct call {
    void **in, **out;
    uint32_t *ids;
    size_t bytes;
};

static hilo_status new_call(struct nodes_engine *x, void *const *in, size_t nin, size_t nout, struct call *c) {
    *c = (struct call){.bytes = 0};
    bool fits = mem_add(nin, nout, &c->bytes) && mem_mul(c->bytes, sizeof(void *) + sizeof(uint32_t), &c->bytes);
    c->in = fits ? mem_alloc(rt_client_allocator(x->engine.client), c->bytes) : NULL;
    if (!c->in)
        return out_of_memory(x);
    c->out = c->in + nin;
    c->ids = (uint32_t *)(void *)(c->out + nout);
    for (size_t i = 0; i < nin; i++) {
        c->in[i] = ((const struct array *)in[i])->local;
        c->ids[i] = ((const struct array *)in[i])->id;
    }
    return HILO_OK;
}

static hilo_status run(struct llm_engine *e, void *program, void *const *in, size_t nin, const uint8_t *donate, void **out,
                       size_t nout) {
    struct nodes_engine *x = (struct nodes_engine *)e;
    const struct program *p = program;
    struct llm_node_command c = {.kind = LLM_NODE_RUN, .id = p->id, .nin = (uint32_t)nin, .nout = (uint32_t)nout};
    struct call v;
    hilo_status status = new_call(x, in, nin, nout, &v);
    size_t made = 0;
    for (; made < nout && status == HILO_OK; made++) {
        struct array *a = new_array(x);
        if (!a) {
            status = HILO_RESOURCE_EXHAUSTED;
            break;
        }
        out[made] = a;
        v.ids[nin + made] = a->id;
    }
    if (status == HILO_OK) {
        c.bytes = (nin + nout) * sizeof *v.ids + nin;
        put_data(x, &c, sizeof c);
        put_data(x, v.ids, (nin + nout) * sizeof *v.ids);
        put_data(x, donate, nin);
        put_end(x);
        status = send_pending(x);
    }
    if (status == HILO_OK)
        status = x->local->ops->run(x->local, p->local, v.in, nin, donate, v.out, nout);
    for (size_t i = 0; i < made; i++)
        if (status == HILO_OK) {
            ((struct array *)out[i])->local = v.out[i];
        } else { /* others may have it */
            release(e, out[i]);
            out[i] = NULL;
        }
    if (v.in)
        mem_free(rt_client_allocator(e->client), v.in, v.bytes);
    return status;
}

static hilo_status read(struct llm_engine *e, void *array, void *dst, size_t nbytes) {
    struct nodes_engine *x = (struct nodes_engine *)e;
    return x->local->ops->read(x->local, ((const struct array *)array)->local, dst, nbytes);
}

static void release_program(struct llm_engine *e, void *program) {
    struct nodes_engine *x = (struct nodes_engine *)e;
    struct program *p = program;
    x->local->ops->release_program(x->local, p->local);
    mem_free(rt_client_allocator(e->client), p, sizeof *p);
}

static void stats(struct llm_engine *e, void *program, hilo_stats *out) {
    struct nodes_engine *x = (struct nodes_engine *)e;
    x->local->ops->stats(x->local, ((const struct program *)program)->local, out);
}

/* ---- the others ------------------------------------------------------------------------------ */

/* Entry `id` of a table by number, which grows; NULL after a diagnostic. */
static void **entry(struct nodes_engine *x, void ***v, size_t *n, size_t *cap, uint32_t id) {
    if (id > *n) {
        llm_error(x->engine.client, HILO_INTERNAL, "node 0 named the number %u; there are %zu", id, *n);
        return NULL;
    }
    if (id == *cap) {
        size_t more = 2 * *cap + 256;
        void **p = mem_resize(rt_client_allocator(x->engine.client), *v, *cap * sizeof *p, more * sizeof *p);
        if (!p) {
            out_of_memory(x);
            return NULL;
        }
        *v = p;
        *cap = more;
    }
    if (id == *n)
        (*v)[(*n)++] = NULL;
    return &(*v)[id];
}

static void **array_entry(struct nodes_engine *x, uint32_t id) {
    return entry(x, &x->arrays.v, &x->arrays.n, &x->arrays.cap, id);
}

/* The entry of an array that is made: node 0 uses a number again when the array is released. */
static void **new_entry(struct nodes_engine *x, uint32_t id) {
    void **at = array_entry(x, id);
    if (!at || !*at)
        return at;
    llm_error(x->engine.client, HILO_INTERNAL, "node 0 gave two arrays the number %u", id);
    return NULL;
}

static hilo_status follow_upload(struct nodes_engine *x, const struct llm_node_command *c, const void *data) {
    void **at = new_entry(x, c->id);
    bool has_data = c->kind == LLM_NODE_UPLOAD;
    size_t bytes, each = hilo_dtype_size((hilo_dtype)c->dtype);
    if (!at)
        return HILO_INTERNAL;
    if (!each || c->rank > 4 || !mem_shape(c->dims, c->rank, each, &bytes) || (has_data && bytes != c->bytes))
        return llm_error(x->engine.client, HILO_INTERNAL, "node 0 sent an array that cannot be");
    return x->local->ops->upload(x->local, (hilo_dtype)c->dtype, c->dims, c->rank, has_data ? data : NULL, at);
}

static hilo_status follow_compile(struct nodes_engine *x, const struct llm_node_command *c, const void *data) {
    hilo_module *m;
    void **at = entry(x, &x->programs.v, &x->programs.n, &x->programs.cap, c->id);
    if (!at)
        return HILO_INTERNAL;
    HILO_TRY(hilo_module_parse(x->engine.client, data, (size_t)c->bytes, NULL, &m));
    if (*at) /* node 0 could not compile the one of that number */
        x->local->ops->release_program(x->local, *at);
    *at = NULL;
    hilo_status status = x->local->ops->compile(x->local, m, at);
    hilo_module_release(m);
    return status;
}

/* A run that failed elsewhere has no results, which node 0 releases. */
static bool failed_elsewhere(hilo_status status) {
    return status == HILO_ABORTED || status == HILO_CANCELLED || status == HILO_UNAVAILABLE || status == HILO_DEADLINE_EXCEEDED;
}

/* Enters the results of a run, or that there are none. */
static hilo_status enter_results(struct nodes_engine *x, const uint32_t *ids, void *const *out, uint32_t n,
                                 hilo_status status) {
    hilo_status entered = status;
    for (uint32_t i = 0; i < n; i++) {
        void **at = new_entry(x, ids[i]), *array = status == HILO_OK ? out[i] : NULL;
        if (at) {
            *at = array;
            continue;
        }
        x->local->ops->release(x->local, array);
        entered = HILO_INTERNAL;
    }
    return entered;
}

static hilo_status follow_run(struct nodes_engine *x, const struct llm_node_command *c, const void *data) {
    const uint32_t *ids = data;
    if (c->bytes != (uint64_t)(c->nin + (uint64_t)c->nout) * sizeof *ids + c->nin || c->id >= x->programs.n ||
        !x->programs.v[c->id])
        return llm_error(x->engine.client, HILO_INTERNAL, "node 0 sent a run that cannot be");
    const uint8_t *donate = (const uint8_t *)(ids + c->nin + c->nout);
    size_t bytes = ((size_t)c->nin + c->nout) * sizeof(void *);
    void **in = mem_alloc(rt_client_allocator(x->engine.client), bytes);
    if (!in)
        return out_of_memory(x);
    void **out = in + c->nin;
    hilo_status status = HILO_OK;
    for (uint32_t i = 0; i < c->nin && status == HILO_OK; i++) {
        in[i] = ids[i] < x->arrays.n ? x->arrays.v[ids[i]] : NULL;
        if (!in[i])
            status = llm_error(x->engine.client, HILO_INTERNAL, "node 0 named the array %u, which is not there", ids[i]);
    }
    if (status == HILO_OK) {
        status = x->local->ops->run(x->local, x->programs.v[c->id], in, c->nin, donate, out, c->nout);
        status = enter_results(x, ids + c->nin, out, c->nout, status);
        if (failed_elsewhere(status)) {
            hilo_diagnostics_clear(x->engine.client);
            status = HILO_OK;
        }
    }
    mem_free(rt_client_allocator(x->engine.client), in, bytes);
    return status;
}

static hilo_status follow_release(struct nodes_engine *x, const struct llm_node_command *c) {
    void **at = array_entry(x, c->id);
    if (!at)
        return HILO_INTERNAL;
    x->local->ops->release(x->local, *at);
    *at = NULL;
    return HILO_OK;
}

static hilo_status follow_message(struct nodes_engine *x, const char *p, size_t n, bool *ended) {
    hilo_status status = HILO_OK;
    for (size_t at = 0; at < n && status == HILO_OK && !*ended;) {
        struct llm_node_command c;
        bool fits = n - at >= sizeof c;
        if (fits)
            memcpy(&c, p + at, sizeof c);
        if (!fits || c.bytes > n - at - sizeof c)
            return llm_error(x->engine.client, HILO_INTERNAL, "node 0 sent a message of %zu bytes that ends amid a command", n);
        const void *data = p + at + sizeof c;
        at += sizeof c + (size_t)c.bytes + -(size_t)c.bytes % 8;
        switch ((enum llm_node_kind)c.kind) {
        case LLM_NODE_UPLOAD:
        case LLM_NODE_ZEROS: status = follow_upload(x, &c, data); break;
        case LLM_NODE_RELEASE: status = follow_release(x, &c); break;
        case LLM_NODE_COMPILE: status = follow_compile(x, &c, data); break;
        case LLM_NODE_RUN: status = follow_run(x, &c, data); break;
        case LLM_NODE_CLOSE: *ended = true; break;
        default: return llm_error(x->engine.client, HILO_INTERNAL, "node 0 sent the command %u, which there is not", c.kind);
        }
    }
    return status;
}

/* ---- both ------------------------------------------------------------------------------------ */

static hilo_status keep(struct llm_engine *e, hilo_dtype t, const int64_t *dims, uint32_t rank, const void *const *data,
                        void **out) {
    struct nodes_engine *x = (struct nodes_engine *)e;
    struct array *a = new_array(x);
    if (!a)
        return HILO_RESOURCE_EXHAUSTED;
    hilo_status status = x->local->ops->keep(x->local, t, dims, rank, data, &a->local);
    if (!leads(x))
        x->arrays.n = a->id; /* its entry is the next one */
    if (status == HILO_OK && !leads(x)) {
        void **at = array_entry(x, a->id);
        if (at)
            *at = a->local;
        else
            x->local->ops->release(x->local, a->local);
        a->local = NULL; /* the table has it */
        status = at ? HILO_OK : HILO_RESOURCE_EXHAUSTED;
    }
    if (status == HILO_OK)
        *out = a;
    else
        forget(x, a);
    return status;
}

static void close(struct llm_engine *e) {
    struct nodes_engine *x = (struct nodes_engine *)e;
    const hilo_allocator al = *rt_client_allocator(e->client);
    if (leads(x)) {
        put(x, (struct llm_node_command){.kind = LLM_NODE_CLOSE}, NULL, 0);
        send_pending(x); /* also if one is lost */
    }
    for (size_t i = 0; i < x->arrays.n && x->arrays.v; i++)
        x->local->ops->release(x->local, x->arrays.v[i]);
    for (size_t i = 0; i < x->programs.n && x->programs.v; i++)
        if (x->programs.v[i])
            x->local->ops->release_program(x->local, x->programs.v[i]);
    mem_free(&al, x->arrays.v, x->arrays.cap * sizeof *x->arrays.v);
    mem_free(&al, x->programs.v, x->programs.cap * sizeof *x->programs.v);
    mem_free(&al, x->unused.v, x->unused.cap * sizeof *x->unused.v);
    strbuf_free(&x->pending);
    llm_engine_close(x->local);
    mem_free(&al, x, sizeof *x);
}

static const struct llm_engine_ops on_nodes = {
    "hilo:nodes", upload, keep, compile, run, read, release, release_program, stats, close,
};

hilo_status llm_engine_nodes(struct llm_engine *local, struct comm *comm, struct llm_engine **out) {
    hilo_client *client = local->client;
    struct nodes_engine *x = mem_alloc(rt_client_allocator(client), sizeof *x);
    if (!x) {
        llm_engine_close(local);
        return llm_error(client, HILO_RESOURCE_EXHAUSTED, "out of memory");
    }
    *x = (struct nodes_engine){.engine = {.ops = &on_nodes, .client = client, .devices = local->devices,
                                          .prompts_by_row = local->prompts_by_row,
                                          .prompts_in_words = local->prompts_in_words},
                               .local = local, .comm = comm};
    strbuf_init(&x->pending, *rt_client_allocator(client));
    *out = &x->engine;
    return HILO_OK;
}

hilo_status llm_engine_follow(struct llm_engine *e) {
    struct nodes_engine *x = (struct nodes_engine *)e;
    hilo_status status = HILO_OK;
    for (bool ended = false; status == HILO_OK && !ended;) {
        char *message;
        size_t n;
        HILO_TRY(receive(x, &message, &n));
        status = follow_message(x, message, n, &ended);
        mem_free(rt_client_allocator(e->client), message, n);
    }
    return status;
}
