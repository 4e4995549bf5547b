/* hilo run --processes, --devices: one program on several devices of this process, and on several processes, each of which is a
 * node. The command starts itself once for each node, and tells them by the environment which one they are: so nodes can be
 * started by hand, on several hosts, too. */
#include "cli/cli.h"
#include "cli/processes.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
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

/* In the child: does not return. */
static void become_node(char **argv, const char *dir, int64_t node, int64_t nnodes, int out) {
    char number[32];
    snprintf(number, sizeof number, "%" PRId64, node);
    setenv("HILO_NODE", number, 1);
    snprintf(number, sizeof number, "%" PRId64, nnodes);
    setenv("HILO_NODES", number, 1);
    setenv("HILO_NODE_DIR", dir, 1);
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
        int status = 0;
        if (pids[i] < 0) {
            code = cli_error(CLI_ENVIRONMENT, "cannot start node %" PRId64, i);
            continue;
        }
        while (waitpid(pids[i], &status, 0) < 0 && errno == EINTR)
            ;
        int own = WIFEXITED(status) ? WEXITSTATUS(status) : cli_error(CLI_FAILED, "node %" PRId64 " was ended by signal %d", i,
                                                                      WTERMSIG(status));
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
    return text && !*end && n < UINT32_MAX;
}

int cli_join_nodes(hilo_client *client, int64_t devices) {
    struct comm_options o = {.ndevices = (uint32_t)devices};
    const char *dir = environment("HILO_NODE_DIR");
    if (rt_client_divide(client, (int32_t)devices, 1) != HILO_OK)
        return cli_error(CLI_ENVIRONMENT, "out of memory");
    if (!cli_is_node())
        return CLI_OK;
    if (!read_number("HILO_NODE", &o.node) || !read_number("HILO_NODES", &o.nnodes) || !dir)
        return cli_error(CLI_USAGE, "HILO_NODE is set: HILO_NODES and HILO_NODE_DIR are needed, too");
    struct strbuf why;
    strbuf_init(&why, mem_system_allocator());
    o.store = comm_store_directory(dir);
    hilo_status status = o.nnodes == 1 ? HILO_OK : rt_client_connect(client, &o, &why);
    int code = status == HILO_OK ? CLI_OK : cli_error(CLI_ENVIRONMENT, "%s", why.p ? why.p : "out of memory");
    strbuf_free(&why);
    return code;
}

/* ---- running --------------------------------------------------------------------------------- */

struct member {
    const struct cli_launch *launch;
    struct rt_launch *run;
    uint32_t process;
    int32_t device;
    hilo_buffer **outputs;
    hilo_status status;
    pthread_t thread;
};

static void *member_main(void *user) {
    struct member *m = user;
    const struct cli_launch *l = m->launch;
    m->status = rt_execute(l->exe, l->options, l->inputs, l->ninputs, m->outputs, l->noutputs, m->device, m->run, m->process);
    rt_launch_end(m->run, m->process, m->status, NULL);
    return NULL;
}

/* How often the module says that its program runs. */
static uint32_t count_of(const hilo_executable *exe, const char *name) {
    const struct ir_module *m = rt_executable_program(exe);
    int64_t n;
    return m && ir_attr_as_i64(m, ir_dict_find(m, ir_op_get(m, m->root)->attrs, str_of(name)), &n) && n > 0 &&
                   n < COMM_MOST_DEVICES
               ? (uint32_t)n
               : 1;
}

/* The processes of this node are the next `here` ones from `first` on. */
static void place(const struct cli_launch *l, uint32_t *all, uint32_t *first, uint32_t *here) {
    struct comm *c = rt_client_comm(l->client);
    *all = c ? comm_ndevices(c) : (uint32_t)l->devices;
    *here = c ? comm_node_get(c, comm_self(c))->ndevices : (uint32_t)l->devices;
    *first = c ? comm_node_get(c, comm_self(c))->first_device : 0;
}

int cli_launch(const struct cli_launch *l, double *ms) {
    uint32_t all, first, here, replicas = count_of(l->exe, "mhlo.num_replicas");
    place(l, &all, &first, &here);
    replicas = all % replicas == 0 ? replicas : 1;
    uint32_t *devices = cli_alloc(all, sizeof *devices);
    struct member *m = cli_alloc(here, sizeof *m);
    for (uint32_t i = 0; i < all; i++)
        devices[i] = i;
    struct rt_launch_options o = {.replicas = replicas, .partitions = all / replicas, .devices = devices,
                                  .program = rt_executable_fingerprint(l->exe),
                                  .name = *rt_executable_name(l->exe) ? rt_executable_name(l->exe) : l->file};
    struct rt_launch *run = rt_launch_new(l->client, &o);
    double begin = rt_now_ms();
    hilo_status status = run ? HILO_OK : HILO_RESOURCE_EXHAUSTED;
    for (uint32_t i = 0; i < here && run; i++)
        m[i] = (struct member){.launch = l, .run = run, .process = first + i, .device = (int32_t)i,
                               .outputs = l->outputs + i * l->noutputs};
    for (uint32_t i = 1; i < here && run; i++)
        if (pthread_create(&m[i].thread, NULL, member_main, &m[i]) != 0)
            abort();
    if (run)
        member_main(&m[0]);
    for (uint32_t i = 1; i < here && run; i++)
        pthread_join(m[i].thread, NULL);
    for (uint32_t i = 0; i < here && run; i++)
        if (status == HILO_OK || (status == HILO_ABORTED && m[i].status != HILO_OK))
            status = m[i].status;
    *ms = rt_now_ms() - begin;
    rt_launch_free(run);
    free(m);
    free(devices);
    return status == HILO_OK ? CLI_OK : cli_fail(l->client, status);
}

void cli_launch_print(const struct cli_launch *l) {
    uint32_t all, first, here;
    place(l, &all, &first, &here);
    for (uint32_t i = 0; i < here; i++) {
        printf("process %" PRIu32 "\n", first + i);
        cli_output_print(l->exe, l->outputs + i * l->noutputs);
    }
}
