/* Executables: their accessors. */
#include "runtime/code.h"
#include "target/target.h"
#include "runtime/device.h"

hilo_executable *rt_executable_new(hilo_client *client, hilo_module *module) {
    hilo_executable *exe = mem_alloc(&client->al, sizeof *exe);
    if (!exe)
        return NULL;
    *exe = (hilo_executable){.client = rt_client_retain(client), .module = module ? rt_module_retain(module) : NULL,
                             .features = "", .machine = target_cpu_machine(), .specialise_level = -1,
                             .about = {.name = ""}};
    atomic_init(&exe->refs, 1);
    arena_init(&exe->arena, client->al, NULL);
    pthread_mutex_init(&exe->lock, NULL);
    pthread_cond_init(&exe->specialise_done, NULL);
    return exe;
}

hilo_executable *rt_executable_retain(hilo_executable *exe) {
    atomic_fetch_add_explicit(&exe->refs, 1, memory_order_relaxed);
    return exe;
}

hilo_executable *rt_executable_share(hilo_executable *exe) {
    hilo_executable *base = exe->base ? exe->base : exe, *share = mem_alloc(&exe->client->al, sizeof *share);
    if (!share)
        return NULL;
    *share = (hilo_executable){
        .client = rt_client_retain(base->client), .base = base, .module = base->module, .optimised = base->optimised,
        .entry = base->entry, .plan = base->plan, .runs_cubins = base->runs_cubins, .guard = base->guard,
        .features = base->features, .machine = base->machine, .foreign = base->foreign,
        .divided = base->divided, .nuses = base->nuses, .first_use = base->first_use,
        .segments = base->segments, .nsegments = base->nsegments, .two_sided = base->two_sided,
        .in_device_constants = base->in_device_constants,
        .on_device = base->on_device, .device_constants = base->device_constants,
        .in_block = {base->in_block[PLAN_HOST], base->in_block[PLAN_DEVICE]},
        .in_arguments = base->in_arguments, .in_results = base->in_results, .in_init = base->in_init,
        .init_memory = base->init_memory, .deferral = base->deferral, .packed = base->packed,
        .inputs = base->inputs, .outputs = base->outputs,
        .specialise_level = -1, .about = base->about, .cached = HILO_CACHED_MEMORY};
    rt_executable_retain(base);
    atomic_init(&share->refs, 1);
    pthread_mutex_init(&share->lock, NULL);
    pthread_cond_init(&share->specialise_done, NULL);
    return share;
}

static void release_shared(hilo_executable *exe) {
    hilo_client *client = exe->client;
    hilo_executable *base = exe->base;
    pthread_cond_destroy(&exe->specialise_done);
    pthread_mutex_destroy(&exe->lock);
    mem_free(&client->al, exe, sizeof *exe);
    hilo_executable_release(base);
    hilo_client_release(client);
}

void hilo_executable_release(hilo_executable *exe) {
    if (!exe || atomic_fetch_sub_explicit(&exe->refs, 1, memory_order_acq_rel) != 1)
        return;
    hilo_client *client = exe->client;
    rt_store_forget(client, exe);
    rt_tier_release(exe);
    rt_specialisations_free(exe);
    rt_frames_free(exe);
    if (exe->base) {
        release_shared(exe);
        return;
    }
    for (uint32_t i = 0; i < exe->plan.nsteps; i++)
        if (exe->plan.steps[i].routine)
            lib_release((struct lib_match *)(uintptr_t)exe->plan.steps[i].routine);
    rt_init_free(exe);
    plan_free(&exe->plan);
    for (const struct rt_kept *k = exe->kept; k; k = k->next)
        k->release(k->p);
    if (exe->image)
        exe->free_image(exe->image);
    arena_free(&exe->arena);
    ir_module_free(exe->optimised);
    pthread_cond_destroy(&exe->specialise_done);
    pthread_mutex_destroy(&exe->lock);
    hilo_module_release(exe->module);
    mem_free(&client->al, exe, sizeof *exe);
    rt_cache_trim(&client->cache);
    hilo_client_release(client);
}

void rt_executable_keep(hilo_executable *exe, void *p, void (*release)(void *p)) {
    struct rt_kept *k = ARENA_NEW(&exe->arena, struct rt_kept);
    *k = (struct rt_kept){exe->kept, release, p};
    exe->kept = k;
}

static void free_code(void *code) {
    rt_code_free(code);
}

/* The features of `list` that matter, as a list again. */
static const char *needed_features(struct arena *a, struct str list) {
    char *out = arena_alloc(a, list.n + 2, 1);
    struct str feature;
    size_t n = 0;
    for (size_t at = 0; target_cpu_next(list, &at, &feature);) {
        if (n)
            out[n++] = ',';
        out[n++] = '+';
        memcpy(out + n, feature.p, feature.n);
        n += feature.n;
    }
    return out;
}

/* What this processor lacks, in `a`; NULL when it lacks nothing. */
static const char *lacks(struct arena *a, const hilo_executable *exe) {
    struct str feature;
    if (strcmp(exe->machine, target_cpu_machine()) != 0)
        return exe->machine;
    for (size_t at = 0; target_cpu_next(str_of(exe->features), &at, &feature);)
        if (!target_cpu_has(feature)) {
            char *name = arena_alloc(a, feature.n + 1, 1);
            memcpy(name, feature.p, feature.n);
            return name;
        }
    return NULL;
}

/* Loads machine code, and finds the functions of the kernels that are for the processor. */
static hilo_status load_code(hilo_executable *exe, const struct str *objects, uint32_t n, struct diag_list *d) {
    struct rt_kept *k = ARENA_NEW(&exe->arena, struct rt_kept);
    struct rt_code *code;
    HILO_TRY(rt_code_load(objects, n, exe->foreign ? RT_CODE_FOREIGN : 0, exe->client->al, d, &code));
    *k = (struct rt_kept){exe->kept, free_code, code};
    exe->kept = k;
    exe->code_bytes += rt_code_bytes(code);
    for (uint32_t i = 0; i < exe->plan.nsteps; i++) {
        struct plan_kernel *kernel = (struct plan_kernel *)(uintptr_t)exe->plan.steps[i].kernel;
        if (!kernel || plan_kernel_fn(kernel) || kernel->interpret || kernel->gpu.threads)
            continue;
        hilo_kernel_fn *fn = rt_code_find(code, kernel->name);
        if (!fn)
            return diag_error(d, HILO_INTERNAL, "the code has no kernel '%s'", kernel->name);
        atomic_store(&kernel->fn, fn);
        exe->nkernels[atomic_load(&kernel->tier)]++;
    }
    return HILO_OK;
}

hilo_status rt_executable_link_processor(hilo_executable *exe, const struct str *objects, uint32_t n, struct diag_list *d) {
    exe->divided = true;
    return exe->foreign ? HILO_OK : load_code(exe, objects, n, d);
}

hilo_status rt_executable_link(hilo_executable *exe, const struct str *objects, uint32_t n, const char *features,
                               struct diag_list *d) {
    struct arena *a = &exe->arena;
    exe->objects = objects;
    exe->nobjects = n;
    exe->on_device = strcmp(exe->machine, target_isa_name(TARGET_NVPTX)) == 0;
    if (exe->on_device) {
        exe->features = arena_dup(a, features, strlen(features) + 1, 1);
        return rt_device_link(exe, d);
    }
    exe->features = needed_features(a, str_of(features));
    exe->foreign = lacks(a, exe);
    exe->code_bytes = 0;
    return load_code(exe, objects, n, d);
}

/* ---- inputs and outputs ---------------------------------------------------------------------- */

static const struct rt_port *input(const hilo_executable *exe, size_t index) {
    return exe && index < exe->plan.narguments ? &exe->inputs[index] : NULL;
}

static const struct rt_port *output(const hilo_executable *exe, size_t index) {
    return exe && index < exe->plan.nresults ? &exe->outputs[index] : NULL;
}

size_t hilo_executable_input_count(const hilo_executable *exe) {
    return exe ? exe->plan.narguments : 0;
}

size_t hilo_executable_output_count(const hilo_executable *exe) {
    return exe ? exe->plan.nresults : 0;
}

static hilo_status port_type(const struct rt_port *p, hilo_type *out) {
    if (!p)
        return HILO_OUT_OF_RANGE;
    if (!out)
        return HILO_INVALID_ARGUMENT;
    *out = p->type;
    return HILO_OK;
}

hilo_status hilo_executable_input_type(const hilo_executable *exe, size_t index, hilo_type *out) {
    return port_type(input(exe, index), out);
}

hilo_status hilo_executable_output_type(const hilo_executable *exe, size_t index, hilo_type *out) {
    return port_type(output(exe, index), out);
}

const char *hilo_executable_input_name(const hilo_executable *exe, size_t index) {
    const struct rt_port *p = input(exe, index);
    return p ? p->name : "";
}

const char *hilo_executable_output_name(const hilo_executable *exe, size_t index) {
    const struct rt_port *p = output(exe, index);
    return p ? p->name : "";
}

int32_t hilo_executable_input_alias(const hilo_executable *exe, size_t index) {
    const struct rt_port *p = input(exe, index);
    return p ? p->alias : -1;
}

/* ---- statistics ------------------------------------------------------------------------------ */

static uint64_t port_bytes(const struct rt_port *p) {
    uint64_t bytes = ir_dtype_get(rt_dtype(p->type.dtype))->bytes;
    for (uint32_t i = 0; i < p->type.rank; i++)
        if (p->type.dims[i] <= 0 || __builtin_mul_overflow(bytes, (uint64_t)p->type.dims[i], &bytes))
            return 0;
    return bytes;
}

/* What is known once the program is compiled. */
static void stats_of_plan(const hilo_executable *exe, hilo_stats *s) {
    const struct plan *p = &exe->plan;
    s->steps = p->nsteps;
    for (uint32_t i = 0; i < p->nsteps; i++)
        s->evaluated_steps += p->steps[i].kind == PLAN_REFERENCE;
    s->init_steps = p->ninit;
    for (uint32_t i = 0; i < p->narguments; i++)
        s->input_bytes += port_bytes(&exe->inputs[i]);
    for (uint32_t i = 0; i < p->nresults; i++) {
        uint64_t bytes = port_bytes(&exe->outputs[i]);
        s->output_bytes += bytes;
        if (!p->evaluated && p->donors[i] >= 0 && exe->inputs[p->donors[i]].alias >= 0)
            s->alias_bytes += bytes;
    }
    rt_tier_stats(exe, s);
    s->constant_bytes = plan_constant_bytes(p);
    s->temp_bytes = plan_temp_bytes(p, PLAN_HOST) + plan_temp_bytes(p, PLAN_DEVICE); /* it fits: rt_executable_ready */
    s->scratch_bytes = p->memory[PLAN_HOST].scratch_bytes + p->memory[PLAN_DEVICE].scratch_bytes;
    s->planned_peak_bytes = s->input_bytes + s->output_bytes + s->constant_bytes + s->temp_bytes - s->alias_bytes;
    s->flops = exe->about.flops;
    s->bytes_accessed = exe->about.bytes;
}

hilo_status hilo_executable_stats(const hilo_executable *exe, hilo_stats *out) {
    if (!exe || !out || out->struct_size < sizeof out->struct_size)
        return HILO_INVALID_ARGUMENT;
    pthread_mutex_t *lock = (pthread_mutex_t *)(uintptr_t)&exe->lock;
    pthread_mutex_lock(lock);
    hilo_stats full = {
        .struct_size = out->struct_size, .executions = exe->executions, .peak_bytes = exe->peak_bytes,
        .total_ms = exe->total_ms, .last_ms = exe->last_ms, .compile_ms = exe->compile_ms, .cached = exe->cached,
        .transfers = exe->transfers, .transferred_bytes = exe->transferred_bytes,
        .allocations = exe->allocations, .copied_bytes = exe->copied_bytes, .packs = exe->packs,
        .specialisations = exe->nspecialisations, .sent_bytes = exe->sent_bytes, .messages = exe->messages,
        .average_ms = exe->executions ? exe->total_ms / (double)exe->executions : 0,
    };
    pthread_mutex_unlock(lock);
    stats_of_plan(exe, &full);
    memcpy(out, &full, out->struct_size < sizeof full ? out->struct_size : sizeof full);
    return HILO_OK;
}

void hilo_executable_reset_stats(hilo_executable *exe) {
    if (!exe)
        return;
    pthread_mutex_lock(&exe->lock);
    exe->executions = exe->peak_bytes = exe->allocations = exe->copied_bytes = exe->packs = exe->nspecialisations = 0;
    exe->sent_bytes = exe->messages = 0;
    exe->transfers = exe->transferred_bytes = 0;
    exe->total_ms = exe->last_ms = 0;
    pthread_mutex_unlock(&exe->lock);
}
