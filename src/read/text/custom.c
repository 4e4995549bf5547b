/* The hand-written pieces of op syntax: the <word>s in the forms of ops.def. */
#include "base/decimal.h"
#include "read/text/text.h"

struct text_i64s { int64_t *v; uint32_t n, cap; };

/* ---- lists ------------------------------------------------------------------------------------------------------- */

/* `[1, 2]`, appended. */
static hilo_status custom_ints(struct text_parser *p, struct text_i64s *out) {
    const int64_t *v;
    uint32_t n;
    const char *at = p->tok.at;
    HILO_TRY(text_dims(p, &v, &n));
    for (uint32_t i = 0; i < n; i++) {
        if (v[i] == IR_DYNAMIC)
            return text_error(p, at, "expected a list of integers");
        ARENA_PUSH(&p->m->arena, out, v[i]);
    }
    return HILO_OK;
}

static hilo_status custom_int_list(struct text_parser *p, ir_attr *out) {
    struct text_i64s list = {0};
    HILO_TRY(custom_ints(p, &list));
    *out = ir_attr_i64s(p->m, list.v, list.n);
    return HILO_OK;
}

/* `name =` */
static hilo_status custom_key(struct text_parser *p, const char *name) {
    HILO_TRY(text_expect_word(p, name));
    return text_expect(p, TEXT_EQUAL);
}

/* ---- modules and functions --------------------------------------------------------------------------------------- */

static hilo_status custom_symbol_name(struct text_parser *p, struct text_state *s, uint32_t slot) {
    struct str name = p->tok.text;
    const char *at = p->tok.at;
    HILO_TRY(text_expect(p, TEXT_AT));
    return text_prop(p, s, slot, ir_attr_string(p->m, name), at);
}

/* `@name`, kept as a string in the op's first attribute */
static hilo_status custom_symbol(struct text_parser *p, struct text_state *s) {
    return custom_symbol_name(p, s, ir_op_info(s->kind)->first_slot);
}

/* `attributes {…}`, where it is there */
static hilo_status custom_attributes(struct text_parser *p, struct text_state *s) {
    return text_accept_word(p, "attributes") ? text_attr_dict(p, &s->attrs) : HILO_OK;
}

/* `@name attributes {…} {…}` */
static hilo_status custom_module(struct text_parser *p, struct text_state *s) {
    if (text_is(p, TEXT_AT))
        HILO_TRY(custom_symbol_name(p, s, IR_MODULE_sym_name));
    HILO_TRY(custom_attributes(p, s));
    return text_region(p, s, NULL);
}

/* A function's arguments or results: types, each with its dictionary. */
struct func_list {
    struct { ir_type *v; uint32_t n, cap; } types;
    struct { ir_attr *v; uint32_t n, cap; } dicts;
    bool any; /* one dictionary has an entry */
};

/* `{…}`, where it is there */
static hilo_status func_dict(struct text_parser *p, struct func_list *list) {
    ir_attr dict = ir_attr_dict(p->m, NULL, NULL, 0);
    if (text_is(p, TEXT_LBRACE))
        HILO_TRY(text_attr(p, (ir_type){0}, &dict));
    list->any |= ir_attr_get(p->m, dict)->n > 0;
    ARENA_PUSH(&p->m->arena, &list->dicts, dict);
    return HILO_OK;
}

/* `%a: type {…} loc(…)`, or `type {…}` alone in a declaration */
static hilo_status func_arg(struct text_parser *p, struct func_list *ins, struct text_args *args) {
    struct text_arg arg = {0};
    bool named = text_is(p, TEXT_PERCENT);
    if (ins->types.n && named != (args->n > 0))
        return text_error(p, NULL, "either all arguments of a function are named or none");
    if (named) {
        HILO_TRY(text_name(p, &arg.name));
        HILO_TRY(text_expect(p, TEXT_COLON));
    }
    HILO_TRY(text_type(p, &arg.type));
    ARENA_PUSH(&p->m->arena, &ins->types, arg.type);
    HILO_TRY(func_dict(p, ins));
    if (text_is_word(p, "loc"))
        HILO_TRY(text_loc(p, &arg.loc));
    if (named)
        ARENA_PUSH(&p->m->arena, args, arg);
    return HILO_OK;
}

static hilo_status func_args(struct text_parser *p, struct func_list *ins, struct text_args *args) {
    HILO_TRY(text_expect(p, TEXT_LPAREN));
    if (!text_is(p, TEXT_RPAREN)) {
        do
            HILO_TRY(func_arg(p, ins, args));
        while (text_accept(p, TEXT_COMMA));
    }
    return text_expect(p, TEXT_RPAREN);
}

/* `-> type` or `-> (type {…}, …)`, where it is there */
static hilo_status func_results(struct text_parser *p, struct func_list *outs) {
    if (!text_accept(p, TEXT_ARROW))
        return HILO_OK;
    bool many = text_accept(p, TEXT_LPAREN);
    if (many && text_accept(p, TEXT_RPAREN))
        return HILO_OK;
    do {
        ir_type t;
        HILO_TRY(text_type(p, &t));
        ARENA_PUSH(&p->m->arena, &outs->types, t);
        if (many)
            HILO_TRY(func_dict(p, outs));
    } while (many && text_accept(p, TEXT_COMMA));
    return many ? text_expect(p, TEXT_RPAREN) : HILO_OK;
}

static hilo_status func_set_dicts(struct text_parser *p, struct text_state *s, enum ir_slot slot,
                                  const struct func_list *list) {
    if (!list->any)
        return HILO_OK;
    return text_prop(p, s, slot, ir_attr_array(p->m, list->dicts.v, list->dicts.n), s->at);
}

/* `private @name(…) -> (…) attributes {…} {…}` */
static hilo_status custom_func(struct text_parser *p, struct text_state *s) {
    struct func_list ins = {0}, outs = {0};
    struct text_args args = {0};
    if (text_is_word(p, "public") || text_is_word(p, "private") || text_is_word(p, "nested")) {
        HILO_TRY(text_prop(p, s, IR_FUNC_sym_visibility, ir_attr_string(p->m, p->tok.text), NULL));
        text_next(p);
    }
    HILO_TRY(custom_symbol_name(p, s, IR_FUNC_sym_name));
    HILO_TRY(func_args(p, &ins, &args));
    HILO_TRY(func_results(p, &outs));
    ir_type type = ir_type_function(p->m, ins.types.v, ins.types.n, outs.types.v, outs.types.n);
    HILO_TRY(text_prop(p, s, IR_FUNC_function_type, ir_attr_of_type(p->m, type), s->at));
    HILO_TRY(func_set_dicts(p, s, IR_FUNC_arg_attrs, &ins));
    HILO_TRY(func_set_dicts(p, s, IR_FUNC_res_attrs, &outs));
    HILO_TRY(custom_attributes(p, s));
    if (!text_is(p, TEXT_LBRACE)) {
        ARENA_PUSH(&p->m->arena, &s->regions, (ir_block){0}); /* a declaration */
        return HILO_OK;
    }
    const char *body = p->tok.at;
    if (args.n < ins.types.n)
        return text_error(p, body, "a function with a body names its arguments");
    HILO_TRY(text_region(p, s, &args));
    if (IR_NONE(s->regions.v[0]) || IR_NONE(ir_block_get(p->m, s->regions.v[0])->first))
        return text_error(p, body, "a function's body is not empty");
    return HILO_OK;
}

/* `%a, %b {…} : type, type`; the dictionary may also come first */
static hilo_status custom_return(struct text_parser *p, struct text_state *s) {
    HILO_TRY(text_dict(p, s));
    HILO_TRY(text_operands(p, s));
    HILO_TRY(text_dict(p, s));
    if (!text_accept(p, TEXT_COLON))
        return HILO_OK;
    s->types_at = p->tok.at;
    ir_type *types;
    uint32_t n;
    HILO_TRY(text_type_list(p, &types, &n));
    for (uint32_t i = 0; i < n; i++)
        text_operand_type(p, s, types[i]);
    return HILO_OK;
}

/* ---- constants and types ----------------------------------------------------------------------------------------- */

/* `{…} dense<…> : type`, or the generic form after the name: `() <{value = …}> {…} : () -> type` */
static hilo_status custom_constant(struct text_parser *p, struct text_state *s) {
    if (text_accept(p, TEXT_LPAREN)) {
        HILO_TRY(text_expect(p, TEXT_RPAREN));
        if (text_accept(p, TEXT_LESS)) {
            HILO_TRY(text_attr_dict(p, &s->attrs));
            HILO_TRY(text_expect(p, TEXT_GREATER));
        }
        HILO_TRY(text_dict(p, s));
        HILO_TRY(text_expect(p, TEXT_COLON));
        return text_signature(p, s);
    }
    HILO_TRY(text_dict(p, s));
    const char *at = p->tok.at;
    HILO_TRY(text_prop_form(p, s, ir_op_info(s->kind)->first_slot));
    ir_type t = ir_attr_get(p->m, s->props.v[0])->type;
    if (IR_NONE(t))
        return text_error(p, at, "expected a constant with a type");
    text_result_type(p, s, t);
    return HILO_OK;
}

/* `:` and a type, or a complete function type (`done`) */
static hilo_status custom_type(struct text_parser *p, struct text_state *s, ir_type *out, bool *done) {
    HILO_TRY(text_expect(p, TEXT_COLON));
    s->types_at = p->tok.at;
    *done = text_is(p, TEXT_LPAREN);
    if (*done)
        return text_signature(p, s);
    return text_type(p, out);
}

/* The result's type, from which both operands' follow; or a function type */
static hilo_status custom_complex_type(struct text_parser *p, struct text_state *s) {
    ir_type t;
    bool done;
    HILO_TRY(custom_type(p, s, &t, &done));
    if (done)
        return HILO_OK;
    const struct ir_type_data *d = ir_type_get(p->m, t);
    if (!ir_type_is_shaped(d) || ir_dtype_get(d->dtype)->cls != IR_COMPLEX_CLASS)
        return text_error(p, s->types_at, "expected a tensor of complex numbers or a function type");
    ir_type part = ir_type_scalar(p->m, d->dtype == IR_C64_T ? IR_F32_T : IR_F64_T);
    ir_type real = ir_type_shaped(p->m, d->kind, part, d->dims, d->rank, d->encoding);
    text_operand_type(p, s, real);
    text_operand_type(p, s, real);
    text_result_type(p, s, t);
    return HILO_OK;
}

/* The type of the predicate and that of both values and the result; or a function type */
static hilo_status custom_select_type(struct text_parser *p, struct text_state *s) {
    ir_type pred, t = {0};
    bool done;
    HILO_TRY(custom_type(p, s, &pred, &done));
    if (done)
        return HILO_OK;
    bool two = text_accept(p, TEXT_COMMA);
    if (two)
        HILO_TRY(text_type(p, &t));
    if (!two || text_is(p, TEXT_COMMA))
        return text_error(p, s->types_at, "expected a function type or two types");
    text_operand_type(p, s, pred);
    text_operand_type(p, s, t);
    text_operand_type(p, s, t);
    text_result_type(p, s, t);
    return HILO_OK;
}

/* The result's type, whose members are the operands' types */
static hilo_status custom_tuple_type(struct text_parser *p, struct text_state *s) {
    ir_type t;
    HILO_TRY(text_expect(p, TEXT_COLON));
    s->types_at = p->tok.at;
    HILO_TRY(text_type(p, &t));
    const struct ir_type_data *d = ir_type_get(p->m, t);
    if (d->kind != IR_TYPE_TUPLE)
        return text_error(p, s->types_at, "expected a tuple type");
    for (uint32_t i = 0; i < d->ntypes; i++)
        text_operand_type(p, s, d->types[i]);
    text_result_type(p, s, t);
    return HILO_OK;
}

/* `%a {…} : type to type` */
static hilo_status custom_cast(struct text_parser *p, struct text_state *s) {
    ir_type from, to;
    HILO_TRY(text_operands(p, s));
    HILO_TRY(text_dict(p, s));
    HILO_TRY(text_expect(p, TEXT_COLON));
    s->types_at = p->tok.at;
    HILO_TRY(text_type(p, &from));
    HILO_TRY(text_expect_word(p, "to"));
    HILO_TRY(text_type(p, &to));
    text_operand_type(p, s, from);
    text_result_type(p, s, to);
    return HILO_OK;
}

/* `{…} %a, %b : type, type`, or `()` */
static hilo_status custom_barrier(struct text_parser *p, struct text_state *s) {
    HILO_TRY(custom_return(p, s));
    if (s->operands.n == 0 && text_accept(p, TEXT_LPAREN))
        HILO_TRY(text_expect(p, TEXT_RPAREN));
    for (uint32_t i = 0; i < s->operand_types.n; i++)
        text_result_type(p, s, s->operand_types.v[i]);
    return HILO_OK;
}

/* ---- attributes -------------------------------------------------------------------------------------------------- */

/* `[start:limit:stride, …]`; without its stride it is 1 */
static hilo_status custom_slice(struct text_parser *p, struct text_state *s) {
    struct text_i64s parts[3] = {{0}, {0}, {0}};
    const char *at = p->tok.at;
    HILO_TRY(text_expect(p, TEXT_LSQUARE));
    while (!text_is(p, TEXT_RSQUARE)) {
        if (parts[0].n)
            HILO_TRY(text_expect(p, TEXT_COMMA));
        for (int i = 0; i < 3; i++) {
            int64_t x = 1;
            if (i < 2 || text_is(p, TEXT_COLON)) {
                if (i)
                    HILO_TRY(text_expect(p, TEXT_COLON));
                HILO_TRY(text_i64(p, &x));
            }
            ARENA_PUSH(&p->m->arena, &parts[i], x);
        }
    }
    text_next(p);
    static const enum ir_slot slots[3] = {IR_SLICE_start_indices, IR_SLICE_limit_indices, IR_SLICE_strides};
    for (int i = 0; i < 3; i++)
        HILO_TRY(text_prop(p, s, slots[i], ir_attr_i64s(p->m, parts[i].v, parts[i].n), at));
    return HILO_OK;
}

/* `name = [0] x [1]` into two fields, which are absent when empty */
static hilo_status dot_pair(struct text_parser *p, const char *name, ir_attr *lhs, ir_attr *rhs) {
    struct text_i64s l = {0}, r = {0};
    HILO_TRY(custom_key(p, name));
    HILO_TRY(custom_ints(p, &l));
    HILO_TRY(text_expect_word(p, "x"));
    HILO_TRY(custom_ints(p, &r));
    if (l.n)
        *lhs = ir_attr_i64s(p->m, l.v, l.n);
    if (r.n)
        *rhs = ir_attr_i64s(p->m, r.v, r.n);
    return HILO_OK;
}

/* `batching_dims = [0] x [0], contracting_dims = [2] x [1]`; the former only where it is there */
static hilo_status custom_dot_dims(struct text_parser *p, struct text_state *s) {
    enum { BATCH = 0, CONTRACT = 2, FIELDS = 4 };
    ir_attr fields[FIELDS] = {{0}};
    const char *at = p->tok.at;
    if (text_is_word(p, "batching_dims")) {
        HILO_TRY(dot_pair(p, "batching_dims", &fields[BATCH], &fields[BATCH + 1]));
        HILO_TRY(text_expect(p, TEXT_COMMA));
    }
    HILO_TRY(dot_pair(p, "contracting_dims", &fields[CONTRACT], &fields[CONTRACT + 1]));
    return text_prop(p, s, IR_DOT_GENERAL_dot_dimension_numbers, ir_attr_struct(p->m, IR_STRUCT_DOT, fields), at);
}

/* `, precision = [HIGH, HIGH]` and, of dot_general, `, algorithm = <…>`, where they are there */
static hilo_status custom_precision(struct text_parser *p, struct text_state *s) {
    bool general = s->kind == IR_DOT_GENERAL;
    uint32_t slot = general ? IR_DOT_GENERAL_precision_config : IR_DOT_precision_config;
    if (!text_accept(p, TEXT_COMMA))
        return HILO_OK;
    if (!general || !text_is_word(p, "algorithm")) {
        HILO_TRY(custom_key(p, "precision"));
        HILO_TRY(text_prop_form(p, s, slot));
        if (!general || !text_accept(p, TEXT_COMMA))
            return HILO_OK;
    }
    HILO_TRY(custom_key(p, "algorithm"));
    return text_prop_form(p, s, IR_DOT_GENERAL_algorithm);
}

static hilo_status custom_conv_dims(struct text_parser *p, struct text_state *s) {
    ir_attr dims;
    const char *at = p->tok.at;
    HILO_TRY(text_conv_dims(p, &dims));
    return text_prop(p, s, IR_CONVOLUTION_dimension_numbers, dims, at);
}

/* `[[1, 2], [0, 0]]`: rows of two */
static hilo_status window_pad(struct text_parser *p, ir_attr *out) {
    struct text_i64s pad = {0};
    HILO_TRY(text_expect(p, TEXT_LSQUARE));
    while (!text_is(p, TEXT_RSQUARE)) {
        if (pad.n)
            HILO_TRY(text_expect(p, TEXT_COMMA));
        const char *at = p->tok.at;
        uint32_t before = pad.n;
        HILO_TRY(custom_ints(p, &pad));
        if (pad.n - before != 2)
            return text_error(p, at, "expected a list of 2 integers, found %u", pad.n - before);
    }
    text_next(p);
    *out = ir_attr_dense_i64s(p->m, pad.v, (int64_t[]){pad.n / 2, 2}, 2);
    return HILO_OK;
}

/* `[true, false]` or `[1, 0]` */
static hilo_status window_reverse(struct text_parser *p, ir_attr *out) {
    struct { uint8_t *v; uint32_t n, cap; } list = {0};
    HILO_TRY(text_expect(p, TEXT_LSQUARE));
    while (!text_is(p, TEXT_RSQUARE)) {
        if (list.n)
            HILO_TRY(text_expect(p, TEXT_COMMA));
        int64_t x;
        bool b;
        if (text_is(p, TEXT_IDENT)) {
            HILO_TRY(text_bool(p, &b));
        } else {
            HILO_TRY(text_i64(p, &x));
            b = x != 0;
        }
        ARENA_PUSH(&p->m->arena, &list, b);
    }
    text_next(p);
    *out = ir_attr_dense_array(p->m, ir_type_scalar(p->m, IR_I1_T), list.v, list.n);
    return HILO_OK;
}

/* `stride = [1], pad = [[0, 0]], lhs_dilate = [1], rhs_dilate = [1], reverse = [0]`, in any order, each at most once */
static hilo_status custom_window(struct text_parser *p, struct text_state *s) {
    static const struct {
        const char *name;
        hilo_status (*read)(struct text_parser *p, ir_attr *out);
        enum ir_slot slot;
    } parts[] = {
        {"stride", custom_int_list, IR_CONVOLUTION_window_strides},
        {"pad", window_pad, IR_CONVOLUTION_padding},
        {"lhs_dilate", custom_int_list, IR_CONVOLUTION_lhs_dilation},
        {"rhs_dilate", custom_int_list, IR_CONVOLUTION_rhs_dilation},
        {"reverse", window_reverse, IR_CONVOLUTION_window_reversal},
    };
    while (text_is(p, TEXT_IDENT)) {
        const char *at = p->tok.at;
        ir_attr a;
        size_t i = 0;
        while (i < sizeof parts / sizeof *parts && !text_is_word(p, parts[i].name))
            i++;
        if (i == sizeof parts / sizeof *parts)
            return text_expected(p, "stride, pad, lhs_dilate, rhs_dilate or reverse");
        HILO_TRY(custom_key(p, parts[i].name));
        HILO_TRY(parts[i].read(p, &a));
        HILO_TRY(text_prop(p, s, parts[i].slot, a, at));
        if (!text_accept(p, TEXT_COMMA))
            break;
    }
    return HILO_OK;
}

/* `e5m2`: bits of the exponent and of the mantissa */
static hilo_status custom_exp_mant(struct text_parser *p, struct text_state *s) {
    const char *at = p->tok.at, *end = p->at;
    const char *m = text_is(p, TEXT_IDENT) ? memchr(at, 'm', (size_t)(end - at)) : NULL;
    uint64_t bits[2];
    const char *next;
    bool ok = m && *at == 'e' && dec_parse_u64(at + 1, m, &bits[0], &next) && next == m &&
              dec_parse_u64(m + 1, end, &bits[1], &next) && next == end;
    if (!ok || bits[0] > INT32_MAX || bits[1] > INT32_MAX)
        return text_expected(p, "a format such as e5m2");
    text_next(p);
    ir_type i32 = ir_type_scalar(p->m, IR_I32_T);
    HILO_TRY(text_prop(p, s, IR_REDUCE_PRECISION_exponent_bits, ir_attr_int(p->m, i32, (int64_t)bits[0]), at));
    return text_prop(p, s, IR_REDUCE_PRECISION_mantissa_bits, ir_attr_int(p->m, i32, (int64_t)bits[1]), at);
}

/* ---- reductions and loops ---------------------------------------------------------------------------------------- */

/* `(%a init: %b), …`: all inputs become operands first, then all initial values */
static hilo_status reduce_operands(struct text_parser *p, struct text_state *s) {
    struct { struct text_operand *v; uint32_t n, cap; } inits = {0};
    do {
        struct text_operand input, init;
        HILO_TRY(text_expect(p, TEXT_LPAREN));
        HILO_TRY(text_operand(p, &input));
        HILO_TRY(text_expect_word(p, "init"));
        HILO_TRY(text_expect(p, TEXT_COLON));
        HILO_TRY(text_operand(p, &init));
        HILO_TRY(text_expect(p, TEXT_RPAREN));
        ARENA_PUSH(&p->m->arena, &s->operands, input);
        ARENA_PUSH(&p->m->arena, &inits, init);
    } while (text_accept(p, TEXT_COMMA));
    for (uint32_t i = 0; i < inits.n; i++)
        ARENA_PUSH(&p->m->arena, &s->operands, inits.v[i]);
    return HILO_OK;
}

/* The body that `applies` stands for: one op on two scalars of the first input's element type, all with the op's location. */
static hilo_status reduce_body(struct text_parser *p, struct text_state *s, enum ir_op_kind inner, const char *at) {
    struct ir_module *m = p->m;
    uint32_t line, col;
    if (s->operand_types.n == 0)
        return text_error(p, s->types_at, "a reduction has at least one input");
    if (text_is_word(p, "loc"))
        HILO_TRY(text_loc(p, &s->loc));
    const struct ir_type_data *input = ir_type_get(m, s->operand_types.v[0]);
    if (!ir_type_is_shaped(input))
        return text_error(p, s->types_at, "the inputs of a reduction are tensors");
    ir_type t = ir_type_tensor(m, input->elem, NULL, 0, (ir_attr){0});
    ir_block b = ir_block_new(m, (ir_region){0});
    ir_val args[2];
    for (int i = 0; i < 2; i++) {
        args[i] = ir_block_add_arg(m, b, t);
        ir_set_val_loc(m, args[i], s->loc);
    }
    ir_op op = ir_op_new(m, inner, args, 2, &t, 1, 0);
    ir_val result = ir_result(m, op, 0);
    ir_op ret = ir_op_new(m, IR_RETURN, &result, 1, NULL, 0, 0);
    text_place(p, at, &line, &col);
    ir_set_loc(m, op, s->loc, line, col);
    ir_set_loc(m, ret, s->loc, line, col);
    ir_append(m, b, op);
    ir_append(m, b, ret);
    ARENA_PUSH(&m->arena, &s->regions, b);
    return HILO_OK;
}

/* `reducer(%a: type, %b: type) (…) {…}`: all left arguments come first, then all right ones */
static hilo_status reduce_region(struct text_parser *p, struct text_state *s) {
    struct text_args args = {0}, right = {0};
    HILO_TRY(text_expect_word(p, "reducer"));
    while (text_accept(p, TEXT_LPAREN)) {
        HILO_TRY(text_arg(p, &args));
        HILO_TRY(text_expect(p, TEXT_COMMA));
        HILO_TRY(text_arg(p, &right));
        HILO_TRY(text_expect(p, TEXT_RPAREN));
    }
    for (uint32_t i = 0; i < right.n; i++)
        ARENA_PUSH(&p->m->arena, &args, right.v[i]);
    return text_region(p, s, &args);
}

/* `(%a init: %b) applies stablehlo.add across dimensions = [0] {…} : signature`, or a reducer instead of `applies` */
static hilo_status custom_reduce(struct text_parser *p, struct text_state *s) {
    enum ir_op_kind inner = IR_OP_NONE;
    const char *inner_at = NULL;
    ir_attr dims;
    HILO_TRY(reduce_operands(p, s));
    if (text_accept_word(p, "applies")) {
        struct str name = p->tok.text;
        inner_at = p->tok.at;
        inner = ir_op_named(p->m, name);
        if (text_is(p, TEXT_STRING) || !str_starts(name, "stablehlo.") || !ir_op_has(inner, IR_T_COMMUTATIVE))
            return text_error(p, inner_at, "expected a commutative op with two operands, such as stablehlo.add");
        text_next(p);
    }
    HILO_TRY(text_expect_word(p, "across"));
    HILO_TRY(custom_key(p, "dimensions"));
    const char *at = p->tok.at;
    HILO_TRY(custom_int_list(p, &dims));
    HILO_TRY(text_prop(p, s, IR_REDUCE_dimensions, dims, at));
    HILO_TRY(text_dict(p, s));
    HILO_TRY(text_expect(p, TEXT_COLON));
    HILO_TRY(text_signature(p, s));
    return inner_at ? reduce_body(p, s, inner, inner_at) : reduce_region(p, s);
}

/* `(%i = %a, …)`: names of arguments, and operands */
static hilo_status while_operands(struct text_parser *p, struct text_state *s, struct text_args *args) {
    HILO_TRY(text_expect(p, TEXT_LPAREN));
    while (!text_is(p, TEXT_RPAREN)) {
        struct text_arg arg = {0};
        struct text_operand init;
        if (args->n)
            HILO_TRY(text_expect(p, TEXT_COMMA));
        HILO_TRY(text_name(p, &arg.name));
        HILO_TRY(text_expect(p, TEXT_EQUAL));
        HILO_TRY(text_operand(p, &init));
        ARENA_PUSH(&p->m->arena, args, arg);
        ARENA_PUSH(&p->m->arena, &s->operands, init);
    }
    text_next(p);
    return HILO_OK;
}

/* `(%i = %a, …) : type, … attributes {…} cond {…} do {…}` */
static hilo_status custom_while(struct text_parser *p, struct text_state *s) {
    struct text_args args = {0};
    HILO_TRY(while_operands(p, s, &args));
    if (args.n) {
        ir_type *types;
        uint32_t n;
        HILO_TRY(text_expect(p, TEXT_COLON));
        s->types_at = p->tok.at;
        HILO_TRY(text_type_list(p, &types, &n));
        if (n != args.n)
            return text_error(p, s->types_at, "%u operand%s, but %u type%s", args.n, args.n == 1 ? "" : "s", n,
                              n == 1 ? "" : "s");
        for (uint32_t i = 0; i < n; i++) {
            text_operand_type(p, s, types[i]);
            text_result_type(p, s, types[i]);
            args.v[i].type = types[i];
        }
    }
    HILO_TRY(custom_attributes(p, s));
    HILO_TRY(text_expect_word(p, "cond"));
    HILO_TRY(text_region(p, s, &args));
    HILO_TRY(text_expect_word(p, "do"));
    return text_region(p, s, &args);
}

static ir_attr scan_sizes(struct text_parser *p, uint32_t a, uint32_t b) {
    int32_t sizes[2] = {(int32_t)a, (int32_t)b};
    return ir_attr_dense_array(p->m, ir_type_scalar(p->m, IR_I32_T), sizes, 2);
}

/* `(%a, …) inits (%b, …) dimension = 0 attributes {…} {…} : signature` */
static hilo_status custom_scan(struct text_parser *p, struct text_state *s) {
    int64_t dimension;
    HILO_TRY(text_paren_operands(p, s));
    uint32_t inputs = s->operands.n;
    HILO_TRY(text_expect_word(p, "inits"));
    HILO_TRY(text_paren_operands(p, s));
    uint32_t inits = s->operands.n - inputs;
    HILO_TRY(custom_key(p, "dimension"));
    const char *at = p->tok.at;
    HILO_TRY(text_i64(p, &dimension));
    HILO_TRY(custom_attributes(p, s));
    HILO_TRY(text_region(p, s, NULL));
    HILO_TRY(text_expect(p, TEXT_COLON));
    HILO_TRY(text_signature(p, s));
    if (s->result_types.n < inits)
        return text_error(p, s->types_at, "%u result types, but %u initial values", s->result_types.n, inits);
    HILO_TRY(text_prop(p, s, IR_SCAN_dimension, ir_attr_i64(p->m, dimension), at));
    HILO_TRY(text_prop(p, s, IR_SCAN_operandSegmentSizes, scan_sizes(p, inputs, inits), at));
    return text_prop(p, s, IR_SCAN_resultSegmentSizes, scan_sizes(p, s->result_types.n - inits, inits), at);
}

/* `({…}, {…})`, where it is there */
static hilo_status custom_regions(struct text_parser *p, struct text_state *s) {
    if (!text_accept(p, TEXT_LPAREN))
        return HILO_OK;
    do
        HILO_TRY(text_region(p, s, NULL));
    while (text_accept(p, TEXT_COMMA));
    return text_expect(p, TEXT_RPAREN);
}

/* ---- sharding: kept as text -------------------------------------------------------------------------------------- */

/* A bracketed piece as the attribute that its full spelling, `before`, the piece and `after`, stands for. */
static hilo_status raw_prop(struct text_parser *p, struct text_state *s, enum ir_slot slot, enum text_kind open,
                            enum text_kind close, const char *before, const char *after) {
    struct str inside;
    const char *at = p->tok.at;
    HILO_TRY(text_expect(p, open));
    HILO_TRY(text_balanced(p, close, &inside));
    const char *end = p->at;
    HILO_TRY(text_expect(p, close));
    size_t nbefore = strlen(before), n = (size_t)(end - at), nafter = strlen(after);
    char *full = arena_alloc(&p->m->arena, nbefore + n + nafter, 1);
    memcpy(full, before, nbefore);
    memcpy(full + nbefore, at, n);
    memcpy(full + nbefore + n, after, nafter);
    return text_prop(p, s, slot, ir_attr_opaque(p->m, (struct str){full, nbefore + n + nafter}), at);
}

/* `<["x"=2]>` */
static hilo_status custom_raw_mesh(struct text_parser *p, struct text_state *s) {
    return raw_prop(p, s, IR_SDY_MESH_mesh, TEXT_LESS, TEXT_GREATER, "#sdy.mesh", "");
}

/* `<@mesh, [{"x"}]>` */
static hilo_status custom_raw_sharding(struct text_parser *p, struct text_state *s) {
    return raw_prop(p, s, ir_op_info(s->kind)->first_slot, TEXT_LESS, TEXT_GREATER, "#sdy.sharding", "");
}

/* `[{"x"}, {}]`, `{"x"}`: which axes move follows from the shardings. */
static hilo_status custom_axes(struct text_parser *p, struct text_state *s) {
    struct str inside;
    (void)s;
    enum text_kind end = text_is(p, TEXT_LBRACE) ? TEXT_RBRACE : TEXT_RSQUARE;
    HILO_TRY(text_expect(p, end == TEXT_RBRACE ? TEXT_LBRACE : TEXT_LSQUARE));
    HILO_TRY(text_balanced(p, end, &inside));
    return text_expect(p, end);
}

/* `out_sharding=<@mesh, [{"x"}]>` */
static hilo_status custom_out_sharding(struct text_parser *p, struct text_state *s) {
    HILO_TRY(custom_key(p, "out_sharding"));
    return custom_raw_sharding(p, s);
}

/* `{"x"}` of an all-reduce, `[{"x"}, {}]` of a reduce-scatter; before it `sum`, `max` or `min`. */
static hilo_status custom_reduced_axes(struct text_parser *p, struct text_state *s) {
    static const char *const names[] = {"sum", "max", "min"};
    enum ir_slot axes = (enum ir_slot)(ir_op_info(s->kind)->first_slot + 1), kind = (enum ir_slot)(axes + 1);
    for (int i = 0; i < 3; i++) {
        const char *at = p->tok.at;
        if (text_accept_word(p, names[i])) {
            HILO_TRY(text_prop(p, s, kind, ir_attr_int(p->m, ir_type_scalar(p->m, IR_I32_T), i), at));
            break;
        }
    }
    return text_is(p, TEXT_LSQUARE)
               ? raw_prop(p, s, axes, TEXT_LSQUARE, TEXT_RSQUARE, "#sdy<list_of_axis_ref_lists", ">")
               : raw_prop(p, s, axes, TEXT_LBRACE, TEXT_RBRACE, "#sdy<axis_ref_list", ">");
}

/* `sharding=<@mesh, [{"x"}]>`, where it is there */
static hilo_status custom_edge(struct text_parser *p, struct text_state *s) {
    if (!text_accept_word(p, "sharding"))
        return HILO_OK;
    HILO_TRY(text_expect(p, TEXT_EQUAL));
    return custom_raw_sharding(p, s);
}

/* `group_id=0` */
static hilo_status custom_group(struct text_parser *p, struct text_state *s) {
    int64_t id;
    HILO_TRY(custom_key(p, "group_id"));
    const char *at = p->tok.at;
    HILO_TRY(text_i64(p, &id));
    return text_prop(p, s, IR_SDY_SHARDING_GROUP_group_id, ir_attr_i64(p->m, id), at);
}

/* `allowed_direction=FORWARD`; the result has the type of the operand */
static hilo_status custom_direction(struct text_parser *p, struct text_state *s) {
    static const char *const names[] = {"NONE", "FORWARD", "BACKWARD"};
    HILO_TRY(custom_key(p, "allowed_direction"));
    for (int i = 0; i < 3; i++) {
        const char *at = p->tok.at;
        if (text_accept_word(p, names[i]))
            return text_prop(p, s, IR_SDY_PROPAGATION_BARRIER_allowed_direction,
                             ir_attr_int(p->m, ir_type_scalar(p->m, IR_I32_T), i), at);
    }
    return text_error(p, NULL, "expected a direction: NONE, FORWARD or BACKWARD");
}

static const char per_value[] = "#sdy.sharding_per_value<";

/* `(%b: type, …) {…} {…} : signature` */
static hilo_status custom_body(struct text_parser *p, struct text_state *s) {
    struct text_args args = {0};
    HILO_TRY(text_expect(p, TEXT_LPAREN));
    if (!text_is(p, TEXT_RPAREN)) {
        do
            HILO_TRY(text_arg(p, &args));
        while (text_accept(p, TEXT_COMMA));
    }
    HILO_TRY(text_expect(p, TEXT_RPAREN));
    HILO_TRY(text_region(p, s, &args));
    HILO_TRY(text_dict(p, s));
    HILO_TRY(text_expect(p, TEXT_COLON));
    return text_signature(p, s);
}

/* `<"name">(%a) in_shardings=[…] out_shardings=[…] (%b: type) {…} {…} : signature`, the shardings where they are there */
static hilo_status custom_named(struct text_parser *p, struct text_state *s) {
    static const struct { const char *key; enum ir_slot slot; } lists[] = {
        {"in_shardings", IR_SDY_NAMED_COMPUTATION_in_shardings}, {"out_shardings", IR_SDY_NAMED_COMPUTATION_out_shardings}};
    HILO_TRY(text_expect(p, TEXT_LESS));
    HILO_TRY(text_prop_form(p, s, IR_SDY_NAMED_COMPUTATION_name));
    HILO_TRY(text_expect(p, TEXT_GREATER));
    HILO_TRY(text_paren_operands(p, s));
    for (int i = 0; i < 2; i++)
        if (text_accept_word(p, lists[i].key)) {
            HILO_TRY(text_expect(p, TEXT_EQUAL));
            HILO_TRY(raw_prop(p, s, lists[i].slot, TEXT_LSQUARE, TEXT_RSQUARE, per_value, ">"));
        }
    return custom_body(p, s);
}

/* `(%a) in_shardings=[…] out_shardings=[…] manual_axes={…} (%b: type) {…} {…} : signature` */
static hilo_status custom_manual(struct text_parser *p, struct text_state *s) {
    HILO_TRY(text_paren_operands(p, s));
    HILO_TRY(custom_key(p, "in_shardings"));
    HILO_TRY(raw_prop(p, s, IR_SDY_MANUAL_COMPUTATION_in_shardings, TEXT_LSQUARE, TEXT_RSQUARE, per_value, ">"));
    HILO_TRY(custom_key(p, "out_shardings"));
    HILO_TRY(raw_prop(p, s, IR_SDY_MANUAL_COMPUTATION_out_shardings, TEXT_LSQUARE, TEXT_RSQUARE, per_value, ">"));
    HILO_TRY(custom_key(p, "manual_axes"));
    HILO_TRY(raw_prop(p, s, IR_SDY_MANUAL_COMPUTATION_manual_axes, TEXT_LBRACE, TEXT_RBRACE, "#sdy<manual_axes", ">"));
    return custom_body(p, s);
}

/* ---- the words --------------------------------------------------------------------------------------------------- */

hilo_status text_custom(struct text_parser *p, struct text_state *s, struct str word) {
    static const struct {
        const char *name;
        hilo_status (*read)(struct text_parser *p, struct text_state *s);
    } words[] = {
        {"constant", custom_constant},        {"return", custom_return},
        {"reduce", custom_reduce},            {"dotdims", custom_dot_dims},
        {"precision", custom_precision},      {"slice", custom_slice},
        {"selecttype", custom_select_type},   {"symbol", custom_symbol},
        {"func", custom_func},                {"while", custom_while},
        {"convdims", custom_conv_dims},       {"window", custom_window},
        {"complextype", custom_complex_type}, {"tupletype", custom_tuple_type},
        {"expmant", custom_exp_mant},         {"barrier", custom_barrier},
        {"scan", custom_scan},                {"regions", custom_regions},
        {"cast", custom_cast},                {"module", custom_module},
        {"rawmesh", custom_raw_mesh},         {"rawsharding", custom_raw_sharding},
        {"manual", custom_manual},            {"named", custom_named},
        {"edge", custom_edge},                {"group", custom_group},
        {"direction", custom_direction},      {"axes", custom_axes},
        {"outsharding", custom_out_sharding}, {"reducedaxes", custom_reduced_axes},
    };
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (str_is(word, words[i].name))
            return words[i].read(p, s);
    return text_error(p, s->at, "no syntax for <%.*s>", (int)word.n, word.p);
}
