/* Liveness over nested lists. One walk forward numbers the nodes and finds what each nested list reads before it writes it and
 * what it writes on every path; with that, one walk back finds the exact spans in which a root is needed, loops included: at
 * the end of a loop's body what its next iteration reads is live. A step whose results are unused is dropped. */
#include "plan/build.h"

#include <string.h>

/* ---- forward --------------------------------------------------------------------------------- */

/* A list, or the lists of a LOOP or BRANCH one after the other as parts 1, 2 … */
struct scope {
    uint32_t id, part;
    bool branch;             /* what an earlier part wrote is not written in this one */
    struct plan_node *node;  /* whose touches are kept; also of the whole program */
};

struct scan {
    struct plan_builder *b;
    uint32_t *scope, *slot;  /* by root: innermost scope that touched it, and its place there */
    uint32_t nscopes, position;
    hilo_status status;
};

static void scan_fail(struct scan *s, const struct plan_node *n, const char *what, uint32_t buffer) {
    if (s->status == HILO_OK)
        s->status = diag_error(s->b->d, HILO_INTERNAL, "step %u of the plan %s buffer %u", n->at, what, buffer);
}

static struct plan_touch *scan_touch(struct scan *s, struct scope *in, uint32_t root) {
    if (s->scope[root] != in->id) {
        struct plan_touch t = {.root = root, .outer_scope = s->scope[root], .outer_slot = s->slot[root]};
        s->scope[root] = in->id;
        s->slot[root] = in->node->touched.n;
        ARENA_PUSH(s->b->a, &in->node->touched, t);
    }
    return &in->node->touched.v[s->slot[root]];
}

static bool scan_defined(const struct scope *in, const struct plan_touch *t) {
    return in->branch ? t->def_in == in->part : t->ndefs != 0;
}

static void scan_read(struct scan *s, struct scope *in, uint32_t root) {
    struct plan_touch *t = scan_touch(s, in, root);
    if (!scan_defined(in, t))
        t->up = true;
}

static void scan_define(struct scan *s, struct scope *in, uint32_t root) {
    struct plan_touch *t = scan_touch(s, in, root);
    t->written = true;
    if (!scan_defined(in, t)) {
        t->ndefs++;
        t->def_in = in->part;
    }
}

static bool scan_check(struct scan *s, const struct plan_node *n, const struct plan_use *u) {
    if (u->buffer >= s->b->buffers.n) {
        scan_fail(s, n, "uses an unknown", u->buffer);
        return false;
    }
    enum plan_place place = plan_root_of(s->b, u->buffer)->place;
    if (u->role != PLAN_IN && place != PLAN_BLOCK && place != PLAN_VALUE && !(place == PLAN_INIT && n->init)) {
        scan_fail(s, n, "writes the argument or constant in", u->buffer);
        return false;
    }
    return place != PLAN_CONSTANT;
}

static void scan_step(struct scan *s, struct scope *in, struct plan_node *n) {
    const struct plan_buffer *v = s->b->buffers.v;
    for (uint32_t i = 0; i < n->nuses; i++)
        if (scan_check(s, n, &n->uses[i]) && n->uses[i].role != PLAN_OUT)
            scan_read(s, in, v[n->uses[i].buffer].root);
    for (uint32_t i = 0; i < n->nuses && s->status == HILO_OK; i++) {
        const struct plan_use *u = &n->uses[i];
        if (u->role == PLAN_OUT && plan_is_full(s->b, u->buffer))
            scan_define(s, in, v[u->buffer].root);
        else if (u->role != PLAN_IN)
            scan_touch(s, in, v[u->buffer].root)->written = true;
        if (n->kind == NODE_STEP && n->step == PLAN_COPY && i % 2 && v[u->buffer].bytes != v[n->uses[i - 1].buffer].bytes &&
            !plan_is_value(&v[u->buffer]) && !plan_is_value(&v[n->uses[i - 1].buffer]))
            scan_fail(s, n, "copies what has another size to", u->buffer);
    }
}

/* What a nested node does, to the scope around it. */
static void scan_leave(struct scan *s, struct scope *in, struct plan_node *n) {
    for (uint32_t i = 0; i < n->touched.n; i++) {
        struct plan_touch *t = &n->touched.v[i];
        s->scope[t->root] = t->outer_scope;
        s->slot[t->root] = t->outer_slot;
        t->def = n->kind == NODE_LOOP ? t->def_in == 1 : t->ndefs == n->lists.n;
        if (t->up)
            scan_read(s, in, t->root);
        if (t->def)
            scan_define(s, in, t->root);
        else if (t->written)
            scan_touch(s, in, t->root)->written = true;
        else
            scan_touch(s, in, t->root);
    }
}

static void scan_list(struct scan *s, struct scope *in, struct plan_list *list);

static void scan_nested(struct scan *s, struct scope *in, struct plan_node *n) {
    struct scope inner = {.id = ++s->nscopes, .branch = n->kind == NODE_BRANCH, .node = n};
    bool known = n->nuses && scan_check(s, n, &n->uses[0]);
    const struct plan_buffer *x = &s->b->buffers.v[known ? n->uses[0].buffer : 0];
    if (known && x->dtype != IR_I1_T && (n->kind == NODE_LOOP || x->dtype != IR_I32_T))
        scan_fail(s, n, "cannot decide by", n->uses[0].buffer);
    if (inner.branch && known)
        scan_read(s, in, x->root);
    for (uint32_t i = 0; i < n->lists.n && s->status == HILO_OK; i++) {
        inner.part = i + 1;
        scan_list(s, &inner, n->lists.v[i]);
        if (!inner.branch && known && i == 0)
            scan_read(s, &inner, x->root);
        for (uint32_t k = 0; k < n->lists.v[i]->nodes.n; k++)
            n->effect |= n->lists.v[i]->nodes.v[k]->effect;
    }
    n->end = s->position++;
    scan_leave(s, in, n);
}

static void scan_list(struct scan *s, struct scope *in, struct plan_list *list) {
    list->begin = s->position++;
    for (uint32_t i = 0; i < list->nodes.n && s->status == HILO_OK; i++) {
        struct plan_node *n = list->nodes.v[i];
        n->at = n->group && n != n->group->v[0] ? n->group->v[0]->at : s->position++;
        if (s->position > UINT32_MAX / 4)
            arena_exhausted(s->b->a);
        if (n->kind == NODE_LOOP || n->kind == NODE_BRANCH)
            scan_nested(s, in, n);
        else
            scan_step(s, in, n);
    }
    list->end = s->position++;
}

/* The program as one scope, whose arguments are there from the start. */
static hilo_status scan_program(struct plan_builder *b) {
    uint32_t n = b->buffers.n;
    struct plan_node program = {.kind = NODE_LOOP};
    struct scope all = {.id = 1, .part = 1, .node = &program};
    struct scan s = {.b = b, .scope = ARENA_ARRAY(b->a, uint32_t, n), .slot = ARENA_ARRAY(b->a, uint32_t, n), .nscopes = 1,
                     .position = 1};
    for (uint32_t i = 0; i < n; i++)
        if (b->buffers.v[i].place == PLAN_ARGUMENT && b->buffers.v[i].root == i)
            scan_define(&s, &all, i);
    scan_list(&s, &all, &b->top);
    for (uint32_t i = 0; i < b->nresults && s.status == HILO_OK; i++)
        scan_read(&s, &all, b->results[i]);
    for (uint32_t i = 0; i < program.touched.n && s.status == HILO_OK; i++)
        if (program.touched.v[i].up)
            s.status = diag_error(b->d, HILO_INTERNAL, "the plan reads buffer %u before it is written",
                                  program.touched.v[i].root);
    return s.status;
}

/* ---- back ------------------------------------------------------------------------------------ */

/* Spans of all roots, chained from the newest, which is the earliest, on. */
struct spans {
    struct { struct { struct plan_span span; uint32_t next; } *v; uint32_t n, cap; } all;
};

struct back {
    struct plan_builder *b;
    struct spans spans;
};

/* From this point on back the root is needed. */
static void back_need(struct back *w, uint32_t root, uint32_t point) {
    struct plan_root *r = &w->b->roots[root];
    if (!r->until && plan_root_of(w->b, root)->place != PLAN_CONSTANT)
        r->until = point;
}

/* Before this point it is not. */
static void back_close(struct back *w, uint32_t root, uint32_t point) {
    struct plan_root *r = &w->b->roots[root];
    if (!r->until)
        return;
    if (w->spans.all.n == w->spans.all.cap)
        w->spans.all.v = arena_grow(w->b->a, w->spans.all.v, w->spans.all.n, &w->spans.all.cap, sizeof *w->spans.all.v);
    w->spans.all.v[w->spans.all.n].span = (struct plan_span){point, r->until};
    w->spans.all.v[w->spans.all.n++].next = r->newest;
    r->newest = w->spans.all.n;
    r->nspans++;
    r->until = 0;
}

static void back_step(struct back *w, struct plan_node *n) {
    const struct plan_buffer *v = w->b->buffers.v;
    bool needed = n->effect;
    for (uint32_t i = 0; i < n->nuses; i++)
        needed |= n->uses[i].role != PLAN_IN && w->b->roots[v[n->uses[i].buffer].root].until;
    n->dead = !needed || n->kind == NODE_UNDEFINED;
    for (uint32_t i = 0; i < n->nuses && needed; i++) {
        uint32_t root = v[n->uses[i].buffer].root;
        if (n->uses[i].role != PLAN_IN)
            back_need(w, root, 2 * n->at + 1);
        if (n->uses[i].role == PLAN_OUT && plan_is_full(w->b, n->uses[i].buffer))
            back_close(w, root, 2 * n->at);
    }
    for (uint32_t i = 0; i < n->nuses && needed; i++)
        if (n->uses[i].role != PLAN_OUT)
            back_need(w, v[n->uses[i].buffer].root, 2 * n->at);
}

static void back_list(struct back *w, struct plan_list *list);

/* Lists of which one runs: what is needed after them is needed at the end of each. */
static void back_branch(struct back *w, struct plan_node *n) {
    struct plan_root *roots = w->b->roots;
    for (uint32_t i = 0; i < n->touched.n; i++) {
        struct plan_touch *t = &n->touched.v[i];
        t->live_out = roots[t->root].until != 0;
        t->live_in = t->live_out && n->lists.n == 0;
        back_close(w, t->root, 2 * n->end);
    }
    for (uint32_t k = n->lists.n; k-- > 0;) {
        struct plan_list *list = n->lists.v[k];
        for (uint32_t i = 0; i < n->touched.n; i++)
            if (n->touched.v[i].live_out)
                back_need(w, n->touched.v[i].root, 2 * list->end);
        back_list(w, list);
        for (uint32_t i = 0; i < n->touched.n; i++) {
            struct plan_touch *t = &n->touched.v[i];
            t->live_in |= roots[t->root].until != 0;
            back_close(w, t->root, 2 * list->begin);
        }
    }
    for (uint32_t i = 0; i < n->touched.n; i++)
        if (n->touched.v[i].live_in)
            back_need(w, n->touched.v[i].root, 2 * n->at + 1);
    back_need(w, w->b->buffers.v[n->uses[0].buffer].root, 2 * n->at);
}

/* The test, and, where it holds, the body and the test again. */
static void back_loop(struct back *w, struct plan_node *n) {
    struct plan_root *roots = w->b->roots;
    struct plan_list *test = n->lists.v[0], *body = n->lists.v[1];
    for (uint32_t i = 0; i < n->touched.n; i++) {
        struct plan_touch *t = &n->touched.v[i];
        t->live_out = roots[t->root].until != 0;
        t->live_in = t->up || (t->live_out && !t->def);
        back_close(w, t->root, 2 * n->end);
        if (t->live_in)
            back_need(w, t->root, 2 * body->end);
    }
    back_list(w, body);
    for (uint32_t i = 0; i < n->touched.n; i++) {
        struct plan_touch *t = &n->touched.v[i];
        bool live = t->live_out || roots[t->root].until;
        back_close(w, t->root, 2 * body->begin);
        if (live)
            back_need(w, t->root, 2 * test->end + 1);
    }
    if (n->nuses)
        back_need(w, w->b->buffers.v[n->uses[0].buffer].root, 2 * test->end);
    back_list(w, test);
    for (uint32_t i = 0; i < n->touched.n; i++) {
        uint32_t root = n->touched.v[i].root;
        bool live = roots[root].until != 0;
        back_close(w, root, 2 * test->begin);
        if (live)
            back_need(w, root, 2 * n->at);
    }
}

static void back_nested(struct back *w, struct plan_node *n) {
    bool needed = n->effect;
    for (uint32_t i = 0; i < n->touched.n; i++)
        needed |= n->touched.v[i].written && w->b->roots[n->touched.v[i].root].until;
    n->dead = !needed;
    if (!needed)
        return;
    if (n->kind == NODE_LOOP)
        back_loop(w, n);
    else
        back_branch(w, n);
}

static void back_list(struct back *w, struct plan_list *list) {
    for (uint32_t i = list->nodes.n; i-- > 0;) {
        struct plan_node *n = list->nodes.v[i];
        if (n->kind == NODE_LOOP || n->kind == NODE_BRANCH)
            back_nested(w, n);
        else
            back_step(w, n);
    }
}

/* A root's chain as an array; spans that follow without a point between become one. */
static void back_collect(struct back *w, struct plan_root *r) {
    struct plan_span *v = ARENA_ARRAY(w->b->a, struct plan_span, r->nspans);
    uint32_t n = 0;
    for (uint32_t at = r->newest; at; at = w->spans.all.v[at - 1].next) {
        struct plan_span s = w->spans.all.v[at - 1].span;
        if (n && s.begin <= v[n - 1].end + 1)
            v[n - 1].end = s.end > v[n - 1].end ? s.end : v[n - 1].end;
        else
            v[n++] = s;
    }
    r->own = r->spans = v;
    r->nown = r->nspans = n;
}

hilo_status plan_liveness(struct plan_builder *b) {
    HILO_TRY(scan_program(b));
    struct back w = {.b = b};
    b->roots = ARENA_ARRAY(b->a, struct plan_root, b->buffers.n);
    for (uint32_t i = 0; i < b->buffers.n; i++)
        b->roots[i] = (struct plan_root){.parent = i, .result = -1, .lender = -1};
    for (uint32_t i = 0; i < b->nresults; i++) {
        b->roots[b->results[i]].result = (int32_t)i;
        back_need(&w, b->results[i], 2 * b->top.end + 1);
    }
    back_list(&w, &b->top);
    for (uint32_t i = 0; i < b->buffers.n; i++) {
        back_close(&w, i, 0);
        back_collect(&w, &b->roots[i]);
    }
    return HILO_OK;
}
