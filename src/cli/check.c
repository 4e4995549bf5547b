/* hilo check: finds the cases of all files, distributes them to worker processes, and reports. A worker that crashes or hangs
 * fails one case and is replaced. Workers report through memory that they share with their parent. */
#include "base/file.h"
#include "cli/check.h"
#include "read/text/text.h"
#include "target/target.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PENDING, PASSED, FAILED };
enum { MOST_WORKERS = 1024, TICK_MS = 200, MOST_PARTITIONS = 64 };

struct outcome {
    atomic_int state;
    char why[2000]; /* of a failure */
};

struct shared {
    atomic_size_t next;                   /* the first case that no worker has taken */
    struct check_counts counts;
    atomic_size_t current[MOST_WORKERS];  /* the case of each worker */
    struct outcome outcomes[];
};

struct check {
    struct check_options o;
    struct file *files;
    size_t nfiles, file_capacity;
    char **found; /* paths of files in directories; owned */
    size_t nfound;
    struct check_case *cases;
    size_t ncases, capacity;
    struct shared *shared;
    pid_t workers[MOST_WORKERS];
    size_t reported, passed, failed;
    bool unclean; /* a worker failed between cases */
};

/* ---- cases ----------------------------------------------------------------------------------- */

static void case_name(const struct check_case *c, char *out, size_t size) {
    if (c->alone)
        snprintf(out, size, "%s", c->path);
    else
        snprintf(out, size, "%s:%u", c->path, c->line);
}

static bool selected(const struct check *k, const struct check_case *c) {
    const char *f = k->o.filter;
    return !f || strstr(c->path, f) || memmem(c->text.p, c->text.n, f, strlen(f));
}

/* Makes room for one more element of `size` bytes after n. */
static void *grow(void *v, size_t n, size_t *capacity, size_t size) {
    if (n < *capacity)
        return v;
    *capacity = *capacity ? 2 * *capacity : 64;
    void *more = cli_alloc(*capacity, size);
    if (n)
        memcpy(more, v, n * size);
    free(v);
    return more;
}

static void add_case(struct check *k, const struct check_case *c) {
    if (!selected(k, c))
        return;
    k->cases = grow(k->cases, k->ncases, &k->capacity, sizeof *k->cases);
    k->cases[k->ncases++] = *c;
}

/* The line in PATH:LINE, whose ':' becomes the end of the path; 0 when there is none, or a file is named like that. */
static uint32_t split_line(char *path) {
    char *colon = strrchr(path, ':'), *end;
    if (!colon || access(path, F_OK) == 0)
        return 0;
    unsigned long line = strtoul(colon + 1, &end, 10);
    if (end == colon + 1 || *end || line > UINT32_MAX)
        return 0;
    *colon = '\0';
    return (uint32_t)line;
}

/* Adds the parts of a file, or the one that a line is in. */
static int add_file(struct check *k, char *path) {
    uint32_t wanted = split_line(path), line = 1;
    struct diag_list d;
    diag_init(&d, mem_system_allocator());
    k->files = grow(k->files, k->nfiles, &k->file_capacity, sizeof *k->files);
    struct file *f = &k->files[k->nfiles];
    if (file_open(path, d.al, &d, f) != HILO_OK) {
        int code = cli_error(CLI_ENVIRONMENT, "%s", d.first && d.first->message ? d.first->message : "out of memory");
        diag_clear(&d);
        return code;
    }
    k->nfiles++;
    struct str rest = f->text;
    struct check_case c = {.path = path};
    for (size_t i = 0; read_next_part(&rest, &line, &c.text, &c.line); i++) {
        c.alone = i == 0 && rest.n == 0;
        if (!wanted || (wanted >= c.line && (wanted < line || rest.n == 0)))
            add_case(k, &c);
    }
    return CLI_OK;
}

static int is_program(const struct dirent *e) {
    size_t n = strlen(e->d_name);
    return n > 5 && strcmp(e->d_name + n - 5, ".mlir") == 0;
}

/* The programs in a directory, sorted by name. */
static int add_directory(struct check *k, const char *path) {
    struct dirent **entries;
    int n = scandir(path, &entries, is_program, alphasort), code = CLI_OK;
    if (n < 0)
        return cli_error(CLI_ENVIRONMENT, "cannot read '%s': %s", path, strerror(errno));
    char **all = cli_alloc(k->nfound + (size_t)n + 1, sizeof *all);
    if (k->nfound)
        memcpy(all, k->found, k->nfound * sizeof *all);
    free(k->found);
    k->found = all;
    for (int i = 0; i < n; i++) {
        size_t bytes = strlen(path) + strlen(entries[i]->d_name) + 2;
        char *name = all[k->nfound++] = cli_alloc(bytes, 1);
        snprintf(name, bytes, "%s%s%s", path, path[strlen(path) - 1] == '/' ? "" : "/", entries[i]->d_name);
        code = code ? code : add_file(k, name);
        free(entries[i]);
    }
    free(entries);
    return code;
}

static int add_path(struct check *k, char *path) {
    struct stat s;
    return stat(path, &s) == 0 && S_ISDIR(s.st_mode) ? add_directory(k, path) : add_file(k, path);
}

/* ---- workers --------------------------------------------------------------------------------- */

static _Noreturn void work(struct check *k, size_t self) {
    hilo_client *client;
    prctl(PR_SET_PDEATHSIG, SIGKILL); /* workers end with their parent */
    signal(SIGALRM, SIG_DFL);         /* ends a worker at its time limit */
    int code = cli_client(&k->o.compile, &client);
    if (!code && k->o.shardings > 1 && rt_client_divide(client, (int32_t)k->o.shardings, 1) != HILO_OK)
        code = CLI_ENVIRONMENT;
    if (code)
        _exit(code);
    for (size_t i; (i = atomic_fetch_add(&k->shared->next, 1)) < k->ncases;) {
        struct outcome *o = &k->shared->outcomes[i];
        atomic_store(&k->shared->current[self], i);
        alarm((unsigned)k->o.timeout);
        bool passed = check_case(client, &k->cases[i], &k->o, &k->shared->counts, o->why, sizeof o->why);
        alarm(0);
        atomic_store(&o->state, passed ? PASSED : FAILED);
    }
    hilo_client_release(client);
    exit(CLI_OK);
}

static bool start_worker(struct check *k, size_t w) {
    fflush(NULL);
    k->workers[w] = fork();
    if (k->workers[w] == 0)
        work(k, w);
    return k->workers[w] > 0;
}

/* Records how a worker ended as the outcome of its case. */
static void record_end(struct check *k, size_t w, int status) {
    const struct check_case *c = &k->cases[atomic_load(&k->shared->current[w])];
    struct outcome *o = &k->shared->outcomes[c - k->cases];
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return;
    k->unclean |= atomic_load(&o->state) != PENDING; /* after its last case; a leak, when a sanitizer looks for them */
    if (atomic_load(&o->state) != PENDING)
        return;
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM)
        snprintf(o->why, sizeof o->why, "%s:%u: did not finish within %d s", c->path, c->line, (int)k->o.timeout);
    else if (WIFSIGNALED(status))
        snprintf(o->why, sizeof o->why, "%s:%u: crashed: %s", c->path, c->line, strsignal(WTERMSIG(status)));
    else
        snprintf(o->why, sizeof o->why, "%s:%u: crashed: exit status %d", c->path, c->line, WEXITSTATUS(status));
    atomic_store(&o->state, FAILED);
}

/* ---- reports --------------------------------------------------------------------------------- */

static void report_case(struct check *k, size_t i, bool passed) {
    char name[4096];
    case_name(&k->cases[i], name, sizeof name);
    if (passed && k->o.verbose)
        printf("%s: passed\n", name);
    if (passed)
        return;
    printf("%s (hilo check ", k->shared->outcomes[i].why);
    if (k->o.compile.level != 2)
        printf("-O%d ", (int)k->o.compile.level);
    if (k->o.compile.backend == HILO_BACKEND_REFERENCE)
        printf("--backend reference ");
    printf(strchr(name, ' ') ? "'%s')\n" : "%s)\n", name);
}

/* Reports the cases that are finished, in order. */
static void report(struct check *k) {
    bool progress = cli_terminal(stderr);
    if (progress)
        fputs("\r\033[K", stderr);
    for (; k->reported < k->ncases; k->reported++) {
        int state = atomic_load(&k->shared->outcomes[k->reported].state);
        if (state == PENDING)
            break;
        k->passed += state == PASSED;
        k->failed += state == FAILED;
        report_case(k, k->reported, state == PASSED);
    }
    fflush(stdout);
    if (progress && k->reported < k->ncases)
        fprintf(stderr, "%zu of %zu", k->reported, k->ncases);
}

static void on_tick(int signal_number) {
    (void)signal_number; /* its purpose is to interrupt waitpid */
}

static void start_ticks(void) {
    struct sigaction action = {.sa_handler = on_tick};
    struct itimerval every = {{0, TICK_MS * 1000}, {0, TICK_MS * 1000}};
    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &every, NULL);
}

/* ---- the command ----------------------------------------------------------------------------- */

static int run_cases(struct check *k) {
    size_t bytes = sizeof *k->shared + k->ncases * sizeof *k->shared->outcomes, running = 0;
    k->shared = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (k->shared == MAP_FAILED)
        return cli_error(CLI_ENVIRONMENT, "out of memory");
    size_t nworkers = k->o.jobs ? (size_t)k->o.jobs : target_threads();
    nworkers = nworkers < MOST_WORKERS ? nworkers : MOST_WORKERS;
    nworkers = nworkers < k->ncases ? nworkers : k->ncases;
    for (; running < nworkers && start_worker(k, running); running++)
        ;
    if (running == 0)
        return cli_error(CLI_ENVIRONMENT, "cannot start a process: %s", strerror(errno));
    if (cli_terminal(stderr) || cli_terminal(stdout))
        start_ticks();
    while (running) {
        int status;
        pid_t pid = waitpid(-1, &status, 0);
        for (size_t w = 0; pid > 0 && w < nworkers; w++)
            if (k->workers[w] == pid) {
                record_end(k, w, status);
                running--;
                if (atomic_load(&k->shared->next) < k->ncases)
                    running += start_worker(k, w);
                break;
            }
        report(k);
    }
    report(k);
    if (k->o.arguments) {
        atomic_size_t *ops = k->shared->counts.ops;
        printf("ops computed by kernels: %zu, by routines: %zu, by the evaluator: %zu; whole programs by the evaluator: %zu\n",
               ops[CHECK_KERNEL], ops[CHECK_ROUTINE], ops[CHECK_EVALUATED], ops[CHECK_WHOLE]);
    }
    printf("%zu passed, %zu failed\n", k->passed, k->failed + k->ncases - k->reported);
    int code = k->passed == k->ncases && !k->unclean ? CLI_OK : CLI_FAILED;
    munmap(k->shared, bytes);
    return code;
}

static int check_main(const struct cli_command *self, int argc, char **argv) {
    struct check k = {.o = {.compile = CLI_COMPILE_DEFAULTS, .timeout = 120}};
    k.o.compile.threads = 1;
    k.o.compile.no_cache = true;
    k.o.compile.quiet = true; /* assertions run on the evaluator in every program */
    struct cli_texts paths;
    int code = cli_options(self, argc, argv, &k.o, &paths);
    if (code < 0 && (k.o.shardings > MOST_PARTITIONS || k.o.shardings < 0))
        code = cli_error(CLI_USAGE, "--shardings takes at most %d partitions", MOST_PARTITIONS);
    if (code < 0) {
        code = CLI_OK;
        for (size_t i = 0; i < paths.n && code == CLI_OK; i++)
            code = add_path(&k, (char *)(uintptr_t)paths.v[i]); /* a word of argv, which may be changed */
        if (code == CLI_OK)
            code = k.ncases ? run_cases(&k)
                            : cli_error(CLI_USAGE, k.o.filter ? "no case matches --filter %s" : "no case found%s",
                                        k.o.filter ? k.o.filter : "");
    }
    for (size_t i = 0; i < k.nfiles; i++)
        file_close(&k.files[i]);
    for (size_t i = 0; i < k.nfound; i++)
        free(k.found[i]);
    free(k.found);
    free(k.files);
    free(k.cases);
    cli_options_free(self, &k.o, &paths);
    return code;
}

static const struct cli_option options[] = {
    {"-j", "N", CLI_NUMBER, offsetof(struct check_options, jobs), "cases to run concurrently; default: one per core"},
    {"--threads", "N", CLI_NUMBER, offsetof(struct check_options, compile.threads), "threads for each case; default 1"},
    CLI_DEVICE_OPTION(struct check_options, compile),
    CLI_MACHINE_OPTION(struct check_options, compile),
    CLI_LEVEL_OPTIONS(struct check_options, compile),
    {"--filter", "TEXT", CLI_TEXT, offsetof(struct check_options, filter), "run only cases whose path or text contains TEXT"},
    {"--timeout", "S", CLI_NUMBER, offsetof(struct check_options, timeout),
     "limit in seconds for each case; default 120, 0: none"},
    {"--arguments", NULL, CLI_FLAG, offsetof(struct check_options, arguments),
     "pass the constants of each program as arguments, so that\nnothing is folded, and count how ops are computed"},
    {"--shardings", "N", CLI_NUMBER, offsetof(struct check_options, shardings),
     "divide each program among N processes by random\nshardings of its values, and run it by all of them"},
    {"--seed", "S", CLI_NUMBER, offsetof(struct check_options, seed), "of the random shardings; default 0"},
    {"--reload", NULL, CLI_FLAG, offsetof(struct check_options, reload),
     "write each compiled program as a .hilo file, and run\nwhat that loads"},
    {"--verbose", NULL, CLI_FLAG, offsetof(struct check_options, verbose),
     "also print the cases that pass, and errors in full"},
    {0}};

const struct cli_command cli_check = {
    .name = "check", .operands = "FILE…", .least = 1, .most = SIZE_MAX, .options = options, .run = check_main,
    .summary = "runs the assertions in programs",
    .text =
        "Runs test programs, which assert their own results. (`hilo verify` only checks that programs are valid.) A\n"
        "file is one case, or several between lines that begin with // -----; FILE:LINE is the case at that line. A\n"
        "directory stands for the .mlir files in it. A case passes when\n"
        "\n"
        "  - it has comments // expected-error@+1 {{…}}, and is rejected with errors on exactly these lines\n"
        "    (@-1, @above, @below, or none: this line). Of the text only a constraint of the specification at\n"
        "    its beginning is compared: {{[add_c1]}}.\n"
        "  - otherwise: it is valid, and its @main, or every function without parameters that the program\n"
        "    itself does not refer to, runs without error. check.* operations fail if values differ.\n"
        "  - a program without assertions is also printed, and must read back as the same program. If it has\n"
        "    functions with parameters it is not run.\n"
        "\n"
        "Cases run in separate processes. A failure is one line with the command that repeats it; the last line has\n"
        "the counts.\n",
    .examples = "  hilo check tests/op tests/verify\n"
                "  hilo check --verbose tests/op/add.mlir:1       # the case at line 1\n"
                "  hilo check --filter dot_general --backend reference tests/op/*.mlir\n",
};
