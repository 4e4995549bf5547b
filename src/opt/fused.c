/* fused
 * does       replaces the custom calls of fused.def, ApproxTopK, ragged_all_to_all and dot_generals with an algorithm
 *            (numerics.c) by StableHLO that defines them, so that the evaluator, the other passes and the clustering see only
 *            that
 * requires   nothing
 * preserves  nothing
 * cost       linear
 * example    custom_call @fused_gelu(%x)  ⇒  0.5 * x * (1 + erf(x / sqrt(2)))
 *
 * A call with operands or a configuration that its row does not allow is refused, with what was expected. */
#include "opt/approx_top_k.h"
#include "opt/fused.h"
#include "opt/numerics.h"
#include "opt/ragged.h"

#include "base/decimal.h"

#include <inttypes.h>
#include <stdio.h>

static const struct {
    const char *target;
    uint32_t least, most;
    const char *attributes;
    fused_fn *build;
} calls[] = {
#define CALL(name, least, most, attributes) {"fused_" #name, least, most, attributes, fused_##name},
#include "opt/fused.def"
};

void fused_fail(struct fused *c, const char *fmt, ...) {
    if (c->status != HILO_OK)
        return;
    va_list ap;
    va_start(ap, fmt);
    c->status = ir_op_verror(c->r.m, c->r.o->d, c->op, HILO_INVALID_ARGUMENT, NULL, fmt, ap);
    va_end(ap);
}

/* ---- the configuration as text: a JSON object of numbers, booleans, strings and lists of integers ---- */

struct json {
    struct fused *c;
    const char *p, *end;
};

static bool json_skip(struct json *j, char want) {
    while (j->p < j->end && (*j->p == ' ' || *j->p == '\n' || *j->p == '\t' || *j->p == '\r'))
        j->p++;
    if (j->p == j->end || *j->p != want)
        return false;
    j->p++;
    return true;
}

static bool json_word(struct json *j, const char *word) {
    size_t n = strlen(word);
    if ((size_t)(j->end - j->p) < n || memcmp(j->p, word, n) != 0)
        return false;
    j->p += n;
    return true;
}

/* Names here have no escapes. */
static bool json_text(struct json *j, struct str *out) {
    if (!json_skip(j, '"'))
        return false;
    const char *begin = j->p;
    while (j->p < j->end && *j->p != '"' && *j->p != '\\')
        j->p++;
    *out = (struct str){begin, (size_t)(j->p - begin)};
    return json_skip(j, '"');
}

static bool json_number(struct json *j, ir_attr *out) {
    double v;
    const char *begin = j->p, *next;
    if (!dec_parse_double(j->p, j->end, &v, &next))
        return false;
    bool whole = v >= -9e15 && v <= 9e15 && v == (double)(int64_t)v;
    for (j->p = next; begin < next; begin++)
        whole &= (*begin >= '0' && *begin <= '9') || *begin == '-';
    *out = whole ? ir_attr_i64(j->c->r.m, (int64_t)v)
                 : ir_attr_float(j->c->r.m, ir_type_scalar(j->c->r.m, IR_F64_T), v);
    return true;
}

static bool json_value(struct json *j, ir_attr *out) {
    struct ir_module *m = j->c->r.m;
    struct str text;
    if (json_text(j, &text)) {
        *out = ir_attr_string(m, text);
        return true;
    }
    if (json_word(j, "true") || json_word(j, "false")) {
        *out = ir_attr_bool(m, j->p[-2] == 'u');
        return true;
    }
    if (!json_skip(j, '['))
        return json_number(j, out);
    ir_attr items[2 * IR_MAX_RANK];
    uint32_t n = 0;
    while (!json_skip(j, ']')) {
        if ((n && !json_skip(j, ',')) || n == 2 * IR_MAX_RANK)
            return false;
        (void)json_skip(j, ' ');
        if (!json_number(j, &items[n++]))
            return false;
    }
    *out = ir_attr_array(m, items, n);
    return true;
}

/* The text as a dictionary. */
static ir_attr json_object(struct fused *c, struct str text) {
    enum { MOST = 16 };
    struct json j = {c, text.p, text.p + text.n};
    ir_str names[MOST];
    ir_attr items[MOST];
    uint32_t n = 0;
    bool right = json_skip(&j, '{');
    while (right && !json_skip(&j, '}')) {
        struct str name;
        right = n < MOST && (n == 0 || json_skip(&j, ',')) && json_text(&j, &name) && json_skip(&j, ':');
        if (right) {
            (void)json_skip(&j, ' ');
            names[n] = ir_str_of(c->r.m, name);
            right = json_value(&j, &items[n++]);
        }
    }
    if (!right || (json_skip(&j, ' '), j.p != j.end))
        fused_fail(c, "backend_config must be an object of numbers, booleans, strings and lists of integers, such as "
                     "{\"eps\": 1e-5}");
    return c->status == HILO_OK ? ir_attr_dict(c->r.m, names, items, n) : (ir_attr){0};
}

/* ---- the configuration --------------------------------------------------------------------------- */

static ir_attr find(const struct fused *c, const char *name) {
    return IR_NONE(c->config) ? (ir_attr){0} : ir_dict_find(c->r.m, c->config, str_of(name));
}

double fused_float(const struct fused *c, const char *name, double missing) {
    const struct ir_attr_data *a = ir_attr_get(c->r.m, find(c, name));
    return a->kind == IR_ATTR_FLOAT ? a->f : a->kind == IR_ATTR_INT ? (double)a->i : missing;
}

int64_t fused_int(const struct fused *c, const char *name, int64_t missing) {
    int64_t v;
    return ir_attr_as_i64(c->r.m, find(c, name), &v) ? v : missing;
}

bool fused_bool(const struct fused *c, const char *name, bool missing) {
    return fused_int(c, name, missing) != 0;
}

struct str fused_text(const struct fused *c, const char *name, const char *missing) {
    ir_attr a = find(c, name);
    return IR_NONE(a) ? str_of(missing) : ir_attr_as_str(c->r.m, a);
}

uint32_t fused_ints(struct fused *c, const char *name, int64_t *out, uint32_t most) {
    ir_attr a = find(c, name);
    size_t n = 0;
    const int64_t *v = ir_attr_as_i64s(c->r.m, a, &n);
    const struct ir_attr_data *d = ir_attr_get(c->r.m, a);
    if (d->kind == IR_ATTR_ARRAY)
        n = d->n;
    if (n > most) {
        fused_fail(c, "'%s' has %zu integers, more than there are dimensions for", name, n);
        return 0;
    }
    for (size_t i = 0; i < n; i++)
        if (d->kind != IR_ATTR_ARRAY)
            out[i] = v[i];
        else if (!ir_attr_as_i64(c->r.m, d->items[i], &out[i]))
            fused_fail(c, "'%s' must be a list of integers", name);
    return (uint32_t)n;
}

/* Whether an attribute is of a kind as fused.def writes them. */
static bool is_kind(const struct fused *c, ir_attr attr, char kind) {
    const struct ir_attr_data *a = ir_attr_get(c->r.m, attr);
    size_t n;
    switch (kind) {
    case 'f':
        return a->kind == IR_ATTR_FLOAT || a->kind == IR_ATTR_INT;
    case 'i':
        return a->kind == IR_ATTR_INT;
    case 'b':
        return a->kind == IR_ATTR_BOOL || a->kind == IR_ATTR_INT;
    case 's':
        return a->kind == IR_ATTR_STRING;
    default:
        return a->kind == IR_ATTR_ARRAY || ir_attr_as_i64s(c->r.m, attr, &n) || n == 0;
    }
}

static void check_attribute(struct fused *c, struct str name, ir_attr value) {
    static const struct {
        char kind;
        const char *text;
    } kinds[] = {
        {'f', "a number"}, {'i', "an integer"}, {'b', "true or false"}, {'s', "a string"}, {'v', "a list of integers"}};
    char names[256] = "";
    for (const char *p = c->attributes; *p; p += strcspn(p, " "), p += *p == ' ') {
        struct str known = {p, strcspn(p, ":")};
        size_t n = strlen(names);
        snprintf(names + n, sizeof names - n, "%s%.*s", n ? ", " : "", (int)known.n, known.p);
        if (!str_eq(known, name))
            continue;
        for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
            if (kinds[i].kind == p[known.n + 1] && !is_kind(c, value, kinds[i].kind))
                fused_fail(c, "'%.*s' must be %s", (int)name.n, name.p, kinds[i].text);
        return;
    }
    fused_fail(c, "has no attribute '%.*s'; expected %s", (int)name.n, name.p, *names ? names : "none");
}

/* From backend_config, a dictionary or a text, or from what older programs have instead, mhlo.backend_config. */
static void read_config(struct fused *c) {
    struct ir_module *m = c->r.m;
    ir_attr config = ir_prop(m, c->op, IR_CUSTOM_CALL_backend_config), extra = ir_op_get(m, c->op)->attrs;
    const struct ir_attr_data *a = ir_attr_get(m, config);
    if (a->kind == IR_ATTR_STRING && ir_attr_as_str(m, config).n)
        config = json_object(c, ir_attr_as_str(m, config));
    else if (a->kind != IR_ATTR_DICT)
        config = IR_NONE(extra) ? extra : ir_dict_find(m, extra, STR("mhlo.backend_config"));
    a = ir_attr_get(m, config);
    if (a->kind != IR_ATTR_DICT)
        return;
    c->config = config;
    for (uint32_t i = 0; i < a->n; i++)
        check_attribute(c, ir_str_get(m, a->names[i]), a->items[i]);
}

/* ---- building ------------------------------------------------------------------------------------ */

static ir_val made(struct fused *c, enum ir_op_kind kind, const ir_val *in, uint32_t n, ir_type t) {
    return ir_result(c->r.m, rules_make(&c->r, c->op, kind, in, n, t), 0);
}

static ir_type type_like(struct fused *c, ir_val v, const int64_t *dims, uint32_t rank) {
    return ir_type_of(c->r.m, fused_shape(c, v)->dtype, dims, rank);
}

ir_val fused_unary(struct fused *c, enum ir_op_kind kind, ir_val a) {
    return made(c, kind, &a, 1, rules_type(&c->r, a));
}

ir_val fused_binary(struct fused *c, enum ir_op_kind kind, ir_val a, ir_val b) {
    return made(c, kind, (ir_val[]){a, b}, 2, rules_type(&c->r, a));
}

ir_val fused_like(struct fused *c, ir_val v, double number) {
    return rules_make_float(&c->r, c->op, rules_type(&c->r, v), number);
}

ir_val fused_convert(struct fused *c, ir_val v, enum ir_dtype t) {
    const struct ir_type_data *x = fused_shape(c, v);
    return x->dtype == t ? v : made(c, IR_CONVERT, &v, 1, ir_type_of(c->r.m, t, x->dims, x->rank));
}

ir_val fused_wide(struct fused *c, ir_val v) {
    enum ir_dtype t = fused_shape(c, v)->dtype;
    return fused_convert(c, v, ir_dtype_get(t)->bits < 32 ? IR_F32_T : t);
}

ir_val fused_reshape(struct fused *c, ir_val v, const int64_t *dims, uint32_t rank) {
    ir_type t = type_like(c, v, dims, rank);
    return IR_SAME(t, rules_type(&c->r, v)) ? v : made(c, IR_RESHAPE, &v, 1, t);
}

ir_val fused_spread(struct fused *c, ir_val v, const int64_t *dims, uint32_t rank, const int64_t *at) {
    ir_type t = type_like(c, v, dims, rank);
    if (IR_SAME(t, rules_type(&c->r, v)))
        return v;
    ir_val out = made(c, IR_BROADCAST_IN_DIM, &v, 1, t);
    ir_set_prop(c->r.m, ir_val_get(c->r.m, out)->op, IR_BROADCAST_IN_DIM_broadcast_dimensions,
                ir_attr_i64s(c->r.m, at, fused_shape(c, v)->rank));
    return out;
}

ir_val fused_align(struct fused *c, ir_val v, const int64_t *dims, uint32_t rank, const char *what) {
    const struct ir_type_data *t = fused_shape(c, v);
    int64_t at[IR_MAX_RANK];
    bool fits = t->rank <= rank;
    for (uint32_t i = 0; i < t->rank && fits; i++) {
        at[i] = rank - t->rank + i;
        fits = t->dims[i] == 1 || t->dims[i] == dims[at[i]];
    }
    if (fits)
        return fused_spread(c, v, dims, rank, at);
    fused_fail(c, "the shape of %s does not fit the last dimensions of what it is combined with", what);
    return v;
}

ir_val fused_reduce(struct fused *c, enum ir_op_kind kind, ir_val v, const int64_t *dims, uint32_t n) {
    const struct ir_type_data *t = fused_shape(c, v);
    int64_t kept[IR_MAX_RANK], at[IR_MAX_RANK], sorted[IR_MAX_RANK], all[IR_MAX_RANK];
    uint32_t nkept = 0, nsorted = 0, rank = t->rank;
    for (uint32_t i = 0; i < rank; i++) {
        bool reduced = false;
        for (uint32_t k = 0; k < n; k++)
            reduced |= dims[k] == (int64_t)i;
        all[i] = t->dims[i];
        if (reduced) {
            sorted[nsorted++] = i;
        } else {
            kept[nkept] = t->dims[i];
            at[nkept++] = i;
        }
    }
    ir_type scalar = ir_type_of(c->r.m, t->dtype, NULL, 0);
    double first = kind == IR_MAXIMUM ? -__builtin_inf() : 0;
    ir_val in[2] = {v, rules_make_float(&c->r, c->op, scalar, first)};
    ir_op op = rules_make_reduce(&c->r, c->op, kind, in, type_like(c, v, kept, nkept));
    ir_set_prop(c->r.m, op, IR_REDUCE_dimensions, ir_attr_i64s(c->r.m, sorted, nsorted));
    return fused_spread(c, ir_result(c->r.m, op, 0), all, rank, at);
}

ir_val fused_dot(struct fused *c, ir_val a, ir_val b, uint32_t batch, uint32_t sum_a, uint32_t sum_b, enum ir_dtype t) {
    const struct ir_type_data *x = fused_shape(c, a), *y = fused_shape(c, b);
    int64_t dims[2 * IR_MAX_RANK], lead[IR_MAX_RANK], sums[2] = {sum_a, sum_b};
    uint32_t n = 0;
    for (uint32_t i = 0; i < x->rank; i++)
        if (i != sum_a)
            dims[n++] = x->dims[i];
    for (uint32_t i = batch; i < y->rank; i++)
        if (i != sum_b)
            dims[n++] = y->dims[i];
    for (uint32_t i = 0; i < batch; i++)
        lead[i] = i;
    if (n > IR_MAX_RANK) {
        fused_fail(c, "has operands of too many dimensions");
        return a;
    }
    ir_val out = made(c, IR_DOT_GENERAL, (ir_val[]){a, b}, 2, ir_type_of(c->r.m, t, dims, n));
    ir_attr both = ir_attr_i64s(c->r.m, lead, batch);
    ir_attr parts[] = {both, both, ir_attr_i64s(c->r.m, &sums[0], 1), ir_attr_i64s(c->r.m, &sums[1], 1)};
    ir_set_prop(c->r.m, ir_val_get(c->r.m, out)->op, IR_DOT_GENERAL_dot_dimension_numbers,
                ir_attr_struct(c->r.m, IR_STRUCT_DOT, parts));
    return out;
}

ir_val fused_slice(struct fused *c, ir_val v, uint32_t dim, int64_t from, int64_t to) {
    const struct ir_type_data *t = fused_shape(c, v);
    int64_t begin[IR_MAX_RANK] = {0}, end[IR_MAX_RANK], steps[IR_MAX_RANK], dims[IR_MAX_RANK];
    for (uint32_t i = 0; i < t->rank; i++) {
        begin[i] = i == dim ? from : 0;
        end[i] = i == dim ? to : t->dims[i];
        steps[i] = 1;
        dims[i] = end[i] - begin[i];
    }
    uint32_t rank = t->rank;
    ir_val out = made(c, IR_SLICE, &v, 1, type_like(c, v, dims, rank));
    ir_op op = ir_val_get(c->r.m, out)->op;
    ir_set_prop(c->r.m, op, IR_SLICE_start_indices, ir_attr_i64s(c->r.m, begin, rank));
    ir_set_prop(c->r.m, op, IR_SLICE_limit_indices, ir_attr_i64s(c->r.m, end, rank));
    ir_set_prop(c->r.m, op, IR_SLICE_strides, ir_attr_i64s(c->r.m, steps, rank));
    return out;
}

ir_val fused_select(struct fused *c, ir_val p, ir_val a, ir_val b) {
    return made(c, IR_SELECT, (ir_val[]){p, a, b}, 3, rules_type(&c->r, a));
}

int64_t fused_axis(struct fused *c, ir_val v, int64_t axis) {
    int64_t rank = fused_shape(c, v)->rank, at = axis < 0 ? axis + rank : axis;
    if (at >= 0 && at < rank)
        return at;
    fused_fail(c, "has no axis %" PRId64 " in an operand of %" PRId64 " dimensions", axis, rank);
    return 0;
}

/* ---- the pass ------------------------------------------------------------------------------------ */

/* Operands: tensors of known sizes, floating-point numbers of one type; a mask may be of booleans. */
static void check_operands(struct fused *c, uint32_t least, uint32_t most) {
    uint32_t n = fused_count(c);
    if (n < least || n > most)
        fused_fail(c, n < least ? "needs %u operands or more, but has %u" : "takes no more than %u operands, but has %u",
                   n < least ? least : most, n);
    if (ir_op_get(c->r.m, c->op)->nresults != 1)
        fused_fail(c, "has one result");
    for (uint32_t i = 0; i < n && c->status == HILO_OK; i++) {
        bool mask = i == 3 && rules_is_integer(&c->r, fused_in(c, i));
        if (!rules_static(&c->r, fused_in(c, i)))
            fused_fail(c, "operand %u must be a tensor of known sizes", i);
        else if (!rules_is_float(&c->r, fused_in(c, 0)))
            fused_fail(c, "operand 0 must be of floating-point numbers");
        else if (!mask && fused_shape(c, fused_in(c, i))->dtype != fused_shape(c, fused_in(c, 0))->dtype)
            fused_fail(c, "operand %u must have the element type of operand 0", i);
    }
}

static hilo_status expand(struct opt_map *map, ir_op op, size_t which) {
    struct ir_module *m = map->o->m;
    struct fused c = {.r = {.o = map->o, .m = m}, .op = op, .attributes = calls[which].attributes};
    check_operands(&c, calls[which].least, calls[which].most);
    if (c.status == HILO_OK)
        read_config(&c);
    HILO_TRY(c.status);
    ir_val v = calls[which].build(&c);
    if (c.status == HILO_OK && !IR_SAME(rules_type(&c.r, v), rules_result(&c.r, op))) {
        struct strbuf text;
        strbuf_init(&text, m->arena.al);
        ir_print_type(m, rules_type(&c.r, v), &text);
        fused_fail(&c, "computes %s, which is not its result type", text.p ? text.p : "another type");
        strbuf_free(&text);
    }
    HILO_TRY(c.status);
    opt_replace(map, op, &v);
    map->o->changes++;
    return HILO_OK;
}

static size_t fused_of(const struct ir_module *m, ir_op op) {
    size_t i = 0, n = sizeof calls / sizeof *calls;
    if (ir_kind(m, op) != IR_CUSTOM_CALL)
        return n;
    struct str target = ir_prop_str(m, op, IR_CUSTOM_CALL_call_target_name);
    while (i < n && !str_is(target, calls[i].target))
        i++;
    return i;
}

/* With `map` NULL: whether there is anything to do, as NOT_FOUND. */
static hilo_status walk(const struct ir_module *m, struct opt_map *map, ir_region region) {
    ir_op next;
    for (ir_block b = ir_region_get(m, region)->first; !IR_NONE(b); b = ir_block_get(m, b)->next)
        for (ir_op op = ir_block_get(m, b)->first; !IR_NONE(op); op = next) {
            next = ir_op_get(m, op)->next;
            if (map)
                opt_update(map, op);
            for (uint32_t i = 0; i < ir_op_get(m, op)->nregions; i++)
                HILO_TRY(walk(m, map, ir_op_region(m, op, i)));
            size_t which = fused_of(m, op);
            if (which < sizeof calls / sizeof *calls)
                HILO_TRY(map ? expand(map, op, which) : HILO_NOT_FOUND);
            else if (opt_is_approx_top_k(m, op))
                HILO_TRY(map ? opt_approx_top_k(map, op) : HILO_NOT_FOUND);
            else if (opt_is_ragged_all_to_all(m, op))
                HILO_TRY(map ? opt_ragged_all_to_all(map, op) : HILO_NOT_FOUND);
            else if (opt_has_numerics(m, op))
                HILO_TRY(map ? opt_numerics(map, op) : HILO_NOT_FOUND);
        }
    return HILO_OK;
}

bool opt_has_fused(const struct ir_module *m) {
    return walk(m, NULL, ir_op_region(m, m->root, 0)) != HILO_OK;
}

hilo_status opt_fused(struct opt *o) {
    struct opt_map map = opt_map_new(o);
    return walk(o->m, &map, ir_op_region(o->m, o->m->root, 0));
}
