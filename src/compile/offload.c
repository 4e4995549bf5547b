/* See offload.h. */
#include "compile/offload.h"

#include "base/flow.h"
#include "compile/model.h"
#include "opt/cost.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define OFFLOAD_MOST INT64_C(1000000000000) /* ns that a step or a transfer takes: sums of millions do not overflow */
#define OFFLOAD_GAIN 1.15 /* by which both units must be better than one: of a run, and of a step that is divided */
enum {
    OFFLOAD_TURNS = 32,   /* of a loop whose number of iterations is not known */
    OFFLOAD_FUSED = 4,    /* ops of a loop or a branch that are a step, about */
    OFFLOAD_PRICES = 40,  /* that are tried for memory */
    OFFLOAD_AXES = 4,     /* of results along which a step is divided */
    OFFLOAD_SHARES = 64,  /* that are tried for each of them */
    OFFLOAD_TILE = 64     /* positions along a dimension of a contraction that kernels compute together */
};

struct indices {
    uint32_t *v;
    uint32_t n, cap;
};

struct placed_value {
    double bytes;
    uint32_t producer; /* 1 + step; 0 = an argument or a constant */
    bool constant, result;
    struct indices readers; /* steps */
};

struct placed_step {
    double processor_ns, device_ns; /* infinite = it cannot run there */
    struct model_work work;         /* of a kernel */
    struct indices reads, writes;   /* values */
};

struct task {
    struct arena *a;
    const struct ir_module *m;
    ir_block block;
    const struct fuse_block *f;
    const struct machine *machine;
    const struct divided *divided; /* how ops are treated; or NULL */
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
        if (x.producer)
            ARENA_PUSH(t->a, &t->steps[x.producer - 1].writes, index - 1);
    }
    return &t->values.v[index - 1];
}

/* Whether it is for the first time. */
static bool read_value(struct task *t, uint32_t step, ir_val v) {
    struct placed_value *x = value_at(t, v);
    if (x->readers.n && x->readers.v[x->readers.n - 1] == step)
        return false;
    uint32_t index = (uint32_t)(x - t->values.v);
    ARENA_PUSH(t->a, &x->readers, step);
    if (x->producer != step + 1)
        ARENA_PUSH(t->a, &t->steps[step].reads, index);
    return true;
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
        if (read_value(t, step, v))
            w->bytes += ir_op_has((enum ir_op_kind)x->kind, IR_T_MOVEMENT) ? fmin(bytes, out) : bytes; /* a part of it */
    }
}

/* What regions read of the block. */
static void read_captured(struct task *t, uint32_t step, ir_op outer, ir_op op) {
    for (uint32_t r = 0; r < ir_op_get(t->m, op)->nregions; r++)
        for (ir_block b = ir_region_get(t->m, ir_op_region(t->m, op, r))->first; !IR_NONE(b); b = ir_block_get(t->m, b)->next)
            for (ir_op in = ir_block_get(t->m, b)->first; !IR_NONE(in); in = ir_op_get(t->m, in)->next) {
                for (uint32_t i = 0; i < ir_op_get(t->m, in)->noperands; i++)
                    if (!ir_is_inside(t->m, ir_operand(t->m, in, i), outer))
                        (void)read_value(t, step, ir_operand(t->m, in, i));
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

/* A slice, or a concatenation, of a step that was divided; what they are of crosses, or they do nothing. */
static void read_own(struct task *t, uint32_t i, ir_op op) {
    for (uint32_t k = 0; k < ir_op_get(t->m, op)->noperands; k++)
        (void)read_value(t, i, ir_operand(t->m, op, k));
    (void)value_at(t, ir_result(t->m, op, 0));
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
    } else if (t->divided && opt_ids_get(&t->divided->own, s->op.i)) {
        read_own(t, i, s->op);
        return;
    } else {
        for (uint32_t k = 0; k < ir_op_get(t->m, s->op)->noperands; k++)
            (void)read_value(t, i, ir_operand(t->m, s->op, k));
        read_captured(t, i, s->op, s->op);
        w = model_work(t->m, s->op);
        if (fuse_class(ir_kind(t->m, s->op)) == FUSE_FLOW) {
            add_flow(t, s->op, ir_kind(t->m, s->op) == IR_WHILE ? OFFLOAD_TURNS : 1, out);
            return;
        }
        out->processor_ns = unit_ns(&t->machine->processor, w.flops, w.bytes);
        out->device_ns = INFINITY;
        return;
    }
    uint32_t side = t->divided ? opt_ids_get(&t->divided->side, ir_val_get(t->m, s->kernel->outs.v[0])->op.i) : 0;
    out->work = w;
    out->processor_ns = side == 1 + DIVIDE_DEVICE ? INFINITY : unit_ns(&t->machine->processor, w.flops, w.bytes);
    out->device_ns = side == 1 + DIVIDE_PROCESSOR ? INFINITY : unit_ns(&t->machine->device, w.flops, w.bytes);
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

/* ---- what a run takes ------------------------------------------------------------------------ */

/* When the host, and the device's stream, have done what they were given so far. */
struct clocks {
    double host, device;
};

/* When a value is in the memory of each side; infinite: it is not. */
struct times {
    double at[DIVIDE_SIDES];
};

/* A step of which the GPU computes a share: how long each side takes, and what crosses first, for the GPU, and to join. */
struct shares {
    double down_ns, up_ns, device_ns, processor_ns, join_ns, moved;
    bool on_device; /* where the result is */
};

static double share_ns(const struct machine *x, const struct machine_unit *u, double kept, double flops, double bytes,
                       double all_bytes) {
    double bus = x->link_rate > 0 ? 0 : all_bytes / fmax(x->processor.memory_rate, x->device.memory_rate);
    return u->least_ns + fmax(flops / (u->compute_rate * kept), fmax(bytes / u->memory_rate, bus));
}

/* Where the results of a step are read first. */
static bool read_on_device(const struct task *t, uint32_t step, const bool *on_device) {
    const struct indices *w = &t->steps[step].writes;
    for (uint32_t i = 0; i < w->n; i++)
        if (t->values.v[w->v[i]].readers.n)
            return on_device[t->values.v[w->v[i]].readers.v[0]];
    return t->machine->arguments_on_device;
}

/* The GPU computes `share` of what a step stores. Its launch takes the thread that then begins with the host's share. Where
   memory is shared, so is its bandwidth. */
static struct shares share_step(const struct task *t, const struct division *x, double share, const bool *on_device) {
    const struct machine *machine = t->machine;
    const struct placed_step *s = &t->steps[x->step];
    double part = 0, whole = 0, out = 0;
    struct shares y = {.on_device = read_on_device(t, x->step, on_device)};
    for (uint32_t i = 0; i < s->writes.n; i++)
        out += t->values.v[s->writes.v[i]].bytes;
    for (uint32_t i = 0; i < x->reads.n; i++) {
        const struct divide_read *r = &x->reads.v[i];
        double bytes = bytes_of(t->m, r->v);
        double here = r->axis < 0 ? bytes : bytes * share, there = r->axis < 0 ? bytes : bytes - here;
        *(r->axis < 0 ? &whole : &part) += bytes;
        if (!r->at[DIVIDE_DEVICE] && machine->link_rate > 0) {
            y.up_ns += link_ns(machine, here);
            y.moved += here;
        }
        if (!r->at[DIVIDE_PROCESSOR] && machine->link_rate > 0) {
            y.down_ns += link_ns(machine, there);
            y.moved += there;
        }
    }
    double all = part + out + 2 * whole, device = (part + out) * share + whole;
    y.device_ns = share_ns(machine, &machine->device, machine->device_kept, s->work.flops * share, device, all);
    y.processor_ns = machine->device.least_ns + share_ns(machine, &machine->processor, machine->processor_kept,
                                                         s->work.flops * (1 - share), all - device, all);
    double other = y.on_device ? out * (1 - share) : out * share;
    y.join_ns = link_ns(machine, other);
    y.moved += machine->link_rate > 0 ? other : 0;
    const struct ir_type_data *type = ir_val_type(t->m, t->f->steps.v[x->step].kernel->outs.v[0]);
    if (!divide_is_outermost(type, x->axis) && share > 0 && share < 1) /* it is joined by a kernel */
        y.join_ns += unit_ns(y.on_device ? &machine->device : &machine->processor, 0, 2 * out);
    return y;
}

static double shares_ns(const struct shares *y) {
    return y->down_ns + fmax(y->up_ns + y->device_ns, y->processor_ns) + y->join_ns;
}

/* A value is needed on a side: it crosses, behind what the device was given. */
static void bring(const struct task *t, struct clocks *c, struct times *x, double bytes, bool to_device) {
    if (!isinf(x->at[to_device])) {
        if (!to_device)
            c->host = fmax(c->host, x->at[DIVIDE_PROCESSOR]);
        return;
    }
    c->device = fmax(c->device, x->at[!to_device]) + link_ns(t->machine, bytes);
    x->at[to_device] = c->device;
    if (!to_device)
        c->host = fmax(c->host, c->device);
}

static const struct division *division_of(const struct division *v, uint32_t n, uint32_t step) {
    for (uint32_t i = 0; i < n; i++)
        if (v[i].step == step)
            return &v[i];
    return NULL;
}

static void run_step(const struct task *t, uint32_t i, const struct division *x, const bool *on_device, struct clocks *c,
                     struct times *times) {
    const struct placed_step *s = &t->steps[i];
    bool there = on_device[i];
    if (x) {
        struct shares y = share_step(t, x, (double)x->first / (double)x->size, on_device);
        double begin = fmax(c->host, y.down_ns > 0 ? c->device + y.down_ns : 0);
        double device = fmax(c->device + y.down_ns, c->host) + y.up_ns + y.device_ns, host = begin + y.processor_ns;
        there = y.on_device;
        c->host = there ? host : fmax(host, device) + y.join_ns;
        c->device = there ? fmax(host, device) + y.join_ns : device;
    } else {
        for (uint32_t k = 0; k < s->reads.n; k++)
            bring(t, c, &times[s->reads.v[k]], crosses(t, &t->values.v[s->reads.v[k]]) ? t->values.v[s->reads.v[k]].bytes : 0,
                  there);
        if (there)
            c->device = fmax(c->device, c->host) + s->device_ns;
        else
            c->host += s->processor_ns;
    }
    for (uint32_t k = 0; k < s->writes.n; k++) {
        times[s->writes.v[k]].at[there] = there ? c->device : c->host;
        times[s->writes.v[k]].at[!there] = INFINITY;
    }
}

/* In order, with these steps divided. Where memory is shared, a run is not faster than all its traffic. */
static double run_ns(const struct task *t, const bool *on_device, const struct division *v, uint32_t n) {
    struct clocks c = {0};
    struct times *times = ARENA_ARRAY(t->a, struct times, t->values.n + 1);
    double traffic = 0;
    uint32_t next = 0;
    for (uint32_t i = 0; i < t->values.n; i++) {
        bool there = starts_on_device(t, &t->values.v[i], on_device);
        times[i].at[there] = 0;
        times[i].at[!there] = t->values.v[i].constant ? 0 : INFINITY;
    }
    for (uint32_t i = 0; i < t->nsteps; i++) {
        traffic += t->steps[i].work.bytes;
        if (t->f->steps.v[i].kind == FUSE_STEP_ALIAS)
            continue;
        const struct division *x = division_of(v + next, n > next ? 1 : 0, i);
        next += x != NULL;
        run_step(t, i, x, on_device, &c, times);
    }
    for (uint32_t i = 0; i < t->values.n; i++)
        if (t->values.v[i].result)
            bring(t, &c, &times[i], crosses(t, &t->values.v[i]) ? t->values.v[i].bytes : 0, t->machine->arguments_on_device);
    double ns = fmax(c.host, c.device);
    return t->machine->link_rate > 0
               ? ns
               : fmax(ns, traffic / fmax(t->machine->processor.memory_rate, t->machine->device.memory_rate));
}

/* ---- divided steps --------------------------------------------------------------------------- */

/* With what crosses for it, and its result. */
static double alone_ns(const struct task *t, const struct division *x, const bool *on_device) {
    bool there = on_device[x->step];
    struct shares y = share_step(t, x, there ? 1 : 0, on_device);
    return there ? y.up_ns + t->steps[x->step].device_ns + (y.on_device ? 0 : y.join_ns)
                 : y.down_ns + t->steps[x->step].processor_ns + (y.on_device ? y.join_ns : 0);
}

static void find_places(const struct task *t, struct division *x, const bool *on_device) {
    for (uint32_t i = 0; i < x->reads.n; i++) {
        struct divide_read *r = &x->reads.v[i];
        ir_val v = memory_of(t, r->v);
        const struct placed_value *p = &t->values.v[opt_ids_get(&t->index, v.i) - 1];
        bool there = starts_on_device(t, p, on_device);
        r->at[DIVIDE_DEVICE] = there || p->constant;
        r->at[DIVIDE_PROCESSOR] = !there || p->constant;
    }
}

/* The best share of the GPU along a dimension, in tiles; both sides have parts that differ in size: equal ones may become one
   kernel. Returns what the step takes, infinite where there is none. */
static double best_share(const struct task *t, struct division *x, const bool *on_device) {
    enum fuse_schedule schedule = t->f->steps.v[x->step].kernel->schedule;
    int64_t tile = schedule == FUSE_CONTRACT || schedule == FUSE_STAGES ? OFFLOAD_TILE : 1;
    double best = INFINITY;
    while (tile > 1 && x->size / tile < 4)
        tile /= 2;
    int64_t tiles = (x->size + tile - 1) / tile, each = (tiles + OFFLOAD_SHARES - 1) / OFFLOAD_SHARES;
    for (int64_t n = each; n < tiles; n += each) {
        struct shares y = share_step(t, x, (double)(n * tile) / (double)x->size, on_device);
        if (2 * n * tile != x->size && shares_ns(&y) < best) {
            best = shares_ns(&y);
            x->first = n * tile;
        }
    }
    return best;
}

/* Whether a step that the processor has reads more of what is kept in the GPU's memory than there is room for. */
static bool exceeds(const struct task *t, const struct division *x, const bool *on_device, double *used) {
    double bytes = 0;
    for (uint32_t i = 0; i < x->reads.n; i++) {
        ir_val v = memory_of(t, x->reads.v[i].v);
        if (!t->values.v[opt_ids_get(&t->index, v.i) - 1].producer)
            bytes += bytes_of(t->m, x->reads.v[i].v);
    }
    if (on_device[x->step] || t->machine->link_rate <= 0)
        return false;
    if (*used + bytes > t->machine->device_bytes)
        return true;
    *used += bytes;
    return false;
}

/* What was found about the step that takes longest of those that could be divided and are not. */
struct refused {
    double alone_ns, ns, share;
    struct shares shares;
    ir_op op;
};

static ir_op main_op(const struct fuse_kernel *k) {
    return IR_NONE(k->anchor) ? k->root : k->anchor;
}

static void divide_step(const struct task *t, uint32_t i, const bool *on_device, double *used, struct offload *out,
                        struct refused *refused, struct arena *a) {
    const struct fuse_kernel *k = t->f->steps.v[i].kernel;
    double best = INFINITY;
    struct division chosen = {.step = i};
    uint32_t rank = k ? ir_val_type(t->m, k->outs.v[0])->rank : 0;
    for (uint32_t axis = 0; axis < rank && axis < OFFLOAD_AXES; axis++) {
        struct division x = {.step = i, .axis = axis};
        if (!divide_find(a, t->m, t->block, t->f, &x) || x.size < 2)
            continue;
        find_places(t, &x, on_device);
        double ns = best_share(t, &x, on_device);
        if (ns < best) {
            best = ns;
            chosen = x;
        }
    }
    if (isinf(best))
        return;
    double alone = alone_ns(t, &chosen, on_device);
    if (alone / best >= OFFLOAD_GAIN && !exceeds(t, &chosen, on_device, used)) {
        ARENA_PUSH(a, &out->divisions, chosen);
    } else if (alone > refused->alone_ns) {
        double share = (double)chosen.first / (double)chosen.size;
        *refused = (struct refused){alone, best, share, share_step(t, &chosen, share, on_device), main_op(k)};
    }
}

/* Divides steps of an assignment where each is expected to gain, and all of them together do. */
static void divide_all(const struct task *t, struct arena *a, struct offload *out, struct refused *refused) {
    double used = bytes_on_device(t, out->on_device), undivided = run_ns(t, out->on_device, NULL, 0);
    for (uint32_t i = 0; i < t->nsteps; i++)
        if (t->f->steps.v[i].kind == FUSE_STEP_KERNEL && !isinf(t->steps[i].processor_ns) && !isinf(t->steps[i].device_ns))
            divide_step(t, i, out->on_device, &used, out, refused, a);
    out->ns[OFFLOAD_PART] = run_ns(t, out->on_device, out->divisions.v, out->divisions.n);
    if (out->ns[OFFLOAD_PART] >= undivided) {
        out->divisions.n = 0;
        out->ns[OFFLOAD_PART] = undivided;
    }
}

/* ---- the decision ---------------------------------------------------------------------------- */

static void time_text(char *out, size_t size, double ns, double moved) {
    if (isinf(ns))
        snprintf(out, size, "not enough memory");
    else
        snprintf(out, size, "%.3g ms (%.3g MB cross)", ns / 1e6, moved / 1e6);
}

static void add_text(struct offload *o, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void add_text(struct offload *o, const char *format, ...) {
    size_t n = strlen(o->reason);
    va_list args;
    va_start(args, format);
    vsnprintf(o->reason + n, sizeof o->reason - n, format, args);
    va_end(args);
}

/* Why the longest step is not divided. */
static void explain_refused(const struct task *t, struct offload *o, const struct refused *r) {
    struct str name = ir_op_name(t->m, r->op);
    const struct shares *y = &r->shares;
    add_text(o, "; no step is divided: %.*s takes %.3g ms, and %.3g ms with %.0f %% on the GPU, of which %.3g ms are "
                "transfers, a gain of %.2f", (int)name.n, name.p, r->alone_ns / 1e6, r->ns / 1e6, 100 * r->share,
             (y->down_ns + y->up_ns + y->join_ns) / 1e6, r->alone_ns / r->ns);
}

static void explain(const struct task *t, struct offload *o, const double *moved, uint32_t nsteps, uint32_t there,
                    const struct refused *r) {
    static const char *const names[] = {"processor", "GPU", "both"};
    char text[OFFLOAD_WAYS][64];
    double one = fmin(o->ns[OFFLOAD_NONE], o->ns[OFFLOAD_ALL]), gain = one / o->ns[OFFLOAD_PART];
    const struct division *x = o->divisions.v;
    for (int i = 0; i < OFFLOAD_WAYS; i++)
        time_text(text[i], sizeof *text, o->ns[i], moved[i]);
    o->reason[0] = '\0';
    add_text(o, "%s: on the processor %s, on the GPU %s; ", names[o->to], text[OFFLOAD_NONE], text[OFFLOAD_ALL]);
    if ((there == 0 || there == nsteps) && !o->divisions.n) {
        add_text(o, "no division is better");
    } else {
        add_text(o, "with %u of %u steps on the GPU", there, nsteps);
        if (o->divisions.n) {
            struct str name = ir_op_name(t->m, main_op(t->f->steps.v[x->step].kernel));
            add_text(o, ", %u divided (%.*s: %.0f %%),", o->divisions.n, (int)name.n, name.p,
                     100.0 * (double)x->first / (double)x->size);
        }
        add_text(o, " %s, a gain of %.2f: programs are divided from %.2f on", text[OFFLOAD_PART], gain, OFFLOAD_GAIN);
    }
    if (!o->divisions.n && r->alone_ns > 0)
        explain_refused(t, o, r);
}

static struct task task_new(struct arena *scratch, const struct ir_module *m, ir_block block, const struct fuse_block *f,
                            const struct machine *machine) {
    struct task t = {.a = scratch, .m = m, .block = block, .f = f, .machine = machine, .nsteps = f->steps.n,
                     .index = {.a = scratch}, .seen = {.a = scratch}, .flow = {.a = scratch}};
    t.steps = ARENA_ARRAY(scratch, struct placed_step, t.nsteps + 1);
    return t;
}

void offload(struct arena *a, struct arena *scratch, const struct ir_module *m, ir_block block, const struct fuse_block *f,
             const struct machine *machine, bool revoked, struct offload *out) {
    struct task t = task_new(scratch, m, block, f, machine);
    struct refused refused = {0};
    double moved[OFFLOAD_WAYS];
    uint32_t there = 0, nsteps = 0;
    *out = (struct offload){.on_device = ARENA_ARRAY(a, bool, t.nsteps + 1)};
    read_steps(&t);
    bool *all = ARENA_ARRAY(scratch, bool, t.nsteps + 1);
    out->ns[OFFLOAD_NONE] = assignment_ns(&t, all, &moved[OFFLOAD_NONE]);
    for (uint32_t i = 0; i < t.nsteps; i++)
        all[i] = !isinf(t.steps[i].device_ns);
    out->ns[OFFLOAD_ALL] = assignment_ns(&t, all, &moved[OFFLOAD_ALL]);
    out->ns[OFFLOAD_PART] = best_ns(&t, out->on_device, &moved[OFFLOAD_PART]);
    if (!isinf(out->ns[OFFLOAD_PART]))
        divide_all(&t, a, out, &refused);
    for (uint32_t i = 0; i < out->divisions.n; i++) {
        const struct division *x = &out->divisions.v[i];
        moved[OFFLOAD_PART] += share_step(&t, x, (double)x->first / (double)x->size, out->on_device).moved;
    }
    for (uint32_t i = 0; i < t.nsteps; i++)
        if (f->steps.v[i].kind != FUSE_STEP_ALIAS) {
            nsteps++;
            there += out->on_device[i];
        }
    double one = fmin(out->ns[OFFLOAD_NONE], out->ns[OFFLOAD_ALL]);
    bool part = ((there > 0 && there < nsteps) || out->divisions.n) && one / out->ns[OFFLOAD_PART] >= OFFLOAD_GAIN;
    out->to = part && !revoked ? OFFLOAD_PART : out->ns[OFFLOAD_NONE] <= out->ns[OFFLOAD_ALL] ? OFFLOAD_NONE : OFFLOAD_ALL;
    explain(&t, out, moved, nsteps, there, &refused);
    if (part && revoked)
        add_text(out, "; revoked: a run took longer than one side alone");
}

bool *offload_divided(struct arena *a, struct arena *scratch, const struct ir_module *m, ir_block block,
                      const struct fuse_block *f, const struct machine *machine, const struct divided *divided) {
    struct task t = task_new(scratch, m, block, f, machine);
    bool *on_device = ARENA_ARRAY(a, bool, t.nsteps + 1);
    double moved;
    t.divided = divided;
    read_steps(&t);
    (void)best_ns(&t, on_device, &moved);
    for (uint32_t i = 0; i < t.nsteps; i++)
        if (f->steps.v[i].kind == FUSE_STEP_OP && opt_ids_get(&divided->own, f->steps.v[i].op.i) == DIVIDE_JOIN) {
            const struct placed_value *x = &t.values.v[t.steps[i].writes.v[0]];
            bool read = false;
            for (uint32_t k = 0; k < x->readers.n; k++)
                read |= on_device[x->readers.v[k]];
            on_device[i] = x->readers.n ? read : machine->arguments_on_device;
        }
    return on_device;
}
