/* Reading the normalizer and the pre-tokenizer of tokenizer.json: see tokenizer.h. */
#include "llm/tok_core.h"

#include <stdio.h>

/* GPT-2's splits, for files that do not spell them out. */
static const char gpt2_split[] = "'(?:[sdmt]|ll|ve|re)| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+";

/* Members of classes: White_Space, and characters of words as Rust's regular expressions define them. */
#define SPACES "\\t-\\r \\x{85}\\x{A0}\\x{1680}\\x{2000}-\\x{200A}\\x{2028}\\x{2029}\\x{202F}\\x{205F}\\x{3000}"
#define WORDS "\\p{Alphabetic}\\p{M}\\p{Nd}\\p{Pc}\\x{200C}\\x{200D}"

static struct llm_object object(struct tok_load *l, const json_t *o, const char *where) {
    return (struct llm_object){l->json, o, where};
}

hilo_status tok_each(struct tok_load *l, const char *what, const char *list,
                     hilo_status (*one)(struct tok_load *l, const json_t *o)) {
    const json_t *o = json_object_get(l->json->root, what);
    size_t i;
    json_t *v;
    if (!o || json_is_null(o))
        return HILO_OK;
    if (strcmp(tok_type(o), "Sequence") != 0)
        return one(l, o);
    if (!json_is_array(json_object_get(o, list)))
        return TOK_FAIL(l, "'%s.%s' is missing", what, list);
    json_array_foreach(json_object_get(o, list), i, v)
        HILO_TRY(one(l, v));
    return l->json->status;
}

/* ---- expressions ----------------------------------------------------------------------------- */

/* Copies the beginning of \p{NAME} at `at`, up to the name, whose place it returns. PCRE2 understands the name of a script as
   its extensions, other libraries as the script itself (`sc:`), so that U+3001 is not Han. Other properties cannot have the
   prefix. */
static size_t write_property(struct str s, size_t at, struct strbuf *out) {
    const char *end = memchr(s.p + at, '}', s.n - at);
    size_t n = end ? (size_t)(end - s.p) - at : 0, name = at + 3 + (n > 3 && s.p[at + 3] == '^');
    char probe[64];
    int code, length = 0;
    if (n > name - at && n < 48)
        length = snprintf(probe, sizeof probe, "\\p{sc:%.*s}", (int)(n - (name - at)), s.p + name);
    PCRE2_SIZE where;
    pcre2_code *re = length ? pcre2_compile((PCRE2_SPTR)probe, (size_t)length, PCRE2_UTF, &code, &where, NULL) : NULL;
    strbuf_putn(out, s.p + at, name - at);
    strbuf_puts(out, re ? "sc:" : "");
    pcre2_code_free(re);
    return name;
}

/* Writes an expression with \s as White_Space: PCRE2 adds U+180E, which is none any more. In a class, its members. */
static void write_expression(struct str s, struct strbuf *out) {
    bool in_class = false;
    for (size_t i = 0; i < s.n; i++) {
        bool escape = s.p[i] == '\\' && i + 1 < s.n;
        if (escape && s.p[i + 1] == 's') {
            strbuf_puts(out, in_class ? SPACES : "[" SPACES "]");
            i++;
        } else if (escape && s.p[i + 1] == 'S' && !in_class) {
            strbuf_puts(out, "[^" SPACES "]");
            i++;
        } else if (escape && i + 2 < s.n && (s.p[i + 1] | 32) == 'p' && s.p[i + 2] == '{') {
            i = write_property(s, i, out) - 1;
        } else if (escape) {
            strbuf_putn(out, s.p + i++, 2);
        } else {
            bool opens = s.p[i] == '[' && !in_class;
            strbuf_putc(out, s.p[i]);
            if (opens && i + 1 < s.n && s.p[i + 1] == '^')
                strbuf_putc(out, s.p[++i]);
            in_class = opens || (in_class && s.p[i] != ']');
        }
    }
}

/* Compiles an expression, or a literal text; pcre2_code_free. */
static hilo_status compile(struct tok_load *l, const char *where, struct str pattern, bool literal, pcre2_code **out) {
    int code;
    PCRE2_SIZE at;
    PCRE2_UCHAR text[128];
    uint32_t options = PCRE2_UTF | PCRE2_MATCH_INVALID_UTF | (literal ? PCRE2_LITERAL : PCRE2_UCP);
    struct strbuf s;
    strbuf_init(&s, l->t->al);
    if (literal)
        strbuf_str(&s, pattern);
    else
        write_expression(pattern, &s);
    pcre2_code *re = s.failed ? NULL : pcre2_compile((PCRE2_SPTR)(s.p ? s.p : ""), s.n, options, &code, &at, NULL);
    bool failed = s.failed;
    strbuf_free(&s);
    if (failed)
        return HILO_RESOURCE_EXHAUSTED;
    if (!re) {
        if (pcre2_get_error_message(code, text, sizeof text) < 0)
            text[0] = '\0';
        return TOK_FAIL(l, "'%s' has a wrong expression: %s, at %zu", where, (char *)text, (size_t)at);
    }
    pcre2_jit_compile(re, PCRE2_JIT_COMPLETE); /* without JIT it is interpreted */
    *out = re;
    return HILO_OK;
}

/* ---- normalizers ----------------------------------------------------------------------------- */

static hilo_status add_norm(struct tok_load *l, struct tok_norm norm) {
    if (l->t->nnorms == TOK_MAX_STEPS) {
        pcre2_code_free(norm.code);
        return TOK_FAIL(l, "'normalizer' has too many steps");
    }
    l->t->norms[l->t->nnorms++] = norm;
    return HILO_OK;
}

static int base64_digit(char c) {
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const char *p = c ? strchr(digits, c) : NULL;
    return p ? (int)(p - digits) : -1;
}

struct str tok_base64(struct arena *a, struct str s) {
    char *p = arena_alloc(a, s.n / 4 * 3 + 4, _Alignof(uint32_t));
    size_t n = 0;
    uint32_t bits = 0, nbits = 0;
    for (size_t i = 0; i < s.n && base64_digit(s.p[i]) >= 0; i++) {
        bits = bits << 6 | (uint32_t)base64_digit(s.p[i]);
        nbits += 6;
        if (nbits >= 8) {
            nbits -= 8;
            p[n++] = (char)(bits >> nbits);
        }
    }
    return (struct str){p, n};
}

/* `precompiled_charsmap`: the bytes of the double array as a number of 32 bits, the array, the strings; little endian. */
static hilo_status add_charsmap(struct tok_load *l, const json_t *text, bool longest) {
    struct tok_norm norm = {.kind = TOK_CHARSMAP, .longest = longest};
    if (json_is_null(text) || json_string_length(text) == 0)
        return json_is_string(text) || json_is_null(text) ? HILO_OK : TOK_FAIL(l, "'normalizer' has no 'precompiled_charsmap'");
    struct str s = tok_base64(l->a, (struct str){json_string_value(text), json_string_length(text)});
    uint32_t bytes = 0;
    if (s.n >= 4)
        memcpy(&bytes, s.p, 4);
    if (s.n < 4 || bytes > s.n - 4 || bytes % 4)
        return TOK_FAIL(l, "'normalizer.precompiled_charsmap' is not SentencePiece's");
    norm.map.units = (const uint32_t *)(const void *)(s.p + 4);
    norm.map.nunits = bytes / 4;
    norm.map.strings = (struct str){s.p + 4 + bytes, s.n - 4 - bytes};
    return add_norm(l, norm);
}

static hilo_status add_bert(struct tok_load *l, struct llm_object o) {
    bool lower = llm_json_bool(o, "lowercase", true), strip = llm_json_bool(o, "strip_accents", lower);
    const struct { bool on; enum tok_norm_kind kind; } steps[] = {
        {llm_json_bool(o, "clean_text", true), TOK_BERT_CLEAN},
        {llm_json_bool(o, "handle_chinese_chars", true), TOK_BERT_CHINESE},
        {strip, TOK_NFD}, {strip, TOK_DROP_NONSPACING}, {lower, TOK_LOWERCASE},
    };
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++)
        if (steps[i].on)
            HILO_TRY(add_norm(l, (struct tok_norm){.kind = steps[i].kind}));
    return l->json->status;
}

static hilo_status add_replace(struct tok_load *l, const json_t *o) {
    const json_t *pattern = json_object_get(o, "pattern"), *content = json_object_get(o, "content");
    const json_t *re = json_object_get(pattern, "Regex"), *text = json_object_get(pattern, "String");
    struct tok_norm norm = {.kind = TOK_REPLACE};
    if (!json_is_string(content) || (!json_is_string(re) && json_string_length(text) == 0))
        return TOK_FAIL(l, "'normalizer' of type Replace has no 'pattern' or no 'content'");
    norm.to = tok_copy(l, content);
    norm.from = tok_copy(l, re ? re : text);
    if (re)
        HILO_TRY(compile(l, "normalizer", norm.from, false, &norm.code));
    return add_norm(l, norm);
}

static hilo_status load_norm(struct tok_load *l, const json_t *v) {
    static const struct { const char *type; enum tok_norm_kind kind; } simple[] = {
        {"NFC", TOK_NFC}, {"NFD", TOK_NFD}, {"NFKC", TOK_NFKC}, {"NFKD", TOK_NFKD}, {"Lowercase", TOK_LOWERCASE},
        {"StripAccents", TOK_STRIP_ACCENTS}, {"Nmt", TOK_NMT},
    };
    const char *type = tok_type(v);
    struct llm_object o = object(l, v, "normalizer.");
    const json_t *prepend = json_object_get(v, "prepend");
    for (size_t i = 0; i < sizeof simple / sizeof *simple; i++)
        if (strcmp(type, simple[i].type) == 0)
            return add_norm(l, (struct tok_norm){.kind = simple[i].kind});
    if (strcmp(type, "Prepend") == 0 && json_is_string(prepend))
        return add_norm(l, (struct tok_norm){.kind = TOK_PREPEND, .to = tok_copy(l, prepend)});
    if (strcmp(type, "Strip") == 0)
        return add_norm(l, (struct tok_norm){.kind = TOK_STRIP, .left = llm_json_bool(o, "strip_left", true),
                                             .right = llm_json_bool(o, "strip_right", true)});
    if (strcmp(type, "Replace") == 0)
        return add_replace(l, v);
    if (strcmp(type, "BertNormalizer") == 0)
        return add_bert(l, o);
    if (strcmp(type, "Precompiled") == 0)
        return add_charsmap(l, json_object_get(v, "precompiled_charsmap"), llm_json_bool(o, "longest", false));
    if (strcmp(type, "ByteLevel") == 0) /* tokens are looked up by their bytes anyway */
        return HILO_OK;
    return TOK_FAIL(l, "'normalizer' of type %s is not known to this version", type);
}

/* ---- pre-tokenizers ---------------------------------------------------------------------------- */

static hilo_status add_stage(struct tok_load *l, struct tok_stage stage) {
    if (l->t->nstages == TOK_MAX_STEPS) {
        pcre2_code_free(stage.code);
        return TOK_FAIL(l, "'pre_tokenizer' has too many steps");
    }
    l->t->stages[l->t->nstages++] = stage;
    return HILO_OK;
}

/* Splits that follow a ByteLevel see its alphabet. */
static hilo_status add_split(struct tok_load *l, struct str pattern, bool literal, enum tok_behavior behavior, bool invert) {
    struct llm_tok *t = l->t;
    struct tok_stage stage = {.kind = TOK_SPLIT, .behavior = behavior, .invert = invert, .literal = literal};
    if (l->after_byte_level && !t->mapped) {
        t->mapped = true;
        HILO_TRY(add_stage(l, (struct tok_stage){.kind = TOK_ALPHABET}));
    }
    HILO_TRY(compile(l, "pre_tokenizer", pattern, literal, &stage.code));
    return add_stage(l, stage);
}

static hilo_status read_behavior(struct tok_load *l, struct llm_object o, enum tok_behavior *out) {
    static const char *const names[] = {
        [TOK_REMOVED] = "Removed", [TOK_ISOLATED] = "Isolated", [TOK_MERGED_WITH_PREVIOUS] = "MergedWithPrevious",
        [TOK_MERGED_WITH_NEXT] = "MergedWithNext", [TOK_CONTIGUOUS] = "Contiguous"};
    const char *name = llm_json_text(o, "behavior", "Isolated");
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(name, names[i]) == 0) {
            *out = (enum tok_behavior)i;
            return HILO_OK;
        }
    return TOK_FAIL(l, "'%sbehavior' is '%s', which this version does not know", o.where, name);
}

static hilo_status load_split(struct tok_load *l, const json_t *v, struct llm_object o) {
    const json_t *pattern = json_object_get(v, "pattern"), *re = json_object_get(pattern, "Regex");
    const json_t *text = re ? re : json_object_get(pattern, "String");
    enum tok_behavior behavior = TOK_ISOLATED;
    if (!json_is_string(text))
        return TOK_FAIL(l, "'pre_tokenizer' has a split without a pattern");
    HILO_TRY(read_behavior(l, o, &behavior));
    return add_split(l, (struct str){json_string_value(text), json_string_length(text)}, !re, behavior,
                     llm_json_bool(o, "invert", false));
}

static hilo_status load_metaspace(struct tok_load *l, struct llm_object o) {
    const char *scheme = llm_json_text(o, "prepend_scheme", NULL);
    bool always = scheme ? strcmp(scheme, "always") == 0 : llm_json_bool(o, "add_prefix_space", true);
    bool first = scheme && strcmp(scheme, "first") == 0;
    return add_stage(l, (struct tok_stage){.kind = TOK_METASPACE, .first = first, .prepend = always || first,
                                           .split = llm_json_bool(o, "split", true)});
}

static hilo_status load_byte_level(struct tok_load *l, struct llm_object o) {
    if (llm_json_bool(o, "add_prefix_space", true))
        HILO_TRY(add_stage(l, (struct tok_stage){.kind = TOK_PREFIX}));
    if (llm_json_bool(o, "use_regex", true))
        HILO_TRY(add_split(l, STR(gpt2_split), false, TOK_ISOLATED, false));
    l->after_byte_level = true;
    return HILO_OK;
}

static hilo_status add_punctuation(struct tok_load *l, enum tok_behavior behavior) {
    strbuf_free(&l->scratch);
    tok_put_punctuation(&l->scratch);
    if (l->scratch.failed)
        return HILO_RESOURCE_EXHAUSTED;
    return add_split(l, (struct str){l->scratch.p, l->scratch.n}, false, behavior, false);
}

static hilo_status load_stage(struct tok_load *l, const json_t *v) {
    static const struct { const char *type, *expression; enum tok_behavior behavior; bool invert; } simple[] = {
        {"WhitespaceSplit", "\\s+", TOK_REMOVED, false},
        {"Whitespace", "[" WORDS "]+|[^\\s" WORDS "]+", TOK_REMOVED, true},
        {"BertPreTokenizer", "\\s", TOK_REMOVED, false},
    };
    const char *type = tok_type(v);
    struct llm_object o = object(l, v, "pre_tokenizer.");
    size_t known = l->t->nstages;
    for (size_t i = 0; i < sizeof simple / sizeof *simple; i++)
        if (strcmp(type, simple[i].type) == 0)
            HILO_TRY(add_split(l, str_of(simple[i].expression), false, simple[i].behavior, simple[i].invert));
    if (l->t->nstages > known)
        return strcmp(type, "BertPreTokenizer") == 0 ? add_punctuation(l, TOK_ISOLATED) : HILO_OK;
    if (strcmp(type, "Split") == 0)
        return load_split(l, v, o);
    if (strcmp(type, "Metaspace") == 0)
        return load_metaspace(l, o);
    if (strcmp(type, "ByteLevel") == 0)
        return load_byte_level(l, o);
    if (strcmp(type, "Digits") == 0)
        return add_split(l, llm_json_bool(o, "individual_digits", false) ? STR("\\p{N}") : STR("\\p{N}+"), false, TOK_ISOLATED,
                         false);
    if (strcmp(type, "Punctuation") == 0) {
        enum tok_behavior behavior = TOK_ISOLATED;
        HILO_TRY(read_behavior(l, o, &behavior));
        return add_punctuation(l, behavior);
    }
    if (strcmp(type, "CharDelimiterSplit") == 0)
        return add_split(l, str_of(llm_json_text(o, "delimiter", " ")), true, TOK_REMOVED, false);
    return TOK_FAIL(l, "'pre_tokenizer' of type %s is not known to this version", type);
}

hilo_status tok_load_steps(struct tok_load *l) {
    l->t->norms = ARENA_ARRAY(l->a, struct tok_norm, TOK_MAX_STEPS);
    l->t->stages = ARENA_ARRAY(l->a, struct tok_stage, TOK_MAX_STEPS);
    HILO_TRY(tok_each(l, "normalizer", "normalizers", load_norm));
    return tok_each(l, "pre_tokenizer", "pretokenizers", load_stage);
}
