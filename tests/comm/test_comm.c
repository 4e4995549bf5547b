/* Groups on one node: what processes exchange, and how their waits end; and a node whose transport receives nothing more.
 * Nodes that run programs are tested by tests/cli/processes.sh and test_faults.c. */
#include "comm/net.h"

#include <inttypes.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

enum { MOST = 8, ROUNDS = 200 };

struct process {
    struct comm_group *group;
    uint32_t index, n;
    size_t bytes;
    hilo_status status;
    const char *why;     /* of its failure; or NULL */
    char text[512];
    pthread_t thread;
};

static hilo_status exchange(struct process *p, const struct comm_part *parts, uint32_t n) {
    hilo_allocator al = mem_system_allocator();
    struct diag_list d;
    struct strbuf text;
    struct comm_call call = {.op = "all_to_all"};
    diag_init(&d, al);
    strbuf_init(&text, al);
    hilo_status status = comm_exchange(p->group, p->index, parts, n, &call, &d);
    diag_render(&d, &text, false);
    snprintf(p->text, sizeof p->text, "%s", text.p ? text.p : "");
    strbuf_free(&text);
    diag_clear(&d);
    uint32_t sent = 0;
    for (uint32_t i = 0; i < n && status == HILO_OK; i++)
        sent += parts[i].send != NULL;
    assert_int_equal(call.messages, sent);
    return status;
}

static void end(struct process *p) {
    if (p->status != HILO_OK)
        comm_group_fail(p->group, p->index, p->status, p->why ? p->why : "");
    comm_group_end(p->group, p->index);
}

/* Everyone sends everyone a number that says who, to whom and when. */
static void *talk(void *user) {
    struct process *p = user;
    uint32_t out[MOST], in[MOST];
    for (uint32_t round = 0; round < ROUNDS && p->status == HILO_OK; round++) {
        struct comm_part parts[MOST];
        uint32_t n = 0;
        for (uint32_t i = 0; i < p->n; i++) {
            out[i] = round << 16 | p->index << 8 | i;
            if (i != p->index)
                parts[n++] = (struct comm_part){i, &out[i], &in[i], sizeof *out, sizeof *in};
        }
        p->status = exchange(p, parts, n);
        for (uint32_t i = 0; i < p->n && p->status == HILO_OK; i++)
            if (i != p->index)
                assert_int_equal(in[i], round << 16 | i << 8 | p->index);
    }
    end(p);
    return NULL;
}

/* Process 0 sends a block to process 1, which expects p->bytes; the others end at once. */
static void *one_way(void *user) {
    struct process *p = user;
    char block[16] = {0};
    struct comm_part part = p->index ? (struct comm_part){.peer = 0, .receive = block, .receive_bytes = p->bytes}
                                     : (struct comm_part){.peer = 1, .send = block, .send_bytes = p->bytes};
    if (p->index < 2)
        p->status = exchange(p, &part, 1);
    end(p);
    return NULL;
}

/* Process 1 waits for process 0, which ends: with success, or with a failure. */
static void *absent(void *user) {
    struct process *p = user;
    char block[4];
    struct comm_part part = {.peer = 0, .receive = block, .receive_bytes = sizeof block};
    if (p->index)
        p->status = exchange(p, &part, 1);
    end(p);
    return NULL;
}

static void start(struct process *p, uint32_t n, void *(*run)(void *user)) {
    hilo_allocator al = mem_system_allocator();
    struct comm_group *g = comm_group_new(&al, &(struct comm_group_options){.n = n, .name = "test"});
    assert_non_null(g);
    for (uint32_t i = 0; i < n; i++) {
        p[i].group = g;
        p[i].index = i;
        p[i].n = n;
        assert_int_equal(pthread_create(&p[i].thread, NULL, run, &p[i]), 0);
    }
    for (uint32_t i = 0; i < n; i++)
        pthread_join(p[i].thread, NULL);
    comm_group_free(g);
}

static void test_exchange(void **state) {
    (void)state;
    for (uint32_t n = 2; n <= MOST; n += 3) {
        struct process p[MOST] = {0};
        start(p, n, talk);
        for (uint32_t i = 0; i < n; i++)
            assert_int_equal(p[i].status, HILO_OK);
    }
}

/* As talk, but a process starts three exchanges with all others before it finishes them, each in an order of its own. */
static void *talk_ahead(void *user) {
    enum { OPEN = COMM_EXCHANGES - 1 };
    struct process *p = user;
    struct comm_call call = {.op = "all_to_all"};
    struct diag_list d;
    diag_init(&d, mem_system_allocator());
    for (uint32_t round = 0; round < ROUNDS && p->status == HILO_OK; round++) {
        uint32_t out[OPEN][MOST], in[OPEN][MOST];
        for (uint32_t k = 0; k < OPEN && p->status == HILO_OK; k++) {
            struct comm_part *parts = comm_group_parts(p->group, p->index, k + 1);
            uint32_t n = 0;
            for (uint32_t i = 0; i < p->n; i++) {
                out[k][i] = round << 16 | k << 12 | p->index << 8 | i;
                if (i != p->index)
                    parts[n++] = (struct comm_part){i, &out[k][i], &in[k][i], sizeof **out, sizeof **in};
            }
            p->status = comm_start(p->group, p->index, k + 1, parts, n, &call, &d);
        }
        for (uint32_t k = 0; k < OPEN && p->status == HILO_OK; k++) {
            uint32_t which = (k + round + p->index) % OPEN;
            p->status = comm_finish(p->group, p->index, which + 1, &call, &d);
            for (uint32_t i = 0; i < p->n && p->status == HILO_OK; i++)
                if (i != p->index)
                    assert_int_equal(in[which][i], round << 16 | which << 12 | i << 8 | p->index);
        }
    }
    if (p->status == HILO_OK)
        assert_int_equal(call.messages, ROUNDS * OPEN * (p->n - 1));
    diag_clear(&d);
    end(p);
    return NULL;
}

static void test_halves(void **state) {
    (void)state;
    for (uint32_t n = 2; n <= MOST; n += 3) {
        struct process p[MOST] = {0};
        start(p, n, talk_ahead);
        for (uint32_t i = 0; i < n; i++)
            assert_int_equal(p[i].status, HILO_OK);
    }
}

/* Process 0 starts and does not finish; process 1 starts twice, and finishes what it has not started. */
static void *half(void *user) {
    struct process *p = user;
    char out[4] = {0}, in[4] = {0};
    struct comm_call call = {.op = "all_to_all"};
    struct comm_part *parts = comm_group_parts(p->group, p->index, 1);
    struct diag_list d;
    diag_init(&d, mem_system_allocator());
    parts[0] = (struct comm_part){1 - p->index, out, in, sizeof out, sizeof in};
    assert_int_equal(comm_start(p->group, p->index, 1, parts, 1, &call, &d), HILO_OK);
    if (p->index) {
        assert_int_equal(comm_start(p->group, p->index, 1, parts, 1, &call, &d), HILO_INVALID_ARGUMENT);
        assert_int_equal(comm_finish(p->group, p->index, 2, &call, &d), HILO_INVALID_ARGUMENT);
        assert_int_equal(comm_start(p->group, p->index, COMM_EXCHANGES, parts, 1, &call, &d), HILO_INVALID_ARGUMENT);
    }
    comm_abandon(p->group, p->index);
    p->status = comm_finish(p->group, p->index, 1, &call, &d);
    diag_clear(&d);
    end(p);
    return NULL;
}

static void test_abandoned(void **state) {
    (void)state;
    struct process p[2] = {0};
    start(p, 2, half);
    assert_int_equal(p[0].status, HILO_INVALID_ARGUMENT);
    assert_int_equal(p[1].status, HILO_INVALID_ARGUMENT);
}

static void test_sizes(void **state) {
    (void)state;
    struct process same[2] = {{.bytes = 8}, {.bytes = 8}}, other[2] = {{.bytes = 8}, {.bytes = 4}};
    start(same, 2, one_way);
    assert_int_equal(same[0].status | same[1].status, HILO_OK);
    start(other, 2, one_way);
    assert_int_equal(other[1].status, HILO_INVALID_ARGUMENT);
    assert_non_null(strstr(other[1].text, "all_to_all of 'test' in process 1: another process has operands of another size"));
    assert_int_equal(other[0].status, HILO_ABORTED);
}

static void test_deadlock(void **state) {
    (void)state;
    struct process p[2] = {0}, failed[2] = {{.status = HILO_INTERNAL}, {.status = HILO_OK}};
    struct process says[2] = {{.status = HILO_INTERNAL, .why = "it is raining"}, {.status = HILO_OK}};
    start(p, 2, absent);
    assert_int_equal(p[1].status, HILO_FAILED_PRECONDITION);
    assert_non_null(strstr(p[1].text, "deadlock"));
    start(failed, 2, absent);
    assert_int_equal(failed[1].status, HILO_ABORTED);
    assert_non_null(strstr(failed[1].text, "another process has failed"));
    start(says, 2, absent);
    assert_int_equal(says[1].status, HILO_ABORTED);
    assert_non_null(strstr(says[1].text, "process 0 failed: it is raining"));
}

/* A directory as the store; nodes that cannot be. */
static void test_store(void **state) {
    (void)state;
    hilo_allocator al = mem_system_allocator();
    struct strbuf value, why;
    char dir[] = "/tmp/hilo-store-XXXXXX", path[64];
    assert_non_null(mkdtemp(dir));
    hilo_node_store s = comm_store_directory(dir);
    strbuf_init(&value, al);
    strbuf_init(&why, al);
    assert_int_equal(comm_store_get(&s, "a/b", 1, &value, &why), HILO_DEADLINE_EXCEEDED);
    assert_int_equal(comm_store_put(&s, "a/b", STR("x\0y"), &why), HILO_OK);
    assert_int_equal(comm_store_get(&s, "a/b", 1, &value, &why), HILO_OK);
    assert_int_equal(value.n, 3);
    assert_memory_equal(value.p, "x\0y", 3);
    struct comm *c = NULL;
    struct comm_options o = {.node = 2, .nnodes = 2, .ndevices = 1, .store = s, .about = ""};
    assert_int_equal(comm_open(&al, &o, &why, &c), HILO_INVALID_ARGUMENT);
    assert_null(c);
    snprintf(path, sizeof path, "%s/a.b", dir);
    unlink(path);
    rmdir(dir);
    strbuf_free(&value);
    strbuf_free(&why);
}

/* ---- lost nodes ------------------------------------------------------------------------------ */

/* Node 0 is connected with two processes that do nothing. Its transport makes a greeting and a block of node 2, none of
   node 1. */
enum { NODES = 3 };
static struct {
    struct comm *comm;
    pid_t pids[NODES];
    char told[1024];        /* what node 0 has put into the store */
    size_t told_bytes;
    bool greets[NODES];
    bool has_block, blocks; /* blocks: once it has come, there is something to do that does not get done */
    struct comm_frame block;
    char bytes[4];
    int fds[2];             /* nothing comes of it */
} net;

static hilo_status net_put(void *user, const char *key, const void *value, size_t n, hilo_write_fn write_why, void *why) {
    (void)user, (void)write_why, (void)why;
    if (strcmp(key, "hilo/node/0") == 0) {
        assert_true(n <= sizeof net.told);
        memcpy(net.told, value, n);
        net.told_bytes = n;
    }
    return HILO_OK;
}

/* When a process started: the 22nd field; no name here has spaces. */
static int64_t started(pid_t pid) {
    char path[64];
    long long ticks = 0;
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    FILE *f = fopen(path, "re");
    assert_non_null(f);
    for (int i = 1; i < 22; i++)
        assert_int_equal(fscanf(f, "%*s"), 0);
    assert_int_equal(fscanf(f, "%lld", &ticks), 1);
    fclose(f);
    return ticks;
}

/* Other nodes tell what node 0 does, but for the process. */
static hilo_status net_get(void *user, const char *key, int64_t timeout_ms, hilo_write_fn write, void *writer) {
    (void)user, (void)timeout_ms;
    char text[sizeof net.told];
    uint32_t about;
    struct comm_node node;
    memcpy(text, net.told, net.told_bytes);
    memcpy(&about, text, sizeof about);
    char *at = text + sizeof about + about + sizeof(uint32_t);
    memcpy(&node, at, sizeof node);
    node.pid = net.pids[key[strlen(key) - 1] - '0'];
    node.started = started((pid_t)node.pid);
    memcpy(at, &node, sizeof node);
    write(writer, text, net.told_bytes);
    return HILO_OK;
}

static hilo_status net_open(struct comm *c, const hilo_allocator *al, uint32_t nnodes, struct strbuf *why, void **out) {
    (void)al, (void)nnodes, (void)why;
    net.comm = c;
    *out = &net;
    return HILO_OK;
}

static struct str net_address(void *t) {
    (void)t;
    return STR("here");
}

static hilo_status net_connect(void *t, uint32_t node, struct str address, struct strbuf *why) {
    (void)t, (void)node, (void)address, (void)why;
    return HILO_OK;
}

static void net_send(void *t, uint32_t node, const struct comm_frame *head, const void *data, size_t bytes,
                     struct comm_request *r) {
    (void)t;
    net.greets[node] = net.greets[node] || head->kind == COMM_HELLO;
    if (node == 2 && head->kind == COMM_BLOCK) {
        assert_int_equal(bytes, sizeof net.bytes);
        memcpy(net.bytes, data, sizeof net.bytes);
        net.block = *head;
        net.block.from = head->to;
        net.block.to = head->from;
        net.block.node = node;
        net.has_block = true;
    }
    if (r)
        comm_request_done(r, HILO_OK);
}

static bool net_progress(void *t) {
    bool any = net.has_block;
    (void)t;
    for (uint32_t i = 0; i < NODES; i++)
        if (net.greets[i]) {
            net.greets[i] = false;
            any = true;
            comm_arrived(net.comm, &(struct comm_frame){.node = i, .kind = COMM_HELLO}, NULL, NULL, 0);
        }
    if (net.has_block) {
        net.has_block = false;
        comm_arrived(net.comm, &net.block, net.bytes, NULL, sizeof net.bytes);
    }
    return any;
}

static bool net_arm(void *t, int *fd) {
    (void)t;
    *fd = net.fds[0];
    return !net.blocks;
}

static void net_cancel(void *t, struct comm_request *r) {
    (void)t;
    comm_request_done(r, HILO_CANCELLED);
}

static void net_nothing(void *t) {
    (void)t;
}

static const struct comm_transport net_transport = {
    .name = "none", .open = net_open, .close = net_nothing, .address = net_address, .connect = net_connect, .send = net_send,
    .cancel = net_cancel, .progress = net_progress, .arm = net_arm, .signal = net_nothing,
};

/* Node 2 is killed once it has sent its block, and node 1, which then has none to send, with it if `both`. What comes of
   node 1 is waited for; the error names node 2 as well. */
static void lose(bool blocks, bool both, const char *expected) {
    hilo_allocator al = mem_system_allocator();
    struct strbuf why;
    char out[4] = "abc", in[NODES][4] = {""}, victim[32];
    const uint32_t devices[NODES] = {0, 1, 2};
    strbuf_init(&why, al);
    memset(&net, 0, sizeof net);
    assert_int_equal(pipe(net.fds), 0);
    net.pids[0] = getpid();
    for (int i = 1; i < NODES; i++) {
        net.pids[i] = fork();
        while (!net.pids[i])
            pause();
    }
    struct comm_options o = {.nnodes = NODES, .ndevices = 1, .store = {net_put, net_get, NULL}, .about = "",
                             .timeout_ms = 60000, .transport = &net_transport};
    struct comm *c = NULL;
    assert_int_equal(comm_open(&al, &o, &why, &c), HILO_OK);
    struct comm_group_options go = {.comm = c, .n = NODES, .devices = devices, .name = "test"};
    struct process p = {.group = comm_group_new(&al, &go), .n = NODES};
    assert_non_null(p.group);
    net.blocks = blocks;
    for (int i = both ? 1 : 2; i < NODES; i++) {
        siginfo_t info;
        kill(net.pids[i], SIGKILL);
        assert_int_equal(waitid(P_PID, (id_t)net.pids[i], &info, WEXITED | WNOWAIT), 0);
    }
    const struct comm_part parts[] = {{1, out, in[1], sizeof out, sizeof out}, {2, out, in[2], sizeof out, sizeof out}};
    p.status = exchange(&p, parts, 2);
    assert_memory_equal(in[2], out, sizeof out);
    assert_int_equal(p.status, HILO_UNAVAILABLE);
    snprintf(victim, sizeof victim, "pid %d), its process has ended", (int)net.pids[2]);
    if (!strstr(p.text, "process 0: node 1 (host ") || !strstr(p.text, expected) ||
        !strstr(p.text, "; lost as well: node 2 (host ") || !strstr(p.text, victim))
        fail_msg("%s", p.text);
    comm_group_free(p.group);
    comm_close(c);
    for (int i = 1; i < NODES; i++) {
        kill(net.pids[i], SIGKILL);
        waitpid(net.pids[i], NULL, 0);
    }
    close(net.fds[0]);
    close(net.fds[1]);
    strbuf_free(&why);
}

static void test_lost(void **state) {
    (void)state;
    lose(false, true, "cannot be reached: its process has ended");
    lose(true, true, "cannot be reached: its process has ended");
    lose(true, false, "cannot be reached: nothing more is received from this host");
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_exchange), cmocka_unit_test(test_halves),
                                       cmocka_unit_test(test_abandoned), cmocka_unit_test(test_sizes),
                                       cmocka_unit_test(test_deadlock), cmocka_unit_test(test_store),
                                       cmocka_unit_test(test_lost)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
