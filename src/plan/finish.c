/* From the builder's tree to the plan: results, memory, and the steps in one list. */
#include "plan/build.h"
#include "base/torture.h"

#include <string.h>

struct emit {
    struct plan_builder *b;
    struct { struct plan_step *v; uint32_t n, cap; } steps;
    uint32_t nroots;    /* later ones were made for copies */
    uint32_t *last;     /* by position: 1 + the last step of the node there; NULL but in the torture build */
    size_t spare_bytes[PLAN_SPACES]; /* after the block, for cyclic copies */
    uint32_t ncounters;
};

/* ---- results --------------------------------------------------------------------------------- */

/* Every result that is memory gets a root of its own, which the run can return. */
static hilo_status own_results(struct plan_builder *b) {
    bool *taken = ARENA_ARRAY(b->a, bool, b->buffers.n);
    uint32_t known = b->buffers.n;
    b->types = ARENA_ARRAY(b->a, uint32_t, b->nresults);
    for (uint32_t i = 0; i < b->nresults; i++) {
        uint32_t x = b->types[i] = b->results[i];
        if (x == UINT32_MAX)
            return diag_error(b->d, HILO_INTERNAL, "the plan has no result %u", i);
        uint32_t root = b->buffers.v[x].root;
        if (plan_is_value(&b->buffers.v[root]))
            continue;
        if (b->buffers.v[root].place != PLAN_BLOCK || !plan_is_full(b, x) || (root < known && taken[root])) {
            root = plan_like(b, x);
            plan_copy(b, 1, &x, &root);
        } else {
            taken[root] = true;
        }
        b->results[i] = root;
    }
    return HILO_OK;
}

/* ---- places ---------------------------------------------------------------------------------- */

static void place_buffers(struct plan_builder *b) {
    for (uint32_t i = 0; i < b->buffers.n; i++) {
        struct plan_buffer *x = &b->buffers.v[i];
        if (x->place == PLAN_ARGUMENT)
            x->offset = x->root_offset;
        if (x->place != PLAN_BLOCK)
            continue;
        const struct plan_root *c = &b->roots[plan_class(b, x->root)];
        x->offset = c->offset + x->root_offset;
        int32_t result = c->result >= 0 ? c->result : c->lender;
        if (result >= 0) {
            x->place = PLAN_RESULT;
            x->index = (uint32_t)result;
        }
    }
}

/* ---- copies ---------------------------------------------------------------------------------- */

static bool same_place(const struct plan_buffer *x, const struct plan_buffer *y) {
    return x->place == y->place && x->space == y->space && x->index == y->index && x->offset == y->offset &&
           x->data == y->data;
}

static bool overlap(const struct plan_buffer *x, const struct plan_buffer *y) {
    if (x->place != y->place || x->space != y->space || x->index != y->index || x->place == PLAN_CONSTANT)
        return false;
    return x->place == PLAN_VALUE || (x->offset < y->offset + y->bytes && y->offset < x->offset + x->bytes);
}

static struct plan_step *step_new(struct emit *e, enum plan_step_kind kind, uint32_t depth) {
    struct plan_step fresh = {.kind = kind, .depth = depth};
    ARENA_PUSH(e->b->a, &e->steps, fresh);
    return &e->steps.v[e->steps.n - 1];
}

static void copy_step(struct emit *e, uint32_t depth, uint32_t from, uint32_t to) {
    struct plan_use uses[2] = {{from, PLAN_IN, 0, 0}, {to, PLAN_OUT, 0, 0}};
    struct plan_step *s = step_new(e, PLAN_COPY, depth);
    s->nuses = 2;
    s->uses = arena_dup(e->b->a, uses, sizeof uses, _Alignof(struct plan_use));
}

/* Parallel copies: those that have to wait for others. */
struct copies {
    struct emit *e;
    const struct plan_node *node;
    struct plan_use *u;  /* n pairs of source and destination */
    uint32_t n;
    uint32_t *order;     /* sources by place, */
    size_t *reach;       /* and the furthest end of one up to each, in its memory */
    struct { uint32_t *v; uint32_t n, cap; } *waiting; /* of each source: the pairs whose destinations it is in */
    uint32_t *blocked;   /* of each pair: by how many sources */
    uint32_t *ready, nready;
    bool *done;
    size_t spare[PLAN_SPACES];
};

static size_t end_of(const struct plan_buffer *x) {
    return x->place == PLAN_VALUE ? 1 : x->offset + x->bytes;
}

static size_t begin_of(const struct plan_buffer *x) {
    return x->place == PLAN_VALUE ? 0 : x->offset;
}

/* By memory, then offset. */
static int place_order(const struct plan_buffer *x, const struct plan_buffer *y, bool offsets) {
    if (x->place != y->place)
        return x->place < y->place ? -1 : 1;
    if (x->space != y->space)
        return x->space < y->space ? -1 : 1;
    if (x->index != y->index)
        return x->index < y->index ? -1 : 1;
    size_t a = begin_of(x), b = begin_of(y);
    return !offsets || a == b ? 0 : a < b ? -1 : 1;
}

static const struct plan_buffer *source_of(const struct copies *c, uint32_t pair) {
    return &c->e->b->buffers.v[c->u[2 * pair].buffer];
}

/* A heap, as qsort takes no context. */
static void sift_sources(const struct copies *c, uint32_t *v, uint32_t n, uint32_t at) {
    for (uint32_t child; (child = 2 * at + 1) < n; at = child) {
        if (child + 1 < n && place_order(source_of(c, v[child]), source_of(c, v[child + 1]), true) < 0)
            child++;
        if (place_order(source_of(c, v[at]), source_of(c, v[child]), true) >= 0)
            return;
        uint32_t swap = v[at];
        v[at] = v[child];
        v[child] = swap;
    }
}

static void sort_sources(struct copies *c) {
    for (uint32_t i = 0; i < c->n; i++)
        c->order[i] = i;
    for (uint32_t i = c->n / 2; i-- > 0;)
        sift_sources(c, c->order, c->n, i);
    for (uint32_t n = c->n; n-- > 1;) {
        uint32_t swap = c->order[0];
        c->order[0] = c->order[n];
        c->order[n] = swap;
        sift_sources(c, c->order, n, 0);
    }
    for (uint32_t i = 0; i < c->n; i++) {
        const struct plan_buffer *x = source_of(c, c->order[i]);
        bool same = i && place_order(source_of(c, c->order[i - 1]), x, false) == 0;
        c->reach[i] = same && c->reach[i - 1] > end_of(x) ? c->reach[i - 1] : end_of(x);
    }
}

/* Finds the sources that the copy of a pair would overwrite. */
static void find_blocking(struct copies *c, uint32_t pair) {
    const struct plan_buffer *to = &c->e->b->buffers.v[c->u[2 * pair + 1].buffer];
    uint32_t low = 0, high = c->n; /* the first source after the destination */
    while (low < high) {
        uint32_t mid = low + (high - low) / 2;
        const struct plan_buffer *x = source_of(c, c->order[mid]);
        int order = place_order(x, to, false);
        if (order < 0 || (order == 0 && begin_of(x) < end_of(to)))
            low = mid + 1;
        else
            high = mid;
    }
    while (low-- > 0 && place_order(source_of(c, c->order[low]), to, false) == 0 && c->reach[low] > begin_of(to)) {
        uint32_t other = c->order[low];
        if (other == pair || !overlap(source_of(c, other), to))
            continue;
        ARENA_PUSH(c->e->b->a, &c->waiting[other], pair);
        c->blocked[pair]++;
    }
}

/* The source is not needed any more where it was. */
static void unblock(struct copies *c, uint32_t source) {
    for (uint32_t i = 0; i < c->waiting[source].n; i++)
        if (--c->blocked[c->waiting[source].v[i]] == 0)
            c->ready[c->nready++] = c->waiting[source].v[i];
    c->waiting[source].n = 0;
}

/* A source that would be overwritten is copied to the end of the block first. */
static void move_away(struct copies *c, uint32_t pair) {
    struct plan_builder *b = c->e->b;
    struct plan_use *source = &c->u[2 * pair];
    uint32_t aside = plan_like(b, source->buffer);
    enum plan_space space = b->buffers.v[aside].space;
    b->buffers.v[aside].offset = b->block_bytes[space] + c->spare[space];
    c->spare[space] += (b->buffers.v[aside].bytes + 63) & ~(size_t)63; /* in all no more than the sources, which exist */
    if (c->e->spare_bytes[space] < c->spare[space])
        c->e->spare_bytes[space] = c->spare[space];
    copy_step(c->e, c->node->depth, source->buffer, aside);
    source->buffer = aside;
    unblock(c, pair);
}

/* Copies one after the other: each when its destination is not read any more. */
static void order_copies(struct copies *c) {
    struct arena *a = c->e->b->a;
    c->order = ARENA_ARRAY(a, uint32_t, c->n);
    c->reach = ARENA_ARRAY(a, size_t, c->n);
    c->waiting = arena_array(a, c->n, sizeof *c->waiting, _Alignof(void *));
    c->blocked = ARENA_ARRAY(a, uint32_t, c->n);
    c->ready = ARENA_ARRAY(a, uint32_t, c->n);
    c->done = ARENA_ARRAY(a, bool, c->n);
    sort_sources(c);
    for (uint32_t i = 0; i < c->n; i++)
        find_blocking(c, i);
    for (uint32_t i = 0; i < c->n; i++)
        if (!c->blocked[i])
            c->ready[c->nready++] = i;
    for (uint32_t next = 0, first = 0; next < c->n; next++) {
        while (next == c->nready) { /* all wait for each other */
            while (c->done[first] || !c->waiting[first].n)
                first++;
            move_away(c, first);
        }
        uint32_t pair = c->ready[next];
        copy_step(c->e, c->node->depth, c->u[2 * pair].buffer, c->u[2 * pair + 1].buffer);
        c->done[pair] = true;
        unblock(c, pair);
    }
}

static void emit_copies(struct emit *e, const struct plan_node *x) {
    const struct plan_builder *b = e->b;
    struct copies c = {.e = e, .node = x, .u = ARENA_ARRAY(b->a, struct plan_use, x->nuses)};
    for (uint32_t i = 0; i < x->nuses; i += 2) {
        const struct plan_buffer *from = &b->buffers.v[x->uses[i].buffer], *to = &b->buffers.v[x->uses[i + 1].buffer];
        bool nothing = !from->bytes && !plan_is_value(from) && !plan_is_value(to);
        if (nothing || !b->roots[plan_class(e->b, to->root)].nspans || same_place(from, to))
            continue;
        c.u[2 * c.n] = x->uses[i];
        c.u[2 * c.n++ + 1] = x->uses[i + 1];
    }
    if (c.n == 1)
        copy_step(e, x->depth, c.u[0].buffer, c.u[1].buffer);
    else if (c.n)
        order_copies(&c);
}

/* ---- steps ----------------------------------------------------------------------------------- */

static void emit_list(struct emit *e, const struct plan_list *list);

static uint32_t jump(struct emit *e, enum plan_step_kind kind, const struct plan_node *n, uint32_t ntargets) {
    struct plan_step *s = step_new(e, kind, n->depth);
    s->nuses = kind == PLAN_JUMP ? 0 : n->nuses;
    s->uses = n->uses;
    s->ntargets = ntargets;
    s->targets = ARENA_ARRAY(e->b->a, uint32_t, ntargets);
    return e->steps.n - 1;
}

static void set_target(struct emit *e, uint32_t step, uint32_t which, uint32_t target) {
    ((uint32_t *)(uintptr_t)e->steps.v[step].targets)[which] = target;
}

static void emit_loop(struct emit *e, const struct plan_node *n) {
    uint32_t head = e->steps.n;
    emit_list(e, n->lists.v[0]);
    uint32_t test = jump(e, PLAN_TEST, n, 1);
    if (!n->nuses) {
        e->steps.v[test].trips = n->trips;
        e->steps.v[test].counter = e->ncounters++;
    }
    emit_list(e, n->lists.v[1]);
    set_target(e, jump(e, PLAN_JUMP, n, 1), 0, head);
    set_target(e, test, 0, e->steps.n);
}

static void emit_branch(struct emit *e, const struct plan_node *n) {
    uint32_t choice = jump(e, PLAN_SWITCH, n, n->lists.n);
    uint32_t *ends = ARENA_ARRAY(e->b->a, uint32_t, n->lists.n);
    for (uint32_t i = 0; i < n->lists.n; i++) {
        set_target(e, choice, i, e->steps.n);
        emit_list(e, n->lists.v[i]);
        if (i + 1 < n->lists.n)
            ends[i] = jump(e, PLAN_JUMP, n, 1);
    }
    for (uint32_t i = 0; i + 1 < n->lists.n; i++)
        set_target(e, ends[i], 0, e->steps.n);
}

/* Whether a value that is read is not needed after it. */
static bool is_last(const struct plan_builder *b, const struct plan_node *n, uint32_t use) {
    uint32_t root = b->buffers.v[n->uses[use].buffer].root;
    const struct plan_root *r = &b->roots[root];
    if (b->buffers.v[root].place != PLAN_VALUE)
        return false;
    for (uint32_t i = use + 1; i < n->nuses; i++)
        if (b->buffers.v[n->uses[i].buffer].root == root)
            return false;
    for (uint32_t i = 0; i < r->nown; i++)
        if (r->own[i].end == 2 * n->at)
            return true;
    return false;
}

static void emit_step(struct emit *e, const struct plan_node *n) {
    struct plan_step *s = step_new(e, n->step, n->depth);
    s->nuses = n->nuses;
    s->uses = n->uses;
    s->kernel = n->kernel;
    s->routine = n->routine;
    s->collective = n->collective;
    s->func = n->func;
    s->note = n->note;
    s->init = n->init;
    for (uint32_t i = 0; i < n->nuses && n->step == PLAN_REFERENCE; i++)
        n->uses[i].overlay = n->uses[i].role == PLAN_IN && is_last(e->b, n, i);
}

/* The nodes of a group from number `at` of the list on; the number of the last. */
static uint32_t emit_group(struct emit *e, const struct plan_list *list, uint32_t at) {
    const struct plan_group *group = list->nodes.v[at]->group;
    uint32_t first = e->steps.n;
    for (uint32_t i = 0; i < group->n; i++)
        if (!group->v[i]->dead)
            emit_step(e, group->v[i]);
    if (e->steps.n - first > 1)
        e->steps.v[first].group = e->steps.n - first;
    return at + group->n - 1;
}

static void emit_list(struct emit *e, const struct plan_list *list) {
    for (uint32_t i = 0; i < list->nodes.n; i++) {
        const struct plan_node *n = list->nodes.v[i];
        uint32_t before = e->steps.n;
        if (n->group)
            i = emit_group(e, list, i);
        else if (n->dead)
            continue;
        else if (n->kind == NODE_LOOP)
            emit_loop(e, n);
        else if (n->kind == NODE_BRANCH)
            emit_branch(e, n);
        else if (n->step == PLAN_COPY)
            emit_copies(e, n);
        else
            emit_step(e, n);
        if (e->last && n->kind == NODE_STEP && e->steps.n > before)
            e->last[n->at] = e->steps.n;
    }
}

/* ---- what is dead ---------------------------------------------------------------------------- */

/* Where a class is needed last by a step, it is dead after it until it is written again. */
static const struct plan_dead *find_dead(struct emit *e) {
    struct plan_builder *b = e->b;
    struct { struct plan_region *v; uint32_t n, cap; } *regions = arena_array(b->a, e->steps.n, sizeof *regions, 8);
    struct plan_dead *dead = ARENA_ARRAY(b->a, struct plan_dead, e->steps.n);
    for (uint32_t i = 0; i < e->nroots; i++) {
        const struct plan_root *c = &b->roots[i];
        const struct plan_buffer *x = &b->buffers.v[i];
        if (x->root != i || x->place != PLAN_BLOCK || x->space != PLAN_HOST || c->parent != i || !x->bytes)
            continue;
        for (uint32_t k = 0; k < c->nspans; k++) {
            uint32_t step = e->last[c->spans[k].end / 2];
            struct plan_region r = {c->offset, x->bytes};
            if (step)
                ARENA_PUSH(b->a, &regions[step - 1], r);
        }
    }
    for (uint32_t i = 0; i < e->steps.n; i++)
        dead[i] = (struct plan_dead){regions[i].v, regions[i].n};
    return dead;
}

enum plan_space plan_space_of(const struct plan_kernel *k, const struct lib_match *routine) {
    return (k && k->gpu.threads) || (routine && lib_on_device(routine->by)) ? PLAN_DEVICE : PLAN_HOST;
}

bool plan_on_device(const struct plan *p, const struct plan_step *s) {
    return s->kind != PLAN_COPY ? plan_space_of(s->kernel, s->routine) == PLAN_DEVICE
                                  : p->buffers[s->uses[0].buffer].space == PLAN_DEVICE &&
                                        p->buffers[s->uses[1].buffer].space == PLAN_DEVICE;
}

bool plan_is_transfer(const struct plan *p, const struct plan_step *s) {
    return s->kind == PLAN_COPY && p->buffers[s->uses[0].buffer].space != p->buffers[s->uses[1].buffer].space;
}

enum plan_space plan_main_space(const struct plan *p) {
    for (uint32_t i = 0; i < p->nsteps; i++)
        if (plan_on_device(p, &p->steps[i]))
            return PLAN_DEVICE;
    return PLAN_HOST;
}

size_t plan_temp_bytes(const struct plan *p, enum plan_space space) {
    size_t sum;
    return mem_add(p->memory[space].block_bytes, p->memory[space].scratch_bytes, &sum) ? sum : SIZE_MAX;
}

size_t plan_init_bytes(const struct plan *p) {
    size_t sum = 0;
    for (uint32_t i = 0; i < p->nsections; i++)
        if (!mem_add(sum, p->sections[i].bytes, &sum))
            return SIZE_MAX;
    return sum;
}

size_t plan_constant_bytes(const struct plan *p) {
    size_t sum = 0;
    for (uint32_t i = 0; i < p->nbuffers; i++)
        if (p->buffers[i].place == PLAN_CONSTANT && p->buffers[i].root == i)
            sum += p->buffers[i].bytes; /* of what is in memory */
    return sum + plan_init_bytes(p);
}

size_t plan_needs(const struct plan *p) {
    size_t sum = plan_temp_bytes(p, PLAN_HOST);
    if (!mem_add(sum, plan_temp_bytes(p, PLAN_DEVICE), &sum))
        return SIZE_MAX;
    for (uint32_t i = 0; i < p->nresults; i++)
        if (!mem_add(sum, p->buffers[p->results[i]].bytes, &sum))
            return SIZE_MAX;
    return sum;
}

/* ---- all ------------------------------------------------------------------------------------- */

hilo_status plan_finish(struct plan_builder *b, struct plan *p, struct diag_list *d) {
    *p = (struct plan){.m = b->m, .narguments = b->narguments, .nresults = b->nresults};
    b->d = d;
    if (b->opened.n)
        return diag_error(d, HILO_INTERNAL, "the plan has a list that was not ended");
    HILO_TRY(own_results(b));
    HILO_TRY(plan_liveness(b));
    plan_coalesce(b);
    plan_assign(b);
    place_buffers(b);
    struct emit e = {.b = b, .nroots = b->buffers.n};
    if (TORTURE)
        e.last = ARENA_ARRAY(b->a, uint32_t, (size_t)b->top.end + 1);
    emit_list(&e, &b->top);
    for (int space = 0; space < PLAN_SPACES; space++) {
        if (!mem_add(b->block_bytes[space], e.spare_bytes[space], &p->memory[space].block_bytes))
            arena_exhausted(b->a);
        p->memory[space].live_bytes = b->live_bytes[space];
    }
    p->device_constants = plan_place_constants(b->buffers.v, b->buffers.n);
    if (p->device_constants == SIZE_MAX)
        arena_exhausted(b->a);
    p->nvalues = b->nvalues;
    p->ncounters = e.ncounters;
    p->nbuffers = b->buffers.n;
    p->buffers = b->buffers.v;
    p->arguments = b->arguments;
    p->results = b->results;
    p->donors = b->donors;
    p->steps = e.steps.v;
    p->nsteps = e.steps.n;
    p->dead = TORTURED(find_dead(&e), NULL);
    p->sections = b->sections;
    p->nsections = b->nsections;
    bool reference = false;
    for (uint32_t i = 0; i < p->nsteps; i++) {
        const struct plan_step *s = &p->steps[i];
        if (s->init)
            b->sections[s->init - 1].nsteps++;
        p->ninit += s->init != 0;
        size_t scratch = s->kernel ? s->kernel->scratch_bytes : s->routine ? s->routine->scratch_bytes : 0;
        if (s->kernel && s->kernel->library && scratch < s->kernel->library->workspace_bytes)
            scratch = s->kernel->library->workspace_bytes;
        struct plan_memory *memory = &p->memory[plan_space_of(s->kernel, s->routine)];
        memory->scratch_bytes = memory->scratch_bytes < scratch ? scratch : memory->scratch_bytes;
        reference |= s->kind == PLAN_REFERENCE;
    }
    return reference ? eval_plan_new(b->m, &b->a->al, d, &p->reference) : HILO_OK;
}
