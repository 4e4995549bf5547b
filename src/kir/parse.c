/* Reads what print.c writes: node for node, in its place; nothing is folded or moved. Checks syntax and each node by
 * itself; kir_verify checks their places. */
#include "base/decimal.h"
#include "kir/node.h"

#include <stdio.h>

struct parser {
    struct str text;
    size_t at;
    struct diag_list *d;
    struct kir *k;
    struct { kir_val *v; uint32_t n, cap; } values; /* by printed number */
};

static hilo_status parse_fail(struct parser *p, size_t at, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
static hilo_status parse_fail(struct parser *p, size_t at, const char *fmt, ...) {
    struct diag_loc loc = {.line = 1, .col = 1, .length = 1};
    for (size_t i = 0; i < at && i < p->text.n; i++)
        if (p->text.p[i] == '\n')
            loc.line++, loc.col = 1;
        else
            loc.col++;
    va_list ap;
    va_start(ap, fmt);
    diag_vadd(p->d, DIAG_ERROR, HILO_INVALID_ARGUMENT, NULL, loc, p->text, fmt, ap);
    va_end(ap);
    return HILO_INVALID_ARGUMENT;
}

/* ---- tokens ---------------------------------------------------------------------------------- */

static void skip_space(struct parser *p) {
    while (p->at < p->text.n) {
        char c = p->text.p[p->at];
        if (c == '/' && p->at + 1 < p->text.n && p->text.p[p->at + 1] == '/')
            while (p->at < p->text.n && p->text.p[p->at] != '\n')
                p->at++;
        else if (c == ' ' || c == '\n' || c == '\t' || c == '\r')
            p->at++;
        else
            return;
    }
}

static char peek(struct parser *p) {
    skip_space(p);
    return p->at < p->text.n ? p->text.p[p->at] : 0;
}

static bool accept(struct parser *p, char c) {
    if (peek(p) != c)
        return false;
    p->at++;
    return true;
}

static hilo_status expect(struct parser *p, char c) {
    return accept(p, c) ? HILO_OK : parse_fail(p, p->at, "expected '%c'", c);
}

static bool is_word(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/* Letters, digits and underscores; empty when there are none. */
static struct str word(struct parser *p) {
    skip_space(p);
    size_t from = p->at;
    while (p->at < p->text.n && is_word(p->text.p[p->at]))
        p->at++;
    return (struct str){p->text.p + from, p->at - from};
}

static bool accept_word(struct parser *p, const char *z) {
    skip_space(p);
    size_t from = p->at;
    if (str_is(word(p), z))
        return true;
    p->at = from;
    return false;
}

static hilo_status integer(struct parser *p, int64_t least, int64_t most, int64_t *out) {
    skip_space(p);
    const char *from = p->text.p + p->at, *next;
    if (!dec_parse_i64(from, p->text.p + p->text.n, out, &next) || *out < least || *out > most)
        return parse_fail(p, p->at, "expected an integer from %lld to %lld", (long long)least, (long long)most);
    p->at += (size_t)(next - from);
    return HILO_OK;
}

static bool type_named(struct str s, enum kir_type *out) {
    for (int t = KIR_I1; t < KIR_TYPE_COUNT; t++)
        if (str_is(s, kir_type_name((enum kir_type)t))) {
            *out = (enum kir_type)t;
            return true;
        }
    return false;
}

/* One of `n` names, after a dot. */
static bool sub_named(struct parser *p, int n, const char *(*name)(int), uint8_t *out) {
    size_t from = p->at;
    if (p->at < p->text.n && p->text.p[p->at] == '.') {
        p->at++;
        struct str s = word(p);
        for (int i = 0; i < n; i++)
            if (str_is(s, name(i))) {
                *out = (uint8_t)i;
                return true;
            }
    }
    p->at = from;
    return false;
}

static const char *op_name(int i) { return i ? kir_op_get((enum kir_op)i)->name : ""; }
static const char *math_name(int i) { return kir_math_get((enum kir_math)i)->name; }
static const char *cmp_name(int i) { return kir_cmp_name((enum kir_cmp)i); }
static const char *tile_name(int i) { return kir_tile_name((enum kir_tile)i); }

/* ---- values ---------------------------------------------------------------------------------- */

static kir_val constant(struct parser *p, enum kir_type t, int64_t bits) {
    struct kir_node n = {.op = KIR_CONST, .type = (uint8_t)t, .imm = kir_narrow(t, (uint64_t)bits)};
    return kir_pure(p->k, &n);
}

/* 4, 4:i8, 1.5:f32, 0x7FC00000:f32 */
static hilo_status number(struct parser *p, kir_val *out) {
    size_t from = p->at;
    while (p->at < p->text.n && (is_word(p->text.p[p->at]) || strchr("+-.", p->text.p[p->at])))
        p->at++;
    const char *begin = p->text.p + from, *end = p->text.p + p->at, *next = begin;
    enum kir_type t = KIR_I64;
    if (p->at < p->text.n && p->text.p[p->at] == ':') {
        p->at++;
        if (!type_named(word(p), &t))
            return parse_fail(p, from, "expected a number of a type: i8, i16, i32, i64, f32 or f64");
    }
    int64_t bits = 0;
    uint64_t raw = 0;
    float f = 0;
    double x = 0;
    bool ok, hex = end - begin > 2 && begin[0] == '0' && begin[1] == 'x';
    if (kir_is_float(t) && hex) {
        ok = dec_parse_u64(begin, end, &raw, &next) && (t == KIR_F64 || raw <= UINT32_MAX);
        bits = (int64_t)raw;
    } else if (t == KIR_F32) {
        ok = dec_parse_float(begin, end, &f, &next);
        bits = fp_f32_bits(f);
    } else if (t == KIR_F64) {
        ok = dec_parse_double(begin, end, &x, &next);
        bits = (int64_t)fp_f64_bits(x);
    } else {
        ok = dec_parse_i64(begin, end, &bits, &next) && bits == kir_narrow(t, (uint64_t)bits);
    }
    if (!ok || next != end)
        return parse_fail(p, from, "expected a value: %%1, true, or a number that fits its type");
    *out = constant(p, t, bits);
    return HILO_OK;
}

static hilo_status value(struct parser *p, kir_val *out) {
    int64_t n;
    if (accept(p, '%')) {
        size_t from = p->at;
        HILO_TRY(integer(p, 1, UINT32_MAX, &n));
        if ((uint64_t)n > p->values.n)
            return parse_fail(p, from, "%%%lld is not computed before", (long long)n);
        *out = p->values.v[n - 1];
        return HILO_OK;
    }
    bool yes = accept_word(p, "true");
    if (yes || accept_word(p, "false")) {
        *out = constant(p, KIR_I1, yes);
        return HILO_OK;
    }
    return number(p, out);
}

/* b0, m0: of n that there are */
static hilo_status numbered(struct parser *p, char letter, uint32_t n, const char *what, int64_t *out) {
    if (peek(p) != letter)
        return parse_fail(p, p->at, "expected %s", what);
    p->at++;
    return integer(p, 0, (int64_t)n - 1, out);
}

/* b0[%1] */
static hilo_status place(struct parser *p, struct kir_node *n) {
    int64_t buffer;
    HILO_TRY(numbered(p, 'b', p->k->buffers.n, "an element of a buffer: b0[…]", &buffer));
    n->of = (uint32_t)buffer;
    HILO_TRY(expect(p, '['));
    HILO_TRY(value(p, &n->arg[0]));
    return expect(p, ']');
}

/* %3 or %3[%4] */
static hilo_status reg(struct parser *p, struct kir_node *n, int index) {
    kir_val v;
    HILO_TRY(value(p, &v));
    n->of = v.i;
    if (!accept(p, '['))
        return HILO_OK;
    HILO_TRY(value(p, &n->arg[index]));
    return expect(p, ']');
}

/* %3[4]: a REG and the number of its first register */
static hilo_status registers(struct parser *p, kir_val *out, int64_t *first) {
    HILO_TRY(value(p, out));
    HILO_TRY(expect(p, '['));
    HILO_TRY(integer(p, 0, KIR_MOST_REGISTERS - 1, first));
    return expect(p, ']');
}

static hilo_status comma_value(struct parser *p, kir_val *out) {
    HILO_TRY(expect(p, ','));
    return value(p, out);
}

/* ---- nodes ----------------------------------------------------------------------------------- */

static hilo_status format(struct parser *p, int64_t *out) {
    size_t from = p->at;
    struct str s = word(p);
    for (int i = 0; i < FP_COUNT; i++)
        if (str_is(s, fp_get((enum fp_kind)i)->name)) {
            *out = i;
            return HILO_OK;
        }
    return parse_fail(p, from, "expected a floating-point format");
}

/* b0[%1], b1[%2], 4 when %3 */
static hilo_status copy_operands(struct parser *p, struct kir_node *n) {
    struct kir_node from = {0};
    int64_t elements;
    HILO_TRY(place(p, n));
    HILO_TRY(expect(p, ','));
    HILO_TRY(place(p, &from));
    HILO_TRY(expect(p, ','));
    HILO_TRY(integer(p, 1, 16, &elements));
    n->arg[1] = from.arg[0];
    n->imm = (int64_t)from.of | elements << 32;
    return accept_word(p, "when") ? value(p, &n->arg[2]) : HILO_OK;
}

/* %1[0], b0[%2] across, b1[%3], 256 */
static hilo_status wgmma_operands(struct parser *p, struct kir_node *n) {
    struct kir_node from[2] = {{0}, {0}};
    kir_val sums;
    int64_t first, columns;
    bool across[2];
    HILO_TRY(registers(p, &sums, &first));
    for (int i = 0; i < 2; i++) {
        HILO_TRY(expect(p, ','));
        HILO_TRY(place(p, &from[i]));
        if (from[i].of >= KIR_WGMMA_BUFFERS)
            return parse_fail(p, p->at, "expected one of the first %d buffers", KIR_WGMMA_BUFFERS);
        n->arg[i] = from[i].arg[0];
        across[i] = accept_word(p, "across");
    }
    HILO_TRY(expect(p, ','));
    HILO_TRY(integer(p, 8, KIR_WGMMA_COLUMNS, &columns));
    n->of = sums.i;
    n->width = (uint32_t)columns;
    n->imm = kir_wgmma_imm(first, across[0], across[1], from[0].of, from[1].of);
    return HILO_OK;
}

/* b0[%1], m0[%2, %3] */
static hilo_status tensor_operands(struct parser *p, struct kir_node *n) {
    HILO_TRY(place(p, n));
    HILO_TRY(expect(p, ','));
    HILO_TRY(numbered(p, 'm', p->k->maps.n, "a box of a map: m0[…]", &n->imm));
    HILO_TRY(expect(p, '['));
    HILO_TRY(value(p, &n->arg[1]));
    HILO_TRY(comma_value(p, &n->arg[2]));
    return expect(p, ']');
}

/* b0, %1, and the bytes that are expected */
static hilo_status mbarrier_operands(struct parser *p, struct kir_node *n) {
    int64_t buffer;
    HILO_TRY(numbered(p, 'b', p->k->buffers.n, "a buffer of mbarriers", &buffer));
    n->of = (uint32_t)buffer;
    HILO_TRY(comma_value(p, &n->arg[0]));
    if (n->op == KIR_MBARRIER_WAIT)
        return HILO_OK;
    HILO_TRY(expect(p, ','));
    return integer(p, 1, INT32_MAX, &n->imm);
}

static hilo_status operands(struct parser *p, struct kir_node *n) {
    int64_t x[3];
    kir_val regs[3];
    switch (n->op) {
    case KIR_REG:
        HILO_TRY(integer(p, 1, KIR_MOST_REGISTERS, &n->imm));
        return comma_value(p, &n->arg[0]);
    case KIR_GET: return reg(p, n, 0);
    case KIR_SET:
    case KIR_ACC:
        HILO_TRY(reg(p, n, 1));
        return comma_value(p, &n->arg[0]);
    case KIR_PREFETCH: return place(p, n);
    case KIR_LOAD:
        HILO_TRY(place(p, n));
        if (!accept_word(p, "when"))
            return HILO_OK;
        HILO_TRY(value(p, &n->arg[1]));
        if (!accept_word(p, "else"))
            return parse_fail(p, p->at, "expected 'else'");
        return value(p, &n->arg[2]);
    case KIR_STORE:
        HILO_TRY(place(p, n));
        HILO_TRY(comma_value(p, &n->arg[1]));
        return accept_word(p, "when") ? value(p, &n->arg[2]) : HILO_OK;
    case KIR_TZERO: return integer(p, 0, 7, &n->imm);
    case KIR_TLOAD:
    case KIR_TSTORE:
        HILO_TRY(integer(p, 0, 7, &n->imm));
        HILO_TRY(expect(p, ','));
        HILO_TRY(place(p, n));
        return comma_value(p, &n->arg[1]);
    case KIR_LDMATRIX:
        HILO_TRY(registers(p, &n->arg[1], &n->imm));
        HILO_TRY(expect(p, ','));
        return place(p, n);
    case KIR_WGMMA: return wgmma_operands(p, n);
    case KIR_WGMMA_WAIT:
        HILO_TRY(value(p, &regs[0]));
        n->of = regs[0].i;
        return HILO_OK;
    case KIR_COPY_ASYNC: return copy_operands(p, n);
    case KIR_COPY_COMMIT: return HILO_OK;
    case KIR_COPY_WAIT: return integer(p, 0, KIR_MOST_GROUPS, &n->imm);
    case KIR_COPY_TENSOR: return tensor_operands(p, n);
    case KIR_MBARRIER_EXPECT:
    case KIR_MBARRIER_WAIT: return mbarrier_operands(p, n);
    case KIR_MMA:
        for (int i = 0; i < 3; i++) {
            if (i)
                HILO_TRY(expect(p, ','));
            HILO_TRY(registers(p, &regs[i], &x[i]));
            n->imm |= x[i] << 16 * i;
        }
        n->of = regs[0].i;
        n->arg[0] = regs[1];
        n->arg[1] = regs[2];
        return HILO_OK;
    case KIR_TMUL:
        for (int i = 0; i < 3; i++) {
            if (i)
                HILO_TRY(expect(p, ','));
            HILO_TRY(integer(p, 0, 7, &x[i]));
            n->imm |= x[i] << 3 * i;
        }
        return HILO_OK;
    case KIR_EXT:
        HILO_TRY(integer(p, 1, 64, &n->imm));
        return comma_value(p, &n->arg[0]);
    case KIR_ROUND:
        HILO_TRY(format(p, &n->imm));
        return comma_value(p, &n->arg[0]);
    default:
        for (int i = 0; i < 3; i++) {
            if (i && !accept(p, ','))
                break;
            HILO_TRY(value(p, &n->arg[i]));
        }
        return HILO_OK;
    }
}

/* The node, when it is well formed by itself; `from`: where it is in the text. */
static hilo_status put(struct parser *p, kir_block b, const struct kir_node *n, size_t from, kir_val *out) {
    const char *flaw = kir_flaw(p->k, n);
    if (flaw)
        return parse_fail(p, from, "%s %s", op_name(n->op), flaw);
    *out = kir_put(p->k, b, n);
    if (n->type != KIR_VOID)
        ARENA_PUSH(&p->k->arena, &p->values, *out);
    return HILO_OK;
}

static hilo_status block(struct parser *p, kir_block b);

/* `{`, a block of `owner`, `}` */
static hilo_status body(struct parser *p, kir_val owner, kir_block *out) {
    kir_block b = kir_new_block(p->k, owner, kir_get(p->k, owner)->block);
    *out = b;
    if (kir_block_get(p->k, b)->depth > KIR_MOST_DEPTH)
        return parse_fail(p, p->at, "too many blocks in one another; at most %d are allowed", KIR_MOST_DEPTH);
    return block(p, b);
}

static hilo_status loop_head(struct parser *p, struct kir_node *n) {
    struct str kind = word(p);
    int64_t width = 0;
    int sub = 0;
    while (sub <= KIR_UNROLLED && !str_is(kind, kir_loop_name((enum kir_loop)sub)))
        sub++;
    if (sub > KIR_UNROLLED)
        return parse_fail(p, p->at - kind.n, "expected 'grid', 'serial', 'vector' or 'unrolled'");
    n->sub = (uint8_t)sub;
    n->type = KIR_I64;
    if (peek(p) == '%')
        HILO_TRY(value(p, &n->arg[0]));
    else
        HILO_TRY(integer(p, 0, INT64_MAX, &n->imm));
    if (sub == KIR_VECTOR) {
        if (!accept_word(p, "by"))
            return parse_fail(p, p->at, "expected 'by' and the number of lanes");
        HILO_TRY(integer(p, 1, KIR_MOST_LANES, &width));
        n->width = (uint32_t)width;
    }
    return HILO_OK;
}

/* A loop or branch. Its node is put before its blocks are read, as values are numbered. */
static hilo_status flow(struct parser *p, kir_block b, struct kir_node *n) {
    size_t from = p->at;
    kir_block inner;
    if (n->op == KIR_LOOP)
        HILO_TRY(loop_head(p, n));
    else if (n->op == KIR_IF)
        HILO_TRY(value(p, &n->arg[0]));
    kir_val v;
    HILO_TRY(put(p, b, n, from, &v));
    if (n->op == KIR_WHILE) {
        HILO_TRY(body(p, v, &inner));
        kir_get(p->k, v)->other = inner;
        if (!accept_word(p, "do"))
            return parse_fail(p, p->at, "expected 'do' and a condition");
        kir_val condition;
        from = p->at;
        HILO_TRY(value(p, &condition));
        kir_get(p->k, v)->arg[0] = condition;
        if (kir_flaw(p->k, kir_get(p->k, v)))
            return parse_fail(p, from, "expected a condition of type i1");
    }
    HILO_TRY(body(p, v, &inner));
    kir_get(p->k, v)->body = inner;
    if (n->op == KIR_IF && accept_word(p, "else")) {
        HILO_TRY(body(p, v, &inner));
        kir_get(p->k, v)->other = inner;
    }
    return HILO_OK;
}

/* cmp.lt.u */
static hilo_status op_head(struct parser *p, struct kir_node *n) {
    skip_space(p);
    size_t from = p->at;
    struct str name = word(p);
    int op = KIR_OP_COUNT - 1;
    while (op && !str_is(name, op_name(op)))
        op--;
    if (!op || op == KIR_CONST)
        return parse_fail(p, from, "expected an op, found '%.*s'", (int)(name.n > 40 ? 40 : name.n), name.p);
    n->op = (uint8_t)op;
    bool ok = op == KIR_CMP    ? sub_named(p, KIR_GE + 1, cmp_name, &n->sub)
              : op == KIR_MATH ? sub_named(p, KIR_MATH_COUNT, math_name, &n->sub)
              : op == KIR_ACC  ? sub_named(p, KIR_OP_COUNT, op_name, &n->sub)
              : op == KIR_TMUL || op == KIR_MMA || op == KIR_WGMMA ? sub_named(p, KIR_TILE_COUNT, tile_name, &n->sub)
                               : true;
    while (ok && p->at < p->text.n && p->text.p[p->at] == '.') {
        p->at++;
        struct str flag = word(p);
        n->flags |= str_is(flag, "u") ? KIR_U : str_is(flag, "nt") ? KIR_NT : str_is(flag, "t") ? KIR_T : 0;
        ok = str_is(flag, "u") || str_is(flag, "nt") || str_is(flag, "t");
    }
    return ok ? HILO_OK : parse_fail(p, from, "expected a variant of '%s' that exists", op_name(op));
}

static hilo_status node(struct parser *p, kir_block b) {
    struct kir_node n = {0};
    int64_t number = 0;
    bool named = accept(p, '%');
    size_t from = p->at;
    enum kir_type t = KIR_VOID;
    if (named) {
        HILO_TRY(integer(p, 1, UINT32_MAX, &number));
        if (number != (int64_t)p->values.n + 1)
            return parse_fail(p, from, "expected %%%u, the next value", (unsigned)p->values.n + 1);
        if (accept(p, ':') && !type_named(word(p), &t))
            return parse_fail(p, p->at, "expected a type");
        n.type = (uint8_t)t;
        HILO_TRY(expect(p, '='));
        skip_space(p);
        from = p->at;
    }
    HILO_TRY(op_head(p, &n));
    bool has_value = n.op == KIR_LOOP || n.op == KIR_REG || kir_op_get((enum kir_op)n.op)->shape >= KIR_SHAPE_READ;
    if (named != has_value || (named && (n.op == KIR_LOOP) != (t == KIR_VOID)))
        return parse_fail(p, from, "expected %s '%s'",
                          !has_value ? "no value of" : n.op == KIR_LOOP ? "'%1 =' before" : "'%1: f32 =' before",
                          op_name(n.op));
    if (n.op == KIR_LOOP || n.op == KIR_IF || n.op == KIR_WHILE)
        return flow(p, b, &n);
    HILO_TRY(operands(p, &n));
    kir_val v;
    return put(p, b, &n, from, &v);
}

static hilo_status block(struct parser *p, kir_block b) {
    HILO_TRY(expect(p, '{'));
    while (!accept(p, '}'))
        HILO_TRY(node(p, b));
    return HILO_OK;
}

/* ---- kernels --------------------------------------------------------------------------------- */

static hilo_status buffer(struct parser *p) {
    char name[16];
    int64_t count;
    snprintf(name, sizeof name, "b%u", (unsigned)p->k->buffers.n);
    if (!accept_word(p, name))
        return parse_fail(p, p->at, "expected buffer '%s'", name);
    HILO_TRY(expect(p, ':'));
    size_t from = p->at;
    struct str s = word(p);
    int role = KIR_IN;
    while (role <= KIR_SCRATCH && !str_is(s, kir_role_name((enum kir_role)role)))
        role++;
    if (role > KIR_SCRATCH)
        return parse_fail(p, from, "expected 'in', 'out', 'inout' or 'scratch'");
    from = p->at;
    enum ir_dtype t = ir_dtype_named(word(p));
    if (t == IR_DTYPE_NONE || kir_type_of(t) == KIR_VOID || ir_dtype_get(t)->cls == IR_INDEX_CLASS)
        return parse_fail(p, from, "expected a type of elements that are not complex");
    HILO_TRY(expect(p, '['));
    HILO_TRY(integer(p, 0, INT64_MAX / 16, &count));
    HILO_TRY(expect(p, ']'));
    if (role == KIR_SCRATCH) {
        kir_scratch(p->k, t, count);
        return HILO_OK;
    }
    uint32_t b = kir_param(p->k, (enum kir_role)role, t, count);
    p->k->buffers.v[b].aligned = accept_word(p, "aligned");
    return HILO_OK;
}

/* m0: map b0[128 x 64 by 64] 32 */
static hilo_status map(struct parser *p) {
    struct kir_map m;
    int64_t buffer, box, number;
    HILO_TRY(numbered(p, 'm', KIR_MOST_MAPS, "a map", &number));
    if (number != p->k->maps.n)
        return parse_fail(p, p->at, "expected map 'm%u'", (unsigned)p->k->maps.n);
    HILO_TRY(expect(p, ':'));
    if (!accept_word(p, "map"))
        return parse_fail(p, p->at, "expected 'map'");
    HILO_TRY(numbered(p, 'b', p->k->buffers.n, "a buffer", &buffer));
    HILO_TRY(expect(p, '['));
    HILO_TRY(integer(p, 1, INT32_MAX, &m.lines));
    if (!accept_word(p, "x"))
        return parse_fail(p, p->at, "expected 'x' and the columns");
    HILO_TRY(integer(p, 1, INT32_MAX, &m.columns));
    if (!accept_word(p, "by"))
        return parse_fail(p, p->at, "expected 'by' and the elements between lines");
    HILO_TRY(integer(p, 1, INT64_MAX / 16, &m.stride));
    HILO_TRY(expect(p, ']'));
    HILO_TRY(integer(p, 1, KIR_BOX_LINES, &box));
    m.buffer = (uint32_t)buffer;
    m.box = (uint32_t)box;
    ARENA_PUSH(&p->k->arena, &p->k->maps, m);
    return HILO_OK;
}

static hilo_status kernel(struct parser *p) {
    HILO_TRY(expect(p, '('));
    for (bool first = true; !accept(p, ')'); first = false) {
        if (!first)
            HILO_TRY(expect(p, ','));
        HILO_TRY(peek(p) == 'm' ? map(p) : buffer(p));
    }
    return block(p, (kir_block){1});
}

hilo_status kir_parse(struct str text, size_t *at, hilo_allocator al, jmp_buf *recover, struct diag_list *d, struct kir **out) {
    struct parser p = {.text = text, .at = *at, .d = d};
    char name[128];
    if (!peek(&p))
        return HILO_NOT_FOUND;
    if (!accept_word(&p, "kernel"))
        return parse_fail(&p, p.at, "expected 'kernel'");
    skip_space(&p);
    size_t from = p.at;
    struct str s = word(&p);
    if (s.n == 0 || s.n >= sizeof name || (s.p[0] >= '0' && s.p[0] <= '9'))
        return parse_fail(&p, from, "expected a name of at most 127 characters");
    memcpy(name, s.p, s.n);
    name[s.n] = 0;
    *out = p.k = kir_new(name, al, recover);
    if (!p.k)
        return diag_error(d, HILO_RESOURCE_EXHAUSTED, "out of memory");
    hilo_status status = kernel(&p);
    *at = p.at;
    if (status != HILO_OK) {
        kir_free(p.k);
        *out = NULL;
    }
    return status;
}
