/* A directory as the store: a file for each key, which is complete once it has its name. What is there is never replaced: a node
 * that is started again is refused. */
#include "comm/comm.h"
#include "comm/net.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

/* Keys are names, and become names of files. */
static bool key_path(const char *dir, const char *key, const char *suffix, char out[4096]) {
    int n = snprintf(out, 4096, "%s/%s%s", dir, key, suffix);
    for (char *p = out + strlen(dir) + 1; n > 0 && n < 4096 && *p; p++)
        if (*p == '/')
            *p = '.';
    return n > 0 && n < 4096;
}

static hilo_status directory_put(void *user, const char *key, const void *value, size_t n, struct strbuf *why) {
    char path[4096], part[4096];
    if (!key_path(user, key, "", path) || !key_path(user, key, ".part", part)) {
        strbuf_printf(why, "the path of %s is too long", key);
        return HILO_INVALID_ARGUMENT;
    }
    int fd = open(part, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    bool ok = fd >= 0;
    for (size_t done = 0; ok && done < n;) {
        ssize_t put = write(fd, (const char *)value + done, n - done);
        ok = put > 0;
        done += ok ? (size_t)put : 0;
    }
    if (fd >= 0)
        ok = close(fd) == 0 && ok;
    ok = ok && link(part, path) == 0; /* which does not replace what another run has left, as a rename does */
    int error = errno;
    if (fd >= 0)
        unlink(part);
    if (!ok)
        strbuf_printf(why, "cannot write %s: %s%s", path, strerror(error),
                      error == EEXIST ? "; each run needs a directory of its own" : "");
    return ok ? HILO_OK : error == EEXIST ? HILO_ALREADY_EXISTS : HILO_UNAVAILABLE;
}

/* False when it is not there yet, or cannot be read. */
static bool read_file(const char *path, struct strbuf *out) {
    char block[4096];
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = -1;
    while (fd >= 0 && (n = read(fd, block, sizeof block)) > 0)
        strbuf_putn(out, block, (size_t)n);
    if (fd >= 0)
        close(fd);
    return n == 0;
}

static hilo_status directory_get(void *user, const char *key, int64_t timeout_ms, struct strbuf *value, struct strbuf *why) {
    char path[4096];
    if (!key_path(user, key, "", path)) {
        strbuf_printf(why, "the path of %s is too long", key);
        return HILO_INVALID_ARGUMENT;
    }
    int64_t end = comm_now_ms() + timeout_ms;
    while (!read_file(path, value)) {
        if (comm_now_ms() >= end) {
            strbuf_printf(why, "%s did not appear in %lld ms", path, (long long)timeout_ms);
            return HILO_DEADLINE_EXCEEDED;
        }
        nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
    }
    return HILO_OK;
}

struct comm_store comm_store_directory(const char *path) {
    return (struct comm_store){directory_put, directory_get, (void *)(uintptr_t)path};
}
