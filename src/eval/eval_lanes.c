/* Regions of scalars as programs over lanes.
 *
 * Every value of the region has a slot: a pointer to a block of lanes. Arguments are the slots that
 * each run sets; constants and captured scalars are blocks of copies, filled once; all others are
 * registers. A step is an elementwise kernel from slots to a register, so that a run is a loop over
 * calls that allocates nothing and looks nothing up. */
#include "eval/eval_core.h"
#include "eval/eval_elt.h"

enum {
    LANES = 256,         /* in a block */
    LANES_OPERANDS = 3,  /* of a step */
    LANES_OPS = 4096     /* regions with more ops or results are left alone */
};

struct lanes_step {
    struct elt_kernel kernel;
    uint32_t in[LANES_OPERANDS]; /* slots; 0 where the kernel has no operand */
    uint32_t out;                /* slot */
};

struct lanes_slot {
    void *block;                 /* arguments' are only read */
    enum ir_dtype type;
    struct value *fill;          /* while compiling: what the block is filled with, or NULL */
};

/* While compiling: a value of the region by its slot. */
struct lanes_name {
    ir_val v;
    uint32_t slot;
};

struct lanes {
    hilo_allocator al;
    size_t bytes, block_bytes;   /* of this allocation, and of the one with all blocks */
    void *blocks;
    struct lanes_slot *slots;    /* arguments first */
    struct lanes_step *steps;
    struct lanes_name *names;
    uint32_t *results;           /* slots */
    uint32_t nargs, nslots, nsteps, nnames, nresults;
    bool direct;                 /* the last step makes the only result, in place */
};

size_t lanes_most(void) {
    return LANES;
}

void lanes_free(struct lanes *l) {
    if (!l)
        return;
    hilo_allocator al = l->al;
    if (l->blocks)
        mem_free(&al, l->blocks, l->block_bytes);
    mem_free(&al, l, l->bytes);
}

void lanes_run(struct lanes *l, const void *const *args, void *const *results, size_t n) {
    for (uint32_t i = 0; i < l->nargs; i++)
        l->slots[i].block = (void *)args[i];
    for (uint32_t i = 0; i < l->nsteps; i++) {
        const struct lanes_step *s = &l->steps[i];
        const void *in[LANES_OPERANDS];
        for (uint32_t j = 0; j < LANES_OPERANDS; j++)
            in[j] = l->slots[s->in[j]].block;
        bool last = l->direct && i + 1 == l->nsteps;
        s->kernel.run(&s->kernel, in, last ? results[0] : l->slots[s->out].block, n);
    }
    for (uint32_t i = 0; !l->direct && i < l->nresults; i++) {
        const struct lanes_slot *s = &l->slots[l->results[i]];
        memmove(results[i], s->block, n * ir_dtype_get(s->type)->bytes);
    }
}

/* ---- compiling ------------------------------------------------------------------------------- */

struct builder {
    struct eval *cx;
    struct lanes *l;
    bool fits; /* the region is of the right kind so far */
};

/* The element type that a scalar is computed in; none for anything else. */
static enum ir_dtype scalar_type(const struct eval *cx, ir_val v) {
    const struct ir_type_data *t = ir_val_type(cx->m, v);
    if (t->kind != IR_TYPE_TENSOR || t->rank != 0 || (t->quant && !cx->expressed))
        return IR_DTYPE_NONE;
    return t->quant ? t->quant->expressed : t->dtype;
}

/* A new slot of v's type, to be filled with `fill` (owned) unless that is NULL. */
static uint32_t add_slot(struct builder *b, ir_val v, struct value *fill) {
    struct lanes_slot *s = &b->l->slots[b->l->nslots];
    *s = (struct lanes_slot){.type = scalar_type(b->cx, v), .fill = fill};
    b->fits &= s->type != IR_DTYPE_NONE;
    return b->l->nslots++;
}

static void name_slot(struct builder *b, ir_val v, uint32_t slot) {
    b->l->names[b->l->nnames++] = (struct lanes_name){v, slot};
}

/* A slot for v with copies of the one element of `value`, whose reference passes to it. */
static hilo_status add_filled(struct builder *b, ir_val v, struct value *value, uint32_t *slot) {
    const struct ir_quant *q = ir_val_type(b->cx->m, v)->quant;
    if (q) {
        struct value *number;
        hilo_status status = eval_dequantize(&b->cx->al, q, value, &number);
        value_unref(value);
        HILO_TRY(status);
        value = number;
    }
    *slot = add_slot(b, v, value);
    b->fits &= value->count == 1 && value->dtype == b->l->slots[*slot].type;
    name_slot(b, v, *slot);
    return HILO_OK;
}

/* The slot of an operand; a scalar from outside of the region gets one now. */
static hilo_status operand_slot(struct builder *b, ir_val v, uint32_t *slot) {
    for (uint32_t i = b->l->nnames; i-- > 0;)
        if (IR_SAME(b->l->names[i].v, v)) {
            *slot = b->l->names[i].slot;
            return HILO_OK;
        }
    *slot = 0;
    b->fits &= scalar_type(b->cx, v) != IR_DTYPE_NONE;
    return b->fits ? add_filled(b, v, value_ref(eval_lookup(b->cx, v)), slot) : HILO_OK;
}

/* Ops that leave a scalar as it is. */
static bool forwards(enum ir_op_kind op) {
    return ir_op_has(op, IR_T_ALIAS) || op == IR_BROADCAST_IN_DIM || op == IR_TRANSPOSE;
}

static hilo_status add_constant(struct builder *b, ir_op op) {
    struct value *v;
    uint32_t slot, attr = ir_slot_named(ir_kind(b->cx->m, op), STR("value"));
    HILO_TRY(eval_literal(b->cx, op, ir_prop(b->cx->m, op, (enum ir_slot)attr), &v));
    return add_filled(b, ir_result(b->cx->m, op, 0), v, &slot);
}

static void add_step(struct builder *b, const struct lanes_step *step) {
    b->l->steps[b->l->nsteps++] = *step;
}

static hilo_status add_op(struct builder *b, ir_op op) {
    const struct ir_op_data *o = ir_op_get(b->cx->m, op);
    enum ir_op_kind kind = (enum ir_op_kind)o->kind;
    enum ir_dtype types[LANES_OPERANDS], type;
    struct lanes_step step = {.out = 0};
    b->fits &= o->nresults == 1 && o->noperands <= LANES_OPERANDS && o->nregions == 0 &&
               (type = scalar_type(b->cx, o->result0)) != IR_DTYPE_NONE;
    if (!b->fits || ir_op_has(kind, IR_T_CONSTANT))
        return b->fits ? add_constant(b, op) : HILO_OK;
    for (uint32_t i = 0; i < o->noperands; i++) {
        HILO_TRY(operand_slot(b, o->operands[i], &step.in[i]));
        types[i] = b->l->slots[step.in[i]].type;
    }
    if (!b->fits || o->noperands == 0) {
        b->fits = false;
    } else if (forwards(kind) && o->noperands == 1 && types[0] == type) {
        name_slot(b, o->result0, step.in[0]);
    } else {
        b->fits = elt_lookup(b->cx->m, op, types, o->noperands, type, &step.kernel);
        step.out = add_slot(b, o->result0, NULL);
        name_slot(b, o->result0, step.out);
        add_step(b, &step);
    }
    return HILO_OK;
}

static void copy_lanes(const struct elt_kernel *k, const void *const *in, void *out, size_t n) {
    memcpy(out, in[0], n * ir_dtype_get(k->out)->bytes);
}

/* Several results may alias the arguments, so those that are arguments are copied first. */
static hilo_status add_results(struct builder *b, const struct ir_op_data *o) {
    struct lanes *l = b->l;
    for (uint32_t i = 0; i < o->noperands; i++) {
        HILO_TRY(operand_slot(b, o->operands[i], &l->results[i]));
        if (!b->fits)
            return HILO_OK;
        if (l->results[i] < l->nargs && o->noperands > 1) {
            struct lanes_step step = {.in = {l->results[i]}};
            step.kernel.run = copy_lanes;
            step.kernel.out = l->slots[l->results[i]].type;
            step.out = l->results[i] = add_slot(b, o->operands[i], NULL);
            add_step(b, &step);
        }
    }
    l->nresults = o->noperands;
    l->direct = l->nresults == 1 && l->nsteps && l->steps[l->nsteps - 1].out == l->results[0];
    return HILO_OK;
}

/* Blocks for all slots but the arguments. */
static hilo_status add_blocks(struct lanes *l) {
    for (uint32_t i = l->nargs; i < l->nslots; i++)
        l->block_bytes += (size_t)LANES * ir_dtype_get(l->slots[i].type)->bytes;
    l->blocks = mem_alloc(&l->al, l->block_bytes);
    if (!l->blocks)
        return HILO_RESOURCE_EXHAUSTED;
    uint8_t *at = l->blocks;
    for (uint32_t i = l->nargs; i < l->nslots; i++) {
        struct lanes_slot *s = &l->slots[i];
        size_t bytes = ir_dtype_get(s->type)->bytes;
        s->block = at;
        for (size_t k = 0; s->fill && k < LANES; k++)
            memcpy(at + k * bytes, s->fill->data, bytes);
        at += LANES * bytes;
    }
    return HILO_OK;
}

static hilo_status build(struct builder *b, const struct ir_block_data *block) {
    const struct ir_module *m = b->cx->m;
    for (uint32_t i = 0; i < block->nargs; i++)
        name_slot(b, block->args[i], add_slot(b, block->args[i], NULL));
    for (ir_op op = block->first; !IR_NONE(op) && b->fits; op = ir_op_get(m, op)->next)
        HILO_TRY(IR_SAME(op, block->last) ? add_results(b, ir_op_get(m, op)) : add_op(b, op));
    return b->fits ? add_blocks(b->l) : HILO_OK;
}

/* An empty program with room for what a region of `nops` ops can need: slots for arguments, for the
   result and the captured operands of each op, for captured results and copies. NULL when memory ends. */
static struct lanes *lanes_new(const hilo_allocator *al, size_t nargs, size_t nops, size_t nresults) {
    size_t nslots = nargs + nops * (1 + LANES_OPERANDS) + 2 * nresults, nsteps = nops + nresults;
    size_t bytes = sizeof(struct lanes) + nsteps * sizeof(struct lanes_step) +
                   nslots * (sizeof(struct lanes_slot) + sizeof(struct lanes_name)) +
                   nresults * sizeof(uint32_t);
    struct lanes *l = mem_alloc(al, bytes);
    if (!l)
        return NULL;
    *l = (struct lanes){.al = *al, .bytes = bytes, .nargs = (uint32_t)nargs};
    l->steps = (struct lanes_step *)(l + 1);
    l->slots = (struct lanes_slot *)(l->steps + nsteps);
    l->names = (struct lanes_name *)(l->slots + nslots);
    l->results = (uint32_t *)(l->names + nslots);
    return l;
}

/* The only block of a region with a terminator; NULL when it has another form. */
static const struct ir_block_data *only_block(const struct ir_module *m, ir_region r) {
    const struct ir_region_data *region = ir_region_get(m, r);
    if (IR_NONE(region->first) || !IR_SAME(region->first, region->last))
        return NULL;
    const struct ir_block_data *block = ir_block_get(m, region->first);
    bool ends = !IR_NONE(block->last) && ir_op_has(ir_kind(m, block->last), IR_T_TERMINATOR);
    return ends ? block : NULL;
}

hilo_status lanes_compile(struct eval *cx, ir_region r, struct lanes **out) {
    *out = NULL;
    const struct ir_block_data *block = only_block(cx->m, r);
    if (!block)
        return HILO_OK;
    uint32_t nops = 0, nresults = ir_op_get(cx->m, block->last)->noperands;
    for (ir_op op = block->first; !IR_NONE(op) && nops <= LANES_OPS; op = ir_op_get(cx->m, op)->next)
        nops++;
    if (nops > LANES_OPS || nresults > LANES_OPS || block->nargs > LANES_OPS)
        return HILO_OK;
    struct builder b = {.cx = cx, .fits = true};
    b.l = lanes_new(&cx->al, block->nargs, nops, nresults);
    if (!b.l)
        return HILO_RESOURCE_EXHAUSTED;
    hilo_status status = build(&b, block);
    for (uint32_t i = 0; i < b.l->nslots; i++)
        value_unref(b.l->slots[i].fill);
    if (status == HILO_OK && b.fits)
        *out = b.l;
    else
        lanes_free(b.l);
    return status;
}

/* ---- recognising ----------------------------------------------------------------------------- */

enum ir_op_kind lanes_single_op(const struct ir_module *m, ir_region r) {
    const struct ir_block_data *block = only_block(m, r);
    if (!block || block->nargs != 2)
        return IR_OP_NONE;
    const struct ir_op_data *o = ir_op_get(m, block->first), *ret = ir_op_get(m, block->last);
    enum ir_op_kind kind = (enum ir_op_kind)o->kind;
    if (!IR_SAME(o->next, block->last) || !ir_op_has(kind, IR_T_ELEMENTWISE) || o->noperands != 2 ||
        o->nresults != 1 || ret->noperands != 1 || !IR_SAME(ret->operands[0], o->result0))
        return IR_OP_NONE;
    ir_val x = block->args[0], y = block->args[1];
    bool in_order = IR_SAME(o->operands[0], x) && IR_SAME(o->operands[1], y);
    bool swapped = IR_SAME(o->operands[0], y) && IR_SAME(o->operands[1], x);
    return in_order || (swapped && ir_op_has(kind, IR_T_COMMUTATIVE)) ? kind : IR_OP_NONE;
}
