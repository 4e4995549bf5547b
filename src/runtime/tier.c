/* Tiers of code: an executable begins with code of the baseline, which is made at once, and has it replaced by optimised code
 * when that pays (docs/adr/0035-tiers.md).
 *
 * It pays by the rule of ski rental: once runs have taken as long as making optimised code is expected to take, the program has
 * lost at most twice what it had to lose, whatever comes next. It begins with the next run: the last one, which is often the
 * first, waits for nothing. The client has one thread for this, of low priority. It takes
 * batches of kernels, of one executable after the other; who cannot wait takes batches, too. The last one to be done loads the
 * code and replaces the functions of the plan's kernels, while runs go on.
 *
 * One lock of the client guards the states of all executables. It is not held while something is compiled or loaded. */
#include "runtime/code.h"
#include "runtime/runtime.h"

#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { TIER_NICE = 10 };

/* ---- the queue: of those that have batches to take --------------------------------------------- */

static bool has_batches(const struct rt_tier_up *x) {
    return x->taken < x->nbatches && x->status == HILO_OK && x->exe;
}

static void enqueue(struct rt_tiers *t, struct rt_tier_up *x, bool first) {
    struct rt_tier_up **at = &t->queue;
    while (!first && *at)
        at = &(*at)->next;
    x->next = *at;
    *at = x;
    atomic_store_explicit(&x->state, RT_TIER_QUEUED, memory_order_relaxed);
    pthread_cond_broadcast(&t->changed);
}

static void dequeue(struct rt_tiers *t, struct rt_tier_up *x) {
    struct rt_tier_up **at = &t->queue;
    while (*at && *at != x)
        at = &(*at)->next;
    if (*at)
        *at = x->next;
}

/* ---- what is made ------------------------------------------------------------------------------ */

/* Loads the code, and has the kernels run it. */
static hilo_status replace(struct rt_tier_up *x, struct diag_list *d) {
    struct rt_code *code;
    HILO_TRY(rt_code_load(x->objects, x->nbatches, 0, x->exe->client->al, d, &code));
    x->code = code;
    for (uint32_t i = 0; i < x->nkernels; i++)
        if (!rt_code_find(code, x->kernels[i]->name))
            return diag_error(d, HILO_INTERNAL, "the code has no kernel '%s'", x->kernels[i]->name);
    for (uint32_t i = 0; i < x->nkernels; i++) {
        atomic_store_explicit(&x->kernels[i]->fn, rt_code_find(code, x->kernels[i]->name), memory_order_release);
        atomic_store_explicit(&x->kernels[i]->tier, PLAN_OPTIMISED, memory_order_relaxed);
    }
    return HILO_OK;
}

/* All batches are compiled, or one could not be. */
static void install(struct rt_tier_up *x) {
    hilo_executable *exe = x->exe;
    struct diag_list d;
    diag_init(&d, exe->client->al);
    if (x->status == HILO_OK && (x->status = replace(x, &d)) != HILO_OK)
        snprintf(x->why, sizeof x->why, "%s", d.first && d.first->message ? d.first->message : "out of memory");
    diag_clear(&d);
    x->forget(x);
    if (x->status != HILO_OK) {
        rt_log(exe->client, HILO_LOG_INFO, "the program keeps its baseline code: %s", x->why);
        return;
    }
    exe->objects = x->all;
    exe->nobjects = x->nall;
    rt_log(exe->client, HILO_LOG_DEBUG, "optimised code of %u kernels replaces the baseline's: %.3f ms, after %.3f ms of runs",
           x->nkernels, x->compile_ms, (double)atomic_load(&x->spent_ns) * 1e-6);
    if (x->keyed)
        rt_store_write(exe->client, exe, exe->key);
}

/* The end of it, if no thread has a batch and none will take another one. The lock is held. */
static void settle(struct rt_tiers *t, struct rt_tier_up *x) {
    if (x->running || has_batches(x))
        return;
    dequeue(t, x);
    bool alive = x->exe != NULL;
    atomic_store_explicit(&x->state, RT_TIER_INSTALLING, memory_order_relaxed);
    pthread_mutex_unlock(&t->lock);
    if (alive)
        install(x);
    else
        x->free(x);
    pthread_mutex_lock(&t->lock);
    if (!alive)
        return;
    x->code_bytes = x->code ? rt_code_bytes(x->code) : 0;
    x->ir_bytes = 0;
    x->nreplaced = x->status == HILO_OK ? x->nkernels : 0;
    atomic_store_explicit(&x->state, RT_TIER_SETTLED, memory_order_release);
    pthread_cond_broadcast(&t->changed);
}

/* Takes a batch, which there is, and compiles it. The lock is held but meanwhile. */
static void compile_batch(struct rt_tiers *t, struct rt_tier_up *x) {
    struct diag_list d;
    uint32_t batch = x->taken++;
    x->running++;
    if (!has_batches(x))
        dequeue(t, x);
    pthread_mutex_unlock(&t->lock);
    double begin = rt_now_ms();
    diag_init(&d, x->al);
    hilo_status status = x->compile(x, batch, &d);
    double ms = rt_now_ms() - begin;
    pthread_mutex_lock(&t->lock);
    x->compile_ms += ms;
    x->running--;
    if (status != HILO_OK && x->status == HILO_OK) {
        x->status = status;
        snprintf(x->why, sizeof x->why, "%s", d.first && d.first->message ? d.first->message : "out of memory");
    }
    diag_clear(&d);
    settle(t, x);
}

/* ---- the thread -------------------------------------------------------------------------------- */

static void *compile_in_background(void *client) {
    struct rt_tiers *t = &((hilo_client *)client)->tiers;
    (void)setpriority(PRIO_PROCESS, (id_t)syscall(SYS_gettid), TIER_NICE); /* of this thread alone */
    pthread_mutex_lock(&t->lock);
    while (!t->ending)
        if (t->queue)
            compile_batch(t, t->queue);
        else
            pthread_cond_wait(&t->changed, &t->lock);
    pthread_mutex_unlock(&t->lock);
    return NULL;
}

/* Signals are for the program's own threads. The lock is held. */
static bool start(hilo_client *client) {
    struct rt_tiers *t = &client->tiers;
    sigset_t all, old;
    if (t->started)
        return true;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    t->started = pthread_create(&t->thread, NULL, compile_in_background, client) == 0;
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    return t->started;
}

void rt_tiers_init(struct rt_tiers *t) {
    *t = (struct rt_tiers){.queue = NULL};
    pthread_mutex_init(&t->lock, NULL);
    pthread_cond_init(&t->changed, NULL);
}

void rt_tiers_end(hilo_client *client) {
    struct rt_tiers *t = &client->tiers;
    pthread_mutex_lock(&t->lock);
    t->ending = true;
    pthread_cond_broadcast(&t->changed);
    pthread_mutex_unlock(&t->lock);
    if (t->started)
        pthread_join(t->thread, NULL);
    pthread_cond_destroy(&t->changed);
    pthread_mutex_destroy(&t->lock);
}

/* ---- executables ------------------------------------------------------------------------------- */

void rt_tier_ran(const hilo_executable *exe, double ms) {
    struct rt_tier_up *x = rt_executable_base(exe)->tier_up;
    if (x && atomic_load_explicit(&x->state, memory_order_relaxed) == RT_TIER_BASELINE)
        atomic_fetch_add_explicit(&x->spent_ns, (uint64_t)(ms * 1e6), memory_order_relaxed);
}

void rt_tier_runs(const hilo_executable *exe) {
    struct rt_tier_up *x = rt_executable_base(exe)->tier_up;
    struct rt_tiers *t = &exe->client->tiers;
    if (!x || atomic_load_explicit(&x->state, memory_order_relaxed) != RT_TIER_BASELINE)
        return;
    uint64_t spent = atomic_load_explicit(&x->spent_ns, memory_order_relaxed);
    if (!spent || (double)spent < x->cost_ms * 1e6)
        return;
    pthread_mutex_lock(&t->lock);
    if (atomic_load_explicit(&x->state, memory_order_relaxed) == RT_TIER_BASELINE) {
        enqueue(t, x, false);
        /* The first batch, which is small, is compiled here: what LLVM makes once for a process is there before a thread in the
           background uses it, so that the end of the process waits for that thread before it destroys it. */
        if (!t->started && has_batches(x))
            compile_batch(t, x);
        bool helped = start(exe->client);
        while (!helped && has_batches(x))
            compile_batch(t, x);
    }
    pthread_mutex_unlock(&t->lock);
}

hilo_status rt_tier_up(const hilo_executable *exe, struct diag_list *d) {
    struct rt_tier_up *x = rt_executable_base(exe)->tier_up;
    struct rt_tiers *t = &exe->client->tiers;
    if (!x)
        return HILO_OK;
    pthread_mutex_lock(&t->lock);
    if (atomic_load(&x->state) == RT_TIER_BASELINE) {
        if (x->nbatches > 1)
            (void)start(exe->client); /* it helps */
        enqueue(t, x, true);
    }
    while (atomic_load(&x->state) != RT_TIER_SETTLED)
        if (has_batches(x))
            compile_batch(t, x);
        else
            pthread_cond_wait(&t->changed, &t->lock);
    hilo_status status = x->status;
    pthread_mutex_unlock(&t->lock);
    return status == HILO_OK ? HILO_OK : diag_error(d, status, "%s", x->why);
}

hilo_status hilo_executable_optimise(hilo_executable *exe) {
    if (!exe)
        return HILO_INVALID_ARGUMENT;
    struct diag_list d;
    diag_init(&d, exe->client->al);
    return rt_finish(exe->client, &d, rt_tier_up(exe, &d));
}

void rt_tier_release(hilo_executable *exe) {
    struct rt_tier_up *x = exe->tier_up;
    struct rt_tiers *t = &exe->client->tiers;
    if (!x)
        return;
    pthread_mutex_lock(&t->lock);
    while (atomic_load(&x->state) == RT_TIER_INSTALLING)
        pthread_cond_wait(&t->changed, &t->lock);
    dequeue(t, x);
    bool running = x->running > 0;
    x->exe = NULL; /* who has a batch frees it */
    pthread_mutex_unlock(&t->lock);
    if (!running)
        x->free(x);
}

void rt_tier_stats(const hilo_executable *exe, hilo_stats *s) {
    const hilo_executable *base = rt_executable_base(exe);
    const struct rt_tier_up *x = base->tier_up;
    struct rt_tiers *t = &exe->client->tiers;
    pthread_mutex_lock(&t->lock);
    s->code_bytes = base->code_bytes + (x ? x->code_bytes : 0);
    s->ir_bytes = x ? x->ir_bytes : 0;
    s->replaced_kernels = x ? x->nreplaced : 0;
    s->baseline_kernels = base->nkernels[PLAN_BASELINE] - s->replaced_kernels;
    s->optimised_kernels = base->nkernels[PLAN_OPTIMISED] + s->replaced_kernels;
    pthread_mutex_unlock(&t->lock);
}
