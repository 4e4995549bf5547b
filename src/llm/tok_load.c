/* Reading tokenizer.json: see tokenizer.h. Kinds that this reader does not know would silently give other ids, so they are
   refused by name. */
#include "llm/document.h"
#include "llm/tok_core.h"

#include <math.h>
#include <stdlib.h>

const char *tok_type(const json_t *o) {
    const char *type = json_string_value(json_object_get(o, "type"));
    return type ? type : "?";
}

static struct llm_object object(struct tok_load *l, const json_t *o, const char *where) {
    return (struct llm_object){l->json, o, where};
}

struct str tok_copy(struct tok_load *l, const json_t *text) {
    size_t n = json_string_length(text);
    return n ? (struct str){arena_dup(l->a, json_string_value(text), n, 1), n} : (struct str){"", 0};
}

/* ---- the alphabet of bytes ------------------------------------------------------------------- */

/* Printable characters of Latin-1 stand for themselves, the other 68 bytes for U+0100 and on, as in GPT-2's encoder.py. */
void tok_byte_alphabet(uint16_t out[256]) {
    uint16_t other = 256;
    for (uint16_t b = 0; b < 256; b++) {
        bool itself = (b >= '!' && b <= '~') || (b >= 0xA1 && b <= 0xAC) || (b >= 0xAE && b <= 0xFF);
        out[b] = itself ? b : other++;
    }
}

static void make_alphabet(struct llm_tok *t) {
    tok_byte_alphabet(t->byte_chars);
    memset(t->char_bytes, 0xFF, sizeof t->char_bytes); /* -1 */
    for (int16_t b = 0; b < 256; b++)
        t->char_bytes[t->byte_chars[b]] = b;
}

/* Decodes a spelling to bytes; false if it has characters outside the alphabet. */
static bool alphabet_bytes(struct tok_load *l, struct str spelling, struct str *out) {
    char *p = arena_alloc(l->a, spelling.n ? spelling.n : 1, 1);
    size_t n = 0;
    for (size_t i = 0; i < spelling.n;) {
        uint32_t c;
        size_t length = llm_utf8(spelling.p + i, spelling.p + spelling.n, &c);
        if (!length || c >= 512 || l->t->char_bytes[c] < 0)
            return false;
        p[n++] = (char)l->t->char_bytes[c];
        i += length;
    }
    *out = (struct str){p, n};
    return true;
}

/* ---- tokens ---------------------------------------------------------------------------------- */

/* <0x00> … <0xFF>: the byte; -1 for another spelling. */
static int byte_token(struct str s) {
    char *end, digits[3] = {0};
    if (s.n != 6 || !str_starts(s, "<0x") || s.p[5] != '>')
        return -1;
    memcpy(digits, s.p + 3, 2);
    long v = strtol(digits, &end, 16);
    return end == digits + 2 ? (int)v : -1;
}

/* Decodes a SentencePiece token: U+2581 is a space. */
static struct str plain_bytes(struct tok_load *l, struct str s) {
    char *p = arena_alloc(l->a, s.n ? s.n : 1, 1);
    size_t n = 0;
    for (size_t i = 0; i < s.n; i++) {
        bool space = s.n - i >= 3 && memcmp(s.p + i, "\xE2\x96\x81", 3) == 0;
        p[n++] = space ? ' ' : s.p[i];
        i += space ? 2 : 0;
    }
    return (struct str){p, n};
}

static struct str str_copy(struct tok_load *l, const char *z) {
    size_t n = strlen(z);
    return (struct str){n ? arena_dup(l->a, z, n, 1) : "", n};
}

static void index_token(struct llm_tok *t, size_t id) {
    size_t mask = t->nindex - 1, at = (size_t)str_hash(t->tokens[id].text.p, t->tokens[id].text.n, 0) & mask;
    while (t->index[at])
        at = (at + 1) & mask;
    t->index[at] = (uint32_t)id + 1;
}

/* The bytes of a token of words: a space before it unless it continues a word, and none before a punctuation mark, as HF's
   decoder (`cleanup`) writes them. */
static struct str word_bytes(struct tok_load *l, struct str s) {
    static const char *const tight[] = {".", "?", "!", ",", "n't", "'m", "'s", "'ve", "'re"};
    struct str prefix = l->t->prefix;
    if (prefix.n && s.n >= prefix.n && memcmp(s.p, prefix.p, prefix.n) == 0)
        return (struct str){s.p + prefix.n, s.n - prefix.n};
    for (size_t i = 0; i < sizeof tight / sizeof *tight && l->cleanup; i++)
        if (str_is(s, tight[i]))
            return s;
    char *p = arena_alloc(l->a, s.n + 1, 1);
    p[0] = ' ';
    if (s.n)
        memcpy(p + 1, s.p, s.n);
    return (struct str){p, s.n + 1};
}

static hilo_status set_token(struct tok_load *l, struct str spelling, int32_t id) {
    struct llm_tok *t = l->t;
    struct tok_token *k = &t->tokens[id];
    if (k->exists)
        return TOK_FAIL(l, "'model.vocab' has two tokens with the id %d", (int)id);
    k->exists = true;
    k->text = k->bytes = spelling;
    int byte = t->byte_fallback ? byte_token(spelling) : -1;
    if (t->byte_level) {
        struct str bytes;
        if (!alphabet_bytes(l, spelling, &bytes)) /* no text becomes this token, but another may stand for the same bytes */
            return HILO_OK;
        k->text = k->bytes = bytes;
        size_t end = t->suffix.n;
        k->ends_word = end && k->text.n >= end && memcmp(k->text.p + k->text.n - end, t->suffix.p, end) == 0;
        k->bytes.n -= k->ends_word ? end : 0;
        if (k->text.n == 1 && t->byte_ids[(unsigned char)k->text.p[0]] == LLM_TOK_NONE)
            t->byte_ids[(unsigned char)k->text.p[0]] = id;
    } else if (byte >= 0) {
        t->byte_ids[byte] = id;
        char *p = arena_alloc(l->a, 1, 1);
        *p = (char)byte;
        k->bytes = (struct str){p, 1};
    } else if (t->model == TOK_WORDPIECE || t->model == TOK_WORDLEVEL) {
        k->bytes = word_bytes(l, spelling);
    } else {
        size_t end = t->suffix.n;
        k->ends_word = end && k->text.n >= end && memcmp(k->text.p + k->text.n - end, t->suffix.p, end) == 0;
        k->bytes = plain_bytes(l, (struct str){spelling.p, spelling.n - (k->ends_word ? end : 0)});
    }
    t->longest = k->text.n > t->longest ? k->text.n : t->longest;
    index_token(t, (size_t)id);
    return HILO_OK;
}

/* Whether `v` is a number of a token; there may be unused ones, but not many more than tokens. */
static bool is_id(const json_t *v, json_int_t limit) {
    return json_is_integer(v) && json_integer_value(v) >= 0 && json_integer_value(v) <= limit;
}

/* Allocates the tokens up to the largest id. */
static hilo_status count_tokens(struct tok_load *l, const json_t *vocab, const json_t *added) {
    const char *spelling;
    json_t *v;
    size_t i, listed = json_is_array(vocab) ? json_array_size(vocab) : json_object_size(vocab);
    json_int_t most = json_is_array(vocab) ? (json_int_t)listed - 1 : -1;
    json_int_t limit = 65536 + 4 * (json_int_t)(listed + json_array_size(added));
    json_object_foreach((json_t *)(uintptr_t)vocab, spelling, v) {
        if (!is_id(v, limit))
            return TOK_FAIL(l, "'model.vocab' has no id for '%s'", spelling);
        most = json_integer_value(v) > most ? json_integer_value(v) : most;
    }
    json_array_foreach(added, i, v) {
        const json_t *id = json_object_get(v, "id");
        if (!is_id(id, limit) || !json_string_length(json_object_get(v, "content")))
            return TOK_FAIL(l, "'added_tokens' number %zu has no 'id' or no 'content'", i);
        most = json_integer_value(id) > most ? json_integer_value(id) : most;
    }
    struct llm_tok *t = l->t;
    if (most >= INT32_MAX)
        return TOK_FAIL(l, "'model.vocab' has too many tokens");
    t->ntokens = (size_t)(most + 1);
    t->tokens = ARENA_ARRAY(l->a, struct tok_token, t->ntokens);
    t->nindex = 64;
    while (t->nindex < 2 * t->ntokens)
        t->nindex *= 2;
    t->index = ARENA_ARRAY(l->a, uint32_t, t->nindex);
    return HILO_OK;
}

struct by_length { size_t n; int32_t id; };

static int longer_first(const void *a, const void *b) {
    const struct by_length *x = a, *y = b;
    if (x->n != y->n)
        return x->n > y->n ? -1 : 1;
    return x->id < y->id ? -1 : x->id > y->id;
}

static void add_token(struct tok_load *l, const json_t *entry) {
    struct llm_object o = object(l, entry, "added_tokens.");
    struct str text = tok_copy(l, json_object_get(entry, "content"));
    struct tok_token *k = &l->t->tokens[json_integer_value(json_object_get(entry, "id"))];
    double score = k->score;
    *k = (struct tok_token){.text = text, .bytes = text, .exists = true, .added = true, .score = score};
    k->special = llm_json_bool(o, "special", false);
    k->lstrip = llm_json_bool(o, "lstrip", false);
    k->rstrip = llm_json_bool(o, "rstrip", false);
    k->single_word = llm_json_bool(o, "single_word", false);
    k->normalized = llm_json_bool(o, "normalized", !k->special);
}

/* Sorts the added tokens, those that are looked for in the text and those in the normalized text, which are normalized. */
static hilo_status order_added(struct tok_load *l, const json_t *entries) {
    struct llm_tok *t = l->t;
    size_t n = json_array_size(entries), i;
    json_t *v;
    struct by_length *order = ARENA_ARRAY(l->a, struct by_length, n);
    json_array_foreach(entries, i, v) {
        int32_t id = (int32_t)json_integer_value(json_object_get(v, "id"));
        order[i] = (struct by_length){t->tokens[id].text.n, id};
    }
    if (n)
        qsort(order, n, sizeof *order, longer_first);
    for (int k = 0; k < 2; k++) {
        t->added[k].ids = ARENA_ARRAY(l->a, int32_t, n);
        t->added[k].texts = ARENA_ARRAY(l->a, struct str, n);
    }
    for (i = 0; i < n; i++) {
        const struct tok_token *token = &t->tokens[order[i].id];
        struct tok_added *a = &t->added[token->normalized && t->nnorms];
        struct str text = token->text;
        struct strbuf normal;
        if (i && order[i].id == order[i - 1].id)
            continue;
        if (a == &t->added[1]) {
            strbuf_init(&normal, t->al);
            hilo_status status = tok_normalize(t, text, l->json->d, &normal);
            strbuf_free(&l->scratch);
            l->scratch = normal; /* freed by the caller if the arena is exhausted */
            text = (struct str){normal.n ? arena_dup(l->a, normal.p, normal.n, 1) : "", normal.n};
            strbuf_free(&normal);
            strbuf_init(&l->scratch, t->al);
            HILO_TRY(status);
        }
        if (text.n == 0)
            continue;
        a->ids[a->n] = order[i].id;
        a->texts[a->n++] = text;
        a->first[(unsigned char)text.p[0]] = true;
    }
    return HILO_OK;
}

/* A vocabulary is an object of ids, or a list of [token, score]. */
static hilo_status load_tokens(struct tok_load *l, const json_t *model) {
    struct llm_tok *t = l->t;
    const json_t *vocab = json_object_get(model, "vocab");
    const json_t *added = llm_json_array(llm_json_root(l->json), "added_tokens");
    const char *spelling;
    json_t *v;
    size_t i;
    if (t->model == TOK_UNIGRAM ? !json_is_array(vocab) : !json_is_object(vocab))
        return TOK_FAIL(l, "'model.vocab' is missing");
    HILO_TRY(count_tokens(l, vocab, added));
    json_object_foreach((json_t *)(uintptr_t)vocab, spelling, v) {
        size_t n = strlen(spelling);
        struct str s = {n ? arena_dup(l->a, spelling, n, 1) : "", n};
        HILO_TRY(set_token(l, s, (int32_t)json_integer_value(v)));
    }
    json_array_foreach(vocab, i, v) {
        const json_t *text = json_array_get(v, 0), *score = json_array_get(v, 1);
        if (!json_is_string(text) || !json_is_number(score) || !isfinite(json_number_value(score)))
            return TOK_FAIL(l, "'model.vocab' number %zu is no token and its score", i);
        HILO_TRY(set_token(l, tok_copy(l, text), (int32_t)i));
        t->tokens[i].score = json_number_value(score);
    }
    json_array_foreach(added, i, v)
        add_token(l, v);
    return l->json->status;
}

/* ---- the model ------------------------------------------------------------------------------- */

/* Splits a merge, "a b" or ["a", "b"], into its two sides. */
static bool merge_sides(struct tok_load *l, const json_t *v, struct str side[2]) {
    struct str s[2];
    if (json_is_string(v)) {
        const char *text = json_string_value(v), *space = strchr(text, ' ');
        if (!space)
            return false;
        s[0] = (struct str){text, (size_t)(space - text)};
        s[1] = str_of(space + 1);
    } else {
        const json_t *a = json_array_get(v, 0), *b = json_array_get(v, 1);
        if (!json_is_string(a) || !json_is_string(b))
            return false;
        s[0] = (struct str){json_string_value(a), json_string_length(a)};
        s[1] = (struct str){json_string_value(b), json_string_length(b)};
    }
    for (int k = 0; k < 2; k++)
        if (!l->t->byte_level || !alphabet_bytes(l, s[k], &side[k]))
            side[k] = s[k];
    return true;
}

/* `by_result`: merges with the same result have the same rank, as in tiktoken and SentencePiece. */
static hilo_status load_merges(struct tok_load *l, const json_t *merges, bool by_result) {
    struct llm_tok *t = l->t;
    struct tok_merge before = {.to = LLM_TOK_NONE};
    size_t i;
    json_t *v;
    struct strbuf *both = &l->scratch; /* sides are copied to the arena, which may be exhausted */
    for (t->nmerges = 16; t->nmerges < 2 * json_array_size(merges);)
        t->nmerges *= 2;
    t->merges = ARENA_ARRAY(l->a, struct tok_merge, t->nmerges);
    for (i = 0; i < t->nmerges; i++)
        t->merges[i].left = LLM_TOK_NONE;
    strbuf_free(both);
    json_array_foreach(merges, i, v) {
        struct str side[2];
        if (!merge_sides(l, v, side)) {
            TOK_FAIL(l, "'model.merges' number %zu is no pair", i);
            break;
        }
        both->n = 0;
        struct str right = side[1];
        if (t->prefix.n && right.n >= t->prefix.n && memcmp(right.p, t->prefix.p, t->prefix.n) == 0)
            right = (struct str){right.p + t->prefix.n, right.n - t->prefix.n};
        strbuf_str(both, side[0]);
        strbuf_str(both, right);
        struct tok_merge m = {tok_find(t, side[0]), tok_find(t, side[1]), LLM_TOK_NONE, (uint32_t)i};
        m.to = tok_find(t, (struct str){both->p, both->n});
        if (m.left < 0 || m.right < 0 || m.to < 0) {
            TOK_FAIL(l, "'model.merges' number %zu has a side or a result that is no token", i);
            break;
        }
        if (by_result && m.to == before.to) /* merges with equal results are neighbours */
            m.rank = before.rank;
        before = m;
        size_t mask = t->nmerges - 1, at = (size_t)tok_pair_hash(m.left, m.right) & mask;
        while (t->merges[at].left >= 0 && (t->merges[at].left != m.left || t->merges[at].right != m.right))
            at = (at + 1) & mask;
        if (t->merges[at].left < 0)
            t->merges[at] = m;
    }
    bool failed = both->failed;
    strbuf_free(both);
    return failed ? HILO_RESOURCE_EXHAUSTED : l->json->status;
}

/* Whether a component is or contains one of that type. */
static bool has_type(const json_t *o, const char *list, const char *type) {
    size_t i;
    json_t *v;
    if (strcmp(tok_type(o), type) == 0)
        return true;
    json_array_foreach(json_object_get(o, list), i, v)
        if (strcmp(tok_type(v), type) == 0)
            return true;
    return false;
}

static int by_text(const void *a, const void *b, void *user) {
    const struct llm_tok *t = user;
    struct str x = t->tokens[*(const int32_t *)a].text, y = t->tokens[*(const int32_t *)b].text;
    size_t n = x.n < y.n ? x.n : y.n;
    int c = n ? memcmp(x.p, y.p, n) : 0;
    return c ? c : (x.n > y.n) - (x.n < y.n);
}

static hilo_status load_unigram(struct tok_load *l, struct llm_object o) {
    enum { UNKNOWN_PENALTY = 10 }; /* kUnkPenalty of SentencePiece's unigram_model.cc */
    struct llm_tok *t = l->t;
    size_t listed = json_array_size(json_object_get(o.o, "vocab"));
    double least = 0;
    t->unk = (int32_t)llm_json_int(o, "unk_id", 0, (int64_t)t->ntokens - 1, LLM_TOK_NONE);
    t->sorted = ARENA_ARRAY(l->a, int32_t, listed);
    for (size_t i = 0; i < listed; i++) {
        least = i == 0 || t->tokens[i].score < least ? t->tokens[i].score : least;
        if (t->tokens[i].text.n)
            t->sorted[t->nsorted++] = (int32_t)i;
    }
    if (t->nsorted)
        qsort_r(t->sorted, t->nsorted, sizeof *t->sorted, by_text, t);
    t->unk_score = least - UNKNOWN_PENALTY;
    return l->json->status;
}

/* Files of older versions do not name the model: BPE has merges, Unigram a list, WordPiece a limit. */
static hilo_status model_kind(struct tok_load *l, struct llm_object o) {
    static const char *const names[] = {[TOK_BPE] = "BPE", [TOK_UNIGRAM] = "Unigram", [TOK_WORDPIECE] = "WordPiece",
                                        [TOK_WORDLEVEL] = "WordLevel"};
    bool word = json_object_get(o.o, "max_input_chars_per_word") && !json_object_get(o.o, "merges");
    const char *usual = json_is_array(json_object_get(o.o, "vocab")) ? "Unigram" : word ? "WordPiece" : "BPE";
    const char *type = llm_json_text(o, "type", usual);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(type, names[i]) == 0) {
            l->t->model = (enum tok_model)i;
            return HILO_OK;
        }
    return TOK_FAIL(l, "'model.type' is %s; this version reads BPE, Unigram, WordPiece and WordLevel", type);
}

static hilo_status load_model(struct tok_load *l) {
    struct llm_tok *t = l->t;
    const json_t *root = l->json->root, *model = llm_json_object(llm_json_root(l->json), "model");
    const json_t *decoder = json_object_get(root, "decoder");
    struct llm_object o = object(l, model, "model."), d = object(l, decoder, "decoder.");
    if (!model)
        return TOK_FAIL(l, "'model' is missing");
    HILO_TRY(model_kind(l, o));
    bool word = t->model == TOK_WORDPIECE;
    t->prefix = str_copy(l, llm_json_text(o, "continuing_subword_prefix", word ? "##" : ""));
    t->suffix = str_copy(l, llm_json_text(o, "end_of_word_suffix", ""));
    t->word_limit = llm_json_int(o, "max_input_chars_per_word", 1, INT32_MAX, 100);
    t->byte_level = has_type(json_object_get(root, "pre_tokenizer"), "pretokenizers", "ByteLevel") ||
                    has_type(json_object_get(root, "normalizer"), "normalizers", "ByteLevel") ||
                    has_type(decoder, "decoders", "ByteLevel");
    t->ignore_merges = llm_json_bool(o, "ignore_merges", false);
    t->byte_fallback = llm_json_bool(o, "byte_fallback", false);
    t->fuse_unk = llm_json_bool(o, "fuse_unk", false);
    l->cleanup = json_is_object(decoder) && llm_json_bool(d, "cleanup", true);
    const json_t *strip = json_object_get(decoder, "decoders");
    t->strip_space = word || t->model == TOK_WORDLEVEL || has_type(decoder, "decoders", "Metaspace");
    for (size_t i = 0; i < json_array_size(strip); i++)
        if (strcmp(tok_type(json_array_get(strip, i)), "Strip") == 0)
            t->strip_space = true;
    HILO_TRY(load_tokens(l, model));
    const char *unk = llm_json_text(o, "unk_token", word ? "[UNK]" : NULL);
    t->unk = unk ? tok_find(t, str_of(unk)) : LLM_TOK_NONE;
    const json_t *merges = llm_json_array(o, "merges");
    HILO_TRY(l->json->status);
    return t->model == TOK_UNIGRAM ? load_unigram(l, o) : load_merges(l, merges, llm_json_bool(o, "rank_by_result", false));
}

/* ---- post-processor -------------------------------------------------------------------------- */

static hilo_status load_template(struct tok_load *l, const json_t *o) {
    struct llm_tok *t = l->t;
    const json_t *single = json_object_get(o, "single"), *special = json_object_get(o, "special_tokens");
    size_t i, k;
    json_t *v, *id;
    bool past_text = false;
    struct { int32_t *v; uint32_t n, cap; } before = {NULL, 0, 0}, after = {NULL, 0, 0};
    json_array_foreach(single, i, v) {
        if (json_object_get(v, "Sequence")) {
            past_text = true;
            continue;
        }
        const char *name = json_string_value(json_object_get(json_object_get(v, "SpecialToken"), "id"));
        const json_t *ids = json_object_get(name ? json_object_get(special, name) : NULL, "ids");
        if (!json_is_array(ids))
            return TOK_FAIL(l, "'post_processor.single' names a token that 'special_tokens' does not have");
        json_array_foreach(ids, k, id) {
            json_int_t n = json_is_integer(id) ? json_integer_value(id) : -1;
            if (n < 0 || (size_t)n >= t->ntokens)
                return TOK_FAIL(l, "'post_processor.special_tokens' has an id that is no token");
            if (past_text)
                ARENA_PUSH(l->a, &after, (int32_t)n);
            else
                ARENA_PUSH(l->a, &before, (int32_t)n);
        }
    }
    t->before = before.v, t->nbefore = before.n;
    t->after = after.v, t->nafter = after.n;
    return HILO_OK;
}

/* BERT's and RoBERTa's: ["[CLS]", id], the text, ["[SEP]", id]. */
static hilo_status load_enclosing(struct tok_load *l, const json_t *o) {
    static const char *const names[] = {"cls", "sep"};
    struct llm_tok *t = l->t;
    for (int i = 0; i < 2; i++) {
        const json_t *id = json_array_get(json_object_get(o, names[i]), 1);
        if (!is_id(id, (json_int_t)t->ntokens - 1))
            return TOK_FAIL(l, "'post_processor.%s' is no token and its id", names[i]);
        int32_t *v = ARENA_ARRAY(l->a, int32_t, 1);
        *v = (int32_t)json_integer_value(id);
        *(i ? &t->after : &t->before) = v;
        *(i ? &t->nafter : &t->nbefore) = 1;
    }
    return HILO_OK;
}

static hilo_status load_post(struct tok_load *l, const json_t *o) {
    const char *type = tok_type(o);
    if (strcmp(type, "ByteLevel") == 0) /* affects offsets only, which are not used here */
        return HILO_OK;
    if (strcmp(type, "BertProcessing") == 0 || strcmp(type, "RobertaProcessing") == 0)
        return load_enclosing(l, o);
    if (strcmp(type, "TemplateProcessing") != 0)
        return TOK_FAIL(l, "'post_processor' of type %s is not known to this version", type);
    return load_template(l, o);
}

/* ---- the file -------------------------------------------------------------------------------- */

static hilo_status load(struct tok_load *l) {
    make_alphabet(l->t);
    HILO_TRY(load_model(l));
    HILO_TRY(tok_load_steps(l));
    HILO_TRY(order_added(l, json_object_get(l->json->root, "added_tokens")));
    HILO_TRY(tok_each(l, "post_processor", "processors", load_post));
    return l->json->status;
}

static hilo_status load_guarded(struct tok_load *l) {
    jmp_buf recover;
    hilo_status status;
    l->a->recover = &recover;
    if (!setjmp(recover))
        status = load(l);
    else
        status = HILO_RESOURCE_EXHAUSTED;
    l->a->recover = NULL;
    strbuf_free(&l->scratch);
    return status;
}

hilo_status llm_tok_read(struct llm_json *json, hilo_allocator al, struct llm_tok **out) {
    struct llm_tok *t = json->status == HILO_OK ? mem_alloc(&al, sizeof *t) : NULL;
    hilo_status status = json->status == HILO_OK ? HILO_RESOURCE_EXHAUSTED : json->status;
    if (t) {
        struct tok_load l = {.json = json, .t = t, .a = &t->arena};
        *t = (struct llm_tok){.al = al, .unk = LLM_TOK_NONE};
        memset(t->byte_ids, 0xFF, sizeof t->byte_ids); /* LLM_TOK_NONE */
        strbuf_init(&l.scratch, al);
        arena_init(&t->arena, al, NULL);
        status = load_guarded(&l);
    }
    llm_json_close(json);
    if (status == HILO_OK)
        *out = t;
    else
        llm_tok_free(t);
    return status;
}

hilo_status llm_tok_open(const char *path, hilo_allocator al, struct diag_list *d, struct llm_tok **out) {
    struct llm_json json;
    llm_document_open(path, LLM_TOKENIZER_JSON, al, d, &json);
    return llm_tok_read(&json, al, out);
}

hilo_status llm_tok_parse(struct str text, const char *name, hilo_allocator al, struct diag_list *d, struct llm_tok **out) {
    struct llm_json json;
    llm_json_parse(&json, text, name, d);
    return llm_tok_read(&json, al, out);
}

void llm_tok_free(struct llm_tok *t) {
    if (!t)
        return;
    for (size_t i = 0; i < t->nstages; i++)
        pcre2_code_free(t->stages[i].code);
    for (size_t i = 0; i < t->nnorms; i++)
        pcre2_code_free(t->norms[i].code);
    hilo_allocator al = t->al;
    arena_free(&t->arena);
    mem_free(&al, t, sizeof *t);
}
