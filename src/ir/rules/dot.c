/* Rules of contractions: dot, dot_general, ragged_dot; and what they share with convolutions. */
#include "ir/rules/shape.h"

#include <inttypes.h>

/* ---- what contractions share ----------------------------------------------------------------- */

hilo_status shape_precision(struct shape *s, const char *label, enum ir_slot slot) {
    uint32_t n = ir_attr_get(s->m, ir_prop(s->m, s->op, slot))->n;
    if (n <= 2)
        return HILO_OK;
    return shape_fail(s, label, "precision_config must have one element for each operand, but has "
                      "%u", n);
}

hilo_status shape_quant_product(struct shape *s, const struct shape_quant_labels *l) {
    const struct ir_type_data *lhs = shape_in(s, 0), *rhs = shape_in(s, 1), *res = shape_res(s, 0);
    const struct ir_quant *p = lhs->quant, *q = rhs->quant, *r = res->quant;
    if (!q || !p != !r)
        return shape_fail(s, l->which, "rhs must be quantized, and lhs and result both or neither");
    if (p && p->storage != q->storage)
        return shape_fail(s, l->storage, "lhs and rhs must have one storage type, but have %s and "
                          "%s", ir_dtype_get(p->storage)->name, ir_dtype_get(q->storage)->name);
    if (p && (p->expressed != q->expressed || p->expressed != r->expressed))
        return shape_fail(s, l->expressed, "lhs, rhs and result must have one expressed type, but "
                          "have %s, %s and %s", ir_dtype_get(p->expressed)->name,
                          ir_dtype_get(q->expressed)->name, ir_dtype_get(r->expressed)->name);
    if (p && q->kind == IR_QUANT_TENSOR && r->kind != IR_QUANT_TENSOR)
        return shape_fail(s, l->granularity, "the result must be quantized per tensor, as rhs is");
    if (!p && (lhs->dtype != q->expressed || !IR_SAME(lhs->elem, res->elem)))
        return shape_fail(s, l->hybrid, "lhs and result must have the type that rhs expresses, %s, "
                          "but have %s and %s", ir_dtype_get(q->expressed)->name,
                          shape_type_text(s, lhs->elem), shape_type_text(s, res->elem));
    return HILO_OK;
}

/* ---- dot ------------------------------------------------------------------------------------- */

/* Vectors and matrices; the last dimension of lhs meets the first of rhs. The type of the result's
   elements is free. */
hilo_status shape_dot(struct shape *s) {
    const struct ir_type_data *lhs = shape_in(s, 0), *rhs = shape_in(s, 1);
    HILO_TRY(shape_precision(s, NULL, IR_DOT_precision_config));
    if (lhs->rank < 1 || lhs->rank > 2 || rhs->rank < 1 || rhs->rank > 2)
        return shape_fail(s, NULL, "operands must be vectors or matrices, but are %s and %s",
                          shape_type_text(s, shape_in_type(s, 0)),
                          shape_type_text(s, shape_in_type(s, 1)));
    if (!shape_dims_agree(lhs->dims[lhs->rank - 1], rhs->dims[0]))
        return shape_fail(s, NULL, "contracting dimensions differ: lhs dimension %u is %" PRId64
                          ", rhs dimension 0 is %" PRId64, lhs->rank - 1,
                          lhs->dims[lhs->rank - 1], rhs->dims[0]);
    struct shape_dim dims[2];
    uint32_t rank = 0;
    if (lhs->rank == 2)
        dims[rank++] = shape_dim_of(lhs, 0);
    if (rhs->rank == 2)
        dims[rank++] = shape_dim_of(rhs, 1);
    s->out[0] = shape_tensor(s, shape_res(s, 0)->elem, dims, rank);
    return HILO_OK;
}

/* ---- dot_general ----------------------------------------------------------------------------- */

enum { LHS, RHS, SIDES };

/* The dimension numbers of a contraction, by side; those of ragged_dot have `group` besides. */
struct contraction {
    const int64_t *batching[SIDES], *contracting[SIDES], *group;
    size_t nbatching[SIDES], ncontracting[SIDES], ngroup;
};

/* What becomes of dimension d of an operand. */
static bool dot_is_free(const struct contraction *c, int side, int64_t d) {
    return !shape_contains(c->batching[side], c->nbatching[side], d) &&
           !shape_contains(c->contracting[side], c->ncontracting[side], d) &&
           !(side == RHS && shape_contains(c->group, c->ngroup, d));
}

static hilo_status dot_pairs(struct shape *s, const char *label, const char *name,
                             const int64_t *lhs, const int64_t *rhs, size_t n) {
    for (size_t i = 0; i < n; i++) {
        int64_t a = shape_in(s, LHS)->dims[lhs[i]], b = shape_in(s, RHS)->dims[rhs[i]];
        if (!shape_dims_agree(a, b))
            return shape_fail(s, label, "%s dimensions differ: lhs dimension %" PRId64 " is %"
                              PRId64 ", rhs dimension %" PRId64 " is %" PRId64, name, lhs[i], a,
                              rhs[i], b);
    }
    return HILO_OK;
}

/* The constraints, numbered as in dot_general. */
static hilo_status dot_dims(struct shape *s, const struct contraction *c) {
    static const char *const batching[SIDES] = {"lhs_batching_dimensions",
                                                "rhs_batching_dimensions"};
    static const char *const contracting[SIDES] = {"lhs_contracting_dimensions",
                                                   "rhs_contracting_dimensions"};
    static const char *const unique[SIDES] = {"_c3", "_c4"};
    static const char *const batching_range[SIDES] = {"_c5", "_c7"};
    static const char *const contracting_range[SIDES] = {"_c6", "_c8"};
    HILO_TRY(shape_size(s, "_c1", batching[RHS], c->nbatching[RHS], c->nbatching[LHS]));
    HILO_TRY(shape_size(s, "_c2", contracting[RHS], c->ncontracting[RHS], c->ncontracting[LHS]));
    for (int side = LHS; side < SIDES; side++) {
        int64_t rank = shape_in(s, (uint32_t)side)->rank;
        HILO_TRY(shape_distinct(s, unique[side], batching[side], c->batching[side],
                                c->nbatching[side], contracting[side], c->contracting[side],
                                c->ncontracting[side]));
        HILO_TRY(shape_in_range(s, batching_range[side], batching[side], c->batching[side],
                                c->nbatching[side], rank));
        HILO_TRY(shape_in_range(s, contracting_range[side], contracting[side],
                                c->contracting[side], c->ncontracting[side], rank));
    }
    HILO_TRY(dot_pairs(s, "_c9", "batching", c->batching[LHS], c->batching[RHS],
                       c->nbatching[LHS]));
    return dot_pairs(s, "_c10", "contracting", c->contracting[LHS], c->contracting[RHS],
                     c->ncontracting[LHS]);
}

/* The result has the dimension `first`, if any, then the batching ones, then the free ones of both
   sides. Its elements are those declared: the operands do not determine them. */
static hilo_status dot_result(struct shape *s, const struct contraction *c,
                              const struct shape_dim *first) {
    const struct ir_type_data *t[SIDES] = {shape_in(s, LHS), shape_in(s, RHS)};
    struct shape_dim dims[2 * IR_MAX_RANK + 1];
    uint32_t rank = 0;
    if (first)
        dims[rank++] = *first;
    for (size_t i = 0; i < c->nbatching[LHS]; i++)
        if (!shape_meet(shape_dim_of(t[LHS], (uint32_t)c->batching[LHS][i]),
                        shape_dim_of(t[RHS], (uint32_t)c->batching[RHS][i]), &dims[rank++]))
            return shape_fail(s, "_c9", "the sizes of batching dimensions exceed their bounds");
    for (int side = LHS; side < SIDES; side++)
        for (uint32_t d = 0; d < t[side]->rank; d++)
            if (dot_is_free(c, side, d))
                dims[rank++] = shape_dim_of(t[side], d);
    if (rank > IR_MAX_RANK)
        return shape_fail(s, "_c12", "a result of %u dimensions has too many", rank);
    s->out[0] = shape_tensor(s, shape_res(s, 0)->elem, dims, rank);
    return HILO_OK;
}

static hilo_status dot_algorithm(struct shape *s) {
    ir_attr algorithm = ir_prop(s->m, s->op, IR_DOT_GENERAL_algorithm);
    if (IR_NONE(algorithm))
        return HILO_OK;
    const struct ir_attr_data *config =
        ir_attr_get(s->m, ir_prop(s->m, s->op, IR_DOT_GENERAL_precision_config));
    for (uint32_t i = 0; i < config->n; i++)
        if (ir_attr_get(s->m, config->items[i])->i != IR_PRECISION_DEFAULT)
            return shape_fail(s, "dot_general_c21", "precision_config must be DEFAULT throughout "
                              "where there is an algorithm");
    return HILO_OK;
}

/* Constraints on elements that are quantised in lhs, rhs or the result. */
static hilo_status dot_quant(struct shape *s, const struct contraction *c) {
    static const struct shape_quant_labels labels = {
        .which = "dot_general_c14", .storage = "dot_general_c17", .expressed = "dot_general_c18",
        .granularity = "dot_general_c19", .hybrid = "dot_general_c20",
    };
    const struct ir_quant *q = shape_in(s, RHS)->quant;
    for (uint32_t i = 0; q && i < q->nscales; i++)
        if (q->zero_points[i] != 0)
            return shape_fail(s, "dot_general_c15", "zero points of rhs must be 0, but one is %"
                              PRId64, q->zero_points[i]);
    if (q && q->kind == IR_QUANT_AXIS &&
        shape_contains(c->contracting[RHS], c->ncontracting[RHS], q->axes[0]))
        return shape_fail(s, "dot_general_c16", "rhs must not be quantized along the contracting "
                          "dimension %" PRId64, q->axes[0]);
    return shape_quant_product(s, &labels);
}

/* The specification wants elements of one type (C13), but JAX mixes them, floats with integers too; what
   the result is made of decides. */
static hilo_status dot_elems(struct shape *s, const struct contraction *c) {
    bool quantized = shape_in(s, LHS)->quant || shape_in(s, RHS)->quant ||
                     (s->verifying && shape_res(s, 0)->quant);
    return quantized && s->verifying ? dot_quant(s, c) : HILO_OK;
}

hilo_status shape_dot_general(struct shape *s) {
    ir_attr numbers = ir_prop(s->m, s->op, IR_DOT_GENERAL_dot_dimension_numbers);
    struct contraction c = {.ngroup = 0};
    c.batching[LHS] =
        ir_field_dims(s->m, numbers, IR_DOT_lhs_batching_dimensions_F, &c.nbatching[LHS]);
    c.batching[RHS] =
        ir_field_dims(s->m, numbers, IR_DOT_rhs_batching_dimensions_F, &c.nbatching[RHS]);
    c.contracting[LHS] =
        ir_field_dims(s->m, numbers, IR_DOT_lhs_contracting_dimensions_F, &c.ncontracting[LHS]);
    c.contracting[RHS] =
        ir_field_dims(s->m, numbers, IR_DOT_rhs_contracting_dimensions_F, &c.ncontracting[RHS]);
    HILO_TRY(shape_precision(s, "dot_general_c11", IR_DOT_GENERAL_precision_config));
    HILO_TRY(dot_dims(s, &c));
    HILO_TRY(dot_elems(s, &c));
    HILO_TRY(dot_algorithm(s));
    s->out_label = "dot_general_c12";
    return dot_result(s, &c, NULL);
}

/* ---- ragged_dot ------------------------------------------------------------------------------ */

/* The role of lhs' ragged dimension, which is cut into groups. Each group meets a slice of rhs
   (free), makes a slice of the result (contracting), or is a batch of its own (batching). */
enum ragged { RAGGED_FREE, RAGGED_CONTRACTING, RAGGED_BATCHING };

static enum ragged ragged_mode(const struct contraction *c, int64_t dim) {
    if (shape_contains(c->batching[LHS], c->nbatching[LHS], dim))
        return RAGGED_BATCHING;
    if (shape_contains(c->contracting[LHS], c->ncontracting[LHS], dim))
        return RAGGED_CONTRACTING;
    return RAGGED_FREE;
}

/* Appends to `sizes` those of the listed dimensions of lhs that come before the ragged one. */
static uint32_t ragged_sizes_before(const struct ir_type_data *lhs, const int64_t *dims, size_t n,
                                    int64_t ragged, int64_t *sizes) {
    uint32_t count = 0;
    for (size_t i = 0; i < n && dims[i] != ragged; i++)
        sizes[count++] = lhs->dims[dims[i]];
    return count;
}

/* Group sizes are a list, or one for each combination of the batching dimensions and those of the
   ragged one's role before it. */
static hilo_status ragged_group_sizes(struct shape *s, const struct contraction *c, int64_t ragged) {
    const struct ir_type_data *lhs = shape_in(s, LHS), *sizes = shape_in(s, 2);
    enum ragged mode = ragged_mode(c, ragged);
    int64_t want[IR_MAX_RANK + 1];
    uint32_t n = ragged_sizes_before(lhs, c->batching[LHS], c->nbatching[LHS], ragged, want);
    if (mode == RAGGED_CONTRACTING)
        n += ragged_sizes_before(lhs, c->contracting[LHS], c->ncontracting[LHS], ragged, want + n);
    for (int64_t d = 0; mode == RAGGED_FREE && d < ragged; d++)
        if (dot_is_free(c, LHS, d))
            want[n++] = lhs->dims[d];
    if (sizes->rank == 0)
        return shape_fail(s, NULL, "group_sizes must not be a scalar");
    want[n++] = sizes->dims[sizes->rank - 1];
    if (sizes->rank != 1 && !shape_lists_agree(sizes->dims, sizes->rank, want, n))
        return shape_fail(s, NULL, "group_sizes must have shape %s, but has %s",
                          shape_list_text(s, want, n),
                          shape_list_text(s, sizes->dims, sizes->rank));
    return HILO_OK;
}

static hilo_status ragged_group(struct shape *s, const struct contraction *c, enum ragged mode) {
    const struct ir_type_data *rhs = shape_in(s, RHS), *sizes = shape_in(s, 2);
    static const char name[] = "rhs_group_dimensions";
    HILO_TRY(shape_in_range(s, NULL, name, c->group, c->ngroup, rhs->rank));
    HILO_TRY(shape_distinct(s, NULL, name, c->group, c->ngroup, "rhs_batching_dimensions",
                            c->batching[RHS], c->nbatching[RHS]));
    HILO_TRY(shape_distinct(s, NULL, name, c->group, c->ngroup, "rhs_contracting_dimensions",
                            c->contracting[RHS], c->ncontracting[RHS]));
    HILO_TRY(shape_size(s, NULL, name, c->ngroup, mode == RAGGED_FREE));
    if (mode == RAGGED_FREE &&
        !shape_dims_agree(rhs->dims[c->group[0]], sizes->dims[sizes->rank - 1]))
        return shape_fail(s, NULL, "rhs group dimension has size %" PRId64 ", but there are %"
                          PRId64 " groups", rhs->dims[c->group[0]], sizes->dims[sizes->rank - 1]);
    return HILO_OK;
}

hilo_status shape_ragged_dot(struct shape *s) {
    ir_attr numbers = ir_prop(s->m, s->op, IR_RAGGED_DOT_ragged_dot_dimension_numbers);
    struct contraction c;
    c.batching[LHS] =
        ir_field_dims(s->m, numbers, IR_RAGGED_DOT_lhs_batching_dimensions_F, &c.nbatching[LHS]);
    c.batching[RHS] =
        ir_field_dims(s->m, numbers, IR_RAGGED_DOT_rhs_batching_dimensions_F, &c.nbatching[RHS]);
    c.contracting[LHS] = ir_field_dims(s->m, numbers, IR_RAGGED_DOT_lhs_contracting_dimensions_F,
                                       &c.ncontracting[LHS]);
    c.contracting[RHS] = ir_field_dims(s->m, numbers, IR_RAGGED_DOT_rhs_contracting_dimensions_F,
                                       &c.ncontracting[RHS]);
    c.group = ir_field_dims(s->m, numbers, IR_RAGGED_DOT_rhs_group_dimensions_F, &c.ngroup);
    size_t nragged;
    const int64_t *ragged =
        ir_field_dims(s->m, numbers, IR_RAGGED_DOT_lhs_ragged_dimensions_F, &nragged);
    if (!shape_ranked(shape_in(s, LHS)) || !shape_ranked(shape_in(s, RHS)))
        return shape_fail(s, NULL, "operands must be ranked, but are %s and %s",
                          shape_type_text(s, shape_in_type(s, LHS)),
                          shape_type_text(s, shape_in_type(s, RHS)));
    HILO_TRY(shape_precision(s, NULL, IR_RAGGED_DOT_precision_config));
    HILO_TRY(dot_dims(s, &c));
    HILO_TRY(shape_size(s, NULL, "lhs_ragged_dimensions", nragged, 1));
    HILO_TRY(shape_in_range(s, NULL, "lhs_ragged_dimensions", ragged, 1, shape_in(s, LHS)->rank));
    enum ragged mode = ragged_mode(&c, ragged[0]);
    HILO_TRY(ragged_group_sizes(s, &c, ragged[0]));
    HILO_TRY(ragged_group(s, &c, mode));
    struct shape_dim groups = shape_dim_of(shape_in(s, 2), shape_in(s, 2)->rank - 1);
    return dot_result(s, &c, mode == RAGGED_CONTRACTING ? &groups : NULL);
}
