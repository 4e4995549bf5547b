/* Baseline code, and optimised code that replaces it: the same bits while it is replaced, when it is made, what stays when it
   cannot be, and ends in the midst of it. */
#include "codegen/codegen.h"
#include "compile/code.h"
#include "runtime/runtime.h"
#include "../test.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ROWS = 64, COLUMNS = 96, THREADS = 3, PATIENCE_MS = 60000 };

/* Several kernels, whose sums would show another order of their terms. */
static const char program[] =
    "func.func @main(%x: tensor<64x96xf32>, %w: tensor<96x96xf32>) -> (tensor<64x96xf32>, tensor<64xf32>) {\n"
    "  %c = stablehlo.constant dense<0.0> : tensor<f32>\n"
    "  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0]\n"
    "    : (tensor<64x96xf32>, tensor<96x96xf32>) -> tensor<64x96xf32>\n"
    "  %1 = stablehlo.tanh %0 : tensor<64x96xf32>\n"
    "  %2 = stablehlo.reduce(%1 init: %c) applies stablehlo.add across dimensions = [1]\n"
    "    : (tensor<64x96xf32>, tensor<f32>) -> tensor<64xf32>\n"
    "  %3 = stablehlo.exponential %2 : tensor<64xf32>\n"
    "  %4 = stablehlo.broadcast_in_dim %3, dims = [0] : (tensor<64xf32>) -> tensor<64x96xf32>\n"
    "  %5 = stablehlo.dot_general %1, %w, contracting_dims = [1] x [1]\n"
    "    : (tensor<64x96xf32>, tensor<96x96xf32>) -> tensor<64x96xf32>\n"
    "  %6 = stablehlo.subtract %5, %4 : tensor<64x96xf32>\n"
    "  return %6, %2 : tensor<64x96xf32>, tensor<64xf32> }\n";

/* ---- helpers --------------------------------------------------------------------------------- */

/* An allocator that fails for all threads but one, when it is told to. */
struct memory {
    pthread_t spared;
    atomic_bool fails;
    atomic_long live;
};

static void *take(void *user, void *p, size_t old, size_t n, size_t align) {
    struct memory *m = user;
    hilo_allocator sys = mem_system_allocator();
    if (n && atomic_load(&m->fails) && !pthread_equal(pthread_self(), m->spared))
        return NULL;
    atomic_fetch_add(&m->live, (n && !p) - (!n && p != NULL));
    return sys.realloc_fn(sys.user, p, old, n, align);
}

static hilo_client *client_of(struct memory *m, const char *dir) {
    hilo_client *client;
    hilo_client_options o;
    hilo_client_options_init(&o);
    o.threads = 2;
    o.cache_dir = dir;
    if (m)
        o.allocator = (hilo_allocator){take, m};
    assert_int_equal(hilo_client_create(&o, &client), HILO_OK);
    return client;
}

static hilo_executable *compiled(hilo_client *client, hilo_tier tier) {
    hilo_executable *exe;
    hilo_compile_options o;
    hilo_compile_options_init(&o);
    o.tier = tier;
    assert_int_equal(hilo_compile_source(client, program, strlen(program), NULL, &o, &exe), HILO_OK);
    return exe;
}

static hilo_stats stats_of(const hilo_executable *exe) {
    hilo_stats s = {.struct_size = sizeof s};
    assert_int_equal(hilo_executable_stats(exe, &s), HILO_OK);
    return s;
}

struct results {
    float a[ROWS * COLUMNS], b[ROWS];
};

static void inputs_of(hilo_client *client, hilo_buffer **in) {
    static float x[ROWS * COLUMNS], w[COLUMNS * COLUMNS];
    for (int i = 0; i < ROWS * COLUMNS; i++)
        x[i] = (float)(i * 37 % 101) / 50 - 1;
    for (int i = 0; i < COLUMNS * COLUMNS; i++)
        w[i] = (float)(i * 53 % 97) / 300 - 0.15f;
    assert_int_equal(hilo_buffer_from_host(client, HILO_F32, (int64_t[]){ROWS, COLUMNS}, 2, x, NULL, &in[0]), HILO_OK);
    assert_int_equal(hilo_buffer_from_host(client, HILO_F32, (int64_t[]){COLUMNS, COLUMNS}, 2, w, NULL, &in[1]), HILO_OK);
}

static bool run(hilo_executable *exe, hilo_buffer *const *in, struct results *r) {
    hilo_buffer *out[2];
    if (hilo_execute(exe, NULL, in, 2, out, 2) != HILO_OK)
        return false;
    bool good = hilo_buffer_to_host(out[0], r->a, sizeof r->a) == HILO_OK;
    good = hilo_buffer_to_host(out[1], r->b, sizeof r->b) == HILO_OK && good;
    hilo_buffer_release(out[0]);
    hilo_buffer_release(out[1]);
    return good;
}

static void run_once(hilo_client *client, hilo_executable *exe, struct results *r) {
    hilo_buffer *in[2];
    inputs_of(client, in);
    assert_true(run(exe, in, r));
    hilo_buffer_release(in[0]);
    hilo_buffer_release(in[1]);
}

/* Runs it until `done`. */
static void run_until(hilo_client *client, hilo_executable *exe, bool (*done)(const hilo_executable *)) {
    struct results r;
    hilo_buffer *in[2];
    double begin = rt_now_ms();
    inputs_of(client, in);
    while (!done(exe)) {
        assert_true(run(exe, in, &r));
        assert_true(rt_now_ms() - begin < PATIENCE_MS);
    }
    hilo_buffer_release(in[0]);
    hilo_buffer_release(in[1]);
}

static bool is_replaced(const hilo_executable *exe) {
    return stats_of(exe).replaced_kernels > 0;
}

static bool is_settled(const hilo_executable *exe) {
    return atomic_load(&exe->tier_up->state) == RT_TIER_SETTLED;
}

static bool is_begun(const hilo_executable *exe) {
    return atomic_load(&exe->tier_up->state) != RT_TIER_BASELINE;
}

static void skip_without_baseline(void) {
    if (!code_has_baseline())
        SKIP_BECAUSE("hilo's own generator has no code for this processor");
}

/* ---- tests ----------------------------------------------------------------------------------- */

/* Programs that run once: LLVM is not even opened. */
static void test_small(void **state) {
    (void)state;
    skip_without_baseline();
    hilo_client *client = client_of(NULL, "");
    hilo_buffer *x, *y;
    assert_int_equal(hilo_buffer_from_host(client, HILO_F32, (int64_t[]){4}, 1, (float[]){1, 2, 3, 4}, NULL, &x), HILO_OK);
    for (int i = 0; i < 200; i++) {
        char text[256];
        hilo_executable *exe;
        int n = snprintf(text, sizeof text,
                         "func.func @main(%%x: tensor<4xf32>) -> tensor<4xf32> {\n"
                         "  %%c = stablehlo.constant dense<%d.5> : tensor<4xf32>\n"
                         "  %%0 = stablehlo.multiply %%x, %%c : tensor<4xf32>\n"
                         "  return %%0 : tensor<4xf32> }\n", i);
        float out[4];
        assert_int_equal(hilo_compile_source(client, text, (size_t)n, NULL, NULL, &exe), HILO_OK);
        assert_int_equal(hilo_execute(exe, NULL, &x, 1, &y, 1), HILO_OK);
        assert_int_equal(hilo_buffer_to_host(y, out, sizeof out), HILO_OK);
        assert_true(out[3] == 4 * ((float)i + 0.5f));
        assert_int_equal(stats_of(exe).baseline_kernels, 1);
        assert_false(is_begun(exe));
        hilo_buffer_release(y);
        hilo_executable_release(exe);
    }
    assert_false(client->tiers.started);
    assert_true(cg_open_untried());
    hilo_buffer_release(x);
    hilo_client_release(client);
}

struct user {
    hilo_executable *exe;
    hilo_buffer **in;
    const struct results *want;
    atomic_bool *stop;
    bool good;
};

static void *use(void *user) {
    struct user *u = user;
    struct results r;
    u->good = true;
    while (u->good && !atomic_load(u->stop))
        u->good = run(u->exe, u->in, &r) && memcmp(&r, u->want, sizeof r) == 0;
    return NULL;
}

/* Several threads run a program, one of them another handle to it, while its code is replaced: always the same bits. */
static void test_replace(void **state) {
    (void)state;
    skip_without_baseline();
    hilo_client *client = client_of(NULL, "");
    struct results want;
    hilo_executable *exe = compiled(client, HILO_TIER_OPTIMISED);
    run_once(client, exe, &want);
    assert_null(exe->tier_up);
    assert_true(stats_of(exe).optimised_kernels >= 2);
    hilo_executable_release(exe);
    for (int round = 0; round < 8; round++) {
        hilo_buffer *in[2];
        struct user users[THREADS];
        pthread_t threads[THREADS];
        atomic_bool stop = false;
        exe = compiled(client, HILO_TIER_AUTO);
        hilo_executable *other = rt_executable_share(exe);
        hilo_stats before = stats_of(exe);
        assert_true(before.baseline_kernels >= 2 && before.optimised_kernels == 0 && before.ir_bytes > 0);
        inputs_of(client, in);
        for (int i = 0; i < THREADS; i++) {
            users[i] = (struct user){i ? exe : other, in, &want, &stop, false};
            assert_int_equal(pthread_create(&threads[i], NULL, use, &users[i]), 0);
        }
        if (round % 2)
            run_until(client, exe, is_replaced);
        else
            assert_int_equal(hilo_executable_optimise(other), HILO_OK);
        struct results r;
        assert_true(run(exe, in, &r) && memcmp(&r, &want, sizeof r) == 0);
        atomic_store(&stop, true);
        for (int i = 0; i < THREADS; i++) {
            assert_int_equal(pthread_join(threads[i], NULL), 0);
            assert_true(users[i].good);
        }
        hilo_stats after = stats_of(other);
        assert_int_equal(after.replaced_kernels, before.baseline_kernels);
        assert_int_equal(after.optimised_kernels, before.baseline_kernels);
        assert_int_equal(after.baseline_kernels, 0);
        assert_int_equal(after.ir_bytes, 0);
        assert_true(after.code_bytes > before.code_bytes);
        hilo_buffer_release(in[0]);
        hilo_buffer_release(in[1]);
        hilo_executable_release(exe);
        hilo_executable_release(other);
    }
    hilo_client_release(client);
}

/* Optimised code that pays after a run is made once another run begins: a run that is the last one waits for nothing. */
static void test_last_run(void **state) {
    (void)state;
    skip_without_baseline();
    hilo_client *client = client_of(NULL, "");
    hilo_executable *exe = compiled(client, HILO_TIER_AUTO);
    struct results r;
    exe->tier_up->cost_ms = 0; /* any run pays */
    assert_true(exe->tier_up->nbatches > 1);
    run_once(client, exe, &r);
    assert_false(is_begun(exe));
    assert_false(client->tiers.started);
    run_once(client, exe, &r);
    assert_true(is_begun(exe));
    assert_true(client->tiers.started);
    run_until(client, exe, is_replaced);
    hilo_executable_release(exe);
    hilo_client_release(client);
}

static void test_baseline_stays(void **state) {
    (void)state;
    skip_without_baseline();
    hilo_client *client = client_of(NULL, "");
    hilo_executable *exe = compiled(client, HILO_TIER_BASELINE);
    assert_null(exe->tier_up);
    assert_int_equal(hilo_executable_optimise(exe), HILO_OK);
    hilo_stats s = stats_of(exe);
    assert_true(s.baseline_kernels >= 2 && !s.optimised_kernels && !s.replaced_kernels && !s.ir_bytes);
    hilo_executable_release(exe);
    hilo_client_release(client);
}

/* Without memory for optimised code a program keeps the code that it has, and runs, which needs none after the first run. */
static void test_exhaustion(void **state) {
    (void)state;
    skip_without_baseline();
    struct memory m = {.live = 0};
    hilo_client *client = client_of(&m, "");
    struct results before, after;
    hilo_executable *exe = compiled(client, HILO_TIER_AUTO);
    run_once(client, exe, &before);
    atomic_store(&m.fails, true);
    run_until(client, exe, is_settled);
    atomic_store(&m.fails, false);
    run_once(client, exe, &after);
    assert_memory_equal(&before, &after, sizeof before);
    hilo_stats s = stats_of(exe);
    assert_true(s.baseline_kernels && !s.replaced_kernels && !s.ir_bytes);
    assert_int_equal(hilo_executable_optimise(exe), HILO_RESOURCE_EXHAUSTED);
    hilo_executable_release(exe);
    hilo_client_release(client);
    assert_int_equal(m.live, 0);
}

/* Executable and client may end at any time. */
static void test_release(void **state) {
    (void)state;
    skip_without_baseline();
    for (int i = 0; i < 12; i++) {
        struct memory m = {.spared = pthread_self()};
        hilo_client *client = client_of(&m, "");
        hilo_executable *exe[3];
        for (int k = 0; k < 3; k++) {
            exe[k] = compiled(client, HILO_TIER_AUTO);
            run_until(client, exe[k], is_begun);
        }
        usleep((unsigned)i * 3000);
        for (int k = 0; k < 3; k++)
            hilo_executable_release(exe[k]);
        hilo_client_release(client);
        assert_int_equal(m.live, 0);
    }
}

/* A process that ends while something is compiled, with all that it has. */
static void test_exit(void **state) {
    (void)state;
    skip_without_baseline();
    for (int i = 0; i < 6; i++) {
        int status;
        fflush(NULL);
        pid_t pid = fork();
        assert_true(pid >= 0);
        if (pid == 0) {
            static hilo_client *client; /* is reachable */
            static hilo_executable *exe[4];
            client = client_of(NULL, "");
            for (int k = 0; k < 4; k++) {
                exe[k] = compiled(client, HILO_TIER_AUTO);
                run_until(client, exe[k], is_begun);
            }
            usleep((unsigned)i * 5000);
            exit(0);
        }
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
}

static size_t files_in(char *dir) {
    struct rt_store_file *v;
    size_t n = 0;
    struct rt_store s = {.dir = dir};
    hilo_allocator al = mem_system_allocator();
    if (rt_store_list(&s, &al, &v, &n) == HILO_OK)
        mem_free(&al, v, n * sizeof *v);
    return n;
}

/* The cache has optimised code, or where it is asked for the baseline's under a key of its own. */
static void test_cache(void **state) {
    (void)state;
    skip_without_baseline();
    char dir[] = "/tmp/hilo-test-tiers-XXXXXX";
    assert_non_null(mkdtemp(dir));
    hilo_client *client = client_of(NULL, dir);
    hilo_executable *exe = compiled(client, HILO_TIER_AUTO), *again = compiled(client, HILO_TIER_AUTO);
    assert_int_equal(files_in(dir), 0);
    assert_int_equal(stats_of(again).cached, HILO_CACHED_MEMORY);
    assert_true(stats_of(again).baseline_kernels > 0);
    hilo_executable_release(again);
    again = compiled(client, HILO_TIER_OPTIMISED); /* is what there is, with the code that is asked for */
    assert_int_equal(stats_of(again).cached, HILO_CACHED_MEMORY);
    assert_int_equal(stats_of(again).baseline_kernels, 0);
    assert_int_equal(stats_of(exe).baseline_kernels, 0);
    assert_int_equal(files_in(dir), 1);
    hilo_executable_release(again);
    hilo_executable_release(exe);
    hilo_client_release(client);

    client = client_of(NULL, dir);
    exe = compiled(client, HILO_TIER_AUTO);
    assert_int_equal(stats_of(exe).cached, HILO_CACHED_DISK);
    assert_true(stats_of(exe).optimised_kernels >= 2 && !stats_of(exe).baseline_kernels);
    hilo_executable_release(exe);
    exe = compiled(client, HILO_TIER_BASELINE);
    assert_int_equal(stats_of(exe).cached, HILO_CACHED_NOT);
    assert_int_equal(files_in(dir), 2);
    hilo_executable_release(exe);
    exe = compiled(client, HILO_TIER_BASELINE);
    assert_int_equal(stats_of(exe).cached, HILO_CACHED_DISK);
    assert_true(stats_of(exe).baseline_kernels >= 2);
    hilo_executable_release(exe);
    struct rt_store s = {.dir = dir};
    hilo_allocator al = mem_system_allocator();
    rt_store_trim(&s, &al, 0);
    hilo_client_release(client);
    assert_int_equal(rmdir(dir), 0);
}

static void append(void *user, const char *text, size_t n) {
    strbuf_putn(user, text, n);
}

/* Files have optimised code, unless the executable keeps that of the baseline. */
static void test_files(void **state) {
    (void)state;
    skip_without_baseline();
    hilo_client *client = client_of(NULL, "");
    struct results want, got;
    for (int baseline = 0; baseline < 2; baseline++) {
        hilo_executable *exe = compiled(client, baseline ? HILO_TIER_BASELINE : HILO_TIER_AUTO), *loaded;
        struct strbuf bytes;
        strbuf_init(&bytes, mem_system_allocator());
        run_once(client, exe, &want);
        assert_int_equal(hilo_executable_serialize(exe, append, &bytes), HILO_OK);
        assert_int_equal(hilo_executable_deserialize(client, bytes.p, bytes.n, &loaded), HILO_OK);
        hilo_stats s = stats_of(loaded);
        assert_int_equal(baseline ? s.optimised_kernels : s.baseline_kernels, 0);
        assert_true((baseline ? s.baseline_kernels : s.optimised_kernels) >= 2);
        run_once(client, loaded, &got);
        assert_memory_equal(&want, &got, sizeof want);
        strbuf_free(&bytes);
        hilo_executable_release(loaded);
        hilo_executable_release(exe);
    }
    hilo_client_release(client);
}

/* HILO_TIER is for options that say nothing. */
static void test_environment(void **state) {
    (void)state;
    skip_without_baseline();
    assert_int_equal(setenv("HILO_TIER", "optimised", 1), 0);
    hilo_client *client = client_of(NULL, "");
    hilo_executable *exe = compiled(client, HILO_TIER_AUTO);
    assert_int_equal(stats_of(exe).baseline_kernels, 0);
    hilo_executable_release(exe);
    exe = compiled(client, HILO_TIER_BASELINE);
    assert_int_equal(stats_of(exe).optimised_kernels, 0);
    hilo_executable_release(exe);
    hilo_client_release(client);
    unsetenv("HILO_TIER");
    client = client_of(NULL, "");
    hilo_compile_options o;
    hilo_compile_options_init(&o);
    o.tier = (hilo_tier)3;
    assert_int_equal(hilo_compile_source(client, program, strlen(program), NULL, &o, &exe), HILO_INVALID_ARGUMENT);
    hilo_client_release(client);
}

int main(void) {
    unsetenv("HILO_TIER");
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_exit),  cmocka_unit_test(test_small),  cmocka_unit_test(test_replace),
        cmocka_unit_test(test_last_run), cmocka_unit_test(test_baseline_stays), cmocka_unit_test(test_exhaustion),
        cmocka_unit_test(test_release), cmocka_unit_test(test_cache), cmocka_unit_test(test_files),
        cmocka_unit_test(test_environment),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
