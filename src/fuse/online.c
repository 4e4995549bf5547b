/* Rows in blocks of columns, after Milakov and Gimelshein, "Online normalizer calculation for softmax", 2018, and Dao et al.,
 * "FlashAttention", NeurIPS 2022.
 *
 * A row-wise kernel turns scores into weights, which are multiplied by the rows of another matrix and added up. All of this can
 * be done for a few columns at a time if
 *   - a weight is a term of its own score times something that is the same for the whole row, which can be applied to the sum
 *     of products instead (w = e / l is Σ e v / l), and
 *   - what is subtracted in exponentials (the reference) may be another number meanwhile: e^(s - r) = e^(s - q) e^(q - r), so
 *     that sums of them are multiplied by e^(q - r) when the running maximum grows from q to r.
 * Values are of four kinds: they depend on no score, on the score at their place (ELEMENT), on reductions of the row (ROW), or
 * on both (MIXED). */
#include "fuse/online.h"

enum kind { INDEPENDENT, ELEMENT, ROW, MIXED };

struct online {
    const struct ir_module *m;
    const struct fuse_kernel *k;
    const struct opt_ids *stored;
    ir_block block;
    ir_val scores;
    struct opt_sparse kinds; /* by value: 1 + enum kind */
    struct fuse_online *out;
};

static ir_op def_of(const struct online *s, ir_val v) {
    return ir_val_get(s->m, v)->op;
}

static bool is_kind(const struct online *s, ir_val v, enum ir_op_kind kind) {
    return !IR_NONE(def_of(s, v)) && ir_kind(s->m, def_of(s, v)) == kind;
}

static bool is_row_reduce(const struct online *s, ir_op op) {
    for (uint32_t i = 0; i < s->k->reduces.n; i++)
        if (IR_SAME(s->k->reduces.v[i], op))
            return true;
    return false;
}

/* Whether the kernel computes a value. */
static bool is_inside(const struct online *s, ir_val v) {
    ir_op op = def_of(s, v);
    return !IR_NONE(op) && IR_SAME(ir_op_get(s->m, op)->parent, s->block) && !fuse_is_constant(s->m, v) &&
           (!opt_ids_get(s->stored, v.i) || IR_SAME(v, s->k->outs.v[0]));
}

static enum kind kind_of(struct online *s, ir_val v) {
    uint32_t known = opt_sparse_get(&s->kinds, v.i);
    enum kind kind = INDEPENDENT;
    if (known)
        return (enum kind)(known - 1);
    if (IR_SAME(v, s->scores)) {
        kind = ELEMENT;
    } else if (is_inside(s, v) && is_row_reduce(s, def_of(s, v))) {
        kind = ROW;
    } else if (is_inside(s, v)) {
        bool element = false, row = false;
        for (uint32_t i = 0; i < ir_op_get(s->m, def_of(s, v))->noperands; i++) {
            enum kind k = kind_of(s, ir_operand(s->m, def_of(s, v), i));
            element |= k == ELEMENT || k == MIXED;
            row |= k == ROW || k == MIXED;
        }
        kind = element && row ? MIXED : element ? ELEMENT : row ? ROW : INDEPENDENT;
    }
    opt_sparse_set(&s->kinds, v.i, 1 + kind);
    return kind;
}

static bool is_zero(const struct online *s, ir_val v) {
    const struct ir_type_data *t = ir_val_type(s->m, v);
    if (!fuse_is_constant(s->m, v) || ir_dtype_get(t->dtype)->cls != IR_FLOAT)
        return false;
    const struct ir_attr_data *a = ir_attr_get(s->m, ir_constant_value(s->m, def_of(s, v)));
    return a->kind == IR_ATTR_DENSE && a->splat && a->data &&
           fp_decode(ir_dtype_get(t->dtype)->fp, fp_load(ir_dtype_get(t->dtype)->fp, a->data)) == 0;
}

/* The operand through which an op passes its term on, multiplied by something: the op's result is 0 where the term is 0, and
   linear in it. noperands = there is none. */
static uint32_t linear_operand(struct online *s, ir_op op) {
    uint32_t none = ir_op_get(s->m, op)->noperands;
    ir_val in[3] = {{0}};
    bool term[3] = {false}, mixed = false; /* term: depends on the score and passes it on */
    for (uint32_t i = 0; i < none && i < 3; i++) {
        in[i] = ir_operand(s->m, op, i);
        mixed |= kind_of(s, in[i]) == MIXED;
    }
    for (uint32_t i = 0; i < none && i < 3; i++)
        term[i] = kind_of(s, in[i]) == (mixed ? MIXED : ELEMENT);
    switch (ir_kind(s->m, op)) {
    case IR_DIVIDE:
        return term[0] && !term[1] ? 0 : none;
    case IR_MULTIPLY:
        return term[0] == term[1] ? none : term[1];
    case IR_SELECT:
        return mixed && term[0] ? none : term[1] && is_zero(s, in[2]) ? 1 : term[2] && is_zero(s, in[1]) ? 2 : none;
    case IR_CONVERT:
        return ir_dtype_get(ir_val_type(s->m, in[0])->dtype)->cls == IR_FLOAT &&
                       ir_dtype_get(ir_val_type(s->m, ir_result(s->m, op, 0))->dtype)->cls == IR_FLOAT
                   ? 0
                   : none;
    case IR_NEGATE:
    case IR_RESHAPE:
        return 0;
    default:
        return none;
    }
}

/* Whether all operands but one are the same for the whole row because reductions made them. */
static bool is_of_row(struct online *s, ir_op op, uint32_t but) {
    bool row = false;
    for (uint32_t i = 0; i < ir_op_get(s->m, op)->noperands; i++) {
        enum kind k = i == but ? INDEPENDENT : kind_of(s, ir_operand(s->m, op, i));
        if (k == ELEMENT)
            return false;
        row |= k == ROW;
    }
    return row;
}

/* Follows v down to the term that it is a multiple of: one that depends on its score alone, or the exponential of such a value
   minus the reference. With `steps` those between are noted, the last first; without, none of them may be of the row. */
static bool find_term(struct online *s, ir_val v, bool steps, ir_val *term, ir_val *reference) {
    struct fuse_online *o = s->out;
    *reference = (ir_val){0};
    for (;;) {
        *term = v;
        if (kind_of(s, v) != MIXED)
            return kind_of(s, v) == ELEMENT;
        ir_op op = def_of(s, v);
        if (ir_kind(s->m, op) == IR_EXPONENTIAL) {
            ir_val x = ir_operand(s->m, op, 0);
            if (!is_kind(s, x, IR_SUBTRACT) || kind_of(s, ir_operand(s->m, def_of(s, x), 0)) != ELEMENT)
                return false;
            *reference = ir_operand(s->m, def_of(s, x), 1);
            return kind_of(s, *reference) == ROW;
        }
        uint32_t operand = linear_operand(s, op);
        bool row = is_of_row(s, op, operand);
        if (operand == ir_op_get(s->m, op)->noperands || (row && !steps) || (steps && o->nsteps == FUSE_ONLINE_STEPS))
            return false;
        if (steps)
            o->steps[o->nsteps++] = (struct fuse_online_step){op, operand, row};
        v = ir_operand(s->m, op, operand);
    }
}

/* Whether v is computed from `from`, not counting what is computed by way of `but`. */
static bool depends(struct online *s, struct opt_sparse *seen, ir_val v, ir_val from, ir_val but) {
    if (IR_SAME(v, but) || IR_SAME(v, from))
        return !IR_SAME(v, but);
    if (opt_sparse_get(seen, v.i) || !is_inside(s, v))
        return false;
    opt_sparse_set(seen, v.i, 1);
    for (uint32_t i = 0; i < ir_op_get(s->m, def_of(s, v))->noperands; i++)
        if (depends(s, seen, ir_operand(s->m, def_of(s, v), i), from, but))
            return true;
    return false;
}

static bool add_reduce(struct online *s, ir_op op, ir_val *reference) {
    struct fuse_online *o = s->out;
    enum ir_op_kind by = fuse_reducer(s->m, op);
    ir_val v = ir_operand(s->m, op, 0), term;
    if (by == IR_OP_NONE || o->nreduces == FUSE_ONLINE_REDUCES)
        return false;
    *reference = (ir_val){0};
    if (kind_of(s, v) == MIXED || kind_of(s, v) == ROW)
        if (by != IR_ADD || !is_zero(s, ir_operand(s->m, op, 1)) || !find_term(s, v, false, &term, reference))
            return false;
    o->reduces[o->nreduces++] = (struct fuse_online_reduce){op, *reference};
    return true;
}

const struct fuse_online *fuse_online(struct arena *a, const struct ir_module *m, const struct fuse_kernel *kernel,
                                      ir_block block, const struct opt_ids *stored, ir_val scores) {
    struct fuse_online *o = ARENA_NEW(a, struct fuse_online);
    struct online s = {.m = m, .k = kernel, .stored = stored, .block = block, .scores = scores, .kinds = {.a = a}, .out = o};
    ir_val none = {0}, reference, references[FUSE_ONLINE_REDUCES + 1];
    uint32_t nreferences = 0;
    o->scores = scores;
    for (uint32_t i = kernel->reduces.n; i-- > 0;) {
        if (!add_reduce(&s, kernel->reduces.v[i], &reference))
            return NULL;
        if (!IR_NONE(reference))
            references[nreferences++] = reference;
    }
    if (!find_term(&s, kernel->outs.v[0], true, &o->term, &o->reference))
        return NULL;
    if (!IR_NONE(o->reference))
        references[nreferences++] = o->reference;
    for (uint32_t i = 0; i < o->nreduces && nreferences && IR_NONE(o->max); i++) {
        struct opt_sparse seen = {.a = a};
        ir_op op = o->reduces[i].op;
        if (fuse_reducer(m, op) == IR_MAXIMUM && kind_of(&s, ir_operand(m, op, 0)) == ELEMENT &&
            depends(&s, &seen, references[0], ir_result(m, op, 0), none))
            o->max = op;
    }
    if (nreferences && IR_NONE(o->max))
        return NULL;
    if (!IR_NONE(o->max)) { /* keep what it is the maximum of, if nothing else is made of the scores */
        ir_val kept = ir_operand(m, o->max, 0);
        struct opt_sparse seen = {.a = a};
        bool only = ir_dtype_get(ir_val_type(m, kept)->dtype)->cls == IR_FLOAT &&
                    !depends(&s, &seen, kernel->outs.v[0], scores, kept);
        for (uint32_t i = 0; i < o->nreduces && only; i++)
            only = !depends(&s, &seen, ir_operand(m, o->reduces[i].op, 0), scores, kept);
        o->scores = only ? kept : scores;
    }
    return o;
}
