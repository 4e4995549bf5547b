/* hilo embed: texts to vectors. */
#include "cli/model.h"

struct embed_options {
    struct cli_model model;
    const char *file, *pooling, *prompt;
    int64_t dimensions;
    bool json, raw, truncate;
};

/* The vectors and numbers of tokens of `n` texts; `kept` numbers of each are printed. */
struct vectors {
    float *x;
    size_t *ntokens, n, width, kept;
};

/* Drops tokens at the end of a text, but not the special ones after it, so that `limit` are left. */
static int truncate_text(struct llm_session *s, hilo_client *client, struct str text, size_t limit, struct llm_ids *ids) {
    struct llm_ids plain;
    llm_ids_init(&plain, mem_system_allocator());
    int code = cli_encode(client, s->tok, text, NULL, 0, &plain);
    size_t before = 0, drop = ids->n - limit;
    while (code == CLI_OK && before + plain.n < ids->n && memcmp(ids->v + before, plain.v, plain.n * sizeof *plain.v) != 0)
        before++;
    size_t after = ids->n - before - plain.n, end = before + plain.n - drop;
    if (code == CLI_OK && drop < plain.n) {
        memmove(ids->v + end, ids->v + end + drop, after * sizeof *ids->v);
        ids->n = limit;
    }
    llm_ids_free(&plain);
    return code;
}

static int embed_text(struct llm_session *s, hilo_client *client, struct str text, bool truncate, float *out, size_t *ntokens) {
    struct llm_ids ids;
    llm_ids_init(&ids, mem_system_allocator());
    int code = cli_encode(client, s->tok, text, NULL, LLM_TOK_POST, &ids);
    if (code == CLI_OK && truncate && ids.n > (size_t)s->embedding.limit)
        code = truncate_text(s, client, text, (size_t)s->embedding.limit, &ids);
    *ntokens = ids.n;
    if (code == CLI_OK && llm_session_embed(s, ids.v, ids.n, out) != HILO_OK)
        code = cli_fail(client, HILO_INVALID_ARGUMENT);
    llm_ids_free(&ids);
    return code;
}

static void print_json(const struct vectors *v) {
    size_t tokens = 0;
    fputs("{\"embeddings\":[", stdout);
    for (size_t i = 0; i < v->n; i++) {
        fputs(i ? ",[" : "[", stdout);
        for (size_t k = 0; k < v->kept; k++)
            printf("%s%.9g", k ? "," : "", (double)v->x[i * v->width + k]);
        fputc(']', stdout);
        tokens += v->ntokens[i];
    }
    printf("],\"tokens\":%zu}\n", tokens);
}

static void print_lines(const struct vectors *v) {
    for (size_t i = 0; i < v->n; i++)
        for (size_t k = 0; k < v->kept; k++)
            printf("%s%.9g%s", k ? " " : "", (double)v->x[i * v->width + k], k + 1 < v->kept ? "" : "\n");
}

/* Texts with the prompt before each. */
static int embed_texts(struct llm_session *s, hilo_client *client, const struct str *texts, size_t n,
                       const struct embed_options *o, struct str prompt) {
    struct vectors v = {.n = n, .width = (size_t)s->embedding.width, .kept = (size_t)s->embedding.kept};
    struct strbuf text;
    strbuf_init(&text, mem_system_allocator());
    size_t bytes, nbytes = n * sizeof *v.ntokens;
    hilo_allocator al = mem_system_allocator();
    int code = CLI_OK;
    if (!mem_mul(n, v.width * sizeof *v.x, &bytes) || !(v.x = mem_alloc(&al, bytes)))
        return cli_error(CLI_ENVIRONMENT, "out of memory");
    v.ntokens = mem_alloc(&al, nbytes);
    if (!v.ntokens)
        code = cli_error(CLI_ENVIRONMENT, "out of memory");
    for (size_t i = 0; i < n && code == CLI_OK; i++) {
        text.n = 0;
        strbuf_putn(&text, prompt.p, prompt.n);
        strbuf_putn(&text, texts[i].p, texts[i].n);
        code = text.failed ? cli_error(CLI_ENVIRONMENT, "out of memory")
                           : embed_text(s, client, (struct str){text.p ? text.p : "", text.n}, o->truncate, v.x + i * v.width,
                                        &v.ntokens[i]);
    }
    cli_progress_end();
    if (code == CLI_OK)
        (o->json ? print_json : print_lines)(&v);
    strbuf_free(&text);
    mem_free(&al, v.ntokens, v.ntokens ? nbytes : 0);
    mem_free(&al, v.x, bytes);
    return code;
}

/* The lines of a file that are not empty. `out` has space for as many as there are line ends, and one. */
static size_t split_lines(struct str text, struct str *out) {
    size_t n = 0;
    for (const char *p = text.p, *end = text.p + text.n; p < end;) {
        const char *stop = memchr(p, '\n', (size_t)(end - p));
        stop = stop ? stop : end;
        if (stop > p)
            out[n++] = (struct str){p, (size_t)(stop - p)};
        p = stop + 1;
    }
    return n;
}

static int embed_all(struct llm_session *s, hilo_client *client, const struct cli_texts *texts, const struct embed_options *o,
                     struct str prompt) {
    struct strbuf file;
    hilo_allocator al = mem_system_allocator();
    size_t most = texts->n + 1;
    strbuf_init(&file, al);
    int code = o->file ? cli_read_text(o->file, &file) : CLI_OK;
    for (size_t i = 0; i < file.n; i++)
        most += file.p[i] == '\n';
    struct str *v = mem_alloc(&al, most * sizeof *v);
    size_t n = 0;
    if (!v)
        code = cli_error(CLI_ENVIRONMENT, "out of memory");
    for (size_t i = 0; i < texts->n && code == CLI_OK; i++)
        v[n++] = str_of(texts->v[i]);
    if (code == CLI_OK && file.n)
        n = split_lines((struct str){file.p, file.n}, v);
    if (code == CLI_OK)
        code = n ? embed_texts(s, client, v, n, o, prompt) : cli_error(CLI_USAGE, "there is no text");
    mem_free(&al, v, v ? most * sizeof *v : 0);
    strbuf_free(&file);
    return code;
}

static int embed_prompted(struct llm_session *s, hilo_client *client, const struct cli_texts *texts,
                          const struct embed_options *o) {
    hilo_allocator al = mem_system_allocator();
    struct strbuf prompt;
    struct diag_list d;
    diag_init(&d, al);
    strbuf_init(&prompt, al);
    hilo_status status = llm_embedding_prompt(o->model.dir, o->prompt, al, &d, &prompt);
    int code = CLI_OK;
    if (status != HILO_OK)
        code = cli_error(status == HILO_NOT_FOUND ? CLI_USAGE : CLI_FAILED, "%s", d.first->message);
    if (code == CLI_OK)
        code = embed_all(s, client, texts, o, (struct str){prompt.p ? prompt.p : "", prompt.n});
    diag_clear(&d);
    strbuf_free(&prompt);
    return code;
}

static int embed(const struct cli_texts *texts, const struct embed_options *o) {
    enum llm_pooling pooling;
    struct llm_session *s;
    hilo_client *client;
    if ((texts->n != 0) == (o->file != NULL))
        return cli_error(CLI_USAGE, "expected either texts or -f FILE");
    if (o->pooling && !llm_pooling_named(o->pooling, &pooling))
        return cli_error(CLI_USAGE, "--pooling %s: expected mean, cls or last", o->pooling);
    int code = cli_session(&o->model, &client, &s);
    if (code)
        return code;
    if (o->pooling)
        s->embedding.pooling = pooling;
    s->embedding.normalise &= !o->raw;
    s->embedding.kept = o->dimensions ? o->dimensions : s->embedding.width;
    if (s->embedding.kept > s->embedding.width)
        code = cli_error(CLI_USAGE, "--dimensions %lld: the model's vectors have %lld", (long long)o->dimensions,
                         (long long)s->embedding.width);
    if (code == CLI_OK)
        code = embed_prompted(s, client, texts, o);
    llm_session_close(s);
    hilo_client_release(client);
    return code;
}

static int embed_main(const struct cli_command *self, int argc, char **argv) {
    struct embed_options o = {.model = CLI_MODEL_DEFAULTS};
    struct cli_texts texts;
    int code = cli_options(self, argc, argv, &o, &texts);
    if (code < 0)
        code = embed(&texts, &o);
    cli_options_free(self, &o, &texts);
    return code;
}

static const struct cli_option options[] = {
    CLI_MODEL_OPTIONS(struct embed_options, model),
    {"-f", "FILE", CLI_TEXT, offsetof(struct embed_options, file), "read texts from a file, one a line; - is standard input"},
    {"--pooling", "P", CLI_TEXT, offsetof(struct embed_options, pooling),
     "mean, cls or last: the tokens whose states make the\nvector; default: as the model says"},
    {"--prompt", "NAME", CLI_TEXT, offsetof(struct embed_options, prompt),
     "put the model's prompt of that name before each text;\ndefault: its default prompt, if it has one"},
    {"--dimensions", "N", CLI_NUMBER, offsetof(struct embed_options, dimensions), "print the first N numbers only, normalised"},
    {"--truncate", NULL, CLI_FLAG, offsetof(struct embed_options, truncate),
     "drop the end of texts that are too long for the\nmodel, instead of an error"},
    {"--no-normalize", NULL, CLI_FLAG, offsetof(struct embed_options, raw), "do not divide vectors by their length"},
    {"--json", NULL, CLI_FLAG, offsetof(struct embed_options, json), "print JSON: {\"embeddings\": [[…], …], \"tokens\": N}"},
    {0}
};

const struct cli_command cli_embed = {
    .name = "embed", .operands = "[TEXT…]", .least = 0, .most = SIZE_MAX, .options = options, .run = embed_main,
    .summary = "computes embeddings of texts",
    .text = "Prints the vector of each text, on a line of its own, as sentence-transformers computes it: pooling, dense\n"
            "layers and normalisation are those of the model's modules.json. Decoders have embeddings, too.\n",
    .examples = "  hilo embed -m all-MiniLM-L6-v2 'a text' 'another text'\n"
                "  hilo embed -m Qwen3-Embedding-0.6B --json -f queries.txt\n",
};
