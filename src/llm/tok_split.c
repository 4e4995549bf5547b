/* From a text to pieces: added tokens are taken out, what is between them is normalized, cut by each stage in turn, and what
 * the last one leaves is encoded (tok_merge.c). */
#include "llm/tok_core.h"

#include <stdlib.h>
#include <utf8proc.h>

/* U+2581, which stands for a space in SentencePiece's vocabularies. */
#define METASPACE "\xE2\x96\x81"

/* ---- normalizers ----------------------------------------------------------------------------- */

static hilo_status normal_form(enum tok_norm_kind kind, struct str in, struct strbuf *out) {
    static const utf8proc_option_t forms[] = {
        [TOK_NFC] = UTF8PROC_STABLE | UTF8PROC_COMPOSE,
        [TOK_NFD] = UTF8PROC_STABLE | UTF8PROC_DECOMPOSE,
        [TOK_NFKC] = UTF8PROC_STABLE | UTF8PROC_COMPOSE | UTF8PROC_COMPAT,
        [TOK_NFKD] = UTF8PROC_STABLE | UTF8PROC_DECOMPOSE | UTF8PROC_COMPAT,
    };
    utf8proc_uint8_t *text = NULL;
    utf8proc_ssize_t n = utf8proc_map((const utf8proc_uint8_t *)in.p, (utf8proc_ssize_t)in.n, &text, forms[kind]);
    if (n == UTF8PROC_ERROR_INVALIDUTF8) /* it has no normal form */
        strbuf_str(out, in);
    else if (n >= 0)
        strbuf_putn(out, (const char *)text, (size_t)n);
    free(text);
    return n >= 0 || n == UTF8PROC_ERROR_INVALIDUTF8 ? HILO_OK : HILO_RESOURCE_EXHAUSTED;
}

static void replace_all(struct str in, struct str from, struct str to, size_t most, struct strbuf *out) {
    for (size_t i = 0; i < in.n && out->n <= most;) {
        if (from.n && in.n - i >= from.n && memcmp(in.p + i, from.p, from.n) == 0) {
            strbuf_str(out, to);
            i += from.n;
        } else {
            strbuf_putc(out, in.p[i++]);
        }
    }
}

/* A normalizer may multiply a text; this is more than those of real models do (a compatibility form has 11 times the bytes
   at most). */
static size_t most_normalized(size_t n) {
    return n < SIZE_MAX / 64 ? 32 * n + 4096 : SIZE_MAX;
}

/* `out` is set to the normalized text. */
static hilo_status normalize(const struct llm_tok *t, struct str in, struct diag_list *d, struct strbuf *out) {
    struct strbuf next;
    size_t most = most_normalized(in.n);
    hilo_status status = HILO_OK;
    strbuf_str(out, in);
    for (size_t i = 0; i < t->nnorms && status == HILO_OK; i++) {
        const struct tok_norm *norm = &t->norms[i];
        struct str text = {out->p, out->n};
        strbuf_init(&next, t->al);
        if (norm->kind == TOK_PREPEND) {
            if (text.n)
                strbuf_str(&next, norm->to);
            strbuf_str(&next, text);
        } else if (norm->kind == TOK_REPLACE) {
            replace_all(text, norm->from, norm->to, most, &next);
        } else {
            status = normal_form(norm->kind, text, &next);
        }
        next.failed |= out->failed;
        strbuf_free(out);
        *out = next;
        if (status == HILO_OK && out->n > most)
            status = diag_error(d, HILO_INVALID_ARGUMENT, "the tokenizer's normalizer makes more than %zu bytes of a text of "
                                                          "%zu", most, in.n);
    }
    return out->failed ? HILO_RESOURCE_EXHAUSTED : status;
}

/* ---- stages ---------------------------------------------------------------------------------- */

static hilo_status run_stage(struct tok_encoder *e, size_t stage, struct str piece, bool begins);

static hilo_status match_failed(struct tok_encoder *e, int code) {
    PCRE2_UCHAR text[128];
    if (code == PCRE2_ERROR_NOMEMORY)
        return HILO_RESOURCE_EXHAUSTED;
    if (pcre2_get_error_message(code, text, sizeof text) < 0)
        text[0] = '\0';
    return diag_error(e->d, HILO_INVALID_ARGUMENT, "the tokenizer's expression fails on this text: %s", (char *)text);
}

/* Steps that an expression may take at each place of a text: it may scan the text several times, but not try every way to
   divide it. */
enum { MATCH_HEAP_KB = 64 << 10, MATCH_STEPS = 1 << 20 };
static uint32_t match_steps(size_t n) {
    return n < (UINT32_MAX - MATCH_STEPS) / 16 ? (uint32_t)(MATCH_STEPS + 16 * n) : UINT32_MAX;
}

static hilo_status split(struct tok_encoder *e, size_t stage, struct str piece, bool begins) {
    const struct tok_stage *s = &e->t->stages[stage];
    /* Stages are nested, so each needs match data of its own. */
    pcre2_match_data *match = pcre2_match_data_create(1, NULL);
    size_t at = 0, from = 0; /* what is before `from` is done; the next match is looked for at `at` */
    pcre2_match_context *limits = pcre2_match_context_create(NULL);
    hilo_status status = match && limits ? HILO_OK : HILO_RESOURCE_EXHAUSTED;
    if (limits) {
        pcre2_set_match_limit(limits, match_steps(piece.n));
        pcre2_set_heap_limit(limits, MATCH_HEAP_KB);
    }
    while (status == HILO_OK && at <= piece.n) {
        int code = pcre2_match(s->code, (PCRE2_SPTR)piece.p, piece.n, at, 0, match, limits);
        if (code == PCRE2_ERROR_NOMATCH)
            break;
        if (code < 0) {
            status = match_failed(e, code);
            break;
        }
        const PCRE2_SIZE *span = pcre2_get_ovector_pointer(match);
        size_t begin = span[0], end = span[1];
        if (end <= begin || begin < from) { /* an empty match separates nothing */
            uint32_t c;
            size_t n = at < piece.n ? llm_utf8(piece.p + at, piece.p + piece.n, &c) : 0;
            at = (begin > at ? begin : at) + (n ? n : 1);
            continue;
        }
        if (begin > from && s->kind == TOK_SPLIT)
            status = run_stage(e, stage + 1, (struct str){piece.p + from, begin - from}, begins && from == 0);
        if (status == HILO_OK)
            status = run_stage(e, stage + 1, (struct str){piece.p + begin, end - begin}, begins && begin == 0);
        from = at = end;
    }
    pcre2_match_context_free(limits);
    pcre2_match_data_free(match);
    if (status == HILO_OK && from < piece.n && s->kind == TOK_SPLIT)
        status = run_stage(e, stage + 1, (struct str){piece.p + from, piece.n - from}, begins && from == 0);
    return status;
}

static hilo_status metaspace(struct tok_encoder *e, size_t stage, struct str piece, bool begins) {
    const struct tok_stage *s = &e->t->stages[stage];
    const size_t n = sizeof METASPACE - 1;
    struct strbuf text;
    hilo_status status = HILO_OK;
    strbuf_init(&text, e->t->al);
    bool already = piece.n && (piece.p[0] == ' ' || (piece.n >= n && memcmp(piece.p, METASPACE, n) == 0));
    if (s->prepend && (begins || !s->first) && !already)
        strbuf_puts(&text, METASPACE);
    replace_all(piece, STR(" "), STR(METASPACE), SIZE_MAX, &text);
    if (text.failed)
        status = HILO_RESOURCE_EXHAUSTED;
    for (size_t from = 0, at; from < text.n && status == HILO_OK; from = at) {
        for (at = from + 1; at < text.n; at++)
            if (s->split && text.n - at >= n && memcmp(text.p + at, METASPACE, n) == 0)
                break;
        status = run_stage(e, stage + 1, (struct str){text.p + from, at - from}, false);
    }
    strbuf_free(&text);
    return status;
}

static hilo_status prefix(struct tok_encoder *e, size_t stage, struct str piece) {
    if (piece.n && piece.p[0] == ' ')
        return run_stage(e, stage + 1, piece, false);
    struct strbuf text;
    strbuf_init(&text, e->t->al);
    strbuf_putc(&text, ' ');
    strbuf_str(&text, piece);
    hilo_status status = text.failed ? HILO_RESOURCE_EXHAUSTED
                                     : run_stage(e, stage + 1, (struct str){text.p, text.n}, false);
    strbuf_free(&text);
    return status;
}

/* `begins`: the piece is at the very beginning of the text. */
static hilo_status run_stage(struct tok_encoder *e, size_t stage, struct str piece, bool begins) {
    if (piece.n == 0)
        return HILO_OK;
    if (stage == e->t->nstages)
        return tok_merge_piece(e, piece);
    switch (e->t->stages[stage].kind) {
    case TOK_SPLIT:
    case TOK_MATCHES: return split(e, stage, piece, begins);
    case TOK_PREFIX: return prefix(e, stage, piece);
    case TOK_METASPACE: return metaspace(e, stage, piece, begins);
    }
    return HILO_INTERNAL;
}

static hilo_status plain_text(struct tok_encoder *e, struct str text, bool begins) {
    struct strbuf normal;
    if (text.n == 0)
        return HILO_OK;
    if (e->t->nnorms == 0)
        return run_stage(e, 0, text, begins);
    strbuf_init(&normal, e->t->al);
    hilo_status status = normalize(e->t, text, e->d, &normal);
    if (status == HILO_OK)
        status = run_stage(e, 0, (struct str){normal.p, normal.n}, begins);
    strbuf_free(&normal);
    return status;
}

/* ---- added tokens ---------------------------------------------------------------------------- */

static bool is_space(char c) {
    return c == ' ' || (c >= '\t' && c <= '\r');
}

/* A byte of a word; all of what is not ASCII counts as such. */
static bool is_word(char c) {
    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_' || (c & 0x80);
}

/* The longest added token at `at`; LLM_TOK_NONE when there is none. */
static int32_t added_at(const struct llm_tok *t, struct str text, const uint8_t *from_input, size_t at, unsigned flags) {
    if (!t->added_first[(unsigned char)text.p[at]])
        return LLM_TOK_NONE;
    for (size_t i = 0; i < t->nadded; i++) {
        const struct tok_token *k = &t->tokens[t->added[i]];
        size_t n = k->text.n;
        if (n > text.n - at || memcmp(text.p + at, k->text.p, n) != 0 || (k->special && (flags & LLM_TOK_NO_SPECIAL)))
            continue;
        if (k->special && from_input && memchr(from_input + at, 1, n))
            continue;
        bool alone = (at == 0 || !is_word(text.p[at - 1])) && (at + n == text.n || !is_word(text.p[at + n]));
        if (alone || !k->single_word)
            return t->added[i];
    }
    return LLM_TOK_NONE;
}

static hilo_status encode(struct tok_encoder *e, struct str text, const uint8_t *from_input, unsigned flags) {
    const struct llm_tok *t = e->t;
    size_t from = 0;
    for (size_t at = 0; at < text.n;) {
        int32_t id = added_at(t, text, from_input, at, flags);
        if (id == LLM_TOK_NONE) {
            at++;
            continue;
        }
        size_t end = at;
        while (t->tokens[id].lstrip && end > from && is_space(text.p[end - 1]))
            end--;
        HILO_TRY(plain_text(e, (struct str){text.p + from, end - from}, from == 0));
        llm_ids_push(e->out, id);
        at += t->tokens[id].text.n;
        while (t->tokens[id].rstrip && at < text.n && is_space(text.p[at]))
            at++;
        from = at;
    }
    return plain_text(e, (struct str){text.p + from, text.n - from}, from == 0);
}

hilo_status llm_tok_encode(const struct llm_tok *t, struct str text, const uint8_t *from_input, unsigned flags,
                           struct diag_list *d, struct llm_ids *out) {
    struct tok_encoder e = {.t = t, .d = d, .out = out};
    for (size_t i = 0; i < t->nbefore && (flags & LLM_TOK_POST); i++)
        llm_ids_push(out, t->before[i]);
    hilo_status status = text.n ? encode(&e, text, from_input, flags) : HILO_OK;
    for (size_t i = 0; i < t->nafter && (flags & LLM_TOK_POST); i++)
        llm_ids_push(out, t->after[i]);
    mem_free(&t->al, e.symbols, e.symbols_cap * sizeof *e.symbols);
    mem_free(&t->al, e.heap, e.heap_cap * sizeof *e.heap);
    return status == HILO_OK && out->failed ? HILO_RESOURCE_EXHAUSTED : status;
}
