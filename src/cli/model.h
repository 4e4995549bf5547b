/* What the commands on language models share: their options, sessions, interruption, JSON. */
#ifndef HILO_CLI_MODEL_H
#define HILO_CLI_MODEL_H

#include "cli/cli.h"
#include "llm/generate.h"

#include <signal.h>

struct cli_model {
    const char *dir, *engine, *precision;
    int64_t context, threads;
    int32_t level;
};
#define CLI_MODEL_DEFAULTS {.level = 2}
#define CLI_MODEL_DIR(type, field)                                                                                     \
    {"-m", "MODEL", CLI_TEXT, offsetof(type, field.dir), "directory of the model: config.json, tokenizer.json, safetensors"}
#define CLI_MODEL_OPTIONS(type, field)                                                                                 \
    CLI_MODEL_DIR(type, field),                                                                                        \
    {"--precision", "P", CLI_TEXT, offsetof(type, field.precision),                                                    \
     "f32, bf16, f16, int8, int4 or int4z; by default as the weights\nare stored"},                                    \
    {"--engine", "E", CLI_TEXT, offsetof(type, field.engine),                                                          \
     "hilo (the default), reference, or pjrt:PATH, a PJRT plugin's library;\nalso HILO_ENGINE in the environment"},   \
    {"--context", "N", CLI_NUMBER, offsetof(type, field.context), "most tokens; by default the model's limit"},        \
    {"--threads", "N", CLI_NUMBER, offsetof(type, field.threads), "threads to use; one for each core by default"},     \
    {"-O", "0..3", CLI_LEVEL, offsetof(type, field.level), "level of optimisation; 2 by default"}

/* How often Ctrl-C was pressed since cli_catch_interrupt. */
extern volatile sig_atomic_t cli_interrupts;
void cli_catch_interrupt(void);

/* A client and a session; progress goes to standard error where a person sees it. Prints, and answers an exit code, on failure;
   else 0. Close the session, then release the client. */
int cli_session(const struct cli_model *o, hilo_client **client, struct llm_session **out);
/* Clears the line of progress. */
void cli_progress_end(void);

/* The whole of a file ("-": standard input), to be freed with strbuf_free. Answers 0 or an exit code. */
int cli_read_text(const char *path, struct strbuf *out);
/* The ids of a text; 0 or an exit code. */
int cli_encode(hilo_client *client, const struct llm_tok *t, struct str text, unsigned flags, struct llm_ids *out);

/* "text" with escapes, and [1,2,3]. Bytes that are no UTF-8 become U+FFFD. */
void cli_json_text(FILE *f, struct str s);
void cli_json_ids(FILE *f, const int32_t *ids, size_t n);

#endif
