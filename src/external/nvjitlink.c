/* nvJitLink, of NVIDIA's toolkits since CUDA 12: PTX to cubins, code of one generation of GPUs. It needs neither a GPU nor a
 * driver, so programs for other machines are compiled to the end. */
#include "external/nvjitlink.h"

#include "external/external.h"

#include <pthread.h>
#include <stdio.h>

enum { INPUT_PTX = 2 /* NVJITLINK_INPUT_PTX */, MOST_LOG = 512 };

/* By nvJitLink.h; results are 0 or error codes. */
struct nvjitlink {
    int (*create)(void **link, uint32_t noptions, const char **options);
    int (*destroy)(void **link);
    int (*add)(void *link, int type, const void *data, size_t bytes, const char *name);
    int (*complete)(void *link);
    int (*cubin_bytes)(void *link, size_t *out);
    int (*cubin)(void *link, void *out);
    int (*log_bytes)(void *link, size_t *out);
    int (*log)(void *link, char *out);
    int (*version)(unsigned *major, unsigned *minor); /* since 12.4 */
};
#define FUNCTION(name, field) {"nvJitLink" name, offsetof(struct nvjitlink, field), false}
static const struct ext_function nvjitlink_functions[] = {
    FUNCTION("Create", create),
    FUNCTION("Destroy", destroy),
    FUNCTION("AddData", add),
    FUNCTION("Complete", complete),
    FUNCTION("GetLinkedCubinSize", cubin_bytes),
    FUNCTION("GetLinkedCubin", cubin),
    FUNCTION("GetErrorLogSize", log_bytes),
    FUNCTION("GetErrorLog", log),
    {"nvJitLinkVersion", offsetof(struct nvjitlink, version), true},
};

static struct {
    pthread_once_t once;
    struct nvjitlink table;
    struct ext_opened opened;
} nvjitlink_state = {.once = PTHREAD_ONCE_INIT};

static void nvjitlink_open(void) {
    static const char *const names[] = {"libnvJitLink.so.13", "libnvJitLink.so.12", NULL};
    unsigned major = 0, minor = 0;
    if (!ext_open("HILO_NVJITLINK_PATH", names, nvjitlink_functions, sizeof nvjitlink_functions / sizeof *nvjitlink_functions,
                  &nvjitlink_state.table, &nvjitlink_state.opened))
        return;
    if (nvjitlink_state.table.version && nvjitlink_state.table.version(&major, &minor) == 0)
        snprintf(nvjitlink_state.opened.version, sizeof nvjitlink_state.opened.version, "%u.%u", major, minor);
}

const char *ext_nvjitlink_missing(void) {
    pthread_once(&nvjitlink_state.once, nvjitlink_open);
    return *nvjitlink_state.opened.why ? nvjitlink_state.opened.why : NULL;
}

/* With the first line of what it says. */
static hilo_status nvjitlink_failed(void *link, const char *gpu, int error, struct diag_list *d, const hilo_allocator *al) {
    size_t n = 0;
    char *log = NULL;
    if (link && nvjitlink_state.table.log_bytes(link, &n) == 0 && n && n < PTRDIFF_MAX)
        log = mem_alloc(al, n + 1);
    if (log) {
        log[0] = log[n] = '\0';
        if (nvjitlink_state.table.log(link, log) != 0)
            log[0] = '\0';
        log[strcspn(log, "\n")] = '\0';
    }
    hilo_status status = diag_error(d, HILO_FAILED_PRECONDITION, "nvJitLink %s for %s: error %d%s%.*s",
                                    nvjitlink_state.opened.version, gpu, error, log && *log ? ": " : "", (int)MOST_LOG,
                                    log ? log : "");
    mem_free(al, log, n + 1);
    return status;
}

/* `text` ends with a zero byte, which the library looks for. */
static int nvjitlink_run(void *link, struct str text, size_t *bytes) {
    int error = nvjitlink_state.table.add(link, INPUT_PTX, text.p, text.n, "hilo.ptx");
    if (!error)
        error = nvjitlink_state.table.complete(link);
    return error ? error : nvjitlink_state.table.cubin_bytes(link, bytes);
}

hilo_status ext_cubin(struct str ptx, const char *gpu, const hilo_allocator *al, struct diag_list *d, void **out,
                      size_t *bytes) {
    const char *why = ext_nvjitlink_missing();
    char arch[32];
    const char *options[] = {arch};
    void *link = NULL, *cubin = NULL;
    size_t n = 0;
    if (why)
        return diag_error(d, HILO_UNAVAILABLE,
                          "no nvJitLink (of NVIDIA's CUDA toolkit; HILO_NVJITLINK_PATH names its directory): %s", why);
    char *text = mem_alloc(al, ptx.n + 1);
    if (!text)
        return diag_error(d, HILO_RESOURCE_EXHAUSTED, "out of memory");
    memcpy(text, ptx.p, ptx.n);
    text[ptx.n] = '\0';
    snprintf(arch, sizeof arch, "-arch=%.16s", gpu);
    hilo_status status = HILO_OK;
    int error = nvjitlink_state.table.create(&link, 1, options);
    if (!error)
        error = nvjitlink_run(link, (struct str){text, ptx.n + 1}, &n);
    if (!error && !(cubin = mem_alloc(al, n)))
        status = diag_error(d, HILO_RESOURCE_EXHAUSTED, "out of memory for %zu bytes of code", n);
    if (cubin)
        error = nvjitlink_state.table.cubin(link, cubin);
    if (error)
        status = nvjitlink_failed(link, gpu, error, d, al);
    if (link)
        (void)nvjitlink_state.table.destroy(&link);
    mem_free(al, text, ptx.n + 1);
    if (status != HILO_OK) {
        mem_free(al, cubin, n);
        return status;
    }
    *out = cubin;
    *bytes = n;
    return HILO_OK;
}
