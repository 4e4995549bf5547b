/* The pool: one job at a time, described by fields that are written while no thread can join, and a word that tells whether one
 * can.
 *
 * The word holds the job's number, whether it is open, and how many threads work on it. A thread joins by counting itself in
 * while the job is open; the caller closes it when no pieces are left and waits for the threads in it. So a thread that
 * sleeps, or that the system has not scheduled yet, is never waited for.
 *
 * Each thread has a range of the iterations, in order, and begins with that: so the part of an array that it wrote in one
 * job is what it reads in the next, from its own cache. A thread that is done takes pieces of the others' ranges.
 *
 * Systems tend to wake a thread on the processor of its waker, and where all looks busy they leave it there, while
 * another processor sleeps: the two then alternate. So a worker that finds itself where the caller works goes elsewhere. */
#include "runtime/pool.h"
#include "base/torture.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>

enum { SPINS = 4000, LINE = 64, MOVE_NS = 2000000, POLL_NS = 5000000 };
#define OPEN ((uint64_t)1 << 31)
#define COUNT (OPEN - 1)

/* A thread: number 0 is the caller's, which has no scratch here; the others are workers. */
struct worker {
    _Alignas(LINE) atomic_int_fast64_t next; /* iteration of its range */
    int64_t end;             /* of its range; written as the job is */
    _Alignas(LINE) struct rt_pool *pool;
    pthread_t thread;
    char *scratch;
    int64_t moved;           /* when it last left the caller's processor, in ns */
};

struct rt_pool {
    int32_t threads;
    hilo_allocator al;
    pthread_mutex_t busy;    /* held by the caller that the pool works for */
    /* the job: written under `busy`, while the word is closed and no thread is in */
    rt_piece_fn *fn;
    void *user;
    int64_t n, piece;
    _Alignas(LINE) atomic_uint_fast64_t word;
    atomic_int processor;    /* of the caller; -1 = unknown */
    _Alignas(LINE) pthread_mutex_t lock;     /* of sleeping threads */
    pthread_cond_t work, done;
    atomic_int sleepers;     /* workers in or near `work` */
    atomic_bool waiting;     /* the caller is in or near `done` */
    atomic_bool stop;
    uint64_t jobs;           /* number of the newest, under `busy` */
    int32_t started;         /* workers that exist; -1 = none yet */
    size_t scratch_bytes;
    struct worker workers[]; /* `threads` of them */
};

static void relax(void) {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

/* ---- pieces ---------------------------------------------------------------------------------- */

/* Lets other threads go first, now and then: when is another matter in each run. */
static void torture_yield(int64_t begin) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    for (uint64_t n = ((uint64_t)now.tv_nsec ^ (uint64_t)begin) * 0x9E3779B97F4A7C15u >> 62; n; n--)
        sched_yield();
}

static int64_t now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static bool is_stopped(struct rt_poll *poll) {
    int64_t now = poll->stopped ? 0 : now_ns();
    if (!poll->stopped && now - poll->last >= POLL_NS) {
        poll->last = now;
        poll->stopped = poll->stop(poll->user);
    }
    return poll->stopped;
}

/* As many pieces for each thread, or one more. */
static void set_ranges(struct rt_pool *t) {
    int64_t pieces = t->n / t->piece + (t->n % t->piece != 0), begin = 0;
    for (int32_t i = 0; i < t->threads; i++) {
        int64_t own = pieces / t->threads + (i < pieces % t->threads);
        int64_t end = own <= (t->n - begin) / t->piece ? begin + own * t->piece : t->n;
        atomic_store_explicit(&t->workers[i].next, begin, memory_order_relaxed);
        t->workers[i].end = end;
        begin = end;
    }
}

static void stop_ranges(struct rt_pool *t) {
    for (int32_t i = 0; i < t->threads; i++)
        atomic_store_explicit(&t->workers[i].next, t->workers[i].end, memory_order_relaxed);
}

/* The next piece of a range; false = there is none. */
static bool take_piece(struct worker *of, int64_t piece, int64_t *begin) {
    if (atomic_load_explicit(&of->next, memory_order_relaxed) >= of->end)
        return false;
    *begin = atomic_fetch_add_explicit(&of->next, piece, memory_order_relaxed);
    return *begin < of->end;
}

/* By the thread of this number. `poll`: the caller's; NULL for workers. */
static void do_pieces(struct rt_pool *t, int32_t self, void *scratch, struct rt_poll *poll) {
    int64_t piece = t->piece, begin;
    for (int32_t i = 0; i < t->threads; i++) {
        struct worker *of = &t->workers[(self + i) % t->threads];
        while (take_piece(of, piece, &begin)) {
            if (TORTURE)
                torture_yield(begin);
            t->fn(t->user, scratch, begin, of->end - begin < piece ? of->end : begin + piece);
            if (poll && is_stopped(poll))
                stop_ranges(t);
        }
    }
}

/* ---- workers --------------------------------------------------------------------------------- */

/* Leaves the processor where the caller works, if there; not again soon: the affinity may have been set on purpose. */
static bool migrate_off_caller_cpu(struct worker *w) {
#ifdef __linux__
    int processor = atomic_load_explicit(&w->pool->processor, memory_order_relaxed);
    cpu_set_t all, others;
    if (processor < 0 || processor >= CPU_SETSIZE || sched_getcpu() != processor)
        return false;
    int64_t ns = now_ns();
    if ((w->moved && ns - w->moved < MOVE_NS) || sched_getaffinity(0, sizeof all, &all) != 0)
        return false;
    w->moved = ns;
    others = all;
    CPU_CLR((size_t)processor, &others);
    if (!CPU_COUNT(&others) || sched_setaffinity(0, sizeof others, &others) != 0)
        return false;
    (void)sched_setaffinity(0, sizeof all, &all); /* free to go anywhere from there */
    return true;
#else
    (void)w;
    return false;
#endif
}

static bool is_news(uint64_t word, uint64_t last) {
    return (word & OPEN) && word >> 32 != last;
}

/* Waits for a job that it has not been in, and joins. False when the pool ends. */
static bool worker_join(struct worker *w, uint64_t *last) {
    struct rt_pool *t = w->pool;
    for (int spins = 0;; spins++) {
        uint64_t word = atomic_load_explicit(&t->word, memory_order_acquire);
        if (atomic_load_explicit(&t->stop, memory_order_relaxed))
            return false;
        if (is_news(word, *last)) {
            if (atomic_compare_exchange_weak_explicit(&t->word, &word, word + 1, memory_order_acquire, memory_order_relaxed)) {
                *last = word >> 32;
                migrate_off_caller_cpu(w);
                return true;
            }
            continue;
        }
        relax();
        if (spins < SPINS)
            continue;
        pthread_mutex_lock(&t->lock);
        atomic_fetch_add(&t->sleepers, 1);
        if (!is_news(atomic_load(&t->word), *last) && !atomic_load(&t->stop))
            pthread_cond_wait(&t->work, &t->lock);
        atomic_fetch_sub(&t->sleepers, 1);
        pthread_mutex_unlock(&t->lock);
        /* Even if it is too late for this job: from elsewhere it will be in time for the next. */
        spins = migrate_off_caller_cpu(w) ? 0 : SPINS;
    }
}

static void *worker_main(void *user) {
    struct worker *w = user;
    struct rt_pool *t = w->pool;
    uint64_t last = 0;
    while (worker_join(w, &last)) {
        do_pieces(t, (int32_t)(w - t->workers), w->scratch, NULL);
        uint64_t word = atomic_fetch_sub(&t->word, 1) - 1;
        if ((word & (OPEN | COUNT)) == 0 && atomic_load(&t->waiting)) {
            pthread_mutex_lock(&t->lock);
            pthread_cond_signal(&t->done);
            pthread_mutex_unlock(&t->lock);
        }
    }
    return NULL;
}

/* As many as the system gives; signals are for the program's own threads. */
static void start_workers(struct rt_pool *t) {
    sigset_t all, old;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    t->started = 0;
    while (t->started < t->threads - 1) {
        struct worker *w = &t->workers[1 + t->started];
        w->pool = t;
        if (pthread_create(&w->thread, NULL, worker_main, w) != 0)
            break;
        t->started++;
    }
    pthread_sigmask(SIG_SETMASK, &old, NULL);
}

/* ---- callers --------------------------------------------------------------------------------- */

static void open_job(struct rt_pool *t) {
#ifdef __linux__
    atomic_store_explicit(&t->processor, sched_getcpu(), memory_order_relaxed);
#endif
    set_ranges(t);
    atomic_store(&t->word, ++t->jobs << 32 | OPEN);
    if (atomic_load(&t->sleepers) == 0)
        return;
    pthread_mutex_lock(&t->lock);
    pthread_cond_broadcast(&t->work);
    pthread_mutex_unlock(&t->lock);
}

static void close_job(struct rt_pool *t) {
    uint64_t word = atomic_fetch_and(&t->word, ~OPEN);
    for (int spins = 0; (word & COUNT) && spins < SPINS; spins++) {
        relax();
        word = atomic_load_explicit(&t->word, memory_order_acquire);
    }
    if (!(word & COUNT))
        return;
    pthread_mutex_lock(&t->lock);
    atomic_store(&t->waiting, true);
    while (atomic_load(&t->word) & COUNT)
        pthread_cond_wait(&t->done, &t->lock);
    atomic_store(&t->waiting, false);
    pthread_mutex_unlock(&t->lock);
}

void rt_pool_run(struct rt_pool *t, int64_t n, int64_t piece, rt_piece_fn *fn, void *user, void *scratch) {
    rt_pool_run_polled(t, n, piece, fn, user, scratch, NULL);
}

static void run_alone(int64_t n, int64_t piece, rt_piece_fn *fn, void *user, void *scratch, struct rt_poll *poll) {
    for (int64_t begin = 0; begin < n && !is_stopped(poll); begin += piece)
        fn(user, scratch, begin, n - begin < piece ? n : begin + piece);
}

void rt_pool_run_polled(struct rt_pool *t, int64_t n, int64_t piece, rt_piece_fn *fn, void *user, void *scratch,
                        struct rt_poll *poll) {
    if (n <= 0)
        return;
    if (t->threads == 1 || n <= piece || pthread_mutex_trylock(&t->busy) != 0) {
        if (poll)
            run_alone(n, piece, fn, user, scratch, poll);
        else
            fn(user, scratch, 0, n);
        return;
    }
    if (t->started < 0)
        start_workers(t);
    t->fn = fn;
    t->user = user;
    t->n = n;
    t->piece = piece;
    open_job(t);
    do_pieces(t, 0, scratch, poll);
    close_job(t);
    pthread_mutex_unlock(&t->busy);
}

struct tasks {
    void (*task)(void *user, int64_t i);
    void *user;
};

static void run_tasks(void *user, void *scratch, int64_t begin, int64_t end) {
    const struct tasks *x = user;
    (void)scratch;
    for (int64_t i = begin; i < end; i++)
        x->task(x->user, i);
}

void rt_pool_tasks(struct rt_pool *t, int64_t n, void (*task)(void *user, int64_t i), void *user, struct rt_poll *poll) {
    struct tasks x = {task, user};
    rt_pool_run_polled(t, n, 1, run_tasks, &x, NULL, poll);
}

/* ---- pools ----------------------------------------------------------------------------------- */

static size_t pool_bytes(int32_t threads) {
    return sizeof(struct rt_pool) + (size_t)threads * sizeof(struct worker);
}

struct rt_pool *rt_pool_new(const hilo_allocator *al, int32_t threads) {
    struct rt_pool *t = mem_alloc(al, pool_bytes(threads));
    if (!t)
        return NULL;
    memset(t, 0, pool_bytes(threads));
    t->threads = threads;
    t->al = *al;
    t->started = -1;
    for (int32_t i = 0; i < threads; i++)
        atomic_init(&t->workers[i].next, 0);
    atomic_init(&t->word, 0);
    atomic_init(&t->processor, -1);
    atomic_init(&t->sleepers, 0);
    atomic_init(&t->waiting, false);
    atomic_init(&t->stop, false);
    pthread_mutex_init(&t->busy, NULL);
    pthread_mutex_init(&t->lock, NULL);
    pthread_cond_init(&t->work, NULL);
    pthread_cond_init(&t->done, NULL);
    return t;
}

void rt_pool_free(struct rt_pool *t) {
    if (!t)
        return;
    pthread_mutex_lock(&t->lock);
    atomic_store(&t->stop, true);
    pthread_cond_broadcast(&t->work);
    pthread_mutex_unlock(&t->lock);
    for (int32_t i = 0; i < t->started; i++)
        pthread_join(t->workers[1 + i].thread, NULL);
    for (int32_t i = 1; i < t->threads; i++)
        mem_free(&t->al, t->workers[i].scratch, t->scratch_bytes);
    pthread_mutex_destroy(&t->busy);
    pthread_mutex_destroy(&t->lock);
    pthread_cond_destroy(&t->work);
    pthread_cond_destroy(&t->done);
    hilo_allocator al = t->al;
    mem_free(&al, t, pool_bytes(t->threads));
}

int32_t rt_pool_threads(const struct rt_pool *t) {
    return t->threads;
}

hilo_status rt_pool_reserve(struct rt_pool *t, size_t scratch_bytes) {
    hilo_status status = HILO_OK;
    pthread_mutex_lock(&t->busy);
    if (t->scratch_bytes < scratch_bytes && t->threads > 1) {
        /* all of a size, or none: a failure leaves the old ones */
        size_t n = (size_t)t->threads - 1;
        char **fresh = mem_alloc(&t->al, n * sizeof *fresh);
        size_t made = 0;
        while (fresh && made < n && (fresh[made] = mem_alloc(&t->al, scratch_bytes)))
            made++;
        for (size_t i = 0; i < made; i++) {
            struct worker *w = &t->workers[1 + i];
            char *old = w->scratch;
            if (made == n)
                w->scratch = fresh[i];
            mem_free(&t->al, made == n ? old : fresh[i], made == n ? t->scratch_bytes : scratch_bytes);
        }
        mem_free(&t->al, fresh, n * sizeof *fresh);
        status = made == n ? HILO_OK : HILO_RESOURCE_EXHAUSTED;
        t->scratch_bytes = made == n ? scratch_bytes : t->scratch_bytes;
    }
    pthread_mutex_unlock(&t->busy);
    return status;
}
