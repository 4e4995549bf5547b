/* Tokenizers: the golden cases of the tiny model, text back from ids, both kinds of models, and what is refused. */
#include "llm/chat.h"
#include "llm/json.h"
#include "llm/tokenizer.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#define MODEL "tests/llm/tiny-llama"

struct fixture {
    struct llm_tok *t;
    struct llm_json golden;
    struct diag_list d;
};

static int setup(void **state) {
    static struct fixture f;
    hilo_allocator al = mem_system_allocator();
    diag_init(&f.d, al);
    assert_int_equal(llm_tok_open(MODEL "/tokenizer.json", al, &f.d, &f.t), HILO_OK);
    assert_int_equal(llm_json_open(&f.golden, MODEL "/golden.json", al, &f.d), HILO_OK);
    *state = &f;
    return 0;
}

static int teardown(void **state) {
    struct fixture *f = *state;
    llm_tok_free(f->t);
    llm_json_close(&f->golden);
    diag_clear(&f->d);
    return 0;
}

static struct llm_ids encode(const struct llm_tok *t, struct str text, unsigned flags) {
    struct llm_ids ids;
    struct diag_list d;
    diag_init(&d, mem_system_allocator());
    llm_ids_init(&ids, mem_system_allocator());
    assert_int_equal(llm_tok_encode(t, text, NULL, flags, &d, &ids), HILO_OK);
    return ids;
}

static void check_ids(const struct llm_ids *ids, const json_t *want) {
    assert_int_equal(ids->n, json_array_size(want));
    for (size_t i = 0; i < ids->n; i++)
        assert_int_equal(ids->v[i], json_integer_value(json_array_get(want, i)));
}

static void check_back(const struct llm_tok *t, struct str text) {
    struct llm_ids ids = encode(t, text, 0);
    struct strbuf back;
    strbuf_init(&back, mem_system_allocator());
    llm_tok_decode(t, ids.v, ids.n, true, &back);
    assert_int_equal(back.n, text.n);
    if (text.n)
        assert_memory_equal(back.p, text.p, text.n);
    strbuf_free(&back);
    llm_ids_free(&ids);
}

static struct str text_of(const json_t *v) {
    return (struct str){json_string_value(v), json_string_length(v)};
}

static void test_golden(void **state) {
    const struct fixture *f = *state;
    const json_t *cases = json_object_get(f->golden.root, "tokenizer");
    assert_int_equal(json_array_size(cases), 18);
    for (size_t i = 0; i < json_array_size(cases); i++) {
        const json_t *one = json_array_get(cases, i);
        struct llm_ids ids = encode(f->t, text_of(json_object_get(one, "text")), 0);
        check_ids(&ids, json_object_get(one, "ids"));
        llm_ids_free(&ids);
        check_back(f->t, text_of(json_object_get(one, "text")));
    }
}

static void test_prompts(void **state) {
    struct fixture *f = *state;
    struct llm_chat chat;
    assert_int_equal(llm_chat_open(MODEL, mem_system_allocator(), &f->d, &chat), HILO_OK);
    assert_true(chat.template.n > 0);
    const json_t *cases = json_object_get(f->golden.root, "cases");
    assert_int_equal(json_array_size(cases), 11);
    for (size_t i = 0; i < json_array_size(cases); i++) {
        const json_t *one = json_array_get(cases, i);
        struct str prompt = text_of(json_object_get(one, "prompt"));
        bool raw = str_is(text_of(json_object_get(one, "kind")), "raw");
        struct jinja_text text = {.al = mem_system_allocator()};
        if (!raw) {
            struct llm_message m = {STR("user"), prompt};
            json_t *input = llm_chat_input(&m, 1);
            assert_int_equal(llm_chat_render(&chat, input, &f->d, &text), HILO_OK);
            json_decref(input);
            prompt = (struct str){text.p, text.n};
        }
        struct llm_ids ids = encode(f->t, prompt, raw ? LLM_TOK_POST : 0);
        check_ids(&ids, json_object_get(one, "prompt_ids"));
        llm_ids_free(&ids);
        jinja_text_free(&text);
    }
    llm_chat_close(&chat);
}

static uint64_t next_random(uint64_t *x) {
    *x ^= *x << 13, *x ^= *x >> 7, *x ^= *x << 17;
    return *x;
}

/* A character of any plane but the surrogates, mostly of the scripts that the splits tell apart. */
static size_t random_character(uint64_t *x, char *out) {
    static const uint32_t most[] = {0x7F, 0x7F, 0x24F, 0x7FF, 0x3100, 0xFFFF, 0x1FAFF, 0x10FFFF};
    uint32_t c = (uint32_t)(next_random(x) % (most[next_random(x) % 8] + 1));
    if (c >= 0xD800 && c < 0xE000)
        c -= 0x800;
    if (c < 0x80)
        return *out = (char)c, 1;
    size_t n = c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    for (size_t i = n; --i > 0; c >>= 6)
        out[i] = (char)(0x80 | (c & 0x3F));
    out[0] = (char)(0xF00u >> n | c);
    return n;
}

static void test_random(void **state) {
    const struct fixture *f = *state;
    uint64_t x = 88172645463325252u;
    for (int i = 0; i < 10000; i++) {
        char text[256];
        size_t n = 0;
        for (uint64_t k = next_random(&x) % 48; k; k--)
            n += random_character(&x, text + n);
        check_back(f->t, (struct str){text, n});
    }
    for (int i = 0; i < 1000; i++) { /* bytes that are no characters are kept too */
        char text[32];
        for (size_t k = 0; k < sizeof text; k++)
            text[k] = (char)next_random(&x);
        check_back(f->t, (struct str){text, sizeof text});
    }
}

static void test_long(void **state) {
    const struct fixture *f = *state;
    size_t n = 1 << 20;
    char *text = malloc(n);
    for (size_t i = 0; i < n; i++) /* one piece: the time must not grow with its square */
        text[i] = (char)('a' + i * i % 7);
    check_back(f->t, (struct str){text, n});
    free(text);
}

static void test_stream(void **state) {
    const struct fixture *f = *state;
    struct llm_ids ids = encode(f->t, STR("\xF0\x9F\x98\x80!<|eot_id|>"), 0);
    struct llm_text x;
    struct strbuf out;
    assert_true(ids.n >= 3);
    strbuf_init(&out, mem_system_allocator());
    llm_text_init(&x, f->t, false);
    for (size_t i = 0; i < ids.n; i++) {
        llm_text_put(&x, ids.v[i], &out);
        assert_true(out.n == 0 || out.n >= 4); /* never a part of the character */
    }
    llm_text_flush(&x, &out);
    assert_string_equal(out.p, "\xF0\x9F\x98\x80!");
    llm_text_put(&x, ids.v[0], &out); /* what never becomes a character */
    llm_text_flush(&x, &out);
    assert_true(out.n > 5);
    strbuf_free(&out);
    llm_ids_free(&ids);
}

static void test_special(void **state) {
    const struct fixture *f = *state;
    assert_int_equal(llm_tok_size(f->t), 2054);
    assert_int_equal(llm_tok_id(f->t, STR("<|eot_id|>")), 2052);
    assert_int_equal(llm_tok_id(f->t, STR("no such token")), -1);
    assert_true(llm_tok_is_special(f->t, 2052));
    assert_false(llm_tok_is_special(f->t, 0));
    assert_false(llm_tok_is_special(f->t, -1));
    assert_int_equal(llm_tok_bytes(f->t, 1 << 30).n, 0);
    struct llm_ids ids = encode(f->t, STR("<|eot_id|>"), LLM_TOK_NO_SPECIAL);
    for (size_t i = 0; i < ids.n; i++)
        assert_int_not_equal(ids.v[i], 2052);
    llm_ids_free(&ids);
}

/* SentencePiece's kind: spaces are U+2581, characters that are no tokens become bytes. */
static const char llama2[] =
    "{\"added_tokens\":[{\"id\":1,\"content\":\"<s>\",\"special\":true},{\"id\":0,\"content\":\"<unk>\",\"special\":true}],"
    "\"normalizer\":{\"type\":\"Sequence\",\"normalizers\":[{\"type\":\"Prepend\",\"prepend\":\"\\u2581\"},"
    "{\"type\":\"Replace\",\"pattern\":{\"String\":\" \"},\"content\":\"\\u2581\"}]},\"pre_tokenizer\":null,"
    "\"post_processor\":{\"type\":\"TemplateProcessing\",\"single\":[{\"SpecialToken\":{\"id\":\"<s>\",\"type_id\":0}},"
    "{\"Sequence\":{\"id\":\"A\",\"type_id\":0}}],\"special_tokens\":{\"<s>\":{\"id\":\"<s>\",\"ids\":[1],"
    "\"tokens\":[\"<s>\"]}}},\"decoder\":{\"type\":\"Sequence\",\"decoders\":[{\"type\":\"Replace\",\"pattern\":"
    "{\"String\":\"\\u2581\"},\"content\":\" \"},{\"type\":\"ByteFallback\"},{\"type\":\"Fuse\"},"
    "{\"type\":\"Strip\",\"content\":\" \",\"start\":1,\"stop\":0}]},\"model\":{\"type\":\"BPE\",\"unk_token\":\"<unk>\","
    "\"fuse_unk\":true,\"byte_fallback\":true,\"vocab\":{\"<unk>\":0,\"<s>\":1,\"<0xC3>\":2,\"<0xA4>\":3,\"\\u2581\":4,"
    "\"a\":5,\"b\":6,\"ab\":7,\"\\u2581ab\":8,\"ba\":9},\"merges\":[\"a b\",[\"\\u2581\",\"ab\"],\"b a\"]}}";

static void test_sentencepiece(void **state) {
    (void)state;
    struct llm_tok *t;
    struct diag_list d;
    diag_init(&d, mem_system_allocator());
    assert_int_equal(llm_tok_parse(STR(llama2), "t", mem_system_allocator(), &d, &t), HILO_OK);
    static const struct { const char *text; int32_t ids[8]; size_t n; } cases[] = {
        {"ab ab", {1, 8, 8}, 3}, {"aba", {1, 8, 5}, 3}, {"\xC3\xA4" "b", {1, 4, 2, 3, 6}, 5}, {"", {1}, 1},
        {"a\xE2\x82\xAC\xE2\x82\xAC", {1, 4, 5, 0}, 4}, {"<s>b", {1, 1, 4, 6}, 4},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct llm_ids ids = encode(t, str_of(cases[i].text), LLM_TOK_POST);
        assert_int_equal(ids.n, cases[i].n);
        assert_memory_equal(ids.v, cases[i].ids, ids.n * sizeof *ids.v);
        llm_ids_free(&ids);
    }
    struct strbuf out;
    strbuf_init(&out, mem_system_allocator());
    llm_tok_decode(t, (int32_t[]){1, 8, 8, 2, 3}, 5, false, &out);
    assert_string_equal(out.p, "ab ab\xC3\xA4");
    strbuf_free(&out);
    llm_tok_free(t);
    diag_clear(&d);
}

static void test_refusals(void **state) {
    (void)state;
    static const struct { const char *json, *why; } cases[] = {
        {"", "not JSON"}, {"[]", "object"}, {"{}", "'model' is missing"},
        {"{\"model\":{\"type\":\"Unigram\"}}", "'model.vocab' is missing"},
        {"{\"model\":{\"type\":\"WordTree\"}}", "WordTree"},
        {"{\"model\":{\"vocab\":[[\"a\",0],[\"b\"]]}}", "number 1 is no token and its score"},
        {"{\"model\":{\"vocab\":[[\"a\",0]],\"unk_id\":1}}", "unk_id"},
        {"{\"model\":{\"vocab\":{}},\"normalizer\":{\"type\":\"Precompiled\",\"precompiled_charsmap\":\"/////w==\"}}",
         "not SentencePiece's"},
        {"{\"model\":{\"type\":\"BPE\"}}", "'model.vocab' is missing"},
        {"{\"model\":{\"vocab\":{\"a\":-1}}}", "no id for 'a'"},
        {"{\"model\":{\"vocab\":{\"a\":999999999}}}", "no id for 'a'"},
        {"{\"model\":{\"vocab\":{\"a\":1,\"b\":1}}}", "two tokens"},
        {"{\"model\":{\"vocab\":{\"a\":1},\"merges\":[\"a a\"]}}", "number 0"},
        {"{\"model\":{\"vocab\":{\"a\":1},\"merges\":[7]}}", "no pair"},
        {"{\"model\":{\"vocab\":{}},\"pre_tokenizer\":{\"type\":\"Split\",\"pattern\":{\"Regex\":\"(\"}}}", "expression"},
        {"{\"model\":{\"vocab\":{}},\"pre_tokenizer\":{\"type\":\"UnicodeScripts\"}}", "UnicodeScripts"},
        {"{\"model\":{\"vocab\":{}},\"normalizer\":{\"type\":\"Transliterate\"}}", "Transliterate"},
        {"{\"model\":{\"vocab\":{}},\"post_processor\":{\"type\":\"BertProcessing\"}}", "post_processor.cls"},
        {"{\"model\":{\"vocab\":{}},\"added_tokens\":[{\"id\":1}]}", "'added_tokens' number 0"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct llm_tok *t;
        struct diag_list d;
        diag_init(&d, mem_system_allocator());
        assert_int_equal(llm_tok_parse(str_of(cases[i].json), "t.json", mem_system_allocator(), &d, &t),
                         HILO_INVALID_ARGUMENT);
        assert_non_null(d.first);
        if (!strstr(d.first->message, cases[i].why))
            fail_msg("'%s' expected in: %s", cases[i].why, d.first->message);
        diag_clear(&d);
    }
}

/* Integers beyond 64 bits, which most models have in `model_max_length`, are read as real numbers; texts stay what they are. */
static void test_long_integers(void **state) {
    (void)state;
    struct llm_json j;
    struct diag_list d;
    diag_init(&d, mem_system_allocator());
    assert_int_equal(llm_json_parse(&j, STR("{\"model_max_length\": 1000000000000000019884624838656,"
                                            " \"few\": [-99999999999999999999],"
                                            " \"text\": \"12345678901234567890 \\\" 12345678901234567890\", \"n\": 2048,"
                                            " \"most\": 9223372036854775807,"
                                            " \"x\": 12345678901234567890.5}"), "t", &d), HILO_OK);
    assert_true(json_real_value(json_object_get(j.root, "model_max_length")) == 1e30);
    assert_true(json_real_value(json_array_get(json_object_get(j.root, "few"), 0)) == -1e20);
    assert_string_equal(json_string_value(json_object_get(j.root, "text")), "12345678901234567890 \" 12345678901234567890");
    assert_int_equal(json_integer_value(json_object_get(j.root, "n")), 2048);
    assert_true(json_integer_value(json_object_get(j.root, "most")) == INT64_MAX);
    assert_true(json_real_value(json_object_get(j.root, "x")) == 12345678901234567890.5);
    llm_json_close(&j);
    assert_int_equal(llm_json_parse(&j, STR("{\"x\": 12345678901234567890 7}"), "t", &d), HILO_INVALID_ARGUMENT);
    llm_json_close(&j);
    diag_clear(&d);
}

static void refuse_text(const char *json, struct str text, const char *why) {
    struct llm_tok *t;
    struct llm_ids ids;
    struct diag_list d;
    diag_init(&d, mem_system_allocator());
    llm_ids_init(&ids, d.al);
    assert_int_equal(llm_tok_parse(str_of(json), "t.json", d.al, &d, &t), HILO_OK);
    assert_int_equal(llm_tok_encode(t, text, NULL, 0, &d, &ids), HILO_INVALID_ARGUMENT);
    if (!strstr(d.first->message, why))
        fail_msg("'%s' expected in: %s", why, d.first->message);
    llm_ids_free(&ids);
    llm_tok_free(t);
    diag_clear(&d);
}

/* Steps that multiply a text, and expressions that try every way to divide it, end with an error. */
static void test_hostile(void **state) {
    (void)state;
    static char many[4096];
    struct strbuf json;
    strbuf_init(&json, mem_system_allocator());
    memset(many, 'a', sizeof many);
    strbuf_puts(&json, "{\"model\":{\"vocab\":{}},\"normalizer\":{\"type\":\"Sequence\",\"normalizers\":[");
    for (int i = 0; i < 8; i++)
        strbuf_printf(&json, "%s{\"type\":\"Replace\",\"pattern\":{\"String\":\"a\"},\"content\":\"%s\"}", i ? "," : "",
                      "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa");
    strbuf_puts(&json, "]}}");
    refuse_text(json.p, (struct str){many, 100}, "the tokenizer's normalizer makes more than 7296 bytes of a text of 100");
    strbuf_free(&json);
    refuse_text("{\"model\":{\"vocab\":{}},\"pre_tokenizer\":{\"type\":\"Split\",\"pattern\":{\"Regex\":\"(?:a|aa)+[bc]\"}}}",
                (struct str){many, 30}, "the tokenizer's expression fails on this text");
}

/* ---- kinds of tokenizers --------------------------------------------------------------------- */

/* The ids of the cases, and their texts. */
static void check_kind(const char *name, const json_t *tokenizer, const json_t *cases) {
    char *json = json_dumps(tokenizer, 0);
    struct diag_list d;
    struct llm_tok *t;
    json_t *one;
    size_t i;
    diag_init(&d, mem_system_allocator());
    if (llm_tok_parse(str_of(json), name, d.al, &d, &t) != HILO_OK)
        fail_msg("%s: %s", name, d.first->message);
    json_array_foreach(cases, i, one) {
        struct llm_ids ids = encode(t, text_of(json_array_get(one, 0)), LLM_TOK_POST);
        const json_t *want = json_array_get(one, 1), *text = json_array_get(one, 2);
        struct strbuf back;
        bool same = ids.n == json_array_size(want);
        for (size_t k = 0; k < ids.n && same; k++)
            same = ids.v[k] == json_integer_value(json_array_get(want, k));
        if (!same)
            fail_msg("%s: other ids for case %zu: %s", name, i, json_string_value(json_array_get(one, 0)));
        strbuf_init(&back, d.al);
        llm_tok_decode(t, ids.v, ids.n, false, &back);
        if (json_is_string(text) && !strchr(json_string_value(text), 0xEF) && /* bytes that are no characters */
            !str_eq((struct str){back.p, back.n}, text_of(text)))
            fail_msg("%s: case %zu decodes to '%s', not to '%s'", name, i, back.p, json_string_value(text));
        strbuf_free(&back);
        llm_ids_free(&ids);
    }
    llm_tok_free(t);
    free(json);
    diag_clear(&d);
}

/* tests/tools/gen_tokenizer_cases.py wrote what Hugging Face's library makes of random texts. Old files do not name the
   model. */
static void test_kinds(void **state) {
    (void)state;
    struct llm_json all;
    struct diag_list d;
    const char *name;
    json_t *kind;
    size_t kinds = 0;
    diag_init(&d, mem_system_allocator());
    assert_int_equal(llm_json_open(&all, "tests/llm/tokenizer_cases.json", d.al, &d), HILO_OK);
    json_object_foreach(all.root, name, kind) {
        json_t *tokenizer = json_object_get(kind, "tokenizer"), *model = json_object_get(tokenizer, "model");
        check_kind(name, tokenizer, json_object_get(kind, "cases"));
        bool words = strcmp(json_string_value(json_object_get(model, "type")), "WordLevel") == 0;
        json_object_del(model, "type");
        if (!words)
            check_kind(name, tokenizer, json_object_get(kind, "cases"));
        kinds++;
    }
    assert_int_equal(kinds, 19);
    llm_json_close(&all);
    diag_clear(&d);
}

static void base64(struct strbuf *out, struct str s) {
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (size_t i = 0; i < s.n; i += 3) {
        uint32_t v = 0;
        for (size_t k = 0; k < 3; k++)
            v = v << 8 | (i + k < s.n ? (unsigned char)s.p[i + k] : 0);
        for (size_t k = 0; k < 4; k++)
            strbuf_putc(out, i + k > s.n ? '=' : digits[v >> (18 - 6 * k) & 63]);
    }
}

static struct llm_ids encode_with(const char *path, struct str text) {
    struct llm_tok *t;
    struct diag_list d;
    diag_init(&d, mem_system_allocator());
    if (llm_tok_open(path, mem_system_allocator(), &d, &t) != HILO_OK)
        fail_msg("%s", d.first->message);
    struct llm_ids ids = encode(t, text, 0);
    check_back(t, text);
    llm_tok_free(t);
    return ids;
}

/* Mistral's tekken.json, and a file of ranks: 256 bytes, then "bc", "ab", "abc" and "cab"; the lowest rank is merged first. */
static void test_rank_files(void **state) {
    (void)state;
    static const char *const longer[] = {"bc", "ab", "abc", "cab"};
    char path[] = "/tmp/hilo-tok-XXXXXX", name[64];
    struct strbuf tekken, ranks;
    struct diag_list d;
    diag_init(&d, mem_system_allocator());
    strbuf_init(&tekken, d.al);
    strbuf_init(&ranks, d.al);
    strbuf_puts(&tekken, "{\"config\":{\"pattern\":\"[a-z]+|[^a-z]\",\"default_vocab_size\":263,"
                         "\"default_num_special_tokens\":3},\"vocab\":[");
    for (int i = 0; i < 260; i++) {
        char byte = (char)i;
        strbuf_printf(&tekken, "%s{\"rank\":%d,\"token_bytes\":\"", i ? "," : "", i);
        base64(&tekken, i < 256 ? (struct str){&byte, 1} : str_of(longer[i - 256]));
        strbuf_puts(&tekken, "\"}");
        base64(&ranks, i < 256 ? (struct str){&byte, 1} : str_of(longer[i - 256]));
        strbuf_printf(&ranks, " %d\n", i);
    }
    strbuf_puts(&tekken, "]}");
    assert_non_null(mkdtemp(path));
    snprintf(name, sizeof name, "%s/tekken.json", path);
    assert_int_equal(file_write(name, (struct str){tekken.p, tekken.n}, &d), HILO_OK);
    struct llm_ids ids = encode_with(name, STR("abcab"));
    assert_int_equal(ids.n, 2);
    assert_int_equal(ids.v[0], 258 + 3);
    assert_int_equal(ids.v[1], 257 + 3);
    llm_ids_free(&ids);
    ids = encode_with(path, STR("cab!<s>")); /* the directory; special tokens come first */
    assert_int_equal(ids.n, 3);
    assert_int_equal(ids.v[0], 259 + 3);
    assert_int_equal(ids.v[2], 1);
    llm_ids_free(&ids);
    unlink(name);
    snprintf(name, sizeof name, "%s/small.tiktoken", path);
    assert_int_equal(file_write(name, (struct str){ranks.p, ranks.n}, &d), HILO_OK);
    struct llm_tok *t;
    assert_int_equal(llm_tok_open(name, d.al, &d, &t), HILO_INVALID_ARGUMENT);
    assert_non_null(strstr(d.first->message, "a tiktoken file of 260 ranks"));
    unlink(name);
    rmdir(path);
    strbuf_free(&tekken);
    strbuf_free(&ranks);
    diag_clear(&d);
}

/* ---- SentencePiece's files ------------------------------------------------------------------- */

static void put_field(struct strbuf *out, int number, struct str data) {
    char head[] = {(char)(number << 3 | 2), (char)data.n};
    strbuf_putn(out, head, 2);
    strbuf_putn(out, data.p, data.n);
}

static void put_piece(struct strbuf *out, const char *text, float score, int type) {
    char rest[] = {2 << 3 | 5, 0, 0, 0, 0, 3 << 3, (char)type};
    struct strbuf piece;
    memcpy(rest + 1, &score, sizeof score);
    strbuf_init(&piece, out->al);
    put_field(&piece, 1, str_of(text));
    strbuf_putn(&piece, rest, sizeof rest);
    put_field(out, 1, (struct str){piece.p, piece.n});
    strbuf_free(&piece);
}

/* A model of BPE and one of Unigram with the same pieces; and each beginning of the file, which is refused. */
static void test_spm_files(void **state) {
    (void)state;
    static const struct { const char *text; float score; int type; } pieces[] = {
        {"<unk>", 0, 2}, {"<s>", 0, 3}, {"</s>", 0, 3}, {"\xE2\x96\x81", -5, 1}, {"a", -6, 1}, {"b", -7, 1}, {"ab", -1, 1},
        {"ba", -2, 1}, {"\xE2\x96\x81" "ab", -3, 1}, {"c", -8, 1}};
    /* Spaces alone are removed around a text, with U+2581 at its end. */
    static const struct { const char *text; int32_t ids[5]; size_t n; } cases[] = {
        {" abab  cd", {8, 6, 3, 9, 0}, 5}, {"ab  \t ", {8, 3, 0}, 3}, {"ab \xE2\x96\x81 ", {8}, 1},
        {"\xE2\x96\x81" "ab", {3, 8}, 2}};
    char path[] = "/tmp/hilo-spm-XXXXXX", name[64];
    struct diag_list d;
    diag_init(&d, mem_system_allocator());
    assert_non_null(mkdtemp(path));
    snprintf(name, sizeof name, "%s/tokenizer.model", path);
    for (int pairs = 0; pairs < 2; pairs++) {
        struct strbuf model;
        struct llm_tok *t;
        strbuf_init(&model, d.al);
        for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++)
            put_piece(&model, pieces[i].text, pieces[i].score, pieces[i].type);
        put_field(&model, 2, (struct str){(char[]){3 << 3, (char)(pairs ? 2 : 1)}, 2});
        put_field(&model, 3, (struct str){(char[]){4 << 3, 1}, 2});
        assert_int_equal(file_write(name, (struct str){model.p, model.n}, &d), HILO_OK);
        assert_int_equal(llm_tok_open(path, d.al, &d, &t), HILO_OK);
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
            struct llm_ids ids = encode(t, str_of(cases[i].text), 0);
            assert_int_equal(ids.n, cases[i].n);
            assert_memory_equal(ids.v, cases[i].ids, ids.n * sizeof *ids.v);
            llm_ids_free(&ids);
        }
        llm_tok_free(t);
        for (size_t n = 1; n < model.n; n++) {
            assert_int_equal(file_write(name, (struct str){model.p, n}, &d), HILO_OK);
            assert_int_equal(llm_tok_open(name, d.al, &d, &t), HILO_INVALID_ARGUMENT);
        }
        strbuf_free(&model);
    }
    diag_clear(&d);
    unlink(name);
    rmdir(path);
}

/* A mark after a letter that rules replace: Hugging Face's library replaces the grapheme, SentencePiece the longest key. */
static void test_longest_rule(void **state) {
    (void)state;
    struct diag_list d;
    struct llm_json j;
    size_t n[2] = {0};
    diag_init(&d, mem_system_allocator());
    assert_int_equal(llm_json_open(&j, "tests/llm/tokenizer_cases.json", d.al, &d), HILO_OK);
    json_t *doc = json_object_get(json_object_get(j.root, "t5"), "tokenizer");
    json_t *rules = json_array_get(json_object_get(json_object_get(doc, "normalizer"), "normalizers"), 0);
    assert_string_equal(json_string_value(json_object_get(rules, "type")), "Precompiled");
    for (int longest = 0; longest < 2; longest++) {
        struct llm_tok *t;
        json_object_set_new(rules, "longest", json_boolean(longest));
        char *text = json_dumps(doc, 0);
        assert_int_equal(llm_tok_parse(str_of(text), "t5", d.al, &d, &t), HILO_OK);
        struct llm_ids one = encode(t, STR("e\xCC\x81"), 0), two = encode(t, STR("e\xCC\x81\xCC\x82"), 0);
        assert_memory_equal(one.v, two.v, one.n * sizeof *one.v);
        n[longest] = two.n - one.n;
        llm_ids_free(&one);
        llm_ids_free(&two);
        llm_tok_free(t);
        free(text);
    }
    assert_int_equal(n[0], 0);
    assert_int_equal(n[1], 1);
    llm_json_close(&j);
    diag_clear(&d);
}

/* ---- properties of characters -------------------------------------------------------------------- */

/* The words of a text, cut by an expression; 0 for those that are not in the vocabulary, which is that of `words`. */
static void check_words(const char *pattern, const char *text, const char *const *words, const int32_t *want, size_t n) {
    struct llm_tok *t;
    struct diag_list d;
    diag_init(&d, mem_system_allocator());
    json_t *vocab = json_pack("{s:i}", "[UNK]", 0);
    for (int i = 0; words[i]; i++)
        json_object_set_new(vocab, words[i], json_integer(i + 1));
    json_t *doc = json_pack("{s:{s:s,s:s,s:o},s:{s:s,s:o,s:s}}", "model", "type", "WordLevel", "unk_token", "[UNK]", "vocab",
                            vocab, "pre_tokenizer", "type", "Split", "pattern",
                            json_pack("{s:s}", *pattern == '=' ? "String" : "Regex", pattern + (*pattern == '=')), "behavior",
                            "Isolated");
    char *json = json_dumps(doc, 0);
    assert_int_equal(llm_tok_parse(str_of(json), "t", d.al, &d, &t), HILO_OK);
    struct llm_ids ids = encode(t, str_of(text), 0);
    assert_int_equal(ids.n, n);
    assert_memory_equal(ids.v, want, n * sizeof *want);
    llm_ids_free(&ids);
    llm_tok_free(t);
    free(json);
    json_decref(doc);
    diag_clear(&d);
}

/* Characters of Unicode 15 and 16 belong to their classes whatever PCRE2 knows, and names of scripts are no extensions. */
static void test_properties(void **state) {
    (void)state;
    static const char *const words[] = {"a\xEA\x9F\x8B" "b", "1\xF0\x91\xAF\xB0", "\xE4\xB8\xAD", "\xF0\xB1\x8D\x90",
                                        "\xE3\x80\x81", "a", "b", NULL};
    check_words("\\p{L}+|\\p{N}+", words[0], words, (int32_t[]){1}, 1);                       /* U+A7CB, Lu */
    check_words("\\p{L}+|\\p{N}+", "1\xF0\x91\xAF\xB0" "a", words, (int32_t[]){2, 6}, 2);     /* U+11BF0, Nd */
    check_words("[^\\p{Lu}]", "a\xEA\x9F\x8B" "b", words, (int32_t[]){6, 0, 7}, 3);
    check_words("\\p{Han}", "\xE4\xB8\xAD\xF0\xB1\x8D\x90", words, (int32_t[]){3, 4}, 2);     /* U+31350 */
    check_words("\\p{Han}+", "\xE4\xB8\xAD\xE3\x80\x81", words, (int32_t[]){3, 5}, 2);        /* U+3001, Common */
    check_words("[^\\P{Han}]+", "\xE4\xB8\xAD\xE3\x80\x81", words, (int32_t[]){3, 5}, 2);
    check_words("=\xEA\x9F\x8B", "a\xEA\x9F\x8B" "b", words, (int32_t[]){6, 0, 7}, 3);         /* a text is itself */
}

/* ---- text of users --------------------------------------------------------------------------- */

/* A special token that a user spells is text; one that the template spells is a token. */
static void test_marks(void **state) {
    const struct fixture *f = *state;
    const char *token = "<|eot_id|>";
    size_t n = strlen(token);
    char text[64];
    uint8_t from_input[64] = {0};
    snprintf(text, sizeof text, "%s%s", token, token);
    memset(from_input, 1, n);
    struct diag_list d;
    struct llm_ids ids;
    diag_init(&d, mem_system_allocator());
    llm_ids_init(&ids, mem_system_allocator());
    assert_int_equal(llm_tok_encode(f->t, str_of(text), from_input, 0, &d, &ids), HILO_OK);
    assert_true(ids.n > 2);
    for (size_t i = 0; i < ids.n; i++)
        assert_int_equal(llm_tok_is_special(f->t, ids.v[i]), i + 1 == ids.n);
    llm_ids_free(&ids);
    diag_clear(&d);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_golden), cmocka_unit_test(test_prompts), cmocka_unit_test(test_random),
        cmocka_unit_test(test_long), cmocka_unit_test(test_stream), cmocka_unit_test(test_special),
        cmocka_unit_test(test_sentencepiece), cmocka_unit_test(test_refusals), cmocka_unit_test(test_marks),
        cmocka_unit_test(test_long_integers), cmocka_unit_test(test_hostile), cmocka_unit_test(test_kinds),
        cmocka_unit_test(test_rank_files), cmocka_unit_test(test_spm_files), cmocka_unit_test(test_longest_rule),
        cmocka_unit_test(test_properties),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
