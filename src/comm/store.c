/* The key-value store by which nodes find each other. A directory as the store: a file for each key, which is complete once
 * it has its name. What is there is never replaced: a node that is started again is refused. */
#include "comm/comm.h"
#include "comm/net.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

static void append(void *user, const char *text, size_t n) {
    strbuf_putn(user, text, n);
}

hilo_status comm_store_put(const hilo_node_store *s, const char *key, struct str value, struct strbuf *why) {
    return s->put(s->user, key, value.p, value.n, append, why);
}

hilo_status comm_store_get(const hilo_node_store *s, const char *key, int64_t timeout_ms, struct strbuf *value,
                           struct strbuf *why) {
    size_t before = value->n;
    hilo_status status = s->get(s->user, key, timeout_ms, append, value);
    if (status == HILO_OK)
        return value->failed ? HILO_RESOURCE_EXHAUSTED : HILO_OK;
    if (value->n > before) {
        strbuf_putn(why, value->p + before, value->n - before);
        value->n = before;
    } else {
        strbuf_printf(why, "the key-value store has no %s: %s", key, hilo_status_name(status));
    }
    return status;
}

/* ---- a directory ----------------------------------------------------------------------------- */

static hilo_status fail(hilo_status status, hilo_write_fn write, void *user, const char *fmt, ...) {
    char text[4400];
    va_list ap;
    va_start(ap, fmt);
    int n = vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    write(user, text, n < 0 ? 0 : (size_t)n < sizeof text ? (size_t)n : sizeof text - 1);
    return status;
}

/* Keys are names, and become names of files. */
static bool key_path(const char *dir, const char *key, const char *suffix, char out[4096]) {
    int n = snprintf(out, 4096, "%s/%s%s", dir, key, suffix);
    for (char *p = out + strlen(dir) + 1; n > 0 && n < 4096 && *p; p++)
        if (*p == '/')
            *p = '.';
    return n > 0 && n < 4096;
}

static hilo_status directory_put(void *user, const char *key, const void *value, size_t n, hilo_write_fn write_why, void *why) {
    char path[4096], part[4096];
    if (!key_path(user, key, "", path) || !key_path(user, key, ".part", part))
        return fail(HILO_INVALID_ARGUMENT, write_why, why, "the path of %s is too long", key);
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
    if (ok)
        return HILO_OK;
    return fail(error == EEXIST ? HILO_ALREADY_EXISTS : HILO_UNAVAILABLE, write_why, why, "cannot write %s: %s%s", path,
                strerror(error), error == EEXIST ? "; each run needs a directory of its own" : "");
}

/* False when it is not there yet, or cannot be read. It is there as a whole. */
static bool read_file(const char *path, hilo_write_fn write, void *user) {
    char block[4096];
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = -1;
    while (fd >= 0 && (n = read(fd, block, sizeof block)) > 0)
        write(user, block, (size_t)n);
    if (fd >= 0)
        close(fd);
    return n == 0;
}

static hilo_status directory_get(void *user, const char *key, int64_t timeout_ms, hilo_write_fn write, void *writer) {
    char path[4096];
    if (!key_path(user, key, "", path))
        return fail(HILO_INVALID_ARGUMENT, write, writer, "the path of %s is too long", key);
    int64_t end = comm_now_ms() + timeout_ms;
    while (!read_file(path, write, writer)) {
        if (comm_now_ms() >= end)
            return fail(HILO_DEADLINE_EXCEEDED, write, writer, "%s did not appear in %lld ms", path, (long long)timeout_ms);
        nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
    }
    return HILO_OK;
}

hilo_node_store comm_store_directory(const char *path) {
    return (hilo_node_store){directory_put, directory_get, (void *)(uintptr_t)path};
}
