/* A node of a language model's engine (llm/engine_nodes.c), with the reference engine, whose node 0 is the input: its messages,
 * made of commands that mostly can be. All is done or refused with a reason, and nothing leaks. */
#include "comm/net.h"
#include "llm/engine.h"
#include "llm/engine_nodes.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t nbytes);

enum { NODES = 2, SELF = 1, MOST_BYTES = 1 << 22, MOST_DATA = 1 << 13, WAIT_MS = 2 };

/* What is left of the input; the comm under test; of the message under way what was not delivered. */
struct fuzz {
    const uint8_t *p;
    size_t n;
    struct comm *comm;
    uint32_t greeted;
    uint64_t messages;
    bool has_rest;
    struct strbuf nodes, message;
};

static uint8_t next(struct fuzz *f) {
    if (!f->n)
        return 0;
    f->n--;
    return *f->p++;
}

static uint64_t next_number(struct fuzz *f) {
    uint64_t v = 0;
    for (int i = 0; i < 8; i++)
        v = v << 8 | next(f);
    return v;
}

/* ---- messages -------------------------------------------------------------------------------- */

static const char *const programs[] = {
    "func.func @main(%a: tensor<2xf32>, %b: tensor<2xf32>) -> tensor<2xf32> {\n"
    "  %c = stablehlo.add %a, %b : tensor<2xf32>\n  return %c : tensor<2xf32>\n}\n",
    "func.func @main(%a: tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>) {\n"
    "  %b = stablehlo.negate %a : tensor<2xf32>\n  return %a, %b : tensor<2xf32>, tensor<2xf32>\n}\n",
    "func.func @main() -> tensor<2xf32> {\n"
    "  %a = stablehlo.constant dense<1.0> : tensor<2xf32>\n  return %a : tensor<2xf32>\n}\n",
    "func.func @main(%a: tensor<?xf32>) -> tensor<?xf32> {\n  return %a : tensor<?xf32>\n}\n",
};

static void put_command(struct fuzz *f, struct llm_node_command c, const void *data, size_t n) {
    static const char zeros[8] = {0};
    uint8_t twist = next(f);
    c.bytes = twist == 255 ? next_number(f) : twist == 254 ? n + 8 : n;
    strbuf_putn(&f->message, (const char *)&c, sizeof c);
    if (n)
        strbuf_putn(&f->message, data, n);
    strbuf_putn(&f->message, zeros, -n % 8);
}

static void put_array(struct fuzz *f, struct llm_node_command c) {
    uint8_t data[MOST_DATA], kind = next(f);
    size_t n = sizeof(float);
    c.dtype = kind & 1 ? kind >> 1 : HILO_F32;
    c.rank = kind & 2 ? next(f) % 6 : 1;
    for (uint32_t i = 0; i < 4 && i < c.rank; i++) {
        uint8_t dim = kind & 4 ? next(f) : 2;
        c.dims[i] = dim == 255 ? (int64_t)next_number(f) : dim;
        n *= dim == 255 ? 1 : dim;
    }
    n = n < MOST_DATA && c.kind == LLM_NODE_UPLOAD ? n : 0;
    for (size_t i = 0; i < n; i++)
        data[i] = kind & 8 ? next(f) : kind;
    put_command(f, c, data, n);
}

static void put_program(struct fuzz *f, struct llm_node_command c) {
    char text[256];
    uint8_t which = next(f);
    size_t n = which >= 192 ? next(f) : strlen(programs[which & 3]);
    for (size_t i = 0; i < n && which >= 192; i++)
        text[i] = (char)next(f);
    put_command(f, c, which >= 192 ? text : programs[which & 3], n);
}

static void put_run(struct fuzz *f, struct llm_node_command c) {
    uint32_t ids[6];
    uint8_t counts = next(f), data[sizeof ids + 3];
    c.nin = counts & 3;
    c.nout = counts >> 2 & 3;
    for (uint32_t i = 0; i < c.nin + c.nout; i++)
        ids[i] = next(f) & 7;
    memcpy(data, ids, (c.nin + c.nout) * sizeof *ids);
    for (uint32_t i = 0; i < c.nin; i++)
        data[(c.nin + c.nout) * sizeof *ids + i] = next(f) & 1;
    size_t n = (c.nin + c.nout) * sizeof *ids + c.nin;
    if (counts == 255)
        c.nin = c.nout = UINT32_MAX;
    put_command(f, c, data, n);
}

/* The next message, of at least one command. */
static void make_message(struct fuzz *f) {
    uint8_t head;
    f->message.n = 0;
    do {
        head = next(f);
        struct llm_node_command c = {.kind = head & 7, .id = next(f) & 7};
        if (c.kind <= LLM_NODE_ZEROS)
            put_array(f, c);
        else if (c.kind == LLM_NODE_COMPILE)
            put_program(f, c);
        else if (c.kind == LLM_NODE_RUN)
            put_run(f, c);
        else
            put_command(f, c, NULL, 0);
    } while (f->n && head & 8);
    if (head >> 4 == 15 && f->message.n)
        f->message.n -= next(f) % f->message.n;
}

/* ---- a transport between this node and the input --------------------------------------------- */

static struct fuzz *current; /* a transport's `open` is given no more than the comm */

static hilo_status fuzz_open(struct comm *c, const hilo_allocator *al, uint32_t nnodes, struct strbuf *why, void **out) {
    (void)al;
    (void)nnodes;
    (void)why;
    current->comm = c;
    *out = current;
    return HILO_OK;
}

static void fuzz_close(void *t) {
    (void)t;
}

static struct str fuzz_address(void *t) {
    (void)t;
    return STR("here");
}

static hilo_status fuzz_connect(void *t, uint32_t node, struct str address, struct strbuf *why) {
    (void)t;
    (void)node;
    (void)address;
    (void)why;
    return HILO_OK;
}

static void fuzz_send(void *t, uint32_t node, const struct comm_frame *head, const void *data, size_t bytes,
                      struct comm_request *r) {
    (void)t;
    (void)node;
    (void)head;
    (void)data;
    (void)bytes;
    if (r)
        comm_request_done(r, HILO_OK);
}

static void fuzz_fetch(void *t, void *announced, struct comm_request *r) {
    (void)t;
    (void)announced;
    comm_request_done(r, HILO_INTERNAL);
}

static void fuzz_drop(void *t, void *announced) {
    (void)t;
    (void)announced;
}

static void fuzz_cancel(void *t, struct comm_request *r) {
    (void)t;
    comm_request_done(r, HILO_CANCELLED);
}

static void deliver(struct fuzz *f, uint64_t key, const char *data, size_t n) {
    struct comm_frame head = {.kind = COMM_BLOCK, .clique = key, .run = UINT32_MAX, .from = 0, .to = SELF};
    comm_arrived(f->comm, &head, data, NULL, n);
}

/* A block of a message: its length and its beginning, or the rest. */
static void deliver_block(struct fuzz *f) {
    char block[LLM_NODE_BLOCK] = {0};
    if (f->has_rest) {
        f->has_rest = false;
        deliver(f, 2 * f->messages++ + 1, f->message.p + LLM_NODE_FIRST, f->message.n - LLM_NODE_FIRST);
        return;
    }
    make_message(f);
    uint64_t n = f->message.n, told = next(f) == 255 ? next_number(f) : n;
    memcpy(block, &told, sizeof told);
    if (n)
        memcpy(block + sizeof told, f->message.p, n < LLM_NODE_FIRST ? (size_t)n : LLM_NODE_FIRST);
    deliver(f, 2 * f->messages, block, sizeof block);
    f->has_rest = n > LLM_NODE_FIRST;
    f->messages += !f->has_rest;
}

static bool fuzz_progress(void *t) {
    struct fuzz *f = t;
    if (f->greeted < NODES) {
        struct comm_frame head = {.kind = COMM_HELLO, .node = f->greeted++};
        comm_arrived(f->comm, &head, NULL, NULL, 0);
    } else if (f->has_rest || f->n) {
        deliver_block(f);
    } else {
        comm_node_failed(f->comm, 0, "the input has ended");
        return false;
    }
    return true;
}

static bool fuzz_arm(void *t, int *fd) {
    (void)t;
    *fd = -1;
    return false;
}

static void fuzz_signal(void *t) {
    (void)t;
}

static const struct comm_transport transport = {"fuzz", fuzz_open, fuzz_close, fuzz_address, fuzz_connect, fuzz_send,
                                                fuzz_fetch, fuzz_drop, fuzz_cancel, fuzz_progress, fuzz_arm, fuzz_signal};

/* ---- a store --------------------------------------------------------------------------------- */

/* What this node puts is what both have put. */
static hilo_status fuzz_put(void *user, const char *key, const void *value, size_t n, hilo_write_fn write, void *write_user) {
    struct fuzz *f = user;
    uint32_t size = (uint32_t)n;
    (void)key;
    (void)write;
    (void)write_user;
    for (int i = 0; i < NODES; i++) {
        strbuf_putn(&f->nodes, (const char *)&size, sizeof size);
        strbuf_putn(&f->nodes, value, n);
    }
    return f->nodes.failed ? HILO_RESOURCE_EXHAUSTED : HILO_OK;
}

static hilo_status fuzz_get(void *user, const char *key, int64_t timeout_ms, hilo_write_fn write, void *write_user) {
    struct fuzz *f = user;
    (void)key;
    (void)timeout_ms;
    write(write_user, f->nodes.p, f->nodes.n);
    return HILO_OK;
}

/* ---- a node ---------------------------------------------------------------------------------- */

/* The system's memory, in blocks of at most MOST_BYTES. */
static void *bounded_realloc(void *user, void *p, size_t old, size_t n, size_t align) {
    const hilo_allocator al = mem_system_allocator();
    return n > MOST_BYTES ? NULL : al.realloc_fn(user, p, old, n, align);
}

/* Made once for the process. */
static hilo_client *client_of_process(void) {
    static hilo_client *client;
    hilo_client_options o;
    hilo_client_options_init(&o);
    o.threads = 1;
    o.cache_dir = "";
    o.allocator = (hilo_allocator){bounded_realloc, mem_system_allocator().user};
    if (!client && hilo_client_create(&o, &client) != HILO_OK)
        abort();
    return client;
}

static hilo_status follow(hilo_client *client, struct comm *comm) {
    static const float weights[2] = {1, 2};
    const struct llm_engine_options o = {.level = 0};
    const int64_t dims[] = {2};
    const void *data[] = {weights};
    struct llm_engine *local, *e;
    void *kept;
    HILO_TRY(llm_engine_hilo(client, NULL, true, &o, &local));
    HILO_TRY(llm_engine_nodes(local, comm, &e));
    hilo_status status = e->ops->keep(e, HILO_F32, dims, 1, data, &kept);
    if (status == HILO_OK) {
        status = llm_engine_follow(e);
        e->ops->release(e, kept);
    }
    llm_engine_close(e);
    return status;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t nbytes) {
    hilo_client *client = client_of_process();
    hilo_allocator al = mem_system_allocator();
    struct fuzz f = {.p = bytes, .n = nbytes};
    struct comm_options o = {.node = SELF, .nnodes = NODES, .ndevices = 1, .store = {fuzz_put, fuzz_get, &f}, .about = "same",
                             .timeout_ms = WAIT_MS, .transport = &transport};
    struct strbuf why;
    struct comm *c = NULL;
    current = &f;
    strbuf_init(&why, al);
    strbuf_init(&f.nodes, al);
    strbuf_init(&f.message, al);
    if (comm_open(&al, &o, &why, &c) == HILO_OK && follow(client, c) != HILO_OK && !hilo_diagnostics_count(client))
        abort();
    comm_close(c);
    hilo_diagnostics_clear(client);
    strbuf_free(&why);
    strbuf_free(&f.nodes);
    strbuf_free(&f.message);
    return 0;
}
