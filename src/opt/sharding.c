/* Shardings as HLO writes them: `{devices=[2,1,4]<=[8] last_tile_dim_replicate}`; see sharding.h. */
#include "opt/sharding.h"

#include <inttypes.h>
#include <stdio.h>

/* ---- text ------------------------------------------------------------------------------------ */

struct scan {
    struct opt *o;
    ir_op op;           /* for errors */
    struct str rest;
};

static void scan_space(struct scan *s) {
    while (s->rest.n && *s->rest.p == ' ') {
        s->rest.p++;
        s->rest.n--;
    }
}

/* Takes the word when it is next. */
static bool scan_take(struct scan *s, const char *word) {
    scan_space(s);
    return str_take(&s->rest, word);
}

static hilo_status scan_error(const struct scan *s, const char *expected) {
    return ir_op_error(s->o->m, s->o->d, s->op, HILO_INVALID_ARGUMENT, NULL, "has a sharding with '%.*s' where %s is expected",
                       (int)(s->rest.n < 40 ? s->rest.n : 40), s->rest.p ? s->rest.p : "", expected);
}

static hilo_status scan_expect(struct scan *s, const char *word) {
    return scan_take(s, word) ? HILO_OK : scan_error(s, word);
}

/* ---- tiles ----------------------------------------------------------------------------------- */

/* A list of at most `most` numbers, `0,1,2`. */
static hilo_status numbers_read(struct scan *s, int64_t *v, uint32_t most, uint32_t *n) {
    *n = 0;
    do {
        size_t digits = 0;
        int64_t x = 0;
        scan_space(s);
        for (; digits < s->rest.n && digits < 9 && s->rest.p[digits] >= '0' && s->rest.p[digits] <= '9'; digits++)
            x = x * 10 + (s->rest.p[digits] - '0');
        if (!digits || *n == most)
            return scan_error(s, digits ? "the end of the list" : "a number");
        s->rest.p += digits;
        s->rest.n -= digits;
        v[(*n)++] = x;
    } while (scan_take(s, ","));
    return HILO_OK;
}

/* The elements of an iota of these sizes, transposed to another order of dimensions. */
static void transposed_read(const int64_t *sizes, const int64_t *order, uint32_t rank, int64_t total, int64_t *out) {
    for (int64_t i = 0; i < total; i++) {
        int64_t at[SHARDING_RANK], rest = i, number = 0;
        for (uint32_t d = rank; d-- > 0; rest /= sizes[order[d]])
            at[order[d]] = rest % sizes[order[d]];
        for (uint32_t d = 0; d < rank; d++)
            number = number * sizes[d] + at[d];
        out[i] = number;
    }
}

/* `<=[4,2]T(1,0)` or `0,1,2`: the partition of each tile. */
static hilo_status devices_read(struct scan *s, int64_t total, int64_t *out) {
    int64_t sizes[SHARDING_RANK], order[SHARDING_RANK], product = 1;
    uint32_t rank, n, seen = 0;
    if (!scan_take(s, "<=")) {
        HILO_TRY(numbers_read(s, out, (uint32_t)total, &n));
        return n == total ? HILO_OK : scan_error(s, "a device for each tile");
    }
    HILO_TRY(scan_expect(s, "["));
    HILO_TRY(numbers_read(s, sizes, SHARDING_RANK, &rank));
    for (uint32_t d = 0; d < rank; d++) {
        if (sizes[d] < 1 || sizes[d] > total / product)
            return scan_error(s, "as many devices as tiles");
        product *= sizes[d];
        order[d] = d;
    }
    if (product != total)
        return scan_error(s, "as many devices as tiles");
    HILO_TRY(scan_expect(s, "]"));
    if (scan_take(s, "T(")) {
        HILO_TRY(numbers_read(s, order, rank, &n));
        for (uint32_t d = 0; d < n && order[d] < rank; d++)
            seen |= 1u << order[d];
        if (n != rank || seen != (uint32_t)((UINT64_C(1) << rank) - 1))
            return scan_error(s, "a permutation");
        HILO_TRY(scan_expect(s, ")"));
    }
    transposed_read(sizes, order, rank, total, out);
    return HILO_OK;
}

/* The `more` dimensions of tiles after those of the tensor. */
static hilo_status subgroups_read(struct scan *s, uint32_t more, bool *supported) {
    if (scan_take(s, "last_tile_dim_replicate"))
        return more == 1 ? HILO_OK : scan_error(s, "one more dimension of tiles than of the tensor");
    if (!scan_take(s, "last_tile_dims={"))
        return more == 0 ? HILO_OK : scan_error(s, "last_tile_dims");
    for (uint32_t i = 0; i < more; i++) {
        if (i)
            HILO_TRY(scan_expect(s, ","));
        if (scan_take(s, "manual") || scan_take(s, "unreduced"))
            *supported = false;
        else
            HILO_TRY(scan_expect(s, "replicated"));
    }
    return scan_expect(s, "}");
}

/* ---- meshes ---------------------------------------------------------------------------------- */

/* Tiles of a tensor, and the partition of each. */
struct tiles {
    uint32_t n;                     /* dimensions, those of the tensor first */
    int64_t v[SHARDING_RANK];
    int64_t *at;                    /* by tile */
};

static const struct sdy_mesh *mesh_new(struct arena *a, const int64_t *sizes, uint32_t n, const int64_t *devices,
                                       uint32_t ndevices) {
    struct sdy_mesh *mesh = ARENA_NEW(a, struct sdy_mesh);
    struct sdy_mesh_axis *axes = ARENA_ARRAY(a, struct sdy_mesh_axis, n + 1);
    for (uint32_t i = 0; i < n; i++) {
        char *name = ARENA_ARRAY(a, char, 16);
        int length = snprintf(name, 16, "_axis_%" PRIu32, i);
        axes[i] = (struct sdy_mesh_axis){{name, (size_t)length}, sizes[i]};
    }
    *mesh = (struct sdy_mesh){.naxes = n, .axes = axes, .ndevices = ndevices, .devices = devices};
    return mesh;
}

/* One axis for each prime factor of the number of partitions, in order: the mesh that shardings share as far as they can. */
static const struct sdy_mesh *mesh_of_primes(struct arena *a, int64_t partitions) {
    int64_t sizes[SHARDING_RANK];
    uint32_t n = 0;
    for (int64_t prime = 2; partitions > 1; prime++)
        for (; partitions % prime == 0; partitions /= prime)
            sizes[n++] = prime;
    return mesh_new(a, sizes, n, NULL, 0);
}

/* The axes of the mesh along which the tiles of dimension `dim` follow each other, major first. */
static bool axes_of(struct arena *a, const struct sdy_mesh *mesh, const struct tiles *t, uint32_t dim, struct sdy_axes *out) {
    struct sdy_axis *v = ARENA_ARRAY(a, struct sdy_axis, mesh->naxes + 1);
    int64_t apart = 1;
    uint32_t n = 0;
    for (uint32_t d = dim + 1; d < t->n; d++)
        apart *= t->v[d];
    for (int64_t done = 1; done < t->v[dim]; done *= v[n - 1].size) { /* minor first */
        int64_t step = t->at[done * apart] - t->at[0], stride = 1;
        uint32_t axis = mesh->naxes;
        while (axis && (stride < step || mesh->axes[axis - 1].size == 1))
            stride *= mesh->axes[--axis].size;
        if (stride != step || axis == 0 || n == mesh->naxes)
            return false;
        v[n++] = sdy_axis_whole(mesh, axis - 1);
    }
    for (uint32_t i = 0; i < n / 2; i++) {
        struct sdy_axis swapped = v[i];
        v[i] = v[n - 1 - i];
        v[n - 1 - i] = swapped;
    }
    *out = (struct sdy_axes){n, v};
    return sdy_axes_size(*out) == t->v[dim];
}

/* The partition of a tile by the axes of each dimension. */
static int64_t partition_of(const struct sdy_mesh *mesh, const struct tiles *t, const struct sdy_axes *axes, int64_t tile) {
    int64_t out = 0;
    for (uint32_t d = t->n; d-- > 0; tile /= t->v[d]) {
        int64_t part = tile % t->v[d];
        for (uint32_t i = axes[d].n; i-- > 0; part /= axes[d].v[i].size) {
            int64_t stride = 1;
            for (uint32_t k = axes[d].v[i].axis + 1; k < mesh->naxes; k++)
                stride *= mesh->axes[k].size;
            out += part % axes[d].v[i].size * stride;
        }
    }
    return out;
}

/* The tiles with the places of partitions in a mesh that lists them in another order. */
static const struct tiles *placed(struct arena *a, const struct sdy_mesh *mesh, const struct tiles *t, int64_t total) {
    if (mesh->ndevices != total)
        return t;
    struct tiles *out = ARENA_NEW(a, struct tiles);
    int64_t *place = ARENA_ARRAY(a, int64_t, mesh->ndevices);
    *out = *t;
    out->at = ARENA_ARRAY(a, int64_t, mesh->ndevices);
    for (int64_t i = 0; i < total; i++)
        place[mesh->devices[i]] = i;
    for (int64_t i = 0; i < total; i++)
        out->at[i] = place[t->at[i]];
    return out;
}

static bool axes_of_all(struct arena *a, const struct sdy_mesh *mesh, const struct tiles *t, int64_t total,
                        struct sdy_axes *out) {
    for (uint32_t d = 0; d < t->n; d++)
        if (!axes_of(a, mesh, t, d, &out[d]))
            return false;
    for (int64_t i = 0; i < total; i++)
        if (partition_of(mesh, t, out, i) != t->at[i])
            return false;
    return true;
}

static const struct sdy_sharding *sharding_of(struct arena *a, const struct tiles *t, uint32_t rank, int64_t total,
                                              const struct sdy_mesh *preferred) {
    struct sdy_sharding *out = ARENA_NEW(a, struct sdy_sharding);
    struct sdy_dim *dims = ARENA_ARRAY(a, struct sdy_dim, t->n + 1);
    struct sdy_axes *axes = ARENA_ARRAY(a, struct sdy_axes, t->n + 1);
    const struct sdy_mesh *mesh = preferred ? preferred : mesh_of_primes(a, total);
    bool found = axes_of_all(a, mesh, placed(a, mesh, t, total), total, axes);
    if (!found && preferred) {
        mesh = mesh_of_primes(a, total);
        found = axes_of_all(a, mesh, t, total, axes);
    }
    if (!found) {
        mesh = mesh_new(a, t->v, t->n, t->at, (uint32_t)total);
        for (uint32_t d = 0; d < t->n; d++) {
            struct sdy_axis *v = ARENA_NEW(a, struct sdy_axis);
            *v = sdy_axis_whole(mesh, d);
            axes[d] = (struct sdy_axes){t->v[d] > 1, v};
        }
    }
    for (uint32_t d = 0; d < rank; d++)
        dims[d] = (struct sdy_dim){.axes = axes[d], .closed = true, .priority = -1};
    *out = (struct sdy_sharding){.mesh = mesh, .rank = rank, .dims = dims};
    return out;
}

/* ---- all ------------------------------------------------------------------------------------- */

hilo_status sharding_read_hlo(struct opt *o, ir_op op, struct str text, ir_type type, uint32_t partitions,
                              const struct sdy_mesh *mesh, const struct sdy_sharding **out, bool *supported) {
    const struct ir_type_data *t = ir_type_get(o->m, type);
    struct scan s = {.o = o, .op = op, .rest = text};
    struct tiles tiles = {0};
    int64_t total = 1;
    *out = sdy_sharding_of_none(&o->scratch, mesh_of_primes(&o->scratch, partitions), t->rank, true);
    *supported = true;
    if (str_is(text, "{replicated}") || str_is(text, "{unknown}") || str_starts(text, "{maximal"))
        return HILO_OK;
    *supported = !str_is(text, "{manual}") && !str_is(text, "{unreduced}");
    if (!*supported)
        return HILO_OK;
    HILO_TRY(scan_expect(&s, "{devices=["));
    HILO_TRY(numbers_read(&s, tiles.v, SHARDING_RANK, &tiles.n));
    for (uint32_t d = 0; d < tiles.n; d++) {
        if (tiles.v[d] < 1 || tiles.v[d] > partitions / total)
            return scan_error(&s, "a tile for each partition");
        total *= tiles.v[d];
    }
    if (tiles.n < t->rank || total != partitions)
        return scan_error(&s, tiles.n < t->rank ? "a number of tiles for each dimension" : "a tile for each partition");
    tiles.at = ARENA_ARRAY(&o->scratch, int64_t, partitions);
    HILO_TRY(scan_expect(&s, "]"));
    HILO_TRY(devices_read(&s, total, tiles.at));
    HILO_TRY(subgroups_read(&s, tiles.n - t->rank, supported));
    HILO_TRY(scan_expect(&s, "}"));
    if (s.rest.n)
        return scan_error(&s, "its end");
    bool *seen = ARENA_ARRAY(&o->scratch, bool, partitions);
    for (int64_t i = 0; i < total; i++) {
        if (tiles.at[i] >= partitions || seen[tiles.at[i]])
            return scan_error(&s, "each partition once");
        seen[tiles.at[i]] = true;
    }
    for (uint32_t d = 0; d < t->rank; d++)
        *supported &= tiles.v[d] == 1 || (t->dims[d] != IR_DYNAMIC && t->dims[d] % tiles.v[d] == 0);
    if (*supported)
        *out = sharding_of(&o->scratch, &tiles, t->rank, total, mesh);
    return HILO_OK;
}

void sharding_text(const struct sdy_sharding *s, const int32_t *const *held, uint32_t partitions, struct strbuf *out) {
    int64_t tiles = s ? sdy_axes_size(s->unreduced) : 1, terms = tiles;
    for (uint32_t d = 0; s && d < s->rank; d++)
        tiles *= sdy_dim_parts(&s->dims[d]);
    if (tiles == 1 || terms == partitions) {
        strbuf_puts(out, tiles == 1 ? "{replicated}" : "{unreduced}");
        return;
    }
    strbuf_puts(out, "{devices=[");
    for (uint32_t d = 0; d < s->rank; d++)
        strbuf_printf(out, d ? ",%" PRId64 : "%" PRId64, sdy_dim_parts(&s->dims[d]));
    if (terms > 1)
        strbuf_printf(out, s->rank ? ",%" PRId64 : "%" PRId64, terms);
    if (tiles < partitions)
        strbuf_printf(out, ",%" PRId64, partitions / tiles);
    for (int64_t tile = 0, n = 0; tile < tiles; tile++)
        for (uint32_t p = 0; p < partitions; p++) {
            int64_t rest = tile / terms;
            bool has = held[s->rank][p] == tile % terms;
            for (uint32_t d = s->rank; d-- > 0; rest /= sdy_dim_parts(&s->dims[d]))
                has &= held[d][p] == rest % sdy_dim_parts(&s->dims[d]);
            if (has)
                strbuf_printf(out, "%s%" PRIu32, n++ ? "," : "]", p);
        }
    if (terms > 1)
        strbuf_puts(out, tiles < partitions ? " last_tile_dims={unreduced, replicated}}" : " last_tile_dims={unreduced}}");
    else
        strbuf_puts(out, tiles < partitions ? " last_tile_dim_replicate}" : "}");
}
