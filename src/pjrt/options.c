/* Options: of a client, by name and from XLA_FLAGS; of a compilation, in a CompileOptionsProto, of which hilo reads the fields
 * that matter to it (openxla/xla, compile_options.proto). Its DebugOptions are XLA's defaults with what XLA_FLAGS says; these
 * flags are read from the environment, where they have names. */
#include "base/decimal.h"
#include "base/file.h"
#include "comm/comm.h"
#include "pjrt/pjrt.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- values by name -------------------------------------------------------------------------- */

enum option_type { OPTION_INT, OPTION_BOOL, OPTION_BACKEND, OPTION_TEXT, OPTION_RANGES, OPTION_THREADED };

/* A value as text, as a whole number, or both. */
struct option_value {
    struct str text;  /* p NULL when it is a number */
    int64_t number;
};

/* The message of XLA's for a value of the wrong type. */
static struct pjrt_error *option_refuse(struct str name, const struct option_value *v, const char *type) {
    char digits[24];
    snprintf(digits, sizeof digits, "%lld", (long long)v->number);
    struct str text = v->text.p ? v->text : str_of(digits);
    return pjrt_fail(HILO_INVALID_ARGUMENT, "While setting option %.*s, '%.*s' is not a valid %s value.", (int)name.n,
                     name.p, (int)(text.n < 200 ? text.n : 200), text.p, type);
}

static bool option_int(const struct option_value *v, int64_t *out) {
    if (!v->text.p) {
        *out = v->number;
        return true;
    }
    char digits[24], *end;
    if (!v->text.n || v->text.n >= sizeof digits)
        return false;
    memcpy(digits, v->text.p, v->text.n);
    digits[v->text.n] = 0;
    long long n = strtoll(digits, &end, 10);
    *out = n;
    return end == digits + v->text.n;
}

static bool option_bool(const struct option_value *v, bool *out) {
    static const char *const spellings[2][4] = {{"false", "False", "0", "no"}, {"true", "True", "1", "yes"}};
    if (!v->text.p) {
        *out = v->number == 1;
        return v->number == 0 || v->number == 1;
    }
    for (int value = 0; value < 2; value++)
        for (int i = 0; i < 4; i++)
            if (str_is(v->text, spellings[value][i])) {
                *out = value == 1;
                return true;
            }
    return false;
}

enum option_source { OF_CLIENT = 1, OF_COMPILE = 2, OF_FLAGS = 4 };

bool pjrt_range_next(struct str *text, uint32_t *first, uint32_t *last, bool *ok) {
    const char *p = text->p, *end = p + text->n;
    uint64_t a = 0, b;
    if (!text->n)
        return false;
    *ok = dec_parse_u64(p, end, &a, &p);
    b = a;
    if (*ok && p < end && *p == '-')
        *ok = dec_parse_u64(p + 1, end, &b, &p);
    *ok = *ok && a <= b && b < UINT32_MAX && (p == end || (*p == ',' && p + 1 < end));
    *first = (uint32_t)a;
    *last = (uint32_t)b;
    *text = *ok && p < end ? (struct str){p + 1, (size_t)(end - p) - 1} : (struct str){end, 0};
    return *ok;
}

static bool option_ranges(struct str text) {
    uint32_t first, last;
    bool ok = true;
    while (pjrt_range_next(&text, &first, &last, &ok))
        continue;
    return ok;
}

/* The options of this plugin, and those of XLA's that it obeys. */
struct option {
    const char *name;
    enum option_type type;
    int64_t least, most;
    size_t client;          /* offset in pjrt_client_options */
    unsigned sources;       /* who may set it: option_source */
};

#define CLIENT(field) offsetof(struct pjrt_client_options, field)
static const struct option options[] = {
    {"num_devices",       OPTION_INT,     1, PJRT_MOST_DEVICES, CLIENT(devices),   OF_CLIENT},
    {"cpu_device_count",  OPTION_INT,     1, PJRT_MOST_DEVICES, CLIENT(devices),   OF_CLIENT}, /* XLA's name for it */
    {"node_id",           OPTION_INT,     0, COMM_MOST_NODES - 1, CLIENT(node),    OF_CLIENT}, /* of jax.distributed */
    {"num_nodes",         OPTION_INT,     1, COMM_MOST_NODES,   CLIENT(nodes),     OF_CLIENT},
    {"threads",           OPTION_INT,     0, INT_MAX,           CLIENT(threads),   OF_CLIENT},
    {"optimized_program", OPTION_BOOL,    0, 1,                 CLIENT(program),   OF_CLIENT},
    {"device",            OPTION_TEXT,    0, 0,                 CLIENT(device),    OF_CLIENT}, /* "cpu", "gpu", "gpu:1" */
    {"framework_state",   OPTION_INT,     0, INT64_MAX,         CLIENT(framework), OF_CLIENT}, /* an address: see pjrt.h */
    {"hilo_level",        OPTION_INT,     0, 3,                 CLIENT(level),     OF_CLIENT | OF_COMPILE},
    {"hilo_memory_limit", OPTION_INT,     0, INT64_MAX,         CLIENT(memory_limit), OF_CLIENT | OF_COMPILE},
    {"hilo_backend",      OPTION_BACKEND, 0, 0,                 CLIENT(backend),   OF_CLIENT | OF_COMPILE},
    {"hilo_unchanged",    OPTION_RANGES,  0, 0,                 CLIENT(unchanged), OF_COMPILE},
    {"xla_backend_optimization_level", OPTION_INT, 0, 3,        CLIENT(level),     OF_COMPILE | OF_FLAGS},
    {"xla_dump_to",       OPTION_TEXT,    0, 0,                 CLIENT(dump_to),   OF_COMPILE | OF_FLAGS},
    {"xla_force_host_platform_device_count", OPTION_INT, 1, PJRT_MOST_DEVICES, CLIENT(devices), OF_FLAGS},
    {"xla_cpu_multi_thread_eigen", OPTION_THREADED, 0, 0,       CLIENT(threads),   OF_FLAGS},
};

static bool option_backend(const struct option_value *v, hilo_backend *out) {
    static const struct {
        const char *name;
        hilo_backend backend;
    } backends[] = {{"auto", HILO_BACKEND_AUTO},
                    {"reference", HILO_BACKEND_REFERENCE},
                    {"interpreter", HILO_BACKEND_INTERPRETER},
                    {"codegen", HILO_BACKEND_CODEGEN},
                    {"library", HILO_BACKEND_LIBRARY}};
    for (size_t i = 0; i < sizeof backends / sizeof *backends && v->text.p; i++)
        if (str_is(v->text, backends[i].name)) {
            *out = backends[i].backend;
            return true;
        }
    return false;
}

static struct pjrt_error *option_set(const struct option *o, const struct option_value *v, struct pjrt_client_options *out) {
    struct str name = str_of(o->name);
    char *field = (char *)out + o->client;
    int64_t n;
    bool b;
    switch (o->type) {
    case OPTION_INT:
        if (!option_int(v, &n))
            return option_refuse(name, v, "int64");
        if (n < o->least || n > o->most)
            return pjrt_fail(HILO_INVALID_ARGUMENT, "option '%s': %lld is out of range; expected %lld to %lld", o->name,
                             (long long)n, (long long)o->least, (long long)o->most);
        memcpy(field, &n, sizeof n);
        return NULL;
    case OPTION_BOOL:
        if (!option_bool(v, &b))
            return option_refuse(name, v, "bool");
        memcpy(field, &b, sizeof b);
        return NULL;
    case OPTION_RANGES:
        if (!v->text.p || !option_ranges(v->text))
            return option_refuse(name, v, "parameter list");
        /* fallthrough */
    case OPTION_TEXT:
        if (!v->text.p || v->text.n >= PJRT_TEXT)
            return option_refuse(name, v, "string");
        memcpy(field, v->text.p, v->text.n);
        field[v->text.n] = 0;
        return NULL;
    case OPTION_THREADED: /* whether there are more threads than one */
        if (!option_bool(v, &b))
            return option_refuse(name, v, "bool");
        n = !b;
        memcpy(field, &n, sizeof n);
        return NULL;
    case OPTION_BACKEND:
        if (option_backend(v, &out->backend))
            return NULL;
        return pjrt_fail(HILO_INVALID_ARGUMENT, "option '%s': '%.*s' is not a backend; expected auto, reference, interpreter, "
                         "codegen or library", o->name, (int)(v->text.n < 200 ? v->text.n : 200), v->text.p ? v->text.p : "");
    default:
        return NULL;
    }
}

static const struct option *option_find(struct str name, enum option_source source) {
    for (size_t i = 0; i < sizeof options / sizeof *options; i++)
        if (options[i].sources & source && str_is(name, options[i].name))
            return &options[i];
    return NULL;
}

/* Adds the name of an option that has no effect to a list. */
static void ignore(struct strbuf *list, struct str name) {
    if (!list)
        return;
    if (list->n)
        strbuf_puts(list, ", ");
    strbuf_str(list, name);
}

/* ---- XLA_FLAGS ------------------------------------------------------------------------------- */

static bool is_space(char c) {
    return c == ' ' || (c >= '\t' && c <= '\r');
}

/* The next word, of what is left of a text, without its quotes; false when there is none. */
static bool next_word(struct str *text, struct strbuf *out) {
    char quote = 0;
    while (text->n && is_space(*text->p))
        text->p++, text->n--;
    bool any = text->n;
    for (out->n = 0; text->n && (quote || !is_space(*text->p)); text->p++, text->n--)
        if (quote ? *text->p == quote : *text->p == '"' || *text->p == '\'')
            quote = quote ? 0 : *text->p;
        else
            strbuf_putc(out, *text->p);
    return any && !out->failed;
}

/* `--name=value`; `--name` is `--name=true`. */
static struct pjrt_error *set_flag(struct str word, struct pjrt_client_options *out, struct strbuf *ignored) {
    struct option_value v = {.text = STR("true")};
    while (word.n && *word.p == '-')
        word.p++, word.n--;
    struct str name = word;
    const char *equals = word.n ? memchr(word.p, '=', word.n) : NULL;
    if (equals) {
        name.n = (size_t)(equals - word.p);
        v.text = (struct str){equals + 1, word.n - name.n - 1};
    }
    const struct option *o = option_find(name, OF_FLAGS);
    if (o)
        return option_set(o, &v, out);
    if (name.n)
        ignore(ignored, name);
    return NULL;
}

static struct pjrt_error *set_flags(struct str text, struct pjrt_client_options *out, struct strbuf *ignored) {
    struct pjrt_error *error = NULL;
    struct strbuf word;
    strbuf_init(&word, mem_system_allocator());
    while (!error && next_word(&text, &word))
        error = set_flag((struct str){word.p, word.n}, out, ignored);
    if (!error && word.failed)
        error = pjrt_exhausted();
    strbuf_free(&word);
    return error;
}

/* As XLA reads them: flags, or the name of a file with flags. */
static struct pjrt_error *from_flags(struct pjrt_client_options *out, struct strbuf *ignored) {
    const char *flags = getenv("XLA_FLAGS");
    while (flags && is_space(*flags))
        flags++;
    if (!flags || !*flags || *flags == '-')
        return set_flags(str_of(flags), out, ignored);
    struct diag_list d;
    struct file f;
    diag_init(&d, mem_system_allocator());
    hilo_status status = file_open(flags, mem_system_allocator(), &d, &f);
    struct pjrt_error *error = status == HILO_OK ? set_flags(f.text, out, ignored)
                                                 : pjrt_fail(status, "XLA_FLAGS: the file '%s' cannot be read", flags);
    if (status == HILO_OK)
        file_close(&f);
    diag_clear(&d);
    return error;
}

/* ---- options of a client --------------------------------------------------------------------- */

static struct pjrt_error *from_environment(const char *variable, const char *option, enum option_source source,
                                           struct pjrt_client_options *out) {
    const char *text = getenv(variable);
    struct option_value v = {.text = str_of(text)};
    return text && *text ? option_set(option_find(str_of(option), source), &v, out) : NULL;
}

struct pjrt_error *pjrt_client_options_read(const struct pjrt_named *named, size_t n, struct pjrt_client_options *out,
                                            struct strbuf *ignored) {
    *out = (struct pjrt_client_options){.devices = 1, .nodes = 1, .level = 2, .backend = HILO_BACKEND_AUTO, .program = true};
    PJRT_TRY(from_flags(out, ignored));
    PJRT_TRY(from_environment("HILO_DUMP_TO", "xla_dump_to", OF_FLAGS, out));
    PJRT_TRY(from_environment("HILO_NUM_DEVICES", "num_devices", OF_CLIENT, out));
    if (n && !named)
        return pjrt_fail(HILO_INVALID_ARGUMENT, "the options are missing");
    for (size_t i = 0; i < n; i++) {
        const struct pjrt_named *x = &named[i];
        struct str name = {x->name, x->name ? x->name_size : 0};
        const struct option *o = option_find(name, OF_CLIENT);
        if (!o)
            return pjrt_fail(HILO_INVALID_ARGUMENT, "there is no option '%.*s' of a client", (int)name.n, name.p ? name.p : "");
        struct option_value v = {.number = x->type == PJRT_BOOL ? x->bool_value : x->int64_value};
        if (x->type == PJRT_STRING)
            v = (struct option_value){.text = {x->string_value ? x->string_value : "", x->string_value ? x->value_size : 0}};
        else if (x->type != PJRT_BOOL && x->type != PJRT_INT64)
            return pjrt_fail(HILO_INVALID_ARGUMENT, "the option '%s' is a text, a number or a bool", o->name);
        PJRT_TRY(option_set(o, &v, out));
    }
    return NULL;
}

/* ---- options of a compilation ---------------------------------------------------------------- */

static struct pjrt_error *damaged(const char *what) {
    return pjrt_fail(HILO_INVALID_ARGUMENT, "the %s cannot be read: it is no serialized protocol buffer", what);
}

/* OptionOverrideProto: one of text, bool, number, double. */
static struct pjrt_error *read_value(struct str message, struct option_value *out) {
    struct pjrt_field f;
    int more;
    *out = (struct option_value){.number = 0};
    while ((more = pjrt_proto_next(&message, &f)) > 0)
        *out = f.number == 1 ? (struct option_value){.text = f.bytes} : (struct option_value){.number = (int64_t)f.value};
    return more < 0 ? damaged("value of a compile option") : NULL;
}

/* An entry of env_option_overrides. Other options of XLA's have no effect. */
static struct pjrt_error *read_override(struct str message, struct pjrt_client_options *set, struct strbuf *ignored) {
    struct pjrt_field f;
    struct str name = {NULL, 0}, bytes = {NULL, 0};
    struct option_value v;
    int more;
    while ((more = pjrt_proto_next(&message, &f)) > 0)
        *(f.number == 1 ? &name : &bytes) = f.bytes;
    if (more < 0)
        return damaged("compile option");
    PJRT_TRY(read_value(bytes, &v));
    const struct option *o = option_find(name, OF_COMPILE);
    if (o)
        return option_set(o, &v, set);
    bool on;
    if (str_is(name, "xla_embed_ir_in_executable") && !option_bool(&v, &on))
        return option_refuse(name, &v, "bool");
    if (!str_starts(name, "xla_"))
        return pjrt_fail(HILO_INVALID_ARGUMENT, "No such compile option: '%.*s'", (int)(name.n < 200 ? name.n : 200),
                         name.p ? name.p : "");
    ignore(ignored, name);
    return NULL;
}

/* A ShapeProto with a layout: only row-major is supported; frameworks give other layouts as attributes of the program. */
static struct pjrt_error *read_shape(struct str message, int depth) {
    enum { SHAPE_TUPLE = 4, SHAPE_LAYOUT = 5, LAYOUT_ORDER = 1 };
    struct pjrt_field f, g;
    int more;
    uint64_t d, last = UINT64_MAX;
    if (depth > 16)
        return damaged("layout of the compile options");
    while ((more = pjrt_proto_next(&message, &f)) > 0) {
        if (f.number == SHAPE_TUPLE)
            PJRT_TRY(read_shape(f.bytes, depth + 1));
        while (f.number == SHAPE_LAYOUT && pjrt_proto_next(&f.bytes, &g) > 0)
            while (g.number == LAYOUT_ORDER && pjrt_proto_value(&g.bytes, &d)) {
                if (d >= last)
                    return pjrt_fail(HILO_UNIMPLEMENTED, "argument_layouts and result_layout of compile options are row-major; "
                                     "other layouts are attributes of the program, mhlo.layout_mode");
                last = d;
            }
    }
    return more < 0 ? damaged("layout of the compile options") : NULL;
}

/* Fields of ExecutableBuildOptionsProto that change what a program computes or where, and are refused; and hints, which have no
   effect. */
static const struct {
    uint32_t field;
    bool refused;
    const char *name;
} others[] = {
    {7, true, "use_auto_spmd_partitioning"},         {11, true, "run_backend_only"},
    {16, true, "auto_spmd_partitioning_mesh_shape"}, {17, true, "auto_spmd_partitioning_mesh_ids"},
    {10, false, "alias_passthrough_params"},         {14, false, "fdo_profile"},
    {20, false, "exec_time_optimization_effort"},    {21, false, "memory_fitting_effort"},
};

static struct pjrt_error *read_other(const struct pjrt_field *f, struct strbuf *ignored) {
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        if (others[i].field != f->number || !(f->value || f->bytes.n))
            continue;
        if (others[i].refused)
            return pjrt_fail(HILO_UNIMPLEMENTED, "the compile option %s is not supported", others[i].name);
        ignore(ignored, str_of(others[i].name));
    }
    return NULL;
}

/* ExecutableBuildOptionsProto. */
static struct pjrt_error *read_build(struct str message, struct pjrt_compile_options *out, struct strbuf *ignored) {
    struct pjrt_field f;
    int more;
    while ((more = pjrt_proto_next(&message, &f)) > 0)
        switch (f.number) {
        case 1:
            out->device_ordinal = (int64_t)f.value;
            break;
        case 2:
            PJRT_TRY(read_shape(f.bytes, 0));
            break;
        case 4:
            out->nreplicas = (int64_t)f.value;
            break;
        case 5:
            out->npartitions = (int64_t)f.value;
            break;
        case 9:
            out->assignment = f.bytes;
            break;
        case 24: /* EffortLevel: 9, 19, 29 and 39 are O0 to O3, 0 is unset */
            if (f.value)
                out->level = f.value < 10 ? 0 : f.value < 20 ? 1 : f.value < 30 ? 2 : 3;
            break;
        default:
            PJRT_TRY(read_other(&f, ignored));
        }
    return more < 0 ? damaged("build options") : NULL;
}

/* Arguments that are a tuple for XLA (field 2) are passed one by one in PJRT all the same, as they are here. */
struct pjrt_error *pjrt_compile_options_read(struct str bytes, const struct pjrt_client_options *defaults,
                                             struct pjrt_compile_options *out, struct strbuf *ignored) {
    struct pjrt_client_options set = *defaults;
    *out = (struct pjrt_compile_options){.nreplicas = 1, .npartitions = 1, .device_ordinal = -1, .level = (int32_t)set.level};
    const int64_t unset = set.level = -1;
    struct pjrt_field f;
    int more;
    while ((more = pjrt_proto_next(&bytes, &f)) > 0)
        if (f.number == 1)
            PJRT_TRY(read_shape(f.bytes, 0));
        else if (f.number == 3)
            PJRT_TRY(read_build(f.bytes, out, ignored));
        else if (f.number == 4)
            out->portable = f.value != 0;
        else if (f.number == 7)
            PJRT_TRY(read_override(f.bytes, &set, ignored));
        else if (f.number == 6 || f.number == 8)
            return pjrt_fail(HILO_UNIMPLEMENTED, "the compile option %s is not supported",
                             f.number == 6 ? "serialized_multi_slice_config" : "target_config");
    if (more < 0)
        return damaged("compile options");
    if (out->nreplicas < 1 || out->npartitions < 1 || out->nreplicas > PJRT_MOST_DEVICES ||
        out->npartitions > PJRT_MOST_DEVICES || out->nreplicas * out->npartitions > PJRT_MOST_DEVICES)
        return pjrt_fail(HILO_INVALID_ARGUMENT, "%lld replicas of %lld partitions are not between 1 and %d devices",
                         (long long)out->nreplicas, (long long)out->npartitions, (int)PJRT_MOST_DEVICES);
    if (set.level != unset)
        out->level = (int32_t)set.level;
    out->backend = set.backend;
    memcpy(out->dump_to, set.dump_to, sizeof out->dump_to);
    out->memory_limit = set.memory_limit;
    memcpy(out->unchanged, set.unchanged, sizeof out->unchanged);
    return NULL;
}

/* ---- device assignments ---------------------------------------------------------------------- */

/* The ids of one computation, one per replica: a packed list, or a field each. */
static struct pjrt_error *read_computation(struct str message, int64_t computation, int64_t nreplicas, int64_t npartitions,
                                           int *ids) {
    struct pjrt_field f;
    int64_t replica = 0;
    int more;
    while ((more = pjrt_proto_next(&message, &f)) > 0) {
        if (f.number != 1)
            continue;
        uint64_t id = f.value;
        for (bool packed = f.bytes.p; !packed || f.bytes.n;) {
            if (packed && !pjrt_proto_value(&f.bytes, &id))
                return damaged("device assignment");
            if (replica >= nreplicas || id > INT_MAX)
                return damaged("device assignment");
            ids[replica++ * npartitions + computation] = (int)id;
            if (!packed)
                break;
        }
    }
    return more < 0 || replica != nreplicas ? damaged("device assignment") : NULL;
}

struct pjrt_error *pjrt_assignment_read(struct str bytes, int64_t nreplicas, int64_t npartitions, int *ids) {
    struct pjrt_field f;
    int64_t replicas = 0, computations = 0, computation = 0;
    int more;
    while ((more = pjrt_proto_next(&bytes, &f)) > 0)
        if (f.number == 1) {
            replicas = (int64_t)f.value;
        } else if (f.number == 2) {
            computations = (int64_t)f.value;
        } else if (f.number == 3) {
            if (computation >= npartitions)
                return damaged("device assignment");
            PJRT_TRY(read_computation(f.bytes, computation++, nreplicas, npartitions, ids));
        }
    if (more < 0 || replicas != nreplicas || computations != npartitions || computation != npartitions)
        return damaged("device assignment");
    return NULL;
}

void pjrt_assignment_write(struct strbuf *out, int64_t nreplicas, int64_t npartitions, const int *ids) {
    pjrt_proto_varint(out, 1, (uint64_t)nreplicas);
    pjrt_proto_varint(out, 2, (uint64_t)npartitions);
    for (int64_t p = 0; p < npartitions; p++) {
        struct strbuf list;
        strbuf_init(&list, out->al);
        for (int64_t r = 0; r < nreplicas; r++)
            pjrt_proto_varint(&list, 1, (uint64_t)ids[r * npartitions + p]);
        pjrt_proto_bytes(out, 3, (struct str){list.p ? list.p : "", list.n});
        out->failed = out->failed || list.failed;
        strbuf_free(&list);
    }
}
