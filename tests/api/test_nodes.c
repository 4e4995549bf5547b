/* Programs on several devices and nodes by the public interface: nodes that are processes and meet in a directory, nodes that
 * are threads and meet in callbacks, devices of one node. */
#include "hilo.h"
#include "../test.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

enum { NODES = 2, DEVICES = 2, ALL = NODES * DEVICES, KEYS = 8, NO_UCX = 77, LARGE = 40000, TEXT = 1024 };

/* The sum over all devices of x times the number of the device, plus one. */
static const char program[] =
    "module @sums attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {\n"
    "  func.func @main(%x: tensor<3xf32>) -> tensor<3xf32> {\n"
    "    %id = stablehlo.partition_id : tensor<ui32>\n"
    "    %f = stablehlo.convert %id : (tensor<ui32>) -> tensor<f32>\n"
    "    %b = stablehlo.broadcast_in_dim %f, dims = [] : (tensor<f32>) -> tensor<3xf32>\n"
    "    %y = stablehlo.multiply %x, %b : tensor<3xf32>\n"
    "    %s = \"stablehlo.all_reduce\"(%y) ({\n"
    "    ^bb0(%a: tensor<f32>, %c: tensor<f32>):\n"
    "      %t = stablehlo.add %a, %c : tensor<f32>\n"
    "      stablehlo.return %t : tensor<f32>\n"
    "    }) {replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>, use_global_device_ids,\n"
    "        channel_handle = #stablehlo.channel_handle<handle = 1, type = 0>} : (tensor<3xf32>) -> tensor<3xf32>\n"
    "    return %s : tensor<3xf32>\n  }\n}\n";

/* Process p has the input {p, 10, 1}: the sums are {0 + 1 + 4 + 9, 60, 6}. False when one is another. */
static int run(hilo_client *client, int first, int here) {
    static const int64_t dims[] = {3};
    static const float expected[] = {14, 60, 6};
    hilo_executable *exe = NULL;
    hilo_buffer *in[ALL] = {NULL}, *out[ALL] = {NULL};
    hilo_stats stats = {.struct_size = sizeof stats};
    int good = hilo_compile_source(client, program, sizeof program - 1, NULL, NULL, &exe) == HILO_OK;
    for (int i = 0; i < here && good; i++) {
        float x[] = {(float)(first + i), 10, 1};
        good = hilo_buffer_from_host(client, HILO_F32, dims, 1, x, NULL, &in[i]) == HILO_OK;
    }
    for (int turn = 0; turn < 3 && good; turn++) {
        hilo_timing timing = {0, 0};
        hilo_execute_options o;
        hilo_execute_options_init(&o);
        o.timing = &timing;
        good = hilo_execute(exe, &o, in, (size_t)here, out, (size_t)here) == HILO_OK && timing.total_ms > 0;
        for (int i = 0; i < here; i++) {
            float sums[3] = {0};
            good = good && hilo_buffer_to_host(out[i], sums, sizeof sums) == HILO_OK && !memcmp(sums, expected, sizeof sums);
            hilo_buffer_release(out[i]);
            out[i] = NULL;
        }
    }
    good = good && hilo_execute(exe, NULL, in, (size_t)here - 1, out, (size_t)here) == HILO_INVALID_ARGUMENT;
    good = good && hilo_executable_stats(exe, &stats) == HILO_OK && stats.messages == 3u * (unsigned)here * (ALL - 1);
    for (int i = 0; i < here; i++)
        hilo_buffer_release(in[i]);
    hilo_executable_release(exe);
    if (!good)
        hilo_diagnostics_write(client, 0, hilo_write_stderr, NULL);
    return good;
}

static pthread_mutex_t log_lock = PTHREAD_MUTEX_INITIALIZER; /* the devices of a node fail in threads of their own */

static void on_log(void *user, hilo_log_level level, const char *message) {
    if (level != HILO_LOG_ERROR)
        return;
    pthread_mutex_lock(&log_lock);
    snprintf(user, TEXT, "%s", message);
    pthread_mutex_unlock(&log_lock);
}

static void options(hilo_client_options *o, char text[TEXT]) {
    hilo_client_options_init(o);
    o->threads = 2;
    o->devices = DEVICES;
    o->nodes = NODES;
    o->log = on_log;
    o->log_user = text;
    o->cache_dir = "";
    text[0] = '\0';
}

static void test_devices(void **state) {
    (void)state;
    hilo_client_options o;
    hilo_client *client = NULL;
    char text[TEXT];
    options(&o, text);
    o.nodes = 0;
    o.devices = ALL;
    assert_int_equal(hilo_client_create(&o, &client), HILO_OK);
    assert_true(run(client, 0, ALL));
    hilo_client_release(client);
}

/* No output is set, on any device, when the run of one fails. */
static void test_failed(void **state) {
    (void)state;
    static const int64_t dims[] = {3};
    static const float x[] = {1, 2, 3};
    hilo_client_options o;
    hilo_client *client = NULL;
    hilo_executable *exe = NULL;
    hilo_buffer *in[ALL], *out[ALL];
    char text[TEXT];
    options(&o, text);
    o.nodes = 0;
    o.devices = ALL;
    assert_int_equal(hilo_client_create(&o, &client), HILO_OK);
    assert_int_equal(hilo_compile_source(client, program, sizeof program - 1, NULL, NULL, &exe), HILO_OK);
    for (int i = 0; i < ALL; i++) {
        assert_int_equal(hilo_buffer_from_host(client, HILO_F32, dims, i + 1 < ALL, x, NULL, &in[i]), HILO_OK);
        out[i] = in[0];
    }
    assert_int_equal(hilo_execute(exe, NULL, in, ALL, out, ALL), HILO_INVALID_ARGUMENT);
    for (int i = 0; i < ALL; i++)
        assert_ptr_equal(out[i], in[0]);
    for (int i = 0; i < ALL; i++)
        hilo_buffer_release(in[i]);
    hilo_executable_release(exe);
    hilo_client_release(client);
}

static void test_refused(void **state) {
    (void)state;
    static const int bad[][3] = {{0, 2, 2}, {-1, 2, 1}, {0, -1, 1}, {0, 2, -1}, {1, 0, 1}}; /* node, nodes, devices */
    hilo_client_options o;
    hilo_client *client = NULL;
    char text[TEXT];
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        options(&o, text);
        o.node = bad[i][0];
        o.nodes = bad[i][1];
        o.devices = bad[i][2];
        assert_int_equal(hilo_client_create(&o, &client), HILO_INVALID_ARGUMENT);
        assert_null(client);
        assert_non_null(strstr(text, i ? "that cannot be" : "need a key-value store, or a directory"));
    }
}

/* ---- processes that meet in a directory ------------------------------------------------------ */

static int node_main(int node, const char *dir) {
    hilo_client_options o;
    hilo_client *client = NULL;
    char text[TEXT];
    options(&o, text);
    o.node = node;
    o.node_dir = dir;
    hilo_status status = hilo_client_create(&o, &client);
    if (status == HILO_UNAVAILABLE && strstr(text, "libucx0"))
        return NO_UCX;
    if (status != HILO_OK)
        fprintf(stderr, "node %d: %s\n", node, text);
    int good = status == HILO_OK && run(client, node * DEVICES, DEVICES);
    hilo_client_release(client);
    return good ? 0 : 1;
}

static void test_processes(void **state) {
    (void)state;
    char dir[] = "/tmp/hilo-test-XXXXXX", command[64];
    pid_t pids[NODES];
    int codes[NODES];
    assert_non_null(mkdtemp(dir));
    for (int i = 0; i < NODES; i++) {
        pids[i] = fork();
        if (pids[i] == 0)
            _exit(node_main(i, dir));
    }
    for (int i = 0; i < NODES; i++) {
        int status = 0;
        waitpid(pids[i], &status, 0);
        codes[i] = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    }
    snprintf(command, sizeof command, "rm -rf %s", dir);
    assert_int_equal(system(command), 0);
    if (codes[0] == NO_UCX)
        SKIP_BECAUSE("UCX (libucx0) is not installed");
    for (int i = 0; i < NODES; i++)
        assert_int_equal(codes[i], 0);
}

/* ---- threads that meet in callbacks ---------------------------------------------------------- */

struct store {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    char *keys[KEYS], *values[KEYS];
    size_t sizes[KEYS], n;
    int refuses;
};

static hilo_status store_put(void *user, const char *key, const void *value, size_t n, hilo_write_fn write, void *write_user) {
    struct store *s = user;
    if (s->refuses) {
        write(write_user, "not today", 9);
        return HILO_PERMISSION_DENIED;
    }
    pthread_mutex_lock(&s->lock);
    if (s->n < KEYS && (s->values[s->n] = malloc(n))) {
        memcpy(s->values[s->n], value, n);
        s->sizes[s->n] = n;
        s->keys[s->n++] = strdup(key);
    }
    pthread_cond_broadcast(&s->changed);
    pthread_mutex_unlock(&s->lock);
    return HILO_OK;
}

static hilo_status store_get(void *user, const char *key, int64_t timeout_ms, hilo_write_fn write, void *write_user) {
    struct store *s = user;
    (void)timeout_ms;
    pthread_mutex_lock(&s->lock);
    for (size_t i = 0;;) {
        if (i == s->n) {
            pthread_cond_wait(&s->changed, &s->lock);
            i = 0;
        } else if (strcmp(s->keys[i], key) == 0) {
            write(write_user, s->values[i], s->sizes[i]);
            break;
        } else {
            i++;
        }
    }
    pthread_mutex_unlock(&s->lock);
    return HILO_OK;
}

static struct store store = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

struct node {
    int id, good;
    hilo_status status;
    char text[TEXT];
    pthread_t thread;
};

static void *node_thread(void *user) {
    struct node *n = user;
    hilo_client_options o;
    hilo_client *client = NULL;
    options(&o, n->text);
    o.node = n->id;
    o.node_store = (hilo_node_store){store_put, store_get, &store};
    n->status = hilo_client_create(&o, &client);
    n->good = n->status == HILO_OK && run(client, n->id * DEVICES, DEVICES);
    hilo_client_release(client);
    return NULL;
}

static void run_nodes(struct node nodes[NODES], void *(*main)(void *)) {
    for (int i = 0; i < NODES; i++)
        assert_int_equal(pthread_create(&nodes[i].thread, NULL, main, &nodes[i]), 0);
    for (int i = 0; i < NODES; i++)
        pthread_join(nodes[i].thread, NULL);
    for (size_t i = 0; i < store.n; i++) {
        free(store.keys[i]);
        free(store.values[i]);
    }
    store.n = 0;
}

static void test_callbacks(void **state) {
    (void)state;
    struct node nodes[NODES] = {{.id = 0}, {.id = 1}};
    run_nodes(nodes, node_thread);
    if (nodes[0].status == HILO_UNAVAILABLE)
        SKIP_BECAUSE("UCX (libucx0) is not installed");
    for (int i = 0; i < NODES; i++)
        assert_true(nodes[i].good);
    store.refuses = 1; /* the callback's reason is told */
    node_thread(&nodes[1]);
    store.refuses = 0;
    assert_int_equal(nodes[1].status, HILO_PERMISSION_DENIED);
    assert_non_null(strstr(nodes[1].text, "not today"));
}

/* ---- what the others are told of a failure --------------------------------------------------- */

/* A custom call while long blocks are on their way, and an exchange of what it computes. */
#define GATHER(x, handle)                                                                              \
    "\"stablehlo.all_gather\"(" x ") {all_gather_dim = 0 : i64, use_global_device_ids,\n"               \
    "        replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>,\n"                                \
    "        channel_handle = #stablehlo.channel_handle<handle = " handle ", type = 0>}"                 \
    " : (tensor<40000xf32>) -> tensor<160000xf32>\n"
static const char with_call[] =
    "module @calls attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {\n"
    "  func.func @main(%x: tensor<40000xf32>) -> (tensor<160000xf32>, tensor<160000xf32>) {\n"
    "    %g = " GATHER("%x", "1")
    "    %c = stablehlo.custom_call @test.call(%x) {api_version = 4 : i32} : (tensor<40000xf32>) -> tensor<40000xf32>\n"
    "    %h = " GATHER("%c", "2")
    "    return %g, %h : tensor<160000xf32>, tensor<160000xf32>\n  }\n}\n";

static hilo_status give_back(void *user, hilo_client *client, hilo_buffer *const *inputs, size_t ninputs, hilo_buffer **outputs,
                             size_t noutputs) {
    (void)client;
    if (user || ninputs != 1 || noutputs != 1)
        return HILO_DATA_LOSS;
    outputs[0] = hilo_buffer_retain(inputs[0]);
    return HILO_OK;
}

static float large[LARGE];

/* Node 1, whose calls fail, and node 0, whose do not. */
static void *calling_thread(void *user) {
    static const int64_t dims[] = {LARGE};
    struct node *n = user;
    hilo_client_options o;
    hilo_client *client = NULL;
    hilo_executable *exe = NULL;
    hilo_buffer *in[DEVICES] = {NULL}, *out[2 * DEVICES] = {NULL};
    options(&o, n->text);
    o.node = n->id;
    o.node_store = (hilo_node_store){store_put, store_get, &store};
    n->status = hilo_client_create(&o, &client);
    n->good = n->status == HILO_OK &&
              hilo_custom_call_register(client, "test.call", give_back, n->id ? n : NULL) == HILO_OK &&
              hilo_compile_source(client, with_call, sizeof with_call - 1, NULL, NULL, &exe) == HILO_OK;
    for (int i = 0; i < DEVICES && n->good; i++)
        n->good = hilo_buffer_from_host(client, HILO_F32, dims, 1, large, NULL, &in[i]) == HILO_OK;
    if (n->good)
        n->status = hilo_execute(exe, NULL, in, DEVICES, out, (size_t)2 * DEVICES);
    for (int i = 0; i < DEVICES; i++)
        hilo_buffer_release(in[i]);
    hilo_executable_release(exe);
    hilo_client_release(client);
    return NULL;
}

/* The other node ends with the reason: neither without one, nor with that of an exchange that was given up. */
static void test_reasons(void **state) {
    (void)state;
    for (int turn = 0; turn < (test_is_long() ? 50 : 3); turn++) {
        struct node nodes[NODES] = {{.id = 0}, {.id = 1}};
        run_nodes(nodes, calling_thread);
        if (nodes[0].status == HILO_UNAVAILABLE && strstr(nodes[0].text, "libucx0"))
            SKIP_BECAUSE("UCX (libucx0) is not installed");
        assert_true(nodes[0].good && nodes[1].good);
        assert_int_equal(nodes[1].status, HILO_DATA_LOSS);
        assert_int_equal(nodes[0].status, HILO_ABORTED);
        if (!strstr(nodes[0].text, "of node 1 (host") || !strstr(nodes[0].text, "calls 'test.call', which failed: DATA_LOSS"))
            fail_msg("node 0 says: %s", nodes[0].text);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_processes), cmocka_unit_test(test_devices),
                                       cmocka_unit_test(test_failed), cmocka_unit_test(test_refused),
                                       cmocka_unit_test(test_callbacks), cmocka_unit_test(test_reasons)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
