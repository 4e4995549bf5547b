/* Reading Shardy's attributes, which the module keeps as text (sdy dialect, openxla/shardy, attrs.td); see sharding.h. */
#include "opt/sharding.h"

#include <inttypes.h>

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
    if (!str_starts(s->rest, word))
        return false;
    s->rest.p += strlen(word);
    s->rest.n -= strlen(word);
    return true;
}

static hilo_status scan_error(const struct scan *s, const char *expected) {
    return ir_op_error(s->o->m, s->o->d, s->op, HILO_INVALID_ARGUMENT, NULL, "has a sharding with '%.*s' where %s is expected",
                       (int)(s->rest.n < 40 ? s->rest.n : 40), s->rest.p ? s->rest.p : "", expected);
}

static hilo_status scan_expect(struct scan *s, const char *word) {
    return scan_take(s, word) ? HILO_OK : scan_error(s, word);
}

static bool is_name(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || (c && strchr("_.$-", c));
}

/* `"name"`, or the name alone. */
static hilo_status scan_name(struct scan *s, struct str *out) {
    bool quoted = scan_take(s, "\"");
    size_t n = 0;
    while (n < s->rest.n && (quoted ? s->rest.p[n] != '"' : is_name(s->rest.p[n])))
        n++;
    if (!n)
        return scan_error(s, "a name");
    *out = (struct str){s->rest.p, n};
    s->rest.p += n;
    s->rest.n -= n;
    return quoted ? scan_expect(s, "\"") : HILO_OK;
}

static hilo_status scan_number(struct scan *s, int64_t *out) {
    size_t n = 0;
    scan_space(s);
    for (*out = 0; n < s->rest.n && n < 9 && s->rest.p[n] >= '0' && s->rest.p[n] <= '9'; n++)
        *out = *out * 10 + (s->rest.p[n] - '0');
    if (!n)
        return scan_error(s, "a number");
    s->rest.p += n;
    s->rest.n -= n;
    return HILO_OK;
}

static struct scan scan_of(struct opt *o, ir_op op, ir_attr a) {
    const struct ir_attr_data *d = ir_attr_get(o->m, a);
    return (struct scan){o, op, d->kind == IR_ATTR_OPAQUE ? ir_str_get(o->m, d->str) : (struct str){NULL, 0}};
}

/* ---- meshes ---------------------------------------------------------------------------------- */

struct mesh {
    struct { struct mesh_axis { struct str name; int64_t size; } *v; uint32_t n, cap; } axes;
    struct { int64_t *v; uint32_t n, cap; } devices; /* partition of each position; empty = its number */
    int64_t total;
};

/* `<["x"=2, "y"=4], device_ids=[…]>` */
static hilo_status mesh_read(struct scan *s, struct mesh *out) {
    *out = (struct mesh){.total = 1};
    HILO_TRY(scan_expect(s, "<"));
    HILO_TRY(scan_expect(s, "["));
    while (!scan_take(s, "]")) {
        struct mesh_axis axis;
        if (out->axes.n)
            HILO_TRY(scan_expect(s, ","));
        HILO_TRY(scan_name(s, &axis.name));
        HILO_TRY(scan_expect(s, "="));
        HILO_TRY(scan_number(s, &axis.size));
        if (axis.size < 1 || axis.size > SHARDING_PARTITIONS / out->total)
            return scan_error(s, "an axis of a mesh of at most 4096 devices");
        out->total *= axis.size;
        ARENA_PUSH(&s->o->scratch, &out->axes, axis);
    }
    while (scan_take(s, ",")) {
        HILO_TRY(scan_expect(s, "device_ids"));
        HILO_TRY(scan_expect(s, "="));
        HILO_TRY(scan_expect(s, "["));
        for (int64_t id; !scan_take(s, "]");) {
            if (out->devices.n)
                HILO_TRY(scan_expect(s, ","));
            HILO_TRY(scan_number(s, &id));
            ARENA_PUSH(&s->o->scratch, &out->devices, id);
        }
    }
    return scan_expect(s, ">");
}

/* `@name`, `mesh<…>` or `#sdy.mesh<…>` */
static hilo_status mesh_named(struct scan *s, struct mesh *out) {
    if (!scan_take(s, "@")) {
        (void)scan_take(s, "#sdy.");
        HILO_TRY(scan_expect(s, "mesh"));
        return mesh_read(s, out);
    }
    struct str name;
    HILO_TRY(scan_name(s, &name));
    ir_op op = ir_module_symbol(s->o->m, name);
    if (IR_NONE(op) || ir_kind(s->o->m, op) != IR_SDY_MESH)
        return ir_op_error(s->o->m, s->o->d, s->op, HILO_INVALID_ARGUMENT, NULL, "has a sharding over '%.*s', which is no mesh",
                           (int)name.n, name.p);
    struct scan mesh = scan_of(s->o, op, ir_prop(s->o->m, op, IR_SDY_MESH_mesh));
    HILO_TRY(scan_expect(&mesh, "#sdy.mesh"));
    return mesh_read(&mesh, out);
}

/* The position of each partition; a mesh of no axes, or of one device, does not order partitions: all are at 0. */
static hilo_status mesh_places(struct scan *s, const struct mesh *mesh, uint32_t partitions, const int32_t **out) {
    int32_t *at = ARENA_ARRAY(&s->o->scratch, int32_t, partitions);
    memset(at, 0, partitions * sizeof *at);
    *out = at;
    if (mesh->total == 1)
        return HILO_OK;
    bool sound = mesh->total == partitions && (!mesh->devices.n || mesh->devices.n == partitions);
    for (uint32_t i = 0; i < partitions && sound; i++) {
        int64_t id = mesh->devices.n ? mesh->devices.v[i] : i;
        sound = id >= 0 && id < partitions && (id == (mesh->devices.n ? mesh->devices.v[0] : 0) || !at[id]);
        if (sound)
            at[id] = (int32_t)i;
    }
    return sound ? HILO_OK
                 : ir_op_error(s->o->m, s->o->d, s->op, HILO_INVALID_ARGUMENT, NULL,
                               "has a sharding over a mesh of %" PRId64 " devices, but the program has %" PRIu32 " partitions",
                               mesh->total, partitions);
}

/* An axis, or a part of one: coordinate = position / stride % size. */
struct axis {
    int64_t stride, size;
};

/* `"x"` or `"x":(2)4`, the part of size 4 after one of size 2. False in *counts when only other axes do. */
static hilo_status axis_read(struct scan *s, const struct mesh *mesh, sharding_axes only, struct axis *out, bool *counts) {
    struct str name;
    int64_t before = 1, size = 0;
    HILO_TRY(scan_name(s, &name));
    out->stride = 1;
    for (uint32_t i = mesh->axes.n; i-- > 0;) {
        size = mesh->axes.v[i].size;
        if (str_eq(mesh->axes.v[i].name, name))
            break;
        out->stride *= size;
        size = 0;
    }
    out->size = size;
    if (scan_take(s, ":")) {
        HILO_TRY(scan_expect(s, "("));
        HILO_TRY(scan_number(s, &before));
        HILO_TRY(scan_expect(s, ")"));
        HILO_TRY(scan_number(s, &out->size));
    }
    if (size < 1 || before < 1 || out->size < 1 || before > size || out->size > size / before || size % (before * out->size))
        return ir_op_error(s->o->m, s->o->d, s->op, HILO_INVALID_ARGUMENT, NULL,
                           "has a sharding along '%.*s', which its mesh does not have so", (int)name.n, name.p);
    out->stride *= size / (before * out->size);
    *counts = !only;
    for (sharding_axes a = only; a && a->n; a++)
        *counts = *counts || str_eq(*a, name);
    return HILO_OK;
}

/* ---- shardings ------------------------------------------------------------------------------- */

struct sharding sharding_replicated(struct opt *o, uint32_t rank, uint32_t partitions) {
    int64_t *parts = ARENA_ARRAY(&o->scratch, int64_t, rank + 1);
    int32_t *held = ARENA_ARRAY(&o->scratch, int32_t, (size_t)rank * partitions + 1);
    for (uint32_t d = 0; d < rank; d++)
        parts[d] = 1;
    memset(held, 0, ((size_t)rank * partitions + 1) * sizeof *held);
    return (struct sharding){rank, parts, held};
}

/* `{"x", "y", ?}p1`: a dimension, major axes first. */
static hilo_status dim_read(struct scan *s, const struct mesh *mesh, const int32_t *at, uint32_t partitions,
                            sharding_axes only, int64_t *parts, int32_t *held) {
    HILO_TRY(scan_expect(s, "{"));
    for (bool first = true; !scan_take(s, "}"); first = false) {
        struct axis axis;
        bool counts;
        if (!first)
            HILO_TRY(scan_expect(s, ","));
        if (scan_take(s, "?"))
            continue;
        HILO_TRY(axis_read(s, mesh, only, &axis, &counts));
        if (!counts)
            continue;
        if (axis.size > SHARDING_PARTITIONS / *parts)
            return scan_error(s, "an axis that is used once");
        *parts *= axis.size;
        for (uint32_t p = 0; p < partitions; p++)
            held[p] = (int32_t)(held[p] * axis.size + at[p] / axis.stride % axis.size);
    }
    int64_t priority;
    return scan_take(s, "p") ? scan_number(s, &priority) : HILO_OK;
}

/* `, replicated={…}`, `, unreduced={…}` */
static hilo_status tail_read(struct scan *s, const struct mesh *mesh) {
    while (scan_take(s, ",")) {
        struct str what;
        HILO_TRY(scan_name(s, &what));
        HILO_TRY(scan_expect(s, "="));
        HILO_TRY(scan_expect(s, "{"));
        for (bool first = true; !scan_take(s, "}"); first = false) {
            struct axis axis;
            bool counts;
            if (!first)
                HILO_TRY(scan_expect(s, ","));
            if (!str_is(what, "replicated"))
                return ir_op_error(s->o->m, s->o->d, s->op, HILO_UNIMPLEMENTED, NULL,
                                   "has a sharding with '%.*s' axes, which is not supported", (int)what.n, what.p);
            HILO_TRY(axis_read(s, mesh, NULL, &axis, &counts));
        }
    }
    return scan_expect(s, ">");
}

/* `<@mesh, [{…}, {…}], …>` */
static hilo_status sharding_scan(struct scan *s, ir_type type, uint32_t partitions, sharding_axes only, struct sharding *out) {
    const struct ir_type_data *t = ir_type_get(s->o->m, type);
    struct mesh mesh;
    const int32_t *at;
    HILO_TRY(scan_expect(s, "<"));
    HILO_TRY(mesh_named(s, &mesh));
    HILO_TRY(mesh_places(s, &mesh, partitions, &at));
    *out = sharding_replicated(s->o, t->rank, partitions);
    HILO_TRY(scan_expect(s, ","));
    HILO_TRY(scan_expect(s, "["));
    for (uint32_t d = 0; !scan_take(s, "]"); d++) {
        if (d)
            HILO_TRY(scan_expect(s, ","));
        if (d == t->rank)
            return scan_error(s, "as many dimensions as the value has");
        int64_t *parts = (int64_t *)(uintptr_t)&out->parts[d];
        HILO_TRY(dim_read(s, &mesh, at, partitions, only, parts, (int32_t *)(uintptr_t)out->held + (size_t)d * partitions));
        if (*parts > 1 && (t->dims[d] == IR_DYNAMIC || t->dims[d] % *parts))
            return ir_op_error(s->o->m, s->o->d, s->op, HILO_UNIMPLEMENTED, NULL,
                               "has dimension %" PRIu32 " in %" PRId64 " parts that are not of one size, which is not "
                               "supported", d, *parts);
    }
    return tail_read(s, &mesh);
}

hilo_status sharding_read(struct opt *o, ir_op op, ir_attr a, ir_type type, uint32_t partitions, sharding_axes only,
                          struct sharding *out) {
    struct scan s = scan_of(o, op, a);
    HILO_TRY(scan_expect(&s, "#sdy.sharding"));
    return sharding_scan(&s, type, partitions, only, out);
}

hilo_status sharding_read_list(struct opt *o, ir_op op, ir_attr a, const ir_type *types, uint32_t n, uint32_t partitions,
                               sharding_axes only, struct sharding *out) {
    struct scan s = scan_of(o, op, a);
    HILO_TRY(scan_expect(&s, "#sdy.sharding_per_value<["));
    for (uint32_t i = 0; i < n; i++) {
        if (i)
            HILO_TRY(scan_expect(&s, ","));
        HILO_TRY(sharding_scan(&s, types[i], partitions, only, &out[i]));
    }
    return scan_expect(&s, "]>");
}

hilo_status sharding_read_axes(struct opt *o, ir_op op, ir_attr a, sharding_axes *out) {
    struct scan s = scan_of(o, op, a);
    struct { struct str *v; uint32_t n, cap; } list = {0};
    struct str name = {NULL, 0};
    HILO_TRY(scan_expect(&s, "#sdy<manual_axes{"));
    while (!scan_take(&s, "}")) {
        if (list.n)
            HILO_TRY(scan_expect(&s, ","));
        HILO_TRY(scan_name(&s, &name));
        ARENA_PUSH(&o->scratch, &list, name);
    }
    name = (struct str){NULL, 0};
    ARENA_PUSH(&o->scratch, &list, name);
    *out = list.v;
    return scan_expect(&s, ">");
}

hilo_status sharding_number(struct opt *o, ir_op op, ir_attr a, sharding_axes axes, uint32_t partitions, int32_t *number) {
    struct scan s = scan_of(o, op, a);
    struct mesh mesh;
    const int32_t *at;
    memset(number, 0, partitions * sizeof *number);
    HILO_TRY(scan_expect(&s, "#sdy.sharding_per_value<["));
    if (scan_take(&s, "]"))
        return HILO_OK;
    HILO_TRY(scan_expect(&s, "<"));
    HILO_TRY(mesh_named(&s, &mesh));
    HILO_TRY(mesh_places(&s, &mesh, partitions, &at));
    int64_t stride = 1;
    for (uint32_t i = mesh.axes.n; i-- > 0; stride *= mesh.axes.v[i].size) {
        bool counts = false;
        for (sharding_axes x = axes; x->n; x++)
            counts = counts || str_eq(*x, mesh.axes.v[i].name);
        for (uint32_t p = 0; p < partitions && counts; p++)
            number[p] += (int32_t)(at[p] / stride % mesh.axes.v[i].size * stride);
    }
    return HILO_OK;
}

/* ---- GSPMD ----------------------------------------------------------------------------------- */

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

hilo_status sharding_read_hlo(struct opt *o, ir_op op, struct str text, ir_type type, uint32_t partitions,
                              struct sharding *out, bool *supported) {
    const struct ir_type_data *t = ir_type_get(o->m, type);
    struct scan s = {.o = o, .op = op, .rest = text};
    int64_t tiles[SHARDING_RANK], total = 1;
    uint32_t n;
    *out = sharding_replicated(o, t->rank, partitions);
    *supported = true;
    if (str_is(text, "{replicated}") || str_is(text, "{unknown}") || str_starts(text, "{maximal"))
        return HILO_OK;
    *supported = !str_is(text, "{manual}") && !str_is(text, "{unreduced}");
    if (!*supported)
        return HILO_OK;
    HILO_TRY(scan_expect(&s, "{devices=["));
    HILO_TRY(numbers_read(&s, tiles, SHARDING_RANK, &n));
    for (uint32_t d = 0; d < n; d++) {
        if (tiles[d] < 1 || tiles[d] > partitions / total)
            return scan_error(&s, "a tile for each partition");
        total *= tiles[d];
    }
    if (n < t->rank || total != partitions)
        return scan_error(&s, n < t->rank ? "a number of tiles for each dimension" : "a tile for each partition");
    int64_t *at = ARENA_ARRAY(&o->scratch, int64_t, partitions);
    HILO_TRY(scan_expect(&s, "]"));
    HILO_TRY(devices_read(&s, total, at));
    HILO_TRY(subgroups_read(&s, n - t->rank, supported));
    HILO_TRY(scan_expect(&s, "}"));
    if (s.rest.n)
        return scan_error(&s, "its end");
    bool *seen = ARENA_ARRAY(&o->scratch, bool, partitions);
    memset(seen, 0, partitions * sizeof *seen);
    for (uint32_t d = 0; d < t->rank; d++)
        *supported &= tiles[d] == 1 || (t->dims[d] != IR_DYNAMIC && t->dims[d] % tiles[d] == 0);
    for (int64_t i = 0; i < total; i++) {
        int64_t rest = i;
        if (at[i] >= partitions || seen[at[i]])
            return scan_error(&s, "each partition once");
        seen[at[i]] = true;
        for (uint32_t d = n; d-- > 0 && *supported; rest /= tiles[d])
            if (d < t->rank)
                ((int32_t *)(uintptr_t)out->held)[(size_t)d * partitions + (size_t)at[i]] = (int32_t)(rest % tiles[d]);
    }
    for (uint32_t d = 0; d < t->rank && *supported; d++)
        ((int64_t *)(uintptr_t)out->parts)[d] = tiles[d];
    return HILO_OK;
}

/* ---- what they say --------------------------------------------------------------------------- */

bool sharding_is_replicated(const struct sharding *s) {
    for (uint32_t d = 0; d < s->rank; d++)
        if (s->parts[d] > 1)
            return false;
    return true;
}

bool sharding_equal(const struct sharding *a, const struct sharding *b, uint32_t partitions) {
    size_t held = (size_t)a->rank * partitions * sizeof *a->held;
    return a->rank == b->rank && (a->rank == 0 || (memcmp(a->parts, b->parts, a->rank * sizeof *a->parts) == 0 &&
                                                   memcmp(a->held, b->held, held) == 0));
}

ir_type sharding_type(struct ir_module *m, const struct sharding *s, ir_type global) {
    const struct ir_type_data *t = ir_type_get(m, global);
    int64_t dims[IR_MAX_RANK];
    if (sharding_is_replicated(s))
        return global;
    for (uint32_t d = 0; d < s->rank; d++)
        dims[d] = s->parts[d] > 1 ? t->dims[d] / s->parts[d] : t->dims[d];
    return ir_type_with_dims(m, global, dims, s->rank);
}

/* Whether the partition holds the tile of that number, counted with the last dimension fastest. */
static bool has_tile(const struct sharding *s, uint32_t partitions, uint32_t partition, int64_t tile) {
    for (uint32_t d = s->rank; d-- > 0; tile /= s->parts[d])
        if (s->held[(size_t)d * partitions + partition] != tile % s->parts[d])
            return false;
    return true;
}

void sharding_text(const struct sharding *s, uint32_t partitions, struct strbuf *out) {
    int64_t tiles = 1;
    for (uint32_t d = 0; d < s->rank; d++)
        tiles *= s->parts[d];
    if (tiles == 1) {
        strbuf_puts(out, "{replicated}");
        return;
    }
    strbuf_puts(out, "{devices=[");
    for (uint32_t d = 0; d < s->rank; d++)
        strbuf_printf(out, d ? ",%" PRId64 : "%" PRId64, s->parts[d]);
    if (tiles < partitions)
        strbuf_printf(out, ",%" PRId64, partitions / tiles);
    for (int64_t tile = 0, n = 0; tile < tiles; tile++)
        for (uint32_t p = 0; p < partitions; p++)
            if (has_tile(s, partitions, p, tile))
                strbuf_printf(out, "%s%" PRIu32, n++ ? "," : "]", p);
    strbuf_puts(out, tiles < partitions ? " last_tile_dim_replicate}" : "}");
}
