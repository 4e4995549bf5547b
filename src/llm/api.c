/* The language models of hilo.h: a thin layer over sessions. */
#include "llm/generate.h"

struct hilo_llm {
    struct llm_session *session;
    hilo_client *client;
};

void hilo_llm_options_init_sized(hilo_llm_options *options, size_t struct_size) {
    static const hilo_llm_options defaults = {.level = 2};
    rt_options_init(options, struct_size, &defaults, sizeof defaults);
}

void hilo_generate_options_init_sized(hilo_generate_options *options, size_t struct_size) {
    static const hilo_generate_options defaults = {.top_p = 1, .repetition_penalty = 1};
    rt_options_init(options, struct_size, &defaults, sizeof defaults);
}

hilo_status hilo_llm_load(hilo_client *client, const char *path, const hilo_llm_options *options, hilo_llm **out) {
    hilo_llm_options o;
    struct llm_session_options so = {.batch = 1};
    hilo_llm_options_init(&o);
    if (!client || !path || !out || !rt_options(&o, sizeof o, options))
        return HILO_INVALID_ARGUMENT;
    if (o.precision && !llm_precision_named(o.precision, &so.precision))
        return llm_error(client, HILO_INVALID_ARGUMENT, "there is no precision '%s'", o.precision);
    if (o.level < 0 || o.level > 3)
        return llm_error(client, HILO_INVALID_ARGUMENT, "there is no level %d; levels are 0 to 3", (int)o.level);
    if (rt_client_comm(client))
        return llm_error(client, HILO_UNIMPLEMENTED, "models run on several devices of a client, but on several nodes only by "
                         "hilo generate and hilo serve");
    so.engine = o.engine;
    so.level = o.level;
    so.context = o.context;
    so.progress = (struct llm_progress){o.progress, o.progress_user};
    hilo_llm *m = mem_alloc(rt_client_allocator(client), sizeof *m);
    if (!m)
        return llm_error(client, HILO_RESOURCE_EXHAUSTED, "out of memory");
    *m = (hilo_llm){.client = client};
    hilo_status status = llm_session_open(client, path, &so, &m->session);
    if (status == HILO_OK) {
        rt_client_retain(client);
        *out = m;
    } else {
        mem_free(rt_client_allocator(client), m, sizeof *m);
    }
    return status;
}

void hilo_llm_release(hilo_llm *m) {
    if (!m)
        return;
    hilo_client *client = m->client;
    llm_session_close(m->session);
    mem_free(rt_client_allocator(client), m, sizeof *m);
    hilo_client_release(client);
}

int64_t hilo_llm_context(const hilo_llm *m) {
    return m ? m->session->limit : 0;
}

/* ---- tokens ---------------------------------------------------------------------------------- */

/* Copies as many of the ids as `out` has space for. */
static hilo_status give_ids(hilo_llm *m, const struct llm_ids *ids, int32_t *out, size_t capacity, size_t *n) {
    *n = ids->n;
    if (ids->n && capacity)
        memcpy(out, ids->v, (ids->n < capacity ? ids->n : capacity) * sizeof *out);
    return ids->failed ? llm_error(m->client, HILO_RESOURCE_EXHAUSTED, "out of memory") : HILO_OK;
}

static hilo_status encode(hilo_llm *m, struct str text, const uint8_t *from_input, unsigned flags, int32_t *ids,
                          size_t capacity, size_t *n) {
    struct llm_ids v;
    struct diag_list d;
    diag_init(&d, *rt_client_allocator(m->client));
    llm_ids_init(&v, *rt_client_allocator(m->client));
    hilo_status status = rt_finish(m->client, &d, llm_tok_encode(m->session->tok, text, from_input, flags, &d, &v));
    if (status == HILO_OK)
        status = give_ids(m, &v, ids, capacity, n);
    llm_ids_free(&v);
    return status;
}

hilo_status hilo_llm_encode(hilo_llm *m, const char *text, size_t nbytes, int32_t *ids, size_t capacity, size_t *n) {
    if (!m || (nbytes && !text) || (capacity && !ids) || !n)
        return HILO_INVALID_ARGUMENT;
    return encode(m, (struct str){nbytes ? text : "", nbytes}, NULL, LLM_TOK_POST, ids, capacity, n);
}

hilo_status hilo_llm_encode_chat(hilo_llm *m, const hilo_llm_message *messages, size_t nmessages, int32_t *ids, size_t capacity,
                                 size_t *n) {
    struct diag_list d;
    struct jinja_text text = {.al = mem_system_allocator()};
    size_t bytes;
    if (!m || (nmessages && !messages) || (capacity && !ids) || !n)
        return HILO_INVALID_ARGUMENT;
    for (size_t i = 0; i < nmessages; i++)
        if (!messages[i].role || !messages[i].content)
            return HILO_INVALID_ARGUMENT;
    struct llm_message *v = mem_mul(nmessages, sizeof *v, &bytes) ? mem_alloc(rt_client_allocator(m->client), bytes) : NULL;
    if (!v)
        return llm_error(m->client, HILO_RESOURCE_EXHAUSTED, "out of memory");
    for (size_t i = 0; i < nmessages; i++)
        v[i] = (struct llm_message){str_of(messages[i].role), str_of(messages[i].content)};
    diag_init(&d, *rt_client_allocator(m->client));
    json_t *input = llm_chat_input(v, nmessages);
    hilo_status status = input ? llm_chat_render(&m->session->chat, input, &d, &text)
                               : diag_error(&d, HILO_INVALID_ARGUMENT, "the messages are not UTF-8 text");
    json_decref(input);
    mem_free(rt_client_allocator(m->client), v, bytes);
    status = rt_finish(m->client, &d, status);
    if (status == HILO_OK)
        status = encode(m, (struct str){text.p, text.n}, text.from_input, 0, ids, capacity, n);
    jinja_text_free(&text);
    return status;
}

hilo_status hilo_llm_decode(hilo_llm *m, const int32_t *ids, size_t n, hilo_write_fn write, void *user) {
    struct strbuf text;
    if (!m || (n && !ids) || !write)
        return HILO_INVALID_ARGUMENT;
    strbuf_init(&text, *rt_client_allocator(m->client));
    llm_tok_decode(m->session->tok, ids, n, true, &text);
    hilo_status status = text.failed ? llm_error(m->client, HILO_RESOURCE_EXHAUSTED, "out of memory") : HILO_OK;
    if (status == HILO_OK && text.n)
        write(user, text.p, text.n);
    strbuf_free(&text);
    return status;
}

/* ---- generating ------------------------------------------------------------------------------ */

static hilo_finish finish_of(enum llm_end end) {
    static const hilo_finish finishes[] = {
        [LLM_END_LENGTH] = HILO_FINISH_LENGTH, [LLM_END_TOKEN] = HILO_FINISH_END, [LLM_END_STOP] = HILO_FINISH_STOP,
        [LLM_END_CONTEXT] = HILO_FINISH_CONTEXT, [LLM_END_CALLER] = HILO_FINISH_CALLER};
    return finishes[end];
}

static void fill_result(const struct llm_generated *g, const struct llm_session *s, double compile_before, size_t capacity,
                        int32_t *ids, hilo_generated *out) {
    hilo_generated r = {.struct_size = sizeof r, .finish = finish_of(g->end), .ntokens = g->ids.n, .prompt_read = g->read,
                        .prompt_reused = g->reused, .prefill_ms = g->prefill_ms, .decode_ms = g->decode_ms,
                        .compile_ms = s->compile_ms - compile_before,
                        .decode_allocations = g->decode.known ? (int64_t)g->decode.allocations : -1,
                        .decode_copied_bytes = g->decode.known ? (int64_t)g->decode.copied_bytes : -1};
    size_t size = out->struct_size < sizeof r ? out->struct_size : sizeof r;
    if (g->ids.n && capacity)
        memcpy(ids, g->ids.v, (g->ids.n < capacity ? g->ids.n : capacity) * sizeof *ids);
    memcpy((char *)out + sizeof r.struct_size, (const char *)&r + sizeof r.struct_size, size - sizeof r.struct_size);
}

hilo_status hilo_llm_generate(hilo_llm *m, const int32_t *prompt, size_t n, const hilo_generate_options *options, int32_t *ids,
                              size_t capacity, hilo_generated *out) {
    hilo_generate_options o;
    hilo_generate_options_init(&o);
    if (!m || !prompt || (capacity && !ids) || (out && out->struct_size < sizeof out->struct_size) ||
        !rt_options(&o, sizeof o, options) || (o.nstop && !o.stop))
        return HILO_INVALID_ARGUMENT;
    struct llm_generate_options go = {
        .most = o.max_tokens, .stop = o.stop, .nstop = o.nstop, .on_text = o.on_text, .user = o.on_text_user,
        .sampling = {.repetition = o.repetition_penalty, .temperature = o.temperature, .top_k = o.top_k, .top_p = o.top_p,
                     .min_p = o.min_p, .seed = o.seed}};
    struct llm_generated g;
    double compiled = m->session->compile_ms;
    llm_generated_init(&g, *rt_client_allocator(m->client));
    hilo_status status = llm_generate(m->session, prompt, n, &go, &g);
    if (status == HILO_OK && out)
        fill_result(&g, m->session, compiled, capacity, ids, out);
    else if (status == HILO_OK && g.ids.n && capacity)
        memcpy(ids, g.ids.v, (g.ids.n < capacity ? g.ids.n : capacity) * sizeof *ids);
    llm_generated_free(&g);
    return status;
}
