/* The vocabulary of a GGUF file as a tokenizer.json: see gguf.h. What the kinds mean is in llama.cpp, src/llama-vocab.cpp. */
#include "llm/gguf.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* tokenizer.ggml.token_type */
enum { NORMAL = 1, UNKNOWN = 2, CONTROL = 3, USER_DEFINED = 4, BYTE = 6 };

struct vocab {
    const struct gguf *g;
    const struct gguf_entry *types, *scores;
    struct str *tokens; /* in the arena of the search below; not terminated */
    size_t n;
    struct arena arena;
    bool failed;        /* memory is exhausted */
};

static const struct pre { const char *first, *names; bool ignore_merges, begins; const char *expressions[8]; } pres[] = {
#define PRE(first, names, ignore_merges, begins, ...) {first, first " " names, ignore_merges, begins, {__VA_ARGS__}},
#include "llm/gguf_pre.def"
};

static const struct pre *find_pre(struct str name) {
    for (size_t i = 0; i < sizeof pres / sizeof *pres; i++)
        for (const char *p = pres[i].names; *p;) {
            size_t n = strcspn(p, " ");
            if (str_eq((struct str){p, n}, name))
                return &pres[i];
            p += n + (p[n] == ' ');
        }
    return NULL;
}

const char *const *gguf_pre_expressions(const char *name, size_t *n) {
    const struct pre *pre = find_pre(str_of(name));
    for (*n = 0; pre && *n < sizeof pre->expressions / sizeof *pre->expressions && pre->expressions[*n];)
        ++*n;
    return pre ? pre->expressions : NULL;
}

const char *gguf_pre_named(const char *const *expressions, size_t n) {
    for (size_t i = 0; i < sizeof pres / sizeof *pres; i++) {
        size_t k = 0;
        while (k < n && pres[i].expressions[k] && strcmp(pres[i].expressions[k], expressions[k]) == 0)
            k++;
        if (k == n && (n == 8 || !pres[i].expressions[n]))
            return pres[i].first;
    }
    return NULL;
}

/* ---- building JSON: `failed` is checked at the end --------------------------------------------- */

static json_t *kept(struct vocab *v, json_t *o) {
    v->failed |= o == NULL;
    return o;
}

static json_t *text_of(struct vocab *v, struct str s) {
    return kept(v, json_stringn_nocheck(s.p, s.n));
}

static void set(struct vocab *v, json_t *o, const char *key, json_t *value) {
    v->failed |= json_object_set_new(o, key, value) != 0;
}

static void push(struct vocab *v, json_t *array, json_t *value) {
    v->failed |= json_array_append_new(array, value) != 0;
}

static json_t *typed(struct vocab *v, const char *type) {
    return kept(v, json_pack("{s:s}", "type", type));
}

static json_t *sequence(struct vocab *v, const char *list, json_t *items) {
    json_t *o = typed(v, "Sequence");
    set(v, o, list, items);
    return o;
}

static int type_of(const struct vocab *v, size_t i) {
    return v->types ? (int)gguf_element(v->types, i) : NORMAL;
}

/* The id under a key; -1 for none. */
static int64_t token_id(const struct vocab *v, const char *key) {
    int64_t id = gguf_int(v->g, key, -1);
    return id >= 0 && (uint64_t)id < v->n ? id : -1;
}

/* ---- the list of tokens ------------------------------------------------------------------------- */

static json_t *ids_by_token(struct vocab *v) {
    json_t *o = kept(v, json_object());
    for (size_t i = 0; i < v->n && o; i++) {
        struct str s = v->tokens[i];
        if (s.n && !memchr(s.p, 0, s.n))
            v->failed |= json_object_setn_new_nocheck(o, s.p, s.n, json_integer((json_int_t)i)) != 0;
    }
    return o;
}

/* `added_tokens`: control tokens, and those that the user defined. */
static json_t *added(struct vocab *v) {
    json_t *list = kept(v, json_array());
    for (size_t i = 0; i < v->n && list; i++) {
        int type = type_of(v, i);
        bool special = type == CONTROL || type == UNKNOWN;
        if ((!special && type != USER_DEFINED) || v->tokens[i].n == 0)
            continue;
        json_t *o = kept(v, json_pack("{s:I,s:b,s:b,s:b,s:b,s:b}", "id", (json_int_t)i, "special", special, "normalized", 0,
                                      "lstrip", 0, "rstrip", 0, "single_word", 0));
        set(v, o, "content", text_of(v, v->tokens[i]));
        push(v, list, o);
    }
    return list;
}

/* ---- merges of SentencePiece -------------------------------------------------------------------- */

struct split { double score; uint32_t token; uint32_t left; /* bytes */ };

static int by_score(const void *a, const void *b) {
    const struct split *x = a, *y = b;
    if (x->score != y->score)
        return x->score > y->score ? -1 : 1;
    if (x->token != y->token)
        return x->token < y->token ? -1 : 1;
    return x->left < y->left ? -1 : x->left > y->left;
}

static bool exists(const json_t *ids, struct str s) {
    return json_object_getn(ids, s.p, s.n) != NULL;
}

/* SentencePiece merges the neighbours whose result has the greatest score: every way to divide a token into two is a merge. */
static json_t *merges_by_score(struct vocab *v, const json_t *ids) {
    hilo_allocator al = v->g->d->al;
    struct split *all = NULL;
    size_t n = 0, cap = 0;
    for (size_t i = 0; i < v->n; i++) {
        struct str s = v->tokens[i];
        if (type_of(v, i) != NORMAL || s.n > UINT16_MAX)
            continue;
        for (size_t k = 1; k < s.n && !v->failed; k++) {
            if (((unsigned char)s.p[k] & 0xC0) == 0x80 || !exists(ids, (struct str){s.p, k}) ||
                !exists(ids, (struct str){s.p + k, s.n - k}))
                continue;
            if (n == cap) {
                struct split *more = mem_resize(&al, all, cap * sizeof *all, (2 * cap + 1024) * sizeof *all);
                v->failed |= more == NULL;
                all = more ? more : all;
                cap = more ? 2 * cap + 1024 : cap;
            }
            if (n < cap)
                all[n++] = (struct split){gguf_element(v->scores, i), (uint32_t)i, (uint32_t)k};
        }
    }
    if (n)
        qsort(all, n, sizeof *all, by_score);
    json_t *list = kept(v, json_array());
    for (size_t i = 0; i < n && list; i++) {
        struct str s = v->tokens[all[i].token];
        json_t *pair = kept(v, json_array());
        push(v, pair, text_of(v, (struct str){s.p, all[i].left}));
        push(v, pair, text_of(v, (struct str){s.p + all[i].left, s.n - all[i].left}));
        push(v, list, pair);
    }
    mem_free(&al, all, cap * sizeof *all);
    return list;
}

/* ---- components ----------------------------------------------------------------------------------- */

#define SPACE "\xE2\x96\x81" /* U+2581 */

/* What encloses a text; the default where the file does not say. */
static json_t *post_processor(struct vocab *v, bool begins, bool ends) {
    static const char *const keys[] = {"bos", "eos"};
    json_t *o = typed(v, "TemplateProcessing"), *single = kept(v, json_array()), *special = kept(v, json_object());
    bool bert = gguf_find(v->g, "tokenizer.ggml.cls_token_id") && str_is(gguf_text(v->g, "tokenizer.ggml.model"), "bert");
    for (int k = 0; k < 2; k++) {
        char key[64];
        const char *name = bert ? k ? "seperator" : "cls" : keys[k];
        snprintf(key, sizeof key, "tokenizer.ggml.add_%s_token", keys[k]);
        bool on = gguf_int(v->g, key, k ? ends : begins) != 0;
        snprintf(key, sizeof key, "tokenizer.ggml.%s_token_id", name);
        int64_t id = token_id(v, key);
        if (k)
            push(v, single, kept(v, json_pack("{s:{s:s,s:i}}", "Sequence", "id", "A", "type_id", 0)));
        if (!on || id < 0)
            continue;
        push(v, single, kept(v, json_pack("{s:{s:s,s:i}}", "SpecialToken", "id", name, "type_id", 0)));
        set(v, special, name, kept(v, json_pack("{s:s,s:[I],s:[o]}", "id", name, "ids", (json_int_t)id, "tokens",
                                                text_of(v, v->tokens[id]))));
    }
    set(v, o, "single", single);
    set(v, o, "special_tokens", special);
    return o;
}

static json_t *replace(struct vocab *v, const char *pattern, const char *text, const char *by) {
    return kept(v, json_pack("{s:s,s:{s:s},s:s}", "type", "Replace", "pattern", pattern, text, "content", by));
}

/* In the arena. */
static struct str base64(struct vocab *v, struct str in) {
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    char *p = arena_alloc(&v->arena, in.n / 3 * 4 + 8, 1);
    size_t n = 0;
    uint32_t bits = 0, nbits = 0;
    for (size_t i = 0; i < in.n; i++) {
        bits = bits << 8 | (unsigned char)in.p[i];
        for (nbits += 8; nbits >= 6; nbits -= 6)
            p[n++] = digits[bits >> (nbits - 6) & 63];
    }
    if (nbits)
        p[n++] = digits[bits << (6 - nbits) & 63];
    while (n % 4)
        p[n++] = '=';
    return (struct str){p, n};
}

/* SentencePiece's normalisation, and its removal of spaces, where the file has them. HF's library does not know `longest`, and
   applies the rules in its own way. */
static void put_charsmap(struct vocab *v, json_t *norms) {
    const struct gguf_entry *map = gguf_find(v->g, "tokenizer.ggml.precompiled_charsmap");
    if (map && map->type == GGUF_ARRAY && (map->element == GGUF_U8 || map->element == GGUF_I8) && map->n) {
        json_t *precompiled = kept(v, json_pack("{s:s,s:b}", "type", "Precompiled", "longest", 1));
        set(v, precompiled, "precompiled_charsmap", text_of(v, base64(v, map->data)));
        push(v, norms, precompiled);
    }
    if (gguf_int(v->g, "tokenizer.ggml.remove_extra_whitespaces", 0)) {
        push(v, norms, replace(v, "Regex", GGUF_SPACES_BETWEEN, " "));
        push(v, norms, replace(v, "Regex", GGUF_SPACES_AROUND, ""));
    }
}

/* Spaces are U+2581; one before the text, where that is asked for. */
static json_t *spaces(struct vocab *v, bool before) {
    json_t *list = kept(v, json_array());
    put_charsmap(v, list);
    if (gguf_int(v->g, "tokenizer.ggml.add_space_prefix", before))
        push(v, list, kept(v, json_pack("{s:s,s:s}", "type", "Prepend", "prepend", SPACE)));
    push(v, list, replace(v, "String", " ", SPACE));
    return sequence(v, "normalizers", list);
}

static json_t *decoder_of_spaces(struct vocab *v, bool strip) {
    json_t *list = kept(v, json_array());
    push(v, list, replace(v, "String", SPACE, " "));
    push(v, list, typed(v, "ByteFallback"));
    push(v, list, typed(v, "Fuse"));
    if (strip)
        push(v, list, kept(v, json_pack("{s:s,s:s,s:i,s:i}", "type", "Strip", "content", " ", "start", 1, "stop", 0)));
    return sequence(v, "decoders", list);
}

static json_t *splits(struct vocab *v, const struct pre *pre, bool byte_level) {
    json_t *list = kept(v, json_array());
    for (size_t i = 0; i < sizeof pre->expressions / sizeof *pre->expressions && pre->expressions[i]; i++)
        push(v, list, kept(v, json_pack("{s:s,s:{s:s},s:s,s:b}", "type", "Split", "pattern", "Regex", pre->expressions[i],
                                        "behavior", "Isolated", "invert", 0)));
    if (byte_level)
        push(v, list, kept(v, json_pack("{s:s,s:b,s:b,s:b}", "type", "ByteLevel", "add_prefix_space", 0, "trim_offsets", 0,
                                        "use_regex", 0)));
    return sequence(v, "pretokenizers", list);
}

/* ---- the kinds -------------------------------------------------------------------------------------- */

static void set_unknown(struct vocab *v, json_t *model) {
    int64_t id = token_id(v, "tokenizer.ggml.unknown_token_id");
    if (id >= 0)
        set(v, model, "unk_token", text_of(v, v->tokens[id]));
}

static json_t *merges_of_file(struct vocab *v) {
    const struct gguf_entry *e = gguf_find(v->g, "tokenizer.ggml.merges");
    json_t *list = kept(v, json_array());
    struct str s;
    for (size_t at = 0; e && e->type == GGUF_ARRAY && e->element == GGUF_STRING && gguf_next_text(e, &at, &s);)
        push(v, list, text_of(v, s));
    return list;
}

static hilo_status byte_pairs(struct vocab *v, json_t *o, bool byte_level) {
    struct str name = gguf_text(v->g, "tokenizer.ggml.pre");
    const struct pre *pre = find_pre(!byte_level ? STR("gemma4") : name.p ? name : STR("default"));
    if (!pre)
        return gguf_fail(v->g, "'tokenizer.ggml.pre' is '%.*s', which this version does not know", (int)name.n, name.p);
    json_t *model = kept(v, json_pack("{s:s,s:b,s:b,s:b}", "type", "BPE", "byte_fallback", !byte_level, "fuse_unk", !byte_level,
                                      "ignore_merges", pre->ignore_merges));
    set(v, model, "vocab", ids_by_token(v));
    set(v, model, "merges", merges_of_file(v));
    if (!byte_level) {
        set_unknown(v, model);
        set(v, o, "normalizer", spaces(v, false));
    }
    set(v, o, "model", model);
    set(v, o, "pre_tokenizer", splits(v, pre, byte_level));
    set(v, o, "decoder", byte_level ? typed(v, "ByteLevel") : decoder_of_spaces(v, false));
    set(v, o, "post_processor", post_processor(v, pre->begins, false));
    return HILO_OK;
}

static hilo_status gpt2(struct vocab *v, json_t *o) {
    return byte_pairs(v, o, true);
}

static hilo_status gemma4(struct vocab *v, json_t *o) {
    return byte_pairs(v, o, false);
}

static hilo_status sentencepiece(struct vocab *v, json_t *o) {
    if (!v->scores)
        return gguf_fail(v->g, "'tokenizer.ggml.scores' is missing");
    json_t *model = kept(v, json_pack("{s:s,s:b,s:b,s:b}", "type", "BPE", "byte_fallback", 1, "fuse_unk", 1,
                                      "rank_by_result", 1));
    json_t *ids = ids_by_token(v);
    set(v, model, "merges", merges_by_score(v, ids));
    set(v, model, "vocab", ids);
    set_unknown(v, model);
    set(v, o, "model", model);
    set(v, o, "normalizer", spaces(v, true));
    set(v, o, "decoder", decoder_of_spaces(v, gguf_int(v->g, "tokenizer.ggml.add_space_prefix", 1) != 0));
    set(v, o, "post_processor", post_processor(v, true, false));
    return HILO_OK;
}

static hilo_status unigram(struct vocab *v, json_t *o) {
    json_t *model = typed(v, "Unigram"), *vocab = kept(v, json_array());
    if (v->scores)
        for (size_t i = 0; i < v->n && vocab; i++) {
            double score = gguf_element(v->scores, i);
            json_t *pair = kept(v, json_array());
            push(v, pair, text_of(v, v->tokens[i]));
            push(v, pair, json_real(isfinite(score) ? score : 0));
            push(v, vocab, pair);
        }
    int64_t unk = token_id(v, "tokenizer.ggml.unknown_token_id");
    bool before = gguf_int(v->g, "tokenizer.ggml.add_space_prefix", 1) != 0;
    if (unk >= 0)
        set(v, model, "unk_id", json_integer(unk));
    set(v, model, "vocab", vocab);
    set(v, o, "model", model);
    set(v, o, "normalizer", spaces(v, true));
    json_t *decoder = kept(v, json_pack("{s:s,s:s,s:s,s:b}", "type", "Metaspace", "replacement", SPACE, "prepend_scheme",
                                        before ? "always" : "never", "split", 1));
    bool bytes = false;
    for (size_t i = 0; i < v->n; i++)
        bytes |= type_of(v, i) == BYTE;
    set(v, model, "byte_fallback", json_boolean(bytes));
    set(v, o, "decoder", bytes ? sequence(v, "decoders", kept(v, json_pack("[o,o]", typed(v, "ByteFallback"), decoder)))
                               : decoder);
    set(v, o, "post_processor", post_processor(v, false, true));
    return HILO_OK;
}

/* Pieces that begin a word have U+2581 before them, others nothing: WordPiece's spelling the other way round. */
static void spell_words(struct vocab *v) {
    for (size_t i = 0; i < v->n; i++) {
        struct str s = v->tokens[i];
        bool begins = str_starts(s, SPACE), named = s.n > 2 && s.p[0] == '[' && s.p[s.n - 1] == ']';
        if (begins) {
            v->tokens[i] = (struct str){s.p + strlen(SPACE), s.n - strlen(SPACE)};
        } else if (!named && type_of(v, i) == NORMAL) {
            char *p = arena_alloc(&v->arena, s.n + 2, 1);
            memcpy(p, "##", 2);
            if (s.n)
                memcpy(p + 2, s.p, s.n);
            v->tokens[i] = (struct str){p, s.n + 2};
        }
    }
}

static hilo_status words(struct vocab *v, json_t *o) {
    spell_words(v);
    json_t *model = kept(v, json_pack("{s:s,s:s,s:i}", "type", "WordPiece", "continuing_subword_prefix", "##",
                                      "max_input_chars_per_word", 1000));
    set_unknown(v, model);
    set(v, model, "vocab", ids_by_token(v));
    set(v, o, "model", model);
    bool lower = gguf_int(v->g, "tokenizer.ggml.normalizer.lowercase", 1) != 0;
    bool strip = gguf_int(v->g, "tokenizer.ggml.normalizer.strip_accents", lower) != 0;
    set(v, o, "normalizer", kept(v, json_pack("{s:s,s:b,s:b,s:b,s:b}", "type", "BertNormalizer", "clean_text", 1,
                                              "handle_chinese_chars", 1, "strip_accents", strip, "lowercase", lower)));
    set(v, o, "pre_tokenizer", typed(v, "BertPreTokenizer"));
    set(v, o, "decoder", kept(v, json_pack("{s:s,s:s,s:b}", "type", "WordPiece", "prefix", "##", "cleanup", 1)));
    set(v, o, "post_processor", post_processor(v, true, true));
    return HILO_OK;
}

static const struct { const char *name; hilo_status (*build)(struct vocab *v, json_t *o); } kinds[] = {
    {"gpt2", gpt2}, {"llama", sentencepiece}, {"gemma4", gemma4}, {"t5", unigram}, {"bert", words},
};

static hilo_status build(struct vocab *v, json_t *o) {
    const struct gguf_entry *list = gguf_find(v->g, "tokenizer.ggml.tokens");
    struct str kind = gguf_text(v->g, "tokenizer.ggml.model");
    if (!list || list->type != GGUF_ARRAY || list->element != GGUF_STRING || list->n > INT32_MAX || !kind.p)
        return gguf_fail(v->g, "the file has no vocabulary: 'tokenizer.ggml.tokens' is missing");
    v->n = (size_t)list->n;
    v->types = gguf_find(v->g, "tokenizer.ggml.token_type");
    v->scores = gguf_find(v->g, "tokenizer.ggml.scores");
    v->tokens = ARENA_ARRAY(&v->arena, struct str, v->n);
    size_t at = 0;
    for (size_t i = 0; i < v->n && gguf_next_text(list, &at, &v->tokens[i]); i++)
        ;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (str_is(kind, kinds[i].name)) {
            HILO_TRY(kinds[i].build(v, o));
            set(v, o, "added_tokens", added(v));
            return HILO_OK;
        }
    return gguf_fail(v->g, "'tokenizer.ggml.model' is '%.*s', which this version does not know", (int)kind.n, kind.p);
}

json_t *gguf_tokenizer(const struct gguf *g) {
    jmp_buf recover;
    struct vocab v = {.g = g};
    json_t *o = json_object();
    hilo_status status;
    arena_init(&v.arena, g->d->al, &recover);
    if (!setjmp(recover))
        status = build(&v, o);
    else
        status = HILO_RESOURCE_EXHAUSTED;
    arena_free(&v.arena);
    if (status == HILO_OK && !v.failed && o)
        return o;
    if (status == HILO_OK || status == HILO_RESOURCE_EXHAUSTED)
        diag_error(g->d, HILO_RESOURCE_EXHAUSTED, "out of memory");
    json_decref(o);
    return NULL;
}
