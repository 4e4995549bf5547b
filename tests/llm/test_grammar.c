/* Grammars: what they accept, that random texts by their masks obey them, and that hostile ones are bounded. */
#include "llm/grammar.h"

#include "llm/json.h"
#include "llm/tokenizer.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

static hilo_status parse(const char *text, struct llm_grammar **out) {
    struct diag_list d;
    diag_init(&d, mem_system_allocator());
    *out = NULL;
    hilo_status status = llm_grammar_parse(str_of(text), mem_system_allocator(), &d, out);
    assert_true((status == HILO_OK) == (*out != NULL) && (status == HILO_OK) == (d.errors == 0));
    diag_clear(&d);
    return status;
}

/* 'y' accepted as a whole, 'p' the beginning of such a text, 'n' neither. */
static char verdict(const struct llm_grammar *g, const char *text) {
    struct llm_grammar_state *s = llm_grammar_begin(g, NULL);
    assert_non_null(s);
    bool good = llm_grammar_accept_bytes(s, str_of(text));
    char v = !good ? 'n' : llm_grammar_complete(s) ? 'y' : 'p';
    llm_grammar_end(s);
    return v;
}

static void test_accepts(void **state) {
    static const struct { const char *grammar, *text; char verdict; } cases[] = {
        {"root ::= \"ab\" | \"ac\" \"d\"", "ab", 'y'},
        {"root ::= \"ab\" | \"ac\" \"d\"", "ac", 'p'},
        {"root ::= \"ab\" | \"ac\" \"d\"", "acd", 'y'},
        {"root ::= \"ab\" | \"ac\" \"d\"", "ad", 'n'},
        {"root ::= [a-c]* [^a-c\\n] # comment\n", "abcabd", 'y'},
        {"root ::= [a-c]* [^a-c\\n]", "ab\n", 'n'},
        {"root ::= [a-c]* [^a-c\\n]", "aé", 'y'},
        {"root ::= [α-ω]+", "λόγος", 'n'},
        {"root ::= [\\u03b1-\\u03ce]+", "λόγος", 'y'},
        {"root ::= .", "🎉", 'y'},
        {"root ::= .", "\xF0\x9F", 'p'},
        {"root ::= .", "\xED\xA0\x80", 'n'},
        {"root ::= \"x\"{2,3}", "x", 'p'},
        {"root ::= \"x\"{2,3}", "xxx", 'y'},
        {"root ::= \"x\"{2,3}", "xxxx", 'n'},
        {"root ::= \"x\"{2,}", "xxxxxx", 'y'},
        {"root ::= (\"a\" | \"b\")+ \"c\"?", "abbac", 'y'},
        {"root ::= list\nlist ::= \"(\" list* \")\"", "(()(()))", 'y'},
        {"root ::= list\nlist ::= \"(\" list* \")\"", "(()", 'p'},
        {"root ::= \"\"", "", 'y'},
        {"root ::= (\"a\"?)*", "aaa", 'y'},
        {"root ::= \"\\x41\\n\\\"\\\\\"", "A\n\"\\", 'y'},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct llm_grammar *g;
        assert_int_equal(parse(cases[i].grammar, &g), HILO_OK);
        assert_int_equal(verdict(g, cases[i].text), cases[i].verdict);
        llm_grammar_free(g);
    }
}

static void test_refused(void **state) {
    static const char *const bad[] = {
        "", "root", "root ::=", "x ::= \"a\"", "root ::= x", "root ::= \"a", "root ::= [a", "root ::= []", "root ::= [b-a]",
        "root ::= (\"a\"",
        "root ::= \"a\")", "root ::= \"a\"{3,2}", "root ::= \"a\"{99999}", "root ::= \"\\q\"", "root ::= \"\\u12\"",
        "root ::= \"a\" root ::= \"b\"",
        "root ::= \"\\U00110000\"", "root ::= \"\xFF\"", "root ::= *",
        "root ::= e\ne ::= e \"+\" t | t\nt ::= [0-9]",
    };
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct llm_grammar *g;
        hilo_status status = parse(bad[i], &g);
        if (status == HILO_OK && strcmp(bad[i], "root ::=") != 0)
            fail_msg("accepted: %s", bad[i]);
        llm_grammar_free(g);
    }
}

/* Sizes that multiply end in RESOURCE_EXHAUSTED, or in a state that fails; not in all of the memory or a stack overflow. */
static void test_hostile(void **state) {
    struct strbuf deep;
    struct llm_grammar *g;
    (void)state;
    assert_int_equal(parse("root ::= ((((\"a\"{1000}){1000}){1000}){1000})", &g), HILO_OK); /* rules, not copies */
    assert_int_equal(verdict(g, "aaaa"), 'p');
    llm_grammar_free(g);
    strbuf_init(&deep, mem_system_allocator());
    strbuf_puts(&deep, "root ::= (");
    for (int i = 0; i < 1000; i++)
        strbuf_puts(&deep, "\"a\"");
    strbuf_puts(&deep, "){1000}");
    assert_int_equal(parse(deep.p, &g), HILO_OK);
    llm_grammar_free(g);
    deep.n = 0;
    strbuf_puts(&deep, "root ::= \"");
    for (int i = 0; i < 1000; i++)
        strbuf_puts(&deep, "a");
    strbuf_puts(&deep, "\"{1000}");
    assert_int_equal(parse(deep.p, &g), HILO_RESOURCE_EXHAUSTED);
    deep.n = 0;
    strbuf_puts(&deep, "root ::= ");
    for (int i = 0; i < 100000; i++)
        strbuf_puts(&deep, "(");
    assert_int_equal(parse(deep.p, &g), HILO_INVALID_ARGUMENT);
    strbuf_free(&deep);
    /* exponentially many ways, all at once */
    assert_int_equal(parse("root ::= a{40} \"!\"\na ::= b b | b\nb ::= [a-z]? [a-z]?", &g), HILO_OK);
    struct llm_grammar_state *s = llm_grammar_begin(g, NULL);
    for (int i = 0; i < 60 && s && llm_grammar_accept_bytes(s, STR("q")); i++)
        ;
    llm_grammar_end(s);
    llm_grammar_free(g);
}

/* ---- masks ----------------------------------------------------------------------------------- */

struct fixture { struct llm_tok *tok; struct llm_grammar_vocab *vocab; size_t n; };

/* A random text by the masks, closed as soon as that is possible when it is long; "" if it did not end. */
static void random_text(const struct fixture *f, const struct llm_grammar *g, uint32_t seed, struct strbuf *out) {
    struct llm_grammar_state *s = llm_grammar_begin(g, f->vocab);
    float *logits = test_malloc(f->n * sizeof *logits);
    const int32_t end = llm_tok_id(f->tok, STR("<|end_of_text|>"));
    assert_true(end >= 0);
    out->n = 0;
    strbuf_puts(out, "");
    assert_non_null(s);
    for (int step = 0; step < 300; step++) {
        for (size_t i = 0; i < f->n; i++) {
            seed = seed * 1664525u + 1013904223u;
            logits[i] = (float)(seed >> 16);
        }
        if (step > 20)
            logits[end] = 1e9f;
        assert_true(llm_grammar_mask(s, &end, 1, logits));
        size_t best = 0;
        for (size_t i = 1; i < f->n; i++)
            best = logits[i] > logits[best] ? i : best;
        assert_true(logits[best] > -INFINITY);
        if (best == (size_t)end) {
            assert_true(llm_grammar_complete(s));
            break;
        }
        strbuf_str(out, llm_tok_bytes(f->tok, (int32_t)best));
        assert_true(llm_grammar_accept(s, (int32_t)best));
    }
    if (!llm_grammar_complete(s))
        out->n = 0;
    llm_grammar_end(s);
    test_free(logits);
}

/* Texts of strings by expressions and formats, and of numbers by bounds. */
static void test_values(void **state) {
    static const struct { const char *schema, *good, *bad; } cases[] = { /* texts are separated by blanks */
        {"{'type':'integer','minimum':3,'maximum':117}", "3 9 10 99 100 109 110 117", "0 2 118 120 200 1000 03 -3 3.0"},
        {"{'type':'integer','minimum':-20,'maximum':5}", "-20 -19 -9 -1 0 5", "-21 -0 6 -200 10"},
        {"{'type':'integer','exclusiveMinimum':-3,'exclusiveMaximum':0}", "-2 -1", "-3 0 1"},
        {"{'type':'integer','minimum':0.5}", "1 2 999999999999999", "0 -1 1000000000000000"},
        {"{'type':'integer','maximum':-100}", "-100 -999 -1000", "-99 -1 0 100"},
        {"{'type':'number','minimum':0,'exclusiveMaximum':1}", "0 0.5 0.9999", "1 1.5 -0.5 0."},
        {"{'type':'number','minimum':-1.5,'maximum':2}", "-1 -0.5 0 1.25 2", "-1.25 2.5 3 -2"},
        {"{'exclusiveMinimum':0,'maximum':12}", "0.1 11.9 12", "0 12.1 -0.1"},
        {"{'type':'string','pattern':'^[a-c]{2}-\\\\d+$'}", "\"ab-1\" \"cc-123\"", "\"a-1\" \"ab-\" \"xab-1\" \"ab-1x\""},
        {"{'type':'string','pattern':'b(c|dd?)e*?'}", "\"abc\" \"bd\" \"xbddeey\"", "\"b\" \"ab\""},
        {"{'pattern':'^(?:x|[^a-y\\\\s])\\\\.$|^q'}", "\"x.\" \"z.\" \"qqq\"", "\"a.\" \"xx\" \"aq\" 5"},
        {"{'type':'string','pattern':'^[!-~]$'}", "\"!\" \"#\" \"~\"", "\"\"\" \"\\\" \"ab\""},
        {"{'type':'string','pattern':'^[\\\"n]\\\\\\\\\\n$'}", "\"\\\"\\\\\\n\" \"n\\\\\\n\"", "\"\"\\\\\\n\""},
        {"{'type':'string','pattern':'^\\\\u00e9.$'}", "\"\u00e9x\" \"\u00e9\u4e2d\"", "\"ex\" \"\u00e9\""},
        {"{'type':'string','format':'date'}",
         "\"2026-11-30\" \"0001-02-28\"", "\"2026-11-31\" \"2026-13-01\" \"2026-02-30\" \"26-1-1\""},
        {"{'type':'string','format':'date-time'}",
         "\"2026-01-31T23:59:00Z\" \"2026-01-31T00:00:00.5+01:00\"", "\"2026-01-31\""},
        {"{'type':'string','format':'uuid'}", "\"123e4567-e89b-12d3-a456-426614174000\"", "\"123e4567\""},
        {"{'type':'string','format':'ipv4'}", "\"127.0.0.1\" \"255.255.255.255\"", "\"256.0.0.1\" \"1.2.3\" \"01.2.3.4\""},
        {"{'type':'string','format':'email'}", "\"a.b@example.org\"", "\"a@b\" \"a\""},
        {"{'type':'string','format':'uri'}", "\"https://a.org/x?y=1#z\"", "\"a.org\""},
        {"{'type':'string','format':'duration'}", "\"P1D\" \"PT5M\"", "\"P\" \"PT\""},
        {"{'$defs':{'a':{'type':'integer','minimum':7}},'allOf':[{'$ref':'#/$defs/a'}],'description':'d'}", "7 8", "6"},
        {"{'type':['integer','null'],'maximum':3}", "3 null", "4 \"a\""},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char schema[256], text[256];
        struct diag_list d;
        struct llm_grammar *g;
        struct strbuf made;
        snprintf(schema, sizeof schema, "%s", cases[i].schema);
        for (char *p = schema; *p; p++)
            *p = *p == '\'' ? '"' : *p;
        json_t *one = json_loads(schema, 0, NULL);
        assert_non_null(one);
        diag_init(&d, mem_system_allocator());
        strbuf_init(&made, d.al);
        assert_int_equal(llm_grammar_schema(one, &d, &made), HILO_OK);
        assert_int_equal(parse(made.p, &g), HILO_OK);
        for (int good = 0; good < 2; good++) {
            snprintf(text, sizeof text, "%s", good ? cases[i].good : cases[i].bad);
            for (char *p = strtok(text, " "); p; p = strtok(NULL, " "))
                if ((verdict(g, p) == 'y') != good)
                    fail_msg("%s: %s", cases[i].schema, p);
        }
        llm_grammar_free(g);
        strbuf_free(&made);
        json_decref(one);
        diag_clear(&d);
    }
}

/* What is not obeyed is refused by name. */
static void test_refused_schemas(void **state) {
    static const struct { const char *schema, *why; } cases[] = {
        {"{\"pattern\":\"(?=a)\"}", "an assertion"}, {"{\"pattern\":\"a\\\\1\"}", "an escape of another kind"},
        {"{\"pattern\":\"a^b\"}", "in another place"}, {"{\"pattern\":\"(a\"}", "a group without an end"},
        {"{\"pattern\":\"a)\"}", "')' without a group"}, {"{\"pattern\":\"[a\"}", "a class without an end"},
        {"{\"pattern\":\"[z-a]\"}", "such a class"}, {"{\"pattern\":\"[\\\\D]\"}", "such a class"},
        {"{\"pattern\":\"a{\"}", "'{' as a character"}, {"{\"pattern\":\"\\\\u12\"}", "ends early"},
        {"{\"pattern\":\"a\",\"minLength\":2}", "'pattern' with 'minLength'"}, {"{\"format\":\"iri\"}", "the 'format' 'iri'"},
        {"{\"minimum\":5,\"maximum\":4}", "bounds without an integer"}, {"{\"minimum\":1e300}", "bounds without an integer"},
        {"{\"type\":\"integer\",\"minimum\":\"a\"}", "'minimum'"}, {"{\"allOf\":[{},{}]}", "'allOf'"},
        {"{\"multipleOf\":2}", "'multipleOf'"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct diag_list d;
        struct strbuf made;
        json_t *schema = json_loads(cases[i].schema, 0, NULL);
        assert_non_null(schema);
        diag_init(&d, mem_system_allocator());
        strbuf_init(&made, d.al);
        assert_int_equal(llm_grammar_schema(schema, &d, &made), HILO_INVALID_ARGUMENT);
        if (!strstr(d.first->message, cases[i].why))
            fail_msg("'%s' expected in: %s", cases[i].why, d.first->message);
        strbuf_free(&made);
        json_decref(schema);
        diag_clear(&d);
    }
}

static void test_schemas(void **state) {
    static const char *const schemas[] = {
        "{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"integer\"},\"b\\\"\\n\":{\"type\":\"boolean\"},\"c\":"
        "{\"type\":\"null\"}},"
        "\"required\":[\"b\\\"\\n\"]}",
        "{\"type\":\"array\",\"items\":{\"type\":\"string\",\"maxLength\":5},\"maxItems\":3}",
        "{\"type\":\"number\"}", "{\"enum\":[\"a\",\"\\u00e9\",{\"x\":[1,2]},null]}",
        "{\"$defs\":{\"t\":{\"type\":\"array\",\"items\":{\"$ref\":\"#/$defs/t\"},\"maxItems\":2}},\"$ref\":\"#/$defs/t\"}",
        "{\"type\":\"array\",\"items\":{\"pattern\":\"^[^a-z]{1,3}\\\\W[\\\\x00-z]$\"},\"maxItems\":2}",
    };
    const struct fixture *f = *state;
    struct strbuf made, text;
    size_t ended = 0;
    strbuf_init(&made, mem_system_allocator());
    strbuf_init(&text, mem_system_allocator());
    for (size_t i = 0; i <= sizeof schemas / sizeof *schemas; i++) { /* the last one: any object */
        struct diag_list d;
        struct llm_grammar *g;
        bool any = i == sizeof schemas / sizeof *schemas;
        json_t *schema = any ? NULL : json_loads(schemas[i], 0, NULL);
        diag_init(&d, mem_system_allocator());
        made.n = 0;
        assert_int_equal(llm_grammar_schema(schema, &d, &made), HILO_OK);
        assert_int_equal(parse(made.p, &g), HILO_OK);
        for (uint32_t seed = 1; seed <= 20; seed++) {
            random_text(f, g, seed * 77, &text);
            if (!text.n)
                continue;
            json_t *v = json_loadb(text.p, text.n, JSON_DECODE_ANY, NULL);
            if (!v)
                fail_msg("no JSON: %s", text.p);
            json_decref(v);
            ended++;
        }
        llm_grammar_free(g);
        json_decref(schema);
        diag_clear(&d);
    }
    assert_true(ended >= 60);
    strbuf_free(&made);
    strbuf_free(&text);
}

/* Every token of the mask continues the text, and no other does. */
static void test_mask(void **state) {
    const struct fixture *f = *state;
    struct llm_grammar *g;
    assert_int_equal(parse("root ::= \"the \" [a-z]{3} (\" \" | \"é\") [0-9]*", &g), HILO_OK);
    static const char *const beginnings[] = {"", "t", "the ", "the abc", "the abc\xC3", "the abc 12"};
    float *logits = test_malloc(f->n * sizeof *logits);
    for (size_t i = 0; i < sizeof beginnings / sizeof *beginnings; i++) {
        struct llm_grammar_state *s = llm_grammar_begin(g, f->vocab);
        assert_true(llm_grammar_accept_bytes(s, str_of(beginnings[i])));
        memset(logits, 0, f->n * sizeof *logits);
        assert_true(llm_grammar_mask(s, NULL, 0, logits));
        for (size_t id = 0; id < f->n; id++) {
            struct llm_grammar_state *alone = llm_grammar_begin(g, f->vocab);
            struct str bytes = llm_tok_bytes(f->tok, (int32_t)id);
            assert_true(llm_grammar_accept_bytes(alone, str_of(beginnings[i])));
            bool good = bytes.n && !llm_tok_is_special(f->tok, (int32_t)id) && llm_grammar_accept(alone, (int32_t)id);
            assert_int_equal(logits[id] == 0, good);
            llm_grammar_end(alone);
        }
        llm_grammar_end(s);
    }
    test_free(logits);
    llm_grammar_free(g);
}

static int set_up(void **state) {
    static struct fixture f;
    struct diag_list d;
    diag_init(&d, mem_system_allocator());
    assert_int_equal(llm_tok_open("tests/llm/tiny-llama", mem_system_allocator(), &d, &f.tok), HILO_OK);
    f.n = llm_tok_size(f.tok);
    f.vocab = llm_grammar_vocab_open(f.tok, f.n, mem_system_allocator());
    *state = &f;
    return f.vocab == NULL;
}

static int tear_down(void **state) {
    struct fixture *f = *state;
    llm_grammar_vocab_close(f->vocab);
    llm_tok_free(f->tok);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_accepts), cmocka_unit_test(test_refused), cmocka_unit_test(test_hostile),
        cmocka_unit_test(test_schemas), cmocka_unit_test(test_values), cmocka_unit_test(test_refused_schemas),
        cmocka_unit_test(test_mask),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
