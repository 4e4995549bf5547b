/* What a test may ask of the stand-in for NVIDIA's driver in its own process, by dlsym of what HILO_CUDA_PATH names. */
#ifndef HILO_TESTS_GPU_LIBCUDA_H
#define HILO_TESTS_GPU_LIBCUDA_H

#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct fake_cuda {
    uint64_t calls, failed;   /* of those that may fail */
    uint64_t live;            /* handles and allocations that were not freed */
    uint64_t launches, graphs, updates; /* of single kernels; of graphs; of their nodes */
    uint64_t uploads, downloads;
    uint64_t waits;           /* of streams and events */
    uint64_t queued;          /* work that was enqueued and is not done */
};

/* Lets the call after the next `after` ones fail, once; UINT64_MAX: none. */
void fake_cuda_fail(uint64_t after);
void fake_cuda_read(struct fake_cuda *out);

/* For stand-ins of libraries: work(user) runs when its turn in the stream comes. The bytes of device memory; NULL where they
   are not all of one allocation. Whether the calling thread has the context. */
void fake_cuda_enqueue(void *stream, void (*work)(void *user), void *user);
char *fake_cuda_bytes(uint64_t address, size_t bytes);
int fake_cuda_has_context(void);

/* These functions of the library; NULL where HILO_CUDA_PATH names none. */
struct fake_cuda_functions {
    void (*let_fail)(uint64_t after);
    void (*read)(struct fake_cuda *out);
    void (*enqueue)(void *stream, void (*work)(void *user), void *user);
    char *(*bytes)(uint64_t address, size_t bytes);
    int (*has_context)(void);
};

static inline void fake_cuda_symbol(void *library, const char *name, void *function) {
    void *p = library ? dlsym(library, name) : NULL;
    memcpy(function, &p, sizeof p); /* C has no cast from an object's address to a function's */
}

static inline struct fake_cuda_functions fake_cuda_find(void) {
    struct fake_cuda_functions f;
    const char *path = getenv("HILO_CUDA_PATH");
    void *library = path ? dlopen(path, RTLD_NOW) : NULL;
    fake_cuda_symbol(library, "fake_cuda_fail", &f.let_fail);
    fake_cuda_symbol(library, "fake_cuda_read", &f.read);
    fake_cuda_symbol(library, "fake_cuda_enqueue", &f.enqueue);
    fake_cuda_symbol(library, "fake_cuda_bytes", &f.bytes);
    fake_cuda_symbol(library, "fake_cuda_has_context", &f.has_context);
    return f;
}

#endif
