/* How many threads the process may use: what containers allow is a quota of their control group (version 2: cpu.max; version 1:
 * cpu.cfs_quota_us in cpu.cfs_period_us), of that group or of any around it. */
#include "target/target.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* The smaller of two limits; 0 = none. */
static uint32_t smaller(uint32_t a, uint32_t b) {
    return a && (a < b || !b) ? a : b;
}

static uint32_t cpus_of(long long quota, long long period) {
    if (quota <= 0 || period <= 0 || quota / period >= UINT32_MAX)
        return 0;
    return (uint32_t)(quota / period + (quota % period != 0));
}

/* The first line of a file of a group; "" when it cannot be read. */
static void read_line(const char *directory, const char *name, char *line, int size) {
    char path[4096];
    int n = snprintf(path, sizeof path, "%s/%s", directory, name);
    FILE *f = n > 0 && (size_t)n < sizeof path ? fopen(path, "re") : NULL;
    if (!f || !fgets(line, size, f))
        line[0] = '\0';
    if (f)
        fclose(f);
}

static uint32_t group_cpus(const char *directory, bool v2) {
    char quota[64], period[64];
    char *end;
    read_line(directory, v2 ? "cpu.max" : "cpu.cfs_quota_us", quota, sizeof quota);
    long long q = strtoll(quota, &end, 10); /* "max 100000": no limit; -1 in version 1 */
    if (v2)
        return end == quota ? 0 : cpus_of(q, strtoll(end, NULL, 10));
    read_line(directory, "cpu.cfs_period_us", period, sizeof period);
    return cpus_of(q, strtoll(period, NULL, 10));
}

/* Of a group and all groups around it. A container may see only its own, as the root. */
static uint32_t path_cpus(const char *root, const char *controller, struct str path, bool v2) {
    char directory[4096];
    uint32_t least = 0;
    for (;;) {
        int n = snprintf(directory, sizeof directory, "%s%s%s%.*s", root, *controller ? "/" : "", controller,
                         (int)path.n, path.p);
        if (n > 0 && (size_t)n < sizeof directory)
            least = smaller(least, group_cpus(directory, v2));
        if (path.n == 0)
            return least;
        while (path.n > 0 && path.p[path.n - 1] != '/')
            path.n--;
        path.n -= path.n > 0;
    }
}

static bool lists_cpu(struct str controllers) {
    for (size_t at = 0; at <= controllers.n;) {
        const char *comma = memchr(controllers.p + at, ',', controllers.n - at);
        size_t n = comma ? (size_t)(comma - controllers.p) - at : controllers.n - at;
        if (str_is((struct str){controllers.p + at, n}, "cpu"))
            return true;
        at += n + 1;
    }
    return false;
}

/* Lines are "0::/path" (version 2) and "4:cpu,cpuacct:/path" (version 1). */
uint32_t target_cgroup_cpus(const char *root, struct str groups) {
    uint32_t least = 0;
    for (size_t at = 0; at < groups.n;) {
        const char *line = groups.p + at, *newline = memchr(line, '\n', groups.n - at);
        size_t n = newline ? (size_t)(newline - line) : groups.n - at;
        at += n + 1;
        const char *names = memchr(line, ':', n);
        const char *path = names ? memchr(names + 1, ':', n - (size_t)(names + 1 - line)) : NULL;
        if (!path)
            continue;
        struct str controllers = {names + 1, (size_t)(path - names - 1)}, where = {path + 1, (size_t)(line + n - path - 1)};
        where.n -= where.n == 1; /* "/" is the root */
        char name[64];
        snprintf(name, sizeof name, "%.*s", (int)controllers.n, controllers.p);
        if (controllers.n == 0)
            least = smaller(least, path_cpus(root, "", where, true));
        else if (lists_cpu(controllers))
            least = smaller(least, path_cpus(root, name, where, false));
    }
    return least;
}

uint32_t target_cores(void) {
    long n = sysconf(_SC_NPROCESSORS_CONF);
    return n > 0 ? (uint32_t)n : 1;
}

void target_expect_threads(struct target *t, int32_t threads) {
    if (!t->block_threads && threads > 0 && (uint32_t)threads > target_cores())
        t->cores = (uint32_t)threads;
}

uint32_t target_threads(void) {
    char groups[4096];
    cpu_set_t set;
    int n = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
    FILE *f = fopen("/proc/self/cgroup", "re");
    size_t bytes = f ? fread(groups, 1, sizeof groups, f) : 0;
    if (f)
        fclose(f);
    return smaller(n > 0 ? (uint32_t)n : 1, target_cgroup_cpus("/sys/fs/cgroup", (struct str){groups, bytes}));
}
