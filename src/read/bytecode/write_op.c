/* Ops, regions and values of a portable artifact. */
#include "read/bytecode/write.h"

#include <stdio.h>

enum { MASK_ATTRS = 0x01, MASK_RESULTS = 0x02, MASK_OPERANDS = 0x04, MASK_REGIONS = 0x10, MASK_RECORD = 0x40 };

static hilo_status write_op(struct bc_writer *w, ir_op op, uint32_t first, struct bc_bytes *to);

/* ---- which op -------------------------------------------------------------------------------- */

/* The newest version of an op that the target has. */
static hilo_status op_version(struct bc_writer *w, enum ir_op_kind kind, int *k) {
    int since = bc_vhlo_since(kind, 1);
    bool is_func = kind == IR_FUNC || kind == IR_CALL || kind == IR_FUNC_RETURN;
    if (!is_func && !str_starts(str_of(ir_op_info(kind)->name), "stablehlo."))
        return bc_refuse(w, "has no form in a portable artifact");
    HILO_TRY(bc_check_since(w, since, NULL));
    for (*k = 1; bc_vhlo_since(kind, *k + 1) && bc_vhlo_since(kind, *k + 1) <= w->target;)
        ++*k;
    return HILO_OK;
}

static uint32_t op_name(struct bc_writer *w, uint32_t dialect, const char *name) {
    uint32_t s = bc_string_index(w, str_of(name));
    for (uint32_t i = 0; i < w->op_names.n; i++)
        if (w->op_names.v[i].dialect == dialect && w->op_names.v[i].name == s)
            return i;
    ARENA_PUSH(&w->arena, &w->op_names, ((__typeof__(*w->op_names.v)){dialect, s}));
    return w->op_names.n - 1;
}

static uint32_t vhlo_name(struct bc_writer *w, enum ir_op_kind kind, int k) {
    char name[64];
    const char *full = ir_op_info(kind)->name;
    snprintf(name, sizeof name, "%s_v%d", strchr(full, '.') + 1, k);
    return op_name(w, bc_dialect_index(w, "vhlo"), name);
}

/* ---- attributes ------------------------------------------------------------------------------ */

static bool schema_has(const struct bc_schema *s, uint32_t slot, uint32_t field) {
    for (uint32_t i = 0; i < s->n; i++)
        if (s->v[i].slot == slot && (field == IR_FIELD_NONE || s->v[i].field == field))
            return true;
    return false;
}

/* What an op has beyond what its version can express. */
static hilo_status check_version(struct bc_writer *w, ir_op op, int k, const struct bc_schema *s) {
    enum ir_op_kind kind = ir_kind(w->m, op);
    const struct ir_op_info *info = ir_op_info(kind);
    const struct ir_op_data *o = ir_op_get(w->m, op);
    for (uint32_t i = 0; i < info->nslots; i++) {
        uint32_t slot = info->first_slot + i;
        const struct ir_attr_data *d = ir_attr_get(w->m, o->props[i]);
        if (d->kind == IR_ATTR_NONE)
            continue;
        if (!schema_has(s, slot, IR_FIELD_NONE))
            return bc_check_since(w, bc_vhlo_since(kind, k + 1), ir_slot_get(slot)->name);
        if (ir_slot_get(slot)->form != IR_AF_STRUCT || !bc_is_spread((enum ir_struct)ir_slot_get(slot)->of))
            continue;
        for (uint32_t f = 0; f < d->n; f++) {
            uint32_t field = ir_struct_get((enum ir_struct)d->sub)->first_field + f;
            if (!IR_NONE(d->items[f]) && field != IR_CHANNEL_HANDLE_type_F && !schema_has(s, slot, field))
                return bc_check_since(w, bc_vhlo_since(kind, k + 1), ir_field_get(field)->name);
        }
    }
    bool one = kind == IR_ALL_GATHER || kind == IR_ALL_REDUCE || kind == IR_ALL_TO_ALL;
    if (k == 1 && ((one && o->noperands != 1) || (kind == IR_COMPOSITE && o->nregions)))
        return bc_check_since(w, bc_vhlo_since(kind, 2), one ? "more than one operand" : "a region");
    return HILO_OK;
}

/* The index of the record; false when an op without attributes has none. */
static hilo_status write_record(struct bc_writer *w, ir_op op, int k, bool *there, uint32_t *out) {
    struct bc_schema s;
    struct bc_bytes b = {NULL, 0, 0};
    bc_schema_vhlo(ir_kind(w->m, op), k, &s);
    HILO_TRY(check_version(w, op, k, &s));
    for (uint32_t i = 0; i < s.n; i++) {
        uint32_t index;
        if (s.v[i].slot == IR_SLOT_NONE) /* a version before the oldest target */
            return bc_refuse(w, "attribute '%s' cannot be written", s.v[i].name);
        HILO_TRY(bc_write_stored(w, op, &s.v[i], &index));
        bc_put_vi(w, &b, index);
    }
    *there = s.n != 0;
    if (*there)
        *out = bc_item(w, &w->records, (struct bc_item){.head = {(const char *)b.v, b.n}});
    return HILO_OK;
}

/* ---- regions --------------------------------------------------------------------------------- */

static void number_value(struct bc_writer *w, ir_val v, uint32_t number) {
    *bc_map(w, &w->value_of.v, &w->value_of.cap, v.i) = number;
}

/* Values of the region itself, not of those inside. */
static uint32_t count_values(const struct ir_module *m, ir_block b) {
    uint32_t n = ir_block_get(m, b)->nargs;
    for (ir_op op = ir_block_get(m, b)->first; !IR_NONE(op); op = ir_op_get(m, op)->next)
        n += ir_op_get(m, op)->nresults;
    return n;
}

static hilo_status write_args(struct bc_writer *w, const struct ir_block_data *b, uint32_t first, struct bc_bytes *to) {
    bc_put_vi(w, to, b->nargs);
    for (uint32_t i = 0; i < b->nargs; i++) {
        const struct ir_val_data *v = ir_val_get(w->m, b->args[i]);
        uint32_t type, loc;
        HILO_TRY(bc_write_type(w, v->type, BC_VHLO, &type));
        bc_put_flagged(w, to, type, !IR_NONE(v->loc));
        if (!IR_NONE(v->loc)) {
            HILO_TRY(bc_write_location(w, v->loc, &loc));
            bc_put_vi(w, to, loc);
        }
        number_value(w, b->args[i], first + i);
    }
    bc_put_byte(w, to, 0); /* no orders of uses */
    return HILO_OK;
}

/* A region whose values have numbers from `first` on. */
static hilo_status write_region(struct bc_writer *w, ir_region region, uint32_t first, struct bc_bytes *to) {
    ir_block block = ir_region_get(w->m, region)->first;
    const struct ir_block_data *b = ir_block_get(w->m, block);
    if (IR_NONE(block)) {
        bc_put_vi(w, to, 0);
        return HILO_OK;
    }
    uint32_t values = count_values(w->m, block), next = first + b->nargs, ops = 0;
    bc_put_vi(w, to, 1);
    bc_put_vi(w, to, values);
    for (ir_op op = b->first; !IR_NONE(op); op = ir_op_get(w->m, op)->next) {
        for (uint32_t i = 0; i < ir_op_get(w->m, op)->nresults; i++)
            number_value(w, ir_result(w->m, op, i), next++);
        ops++;
    }
    bc_put_flagged(w, to, ops, b->nargs != 0);
    if (b->nargs)
        HILO_TRY(write_args(w, b, first, to));
    for (ir_op op = b->first; !IR_NONE(op); op = ir_op_get(w->m, op)->next)
        HILO_TRY(write_op(w, op, first + values, to));
    return HILO_OK;
}

/* Functions and modules are isolated: in a section of their own, their values from 0 on. */
static hilo_status write_regions(struct bc_writer *w, ir_op op, uint32_t first, struct bc_bytes *to) {
    enum { SECTION_IR = 4 };
    const struct ir_op_data *o = ir_op_get(w->m, op);
    bool isolated = o->kind == IR_FUNC || o->kind == IR_MODULE;
    struct bc_bytes inside = {NULL, 0, 0}, *into = isolated ? &inside : to;
    bc_put_flagged(w, to, o->nregions, isolated);
    for (uint32_t i = 0; i < o->nregions; i++)
        HILO_TRY(write_region(w, ir_op_region(w->m, op, i), isolated ? 0 : first, into));
    if (isolated) {
        bc_put_byte(w, to, SECTION_IR);
        bc_put_vi(w, to, inside.n);
        bc_put_bytes(w, to, (struct str){(const char *)inside.v, inside.n});
    }
    return HILO_OK;
}

/* ---- ops ------------------------------------------------------------------------------------- */

static hilo_status module_record(struct bc_writer *w, ir_op op, uint32_t *out) {
    static const enum ir_slot slots[] = {IR_MODULE_sym_name, IR_MODULE_sym_visibility};
    struct bc_bytes b = {NULL, 0, 0};
    for (size_t i = 0; i < sizeof slots / sizeof *slots; i++) {
        ir_attr a = ir_prop(w->m, op, slots[i]);
        uint32_t index = 0;
        if (!IR_NONE(a))
            HILO_TRY(bc_write_attr(w, a, BC_BUILTIN, &index));
        bc_put_flagged(w, &b, index, !IR_NONE(a));
    }
    *out = bc_item(w, &w->records, (struct bc_item){.head = {(const char *)b.v, b.n}});
    return HILO_OK;
}

static hilo_status put_results(struct bc_writer *w, ir_op op, struct bc_bytes *to) {
    const struct ir_op_data *o = ir_op_get(w->m, op);
    bc_put_vi(w, to, o->nresults);
    for (uint32_t i = 0; i < o->nresults; i++) {
        uint32_t type;
        HILO_TRY(bc_write_type(w, ir_val_get(w->m, ir_result(w->m, op, i))->type, BC_VHLO, &type));
        bc_put_vi(w, to, type);
    }
    return HILO_OK;
}

/* An op in a region; regions inside it number their values from `first` on. */
static hilo_status write_op(struct bc_writer *w, ir_op op, uint32_t first, struct bc_bytes *to) {
    const struct ir_op_data *o = ir_op_get(w->m, op);
    enum ir_op_kind kind = ir_kind(w->m, op);
    const struct ir_attr_data *others = ir_attr_get(w->m, o->attrs);
    uint32_t name, loc, dict = 0, record = 0;
    bool has_record = true, is_module = kind == IR_MODULE;
    int k = 0;
    w->op = op;
    if (is_module) {
        name = op_name(w, bc_dialect_index(w, "builtin"), "module");
        HILO_TRY(module_record(w, op, &record));
    } else {
        HILO_TRY(op_version(w, kind, &k));
        name = vhlo_name(w, kind, k);
        HILO_TRY(write_record(w, op, k, &has_record, &record));
    }
    HILO_TRY(bc_write_location(w, o->loc, &loc));
    if (others->n)
        HILO_TRY(bc_write_dict(w, o->attrs, is_module ? BC_BUILTIN : BC_VHLO, &dict));
    bc_put_vi(w, to, name);
    bc_put_byte(w, to, (uint8_t)((others->n ? MASK_ATTRS : 0) | (has_record ? MASK_RECORD : 0) |
                                 (o->nresults ? MASK_RESULTS : 0) | (o->noperands ? MASK_OPERANDS : 0) |
                                 (o->nregions ? MASK_REGIONS : 0)));
    bc_put_vi(w, to, loc);
    if (others->n)
        bc_put_vi(w, to, dict);
    if (has_record)
        bc_put_vi(w, to, record);
    if (o->nresults)
        HILO_TRY(put_results(w, op, to));
    if (o->noperands) {
        bc_put_vi(w, to, o->noperands);
        for (uint32_t i = 0; i < o->noperands; i++)
            bc_put_vi(w, to, *bc_map(w, &w->value_of.v, &w->value_of.cap, o->operands[i].i));
    }
    return o->nregions ? write_regions(w, op, first, to) : HILO_OK;
}

hilo_status bc_write_module(struct bc_writer *w, struct bc_bytes *to) {
    bc_put_flagged(w, to, 1, /*arguments=*/false);
    return write_op(w, w->m->root, 0, to);
}
