/* Attributes of Shardy in MLIR bytecode (openxla/shardy, bytecode.td). A module keeps them as text; here that text is made of
 * what the file stores. */
#include "read/bytecode/bytecode.h"

#include <inttypes.h>
#include <stdio.h>

/* What follows each code, and the text around it:
     A  an attribute           S  a string, in quotes           N  a number          L  a list of attributes
     O  an attribute or none   C  a list that ends in `?`: a truth value, false      P  a number or none, `p1`
     D  a list of numbers, `, device_ids=[0, 1]`      R, U  a list of attributes, `, replicated={"x"}`, `, unreduced={"x"}`
     M  a list of attributes and what combines them, `, unreduced=max{"x"}`
     F  a list of factors, `ij`                  Z, z  the sizes of the factors, and their places: `i=4, j=8`
     1 … 4  kinds of factors, ` reduction={i}`   5  a truth value, `, custom` */
static const char *const sdy_forms[] = {
    [0] = "#sdy<manual_axes{L}>", [1] = "S=N", [2] = "#sdy.mesh<[L]D>", [3] = ":(N)N", [4] = "SO", [5] = "{LC}P",
    [6] = "#sdy.sharding<A, [L]R>", [7] = "#sdy.sharding_per_value<[L]>", [8] = "F", [9] = "[L]",
    [10] = "Z#sdy.op_sharding_rule<(L)->(L) {z}12345>", [11] = "#sdy<axis_ref_list{L}>",
    [12] = "#sdy<list_of_axis_ref_lists[L]>", [13] = "#sdy<all_to_all_param{L}: N->N>", [14] = "#sdy<all_to_all_param_list[L]>",
    [15] = "#sdy.sharding<A, [L]RU>", [16] = "#sdy.sharding_per_value<[L]>", [17] = "#sdy.sharding<A, [L]RM>",
};

struct sdy_text {
    struct bc *b;
    struct bc_cursor *c;
    char *v;         /* in the module's arena */
    uint32_t n, cap;
    uint32_t listed; /* attributes of the latest list */
    const int64_t *sizes; /* of factors */
    uint32_t nsizes;
};

static void put(struct sdy_text *t, const char *p, size_t n) {
    for (size_t i = 0; i < n; i++)
        ARENA_PUSH(&t->b->m->arena, t, p[i]);
}

static void put_z(struct sdy_text *t, const char *z) {
    put(t, z, strlen(z));
}

static void put_number(struct sdy_text *t, int64_t v) {
    char digits[24];
    snprintf(digits, sizeof digits, "%" PRId64, v);
    put_z(t, digits);
}

static void put_quoted(struct sdy_text *t, struct str s) {
    put_z(t, "\"");
    put(t, s.p, s.n);
    put_z(t, "\"");
}

/* As nested inside another: what names the kind of attribute is left out, of a mesh the dialect alone. */
static hilo_status put_attr(struct sdy_text *t, const uint8_t *at, ir_attr attr) {
    const struct ir_attr_data *a = ir_attr_get(t->b->m, attr);
    static const char sharding[] = "#sdy.sharding<", dialect[] = "#sdy.", axes[] = "#sdy<axis_ref_list";
    static const char moved[] = "#sdy<all_to_all_param{";
    struct str s = ir_str_get(t->b->m, a->str);
    switch (a->kind) {
    case IR_ATTR_STRING:
        put_quoted(t, s);
        return HILO_OK;
    case IR_ATTR_SYMBOL:
        put_z(t, "@");
        put(t, s.p, s.n);
        return HILO_OK;
    case IR_ATTR_OPAQUE: {
        size_t skip = str_starts(s, sharding) ? sizeof sharding - 2 : str_starts(s, dialect) ? sizeof dialect - 1 : 0;
        bool bare = str_starts(s, axes) || str_starts(s, moved); /* without the last `>`, too */
        if (bare)
            skip = str_starts(s, axes) ? sizeof axes - 1 : sizeof moved - 2;
        put(t, s.p + skip, s.n > skip + bare ? s.n - skip - bare : 0); /* text of another writer may end here */
        return HILO_OK;
    }
    default:
        return bc_error(t->b, at, "expected an attribute of sdy, a string or a symbol");
    }
}

static hilo_status list(struct sdy_text *t) {
    HILO_TRY(bc_count(t->b, t->c, &t->listed));
    for (uint32_t i = 0; i < t->listed; i++) {
        const uint8_t *at = t->c->at;
        ir_attr attr;
        HILO_TRY(bc_attr(t->b, t->c, &attr));
        put_z(t, i ? ", " : "");
        HILO_TRY(put_attr(t, at, attr));
    }
    return HILO_OK;
}

/* A list that is not there when it is empty. */
static hilo_status named_list(struct sdy_text *t, const char *name) {
    struct bc_cursor c = *t->c;
    uint32_t n;
    HILO_TRY(bc_count(t->b, &c, &n));
    if (n)
        put_z(t, name);
    HILO_TRY(list(t));
    if (n)
        put_z(t, "}");
    return HILO_OK;
}

/* What combines the parts follows the axes in the file, and precedes them in the text. */
static hilo_status unreduced_by(struct sdy_text *t) {
    static const char *const names[] = {", unreduced={", ", unreduced=max{", ", unreduced=min{"};
    struct bc_cursor c = *t->c;
    const uint8_t *at;
    uint32_t n;
    int64_t op;
    ir_attr attr;
    HILO_TRY(bc_count(t->b, &c, &n));
    for (uint32_t i = 0; i < n; i++)
        HILO_TRY(bc_attr(t->b, &c, &attr));
    at = c.at;
    HILO_TRY(bc_svi(t->b, &c, &op));
    if (op < 0 || op > 2)
        return bc_error(t->b, at, "expected a reduction of 0 to 2, found %" PRId64, op);
    HILO_TRY(named_list(t, names[op]));
    *t->c = c;
    return HILO_OK;
}

static hilo_status device_ids(struct sdy_text *t) {
    const int64_t *ids;
    uint32_t n;
    HILO_TRY(bc_i64s(t->b, t->c, &ids, &n));
    for (uint32_t i = 0; i < n; i++) {
        put_z(t, i ? ", " : ", device_ids=[");
        put_number(t, ids[i]);
    }
    put_z(t, n ? "]" : "");
    return HILO_OK;
}

/* Factors are i, j … z, z_1, z_2 … */
static void put_factor(struct sdy_text *t, int64_t factor) {
    enum { LETTERS = 'z' - 'i' };
    char letter = (char)('i' + (factor < 0 ? 0 : factor < LETTERS ? factor : LETTERS));
    put(t, &letter, 1);
    if (factor > LETTERS) {
        put_z(t, "_");
        put_number(t, factor - LETTERS);
    }
}

static hilo_status factors(struct sdy_text *t, const char *name) {
    const int64_t *v;
    uint32_t n;
    HILO_TRY(bc_i64s(t->b, t->c, &v, &n));
    if (n && *name)
        put_z(t, name);
    for (uint32_t i = 0; i < n; i++) {
        put_z(t, i && *name ? ", " : "");
        put_factor(t, v[i]);
    }
    put_z(t, n && *name ? "}" : "");
    return HILO_OK;
}

static void factor_sizes(struct sdy_text *t) {
    for (uint32_t i = 0; i < t->nsizes; i++) {
        put_z(t, i ? ", " : "");
        put_factor(t, i);
        put_z(t, "=");
        put_number(t, t->sizes[i]);
    }
}

static hilo_status field(struct sdy_text *t, char form) {
    const uint8_t *at = t->c->at;
    ir_attr attr;
    int64_t number;
    uint64_t bits;
    uint8_t byte;
    struct str s;
    bool there;
    switch (form) {
    case 'A':
        HILO_TRY(bc_attr(t->b, t->c, &attr));
        return put_attr(t, at, attr);
    case 'O':
        HILO_TRY(bc_optional_attr(t->b, t->c, &attr));
        return IR_NONE(attr) ? HILO_OK : put_attr(t, at, attr);
    case 'S':
        HILO_TRY(bc_string(t->b, t->c, &s));
        put_quoted(t, s);
        return HILO_OK;
    case 'N':
        HILO_TRY(bc_svi(t->b, t->c, &number));
        put_number(t, number);
        return HILO_OK;
    case 'C':
        HILO_TRY(bc_byte(t->b, t->c, &byte));
        put_z(t, byte ? "" : t->listed ? ", ?" : "?");
        return HILO_OK;
    case 'P':
        HILO_TRY(bc_flagged(t->b, t->c, &bits, &there));
        if (there) {
            put_z(t, "p");
            put_number(t, (int64_t)bits);
        }
        return HILO_OK;
    case 'L': return list(t);
    case 'D': return device_ids(t);
    case 'R': return named_list(t, ", replicated={");
    case 'U': return named_list(t, ", unreduced={");
    case 'M': return unreduced_by(t);
    case 'F': return factors(t, "");
    case '1': return factors(t, " reduction={");
    case '2': return factors(t, " need_replication={");
    case '3': return factors(t, " permutation={");
    case '4': return factors(t, " blocked_propagation={");
    case '5':
        HILO_TRY(bc_byte(t->b, t->c, &byte));
        put_z(t, byte ? ", custom" : "");
        return HILO_OK;
    case 'Z': return bc_i64s(t->b, t->c, &t->sizes, &t->nsizes);
    case 'z':
        factor_sizes(t);
        return HILO_OK;
    default:
        put(t, &form, 1);
        return HILO_OK;
    }
}

hilo_status bc_sdy_attr(struct bc *b, struct bc_cursor *c, const struct bc_code *code, ir_attr *out) {
    struct sdy_text t = {.b = b, .c = c};
    for (const char *form = sdy_forms[code->code]; *form; form++)
        HILO_TRY(field(&t, *form));
    *out = ir_attr_opaque(b->m, (struct str){t.v, t.n});
    return HILO_OK;
}
