/* hilo explain --link: what a step of a program by many processes takes, by a model.
 *
 * All processes run the same steps and take the same time, so one stands for all. A link carries one exchange after the other
 * (LogGP without contention: Alexandrov and others, LogGP: incorporating long messages into the LogP model, 1995). An exchange
 * with halves ends when its bytes are there; steps between the halves run meanwhile. */
#include "cli/explain.h"

#include <math.h>
#include <stdlib.h>

bool explain_link_read(const char *text, struct explain_link *out) {
    double v[3] = {0};
    char *end = (char *)(uintptr_t)text;
    int n = 0;
    do {
        const char *at = n ? end + 1 : end;
        v[n] = strtod(at, &end);
        if (end == at || !(v[n] >= 0) || v[n] > 1e9)
            return false;
    } while (++n < 3 && *end == ',');
    *out = (struct explain_link){v[0] * 1e-3, v[1] * 1e6, v[2] * 1e-3};
    return n >= 2 && *end == '\0' && v[1] > 0;
}

/* Processes that one exchanges with. */
static double peers_of(const struct plan *p, const struct plan_step *s) {
    enum plan_exchange kind = s->collective->kind;
    double in = (double)p->buffers[s->uses[0].buffer].bytes, out = (double)p->buffers[s->uses[s->nuses / 2].buffer].bytes;
    if (kind == PLAN_PERMUTE || kind == PLAN_BROADCAST)
        return 1;
    return s->collective->groups.cols ? (double)s->collective->groups.cols - 1
           : kind == PLAN_ALL_GATHER && in > 0 ? out / in - 1
                                               : 1;
}

void explain_with_link(struct explained *x, const struct explain_link *link) {
    const struct plan *p = rt_executable_plan(x->exe);
    double now = 0, link_free = 0, exchanges = 0, waits = 0, ends[PLAN_EXCHANGES] = {0};
    for (uint32_t i = 0; i < x->nrows && !p->evaluated; i++) {
        const struct plan_step *s = &p->steps[i];
        const struct explain_row *r = &x->rows[i];
        if (s->kind == PLAN_COLLECTIVE && s->collective->kind < PLAN_REPLICA_ID) {
            double takes = link->latency_ms + r->received / link->bytes_per_ms + peers_of(p, s) * link->message_ms;
            exchanges += takes;
            link_free = fmax(now, link_free) + takes;
            ends[s->collective->number] = link_free;
        }
        bool waited = s->kind == PLAN_DONE || (s->kind == PLAN_COLLECTIVE && !s->collective->number);
        if (waited && ends[s->collective->number] > now) {
            waits += ends[s->collective->number] - now;
            now = ends[s->collective->number];
        }
        now += r->ms / fmax(r->speedup, 1);
    }
    x->step_ms = now;
    x->waits_ms = waits;
    x->serial_ms = now - waits + exchanges;
}
