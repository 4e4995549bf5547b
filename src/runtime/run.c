/* Running an executable: inputs are checked and taken from their buffers, the plan runs, what it leaves becomes new buffers. A
 * run shares nothing with other runs but the plan, so any number may go on at once. */
#include "runtime/runtime.h"

#include <inttypes.h>

/* ---- memory of a run ------------------------------------------------------------------------- */

/* An allocator that counts. Results outlive it and are given back to the client's. */
struct meter {
    hilo_allocator al;
    atomic_size_t now, peak;
};

static void *meter_realloc(void *user, void *ptr, size_t old_bytes, size_t new_bytes, size_t align) {
    struct meter *m = user;
    void *p = m->al.realloc_fn(m->al.user, ptr, old_bytes, new_bytes, align);
    if (!p && new_bytes)
        return NULL;
    size_t now = atomic_fetch_add(&m->now, new_bytes - old_bytes) + new_bytes - old_bytes;
    size_t peak = atomic_load(&m->peak);
    while (now > peak && !atomic_compare_exchange_weak(&m->peak, &peak, now))
        ;
    return p;
}

/* ---- state ----------------------------------------------------------------------------------- */

/* A value that the program has put aside, to be compared later. */
struct probe {
    struct probe *next;
    struct value *value;
    size_t bytes; /* of this allocation */
    struct str id;
};

struct run {
    hilo_executable *exe;
    const struct plan *plan;
    hilo_client *client;
    const hilo_execute_options *o;
    struct diag_list *d;
    struct meter meter;
    hilo_allocator al;      /* the meter's */
    struct value **values;  /* of the arguments; owned */
    struct probe *probes;   /* newest first */
};

/* ---- hooks of the evaluator ------------------------------------------------------------------ */

static bool on_cancelled(void *user) {
    const struct run *r = user;
    return r->o->cancelled && r->o->cancelled(r->o->cancelled_user) != 0;
}

static void on_print(void *user, const struct ir_module *m, ir_type type, const struct value *v) {
    const struct run *r = user;
    struct strbuf text;
    strbuf_init(&text, r->client->al);
    ir_print_type(m, type, &text);
    strbuf_puts(&text, " ");
    rt_value_text(v, 0, 0, &text);
    if (text.p)
        rt_log(r->client, HILO_LOG_INFO, "%s", text.p);
    strbuf_free(&text);
}

static hilo_status on_probe(void *user, struct str id, const struct value *v) {
    struct run *r = user;
    size_t bytes = sizeof(struct probe) + id.n;
    struct probe *p = mem_alloc(&r->al, bytes);
    if (!p)
        return HILO_RESOURCE_EXHAUSTED;
    char *name = (char *)(p + 1);
    if (id.n)
        memcpy(name, id.p, id.n);
    *p = (struct probe){r->probes, value_ref((struct value *)(uintptr_t)v), bytes, {name, id.n}};
    r->probes = p;
    return HILO_OK;
}

/* The value that was the `iteration`th, counted from 0, to be probed under its name. */
static hilo_status on_probed(void *user, struct str id, uint32_t iteration, const struct value *like,
                             struct value **out) {
    const struct run *r = user;
    uint32_t found = 0;
    (void)like;
    for (const struct probe *p = r->probes; p; p = p->next)
        found += str_eq(p->id, id);
    if (iteration >= found)
        return HILO_NOT_FOUND;
    for (const struct probe *p = r->probes; p; p = p->next)
        if (str_eq(p->id, id) && --found == iteration)
            *out = value_ref(p->value);
    return HILO_OK;
}

static struct rt_custom_call find_custom_call(hilo_client *client, struct str target) {
    struct rt_custom_call found = {.fn = NULL};
    pthread_mutex_lock(&client->lock);
    for (const struct rt_custom_call *c = client->custom_calls; c && !found.fn; c = c->next)
        if (str_is(target, c->target))
            found = (struct rt_custom_call){.fn = c->fn, .user = c->user};
    pthread_mutex_unlock(&client->lock);
    return found;
}

static void release_buffers(hilo_buffer **b, uint32_t n) {
    for (uint32_t i = 0; i < n; i++)
        hilo_buffer_release(b[i]);
}

static hilo_status wrap_values(hilo_client *client, struct value *const *v, uint32_t n, hilo_buffer **out) {
    for (uint32_t i = 0; i < n; i++) {
        if (v[i]->kind != EVAL_TENSOR && v[i]->kind != EVAL_TOKEN)
            return HILO_UNIMPLEMENTED;
        out[i] = rt_buffer_new(client, v[i]);
        if (!out[i])
            return HILO_RESOURCE_EXHAUSTED;
        value_ref(v[i]);
    }
    return HILO_OK;
}

/* The values behind buffers; HILO_INTERNAL when one is missing. On failure nothing is left in `v`. */
static hilo_status unwrap_values(hilo_client *client, hilo_buffer *const *b, uint32_t n, struct value **v) {
    uint32_t i = 0;
    pthread_mutex_lock(&client->lock);
    for (; i < n && b[i] && b[i]->client == client && b[i]->value; i++)
        v[i] = value_ref(b[i]->value);
    pthread_mutex_unlock(&client->lock);
    if (i == n)
        return HILO_OK;
    while (i-- > 0)
        value_unref(v[i]);
    return HILO_INTERNAL;
}

static hilo_status on_custom_call(void *user, struct str target, const struct ir_module *m, ir_op op,
                                  struct value *const *in, uint32_t nin, struct value **results, uint32_t nresults,
                                  struct diag_list *d) {
    struct run *r = user;
    struct rt_custom_call c = find_custom_call(r->client, target);
    if (!c.fn)
        return HILO_UNIMPLEMENTED;
    size_t bytes = ((size_t)nin + nresults) * sizeof(hilo_buffer *);
    hilo_buffer **b = mem_alloc(&r->al, bytes);
    if (!b)
        return HILO_RESOURCE_EXHAUSTED;
    memset(b, 0, bytes);
    hilo_status status = wrap_values(r->client, in, nin, b);
    if (status == HILO_OK)
        status = c.fn(c.user, r->client, b, nin, b + nin, nresults);
    if (status == HILO_OK)
        status = unwrap_values(r->client, b + nin, nresults, results);
    release_buffers(b, nin + nresults);
    mem_free(&r->al, b, bytes);
    if (status != HILO_OK && status != HILO_UNIMPLEMENTED)
        ir_op_error(m, d, op, status, NULL, "calls '%.*s', which failed: %s", (int)target.n, target.p,
                    hilo_status_name(status));
    return status;
}

/* ---- steps ----------------------------------------------------------------------------------- */

static hilo_status run_whole(struct run *r, struct value **results) {
    if (on_cancelled(r))
        return diag_error(r->d, HILO_CANCELLED, "the run was cancelled");
    const struct plan *p = r->plan;
    struct eval_hooks hooks = {.custom_call = on_custom_call, .print = on_print, .probe = on_probe, .probed = on_probed,
                               .cancelled = on_cancelled, .user = r};
    return eval_plan_run(p->reference, p->steps->func, r->values, p->narguments, results, p->nresults, &r->al, &hooks, r->d);
}

/* ---- inputs ---------------------------------------------------------------------------------- */

static bool fits(const struct rt_port *p, const hilo_buffer *b) {
    if (b->dtype != p->type.dtype || b->rank != p->type.rank)
        return false;
    for (uint32_t i = 0; i < b->rank; i++) {
        int64_t want = p->type.dims[i], most = p->bounds ? p->bounds[i] : HILO_DYNAMIC;
        if (want != HILO_DYNAMIC ? b->dims[i] != want : most != HILO_DYNAMIC && b->dims[i] > most)
            return false;
    }
    return true;
}

static hilo_status misfit(struct run *r, size_t i, const hilo_buffer *b) {
    const struct rt_port *p = &r->exe->inputs[i];
    struct strbuf want, got;
    strbuf_init(&want, r->client->al);
    strbuf_init(&got, r->client->al);
    rt_type_text(p->type.dtype, p->type.rank, p->type.dims, &want);
    rt_type_text(b->dtype, b->rank, b->dims, &got);
    hilo_status status = diag_error(r->d, HILO_INVALID_ARGUMENT, "input %zu%s%s%s is %s, but the program expects %s", i,
                                    *p->name ? " ('" : "", p->name, *p->name ? "')" : "", got.p ? got.p : "",
                                    want.p ? want.p : "");
    strbuf_free(&want);
    strbuf_free(&got);
    return status;
}

static hilo_status check_inputs(struct run *r, hilo_buffer *const *inputs, size_t ninputs, size_t noutputs) {
    if (ninputs != r->plan->narguments)
        return diag_error(r->d, HILO_INVALID_ARGUMENT, "%zu inputs were given, but the program has %u", ninputs,
                          r->plan->narguments);
    if (noutputs != r->plan->nresults)
        return diag_error(r->d, HILO_INVALID_ARGUMENT, "there is room for %zu outputs, but the program has %u",
                          noutputs, r->plan->nresults);
    for (size_t i = 0; i < ninputs; i++) {
        if (!inputs[i])
            return diag_error(r->d, HILO_INVALID_ARGUMENT, "input %zu is missing", i);
        if (inputs[i]->client != r->client)
            return diag_error(r->d, HILO_INVALID_ARGUMENT, "input %zu belongs to another client", i);
        if (!fits(&r->exe->inputs[i], inputs[i]))
            return misfit(r, i, inputs[i]);
    }
    return HILO_OK;
}

/* Takes the values out of their buffers, all or none: other threads may donate them at the same time. */
static hilo_status take_inputs(struct run *r, hilo_buffer *const *inputs) {
    uint32_t n = r->plan->narguments, i = 0;
    size_t bytes = 0;
    pthread_mutex_lock(&r->client->lock);
    while (i < n && inputs[i]->value)
        i++;
    if (i == n)
        for (i = 0; i < n; i++) {
            r->values[i] = value_ref(inputs[i]->value);
            bytes += inputs[i]->bytes;
        }
    if (i == n && r->o->donate)
        for (i = 0; i < n; i++)
            if (r->o->donate[i] && inputs[i]->value) {
                value_unref(inputs[i]->value); /* never the last reference */
                inputs[i]->value = NULL;
            }
    pthread_mutex_unlock(&r->client->lock);
    if (i < n)
        return diag_error(r->d, HILO_FAILED_PRECONDITION, "input %u was donated to another run and has no data", i);
    atomic_store(&r->meter.now, bytes);
    atomic_store(&r->meter.peak, bytes);
    return HILO_OK;
}

/* ---- outputs --------------------------------------------------------------------------------- */

/* Turns a result into a value of its own, of the client's memory: what its holder writes into it, nobody else sees. */
static hilo_status own_result(struct run *r, struct value **v) {
    if ((*v)->kind == EVAL_TENSOR && atomic_load(&(*v)->refs) > 1) {
        struct value *copy;
        HILO_TRY(value_tensor(&r->al, (*v)->dtype, (*v)->dims, (*v)->rank, &copy));
        if (copy->bytes)
            memcpy(copy->data, (*v)->data, copy->bytes);
        value_unref(*v);
        *v = copy;
    }
    if ((*v)->al.user == &r->meter)
        (*v)->al = r->client->al;
    return HILO_OK;
}

/* Takes over the results' values. */
static hilo_status make_outputs(struct run *r, struct value **results, hilo_buffer **outputs) {
    hilo_status status = HILO_OK;
    for (uint32_t i = 0; i < r->plan->nresults; i++) {
        if (status == HILO_OK)
            status = own_result(r, &results[i]);
        if (status == HILO_OK && !(outputs[i] = rt_buffer_new(r->client, results[i])))
            status = HILO_RESOURCE_EXHAUSTED;
        if (status != HILO_OK)
            value_unref(results[i]);
    }
    return status;
}

/* ---- the call -------------------------------------------------------------------------------- */

static void drop_probes(struct run *r) {
    for (struct probe *p = r->probes; p;) {
        struct probe *next = p->next;
        value_unref(p->value);
        mem_free(&r->al, p, p->bytes);
        p = next;
    }
    r->probes = NULL;
}

static hilo_status run_plan(struct run *r, hilo_buffer *const *inputs, struct value **results, double *run_ms) {
    const struct plan *p = r->plan;
    HILO_TRY(take_inputs(r, inputs));
    double begin = rt_now_ms();
    hilo_status status = run_whole(r, results);
    *run_ms = rt_now_ms() - begin;
    drop_probes(r);
    for (uint32_t i = 0; i < p->narguments; i++)
        value_unref(r->values[i]);
    return status;
}

/* One block for what a run keeps count of: arguments, results, buffers to hand out. */
static hilo_status run(struct run *r, hilo_buffer *const *inputs, hilo_buffer **outputs, double *run_ms) {
    const struct plan *p = r->plan;
    size_t n = p->nresults, bytes = (p->narguments + 2 * n) * sizeof(void *);
    void **block = mem_alloc(&r->client->al, bytes);
    if (!block)
        return HILO_RESOURCE_EXHAUSTED;
    memset(block, 0, bytes);
    r->values = (struct value **)block;
    struct value **results = r->values + p->narguments;
    hilo_buffer **fresh = (hilo_buffer **)(results + n);
    hilo_status status = run_plan(r, inputs, results, run_ms);
    if (status == HILO_OK)
        status = make_outputs(r, results, fresh);
    if (status == HILO_OK && n)
        memcpy(outputs, fresh, n * sizeof *fresh);
    else
        release_buffers(fresh, p->nresults);
    mem_free(&r->client->al, block, bytes);
    return status;
}

void hilo_execute_options_init(hilo_execute_options *options) {
    if (options)
        *options = (hilo_execute_options){.struct_size = sizeof *options};
}

static void count_run(hilo_executable *exe, double ms, size_t peak) {
    pthread_mutex_lock(&exe->lock);
    exe->executions++;
    exe->last_ms = ms;
    exe->total_ms += ms;
    if (exe->peak_bytes < peak)
        exe->peak_bytes = peak;
    pthread_mutex_unlock(&exe->lock);
}

hilo_status hilo_execute(hilo_executable *exe, const hilo_execute_options *options, hilo_buffer *const *inputs,
                         size_t ninputs, hilo_buffer **outputs, size_t noutputs) {
    double begin = rt_now_ms(), run_ms = 0;
    hilo_execute_options o;
    hilo_execute_options_init(&o);
    if (!exe || (ninputs && !inputs) || (noutputs && !outputs) || !rt_options(&o, sizeof o, options))
        return HILO_INVALID_ARGUMENT;
    struct diag_list d;
    diag_init(&d, exe->client->al);
    struct run r = {.exe = exe, .plan = &exe->plan, .client = exe->client, .o = &o, .d = &d};
    r.meter.al = exe->client->al;
    r.al = (hilo_allocator){meter_realloc, &r.meter};
    hilo_status status = check_inputs(&r, inputs, ninputs, noutputs);
    if (status == HILO_OK)
        status = run(&r, inputs, outputs, &run_ms);
    double total_ms = rt_now_ms() - begin;
    if (status == HILO_OK)
        count_run(exe, total_ms, atomic_load(&r.meter.peak));
    if (o.timing)
        *o.timing = (hilo_timing){total_ms, run_ms};
    return rt_finish(exe->client, &d, status);
}
