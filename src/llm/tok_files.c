/* Tokenizer files of other kinds as a tokenizer.json: tiktoken's lists of ranks, and Mistral's tekken.json. Both are byte-level
 * BPE in which the rank of a merge is that of its result, and pieces that are tokens are not merged. */
#include "llm/tok_files.h"

#include "llm/gguf.h"
#include "llm/tok_core.h"

#include <stdio.h>
#include <stdlib.h>

struct ranks {
    struct llm_json *j;
    struct arena arena;
    struct str *tokens; /* the bytes of each rank */
    size_t n, first;    /* first: the id of rank 0 */
    const char *const *expressions;
    size_t nexpressions;
    json_t *vocab, *added, *merges;
    bool failed;
};

static void push(struct ranks *r, json_t *array, json_t *value) {
    r->failed |= json_array_append_new(array, value) != 0;
}

/* ---- spelling ---------------------------------------------------------------------------------- */

/* Bytes in the byte-level alphabet, in the arena: at most two for each. */
static struct str spell(struct ranks *r, const uint16_t *chars, struct str s) {
    char *p = arena_alloc(&r->arena, 2 * s.n + 1, 1);
    size_t n = 0;
    for (size_t i = 0; i < s.n; i++) {
        uint16_t c = chars[(unsigned char)s.p[i]];
        if (c >= 0x80)
            p[n++] = (char)(0xC0 | c >> 6);
        p[n++] = (char)(c < 0x80 ? c : 0x80 | (c & 0x3F));
    }
    p[n] = '\0';
    return (struct str){p, n};
}

static void add_special(struct ranks *r, int64_t id, const char *text) {
    push(r, r->added, json_pack("{s:I,s:s,s:b,s:b,s:b,s:b,s:b}", "id", (json_int_t)id, "content", text, "special", 1,
                                "normalized", 0, "lstrip", 0, "rstrip", 0, "single_word", 0));
}

/* ---- merges ------------------------------------------------------------------------------------ */

/* Every way to divide a token into two is a merge, in the order of the results. */
static void add_merges(struct ranks *r, const struct str *spelled) {
    for (size_t i = 0; i < r->n && !r->failed; i++)
        for (size_t k = 1; k < spelled[i].n; k++) {
            struct str left = {spelled[i].p, k}, right = {spelled[i].p + k, spelled[i].n - k};
            if (((unsigned char)right.p[0] & 0xC0) == 0x80 || !json_object_getn(r->vocab, left.p, left.n) ||
                !json_object_getn(r->vocab, right.p, right.n))
                continue;
            json_t *pair = json_array();
            push(r, pair, json_stringn(left.p, left.n));
            push(r, pair, json_stringn(right.p, right.n));
            push(r, r->merges, pair);
        }
}

static json_t *document(struct ranks *r) {
    json_t *splits = json_array();
    for (size_t i = 0; i < r->nexpressions; i++)
        push(r, splits, json_pack("{s:s,s:{s:s},s:s,s:b}", "type", "Split", "pattern", "Regex", r->expressions[i], "behavior",
                                  "Isolated", "invert", 0));
    push(r, splits, json_pack("{s:s,s:b,s:b,s:b}", "type", "ByteLevel", "add_prefix_space", 0, "trim_offsets", 0, "use_regex",
                              0));
    json_t *root = json_pack("{s:o,s:n,s:{s:s,s:o},s:{s:s},s:{s:s,s:b,s:b,s:O,s:O}}", "added_tokens", json_incref(r->added),
                             "normalizer", "pre_tokenizer", "type", "Sequence", "pretokenizers", splits, "decoder", "type",
                             "ByteLevel", "model", "type", "BPE", "ignore_merges", 1, "rank_by_result", 1, "vocab", r->vocab,
                             "merges", r->merges);
    r->failed |= root == NULL;
    return root;
}

static json_t *build(struct ranks *r) {
    uint16_t chars[256];
    struct str *spelled = ARENA_ARRAY(&r->arena, struct str, r->n);
    tok_byte_alphabet(chars);
    for (size_t i = 0; i < r->n; i++) {
        spelled[i] = spell(r, chars, r->tokens[i]);
        r->failed |= spelled[i].n && json_object_setn_new(r->vocab, spelled[i].p, spelled[i].n,
                                                          json_integer((json_int_t)(r->first + i))) != 0;
    }
    add_merges(r, spelled);
    return document(r);
}

/* ---- tiktoken ---------------------------------------------------------------------------------- */

/* The files have neither expression nor special tokens: the known vocabularies, by the number of ranks. */
static const struct { size_t n; const char *pre; struct { int64_t id; const char *text; } special[12]; } known[] = {
    {50256, "gpt-2", {{50256, "<|endoftext|>"}}},
    {100256, "llama-bpe", {{100257, "<|endoftext|>"}, {100258, "<|fim_prefix|>"}, {100259, "<|fim_middle|>"},
                           {100260, "<|fim_suffix|>"}, {100276, "<|endofprompt|>"}}},
    {128000, "llama-bpe", {{128000, "<|begin_of_text|>"}, {128001, "<|end_of_text|>"}, {128006, "<|start_header_id|>"},
                           {128007, "<|end_header_id|>"}, {128008, "<|eom_id|>"}, {128009, "<|eot_id|>"},
                           {128010, "<|python_tag|>"}}},
    {151643, "qwen2", {{151643, "<|endoftext|>"}, {151644, "<|im_start|>"}, {151645, "<|im_end|>"}}},
    {248044, "qwen35", {{248044, "<|endoftext|>"}, {248045, "<|im_start|>"}, {248046, "<|im_end|>"}}},
    {199998, "gpt-4o", {{199999, "<|endoftext|>"}, {200018, "<|endofprompt|>"}}},
};

/* Lines of a token's bytes in base 64 and its rank; ranks ascend from 0. */
static hilo_status read_tiktoken(struct ranks *r, struct str text) {
    size_t lines = 1;
    for (size_t i = 0; i < text.n; i++)
        lines += text.p[i] == '\n';
    r->tokens = ARENA_ARRAY(&r->arena, struct str, lines);
    for (size_t at = 0; at < text.n;) {
        const char *end = memchr(text.p + at, '\n', text.n - at);
        size_t n = end ? (size_t)(end - text.p) - at : text.n - at;
        const char *space = n ? memchr(text.p + at, ' ', n) : NULL;
        char digits[16] = {0}, *last = digits;
        if (space && n - (size_t)(space - text.p - (ptrdiff_t)at) - 1 < sizeof digits)
            memcpy(digits, space + 1, n - (size_t)(space - text.p - (ptrdiff_t)at) - 1);
        unsigned long rank = strtoul(digits, &last, 10);
        if (n && (!space || last == digits || rank != r->n))
            return llm_json_fail(r->j, "line %zu is no token in base 64 and its rank, %zu", r->n + 1, r->n);
        if (n)
            r->tokens[r->n++] = tok_base64(&r->arena, (struct str){text.p + at, (size_t)(space - text.p) - at});
        at += n + 1;
    }
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (known[i].n == r->n) {
            for (size_t k = 0; k < 12 && known[i].special[k].text; k++)
                add_special(r, known[i].special[k].id, known[i].special[k].text);
            r->expressions = gguf_pre_expressions(known[i].pre, &r->nexpressions);
            return HILO_OK;
        }
    return llm_json_fail(r->j, "a tiktoken file of %zu ranks: this version knows the expressions of those with 50256, 100256, "
                               "128000, 151643, 199998 and 248044", r->n);
}

/* ---- tekken ------------------------------------------------------------------------------------- */

static hilo_status read_tekken(struct ranks *r) {
    struct llm_object o = {r->j, llm_json_object(llm_json_root(r->j), "config"), "config."};
    const json_t *vocab = llm_json_array(llm_json_root(r->j), "vocab");
    const json_t *special = llm_json_array(llm_json_root(r->j), "special_tokens");
    static const char *const first[] = {"<unk>", "<s>", "</s>", "[INST]", "[/INST]", "[AVAILABLE_TOOLS]", "[/AVAILABLE_TOOLS]",
                                        "[TOOL_RESULTS]", "[/TOOL_RESULTS]", "[TOOL_CALLS]", "[IMG]", "<pad>", "[IMG_BREAK]",
                                        "[IMG_END]", "[PREFIX]", "[MIDDLE]", "[SUFFIX]"};
    const char *text = llm_json_text(o, "pattern", NULL);
    int64_t nspecial = llm_json_int(o, "default_num_special_tokens", 0, 1 << 20, LLM_REQUIRED);
    int64_t size = llm_json_int(o, "default_vocab_size", 1, 1 << 24, LLM_REQUIRED);
    HILO_TRY(r->j->status);
    if (!text || size < nspecial)
        return llm_json_fail(r->j, "'config.pattern' is missing, or 'default_vocab_size' is less than the special tokens");
    const char **kept = ARENA_ARRAY(&r->arena, const char *, 1);
    *kept = arena_dup(&r->arena, text, strlen(text) + 1, 1);
    r->expressions = kept;
    r->nexpressions = 1;
    r->first = (size_t)nspecial;
    size_t most = (size_t)(size - nspecial);
    r->n = json_array_size(vocab) < most ? json_array_size(vocab) : most;
    r->tokens = ARENA_ARRAY(&r->arena, struct str, r->n);
    for (size_t i = 0; i < r->n; i++) {
        const json_t *one = json_array_get(vocab, i), *bytes = json_object_get(one, "token_bytes");
        if (!json_is_string(bytes) || json_integer_value(json_object_get(one, "rank")) != (json_int_t)i)
            return llm_json_fail(r->j, "'vocab' number %zu has no 'token_bytes', or another 'rank'", i);
        r->tokens[i] = tok_base64(&r->arena, (struct str){json_string_value(bytes), json_string_length(bytes)});
    }
    for (int64_t i = 0; i < nspecial; i++) {
        const char *name = json_string_value(json_object_get(json_array_get(special, (size_t)i), "token_str"));
        char numbered[32];
        snprintf(numbered, sizeof numbered, "<SPECIAL_%lld>", (long long)i);
        bool listed = json_array_size(special) == 0 && (size_t)i < sizeof first / sizeof *first;
        add_special(r, i, name && *name ? name : listed ? first[i] : numbered);
    }
    return HILO_OK;
}

/* ---- entry -------------------------------------------------------------------------------------- */

static hilo_status convert(struct llm_json *j, hilo_allocator al, const struct str *tiktoken, json_t **out) {
    jmp_buf recover;
    struct ranks r = {.j = j, .vocab = json_object(), .added = json_array(), .merges = json_array()};
    volatile hilo_status status = HILO_RESOURCE_EXHAUSTED;
    json_t *volatile root = NULL;
    arena_init(&r.arena, al, &recover);
    if (!setjmp(recover)) {
        status = tiktoken ? read_tiktoken(&r, *tiktoken) : read_tekken(&r);
        if (status == HILO_OK)
            root = build(&r);
    }
    if (status == HILO_OK && (r.failed || !root))
        status = HILO_RESOURCE_EXHAUSTED;
    arena_free(&r.arena);
    json_decref(r.vocab);
    json_decref(r.added);
    json_decref(r.merges);
    if (status == HILO_OK)
        *out = root;
    else
        json_decref(root);
    return status;
}

hilo_status tok_from_tiktoken(struct llm_json *j, struct str text, hilo_allocator al) {
    return j->status = convert(j, al, &text, &j->root);
}

hilo_status tok_from_tekken(struct llm_json *j, hilo_allocator al) {
    json_t *before = j->root, *after = NULL;
    if (j->status == HILO_OK)
        j->status = convert(j, al, NULL, &after);
    json_decref(before);
    j->root = after;
    return j->status;
}
