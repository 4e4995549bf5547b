/* Ids, and text from ids: see tokenizer.h. */
#include "llm/tok_core.h"

void llm_ids_init(struct llm_ids *ids, hilo_allocator al) {
    *ids = (struct llm_ids){.al = al};
}

void llm_ids_free(struct llm_ids *ids) {
    mem_free(&ids->al, ids->v, ids->cap * sizeof *ids->v);
    *ids = (struct llm_ids){.al = ids->al};
}

void llm_ids_reserve(struct llm_ids *ids, size_t n) {
    size_t bytes;
    if (n <= ids->cap)
        return;
    int32_t *v = mem_mul(n, sizeof *v, &bytes) ? mem_resize(&ids->al, ids->v, ids->cap * sizeof *v, bytes) : NULL;
    if (!v) {
        ids->failed = true;
        return;
    }
    ids->v = v;
    ids->cap = n;
}

void llm_ids_push(struct llm_ids *ids, int32_t id) {
    if (ids->n == ids->cap)
        llm_ids_reserve(ids, ids->cap ? ids->cap * 2 : 64);
    if (ids->n < ids->cap)
        ids->v[ids->n++] = id;
}

/* ---- UTF-8 ----------------------------------------------------------------------------------- */

/* The length of a character that begins with c; 0 if none does. */
static size_t utf8_length(unsigned char c) {
    return c < 0x80 ? 1 : c < 0xC2 ? 0 : c < 0xE0 ? 2 : c < 0xF0 ? 3 : c < 0xF5 ? 4 : 0;
}

/* The second byte excludes overlong forms, surrogates and code points that are too large. */
static bool utf8_second(unsigned char first, unsigned char c) {
    unsigned char least = first == 0xE0 ? 0xA0 : first == 0xF0 ? 0x90 : 0x80;
    unsigned char most = first == 0xED ? 0x9F : first == 0xF4 ? 0x8F : 0xBF;
    return c >= least && c <= most;
}

/* The length of the character at p; 0 if it is invalid; SIZE_MAX if the bytes end within it. */
static size_t utf8_at(const char *p, const char *end) {
    unsigned char first = (unsigned char)*p;
    size_t n = utf8_length(first);
    for (size_t i = 1; i < n; i++) {
        if (p + i == end)
            return SIZE_MAX;
        unsigned char c = (unsigned char)p[i];
        if (i == 1 ? !utf8_second(first, c) : (c & 0xC0) != 0x80)
            return 0;
    }
    return n;
}

size_t llm_utf8(const char *p, const char *end, uint32_t *out) {
    size_t n = p < end ? utf8_at(p, end) : 0;
    if (n == 0 || n == SIZE_MAX)
        return 0;
    uint32_t code = (unsigned char)*p;
    if (n > 1)
        code &= 0x7Fu >> n;
    for (size_t i = 1; i < n; i++)
        code = code << 6 | ((unsigned char)p[i] & 0x3F);
    *out = code;
    return n;
}

/* ---- text ------------------------------------------------------------------------------------ */

size_t llm_tok_size(const struct llm_tok *t) {
    return t->ntokens;
}

static const struct tok_token *token(const struct llm_tok *t, int32_t id) {
    return id >= 0 && (size_t)id < t->ntokens && t->tokens[id].exists ? &t->tokens[id] : NULL;
}

struct str llm_tok_bytes(const struct llm_tok *t, int32_t id) {
    const struct tok_token *k = token(t, id);
    return k ? k->bytes : (struct str){"", 0};
}

bool llm_tok_is_special(const struct llm_tok *t, int32_t id) {
    const struct tok_token *k = token(t, id);
    return k && k->special;
}

int32_t llm_tok_id(const struct llm_tok *t, struct str spelling) {
    for (int k = 0; k < 2; k++)
        for (size_t i = 0; i < t->added[k].n; i++)
            if (str_eq(t->tokens[t->added[k].ids[i]].text, spelling))
                return t->added[k].ids[i];
    return tok_find(t, spelling);
}

void llm_text_init(struct llm_text *x, const struct llm_tok *t, bool special) {
    *x = (struct llm_text){.t = t, .special = special};
}

/* Writes the characters that are complete with this byte. */
static void put_byte(struct llm_text *x, char c, struct strbuf *out) {
    size_t n;
    x->pending[x->npending++] = c;
    while (x->npending && (n = utf8_at(x->pending, x->pending + x->npending)) != SIZE_MAX) {
        n = n ? n : 1; /* invalid: passed on unchanged */
        strbuf_putn(out, x->pending, n);
        x->npending -= (uint32_t)n;
        memmove(x->pending, x->pending + n, x->npending);
    }
}

void llm_text_put(struct llm_text *x, int32_t id, struct strbuf *out) {
    const struct tok_token *k = token(x->t, id);
    if (!k || (k->special && !x->special))
        return;
    struct str s = k->bytes;
    if (!x->begun && x->t->strip_space && !k->added && s.n && s.p[0] == ' ')
        s.p++, s.n--;
    if (x->space)
        put_byte(x, ' ', out);
    x->begun = true;
    x->space = k->ends_word;
    for (size_t i = 0; i < s.n; i++)
        put_byte(x, s.p[i], out);
}

void llm_text_flush(struct llm_text *x, struct strbuf *out) {
    strbuf_putn(out, x->pending, x->npending);
    x->npending = 0;
}

void llm_tok_decode(const struct llm_tok *t, const int32_t *ids, size_t n, bool special, struct strbuf *out) {
    struct llm_text x;
    llm_text_init(&x, t, special);
    for (size_t i = 0; i < n; i++)
        llm_text_put(&x, ids[i], out);
    llm_text_flush(&x, out);
}
