/* Executables: compiling, loading, saving, properties of programs. */
#include "compile/cached.h"
#include "compile/code.h"
#include "opt/opt.h"
#include "pjrt/pjrt.h"
#include "runtime/internal.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- life ------------------------------------------------------------------------------------ */

static void pjrt_executable_unref(struct pjrt_executable *x) {
    if (!x || atomic_fetch_sub_explicit(&x->refs, 1, memory_order_acq_rel) != 1)
        return;
    hilo_executable_release(x->hilo);
    pjrt_call_states_free(x);
    pthread_mutex_destroy(&x->states_lock);
    free((char *)(uintptr_t)x->option_bytes.p);
    free((char *)(uintptr_t)x->code.p);
    free((char *)(uintptr_t)x->partitioned.p);
    free((char *)(uintptr_t)x->optimised.p);
    free(x->dtypes);
    free(x->dims);
    free(x->ranks);
    free(x->donated);
    free(x->ports);
    free(x->tokens);
    for (size_t i = 0; x->layouts && i < x->ninputs + x->noutputs; i++)
        free(x->layouts[i]);
    free(x->layouts);
    free(x->kinds);
    free(x->kind_sizes);
    pjrt_client_unref(x->client);
    free(x);
}

static struct pjrt_executable *executable_ref(struct pjrt_executable *x) {
    atomic_fetch_add_explicit(&x->refs, 1, memory_order_relaxed);
    return x;
}

void pjrt_loaded_unref(struct pjrt_loaded *l) {
    if (!l || atomic_fetch_sub_explicit(&l->refs, 1, memory_order_acq_rel) != 1)
        return;
    pjrt_executable_unref(l->executable);
    free(l->devices);
    free(l->indices);
    free(l->all);
    free(l->ids);
    free(l);
}

static bool own(struct str *out, struct str bytes) {
    *out = (struct str){pjrt_dup(bytes.p, bytes.n), bytes.n};
    return out->p;
}

/* ---- parameters and results ------------------------------------------------------------------ */

static struct pjrt_error *describe_outputs(struct pjrt_executable *x) {
    size_t ndims = 0;
    hilo_type t;
    for (size_t i = 0; i < x->noutputs && hilo_executable_output_type(x->hilo, i, &t) == HILO_OK; i++)
        ndims += t.rank;
    x->dtypes = pjrt_alloc(x->noutputs, sizeof *x->dtypes);
    x->ranks = pjrt_alloc(x->noutputs, sizeof *x->ranks);
    x->dims = pjrt_alloc(ndims, sizeof *x->dims);
    if (!x->dtypes || !x->ranks || !x->dims)
        return pjrt_exhausted();
    int64_t *dims = x->dims;
    for (size_t i = 0; i < x->noutputs && hilo_executable_output_type(x->hilo, i, &t) == HILO_OK; i++) {
        x->dtypes[i] = pjrt_dtype_number(t.dtype);
        x->ranks[i] = t.rank;
        const struct pjrt_port *port = &x->ports[x->ninputs + i];
        for (uint32_t k = 0; k < t.rank; k++) { /* the program gives them in the order of memory */
            dims[port->laid_out ? (size_t)port->minor_to_major[t.rank - 1 - k] : k] = t.dims[k];
            x->dynamic = x->dynamic || t.dims[k] == HILO_DYNAMIC;
        }
        dims += t.rank;
    }
    return NULL;
}

static const int64_t *port_order(const struct pjrt_port *p) {
    return p->laid_out ? p->minor_to_major : NULL;
}

static struct pjrt_error *describe_inputs(struct pjrt_executable *x) {
    size_t n = x->ninputs + x->noutputs;
    x->donated = pjrt_alloc(x->ninputs, sizeof *x->donated);
    x->layouts = pjrt_alloc(x->ninputs + x->noutputs, sizeof *x->layouts);
    x->tokens = pjrt_alloc(x->ninputs, sizeof *x->tokens);
    x->kinds = pjrt_alloc(x->ninputs + x->noutputs, sizeof *x->kinds);
    x->kind_sizes = pjrt_alloc(x->ninputs + x->noutputs, sizeof *x->kind_sizes);
    if (!x->donated || !x->tokens || !x->layouts || !x->kinds || !x->kind_sizes)
        return pjrt_exhausted();
    hilo_type t;
    for (size_t i = 0; i < x->ninputs && hilo_executable_input_type(x->hilo, i, &t) == HILO_OK; i++) {
        PJRT_TRY(pjrt_layout_new(t.rank, port_order(&x->ports[i]), &x->layouts[i]));
        x->tokens[i] = t.dtype == HILO_TOKEN;
        x->donated[i] = x->ports[i].donor || hilo_executable_input_alias(x->hilo, i) >= 0;
    }
    for (size_t i = 0; i < n; i++) {
        x->kinds[i] = pjrt_memory_kinds[x->ports[i].kind];
        x->kind_sizes[i] = strlen(x->kinds[i]);
    }
    for (size_t i = 0; i < x->noutputs; i++) {
        const struct pjrt_port *port = &x->ports[x->ninputs + i];
        PJRT_TRY(pjrt_layout_new(x->ranks[i], port_order(port), &x->layouts[x->ninputs + i]));
    }
    return NULL;
}

/* Of what the program is made of: its bytes, its options, and the version of hilo. */
static void fingerprint(struct pjrt_executable *x) {
    uint64_t seed = str_hash(x->client->topology.version, strlen(x->client->topology.version), 0);
    uint64_t options = str_hash(x->option_bytes.p, x->option_bytes.n, seed);
    uint64_t low = str_hash(x->code.p, x->code.n, options), high = str_hash(x->code.p, x->code.n, ~options);
    snprintf(x->fingerprint, sizeof x->fingerprint, "%016" PRIx64 "%016" PRIx64, high, low);
}

/* ---- compiling ------------------------------------------------------------------------------- */

/* Whether the program has shardings. */
static bool has_shardings(const struct ir_module *m) {
    for (ir_op op = ir_block_get(m, ir_module_body(m))->first; !IR_NONE(op); op = ir_op_get(m, op)->next)
        if (ir_kind(m, op) == IR_SDY_MESH)
            return true;
    return false;
}

static hilo_status run_passes(struct ir_module *m, const char *passes, const struct opt_partitioner *partitioner,
                              struct diag_list *d) {
    struct opt o;
    opt_init(&o, m, d);
    o.options.passes = passes;
    o.options.verify = true;
    o.options.partitioner = partitioner;
    hilo_status status = opt_run(&o);
    opt_free(&o);
    return status;
}

/* Turns the program into that of one of its partitions; its text, where there are several, unless `text` is NULL. */
static hilo_status partition(struct pjrt_executable *x, struct ir_module *m, struct diag_list *d, struct str *text) {
    struct opt_partitioner by;
    struct pjrt_partitioner *p = pjrt_partitioner_new(x->client, !x->again, &by);
    if (!p)
        return HILO_RESOURCE_EXHAUSTED;
    /* without the functions that were called */
    hilo_status status = run_passes(m, "inline,partition,dce,combine,async", &by, d);
    pjrt_partitioner_free(p);
    HILO_TRY(status);
    if (x->options.npartitions == 1 || !text)
        return HILO_OK;
    struct strbuf b;
    strbuf_init(&b, mem_system_allocator());
    ir_print_module(m, &(struct ir_print_options){.locations = true}, &b);
    bool ok = !b.failed && own(text, (struct str){b.p, b.n});
    strbuf_free(&b);
    return ok ? HILO_OK : HILO_RESOURCE_EXHAUSTED;
}

/* Marks the parameters that the option hilo_unchanged names. */
static hilo_status mark_unchanged(const struct pjrt_executable *x, struct ir_module *m, struct diag_list *d) {
    ir_op main = ir_module_entry(m);
    struct str text = str_of(x->options.unchanged);
    uint32_t first, last;
    bool ok;
    while (!IR_NONE(main) && pjrt_range_next(&text, &first, &last, &ok)) {
        uint32_t n = ir_block_get(m, ir_func_body(m, main))->nargs;
        if (last >= n)
            return diag_error(d, HILO_INVALID_ARGUMENT, "option 'hilo_unchanged' names parameter %u; the program has %u",
                              (unsigned)last, (unsigned)n);
        ir_func_mark_unchanged(m, main, first, last + 1);
    }
    return HILO_OK;
}

/* Prepares a program for compilation: reads its ports, partitions it. Where ports are described, functions are inlined first,
   so that layout constraints are in @main. `text`, the program of a partition, may be NULL. */
static hilo_status prepare(struct pjrt_executable *x, hilo_module *module, struct pjrt_port **ports, size_t *nports,
                           struct str *text) {
    struct ir_module *m = rt_module_ir(module);
    bool partitioned = has_shardings(m) || x->options.npartitions > 1, named = pjrt_ports_named(x->code);
    struct diag_list d;
    diag_init(&d, *rt_client_allocator(x->client->hilo));
    hilo_status status = named ? run_passes(m, "inline", NULL, &d) : HILO_OK;
    if (status == HILO_OK && named)
        status = pjrt_ports_read(m, &d, ports, nports);
    if (status == HILO_OK && partitioned)
        status = partition(x, m, &d, text);
    if (status == HILO_OK && named)
        status = pjrt_ports_apply(m, &d, *ports, *nports);
    if (status == HILO_OK && named)
        status = ir_verify(m, &d);
    if (status == HILO_OK)
        status = mark_unchanged(x, m, &d);
    if (partitioned || named || *x->options.unchanged)
        rt_module_changed(module); /* the compile cache goes by what it is now */
    return rt_finish(x->client->hilo, &d, status);
}

static hilo_status parse(const struct pjrt_executable *x, hilo_module **out) {
    hilo_module_options mo;
    hilo_module_options_init(&mo);
    mo.name = "program";
    return hilo_module_parse(x->client->hilo, x->code.p, x->code.n, &mo, out);
}

static hilo_status read_and_compile(struct pjrt_executable *x, const hilo_compile_options *co) {
    hilo_module *module;
    HILO_TRY(parse(x, &module));
    hilo_status status = prepare(x, module, &x->ports, &x->nports, &x->partitioned);
    if (status == HILO_OK)
        status = hilo_compile(x->client->hilo, module, co, &x->hilo);
    hilo_module_release(module);
    return status;
}

static hilo_compile_options compile_options(const struct pjrt_executable *x) {
    hilo_compile_options co;
    hilo_compile_options_init(&co);
    co.level = x->options.level;
    co.memory_limit = (size_t)x->options.memory_limit;
    co.backend = x->options.backend;
    co.dump_dir = *x->options.dump_to ? x->options.dump_to : NULL;
    return co;
}

/* The program as it is run, with its kernels as fusions, in MLIR. */
static hilo_status optimised_text(struct pjrt_executable *x, struct strbuf *out) {
    hilo_compile_options co = compile_options(x);
    struct pjrt_port *ports = NULL;
    size_t nports = 0;
    hilo_module *module;
    HILO_TRY(parse(x, &module));
    hilo_status status = prepare(x, module, &ports, &nports, NULL);
    if (status == HILO_OK)
        status = compile_text(x->client->hilo, module, &co, CODE_MLIR, out);
    free(ports);
    hilo_module_release(module);
    return status;
}

/* What the compile cache has under the program's bytes is not even read. That of several partitions is: it has to be shown. */
static hilo_status compile(struct pjrt_executable *x) {
    hilo_compile_options co = compile_options(x);
    if (x->options.npartitions == 1 && !pjrt_ports_named(x->code) && !*x->options.unchanged)
        x->hilo = cached_find(x->client->hilo, x->code, &co);
    return x->hilo ? HILO_OK : read_and_compile(x, &co);
}

#define PROPERTY(key, v)                                                                                            \
    (struct pjrt_named){.struct_size = sizeof(struct pjrt_named), .name = key, .name_size = sizeof(key) - 1,        \
                        .type = PJRT_FLOAT, .float_value = (float)(v), .value_size = 1}

static void count_ports(struct pjrt_executable *x) {
    x->ninputs = hilo_executable_input_count(x->hilo);
    x->noutputs = hilo_executable_output_count(x->hilo);
}

/* What is known once there is an executable of hilo's. */
static struct pjrt_error *describe(struct pjrt_executable *x) {
    count_ports(x);
    hilo_stats s = {.struct_size = sizeof s};
    hilo_executable_stats(x->hilo, &s);
    x->cost[0] = PROPERTY("flops", s.flops);
    x->cost[1] = PROPERTY("bytes accessed", s.bytes_accessed);
    x->cost[2] = PROPERTY("scratch bytes", (double)s.scratch_bytes);
    size_t n = x->ninputs + x->noutputs;
    if (x->nports && x->nports != n)
        return pjrt_fail(HILO_INTERNAL, "the program has %zu parameters and results; %zu are described", n, x->nports);
    if (!x->ports && !(x->ports = pjrt_alloc(n, sizeof *x->ports)))
        return pjrt_exhausted();
    PJRT_TRY(describe_outputs(x));
    PJRT_TRY(describe_inputs(x));
    fingerprint(x);
    return NULL;
}

/* ---- what is saved of ports ------------------------------------------------------------------ */

enum {
    SAVED_VERSION = 1, /* of the platform */
    SAVED_OPTIONS,     /* of the compilation */
    SAVED_PROGRAM,
    SAVED_BUILD,       /* what follows is of this build of hilo */
    SAVED_COMPILED,    /* a .hilo file */
    SAVED_PARTITION,     /* the program of a partition, where there are several */
    SAVED_PORT,        /* one for each parameter, then each result, where they are described */
    SAVED_FIELDS
};
enum { PORT_KIND = 1, PORT_DONOR, PORT_LAYOUT /* a byte for each dimension, the fastest varying first */ };

static size_t hilo_rank(const struct pjrt_executable *x, size_t i) {
    hilo_type t = {.rank = 0};
    hilo_status status = i < x->ninputs ? hilo_executable_input_type(x->hilo, i, &t)
                                        : hilo_executable_output_type(x->hilo, i - x->ninputs, &t);
    return status == HILO_OK ? t.rank : 0;
}

static void save_port(const struct pjrt_port *port, size_t rank, struct strbuf *out) {
    struct strbuf b;
    char order[64];
    strbuf_init(&b, out->al);
    for (size_t k = 0; k < rank; k++)
        order[k] = (char)port->minor_to_major[k];
    pjrt_proto_varint(&b, PORT_KIND, (uint64_t)port->kind);
    pjrt_proto_varint(&b, PORT_DONOR, port->donor);
    if (port->laid_out)
        pjrt_proto_bytes(&b, PORT_LAYOUT, (struct str){order, rank});
    pjrt_proto_bytes(out, SAVED_PORT, (struct str){b.p, b.n});
    out->failed = out->failed || b.failed;
    strbuf_free(&b);
}

static bool is_permutation(struct str order) {
    uint64_t seen = 0;
    for (size_t k = 0; k < order.n; k++)
        seen |= (uint8_t)order.p[k] < order.n ? UINT64_C(1) << order.p[k] : 0;
    return order.n && order.n <= IR_MAX_RANK && seen == UINT64_MAX >> (64 - order.n);
}

/* Appends a port that was saved; false when it is damaged or memory is exhausted. */
static bool load_port(struct pjrt_executable *x, struct str saved) {
    struct pjrt_port *more = realloc(x->ports, (x->nports + 1) * sizeof *more), port = {.kind = PJRT_MEMORY_DEVICE};
    struct pjrt_field f;
    int next;
    if (!more)
        return false;
    x->ports = more;
    while ((next = pjrt_proto_next(&saved, &f)) > 0)
        if (f.number == PORT_KIND && f.value < PJRT_NKINDS) {
            port.kind = (enum pjrt_memory_kind)f.value;
        } else if (f.number == PORT_DONOR) {
            port.donor = f.value == 1;
        } else if (f.number == PORT_LAYOUT && is_permutation(f.bytes)) {
            port.laid_out = (uint32_t)f.bytes.n;
            for (size_t k = 0; k < f.bytes.n; k++)
                port.minor_to_major[k] = f.bytes.p[k];
        } else {
            return false;
        }
    x->ports[x->nports++] = port;
    return next == 0;
}

/* ---- programs with what was compiled of them ------------------------------------------------- */

/* Program and options, and with them what was compiled of them before, or nothing. */
struct source {
    struct str code, options;
    struct str compiled, partitioned; /* a .hilo file; the program of a partition, where there are several */
    struct str saved;             /* the message that has the ports */
    bool again;                   /* made earlier: what it calls while it is partitioned may be gone */
};

/* Whether the ports are those of the executable. */
static bool ports_fit(const struct pjrt_executable *x) {
    bool fit = !x->nports || x->nports == x->ninputs + x->noutputs;
    for (size_t i = 0; i < x->nports && fit; i++)
        fit = !x->ports[i].laid_out || x->ports[i].laid_out == hilo_rank(x, i);
    return fit;
}

/* Loads what was compiled before. What cannot be, for example because it is for another processor, will be compiled. */
static void load(struct pjrt_executable *x, const struct source *from) {
    struct pjrt_capture l;
    if (!from->compiled.n || (x->options.npartitions > 1 && !(from->partitioned.n && own(&x->partitioned, from->partitioned))))
        return;
    struct str saved = from->saved;
    struct pjrt_field f;
    bool ok = true;
    while (ok && pjrt_proto_next(&saved, &f) > 0)
        if (f.number == SAVED_PORT)
            ok = load_port(x, f.bytes);
    if (ok) {
        pjrt_capture_begin(x->client, &l);
        hilo_status status = hilo_executable_deserialize(x->client->hilo, from->compiled.p, from->compiled.n, &x->hilo);
        pjrt_error_free(pjrt_capture_end(x->client, &l, status));
        count_ports(x);
    }
    if (x->hilo && !ports_fit(x)) {
        hilo_executable_release(x->hilo);
        x->hilo = NULL;
    }
    if (!x->hilo) {
        free((char *)(uintptr_t)x->partitioned.p);
        x->partitioned = (struct str){NULL, 0};
        free(x->ports);
        x->ports = NULL;
        x->nports = 0;
    }
}

static struct pjrt_error *executable_fill(struct pjrt_executable *x, const struct source *from) {
    x->again = from->again;
    if (!own(&x->code, from->code) || !own(&x->option_bytes, from->options))
        return pjrt_exhausted();
    struct strbuf ignored;
    strbuf_init(&ignored, mem_system_allocator());
    struct pjrt_error *wrong = pjrt_compile_options_read(x->option_bytes, &x->client->options, &x->options, &ignored);
    if (!wrong)
        pjrt_log_ignored(x->client, "compile options without effect", &ignored);
    strbuf_free(&ignored);
    PJRT_TRY(wrong);
    load(x, from);
    if (!x->hilo) {
        struct pjrt_capture l;
        pjrt_capture_begin(x->client, &l);
        PJRT_TRY(pjrt_capture_end(x->client, &l, compile(x)));
    }
    return describe(x);
}

static struct pjrt_error *executable_new(struct pjrt_client *c, const struct source *from, struct pjrt_executable **out) {
    struct pjrt_executable *x = pjrt_alloc(1, sizeof *x);
    if (!x)
        return pjrt_exhausted();
    atomic_init(&x->refs, 1);
    atomic_init(&x->run_ns, UINT64_MAX);
    pthread_mutex_init(&x->states_lock, NULL);
    x->client = pjrt_client_ref(c);
    struct pjrt_error *error = executable_fill(x, from);
    if (error)
        pjrt_executable_unref(x);
    else
        *out = x;
    return error;
}

static struct pjrt_error *loaded_fill(struct pjrt_loaded *l) {
    struct pjrt_executable *x = l->executable;
    struct pjrt_client *c = x->client;
    const struct pjrt_compile_options *o = &x->options;
    size_t n = (size_t)(o->nreplicas * o->npartitions), base = n <= c->here ? c->first : 0;
    int *numbers = pjrt_alloc(n, sizeof *numbers);
    l->devices = pjrt_alloc(n, sizeof *l->devices);
    l->ids = pjrt_alloc(n, sizeof *l->ids);
    l->all = pjrt_alloc(n, sizeof *l->all);
    l->indices = pjrt_alloc(n, sizeof *l->indices);
    struct pjrt_error *error = numbers && l->devices && l->ids && l->all && l->indices ? NULL : pjrt_exhausted();
    for (size_t i = 0; !error && i < n; i++)
        numbers[i] = (int)(base + (n == 1 && o->device_ordinal > 0 ? (size_t)o->device_ordinal : i));
    if (!error && o->assignment.n)
        error = pjrt_assignment_read(o->assignment, o->nreplicas, o->npartitions, numbers);
    for (size_t i = 0; !error && i < n; i++) {
        if (numbers[i] < 0 || (size_t)numbers[i] >= c->topology.ndevices)
            error = pjrt_fail(HILO_INVALID_ARGUMENT, "the program is to run on device %d; there are %zu devices", numbers[i],
                              c->topology.ndevices);
        l->all[i] = (uint32_t)numbers[i];
        if (error || c->list[numbers[i]]->local < 0)
            continue;
        l->indices[l->ndevices] = (uint32_t)i;
        l->ids[l->ndevices] = (struct pjrt_logical_id){(int)((int64_t)i / o->npartitions), (int)((int64_t)i % o->npartitions)};
        l->devices[l->ndevices++] = c->list[numbers[i]];
    }
    l->nprocesses = n;
    l->program = rt_executable_fingerprint(x->hilo);
    free(numbers);
    return error;
}

/* Takes over `x`. */
static struct pjrt_error *loaded_new(struct pjrt_executable *x, struct pjrt_loaded **out) {
    struct pjrt_loaded *l = pjrt_alloc(1, sizeof *l);
    if (!l) {
        pjrt_executable_unref(x);
        return pjrt_exhausted();
    }
    atomic_init(&l->refs, 1);
    atomic_init(&l->deleted, false);
    l->executable = x;
    struct pjrt_error *error = loaded_fill(l);
    if (error)
        pjrt_loaded_unref(l);
    else
        *out = l;
    return error;
}

static struct pjrt_error *program_read(const struct pjrt_program *given, struct str *out) {
    struct pjrt_program p;
    pjrt_struct(&p, sizeof p, given);
    struct str format = {p.format, p.format ? p.format_size : 0};
    if (!p.code || !p.code_size)
        return pjrt_fail(HILO_INVALID_ARGUMENT, "the program is missing");
    if (!str_is(format, "mlir"))
        return pjrt_fail(HILO_UNIMPLEMENTED, "programs of the format '%.*s' are not supported; 'mlir' is", (int)format.n,
                         format.p ? format.p : "");
    *out = (struct str){p.code, p.code_size};
    return NULL;
}

static struct pjrt_error *options_read(const char *bytes, size_t n, struct str *out) {
    if (n && !bytes)
        return pjrt_fail(HILO_INVALID_ARGUMENT, "the compile options are missing");
    *out = (struct str){n ? bytes : "", n};
    return NULL;
}

struct pjrt_error *pjrt_Client_Compile(struct pjrt_Client_Compile *a) {
    struct source from = {.code = {NULL, 0}};
    struct pjrt_executable *x;
    PJRT_TRY(program_read(a->program, &from.code));
    PJRT_TRY(options_read(a->options, a->options_size, &from.options));
    PJRT_TRY(executable_new(a->client, &from, &x));
    return loaded_new(x, &a->executable);
}

/* Without a client, the executable has one of its own. */
struct pjrt_error *pjrt_Compile(struct pjrt_Compile *a) {
    struct source from = {.code = {NULL, 0}};
    PJRT_TRY(program_read(a->program, &from.code));
    PJRT_TRY(options_read(a->options, a->options_size, &from.options));
    if (a->client)
        return executable_new(a->client, &from, &a->executable);
    struct pjrt_Client_Create create = {.struct_size = sizeof create};
    PJRT_TRY(pjrt_Client_Create(&create));
    struct pjrt_error *error = executable_new(create.client, &from, &a->executable);
    pjrt_client_unref(create.client);
    return error;
}

struct pjrt_error *pjrt_Client_Load(struct pjrt_Client_Load *a) {
    struct str options;
    struct pjrt_executable *x = a->executable;
    if (!x)
        return pjrt_fail(HILO_INVALID_ARGUMENT, "Client_Load: the executable is missing");
    PJRT_TRY(options_read(a->options, a->options_size, &options));
    if (x->client == a->client && !options.n)
        return loaded_new(executable_ref(x), &a->loaded);
    struct source from = {.code = x->code, .options = options.n ? options : x->option_bytes, .again = true};
    PJRT_TRY(executable_new(a->client, &from, &x));
    return loaded_new(x, &a->loaded);
}

/* ---- saving ---------------------------------------------------------------------------------- */

/* An executable as bytes: this line, a hash of what follows, and a message. */
static const char saved_head[] = "hilo executable 4\n";
enum { SAVED_START = sizeof saved_head - 1 + sizeof(uint64_t) };

/* The message of a saved executable; false when it is none, or damaged. */
static bool saved_message(struct str bytes, struct str *out) {
    uint64_t hash;
    if (!str_starts(bytes, saved_head) || bytes.n < SAVED_START)
        return false;
    memcpy(&hash, bytes.p + sizeof saved_head - 1, sizeof hash);
    *out = (struct str){bytes.p + SAVED_START, bytes.n - SAVED_START};
    return str_hash(out->p, out->n, 0) == hash;
}

static void append(void *user, const char *data, size_t n) {
    strbuf_putn(user, data, n);
}

/* What was compiled, unless runs compile more of it, or there is no telling by which hilo. */
static void save_compiled(const struct pjrt_executable *x, struct strbuf *out) {
    struct str build = rt_build_id();
    struct pjrt_capture l;
    struct strbuf file;
    if (rt_executable_plan(x->hilo)->evaluated || !build.n)
        return;
    strbuf_init(&file, mem_system_allocator());
    pjrt_capture_begin(x->client, &l);
    hilo_status status = hilo_executable_serialize(x->hilo, append, &file);
    pjrt_error_free(pjrt_capture_end(x->client, &l, status));
    if (status == HILO_OK && !file.failed) {
        pjrt_proto_bytes(out, SAVED_BUILD, build);
        pjrt_proto_bytes(out, SAVED_COMPILED, (struct str){file.p, file.n});
        pjrt_proto_bytes(out, SAVED_PARTITION, x->partitioned);
        for (size_t i = 0; i < x->nports; i++)
            save_port(&x->ports[i], hilo_rank(x, i), out);
    }
    strbuf_free(&file);
}

struct pjrt_error *pjrt_Executable_Serialize(struct pjrt_Executable_Serialize *a) {
    const struct pjrt_executable *x = a->executable;
    struct strbuf b;
    strbuf_init(&b, mem_system_allocator());
    uint64_t hash = 0;
    strbuf_puts(&b, saved_head);
    strbuf_putn(&b, (const char *)&hash, sizeof hash);
    pjrt_proto_bytes(&b, SAVED_VERSION, str_of(x->client->topology.version));
    pjrt_proto_bytes(&b, SAVED_OPTIONS, x->option_bytes);
    pjrt_proto_bytes(&b, SAVED_PROGRAM, x->code);
    save_compiled(x, &b);
    if (!b.failed) {
        hash = str_hash(b.p + SAVED_START, b.n - SAVED_START, 0);
        memcpy(b.p + sizeof saved_head - 1, &hash, sizeof hash);
    }
    a->nbytes = b.n;
    a->owner = b.failed ? NULL : pjrt_bytes_copy(b.p, b.n, &a->bytes);
    strbuf_free(&b);
    a->deleter = pjrt_bytes_delete;
    return a->owner ? NULL : pjrt_exhausted();
}

/* Whether what was compiled with `saved` is what `given`, empty = the same, requests. */
static bool same_options(struct pjrt_client *c, struct str saved, struct str given) {
    struct pjrt_compile_options one, two;
    if (!given.n || str_eq(saved, given))
        return true;
    struct pjrt_error *wrong = pjrt_compile_options_read(saved, &c->options, &one, NULL);
    if (!wrong)
        wrong = pjrt_compile_options_read(given, &c->options, &two, NULL);
    bool same = !wrong && one.level == two.level && one.backend == two.backend && one.npartitions == two.npartitions &&
                one.memory_limit == two.memory_limit && !strcmp(one.unchanged, two.unchanged);
    pjrt_error_free(wrong);
    return same;
}

struct pjrt_error *pjrt_Executable_DeserializeAndLoad(struct pjrt_Executable_DeserializeAndLoad *a) {
    struct str bytes = {a->bytes, a->bytes ? a->nbytes : 0}, part[SAVED_FIELDS] = {{NULL, 0}}, options;
    struct str message = {NULL, 0};
    struct pjrt_field f;
    struct pjrt_executable *x;
    int more = -1;
    PJRT_TRY(options_read(a->options, a->options_size, &options));
    if (saved_message(bytes, &message)) {
        bytes = message;
        while ((more = pjrt_proto_next(&bytes, &f)) > 0)
            if (f.number < SAVED_FIELDS)
                part[f.number] = f.bytes;
    }
    if (more < 0 || !part[SAVED_OPTIONS].p || !part[SAVED_PROGRAM].n)
        return pjrt_fail(HILO_INVALID_ARGUMENT, "these %zu bytes are no executable of " PJRT_PLATFORM, a->nbytes);
    struct str version = part[SAVED_VERSION];
    if (!str_eq(version, str_of(a->client->topology.version)))
        return pjrt_fail(HILO_FAILED_PRECONDITION, "the executable is of '%.*s'; this is '%s'", (int)version.n,
                         version.p ? version.p : "", a->client->topology.version);
    struct source from = {.code = part[SAVED_PROGRAM], .options = options.n ? options : part[SAVED_OPTIONS], .again = true};
    if (str_eq(part[SAVED_BUILD], rt_build_id()) && same_options(a->client, part[SAVED_OPTIONS], options)) {
        from.compiled = part[SAVED_COMPILED];
        from.partitioned = part[SAVED_PARTITION];
        from.saved = message;
    }
    PJRT_TRY(executable_new(a->client, &from, &x));
    return loaded_new(x, &a->loaded);
}

/* ---- properties of an executable ------------------------------------------------------------- */

struct pjrt_error *pjrt_Executable_Destroy(struct pjrt_Executable_Destroy *a) {
    pjrt_executable_unref(a->executable);
    return NULL;
}

struct pjrt_error *pjrt_Executable_Name(struct pjrt_Executable_Name *a) {
    const char *name = rt_executable_name(a->executable->hilo);
    a->text = *name ? name : "main";
    a->text_size = strlen(a->text);
    return NULL;
}

struct pjrt_error *pjrt_Executable_NumReplicas(struct pjrt_Executable_NumReplicas *a) {
    a->nreplicas = (size_t)a->executable->options.nreplicas;
    return NULL;
}

struct pjrt_error *pjrt_Executable_NumPartitions(struct pjrt_Executable_NumPartitions *a) {
    a->npartitions = (size_t)a->executable->options.npartitions;
    return NULL;
}

struct pjrt_error *pjrt_Executable_NumOutputs(struct pjrt_Executable_NumOutputs *a) {
    a->noutputs = a->executable->noutputs;
    return NULL;
}

struct pjrt_error *pjrt_Executable_SizeOfGeneratedCodeInBytes(struct pjrt_Executable_SizeOfGeneratedCodeInBytes *a) {
    hilo_stats s = {.struct_size = sizeof s};
    hilo_executable_stats(a->executable->hilo, &s);
    a->size = (int64_t)s.code_bytes;
    return NULL;
}

struct pjrt_error *pjrt_Executable_Fingerprint(struct pjrt_Executable_Fingerprint *a) {
    a->text = a->executable->fingerprint;
    a->text_size = strlen(a->text);
    return NULL;
}

struct pjrt_error *pjrt_Executable_OutputElementTypes(struct pjrt_Executable_OutputElementTypes *a) {
    a->dtypes = a->executable->dtypes;
    a->n = a->executable->noutputs;
    return NULL;
}

struct pjrt_error *pjrt_Executable_OutputDimensions(struct pjrt_Executable_OutputDimensions *a) {
    a->dims = a->executable->dims;
    a->ranks = a->executable->ranks;
    a->n = a->executable->noutputs;
    return NULL;
}

struct pjrt_error *pjrt_Executable_ParameterMemoryKinds(struct pjrt_Executable_ParameterMemoryKinds *a) {
    a->kinds = a->executable->kinds;
    a->kind_sizes = a->executable->kind_sizes;
    a->n = a->executable->ninputs;
    return NULL;
}

struct pjrt_error *pjrt_Executable_OutputMemoryKinds(struct pjrt_Executable_OutputMemoryKinds *a) {
    a->kinds = a->executable->kinds + a->executable->ninputs;
    a->kind_sizes = a->executable->kind_sizes + a->executable->ninputs;
    a->n = a->executable->noutputs;
    return NULL;
}

/* The optimised program, built at the first request. Of several partitions that of one, unoptimised, as optimisation writes
   collectives out. A framework that compiles requests every program, for its shardings alone: then it is the program unchanged,
   at no cost. */
static struct pjrt_error *program_text(struct pjrt_executable *x, struct str *out) {
    struct pjrt_client *c = x->client;
    const struct pjrt_framework *f = pjrt_framework(c);
    *out = x->partitioned.p ? x->partitioned : x->code;
    if (x->partitioned.p || (f && atomic_load_explicit(&f->compiling, memory_order_relaxed)))
        return NULL;
    pthread_mutex_lock(&c->lock);
    struct str known = x->optimised;
    pthread_mutex_unlock(&c->lock);
    if (!known.p) {
        struct strbuf text;
        struct pjrt_capture l;
        strbuf_init(&text, mem_system_allocator());
        pjrt_capture_begin(c, &l);
        struct pjrt_error *error = pjrt_capture_end(c, &l, optimised_text(x, &text));
        if (!error && (text.failed || !own(&known, (struct str){text.p, text.n})))
            error = pjrt_exhausted();
        strbuf_free(&text);
        PJRT_TRY(error);
        pthread_mutex_lock(&c->lock);
        struct str first = x->optimised; /* of another thread, which is in use */
        x->optimised = first.p ? first : known;
        pthread_mutex_unlock(&c->lock);
        if (first.p) {
            free((char *)(uintptr_t)known.p);
            known = first;
        }
    }
    *out = known;
    return NULL;
}

/* Called first for the size, then for the bytes: if the program grew in between, the second call fails. */
struct pjrt_error *pjrt_Executable_OptimizedProgram(struct pjrt_Executable_OptimizedProgram *a) {
    struct str code;
    struct pjrt_program p;
    static const char format[] = "mlir";
    if (!a->program)
        return pjrt_fail(HILO_INVALID_ARGUMENT, "Executable_OptimizedProgram: the program is missing");
    if (!a->executable->client->options.program)
        return pjrt_fail(HILO_UNIMPLEMENTED, "the option optimized_program is off");
    PJRT_TRY(program_text(a->executable, &code));
    pjrt_struct(&p, sizeof p, a->program);
    if (p.code && p.code_size < code.n)
        return pjrt_fail(HILO_INVALID_ARGUMENT, "there is room for %zu bytes; the program has %zu", p.code_size, code.n);
    if (p.code)
        memcpy(p.code, code.p, code.n);
    p.code_size = code.n;
    p.format = format;
    p.format_size = sizeof format - 1;
    memcpy(a->program, &p, p.struct_size < sizeof p ? p.struct_size : sizeof p);
    return NULL;
}

struct pjrt_error *pjrt_Executable_GetCostAnalysis(struct pjrt_Executable_GetCostAnalysis *a) {
    a->properties = a->executable->cost;
    a->n = sizeof a->executable->cost / sizeof *a->executable->cost;
    return NULL;
}

struct pjrt_error *pjrt_Executable_GetCompiledMemoryStats(struct pjrt_Executable_GetCompiledMemoryStats *a) {
    struct pjrt_executable *x = a->executable;
    hilo_stats s = {.struct_size = sizeof s};
    *a = (struct pjrt_Executable_GetCompiledMemoryStats){.struct_size = a->struct_size, .executable = x};
    hilo_executable_stats(x->hilo, &s);
    a->generated_code_size_in_bytes = (int64_t)s.code_bytes;
    a->argument_size_in_bytes = (int64_t)s.input_bytes;
    a->output_size_in_bytes = (int64_t)s.output_bytes;
    a->alias_size_in_bytes = (int64_t)s.alias_bytes;
    a->temp_size_in_bytes = (int64_t)s.temp_bytes;
    a->peak_memory_in_bytes = a->total_size_in_bytes = (int64_t)s.planned_peak_bytes;
    return NULL;
}

static void release_executable(void *x) {
    pjrt_executable_unref(x);
}

struct pjrt_error *pjrt_Executable_GetCompileOptions(struct pjrt_Executable_GetCompileOptions *a) {
    struct pjrt_executable *x = a->executable;
    a->owner = pjrt_bytes_new(release_executable, x);
    if (!a->owner)
        return pjrt_exhausted();
    executable_ref(x);
    a->bytes = x->option_bytes.p;
    a->nbytes = x->option_bytes.n;
    a->deleter = pjrt_bytes_delete;
    return NULL;
}

/* ---- properties of a loaded executable ------------------------------------------------------- */

struct pjrt_error *pjrt_LoadedExecutable_Destroy(struct pjrt_LoadedExecutable_Destroy *a) {
    pjrt_loaded_unref(a->loaded);
    return NULL;
}

struct pjrt_error *pjrt_LoadedExecutable_GetExecutable(struct pjrt_LoadedExecutable_GetExecutable *a) {
    a->executable = executable_ref(a->loaded->executable);
    return NULL;
}

struct pjrt_error *pjrt_LoadedExecutable_AddressableDevices(struct pjrt_LoadedExecutable_AddressableDevices *a) {
    a->devices = a->loaded->devices;
    a->ndevices = a->loaded->ndevices;
    return NULL;
}

struct pjrt_error *
pjrt_LoadedExecutable_AddressableDeviceLogicalIds(struct pjrt_LoadedExecutable_AddressableDeviceLogicalIds *a) {
    a->ids = a->loaded->ids;
    a->n = a->loaded->ndevices;
    return NULL;
}

struct pjrt_error *pjrt_LoadedExecutable_Delete(struct pjrt_LoadedExecutable_Delete *a) {
    atomic_store(&a->loaded->deleted, true);
    return NULL;
}

struct pjrt_error *pjrt_LoadedExecutable_IsDeleted(struct pjrt_LoadedExecutable_IsDeleted *a) {
    a->is_deleted = atomic_load(&a->loaded->deleted);
    return NULL;
}

struct pjrt_error *pjrt_LoadedExecutable_Fingerprint(struct pjrt_LoadedExecutable_Fingerprint *a) {
    a->text = a->loaded->executable->fingerprint;
    a->text_size = strlen(a->text);
    return NULL;
}

struct pjrt_error *pjrt_LoadedExecutable_GetDeviceAssignment(struct pjrt_LoadedExecutable_GetDeviceAssignment *a) {
    const struct pjrt_loaded *l = a->loaded;
    const struct pjrt_compile_options *o = &l->executable->options;
    int *numbers = pjrt_alloc(l->nprocesses, sizeof *numbers);
    if (!numbers)
        return pjrt_exhausted();
    for (size_t i = 0; i < l->nprocesses; i++)
        numbers[i] = (int)l->all[i];
    struct strbuf b;
    strbuf_init(&b, mem_system_allocator());
    pjrt_assignment_write(&b, o->nreplicas, o->npartitions, numbers);
    free(numbers);
    a->nbytes = b.n;
    a->owner = b.failed ? NULL : pjrt_bytes_copy(b.p, b.n, &a->bytes);
    strbuf_free(&b);
    a->deleter = pjrt_bytes_delete;
    return a->owner ? NULL : pjrt_exhausted();
}
