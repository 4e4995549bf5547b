/* Opens LLVM: 130 MB that only a process which compiles should map, hence dlopen. A package may bring the part that is used,
   next to the library (cmake/llvm.cmake). */
#include "codegen/llvm.h"

#include "codegen/codegen.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { LLVM_MAJOR = 19 };

struct llvm_function {
    const char *name;
    size_t offset; /* of its pointer in struct llvm */
};
static const struct llvm_function llvm_functions[] = {
#define LLVM(name) {"LLVM" #name, offsetof(struct llvm, name)},
#include "codegen/llvm.def"
};

/* Targets come as a family of functions each; a library without one of them can do without that target. */
static const char *const llvm_targets[] = {"X86", "AArch64", "NVPTX"};
static const char *const llvm_target_parts[] = {"TargetInfo", "Target", "TargetMC", "AsmPrinter"};

enum { LLVM_END_SECONDS = 5 };

/* The library is opened once for the process. */
static struct {
    pthread_once_t once;
    struct llvm table;
    atomic_bool tried; /* it was begun */
    bool found;
    char why[256];
    pthread_mutex_t lock; /* of what follows, after the library was opened */
    pthread_cond_t idle;
    pid_t pid;         /* of the process that used it last */
    uint32_t users;    /* its threads that compile */
    uint64_t begun;    /* compilations: after each power of two the handler is registered again */
    bool ended;        /* the process is ending */
} llvm_state = {.once = PTHREAD_ONCE_INIT, .lock = PTHREAD_MUTEX_INITIALIZER, .idle = PTHREAD_COND_INITIALIZER};

static bool llvm_symbol(void *library, const char *name, void *to) {
    void *p = dlsym(library, name);
    memcpy(to, &p, sizeof p); /* C has no cast from an object's address to a function's */
    return p != NULL;
}

static void *llvm_library(void) {
    static const char *const names[] = {"libhilo-llvm.so", "libLLVM.so.19.1", "libLLVM-19.so.1", "libLLVM-19.so"};
    const char *path = secure_getenv("HILO_LLVM_PATH");
    if (path && *path)
        return dlopen(path, RTLD_NOW | RTLD_LOCAL);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        void *library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
        if (library)
            return library;
    }
    return NULL;
}

static void llvm_initialize_targets(void *library) {
    for (size_t t = 0; t < sizeof llvm_targets / sizeof *llvm_targets; t++)
        for (size_t p = 0; p < sizeof llvm_target_parts / sizeof *llvm_target_parts; p++) {
            char name[64];
            void (*initialize)(void);
            snprintf(name, sizeof name, "LLVMInitialize%s%s", llvm_targets[t], llvm_target_parts[p]);
            if (llvm_symbol(library, name, &initialize))
                initialize();
        }
}

/* When the process ends, LLVM's own objects are destroyed, which a thread in the background may be using. Handlers run in the
   reverse order of their registration, so this one, registered after those of all that LLVM has, runs before them: nothing is
   begun any more, and what is being compiled is waited for. A process that was forked and has not compiled has no such
   threads. */
static void llvm_end(void) {
    struct timespec until;
    if (getpid() != llvm_state.pid)
        return;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += LLVM_END_SECONDS;
    pthread_mutex_lock(&llvm_state.lock);
    llvm_state.ended = true;
    while (llvm_state.users && pthread_cond_timedwait(&llvm_state.idle, &llvm_state.lock, &until) == 0)
        ;
    pthread_mutex_unlock(&llvm_state.lock);
}

static void llvm_open(void) {
    atomic_store_explicit(&llvm_state.tried, true, memory_order_relaxed);
    void *library = llvm_library();
    if (!library) {
        const char *why = dlerror();
        snprintf(llvm_state.why, sizeof llvm_state.why, "%s", why ? why : "not found");
        return;
    }
    for (size_t i = 0; i < sizeof llvm_functions / sizeof *llvm_functions; i++)
        if (!llvm_symbol(library, llvm_functions[i].name, (char *)&llvm_state.table + llvm_functions[i].offset)) {
            snprintf(llvm_state.why, sizeof llvm_state.why, "it has no %s", llvm_functions[i].name);
            return;
        }
    unsigned major, minor, patch;
    llvm_state.table.GetVersion(&major, &minor, &patch);
    if (major != LLVM_MAJOR) {
        snprintf(llvm_state.why, sizeof llvm_state.why, "it is version %u.%u.%u", major, minor, patch);
        return;
    }
    llvm_initialize_targets(library);
    llvm_state.pid = getpid();
    llvm_state.found = atexit(llvm_end) == 0;
    if (!llvm_state.found)
        snprintf(llvm_state.why, sizeof llvm_state.why, "out of memory");
}

const struct llvm *llvm_get(struct diag_list *d) {
    pthread_once(&llvm_state.once, llvm_open);
    if (llvm_state.found)
        return &llvm_state.table;
    diag_error(d, HILO_UNAVAILABLE,
               "compiling needs LLVM %d as a shared library (Debian package libllvm19; HILO_LLVM_PATH names one elsewhere): %s",
               LLVM_MAJOR, llvm_state.why);
    return NULL;
}

const struct llvm *llvm_begin(struct diag_list *d) {
    const struct llvm *l = llvm_get(d);
    pthread_mutex_lock(&llvm_state.lock);
    if (llvm_state.pid != getpid()) { /* a process that was forked has none of the threads that were at it */
        llvm_state.pid = getpid();
        llvm_state.users = 0;
    }
    bool ended = llvm_state.ended;
    llvm_state.users += l && !ended;
    llvm_state.begun++;
    if (l && (llvm_state.begun & (llvm_state.begun - 1)) == 0)
        (void)atexit(llvm_end); /* before the objects that LLVM has made since then */
    pthread_mutex_unlock(&llvm_state.lock);
    if (l && ended)
        diag_error(d, HILO_UNAVAILABLE, "the process is ending");
    return ended ? NULL : l;
}

void llvm_done(void) {
    pthread_mutex_lock(&llvm_state.lock);
    if (--llvm_state.users == 0)
        pthread_cond_broadcast(&llvm_state.idle);
    pthread_mutex_unlock(&llvm_state.lock);
}

hilo_status cg_open(struct diag_list *d) {
    return llvm_get(d) ? HILO_OK : HILO_UNAVAILABLE;
}

bool cg_open_untried(void) {
    return !atomic_load_explicit(&llvm_state.tried, memory_order_relaxed);
}
