/* Features by CPUID. Others that LLVM lists (for the system, for cryptography) are not used by what hilo generates. */
#include "runtime/cpu.h"

#if defined(__x86_64__)
#include <cpuid.h>

enum { EAX, EBX, ECX, EDX };

struct feature {
    const char *name;
    unsigned leaf, subleaf, reg, bit;
};
static const struct feature features_known[] = {
    {"sse3", 1, 0, ECX, 0},         {"ssse3", 1, 0, ECX, 9},        {"fma", 1, 0, ECX, 12},
    {"sse4.1", 1, 0, ECX, 19},      {"sse4.2", 1, 0, ECX, 20},      {"movbe", 1, 0, ECX, 22},
    {"popcnt", 1, 0, ECX, 23},      {"avx", 1, 0, ECX, 28},         {"f16c", 1, 0, ECX, 29},
    {"bmi", 7, 0, EBX, 3},          {"avx2", 7, 0, EBX, 5},         {"bmi2", 7, 0, EBX, 8},
    {"avx512f", 7, 0, EBX, 16},     {"avx512dq", 7, 0, EBX, 17},    {"avx512ifma", 7, 0, EBX, 21},
    {"avx512cd", 7, 0, EBX, 28},    {"avx512bw", 7, 0, EBX, 30},    {"avx512vl", 7, 0, EBX, 31},
    {"avx512vbmi", 7, 0, ECX, 1},   {"avx512vbmi2", 7, 0, ECX, 6},  {"gfni", 7, 0, ECX, 8},
    {"avx512vnni", 7, 0, ECX, 11},  {"avx512bitalg", 7, 0, ECX, 12}, {"avx512vpopcntdq", 7, 0, ECX, 14},
    {"avx512fp16", 7, 0, EDX, 23},  {"amx-bf16", 7, 0, EDX, 22},    {"amx-tile", 7, 0, EDX, 24},
    {"amx-int8", 7, 0, EDX, 25},    {"avxvnni", 7, 1, EAX, 4},      {"avx512bf16", 7, 1, EAX, 5},
    {"avxifma", 7, 1, EAX, 23},     {"avxvnniint8", 7, 1, EDX, 4},  {"avxneconvert", 7, 1, EDX, 5},
    {"lzcnt", 0x80000001, 0, ECX, 5},
};

static bool has_known(const struct feature *f) {
    unsigned r[4];
    return __get_cpuid_count(f->leaf, f->subleaf, &r[EAX], &r[EBX], &r[ECX], &r[EDX]) && (r[f->reg] >> f->bit & 1);
}

const char *rt_cpu_machine(void) {
    return "x86_64";
}
#else
struct feature {
    const char *name;
};
static const struct feature features_known[] = {{"neon"}, {"fp-armv8"}};

/* Every processor of the kind that hilo is built for has these. */
static bool has_known(const struct feature *f) {
    (void)f;
    return true;
}

const char *rt_cpu_machine(void) {
    return "aarch64";
}
#endif

static const struct feature *known(struct str name) {
    for (size_t i = 0; i < sizeof features_known / sizeof *features_known; i++)
        if (str_is(name, features_known[i].name))
            return &features_known[i];
    return NULL;
}

bool rt_cpu_has(struct str feature) {
    const struct feature *f = known(feature);
    return f && has_known(f);
}

void rt_cpu_list(struct strbuf *out) {
    for (size_t i = 0; i < sizeof features_known / sizeof *features_known; i++)
        if (has_known(&features_known[i]))
            strbuf_printf(out, "%s+%s", out->n ? "," : "", features_known[i].name);
}

bool rt_cpu_next(struct str features, size_t *at, struct str *out) {
    while (*at < features.n) {
        const char *p = features.p + *at;
        const char *comma = memchr(p, ',', features.n - *at);
        size_t n = comma ? (size_t)(comma - p) : features.n - *at;
        *at += n + (comma != NULL);
        *out = (struct str){p + 1, n ? n - 1 : 0};
        if (n > 1 && *p == '+' && known(*out))
            return true;
    }
    return false;
}
