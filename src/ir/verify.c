/* Verification: the constraints of the tables for each op, then its rule (shape.h), for a whole module.
 *
 * Ops are visited in the order of the text, an op before the ones in its regions. One error an op
 * is reported, and the walk continues after it. A type is checked with the ops that make or take its
 * values, not where it is merely mentioned. */
#include "ir/rules/shape.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

/* ---- type kinds ------------------------------------------------------------------------------ */

enum { /* classes of element types */
    EC_PRED = 1 << 0,
    EC_SINT = 1 << 1,
    EC_UINT = 1 << 2,
    EC_FLOAT = 1 << 3,
    EC_COMPLEX = 1 << 4,
    EC_INDEX = 1 << 5,
    EC_QUANT = 1 << 6, /* per tensor */
    EC_QAXIS = 1 << 7, /* per axis */
    EC_I32 = 1 << 8,
    EC_UI32 = 1 << 9,
    EC_F32 = 1 << 10,
    EC_F64 = 1 << 11,
    EC_INT = EC_SINT | EC_UINT,
    EC_ANY = EC_PRED | EC_INT | EC_FLOAT | EC_COMPLEX
};

enum { /* flags of a kind */
    TK_TENSOR = 1 << 0,
    TK_UNRANKED = 1 << 1,
    TK_STATIC = 1 << 2,
    TK_BOUNDED = 1 << 3,
    TK_RANK0 = 1 << 4,
    TK_RANK1 = 1 << 5,
    TK_RANK2 = 1 << 6,
    TK_TOKEN = 1 << 7,
    TK_TUPLE = 1 << 8,
    TK_BUFFER = 1 << 9,
    TK_FUTURE = 1 << 10,
    TK_ANYTHING = 1 << 11
};

struct type_kind {
    struct str name;
    unsigned elems, flags;
    const char *text;
};

static const struct type_kind type_kinds[] = {
#define TYPE_KIND(name, elements, flags, text) {{#name, sizeof #name - 1}, elements, flags, text},
#include "ir/typekinds.def"
};

static const struct type_kind *kind_named(struct str name) {
    size_t i = 0;
    while (!str_eq(type_kinds[i].name, name))
        i++;
    return &type_kinds[i];
}

/* The classes that elements of a type belong to. */
static unsigned elem_classes(const struct ir_type_data *t) {
    if (t->quant) {
        if (t->quant->kind == IR_QUANT_BLOCK || shape_bits(t) > 32)
            return 0;
        return t->quant->kind == IR_QUANT_AXIS ? EC_QAXIS : EC_QUANT;
    }
    switch (t->dtype) {
    case IR_I32_T: return EC_SINT | EC_I32;
    case IR_UI32_T: return EC_UINT | EC_UI32;
    case IR_F32_T: return EC_FLOAT | EC_F32;
    case IR_F64_T: return EC_FLOAT | EC_F64;
    case IR_DTYPE_NONE:
    case IR_TF32_T: return 0; /* an attribute's type only */
    default: break;
    }
    switch (shape_class(t)) {
    case IR_PRED: return EC_PRED;
    case IR_SINT: return EC_SINT;
    case IR_UINT: return EC_UINT;
    case IR_FLOAT: return EC_FLOAT;
    case IR_COMPLEX_CLASS: return EC_COMPLEX;
    case IR_INDEX_CLASS: return EC_INDEX;
    }
    return 0;
}

/* One dimension is unknown, and it has a bound. */
static bool single_bounded(const struct ir_type_data *t) {
    uint32_t unknown = 0, bounded = 0;
    for (uint32_t i = 0; i < t->rank; i++) {
        unknown += !shape_known(t->dims[i]);
        bounded += shape_known(shape_bound(t, i));
    }
    return unknown == 1 && bounded == 1;
}

static bool tensor_fits(unsigned flags, const struct ir_type_data *t) {
    if (!(flags & TK_TENSOR))
        return false;
    if ((flags & TK_STATIC) && !ir_type_is_static(t) &&
        !((flags & TK_BOUNDED) && single_bounded(t)))
        return false;
    return !((flags & TK_RANK0) && t->rank != 0) && !((flags & TK_RANK1) && t->rank != 1) &&
           !((flags & TK_RANK2) && t->rank != 2);
}

static bool kind_fits(const struct ir_module *m, unsigned elems, unsigned flags, ir_type type) {
    const struct ir_type_data *t = ir_type_get(m, type);
    if (flags & TK_ANYTHING)
        return t->kind != IR_TYPE_NONE;
    switch (t->kind) {
    case IR_TYPE_TENSOR: return (elem_classes(t) & elems) && tensor_fits(flags, t);
    case IR_TYPE_UNRANKED: return (elem_classes(t) & elems) && (flags & TK_UNRANKED);
    case IR_TYPE_MEMREF: return (elem_classes(t) & elems) && (flags & TK_BUFFER);
    case IR_TYPE_TOKEN: return flags & TK_TOKEN;
    case IR_TYPE_FUTURE: return flags & TK_FUTURE;
    case IR_TYPE_TUPLE: break;
    default: return false;
    }
    if (!(flags & TK_TUPLE))
        return false;
    unsigned within = TK_TENSOR | TK_TOKEN | TK_TUPLE | TK_BUFFER | (flags & TK_UNRANKED);
    for (uint32_t i = 0; i < t->ntypes; i++)
        if (!kind_fits(m, EC_ANY | EC_QUANT | EC_QAXIS, within, t->types[i]))
            return false;
    return true;
}

/* ---- types in themselves --------------------------------------------------------------------- */

/* What is wrong with a type; text is NULL when nothing is. */
struct flaw { const char *label, *text; };

static struct flaw quant_flaw(const struct ir_quant *q) {
    const struct ir_dtype_info *storage = ir_dtype_get(q->storage);
    bool is_signed = storage->cls == IR_SINT;
    if ((!is_signed && storage->cls != IR_UINT) || storage->bits > 32)
        return (struct flaw){NULL, "the storage type is not an integer of at most 32 bits"};
    if (q->signed_storage)
        return (struct flaw){NULL, "the storage type must be signless, i8 instead of si8"};
    int64_t most = (INT64_C(1) << (storage->bits - is_signed)) - 1, least = is_signed ? ~most : 0;
    if (q->storage_min < least || q->storage_max > most || q->storage_min >= q->storage_max)
        return (struct flaw){"quantized_type_c3", "the storage range is empty or too wide"};
    if (ir_dtype_get(q->expressed)->cls != IR_FLOAT)
        return (struct flaw){NULL, "the expressed type is not a float"};
    for (uint32_t i = 0; i < q->nscales; i++) {
        if (!(q->scales[i] > 0))
            return (struct flaw){"quantized_type_c5", "a scale is not positive"};
        if (!isfinite(q->scales[i]))
            return (struct flaw){"quantized_type_c6", "a scale is not finite"};
        if (q->zero_points[i] < q->storage_min || q->zero_points[i] > q->storage_max)
            return (struct flaw){"quantized_type_c7", "a zero point is outside the storage range"};
    }
    if (q->kind == IR_QUANT_AXIS && q->axes[0] < 0)
        return (struct flaw){"quantized_type_c11", "the quantized dimension is negative"};
    return (struct flaw){NULL, NULL};
}

static struct flaw ranked_flaw(const struct ir_module *m, const struct ir_type_data *t) {
    const struct ir_attr_data *encoding = ir_attr_get(m, t->encoding);
    size_t nbounds;
    ir_field_dims(m, t->encoding, IR_TYPE_EXTENSIONS_bounds_F, &nbounds);
    if (encoding->kind == IR_ATTR_STRUCT && encoding->sub == IR_STRUCT_TYPE_EXTENSIONS && nbounds != t->rank)
        return (struct flaw){NULL, "there are not as many bounds as dimensions"};
    for (uint32_t i = 0; i < t->rank; i++) {
        if (shape_known(t->dims[i]) && t->dims[i] < 0)
            return (struct flaw){NULL, "a size is negative"};
        if (!shape_known(shape_bound(t, i)))
            continue;
        if (shape_known(t->dims[i]))
            return (struct flaw){NULL, "a dimension of known size has a bound"};
        if (shape_bound(t, i) < 0)
            return (struct flaw){NULL, "a bound is negative"};
    }
    if (!shape_is_axis(t))
        return (struct flaw){NULL, NULL};
    int64_t axis = t->quant->axes[0];
    if (axis >= t->rank)
        return (struct flaw){"quantized_type_c12", "there is no such quantized dimension"};
    if (axis >= 0 && !shape_dims_agree(t->dims[axis], t->quant->nscales))
        return (struct flaw){"quantized_type_c13",
                             "the quantized dimension's size is not the number of scales"};
    return (struct flaw){NULL, NULL};
}

static struct flaw type_flaw(const struct ir_module *m, ir_type type) {
    const struct ir_type_data *t = ir_type_get(m, type);
    struct flaw f = {NULL, NULL};
    if (shape_ranked(t))
        f = ranked_flaw(m, t);
    if (!f.text && t->quant)
        f = quant_flaw(t->quant);
    for (uint32_t i = 0; !f.text && i < t->ntypes; i++)
        f = type_flaw(m, t->types[i]);
    return f;
}

static hilo_status check_type(struct shape *s, ir_type t) {
    struct flaw f = type_flaw(s->m, t);
    if (!f.text)
        return HILO_OK;
    return shape_fail(s, f.label, "type %s is not valid: %s", shape_type_text(s, t), f.text);
}

/* ---- operands and results -------------------------------------------------------------------- */

struct column { /* of the table */
    const char *kinds, *what;
    struct shape_range (*group)(struct shape *s, uint32_t k);
    ir_type (*type)(const struct shape *s, uint32_t i);
    uint32_t total; /* values that the op has */
};

static hilo_status check_column(struct shape *s, const struct column *c) {
    uint32_t dealt = 0, k = 0;
    bool stars = strchr(c->kinds, '*') != NULL, fits = true;
    for (const char *p = c->kinds; *p; k++) {
        size_t length = strcspn(p, " *");
        const struct type_kind *kind = kind_named((struct str){p, length});
        struct shape_range r = c->group(s, k);
        for (uint32_t i = r.first; i < r.first + r.n; i++) {
            ir_type t = c->type(s, i);
            if (!kind_fits(s->m, kind->elems, kind->flags, t))
                return shape_fail(s, NULL, "%s %u must be a %s, but is %s", c->what, i, kind->text,
                                  shape_type_text(s, t));
            if (!(kind->flags & TK_ANYTHING)) /* what only passes through may have any type */
                HILO_TRY(check_type(s, t));
        }
        dealt += r.n;
        fits = fits && (r.n == 1 || p[length] == '*'); /* none at all is not enough */
        p += strcspn(p, " ");
        p += *p == ' ';
    }
    if (fits && dealt == c->total)
        return HILO_OK;
    if (stars)
        return shape_fail(s, NULL, "%u %ss do not divide into '%s'", c->total, c->what, c->kinds);
    return shape_fail(s, NULL, "needs %u %ss, but has %u", k, c->what, c->total);
}

static hilo_status check_operands(struct shape *s) {
    const char *kinds = ir_op_info((enum ir_op_kind)s->o->kind)->operands;
    struct column c = {kinds, "operand", shape_in_group, shape_in_type, s->o->noperands};
    return check_column(s, &c);
}

static hilo_status check_results(struct shape *s) {
    const char *kinds = ir_op_info((enum ir_op_kind)s->o->kind)->results;
    struct column c = {kinds, "result", shape_res_group, shape_res_type, s->o->nresults};
    return check_column(s, &c);
}

/* ---- attributes ------------------------------------------------------------------------------ */

static const char *const form_texts[] = {
    [IR_AF_I64] = "a 64-bit integer",
    [IR_AF_I32] = "a 32-bit integer",
    [IR_AF_UI64] = "a 64-bit unsigned integer",
    [IR_AF_UI32] = "a 32-bit unsigned integer",
    [IR_AF_I64S] = "a list of 64-bit integers",
    [IR_AF_I32S] = "a list of 32-bit integers",
    [IR_AF_BOOL] = "true or false",
    [IR_AF_UNIT] = "without a value",
    [IR_AF_STR] = "a string",
    [IR_AF_F32] = "a 32-bit float",
    [IR_AF_F64] = "a 64-bit float",
    [IR_AF_BOOLS] = "a list of booleans",
    [IR_AF_ENUM] = "a case of its enumeration",
    [IR_AF_ENUMS] = "a list of cases of its enumeration",
    [IR_AF_STRUCT] = "a well-formed structure of its kind",
    [IR_AF_ELEMENTS] = "a constant tensor with all its elements",
    [IR_AF_I64ELEMS] = "a constant matrix of 64-bit integers",
    [IR_AF_GROUPS] = "a constant matrix of 64-bit integers or axes of a mesh",
    [IR_AF_SYM] = "the name of a symbol",
    [IR_AF_SYMS] = "a list of names of symbols",
    [IR_AF_SYMSS] = "a list of lists of names of symbols",
    [IR_AF_DICT] = "a dictionary",
    [IR_AF_ARRAY] = "an array",
    [IR_AF_TYPE] = "a type",
    [IR_AF_ANY] = "any",
};

static bool form_holds(const struct ir_module *m, enum ir_attr_form form, int of, ir_attr a);

/* An integer or float of one scalar type. */
static bool is_number(const struct ir_module *m, const struct ir_attr_data *d,
                      enum ir_attr_kind kind, enum ir_dtype t) {
    return d->kind == kind && ir_type_get(m, d->type)->dtype == t;
}

/* array<t: …>, or dense<…> : tensor<Nxt> as older programs have it. */
static bool is_list(const struct ir_module *m, const struct ir_attr_data *d, enum ir_dtype t) {
    const struct ir_type_data *type = ir_type_get(m, d->type);
    return type->dtype == t && (d->kind == IR_ATTR_DENSE_ARRAY ||
                                (d->kind == IR_ATTR_DENSE && type->rank == 1));
}

/* A constant whose data is all of its elements, or one for all; a resource may have none (yet). */
static bool is_elements(const struct ir_module *m, const struct ir_attr_data *d) {
    const struct ir_type_data *t = ir_type_get(m, d->type);
    size_t nbytes;
    if ((d->kind != IR_ATTR_DENSE && d->kind != IR_ATTR_RESOURCE) || !ir_type_bytes(t, &nbytes))
        return false;
    return d->nbytes == nbytes || (d->splat && d->nbytes == ir_dtype_get(t->dtype)->bytes) ||
           (d->kind == IR_ATTR_RESOURCE && !d->data);
}

static bool is_array_of(const struct ir_module *m, const struct ir_attr_data *d,
                        enum ir_attr_form form, int of) {
    bool all = d->kind == IR_ATTR_ARRAY;
    for (uint32_t i = 0; all && i < d->n; i++)
        all = form_holds(m, form, of, d->items[i]);
    return all;
}

static bool field_holds(const struct ir_module *m, enum ir_field_kind kind, ir_attr a) {
    switch (kind) {
    case IR_FK_DIMS: return form_holds(m, IR_AF_I64S, 0, a);
    case IR_FK_I64: return form_holds(m, IR_AF_I64, 0, a);
    case IR_FK_BOOL: return form_holds(m, IR_AF_BOOL, 0, a);
    case IR_FK_F64: return form_holds(m, IR_AF_F64, 0, a);
    case IR_FK_TYPE: return form_holds(m, IR_AF_TYPE, 0, a);
    case IR_FK_STR: return form_holds(m, IR_AF_STR, 0, a);
    case IR_FK_ATTR:
    case IR_FK_SUBAXIS: break;
    }
    return true;
}

static bool is_struct(const struct ir_module *m, const struct ir_attr_data *d, enum ir_struct of) {
    const struct ir_struct_info *info = ir_struct_get(of);
    bool holds = d->kind == IR_ATTR_STRUCT && d->sub == of && d->n == info->nfields;
    for (uint32_t i = 0; holds && i < info->nfields; i++) {
        const struct ir_field_info *f = ir_field_get(info->first_field + i);
        holds = IR_NONE(d->items[i]) ? f->optional : field_holds(m, f->kind, d->items[i]);
    }
    return holds;
}

static bool form_holds(const struct ir_module *m, enum ir_attr_form form, int of, ir_attr a) {
    const struct ir_attr_data *d = ir_attr_get(m, a);
    switch (form) {
    case IR_AF_I64: return is_number(m, d, IR_ATTR_INT, IR_I64_T);
    case IR_AF_I32: return is_number(m, d, IR_ATTR_INT, IR_I32_T);
    case IR_AF_UI64: return is_number(m, d, IR_ATTR_INT, IR_UI64_T);
    case IR_AF_UI32: return is_number(m, d, IR_ATTR_INT, IR_UI32_T);
    case IR_AF_I64S: return is_list(m, d, IR_I64_T);
    case IR_AF_I32S: return is_list(m, d, IR_I32_T);
    case IR_AF_BOOL: return d->kind == IR_ATTR_BOOL;
    case IR_AF_UNIT: return d->kind == IR_ATTR_UNIT;
    case IR_AF_STR: return d->kind == IR_ATTR_STRING;
    case IR_AF_F32: return is_number(m, d, IR_ATTR_FLOAT, IR_F32_T);
    case IR_AF_F64: return is_number(m, d, IR_ATTR_FLOAT, IR_F64_T);
    case IR_AF_BOOLS: return is_list(m, d, IR_I1_T);
    case IR_AF_ENUM:
        return d->kind == IR_ATTR_ENUM && d->sub == of &&
               ir_enum_case_name((enum ir_enum)of, d->i) != NULL;
    case IR_AF_ENUMS: return is_array_of(m, d, IR_AF_ENUM, of);
    case IR_AF_STRUCT: return is_struct(m, d, (enum ir_struct)of);
    case IR_AF_ELEMENTS: return is_elements(m, d);
    case IR_AF_I64ELEMS:
        return d->kind == IR_ATTR_DENSE && ir_type_get(m, d->type)->dtype == IR_I64_T &&
               ir_type_get(m, d->type)->rank == 2;
    case IR_AF_GROUPS:
        return form_holds(m, IR_AF_I64ELEMS, 0, a) ||
               is_struct(m, d, IR_STRUCT_REPLICA_GROUP_MESH_AXES);
    case IR_AF_SYM: return d->kind == IR_ATTR_SYMBOL;
    case IR_AF_SYMS: return is_array_of(m, d, IR_AF_SYM, 0);
    case IR_AF_SYMSS: return is_array_of(m, d, IR_AF_SYMS, 0);
    case IR_AF_DICT: return d->kind == IR_ATTR_DICT;
    case IR_AF_ARRAY: return d->kind == IR_ATTR_ARRAY;
    case IR_AF_TYPE: return d->kind == IR_ATTR_TYPE;
    case IR_AF_ANY: break;
    }
    return true;
}

static hilo_status check_attrs(struct shape *s) {
    const struct ir_op_info *info = ir_op_info((enum ir_op_kind)s->o->kind);
    for (uint32_t i = 0; i < info->nslots; i++) {
        const struct ir_slot_info *slot = ir_slot_get(info->first_slot + i);
        ir_attr a = s->o->props[i];
        if (IR_NONE(a)) {
            if (slot->flags & IR_REQ)
                return shape_fail(s, NULL, "requires attribute '%s'", slot->name);
            continue;
        }
        if (!form_holds(s->m, slot->form, slot->of, a))
            return shape_fail(s, NULL, "attribute '%s' must be %s", slot->name,
                              form_texts[slot->form]);
        char label[16];
        snprintf(label, sizeof label, "_c%u", slot->flags / IR_C(1));
        int64_t v = ir_attr_get(s->m, a)->i;
        const char *range = ir_slot_range(slot, v);
        if (range)
            return shape_fail(s, slot->flags >= IR_C(1) ? label : NULL,
                              "attribute '%s' must be %s, but is %" PRId64, slot->name, range, v);
        const char *flaw_label, *flaw = ir_attr_flaw(s->m, a, &flaw_label);
        if (flaw)
            return shape_fail(s, flaw_label, "attribute '%s': %s", slot->name, flaw);
    }
    return HILO_OK;
}

/* ---- regions --------------------------------------------------------------------------------- */

/* What the block of such an op ends with; NONE where nothing has to. */
static enum ir_op_kind terminator_of(enum ir_op_kind kind) {
    return kind == IR_MODULE                   ? IR_OP_NONE
           : kind == IR_FUNC                   ? IR_FUNC_RETURN
           : kind == IR_SDY_MANUAL_COMPUTATION || kind == IR_SDY_NAMED_COMPUTATION ? IR_SDY_RETURN
                                                                                   : IR_RETURN;
}

static hilo_status check_regions(struct shape *s) {
    enum ir_op_kind kind = (enum ir_op_kind)s->o->kind;
    int want = ir_op_info(kind)->nregions;
    if (want >= 0 && s->o->nregions != want)
        return shape_fail(s, NULL, "needs %d regions, but has %u", want, s->o->nregions);
    for (uint32_t r = 0; r < s->o->nregions; r++) {
        const struct ir_region_data *region = ir_region_get(s->m, ir_op_region(s->m, s->op, r));
        if (IR_NONE(region->first) && kind == IR_FUNC)
            continue; /* a declaration */
        if (IR_NONE(region->first) || !IR_SAME(region->first, region->last))
            return shape_fail(s, NULL, "region %u must have one block", r);
        const struct ir_block_data *block = ir_block_get(s->m, region->first);
        enum ir_op_kind end = terminator_of(kind);
        enum ir_op_kind last = IR_NONE(block->last) ? IR_OP_NONE : ir_kind(s->m, block->last);
        if (kind == IR_FUNC && last == IR_RETURN)
            continue; /* the comparators of JAX's approx_top_k */
        if (end != IR_OP_NONE && last != end)
            return shape_fail(s, NULL, "region %u must end with '%s'", r, ir_op_info(end)->name);
    }
    return HILO_OK;
}

/* ---- one op ---------------------------------------------------------------------------------- */

/* What a rule takes for granted. */
static hilo_status check_tables(struct shape *s) {
    HILO_TRY(check_operands(s));
    HILO_TRY(check_regions(s));
    return check_attrs(s);
}

static hilo_status check_inferred(struct shape *s) {
    for (uint32_t i = 0; i < s->nout; i++)
        if (!IR_NONE(s->out[i]) && !shape_types_compatible(s->m, s->out[i], shape_res_type(s, i)))
            return shape_fail(s, s->out_label, "result %u has the inferred type %s, which is not "
                              "compatible with the declared type %s", i,
                              shape_type_text(s, s->out[i]),
                              shape_type_text(s, shape_res_type(s, i)));
    return HILO_OK;
}

hilo_status ir_infer(struct ir_module *m, struct diag_list *d, ir_op op, ir_type *out,
                     uint32_t nout) {
    struct shape s = {.m = m, .d = d, .op = op, .o = ir_op_get(m, op), .out = out, .nout = nout};
    assert(nout == s.o->nresults);
    HILO_TRY(check_tables(&s));
    return shape_run(&s);
}

/* ---- the module ------------------------------------------------------------------------------ */

enum { VERIFY_DEPTH = 512 }; /* of regions in regions */

struct verify {
    struct ir_module *m;
    struct diag_list *d;
    uint32_t errors;
    bool broken;                                    /* there are some besides names not found */
    struct { uint64_t *v; uint32_t n, cap; } done;  /* bit i: op i has been passed */
    struct { ir_type *v; uint32_t n, cap; } out;    /* inferred types of the current op */
};

static bool is_done(const struct verify *v, ir_op op) {
    return op.i / 64 < v->done.n && (v->done.v[op.i / 64] >> op.i % 64 & 1);
}

static void set_done(struct verify *v, ir_op op) {
    while (v->done.n <= op.i / 64)
        ARENA_PUSH(&v->m->arena, &v->done, 0);
    v->done.v[op.i / 64] |= UINT64_C(1) << op.i % 64;
}

/* A value is visible to the ops after its own (or, an argument, by those in its block) and by what is
   inside them, up to the next isolated op. Where a foreign op has several blocks, their order is
   not known, and they may see each other. */
static bool is_visible(const struct verify *v, ir_op user, ir_val val) {
    const struct ir_val_data *value = ir_val_get(v->m, val);
    ir_block home = IR_NONE(value->op) ? value->block : ir_op_get(v->m, value->op)->parent;
    ir_region room = ir_block_get(v->m, home)->parent;
    for (ir_block b = ir_op_get(v->m, user)->parent; !IR_NONE(b) && !IR_NONE(home);) {
        if (IR_SAME(b, home))
            return IR_NONE(value->op) || is_done(v, value->op);
        ir_region region = ir_block_get(v->m, b)->parent;
        if (IR_SAME(region, room))
            return true;
        ir_op parent = ir_region_get(v->m, region)->parent;
        if (IR_NONE(parent) || ir_op_has(ir_kind(v->m, parent), IR_T_ISOLATED))
            break;
        b = ir_op_get(v->m, parent)->parent;
    }
    return false;
}

static hilo_status check_uses(const struct verify *v, struct shape *s) {
    for (uint32_t i = 0; i < s->o->noperands; i++)
        if (!is_visible(v, s->op, s->o->operands[i]))
            return shape_fail(s, NULL, "operand %u is not defined before it is used", i);
    if (ir_op_has((enum ir_op_kind)s->o->kind, IR_T_TERMINATOR) && !IR_NONE(s->o->next))
        return shape_fail(s, NULL, "must be the last op of its block");
    return HILO_OK;
}

static hilo_status check_op(struct verify *v, struct shape *s) {
    HILO_TRY(check_uses(v, s));
    if (s->o->kind == IR_UNREGISTERED)
        return HILO_OK;
    while (v->out.n < s->o->nresults)
        ARENA_PUSH(&v->m->arena, &v->out, (ir_type){0});
    s->out = v->out.v;
    s->nout = s->o->nresults;
    HILO_TRY(check_tables(s));
    HILO_TRY(check_results(s));
    HILO_TRY(shape_run(s));
    return check_inferred(s);
}

/* OK unless something other than an error in the module happens. */
static hilo_status visit(struct verify *v, ir_op op, int depth) {
    if (depth > VERIFY_DEPTH)
        return ir_op_error(v->m, v->d, op, HILO_RESOURCE_EXHAUSTED, NULL,
                           "is nested too deep: %d regions at most", VERIFY_DEPTH);
    const struct ir_op_data *o = ir_op_get(v->m, op);
    struct shape s = {.m = v->m, .d = v->d, .op = op, .o = o, .verifying = true,
                      .broken = v->broken};
    hilo_status status = check_op(v, &s);
    if (status != HILO_OK && status != HILO_INVALID_ARGUMENT)
        return status;
    v->errors += status != HILO_OK;
    v->broken |= status != HILO_OK && !s.not_found;
    /* Inside an op with an error, others are as likely its consequence; a function stands alone. */
    bool inside = status == HILO_OK || ir_op_has((enum ir_op_kind)o->kind, IR_T_ISOLATED);
    for (uint32_t r = 0; inside && r < o->nregions; r++) {
        ir_block b = ir_region_get(v->m, ir_op_region(v->m, op, r))->first;
        for (; !IR_NONE(b); b = ir_block_get(v->m, b)->next) {
            ir_op inner = ir_block_get(v->m, b)->first;
            for (; !IR_NONE(inner) && v->errors < DIAG_MOST; inner = ir_op_get(v->m, inner)->next)
                HILO_TRY(visit(v, inner, depth + 1));
        }
    }
    set_done(v, op);
    return HILO_OK;
}

hilo_status ir_verify(struct ir_module *m, struct diag_list *d) {
    struct verify v = {.m = m, .d = d};
    HILO_TRY(visit(&v, m->root, 0));
    return v.errors ? HILO_INVALID_ARGUMENT : HILO_OK;
}
