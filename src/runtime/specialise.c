/* Programs of unknown sizes: for each set of shapes that a run brings, an executable of its own, made at the first such run.
 * Those that were used last are kept. The lock of the general executable guards the list; who meets a shape that another
 * thread is compiling for waits for it. */
#include "runtime/run.h"

enum { SPECIAL_MOST = 32 };

struct rt_specialisation {
    struct rt_specialisation *next;  /* used longer ago */
    size_t bytes;             /* of this allocation */
    bool ready;
    hilo_executable *exe;     /* once it is ready; NULL = the program is evaluated */
    int64_t dims[];           /* of all inputs */
};

static bool specialise_is_for(const struct rt_specialisation *s, hilo_buffer *const *inputs, size_t n) {
    const int64_t *dims = s->dims;
    for (size_t i = 0; i < n; dims += inputs[i++]->rank)
        for (uint32_t k = 0; k < inputs[i]->rank; k++)
            if (dims[k] != inputs[i]->dims[k])
                return false;
    return true;
}

static struct rt_specialisation *specialise_new(const hilo_executable *exe, hilo_buffer *const *inputs, size_t n) {
    size_t rank = 0, bytes;
    for (size_t i = 0; i < n; i++)
        rank += inputs[i]->rank;
    struct rt_specialisation *s = NULL;
    if (mem_mul(rank, sizeof *s->dims, &bytes) && mem_add(bytes, sizeof *s, &bytes))
        s = mem_alloc(&exe->client->al, bytes);
    if (!s)
        return NULL;
    *s = (struct rt_specialisation){.bytes = bytes};
    int64_t *dims = s->dims;
    for (size_t i = 0; i < n; dims += inputs[i++]->rank)
        memcpy(dims, inputs[i]->dims, inputs[i]->rank * sizeof *dims);
    return s;
}

static void specialise_free(const hilo_executable *exe, struct rt_specialisation *s) {
    if (!s)
        return;
    hilo_executable_release(s->exe);
    mem_free(&exe->client->al, s, s->bytes);
}

/* The place of the one for these inputs in the list; where it would end when there is none. */
static struct rt_specialisation **specialise_find(hilo_executable *exe, hilo_buffer *const *inputs, size_t n) {
    struct rt_specialisation **at = &exe->specialisations;
    while (*at && !specialise_is_for(*at, inputs, n))
        at = &(*at)->next;
    return at;
}

/* Moves the one at `at` to the front. */
static struct rt_specialisation *specialise_touch(hilo_executable *exe, struct rt_specialisation **at) {
    struct rt_specialisation *s = *at;
    *at = s->next;
    s->next = exe->specialisations;
    exe->specialisations = s;
    return s;
}

/* Takes the one that was not used for the longest time out of a list that is too long; NULL when there is none. */
static struct rt_specialisation *specialise_drop(hilo_executable *exe) {
    struct rt_specialisation **last = NULL, *s;
    size_t n = 0;
    for (struct rt_specialisation **at = &exe->specialisations; *at; at = &(*at)->next, n++)
        if ((*at)->ready)
            last = at;
    if (n <= SPECIAL_MOST || !last)
        return NULL;
    s = *last;
    *last = s->next;
    return s;
}

/* Compiles for the entry `s`, which is in the list but not ready. The lock is held on entry and on return. */
static hilo_status specialise_make(hilo_executable *exe, struct rt_specialisation *s, hilo_buffer *const *inputs,
                                   struct diag_list *d) {
    hilo_executable *made = NULL;
    pthread_mutex_unlock(&exe->lock);
    hilo_status status = exe->specialise(exe->specialiser, exe, inputs, d, &made);
    pthread_mutex_lock(&exe->lock);
    if (status == HILO_OK) {
        s->exe = made;
        s->ready = true;
        exe->nspecialisations += made && !made->cached;
        exe->compile_ms += made ? made->compile_ms : 0;
    } else {
        struct rt_specialisation **at = &exe->specialisations;
        while (*at != s)
            at = &(*at)->next;
        *at = s->next;
    }
    pthread_cond_broadcast(&exe->specialise_done);
    return status;
}

hilo_status rt_specialise(hilo_executable *exe, hilo_buffer *const *inputs, size_t n, struct diag_list *d,
                           hilo_executable **out) {
    struct rt_specialisation **at, *s, *old = NULL;
    hilo_status status = HILO_OK;
    pthread_mutex_lock(&exe->lock);
    while (*(at = specialise_find(exe, inputs, n)) && !(*at)->ready)
        pthread_cond_wait(&exe->specialise_done, &exe->lock);
    if (*at) {
        s = specialise_touch(exe, at);
    } else if ((s = specialise_new(exe, inputs, n))) {
        s->next = exe->specialisations;
        exe->specialisations = s;
        status = specialise_make(exe, s, inputs, d);
        old = status == HILO_OK ? specialise_drop(exe) : s;
    } else {
        status = HILO_RESOURCE_EXHAUSTED;
    }
    if (status == HILO_OK)
        *out = rt_executable_retain(s->exe ? s->exe : exe);
    pthread_mutex_unlock(&exe->lock);
    specialise_free(exe, old);
    return status;
}

void rt_specialisations_free(hilo_executable *exe) {
    for (struct rt_specialisation *s = exe->specialisations, *next; s; s = next) {
        next = s->next;
        specialise_free(exe, s);
    }
}
