/* Rematerialisation: a program whose plan needs more memory than its compilation was given computes again what is cheap,
 * at its late uses, instead of keeping it live since its first use.
 *
 * What a plan needs is known only when it is made, so plans are made, on trial: each reports what is live at the peak
 * without being of use then, the largest of that is computed again by the kernels that use it later (they have ops of their
 * own for it, which clustering puts into them), and the next plan shows what was gained. */
#include "compile/build.h"
#include "compile/remat.h"
#include "opt/rewrite.h"

#include <stdlib.h>

enum {
    REMAT_ROUNDS = 64, /* plans that are made on trial */
    REMAT_STALLS = 12, /* of them in a row that need no less than the best before them */
    REMAT_CHAIN = 32,  /* ops that a value is computed again by */
    REMAT_COST = 64    /* what those may cost, for each element */
};

/* One round. */
struct round {
    struct remat *r;
    struct arena *a;
    struct build *b; /* the plan on trial */
    struct ir_module *m; /* the program, whose ops have the same numbers */
    ir_block body;
    struct fuse_block f;
    struct {
        ir_op *v;
        uint32_t n, cap;
    } ops;                    /* of the body, in order */
    struct opt_ids place;     /* by op of the body: 1 + its place there */
    uint32_t *runs;           /* by place: that of the op whose kernel computes it, as far as it is the first that does */
    uint32_t peak;            /* place of the op at which memory is fullest */
    struct opt_ids live;      /* by buffer: 1 = in memory then, for later */
    struct opt_ids gone;      /* by buffer: 1 = will not be kept any more */
    struct opt_map **again;   /* by place of a kernel: what it computes again */
};

/* Memory that may be saved. */
struct kept {
    uint32_t root; /* buffer */
    size_t bytes;
};

/* ---- where ops stand and run ------------------------------------------------------------------ */

/* Place of the op of the body in which `op` is; UINT32_MAX = it is elsewhere. */
static uint32_t place_of(const struct round *x, ir_op op) {
    while (!IR_NONE(op) && !IR_SAME(ir_op_get(x->m, op)->parent, x->body)) {
        ir_block block = ir_op_get(x->m, op)->parent;
        op = IR_NONE(block) ? (ir_op){0} : ir_region_get(x->m, ir_block_get(x->m, block)->parent)->parent;
    }
    return IR_NONE(op) ? UINT32_MAX : opt_ids_get(&x->place, op.i) - 1;
}

static uint32_t place_of_value(const struct round *x, ir_val v) {
    const struct ir_val_data *d = ir_val_get(x->m, v);
    if (!IR_NONE(d->op))
        return place_of(x, d->op);
    ir_op owner = ir_region_get(x->m, ir_block_get(x->m, d->block)->parent)->parent;
    return IR_NONE(owner) || ir_kind(x->m, owner) == IR_FUNC ? UINT32_MAX : place_of(x, owner);
}

static void wanted(struct round *x, ir_val v, uint32_t at) {
    ir_op op = ir_val_get(x->m, v)->op;
    uint32_t place = IR_NONE(op) ? 0 : opt_ids_get(&x->place, op.i);
    if (place && at < x->runs[place - 1])
        x->runs[place - 1] = at;
}

static void wanted_inside(struct round *x, ir_op op, uint32_t at) {
    const struct ir_op_data *d = ir_op_get(x->m, op);
    for (uint32_t i = 0; i < d->noperands; i++)
        wanted(x, d->operands[i], at);
    for (uint32_t i = 0; i < d->nregions; i++)
        for (ir_block b = ir_region_get(x->m, ir_op_region(x->m, op, i))->first; !IR_NONE(b);
             b = ir_block_get(x->m, b)->next)
            for (ir_op o = ir_block_get(x->m, b)->first; !IR_NONE(o); o = ir_op_get(x->m, o)->next)
                wanted_inside(x, o, at);
}

static const struct fuse_step *step_of(const struct round *x, ir_op op) {
    for (uint32_t i = 0; i < ir_op_get(x->m, op)->nresults; i++) {
        uint32_t step = opt_ids_get(&x->f.kernel_of, ir_result(x->m, op, i).i);
        if (step)
            return &x->f.steps.v[step - 1];
    }
    return NULL;
}

static void find_places(struct round *x) {
    for (ir_op op = ir_block_get(x->m, x->body)->first; !IR_NONE(op); op = ir_op_get(x->m, op)->next) {
        ARENA_PUSH(x->a, &x->ops, op);
        opt_ids_set(&x->place, op.i, x->ops.n);
    }
    x->runs = ARENA_ARRAY(x->a, uint32_t, x->ops.n);
    memset(x->runs, 0xFF, x->ops.n * sizeof *x->runs);
    for (uint32_t i = x->ops.n; i-- > 0;) {
        const struct fuse_step *s = step_of(x, x->ops.v[i]);
        if (s && s->kind != FUSE_STEP_ALIAS)
            x->runs[i] = s->kernel ? opt_ids_get(&x->place, s->kernel->root.i) - 1 : i;
        else if (ir_op_has(ir_kind(x->m, x->ops.v[i]), IR_T_TERMINATOR))
            x->runs[i] = i;
        if (x->runs[i] != UINT32_MAX)
            wanted_inside(x, x->ops.v[i], x->runs[i]);
    }
}

/* ---- what is in memory ------------------------------------------------------------------------ */

static uint32_t root_of(const struct round *x, ir_val v) {
    uint32_t buffer = opt_ids_get(&x->b->buffer, v.i);
    return buffer ? plan_buffer_get(x->b->p, buffer - 1)->root : UINT32_MAX;
}

static bool is_live(const struct round *x, uint32_t root) {
    return root != UINT32_MAX && opt_ids_get(&x->live, root);
}

static void find_peak(struct round *x) {
    const uint32_t *roots;
    uint32_t n = plan_fullest(x->b->p, &roots);
    for (uint32_t i = 0; i < n; i++)
        opt_ids_set(&x->live, roots[i], 1);
    for (uint32_t id = 1; id < x->b->buffer.cap; id++)
        if (is_live(x, root_of(x, (ir_val){id}))) {
            uint32_t place = place_of_value(x, (ir_val){id});
            if (place != UINT32_MAX && x->runs[place] != UINT32_MAX && x->runs[place] > x->peak)
                x->peak = x->runs[place];
        }
}

/* ---- computing again -------------------------------------------------------------------------- */

/* The value can be read late without being kept for it: it is there anyway, or is none that takes memory. */
static bool is_there(const struct round *x, ir_val v) {
    ir_op op = ir_val_get(x->m, v)->op;
    uint32_t root = root_of(x, v);
    return IR_NONE(op) || fuse_is_constant(x->m, v) || (is_live(x, root) && !opt_ids_get(&x->gone, root));
}

static bool is_again(ir_op op, const struct ir_module *m) {
    enum ir_op_kind kind = ir_kind(m, op);
    enum fuse_class cls = fuse_class(kind);
    return ir_op_has(kind, IR_T_PURE) && ir_op_get(m, op)->nregions == 0 && ir_op_get(m, op)->nresults == 1 &&
           (cls == FUSE_ELEMENT || cls == FUSE_MOVE) && kind != IR_OPTIMIZATION_BARRIER;
}

/* Whether v can be computed from what is there; `ops` and `cost` may still be spent on that, and `bytes` be kept for it. */
static bool can_again(const struct round *x, ir_val v, uint32_t *ops, int *cost, size_t *bytes) {
    ir_op op = ir_val_get(x->m, v)->op;
    int each = IR_NONE(op) ? 0 : ir_op_info(ir_kind(x->m, op))->cost;
    if (IR_NONE(op) || !is_again(op, x->m) || *ops == 0 || each < 0 || each > *cost)
        return false;
    --*ops;
    *cost -= each;
    for (uint32_t i = 0; i < ir_op_get(x->m, op)->noperands; i++) {
        ir_val in = ir_operand(x->m, op, i);
        size_t size;
        if (is_there(x, in) || can_again(x, in, ops, cost, bytes))
            continue;
        if (!ir_type_bytes(ir_val_type(x->m, in), &size) || size > *bytes)
            return false;
        *bytes -= size;
    }
    return true;
}

/* The copy of v for the kernel at place `at`; ops go before `user`. The same questions as can_again are asked again. */
static ir_val compute_again(struct round *x, struct opt_map *map, ir_val v, ir_op user) {
    ir_val known = opt_map_get(map, v);
    if (!IR_SAME(known, v))
        return known;
    ir_op op = ir_val_get(x->m, v)->op;
    for (uint32_t i = 0; i < ir_op_get(x->m, op)->noperands; i++) {
        ir_val in = ir_operand(x->m, op, i);
        uint32_t ops = REMAT_CHAIN;
        int cost = REMAT_COST;
        size_t none = 0;
        if (!is_there(x, in) && can_again(x, in, &ops, &cost, &none))
            compute_again(x, map, in, user);
    }
    ir_insert_before(x->m, user, opt_clone(map, op));
    return opt_map_get(map, v);
}

/* A use of memory, after the fullest time. */
struct late {
    uint32_t place, operand; /* the user's, and which of its operands */
};
struct lates {
    struct late *v;
    uint32_t n, cap;
};

static bool reads_inside(const struct round *x, ir_op op, uint32_t root) {
    for (uint32_t i = 0; i < ir_op_get(x->m, op)->nregions; i++)
        for (ir_block b = ir_region_get(x->m, ir_op_region(x->m, op, i))->first; !IR_NONE(b);
             b = ir_block_get(x->m, b)->next)
            for (ir_op o = ir_block_get(x->m, b)->first; !IR_NONE(o); o = ir_op_get(x->m, o)->next) {
                for (uint32_t k = 0; k < ir_op_get(x->m, o)->noperands; k++)
                    if (root_of(x, ir_operand(x->m, o, k)) == root)
                        return true;
                if (reads_inside(x, o, root))
                    return true;
            }
    return false;
}

/* The uses that would have to go; false when one of them cannot. */
static bool find_late(struct round *x, const struct kept *k, struct lates *out) {
    for (uint32_t i = 0; i < x->ops.n; i++) {
        ir_op op = x->ops.v[i];
        if (x->runs[i] == UINT32_MAX)
            continue;
        if (ir_op_get(x->m, op)->nregions && x->runs[i] >= x->peak && reads_inside(x, op, k->root))
            return false;
        const struct fuse_step *s = step_of(x, op);
        if (s && s->kind == FUSE_STEP_ALIAS && root_of(x, ir_result(x->m, op, 0)) == k->root)
            continue; /* the uses of that count */
        for (uint32_t j = 0; j < ir_op_get(x->m, op)->noperands; j++) {
            ir_val v = ir_operand(x->m, op, j);
            uint32_t ops = REMAT_CHAIN;
            int cost = REMAT_COST;
            size_t bytes = k->bytes / 2;
            if (root_of(x, v) != k->root || x->runs[i] < x->peak)
                continue;
            if (x->runs[i] == x->peak || ir_op_has(ir_kind(x->m, op), IR_T_TERMINATOR) ||
                !can_again(x, v, &ops, &cost, &bytes))
                return false;
            struct late late = {i, j};
            ARENA_PUSH(x->a, out, late);
        }
    }
    return out->n > 0;
}

/* Late users compute it again. */
static bool drop(struct round *x, const struct kept *k) {
    struct lates late = {0};
    opt_ids_set(&x->gone, k->root, 1);
    if (!find_late(x, k, &late)) {
        opt_ids_set(&x->gone, k->root, 0);
        return false;
    }
    for (uint32_t i = 0; i < late.n; i++) {
        ir_op user = x->ops.v[late.v[i].place];
        struct opt_map **map = &x->again[x->runs[late.v[i].place]];
        if (!*map) {
            *map = ARENA_NEW(x->a, struct opt_map);
            **map = opt_map_new(&x->r->opt);
        }
        ir_set_operand(x->m, user, late.v[i].operand,
                       compute_again(x, *map, ir_operand(x->m, user, late.v[i].operand), user));
    }
    return true;
}

/* ---- a round ---------------------------------------------------------------------------------- */

static int largest(const void *a, const void *b) {
    const struct kept *x = a, *y = b;
    return x->bytes != y->bytes ? (x->bytes < y->bytes) - (x->bytes > y->bytes) : (x->root > y->root) - (x->root < y->root);
}

/* Drops what is kept until `excess` bytes are saved, as far as that goes; false when nothing was. */
static bool drop_some(struct round *x, size_t excess) {
    const uint32_t *roots;
    uint32_t n = plan_fullest(x->b->p, &roots);
    struct kept *kept = ARENA_ARRAY(x->a, struct kept, n + 1);
    size_t saved = 0;
    for (uint32_t i = 0; i < n; i++)
        kept[i] = (struct kept){roots[i], plan_buffer_get(x->b->p, roots[i])->bytes};
    qsort(kept, n, sizeof *kept, largest);
    for (uint32_t i = 0; i < n && saved < excess; i++)
        if (drop(x, &kept[i]))
            saved += kept[i].bytes;
    return saved > 0;
}

static void end_round(struct remat *r) {
    build_free(r->trial);
    r->trial = NULL;
    opt_free(&r->opt);
    plan_free(&r->plan);
    ir_module_free(r->copy);
    r->copy = NULL;
    arena_free(&r->arena);
}

void remat_free(void *remat) {
    end_round(remat);
}

/* The plan as the program is now, and what it needs. */
static hilo_status try_plan(struct remat *r, size_t *need) {
    r->copy = ir_module_clone(r->m, r->d->al, NULL);
    if (!r->copy)
        return HILO_RESOURCE_EXHAUSTED;
    r->copy->arena.recover = r->arena.recover;
    r->trial = build_new(&r->arena, r->copy, r->d, r->like->level);
    r->trial->target = r->like->target;
    r->trial->libraries = r->like->libraries;
    r->trial->library = r->like->library;
    r->trial->model = r->like->model;
    HILO_TRY(build_plan(r->trial, r->entry, &r->plan));
    *need = plan_needs(&r->plan);
    return HILO_OK;
}

static bool improve(struct remat *r, size_t excess) {
    struct round x = {.r = r, .a = &r->arena, .b = r->trial, .m = r->m, .body = ir_func_body(r->m, r->entry),
                      .place = {.a = &r->arena}, .live = {.a = &r->arena}, .gone = {.a = &r->arena}};
    opt_init(&r->opt, r->m, r->d);
    r->opt.scratch.recover = r->arena.recover;
    build_cluster(r->trial, ir_func_body(r->copy, r->entry), &x.f);
    find_places(&x);
    find_peak(&x);
    x.again = ARENA_ARRAY(x.a, struct opt_map *, x.ops.n);
    return drop_some(&x, excess);
}

hilo_status remat_fit(struct remat *r) {
    size_t need = 0;
    r->least = SIZE_MAX;
    for (int round = 0, stalls = 0; round < REMAT_ROUNDS && stalls < REMAT_STALLS; round++) {
        HILO_TRY(try_plan(r, &need));
        stalls = need < r->least ? 0 : stalls + 1;
        r->least = need < r->least ? need : r->least;
        bool more = need > r->limit && improve(r, need - r->limit);
        end_round(r);
        if (need <= r->limit)
            return HILO_OK;
        if (!more)
            break;
    }
    return diag_error(r->d, HILO_RESOURCE_EXHAUSTED,
                      "the program needs %zu bytes for results and what is between, more than the limit of %zu, though large "
                      "values are computed part by part, and cheap ones again, where that helps; its arguments are not counted",
                      r->least, r->limit);
}
