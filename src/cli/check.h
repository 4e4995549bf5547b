/* hilo check in two halves: check.c finds cases, deals them to processes, and reports; check_case.c judges one. */
#ifndef HILO_CLI_CHECK_H
#define HILO_CLI_CHECK_H

#include "cli/cli.h"

struct check_options {
    struct cli_compile compile;
    const char *filter;
    int64_t timeout; /* seconds a case */
    int64_t jobs;    /* cases at once; 0 = one for each core */
    bool verbose;
    bool reload;     /* run what was written as a .hilo file and read again */
};

/* A part of a file between `// -----` lines. */
struct check_case {
    const char *path;
    struct str text;
    uint32_t line;   /* number of its first line */
    bool alone;      /* the file has no other part */
};

/* True when the case passes. Else `why` begins with a place and is one line, or with `verbose` all diagnostics. The
   client's diagnostics are left empty. */
bool check_case(hilo_client *client, const struct check_case *c, const struct check_options *o, char *why, size_t size);

#endif
