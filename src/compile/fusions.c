/* The program with its kernels visible: each kernel of several ops becomes an `mhlo.fusion`. See build.h. */
#include "compile/build.h"
#include "opt/rewrite.h"

#include <stdlib.h>

struct fusions {
    struct build *b;
    struct ir_module *m;
    struct opt_map outer;  /* values of the program: their replacements outside of fusions */
    struct opt_map inner;  /* … inside of the fusion that is being built */
    struct opt_ids place;  /* by op: its place in its block, from 1 */
    struct opt_ids ops, values; /* by id: the last kernel that has it */
    uint32_t nkernels;
};

/* What a kernel computes, and what it reads. */
struct members {
    struct fusions *x;
    const struct fuse_block *f;
    ir_block block;
    const struct fuse_kernel *kernel;
    struct {
        struct member {
            uint32_t place;
            ir_op op;
        } *v;
        uint32_t n, cap;
    } ops;
    struct {
        ir_val *v;
        uint32_t n, cap;
    } params;
    uint32_t ncomputed; /* ops that are no constants */
};

/* Notes that kernel number x->nkernels has it; false when that is known. */
static bool note_first(const struct members *k, struct opt_ids *last, uint32_t id) {
    if (opt_ids_get(last, id) == k->x->nkernels)
        return false;
    opt_ids_set(last, id, k->x->nkernels);
    return true;
}

/* Scalars and splats are written into the fusion. */
static bool is_immediate(const struct ir_module *m, ir_op op) {
    return ir_op_has(ir_kind(m, op), IR_T_CONSTANT) && ir_attr_get(m, ir_constant_value(m, op))->splat;
}

static void add_value(struct members *k, ir_val v) {
    struct fusions *x = k->x;
    ir_op op = ir_val_get(x->m, v)->op;
    bool computed = !IR_NONE(op) && is_immediate(x->m, op);
    if (!IR_NONE(op) && !computed && !ir_op_has(ir_kind(x->m, op), IR_T_CONSTANT)) {
        uint32_t step = opt_ids_get(&k->f->kernel_of, v.i);
        computed = IR_SAME(ir_op_get(x->m, op)->parent, k->block) &&
                   (!step || k->f->steps.v[step - 1].kernel == k->kernel);
    }
    if (!computed) {
        if (note_first(k, &x->values, v.i))
            ARENA_PUSH(x->b->a, &k->params, v);
    } else if (note_first(k, &x->ops, op.i)) {
        bool constant = is_immediate(x->m, op); /* perhaps of another block */
        ARENA_PUSH(x->b->a, &k->ops, ((struct member){constant ? 0 : opt_ids_get(&x->place, op.i), op}));
        k->ncomputed += !constant;
    }
}

/* What the regions of an op take from outside of the op. */
static void add_captured(struct members *k, ir_op outer, ir_region r) {
    const struct ir_module *m = k->x->m;
    for (ir_block b = ir_region_get(m, r)->first; !IR_NONE(b); b = ir_block_get(m, b)->next)
        for (ir_op op = ir_block_get(m, b)->first; !IR_NONE(op); op = ir_op_get(m, op)->next) {
            for (uint32_t i = 0; i < ir_op_get(m, op)->noperands; i++)
                if (!ir_is_inside(m, ir_operand(m, op, i), outer))
                    add_value(k, ir_operand(m, op, i));
            for (uint32_t i = 0; i < ir_op_get(m, op)->nregions; i++)
                add_captured(k, outer, ir_op_region(m, op, i));
        }
}

static int by_place(const void *a, const void *b) {
    const struct member *x = a, *y = b;
    return x->place != y->place ? (x->place > y->place) - (x->place < y->place) : (x->op.i > y->op.i) - (x->op.i < y->op.i);
}

static void collect(struct members *k) {
    const struct ir_module *m = k->x->m;
    k->x->nkernels++;
    for (uint32_t i = 0; i < k->kernel->outs.n; i++)
        add_value(k, k->kernel->outs.v[i]);
    for (uint32_t i = 0; i < k->ops.n; i++) { /* of which there are more and more */
        ir_op op = k->ops.v[i].op;
        for (uint32_t j = 0; j < ir_op_get(m, op)->noperands; j++)
            add_value(k, ir_operand(m, op, j));
        for (uint32_t j = 0; j < ir_op_get(m, op)->nregions; j++)
            add_captured(k, op, ir_op_region(m, op, j));
    }
    qsort(k->ops.v, k->ops.n, sizeof *k->ops.v, by_place);
}

/* As XLA names them: kOutput, a contraction and what follows; kInput, a reduction and what precedes; kLoop, one loop nest. */
static int64_t kind_of(const struct members *k) {
    enum fuse_schedule s = k->kernel->schedule;
    if (s == FUSE_CONTRACT || s == FUSE_STAGES)
        return IR_FUSION_KIND_kOutput;
    bool reduces = fuse_class(ir_kind(k->x->m, k->kernel->root)) == FUSE_REDUCTION;
    return s == FUSE_ROWS || reduces ? IR_FUSION_KIND_kInput : IR_FUSION_KIND_kLoop;
}

/* The fusion, in no block. */
static ir_op build_fusion(const struct members *k) {
    struct fusions *x = k->x;
    struct ir_module *m = x->m;
    uint32_t nouts = k->kernel->outs.n;
    ir_val *operands = ARENA_ARRAY(x->b->a, ir_val, k->params.n + 1), *results = ARENA_ARRAY(x->b->a, ir_val, nouts + 1);
    ir_type *types = ARENA_ARRAY(x->b->a, ir_type, nouts + 1);
    for (uint32_t i = 0; i < k->params.n; i++)
        operands[i] = opt_map_get(&x->outer, k->params.v[i]);
    for (uint32_t i = 0; i < nouts; i++)
        types[i] = ir_val_get(m, k->kernel->outs.v[i])->type;
    ir_op op = ir_op_new(m, IR_FUSION, operands, k->params.n, types, nouts, 1);
    const struct ir_op_data *root = ir_op_get(m, k->kernel->root);
    ir_set_loc(m, op, root->loc, root->line, root->col);
    ir_set_prop(m, op, IR_FUSION_fusion_kind, ir_attr_enum(m, IR_ENUM_FUSION_KIND, kind_of(k)));
    ir_block block = ir_block_new(m, ir_op_region(m, op, 0));
    for (uint32_t i = 0; i < k->params.n; i++)
        opt_map_set(&x->inner, k->params.v[i], ir_block_add_arg(m, block, ir_val_get(m, k->params.v[i])->type));
    for (uint32_t i = 0; i < k->ops.n; i++)
        ir_append(m, block, opt_clone(&x->inner, k->ops.v[i].op));
    for (uint32_t i = 0; i < nouts; i++)
        results[i] = opt_map_get(&x->inner, k->kernel->outs.v[i]);
    ir_append(m, block, ir_op_new(m, IR_RETURN, results, nouts, NULL, 0, 0));
    return op;
}

static void update_region(struct fusions *x, ir_region r) {
    for (ir_block b = ir_region_get(x->m, r)->first; !IR_NONE(b); b = ir_block_get(x->m, b)->next)
        for (ir_op op = ir_block_get(x->m, b)->first; !IR_NONE(op); op = ir_op_get(x->m, op)->next) {
            opt_update(&x->outer, op);
            for (uint32_t i = 0; i < ir_op_get(x->m, op)->nregions; i++)
                update_region(x, ir_op_region(x->m, op, i));
        }
}

/* Moves the op, with its operands updated, before the end of the block. */
static void place_op(struct fusions *x, ir_op op, ir_op end) {
    ir_unlink(x->m, op);
    opt_update(&x->outer, op);
    for (uint32_t i = 0; i < ir_op_get(x->m, op)->nregions; i++)
        update_region(x, ir_op_region(x->m, op, i));
    ir_insert_before(x->m, end, op);
}

/* Its ops in the order of the steps; ops that are computed within kernels stay before them, without users. */
static void fuse_block_ops(struct fusions *x, ir_block block) {
    struct ir_module *m = x->m;
    struct fuse_block f;
    uint32_t n = 0;
    build_cluster(x->b, block, &f);
    for (ir_op op = ir_block_get(m, block)->first; !IR_NONE(op); op = ir_op_get(m, op)->next)
        opt_ids_set(&x->place, op.i, ++n);
    ir_op end = ir_terminator(m, block);
    for (uint32_t i = 0; i < f.steps.n; i++) {
        const struct fuse_step *s = &f.steps.v[i];
        struct members k = {.x = x, .f = &f, .block = block, .kernel = s->kernel};
        if (s->kind != FUSE_STEP_KERNEL) {
            bool flow = s->kind == FUSE_STEP_OP && fuse_class(ir_kind(m, s->op)) == FUSE_FLOW;
            for (uint32_t r = 0; flow && r < ir_op_get(m, s->op)->nregions; r++)
                fuse_block_ops(x, ir_region_get(m, ir_op_region(m, s->op, r))->first);
            place_op(x, s->op, end);
            continue;
        }
        collect(&k);
        if (k.ncomputed < 2) {
            place_op(x, ir_val_get(m, s->kernel->outs.v[0])->op, end);
            continue;
        }
        ir_op fusion = build_fusion(&k);
        ir_insert_before(m, end, fusion);
        for (uint32_t j = 0; j < s->kernel->outs.n; j++)
            opt_map_set(&x->outer, s->kernel->outs.v[j], ir_result(m, fusion, j));
    }
    opt_update(&x->outer, end);
}

hilo_status build_fusions(struct build *b, ir_op func) {
    struct arena *a = b->a;
    struct fusions x = {.b = b, .m = b->m, .outer = opt_map_new(&b->opt), .inner = opt_map_new(&b->opt),
                        .place = {.a = a}, .ops = {.a = a}, .values = {.a = a}};
    fuse_block_ops(&x, ir_func_body(b->m, func));
    struct opt o;
    opt_init(&o, b->m, b->d);
    o.options.passes = "dce";
    o.options.entry = func;
    o.options.verify = true;
    hilo_status status = opt_run(&o);
    opt_free(&o);
    b->m->arena.recover = a->recover;
    return status;
}
