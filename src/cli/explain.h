/* What `hilo explain` shows: as text (explain.c), as JSON and as a page (explain_page.c). */
#ifndef HILO_CLI_EXPLAIN_H
#define HILO_CLI_EXPLAIN_H

#include "cli/cli.h"

struct explain_row {
    uint32_t step, group; /* group: steps that run concurrently, of which this is the first; 0: none */
    const char *kind, *name, *text, *ops, *where; /* "" = none */
    double flops, bytes; /* of one execution */
    uint32_t half;       /* of a collective: its number, from its first half to the second; 0: it is one step */
    double received;     /* bytes from other processes, of one execution of a collective */
    const struct hilo_gpu_launch *launch; /* of a kernel of a GPU; else NULL */
    double ms;           /* of all executions of a run: measured, or the compiler's estimate */
    double times;        /* executions per run */
    double roof_ms;      /* of as many: the least time by flops and bytes at the machine's rates */
    double tasks;        /* of one execution; 0 = not known before it runs, or a group's first has them */
    double speedup;      /* over one thread, by the number and sizes of its tasks */
};

/* A task of one run; time from the start of the run. */
struct explain_task {
    uint32_t step, thread; /* thread: numbered in the order of their first tasks */
    double begin_ms, end_ms;
};

/* Where a buffer of the plan's block is needed: from its first step to its last. */
struct explain_live {
    uint32_t first, last; /* first > last: not needed */
};

struct explained {
    const char *file;
    const hilo_executable *exe;
    struct explain_row *rows; /* by step; after measuring by time */
    uint32_t nrows;
    int32_t threads;
    double total_ms;          /* of all rows */
    double speedup;           /* of all steps together whose tasks are known */
    uint32_t unknown;         /* routines whose tasks are not */
    double runs;              /* that were measured; 0 = times are estimates for one thread, with one iteration of loops */
    double flop_rate, byte_rate; /* per ms: measured with the threads of the run, or those of the record */
    struct explain_task *tasks;  /* of one more run */
    size_t ntasks;
    struct explain_live *live;   /* by buffer */
    const char *evaluated; /* why all of it runs on the reference evaluator; "" when it does not */
    uint64_t arguments, results, constants;
    uint32_t overlapped;         /* kernels and routines between the halves of collectives, */
    double overlapped_ms;        /* and their time */
    const char *link;            /* that was given for exchanges; NULL = none. Then, by a model, in ms: all steps; waits for */
    double step_ms, waits_ms, serial_ms; /* exchanges among them; all steps if nothing overlapped */
    const char *parts;           /* of --partition: what is divided; NULL = none */
    const char *gpu;             /* that it is for; NULL = none. Then steps, copies and copied bytes, loops counted once: */
    uint32_t launches, transfers;
    double transferred;
};

/* A model of the exchanges of a run by many processes: what one takes is LATENCY, BYTES / RATE for what a process receives, and
   MESSAGE for each peer. */
struct explain_link {
    double latency_ms, bytes_per_ms, message_ms;
};
/* "LAT,BW" or "LAT,BW,MSG": microseconds, GB/s, microseconds. */
bool explain_link_read(const char *text, struct explain_link *out);
/* The time of the steps with it, of which x->rows are in their order, with speed-ups. Loops count once. */
void explain_with_link(struct explained *x, const struct explain_link *link);

/* Branches are not: they do no work. */
bool explain_is_shown(const struct explain_row *r);
/* Of a kernel for the processor: "baseline" or "optimised", by the code that it has now; else "". */
const char *explain_tier(const struct explained *x, const struct explain_row *r);
/* The lines above the table of steps. */
void explain_head(const struct explained *x, struct strbuf *out);
/* Calls `put` with the reasons that occur after "materialised:" in the rows. */
void explain_reasons(const struct explained *x, struct strbuf *out,
                     void (*put)(struct strbuf *out, const char *name, const char *text));

/* All of it as one JSON object, which is safe inside of HTML. */
void explain_json(const struct explained *x, struct strbuf *out);
/* A page that contains that object and draws it; it refers to no other file. */
void explain_page(const struct explained *x, struct strbuf *out);

#endif
