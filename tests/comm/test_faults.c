/* Nodes that are killed, stopped, started again, run another program, or lose their connection: all others end with an error
 * that names the node, in time, and nothing hangs. HILO is the command; HILO_TEST_LONG: more turns of each. */
#include "base/mem.h"
#include "../test.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

enum {
    NODES = 3,
    VICTIM = 2,            /* the node to which it happens */
    DEADLINE_MS = 2000,
    DEAD_MS = 2000,        /* from the end of a process, or a connection, to the end of the others */
    STUCK_MS = DEADLINE_MS + 1000,
    HANG_MS = 60000
};

struct nodes {
    char dir[64];
    pid_t pids[NODES];
    int64_t since;
};

static int turns(void) {
    return test_is_long() ? 100 : 2;
}

static int64_t now_ms(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static void sleep_ms(int64_t ms) {
    nanosleep(&(struct timespec){.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000}, NULL);
}

/* ---- programs -------------------------------------------------------------------------------- */

static void write_program(const char *dir, const char *name, const char *op) {
    char path[128];
    snprintf(path, sizeof path, "%s/%s.mlir", dir, name);
    FILE *f = fopen(path, "we");
    assert_non_null(f);
    fprintf(f,
            "module @shared attributes {mhlo.num_partitions = %d : i32, mhlo.num_replicas = 1 : i32} {\n"
            "  func.func @main(%%x: tensor<3xf32>) -> tensor<9xf32> {\n"
            "    %%y = stablehlo.%s %%x, %%x : tensor<3xf32>\n"
            "    %%g = \"stablehlo.all_gather\"(%%y) {all_gather_dim = 0 : i64,\n"
            "        replica_groups = dense<[[0, 1, 2]]> : tensor<1x3xi64>, use_global_device_ids,\n"
            "        channel_handle = #stablehlo.channel_handle<handle = 1, type = 0>} : (tensor<3xf32>) -> tensor<9xf32>\n"
            "    return %%g : tensor<9xf32>\n  }\n}\n",
            NODES, op);
    fclose(f);
}

/* ---- nodes ----------------------------------------------------------------------------------- */

/* A node that runs its program again and again, or once. Its messages are in the file err<node>. */
static const char *deadline = "60"; /* in seconds */

static pid_t start_one(const struct nodes *n, int node, const char *program, const char *runs) {
    char path[128], text[128], number[16];
    snprintf(path, sizeof path, "%s/err%d", n->dir, node);
    snprintf(text, sizeof text, "%s/%s.mlir", n->dir, program);
    snprintf(number, sizeof number, "%d", node);
    pid_t pid = fork();
    if (pid)
        return pid;
    int err = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600), null = open("/dev/null", O_RDWR);
    char meet[128];
    snprintf(meet, sizeof meet, "%s/meet", n->dir);
    setenv("HILO_NODE_DIR", meet, 1);
    setenv("HILO_NODES", "3", 1);
    setenv("HILO_NODE", number, 1);
    setenv("HILO_COLLECTIVE_TIMEOUT", deadline, 1);
    dup2(null, STDIN_FILENO);
    dup2(null, STDOUT_FILENO);
    dup2(err, STDERR_FILENO);
    execl(getenv("HILO"), "hilo", "run", text, "--input", "random:1", "--timing", runs, (char *)NULL);
    _exit(99);
}

static void start(struct nodes *n, const char *victims_program, const char *runs) {
    char path[128];
    snprintf(n->dir, sizeof n->dir, "/tmp/hilo-faults-XXXXXX");
    assert_non_null(mkdtemp(n->dir));
    snprintf(path, sizeof path, "%s/meet", n->dir);
    assert_int_equal(mkdir(path, 0700), 0);
    write_program(n->dir, "adds", "add");
    write_program(n->dir, "subtracts", "subtract");
    for (int i = 0; i < NODES; i++)
        n->pids[i] = start_one(n, i, i == VICTIM ? victims_program : "adds", runs);
}

/* Whether the process is connected with the others: then it has a thread for them. */
static bool has_met(pid_t pid) {
    char path[64], name[32] = "";
    bool met = false;
    snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
    DIR *d = opendir(path);
    for (struct dirent *e; d && !met && (e = readdir(d));) {
        snprintf(path, sizeof path, "/proc/%d/task/%.20s/comm", (int)pid, e->d_name);
        FILE *f = fopen(path, "re");
        met = f && fgets(name, sizeof name, f) && strcmp(name, "hilo-nodes\n") == 0;
        if (f)
            fclose(f);
    }
    if (d)
        closedir(d);
    return met;
}

/* The wait status of a node; -1: it hangs, and is killed. */
static int end_of(struct nodes *n, int node) {
    int status = -1;
    for (int64_t end = now_ms() + HANG_MS; now_ms() < end; sleep_ms(2))
        if (waitpid(n->pids[node], &status, WNOHANG) == n->pids[node])
            return status;
    kill(n->pids[node], SIGKILL);
    waitpid(n->pids[node], &status, 0);
    return -1;
}

static char *said(const struct nodes *n, int node) {
    static char text[4096];
    char path[128];
    snprintf(path, sizeof path, "%s/err%d", n->dir, node);
    FILE *f = fopen(path, "re");
    size_t size = f ? fread(text, 1, sizeof text - 1, f) : 0;
    text[size] = '\0';
    if (f)
        fclose(f);
    return text;
}

/* What is left of the nodes ends, and so does the test. */
static void wrong(struct nodes *n, int node, int status, const char *expected) {
    for (int i = 0; i < NODES; i++)
        if (waitpid(n->pids[i], NULL, WNOHANG) == 0) {
            kill(n->pids[i], SIGKILL);
            waitpid(n->pids[i], NULL, 0);
        }
    unsetenv("UCX_TLS");
    fail_msg("node %d: status %d after %" PRId64 " ms, expected %s, said: %s", node, status, now_ms() - n->since, expected,
             said(n, node));
}

/* Waits until all nodes are connected, and for some time that is another one in each turn. */
static void meet(struct nodes *n, int turn) {
    n->since = now_ms();
    int64_t end = n->since + HANG_MS;
    for (int i = 0; i < NODES; i++)
        while (!has_met(n->pids[i])) {
            if (now_ms() >= end)
                wrong(n, i, 0, "that it meets the others");
            sleep_ms(2);
        }
    sleep_ms(37 * turn % 200);
    n->since = now_ms();
}

/* The node ends with an error that says all of `texts`, and names the victim with its pid. */
static void ends(struct nodes *n, int node, const char *const *texts, int64_t limit_ms) {
    char victim[64];
    int status = end_of(n, node);
    int64_t took = now_ms() - n->since;
    const char *text = said(n, node);
    snprintf(victim, sizeof victim, "pid %d)", (int)n->pids[VICTIM]);
    bool named = strstr(text, victim) != NULL;
    for (size_t i = 0; texts[i]; i++)
        named = named && strstr(text, texts[i]);
    if (status == -1 || !WIFEXITED(status) || !WEXITSTATUS(status) || !named)
        wrong(n, node, status, victim);
    if (test_is_long() && took > limit_ms)
        wrong(n, node, status, "that sooner");
}

static void finish(struct nodes *n) {
    char command[128];
    snprintf(command, sizeof command, "rm -rf %s", n->dir);
    assert_int_equal(system(command), 0);
}

/* Whether several nodes can run at all. */
static bool can_run(void) {
    struct nodes n;
    start(&n, "adds", "1");
    int bad = 0;
    for (int i = 0; i < NODES; i++)
        bad |= end_of(&n, i);
    bool absent = bad && strstr(said(&n, 0), "libucx0");
    if (bad && !absent)
        fail_msg("three nodes: %s", said(&n, 0));
    finish(&n);
    return !absent;
}

static bool runs;

static int look(void **state) {
    (void)state;
    runs = getenv("HILO") && can_run();
    return 0;
}

static const char *const gone[] = {"all_gather of 'shared'", "node 2 (host ", "cannot be reached", NULL};
static const char *const late[] = {"all_gather of 'shared'", "node 2 (host ", "did not answer in 2000 ms", NULL};
static const char *const other[] = {"all_gather of 'shared'", "node 2 (host ", "runs another program, 'shared'", NULL};

static void need_nodes(void) {
    if (!runs)
        SKIP_BECAUSE("it needs $HILO, the command, and UCX (libucx0)");
}

/* ---- faults ---------------------------------------------------------------------------------- */

static void test_killed(void **state) {
    (void)state;
    need_nodes();
    for (int turn = 0; turn < turns(); turn++) {
        struct nodes n;
        start(&n, "adds", "100000000");
        meet(&n, turn);
        kill(n.pids[VICTIM], SIGKILL);
        for (int i = 0; i < VICTIM; i++)
            ends(&n, i, gone, DEAD_MS);
        end_of(&n, VICTIM);
        finish(&n);
    }
}

static void test_stopped(void **state) {
    (void)state;
    need_nodes();
    deadline = "1.999"; /* DEADLINE_MS, rounded up */
    for (int turn = 0; turn < turns(); turn++) {
        struct nodes n;
        start(&n, "adds", "100000000");
        meet(&n, turn);
        kill(n.pids[VICTIM], SIGSTOP);
        for (int i = 0; i < VICTIM; i++)
            ends(&n, i, late, STUCK_MS);
        kill(n.pids[VICTIM], SIGKILL);
        end_of(&n, VICTIM);
        finish(&n);
    }
    deadline = "60";
}

/* The node that is started again is refused: the others do not know it. */
static void test_restarted(void **state) {
    (void)state;
    need_nodes();
    for (int turn = 0; turn < turns(); turn++) {
        struct nodes n;
        start(&n, "adds", "100000000");
        meet(&n, turn);
        pid_t first = n.pids[VICTIM];
        kill(first, SIGKILL);
        end_of(&n, VICTIM);
        n.pids[VICTIM] = start_one(&n, VICTIM, "adds", "1");
        int status = end_of(&n, VICTIM);
        if (status <= 0 || !strstr(said(&n, VICTIM), "each run needs a directory of its own"))
            wrong(&n, VICTIM, status, "a refusal");
        n.pids[VICTIM] = first;
        for (int i = 0; i < VICTIM; i++)
            ends(&n, i, gone, HANG_MS);
        finish(&n);
    }
}

static void test_other_program(void **state) {
    (void)state;
    need_nodes();
    for (int turn = 0; turn < turns(); turn++) {
        struct nodes n;
        start(&n, "subtracts", "1");
        n.since = now_ms();
        for (int i = 0; i < VICTIM; i++)
            ends(&n, i, other, HANG_MS);
        assert_int_not_equal(end_of(&n, VICTIM), 0);
        finish(&n);
    }
}

/* Ends the TCP connections of a process as a network does; false when it has none, or they are out of reach. */
static bool cut(pid_t pid) {
    bool any = false;
#if defined SYS_pidfd_open && defined SYS_pidfd_getfd
    char path[64];
    int process = (int)syscall(SYS_pidfd_open, pid, 0);
    snprintf(path, sizeof path, "/proc/%d/fd", (int)pid);
    DIR *d = process < 0 ? NULL : opendir(path);
    for (struct dirent *e; d && (e = readdir(d));) {
        struct sockaddr_storage peer;
        socklen_t size = sizeof peer;
        int fd = (int)syscall(SYS_pidfd_getfd, process, atoi(e->d_name), 0);
        if (fd >= 0 && getpeername(fd, (struct sockaddr *)&peer, &size) == 0 &&
            (peer.ss_family == AF_INET || peer.ss_family == AF_INET6))
            any |= shutdown(fd, SHUT_RDWR) == 0;
        if (fd >= 0)
            close(fd);
    }
    if (d)
        closedir(d);
    if (process >= 0)
        close(process);
#else
    (void)pid;
#endif
    return any;
}

static void test_cut(void **state) {
    (void)state;
    need_nodes();
    setenv("UCX_TLS", "tcp", 1);
    for (int turn = 0; turn < turns(); turn++) {
        struct nodes n;
        start(&n, "adds", "100000000");
        meet(&n, turn);
        bool done = cut(n.pids[VICTIM]);
        for (int i = 0; i < VICTIM && done; i++)
            ends(&n, i, gone, DEAD_MS);
        for (int i = 0; i < NODES; i++) {
            if (!done)
                kill(n.pids[i], SIGKILL);
            if (!done || i == VICTIM)
                assert_int_not_equal(end_of(&n, i), -1);
        }
        finish(&n);
        if (!done) {
            unsetenv("UCX_TLS");
            SKIP_BECAUSE("the system does not let a process close another's connections");
        }
    }
    unsetenv("UCX_TLS");
}

int main(int argc, char **argv) {
    if (argc > 1) /* a pattern of names */
        cmocka_set_test_filter(argv[1]);
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_killed), cmocka_unit_test(test_stopped),
                                       cmocka_unit_test(test_restarted), cmocka_unit_test(test_other_program),
                                       cmocka_unit_test(test_cut)};
    return cmocka_run_group_tests(tests, look, NULL);
}
