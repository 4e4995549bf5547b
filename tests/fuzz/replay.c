/* Runs a fuzz target without libFuzzer: on every file that is named, and on every file below the
 * directories that are named. What crashed once becomes a file in tests/regress/, and is run again
 * by every test run. */
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

int main(int argc, char **argv) {
    if (argc < 2) {
        fprintf(stderr, "usage: %s FILE|DIRECTORY...\n", argv[0]);
        return 2;
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
