/* The parts of a tokenizer (tokenizer.h), for the files that implement it. */
#ifndef HILO_LLM_TOK_CORE_H
#define HILO_LLM_TOK_CORE_H

#include "llm/json.h"
#include "llm/tokenizer.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

enum { LLM_TOK_NONE = -1 };

struct tok_token {
    struct str text;  /* what is looked up: bytes (byte-level), else the spelling */
    struct str bytes; /* what it stands for */
    double score;     /* UNIGRAM */
    bool exists, added, special;
    bool lstrip, rstrip, single_word, normalized; /* of added tokens */
    bool ends_word;   /* a space follows, unless the text ends */
};

/* Added tokens that are looked for in the same text, the longest first. */
struct tok_added {
    int32_t *ids;
    struct str *texts;
    size_t n;
    bool first[256]; /* bytes that they begin with */
};

/* A pair of ids that is merged to another id; lower ranks first. */
struct tok_merge { int32_t left, right, to; uint32_t rank; };

enum tok_norm_kind {
    TOK_NFC, TOK_NFD, TOK_NFKC, TOK_NFKD,
    TOK_LOWERCASE,
    TOK_STRIP_ACCENTS,   /* drops marks */
    TOK_NMT,             /* drops control characters, unifies spaces */
    TOK_PREPEND,         /* `to` before a text that is not empty */
    TOK_REPLACE,         /* `from`, or what `code` matches, by `to` */
    TOK_STRIP,           /* white space at the ends */
    TOK_BERT_CLEAN,      /* drops control characters, unifies spaces */
    TOK_BERT_CHINESE,    /* spaces around ideographs */
    TOK_DROP_NONSPACING, /* marks that take no space */
    TOK_CHARSMAP         /* SentencePiece's rules: `map` */
};

/* SentencePiece's precompiled rules: a double array (darts-clone) whose leaves are offsets of terminated strings. */
struct tok_charsmap { const uint32_t *units; size_t nunits; struct str strings; };

struct tok_norm {
    enum tok_norm_kind kind;
    struct str from, to;
    pcre2_code *code;    /* REPLACE; NULL: `from` */
    bool left, right;    /* STRIP */
    bool longest;        /* CHARSMAP: as SentencePiece applies them, not HF */
    struct tok_charsmap map;
};

enum tok_stage_kind {
    TOK_SPLIT,       /* at the matches of an expression */
    TOK_PREFIX,      /* a space before a piece that does not begin with one */
    TOK_METASPACE,   /* spaces become U+2581 */
    TOK_ALPHABET     /* bytes become characters of the byte-level alphabet */
};

/* What becomes of the matches of a split: they are dropped, are pieces, belong to the piece before or after them, or join
   neighbours that match as they do. */
enum tok_behavior { TOK_REMOVED, TOK_ISOLATED, TOK_MERGED_WITH_PREVIOUS, TOK_MERGED_WITH_NEXT, TOK_CONTIGUOUS };

struct tok_stage {
    enum tok_stage_kind kind;
    pcre2_code *code;     /* SPLIT */
    bool literal;         /* SPLIT: the code is a text */
    enum tok_behavior behavior;
    bool invert;          /* SPLIT: what does not match counts as the match */
    bool first, split;    /* METASPACE: before the text only; pieces begin at each U+2581 */
    bool prepend;
};

enum tok_model {
    TOK_BPE,
    TOK_UNIGRAM,     /* the most probable pieces */
    TOK_WORDPIECE,   /* the longest piece first */
    TOK_WORDLEVEL    /* whole pieces alone */
};

struct llm_tok {
    struct arena arena;
    hilo_allocator al;
    struct tok_token *tokens; /* by id */
    size_t ntokens;
    uint32_t *index;          /* id + 1 by hash of the text; 0 = free */
    size_t nindex;            /* a power of two */
    struct tok_merge *merges; /* by hash of the pair; left < 0 = free */
    size_t nmerges;           /* a power of two */
    int32_t byte_ids[256];    /* byte-level: of single bytes; else of <0x00> … */
    int32_t unk;
    enum tok_model model;
    struct str prefix, suffix; /* spelling of pieces that do not begin a word, and of those that end one */
    size_t longest;           /* bytes of a token's text */
    int64_t word_limit;       /* WORDPIECE: characters of a word */
    double unk_score;         /* UNIGRAM */
    int32_t *sorted;          /* UNIGRAM: ids in the order of their texts */
    size_t nsorted;
    uint16_t byte_chars[256]; /* the byte-level alphabet: the character of each byte, */
    int16_t char_bytes[512];  /* the byte of a character; -1 = none */
    bool mapped;              /* pieces are in that alphabet: there is a stage ALPHABET */
    bool byte_level, ignore_merges, byte_fallback, fuse_unk, strip_space;
    struct tok_added added[2]; /* in the text; in the normalized text */
    struct tok_norm *norms;
    size_t nnorms;
    struct tok_stage *stages;
    size_t nstages;
    int32_t *before, *after; /* of the post-processor */
    size_t nbefore, nafter;
};

int32_t tok_find(const struct llm_tok *t, struct str text);
static inline uint64_t tok_pair_hash(int32_t left, int32_t right) {
    uint64_t x = ((uint64_t)(uint32_t)left << 32 | (uint32_t)right) * 0x9E3779B97F4A7C15u;
    return x ^ x >> 29;
}

/* Encoding: scratch memory that pieces share. */
struct tok_symbol { int32_t id; uint32_t prev, next; };
struct tok_pair { uint32_t rank, at; int32_t left, right; };
struct tok_node { double score; size_t from; int32_t id; }; /* UNIGRAM: the best way to end here */
struct tok_encoder {
    const struct llm_tok *t;
    struct diag_list *d;
    struct llm_ids *out;
    unsigned flags;
    struct tok_symbol *symbols;
    struct tok_pair *heap;
    size_t nsymbols, symbols_cap, nheap, heap_cap;
    struct tok_node *nodes;
    size_t nodes_cap;
    struct strbuf text, bytes; /* spelling that is looked up; a piece that was in the byte-level alphabet */
};
/* The ids of one piece. */
hilo_status tok_merge_piece(struct tok_encoder *e, struct str piece);
hilo_status tok_unigram_piece(struct tok_encoder *e, struct str piece);
hilo_status tok_word_piece(struct tok_encoder *e, struct str piece); /* WORDPIECE, WORDLEVEL */

/* Growing arrays of encoders: room for n elements; false if memory is exhausted. */
bool tok_reserve(const struct llm_tok *t, void **v, size_t n, size_t *cap, size_t size);

/* Makes `out` the normalized text (tok_norm.c). */
hilo_status tok_normalize(const struct llm_tok *t, struct str in, struct diag_list *d, struct strbuf *out);
/* Appends an expression for a punctuation mark, as BERT defines it. */
void tok_put_punctuation(struct strbuf *out);
/* What an expression is matched with: the text, or a copy of it in `copy` in which characters that PCRE2 may not know are
   others with their properties and lengths (tok_newer.def). */
hilo_status tok_match_text(struct str text, struct strbuf *copy, struct str *out);
/* The character itself where PCRE2 and utf8proc know it. */
uint32_t tok_known(uint32_t c);
/* Limits of an expression on a text of n bytes; NULL when memory is exhausted. */
pcre2_match_context *tok_match_limits(size_t n);
hilo_status tok_match_failed(struct diag_list *d, int code);

/* Reads the normalizer and the pre-tokenizer (tok_steps.c), and the rest of a file (tok_load.c). */
struct tok_load {
    struct llm_json *json;
    struct llm_tok *t;
    struct arena *a;
    bool after_byte_level; /* of the pre-tokenizers */
    bool cleanup;          /* of the decoder: no space before punctuation */
    struct strbuf scratch; /* what is to be freed if the arena is exhausted */
};
#define TOK_FAIL(l, ...) llm_json_fail((l)->json, __VA_ARGS__)
enum { TOK_MAX_STEPS = 16 };
hilo_status tok_load_steps(struct tok_load *l);
/* The byte-level alphabet: the character of each byte. */
void tok_byte_alphabet(uint16_t out[256]);
/* Decodes base 64, up to what is none; aligned for 32 bits. */
struct str tok_base64(struct arena *a, struct str s);
/* A copy in the arena. */
struct str tok_copy(struct tok_load *l, const json_t *text);
/* Calls `one` for a component, or for those of a Sequence; `list` is the field with these. */
hilo_status tok_each(struct tok_load *l, const char *what, const char *list,
                     hilo_status (*one)(struct tok_load *l, const json_t *o));
const char *tok_type(const json_t *o);

/* White_Space of Unicode. */
static inline bool tok_is_space(uint32_t c) {
    return c == ' ' || (c >= 9 && c <= 13) || c == 0x85 || c == 0xA0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200A) ||
           c == 0x2028 || c == 0x2029 || c == 0x202F || c == 0x205F || c == 0x3000;
}

#endif
