/* Groups: small kernels that do not wait for each other, such as the updates of many parameters, run at once, as one piece of
 * work that the threads share; alone each would be too small to be shared. XLA's horizontal fusion is for the same programs;
 * here nothing is compiled anew, the kernels' grids only follow each other in one job.
 *
 * A group begins at a kernel; others are moved up to it, over steps that neither read what they write nor write what they read
 * or write. What the kernels of a group use is in memory at one time, so the nodes of a group have one position. */
#include "plan/build.h"

#include <string.h>

enum {
    GROUP_AHEAD = 128, /* nodes that are looked at for one more kernel */
    GROUP_NS = 100000, /* most of a kernel: a longer one is shared well enough alone */
    GROUP_BYTES = 1 << 20 /* most that a group may write, which bounds what it adds to the memory needed at once */
};

/* The last accesses to a root since the node at which a group begins. */
struct mark {
    uint32_t read, written; /* number of the search */
};

struct grouping {
    struct plan_builder *b;
    struct mark *marks; /* by root */
    uint32_t search;
};

static struct mark *mark_of(const struct grouping *g, uint32_t buffer) {
    uint32_t n = g->b->buffers.n;
    return &g->marks[buffer < n ? g->b->buffers.v[buffer].root : n]; /* unknown: live.c reports it */
}

static size_t written_bytes(const struct plan_builder *b, const struct plan_node *n) {
    size_t sum = 0;
    for (uint32_t i = 0; i < n->nuses; i++)
        if (n->uses[i].role != PLAN_IN)
            sum += b->buffers.v[n->uses[i].buffer].bytes; /* of buffers that are at most GROUP_BYTES; checked by is_small */
    return sum;
}

static bool is_small(const struct plan_builder *b, const struct plan_node *n) {
    if (n->kind != NODE_STEP || n->step != PLAN_KERNEL || n->init || n->kernel->grid <= 0 || n->kernel->ns > GROUP_NS)
        return false;
    for (uint32_t i = 0; i < n->nuses; i++)
        if (n->uses[i].buffer >= b->buffers.n ||
            (n->uses[i].role != PLAN_IN && b->buffers.v[n->uses[i].buffer].bytes > GROUP_BYTES))
            return false;
    return n->nuses <= UINT16_MAX;
}

/* Whether the node depends on one that was passed, or one of those on it. */
static bool waits(const struct grouping *g, const struct plan_node *n) {
    for (uint32_t i = 0; i < n->nuses; i++) {
        const struct mark *x = mark_of(g, n->uses[i].buffer);
        if (x->written == g->search || (n->uses[i].role != PLAN_IN && x->read == g->search))
            return true;
    }
    return false;
}

static void pass(struct grouping *g, const struct plan_node *n) {
    for (uint32_t i = 0; i < n->nuses; i++) {
        struct mark *x = mark_of(g, n->uses[i].buffer);
        if (n->uses[i].role == PLAN_IN)
            x->read = g->search;
        else
            x->written = g->search;
    }
}

/* Half of an exchange: what is between the halves stays there (overlap.c). */
static bool is_half(const struct plan_node *n) {
    return n->kind == NODE_STEP && (n->step == PLAN_DONE || (n->step == PLAN_COLLECTIVE && n->collective->number));
}

/* The nodes of the list that may run concurrently with the one at `at`, itself first; NULL when that is not worth it. */
static struct plan_group *find(struct grouping *g, const struct plan_list *list, uint32_t at) {
    struct plan_node *found[PLAN_GROUP_MOST] = {list->nodes.v[at]};
    uint32_t n = 1;
    size_t bytes = written_bytes(g->b, found[0]);
    double ns = found[0]->kernel->ns;
    g->search++;
    pass(g, found[0]);
    for (uint32_t i = at + 1; i < list->nodes.n && i - at <= GROUP_AHEAD && n < PLAN_GROUP_MOST; i++) {
        struct plan_node *x = list->nodes.v[i];
        if (x->kind == NODE_LOOP || x->kind == NODE_BRANCH || is_half(x))
            break;
        if (is_small(g->b, x) && !waits(g, x) && written_bytes(g->b, x) <= GROUP_BYTES - bytes) {
            bytes += written_bytes(g->b, x);
            ns += x->kernel->ns;
            found[n++] = x;
        }
        pass(g, x);
    }
    if (n == 1 || ns < PLAN_SHARED_NS)
        return NULL;
    struct plan_group *out = ARENA_NEW(g->b->a, struct plan_group);
    *out = (struct plan_group){arena_dup(g->b->a, found, n * sizeof *found, _Alignof(struct plan_node *)), n};
    return out;
}

/* Moves the nodes of the group next to the first. */
static void move_up(struct plan_list *list, uint32_t at, const struct plan_group *group) {
    uint32_t last = at, from, to;
    for (uint32_t left = group->n; left; last++) /* after the last node of the group */
        left -= list->nodes.v[last]->group == group;
    for (from = to = last; from-- > at;)
        if (list->nodes.v[from]->group != group)
            list->nodes.v[--to] = list->nodes.v[from];
    memcpy(list->nodes.v + at, group->v, group->n * sizeof(struct plan_node *));
}

static void group_list(struct grouping *g, struct plan_list *list) {
    for (uint32_t i = 0; i < list->nodes.n; i++) {
        struct plan_node *n = list->nodes.v[i];
        for (uint32_t k = 0; k < n->lists.n; k++)
            group_list(g, n->lists.v[k]);
        struct plan_group *group = is_small(g->b, n) ? find(g, list, i) : NULL;
        if (!group)
            continue;
        for (uint32_t k = 0; k < group->n; k++)
            group->v[k]->group = group;
        move_up(list, i, group);
        i += group->n - 1;
    }
}

void plan_group(struct plan_builder *b) {
    struct grouping g = {.b = b, .marks = ARENA_ARRAY(b->a, struct mark, b->buffers.n + 1)};
    group_list(&g, &b->top);
}
