/* A stand-in for nvJitLink: its cubins are PTX behind an ELF header (cubin.h), which the stand-in for the driver runs. Calls
 * that its documentation does not allow, and links that are not destroyed, are reported on standard error and end the process.
 * Environment: HILO_FAKE_NVJITLINK_FAIL=n lets the n-th call for each cubin fail; HILO_FAKE_NVJITLINK_MOST=90 is the latest GPU
 * that it knows. */
#include "gpu/cubin.h"

#include <elf.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

enum { OK = 0, INVALID_INPUT = 3, PTX_COMPILE = 4, INTERNAL = 6, UNSUPPORTED_ARCH = 17, INPUT_PTX = 2 };

struct link {
    int sm, exact, calls, complete;
    char *ptx; /* with a zero byte */
    size_t bytes;
    const char *log;
};
static atomic_int live;

EXPORT int nvJitLinkVersion(unsigned *major, unsigned *minor);
EXPORT int nvJitLinkCreate(void **link, uint32_t noptions, const char **options);
EXPORT int nvJitLinkDestroy(void **link);
EXPORT int nvJitLinkAddData(void *link, int type, const void *data, size_t bytes, const char *name);
EXPORT int nvJitLinkComplete(void *link);
EXPORT int nvJitLinkGetLinkedCubinSize(void *link, size_t *out);
EXPORT int nvJitLinkGetLinkedCubin(void *link, void *out);
EXPORT int nvJitLinkGetErrorLogSize(void *link, size_t *out);
EXPORT int nvJitLinkGetErrorLog(void *link, char *out);

static int number(const char *name, int otherwise) {
    const char *text = getenv(name);
    return text && *text ? atoi(text) : otherwise;
}

static void misuse(const char *what) {
    fprintf(stderr, "fake nvJitLink: %s\n", what);
    abort();
}

static int fails(struct link *x) {
    return ++x->calls == number("HILO_FAKE_NVJITLINK_FAIL", 0);
}

int nvJitLinkVersion(unsigned *major, unsigned *minor) {
    *major = 13;
    *minor = 0;
    return OK;
}

int nvJitLinkCreate(void **link, uint32_t noptions, const char **options) {
    char letter = 0;
    struct link *x = calloc(1, sizeof *x);
    if (noptions != 1 || sscanf(options[0], "-arch=sm_%d%c", &x->sm, &letter) < 1)
        misuse("expected one option, -arch");
    x->exact = letter == 'a';
    if (fails(x) || x->sm > number("HILO_FAKE_NVJITLINK_MOST", 120)) {
        free(x);
        return UNSUPPORTED_ARCH;
    }
    live++;
    *link = x;
    return OK;
}

int nvJitLinkDestroy(void **link) {
    struct link *x = *link;
    free(x->ptx);
    free(x);
    *link = NULL;
    live--;
    return OK;
}

int nvJitLinkAddData(void *link, int type, const void *data, size_t bytes, const char *name) {
    struct link *x = link;
    if (type != INPUT_PTX || !name || x->ptx || !bytes || ((const char *)data)[bytes - 1])
        misuse("expected one PTX, with a zero byte"); /* which the true one looks for */
    if (fails(x))
        return INVALID_INPUT;
    x->ptx = memcpy(malloc(bytes), data, bytes);
    x->bytes = bytes;
    return OK;
}

int nvJitLinkComplete(void *link) {
    struct link *x = link;
    char target[32];
    if (!x->ptx)
        misuse("a link of nothing");
    snprintf(target, sizeof target, ".target sm_%d%s\n", x->sm, x->exact ? "a" : "");
    if (!strstr(x->ptx, target) || fails(x)) {
        x->log = "ptxas fatal: no such luck\nmore of it";
        return PTX_COMPILE;
    }
    x->complete = 1;
    return OK;
}

int nvJitLinkGetLinkedCubinSize(void *link, size_t *out) {
    struct link *x = link;
    if (!x->complete)
        misuse("the size of what is not complete");
    *out = FAKE_CUBIN_HEAD + x->bytes;
    return fails(x) ? INTERNAL : OK;
}

int nvJitLinkGetLinkedCubin(void *link, void *out) {
    struct link *x = link;
    Elf64_Ehdr h = {.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB, EV_CURRENT}, .e_type = ET_EXEC,
                    .e_machine = EM_CUDA, .e_flags = (uint32_t)x->sm << 8 | (uint32_t)x->exact};
    if (!x->complete)
        misuse("the cubin of what is not complete");
    memcpy(h.e_ident + FAKE_CUBIN_MARK_AT, FAKE_CUBIN_MARK, sizeof FAKE_CUBIN_MARK);
    memcpy(out, &h, sizeof h);
    memcpy((char *)out + sizeof h, x->ptx, x->bytes);
    return fails(x) ? INTERNAL : OK;
}

int nvJitLinkGetErrorLogSize(void *link, size_t *out) {
    const struct link *x = link;
    *out = x->log ? strlen(x->log) + 1 : 0;
    return OK;
}

int nvJitLinkGetErrorLog(void *link, char *out) {
    const struct link *x = link;
    strcpy(out, x->log);
    return OK;
}

__attribute__((destructor)) static void report(void) {
    if (live)
        misuse("links were not destroyed");
}
