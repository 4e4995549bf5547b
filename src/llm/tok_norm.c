/* Normalizers: see tokenizer.h. */
#include "llm/tok_core.h"

#include <stdlib.h>
#include <utf8proc.h>

/* ---- forms ----------------------------------------------------------------------------------- */

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

static void put_code(struct strbuf *out, uint32_t c) {
    utf8proc_uint8_t text[4];
    utf8proc_ssize_t n = utf8proc_encode_char((utf8proc_int32_t)c, text);
    strbuf_putn(out, (const char *)text, n > 0 ? (size_t)n : 0);
}

/* ---- character by character ------------------------------------------------------------------ */

enum class { CONTROL, NONSPACING, MARK, PUNCTUATION };

static const struct { enum class of; bool belongs; uint32_t first, last; } exceptions[] = {
#define RANGE(class, belongs, first, last) {class, belongs, first, last},
#include "llm/tok_unicode.def"
};

static bool belongs(enum class of, uint32_t c) {
    for (size_t i = 0; i < sizeof exceptions / sizeof *exceptions && c >= 0x80; i++)
        if (exceptions[i].of == of && c >= exceptions[i].first && c <= exceptions[i].last)
            return exceptions[i].belongs;
    utf8proc_category_t k = utf8proc_category((utf8proc_int32_t)c);
    switch (of) {
    case CONTROL: return k == UTF8PROC_CATEGORY_CC || k == UTF8PROC_CATEGORY_CF || k == UTF8PROC_CATEGORY_CO || c == 0xFFFD;
    case NONSPACING: return k == UTF8PROC_CATEGORY_MN;
    case MARK: return k == UTF8PROC_CATEGORY_MN || k == UTF8PROC_CATEGORY_MC || k == UTF8PROC_CATEGORY_ME;
    case PUNCTUATION: break;
    }
    return false;
}

void tok_put_punctuation(struct strbuf *out) {
    static const struct { bool belongs; const char *begin, *end; } parts[] = {
        {false, "(?:(?![", "])[!-/:-@\\[-`{-~\\p{P}]|["}, {true, "", "])"}};
    for (size_t k = 0; k < sizeof parts / sizeof *parts; k++) {
        strbuf_puts(out, parts[k].begin);
        for (size_t i = 0; i < sizeof exceptions / sizeof *exceptions; i++)
            if (exceptions[i].of == PUNCTUATION && exceptions[i].belongs == parts[k].belongs)
                strbuf_printf(out, "\\x{%x}-\\x{%x}", exceptions[i].first, exceptions[i].last);
        strbuf_puts(out, parts[k].end);
    }
}

static bool is_ideograph(uint32_t c) {
    static const struct { uint32_t from, to; } blocks[] = {
        {0x4E00, 0x9FFF}, {0x3400, 0x4DBF}, {0x20000, 0x2A6DF}, {0x2A700, 0x2B73F}, {0x2B740, 0x2B81F}, {0x2B920, 0x2CEAF},
        {0xF900, 0xFAFF}, {0x2F800, 0x2FA1F},
    };
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++)
        if (c >= blocks[i].from && c <= blocks[i].to)
            return true;
    return false;
}

/* SentencePiece's nmt_nfkc drops the first kind and makes spaces of the second. */
static bool nmt_drops(uint32_t c) {
    return (c >= 1 && c <= 8) || c == 0xB || (c >= 0xE && c <= 0x1F) || c == 0x7F || c == 0x8F || c == 0x9F;
}

static bool nmt_space(uint32_t c) {
    return c == 9 || c == 0xA || c == 0xC || c == 0xD || c == 0x1680 || (c >= 0x200B && c <= 0x200F) || c == 0x2028 ||
           c == 0x2029 || c == 0x2581 || c == 0xFEFF || c == 0xFFFD;
}

static void put_lower(struct strbuf *out, uint32_t c) {
    if (c == 0x130) /* the only character whose lower case is two */
        strbuf_puts(out, "i\xCC\x87");
    else
        put_code(out, (uint32_t)utf8proc_tolower((utf8proc_int32_t)c));
}

static void change(enum tok_norm_kind kind, uint32_t c, struct strbuf *out) {
    switch (kind) {
    case TOK_LOWERCASE: put_lower(out, c); return;
    case TOK_STRIP_ACCENTS:
    case TOK_DROP_NONSPACING:
        if (!belongs(kind == TOK_STRIP_ACCENTS ? MARK : NONSPACING, c))
            put_code(out, c);
        return;
    case TOK_NMT:
        if (!nmt_drops(c))
            put_code(out, nmt_space(c) ? ' ' : c);
        return;
    case TOK_BERT_CLEAN:
        if (c == '\t' || c == '\n' || c == '\r' || (c && !belongs(CONTROL, c)))
            put_code(out, tok_is_space(c) ? ' ' : c);
        return;
    case TOK_BERT_CHINESE:
        if (is_ideograph(c)) {
            strbuf_putc(out, ' ');
            put_code(out, c);
            strbuf_putc(out, ' ');
            return;
        }
        put_code(out, c);
        return;
    default: put_code(out, c);
    }
}

/* Bytes that are no characters are kept. */
static void change_all(enum tok_norm_kind kind, struct str in, struct strbuf *out) {
    for (size_t i = 0; i < in.n;) {
        uint32_t c;
        size_t n = llm_utf8(in.p + i, in.p + in.n, &c);
        if (n)
            change(kind, c, out);
        else
            strbuf_putc(out, in.p[i]);
        i += n ? n : 1;
    }
}

static struct str strip(struct str s, bool left, bool right) {
    uint32_t c;
    for (size_t n; left && (n = llm_utf8(s.p, s.p + s.n, &c)) && tok_is_space(c);)
        s.p += n, s.n -= n;
    for (size_t n = 1; right && n <= 4 && n <= s.n;) {
        bool space = llm_utf8(s.p + s.n - n, s.p + s.n, &c) == n && tok_is_space(c);
        s.n -= space ? n : 0;
        n = space ? 1 : n + 1;
    }
    return s;
}

/* ---- replacing ------------------------------------------------------------------------------- */

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

hilo_status tok_match_failed(struct diag_list *d, int code) {
    PCRE2_UCHAR text[128];
    if (code == PCRE2_ERROR_NOMEMORY)
        return HILO_RESOURCE_EXHAUSTED;
    if (pcre2_get_error_message(code, text, sizeof text) < 0)
        text[0] = '\0';
    return diag_error(d, HILO_INVALID_ARGUMENT, "the tokenizer's expression fails on this text: %s", (char *)text);
}

/* Steps that an expression may take at each place of a text: it may scan the text several times, but not try every way to
   divide it. */
enum { MATCH_HEAP_KB = 64 << 10, MATCH_STEPS = 1 << 20 };

pcre2_match_context *tok_match_limits(size_t n) {
    pcre2_match_context *limits = pcre2_match_context_create(NULL);
    if (limits) {
        pcre2_set_match_limit(limits, n < (UINT32_MAX - MATCH_STEPS) / 16 ? (uint32_t)(MATCH_STEPS + 16 * n) : UINT32_MAX);
        pcre2_set_heap_limit(limits, MATCH_HEAP_KB);
    }
    return limits;
}

static const struct { uint32_t first, last, like; } newer[] = {
#define RANGE(first, last, like) {first, last, like},
#include "llm/tok_newer.def"
};

uint32_t tok_known(uint32_t c) {
    size_t from = 0, to = sizeof newer / sizeof *newer;
    while (from < to) {
        size_t middle = from + (to - from) / 2;
        if (c > newer[middle].last)
            from = middle + 1;
        else if (c < newer[middle].first)
            to = middle;
        else
            return newer[middle].like;
    }
    return c;
}

hilo_status tok_match_text(struct str text, struct strbuf *copy, struct str *out) {
    *out = text;
    copy->n = 0;
    for (size_t i = 0, n; i < text.n; i += n) {
        uint32_t c;
        unsigned char first = (unsigned char)text.p[i];
        n = first < 0xE0 ? 1 : llm_utf8(text.p + i, text.p + text.n, &c);
        n = n ? n : 1;
        if (n < 3 || tok_known(c) == c)
            continue;
        if (!copy->n)
            strbuf_str(copy, text);
        if (copy->failed)
            return HILO_RESOURCE_EXHAUSTED;
        utf8proc_encode_char((utf8proc_int32_t)tok_known(c), (utf8proc_uint8_t *)copy->p + i);
        *out = (struct str){copy->p, copy->n};
    }
    return HILO_OK;
}

static hilo_status replace_matches(struct str in, const struct tok_norm *norm, size_t most, struct diag_list *d,
                                   struct strbuf *out) {
    pcre2_match_data *match = pcre2_match_data_create(1, NULL);
    pcre2_match_context *limits = tok_match_limits(in.n);
    struct strbuf copy;
    struct str text;
    strbuf_init(&copy, out->al);
    hilo_status status = match && limits ? tok_match_text(in, &copy, &text) : HILO_RESOURCE_EXHAUSTED;
    size_t from = 0;
    for (size_t at = 0; status == HILO_OK && at <= in.n && out->n <= most;) {
        int code = pcre2_match(norm->code, (PCRE2_SPTR)text.p, text.n, at, 0, match, limits);
        if (code == PCRE2_ERROR_NOMATCH)
            break;
        if (code < 0) {
            status = tok_match_failed(d, code);
            break;
        }
        const PCRE2_SIZE *span = pcre2_get_ovector_pointer(match);
        if (span[1] <= span[0] || span[0] < from) {
            at = (span[0] > at ? span[0] : at) + 1;
            continue;
        }
        strbuf_putn(out, in.p + from, span[0] - from);
        strbuf_str(out, norm->to);
        at = from = span[1];
    }
    strbuf_putn(out, in.p + from, in.n - from);
    strbuf_free(&copy);
    pcre2_match_context_free(limits);
    pcre2_match_data_free(match);
    return status;
}

/* ---- SentencePiece's rules --------------------------------------------------------------------- */

/* The length of the shortest or longest key that begins `s`, and what it becomes; 0 if no key does. The units are those of
   darts-clone (github.com/s-yata/darts-clone, include/darts.h). */
static size_t look_up(const struct tok_charsmap *m, struct str s, bool longest, struct str *out) {
    size_t at = 0, found = 0;
    if (m->nunits == 0)
        return 0;
    for (size_t i = 0; i <= s.n; i++) {
        uint32_t unit = m->units[at], offset = unit >> 10 << ((unit & 512) >> 6);
        at ^= offset;
        if (i && unit >> 8 & 1 && at < m->nunits) {
            size_t value = m->units[at] & 0x7FFFFFFF;
            if (value > m->strings.n)
                return found;
            const char *p = m->strings.p + value, *end = memchr(p, 0, m->strings.n - value);
            *out = (struct str){p, end ? (size_t)(end - p) : m->strings.n - value};
            found = i;
            if (!longest)
                return found;
        }
        if (i == s.n || s.p[i] == '\0')
            return found;
        at ^= (unsigned char)s.p[i];
        if (at >= m->nunits || (m->units[at] & 0x800000FF) != (unsigned char)s.p[i])
            return found;
    }
    return found;
}

/* HF's Precompiled: a short grapheme as a whole, else each character. */
static void map_all(const struct tok_charsmap *m, struct str in, size_t most, struct strbuf *out) {
    enum { SHORT = 6 };
    struct str to;
    for (size_t from = 0, end; from < in.n && out->n <= most; from = end) {
        utf8proc_int32_t state = 0;
        uint32_t last, next;
        size_t n = llm_utf8(in.p + from, in.p + in.n, &last), k;
        end = from + (n ? n : 1);
        while (n && (k = llm_utf8(in.p + end, in.p + in.n, &next)) != 0 &&
               !utf8proc_grapheme_break_stateful((utf8proc_int32_t)last, (utf8proc_int32_t)next, &state))
            end += k, last = next;
        if (end - from < SHORT && look_up(m, (struct str){in.p + from, end - from}, false, &to)) {
            strbuf_str(out, to);
            continue;
        }
        for (size_t i = from; i < end; i += n) {
            n = llm_utf8(in.p + i, in.p + end, &last);
            n = n ? n : 1;
            bool known = look_up(m, (struct str){in.p + i, n}, false, &to) != 0;
            strbuf_str(out, known ? to : (struct str){in.p + i, n});
        }
    }
}

/* SentencePiece's Normalizer: the longest rule at each place, else the character. */
static void map_longest(const struct tok_charsmap *m, struct str in, size_t most, struct strbuf *out) {
    struct str to;
    for (size_t from = 0, n; from < in.n && out->n <= most; from += n) {
        uint32_t c;
        struct str rest = {in.p + from, in.n - from};
        n = look_up(m, rest, true, &to);
        if (!n) {
            n = llm_utf8(rest.p, rest.p + rest.n, &c);
            n = n ? n : 1;
            to = (struct str){rest.p, n};
        }
        strbuf_str(out, to);
    }
}

/* ---- all of them ------------------------------------------------------------------------------- */

/* A normalizer may multiply a text; this is more than those of real models do (a compatibility form has 11 times the bytes
   at most). */
static size_t most_normalized(size_t n) {
    return n < SIZE_MAX / 64 ? 32 * n + 4096 : SIZE_MAX;
}

static hilo_status apply(const struct tok_norm *norm, struct str text, size_t most, struct diag_list *d, struct strbuf *out) {
    switch (norm->kind) {
    case TOK_NFC:
    case TOK_NFD:
    case TOK_NFKC:
    case TOK_NFKD: return normal_form(norm->kind, text, out);
    case TOK_PREPEND:
        if (text.n)
            strbuf_str(out, norm->to);
        strbuf_str(out, text);
        return HILO_OK;
    case TOK_REPLACE:
        if (norm->code)
            return replace_matches(text, norm, most, d, out);
        replace_all(text, norm->from, norm->to, most, out);
        return HILO_OK;
    case TOK_STRIP: strbuf_str(out, strip(text, norm->left, norm->right)); return HILO_OK;
    case TOK_CHARSMAP: (norm->longest ? map_longest : map_all)(&norm->map, text, most, out); return HILO_OK;
    default: change_all(norm->kind, text, out); return HILO_OK;
    }
}

hilo_status tok_normalize(const struct llm_tok *t, struct str in, struct diag_list *d, struct strbuf *out) {
    struct strbuf next;
    size_t most = most_normalized(in.n);
    hilo_status status = HILO_OK;
    strbuf_str(out, in);
    for (size_t i = 0; i < t->nnorms && status == HILO_OK && !out->failed; i++) {
        strbuf_init(&next, t->al);
        status = apply(&t->norms[i], (struct str){out->p ? out->p : "", out->n}, most, d, &next);
        next.failed |= out->failed;
        strbuf_free(out);
        *out = next;
        if (status == HILO_OK && out->n > most)
            status = diag_error(d, HILO_INVALID_ARGUMENT, "the tokenizer's normalizer makes more than %zu bytes of a text of "
                                                          "%zu", most, in.n);
    }
    return out->failed ? HILO_RESOURCE_EXHAUSTED : status;
}
