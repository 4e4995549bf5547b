/* Code on the device: PTX, which the driver compiles when it is loaded, or cubins. */
#include "gpu/device.h"

#include <elf.h>
#include <string.h>

enum { LOG_BYTES = 4096, JIT_ERROR_LOG = 5, JIT_ERROR_LOG_BYTES = 6, FUNCTION_SHARED_BYTES = 8 };

struct gpu_module {
    struct gpu *g;
    void *handle;
};

static bool is_inside(size_t bytes, uint64_t at, uint64_t n) {
    return at <= bytes && n <= bytes - at;
}

static bool sections_are_inside(struct str image, const Elf64_Ehdr *h) {
    Elf64_Shdr s;
    for (size_t i = 0; i < h->e_shnum; i++) {
        memcpy(&s, image.p + h->e_shoff + i * sizeof s, sizeof s);
        if (s.sh_link >= h->e_shnum || (s.sh_type != SHT_NOBITS && !is_inside(image.n, s.sh_offset, s.sh_size)))
            return false;
    }
    return true;
}

static bool segments_are_inside(struct str image, const Elf64_Ehdr *h) {
    Elf64_Phdr p;
    for (size_t i = 0; i < h->e_phnum; i++) {
        memcpy(&p, image.p + h->e_phoff + i * sizeof p, sizeof p);
        if (!is_inside(image.n, p.p_offset, p.p_filesz))
            return false;
    }
    return true;
}

/* Whether all that the headers of a cubin, an ELF file, speak of is in it: the driver is not told how long it is. So many
   sections or segments that their number is elsewhere (e_shnum 0, e_phnum PN_XNUM) are refused: no cubin has them. */
static bool cubin_is_whole(struct str image) {
    Elf64_Ehdr h;
    if (image.n < sizeof h)
        return false;
    memcpy(&h, image.p, sizeof h);
    return h.e_ident[EI_CLASS] == ELFCLASS64 && h.e_ident[EI_DATA] == ELFDATA2LSB && h.e_machine == EM_CUDA &&
           (h.e_shnum ? h.e_shstrndx < h.e_shnum && h.e_shentsize == sizeof(Elf64_Shdr) : !h.e_shoff) &&
           (h.e_phnum ? h.e_phnum != PN_XNUM && h.e_phentsize == sizeof(Elf64_Phdr) : !h.e_phoff) &&
           is_inside(image.n, h.e_shoff, (uint64_t)h.e_shnum * sizeof(Elf64_Shdr)) &&
           is_inside(image.n, h.e_phoff, (uint64_t)h.e_phnum * sizeof(Elf64_Phdr)) && sections_are_inside(image, &h) &&
           segments_are_inside(image, &h);
}

/* The driver reads text up to its zero byte. */
static hilo_status module_load(struct gpu *g, const char *image, struct diag_list *d, void **out) {
    char log[LOG_BYTES] = "";
    int options[] = {JIT_ERROR_LOG, JIT_ERROR_LOG_BYTES};
    void *values[] = {log, (void *)(uintptr_t)sizeof log};
    HILO_TRY(gpu_enter(g, d));
    int error = g->driver->cuModuleLoadDataEx(out, image, 2, options, values);
    hilo_status status = gpu_driver_check(g->driver, error, "cuModuleLoadDataEx", d);
    log[sizeof log - 1] = '\0';
    if (status != HILO_OK && *log)
        diag_error(d, status, "the driver's compiler: %.1024s", log);
    return status;
}

hilo_status gpu_module_load(struct gpu *g, struct str image, struct diag_list *d, struct gpu_module **out) {
    bool elf = image.n >= SELFMAG && memcmp(image.p, ELFMAG, SELFMAG) == 0;
    if (elf && !cubin_is_whole(image))
        return diag_error(d, HILO_FAILED_PRECONDITION, "a cubin that is not well formed");
    struct gpu_module *m = mem_alloc(&g->al, sizeof *m);
    char *text = m ? mem_alloc(&g->al, image.n + 1) : NULL;
    hilo_status status = HILO_RESOURCE_EXHAUSTED;
    if (text) {
        memcpy(text, image.p, image.n);
        text[image.n] = '\0';
        *m = (struct gpu_module){.g = g};
        status = module_load(g, text, d, &m->handle);
        mem_free(&g->al, text, image.n + 1);
    }
    if (status == HILO_OK)
        *out = m;
    else
        mem_free(&g->al, m, sizeof *m);
    return status;
}

void gpu_module_free(struct gpu_module *m) {
    if (!m)
        return;
    struct gpu *g = m->g;
    (void)g->driver->cuCtxSetCurrent(g->context);
    (void)g->driver->cuStreamSynchronize(g->stream);
    (void)g->driver->cuModuleUnload(m->handle);
    mem_free(&g->al, m, sizeof *m);
}

struct gpu_function *gpu_module_find(struct gpu_module *m, const char *name) {
    void *f = NULL;
    if (m->g->driver->cuCtxSetCurrent(m->g->context) != 0 || m->g->driver->cuModuleGetFunction(&f, m->handle, name) != 0)
        return NULL;
    return f;
}

hilo_status gpu_function_shared(struct gpu *g, struct gpu_function *f, uint32_t bytes, struct diag_list *d) {
    HILO_TRY(gpu_enter(g, d));
    return GPU_CALL(g->driver, d, cuFuncSetAttribute, f, FUNCTION_SHARED_BYTES, (int)bytes);
}

/* A map has the room of 16 pointers, and is aligned to that of 8. */
hilo_status gpu_check_launch(const struct hilo_gpu_launch *launch, struct diag_list *d) {
    enum { MAP = 24 };
    return launch->nmaps <= HILO_GPU_MAPS && launch->params <= GPU_MOST_PARAMS - MAP * launch->nmaps
               ? HILO_OK
               : diag_error(d, HILO_UNIMPLEMENTED, "a kernel with %u parameters; a GPU takes %d", launch->params,
                            (int)GPU_MOST_PARAMS);
}

static hilo_status make_map(const struct gpu *g, const struct hilo_gpu_map *map, void *p, struct cuda_map *out,
                            struct diag_list *d) {
    static const uint8_t types[] = {[1] = CUDA_MAP_UINT8, [2] = CUDA_MAP_UINT16, [4] = CUDA_MAP_UINT32, [8] = CUDA_MAP_UINT64};
    const uint64_t sizes[] = {map->columns, map->lines};
    const unsigned box[] = {128 / map->element_bytes, map->box_lines}, steps[] = {1, 1};
    return GPU_CALL(g->driver, d, cuTensorMapEncodeTiled, out, types[map->element_bytes], 2, p, sizes, &map->line_bytes, box,
                    steps, 0, CUDA_SWIZZLE_128, CUDA_L2_128, 0);
}

hilo_status gpu_make_arguments(const struct gpu *g, const struct hilo_gpu_launch *launch, void *const *params,
                               struct gpu_arguments *out, struct diag_list *d) {
    for (uint32_t i = 0; i < launch->params; i++)
        out->at[i] = (void *)(uintptr_t)&params[i];
    for (uint32_t i = 0; i < launch->nmaps; i++) {
        out->at[launch->params + i] = &out->maps[i];
        HILO_TRY(make_map(g, &launch->maps[i], params[launch->maps[i].param], &out->maps[i], d));
    }
    return HILO_OK;
}

hilo_status gpu_launch(struct gpu *g, struct gpu_function *f, const struct hilo_gpu_launch *launch, void *const *params,
                       struct diag_list *d) {
    struct gpu_arguments x;
    HILO_TRY(gpu_check_launch(launch, d));
    if (!launch->blocks)
        return HILO_OK;
    HILO_TRY(gpu_enter(g, d));
    HILO_TRY(gpu_make_arguments(g, launch, params, &x, d));
    return GPU_CALL(g->driver, d, cuLaunchKernel, f, launch->blocks, 1, 1, launch->threads, 1, 1, launch->shared_bytes,
                    g->stream, x.at, NULL);
}
