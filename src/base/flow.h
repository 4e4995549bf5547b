/* Minimum cuts of networks: the method of Dinic (1970), with breadth-first levels and blocking flows. */
#ifndef HILO_BASE_FLOW_H
#define HILO_BASE_FLOW_H

#include "base/mem.h"

/* An arc that no cut may contain: the sum of all others must be below it. */
#define FLOW_UNBOUNDED (INT64_MAX / 4)

struct flow_arc {
    uint32_t to, next; /* next: of the node that it leaves, 1 + its index; 0 = none. Arc i ^ 1 is the one back */
    int64_t capacity;  /* that is left */
};

/* Zero but for `a`: empty. Everything is allocated in `a`. */
struct flow {
    struct arena *a;
    struct {
        uint32_t *v; /* 1 + its first arc */
        uint32_t n, cap;
    } nodes;
    struct {
        struct flow_arc *v;
        uint32_t n, cap;
    } arcs;
};

uint32_t flow_node(struct flow *f);
/* capacity >= 0 */
void flow_arc(struct flow *f, uint32_t from, uint32_t to, int64_t capacity);
/* Capacity of the least cut between two nodes; side: by node, true for those on the side of `source`, as few as can be. Uses up
   the arcs: a network is cut once; without its nodes and arcs (n = 0) it is empty again. Time: O(nodes^2 * arcs) at worst. */
int64_t flow_cut(struct flow *f, uint32_t source, uint32_t sink, bool *side);

#endif
