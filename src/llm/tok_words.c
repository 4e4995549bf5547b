/* Pieces to ids, for models other than byte-pair encoding. */
#include "llm/tok_core.h"

static void push_bytes(struct tok_encoder *e, struct str s) {
    const struct llm_tok *t = e->t;
    bool bytes = t->byte_fallback;
    for (size_t i = 0; i < s.n && bytes; i++)
        bytes = t->byte_ids[(unsigned char)s.p[i]] != LLM_TOK_NONE;
    for (size_t i = 0; i < s.n && bytes; i++)
        llm_ids_push(e->out, t->byte_ids[(unsigned char)s.p[i]]);
    if (!bytes && t->unk != LLM_TOK_NONE)
        llm_ids_push(e->out, t->unk);
}

/* ---- WordPiece, WordLevel -------------------------------------------------------------------- */

static size_t characters(struct str s) {
    size_t n = 0;
    for (size_t i = 0; i < s.n; i++)
        n += ((unsigned char)s.p[i] & 0xC0) != 0x80;
    return n;
}

/* The longest token at the beginning of s, which has the prefix unless it begins the word; its length in *n. */
static int32_t longest_token(struct tok_encoder *e, struct str s, bool begins, size_t *n) {
    const struct llm_tok *t = e->t;
    struct str prefix = begins ? (struct str){"", 0} : t->prefix;
    size_t end = s.n < t->longest ? s.n : t->longest;
    e->text.n = 0;
    strbuf_str(&e->text, prefix);
    strbuf_putn(&e->text, s.p, end);
    for (; end > 0 && !e->text.failed; end--) {
        bool whole = end == s.n || ((unsigned char)s.p[end] & 0xC0) != 0x80;
        int32_t id = whole ? tok_find(t, (struct str){e->text.p, prefix.n + end}) : LLM_TOK_NONE;
        if (id != LLM_TOK_NONE) {
            *n = end;
            return id;
        }
    }
    return LLM_TOK_NONE;
}

hilo_status tok_word_piece(struct tok_encoder *e, struct str piece) {
    const struct llm_tok *t = e->t;
    size_t first = e->out->n, n = 0;
    bool known = t->model == TOK_WORDLEVEL || characters(piece) <= (size_t)t->word_limit;
    int32_t whole = t->model == TOK_WORDLEVEL ? tok_find(t, piece) : LLM_TOK_NONE;
    if (whole != LLM_TOK_NONE)
        llm_ids_push(e->out, whole);
    for (size_t at = 0; at < piece.n && whole == LLM_TOK_NONE && known; at += n) {
        int32_t id = t->model == TOK_WORDLEVEL ? LLM_TOK_NONE
                                               : longest_token(e, (struct str){piece.p + at, piece.n - at}, at == 0, &n);
        known = id != LLM_TOK_NONE;
        if (known)
            llm_ids_push(e->out, id);
    }
    if (!known && t->unk != LLM_TOK_NONE) { /* one for the whole word */
        e->out->n = first;
        llm_ids_push(e->out, t->unk);
    }
    return e->text.failed ? HILO_RESOURCE_EXHAUSTED : HILO_OK;
}

/* ---- Unigram --------------------------------------------------------------------------------- */

/* The first of sorted[from … to) whose byte at `depth` is at least c; a text that ends before it is less. */
static size_t lower_bound(const struct llm_tok *t, size_t from, size_t to, size_t depth, int c) {
    while (from < to) {
        size_t middle = from + (to - from) / 2;
        struct str s = t->tokens[t->sorted[middle]].text;
        if (s.n > depth && (unsigned char)s.p[depth] >= c)
            to = middle;
        else
            from = middle + 1;
    }
    return from;
}

static void improve(struct tok_node *node, double score, size_t from, int32_t id) {
    if (node->from == SIZE_MAX || score > node->score)
        *node = (struct tok_node){score, from, id};
}

/* Extends the best way to `at` by each token that begins there, and by an unknown character if no token is that character
   alone. */
static size_t extend(struct tok_encoder *e, struct str piece, size_t at) {
    const struct llm_tok *t = e->t;
    size_t from = 0, to = t->nsorted;
    uint32_t c;
    size_t n = llm_utf8(piece.p + at, piece.p + piece.n, &c);
    double score = e->nodes[at].score;
    bool single = false;
    n = n ? n : 1;
    for (size_t i = at; i < piece.n && from < to; i++) {
        size_t depth = i - at;
        from = lower_bound(t, from, to, depth, (unsigned char)piece.p[i]);
        to = lower_bound(t, from, to, depth, (unsigned char)piece.p[i] + 1);
        if (from == to || t->tokens[t->sorted[from]].text.n != depth + 1)
            continue;
        int32_t id = t->sorted[from];
        improve(&e->nodes[i + 1], score + t->tokens[id].score, at, id);
        single |= depth + 1 == n;
    }
    if (!single)
        improve(&e->nodes[at + n], score + t->unk_score, at, t->unk);
    return n;
}

/* The most probable sequence of tokens (Viterbi): HF's Unigram, which follows SentencePiece's unigram_model.cc. Neighbouring
   unknown characters are one unknown token. */
hilo_status tok_unigram_piece(struct tok_encoder *e, struct str piece) {
    const struct llm_tok *t = e->t;
    size_t count = 0;
    if (piece.n == SIZE_MAX || !tok_reserve(t, (void **)&e->nodes, piece.n + 1, &e->nodes_cap, sizeof *e->nodes))
        return HILO_RESOURCE_EXHAUSTED;
    for (size_t i = 0; i <= piece.n; i++)
        e->nodes[i] = (struct tok_node){0, i ? SIZE_MAX : 0, LLM_TOK_NONE};
    for (size_t at = 0; at < piece.n;)
        at += extend(e, piece, at);
    for (size_t end = piece.n; end > 0; count++) { /* the ends of the pieces, reversed, in place: count <= end */
        size_t from = e->nodes[end].from;
        bool unknown = e->nodes[end].id == t->unk;
        while (unknown && from > 0 && e->nodes[from].id == t->unk)
            from = e->nodes[from].from;
        e->nodes[end].from = from;
        end = from;
    }
    for (size_t end = piece.n, next = piece.n; end > 0; end = next) { /* turns the chain around: score is not needed any more */
        next = e->nodes[end].from;
        e->nodes[next].score = (double)end;
    }
    for (size_t at = 0; at < piece.n && count; count--) {
        size_t end = (size_t)e->nodes[at].score;
        int32_t id = e->nodes[end].id == t->unk ? tok_find(t, (struct str){piece.p + at, end - at}) : e->nodes[end].id;
        if (id != LLM_TOK_NONE)
            llm_ids_push(e->out, id);
        else
            push_bytes(e, (struct str){piece.p + at, end - at});
        at = end;
    }
    return HILO_OK;
}
