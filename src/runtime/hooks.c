/* What the reference evaluator needs of the runtime: custom calls, prints, probes, whether to go on. */
#include "runtime/device.h"
#include "runtime/run.h"

bool run_cancelled(const struct run *r) {
    return r->o->cancelled && r->o->cancelled(r->o->cancelled_user) != 0;
}

static bool on_cancelled(void *user) {
    return run_cancelled(user);
}

/* ---- values that outlive their step ---------------------------------------------------------- */

void run_step_memory(void *user, void *data) {
    (void)user;
    (void)data;
}

hilo_status run_keep(struct run *r, struct value *v, struct value **out) {
    if (v->kind == EVAL_TENSOR && v->release == run_step_memory) {
        HILO_TRY(value_tensor(&r->client->memory, v->dtype, v->dims, v->rank, out));
        if (v->bytes)
            memcpy((*out)->data, v->data, v->bytes);
        return HILO_OK;
    }
    if (v->al.user == &r->meter)
        v->al = r->client->memory;
    *out = value_ref(v);
    return HILO_OK;
}

/* ---- print, probe ---------------------------------------------------------------------------- */

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
    size_t bytes = sizeof(struct run_probe) + id.n;
    struct run_probe *p = mem_alloc(&r->al, bytes);
    if (!p)
        return HILO_RESOURCE_EXHAUSTED;
    struct value *kept;
    hilo_status status = run_keep(r, (struct value *)(uintptr_t)v, &kept);
    if (status != HILO_OK) {
        mem_free(&r->al, p, bytes);
        return status;
    }
    char *name = (char *)(p + 1);
    if (id.n)
        memcpy(name, id.p, id.n);
    *p = (struct run_probe){r->probes, kept, bytes, {name, id.n}};
    r->probes = p;
    return HILO_OK;
}

/* The value that was the `iteration`th, counted from 0, to be probed under its name. */
static hilo_status on_probed(void *user, struct str id, uint32_t iteration, const struct value *like,
                             struct value **out) {
    const struct run *r = user;
    uint32_t found = 0;
    (void)like;
    for (const struct run_probe *p = r->probes; p; p = p->next)
        found += str_eq(p->id, id);
    if (iteration >= found)
        return HILO_NOT_FOUND;
    for (const struct run_probe *p = r->probes; p; p = p->next)
        if (str_eq(p->id, id) && --found == iteration)
            *out = value_ref(p->value);
    return HILO_OK;
}

/* ---- custom calls ---------------------------------------------------------------------------- */

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

static hilo_status wrap_values(struct run *r, struct value *const *v, uint32_t n, hilo_buffer **out) {
    for (uint32_t i = 0; i < n; i++) {
        struct value *kept;
        if (v[i]->kind != EVAL_TENSOR && v[i]->kind != EVAL_TOKEN)
            return HILO_UNIMPLEMENTED;
        HILO_TRY(run_keep(r, v[i], &kept));
        out[i] = rt_buffer_new(r->client, kept);
        if (!out[i]) {
            value_unref(kept);
            return HILO_RESOURCE_EXHAUSTED;
        }
    }
    return HILO_OK;
}

/* The values of buffers; HILO_INTERNAL when one is missing. On failure nothing is left in `v`. */
static hilo_status unwrap_values(hilo_client *client, hilo_buffer *const *b, uint32_t n, struct value **v) {
    uint32_t i = 0;
    while (i < n && b[i] && b[i]->client == client && rt_buffer_fetch(&b[i], 1) == HILO_OK)
        i++;
    if (i < n)
        return HILO_INTERNAL;
    i = 0;
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
    if (!c.fn && r->client->custom_call)
        return r->client->custom_call(r->client->custom_call_user, target, m, op, in, nin, results, nresults, d);
    if (!c.fn)
        return HILO_UNIMPLEMENTED;
    size_t bytes = ((size_t)nin + nresults) * sizeof(hilo_buffer *);
    hilo_buffer **b = mem_alloc(&r->al, bytes);
    if (!b)
        return HILO_RESOURCE_EXHAUSTED;
    memset(b, 0, bytes);
    hilo_status status = wrap_values(r, in, nin, b);
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

/* ---- all ------------------------------------------------------------------------------------- */

struct eval_hooks run_hooks(struct run *r) {
    return (struct eval_hooks){.custom_call = on_custom_call, .print = on_print, .probe = on_probe, .probed = on_probed,
                               .cancelled = on_cancelled, .user = r};
}

void run_drop_probes(struct run *r) {
    for (struct run_probe *p = r->probes; p;) {
        struct run_probe *next = p->next;
        value_unref(p->value);
        mem_free(&r->al, p, p->bytes);
        p = next;
    }
    r->probes = NULL;
}
