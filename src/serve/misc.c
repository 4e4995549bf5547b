/* Endpoints that generate no text: models, health, metrics, slots, tokens. */
#include "serve/server.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static json_t *model_object(const struct call *c, const struct serve_model *m) {
    return json_pack("{s:s,s:s,s:I,s:s,s:I}", "id", m->id, "object", "model", "created", (json_int_t)c->server->started,
                     "owned_by", "hilo", "context_length", (json_int_t)m->s->limit);
}

void serve_models(struct call *c) {
    json_t *data = json_array();
    for (size_t i = 0; i < c->server->o.nmodels; i++)
        if (c->server->models[i].s)
            json_array_append_new(data, model_object(c, &c->server->models[i]));
    serve_json(c, json_pack("{s:s,s:o}", "object", "list", "data", data));
}

void serve_one_model(struct call *c) {
    const char *id = c->http->path + strlen("/v1/models/");
    size_t n = strlen(id);
    n -= n && id[n - 1] == '/';
    for (size_t i = 0; i < c->server->o.nmodels; i++)
        if (c->server->models[i].s && strncmp(c->server->models[i].id, id, n) == 0 && !c->server->models[i].id[n]) {
            serve_json(c, model_object(c, &c->server->models[i]));
            return;
        }
    serve_error(c, 404, "model_not_found", "model", "there is no model '%.100s'", id);
}

void serve_health(struct call *c) {
    json_t *failed = json_object();
    bool lost = false;
    for (size_t i = 0; i < c->server->o.nmodels; i++) {
        const struct serve_model *m = &c->server->models[i];
        struct serve_counts counts = {.slots = 0};
        if (m->x)
            counts = schedule_counts(m->x);
        lost |= *counts.lost;
        if (!m->s || *counts.lost)
            json_object_set_new(failed, m->id, serve_text(str_of(m->s ? counts.lost : m->why)));
    }
    json_t *v = json_pack("{s:s}", "status", c->server->draining ? "shutting down" : lost ? "error" : "ok");
    if (json_object_size(failed))
        json_object_set(v, "failed_models", failed);
    json_decref(failed);
    serve_json(c, v);
    if (c->server->draining || lost)
        c->answer->status = 503;
}

void serve_slots(struct call *c) {
    static const char *const states[] = {
        [SERVE_QUEUED] = "waiting", [SERVE_READING] = "reading", [SERVE_WRITING] = "writing", [SERVE_DONE] = "idle"};
    json_t *all = json_array();
    for (size_t i = 0; i < c->server->o.nmodels; i++) {
        const struct serve_model *m = &c->server->models[i];
        struct serve_slot_info *info = m->x ? calloc(c->server->o.slots, sizeof *info) : NULL;
        size_t n = info ? schedule_slots(m->x, info, c->server->o.slots) : 0;
        for (size_t k = 0; k < n; k++)
            json_array_append_new(all,
                                  json_pack("{s:s,s:I,s:s,s:I,s:I,s:I}", "model", m->id, "id", (json_int_t)k, "state",
                                            states[info[k].state], "prompt_tokens", (json_int_t)info[k].prompt, "cached_tokens",
                                            (json_int_t)info[k].read, "generated_tokens", (json_int_t)info[k].written));
        free(info);
    }
    serve_json(c, all);
}

/* ---- metrics --------------------------------------------------------------------------------- */

static void help(struct strbuf *out, const char *name, const char *type, const char *text) {
    strbuf_printf(out, "# HELP hilo_%s %s\n# TYPE hilo_%s %s\n", name, text, name, type);
}

struct metric {
    const char *name, *type, *text;
    size_t at; /* in struct serve_counts: uint64_t, or size_t of the same size */
};
#define COUNT(field) offsetof(struct serve_counts, field)
static const struct metric metrics[] = {
    {"prompt_tokens_total", "counter", "Tokens of prompts.", COUNT(prompt_tokens)},
    {"prompt_tokens_cached_total", "counter", "Tokens of prompts that had been read for another request.",
     COUNT(cached_tokens)},
    {"generated_tokens_total", "counter", "Tokens that were generated.", COUNT(tokens)},
    {"decode_steps_total", "counter", "Decode steps.", COUNT(steps)},
    {"programs_total", "counter", "Programs that were compiled, or read from the cache.", COUNT(programs)},
    {"programs_late_total", "counter", "Programs that were compiled while texts waited for them.", COUNT(late)},
    {"decode_rows_total", "counter", "Texts that took part in decode steps.", COUNT(rows)},
    {"slots", "gauge", "Texts that can be written at once.", COUNT(slots)},
    {"slots_busy", "gauge", "Texts that are being read or written.", COUNT(busy)},
    {"queued", "gauge", "Texts that wait for a slot.", COUNT(queued)},
};

static void put_label(struct strbuf *out, const char *id) {
    strbuf_puts(out, "{model=\"");
    for (; *id; id++)
        strbuf_printf(out, *id == '"' || *id == '\\' ? "\\%c" : "%c", *id);
    strbuf_putc(out, '"');
}

static void put_histogram(struct strbuf *out, const char *name, const char *id, const struct serve_histogram *h) {
    uint64_t sum = 0;
    for (int i = 0; i < SERVE_BUCKETS; i++) {
        sum += h->n[i];
        strbuf_printf(out, "hilo_%s_bucket", name);
        put_label(out, id);
        if (isinf(serve_bucket_seconds[i]))
            strbuf_puts(out, ",le=\"+Inf\"");
        else
            strbuf_printf(out, ",le=\"%g\"", serve_bucket_seconds[i]);
        strbuf_printf(out, "} %llu\n", (unsigned long long)sum);
    }
    strbuf_printf(out, "hilo_%s_sum", name);
    put_label(out, id);
    strbuf_printf(out, "} %.6f\nhilo_%s_count", h->sum, name);
    put_label(out, id);
    strbuf_printf(out, "} %llu\n", (unsigned long long)h->count);
}

void serve_metrics(struct call *c) {
    static const char *const ends[] = {[SERVE_END_STOP] = "stop",
                                       [SERVE_END_LENGTH] = "length",
                                       [SERVE_END_CANCELLED] = "cancelled",
                                       [SERVE_END_TIME] = "timeout",
                                       [SERVE_END_FAILED] = "failed"};
    const struct server *s = c->server;
    struct strbuf *out = &c->answer->body;
    struct serve_counts *counts = calloc(s->o.nmodels, sizeof *counts);
    if (!counts) {
        serve_error(c, 500, NULL, NULL, "out of memory");
        return;
    }
    for (size_t i = 0; i < s->o.nmodels; i++)
        if (s->models[i].x)
            counts[i] = schedule_counts(s->models[i].x);
    help(out, "http_responses_total", "counter", "Answers by the class of their status.");
    for (int i = 1; i < 6; i++)
        strbuf_printf(out, "hilo_http_responses_total{class=\"%dxx\"} %llu\n", i, (unsigned long long)s->answers[i]);
    for (size_t k = 0; k < sizeof metrics / sizeof *metrics; k++) {
        help(out, metrics[k].name, metrics[k].type, metrics[k].text);
        for (size_t i = 0; i < s->o.nmodels; i++) {
            uint64_t v;
            memcpy(&v, (const char *)&counts[i] + metrics[k].at, sizeof v);
            strbuf_printf(out, "hilo_%s", metrics[k].name);
            put_label(out, s->models[i].id);
            strbuf_printf(out, "} %llu\n", (unsigned long long)v);
        }
    }
    help(out, "texts_total", "counter", "Texts by what ended them.");
    for (size_t i = 0; i < s->o.nmodels; i++)
        for (size_t k = 0; k < sizeof ends / sizeof *ends; k++) {
            strbuf_puts(out, "hilo_texts_total");
            put_label(out, s->models[i].id);
            strbuf_printf(out, ",end=\"%s\"} %llu\n", ends[k], (unsigned long long)counts[i].jobs[k]);
        }
    help(out, "first_token_seconds", "histogram", "Time from a request to its first token.");
    for (size_t i = 0; i < s->o.nmodels; i++)
        put_histogram(out, "first_token_seconds", s->models[i].id, &counts[i].first);
    help(out, "text_seconds", "histogram", "Time from a request to the end of its text.");
    for (size_t i = 0; i < s->o.nmodels; i++)
        put_histogram(out, "text_seconds", s->models[i].id, &counts[i].whole);
    free(counts);
    c->answer->status = 200;
    c->answer->type = "text/plain; version=0.0.4; charset=utf-8";
}

/* ---- tokens ---------------------------------------------------------------------------------- */

void serve_tokenize(struct call *c) {
    struct serve_model *m = serve_model_of(c);
    const json_t *content = json_object_get(c->body, "content"), *special = json_object_get(c->body, "add_special");
    struct llm_ids ids;
    if (!m)
        return;
    if (!json_is_string(content)) {
        serve_error(c, 400, NULL, "content", "'content' is not a string");
        return;
    }
    llm_ids_init(&ids, mem_system_allocator());
    struct str text = {json_string_value(content), json_string_length(content)};
    hilo_status status = llm_tok_encode(m->s->tok, text, NULL, json_is_true(special) ? LLM_TOK_POST : 0, &c->d, &ids);
    json_t *tokens = json_array();
    for (size_t i = 0; i < ids.n && status == HILO_OK; i++) {
        json_t *id = json_integer(ids.v[i]);
        if (json_is_true(json_object_get(c->body, "with_pieces")))
            id = json_pack("{s:o,s:o}", "id", id, "piece", serve_text(llm_tok_bytes(m->s->tok, ids.v[i])));
        json_array_append_new(tokens, id);
    }
    llm_ids_free(&ids);
    if (status == HILO_OK) {
        serve_json(c, json_pack("{s:o}", "tokens", tokens));
        return;
    }
    json_decref(tokens);
    serve_failed(c, status, "content");
}

void serve_detokenize(struct call *c) {
    struct serve_model *m = serve_model_of(c);
    const json_t *tokens = json_object_get(c->body, "tokens"), *one;
    struct strbuf text;
    struct llm_ids ids;
    size_t i;
    if (!m)
        return;
    strbuf_init(&text, mem_system_allocator());
    llm_ids_init(&ids, mem_system_allocator());
    bool good = json_is_array(tokens);
    json_array_foreach(tokens, i, one) {
        json_int_t id = json_integer_value(one);
        good &= json_is_integer(one) && id >= 0 && id < (json_int_t)llm_tok_size(m->s->tok);
        llm_ids_push(&ids, good ? (int32_t)id : 0);
    }
    llm_tok_decode(m->s->tok, ids.v, ids.n, true, &text);
    if (!good)
        serve_error(c, 400, NULL, "tokens", "'tokens' is not a list of ids of tokens");
    else
        serve_json(c, ids.failed || text.failed
                          ? NULL
                          : json_pack("{s:o}", "content", serve_text((struct str){text.p ? text.p : "", text.n})));
    llm_ids_free(&ids);
    strbuf_free(&text);
}
