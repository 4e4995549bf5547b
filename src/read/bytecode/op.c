/* Ops, regions and values of MLIR bytecode, and what the attributes of VHLO are in StableHLO. */
#include "read/bytecode/bytecode.h"

#include <inttypes.h>

enum bc_mask { /* parts of an op that are there */
    MASK_ATTRS = 0x01, MASK_RESULTS = 0x02, MASK_OPERANDS = 0x04, MASK_SUCCESSORS = 0x08, MASK_REGIONS = 0x10,
    MASK_USES = 0x20, MASK_RECORD = 0x40
};

/* The values of a region that is being read: numbers first, first + 1 … up to first + most; n are defined so far, from `base`
   of the values on. */
struct bc_frame {
    uint64_t first, most;
    uint32_t base, n;
    bool isolated; /* sees no values of the regions around it */
};

struct bc_ir {
    struct { ir_val *v; uint32_t n, cap; } values;
    struct { struct bc_frame *v; uint32_t n, cap; } frames;
    struct { ir_val *v; uint32_t n, cap; } operands; /* of the op that is being read */
};

static hilo_status read_op(struct bc *b, struct bc_cursor *c, ir_block into, enum ir_op_kind parent);

/* ---- values ---------------------------------------------------------------------------------- */

static hilo_status define(struct bc *b, const uint8_t *at, ir_val v) {
    struct bc_frame *f = &b->ir->frames.v[b->ir->frames.n - 1];
    if (f->n == f->most)
        return bc_error(b, at, "more values than the %" PRIu64 " that the region announced", f->most);
    f->n++;
    ARENA_PUSH(&b->m->arena, &b->ir->values, v);
    return HILO_OK;
}

static hilo_status use(struct bc *b, struct bc_cursor *c, ir_val *out) {
    const uint8_t *at = c->at;
    uint64_t number;
    HILO_TRY(bc_vi(b, c, &number));
    for (uint32_t i = b->ir->frames.n; i-- > 0;) {
        const struct bc_frame *f = &b->ir->frames.v[i];
        if (number >= f->first && number - f->first < f->n) {
            *out = b->ir->values.v[f->base + (uint32_t)(number - f->first)];
            return HILO_OK;
        }
        if (f->isolated || number >= f->first)
            break;
    }
    return bc_error(b, at, "expected a value that is defined before, found number %" PRIu64, number);
}

/* ---- what attributes of VHLO are ------------------------------------------------------------- */

/* The elements of a one-dimensional constant as an array; the constant itself where it is none. */
static ir_attr as_list(struct bc *b, ir_attr a, enum ir_dtype t) {
    const struct ir_attr_data *d = ir_attr_get(b->m, a);
    const struct ir_type_data *type = ir_type_get(b->m, d->type);
    size_t count;
    if (d->kind != IR_ATTR_DENSE || type->dtype != t || type->rank != 1 || !ir_type_count(type, &count) ||
        d->nbytes != count * ir_dtype_get(t)->bytes)
        return a;
    return ir_attr_dense_array(b->m, ir_type_scalar(b->m, t), d->data, (uint32_t)count);
}

static ir_attr as_symbol(struct bc *b, ir_attr a) {
    bool is_string = ir_attr_get(b->m, a)->kind == IR_ATTR_STRING;
    return is_string ? ir_attr_symbol(b->m, ir_attr_as_str(b->m, a), NULL, 0) : a;
}

static ir_attr as_symbols(struct bc *b, ir_attr a) {
    const struct ir_attr_data *d = ir_attr_get(b->m, a);
    if (d->kind != IR_ATTR_ARRAY)
        return a;
    ir_attr *items = ARENA_ARRAY(&b->m->arena, ir_attr, d->n);
    for (uint32_t i = 0; i < d->n; i++)
        items[i] = as_symbol(b, d->items[i]);
    return ir_attr_array(b->m, items, d->n);
}

/* An attribute as a slot of this form has it; one that does not fit is left to the verifier. */
static ir_attr as_form(struct bc *b, enum ir_attr_form form, ir_attr a) {
    const struct ir_attr_data *d = ir_attr_get(b->m, a);
    switch (form) {
    case IR_AF_I64S: return as_list(b, a, IR_I64_T);
    case IR_AF_I32S: return as_list(b, a, IR_I32_T);
    case IR_AF_BOOLS: return as_list(b, a, IR_I1_T);
    case IR_AF_SYM: return as_symbol(b, a);
    case IR_AF_SYMS: return as_symbols(b, a);
    case IR_AF_I32:
        return d->kind == IR_ATTR_INT && d->i == (int32_t)d->i ? ir_attr_int(b->m, ir_type_scalar(b->m, IR_I32_T), d->i) : a;
    case IR_AF_UNIT:
        if (d->kind == IR_ATTR_BOOL)
            return d->i ? ir_attr_unit(b->m) : (ir_attr){0};
        return a;
    default: return a;
    }
}

/* A field of a struct that VHLO spreads out; an optional one that is empty or zero is absent. */
static ir_attr as_field(struct bc *b, uint32_t field, ir_attr a) {
    const struct ir_field_info *f = ir_field_get(field);
    if (f->kind == IR_FK_DIMS)
        a = as_list(b, a, IR_I64_T);
    const struct ir_attr_data *d = ir_attr_get(b->m, a);
    bool empty = (d->kind == IR_ATTR_DENSE_ARRAY && d->n == 0) || (d->kind == IR_ATTR_INT && d->i == 0);
    return f->optional && empty ? (ir_attr){0} : a;
}

static bool is_filled(const struct ir_module *m, ir_attr a, int64_t value) {
    const struct ir_attr_data *d = ir_attr_get(m, a);
    if (d->kind != IR_ATTR_DENSE_ARRAY && d->kind != IR_ATTR_DENSE)
        return false;
    size_t size = ir_dtype_get(ir_type_get(m, d->type)->dtype)->bytes;
    for (size_t i = 0; i < d->nbytes; i += size) {
        uint64_t v = 0;
        memcpy(&v, (const char *)d->data + i, size);
        if (v != (uint64_t)value)
            return false;
    }
    return true;
}

static bool is_default_precision(const struct ir_module *m, const struct ir_attr_data *d) {
    for (uint32_t i = 0; i < d->n; i++) {
        const struct ir_attr_data *e = ir_attr_get(m, d->items[i]);
        if (e->kind != IR_ATTR_ENUM || e->i != IR_PRECISION_DEFAULT)
            return false;
    }
    return true;
}

/* Whether an attribute of VHLO, where all are always there, has the default that its absence means. */
static bool is_default(const struct ir_module *m, uint32_t slot, ir_attr a) {
    const struct ir_slot_info *s = ir_slot_get(slot);
    const struct ir_attr_data *d = ir_attr_get(m, a);
    int64_t fill;
    if (s->flags & IR_REQ)
        return false;
    if (bc_fill(slot, &fill))
        return is_filled(m, a, fill);
    switch (d->kind) {
    case IR_ATTR_BOOL:
    case IR_ATTR_INT:
    case IR_ATTR_ENUM: return d->i == s->value;
    case IR_ATTR_STRING: return ir_str_get(m, d->str).n == 0;
    case IR_ATTR_DICT:
    case IR_ATTR_DENSE_ARRAY: return d->n == 0;
    case IR_ATTR_ARRAY: return s->form == IR_AF_ENUMS ? is_default_precision(m, d) : d->n == 0;
    case IR_ATTR_DENSE: return s->form == IR_AF_I64ELEMS && d->nbytes == 0;
    case IR_ATTR_STRUCT: /* the fields are absent then, but for the mode */
        return d->sub == IR_STRUCT_RESULT_ACCURACY && d->n == 4 && IR_NONE(d->items[0]) && IR_NONE(d->items[1]) &&
               IR_NONE(d->items[2]) && ir_attr_get(m, d->items[3])->i == IR_RESULT_ACCURACY_MODE_DEFAULT;
    default: return false;
    }
}

/* ---- attributes of an op --------------------------------------------------------------------- */

/* Structs of which fields were met, by slot. */
struct spread {
    struct { uint32_t slot; ir_attr fields[BC_FIELDS_MOST]; } v[2];
    uint32_t n;
};

static void spread_field(struct bc *b, struct spread *s, const struct bc_stored *at, ir_attr a) {
    uint32_t i = 0;
    while (i < s->n && s->v[i].slot != at->slot)
        i++;
    if (i == s->n) {
        if (s->n == sizeof s->v / sizeof *s->v)
            return; /* no op has more */
        memset(&s->v[s->n], 0, sizeof s->v[0]);
        s->v[s->n++].slot = at->slot;
    }
    const struct ir_struct_info *info = ir_struct_get((enum ir_struct)ir_slot_get(at->slot)->of);
    s->v[i].fields[at->field - info->first_field] = as_field(b, at->field, a);
}

/* Whether an optional struct is there: channels by their number, an algorithm by its types. */
static bool spread_is_there(const struct ir_module *m, uint32_t slot, const ir_attr *fields) {
    const struct ir_attr_data *first = ir_attr_get(m, fields[0]);
    if (ir_slot_get(slot)->flags & IR_REQ)
        return true;
    if (first->kind == IR_ATTR_TYPE)
        return ir_type_get(m, first->type)->kind != IR_TYPE_OPAQUE; /* none */
    return first->i != 0;
}

static void spread_set(struct bc *b, ir_op op, struct spread *s) {
    for (uint32_t i = 0; i < s->n; i++) {
        uint32_t slot = s->v[i].slot;
        enum ir_struct of = (enum ir_struct)ir_slot_get(slot)->of;
        if (!spread_is_there(b->m, slot, s->v[i].fields))
            continue;
        const struct ir_struct_info *info = ir_struct_get(of);
        for (uint32_t f = 0; f < info->nfields; f++) /* the type of a channel, where it is not stored */
            if (IR_NONE(s->v[i].fields[f]) && info->first_field + f == IR_CHANNEL_HANDLE_type_F)
                s->v[i].fields[f] = ir_attr_i64(b->m, 0);
        ir_set_prop(b->m, op, (enum ir_slot)slot, ir_attr_struct(b->m, of, s->v[i].fields));
    }
}

struct named_attrs {
    struct { ir_str *v; uint32_t n, cap; } names;
    struct { ir_attr *v; uint32_t n, cap; } items;
};

static void named_add(struct bc *b, struct named_attrs *to, struct str name, ir_attr a) {
    ARENA_PUSH(&b->m->arena, &to->names, ir_str_of(b->m, name));
    ARENA_PUSH(&b->m->arena, &to->items, a);
}

/* Gives an op one attribute of its record or dictionary; what has no slot is kept separately. */
static void set_attr(struct bc *b, ir_op op, const struct bc_op_name *name, const struct bc_stored *at, ir_attr a,
                     struct spread *spread, struct named_attrs *others) {
    bool is_vhlo = b->dialects.v[name->dialect].id == BC_VHLO;
    if (IR_NONE(a) || at->dropped)
        return;
    if (at->slot == IR_SLOT_NONE) {
        if (!is_vhlo)
            named_add(b, others, str_of(at->name), a);
        return;
    }
    if (at->field != IR_FIELD_NONE) {
        spread_field(b, spread, at, a);
        return;
    }
    a = as_form(b, ir_slot_get(at->slot)->form, a);
    if (!IR_NONE(a) && !(is_vhlo && is_default(b->m, at->slot, a)))
        ir_set_prop(b->m, op, (enum ir_slot)at->slot, a);
}

static const struct bc_stored *schema_find(const struct bc_schema *s, struct str name) {
    for (uint32_t i = 0; s && i < s->n; i++)
        if (str_is(name, s->v[i].name))
            return &s->v[i];
    return NULL;
}

static void set_dict(struct bc *b, ir_op op, const struct bc_op_name *name, ir_attr dict, struct spread *spread,
                     struct named_attrs *others) {
    const struct ir_attr_data *d = ir_attr_get(b->m, dict);
    for (uint32_t i = 0; i < d->n; i++) {
        const struct bc_stored *at = schema_find(name->schema, ir_str_get(b->m, d->names[i]));
        if (at)
            set_attr(b, op, name, at, d->items[i], spread, others);
        else
            named_add(b, others, ir_str_get(b->m, d->names[i]), d->items[i]);
    }
}

/* The attributes of a record in order. VHLO has all; other dialects say which are there, and an older one lacks what is new. */
static hilo_status set_stored(struct bc *b, struct bc_cursor *c, ir_op op, const struct bc_op_name *name,
                              struct spread *spread, struct named_attrs *others) {
    bool is_vhlo = b->dialects.v[name->dialect].id == BC_VHLO;
    struct bc_cursor rest = *c;
    uint32_t n = 0;
    uint64_t x;
    for (; rest.at != rest.end; n++)
        HILO_TRY(bc_vi(b, &rest, &x));
    for (uint32_t i = 0; i < name->schema->n; i++) {
        const struct bc_stored *at = &name->schema->v[i];
        bool optional = !at->dropped && (at->slot == IR_SLOT_NONE || !(ir_slot_get(at->slot)->flags & IR_REQ));
        ir_attr a;
        if (!is_vhlo && n < name->schema->n && at->k > 1)
            continue;
        if (!is_vhlo && optional)
            HILO_TRY(bc_optional_attr(b, c, &a));
        else
            HILO_TRY(bc_attr(b, c, &a));
        set_attr(b, op, name, at, a, spread, others);
    }
    return HILO_OK;
}

static hilo_status set_record(struct bc *b, ir_op op, const struct bc_op_name *name, struct str record, struct spread *spread,
                              struct named_attrs *others) {
    struct bc_cursor c = {(const uint8_t *)record.p, (const uint8_t *)record.p + record.n};
    ir_attr dict;
    if (!name->registered) {
        HILO_TRY(bc_attr_kind(b, &c, IR_ATTR_DICT, "a dictionary", &dict));
        set_dict(b, op, name, dict, spread, others);
    } else if (name->kind == IR_UNREGISTERED) {
        return bc_error(b, c.at, "op '%.*s' is not known, nor how its properties are stored", (int)name->name.n,
                        name->name.p);
    } else {
        HILO_TRY(set_stored(b, &c, op, name, spread, others));
    }
    return c.at == c.end ? HILO_OK : bc_error(b, c.at, "%zu bytes too many in these properties", bc_left(&c));
}

/* One of two lists of layouts is never without the other. */
static void set_layouts(struct bc *b, ir_op op) {
    static const enum ir_slot slots[2] = {IR_CUSTOM_CALL_operand_layouts, IR_CUSTOM_CALL_result_layouts};
    for (int i = 0; i < 2; i++)
        if (IR_NONE(ir_prop(b->m, op, slots[i])) && !IR_NONE(ir_prop(b->m, op, slots[1 - i])))
            ir_set_prop(b->m, op, slots[i], ir_attr_array(b->m, NULL, 0));
}

/* ---- ops ------------------------------------------------------------------------------------- */

/* `name_vk`: k, and the name without it; 0 when there is none. */
static int split_version(struct str *name) {
    int k = 0, unit = 1;
    size_t n = name->n;
    while (n > 0 && name->p[n - 1] >= '0' && name->p[n - 1] <= '9' && unit <= 1000) {
        k += (name->p[--n] - '0') * unit;
        unit *= 10;
    }
    if (unit == 1 || n < 2 || memcmp(name->p + n - 2, "_v", 2) != 0)
        return 0;
    name->n = n - 2;
    return k;
}

static hilo_status resolve(struct bc *b, const uint8_t *at, enum ir_op_kind parent, struct bc_op_name *op) {
    struct str dialect = b->dialects.v[op->dialect].name, name = op->name;
    bool is_vhlo = b->dialects.v[op->dialect].id == BC_VHLO;
    struct bc_schema schema = {.n = 0};
    if (is_vhlo) {
        op->version = split_version(&name);
        op->kind = bc_vhlo_op(b->m, name, op->version, parent);
        if (op->kind == IR_OP_NONE) {
            char what[96] = "op vhlo.";
            strncat(what, op->name.p, op->name.n < 64 ? op->name.n : 64);
            return bc_newer(b, at, what);
        }
        bc_schema_vhlo(op->kind, op->version, &schema);
    } else {
        char *full = arena_alloc(&b->m->arena, dialect.n + name.n + 2, 1);
        memcpy(full, dialect.p, dialect.n);
        full[dialect.n] = '.';
        memcpy(full + dialect.n + 1, name.p, name.n);
        op->kind = ir_op_named(b->m, str_of(full));
        op->cast = str_is(str_of(full), "builtin.unrealized_conversion_cast");
        op->name = str_of(full);
        if (bc_schema_moving(op->name, &schema))
            op->kind = IR_SDY_RESHARD;
        else if (op->kind == IR_OP_NONE)
            op->kind = IR_UNREGISTERED;
        if (op->kind != IR_SDY_RESHARD || !schema.n)
            bc_schema_plain(op->kind, &schema);
    }
    if (!op->schema)
        op->schema = arena_dup(&b->m->arena, &schema, sizeof schema, 8);
    op->resolved = !str_is(name, "return") || !is_vhlo; /* what that returns from differs */
    return HILO_OK;
}

/* Orders of uses, which matter to no program. */
static hilo_status skip_uses(struct bc *b, struct bc_cursor *c, uint32_t values) {
    uint32_t n = 1;
    uint64_t x;
    if (values != 1)
        HILO_TRY(bc_count(b, c, &n));
    while (n-- > 0) {
        uint64_t indices;
        bool pairs;
        if (values != 1)
            HILO_TRY(bc_vi(b, c, &x));
        HILO_TRY(bc_flagged(b, c, &indices, &pairs));
        if (indices > bc_left(c))
            return bc_error(b, c->at, "a count of %" PRIu64 " does not fit into the %zu bytes that are left", indices,
                            bc_left(c));
        while (indices-- > 0)
            HILO_TRY(bc_vi(b, c, &x));
    }
    return HILO_OK;
}

static hilo_status read_block_args(struct bc *b, struct bc_cursor *c, ir_block block) {
    uint32_t n;
    uint8_t uses = 0;
    HILO_TRY(bc_count(b, c, &n));
    for (uint32_t i = 0; i < n; i++) {
        const uint8_t *at = c->at;
        ir_type type;
        ir_attr loc = {0};
        bool has_loc = true;
        if (b->version >= 4)
            HILO_TRY(bc_flagged_type(b, c, &type, &has_loc));
        else
            HILO_TRY(bc_type(b, c, &type));
        if (has_loc)
            HILO_TRY(bc_location(b, c, &loc));
        ir_val v = ir_block_add_arg(b->m, block, type);
        ir_set_val_loc(b->m, v, loc);
        HILO_TRY(define(b, at, v));
    }
    if (b->version >= 3)
        HILO_TRY(bc_byte(b, c, &uses));
    return uses ? skip_uses(b, c, n) : HILO_OK;
}

static hilo_status read_block(struct bc *b, struct bc_cursor *c, ir_block block, enum ir_op_kind parent) {
    uint64_t ops;
    bool has_args;
    HILO_TRY(bc_flagged(b, c, &ops, &has_args));
    if (has_args)
        HILO_TRY(read_block_args(b, c, block));
    while (ops-- > 0)
        HILO_TRY(read_op(b, c, block, parent));
    return HILO_OK;
}

/* A region of one block, or none. Its values are numbered after all that were declared around it, unless it is isolated. */
static hilo_status read_region(struct bc *b, struct bc_cursor *c, ir_region region, enum ir_op_kind parent, bool isolated) {
    const uint8_t *at = c->at;
    uint64_t blocks, values;
    HILO_TRY(bc_vi(b, c, &blocks));
    if (blocks == 0)
        return HILO_OK;
    if (blocks != 1)
        return bc_error(b, at, "expected a region of one block, found %" PRIu64, blocks);
    HILO_TRY(bc_vi(b, c, &values));
    if (values > bc_left(c))
        return bc_error(b, at, "%" PRIu64 " values do not fit into the %zu bytes that are left", values, bc_left(c));
    if (b->ir->frames.n == BC_DEPTH)
        return bc_error(b, at, "regions are nested more than %d deep", (int)BC_DEPTH);
    struct bc_frame f = {.most = values, .base = b->ir->values.n, .isolated = isolated};
    if (!isolated && b->ir->frames.n) {
        const struct bc_frame *outer = &b->ir->frames.v[b->ir->frames.n - 1];
        f.first = outer->first + outer->most;
    }
    ARENA_PUSH(&b->m->arena, &b->ir->frames, f);
    HILO_TRY(read_block(b, c, ir_block_new(b->m, region), parent));
    b->ir->frames.n--;
    b->ir->values.n = f.base;
    return HILO_OK;
}

/* The regions of an op, in a section of their own when they are isolated. */
static hilo_status read_regions(struct bc *b, struct bc_cursor *c, ir_op op, uint32_t n, bool isolated) {
    struct bc_cursor *from = c, inside;
    if (isolated && b->version >= 2) {
        enum { SECTION_IR = 4 };
        const uint8_t *at = c->at;
        uint8_t id;
        HILO_TRY(bc_section(b, c, &id, &inside));
        if (id != SECTION_IR)
            return bc_error(b, at, "expected a section with the regions of an op");
        from = &inside;
    }
    for (uint32_t i = 0; i < n; i++)
        HILO_TRY(read_region(b, from, ir_op_region(b->m, op, i), ir_kind(b->m, op), isolated));
    if (from != c && from->at != from->end)
        return bc_error(b, from->at, "%zu bytes too many in the regions of an op", bc_left(from));
    return HILO_OK;
}

struct op_parts { /* of the op that is being read */
    const uint8_t *at;
    struct bc_op_name *name;
    ir_attr loc, dict;
    struct str record; /* p is NULL when there is none */
    const ir_type *results;
    uint32_t nresults, nregions;
    uint8_t mask;
    bool isolated;
};

/* All up to the regions, which follow when the op is made. */
static hilo_status read_parts(struct bc *b, struct bc_cursor *c, enum ir_op_kind parent, struct op_parts *p) {
    uint32_t i, n;
    uint64_t regions;
    HILO_TRY(bc_index(b, c, b->op_names.n, "op names", &i));
    p->name = &b->op_names.v[i];
    if (!p->name->resolved)
        HILO_TRY(resolve(b, p->at, parent, p->name));
    HILO_TRY(bc_byte(b, c, &p->mask));
    if (p->mask & ~(MASK_ATTRS | MASK_RESULTS | MASK_OPERANDS | MASK_REGIONS | MASK_USES | MASK_RECORD))
        return bc_error(b, c->at - 1, "expected an op without successors, found the mask 0x%02X", (unsigned)p->mask);
    HILO_TRY(bc_location(b, c, &p->loc));
    if (p->mask & MASK_ATTRS)
        HILO_TRY(bc_attr_kind(b, c, IR_ATTR_DICT, "a dictionary", &p->dict));
    if (p->mask & MASK_RECORD) {
        HILO_TRY(bc_index(b, c, b->records.n, "records of properties", &i));
        p->record = b->records.v[i];
    }
    if (p->mask & MASK_RESULTS)
        HILO_TRY(bc_types(b, c, &p->results, &p->nresults));
    b->ir->operands.n = 0;
    if (p->mask & MASK_OPERANDS) {
        HILO_TRY(bc_count(b, c, &n));
        for (; n > 0; n--) {
            ir_val v = {0};
            HILO_TRY(use(b, c, &v));
            ARENA_PUSH(&b->m->arena, &b->ir->operands, v);
        }
    }
    if (p->mask & MASK_USES)
        HILO_TRY(skip_uses(b, c, p->nresults));
    if (p->mask & MASK_REGIONS) {
        const uint8_t *at = c->at;
        HILO_TRY(bc_flagged(b, c, &regions, &p->isolated));
        if (regions > bc_left(c) || regions > UINT16_MAX)
            return bc_error(b, at, "an op with %" PRIu64 " regions", regions);
        p->nregions = (uint32_t)regions;
    }
    return HILO_OK;
}

static hilo_status set_attrs(struct bc *b, ir_op op, const struct op_parts *p) {
    struct spread spread = {.n = 0};
    struct named_attrs others = {{NULL, 0, 0}, {NULL, 0, 0}};
    if (p->record.p)
        HILO_TRY(set_record(b, op, p->name, p->record, &spread, &others));
    if (b->version < 5)
        set_dict(b, op, p->name, p->dict, &spread, &others);
    else if (!IR_NONE(p->dict))
        ir_set_attrs(b->m, op, p->dict);
    spread_set(b, op, &spread);
    if (p->name->kind == IR_CUSTOM_CALL)
        set_layouts(b, op);
    if (others.names.n) {
        const struct ir_attr_data *d = ir_attr_get(b->m, ir_op_get(b->m, op)->attrs);
        for (uint32_t i = 0; i < d->n; i++)
            named_add(b, &others, ir_str_get(b->m, d->names[i]), d->items[i]);
        ir_set_attrs(b->m, op, ir_attr_dict(b->m, others.names.v, others.items.v, others.names.n));
    }
    return HILO_OK;
}

/* Between VHLO and other dialects, types are cast: here they are the same. */
static hilo_status read_cast(struct bc *b, const struct op_parts *p) {
    ir_val v = b->ir->operands.n == 1 ? b->ir->operands.v[0] : (ir_val){0};
    if (IR_NONE(v) || p->nresults != 1 || !IR_SAME(ir_val_get(b->m, v)->type, p->results[0]) || p->nregions)
        return bc_error(b, p->at, "expected a conversion of one value to its own type");
    return define(b, p->at, v);
}

static hilo_status read_op(struct bc *b, struct bc_cursor *c, ir_block into, enum ir_op_kind parent) {
    struct op_parts p = {.at = c->at};
    HILO_TRY(read_parts(b, c, parent, &p));
    if (p.name->cast)
        return read_cast(b, &p);
    enum ir_op_kind kind = p.name->kind;
    int want = ir_op_info(kind)->nregions;
    if (want >= 0 && p.nregions != (uint32_t)want)
        return bc_error(b, p.at, "'%s' has %d regions, found %u", ir_op_info(kind)->name, want, p.nregions);
    ir_op op = ir_op_new(b->m, kind, b->ir->operands.v, b->ir->operands.n, p.results, p.nresults, p.nregions);
    if (kind == IR_UNREGISTERED)
        ir_set_name(b->m, op, ir_str_of(b->m, p.name->name));
    ir_set_loc(b->m, op, p.loc, 0, 0);
    ir_append(b->m, into, op);
    HILO_TRY(set_attrs(b, op, &p));
    for (uint32_t i = 0; i < p.nresults; i++)
        HILO_TRY(define(b, p.at, ir_result(b->m, op, i)));
    return read_regions(b, c, op, p.nregions, p.isolated);
}

/* The file is a block with one op, a module, which becomes the root. */
hilo_status bc_module(struct bc *b, struct bc_cursor c) {
    struct bc_ir ir = {{NULL, 0, 0}, {NULL, 0, 0}, {NULL, 0, 0}};
    const uint8_t *at = c.at;
    uint64_t ops;
    bool has_args;
    b->ir = &ir;
    HILO_TRY(bc_flagged(b, &c, &ops, &has_args));
    if (ops != 1 || has_args)
        return bc_error(b, at, "expected one module, found %" PRIu64 " ops", ops);
    ARENA_PUSH(&b->m->arena, &ir.frames, ((struct bc_frame){.isolated = true}));
    ir_block body = ir_module_body(b->m);
    HILO_TRY(read_op(b, &c, body, IR_MODULE));
    if (c.at != c.end)
        return bc_error(b, c.at, "%zu unexpected bytes after the module", bc_left(&c));
    ir_op root = ir_block_get(b->m, body)->first;
    if (IR_NONE(root) || ir_kind(b->m, root) != IR_MODULE)
        return bc_error(b, at, "expected a module");
    if (IR_NONE(ir_region_get(b->m, ir_op_region(b->m, root, 0))->first))
        ir_block_new(b->m, ir_op_region(b->m, root, 0));
    ir_unlink(b->m, root);
    b->m->root = root;
    return HILO_OK;
}
