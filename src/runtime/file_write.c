/* Writing .hilo files. After the header follow, without padding: the version of hilo, the machine and the features of its
 * processor; the program's name, its operations and bytes, whether it only copies; whether the plan is one step over
 * values, and if so, the level at which runs compile the program for the shapes of their inputs, or -1; inputs and
 * outputs; the program that the reference evaluator runs functions of, as text, and their names; constants' sizes;
 * sections of init steps; buffers; kernels; routines; steps; results and donors; objects; their cubins. A plan of one step
 * ends after the name of its function. Then, from a multiple of 64 bytes on, the constants, each likewise. Counts and sizes are
 * written before what they count; texts and objects as a size and bytes. */
#include "base/hash.h"
#include "runtime/runtime.h"

#include <stdlib.h>

struct writer {
    const hilo_executable *exe;
    const uint8_t *key;      /* or NULL */
    const struct plan *p;
    struct strbuf out;
    uint32_t *buffers; /* by number in the plan: number in the file; UINT32_MAX = not used */
    uint32_t *order, nbuffers;
    uint32_t *blobs, nblobs; /* plan buffers whose data are the constants; by buffer of the file: which one */
    uint32_t *blob_of;
    const struct plan_kernel **kernels;
    const struct lib_match **routines;
    uint32_t *kernel_of; /* by step: number of its kernel */
    ir_op *functions;
    uint32_t nkernels, nroutines, nfunctions;
    uint32_t skipped; /* init steps of constants, which have run */
};

static void put_u32(struct writer *w, uint32_t v) {
    strbuf_putn(&w->out, (const char *)&v, sizeof v);
}

static void put_u64(struct writer *w, uint64_t v) {
    strbuf_putn(&w->out, (const char *)&v, sizeof v);
}

static void put_i64(struct writer *w, int64_t v) {
    put_u64(w, (uint64_t)v);
}

static void put_f64(struct writer *w, double v) {
    strbuf_putn(&w->out, (const char *)&v, sizeof v);
}

static void put_bytes(struct writer *w, struct str s) {
    put_u64(w, s.n);
    strbuf_str(&w->out, s);
}

static void put_text(struct writer *w, const char *z) {
    put_bytes(w, str_of(z));
}

static void put_shape(struct writer *w, hilo_dtype dtype, uint32_t rank, const int64_t *dims) {
    put_u32(w, (uint32_t)dtype);
    put_u32(w, rank);
    for (uint32_t i = 0; i < rank; i++)
        put_i64(w, dims[i]);
}

/* ---- what is used ---------------------------------------------------------------------------- */

/* What init steps made of constants is written as a constant, in place of these. */
static bool is_constant(const struct writer *w, const struct plan_buffer *x) {
    return x->place == PLAN_CONSTANT || (w->skipped && x->place == PLAN_INIT && x->index == 0);
}

static const char *constant_data(const struct writer *w, const struct plan_buffer *x) {
    return x->place == PLAN_CONSTANT ? x->data : w->exe->init_memory + x->offset;
}

/* Constants that share memory are written once: by root, which comes first. */
static void use_buffer(struct writer *w, uint32_t number) {
    if (w->buffers[number] != UINT32_MAX)
        return;
    const struct plan_buffer *x = &w->p->buffers[number];
    if (is_constant(w, x) && x->root != number)
        use_buffer(w, x->root);
    w->buffers[number] = w->nbuffers;
    w->order[w->nbuffers++] = number;
    if (!is_constant(w, x))
        return;
    if (w->blob_of[x->root] == UINT32_MAX) {
        w->blob_of[x->root] = w->nblobs;
        w->blobs[w->nblobs++] = x->root;
    }
    w->blob_of[number] = w->blob_of[x->root];
}

/* A step of kind KERNEL. */
struct kernel_use {
    const struct plan_kernel *kernel;
    uint32_t step;
};

static int kernel_order(const void *x, const void *y) {
    const struct kernel_use *a = x, *b = y;
    if (a->kernel != b->kernel)
        return (uintptr_t)a->kernel < (uintptr_t)b->kernel ? -1 : 1;
    return a->step < b->step ? -1 : 1;
}

/* Numbers the kernels in the order of their first steps. */
static void number_kernels(struct writer *w, struct arena *a) {
    const struct plan *p = w->p;
    struct kernel_use *uses = ARENA_ARRAY(a, struct kernel_use, p->nsteps);
    uint32_t n = 0;
    w->kernels = ARENA_ARRAY(a, const struct plan_kernel *, p->nsteps);
    w->kernel_of = ARENA_ARRAY(a, uint32_t, p->nsteps);
    for (uint32_t i = w->skipped; i < p->nsteps; i++)
        if (p->steps[i].kind == PLAN_KERNEL)
            uses[n++] = (struct kernel_use){p->steps[i].kernel, i};
    if (n)
        qsort(uses, n, sizeof *uses, kernel_order);
    for (uint32_t i = 0, first = 0; i < n; i++) {
        if (uses[i].kernel != uses[first].kernel)
            first = i;
        w->kernel_of[uses[i].step] = uses[first].step;
    }
    for (uint32_t i = w->skipped; i < p->nsteps; i++) {
        if (p->steps[i].kind != PLAN_KERNEL)
            continue;
        bool fresh = w->kernel_of[i] == i;
        w->kernel_of[i] = fresh ? w->nkernels : w->kernel_of[w->kernel_of[i]];
        if (fresh)
            w->kernels[w->nkernels++] = p->steps[i].kernel;
    }
}

static hilo_status use_step(struct writer *w, const struct plan_step *s, struct diag_list *d) {
    if (s->kind == PLAN_REFERENCE)
        w->functions[w->nfunctions++] = s->func;
    if (s->kind == PLAN_KERNEL && s->kernel->interpret)
        return diag_error(d, HILO_UNIMPLEMENTED, "kernel '%s' is interpreted, which a file cannot hold", s->kernel->name);
    if (s->kind == PLAN_ROUTINE)
        w->routines[w->nroutines++] = s->routine;
    for (uint32_t i = 0; i < s->nuses; i++)
        use_buffer(w, s->uses[i].buffer);
    return HILO_OK;
}

static hilo_status find_used(struct writer *w, struct arena *a, struct diag_list *d) {
    const struct plan *p = w->p;
    w->functions = ARENA_ARRAY(a, ir_op, p->nsteps);
    if (p->evaluated) {
        w->functions[w->nfunctions++] = p->steps->func;
        return HILO_OK;
    }
    w->buffers = ARENA_ARRAY(a, uint32_t, p->nbuffers);
    w->order = ARENA_ARRAY(a, uint32_t, p->nbuffers);
    w->blobs = ARENA_ARRAY(a, uint32_t, p->nbuffers);
    w->blob_of = ARENA_ARRAY(a, uint32_t, p->nbuffers);
    number_kernels(w, a);
    w->routines = ARENA_ARRAY(a, const struct lib_match *, p->nsteps);
    for (uint32_t i = 0; i < p->nbuffers; i++)
        w->buffers[i] = w->blob_of[i] = UINT32_MAX;
    for (uint32_t i = w->skipped; i < p->nsteps; i++)
        HILO_TRY(use_step(w, &p->steps[i], d));
    for (uint32_t i = 0; i < p->nresults; i++)
        use_buffer(w, p->results[i]);
    return HILO_OK;
}

/* ---- the table ------------------------------------------------------------------------------- */

static void put_ports(struct writer *w, const struct rt_port *v, uint32_t n) {
    put_u32(w, n);
    for (uint32_t i = 0; i < n; i++) {
        put_shape(w, v[i].type.dtype, v[i].type.rank, v[i].type.dims);
        put_u32(w, v[i].bounds != NULL);
        for (uint32_t k = 0; v[i].bounds && k < v[i].type.rank; k++)
            put_i64(w, v[i].bounds[k]);
        put_text(w, v[i].name);
        put_u32(w, (uint32_t)v[i].alias);
    }
}

/* Of a plan of buffers the entry's body is in the plan; the functions of its other steps are called by nothing. */
static void put_program(struct writer *w) {
    struct strbuf text;
    strbuf_init(&text, w->out.al);
    struct ir_print_options o = {.locations = true, .declare = w->p->evaluated ? (ir_op){0} : w->exe->entry};
    if (w->nfunctions)
        ir_print_module(w->p->m, &o, &text);
    w->out.failed |= text.failed;
    put_bytes(w, (struct str){text.p ? text.p : "", text.n});
    strbuf_free(&text);
    put_u32(w, w->nfunctions);
    for (uint32_t i = 0; i < w->nfunctions; i++)
        put_bytes(w, ir_prop_str(w->p->m, w->functions[i], IR_FUNC_sym_name));
}

static void put_buffers(struct writer *w) {
    put_u32(w, w->nblobs);
    for (uint32_t i = 0; i < w->nblobs; i++)
        put_u64(w, w->p->buffers[w->blobs[i]].bytes);
    put_u32(w, w->p->nsections);
    for (uint32_t i = 0; i < w->p->nsections; i++) {
        const struct plan_init *x = &w->p->sections[i];
        put_u32(w, (uint32_t)x->argument);
        put_u32(w, i == 0 && w->skipped ? 0 : x->nsteps);
        put_u64(w, i == 0 && w->skipped ? 0 : x->bytes);
    }
    put_u32(w, w->nbuffers);
    for (uint32_t i = 0; i < w->nbuffers; i++) {
        const struct plan_buffer *x = &w->p->buffers[w->order[i]];
        bool constant = is_constant(w, x);
        put_shape(w, x->dtype ? ir_dtype_get(x->dtype)->number : HILO_TOKEN, x->rank, x->dims);
        put_u32(w, constant ? PLAN_CONSTANT : x->place);
        put_u32(w, x->space);
        put_u32(w, constant ? w->blob_of[w->order[i]] : x->index);
        put_u64(w, constant ? x->root_offset : x->offset);
    }
}

static void put_maps(struct writer *w, const struct hilo_gpu_launch *l) {
    put_u32(w, l->nmaps);
    for (uint32_t i = 0; i < l->nmaps; i++) {
        const struct hilo_gpu_map *m = &l->maps[i];
        put_u32(w, m->param);
        put_u32(w, m->element_bytes);
        put_u32(w, m->box_lines);
        put_u64(w, m->columns);
        put_u64(w, m->lines);
        put_u64(w, m->line_bytes);
    }
}

static void put_kernels(struct writer *w) {
    put_u32(w, w->nkernels);
    for (uint32_t i = 0; i < w->nkernels; i++) {
        const struct plan_kernel *k = w->kernels[i];
        put_text(w, k->name);
        put_u32(w, k->nparams);
        put_i64(w, k->grid);
        put_u64(w, k->scratch_bytes);
        put_f64(w, k->ns);
        put_u32(w, k->packs);
        put_u32(w, (uint32_t)atomic_load(&k->tier));
        put_u32(w, k->gpu.threads);
        put_u32(w, k->gpu.blocks);
        put_u32(w, k->gpu.shared_bytes);
        put_u32(w, k->gpu.params);
        put_u64(w, k->gpu.slab_bytes);
        put_maps(w, &k->gpu);
    }
    put_u32(w, w->nroutines);
    for (uint32_t i = 0; i < w->nroutines; i++) {
        const struct lib_match *r = w->routines[i];
        put_text(w, lib_match_name(r));
        put_u64(w, r->scratch_bytes);
        put_f64(w, r->ns);
        put_u32(w, r->nparams);
        for (uint32_t k = 0; k < r->nparams; k++)
            put_i64(w, r->params[k]);
    }
}

static void put_collective(struct writer *w, const struct plan_collective *c) {
    put_u32(w, c->kind);
    put_u32(w, c->number);
    put_u32(w, c->groups.how);
    put_u32(w, (uint32_t)c->groups.n);
    put_u32(w, (uint32_t)c->groups.cols);
    for (size_t i = 0; i < c->groups.n * c->groups.cols; i++)
        put_i64(w, c->groups.ids[i]);
}

static void put_steps(struct writer *w) {
    const struct plan *p = w->p;
    uint32_t routine = 0, function = 0;
    put_u32(w, p->nsteps - w->skipped);
    for (uint32_t i = w->skipped; i < p->nsteps; i++) {
        const struct plan_step *s = &p->steps[i];
        put_u32(w, s->kind);
        put_u32(w, s->depth);
        put_u32(w, s->group);
        put_u32(w, s->kind == PLAN_KERNEL      ? w->kernel_of[i]
                   : s->kind == PLAN_ROUTINE   ? routine++
                   : s->kind == PLAN_REFERENCE ? function++
                                               : 0);
        put_u32(w, s->nuses);
        for (uint32_t k = 0; k < s->nuses; k++) {
            put_u32(w, w->buffers[s->uses[k].buffer]);
            put_u32(w, s->uses[k].role);
        }
        put_u32(w, s->ntargets);
        for (uint32_t k = 0; k < s->ntargets; k++)
            put_u32(w, s->targets[k] - w->skipped);
        if (s->kind == PLAN_TEST && !s->nuses)
            put_u64(w, s->trips);
        if (s->collective)
            put_collective(w, s->collective);
    }
    for (int space = 0; space < PLAN_SPACES; space++) {
        put_u64(w, p->memory[space].block_bytes);
        put_u64(w, p->memory[space].live_bytes);
    }
    for (uint32_t i = 0; i < p->nresults; i++) {
        put_u32(w, w->buffers[p->results[i]]);
        put_u32(w, (uint32_t)p->donors[i]);
    }
}

static void put_table(struct writer *w) {
    struct rt_file_head room = {.version = 0};
    strbuf_putn(&w->out, (const char *)&room, sizeof room);
    put_text(w, hilo_version());
    put_text(w, w->exe->machine);
    put_text(w, w->exe->features);
    put_text(w, w->exe->about.name);
    put_f64(w, w->exe->about.flops);
    put_f64(w, w->exe->about.bytes);
    put_u32(w, w->exe->about.copies);
    put_u64(w, w->exe->about.fingerprint);
    put_u32(w, w->p->evaluated);
    if (w->p->evaluated)
        put_u32(w, (uint32_t)w->exe->specialise_level);
    put_ports(w, w->exe->inputs, w->p->narguments);
    put_ports(w, w->exe->outputs, w->p->nresults);
    put_program(w);
    if (!w->p->evaluated) {
        put_buffers(w);
        put_kernels(w);
        put_steps(w);
        put_u32(w, w->exe->nobjects);
        for (uint32_t i = 0; i < w->exe->nobjects; i++)
            put_bytes(w, w->exe->objects[i]);
        put_u32(w, w->exe->cubins != NULL);
        for (uint32_t i = 0; w->exe->cubins && i < w->exe->nobjects; i++)
            put_bytes(w, w->exe->cubins[i]);
    }
    while (w->out.n % RT_FILE_ALIGN && !w->out.failed)
        strbuf_putc(&w->out, '\0');
}

/* ---- all ------------------------------------------------------------------------------------- */

static const char zeros[RT_FILE_ALIGN];

static size_t padding(size_t n) {
    return (RT_FILE_ALIGN - n % RT_FILE_ALIGN) % RT_FILE_ALIGN;
}

/* With the padding after it. */
static void hash_constant(struct hash *h, const char *p, size_t n) {
    char last[2 * RT_FILE_ALIGN] = {0};
    size_t whole = n - n % HASH_BLOCK;
    hash_blocks(h, p, whole);
    if (n > whole)
        memcpy(last, p + whole, n - whole);
    hash_blocks(h, last, n + padding(n) - whole);
}

static hilo_status write_file(struct writer *w, uint64_t most, hilo_write_fn write, void *user, struct diag_list *d) {
    put_table(w);
    if (w->out.failed)
        return HILO_RESOURCE_EXHAUSTED;
    struct rt_file_head head = {.magic = RT_FILE_MAGIC, .version = RT_FILE_VERSION, .abi = HILO_KERNEL_ABI_VERSION,
                                .bytes = w->out.n, .table = w->out.n};
    for (uint32_t i = 0; i < w->nblobs; i++) {
        uint64_t n = w->p->buffers[w->blobs[i]].bytes;
        head.bytes += n + padding(n); /* of memory that exists */
    }
    if (head.bytes > most)
        return HILO_OUT_OF_RANGE;
    if (w->skipped && w->exe->deferral)
        HILO_TRY(rt_run_init((hilo_executable *)(uintptr_t)w->exe, true, d)); /* what is written */
    struct hash h = {{0, 0}};
    size_t hashed = offsetof(struct rt_file_head, key);
    if (w->key)
        memcpy(w->out.p + hashed, w->key, sizeof head.key);
    hash_add(&h, w->out.p + hashed, w->out.n - hashed);
    for (uint32_t i = 0; i < w->nblobs; i++) {
        const struct plan_buffer *x = &w->p->buffers[w->blobs[i]];
        hash_constant(&h, constant_data(w, x), x->bytes);
    }
    hash_add(&h, NULL, 0);
    memcpy(head.hash, h.v, sizeof head.hash);
    memcpy(w->out.p, &head, hashed);
    write(user, w->out.p, w->out.n);
    for (uint32_t i = 0; i < w->nblobs; i++) {
        const struct plan_buffer *x = &w->p->buffers[w->blobs[i]];
        if (x->bytes)
            write(user, constant_data(w, x), x->bytes);
        if (padding(x->bytes))
            write(user, zeros, padding(x->bytes));
    }
    return HILO_OK;
}

hilo_status rt_file_write(const hilo_executable *exe, const uint8_t *key, uint64_t most, hilo_write_fn write, void *user,
                          struct diag_list *d) {
    struct arena a;
    jmp_buf recover;
    exe = rt_executable_base(exe);
    struct writer w = {.exe = exe, .key = key, .p = &exe->plan};
    if (exe->divided)
        return diag_error(d, HILO_UNIMPLEMENTED, "a program for both processor and GPU is not written to a file");
    w.skipped = exe->init_memory && !exe->on_device ? exe->plan.sections->nsteps : 0;
    strbuf_init(&w.out, exe->client->al);
    arena_init(&a, exe->client->al, &recover);
    hilo_status status;
    if (!setjmp(recover))
        status = find_used(&w, &a, d);
    else
        status = HILO_RESOURCE_EXHAUSTED;
    a.recover = NULL;
    if (status == HILO_OK)
        status = write_file(&w, most, write, user, d);
    strbuf_free(&w.out);
    arena_free(&a);
    return status;
}

hilo_status hilo_executable_serialize(const hilo_executable *exe, hilo_write_fn write, void *user) {
    if (!exe || !write)
        return HILO_INVALID_ARGUMENT;
    struct diag_list d;
    diag_init(&d, exe->client->al);
    hilo_status status = rt_tier_up(exe, &d);
    if (status == HILO_OK)
        status = rt_file_write(exe, NULL, UINT64_MAX, write, user, &d);
    return rt_finish(exe->client, &d, status);
}
