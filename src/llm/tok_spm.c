/* SentencePiece's .model files, as Llama 2, Gemma, Mistral and T5 have them: see tok_files.h.
 *
 * A file is a protocol buffer (sentencepiece_model.proto of github.com/google/sentencepiece). GGUF files contain the same
 * pieces, scores and types under other names, so the file is read as the entries that such a file would have. */
#include "llm/gguf.h"
#include "llm/tok_files.h"

#include <string.h>

enum { MOST_ENTRIES = 16, UNIGRAM = 1, PAIRS = 2, NORMAL = 1 };

/* A field of a message: wire type 0 has a number, 2 bytes, 5 four bytes. */
struct field {
    uint32_t number, wire;
    uint64_t value;
    struct str data;
};

static bool read_varint(struct str *in, uint64_t *out) {
    *out = 0;
    for (uint32_t shift = 0; shift < 64 && in->n; shift += 7) {
        unsigned char c = (unsigned char)*in->p;
        in->p++, in->n--;
        *out |= (uint64_t)(c & 0x7F) << shift;
        if (!(c & 0x80))
            return true;
    }
    return false;
}

/* Takes the next field of a message; false at its end and where it is damaged, which leaves something. */
static bool next_field(struct str *in, struct field *out) {
    struct str rest = *in;
    uint64_t tag, n;
    if (!rest.n || !read_varint(&rest, &tag) || tag >> 3 > UINT32_MAX)
        return false;
    *out = (struct field){.number = (uint32_t)(tag >> 3), .wire = (uint32_t)(tag & 7)};
    if (out->wire == 0) {
        if (!read_varint(&rest, &out->value))
            return false;
    } else {
        n = out->wire == 1 ? 8 : out->wire == 5 ? 4 : 0;
        if ((out->wire == 2 && !read_varint(&rest, &n)) || (out->wire != 1 && out->wire != 2 && out->wire != 5) || n > rest.n)
            return false;
        out->data = (struct str){rest.p, (size_t)n};
        rest.p += n, rest.n -= (size_t)n;
    }
    *in = rest;
    return true;
}

struct spm {
    struct gguf g;
    struct gguf_entry entries[MOST_ENTRIES];
    int64_t numbers[MOST_ENTRIES];
    char *tokens;    /* as a GGUF file has them: lengths and bytes */
    float *scores;
    int32_t *types;
    size_t n, bytes; /* of tokens */
    bool whole;      /* nothing was damaged */
};

static void add_array(struct spm *s, const char *key, enum gguf_type element, uint64_t n, const void *data, size_t bytes) {
    s->entries[s->g.nentries++] = (struct gguf_entry){str_of(key), GGUF_ARRAY, element, n, {data, bytes}};
}

static void add_number(struct spm *s, const char *key, int64_t value) {
    int64_t *v = &s->numbers[s->g.nentries];
    *v = value;
    s->entries[s->g.nentries++] = (struct gguf_entry){str_of(key), GGUF_I64, 0, 0, {(const char *)v, sizeof *v}};
}

static void read_piece(struct spm *s, struct str in) {
    struct field f;
    struct str piece = {"", 0};
    s->types[s->n] = NORMAL;
    s->scores[s->n] = 0;
    while (next_field(&in, &f)) {
        if (f.number == 1 && f.wire == 2)
            piece = f.data;
        else if (f.number == 2 && f.wire == 5)
            memcpy(&s->scores[s->n], f.data.p, sizeof *s->scores);
        else if (f.number == 3 && f.wire == 0)
            s->types[s->n] = f.value <= INT32_MAX ? (int32_t)f.value : 0;
    }
    s->whole &= in.n == 0;
    uint64_t length = piece.n;
    memcpy(s->tokens + s->bytes, &length, sizeof length);
    if (piece.n)
        memcpy(s->tokens + s->bytes + sizeof length, piece.p, piece.n);
    s->bytes += sizeof length + piece.n;
    s->n++;
}

/* The trainer's: the kind, and ids of special tokens, which have defaults. */
static void read_trainer(struct spm *s, struct str in) {
    static const struct { uint32_t number; const char *key; int64_t absent; } ids[] = {
        {40, "tokenizer.ggml.unknown_token_id", 0}, {41, "tokenizer.ggml.bos_token_id", 1},
        {42, "tokenizer.ggml.eos_token_id", 2},     {43, "tokenizer.ggml.padding_token_id", -1},
    };
    enum { IDS = sizeof ids / sizeof *ids };
    struct field f;
    int64_t kind = UNIGRAM, id[IDS];
    for (size_t i = 0; i < IDS; i++)
        id[i] = ids[i].absent;
    while (next_field(&in, &f)) {
        kind = f.number == 3 && f.wire == 0 ? (int64_t)(f.value & INT32_MAX) : kind;
        for (size_t i = 0; i < IDS; i++)
            if (f.number == ids[i].number && f.wire == 0) /* negative numbers have all bits */
                id[i] = f.value <= INT32_MAX ? (int64_t)f.value : -1;
    }
    s->whole &= in.n == 0;
    struct str name = kind == UNIGRAM ? STR("t5") : kind == PAIRS ? STR("llama") : STR("");
    s->entries[s->g.nentries++] = (struct gguf_entry){STR("tokenizer.ggml.model"), GGUF_STRING, 0, 0, name};
    for (size_t i = 0; i < IDS; i++)
        add_number(s, ids[i].key, id[i]);
}

static void read_normalizer(struct spm *s, struct str in) {
    struct field f;
    struct str map = {"", 0};
    uint64_t prefix = 1, extra = 1;
    while (next_field(&in, &f)) {
        map = f.number == 2 && f.wire == 2 ? f.data : map;
        prefix = f.number == 3 && f.wire == 0 ? f.value : prefix;
        extra = f.number == 4 && f.wire == 0 ? f.value : extra;
    }
    s->whole &= in.n == 0;
    if (map.n)
        add_array(s, "tokenizer.ggml.precompiled_charsmap", GGUF_U8, map.n, map.p, map.n);
    add_number(s, "tokenizer.ggml.add_space_prefix", prefix != 0);
    add_number(s, "tokenizer.ggml.remove_extra_whitespaces", extra != 0);
}

static hilo_status read_model(struct spm *s, struct str text) {
    struct field f;
    bool trainer = false, normalizer = false;
    s->whole = true;
    struct str in = text;
    while (next_field(&in, &f)) {
        if (f.number == 1 && f.wire == 2)
            read_piece(s, f.data);
        else if (f.number == 2 && f.wire == 2 && !trainer)
            trainer = true, read_trainer(s, f.data);
        else if (f.number == 3 && f.wire == 2 && !normalizer)
            normalizer = true, read_normalizer(s, f.data);
    }
    if (in.n || !s->whole || !trainer || !normalizer || s->n == 0)
        return gguf_fail(&s->g, "not a tokenizer of SentencePiece, or a damaged one");
    if (gguf_text(&s->g, "tokenizer.ggml.model").n == 0)
        return gguf_fail(&s->g, "the model is of words or characters; BPE and Unigram are known to this version");
    add_array(s, "tokenizer.ggml.tokens", GGUF_STRING, s->n, s->tokens, s->bytes);
    add_array(s, "tokenizer.ggml.scores", GGUF_F32, s->n, s->scores, s->n * sizeof *s->scores);
    add_array(s, "tokenizer.ggml.token_type", GGUF_I32, s->n, s->types, s->n * sizeof *s->types);
    return HILO_OK;
}

bool tok_is_spm(struct str text) {
    return text.n && text.p[0] == (1 << 3 | 2); /* the tag of the first piece, which begins no line of base 64 */
}

hilo_status tok_from_spm(struct llm_json *j, struct str text, hilo_allocator al) {
    struct spm *s = mem_alloc(&al, sizeof *s);
    struct field f;
    size_t n = 0, bytes = 0;
    if (!s)
        return j->status = diag_error(j->d, HILO_RESOURCE_EXHAUSTED, "out of memory");
    for (struct str in = text; next_field(&in, &f);)
        if (f.number == 1 && f.wire == 2)
            n++, bytes += f.data.n + sizeof(uint64_t);
    *s = (struct spm){.g = {.file = j->file, .d = j->d}};
    s->g.entries = s->entries;
    size_t each = sizeof *s->scores + sizeof *s->types, all = n * each + bytes; /* less than ten times the file */
    s->scores = n ? mem_alloc(&al, all) : NULL;
    if (s->scores) {
        s->types = (int32_t *)(void *)(s->scores + n);
        s->tokens = (char *)(s->types + n);
        j->status = read_model(s, text);
        j->root = j->status == HILO_OK ? gguf_tokenizer(&s->g) : NULL;
        if (j->status == HILO_OK && !j->root)
            j->status = HILO_INVALID_ARGUMENT;
    } else {
        j->status = n ? diag_error(j->d, HILO_RESOURCE_EXHAUSTED, "out of memory")
                      : gguf_fail(&s->g, "not a tokenizer of SentencePiece");
    }
    mem_free(&al, s->scores, s->scores ? all : 0);
    mem_free(&al, s, sizeof *s);
    return j->status;
}
