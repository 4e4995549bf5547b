/* The engine of the rules, and what they look at and change programs with. See rules.h. */
#include "opt/rules.h"

#include <math.h>

/* ---- the tables ------------------------------------------------------------------------------ */

static const struct opt_rule_info infos[] = {
#define RULE(pass, name, root, class, text) {#name, text, OPT_PASS_##pass, IR_##root, OPT_##class},
#include "opt/rules.def"
};

static opt_rule *const functions[] = {
#define RULE(pass, name, root, class, text) opt_rule_##name,
#include "opt/rules.def"
};

const struct opt_rule_info *opt_rule_get(size_t i) {
    return i < OPT_RULE_COUNT ? &infos[i] : NULL;
}

/* ---- looking --------------------------------------------------------------------------------- */

bool rules_static(const struct rules *r, ir_val v) {
    size_t n;
    const struct ir_type_data *t = rules_shape(r, v);
    return t->kind == IR_TYPE_TENSOR && ir_type_is_static(t) && ir_type_bytes(t, &n);
}

ir_op rules_def(const struct rules *r, ir_val v, enum ir_op_kind kind) {
    ir_op op = ir_val_get(r->m, v)->op;
    return !IR_NONE(op) && ir_kind(r->m, op) == kind ? op : (ir_op){0};
}

static bool integer_class(enum ir_dtype_class c) {
    return c == IR_PRED || c == IR_SINT || c == IR_UINT;
}

static enum ir_dtype_class class_of(const struct rules *r, ir_val v) {
    return ir_dtype_get(rules_shape(r, v)->dtype)->cls;
}

bool rules_is_integer(const struct rules *r, ir_val v) {
    return integer_class(class_of(r, v));
}

bool rules_is_float(const struct rules *r, ir_val v) {
    return class_of(r, v) == IR_FLOAT;
}

static const struct ir_attr_data *constant_of(const struct ir_module *m, ir_val v) {
    ir_op op = ir_val_get(m, v)->op;
    if (IR_NONE(op) || ir_kind(m, op) != IR_CONSTANT)
        return NULL;
    const struct ir_attr_data *a = ir_attr_get(m, ir_prop(m, op, IR_CONSTANT_value));
    return a->kind == IR_ATTR_DENSE && a->nbytes ? a : NULL;
}

const struct ir_attr_data *rules_constant(const struct rules *r, ir_val v) {
    return constant_of(r->m, v);
}

/* The bits of the element that all elements of a constant are; real numbers only. */
static bool splat_bits(const struct ir_module *m, ir_val v, uint64_t *out) {
    const struct ir_attr_data *a = constant_of(m, v);
    const struct ir_dtype_info *t = ir_dtype_get(ir_val_type(m, v)->dtype);
    if (!a || !a->splat || t->bytes > 8)
        return false;
    uint64_t bits = 0;
    memcpy(&bits, a->data, t->bytes);
    *out = t->bits < 64 ? bits & ((UINT64_C(1) << t->bits) - 1) : bits;
    return true;
}

bool opt_integer(const struct ir_module *m, ir_val v, int64_t *out) {
    const struct ir_dtype_info *t = ir_dtype_get(ir_val_type(m, v)->dtype);
    uint64_t bits;
    if (!integer_class(t->cls) || !splat_bits(m, v, &bits))
        return false;
    if (t->cls == IR_SINT && t->bits < 64 && bits >> (t->bits - 1))
        bits |= ~UINT64_C(0) << t->bits;
    *out = (int64_t)bits;
    return true;
}

bool rules_integer(const struct rules *r, ir_val v, int64_t *out) {
    return opt_integer(r->m, v, out);
}

bool rules_float(const struct rules *r, ir_val v, double *out) {
    const struct ir_dtype_info *t = ir_dtype_get(rules_shape(r, v)->dtype);
    uint64_t bits;
    if (t->cls != IR_FLOAT || !splat_bits(r->m, v, &bits))
        return false;
    *out = fp_decode(t->fp, bits);
    return true;
}

bool rules_integers(const struct rules *r, ir_val v, int64_t *out, size_t n) {
    const struct ir_attr_data *a = rules_constant(r, v);
    const struct ir_dtype_info *t = ir_dtype_get(rules_shape(r, v)->dtype);
    size_t count;
    if (!ir_type_count(rules_shape(r, v), &count) || count != n)
        return false;
    if (n && (!a || (t->cls != IR_SINT && t->cls != IR_UINT && t->cls != IR_INDEX_CLASS)))
        return false;
    for (size_t i = 0; i < n; i++) {
        uint64_t bits = 0;
        memcpy(&bits, (const char *)a->data + (a->splat ? 0 : i * t->bytes), t->bytes);
        if (t->cls != IR_UINT && t->bits < 64 && bits >> (t->bits - 1) & 1)
            bits |= ~UINT64_C(0) << t->bits;
        out[i] = (int64_t)bits;
    }
    return true;
}

enum ir_op_kind rules_reducer(const struct rules *r, ir_op reduce) {
    ir_block b = ir_region_get(r->m, ir_op_region(r->m, reduce, 0))->first;
    const struct ir_block_data *d = ir_block_get(r->m, b);
    ir_op end = ir_terminator(r->m, b), op = d->first;
    if (d->nargs != 2 || IR_SAME(op, end) || !IR_SAME(ir_op_get(r->m, op)->next, end) ||
        !ir_op_has(ir_kind(r->m, op), IR_T_ASSOCIATIVE) || !IR_SAME(rules_in(r, end, 0), ir_result(r->m, op, 0)) ||
        !(rules_is_integer(r, d->args[0]) || rules_is_float(r, d->args[0])))
        return IR_OP_NONE;
    ir_val x = rules_in(r, op, 0), y = rules_in(r, op, 1);
    bool both = (IR_SAME(x, d->args[0]) && IR_SAME(y, d->args[1])) || (IR_SAME(x, d->args[1]) && IR_SAME(y, d->args[0]));
    return both ? ir_kind(r->m, op) : IR_OP_NONE;
}

static bool integer_is(const struct ir_dtype_info *t, uint64_t bits, enum rules_number what) {
    uint64_t ones = ~UINT64_C(0) >> (64 - t->bits), sign = t->cls == IR_SINT ? ones ^ ones >> 1 : 0;
    switch (what) {
    case RULES_ZERO:
    case RULES_MINUS_ZERO: return bits == 0;
    case RULES_ONE: return bits == 1;
    case RULES_TWO: return bits == 2;
    case RULES_ONES: return bits == ones;
    case RULES_LEAST: return bits == sign;
    case RULES_GREATEST: return bits == (ones ^ sign);
    }
    return false;
}

static bool float_is(enum fp_kind kind, uint64_t bits, enum rules_number what) {
    const struct fp_info *f = fp_get(kind);
    double x = fp_decode(kind, bits);
    switch (what) {
    case RULES_ZERO: return x == 0 && !(bits & f->sign);
    case RULES_MINUS_ZERO: return x == 0 && bits & f->sign;
    case RULES_ONE: return x == 1;
    case RULES_TWO: return x == 2;
    case RULES_ONES: return false;
    case RULES_LEAST: return x == -(double)INFINITY;
    case RULES_GREATEST: return x == (double)INFINITY;
    }
    return false;
}

bool rules_is(const struct rules *r, ir_val v, enum rules_number what) {
    const struct ir_dtype_info *t = ir_dtype_get(rules_shape(r, v)->dtype);
    uint64_t bits;
    if (!splat_bits(r->m, v, &bits))
        return false;
    if (t->cls == IR_FLOAT)
        return float_is(t->fp, bits, what);
    return rules_is_integer(r, v) && integer_is(t, bits, what);
}

/* ---- changing -------------------------------------------------------------------------------- */

bool rules_become(struct rules *r, ir_op op, ir_val v) {
    if (!IR_SAME(rules_type(r, v), rules_result(r, op)))
        return false;
    opt_replace(&r->map, op, &v);
    return true;
}

ir_op rules_make(struct rules *r, ir_op at, enum ir_op_kind kind, const ir_val *operands, uint32_t n, ir_type result) {
    const struct ir_op_data *x = ir_op_get(r->m, at);
    ir_op op = ir_op_new(r->m, kind, operands, n, &result, 1, 0);
    ir_set_loc(r->m, op, x->loc, x->line, x->col);
    ir_insert_before(r->m, at, op);
    return op;
}

ir_op rules_become_op(struct rules *r, ir_op op, enum ir_op_kind kind, const ir_val *operands, uint32_t n) {
    ir_op fresh = rules_make(r, op, kind, operands, n, rules_result(r, op));
    ir_val v = ir_result(r->m, fresh, 0);
    ir_set_attrs(r->m, fresh, ir_op_get(r->m, op)->attrs);
    opt_replace(&r->map, op, &v);
    return fresh;
}

void rules_cast(struct rules *r, ir_op op, ir_op fresh) {
    uint32_t n = ir_op_get(r->m, op)->nresults;
    ir_val *values = ARENA_ARRAY(&r->o->scratch, ir_val, n + 1);
    for (uint32_t i = 0; i < n; i++) {
        ir_type old = rules_type(r, ir_result(r->m, op, i));
        values[i] = ir_result(r->m, fresh, i);
        if (!IR_SAME(rules_type(r, values[i]), old))
            values[i] = ir_result(r->m, rules_make(r, op, IR_TENSOR_CAST, &values[i], 1, old), 0);
    }
    opt_replace(&r->map, op, values);
}

ir_op rules_make_reduce(struct rules *r, ir_op at, enum ir_op_kind kind, const ir_val in[2], ir_type result) {
    const struct ir_op_data *x = ir_op_get(r->m, at);
    ir_type scalar = rules_type(r, in[1]);
    ir_op op = ir_op_new(r->m, IR_REDUCE, in, 2, &result, 1, 1);
    ir_set_loc(r->m, op, x->loc, x->line, x->col);
    ir_insert_before(r->m, at, op);
    ir_block b = ir_block_new(r->m, ir_op_region(r->m, op, 0));
    ir_val args[2] = {ir_block_add_arg(r->m, b, scalar), ir_block_add_arg(r->m, b, scalar)};
    ir_op step = ir_op_new(r->m, kind, args, 2, &scalar, 1, 0);
    ir_append(r->m, b, step);
    ir_val sum = ir_result(r->m, step, 0);
    ir_append(r->m, b, ir_op_new(r->m, IR_RETURN, &sum, 1, NULL, 0, 0));
    return op;
}

ir_val rules_make_splat(struct rules *r, ir_op at, ir_type type, const void *elem) {
    ir_op op = rules_make(r, at, IR_CONSTANT, NULL, 0, type);
    size_t size = ir_dtype_get(ir_type_get(r->m, type)->dtype)->bytes;
    ir_set_prop(r->m, op, IR_CONSTANT_value, ir_attr_dense(r->m, type, elem, size, /*splat=*/true, /*owned=*/false));
    return ir_result(r->m, op, 0);
}

ir_val rules_make_float(struct rules *r, ir_op at, ir_type type, double v) {
    uint64_t bits = fp_encode(ir_dtype_get(ir_type_get(r->m, type)->dtype)->fp, v);
    return rules_make_splat(r, at, type, &bits);
}

bool rules_become_splat(struct rules *r, ir_op op, const void *elem) {
    if (!rules_static(r, ir_result(r->m, op, 0)))
        return false;
    return rules_become(r, op, rules_make_splat(r, op, rules_result(r, op), elem));
}

bool rules_become_zero(struct rules *r, ir_op op) {
    static const char zeros[16];
    return rules_become_splat(r, op, zeros);
}

/* ---- the walk -------------------------------------------------------------------------------- */

static bool quantised(const struct rules *r, ir_op op) {
    const struct ir_op_data *x = ir_op_get(r->m, op);
    for (uint32_t i = 0; i < x->noperands; i++)
        if (rules_shape(r, x->operands[i])->quant)
            return true;
    for (uint32_t i = 0; i < x->nresults; i++)
        if (rules_shape(r, ir_result(r->m, op, i))->quant)
            return true;
    return false;
}

static bool apply_chain(struct rules *r, ir_op op, uint16_t rule) {
    for (; rule; rule = r->next[rule - 1]) {
        if (r->o->applied >= r->o->options.rule_limit || r->fuel == 0 || !functions[rule - 1](r, op))
            continue;
        r->o->hits[rule - 1]++;
        r->o->applied++;
        r->o->changes++;
        r->fuel--;
        return true;
    }
    return false;
}

static void walk(struct rules *r, ir_region region) {
    ir_op next;
    for (ir_block b = ir_region_get(r->m, region)->first; !IR_NONE(b); b = ir_block_get(r->m, b)->next)
        for (ir_op op = ir_block_get(r->m, b)->first; !IR_NONE(op); op = next) {
            const struct ir_op_data *x = ir_op_get(r->m, op);
            opt_update(&r->map, op);
            for (uint32_t i = 0; i < x->nregions; i++)
                walk(r, ir_op_region(r->m, op, i));
            ir_op prev = x->prev;
            bool applied = !quantised(r, op) &&
                           (apply_chain(r, op, r->first[x->kind]) || apply_chain(r, op, r->first[IR_OP_NONE]));
            if (!applied)
                next = x->next;
            else /* what the rule left here: new ops, or the one that it changed */
                next = IR_NONE(prev) ? ir_block_get(r->m, b)->first : ir_op_get(r->m, prev)->next;
        }
}

static bool allowed(const struct opt *o, size_t rule) {
    for (size_t i = 0; i < o->options.ndisabled; i++)
        if (strcmp(o->options.disabled[i], infos[rule].name) == 0)
            return false;
    return infos[rule].floats <= o->options.floats;
}

hilo_status opt_rules(struct opt *o, enum opt_pass_id set) {
    struct rules r = {.o = o, .m = o->m, .map = opt_map_new(o)};
    r.next = ARENA_ARRAY(&o->scratch, uint16_t, OPT_RULE_COUNT);
    r.fuel = 1024 + 16 * (uint64_t)o->ops;
    for (size_t i = OPT_RULE_COUNT; i-- > 0;)
        if (infos[i].pass == set && allowed(o, i)) {
            r.next[i] = r.first[infos[i].root];
            r.first[infos[i].root] = (uint16_t)(i + 1);
        }
    walk(&r, ir_op_region(o->m, o->m->root, 0));
    return HILO_OK;
}
