/* What the commands on language models share: their options, sessions, interruption, JSON. */
#ifndef HILO_CLI_MODEL_H
#define HILO_CLI_MODEL_H

#include "cli/cli.h"
#include "cli/processes.h"
#include "llm/generate.h"

#include <stdatomic.h>

struct cli_model {
    const char *dir, *engine;
    int precision; /* enum llm_precision */
    int64_t context, threads;
    int64_t processes, devices; /* over which the model is divided; 0 = not said */
    struct cli_log *log;        /* of a client with nodes or devices; NULL: the command is for one. Outlives the client */
    int32_t level;
    bool cache8;
};
#define CLI_MODEL_DEFAULTS {.level = 2}
#define CLI_MODEL_DIR(type, field)                                                                                     \
    {"-m", "MODEL", CLI_TEXT, offsetof(type, field.dir), "model directory: config.json, tokenizer.json, *.safetensors"}
#define CLI_MODEL_OPTIONS(type, field)                                                                                 \
    CLI_MODEL_DIR(type, field),                                                                                        \
    {"--precision", "P", CLI_PRECISION, offsetof(type, field.precision),                                               \
     "of weights and products; default auto, as stored:"},                                                              \
    {"--engine", "E", CLI_TEXT, offsetof(type, field.engine),                                                          \
     "what runs the model: hilo, hilo:gpu for a GPU, reference, or\n"                                                     \
     "pjrt:PATH, a PJRT plugin; default: HILO_ENGINE, or hilo"},                                                          \
    {"--context", "N", CLI_NUMBER, offsetof(type, field.context), "limit of tokens; default: the model's"},            \
    {"--cache8", NULL, CLI_FLAG, offsetof(type, field.cache8),                                                         \
     "keep keys and values in 8 bits (f8E4M3FN), half of the\nmemory of bf16"},                                         \
    {"--threads", "N", CLI_NUMBER, offsetof(type, field.threads), "number of threads; default: one per core"},         \
    {"-O", "0..3", CLI_LEVEL, offsetof(type, field.level), "optimisation level; default 2"}

#define CLI_MODEL_NODES(type, field)                                                                                   \
    {"--processes", "N", CLI_NUMBER, offsetof(type, field.processes),                                                  \
     "divide the model over N nodes: processes of the\noperating system"},                                              \
    {"--devices", "N", CLI_NUMBER, offsetof(type, field.devices), "divide it over N devices of each node"}

/* Starts the other nodes, if this is to be node 0 of `processes`; returns an exit code. End them with cli_end_nodes. */
int cli_model_nodes(int64_t processes, int64_t devices, struct cli_nodes *out);
/* How often Ctrl-C was pressed since cli_catch_interrupt. */
extern atomic_int cli_interrupts;
void cli_catch_interrupt(void);

/* A client and a session; progress goes to standard error if that is a terminal. Close the session, then release the client. */
int cli_session(const struct cli_model *o, hilo_client **client, struct llm_session **out);
/* Another session on a client. */
int cli_another_session(const struct cli_model *o, hilo_client *client, struct llm_session **out);
/* Clears the line of progress. */
void cli_progress_end(void);

/* The contents of a file ("-": standard input), to be freed with strbuf_free after success. */
int cli_read_text(const char *path, struct strbuf *out);
/* The token ids of a text, as llm_tok_encode. */
int cli_encode(hilo_client *client, const struct llm_tok *t, struct str text, const uint8_t *from_input, unsigned flags,
               struct llm_ids *out);

/* Adds variables of a template to `input`: of texts NAME=VALUE, where VALUE is JSON or, if it is none, a string; and `tools`, a
   file with a JSON array, when it is not NULL. Returns 0 or an exit code after printing why. */
int cli_template_variables(json_t *input, const struct cli_texts *arguments, const char *tools);
/* A JSON file ("-": standard input); json_decref. NULL after printing why. */
json_t *cli_read_json(const char *path);

/* "text" with escapes, and [1,2,3]. Bytes that are not UTF-8 become U+FFFD. */
void cli_json_text(FILE *f, struct str s);
void cli_json_ids(FILE *f, const int32_t *ids, size_t n);

#endif
