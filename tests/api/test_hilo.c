/* hilo.h: every function with good and bad arguments, from several threads, and out of memory at every allocation. */
#include "hilo.h"

#include <dirent.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

/* ---- fixtures -------------------------------------------------------------------------------- */

/* Two inputs with names, two outputs, one alias; a private helper, and a second public function. */
static const char affine[] =
    "module @affine {\n"
    "  func.func public @main(%x: tensor<2x3xf32> {tf.aliasing_output = 0 : i32} loc(\"x\"),\n"
    "      %k: tensor<f32> {jax.arg_info = \"k\"}) -> (tensor<2x3xf32> {jax.result_info = \"y\"}, tensor<2x3xi1>) {\n"
    "    %0 = stablehlo.broadcast_in_dim %k, dims = [] : (tensor<f32>) -> tensor<2x3xf32>\n"
    "    %1 = func.call @twice(%x) : (tensor<2x3xf32>) -> tensor<2x3xf32>\n"
    "    %2 = stablehlo.add %1, %0 : tensor<2x3xf32>\n"
    "    %3 = stablehlo.compare GT, %2, %0 : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xi1>\n"
    "    return %2, %3 : tensor<2x3xf32>, tensor<2x3xi1>\n"
    "  }\n"
    "  func.func private @twice(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {\n"
    "    %0 = stablehlo.add %x, %x : tensor<2x3xf32>\n"
    "    return %0 : tensor<2x3xf32>\n"
    "  }\n"
    "  func.func @same(%x: tensor<4xi32>) -> (tensor<4xi32>, tensor<4xi32>) {\n"
    "    return %x, %x : tensor<4xi32>, tensor<4xi32>\n"
    "  }\n"
    "}\n";

static const float six[6] = {1, 2, 3, 4, 5, 6};

static hilo_client *new_client(void) {
    hilo_client *client = NULL;
    assert_int_equal(hilo_client_create(NULL, &client), HILO_OK);
    assert_non_null(client);
    return client;
}

static hilo_module *parse(hilo_client *client, const char *text) {
    hilo_module *module = NULL;
    hilo_status status = hilo_module_parse(client, text, strlen(text), NULL, &module);
    if (status != HILO_OK)
        hilo_diagnostics_write(client, 0, hilo_write_stderr, NULL);
    assert_int_equal(status, HILO_OK);
    return module;
}

static hilo_executable *build(hilo_client *client, const char *text, const char *entry) {
    hilo_module *module = parse(client, text);
    hilo_compile_options o;
    hilo_compile_options_init(&o);
    o.entry = entry;
    hilo_executable *exe = NULL;
    hilo_status status = hilo_compile(client, module, &o, &exe);
    if (status != HILO_OK)
        hilo_diagnostics_write(client, 0, hilo_write_stderr, NULL);
    assert_int_equal(status, HILO_OK);
    hilo_module_release(module); /* the executable keeps what it needs */
    return exe;
}

static hilo_buffer *buffer(hilo_client *client, hilo_dtype dtype, const int64_t *dims, uint32_t rank,
                           const void *data) {
    hilo_buffer *b = NULL;
    assert_int_equal(hilo_buffer_from_host(client, dtype, dims, rank, data, NULL, &b), HILO_OK);
    return b;
}

static hilo_buffer *matrix(hilo_client *client) {
    return buffer(client, HILO_F32, (int64_t[]){2, 3}, 2, six);
}

static hilo_buffer *scalar(hilo_client *client, float x) {
    return buffer(client, HILO_F32, NULL, 0, &x);
}

/* The one diagnostic that there is contains `text`; afterwards there is none. */
static void expect_diagnostic(hilo_client *client, hilo_status status, const char *text) {
    hilo_diagnostic d = {.struct_size = sizeof d};
    assert_int_equal(hilo_diagnostics_count(client), 1);
    assert_int_equal(hilo_diagnostics_get(client, 0, &d), HILO_OK);
    assert_int_equal(d.status, status);
    if (!strstr(d.message, text))
        fail_msg("'%s' is not in '%s'", text, d.message);
    hilo_diagnostics_clear(client);
}

struct text {
    char p[1 << 16];
    size_t n;
};

static void keep_text(void *user, const char *p, size_t n) {
    struct text *t = user;
    assert_true(t->n + n < sizeof t->p);
    memcpy(t->p + t->n, p, n);
    t->p[t->n += n] = '\0';
}

/* ---- 1. version, status, types --------------------------------------------------------------- */

static void test_version(void **state) {
    (void)state;
    char text[32];
    snprintf(text, sizeof text, "%d.%d.%d", HILO_VERSION_MAJOR, HILO_VERSION_MINOR, HILO_VERSION_PATCH);
    assert_string_equal(hilo_version(), text);
    assert_string_equal(hilo_status_name(HILO_INVALID_ARGUMENT), "INVALID_ARGUMENT");
    assert_string_equal(hilo_status_name(HILO_UNAUTHENTICATED), "UNAUTHENTICATED");
    assert_string_equal(hilo_status_name((hilo_status)99), "UNKNOWN");
}

static void test_dtypes(void **state) {
    (void)state;
    static const struct { hilo_dtype t; size_t bytes; const char *name; } known[] = {
        {HILO_PRED, 1, "i1"},       {HILO_S2, 1, "i2"},        {HILO_S4, 1, "i4"},       {HILO_S64, 8, "i64"},
        {HILO_U4, 1, "ui4"},        {HILO_U32, 4, "ui32"},     {HILO_F16, 2, "f16"},     {HILO_BF16, 2, "bf16"},
        {HILO_F64, 8, "f64"},       {HILO_C64, 8, "complex<f32>"}, {HILO_C128, 16, "complex<f64>"},
        {HILO_F8E4M3FN, 1, "f8E4M3FN"}, {HILO_F4E2M1FN, 1, "f4E2M1FN"}, {HILO_F6E3M2FN, 1, "f6E3M2FN"},
        {HILO_TOKEN, 0, "token"},   {HILO_DTYPE_INVALID, 0, "invalid"}, {(hilo_dtype)12345, 0, "invalid"},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        assert_int_equal(hilo_dtype_size(known[i].t), known[i].bytes);
        assert_string_equal(hilo_dtype_name(known[i].t), known[i].name);
    }
    for (int t = HILO_PRED; t <= HILO_F4E2M1FN; t++)
        assert_string_not_equal(hilo_dtype_name((hilo_dtype)t), "invalid");
}

/* ---- 2. clients and diagnostics -------------------------------------------------------------- */

struct log {
    int errors, lines;
    char last[256];
};

static void keep_log(void *user, hilo_log_level level, const char *message) {
    struct log *l = user;
    l->errors += level == HILO_LOG_ERROR;
    l->lines++;
    snprintf(l->last, sizeof l->last, "%s", message);
}

static void test_client_options(void **state) {
    (void)state;
    hilo_client *client = NULL;
    hilo_client_options o;
    struct log log = {0};
    hilo_client_options_init(&o);
    assert_int_equal(o.struct_size, sizeof o);
    hilo_client_options_init(NULL);
    o.threads = 3;
    assert_int_equal(hilo_client_create(&o, &client), HILO_OK);
    assert_int_equal(hilo_client_threads(client), 3);
    assert_string_equal(hilo_client_device_name(client), "cpu");
    hilo_client_release(client);
    hilo_client_release(NULL);
    assert_true(hilo_client_threads(NULL) == 0 && *hilo_client_device_name(NULL) == '\0');

    client = NULL;
    assert_int_equal(hilo_client_create(NULL, NULL), HILO_INVALID_ARGUMENT);
    o.log = keep_log;
    o.log_user = &log;
    o.threads = -1;
    assert_int_equal(hilo_client_create(&o, &client), HILO_INVALID_ARGUMENT);
    o.threads = 0;
    o.device = "abacus";
    assert_int_equal(hilo_client_create(&o, &client), HILO_NOT_FOUND);
    assert_int_equal(log.errors, 2);
    assert_non_null(strstr(log.last, "cpu"));
    assert_null(client);
}

/* A struct of an older header ends early; one of a newer header may not ask for what is not known. */
static void test_struct_sizes(void **state) {
    (void)state;
    struct { hilo_client_options o; uint64_t more; } newer;
    hilo_client *client = NULL;
    memset(&newer, 0x55, sizeof newer);
    hilo_client_options_init_sized(&newer.o, offsetof(hilo_client_options, device)); /* an older header's: no more is written */
    assert_int_equal(newer.o.struct_size, offsetof(hilo_client_options, device));
    assert_int_equal(newer.o.threads, 0);
    assert_int_equal((uintptr_t)newer.o.device, UINTPTR_MAX / 0xff * 0x55);
    hilo_client_options_init_sized(&newer.o, sizeof newer); /* a newer one's: what the library lacks is unset */
    assert_int_equal(newer.more, 0);
    hilo_client_options_init(&newer.o);
    newer.o.threads = 2;
    newer.o.device = NULL; /* after the older header's end */
    newer.o.struct_size = offsetof(hilo_client_options, device);
    assert_int_equal(hilo_client_create(&newer.o, &client), HILO_OK);
    assert_int_equal(hilo_client_threads(client), 2);
    hilo_client_release(client);

    client = NULL;
    newer.o.device = "cpu";
    newer.o.struct_size = sizeof newer;
    newer.more = 0;
    assert_int_equal(hilo_client_create(&newer.o, &client), HILO_OK);
    hilo_client_release(client);
    client = NULL;
    newer.more = 1;
    assert_int_equal(hilo_client_create(&newer.o, &client), HILO_INVALID_ARGUMENT);
    newer.o.struct_size = 4;
    assert_int_equal(hilo_client_create(&newer.o, &client), HILO_INVALID_ARGUMENT);
    assert_null(client);

    client = new_client();
    hilo_module_options m = {.struct_size = 1};
    hilo_module *module = NULL;
    assert_int_equal(hilo_module_parse(client, "", 0, &m, &module), HILO_INVALID_ARGUMENT);
    assert_int_equal(hilo_module_load(client, "x", &m, &module), HILO_INVALID_ARGUMENT);
    module = parse(client, affine);
    hilo_print_options p = {.struct_size = 1};
    struct text text = {.n = 0};
    assert_int_equal(hilo_module_print(module, &p, keep_text, &text), HILO_INVALID_ARGUMENT);
    hilo_compile_options c = {.struct_size = 1};
    hilo_executable *exe = NULL;
    assert_int_equal(hilo_compile(client, module, &c, &exe), HILO_INVALID_ARGUMENT);
    hilo_diagnostic d = {.struct_size = 1};
    assert_int_equal(hilo_diagnostics_get(client, 0, &d), HILO_INVALID_ARGUMENT);
    assert_null(exe);
    hilo_module_release(module);
    hilo_client_release(client);
}

/* What a client with a receiver of its own receives. */
struct told {
    int n;
    hilo_status status;
    uint32_t line;
    char source[32];
};

static void tell(void *user, const hilo_diagnostic *d) {
    struct told *t = user;
    t->n++;
    t->status = d->status;
    t->line = d->line;
    snprintf(t->source, sizeof t->source, "%s", d->source);
}

static void test_diagnostics_told(void **state) {
    (void)state;
    struct told told = {.n = 0};
    hilo_client_options o;
    hilo_client_options_init(&o);
    o.diagnostic = tell;
    o.diagnostic_user = &told;
    hilo_client *client;
    hilo_module *module = NULL;
    assert_int_equal(hilo_client_create(&o, &client), HILO_OK);
    static const char text[] = "\nstablehlo.nothing";
    assert_int_equal(hilo_module_parse(client, text, sizeof text - 1, NULL, &module), HILO_INVALID_ARGUMENT);
    assert_int_equal(told.n, 1);
    assert_int_equal(told.status, HILO_INVALID_ARGUMENT);
    assert_int_equal(told.line, 2);
    assert_string_equal(told.source, "stablehlo.nothing");
    assert_int_equal(hilo_diagnostics_count(client), 0);
    hilo_client_release(client);
}

static void test_diagnostics(void **state) {
    (void)state;
    static const char wrong[] = "func.func @f(%a: tensor<2xf32>, %b: tensor<3xf32>) -> tensor<2xf32> {\n"
                                "  %0 = \"stablehlo.add\"(%a, %b) : (tensor<2xf32>, tensor<3xf32>) -> tensor<2xf32>\n"
                                "  return %0 : tensor<2xf32>\n"
                                "}\n";
    hilo_client *client = new_client();
    hilo_module *module = NULL;
    hilo_module_options o;
    hilo_module_options_init(&o);
    o.name = "wrong.mlir";
    o.first_line = 101;
    assert_int_equal(hilo_module_parse(client, wrong, strlen(wrong), &o, &module), HILO_INVALID_ARGUMENT);
    assert_null(module);
    assert_int_equal(hilo_diagnostics_count(client), 1);
    hilo_diagnostic d = {.struct_size = sizeof d};
    assert_int_equal(hilo_diagnostics_get(client, 0, &d), HILO_OK);
    assert_int_equal(d.severity, HILO_SEVERITY_ERROR);
    assert_int_equal(d.status, HILO_INVALID_ARGUMENT);
    assert_string_equal(d.file, "wrong.mlir");
    assert_int_equal(d.line, 102);
    assert_non_null(strstr(d.source, "stablehlo.add"));
    assert_int_equal(hilo_diagnostics_get(client, 1, &d), HILO_OUT_OF_RANGE);

    struct { hilo_diagnostic d; } old = {{.struct_size = offsetof(hilo_diagnostic, message), .message = "untouched"}};
    assert_int_equal(hilo_diagnostics_get(client, 0, &old.d), HILO_OK);
    assert_int_equal(old.d.status, HILO_INVALID_ARGUMENT);
    assert_string_equal(old.d.message, "untouched");

    struct text text = {.n = 0};
    hilo_diagnostics_write(client, 0, keep_text, &text);
    assert_non_null(strstr(text.p, "wrong.mlir:102:"));
    assert_null(strchr(text.p, '\033'));
    hilo_diagnostics_write(client, 1, keep_text, &text);
    assert_non_null(strchr(text.p, '\033'));

    for (int i = 0; i < 30; i++)
        hilo_module_parse(client, wrong, strlen(wrong), NULL, &module);
    assert_int_equal(hilo_diagnostics_count(client), 20);
    text.n = 0;
    hilo_diagnostics_write(client, 0, keep_text, &text);
    assert_non_null(strstr(text.p, "11 more errors"));
    hilo_diagnostics_clear(client);
    assert_int_equal(hilo_diagnostics_count(client), 0);

    o.skip_verify = 1;
    assert_int_equal(hilo_module_parse(client, wrong, strlen(wrong), &o, &module), HILO_OK);
    hilo_executable *exe;
    assert_int_equal(hilo_compile(client, module, NULL, &exe), HILO_FAILED_PRECONDITION);
    hilo_diagnostics_clear(client);
    hilo_module_release(module);
    assert_int_equal(hilo_diagnostics_count(NULL), 0);
    assert_int_equal(hilo_diagnostics_get(NULL, 0, &d), HILO_INVALID_ARGUMENT);
    assert_int_equal(hilo_diagnostics_get(client, 0, NULL), HILO_INVALID_ARGUMENT);
    hilo_diagnostics_clear(NULL);
    hilo_diagnostics_write(NULL, 0, keep_text, &text);
    hilo_diagnostics_write(client, 0, NULL, NULL);
    hilo_write_stderr(NULL, "", 0);
    hilo_client_release(client);
}

/* ---- 3. modules ------------------------------------------------------------------------------ */

static void test_module(void **state) {
    (void)state;
    hilo_client *client = new_client();
    hilo_module *module = parse(client, affine);
    assert_int_equal(hilo_module_function_count(module), 3);
    assert_string_equal(hilo_module_function_name(module, 0), "main");
    assert_string_equal(hilo_module_function_name(module, 1), "twice");
    assert_null(hilo_module_function_name(module, 3));
    assert_int_equal(hilo_module_function_public(module, 0), 1);
    assert_int_equal(hilo_module_function_public(module, 1), 0);
    assert_int_equal(hilo_module_function_public(module, 2), 1);
    assert_int_equal(hilo_module_function_public(module, 3), 0);
    assert_int_equal(hilo_module_function_input_count(module, 0), 2);
    assert_int_equal(hilo_module_function_output_count(module, 0), 2);
    assert_int_equal(hilo_module_function_output_count(module, 1), 1);
    assert_int_equal(hilo_module_function_input_count(module, 9), 0);
    assert_int_equal(hilo_module_function_output_count(module, 9), 0);

    struct text pretty = {.n = 0}, again = {.n = 0}, generic = {.n = 0};
    assert_int_equal(hilo_module_print(module, NULL, keep_text, &pretty), HILO_OK);
    hilo_module *copy = parse(client, pretty.p);
    assert_int_equal(hilo_module_print(copy, NULL, keep_text, &again), HILO_OK);
    assert_string_equal(pretty.p, again.p);
    hilo_print_options o;
    hilo_print_options_init(&o);
    o.generic = 1;
    o.locations = 1;
    assert_int_equal(hilo_module_print(module, &o, keep_text, &generic), HILO_OK);
    assert_non_null(strstr(generic.p, "\"stablehlo.add\"("));
    hilo_print_options_init(NULL);
    assert_int_equal(hilo_module_print(NULL, NULL, keep_text, &generic), HILO_INVALID_ARGUMENT);
    assert_int_equal(hilo_module_print(module, NULL, NULL, NULL), HILO_INVALID_ARGUMENT);
    hilo_module_release(copy);

    hilo_client_release(client); /* the module keeps it */
    assert_string_equal(hilo_module_function_name(module, 2), "same");
    hilo_module_release(module);
    hilo_module_release(NULL);
    assert_int_equal(hilo_module_function_count(NULL), 0);
    assert_null(hilo_module_function_name(NULL, 0));
}

static void test_module_load(void **state) {
    (void)state;
    hilo_client *client = new_client();
    hilo_module *module = NULL;
    char path[] = "/tmp/test_hilo.XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, affine, strlen(affine)), strlen(affine));
    assert_int_equal(hilo_module_load(client, path, NULL, &module), HILO_OK);
    assert_int_equal(hilo_module_function_count(module), 3);
    hilo_module_release(module);
    module = NULL;
    assert_int_equal(write(fd, "}", 1), 1);
    assert_int_equal(hilo_module_load(client, path, NULL, &module), HILO_INVALID_ARGUMENT);
    hilo_diagnostic d = {.struct_size = sizeof d};
    assert_int_equal(hilo_diagnostics_get(client, 0, &d), HILO_OK);
    assert_string_equal(d.file, path);
    hilo_diagnostics_clear(client);
    assert_int_equal(ftruncate(fd, 0), 0);
    assert_int_equal(hilo_module_load(client, path, NULL, &module), HILO_OK); /* an empty program is one */
    assert_int_equal(hilo_module_function_count(module), 0);
    hilo_module_release(module);
    module = NULL;
    close(fd);
    unlink(path);
    assert_int_equal(hilo_module_load(client, path, NULL, &module), HILO_NOT_FOUND);
    expect_diagnostic(client, HILO_NOT_FOUND, path);
    assert_int_equal(hilo_module_load(client, "/", NULL, &module), HILO_UNAVAILABLE);
    hilo_diagnostics_clear(client);
    assert_int_equal(hilo_module_load(client, NULL, NULL, &module), HILO_INVALID_ARGUMENT);
    assert_int_equal(hilo_module_load(NULL, path, NULL, &module), HILO_INVALID_ARGUMENT);
    assert_int_equal(hilo_module_parse(client, NULL, 1, NULL, &module), HILO_INVALID_ARGUMENT);
    assert_int_equal(hilo_module_parse(client, "", 0, NULL, NULL), HILO_INVALID_ARGUMENT);
    assert_null(module);
    hilo_module_options_init(NULL);
    hilo_client_release(client);
}

/* ---- 4. compiling ---------------------------------------------------------------------------- */

static void test_executable(void **state) {
    (void)state;
    hilo_client *client = new_client();
    hilo_executable *exe = build(client, affine, NULL);
    hilo_type t;
    assert_int_equal(hilo_executable_input_count(exe), 2);
    assert_int_equal(hilo_executable_output_count(exe), 2);
    assert_int_equal(hilo_executable_input_type(exe, 0, &t), HILO_OK);
    assert_true(t.dtype == HILO_F32 && t.rank == 2 && t.dims[0] == 2 && t.dims[1] == 3);
    assert_int_equal(hilo_executable_output_type(exe, 1, &t), HILO_OK);
    assert_true(t.dtype == HILO_PRED && t.rank == 2);
    assert_string_equal(hilo_executable_input_name(exe, 0), "x");
    assert_string_equal(hilo_executable_input_name(exe, 1), "k");
    assert_string_equal(hilo_executable_input_name(exe, 2), "");
    assert_string_equal(hilo_executable_output_name(exe, 0), "y");
    assert_string_equal(hilo_executable_output_name(exe, 1), "");
    assert_int_equal(hilo_executable_input_alias(exe, 0), 0);
    assert_int_equal(hilo_executable_input_alias(exe, 1), -1);
    assert_int_equal(hilo_executable_input_alias(exe, 7), -1);
    assert_int_equal(hilo_executable_input_type(exe, 2, &t), HILO_OUT_OF_RANGE);
    assert_int_equal(hilo_executable_output_type(exe, 2, &t), HILO_OUT_OF_RANGE);
    assert_int_equal(hilo_executable_input_type(exe, 0, NULL), HILO_INVALID_ARGUMENT);
    hilo_executable_release(exe);
    hilo_executable_release(NULL);
    assert_int_equal(hilo_executable_input_count(NULL), 0);
    assert_int_equal(hilo_executable_output_count(NULL), 0);
    hilo_client_release(client);
}

static void test_compile_errors(void **state) {
    (void)state;
    hilo_client *client = new_client(), *other = new_client();
    hilo_module *module = parse(client, affine);
    hilo_module *two = parse(client, "func.func @f() { return }\nfunc.func @g() { return }");
    hilo_module *odd = parse(client, "func.func @main(%t: tuple<tensor<f32>>) { return }\nfunc.func private @open()");
    hilo_executable *exe = NULL;
    hilo_compile_options o;
    hilo_compile_options_init(&o);
    hilo_compile_options_init(NULL);
    o.entry = "absent";
    assert_int_equal(hilo_compile(client, module, &o, &exe), HILO_NOT_FOUND);
    expect_diagnostic(client, HILO_NOT_FOUND, "@main, @twice, @same");
    assert_int_equal(hilo_compile(client, two, NULL, &exe), HILO_NOT_FOUND);
    expect_diagnostic(client, HILO_NOT_FOUND, "@f, @g");
    assert_int_equal(hilo_compile(client, odd, NULL, &exe), HILO_UNIMPLEMENTED);
    expect_diagnostic(client, HILO_UNIMPLEMENTED, "tuple");
    o.entry = "open";
    assert_int_equal(hilo_compile(client, odd, &o, &exe), HILO_INVALID_ARGUMENT);
    expect_diagnostic(client, HILO_INVALID_ARGUMENT, "declaration");
    hilo_compile_options_init(&o);
    o.level = 4;
    assert_int_equal(hilo_compile(client, module, &o, &exe), HILO_INVALID_ARGUMENT);
    expect_diagnostic(client, HILO_INVALID_ARGUMENT, "level 4");
    hilo_compile_options_init(&o);
    o.backend = (hilo_backend)77;
    assert_int_equal(hilo_compile(client, module, &o, &exe), HILO_INVALID_ARGUMENT);
    expect_diagnostic(client, HILO_INVALID_ARGUMENT, "77");
    assert_int_equal(hilo_compile(other, module, NULL, &exe), HILO_INVALID_ARGUMENT);
    expect_diagnostic(other, HILO_INVALID_ARGUMENT, "another client");
    assert_int_equal(hilo_compile(NULL, module, NULL, &exe), HILO_INVALID_ARGUMENT);
    assert_int_equal(hilo_compile(client, NULL, NULL, &exe), HILO_INVALID_ARGUMENT);
    assert_int_equal(hilo_compile(client, module, NULL, NULL), HILO_INVALID_ARGUMENT);
    assert_null(exe);
    hilo_module_release(module), hilo_module_release(two), hilo_module_release(odd);
    hilo_client_release(client), hilo_client_release(other);
}

static void test_dump(void **state) {
    (void)state;
    hilo_client *client = new_client();
    hilo_module *module = parse(client, affine), *dumped = NULL;
    char dir[64], path[400];
    snprintf(dir, sizeof dir, "/tmp/test_hilo.%ld", (long)getpid());
    hilo_compile_options o;
    hilo_compile_options_init(&o);
    o.dump_dir = dir;
    hilo_executable *exe = NULL;
    assert_int_equal(hilo_compile(client, module, &o, &exe), HILO_OK);
    snprintf(path, sizeof path, "%s/module_0001.affine.before_optimizations.mlir", dir);
    assert_int_equal(hilo_module_load(client, path, NULL, &dumped), HILO_OK);
    assert_int_equal(hilo_module_function_count(dumped), 3);
    size_t nfiles = 0;
    DIR *d = opendir(dir);
    assert_non_null(d);
    for (struct dirent *e; (e = readdir(d));) {
        hilo_module *each = NULL;
        if (e->d_name[0] == '.')
            continue;
        snprintf(path, sizeof path, "%s/%s", dir, e->d_name);
        assert_int_equal(hilo_module_load(client, path, NULL, &each), HILO_OK);
        hilo_module_release(each);
        assert_int_equal(unlink(path), 0);
        nfiles++;
    }
    closedir(d);
    assert_true(nfiles >= 4);
    assert_int_equal(rmdir(dir), 0);
    hilo_executable_release(exe);
    exe = NULL;
    o.dump_dir = "/dev/null/x";
    assert_int_equal(hilo_compile(client, module, &o, &exe), HILO_UNAVAILABLE);
    assert_null(exe);
    hilo_module_release(module), hilo_module_release(dumped), hilo_client_release(client);
}

/* ---- 5. buffers ------------------------------------------------------------------------------ */

static void test_buffer(void **state) {
    (void)state;
    hilo_client *client = new_client();
    hilo_buffer *b = matrix(client);
    float out[6] = {0};
    assert_int_equal(hilo_buffer_dtype(b), HILO_F32);
    assert_int_equal(hilo_buffer_rank(b), 2);
    assert_int_equal(hilo_buffer_dims(b)[1], 3);
    assert_int_equal(hilo_buffer_bytes(b), sizeof six);
    assert_int_equal(hilo_buffer_to_host(b, out, sizeof out), HILO_OK);
    assert_memory_equal(out, six, sizeof six);
    assert_memory_equal(hilo_buffer_data(b), six, sizeof six);
    assert_int_equal(hilo_buffer_to_host(b, out, 5), HILO_INVALID_ARGUMENT);
    expect_diagnostic(client, HILO_INVALID_ARGUMENT, "24 bytes, not 5");
    assert_int_equal(hilo_buffer_to_host(b, NULL, sizeof six), HILO_INVALID_ARGUMENT);
    assert_int_equal(hilo_buffer_to_host(NULL, out, sizeof six), HILO_INVALID_ARGUMENT);
    assert_ptr_equal(hilo_buffer_retain(b), b);
    hilo_buffer_release(b);
    assert_int_equal(hilo_buffer_rank(b), 2);
    hilo_client_release(client); /* the buffer keeps it */
    hilo_buffer_release(b);
    hilo_buffer_release(NULL);
    assert_null(hilo_buffer_retain(NULL));
    assert_true(hilo_buffer_dtype(NULL) == HILO_DTYPE_INVALID && hilo_buffer_rank(NULL) == 0);
    assert_true(!hilo_buffer_dims(NULL) && !hilo_buffer_data(NULL) && hilo_buffer_bytes(NULL) == 0);
}

static void test_buffer_strides(void **state) {
    (void)state;
    hilo_client *client = new_client();
    hilo_buffer *b = NULL;
    float transposed[6] = {1, 4, 2, 5, 3, 6}, out[6];
    int64_t dims[] = {2, 3}, columns[] = {4, 8}, backwards[] = {-12, -4}, repeated[] = {0, 4};
    assert_int_equal(hilo_buffer_from_host(client, HILO_F32, dims, 2, transposed, columns, &b), HILO_OK);
    assert_memory_equal(hilo_buffer_data(b), six, sizeof six);
    hilo_buffer_release(b);
    assert_int_equal(hilo_buffer_from_host(client, HILO_F32, dims, 2, six + 5, backwards, &b), HILO_OK);
    assert_int_equal(hilo_buffer_to_host(b, out, sizeof out), HILO_OK);
    for (int i = 0; i < 6; i++)
        assert_true(out[i] == six[5 - i]);
    hilo_buffer_release(b);
    assert_int_equal(hilo_buffer_from_host(client, HILO_F32, dims, 2, six, repeated, &b), HILO_OK);
    assert_memory_equal(hilo_buffer_data(b), ((float[]){1, 2, 3, 1, 2, 3}), sizeof six);
    hilo_buffer_release(b);
    int64_t none[] = {0, 3};
    assert_int_equal(hilo_buffer_from_host(client, HILO_F32, none, 2, NULL, columns, &b), HILO_OK);
    assert_int_equal(hilo_buffer_bytes(b), 0);
    hilo_buffer_release(b);
    for (hilo_dtype t = HILO_PRED; t <= HILO_C128; t++) { /* every size of element, apart and reversed */
        char raw[64], got[32];
        size_t size = hilo_dtype_size(t);
        for (size_t i = 0; i < sizeof raw; i++)
            raw[i] = (char)(t == HILO_PRED ? i & 1 : i);
        int64_t two = 2, stride = -(int64_t)(2 * size);
        assert_int_equal(hilo_buffer_from_host(client, t, &two, 1, raw + 2 * size, &stride, &b), HILO_OK);
        assert_int_equal(hilo_buffer_to_host(b, got, 2 * size), HILO_OK);
        assert_memory_equal(got, raw + 2 * size, size);
        assert_memory_equal(got + size, raw, size);
        hilo_buffer_release(b);
    }
    hilo_client_release(client);
}

static void test_buffer_small_elements(void **state) {
    (void)state;
    hilo_client *client = new_client();
    int64_t n = 3;
    const uint8_t raw[3] = {0, 2, 0xFF};
    hilo_buffer *b = buffer(client, HILO_PRED, &n, 1, raw);
    assert_memory_equal(hilo_buffer_data(b), ((uint8_t[]){0, 1, 1}), 3);
    hilo_buffer_release(b);
    b = buffer(client, HILO_S4, &n, 1, (uint8_t[]){0x07, 0x18, 0xEF});
    assert_memory_equal(hilo_buffer_data(b), ((int8_t[]){7, -8, -1}), 3);
    hilo_buffer_release(b);
    b = buffer(client, HILO_U2, &n, 1, (uint8_t[]){3, 4, 0xFE});
    assert_memory_equal(hilo_buffer_data(b), ((uint8_t[]){3, 0, 2}), 3);
    hilo_buffer_release(b);
    hilo_client_release(client);
}

static void test_buffer_errors(void **state) {
    (void)state;
    hilo_client *client = new_client();
    hilo_buffer *b = NULL;
    int64_t dims[] = {2, 3}, negative[] = {2, -3}, huge[] = {INT64_MAX, INT64_MAX}, many[65] = {0};
    char data[64] = {0};
    assert_int_equal(hilo_buffer_create(client, HILO_DTYPE_INVALID, dims, 2, &b), HILO_INVALID_ARGUMENT);
    assert_int_equal(hilo_buffer_create(client, (hilo_dtype)999, dims, 2, &b), HILO_INVALID_ARGUMENT);
    assert_int_equal(hilo_buffer_create(client, HILO_F32, negative, 2, &b), HILO_INVALID_ARGUMENT);
    assert_int_equal(hilo_buffer_create(client, HILO_F32, NULL, 2, &b), HILO_INVALID_ARGUMENT);
    assert_int_equal(hilo_buffer_create(client, HILO_F32, many, 65, &b), HILO_INVALID_ARGUMENT);
    assert_int_equal(hilo_buffer_create(client, HILO_F32, huge, 2, &b), HILO_RESOURCE_EXHAUSTED);
    assert_int_equal(hilo_buffer_create(client, HILO_TOKEN, dims, 2, &b), HILO_INVALID_ARGUMENT);
    assert_int_equal(hilo_buffer_create(NULL, HILO_F32, dims, 2, &b), HILO_INVALID_ARGUMENT);
    assert_int_equal(hilo_buffer_create(client, HILO_F32, dims, 2, NULL), HILO_INVALID_ARGUMENT);
    assert_int_equal(hilo_buffer_from_host(client, HILO_F32, dims, 2, NULL, NULL, &b), HILO_INVALID_ARGUMENT);
    assert_int_equal(hilo_buffer_from_host(NULL, HILO_F32, dims, 2, data, NULL, &b), HILO_INVALID_ARGUMENT);
    assert_int_equal(hilo_buffer_wrap(client, HILO_F32, dims, 2, NULL, NULL, NULL, &b), HILO_INVALID_ARGUMENT);
    assert_int_equal(hilo_buffer_wrap(client, HILO_F32, dims, 2, data + 1, NULL, NULL, &b), HILO_INVALID_ARGUMENT);
    assert_int_equal(hilo_buffer_wrap(client, HILO_TOKEN, NULL, 0, data, NULL, NULL, &b), HILO_INVALID_ARGUMENT);
    assert_int_equal(hilo_buffer_wrap(NULL, HILO_F32, dims, 2, data, NULL, NULL, &b), HILO_INVALID_ARGUMENT);
    assert_null(b);
    assert_int_equal(hilo_buffer_create(client, HILO_TOKEN, NULL, 0, &b), HILO_OK);
    assert_int_equal(hilo_buffer_dtype(b), HILO_TOKEN);
    assert_null(hilo_buffer_data(b));
    assert_int_equal(hilo_buffer_to_host(b, NULL, 0), HILO_OK);
    hilo_buffer_release(b);
    hilo_client_release(client);
}

static void count_release(void *user, void *data) {
    assert_non_null(data);
    ++*(int *)user;
}

static void test_buffer_wrap(void **state) {
    (void)state;
    hilo_client *client = new_client();
    hilo_buffer *b = NULL, *k = scalar(client, 1), *outputs[2];
    float mine[6];
    int released = 0;
    memcpy(mine, six, sizeof six);
    int64_t dims[] = {2, 3};
    assert_int_equal(hilo_buffer_wrap(client, HILO_F32, dims, 2, mine, count_release, &released, &b), HILO_OK);
    assert_ptr_equal(hilo_buffer_data(b), mine);
    hilo_executable *exe = build(client, affine, NULL);
    assert_int_equal(hilo_execute(exe, NULL, (hilo_buffer *[]){b, k}, 2, outputs, 2), HILO_OK);
    assert_memory_equal(mine, six, sizeof six);
    assert_true(((float *)hilo_buffer_data(outputs[0]))[5] == 13);
    hilo_buffer_retain(b);
    hilo_buffer_release(b);
    assert_int_equal(released, 0);
    hilo_buffer_release(b);
    assert_int_equal(released, 1);
    hilo_buffer_release(outputs[0]), hilo_buffer_release(outputs[1]), hilo_buffer_release(k);
    hilo_executable_release(exe), hilo_client_release(client);
}

/* ---- 6. executing ---------------------------------------------------------------------------- */

static void test_execute(void **state) {
    (void)state;
    hilo_client *client = new_client();
    hilo_executable *exe = build(client, affine, "main");
    hilo_buffer *in[] = {matrix(client), scalar(client, -4)}, *out[2] = {NULL, NULL};
    hilo_timing timing = {-1, -1};
    hilo_execute_options o;
    hilo_execute_options_init(&o);
    hilo_execute_options_init(NULL);
    o.timing = &timing;
    hilo_stats stats = {.struct_size = sizeof stats};
    assert_int_equal(hilo_executable_stats(exe, &stats), HILO_OK);
    assert_true(stats.executions == 0 && stats.average_ms == 0 && stats.compile_ms > 0);
    assert_true(stats.input_bytes == sizeof six + 4 && stats.output_bytes == sizeof six + 6);
    assert_true(stats.alias_bytes == (stats.code_bytes ? sizeof six : 0));
    assert_true(stats.steps > stats.evaluated_steps || stats.code_bytes == 0); /* without LLVM all is evaluated */
    assert_true(stats.flops > 0 && stats.bytes_accessed >= (double)stats.output_bytes);
    assert_true(stats.planned_peak_bytes ==
                stats.input_bytes + stats.output_bytes + stats.constant_bytes + stats.temp_bytes - stats.alias_bytes);
    assert_int_equal(hilo_execute(exe, &o, in, 2, out, 2), HILO_OK);
    assert_memory_equal(hilo_buffer_data(out[0]), ((float[]){-2, 0, 2, 4, 6, 8}), sizeof six);
    assert_memory_equal(hilo_buffer_data(out[1]), ((uint8_t[]){1, 1, 1, 1, 1, 1}), 6);
    assert_true(timing.run_ms >= 0 && timing.total_ms >= timing.run_ms);
    assert_int_equal(hilo_executable_stats(exe, &stats), HILO_OK);
    assert_int_equal(stats.executions, 1);
    assert_true(stats.last_ms == timing.total_ms && stats.total_ms == stats.last_ms);
    assert_true(stats.peak_bytes >= 2 * sizeof six && stats.peak_bytes < 1 << 16);
    hilo_executable_reset_stats(exe);
    hilo_executable_reset_stats(NULL);
    assert_int_equal(hilo_executable_stats(exe, &stats), HILO_OK);
    assert_true(stats.executions == 0 && stats.peak_bytes == 0 && stats.compile_ms > 0);
    assert_int_equal(hilo_executable_stats(NULL, &stats), HILO_INVALID_ARGUMENT);
    stats.struct_size = 1;
    assert_int_equal(hilo_executable_stats(exe, &stats), HILO_INVALID_ARGUMENT);
    hilo_client_release(client), hilo_executable_release(exe); /* in any order */
    for (int i = 0; i < 2; i++)
        hilo_buffer_release(in[i]), hilo_buffer_release(out[i]);
}

static void test_execute_errors(void **state) {
    (void)state;
    hilo_client *client = new_client(), *other = new_client();
    hilo_executable *exe = build(client, affine, NULL);
    hilo_buffer *x = matrix(client), *k = scalar(client, 1), *foreign = scalar(other, 1), *out[2] = {NULL, NULL};
    assert_int_equal(hilo_execute(exe, NULL, (hilo_buffer *[]){x}, 1, out, 2), HILO_INVALID_ARGUMENT);
    expect_diagnostic(client, HILO_INVALID_ARGUMENT, "the program has 2");
    assert_int_equal(hilo_execute(exe, NULL, (hilo_buffer *[]){x, k}, 2, out, 1), HILO_INVALID_ARGUMENT);
    expect_diagnostic(client, HILO_INVALID_ARGUMENT, "room for 1");
    assert_int_equal(hilo_execute(exe, NULL, (hilo_buffer *[]){x, x}, 2, out, 2), HILO_INVALID_ARGUMENT);
    expect_diagnostic(client, HILO_INVALID_ARGUMENT, "input 1 ('k') is tensor<2x3xf32>, but the program expects "
                                                     "tensor<f32>");
    assert_int_equal(hilo_execute(exe, NULL, (hilo_buffer *[]){x, NULL}, 2, out, 2), HILO_INVALID_ARGUMENT);
    expect_diagnostic(client, HILO_INVALID_ARGUMENT, "missing");
    assert_int_equal(hilo_execute(exe, NULL, (hilo_buffer *[]){x, foreign}, 2, out, 2), HILO_INVALID_ARGUMENT);
    expect_diagnostic(client, HILO_INVALID_ARGUMENT, "another client");
    assert_int_equal(hilo_execute(NULL, NULL, NULL, 0, NULL, 0), HILO_INVALID_ARGUMENT);
    assert_int_equal(hilo_execute(exe, NULL, NULL, 2, out, 2), HILO_INVALID_ARGUMENT);
    assert_int_equal(hilo_execute(exe, NULL, (hilo_buffer *[]){x, k}, 2, NULL, 2), HILO_INVALID_ARGUMENT);
    hilo_execute_options o = {.struct_size = 3};
    assert_int_equal(hilo_execute(exe, &o, (hilo_buffer *[]){x, k}, 2, out, 2), HILO_INVALID_ARGUMENT);
    assert_true(!out[0] && !out[1]);
    hilo_buffer_release(x), hilo_buffer_release(k), hilo_buffer_release(foreign);
    hilo_executable_release(exe), hilo_client_release(client), hilo_client_release(other);
}

/* What a program passes through comes out as memory of its own. */
static void test_pass_through(void **state) {
    (void)state;
    hilo_client *client = new_client();
    hilo_executable *exe = build(client, affine, "same");
    int32_t four[4] = {1, 2, 3, 4};
    int64_t n = 4;
    hilo_buffer *x = buffer(client, HILO_S32, &n, 1, four), *out[2];
    assert_int_equal(hilo_execute(exe, NULL, &x, 1, out, 2), HILO_OK);
    ((int32_t *)hilo_buffer_data(out[0]))[0] = 9;
    assert_memory_equal(hilo_buffer_data(out[1]), four, sizeof four);
    assert_memory_equal(hilo_buffer_data(x), four, sizeof four);
    hilo_buffer_release(out[0]), hilo_buffer_release(out[1]);
    hilo_execute_options o;
    hilo_execute_options_init(&o);
    o.donate = (uint8_t[]){1};
    assert_int_equal(hilo_execute(exe, &o, &x, 1, out, 2), HILO_OK);
    ((int32_t *)hilo_buffer_data(out[0]))[0] = 9;
    assert_memory_equal(hilo_buffer_data(out[1]), four, sizeof four);
    hilo_buffer_release(out[0]), hilo_buffer_release(out[1]), hilo_buffer_release(x);
    hilo_executable_release(exe), hilo_client_release(client);
}

static void test_donation(void **state) {
    (void)state;
    hilo_client *client = new_client();
    hilo_executable *exe = build(client, affine, NULL);
    hilo_buffer *in[] = {matrix(client), scalar(client, 1)}, *out[2] = {NULL, NULL};
    hilo_execute_options o;
    hilo_execute_options_init(&o);
    o.donate = (uint8_t[]){1, 0};
    assert_int_equal(hilo_execute(exe, &o, in, 2, out, 2), HILO_OK);
    assert_memory_equal(hilo_buffer_data(out[0]), ((float[]){3, 5, 7, 9, 11, 13}), sizeof six);
    hilo_buffer_release(out[0]), hilo_buffer_release(out[1]);
    out[0] = NULL;
    assert_null(hilo_buffer_data(in[0]));
    assert_int_equal(hilo_buffer_rank(in[0]), 2);
    float back[6];
    assert_int_equal(hilo_buffer_to_host(in[0], back, sizeof back), HILO_FAILED_PRECONDITION);
    expect_diagnostic(client, HILO_FAILED_PRECONDITION, "donated");
    assert_int_equal(hilo_execute(exe, NULL, in, 2, out, 2), HILO_FAILED_PRECONDITION);
    expect_diagnostic(client, HILO_FAILED_PRECONDITION, "input 0");
    assert_null(out[0]);
    assert_non_null(hilo_buffer_data(in[1]));
    hilo_buffer_release(in[0]), hilo_buffer_release(in[1]);
    hilo_executable_release(exe), hilo_client_release(client);
}

static int say_yes(void *user) {
    return ++*(int *)user > 1;
}

static void test_cancel(void **state) {
    (void)state;
    static const char endless[] = "func.func @main() -> tensor<i32> {\n"
                                  "  %c = stablehlo.constant dense<0> : tensor<i32>\n"
                                  "  %0 = stablehlo.while(%i = %c) : tensor<i32>\n"
                                  "    cond { %t = stablehlo.constant dense<true> : tensor<i1>\n"
                                  "           stablehlo.return %t : tensor<i1> }\n"
                                  "    do { %n = stablehlo.add %i, %i : tensor<i32>\n"
                                  "         stablehlo.return %n : tensor<i32> }\n"
                                  "  return %0 : tensor<i32>\n"
                                  "}\n";
    hilo_client *client = new_client();
    hilo_executable *exe = build(client, endless, NULL);
    int polled = 0;
    hilo_buffer *out = NULL;
    hilo_execute_options o;
    hilo_execute_options_init(&o);
    o.cancelled = say_yes;
    o.cancelled_user = &polled;
    assert_int_equal(hilo_execute(exe, &o, NULL, 0, &out, 1), HILO_CANCELLED);
    assert_null(out);
    assert_true(polled >= 2);
    hilo_stats stats = {.struct_size = sizeof stats};
    hilo_executable_stats(exe, &stats);
    assert_int_equal(stats.executions, 0);
    hilo_executable_release(exe), hilo_client_release(client);
}

static void test_dynamic_shapes(void **state) {
    (void)state;
    hilo_client *client = new_client();
    static const char doubles[] =
        "func.func @main(%x: tensor<?x2xf32>, %t: !stablehlo.token) -> (tensor<?x2xf32>, !stablehlo.token) {\n"
        "  %0 = stablehlo.add %x, %x : tensor<?x2xf32>\n"
        "  return %0, %t : tensor<?x2xf32>, !stablehlo.token\n"
        "}\n";
    hilo_executable *exe = build(client, doubles, NULL);
    hilo_type t;
    hilo_executable_input_type(exe, 0, &t);
    assert_true(t.dims[0] == HILO_DYNAMIC && t.dims[1] == 2);
    hilo_executable_input_type(exe, 1, &t);
    assert_int_equal(t.dtype, HILO_TOKEN);
    hilo_buffer *token = NULL;
    assert_int_equal(hilo_buffer_create(client, HILO_TOKEN, NULL, 0, &token), HILO_OK);
    for (int64_t n = 0; n < 4; n++) {
        hilo_buffer *x = buffer(client, HILO_F32, (int64_t[]){n, 2}, 2, six), *out[2];
        assert_int_equal(hilo_execute(exe, NULL, (hilo_buffer *[]){x, token}, 2, out, 2), HILO_OK);
        assert_int_equal(hilo_buffer_dims(out[0])[0], n);
        assert_int_equal(hilo_buffer_dtype(out[1]), HILO_TOKEN);
        hilo_buffer_release(x), hilo_buffer_release(out[0]), hilo_buffer_release(out[1]);
    }
    hilo_buffer_release(token), hilo_executable_release(exe), hilo_client_release(client);
}

/* ---- 8. custom calls ------------------------------------------------------------------------- */

static const char calls_triple[] = "func.func @main(%x: tensor<3xf32>) -> tensor<3xf32> {\n"
                                   "  %0 = stablehlo.custom_call @triple(%x) : (tensor<3xf32>) -> tensor<3xf32>\n"
                                   "  return %0 : tensor<3xf32>\n"
                                   "}\n";

static hilo_status triple(void *user, hilo_client *client, hilo_buffer *const *inputs, size_t ninputs,
                          hilo_buffer **outputs, size_t noutputs) {
    assert_true(ninputs == 1 && noutputs == 1);
    hilo_status answer = *(hilo_status *)user;
    if (answer != HILO_OK)
        return answer;
    hilo_status status = hilo_buffer_create(client, HILO_F32, hilo_buffer_dims(inputs[0]), 1, &outputs[0]);
    if (status != HILO_OK)
        return status;
    const float *x = hilo_buffer_data(inputs[0]);
    float *y = hilo_buffer_data(outputs[0]);
    for (int i = 0; i < 3; i++)
        y[i] = 3 * x[i];
    return HILO_OK;
}

static hilo_status nothing(void *user, hilo_client *client, hilo_buffer *const *inputs, size_t ninputs,
                           hilo_buffer **outputs, size_t noutputs) {
    (void)user, (void)client, (void)inputs, (void)ninputs, (void)outputs, (void)noutputs;
    return HILO_OK;
}

static void test_custom_call(void **state) {
    (void)state;
    hilo_client *client = new_client();
    hilo_executable *exe = build(client, calls_triple, NULL);
    hilo_buffer *x = buffer(client, HILO_F32, (int64_t[]){3}, 1, six), *y = NULL;
    hilo_status answer = HILO_OK;
    assert_int_equal(hilo_execute(exe, NULL, &x, 1, &y, 1), HILO_UNIMPLEMENTED);
    hilo_diagnostics_clear(client);
    assert_int_equal(hilo_custom_call_register(client, "triple", nothing, NULL), HILO_OK);
    assert_int_equal(hilo_execute(exe, NULL, &x, 1, &y, 1), HILO_INTERNAL); /* it sets no output */
    hilo_diagnostics_clear(client);
    assert_int_equal(hilo_custom_call_register(client, "triple", triple, &answer), HILO_OK);
    assert_int_equal(hilo_execute(exe, NULL, &x, 1, &y, 1), HILO_OK);
    assert_memory_equal(hilo_buffer_data(y), ((float[]){3, 6, 9}), 12);
    hilo_buffer_release(y);
    y = NULL;
    answer = HILO_DATA_LOSS;
    assert_int_equal(hilo_execute(exe, NULL, &x, 1, &y, 1), HILO_DATA_LOSS);
    expect_diagnostic(client, HILO_DATA_LOSS, "triple");
    answer = HILO_UNIMPLEMENTED;
    assert_int_equal(hilo_execute(exe, NULL, &x, 1, &y, 1), HILO_UNIMPLEMENTED);
    assert_int_equal(hilo_custom_call_register(client, "triple", NULL, NULL), HILO_OK);
    assert_int_equal(hilo_execute(exe, NULL, &x, 1, &y, 1), HILO_UNIMPLEMENTED);
    assert_int_equal(hilo_custom_call_register(client, NULL, triple, NULL), HILO_INVALID_ARGUMENT);
    assert_int_equal(hilo_custom_call_register(NULL, "triple", triple, NULL), HILO_INVALID_ARGUMENT);
    assert_null(y);
    hilo_buffer_release(x), hilo_executable_release(exe), hilo_client_release(client);
}

static void test_log(void **state) {
    (void)state;
    struct log log = {0};
    hilo_client_options o;
    hilo_client_options_init(&o);
    o.log = keep_log;
    o.log_user = &log;
    hilo_client *client = NULL;
    assert_int_equal(hilo_client_create(&o, &client), HILO_OK);
    hilo_executable *exe = build(client,
                                 "func.func @main() {\n"
                                 "  %0 = stablehlo.constant dense<[1.0, 2.5]> : tensor<2xf32>\n"
                                 "  interpreter.print %0 : tensor<2xf32>\n"
                                 "  return\n"
                                 "}\n", NULL);
    assert_int_equal(hilo_execute(exe, NULL, NULL, 0, NULL, 0), HILO_OK);
    assert_string_equal(log.last, "tensor<2xf32> [1.0, 2.5]");
    hilo_module *module = NULL;
    assert_int_equal(hilo_module_parse(client, "module", 6, NULL, &module), HILO_INVALID_ARGUMENT);
    assert_int_equal(log.errors, 1);
    hilo_executable_release(exe), hilo_client_release(client);
}

/* ---- threads --------------------------------------------------------------------------------- */

struct worker {
    hilo_client *client;
    hilo_executable *exe;
    hilo_buffer *x;
    int wrong;
};

static void *run_many(void *user) {
    struct worker *w = user;
    for (int i = 0; i < 200; i++) {
        float k = (float)i, y[6];
        hilo_buffer *b = NULL, *out[2] = {NULL, NULL};
        hilo_module *module = NULL;
        if (hilo_buffer_from_host(w->client, HILO_F32, NULL, 0, &k, NULL, &b) != HILO_OK ||
            hilo_execute(w->exe, NULL, (hilo_buffer *[]){w->x, b}, 2, out, 2) != HILO_OK ||
            hilo_buffer_to_host(out[0], y, sizeof y) != HILO_OK || y[0] != 2 + k || y[5] != 12 + k)
            w->wrong++;
        if (i % 50 == 0 && hilo_module_parse(w->client, "nonsense", 8, NULL, &module) != HILO_INVALID_ARGUMENT)
            w->wrong++;
        hilo_buffer_release(b), hilo_buffer_release(out[0]), hilo_buffer_release(out[1]);
    }
    return NULL;
}

static void test_threads(void **state) {
    (void)state;
    enum { N = 4 };
    hilo_client *client = new_client();
    hilo_executable *exe = build(client, affine, NULL);
    hilo_buffer *x = matrix(client);
    pthread_t threads[N];
    struct worker workers[N];
    for (int i = 0; i < N; i++) {
        workers[i] = (struct worker){client, exe, x, 0};
        assert_int_equal(pthread_create(&threads[i], NULL, run_many, &workers[i]), 0);
    }
    for (int i = 0; i < N; i++) {
        pthread_join(threads[i], NULL);
        assert_int_equal(workers[i].wrong, 0);
    }
    assert_int_equal(hilo_diagnostics_count(client), N * 4);
    hilo_stats stats = {.struct_size = sizeof stats};
    hilo_executable_stats(exe, &stats);
    assert_int_equal(stats.executions, N * 200);
    hilo_buffer_release(x), hilo_executable_release(exe), hilo_client_release(client);
}

/* ---- out of memory --------------------------------------------------------------------------- */

/* An allocator that returns NULL from the `fails_at`th request on, for one request or for all that follow, and that
   knows what it gave. Sizes must come back as they went out. */
struct heap {
    size_t requests, fails_at, blocks;
    bool for_good;
};

struct block {
    size_t bytes;
    char pad[64 - sizeof(size_t)];
};

static void *heap_realloc(void *user, void *ptr, size_t old_bytes, size_t new_bytes, size_t align) {
    struct heap *h = user;
    struct block *old = ptr ? (struct block *)ptr - 1 : NULL;
    assert_true(align <= 64);
    if (old)
        assert_int_equal(old->bytes, old_bytes);
    if (new_bytes == 0) {
        h->blocks -= old != NULL;
        free(old);
        return NULL;
    }
    h->requests++;
    if (h->for_good ? h->requests >= h->fails_at : h->requests == h->fails_at)
        return NULL;
    struct block *b = aligned_alloc(64, (sizeof *b + new_bytes + 63) / 64 * 64);
    assert_non_null(b);
    b->bytes = new_bytes;
    if (old) {
        memcpy(b + 1, ptr, old_bytes < new_bytes ? old_bytes : new_bytes);
        free(old);
    } else {
        h->blocks++;
    }
    return b + 1;
}

/* Everything from text to results, as far as it goes. */
static hilo_status whole_story(hilo_client *client, const char *text) {
    hilo_module *module = NULL;
    hilo_executable *exe = NULL;
    hilo_buffer *in[2] = {NULL, NULL}, *out[2] = {NULL, NULL};
    struct text printed = {.n = 0};
    static const float one = 1;
    hilo_status answer = HILO_OK, status = hilo_custom_call_register(client, "triple", triple, &answer);
    if (status == HILO_OK)
        status = hilo_module_parse(client, text, strlen(text), NULL, &module);
    if (status == HILO_OK)
        status = hilo_module_print(module, NULL, keep_text, &printed);
    if (status == HILO_OK)
        status = hilo_compile(client, module, NULL, &exe);
    size_t nin = hilo_executable_input_count(exe), nout = hilo_executable_output_count(exe);
    if (status == HILO_OK && nin == 2)
        status = hilo_buffer_from_host(client, HILO_F32, (int64_t[]){2, 3}, 2, six, NULL, &in[0]);
    else if (status == HILO_OK && nin == 1)
        status = hilo_buffer_from_host(client, HILO_F32, (int64_t[]){3}, 1, six, NULL, &in[0]);
    if (status == HILO_OK && nin == 2)
        status = hilo_buffer_from_host(client, HILO_F32, NULL, 0, &one, NULL, &in[1]);
    if (status == HILO_OK)
        status = hilo_execute(exe, NULL, in, nin, out, nout);
    if (status != HILO_OK)
        assert_true(!out[0] && !out[1]);
    for (int i = 0; i < 2; i++)
        hilo_buffer_release(in[i]), hilo_buffer_release(out[i]);
    hilo_executable_release(exe), hilo_module_release(module);
    return status;
}

/* Lets request 1, 2, 3 … fail until nothing does. */
static void exhaust(const char *text, hilo_status want, bool for_good) {
    hilo_status status = HILO_RESOURCE_EXHAUSTED;
    bool reached = true;
    for (size_t k = 1; reached; k++) {
        struct heap heap = {.fails_at = k, .for_good = for_good};
        hilo_client_options o;
        hilo_client_options_init(&o);
        o.allocator = (hilo_allocator){heap_realloc, &heap};
        hilo_client *client = NULL;
        status = hilo_client_create(&o, &client);
        if (status == HILO_OK)
            status = whole_story(client, text);
        reached = heap.requests >= k;
        if (reached && status != HILO_RESOURCE_EXHAUSTED && (status != want || for_good))
            fail_msg("request %zu failed, and the answer is %s", k, hilo_status_name(status));
        if (status == HILO_RESOURCE_EXHAUSTED && client) {
            hilo_diagnostic d = {.struct_size = sizeof d};
            assert_true(hilo_diagnostics_count(client) > 0);
            assert_int_equal(hilo_diagnostics_get(client, 0, &d), HILO_OK);
            struct text said = {.n = 0};
            hilo_diagnostics_write(client, 0, keep_text, &said);
            assert_true(said.n > 0);
        }
        hilo_client_release(client);
        if (heap.blocks)
            fail_msg("%zu blocks are left after request %zu failed", heap.blocks, k);
    }
    assert_int_equal(status, want);
}

static void test_out_of_memory(void **state) {
    (void)state;
    static const char wrong[] = "func.func @main(%a: tensor<2xf32>) -> tensor<2xf32> {\n"
                                "  %0 = stablehlo.add %a, %b : tensor<2xf32>\n"
                                "  return %0 : tensor<2xf32>\n"
                                "}\n";
    exhaust(affine, HILO_OK, true);
    exhaust(affine, HILO_OK, false);
    exhaust(calls_triple, HILO_OK, false);
    exhaust(wrong, HILO_INVALID_ARGUMENT, false);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_version), cmocka_unit_test(test_dtypes),
        cmocka_unit_test(test_client_options), cmocka_unit_test(test_struct_sizes), cmocka_unit_test(test_diagnostics),
        cmocka_unit_test(test_diagnostics_told),
        cmocka_unit_test(test_module), cmocka_unit_test(test_module_load),
        cmocka_unit_test(test_executable), cmocka_unit_test(test_compile_errors), cmocka_unit_test(test_dump),
        cmocka_unit_test(test_buffer), cmocka_unit_test(test_buffer_strides),
        cmocka_unit_test(test_buffer_small_elements), cmocka_unit_test(test_buffer_errors),
        cmocka_unit_test(test_buffer_wrap),
        cmocka_unit_test(test_execute), cmocka_unit_test(test_execute_errors), cmocka_unit_test(test_pass_through),
        cmocka_unit_test(test_donation), cmocka_unit_test(test_cancel), cmocka_unit_test(test_dynamic_shapes),
        cmocka_unit_test(test_custom_call), cmocka_unit_test(test_log),
        cmocka_unit_test(test_threads), cmocka_unit_test(test_out_of_memory),
    };
    return cmocka_run_group_tests_name("hilo.h", tests, NULL, NULL);
}
