/* Buffers of a GPU's client, on a stand-in for its driver (HILO_CUDA_PATH). */
#include "../gpu/stand_in.h"
#include "external/cublaslt.h"
#include "external/external.h"
#include "gpu/gpu.h"
#include "hilo.h"
#include "runtime/internal.h"

#include <elf.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
/* cmocka wants the headers before it */
#include <cmocka.h>

enum { SIZE = 40 };

/* The first argument is used on the host alone, the second by a kernel. */
static const char sides[] = STAND_IN_BOTH_SIDES;

/* Kernels, a loop that is one, and a routine of the host. */
static const char mixed[] =
    "func.func @main(%x: tensor<8x8xf32>, %w: tensor<8x8xf32>) -> (tensor<8x8xf32>, tensor<8x8xf32>) {\n"
    "  %zero = stablehlo.constant dense<0> : tensor<i32>\n"
    "  %one = stablehlo.constant dense<1> : tensor<i32>\n"
    "  %n = stablehlo.constant dense<3> : tensor<i32>\n"
    "  %a = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0]\n"
    "      : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>\n"
    "  %b = stablehlo.dot_general %a, %w, contracting_dims = [1] x [0]\n"
    "      : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>\n"
    "  %r:2 = stablehlo.while(%i = %zero, %y = %b) : tensor<i32>, tensor<8x8xf32>\n"
    "  cond {\n"
    "    %c = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>\n"
    "    stablehlo.return %c : tensor<i1>\n"
    "  } do {\n"
    "    %j = stablehlo.add %i, %one : tensor<i32>\n"
    "    %t = stablehlo.dot_general %y, %w, contracting_dims = [1] x [0]\n"
    "      : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>\n"
    "    stablehlo.return %j, %t : tensor<i32>, tensor<8x8xf32>\n"
    "  }\n"
    "  %s = \"stablehlo.sort\"(%b) ({\n"
    "  ^bb0(%p: tensor<f32>, %q: tensor<f32>):\n"
    "    %1 = stablehlo.compare LT, %p, %q : (tensor<f32>, tensor<f32>) -> tensor<i1>\n"
    "    stablehlo.return %1 : tensor<i1>\n"
    "  }) {dimension = 0 : i64} : (tensor<8x8xf32>) -> tensor<8x8xf32>\n"
    "  return %r#1, %s : tensor<8x8xf32>, tensor<8x8xf32>\n"
    "}\n";

static struct fake_cuda_functions fake;

static struct fake_cuda counts(void) {
    return stand_in_counts(&fake);
}

static hilo_status open_client(hilo_client **client) {
    hilo_client_options o;
    hilo_client_options_init(&o);
    o.device = "gpu";
    o.threads = 1;
    return hilo_client_create(&o, client);
}

/* One buffer is both arguments. */
static void one_buffer_on_both_sides(void **state) {
    static const int64_t dims[] = {SIZE};
    hilo_client *client;
    hilo_executable *exe;
    hilo_buffer *x, *out[2] = {NULL, NULL};
    float values[SIZE];
    (void)state;
    fake = stand_in();
    assert_int_equal(open_client(&client), HILO_OK);
    assert_int_equal(hilo_compile_source(client, sides, strlen(sides), NULL, NULL, &exe), HILO_OK);
    for (int i = 0; i < SIZE; i++)
        values[i] = (float)(i * 7 % SIZE);
    assert_int_equal(hilo_buffer_from_host(client, HILO_F32, dims, 1, values, NULL, &x), HILO_OK);
    hilo_buffer *const inputs[] = {x, x};
    for (int run = 0; run < 2; run++) {
        assert_int_equal(hilo_execute(exe, NULL, inputs, 2, out, 2), HILO_OK);
        const float *sorted = hilo_buffer_data(out[0]), *doubled = hilo_buffer_data(out[1]);
        for (int i = 0; i < SIZE; i++)
            assert_true(sorted[i] == (float)i && doubled[i] == 2 * values[i]);
        hilo_buffer_release(out[0]);
        hilo_buffer_release(out[1]);
    }
    hilo_buffer_release(x);
    hilo_executable_release(exe);
    hilo_client_release(client);
}

/* ---- several runs ---------------------------------------------------------------------------- */

enum { SIDE = 8, RUNS = 4 };
static const int64_t square[] = {SIDE, SIDE};

static void multiply(const float *x, const float *w, float *out) {
    for (int i = 0; i < SIDE; i++)
        for (int j = 0; j < SIDE; j++) {
            float sum = 0;
            for (int k = 0; k < SIDE; k++)
                sum += x[i * SIDE + k] * w[k * SIDE + j]; /* small whole numbers: any order gives the same */
            out[i * SIDE + j] = sum;
        }
}

/* Input `run` of `mixed`, and its first result. */
static void values_of(int run, float *x, float *w, float *want) {
    float y[SIDE * SIDE], z[SIDE * SIDE];
    for (int i = 0; i < SIDE * SIDE; i++) {
        x[i] = (float)((i * 5 + run) % 7 - 3);
        w[i] = (float)(i % 3 - 1);
    }
    memcpy(y, x, sizeof y);
    for (int i = 0; i < 5; i++) {
        multiply(y, w, z);
        memcpy(y, z, sizeof y);
    }
    memcpy(want, y, sizeof y);
}

/* Runs after the first launch graphs, whose addresses follow the buffers: here results are kept, so each run has others. */
static void graphs_follow_their_buffers(void **state) {
    hilo_client *client;
    hilo_executable *exe;
    hilo_buffer *in[2], *out[RUNS][2];
    float x[SIDE * SIDE], w[SIDE * SIDE], want[SIDE * SIDE];
    (void)state;
    fake = stand_in();
    assert_int_equal(open_client(&client), HILO_OK);
    assert_int_equal(hilo_compile_source(client, mixed, strlen(mixed), NULL, NULL, &exe), HILO_OK);
    uint64_t launches = 0;
    struct fake_cuda before = counts();
    for (int run = 0; run < RUNS; run++) {
        values_of(run, x, w, want);
        assert_int_equal(hilo_buffer_from_host(client, HILO_F32, square, 2, x, NULL, &in[0]), HILO_OK);
        assert_int_equal(hilo_buffer_from_host(client, HILO_F32, square, 2, w, NULL, &in[1]), HILO_OK);
        assert_int_equal(hilo_execute(exe, NULL, in, 2, out[run], 2), HILO_OK);
        hilo_buffer_release(in[0]);
        hilo_buffer_release(in[1]);
        if (run == 0)
            launches = counts().launches;
    }
    struct fake_cuda after = counts();
    assert_true(launches > before.launches);
    assert_int_equal(after.launches, launches); /* of the first run alone */
    assert_int_equal(after.graphs, before.graphs + RUNS - 1);
    assert_true(after.updates > before.updates);
    for (int run = 0; run < RUNS; run++) {
        values_of(run, x, w, want);
        assert_memory_equal(hilo_buffer_data(out[run][0]), want, sizeof want);
        hilo_buffer_release(out[run][0]);
        hilo_buffer_release(out[run][1]);
    }
    hilo_executable_release(exe);
    hilo_client_release(client);
    assert_int_equal(counts().live, 0);
}

/* ---- calls that fail ------------------------------------------------------------------------- */

/* From the client to results on the host, three runs; the first status that is not OK. */
static hilo_status everything(bool *right) {
    hilo_client *client = NULL;
    hilo_executable *exe = NULL;
    float x[SIDE * SIDE], w[SIDE * SIDE], want[SIDE * SIDE];
    hilo_status status = open_client(&client);
    if (status == HILO_OK)
        status = hilo_compile_source(client, mixed, strlen(mixed), NULL, NULL, &exe);
    for (int run = 0; run < 3 && status == HILO_OK; run++) {
        hilo_buffer *in[2] = {NULL, NULL}, *out[2] = {NULL, NULL};
        values_of(run, x, w, want);
        status = hilo_buffer_from_host(client, HILO_F32, square, 2, x, NULL, &in[0]);
        if (status == HILO_OK)
            status = hilo_buffer_from_host(client, HILO_F32, square, 2, w, NULL, &in[1]);
        if (status == HILO_OK)
            status = hilo_execute(exe, NULL, in, 2, out, 2);
        const void *data = out[0] ? hilo_buffer_data(out[0]) : NULL;
        if (status == HILO_OK && !data)
            status = HILO_INTERNAL;
        *right &= !data || memcmp(data, want, sizeof want) == 0;
        hilo_buffer_release(in[0]);
        hilo_buffer_release(in[1]);
        hilo_buffer_release(out[0]);
        hilo_buffer_release(out[1]);
    }
    hilo_executable_release(exe);
    hilo_client_release(client);
    return status;
}

/* Every call of the driver fails once: a status, right results or none, nothing left over. */
static void each_call_fails(void **state) {
    bool right = true;
    uint64_t n = 0, told = 0;
    (void)state;
    fake = stand_in();
    for (;; n++) {
        uint64_t failed = counts().failed;
        fake.let_fail(n);
        hilo_status status = everything(&right);
        fake.let_fail(UINT64_MAX);
        assert_int_equal(counts().live, 0);
        assert_true(right);
        if (counts().failed == failed) {
            assert_int_equal(status, HILO_OK);
            break;
        }
        told += status != HILO_OK;
    }
    print_message("%d calls failed in turn, %d were told\n", (int)n, (int)told);
    assert_true(n > 100 && told > n / 2);
}

/* The driver is not told how long a cubin is: one that ends before what its headers speak of does not get there. */
static void damaged_cubins(void **state) {
    Elf64_Shdr s = {.sh_type = SHT_PROGBITS, .sh_offset = sizeof(Elf64_Ehdr), .sh_size = sizeof s};
    Elf64_Phdr p = {.p_type = PT_LOAD, .p_offset = sizeof(Elf64_Ehdr), .p_filesz = sizeof s + sizeof p};
    Elf64_Ehdr h = {.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
                    .e_machine = EM_CUDA, .e_shoff = sizeof h, .e_shnum = 1, .e_shentsize = sizeof s,
                    .e_phoff = sizeof h + sizeof s, .e_phnum = 1, .e_phentsize = sizeof p};
    char image[sizeof h + sizeof s + sizeof p];
    struct gpu *g;
    struct gpu_module *module;
    struct diag_list d;
    (void)state;
    fake = stand_in();
    diag_init(&d, mem_system_allocator());
    assert_int_equal(gpu_open(0, &d.al, &d, &g), HILO_OK);
    for (int damage = 0; damage < 15; damage++) {
        Elf64_Ehdr head = h;
        Elf64_Shdr section = s;
        Elf64_Phdr segment = p;
        uint64_t calls = counts().calls;
        size_t n = damage == 1 ? sizeof h - 1 : sizeof image;
        head.e_shnum = damage == 2 ? 2 : h.e_shnum;
        section.sh_size += damage == 3 ? sizeof p + 1 : 0;
        head.e_phoff = damage == 4 ? UINT64_MAX : h.e_phoff;
        head.e_machine = damage == 5 ? EM_X86_64 : h.e_machine;
        segment.p_filesz += damage == 6;
        segment.p_offset = damage == 7 ? UINT64_MAX : p.p_offset;
        head.e_phnum = damage == 8 ? 2 : damage == 9 ? PN_XNUM : h.e_phnum;
        head.e_phentsize = damage == 10 ? 1 : h.e_phentsize;
        head.e_shentsize = damage == 11 ? 1 : h.e_shentsize;
        head.e_shstrndx = damage == 12;
        section.sh_link = damage == 13;
        head.e_shnum = damage == 14 ? 0 : head.e_shnum; /* it is in the first section then */
        memcpy(image, &head, sizeof head);
        memcpy(image + sizeof head, &section, sizeof section);
        memcpy(image + sizeof head + sizeof section, &segment, sizeof segment);
        assert_int_equal(gpu_module_load(g, (struct str){image, n}, &d, &module), HILO_FAILED_PRECONDITION);
        assert_int_equal(counts().calls == calls, damage != 0); /* the whole one has nothing in it */
        diag_clear(&d);
    }
    gpu_close(g);
    assert_int_equal(counts().live, 0);
}

/* ---- the guard of divided programs */

/* For the machine of the test, arithmetic is the processor's, what moves data the GPU's. */
static const char both[] =
    "func.func @main(%x: tensor<96x96xf32>, %y: tensor<96x96xf32>)\n"
    "    -> (tensor<96x96xf32>, tensor<96x96xf32>) {\n"
    "  %0 = stablehlo.add %x, %y : tensor<96x96xf32>\n"
    "  %1 = stablehlo.dot_general %0, %y, contracting_dims = [1] x [0]\n"
    "      : (tensor<96x96xf32>, tensor<96x96xf32>) -> tensor<96x96xf32>\n"
    "  %2 = stablehlo.transpose %1, dims = [1, 0] : (tensor<96x96xf32>) -> tensor<96x96xf32>\n"
    "  %3 = stablehlo.transpose %y, dims = [1, 0] : (tensor<96x96xf32>) -> tensor<96x96xf32>\n"
    "  return %2, %3 : tensor<96x96xf32>, tensor<96x96xf32>\n"
    "}\n";

static const char opposites[] = "gpu sm_80\nprocessor 1 100 1e12\ndevice 1 1e12 100 1e9\nlink 0.1 1e12\narguments host\n";

static int nrevoked;

static void count_revoked(void *user, hilo_log_level level, const char *message) {
    (void)user;
    nrevoked += level == HILO_LOG_WARNING && strstr(message, "placement: divided, a run takes") != NULL;
}

static hilo_client *client_of_machine(void) {
    hilo_client_options o;
    hilo_client *client;
    hilo_client_options_init(&o);
    o.device = "gpu";
    o.threads = 1;
    o.log = count_revoked;
    assert_int_equal(hilo_client_create(&o, &client), HILO_OK);
    return client;
}

/* Writes a machine to a new file, whose name ends in XXXXXX before. */
static void write_machine(char *path, const char *machine) {
    int file = mkstemp(path);
    assert_true(file >= 0);
    assert_int_equal(write(file, machine, strlen(machine)), strlen(machine));
    close(file);
}

static void on_step(void *user, const hilo_step_event *event) {
    (void)user;
    (void)event;
}

/* Compiles a program for a machine of the tests, and runs it as often, the last time with these options (NULL: none); its
   placement is as `how` says. In the last run the call of the driver after `fails` others fails; returns its status. */
static hilo_status divided(hilo_client *client, const char *program, const char *machine, int runs, const char *how,
                           const hilo_execute_options *last, uint64_t fails) {
    int64_t dims[] = {96, 96};
    hilo_compile_options o;
    hilo_module *module;
    hilo_executable *exe;
    hilo_buffer *in[2];
    hilo_status status = HILO_OK;
    hilo_compile_options_init(&o);
    o.machine = machine;
    assert_int_equal(hilo_module_parse(client, program, strlen(program), NULL, &module), HILO_OK);
    assert_int_equal(hilo_compile(client, module, &o, &exe), HILO_OK);
    hilo_module_release(module);
    assert_non_null(strstr(rt_executable_plan(exe)->placement, how));
    for (int i = 0; i < 2; i++) {
        assert_int_equal(hilo_buffer_create(client, HILO_F32, dims, 2, &in[i]), HILO_OK);
        memset(hilo_buffer_data(in[i]), 0, hilo_buffer_bytes(in[i]));
    }
    for (int i = 1; i <= runs; i++) {
        hilo_buffer *out[2] = {NULL, NULL};
        fake.let_fail(i == runs ? fails : UINT64_MAX);
        status = hilo_execute(exe, i == runs ? last : NULL, in, 2, out, 2);
        fake.let_fail(UINT64_MAX);
        assert_true(status == HILO_OK || i == runs);
        for (int k = 0; k < 2; k++) {
            assert_int_equal(out[k] != NULL, status == HILO_OK);
            hilo_buffer_release(out[k]);
        }
    }
    hilo_buffer_release(in[0]);
    hilo_buffer_release(in[1]);
    hilo_executable_release(exe);
    return status;
}

/* The third run of a divided program is held against what is expected of one side alone, microseconds here: the stand-in takes
   longer, so the program, and no other, is not divided again. */
static void divisions_are_revoked(void **state) {
    char path[] = "/tmp/hilo-machine-XXXXXX", other[sizeof both];
    (void)state;
    fake = stand_in();
    write_machine(path, opposites);
    memcpy(other, both, sizeof both);
    memcpy(strstr(other, "add %x, %y"), "add %y, %y", sizeof "add %y, %y" - 1);
    hilo_client *client = client_of_machine();
    hilo_execute_options observed;
    hilo_execute_options_init(&observed);
    observed.step = on_step;
    nrevoked = 0;
    assert_int_equal(divided(client, both, path, 1, "both:", NULL, UINT64_MAX), HILO_OK);
    assert_int_equal(divided(client, both, path, 2, "both:", NULL, UINT64_MAX), HILO_OK);
    assert_int_equal(divided(client, both, path, 3, "both:", &observed, UINT64_MAX), HILO_OK);
    assert_int_equal(nrevoked, 0); /* by the first ones, nor by one that waits after each step */
    assert_int_equal(divided(client, both, path, 4, "both:", NULL, UINT64_MAX), HILO_OK);
    assert_int_equal(nrevoked, 1);
    assert_int_equal(divided(client, both, path, 4, "revoked: a run took longer than one side alone", NULL, UINT64_MAX),
                     HILO_OK);
    assert_int_equal(divided(client, other, path, 1, "both:", NULL, UINT64_MAX), HILO_OK);
    assert_int_equal(nrevoked, 1);
    hilo_client_release(client);
    remove(path);
    assert_int_equal(counts().live, 0);
}

struct nested {
    hilo_executable *exe;
    hilo_buffer *in[2];
    int left; /* runs to be made while another one goes on */
};

static void run_once(struct nested *x, const hilo_execute_options *o) {
    hilo_buffer *out[2];
    assert_int_equal(hilo_execute(x->exe, o, x->in, 2, out, 2), HILO_OK);
    hilo_buffer_release(out[0]);
    hilo_buffer_release(out[1]);
}

static int run_nested(void *user) {
    struct nested *x = user;
    if (x->left > 0) {
        x->left--;
        run_once(x, NULL);
    }
    return 0;
}

/* A run during which there was another one took its time, too: the next that is alone is judged, whichever ends last. */
static void runs_at_once_are_not_judged(void **state) {
    char path[] = "/tmp/hilo-machine-XXXXXX";
    int64_t dims[] = {96, 96};
    struct nested x = {.left = 0};
    hilo_compile_options o;
    hilo_execute_options with_another;
    (void)state;
    fake = stand_in();
    write_machine(path, opposites);
    hilo_client *client = client_of_machine();
    hilo_compile_options_init(&o);
    o.machine = path;
    hilo_execute_options_init(&with_another);
    with_another.cancelled = run_nested;
    with_another.cancelled_user = &x;
    nrevoked = 0;
    assert_int_equal(hilo_compile_source(client, both, strlen(both), NULL, &o, &x.exe), HILO_OK);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(hilo_buffer_create(client, HILO_F32, dims, 2, &x.in[i]), HILO_OK);
        memset(hilo_buffer_data(x.in[i]), 0, hilo_buffer_bytes(x.in[i]));
    }
    for (int run = 0; run < 4; run++) { /* of these the last two have what they need from runs before */
        x.left = 2;
        run_once(&x, &with_another);
        assert_int_equal(x.left, 0);
    }
    assert_int_equal(nrevoked, 0);
    for (int run = 0; run < 2; run++) {
        run_once(&x, NULL);
        assert_int_equal(nrevoked, 1);
    }
    for (int i = 0; i < 2; i++)
        hilo_buffer_release(x.in[i]);
    hilo_executable_release(x.exe);
    hilo_client_release(client);
    remove(path);
    assert_int_equal(counts().live, 0);
}

/* Every call of the run that is held against that fails once, its wait for the device among them: then there are no results. */
static void guarded_runs_fail(void **state) {
    char path[] = "/tmp/hilo-machine-XXXXXX";
    uint64_t n = 0, told = 0;
    (void)state;
    fake = stand_in();
    write_machine(path, opposites);
    for (;; n++) {
        uint64_t failed = counts().failed;
        hilo_client *client = client_of_machine();
        hilo_status status = divided(client, both, path, 3, "both:", NULL, n);
        hilo_client_release(client);
        assert_int_equal(counts().live, 0);
        if (counts().failed == failed) {
            assert_int_equal(status, HILO_OK);
            break;
        }
        told += status != HILO_OK;
    }
    remove(path);
    assert_true(told > 1);
}

/* ---- both sides at once ------------------------------------------------------------------------ */

struct watched {
    uint32_t step, after; /* steps that have begun so far, of a run without loops; the one that is watched */
    uint64_t queued;      /* work of the device that was not done when it began */
};

static int watch(void *user) {
    struct watched *x = user;
    if (x->step++ == x->after)
        x->queued = counts().queued;
    return 0;
}

/* Runs a program of two arguments and one result, that of integers, once; returns what the device had still to do when the step
   after the last kernel of the host began. */
static uint64_t left_after_host(hilo_client *client, const char *program, const char *machine, int n) {
    enum { ROWS = 96 };
    static float x[ROWS * ROWS], w[ROWS * ROWS];
    int64_t dims[] = {n, n};
    struct watched watched = {0, 0, 0};
    hilo_compile_options o;
    hilo_execute_options e;
    hilo_executable *exe;
    hilo_buffer *in[2], *out;
    hilo_compile_options_init(&o);
    o.machine = machine;
    assert_int_equal(hilo_compile_source(client, program, strlen(program), NULL, &o, &exe), HILO_OK);
    const struct plan *p = rt_executable_plan(exe);
    for (uint32_t i = 0; i < p->nsteps; i++)
        if (p->steps[i].kernel && !p->steps[i].kernel->gpu.threads)
            watched.after = i + 1;
    assert_true(watched.after > 0 && watched.after < p->nsteps);
    for (int i = 0; i < n * n; i++) {
        x[i] = (float)(i * 7 % 5);
        w[i] = (float)(i * 3 % 11);
    }
    assert_int_equal(hilo_buffer_from_host(client, HILO_F32, dims, 2, x, NULL, &in[0]), HILO_OK);
    assert_int_equal(hilo_buffer_from_host(client, HILO_F32, dims, 2, w, NULL, &in[1]), HILO_OK);
    hilo_execute_options_init(&e);
    e.cancelled = watch;
    e.cancelled_user = &watched;
    assert_int_equal(hilo_execute(exe, &e, in, 2, &out, 1), HILO_OK);
    const float *z = hilo_buffer_data(out);
    for (int i = 0; i < n; i++)
        for (int k = 0; k < n; k++) {
            float want = 0;
            for (int j = 0; j < n; j++)
                want += x[i * n + j] * w[j * n + k];
            assert_true(z[i * n + k] == want);
        }
    hilo_buffer_release(in[0]);
    hilo_buffer_release(in[1]);
    hilo_buffer_release(out);
    hilo_executable_release(exe);
    return watched.queued;
}

/* Of a product that is divided the GPU has its part to do while the host computes the other, which waits for nothing. The
   stand-in may do it when it is enqueued, but not always. */
static void both_sides_at_once(void **state) {
    static const char product[] =
        "func.func @main(%x: tensor<96x96xf32>, %w: tensor<96x96xf32>) -> tensor<96x96xf32> {\n"
        "  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0]\n"
        "      : (tensor<96x96xf32>, tensor<96x96xf32>) -> tensor<96x96xf32>\n"
        "  return %0 : tensor<96x96xf32>\n"
        "}\n";
    static const char machine[] = "gpu sm_80\nprocessor 0 1 1\ndevice 0 1 1 1e9\nlink 0 1e9\narguments host\n";
    char path[] = "/tmp/hilo-machine-XXXXXX";
    uint64_t left = 0;
    (void)state;
    fake = stand_in();
    write_machine(path, machine);
    hilo_client *client = client_of_machine();
    for (int i = 0; i < 8; i++)
        left += left_after_host(client, product, path, 96);
    hilo_client_release(client);
    remove(path);
    assert_true(left > 0 || TORTURE); /* where the host takes so long that the stand-in is done */
    assert_int_equal(counts().live, 0);
}

/* A product by cuBLASLt: not for addresses that it does not take, not in place, and not of types that it lacks. */
static void products_of_a_library(void **state) {
    struct ext_product p = {.axes = {.in = IR_F32_T, .out = IR_F32_T,
                                     .batch = {.count = 1},
                                     .rows = {1, {{8, 8, 0}}, 8},
                                     .columns = {1, {{8, 0, 1}}, 8},
                                     .depth = {1, {{8, 1, 8}}, 8}},
                            .bias = -1, .added = -1, .a = 0, .b = 1, .out = 2};
    float x[3][64];
    char *memory;
    struct gpu *g;
    struct diag_list d;
    void *product, *another, *stream, *buffers[3], *place;
    (void)state;
    fake = stand_in();
    diag_init(&d, mem_system_allocator());
    if (ext_missing(LIB_CUBLASLT))
        SKIP_BECAUSE("HILO_CUBLASLT_PATH names no stand-in: %s", ext_missing(LIB_CUBLASLT));
    assert_int_equal(gpu_open(0, &d.al, &d, &g), HILO_OK);
    assert_int_equal(gpu_stream(g, &d, &stream), HILO_OK);
    assert_int_equal(gpu_alloc(g, sizeof x + 16, "the test", &d, &place), HILO_OK);
    memory = place;
    for (int i = 0; i < 64; i++) {
        x[0][i] = (float)i;
        x[1][i] = i / 8 == i % 8 ? 2 : 0;
        x[2][i] = -1;
    }
    assert_int_equal(gpu_copy(g, GPU_TO_DEVICE, memory, x, sizeof x, &d), HILO_OK);
    p.axes.in = IR_I32_T;
    assert_int_equal(ext_product_prepare(&p, g, &d, &product), HILO_UNIMPLEMENTED);
    p.axes.in = IR_F32_T;
    p.axes.depth.dim[0].a = 2; /* nothing is one after the other */
    p.axes.rows.dim[0].a = 16;
    assert_int_equal(ext_product_prepare(&p, g, &d, &product), HILO_UNIMPLEMENTED);
    p.axes.depth.dim[0].a = 1;
    p.axes.rows.dim[0].a = 8;
    assert_int_equal(ext_product_prepare(&p, g, &d, &another), HILO_OK);
    ext_product_release(another); /* the device's handle stays */
    assert_int_equal(ext_product_prepare(&p, g, &d, &product), HILO_OK);
    for (int i = 0; i < 3; i++) {
        for (int k = 0; k < 3; k++)
            buffers[k] = memory + k * (int)sizeof x[0] + (k == i ? 4 : 0);
        assert_int_equal(ext_product_run(product, stream, buffers, NULL, &d), HILO_UNIMPLEMENTED);
        buffers[i] = memory + i * (int)sizeof x[0];
    }
    for (int i = 0; i < 2; i++) { /* in place of an operand */
        buffers[2] = buffers[i];
        assert_int_equal(ext_product_run(product, stream, buffers, NULL, &d), HILO_UNIMPLEMENTED);
    }
    buffers[2] = memory + 2 * (int)sizeof x[0];
    assert_int_equal(ext_product_run(product, stream, buffers, NULL, &d), HILO_OK);
    assert_int_equal(gpu_copy(g, GPU_TO_HOST, x[0], buffers[2], sizeof x[0], &d), HILO_OK);
    assert_int_equal(gpu_wait(g, &d), HILO_OK);
    for (int i = 0; i < 64; i++)
        assert_true(x[0][i] == 2 * (float)i);
    ext_product_release(product);
    gpu_free(g, place, sizeof x + 16);
    gpu_close(g);
    diag_clear(&d);
    assert_int_equal(counts().live, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(one_buffer_on_both_sides),
                                       cmocka_unit_test(graphs_follow_their_buffers),
                                       cmocka_unit_test(each_call_fails),
                                       cmocka_unit_test(damaged_cubins),
                                       cmocka_unit_test(divisions_are_revoked),
                                       cmocka_unit_test(runs_at_once_are_not_judged),
                                       cmocka_unit_test(guarded_runs_fail),
                                       cmocka_unit_test(both_sides_at_once),
                                       cmocka_unit_test(products_of_a_library)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
