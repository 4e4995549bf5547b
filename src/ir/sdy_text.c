/* The text of Shardy's attributes (openxla/shardy, attrs.td, parsers.cc, printers.cc); see sdy.h. */
#include "ir/sdy.h"

#include <inttypes.h>
#include <stdio.h>

/* ---- scanning -------------------------------------------------------------------------------- */

struct scan {
    struct sdy *s;
    ir_op op;           /* for errors */
    struct str rest;
};

static void scan_space(struct scan *s) {
    while (s->rest.n && strchr(" \t\n\r", *s->rest.p) && *s->rest.p) {
        s->rest.p++;
        s->rest.n--;
    }
}

/* Takes the word when it is next. */
static bool scan_take(struct scan *s, const char *word) {
    scan_space(s);
    return str_take(&s->rest, word);
}

static hilo_status flaw(const struct scan *s, const char *what, struct str name) {
    if (!s->s->d)
        return HILO_INVALID_ARGUMENT;
    return ir_op_error(s->s->m, s->s->d, s->op, HILO_INVALID_ARGUMENT, NULL, "has a sharding %s '%.*s'", what, (int)name.n,
                       name.p ? name.p : "");
}

static hilo_status scan_error(const struct scan *s, const char *expected) {
    if (!s->s->d)
        return HILO_INVALID_ARGUMENT;
    return ir_op_error(s->s->m, s->s->d, s->op, HILO_INVALID_ARGUMENT, NULL, "has a sharding with '%.*s' where %s is expected",
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
    for (*out = 0; n < s->rest.n && n < 18 && s->rest.p[n] >= '0' && s->rest.p[n] <= '9'; n++)
        *out = *out * 10 + (s->rest.p[n] - '0');
    if (!n)
        return scan_error(s, "a number");
    s->rest.p += n;
    s->rest.n -= n;
    return HILO_OK;
}

static struct scan scan_of(struct sdy *s, ir_op op, ir_attr a) {
    const struct ir_attr_data *d = ir_attr_get(s->m, a);
    return (struct scan){s, op, d->kind == IR_ATTR_OPAQUE ? ir_str_get(s->m, d->str) : (struct str){NULL, 0}};
}

static hilo_status scan_end(struct scan *s) {
    scan_space(s);
    return s->rest.n ? scan_error(s, "its end") : HILO_OK;
}

/* ---- meshes ---------------------------------------------------------------------------------- */

/* `<["x"=2, "y"=4], device_ids=[…]>`, `<[], device_ids=[3]>` */
static hilo_status scan_mesh(struct scan *s, struct sdy_mesh *out) {
    struct { struct sdy_mesh_axis *v; uint32_t n, cap; } axes = {0};
    struct { int64_t *v; uint32_t n, cap; } devices = {0};
    int64_t total = 1;
    HILO_TRY(scan_expect(s, "<"));
    HILO_TRY(scan_expect(s, "["));
    while (!scan_take(s, "]")) {
        struct sdy_mesh_axis axis;
        if (axes.n)
            HILO_TRY(scan_expect(s, ","));
        HILO_TRY(scan_name(s, &axis.name));
        for (uint32_t i = 0; i < axes.n; i++)
            if (str_eq(axes.v[i].name, axis.name))
                return flaw(s, "over a mesh with two axes", axis.name);
        HILO_TRY(scan_expect(s, "="));
        HILO_TRY(scan_number(s, &axis.size));
        if (axes.n == SDY_MESH_AXES || axis.size < 1 || axis.size > SDY_MESH_DEVICES / total)
            return scan_error(s, "an axis of a mesh of at most 64 axes and 16 million devices");
        total *= axis.size;
        ARENA_PUSH(s->s->a, &axes, axis);
    }
    if (scan_take(s, ",")) {
        HILO_TRY(scan_expect(s, "device_ids"));
        HILO_TRY(scan_expect(s, "="));
        HILO_TRY(scan_expect(s, "["));
        for (int64_t id; !scan_take(s, "]");) {
            if (devices.n)
                HILO_TRY(scan_expect(s, ","));
            HILO_TRY(scan_number(s, &id));
            ARENA_PUSH(s->s->a, &devices, id);
        }
    }
    *out = (struct sdy_mesh){.naxes = axes.n, .axes = axes.v, .ndevices = devices.n, .devices = devices.v};
    return scan_expect(s, ">");
}

/* The one of these that is known, or the mesh as a new one. */
static const struct sdy_mesh *mesh_intern(struct sdy *s, const struct sdy_mesh *mesh) {
    for (uint32_t i = 0; i < s->meshes.n; i++)
        if (str_eq(s->meshes.v[i]->symbol, mesh->symbol) && sdy_mesh_equal(s->meshes.v[i], mesh))
            return s->meshes.v[i];
    struct sdy_mesh *copy = ARENA_NEW(s->a, struct sdy_mesh);
    *copy = *mesh;
    ARENA_PUSH(s->a, &s->meshes, copy);
    return copy;
}

hilo_status sdy_mesh_named(struct sdy *s, ir_op op, struct str symbol, const struct sdy_mesh **out) {
    for (uint32_t i = 0; i < s->meshes.n; i++)
        if (symbol.n && str_eq(s->meshes.v[i]->symbol, symbol)) {
            *out = s->meshes.v[i];
            return HILO_OK;
        }
    ir_op mesh = ir_module_symbol(s->m, symbol);
    struct scan scan = {s, op, symbol};
    struct sdy_mesh x;
    if (IR_NONE(mesh) || ir_kind(s->m, mesh) != IR_SDY_MESH)
        return flaw(&scan, "over what is no mesh,", symbol);
    scan = scan_of(s, mesh, ir_prop(s->m, mesh, IR_SDY_MESH_mesh));
    HILO_TRY(scan_expect(&scan, "#sdy.mesh"));
    HILO_TRY(scan_mesh(&scan, &x));
    x.symbol = symbol;
    *out = mesh_intern(s, &x);
    return scan_end(&scan);
}

/* `@name`, `mesh<…>` or `#sdy.mesh<…>` */
static hilo_status scan_mesh_or_symbol(struct scan *s, const struct sdy_mesh **out) {
    struct str symbol;
    struct sdy_mesh mesh;
    if (scan_take(s, "@")) {
        HILO_TRY(scan_name(s, &symbol));
        return sdy_mesh_named(s->s, s->op, symbol, out);
    }
    (void)scan_take(s, "#sdy.");
    HILO_TRY(scan_expect(s, "mesh"));
    HILO_TRY(scan_mesh(s, &mesh));
    *out = mesh_intern(s->s, &mesh);
    return HILO_OK;
}

/* ---- shardings ------------------------------------------------------------------------------- */

struct axis_list {
    struct sdy_axis *v;
    uint32_t n, cap;
};

/* `"x"` or `"x":(2)4`, the part of size 4 that is minor to one of size 2. */
static hilo_status scan_axis(struct scan *s, const struct sdy_mesh *mesh, struct sdy_axis *out) {
    struct str name;
    uint32_t axis = 0;
    int64_t pre, part;
    HILO_TRY(scan_name(s, &name));
    while (axis < mesh->naxes && !str_eq(mesh->axes[axis].name, name))
        axis++;
    if (axis == mesh->naxes)
        return flaw(s, "along what is no axis of its mesh,", name);
    *out = sdy_axis_whole(mesh, axis);
    if (!scan_take(s, ":"))
        return HILO_OK;
    HILO_TRY(scan_expect(s, "("));
    HILO_TRY(scan_number(s, &pre));
    HILO_TRY(scan_expect(s, ")"));
    HILO_TRY(scan_number(s, &part));
    if (pre < 1 || part < 2 || pre > out->size || part > out->size / pre || out->size % (pre * part) || part == out->size)
        return flaw(s, "along a part that is none of axis", name);
    *out = sdy_axis_part(mesh, axis, pre, part);
    return HILO_OK;
}

/* Up to the closing brace; `*open` where a `?` is allowed. `all`: the axes before in the sharding, which may not overlap. */
static hilo_status scan_axes(struct scan *s, const struct sdy_mesh *mesh, bool *open, struct axis_list *all,
                             struct sdy_axes *out) {
    struct axis_list list = {0};
    struct sdy_axis axis;
    while (!scan_take(s, "}")) {
        if (list.n)
            HILO_TRY(scan_expect(s, ","));
        if (open && scan_take(s, "?")) {
            *open = true;
            HILO_TRY(scan_expect(s, "}"));
            break;
        }
        HILO_TRY(scan_axis(s, mesh, &axis));
        for (uint32_t i = 0; i < all->n; i++)
            if (sdy_axis_overlaps(all->v[i], axis) || sdy_axis_equal(all->v[i], axis)) /* axes of one do not overlap */
                return flaw(s, "that uses twice axis", mesh->axes[axis.axis].name);
        ARENA_PUSH(s->s->a, all, axis);
        ARENA_PUSH(s->s->a, &list, axis);
    }
    *out = (struct sdy_axes){list.n, list.v};
    return HILO_OK;
}

/* `<@mesh, [{"x", ?}p1, {…}], replicated={…}, unreduced={…}>` */
static hilo_status scan_sharding(struct scan *s, uint32_t rank, const struct sdy_sharding **out) {
    struct sdy_sharding *x = ARENA_NEW(s->s->a, struct sdy_sharding);
    struct { struct sdy_dim *v; uint32_t n, cap; } dims = {0};
    struct axis_list all = {0};
    HILO_TRY(scan_expect(s, "<"));
    HILO_TRY(scan_mesh_or_symbol(s, &x->mesh));
    HILO_TRY(scan_expect(s, ","));
    HILO_TRY(scan_expect(s, "["));
    while (!scan_take(s, "]")) {
        struct sdy_dim dim = {.priority = -1};
        bool open = false;
        if (dims.n)
            HILO_TRY(scan_expect(s, ","));
        HILO_TRY(scan_expect(s, "{"));
        HILO_TRY(scan_axes(s, x->mesh, &open, &all, &dim.axes));
        dim.closed = !open;
        if (scan_take(s, "p"))
            HILO_TRY(scan_number(s, &dim.priority));
        ARENA_PUSH(s->s->a, &dims, dim);
    }
    while (scan_take(s, ",")) {
        bool replicated = scan_take(s, "replicated");
        if (!replicated)
            HILO_TRY(scan_expect(s, "unreduced"));
        HILO_TRY(scan_expect(s, "="));
        if (!replicated && (scan_take(s, "max") || scan_take(s, "min")))
            return !s->s->d ? HILO_UNIMPLEMENTED
                            : ir_op_error(s->s->m, s->s->d, s->op, HILO_UNIMPLEMENTED, NULL,
                                          "has a sharding whose parts are combined by a maximum or minimum, which is not "
                                          "supported");
        HILO_TRY(scan_expect(s, "{"));
        HILO_TRY(scan_axes(s, x->mesh, NULL, &all, replicated ? &x->replicated : &x->unreduced));
    }
    x->rank = dims.n;
    x->dims = dims.v;
    *out = x;
    if (rank != UINT32_MAX && rank != x->rank && !sdy_mesh_maximal(x->mesh))
        return scan_error(s, "as many dimensions as the value has");
    return scan_expect(s, ">");
}

hilo_status sdy_read_sharding(struct sdy *s, ir_op op, ir_attr a, uint32_t rank, const struct sdy_sharding **out) {
    struct scan scan = scan_of(s, op, a);
    HILO_TRY(scan_expect(&scan, "#sdy.sharding"));
    HILO_TRY(scan_sharding(&scan, rank, out));
    return scan_end(&scan);
}

hilo_status sdy_read_shardings(struct sdy *s, ir_op op, ir_attr a, const uint32_t *ranks, uint32_t n,
                               const struct sdy_sharding **out) {
    struct scan scan = scan_of(s, op, a);
    HILO_TRY(scan_expect(&scan, "#sdy.sharding_per_value<["));
    for (uint32_t i = 0; i < n; i++) {
        if (i)
            HILO_TRY(scan_expect(&scan, ","));
        (void)scan_take(&scan, "#sdy.sharding"); /* MLIR reads it with this name, and prints it without */
        HILO_TRY(scan_sharding(&scan, ranks ? ranks[i] : UINT32_MAX, &out[i]));
    }
    HILO_TRY(scan_expect(&scan, "]>"));
    return scan_end(&scan);
}

static void list_all(struct scan *s, struct sdy_axes axes, struct axis_list *all) {
    for (uint32_t i = 0; i < axes.n; i++)
        ARENA_PUSH(s->s->a, all, axes.v[i]);
}

/* An all-reduce leaves dimensions as they are; a reduce-scatter divides each by the axes that are listed for it. */
hilo_status sdy_read_reduced_axes(struct sdy *s, ir_op op, struct sdy_axes *axes, const struct sdy_sharding **out) {
    bool scatters = ir_kind(s->m, op) == IR_SDY_REDUCE_SCATTER;
    enum ir_slot slot = (enum ir_slot)ir_op_info(ir_kind(s->m, op))->first_slot;
    uint32_t rank = ir_val_type(s->m, ir_result(s->m, op, 0))->rank, n = 0;
    struct axis_list all = {0}, found = {0};
    HILO_TRY(sdy_read_sharding(s, op, ir_prop(s->m, op, slot), rank, out));
    struct scan scan = scan_of(s, op, ir_prop(s->m, op, (enum ir_slot)(slot + 1)));
    list_all(&scan, (*out)->unreduced, &all);
    for (uint32_t d = 0; d < (*out)->rank && !scatters; d++)
        list_all(&scan, (*out)->dims[d].axes, &all);
    HILO_TRY(scan_expect(&scan, scatters ? "#sdy<list_of_axis_ref_lists[" : "#sdy<axis_ref_list"));
    do {
        struct sdy_axes list;
        HILO_TRY(scan_expect(&scan, "{"));
        HILO_TRY(scan_axes(&scan, (*out)->mesh, NULL, &all, &list));
        list_all(&scan, list, &found);
        n++;
    } while (scatters && scan_take(&scan, ","));
    if (scatters && n != rank)
        return scan_error(&scan, "one list of axes for each dimension");
    *axes = (struct sdy_axes){found.n, found.v};
    HILO_TRY(scan_expect(&scan, scatters ? "]>" : ">"));
    return scan_end(&scan);
}

hilo_status sdy_read_manual_axes(struct sdy *s, ir_op op, ir_attr a, const struct str **out, uint32_t *n) {
    struct scan scan = scan_of(s, op, a);
    struct { struct str *v; uint32_t n, cap; } list = {0};
    struct str name;
    HILO_TRY(scan_expect(&scan, "#sdy<manual_axes{"));
    while (!scan_take(&scan, "}")) {
        if (list.n)
            HILO_TRY(scan_expect(&scan, ","));
        HILO_TRY(scan_name(&scan, &name));
        for (uint32_t i = 0; i < list.n; i++)
            if (str_eq(list.v[i], name))
                return flaw(&scan, "that uses twice axis", name);
        ARENA_PUSH(s->a, &list, name);
    }
    *out = list.v;
    *n = list.n;
    return scan_expect(&scan, ">");
}

/* ---- rules ----------------------------------------------------------------------------------- */

enum { FACTOR_LETTERS = 'z' - 'i' };

/* `i` … `z`, `z_1`, `z_2` … */
static hilo_status scan_factor(struct scan *s, uint32_t *out) {
    int64_t number;
    scan_space(s);
    if (scan_take(s, "z_")) {
        HILO_TRY(scan_number(s, &number));
        if (number < 1 || number > 1000)
            return scan_error(s, "a factor");
        *out = FACTOR_LETTERS + (uint32_t)number;
        return HILO_OK;
    }
    if (!s->rest.n || *s->rest.p < 'i' || *s->rest.p > 'z')
        return scan_error(s, "a factor");
    *out = (uint32_t)(*s->rest.p - 'i');
    s->rest.p++;
    s->rest.n--;
    return HILO_OK;
}

/* `[i, jk], [j]`: the factors of the dimensions of n tensors. */
static hilo_status scan_mappings(struct scan *s, uint32_t n, uint32_t *ranks, const struct sdy_dim_factors **dims) {
    for (uint32_t i = 0; i < n; i++) {
        struct { struct sdy_dim_factors *v; uint32_t n, cap; } list = {0};
        if (i)
            HILO_TRY(scan_expect(s, ","));
        HILO_TRY(scan_expect(s, "["));
        while (!scan_take(s, "]")) {
            struct { uint32_t *v; uint32_t n, cap; } factors = {0};
            uint32_t factor;
            if (list.n)
                HILO_TRY(scan_expect(s, ","));
            do {
                HILO_TRY(scan_factor(s, &factor));
                ARENA_PUSH(s->s->a, &factors, factor);
            } while (s->rest.n && *s->rest.p >= 'i' && *s->rest.p <= 'z');
            ARENA_PUSH(s->s->a, &list, ((struct sdy_dim_factors){factors.n, factors.v}));
        }
        ranks[i] = list.n;
        dims[i] = list.v;
    }
    return HILO_OK;
}

static const char *const factor_kinds[] = {[SDY_REDUCTION] = "reduction", [SDY_NEED_REPLICATION] = "need_replication",
                                           [SDY_PERMUTATION] = "permutation"};

/* ` reduction={i, j}` … */
static hilo_status scan_kinds(struct scan *s, struct sdy_factor *factors, uint32_t n) {
    static const char blocked[] = "blocked_propagation";
    for (;;) {
        uint32_t kind = SDY_REDUCTION, factor;
        while (kind <= SDY_PERMUTATION && !scan_take(s, factor_kinds[kind]))
            kind++;
        if (kind > SDY_PERMUTATION && !scan_take(s, blocked))
            return HILO_OK;
        HILO_TRY(scan_expect(s, "="));
        HILO_TRY(scan_expect(s, "{"));
        for (bool first = true; !scan_take(s, "}"); first = false) {
            if (!first)
                HILO_TRY(scan_expect(s, ","));
            HILO_TRY(scan_factor(s, &factor));
            if (factor >= n)
                return scan_error(s, "a factor that has a size");
            if (kind > SDY_PERMUTATION)
                factors[factor].blocked = true;
            else
                factors[factor].type = (enum sdy_factor_type)kind;
        }
    }
}

hilo_status sdy_read_rule(struct sdy *s, ir_op op, ir_attr a, const struct sdy_rule **out) {
    const struct ir_op_data *x = ir_op_get(s->m, op);
    struct scan scan = scan_of(s, op, a);
    struct sdy_rule *rule = ARENA_NEW(s->a, struct sdy_rule);
    struct { struct sdy_factor *v; uint32_t n, cap; } factors = {0};
    uint32_t tensors = x->noperands + x->nresults, *ranks = ARENA_ARRAY(s->a, uint32_t, tensors + 1), factor;
    const struct sdy_dim_factors **dims = ARENA_ARRAY(s->a, const struct sdy_dim_factors *, tensors + 1);
    HILO_TRY(scan_expect(&scan, "#sdy.op_sharding_rule<("));
    HILO_TRY(scan_mappings(&scan, x->noperands, ranks, dims));
    HILO_TRY(scan_expect(&scan, ")->("));
    HILO_TRY(scan_mappings(&scan, x->nresults, ranks + x->noperands, dims + x->noperands));
    HILO_TRY(scan_expect(&scan, ")"));
    if (scan_take(&scan, "{"))
        while (!scan_take(&scan, "}")) {
            struct sdy_factor f = {0};
            if (factors.n)
                HILO_TRY(scan_expect(&scan, ","));
            HILO_TRY(scan_factor(&scan, &factor));
            HILO_TRY(scan_expect(&scan, "="));
            HILO_TRY(scan_number(&scan, &f.size));
            if (factor != factors.n)
                return scan_error(&scan, "factors in order");
            ARENA_PUSH(s->a, &factors, f);
        }
    HILO_TRY(scan_kinds(&scan, factors.v, factors.n));
    *rule = (struct sdy_rule){factors.n, x->noperands, x->nresults, factors.v, ranks, dims, false};
    if (scan_take(&scan, ",")) {
        HILO_TRY(scan_expect(&scan, "custom"));
        rule->custom = true;
    }
    for (uint32_t t = 0; t < tensors; t++) {
        const struct ir_type_data *type = ir_val_type(s->m, t < x->noperands ? x->operands[t]
                                                                             : ir_result(s->m, op, t - x->noperands));
        if (ranks[t] != type->rank)
            return scan_error(&scan, "factors of each dimension of each tensor");
        for (uint32_t d = 0; d < ranks[t]; d++)
            for (uint32_t k = 0; k < dims[t][d].n; k++)
                if (dims[t][d].v[k] >= factors.n)
                    return scan_error(&scan, "factors that have a size");
    }
    *out = rule;
    HILO_TRY(scan_expect(&scan, ">"));
    return scan_end(&scan);
}

/* ---- writing --------------------------------------------------------------------------------- */

struct text {
    struct arena *a;
    char *v;
    uint32_t n, cap;
};

static void put(struct text *t, struct str s) {
    for (size_t i = 0; i < s.n; i++)
        ARENA_PUSH(t->a, t, s.p[i]);
}

static void put_z(struct text *t, const char *z) {
    put(t, str_of(z));
}

static void put_number(struct text *t, int64_t v) {
    char digits[24];
    snprintf(digits, sizeof digits, "%" PRId64, v);
    put_z(t, digits);
}

static void put_quoted(struct text *t, struct str s) {
    put_z(t, "\"");
    put(t, s);
    put_z(t, "\"");
}

static void put_axes(struct text *t, const struct sdy_mesh *mesh, struct sdy_axes axes) {
    for (uint32_t i = 0; i < axes.n; i++) {
        put_z(t, i ? ", " : "");
        put_quoted(t, mesh->axes[axes.v[i].axis].name);
        if (axes.v[i].part) {
            put_z(t, ":(");
            put_number(t, axes.v[i].pre);
            put_z(t, ")");
            put_number(t, axes.v[i].size);
        }
    }
}

static void put_mesh(struct text *t, const struct sdy_mesh *mesh) {
    put_z(t, "<[");
    for (uint32_t i = 0; i < mesh->naxes; i++) {
        put_z(t, i ? ", " : "");
        put_quoted(t, mesh->axes[i].name);
        put_z(t, "=");
        put_number(t, mesh->axes[i].size);
    }
    put_z(t, "]");
    for (uint32_t i = 0; i < mesh->ndevices; i++) {
        put_z(t, i ? ", " : ", device_ids=[");
        put_number(t, mesh->devices[i]);
    }
    put_z(t, mesh->ndevices ? "]>" : ">");
}

static void put_sharding(struct text *t, const struct sdy_sharding *s) {
    put_z(t, "<");
    if (s->mesh->symbol.n) {
        put_z(t, "@");
        put(t, s->mesh->symbol);
    } else {
        put_z(t, "mesh");
        put_mesh(t, s->mesh);
    }
    put_z(t, ", [");
    for (uint32_t d = 0; d < s->rank; d++) {
        const struct sdy_dim *dim = &s->dims[d];
        put_z(t, d ? ", {" : "{");
        put_axes(t, s->mesh, dim->axes);
        put_z(t, dim->closed ? "}" : dim->axes.n ? ", ?}" : "?}");
        if (dim->priority >= 0) {
            put_z(t, "p");
            put_number(t, dim->priority);
        }
    }
    put_z(t, "]");
    const struct { const char *name; struct sdy_axes axes; } lists[] = {{", replicated={", s->replicated},
                                                                       {", unreduced={", s->unreduced}};
    for (int i = 0; i < 2; i++)
        if (lists[i].axes.n) {
            put_z(t, lists[i].name);
            put_axes(t, s->mesh, lists[i].axes);
            put_z(t, "}");
        }
    put_z(t, ">");
}

static ir_attr text_attr(struct ir_module *m, const struct text *t) {
    return ir_attr_opaque(m, (struct str){t->v, t->n});
}

ir_attr sdy_mesh_attr(struct ir_module *m, const struct sdy_mesh *mesh) {
    struct text t = {.a = &m->arena};
    put_z(&t, "#sdy.mesh");
    put_mesh(&t, mesh);
    return text_attr(m, &t);
}

ir_attr sdy_sharding_attr(struct ir_module *m, const struct sdy_sharding *s) {
    struct text t = {.a = &m->arena};
    put_z(&t, "#sdy.sharding");
    put_sharding(&t, s);
    return text_attr(m, &t);
}

ir_attr sdy_shardings_attr(struct ir_module *m, const struct sdy_sharding *const *s, uint32_t n) {
    struct text t = {.a = &m->arena};
    put_z(&t, "#sdy.sharding_per_value<[");
    for (uint32_t i = 0; i < n; i++) {
        put_z(&t, i ? ", " : "");
        put_sharding(&t, s[i]);
    }
    put_z(&t, "]>");
    return text_attr(m, &t);
}

ir_attr sdy_manual_axes_attr(struct ir_module *m, const struct str *names, uint32_t n) {
    struct text t = {.a = &m->arena};
    put_z(&t, "#sdy<manual_axes{");
    for (uint32_t i = 0; i < n; i++) {
        put_z(&t, i ? ", " : "");
        put_quoted(&t, names[i]);
    }
    put_z(&t, "}>");
    return text_attr(m, &t);
}

static void put_factor(struct text *t, uint32_t factor) {
    char letter[2] = {(char)('i' + (factor < FACTOR_LETTERS ? factor : FACTOR_LETTERS)), 0};
    put_z(t, letter);
    if (factor > FACTOR_LETTERS) {
        put_z(t, "_");
        put_number(t, factor - FACTOR_LETTERS);
    }
}

static void put_mappings(struct text *t, const struct sdy_rule *r, uint32_t first, uint32_t n) {
    for (uint32_t i = first; i < first + n; i++) {
        put_z(t, i > first ? ", [" : "[");
        for (uint32_t d = 0; d < r->ranks[i]; d++) {
            put_z(t, d ? ", " : "");
            for (uint32_t k = 0; k < r->dims[i][d].n; k++)
                put_factor(t, r->dims[i][d].v[k]);
        }
        put_z(t, "]");
    }
}

/* ` reduction={…}`, of the factors that it holds for. */
static void put_kind(struct text *t, const struct sdy_rule *r, const char *name, int type) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < r->nfactors; i++) {
        if (type < 0 ? !r->factors[i].blocked : r->factors[i].type != (enum sdy_factor_type)type)
            continue;
        put_z(t, n ? ", " : " ");
        put_z(t, n ? "" : name);
        put_z(t, n++ ? "" : "={");
        put_factor(t, i);
    }
    put_z(t, n ? "}" : "");
}

ir_attr sdy_rule_attr(struct ir_module *m, const struct sdy_rule *r) {
    struct text t = {.a = &m->arena};
    put_z(&t, "#sdy.op_sharding_rule<(");
    put_mappings(&t, r, 0, r->noperands);
    put_z(&t, ")->(");
    put_mappings(&t, r, r->noperands, r->nresults);
    put_z(&t, ")");
    for (uint32_t i = 0; i < r->nfactors; i++) {
        put_z(&t, i ? ", " : " {");
        put_factor(&t, i);
        put_z(&t, "=");
        put_number(&t, r->factors[i].size);
    }
    put_z(&t, r->nfactors ? "}" : "");
    for (int type = SDY_REDUCTION; type <= SDY_PERMUTATION; type++)
        put_kind(&t, r, factor_kinds[type], type);
    put_kind(&t, r, "blocked_propagation", -1);
    put_z(&t, r->custom ? ", custom>" : ">");
    return text_attr(m, &t);
}
