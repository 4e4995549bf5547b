/* What need not be computed each time. A kernel in a loop whose operands the loop does not write runs before the loop; one
 * whose operands are constants, or an argument that is the same in most runs, is an init step: it runs once, and the executable
 * keeps what it writes. So weights are packed once.
 *
 * A kernel is taken only when it writes no more than a few times what it reads: what is kept is one more copy of its operands,
 * not what broadcasts and iotas make of nothing. */
#include "plan/build.h"

enum { INIT_GROWTH = 2 }; /* bytes that may be kept for each that is read: narrow elements may be packed as wider ones */

struct hoist {
    struct plan_builder *b;
    struct hoist_root {
        uint32_t writers;   /* steps that write it, and uses that keep it from being moved */
        uint32_t loop;      /* the last loop that was found to write it */
        uint32_t init;      /* 1 + the section whose steps write it; 0 = none */
        bool read;          /* by a step of each run, or of another section */
    } *roots;
    uint32_t nloops;
    struct { struct plan_init *v; uint32_t n, cap; } sections;
    struct plan_list *steps; /* of each section */
};

/* ---- what is written ------------------------------------------------------------------------- */

static struct hoist_root *root_of(const struct hoist *h, const struct plan_use *u) {
    return &h->roots[h->b->buffers.v[u->buffer].root];
}

/* Buffers that do not exist are reported by plan_liveness. */
static bool is_known(const struct hoist *h, const struct plan_node *n) {
    for (uint32_t i = 0; i < n->nuses; i++)
        if (n->uses[i].buffer >= h->b->buffers.n)
            return false;
    return true;
}

typedef void visit_fn(struct hoist *h, struct plan_node *n, uint32_t user);

static void visit(struct hoist *h, const struct plan_list *list, visit_fn *fn, uint32_t user) {
    for (uint32_t i = 0; i < list->nodes.n; i++) {
        struct plan_node *n = list->nodes.v[i];
        if (is_known(h, n))
            fn(h, n, user);
        for (uint32_t k = 0; k < n->lists.n; k++)
            visit(h, n->lists.v[k], fn, user);
    }
}

static void count_writers(struct hoist *h, struct plan_node *n, uint32_t user) {
    (void)user;
    for (uint32_t i = 0; i < n->nuses; i++)
        root_of(h, &n->uses[i])->writers += n->uses[i].role != PLAN_IN;
}

static void mark_written(struct hoist *h, struct plan_node *n, uint32_t loop) {
    for (uint32_t i = 0; i < n->nuses; i++)
        if (n->uses[i].role != PLAN_IN)
            root_of(h, &n->uses[i])->loop = loop;
}

/* ---- what may be moved ----------------------------------------------------------------------- */

/* A kernel that alone writes its results, which are not much larger than what it reads. */
static bool is_movable(const struct hoist *h, const struct plan_node *n) {
    const struct plan_buffer *v = h->b->buffers.v;
    size_t read = 0, written = 0;
    if (n->kind != NODE_STEP || n->step != PLAN_KERNEL || n->kernel->grid <= 0 || !is_known(h, n))
        return false;
    for (uint32_t i = 0; i < n->nuses; i++) {
        const struct plan_buffer *x = &v[n->uses[i].buffer], *root = &v[x->root];
        bool out = n->uses[i].role != PLAN_IN;
        if (plan_is_value(root) || !mem_add(out ? written : read, x->bytes, out ? &written : &read))
            return false;
        if (out && (n->uses[i].role != PLAN_OUT || root->place != PLAN_BLOCK || x->bytes != root->bytes ||
                    root_of(h, &n->uses[i])->writers != 1))
            return false;
    }
    return written / INIT_GROWTH <= read;
}

/* ---- loops ----------------------------------------------------------------------------------- */

static bool is_invariant(const struct hoist *h, const struct plan_node *n, uint32_t loop) {
    for (uint32_t i = 0; i < n->nuses; i++)
        if (n->uses[i].role == PLAN_IN && root_of(h, &n->uses[i])->loop == loop)
            return false;
    return is_movable(h, n);
}

static void hoist_list(struct hoist *h, struct plan_list *list);

/* Moves the invariant kernels of a loop to the end of `out`, the list before it. */
static void hoist_loop(struct hoist *h, const struct plan_node *loop, struct plan_list *out) {
    uint32_t number = ++h->nloops;
    for (uint32_t k = 0; k < loop->lists.n; k++)
        visit(h, loop->lists.v[k], mark_written, number);
    for (uint32_t k = 0; k < loop->lists.n; k++) {
        struct plan_list *list = loop->lists.v[k];
        uint32_t kept = 0;
        for (uint32_t i = 0; i < list->nodes.n; i++) {
            struct plan_node *n = list->nodes.v[i];
            if (!is_invariant(h, n, number)) {
                list->nodes.v[kept++] = n;
                continue;
            }
            n->outer = loop->outer;
            n->depth = loop->depth;
            ARENA_PUSH(h->b->a, &out->nodes, n);
            mark_written(h, n, 0);
        }
        list->nodes.n = kept;
    }
}

static void hoist_list(struct hoist *h, struct plan_list *list) {
    struct plan_list out = {.begin = 0};
    for (uint32_t i = 0; i < list->nodes.n; i++) {
        struct plan_node *n = list->nodes.v[i];
        for (uint32_t k = 0; k < n->lists.n; k++)
            hoist_list(h, n->lists.v[k]);
        if (n->kind == NODE_LOOP)
            hoist_loop(h, n, &out);
        ARENA_PUSH(h->b->a, &out.nodes, n);
    }
    list->nodes = out.nodes;
}

/* ---- init steps ------------------------------------------------------------------------------ */

/* The section of a kernel: 0 = of constants; an argument's; -1 = it runs each time. */
static int64_t section_of(struct hoist *h, const struct plan_node *n) {
    const struct plan_builder *b = h->b;
    int32_t argument = -1;
    if (!is_movable(h, n))
        return -1;
    for (uint32_t i = 0; i < n->nuses; i++) {
        const struct plan_buffer *x = plan_root_of(b, n->uses[i].buffer);
        int32_t of = -1;
        if (n->uses[i].role != PLAN_IN || x->place == PLAN_CONSTANT)
            continue;
        if (root_of(h, &n->uses[i])->init)
            of = h->sections.v[root_of(h, &n->uses[i])->init - 1].argument;
        else if (x->place == PLAN_ARGUMENT && b->unchanged[x->index])
            of = (int32_t)x->index;
        else
            return -1;
        if (of >= 0 && argument >= 0 && of != argument)
            return -1;
        argument = of >= 0 ? of : argument;
    }
    for (uint32_t i = 0; i < h->sections.n; i++)
        if (h->sections.v[i].argument == argument)
            return i;
    struct plan_init fresh = {.argument = argument};
    ARENA_PUSH(b->a, &h->sections, fresh);
    return h->sections.n - 1;
}

static void find_init(struct hoist *h, struct plan_list *list) {
    uint32_t kept = 0;
    for (uint32_t i = 0; i < list->nodes.n; i++) {
        struct plan_node *n = list->nodes.v[i];
        for (uint32_t k = 0; k < n->lists.n; k++)
            find_init(h, n->lists.v[k]);
        int64_t section = section_of(h, n);
        if (section < 0) {
            list->nodes.v[kept++] = n;
            continue;
        }
        n->init = (uint32_t)section + 1;
        n->outer = &h->b->top;
        n->depth = 0;
        for (uint32_t k = 0; k < n->nuses; k++)
            if (n->uses[k].role == PLAN_OUT)
                root_of(h, &n->uses[k])->init = n->init;
        ARENA_PUSH(h->b->a, &h->steps[section].nodes, n);
    }
    list->nodes.n = kept;
}

static void mark_read(struct hoist *h, struct plan_node *n, uint32_t user) {
    (void)user;
    for (uint32_t i = 0; i < n->nuses; i++) {
        struct hoist_root *r = root_of(h, &n->uses[i]);
        r->read |= n->uses[i].role != PLAN_OUT && r->init != n->init;
    }
}

/* What a section writes for others is kept; the rest is in the block like any temporary. */
static void place_kept(struct hoist *h) {
    struct plan_builder *b = h->b;
    for (uint32_t i = 0; i < b->buffers.n; i++) {
        struct plan_buffer *x = &b->buffers.v[i];
        if (x->root != i || !h->roots[i].init || !h->roots[i].read)
            continue;
        struct plan_init *section = &h->sections.v[h->roots[i].init - 1];
        x->place = PLAN_INIT;
        x->index = h->roots[i].init - 1;
        x->offset = section->bytes;
        if (!mem_add(section->bytes, x->bytes, &section->bytes) || section->bytes > PTRDIFF_MAX)
            arena_exhausted(b->a);
        section->bytes = (section->bytes + 63) & ~(size_t)63;
    }
    for (uint32_t i = 0; i < b->buffers.n; i++) {
        struct plan_buffer *x = &b->buffers.v[i];
        const struct plan_buffer *root = &b->buffers.v[x->root];
        if (root->place != PLAN_INIT || root == x)
            continue;
        x->place = PLAN_INIT;
        x->index = root->index;
        x->offset = root->offset + x->root_offset;
    }
}

void plan_unchanged(struct plan_builder *b, uint32_t argument) {
    b->unchanged[argument] = true;
}

void plan_hoist(struct plan_builder *b) {
    struct hoist h = {.b = b, .roots = arena_array(b->a, b->buffers.n, sizeof *h.roots, _Alignof(struct hoist_root))};
    const struct plan_init constants = {.argument = -1};
    h.steps = arena_array(b->a, (size_t)b->narguments + 1, sizeof *h.steps, _Alignof(struct plan_list));
    ARENA_PUSH(b->a, &h.sections, constants);
    visit(&h, &b->top, count_writers, 0);
    for (uint32_t i = 0; i < b->nresults; i++)
        if (b->results[i] < b->buffers.n)
            h.roots[b->buffers.v[b->results[i]].root].writers++;
    hoist_list(&h, &b->top);
    find_init(&h, &b->top);
    struct plan_list all = {.begin = 0};
    for (uint32_t i = 0; i < h.sections.n; i++)
        for (uint32_t k = 0; k < h.steps[i].nodes.n; k++)
            ARENA_PUSH(b->a, &all.nodes, h.steps[i].nodes.v[k]);
    for (uint32_t i = 0; i < b->top.nodes.n; i++)
        ARENA_PUSH(b->a, &all.nodes, b->top.nodes.v[i]);
    b->top.nodes = all.nodes;
    visit(&h, &b->top, mark_read, 0);
    place_kept(&h);
    b->sections = h.sections.v;
    b->nsections = h.sections.n;
}
