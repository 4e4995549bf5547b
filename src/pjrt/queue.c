/* Queues: the thread of a device. */
#include "pjrt/pjrt.h"

void pjrt_queue_init(struct pjrt_queue *q) {
    *q = (struct pjrt_queue){.first = NULL};
    q->last = &q->first;
    atomic_init(&q->pending, 0);
    pthread_mutex_init(&q->lock, NULL);
    pthread_cond_init(&q->changed, NULL);
}

static void *queue_run(void *user) {
    struct pjrt_queue *q = user;
    pthread_mutex_lock(&q->lock);
    for (;;) {
        while (!q->first && !q->ended)
            pthread_cond_wait(&q->changed, &q->lock);
        struct pjrt_job *job = q->first;
        if (!job)
            break;
        if (!(q->first = job->next))
            q->last = &q->first;
        pthread_mutex_unlock(&q->lock);
        job->run(job);
        atomic_fetch_sub_explicit(&q->pending, 1, memory_order_release);
        pthread_mutex_lock(&q->lock);
    }
    pthread_mutex_unlock(&q->lock);
    return NULL;
}

void pjrt_queue_end(struct pjrt_queue *q) {
    pthread_mutex_lock(&q->lock);
    q->ended = true;
    pthread_cond_signal(&q->changed);
    pthread_mutex_unlock(&q->lock);
    if (q->started)
        pthread_join(q->thread, NULL);
    q->started = false;
}

bool pjrt_queue_push(struct pjrt_queue *q, struct pjrt_job *job) {
    pthread_mutex_lock(&q->lock);
    if (!q->started && !q->ended)
        q->started = pthread_create(&q->thread, NULL, queue_run, q) == 0;
    bool ok = q->started && !q->ended;
    if (ok) {
        job->next = NULL;
        *q->last = job;
        q->last = &job->next;
        atomic_fetch_add_explicit(&q->pending, 1, memory_order_relaxed);
        pthread_cond_signal(&q->changed);
    }
    pthread_mutex_unlock(&q->lock);
    return ok;
}
