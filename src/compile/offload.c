/* See offload.h. */
#include "compile/offload.h"

#include "base/flow.h"
#include "compile/model.h"
#include "opt/cost.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define OFFLOAD_MOST INT64_C(1000000000000) /* ns that a step or a transfer takes: sums of millions do not overflow */
#define OFFLOAD_GAIN 1.15 /* by which both units must be better than one */
enum {
    OFFLOAD_TURNS = 32,   /* of a loop whose number of iterations is not known */
    OFFLOAD_FUSED = 4,    /* ops of a loop or a branch that are a step, about */
    OFFLOAD_PRICES = 40   /* that are tried for memory */
};

struct placed_value {
    double bytes;
    uint32_t producer; /* 1 + step; 0 = an argument or a constant */
    bool constant, result;
    struct {
        uint32_t *v; /* steps */
        uint32_t n, cap;
    } readers;
};

struct placed_step {
    double processor_ns, device_ns; /* infinite = it cannot run there */
};

struct task {
    struct arena *a;
    const struct ir_module *m;
    ir_block block;
    const struct fuse_block *f;
    const struct machine *machine;
    struct placed_step *steps;
    uint32_t nsteps;
    struct opt_ids index; /* by value: 1 + index in values */
    struct opt_ids seen;  /* by op: 1 + the step for which it was seen last */
    struct flow flow;     /* of one cut after the other */
    struct {
        struct placed_value *v;
        uint32_t n, cap;
    } values;
};

/* ---- what steps do --------------------------------------------------------------------------- */

static double bytes_of(const struct ir_module *m, ir_val v) {
    const struct ir_type_data *t = ir_val_type(m, v);
    size_t bytes;
    return t->kind == IR_TYPE_TENSOR && ir_type_bytes(t, &bytes) ? (double)bytes : 0;
}

static double unit_ns(const struct machine_unit *u, double flops, double bytes) {
    return u->least_ns + fmax(flops / u->compute_rate, bytes / u->memory_rate);
}

static double link_ns(const struct machine *x, double bytes) {
    return x->link_rate > 0 ? x->link_ns + bytes / x->link_rate : 0;
}

/* The value whose memory it is. */
static ir_val memory_of(const struct task *t, ir_val v) {
    for (;;) {
        uint32_t step = opt_ids_get(&t->f->kernel_of, v.i);
        if (!step || t->f->steps.v[step - 1].kind != FUSE_STEP_ALIAS)
            return v;
        v = ir_operand(t->m, t->f->steps.v[step - 1].op, ir_val_get(t->m, v)->index);
    }
}

static struct placed_value *value_at(struct task *t, ir_val v) {
    v = memory_of(t, v);
    uint32_t index = opt_ids_get(&t->index, v.i);
    if (!index) {
        struct placed_value x = {.bytes = bytes_of(t->m, v),
                                 .producer = opt_ids_get(&t->f->kernel_of, v.i),
                                 .constant = fuse_is_constant(t->m, v)};
        ARENA_PUSH(t->a, &t->values, x);
        index = t->values.n;
        opt_ids_set(&t->index, v.i, index);
    }
    return &t->values.v[index - 1];
}

static void read_value(struct task *t, uint32_t step, ir_val v) {
    struct placed_value *x = value_at(t, v);
    if (x->readers.n && x->readers.v[x->readers.n - 1] == step)
        return;
    ARENA_PUSH(t->a, &x->readers, step);
}

static bool is_stored(const struct task *t, ir_val v) {
    ir_op op = ir_val_get(t->m, v)->op;
    return opt_ids_get(&t->f->kernel_of, v.i) || IR_NONE(op) || !IR_SAME(ir_op_get(t->m, op)->parent, t->block) ||
           fuse_is_constant(t->m, v);
}

/* An op that is computed within a step: adds its work, and that of the ops that are fused into it. */
static void visit(struct task *t, uint32_t step, ir_op op, struct model_work *w) {
    if (opt_ids_get(&t->seen, op.i) == step + 1)
        return;
    opt_ids_set(&t->seen, op.i, step + 1);
    const struct ir_op_data *x = ir_op_get(t->m, op);
    double out = x->nresults ? bytes_of(t->m, ir_result(t->m, op, 0)) : 0;
    w->flops += opt_flops(t->m, op);
    for (uint32_t i = 0; i < x->noperands; i++) {
        ir_val v = ir_operand(t->m, op, i);
        if (!is_stored(t, v)) {
            visit(t, step, ir_val_get(t->m, v)->op, w);
            continue;
        }
        double bytes = bytes_of(t->m, v);
        w->bytes += ir_op_has((enum ir_op_kind)x->kind, IR_T_MOVEMENT) ? fmin(bytes, out) : bytes; /* a part of it */
        read_value(t, step, v);
    }
}

/* What regions read of the block. */
static void read_captured(struct task *t, uint32_t step, ir_op outer, ir_op op) {
    for (uint32_t r = 0; r < ir_op_get(t->m, op)->nregions; r++)
        for (ir_block b = ir_region_get(t->m, ir_op_region(t->m, op, r))->first; !IR_NONE(b); b = ir_block_get(t->m, b)->next)
            for (ir_op in = ir_block_get(t->m, b)->first; !IR_NONE(in); in = ir_op_get(t->m, in)->next) {
                for (uint32_t i = 0; i < ir_op_get(t->m, in)->noperands; i++)
                    if (!ir_is_inside(t->m, ir_operand(t->m, in, i), outer))
                        read_value(t, step, ir_operand(t->m, in, i));
                read_captured(t, step, outer, in);
            }
}

/* Loops and branches, as often as they are expected to run. What no kernel computes is the processor's on either side. */
static void add_flow(struct task *t, ir_op op, double turns, struct placed_step *out) {
    for (uint32_t r = 0; r < ir_op_get(t->m, op)->nregions; r++)
        for (ir_block b = ir_region_get(t->m, ir_op_region(t->m, op, r))->first; !IR_NONE(b); b = ir_block_get(t->m, b)->next)
            for (ir_op in = ir_block_get(t->m, b)->first; !IR_NONE(in); in = ir_op_get(t->m, in)->next) {
                enum fuse_class cls = fuse_class(ir_kind(t->m, in));
                struct model_work w = model_work(t->m, in);
                const struct machine *x = t->machine;
                double each = turns * unit_ns(&x->processor, w.flops, w.bytes);
                if (cls == FUSE_FLOW) {
                    add_flow(t, in, ir_kind(t->m, in) == IR_WHILE ? fmin(turns * OFFLOAD_TURNS, OFFLOAD_MOST) : turns, out);
                } else if (cls == FUSE_NONE) {
                    out->processor_ns += each;
                    out->device_ns += each + 2 * turns * link_ns(x, w.bytes);
                } else {
                    out->processor_ns += each / OFFLOAD_FUSED;
                    out->device_ns += turns * unit_ns(&x->device, w.flops, w.bytes) / OFFLOAD_FUSED;
                }
            }
}

static void read_step(struct task *t, uint32_t i) {
    const struct fuse_step *s = &t->f->steps.v[i];
    struct placed_step *out = &t->steps[i];
    struct model_work w = {0};
    if (s->kind == FUSE_STEP_ALIAS)
        return;
    if (s->kind == FUSE_STEP_KERNEL) {
        for (uint32_t k = 0; k < s->kernel->outs.n; k++) {
            ir_val v = s->kernel->outs.v[k];
            (void)value_at(t, v);
            w.bytes += bytes_of(t->m, v);
            visit(t, i, ir_val_get(t->m, v)->op, &w);
        }
        if (s->kernel->schedule == FUSE_INTO) /* in place: what is written, and read for it */
            w.bytes = 2 * bytes_of(t->m, ir_operand(t->m, s->kernel->anchor, 1));
    } else {
        for (uint32_t k = 0; k < ir_op_get(t->m, s->op)->noperands; k++)
            read_value(t, i, ir_operand(t->m, s->op, k));
        read_captured(t, i, s->op, s->op);
        w = model_work(t->m, s->op);
        if (fuse_class(ir_kind(t->m, s->op)) == FUSE_FLOW) {
            add_flow(t, s->op, ir_kind(t->m, s->op) == IR_WHILE ? OFFLOAD_TURNS : 1, out);
            return;
        }
        *out = (struct placed_step){unit_ns(&t->machine->processor, w.flops, w.bytes), INFINITY};
        return;
    }
    *out = (struct placed_step){unit_ns(&t->machine->processor, w.flops, w.bytes),
                                unit_ns(&t->machine->device, w.flops, w.bytes)};
}

static void read_steps(struct task *t) {
    for (uint32_t i = 0; i < t->nsteps; i++)
        read_step(t, i);
    ir_op end = ir_terminator(t->m, t->block);
    for (uint32_t i = 0; i < ir_op_get(t->m, end)->noperands; i++)
        value_at(t, ir_operand(t->m, end, i))->result = true;
}

/* ---- what an assignment costs ---------------------------------------------------------------- */

/* Whether a run has to copy it for the other side: constants are copied when the program is loaded. */
static bool crosses(const struct task *t, const struct placed_value *x) {
    return t->machine->link_rate > 0 && !x->constant;
}

static bool starts_on_device(const struct task *t, const struct placed_value *x, const bool *on_device) {
    return x->producer ? on_device[x->producer - 1] : t->machine->arguments_on_device;
}

static double bytes_on_device(const struct task *t, const bool *on_device) {
    double sum = 0;
    for (uint32_t i = 0; i < t->values.n; i++) {
        const struct placed_value *x = &t->values.v[i];
        bool there = false;
        for (uint32_t k = 0; k < x->readers.n; k++)
            there |= on_device[x->readers.v[k]];
        sum += !x->producer && there ? x->bytes : 0;
    }
    return sum;
}

static double assignment_ns(const struct task *t, const bool *on_device, double *moved) {
    double ns = 0;
    *moved = 0;
    for (uint32_t i = 0; i < t->nsteps; i++)
        ns += on_device[i] ? t->steps[i].device_ns : t->steps[i].processor_ns;
    for (uint32_t i = 0; i < t->values.n; i++) {
        const struct placed_value *x = &t->values.v[i];
        bool from = starts_on_device(t, x, on_device), to = x->result && from != t->machine->arguments_on_device;
        for (uint32_t k = 0; k < x->readers.n; k++)
            to |= on_device[x->readers.v[k]] != from;
        if (to && crosses(t, x)) {
            ns += link_ns(t->machine, x->bytes);
            *moved += x->bytes;
        }
    }
    bool fits = t->machine->link_rate <= 0 || bytes_on_device(t, on_device) <= t->machine->device_bytes;
    return fits ? ns : INFINITY;
}

/* ---- the cut --------------------------------------------------------------------------------- */

static int64_t capacity(double ns) {
    return isinf(ns) ? FLOW_UNBOUNDED : ns < 1 ? ns > 0 : ns < OFFLOAD_MOST ? (int64_t)ns : OFFLOAD_MOST;
}

/* Sides: the source's is the processor. A byte of arguments and constants in the GPU's memory costs `price` ns, up to twice as
   much where it is read later: else layers that are alike would all change sides at one price. */
static void cut(struct task *t, double price, bool *on_device) {
    struct flow *f = &t->flow;
    f->nodes.n = f->arcs.n = 0;
    uint32_t processor = flow_node(f), device = flow_node(f);
    uint32_t first = f->nodes.n;
    for (uint32_t i = 0; i < t->nsteps; i++) {
        uint32_t node = flow_node(f);
        flow_arc(f, node, device, capacity(t->steps[i].processor_ns));
        flow_arc(f, processor, node, capacity(t->steps[i].device_ns));
    }
    for (uint32_t i = 0; i < t->values.n; i++) {
        const struct placed_value *x = &t->values.v[i];
        uint32_t home = x->producer ? first + x->producer - 1 : t->machine->arguments_on_device ? device : processor;
        uint32_t up = flow_node(f), down = flow_node(f); /* on the device, or on the processor, where a reader is there */
        bool there = t->machine->arguments_on_device;
        for (uint32_t k = 0; k < x->readers.n; k++) {
            flow_arc(f, up, first + x->readers.v[k], FLOW_UNBOUNDED);
            flow_arc(f, first + x->readers.v[k], down, FLOW_UNBOUNDED);
        }
        if (x->result)
            flow_arc(f, there ? up : processor, there ? device : down, FLOW_UNBOUNDED);
        if (crosses(t, x)) {
            flow_arc(f, home, up, capacity(link_ns(t->machine, x->bytes)));
            flow_arc(f, down, home, capacity(link_ns(t->machine, x->bytes)));
        }
        if (!x->producer && price > 0)
            flow_arc(f, processor, up, capacity(price * x->bytes * (1 + (double)i / t->values.n)));
    }
    bool *side = ARENA_ARRAY(t->a, bool, f->nodes.n);
    (void)flow_cut(f, processor, device, side);
    for (uint32_t i = 0; i < t->nsteps; i++)
        on_device[i] = !side[first + i];
}

/* The best assignment that fits the GPU's memory. */
static double best_ns(struct task *t, bool *on_device, double *moved) {
    bool *tried = ARENA_ARRAY(t->a, bool, t->nsteps + 1);
    cut(t, 0, on_device);
    double best = assignment_ns(t, on_device, moved), low = 0, high = 1e-6;
    for (int i = 0; isinf(best) && i < OFFLOAD_PRICES; i++, high *= 4) { /* ns a byte */
        cut(t, high, on_device);
        best = assignment_ns(t, on_device, moved);
        if (isinf(best))
            low = high;
    }
    for (int i = 0; low > 0 && i < OFFLOAD_PRICES / 2; i++) {
        double price = (low + high) / 2, bytes;
        cut(t, price, tried);
        double ns = assignment_ns(t, tried, &bytes);
        *(isinf(ns) ? &low : &high) = price;
        if (ns <= best) {
            best = ns;
            *moved = bytes;
            memcpy(on_device, tried, t->nsteps * sizeof *tried);
        }
    }
    return best;
}

/* ---- the decision ---------------------------------------------------------------------------- */

static void time_text(char *out, size_t size, double ns, double moved) {
    if (isinf(ns))
        snprintf(out, size, "not enough memory");
    else
        snprintf(out, size, "%.3g ms (%.3g MB cross)", ns / 1e6, moved / 1e6);
}

static void explain(struct offload *o, const double *moved, uint32_t nsteps, uint32_t there) {
    static const char *const names[] = {"processor", "GPU", "both"};
    char text[OFFLOAD_WAYS][64];
    double one = fmin(o->ns[OFFLOAD_NONE], o->ns[OFFLOAD_ALL]), gain = one / o->ns[OFFLOAD_PART];
    for (int i = 0; i < OFFLOAD_WAYS; i++)
        time_text(text[i], sizeof *text, o->ns[i], moved[i]);
    int n = snprintf(o->reason, sizeof o->reason, "%s: on the processor %s, on the GPU %s; ", names[o->to], text[OFFLOAD_NONE],
                     text[OFFLOAD_ALL]);
    if (n < 0 || (size_t)n >= sizeof o->reason)
        return;
    char *end = o->reason + n;
    size_t room = sizeof o->reason - (size_t)n;
    if (there == 0 || there == nsteps)
        snprintf(end, room, "no division is better");
    else
        snprintf(end, room, "with %u of %u steps on the GPU %s, a gain of %.2f: programs are divided from %.2f on", there,
                 nsteps, text[OFFLOAD_PART], gain, OFFLOAD_GAIN);
}

void offload(struct arena *a, struct arena *scratch, const struct ir_module *m, ir_block block, const struct fuse_block *f,
             const struct machine *machine, bool revoked, struct offload *out) {
    struct task t = {.a = scratch, .m = m, .block = block, .f = f, .machine = machine, .nsteps = f->steps.n,
                     .index = {.a = scratch}, .seen = {.a = scratch}, .flow = {.a = scratch}};
    double moved[OFFLOAD_WAYS];
    uint32_t there = 0, nsteps = 0;
    t.steps = ARENA_ARRAY(scratch, struct placed_step, t.nsteps + 1);
    *out = (struct offload){.on_device = ARENA_ARRAY(a, bool, t.nsteps + 1)};
    read_steps(&t);
    bool *all = ARENA_ARRAY(scratch, bool, t.nsteps + 1);
    out->ns[OFFLOAD_NONE] = assignment_ns(&t, all, &moved[OFFLOAD_NONE]);
    for (uint32_t i = 0; i < t.nsteps; i++)
        all[i] = !isinf(t.steps[i].device_ns);
    out->ns[OFFLOAD_ALL] = assignment_ns(&t, all, &moved[OFFLOAD_ALL]);
    out->ns[OFFLOAD_PART] = best_ns(&t, out->on_device, &moved[OFFLOAD_PART]);
    for (uint32_t i = 0; i < t.nsteps; i++)
        if (f->steps.v[i].kind != FUSE_STEP_ALIAS) {
            nsteps++;
            there += out->on_device[i];
        }
    double one = fmin(out->ns[OFFLOAD_NONE], out->ns[OFFLOAD_ALL]);
    bool part = there > 0 && there < nsteps && one / out->ns[OFFLOAD_PART] >= OFFLOAD_GAIN;
    out->to = part && !revoked ? OFFLOAD_PART : out->ns[OFFLOAD_NONE] <= out->ns[OFFLOAD_ALL] ? OFFLOAD_NONE : OFFLOAD_ALL;
    explain(out, moved, nsteps, there);
    size_t n = strlen(out->reason);
    if (part && revoked)
        snprintf(out->reason + n, sizeof out->reason - n, "; revoked: a run took longer than one side alone");
}
