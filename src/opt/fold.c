/* fold: constant folding
 * does       evaluates pure ops whose operands are all constants, by the reference evaluator, and puts constants in their place
 * requires   uses
 * preserves  calls
 * cost       bounded: the work of all that is evaluated (FOLD_WORK), the size of a constant (FOLD_BYTES, or what its op read)
 * example    %0 = constant [1, 2]; %1 = constant [3, 4]; %2 = add %0, %1  ⇒  %2 = constant [4, 6]
 *
 * What can be folded is put into one function and run at once, in a module that has nothing else: planning and starting an
 * evaluation cost more than most ops. Where that fails, for an op that has no result for these operands, halves are tried. Ops
 * without operands, such as iota, stay: they are smaller, and quicker to compute than to read. */
#include "eval/eval.h"
#include "opt/rewrite.h"

enum {
    FOLD_BYTES = 16 << 10,   /* of a constant, even if its op read less */
    FOLD_WORK = 1 << 21      /* arithmetic operations in all, roughly */
};

struct fold {
    struct opt_map map;                                 /* folded results to constants */
    struct { ir_op *v; uint32_t n, cap; } ops;          /* that may be folded, in order */
    struct opt_ids chosen;                              /* by op: 1 */
    struct opt_ids inner;                               /* by value inside of an op's regions: 1 */
    uint64_t work;                                      /* that is left */
};

/* ---- choosing -------------------------------------------------------------------------------- */

/* A constant, or what will be one. */
static bool known(const struct fold *f, ir_val v) {
    const struct ir_module *m = f->map.o->m;
    ir_op op = ir_val_get(m, v)->op;
    if (IR_NONE(op))
        return false;
    if (ir_kind(m, op) != IR_CONSTANT)
        return opt_ids_get(&f->chosen, op.i) != 0;
    return ir_attr_get(m, ir_prop(m, op, IR_CONSTANT_value))->kind == IR_ATTR_DENSE;
}

/* The regions use nothing but what is defined in them. */
static bool closed(struct fold *f, ir_region r) {
    const struct ir_module *m = f->map.o->m;
    const struct ir_block_data *b = ir_block_get(m, ir_region_get(m, r)->first);
    for (uint32_t i = 0; i < b->nargs; i++)
        opt_ids_set(&f->inner, b->args[i].i, 1);
    for (ir_op op = b->first; !IR_NONE(op); op = ir_op_get(m, op)->next) {
        const struct ir_op_data *x = ir_op_get(m, op);
        if (!ir_op_has((enum ir_op_kind)x->kind, IR_T_PURE | IR_T_TERMINATOR))
            return false;
        for (uint32_t i = 0; i < x->noperands; i++)
            if (!opt_ids_get(&f->inner, x->operands[i].i))
                return false;
        for (uint32_t i = 0; i < x->nregions; i++)
            if (!closed(f, ir_op_region(m, op, i)))
                return false;
        for (uint32_t i = 0; i < x->nresults; i++)
            opt_ids_set(&f->inner, ir_result(m, op, i).i, 1);
    }
    return true;
}

/* Elements and bytes of a tensor of plain numbers; false for anything else. */
static bool measure(const struct ir_module *m, ir_val v, uint64_t *elements, uint64_t *bytes) {
    const struct ir_type_data *t = ir_val_type(m, v);
    size_t n, size;
    if (t->kind != IR_TYPE_TENSOR || t->quant || !ir_type_count(t, &n) || !ir_type_bytes(t, &size))
        return false;
    *elements += n;
    *bytes += size;
    return true;
}

/* A product of what is read and written bounds the work of every contraction, reduction and window. */
static bool affordable(struct fold *f, ir_op op) {
    const struct ir_module *m = f->map.o->m;
    const struct ir_op_data *x = ir_op_get(m, op);
    int cost = ir_op_info((enum ir_op_kind)x->kind)->cost;
    uint64_t in = 0, out = 0, read = 0, written = 0, work;
    for (uint32_t i = 0; i < x->noperands; i++)
        if (!measure(m, x->operands[i], &in, &read))
            return false;
    for (uint32_t i = 0; i < x->nresults; i++)
        if (!measure(m, ir_result(m, op, i), &out, &written))
            return false;
    if ((written > FOLD_BYTES && written > read) || in > FOLD_WORK || out > FOLD_WORK)
        return false;
    work = cost < 0 ? 16 + in * (out + 1) : in + out * (uint64_t)(cost + 1);
    if (work > f->work)
        return false;
    f->work -= work;
    return true;
}

static bool foldable(struct fold *f, ir_op op) {
    const struct ir_module *m = f->map.o->m;
    const struct ir_op_data *x = ir_op_get(m, op);
    enum ir_op_kind kind = (enum ir_op_kind)x->kind;
    if (!ir_op_has(kind, IR_T_PURE) || ir_op_has(kind, IR_T_CONSTANT) || x->noperands == 0 || x->nresults == 0 ||
        kind == IR_OPTIMIZATION_BARRIER || kind == IR_SDY_SHARDING_CONSTRAINT)
        return false;
    for (uint32_t i = 0; i < x->noperands; i++)
        if (!known(f, x->operands[i]))
            return false;
    for (uint32_t i = 0; i < x->nregions; i++)
        if (!closed(f, ir_op_region(m, op, i)))
            return false;
    return affordable(f, op);
}

static void choose(struct fold *f, ir_region r) {
    const struct ir_module *m = f->map.o->m;
    for (ir_block b = ir_region_get(m, r)->first; !IR_NONE(b); b = ir_block_get(m, b)->next)
        for (ir_op op = ir_block_get(m, b)->first; !IR_NONE(op); op = ir_op_get(m, op)->next) {
            if (foldable(f, op)) {
                opt_ids_set(&f->chosen, op.i, 1);
                ARENA_PUSH(&f->map.o->scratch, &f->ops, op);
                continue;
            }
            if (ir_op_has(ir_kind(m, op), IR_T_PURE))
                continue; /* what is inside of a reduction is evaluated often, but small */
            for (uint32_t i = 0; i < ir_op_get(m, op)->nregions; i++)
                choose(f, ir_op_region(m, op, i));
        }
}

/* ---- evaluating ------------------------------------------------------------------------------ */

/* Some of the ops, as the body of a function of its own. */
struct batch {
    struct opt_map clones;
    struct opt_ids inside;                              /* by value: 1 + its uses by ops of the batch; of their results only */
    struct { ir_op *v; uint32_t n, cap; } ops;
    struct { ir_val *v; uint32_t n, cap; } needed;      /* results that something else uses */
    ir_block body;
};

/* Puts a copy of the op into the body, with copies of its constants; false when it depends on one that was not folded. */
static bool batch_add(struct fold *f, struct batch *b, ir_op op) {
    struct opt *o = f->map.o;
    const struct ir_op_data *x = ir_op_get(o->m, op);
    for (uint32_t i = 0; i < x->noperands; i++) {
        ir_val v = opt_map_get(&f->map, x->operands[i]);
        ir_op def = ir_val_get(o->m, v)->op;
        if (!opt_ids_get(&b->inside, v.i) && ir_kind(o->m, def) != IR_CONSTANT)
            return false;
    }
    for (uint32_t i = 0; i < x->noperands; i++) {
        ir_val v = opt_map_get(&f->map, x->operands[i]);
        uint32_t uses = opt_ids_get(&b->inside, v.i);
        if (uses)
            opt_ids_set(&b->inside, v.i, uses + 1);
        else if (!opt_ids_get(&b->clones.to, v.i))
            ir_append(o->m, b->body, opt_clone(&b->clones, ir_val_get(o->m, v)->op));
        if (!IR_SAME(v, x->operands[i]))
            opt_map_set(&b->clones, x->operands[i], opt_map_get(&b->clones, v));
    }
    for (uint32_t i = 0; i < x->nresults; i++)
        opt_ids_set(&b->inside, ir_result(o->m, op, i).i, 1);
    ir_append(o->m, b->body, opt_clone(&b->clones, op));
    ARENA_PUSH(&o->scratch, &b->ops, op);
    return true;
}

/* Closes the function: it returns what is used outside of it. */
static void batch_end(struct fold *f, struct batch *b, ir_op func) {
    struct opt *o = f->map.o;
    const struct opt_uses *uses = opt_uses(o);
    for (uint32_t i = 0; i < b->ops.n; i++)
        for (uint32_t k = 0; k < ir_op_get(o->m, b->ops.v[i])->nresults; k++) {
            ir_val v = ir_result(o->m, b->ops.v[i], k);
            if (opt_ids_get(&uses->count, v.i) > opt_ids_get(&b->inside, v.i) - 1)
                ARENA_PUSH(&o->scratch, &b->needed, v);
        }
    uint32_t n = b->needed.n;
    ir_val *values = ARENA_ARRAY(&o->scratch, ir_val, n);
    ir_type *types = ARENA_ARRAY(&o->scratch, ir_type, n);
    for (uint32_t i = 0; i < n; i++) {
        values[i] = opt_map_get(&b->clones, b->needed.v[i]);
        types[i] = ir_val_get(o->m, values[i])->type;
    }
    ir_append(o->m, b->body, ir_op_new(o->m, IR_FUNC_RETURN, values, n, NULL, 0, 0));
    ir_set_prop(o->m, func, IR_FUNC_function_type, ir_attr_of_type(o->m, ir_type_function(o->m, NULL, 0, types, n)));
}

/* Runs the function, which alone is in `root`, and copies what it returns to `data`. Takes nothing from arenas, so nothing can
   be lost. */
static hilo_status batch_run(const struct fold *f, const struct batch *b, ir_op root, ir_op func, struct value **out,
                             char **data) {
    const struct opt *o = f->map.o;
    struct ir_module alone = *o->m;
    alone.root = root;
    struct diag_list ignored;
    diag_init(&ignored, o->d->al);
    struct eval_plan *plan = NULL;
    const hilo_allocator *al = &o->m->arena.al;
    hilo_status status = eval_plan_new(&alone, al, &ignored, &plan);
    if (status == HILO_OK)
        status = eval_plan_run(plan, func, NULL, 0, out, b->needed.n, al, NULL, &ignored);
    for (uint32_t i = 0; i < b->needed.n && status == HILO_OK; i++) {
        if (out[i]->bytes)
            memcpy(data[i], out[i]->data, out[i]->bytes);
        value_unref(out[i]);
    }
    eval_plan_free(plan);
    diag_clear(&ignored);
    return status;
}

static ir_attr dense(struct opt *o, ir_type type, const char *data, size_t bytes) {
    size_t size = ir_dtype_get(ir_type_get(o->m, type)->dtype)->bytes;
    bool splat = bytes > size && memcmp(data, data + size, bytes - size) == 0;
    return ir_attr_dense(o->m, type, data, splat ? size : bytes, splat, /*owned=*/false);
}

/* Puts constants before the ops, whose results they are, and takes the ops out. */
static void batch_replace(struct fold *f, struct batch *b, char **data) {
    struct opt *o = f->map.o;
    for (uint32_t i = 0; i < b->needed.n; i++) {
        ir_val v = b->needed.v[i];
        ir_op op = ir_val_get(o->m, v)->op;
        ir_type type = ir_val_get(o->m, v)->type;
        size_t bytes = 0;
        ir_type_bytes(ir_type_get(o->m, type), &bytes);
        ir_op constant = ir_op_new(o->m, IR_CONSTANT, NULL, 0, &type, 1, 0);
        ir_set_prop(o->m, constant, IR_CONSTANT_value, dense(o, type, data[i], bytes));
        ir_set_loc(o->m, constant, ir_op_get(o->m, op)->loc, ir_op_get(o->m, op)->line, ir_op_get(o->m, op)->col);
        ir_insert_before(o->m, op, constant);
        opt_map_set(&f->map, v, ir_result(o->m, constant, 0));
    }
    for (uint32_t i = 0; i < b->ops.n; i++)
        ir_unlink(o->m, b->ops.v[i]);
    o->changes += b->ops.n;
}

static void fold_range(struct fold *f, uint32_t lo, uint32_t hi) {
    struct opt *o = f->map.o;
    struct batch b = {.clones = opt_map_new(o), .inside = {.a = &o->scratch}};
    ir_op root = ir_op_new(o->m, IR_MODULE, NULL, 0, NULL, 0, 1), func = ir_op_new(o->m, IR_FUNC, NULL, 0, NULL, 0, 1);
    ir_append(o->m, ir_block_new(o->m, ir_op_region(o->m, root, 0)), func);
    b.body = ir_block_new(o->m, ir_op_region(o->m, func, 0));
    for (uint32_t i = lo; i < hi; i++)
        batch_add(f, &b, f->ops.v[i]);
    batch_end(f, &b, func);
    struct value **out = ARENA_ARRAY(&o->scratch, struct value *, b.needed.n);
    char **data = ARENA_ARRAY(&o->scratch, char *, b.needed.n);
    for (uint32_t i = 0; i < b.needed.n; i++) {
        size_t bytes = 0;
        ir_type_bytes(ir_val_type(o->m, b.needed.v[i]), &bytes);
        data[i] = bytes > IR_BLOB_BYTES ? ir_blob_new(o->m, bytes) : arena_alloc(&o->scratch, bytes, 16);
    }
    if (b.ops.n == 0)
        return;
    hilo_status status = batch_run(f, &b, root, func, out, data);
    if (status == HILO_RESOURCE_EXHAUSTED)
        arena_exhausted(&o->scratch);
    if (status == HILO_OK) {
        batch_replace(f, &b, data);
    } else if (hi - lo > 1) {
        fold_range(f, lo, lo + (hi - lo) / 2);
        fold_range(f, lo + (hi - lo) / 2, hi);
    }
}

static void update(const struct opt_map *map, ir_region r) {
    const struct ir_module *m = map->o->m;
    for (ir_block b = ir_region_get(m, r)->first; !IR_NONE(b); b = ir_block_get(m, b)->next)
        for (ir_op op = ir_block_get(m, b)->first; !IR_NONE(op); op = ir_op_get(m, op)->next) {
            opt_update(map, op);
            for (uint32_t i = 0; i < ir_op_get(m, op)->nregions; i++)
                update(map, ir_op_region(m, op, i));
        }
}

hilo_status opt_fold(struct opt *o) {
    struct fold f = {.map = opt_map_new(o), .chosen = {.a = &o->scratch}, .inner = {.a = &o->scratch}, .work = FOLD_WORK};
    ir_region root = ir_op_region(o->m, o->m->root, 0);
    choose(&f, root);
    if (f.ops.n == 0)
        return HILO_OK;
    fold_range(&f, 0, f.ops.n);
    update(&f.map, root);
    return HILO_OK;
}
