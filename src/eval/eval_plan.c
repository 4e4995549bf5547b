/* The plan of a module: slots of its values, the ops that are the last to need them, callees. One walk counts, one fills in;
 * both are linear. Modules are verified before, but what would read outside of a frame is checked here again. */
#include "eval/eval_core.h"

/* The blocks that are open during the walk, innermost first. */
struct plan_level {
    const struct plan_level *outer;
    uint32_t block, step;
};

struct plan_build {
    struct eval_plan *p;
    struct diag_list *d;
    uint32_t nsteps, nblocks, nlists; /* used so far */
    uint32_t slot;                    /* next free one of the function */
    uint32_t *home;                   /* by value id: its block; 0 = not yet defined */
    uint32_t *last;                   /* by value id: the last step that needs it; UINT32_MAX = an argument that none does */
    uint32_t *inside;                 /* by value id: 1 + the last step that needs it inside of its regions */
};

struct plan_counts {
    size_t steps, blocks, operands; /* totals */
    size_t values, regions;         /* largest ids */
};

static size_t plan_max(size_t a, size_t b) {
    return a > b ? a : b;
}

static hilo_status plan_count(const struct ir_module *m, struct diag_list *d, ir_region r, uint32_t depth,
                              struct plan_counts *n) {
    n->regions = plan_max(n->regions, r.i);
    const struct ir_region_data *rd = ir_region_get(m, r);
    if (IR_NONE(rd->first))
        return HILO_OK;
    if (!IR_SAME(rd->first, rd->last))
        return ir_op_error(m, d, rd->parent, HILO_UNIMPLEMENTED, NULL, "has a region of several blocks");
    if (depth == EVAL_DEPTH)
        return ir_op_error(m, d, rd->parent, HILO_RESOURCE_EXHAUSTED, NULL, "is nested too deeply");
    const struct ir_block_data *bd = ir_block_get(m, rd->first);
    n->blocks++;
    for (uint32_t i = 0; i < bd->nargs; i++)
        n->values = plan_max(n->values, bd->args[i].i);
    for (ir_op op = bd->first; !IR_NONE(op); op = ir_op_get(m, op)->next) {
        const struct ir_op_data *o = ir_op_get(m, op);
        n->steps++;
        n->operands += o->noperands;
        if (o->nresults)
            n->values = plan_max(n->values, (size_t)o->result0.i + o->nresults - 1);
        for (uint32_t i = 0; i < o->nregions; i++)
            HILO_TRY(plan_count(m, d, ir_op_region(m, op, i), depth + 1, n));
    }
    return HILO_OK;
}

/* ---- steps ----------------------------------------------------------------------------------------------------------- */

static bool plan_is_quantised(const struct ir_module *m, ir_val v) {
    return ir_val_type(m, v)->quant != NULL;
}

/* Ops with quantised operands or results that compute with the numbers that these stand for. All others move, reduce or pass
   on the stored integers: their regions consist of quantised ops where that matters. */
static bool plan_computes_expressed(const struct ir_module *m, ir_op op) {
    const struct ir_op_data *o = ir_op_get(m, op);
    enum ir_op_kind kind = (enum ir_op_kind)o->kind;
    if (kind == IR_UNIFORM_QUANTIZE || kind == IR_UNIFORM_DEQUANTIZE)
        return false;
    if (!ir_op_has(kind, IR_T_ELEMENTWISE | IR_T_BROADCASTING | IR_T_CONTRACTION) &&
        kind != IR_BATCH_NORM_INFERENCE && kind != IR_CHOLESKY && kind != IR_IOTA)
        return false;
    for (uint32_t i = 0; i < o->noperands; i++)
        if (plan_is_quantised(m, o->operands[i]))
            return true;
    for (uint32_t i = 0; i < o->nresults; i++)
        if (plan_is_quantised(m, ir_result(m, op, i)))
            return true;
    return false;
}

uint32_t eval_plan_body(const struct eval_plan *p, ir_op op) {
    if (IR_NONE(op) || ir_kind(p->m, op) != IR_FUNC)
        return 0;
    ir_region r = ir_op_region(p->m, op, 0);
    return r.i < p->nregions ? p->block_of[r.i] : 0;
}

static uint32_t plan_callee(const struct eval_plan *p, ir_op op, enum ir_op_kind kind) {
    enum ir_slot slot = kind == IR_CALL ? IR_CALL_callee : kind == IR_COMPOSITE ? IR_COMPOSITE_decomposition : IR_SLOT_NONE;
    if (slot == IR_SLOT_NONE)
        return 0;
    return eval_plan_body(p, ir_module_symbol(p->m, ir_attr_as_str(p->m, ir_prop(p->m, op, slot))));
}

static void plan_define(struct plan_build *b, ir_val v, uint32_t block, uint32_t last) {
    b->p->slot_of[v.i] = b->slot++;
    b->home[v.i] = block;
    b->last[v.i] = last;
}

/* Notes that the op that is open in the value's own block needs it. */
static hilo_status plan_use(struct plan_build *b, const struct plan_level *at, ir_op op, ir_val v) {
    uint32_t home = v.i < b->p->nvalues ? b->home[v.i] : 0;
    const struct plan_level *user = at;
    while (at && at->block != home)
        at = at->outer;
    if (!home || !at)
        return ir_op_error(b->p->m, b->d, op, HILO_INVALID_ARGUMENT, NULL, "uses a value that is not defined before it");
    b->last[v.i] = at->step;
    if (at != user)
        b->inside[v.i] = at->step + 1;
    b->p->lists[b->nlists++] = b->p->slot_of[v.i];
    return HILO_OK;
}

static hilo_status plan_fill(struct plan_build *b, ir_region r, uint32_t id, const struct plan_level *at, uint32_t *need);

/* Fills in a step; `*need`: scratch that it takes with everything inside. */
static hilo_status plan_step(struct plan_build *b, ir_op op, const struct plan_level *at, uint32_t *need) {
    const struct ir_module *m = b->p->m;
    const struct ir_op_data *o = ir_op_get(m, op);
    struct plan_step *s = &b->p->steps[at->step];
    *s = (struct plan_step){.op = op, .kind = o->kind, .operands = b->nlists, .noperands = o->noperands};
    for (uint32_t i = 0; i < o->noperands; i++)
        HILO_TRY(plan_use(b, at, op, o->operands[i]));
    s->quantised = plan_computes_expressed(m, op);
    s->callee = plan_callee(b->p, op, (enum ir_op_kind)o->kind);
    uint32_t inside = 0;
    for (uint32_t i = 0; i < o->nregions; i++) {
        ir_region r = ir_op_region(m, op, i);
        if (IR_NONE(ir_region_get(m, r)->first))
            continue;
        uint32_t n, id = b->nblocks++;
        b->p->block_of[r.i] = id;
        HILO_TRY(plan_fill(b, r, id, at, &n));
        inside = n > inside ? n : inside;
    }
    s->result0 = b->slot;
    s->nresults = o->nresults;
    for (uint32_t i = 0; i < o->nresults; i++)
        plan_define(b, ir_result(m, op, i), at->block, at->step);
    *need = 2 * o->noperands + o->nresults + inside;
    return HILO_OK;
}

/* Fills in the block of a region; its steps are consecutive, those of nested blocks follow. */
static hilo_status plan_fill(struct plan_build *b, ir_region r, uint32_t id, const struct plan_level *outer, uint32_t *need) {
    const struct ir_module *m = b->p->m;
    const struct ir_block_data *bd = ir_block_get(m, ir_region_get(m, r)->first);
    struct plan_block *block = &b->p->blocks[id];
    *block = (struct plan_block){.block = ir_region_get(m, r)->first, .first = b->nsteps, .slot0 = b->slot, .nargs = bd->nargs};
    for (ir_op op = bd->first; !IR_NONE(op); op = ir_op_get(m, op)->next)
        block->nsteps++;
    b->nsteps += block->nsteps;
    if (IR_NONE(bd->last) || !ir_op_has(ir_kind(m, bd->last), IR_T_TERMINATOR))
        return ir_op_error(m, b->d, ir_region_get(m, r)->parent, HILO_INVALID_ARGUMENT, NULL,
                           "has a region without a terminator");
    for (uint32_t i = 0; i < bd->nargs; i++)
        plan_define(b, bd->args[i], id, UINT32_MAX);
    struct plan_level at = {.outer = outer, .block = id, .step = block->first};
    for (ir_op op = bd->first; !IR_NONE(op); op = ir_op_get(m, op)->next, at.step++) {
        uint32_t n;
        HILO_TRY(plan_step(b, op, &at, &n));
        block->nscratch = n > block->nscratch ? n : block->nscratch;
    }
    block->slot1 = b->slot;
    *need = block->nscratch;
    return HILO_OK;
}

/* ---- last uses ------------------------------------------------------------------------------------------------------- */

/* Length of the list of what dies where value v does. */
static uint32_t *plan_ndead(struct plan_build *b, uint32_t v) {
    return b->last[v] == UINT32_MAX ? &b->p->blocks[b->home[v]].ndead : &b->p->steps[b->last[v]].ndead;
}

/* Enters the values that do or do not die inside of a step's regions into the lists. */
static void plan_bury(struct plan_build *b, bool inside) {
    struct eval_plan *p = b->p;
    for (uint32_t v = 1; v < p->nvalues; v++) {
        bool of_step = b->last[v] != UINT32_MAX;
        if (!b->home[v] || (of_step && b->inside[v] == b->last[v] + 1) != inside)
            continue;
        uint32_t *n = plan_ndead(b, v);
        uint32_t first = of_step ? p->steps[b->last[v]].dead : p->blocks[b->home[v]].dead;
        p->lists[first + (*n)++] = p->slot_of[v];
        if (of_step && !inside)
            p->steps[b->last[v]].nloose = *n;
    }
}

/* Sorts the values into the lists of the steps after which they are dead. */
static void plan_deaths(struct plan_build *b) {
    struct eval_plan *p = b->p;
    for (uint32_t v = 1; v < p->nvalues; v++)
        if (b->home[v])
            ++*plan_ndead(b, v);
    for (uint32_t i = 0; i < b->nsteps; i++) {
        p->steps[i].dead = b->nlists;
        b->nlists += p->steps[i].ndead;
        p->steps[i].ndead = 0;
    }
    for (uint32_t i = 1; i < b->nblocks; i++) {
        p->blocks[i].dead = b->nlists;
        b->nlists += p->blocks[i].ndead;
        p->blocks[i].ndead = 0;
    }
    plan_bury(b, false);
    plan_bury(b, true);
}

/* ---- the module ------------------------------------------------------------------------------------------------------ */

static bool plan_has_body(const struct ir_module *m, ir_op op) {
    return ir_kind(m, op) == IR_FUNC && !IR_NONE(ir_func_body(m, op));
}

/* All arrays in one allocation, zeroed. */
static struct eval_plan *plan_alloc(const struct ir_module *m, const hilo_allocator *al, const struct plan_counts *n) {
    if (n->operands + n->values >= UINT32_MAX || n->steps >= UINT32_MAX)
        return NULL;
    size_t nlists = n->operands + n->values + 1;
    size_t bytes = sizeof(struct eval_plan) + n->steps * sizeof(struct plan_step) +
                   (n->blocks + 1) * sizeof(struct plan_block) +
                   (nlists + n->values + 1 + n->regions + 1) * sizeof(uint32_t);
    struct eval_plan *p = mem_alloc(al, bytes);
    if (!p)
        return NULL;
    memset(p, 0, bytes);
    *p = (struct eval_plan){.al = *al, .m = m, .bytes = bytes, .nvalues = (uint32_t)n->values + 1,
                            .nregions = (uint32_t)n->regions + 1};
    p->steps = (struct plan_step *)(p + 1);
    p->blocks = (struct plan_block *)(p->steps + n->steps);
    p->lists = (uint32_t *)(p->blocks + n->blocks + 1);
    p->slot_of = p->lists + nlists;
    p->block_of = p->slot_of + p->nvalues;
    return p;
}

static hilo_status plan_functions(struct plan_build *b) {
    const struct ir_module *m = b->p->m;
    ir_op first = ir_block_get(m, ir_module_body(m))->first;
    b->nblocks = 1;
    for (ir_op f = first; !IR_NONE(f); f = ir_op_get(m, f)->next)
        if (plan_has_body(m, f))
            b->p->block_of[ir_op_region(m, f, 0).i] = b->nblocks++;
    for (ir_op f = first; !IR_NONE(f); f = ir_op_get(m, f)->next) {
        uint32_t need;
        if (!plan_has_body(m, f))
            continue;
        b->slot = 0;
        ir_region r = ir_op_region(m, f, 0);
        HILO_TRY(plan_fill(b, r, b->p->block_of[r.i], NULL, &need));
    }
    plan_deaths(b);
    return HILO_OK;
}

hilo_status eval_plan_new(const struct ir_module *m, const hilo_allocator *al, struct diag_list *d,
                          struct eval_plan **out) {
    struct plan_counts n = {0};
    for (ir_op f = ir_block_get(m, ir_module_body(m))->first; !IR_NONE(f); f = ir_op_get(m, f)->next)
        if (plan_has_body(m, f))
            HILO_TRY(plan_count(m, d, ir_op_region(m, f, 0), 0, &n));
    struct eval_plan *p = plan_alloc(m, al, &n);
    size_t bytes = 3 * (n.values + 1) * sizeof(uint32_t);
    uint32_t *marks = p ? mem_alloc(al, bytes) : NULL;
    if (!marks) {
        eval_plan_free(p);
        return diag_error(d, HILO_RESOURCE_EXHAUSTED, "no memory for the plan of the module");
    }
    memset(marks, 0, bytes);
    struct plan_build b = {.p = p, .d = d, .home = marks, .last = marks + n.values + 1, .inside = marks + 2 * (n.values + 1)};
    hilo_status status = plan_functions(&b);
    mem_free(al, marks, bytes);
    if (status != HILO_OK)
        eval_plan_free(p);
    else
        *out = p;
    return status;
}

void eval_plan_free(struct eval_plan *p) {
    if (!p)
        return;
    hilo_allocator al = p->al;
    mem_free(&al, p, p->bytes);
}
