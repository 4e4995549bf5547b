/* What `hilo bench` has measured, and its reports (bench_report.c). */
#ifndef HILO_CLI_BENCH_H
#define HILO_CLI_BENCH_H

#include "cli/cli.h"

enum bench_form { BENCH_TEXT, BENCH_JSON, BENCH_CSV };

struct bench_result {
    const char *name;   /* of the file, without its directory */
    bool failed;        /* then nothing else is known */
    double *ms;         /* of the runs, in order of size */
    size_t n;
    struct cli_figures figures;
    double ready_ms;    /* reading, verifying, compiling */
    double first_ms;    /* the same with the first run */
    uint64_t peak_bytes;
    double before_ms;   /* the median of the figures that these are compared with; 0 = none */
};

/* A list of results as text: what precedes them, one of them, what follows. */
void bench_begin(enum bench_form form, bool compared, struct strbuf *out);
void bench_row(enum bench_form form, const struct bench_result *r, bool compared, bool first, struct strbuf *out);
void bench_end(enum bench_form form, const struct bench_result *v, size_t n, struct strbuf *out);

/* Writes them to a file, from which bench_before reads them. */
int bench_save(const char *path, const struct bench_result *v, size_t n);
/* A page with the distribution of each program's times. */
int bench_page(const char *path, const struct bench_result *v, size_t n, bool compared);

/* The medians of a file of bench_save, by name; _find sets before_ms of a result. Close it also where _open has failed. */
struct bench_before;
int bench_before_open(const char *path, struct bench_before **out);
void bench_before_find(const struct bench_before *before, struct bench_result *r);
void bench_before_close(struct bench_before *before); /* NULL is fine */

#endif
