/* Language models: what the tiny model generates is what was recorded of it (golden.json), on every engine, alone and in a
 * batch, however its text is cut. HILO_TEST_LONG in the environment: all cases, at all levels, and the precisions. */
#include "../gpu/stand_in.h"
#include "llm/json.h"
#include "llm/generate.h"

#include <fcntl.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#define MODEL "tests/llm/tiny-llama"
enum { MOST = 64 };

struct fixture {
    hilo_client *client;
    struct llm_json golden;
    struct diag_list d;
};

static int setup(void **state) {
    static struct fixture f;
    diag_init(&f.d, mem_system_allocator());
    assert_int_equal(hilo_client_create(NULL, &f.client), HILO_OK);
    assert_int_equal(llm_json_open(&f.golden, MODEL "/golden.json", mem_system_allocator(), &f.d), HILO_OK);
    *state = &f;
    return 0;
}

static int teardown(void **state) {
    struct fixture *f = *state;
    llm_json_close(&f->golden);
    hilo_client_release(f->client);
    return 0;
}

static void check(hilo_client *client, hilo_status status) {
    if (status == HILO_OK)
        return;
    hilo_diagnostics_write(client, 0, hilo_write_stderr, NULL);
    fail_msg("%s", hilo_status_name(status));
}

static struct llm_session *session(hilo_client *client, const struct llm_session_options *o) {
    struct llm_session *s = NULL;
    check(client, llm_session_open(client, MODEL, o, &s));
    return s;
}

struct text { int32_t v[MOST]; size_t n; };

static struct text ids_of(const json_t *a) {
    struct text t = {.n = json_array_size(a)};
    assert_true(t.n <= MOST);
    for (size_t i = 0; i < t.n; i++)
        t.v[i] = (int32_t)json_integer_value(json_array_get(a, i));
    return t;
}

struct golden { struct text prompt, answer; const json_t *logits; };

static struct golden golden(const struct fixture *f, size_t i) {
    const json_t *one = json_array_get(json_object_get(f->golden.root, "cases"), i);
    assert_non_null(one);
    return (struct golden){ids_of(json_object_get(one, "prompt_ids")), ids_of(json_object_get(one, "new_tokens")),
                           json_object_get(one, "last_logits_head")};
}

static void check_case(struct llm_session *s, const struct golden *g) {
    const int32_t *ids = g->prompt.v;
    int32_t next = -1;
    llm_session_reset(s);
    check(s->client, llm_session_prefill(s, &ids, &g->prompt.n, &next, NULL));
    for (size_t i = 0; i < g->answer.n; i++) {
        assert_int_equal(next, g->answer.v[i]);
        if (i + 1 < g->answer.n)
            check(s->client, llm_session_decode(s, NULL, &next, NULL));
    }
}

static void check_golden(const struct fixture *f, const char *engine, int32_t level, size_t from, size_t to) {
    const struct llm_session_options o = {.engine = engine, .precision = LLM_F32, .level = level};
    struct llm_session *s = session(f->client, &o);
    for (size_t i = from; i < to; i++) {
        const struct golden g = golden(f, i);
        check_case(s, &g);
    }
    llm_session_close(s);
}

static void test_golden(void **state) {
    const struct fixture *f = *state;
    check_golden(f, "hilo", 2, 0, test_is_long() ? 11 : 1);
    check_golden(f, "reference", 2, test_is_long() ? 0 : 10, 11);
    for (int32_t level = 0; level < 4 && test_is_long(); level++)
        check_golden(f, "hilo", level, 0, 11);
}

/* On a stand-in for the driver of a GPU (HILO_CUDA_PATH), which is slow. */
static void test_gpu(void **state) {
    const struct fixture *f = *state;
    const struct llm_session_options o = {.engine = "hilo:gpu", .precision = LLM_F32, .level = 2};
    enum { SHORT = 5, SOME = 8 };
    if (!getenv("HILO_CUDA_PATH"))
        SKIP_BECAUSE("HILO_CUDA_PATH names no driver");
    struct llm_session *s = session(f->client, &o);
    assert_string_equal(llm_session_capabilities(s).engine, "hilo:gpu");
    for (size_t i = 0; i < 11; i++) {
        struct golden g = golden(f, i);
        if (!test_is_long() && i != SHORT)
            continue;
        g.answer.n = test_is_long() ? g.answer.n : SOME;
        check_case(s, &g);
        assert_int_equal(llm_session_traffic(s).copied_bytes, 0); /* the cache is updated in place */
    }
    llm_session_close(s);
}

/* Reads a prompt and writes a few tokens. */
static hilo_status answer(struct llm_session *s, const struct golden *g, int32_t *out, size_t n) {
    const int32_t *ids = g->prompt.v;
    llm_session_reset(s);
    hilo_status status = llm_session_prefill(s, &ids, &g->prompt.n, out, NULL);
    for (size_t i = 1; i < n && status == HILO_OK; i++) {
        out[i] = out[i - 1];
        status = llm_session_decode(s, NULL, &out[i], NULL);
    }
    return status;
}

/* Calls of the driver fail, in long runs each: while a session opens, and while it writes, after which it can go on. */
static void test_gpu_failures(void **state) {
    const struct fixture *f = *state;
    const struct llm_session_options o = {.engine = "hilo:gpu", .precision = LLM_F32, .level = 2};
    enum { SOME = 4 };
    const uint64_t stride[2] = {test_is_long() ? 1 : 60, test_is_long() ? 1 : 9};
    const struct fake_cuda_functions fake = stand_in();
    const struct golden g = {.prompt = {{1}, 1}}; /* a longer one takes seconds there */
    struct fake_cuda before, after;
    struct llm_session *s = session(f->client, &o); /* also starts the driver, which is not tried again once it failed */
    int32_t out[SOME], want[SOME];
    uint64_t opening = 0, writing = 0;
    check(s->client, answer(s, &g, want, SOME));
    llm_session_close(s);
    for (bool failed = true; failed; opening += stride[0]) {
        fake.read(&before);
        fake.let_fail(opening);
        hilo_status status = llm_session_open(f->client, MODEL, &o, &s);
        fake.let_fail(UINT64_MAX);
        fake.read(&after);
        failed = after.failed != before.failed;
        assert_true(failed || status == HILO_OK);
        if (status == HILO_OK && failed)
            llm_session_close(s);
        fake.read(&after);
        assert_true(!failed || after.live == 0);
    }
    for (bool failed = true; failed; writing += stride[1]) {
        fake.read(&before);
        fake.let_fail(writing);
        hilo_status status = answer(s, &g, out, SOME);
        fake.let_fail(UINT64_MAX);
        fake.read(&after);
        failed = after.failed != before.failed;
        assert_true(failed || status == HILO_OK);
        if (status != HILO_OK)
            check(s->client, answer(s, &g, out, SOME));
        assert_memory_equal(out, want, sizeof want);
    }
    print_message("of %d calls while it opens, and %d while it writes, each %d-th and %d-th failed\n", (int)opening,
                  (int)writing, (int)stride[0], (int)stride[1]);
    assert_true(opening >= 2 * stride[0] && writing >= 2 * stride[1]);
    llm_session_close(s);
    fake.read(&after);
    assert_int_equal(after.live, 0);
}

static void test_logits(void **state) {
    const struct fixture *f = *state;
    const struct llm_session_options o = {.precision = LLM_F32, .level = 2};
    struct llm_session *s = session(f->client, &o);
    float logits[2054];
    struct llm_capabilities can = llm_session_capabilities(s);
    assert_string_equal(can.engine, "hilo");
    assert_string_equal(can.family, "llama");
    assert_int_equal(can.vocab, sizeof logits / sizeof *logits);
    assert_int_equal(can.precision, LLM_F32);
    assert_true(can.batch == 1 && can.context > 0 && can.weight_bytes > 0 && can.cache_bytes > 0);
    for (size_t i = 0; i < 11; i++) {
        const struct golden g = golden(f, i);
        const int32_t *ids = g.prompt.v;
        llm_session_reset(s);
        check(s->client, llm_session_prefill(s, &ids, &g.prompt.n, NULL, logits));
        for (size_t k = 0; k < json_array_size(g.logits); k++)
            assert_true(fabs((double)logits[k] - json_number_value(json_array_get(g.logits, k))) < 1e-3);
    }
    llm_session_close(s);
}

/* Logits after each token of a text that is read in parts of these lengths, the last of them in single steps. */
static void check_parts(struct llm_session *s, const struct golden *g, const size_t *parts, size_t nparts, const float *want) {
    float logits[2054];
    size_t at = 0;
    llm_session_reset(s);
    for (size_t i = 0; i < nparts; i++, at += parts[i - 1]) {
        const int32_t *ids = g->prompt.v + at;
        check(s->client, llm_session_prefill(s, &ids, &parts[i], NULL, logits));
    }
    for (; at < g->prompt.n; at++)
        check(s->client, llm_session_decode(s, &g->prompt.v[at], NULL, logits));
    for (size_t k = 0; k < 2054; k++)
        assert_true(fabsf(logits[k] - want[k]) < 1e-4f);
}

/* However a text is cut, the answer is the same: the cache has what was read, at the right places. */
static void test_parts(void **state) {
    const struct fixture *f = *state;
    const struct llm_session_options o = {.precision = LLM_F32, .level = 2, .context = 24};
    const struct golden g = golden(f, 9);
    struct llm_session *s = session(f->client, &o);
    float want[2054];
    const int32_t *ids = g.prompt.v;
    assert_int_equal(g.prompt.n, 24); /* the last chunk has no room for more than what is left */
    check(f->client, llm_session_prefill(s, &ids, &g.prompt.n, NULL, want));
    assert_int_equal(llm_session_decode(s, (int32_t[]){7}, NULL, want), HILO_OUT_OF_RANGE);
    hilo_diagnostics_clear(f->client);
    check_parts(s, &g, (size_t[]){1}, 1, want);
    check_parts(s, &g, (size_t[]){5, 11, 8}, 3, want);
    check_parts(s, &g, (size_t[]){9, 12}, 2, want);
    llm_session_close(s);
}

/* Sequences of different lengths, side by side, answer what each does alone. */
static void test_batch(void **state) {
    const struct fixture *f = *state;
    const struct llm_session_options o = {.precision = LLM_F32, .level = 2, .batch = 3};
    struct llm_session *s = session(f->client, &o);
    const struct golden g[3] = {golden(f, 8), golden(f, 5), golden(f, 0)};
    const int32_t *ids[3] = {g[0].prompt.v, g[1].prompt.v, g[2].prompt.v};
    const size_t n[3] = {g[0].prompt.n, g[1].prompt.n, g[2].prompt.n};
    int32_t next[3];
    check(f->client, llm_session_prefill(s, ids, n, next, NULL));
    for (size_t i = 0; i < 12; i++) {
        for (size_t k = 0; k < 3; k++)
            assert_int_equal(next[k], g[k].answer.v[i]);
        check(f->client, llm_session_decode(s, i ? NULL : next, next, NULL));
    }
    llm_session_close(s);
}

/* Forks of a session that join and leave between steps, at their own positions, answer the logits of each alone, to the bit;
   a copy of a prefix continues as if it had read the prefix. */
static void check_apart(const struct fixture *f, enum llm_precision precision) {
    enum { FORKS = 14, STEPS = 24, LONG = 300 /* beyond the first room of the cache */ };
    const struct llm_session_options o = {.precision = precision, .level = 2};
    struct llm_session *s = session(f->client, &o), *alone[FORKS], *side[FORKS];
    size_t vocab = (size_t)s->model.config.vocab;
    float *want = test_malloc(LLM_MAX_APART * vocab * sizeof *want), *got = test_malloc(LLM_MAX_APART * vocab * sizeof *got);
    int32_t prompt[LONG], next;
    uint32_t random = 7;
    for (int i = 0; i < LONG; i++)
        prompt[i] = 3 + i * 31 % 900;
    for (size_t i = 0; i < FORKS; i++) {
        const int32_t *ids = prompt + 7 * i;
        const size_t n = i == 1 ? 250 : i == 2 ? 170 : 3 + 5 * i;
        check(f->client, llm_session_fork(s, &alone[i]));
        check(f->client, llm_session_fork(s, &side[i]));
        check(f->client, llm_session_prefill(alone[i], &ids, &n, &next, NULL));
        if (i % 2) {
            for (size_t done = 0, part; done < n; done += part) {
                const int32_t *rest = ids + done;
                part = llm_session_portion(side[i], done, n - done);
                check(f->client, llm_session_prefill(side[i], &rest, &part, &next, want));
            }
        } else {
            check(f->client, llm_session_copy(alone[i], n, side[i]));
        }
    }
    for (int step = 0; step < STEPS; step++) {
        struct llm_session *now[LLM_MAX_APART];
        int32_t tokens[LLM_MAX_APART];
        size_t n = 0;
        random = random * 1664525u + 1013904223u;
        for (size_t i = 0; i < FORKS && n < LLM_MAX_APART; i++)
            if (step % 4 == 3 || random >> (8 + i) & 1) {
                now[n] = side[i];
                tokens[n] = (int32_t)(random >> 8) % 900;
                check(f->client, llm_session_decode_apart(&alone[i], 1, &tokens[n], want + n * vocab));
                n++;
            }
        if (!n)
            continue;
        check(f->client, llm_session_decode_apart(now, n, tokens, got));
        assert_memory_equal(got, want, n * vocab * sizeof *got);
    }
    for (size_t i = 0; i < FORKS; i++) {
        llm_session_close(alone[i]);
        llm_session_close(side[i]);
    }
    test_free(want);
    test_free(got);
    llm_session_close(s);
}

static void test_apart(void **state) {
    for (int p = LLM_F32; p < LLM_PRECISIONS; p++)
        if (test_is_long() || p == LLM_F32 || p == LLM_INT8 || p == LLM_INT4)
            check_apart(*state, (enum llm_precision)p);
}

/* Beyond the first room of the cache what was read stays: the answer is that of a session with room for all of it at once. */
static void test_growth(void **state) {
    const struct fixture *f = *state;
    const struct golden g = golden(f, 1);
    struct llm_session_options o = {.precision = LLM_F32, .level = 2};
    struct llm_session *s = session(f->client, &o);
    int32_t ids[300], next[2];
    const int32_t *p = ids;
    for (size_t i = 0; i < 300; i++)
        ids[i] = i < g.prompt.n ? g.prompt.v[i] : g.prompt.v[1 + i % (g.prompt.n - 1)];
    check(f->client, llm_session_prefill(s, &p, (size_t[]){250}, &next[0], NULL));
    assert_int_equal(s->context, 256); /* two chunks of 128 took them */
    llm_session_reset(s);
    check(f->client, llm_session_prefill(s, &p, (size_t[]){300}, &next[0], NULL));
    assert_int_equal(s->context, 512);
    llm_session_close(s);
    s = session(f->client, &o);
    check(f->client, llm_session_prefill(s, &p, (size_t[]){100}, &next[0], NULL));
    assert_int_equal(s->context, 256);
    p += 100;
    check(f->client, llm_session_prefill(s, &p, (size_t[]){200}, &next[0], NULL));
    assert_int_equal(s->context, 512);
    p = ids;
    llm_session_reset(s);
    check(f->client, llm_session_prefill(s, &p, (size_t[]){300}, &next[1], NULL));
    assert_int_equal(next[0], next[1]);
    llm_session_close(s);
}

/* Long chunks in a long context answer what short ones do. */
static void test_long(void **state) {
    enum { TOKENS = 1300, PART = 100 };
    const struct fixture *f = *state;
    const struct llm_session_options o = {.precision = LLM_F32, .level = 2};
    struct llm_session *s = session(f->client, &o);
    static float logits[2][2054];
    int32_t ids[TOKENS];
    const int32_t *p = ids;
    for (int32_t i = 0; i < TOKENS; i++)
        ids[i] = i * 577 % 2048;
    check(f->client, llm_session_prefill(s, &p, (size_t[]){TOKENS}, NULL, logits[0]));
    assert_int_equal(s->context, 2048);
    llm_session_reset(s);
    for (; p < ids + TOKENS; p += PART)
        check(f->client, llm_session_prefill(s, &p, (size_t[]){PART}, NULL, logits[1]));
    for (size_t k = 0; k < 2054; k++)
        assert_true(fabsf(logits[0][k] - logits[1][k]) < 1e-3f);
    llm_session_close(s);
}

static atomic_long allocations;

static void *counting_realloc(void *user, void *p, size_t old, size_t n, size_t align) {
    hilo_allocator sys = mem_system_allocator();
    (void)user;
    atomic_fetch_add(&allocations, n != 0);
    return sys.realloc_fn(sys.user, p, old, n, align);
}

/* That nothing has been taken since: idle memory serves. The torture build frees it early, so that it moves. */
static void assert_none_since(long before) {
    if (!TORTURE)
        assert_int_equal(atomic_load(&allocations), before);
}

struct steps { int n; long allocations; };

static int on_step(void *user, const char *text, size_t n) {
    struct steps *s = user;
    (void)text, (void)n;
    if (++s->n == 2) /* the first step has run */
        s->allocations = atomic_load(&allocations);
    return 0;
}

/* 64 decode steps, alone and in llm_generate, take no memory and move no cache, in every precision. */
static void check_steps(hilo_client *client, enum llm_precision precision) {
    enum { STEPS = 64 };
    const struct llm_session_options o = {.precision = precision, .level = 2};
    struct llm_session *s = session(client, &o);
    const int32_t prompt[] = {2048, 39, 68, 361, 78}, *ids = prompt;
    const void *cache[8];
    int32_t next;
    check(client, llm_session_prefill(s, &ids, (size_t[]){5}, &next, NULL));
    check(client, llm_session_decode(s, NULL, &next, NULL));
    long before = atomic_load(&allocations);
    for (int i = 0; i < 8; i++)
        cache[i] = hilo_buffer_data(s->cache[i]);
    for (int i = 0; i < STEPS; i++)
        check(client, llm_session_decode(s, NULL, &next, NULL));
    assert_none_since(before);
    for (int i = 0; i < 8; i++)
        assert_ptr_equal(cache[i], hilo_buffer_data(s->cache[i]));
    struct llm_traffic t = llm_session_traffic(s);
    assert_true(t.known && (TORTURE || t.allocations == 0) && t.copied_bytes == 0);

    struct steps count = {.n = 0};
    struct llm_generated out;
    const struct llm_generate_options go = {.most = STEPS, .sampling = LLM_GREEDY, .on_text = on_step, .user = &count};
    s->model.config.neos = 0; /* it shall not end early */
    llm_generated_init(&out, *rt_client_allocator(client));
    check(client, llm_generate(s, prompt, 5, &go, &out));
    assert_int_equal(out.ids.n, STEPS);
    assert_none_since(count.allocations);
    assert_true(out.decode.known && (TORTURE || out.decode.allocations == 0) && out.decode.copied_bytes == 0);
    llm_generated_free(&out);
    llm_session_close(s);
}

static void test_steps(void **state) {
    static const enum llm_precision precisions[] = {LLM_F32, LLM_BF16, LLM_INT8, LLM_INT4, LLM_INT4Z};
    hilo_client_options o;
    hilo_client *client;
    (void)state;
    hilo_client_options_init(&o);
    o.allocator = (hilo_allocator){counting_realloc, NULL};
    assert_int_equal(setenv("HILO_TIER", "optimised", 1), 0); /* nothing is compiled while steps run */
    assert_int_equal(hilo_client_create(&o, &client), HILO_OK);
    assert_int_equal(unsetenv("HILO_TIER"), 0);
    for (size_t i = 0; i < sizeof precisions / sizeof *precisions; i++)
        check_steps(client, precisions[i]);
    hilo_client_release(client);
}

static double perplexity(const struct fixture *f, enum llm_precision precision, bool cache8, const struct llm_ids *text) {
    const struct llm_session_options o = {.precision = precision, .level = 2, .cache8 = cache8};
    struct llm_session *s = session(f->client, &o);
    double sum = 0;
    size_t count = 0;
    float scores[512];
    size_t window = test_is_long() ? 512 : 128, end = test_is_long() ? text->n : window;
    for (size_t at = 0; at + window <= end; at += window) {
        check(f->client, llm_session_score(s, text->v + at, window, scores));
        for (size_t i = 0; i + 1 < window; i++, count++)
            sum += (double)scores[i];
    }
    llm_session_close(s);
    return exp(sum / (double)count);
}

static void test_precision(void **state) {
    const struct fixture *f = *state;
    static const struct { enum llm_precision p; double most; bool cache8; } cases[] = {
        {LLM_BF16, 1.005, false}, {LLM_F16, 1.005, false},  {LLM_INT8, 1.01, false}, {LLM_INT4, 1.08, false},
        {LLM_INT4Z, 1.08, false}, {LLM_F32, 1.01, true}, {LLM_BF16, 1.01, true}};
    const struct llm_session_options o = {.precision = LLM_F32, .level = 2};
    struct llm_session *s = session(f->client, &o);
    struct diag_list d;
    struct llm_ids ids;
    struct file text;
    diag_init(&d, mem_system_allocator());
    llm_ids_init(&ids, mem_system_allocator());
    assert_int_equal(file_open(MODEL "/eval.txt", mem_system_allocator(), &d, &text), HILO_OK);
    assert_int_equal(llm_tok_encode(s->tok, text.text, NULL, LLM_TOK_POST, &d, &ids), HILO_OK);
    double f32 = perplexity(f, LLM_F32, false, &ids);
    assert_true(f32 > 5 && f32 < 40);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        double p = perplexity(f, cases[i].p, cases[i].cache8, &ids);
        if (!(p < f32 * cases[i].most) || !(p > f32 / cases[i].most))
            fail_msg("perplexity %f in %s, cache8 %d, %f in f32", p, llm_precision_name(cases[i].p), cases[i].cache8, f32);
    }
    file_close(&text);
    llm_ids_free(&ids);
    llm_session_close(s);
}

/* ---- choosing tokens ------------------------------------------------------------------------- */

/* How often each of four tokens is chosen of 4,000. */
static void count_choices(struct llm_sampling o, const int32_t *seen, size_t nseen, int out[4]) {
    static const float logits[4] = {0, 1, 2, 3}; /* probabilities 0.03, 0.09, 0.24, 0.64 */
    struct llm_candidate room[4];
    uint64_t state = 1;
    memset(out, 0, 4 * sizeof *out);
    for (int i = 0; i < 4000; i++) {
        float x[4];
        memcpy(x, logits, sizeof x);
        int32_t id = llm_sample(&o, x, 4, seen, nseen, room, &state);
        assert_in_range(id, 0, 3);
        out[id]++;
    }
}

static void test_sampling(void **state) {
    (void)state;
    struct llm_sampling o = LLM_GREEDY;
    int n[4];
    assert_true(llm_sampling_greedy(&o));
    count_choices(o, NULL, 0, n);
    assert_int_equal(n[3], 4000);
    o.temperature = 1;
    assert_false(llm_sampling_greedy(&o));
    count_choices(o, NULL, 0, n);
    assert_in_range(n[0], 80, 180);
    assert_in_range(n[1], 270, 430);
    assert_in_range(n[2], 830, 1070);
    o.temperature = 0.5; /* 0.002, 0.016, 0.117, 0.865 */
    count_choices(o, NULL, 0, n);
    assert_in_range(n[3], 3350, 3560);
    o.temperature = 1, o.top_k = 2;
    count_choices(o, NULL, 0, n);
    assert_true(n[0] == 0 && n[1] == 0 && n[2] > 0);
    o.top_k = 0, o.top_p = 0.8;
    count_choices(o, NULL, 0, n);
    assert_true(n[0] == 0 && n[1] == 0 && n[2] > 0);
    o.top_p = 1, o.min_p = 0.2;
    count_choices(o, NULL, 0, n);
    assert_true(n[0] == 0 && n[1] == 0 && n[2] > 0);
    o = (struct llm_sampling)LLM_GREEDY;
    o.repetition = 2; /* 3 becomes 1.5, once */
    count_choices(o, (int32_t[]){3, 3, -1, 9}, 4, n);
    assert_int_equal(n[2], 4000);
    o.repetition = 0;
    assert_non_null(llm_sampling_flaw(&o));
}

/* The elements of array i of the cache that `s` has written, head by head. */
static uint8_t *written(struct llm_session *s, size_t i, size_t *nbytes) {
    const struct llm_array a = llm_cache_array(&s->model, (int64_t)i, 1, s->context);
    size_t line = (size_t)a.dims[3] * ir_dtype_get(a.dtype)->bytes, heads = (size_t)a.dims[1], room = (size_t)a.dims[2];
    size_t part = (size_t)s->at[0] * line;
    uint8_t *all = test_malloc(heads * room * line);
    check(s->client, s->engine->ops->read(s->engine, s->cache[i], all, heads * room * line));
    for (size_t h = 1; h < heads; h++)
        memmove(all + h * part, all + h * room * line, part);
    *nbytes = heads * part;
    return all;
}

static void assert_caches_equal(struct llm_session *a, struct llm_session *b) {
    for (size_t i = 0; i < (size_t)a->model.config.arrays; i++) {
        size_t want_bytes, got_bytes;
        uint8_t *want = written(a, i, &want_bytes), *got = written(b, i, &got_bytes);
        assert_int_equal(want_bytes, got_bytes);
        assert_memory_equal(want, got, want_bytes);
        test_free(want);
        test_free(got);
    }
}

/* A step that verifies several tokens answers as decode steps do, and leaves the same bits in the cache, which are what all
   later tokens depend on. */
static void check_verify(const struct fixture *f, enum llm_precision precision, bool cache8) {
    enum { STEPS = 20, START = 240 /* the cache grows on the way */ };
    const struct llm_session_options o = {.precision = precision, .level = 2, .cache8 = cache8};
    struct llm_session *s = session(f->client, &o), *by_one, *at_once;
    int32_t text[START], one[4], all[4];
    const int32_t *ids = text;
    const size_t start = START;
    for (int i = 0; i < START; i++)
        text[i] = 3 + i * 31 % 900;
    check(f->client, llm_session_fork(s, &by_one));
    check(f->client, llm_session_fork(s, &at_once));
    check(f->client, llm_session_prefill(by_one, &ids, &start, one, NULL));
    check(f->client, llm_session_prefill(at_once, &ids, &start, all, NULL));
    for (size_t step = 0; step < STEPS; step++) {
        size_t n = step < 8 ? 2 : 2 + step % 3;
        for (size_t i = 0; i < n; i++)
            check(f->client, llm_session_decode(by_one, &text[5 * step + i], &one[i], NULL));
        check(f->client, llm_session_verify(at_once, &text[5 * step], n, all));
        assert_caches_equal(by_one, at_once);
        assert_memory_equal(one, all, n * sizeof *one);
    }
    llm_session_close(by_one);
    llm_session_close(at_once);
    llm_session_close(s);
}

static void test_verify(void **state) {
    for (int p = LLM_F32; p < LLM_PRECISIONS; p++)
        for (int cache8 = 0; cache8 < 2; cache8++)
            if (test_is_long() || (cache8 ? p == LLM_BF16 : p == LLM_F32 || p == LLM_INT4))
                check_verify(*state, (enum llm_precision)p, cache8);
}

/* Speculation, by look-up and by a draft model of other precision: the tokens of plain decoding, a text that ends amid a step,
   and a session that goes on as after plain decoding. */
static void test_speculation(void **state) {
    const struct fixture *f = *state;
    static const enum llm_precision precisions[] = {LLM_F32, LLM_INT8, LLM_INT4, LLM_BF16};
    const struct llm_session_options draft_options = {.precision = LLM_INT8, .level = 2, .context = 100};
    struct llm_session *draft = session(f->client, &draft_options);
    size_t accepted[2] = {0, 0};
    for (size_t p = 0; p < 4; p++) {
        const struct llm_session_options o = {.precision = precisions[p], .level = 2, .cache8 = p == 3};
        struct llm_session *s = session(f->client, &o);
        struct llm_capabilities size = llm_session_capabilities(s);
        size_t element = p == 0 ? 4 : p == 3 ? 1 : 2, heads = (size_t)(s->model.config.kv_heads * s->model.config.layers);
        assert_int_equal(size.cache_bytes, 2 * element * heads * (size_t)(s->model.config.head_dim * size.context));
        for (size_t k = 0; k < 6; k++) {
            const struct golden g = golden(f, k);
            struct llm_generated want, got;
            struct llm_generate_options go = {.most = 120 + k, .sampling = LLM_GREEDY};
            llm_generated_init(&want, mem_system_allocator());
            check(f->client, llm_generate(s, g.prompt.v, g.prompt.n, &go, &want));
            size_t seen = s->seen.n;
            for (size_t speculate = 1; speculate < 12; speculate += 5) {
                llm_session_reset(s);
                go.speculate = speculate;
                go.draft = k % 2 ? draft : NULL;
                llm_generated_init(&got, mem_system_allocator());
                check(f->client, llm_generate(s, g.prompt.v, g.prompt.n, &go, &got));
                assert_int_equal(got.ids.n, want.ids.n);
                assert_memory_equal(got.ids.v, want.ids.v, got.ids.n * sizeof *got.ids.v);
                assert_int_equal(got.end, want.end);
                assert_int_equal(s->seen.n, seen);
                assert_int_equal(s->at[0], seen);
                assert_true(got.accepted <= got.proposed);
                accepted[k % 2] += got.accepted;
                llm_generated_free(&got);
            }
            llm_generated_free(&want);
        }
        llm_session_close(s);
    }
    assert_true(accepted[0] > 50 && accepted[1] > 500);
    int32_t out[4];
    const struct llm_ids ids = {.v = (int32_t[]){1, 2, 3, 9, 1, 2, 3}, .n = 7};
    assert_int_equal(llm_propose_lookup(&ids, 4, out), 4);
    assert_memory_equal(out, ((int32_t[]){9, 1, 2, 3}), sizeof out);
    assert_int_equal(llm_propose_lookup(&(struct llm_ids){.v = ids.v, .n = 4}, 4, out), 0);
    llm_session_close(draft);
}

/* A prompt that begins like the last one takes over whole portions of it, and then has the bits that it has in a session of its
   own: the same cache. */
static void check_prefix(const struct fixture *f, enum llm_precision precision, bool cache8) {
    static const size_t prompts[] = {1, 1, 2, 9, 10, 0}; /* of 16, 16, 9, 24, 27 and 6 tokens, the first of which are common */
    const struct llm_session_options o = {.precision = precision, .level = 2, .cache8 = cache8};
    const struct llm_generate_options go = {.most = 4, .sampling = LLM_GREEDY};
    struct llm_session *s = session(f->client, &o), *alone;
    for (size_t k = 0; k < sizeof prompts / sizeof *prompts; k++) {
        const struct golden g = golden(f, prompts[k]);
        struct llm_generated want, got;
        llm_generated_init(&want, mem_system_allocator());
        llm_generated_init(&got, mem_system_allocator());
        check(f->client, llm_session_fork(s, &alone));
        check(f->client, llm_generate(alone, g.prompt.v, g.prompt.n, &go, &want));
        check(f->client, llm_generate(s, g.prompt.v, g.prompt.n, &go, &got));
        assert_int_equal(want.reused, 0);
        assert_int_equal(got.reused, k == 1 ? 8 : 0);
        assert_int_equal(got.ids.n, want.ids.n);
        assert_memory_equal(got.ids.v, want.ids.v, want.ids.n * sizeof *want.ids.v);
        assert_caches_equal(alone, s);
        llm_session_close(alone);
        llm_generated_free(&want);
        llm_generated_free(&got);
    }
    llm_session_close(s);
}

static void test_prefix(void **state) {
    check_prefix(*state, LLM_F32, false);
    check_prefix(*state, LLM_BF16, true);
    check_prefix(*state, LLM_INT4, false);
}

/* Weights that are used in place from the file are in the process's memory before anything looks at them. */
static void test_resident(void **state) {
    (void)state;
    struct diag_list d;
    struct llm_model m;
    uint64_t entry, page = (uint64_t)sysconf(_SC_PAGESIZE);
    size_t pages = 0;
    int map = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
    if (map < 0)
        SKIP_BECAUSE("/proc/self/pagemap cannot be read");
    diag_init(&d, mem_system_allocator());
    assert_int_equal(llm_model_open(MODEL, LLM_AS_STORED, LLM_UNDIVIDED, NULL, NULL, d.al, &d, &m), HILO_OK);
    for (size_t i = 0; i < m.nparams; i++)
        for (uint64_t from = (uintptr_t)m.params[i].data, at = from / page; at * page < from + m.params[i].bytes; at++) {
            assert_int_equal(pread(map, &entry, sizeof entry, (off_t)(at * sizeof entry)), sizeof entry);
            assert_true(entry >> 63);
            pages++;
        }
    assert_true(pages > 100);
    close(map);
    llm_model_close(&m);
}

/* A file of weights that is cut off while the model is in use is an error, not the end of the process. */
static void test_cut_off(void **state) {
    const struct fixture *f = *state;
    static const char *const names[] = {"config.json", "tokenizer.json", "model.safetensors"};
    char dir[] = "/tmp/hilo-llm-XXXXXX", path[128];
    struct diag_list d;
    struct llm_session *s = NULL;
    const struct llm_session_options o = {.level = 2};
    int32_t next;
    diag_init(&d, mem_system_allocator());
    assert_non_null(mkdtemp(dir));
    for (size_t i = 0; i < 3; i++) {
        struct file file;
        snprintf(path, sizeof path, MODEL "/%s", names[i]);
        assert_int_equal(file_open(path, d.al, &d, &file), HILO_OK);
        snprintf(path, sizeof path, "%s/%s", dir, names[i]);
        assert_int_equal(file_write(path, file.text, &d), HILO_OK);
        file_close(&file);
    }
    check(f->client, llm_session_open(f->client, dir, &o, &s));
    check(f->client, llm_session_decode(s, &(int32_t){1}, &next, NULL));
    assert_int_equal(truncate(path, 65536), 0);
    assert_int_equal(llm_session_decode(s, NULL, &next, NULL), HILO_DATA_LOSS);
    hilo_diagnostics_clear(f->client);
    llm_session_close(s);
    for (size_t i = 0; i < 3; i++) {
        snprintf(path, sizeof path, "%s/%s", dir, names[i]);
        unlink(path);
    }
    rmdir(dir);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_golden), cmocka_unit_test(test_gpu),
        cmocka_unit_test(test_gpu_failures), cmocka_unit_test(test_logits), cmocka_unit_test(test_parts),
        cmocka_unit_test(test_batch), cmocka_unit_test(test_apart), cmocka_unit_test(test_growth), cmocka_unit_test(test_long),
        cmocka_unit_test(test_steps), cmocka_unit_test(test_precision), cmocka_unit_test(test_sampling),
        cmocka_unit_test(test_prefix), cmocka_unit_test(test_verify), cmocka_unit_test(test_speculation),
        cmocka_unit_test(test_resident), cmocka_unit_test(test_cut_off),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
