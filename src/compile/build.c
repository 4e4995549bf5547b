/* The walk over a function's blocks; see build.h. */
#include "compile/build.h"
#include "compile/code.h"

#include <stdio.h>

enum { BUILD_SPLAT = 4096 }; /* bytes of a constant of equal elements that are written out when the program is compiled */

/* ---- what can be planned ---------------------------------------------------------------------- */

static enum build_can can_value(const struct ir_module *m, ir_val v) {
    const struct ir_type_data *t = ir_val_type(m, v);
    size_t n;
    if (t->kind == IR_TYPE_TOKEN)
        return BUILD_ALL;
    if (t->kind != IR_TYPE_TENSOR && t->kind != IR_TYPE_MEMREF)
        return t->kind == IR_TYPE_UNRANKED ? BUILD_SIZES : BUILD_NOTHING;
    return ir_type_bytes(t, &n) ? BUILD_ALL : ir_type_is_static(t) ? BUILD_NOTHING : BUILD_SIZES;
}

static enum build_can worse(enum build_can a, enum build_can b) {
    return a < b ? a : b;
}

/* A token, or a tensor whose size is not known: it has no buffer, and goes from evaluation to evaluation. */
static bool is_run_value(const struct ir_module *m, ir_val v) {
    const struct ir_type_data *t = ir_val_type(m, v);
    return t->kind == IR_TYPE_TOKEN || !ir_type_is_static(t);
}

/* Other ops than constants, and constants whose elements are there: a resource may be named and missing. */
static bool has_data(const struct ir_module *m, ir_op op) {
    if (IR_NONE(op) || !ir_op_has(ir_kind(m, op), IR_T_CONSTANT))
        return true;
    const struct ir_attr_data *a = ir_attr_get(m, ir_constant_value(m, op));
    return (a->kind == IR_ATTR_DENSE || a->kind == IR_ATTR_RESOURCE) && (a->data || ir_val_count(m, ir_result(m, op, 0)) == 0);
}

static bool is_flow(enum ir_op_kind kind) {
    return fuse_class(kind) == FUSE_FLOW;
}

static enum build_can can_block(const struct ir_module *m, ir_block b) {
    const struct ir_block_data *x = ir_block_get(m, b);
    enum build_can can = BUILD_ALL;
    for (uint32_t i = 0; i < x->nargs; i++)
        can = worse(can, can_value(m, x->args[i]));
    for (ir_op op = x->first; !IR_NONE(op) && can != BUILD_NOTHING; op = ir_op_get(m, op)->next) {
        const struct ir_op_data *o = ir_op_get(m, op);
        for (uint32_t i = 0; i < o->nresults; i++)
            can = worse(can, can_value(m, ir_result(m, op, i)));
        for (uint32_t i = 0; i < o->nregions && is_flow((enum ir_op_kind)o->kind); i++)
            can = worse(can, can_block(m, ir_region_get(m, ir_op_region(m, op, i))->first));
    }
    return can;
}

enum build_can build_can(const struct ir_module *m, ir_op func) {
    return can_block(m, ir_func_body(m, func));
}

/* ---- buffers ---------------------------------------------------------------------------------- */

void build_bind(struct build *b, ir_val v, uint32_t buffer) {
    opt_ids_set(&b->buffer, v.i, buffer + 1);
}

uint32_t build_joined(struct build *b, ir_op join) {
    ir_val v = ir_result(b->m, join, 0);
    uint32_t known = opt_ids_get(&b->buffer, v.i);
    if (known)
        return known - 1;
    uint32_t buffer = build_temp(b, v);
    plan_undefined(b->p, buffer);
    return buffer;
}

/* A part of a divided step's result that is computed where the whole is: in its place. */
static bool part_in_place(struct build *b, ir_val v, uint32_t *out) {
    ir_op join = {b->divided ? opt_ids_get(&b->divided->joined, v.i) : 0};
    if (IR_NONE(join) || opt_ids_get(&b->divided->side, join.i) != 1 + (uint32_t)b->on_device)
        return false;
    const struct ir_type_data *t = ir_val_type(b->m, v);
    uint32_t axis = (uint32_t)ir_prop_i64(b->m, join, IR_CONCATENATE_dimension);
    size_t offset = b->on_device ? 0 : divide_bytes(t, axis) * (size_t)ir_val_type(b->m, ir_operand(b->m, join, 0))->dims[axis];
    if (!divide_is_outermost(t, axis) || offset % DIVIDE_ALIGN)
        return false;
    *out = plan_alias(b->p, build_joined(b, join), offset, t->dtype, t->rank, t->dims);
    return true;
}

uint32_t build_temp(struct build *b, ir_val v) {
    const struct ir_type_data *t = ir_val_type(b->m, v);
    uint32_t part;
    if (part_in_place(b, v, &part)) {
        build_bind(b, v, part);
        return part;
    }
    bool token = t->kind == IR_TYPE_TOKEN;
    uint32_t buffer = is_run_value(b->m, v) ? plan_value(b->p, token ? IR_DTYPE_NONE : t->dtype, token ? 0 : t->rank, t->dims)
                                            : plan_temp(b->p, t->dtype, t->rank, t->dims);
    build_bind(b, v, buffer);
    return buffer;
}

static void kernel(struct build *b, const struct fuse_block *f, ir_block block, const struct fuse_kernel *k);

void build_single(struct build *b, ir_op op) {
    ir_val v = ir_result(b->m, op, 0);
    const struct ir_type_data *t = ir_val_type(b->m, v);
    struct fuse_block all = {.kernel_of = {.a = b->a}};
    struct fuse_kernel k = {.schedule = FUSE_MAP, .root = op, .rank = t->rank};
    memcpy(k.dims, t->dims, t->rank * sizeof *t->dims);
    ARENA_PUSH(b->a, &k.outs, v);
    const struct fuse_step other = {.kind = FUSE_STEP_OP};
    ARENA_PUSH(b->a, &all.steps, other); /* which has stored the operands */
    for (uint32_t i = 0; i < ir_op_get(b->m, op)->noperands; i++)
        opt_ids_set(&all.kernel_of, ir_operand(b->m, op, i).i, 1);
    kernel(b, &all, ir_op_get(b->m, op)->parent, &k);
}

/* A large constant of equal elements is written by a kernel, so that no file or process has to hold it. */
static uint32_t fill(struct build *b, ir_val v) {
    build_single(b, ir_val_get(b->m, v)->op);
    ARENA_PUSH(b->a, &b->fills, v);
    return opt_ids_get(&b->buffer, v.i) - 1;
}

static uint32_t constant(struct build *b, ir_val v) {
    const struct ir_type_data *t = ir_val_type(b->m, v);
    const struct ir_attr_data *a = ir_attr_get(b->m, ir_constant_value(b->m, ir_val_get(b->m, v)->op));
    size_t bytes = 0, one = ir_dtype_get(t->dtype)->bytes;
    (void)ir_type_bytes(t, &bytes);
    const void *data = a->data;
    if (!has_data(b->m, ir_val_get(b->m, v)->op)) { /* evaluating it reports that */
        build_op(b, ir_val_get(b->m, v)->op);
        ARENA_PUSH(b->a, &b->fills, v);
        return opt_ids_get(&b->buffer, v.i) - 1;
    }
    if (a->splat && bytes > BUILD_SPLAT && lower_supports(b->m, ir_val_get(b->m, v)->op))
        return fill(b, v);
    if (a->splat && a->nbytes < bytes) {
        char *all = arena_alloc(b->a, bytes, 64);
        for (size_t i = 0; i < bytes; i += one)
            memcpy(all + i, a->data, one);
        data = all;
    }
    uint32_t buffer = plan_constant(b->p, t->dtype, t->rank, t->dims, data);
    build_bind(b, v, buffer);
    return buffer;
}

uint32_t build_buffer(struct build *b, ir_val v) {
    uint32_t known = opt_ids_get(&b->buffer, v.i);
    return known ? known - 1 : constant(b, v);
}

/* ---- kernels ---------------------------------------------------------------------------------- */

/* The slot of the kernel with this hash, or the free one where it belongs. */
static uint32_t *slot_of(const struct build *b, const uint8_t *hash) {
    uint32_t at;
    memcpy(&at, hash, sizeof at);
    for (at &= b->kernels.nslots - 1;; at = (at + 1) & (b->kernels.nslots - 1)) {
        uint32_t *slot = &b->kernels.slots[at];
        if (!*slot || memcmp(b->kernels.v[*slot - 1].hash, hash, BLAKE2_BYTES) == 0)
            return slot;
    }
}

/* Makes room for one more kernel. */
static void grow_slots(struct build *b) {
    if (2 * (b->kernels.n + 1) <= b->kernels.nslots)
        return;
    b->kernels.nslots = b->kernels.nslots ? 2 * b->kernels.nslots : 64;
    b->kernels.slots = ARENA_ARRAY(b->a, uint32_t, b->kernels.nslots);
    for (uint32_t i = 0; i < b->kernels.n; i++)
        *slot_of(b, b->kernels.v[i].hash) = i + 1;
}

/* The hash of a kernel, whatever it is called; equal hashes are equal kernels. */
static void hash_kernel(struct build *b, const struct kir *k, uint8_t *out) {
    struct blake2 h;
    blake2_init(&h);
    kir_print(k, &b->text); /* freed with the rest when memory ends in between */
    if (b->text.failed)
        arena_exhausted(b->a);
    blake2_add(&h, b->text.p, b->text.n);
    blake2_add(&h, &b->on_device, sizeof b->on_device);
    blake2_end(&h, out);
    b->text.n = 0;
}

/* The one kernel that is as the k-th that was lowered, which is freed where there is one already: then with what a library has
   prepared for it, because equal kernels compute the same of their parameters. */
static const struct plan_kernel *unique(struct build *b, uint32_t index) {
    struct lowered_kernel *l = &b->now.kernels[index];
    struct build_kernel entry = {.kir = l->kernel, .target = b->target};
    hash_kernel(b, l->kernel, entry.hash);
    grow_slots(b);
    uint32_t *slot = slot_of(b, entry.hash);
    if (*slot) {
        kir_free(l->kernel);
        l->kernel = NULL;
        b->stays = b->kernels.v[*slot - 1].stays;
        return b->kernels.v[*slot - 1].step;
    }
    char name[32];
    int n = snprintf(name, sizeof name, "kernel%u", b->kernels.n);
    struct plan_kernel *step = entry.step = ARENA_NEW(b->a, struct plan_kernel);
    b->stays = NULL;
    *step = (struct plan_kernel){.name = arena_dup(b->a, name, (size_t)n + 1, 1),
                                 .kir = l->kernel,
                                 .nparams = kir_param_count(l->kernel),
                                 .grid = kir_grid_extent(l->kernel),
                                 .scratch_bytes = l->kernel->scratch_bytes,
                                 .ns = l->ns,
                                 .packs = l->packs,
                                 .library = b->replaced ? build_instead(b, b->replaced) : NULL};
    if (b->on_device && !code_launch(l->kernel, b->target, step))
        arena_exhausted(b->a);
    entry.stays = b->stays;
    ARENA_PUSH(b->a, &b->kernels, entry);
    *slot = b->kernels.n;
    l->kernel->name = step->name;
    l->kernel = NULL;
    return step;
}

static bool is_empty(const struct build *b, ir_val v) {
    return ir_val_count(b->m, v) == 0;
}

/* Of each parameter that is an IN, the bytes that the kernel reads at most. */
static uint64_t *read_bytes(struct build *b, const struct kir *k) {
    uint64_t *bytes = ARENA_ARRAY(&b->scratch, uint64_t, k->buffers.n + 1);
    for (uint32_t i = 0, n = 0; i < k->buffers.n; i++) {
        const struct kir_buffer *x = &k->buffers.v[i];
        if (x->role != KIR_SCRATCH)
            bytes[n++] = x->role == KIR_IN ? (uint64_t)kir_read_elements(k, i) * ir_dtype_get(x->dtype)->bytes : 0;
    }
    return bytes;
}

/* `reads`: the bytes of an IN that the kernel reads. */
static struct plan_use param(struct build *b, const struct lower_param *p, uint64_t reads, const uint32_t *temps) {
    if (IR_NONE(p->v))
        return (struct plan_use){temps[p->temp], p->role == KIR_IN ? PLAN_IN : PLAN_OUT, 0, reads};
    if (p->role == KIR_IN)
        return (struct plan_use){build_buffer(b, p->v), PLAN_IN, 0, reads};
    if (p->role == KIR_OUT)
        return (struct plan_use){build_temp(b, p->v), PLAN_OUT, p->overlay, 0};
    const struct ir_val_data *x = ir_val_get(b->m, p->v);
    uint32_t from = build_buffer(b, lower_inplace_operand(b->m, p->v)), to = build_temp(b, p->v);
    if (ir_kind(b->m, x->op) == IR_WHILE && opt_loop_overwrites(b->m, x->op, b->a)[x->index])
        plan_undefined(b->p, to);
    else
        plan_copy(b->p, 1, &from, &to);
    return (struct plan_use){to, PLAN_INOUT, 0, 0};
}

void build_lowered(struct build *b) {
    uint32_t *temps = ARENA_ARRAY(&b->scratch, uint32_t, b->now.temps.n + 1), most = 0;
    for (uint32_t i = 1; i < b->now.nkernels; i++)
        most = b->now.kernels[i].ns > b->now.kernels[most].ns ? i : most;
    for (uint32_t i = 0; i < b->now.temps.n; i++)
        temps[i] = plan_temp(b->p, b->now.temps.v[i].dtype, 1, &b->now.temps.v[i].count);
    for (uint32_t i = b->now.nkernels; i-- > 0;) {
        const struct lower_param *params = b->now.kernels[i].params.v;
        uint32_t nparams = b->now.kernels[i].params.n;
        struct plan_use *uses = ARENA_ARRAY(&b->scratch, struct plan_use, nparams + 1);
        (void)kir_run_passes(b->now.kernels[i].kernel, NULL, NULL, b->d); /* the pipeline has no wrong names */
        uint64_t *reads = read_bytes(b, b->now.kernels[i].kernel);
        const struct plan_kernel *step = unique(b, i);
        for (uint32_t j = 0; j < nparams; j++)
            uses[j] = param(b, &params[j], reads[j], temps);
        plan_note(b->p, !b->note       ? NULL
                        : i != most    ? build_note_part(b, i > most)
                        : b->stays     ? build_note_stays(b, b->stays)
                                       : b->note);
        plan_kernel(b->p, step, uses);
        plan_note(b->p, NULL);
    }
    b->now = (struct lowered){.nkernels = 0};
    b->replaced = NULL;
    arena_reset(&b->scratch);
    if (b->code)
        code_generate(b, false);
}

static void kernel(struct build *b, const struct fuse_block *f, ir_block block, const struct fuse_kernel *k) {
    if (is_empty(b, k->outs.v[0])) {
        for (uint32_t i = 0; i < k->outs.n; i++)
            plan_undefined(b->p, build_temp(b, k->outs.v[i]));
        return;
    }
    if (k->schedule == FUSE_INTO) /* first, because it may need a kernel itself */
        (void)build_buffer(b, ir_operand(b->m, k->anchor, 0));
    lower_kernel(&b->scratch, b->m, f, block, k, b->target, &b->now);
    b->replaced = b->instead ? k : NULL;
    build_lowered(b);
}

struct build *build_new(struct arena *a, struct ir_module *m, struct diag_list *d, int level) {
    struct build *b = ARENA_NEW(a, struct build);
    *b = (struct build){.a = a, .m = m, .d = d, .level = level, .chosen = {.a = a}};
    arena_init(&b->scratch, a->al, a->recover);
    strbuf_init(&b->text, a->al);
    opt_init(&b->opt, m, d);
    b->opt.scratch.recover = a->recover;
    return b;
}

void build_free(struct build *b) {
    if (!b)
        return;
    for (uint32_t i = 0; i < b->kernels.n; i++)
        kir_free(b->kernels.v[i].kir);
    b->kernels.n = 0;
    lowered_free(&b->now);
    arena_free(&b->scratch);
    strbuf_free(&b->text);
    opt_free(&b->opt); /* may be called twice */
}

/* ---- blocks ----------------------------------------------------------------------------------- */

bool build_is_static(const struct build *b, ir_op op) {
    const struct ir_op_data *x = ir_op_get(b->m, op);
    for (uint32_t i = 0; i < x->noperands; i++)
        if (is_run_value(b->m, x->operands[i]) || !has_data(b->m, ir_val_get(b->m, x->operands[i])->op))
            return false;
    for (uint32_t i = 0; i < x->nresults; i++)
        if (is_run_value(b->m, ir_result(b->m, op, i)))
            return false;
    return has_data(b->m, op);
}

static bool lowers(void *user, ir_op op) {
    const struct divided *divided = ((const struct build *)user)->divided;
    if (divided && opt_ids_get(&divided->own, op.i))
        return false;
    const struct build_choice *c = build_choose(user, op);
    return build_is_static(user, op) && lower_supports(((const struct build *)user)->m, op) && !(c && c->match.by != LIB_OWN);
}

static void alias(struct build *b, ir_op op) {
    for (uint32_t i = 0; i < ir_op_get(b->m, op)->nresults; i++) {
        const struct ir_type_data *t = ir_val_type(b->m, ir_result(b->m, op, i));
        uint32_t of = build_buffer(b, ir_operand(b->m, op, i));
        build_bind(b, ir_result(b->m, op, i), plan_alias(b->p, of, 0, t->dtype, t->rank, t->dims));
    }
}

void build_cluster(struct build *b, ir_block block, struct fuse_block *out) {
    struct fuse_options o = {.level = b->level, .hoists = b->hoists, .batch_invariant = b->batch_invariant,
                             .target = b->target, .lowers = lowers, .user = b};
    fuse_block(b->a, b->m, block, &o, out);
}

static void build_step(struct build *b, ir_block block, const struct fuse_block *f, const struct fuse_step *s) {
    if (s->kind == FUSE_STEP_KERNEL) {
        b->note = build_note(b, block, f, s->kernel);
        kernel(b, f, block, s->kernel);
        b->note = NULL;
    } else if (s->kind == FUSE_STEP_ALIAS) {
        alias(b, s->op);
    } else {
        build_op(b, s->op);
    }
}

void build_block(struct build *b, ir_block block, const struct fuse_block *f) {
    for (uint32_t i = 0; i < f->steps.n; i++)
        build_step(b, block, f, &f->steps.v[i]);
}

void build_forget(struct build *b, uint32_t fills) {
    while (b->fills.n > fills)
        opt_ids_set(&b->buffer, b->fills.v[--b->fills.n].i, 0);
}

/* ---- two units -------------------------------------------------------------------------------- */

/* Kernels are for the GPU, or for the processor, from now on. */
static void use_unit(struct build *b, bool device) {
    if (b->on_device == device)
        return;
    const struct target *t = b->target;
    b->target = b->processor;
    b->processor = t;
    b->on_device = device;
}

/* Decides where the steps of the entry run. Those that are placed on one unit are clustered for it. */
static void place_steps(struct build *b, ir_block body, struct fuse_block *f) {
    b->offload = ARENA_NEW(b->a, struct offload);
    offload(b->a, &b->scratch, b->m, body, f, b->machine, b->revoked, b->offload);
    arena_reset(&b->scratch);
    if (b->offload->to == OFFLOAD_NONE) {
        use_unit(b, false);
        build_cluster(b, body, f);
    }
    if (b->offload->to != OFFLOAD_PART)
        return;
    b->hoists = false; /* what is kept has one memory */
    if (b->offload->divisions.n) {
        b->divided = ARENA_NEW(b->a, struct divided);
        divide_steps(&b->opt, body, f, b->offload->divisions.v, b->offload->divisions.n, b->divided);
        build_cluster(b, body, f);
        b->offload->on_device = offload_divided(b->a, &b->scratch, b->m, body, f, b->machine, b->divided);
        arena_reset(&b->scratch);
        for (uint32_t i = 0; i < f->steps.n; i++)
            if (f->steps.v[i].kind == FUSE_STEP_OP)
                opt_ids_set(&b->divided->side, f->steps.v[i].op.i, 1 + (uint32_t)b->offload->on_device[i]);
    }
}

static void build_entry(struct build *b, ir_block body) {
    struct fuse_block f;
    build_cluster(b, body, &f);
    if (b->machine)
        place_steps(b, body, &f);
    const bool *on_device = b->offload && b->offload->to == OFFLOAD_PART ? b->offload->on_device : NULL;
    for (uint32_t i = 0; i < f.steps.n; i++) {
        if (on_device)
            use_unit(b, on_device[i]);
        build_step(b, body, &f, &f.steps.v[i]);
    }
}

/* An argument that the program says is donated: to which result, or that it is. */
static void declare_donor(struct build *b, ir_op func, uint32_t i, uint32_t nresults) {
    int64_t result, any;
    bool named = ir_attr_as_i64(b->m, ir_func_arg_attr(b->m, func, i, STR("tf.aliasing_output")), &result);
    if (named && result >= 0 && result < nresults)
        plan_donor(b->p, i, (uint32_t)result);
    else if (ir_attr_as_i64(b->m, ir_func_arg_attr(b->m, func, i, STR("jax.buffer_donor")), &any) && any)
        plan_donor(b->p, i, UINT32_MAX);
}

hilo_status build_plan(struct build *b, ir_op func, struct plan *out) {
    ir_block body = ir_func_body(b->m, func);
    const struct ir_block_data *x = ir_block_get(b->m, body);
    const struct ir_op_data *end = ir_op_get(b->m, ir_terminator(b->m, body));
    b->p = plan_new(b->a, b->m, x->nargs, end->noperands);
    b->buffer = (struct opt_ids){.a = b->a};
    for (uint32_t i = 0; i < x->nargs; i++) {
        const struct ir_type_data *t = ir_val_type(b->m, x->args[i]);
        if (ir_func_arg_is_unchanged(b->m, func, i))
            plan_unchanged(b->p, i);
        declare_donor(b, func, i, end->noperands);
        build_bind(b, x->args[i], t->kind == IR_TYPE_TOKEN ? plan_argument(b->p, i, IR_DTYPE_NONE, 0, NULL)
                                                           : plan_argument(b->p, i, t->dtype, t->rank, t->dims));
    }
    build_entry(b, body);
    for (uint32_t i = 0; i < end->noperands; i++)
        plan_result(b->p, i, build_buffer(b, end->operands[i]));
    if (b->hoists)
        plan_hoist(b->p);
    if (b->on_device || (b->offload && b->offload->to == OFFLOAD_PART))
        plan_place(b->p, b->machine && !b->machine->arguments_on_device ? PLAN_HOST : PLAN_DEVICE);
    else if (b->level >= 2) {
        const struct plan_link link = {b->target->exchange_ns, 1 / b->target->exchange_rate};
        plan_overlap(b->p, &link);
        plan_group(b->p);
    }
    return plan_finish(b->p, out, b->d);
}
