/* The choice of layouts: see layout.h.
 *
 * Values that ops of role LAYOUT_SAME and LAYOUT_PASS join have one layout: they are a class. What a class costs in a layout
 * are the transposes at its edges: of arguments and other values that come as they are, of what ops read that take no other
 * layout, and by its links, views whose operand is in another class. A convolution that reads or writes a class costs what it
 * takes longer in that layout, or a transpose if that is less; one that may multiply planes is a link, since that depends on
 * the layouts of both its operand and its result. First a class tries the layouts that its convolutions ask for together with
 * all classes that its links lead to, each in the layout in which nothing is moved. Then class after class, those with most at
 * stake first, takes the cheapest of the layouts that its edges and links ask for, until none changes (iterated conditional
 * modes: Besag, "On the Statistical Analysis of Dirty Pictures", JRSS B 1986). */
#include "opt/layout.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    LAYOUT_ORDERS = 256, /* different ones in a program */
    LAYOUT_TRIED = 16,   /* for a class at a time */
    LAYOUT_SWEEPS = 6,
    LAYOUT_MOVES = 64,   /* how often each class may be a part of moves, on average */
    LAYOUT_TRIPS = 8     /* iterations of a loop whose trip count is not known */
};

/* A value of the class that costs `ns` in other layouts than `order`; where a convolution reads or makes it, in those that are
   not fast for that. */
struct layout_want {
    uint32_t next;
    ir_val v;
    layout_id order;
    double ns;
    ir_op conv; /* none for others */
    uint32_t which;
};

/* A view between classes, a convolution that may multiply planes, or an op of role LAYOUT_SAME in a class that orders elements.
   It is in the lists of both. */
struct layout_link {
    uint32_t next[2]; /* in the list of the operand's class, of the result's */
    uint32_t of[2];   /* the classes; 0 = the layout of the type */
    ir_op op;
    double times;
};

/* ---- layouts --------------------------------------------------------------------------------- */

static bool ascends(const int64_t *order, uint32_t rank) {
    for (uint32_t i = 0; i < rank; i++)
        if (order[i] != (int64_t)i)
            return false;
    return true;
}

layout_id layout_number(struct layout *l, const int64_t *order, uint32_t rank) {
    struct arena *a = &l->o->scratch;
    if (ascends(order, rank))
        return 0;
    for (uint32_t i = 1; i < l->orders.n; i++)
        if (l->orders.v[i].rank == rank && memcmp(l->orders.v[i].at, order, rank * sizeof *order) == 0)
            return i;
    if (l->orders.n >= LAYOUT_ORDERS)
        return LAYOUT_NONE;
    struct layout_order fresh = {rank, arena_dup(a, order, rank * sizeof *order, _Alignof(int64_t))};
    ARENA_PUSH(a, &l->orders, fresh);
    return l->orders.n - 1;
}

void layout_order(const struct layout *l, layout_id layout, uint32_t rank, int64_t *order) {
    for (uint32_t i = 0; i < rank; i++)
        order[i] = layout ? l->orders.v[layout].at[i] : (int64_t)i;
}

/* Of the dimensions of more than one element, the next one from *i on. */
static int64_t next_dim(const int64_t *order, const struct ir_type_data *t, uint32_t *i) {
    while (*i < t->rank && t->dims[order[*i]] == 1)
        ++*i;
    return *i < t->rank ? order[(*i)++] : -1;
}

static bool alike(const struct ir_type_data *t, const int64_t *a, const int64_t *b) {
    int64_t d, e;
    uint32_t i = 0, j = 0;
    do {
        d = next_dim(a, t, &i);
        e = next_dim(b, t, &j);
    } while (d >= 0 && d == e);
    return d == e;
}

bool layout_alike(const struct layout *l, const struct ir_type_data *t, layout_id a, layout_id b) {
    int64_t x[IR_MAX_RANK], y[IR_MAX_RANK];
    if (a == b)
        return true;
    layout_order(l, a, t->rank, x);
    layout_order(l, b, t->rank, y);
    return alike(t, x, y);
}

/* ---- classes --------------------------------------------------------------------------------- */

uint32_t layout_class_of(struct layout *l, ir_val v) {
    uint32_t c = opt_ids_get(&l->class_of, v.i);
    while (c && l->classes.v[c].up != c)
        c = l->classes.v[c].up = l->classes.v[l->classes.v[c].up].up;
    return c;
}

static void new_class(struct layout *l, ir_val v) {
    if (!layout_plain(l->o->m, v))
        return;
    struct layout_class c = {.up = l->classes.n, .rank = ir_val_type(l->o->m, v)->rank};
    ARENA_PUSH(&l->o->scratch, &l->classes, c);
    opt_ids_set(&l->class_of, v.i, c.up);
}

/* Both have one layout, if both have a choice. */
static void join(struct layout *l, ir_val a, ir_val b) {
    uint32_t x = layout_class_of(l, a), y = layout_class_of(l, b);
    if (x && y && l->classes.v[x].rank == l->classes.v[y].rank)
        l->classes.v[x > y ? x : y].up = x > y ? y : x;
}

static void find_classes(struct layout *l, ir_block b);

/* What an op of role LAYOUT_PASS joins: calls f for each value that belongs with result i. */
static void for_slot(struct layout *l, ir_op op, uint32_t i, void (*f)(struct layout *l, ir_val result, ir_val v, bool made)) {
    const struct ir_module *m = l->o->m;
    const struct ir_op_data *x = ir_op_get(m, op);
    ir_val result = ir_result(m, op, i);
    bool loop = ir_op_has((enum ir_op_kind)x->kind, IR_T_PREDICATE);
    if (loop || !x->nregions)
        f(l, result, x->operands[i], false);
    for (uint32_t r = 0; r < x->nregions; r++) {
        ir_block b = ir_region_get(m, ir_op_region(m, op, r))->first;
        if (loop)
            f(l, result, ir_block_get(m, b)->args[i], true);
        if (!loop || r > 0)
            f(l, result, ir_operand(m, ir_terminator(m, b), i), false);
    }
}

static void begin_slot(struct layout *l, ir_val result, ir_val v, bool made) {
    (void)result;
    if (made)
        new_class(l, v);
}

static void join_slot(struct layout *l, ir_val result, ir_val v, bool made) {
    (void)made;
    join(l, result, v);
}

static void classes_of_op(struct layout *l, ir_op op) {
    const struct ir_module *m = l->o->m;
    const struct ir_op_data *x = ir_op_get(m, op);
    enum layout_role role = layout_role(m, op);
    bool some = role != LAYOUT_FIXED && role != LAYOUT_FREE;
    for (uint32_t i = 0; i < x->nresults && some; i++) {
        new_class(l, ir_result(m, op, i));
        if (role == LAYOUT_PASS)
            for_slot(l, op, i, begin_slot);
    }
    for (uint32_t i = 0; i < x->nregions; i++)
        for (ir_block b = ir_region_get(m, ir_op_region(m, op, i))->first; !IR_NONE(b); b = ir_block_get(m, b)->next)
            find_classes(l, b);
    for (uint32_t i = 0; i < x->nresults && some; i++) {
        if (role == LAYOUT_PASS)
            for_slot(l, op, i, join_slot);
        else
            join(l, ir_result(m, op, 0), ir_result(m, op, i));
    }
    for (uint32_t i = 0; i < x->noperands && role == LAYOUT_SAME; i++)
        join(l, ir_result(m, op, 0), x->operands[i]);
    for (uint32_t i = 1; i < x->noperands && role == LAYOUT_VIEW; i++) /* the operands of a reduction */
        join(l, x->operands[0], x->operands[i]);
}

static void find_classes(struct layout *l, ir_block b) {
    for (ir_op op = ir_block_get(l->o->m, b)->first; !IR_NONE(op); op = ir_op_get(l->o->m, op)->next)
        classes_of_op(l, op);
}

/* ---- wants and links --------------------------------------------------------------------------- */

static void want(struct layout *l, uint32_t class, struct layout_want w) {
    if (!class || w.order == LAYOUT_NONE)
        return;
    w.ns *= l->times;
    w.next = l->classes.v[class].wants;
    l->classes.v[class].wants = l->wants.n;
    l->classes.v[class].ns += w.ns;
    ARENA_PUSH(&l->o->scratch, &l->wants, w);
}

/* The class needs the value in the layout of its type, or gets it so. Once for each. */
static void want_typed(struct layout *l, uint32_t class, ir_val v) {
    if (!class || opt_ids_get(&l->seen, v.i) == class || layout_is_free(l->o->m, v))
        return;
    opt_ids_set(&l->seen, v.i, class);
    want(l, class, (struct layout_want){.v = v, .ns = layout_transpose_ns(l->o->m, &l->target, v)});
}

static void link_classes(struct layout *l, ir_op op, uint32_t from, uint32_t to) {
    if (!from && !to)
        return;
    struct layout_link k = {{l->classes.v[from].links, l->classes.v[to].links}, {from, to}, op, l->times};
    double ns = l->times * layout_transpose_ns(l->o->m, &l->target, ir_operand(l->o->m, op, 0));
    l->classes.v[from].links = l->classes.v[to].links = l->links.n;
    l->classes.v[from].ns += ns;
    l->classes.v[to].ns += ns;
    ARENA_PUSH(&l->o->scratch, &l->links, k);
}

/* What a convolution takes longer, or a transpose if that is less. */
static double conv_ns(const struct layout *l, ir_op op, uint32_t which) {
    const struct ir_module *m = l->o->m;
    ir_val v = which < 2 ? ir_operand(m, op, which) : ir_result(m, op, 0);
    return fmin(layout_conv_ns(m, &l->target, op, which), layout_transpose_ns(m, &l->target, v));
}

/* A convolution that may multiply planes does so where both the operand and the result keep their layouts. */
static void conv_wants(struct layout *l, ir_op op) {
    struct ir_module *m = l->o->m;
    int64_t order[IR_MAX_RANK];
    bool planes = layout_multiplies_planes(m, &l->target, op);
    if (planes)
        link_classes(l, op, layout_class_of(l, ir_operand(m, op, 0)), layout_class_of(l, ir_result(m, op, 0)));
    for (uint32_t which = 0; which < 3; which++) {
        if (planes && which != 1)
            continue;
        ir_val v = which < 2 ? ir_operand(m, op, which) : ir_result(m, op, 0);
        layout_conv_order(m, op, which, order);
        want(l, layout_class_of(l, v),
             (struct layout_want){.v = v, .order = layout_number(l, order, ir_val_type(m, v)->rank), .conv = op, .which = which,
                                  .ns = conv_ns(l, op, which)});
    }
}

static void find_wants(struct layout *l, ir_block b);

static void want_slot(struct layout *l, ir_val result, ir_val v, bool made) {
    (void)made;
    if (!layout_class_of(l, v))
        want_typed(l, layout_class_of(l, result), v);
    else if (!layout_class_of(l, result))
        want_typed(l, layout_class_of(l, v), v);
}

static double trips(const struct ir_module *m, ir_op op) {
    uint64_t n;
    if (!ir_op_has(ir_kind(m, op), IR_T_CONTROL) || !ir_op_has(ir_kind(m, op), IR_T_PREDICATE))
        return 1;
    return opt_trip_count(m, op, &n) ? (double)n : LAYOUT_TRIPS;
}

static void wants_of_op(struct layout *l, ir_op op) {
    const struct ir_module *m = l->o->m;
    const struct ir_op_data *x = ir_op_get(m, op);
    enum layout_role role = layout_role(m, op);
    uint32_t to = x->nresults ? layout_class_of(l, ir_result(m, op, 0)) : 0;
    if (role == LAYOUT_CONV)
        conv_wants(l, op);
    else if (role == LAYOUT_VIEW && !layout_is_free(m, x->operands[0]))
        link_classes(l, op, layout_class_of(l, x->operands[0]), to);
    else if (role == LAYOUT_SAME && ir_op_has((enum ir_op_kind)x->kind, IR_T_REDUCTION))
        link_classes(l, op, 0, to);
    for (uint32_t i = 0; i < x->noperands; i++) {
        uint32_t own = layout_class_of(l, x->operands[i]);
        if (role == LAYOUT_FIXED)
            want_typed(l, own, x->operands[i]);
        else if (role == LAYOUT_SAME && !own && ir_val_type(m, x->operands[i])->rank)
            want_typed(l, to, x->operands[i]);
        else if (role == LAYOUT_VIEW && i && i < x->noperands / 2 && !own)
            want_typed(l, layout_class_of(l, x->operands[0]), x->operands[i]);
    }
    for (uint32_t i = 0; i < x->nresults && role == LAYOUT_PASS; i++)
        for_slot(l, op, i, want_slot);
    double outside = l->times;
    l->times *= trips(m, op);
    for (uint32_t i = 0; i < x->nregions; i++)
        for (ir_block b = ir_region_get(m, ir_op_region(m, op, i))->first; !IR_NONE(b); b = ir_block_get(m, b)->next)
            find_wants(l, b);
    l->times = outside;
}

static void find_wants(struct layout *l, ir_block b) {
    const struct ir_module *m = l->o->m;
    ir_op end = ir_terminator(m, b), parent = ir_region_get(m, ir_block_get(m, b)->parent)->parent;
    for (ir_op op = ir_block_get(m, b)->first; !IR_NONE(op); op = ir_op_get(m, op)->next)
        if (!IR_SAME(op, end) || layout_role(m, parent) != LAYOUT_PASS) /* what such an op's regions return is its slots' */
            wants_of_op(l, op);
}

/* ---- the choice ------------------------------------------------------------------------------ */

static layout_id layout_of(const struct layout *l, uint32_t class) {
    return class ? l->classes.v[class].layout : 0;
}

/* What a convolution that may multiply planes takes longer where it does not: no convolution does of features side by side. */
static double planes_ns(const struct layout *l, ir_op op, const int64_t *from, const int64_t *to) {
    return (layout_conv_fits(l->o->m, op, 0, from) ? 0 : conv_ns(l, op, 0)) +
           (layout_conv_fits(l->o->m, op, 2, to) ? 0 : conv_ns(l, op, 2));
}

/* What is moved at a link. */
static double link_ns(const struct layout *l, const struct layout_link *k, layout_id from, layout_id to) {
    const struct ir_module *m = l->o->m;
    ir_val operand = ir_operand(m, k->op, 0), result = ir_result(m, k->op, 0);
    const struct ir_type_data *a = ir_val_type(m, operand), *b = ir_val_type(m, result);
    int64_t x[IR_MAX_RANK], y[IR_MAX_RANK], z[IR_MAX_RANK];
    if (layout_role(m, k->op) == LAYOUT_SAME)
        from = to;
    layout_order(l, from, a->rank, x);
    if (layout_reorders(m, k->op, x))
        return INFINITY;
    if (layout_role(m, k->op) == LAYOUT_SAME)
        return 0;
    layout_order(l, to, b->rank, y);
    if (layout_role(m, k->op) == LAYOUT_CONV)
        return from || to ? planes_ns(l, k->op, x, y) : 0;
    if (layout_forward(m, k->op, x, z))
        return alike(b, y, z) ? 0 : layout_transpose_ns(m, &l->target, result);
    if (layout_backward(m, k->op, y, z)) /* a broadcast, which reads one element for many; or a reshape to a vector */
        return alike(a, x, z) ? 0 : layout_transpose_ns(m, &l->target, operand);
    return (from ? layout_transpose_ns(m, &l->target, operand) : 0) + (to ? layout_transpose_ns(m, &l->target, result) : 0);
}

static double wants_ns(const struct layout *l, uint32_t class, layout_id layout) {
    int64_t order[IR_MAX_RANK];
    double sum = 0;
    for (uint32_t i = l->classes.v[class].wants; i; i = l->wants.v[i].next) {
        const struct layout_want *w = &l->wants.v[i];
        layout_order(l, layout, l->classes.v[class].rank, order);
        bool fits = IR_NONE(w->conv) ? layout_alike(l, ir_val_type(l->o->m, w->v), w->order, layout)
                                     : layout_conv_fits(l->o->m, w->conv, w->which, order);
        sum += fits ? 0 : w->ns;
    }
    return sum;
}

static double class_ns(const struct layout *l, uint32_t class, layout_id layout) {
    double sum = wants_ns(l, class, layout);
    for (uint32_t i = l->classes.v[class].links, next; i; i = next) {
        const struct layout_link *k = &l->links.v[i];
        next = k->next[k->of[0] != class];
        sum += k->times * link_ns(l, k, k->of[0] == class ? layout : layout_of(l, k->of[0]),
                                  k->of[1] == class ? layout : layout_of(l, k->of[1]));
    }
    return sum;
}

struct choice {
    layout_id tried[LAYOUT_TRIED], best;
    uint32_t n;
    double ns;
};

static void try_layout(const struct layout *l, uint32_t class, layout_id layout, struct choice *c) {
    for (uint32_t i = 0; i < c->n; i++)
        if (c->tried[i] == layout)
            return;
    if (layout == LAYOUT_NONE || c->n == LAYOUT_TRIED)
        return;
    c->tried[c->n++] = layout;
    double ns = class_ns(l, class, layout);
    if (c->n == 1 || ns < c->ns) {
        c->best = layout;
        c->ns = ns;
    }
}

/* The layout of the class in which the link moves nothing. */
static layout_id linked_layout(struct layout *l, const struct layout_link *k, uint32_t class) {
    const struct ir_module *m = l->o->m;
    uint32_t ra = ir_val_type(m, ir_operand(m, k->op, 0))->rank, rb = ir_val_type(m, ir_result(m, k->op, 0))->rank;
    int64_t x[IR_MAX_RANK], y[IR_MAX_RANK];
    enum layout_role role = layout_role(m, k->op);
    if ((role != LAYOUT_VIEW && role != LAYOUT_CONV) || k->of[0] == k->of[1])
        return LAYOUT_NONE;
    if (role == LAYOUT_CONV) {
        layout_conv_order(m, k->op, k->of[0] == class ? 0 : 2, x);
        return layout_of(l, k->of[k->of[0] == class]) ? layout_number(l, x, ra) : 0;
    }
    if (k->of[0] == class) {
        layout_order(l, layout_of(l, k->of[1]), rb, y);
        return layout_backward(m, k->op, y, x) ? layout_number(l, x, ra) : LAYOUT_NONE;
    }
    layout_order(l, layout_of(l, k->of[0]), ra, x);
    return layout_forward(m, k->op, x, y) ? layout_number(l, y, rb) : LAYOUT_NONE;
}

/* ---- moves of several classes ------------------------------------------------------------------ */

struct moved_class {
    uint32_t class;
    layout_id before, after;
};

struct move {
    struct moved_class *v;
    uint32_t n, cap;
};

static void move_class(struct layout *l, struct move *x, uint32_t class, layout_id layout) {
    struct layout_class *c = &l->classes.v[class];
    c->move = l->moves;
    ARENA_PUSH(&l->o->scratch, x, ((struct moved_class){class, c->layout, layout}));
    c->layout = layout;
}

/* All that the classes of a move cost, links between them once. */
static double move_ns(const struct layout *l, const struct move *x) {
    double sum = 0;
    for (uint32_t i = 0; i < x->n; i++) {
        uint32_t class = x->v[i].class;
        sum += wants_ns(l, class, layout_of(l, class));
        for (uint32_t j = l->classes.v[class].links, next; j; j = next) {
            const struct layout_link *k = &l->links.v[j];
            bool second = k->of[0] != class, counted = second && k->of[0] && l->classes.v[k->of[0]].move == l->moves;
            next = k->next[second];
            sum += counted ? 0 : k->times * link_ns(l, k, layout_of(l, k->of[0]), layout_of(l, k->of[1]));
        }
    }
    return sum;
}

static void move_set(struct layout *l, const struct move *x, bool after) {
    for (uint32_t i = 0; i < x->n; i++)
        l->classes.v[x->v[i].class].layout = after ? x->v[i].after : x->v[i].before;
}

/* Gives the class a layout, and those that its links lead to the ones that follow, if that costs less in all. */
static void try_move(struct layout *l, struct move *x, uint32_t class, layout_id layout) {
    x->n = 0;
    l->moves++;
    move_class(l, x, class, layout);
    for (uint32_t i = 0; i < x->n; i++) {
        uint32_t from = x->v[i].class;
        for (uint32_t j = l->classes.v[from].links, next; j; j = next) {
            const struct layout_link *k = &l->links.v[j];
            uint32_t to = k->of[k->of[0] == from];
            next = k->next[k->of[0] != from];
            layout_id follows = to && l->classes.v[to].move != l->moves ? linked_layout(l, k, to) : LAYOUT_NONE;
            l->work -= l->work > 0;
            if (follows != LAYOUT_NONE && follows != l->classes.v[to].layout)
                move_class(l, x, to, follows);
        }
    }
    double after = move_ns(l, x);
    move_set(l, x, false);
    if (after < move_ns(l, x))
        move_set(l, x, true);
}

static void try_moves(struct layout *l, struct move *x, uint32_t class) {
    for (uint32_t i = l->classes.v[class].wants; i && l->work > 0; i = l->wants.v[i].next)
        if (l->wants.v[i].order != l->classes.v[class].layout)
            try_move(l, x, class, l->wants.v[i].order);
}

/* ---- all --------------------------------------------------------------------------------------- */

/* Whether another layout was chosen. */
static bool choose(struct layout *l, uint32_t class) {
    struct layout_class *c = &l->classes.v[class];
    struct choice x = {.n = 0};
    try_layout(l, class, c->layout, &x);
    try_layout(l, class, 0, &x);
    for (uint32_t i = c->wants; i; i = l->wants.v[i].next)
        try_layout(l, class, l->wants.v[i].order, &x);
    for (uint32_t i = c->links; i; i = l->links.v[i].next[l->links.v[i].of[0] != class])
        try_layout(l, class, linked_layout(l, &l->links.v[i], class), &x);
    for (uint32_t i = c->wants; i; i = l->wants.v[i].next) /* of those that are alike, the one that a convolution names */
        if (!IR_NONE(l->wants.v[i].conv) &&
            layout_alike(l, ir_val_type(l->o->m, l->wants.v[i].v), x.best, l->wants.v[i].order)) {
            x.best = l->wants.v[i].order;
            break;
        }
    bool changed = x.best != c->layout;
    c->layout = x.best;
    return changed;
}

/* Those with most at stake first, which the others then follow. */
static int compare(const void *a, const void *b) {
    const struct layout_class *const *x = a, *const *y = b;
    return (*x)->ns != (*y)->ns ? ((*x)->ns < (*y)->ns) - ((*x)->ns > (*y)->ns) : ((*x)->up > (*y)->up) - ((*x)->up < (*y)->up);
}

void layout_find(struct layout *l) {
    const struct ir_module *m = l->o->m;
    struct arena *a = &l->o->scratch;
    l->class_of = l->seen = (struct opt_ids){.a = a};
    l->orders.n = l->classes.n = l->wants.n = l->links.n = 0;
    l->times = 1;
    ARENA_PUSH(a, &l->orders, (struct layout_order){0});
    ARENA_PUSH(a, &l->classes, (struct layout_class){0});
    ARENA_PUSH(a, &l->wants, (struct layout_want){0});
    ARENA_PUSH(a, &l->links, (struct layout_link){0});
    find_classes(l, ir_module_body(m));
    find_wants(l, ir_module_body(m));
}

bool layout_neighbour(const struct layout *l, uint32_t class, enum ir_op_kind kind, uint32_t *link, uint32_t *to) {
    const struct layout_link *k = &l->links.v[*link];
    do {
        *link = *link ? k->next[k->of[0] != class] : l->classes.v[class].links;
        k = &l->links.v[*link];
        *to = k->of[k->of[0] == class];
    } while (*link && (!*to || ir_kind(l->o->m, k->op) != kind));
    return *link != 0;
}

void layout_choose(struct layout *l) {
    struct arena *a = &l->o->scratch;
    const struct layout_class **order = ARENA_ARRAY(a, const struct layout_class *, l->classes.n);
    uint32_t n = 0;
    for (uint32_t i = 1; i < l->classes.n; i++)
        if (l->classes.v[i].up == i)
            order[n++] = &l->classes.v[i];
    qsort(order, n, sizeof *order, compare);
    struct move move = {NULL, 0, 0};
    l->work = (uint64_t)LAYOUT_MOVES * n;
    for (uint32_t i = 0; i < n; i++)
        try_moves(l, &move, order[i]->up);
    bool changed = true;
    for (int sweep = 0; sweep < LAYOUT_SWEEPS && changed; sweep++) {
        changed = false;
        for (uint32_t i = 0; i < n; i++)
            changed |= choose(l, order[i]->up);
    }
}

layout_id layout_chosen(const struct layout *l, ir_val v) {
    uint32_t c = opt_ids_get(&l->class_of, v.i);
    while (c && l->classes.v[c].up != c)
        c = l->classes.v[c].up;
    return layout_of(l, c);
}
