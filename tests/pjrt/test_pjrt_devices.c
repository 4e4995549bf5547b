/* Programs for several devices through the plugin: what each computes, which waits for which, and that none waits for ever. */
#include "pjrt_calls.h"

enum { N = 8 };

static struct pjrt_client *eight(void) {
    struct pjrt_named option = named_int("num_devices", N);
    return client_with(&option, 1);
}

/* Options for that many replicas and partitions; with `ids`, on those devices. */
static struct strbuf options_for(int64_t replicas, int64_t partitions, const int *ids) {
    struct strbuf build, all, devices;
    strbuf_init(&build, mem_system_allocator());
    strbuf_init(&all, mem_system_allocator());
    strbuf_init(&devices, mem_system_allocator());
    pjrt_proto_varint(&build, 4, (uint64_t)replicas);
    pjrt_proto_varint(&build, 5, (uint64_t)partitions);
    if (ids) {
        pjrt_assignment_write(&devices, replicas, partitions, ids);
        pjrt_proto_bytes(&build, 9, (struct str){devices.p, devices.n});
    }
    pjrt_proto_bytes(&all, 3, (struct str){build.p, build.n});
    strbuf_free(&build);
    strbuf_free(&devices);
    return all;
}

static struct pjrt_loaded *compile_for(struct pjrt_client *c, const char *text, int64_t replicas, int64_t partitions,
                                       const int *ids) {
    struct strbuf options = options_for(replicas, partitions, ids);
    struct pjrt_loaded *l;
    OK(try_compile(c, text, "mlir", (struct str){options.p, options.n}, &l));
    strbuf_free(&options);
    return l;
}

static struct pjrt_buffer *floats_on(struct pjrt_client *c, int device, int64_t n, const float *data) {
    ARGS(Client_BufferFromHostBuffer, .client = c, .data = data, .dtype = HILO_F32, .dims = &n, .rank = 1,
         .device = c->list[device]);
    OK(api->Client_BufferFromHostBuffer(&a));
    assert_int_equal(await(a.done), HILO_OK);
    return a.buffer;
}

/* Calls a program of one argument and one result; the events' statuses in `codes`. */
static int call(struct pjrt_loaded *l, size_t n, struct pjrt_buffer **in, struct pjrt_buffer **out, int *codes) {
    struct pjrt_execute_options o = {.struct_size = sizeof o};
    struct pjrt_buffer *const *args[N];
    struct pjrt_buffer **results[N];
    struct pjrt_event *done[N];
    for (size_t i = 0; i < n; i++) {
        args[i] = &in[i];
        results[i] = &out[i];
    }
    ARGS(LoadedExecutable_Execute, .loaded = l, .options = &o, .argument_lists = args, .ndevices = n, .nargs = 1,
         .output_lists = results, .device_complete_events = done);
    int code = code_of(api->LoadedExecutable_Execute(&a));
    for (size_t i = 0; i < n && !code; i++)
        codes[i] = await(done[i]);
    return code;
}

#define SUM                                                                                                                 \
    "({\n^bb0(%x: tensor<f32>, %y: tensor<f32>):\n  %z = stablehlo.add %x, %y : tensor<f32>\n"                            \
    "  stablehlo.return %z : tensor<f32>\n})"
#define PROGRAM(replicas, partitions, body)                                                                                 \
    "module attributes {mhlo.num_replicas = " #replicas " : i32, mhlo.num_partitions = " #partitions " : i32} {\n"          \
    "func.func @main(%a: tensor<2xf32>) -> tensor<2xf32> {\n  %two = stablehlo.constant dense<2.0> : tensor<2xf32>\n"       \
    "  %b = stablehlo.multiply %a, %two : tensor<2xf32>\n" body "  return %r : tensor<2xf32>\n} }"
#define ALL_REDUCE(groups, shape, more)                                                                                     \
    "  %r = \"stablehlo.all_reduce\"(%b) <{replica_groups = dense<" groups "> : tensor<" shape "xi64>" more "}> " SUM       \
    " : (tensor<2xf32>) -> tensor<2xf32>\n"
#define GLOBAL ", channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, use_global_device_ids"

static const char sums[] = PROGRAM(1, 8, ALL_REDUCE("[[0, 1, 2, 3], [4, 5, 6, 7]]", "2x4", GLOBAL));
static const char sums_replicas[] = PROGRAM(4, 2, ALL_REDUCE("[[0, 1], [2, 3]]", "2x2", ""));
static const char sums_all[] = PROGRAM(1, 8, ALL_REDUCE("[[0, 1, 2, 3, 4, 5, 6, 7]]", "1x8", GLOBAL));
static const char rotates[] = PROGRAM(1, 8,
    "  %r = \"stablehlo.collective_permute\"(%b) <{source_target_pairs = dense<[[0, 1], [1, 2], [2, 0]]> : tensor<3x2xi64>,\n"
    "    channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>}> : (tensor<2xf32>) -> tensor<2xf32>\n");
/* Only partition 3 comes to the sum. */
static const char never[] = PROGRAM(1, 8,
    "  %p = stablehlo.partition_id : tensor<ui32>\n  %c = stablehlo.constant dense<3> : tensor<ui32>\n"
    "  %is = stablehlo.compare EQ, %p, %c : (tensor<ui32>, tensor<ui32>) -> tensor<i1>\n"
    "  %r = \"stablehlo.if\"(%is) ({\n"
    "  %s = \"stablehlo.all_reduce\"(%b) <{replica_groups = dense<[[0, 1, 2, 3, 4, 5, 6, 7]]>"
    " : tensor<1x8xi64>" GLOBAL "}> " SUM " : (tensor<2xf32>) -> tensor<2xf32>\n  stablehlo.return %s : tensor<2xf32>\n"
    "  }, {\n  stablehlo.return %b : tensor<2xf32>\n  }) : (tensor<i1>) -> tensor<2xf32>\n");

struct eight_buffers {
    struct pjrt_buffer *v[N];
};

/* Device i holds i and 10 i. */
static struct eight_buffers numbered(struct pjrt_client *c) {
    struct eight_buffers b;
    for (int i = 0; i < N; i++)
        b.v[i] = floats_on(c, i, 2, (const float[]){(float)i, 10 * (float)i});
    return b;
}

static void destroy_all(struct pjrt_buffer **v, int n) {
    for (int i = 0; i < n; i++)
        buffer_destroy(v[i]);
}

static void expect(struct pjrt_loaded *l, struct pjrt_client *c, const float want[N]) {
    struct eight_buffers in = numbered(c);
    struct pjrt_buffer *out[N];
    int codes[N];
    assert_int_equal(call(l, N, in.v, out, codes), HILO_OK);
    for (int i = 0; i < N; i++) {
        float got[2];
        assert_int_equal(codes[i], HILO_OK);
        assert_int_equal(download(out[i], got, sizeof got), HILO_OK);
        assert_true(got[0] == want[i] && got[1] == 10 * want[i]);
        struct pjrt_Buffer_Device d = {.struct_size = sizeof d, .buffer = out[i]};
        OK(api->Buffer_Device(&d));
        assert_ptr_equal(d.device, c->list[i]);
    }
    destroy_all(out, N);
    destroy_all(in.v, N);
}

static void test_collectives(void **state) {
    (void)state;
    struct pjrt_client *c = eight();
    static const struct { const char *text; int64_t replicas, partitions; float want[N]; } rows[] = {
        {sums, 1, 8, {12, 12, 12, 12, 44, 44, 44, 44}},
        /* process (r, p) is on device 2 r + p; the groups are of replicas */
        {sums_replicas, 4, 2, {4, 8, 4, 8, 20, 24, 20, 24}},
        {rotates, 1, 8, {4, 0, 2, 0, 0, 0, 0, 0}},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct pjrt_loaded *l = compile_for(c, rows[i].text, rows[i].replicas, rows[i].partitions, NULL);
        for (int k = 0; k < 5; k++)
            expect(l, c, rows[i].want);
        loaded_destroy(l);
    }
    client_destroy(c);
}

static void test_refusals(void **state) {
    (void)state;
    struct pjrt_client *c = eight();
    struct pjrt_loaded *l = compile_for(c, sums_all, 1, 8, NULL);
    struct eight_buffers in = numbered(c);
    struct pjrt_buffer *out[N];
    int codes[N];
    assert_int_equal(call(l, 7, in.v, out, codes), HILO_INVALID_ARGUMENT);
    struct pjrt_buffer *other = in.v[0];
    in.v[0] = in.v[1];
    assert_int_equal(call(l, N, in.v, out, codes), HILO_INVALID_ARGUMENT); /* on another device */
    in.v[0] = NULL;
    assert_int_equal(call(l, N, in.v, out, codes), HILO_INVALID_ARGUMENT);
    in.v[0] = other;
    loaded_destroy(l);
    struct strbuf many = options_for(1, N + 1, NULL);
    FAILS(HILO_INVALID_ARGUMENT, try_compile(c, sums_all, "mlir", (struct str){many.p, many.n}, &l));
    strbuf_free(&many);
    destroy_all(in.v, N);
    client_destroy(c);
}

/* One device never begins: all get its error, and the next run is as if nothing had been. */
static void test_one_fails(void **state) {
    (void)state;
    static const float all[N] = {56, 56, 56, 56, 56, 56, 56, 56};
    struct pjrt_client *c = eight();
    struct pjrt_loaded *l = compile_for(c, sums_all, 1, 8, NULL);
    for (int bad = 0; bad < N; bad += 3) {
        struct eight_buffers in = numbered(c);
        struct pjrt_buffer *out[N], *good = in.v[bad];
        int codes[N];
        struct pjrt_Client_CreateErrorBuffer e = {
            .struct_size = sizeof e, .client = c, .code = HILO_UNAVAILABLE, .message = "no", .message_size = 2,
            .dims = (const int64_t[]){2}, .rank = 1, .dtype = HILO_F32, .memory = c->list[bad]->list[PJRT_MEMORY_DEVICE]};
        OK(api->Client_CreateErrorBuffer(&e));
        in.v[bad] = e.buffer;
        assert_int_equal(call(l, N, in.v, out, codes), HILO_OK);
        for (int i = 0; i < N; i++)
            assert_int_equal(codes[i], HILO_UNAVAILABLE);
        destroy_all(out, N);
        buffer_destroy(good);
        destroy_all(in.v, N);
        expect(l, c, all);
    }
    loaded_destroy(l);
    client_destroy(c);
}

static void test_nobody_comes(void **state) {
    (void)state;
    struct pjrt_client *c = eight();
    struct pjrt_loaded *l = compile_for(c, never, 1, 8, NULL);
    struct eight_buffers in = numbered(c);
    struct pjrt_buffer *out[N];
    int codes[N];
    assert_int_equal(call(l, N, in.v, out, codes), HILO_OK);
    assert_int_equal(codes[3], HILO_FAILED_PRECONDITION);
    destroy_all(out, N);
    destroy_all(in.v, N);
    loaded_destroy(l);
    client_destroy(c);
}

/* ---- from several threads -------------------------------------------------------------------- */

struct work {
    struct pjrt_client *client;
    struct pjrt_loaded *loaded;
    size_t n;
    int first; /* device of its part 0 */
    float want;
    int failures;
};

static void *work(void *user) {
    struct work *w = user;
    for (int k = 0; k < 20; k++) {
        struct pjrt_buffer *in[N], *out[N];
        int codes[N];
        for (size_t i = 0; i < w->n; i++)
            in[i] = floats_on(w->client, (w->first + (int)i) % N, 2, (const float[]){1, 10});
        w->failures += call(w->loaded, w->n, in, out, codes) != HILO_OK;
        for (size_t i = 0; i < w->n; i++) {
            float got[2] = {0};
            w->failures += codes[i] != HILO_OK || download(out[i], got, sizeof got) != HILO_OK || got[0] != w->want;
        }
        destroy_all(out, (int)w->n);
        destroy_all(in, (int)w->n);
    }
    return NULL;
}

/* Programs on all devices and on halves of them that overlap, begun at once. */
static void test_threads(void **state) {
    (void)state;
    static const char half[] = PROGRAM(1, 4, ALL_REDUCE("[[0, 1, 2, 3]]", "1x4", GLOBAL));
    static const int ids[] = {2, 3, 4, 5}, others[] = {4, 5, 6, 7};
    struct pjrt_client *c = eight();
    struct work works[] = {
        {c, compile_for(c, sums_all, 1, 8, NULL), 8, 0, 16, 0},
        {c, compile_for(c, half, 1, 4, ids), 4, 2, 8, 0},
        {c, compile_for(c, half, 1, 4, others), 4, 4, 8, 0},
        {c, compile_for(c, half, 1, 4, NULL), 4, 0, 8, 0},
    };
    pthread_t threads[4];
    for (int i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, work, &works[i]), 0);
    for (int i = 0; i < 4; i++) {
        pthread_join(threads[i], NULL);
        assert_int_equal(works[i].failures, 0);
        loaded_destroy(works[i].loaded);
    }
    client_destroy(c);
}

/* ---- shardings ------------------------------------------------------------------------------- */

static void test_shardings(void **state) {
    (void)state;
    static const char text[] =
        "module attributes {mhlo.num_partitions = 8 : i32} {\n  sdy.mesh @mesh = <[\"x\"=8]>\n"
        "func.func @main(%a: tensor<16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{\"x\"}]>}) -> tensor<16xf32> {\n"
        "  %0 = sdy.manual_computation(%a) in_shardings=[<@mesh, [{\"x\"}]>] out_shardings=[<@mesh, [{\"x\"}]>] "
        "manual_axes={\"x\"} (%b: tensor<2xf32>) {\n" ALL_REDUCE("[[0, 1, 2, 3, 4, 5, 6, 7]]", "1x8", GLOBAL)
        "  sdy.return %r : tensor<2xf32>\n  } : (tensor<16xf32>) -> tensor<16xf32>\n  return %0 : tensor<16xf32>\n} }";
    static const float want[N] = {28, 28, 28, 28, 28, 28, 28, 28};
    struct pjrt_client *c = eight();
    struct pjrt_loaded *l = compile_for(c, text, 1, 8, NULL);
    expect(l, c, want);
    struct pjrt_program p = {.struct_size = sizeof p};
    struct pjrt_LoadedExecutable_GetExecutable g = {.struct_size = sizeof g, .loaded = l};
    OK(api->LoadedExecutable_GetExecutable(&g));
    struct pjrt_Executable_OptimizedProgram o = {.struct_size = sizeof o, .executable = g.executable, .program = &p};
    OK(api->Executable_OptimizedProgram(&o));
    p.code = malloc(p.code_size + 1);
    OK(api->Executable_OptimizedProgram(&o));
    p.code[p.code_size] = 0;
    assert_non_null(strstr(p.code, "spmd_output_sharding = \"{devices=[8]0,1,2,3,4,5,6,7}\""));
    free(p.code);
    struct pjrt_Executable_Destroy x = {.struct_size = sizeof x, .executable = g.executable};
    OK(api->Executable_Destroy(&x));
    loaded_destroy(l);

    static const char *const bad[] = {
        "<@none, [{\"x\"}]>", "<@mesh, [{\"y\"}]>", "<@mesh, [{\"x\"}, {}]>", "<@mesh, [{\"x\"]>", "<@mesh>",
        "<@small, [{\"x\"}]>",
        "<@mesh, [{\"x\", \"x\"}]>", "<@mesh, [{\"x\":(3)2}]>", "<@mesh, [{\"x\"}], unreduced={\"x\"}>",
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char program[600];
        snprintf(program, sizeof program,
                 "module attributes {mhlo.num_partitions = 8 : i32} {\n  sdy.mesh @mesh = <[\"x\"=8]>\n"
                 "  sdy.mesh @small = <[\"x\"=4]>\n"
                 "func.func @main(%%a: tensor<16xf32> {sdy.sharding = #sdy.sharding%s}) -> tensor<16xf32> {\n"
                 "  return %%a : tensor<16xf32>\n} }", bad[i]);
        struct strbuf options = options_for(1, 8, NULL);
        struct pjrt_error *error = try_compile(c, program, "mlir", (struct str){options.p, options.n}, &l);
        if (!error)
            fail_msg("%s is accepted", bad[i]);
        code_of(error);
        strbuf_free(&options);
    }
    static const char *const refused[] = { /* of GSPMD: parts of different sizes, and what it divides by hand */
        "module attributes {mhlo.num_partitions = 8 : i32} {\n"
        "func.func @main(%a: tensor<12xf32> {mhlo.sharding = \"{devices=[8]<=[8]}\"}) -> tensor<12xf32> {\n"
        "  return %a : tensor<12xf32>\n} }",
        "module attributes {mhlo.num_partitions = 8 : i32} {\n"
        "func.func @main(%a: tensor<16xf32>) -> tensor<16xf32> {\n"
        "  %0 = stablehlo.custom_call @SPMDFullToShardShape(%a) : (tensor<16xf32>) -> tensor<2xf32>\n"
        "  %1 = stablehlo.custom_call @SPMDShardToFullShape(%0) : (tensor<2xf32>) -> tensor<16xf32>\n"
        "  return %1 : tensor<16xf32>\n} }",
        /* a mesh of its own inside of a manual computation */
        "module attributes {mhlo.num_partitions = 8 : i32} {\n  sdy.mesh @mesh = <[\"x\"=4, \"y\"=2]>\n"
        "  sdy.mesh @other = <[\"p\"=2, \"q\"=4]>\n"
        "func.func @main(%a: tensor<16xf32>) -> tensor<16xf32> {\n"
        "  %0 = sdy.manual_computation(%a) in_shardings=[<@mesh, [{\"x\", \"y\"}]>] out_shardings=[<@mesh, [{\"x\"}]>] "
        "manual_axes={\"x\"} (%b: tensor<4xf32>) {\n"
        "    %1 = sdy.sharding_constraint %b <@other, [{\"p\"}]> : tensor<4xf32>\n"
        "    sdy.return %1 : tensor<4xf32>\n  } : (tensor<16xf32>) -> tensor<16xf32>\n  return %0 : tensor<16xf32>\n} }",
    };
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        struct strbuf options = options_for(1, 8, NULL);
        FAILS(HILO_UNIMPLEMENTED, try_compile(c, refused[i], "mlir", (struct str){options.p, options.n}, &l));
        strbuf_free(&options);
    }
    client_destroy(c);
}

/* ---- custom calls that their framework divides ----------------------------------------------- */

/* Each shard becomes the sum of all; with a function that is called, and a constant of more than IR_BLOB_BYTES. */
static const char divided_head[] =
    "module {\nfunc.func private @sum(%b: tensor<2xf32>) -> tensor<2xf32> {\n"
    ALL_REDUCE("[[0, 1, 2, 3, 4, 5, 6, 7]]", "1x8", GLOBAL) "  return %r : tensor<2xf32>\n}\n"
    "func.func @main(%a: tensor<2xf32>) -> (tensor<2xf32>, tensor<f32>) {\n"
    "  %0 = func.call @sum(%a) : (tensor<2xf32>) -> tensor<2xf32>\n  %1 = stablehlo.constant dense<[1.0";
static const char divided_tail[] =
    "]> : tensor<300xf32>\n  %2 = stablehlo.slice %1 [0:1] : (tensor<300xf32>) -> tensor<1xf32>\n"
    "  %3 = stablehlo.reshape %2 : (tensor<1xf32>) -> tensor<f32>\n  return %0, %3 : tensor<2xf32>, tensor<f32>\n} }";
static const char divided_wrong[] = "module {\nfunc.func @main(%a: tensor<4xf32>) -> (tensor<4xf32>, tensor<f32>) {\n"
    "  %1 = stablehlo.constant dense<1.0> : tensor<f32>\n  return %a, %1 : tensor<4xf32>, tensor<f32>\n} }";

static void put_tiles(struct strbuf *out) {
    pjrt_proto_varint(out, 1, 3);
    pjrt_proto_varint(out, 3, 8);
    pjrt_proto_varint(out, 9, 8);
    pjrt_proto_varint(out, 10, 0);
}

struct test_divider {
    struct pjrt_divider base;
    const char *program;        /* NULL: it fails */
    int calls, cleanups;
    struct strbuf tiles, tuple;
    struct pjrt_span operand;
};

static void cleanup(void *data) {
    ((struct test_divider *)data)->cleanups++;
}

static void divide(struct pjrt_divider *self, struct pjrt_division *x) {
    struct test_divider *t = (struct test_divider *)(void *)self;
    t->calls++;
    x->head.data = t;
    x->head.cleanup = cleanup;
    assert_int_equal(x->n, 1);
    assert_int_equal(x->config.n, 3);
    assert_memory_equal(x->config.p, "cfg", 3);
    static const char shape[] = {2 << 3, 11, 3 << 3, 16, 6 << 3, 0}; /* f32[16] */
    assert_int_equal(x->operands[0].shape.n, sizeof shape);
    assert_memory_equal(x->operands[0].shape.p, shape, sizeof shape);
    static const char tiles[] = {1 << 3, 3, 3 << 3, 8, 4 << 3, 0, 4 << 3, 1, 4 << 3, 2, 4 << 3, 3,
                                 4 << 3, 4, 4 << 3, 5, 4 << 3, 6, 4 << 3, 7};
    assert_int_equal(x->operands[0].sharding.n, sizeof tiles);
    assert_memory_equal(x->operands[0].sharding.p, tiles, sizeof tiles);
    if (!t->program) {
        x->head.failed = true;
        x->head.code = HILO_ABORTED;
        x->head.message = (struct pjrt_span){"the framework says no", 21};
        return;
    }
    t->operand = (struct pjrt_span){t->tiles.p, t->tiles.n};
    x->operand_shardings = &t->operand;
    x->result_sharding = (struct pjrt_span){t->tuple.p, t->tuple.n};
    x->program = (struct pjrt_span){t->program, strlen(t->program)};
}

static const struct pjrt_extension *extension(int type) {
    const struct pjrt_extension *e = api->extension_start;
    while (e && e->type != type)
        e = e->next;
    return e;
}

static void see(void *data, struct pjrt_inspection *x) {
    strbuf_putn(data, x->sharding, x->sharding_size);
}

static void test_divided(void **state) {
    (void)state;
    struct { struct pjrt_extension base; struct pjrt_error *(*divider)(struct pjrt_divider_register *a); } e;
    assert_non_null(extension(PJRT_EXT_PARTITIONER));
    memcpy(&e, extension(PJRT_EXT_PARTITIONER), sizeof e);
    struct strbuf divided_sum;
    strbuf_init(&divided_sum, mem_system_allocator());
    strbuf_puts(&divided_sum, divided_head);
    for (int i = 1; i < 300; i++)
        strbuf_printf(&divided_sum, ", %d.0", i);
    strbuf_puts(&divided_sum, divided_tail);
    struct test_divider t = {.base = {.divide = divide}, .program = divided_sum.p};
    strbuf_init(&t.tiles, mem_system_allocator());
    strbuf_init(&t.tuple, mem_system_allocator());
    put_tiles(&t.tiles);
    pjrt_proto_varint(&t.tuple, 1, 2);
    pjrt_proto_bytes(&t.tuple, 5, (struct str){t.tiles.p, t.tiles.n});
    pjrt_proto_bytes(&t.tuple, 5, (struct str){"", 0});
    struct pjrt_divider_register r = {.struct_size = sizeof r, .target = "test.sum", .target_size = 8, .divider = &t.base};
    OK(e.divider(&r));
    struct pjrt_divider_register none = {.struct_size = sizeof none, .target = "test.none", .target_size = 9};
    FAILS(HILO_INVALID_ARGUMENT, e.divider(&none));
    static const char text[] =
        "module attributes {mhlo.num_partitions = 8 : i32} {\n  sdy.mesh @mesh = <[\"x\"=8]>\n"
        "func.func @main(%a: tensor<16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{\"x\"}]>}) -> (tensor<16xf32> "
        "{sdy.sharding = #sdy.sharding<@mesh, [{\"x\"}]>}) {\n"
        "  %0:2 = stablehlo.custom_call @test.sum(%a) {backend_config = \"cfg\"} : (tensor<16xf32>) -> (tensor<16xf32>, "
        "tensor<f32>)\n  %1 = stablehlo.broadcast_in_dim %0#1, dims = [] : (tensor<f32>) -> tensor<16xf32>\n"
        "  %2 = stablehlo.multiply %0#0, %1 : tensor<16xf32>\n  return %2 : tensor<16xf32>\n} }";
    static const float want[N] = {28, 28, 28, 28, 28, 28, 28, 28};
    struct pjrt_client *c = eight();
    struct pjrt_loaded *l = compile_for(c, text, 1, 8, NULL);
    expect(l, c, want);
    assert_int_equal(t.calls, 1);
    loaded_destroy(l);
    struct strbuf options = options_for(1, 8, NULL);
    t.program = divided_wrong;
    FAILS(HILO_INVALID_ARGUMENT, try_compile(c, text, "mlir", (struct str){options.p, options.n}, &l));
    t.program = "no program";
    FAILS(HILO_INVALID_ARGUMENT, try_compile(c, text, "mlir", (struct str){options.p, options.n}, &l));
    t.program = NULL;
    FAILS(HILO_ABORTED, try_compile(c, text, "mlir", (struct str){options.p, options.n}, &l));
    assert_int_equal(t.cleanups, t.calls);
    assert_int_equal(t.calls, 4);

    struct strbuf seen;
    strbuf_init(&seen, mem_system_allocator());
    struct pjrt_inspector with = {see, &seen};
    char hex[4 * sizeof with + 1], program[1000], bytes[sizeof with];
    memcpy(bytes, &with, sizeof with);
    for (int known = 1; known >= 0; known--) { /* the second is no function */
        for (size_t i = 0; i < sizeof bytes; i++)
            snprintf(hex + 3 * i, 4, "\\%02X", known ? (unsigned)(uint8_t)bytes[i] : 1u);
        snprintf(program, sizeof program,
                 "module attributes {mhlo.num_partitions = 8 : i32} {\n  sdy.mesh @mesh = <[\"x\"=8]>\n"
                 "func.func @main(%%a: tensor<16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{\"x\"}]>}) -> tensor<16xf32> {\n"
                 "  %%n = stablehlo.negate %%a : tensor<16xf32>\n"
                 "  %%0 = stablehlo.custom_call @InspectSharding(%%n) {backend_config = \"%s\", has_side_effect = true} : "
                 "(tensor<16xf32>) -> tensor<16xf32>\n  return %%a : tensor<16xf32>\n} }", hex);
        struct pjrt_error *error = try_compile(c, program, "mlir", (struct str){options.p, options.n}, &l);
        assert_int_equal(code_of(error), known ? HILO_OK : HILO_INVALID_ARGUMENT);
        if (known)
            loaded_destroy(l);
    }
    assert_int_equal(seen.n, 20);
    assert_memory_equal(seen.p, "\x08\x03\x18\x08", 4);
    strbuf_free(&seen);
    strbuf_free(&options);
    strbuf_free(&divided_sum);
    strbuf_free(&t.tiles);
    strbuf_free(&t.tuple);
    client_destroy(c);
}

int main(void) {
    api = GetPjrtApi();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_collectives), cmocka_unit_test(test_refusals), cmocka_unit_test(test_one_fails),
        cmocka_unit_test(test_nobody_comes), cmocka_unit_test(test_threads), cmocka_unit_test(test_shardings),
        cmocka_unit_test(test_divided),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
