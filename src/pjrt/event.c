/* Events: set once, waited for by threads and by callbacks. */
#include "pjrt/pjrt.h"

#include <stdlib.h>

struct pjrt_waiter {
    struct pjrt_waiter *next;
    pjrt_ready_fn *fn;
    void *user;
};

struct pjrt_event *pjrt_event_new(void) {
    struct pjrt_event *e = pjrt_alloc(1, sizeof *e);
    if (!e)
        return NULL;
    atomic_init(&e->refs, 1);
    atomic_init(&e->ready, false);
    pthread_mutex_init(&e->lock, NULL);
    pthread_cond_init(&e->set, NULL);
    return e;
}

struct pjrt_event *pjrt_event_ref(struct pjrt_event *e) {
    atomic_fetch_add_explicit(&e->refs, 1, memory_order_relaxed);
    return e;
}

void pjrt_event_unref(struct pjrt_event *e) {
    if (!e || atomic_fetch_sub_explicit(&e->refs, 1, memory_order_acq_rel) != 1)
        return;
    while (e->waiters) { /* the event can no longer be set: waiters are told so */
        struct pjrt_waiter *w = e->waiters;
        e->waiters = w->next;
        w->fn(pjrt_fail(HILO_CANCELLED, "the event was destroyed before it was set"), w->user);
        free(w);
    }
    pjrt_error_free(e->error);
    pthread_cond_destroy(&e->set);
    pthread_mutex_destroy(&e->lock);
    free(e);
}

bool pjrt_event_ready(struct pjrt_event *e) {
    return atomic_load_explicit(&e->ready, memory_order_acquire);
}

void pjrt_event_set(struct pjrt_event *e, struct pjrt_error *error) {
    pthread_mutex_lock(&e->lock);
    if (pjrt_event_ready(e)) {
        pthread_mutex_unlock(&e->lock);
        pjrt_error_free(error);
        return;
    }
    pjrt_event_ref(e); /* a callback may release the last reference */
    struct pjrt_waiter *waiters = e->waiters;
    e->waiters = NULL;
    e->error = error;
    atomic_store_explicit(&e->ready, true, memory_order_release);
    pthread_cond_broadcast(&e->set);
    pthread_mutex_unlock(&e->lock);
    while (waiters) {
        struct pjrt_waiter *next = waiters->next;
        waiters->fn(pjrt_error_copy(e->error), waiters->user);
        free(waiters);
        waiters = next;
    }
    pjrt_event_unref(e);
}

const struct pjrt_error *pjrt_event_wait(struct pjrt_event *e) {
    if (!pjrt_event_ready(e)) {
        pthread_mutex_lock(&e->lock);
        while (!pjrt_event_ready(e))
            pthread_cond_wait(&e->set, &e->lock);
        pthread_mutex_unlock(&e->lock);
    }
    return e->error;
}

struct pjrt_error *pjrt_event_then(struct pjrt_event *e, pjrt_ready_fn *fn, void *user) {
    if (!pjrt_event_ready(e)) {
        struct pjrt_waiter *w = pjrt_alloc(1, sizeof *w);
        if (!w)
            return pjrt_exhausted();
        *w = (struct pjrt_waiter){NULL, fn, user};
        pthread_mutex_lock(&e->lock);
        bool wait = !pjrt_event_ready(e);
        struct pjrt_waiter **at = &e->waiters;
        while (wait && *at)
            at = &(*at)->next;
        if (wait)
            *at = w;
        pthread_mutex_unlock(&e->lock);
        if (wait)
            return NULL;
        free(w);
    }
    fn(pjrt_error_copy(e->error), user);
    return NULL;
}

/* ---- the interface --------------------------------------------------------------------------- */

struct pjrt_error *pjrt_Event_Destroy(struct pjrt_Event_Destroy *a) {
    pjrt_event_unref(a->event);
    return NULL;
}

struct pjrt_error *pjrt_Event_IsReady(struct pjrt_Event_IsReady *a) {
    a->is_ready = pjrt_event_ready(a->event);
    return NULL;
}

struct pjrt_error *pjrt_Event_Error(struct pjrt_Event_Error *a) {
    if (!pjrt_event_ready(a->event))
        return pjrt_fail(HILO_FAILED_PRECONDITION, "the event is not ready yet");
    return pjrt_error_copy(a->event->error);
}

struct pjrt_error *pjrt_Event_Await(struct pjrt_Event_Await *a) {
    return pjrt_error_copy(pjrt_event_wait(a->event));
}

struct pjrt_error *pjrt_Event_OnReady(struct pjrt_Event_OnReady *a) {
    if (!a->callback)
        return pjrt_fail(HILO_INVALID_ARGUMENT, "Event_OnReady: the callback is missing");
    return pjrt_event_then(a->event, a->callback, a->user);
}

struct pjrt_error *pjrt_Event_Create(struct pjrt_Event_Create *a) {
    a->event = pjrt_event_new();
    return a->event ? NULL : pjrt_exhausted();
}

struct pjrt_error *pjrt_Event_Set(struct pjrt_Event_Set *a) {
    if (pjrt_event_ready(a->event))
        return pjrt_fail(HILO_FAILED_PRECONDITION, "the event was set before");
    if (a->message_size && !a->message)
        return pjrt_fail(HILO_INVALID_ARGUMENT, "Event_Set: the message is missing");
    pjrt_event_set(a->event, a->code ? pjrt_fail_n(a->code, a->message, a->message_size) : NULL);
    return NULL;
}
