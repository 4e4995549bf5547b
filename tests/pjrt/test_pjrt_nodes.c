/* Two nodes, each a client on a thread of this process: what they know of each other, a collective, transfers. */
#include "comm/comm.h"
#include "../test.h"
#include "pjrt_calls.h"
#include "runtime/internal.h"

enum { NODES = 2, KEYS = 8 };

/* ---- the key-value store of a framework ------------------------------------------------------ */

struct store {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct strbuf keys[KEYS], values[KEYS];
    size_t n;
    atomic_int deleted, given;
};

static struct pjrt_error *store_put(struct pjrt_kv_put *a) {
    struct store *s = a->user;
    pthread_mutex_lock(&s->lock);
    bool room = s->n < KEYS;
    if (room) {
        strbuf_init(&s->keys[s->n], mem_system_allocator());
        strbuf_init(&s->values[s->n], mem_system_allocator());
        strbuf_putn(&s->keys[s->n], a->key, a->key_size);
        strbuf_putn(&s->values[s->n], a->value, a->value_size);
        s->n++;
        pthread_cond_broadcast(&s->changed);
    }
    pthread_mutex_unlock(&s->lock);
    return room ? NULL : (*a->error)(HILO_RESOURCE_EXHAUSTED, "full", 4);
}

static atomic_int *deleted;
static void store_delete(char *value) {
    atomic_fetch_add(deleted, 1);
    free(value);
}

static struct pjrt_error *store_get(struct pjrt_kv_get *a) {
    struct store *s = a->user;
    pthread_mutex_lock(&s->lock);
    for (;;) {
        for (size_t i = 0; i < s->n; i++)
            if (s->keys[i].n == a->key_size && !memcmp(s->keys[i].p, a->key, a->key_size)) {
                a->value = pjrt_dup(s->values[i].p, s->values[i].n);
                a->value_size = s->values[i].n;
                a->deleter = store_delete;
                atomic_fetch_add(&s->given, 1);
                pthread_mutex_unlock(&s->lock);
                return NULL;
            }
        pthread_cond_wait(&s->changed, &s->lock);
    }
}

/* ---- nodes ----------------------------------------------------------------------------------- */

static struct store store = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

struct node {
    struct pjrt_client *client;
    int code;
    int64_t id;
    pthread_t thread;
};

static void *node_create(void *user) {
    struct node *n = user;
    struct pjrt_named options[] = {named_int("node_id", n->id), named_int("num_nodes", NODES), named_int("num_devices", 2)};
    void *get, *put;
    struct pjrt_error *(*g)(struct pjrt_kv_get *) = store_get, *(*p)(struct pjrt_kv_put *) = store_put;
    memcpy(&get, &g, sizeof get);
    memcpy(&put, &p, sizeof put);
    ARGS(Client_Create, .create_options = options, .noptions = 3, .kv_get_callback = get, .kv_get_user = &store,
         .kv_put_callback = put, .kv_put_user = &store);
    n->code = code_of(api->Client_Create(&a));
    n->client = a.client;
    return NULL;
}

static struct node nodes[NODES];

static int nodes_meet(void **state) {
    (void)state;
    api = GetPjrtApi();
    deleted = &store.deleted;
    for (int i = 0; i < NODES; i++) {
        nodes[i].id = i;
        assert_int_equal(pthread_create(&nodes[i].thread, NULL, node_create, &nodes[i]), 0);
    }
    for (int i = 0; i < NODES; i++)
        pthread_join(nodes[i].thread, NULL);
    return 0;
}

static int nodes_part(void **state) {
    (void)state;
    for (int i = 0; i < NODES; i++)
        if (!nodes[i].code)
            client_destroy(nodes[i].client);
    for (size_t i = 0; i < store.n; i++) {
        strbuf_free(&store.keys[i]);
        strbuf_free(&store.values[i]);
    }
    return 0;
}

static void need_nodes(void) {
    if (nodes[0].code == HILO_UNAVAILABLE)
        SKIP_BECAUSE("UCX (libucx0) is not installed");
    assert_int_equal(nodes[0].code, HILO_OK);
    assert_int_equal(nodes[1].code, HILO_OK);
}

static void test_who(void **state) {
    (void)state;
    need_nodes();
    for (int i = 0; i < NODES; i++) {
        ARGS(Client_ProcessIndex, .client = nodes[i].client);
        OK(api->Client_ProcessIndex(&a));
        assert_int_equal(a.process_index, i);
        assert_int_equal(nodes[i].client->topology.ndevices, 4);
        assert_int_equal(nodes[i].client->here, 2);
        for (int k = 0; k < 4; k++)
            assert_int_equal(nodes[i].client->list[k]->description->process, k / 2);
    }
    assert_int_equal(store.deleted, store.given); /* values are the plugin's to delete */
}

/* ---- transfers ------------------------------------------------------------------------------- */

static const struct pjrt_remote_extension *remote(void) {
    const struct pjrt_extension *e = api->extension_start;
    while (e && e->type != PJRT_EXT_REMOTE)
        e = e->next;
    assert_non_null(e);
    return (const struct pjrt_remote_extension *)e;
}

static int receive(int node, size_t n, const int64_t *dims, const int64_t *keys, struct pjrt_buffer **out) {
    enum { MOST = 4 };
    struct pjrt_layout unordered = {.struct_size = sizeof unordered, .type = PJRT_TILED}, *layouts[MOST] = {&unordered};
    size_t ranks[MOST];
    const int64_t *shapes[MOST];
    int types[MOST], devices[MOST];
    for (size_t i = 0; i < n; i++) {
        ranks[i] = 2;
        shapes[i] = dims;
        types[i] = HILO_F32;
        devices[i] = (1 - node) * 2; /* the first one of the other */
    }
    ARGS(remote_receive, .client = nodes[node].client, .n = n, .ranks = ranks, .dims = shapes, .dtypes = types,
         .layouts = layouts, .device = nodes[node].client->list[node * 2 + 1], .devices = devices, .keys = keys,
         .buffers = out);
    return code_of(remote()->receive(&a));
}

static int send_to(int node, size_t n, struct pjrt_buffer **buffers, int device, const int64_t *keys, struct pjrt_event **out) {
    int devices[4] = {device, device, device, device};
    ARGS(remote_send, .client = nodes[node].client, .n = n, .buffers = buffers, .devices = devices, .keys = keys,
         .events = out);
    return code_of(remote()->send(&a));
}

/* Three buffers each way in one call, both before and after their receives. */
static void test_transfers(void **state) {
    (void)state;
    need_nodes();
    const int64_t dims[] = {3, 50}, keys[] = {7, 8, 9};
    float data[3][150], out[150];
    for (int i = 0; i < 450; i++)
        data[i / 150][i % 150] = (float)i;
    for (int node = 0; node < NODES; node++)
        for (int first = 0; first < 2; first++) {
            struct pjrt_buffer *from[3], *to[3];
            struct pjrt_event *sent[3];
            int64_t k[3];
            for (int i = 0; i < 3; i++) {
                from[i] = upload(nodes[node].client, HILO_F32, dims, 2, data[i]);
                k[i] = keys[i] + 100 * first;
            }
            if (first)
                assert_int_equal(receive(1 - node, 3, dims, k, to), HILO_OK);
            assert_int_equal(send_to(node, 3, from, (1 - node) * 2 + 1, k, sent), HILO_OK);
            if (!first)
                assert_int_equal(receive(1 - node, 3, dims, k, to), HILO_OK);
            for (int i = 0; i < 3; i++) {
                assert_int_equal(await(sent[i]), HILO_OK);
                assert_int_equal(download(to[i], out, sizeof out), HILO_OK);
                assert_memory_equal(out, data[i], sizeof out);
                buffer_destroy(from[i]);
                buffer_destroy(to[i]);
            }
        }
}

static void test_transfers_that_fail(void **state) {
    (void)state;
    need_nodes();
    const int64_t dims[] = {3, 50}, other[] = {3, 51}, key = 50;
    float data[150] = {0}, out[153];
    struct pjrt_buffer *from = upload(nodes[0].client, HILO_F32, dims, 2, data), *to;
    struct pjrt_event *sent;
    assert_int_equal(send_to(0, 1, &from, 1, &key, &sent), HILO_INVALID_ARGUMENT);   /* a device of its own */
    assert_int_equal(send_to(0, 1, &from, 4, &key, &sent), HILO_INVALID_ARGUMENT);   /* there is none */
    assert_int_equal(send_to(0, 1, &from, 3, &key, &sent), HILO_OK);
    assert_int_equal(receive(1, 1, other, &key, &to), HILO_OK);                      /* of another size */
    assert_int_equal(download(to, out, sizeof out), HILO_FAILED_PRECONDITION);
    await(sent);
    buffer_destroy(to);
    struct pjrt_Buffer_Delete del = {.struct_size = sizeof del, .buffer = from};
    OK(api->Buffer_Delete(&del));
    assert_int_equal(send_to(0, 1, &from, 3, &key, &sent), HILO_INVALID_ARGUMENT);   /* deleted */
    buffer_destroy(from);
    ARGS(remote_send, .client = nodes[0].client);
    a.struct_size = 8;
    FAILS(HILO_INVALID_ARGUMENT, remote()->send(&a));
    struct pjrt_remote_copy_to_device copy = {.struct_size = sizeof copy};
    FAILS(HILO_UNIMPLEMENTED, remote()->copy_to_device(&copy));
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_who), cmocka_unit_test(test_transfers),
                                       cmocka_unit_test(test_transfers_that_fail)};
    return cmocka_run_group_tests(tests, nodes_meet, nodes_part);
}
