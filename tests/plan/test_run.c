/* Runs of plans whose kernels are C functions: values, memory, threads, donation, control flow. */
#include "runtime/runtime.h"
#include "tests/test.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <limits.h>
#ifdef __linux__
#include <sched.h>
#endif

/* ---- executables ----------------------------------------------------------------------------- */

static atomic_long allocations, live, remaining = LONG_MAX; /* so far; held; until the first that fails */

static void *counting_realloc(void *user, void *p, size_t old, size_t n, size_t align) {
    hilo_allocator sys = mem_system_allocator();
    (void)user;
    if (n && atomic_fetch_sub(&remaining, 1) <= 0)
        return NULL;
    atomic_fetch_add(&allocations, n != 0);
    atomic_fetch_add(&live, (n && !p) - (!n && p));
    return sys.realloc_fn(sys.user, p, old, n, align);
}

/* That nothing has been taken since `before`: idle memory serves. The torture build frees it early, so that it moves. */
static void assert_none_since(long before) {
    if (!TORTURE)
        assert_int_equal(atomic_load(&allocations), before);
}

static hilo_client *client_of(int32_t threads) {
    hilo_client_options o;
    hilo_client *client;
    hilo_client_options_init(&o);
    o.threads = threads;
    o.allocator = (hilo_allocator){counting_realloc, NULL};
    assert_int_equal(hilo_client_create(&o, &client), HILO_OK);
    return client;
}

struct made {
    hilo_client *client;
    hilo_module *module;
    hilo_executable *exe;
    struct plan_builder *b;
    jmp_buf recover;
};

static const char program[] = "func.func private @next(%x: tensor<4xf32>) -> tensor<4xf32> {\n"
                              "  %0 = stablehlo.add %x, %x : tensor<4xf32>\n"
                              "  return %0 : tensor<4xf32>\n"
                              "}\n"
                              "func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {\n"
                              "  return %x : tensor<4xf32>\n"
                              "}\n";

static void begin(struct made *x, int32_t threads, uint32_t narguments, uint32_t nresults) {
    x->client = client_of(threads);
    assert_int_equal(hilo_module_parse(x->client, program, sizeof program - 1, NULL, &x->module), HILO_OK);
    x->exe = rt_executable_new(x->client, x->module);
    assert_non_null(x->exe);
    x->exe->arena.recover = &x->recover;
    if (setjmp(x->recover))
        fail_msg("out of memory");
    x->b = plan_new(&x->exe->arena, x->module->m, narguments, nresults);
    x->exe->inputs = ARENA_ARRAY(&x->exe->arena, struct rt_port, narguments);
    x->exe->outputs = ARENA_ARRAY(&x->exe->arena, struct rt_port, nresults);
}

static struct rt_port port(const struct plan_buffer *v) {
    return (struct rt_port){.type = {ir_dtype_get(v->dtype)->number, v->rank, v->dims}, .name = "", .alias = -1};
}

static void end(struct made *x) {
    struct diag_list d;
    diag_init(&d, mem_system_allocator());
    hilo_status status = plan_finish(x->b, &x->exe->plan, &d);
    if (status != HILO_OK)
        fail_msg("plan_finish: %s", d.first ? d.first->message : "");
    const struct plan *p = &x->exe->plan;
    for (uint32_t i = 0; i < p->narguments; i++)
        x->exe->inputs[i] = port(&p->buffers[p->arguments[i]]);
    for (uint32_t i = 0; i < p->nresults; i++)
        x->exe->outputs[i] = port(&p->buffers[p->results[i]]);
    assert_int_equal(rt_executable_ready(x->exe, &d), HILO_OK);
    x->exe->arena.recover = NULL;
}

static void drop(struct made *x) {
    hilo_executable_release(x->exe);
    hilo_module_release(x->module);
    hilo_client_release(x->client);
}

static hilo_buffer *floats(struct made *x, int64_t n, float first) {
    hilo_buffer *b;
    assert_int_equal(hilo_buffer_create(x->client, HILO_F32, &n, 1, &b), HILO_OK);
    for (int64_t i = 0; i < n; i++)
        ((float *)hilo_buffer_data(b))[i] = first + (float)i;
    return b;
}

static hilo_buffer *execute(struct made *x, const hilo_execute_options *o, hilo_buffer *in) {
    hilo_buffer *out = NULL;
    hilo_status status = hilo_execute(x->exe, o, &in, 1, &out, 1);
    if (status != HILO_OK)
        hilo_diagnostics_write(x->client, 0, hilo_write_stderr, NULL);
    assert_int_equal(status, HILO_OK);
    return out;
}

/* ---- kernels --------------------------------------------------------------------------------- */

enum { N = 1 << 14, ROW = 64 };

/* out[i] = in[i] + 1, a row of 64 an iteration; the scratch is used on the way */
static void add_one(void *const *v, void *scratch, int64_t from, int64_t to) {
    for (int64_t r = from; r < to; r++) {
        float *row = scratch;
        for (int i = 0; i < ROW; i++)
            row[i] = ((const float *)v[0])[r * ROW + i];
        for (int i = 0; i < ROW; i++)
            ((float *)v[1])[r * ROW + i] = row[i] + 1;
    }
}
static void add_all(void *const *v, void *scratch, int64_t from, int64_t to) {
    (void)scratch;
    for (int64_t i = from * N; i < to * N; i++)
        ((float *)v[1])[i] = ((const float *)v[0])[i] + 1;
}

static const struct plan_kernel add_one_kernel = {.name = "add_one", .fn = add_one, .nparams = 2, .grid = N / ROW,
                                                  .scratch_bytes = ROW * sizeof(float), .ns = 1e6};

/* in place: v[0][i] *= 2 */
static void twice(void *const *v, void *scratch, int64_t from, int64_t to) {
    (void)scratch;
    for (int64_t i = from * ROW; i < to * ROW; i++)
        ((float *)v[0])[i] *= 2;
}
static const struct plan_kernel twice_kernel = {.name = "twice", .fn = twice, .nparams = 1, .grid = N / ROW, .ns = 1e6};

/* out = in < 10000 */
static void below(void *const *v, void *scratch, int64_t from, int64_t to) {
    (void)scratch, (void)from, (void)to;
    *(uint8_t *)v[1] = *(const float *)v[0] < 10000;
}
static const struct plan_kernel below_kernel = {.name = "below", .fn = below, .nparams = 2, .grid = 1};

static void increment(void *const *v, void *scratch, int64_t from, int64_t to) {
    (void)scratch, (void)from, (void)to;
    *(float *)v[1] = *(const float *)v[0] + 1;
}
static const struct plan_kernel increment_kernel = {.name = "increment", .fn = increment, .nparams = 2, .grid = 1};

/* out[i] = in[i] + 1 in one iteration: another thread can only have the whole kernel */
static const struct plan_kernel whole_kernel = {.name = "whole", .fn = add_all, .nparams = 2, .grid = 1, .ns = 9000};
/* the same, shared by rows; each of them alone is too little work for that */
static const struct plan_kernel small_kernel = {.name = "small", .fn = add_one, .nparams = 2, .grid = N / ROW,
                                                .scratch_bytes = ROW * sizeof(float), .ns = 15000};

/* ---- programs -------------------------------------------------------------------------------- */

/* (x + 1) + 1 + … `steps` times */
static void make_chain(struct made *x, int32_t threads, int steps) {
    begin(x, threads, 1, 1);
    int64_t n = N;
    uint32_t at = plan_argument(x->b, 0, IR_F32_T, 1, &n);
    for (int i = 0; i < steps; i++) {
        uint32_t next = plan_temp(x->b, IR_F32_T, 1, &n);
        plan_kernel(x->b, &add_one_kernel, (struct plan_use[]){{at, PLAN_IN, 0, 0}, {next, PLAN_OUT, 0, 0}});
        at = next;
    }
    plan_result(x->b, 0, at);
    end(x);
}

enum { LANES = 9 };

/* LANES chains of two kernels, written one after the other: two groups. */
static void make_lanes(struct made *x, int32_t threads) {
    begin(x, threads, 1, LANES);
    int64_t n = N;
    uint32_t in = plan_argument(x->b, 0, IR_F32_T, 1, &n);
    for (uint32_t i = 0; i < LANES; i++) {
        uint32_t between = plan_temp(x->b, IR_F32_T, 1, &n), out = plan_temp(x->b, IR_F32_T, 1, &n);
        plan_kernel(x->b, i % 2 ? &whole_kernel : &small_kernel,
                    (struct plan_use[]){{in, PLAN_IN, 0, 0}, {between, PLAN_OUT, 0, 0}});
        plan_kernel(x->b, &small_kernel, (struct plan_use[]){{between, PLAN_IN, 0, 0}, {out, PLAN_OUT, 1, 0}});
        plan_result(x->b, i, out);
    }
    plan_group(x->b);
    end(x);
}

/* while (x < 10000) x += 1 */
static void make_loop(struct made *x) {
    begin(x, 2, 1, 1);
    uint32_t in = plan_argument(x->b, 0, IR_F32_T, 0, NULL), state = plan_temp(x->b, IR_F32_T, 0, NULL);
    uint32_t test = plan_temp(x->b, IR_I1_T, 0, NULL), next = plan_temp(x->b, IR_F32_T, 0, NULL);
    plan_copy(x->b, 1, &in, &state);
    plan_loop_begin(x->b);
    plan_kernel(x->b, &below_kernel, (struct plan_use[]){{state, PLAN_IN, 0, 0}, {test, PLAN_OUT, 0, 0}});
    plan_loop_body(x->b, test);
    plan_kernel(x->b, &increment_kernel, (struct plan_use[]){{state, PLAN_IN, 0, 0}, {next, PLAN_OUT, 1, 0}});
    plan_copy(x->b, 1, &next, &state);
    plan_loop_end(x->b);
    plan_result(x->b, 0, state);
    end(x);
}

/* ---- tests ----------------------------------------------------------------------------------- */

static void count_step(void *user, const hilo_step_event *e) {
    assert_string_equal(e->kind, "kernel");
    ++*(size_t *)user;
}

static void test_chain(void **state) {
    (void)state;
    float want[N];
    for (int32_t threads = 1; threads <= 3; threads++) {
        struct made x;
        make_chain(&x, threads, 5);
        assert_true(x.exe->plan.memory[PLAN_HOST].block_bytes == N * sizeof(float)); /* half of them are in the result */
        hilo_buffer *in = floats(&x, N, 0.3f);
        for (int run = 0; run < 50; run++) {
            hilo_buffer *out = execute(&x, NULL, in);
            const float *got = hilo_buffer_data(out);
            assert_true(got[7] > 12.29f && got[7] < 12.31f);
            if (threads == 1)
                memcpy(want, got, sizeof want);
            assert_memory_equal(want, got, sizeof want);
            hilo_buffer_release(out);
        }
        hilo_buffer_release(in);
        drop(&x);
    }
}

/* Kernels that do not wait for each other run at once, on any thread; where a probe is set, one after the other. */
static void test_group(void **state) {
    (void)state;
    for (int32_t threads = 1; threads <= 3; threads++) {
        struct made x;
        make_lanes(&x, threads);
        const struct plan *p = &x.exe->plan;
        assert_int_equal(p->nsteps, 2 * LANES);
        assert_int_equal(p->steps[0].group, LANES);
        assert_int_equal(p->steps[LANES].group, LANES);
        hilo_execute_options o;
        hilo_execute_options_init(&o);
        size_t told = 0;
        o.step_user = &told;
        for (int run = 0; run < 20; run++) {
            hilo_buffer *in = floats(&x, N, (float)run), *out[LANES];
            o.step = run % 4 ? NULL : count_step;
            assert_int_equal(hilo_execute(x.exe, &o, &in, 1, out, LANES), HILO_OK);
            for (int i = 0; i < LANES; i++) {
                for (int k = 0; k < N; k++)
                    assert_true(((const float *)hilo_buffer_data(out[i]))[k] == (float)(run + k + 2));
                hilo_buffer_release(out[i]);
            }
            hilo_buffer_release(in);
        }
        assert_int_equal(told, 5 * 2 * LANES);
        drop(&x);
    }
}

static void test_no_allocation(void **state) {
    (void)state;
    struct made x;
    make_chain(&x, 3, 4);
    hilo_buffer *in = floats(&x, N, 1);
    hilo_buffer_release(execute(&x, NULL, in));
    long before = atomic_load(&allocations);
    for (int i = 0; i < 20; i++)
        hilo_buffer_release(execute(&x, NULL, in));
    assert_none_since(before);
    hilo_stats stats = {.struct_size = sizeof stats};
    assert_int_equal(hilo_executable_stats(x.exe, &stats), HILO_OK);
    assert_int_equal(stats.executions, 21);
    assert_true((TORTURE || stats.allocations == 0) && stats.copied_bytes == 0);
    assert_true(stats.peak_bytes >= 3 * N * sizeof(float) && stats.peak_bytes < 4 * N * sizeof(float));
    hilo_buffer_release(in);
    drop(&x);
}

struct caller {
    pthread_t thread;
    struct made *x;
    bool right;
};

static void *call_often(void *user) {
    struct caller *c = user;
    int64_t n = N;
    hilo_buffer *in, *out;
    c->right = hilo_buffer_create(c->x->client, HILO_F32, &n, 1, &in) == HILO_OK;
    for (int i = 0; i < N; i++)
        ((float *)hilo_buffer_data(in))[i] = (float)i;
    for (int run = 0; run < 50 && c->right; run++) {
        c->right = hilo_execute(c->x->exe, NULL, &in, 1, &out, 1) == HILO_OK;
        for (int i = 0; i < N && c->right; i++)
            c->right = ((const float *)hilo_buffer_data(out))[i] == (float)i + 3;
        hilo_buffer_release(out);
    }
    hilo_buffer_release(in);
    return NULL;
}

static void test_callers(void **state) {
    (void)state;
    struct made x;
    struct caller callers[4];
    make_chain(&x, 2, 3);
    for (int i = 0; i < 4; i++) {
        callers[i] = (struct caller){.x = &x};
        assert_int_equal(pthread_create(&callers[i].thread, NULL, call_often, &callers[i]), 0);
    }
    for (int i = 0; i < 4; i++) {
        pthread_join(callers[i].thread, NULL);
        assert_true(callers[i].right);
    }
    drop(&x);
}

static void test_loop(void **state) {
    (void)state;
    struct made x;
    make_loop(&x);
    float zero = 0, got;
    hilo_buffer *in, *out;
    assert_int_equal(hilo_buffer_from_host(x.client, HILO_F32, NULL, 0, &zero, NULL, &in), HILO_OK);
    out = execute(&x, NULL, in);
    assert_int_equal(hilo_buffer_to_host(out, &got, sizeof got), HILO_OK);
    assert_true(got == 10000);
    for (uint32_t i = 1; i < x.exe->plan.nsteps; i++) /* but for the argument's, copies cost nothing */
        assert_true(x.exe->plan.steps[i].kind != PLAN_COPY);
    hilo_buffer_release(in);
    hilo_buffer_release(out);
    drop(&x);
}

static int after_some(void *user) {
    return --*(int *)user < 0;
}

static void test_cancelled(void **state) {
    (void)state;
    struct made x;
    int left = 100;
    make_loop(&x);
    float zero = 0;
    hilo_buffer *in, *out = NULL;
    assert_int_equal(hilo_buffer_from_host(x.client, HILO_F32, NULL, 0, &zero, NULL, &in), HILO_OK);
    hilo_execute_options o;
    hilo_execute_options_init(&o);
    o.cancelled = after_some;
    o.cancelled_user = &left;
    assert_int_equal(hilo_execute(x.exe, &o, &in, 1, &out, 1), HILO_CANCELLED);
    assert_null(out);
    hilo_buffer_release(in);
    drop(&x);
}

/* An argument that is changed in place: copied, unless it is donated. */
static void test_donation(void **state) {
    (void)state;
    struct made x;
    int64_t n = N;
    begin(&x, 2, 1, 1);
    uint32_t in = plan_argument(x.b, 0, IR_F32_T, 1, &n), out = plan_temp(x.b, IR_F32_T, 1, &n);
    plan_copy(x.b, 1, &in, &out);
    plan_kernel(x.b, &twice_kernel, (struct plan_use[]){{out, PLAN_INOUT, 0, 0}});
    plan_result(x.b, 0, out);
    plan_donor(x.b, 0, 0);
    end(&x);
    hilo_execute_options o;
    hilo_execute_options_init(&o);
    o.donate = (const uint8_t[]){1};
    hilo_buffer *a = floats(&x, N, 1), *kept = floats(&x, N, 1), *got;
    const void *data = hilo_buffer_data(a);
    got = execute(&x, NULL, a);
    assert_true(hilo_buffer_data(got) != data && ((const float *)data)[5] == 6);
    hilo_buffer_release(got);
    got = execute(&x, &o, a);
    assert_true(hilo_buffer_data(got) == data && ((const float *)data)[5] == 12);
    assert_null(hilo_buffer_data(a));
    hilo_buffer_release(got);
    hilo_stats stats = {.struct_size = sizeof stats};
    assert_int_equal(hilo_executable_stats(x.exe, &stats), HILO_OK);
    assert_int_equal(stats.copied_bytes, N * sizeof(float)); /* of the first run */
    float bytes[N] = {1};
    hilo_buffer *wrapped; /* memory of the caller's is never written */
    assert_int_equal(hilo_buffer_wrap(x.client, HILO_F32, &n, 1, bytes, NULL, NULL, &wrapped), HILO_OK);
    got = execute(&x, &o, wrapped);
    assert_true(bytes[0] == 1 && *(const float *)hilo_buffer_data(got) == 2);
    hilo_buffer_release(got);
    hilo_buffer_release(wrapped);
    hilo_buffer_release(kept);
    hilo_buffer_release(a);
    drop(&x);
}

struct told {
    int events;
    double last;
};

static void on_step(void *user, const hilo_step_event *e) {
    struct told *t = user;
    assert_true(e->begin_ms >= t->last && e->end_ms >= e->begin_ms && e->bytes == 32);
    assert_string_equal(e->name, "next");
    assert_string_equal(e->kind, "reference");
    t->last = e->end_ms;
    t->events++;
}

/* Functions by the evaluator, over the buffers' memory; every step is reported. */
static void test_reference(void **state) {
    (void)state;
    struct made x;
    int64_t n = 4;
    begin(&x, 1, 1, 1);
    uint32_t in = plan_argument(x.b, 0, IR_F32_T, 1, &n), mid = plan_temp(x.b, IR_F32_T, 1, &n);
    uint32_t out = plan_temp(x.b, IR_F32_T, 1, &n);
    plan_reference(x.b, x.module->functions[0], false, 1, &in, 1, &mid);
    plan_reference(x.b, x.module->functions[0], false, 1, &mid, 1, &out);
    plan_result(x.b, 0, out);
    end(&x);
    struct told told = {0, 0};
    hilo_execute_options o;
    hilo_execute_options_init(&o);
    o.step = on_step;
    o.step_user = &told;
    hilo_buffer *a = floats(&x, 4, 1), *got = execute(&x, &o, a);
    assert_memory_equal(hilo_buffer_data(got), ((float[]){4, 8, 12, 16}), 16);
    assert_int_equal(told.events, 2);
    long before = atomic_load(&allocations);
    hilo_buffer_release(got);
    hilo_buffer_release(execute(&x, NULL, a));
    assert_none_since(before);
    hilo_buffer_release(a);
    drop(&x);
}

/* Runs whose allocations fail: the first, the second, and so on until none does. */
static void test_exhaustion(void **state) {
    (void)state;
    hilo_status status = HILO_RESOURCE_EXHAUSTED;
    for (long k = 0; status != HILO_OK; k++) {
        struct made x;
        hilo_buffer *out = NULL;
        make_chain(&x, 2, 6);
        hilo_buffer *in = floats(&x, N, 1);
        atomic_store(&remaining, k);
        status = hilo_execute(x.exe, NULL, &in, 1, &out, 1);
        atomic_store(&remaining, LONG_MAX);
        assert_true(status == HILO_OK || (status == HILO_RESOURCE_EXHAUSTED && !out));
        hilo_buffer_release(out);
        hilo_buffer_release(execute(&x, NULL, in)); /* and it can go on */
        hilo_buffer_release(in);
        drop(&x);
        assert_int_equal(atomic_load(&live), 0);
        assert_true(k < 100);
    }
}

/* Every iteration is done once, for any number of threads and pieces, and from any caller. */
struct marks {
    struct rt_pool *pool;
    atomic_int done[1000];
    pthread_t thread;
};

static void mark(void *user, void *scratch, int64_t from, int64_t to) {
    struct marks *m = user;
    (void)scratch;
    for (int64_t i = from; i < to; i++)
        atomic_fetch_add(&m->done[i], 1);
}

static void *run_marks(void *user) {
    struct marks *m = user;
    for (int k = 1; k <= 500; k++)
        rt_pool_run(m->pool, 1000, k % 7 + 1, mark, m, NULL);
    return NULL;
}

static void test_pool(void **state) {
    (void)state;
    hilo_allocator al = mem_system_allocator();
    static struct marks m[2];
    for (int32_t threads = 1; threads <= 5; threads += 2) {
        struct rt_pool *pool = rt_pool_new(&al, threads);
        for (int i = 0; i < 2; i++) {
            m[i].pool = pool;
            for (int k = 0; k < 1000; k++)
                atomic_store(&m[i].done[k], 0);
            assert_int_equal(pthread_create(&m[i].thread, NULL, run_marks, &m[i]), 0);
        }
        for (int i = 0; i < 2; i++)
            pthread_join(m[i].thread, NULL);
        for (int k = 0; k < 1000; k++)
            assert_true(atomic_load(&m[0].done[k]) == 500 && atomic_load(&m[1].done[k]) == 500);
        assert_int_equal(rt_pool_reserve(pool, 1000), HILO_OK);
        rt_pool_free(pool);
    }
}

/* A job whose threads wait for each other in their first pieces. */
enum { RANGES = 3, RANGE = 4 };
struct firsts {
    atomic_int arrived;
    pthread_t caller, thread[RANGES]; /* by range */
};

static void come_together(void *user, void *scratch, int64_t begin, int64_t end) {
    static _Thread_local const void *met; /* the job that this thread has been in */
    struct firsts *f = user;
    const time_t until = time(NULL) + 20;
    (void)scratch;
    (void)end;
    if (met == f)
        return;
    met = f;
    if (begin % RANGE == 0)
        f->thread[begin / RANGE] = pthread_self();
    atomic_fetch_add(&f->arrived, 1);
    while (atomic_load(&f->arrived) < RANGES && time(NULL) < until)
        sched_yield();
}

/* Each thread begins with its own range of the iterations, the same in every job. */
static void test_ranges(void **state) {
    (void)state;
    hilo_allocator al = mem_system_allocator();
    struct rt_pool *pool = rt_pool_new(&al, RANGES);
    struct firsts f[2] = {{.caller = pthread_self()}, {.caller = pthread_self()}};
    for (int i = 0; i < 2; i++) {
        memset(f[i].thread, 0, sizeof f[i].thread);
        rt_pool_run(pool, RANGES * RANGE, 1, come_together, &f[i], NULL);
        if (atomic_load(&f[i].arrived) < RANGES) {
            rt_pool_free(pool);
            SKIP_BECAUSE("the system did not run %d threads", RANGES);
        }
        assert_true(pthread_equal(f[i].thread[0], f[i].caller));
        for (int k = 1; k < RANGES; k++)
            assert_true(f[i].thread[k] && pthread_equal(f[i].thread[k], f[0].thread[k]));
    }
    rt_pool_free(pool);
}

#ifdef __linux__
/* The C library's, instead of which all threads are said to be on the first processor of those that they may use, and where
   they are sent is written down. */
static atomic_int sent, sent_back, sent_wrong;

static int first_processor(int *n) {
    cpu_set_t all;
    int i = 0;
    assert_int_equal(sched_getaffinity(0, sizeof all, &all), 0);
    *n = CPU_COUNT(&all);
    while (!CPU_ISSET((size_t)i, &all))
        i++;
    return i;
}

int sched_getcpu(void) {
    int n;
    return first_processor(&n);
}

int sched_setaffinity(pid_t pid, size_t bytes, const cpu_set_t *set) {
    int n, first = first_processor(&n), left = CPU_COUNT_S(bytes, set);
    if (pid == 0 && left == n - 1 && !CPU_ISSET_S((size_t)first, bytes, set))
        atomic_fetch_add(&sent, 1);
    else
        atomic_fetch_add(pid == 0 && left == n ? &sent_back : &sent_wrong, 1);
    return 0;
}

/* A worker that is where its caller is goes elsewhere, but not again and again, and may come back. */
static void test_processors(void **state) {
    (void)state;
    hilo_allocator al = mem_system_allocator();
    static struct marks m;
    int n;
    first_processor(&n);
    atomic_store(&sent, 0);
    atomic_store(&sent_back, 0);
    struct rt_pool *pool = m.pool = rt_pool_new(&al, 2);
    for (int tries = 0; tries < 200 && !atomic_load(&sent); tries++)
        run_marks(&m);
    rt_pool_free(pool);
    assert_true(n == 1 || atomic_load(&sent) > 0);
    assert_int_equal(atomic_load(&sent), atomic_load(&sent_back));
    assert_int_equal(atomic_load(&sent_wrong), 0);
}
#endif

static void test_cache(void **state) {
    (void)state;
    struct rt_cache c;
    rt_cache_init(&c, (hilo_allocator){counting_realloc, NULL});
    hilo_allocator al = rt_cache_allocator(&c);
    for (size_t n = 1; n < (size_t)1 << 24; n += n / 3 + 1) {
        char *p = mem_alloc(&al, n);
        assert_true(p && (uintptr_t)p % 64 == 0);
        memset(p, 1, n);
        mem_free(&al, p, n);
        long before = atomic_load(&allocations);
        char *q = mem_alloc(&al, n);
        assert_ptr_equal(q, p);
        assert_int_equal(atomic_load(&allocations), before);
        memset(q, 1, n);
        q = mem_resize(&al, q, n, 2 * n);
        assert_true(q && q[n - 1] == 1);
        mem_free(&al, q, 2 * n);
        assert_true(c.used_bytes == 0 && c.idle_bytes <= c.peak_bytes + ((size_t)64 << 20));
    }
    rt_cache_free(&c);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_chain), cmocka_unit_test(test_group), cmocka_unit_test(test_no_allocation),
        cmocka_unit_test(test_callers), cmocka_unit_test(test_loop), cmocka_unit_test(test_cancelled),
        cmocka_unit_test(test_donation), cmocka_unit_test(test_reference), cmocka_unit_test(test_exhaustion),
        cmocka_unit_test(test_pool), cmocka_unit_test(test_ranges), cmocka_unit_test(test_cache),
#ifdef __linux__
        cmocka_unit_test(test_processors),
#endif
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
