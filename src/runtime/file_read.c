/* Reading .hilo files: see file_write.c for the format. Every number is checked before it is used, so that a file that
 * is damaged in spite of its hash is refused; machine code is not checked. */
#include "base/hash.h"
#include "runtime/device.h"
#include "target/target.h"

#include <inttypes.h>
#include <math.h>

struct reader {
    hilo_executable *exe;
    struct arena *a;
    struct diag_list *d;
    const uint8_t *key;   /* that the file must have, or NULL */
    struct str program;   /* text, in it */
    struct str image;     /* the file; 64-byte aligned; kept by the executable */
    const char *at, *end; /* of the table */
    bool bad;
    struct plan plan;
    struct plan_buffer *buffers;
    struct plan_kernel *kernels;
    struct lib_match *routines;
    ir_op *functions;
    uint32_t nkernels, nroutines, nblobs, nfunctions;
    const char **blobs;
    size_t *blob_bytes;
};

static hilo_status damaged(const struct reader *r, const char *what) {
    return diag_error(r->d, HILO_DATA_LOSS, ".hilo file: damaged: %s", what);
}

bool rt_is_file(struct str bytes) {
    return bytes.n >= 8 && memcmp(bytes.p, RT_FILE_MAGIC, 8) == 0;
}

/* ---- numbers --------------------------------------------------------------------------------- */

static void get(struct reader *r, void *out, size_t n) {
    memset(out, 0, n);
    if (r->bad || (size_t)(r->end - r->at) < n) {
        r->bad = true;
        return;
    }
    memcpy(out, r->at, n);
    r->at += n;
}

static uint32_t get_u32(struct reader *r) {
    uint32_t v;
    get(r, &v, sizeof v);
    return v;
}

static uint64_t get_u64(struct reader *r) {
    uint64_t v;
    get(r, &v, sizeof v);
    return v;
}

static int64_t get_i64(struct reader *r) {
    return (int64_t)get_u64(r);
}

static double get_f64(struct reader *r) {
    double v;
    get(r, &v, sizeof v);
    return v;
}

/* A count of things that take `each` bytes at least. */
static uint32_t get_count(struct reader *r, size_t each) {
    uint32_t n = get_u32(r);
    if (r->bad || n > (size_t)(r->end - r->at) / each) {
        r->bad = true;
        return 0;
    }
    return n;
}

static struct str get_bytes(struct reader *r) {
    uint64_t n = get_u64(r);
    if (r->bad || n > (size_t)(r->end - r->at)) {
        r->bad = true;
        return (struct str){"", 0};
    }
    struct str s = {r->at, (size_t)n};
    r->at += n;
    return s;
}

static const char *get_text(struct reader *r) {
    struct str s = get_bytes(r);
    char *z = arena_alloc(r->a, s.n + 1, 1);
    memcpy(z, s.p, s.n);
    r->bad |= strlen(z) != s.n;
    return z;
}

static const int64_t *get_dims(struct reader *r, hilo_dtype *dtype, uint32_t *rank) {
    *dtype = (hilo_dtype)get_u32(r);
    *rank = get_count(r, sizeof(int64_t));
    r->bad |= *rank > IR_MAX_RANK || !(rt_dtype(*dtype) || (*dtype == HILO_TOKEN && *rank == 0));
    int64_t *dims = ARENA_ARRAY(r->a, int64_t, r->bad ? 0 : *rank);
    for (uint32_t i = 0; i < *rank && !r->bad; i++)
        dims[i] = get_i64(r);
    return dims;
}

/* ---- the table ------------------------------------------------------------------------------- */

static hilo_status get_target(struct reader *r) {
    const char *version = get_text(r), *machine = get_text(r), *features = get_text(r);
    struct str feature;
    if (r->bad)
        return damaged(r, "its version");
    if (strcmp(version, hilo_version()) != 0)
        return diag_error(r->d, HILO_FAILED_PRECONDITION, ".hilo file: written by hilo %s; this is %s", version,
                          hilo_version());
    r->exe->machine = machine;
    r->exe->features = features;
    r->exe->on_device = strcmp(machine, target_isa_name(TARGET_NVPTX)) == 0;
    if (r->exe->on_device)
        return rt_device_check(r->exe->client, features, r->d);
    if (strcmp(machine, target_cpu_machine()) != 0)
        return diag_error(r->d, HILO_FAILED_PRECONDITION, ".hilo file: for %s; this is %s", machine, target_cpu_machine());
    for (size_t at = 0; target_cpu_next(str_of(features), &at, &feature);)
        if (!target_cpu_has(feature))
            return diag_error(r->d, HILO_FAILED_PRECONDITION, ".hilo file: needs a processor with %.*s", (int)feature.n,
                              feature.p);
    return HILO_OK;
}

static struct rt_port *get_ports(struct reader *r, uint32_t *n) {
    *n = get_count(r, 24);
    struct rt_port *v = ARENA_ARRAY(r->a, struct rt_port, *n);
    for (uint32_t i = 0; i < *n && !r->bad; i++) {
        hilo_type *t = &v[i].type;
        t->dims = get_dims(r, &t->dtype, &t->rank);
        int64_t *bounds = get_u32(r) && !r->bad ? ARENA_ARRAY(r->a, int64_t, t->rank) : NULL;
        for (uint32_t k = 0; bounds && k < t->rank; k++)
            bounds[k] = get_i64(r);
        v[i].bounds = bounds;
        v[i].name = get_text(r);
        v[i].alias = (int32_t)get_u32(r);
    }
    return v;
}

static size_t port_bytes(const struct rt_port *p) {
    size_t bytes;
    return mem_shape(p->type.dims, p->type.rank, ir_dtype_get(rt_dtype(p->type.dtype))->bytes, &bytes) ? bytes : 0;
}

/* ---- the program of the reference evaluator --------------------------------------------------- */

static hilo_status get_program(struct reader *r) {
    struct str text = r->program = get_bytes(r);
    r->nfunctions = get_count(r, sizeof(uint64_t));
    if (r->bad || !r->nfunctions != !text.n)
        return damaged(r, "its program");
    if (!r->nfunctions)
        return HILO_OK;
    const struct rt_compiler *compiler = r->exe->client->compiler;
    if (!compiler)
        return diag_error(r->d, HILO_UNIMPLEMENTED,
                          ".hilo file: has steps for the reference evaluator, whose program libhilo-runtime cannot read; load "
                          "it with libhilo");
    struct ir_module *m;
    HILO_TRY(compiler->read_program(r->exe->client->al, text, r->d, &m));
    r->exe->optimised = m;
    r->plan.m = m;
    r->functions = ARENA_ARRAY(r->a, ir_op, r->nfunctions);
    for (uint32_t i = 0; i < r->nfunctions; i++) {
        r->functions[i] = ir_module_symbol(m, get_bytes(r));
        ir_op f = r->functions[i];
        if (IR_NONE(f) || ir_kind(m, f) != IR_FUNC || IR_NONE(ir_func_body(m, f)))
            return damaged(r, "its program");
    }
    return HILO_OK;
}

static const struct ir_type_data *function_type(const struct reader *r, ir_op f) {
    return ir_type_get(r->plan.m, ir_attr_get(r->plan.m, ir_prop(r->plan.m, f, IR_FUNC_function_type))->type);
}

/* Whether a type of the program equals one of the file. */
static bool is_type(const struct reader *r, ir_type type, enum ir_dtype dtype, uint32_t rank, const int64_t *dims) {
    const struct ir_type_data *t = ir_type_get(r->plan.m, type);
    if (t->kind == IR_TYPE_TOKEN)
        return dtype == IR_DTYPE_NONE && rank == 0;
    return (t->kind == IR_TYPE_TENSOR || t->kind == IR_TYPE_MEMREF) && t->dtype == dtype && t->rank == rank &&
           (!rank || memcmp(t->dims, dims, rank * sizeof *dims) == 0);
}

/* A function takes and gives what its step uses. */
static bool function_fits(const struct reader *r, const struct plan_step *s) {
    const struct ir_type_data *t = function_type(r, s->func);
    bool fits = s->nuses == t->ntypes && s->ntargets == 0;
    for (uint32_t i = 0; i < s->nuses && fits; i++) {
        const struct plan_buffer *x = &r->buffers[s->uses[i].buffer];
        fits = s->uses[i].role == (i < t->ninputs ? PLAN_IN : PLAN_OUT) && is_type(r, t->types[i], x->dtype, x->rank, x->dims);
    }
    return fits;
}

static bool port_fits(const struct reader *r, ir_type type, const struct rt_port *p) {
    return is_type(r, type, rt_dtype(p->type.dtype), p->type.rank, p->type.dims);
}

/* A plan of one step over values. */
static hilo_status get_whole(struct reader *r) {
    if (r->nfunctions != 1)
        return damaged(r, "its program");
    const struct ir_type_data *t = function_type(r, r->functions[0]);
    bool fits = t->ninputs == r->plan.narguments && t->ntypes - t->ninputs == r->plan.nresults;
    for (uint32_t i = 0; i < t->ntypes && fits; i++)
        fits = port_fits(r, t->types[i], i < t->ninputs ? &r->exe->inputs[i] : &r->exe->outputs[i - t->ninputs]);
    if (!fits)
        return damaged(r, "its program");
    HILO_TRY(plan_evaluated(&r->exe->plan, r->a, r->plan.m, r->functions[0], r->d));
    r->exe->entry = r->functions[0];
    const struct rt_compiler *compiler = r->exe->client->compiler;
    return r->exe->specialise_level >= 0 && compiler ? compiler->specialise_loaded(r->exe, r->program) : HILO_OK;
}

/* The constants, after the table. */
static void get_blobs(struct reader *r) {
    r->nblobs = get_count(r, sizeof(uint64_t));
    r->blobs = ARENA_ARRAY(r->a, const char *, r->nblobs);
    r->blob_bytes = ARENA_ARRAY(r->a, size_t, r->nblobs);
    size_t at = (size_t)(r->end - r->image.p);
    for (uint32_t i = 0; i < r->nblobs && !r->bad; i++) {
        uint64_t n = get_u64(r);
        if (n > r->image.n - at) {
            r->bad = true;
            return;
        }
        r->blobs[i] = r->image.p + at;
        r->blob_bytes[i] = (size_t)n;
        size_t rest = r->image.n - at - (size_t)n, pad = (RT_FILE_ALIGN - n % RT_FILE_ALIGN) % RT_FILE_ALIGN;
        r->bad |= pad > rest;
        at += (size_t)n + pad;
    }
    r->bad |= at != r->image.n;
}

/* Bytes that there are in the place of a buffer; false when there is no such place. */
static bool place_bytes(const struct reader *r, const struct plan_buffer *x, size_t *out) {
    const struct plan *p = &r->plan;
    switch (x->place) {
    case PLAN_BLOCK:
        *out = SIZE_MAX; /* checked when the size of the block is known */
        return x->offset <= PTRDIFF_MAX;
    case PLAN_CONSTANT:
        *out = x->index < r->nblobs ? r->blob_bytes[x->index] : 0;
        return x->index < r->nblobs;
    case PLAN_ARGUMENT:
        *out = x->index < p->narguments ? port_bytes(&r->exe->inputs[x->index]) : 0;
        return x->index < p->narguments;
    case PLAN_RESULT:
        *out = x->index < p->nresults ? port_bytes(&r->exe->outputs[x->index]) : 0;
        return x->index < p->nresults;
    case PLAN_VALUE:
        *out = 0;
        return x->index < p->nbuffers;
    case PLAN_INIT:
        *out = x->index < p->nsections ? p->sections[x->index].bytes : 0;
        return x->index < p->nsections;
    }
    return false;
}

/* The sections of init steps, the first of which is that of constants. */
static void get_sections(struct reader *r) {
    struct plan *p = &r->plan;
    p->nsections = get_count(r, 16);
    struct plan_init *sections = ARENA_ARRAY(r->a, struct plan_init, p->nsections);
    p->sections = sections;
    for (uint32_t i = 0; i < p->nsections && !r->bad; i++) {
        sections[i].argument = (int32_t)get_u32(r);
        sections[i].nsteps = get_u32(r);
        sections[i].bytes = get_u64(r);
        r->bad |= sections[i].bytes > PTRDIFF_MAX || __builtin_add_overflow(p->ninit, sections[i].nsteps, &p->ninit) ||
                  (i == 0) != (sections[i].argument < 0) || (i && (uint32_t)sections[i].argument >= p->narguments);
    }
}

/* Of a program for a GPU, what init steps write is there; values of a run never are. */
static bool is_placed(const struct reader *r, const struct plan_buffer *x) {
    bool device = r->exe->on_device;
    if (plan_is_value(x))
        return x->space == PLAN_HOST;
    if (x->place == PLAN_INIT)
        return x->space == (device ? PLAN_DEVICE : PLAN_HOST);
    return x->space == PLAN_HOST || (device && x->space == PLAN_DEVICE);
}

static void get_buffers(struct reader *r) {
    struct plan *p = &r->plan;
    p->nbuffers = get_count(r, 28);
    p->buffers = r->buffers = ARENA_ARRAY(r->a, struct plan_buffer, p->nbuffers);
    uint32_t *whole = ARENA_ARRAY(r->a, uint32_t, r->nblobs); /* 1 + the buffer that is all of a constant */
    for (uint32_t i = 0; i < p->nbuffers && !r->bad; i++) {
        struct plan_buffer *x = &r->buffers[i];
        hilo_dtype dtype;
        size_t room;
        x->dims = get_dims(r, &dtype, &x->rank);
        x->dtype = rt_dtype(dtype);
        x->place = (enum plan_place)get_u32(r);
        x->space = (enum plan_space)get_u32(r);
        x->index = get_u32(r);
        x->offset = get_u64(r);
        x->root = i;
        if (x->place == PLAN_VALUE && x->index >= p->nvalues)
            p->nvalues = x->index + 1;
        if (!r->bad && !plan_is_value(x))
            r->bad = !mem_shape(x->dims, x->rank, ir_dtype_get(x->dtype)->bytes, &x->bytes);
        r->bad |= !is_placed(r, x);
        if (x->dtype == IR_DTYPE_NONE)
            r->bad |= x->place != PLAN_VALUE && x->place != PLAN_ARGUMENT;
        if (r->bad || !place_bytes(r, x, &room) || x->offset > room || x->bytes > room - x->offset) {
            r->bad = true;
            return;
        }
        if (x->place != PLAN_CONSTANT)
            continue;
        x->data = r->blobs[x->index] + x->offset;
        if (!whole[x->index] && x->offset == 0 && x->bytes == room)
            whole[x->index] = i + 1;
        if (whole[x->index]) {
            x->root = whole[x->index] - 1;
            x->root_offset = x->offset;
            r->bad |= r->buffers[x->root].space != x->space;
        }
        x->index = 0;
        x->offset = 0;
    }
    if (!r->bad)
        p->device_constants = plan_place_constants(r->buffers, p->nbuffers);
    r->bad |= p->device_constants == SIZE_MAX;
}

static void need_scratch(struct reader *r, enum plan_space space, uint64_t bytes) {
    r->bad |= bytes > PTRDIFF_MAX;
    if (r->plan.memory[space].scratch_bytes < bytes)
        r->plan.memory[space].scratch_bytes = bytes;
}

static void get_maps(struct reader *r, struct hilo_gpu_launch *l) {
    l->nmaps = get_u32(r);
    r->bad |= l->nmaps > HILO_GPU_MAPS;
    for (uint32_t i = 0; i < l->nmaps && !r->bad; i++) {
        struct hilo_gpu_map *m = &l->maps[i];
        uint32_t *const numbers[] = {&m->param, &m->element_bytes, &m->box_lines};
        uint64_t *const sizes[] = {&m->columns, &m->lines, &m->line_bytes};
        for (int j = 0; j < 3; j++)
            *numbers[j] = get_u32(r);
        for (int j = 0; j < 3; j++)
            *sizes[j] = get_u64(r);
        r->bad |= m->param >= l->params || !m->element_bytes || m->element_bytes > 8 ||
                  (m->element_bytes & (m->element_bytes - 1)) != 0;
    }
}

static bool launch_is_right(const struct reader *r, const struct plan_kernel *k) {
    size_t slab;
    if (!r->exe->on_device)
        return k->gpu.threads == 0 && k->gpu.nmaps == 0;
    return k->gpu.threads && k->gpu.blocks <= INT32_MAX && mem_mul(k->gpu.slab_bytes, k->gpu.blocks, &slab) &&
           slab == k->scratch_bytes && k->gpu.params == k->nparams + (k->gpu.slab_bytes != 0);
}

static void get_kernels(struct reader *r) {
    r->nkernels = get_count(r, 68);
    r->kernels = ARENA_ARRAY(r->a, struct plan_kernel, r->nkernels);
    for (uint32_t i = 0; i < r->nkernels && !r->bad; i++) {
        struct plan_kernel *k = &r->kernels[i];
        k->name = get_text(r);
        k->nparams = get_u32(r);
        k->grid = get_i64(r);
        k->scratch_bytes = get_u64(r);
        k->ns = get_f64(r);
        k->packs = get_u32(r) != 0;
        atomic_init(&k->tier, get_u32(r) == PLAN_BASELINE ? PLAN_BASELINE : PLAN_OPTIMISED);
        k->gpu.threads = get_u32(r);
        k->gpu.blocks = get_u32(r);
        k->gpu.shared_bytes = get_u32(r);
        k->gpu.params = get_u32(r);
        k->gpu.slab_bytes = get_u64(r);
        get_maps(r, &k->gpu);
        r->bad |= !launch_is_right(r, k);
        r->bad |= !isfinite(k->ns) || k->ns < 0;
        need_scratch(r, k->gpu.threads ? PLAN_DEVICE : PLAN_HOST, k->scratch_bytes);
    }
    r->nroutines = get_count(r, 28);
    r->routines = ARENA_ARRAY(r->a, struct lib_match, r->nroutines);
    for (uint32_t i = 0; i < r->nroutines && !r->bad; i++) {
        struct lib_match *x = &r->routines[i];
        r->bad |= !lib_match_named(get_text(r), x);
        x->scratch_bytes = get_u64(r);
        x->ns = get_f64(r);
        r->bad |= !isfinite(x->ns) || x->ns < 0;
        x->nparams = get_count(r, sizeof(int64_t));
        r->bad |= lib_on_device(x->by) && !r->exe->on_device;
        need_scratch(r, plan_space_of(NULL, x), x->scratch_bytes);
        r->bad |= x->nparams > LIB_MOST_PARAMS;
        for (uint32_t k = 0; k < x->nparams && !r->bad; k++)
            x->params[k] = get_i64(r);
    }
}

/* A routine reads operands, then writes results, and nothing outside of them. */
static bool routine_fits(const struct reader *r, const struct plan_step *s) {
    struct lib_sizes sizes = {.scratch = s->routine ? s->routine->scratch_bytes : 0};
    size_t *bytes = ARENA_ARRAY(r->a, size_t, s->nuses);
    for (uint32_t i = 0; i < s->nuses; i++) {
        bytes[i] = r->buffers[s->uses[i].buffer].bytes;
        sizes.nin += s->uses[i].role == PLAN_IN;
        if (s->uses[i].role == PLAN_IN && sizes.nin != i + 1)
            return false;
    }
    sizes.bytes = bytes;
    sizes.nout = s->nuses - sizes.nin;
    return s->routine && lib_fits(s->routine, &sizes);
}

/* An init step is a kernel that reads constants, its section's argument, and what such steps write. */
static bool init_is_right(const struct reader *r, const struct plan_step *s) {
    bool right = s->kind == PLAN_KERNEL && s->group == 0;
    for (uint32_t i = 0; i < s->nuses && right; i++) {
        const struct plan_buffer *x = &r->buffers[s->uses[i].buffer];
        right = x->place == PLAN_CONSTANT || x->place == PLAN_BLOCK || (x->place == PLAN_INIT && x->index < s->init) ||
                (x->place == PLAN_ARGUMENT && (int64_t)x->index == r->plan.sections[s->init - 1].argument);
    }
    return right;
}

/* As many results as operands, of sizes that fit; whether the groups do, and whether an exchange has both halves, is known only
   when it runs. */
static bool collective_fits(const struct reader *r, const struct plan_step *s) {
    const struct plan_buffer *v = r->buffers;
    uint32_t n = s->nuses / 2;
    if (!s->collective)
        return false;
    if (s->collective->kind >= PLAN_REPLICA_ID)
        return s->kind == PLAN_COLLECTIVE && !s->collective->number && s->nuses == 1 && s->uses[0].role == PLAN_OUT &&
               v[s->uses[0].buffer].bytes == sizeof(uint32_t);
    bool done = s->kind == PLAN_DONE, half = s->collective->number != 0;
    bool fits = n > 0 && s->nuses == 2 * n && (!done || half) && (!half || n == 1);
    enum plan_role result = done ? PLAN_INOUT : PLAN_OUT;
    for (uint32_t i = 0; i < n && fits; i++) {
        size_t in = v[s->uses[i].buffer].bytes, out = v[s->uses[n + i].buffer].bytes;
        fits = s->uses[i].role == PLAN_IN && s->uses[n + i].role == result &&
               (s->collective->kind == PLAN_ALL_GATHER ? (in ? out % in == 0 : out == 0) : in == out);
    }
    return fits;
}

/* What has to hold of a step by its kind. */
static bool step_is_right(const struct reader *r, const struct plan_step *s, uint32_t number) {
    const struct plan_buffer *v = r->buffers;
    enum ir_dtype t = s->nuses ? v[s->uses[0].buffer].dtype : IR_DTYPE_NONE;
    if (s->init && !init_is_right(r, s))
        return false;
    enum plan_space space = plan_space_of(s->kernel, s->routine);
    for (uint32_t i = 0; i < s->nuses && s->kind != PLAN_COPY; i++)
        if (v[s->uses[i].buffer].space != space)
            return false;
    switch (s->kind) {
    case PLAN_KERNEL:
        return s->kernel && s->nuses == s->kernel->nparams && s->ntargets == 0;
    case PLAN_ROUTINE:
        return s->ntargets == 0 && routine_fits(r, s);
    case PLAN_COPY:
        return s->nuses == 2 && s->uses[0].role == PLAN_IN && s->uses[1].role == PLAN_OUT && s->ntargets == 0 &&
               (v[s->uses[0].buffer].bytes == v[s->uses[1].buffer].bytes || plan_is_value(&v[s->uses[0].buffer]) ||
                plan_is_value(&v[s->uses[1].buffer]));
    case PLAN_TEST:
        return s->ntargets == 1 && (s->nuses == 0 || (s->nuses == 1 && s->uses[0].role == PLAN_IN && t == IR_I1_T &&
                                                      v[s->uses[0].buffer].bytes));
    case PLAN_SWITCH:
        return s->nuses == 1 && s->uses[0].role == PLAN_IN && (t == IR_I1_T || t == IR_I32_T) && v[s->uses[0].buffer].bytes &&
               s->ntargets > 0;
    case PLAN_JUMP:
        return s->nuses == 0 && s->ntargets == 1 && s->targets[0] != number;
    case PLAN_REFERENCE:
        return !IR_NONE(s->func) && function_fits(r, s);
    case PLAN_COLLECTIVE:
    case PLAN_DONE:
        return s->ntargets == 0 && collective_fits(r, s);
    default:
        return false;
    }
}

static const struct plan_collective *get_collective(struct reader *r) {
    struct plan_collective *c = ARENA_NEW(r->a, struct plan_collective);
    uint32_t kind = get_u32(r), number = get_u32(r), how = get_u32(r), n = get_u32(r), cols = get_u32(r);
    size_t count;
    if (kind >= PLAN_NEXCHANGES || number >= PLAN_EXCHANGES || how > IR_FLATTENED_IDS || !mem_mul(n, cols, &count) ||
        count > (size_t)(r->end - r->at) / sizeof(int64_t)) {
        r->bad = true;
        return NULL;
    }
    int64_t *ids = ARENA_ARRAY(r->a, int64_t, count);
    for (size_t i = 0; i < count; i++)
        ids[i] = get_i64(r);
    *c = (struct plan_collective){.kind = (enum plan_exchange)kind, .number = number,
                                  .groups = {.how = (enum ir_groups_how)how, .ids = ids, .n = n, .cols = cols}};
    return c;
}

static void get_step(struct reader *r, struct plan_step *s, uint32_t number) {
    s->kind = (enum plan_step_kind)get_u32(r);
    s->depth = get_u32(r);
    r->bad |= s->depth > 1 << 16;
    s->group = get_u32(r);
    uint32_t code = get_u32(r);
    s->kernel = s->kind == PLAN_KERNEL && code < r->nkernels ? &r->kernels[code] : NULL;
    s->routine = s->kind == PLAN_ROUTINE && code < r->nroutines ? &r->routines[code] : NULL;
    s->func = s->kind == PLAN_REFERENCE && code < r->nfunctions ? r->functions[code] : (ir_op){0};
    s->nuses = get_count(r, 8);
    struct plan_use *uses = ARENA_ARRAY(r->a, struct plan_use, s->nuses);
    s->uses = uses;
    for (uint32_t i = 0; i < s->nuses && !r->bad; i++) {
        uses[i].buffer = get_u32(r);
        uses[i].role = (enum plan_role)get_u32(r);
        if (uses[i].buffer >= r->plan.nbuffers || uses[i].role > PLAN_INOUT) {
            r->bad = true;
            return;
        }
        enum plan_place place = r->buffers[uses[i].buffer].place;
        r->bad |= uses[i].role != PLAN_IN && place != PLAN_BLOCK && place != PLAN_RESULT && place != PLAN_VALUE &&
                  !(place == PLAN_INIT && s->init == r->buffers[uses[i].buffer].index + 1);
        r->bad |= plan_is_value(&r->buffers[uses[i].buffer]) && s->kind != PLAN_REFERENCE && s->kind != PLAN_COPY;
    }
    s->ntargets = get_count(r, 4);
    uint32_t *targets = ARENA_ARRAY(r->a, uint32_t, s->ntargets);
    s->targets = targets;
    for (uint32_t i = 0; i < s->ntargets; i++) {
        targets[i] = get_u32(r);
        r->bad |= targets[i] > r->plan.nsteps;
    }
    if (s->kind == PLAN_TEST && s->nuses == 0) {
        s->trips = get_u64(r);
        s->counter = r->plan.ncounters++;
    }
    if ((s->kind == PLAN_COLLECTIVE || s->kind == PLAN_DONE) && !r->bad)
        s->collective = get_collective(r);
    r->bad = r->bad || !step_is_right(r, s, number);
}

/* Groups are of kernels that are there. */
static bool groups_are_right(const struct plan *p) {
    for (uint32_t i = 0; i < p->nsteps; i++) {
        uint32_t n = p->steps[i].group;
        if (n > PLAN_GROUP_MOST || n > p->nsteps - i)
            return false;
        for (uint32_t k = 0; k < n; k++)
            if (p->steps[i + k].kind != PLAN_KERNEL || p->steps[i + k].kernel->grid <= 0)
                return false;
    }
    return true;
}

static void get_steps(struct reader *r) {
    struct plan *p = &r->plan;
    p->nsteps = get_count(r, 24);
    struct plan_step *steps = ARENA_ARRAY(r->a, struct plan_step, p->nsteps);
    p->steps = steps;
    for (uint32_t i = 0, section = 0, first = 0; i < p->nsteps && !r->bad; i++) {
        while (section < p->nsections && i - first == p->sections[section].nsteps)
            first += p->sections[section++].nsteps;
        steps[i].init = section < p->nsections ? section + 1 : 0;
        get_step(r, &steps[i], i);
    }
    r->bad = r->bad || p->ninit > p->nsteps || !groups_are_right(p);
    for (int space = 0; space < PLAN_SPACES; space++) {
        struct plan_memory *memory = &p->memory[space];
        memory->block_bytes = get_u64(r);
        memory->live_bytes = get_u64(r);
        r->bad |= memory->block_bytes % RT_FILE_ALIGN || memory->block_bytes > PTRDIFF_MAX;
    }
    for (uint32_t i = 0; i < p->nbuffers && !r->bad; i++) {
        size_t block = p->memory[r->buffers[i].space].block_bytes;
        if (r->buffers[i].place == PLAN_BLOCK)
            r->bad = r->buffers[i].offset > block || r->buffers[i].bytes > block - r->buffers[i].offset;
    }
}

static bool same_type(const hilo_type *x, const hilo_type *y) {
    return x->dtype == y->dtype && x->rank == y->rank && (!x->rank || memcmp(x->dims, y->dims, x->rank * sizeof *x->dims) == 0);
}

/* An argument and a result are in one memory each, that of a donated argument in its result's; what steps write as a result is
   one. */
static bool ports_are_right(const struct reader *r) {
    const struct plan *p = &r->plan;
    enum plan_space *spaces = ARENA_ARRAY(r->a, enum plan_space, p->narguments);
    bool *found = ARENA_ARRAY(r->a, bool, p->narguments);
    for (uint32_t i = 0; i < p->narguments; i++)
        spaces[i] = r->exe->on_device ? PLAN_DEVICE : PLAN_HOST;
    for (uint32_t i = 0; i < p->nbuffers; i++) {
        const struct plan_buffer *x = &p->buffers[i];
        if (x->place == PLAN_ARGUMENT && !plan_is_value(x)) {
            if (found[x->index] && spaces[x->index] != x->space)
                return false;
            found[x->index] = true;
            spaces[x->index] = x->space;
        } else if (x->place == PLAN_RESULT) {
            const struct plan_buffer *whole = &p->buffers[p->results[x->index]];
            if (whole->place != PLAN_RESULT || whole->index != x->index || whole->space != x->space)
                return false;
        }
    }
    for (uint32_t i = 0; i < p->nresults; i++) {
        const struct plan_buffer *x = &p->buffers[p->results[i]];
        if (plan_is_value(x))
            continue;
        if (x->place != PLAN_RESULT || x->index != i || (p->donors[i] >= 0 && spaces[p->donors[i]] != x->space))
            return false;
    }
    return true;
}

static void get_results(struct reader *r) {
    struct plan *p = &r->plan;
    uint32_t *results = ARENA_ARRAY(r->a, uint32_t, p->nresults), *arguments = ARENA_ARRAY(r->a, uint32_t, p->narguments);
    int32_t *donors = ARENA_ARRAY(r->a, int32_t, p->nresults);
    bool *given = ARENA_ARRAY(r->a, bool, p->narguments);
    for (uint32_t i = 0; i < p->narguments; i++)
        arguments[i] = UINT32_MAX; /* not needed once the plan is made */
    for (uint32_t i = 0; i < p->nresults && !r->bad; i++) {
        results[i] = get_u32(r);
        donors[i] = (int32_t)get_u32(r);
        bool donated = donors[i] >= 0;
        r->bad |= results[i] >= p->nbuffers || donors[i] < -1 || (donated && (uint32_t)donors[i] >= p->narguments);
        if (!r->bad && donated) {
            r->bad = given[donors[i]];
            given[donors[i]] = true;
        }
        if (!r->bad && donated)
            r->bad = !same_type(&r->exe->inputs[donors[i]].type, &r->exe->outputs[i].type);
    }
    p->arguments = arguments;
    p->results = results;
    p->donors = donors;
    r->bad = r->bad || !ports_are_right(r);
}

static struct str *get_code(struct reader *r, uint32_t n) {
    struct str *v = ARENA_ARRAY(r->a, struct str, n);
    for (uint32_t i = 0; i < n; i++)
        v[i] = get_bytes(r);
    return v;
}

static hilo_status get_objects(struct reader *r) {
    uint32_t n = get_count(r, 8);
    const struct str *objects = get_code(r, n);
    uint32_t cubins = get_u32(r);
    r->exe->cubins = cubins ? get_code(r, n) : NULL;
    if (r->bad || cubins > r->exe->on_device)
        return damaged(r, "its machine code");
    r->exe->plan = r->plan;
    return rt_executable_link(r->exe, objects, n, r->exe->features, r->d);
}

static hilo_status get_table(struct reader *r) {
    HILO_TRY(get_target(r));
    r->exe->about.name = get_text(r);
    r->exe->about.flops = get_f64(r);
    r->exe->about.bytes = get_f64(r);
    r->exe->about.copies = get_u32(r) != 0;
    r->exe->about.fingerprint = get_u64(r);
    r->plan.evaluated = get_u32(r) != 0;
    r->exe->specialise_level = r->plan.evaluated ? (int32_t)get_u32(r) : -1;
    r->bad |= r->exe->specialise_level < -1 || r->exe->specialise_level > 3;
    r->exe->inputs = get_ports(r, &r->plan.narguments);
    r->exe->outputs = get_ports(r, &r->plan.nresults);
    HILO_TRY(get_program(r));
    if (r->plan.evaluated)
        return get_whole(r);
    if (!r->bad)
        get_blobs(r);
    if (!r->bad)
        get_sections(r);
    if (!r->bad)
        get_buffers(r);
    if (!r->bad)
        get_kernels(r);
    if (!r->bad)
        get_steps(r);
    if (!r->bad)
        get_results(r);
    if (r->bad)
        return damaged(r, "its plan");
    HILO_TRY(get_objects(r));
    if (r->nfunctions)
        HILO_TRY(eval_plan_new(r->plan.m, &r->a->al, r->d, &r->exe->plan.reference));
    return rt_executable_ready(r->exe, r->d);
}

/* ---- the head -------------------------------------------------------------------------------- */

static hilo_status check_head(struct reader *r, struct rt_file_head *head) {
    if (!rt_is_file(r->image) || r->image.n < sizeof *head)
        return diag_error(r->d, HILO_INVALID_ARGUMENT, "this is not a .hilo file");
    memcpy(head, r->image.p, sizeof *head);
    if (head->version != RT_FILE_VERSION || head->abi != HILO_KERNEL_ABI_VERSION)
        return diag_error(r->d, HILO_FAILED_PRECONDITION,
                          ".hilo file: of format %" PRIu32 ".%" PRIu32 "; this hilo reads %d.%d", head->version, head->abi,
                          RT_FILE_VERSION, HILO_KERNEL_ABI_VERSION);
    if (head->bytes != r->image.n)
        return diag_error(r->d, HILO_DATA_LOSS, ".hilo file: has %zu bytes of %" PRIu64, r->image.n, head->bytes);
    if (head->table < sizeof *head || head->table > head->bytes || head->table % RT_FILE_ALIGN)
        return damaged(r, "its head");
    struct hash h = {{0, 0}};
    size_t hashed = offsetof(struct rt_file_head, key);
    hash_add(&h, r->image.p + hashed, (size_t)head->table - hashed);
    hash_blocks(&h, r->image.p + head->table, (size_t)(head->bytes - head->table));
    hash_add(&h, NULL, 0);
    if (memcmp(h.v, head->hash, sizeof h.v) != 0)
        return damaged(r, "its contents have another hash");
    if (r->key && memcmp(head->key, r->key, sizeof head->key) != 0)
        return diag_error(r->d, HILO_FAILED_PRECONDITION, ".hilo file: of another program");
    return HILO_OK;
}

/* ---- all ------------------------------------------------------------------------------------- */

static hilo_status read_image(struct reader *r) {
    struct rt_file_head head;
    HILO_TRY(check_head(r, &head));
    r->at = r->image.p + sizeof head;
    r->end = r->image.p + head.table;
    return get_table(r);
}

/* Takes memory from the executable's arena. */
static hilo_status read_guarded(struct reader *r) {
    jmp_buf recover;
    r->a->recover = &recover;
    hilo_status status;
    if (!setjmp(recover))
        status = read_image(r);
    else
        status = HILO_RESOURCE_EXHAUSTED;
    r->a->recover = NULL;
    return status;
}

/* What keeps the image alive, in memory of the executable's. */
struct image {
    struct file file;
    hilo_allocator al;
    void *copy;
    size_t bytes;
};

static void image_free(void *p) {
    struct image *image = p;
    hilo_allocator al = image->al;
    file_close(&image->file);
    mem_free(&al, image->copy, image->bytes);
    mem_free(&al, image, sizeof *image);
}

/* Takes over the image. */
static hilo_status load(hilo_client *client, struct image *image, struct str bytes, const uint8_t *key, struct diag_list *d,
                        hilo_executable **out) {
    double begin = rt_now_ms();
    hilo_executable *exe = rt_executable_new(client, NULL);
    if (!exe) {
        image_free(image);
        return HILO_RESOURCE_EXHAUSTED;
    }
    exe->image = image;
    exe->free_image = image_free;
    struct reader r = {.exe = exe, .a = &exe->arena, .d = d, .key = key, .image = bytes};
    hilo_status status = read_guarded(&r);
    if (status != HILO_OK) {
        hilo_executable_release(exe);
        return status;
    }
    exe->compile_ms = rt_now_ms() - begin;
    *out = exe;
    return HILO_OK;
}

static struct image *image_new(hilo_client *client) {
    struct image *image = mem_alloc(&client->al, sizeof *image);
    if (image)
        *image = (struct image){.al = client->al};
    return image;
}

/* A copy that is aligned as constants must be. */
static hilo_status load_copy(hilo_client *client, const void *bytes, size_t nbytes, struct diag_list *d,
                             hilo_executable **out) {
    struct image *image = image_new(client);
    if (!image)
        return HILO_RESOURCE_EXHAUSTED;
    image->copy = mem_alloc(&client->al, nbytes);
    image->bytes = nbytes;
    if (!image->copy) {
        image_free(image);
        return HILO_RESOURCE_EXHAUSTED;
    }
    if (nbytes)
        memcpy(image->copy, bytes, nbytes);
    return load(client, image, (struct str){image->copy, nbytes}, NULL, d, out);
}

hilo_status rt_file_load(hilo_client *client, struct file *file, const uint8_t *key, struct diag_list *d,
                         hilo_executable **out) {
    struct image *image = image_new(client);
    if (!image) {
        file_close(file);
        return HILO_RESOURCE_EXHAUSTED;
    }
    image->file = *file;
    return load(client, image, file->text, key, d, out);
}

static hilo_status load_path(hilo_client *client, const char *path, struct diag_list *d, hilo_executable **out) {
    struct file file;
    HILO_TRY(file_open(path, client->al, d, &file));
    return rt_file_load(client, &file, NULL, d, out);
}

hilo_status hilo_executable_deserialize(hilo_client *client, const void *bytes, size_t nbytes, hilo_executable **out) {
    if (!client || !out || (nbytes && !bytes))
        return HILO_INVALID_ARGUMENT;
    struct diag_list d;
    diag_init(&d, client->al);
    return rt_finish(client, &d, load_copy(client, bytes, nbytes, &d, out));
}

hilo_status hilo_executable_load(hilo_client *client, const char *path, hilo_executable **out) {
    if (!client || !path || !out)
        return HILO_INVALID_ARGUMENT;
    struct diag_list d;
    diag_init(&d, client->al);
    return rt_finish(client, &d, load_path(client, path, &d, out));
}
