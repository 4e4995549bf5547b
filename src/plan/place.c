/* Places: which buffers are in the memory of a device, and the transfers between it and the host's.
 *
 * Each root is at home in one memory: the device's, where its kernels use it or no step does, else the host's; but the caller
 * says where arguments are that both sides use, and what no step does. What the other
 * side uses as well has a twin there. One walk over the steps keeps track of which of the two is valid, and copies where the
 * other side is about to read what is not: so a value crosses when it is needed, and once until it is written again. What lists
 * of a loop or a branch write is made valid at home before them and at their ends, where paths meet. */
#include "plan/build.h"

#include <string.h>

enum { AT_HOST = 1 << PLAN_HOST, AT_DEVICE = 1 << PLAN_DEVICE, UNDEFINED = 4 /* either may be taken for it */ };

/* Roots that a nested node writes, and reads on a side without writing them. */
struct nested {
    struct { uint32_t *v; uint32_t n, cap; } written;
    struct { struct plan_use *v; uint32_t n, cap; } read; /* role: the space */
};

struct places {
    struct plan_builder *b;
    uint32_t n;        /* buffers without twins */
    uint32_t *twin;    /* by buffer: 1 + its twin; 0 = none yet */
    uint8_t *valid;    /* by root: where */
    uint32_t *written; /* by root: the last nested node that was found to write it */
    uint32_t nnested;
};

static enum plan_space step_space(const struct plan_node *n) {
    return plan_space_of(n->kernel, n->routine);
}

/* Uses of a node but for a copy's, which are on either side. */
static bool has_space(const struct plan_node *n) {
    return n->kind != NODE_UNDEFINED && !(n->kind == NODE_STEP && n->step == PLAN_COPY);
}

static bool is_value(const struct places *p, uint32_t buffer) {
    return plan_is_value(plan_root_of(p->b, buffer));
}

/* ---- homes ----------------------------------------------------------------------------------- */

static void find_users(struct places *p, const struct plan_list *list) {
    for (uint32_t i = 0; i < list->nodes.n; i++) {
        const struct plan_node *n = list->nodes.v[i];
        for (uint32_t k = 0; k < n->nuses && has_space(n); k++)
            p->valid[p->b->buffers.v[n->uses[k].buffer].root] |= (uint8_t)(1 << step_space(n));
        for (uint32_t k = 0; k < n->lists.n; k++)
            find_users(p, n->lists.v[k]);
    }
}

static enum plan_space home_of(const struct plan_buffer *root, uint8_t users, enum plan_space shared) {
    if (plan_is_value(root) || root->place == PLAN_CONSTANT)
        return PLAN_HOST;
    if (shared == PLAN_HOST && (!users || (root->place == PLAN_ARGUMENT && users == (AT_HOST | AT_DEVICE))))
        return PLAN_HOST;
    return (root->place == PLAN_BLOCK || root->place == PLAN_ARGUMENT) && users == AT_HOST ? PLAN_HOST : PLAN_DEVICE;
}

static void find_homes(struct places *p, enum plan_space shared) {
    struct plan_buffer *v = p->b->buffers.v;
    find_users(p, &p->b->top);
    for (uint32_t i = 0; i < p->n; i++)
        v[i].space = home_of(&v[v[i].root], p->valid[v[i].root], shared);
    memset(p->valid, 0, p->n);
    for (uint32_t i = 0; i < p->n; i++)
        if (v[i].root == i && v[i].place == PLAN_ARGUMENT)
            p->valid[i] = (uint8_t)(1 << v[i].space);
        else if (v[i].root == i && v[i].place == PLAN_CONSTANT)
            p->valid[i] = AT_HOST | AT_DEVICE; /* copied when the program is loaded */
}

/* The buffer itself, or its twin. */
static uint32_t in_space(struct places *p, uint32_t buffer, enum plan_space space) {
    struct plan_builder *b = p->b;
    const struct plan_buffer x = b->buffers.v[buffer];
    if (x.space == space || is_value(p, buffer))
        return buffer;
    if (!p->twin[buffer]) {
        uint32_t twin = x.root != buffer
                            ? plan_alias(b, in_space(p, x.root, space), x.root_offset, x.dtype, x.rank, x.dims)
                        : x.place == PLAN_CONSTANT ? plan_constant(b, x.dtype, x.rank, x.dims, x.data)
                                                   : plan_temp(b, x.dtype, x.rank, x.dims);
        b->buffers.v[twin].space = space;
        p->twin[buffer] = twin + 1;
    }
    return p->twin[buffer] - 1;
}

/* ---- transfers ------------------------------------------------------------------------------- */

/* Makes a root valid in a memory, by a node before those that follow in `out`. What was never written stays so. */
static void make_valid(struct places *p, struct plan_list *out, const struct plan_node *like, uint32_t root,
                       enum plan_space space) {
    uint8_t valid = p->valid[root];
    if (!valid || valid >> space & 1 || is_value(p, root))
        return;
    struct plan_node *n = plan_node_like(p->b, like, valid & UNDEFINED ? NODE_UNDEFINED : NODE_STEP, valid & UNDEFINED ? 1 : 2);
    n->uses[n->nuses - 1] = (struct plan_use){in_space(p, root, space), PLAN_OUT, 0, 0};
    if (n->kind == NODE_STEP)
        n->uses[0] = (struct plan_use){in_space(p, root, (enum plan_space)!space), PLAN_IN, 0, 0};
    ARENA_PUSH(p->b->a, &out->nodes, n);
    p->valid[root] |= (uint8_t)(1 << space);
}

static uint32_t root_of(const struct places *p, const struct plan_use *u) {
    return p->b->buffers.v[u->buffer].root;
}

/* Before a step: what it reads, or writes a part of. */
static void before_use(struct places *p, struct plan_list *out, const struct plan_node *n, const struct plan_use *u,
                       enum plan_space space) {
    if (u->role != PLAN_OUT || !plan_is_full(p->b, u->buffer))
        make_valid(p, out, n, root_of(p, u), space);
}

static void after_use(struct places *p, const struct plan_use *u, enum plan_space space) {
    if (u->role != PLAN_IN)
        p->valid[root_of(p, u)] = (uint8_t)(1 << space);
}

/* ---- steps ----------------------------------------------------------------------------------- */

static void place_step(struct places *p, struct plan_list *out, struct plan_node *n) {
    enum plan_space space = step_space(n);
    for (uint32_t i = 0; i < n->nuses; i++)
        before_use(p, out, n, &n->uses[i], space);
    for (uint32_t i = 0; i < n->nuses; i++)
        after_use(p, &n->uses[i], space);
    for (uint32_t i = 0; i < n->nuses; i++)
        n->uses[i].buffer = in_space(p, n->uses[i].buffer, space);
    ARENA_PUSH(p->b->a, &out->nodes, n);
}

/* A destination is written at home, from where the source is valid: a transfer, where that is the other side. Values of the run
   are the host's. */
static void place_copies(struct places *p, struct plan_list *out, struct plan_node *n) {
    struct plan_use *u = n->uses;
    enum plan_space *spaces = ARENA_ARRAY(p->b->a, enum plan_space, n->nuses);
    for (uint32_t i = 0; i < n->nuses; i += 2) {
        bool value = is_value(p, u[i].buffer) || is_value(p, u[i + 1].buffer);
        enum plan_space to = value ? PLAN_HOST : p->b->buffers.v[u[i + 1].buffer].space;
        before_use(p, out, n, &u[i + 1], to);
        if (value)
            before_use(p, out, n, &u[i], to);
        uint8_t valid = p->valid[root_of(p, &u[i])];
        spaces[i] = is_value(p, u[i].buffer) || !valid || valid >> to & 1 ? to : (enum plan_space)!to;
        spaces[i + 1] = to;
    }
    for (uint32_t i = 0; i < n->nuses; i++)
        after_use(p, &u[i], spaces[i]);
    for (uint32_t i = 0; i < n->nuses; i++)
        u[i].buffer = in_space(p, u[i].buffer, spaces[i]);
    ARENA_PUSH(p->b->a, &out->nodes, n);
}

static void place_undefined(struct places *p, struct plan_list *out, struct plan_node *n) {
    uint32_t root = root_of(p, &n->uses[0]);
    if (plan_is_full(p->b, n->uses[0].buffer) || !p->valid[root])
        p->valid[root] = (uint8_t)(1 << p->b->buffers.v[root].space | UNDEFINED);
    ARENA_PUSH(p->b->a, &out->nodes, n);
}

/* ---- nested lists ---------------------------------------------------------------------------- */

static void find_written(struct places *p, const struct plan_list *list, uint32_t number, struct nested *out) {
    for (uint32_t i = 0; i < list->nodes.n; i++) {
        const struct plan_node *n = list->nodes.v[i];
        for (uint32_t k = 0; k < n->nuses; k++) {
            uint32_t root = root_of(p, &n->uses[k]);
            if (n->uses[k].role == PLAN_IN || p->written[root] == number)
                continue;
            p->written[root] = number;
            ARENA_PUSH(p->b->a, &out->written, root);
        }
        for (uint32_t k = 0; k < n->lists.n; k++)
            find_written(p, n->lists.v[k], number, out);
    }
}

static void find_read(struct places *p, const struct plan_list *list, uint32_t number, struct nested *out) {
    for (uint32_t i = 0; i < list->nodes.n; i++) {
        const struct plan_node *n = list->nodes.v[i];
        for (uint32_t k = 0; k < n->nuses && has_space(n); k++) {
            struct plan_use u = {root_of(p, &n->uses[k]), (enum plan_role)step_space(n), 0, 0};
            if (n->uses[k].role == PLAN_IN && p->written[u.buffer] != number)
                ARENA_PUSH(p->b->a, &out->read, u);
        }
        for (uint32_t k = 0; k < n->lists.n; k++)
            find_read(p, n->lists.v[k], number, out);
    }
}

/* Where paths meet, what one of them wrote is valid at home alone. */
static void bring_home(struct places *p, struct plan_list *out, const struct plan_node *like, const struct nested *x) {
    for (uint32_t i = 0; i < x->written.n; i++) {
        uint32_t root = x->written.v[i];
        enum plan_space home = p->b->buffers.v[root].space;
        make_valid(p, out, like, root, home);
        if (p->valid[root])
            p->valid[root] = (uint8_t)(1 << home);
    }
}

static void place_list(struct places *p, struct plan_list *list);

static void decide(struct places *p, struct plan_list *out, const struct plan_node *like, struct plan_use *u) {
    before_use(p, out, like, u, PLAN_HOST);
    u->buffer = in_space(p, u->buffer, PLAN_HOST);
}

/* A node at the end of a list is as deep as those in it. */
static struct plan_node inside(const struct plan_node *n, struct plan_list *list) {
    return (struct plan_node){.depth = n->depth + 1, .outer = list};
}

/* The test is the last that runs; what is valid after it is valid after the loop. */
static void place_loop(struct places *p, struct plan_list *out, struct plan_node *n, const struct nested *x) {
    struct plan_list *test = n->lists.v[0], *body = n->lists.v[1];
    struct plan_node in_test = inside(n, test), in_body = inside(n, body);
    for (uint32_t i = 0; i < x->read.n; i++)
        make_valid(p, out, n, x->read.v[i].buffer, (enum plan_space)x->read.v[i].role);
    place_list(p, test);
    if (n->nuses)
        decide(p, test, &in_test, &n->uses[0]);
    uint8_t *after = arena_dup(p->b->a, p->valid, p->n, 1);
    place_list(p, body);
    bring_home(p, body, &in_body, x);
    p->valid = after;
}

static void place_branch(struct places *p, struct plan_list *out, struct plan_node *n, const struct nested *x) {
    decide(p, out, n, &n->uses[0]);
    uint8_t *before = arena_dup(p->b->a, p->valid, p->n, 1), *all = arena_dup(p->b->a, p->valid, p->n, 1);
    for (uint32_t i = 0; i < n->lists.n; i++) {
        struct plan_node in_list = inside(n, n->lists.v[i]);
        memcpy(p->valid, before, p->n);
        place_list(p, n->lists.v[i]);
        bring_home(p, n->lists.v[i], &in_list, x);
        for (uint32_t k = 0; k < x->written.n; k++)
            all[x->written.v[k]] |= p->valid[x->written.v[k]];
    }
    p->valid = all;
}

static void place_nested(struct places *p, struct plan_list *out, struct plan_node *n) {
    struct nested x = {.written.n = 0};
    uint32_t number = ++p->nnested;
    for (uint32_t i = 0; i < n->lists.n; i++)
        find_written(p, n->lists.v[i], number, &x);
    for (uint32_t i = 0; i < n->lists.n && n->kind == NODE_LOOP; i++)
        find_read(p, n->lists.v[i], number, &x);
    bring_home(p, out, n, &x);
    (n->kind == NODE_LOOP ? place_loop : place_branch)(p, out, n, &x);
    ARENA_PUSH(p->b->a, &out->nodes, n);
}

static void place_list(struct places *p, struct plan_list *list) {
    struct plan_list out = {.begin = 0};
    for (uint32_t i = 0; i < list->nodes.n; i++) {
        struct plan_node *n = list->nodes.v[i];
        if (n->kind == NODE_UNDEFINED)
            place_undefined(p, &out, n);
        else if (n->kind == NODE_LOOP || n->kind == NODE_BRANCH)
            place_nested(p, &out, n);
        else if (n->step == PLAN_COPY)
            place_copies(p, &out, n);
        else
            place_step(p, &out, n);
    }
    list->nodes = out.nodes;
}

void plan_place(struct plan_builder *b, enum plan_space shared) {
    const struct plan_node end = {.outer = &b->top};
    struct places p = {.b = b, .n = b->buffers.n};
    p.twin = ARENA_ARRAY(b->a, uint32_t, p.n);
    p.valid = ARENA_ARRAY(b->a, uint8_t, p.n);
    p.written = ARENA_ARRAY(b->a, uint32_t, p.n);
    find_homes(&p, shared);
    place_list(&p, &b->top);
    for (uint32_t i = 0; i < b->nresults; i++) {
        const struct plan_use u = {b->results[i], PLAN_IN, 0, 0};
        if (u.buffer >= p.n || is_value(&p, u.buffer))
            continue;
        const struct plan_buffer *root = &b->buffers.v[root_of(&p, &u)];
        enum plan_space space = root->place == PLAN_BLOCK ? root->space : PLAN_DEVICE;
        before_use(&p, &b->top, &end, &u, space);
        b->results[i] = in_space(&p, u.buffer, space);
    }
}

/* ---- constants ------------------------------------------------------------------------------- */

size_t plan_place_constants(struct plan_buffer *v, uint32_t n) {
    size_t bytes = 0;
    for (uint32_t i = 0; i < n; i++) {
        struct plan_buffer *x = &v[i];
        if (x->place != PLAN_CONSTANT || x->space != PLAN_DEVICE)
            continue;
        x->offset = x->root == i ? bytes : v[x->root].offset + x->root_offset;
        if (x->root == i && (!mem_add(bytes, x->bytes, &bytes) || bytes > PTRDIFF_MAX - 64))
            return SIZE_MAX;
        bytes = (bytes + 63) & ~(size_t)63;
    }
    return bytes;
}
