/* See target.h. Abilities come from feature lists alone: a virtual machine may report a model that it is not. */
#include "target/target.h"

#include <stdio.h>
#include <unistd.h>

#if defined(__aarch64__)
#define TARGET_GENERIC "aarch64"
#else
#define TARGET_GENERIC "x86-64-v2"
#endif

static const struct {
    const char *machine, *triple, *cpu;
} isas[] = {
    [TARGET_X86_64] = {"x86_64", "x86_64-unknown-linux-gnu", "x86-64"},
    [TARGET_AARCH64] = {"aarch64", "aarch64-unknown-linux-gnu", "generic"},
    [TARGET_NVPTX] = {"nvptx64", "nvptx64-nvidia-cuda", "sm_80"},
};
enum { ISAS = sizeof isas / sizeof *isas };

struct gpu_row {
    const char *version;
    size_t shared;
    uint32_t multiprocessors;
    double memory, link, f32, f64, f16, s8;
    bool wgmma;
};
struct row {
    const char *name, *base;
    enum target_isa isa;
    const char *cpu;
    size_t l1, l2;
    const char *features;
    struct gpu_row gpu;
};
static const struct row rows[] = {
#define TARGET(...) {__VA_ARGS__, {0}},
#define GPU(name, cpu, features, version, shared, l2, ...)                                                                     \
    {name, NULL, TARGET_NVPTX, cpu, shared, l2, features, {version, shared, __VA_ARGS__}},
#include "target/targets.def"
};
enum { NONTEMPORAL_L3 = 32 << 20 }; /* of a larger L3 cache, many cores have a part */
enum { ROWS = sizeof rows / sizeof *rows };

const char *target_isa_name(enum target_isa isa) {
    return isa == TARGET_NO_ISA ? "none" : isas[isa].machine;
}

hilo_status target_isa_named(const char *machine, enum target_isa *out, struct diag_list *d) {
    for (int i = TARGET_NO_ISA + 1; i < ISAS; i++)
        if (strcmp(isas[i].machine, machine) == 0) {
            *out = (enum target_isa)i;
            return HILO_OK;
        }
    return diag_error(d, HILO_UNAVAILABLE, "no code generator for %.32s", machine);
}

bool target_has(const struct target *t, const char *feature) {
    size_t n = strlen(feature);
    for (const char *p = t->features; (p = strstr(p, feature)) != NULL; p += n)
        if (p > t->features && p[-1] == '+' && (p[n] == ',' || p[n] == '\0'))
            return true;
    return false;
}

/* What all machines have in common so far. */
static void set_common(struct target *t) {
    t->fma_in_flight = 8;
    t->line_bytes = 64;
    t->l1_way_bytes = 4096;
    t->stream_bytes = 32 << 10;
    t->scratch_bytes = 64 << 10;
    t->memory_rate = 8;
    t->compute_rate = 16;
    t->exchange_ns = 10000;
    t->exchange_rate = 2;
    t->tasks = 16;
    t->parallel_ops = 1 << 16;
    t->kernel_ops = 4096;
    t->packed_min = 32;
}

void target_portable(struct target *out) {
    *out = (struct target){.name = "portable", .vector_bytes = 16, .vector_registers = 16, .l1_bytes = 32 << 10,
                           .l2_bytes = 256 << 10};
    set_common(out);
}

/* A vector is a thread block, of as many threads as may have 255 registers each; blocks are many more than multiprocessors, and
   cost little to start. Scratch memory is what any kernel may declare as shared memory, less what reductions need. */
static void set_gpu(struct target *t, const struct gpu_row *r) {
    t->block_threads = 256;
    t->warp_threads = 32;
    t->vector_bytes = t->block_threads * sizeof(float);
    t->vector_registers = 32;
    t->scratch_bytes = 32 << 10;
    t->line_bytes = 128;
    t->tasks = 512;
    t->packed_min = INT64_MAX; /* operands are read in place */
    t->shared_bytes = r->shared << 10;
    t->cores = r->multiprocessors;
    t->ptx_version = r->version;
    t->memory_rate = r->memory;
    t->link_rate = r->link;
    t->f32_rate = r->f32 * 1000;
    t->f64_rate = r->f64 * 1000;
    t->f16_tile_rate = r->f16 * 1000;
    t->s8_tile_rate = r->s8 * 1000;
    t->wgmma = r->wgmma;
    t->compute_rate = t->f32_rate / 2;
}

void target_set_features(struct target *t, const char *features) {
    snprintf(t->features, sizeof t->features, "%s", strlen(features) < sizeof t->features ? features : "");
    bool x86 = t->isa == TARGET_X86_64;
    bool wide = target_has(t, "avx512vl") && target_has(t, "avx512bw") && target_has(t, "avx512dq");
    t->vector_bytes = wide ? 64 : target_has(t, "avx2") ? 32 : 16;
    t->vector_registers = wide || !x86 ? 32 : 16;
    t->tune = t->vector_bytes == 32 ? "x86-64-v3" : NULL; /* of x86-64 it knows no FMA, and has too many loads in flight */
    t->prefetch_bytes = wide ? 2048 : 0;
    t->map_prefetch_bytes = x86 ? 1024 : 0;
    t->fma = !x86 || target_has(t, "fma");
    t->dot_i8 = target_has(t, "avx512vnni") || target_has(t, "avxvnni") || target_has(t, "i8mm");
    t->dot_i8_signed = (target_has(t, "avxvnniint8") && !wide) || target_has(t, "dotprod"); /* there are no 512-bit forms */
    t->dot2_i8 = target_has(t, "ssse3");
    t->dot_bf16 = target_has(t, "avx512bf16") || (!x86 && target_has(t, "bf16"));
    t->tile_bf16 = target_has(t, "amx-tile") && target_has(t, "amx-bf16");
    t->tile_i8 = target_has(t, "amx-tile") && target_has(t, "amx-int8");
    t->tile_rows = t->tile_bf16 || t->tile_i8 ? 16 : 0;
    t->tile_row_bytes = 4 * t->tile_rows;
    t->tile_registers = t->tile_rows / 2;
    size_t l3 = t->l3_bytes < NONTEMPORAL_L3 ? t->l3_bytes : NONTEMPORAL_L3;
    t->nontemporal_bytes = !x86 ? 0 : l3 > 16 * t->l2_bytes ? l3 : 16 * t->l2_bytes;
}

bool target_gpu_runs(const char *cpu, int32_t major, int32_t minor) {
    int number = 0, end = 0;
    if (sscanf(cpu, "sm_%d%n", &number, &end) != 1)
        return false;
    int32_t here = 10 * major + minor;
    return cpu[end] ? here == number : here >= number;
}

/* CUDA Programming Guide, "Binary Compatibility". */
bool target_gpu_runs_cubin(const char *cpu, int32_t major, int32_t minor) {
    int number = 0;
    return target_gpu_runs(cpu, major, minor) && sscanf(cpu, "sm_%d", &number) == 1 && number / 10 == major;
}

const char *target_gpu(int32_t major, int32_t minor) {
    const char *best = NULL;
    for (int i = 0; i < ROWS; i++)
        if (rows[i].isa == TARGET_NVPTX && target_gpu_runs(rows[i].name, major, minor))
            best = rows[i].name;
    return best;
}

static const struct row *row_named(const char *name) {
    for (int i = 0; i < ROWS; i++)
        if (strcmp(rows[i].name, name) == 0)
            return &rows[i];
    return NULL;
}

static void add_features(char *to, size_t size, const char *features) {
    size_t n = strlen(to);
    if (*features)
        snprintf(to + n, size - n, "%s%s", n ? "," : "", features);
}

static void set_isa(struct target *t, enum target_isa isa) {
    t->isa = isa;
    snprintf(t->triple, sizeof t->triple, "%s", isas[isa].triple);
    snprintf(t->cpu, sizeof t->cpu, "%s", isas[isa].cpu);
}

static void read_row(const struct row *r, struct target *t, char *features, size_t size) {
    if (r->base)
        read_row(row_named(r->base), t, features, size);
    else
        set_isa(t, r->isa);
    if (r->cpu)
        snprintf(t->cpu, sizeof t->cpu, "%s", r->cpu);
    t->l1_bytes = r->l1 ? r->l1 << 10 : t->l1_bytes;
    t->l2_bytes = r->l2 ? r->l2 << 10 : t->l2_bytes;
    add_features(features, size, r->features);
}

hilo_status target_named(const char *name, struct target *out, struct diag_list *d) {
    const struct row *r = row_named(name);
    char text[sizeof out->features] = "";
    if (!r) {
        for (int i = 0; i < ROWS; i++)
            add_features(text, sizeof text, rows[i].name);
        return diag_error(d, HILO_NOT_FOUND, "no target is named '%.64s'; there are %s", name, text);
    }
    *out = (struct target){.name = r->name};
    set_common(out);
    read_row(r, out, text, sizeof text);
    target_set_features(out, text);
    if (r->isa == TARGET_NVPTX)
        set_gpu(out, &r->gpu);
    return HILO_OK;
}

static size_t system_size(int name, size_t otherwise) {
    long bytes = sysconf(name);
    return bytes > 0 ? (size_t)bytes : otherwise;
}

hilo_status target_host(struct target *out, struct diag_list *d) {
    enum target_isa isa = TARGET_NO_ISA;
    HILO_TRY(target_isa_named(target_cpu_machine(), &isa, d));
    *out = (struct target){.name = "host"};
    set_common(out);
    set_isa(out, isa);
    out->l1_bytes = system_size(_SC_LEVEL1_DCACHE_SIZE, 32 << 10);
    out->l2_bytes = system_size(_SC_LEVEL2_CACHE_SIZE, 1 << 20);
    out->l3_bytes = system_size(_SC_LEVEL3_CACHE_SIZE, 0);
    size_t ways = system_size(_SC_LEVEL1_DCACHE_ASSOC, 0);
    out->line_bytes = (uint32_t)system_size(_SC_LEVEL1_DCACHE_LINESIZE, out->line_bytes);
    out->l1_way_bytes = ways ? (uint32_t)(out->l1_bytes / ways) : out->l1_way_bytes;
    out->cores = target_cores();
    char features[sizeof out->features] = "";
    target_cpu_list(features, sizeof features);
    target_set_features(out, features);
    return HILO_OK;
}

void target_print(const struct target *t, struct strbuf *out) {
    strbuf_printf(out, "isa %s\n", target_isa_name(t->isa));
    strbuf_printf(out, "vectors %u B x %u\n", t->vector_bytes, t->vector_registers);
    strbuf_printf(out, "in flight %u\n", t->fma_in_flight);
    strbuf_printf(out, "units%s%s%s", t->fma ? " fma" : "", t->dot_i8 ? " dot-i8" : "", t->dot_bf16 ? " dot-bf16" : "");
    strbuf_printf(out, "%s%s%s", t->dot_i8_signed ? " dot-i8-signed" : "", t->dot2_i8 ? " dot2-i8" : "",
                  t->tile_i8 ? " tile-i8" : "");
    strbuf_printf(out, "%s\n", t->tile_bf16 ? " tile-bf16" : "");
    if (t->tile_rows)
        strbuf_printf(out, "tiles %u x %u B x %u\n", t->tile_rows, t->tile_row_bytes, t->tile_registers);
    if (t->block_threads) {
        strbuf_printf(out, "blocks %u threads, %zu KiB shared, PTX %s%s\n", t->block_threads, t->shared_bytes >> 10,
                      t->ptx_version, t->wgmma ? ", wgmma" : "");
        strbuf_printf(out, "rates %g f32, %g f64, %g f16, %g s8 ops/ns, link %g B/ns\n", t->f32_rate, t->f64_rate,
                      t->f16_tile_rate, t->s8_tile_rate, t->link_rate);
    }
    strbuf_printf(out, "caches %zu KiB, %zu KiB, %zu KiB\n", t->l1_bytes >> 10, t->l2_bytes >> 10, t->l3_bytes >> 10);
    strbuf_printf(out, "lines %u B, ways %u B, streams %u B, prefetch %u B, %u B\n", t->line_bytes, t->l1_way_bytes,
                  t->stream_bytes, t->prefetch_bytes, t->map_prefetch_bytes);
    strbuf_printf(out, "scratch %zu KiB, non-temporal stores from %zu KiB\n", t->scratch_bytes >> 10,
                  t->nontemporal_bytes >> 10);
    strbuf_printf(out, "rates %g B/ns, %g ops/ns; exchanges %g ns, %g B/ns\n", t->memory_rate, t->compute_rate, t->exchange_ns,
                  t->exchange_rate);
    strbuf_printf(out, "work %u cores, %u tasks, %lld, %lld, %lld\n", t->cores, t->tasks, (long long)t->parallel_ops,
                  (long long)t->kernel_ops, (long long)t->packed_min);
    if (t->tune)
        strbuf_printf(out, "tuned for %s\n", t->tune);
    strbuf_printf(out, "features %s\n", t->features);
}
