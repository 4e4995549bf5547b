/* Features by CPUID. Others that LLVM lists (for the system, for cryptography) are not used by what hilo generates. */
#include "target/target.h"

#include <stdio.h>

#if defined(__x86_64__)
#include <cpuid.h>
#include <pthread.h>

enum { EAX, EBX, ECX, EDX };
enum leaf { LEAF_1, LEAF_7, LEAF_7_1, LEAF_EXTENDED, LEAVES };

struct feature {
    const char *name;
    enum leaf leaf;
    unsigned reg, bit;
};
static const struct feature features_known[] = {
    {"sse3", LEAF_1, ECX, 0}, {"ssse3", LEAF_1, ECX, 9}, {"fma", LEAF_1, ECX, 12}, {"sse4.1", LEAF_1, ECX, 19},
    {"sse4.2", LEAF_1, ECX, 20}, {"movbe", LEAF_1, ECX, 22}, {"popcnt", LEAF_1, ECX, 23}, {"avx", LEAF_1, ECX, 28},
    {"f16c", LEAF_1, ECX, 29}, {"bmi", LEAF_7, EBX, 3}, {"avx2", LEAF_7, EBX, 5}, {"bmi2", LEAF_7, EBX, 8},
    {"avx512f", LEAF_7, EBX, 16}, {"avx512dq", LEAF_7, EBX, 17}, {"avx512ifma", LEAF_7, EBX, 21},
    {"avx512cd", LEAF_7, EBX, 28}, {"avx512bw", LEAF_7, EBX, 30}, {"avx512vl", LEAF_7, EBX, 31},
    {"avx512vbmi", LEAF_7, ECX, 1}, {"avx512vbmi2", LEAF_7, ECX, 6}, {"gfni", LEAF_7, ECX, 8},
    {"avx512vnni", LEAF_7, ECX, 11}, {"avx512bitalg", LEAF_7, ECX, 12}, {"avx512vpopcntdq", LEAF_7, ECX, 14},
    {"avx512fp16", LEAF_7, EDX, 23}, {"amx-bf16", LEAF_7, EDX, 22}, {"amx-tile", LEAF_7, EDX, 24},
    {"amx-int8", LEAF_7, EDX, 25}, {"avxvnni", LEAF_7_1, EAX, 4}, {"avx512bf16", LEAF_7_1, EAX, 5},
    {"avxifma", LEAF_7_1, EAX, 23}, {"avxvnniint8", LEAF_7_1, EDX, 4}, {"avxneconvert", LEAF_7_1, EDX, 5},
    {"lzcnt", LEAF_EXTENDED, ECX, 5},
};

/* CPUID is read once: a virtual machine traps to its host each time, which is slow. */
static struct {
    pthread_once_t once;
    unsigned regs[LEAVES][4];
    unsigned saved; /* the registers that the system keeps for each thread: low bits of XCR0 */
} cpu_state = {.once = PTHREAD_ONCE_INIT};

static void read_cpuid(void) {
    static const unsigned leaves[LEAVES][2] = {{1, 0}, {7, 0}, {7, 1}, {0x80000001, 0}};
    for (int i = 0; i < LEAVES; i++) {
        unsigned *r = cpu_state.regs[i];
        if (!__get_cpuid_count(leaves[i][0], leaves[i][1], &r[EAX], &r[EBX], &r[ECX], &r[EDX]))
            memset(r, 0, sizeof cpu_state.regs[i]);
    }
    enum { OSXSAVE = 1 << 27 };
    if (cpu_state.regs[LEAF_1][ECX] & OSXSAVE)
        __asm__("xgetbv" : "=a"(cpu_state.saved) : "c"(0) : "edx");
}

/* The bits of XCR0 for the registers that a feature's instructions work on. */
static unsigned registers_of(const char *feature) {
    enum { YMM = 0x6, ZMM = 0xE6, TILES = 0x60006 };
    if (strncmp(feature, "amx", 3) == 0)
        return TILES;
    if (strncmp(feature, "avx512", 6) == 0)
        return ZMM;
    bool vex = strncmp(feature, "avx", 3) == 0 || strcmp(feature, "fma") == 0 || strcmp(feature, "f16c") == 0;
    return vex ? YMM : 0;
}

static bool has_known(const struct feature *f) {
    pthread_once(&cpu_state.once, read_cpuid);
    unsigned needed = registers_of(f->name);
    return (cpu_state.regs[f->leaf][f->reg] >> f->bit & 1) && (cpu_state.saved & needed) == needed;
}

const char *target_cpu_machine(void) {
    return "x86_64";
}
#else
#if defined(__aarch64__)
#include <sys/auxv.h>
#endif

struct feature {
    const char *name;
    unsigned long type, bit; /* of what the system says of the processor; 0: every AArch64 processor that hilo runs on has it */
};
enum { HWCAP = 16, HWCAP2 = 26 }; /* AT_HWCAP, AT_HWCAP2; bits as in Linux's arch/arm64/include/uapi/asm/hwcap.h */
static const struct feature features_known[] = {{"neon", 0, 0},      {"fp-armv8", 0, 0},  {"fullfp16", HWCAP, 10},
                                                {"dotprod", HWCAP, 20}, {"i8mm", HWCAP2, 13}, {"bf16", HWCAP2, 14}};

static bool has_known(const struct feature *f) {
#if defined(__aarch64__)
    return !f->type || (getauxval(f->type) >> f->bit & 1);
#else
    (void)f;
    return false;
#endif
}

const char *target_cpu_machine(void) {
#if defined(__aarch64__)
    return "aarch64";
#elif defined(__riscv) && __riscv_xlen == 64
    return "riscv64";
#elif defined(__powerpc64__)
    return "ppc64le";
#elif defined(__s390x__)
    return "s390x";
#elif defined(__loongarch64)
    return "loongarch64";
#else
    return "this machine";
#endif
}
#endif

static const struct feature *known(struct str name) {
    for (size_t i = 0; i < sizeof features_known / sizeof *features_known; i++)
        if (str_is(name, features_known[i].name))
            return &features_known[i];
    return NULL;
}

bool target_cpu_has(struct str feature) {
    const struct feature *f = known(feature);
    return f && has_known(f);
}

void target_cpu_list(char *out, size_t size) {
    size_t n = 0;
    out[0] = '\0';
    for (size_t i = 0; i < sizeof features_known / sizeof *features_known && n < size; i++)
        if (has_known(&features_known[i]))
            n += (size_t)snprintf(out + n, size - n, "%s+%s", n ? "," : "", features_known[i].name);
}

bool target_cpu_next(struct str features, size_t *at, struct str *out) {
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
