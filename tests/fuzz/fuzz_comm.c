/* libFuzzer target: what other nodes put into the key-value store, and the frames that they send. The first byte says how many
 * changes follow to the description of the nodes, of two bytes each; what is left are frames for a node in two exchanges of a
 * group of three. All is taken or refused, nothing leaks, and blocks that are announced are fetched or dropped once. */
#include "comm/net.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t nbytes);

enum { NODES = 3, SELF = 1, BLOCK = 8, ROUNDS = 2, WAIT_MS = 2 };

static const uint32_t devices[NODES] = {0, 1, 2};

/* What is left of the input; the comm under test; blocks that are neither fetched nor dropped. */
struct fuzz {
    const uint8_t *p;
    size_t n;
    struct comm *comm;
    uint32_t greeted;
    int announced;
    struct strbuf nodes;
};

static uint8_t next(struct fuzz *f) {
    if (!f->n)
        return 0;
    f->n--;
    return *f->p++;
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
    strbuf_printf(why, "%.*s", (int)address.n, address.p);
    return HILO_OK;
}

static void fuzz_send(void *t, uint32_t node, const struct comm_frame *head, const void *data, size_t bytes,
                      struct comm_request *r) {
    struct fuzz *f = t;
    uint64_t sum = head->clique + node;
    for (size_t i = 0; i < bytes; i++)
        sum += ((const uint8_t *)data)[i];
    if (sum == 0)
        f->greeted = 0;
    if (r)
        comm_request_done(r, HILO_OK);
}

static void fuzz_drop(void *t, void *announced) {
    ((struct fuzz *)t)->announced--;
    free(announced);
}

static void fuzz_fetch(void *t, void *announced, struct comm_request *r) {
    memcpy(r->data, announced, r->bytes);
    fuzz_drop(t, announced);
    comm_request_done(r, HILO_OK);
}

static void fuzz_cancel(void *t, struct comm_request *r) {
    (void)t;
    comm_request_done(r, HILO_CANCELLED);
}

static void greet(struct fuzz *f) {
    struct comm_frame head = {.kind = COMM_HELLO, .node = f->greeted++};
    comm_arrived(f->comm, &head, NULL, NULL, 0);
}

/* One frame: numbers that are mostly near those that are expected. */
static bool fuzz_progress(void *t) {
    struct fuzz *f = t;
    if (f->greeted < NODES) {
        greet(f);
        return true;
    }
    if (!f->n)
        return false;
    uint8_t a = next(f), b = next(f), c = next(f), d = next(f);
    struct comm_frame head = {.clique = a & 1 ? a : str_hash(devices, sizeof devices, NODES), .run = a >> 1 & 3,
                              .sequence = a >> 3 & 3, .from = b & 7, .to = a & 32 ? c : SELF, .node = b >> 3 & 7,
                              .kind = c & 7, .status = d, .program = a & 64 ? d : 0};
    size_t bytes = c >> 3 & 1 ? c : BLOCK;
    uint8_t *data = malloc(bytes + 1);
    memset(head.name, d, sizeof head.name); /* not terminated */
    for (size_t i = 0; i < bytes && data; i++)
        data[i] = next(f);
    if (!data)
        return true;
    if (c >> 4 & 1) {
        f->announced++;
        comm_arrived(f->comm, &head, NULL, data, bytes);
        return true;
    }
    comm_arrived(f->comm, &head, data, NULL, bytes);
    free(data);
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

/* ---- a store ----------------------------------------------------------------------------------- */

/* What this node puts is what all have put: but for numbers that must differ. */
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
    for (uint8_t changes = next(f) & 15; changes && f->nodes.n; changes--) {
        size_t at = next(f) | (size_t)next(f) << 8;
        f->nodes.p[at % f->nodes.n] = (char)next(f);
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

/* ---- a node ------------------------------------------------------------------------------------ */

static void exchange(struct comm *c, struct strbuf *text) {
    hilo_allocator al = mem_system_allocator();
    struct comm_group_options o = {.comm = c, .n = NODES, .devices = devices, .name = "fuzz"};
    struct comm_group *g = comm_group_new(&al, &o);
    struct diag_list d;
    hilo_status status = g ? HILO_OK : HILO_RESOURCE_EXHAUSTED;
    diag_init(&d, al);
    for (int round = 0; round < ROUNDS && status == HILO_OK; round++) {
        uint64_t out[NODES] = {0}, in[NODES];
        struct comm_part parts[NODES];
        struct comm_call call = {.op = "all_gather"};
        uint32_t n = 0;
        for (uint32_t i = 0; i < NODES; i++)
            if (i != SELF)
                parts[n++] = (struct comm_part){i, &out[i], &in[i], BLOCK, BLOCK};
        status = comm_exchange(g, SELF, parts, n, &call, &d);
    }
    diag_render(&d, text, false);
    diag_clear(&d);
    if (g && status != HILO_OK)
        comm_group_fail(g, SELF, status, "its exchange has failed");
    if (g)
        comm_group_end(g, SELF);
    comm_group_free(g);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t nbytes) {
    hilo_allocator al = mem_system_allocator();
    struct fuzz f = {.p = bytes, .n = nbytes};
    struct strbuf why;
    struct comm *c = NULL;
    struct comm_options o = {.node = SELF, .nnodes = NODES, .ndevices = 1, .store = {fuzz_put, fuzz_get, &f}, .about = "same",
                             .timeout_ms = WAIT_MS, .transport = &transport};
    current = &f;
    strbuf_init(&why, al);
    strbuf_init(&f.nodes, al);
    hilo_status status = comm_open(&al, &o, &why, &c);
    if (status == HILO_OK && comm_ndevices(c) == NODES)
        for (int run = 0; run < 2; run++)
            exchange(c, &why);
    comm_close(c);
    if (f.announced || (status != HILO_OK && !why.n))
        abort();
    strbuf_free(&why);
    strbuf_free(&f.nodes);
    return 0;
}
