/* hilo tokenize: texts to token ids, and back. */
#include "cli/model.h"
#include "llm/json.h"

#include <errno.h>
#include <stdlib.h>

struct tokenize_options {
    const char *dir, *file;
    bool special, no_special, decode, pieces, json, lines;
};

/* ---- ids to text ----------------------------------------------------------------------------- */

static int read_ids(struct str text, struct llm_ids *out) {
    const char *p = text.p, *end = text.p + text.n;
    while (p < end) {
        char *next;
        if (strchr(" ,[]\t\r\n", *p)) {
            p++;
            continue;
        }
        errno = 0;
        long v = strtol(p, &next, 10);
        if (next == p || errno || v < 0 || v > INT32_MAX)
            return cli_error(CLI_USAGE, "'%.20s' is not a token id", p);
        llm_ids_push(out, (int32_t)v);
        p = next;
    }
    return CLI_OK;
}

static int decode(const struct llm_tok *t, struct str text) {
    struct llm_ids ids;
    struct strbuf out;
    llm_ids_init(&ids, mem_system_allocator());
    strbuf_init(&out, mem_system_allocator());
    int code = read_ids(text, &ids);
    if (code == CLI_OK) {
        llm_tok_decode(t, ids.v, ids.n, true, &out);
        fwrite(out.p ? out.p : "", 1, out.n, stdout);
        fputc('\n', stdout);
    }
    strbuf_free(&out);
    llm_ids_free(&ids);
    return code;
}

/* ---- text to ids ----------------------------------------------------------------------------- */

static void print_pieces(const struct llm_tok *t, const struct llm_ids *ids, bool json) {
    fputs(json ? "[" : "", stdout);
    for (size_t i = 0; i < ids->n; i++) {
        if (json)
            printf("%s{\"id\":%d,\"piece\":", i ? "," : "", (int)ids->v[i]);
        else
            printf("%8d  ", (int)ids->v[i]);
        cli_json_text(stdout, llm_tok_bytes(t, ids->v[i]));
        fputs(json ? "}" : "\n", stdout);
    }
    fputs(json ? "]\n" : "", stdout);
}

static int encode(hilo_client *client, const struct llm_tok *t, struct str text, const struct tokenize_options *o) {
    struct llm_ids ids;
    llm_ids_init(&ids, mem_system_allocator());
    int code = cli_encode(client, t, text, NULL, o->special && !o->no_special ? LLM_TOK_POST : 0, &ids);
    if (code == CLI_OK && o->pieces) {
        print_pieces(t, &ids, o->json);
    } else if (code == CLI_OK && o->json) {
        fputs("{\"ids\": ", stdout);
        cli_json_ids(stdout, ids.v, ids.n);
        fputs("}\n", stdout);
    } else if (code == CLI_OK) {
        for (size_t i = 0; i < ids.n; i++)
            printf("%s%d", i ? " " : "", (int)ids.v[i]);
        fputc('\n', stdout);
    }
    llm_ids_free(&ids);
    return code;
}

/* Each line is a text, as a JSON string; what is printed of each is a line, or several of --pieces. */
static int encode_lines(hilo_client *client, const struct llm_tok *t, struct str all, const struct tokenize_options *o) {
    int code = CLI_OK;
    for (size_t line = 1; all.n && code == CLI_OK; line++) {
        const char *end = memchr(all.p, '\n', all.n);
        struct str one = {all.p, end ? (size_t)(end - all.p) : all.n};
        json_error_t error;
        json_t *text = llm_json_load(one, JSON_DECODE_ANY | JSON_ALLOW_NUL, mem_system_allocator(), &error);
        code = json_is_string(text)
                   ? encode(client, t, (struct str){json_string_value(text), json_string_length(text)}, o)
                   : cli_error(CLI_FAILED, "line %zu is not a JSON string: %s", line, text ? "something else" : error.text);
        json_decref(text);
        all = (struct str){one.p + one.n + (end != NULL), all.n - one.n - (end != NULL)};
    }
    return code;
}

static int open_tokenizer(hilo_client *client, const char *model, struct llm_tok **out) {
    struct diag_list d;
    if (!model)
        return cli_error(CLI_USAGE, "missing -m MODEL: a model directory, a GGUF file, or tokenizer.json");
    diag_init(&d, *rt_client_allocator(client));
    hilo_status status = rt_finish(client, &d, llm_tok_open(model, *rt_client_allocator(client), &d, out));
    return status == HILO_OK ? CLI_OK : cli_fail(client, status);
}

static int tokenize(const struct cli_texts *texts, const struct tokenize_options *o) {
    struct cli_compile c = CLI_COMPILE_DEFAULTS;
    hilo_client *client;
    struct llm_tok *t = NULL;
    struct strbuf file;
    if ((texts->n != 0) == (o->file != NULL))
        return cli_error(CLI_USAGE, "expected either a text or -f FILE");
    int code = cli_client(&c, &client);
    if (code)
        return code;
    strbuf_init(&file, mem_system_allocator());
    code = open_tokenizer(client, o->dir, &t);
    if (code == CLI_OK && o->file)
        code = cli_read_text(o->file, &file);
    struct str text = o->file ? (struct str){file.p ? file.p : "", file.n} : str_of(texts->v[0]);
    if (code == CLI_OK)
        code = o->decode ? decode(t, text) : (o->lines ? encode_lines : encode)(client, t, text, o);
    strbuf_free(&file);
    llm_tok_free(t);
    hilo_client_release(client);
    return code;
}

static int tokenize_main(const struct cli_command *self, int argc, char **argv) {
    struct tokenize_options o = {.dir = NULL};
    struct cli_texts texts;
    int code = cli_options(self, argc, argv, &o, &texts);
    if (code < 0)
        code = tokenize(&texts, &o);
    cli_options_free(self, &o, &texts);
    return code;
}

static const struct cli_option options[] = {
    {"-m", "MODEL", CLI_TEXT, offsetof(struct tokenize_options, dir), "model directory, GGUF file, or tokenizer.json"},
    {"-f", "FILE", CLI_TEXT, offsetof(struct tokenize_options, file), "read the text from a file; - is standard input"},
    {"--lines", NULL, CLI_FLAG, offsetof(struct tokenize_options, lines),
     "each line is a text of its own, as a JSON string"},
    {"--special", NULL, CLI_FLAG, offsetof(struct tokenize_options, special),
     "add the special tokens that enclose a text"},
    {"--no-special", NULL, CLI_FLAG, offsetof(struct tokenize_options, no_special),
     "add no tokens to those of the text: the default"},
    {"--pieces", NULL, CLI_FLAG, offsetof(struct tokenize_options, pieces), "print each token on a line with its text"},
    {"--decode", NULL, CLI_FLAG, offsetof(struct tokenize_options, decode), "convert ids to text"},
    {"--json", NULL, CLI_FLAG, offsetof(struct tokenize_options, json), "print JSON: {\"ids\": […]};\nwith --pieces an array"},
    {0}
};

const struct cli_command cli_tokenize = {
    .name = "tokenize", .operands = "[TEXT]", .least = 0, .most = 1, .options = options, .run = tokenize_main,
    .summary = "converts text to tokens and back",
    .text = "Prints the token ids of a text, as the model's tokenizer.json or GGUF file defines them; with --decode,\n"
            "the text of ids.\n",
    .examples = "  hilo tokenize -m Llama-3.2-1B 'Hello, world!'\n"
                "  hilo tokenize -m Llama-3.2-1B --pieces -f README.md\n"
                "  hilo tokenize -m Llama-3.2-1B --decode '9906 11 1917 0'\n"
                "  hilo tokenize -m Llama-3.2-1B-Q4_K_M.gguf --json 'Hello, world!'\n",
};
