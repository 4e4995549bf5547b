/* What the subcommands of `hilo` share. Each subcommand has a file of its name (emit_graph.c: hilo emit). Besides:
 *
 *   main.c     dispatch, end of the process      options.c  command lines
 *   help.c     --help, man page, completion      session.c  client, errors, output files, terminal
 *   inputs.c   --input                           report.c   results and timing as text and files
 *   compare.c  run --compare                     trace.c    run --trace
 *   npy.c      numpy's files (npy.h), npz.c      recipe.c   inputs of benchmarks
 *   check_case.c, expect.c  one case of check    model.c    language models (model.h)
 *
 * A command returns an exit code. Results go to standard output, which main() flushes and checks; messages and progress go to
 * standard error. */
#ifndef HILO_CLI_CLI_H
#define HILO_CLI_CLI_H

#include "runtime/internal.h"

#include <stdio.h>

/* Exit codes; their table in help.c documents them. */
enum {
    CLI_OK = 0,
    CLI_FAILED = 1,      /* invalid program, failed run or check */
    CLI_USAGE = 2,       /* invalid command line or environment variable, or inputs that do not fit the program */
    CLI_ENVIRONMENT = 3, /* files, memory, missing libraries, devices */
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
    CLI_PASSES,   /* const char *: names of passes, separated by commas */
    CLI_KIR_PASSES, /* the same of passes over kernels */
    CLI_PASS,     /* const char *: the name of a pass */
    CLI_RULES,    /* struct cli_texts: names of rewrite rules */
    /* int: the number of the choice (cli_choice) */
    CLI_BACKEND,
    CLI_TIER,
    CLI_COMPILE_FORM, /* enum cli_compile_form */
    CLI_OPT_FORM,     /* enum cli_opt_form */
    CLI_KIR_FORM,     /* enum cli_kir_form */
    CLI_FLOATS,       /* enum opt_float */
    CLI_PRECISION,    /* enum llm_precision */
    CLI_GRAPH         /* enum llm_graph_kind */
};

/* The i-th value of an option that takes one of several; its name is NULL at the end, its help may be NULL. */
struct cli_choice { const char *name, *help; };
struct cli_choice cli_choice(enum cli_kind kind, size_t i);

/* The orders of the choices of --emit. */
enum cli_compile_form {
    CLI_EMIT_HILO, CLI_EMIT_STABLEHLO, CLI_EMIT_PLAN, CLI_EMIT_KIR, CLI_EMIT_LLVM, CLI_EMIT_ASM, CLI_EMIT_OBJECT
};
enum cli_opt_form { CLI_OPT_TEXT, CLI_OPT_BYTECODE, CLI_OPT_HLO };
enum cli_kir_form { CLI_KIR_TEXT, CLI_KIR_ASM, CLI_KIR_LLVM };

struct cli_option {
    const char *name;    /* "--entry", "-o" */
    const char *value;   /* placeholder of its value in the help; NULL for flags */
    enum cli_kind kind;
    size_t at;           /* offset in the command's struct of options */
    const char *help;    /* lines; the values that can be chosen follow it */
};

/* How a program is compiled: part of the options of every command that runs one. */
struct cli_compile {
    int64_t threads, memory_limit;
    const char *passes, *dump_dir, *target_cpu, *device, *machine;
    int32_t level;
    int backend; /* hilo_backend */
    int tier;    /* hilo_tier */
    bool no_cache, batch_invariant;
    bool quiet; /* the client logs nothing */
};
#define CLI_COMPILE_DEFAULTS {.level = 2, .backend = HILO_BACKEND_AUTO}
#define CLI_LEVEL_OPTIONS(type, field)                                                                               \
    {"-O", "0..3", CLI_LEVEL, offsetof(type, field.level), "optimisation level; default 2"},                         \
    {"--passes", "LIST", CLI_PASSES, offsetof(type, field.passes),                                                   \
     "run these passes instead of the level's, separated by\ncommas; see `hilo opt --list-passes`"},                 \
    {"--dump-dir", "DIR", CLI_TEXT, offsetof(type, field.dump_dir),                                                  \
     "write the program to this directory before and after\neach pass"},                                          \
    {"--backend", "B", CLI_BACKEND, offsetof(type, field.backend), "what executes the program; default auto:"},      \
    {"--target-cpu", "NAME", CLI_TEXT, offsetof(type, field.target_cpu),                                             \
     "generate code for this processor, named as LLVM does:\nx86-64-v3, sapphirerapids …; default: this machine's.\n"  \
     "What this machine cannot execute runs with\n--backend interpreter"},                                             \
    {"--target-gpu", "NAME", CLI_TEXT, offsetof(type, field.target_cpu),                                             \
     "the same for a GPU: sm_80, sm_89, sm_90a"}
#define CLI_MEMORY_OPTION(type, field)                                                                               \
    {"--memory-limit", "BYTES", CLI_NUMBER, offsetof(type, field.memory_limit),                                      \
     "limit for results and temporaries: cheap values are\nrecomputed instead of stored until the limit is met,\n"     \
     "and large ones, if need be, computed part by part"}
#define CLI_BATCH_OPTION(type, field)                                                                                \
    {"--batch-invariant", NULL, CLI_FLAG, offsetof(type, field.batch_invariant),                                     \
     "the bits of a row of a product do not depend on how\nmany rows, up to 16, are computed together"}
#define CLI_DEVICE_OPTION(type, field)                                                                               \
    {"--device", "D", CLI_TEXT, offsetof(type, field.device),                                                        \
     "where programs run: cpu (default), gpu or gpu:N, an\nNVIDIA GPU; see `hilo devices`"}
#define CLI_MACHINE_OPTION(type, field)                                                                              \
    {"--machine", "FILE", CLI_TEXT, offsetof(type, field.machine),                                                   \
     "place steps on the processor or the GPU of the machine\nthat this file describes; see docs/GPU.md"}
#define CLI_COMPILE_OPTIONS(type, field)                                                                             \
    {"--threads", "N", CLI_NUMBER, offsetof(type, field.threads), "number of threads; default: one per core"},       \
    CLI_DEVICE_OPTION(type, field),                                                                                  \
    CLI_MACHINE_OPTION(type, field),                                                                                 \
    CLI_MEMORY_OPTION(type, field),                                                                                  \
    CLI_BATCH_OPTION(type, field),                                                                                   \
    CLI_LEVEL_OPTIONS(type, field)
#define CLI_TIER_OPTION(type, field, usual)                                                                          \
    {"--tier", "T", CLI_TIER, offsetof(type, field.tier), "what makes machine code; default " usual ":"}
#define CLI_CACHE_OPTION(type, field)                                                                                \
    {"--no-cache", NULL, CLI_FLAG, offsetof(type, field.no_cache),                                                   \
     "do not use the compile cache: compile again, store nothing"}

struct cli_command {
    const char *name;
    const char *operands;              /* "FILE…", or "" */
    size_t least, most;                /* number of operands */
    const char *summary;               /* one line for `hilo help` */
    const char *text;                  /* description; lines end with \n, indented ones are kept as they are */
    const char *examples;              /* likewise */
    const struct cli_option *options;  /* ended by one without a name */
    int (*run)(const struct cli_command *self, int argc, char **argv);
};

/* All commands, ended by NULL (help.c). */
extern const struct cli_command *const cli_commands[];
extern const struct cli_command cli_run, cli_compile, cli_explain, cli_verify, cli_check, cli_bench, cli_opt, cli_ops;
extern const struct cli_command cli_devices, cli_kir, cli_cache, cli_calibrate;
extern const struct cli_command cli_generate, cli_embed, cli_tokenize, cli_template, cli_perplexity, cli_emit, cli_quantize;
extern const struct cli_command cli_convert, cli_serve;

/* Parses the arguments after the command's name into the struct `into` and the operands. Returns -1 when the command
   is to go on, else its exit code: after --help, or an error that was printed. The texts last as long as argv;
   cli_options_free releases the arrays. */
int cli_options(const struct cli_command *c, int argc, char **argv, void *into, struct cli_texts *operands);
void cli_options_free(const struct cli_command *c, void *into, struct cli_texts *operands);

/* The name nearest to a misspelt one, or NULL when none is near. `next` returns the i-th name, NULL at the end. */
const char *cli_nearest(const char *name, const char *(*next)(const void *names, size_t i), const void *names);

/* `hilo --version`; why programs cannot be compiled to machine code, "" when they can (devices.c). */
int cli_version(void);
void cli_codegen_missing(char *out, size_t size);

/* ---- help (help.c) --------------------------------------------------------------------------- */

void cli_help(const struct cli_command *c, FILE *out);
void cli_help_all(FILE *out);
/* `hilo help WORD`: a command, or `environment`, `man` (the manual page), `completion` (for bash). Returns an exit code. */
int cli_help_topic(const char *word);
/* The command of that name; NULL when there is none. */
const struct cli_command *cli_command_named(const char *name);
int cli_unknown_command(const char *name);

/* ---- session (session.c) --------------------------------------------------------------------- */

/* Prints `hilo: message` on standard error; returns `code`. */
int cli_error(int code, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Prints the client's diagnostics; returns the exit code for the status. */
int cli_fail(hilo_client *client, hilo_status status);

/* A client for these options. Returns 0, or an exit code after printing an error; so do all functions here that return int. */
int cli_client(const struct cli_compile *o, hilo_client **out);
/* The same in two steps; `log` lives as long as the client. */
struct cli_log {
    bool quiet, created; /* set by cli_client_create */
};
int cli_client_options(const struct cli_compile *o, hilo_client_options *out);
int cli_client_create(hilo_client_options *o, struct cli_log *log, hilo_client **out);
void cli_compile_options(const struct cli_compile *o, const char *entry, hilo_compile_options *out);
/* Reads and verifies a program; "-" is standard input. */
int cli_load(hilo_client *client, const char *path, hilo_module **out);
/* The same, compiled, or from the cache unless `o` disables it: `entry` may be NULL. A .hilo file is loaded unchanged. */
int cli_compile_program(hilo_client *client, const struct cli_compile *o, const char *entry, const char *path,
                        hilo_executable **out);

/* --partition (partition.c): makes the program that of one of its partitions, as many as it says, or as its largest mesh has
   devices. With `partitions` > 0 that many: the first axis of its meshes over all devices becomes so large. `entry` may be
   NULL. */
int cli_partition(hilo_client *client, hilo_module *module, const char *entry, int64_t partitions);
/* What is divided into how many parts, of a program that it made. */
void cli_partition_text(hilo_module *module, struct strbuf *out);

/* Writes a file, which is either complete or as it was before; standard output when `path` is NULL or "-". */
int cli_write(const char *path, const struct strbuf *bytes);

/* Writes a program as a portable artifact of that version of StableHLO, "1.9.0", or the newest when it is NULL; to
   standard output when `path` is NULL or "-". */
int cli_emit_bytecode(hilo_client *client, const hilo_module *module, const char *version, const char *path);

/* The same as HLO text, from level 2 on with the kernels of that level as fusions, which changes the module. */
int cli_emit_hlo(hilo_client *client, const hilo_module *module, int level, const char *path);

bool cli_terminal(FILE *f);
bool cli_colour(FILE *f); /* a terminal, and NO_COLOR is not set */

bool cli_ends_with(const char *text, const char *end);

/* Zeroed memory; ends the process with CLI_ENVIRONMENT when there is none. */
void *cli_alloc(size_t n, size_t size);

/* ---- inputs and results of a program (inputs.c, report.c) ------------------------------------ */

/* A buffer for every parameter, from the texts of --input; `file` is the program's, for messages. After a failure there is
   nothing to release. The caller frees *out. */
int cli_inputs(hilo_client *client, const hilo_executable *exe, const struct cli_texts *texts, const char *file,
               hilo_buffer ***out);

/* The same from a recipe, a JSON file (recipe.c), into buffers[], which the caller releases also after a failure. */
int cli_recipe_inputs(hilo_client *client, const hilo_executable *exe, const char *path, hilo_buffer **buffers);

/* Whether results can be written to a file of this name: .npz, or .npy for a single one. */
int cli_output_check(const hilo_executable *exe, const char *path);
int cli_output_write(const hilo_executable *exe, hilo_buffer *const *outputs, const char *path);
/* As text on standard output. */
void cli_output_print(const hilo_executable *exe, hilo_buffer *const *outputs);

/* Appends the text as a string of JSON, without `<`, so that it is safe inside of HTML. */
void cli_json_string(struct strbuf *out, const char *text);

/* Figures of n > 0 times, which are sorted; deviation: the standard deviation of a sample; p95: at most 5 % are longer. */
struct cli_figures { double median, least, mean, deviation, p95, p99; };
struct cli_figures cli_figures(double *ms, size_t n);
/* The figures of n runs, of a program that was ready after `ready_ms`; sorts `ms`. */
void cli_timing_print(double *ms, size_t n, double ready_ms, const hilo_stats *stats, bool json);

/* Runs and their steps as a trace (trace.c). _begin and _end enclose each hilo_execute, _step is its `step` callback. */
struct cli_trace;
struct cli_trace *cli_trace_new(void);
void cli_trace_free(struct cli_trace *t); /* NULL is fine */
void cli_trace_begin(struct cli_trace *t);
void cli_trace_step(void *trace, const hilo_step_event *e);
void cli_trace_end(struct cli_trace *t, double total_ms);
int cli_trace_write(const struct cli_trace *t, const char *path);

/* Whether numpy itself has the type: a letter and a size, not a name of ml_dtypes. */
static inline bool cli_numpy_has(const struct ir_dtype_info *t) {
    return t->npy[0] && t->npy[1] >= '0' && t->npy[1] <= '9';
}

/* ---- expectations (expect.c) ----------------------------------------------------------------- */

/* `// expected-error@+1 {{[add_c1] …}}`: an error of that line, and of that constraint where a label is given. */
struct expect {
    uint32_t line;
    char label[32]; /* or "" */
};
/* The expectations in a part of a file, and their number; the caller frees *out. */
size_t expect_parse(struct str part, uint32_t first_line, struct expect **out);

#endif
