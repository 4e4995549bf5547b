/* Type inference: the table of rules, and what the rules share (see shape.h). */
#include "ir/rules/shape.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- the rules ------------------------------------------------------------------------------- */

static shape_rule *const rules[IR_OP_COUNT] = {
#define OP(id, name, form, operands, results, regions, traits, cost, rule, ...)                   \
    [IR_##id] = shape_##rule,
#include "ir/ops.def"
};

/* A quantised result has the shape that was inferred and, where only scales, zero points and axis
   differ, the elements that were declared. */
static ir_type settle_elem(struct shape *s, ir_type inferred, ir_type declared) {
    const struct ir_type_data *a = ir_type_get(s->m, inferred), *b = ir_type_get(s->m, declared);
    if (a->kind != IR_TYPE_TENSOR || !a->quant || !ir_type_is_shaped(b) ||
        IR_SAME(a->elem, b->elem) || !shape_elems_compatible(s->m, a->elem, b->elem))
        return inferred;
    return shape_with_elem(s, inferred, b->elem);
}

hilo_status shape_run(struct shape *s) {
    for (uint32_t i = 0; i < s->nout; i++)
        s->out[i] = (ir_type){0};
    HILO_TRY(rules[s->o->kind](s));
    for (uint32_t i = 0; i < s->nout; i++)
        if (!IR_NONE(s->out[i]))
            s->out[i] = settle_elem(s, s->out[i], shape_res_type(s, i));
    return HILO_OK;
}

hilo_status shape_none(struct shape *s) {
    (void)s;
    return HILO_OK;
}

/* ---- errors ---------------------------------------------------------------------------------- */

hilo_status shape_fail(struct shape *s, const char *label, const char *fmt, ...) {
    char own[64];
    if (label && label[0] == '_') {
        const char *name = ir_op_info((enum ir_op_kind)s->o->kind)->name;
        bool specified = str_starts(str_of(name), "stablehlo.");
        snprintf(own, sizeof own, "%s%s", name + strlen("stablehlo.") * specified, label);
        label = specified ? own : NULL;
    }
    va_list ap;
    va_start(ap, fmt);
    hilo_status status = ir_op_verror(s->m, s->d, s->op, HILO_INVALID_ARGUMENT, label, fmt, ap);
    va_end(ap);
    return status;
}

hilo_status shape_not_found(struct shape *s, const char *label, const char *what, struct str name) {
    if (s->broken)
        return HILO_OK;
    s->not_found = true;
    return shape_fail(s, label, "there is no %s '%.*s'", what, (int)name.n, name.p);
}

/* Memory of texts: from the arena, so that nothing is lost when it ends in the middle of one. */
static void *text_realloc(void *user, void *ptr, size_t old_bytes, size_t new_bytes, size_t align) {
    if (new_bytes == 0)
        return NULL;
    void *p = arena_alloc(user, new_bytes, align < 64 ? align : 64);
    if (old_bytes)
        memcpy(p, ptr, old_bytes < new_bytes ? old_bytes : new_bytes);
    return p;
}

static struct strbuf text_begin(struct shape *s) {
    struct strbuf b;
    strbuf_init(&b, (hilo_allocator){text_realloc, &s->m->arena});
    return b;
}

const char *shape_type_text(struct shape *s, ir_type t) {
    struct strbuf b = text_begin(s);
    ir_print_type(s->m, t, &b);
    return b.p ? b.p : "";
}

static void put_dim(struct strbuf *b, int64_t dim) {
    if (shape_known(dim))
        strbuf_i64(b, dim);
    else
        strbuf_putc(b, '?');
}

const char *shape_list_text(struct shape *s, const int64_t *v, size_t n) {
    struct strbuf b = text_begin(s);
    strbuf_putc(&b, '[');
    for (size_t i = 0; i < n; i++) {
        if (i)
            strbuf_puts(&b, ", ");
        put_dim(&b, v[i]);
    }
    strbuf_putc(&b, ']');
    return b.p;
}

const char *shape_dim_text(struct shape *s, int64_t dim) {
    struct strbuf b = text_begin(s);
    put_dim(&b, dim);
    return b.p;
}

/* ---- operands, results, regions -------------------------------------------------------------- */

/* The same for any column, when `total` values can be dealt to the words of `kinds` at all: stars
   share equally what the other words leave, or take `sizes` (segment sizes, one a word, may be
   NULL). False when that does not come out even. */
static bool shape_deal(const char *kinds, uint32_t total, const int64_t *sizes, size_t nsizes, uint32_t k,
                       struct shape_range *out) {
    uint32_t words = 0, stars = 0;
    for (const char *p = kinds; *p; p++) {
        stars += *p == '*';
        words += *p == ' ';
    }
    words += *kinds != 0;
    uint32_t fixed = words - stars, share = 0;
    if (sizes) {
        if (nsizes != words)
            return false;
    } else {
        if (total < fixed || (stars == 0 ? total != fixed : (total - fixed) % stars != 0))
            return false;
        share = stars ? (total - fixed) / stars : 0;
    }
    uint32_t at = 0, word = 0;
    bool found = false;
    for (const char *p = kinds; word < words; p++) {
        if (*p && *p != ' ')
            continue;
        bool star = p[-1] == '*';
        int64_t n = sizes ? sizes[word] : star ? share : 1;
        if (n < 0 || n > total - at || (!star && n != 1))
            return false;
        if (word == k) {
            *out = (struct shape_range){at, (uint32_t)n};
            found = true;
        }
        at += (uint32_t)n;
        word++;
    }
    return found && at == total;
}

/* The group that word k of `kinds` stands for; empty when the values do not fit the words. */
static struct shape_range group(struct shape *s, const char *kinds, const char *segments,
                                uint32_t total, uint32_t k) {
    const int64_t *sizes = NULL;
    size_t nsizes = 0;
    const char *star = strchr(kinds, '*');
    if (star && strchr(star + 1, '*')) {
        uint32_t slot = ir_slot_named((enum ir_op_kind)s->o->kind, str_of(segments));
        if (slot != IR_SLOT_NONE)
            shape_attr_ints(s, ir_prop(s->m, s->op, (enum ir_slot)slot), &sizes, &nsizes);
    }
    struct shape_range r = {0, 0};
    shape_deal(kinds, total, sizes, nsizes, k, &r);
    return r;
}

struct shape_range shape_in_group(struct shape *s, uint32_t k) {
    const char *kinds = ir_op_info((enum ir_op_kind)s->o->kind)->operands;
    return group(s, kinds, "operandSegmentSizes", s->o->noperands, k);
}

struct shape_range shape_res_group(struct shape *s, uint32_t k) {
    const char *kinds = ir_op_info((enum ir_op_kind)s->o->kind)->results;
    return group(s, kinds, "resultSegmentSizes", s->o->nresults, k);
}

const ir_type *shape_in_types(struct shape *s, struct shape_range r) {
    ir_type *types = ARENA_ARRAY(&s->m->arena, ir_type, r.n);
    for (uint32_t i = 0; i < r.n; i++)
        types[i] = shape_in_type(s, r.first + i);
    return types;
}

hilo_status shape_results(struct shape *s, const char *label, uint32_t n) {
    if (s->nout == n)
        return HILO_OK;
    return shape_fail(s, label, "infers %u results, but has %u", n, s->nout);
}

const struct ir_block_data *shape_block(const struct shape *s, uint32_t r) {
    return ir_block_get(s->m, ir_region_get(s->m, ir_op_region(s->m, s->op, r))->first);
}

ir_type shape_arg_type(const struct shape *s, uint32_t r, uint32_t i) {
    return ir_val_get(s->m, shape_block(s, r)->args[i])->type;
}

const struct ir_op_data *shape_yield(const struct shape *s, uint32_t r) {
    return ir_op_get(s->m, shape_block(s, r)->last);
}

ir_type shape_yield_type(const struct shape *s, uint32_t r, uint32_t i) {
    return ir_val_get(s->m, shape_yield(s, r)->operands[i])->type;
}

/* More elements than any list of dimensions, paddings or replicas has: a splat of that size would
   only exhaust memory. */
enum { MOST_INTS = 1 << 20 };

/* Element i of packed integers of type t. */
static int64_t int_at(const void *data, size_t i, enum ir_dtype t) {
    const struct ir_dtype_info *info = ir_dtype_get(t);
    uint64_t v = 0;
    memcpy(&v, (const char *)data + i * info->bytes, info->bytes);
    if (info->bits == 64)
        return (int64_t)v;
    v &= (UINT64_C(1) << info->bits) - 1;
    bool negative = info->cls == IR_SINT && (v >> (info->bits - 1) & 1);
    return negative ? (int64_t)(v | ~UINT64_C(0) << info->bits) : (int64_t)v;
}

bool shape_attr_ints(struct shape *s, ir_attr a, const int64_t **out, size_t *n) {
    const struct ir_attr_data *d = ir_attr_get(s->m, a);
    if ((d->kind != IR_ATTR_DENSE && d->kind != IR_ATTR_DENSE_ARRAY && d->kind != IR_ATTR_RESOURCE))
        return false;
    const struct ir_type_data *t = ir_type_get(s->m, d->type);
    const struct ir_dtype_info *info = ir_dtype_get(t->dtype);
    size_t count = d->n;
    if (d->kind != IR_ATTR_DENSE_ARRAY && !ir_type_count(t, &count))
        return false;
    if (t->quant || info->cls == IR_FLOAT || info->cls == IR_COMPLEX_CLASS || count > MOST_INTS)
        return false;
    size_t stored = d->nbytes / info->bytes; /* all of them, or the one of a splat */
    if (stored < count && (stored == 0 || !d->splat))
        return false;
    int64_t *v = ARENA_ARRAY(&s->m->arena, int64_t, count);
    for (size_t i = 0; i < count; i++)
        v[i] = int_at(d->data, stored < count ? 0 : i, t->dtype);
    *out = v;
    *n = count;
    return true;
}

bool shape_const_i64s(struct shape *s, ir_val v, const int64_t **out, size_t *n) {
    ir_op op = ir_val_get(s->m, v)->op;
    if (IR_NONE(op) || !ir_op_has(ir_kind(s->m, op), IR_T_CONSTANT))
        return false;
    uint32_t slot = ir_slot_named(ir_kind(s->m, op), STR("value"));
    size_t want; /* where the constant is itself invalid, it counts for nothing */
    return shape_attr_ints(s, ir_prop(s->m, op, (enum ir_slot)slot), out, n) &&
           ir_type_count(ir_val_type(s->m, v), &want) && *n == want;
}

hilo_status shape_by_operand(struct shape *s, const char *label, uint32_t i, ir_type elem) {
    int64_t unknown[IR_MAX_RANK];
    const int64_t *dims;
    int64_t length = shape_in(s, i)->dims[0];
    size_t n;
    if (length > IR_MAX_RANK)
        return shape_fail(s, label, "a shape of %" PRId64 " dimensions is too long", length);
    if (shape_const_i64s(s, s->o->operands[i], &dims, &n)) {
        for (size_t k = 0; k < n; k++)
            if (dims[k] < 0)
                return shape_fail(s, label, "the result's shape %s has a negative size",
                                  shape_list_text(s, dims, n));
    } else {
        for (int64_t k = 0; k < length; k++)
            unknown[k] = IR_DYNAMIC;
        dims = unknown;
    }
    s->out_label = label;
    s->out[0] = ir_type_tensor(s->m, elem, dims, (uint32_t)length, (ir_attr){0});
    return HILO_OK;
}

/* ---- dimensions ------------------------------------------------------------------------------ */

bool shape_lists_agree(const int64_t *a, size_t na, const int64_t *b, size_t nb) {
    bool agree = na == nb;
    for (size_t i = 0; agree && i < na; i++)
        agree = shape_dims_agree(a[i], b[i]);
    return agree;
}

bool shape_compatible(const struct ir_type_data *a, const struct ir_type_data *b) {
    if (!ir_type_is_shaped(a) || !ir_type_is_shaped(b))
        return false;
    if (!shape_ranked(a) || !shape_ranked(b))
        return true;
    return shape_lists_agree(a->dims, a->rank, b->dims, b->rank);
}

hilo_status shape_same_shape(struct shape *s, const char *label) {
    uint32_t nin = s->o->noperands, n = nin + (s->verifying ? s->nout : 0);
    for (uint32_t i = 1; i < n; i++) {
        ir_type t = i < nin ? shape_in_type(s, i) : shape_res_type(s, i - nin);
        ir_type first = nin ? shape_in_type(s, 0) : shape_res_type(s, 0);
        if (!shape_compatible(ir_type_get(s->m, first), ir_type_get(s->m, t)))
            return shape_fail(s, label, "operands and results must have one shape, but "
                              "have %s and %s",
                              shape_type_text(s, first), shape_type_text(s, t));
    }
    return HILO_OK;
}

hilo_status shape_same_shapes(struct shape *s, const char *label, const char *name,
                              struct shape_range r) {
    for (uint32_t i = 1; i < r.n; i++)
        if (!shape_compatible(shape_in(s, r.first), shape_in(s, r.first + i)))
            return shape_fail(s, label, "%s must have one shape, but have %s and %s", name,
                              shape_type_text(s, shape_in_type(s, r.first)),
                              shape_type_text(s, shape_in_type(s, r.first + i)));
    return HILO_OK;
}

hilo_status shape_in_range(struct shape *s, const char *label, const char *name, const int64_t *v,
                           size_t n, int64_t upper) {
    for (size_t i = 0; i < n; i++)
        if (v[i] < 0 || v[i] >= upper)
            return shape_fail(s, label, "%s must be in [0, %" PRId64 "), but has %" PRId64, name,
                              upper, v[i]);
    return HILO_OK;
}

bool shape_contains(const int64_t *v, size_t n, int64_t x) {
    for (size_t i = 0; i < n; i++)
        if (v[i] == x)
            return true;
    return false;
}

static int compare_i64(const void *a, const void *b) {
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* A value that occurs twice in v. Lists come from outside and may be long, so they are sorted. */
static bool find_duplicate(struct shape *s, const int64_t *v, size_t n, int64_t *out) {
    if (n < 2)
        return false;
    int64_t *sorted = arena_dup(&s->m->arena, v, n * sizeof *v, _Alignof(int64_t));
    qsort(sorted, n, sizeof *sorted, compare_i64);
    for (size_t i = 1; i < n; i++)
        if (sorted[i] == sorted[i - 1]) {
            *out = sorted[i];
            return true;
        }
    return false;
}

hilo_status shape_unique(struct shape *s, const char *label, const char *name, const int64_t *v,
                         size_t n) {
    int64_t twice;
    if (!find_duplicate(s, v, n, &twice))
        return HILO_OK;
    return shape_fail(s, label, "%s must not have duplicates, but has %" PRId64 " twice", name,
                      twice);
}

hilo_status shape_distinct(struct shape *s, const char *label, const char *name, const int64_t *v,
                           size_t n, const char *name2, const int64_t *w, size_t nw) {
    int64_t *both = ARENA_ARRAY(&s->m->arena, int64_t, n + nw);
    if (n)
        memcpy(both, v, n * sizeof *v);
    if (nw)
        memcpy(both + n, w, nw * sizeof *w);
    int64_t twice;
    if (!find_duplicate(s, both, n + nw, &twice))
        return HILO_OK;
    return shape_fail(s, label, "%s and %s must not have duplicates, but have %" PRId64 " twice",
                      name, name2, twice);
}

hilo_status shape_sorted(struct shape *s, const char *label, const char *name, const int64_t *v,
                         size_t n) {
    for (size_t i = 1; i < n; i++)
        if (v[i] < v[i - 1])
            return shape_fail(s, label, "%s must be sorted, but is %s", name,
                              shape_list_text(s, v, n));
    return HILO_OK;
}

hilo_status shape_size(struct shape *s, const char *label, const char *name, size_t n, size_t want) {
    if (n == want)
        return HILO_OK;
    return shape_fail(s, label, "%s must have %zu elements, but has %zu", name, want, n);
}

static bool within(int64_t size, int64_t bound) {
    return !shape_known(bound) || size <= bound;
}

bool shape_meet(struct shape_dim a, struct shape_dim b, struct shape_dim *out) {
    struct shape_dim r = {shape_known(a.size) ? a.size : b.size, IR_DYNAMIC};
    if (!shape_dims_agree(a.size, b.size))
        return false;
    if (shape_known(r.size)) {
        if (!within(r.size, a.bound) || !within(r.size, b.bound))
            return false;
    } else if (shape_known(a.bound) && shape_known(b.bound)) {
        r.bound = a.bound < b.bound ? a.bound : b.bound;
    } else {
        r.bound = shape_known(a.bound) ? a.bound : b.bound;
    }
    *out = r;
    return true;
}

/* The largest size a dimension may have; IR_DYNAMIC when nothing is known. */
static int64_t most(struct shape_dim d) {
    return shape_known(d.size) ? d.size : d.bound;
}

bool shape_join(struct shape_dim a, struct shape_dim b, struct shape_dim *out) {
    struct shape_dim r = {IR_DYNAMIC, IR_DYNAMIC};
    if (!shape_dims_agree(a.size, b.size))
        return false;
    if (shape_known(a.size) && shape_known(b.size))
        r.size = a.size;
    else if (shape_known(most(a)) && shape_known(most(b)))
        r.bound = most(a) > most(b) ? most(a) : most(b);
    *out = r;
    return true;
}

bool shape_sum(struct shape_dim a, struct shape_dim b, struct shape_dim *out) {
    struct shape_dim r = {IR_DYNAMIC, IR_DYNAMIC};
    int64_t sum = IR_DYNAMIC;
    if (shape_known(most(a)) && shape_known(most(b)) &&
        __builtin_add_overflow(most(a), most(b), &sum))
        return false;
    if (shape_known(a.size) && shape_known(b.size))
        r.size = sum;
    else
        r.bound = sum;
    *out = r;
    return true;
}

typedef bool combine_fn(struct shape_dim a, struct shape_dim b, struct shape_dim *out);

/* Combines ranked types, dimension by dimension. */
static hilo_status combine_ranked(struct shape *s, const char *label, combine_fn *combine,
                                  ir_type a, ir_type b, ir_type *out) {
    const struct ir_type_data *x = ir_type_get(s->m, a), *y = ir_type_get(s->m, b);
    struct shape_dim dims[IR_MAX_RANK];
    bool fits = x->rank == y->rank;
    for (uint32_t i = 0; fits && i < x->rank; i++)
        fits = combine(shape_dim_of(x, i), shape_dim_of(y, i), &dims[i]);
    if (!fits)
        return shape_fail(s, label, "types %s and %s have different shapes", shape_type_text(s, a),
                          shape_type_text(s, b));
    *out = shape_tensor(s, x->elem, dims, x->rank);
    return HILO_OK;
}

static hilo_status combine_pair(struct shape *s, const char *label, combine_fn *combine, ir_type a,
                                ir_type b, ir_type *out) {
    const struct ir_type_data *x = ir_type_get(s->m, a), *y = ir_type_get(s->m, b);
    *out = a;
    if (IR_SAME(a, b))
        return HILO_OK;
    if (x->kind == IR_TYPE_TUPLE || y->kind == IR_TYPE_TUPLE) {
        if (x->kind != y->kind || x->ntypes != y->ntypes)
            return shape_fail(s, label, "types %s and %s are not tuples of one size",
                              shape_type_text(s, a), shape_type_text(s, b));
        ir_type *members = ARENA_ARRAY(&s->m->arena, ir_type, x->ntypes);
        for (uint32_t i = 0; i < x->ntypes; i++)
            HILO_TRY(combine_pair(s, label, combine, x->types[i], y->types[i], &members[i]));
        *out = ir_type_group(s->m, IR_TYPE_TUPLE, members, x->ntypes);
        return HILO_OK;
    }
    if (x->kind == IR_TYPE_TENSOR && y->kind == IR_TYPE_TENSOR)
        return combine_ranked(s, label, combine, a, b, out);
    /* An unranked type is the top of the lattice: a meet gives the other type, a join the unranked one. Others do not merge. */
    if ((combine == shape_meet ? x : y)->kind == IR_TYPE_UNRANKED)
        *out = b;
    return HILO_OK;
}

static hilo_status combine_types(struct shape *s, const char *label, combine_fn *combine,
                                 const ir_type *types, uint32_t n, ir_type *out) {
    *out = n ? types[0] : (ir_type){0};
    for (uint32_t i = 1; i < n; i++)
        HILO_TRY(combine_pair(s, label, combine, *out, types[i], out));
    return HILO_OK;
}

hilo_status shape_meet_types(struct shape *s, const char *label, const ir_type *types, uint32_t n,
                             ir_type *out) {
    return combine_types(s, label, shape_meet, types, n, out);
}

hilo_status shape_join_types(struct shape *s, const char *label, const ir_type *types, uint32_t n,
                             ir_type *out) {
    return combine_types(s, label, shape_join, types, n, out);
}

/* ---- types ----------------------------------------------------------------------------------- */

ir_type shape_with_elem(struct shape *s, ir_type shaped, ir_type elem) {
    const struct ir_type_data *t = ir_type_get(s->m, shaped);
    return ir_type_shaped(s->m, t->kind, elem, t->dims, t->rank, t->encoding);
}

ir_type shape_tensor(struct shape *s, ir_type elem, const struct shape_dim *dims, uint32_t rank) {
    int64_t sizes[IR_MAX_RANK], bounds[IR_MAX_RANK];
    for (uint32_t i = 0; i < rank; i++) {
        sizes[i] = dims[i].size;
        bounds[i] = dims[i].bound;
    }
    return ir_type_bounded(s->m, elem, sizes, bounds, rank);
}

ir_type shape_scalar_of(struct shape *s, ir_type elem) {
    return ir_type_tensor(s->m, elem, NULL, 0, (ir_attr){0});
}

bool shape_is_truth(const struct shape *s, ir_type type) {
    const struct ir_type_data *t = ir_type_get(s->m, type);
    return t->kind == IR_TYPE_TENSOR && t->rank == 0 && t->dtype == IR_I1_T && !t->quant;
}

ir_type shape_real_of(struct shape *s, ir_type elem) {
    enum ir_dtype t = ir_type_get(s->m, elem)->dtype;
    if (t == IR_C64_T || t == IR_C128_T)
        return ir_type_scalar(s->m, t == IR_C64_T ? IR_F32_T : IR_F64_T);
    return elem;
}

enum ir_dtype_class shape_class(const struct ir_type_data *t) {
    return ir_dtype_get(t->dtype)->cls;
}

uint32_t shape_bits(const struct ir_type_data *t) {
    return ir_dtype_get(t->dtype)->bits;
}

bool shape_elems_compatible(const struct ir_module *m, ir_type a, ir_type b) {
    if (IR_SAME(a, b))
        return true;
    const struct ir_quant *p = ir_type_get(m, a)->quant, *q = ir_type_get(m, b)->quant;
    return p && q && p->kind == q->kind && p->storage == q->storage &&
           p->storage_min == q->storage_min && p->storage_max == q->storage_max &&
           p->expressed == q->expressed;
}

bool shape_types_compatible(const struct ir_module *m, ir_type a, ir_type b) {
    if (IR_SAME(a, b))
        return true;
    const struct ir_type_data *x = ir_type_get(m, a), *y = ir_type_get(m, b);
    if (!shape_compatible(x, y) || (x->kind == IR_TYPE_MEMREF) != (y->kind == IR_TYPE_MEMREF) ||
        !shape_elems_compatible(m, x->elem, y->elem))
        return false;
    for (uint32_t i = 0; shape_ranked(x) && shape_ranked(y) && i < x->rank; i++) {
        struct shape_dim both;
        if (!shape_meet(shape_dim_of(x, i), shape_dim_of(y, i), &both))
            return false;
    }
    return true;
}

static bool is_float(const struct ir_type_data *t) {
    return !t->quant && shape_class(t) == IR_FLOAT;
}

bool shape_same_elem(const struct ir_type_data *a, const struct ir_type_data *b, bool any_float) {
    return IR_SAME(a->elem, b->elem) || (any_float && is_float(a) && is_float(b));
}

bool shape_promotable(const struct ir_type_data *a, const struct ir_type_data *b) {
    if (a->quant || b->quant)
        return a->quant && b->quant && a->quant->expressed == b->quant->expressed &&
               shape_bits(a) <= shape_bits(b);
    if (is_float(a) && is_float(b))
        return true;
    enum ir_dtype_class p = shape_class(a), q = shape_class(b);
    bool integers = (p == IR_PRED || p == IR_SINT || p == IR_UINT) &&
                    (q == IR_PRED || q == IR_SINT || q == IR_UINT);
    return (p == q || integers) && shape_bits(a) <= shape_bits(b);
}

hilo_status shape_result_elem(struct shape *s, const char *label, uint32_t i, ir_type elem) {
    if (!s->verifying || shape_elems_compatible(s->m, shape_res(s, i)->elem, elem))
        return HILO_OK;
    return shape_fail(s, label, "result %u must have elements of type %s, but has %s", i,
                      shape_type_text(s, elem), shape_type_text(s, shape_res_type(s, i)));
}

hilo_status shape_same_scales(struct shape *s, const char *label, ir_type a, ir_type b) {
    const struct ir_type_data *x = ir_type_get(s->m, a), *y = ir_type_get(s->m, b);
    const struct ir_quant *p = x->quant, *q = y->quant;
    if (!p || !q || p->kind != q->kind || IR_SAME(x->elem, y->elem))
        return HILO_OK;
    bool same = p->kind == IR_QUANT_AXIS && p->nscales == q->nscales;
    for (uint32_t i = 0; same && i < p->nscales; i++)
        same = p->scales[i] == q->scales[i] && p->zero_points[i] == q->zero_points[i];
    if (same)
        return HILO_OK;
    return shape_fail(s, label, "operand and result must have the same scales and zero points, "
                      "but have the types %s and %s", shape_type_text(s, a), shape_type_text(s, b));
}
