/* split: reductions and products in two stages
 * does       a reduction of many elements to few results becomes one to partial results of blocks and one of these, so that
 *            threads can share the work and columns are read in order; likewise a product whose sums are long and few (split-K)
 * requires   nothing
 * preserves  nothing
 * cost       linear
 * example    %0 = reduce add %x : 1048576 -> 1  ⇒  %0 = reduce add (reduce add %x : 128x8192 -> 128) : 128 -> 1
 *
 * The order of a reduction is the implementation's; what is kept is that of the elements, for bodies that do not commute. The
 * choice is made by shape and kind of machine, never by a number of threads, so that results are the same on all. Sums and
 * products of floats narrower than f32 are carried from stage to stage in f32, as if they had been rounded once. */
#include "opt/rules.h"

#include <math.h>

enum {
    SPLIT_TASKS = 16,      /* leading kept dimensions with this many elements are enough to split the work by */
    SPLIT_WORK = 1 << 16,  /* elements of one such task from which it is split */
    SPLIT_BLOCK = 1 << 13, /* elements of a block, about */
    SPLIT_WIDTH = 1024,    /* trailing kept dimensions with more elements are better split than the rows before them */
    SPLIT_ROWS = 32        /* of a block at least: the ratio of reads to writes of a partial result */
};

hilo_status opt_split(struct opt *o) {
    return opt_rules(o, OPT_PASS_split);
}

/* ---- bodies ---------------------------------------------------------------------------------- */

/* The operands of `op` are a and b, in any order. */
static bool pair(const struct rules *r, ir_op op, ir_val a, ir_val b) {
    ir_val x = rules_in(r, op, 0), y = rules_in(r, op, 1);
    return (IR_SAME(x, a) && IR_SAME(y, b)) || (IR_SAME(x, b) && IR_SAME(y, a));
}

/* `v` is a comparison of a with b by `how`. */
static bool compares(const struct rules *r, ir_val v, int64_t how, ir_val a, ir_val b) {
    ir_op op = rules_def(r, v, IR_COMPARE);
    return !IR_NONE(op) && ir_prop_i64(r->m, op, IR_COMPARE_comparison_direction) == how && IR_SAME(rules_in(r, op, 0), a) &&
           IR_SAME(rules_in(r, op, 1), b);
}

/* The two operands of v where it is such an op; or in the other order. */
static bool operands(const struct rules *r, ir_val v, enum ir_op_kind kind, bool other, ir_val *a, ir_val *b) {
    ir_op op = rules_def(r, v, kind);
    if (IR_NONE(op))
        return false;
    *a = rules_in(r, op, other);
    *b = rules_in(r, op, !other);
    return true;
}

/* `v` is true where key a goes before key b and not the other way: a > b (or a < b), possibly "or a is NaN". */
static bool before(const struct rules *r, ir_val v, ir_val a, ir_val b) {
    ir_val p, q;
    if (compares(r, v, IR_COMPARISON_DIRECTION_GT, a, b) || compares(r, v, IR_COMPARISON_DIRECTION_LT, a, b))
        return true;
    for (int k = 0; k < 2; k++)
        if (operands(r, v, IR_OR, k, &p, &q) && compares(r, q, IR_COMPARISON_DIRECTION_NE, a, a))
            return before(r, p, a, b);
    return false;
}

/* `v` is true where keys are equal and the index i is less than j. */
static bool tie(const struct rules *r, ir_val v, ir_val a, ir_val b, ir_val i, ir_val j) {
    ir_val p, q;
    for (int k = 0; k < 2; k++)
        if (operands(r, v, IR_AND, k, &p, &q) && compares(r, p, IR_COMPARISON_DIRECTION_EQ, a, b) &&
            compares(r, q, IR_COMPARISON_DIRECTION_LT, i, j))
            return true;
    return false;
}

/* `v` is select(p, a, b). */
static bool selects(const struct rules *r, ir_val v, ir_val a, ir_val b, ir_val *p) {
    ir_op op = rules_def(r, v, IR_SELECT);
    if (IR_NONE(op) || !IR_SAME(rules_in(r, op, 1), a) || !IR_SAME(rules_in(r, op, 2), b))
        return false;
    *p = rules_in(r, op, 0);
    return true;
}

/* The greatest or least key, with the first index where there are several: two forms of exporters. Such a body chooses one of
   two pairs by an order of them, so it is associative, and its initial values may be met again. */
static bool chooses(const struct rules *r, ir_block b) {
    const struct ir_block_data *d = ir_block_get(r->m, b);
    ir_op end = ir_terminator(r->m, b);
    if (d->nargs != 4 || ir_op_get(r->m, end)->noperands != 2)
        return false;
    ir_val a = d->args[0], i = d->args[1], c = d->args[2], j = d->args[3], p, q, s, t;
    ir_val key = rules_in(r, end, 0), index = rules_in(r, end, 1);
    if (!rules_is_integer(r, i) || !selects(r, key, a, c, &p))
        return false;
    if (before(r, p, a, c) && selects(r, index, i, j, &q))
        for (int k = 0; k < 2; k++)
            if (operands(r, q, IR_OR, k, &s, &t) && IR_SAME(s, p) && tie(r, t, a, c, i, j))
                return true;
    ir_op outer = rules_def(r, index, IR_SELECT);
    bool either = compares(r, p, IR_COMPARISON_DIRECTION_GE, a, c) || compares(r, p, IR_COMPARISON_DIRECTION_LE, a, c);
    if (IR_NONE(outer) || !either)
        return false;
    ir_op least = rules_def(r, rules_in(r, outer, 1), IR_MINIMUM);
    return compares(r, rules_in(r, outer, 0), IR_COMPARISON_DIRECTION_EQ, a, c) && !IR_NONE(least) && pair(r, least, i, j) &&
           selects(r, rules_in(r, outer, 2), i, j, &q) && IR_SAME(q, p);
}

/* ---- shapes ---------------------------------------------------------------------------------- */

/* How the dimensions of the operand are cut: reduced ones before `dim` are kept by the first stage, `dim` is `blocks` times
   the rest of it; reduced dimensions after it are reduced. blocks = 1: of `dim` nothing is kept. */
struct cut {
    uint32_t dim;
    int64_t blocks;
};

/* The divisor of n nearest to `want`, in proportion. */
static int64_t divisor(int64_t n, double want) {
    int64_t best = 1;
    for (int64_t i = 1; i <= n / i; i++) {
        int64_t both[2] = {i, n / i};
        for (int k = 0; k < 2 && n % i == 0; k++)
            if (fabs(log((double)both[k] / want)) < fabs(log((double)best / want)))
                best = both[k];
    }
    return best;
}

/* From which sizes on a reduction is split. Threads of a GPU share a row, and warps the columns: tasks are blocks. */
struct limits { double tasks, work, block; };
static struct limits limits_of(const struct target *t, double *tasks, double *width) {
    enum { GPU_BLOCKS = 2, GPU_WORK = SPLIT_WORK / 8, GPU_BLOCK = SPLIT_BLOCK / 4 };
    if (!t || !t->block_threads)
        return (struct limits){SPLIT_TASKS, SPLIT_WORK, SPLIT_BLOCK};
    if (*width > t->warp_threads) {
        *tasks *= *width / t->warp_threads;
        *width = t->warp_threads;
    }
    return (struct limits){(double)t->cores * GPU_BLOCKS, GPU_WORK, GPU_BLOCK};
}

static bool cut_of(const struct target *target, const struct ir_type_data *t, const bool *reduced, struct cut *cut) {
    double tasks = 1, width = 1, rows = 1, kept = 1;
    bool seen = false;
    for (uint32_t i = 0; i < t->rank; i++) {
        seen |= reduced[i];
        *(reduced[i] ? &rows : seen ? &width : &tasks) *= (double)t->dims[i];
    }
    struct limits least = limits_of(target, &tasks, &width);
    if (tasks >= least.tasks || width > SPLIT_WIDTH || rows * width < least.work)
        return false;
    double block = fmax(least.block / width, SPLIT_ROWS), want = rows / block;
    cut->blocks = 1;
    for (cut->dim = 0; cut->dim < t->rank; cut->dim++) {
        int64_t size = t->dims[cut->dim];
        if (!reduced[cut->dim])
            continue;
        if (kept * (double)size > want * 1.5) {
            cut->blocks = divisor(size, want / kept);
            break;
        }
        kept *= (double)size;
    }
    kept *= (double)cut->blocks;
    return kept >= 2 && cut->dim < t->rank && rows / kept * width < least.work;
}

/* ---- stages ---------------------------------------------------------------------------------- */

struct stages {
    ir_op op;
    uint32_t n;                /* operands that are reduced */
    enum ir_op_kind kind;      /* the body's; IR_OP_NONE = it is copied */
    ir_type scalar;            /* of the body where there is a kind */
    struct cut cut;
    bool reduced[IR_MAX_RANK];
};

/* A stage, before s->op. */
static ir_op make(struct rules *r, const struct stages *s, const ir_val *in, const ir_type *types) {
    const struct ir_op_data *x = ir_op_get(r->m, s->op);
    if (s->kind != IR_OP_NONE)
        return rules_make_reduce(r, s->op, s->kind, in, types[0]);
    ir_op op = ir_op_new(r->m, IR_REDUCE, in, 2 * s->n, types, s->n, 1);
    ir_set_loc(r->m, op, x->loc, x->line, x->col);
    ir_insert_before(r->m, s->op, op);
    opt_clone_region(&r->map, ir_op_region(r->m, s->op, 0), ir_op_region(r->m, op, 0));
    return op;
}

static ir_val converted(struct rules *r, ir_op at, ir_val v, ir_type scalar) {
    const struct ir_type_data *t = rules_shape(r, v);
    if (IR_SAME(t->elem, ir_type_get(r->m, scalar)->elem))
        return v;
    ir_type type = ir_type_with_dims(r->m, scalar, t->dims, t->rank);
    return ir_result(r->m, rules_make(r, at, IR_CONVERT, &v, 1, type), 0);
}

/* What the partial results begin with: the initial value where it may be met more than once, else what changes nothing. */
static ir_val neutral(struct rules *r, const struct stages *s, ir_val init) {
    bool product = s->kind == IR_MULTIPLY, sum = s->kind == IR_ADD;
    if (!product && !sum && s->kind != IR_XOR)
        return init;
    if (sum && (rules_is(r, init, RULES_ZERO) || rules_is(r, init, RULES_MINUS_ZERO)))
        return init;
    if (!rules_is_float(r, init))
        return rules_make_splat(r, s->op, s->scalar, (char[8]){product});
    return rules_make_float(r, s->op, s->scalar, product ? 1 : -0.0);
}

/* The first stage of operand v, and its result's type. */
static ir_val blocked(struct rules *r, const struct stages *s, ir_val v, ir_type *partial) {
    const struct ir_type_data *t = rules_shape(r, v);
    int64_t dims[IR_MAX_RANK + 1], kept[IR_MAX_RANK + 1];
    uint32_t n = 0, k = 0;
    for (uint32_t i = 0; i < t->rank; i++) {
        bool here = i == s->cut.dim && s->cut.blocks > 1;
        if (here)
            kept[k++] = dims[n++] = s->cut.blocks;
        dims[n++] = here ? t->dims[i] / s->cut.blocks : t->dims[i];
        if (!s->reduced[i] || i < s->cut.dim)
            kept[k++] = t->dims[i];
    }
    *partial = ir_type_with_dims(r->m, rules_type(r, v), kept, k);
    if (n == t->rank)
        return v;
    return ir_result(r->m, rules_make(r, s->op, IR_RESHAPE, &v, 1, ir_type_with_dims(r->m, rules_type(r, v), dims, n)), 0);
}

static void set_dimensions(struct rules *r, const struct stages *s, ir_op first, ir_op second) {
    int64_t one[IR_MAX_RANK + 1], two[IR_MAX_RANK + 1];
    uint32_t n1 = 0, n2 = 0, at = 0, left = 0, rank = rules_shape(r, rules_in(r, s->op, 0))->rank;
    for (uint32_t i = 0; i < rank; i++, at++) {
        if (i == s->cut.dim && s->cut.blocks > 1) {
            two[n2++] = left++;
            at++;
        } else if (s->reduced[i] && i < s->cut.dim) {
            two[n2++] = left;
        }
        if (s->reduced[i] && i >= s->cut.dim)
            one[n1++] = at;
        else
            left++;
    }
    ir_set_prop(r->m, first, IR_REDUCE_dimensions, ir_attr_i64s(r->m, one, n1));
    ir_set_prop(r->m, second, IR_REDUCE_dimensions, ir_attr_i64s(r->m, two, n2));
}

static void split(struct rules *r, const struct stages *s) {
    ir_val *one = ARENA_ARRAY(&r->o->scratch, ir_val, 2 * s->n), *two = ARENA_ARRAY(&r->o->scratch, ir_val, 2 * s->n);
    ir_val *results = ARENA_ARRAY(&r->o->scratch, ir_val, s->n);
    ir_type *partial = ARENA_ARRAY(&r->o->scratch, ir_type, s->n), *whole = ARENA_ARRAY(&r->o->scratch, ir_type, s->n);
    for (uint32_t i = 0; i < s->n; i++) {
        ir_val x = rules_in(r, s->op, i), init = rules_in(r, s->op, s->n + i), result = ir_result(r->m, s->op, i);
        if (s->kind != IR_OP_NONE) {
            x = converted(r, s->op, x, s->scalar);
            init = converted(r, s->op, init, s->scalar);
        }
        one[i] = blocked(r, s, x, &partial[i]);
        one[s->n + i] = neutral(r, s, init);
        two[s->n + i] = init;
        const struct ir_type_data *t = rules_shape(r, result);
        whole[i] = ir_type_with_dims(r->m, partial[i], t->dims, t->rank);
    }
    ir_op first = make(r, s, one, partial);
    for (uint32_t i = 0; i < s->n; i++)
        two[i] = ir_result(r->m, first, i);
    ir_op second = make(r, s, two, whole);
    set_dimensions(r, s, first, second);
    for (uint32_t i = 0; i < s->n; i++)
        results[i] = converted(r, s->op, ir_result(r->m, second, i), rules_type(r, ir_result(r->m, s->op, i)));
    opt_replace(&r->map, s->op, results);
}

/* Of known sizes, and nothing else in its type. */
static bool plain(const struct rules *r, ir_val v) {
    return rules_static(r, v) && IR_NONE(rules_shape(r, v)->encoding);
}

static bool same_elements(const struct rules *r, ir_op op) {
    for (uint32_t i = 0; i < 2; i++)
        if (!IR_SAME(rules_shape(r, rules_in(r, op, i))->elem, rules_shape(r, ir_result(r->m, op, i))->elem))
            return false;
    return true;
}

/* Whether the bits of a row would depend on how many zeros are at its end: with batch_invariant, on processors. */
static bool depends_on_size(const struct rules *r, const struct stages *s) {
    const struct target *t = r->o->options.target;
    if (!r->o->options.batch_invariant || (t && t->block_threads) || (s->kind != IR_ADD && s->kind != IR_MULTIPLY))
        return false;
    enum ir_dtype_class cls = ir_dtype_get(ir_type_get(r->m, s->scalar)->dtype)->cls;
    return cls == IR_FLOAT || cls == IR_COMPLEX_CLASS;
}

bool opt_rule_reduce_blocks(struct rules *r, ir_op op) {
    const struct ir_op_data *x = ir_op_get(r->m, op);
    struct stages s = {.op = op, .n = x->nresults};
    size_t n;
    const int64_t *dims = ir_prop_i64s(r->m, op, IR_REDUCE_dimensions, &n);
    ir_block body = ir_region_get(r->m, ir_op_region(r->m, op, 0))->first;
    if (x->noperands != 2 * s.n || s.n == 0 || s.n > 2)
        return false;
    for (uint32_t i = 0; i < s.n; i++)
        if (!plain(r, x->operands[i]) || !plain(r, ir_result(r->m, op, i)))
            return false;
    for (size_t i = 0; i < n; i++)
        s.reduced[dims[i]] = true;
    if (!cut_of(r->o->options.target, rules_shape(r, x->operands[0]), s.reduced, &s.cut))
        return false;
    if (s.n == 2) {
        if (!chooses(r, body) || !same_elements(r, op))
            return false;
    } else {
        s.kind = rules_reducer(r, op);
        s.scalar = rules_type(r, ir_block_get(r->m, body)->args[0]);
        if (s.kind == IR_OP_NONE)
            return false;
        const struct ir_dtype_info *t = ir_dtype_get(ir_type_get(r->m, s.scalar)->dtype);
        if (t->cls == IR_FLOAT && t->bits < 32 && (s.kind == IR_ADD || s.kind == IR_MULTIPLY))
            s.scalar = ir_type_of(r->m, IR_F32_T, NULL, 0);
    }
    if (depends_on_size(r, &s))
        return false;
    split(r, &s);
    return true;
}

/* ---- products -------------------------------------------------------------------------------- */

enum {
    SPLIT_TILE = 64,     /* rows and columns of a product that one task computes, about */
    SPLIT_SHORT = 8,     /* rows or columns that a kernel for few rows divides by itself */
    SPLIT_FEW = 4,       /* tasks of a product: with more, threads are busy, and its result stays fused with what follows */
    SPLIT_TERMS = 1024   /* of a partial sum, about: each is stored and added up again; of a sum that is split, four times */
};

/* The result of op `at`, a dot_general, with the sum over contracting dimension `i` in `parts` parts, which are its last batch
   dimension. */
static ir_val partial_dot(struct rules *r, ir_op at, size_t i, int64_t parts, enum ir_dtype sum) {
    static const enum ir_field_slot fields[2][2] = {
        {IR_DOT_lhs_batching_dimensions_F, IR_DOT_lhs_contracting_dimensions_F},
        {IR_DOT_rhs_batching_dimensions_F, IR_DOT_rhs_contracting_dimensions_F},
    };
    ir_attr numbers = ir_prop(r->m, at, IR_DOT_GENERAL_dot_dimension_numbers), lists[4];
    const struct ir_type_data *result = rules_shape(r, ir_result(r->m, at, 0));
    int64_t dims[IR_MAX_RANK + 1];
    size_t nbatch = 0, n;
    ir_val in[2];
    for (uint32_t side = 0; side < 2; side++) {
        const struct ir_type_data *t = rules_shape(r, rules_in(r, at, side));
        int64_t cut = ir_field_dims(r->m, numbers, fields[side][1], &n)[i];
        for (uint32_t d = 0, k = 0; d < t->rank; d++) {
            if (d == cut)
                dims[k++] = parts;
            dims[k++] = d == cut ? t->dims[d] / parts : t->dims[d];
        }
        ir_val v = rules_in(r, at, side);
        in[side] = ir_result(r->m, rules_make(r, at, IR_RESHAPE, &v, 1,
                                              ir_type_with_dims(r->m, rules_type(r, v), dims, t->rank + 1)), 0);
        for (uint32_t list = 0; list < 2; list++) {
            const int64_t *old = ir_field_dims(r->m, numbers, fields[side][list], &n);
            for (size_t k = 0; k < n; k++)
                dims[k] = old[k] + (old[k] > cut || (list == 1 && old[k] == cut));
            if (list == 0) {
                nbatch = n;
                dims[n++] = cut;
            }
            lists[2 * list + side] = ir_attr_i64s(r->m, dims, (uint32_t)n);
        }
    }
    for (uint32_t d = 0, k = 0; d <= result->rank; d++)
        dims[d] = d == nbatch ? parts : result->dims[k++];
    ir_type type = ir_type_with_dims(r->m, ir_type_of(r->m, sum, NULL, 0), dims, result->rank + 1);
    ir_op dot = rules_make(r, at, IR_DOT_GENERAL, in, 2, type);
    ir_set_prop(r->m, dot, IR_DOT_GENERAL_dot_dimension_numbers, ir_attr_struct(r->m, IR_STRUCT_DOT, lists));
    ir_set_prop(r->m, dot, IR_DOT_GENERAL_precision_config, ir_prop(r->m, at, IR_DOT_GENERAL_precision_config));
    return ir_result(r->m, dot, 0);
}

bool opt_rule_dot_blocks(struct rules *r, ir_op op) {
    ir_attr numbers = ir_prop(r->m, op, IR_DOT_GENERAL_dot_dimension_numbers);
    ir_val result = ir_result(r->m, op, 0), a = rules_in(r, op, 0);
    if (!plain(r, a) || !plain(r, rules_in(r, op, 1)) || !plain(r, result) ||
        !IR_NONE(ir_prop(r->m, op, IR_DOT_GENERAL_algorithm)))
        return false;
    const struct ir_type_data *t = rules_shape(r, result), *lhs = rules_shape(r, a);
    const struct ir_dtype_info *info = ir_dtype_get(t->dtype);
    if ((info->cls != IR_FLOAT && info->cls != IR_SINT && info->cls != IR_UINT) || info->bits < 8 || t->rank == IR_MAX_RANK)
        return false;
    size_t nbatch, nsum, longest = 0;
    (void)ir_field_dims(r->m, numbers, IR_DOT_lhs_batching_dimensions_F, &nbatch);
    const int64_t *sum = ir_field_dims(r->m, numbers, IR_DOT_lhs_contracting_dimensions_F, &nsum);
    double size = 1, rows = 1, columns = 1, batch = 1;
    for (size_t i = 0; i < nsum; i++) {
        size *= (double)lhs->dims[sum[i]];
        longest = lhs->dims[sum[i]] > lhs->dims[sum[longest]] ? i : longest;
    }
    for (uint32_t i = 0; i < t->rank; i++)
        *(i < nbatch ? &batch : i < lhs->rank - nsum ? &rows : &columns) *= (double)t->dims[i];
    double tasks = batch * ceil(rows / SPLIT_TILE) * ceil(columns / SPLIT_TILE);
    bool few = rows <= SPLIT_SHORT || columns <= SPLIT_SHORT, both = rows < SPLIT_SHORT && columns < SPLIT_SHORT;
    if (r->o->options.batch_invariant) /* whether it pays depends on rows and terms */
        return false;
    if (nsum == 0 || tasks > SPLIT_FEW || (few && !both) || size < 4 * SPLIT_TERMS ||
        batch * rows * columns * size < 16.0 * SPLIT_WORK)
        return false;
    int64_t parts = divisor(lhs->dims[sum[longest]], fmin(2 * SPLIT_TASKS / tasks, size / SPLIT_TERMS));
    if (parts < 2 || size / (double)parts < SPLIT_TERMS / 2)
        return false;
    bool narrow = info->cls == IR_FLOAT && info->bits < 32;
    ir_val partial = partial_dot(r, op, longest, parts, narrow ? IR_F32_T : t->dtype);
    ir_type scalar = ir_type_with_dims(r->m, rules_type(r, partial), NULL, 0);
    ir_val zero = rules_make_splat(r, op, scalar, (char[8]){0}), in[] = {partial, zero};
    ir_op total = rules_make_reduce(r, op, IR_ADD, in, ir_type_with_dims(r->m, scalar, t->dims, t->rank));
    int64_t dim = (int64_t)nbatch;
    ir_set_prop(r->m, total, IR_REDUCE_dimensions, ir_attr_i64s(r->m, &dim, 1));
    ir_val out = converted(r, op, ir_result(r->m, total, 0), rules_type(r, result));
    opt_replace(&r->map, op, &out);
    return true;
}
