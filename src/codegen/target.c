/* What processors can do. Abilities come from feature lists alone: a virtual machine may report a model that it is not. */
#include "codegen/target.h"
#include "codegen/codegen.h"
#include "codegen/llvm.h"
#include "runtime/code.h"

#include <stdio.h>
#include <unistd.h>

#if defined(__x86_64__)
#define TARGET_HOST_TRIPLE "x86_64-unknown-linux-gnu"
#define TARGET_HOST_CPU    "x86-64"
#define TARGET_GENERIC     "x86-64-v2"
#else
#define TARGET_HOST_TRIPLE "aarch64-unknown-linux-gnu"
#define TARGET_HOST_CPU    "generic"
#define TARGET_GENERIC     "aarch64"
#endif

/* A row extends another one's features. */
struct target_row {
    const char *name, *base, *triple, *cpu, *features;
};
static const struct target_row target_rows[] = {
    {"x86-64-v2", NULL, "x86_64-unknown-linux-gnu", "x86-64", "+cx16,+sahf,+popcnt,+sse3,+ssse3,+sse4.1,+sse4.2"},
    {"x86-64-v3", "x86-64-v2", NULL, NULL, "+avx,+avx2,+bmi,+bmi2,+f16c,+fma,+lzcnt,+movbe,+xsave"},
    {"x86-64-v4", "x86-64-v3", NULL, NULL, "+avx512f,+avx512bw,+avx512cd,+avx512dq,+avx512vl"},
    {"sapphirerapids", "x86-64-v4", NULL, NULL,
     "+avx512vnni,+avx512vbmi,+avx512vbmi2,+avx512ifma,+avx512bitalg,+avx512vpopcntdq,+avx512bf16,+avx512fp16,+avxvnni,"
     "+gfni,+vaes,+vpclmulqdq,+amx-tile,+amx-bf16,+amx-int8"},
    {"aarch64", NULL, "aarch64-unknown-linux-gnu", "generic", "+neon,+fp-armv8"},
    {"generic", TARGET_GENERIC, NULL, NULL, ""},
};
enum { TARGET_ROWS = sizeof target_rows / sizeof *target_rows };

static const struct target_row *target_row(const char *name) {
    for (int i = 0; i < TARGET_ROWS; i++)
        if (strcmp(target_rows[i].name, name) == 0)
            return &target_rows[i];
    return NULL;
}

bool target_has(const struct cg_target *t, const char *feature) {
    size_t n = strlen(feature);
    for (const char *p = t->features; (p = strstr(p, feature)) != NULL; p += n)
        if (p > t->features && p[-1] == '+' && (p[n] == ',' || p[n] == '\0'))
            return true;
    return false;
}

bool target_is_x86(const struct cg_target *t) {
    return strncmp(t->triple, "x86_64", 6) == 0;
}

static size_t target_cache(int name, size_t otherwise) {
    long bytes = sysconf(name);
    return bytes > 0 ? (size_t)bytes : otherwise;
}

static void target_shape(struct cg_target *t, bool host) {
    bool x86 = target_is_x86(t), avx = target_has(t, "avx2"),
         wide = target_has(t, "avx512vl") && target_has(t, "avx512bw") && target_has(t, "avx512dq");
    t->shape = (struct kir_target){
        .vector_bytes = wide  ? 64
                        : avx ? 32
                              : 16,
        .vector_count = wide || !x86 ? 32 : 16,
        .l1_bytes = host ? target_cache(_SC_LEVEL1_DCACHE_SIZE, 32 << 10) : 32 << 10,
        .l2_bytes = host ? target_cache(_SC_LEVEL2_CACHE_SIZE, 1 << 20) : 1 << 20,
        .fma = !x86 || target_has(t, "fma"),
        .tile_bf16 = target_has(t, "amx-tile") && target_has(t, "amx-bf16"),
        .tile_i8 = target_has(t, "amx-tile") && target_has(t, "amx-int8"),
        .dot_i8 = target_has(t, "avx512vnni") || target_has(t, "avxvnni"),
    };
}

static void target_add(char *to, size_t size, const char *features) {
    size_t n = strlen(to);
    if (*features)
        snprintf(to + n, size - n, "%s%s", n ? "," : "", features);
}

static void target_of_row(const struct target_row *r, struct cg_target *t) {
    if (r->base)
        target_of_row(target_row(r->base), t);
    if (r->triple)
        snprintf(t->triple, sizeof t->triple, "%s", r->triple);
    if (r->cpu)
        snprintf(t->cpu, sizeof t->cpu, "%s", r->cpu);
    target_add(t->features, sizeof t->features, r->features);
}

static hilo_status target_unknown(const char *name, struct diag_list *d) {
    char names[256] = "";
    for (int i = 0; i < TARGET_ROWS; i++)
        target_add(names, sizeof names, target_rows[i].name);
    return diag_error(d, HILO_INVALID_ARGUMENT, "no target is named '%.64s'; there are %s", name, names);
}

static hilo_status target_host(struct cg_target *t, struct diag_list *d) {
    const struct llvm *l = llvm_get(d);
    if (!l)
        return HILO_UNAVAILABLE;
    char *features = l->GetHostCPUFeatures();
    snprintf(t->triple, sizeof t->triple, "%s", TARGET_HOST_TRIPLE);
    snprintf(t->cpu, sizeof t->cpu, "%s", TARGET_HOST_CPU);
    bool fits = strlen(features) < sizeof t->features;
    snprintf(t->features, sizeof t->features, "%s", fits ? features : "");
    l->DisposeMessage(features);
    return HILO_OK;
}

hilo_status cg_target(const char *name, struct cg_target *out, struct diag_list *d) {
    *out = (struct cg_target){0};
    const struct target_row *r = name ? target_row(name) : NULL;
    if (name && !r)
        return target_unknown(name, d);
    if (r)
        target_of_row(r, out);
    else
        HILO_TRY(target_host(out, d));
    target_shape(out, !name);
    if (!name && (out->shape.tile_bf16 || out->shape.tile_i8) && !rt_code_tiles())
        out->shape.tile_bf16 = out->shape.tile_i8 = false;
    return HILO_OK;
}
