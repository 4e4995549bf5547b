/* What the files of grammars share: compiled rules. A rule is a list of elements: sequences with ALTERNATIVE between them, then
 * END. */
#ifndef HILO_LLM_GRAMMAR_RULES_H
#define HILO_LLM_GRAMMAR_RULES_H

#include "llm/grammar.h"

enum {
    GRAMMAR_MOST = 1 << 18,       /* elements, and rules */
    GRAMMAR_BYTES_MOST = 1 << 20, /* of text */
    GRAMMAR_DEPTH = 64,           /* of groups */
    GRAMMAR_REPEAT = 1024
};

enum grammar_kind { GRAMMAR_END, GRAMMAR_ALTERNATIVE, GRAMMAR_RULE, GRAMMAR_BYTES };

struct grammar_element {
    uint8_t kind, low, high; /* BYTES: low … high */
    uint32_t rule;
};

struct grammar_rule {
    struct str name; /* while parsing; empty: it has none */
    uint32_t first;  /* element; UINT32_MAX = not defined yet */
    size_t place;    /* of its first use in the text */
};

struct llm_grammar {
    hilo_allocator al;
    struct grammar_element *elements;
    struct grammar_rule *rules;
    uint32_t n, cap, nrules, rulecap, root;
};

#endif
