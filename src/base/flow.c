/* See flow.h. */
#include "base/flow.h"

#include <string.h>

uint32_t flow_node(struct flow *f) {
    ARENA_PUSH(f->a, &f->nodes, 0);
    return f->nodes.n - 1;
}

static void one_way(struct flow *f, uint32_t from, uint32_t to, int64_t capacity) {
    struct flow_arc arc = {to, f->nodes.v[from], capacity};
    ARENA_PUSH(f->a, &f->arcs, arc);
    f->nodes.v[from] = f->arcs.n;
}

void flow_arc(struct flow *f, uint32_t from, uint32_t to, int64_t capacity) {
    one_way(f, from, to, capacity);
    one_way(f, to, from, 0);
}

struct search {
    struct flow *f;
    uint32_t *level; /* by node: 1 + distance from the source; 0 = it is not reached */
    uint32_t *arc;   /* by node: 1 + the arc that is tried next */
    uint32_t *path;  /* arcs from the source to where the search is; or nodes, as a queue */
};

/* Sets the levels; true when the sink has one. */
static bool find_levels(struct search *s, uint32_t source, uint32_t sink) {
    struct flow *f = s->f;
    memset(s->level, 0, f->nodes.n * sizeof *s->level);
    uint32_t n = 0;
    s->level[source] = 1;
    s->path[n++] = source;
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t a = f->nodes.v[s->path[i]]; a; a = f->arcs.v[a - 1].next) {
            const struct flow_arc *x = &f->arcs.v[a - 1];
            if (x->capacity > 0 && !s->level[x->to]) {
                s->level[x->to] = s->level[s->path[i]] + 1;
                s->path[n++] = x->to;
            }
        }
    return s->level[sink] != 0;
}

/* As much as one path carries from the source to the sink; 0 when no path is left in these levels. */
static int64_t push(struct search *s, uint32_t source, uint32_t sink) {
    struct flow *f = s->f;
    uint32_t at = source, n = 0;
    while (at != sink) {
        uint32_t a = s->arc[at];
        if (!a) { /* a dead end: one step back */
            if (n == 0)
                return 0;
            uint32_t back = s->path[--n];
            at = f->arcs.v[back ^ 1].to;
            s->arc[at] = f->arcs.v[back].next;
            continue;
        }
        const struct flow_arc *x = &f->arcs.v[a - 1];
        if (x->capacity > 0 && s->level[x->to] == s->level[at] + 1) {
            s->path[n++] = a - 1;
            at = x->to;
        } else {
            s->arc[at] = x->next;
        }
    }
    int64_t least = INT64_MAX;
    for (uint32_t i = 0; i < n; i++)
        least = f->arcs.v[s->path[i]].capacity < least ? f->arcs.v[s->path[i]].capacity : least;
    for (uint32_t i = 0; i < n; i++) {
        f->arcs.v[s->path[i]].capacity -= least;
        f->arcs.v[s->path[i] ^ 1].capacity += least;
    }
    return least;
}

int64_t flow_cut(struct flow *f, uint32_t source, uint32_t sink, bool *side) {
    uint32_t n = f->nodes.n;
    struct search s = {f, ARENA_ARRAY(f->a, uint32_t, n), ARENA_ARRAY(f->a, uint32_t, n), ARENA_ARRAY(f->a, uint32_t, n)};
    int64_t total = 0;
    while (find_levels(&s, source, sink)) {
        memcpy(s.arc, f->nodes.v, n * sizeof *s.arc);
        for (int64_t sent; (sent = push(&s, source, sink)) > 0;)
            total += sent;
    }
    for (uint32_t i = 0; i < n; i++)
        side[i] = s.level[i] != 0;
    return total;
}
