/* --processes, --devices: one program on several devices of this process, and on several processes, each of which is a node.
 * The command starts itself once for each node, and tells them by the environment which one they are: so nodes can be started
 * by hand, on several hosts, too. Of hilo run all nodes are such processes; hilo generate and hilo serve are node 0
 * themselves. */
#include "cli/cli.h"
#include "cli/processes.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- starting nodes -------------------------------------------------------------------------- */

static const char *environment(const char *name) {
    const char *text = getenv(name);
    return text && *text ? text : NULL;
}

bool cli_is_node(void) {
    return environment("HILO_NODE") != NULL;
}

static void set_node(const char *dir, int64_t node, int64_t nnodes) {
    char number[32];
    snprintf(number, sizeof number, "%" PRId64, node);
    setenv("HILO_NODE", number, 1);
    snprintf(number, sizeof number, "%" PRId64, nnodes);
    setenv("HILO_NODES", number, 1);
    setenv("HILO_NODE_DIR", dir, 1);
}

/* In the child: does not return. */
static void become_node(char **argv, const char *dir, int64_t node, int64_t nnodes, int out) {
    set_node(dir, node, nnodes);
    dup2(out, STDOUT_FILENO);
    execv("/proc/self/exe", argv);
    _exit(CLI_ENVIRONMENT);
}

/* What a node has printed, which is in the file. */
static void print_file(int fd) {
    char block[65536];
    ssize_t n;
    lseek(fd, 0, SEEK_SET);
    while ((n = read(fd, block, sizeof block)) > 0)
        fwrite(block, 1, (size_t)n, stdout);
}

static void remove_file(const char *dir, const char *name, int64_t number) {
    char path[128];
    snprintf(path, sizeof path, "%s/%s.%" PRId64, dir, name, number);
    unlink(path);
}

static void remove_files(const char *dir, int64_t n) {
    char path[128];
    for (int64_t i = 0; i < n; i++) {
        remove_file(dir, "hilo.node", i);
        remove_file(dir, "out", i);
    }
    snprintf(path, sizeof path, "%s/hilo.nodes", dir);
    unlink(path);
    rmdir(dir);
}

/* The words of the command; they are one block, which is that of the first. */
static char **command_line(void) {
    enum { MOST = 1 << 20 };
    char *text = cli_alloc(MOST, 1);
    FILE *f = fopen("/proc/self/cmdline", "re");
    size_t n = f ? fread(text, 1, MOST - 1, f) : 0, words = 0;
    if (f)
        fclose(f);
    for (size_t i = 0; i < n; i++)
        words += text[i] == '\0';
    char **argv = cli_alloc(words + 2, sizeof *argv), *p = text;
    for (size_t i = 0; i <= words && p < text + n; i++, p += strlen(p) + 1)
        argv[i] = p;
    argv[0] = text;
    return argv;
}

/* Waits for the end of a node; its exit code, after telling of a signal. */
static int await_node(pid_t pid, int64_t node) {
    int status = 0;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    return WIFEXITED(status) ? WEXITSTATUS(status)
                             : cli_error(CLI_FAILED, "node %" PRId64 " was ended by signal %d", node, WTERMSIG(status));
}

int cli_lead_nodes(int64_t n, struct cli_nodes *out) {
    char **argv = command_line();
    struct sigaction ignore = {.sa_handler = SIG_IGN}; /* stays so in the node's program */
    pid_t self = getpid();
    *out = (struct cli_nodes){.dir = "/tmp/hilo-nodes-XXXXXX"};
    if (!mkdtemp(out->dir))
        return cli_error(CLI_ENVIRONMENT, "cannot make %s: %s", out->dir, strerror(errno));
    int null = open("/dev/null", O_RDWR | O_CLOEXEC), code = CLI_OK;
    out->pids = cli_alloc((size_t)n, sizeof *out->pids);
    fflush(stdout);
    for (out->n = 1; out->n < n && code == CLI_OK; out->n++) {
        pid_t pid = null < 0 ? -1 : fork();
        if (pid == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL); /* nothing else tells of it before they have met */
            if (getppid() != self)
                _exit(CLI_ENVIRONMENT);
            sigaction(SIGINT, &ignore, NULL); /* node 0 ends it */
            sigaction(SIGTERM, &ignore, NULL);
            dup2(null, STDIN_FILENO);
            become_node(argv, out->dir, out->n, n, null);
        }
        out->pids[out->n] = pid;
        if (pid < 0)
            code = cli_error(CLI_ENVIRONMENT, "cannot start node %" PRId64, out->n);
    }
    if (null >= 0)
        close(null);
    set_node(out->dir, 0, n);
    free(argv[0]);
    free(argv);
    return code;
}

int cli_end_nodes(struct cli_nodes *nodes, int code) {
    for (int64_t i = 1; i < nodes->n; i++) {
        if (nodes->pids[i] < 0)
            continue;
        if (code != CLI_OK) { /* it may wait for what does not come */
            kill(nodes->pids[i], SIGKILL);
            while (waitpid(nodes->pids[i], NULL, 0) < 0 && errno == EINTR)
                ;
        } else {
            code = await_node(nodes->pids[i], i);
        }
    }
    if (nodes->n)
        remove_files(nodes->dir, nodes->n);
    free(nodes->pids);
    return code;
}

int cli_start_nodes(int64_t n) {
    char dir[] = "/tmp/hilo-nodes-XXXXXX", path[64];
    char **argv = command_line();
    int code = CLI_OK;
    if (!mkdtemp(dir))
        return cli_error(CLI_ENVIRONMENT, "cannot make %s: %s", dir, strerror(errno));
    pid_t *pids = cli_alloc((size_t)n, sizeof *pids);
    int *outs = cli_alloc((size_t)n, sizeof *outs);
    for (int64_t i = 0; i < n; i++) {
        snprintf(path, sizeof path, "%s/out.%" PRId64, dir, i);
        outs[i] = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
        fflush(stdout);
        pids[i] = outs[i] < 0 ? -1 : fork();
        if (pids[i] == 0)
            become_node(argv, dir, i, n, outs[i]);
    }
    for (int64_t i = 0; i < n; i++) {
        int own = pids[i] < 0 ? cli_error(CLI_ENVIRONMENT, "cannot start node %" PRId64, i) : await_node(pids[i], i);
        code = own > code ? own : code;
    }
    for (int64_t i = 0; i < n; i++)
        if (outs[i] >= 0) {
            print_file(outs[i]);
            close(outs[i]);
        }
    remove_files(dir, n);
    free(argv[0]);
    free(argv);
    free(pids);
    free(outs);
    return code;
}

/* ---- being one ------------------------------------------------------------------------------- */

static bool read_number(const char *name, uint32_t *out) {
    const char *text = environment(name);
    char *end = NULL;
    unsigned long n = text ? strtoul(text, &end, 10) : 0;
    *out = (uint32_t)n;
    return text && !*end && n < INT32_MAX;
}

int cli_node_options(int64_t devices, hilo_client_options *o) {
    uint32_t node = 0, nodes = 1;
    o->devices = (int32_t)devices;
    if (!cli_is_node())
        return CLI_OK;
    o->node_dir = environment("HILO_NODE_DIR");
    if (!read_number("HILO_NODE", &node) || !read_number("HILO_NODES", &nodes) || !o->node_dir)
        return cli_error(CLI_USAGE, "HILO_NODE is set: HILO_NODES and HILO_NODE_DIR are needed, too");
    o->node = (int32_t)node;
    o->nodes = (int32_t)nodes;
    return CLI_OK;
}

void cli_processes_print(hilo_client *client, const hilo_executable *exe, hilo_buffer **outputs, int64_t devices) {
    struct comm *c = rt_client_comm(client);
    uint32_t first = c ? comm_node_get(c, comm_self(c))->first_device : 0;
    for (int64_t i = 0; i < devices; i++) {
        printf("process %" PRIu32 "\n", first + (uint32_t)i);
        cli_output_print(exe, outputs + (size_t)i * hilo_executable_output_count(exe));
    }
}
