/* What the files of the server share: models, calls, errors, texts that are generated. */
#ifndef HILO_SERVE_SERVER_H
#define HILO_SERVE_SERVER_H

#include "llm/json.h"
#include "serve/http.h"
#include "serve/schedule.h"
#include "serve/serve.h"

#include <stdatomic.h>
#include <time.h>

struct serve_model {
    const char *path;
    char id[128], why[512]; /* why: it failed to load, and `s` is NULL */
    hilo_client *client;
    struct llm_session *s;
    struct schedule *x;
};

struct server {
    struct serve_options o;
    struct serve_model *models;
    time_t started;
    atomic_bool draining;
    atomic_ullong answers[6]; /* by the first digit of the status */
    atomic_ullong number;     /* of requests: part of ids */
};

/* A request that is being handled. */
struct call {
    struct server *server;
    const struct http_call *http;
    struct http_answer *answer;
    json_t *body;       /* an object; NULL for GET */
    struct diag_list d; /* for functions that report into a list */
};

/* Loads the models; NOT_FOUND, with the reason in `why`, when none could be loaded. server_close in any case. */
hilo_status server_open(struct server *s, const struct serve_options *o, char *why, size_t size);
void server_close(struct server *s);
/* Answers a call, as http_options.handle; `user` is the server. */
void server_handle(void *user, const struct http_call *http);

/* ---- answers (server.c) ---------------------------------------------------------------------- */

/* OpenAI's error object; `param` and `code` may be NULL. Returns false. */
bool serve_error(struct call *c, unsigned status, const char *code, const char *param, const char *fmt, ...)
    __attribute__((format(printf, 5, 6)));
/* The same for a status, with the text of c->d. */
bool serve_failed(struct call *c, hilo_status status, const char *param);
json_t *serve_error_object(unsigned status, const char *code, const char *param, const char *message);
/* Takes the value over; NULL answers 500. */
void serve_json(struct call *c, json_t *v);
/* Text as a JSON string; bytes that are not UTF-8 become U+FFFD. */
json_t *serve_text(struct str s);
/* A log probability as OpenAI's answers have it: -9999 for those below; null for one that is not a number, which JSON lacks. */
json_t *serve_log_probability(double v);
void serve_log(const struct server *s, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* The model that the body names, the first one if it names none; NULL after answering why. */
struct serve_model *serve_model_of(struct call *c);
/* Appends `data: …` and an empty line; takes the value over. */
void serve_event(struct strbuf *out, const char *name, json_t *v);

/* ---- requests for text (task.c, text.c) ------------------------------------------------------ */

enum serve_api { SERVE_CHAT, SERVE_COMPLETION, SERVE_LLAMA, SERVE_RESPONSES, SERVE_EMBEDDINGS };

/* A choice on its way to the client. */
struct choice {
    struct serve_job job;
    size_t content, reasoning, tokens; /* bytes and tokens that were sent */
    bool begun, ended;
    json_t *calls; /* tool calls, after the end */
};

struct text {
    struct server *server;
    struct serve_model *model;
    enum serve_api api;
    struct serve_task task;
    struct {
        char **v;
        size_t n;
    } stops;
    struct llm_grammar *grammar;
    struct llm_ids prompt; /* of all prompts, one after the other */
    size_t n;              /* choices: those of the first prompt, those of the second … */
    size_t tried, kept;    /* of each prompt `tried` choices are written, of which the answer has the best `kept` */
    uint64_t seed;         /* of each prompt's first choice; of the next ones 1 more each */
    struct choice *choices;
    bool scored; /* log probabilities are part of the answer; task.score: they are needed */
    bool stream, usage, echo, tools, forced_tool, thinking; /* thinking: the answer begins within the reasoning */
    bool submitted, created_sent, usage_sent;
    uint64_t version;
    struct http_call http; /* for http_gone */
    char id[48];
    time_t created;
    json_t *request; /* RESPONSES: what the answer repeats */
};

/* Reads the parameters that all APIs share into a new text; NULL after answering why. */
struct text *text_new(struct call *c, enum serve_api api);
void text_free(struct text *t);
bool text_grammar(struct call *c, struct text *t, struct str grammar, const char *param);
bool text_schema(struct call *c, struct text *t, const json_t *schema, const char *param);
/* The prompt of a conversation: `input` are the variables of the template. */
bool text_prompt_chat(struct call *c, struct text *t, const json_t *input);
/* A prompt that is a text, a list of ids, or, of SERVE_LLAMA, a list of both, or a list of such prompts. */
bool text_prompts(struct call *c, struct text *t, const json_t *prompts);
/* Makes the choices of n prompts, whose ids end at ends[0] … in t->prompt. */
bool text_choices(struct call *c, struct text *t, const size_t *ends, size_t n);
/* Submits the text and answers it: as a whole with `whole`, or as a stream of what `piece` appends for each change (false = the
   end; the jobs do not change while it runs). Takes the text over. */
void text_answer(struct call *c, struct text *t, json_t *(*whole)(struct text *t),
                 bool (*piece)(struct text *t, struct strbuf *out));
/* Submits the jobs; false after answering why. */
bool text_submit(struct call *c, struct text *t);
/* Waits for all jobs, and cancels them when one fails or the client goes; false after answering why one of them failed. */
bool text_wait(struct call *c, struct text *t);
const char *text_finish(const struct choice *x); /* "stop", "length", "tool_calls" */
/* The log probability of a token, and those of the most probable ones at its place, as in chat completions; `id`: with ids. */
json_t *text_token_scores(const struct text *t, const struct serve_token *token, bool id);
json_t *text_usage(const struct text *t);
struct str text_visible(const struct choice *x);

/* ---- parts of a text (split.c) --------------------------------------------------------------- */

struct split {
    struct str reasoning, content;
};
/* What of a text is reasoning and what is content, as far as that is certain; all of it at the `end`, with the tool calls in
   *calls (a new array, or NULL for none). */
struct split text_split(const struct text *t, struct str text, bool end, json_t **calls);

/* ---- endpoints ------------------------------------------------------------------------------- */

void serve_chat(struct call *c);
void serve_completion(struct call *c);
void serve_llama_completion(struct call *c);
void serve_props(struct call *c);
void serve_responses(struct call *c);
void serve_embeddings(struct call *c);
void serve_tokenize(struct call *c);
void serve_detokenize(struct call *c);
void serve_template(struct call *c);
void serve_models(struct call *c);
void serve_one_model(struct call *c);
void serve_health(struct call *c);
void serve_metrics(struct call *c);
void serve_slots(struct call *c);
void serve_page(struct call *c);
/* Messages as a template takes them: contents as strings, arguments of tool calls as objects. NULL after answering why. */
json_t *chat_messages(struct call *c, const json_t *messages);
/* Tools and their choice; `tools` is what the template gets. */
bool chat_tools(struct call *c, struct text *t, const json_t *tools, const json_t *choice);

#endif
