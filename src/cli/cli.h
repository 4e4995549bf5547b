/* What the subcommands of `hilo` share.
 *
 *   main.c      finds the subcommand            run.c      hilo run         inputs.c   --input
 *   options.c   command lines and --help        check.c    hilo check       expect.c   // expected-error
 *   session.c   client, errors, terminal        opt.c      hilo opt         report.c   results and timing
 *   npy.c npz.c numpy's files (npy.h)           ops.c      hilo ops         devices.c  hilo devices
 *   bench.c     hilo bench                      recipe.c   inputs of benchmarks
 *   kir.c       hilo kir         cache.c    hilo cache       explain.c  hilo explain
 *   calibrate.c hilo calibrate
 *   model.c     language models (model.h)       generate.c tokenize.c perplexity.c emit_graph.c quantize.c
 *
 * A command answers an exit code. Only a command prints; messages and progress go to standard error. */
#ifndef HILO_CLI_CLI_H
#define HILO_CLI_CLI_H

#include "runtime/runtime.h"

#include <stdio.h>

/* Exit codes; `hilo help` documents them. */
enum {
    CLI_OK = 0,
    CLI_FAILED = 1,      /* the program is wrong, its run failed, or a check did */
    CLI_USAGE = 2,       /* the command line is wrong, or its inputs do not fit the program */
    CLI_ENVIRONMENT = 3, /* files, memory, devices */
    CLI_INTERRUPTED = 130
};

/* ---- command lines (options.c) --------------------------------------------------------------- */

struct cli_texts {
    const char **v;
    size_t n;
};

enum cli_kind {   /* of the field that an option sets */
    CLI_FLAG,     /* bool */
    CLI_NUMBER,   /* int64_t, not negative */
    CLI_REAL,     /* double, not negative */
    CLI_TEXT,     /* const char * */
    CLI_TEXTS,    /* struct cli_texts: may be given several times */
    CLI_LEVEL,    /* int32_t: -O0 … -O3 */
    CLI_BACKEND   /* hilo_backend */
};

struct cli_option {
    const char *name;    /* "--entry", "-o" */
    const char *value;   /* what stands for its value in the help; NULL for flags */
    enum cli_kind kind;
    size_t at;           /* offset in the command's struct of options */
    const char *help;    /* lines after the first are indented */
};

/* How a program is compiled: part of the options of every command that runs one. */
struct cli_compile {
    int64_t threads, memory_limit;
    const char *passes, *dump_dir, *target_cpu;
    int32_t level;
    hilo_backend backend;
    bool no_cache;
};
#define CLI_COMPILE_DEFAULTS {.level = 2, .backend = HILO_BACKEND_AUTO}
#define CLI_LEVEL_OPTIONS(type, field)                                                                               \
    {"-O", "0..3", CLI_LEVEL, offsetof(type, field.level), "level of optimisation; 2 by default"},                   \
    {"--passes", "LIST", CLI_TEXT, offsetof(type, field.passes), "these passes, separated by commas, not the level's"}, \
    {"--dump-dir", "DIR", CLI_TEXT, offsetof(type, field.dump_dir),                                                  \
     "write the program there, before and behind optimisation"},                                                    \
    {"--backend", "B", CLI_BACKEND, offsetof(type, field.backend),                                                   \
     "what runs the program: auto (the default), reference, the\nevaluator that defines every result, "               \
     "codegen, machine\ncode, library, the same with installed libraries wherever\nthey can (oneDNN, OpenBLAS, "      \
     "FFTW), or interpreter, which\ninterprets the kernels"},                                                         \
    {"--target-cpu", "NAME", CLI_TEXT, offsetof(type, field.target_cpu),                                             \
     "kernels for processors of that kind: \"x86-64-v3\",\n\"sapphirerapids\" …; this machine's by default. Any can be\n"  \
     "interpreted"}
#define CLI_MEMORY_OPTION(type, field)                                                                               \
    {"--memory-limit", "BYTES", CLI_NUMBER, offsetof(type, field.memory_limit),                                      \
     "for results and what is between: cheap values are computed\nagain rather than kept, until that is enough"}
#define CLI_COMPILE_OPTIONS(type, field)                                                                             \
    {"--threads", "N", CLI_NUMBER, offsetof(type, field.threads), "threads to use; one for each core by default"},   \
    CLI_MEMORY_OPTION(type, field),                                                                                  \
    CLI_LEVEL_OPTIONS(type, field)
#define CLI_CACHE_OPTION(type, field)                                                                                \
    {"--no-cache", NULL, CLI_FLAG, offsetof(type, field.no_cache),                                                   \
     "compile, though it was compiled before, and do not keep it"}

struct cli_command {
    const char *name;
    const char *operands;              /* "FILE…", or "" */
    size_t least, most;                /* number of operands */
    const char *summary;               /* one line for `hilo help` */
    const char *text;                  /* what it does, for its --help; lines end with \n */
    const char *examples;              /* likewise */
    const struct cli_option *options;  /* ended by one without a name */
    int (*run)(const struct cli_command *self, int argc, char **argv);
};

extern const struct cli_command cli_run, cli_compile, cli_explain, cli_check, cli_bench, cli_opt, cli_ops, cli_devices;
extern const struct cli_command cli_kir, cli_cache, cli_calibrate;
extern const struct cli_command cli_generate, cli_tokenize, cli_perplexity, cli_emit, cli_quantize;

/* Reads the arguments behind the command's name into the struct `into` and the operands. Answers -1 when the command
   is to go on, else its exit code: after --help, or an error that was printed. The texts last as long as argv;
   cli_options_free releases the arrays. */
int cli_options(const struct cli_command *c, int argc, char **argv, void *into, struct cli_texts *operands);
void cli_options_free(const struct cli_command *c, void *into, struct cli_texts *operands);

void cli_help(const struct cli_command *c, FILE *out);
/* The name nearest to a misspelt one, or NULL when none is near. `next` answers the i-th name, NULL at the end. */
const char *cli_nearest(const char *name, const char *(*next)(const void *names, size_t i), const void *names);

/* ---- session (session.c) --------------------------------------------------------------------- */

/* `hilo: message` on standard error; answers `code`. */
int cli_error(int code, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Prints what the client has to say and answers the exit code for the status. */
int cli_fail(hilo_client *client, hilo_status status);

/* A client for these options. On failure prints, and answers an exit code; else 0. */
int cli_client(const struct cli_compile *o, hilo_client **out);
void cli_compile_options(const struct cli_compile *o, const char *entry, hilo_compile_options *out);
/* Reads and verifies a program; "-" is standard input. */
int cli_load(hilo_client *client, const char *path, hilo_module **out);
/* The same, compiled, or from the cache unless `o` says otherwise: `entry` may be NULL. A .hilo file is loaded as it is.
   Answers 0 or an exit code. */
int cli_compile_program(hilo_client *client, const struct cli_compile *o, const char *entry, const char *path,
                        hilo_executable **out);

/* Writes a program as a portable artifact of that version of StableHLO, "1.9.0", or the newest when it is NULL; to
   standard output when `path` is NULL. Answers 0 or an exit code. */
int cli_emit_bytecode(hilo_client *client, const hilo_module *module, const char *version, const char *path);

/* The same as HLO text. */
int cli_emit_hlo(hilo_client *client, const hilo_module *module, const char *path);

bool cli_terminal(FILE *f);  /* a person sees it */
bool cli_colour(FILE *f);    /* the same, and NO_COLOR is not set */

bool cli_ends_with(const char *text, const char *end);

/* Zeroed memory; ends the process with CLI_ENVIRONMENT when there is none. */
void *cli_alloc(size_t n, size_t size);

/* ---- inputs and results of a program (inputs.c, report.c) ------------------------------------ */

/* A buffer for every parameter, from the texts of --input; `file` is the program's, for messages. Answers 0 or an
   exit code, after printing why; then there is nothing to release. The caller frees *out. */
int cli_inputs(hilo_client *client, const hilo_executable *exe, const struct cli_texts *texts, const char *file,
               hilo_buffer ***out);

/* The same by a recipe, a JSON file (recipe.c), into buffers[], which the caller releases also when it fails. */
int cli_recipe_inputs(hilo_client *client, const hilo_executable *exe, const char *path, hilo_buffer **buffers);

/* Whether results can be written to a file of this name: .npz, or .npy for one. Answers 0 or an exit code. */
int cli_output_check(const hilo_executable *exe, const char *path);
int cli_output_write(const hilo_executable *exe, hilo_buffer *const *outputs, const char *path);
/* As text on standard output. */
void cli_output_print(const hilo_executable *exe, hilo_buffer *const *outputs);

/* The median and the minimum of n > 0 times; sorts them. */
struct cli_figures { double median, least; };
struct cli_figures cli_figures(double *ms, size_t n);
/* The figures of n runs, of a program that was ready after `ready_ms`; sorts `ms`. */
void cli_timing_print(double *ms, size_t n, double ready_ms, const hilo_stats *stats, bool json);

/* A line a result on standard output: how far it is from what another backend made of the same inputs. Floats may be apart by
   `tolerance` times the largest magnitude of the expected result, 0 = by some rounding; integers not at all. Answers 0, or
   CLI_FAILED after saying so. */
int cli_compare_print(const hilo_executable *exe, hilo_buffer *const *results, hilo_buffer *const *expected,
                      double tolerance);

/* Runs and their steps as a trace (trace.c). _begin and _end stand around each hilo_execute, _step is its `step`.
   _write answers 0 or an exit code. */
struct cli_trace;
struct cli_trace *cli_trace_new(void);
void cli_trace_free(struct cli_trace *t); /* NULL is fine */
void cli_trace_begin(struct cli_trace *t);
void cli_trace_step(void *trace, const hilo_step_event *e);
void cli_trace_end(struct cli_trace *t, double total_ms);
int cli_trace_write(const struct cli_trace *t, const char *path);

/* numpy has the type itself: a letter and a size, not a name that ml_dtypes gives. */
static inline bool cli_numpy_has(const struct ir_dtype_info *t) {
    return t->npy[0] && t->npy[1] >= '0' && t->npy[1] <= '9';
}

/* ---- expectations (expect.c) ----------------------------------------------------------------- */

/* `// expected-error@+1 {{[add_c1] …}}`: an error of that line, and of that constraint where a label is given. */
struct expect {
    uint32_t line;
    char label[32]; /* or "" */
};
/* The expectations of a part of a file; the caller frees *out. */
size_t expect_parse(struct str part, uint32_t first_line, struct expect **out);

#endif
