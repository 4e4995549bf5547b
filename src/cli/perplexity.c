/* hilo perplexity: how well a model predicts a text. */
#include "cli/model.h"

#include <math.h>
#include <stdlib.h>

struct perplexity_options {
    struct cli_model model;
    const char *file;
    bool json;
};

enum { WINDOW = 512 };

/* Sums the negative log-probabilities over windows that do not overlap. Each begins with the special tokens that the tokenizer
   prepends to a text, so that its first token is predicted too. */
static int score(hilo_client *client, struct llm_session *s, const struct llm_ids *text, const struct llm_ids *before,
                 double *sum, size_t *count) {
    size_t window = (size_t)(s->limit < WINDOW ? s->limit : WINDOW), own = before->n;
    int32_t *ids = cli_alloc(window, sizeof *ids);
    float *scores = cli_alloc(window, sizeof *scores);
    hilo_status status = own + 1 < window ? HILO_OK : HILO_INVALID_ARGUMENT;
    for (size_t at = 0, n; at < text->n && status == HILO_OK && !cli_interrupts; at += n) {
        n = text->n - at < window - own ? text->n - at : window - own;
        if (own + n < 2)
            break;
        if (own)
            memcpy(ids, before->v, own * sizeof *ids);
        memcpy(ids + own, text->v + at, n * sizeof *ids);
        status = llm_session_score(s, ids, own + n, scores);
        for (size_t i = own ? own - 1 : 0; i + 1 < own + n && status == HILO_OK; i++, (*count)++)
            *sum += (double)scores[i];
        if (cli_terminal(stderr))
            fprintf(stderr, "\r\033[K%zu of %zu tokens", at + n, text->n);
    }
    cli_progress_end();
    free(scores);
    free(ids);
    return status == HILO_OK ? cli_interrupts ? CLI_INTERRUPTED : CLI_OK : cli_fail(client, status);
}

static int measure(hilo_client *client, struct llm_session *s, const struct perplexity_options *o) {
    struct strbuf text;
    struct llm_ids ids, before;
    double sum = 0;
    size_t count = 0;
    llm_ids_init(&ids, mem_system_allocator());
    llm_ids_init(&before, mem_system_allocator());
    int code = cli_read_text(o->file, &text);
    if (code)
        return code;
    code = cli_encode(client, s->tok, (struct str){text.p ? text.p : "", text.n}, NULL, 0, &ids);
    if (code == CLI_OK)
        code = cli_encode(client, s->tok, (struct str){"", 0}, NULL, LLM_TOK_POST, &before);
    if (code == CLI_OK && ids.n < 2)
        code = cli_error(CLI_USAGE, "'%s' has fewer than two tokens", o->file);
    double begin = rt_now_ms();
    if (code == CLI_OK)
        code = score(client, s, &ids, &before, &sum, &count);
    double seconds = (rt_now_ms() - begin - s->compile_ms) / 1e3;
    if (code == CLI_OK && o->json)
        printf("{\"perplexity\":%.6f,\"tokens\":%zu,\"precision\":\"%s\",\"tok_s\":%.3f}\n", exp(sum / (double)count), count,
               llm_precision_name(s->model.precision), (double)count / seconds);
    else if (code == CLI_OK)
        printf("perplexity %.4f over %zu tokens (%s, %.1f tok/s)\n", exp(sum / (double)count), count,
               llm_precision_name(s->model.precision), (double)count / seconds);
    strbuf_free(&text);
    llm_ids_free(&before);
    llm_ids_free(&ids);
    return code;
}

static int perplexity_main(const struct cli_command *self, int argc, char **argv) {
    struct perplexity_options o = {.model = CLI_MODEL_DEFAULTS};
    struct cli_texts none;
    hilo_client *client;
    struct llm_session *s;
    int code = cli_options(self, argc, argv, &o, &none);
    if (code < 0 && !o.file)
        code = cli_error(CLI_USAGE, "missing -f FILE: a text");
    if (code < 0 && (code = cli_session(&o.model, &client, &s)) == CLI_OK) {
        cli_catch_interrupt();
        code = measure(client, s, &o);
        llm_session_close(s);
        hilo_client_release(client);
    }
    cli_options_free(self, &o, &none);
    return code;
}

static const struct cli_option options[] = {
    CLI_MODEL_OPTIONS(struct perplexity_options, model),
    {"-f", "FILE", CLI_TEXT, offsetof(struct perplexity_options, file), "text file; - is standard input"},
    {"--json", NULL, CLI_FLAG, offsetof(struct perplexity_options, json), "print one JSON object"},
    {0}
};

const struct cli_command cli_perplexity = {
    .name = "perplexity", .operands = "", .least = 0, .most = 0, .options = options, .run = perplexity_main,
    .summary = "measures how well a language model predicts a text",
    .text = "Prints the perplexity of a text: exp of the mean negative log-probability of its tokens, in windows of 512\n"
            "tokens (or --context, if that is less). Use it to measure what a precision costs in accuracy.\n",
    .examples = "  hilo perplexity -m Llama-3.2-1B -f tests/llm/tiny-llama/eval.txt\n"
                "  hilo perplexity -m Llama-3.2-1B -f tests/llm/tiny-llama/eval.txt --precision int4 --json\n",
};
