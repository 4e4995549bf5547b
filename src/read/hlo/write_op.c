/* HLO text: instructions. */
#include "read/hlo/write.h"

static const char *opcode_of(enum ir_op_kind kind) {
    static const struct { const char *name; enum ir_op_kind kind; } opcodes[] = {
#define HLO(opcode, id, how) {opcode, IR_##id},
#include "read/hlo/hlo.def"
    };
    for (size_t i = 0; i < sizeof opcodes / sizeof *opcodes; i++)
        if (opcodes[i].kind == kind && kind != IR_OP_NONE)
            return opcodes[i].name;
    return NULL;
}

static void end_line(struct hlo_writer *w, ir_op op) {
    hlo_put_common(w, op);
    hlo_end_line(w);
}

static ir_val *results(struct hlo_writer *w, ir_op op) {
    uint32_t n = ir_op_get(w->m, op)->nresults;
    ir_val *v = ARENA_ARRAY(&w->arena, ir_val, n);
    for (uint32_t i = 0; i < n; i++)
        v[i] = ir_result(w->m, op, i);
    return v;
}

static struct str join(struct hlo_writer *w, struct str a, struct str b, struct str c) {
    char *p = arena_alloc(&w->arena, a.n + b.n + c.n, 1);
    memcpy(p, a.p, a.n);
    memcpy(p + a.n, b.p, b.n);
    memcpy(p + a.n + b.n, c.p, c.n);
    return (struct str){p, a.n + b.n + c.n};
}

/* A line whose value is the op's only result, or a tuple of all. */
static hilo_status line_of(struct hlo_writer *w, ir_op op, const char *opcode, const struct str *operands, uint32_t n,
                           struct str *name) {
    uint32_t nresults = ir_op_get(w->m, op)->nresults;
    ir_val *v = results(w, op);
    struct str shape;
    HILO_TRY(hlo_shape_of(w, v, nresults, nresults != 1, &shape));
    *name = hlo_line(w, opcode, nresults == 1 ? v[0] : (ir_val){0}, shape, operands, n);
    return HILO_OK;
}

/* The parts of a line's tuple, where it has one. */
static hilo_status parts_of(struct hlo_writer *w, ir_op op, struct str name) {
    return ir_op_get(w->m, op)->nresults == 1 ? HILO_OK : hlo_write_results(w, op, name);
}

/* ---- by the tables --------------------------------------------------------------------------- */

/* The first `n` operands, attributes and regions by their rows. */
static hilo_status write_first(struct hlo_writer *w, ir_op op, uint32_t n) {
    const struct ir_op_data *o = ir_op_get(w->m, op);
    const char *opcode = opcode_of((enum ir_op_kind)o->kind), *attr;
    struct str regions[2], name;
    const struct str *operands;
    uint32_t r = 0;
    if (!opcode)
        return hlo_refuse(w, "has no form in HLO");
    for (; r < o->nregions && r < 2; r++)
        HILO_TRY(hlo_write_region(w, ir_op_region(w->m, op, r), o->kind == IR_FUSION ? "fused_computation" : "region",
                                  &regions[r]));
    HILO_TRY(hlo_names_of(w, o->operands, n, &operands));
    HILO_TRY(line_of(w, op, opcode, operands, n, &name));
    HILO_TRY(hlo_put_attrs(w, op));
    if (o->kind == IR_SCAN) { /* the last operands are what it carries */
        const int32_t *sizes = ir_attr_get(w->m, ir_prop(w->m, op, IR_SCAN_operandSegmentSizes))->data;
        strbuf_printf(&w->scope->text, ", num_carries=%d", (int)sizes[1]);
    }
    for (uint32_t k = 0; k < r && (attr = hlo_region_name((enum ir_op_kind)o->kind, k)) != NULL; k++) {
        strbuf_printf(&w->scope->text, ", %s=", attr);
        strbuf_str(&w->scope->text, regions[k]);
    }
    end_line(w, op);
    return parts_of(w, op, name);
}

static hilo_status write_plain(struct hlo_writer *w, ir_op op) {
    return write_first(w, op, ir_op_get(w->m, op)->noperands);
}

/* ---- structure ------------------------------------------------------------------------------- */

/* Equal elements are a scalar, broadcast. */
static hilo_status write_constant(struct hlo_writer *w, ir_op op) {
    ir_attr value = ir_constant_value(w->m, op);
    const struct ir_attr_data *d = ir_attr_get(w->m, value);
    ir_val of = ir_result(w->m, op, 0);
    const struct ir_type_data *t = ir_val_type(w->m, of);
    struct strbuf *text = &w->scope->text;
    struct str shape, scalar;
    size_t count = 0;
    ir_type_count(t, &count);
    bool empty = count == 0 && !t->quant; /* however large its other dimensions are */
    bool splat = empty || (d->kind == IR_ATTR_DENSE && d->splat && count > 1);
    HILO_TRY(hlo_shape_of(w, &of, 1, false, &shape));
    struct str whole = shape;
    for (size_t i = 0; splat && i < shape.n; i++)
        if (shape.p[i] == '[')
            shape = hlo_text(w, "%.*s[]", (int)i, shape.p);
    scalar = hlo_line(w, "constant", splat ? (ir_val){0} : of, shape, NULL, 0);
    hlo_take_off(text, ')'); /* closed after the data */
    if (empty)
        strbuf_puts(text, ir_dtype_get(t->dtype)->cls == IR_COMPLEX_CLASS ? "(0, 0)" : "0");
    else
        HILO_TRY(hlo_put_literal(w, value, splat, text));
    strbuf_putc(text, ')');
    if (splat) {
        hlo_end_line(w);
        hlo_line(w, "broadcast", of, whole, &scalar, 1);
        strbuf_puts(text, ", dimensions={}");
    }
    end_line(w, op);
    return HILO_OK;
}

static hilo_status write_call_of(struct hlo_writer *w, ir_op op, enum ir_slot callee) {
    const struct ir_op_data *o = ir_op_get(w->m, op);
    ir_op func = ir_module_symbol(w->m, ir_prop_str(w->m, op, callee));
    const struct str *operands;
    struct str comp, name;
    if (IR_NONE(func))
        return hlo_refuse(w, "calls no function of this module");
    HILO_TRY(hlo_write_func(w, func, &comp));
    HILO_TRY(hlo_names_of(w, o->operands, o->noperands, &operands));
    HILO_TRY(line_of(w, op, "call", operands, o->noperands, &name));
    strbuf_puts(&w->scope->text, ", to_apply=");
    strbuf_str(&w->scope->text, comp);
    end_line(w, op);
    return parts_of(w, op, name);
}

static hilo_status write_call(struct hlo_writer *w, ir_op op) {
    return write_call_of(w, op, IR_CALL_callee);
}

static hilo_status write_composite(struct hlo_writer *w, ir_op op) {
    return write_call_of(w, op, IR_COMPOSITE_decomposition);
}

/* The state is a tuple of the operands and of what the regions take from outside. */
static hilo_status write_while(struct hlo_writer *w, ir_op op) {
    const struct ir_op_data *o = ir_op_get(w->m, op);
    struct hlo_vals captured = {NULL, 0, 0}, state = {NULL, 0, 0};
    struct str tuple, condition, body, shape, name;
    hlo_captured(w, op, 0, 2, &captured);
    HILO_TRY(hlo_write_tupled(w, ir_op_region(w->m, op, 0), &captured, false, false, &condition));
    HILO_TRY(hlo_write_tupled(w, ir_op_region(w->m, op, 1), &captured, true, true, &body));
    for (uint32_t i = 0; i < o->noperands; i++)
        ARENA_PUSH(&w->arena, &state, o->operands[i]);
    for (uint32_t i = 0; i < captured.n; i++)
        ARENA_PUSH(&w->arena, &state, captured.v[i]);
    HILO_TRY(hlo_write_tuple(w, state.v, state.n, &tuple));
    HILO_TRY(hlo_shape_of(w, state.v, state.n, true, &shape));
    name = hlo_line(w, "while", (ir_val){0}, shape, &tuple, 1);
    strbuf_puts(&w->scope->text, ", condition=");
    strbuf_str(&w->scope->text, condition);
    strbuf_puts(&w->scope->text, ", body=");
    strbuf_str(&w->scope->text, body);
    end_line(w, op);
    for (uint32_t i = 0; i < o->nresults; i++)
        HILO_TRY(hlo_write_part(w, name, i, ir_result(w->m, op, i)));
    return HILO_OK;
}

/* Each branch takes a tuple of what it uses from outside. */
static hilo_status write_conditional(struct hlo_writer *w, ir_op op) {
    const struct ir_op_data *o = ir_op_get(w->m, op);
    bool two = o->kind == IR_IF;
    struct str *comps = ARENA_ARRAY(&w->arena, struct str, o->nregions), name;
    struct str *operands = ARENA_ARRAY(&w->arena, struct str, (size_t)o->nregions + 1);
    const struct str *index;
    for (uint32_t r = 0; r < o->nregions; r++) {
        struct hlo_vals captured = {NULL, 0, 0};
        hlo_captured(w, op, r, 1, &captured);
        HILO_TRY(hlo_write_tupled(w, ir_op_region(w->m, op, r), &captured, false, false, &comps[r]));
        HILO_TRY(hlo_write_tuple(w, captured.v, captured.n, &operands[r + 1]));
    }
    HILO_TRY(hlo_names_of(w, o->operands, 1, &index));
    operands[0] = *index;
    HILO_TRY(line_of(w, op, "conditional", operands, o->nregions + 1U, &name));
    struct strbuf *text = &w->scope->text;
    strbuf_puts(text, two ? ", true_computation=" : ", branch_computations={");
    for (uint32_t r = 0; r < o->nregions; r++) {
        if (r)
            strbuf_puts(text, two ? ", false_computation=" : ", ");
        strbuf_str(text, comps[r]);
    }
    strbuf_puts(text, two ? "" : "}");
    end_line(w, op);
    return parts_of(w, op, name);
}

/* Through a tuple, in and out. */
static hilo_status write_barrier(struct hlo_writer *w, ir_op op) {
    const struct ir_op_data *o = ir_op_get(w->m, op);
    struct str tuple, name;
    const struct str *operand;
    if (o->noperands == 1) {
        HILO_TRY(hlo_names_of(w, o->operands, 1, &operand));
        tuple = *operand;
    } else {
        HILO_TRY(hlo_write_tuple(w, o->operands, o->noperands, &tuple));
    }
    HILO_TRY(line_of(w, op, "opt-barrier", &tuple, 1, &name));
    end_line(w, op);
    return parts_of(w, op, name);
}

/* The value is its operand. */
static hilo_status write_forward(struct hlo_writer *w, ir_op op) {
    const struct str *name;
    HILO_TRY(hlo_names_of(w, ir_op_get(w->m, op)->operands, 1, &name));
    if (!IR_SAME(ir_val_get(w->m, ir_operand(w->m, op, 0))->type, ir_val_get(w->m, ir_result(w->m, op, 0))->type))
        return hlo_refuse(w, "has no form in HLO");
    hlo_same_value(w, ir_result(w->m, op, 0), ir_operand(w->m, op, 0));
    return HILO_OK;
}

/* ---- custom calls ---------------------------------------------------------------------------- */

static hilo_status put_computations(struct hlo_writer *w, const struct str *names, uint32_t n) {
    struct strbuf *text = &w->scope->text;
    strbuf_puts(text, ", called_computations={");
    for (uint32_t i = 0; i < n; i++) {
        strbuf_puts(text, i ? ", " : "");
        strbuf_str(text, names[i]);
    }
    strbuf_putc(text, '}');
    return HILO_OK;
}

/* Shapes of values with layouts, `f32[2,3]{0,1}, f32[2]{0}`: one list of dimensions for each, minor to major. */
static hilo_status put_laid_out(struct hlo_writer *w, const ir_val *values, uint32_t n, ir_attr layouts) {
    const struct ir_attr_data *d = ir_attr_get(w->m, layouts);
    struct strbuf *text = &w->scope->text;
    for (uint32_t i = 0; i < n && i < d->n; i++) {
        const struct ir_attr_data *order = ir_attr_get(w->m, d->items[i]);
        const struct ir_type_data *t = ir_val_type(w->m, values[i]);
        const int64_t *v = order->data;
        strbuf_puts(text, i ? ", " : "");
        HILO_TRY(hlo_put_shape(w, ir_val_get(w->m, values[i])->type, text));
        if (t->kind != IR_TYPE_TENSOR || t->rank == 0 || !v || order->splat)
            continue;
        hlo_take_off(text, '{'); /* the row-major layout */
        hlo_put_i64s(v, t->rank, text);
    }
    return HILO_OK;
}

/* The shape of the results, with their layouts where the call has them. */
static hilo_status custom_shape(struct hlo_writer *w, ir_op op, struct str *out) {
    uint32_t n = ir_op_get(w->m, op)->nresults;
    ir_attr layouts = ir_prop(w->m, op, IR_CUSTOM_CALL_result_layouts);
    struct strbuf *text = &w->scope->text;
    size_t before = text->n;
    if (ir_attr_get(w->m, layouts)->n != n)
        return hlo_shape_of(w, results(w, op), n, n != 1, out);
    strbuf_puts(text, n == 1 ? "" : "(");
    HILO_TRY(put_laid_out(w, results(w, op), n, layouts));
    strbuf_puts(text, n == 1 ? "" : ")");
    *out = text->failed ? STR("") : join(w, (struct str){text->p + before, text->n - before}, STR(""), STR(""));
    text->n = before;
    return HILO_OK;
}

/* `{{0}: (1, {})}` */
static void put_aliases(struct hlo_writer *w, ir_attr aliases) {
    const struct ir_attr_data *d = ir_attr_get(w->m, aliases);
    struct strbuf *text = &w->scope->text;
    strbuf_puts(text, ", output_to_operand_aliasing={");
    for (uint32_t i = 0; i < d->n; i++) {
        size_t n;
        const int64_t *v = ir_field_dims(w->m, d->items[i], IR_OUTPUT_OPERAND_ALIAS_output_tuple_indices_F, &n);
        strbuf_puts(text, i ? ", " : "");
        hlo_put_i64s(v, n, text);
        strbuf_printf(text, ": (%lld, ", (long long)ir_field_i64(w->m, d->items[i], IR_OUTPUT_OPERAND_ALIAS_operand_index_F));
        v = ir_field_dims(w->m, d->items[i], IR_OUTPUT_OPERAND_ALIAS_operand_tuple_indices_F, &n);
        hlo_put_i64s(v, n, text);
        strbuf_putc(text, ')');
    }
    strbuf_putc(text, '}');
}

static const char *api_version(int64_t v) {
    switch (v) {
    case 2: return "API_VERSION_STATUS_RETURNING";
    case 3: return "API_VERSION_STATUS_RETURNING_UNIFIED";
    case 4: return "API_VERSION_TYPED_FFI";
    default: return NULL;
    }
}

static hilo_status write_custom_call(struct hlo_writer *w, ir_op op) {
    const struct ir_op_data *o = ir_op_get(w->m, op);
    const struct ir_attr_data *called = ir_attr_get(w->m, ir_prop(w->m, op, IR_CUSTOM_CALL_called_computations));
    ir_attr config = ir_prop(w->m, op, IR_CUSTOM_CALL_backend_config);
    ir_attr layouts = ir_prop(w->m, op, IR_CUSTOM_CALL_operand_layouts);
    ir_attr aliases = ir_prop(w->m, op, IR_CUSTOM_CALL_output_operand_aliases);
    struct str *comps = ARENA_ARRAY(&w->arena, struct str, called->n), name, shape;
    struct strbuf *text = &w->scope->text;
    const struct str *operands;
    if (str_starts(ir_prop_str(w->m, op, IR_CUSTOM_CALL_call_target_name), "stablehlo."))
        return hlo_refuse(w, "stands for an op that has no form in HLO");
    if (!IR_NONE(ir_dict_find(w->m, o->attrs, STR("mhlo.backend_config"))))
        return hlo_refuse(w, "has the attribute mhlo.backend_config, which has no form in HLO text");
    for (uint32_t i = 0; i < called->n; i++)
        HILO_TRY(hlo_write_func(w, ir_module_symbol(w->m, ir_attr_as_str(w->m, called->items[i])), &comps[i]));
    HILO_TRY(hlo_names_of(w, o->operands, o->noperands, &operands));
    HILO_TRY(custom_shape(w, op, &shape));
    name = hlo_line(w, "custom-call", o->nresults == 1 ? ir_result(w->m, op, 0) : (ir_val){0}, shape, operands, o->noperands);
    strbuf_puts(text, ", custom_call_target=");
    hlo_put_string(ir_prop_str(w->m, op, IR_CUSTOM_CALL_call_target_name), text);
    if (ir_prop_i64(w->m, op, IR_CUSTOM_CALL_has_side_effect))
        strbuf_puts(text, ", custom_call_has_side_effect=true");
    if (called->n)
        HILO_TRY(put_computations(w, comps, called->n));
    if (ir_attr_get(w->m, layouts)->n) {
        strbuf_puts(text, ", operand_layout_constraints={");
        HILO_TRY(put_laid_out(w, o->operands, o->noperands, layouts));
        strbuf_putc(text, '}');
    }
    if (ir_attr_get(w->m, aliases)->n)
        put_aliases(w, aliases);
    const char *version = api_version(ir_prop_i64(w->m, op, IR_CUSTOM_CALL_api_version));
    if (version)
        strbuf_printf(text, ", api_version=%s", version);
    if (!IR_NONE(config)) {
        strbuf_puts(text, ", backend_config=");
        if (ir_attr_get(w->m, config)->kind == IR_ATTR_STRING)
            hlo_put_string(ir_attr_as_str(w->m, config), text);
        else
            ir_print_attr(w->m, config, text);
    }
    end_line(w, op);
    return parts_of(w, op, name);
}

/* ---- ops with another form ------------------------------------------------------------------- */

/* New dimensions come first. */
static hilo_status write_broadcast(struct hlo_writer *w, ir_op op) {
    const struct str *operand;
    struct str name;
    size_t before;
    ir_prop_i64s(w->m, op, IR_BROADCAST_broadcast_sizes, &before);
    HILO_TRY(hlo_names_of(w, ir_op_get(w->m, op)->operands, 1, &operand));
    HILO_TRY(line_of(w, op, "broadcast", operand, 1, &name));
    strbuf_puts(&w->scope->text, ", dimensions={");
    for (uint32_t i = 0; i < ir_val_type(w->m, ir_operand(w->m, op, 0))->rank; i++)
        strbuf_printf(&w->scope->text, i ? ",%zu" : "%zu", before + i);
    strbuf_putc(&w->scope->text, '}');
    end_line(w, op);
    return HILO_OK;
}

static hilo_status write_dot(struct hlo_writer *w, ir_op op) {
    const struct str *operands;
    struct str name;
    HILO_TRY(hlo_names_of(w, ir_op_get(w->m, op)->operands, 2, &operands));
    HILO_TRY(line_of(w, op, "dot", operands, 2, &name));
    strbuf_printf(&w->scope->text, ", lhs_contracting_dims={%u}, rhs_contracting_dims={0}",
                  ir_val_type(w->m, ir_operand(w->m, op, 0))->rank - 1);
    end_line(w, op);
    return HILO_OK;
}

/* The sizes are scalars of s32. */
static hilo_status write_dynamic_reshape(struct hlo_writer *w, ir_op op) {
    const struct ir_op_data *o = ir_op_get(w->m, op);
    const struct ir_type_data *sizes = ir_val_type(w->m, o->operands[1]);
    const struct str *given;
    struct str name, elem = sizes->dtype == IR_I64_T ? STR("s64") : STR("s32");
    if (sizes->rank != 1 || (sizes->dtype != IR_I32_T && sizes->dtype != IR_I64_T))
        return hlo_refuse(w, "has sizes of a type that HLO does not have");
    const struct ir_type_data *t = ir_val_type(w->m, ir_result(w->m, op, 0));
    for (uint32_t i = 0; i < t->rank; i++)
        if (t->dims[i] == IR_DYNAMIC && (!t->bounds || t->bounds[i] == IR_DYNAMIC))
            return hlo_refuse(w, "has a result without bounds, which HLO does not have");
    HILO_TRY(hlo_names_of(w, o->operands, 2, &given));
    struct str *operands = ARENA_ARRAY(&w->arena, struct str, (size_t)sizes->dims[0] + 1);
    operands[0] = given[0];
    for (int64_t i = 0; i < sizes->dims[0]; i++) {
        name = hlo_line(w, "slice", (ir_val){0}, hlo_text(w, "%.*s[1]{0}", (int)elem.n, elem.p), &given[1], 1);
        strbuf_printf(&w->scope->text, ", slice={[%lld:%lld]}\n", (long long)i, (long long)i + 1);
        name = hlo_line(w, "reshape", (ir_val){0}, hlo_text(w, "%.*s[]", (int)elem.n, elem.p), &name, 1);
        hlo_end_line(w);
        if (sizes->dtype != IR_I32_T) {
            name = hlo_line(w, "convert", (ir_val){0}, STR("s32[]"), &name, 1);
            hlo_end_line(w);
        }
        operands[i + 1] = name;
    }
    HILO_TRY(line_of(w, op, "dynamic-reshape", operands, (uint32_t)sizes->dims[0] + 1, &name));
    end_line(w, op);
    return HILO_OK;
}

/* One dimension is divided and joined again. */
static hilo_status write_all_to_all(struct hlo_writer *w, ir_op op) {
    if (ir_prop_i64(w->m, op, IR_ALL_TO_ALL_split_dimension) != ir_prop_i64(w->m, op, IR_ALL_TO_ALL_concat_dimension) ||
        ir_op_get(w->m, op)->noperands != 1)
        return hlo_refuse(w, "joins another dimension than it divides, which HLO does not");
    return write_first(w, op, 1);
}

/* ---- tokens ---------------------------------------------------------------------------------- */

static hilo_status write_after_all(struct hlo_writer *w, ir_op op) {
    const struct ir_op_data *o = ir_op_get(w->m, op);
    const struct str *operands;
    struct str name;
    HILO_TRY(hlo_names_of(w, o->operands, o->noperands, &operands));
    HILO_TRY(line_of(w, op, "after-all", operands, o->noperands, &name));
    end_line(w, op);
    return HILO_OK;
}

/* ((data), token) */
static hilo_status write_infeed(struct hlo_writer *w, ir_op op) {
    const struct ir_op_data *o = ir_op_get(w->m, op);
    ir_val *v = results(w, op);
    uint32_t n = o->nresults - 1;
    const struct str *operand;
    struct str shape;
    HILO_TRY(hlo_names_of(w, o->operands, 1, &operand));
    HILO_TRY(hlo_shape_of(w, v, n, true, &shape));
    struct str both = join(w, STR("("), shape, STR(", token[])"));
    struct str name = hlo_line(w, "infeed", (ir_val){0}, both, operand, 1);
    HILO_TRY(hlo_put_attrs(w, op));
    end_line(w, op);
    struct str data = hlo_line(w, "get-tuple-element", (ir_val){0}, shape, &name, 1);
    strbuf_puts(&w->scope->text, ", index=0\n");
    for (uint32_t i = 0; i < n; i++)
        HILO_TRY(hlo_write_part(w, data, i, v[i]));
    return hlo_write_part(w, name, 1, v[n]);
}

static hilo_status write_outfeed(struct hlo_writer *w, ir_op op) {
    const struct ir_op_data *o = ir_op_get(w->m, op);
    struct str operands[2], name;
    const struct str *token;
    HILO_TRY(hlo_write_tuple(w, o->operands, o->noperands - 1, &operands[0]));
    HILO_TRY(hlo_names_of(w, o->operands + o->noperands - 1, 1, &token));
    operands[1] = *token;
    HILO_TRY(line_of(w, op, "outfeed", operands, 2, &name));
    strbuf_puts(&w->scope->text, ", outfeed_shape=(");
    for (uint32_t i = 0; i + 1 < o->noperands; i++) {
        strbuf_puts(&w->scope->text, i ? ", " : "");
        HILO_TRY(hlo_put_shape(w, ir_val_get(w->m, o->operands[i])->type, &w->scope->text));
    }
    strbuf_putc(&w->scope->text, ')');
    HILO_TRY(hlo_put_attrs(w, op));
    end_line(w, op);
    return HILO_OK;
}

/* `, channel_id=1, is_host_transfer=true` */
static void put_transfer(struct hlo_writer *w, ir_attr channel, bool host) {
    strbuf_printf(&w->scope->text, ", channel_id=%lld%s\n",
                  (long long)ir_field_i64(w->m, channel, IR_CHANNEL_HANDLE_handle_F), host ? ", is_host_transfer=true" : "");
}

/* An operation of two instructions: (data, context, token), then what is left of it. */
static hilo_status write_transfer(struct hlo_writer *w, ir_op op, bool sends) {
    const struct ir_op_data *o = ir_op_get(w->m, op);
    uint32_t n = sends ? o->noperands : o->nresults;
    ir_attr channel = ir_prop(w->m, op, sends ? IR_SEND_channel_handle : IR_RECV_channel_handle);
    bool host = ir_prop_i64(w->m, op, sends ? IR_SEND_is_host_transfer : IR_RECV_is_host_transfer);
    const struct str *operands;
    struct str begun, shape, name;
    if (n != 2)
        return hlo_refuse(w, "transfers other than one array, which HLO does not");
    HILO_TRY(hlo_names_of(w, o->operands, o->noperands, &operands));
    HILO_TRY(hlo_shape_of(w, sends ? o->operands : results(w, op), 1, false, &shape));
    shape = join(w, STR("("), shape, STR(", u32[], token[])"));
    begun = hlo_line(w, sends ? "send" : "recv", (ir_val){0}, shape, operands, o->noperands);
    put_transfer(w, channel, host);
    if (sends) {
        HILO_TRY(line_of(w, op, "send-done", &begun, 1, &name));
        put_transfer(w, channel, host);
        return HILO_OK;
    }
    HILO_TRY(line_of(w, op, "recv-done", &begun, 1, &name));
    put_transfer(w, channel, host);
    return parts_of(w, op, name);
}

static hilo_status write_send(struct hlo_writer *w, ir_op op) {
    return write_transfer(w, op, true);
}

static hilo_status write_recv(struct hlo_writer *w, ir_op op) {
    return write_transfer(w, op, false);
}

/* ---- dispatch -------------------------------------------------------------------------------- */

/* Nothing is added to a scalar, which HLO text has no form for. */
static hilo_status write_pad(struct hlo_writer *w, ir_op op) {
    return ir_val_type(w->m, ir_result(w->m, op, 0))->rank ? write_plain(w, op) : write_forward(w, op);
}

/* The shape is the result's. */
static hilo_status write_rng(struct hlo_writer *w, ir_op op) {
    return write_first(w, op, 2);
}

static hilo_status write_tuple(struct hlo_writer *w, ir_op op) {
    const struct ir_op_data *o = ir_op_get(w->m, op);
    struct str name;
    HILO_TRY(hlo_write_tuple(w, o->operands, o->noperands, &name));
    return hlo_write_results(w, op, name);
}

static hilo_status write_get_tuple_element(struct hlo_writer *w, ir_op op) {
    const struct str *name;
    HILO_TRY(hlo_names_of(w, ir_op_get(w->m, op)->operands, 1, &name));
    return hlo_write_part(w, *name, (uint32_t)ir_prop_i64(w->m, op, IR_GET_TUPLE_ELEMENT_index), ir_result(w->m, op, 0));
}

hilo_status hlo_write_op(struct hlo_writer *w, ir_op op) {
    static hilo_status (*const writers[IR_OP_COUNT])(struct hlo_writer *, ir_op) = {
#define HLO_WRITE(id, how) [IR_##id] = write_##how,
#include "read/hlo/hlo.def"
    };
    enum ir_op_kind kind = ir_kind(w->m, op);
    w->op = op;
    return (writers[kind] ? writers[kind] : write_plain)(w, op);
}
