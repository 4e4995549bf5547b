/* Reading tokenizer.json: see tokenizer.h. Kinds that this reader does not know would silently give other ids, so they are
   refused by name. */
#include "llm/json.h"
#include "llm/tok_core.h"

#include <stdlib.h>

/* GPT-2's splits, for files that do not spell them out. */
static const char gpt2_split[] = "'(?:[sdmt]|ll|ve|re)| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+";

struct load {
    struct llm_json json;
    struct llm_tok *t;
    struct arena *a;
    int32_t alphabet[512]; /* byte of a character of the byte-level alphabet; -1 = none */
};

#define FAIL(l, ...) llm_json_fail(&(l)->json, __VA_ARGS__)

static const char *type_of(const json_t *o) {
    const char *type = json_string_value(json_object_get(o, "type"));
    return type ? type : "?";
}

static struct llm_object object(struct load *l, const json_t *o, const char *where) {
    return (struct llm_object){&l->json, o, where};
}

static struct str copy(struct load *l, const json_t *text) {
    size_t n = json_string_length(text);
    return n ? (struct str){arena_dup(l->a, json_string_value(text), n, 1), n} : (struct str){"", 0};
}

/* ---- the alphabet of bytes ------------------------------------------------------------------- */

/* Printable characters of Latin-1 stand for themselves, the other 68 bytes for U+0100 and on, as in GPT-2's encoder.py. */
static void make_alphabet(struct load *l) {
    int32_t other = 256;
    for (size_t i = 0; i < 512; i++)
        l->alphabet[i] = -1;
    for (int32_t b = 0; b < 256; b++) {
        bool itself = (b >= '!' && b <= '~') || (b >= 0xA1 && b <= 0xAC) || (b >= 0xAE && b <= 0xFF);
        l->alphabet[itself ? b : other++] = b;
    }
}

/* Decodes a spelling to bytes; false if it has characters outside the alphabet. */
static bool alphabet_bytes(struct load *l, struct str spelling, struct str *out) {
    char *p = arena_alloc(l->a, spelling.n ? spelling.n : 1, 1);
    size_t n = 0;
    for (size_t i = 0; i < spelling.n;) {
        uint32_t c;
        size_t length = llm_utf8(spelling.p + i, spelling.p + spelling.n, &c);
        if (!length || c >= 512 || l->alphabet[c] < 0)
            return false;
        p[n++] = (char)l->alphabet[c];
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
static struct str plain_bytes(struct load *l, struct str s) {
    char *p = arena_alloc(l->a, s.n ? s.n : 1, 1);
    size_t n = 0;
    for (size_t i = 0; i < s.n; i++) {
        bool space = s.n - i >= 3 && memcmp(s.p + i, "\xE2\x96\x81", 3) == 0;
        p[n++] = space ? ' ' : s.p[i];
        i += space ? 2 : 0;
    }
    return (struct str){p, n};
}

static void index_token(struct llm_tok *t, size_t id) {
    size_t mask = t->nindex - 1, at = (size_t)str_hash(t->tokens[id].text.p, t->tokens[id].text.n, 0) & mask;
    while (t->index[at])
        at = (at + 1) & mask;
    t->index[at] = (uint32_t)id + 1;
}

static hilo_status set_token(struct load *l, struct str spelling, int32_t id) {
    struct llm_tok *t = l->t;
    struct tok_token *k = &t->tokens[id];
    if (k->exists)
        return FAIL(l, "'model.vocab' has two tokens with the id %d", (int)id);
    k->exists = true;
    k->text = k->bytes = spelling;
    int byte = t->byte_fallback ? byte_token(spelling) : -1;
    if (t->byte_level) {
        struct str bytes;
        if (alphabet_bytes(l, spelling, &bytes))
            k->text = k->bytes = bytes;
        if (k->text.n == 1 && t->byte_ids[(unsigned char)k->text.p[0]] == LLM_TOK_NONE)
            t->byte_ids[(unsigned char)k->text.p[0]] = id;
    } else if (byte >= 0) {
        t->byte_ids[byte] = id;
        char *p = arena_alloc(l->a, 1, 1);
        *p = (char)byte;
        k->bytes = (struct str){p, 1};
    } else {
        k->bytes = plain_bytes(l, spelling);
    }
    index_token(t, (size_t)id);
    return HILO_OK;
}

/* Allocates the tokens up to the largest id. There may be unused ids, but not many more than tokens. */
static hilo_status count_tokens(struct load *l, const json_t *vocab, const json_t *added) {
    const char *spelling;
    json_t *v;
    size_t i;
    json_int_t most = -1, limit = 65536 + 4 * (json_int_t)(json_object_size(vocab) + json_array_size(added));
    json_object_foreach((json_t *)(uintptr_t)vocab, spelling, v) {
        if (!json_is_integer(v) || json_integer_value(v) < 0 || json_integer_value(v) > limit)
            return FAIL(l, "'model.vocab' has no id for '%s'", spelling);
        most = json_integer_value(v) > most ? json_integer_value(v) : most;
    }
    json_array_foreach(added, i, v) {
        const json_t *id = json_object_get(v, "id"), *content = json_object_get(v, "content");
        if (!json_is_integer(id) || json_integer_value(id) < 0 || json_integer_value(id) > limit ||
            !json_string_length(content))
            return FAIL(l, "'added_tokens' number %zu has no 'id' or no 'content'", i);
        most = json_integer_value(id) > most ? json_integer_value(id) : most;
    }
    struct llm_tok *t = l->t;
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

static void add_token(struct load *l, const json_t *entry, struct by_length *out) {
    struct llm_tok *t = l->t;
    struct llm_object o = object(l, entry, "added_tokens.");
    int32_t id = (int32_t)json_integer_value(json_object_get(entry, "id"));
    struct str text = copy(l, json_object_get(entry, "content"));
    struct tok_token *k = &t->tokens[id];
    *k = (struct tok_token){.text = text, .bytes = text, .exists = true, .added = true};
    k->special = llm_json_bool(o, "special", false);
    k->lstrip = llm_json_bool(o, "lstrip", false);
    k->rstrip = llm_json_bool(o, "rstrip", false);
    k->single_word = llm_json_bool(o, "single_word", false);
    t->added_first[(unsigned char)text.p[0]] = true;
    *out = (struct by_length){text.n, id};
}

static hilo_status load_tokens(struct load *l, const json_t *model) {
    struct llm_tok *t = l->t;
    const json_t *vocab = llm_json_object(object(l, model, "model."), "vocab");
    const json_t *added = llm_json_array(llm_json_root(&l->json), "added_tokens");
    const char *spelling;
    json_t *v;
    size_t i;
    if (!vocab)
        return FAIL(l, "'model.vocab' is missing");
    HILO_TRY(count_tokens(l, vocab, added));
    json_object_foreach((json_t *)(uintptr_t)vocab, spelling, v) {
        size_t n = strlen(spelling);
        struct str s = {n ? arena_dup(l->a, spelling, n, 1) : "", n};
        HILO_TRY(set_token(l, s, (int32_t)json_integer_value(v)));
    }
    t->nadded = json_array_size(added);
    struct by_length *order = ARENA_ARRAY(l->a, struct by_length, t->nadded);
    t->added = ARENA_ARRAY(l->a, int32_t, t->nadded);
    json_array_foreach(added, i, v)
        add_token(l, v, &order[i]);
    if (t->nadded)
        qsort(order, t->nadded, sizeof *order, longer_first);
    for (i = 0; i < t->nadded; i++)
        t->added[i] = order[i].id;
    return l->json.status;
}

/* ---- the model ------------------------------------------------------------------------------- */

/* Splits a merge, "a b" or ["a", "b"], into its two sides. */
static bool merge_sides(struct load *l, const json_t *v, struct str side[2]) {
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

static hilo_status load_merges(struct load *l, const json_t *merges) {
    struct llm_tok *t = l->t;
    size_t i;
    json_t *v;
    struct strbuf both;
    for (t->nmerges = 16; t->nmerges < 2 * json_array_size(merges);)
        t->nmerges *= 2;
    t->merges = ARENA_ARRAY(l->a, struct tok_merge, t->nmerges);
    for (i = 0; i < t->nmerges; i++)
        t->merges[i].left = LLM_TOK_NONE;
    strbuf_init(&both, t->al);
    json_array_foreach(merges, i, v) {
        struct str side[2];
        if (!merge_sides(l, v, side)) {
            FAIL(l, "'model.merges' number %zu is no pair", i);
            break;
        }
        both.n = 0;
        strbuf_str(&both, side[0]);
        strbuf_str(&both, side[1]);
        struct tok_merge m = {tok_find(t, side[0]), tok_find(t, side[1]), LLM_TOK_NONE, (uint32_t)i};
        m.to = tok_find(t, (struct str){both.p, both.n});
        if (m.left < 0 || m.right < 0 || m.to < 0) {
            FAIL(l, "'model.merges' number %zu has a side or a result that is no token", i);
            break;
        }
        size_t mask = t->nmerges - 1, at = (size_t)tok_pair_hash(m.left, m.right) & mask;
        while (t->merges[at].left >= 0 && (t->merges[at].left != m.left || t->merges[at].right != m.right))
            at = (at + 1) & mask;
        if (t->merges[at].left < 0)
            t->merges[at] = m;
    }
    bool failed = both.failed;
    strbuf_free(&both);
    return failed ? HILO_RESOURCE_EXHAUSTED : l->json.status;
}

/* Whether a pre-tokenizer or decoder is or contains a ByteLevel. */
static bool has_type(const json_t *o, const char *list, const char *type) {
    size_t i;
    json_t *v;
    if (strcmp(type_of(o), type) == 0)
        return true;
    json_array_foreach(json_object_get(o, list), i, v)
        if (strcmp(type_of(v), type) == 0)
            return true;
    return false;
}

static hilo_status load_model(struct load *l) {
    struct llm_tok *t = l->t;
    const json_t *root = l->json.root, *model = llm_json_object(llm_json_root(&l->json), "model");
    struct llm_object o = object(l, model, "model.");
    if (!model)
        return FAIL(l, "'model' is missing");
    if (strcmp(llm_json_text(o, "type", "BPE"), "BPE") != 0)
        return FAIL(l, "'model.type' is %s; this version reads BPE", type_of(model));
    if (*llm_json_text(o, "continuing_subword_prefix", "") || *llm_json_text(o, "end_of_word_suffix", ""))
        return FAIL(l, "'model' marks parts of words, which this version does not read");
    t->byte_level = has_type(json_object_get(root, "pre_tokenizer"), "pretokenizers", "ByteLevel") ||
                    has_type(json_object_get(root, "decoder"), "decoders", "ByteLevel");
    t->ignore_merges = llm_json_bool(o, "ignore_merges", false);
    t->byte_fallback = llm_json_bool(o, "byte_fallback", false);
    t->fuse_unk = llm_json_bool(o, "fuse_unk", false);
    const json_t *strip = json_object_get(json_object_get(root, "decoder"), "decoders");
    t->strip_space = has_type(json_object_get(root, "decoder"), "decoders", "Metaspace");
    for (size_t i = 0; i < json_array_size(strip); i++)
        if (strcmp(type_of(json_array_get(strip, i)), "Strip") == 0)
            t->strip_space = true;
    HILO_TRY(load_tokens(l, model));
    const char *unk = llm_json_text(o, "unk_token", NULL);
    t->unk = unk ? llm_tok_id(t, str_of(unk)) : LLM_TOK_NONE;
    const json_t *merges = llm_json_array(o, "merges");
    HILO_TRY(l->json.status);
    return load_merges(l, merges);
}

/* ---- normalizer and pre-tokenizer ------------------------------------------------------------ */

static hilo_status each(struct load *l, const json_t *o, const char *list, const char *what,
                        hilo_status (*one)(struct load *l, const json_t *o)) {
    size_t i;
    json_t *v;
    if (!o || json_is_null(o))
        return HILO_OK;
    if (strcmp(type_of(o), "Sequence") != 0)
        return one(l, o);
    if (!json_is_array(json_object_get(o, list)))
        return FAIL(l, "'%s.%s' is missing", what, list);
    json_array_foreach(json_object_get(o, list), i, v)
        HILO_TRY(one(l, v));
    return l->json.status;
}

enum { MAX_STEPS = 16 };

static hilo_status load_norm(struct load *l, const json_t *o) {
    static const char *const forms[] = {[TOK_NFC] = "NFC", [TOK_NFD] = "NFD", [TOK_NFKC] = "NFKC", [TOK_NFKD] = "NFKD"};
    struct llm_tok *t = l->t;
    const json_t *pattern = json_object_get(json_object_get(o, "pattern"), "String");
    const json_t *content = json_object_get(o, "content"), *prepend = json_object_get(o, "prepend");
    const char *type = type_of(o);
    if (t->nnorms == MAX_STEPS)
        return FAIL(l, "'normalizer' has too many steps");
    struct tok_norm *norm = &t->norms[t->nnorms++];
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
        if (strcmp(type, forms[i]) == 0) {
            norm->kind = (enum tok_norm_kind)i;
            return HILO_OK;
        }
    if (strcmp(type, "Prepend") == 0 && json_is_string(prepend))
        *norm = (struct tok_norm){.kind = TOK_PREPEND, .to = copy(l, prepend)};
    else if (strcmp(type, "Replace") == 0 && json_string_length(pattern) && json_is_string(content))
        *norm = (struct tok_norm){.kind = TOK_REPLACE, .from = copy(l, pattern), .to = copy(l, content)};
    else
        return FAIL(l, "'normalizer' of type %s is not known to this version", type);
    return HILO_OK;
}

static hilo_status add_stage(struct load *l, struct tok_stage stage) {
    if (l->t->nstages == MAX_STEPS) {
        pcre2_code_free(stage.code);
        return FAIL(l, "'pre_tokenizer' has too many steps");
    }
    l->t->stages[l->t->nstages++] = stage;
    return HILO_OK;
}

/* Adds a stage that splits at an expression or at a literal text. */
static hilo_status add_split(struct load *l, const char *pattern, size_t n, bool literal, enum tok_stage_kind kind) {
    int code;
    PCRE2_SIZE at;
    PCRE2_UCHAR text[128];
    uint32_t options = PCRE2_UTF | PCRE2_UCP | PCRE2_MATCH_INVALID_UTF | (literal ? PCRE2_LITERAL : 0);
    pcre2_code *re = pcre2_compile((PCRE2_SPTR)pattern, n, options, &code, &at, NULL);
    if (!re) {
        if (pcre2_get_error_message(code, text, sizeof text) < 0)
            text[0] = '\0';
        return FAIL(l, "'pre_tokenizer' has a wrong expression: %s, at %zu", (char *)text, (size_t)at);
    }
    pcre2_jit_compile(re, PCRE2_JIT_COMPLETE); /* without JIT it is interpreted */
    return add_stage(l, (struct tok_stage){.kind = kind, .code = re});
}

static hilo_status load_split(struct load *l, const json_t *o) {
    const json_t *pattern = json_object_get(o, "pattern"), *re = json_object_get(pattern, "Regex");
    const json_t *literal = json_object_get(pattern, "String"), *text = re ? re : literal;
    struct llm_object fields = object(l, o, "pre_tokenizer.");
    const char *behaviour = llm_json_text(fields, "behavior", "Isolated");
    bool invert = llm_json_bool(fields, "invert", false), matches = invert && strcmp(behaviour, "Removed") == 0;
    if (!json_is_string(text))
        return FAIL(l, "'pre_tokenizer' has a split without a pattern");
    if (!matches && strcmp(behaviour, "Isolated") != 0)
        return FAIL(l, "'pre_tokenizer' has a split of behavior %s, which this version does not read", behaviour);
    return add_split(l, json_string_value(text), json_string_length(text), !re, matches ? TOK_MATCHES : TOK_SPLIT);
}

static hilo_status load_metaspace(struct load *l, struct llm_object o) {
    const char *scheme = llm_json_text(o, "prepend_scheme", NULL);
    bool always = scheme ? strcmp(scheme, "always") == 0 : llm_json_bool(o, "add_prefix_space", true);
    bool first = scheme && strcmp(scheme, "first") == 0;
    return add_stage(l, (struct tok_stage){.kind = TOK_METASPACE, .first = first, .prepend = always || first,
                                           .split = llm_json_bool(o, "split", true)});
}

static hilo_status load_stage(struct load *l, const json_t *v) {
    const char *type = type_of(v);
    struct llm_object o = object(l, v, "pre_tokenizer.");
    if (strcmp(type, "Split") == 0)
        return load_split(l, v);
    if (strcmp(type, "Metaspace") == 0)
        return load_metaspace(l, o);
    if (strcmp(type, "Digits") == 0) {
        const char *re = llm_json_bool(o, "individual_digits", false) ? "\\p{N}" : "\\p{N}+";
        return add_split(l, re, strlen(re), false, TOK_SPLIT);
    }
    if (strcmp(type, "ByteLevel") != 0)
        return FAIL(l, "'pre_tokenizer' of type %s is not known to this version", type);
    if (llm_json_bool(o, "add_prefix_space", true))
        HILO_TRY(add_stage(l, (struct tok_stage){.kind = TOK_PREFIX}));
    if (llm_json_bool(o, "use_regex", true))
        return add_split(l, gpt2_split, strlen(gpt2_split), false, TOK_SPLIT);
    return HILO_OK;
}

/* ---- post-processor -------------------------------------------------------------------------- */

static hilo_status load_template(struct load *l, const json_t *o) {
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
            return FAIL(l, "'post_processor.single' names a token that 'special_tokens' does not have");
        json_array_foreach(ids, k, id) {
            json_int_t n = json_is_integer(id) ? json_integer_value(id) : -1;
            if (n < 0 || (size_t)n >= t->ntokens)
                return FAIL(l, "'post_processor.special_tokens' has an id that is no token");
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

static hilo_status load_post(struct load *l, const json_t *o) {
    const char *type = type_of(o);
    if (strcmp(type, "ByteLevel") == 0) /* affects offsets only, which are not used here */
        return HILO_OK;
    if (strcmp(type, "TemplateProcessing") != 0)
        return FAIL(l, "'post_processor' of type %s is not known to this version", type);
    return load_template(l, o);
}

/* ---- the file -------------------------------------------------------------------------------- */

static hilo_status load(struct load *l) {
    struct llm_tok *t = l->t;
    const json_t *root = l->json.root;
    make_alphabet(l);
    t->norms = ARENA_ARRAY(l->a, struct tok_norm, MAX_STEPS);
    t->stages = ARENA_ARRAY(l->a, struct tok_stage, MAX_STEPS);
    HILO_TRY(load_model(l));
    HILO_TRY(each(l, json_object_get(root, "normalizer"), "normalizers", "normalizer", load_norm));
    HILO_TRY(each(l, json_object_get(root, "pre_tokenizer"), "pretokenizers", "pre_tokenizer", load_stage));
    HILO_TRY(each(l, json_object_get(root, "post_processor"), "processors", "post_processor", load_post));
    return l->json.status;
}

static hilo_status load_guarded(struct load *l) {
    jmp_buf recover;
    hilo_status status;
    l->a->recover = &recover;
    if (!setjmp(recover))
        status = load(l);
    else
        status = HILO_RESOURCE_EXHAUSTED;
    l->a->recover = NULL;
    return status;
}

/* Makes a tokenizer of l->json, whose status may be an error; closes it. */
static hilo_status tok_new(struct load *l, hilo_allocator al, struct llm_tok **out) {
    struct llm_tok *t = l->json.status == HILO_OK ? mem_alloc(&al, sizeof *t) : NULL;
    hilo_status status = l->json.status == HILO_OK ? HILO_RESOURCE_EXHAUSTED : l->json.status;
    if (t) {
        *t = (struct llm_tok){.al = al, .unk = LLM_TOK_NONE};
        memset(t->byte_ids, 0xFF, sizeof t->byte_ids); /* LLM_TOK_NONE */
        arena_init(&t->arena, al, NULL);
        l->t = t;
        l->a = &t->arena;
        status = load_guarded(l);
    }
    llm_json_close(&l->json);
    if (status == HILO_OK)
        *out = t;
    else
        llm_tok_free(t);
    return status;
}

hilo_status llm_tok_open(const char *path, hilo_allocator al, struct diag_list *d, struct llm_tok **out) {
    struct load l = {.t = NULL};
    llm_json_open(&l.json, path, al, d);
    return tok_new(&l, al, out);
}

hilo_status llm_tok_parse(struct str json, const char *name, hilo_allocator al, struct diag_list *d, struct llm_tok **out) {
    struct load l = {.t = NULL};
    llm_json_parse(&l.json, json, name, d);
    return tok_new(&l, al, out);
}

void llm_tok_free(struct llm_tok *t) {
    if (!t)
        return;
    for (size_t i = 0; i < t->nstages; i++)
        pcre2_code_free(t->stages[i].code);
    hilo_allocator al = t->al;
    arena_free(&t->arena);
    mem_free(&al, t, sizeof *t);
}
