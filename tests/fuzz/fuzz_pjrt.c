/* libFuzzer target: any bytes, as input of the PJRT plugin. The first selects where they go: compile options,
 * device assignments, topologies, options of a client; programs and saved executables, of one device and of several;
 * shardings; shapes and layouts of buffers. They are read or refused, and nothing leaks. */
#include "pjrt/pjrt.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t nbytes);

/* ---- messages -------------------------------------------------------------------------------- */

static void read_options(struct str s) {
    const struct pjrt_client_options defaults = {.devices = 1, .level = 2};
    struct pjrt_compile_options o;
    struct pjrt_error *error = pjrt_compile_options_read(s, &defaults, &o, NULL);
    if (!error && (o.nreplicas < 1 || o.npartitions < 1 || o.nreplicas * o.npartitions > PJRT_MOST_DEVICES))
        abort();
    if (!error && o.assignment.n) {
        int ids[PJRT_MOST_DEVICES];
        error = pjrt_assignment_read(o.assignment, o.nreplicas, o.npartitions, ids);
    }
    pjrt_error_free(error);
}

static void read_messages(struct str s) {
    int ids[6];
    read_options(s);
    pjrt_error_free(pjrt_assignment_read(s, 3, 2, ids));
    struct pjrt_TopologyDescription_Deserialize t = {.struct_size = sizeof t, .bytes = s.p, .nbytes = s.n};
    pjrt_error_free(pjrt_TopologyDescription_Deserialize(&t));
    struct pjrt_TopologyDescription_Destroy d = {.struct_size = sizeof d, .topology = t.topology};
    pjrt_TopologyDescription_Destroy(&d);
    struct pjrt_named named = {.struct_size = sizeof named, .name = s.p, .name_size = s.n, .type = PJRT_STRING,
                               .string_value = s.p, .value_size = s.n};
    struct pjrt_client_options o;
    pjrt_error_free(pjrt_client_options_read(&named, 1, &o, NULL));
}

/* ---- programs -------------------------------------------------------------------------------- */

enum { DEVICES = 4 };

/* One for all inputs, without code generation: that is not what is looked for here. */
static struct pjrt_client *client(void) {
    static struct pjrt_client *c; /* never freed: sanitizers see that it is still reachable */
    static const struct pjrt_named options[] = {
        {.struct_size = sizeof *options, .name = "num_devices", .name_size = 11, .type = PJRT_INT64, .int64_value = DEVICES},
        {.struct_size = sizeof *options, .name = "hilo_backend", .name_size = 12, .type = PJRT_STRING,
         .string_value = "reference", .value_size = 9},
    };
    struct pjrt_Client_Create a = {.struct_size = sizeof a, .create_options = options, .noptions = 2};
    if (!c && pjrt_Client_Create(&a))
        abort();
    return c ? c : (c = a.client);
}

static void unload(struct pjrt_loaded *loaded) {
    struct pjrt_LoadedExecutable_Destroy a = {.struct_size = sizeof a, .loaded = loaded};
    pjrt_LoadedExecutable_Destroy(&a);
}

/* ExecutableBuildOptionsProto with a number of partitions. */
static const char one[] = "\x1a\x04\x20\x01\x28\x01", four[] = "\x1a\x04\x20\x01\x28\x04";

static void compile(struct str text, const char *options) {
    struct pjrt_program p = {.struct_size = sizeof p, .code = (char *)(uintptr_t)text.p, .code_size = text.n, .format = "mlir",
                             .format_size = 4};
    struct pjrt_Client_Compile a = {.struct_size = sizeof a, .client = client(), .program = &p, .options = options,
                                    .options_size = sizeof one - 1};
    pjrt_error_free(pjrt_Client_Compile(&a));
    unload(a.executable);
}

/* The bytes as they are, and as the message of a saved executable with the hash that it must have. */
static void load(struct str s) {
    static const char head[] = "hilo executable 4\n";
    struct strbuf saved;
    uint64_t hash = str_hash(s.p, s.n, 0);
    strbuf_init(&saved, mem_system_allocator());
    strbuf_puts(&saved, head);
    strbuf_putn(&saved, (const char *)&hash, sizeof hash);
    strbuf_str(&saved, s);
    const struct str both[] = {s, {saved.p, saved.n}};
    for (int i = 0; i < 2; i++) {
        struct pjrt_Executable_DeserializeAndLoad a = {.struct_size = sizeof a, .client = client(), .bytes = both[i].p,
                                                       .nbytes = both[i].n};
        pjrt_error_free(pjrt_Executable_DeserializeAndLoad(&a));
        unload(a.loaded);
    }
    strbuf_free(&saved);
}

/* A sharding of a parameter and of what a manual computation takes. */
static void shard(struct str s) {
    struct strbuf b;
    strbuf_init(&b, mem_system_allocator());
    strbuf_puts(&b, "module attributes {mhlo.num_partitions = 4 : i32} {\n  sdy.mesh @mesh = <[\"x\"=2, \"y\"=2]>\n"
                    "func.func @main(%a: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<");
    strbuf_str(&b, s);
    strbuf_puts(&b, ">}) -> tensor<8x4xf32> {\n  %0 = sdy.manual_computation(%a) in_shardings=[<");
    strbuf_str(&b, s);
    strbuf_puts(&b, ">] out_shardings=[<@mesh, [{\"x\"}, {}]>] manual_axes={\"x\", \"y\"} (%b: tensor<4x4xf32>) {\n"
                    "  sdy.return %b : tensor<4x4xf32>\n  } : (tensor<8x4xf32>) -> tensor<8x4xf32>\n"
                    "  return %0 : tensor<8x4xf32>\n} }");
    if (!b.failed)
        compile((struct str){b.p, b.n}, four);
    strbuf_free(&b);
}

/* ---- buffers --------------------------------------------------------------------------------- */

/* The next bytes as a number that is mostly small, of either sign. */
static int64_t number(struct str *s) {
    int64_t n = s->n ? (int8_t)*s->p : 0;
    if (s->n) {
        s->p++;
        s->n--;
    }
    return n > 120 ? INT64_MAX - n : n < -120 ? INT64_MIN - n : n;
}

static void describe(struct str s) {
    static const char data[1 << 20];
    int64_t dims[8], strides[8], order[8];
    size_t rank = (size_t)(number(&s) & 7);
    for (size_t i = 0; i < rank; i++) {
        dims[i] = number(&s);
        strides[i] = number(&s);
        order[i] = number(&s);
    }
    struct pjrt_layout layout = {.struct_size = sizeof layout, .type = PJRT_TILED};
    layout.tiled.struct_size = sizeof layout.tiled;
    layout.tiled.minor_to_major = order;
    layout.tiled.minor_to_major_size = rank;
    int dtype = (int)number(&s);
    struct pjrt_Client_CreateUninitializedBuffer u = {.struct_size = sizeof u, .client = client(), .dims = dims, .rank = rank,
                                                      .dtype = dtype, .layout = &layout};
    size_t bytes, all = 1; /* what the caller promises to be there */
    struct pjrt_error *error = pjrt_shape_bytes(dtype, dims, rank, &bytes);
    for (size_t i = 0; i < rank && !error; i++)
        all *= dims[i] > 0 ? (size_t)dims[i] : 1;
    if (error || bytes > sizeof data || all > sizeof data) {
        pjrt_error_free(error);
        return;
    }
    pjrt_error_free(pjrt_Client_CreateUninitializedBuffer(&u));
    struct pjrt_Buffer_Destroy d = {.struct_size = sizeof d, .buffer = u.buffer};
    pjrt_Buffer_Destroy(&d);
    struct pjrt_Client_BufferFromHostBuffer h = {.struct_size = sizeof h, .client = client(), .data = data + sizeof data / 2,
                                                 .dtype = dtype, .dims = dims, .rank = rank, .semantics = (int)number(&s)};
    int64_t reach = 0;
    for (size_t i = 0; i < rank; i++) {
        int64_t step = strides[i] < 0 ? -strides[i] : strides[i];
        reach += step < 128 && dims[i] < 4096 ? step * dims[i] : (int64_t)sizeof data;
    }
    if (reach + 16 < (int64_t)sizeof data / 2) {
        h.byte_strides = strides;
        h.nbyte_strides = rank;
    } else if (bytes > sizeof data / 2) {
        return;
    }
    pjrt_error_free(pjrt_Client_BufferFromHostBuffer(&h));
    pjrt_event_unref(h.done);
    d.buffer = h.buffer;
    pjrt_Buffer_Destroy(&d);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t nbytes) {
    struct str s = {(const char *)bytes + 1, nbytes ? nbytes - 1 : 0};
    switch (nbytes ? *bytes & 7 : 0) {
    case 1: compile(s, one); break;
    case 2: compile(s, four); break;
    case 3: load(s); break;
    case 4:
    case 5: shard(s); break;
    case 6: describe(s); break;
    default: read_messages(s); break;
    }
    return 0;
}
