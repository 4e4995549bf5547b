/* Clients, their diagnostics, and option structs. */
#include "runtime/device.h"
#include "runtime/internal.h"
#include "base/torture.h"
#include "target/target.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

void hilo_write_stderr(void *user, const char *text, size_t n) {
    (void)user;
    while (n) {
        ssize_t put = write(STDERR_FILENO, text, n);
        if (put <= 0)
            return;
        text += put;
        n -= (size_t)put;
    }
}

double rt_now_ms(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

/* ---- option structs -------------------------------------------------------------------------- */

void rt_options_init(void *out, size_t struct_size, const void *defaults, size_t size) {
    if (!out || struct_size < sizeof struct_size)
        return;
    memset(out, 0, struct_size);
    memcpy(out, defaults, struct_size < size ? struct_size : size);
    memcpy(out, &struct_size, sizeof struct_size);
}

bool rt_options(void *out, size_t size, const void *given) {
    if (!given)
        return true;
    size_t n;
    memcpy(&n, given, sizeof n);
    if (n < sizeof n)
        return false;
    for (size_t i = size; i < n; i++) /* what a newer header added must be unset */
        if (((const char *)given)[i])
            return false;
    memcpy(out, given, n < size ? n : size);
    memcpy(out, &size, sizeof size);
    return true;
}

void hilo_client_options_init_sized(hilo_client_options *options, size_t struct_size) {
    static const hilo_client_options defaults = {.device = "cpu"};
    rt_options_init(options, struct_size, &defaults, sizeof defaults);
}

/* ---- clients --------------------------------------------------------------------------------- */

static int32_t client_cores(void) {
    static const int32_t tortured[] = {1, 3, 7};
    if (TORTURE)
        return tortured[(uint64_t)(rt_now_ms() * 1e3) % 3];
    return (int32_t)target_threads();
}

bool rt_tier_named(const char *name, hilo_tier *out) {
    static const char *const names[] = {[HILO_TIER_AUTO] = "auto", [HILO_TIER_BASELINE] = "baseline",
                                        [HILO_TIER_OPTIMISED] = "optimised"};
    *out = HILO_TIER_AUTO;
    for (int i = 0; name && *name && i < (int)(sizeof names / sizeof *names); i++)
        if (strcmp(name, names[i]) == 0) {
            *out = (hilo_tier)i;
            return true;
        }
    return !name || !*name;
}

static hilo_status client_refuse(const hilo_client_options *o, hilo_status status, const char *message) {
    if (o->log)
        o->log(o->log_user, HILO_LOG_ERROR, message);
    return status;
}

static hilo_status client_device(hilo_client *c, const hilo_client_options *o) {
    struct diag_list d;
    diag_init(&d, c->al);
    hilo_status status = rt_device_open(c, o->device, &d);
    if (status != HILO_OK) {
        gpu_close(c->gpu);
        for (const struct diag *x = d.first; x; x = x->next)
            client_refuse(o, status, x->message ? x->message : "out of memory");
    }
    diag_clear(&d);
    return status;
}

hilo_status rt_client_create(const hilo_client_options *options, const struct rt_compiler *compiler, hilo_client **out) {
    hilo_client_options o;
    hilo_client_options_init(&o);
    if (!out || !rt_options(&o, sizeof o, options))
        return HILO_INVALID_ARGUMENT;
    if (o.threads < 0)
        return client_refuse(&o, HILO_INVALID_ARGUMENT, "the number of threads is negative");
    hilo_allocator al = o.allocator.realloc_fn ? o.allocator : mem_system_allocator();
    hilo_client *c = mem_alloc(&al, sizeof *c);
    if (!c)
        return client_refuse(&o, HILO_RESOURCE_EXHAUSTED, "out of memory");
    *c = (hilo_client){.al = al, .compiler = compiler, .threads = o.threads ? o.threads : client_cores(), .log = o.log,
                       .log_user = o.log_user, .diagnostic = o.diagnostic, .diagnostic_user = o.diagnostic_user,
                       .device = "cpu"};
    hilo_status status = client_device(c, &o);
    if (status != HILO_OK) {
        mem_free(&al, c, sizeof *c);
        return status;
    }
    bool stored = rt_store_init(&c->store, &al, o.cache_dir, o.cache_bytes);
    c->pool = stored ? rt_pool_new(&al, c->threads) : NULL;
    c->pools = &c->pool;
    c->npools = 1;
    if (!c->pool) {
        rt_store_free(&c->store, &al);
        gpu_close(c->gpu);
        mem_free(&al, c, sizeof *c);
        return client_refuse(&o, HILO_RESOURCE_EXHAUSTED, "out of memory");
    }
    if (c->store.bad_size)
        rt_log(c, HILO_LOG_WARNING, "HILO_CACHE_SIZE is no size, such as 512M: 1 GB is used");
    if (!rt_tier_named(secure_getenv("HILO_TIER"), &c->tier))
        rt_log(c, HILO_LOG_WARNING, "HILO_TIER is none of auto, baseline, optimised: auto is used");
    rt_tiers_init(&c->tiers);
    atomic_init(&c->refs, 1);
    atomic_init(&c->read, 0);
    atomic_init(&c->compiled, 0);
    rt_cache_init(&c->cache, al);
    c->memory = rt_cache_allocator(&c->cache);
    pthread_mutex_init(&c->lock, NULL);
    diag_init(&c->diags, al);
    struct strbuf why;
    strbuf_init(&why, al);
    status = o.devices || o.nodes || o.node ? rt_client_join(c, &o, &why) : HILO_OK;
    if (status != HILO_OK) {
        client_refuse(&o, status, why.n ? why.p : "out of memory");
        hilo_client_release(c);
    } else {
        *out = c;
    }
    strbuf_free(&why);
    return status;
}

hilo_client *rt_client_retain(hilo_client *client) {
    atomic_fetch_add_explicit(&client->refs, 1, memory_order_relaxed);
    return client;
}

static void free_pools(hilo_client *client) {
    struct rt_pool *only = client->pool;
    if (client->pools == &client->pool) {
        rt_pool_free(only);
        return;
    }
    for (int32_t i = 0; i < client->npools; i++)
        rt_pool_free(client->pools[i]);
    mem_free(&client->al, client->pools, (size_t)client->npools * sizeof *client->pools);
}

hilo_status rt_client_divide(hilo_client *client, int32_t ndevices, int32_t sharers) {
    int32_t n = client->threads / sharers / ndevices, made = 0;
    n = n > 0 ? n : 1;
    if (ndevices == 1 && n == client->threads)
        return HILO_OK;
    struct rt_pool **pools = mem_alloc(&client->al, (size_t)ndevices * sizeof *pools);
    while (pools && made < ndevices && (pools[made] = rt_pool_new(&client->al, n)))
        made++;
    if (made < ndevices) {
        for (int32_t i = 0; i < made; i++)
            rt_pool_free(pools[i]);
        if (pools)
            mem_free(&client->al, pools, (size_t)ndevices * sizeof *pools);
        return HILO_RESOURCE_EXHAUSTED;
    }
    free_pools(client);
    client->pools = pools;
    client->npools = ndevices;
    client->pool = pools[0];
    return HILO_OK;
}

void hilo_client_release(hilo_client *client) {
    if (!client || atomic_fetch_sub_explicit(&client->refs, 1, memory_order_acq_rel) != 1)
        return;
    rt_tiers_end(client);
    comm_close(client->comm);
    diag_clear(&client->diags);
    for (struct rt_custom_call *c = client->custom_calls; c;) {
        struct rt_custom_call *next = c->next;
        mem_free(&client->al, c, c->bytes);
        c = next;
    }
    pthread_mutex_destroy(&client->lock);
    free_pools(client);
    rt_cache_free(&client->cache);
    gpu_close(client->gpu);
    rt_store_free(&client->store, &client->al);
    hilo_allocator al = client->al;
    mem_free(&al, client, sizeof *client);
}

int32_t hilo_client_threads(const hilo_client *client) {
    return client ? client->threads : 0;
}

const char *hilo_client_device_name(const hilo_client *client) {
    return client ? client->device : "";
}

void rt_log(const hilo_client *client, hilo_log_level level, const char *fmt, ...) {
    if (!client->log)
        return;
    struct strbuf message;
    strbuf_init(&message, client->al);
    va_list ap;
    va_start(ap, fmt);
    strbuf_vprintf(&message, fmt, ap);
    va_end(ap);
    if (message.p)
        client->log(client->log_user, level, message.p);
    strbuf_free(&message);
}

/* ---- diagnostics ----------------------------------------------------------------------------- */

/* The lock is no part of what a const client promises. */
static pthread_mutex_t *client_lock(const hilo_client *client) {
    return (pthread_mutex_t *)(uintptr_t)&client->lock;
}

static void log_diagnostics(const hilo_client *client, const struct diag_list *d) {
    static const hilo_log_level levels[] = {HILO_LOG_ERROR, HILO_LOG_WARNING, HILO_LOG_INFO};
    for (const struct diag *x = d->first; x && client->log; x = x->next)
        if (x->line)
            rt_log(client, levels[x->severity], "%s:%u:%u: %s", x->file ? x->file : "", x->line, x->col,
                   x->message ? x->message : "");
        else
            rt_log(client, levels[x->severity], "%s", x->message ? x->message : "");
}

/* What could not be stored for lack of memory is one more diagnostic, the last. */
static const struct diag client_exhausted = {
    .severity = DIAG_ERROR, .status = HILO_RESOURCE_EXHAUSTED, .message = (char *)(uintptr_t)"out of memory"
};

static const char *text_or_empty(const char *z) {
    return z ? z : "";
}

static hilo_diagnostic public_diagnostic(const struct diag *x) {
    return (hilo_diagnostic){
        .struct_size = sizeof(hilo_diagnostic), .severity = (hilo_severity)x->severity, .status = x->status,
        .message = text_or_empty(x->message), .label = x->label, .file = text_or_empty(x->file), .line = x->line,
        .column = x->col, .source = text_or_empty(x->source),
    };
}

static void tell_diagnostics(const hilo_client *client, struct diag_list *d) {
    hilo_diagnostic one;
    for (const struct diag *x = d->first; x; x = x->next) {
        one = public_diagnostic(x);
        client->diagnostic(client->diagnostic_user, &one);
    }
    if (d->out_of_memory) {
        one = public_diagnostic(&client_exhausted);
        client->diagnostic(client->diagnostic_user, &one);
    }
    diag_clear(d);
}

hilo_status rt_finish(hilo_client *client, struct diag_list *d, hilo_status status) {
    if (status != HILO_OK && d->errors == 0)
        diag_error(d, status, "%s", status == HILO_RESOURCE_EXHAUSTED ? "out of memory" : diag_status_name(status));
    if (!d->first && !d->out_of_memory)
        return status;
    log_diagnostics(client, d);
    if (client->diagnostic) {
        tell_diagnostics(client, d);
        return status;
    }
    pthread_mutex_lock(&client->lock);
    diag_move(&client->diags, d);
    pthread_mutex_unlock(&client->lock);
    return status;
}

static size_t diagnostics_count(const hilo_client *client) {
    size_t n = client->diags.out_of_memory;
    for (const struct diag *x = client->diags.first; x; x = x->next)
        n++;
    return n;
}

size_t hilo_diagnostics_count(const hilo_client *client) {
    if (!client)
        return 0;
    pthread_mutex_lock(client_lock(client));
    size_t n = diagnostics_count(client);
    pthread_mutex_unlock(client_lock(client));
    return n;
}

hilo_status hilo_diagnostics_get(const hilo_client *client, size_t index, hilo_diagnostic *out) {
    if (!client || !out || out->struct_size < sizeof out->struct_size)
        return HILO_INVALID_ARGUMENT;
    pthread_mutex_lock(client_lock(client));
    bool exists = index < diagnostics_count(client);
    const struct diag *x = client->diags.first;
    for (size_t i = 0; x && i < index; i++)
        x = x->next;
    hilo_diagnostic full = public_diagnostic(x ? x : &client_exhausted);
    pthread_mutex_unlock(client_lock(client));
    if (!exists)
        return HILO_OUT_OF_RANGE;
    size_t size = out->struct_size < sizeof *out ? out->struct_size : sizeof *out;
    full.struct_size = out->struct_size;
    memcpy(out, &full, size);
    return HILO_OK;
}

void hilo_diagnostics_clear(hilo_client *client) {
    if (!client)
        return;
    pthread_mutex_lock(&client->lock);
    diag_clear(&client->diags);
    pthread_mutex_unlock(&client->lock);
}

void hilo_diagnostics_write(const hilo_client *client, int colour, hilo_write_fn write_text, void *user) {
    if (!client || !write_text)
        return;
    struct strbuf text;
    strbuf_init(&text, client->al);
    pthread_mutex_lock(client_lock(client));
    diag_render(&client->diags, &text, colour != 0);
    bool exhausted = client->diags.out_of_memory || text.failed;
    pthread_mutex_unlock(client_lock(client));
    if (text.n)
        write_text(user, text.p, text.n);
    static const char out_of_memory[] = "error: out of memory\n";
    if (exhausted)
        write_text(user, out_of_memory, sizeof out_of_memory - 1);
    strbuf_free(&text);
}

/* ---- custom calls ---------------------------------------------------------------------------- */

hilo_status hilo_custom_call_register(hilo_client *client, const char *target, hilo_custom_call_fn fn, void *user) {
    if (!client || !target || !*target)
        return HILO_INVALID_ARGUMENT;
    struct rt_custom_call *fresh = NULL, *old = NULL;
    if (fn) {
        size_t n = strlen(target) + 1, bytes = sizeof *fresh + n;
        fresh = mem_alloc(&client->al, bytes);
        if (!fresh)
            return rt_finish(client, &(struct diag_list){.al = client->al}, HILO_RESOURCE_EXHAUSTED);
        *fresh = (struct rt_custom_call){.fn = fn, .user = user, .bytes = bytes};
        memcpy(fresh->target, target, n);
    }
    pthread_mutex_lock(&client->lock);
    struct rt_custom_call **at = &client->custom_calls;
    while (*at && strcmp((*at)->target, target) != 0)
        at = &(*at)->next;
    if ((old = *at))
        *at = old->next;
    if (fresh) {
        fresh->next = client->custom_calls;
        client->custom_calls = fresh;
    }
    pthread_mutex_unlock(&client->lock);
    if (old)
        mem_free(&client->al, old, old->bytes);
    return HILO_OK;
}
