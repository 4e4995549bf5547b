/* Byte-pair encoding of a piece: the adjacent pair of symbols with the lowest rank is merged until no adjacent pair is in the
 * table. A heap of pairs bounds the time by n log n for any text. */
#include "llm/tok_core.h"

#include <limits.h>

enum { END = UINT32_MAX };

int32_t tok_find(const struct llm_tok *t, struct str text) {
    size_t mask = t->nindex - 1;
    for (size_t at = (size_t)str_hash(text.p, text.n, 0) & mask; t->nindex && t->index[at]; at = (at + 1) & mask)
        if (str_eq(t->tokens[t->index[at] - 1].text, text))
            return (int32_t)(t->index[at] - 1);
    return LLM_TOK_NONE;
}

static const struct tok_merge *tok_find_merge(const struct llm_tok *t, int32_t left, int32_t right) {
    size_t mask = t->nmerges - 1;
    for (size_t at = (size_t)tok_pair_hash(left, right) & mask; t->nmerges && t->merges[at].left >= 0; at = (at + 1) & mask)
        if (t->merges[at].left == left && t->merges[at].right == right)
            return &t->merges[at];
    return NULL;
}

/* ---- symbols --------------------------------------------------------------------------------- */

bool tok_reserve(const struct llm_tok *t, void **v, size_t n, size_t *cap, size_t size) {
    if (n <= *cap)
        return true;
    size_t more = *cap ? *cap * 2 : 64, bytes;
    more = more < n ? n : more;
    if (more < *cap || !mem_mul(more, size, &bytes))
        return false;
    void *p = mem_resize(&t->al, *v, *cap * size, bytes);
    if (p) {
        *v = p;
        *cap = more;
    }
    return p != NULL;
}

static bool push_symbol(struct tok_encoder *e, int32_t id) {
    if (e->nsymbols >= END - 1 ||
        !tok_reserve(e->t, (void **)&e->symbols, e->nsymbols + 1, &e->symbols_cap, sizeof *e->symbols))
        return false;
    uint32_t i = (uint32_t)e->nsymbols++;
    e->symbols[i] = (struct tok_symbol){id, i ? i - 1 : END, END};
    if (i)
        e->symbols[i - 1].next = i;
    return true;
}

/* A character that is no token: its bytes, the unknown token, or nothing. */
static bool push_unknown(struct tok_encoder *e, struct str c) {
    const struct llm_tok *t = e->t;
    bool bytes = t->byte_fallback;
    for (size_t i = 0; i < c.n; i++)
        bytes = bytes && t->byte_ids[(unsigned char)c.p[i]] != LLM_TOK_NONE;
    for (size_t i = 0; i < c.n && bytes; i++)
        if (!push_symbol(e, t->byte_ids[(unsigned char)c.p[i]]))
            return false;
    bool fused = t->fuse_unk && e->nsymbols && e->symbols[e->nsymbols - 1].id == t->unk;
    return bytes || t->unk == LLM_TOK_NONE || fused || push_symbol(e, t->unk);
}

/* The token of a character, which is spelled with the prefix and the suffix of its place in the word. */
static int32_t character(struct tok_encoder *e, struct str c, bool begins, bool ends) {
    const struct llm_tok *t = e->t;
    bool prefixed = t->prefix.n && !begins, suffixed = t->suffix.n && ends;
    if (!prefixed && !suffixed)
        return t->byte_level ? t->byte_ids[(unsigned char)*c.p] : tok_find(t, c);
    e->text.n = 0;
    if (prefixed)
        strbuf_str(&e->text, t->prefix);
    strbuf_str(&e->text, c);
    if (suffixed)
        strbuf_str(&e->text, t->suffix);
    return tok_find(t, (struct str){e->text.p, e->text.n});
}

static bool push_piece(struct tok_encoder *e, struct str piece) {
    const char *p = piece.p, *end = piece.p + piece.n;
    e->nsymbols = e->nheap = 0;
    while (p < end) {
        uint32_t code;
        size_t n = e->t->byte_level ? 1 : llm_utf8(p, end, &code);
        struct str c = {p, n ? n : 1};
        int32_t id = character(e, c, p == piece.p, p + c.n == end);
        if (id == LLM_TOK_NONE ? !push_unknown(e, c) : !push_symbol(e, id))
            return false;
        p += c.n;
    }
    return true;
}

/* ---- pairs ----------------------------------------------------------------------------------- */

static bool before(const struct tok_pair *a, const struct tok_pair *b) {
    return a->rank != b->rank ? a->rank < b->rank : a->at < b->at;
}

/* Pushes the pair that begins at symbol `at`, if it can be merged. */
static bool push_pair(struct tok_encoder *e, uint32_t at) {
    if (at == END || e->symbols[at].next == END)
        return true;
    int32_t left = e->symbols[at].id, right = e->symbols[e->symbols[at].next].id;
    const struct tok_merge *m = tok_find_merge(e->t, left, right);
    if (!m)
        return true;
    if (!tok_reserve(e->t, (void **)&e->heap, e->nheap + 1, &e->heap_cap, sizeof *e->heap))
        return false;
    struct tok_pair pair = {m->rank, at, left, right};
    size_t i = e->nheap++;
    for (; i && before(&pair, &e->heap[(i - 1) / 2]); i = (i - 1) / 2)
        e->heap[i] = e->heap[(i - 1) / 2];
    e->heap[i] = pair;
    return true;
}

static struct tok_pair pop_pair(struct tok_encoder *e) {
    struct tok_pair top = e->heap[0], last = e->heap[--e->nheap];
    size_t i = 0;
    for (size_t k; (k = 2 * i + 1) < e->nheap; i = k) {
        if (k + 1 < e->nheap && before(&e->heap[k + 1], &e->heap[k]))
            k++;
        if (!before(&e->heap[k], &last))
            break;
        e->heap[i] = e->heap[k];
    }
    e->heap[i] = last;
    return top;
}

/* A pair is stale if one of its symbols was merged after it was pushed; a merged symbol has no id. */
static bool join(struct tok_encoder *e, const struct tok_pair *pair) {
    struct tok_symbol *s = &e->symbols[pair->at];
    if (s->id != pair->left || s->next == END || e->symbols[s->next].id != pair->right)
        return true;
    struct tok_symbol *gone = &e->symbols[s->next];
    s->id = tok_find_merge(e->t, pair->left, pair->right)->to;
    s->next = gone->next;
    gone->id = LLM_TOK_NONE;
    if (s->next != END)
        e->symbols[s->next].prev = pair->at;
    return push_pair(e, s->prev) && push_pair(e, pair->at);
}

hilo_status tok_merge_piece(struct tok_encoder *e, struct str piece) {
    int32_t whole = e->t->ignore_merges ? tok_find(e->t, piece) : LLM_TOK_NONE;
    if (whole != LLM_TOK_NONE) {
        llm_ids_push(e->out, whole);
        return HILO_OK;
    }
    if (!push_piece(e, piece))
        return HILO_RESOURCE_EXHAUSTED;
    for (size_t i = 0; i < e->nsymbols; i++)
        if (!push_pair(e, (uint32_t)i))
            return HILO_RESOURCE_EXHAUSTED;
    while (e->nheap) {
        struct tok_pair pair = pop_pair(e);
        if (!join(e, &pair))
            return HILO_RESOURCE_EXHAUSTED;
    }
    for (uint32_t i = e->nsymbols ? 0 : END; i != END; i = e->symbols[i].next)
        llm_ids_push(e->out, e->symbols[i].id);
    return HILO_OK;
}
