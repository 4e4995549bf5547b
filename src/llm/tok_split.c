/* From a text to pieces: added tokens are taken out, what is between them is normalized (tok_norm.c), cut by each stage in
 * turn, and what the last one leaves is encoded (tok_merge.c, tok_words.c). */
#include "llm/tok_core.h"

#include <utf8proc.h>

/* U+2581, which stands for a space in SentencePiece's vocabularies. */
#define METASPACE "\xE2\x96\x81"

/* ---- stages ---------------------------------------------------------------------------------- */

static hilo_status run_stage(struct tok_encoder *e, size_t stage, struct str piece, bool begins);

/* A split in progress: the piece that is not passed on yet, and whether its last part is a match. */
struct cut {
    size_t stage;
    struct str text;
    size_t from, to;
    bool pending, match, begins;
};

static hilo_status flush(struct tok_encoder *e, struct cut *c) {
    bool now = c->pending;
    c->pending = false;
    return now ? run_stage(e, c->stage + 1, (struct str){c->text.p + c->from, c->to - c->from}, c->begins && c->from == 0)
               : HILO_OK;
}

/* Adds the next part of the text, as HF's NormalizedString::split joins them. */
static hilo_status add_part(struct tok_encoder *e, struct cut *c, size_t from, size_t to, bool match) {
    const struct tok_stage *s = &e->t->stages[c->stage];
    bool joins = false, before = c->match;
    if (from == to)
        return HILO_OK;
    match ^= s->invert;
    switch (s->behavior) {
    case TOK_REMOVED:
    case TOK_ISOLATED: break;
    case TOK_MERGED_WITH_PREVIOUS: joins = match && !before; break;
    case TOK_MERGED_WITH_NEXT: joins = !match && before; break;
    case TOK_CONTIGUOUS: joins = match == before; break;
    }
    c->match = match;
    if (joins && c->pending) {
        c->to = to;
        return HILO_OK;
    }
    HILO_TRY(flush(e, c));
    c->pending = !(match && s->behavior == TOK_REMOVED);
    c->from = from;
    c->to = to;
    return HILO_OK;
}

static hilo_status split(struct tok_encoder *e, size_t stage, struct str piece, bool begins) {
    const struct tok_stage *s = &e->t->stages[stage];
    struct cut cut = {.stage = stage, .text = piece, .begins = begins};
    /* Stages are nested, so each needs match data of its own. */
    pcre2_match_data *match = pcre2_match_data_create(1, NULL);
    pcre2_match_context *limits = tok_match_limits(piece.n);
    size_t at = 0, from = 0; /* what is before `from` is done; the next match is looked for at `at` */
    struct strbuf copy;
    struct str text = piece;
    strbuf_init(&copy, e->t->al);
    hilo_status status = match && limits ? HILO_OK : HILO_RESOURCE_EXHAUSTED;
    if (status == HILO_OK && !s->literal)
        status = tok_match_text(piece, &copy, &text);
    while (status == HILO_OK && at <= piece.n) {
        int code = pcre2_match(s->code, (PCRE2_SPTR)text.p, text.n, at, 0, match, limits);
        if (code == PCRE2_ERROR_NOMATCH)
            break;
        if (code < 0) {
            status = tok_match_failed(e->d, code);
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
        status = add_part(e, &cut, from, begin, false);
        if (status == HILO_OK)
            status = add_part(e, &cut, begin, end, true);
        from = at = end;
    }
    strbuf_free(&copy);
    pcre2_match_context_free(limits);
    pcre2_match_data_free(match);
    if (status == HILO_OK)
        status = add_part(e, &cut, from, piece.n, false);
    return status == HILO_OK ? flush(e, &cut) : status;
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
    for (size_t i = 0; i < piece.n; i++)
        strbuf_putn(&text, piece.p[i] == ' ' ? METASPACE : piece.p + i, piece.p[i] == ' ' ? n : 1);
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

static hilo_status alphabet(struct tok_encoder *e, size_t stage, struct str piece) {
    struct strbuf text;
    strbuf_init(&text, e->t->al);
    for (size_t i = 0; i < piece.n; i++) {
        uint16_t c = e->t->byte_chars[(unsigned char)piece.p[i]]; /* below U+0800 */
        if (c >= 0x80)
            strbuf_putc(&text, (char)(0xC0 | c >> 6));
        strbuf_putc(&text, (char)(c < 0x80 ? c : 0x80 | (c & 0x3F)));
    }
    hilo_status status = text.failed ? HILO_RESOURCE_EXHAUSTED
                                     : run_stage(e, stage + 1, (struct str){text.p, text.n}, false);
    strbuf_free(&text);
    return status;
}

/* Undoes `alphabet`. */
static hilo_status plain_bytes(struct tok_encoder *e, struct str *piece) {
    e->bytes.n = 0;
    for (size_t i = 0; i < piece->n;) {
        uint32_t c = 0;
        size_t n = llm_utf8(piece->p + i, piece->p + piece->n, &c);
        if (n && c < 512 && e->t->char_bytes[c] >= 0)
            strbuf_putc(&e->bytes, (char)e->t->char_bytes[c]);
        i += n ? n : 1;
    }
    *piece = (struct str){e->bytes.p ? e->bytes.p : "", e->bytes.n};
    return e->bytes.failed ? HILO_RESOURCE_EXHAUSTED : HILO_OK;
}

static hilo_status encode_piece(struct tok_encoder *e, struct str piece) {
    if (e->t->mapped)
        HILO_TRY(plain_bytes(e, &piece));
    switch (e->t->model) {
    case TOK_BPE: return tok_merge_piece(e, piece);
    case TOK_UNIGRAM: return tok_unigram_piece(e, piece);
    case TOK_WORDPIECE:
    case TOK_WORDLEVEL: return tok_word_piece(e, piece);
    }
    return HILO_INTERNAL;
}

/* `begins`: the piece is at the very beginning of the text. */
static hilo_status run_stage(struct tok_encoder *e, size_t stage, struct str piece, bool begins) {
    if (piece.n == 0)
        return HILO_OK;
    if (stage == e->t->nstages)
        return encode_piece(e, piece);
    switch (e->t->stages[stage].kind) {
    case TOK_SPLIT: return split(e, stage, piece, begins);
    case TOK_PREFIX: return prefix(e, stage, piece);
    case TOK_METASPACE: return metaspace(e, stage, piece, begins);
    case TOK_ALPHABET: return alphabet(e, stage, piece);
    }
    return HILO_INTERNAL;
}

/* ---- added tokens ---------------------------------------------------------------------------- */

/* What is done with the text between added tokens. `from_input` is that of its first byte, or NULL. */
typedef hilo_status (*between_fn)(struct tok_encoder *e, struct str text, const uint8_t *from_input, bool begins);

/* The code point that ends before `at`, and its first byte; 0 if there is none. */
static uint32_t before(struct str text, size_t at, size_t *first) {
    uint32_t c = 0;
    for (size_t n = 1; n <= 4 && n <= at; n++)
        if (llm_utf8(text.p + at - n, text.p + at, &c) == n) {
            *first = at - n;
            return c;
        }
    return 0;
}

/* A character of a word, as regular expressions define it. */
static bool is_word(uint32_t c) {
    switch (utf8proc_category((utf8proc_int32_t)tok_known(c))) {
    case UTF8PROC_CATEGORY_LU:
    case UTF8PROC_CATEGORY_LL:
    case UTF8PROC_CATEGORY_LT:
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_LO:
    case UTF8PROC_CATEGORY_MN:
    case UTF8PROC_CATEGORY_MC:
    case UTF8PROC_CATEGORY_ME:
    case UTF8PROC_CATEGORY_ND:
    case UTF8PROC_CATEGORY_NL:
    case UTF8PROC_CATEGORY_PC: return true;
    default: return c == 0x200C || c == 0x200D;
    }
}

static bool stands_alone(struct str text, size_t from, size_t to) {
    uint32_t after = 0;
    size_t first;
    llm_utf8(text.p + to, text.p + text.n, &after);
    return !is_word(before(text, from, &first)) && !is_word(after);
}

/* The longest added token at `at`, its index in `a`; a->n when there is none. */
static size_t added_at(const struct llm_tok *t, const struct tok_added *a, struct str text, const uint8_t *from_input,
                       size_t at, unsigned flags) {
    if (!a->first[(unsigned char)text.p[at]])
        return a->n;
    for (size_t i = 0; i < a->n; i++) {
        const struct tok_token *k = &t->tokens[a->ids[i]];
        size_t n = a->texts[i].n;
        if (n > text.n - at || memcmp(text.p + at, a->texts[i].p, n) != 0 || (k->special && (flags & LLM_TOK_NO_SPECIAL)))
            continue;
        if (k->special && from_input && memchr(from_input + at, 1, n))
            continue;
        if (!k->single_word || stands_alone(text, at, at + n))
            return i;
    }
    return a->n;
}

static hilo_status take_added(struct tok_encoder *e, const struct tok_added *a, struct str text, const uint8_t *from_input,
                              bool begins, between_fn between) {
    const struct llm_tok *t = e->t;
    size_t from = 0;
    for (size_t at = 0; at < text.n;) {
        size_t i = added_at(t, a, text, from_input, at, e->flags), end = at, first;
        if (i == a->n) {
            at++;
            continue;
        }
        const struct tok_token *k = &t->tokens[a->ids[i]];
        while (k->lstrip && end > from && tok_is_space(before(text, end, &first)) && first >= from)
            end = first;
        HILO_TRY(between(e, (struct str){text.p + from, end - from}, from_input ? from_input + from : NULL,
                         begins && from == 0));
        llm_ids_push(e->out, a->ids[i]);
        at += a->texts[i].n;
        uint32_t c;
        for (size_t n; k->rstrip && (n = llm_utf8(text.p + at, text.p + text.n, &c)) && tok_is_space(c);)
            at += n;
        from = at;
    }
    return between(e, (struct str){text.p + from, text.n - from}, from_input ? from_input + from : NULL, begins && from == 0);
}

static hilo_status pieces(struct tok_encoder *e, struct str text, const uint8_t *from_input, bool begins) {
    (void)from_input;
    return run_stage(e, 0, text, begins);
}

/* Where a normalizer changed the text, all of it counts as input if any byte does. */
static hilo_status normalized_text(struct tok_encoder *e, struct str text, const uint8_t *from_input, bool begins) {
    const struct llm_tok *t = e->t;
    struct strbuf normal;
    unsigned flags = e->flags;
    if (text.n == 0)
        return HILO_OK;
    if (t->nnorms == 0)
        return take_added(e, &t->added[1], text, from_input, begins, pieces);
    strbuf_init(&normal, t->al);
    hilo_status status = tok_normalize(t, text, e->d, &normal);
    e->flags |= from_input && memchr(from_input, 1, text.n) ? LLM_TOK_NO_SPECIAL : 0;
    if (status == HILO_OK)
        status = take_added(e, &t->added[1], (struct str){normal.p ? normal.p : "", normal.n}, NULL, begins, pieces);
    e->flags = flags;
    strbuf_free(&normal);
    return status;
}

hilo_status llm_tok_encode(const struct llm_tok *t, struct str text, const uint8_t *from_input, unsigned flags,
                           struct diag_list *d, struct llm_ids *out) {
    struct tok_encoder e = {.t = t, .d = d, .out = out, .flags = flags};
    strbuf_init(&e.text, t->al);
    strbuf_init(&e.bytes, t->al);
    for (size_t i = 0; i < t->nbefore && (flags & LLM_TOK_POST); i++)
        llm_ids_push(out, t->before[i]);
    hilo_status status = text.n ? take_added(&e, &t->added[0], text, from_input, true, normalized_text) : HILO_OK;
    for (size_t i = 0; i < t->nafter && (flags & LLM_TOK_POST); i++)
        llm_ids_push(out, t->after[i]);
    mem_free(&t->al, e.symbols, e.symbols_cap * sizeof *e.symbols);
    mem_free(&t->al, e.heap, e.heap_cap * sizeof *e.heap);
    mem_free(&t->al, e.nodes, e.nodes_cap * sizeof *e.nodes);
    strbuf_free(&e.text);
    strbuf_free(&e.bytes);
    return status == HILO_OK && out->failed ? HILO_RESOURCE_EXHAUSTED : status;
}
