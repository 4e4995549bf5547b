/* What the stand-ins for NVIDIA's libraries share, each by including it once, with its name and that of its variables:
 * FAKE_NAME, FAKE_VARIABLE. They stand on the stand-in for the driver (libcuda.h), in whose streams their work runs. What is
 * wrong is reported on standard error and ends the process, as does what is not destroyed. HILO_FAKE_<variable>_FAIL=n lets
 * the n-th call fail; HILO_FAKE_<variable>_REPORT=file: a line at the end, with what was counted. */
#ifndef HILO_TESTS_GPU_LIBRARY_H
#define HILO_TESTS_GPU_LIBRARY_H

#include "gpu/libcuda.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>

#define EXPORT __attribute__((visibility("default")))

static struct {
    pthread_mutex_t lock;
    struct fake_cuda_functions cuda;
    int calls, live; /* live: what is not destroyed */
} fake = {.lock = PTHREAD_MUTEX_INITIALIZER};

static inline void misuse(const char *what) {
    fprintf(stderr, "fake " FAKE_NAME ": %s\n", what);
    abort();
}

/* Counts a call; whether it is the one that fails. */
static inline int fails(void) {
    const char *text = getenv("HILO_FAKE_" FAKE_VARIABLE "_FAIL");
    pthread_mutex_lock(&fake.lock);
    int n = ++fake.calls;
    pthread_mutex_unlock(&fake.lock);
    return text && *text && atoi(text) == n;
}

static inline void count(int *what, int n) {
    pthread_mutex_lock(&fake.lock);
    *what += n;
    pthread_mutex_unlock(&fake.lock);
}

/* The first call: whether the thread has the context of a device, and the call does not fail. */
static inline int begins(void) {
    fake.cuda = fake_cuda_find();
    return !fails() && fake.cuda.enqueue && fake.cuda.has_context();
}

/* At the end of the process. */
__attribute__((format(printf, 1, 2))) static inline void report_line(const char *format, ...) {
    const char *path = getenv("HILO_FAKE_" FAKE_VARIABLE "_REPORT");
    FILE *f = path && *path ? fopen(path, "a") : NULL;
    if (f) {
        va_list ap;
        va_start(ap, format);
        vfprintf(f, format, ap);
        va_end(ap);
        fclose(f);
    }
    if (fake.live)
        misuse("handles were not destroyed");
}

/* ---- handles that have a stream ----------------------------------------------------------------- */

struct handle {
    const void *mark; /* of this library */
    void *stream;
};

static inline struct handle *handle_of(void *handle) {
    struct handle *h = handle;
    if (!h || h->mark != &fake)
        misuse("a handle that is none");
    return h;
}

static inline int handle_create(void **handle, int error) {
    if (!begins())
        return error;
    struct handle *h = malloc(sizeof *h);
    *h = (struct handle){.mark = &fake};
    *handle = h;
    count(&fake.live, 1);
    return 0;
}

static inline int handle_destroy(void *handle) {
    handle_of(handle)->mark = NULL;
    free(handle);
    count(&fake.live, -1);
    return 0;
}

static inline int handle_set_stream(void *handle, void *stream, int error) {
    struct handle *h = handle_of(handle);
    if (!stream)
        misuse("no stream");
    if (fails())
        return error;
    h->stream = stream;
    return 0;
}

#endif
