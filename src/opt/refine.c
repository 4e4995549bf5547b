/* A program of unknown sizes for arguments of known ones: opt_refine (opt.h).
 *
 * The parameters get the new types, and casts convert to the old ones; from there the passes `shapes` and `fold` go on in turn,
 * one finding sizes, the other computing with them, until nothing more is found. The variables of a loop are taken to keep the
 * sizes that they begin with. Where they do not, an unknown size or a cast between different ones is left. */
#include "opt/rewrite.h"

enum { REFINE_ROUNDS = 64 };

struct refine {
    struct opt_map map;     /* values that have a new type to casts to the old one */
    struct opt_ids casts;   /* by op: 1 for those, which use what the map replaces */
    uint32_t changes;
};

bool opt_refines(const struct ir_module *m, ir_type type, ir_type than) {
    const struct ir_type_data *a = ir_type_get(m, type), *b = ir_type_get(m, than);
    bool more = false;
    if (a->kind != IR_TYPE_TENSOR || b->kind != IR_TYPE_TENSOR || !IR_SAME(a->elem, b->elem) || a->rank != b->rank ||
        a->bounds || b->bounds || !IR_NONE(b->encoding))
        return false;
    for (uint32_t i = 0; i < a->rank; i++) {
        if (a->dims[i] != b->dims[i] && b->dims[i] != IR_DYNAMIC)
            return false;
        more |= a->dims[i] != b->dims[i];
    }
    return more;
}

ir_val opt_precise(const struct ir_module *m, ir_val v) {
    ir_op op = ir_val_get(m, v)->op;
    if (IR_NONE(op) || ir_kind(m, op) != IR_TENSOR_CAST)
        return v;
    ir_val x = ir_operand(m, op, 0);
    return opt_refines(m, ir_val_get(m, x)->type, ir_val_get(m, v)->type) ? x : v;
}

/* ---- types ----------------------------------------------------------------------------------- */

static ir_val cast(struct opt *o, ir_op before, ir_val v, ir_type type) {
    const struct ir_op_data *x = ir_op_get(o->m, before);
    ir_op op = ir_op_new(o->m, IR_TENSOR_CAST, &v, 1, &type, 1, 0);
    ir_set_loc(o->m, op, x->loc, x->line, x->col);
    ir_insert_before(o->m, before, op);
    return ir_result(o->m, op, 0);
}

/* Gives a value the type; its users get a cast to the old one, inserted before `before`. */
static void retype(struct refine *f, ir_val v, ir_type type, ir_op before) {
    struct opt *o = f->map.o;
    ir_val old = cast(o, before, v, ir_val_get(o->m, v)->type);
    ir_set_type(o->m, v, type);
    opt_ids_set(&f->casts, ir_val_get(o->m, old)->op.i, 1);
    opt_map_set(&f->map, v, old);
    f->changes++;
}

static void update(const struct refine *f, ir_region r) {
    const struct ir_module *m = f->map.o->m;
    for (ir_block b = ir_region_get(m, r)->first; !IR_NONE(b); b = ir_block_get(m, b)->next)
        for (ir_op op = ir_block_get(m, b)->first; !IR_NONE(op); op = ir_op_get(m, op)->next) {
            if (!opt_ids_get(&f->casts, op.i))
                opt_update(&f->map, op);
            for (uint32_t i = 0; i < ir_op_get(m, op)->nregions; i++)
                update(f, ir_op_region(m, op, i));
        }
}

/* ---- loops, functions ------------------------------------------------------------------------ */

static void loop(struct refine *f, ir_op op) {
    struct opt *o = f->map.o;
    ir_block test = ir_region_get(o->m, ir_op_region(o->m, op, 0))->first;
    ir_block body = ir_region_get(o->m, ir_op_region(o->m, op, 1))->first;
    for (uint32_t i = 0; i < ir_op_get(o->m, op)->noperands; i++) {
        ir_val v = ir_operand(o->m, op, i), from = opt_precise(o->m, v);
        ir_op end = ir_terminator(o->m, body);
        if (IR_SAME(v, from))
            continue;
        ir_type type = ir_val_get(o->m, from)->type;
        ir_set_operand(o->m, op, i, from);
        retype(f, ir_block_get(o->m, test)->args[i], type, ir_block_get(o->m, test)->first);
        retype(f, ir_block_get(o->m, body)->args[i], type, ir_block_get(o->m, body)->first);
        ir_set_operand(o->m, end, i, cast(o, end, ir_operand(o->m, end, i), type));
        retype(f, ir_result(o->m, op, i), type, ir_op_get(o->m, op)->next);
    }
}

static void loops(struct refine *f, ir_region r) {
    const struct ir_module *m = f->map.o->m;
    for (ir_block b = ir_region_get(m, r)->first; !IR_NONE(b); b = ir_block_get(m, b)->next)
        for (ir_op op = ir_block_get(m, b)->first; !IR_NONE(op); op = ir_op_get(m, op)->next) {
            if (ir_kind(m, op) == IR_WHILE)
                loop(f, op);
            for (uint32_t i = 0; i < ir_op_get(m, op)->nregions; i++)
                loops(f, ir_op_region(m, op, i));
        }
}

static void parameters(struct refine *f, ir_op func, const ir_type *types) {
    const struct ir_module *m = f->map.o->m;
    const struct ir_block_data *body = ir_block_get(m, ir_func_body(m, func));
    for (uint32_t i = 0; i < body->nargs; i++)
        if (!IR_SAME(ir_val_get(m, body->args[i])->type, types[i]))
            retype(f, body->args[i], types[i], body->first);
}

/* What is returned, in the most precise types, and the function's own type. */
static void results(struct opt *o, ir_op func) {
    struct ir_module *m = o->m;
    const struct ir_block_data *body = ir_block_get(m, ir_func_body(m, func));
    ir_op end = body->last;
    uint32_t nin = body->nargs, nout = ir_op_get(m, end)->noperands;
    ir_type *types = ARENA_ARRAY(&o->scratch, ir_type, nin + nout + 1);
    for (uint32_t i = 0; i < nin; i++)
        types[i] = ir_val_get(m, body->args[i])->type;
    for (uint32_t i = 0; i < nout; i++) {
        ir_set_operand(m, end, i, opt_precise(m, ir_operand(m, end, i)));
        types[nin + i] = ir_val_get(m, ir_operand(m, end, i))->type;
    }
    ir_set_prop(m, func, IR_FUNC_function_type,
                ir_attr_of_type(m, ir_type_function(m, types, nin, types + nin, nout)));
}

/* ---- the call -------------------------------------------------------------------------------- */

/* Outside of the passes: parameters where types are given, else loops; then the results. */
static void advance(struct opt *o, ir_op func, const ir_type *types, uint32_t *changes) {
    struct refine f = {.map = opt_map_new(o), .casts = {.a = &o->scratch}};
    if (types)
        parameters(&f, func, types);
    else
        loops(&f, ir_op_region(o->m, func, 0));
    if (f.changes)
        update(&f, ir_op_region(o->m, func, 0));
    results(o, func);
    *changes += f.changes;
}

static void recover_at(struct opt *o, jmp_buf *recover) {
    o->m->arena.recover = o->scratch.recover = recover;
}

/* The same with a recovery point. */
static hilo_status step(struct opt *o, ir_op func, const ir_type *types, uint32_t *changes) {
    jmp_buf recover;
    recover_at(o, &recover);
    if (setjmp(recover)) {
        recover_at(o, NULL);
        return HILO_RESOURCE_EXHAUSTED;
    }
    advance(o, func, types, changes);
    recover_at(o, NULL);
    arena_free(&o->scratch);
    return HILO_OK;
}

static hilo_status passes(struct opt *o, const char *list, uint32_t *changes) {
    uint32_t n = o->rows.n;
    o->options.passes = list;
    HILO_TRY(opt_run(o));
    for (; n < o->rows.n; n++)
        *changes += o->rows.v[n].changes;
    return HILO_OK;
}

hilo_status opt_refine(struct opt *o, ir_op func, const ir_type *types) {
    const struct opt_options given = o->options;
    uint32_t changes = 0;
    o->options.entry = func;
    o->options.verify = false;
    o->options.stop_after = NULL;
    hilo_status status = passes(o, "inline", &changes);
    if (status == HILO_OK)
        status = step(o, func, types, &changes);
    changes = 1;
    for (int round = 0; round < REFINE_ROUNDS && changes && status == HILO_OK; round++) {
        changes = 0;
        status = passes(o, "shapes,fold", &changes);
        if (status == HILO_OK)
            status = step(o, func, NULL, &changes);
    }
    if (status == HILO_OK)
        status = passes(o, "dce", &changes);
    o->options = given;
    return status;
}
