/* /v1/embeddings. */
#include "serve/server.h"

#include <stdlib.h>

enum { MOST_INPUTS = 2048 };

/* ---- input ----------------------------------------------------------------------------------- */

/* A text, or a list of ids; appended to the prompts. */
static bool read_one(struct call *c, struct text *t, const json_t *v) {
    const struct llm_session *s = t->model->s;
    hilo_status status = HILO_OK;
    json_t *one;
    size_t i, before = t->prompt.n;
    if (json_is_string(v)) {
        struct str text = {json_string_value(v), json_string_length(v)};
        status = llm_tok_encode(s->tok, text, NULL, LLM_TOK_POST, &c->d, &t->prompt);
    } else if (!json_is_array(v)) {
        return serve_error(c, 400, NULL, "input", "'input' is not a text, a list of ids, or a list of those");
    }
    json_array_foreach((json_t *)(uintptr_t)v, i, one) {
        if (!json_is_integer(one) || json_integer_value(one) < 0 || json_integer_value(one) >= s->model.config.vocab)
            return serve_error(c, 400, NULL, "input", "'input' has something else than ids of tokens");
        llm_ids_push(&t->prompt, (int32_t)json_integer_value(one));
    }
    if (status != HILO_OK || t->prompt.failed)
        return serve_failed(c, status, "input");
    size_t n = t->prompt.n - before;
    if (n == 0 || n > (size_t)s->embedding.limit)
        return serve_error(c, 400, "context_length_exceeded", "input", "a text has %zu tokens; 1 to %lld are possible", n,
                           (long long)s->embedding.limit);
    return true;
}

static bool read_inputs(struct call *c, struct text *t) {
    const json_t *input = json_object_get(c->body, "input");
    bool list = json_is_array(input) && !json_is_integer(json_array_get(input, 0));
    size_t n = list ? json_array_size(input) : 1;
    if (n == 0 || n > MOST_INPUTS)
        return serve_error(c, 400, NULL, "input", "'input' has %zu texts; 1 to %d are possible", n, MOST_INPUTS);
    size_t *ends = calloc(n, sizeof *ends);
    bool good = ends || serve_error(c, 500, NULL, NULL, "out of memory");
    t->task.embed = true;
    t->tried = 1;
    for (size_t i = 0; i < n && good; i++) {
        good = read_one(c, t, list ? json_array_get(input, i) : input);
        ends[i] = t->prompt.n;
    }
    good = good && text_choices(c, t, ends, n);
    free(ends);
    return good;
}

/* ---- output ---------------------------------------------------------------------------------- */

/* The bytes of f32 numbers, little endian, as OpenAI's clients ask for them. */
static json_t *base64(const float *v, size_t n) {
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const unsigned char *p = (const unsigned char *)v;
    size_t bytes = n * sizeof *v;
    struct strbuf out;
    strbuf_init(&out, mem_system_allocator());
    for (size_t i = 0; i < bytes; i += 3) {
        uint32_t word = (uint32_t)p[i] << 16 | (i + 1 < bytes ? (uint32_t)p[i + 1] << 8 : 0) | (i + 2 < bytes ? p[i + 2] : 0);
        for (size_t k = 0; k < 4; k++)
            strbuf_putc(&out, i + k > bytes ? '=' : digits[word >> (18 - 6 * k) & 63]);
    }
    json_t *text = out.failed ? NULL : json_stringn(out.p ? out.p : "", out.n);
    strbuf_free(&out);
    return text;
}

static json_t *vector(const float *v, size_t n, bool packed) {
    if (packed)
        return base64(v, n);
    json_t *out = json_array();
    for (size_t i = 0; i < n; i++)
        json_array_append_new(out, json_real((double)v[i]));
    return out;
}

void serve_embeddings(struct call *c) {
    const json_t *format = json_object_get(c->body, "encoding_format"), *dimensions = json_object_get(c->body, "dimensions");
    struct text *t = text_new(c, SERVE_EMBEDDINGS);
    if (!t)
        return;
    size_t width = (size_t)t->model->s->embedding.width;
    bool packed = json_is_string(format) && strcmp(json_string_value(format), "base64") == 0, good = true;
    if (format && !json_is_null(format) && !packed &&
        (!json_is_string(format) || strcmp(json_string_value(format), "float") != 0))
        good = serve_error(c, 400, NULL, "encoding_format", "'encoding_format' is not float or base64");
    else if (dimensions && !json_is_null(dimensions) && json_integer_value(dimensions) != (json_int_t)width)
        good = serve_error(c, 400, NULL, "dimensions", "the model's vectors have %zu dimensions", width);
    if (good && read_inputs(c, t) && text_submit(c, t) && text_wait(c, t)) {
        json_t *data = json_array();
        for (size_t i = 0; i < t->n; i++)
            json_array_append_new(data, json_pack("{s:s,s:I,s:o}", "object", "embedding", "index", (json_int_t)i, "embedding",
                                                  vector(t->choices[i].job.vector, width, packed)));
        json_int_t n = (json_int_t)t->prompt.n;
        serve_json(c, json_pack("{s:s,s:o,s:s,s:{s:I,s:I}}", "object", "list", "data", data, "model", t->model->id, "usage",
                                "prompt_tokens", n, "total_tokens", n));
    }
    text_free(t);
}
