/* Propagation along factors; see sdy_factor.h. */
#include "opt/sdy_factor.h"

/* ---- lists of axes ---------------------------------------------------------------------------- */

static struct sdy_axes view(struct sdy_list l) {
    return (struct sdy_axes){l.n, l.v};
}

static struct sdy_list list_new(const struct sdy_projection *p) {
    return (struct sdy_list){0, ARENA_ARRAY(p->a, struct sdy_axis, p->room)};
}

static void list_set(struct sdy_list *l, struct sdy_axes from) {
    l->n = from.n;
    for (uint32_t i = 0; i < from.n; i++)
        l->v[i] = from.v[i];
}

enum prefix { PREFIX_EQUAL, PREFIX_STRICT, PREFIX_NOT };

static enum prefix prefix_of(struct sdy_axes a, struct sdy_axes of) {
    if (!a.n)
        return of.n ? PREFIX_STRICT : PREFIX_EQUAL;
    if (a.n > of.n)
        return PREFIX_NOT;
    for (uint32_t i = 0; i + 1 < a.n; i++)
        if (!sdy_axis_equal(a.v[i], of.v[i]))
            return PREFIX_NOT;
    struct sdy_axis last = a.v[a.n - 1], other = of.v[a.n - 1];
    if (a.n == of.n && sdy_axis_equal(last, other))
        return PREFIX_EQUAL;
    return sdy_axis_is_prefix(last, other) ? PREFIX_STRICT : PREFIX_NOT;
}

/* ---- projection -------------------------------------------------------------------------------- */

/* The axes of a dimension that no factor has taken. */
struct rest {
    const struct sdy_mesh *mesh;
    struct sdy_axes axes;
    uint32_t at;
    struct sdy_axis axis; /* what remains of axes.v[at] */
};

static bool rest_any(const struct rest *r) {
    return r->at < r->axes.n;
}

static void rest_next(struct rest *r) {
    if (++r->at < r->axes.n)
        r->axis = r->axes.v[r->at];
}

static void rest_take(struct rest *r, struct sdy_list *to) {
    for (; rest_any(r); rest_next(r))
        sdy_axes_append(r->mesh, to->v, &to->n, r->axis);
}

/* Fills a factor that is not the last of its dimension, as far as axes divide it. True where axes are left that do not. */
static bool fill(struct rest *r, int64_t size, struct sdy_along *x) {
    int64_t common = 1;
    while (rest_any(r) && (r->axis.size == 1 || (common = sdy_gcd(size, r->axis.size)) > 1)) {
        if (r->axis.size > common) {
            x->axes.v[x->axes.n++] = sdy_axis_part(r->mesh, r->axis.axis, r->axis.pre, common);
            r->axis = sdy_axis_part(r->mesh, r->axis.axis, r->axis.pre * common, r->axis.size / common);
            size /= common;
        } else {
            size /= r->axis.size;
            x->axes.v[x->axes.n++] = r->axis;
            rest_next(r);
        }
    }
    return size > 1 && rest_any(r);
}

static void project_dim(const struct sdy_projection *p, struct sdy_projected *t, const struct sdy_dim_factors *factors,
                        const struct sdy_dim *dim, bool closed) {
    struct rest r = {.mesh = p->mesh};
    bool overflows = false;
    if (dim)
        r.axes = dim->axes;
    if (r.axes.n)
        r.axis = r.axes.v[0];
    for (uint32_t i = 0; i < factors->n; i++) {
        struct sdy_along *x = &t->along[factors->v[i]];
        *x = (struct sdy_along){.mapped = true, .minor = i + 1 == factors->n, .closed = overflows || closed};
        x->axes = list_new(p);
        x->overflow = list_new(p);
        if (overflows)
            break;
        if (x->minor) {
            rest_take(&r, &x->axes);
            break;
        }
        overflows = fill(&r, p->rule->factors[factors->v[i]].size, x);
        if (overflows)
            rest_take(&r, &x->overflow);
    }
}

struct sdy_projection sdy_project(struct arena *a, const struct sdy_rule *rule, const struct sdy_mesh *mesh,
                                  const struct sdy_sharding *const *shardings, bool closed) {
    uint32_t n = rule->noperands + rule->nresults;
    struct sdy_projection p = {.a = a, .rule = rule, .mesh = mesh, .tensors = ARENA_ARRAY(a, struct sdy_projected, n + 1)};
    for (uint32_t i = 0; i < mesh->naxes; i++)
        for (int64_t size = mesh->axes[i].size; size; size /= 2)
            p.room++;
    for (uint32_t t = 0; t < n; t++) {
        const struct sdy_sharding *s = shardings[t];
        p.tensors[t].along = ARENA_ARRAY(a, struct sdy_along, rule->nfactors + 1);
        for (uint32_t d = 0; d < rule->ranks[t]; d++)
            project_dim(&p, &p.tensors[t], &rule->dims[t][d], s ? &s->dims[d] : NULL, s ? s->dims[d].closed : closed);
        if (s) {
            p.tensors[t].replicated = s->replicated;
            p.tensors[t].unreduced = s->unreduced;
        }
    }
    return p;
}

/* Only the first of the axes may continue what is there. */
static void add_axes(const struct sdy_projection *p, struct sdy_list *to, struct sdy_list axes) {
    for (uint32_t i = 0; i < axes.n; i++)
        if (i == 0)
            sdy_axes_append(p->mesh, to->v, &to->n, axes.v[i]);
        else
            to->v[to->n++] = axes.v[i];
}

const struct sdy_sharding *sdy_unproject(const struct sdy_projection *p, uint32_t t) {
    struct sdy_sharding *s = ARENA_NEW(p->a, struct sdy_sharding);
    const struct sdy_projected *x = &p->tensors[t];
    struct sdy_dim *dims = ARENA_ARRAY(p->a, struct sdy_dim, p->rule->ranks[t] + 1);
    for (uint32_t d = 0; d < p->rule->ranks[t]; d++) {
        const struct sdy_dim_factors *factors = &p->rule->dims[t][d];
        struct sdy_list axes = {0, ARENA_ARRAY(p->a, struct sdy_axis, 2 * p->room + 1)};
        dims[d] = (struct sdy_dim){.priority = -1};
        for (uint32_t i = 0; i < factors->n; i++) {
            const struct sdy_along *f = &x->along[factors->v[i]];
            dims[d].closed |= f->closed;
            add_axes(p, &axes, f->axes);
            add_axes(p, &axes, f->overflow);
            if (f->overflow.n || sdy_axes_size(view(f->axes)) < p->rule->factors[factors->v[i]].size)
                break;
        }
        dims[d].axes = view(axes);
    }
    *s = (struct sdy_sharding){p->mesh, p->rule->ranks[t], dims, x->replicated, x->unreduced};
    return s;
}

/* ---- conflicts --------------------------------------------------------------------------------- */

/* What of an axis no other factor of the tensor uses. */
static bool free_of_others(const struct sdy_projection *p, const struct sdy_projected *t, uint32_t factor, struct sdy_axis *x) {
    for (uint32_t i = 0; i < p->rule->nfactors; i++)
        if (i != factor && t->along[i].mapped &&
            (!sdy_axis_before_all(p->mesh, *x, view(t->along[i].overflow), x) ||
             !sdy_axis_before_all(p->mesh, *x, view(t->along[i].axes), x)))
            return false;
    return true;
}

/* What of an axis the factor of the tensor has, or can take after axes of that product. */
static bool fits_within(const struct sdy_projection *p, const struct sdy_projected *t, uint32_t factor, int64_t before,
                        struct sdy_axis *x) {
    const struct sdy_along *f = &t->along[factor];
    int64_t size = p->rule->factors[factor].size;
    if (!sdy_axis_before_all(p->mesh, *x, t->replicated, x) || !sdy_axis_before_all(p->mesh, *x, t->unreduced, x))
        return false;
    for (uint32_t i = 0; i < f->axes.n; i++)
        if (sdy_axis_contains(f->axes.v[i], *x))
            return true;
    if (!f->closed && !f->overflow.n) {
        if (f->minor)
            return true;
        if (size % before == 0) {
            int64_t common = sdy_gcd(size / before, x->size);
            if (common == x->size)
                return true;
            if (common != 1) {
                *x = sdy_axis_part(p->mesh, x->axis, x->pre, common);
                return true;
            }
        }
    }
    if (f->axes.n && sdy_axis_is_prefix(f->axes.v[f->axes.n - 1], *x)) {
        *x = f->axes.v[f->axes.n - 1];
        return true;
    }
    return false;
}

/* Keeps what all tensors can have (t = NULL), or one of them, within the factor or beside the others. */
enum against { AGAINST_WITHIN = 1, AGAINST_OTHERS = 2 };

static bool allowed(const struct sdy_projection *p, const struct sdy_projected *t, uint32_t factor, int64_t before,
                    unsigned against, struct sdy_axis *x) {
    if ((against & AGAINST_OTHERS) && !free_of_others(p, t, factor, x))
        return false;
    return !(against & AGAINST_WITHIN) || !t->along[factor].mapped || fits_within(p, t, factor, before, x);
}

static void truncate(const struct sdy_projection *p, const struct sdy_projected *only, uint32_t factor, unsigned against,
                     struct sdy_list *axes) {
    uint32_t ntensors = p->rule->noperands + p->rule->nresults;
    int64_t before = 1;
    for (uint32_t i = 0; i < axes->n; i++) {
        struct sdy_axis x = axes->v[i];
        bool fits = true;
        if (only)
            fits = allowed(p, only, factor, before, against, &x);
        for (uint32_t t = 0; t < ntensors && !only && fits; t++)
            fits = allowed(p, &p->tensors[t], factor, before, against, &x);
        if (!fits || !sdy_axis_equal(x, axes->v[i])) {
            axes->v[i] = x;
            axes->n = fits ? i + 1 : i;
            return;
        }
        before *= x.size;
    }
}

/* ---- what the tensors agree on ------------------------------------------------------------------ */

/* Extends the list `a` by b as far as they agree; `*extends`: it may become longer. */
static void agree(struct sdy_list *a, struct sdy_list b, bool *extends) {
    uint32_t i = 0;
    for (; i < a->n && i < b.n; i++) {
        struct sdy_axis old = a->v[i], new = b.v[i];
        if (sdy_axis_equal(old, new))
            continue;
        if (old.axis == new.axis && sdy_axis_is_prefix(new, old)) {
            if (i + 1 < b.n) {
                a->v[i] = new;
                a->n = i + 1;
                *extends = false;
                return;
            }
        } else if (old.axis == new.axis && sdy_axis_is_prefix(old, new)) {
            if (!*extends || i + 1 < a->n) {
                a->n = i + 1;
                *extends = false;
                return;
            }
            a->v[i] = new;
        } else {
            a->n = i;
            *extends = false;
            return;
        }
    }
    for (; *extends && i < b.n; i++)
        a->v[a->n++] = b.v[i];
}

/* The longest list that those which may extend it agree on. */
static struct sdy_list compatible(const struct sdy_projection *p, uint32_t factor, enum sdy_direction direction) {
    struct sdy_list axes = list_new(p);
    uint32_t nin = p->rule->noperands, n = nin + p->rule->nresults;
    bool extends = true, results_first = direction == SDY_BACKWARD;
    if (direction == SDY_NONE)
        return axes;
    for (int side = 0; side < 2; side++) {
        bool results = (side == 0) == results_first;
        if (side && direction != SDY_BOTH)
            extends = false;
        for (uint32_t t = results ? nin : 0; t < (results ? n : nin); t++)
            if (p->tensors[t].along[factor].mapped)
                agree(&axes, p->tensors[t].along[factor].axes, &extends);
    }
    return axes;
}

static bool extend(struct sdy_projected *t, uint32_t factor, struct sdy_list axes) {
    struct sdy_along *x = &t->along[factor];
    if (!x->mapped || prefix_of(view(x->axes), view(axes)) != PREFIX_STRICT)
        return false;
    list_set(&x->axes, view(axes));
    return true;
}

/* ---- strategies --------------------------------------------------------------------------------- */

static void basic(struct sdy_projection *p, const enum sdy_direction *directions, bool *updated) {
    for (uint32_t f = 0; f < p->rule->nfactors; f++) {
        struct sdy_list axes = compatible(p, f, directions[f]);
        truncate(p, NULL, f, AGAINST_WITHIN | AGAINST_OTHERS, &axes);
        for (uint32_t t = 0; t < p->rule->noperands + p->rule->nresults; t++)
            updated[t] |= extend(&p->tensors[t], f, axes);
    }
}

/* Where the axes of a factor come from: the largest tensor that has them. */
struct source {
    int64_t size, parts, tensor;
};

static void find_sources(const struct sdy_projection *p, const struct sdy_list *axes, bool elementwise,
                         struct source *sources) {
    const struct sdy_rule *r = p->rule;
    for (uint32_t f = 0; f < r->nfactors; f++)
        sources[f] = (struct source){-1, elementwise ? sdy_axes_size(view(axes[f])) : 0, -1};
    for (uint32_t t = 0; t < r->noperands + r->nresults; t++) {
        int64_t size = 1;
        for (uint32_t f = 0; f < r->nfactors; f++)
            if (p->tensors[t].along[f].mapped && __builtin_mul_overflow(size, r->factors[f].size, &size))
                size = INT64_MAX;
        for (uint32_t f = 0; f < r->nfactors; f++)
            if (p->tensors[t].along[f].mapped && axes[f].n && size > sources[f].size &&
                prefix_of(view(axes[f]), view(p->tensors[t].along[f].axes)) != PREFIX_NOT) {
                sources[f].size = size;
                sources[f].tensor = t;
            }
    }
}

static bool comes_before(const struct source *s, uint32_t a, uint32_t b) {
    if (s[a].size != s[b].size)
        return s[a].size > s[b].size;
    if (s[a].parts != s[b].parts)
        return s[a].parts > s[b].parts;
    return s[a].tensor != s[b].tensor ? s[a].tensor < s[b].tensor : a < b;
}

/* What tensor t can take of the axes of a factor; none where nothing is new. */
static struct sdy_list takes(const struct sdy_projection *p, uint32_t t, uint32_t factor, struct sdy_list axes) {
    struct sdy_list out = list_new(p);
    const struct sdy_projected *x = &p->tensors[t];
    if (!x->along[factor].mapped)
        return out;
    list_set(&out, view(axes));
    truncate(p, x, factor, AGAINST_WITHIN, &out);
    if (prefix_of(view(x->along[factor].axes), view(out)) != PREFIX_STRICT)
        out.n = 0;
    else
        truncate(p, x, factor, AGAINST_OTHERS, &out);
    return out;
}

/* Operands of an elementwise op get from each other only what a result has. */
static void limit_to_results(const struct sdy_projection *p, uint32_t factor, struct sdy_list *axes) {
    for (uint32_t t = p->rule->noperands; t < p->rule->noperands + p->rule->nresults; t++) {
        const struct sdy_along *x = &p->tensors[t].along[factor];
        if (x->mapped && prefix_of(view(x->axes), view(*axes)) == PREFIX_STRICT)
            list_set(axes, view(x->axes));
    }
}

static void aggressive(struct sdy_projection *p, const enum sdy_direction *directions, bool elementwise, bool *updated) {
    uint32_t n = p->rule->nfactors, nin = p->rule->noperands, nout = p->rule->nresults;
    struct sdy_list *axes = ARENA_ARRAY(p->a, struct sdy_list, n + 1);
    struct source *sources = ARENA_ARRAY(p->a, struct source, n + 1);
    uint32_t *order = ARENA_ARRAY(p->a, uint32_t, n + 1);
    bool any = false;
    for (uint32_t f = 0; f < n; f++) {
        axes[f] = compatible(p, f, directions[f]);
        any |= axes[f].n > 0;
    }
    if (!any)
        return;
    find_sources(p, axes, elementwise, sources);
    for (uint32_t f = 0; f < n; f++) {
        uint32_t at = f;
        for (; at && comes_before(sources, f, order[at - 1]); at--)
            order[at] = order[at - 1];
        order[at] = f;
    }
    for (uint32_t i = 0; i < nin + nout; i++) {
        bool result = i < nout;
        uint32_t t = result ? nin + i : i - nout;
        for (uint32_t k = 0; k < n; k++) {
            struct sdy_list new = takes(p, t, order[k], axes[order[k]]);
            if (new.n && !result && elementwise)
                limit_to_results(p, order[k], &new);
            if (new.n)
                updated[t] |= extend(&p->tensors[t], order[k], new);
        }
    }
}

void sdy_propagate_factors(struct sdy_projection *p, enum sdy_strategy strategy, const enum sdy_direction *directions,
                           bool elementwise, bool *updated) {
    for (uint32_t t = 0; t < p->rule->noperands + p->rule->nresults; t++)
        updated[t] = false;
    if (strategy == SDY_BASIC)
        basic(p, directions, updated);
    else
        aggressive(p, directions, elementwise, updated);
}
