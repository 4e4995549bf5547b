/* From one sharding to another (openxla/shardy, reshard_to_collectives); see spmd.h.
 *
 * Both lists of axes are cut into parts that either has whole or not at all. Then: slices along axes that are new, which shrink
 * the value and move nothing; a permutation that brings axes that leave a dimension to its end; all-to-alls of axes that go to
 * another dimension; a permutation into the wanted order; all-gathers of axes that are not wanted. Where both shardings have as
 * many parts in each dimension, one permutation is all. Where a dimension's size is no multiple of its parts, the last ones end
 * in padding, which is added before the first slice of the dimension, and cut off after the last gather. Parts of parts begin
 * where parts do only if padding is the same: else the dimension is gathered whole between.
 *
 * Along unreduced axes each partition has a part of a sum. What is not wanted so is summed first, which may divide it; what is
 * to be a part of a sum becomes one last: the first partition keeps the value, the others get zeros, or each fills up its
 * shard. */
#include "opt/spmd.h"

#include "base/fp.h"

#include <inttypes.h>

struct list {
    uint32_t n;
    struct sdy_axis v[SPMD_AXES];
};

enum step_kind { STEP_SLICE, STEP_PERMUTE, STEP_ALL_TO_ALL, STEP_GATHER };

struct step {
    enum step_kind kind;
    uint32_t dim, to;                               /* all-to-all: from `dim` to `to` */
    struct list axes;                               /* that are gathered or moved */
    const struct sdy_sharding *before, *after;
};

struct plan {
    struct spmd *p;
    const struct sdy_mesh *mesh;
    const struct ir_type_data *type;
    struct list *now, *want;                        /* by dimension */
    struct sdy_axes partial;                        /* of sums, before and after */
    struct { struct step *v; uint32_t n, cap; } steps;
    double cost;
};

/* ---- meshes --------------------------------------------------------------------------------------- */

static int64_t mesh_size(const struct sdy_mesh *mesh) {
    int64_t n = 1;
    for (uint32_t i = 0; i < mesh->naxes; i++)
        n *= mesh->axes[i].size;
    return mesh->naxes == 0 && mesh->ndevices ? mesh->ndevices : n;
}

hilo_status spmd_check_mesh(const struct spmd *p, ir_op op, const struct sdy_mesh *mesh) {
    int64_t n = mesh_size(mesh);
    bool sound = n == 1 || (n == p->partitions && (!mesh->ndevices || mesh->ndevices == p->partitions));
    bool *seen = ARENA_ARRAY(p->a, bool, p->partitions);
    for (uint32_t i = 0; i < mesh->ndevices && sound && n > 1; i++) {
        sound = mesh->devices[i] >= 0 && mesh->devices[i] < p->partitions && !seen[mesh->devices[i]];
        if (sound)
            seen[mesh->devices[i]] = true;
    }
    return sound ? HILO_OK
                 : ir_op_error(p->m, p->o->d, op, HILO_INVALID_ARGUMENT, NULL,
                               "has a sharding over a mesh of %" PRId64 " devices, but the program has %" PRIu32 " partitions",
                               n, p->partitions);
}

static int64_t device_at(const struct sdy_mesh *mesh, int64_t position) {
    return mesh->ndevices ? mesh->devices[position] : position;
}

/* How far apart neighbours along an axis are. */
static int64_t stride_of(const struct sdy_mesh *mesh, struct sdy_axis x) {
    int64_t stride = mesh->axes[x.axis].size / (x.pre * x.size);
    for (uint32_t i = x.axis + 1; i < mesh->naxes; i++)
        stride *= mesh->axes[i].size;
    return stride;
}

const int32_t *spmd_held(struct spmd *p, const struct sdy_mesh *mesh, struct sdy_axes axes) {
    int32_t *held = ARENA_ARRAY(p->a, int32_t, p->partitions);
    for (int64_t at = 0; mesh && axes.n && at < p->partitions; at++) {
        int64_t part = 0;
        for (uint32_t i = 0; i < axes.n; i++)
            part = part * axes.v[i].size + at / stride_of(mesh, axes.v[i]) % axes.v[i].size;
        held[device_at(mesh, at)] = (int32_t)part;
    }
    return held;
}

int32_t *spmd_partners(struct spmd *p, const struct sdy_mesh *mesh, struct sdy_axes axes, const int32_t *part) {
    int32_t *out = ARENA_ARRAY(p->a, int32_t, p->partitions);
    for (int64_t at = 0; at < p->partitions; at++) {
        int64_t self = device_at(mesh, at), other = at, rest = part[self];
        for (uint32_t i = axes.n; i-- > 0; rest /= axes.v[i].size) {
            int64_t stride = stride_of(mesh, axes.v[i]), size = axes.v[i].size;
            other += (rest % size - at / stride % size) * stride;
        }
        out[self] = part[self] < 0 ? -1 : (int32_t)device_at(mesh, other);
    }
    return out;
}

/* Groups of partitions along these axes, in their order. `global`: each group once for every replica, by ids of all
   processes. */
static ir_attr groups_along(struct spmd *p, const struct sdy_mesh *mesh, struct sdy_axes axes, bool global) {
    int64_t n = sdy_axes_size(axes), replicas = global ? p->replicas : 1, rows = p->partitions / n, row = 0;
    int64_t *ids = ARENA_ARRAY(p->a, int64_t, (size_t)replicas * p->partitions), dims[2] = {replicas * rows, n};
    for (int64_t at = 0; at < p->partitions; at++) {
        bool first = true;
        for (uint32_t i = 0; i < axes.n; i++)
            first &= at / stride_of(mesh, axes.v[i]) % axes.v[i].size == 0;
        for (int64_t k = 0; first && k < n; k++) {
            int64_t member = at, rest = k;
            for (uint32_t i = axes.n; i-- > 0; rest /= axes.v[i].size)
                member += rest % axes.v[i].size * stride_of(mesh, axes.v[i]);
            for (int64_t r = 0; r < replicas; r++)
                ids[(r * rows + row) * n + k] = r * p->partitions + device_at(mesh, member);
        }
        row += first;
    }
    return ir_attr_dense_i64s(p->m, ids, dims, 2);
}

/* ---- shardings ------------------------------------------------------------------------------------ */

const struct sdy_sharding *spmd_even(struct spmd *p, const struct sdy_sharding *s, const struct ir_type_data *t) {
    struct sdy_dim *dims;
    bool any = false;
    if (!s || !ir_type_is_shaped(t) || t->rank != s->rank || t->quant || sdy_mesh_empty(s->mesh) || sdy_mesh_maximal(s->mesh))
        return NULL;
    struct sdy_sharding *out = sdy_sharding_copy(p->a, s, &dims);
    out->replicated = (struct sdy_axes){0, NULL};
    any = out->unreduced.n > 0;
    for (uint32_t d = 0; d < s->rank; d++) {
        struct sdy_axis *v = ARENA_ARRAY(p->a, struct sdy_axis, dims[d].axes.n + 1);
        int64_t size = t->dims[d] == IR_DYNAMIC ? 1 : t->dims[d];
        uint32_t n = 0;
        for (uint32_t i = 0; i < dims[d].axes.n; i++) {
            struct sdy_axis x = dims[d].axes.v[i];
            int64_t common = size ? sdy_gcd(x.size, size) : x.size;
            if (common > 1)
                sdy_axes_append(s->mesh, v, &n, sdy_axis_part(s->mesh, x.axis, x.pre, common));
            if (common != x.size)
                break;
            size /= common;
        }
        dims[d] = (struct sdy_dim){.axes = {n, v}, .closed = true, .priority = -1};
        any |= n > 0;
    }
    return any ? out : NULL;
}

/* The size of a part; the last ones may have less. */
static int64_t part_size(int64_t size, int64_t parts) {
    return size / parts + (size % parts != 0);
}

const struct sdy_sharding *spmd_parts(struct spmd *p, const struct sdy_sharding *s, const struct ir_type_data *t) {
    const struct sdy_sharding *even = spmd_even(p, s, t);
    struct sdy_dim *dims;
    bool any = even != NULL;
    if (!s || !ir_type_is_shaped(t) || t->rank != s->rank || t->quant || sdy_mesh_empty(s->mesh) || sdy_mesh_maximal(s->mesh))
        return NULL;
    struct sdy_sharding *out = sdy_sharding_copy(p->a, even ? even : s, &dims);
    out->replicated = (struct sdy_axes){0, NULL};
    for (uint32_t d = 0; d < s->rank; d++) {
        struct sdy_axes none = {0, NULL}, all = s->dims[d].axes, some = even ? even->dims[d].axes : none;
        bool fits = t->dims[d] != IR_DYNAMIC && t->dims[d] <= INT32_MAX - (int64_t)p->partitions; /* where parts begin */
        bool smaller = fits && part_size(t->dims[d], sdy_axes_size(all)) < part_size(t->dims[d], sdy_axes_size(some));
        dims[d] = (struct sdy_dim){.axes = smaller ? all : some, .closed = true, .priority = -1};
        any |= smaller;
    }
    return any ? out : NULL;
}

bool spmd_is_uneven(const struct sdy_sharding *s, uint32_t dim, int64_t size) {
    return s && size % sdy_dim_parts(&s->dims[dim]);
}

bool spmd_equal(const struct sdy_sharding *a, const struct sdy_sharding *b) {
    if (a == b)
        return true;
    if (!a || !b || a->rank != b->rank || !sdy_mesh_equal(a->mesh, b->mesh) || !sdy_axes_equal(a->unreduced, b->unreduced))
        return false;
    for (uint32_t d = 0; d < a->rank; d++)
        if (!sdy_axes_equal(a->dims[d].axes, b->dims[d].axes))
            return false;
    return true;
}

ir_type spmd_local_type(struct spmd *p, ir_type global, const struct sdy_sharding *s) {
    const struct ir_type_data *t = ir_type_get(p->m, global);
    int64_t dims[IR_MAX_RANK];
    if (!s)
        return global;
    for (uint32_t d = 0; d < t->rank; d++)
        dims[d] = s->dims[d].axes.n ? part_size(t->dims[d], sdy_dim_parts(&s->dims[d])) : t->dims[d];
    return ir_type_with_dims(p->m, global, dims, t->rank);
}

/* ---- lists of axes -------------------------------------------------------------------------------- */

static struct sdy_axes view(const struct list *l) {
    return (struct sdy_axes){l->n, l->v};
}

static bool list_has(const struct list *l, struct sdy_axis x) {
    for (uint32_t i = 0; i < l->n; i++)
        if (sdy_axis_equal(l->v[i], x))
            return true;
    return false;
}

static void list_add(struct list *l, struct sdy_axis x) {
    if (l->n < SPMD_AXES)
        l->v[l->n++] = x;
}

static void list_remove(struct list *l, struct sdy_axis x) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < l->n; i++)
        if (!sdy_axis_equal(l->v[i], x))
            l->v[n++] = l->v[i];
    l->n = n;
}

static bool list_equal(const struct list *a, const struct list *b) {
    return sdy_axes_equal(view(a), view(b));
}

static bool list_is_prefix(const struct list *a, const struct list *of) {
    return a->n <= of->n && sdy_axes_equal(view(a), (struct sdy_axes){a->n, of->v});
}

/* Where an axis of a mesh is cut, ascending: products of major parts. */
struct cuts {
    uint32_t n;
    int64_t at[4 * SPMD_AXES];
};

static void cut_at(struct cuts *c, int64_t at) {
    uint32_t i = c->n;
    for (uint32_t k = 0; k < c->n; k++)
        if (c->at[k] == at)
            return;
    if (c->n == sizeof c->at / sizeof *c->at)
        return;
    for (; i && c->at[i - 1] > at; i--)
        c->at[i] = c->at[i - 1];
    c->at[i] = at;
    c->n++;
}

static void cut_axes(struct cuts *cuts, struct sdy_axes axes) {
    for (uint32_t i = 0; i < axes.n; i++) {
        cut_at(&cuts[axes.v[i].axis], axes.v[i].pre);
        cut_at(&cuts[axes.v[i].axis], axes.v[i].pre * axes.v[i].size);
    }
}

static void cut_sharding(struct cuts *cuts, const struct sdy_sharding *s) {
    for (uint32_t d = 0; s && d < s->rank; d++)
        cut_axes(cuts, s->dims[d].axes);
}

/* False where the parts of two axes do not fit together. */
static bool list_cut(const struct cuts *cuts, const struct sdy_mesh *mesh, struct sdy_axes axes, struct list *out) {
    out->n = 0;
    for (uint32_t i = 0; i < axes.n; i++) {
        struct sdy_axis x = axes.v[i];
        const struct cuts *c = &cuts[x.axis];
        int64_t from = x.pre;
        for (uint32_t k = 0; k < c->n; k++) {
            if (c->at[k] <= from || c->at[k] > x.pre * x.size)
                continue;
            if (c->at[k] % from || out->n == SPMD_AXES)
                return false;
            list_add(out, sdy_axis_part(mesh, x.axis, from, c->at[k] / from));
            from = c->at[k];
        }
    }
    return true;
}

/* With parts of an axis that follow each other merged. */
static const struct sdy_sharding *sharding_of(const struct plan *l, const struct list *lists) {
    struct sdy_sharding *out = ARENA_NEW(l->p->a, struct sdy_sharding);
    struct sdy_dim *dims = ARENA_ARRAY(l->p->a, struct sdy_dim, l->type->rank + 1);
    bool any = l->partial.n > 0;
    for (uint32_t d = 0; d < l->type->rank; d++) {
        struct sdy_axis *v = ARENA_ARRAY(l->p->a, struct sdy_axis, lists[d].n + 1);
        uint32_t n = 0;
        for (uint32_t i = 0; i < lists[d].n; i++)
            sdy_axes_append(l->mesh, v, &n, lists[d].v[i]);
        dims[d] = (struct sdy_dim){.axes = {n, v}, .closed = true, .priority = -1};
        any |= n > 0;
    }
    *out = (struct sdy_sharding){.mesh = l->mesh, .rank = l->type->rank, .dims = dims, .unreduced = l->partial};
    return any ? out : NULL;
}

/* ---- the plan ------------------------------------------------------------------------------------- */

/* Whether the parts of a dimension that is not divided, or each of `from` parts, can be divided into what is one of `to`. */
static bool nests(int64_t size, int64_t from, int64_t to) {
    return from == 1 || part_size(size, to) * (to / from) == part_size(size, from);
}

/* Whether dimension d, in `from` parts, can be divided by n more. */
static bool can_divide(const struct plan *l, uint32_t d, int64_t from, int64_t n) {
    return nests(l->type->dims[d], from, sdy_axes_size(view(&l->now[d])) * n);
}

static double bits_of(const struct spmd *p, const struct ir_type_data *t) {
    (void)p;
    double bits = ir_dtype_get(t->dtype)->bits;
    for (uint32_t d = 0; d < t->rank; d++)
        bits *= (double)t->dims[d];
    return bits;
}

/* Bytes of the value as it is now. */
static double bytes_now(const struct plan *l) {
    double bytes = bits_of(l->p, l->type) / 8;
    for (uint32_t d = 0; d < l->type->rank; d++)
        bytes /= (double)sdy_axes_size(view(&l->now[d]));
    return bytes;
}

/* Begins a step, which is from what is now. */
static struct step *step_begin(struct plan *l, enum step_kind kind) {
    struct step s = {.kind = kind, .before = sharding_of(l, l->now)};
    ARENA_PUSH(l->p->a, &l->steps, s);
    return &l->steps.v[l->steps.n - 1];
}

static void step_end(struct plan *l) {
    l->steps.v[l->steps.n - 1].after = sharding_of(l, l->now);
}

static bool is_used(const struct plan *l, struct sdy_axis x) {
    for (uint32_t d = 0; d < l->type->rank; d++)
        if (list_has(&l->now[d], x))
            return true;
    return false;
}

/* Slices along wanted axes that nothing has yet. Before the rest: only those that are in order where they are then. */
static void plan_slice(struct plan *l, bool all) {
    bool begun = false;
    for (uint32_t d = 0; d < l->type->rank; d++) {
        int64_t from = sdy_axes_size(view(&l->now[d]));
        for (uint32_t i = 0; i < l->want[d].n; i++) {
            struct sdy_axis x = l->want[d].v[i];
            if (list_has(&l->now[d], x))
                continue;
            if (is_used(l, x)) {
                if (all)
                    continue;
                break;
            }
            if (!can_divide(l, d, from, x.size))
                break;
            if (!begun)
                step_begin(l, STEP_SLICE);
            begun = true;
            list_add(&l->now[d], x);
        }
    }
    if (begun)
        step_end(l);
}

/* What each dimension keeps in its wanted order, then what is to be gathered, then what goes to other dimensions. */
static void plan_permute(struct plan *l) {
    struct list *next = ARENA_ARRAY(l->p->a, struct list, l->type->rank + 1);
    bool same = true;
    for (uint32_t d = 0; d < l->type->rank; d++) {
        for (uint32_t i = 0; i < l->want[d].n; i++)
            if (list_has(&l->now[d], l->want[d].v[i]))
                list_add(&next[d], l->want[d].v[i]);
        for (uint32_t i = 0; i < l->now[d].n; i++) {
            bool wanted = false;
            for (uint32_t e = 0; e < l->type->rank; e++)
                wanted |= list_has(&l->want[e], l->now[d].v[i]);
            if (!wanted)
                list_add(&next[d], l->now[d].v[i]);
        }
        for (uint32_t e = 0; e < l->type->rank; e++)
            for (uint32_t i = 0; i < l->want[e].n && e != d; i++)
                if (list_has(&l->now[d], l->want[e].v[i]))
                    list_add(&next[d], l->want[e].v[i]);
        same &= list_equal(&next[d], &l->now[d]);
    }
    if (same)
        return;
    step_begin(l, STEP_PERMUTE);
    l->cost += bytes_now(l);
    l->now = next;
    step_end(l);
}

/* The last axes of a dimension that `want` of dimension `e` has; without e: that no dimension wants. */
static struct list suffix_for(const struct plan *l, uint32_t d, const struct list *want) {
    struct list out = {0};
    uint32_t n = l->now[d].n;
    while (n) {
        bool is = want && list_has(want, l->now[d].v[n - 1]);
        if (!want) {
            is = true;
            for (uint32_t e = 0; e < l->type->rank; e++)
                is &= !list_has(&l->want[e], l->now[d].v[n - 1]);
        }
        if (!is)
            break;
        n--;
    }
    for (uint32_t i = n; i < l->now[d].n; i++)
        list_add(&out, l->now[d].v[i]);
    return out;
}

/* The whole dimension, where what the axes leave does not begin where its parts do. */
static void plan_gather(struct plan *l, uint32_t d, const struct list *axes) {
    if (!axes->n)
        return;
    int64_t parts = sdy_axes_size(view(&l->now[d])), n = sdy_axes_size(view(axes));
    bool whole = !nests(l->type->dims[d], parts / n, parts);
    struct step *s = step_begin(l, STEP_GATHER);
    s->dim = d;
    s->axes = whole ? l->now[d] : *axes;
    l->cost += bytes_now(l) * (double)(sdy_axes_size(view(&s->axes)) - 1);
    l->now[d].n -= s->axes.n;
    step_end(l);
}

/* Moves what ends a dimension and another one wants; gathers it where the other cannot be divided so, yet. */
static bool plan_move(struct plan *l, uint32_t d) {
    for (uint32_t e = 0; e < l->type->rank; e++) {
        struct list axes = suffix_for(l, d, &l->want[e]);
        if (e == d || !axes.n)
            continue;
        int64_t n = sdy_axes_size(view(&axes)), parts = sdy_axes_size(view(&l->now[d]));
        if (!can_divide(l, e, sdy_axes_size(view(&l->now[e])), n) || !nests(l->type->dims[d], parts / n, parts)) {
            plan_gather(l, d, &axes);
            return true;
        }
        struct step *s = step_begin(l, STEP_ALL_TO_ALL);
        s->dim = d;
        s->to = e;
        s->axes = axes;
        l->cost += bytes_now(l) * (double)(n - 1) / (double)n;
        l->now[d].n -= axes.n;
        for (uint32_t i = 0; i < axes.n; i++)
            list_add(&l->now[e], axes.v[i]);
        step_end(l);
        return true;
    }
    return false;
}

static bool is_done(const struct plan *l) {
    bool done = true;
    for (uint32_t d = 0; d < l->type->rank; d++)
        done &= list_equal(&l->now[d], &l->want[d]);
    return done;
}

/* Gathers all, slices. For different meshes, and parts of axes that do not fit together. */
static void plan_all(struct plan *l, const struct sdy_sharding *from, const struct sdy_sharding *to) {
    l->steps.n = 0;
    l->cost = 0;
    for (uint32_t d = 0; d < l->type->rank; d++) {
        l->now[d].n = 0;
        for (uint32_t i = 0; from && i < from->dims[d].axes.n; i++)
            list_add(&l->now[d], from->dims[d].axes.v[i]);
    }
    for (uint32_t d = 0; from && d < l->type->rank; d++) {
        struct list all = l->now[d];
        plan_gather(l, d, &all);
    }
    if (!to)
        return;
    l->mesh = to->mesh;
    step_begin(l, STEP_SLICE)->after = to;
    l->steps.v[l->steps.n - 1].before = NULL;
}

static bool same_parts(const struct sdy_sharding *a, const struct sdy_sharding *b, uint32_t rank) {
    for (uint32_t d = 0; d < rank; d++)
        if ((a ? sdy_dim_parts(&a->dims[d]) : 1) != (b ? sdy_dim_parts(&b->dims[d]) : 1))
            return false;
    return true;
}

static struct sdy_axes partial_of(const struct sdy_sharding *s) {
    return s ? s->unreduced : (struct sdy_axes){0, NULL};
}

/* Both shardings are of partial sums along the same axes. */
static struct plan plan_of(struct spmd *p, ir_type global, const struct sdy_sharding *from, const struct sdy_sharding *to) {
    const struct ir_type_data *t = ir_type_get(p->m, global);
    struct plan l = {.p = p, .mesh = from ? from->mesh : to ? to->mesh : NULL, .type = t, .partial = partial_of(from)};
    bool fits = true;
    if (spmd_equal(from, to))
        return l;
    l.now = ARENA_ARRAY(p->a, struct list, t->rank + 1);
    l.want = ARENA_ARRAY(p->a, struct list, t->rank + 1);
    if (from && to && same_parts(from, to, t->rank)) {
        struct step s = {.kind = STEP_PERMUTE, .before = from, .after = to};
        ARENA_PUSH(p->a, &l.steps, s);
        l.cost = bits_of(p, t) / 8;
        for (uint32_t d = 0; d < t->rank; d++)
            l.cost /= (double)sdy_dim_parts(&from->dims[d]);
        return l;
    }
    struct cuts *cuts = ARENA_ARRAY(p->a, struct cuts, l.mesh->naxes + 1);
    if (from && to && !sdy_mesh_equal(from->mesh, to->mesh)) {
        plan_all(&l, from, to);
        return l;
    }
    cut_sharding(cuts, from);
    cut_sharding(cuts, to);
    for (uint32_t d = 0; d < t->rank; d++)
        fits = fits && (!from || list_cut(cuts, l.mesh, from->dims[d].axes, &l.now[d])) &&
               (!to || list_cut(cuts, l.mesh, to->dims[d].axes, &l.want[d]));
    if (!fits) {
        plan_all(&l, from, to);
        return l;
    }
    plan_slice(&l, false);
    for (bool moved = true; moved;) {
        plan_permute(&l);
        moved = false;
        for (uint32_t d = 0; d < t->rank; d++)
            while (plan_move(&l, d))
                moved = true;
    }
    for (uint32_t d = 0; d < t->rank; d++) {
        struct list axes = suffix_for(&l, d, NULL);
        plan_gather(&l, d, &axes);
    }
    plan_slice(&l, true);
    if (!is_done(&l))
        plan_permute(&l);
    if (!is_done(&l))
        plan_all(&l, from, to);
    return l;
}

/* ---- building ------------------------------------------------------------------------------------- */

ir_val spmd_make(struct spmd *p, ir_op at, enum ir_op_kind kind, const ir_val *in, uint32_t nin, ir_type type, ir_op *op) {
    ir_op made = ir_op_new(p->m, kind, in, nin, &type, 1, kind == IR_ALL_REDUCE || kind == IR_REDUCE_SCATTER);
    ir_insert_before(p->m, at, made);
    if (op)
        *op = made;
    return ir_result(p->m, made, 0);
}

/* Where partitions are replicas, groups are of these: without a channel. */
static ir_attr channel(struct spmd *p) {
    if (p->by_replica)
        return (ir_attr){0};
    ir_attr fields[] = {ir_attr_i64(p->m, 1), ir_attr_i64(p->m, 1)};
    return ir_attr_struct(p->m, IR_STRUCT_CHANNEL_HANDLE, fields);
}

static ir_attr global_ids(struct spmd *p) {
    return p->by_replica ? (ir_attr){0} : ir_attr_unit(p->m);
}

ir_val spmd_make_id(struct spmd *p, ir_op at) {
    enum ir_op_kind kind = p->by_replica ? IR_REPLICA_ID : IR_PARTITION_ID;
    return spmd_make(p, at, kind, NULL, 0, ir_type_of(p->m, IR_UI32_T, NULL, 0), NULL);
}

ir_val spmd_make_table(struct spmd *p, ir_op at, const int32_t *v, int64_t n, uint32_t rank) {
    ir_op op;
    ir_type type = ir_type_of(p->m, IR_I32_T, &n, rank);
    ir_val out = spmd_make(p, at, IR_CONSTANT, NULL, 0, type, &op);
    ir_set_prop(p->m, op, IR_CONSTANT_value, ir_attr_dense(p->m, type, v, (size_t)n * sizeof *v, false, false));
    return out;
}

ir_val spmd_begin(struct spmd *p, ir_op at, const int32_t *held, int64_t size) {
    int32_t *begins = ARENA_ARRAY(p->a, int32_t, p->partitions);
    int64_t one = 1;
    ir_val in[2];
    ir_op op;
    for (uint32_t i = 0; i < p->partitions; i++)
        begins[i] = (int32_t)(held[i] * size);
    in[0] = spmd_make_table(p, at, begins, p->partitions, 1);
    in[1] = spmd_make_id(p, at);
    ir_val part = spmd_make(p, at, IR_DYNAMIC_SLICE, in, 2, ir_type_of(p->m, IR_I32_T, &one, 1), &op);
    ir_set_prop(p->m, op, IR_DYNAMIC_SLICE_slice_sizes, ir_attr_i64s(p->m, &one, 1));
    return spmd_make(p, at, IR_RESHAPE, &part, 1, ir_type_of(p->m, IR_I32_T, NULL, 0), NULL);
}

/* The axes of dimension d that `after` has behind those of `before`. */
static struct sdy_axes added(struct spmd *p, const struct sdy_sharding *before, const struct sdy_sharding *after, uint32_t d) {
    struct sdy_axes all = after->dims[d].axes, had = before ? before->dims[d].axes : (struct sdy_axes){0, NULL};
    struct sdy_axis *v = ARENA_ARRAY(p->a, struct sdy_axis, all.n + had.n + 1);
    uint32_t n = sdy_axes_minus(after->mesh, all, had, v);
    return (struct sdy_axes){n, v};
}

/* The type with another size of a dimension. */
static ir_type sized(struct spmd *p, ir_type type, uint32_t dim, int64_t size) {
    const struct ir_type_data *t = ir_type_get(p->m, type);
    int64_t dims[IR_MAX_RANK];
    memcpy(dims, t->dims, t->rank * sizeof *dims);
    dims[dim] = size;
    return ir_type_with_dims(p->m, type, dims, t->rank);
}

ir_val spmd_make_pad(struct spmd *p, ir_op at, ir_val v, uint32_t dim, int64_t before, int64_t behind, ir_type type,
                     ir_op *op) {
    const struct ir_type_data *t = ir_type_get(p->m, type);
    int64_t none[IR_MAX_RANK] = {0}, low[IR_MAX_RANK] = {0}, high[IR_MAX_RANK] = {0};
    uint32_t rank = t->rank;
    low[dim] = before;
    high[dim] = behind;
    ir_val in[2] = {v, spmd_make_zero(p, at, ir_type_tensor(p->m, t->elem, NULL, 0, (ir_attr){0}))};
    ir_val out = spmd_make(p, at, IR_PAD, in, 2, type, op);
    ir_set_prop(p->m, *op, IR_PAD_edge_padding_low, ir_attr_i64s(p->m, low, rank));
    ir_set_prop(p->m, *op, IR_PAD_edge_padding_high, ir_attr_i64s(p->m, high, rank));
    ir_set_prop(p->m, *op, IR_PAD_interior_padding, ir_attr_i64s(p->m, none, rank));
    return out;
}

/* The value with padding behind a dimension, or without. */
static ir_val resize(struct spmd *p, ir_op at, ir_val v, uint32_t dim, int64_t size) {
    int64_t old = ir_val_type(p->m, v)->dims[dim];
    ir_op op;
    if (size <= old)
        return size < old ? spmd_make_slice(p, at, v, dim, 0, size) : v;
    return spmd_make_pad(p, at, v, dim, 0, size - old, sized(p, ir_val_get(p->m, v)->type, dim, size), &op);
}

static ir_val make_slice(struct spmd *p, ir_op at, ir_val v, ir_type type, const struct step *s) {
    const struct ir_type_data *t = ir_type_get(p->m, type);
    static const int32_t zero = 0;
    ir_val in[IR_MAX_RANK + 1];
    for (uint32_t d = 0; d < t->rank; d++)
        v = resize(p, at, v, d, t->dims[d] * sdy_axes_size(added(p, s->before, s->after, d)));
    in[0] = v;
    for (uint32_t d = 0; d < t->rank; d++) {
        struct sdy_axes axes = added(p, s->before, s->after, d);
        in[d + 1] = axes.n ? spmd_begin(p, at, spmd_held(p, s->after->mesh, axes), t->dims[d])
                           : spmd_make_table(p, at, &zero, 1, 0);
    }
    ir_op op;
    ir_val out = spmd_make(p, at, IR_DYNAMIC_SLICE, in, t->rank + 1, type, &op);
    ir_set_prop(p->m, op, IR_DYNAMIC_SLICE_slice_sizes, ir_attr_i64s(p->m, t->dims, t->rank));
    return out;
}

static ir_val make_gather(struct spmd *p, ir_op at, ir_val v, ir_type type, const struct step *s) {
    ir_op op;
    int64_t size = ir_val_type(p->m, v)->dims[s->dim] * sdy_axes_size(view(&s->axes));
    ir_val out = spmd_make(p, at, IR_ALL_GATHER, &v, 1, sized(p, type, s->dim, size), &op);
    ir_set_prop(p->m, op, IR_ALL_GATHER_all_gather_dim, ir_attr_i64(p->m, s->dim));
    ir_set_prop(p->m, op, IR_ALL_GATHER_replica_groups, groups_along(p, s->before->mesh, view(&s->axes), true));
    ir_set_prop(p->m, op, IR_ALL_GATHER_channel_handle, channel(p));
    ir_set_prop(p->m, op, IR_ALL_GATHER_use_global_device_ids, global_ids(p));
    return resize(p, at, out, s->dim, ir_type_get(p->m, type)->dims[s->dim]);
}

static ir_val make_all_to_all(struct spmd *p, ir_op at, ir_val v, ir_type type, const struct step *s) {
    ir_op op;
    int64_t n = sdy_axes_size(view(&s->axes)), size = ir_val_type(p->m, v)->dims[s->dim] * n;
    v = resize(p, at, v, s->to, ir_type_get(p->m, type)->dims[s->to] * n);
    ir_val out = spmd_make(p, at, IR_ALL_TO_ALL, &v, 1, sized(p, type, s->dim, size), &op);
    ir_set_prop(p->m, op, IR_ALL_TO_ALL_split_dimension, ir_attr_i64(p->m, s->to));
    ir_set_prop(p->m, op, IR_ALL_TO_ALL_concat_dimension, ir_attr_i64(p->m, s->dim));
    ir_set_prop(p->m, op, IR_ALL_TO_ALL_split_count, ir_attr_i64(p->m, n));
    ir_set_prop(p->m, op, IR_ALL_TO_ALL_replica_groups, groups_along(p, s->before->mesh, view(&s->axes), false));
    ir_set_prop(p->m, op, IR_ALL_TO_ALL_channel_handle, channel(p));
    return resize(p, at, out, s->dim, ir_type_get(p->m, type)->dims[s->dim]);
}

/* The number of the part of the sum and of all dimensions that each partition has. */
static int64_t *tiles_of(struct spmd *p, const struct sdy_sharding *s) {
    int64_t *tiles = ARENA_ARRAY(p->a, int64_t, p->partitions);
    const int32_t *term = spmd_held(p, s->mesh, s->unreduced);
    for (uint32_t i = 0; i < p->partitions; i++)
        tiles[i] = term[i];
    for (uint32_t d = 0; d < s->rank; d++) {
        const int32_t *held = spmd_held(p, s->mesh, s->dims[d].axes);
        for (uint32_t i = 0; i < p->partitions; i++)
            tiles[i] = tiles[i] * sdy_dim_parts(&s->dims[d]) + held[i];
    }
    return tiles;
}

ir_val spmd_make_permute(struct spmd *p, ir_op at, ir_val v, const int64_t *pairs, int64_t n) {
    ir_op op;
    ir_val out = spmd_make(p, at, IR_COLLECTIVE_PERMUTE, &v, 1, ir_val_get(p->m, v)->type, &op);
    ir_set_prop(p->m, op, IR_COLLECTIVE_PERMUTE_source_target_pairs, ir_attr_dense_i64s(p->m, pairs, (int64_t[]){n, 2}, 2));
    ir_set_prop(p->m, op, IR_COLLECTIVE_PERMUTE_channel_handle, channel(p));
    return out;
}

ir_val spmd_make_broadcast(struct spmd *p, ir_op at, ir_val v, uint32_t from) {
    int64_t *ids = ARENA_ARRAY(p->a, int64_t, p->partitions), dims[2] = {1, p->partitions};
    ir_op op;
    for (uint32_t i = 0; i < p->partitions; i++)
        ids[i] = i == 0 ? from : i - (i <= from);
    ir_val out = spmd_make(p, at, IR_COLLECTIVE_BROADCAST, &v, 1, ir_val_get(p->m, v)->type, &op);
    ir_set_prop(p->m, op, IR_COLLECTIVE_BROADCAST_replica_groups, ir_attr_dense_i64s(p->m, ids, dims, 2));
    ir_set_prop(p->m, op, IR_COLLECTIVE_BROADCAST_channel_handle, channel(p));
    return out;
}

/* Who has what it needs keeps it; every other partition gets it from one that sends nothing else. */
static ir_val make_permute(struct spmd *p, ir_op at, ir_val v, ir_type type, const struct step *s) {
    (void)type;
    int64_t *has = tiles_of(p, s->before), *needs = tiles_of(p, s->after);
    int64_t *pairs = ARENA_ARRAY(p->a, int64_t, 2 * (size_t)p->partitions);
    bool *sends = ARENA_ARRAY(p->a, bool, p->partitions), moved = false;
    for (uint32_t to = 0; to < p->partitions; to++)
        sends[to] = has[to] == needs[to];
    for (uint32_t to = 0; to < p->partitions; to++) {
        uint32_t from = to;
        if (has[to] != needs[to]) {
            for (from = 0; from < p->partitions; from++)
                if (!sends[from] && has[from] == needs[to] && p->group[from] == p->group[to])
                    break;
            sends[from] = moved = true;
        }
        pairs[2 * to] = from;
        pairs[2 * to + 1] = to;
    }
    if (!moved)
        return v;
    return spmd_make_permute(p, at, v, pairs, p->partitions);
}

/* A value without elements. */
static ir_val make_empty(struct spmd *p, ir_op at, ir_type type) {
    ir_op op;
    ir_val out = spmd_make(p, at, IR_CONSTANT, NULL, 0, type, &op);
    ir_set_prop(p->m, op, IR_CONSTANT_value, ir_attr_dense(p->m, type, NULL, 0, false, false));
    return out;
}

static ir_val make_plan(struct spmd *p, ir_op at, ir_val v, ir_type global, const struct plan *l,
                        const struct sdy_sharding *to) {
    static ir_val (*const make[])(struct spmd *, ir_op, ir_val, ir_type, const struct step *) = {
        [STEP_SLICE] = make_slice, [STEP_PERMUTE] = make_permute, [STEP_ALL_TO_ALL] = make_all_to_all,
        [STEP_GATHER] = make_gather};
    size_t count;
    if (l->steps.n && ir_type_count(l->type, &count) && count == 0)
        return make_empty(p, at, spmd_local_type(p, global, to));
    for (uint32_t i = 0; i < l->steps.n; i++)
        v = make[l->steps.v[i].kind](p, at, v, spmd_local_type(p, global, l->steps.v[i].after), &l->steps.v[i]);
    return v;
}

/* ---- sums ----------------------------------------------------------------------------------------- */

/* Which of the axes a dimension goes on with, by dimension; what is left in `rest`. False where parts do not fit together. */
static bool scattered(struct plan *l, struct sdy_axes axes, const struct sdy_sharding *from, const struct sdy_sharding *to,
                      struct list *along, struct list *rest) {
    struct cuts *cuts = ARENA_ARRAY(l->p->a, struct cuts, l->mesh->naxes + 1);
    bool fits = true, meshes = !to || sdy_mesh_equal(to->mesh, l->mesh);
    cut_sharding(cuts, from);
    cut_axes(cuts, axes);
    if (meshes)
        cut_sharding(cuts, to);
    for (uint32_t d = 0; d < l->type->rank; d++)
        fits = fits && (!from || list_cut(cuts, l->mesh, from->dims[d].axes, &l->now[d])) &&
               (!to || !meshes || list_cut(cuts, l->mesh, to->dims[d].axes, &l->want[d]));
    if (!fits || !list_cut(cuts, l->mesh, axes, rest))
        return false;
    for (uint32_t d = 0; d < l->type->rank; d++) {
        if (!list_is_prefix(&l->now[d], &l->want[d]))
            continue;
        int64_t parts = sdy_axes_size(view(&l->now[d]));
        for (uint32_t i = l->now[d].n; i < l->want[d].n && list_has(rest, l->want[d].v[i]); i++) {
            if (l->type->dims[d] % (parts *= l->want[d].v[i].size))
                break;
            list_add(&along[d], l->want[d].v[i]);
            list_remove(rest, l->want[d].v[i]);
        }
    }
    return true;
}

static void add_body(struct spmd *p, ir_op op, enum ir_op_kind kind, ir_type elem) {
    ir_type scalar = ir_type_tensor(p->m, elem, NULL, 0, (ir_attr){0});
    ir_block b = ir_block_new(p->m, ir_op_region(p->m, op, 0));
    ir_val in[2];
    in[0] = ir_block_add_arg(p->m, b, scalar);
    in[1] = ir_block_add_arg(p->m, b, scalar);
    ir_op body = ir_op_new(p->m, kind, in, 2, &scalar, 1, 0);
    ir_append(p->m, b, body);
    ir_val out = ir_result(p->m, body, 0);
    ir_append(p->m, b, ir_op_new(p->m, IR_RETURN, &out, 1, NULL, 0, 0));
}

ir_val spmd_make_reduce(struct spmd *p, ir_op at, const ir_val *in, int64_t dim, enum ir_op_kind kind, ir_type type) {
    ir_op op = ir_op_new(p->m, IR_REDUCE, in, 2, &type, 1, 1);
    ir_insert_before(p->m, at, op);
    ir_set_prop(p->m, op, IR_REDUCE_dimensions, ir_attr_i64s(p->m, &dim, 1));
    add_body(p, op, kind, ir_type_get(p->m, type)->elem);
    return ir_result(p->m, op, 0);
}

ir_val spmd_make_zero(struct spmd *p, ir_op at, ir_type type) {
    const struct ir_dtype_info *t = ir_dtype_get(ir_type_get(p->m, type)->dtype);
    char zero[16] = {0};
    ir_op op;
    if (t->cls == IR_FLOAT || t->cls == IR_COMPLEX_CLASS) {
        uint64_t sign = fp_get(t->fp)->sign;
        size_t part = t->cls == IR_FLOAT ? t->bytes : t->bytes / 2;
        for (size_t i = 0; i < t->bytes && fp_decode(t->fp, sign) == 0; i += part) /* some formats have no negative zero */
            memcpy(zero + i, &sign, part);
    }
    ir_val out = spmd_make(p, at, IR_CONSTANT, NULL, 0, type, &op);
    ir_set_prop(p->m, op, IR_CONSTANT_value, ir_attr_dense(p->m, type, zero, t->bytes, true, false));
    return out;
}

static ir_val make_reduce_scatter(struct spmd *p, ir_op at, ir_val v, enum ir_op_kind kind, const struct sdy_mesh *mesh,
                                  uint32_t dim, struct sdy_axes axes) {
    const struct ir_type_data *t = ir_val_type(p->m, v);
    int64_t dims[IR_MAX_RANK];
    ir_op op;
    memcpy(dims, t->dims, t->rank * sizeof *dims);
    dims[dim] /= sdy_axes_size(axes);
    ir_type elem = t->elem;
    ir_val out = spmd_make(p, at, IR_REDUCE_SCATTER, &v, 1,
                           ir_type_with_dims(p->m, ir_val_get(p->m, v)->type, dims, t->rank), &op);
    ir_set_prop(p->m, op, IR_REDUCE_SCATTER_scatter_dimension, ir_attr_i64(p->m, dim));
    ir_set_prop(p->m, op, IR_REDUCE_SCATTER_replica_groups, groups_along(p, mesh, axes, true));
    ir_set_prop(p->m, op, IR_REDUCE_SCATTER_channel_handle, channel(p));
    ir_set_prop(p->m, op, IR_REDUCE_SCATTER_use_global_device_ids, global_ids(p));
    add_body(p, op, kind, elem);
    return out;
}

static ir_val make_all_reduce(struct spmd *p, ir_op at, ir_val v, enum ir_op_kind kind, const struct sdy_mesh *mesh,
                              struct sdy_axes axes) {
    ir_op op;
    ir_type elem = ir_val_type(p->m, v)->elem;
    ir_val out = spmd_make(p, at, IR_ALL_REDUCE, &v, 1, ir_val_get(p->m, v)->type, &op);
    ir_set_prop(p->m, op, IR_ALL_REDUCE_replica_groups, groups_along(p, mesh, axes, true));
    ir_set_prop(p->m, op, IR_ALL_REDUCE_channel_handle, channel(p));
    ir_set_prop(p->m, op, IR_ALL_REDUCE_use_global_device_ids, global_ids(p));
    add_body(p, op, kind, elem);
    return out;
}

static struct sdy_axes minus(struct spmd *p, const struct sdy_mesh *mesh, struct sdy_axes a, struct sdy_axes b) {
    struct sdy_axis *v = ARENA_ARRAY(p->a, struct sdy_axis, SPMD_AXES + a.n + b.n);
    uint32_t n = sdy_axes_minus(mesh, a, b, v);
    return (struct sdy_axes){n, v};
}

const struct sdy_sharding *spmd_partial(struct spmd *p, const struct sdy_sharding *s, const struct sdy_mesh *mesh,
                                        uint32_t rank, struct sdy_axes axes) {
    if (!s && !axes.n)
        return NULL;
    struct sdy_dim *dims;
    struct sdy_axis *v = sdy_axes_copy(p->a, axes, 0);
    struct sdy_sharding *out = sdy_sharding_copy(p->a, s ? s : sdy_sharding_of_none(p->a, mesh, rank, true), &dims);
    sdy_axes_sort(out->mesh, v, &axes.n);
    out->unreduced = (struct sdy_axes){axes.n, v};
    return sdy_sharding_is_empty(out) ? NULL : out;
}

/* Sums, where that is needed before the value can be divided like `to`: the result is so as far as that begins with what the
   value has and goes on with axes of the sum. *s: the value's sharding, then the result's. Builds where `at` is an op; else
   only counts. */
static ir_val sum(struct spmd *p, ir_op at, ir_val v, enum ir_op_kind kind, ir_type global, const struct sdy_sharding **s,
                  const struct sdy_sharding *to, double *cost) {
    const struct sdy_sharding *from = *s;
    struct sdy_axes had = partial_of(from), none = {0, NULL};
    if (!had.n)
        return v;
    bool stays = kind == IR_ADD && to && sdy_mesh_equal(from->mesh, to->mesh);
    struct sdy_axes axes = minus(p, from->mesh, had, stays ? to->unreduced : none);
    if (!axes.n)
        return v;
    struct plan l = {.p = p, .mesh = from->mesh, .type = ir_type_get(p->m, global)};
    l.now = ARENA_ARRAY(p->a, struct list, l.type->rank + 1);
    l.want = ARENA_ARRAY(p->a, struct list, l.type->rank + 1);
    l.partial = minus(p, l.mesh, had, axes);
    struct list *along = ARENA_ARRAY(p->a, struct list, l.type->rank + 1), rest = {0};
    size_t count;
    *s = spmd_partial(p, from, l.mesh, l.type->rank, l.partial);
    if (ir_type_count(l.type, &count) && count == 0)
        return v;
    if (!scattered(&l, axes, from, to, along, &rest)) {
        *cost += 2 * bits_of(p, ir_type_get(p->m, spmd_local_type(p, global, from))) / 8;
        return IR_NONE(at) ? v : make_all_reduce(p, at, v, kind, l.mesh, axes);
    }
    for (uint32_t d = 0; d < l.type->rank; d++) {
        if (!along[d].n)
            continue;
        double n = (double)sdy_axes_size(view(&along[d]));
        *cost += bytes_now(&l) * (n - 1) / n;
        if (!IR_NONE(at))
            v = make_reduce_scatter(p, at, v, kind, l.mesh, d, view(&along[d]));
        for (uint32_t i = 0; i < along[d].n; i++)
            list_add(&l.now[d], along[d].v[i]);
    }
    if (rest.n) {
        double n = (double)sdy_axes_size(view(&rest));
        *cost += 2 * bytes_now(&l) * (n - 1) / n;
        if (!IR_NONE(at))
            v = make_all_reduce(p, at, v, kind, l.mesh, view(&rest));
    }
    *s = sharding_of(&l, l.now);
    return v;
}

/* Axes at the end of dimensions that are to be unreduced: each partition has its shard among zeros, which moves nothing. */
static ir_val widen(struct spmd *p, ir_op at, ir_val v, ir_type global, const struct sdy_sharding **s, struct sdy_axes axes) {
    const struct sdy_sharding *from = *s;
    if (!from || !axes.n)
        return v;
    struct plan l = {.p = p, .mesh = from->mesh, .type = ir_type_get(p->m, global)};
    l.now = ARENA_ARRAY(p->a, struct list, l.type->rank + 1);
    struct cuts *cuts = ARENA_ARRAY(p->a, struct cuts, l.mesh->naxes + 1);
    struct list pieces, *ends = ARENA_ARRAY(p->a, struct list, l.type->rank + 1);
    struct sdy_axis *partial = sdy_axes_copy(p->a, from->unreduced, SPMD_AXES);
    uint32_t n = from->unreduced.n;
    cut_sharding(cuts, from);
    cut_axes(cuts, axes);
    bool fits = list_cut(cuts, l.mesh, axes, &pieces);
    for (uint32_t d = 0; d < l.type->rank; d++)
        fits = fits && list_cut(cuts, l.mesh, from->dims[d].axes, &l.now[d]);
    if (!fits)
        return v;
    for (uint32_t d = 0; d < l.type->rank; d++) {
        uint32_t kept = l.now[d].n;
        bool even = l.type->dims[d] % sdy_axes_size(view(&l.now[d])) == 0; /* padding is not to be summed */
        while (even && kept && list_has(&pieces, l.now[d].v[kept - 1]))
            kept--;
        for (uint32_t i = kept; i < l.now[d].n; i++) {
            list_add(&ends[d], l.now[d].v[i]);
            partial[n++] = l.now[d].v[i];
        }
        l.now[d].n = kept;
    }
    if (n == from->unreduced.n)
        return v;
    *s = spmd_partial(p, sharding_of(&l, l.now), l.mesh, l.type->rank, (struct sdy_axes){n, partial});
    if (IR_NONE(at))
        return v;
    static const int32_t zero = 0;
    ir_type type = spmd_local_type(p, global, *s), shard = spmd_local_type(p, global, from);
    ir_val in[IR_MAX_RANK + 2] = {spmd_make_zero(p, at, type), v};
    for (uint32_t d = 0; d < l.type->rank; d++)
        in[d + 2] = ends[d].n ? spmd_begin(p, at, spmd_held(p, l.mesh, view(&ends[d])), ir_type_get(p->m, shard)->dims[d])
                              : spmd_make_table(p, at, &zero, 1, 0);
    return spmd_make(p, at, IR_DYNAMIC_UPDATE_SLICE, in, l.type->rank + 2, type, NULL);
}

/* The value for the first partition along the axes, zeros for the others. */
static ir_val make_mask(struct spmd *p, ir_op at, ir_val v, const struct sdy_mesh *mesh, struct sdy_axes axes) {
    static const int32_t zero = 0;
    ir_op compare;
    ir_type type = ir_val_get(p->m, v)->type;
    ir_val in[2] = {spmd_begin(p, at, spmd_held(p, mesh, axes), 1), spmd_make_table(p, at, &zero, 1, 0)};
    ir_val first = spmd_make(p, at, IR_COMPARE, in, 2, ir_type_of(p->m, IR_I1_T, NULL, 0), &compare);
    ir_set_prop(p->m, compare, IR_COMPARE_comparison_direction,
                ir_attr_enum(p->m, IR_ENUM_COMPARISON_DIRECTION, IR_COMPARISON_DIRECTION_EQ));
    ir_val select[3] = {first, v, spmd_make_zero(p, at, type)};
    return spmd_make(p, at, IR_SELECT, select, 3, type, NULL);
}

/* From one form to another, where nothing is left to be summed. */
static ir_val reshard(struct spmd *p, ir_op at, ir_val v, ir_type global, const struct sdy_sharding *from,
                      const struct sdy_sharding *to, double *cost) {
    bool meshes = from && to && sdy_mesh_equal(from->mesh, to->mesh);
    if (meshes)
        v = widen(p, at, v, global, &from, minus(p, to->mesh, to->unreduced, from->unreduced));
    const struct sdy_sharding *divided = to;
    if (to)
        divided = spmd_partial(p, to, to->mesh, to->rank, partial_of(from));
    struct plan l = plan_of(p, global, from, divided);
    *cost += l.cost;
    if (IR_NONE(at))
        return v;
    v = make_plan(p, at, v, global, &l, divided);
    if (!to)
        return v;
    struct sdy_axes rest = minus(p, to->mesh, to->unreduced, partial_of(from));
    return rest.n ? make_mask(p, at, v, to->mesh, rest) : v;
}

double spmd_reshard_cost(struct spmd *p, ir_type global, const struct sdy_sharding *from, enum ir_op_kind kind,
                         const struct sdy_sharding *to) {
    double cost = 0;
    (void)sum(p, (ir_op){0}, (ir_val){0}, kind, global, &from, to, &cost);
    (void)reshard(p, (ir_op){0}, (ir_val){0}, global, from, to, &cost);
    return cost;
}

/* ---- values --------------------------------------------------------------------------------------- */

static struct spmd_value *entry(const struct spmd *p, ir_val v) {
    uint32_t at = opt_ids_get(&p->of, v.i);
    return at ? &p->values.v[at - 1] : NULL;
}

ir_type spmd_global_type(const struct spmd *p, ir_val v) {
    const struct spmd_value *x = entry(p, v);
    return x ? x->type : ir_val_get(p->m, v)->type;
}

const struct sdy_sharding *spmd_sharding(const struct spmd *p, ir_val v) {
    const struct spmd_value *x = entry(p, v);
    return x ? x->s : NULL;
}

static const struct spmd_form *form_new(struct spmd *p, const struct sdy_sharding *s, enum ir_op_kind kind, ir_val v,
                                        const struct spmd_form *next) {
    struct spmd_form *x = ARENA_NEW(p->a, struct spmd_form);
    *x = (struct spmd_form){s, kind, v, next};
    return x;
}

void spmd_define(struct spmd *p, ir_val v, ir_type global, const struct sdy_sharding *s, const struct sdy_sharding *made,
                 enum ir_op_kind kind, ir_val local) {
    struct spmd_value x = {global, s, form_new(p, made, kind, local, NULL)};
    if (!s && !made && IR_SAME(v, local))
        return;
    ARENA_PUSH(p->a, &p->values, x);
    opt_ids_set(&p->of, v.i, p->values.n);
}

/* The form from which another one is made at the least cost. */
static const struct spmd_form *nearest(struct spmd *p, const struct spmd_value *x, const struct sdy_sharding *s, double *cost) {
    const struct spmd_form *best = x->forms;
    *cost = spmd_reshard_cost(p, x->type, best->s, best->kind, s);
    for (const struct spmd_form *f = best->next; f && *cost > 0; f = f->next) {
        double other = spmd_reshard_cost(p, x->type, f->s, f->kind, s);
        if (other < *cost) {
            best = f;
            *cost = other;
        }
    }
    return best;
}

double spmd_cost(struct spmd *p, ir_val v, const struct sdy_sharding *s) {
    const struct spmd_value *x = entry(p, v);
    double cost = 0;
    if (x)
        (void)nearest(p, x, s, &cost);
    return cost;
}

/* The op in the block where v is defined that is walked, or has what is walked in it. */
static ir_op place_of(const struct spmd *p, ir_val v) {
    const struct ir_val_data *x = ir_val_get(p->m, v);
    ir_block block = IR_NONE(x->op) ? x->block : ir_op_get(p->m, x->op)->parent;
    ir_op at = p->at;
    while (!IR_SAME(ir_op_get(p->m, at)->parent, block))
        at = ir_region_get(p->m, ir_block_get(p->m, ir_op_get(p->m, at)->parent)->parent)->parent;
    return at;
}

static void add_form(struct spmd *p, struct spmd_value *x, const struct sdy_sharding *s, ir_val v) {
    struct spmd_form *first = (struct spmd_form *)(uintptr_t)x->forms;
    first->next = form_new(p, s, IR_ADD, v, first->next);
}

ir_val spmd_get(struct spmd *p, ir_val v, const struct sdy_sharding *s) {
    struct spmd_value *x = entry(p, v);
    double cost;
    if (!x && !s)
        return v;
    if (!x) {
        struct spmd_value new = {ir_val_get(p->m, v)->type, NULL, form_new(p, NULL, IR_ADD, v, NULL)};
        ARENA_PUSH(p->a, &p->values, new);
        opt_ids_set(&p->of, v.i, p->values.n);
        x = entry(p, v);
    }
    for (const struct spmd_form *f = x->forms; f; f = f->next)
        if (spmd_equal(f->s, s) && (f->kind == IR_ADD || !partial_of(s).n)) /* parts of a maximum are not those of a sum */
            return f->v;
    const struct spmd_form *from = nearest(p, x, s, &cost);
    ir_op at = place_of(p, from->v);
    const struct sdy_sharding *had = from->s;
    ir_val out = sum(p, at, from->v, from->kind, x->type, &had, s, &cost);
    if (!spmd_equal(had, from->s) && !spmd_equal(had, s))
        add_form(p, x, had, out);
    out = reshard(p, at, out, x->type, had, s, &cost);
    add_form(p, x, s, out);
    return out;
}
