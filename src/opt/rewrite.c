/* Replacing, cloning and building: see rewrite.h. */
#include "opt/rewrite.h"

/* ---- values ---------------------------------------------------------------------------------- */

ir_val opt_map_get(const struct opt_map *map, ir_val v) {
    for (uint32_t to; (to = opt_ids_get(&map->to, v.i)) != 0 && to != v.i;)
        v.i = to;
    return v;
}

void opt_update(const struct opt_map *map, ir_op op) {
    const struct ir_op_data *x = ir_op_get(map->o->m, op);
    for (uint32_t i = 0; i < x->noperands; i++) {
        ir_val v = opt_map_get(map, x->operands[i]);
        if (!IR_SAME(v, x->operands[i]))
            ir_set_operand(map->o->m, op, i, v);
    }
}

void opt_update_all(const struct opt_map *map, ir_op op) {
    const struct ir_module *m = map->o->m;
    opt_update(map, op);
    for (uint32_t i = 0; i < ir_op_get(m, op)->nregions; i++)
        for (ir_block b = ir_region_get(m, ir_op_region(m, op, i))->first; !IR_NONE(b); b = ir_block_get(m, b)->next)
            for (ir_op in = ir_block_get(m, b)->first; !IR_NONE(in); in = ir_op_get(m, in)->next)
                opt_update_all(map, in);
}

void opt_replace(struct opt_map *map, ir_op op, const ir_val *values) {
    for (uint32_t i = 0; i < ir_op_get(map->o->m, op)->nresults; i++)
        opt_map_set(map, ir_result(map->o->m, op, i), opt_map_get(map, values[i]));
    ir_unlink(map->o->m, op);
}

/* ---- ops ------------------------------------------------------------------------------------- */

ir_op opt_remake(struct opt *o, ir_op op, const ir_val *operands, uint32_t noperands, const ir_type *results,
                 uint32_t nresults) {
    struct ir_module *m = o->m;
    const struct ir_op_data *x = ir_op_get(m, op);
    enum ir_op_kind kind = (enum ir_op_kind)x->kind;
    const struct ir_op_info *info = ir_op_info(kind);
    ir_op copy = ir_op_new(m, kind, operands, noperands, results, nresults, x->nregions);
    for (uint32_t i = 0; i < info->nslots; i++)
        ir_set_prop(m, copy, (enum ir_slot)(info->first_slot + i), x->props[i]);
    ir_set_attrs(m, copy, x->attrs);
    ir_set_name(m, copy, x->name);
    ir_set_loc(m, copy, x->loc, x->line, x->col);
    return copy;
}

void opt_clone_region(struct opt_map *map, ir_region from, ir_region to) {
    struct ir_module *m = map->o->m;
    for (ir_block b = ir_region_get(m, from)->first; !IR_NONE(b); b = ir_block_get(m, b)->next) {
        const struct ir_block_data *bd = ir_block_get(m, b);
        ir_block block = ir_block_new(m, to);
        for (uint32_t i = 0; i < bd->nargs; i++) {
            ir_val arg = ir_block_add_arg(m, block, ir_val_get(m, bd->args[i])->type);
            ir_set_val_loc(m, arg, ir_val_get(m, bd->args[i])->loc);
            opt_map_set(map, bd->args[i], arg);
        }
        for (ir_op op = bd->first; !IR_NONE(op); op = ir_op_get(m, op)->next)
            ir_append(m, block, opt_clone(map, op));
    }
}

ir_op opt_clone(struct opt_map *map, ir_op op) {
    struct ir_module *m = map->o->m;
    const struct ir_op_data *x = ir_op_get(m, op);
    ir_type *types = ARENA_ARRAY(&map->o->scratch, ir_type, x->nresults);
    for (uint32_t i = 0; i < x->nresults; i++)
        types[i] = ir_val_get(m, ir_result(m, op, i))->type;
    ir_op copy = opt_remake(map->o, op, x->operands, x->noperands, types, x->nresults);
    opt_update(map, copy);
    for (uint32_t i = 0; i < x->nresults; i++)
        opt_map_set(map, ir_result(m, op, i), ir_result(m, copy, i));
    for (uint32_t i = 0; i < x->nregions; i++)
        opt_clone_region(map, ir_op_region(m, op, i), ir_op_region(m, copy, i));
    return copy;
}

void opt_splice(struct opt *o, ir_block from, ir_op at) {
    ir_op next;
    for (ir_op op = ir_block_get(o->m, from)->first; !IR_NONE(op); op = next) {
        next = ir_op_get(o->m, op)->next;
        if (IR_NONE(next))
            return; /* the terminator */
        ir_unlink(o->m, op);
        ir_insert_before(o->m, at, op);
    }
}
