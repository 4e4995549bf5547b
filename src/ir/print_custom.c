/* The hand-written words of ops.def: how each is printed, and which ops it can say (see custom.c for the reading side). */
#include "ir/print.h"

void form_say(const struct printer *p, struct form *f, enum ir_slot slot) {
    const struct ir_op_info *info = ir_op_info(ir_kind(p->m, f->op));
    f->said |= UINT64_C(1) << ((uint32_t)slot - info->first_slot);
}

/* A list-valued piece of a window: `, stride = [1, 2]`. */
static void print_window_list(struct printer *p, struct form *f, enum ir_slot slot, const char *name, const char **comma) {
    size_t n;
    form_say(p, f, slot);
    if (IR_NONE(ir_prop(p->m, f->op, slot)))
        return;
    const int64_t *v = ir_prop_i64s(p->m, f->op, slot, &n);
    strbuf_printf(p->out, "%s%s = ", *comma, name);
    print_dims(p, v, n);
    *comma = ", ";
}

static void print_window(struct printer *p, struct form *f) {
    const char *comma = "";
    size_t n;
    print_window_list(p, f, IR_CONVOLUTION_window_strides, "stride", &comma);
    form_say(p, f, IR_CONVOLUTION_padding);
    if (!IR_NONE(ir_prop(p->m, f->op, IR_CONVOLUTION_padding))) {
        const int64_t *pad = ir_prop_i64s(p->m, f->op, IR_CONVOLUTION_padding, &n);
        strbuf_printf(p->out, "%spad = [", comma);
        for (size_t i = 0; i + 1 < n; i += 2) {
            strbuf_puts(p->out, i ? ", " : "");
            print_dims(p, pad + i, 2);
        }
        strbuf_putc(p->out, ']');
        comma = ", ";
    }
    print_window_list(p, f, IR_CONVOLUTION_lhs_dilation, "lhs_dilate", &comma);
    print_window_list(p, f, IR_CONVOLUTION_rhs_dilation, "rhs_dilate", &comma);
    form_say(p, f, IR_CONVOLUTION_window_reversal);
    const struct ir_attr_data *reverse = ir_attr_get(p->m, ir_prop(p->m, f->op, IR_CONVOLUTION_window_reversal));
    if (reverse->kind == IR_ATTR_DENSE_ARRAY) {
        strbuf_printf(p->out, "%sreverse = [", comma);
        for (uint32_t i = 0; i < reverse->n; i++)
            strbuf_printf(p->out, "%s%s", i ? ", " : "", ((const char *)reverse->data)[i] ? "true" : "false");
        strbuf_putc(p->out, ']');
    }
}

/* Whether window attributes are of the kinds that the short form can say. */
static bool window_fits(const struct printer *p, ir_op op) {
    size_t n;
    static const enum ir_slot lists[] = {IR_CONVOLUTION_window_strides, IR_CONVOLUTION_lhs_dilation,
                                         IR_CONVOLUTION_rhs_dilation, IR_CONVOLUTION_padding};
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        if (!IR_NONE(ir_prop(p->m, op, lists[i])) && !ir_prop_i64s(p->m, op, lists[i], &n))
            return false;
    const struct ir_attr_data *pad = ir_attr_get(p->m, ir_prop(p->m, op, IR_CONVOLUTION_padding));
    const struct ir_type_data *t = ir_type_get(p->m, pad->type);
    const struct ir_attr_data *reverse = ir_attr_get(p->m, ir_prop(p->m, op, IR_CONVOLUTION_window_reversal));
    return (pad->kind == IR_ATTR_NONE || (t->rank == 2 && t->dims[1] == 2)) &&
           (reverse->kind == IR_ATTR_NONE || reverse->kind == IR_ATTR_DENSE_ARRAY);
}

static void print_slice(struct printer *p, struct form *f) {
    size_t n;
    const int64_t *start = ir_prop_i64s(p->m, f->op, IR_SLICE_start_indices, &n);
    const int64_t *limit = ir_prop_i64s(p->m, f->op, IR_SLICE_limit_indices, &n);
    const int64_t *stride = ir_prop_i64s(p->m, f->op, IR_SLICE_strides, &n);
    strbuf_putc(p->out, '[');
    for (size_t i = 0; i < n; i++) {
        strbuf_printf(p->out, "%s%lld:%lld", i ? ", " : "", (long long)start[i], (long long)limit[i]);
        if (stride[i] != 1)
            strbuf_printf(p->out, ":%lld", (long long)stride[i]);
    }
    strbuf_putc(p->out, ']');
    form_say(p, f, IR_SLICE_start_indices);
    form_say(p, f, IR_SLICE_limit_indices);
    form_say(p, f, IR_SLICE_strides);
}

static bool slice_fits(const struct printer *p, ir_op op) {
    size_t a, b, c;
    const int64_t *start = ir_prop_i64s(p->m, op, IR_SLICE_start_indices, &a);
    const int64_t *limit = ir_prop_i64s(p->m, op, IR_SLICE_limit_indices, &b);
    const int64_t *stride = ir_prop_i64s(p->m, op, IR_SLICE_strides, &c);
    return start && limit && stride && a == b && b == c;
}

static void print_dot_pair(struct printer *p, ir_attr dot, const char *name, enum ir_field_slot a, enum ir_field_slot b) {
    size_t n;
    const int64_t *dims = ir_field_dims(p->m, dot, a, &n);
    strbuf_printf(p->out, "%s = ", name);
    print_dims(p, dims, n);
    strbuf_puts(p->out, " x ");
    dims = ir_field_dims(p->m, dot, b, &n);
    print_dims(p, dims, n);
}

static void print_dot_dims(struct printer *p, struct form *f) {
    ir_attr dot = ir_prop(p->m, f->op, IR_DOT_GENERAL_dot_dimension_numbers);
    size_t n, k;
    ir_field_dims(p->m, dot, IR_DOT_lhs_batching_dimensions_F, &n);
    ir_field_dims(p->m, dot, IR_DOT_rhs_batching_dimensions_F, &k);
    if (n || k) {
        print_dot_pair(p, dot, "batching_dims", IR_DOT_lhs_batching_dimensions_F, IR_DOT_rhs_batching_dimensions_F);
        strbuf_puts(p->out, ", ");
    }
    print_dot_pair(p, dot, "contracting_dims", IR_DOT_lhs_contracting_dimensions_F, IR_DOT_rhs_contracting_dimensions_F);
    form_say(p, f, IR_DOT_GENERAL_dot_dimension_numbers);
}

/* `, precision = [DEFAULT, HIGH]` and, for dot_general, `, algorithm = <…>`. */
static void print_precision(struct printer *p, struct form *f) {
    bool general = ir_kind(p->m, f->op) == IR_DOT_GENERAL;
    enum ir_slot slot = general ? IR_DOT_GENERAL_precision_config : IR_DOT_precision_config;
    const struct ir_attr_data *a = ir_attr_get(p->m, ir_prop(p->m, f->op, slot));
    form_say(p, f, slot);
    if (a->kind == IR_ATTR_ARRAY) {
        strbuf_puts(p->out, ", precision = [");
        for (uint32_t i = 0; i < a->n; i++) {
            strbuf_puts(p->out, i ? ", " : "");
            print_attr_form(p, a->items[i], IR_AF_ENUM);
        }
        strbuf_putc(p->out, ']');
    }
    if (!general)
        return;
    ir_attr algorithm = ir_prop(p->m, f->op, IR_DOT_GENERAL_algorithm);
    form_say(p, f, IR_DOT_GENERAL_algorithm);
    if (!IR_NONE(algorithm)) {
        strbuf_puts(p->out, ", algorithm = ");
        size_t value = p->out->n;
        print_attr(p, algorithm); /* #stablehlo.dot_algorithm<…>, of which the short form keeps <…> */
        const char *angle = p->out->failed ? NULL : memchr(p->out->p + value, '<', p->out->n - value);
        if (angle) {
            size_t skip = (size_t)(angle - p->out->p) - value;
            memmove(p->out->p + value, angle, p->out->n - value - skip + 1);
            p->out->n -= skip;
        }
    }
}

static bool precision_fits(const struct printer *p, ir_op op) {
    bool general = ir_kind(p->m, op) == IR_DOT_GENERAL;
    enum ir_slot slot = general ? IR_DOT_GENERAL_precision_config : IR_DOT_precision_config;
    const struct ir_attr_data *a = ir_attr_get(p->m, ir_prop(p->m, op, slot));
    for (uint32_t i = 0; a->kind == IR_ATTR_ARRAY && i < a->n; i++) {
        const struct ir_attr_data *e = ir_attr_get(p->m, a->items[i]);
        if (e->kind != IR_ATTR_ENUM || !ir_enum_case_name((enum ir_enum)e->sub, e->i))
            return false;
    }
    if (general) {
        const struct ir_attr_data *g = ir_attr_get(p->m, ir_prop(p->m, op, IR_DOT_GENERAL_algorithm));
        if (g->kind != IR_ATTR_NONE && g->kind != IR_ATTR_STRUCT)
            return false;
    }
    return a->kind == IR_ATTR_NONE || a->kind == IR_ATTR_ARRAY;
}

/* The body of a reduce that `applies` can say: one commutative op of the dialect on both arguments, returned. */
static ir_op reduce_applies(const struct printer *p, ir_op op) {
    const struct ir_op_data *o = ir_op_get(p->m, op);
    const struct ir_module *m = p->m;
    ir_op no = {0};
    ir_block b = ir_region_get(m, ir_op_region(m, op, 0))->first;
    if (IR_NONE(b) || o->noperands != 2)
        return no;
    const struct ir_block_data *d = ir_block_get(m, b);
    if (IR_NONE(d->first) || IR_SAME(d->first, d->last))
        return no;
    const struct ir_op_data *inner = ir_op_get(m, d->first), *ret = ir_op_get(m, d->last);
    const struct ir_type_data *in = ir_val_type(m, o->operands[0]);
    if (!IR_SAME(inner->next, d->last) || ret->kind != IR_RETURN || inner->noperands != 2 || inner->nresults != 1 ||
        !ir_op_has((enum ir_op_kind)inner->kind, IR_T_COMMUTATIVE) ||
        !str_starts(ir_op_name(m, d->first), "stablehlo.") || !IR_NONE(inner->attrs) || d->nargs != 2 ||
        !IR_SAME(inner->operands[0], d->args[0]) || !IR_SAME(inner->operands[1], d->args[1]) || ret->noperands != 1 ||
        !IR_SAME(ret->operands[0], inner->result0))
        return no;
    ir_type t = ir_val_get(m, inner->result0)->type;
    const struct ir_type_data *scalar = ir_type_get(m, t);
    bool same = IR_SAME(ir_val_get(m, d->args[0])->type, t) && IR_SAME(ir_val_get(m, d->args[1])->type, t);
    return same && scalar->kind == IR_TYPE_TENSOR && scalar->rank == 0 && IR_SAME(scalar->elem, in->elem) ? d->first : no;
}

static void print_reduce(struct printer *p, struct form *f) {
    const struct ir_op_data *o = ir_op_get(p->m, f->op);
    uint32_t half = o->noperands / 2;
    size_t n;
    const int64_t *dims = ir_prop_i64s(p->m, f->op, IR_REDUCE_dimensions, &n);
    for (uint32_t i = 0; i < half; i++) {
        strbuf_puts(p->out, i ? ", (" : "(");
        print_value(p, o->operands[i]);
        strbuf_puts(p->out, " init: ");
        print_value(p, o->operands[half + i]);
        strbuf_putc(p->out, ')');
    }
    ir_op inner = reduce_applies(p, f->op);
    if (!IR_NONE(inner)) {
        strbuf_puts(p->out, " applies ");
        strbuf_str(p->out, ir_op_name(p->m, inner));
    }
    strbuf_puts(p->out, " across dimensions = ");
    print_dims(p, dims, n);
    form_say(p, f, IR_REDUCE_dimensions);
    print_dict(p, f->op, " {", f->said, true, true);
    strbuf_puts(p->out, " : ");
    print_fn_type(p, f->op);
    if (!IR_NONE(inner))
        return;
    ir_region body = ir_op_region(p->m, f->op, 0);
    ir_block b = ir_region_get(p->m, body)->first;
    const struct ir_block_data *d = ir_block_get(p->m, b);
    print_name_args(p, b);
    print_newline(p);
    strbuf_puts(p->out, " reducer");
    for (uint32_t i = 0; i < half; i++)
        for (uint32_t side = 0; side < 2; side++) {
            ir_val arg = d->args[i + side * half];
            strbuf_puts(p->out, side ? ", " : "(");
            print_value(p, arg);
            strbuf_puts(p->out, ": ");
            print_val_type(p, arg);
            print_loc(p, ir_val_get(p->m, arg)->loc);
            strbuf_puts(p->out, side ? ") " : "");
        }
    strbuf_putc(p->out, ' ');
    print_region(p, body, false);
}

static bool reduce_fits(const struct printer *p, ir_op op) {
    const struct ir_op_data *o = ir_op_get(p->m, op);
    ir_block b = ir_region_get(p->m, ir_op_region(p->m, op, 0))->first;
    size_t n;
    return o->noperands % 2 == 0 && o->noperands && !IR_NONE(b) && ir_block_get(p->m, b)->nargs == o->noperands &&
           ir_prop_i64s(p->m, op, IR_REDUCE_dimensions, &n);
}

static void print_while(struct printer *p, struct form *f) {
    const struct ir_op_data *o = ir_op_get(p->m, f->op);
    ir_region cond = ir_op_region(p->m, f->op, 0), body = ir_op_region(p->m, f->op, 1);
    const struct ir_block_data *c = ir_block_get(p->m, ir_region_get(p->m, cond)->first);
    const struct ir_block_data *b = ir_block_get(p->m, ir_region_get(p->m, body)->first);
    strbuf_putc(p->out, '(');
    for (uint32_t i = 0; i < o->noperands; i++) {
        print_name(p, c->args[i], p->next_arg, PRINT_ARG); /* both regions see the arguments under one name */
        print_name(p, b->args[i], p->next_arg++, PRINT_ARG);
        strbuf_puts(p->out, i ? ", " : "");
        print_value(p, b->args[i]);
        strbuf_puts(p->out, " = ");
        print_value(p, o->operands[i]);
    }
    strbuf_putc(p->out, ')');
    if (o->noperands) {
        strbuf_puts(p->out, " : ");
        print_operand_types(p, o);
    }
    print_dict(p, f->op, " attributes {", 0, true, true);
    print_newline(p);
    strbuf_puts(p->out, "cond ");
    print_region(p, cond, false);
    strbuf_puts(p->out, " do ");
    print_region(p, body, false);
}

/* The form names each argument once: both regions' arguments and the results must have the operands' types. */
static bool while_fits(const struct printer *p, ir_op op) {
    const struct ir_op_data *o = ir_op_get(p->m, op);
    if (o->nregions != 2 || o->nresults != o->noperands)
        return false;
    for (uint32_t r = 0; r < 2; r++) {
        ir_block b = ir_region_get(p->m, ir_op_region(p->m, op, r))->first;
        if (IR_NONE(b) || ir_block_get(p->m, b)->nargs != o->noperands)
            return false;
        for (uint32_t i = 0; i < o->noperands; i++)
            if (!IR_SAME(ir_val_get(p->m, ir_block_get(p->m, b)->args[i])->type, ir_val_get(p->m, o->operands[i])->type))
                return false;
    }
    for (uint32_t i = 0; i < o->noperands; i++)
        if (!IR_SAME(ir_val_get(p->m, ir_result(p->m, op, i))->type, ir_val_get(p->m, o->operands[i])->type))
            return false;
    return true;
}

static void print_scan(struct printer *p, struct form *f) {
    const struct ir_op_data *o = ir_op_get(p->m, f->op);
    const struct ir_attr_data *sizes = ir_attr_get(p->m, ir_prop(p->m, f->op, IR_SCAN_operandSegmentSizes));
    uint32_t nin = (uint32_t)((const int32_t *)sizes->data)[0];
    strbuf_putc(p->out, '(');
    print_values(p, o->operands, nin);
    strbuf_puts(p->out, ") inits(");
    print_values(p, o->operands + nin, o->noperands - nin);
    strbuf_printf(p->out, ") dimension=%lld", (long long)ir_prop_i64(p->m, f->op, IR_SCAN_dimension));
    form_say(p, f, IR_SCAN_dimension);
    form_say(p, f, IR_SCAN_operandSegmentSizes);
    form_say(p, f, IR_SCAN_resultSegmentSizes);
    print_dict(p, f->op, " attributes {", f->said, true, true);
    strbuf_putc(p->out, ' ');
    print_region(p, ir_op_region(p->m, f->op, 0), true);
    strbuf_puts(p->out, " : ");
    print_fn_type(p, f->op);
}

/* Two sizes that add up to n; the second of them. */
static bool scan_sizes(const struct ir_module *m, ir_attr attr, uint32_t n, int32_t *second) {
    const struct ir_attr_data *a = ir_attr_get(m, attr);
    if (a->kind != IR_ATTR_DENSE_ARRAY || a->nbytes != 8 || ir_type_get(m, a->type)->dtype != IR_I32_T)
        return false;
    const int32_t *sizes = a->data;
    *second = sizes[1];
    return sizes[0] >= 0 && sizes[1] >= 0 && (uint64_t)sizes[0] + (uint64_t)sizes[1] == n;
}

static bool scan_fits(const struct printer *p, ir_op op) {
    const struct ir_op_data *o = ir_op_get(p->m, op);
    int32_t inits, carries;
    return print_form_fits(p->m, ir_prop(p->m, op, IR_SCAN_dimension), ir_slot_get(IR_SCAN_dimension)) &&
           scan_sizes(p->m, ir_prop(p->m, op, IR_SCAN_operandSegmentSizes), o->noperands, &inits) &&
           scan_sizes(p->m, ir_prop(p->m, op, IR_SCAN_resultSegmentSizes), o->nresults, &carries) && inits == carries;
}

static void print_func(struct printer *p, struct form *f) {
    const struct ir_type_data *t = ir_type_get(p->m, ir_attr_get(p->m, ir_prop(p->m, f->op, IR_FUNC_function_type))->type);
    const struct ir_attr_data *arg_attrs = ir_attr_get(p->m, ir_prop(p->m, f->op, IR_FUNC_arg_attrs));
    const struct ir_attr_data *res_attrs = ir_attr_get(p->m, ir_prop(p->m, f->op, IR_FUNC_res_attrs));
    ir_block body = IR_SAME(f->op, p->o.declare) ? (ir_block){0} : ir_func_body(p->m, f->op);
    struct str visibility = ir_prop_str(p->m, f->op, IR_FUNC_sym_visibility);
    uint32_t outer_arg = p->next_arg, outer_result = p->next_result; /* a function sees no values from outside */
    p->next_arg = p->next_result = 0;
    if (visibility.n) {
        strbuf_str(p->out, visibility);
        strbuf_putc(p->out, ' ');
    }
    print_symbol(p, ir_prop_str(p->m, f->op, IR_FUNC_sym_name));
    strbuf_putc(p->out, '(');
    if (!IR_NONE(body))
        print_name_args(p, body);
    for (uint32_t i = 0; i < t->ninputs; i++) {
        strbuf_puts(p->out, i ? ", " : "");
        if (!IR_NONE(body)) {
            print_value(p, ir_block_get(p->m, body)->args[i]);
            strbuf_puts(p->out, ": ");
        }
        print_type(p, t->types[i]);
        if (i < arg_attrs->n && ir_attr_get(p->m, arg_attrs->items[i])->n) {
            strbuf_putc(p->out, ' ');
            print_attr(p, arg_attrs->items[i]);
        }
        if (!IR_NONE(body))
            print_loc(p, ir_val_get(p->m, ir_block_get(p->m, body)->args[i])->loc);
    }
    strbuf_putc(p->out, ')');
    uint32_t nouts = t->ntypes - t->ninputs;
    bool attrs = nouts == 1 && res_attrs->n == 1 && ir_attr_get(p->m, res_attrs->items[0])->n;
    bool bare = nouts == 1 && !attrs && ir_type_get(p->m, t->types[t->ninputs])->kind != IR_TYPE_FUNCTION;
    strbuf_puts(p->out, nouts == 0 ? "" : bare ? " -> " : " -> (");
    for (uint32_t i = 0; i < nouts; i++) {
        strbuf_puts(p->out, i ? ", " : "");
        print_type(p, t->types[t->ninputs + i]);
        if (i < res_attrs->n && ir_attr_get(p->m, res_attrs->items[i])->n) {
            strbuf_putc(p->out, ' ');
            print_attr(p, res_attrs->items[i]);
        }
    }
    strbuf_puts(p->out, nouts && !bare ? ")" : "");
    print_dict(p, f->op, " attributes {", UINT64_MAX, true, true);
    if (!IR_NONE(body)) {
        strbuf_putc(p->out, ' ');
        print_region(p, ir_op_region(p->m, f->op, 0), false);
    }
    p->next_arg = outer_arg;
    p->next_result = outer_result;
}

/* Whether a list of dictionaries is there for n types, or not at all. */
static bool dicts_fit(const struct ir_module *m, ir_attr attr, uint32_t n) {
    const struct ir_attr_data *a = ir_attr_get(m, attr);
    for (uint32_t i = 0; a->kind == IR_ATTR_ARRAY && i < a->n; i++)
        if (ir_attr_get(m, a->items[i])->kind != IR_ATTR_DICT)
            return false;
    return a->kind == IR_ATTR_NONE || (a->kind == IR_ATTR_ARRAY && a->n == n);
}

static bool visibility_fits(const struct ir_module *m, ir_attr a) {
    struct str name = ir_attr_as_str(m, a);
    return IR_NONE(a) || str_is(name, "public") || str_is(name, "private") || str_is(name, "nested");
}

/* Whether an optional name can stand as a symbol. */
static bool name_fits(const struct ir_module *m, ir_attr a) {
    return IR_NONE(a) || (ir_attr_get(m, a)->kind == IR_ATTR_STRING && ir_attr_as_str(m, a).n);
}

static bool func_fits(const struct printer *p, ir_op op) {
    const struct ir_module *m = p->m;
    const struct ir_attr_data *type = ir_attr_get(m, ir_prop(m, op, IR_FUNC_function_type));
    const struct ir_type_data *t = ir_type_get(m, type->type);
    ir_attr name = ir_prop(m, op, IR_FUNC_sym_name);
    if (type->kind != IR_ATTR_TYPE || t->kind != IR_TYPE_FUNCTION || IR_NONE(name) || !name_fits(m, name) ||
        !visibility_fits(m, ir_prop(m, op, IR_FUNC_sym_visibility)) ||
        !dicts_fit(m, ir_prop(m, op, IR_FUNC_arg_attrs), t->ninputs) ||
        !dicts_fit(m, ir_prop(m, op, IR_FUNC_res_attrs), t->ntypes - t->ninputs))
        return false;
    ir_block body = ir_func_body(m, op);
    const struct ir_block_data *b = ir_block_get(m, body);
    if (IR_NONE(body))
        return true;
    for (uint32_t i = 0; b->nargs == t->ninputs && i < b->nargs; i++)
        if (!IR_SAME(ir_val_get(m, b->args[i])->type, t->types[i]))
            return false;
    return b->nargs == t->ninputs && !IR_NONE(b->first);
}

static void print_module(struct printer *p, struct form *f) {
    struct str name = ir_prop_str(p->m, f->op, IR_MODULE_sym_name);
    if (name.n) {
        print_symbol(p, name);
        strbuf_putc(p->out, ' ');
    }
    form_say(p, f, IR_MODULE_sym_name);
    size_t before = p->out->n;
    print_dict(p, f->op, "attributes {", f->said, true, true);
    strbuf_puts(p->out, p->out->n != before ? " " : "");
    print_region(p, ir_op_region(p->m, f->op, 0), false);
}

static bool module_fits(const struct printer *p, ir_op op) {
    return name_fits(p->m, ir_prop(p->m, op, IR_MODULE_sym_name));
}

/* Whether text is one pair of brackets, the first of which is `open`, and what is inside. */
static bool is_bracketed(struct str text, char open) {
    size_t depth = 0;
    bool quoted = false;
    for (size_t i = 0; i < text.n; i++) {
        char c = text.p[i];
        bool arrow = c == '>' && i && text.p[i - 1] == '-';
        if (c == '\\' && quoted)
            i++;
        else if (c == '"')
            quoted = !quoted;
        else if (!quoted && strchr("([{<", c))
            depth++;
        else if (!quoted && !arrow && strchr(")]}>", c) && --depth == 0)
            return i + 1 == text.n && text.p[0] == open;
    }
    return false;
}

/* The bracketed piece of a sharding attribute that stands for all of it in the short form; empty when it is none. */
static struct str raw_text(const struct printer *p, ir_op op, enum ir_slot slot) {
    static const struct { enum ir_slot slot; const char *before; char open; const char *after; } pieces[] = {
        {IR_SDY_MESH_mesh, "#sdy.mesh", '<', ""},
        {IR_SDY_SHARDING_CONSTRAINT_sharding, "#sdy.sharding", '<', ""},
        {IR_SDY_RESHARD_sharding, "#sdy.sharding", '<', ""},
        {IR_SDY_ALL_REDUCE_out_sharding, "#sdy.sharding", '<', ""},
        {IR_SDY_ALL_REDUCE_reduction_axes, "#sdy<axis_ref_list", '{', ">"},
        {IR_SDY_REDUCE_SCATTER_out_sharding, "#sdy.sharding", '<', ""},
        {IR_SDY_REDUCE_SCATTER_reduce_scatter_axes, "#sdy<list_of_axis_ref_lists", '[', ">"},
        {IR_SDY_DATA_FLOW_EDGE_sharding, "#sdy.sharding", '<', ""},
        {IR_SDY_NAMED_COMPUTATION_in_shardings, "#sdy.sharding_per_value<", '[', ">"},
        {IR_SDY_NAMED_COMPUTATION_out_shardings, "#sdy.sharding_per_value<", '[', ">"},
        {IR_SDY_MANUAL_COMPUTATION_in_shardings, "#sdy.sharding_per_value<", '[', ">"},
        {IR_SDY_MANUAL_COMPUTATION_out_shardings, "#sdy.sharding_per_value<", '[', ">"},
        {IR_SDY_MANUAL_COMPUTATION_manual_axes, "#sdy<manual_axes", '{', ">"},
    };
    const struct ir_attr_data *a = ir_attr_get(p->m, ir_prop(p->m, op, slot));
    struct str text = ir_str_get(p->m, a->str);
    size_t i = 0;
    while (pieces[i].slot != slot)
        i++;
    size_t before = strlen(pieces[i].before), after = strlen(pieces[i].after);
    if (a->kind != IR_ATTR_OPAQUE || text.n <= before + after || !str_starts(text, pieces[i].before))
        return (struct str){NULL, 0};
    struct str piece = {text.p + before, text.n - before - after};
    return is_bracketed(piece, pieces[i].open) ? piece : (struct str){NULL, 0};
}

static void print_raw(struct printer *p, struct form *f, enum ir_slot slot) {
    strbuf_str(p->out, raw_text(p, f->op, slot));
    form_say(p, f, slot);
}

/* `(%b: type, …) {…} {…} : signature` */
static void print_body(struct printer *p, struct form *f) {
    ir_region body = ir_op_region(p->m, f->op, 0);
    ir_block b = ir_region_get(p->m, body)->first;
    strbuf_puts(p->out, " (");
    if (!IR_NONE(b)) {
        print_name_args(p, b);
        print_block_args(p, b);
    }
    strbuf_puts(p->out, ") ");
    print_region(p, body, false);
    print_dict(p, f->op, " {", f->said, true, true);
    strbuf_puts(p->out, " : ");
    print_fn_type(p, f->op);
}

static void print_manual(struct printer *p, struct form *f) {
    const struct ir_op_data *o = ir_op_get(p->m, f->op);
    strbuf_putc(p->out, '(');
    print_values(p, o->operands, o->noperands);
    strbuf_puts(p->out, ") in_shardings=");
    print_raw(p, f, IR_SDY_MANUAL_COMPUTATION_in_shardings);
    strbuf_puts(p->out, " out_shardings=");
    print_raw(p, f, IR_SDY_MANUAL_COMPUTATION_out_shardings);
    strbuf_puts(p->out, " manual_axes=");
    print_raw(p, f, IR_SDY_MANUAL_COMPUTATION_manual_axes);
    print_body(p, f);
}

static void print_named(struct printer *p, struct form *f) {
    const struct ir_op_data *o = ir_op_get(p->m, f->op);
    strbuf_putc(p->out, '<');
    print_attr(p, ir_prop(p->m, f->op, IR_SDY_NAMED_COMPUTATION_name));
    form_say(p, f, IR_SDY_NAMED_COMPUTATION_name);
    strbuf_puts(p->out, ">(");
    print_values(p, o->operands, o->noperands);
    strbuf_putc(p->out, ')');
    static const struct { const char *key; enum ir_slot slot; } lists[] = {
        {" in_shardings=", IR_SDY_NAMED_COMPUTATION_in_shardings}, {" out_shardings=", IR_SDY_NAMED_COMPUTATION_out_shardings}};
    for (int i = 0; i < 2; i++)
        if (!IR_NONE(ir_prop(p->m, f->op, lists[i].slot))) {
            strbuf_puts(p->out, lists[i].key);
            print_raw(p, f, lists[i].slot);
        }
    print_body(p, f);
}

static bool raw_fits(const struct printer *p, ir_op op, enum ir_slot slot) {
    return IR_NONE(ir_prop(p->m, op, slot)) || raw_text(p, op, slot).n;
}

static bool named_fits(const struct printer *p, ir_op op) {
    return ir_attr_get(p->m, ir_prop(p->m, op, IR_SDY_NAMED_COMPUTATION_name))->kind == IR_ATTR_STRING &&
           raw_fits(p, op, IR_SDY_NAMED_COMPUTATION_in_shardings) && raw_fits(p, op, IR_SDY_NAMED_COMPUTATION_out_shardings);
}

static void print_edge(struct printer *p, struct form *f) {
    if (IR_NONE(ir_prop(p->m, f->op, IR_SDY_DATA_FLOW_EDGE_sharding)))
        return;
    strbuf_puts(p->out, " sharding=");
    print_raw(p, f, IR_SDY_DATA_FLOW_EDGE_sharding);
}

static bool edge_fits(const struct printer *p, ir_op op) {
    return raw_fits(p, op, IR_SDY_DATA_FLOW_EDGE_sharding);
}

static void print_group(struct printer *p, struct form *f) {
    strbuf_puts(p->out, "group_id=");
    strbuf_i64(p->out, ir_prop_i64(p->m, f->op, IR_SDY_SHARDING_GROUP_group_id));
    form_say(p, f, IR_SDY_SHARDING_GROUP_group_id);
}

static const char *direction_name(const struct printer *p, ir_op op) {
    static const char *const names[] = {"NONE", "FORWARD", "BACKWARD"};
    int64_t direction;
    if (!ir_attr_as_i64(p->m, ir_prop(p->m, op, IR_SDY_PROPAGATION_BARRIER_allowed_direction), &direction))
        return NULL;
    return direction >= 0 && direction < 3 ? names[direction] : NULL;
}

static void print_direction(struct printer *p, struct form *f) {
    strbuf_printf(p->out, "allowed_direction=%s", direction_name(p, f->op));
    form_say(p, f, IR_SDY_PROPAGATION_BARRIER_allowed_direction);
}

static bool direction_fits(const struct printer *p, ir_op op) {
    return direction_name(p, op) && print_same_types(p, op, 0);
}

static bool manual_fits(const struct printer *p, ir_op op) {
    return raw_text(p, op, IR_SDY_MANUAL_COMPUTATION_in_shardings).n &&
           raw_text(p, op, IR_SDY_MANUAL_COMPUTATION_out_shardings).n &&
           raw_text(p, op, IR_SDY_MANUAL_COMPUTATION_manual_axes).n;
}

/* `a, b : t, t`, or nothing when there are no operands. */
static void print_return(struct printer *p, struct form *f) {
    const struct ir_op_data *o = ir_op_get(p->m, f->op);
    strbuf_puts(p->out, o->noperands ? " " : "");
    print_values(p, o->operands, o->noperands);
    print_dict(p, f->op, " {", 0, true, true);
    strbuf_puts(p->out, o->noperands ? " : " : "");
    print_operand_types(p, o);
}

static void print_barrier(struct printer *p, struct form *f) {
    const struct ir_op_data *o = ir_op_get(p->m, f->op);
    print_dict(p, f->op, " {", 0, true, true);
    strbuf_puts(p->out, o->noperands ? " " : " ()");
    print_values(p, o->operands, o->noperands);
    strbuf_puts(p->out, o->noperands ? " : " : "");
    print_operand_types(p, o);
}

/* How many results the table gives an op whose types are all one. */
uint32_t print_table_results(enum ir_op_kind k) {
    uint32_t n = 0;
    for (const char *at = ir_op_info(k)->results; *at; at++)
        n += *at != ' ' && (at[1] == ' ' || at[1] == '\0');
    return n;
}

/* Whether one type determines all: that of the results, and of the operands from `from_operand` on. */
bool print_same_types(const struct printer *p, ir_op op, uint32_t from_operand) {
    const struct ir_op_data *o = ir_op_get(p->m, op);
    if (o->nresults != print_table_results((enum ir_op_kind)o->kind) || o->nresults + o->noperands <= from_operand)
        return false;
    ir_type t = ir_val_get(p->m, o->nresults ? o->result0 : o->operands[from_operand])->type;
    for (uint32_t i = from_operand; i < o->noperands; i++)
        if (!IR_SAME(ir_val_get(p->m, o->operands[i])->type, t))
            return false;
    return o->nresults < 2;
}

static bool barrier_fits(const struct printer *p, ir_op op) {
    const struct ir_op_data *o = ir_op_get(p->m, op);
    for (uint32_t i = 0; i < o->noperands && o->nresults == o->noperands; i++)
        if (!IR_SAME(ir_val_get(p->m, o->operands[i])->type, ir_val_get(p->m, ir_result(p->m, op, i))->type))
            return false;
    return o->nresults == o->noperands;
}

static enum ir_slot first_slot(const struct printer *p, ir_op op) {
    return (enum ir_slot)ir_op_info(ir_kind(p->m, op))->first_slot;
}

static void print_constant(struct printer *p, struct form *f) {
    form_say(p, f, first_slot(p, f->op));
    print_dict(p, f->op, " {", f->said, true, true);
    strbuf_putc(p->out, ' ');
    print_attr(p, ir_prop(p->m, f->op, first_slot(p, f->op)));
}

static bool constant_fits(const struct printer *p, ir_op op) {
    const struct ir_op_data *o = ir_op_get(p->m, op);
    const struct ir_attr_data *a = ir_attr_get(p->m, ir_prop(p->m, op, first_slot(p, op)));
    return (a->kind == IR_ATTR_DENSE || a->kind == IR_ATTR_RESOURCE) && o->nresults == 1 &&
           IR_SAME(a->type, ir_val_get(p->m, o->result0)->type);
}

static void print_expmant(struct printer *p, struct form *f) {
    strbuf_printf(p->out, "e%lldm%lld", (long long)ir_prop_i64(p->m, f->op, IR_REDUCE_PRECISION_exponent_bits),
                  (long long)ir_prop_i64(p->m, f->op, IR_REDUCE_PRECISION_mantissa_bits));
    form_say(p, f, IR_REDUCE_PRECISION_exponent_bits);
    form_say(p, f, IR_REDUCE_PRECISION_mantissa_bits);
}

static bool expmant_fits(const struct printer *p, ir_op op) {
    static const enum ir_slot slots[] = {IR_REDUCE_PRECISION_exponent_bits, IR_REDUCE_PRECISION_mantissa_bits};
    for (size_t i = 0; i < 2; i++)
        if (!print_form_fits(p->m, ir_prop(p->m, op, slots[i]), ir_slot_get(slots[i])) || ir_prop_i64(p->m, op, slots[i]) < 0)
            return false;
    return true;
}

/* `complex` and `select` shorten their types when what they leave out follows from the rest. */
static void print_complex_type(struct printer *p, struct form *f) {
    const struct ir_op_data *o = ir_op_get(p->m, f->op);
    const struct ir_type_data *r = ir_val_type(p->m, o->result0), *a = ir_val_type(p->m, o->operands[0]);
    bool part = (r->dtype == IR_C64_T && a->dtype == IR_F32_T) || (r->dtype == IR_C128_T && a->dtype == IR_F64_T);
    bool same = IR_SAME(ir_val_get(p->m, o->operands[0])->type, ir_val_get(p->m, o->operands[1])->type);
    bool dims = a->rank == r->rank && (a->rank == 0 || memcmp(a->dims, r->dims, a->rank * sizeof *a->dims) == 0);
    strbuf_puts(p->out, ": ");
    if (part && same && dims && IR_SAME(a->encoding, r->encoding))
        print_val_type(p, o->result0);
    else
        print_fn_type(p, f->op);
}

static void print_select_type(struct printer *p, struct form *f) {
    const struct ir_op_data *o = ir_op_get(p->m, f->op);
    strbuf_puts(p->out, ": ");
    if (print_same_types(p, f->op, 1)) {
        print_val_type(p, o->operands[0]);
        strbuf_puts(p->out, ", ");
        print_val_type(p, o->result0);
    } else {
        print_fn_type(p, f->op);
    }
}

static void print_tuple_type(struct printer *p, struct form *f) {
    strbuf_puts(p->out, ": ");
    print_val_type(p, ir_op_get(p->m, f->op)->result0);
}

static bool tuple_fits(const struct printer *p, ir_op op) {
    const struct ir_op_data *o = ir_op_get(p->m, op);
    const struct ir_type_data *t = ir_val_type(p->m, o->result0);
    if (o->nresults != 1 || t->kind != IR_TYPE_TUPLE || t->ntypes != o->noperands)
        return false;
    for (uint32_t i = 0; i < o->noperands; i++)
        if (!IR_SAME(t->types[i], ir_val_get(p->m, o->operands[i])->type))
            return false;
    return true;
}

static void print_cast(struct printer *p, struct form *f) {
    const struct ir_op_data *o = ir_op_get(p->m, f->op);
    strbuf_putc(p->out, ' ');
    print_value(p, o->operands[0]);
    print_dict(p, f->op, " {", 0, true, true);
    strbuf_puts(p->out, " : ");
    print_operand_types(p, o);
    strbuf_puts(p->out, " to ");
    print_result_types(p, f->op);
}

static void print_composite_regions(struct printer *p, struct form *f) {
    uint32_t n = ir_op_get(p->m, f->op)->nregions;
    for (uint32_t i = 0; i < n; i++) {
        strbuf_puts(p->out, i ? ", " : "(");
        print_region(p, ir_op_region(p->m, f->op, i), true);
    }
    strbuf_puts(p->out, n ? ")" : "");
}

static void print_symbol_word(struct printer *p, struct form *f) {
    enum ir_slot slot = ir_kind(p->m, f->op) == IR_CUSTOM_CALL ? IR_CUSTOM_CALL_call_target_name : IR_SDY_MESH_sym_name;
    print_symbol(p, ir_prop_str(p->m, f->op, slot));
    form_say(p, f, slot);
}

static bool symbol_fits(const struct printer *p, ir_op op) {
    enum ir_slot slot = ir_kind(p->m, op) == IR_CUSTOM_CALL ? IR_CUSTOM_CALL_call_target_name : IR_SDY_MESH_sym_name;
    return ir_attr_get(p->m, ir_prop(p->m, op, slot))->kind == IR_ATTR_STRING;
}

static void print_conv_word(struct printer *p, struct form *f) {
    print_conv_dims(p, ir_prop(p->m, f->op, IR_CONVOLUTION_dimension_numbers));
    form_say(p, f, IR_CONVOLUTION_dimension_numbers);
}

static bool conv_fits(const struct printer *p, ir_op op) {
    return print_conv_fits(p->m, ir_prop(p->m, op, IR_CONVOLUTION_dimension_numbers));
}

static bool dot_dims_fit(const struct printer *p, ir_op op) {
    const struct ir_attr_data *a = ir_attr_get(p->m, ir_prop(p->m, op, IR_DOT_GENERAL_dot_dimension_numbers));
    return a->kind == IR_ATTR_STRUCT && a->sub == IR_STRUCT_DOT;
}

static void print_raw_mesh(struct printer *p, struct form *f) {
    print_raw(p, f, IR_SDY_MESH_mesh);
}

static bool raw_mesh_fits(const struct printer *p, ir_op op) {
    return raw_text(p, op, IR_SDY_MESH_mesh).n;
}

static void print_raw_sharding(struct printer *p, struct form *f) {
    print_raw(p, f, first_slot(p, f->op));
}

static bool raw_sharding_fits(const struct printer *p, ir_op op) {
    return raw_text(p, op, first_slot(p, op)).n;
}

static void print_out_sharding(struct printer *p, struct form *f) {
    strbuf_puts(p->out, "out_sharding=");
    print_raw(p, f, first_slot(p, f->op));
}

/* sum is what is meant where nothing is said; NULL: a number that is none of these. */
static const char *reduction_name(const struct printer *p, ir_op op) {
    static const char *const names[] = {"", "max ", "min "};
    ir_attr a = ir_prop(p->m, op, (enum ir_slot)(first_slot(p, op) + 2));
    int64_t kind = 0;
    if (!IR_NONE(a) && !ir_attr_as_i64(p->m, a, &kind))
        return NULL;
    return kind >= 0 && kind < 3 ? names[kind] : NULL;
}

/* `{"x"}`, `max [{"x"}, {}]` */
static void print_reduced_axes(struct printer *p, struct form *f) {
    strbuf_puts(p->out, reduction_name(p, f->op));
    print_raw(p, f, (enum ir_slot)(first_slot(p, f->op) + 1));
    form_say(p, f, (enum ir_slot)(first_slot(p, f->op) + 2));
}

static bool reduced_axes_fit(const struct printer *p, ir_op op) {
    return reduction_name(p, op) && raw_text(p, op, (enum ir_slot)(first_slot(p, op) + 1)).n;
}

static bool one_operand_one_result(const struct printer *p, ir_op op) {
    const struct ir_op_data *o = ir_op_get(p->m, op);
    return o->noperands == 1 && o->nresults == 1;
}

static bool no_result(const struct printer *p, ir_op op) {
    return ir_op_get(p->m, op)->nresults == 0;
}

static bool one_result(const struct printer *p, ir_op op) {
    return ir_op_get(p->m, op)->nresults == 1;
}

/* The hand-written words of ops.def: how each is printed, and whether the op is one that it can say. */
static const struct word words[] = {
    {"module", print_module, module_fits, .tight = false},
    {"func", print_func, func_fits, .tight = false},
    {"return", print_return, no_result, .tight = true, .types = true, .operands = true},
    {"constant", print_constant, constant_fits, .tight = true, .types = true},
    {"reduce", print_reduce, reduce_fits, .tight = true, .types = true, .operands = true},
    {"while", print_while, while_fits, .tight = true, .types = true, .operands = true},
    {"scan", print_scan, scan_fits, .tight = true, .types = true, .operands = true},
    {"slice", print_slice, slice_fits, .tight = false},
    {"dotdims", print_dot_dims, dot_dims_fit, .tight = false},
    {"precision", print_precision, precision_fits, .tight = true},
    {"convdims", print_conv_word, conv_fits, .tight = false},
    {"window", print_window, window_fits, .tight = true},
    {"expmant", print_expmant, expmant_fits, .tight = false},
    {"symbol", print_symbol_word, symbol_fits, .tight = false},
    {"complextype", print_complex_type, one_result, .tight = false, .types = true},
    {"selecttype", print_select_type, one_result, .tight = false, .types = true},
    {"tupletype", print_tuple_type, tuple_fits, .tight = false, .types = true},
    {"barrier", print_barrier, barrier_fits, .tight = true, .types = true, .operands = true},
    {"regions", print_composite_regions, NULL, .tight = false},
    {"cast", print_cast, one_operand_one_result, .tight = true, .types = true, .operands = true},
    {"rawmesh", print_raw_mesh, raw_mesh_fits, .tight = false},
    {"rawsharding", print_raw_sharding, raw_sharding_fits, .tight = false},
    {"outsharding", print_out_sharding, raw_sharding_fits, .tight = false},
    {"reducedaxes", print_reduced_axes, reduced_axes_fit, .tight = false},
    {"manual", print_manual, manual_fits, .tight = true, .types = true, .operands = true},
    {"named", print_named, named_fits, .tight = true, .types = true, .operands = true},
    {"edge", print_edge, edge_fits, .tight = true},
    {"group", print_group, NULL, .tight = false},
    {"direction", print_direction, direction_fits, .tight = false},
};

const struct word *word_find(struct str name) {
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (str_is(name, words[i].name))
            return &words[i];
    return NULL;
}
