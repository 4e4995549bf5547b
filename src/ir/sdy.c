/* Axes and shardings (openxla/shardy, attrs.td, dialect.cc); see sdy.h. Their text is in sdy_text.c. */
#include "ir/sdy.h"

/* ---- axes ------------------------------------------------------------------------------------ */

static int64_t next_of(struct sdy_axis a) {
    return a.pre * a.size;
}

bool sdy_axes_equal(struct sdy_axes a, struct sdy_axes b) {
    if (a.n != b.n)
        return false;
    for (uint32_t i = 0; i < a.n; i++)
        if (!sdy_axis_equal(a.v[i], b.v[i]))
            return false;
    return true;
}

struct sdy_axis sdy_axis_whole(const struct sdy_mesh *mesh, uint32_t axis) {
    return (struct sdy_axis){.axis = axis, .pre = 1, .size = mesh->axes[axis].size};
}

struct sdy_axis sdy_axis_part(const struct sdy_mesh *mesh, uint32_t axis, int64_t pre, int64_t size) {
    return (struct sdy_axis){.axis = axis, .part = pre != 1 || size != mesh->axes[axis].size, .pre = pre, .size = size};
}

bool sdy_axis_contains(struct sdy_axis a, struct sdy_axis b) {
    return a.axis == b.axis && a.pre <= b.pre && next_of(a) >= next_of(b);
}

bool sdy_axis_is_prefix(struct sdy_axis a, struct sdy_axis of) {
    return sdy_axis_contains(of, a) && a.pre == of.pre;
}

bool sdy_axis_overlaps(struct sdy_axis a, struct sdy_axis b) {
    return a.axis == b.axis && a.pre < next_of(b) && b.pre < next_of(a);
}

/* Both are parts of one way to write the axis as a product. */
static bool can_coexist(struct sdy_axis a, struct sdy_axis b) {
    if (a.axis != b.axis)
        return true;
    int64_t least = a.pre < b.pre ? a.pre : b.pre, most = a.pre < b.pre ? b.pre : a.pre;
    int64_t least_next = next_of(a) < next_of(b) ? next_of(a) : next_of(b);
    int64_t most_next = next_of(a) < next_of(b) ? next_of(b) : next_of(a);
    if (least_next > most)
        return least_next % most == 0 && most % least == 0 && most_next % least_next == 0;
    return most % least_next == 0;
}

bool sdy_axis_before(const struct sdy_mesh *mesh, struct sdy_axis a, struct sdy_axis b, struct sdy_axis *out) {
    *out = a;
    if (!can_coexist(a, b))
        return false;
    if (!sdy_axis_overlaps(a, b))
        return true;
    if (a.pre >= b.pre)
        return false;
    *out = sdy_axis_part(mesh, a.axis, a.pre, b.pre / a.pre);
    return true;
}

bool sdy_axis_before_all(const struct sdy_mesh *mesh, struct sdy_axis a, struct sdy_axes b, struct sdy_axis *out) {
    *out = a;
    for (uint32_t i = 0; i < b.n; i++)
        if (!sdy_axis_before(mesh, *out, b.v[i], out))
            return false;
    return true;
}

bool sdy_axis_behind(const struct sdy_mesh *mesh, struct sdy_axis a, struct sdy_axis b, struct sdy_axis *out) {
    *out = a;
    if (!can_coexist(a, b))
        return false;
    if (!sdy_axis_overlaps(a, b))
        return true;
    if (next_of(a) <= next_of(b))
        return false;
    *out = sdy_axis_part(mesh, a.axis, next_of(b), next_of(a) / next_of(b));
    return true;
}

bool sdy_axis_can_merge(struct sdy_axis a, struct sdy_axis b) {
    return a.axis == b.axis && a.part && b.part && next_of(a) == b.pre;
}

int64_t sdy_gcd(int64_t a, int64_t b) {
    while (b) {
        int64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

int64_t sdy_axes_size(struct sdy_axes a) {
    int64_t size = 1;
    for (uint32_t i = 0; i < a.n; i++)
        size *= a.v[i].size;
    return size;
}

void sdy_axes_append(const struct sdy_mesh *mesh, struct sdy_axis *v, uint32_t *n, struct sdy_axis x) {
    if (*n && sdy_axis_can_merge(v[*n - 1], x))
        v[*n - 1] = sdy_axis_part(mesh, x.axis, v[*n - 1].pre, v[*n - 1].size * x.size);
    else
        v[(*n)++] = x;
}

static bool is_less(struct sdy_axis a, struct sdy_axis b) {
    if (a.axis != b.axis)
        return a.axis < b.axis;
    return a.pre != b.pre ? a.pre < b.pre : a.size < b.size;
}

struct sdy_axis *sdy_axes_copy(struct arena *a, struct sdy_axes axes, uint32_t more) {
    struct sdy_axis *v = ARENA_ARRAY(a, struct sdy_axis, axes.n + more + 1);
    for (uint32_t i = 0; i < axes.n; i++)
        v[i] = axes.v[i];
    return v;
}

void sdy_axes_sort(const struct sdy_mesh *mesh, struct sdy_axis *v, uint32_t *n) {
    for (uint32_t i = 1; i < *n; i++) {
        struct sdy_axis x = v[i];
        uint32_t at = i;
        for (; at && is_less(x, v[at - 1]); at--)
            v[at] = v[at - 1];
        v[at] = x;
    }
    uint32_t merged = 0;
    for (uint32_t i = 0; i < *n; i++)
        sdy_axes_append(mesh, v, &merged, v[i]);
    *n = merged;
}

uint32_t sdy_axes_minus(const struct sdy_mesh *mesh, struct sdy_axes a, struct sdy_axes b, struct sdy_axis *out) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < a.n; i++) {
        struct sdy_axis rest = a.v[i], head;
        bool more = true;
        while (more) {
            const struct sdy_axis *first = NULL;
            for (uint32_t k = 0; k < b.n; k++)
                if (sdy_axis_overlaps(rest, b.v[k]) && (!first || b.v[k].pre < first->pre))
                    first = &b.v[k];
            if (!first) {
                out[n++] = rest;
                break;
            }
            if (sdy_axis_before(mesh, rest, *first, &head))
                out[n++] = head;
            more = sdy_axis_behind(mesh, rest, *first, &rest);
        }
    }
    return n;
}

/* ---- shardings ------------------------------------------------------------------------------- */

bool sdy_mesh_equal(const struct sdy_mesh *a, const struct sdy_mesh *b) {
    if (a == b)
        return true;
    if (a->naxes != b->naxes || a->ndevices != b->ndevices)
        return false;
    for (uint32_t i = 0; i < a->naxes; i++)
        if (a->axes[i].size != b->axes[i].size || !str_eq(a->axes[i].name, b->axes[i].name))
            return false;
    return a->ndevices == 0 || memcmp(a->devices, b->devices, a->ndevices * sizeof *a->devices) == 0;
}

bool sdy_sharding_equal(const struct sdy_sharding *a, const struct sdy_sharding *b) {
    if (a == b)
        return true;
    if (!a || !b || a->rank != b->rank || !str_eq(a->mesh->symbol, b->mesh->symbol) || !sdy_mesh_equal(a->mesh, b->mesh))
        return false;
    for (uint32_t d = 0; d < a->rank; d++)
        if (a->dims[d].closed != b->dims[d].closed || a->dims[d].priority != b->dims[d].priority ||
            !sdy_axes_equal(a->dims[d].axes, b->dims[d].axes))
            return false;
    return sdy_axes_equal(a->replicated, b->replicated) && sdy_axes_equal(a->unreduced, b->unreduced);
}

bool sdy_sharding_is_empty(const struct sdy_sharding *s) {
    for (uint32_t d = 0; d < s->rank; d++)
        if (s->dims[d].axes.n)
            return false;
    return !s->replicated.n && !s->unreduced.n;
}

const struct sdy_sharding *sdy_sharding_of_none(struct arena *a, const struct sdy_mesh *mesh, uint32_t rank, bool closed) {
    struct sdy_sharding *s = ARENA_NEW(a, struct sdy_sharding);
    struct sdy_dim *dims = ARENA_ARRAY(a, struct sdy_dim, rank + 1);
    for (uint32_t d = 0; d < rank; d++)
        dims[d] = (struct sdy_dim){.closed = closed, .priority = -1};
    *s = (struct sdy_sharding){.mesh = mesh, .rank = rank, .dims = dims};
    return s;
}

struct sdy_sharding *sdy_sharding_copy(struct arena *a, const struct sdy_sharding *s, struct sdy_dim **dims) {
    struct sdy_sharding *copy = ARENA_NEW(a, struct sdy_sharding);
    *copy = *s;
    *dims = ARENA_ARRAY(a, struct sdy_dim, s->rank + 1);
    for (uint32_t d = 0; d < s->rank; d++)
        (*dims)[d] = s->dims[d];
    copy->dims = *dims;
    return copy;
}

int64_t sdy_dim_parts(const struct sdy_dim *d) {
    return sdy_axes_size(d->axes);
}
