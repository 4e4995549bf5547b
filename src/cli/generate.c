/* hilo generate: continues a text, or holds a conversation. */
#include "cli/model.h"

#include <stdlib.h>
#include <sys/resource.h>

struct generate_options {
    struct cli_model model;
    const char *prompt, *file, *system;
    bool raw, special, timing, json;
    int64_t most, top_k, seed;
    double temperature, top_p, min_p, repetition;
    struct cli_texts stop, arguments;
    const char *tools, *draft;
    int64_t speculate;
};

struct chat {
    hilo_client *client;
    struct llm_session *s, *draft;
    const struct generate_options *o;
    struct { struct llm_message *v; size_t n, cap; } messages;
    struct llm_ids prompt;
    struct llm_generated g;
    bool shown; /* the current line has text, which progress must not overwrite */
};

/* ---- prompts --------------------------------------------------------------------------------- */

static char *copy_text(struct str s) {
    char *p = cli_alloc(s.n + 1, 1);
    memcpy(p, s.p, s.n);
    return p;
}

static void add_message(struct chat *c, const char *role, struct str content) {
    if (c->messages.n == c->messages.cap) {
        size_t cap = 2 * c->messages.cap + 4;
        struct llm_message *v = cli_alloc(cap, sizeof *v);
        if (c->messages.n)
            memcpy(v, c->messages.v, c->messages.n * sizeof *v);
        free(c->messages.v);
        c->messages.v = v;
        c->messages.cap = cap;
    }
    c->messages.v[c->messages.n++] = (struct llm_message){str_of(role), {copy_text(content), content.n}};
}

static void free_messages(struct chat *c) {
    for (size_t i = 0; i < c->messages.n; i++)
        free((char *)(uintptr_t)c->messages.v[i].content.p);
    free(c->messages.v);
}

/* The ids of the conversation so far, or of the text itself. Without a template a conversation is its last text only. */
static int make_prompt(struct chat *c, struct str text) {
    struct diag_list d;
    struct jinja_text rendered = {.al = *rt_client_allocator(c->client)};
    c->prompt.n = 0;
    if (c->o->raw || (c->s->chat.template.n == 0 && !c->o->system))
        return cli_encode(c->client, c->s->tok, text, NULL, LLM_TOK_POST, &c->prompt);
    add_message(c, "user", text);
    json_t *input = llm_chat_input(c->messages.v, c->messages.n);
    if (!input)
        return cli_error(CLI_USAGE, "the prompt is not UTF-8 text");
    int code = cli_template_variables(input, &c->o->arguments, c->o->tools);
    if (code == CLI_OK) {
        diag_init(&d, *rt_client_allocator(c->client));
        hilo_status status = rt_finish(c->client, &d, llm_chat_render(&c->s->chat, input, &d, &rendered));
        code = status == HILO_OK
                   ? cli_encode(c->client, c->s->tok, (struct str){rendered.p, rendered.n}, rendered.from_input, 0, &c->prompt)
                   : cli_fail(c->client, status);
        if (status != HILO_OK)
            cli_error(code, "--raw continues the text without a template");
    }
    jinja_text_free(&rendered);
    json_decref(input);
    return code;
}

/* ---- replies --------------------------------------------------------------------------------- */

static int on_text(void *user, const char *text, size_t n) {
    struct chat *c = user;
    if (!c->o->json && n) {
        if (!c->shown)
            cli_progress_end();
        c->shown = true;
        fwrite(text, 1, n, stdout);
        fflush(stdout);
    }
    return cli_interrupts > 0;
}

static double per_second(size_t n, double ms) {
    return ms > 0 ? (double)n / ms * 1e3 : 0;
}

/* Of this process alone: getrusage also counts what the process that started it had. */
static uint64_t peak_bytes(void) {
    char line[256];
    unsigned long long kb = 0;
    FILE *f = fopen("/proc/self/status", "r");
    while (f && kb == 0 && fgets(line, sizeof line, f))
        if (strncmp(line, "VmHWM:", 6) == 0)
            kb = strtoull(line + 6, NULL, 10);
    if (f)
        fclose(f);
    struct rusage u;
    if (kb == 0 && getrusage(RUSAGE_SELF, &u) == 0)
        kb = (unsigned long long)u.ru_maxrss;
    return kb * 1024;
}

static void print_json(const struct chat *c) {
    const struct llm_generated *g = &c->g;
    fputs("{\"prompt_ids\":", stdout);
    cli_json_ids(stdout, c->prompt.v, c->prompt.n);
    fputs(",\"new_tokens\":", stdout);
    cli_json_ids(stdout, g->ids.v, g->ids.n);
    fputs(",\"text\":", stdout);
    cli_json_text(stdout, (struct str){g->text.p ? g->text.p : "", g->text.n});
    printf(",\"load_ms\":%.3f,\"compile_ms\":%.3f,\"cached\":%zu,"
           "\"prefill_tok_s\":%.3f,\"decode_tok_s\":%.3f,\"peak_bytes\":%llu",
           c->s->load_ms, c->s->compile_ms, c->s->engine->ncached, per_second(g->read, g->prefill_ms),
           per_second(g->ids.n > 1 ? g->ids.n - 1 : 0, g->decode_ms), (unsigned long long)peak_bytes());
    if (g->decode.known)
        printf(",\"decode_allocations\":%llu,\"decode_copied_bytes\":%llu", (unsigned long long)g->decode.allocations,
               (unsigned long long)g->decode.copied_bytes);
    if (c->o->speculate)
        printf(",\"proposed\":%zu,\"accepted\":%zu", g->proposed, g->accepted);
    fputs("}\n", stdout);
}

/* Blocks of this many bytes are read as concurrent streams, a word of each cache line. Which way is the fastest depends on the
   processor. */
enum { READ_BLOCK = 256 << 10, READ_LINE = 64, READ_RUNS = 3 };
static const struct way {
    size_t streams, ahead; /* bytes from what is read to what is prefetched; 0: it is left to the hardware */
} ways[] = {{1, 0}, {1, 2048}, {4, 0}, {4, 2048}};

struct reading {
    const char *p;
    size_t bytes;
    const struct way *way;
    atomic_ullong sum; /* keeps the compiler from removing the reads */
};

static void read_blocks(void *user, void *scratch, int64_t begin, int64_t end) {
    struct reading *r = user;
    uint64_t sum = 0, word;
    size_t streams = r->way->streams, ahead = r->way->ahead;
    (void)scratch;
    for (int64_t block = begin; block < end; block++) {
        size_t from = (size_t)block * READ_BLOCK, left = r->bytes - from;
        size_t stream = (left < READ_BLOCK ? left : READ_BLOCK) / streams;
        for (size_t at = 0; at + sizeof word <= stream; at += READ_LINE)
            for (size_t i = 0; i < streams; i++) {
                const char *p = r->p + from + i * stream + at;
                memcpy(&word, p, sizeof word);
                if (at + ahead < stream)
                    __builtin_prefetch(p + ahead);
                sum += word;
            }
    }
    atomic_fetch_add(&r->sum, sum);
}

/* GB/s of reading the weights with all threads, the best of several runs of each way: the limit of a step that reads each of
   them once. */
static double read_bandwidth(const struct chat *c) {
    const struct llm_model *m = &c->s->model;
    double best = 0;
    for (size_t run = 0; run < READ_RUNS * sizeof ways / sizeof *ways; run++) {
        double begin = rt_now_ms();
        for (size_t i = 0; i < m->nparams; i++) {
            struct reading r = {.p = m->params[i].data, .bytes = m->params[i].bytes, .way = &ways[run / READ_RUNS]};
            rt_pool_run(rt_client_pool(c->client), (int64_t)((r.bytes + READ_BLOCK - 1) / READ_BLOCK), 2, read_blocks, &r,
                        NULL);
        }
        double gbs = (double)m->bytes / (rt_now_ms() - begin) / 1e6;
        best = gbs > best ? gbs : best;
    }
    return best;
}

static void print_timing(const struct chat *c) {
    const struct llm_generated *g = &c->g;
    const struct llm_session *s = c->s;
    size_t decoded = g->ids.n > 1 ? g->ids.n - 1 : 0;
    double rate = per_second(decoded, g->decode_ms), gbs = (double)s->model.bytes * rate / 1e9;
    double bandwidth = read_bandwidth(c);
    fprintf(stderr, "load     %10.1f ms   %.1f MB of weights, %s, on %s\n", s->load_ms, (double)s->model.bytes / 1e6,
            llm_precision_name(s->model.precision), s->engine->ops->name);
    fprintf(stderr, "compile  %10.1f ms   %zu programs, %zu from the compile cache\n", s->compile_ms, s->nprograms,
            s->engine->ncached);
    fprintf(stderr, "prefill  %10.1f ms   %zu tokens, %.1f tok/s\n", g->prefill_ms, g->read,
            per_second(g->read, g->prefill_ms));
    fprintf(stderr, "decode   %10.1f ms   %zu tokens, %.1f tok/s\n", g->decode_ms, decoded, rate);
    fprintf(stderr, "weights  %10.2f GB/s %.0f %% of the measured read bandwidth, %.1f GB/s\n", gbs, 100 * gbs / bandwidth,
            bandwidth);
    if (c->o->speculate)
        fprintf(stderr, "proposed %10zu tokens, %zu accepted\n", g->proposed, g->accepted);
    if (g->decode.known)
        fprintf(stderr, "steps    %10llu allocations, %llu bytes copied\n", (unsigned long long)g->decode.allocations,
                (unsigned long long)g->decode.copied_bytes);
    fprintf(stderr, "peak     %10.1f MB\n", (double)peak_bytes() / 1e6);
}

static int answer(struct chat *c) {
    const struct generate_options *o = c->o;
    struct llm_generate_options go = {
        .most = (size_t)o->most, .special = o->special, .stop = o->stop.v, .nstop = o->stop.n, .on_text = on_text,
        .user = c, .speculate = (size_t)o->speculate, .draft = c->draft,
        .sampling = {.repetition = o->repetition, .temperature = o->temperature, .top_k = o->top_k, .top_p = o->top_p,
                     .min_p = o->min_p, .seed = (uint64_t)o->seed}};
    llm_generated_free(&c->g);
    llm_generated_init(&c->g, *rt_client_allocator(c->client));
    cli_interrupts = 0;
    hilo_status status = llm_generate(c->s, c->prompt.v, c->prompt.n, &go, &c->g);
    if (!c->shown)
        cli_progress_end();
    c->shown = false;
    if (!o->json)
        fputc('\n', stdout);
    fflush(stdout); /* the answer ends before the timing on standard error begins */
    if (status == HILO_CANCELLED) {
        hilo_diagnostics_clear(c->client);
        return CLI_INTERRUPTED;
    }
    if (status != HILO_OK)
        return cli_fail(c->client, status);
    if (o->json)
        print_json(c);
    if (o->timing)
        print_timing(c);
    if (ferror(stdout))
        return CLI_ENVIRONMENT; /* main() reports it */
    return c->g.end == LLM_END_CALLER ? CLI_INTERRUPTED : CLI_OK;
}

/* ---- conversations --------------------------------------------------------------------------- */

/* A line at a time until the input ends. Ctrl-C ends an answer, or the conversation if there is none. */
static int converse(struct chat *c) {
    char *line = NULL;
    size_t room = 0;
    int code = CLI_OK;
    for (;;) {
        if (cli_terminal(stdin))
            fputs("> ", stderr);
        cli_interrupts = 0;
        ssize_t n = getline(&line, &room, stdin);
        if (n < 0)
            break;
        struct str text = {line, (size_t)n};
        while (text.n && (text.p[text.n - 1] == '\n' || text.p[text.n - 1] == '\r'))
            text.n--;
        if (!text.n)
            continue;
        code = make_prompt(c, text);
        if (code == CLI_OK)
            code = answer(c);
        if (code != CLI_OK && code != CLI_INTERRUPTED)
            break;
        code = CLI_OK;
        if (!c->o->raw)
            add_message(c, "assistant", (struct str){c->g.text.p ? c->g.text.p : "", c->g.text.n});
    }
    free(line);
    if (cli_interrupts)
        fputc('\n', stderr);
    return code;
}

static int once(struct chat *c) {
    struct strbuf file;
    struct str text = str_of(c->o->prompt);
    strbuf_init(&file, *rt_client_allocator(c->client));
    int code = c->o->file ? cli_read_text(c->o->file, &file) : CLI_OK;
    if (c->o->file)
        text = (struct str){file.p ? file.p : "", file.n};
    if (code == CLI_OK)
        code = make_prompt(c, text);
    if (code == CLI_OK)
        code = answer(c);
    strbuf_free(&file);
    return code;
}

/* A node but the first does what that one asks for. */
static int follow(const struct chat *c) {
    hilo_status status = llm_session_follow(c->s);
    return status == HILO_OK ? CLI_OK : cli_fail(c->client, status);
}

static int generate(const struct generate_options *o) {
    struct chat c = {.o = o};
    struct cli_nodes nodes;
    struct llm_sampling sampling = {o->repetition, o->temperature, o->top_k, o->top_p, o->min_p, 0};
    const char *flaw = llm_sampling_flaw(&sampling);
    if (flaw)
        return cli_error(CLI_USAGE, "%s", flaw);
    if (o->speculate > LLM_MAX_SPECULATION)
        return cli_error(CLI_USAGE, "--speculate %lld: at most %d tokens are proposed", (long long)o->speculate,
                         LLM_MAX_SPECULATION);
    if (o->speculate && !llm_sampling_greedy(&sampling))
        return cli_error(CLI_USAGE, "--speculate and --draft are for greedy decoding, without sampling options");
    if (o->prompt && o->file)
        return cli_error(CLI_USAGE, "-p and -f are exclusive");
    if (o->draft && (o->model.processes > 1 || cli_is_node()))
        return cli_error(CLI_USAGE, "--draft is for one process");
    int code = cli_model_nodes(o->model.processes, o->model.devices, &nodes);
    if (code == CLI_OK)
        code = cli_session(&o->model, &c.client, &c.s);
    if (code)
        return cli_end_nodes(&nodes, code);
    c.s->o.progress.user = &c.shown;
    if (o->draft) {
        struct cli_model draft = o->model;
        draft.dir = o->draft;
        draft.context = 0;
        code = cli_another_session(&draft, c.client, &c.draft);
    }
    llm_ids_init(&c.prompt, *rt_client_allocator(c.client));
    llm_generated_init(&c.g, *rt_client_allocator(c.client));
    if (o->system)
        add_message(&c, "system", str_of(o->system));
    if (!llm_session_follows(c.s))
        cli_catch_interrupt();
    if (code == CLI_OK && llm_session_follows(c.s))
        code = follow(&c);
    else if (code == CLI_OK)
        code = o->prompt || o->file ? once(&c) : converse(&c);
    free_messages(&c);
    llm_generated_free(&c.g);
    llm_ids_free(&c.prompt);
    llm_session_close(c.draft);
    llm_session_close(c.s);
    hilo_client_release(c.client);
    return cli_end_nodes(&nodes, code);
}

enum { DRAFTED = 3 }; /* tokens of a draft: with more, too many are computed that turn out to be wrong */

static int generate_main(const struct cli_command *self, int argc, char **argv) {
    struct cli_log log = {0};
    struct generate_options o = {.model = CLI_MODEL_DEFAULTS, .top_p = 1, .repetition = 1};
    struct cli_texts none;
    int code = cli_options(self, argc, argv, &o, &none);
    if (o.draft && !o.speculate)
        o.speculate = DRAFTED;
    o.model.log = &log;
    if (code < 0)
        code = generate(&o);
    cli_options_free(self, &o, &none);
    return code;
}

#define AT(field) offsetof(struct generate_options, field)
static const struct cli_option options[] = {
    CLI_MODEL_OPTIONS(struct generate_options, model),
    CLI_MODEL_NODES(struct generate_options, model),
    {"-p", "PROMPT", CLI_TEXT, AT(prompt), "prompt; without -p and -f, a conversation by lines of\nstandard input"},
    {"-f", "FILE", CLI_TEXT, AT(file), "read the prompt from a file; - is standard input"},
    {"-n", "N", CLI_NUMBER, AT(most), "limit of tokens per answer; default: the context"},
    {"--system", "TEXT", CLI_TEXT, AT(system), "system message"},
    {"--raw", NULL, CLI_FLAG, AT(raw), "continue the text without the chat template"},
    {"--template-arg", "NAME=VALUE", CLI_TEXTS, AT(arguments),
     "a variable of the chat template: JSON, or else a string,\nsuch as enable_thinking=false; may be repeated"},
    {"--tools", "FILE", CLI_TEXT, AT(tools), "JSON array of the tools that the template describes"},
    {"--special", NULL, CLI_FLAG, AT(special), "show special tokens in the output"},
    {"--temperature", "T", CLI_REAL, AT(temperature), "sampling temperature; default 0: greedy"},
    {"--top-k", "K", CLI_NUMBER, AT(top_k), "sample among the K most probable tokens"},
    {"--top-p", "P", CLI_REAL, AT(top_p), "sample among the most probable tokens whose\nprobabilities add up to P"},
    {"--min-p", "P", CLI_REAL, AT(min_p),
     "sample among tokens with at least P times the\nprobability of the most probable one"},
    {"--repetition-penalty", "X", CLI_REAL, AT(repetition), "divide the logits of tokens that have occurred by X"},
    {"--seed", "N", CLI_NUMBER, AT(seed), "seed for sampling; default 0"},
    {"--stop", "TEXT", CLI_TEXTS, AT(stop), "stop before this text; repeatable"},
    {"--speculate", "N", CLI_NUMBER, AT(speculate),
     "propose N tokens at a time, which followed the last ones\nbefore, and verify them together; the tokens are the same"},
    {"--draft", "MODEL", CLI_TEXT, AT(draft), "a smaller model with the same tokenizer, which proposes\nthem; default N: 3"},
    {"--timing", NULL, CLI_FLAG, AT(timing), "print times and rates to standard error"},
    {"--json", NULL, CLI_FLAG, AT(json), "print one JSON object per answer"},
    {0}};

const struct cli_command cli_generate = {
    .name = "generate", .operands = "", .least = 0, .most = 0, .options = options, .run = generate_main,
    .summary = "generates text with a language model",
    .text =
        "Continues a text, or holds a conversation, with a language model in the Hugging Face layout: Llama 2 and 3,\n"
        "Mistral, Qwen 2 and 3, Gemma. The output is streamed. Ctrl-C ends an answer, not the conversation.\n"
        "\n"
        "The model's chat template, a Jinja program, is applied to prompts; what a prompt contains never becomes a special\n"
        "token. hilo template prints what a template makes of messages.\n"
        "--raw continues the text itself.\n"
        "\n"
        "--processes and --devices divide the model; docs/LLM.md says how nodes on several hosts are started.\n"
        "\n"
        "--json prints one line for each answer:\n"
        "\n"
        "  {\"prompt_ids\":…,\"new_tokens\":…,\"text\":…,\"load_ms\":…,\"compile_ms\":…,\"cached\":…,\n"
        "   \"prefill_tok_s\":…,\"decode_tok_s\":…,\"peak_bytes\":…,\"decode_allocations\":…,\"decode_copied_bytes\":…}\n"
        "\n"
        "The last two count what decode steps allocated and copied. With --speculate or --draft there are \"proposed\" and\n"
        "\"accepted\", numbers of tokens.\n",
    .examples = "  hilo generate -m Llama-3.2-1B-Instruct -p 'What is a compiler?' -n 48\n"
                "  hilo generate -m Llama-3.2-1B --raw -p 'Once upon a time' --temperature 0.8 --top-p 0.9 --seed 7\n"
                "  hilo generate -m Llama-3.2-1B-Instruct --precision int4\n"
                "  hilo generate -m Llama-3.2-1B --raw -p 'Once upon a time' -n 16 --processes 2\n"
                "  hilo generate -m Llama-3.2-1B-Instruct -p Hello -n 64 --timing --engine reference\n",
};
