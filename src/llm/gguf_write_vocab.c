/* Writing the vocabulary of a GGUF file: see gguf_write.h. The kinds are those that gguf_vocab.c reads; what they mean is in
 * llama.cpp, src/llama-vocab.cpp. A file has no components as a tokenizer.json has: what its kind does not imply, and no key
 * can say, is refused. */
#include "llm/gguf_write.h"
#include "llm/tok_core.h"

#include <stdio.h>
#include <string.h>

enum { NORMAL = 1, UNKNOWN = 2, CONTROL = 3, USER_DEFINED = 4, UNUSED = 5, BYTE = 6 };

#define SPACE "\xE2\x96\x81" /* U+2581 */

struct token {
    struct str text;
    int32_t type;
    float score;
    bool begins; /* a word: U+2581 is written before it */
};

struct vocab {
    struct gguf_out *o;
    const json_t *root, *model, *config; /* tokenizer.json, its model, and tokenizer_config.json */
    struct token *v;
    size_t n;
    int64_t before, after; /* the tokens that enclose a text; -1 = none */
};

/* ---- components of tokenizer.json ---------------------------------------------------------------- */

static bool is_type(const json_t *o, const char *type) {
    const char *s = json_string_value(json_object_get(o, "type"));
    return s && strcmp(s, type) == 0;
}

static bool is_text(const json_t *o, const char *key, const char *text) {
    const char *s = json_string_value(json_object_get(o, key));
    return s && strcmp(s, text) == 0;
}

/* Component i under a key, one or those of a Sequence; NULL after the last. */
static const json_t *component(const json_t *root, const char *key, const char *list, size_t i) {
    const json_t *o = json_object_get(root, key);
    if (json_is_object(o) && is_type(o, "Sequence"))
        return json_array_get(json_object_get(o, list), i);
    return i == 0 && json_is_object(o) ? o : NULL;
}

static const json_t *normalizer(const struct vocab *v, size_t i) {
    return component(v->root, "normalizer", "normalizers", i);
}

static const json_t *pre_tokenizer(const struct vocab *v, size_t i) {
    return component(v->root, "pre_tokenizer", "pretokenizers", i);
}

/* ---- what encloses a text ------------------------------------------------------------------------- */

static hilo_status read_template(struct vocab *v, const json_t *one) {
    const json_t *list = json_object_get(one, "single"), *item;
    bool inside = false;
    for (size_t i = 0; (item = json_array_get(list, i)); i++) {
        const char *name = json_string_value(json_object_get(json_object_get(item, "SpecialToken"), "id"));
        const json_t *ids = json_object_get(json_object_get(json_object_get(one, "special_tokens"), name ? name : ""), "ids");
        int64_t *id = inside ? &v->after : &v->before;
        inside |= json_object_get(item, "Sequence") != NULL;
        if (!name)
            continue;
        if (*id >= 0 || json_array_size(ids) != 1)
            return gguf_refuse(v->o, "a tokenizer that puts several tokens before or after a text");
        *id = json_integer_value(json_array_get(ids, 0));
    }
    return HILO_OK;
}

static hilo_status find_enclosing(struct vocab *v) {
    const json_t *one;
    v->before = v->after = -1;
    for (size_t i = 0; (one = component(v->root, "post_processor", "processors", i)); i++) {
        if (is_type(one, "TemplateProcessing"))
            HILO_TRY(read_template(v, one));
        if (is_type(one, "BertProcessing") || is_type(one, "RobertaProcessing")) {
            v->before = json_integer_value(json_array_get(json_object_get(one, "cls"), 1));
            v->after = json_integer_value(json_array_get(json_object_get(one, "sep"), 1));
        }
    }
    return HILO_OK;
}

/* ---- the list of tokens --------------------------------------------------------------------------- */

static void take(struct vocab *v, const json_t *id, struct str text, int32_t type) {
    json_int_t i = json_is_integer(id) ? json_integer_value(id) : -1;
    if (i >= 0 && (size_t)i < v->n)
        v->v[i].text = text, v->v[i].type = type;
}

static bool is_byte(const char *token) {
    return strlen(token) == 6 && strncmp(token, "<0x", 3) == 0;
}

/* The tokens of a model that maps them to ids. */
static void take_map(struct vocab *v) {
    bool bytes = json_is_true(json_object_get(v->model, "byte_fallback"));
    const char *key;
    json_t *id;
    json_object_foreach((json_t *)(uintptr_t)json_object_get(v->model, "vocab"), key, id)
        take(v, id, str_of(key), bytes && is_byte(key) ? BYTE : NORMAL);
}

/* Those that stand before the model; they are never split. */
static void take_added(struct vocab *v) {
    size_t i;
    json_t *one;
    json_array_foreach(json_object_get(v->root, "added_tokens"), i, one) {
        const json_t *text = json_object_get(one, "content");
        take(v, json_object_get(one, "id"), (struct str){json_string_value(text), json_string_length(text)},
             json_is_true(json_object_get(one, "special")) ? CONTROL : USER_DEFINED);
    }
}

static void put_tokens(struct vocab *v, bool scores) {
    struct gguf_out *o = v->o;
    gguf_put_array(o, "tokenizer.ggml.tokens", GGUF_STRING, v->n);
    for (size_t i = 0; i < v->n; i++) {
        gguf_put_u64(&o->meta, v->v[i].text.n + (v->v[i].begins ? strlen(SPACE) : 0));
        if (v->v[i].begins)
            strbuf_puts(&o->meta, SPACE);
        strbuf_str(&o->meta, v->v[i].text);
    }
    gguf_put_array(o, "tokenizer.ggml.token_type", GGUF_I32, v->n);
    for (size_t i = 0; i < v->n; i++)
        gguf_put_u32(&o->meta, (uint32_t)v->v[i].type);
    if (!scores)
        return;
    gguf_put_array(o, "tokenizer.ggml.scores", GGUF_F32, v->n);
    for (size_t i = 0; i < v->n; i++)
        strbuf_putn(&o->meta, (const char *)&v->v[i].score, sizeof v->v[i].score);
}

/* ---- byte pairs ------------------------------------------------------------------------------------- */

/* "a b" or ["a", "b"] as "a b". */
static void merge_text(const json_t *merge, struct strbuf *out) {
    out->n = 0;
    if (json_is_string(merge)) {
        strbuf_putn(out, json_string_value(merge), json_string_length(merge));
        return;
    }
    for (size_t k = 0; k < 2; k++) {
        const json_t *side = json_array_get(merge, k);
        strbuf_putn(out, k ? " " : "", k);
        strbuf_putn(out, json_string_value(side), json_string_length(side));
    }
}

/* SentencePiece's scores are the order of merges: the first that makes a token counts. */
static void score_merges(struct vocab *v) {
    struct strbuf text;
    size_t i;
    json_t *merge;
    strbuf_init(&text, v->o->al);
    for (i = 0; i < v->n; i++)
        v->v[i].score = -1e6f;
    json_array_foreach(json_object_get(v->model, "merges"), i, merge) {
        merge_text(merge, &text);
        char *space = text.n ? memchr(text.p, ' ', text.n) : NULL;
        if (!space)
            continue;
        memmove(space, space + 1, (size_t)(text.p + text.n - space - 1));
        const json_t *id = json_object_getn(json_object_get(v->model, "vocab"), text.p, text.n - 1);
        json_int_t k = json_is_integer(id) ? json_integer_value(id) : -1;
        if (k >= 0 && (size_t)k < v->n && v->v[k].score == -1e6f)
            v->v[k].score = -(float)i;
    }
    v->o->meta.failed |= text.failed;
    strbuf_free(&text);
}

static void put_merges(struct vocab *v) {
    const json_t *merges = json_object_get(v->model, "merges");
    struct strbuf text;
    size_t i;
    json_t *merge;
    strbuf_init(&text, v->o->al);
    gguf_put_array(v->o, "tokenizer.ggml.merges", GGUF_STRING, json_array_size(merges));
    json_array_foreach(merges, i, merge) {
        merge_text(merge, &text);
        gguf_put_text(&v->o->meta, (struct str){text.p ? text.p : "", text.n});
    }
    v->o->meta.failed |= text.failed;
    strbuf_free(&text);
}

/* The expression of a component that splits texts; "" if it does not, NULL if there is none. */
static const char *expression(const json_t *one) {
    const char *re = json_string_value(json_object_get(json_object_get(one, "pattern"), "Regex"));
    size_t n;
    if (is_type(one, "ByteLevel")) {
        bool splits = !json_is_false(json_object_get(one, "use_regex"));
        return json_is_true(json_object_get(one, "add_prefix_space")) ? NULL : splits ? *gguf_pre_expressions("gpt-2", &n) : "";
    }
    if (is_type(one, "Digits"))
        return json_is_true(json_object_get(one, "individual_digits")) ? "\\p{N}" : "\\p{N}+";
    return is_type(one, "Split") ? re : NULL;
}

/* The name for the splits of a byte-level pre-tokenizer; NULL if they have none. */
static const char *pre_name(const struct vocab *v) {
    const char *found[8] = {NULL}, *re;
    const json_t *one;
    size_t n = 0;
    for (size_t i = 0; (one = pre_tokenizer(v, i)); i++) {
        re = expression(one);
        if (!re || n == sizeof found / sizeof *found)
            return NULL;
        if (*re)
            found[n++] = re;
    }
    return n ? gguf_pre_named(found, n) : NULL;
}

/* Of normalizations, a file knows none; that of Qwen's tokenizers is left out by all. */
static hilo_status byte_level(struct vocab *v) {
    const char *pre = pre_name(v);
    const json_t *one;
    if (!pre)
        return gguf_refuse(v->o, "a tokenizer with these splits, for which GGUF has no name");
    for (size_t i = 0; (one = normalizer(v, i)); i++)
        if (!is_type(one, "NFC"))
            return gguf_refuse(v->o, "a byte-level tokenizer with this 'normalizer'");
    gguf_put_string(v->o, "tokenizer.ggml.model", STR("gpt2"));
    gguf_put_string(v->o, "tokenizer.ggml.pre", str_of(pre));
    put_tokens(v, false);
    put_merges(v);
    return HILO_OK;
}

/* ---- SentencePiece ----------------------------------------------------------------------------------- */

/* `precompiled_charsmap` as bytes. */
static hilo_status put_charsmap(struct vocab *v, const json_t *text) {
    struct arena arena;
    jmp_buf recover;
    arena_init(&arena, v->o->al, &recover);
    if (setjmp(recover)) {
        arena_free(&arena);
        return diag_error(v->o->d, HILO_RESOURCE_EXHAUSTED, "out of memory");
    }
    struct str map = tok_base64(&arena, (struct str){json_string_value(text), json_string_length(text)});
    gguf_put_array(v->o, "tokenizer.ggml.precompiled_charsmap", GGUF_U8, map.n);
    strbuf_str(&v->o->meta, map);
    arena_free(&arena);
    return HILO_OK;
}

/* How spaces are treated, and SentencePiece's normalisation. */
static hilo_status put_spaces(struct vocab *v) {
    const json_t *one;
    bool prefix = false, strips = false, fewer = false, words = false;
    for (size_t i = 0; (one = normalizer(v, i)); i++) {
        const json_t *pattern = json_object_get(one, "pattern");
        bool spaces = is_type(one, "Replace") && is_text(pattern, "String", " ") && is_text(one, "content", SPACE);
        bool several = is_type(one, "Replace") && is_text(pattern, "Regex", GGUF_SPACES_BETWEEN);
        bool ends = is_type(one, "Strip") || (is_type(one, "Replace") && is_text(pattern, "Regex", GGUF_SPACES_AROUND));
        if (is_type(one, "Precompiled") && json_string_length(json_object_get(one, "precompiled_charsmap")))
            HILO_TRY(put_charsmap(v, json_object_get(one, "precompiled_charsmap")));
        else if (!spaces && !several && !ends && !is_type(one, "Prepend") && !is_type(one, "Precompiled"))
            return gguf_refuse(v->o, "a SentencePiece tokenizer with this 'normalizer'");
        prefix |= is_type(one, "Prepend");
        fewer |= several;
        strips |= ends;
    }
    for (size_t i = 0; (one = pre_tokenizer(v, i)); i++) {
        bool merged = is_type(one, "Split") && is_text(json_object_get(one, "pattern"), "String", " "); /* no spaces are left */
        if (is_type(one, "Metaspace"))
            prefix |= !is_text(one, "prepend_scheme", "never") && !json_is_false(json_object_get(one, "add_prefix_space"));
        else if (!merged && !is_type(one, "WhitespaceSplit"))
            return gguf_refuse(v->o, "a SentencePiece tokenizer with this 'pre_tokenizer'");
        words |= is_type(one, "WhitespaceSplit");
    }
    if (!words && fewer != strips) /* a file has both or none */
        return gguf_refuse(v->o, "a SentencePiece tokenizer that removes spaces between words, or around a text, alone");
    gguf_put_bool(v->o, "tokenizer.ggml.add_space_prefix", prefix);
    gguf_put_bool(v->o, "tokenizer.ggml.remove_extra_whitespaces", words || fewer);
    return HILO_OK;
}

static hilo_status sentencepiece(struct vocab *v) {
    score_merges(v);
    gguf_put_string(v->o, "tokenizer.ggml.model", STR("llama"));
    gguf_put_string(v->o, "tokenizer.ggml.pre", STR("default"));
    put_tokens(v, true);
    return put_spaces(v);
}

static hilo_status unigram(struct vocab *v) {
    const json_t *unk = json_object_get(v->model, "unk_id");
    bool bytes = json_is_true(json_object_get(v->model, "byte_fallback"));
    size_t i;
    json_t *pair;
    json_array_foreach(json_object_get(v->model, "vocab"), i, pair) {
        const json_t *text = json_array_get(pair, 0);
        if (i >= v->n || !json_is_string(text))
            continue;
        bool added = v->v[i].type == CONTROL || v->v[i].type == USER_DEFINED, byte = bytes && is_byte(json_string_value(text));
        v->v[i].text = (struct str){json_string_value(text), json_string_length(text)};
        v->v[i].type = added ? v->v[i].type : byte ? BYTE : NORMAL;
        v->v[i].score = (float)json_number_value(json_array_get(pair, 1));
    }
    if (json_is_integer(unk) && (size_t)json_integer_value(unk) < v->n) {
        v->v[json_integer_value(unk)].type = UNKNOWN;
        gguf_put_int(v->o, "tokenizer.ggml.unknown_token_id", json_integer_value(unk));
    }
    gguf_put_string(v->o, "tokenizer.ggml.model", STR("t5"));
    gguf_put_string(v->o, "tokenizer.ggml.pre", STR("default"));
    put_tokens(v, true);
    return put_spaces(v);
}

/* ---- words -------------------------------------------------------------------------------------------- */

/* Pieces that begin a word are written with U+2581 before them, others without their "##". */
static hilo_status words(struct vocab *v) {
    const json_t *norm = normalizer(v, 0), *pre = pre_tokenizer(v, 0);
    const json_t *lower = json_object_get(norm, "lowercase"), *accents = json_object_get(norm, "strip_accents");
    bool lowercase = !json_is_false(lower), strip = json_is_boolean(accents) ? json_is_true(accents) : lowercase;
    bool clean = !json_is_false(json_object_get(norm, "clean_text"));
    if (!is_text(v->model, "continuing_subword_prefix", "##") || v->before < 0 || v->after < 0)
        return gguf_refuse(v->o, "a WordPiece tokenizer without tokens around a text, or with another prefix than '##'");
    if (!norm || normalizer(v, 1) || !is_type(norm, "BertNormalizer") || !clean || !pre || pre_tokenizer(v, 1) ||
        !is_type(pre, "BertPreTokenizer") || json_is_false(json_object_get(norm, "handle_chinese_chars")))
        return gguf_refuse(v->o, "a WordPiece tokenizer with this 'normalizer' or 'pre_tokenizer'");
    for (size_t i = 0; i < v->n; i++) {
        struct token *t = &v->v[i];
        t->begins = t->type == NORMAL && !str_starts(t->text, "##");
        if (t->type == NORMAL && !t->begins)
            t->text = (struct str){t->text.p + 2, t->text.n - 2};
    }
    gguf_put_string(v->o, "tokenizer.ggml.model", STR("bert"));
    gguf_put_string(v->o, "tokenizer.ggml.pre", STR("default"));
    gguf_put_bool(v->o, "tokenizer.ggml.normalizer.lowercase", lowercase);
    gguf_put_bool(v->o, "tokenizer.ggml.normalizer.strip_accents", strip);
    put_tokens(v, false);
    gguf_put_int(v->o, "tokenizer.ggml.cls_token_id", v->before);
    gguf_put_int(v->o, "tokenizer.ggml.seperator_token_id", v->after);
    return HILO_OK;
}

/* ---- all ------------------------------------------------------------------------------------------------ */

/* The tokens that others name: in the model by their texts, or in tokenizer_config.json. */
static void put_named(struct vocab *v) {
    static const struct { const char *field, *key; } names[] = {
        {"unk_token", "unknown"}, {"pad_token", "padding"}, {"mask_token", "mask"},
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const json_t *name = json_object_get(i ? v->config : v->model, names[i].field);
        const char *text = json_string_value(json_is_object(name) ? json_object_get(name, "content") : name);
        char key[64];
        size_t k = 0;
        while (k < v->n && (v->v[k].type == UNUSED || !text || !str_is(v->v[k].text, text)))
            k++;
        snprintf(key, sizeof key, "tokenizer.ggml.%s_token_id", names[i].key);
        if (k < v->n)
            gguf_put_int(v->o, key, (int64_t)k);
    }
}

static hilo_status put_kind(struct vocab *v) {
    const char *type = json_string_value(json_object_get(v->model, "type"));
    const json_t *vocab = json_object_get(v->model, "vocab");
    bool bytes = json_is_true(json_object_get(v->model, "byte_fallback")), map = json_is_object(vocab);
    if (map)
        take_map(v);
    take_added(v);
    HILO_TRY(find_enclosing(v));
    const char *usual = !map ? "Unigram" : json_object_get(v->model, "merges") ? "BPE" : "WordPiece"; /* old files name none */
    type = type ? type : usual;
    if (map && strcmp(type, "BPE") == 0)
        return bytes ? sentencepiece(v) : byte_level(v);
    if (map && strcmp(type, "WordPiece") == 0)
        return words(v);
    if (json_is_array(vocab) && strcmp(type, "Unigram") == 0)
        return unigram(v);
    return gguf_refuse(v->o, "a tokenizer that is not BPE, WordPiece or Unigram");
}

hilo_status gguf_put_tokenizer(struct gguf_out *o, const json_t *root, const json_t *config) {
    const struct llm_config *c = &o->m->config;
    struct vocab v = {.o = o, .root = root, .model = json_object_get(root, "model"), .config = config, .n = (size_t)c->vocab};
    size_t bytes = 0;
    v.v = mem_mul(v.n, sizeof *v.v, &bytes) ? mem_alloc(&o->al, bytes) : NULL;
    if (!v.v)
        return diag_error(o->d, HILO_RESOURCE_EXHAUSTED, "out of memory");
    for (size_t i = 0; i < v.n; i++)
        v.v[i] = (struct token){.text = STR("[unused]"), .type = UNUSED};
    hilo_status status = put_kind(&v);
    if (status == HILO_OK) {
        int64_t bos = v.before >= 0 ? v.before : c->bos; /* the tokenizer's, where configs differ */
        int64_t eos = v.after >= 0 ? v.after : c->neos ? c->eos[0] : -1;
        gguf_put_bool(o, "tokenizer.ggml.add_bos_token", v.before >= 0);
        gguf_put_bool(o, "tokenizer.ggml.add_eos_token", v.after >= 0);
        if (bos >= 0)
            gguf_put_int(o, "tokenizer.ggml.bos_token_id", bos);
        if (eos >= 0)
            gguf_put_int(o, "tokenizer.ggml.eos_token_id", eos);
        put_named(&v);
    }
    mem_free(&o->al, v.v, bytes);
    return status;
}
