/* Splitting merged dimensions, so that layouts of convolutions go through: see layout.h.
 *
 * Group norm is written on images whose features, rows and columns are reshaped to few long dimensions: [1, 32, 16, 16] as
 * [8, 1024]. Such a reshape needs its operand in row-major order. Elementwise ops and reductions of whole dimensions compute
 * the same on [8, 4, 16, 16], from which a reshape to [1, 32, 16, 16] only joins neighbours, whatever their order. So the
 * classes of elementwise ops that reshapes lead to from convolutions get the dimensions of all shapes that reshapes name. */
#include "opt/layout.h"

#include <string.h>

enum { SPLIT_DIMS = 8 /* of more than one element, that a class has in the end */ };

/* Of a class: the products of the sizes of its last dimensions, ascending, from 1 to the number of elements, each a divisor of
   the next. */
struct strides {
    int64_t v[SPLIT_DIMS + 1];
    uint32_t n; /* 0: there are too many */
    bool known, conv, fixed, split; /* fixed: it has ops that are about its dimensions */
};

struct split {
    struct layout *l;
    struct strides *of; /* by class */
    struct opt_ids back; /* by value of a class that is split: itself in the type that it had */
    struct { ir_val *v; uint32_t n, cap; } retyped;
    struct { uint32_t *v; uint32_t n, cap; } queue;
};

static void strides_of(const struct ir_type_data *t, struct strides *out) {
    int64_t product = 1;
    out->v[0] = 1;
    out->n = t->rank <= SPLIT_DIMS;
    for (uint32_t i = t->rank; i-- > 0 && out->n;)
        if (t->dims[i] != 1)
            out->v[out->n++] = product *= t->dims[i];
}

/* Adds the strides of `from`; false when nothing is new, or some do not divide each other. */
static bool add_strides(struct strides *to, const struct strides *from) {
    struct strides both = *to;
    both.n = 0;
    for (uint32_t i = 0, j = 0; i < to->n || j < from->n;) {
        int64_t next = j == from->n || (i < to->n && to->v[i] <= from->v[j]) ? to->v[i] : from->v[j];
        i += i < to->n && to->v[i] == next;
        j += j < from->n && from->v[j] == next;
        if (both.n > SPLIT_DIMS || (both.n && next % both.v[both.n - 1]))
            return false;
        both.v[both.n++] = next;
    }
    bool more = both.n > to->n;
    *to = both;
    return more;
}

/* The sizes that dimension `dim` of a type is split into. */
static uint32_t parts_of(const struct ir_type_data *t, const struct strides *s, uint32_t dim, int64_t *parts) {
    int64_t low = 1, high;
    uint32_t n = 0;
    for (uint32_t i = dim + 1; i < t->rank; i++)
        low *= t->dims[i];
    high = low * t->dims[dim];
    for (uint32_t i = s->n - 1; i > 0; i--)
        if (s->v[i] <= high && s->v[i - 1] >= low)
            parts[n++] = s->v[i] / s->v[i - 1];
    if (!n)
        parts[n++] = 1;
    return n;
}

static ir_type split_type(const struct split *x, ir_val v, uint32_t class) {
    const struct ir_type_data *t = ir_val_type(x->l->o->m, v);
    int64_t dims[2 * SPLIT_DIMS];
    uint32_t n = 0;
    for (uint32_t i = 0; i < t->rank; i++)
        n += parts_of(t, &x->of[class], i, dims + n);
    return ir_type_with_dims(x->l->o->m, ir_val_get(x->l->o->m, v)->type, dims, n);
}

/* The class of a value that is split; 0 = none. */
static uint32_t split_class(const struct split *x, ir_val v) {
    uint32_t c = layout_class_of(x->l, v);
    return c && x->of[c].split ? c : 0;
}

/* ---- what is split ----------------------------------------------------------------------------- */

/* An op's results are of a class that can be split: it computes element by element, or takes any shape for its result. */
static bool is_shapeless(const struct ir_module *m, ir_op op) {
    enum ir_op_kind kind = ir_kind(m, op);
    return kind == IR_RESHAPE || kind == IR_BROADCAST_IN_DIM ||
           (layout_role(m, op) == LAYOUT_SAME && ir_op_has(kind, IR_T_ELEMENTWISE));
}

static void survey(struct split *x, ir_block b) {
    const struct ir_module *m = x->l->o->m;
    for (ir_op op = ir_block_get(m, b)->first; !IR_NONE(op); op = ir_op_get(m, op)->next) {
        const struct ir_op_data *d = ir_op_get(m, op);
        bool fixed = !is_shapeless(m, op), conv = layout_role(m, op) == LAYOUT_CONV;
        for (uint32_t i = 0; i < d->nresults + (conv ? d->noperands : 0); i++) {
            ir_val v = i < d->nresults ? ir_result(m, op, i) : d->operands[i - d->nresults];
            uint32_t c = layout_class_of(x->l, v);
            if (!c)
                continue;
            if (!x->of[c].known)
                strides_of(ir_val_type(m, v), &x->of[c]);
            x->of[c].known = true;
            if (conv && !x->of[c].conv)
                ARENA_PUSH(&x->l->o->scratch, &x->queue, c);
            x->of[c].conv |= conv;
            x->of[c].fixed |= fixed;
        }
        for (uint32_t r = 0; r < d->nregions; r++)
            for (ir_block in = ir_region_get(m, ir_op_region(m, op, r))->first; !IR_NONE(in); in = ir_block_get(m, in)->next) {
                for (uint32_t i = 0; i < ir_block_get(m, in)->nargs; i++)
                    x->of[layout_class_of(x->l, ir_block_get(m, in)->args[i])].fixed = true;
                survey(x, in);
            }
    }
}

/* From the classes of convolutions through reshapes. */
static void spread(struct split *x) {
    struct layout *l = x->l;
    for (uint32_t i = 0; i < x->queue.n; i++) {
        uint32_t from = x->queue.v[i], to;
        for (uint32_t j = 0; layout_neighbour(l, from, IR_RESHAPE, &j, &to);)
            if (x->of[to].n && !x->of[to].fixed && add_strides(&x->of[to], &x->of[from])) {
                x->of[to].split = true;
                ARENA_PUSH(&l->o->scratch, &x->queue, to);
            }
    }
}

/* ---- splitting --------------------------------------------------------------------------------- */

static ir_val reshaped(struct split *x, ir_val v, ir_type type, ir_op before) {
    struct ir_module *m = x->l->o->m;
    const struct ir_op_data *like = ir_op_get(m, before);
    ir_op op = ir_op_new(m, IR_RESHAPE, &v, 1, &type, 1, 0);
    ir_set_loc(m, op, like->loc, like->line, like->col);
    ir_insert_before(m, before, op);
    return ir_result(m, op, 0);
}

/* A broadcast in the dimensions of a class that is split: operand and dimension numbers. */
static void split_broadcast(struct split *x, ir_op op, uint32_t class, ir_op before) {
    struct ir_module *m = x->l->o->m;
    ir_val v = ir_operand(m, op, 0);
    const struct ir_type_data *t = ir_val_type(m, v), *r = ir_val_type(m, ir_result(m, op, 0));
    int64_t first[SPLIT_DIMS], dims[2 * SPLIT_DIMS], sizes[2 * SPLIT_DIMS], parts[SPLIT_DIMS];
    uint32_t n = 0, at = 0, rank = t->rank;
    size_t count;
    const int64_t *d = ir_prop_i64s(m, op, IR_BROADCAST_IN_DIM_broadcast_dimensions, &count);
    for (uint32_t i = 0; i < r->rank; i++) {
        first[i] = at;
        at += parts_of(r, &x->of[class], i, parts);
    }
    for (uint32_t i = 0; i < rank; i++) {
        uint32_t k = t->dims[i] == 1 ? 1 : parts_of(r, &x->of[class], (uint32_t)d[i], parts);
        for (uint32_t j = 0; j < k; j++) {
            dims[n] = first[d[i]] + j;
            sizes[n++] = t->dims[i] == 1 ? 1 : parts[j];
        }
    }
    if (split_class(x, v) || n != rank)
        ir_set_operand(m, op, 0, reshaped(x, v, ir_type_with_dims(m, ir_val_get(m, v)->type, sizes, n), before));
    ir_set_prop(m, op, IR_BROADCAST_IN_DIM_broadcast_dimensions, ir_attr_i64s(m, dims, n));
}

/* A value that is not of the class, in its dimensions. */
static ir_val split_value(struct split *x, ir_val v, uint32_t class, ir_op user) {
    struct ir_module *m = x->l->o->m;
    ir_op op = ir_val_get(m, v)->op;
    ir_type type = split_type(x, v, class);
    if (!layout_is_free(m, v) || ir_kind(m, op) == IR_IOTA)
        return reshaped(x, v, type, user);
    bool constant = ir_kind(m, op) == IR_CONSTANT;
    const struct ir_attr_data *a = ir_attr_get(m, constant ? ir_constant_value(m, op) : (ir_attr){0});
    if (constant && (a->kind != IR_ATTR_DENSE || !a->splat))
        return reshaped(x, v, type, user);
    ir_op copy = opt_remake(x->l->o, op, ir_op_get(m, op)->operands, ir_op_get(m, op)->noperands, &type, 1);
    if (constant) {
        size_t bytes = ir_dtype_get(ir_type_get(m, type)->dtype)->bytes;
        ir_set_prop(m, copy, IR_CONSTANT_value, ir_attr_dense(m, type, a->data, bytes, /*splat=*/true, /*owned=*/false));
    }
    ir_insert_before(m, user, copy);
    if (!constant) {
        ir_set_type(m, ir_result(m, copy, 0), ir_val_get(m, v)->type);
        split_broadcast(x, copy, class, copy);
        ir_set_type(m, ir_result(m, copy, 0), type);
    }
    return ir_result(m, copy, 0);
}

/* The value in the type that it had. */
static ir_val joined(struct split *x, ir_val v) {
    struct ir_module *m = x->l->o->m;
    if (!split_class(x, v))
        return v;
    if (!opt_ids_get(&x->back, v.i)) /* right after it, for all uses */
        opt_ids_set(&x->back, v.i, reshaped(x, v, ir_val_get(m, v)->type, ir_op_get(m, ir_val_get(m, v)->op)->next).i);
    return (ir_val){opt_ids_get(&x->back, v.i)};
}

/* A reduction of whole dimensions, of which those that are kept are not split; false for others. */
static bool split_reduce(struct split *x, ir_op op) {
    struct ir_module *m = x->l->o->m;
    const struct ir_op_data *d = ir_op_get(m, op);
    uint32_t class = d->noperands == 2 ? split_class(x, d->operands[0]) : 0, at = 0, n = 0;
    if (ir_kind(m, op) != IR_REDUCE || !class)
        return false;
    const struct ir_type_data *t = ir_val_type(m, d->operands[0]);
    int64_t dims[2 * SPLIT_DIMS], parts[SPLIT_DIMS];
    size_t count;
    const int64_t *reduced = ir_prop_i64s(m, op, IR_REDUCE_dimensions, &count);
    for (uint32_t i = 0; i < t->rank; i++) {
        uint32_t k = parts_of(t, &x->of[class], i, parts);
        bool gone = false;
        for (size_t j = 0; j < count; j++)
            gone |= reduced[j] == i;
        if (!gone && k > 1)
            return false;
        for (uint32_t j = 0; j < k && gone; j++)
            dims[n++] = at + j;
        at += k;
    }
    ir_set_prop(m, op, IR_REDUCE_dimensions, ir_attr_i64s(m, dims, n));
    return true;
}

static void split_op(struct split *x, ir_op op) {
    struct ir_module *m = x->l->o->m;
    enum ir_op_kind kind = ir_kind(m, op);
    uint32_t noperands = ir_op_get(m, op)->noperands, nresults = ir_op_get(m, op)->nresults;
    uint32_t class = nresults ? split_class(x, ir_result(m, op, 0)) : 0;
    if (class)
        ARENA_PUSH(&x->l->o->scratch, &x->retyped, ir_result(m, op, 0));
    if (class && kind == IR_BROADCAST_IN_DIM) {
        split_broadcast(x, op, class, op);
        return;
    }
    if (kind == IR_RESHAPE || split_reduce(x, op))
        return;
    for (uint32_t i = 0; i < noperands; i++) {
        ir_val v = ir_operand(m, op, i);
        if (!class)
            ir_set_operand(m, op, i, joined(x, v));
        else if (ir_val_type(m, v)->rank && split_class(x, v) != class)
            ir_set_operand(m, op, i, split_value(x, v, class, op));
    }
}

static void split_block(struct split *x, ir_block b) {
    const struct ir_module *m = x->l->o->m;
    ir_op next;
    for (ir_op op = ir_block_get(m, b)->first; !IR_NONE(op); op = next) {
        next = ir_op_get(m, op)->next;
        for (uint32_t r = 0; r < ir_op_get(m, op)->nregions; r++)
            for (ir_block in = ir_region_get(m, ir_op_region(m, op, r))->first; !IR_NONE(in); in = ir_block_get(m, in)->next)
                split_block(x, in);
        split_op(x, op);
    }
}

bool layout_split(struct layout *l) {
    struct arena *a = &l->o->scratch;
    struct split x = {.l = l, .of = ARENA_ARRAY(a, struct strides, l->classes.n), .back = {.a = a}};
    memset(x.of, 0, l->classes.n * sizeof *x.of);
    survey(&x, ir_module_body(l->o->m));
    spread(&x);
    bool any = false;
    for (uint32_t i = 0; i < l->classes.n; i++)
        any |= x.of[i].split;
    if (!any)
        return false;
    split_block(&x, ir_module_body(l->o->m));
    for (uint32_t i = 0; i < x.retyped.n; i++)
        ir_set_type(l->o->m, x.retyped.v[i], split_type(&x, x.retyped.v[i], split_class(&x, x.retyped.v[i])));
    l->o->changes++;
    return true;
}
