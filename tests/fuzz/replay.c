/* Runs a fuzz target without libFuzzer: on every file that is named, and on every file below the
 * directories that are named; or with -runs=N [-seed=S] on N random inputs, the same for the same seed. What crashed
 * once becomes a file in tests/regress/, and is run again by every test run. */
#include <errno.h>
#include <fts.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* False when the file cannot be read. The copy has exactly the file's size, so that a sanitizer
   sees reads past it. */
static bool replay_file(const char *path, size_t size) {
    FILE *f = fopen(path, "rb");
    if (!f)
        return false;
    uint8_t *data = malloc(size ? size : 1);
    bool whole = data && fread(data, 1, size, f) == size;
    fclose(f);
    if (whole)
        LLVMFuzzerTestOneInput(data, size);
    free(data);
    return whole;
}

static uint64_t mix(uint64_t x) { /* splitmix64 */
    x += UINT64_C(0x9E3779B97F4A7C15);
    x = (x ^ x >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    x = (x ^ x >> 27) * UINT64_C(0x94D049BB133111EB);
    return x ^ x >> 31;
}

/* Run i of a seed is run 0 of seed + i: the last line tells how to repeat the one that crashed. */
static int random_runs(const char *program, unsigned long long runs, unsigned long long seed) {
    enum { MOST = 512 };
    uint8_t data[MOST];
    for (unsigned long long i = 0; i < runs; i++) {
        uint64_t x = mix(seed + i);
        size_t size = (size_t)(x % MOST) + 1;
        for (size_t k = 0; k < size; k++)
            data[k] = (uint8_t)mix(x + k);
        printf("%s -runs=1 -seed=%llu\n", program, seed + i);
        fflush(stdout);
        LLVMFuzzerTestOneInput(data, size);
    }
    printf("%llu passed, 0 failed\n", runs);
    return 0;
}

int main(int argc, char **argv) {
    unsigned long long runs, seed = 0;
    if (argc < 2) {
        fprintf(stderr, "usage: %s FILE|DIRECTORY...\n       %s -runs=N [-seed=S]\n", argv[0], argv[0]);
        return 2;
    }
    if (sscanf(argv[1], "-runs=%llu", &runs) == 1) {
        if (argc > 2 && sscanf(argv[2], "-seed=%llu", &seed) != 1)
            return 2;
        return random_runs(argv[0], runs, seed);
    }
    FTS *tree = fts_open(argv + 1, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
    if (!tree) {
        perror(argv[1]);
        return 2;
    }
    unsigned passed = 0, failed = 0;
    for (FTSENT *e; (e = fts_read(tree));) {
        if (e->fts_info == FTS_D || e->fts_info == FTS_DP)
            continue;
        /* After a crash the last line tells which file it was. */
        printf("%s\n", e->fts_path);
        fflush(stdout);
        if (e->fts_info == FTS_F && replay_file(e->fts_path, (size_t)e->fts_statp->st_size)) {
            passed++;
        } else {
            int reason = e->fts_errno ? e->fts_errno : errno;
            fprintf(stderr, "%s: %s\n", e->fts_path, strerror(reason));
            failed++;
        }
    }
    fts_close(tree);
    printf("%u passed, %u failed\n", passed, failed);
    return failed > 0;
}
