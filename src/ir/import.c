/* Ops of another module, with the types, attributes and strings that they refer to, which each module has for itself. */
#include "ir/ir.h"
#include "ir/store.h"

struct import {
    struct ir_module *m;
    const struct ir_module *from;
    ir_val *to;                 /* by value of `from` */
    struct arena *scratch;
};

static ir_str import_str(struct import *c, ir_str s) {
    return IR_NONE(s) ? s : ir_str_of(c->m, ir_str_get(c->from, s));
}

static ir_type import_type(struct import *c, ir_type type);
static ir_attr import_attr(struct import *c, ir_attr a);

static const ir_type *import_types(struct import *c, const ir_type *types, uint32_t n) {
    ir_type *out = ARENA_ARRAY(c->scratch, ir_type, n + 1);
    for (uint32_t i = 0; i < n; i++)
        out[i] = import_type(c, types[i]);
    return out;
}

static const ir_attr *import_attrs(struct import *c, const ir_attr *items, uint32_t n) {
    ir_attr *out = ARENA_ARRAY(c->scratch, ir_attr, n + 1);
    for (uint32_t i = 0; i < n; i++)
        out[i] = import_attr(c, items[i]);
    return out;
}

static ir_type import_type(struct import *c, ir_type type) {
    const struct ir_type_data *t = ir_type_get(c->from, type);
    switch (t->kind) {
    case IR_TYPE_NONE: return (ir_type){0};
    case IR_TYPE_SCALAR: return ir_type_scalar(c->m, t->dtype);
    case IR_TYPE_QUANT: return ir_type_quant(c->m, t->quant);
    case IR_TYPE_TENSOR:
        if (t->bounds)
            return ir_type_bounded(c->m, import_type(c, t->elem), t->dims, t->bounds, t->rank);
        return ir_type_tensor(c->m, import_type(c, t->elem), t->dims, t->rank, import_attr(c, t->encoding));
    case IR_TYPE_UNRANKED:
    case IR_TYPE_MEMREF:
    case IR_TYPE_VECTOR:
        return ir_type_shaped(c->m, t->kind, import_type(c, t->elem), t->dims, t->rank, import_attr(c, t->encoding));
    case IR_TYPE_TUPLE:
    case IR_TYPE_FUTURE: return ir_type_group(c->m, t->kind, import_types(c, t->types, t->ntypes), t->ntypes);
    case IR_TYPE_TOKEN: return ir_type_simple(c->m, t->kind);
    case IR_TYPE_FUNCTION: {
        const ir_type *types = import_types(c, t->types, t->ntypes);
        return ir_type_function(c->m, types, t->ninputs, types + t->ninputs, t->ntypes - t->ninputs);
    }
    case IR_TYPE_OPAQUE: return ir_type_opaque(c->m, ir_str_get(c->from, t->text));
    }
    return (ir_type){0};
}

/* Large data moves to memory of the module's. */
static ir_attr import_dense(struct import *c, const struct ir_attr_data *a) {
    const void *data = a->data; /* is copied */
    if (a->nbytes > IR_BLOB_BYTES)
        data = memcpy(ir_blob_new(c->m, a->nbytes), a->data, a->nbytes);
    return ir_attr_dense(c->m, import_type(c, a->type), data, a->nbytes, a->splat, false);
}

static ir_attr import_attr(struct import *c, ir_attr attr) {
    if (IR_NONE(attr))
        return attr;
    const struct ir_attr_data *a = ir_attr_get(c->from, attr);
    if (a->kind == IR_ATTR_DENSE || (a->kind == IR_ATTR_RESOURCE && a->data))
        return import_dense(c, a);
    if (a->kind == IR_ATTR_RESOURCE)
        return ir_attr_resource(c->m, import_type(c, a->type), ir_str_get(c->from, a->str));
    struct ir_attr_data key = *a;
    key.type = import_type(c, a->type);
    key.str = import_str(c, a->str);
    if (a->items)
        key.items = import_attrs(c, a->items, a->n);
    if (a->names) {
        ir_str *names = ARENA_ARRAY(c->scratch, ir_str, a->n + 1);
        for (uint32_t i = 0; i < a->n; i++)
            names[i] = import_str(c, a->names[i]);
        key.names = names;
    }
    return ir_attr_intern(c->m, &key);
}

static ir_op import_op(struct import *c, ir_op op);

static void import_region(struct import *c, ir_region from, ir_region to) {
    for (ir_block b = ir_region_get(c->from, from)->first; !IR_NONE(b); b = ir_block_get(c->from, b)->next) {
        const struct ir_block_data *x = ir_block_get(c->from, b);
        ir_block block = ir_block_new(c->m, to);
        for (uint32_t i = 0; i < x->nargs; i++) {
            const struct ir_val_data *arg = ir_val_get(c->from, x->args[i]);
            ir_val v = c->to[x->args[i].i] = ir_block_add_arg(c->m, block, import_type(c, arg->type));
            ir_set_val_loc(c->m, v, import_attr(c, arg->loc));
        }
        for (ir_op op = x->first; !IR_NONE(op); op = ir_op_get(c->from, op)->next)
            ir_append(c->m, block, import_op(c, op));
    }
}

static ir_op import_op(struct import *c, ir_op op) {
    const struct ir_op_data *x = ir_op_get(c->from, op);
    enum ir_op_kind kind = (enum ir_op_kind)x->kind;
    const struct ir_op_info *info = ir_op_info(kind);
    ir_val *operands = ARENA_ARRAY(c->scratch, ir_val, x->noperands + 1);
    ir_type *types = ARENA_ARRAY(c->scratch, ir_type, x->nresults + 1);
    for (uint32_t i = 0; i < x->noperands; i++)
        operands[i] = c->to[x->operands[i].i];
    for (uint32_t i = 0; i < x->nresults; i++)
        types[i] = import_type(c, ir_val_get(c->from, ir_result(c->from, op, i))->type);
    ir_op out = ir_op_new(c->m, kind, operands, x->noperands, types, x->nresults, x->nregions);
    for (uint32_t i = 0; i < info->nslots; i++)
        ir_set_prop(c->m, out, (enum ir_slot)(info->first_slot + i), import_attr(c, x->props[i]));
    ir_set_attrs(c->m, out, import_attr(c, x->attrs));
    ir_set_name(c->m, out, import_str(c, x->name));
    ir_set_loc(c->m, out, import_attr(c, x->loc), 0, 0);
    for (uint32_t i = 0; i < x->nresults; i++)
        c->to[ir_result(c->from, op, i).i] = ir_result(c->m, out, i);
    for (uint32_t i = 0; i < x->nregions; i++)
        import_region(c, ir_op_region(c->from, op, i), ir_op_region(c->m, out, i));
    return out;
}

void ir_import(struct ir_module *m, const struct ir_module *from, ir_block body, const ir_val *args, ir_op at, ir_val *results,
               struct arena *scratch) {
    struct import c = {.m = m, .from = from, .scratch = scratch};
    const struct ir_block_data *b = ir_block_get(from, body);
    ir_op end = ir_terminator(from, body);
    c.to = ARENA_ARRAY(scratch, ir_val, from->t->vals.n + 1);
    for (uint32_t i = 0; i < b->nargs; i++)
        c.to[b->args[i].i] = args[i];
    for (ir_op op = b->first; !IR_SAME(op, end); op = ir_op_get(from, op)->next)
        ir_insert_before(m, at, import_op(&c, op));
    for (uint32_t i = 0; i < ir_op_get(from, end)->noperands; i++)
        results[i] = c.to[ir_operand(from, end, i).i];
}
