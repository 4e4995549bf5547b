/* Attributes of HLO instructions: by the rows of hlo.def what an op has, and for every instruction its place and sharding. */
#include "read/hlo/hlo.h"

#include "base/decimal.h"

#include <stdio.h>

/* ---- tables ---------------------------------------------------------------------------------- */

static const struct hlo_attr_row rows[] = {
#define HLO_ATTR(id, slot, name, syntax, dflt) {IR_##id, IR_##id##_##slot, IR_FIELD_NONE, name, HLO_##syntax, dflt},
#define HLO_FIELD(id, slot, struct_, field, name, syntax, dflt) \
    {IR_##id, IR_##id##_##slot, IR_##struct_##_##field##_F, name, HLO_##syntax, dflt},
#include "read/hlo/hlo.def"
};
enum { NROWS = sizeof rows / sizeof *rows };

static const struct { enum ir_op_kind op; const char *name; } regions[] = {
#define HLO_REGION(id, name) {IR_##id, name},
#include "read/hlo/hlo.def"
};

static const char *const ignored[] = {
#define HLO_IGNORED(name) name,
#include "read/hlo/hlo.def"
};

const struct hlo_attr_row *hlo_attr_rows(enum ir_op_kind op, uint32_t *n) {
    uint32_t first = 0;
    while (first < NROWS && rows[first].op != op)
        first++;
    for (*n = 0; first + *n < NROWS && rows[first + *n].op == op;)
        ++*n;
    return &rows[first < NROWS ? first : 0];
}

const char *hlo_region_name(enum ir_op_kind op, uint32_t region) {
    for (size_t i = 0; i < sizeof regions / sizeof *regions; i++)
        if (regions[i].op == op && region-- == 0)
            return regions[i].name;
    return NULL;
}

const char *hlo_window_part(enum hlo_window_part part) {
    static const char *const names[HLO_WINDOW_PARTS] = {"size", "stride", "pad", "lhs_dilate", "rhs_dilate", "rhs_reversal"};
    return names[part];
}

uint32_t hlo_window_slot(enum ir_op_kind op, enum hlo_window_part part) {
    static const struct { enum ir_op_kind op; uint32_t slots[HLO_WINDOW_PARTS]; } windows[] = {
        {IR_CONVOLUTION, {IR_SLOT_NONE, IR_CONVOLUTION_window_strides, IR_CONVOLUTION_padding, IR_CONVOLUTION_lhs_dilation,
                          IR_CONVOLUTION_rhs_dilation, IR_CONVOLUTION_window_reversal}},
        {IR_REDUCE_WINDOW, {IR_REDUCE_WINDOW_window_dimensions, IR_REDUCE_WINDOW_window_strides, IR_REDUCE_WINDOW_padding,
                            IR_REDUCE_WINDOW_base_dilations, IR_REDUCE_WINDOW_window_dilations, IR_SLOT_NONE}},
        {IR_SELECT_AND_SCATTER, {IR_SELECT_AND_SCATTER_window_dimensions, IR_SELECT_AND_SCATTER_window_strides,
                                 IR_SELECT_AND_SCATTER_padding, IR_SLOT_NONE, IR_SLOT_NONE, IR_SLOT_NONE}},
    };
    for (size_t i = 0; i < sizeof windows / sizeof *windows; i++)
        if (windows[i].op == op)
            return windows[i].slots[part];
    return IR_SLOT_NONE;
}

const struct hlo_algorithm *hlo_algorithm(size_t i) {
    static const struct hlo_algorithm algorithms[] = {
#define HLO_ALGORITHM(name, lhs, rhs, accumulation, components, operations, imprecise) \
        {name, IR_##lhs##_T, IR_##rhs##_T, IR_##accumulation##_T, components, operations, imprecise},
#include "read/hlo/hlo.def"
    };
    return i < sizeof algorithms / sizeof *algorithms ? &algorithms[i] : NULL;
}

struct hlo_cursor hlo_take(struct hlo_instr *i, const char *name) {
    for (uint32_t k = 0; k < i->nattrs; k++)
        if (str_is(i->attrs[k].name, name)) {
            i->taken |= (uint64_t)1 << k;
            return hlo_over(i->attrs[k].value);
        }
    return (struct hlo_cursor){NULL, NULL};
}

hilo_status hlo_check_attrs(struct hlo *h, const struct hlo_instr *i) {
    for (uint32_t k = 0; k < i->nattrs; k++) {
        struct str name = i->attrs[k].name;
        bool known = i->taken >> k & 1;
        for (size_t j = 0; j < sizeof ignored / sizeof *ignored; j++)
            known = known || str_is(name, ignored[j]);
        if (!known)
            return hlo_error(h, name.p, "%.*s has no attribute '%.*s'", (int)i->opcode.n, i->opcode.p, (int)name.n, name.p);
    }
    return HILO_OK;
}

/* ---- simple values --------------------------------------------------------------------------- */

static hilo_status value_bool(struct hlo *h, struct hlo_cursor *c, bool *out) {
    *out = hlo_accept(c, "true") || hlo_accept(c, "1");
    return *out || hlo_accept(c, "false") || hlo_accept(c, "0") ? HILO_OK : hlo_expected(h, c, "true or false");
}

/* `{3}` */
static hilo_status value_first(struct hlo *h, struct hlo_cursor *c, int64_t *out) {
    HILO_TRY(hlo_expect(h, c, "{"));
    HILO_TRY(hlo_i64(h, c, out));
    return hlo_expect(h, c, "}");
}

/* A case as StableHLO spells it, or in lower case, or in lower case after `rng_`. */
static hilo_status value_case(struct hlo *h, struct hlo_cursor *c, enum ir_enum e, ir_attr *out) {
    char name[32];
    struct str word;
    struct hlo_cursor start = *c;
    int64_t value;
    if (!hlo_word(c, &word))
        return hlo_expected(h, c, "a word");
    size_t skip = str_starts(word, "rng_") ? 4 : 0, n = word.n - skip;
    for (size_t i = 0; i < n && i < sizeof name; i++) {
        char ch = word.p[skip + i];
        name[i] = ch >= 'a' && ch <= 'z' ? (char)(ch - 'a' + 'A') : ch;
    }
    if (ir_enum_case_named(e, word, &value) ||
        (n <= sizeof name && ir_enum_case_named(e, (struct str){name, n}, &value))) {
        *out = ir_attr_enum(h->m, e, value);
        return HILO_OK;
    }
    char text[200] = "one of";
    for (value = 0; value < IR_ENUM_CASE_MAX; value++)
        if (ir_enum_case_name(e, value))
            snprintf(text + strlen(text), sizeof text - strlen(text), " %s", ir_enum_case_name(e, value));
    return hlo_expected(h, &start, text);
}

static hilo_status value_cases(struct hlo *h, struct hlo_cursor *c, enum ir_enum e, ir_attr *out) {
    struct { ir_attr *v; uint32_t n, cap; } items = {NULL, 0, 0};
    ir_attr item;
    HILO_TRY(hlo_expect(h, c, "{"));
    while (!hlo_accept(c, "}")) {
        if (items.n)
            HILO_TRY(hlo_expect(h, c, ","));
        HILO_TRY(value_case(h, c, e, &item));
        ARENA_PUSH(&h->m->arena, &items, item);
    }
    *out = ir_attr_array(h->m, items.v, items.n);
    return HILO_OK;
}

static hilo_status value_f32(struct hlo *h, struct hlo_cursor *c, ir_attr *out) {
    float f;
    const char *next;
    hlo_space(c);
    if (!dec_parse_float(c->at, c->end, &f, &next))
        return hlo_expected(h, c, "a number");
    c->at = next;
    *out = ir_attr_float(h->m, ir_type_scalar(h->m, IR_F32_T), (double)f);
    return HILO_OK;
}

static hilo_status value_algorithm(struct hlo *h, struct hlo_cursor *c, ir_attr *out) {
    struct hlo_cursor start = *c;
    struct str word;
    if (!hlo_word(c, &word))
        return hlo_expected(h, c, "an algorithm");
    const struct hlo_algorithm *row;
    for (size_t i = 0; (row = hlo_algorithm(i)) != NULL; i++) {
        if (!str_is(word, row->name))
            continue;
        const enum ir_dtype types[3] = {row->lhs, row->rhs, row->sum};
        ir_attr f[7];
        for (int k = 0; k < 3; k++)
            f[k] = ir_attr_of_type(h->m, ir_type_scalar(h->m, types[k]));
        f[3] = f[4] = ir_attr_i64(h->m, row->components);
        f[5] = ir_attr_i64(h->m, row->operations);
        f[6] = ir_attr_bool(h->m, row->imprecise);
        *out = ir_attr_struct(h->m, IR_STRUCT_DOT_ALGORITHM, f);
        return HILO_OK;
    }
    return hlo_expected(h, &start, "an algorithm of a dot, such as dot_bf16_bf16_f32");
}

/* ---- devices --------------------------------------------------------------------------------- */

struct groups {
    struct { int64_t *v; uint32_t n, cap; } ids;
    uint32_t nrows, width; /* rows are filled up with -1 */
};

/* `{{0,1},{2,3}}` */
static hilo_status groups_listed(struct hlo *h, struct hlo_cursor *c, struct groups *out) {
    struct { const int64_t *v; uint32_t n; } *row;
    struct { __typeof__(*row) *v; uint32_t n, cap; } list = {NULL, 0, 0};
    HILO_TRY(hlo_expect(h, c, "{"));
    while (!hlo_accept(c, "}")) {
        __typeof__(*row) next;
        if (list.n)
            HILO_TRY(hlo_expect(h, c, ","));
        HILO_TRY(hlo_i64s(h, c, "{", "}", &next.v, &next.n));
        ARENA_PUSH(&h->m->arena, &list, next);
        out->width = next.n > out->width ? next.n : out->width;
    }
    out->nrows = list.n;
    if ((uint64_t)out->nrows * out->width > HLO_DEVICES)
        return hlo_error(h, c->at, "more than %d devices", (int)HLO_DEVICES);
    for (uint32_t r = 0; r < list.n; r++)
        for (uint32_t k = 0; k < out->width; k++)
            ARENA_PUSH(&h->m->arena, &out->ids, k < list.v[r].n ? list.v[r].v[k] : -1);
    return HILO_OK;
}

/* Sizes whose product is that of a list of devices. */
static hilo_status groups_sizes(struct hlo *h, struct hlo_cursor *c, const int64_t **v, uint32_t *n, int64_t *product) {
    const char *at = c->at;
    HILO_TRY(hlo_i64s(h, c, "[", "]", v, n));
    *product = 1;
    for (uint32_t i = 0; i < *n; i++) {
        if ((*v)[i] < 1 || (*v)[i] > HLO_DEVICES || (*product *= (*v)[i]) > HLO_DEVICES)
            return hlo_error(h, at, "expected sizes whose product is 1 to %d", (int)HLO_DEVICES);
    }
    return *n <= IR_MAX_RANK ? HILO_OK : hlo_error(h, at, "more than %d dimensions", (int)IR_MAX_RANK);
}

/* `[rows,width]<=[sizes]T(permutation)`: 0, 1, 2 … of that shape, transposed, in rows. */
static hilo_status groups_iota(struct hlo *h, struct hlo_cursor *c, struct groups *out) {
    const int64_t *shape, *sizes, *order = NULL;
    uint32_t rank, n, norder = 0;
    int64_t count, total, strides[IR_MAX_RANK], at[IR_MAX_RANK] = {0};
    const char *begin = c->at;
    uint64_t seen = 0;
    HILO_TRY(groups_sizes(h, c, &shape, &rank, &count));
    HILO_TRY(hlo_expect(h, c, "<="));
    HILO_TRY(groups_sizes(h, c, &sizes, &n, &total));
    if (rank != 2 || count != total)
        return hlo_error(h, begin, "expected [groups,size]<=[sizes] of as many devices");
    if (hlo_accept(c, "T"))
        HILO_TRY(hlo_i64s(h, c, "(", ")", &order, &norder));
    for (uint32_t i = 0; i < norder && norder == n; i++)
        seen |= order[i] >= 0 && order[i] < n ? (uint64_t)1 << order[i] : 0;
    if (norder && (norder != n || (uint32_t)__builtin_popcountll(seen) != n))
        return hlo_error(h, begin, "expected a permutation of %u dimensions", n);
    for (int64_t i = (int64_t)n - 1, stride = 1; i >= 0; stride *= sizes[i--])
        strides[i] = stride;
    out->nrows = (uint32_t)shape[0];
    out->width = (uint32_t)shape[1];
    for (int64_t k = 0; k < total; k++) {
        int64_t id = 0;
        for (uint32_t i = 0; i < n; i++)
            id += at[i] * strides[norder ? order[i] : i];
        ARENA_PUSH(&h->m->arena, &out->ids, id);
        for (uint32_t i = n; i-- > 0;) {
            if (++at[i] < sizes[norder ? order[i] : i])
                break;
            at[i] = 0;
        }
    }
    return HILO_OK;
}

/* `'name'`, or a word */
static hilo_status mesh_axis(struct hlo *h, struct hlo_cursor *c, struct str *name) {
    bool quoted = hlo_accept(c, "'");
    if (!hlo_word(c, name))
        return hlo_expected(h, c, "the name of an axis");
    return quoted ? hlo_expect(h, c, "'") : HILO_OK;
}

/* `mesh['a'=2,'b'=4], device_ids=(0,1,…)`: the devices along its axes. */
struct mesh {
    struct str names[IR_MAX_RANK];
    int64_t sizes[IR_MAX_RANK], count;
    uint32_t n;
    const int64_t *ids; /* NULL: 0, 1, 2 … */
};

static hilo_status mesh_read(struct hlo *h, struct hlo_cursor *c, struct mesh *m) {
    const char *at = c->at;
    uint32_t nids;
    HILO_TRY(hlo_expect(h, c, "mesh"));
    HILO_TRY(hlo_expect(h, c, "["));
    for (m->count = 1; !hlo_accept(c, "]"); m->n++) {
        if (m->n)
            HILO_TRY(hlo_expect(h, c, ","));
        if (m->n == IR_MAX_RANK)
            return hlo_error(h, at, "more than %d axes", (int)IR_MAX_RANK);
        HILO_TRY(mesh_axis(h, c, &m->names[m->n]));
        HILO_TRY(hlo_expect(h, c, "="));
        HILO_TRY(hlo_i64(h, c, &m->sizes[m->n]));
        if (m->sizes[m->n] < 1 || m->sizes[m->n] > HLO_DEVICES || (m->count *= m->sizes[m->n]) > HLO_DEVICES)
            return hlo_error(h, at, "expected sizes whose product is 1 to %d", (int)HLO_DEVICES);
    }
    if (!hlo_accept(c, ","))
        return HILO_OK;
    HILO_TRY(hlo_expect(h, c, "device_ids"));
    HILO_TRY(hlo_expect(h, c, "="));
    HILO_TRY(hlo_i64s(h, c, "(", ")", &m->ids, &nids));
    return nids == m->count ? HILO_OK : hlo_error(h, at, "expected %lld devices", (long long)m->count);
}

/* The axes that are named vary inside of a group, in their order; the others tell the groups apart. */
static hilo_status groups_mesh(struct hlo *h, struct hlo_cursor *c, struct groups *out) {
    struct mesh m = {.n = 0};
    uint32_t order[IR_MAX_RANK], n = 0, ninner = 0, inner[IR_MAX_RANK];
    int64_t strides[IR_MAX_RANK], at[IR_MAX_RANK] = {0}, width = 1;
    uint64_t named = 0;
    struct str name;
    HILO_TRY(mesh_read(h, c, &m));
    HILO_TRY(hlo_expect(h, c, "{"));
    while (!hlo_accept(c, "}")) {
        uint32_t k = 0;
        if (ninner)
            HILO_TRY(hlo_expect(h, c, ","));
        hlo_space(c);
        const char *where = c->at;
        HILO_TRY(mesh_axis(h, c, &name));
        while (k < m.n && !str_eq(m.names[k], name))
            k++;
        if (k == m.n || (named >> k & 1))
            return hlo_error(h, where, "expected an axis of the mesh, each once");
        named |= (uint64_t)1 << k;
        inner[ninner++] = k;
        width *= m.sizes[k];
    }
    for (uint32_t k = 0; k < m.n; k++)
        if (!(named >> k & 1))
            order[n++] = k;
    for (uint32_t k = 0; k < ninner; k++)
        order[n++] = inner[k];
    for (int64_t i = (int64_t)m.n - 1, stride = 1; i >= 0; stride *= m.sizes[i--])
        strides[i] = stride;
    out->width = (uint32_t)width;
    out->nrows = (uint32_t)(m.count / width);
    for (int64_t k = 0; k < m.count; k++) {
        int64_t id = 0;
        for (uint32_t i = 0; i < n; i++)
            id += at[i] * strides[order[i]];
        ARENA_PUSH(&h->m->arena, &out->ids, m.ids ? m.ids[id] : id);
        for (uint32_t i = n; i-- > 0;) {
            if (++at[i] < m.sizes[order[i]])
                break;
            at[i] = 0;
        }
    }
    return HILO_OK;
}

static int64_t module_count(struct hlo *h, const char *name) {
    struct str text = hlo_find(h->attrs.v, h->attrs.n, name);
    int64_t n;
    const char *next;
    return text.p && dec_parse_i64(text.p, text.p + text.n, &n, &next) && n > 0 && n <= HLO_DEVICES ? n : 1;
}

/* No groups are one group of all: of replicas, of partitions where there is a channel, of both where ids are global. */
static hilo_status value_groups(struct hlo *h, struct hlo_instr *i, struct hlo_cursor *c, ir_attr *out) {
    struct groups g = {.nrows = 0};
    if (c->at && hlo_next_is(c, '['))
        HILO_TRY(groups_iota(h, c, &g));
    else if (c->at && hlo_next_is(c, 'm'))
        HILO_TRY(groups_mesh(h, c, &g));
    else if (c->at)
        HILO_TRY(groups_listed(h, c, &g));
    if (g.nrows == 0) {
        struct str channel = hlo_find(i->attrs, i->nattrs, "channel_id");
        struct str global = hlo_find(i->attrs, i->nattrs, "use_global_device_ids");
        bool both = global.p && str_is(global, "true");
        int64_t n = both || !channel.p ? module_count(h, "replica_count") : 1;
        n *= both ? module_count(h, "num_partitions") : 1;
        for (int64_t k = 0; k < n && n <= HLO_DEVICES; k++)
            ARENA_PUSH(&h->m->arena, &g.ids, k);
        g.nrows = 1;
        g.width = g.ids.n;
    }
    *out = ir_attr_dense_i64s(h->m, g.ids.v, (int64_t[]){g.nrows, g.width}, 2);
    return HILO_OK;
}

static hilo_status value_pairs(struct hlo *h, struct hlo_cursor *c, ir_attr *out) {
    struct groups g = {.nrows = 0};
    hlo_space(c);
    const char *at = c->at;
    HILO_TRY(groups_listed(h, c, &g));
    if (g.nrows && g.width != 2)
        return hlo_error(h, at, "expected pairs");
    *out = ir_attr_dense_i64s(h->m, g.ids.v, (int64_t[]){g.nrows, 2}, 2);
    return HILO_OK;
}

/* ---- slices, padding, windows: several attributes of the op in one --------------------------- */

struct spread { struct { int64_t *v; uint32_t n, cap; } list[5]; };

static void spread_push(struct hlo *h, struct spread *s, int k, int64_t v) {
    ARENA_PUSH(&h->m->arena, &s->list[k], v);
}

static ir_attr spread_attr(struct hlo *h, const struct spread *s, int k) {
    return ir_attr_i64s(h->m, s->list[k].v, s->list[k].n);
}

/* `{[0:2:1], [1:3]}` */
static hilo_status set_slice(struct hlo *h, struct hlo_cursor *c, ir_op op) {
    struct spread s = {0};
    int64_t v;
    HILO_TRY(hlo_expect(h, c, "{"));
    for (uint32_t n = 0; !hlo_accept(c, "}"); n++) {
        if (n)
            HILO_TRY(hlo_expect(h, c, ","));
        HILO_TRY(hlo_expect(h, c, "["));
        HILO_TRY(hlo_i64(h, c, &v));
        spread_push(h, &s, 0, v);
        HILO_TRY(hlo_expect(h, c, ":"));
        HILO_TRY(hlo_i64(h, c, &v));
        spread_push(h, &s, 1, v);
        v = 1;
        if (hlo_accept(c, ":"))
            HILO_TRY(hlo_i64(h, c, &v));
        spread_push(h, &s, 2, v);
        HILO_TRY(hlo_expect(h, c, "]"));
    }
    ir_set_prop(h->m, op, IR_SLICE_start_indices, spread_attr(h, &s, 0));
    ir_set_prop(h->m, op, IR_SLICE_limit_indices, spread_attr(h, &s, 1));
    ir_set_prop(h->m, op, IR_SLICE_strides, spread_attr(h, &s, 2));
    return HILO_OK;
}

/* One number, or `most` of them with `_` between: `0_1`. What is not said is 0. */
static hilo_status value_tuple(struct hlo *h, struct hlo_cursor *c, uint32_t most, int64_t *out) {
    for (uint32_t k = 0; k < most; k++) {
        out[k] = 0;
        if (k == 0 || hlo_accept(c, "_"))
            HILO_TRY(hlo_i64(h, c, &out[k]));
    }
    return HILO_OK;
}

/* `0_1x2_3_1`: low, high, interior of each dimension; absent for a scalar. */
static hilo_status set_padding(struct hlo *h, struct hlo_cursor *c, ir_op op) {
    struct spread s = {0};
    int64_t v[3];
    for (; c->at && c->at < c->end; hlo_space(c)) {
        if (s.list[0].n)
            HILO_TRY(hlo_expect(h, c, "x"));
        HILO_TRY(value_tuple(h, c, 3, v));
        for (int k = 0; k < 3; k++)
            spread_push(h, &s, k, v[k]);
    }
    ir_set_prop(h->m, op, IR_PAD_edge_padding_low, spread_attr(h, &s, 0));
    ir_set_prop(h->m, op, IR_PAD_edge_padding_high, spread_attr(h, &s, 1));
    ir_set_prop(h->m, op, IR_PAD_interior_padding, spread_attr(h, &s, 2));
    return HILO_OK;
}

static hilo_status set_window_part(struct hlo *h, struct hlo_cursor *c, ir_op op, enum hlo_window_part part, uint32_t slot) {
    struct { int64_t *v; uint32_t n, cap; } list = {NULL, 0, 0};
    uint32_t each = part == HLO_WINDOW_PAD ? 2 : 1;
    bool other = false; /* than the default */
    int64_t v[2];
    hlo_space(c);
    const char *at = c->at;
    do {
        HILO_TRY(value_tuple(h, c, each, v));
        for (uint32_t k = 0; k < each; k++) {
            ARENA_PUSH(&h->m->arena, &list, v[k]);
            other = other || v[k] != (part != HLO_WINDOW_PAD && part != HLO_WINDOW_REVERSAL);
        }
    } while (hlo_accept(c, "x"));
    if (slot == IR_SLOT_NONE && (part == HLO_WINDOW_SIZE || !other))
        return HILO_OK; /* the size of a kernel is its shape; what else an op lacks must be the default */
    if (slot == IR_SLOT_NONE)
        return hlo_error(h, at, "this instruction cannot have %s", hlo_window_part(part));
    ir_attr a;
    if (part == HLO_WINDOW_PAD) {
        a = ir_attr_dense_i64s(h->m, list.v, (int64_t[]){list.n / 2, 2}, 2);
    } else if (part == HLO_WINDOW_REVERSAL) {
        uint8_t *flags = ARENA_ARRAY(&h->m->arena, uint8_t, list.n);
        for (uint32_t k = 0; k < list.n; k++)
            flags[k] = list.v[k] != 0;
        a = ir_attr_dense_array(h->m, ir_type_scalar(h->m, IR_I1_T), flags, list.n);
    } else {
        a = ir_attr_i64s(h->m, list.v, list.n);
    }
    ir_set_prop(h->m, op, (enum ir_slot)slot, a);
    return HILO_OK;
}

/* `{size=2x2 stride=1x1 pad=0_1x0_1}`; none at all is one of no dimensions. */
static hilo_status set_window(struct hlo *h, struct hlo_cursor *c, ir_op op) {
    enum ir_op_kind kind = ir_kind(h->m, op);
    struct str name;
    if (hlo_window_slot(kind, HLO_WINDOW_SIZE))
        ir_set_prop(h->m, op, (enum ir_slot)hlo_window_slot(kind, HLO_WINDOW_SIZE), ir_attr_i64s(h->m, NULL, 0));
    if (!c->at)
        return HILO_OK;
    HILO_TRY(hlo_expect(h, c, "{"));
    while (!hlo_accept(c, "}")) {
        enum hlo_window_part part = HLO_WINDOW_SIZE;
        struct hlo_cursor start = *c;
        if (!hlo_word(c, &name))
            return hlo_expected(h, c, "a part of a window");
        while (part < HLO_WINDOW_PARTS && !str_is(name, hlo_window_part(part)))
            part++;
        if (part == HLO_WINDOW_PARTS)
            return hlo_expected(h, &start, "size, stride, pad, lhs_dilate, rhs_dilate or rhs_reversal");
        HILO_TRY(hlo_expect(h, c, "="));
        HILO_TRY(set_window_part(h, c, op, part, hlo_window_slot(kind, part)));
    }
    return HILO_OK;
}

/* `b01f_01io->b01f`: dimensions of the input, the kernel, the output; a digit is a spatial one. */
static hilo_status value_labels(struct hlo *h, struct hlo_cursor *c, ir_attr *out) {
    static const struct { const char *letters; uint32_t first, second, spatial; } groups[3] = {
        {"bf", IR_CONV_input_batch_dimension_F, IR_CONV_input_feature_dimension_F, IR_CONV_input_spatial_dimensions_F},
        {"io", IR_CONV_kernel_input_feature_dimension_F, IR_CONV_kernel_output_feature_dimension_F,
         IR_CONV_kernel_spatial_dimensions_F},
        {"bf", IR_CONV_output_batch_dimension_F, IR_CONV_output_feature_dimension_F, IR_CONV_output_spatial_dimensions_F},
    };
    const struct ir_struct_info *info = ir_struct_get(IR_STRUCT_CONV);
    ir_attr fields[9];
    for (int g = 0; g < 3; g++) {
        int64_t spatial[10], letter[2] = {-1, -1}, dim = 0;
        uint32_t nspatial = 0, seen = 0;
        hlo_space(c);
        const char *at = c->at;
        if (g)
            HILO_TRY(hlo_expect(h, c, g == 1 ? "_" : "->"));
        for (; c->at < c->end && *c->at != '_' && *c->at != '-'; c->at++, dim++) {
            const char *known = *c->at ? strchr(groups[g].letters, *c->at) : NULL;
            if (known && letter[known - groups[g].letters] < 0) {
                letter[known - groups[g].letters] = dim;
            } else if (*c->at >= '0' && *c->at <= '9' && !(seen >> (*c->at - '0') & 1)) {
                spatial[*c->at - '0'] = dim;
                seen |= 1U << (*c->at - '0');
                nspatial++;
            } else {
                return hlo_error(h, c->at, "expected %c, %c or the number of a spatial dimension, once each",
                                 groups[g].letters[0], groups[g].letters[1]);
            }
        }
        if (letter[0] < 0 || letter[1] < 0 || seen != (1U << nspatial) - 1)
            return hlo_error(h, at, "expected labels such as b01f_01io->b01f");
        fields[groups[g].first - info->first_field] = ir_attr_i64(h->m, letter[0]);
        fields[groups[g].second - info->first_field] = ir_attr_i64(h->m, letter[1]);
        fields[groups[g].spatial - info->first_field] = ir_attr_i64s(h->m, spatial, nspatial);
    }
    *out = ir_attr_struct(h->m, IR_STRUCT_CONV, fields);
    return HILO_OK;
}

/* ---- parts of a row -------------------------------------------------------------------------- */

/* The value of a row at the cursor, or its default where the cursor has nothing. */
static hilo_status row_value(struct hlo *h, struct hlo_instr *i, const struct hlo_attr_row *row, struct hlo_cursor *c,
                             ir_attr *out) {
    enum ir_enum e = row->slot ? (enum ir_enum)ir_slot_get(row->slot)->of : IR_ENUM_NONE;
    int64_t v = row->dflt;
    const int64_t *list = NULL;
    uint32_t n = 0;
    bool b = v > 0;
    struct str text;
    switch (row->syntax) {
    case HLO_INT:
    case HLO_I32:
        if (c->at)
            HILO_TRY(hlo_i64(h, c, &v));
        *out = ir_attr_int(h->m, ir_type_scalar(h->m, row->syntax == HLO_INT ? IR_I64_T : IR_I32_T), v);
        return HILO_OK;
    case HLO_FIRST:
        HILO_TRY(value_first(h, c, &v));
        *out = ir_attr_i64(h->m, v);
        return HILO_OK;
    case HLO_DIMS:
        if (c->at)
            HILO_TRY(hlo_i64s(h, c, "{", "}", &list, &n));
        *out = ir_attr_i64s(h->m, list, n);
        return HILO_OK;
    case HLO_BOOL:
    case HLO_UNIT:
        if (c->at)
            HILO_TRY(value_bool(h, c, &b));
        if (row->syntax == HLO_BOOL || b)
            *out = b && row->syntax == HLO_UNIT ? ir_attr_unit(h->m) : ir_attr_bool(h->m, b);
        return HILO_OK;
    case HLO_ENUM:
        if (c->at)
            return value_case(h, c, e, out);
        *out = ir_attr_enum(h->m, e, v);
        return HILO_OK;
    case HLO_CHANNEL: /* from device to device */
        HILO_TRY(hlo_i64(h, c, &v));
        *out = ir_attr_struct(h->m, IR_STRUCT_CHANNEL_HANDLE, (ir_attr[]){ir_attr_i64(h->m, v), ir_attr_i64(h->m, 1)});
        return HILO_OK;
    case HLO_STRING:
        HILO_TRY(hlo_string(h, c, &text));
        *out = ir_attr_string(h->m, text);
        return HILO_OK;
    case HLO_F32: return value_f32(h, c, out);
    case HLO_ENUMS: return value_cases(h, c, e, out);
    case HLO_GROUPS: return value_groups(h, i, c, out);
    case HLO_PAIRS: return value_pairs(h, c, out);
    case HLO_ALGORITHM: return value_algorithm(h, c, out);
    case HLO_LABELS: return value_labels(h, c, out);
    case HLO_SLICE:
    case HLO_PADDING:
    case HLO_WINDOW: break; /* of several attributes: set_props */
    }
    return HILO_OK;
}

/* Whether a field of a struct has its default: it is then omitted. */
static bool field_is_default(const struct hlo *h, uint32_t field, ir_attr a) {
    const struct ir_attr_data *d = ir_attr_get(h->m, a);
    enum ir_field_kind kind = ir_field_get(field)->kind;
    return ir_field_get(field)->optional && ((kind == IR_FK_DIMS && d->n == 0) || (kind == IR_FK_I64 && d->i == 0));
}

hilo_status hlo_set_props(struct hlo *h, struct hlo_instr *i, ir_op op) {
    enum { FIELDS_MOST = 16 };
    enum ir_op_kind kind = ir_kind(h->m, op);
    uint32_t n;
    const struct hlo_attr_row *row = hlo_attr_rows(kind, &n);
    ir_attr fields[FIELDS_MOST] = {{0}};
    uint32_t struct_slot = IR_SLOT_NONE;
    for (; n > 0; n--, row++) {
        struct hlo_cursor c = hlo_take(i, row->name);
        ir_attr a = {0};
        if (!c.at && row->dflt == HLO_NEED)
            return hlo_error(h, i->opcode.p, "%.*s needs an attribute '%s'", (int)i->opcode.n, i->opcode.p, row->name);
        if (row->field)
            struct_slot = row->slot;
        if (!c.at && row->dflt == HLO_NONE)
            continue;
        if (row->syntax == HLO_WINDOW)
            HILO_TRY(set_window(h, &c, op));
        else if (row->syntax == HLO_SLICE)
            HILO_TRY(set_slice(h, &c, op));
        else if (row->syntax == HLO_PADDING)
            HILO_TRY(set_padding(h, &c, op));
        else
            HILO_TRY(row_value(h, i, row, &c, &a));
        if (c.at)
            HILO_TRY(hlo_end(h, &c));
        if (row->field && !field_is_default(h, row->field, a))
            fields[row->field - ir_struct_get(ir_field_get(row->field)->of)->first_field] = a;
        else if (!row->field && !IR_NONE(a))
            ir_set_prop(h->m, op, (enum ir_slot)row->slot, a);
    }
    if (struct_slot)
        ir_set_prop(h->m, op, (enum ir_slot)struct_slot,
                    ir_attr_struct(h->m, (enum ir_struct)ir_slot_get(struct_slot)->of, fields));
    return HILO_OK;
}

/* ---- places ---------------------------------------------------------------------------------- */

static ir_attr loc_file(struct hlo *h, struct str file, uint32_t line, uint32_t col) {
    return ir_attr_loc(h->m, IR_ATTR_LOC_FILE, ir_str_of(h->m, file), (int64_t)((uint64_t)line << 32 | col), NULL, 0);
}

static ir_attr loc_named(struct hlo *h, struct str name, ir_attr child) {
    return ir_attr_loc(h->m, IR_ATTR_LOC_NAME, ir_str_of(h->m, name), 0, &child, !IR_NONE(child));
}

/* A frame, called from its parents; each is built once. Parents come before their children. */
static ir_attr loc_frame(struct hlo *h, uint32_t number) {
    uint32_t nchain = 0, chain[HLO_DEPTH];
    ir_attr caller = {0};
    for (uint32_t n = number; n && n <= h->frames.n && nchain < HLO_DEPTH; n = h->frames.v[n - 1].parent) {
        caller = h->frames.v[n - 1].loc;
        if (!IR_NONE(caller))
            break;
        chain[nchain++] = n;
        if (h->frames.v[n - 1].parent >= n)
            break;
    }
    while (nchain-- > 0) {
        struct hlo_frame *f = &h->frames.v[chain[nchain] - 1];
        if (!f->place || f->place > h->places.n)
            continue;
        struct hlo_place *p = &h->places.v[f->place - 1];
        ir_attr loc = {0};
        if (p->file && p->file <= h->files.n)
            loc = loc_file(h, h->files.v[p->file - 1], p->line, p->col);
        if (!IR_NONE(loc) && p->function && p->function <= h->functions.n)
            loc = loc_named(h, h->functions.v[p->function - 1], loc);
        if (!IR_NONE(loc) && !IR_NONE(caller))
            loc = ir_attr_loc(h->m, IR_ATTR_LOC_CALL, (ir_str){0}, 0, (ir_attr[]){loc, caller}, 2);
        caller = f->loc = IR_NONE(loc) ? caller : loc;
    }
    return caller;
}

/* `{op_type="…" op_name="…" source_file="…" source_line=12 stack_frame_id=3}` */
hilo_status hlo_location(struct hlo *h, const struct hlo_instr *i, ir_attr *out) {
    struct str text = hlo_find(i->attrs, i->nattrs, "metadata"), name, op_name = {NULL, 0}, file = {NULL, 0}, other;
    struct hlo_cursor c = hlo_over(text);
    uint32_t line = 0, col = 0, frame = 0;
    *out = (ir_attr){0};
    if (!text.p)
        return HILO_OK;
    HILO_TRY(hlo_expect(h, &c, "{"));
    while (!hlo_accept(&c, "}")) {
        if (!hlo_word(&c, &name))
            return hlo_expected(h, &c, "a name or '}'");
        HILO_TRY(hlo_expect(h, &c, "="));
        if (str_is(name, "op_name"))
            HILO_TRY(hlo_string(h, &c, &op_name));
        else if (str_is(name, "source_file"))
            HILO_TRY(hlo_string(h, &c, &file));
        else if (str_is(name, "source_line"))
            HILO_TRY(hlo_u32(h, &c, &line));
        else if (str_is(name, "source_column"))
            HILO_TRY(hlo_u32(h, &c, &col));
        else if (str_is(name, "stack_frame_id"))
            HILO_TRY(hlo_u32(h, &c, &frame));
        else
            HILO_TRY(hlo_balanced(h, &c, &other));
        hlo_accept(&c, ",");
    }
    if (frame)
        *out = loc_frame(h, frame);
    if (IR_NONE(*out) && file.n)
        *out = loc_file(h, file, line, col);
    if (op_name.n)
        *out = loc_named(h, op_name, *out);
    return HILO_OK;
}

/* ---- discardable attributes ------------------------------------------------------------------ */

/* `{name="text",other={"json": 1}}` */
static hilo_status frontend_attrs(struct hlo *h, struct str text, ir_attr *out) {
    struct { ir_str *v; uint32_t n, cap; } names = {NULL, 0, 0};
    struct { ir_attr *v; uint32_t n, cap; } values = {NULL, 0, 0};
    struct hlo_cursor c = hlo_over(text);
    struct str name, value;
    HILO_TRY(hlo_expect(h, &c, "{"));
    while (!hlo_accept(&c, "}")) {
        if (names.n)
            HILO_TRY(hlo_expect(h, &c, ","));
        if (!hlo_word(&c, &name))
            return hlo_expected(h, &c, "a name or '}'");
        HILO_TRY(hlo_expect(h, &c, "="));
        if (hlo_next_is(&c, '"'))
            HILO_TRY(hlo_string(h, &c, &value));
        else
            HILO_TRY(hlo_balanced(h, &c, &value));
        ARENA_PUSH(&h->m->arena, &names, ir_str_of(h->m, name));
        ARENA_PUSH(&h->m->arena, &values, ir_attr_string(h->m, value));
    }
    *out = ir_attr_dict(h->m, names.v, values.v, names.n);
    return HILO_OK;
}

hilo_status hlo_discardable(struct hlo *h, const struct hlo_instr *i, bool sharding, ir_attr *out) {
    struct str shards = hlo_find(i->attrs, i->nattrs, "sharding");
    struct str frontend = hlo_find(i->attrs, i->nattrs, "frontend_attributes");
    ir_str names[2];
    ir_attr values[2];
    uint32_t n = 0;
    *out = (ir_attr){0};
    if (frontend.p) {
        HILO_TRY(frontend_attrs(h, frontend, &values[n]));
        names[n++] = ir_str_of(h->m, STR("mhlo.frontend_attributes"));
    }
    if (sharding && shards.p) {
        values[n] = ir_attr_string(h->m, shards);
        names[n++] = ir_str_of(h->m, STR("mhlo.sharding"));
    }
    if (n)
        *out = ir_attr_dict(h->m, names, values, n);
    return HILO_OK;
}
