/* The parts of a tokenizer (tokenizer.h), for the files that implement it. */
#ifndef HILO_LLM_TOK_CORE_H
#define HILO_LLM_TOK_CORE_H

#include "llm/tokenizer.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

enum { LLM_TOK_NONE = -1 };

struct tok_token {
    struct str text;  /* what is looked up: bytes (byte-level), else the spelling */
    struct str bytes; /* what it stands for */
    bool exists, added, special;
    bool lstrip, rstrip, single_word; /* of added tokens */
};

/* A pair of ids that is merged to another id; lower ranks first. */
struct tok_merge { int32_t left, right, to; uint32_t rank; };

enum tok_norm_kind { TOK_NFC, TOK_NFD, TOK_NFKC, TOK_NFKD, TOK_PREPEND, TOK_REPLACE };
struct tok_norm { enum tok_norm_kind kind; struct str from, to; };

enum tok_stage_kind {
    TOK_SPLIT,       /* at the matches of an expression, which are pieces too */
    TOK_MATCHES,     /* the same, and what does not match is dropped */
    TOK_PREFIX,      /* a space before a piece that does not begin with one */
    TOK_METASPACE    /* spaces become U+2581 */
};
struct tok_stage {
    enum tok_stage_kind kind;
    pcre2_code *code;     /* SPLIT, MATCHES */
    bool first, split;    /* METASPACE: before the text only; pieces begin at each U+2581 */
    bool prepend;
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
    bool byte_level, ignore_merges, byte_fallback, fuse_unk, strip_space;
    int32_t *added;           /* longest first */
    size_t nadded;
    bool added_first[256];    /* bytes that added tokens begin with */
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
struct tok_encoder {
    const struct llm_tok *t;
    struct diag_list *d;
    struct llm_ids *out;
    struct tok_symbol *symbols;
    struct tok_pair *heap;
    size_t nsymbols, symbols_cap, nheap, heap_cap;
};
/* The ids of one piece. */
hilo_status tok_merge_piece(struct tok_encoder *e, struct str piece);

#endif
