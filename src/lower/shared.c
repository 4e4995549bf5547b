/* Contractions on GPUs: a block computes a tile of the result, a thread a register tile of it. Slabs of both operands go
 * through shared memory: the next ones are copied there meanwhile, or loaded into registers where they are not plain copies.
 * An operand is kept as it is contiguous, along the sum or along the result, so that threads load and read 16 bytes at once;
 * see docs/adr/0021-schedules-of-blocks.md.
 *
 * One VECTOR loop of as many lanes as the block has threads computes all: lanes load from scratch memory what others stored.
 * Each sum is accumulated in the order of its terms. */
#include "lower/shared.h"

#include <math.h>

enum {
    SHARED_SIDE = 16,  /* threads of a block along rows and along columns */
    SHARED_DEPTH = 16, /* terms of a slab */
    SHARED_STEP = 4,   /* elements that are read at once */
    SHARED_STAGES = 3, /* slabs in shared memory at most: one is multiplied, others are on their way */
    SHARED_BOX_STAGES = 4,
    SHARED_LEAST = 8   /* rows and columns from which tiles pay */
};

/* ---- the tile --------------------------------------------------------------------------------- */

static void divide_axes(struct shared *s) {
    const struct contraction *c = s->c;
    s->side[0].lines.size = s->side[1].lines.size = s->batch.size = s->terms = 1;
    for (uint32_t i = 0; i < c->nresult; i++) {
        const struct axis *a = &c->result[i];
        if (a->size == 1)
            continue;
        bool left = a->stride[0] != 0, right = a->stride[1] != 0;
        contract_add_axis(c, left && right ? &s->batch : &s->side[right].lines, i);
    }
    for (uint32_t i = 0; i < c->nsum; i++)
        s->terms *= c->sum[i].size;
}

/* The sizes of the tile of threads that take the least time: multiply-adds and reads of shared memory, for as many rounds as
   the blocks take on all multiprocessors. */
static void choose_tile(struct shared *s) {
    const struct target *t = s->c->l->target;
    int64_t most = kir_type_bits(s->c->acc) > 32 ? 4 : 8;
    double least = INFINITY;
    for (int64_t rows = most; rows >= 1; rows /= 2)
        for (int64_t columns = most; columns >= 1; columns /= 2) {
            double blocks = ceil((double)s->side[0].lines.size / (double)(rows * SHARED_SIDE)) *
                            ceil((double)s->side[1].lines.size / (double)(columns * SHARED_SIDE)) * (double)s->batch.size;
            double time = ceil(blocks / t->cores) * (double)(rows * columns + 2 * (rows + columns));
            if (time < least) {
                least = time;
                s->side[0].each = rows;
                s->side[1].each = columns;
            }
        }
    for (int i = 0; i < 2; i++) {
        struct panel *p = &s->side[i];
        p->size = p->each * SHARED_SIDE;
        p->unit = p->each < SHARED_STEP ? p->each : SHARED_STEP;
        p->access = SHARED_ACCESS / (kir_type_bits(s->c->acc) / 8);
        p->dtype = contract_acc_dtype(s->c);
    }
    s->depth = SHARED_DEPTH;
}

/* How operands lie in scratch memory, and where the tile reaches beyond them. */
static void find_layout(struct shared *s) {
    for (int i = 0; i < 2; i++) {
        struct panel *p = &s->side[i];
        p->guarded = p->lines.size < p->size;
        p->along_sum = true;
        for (uint32_t k = 0; k < p->lines.n; k++)
            p->along_sum &= s->c->result[p->lines.v[k]].stride[i] != 1;
        p->along_sum |= s->c->sum[s->c->nsum - 1].stride[i] == 1;
        p->along_sum |= s->mma && ir_dtype_get(p->dtype)->bytes == 1; /* bytes are not transposed as they are read */
    }
    s->terms_guarded = s->terms % s->depth != 0;
}

/* Elements between lines in scratch memory, or between terms. Lines are an odd number of accesses apart, so that threads read
   different banks; WGMMA has them closely, swizzled. */
static int64_t panel_stride(const struct shared *s, const struct panel *p) {
    if (s->wgmma)
        return KIR_WGMMA_TERMS;
    return p->along_sum ? s->depth + p->access : p->size + (s->mma ? p->access : 0);
}

kir_val shared_place(struct lower *l, const struct shared *s, const struct panel *p, kir_val line, kir_val term) {
    kir_val far = p->along_sum ? line : term, near = p->along_sum ? term : line;
    if (s->wgmma) {
        kir_val group = lower_mul(l, lower_div(l, near, KIR_WGMMA_TERMS), KIR_WGMMA_TERMS * KIR_WGMMA_TERMS);
        kir_val unit = lower_div(l, lower_rem(l, near, KIR_WGMMA_TERMS), p->access);
        unit = lower_mul(l, kir_op2(l->k, KIR_XOR, 0, unit, lower_rem(l, far, 8)), p->access);
        kir_val place = lower_add(l, lower_add(l, group, lower_mul(l, far, KIR_WGMMA_TERMS)), unit);
        return lower_add(l, p->stage, lower_add(l, place, lower_rem(l, near, p->access)));
    }
    return lower_add(l, p->stage, lower_add(l, lower_mul(l, far, panel_stride(s, p)), near));
}

/* Line `i` of the thread: side by side in groups where lines are contiguous, else as far apart as threads are. */
static kir_val thread_line(struct lower *l, const struct panel *p, int64_t group, kir_val i) {
    if (p->along_sum)
        return lower_add(l, p->thread, lower_mul(l, lower_add(l, kir_i64(l->k, group * p->unit), i), SHARED_SIDE));
    kir_val first = lower_add(l, lower_mul(l, p->thread, p->unit), kir_i64(l->k, group * p->unit * SHARED_SIDE));
    return lower_add(l, first, i);
}

/* Elements of a slab in scratch memory. */
static int64_t panel_slab(const struct shared *s, const struct panel *p) {
    return s->wgmma ? p->size * s->depth : (p->along_sum ? p->size : s->depth) * panel_stride(s, p);
}

/* ---- guards ----------------------------------------------------------------------------------- */

static void guard_below(struct lower *l, kir_val x, int64_t end) {
    kir_val inside = kir_cmp(l->k, KIR_LT, 0, x, kir_i64(l->k, end));
    l->guard = l->guard.i ? kir_op2(l->k, KIR_AND, 0, l->guard, inside) : inside;
}

void shared_set_line(struct shared *s, struct panel *p, kir_val line) {
    kir_val at = lower_add(s->c->l, p->first, line);
    if (p->guarded)
        guard_below(s->c->l, at, p->lines.size);
    contract_set(s->c, &p->lines, at);
}

/* Whether the term exists; none = it does. */
static kir_val set_term(struct shared *s, kir_val term) {
    struct contraction *c = s->c;
    int64_t dims[IR_MAX_RANK];
    kir_val at[IR_MAX_RANK], inside = {0};
    if (s->terms_guarded) {
        guard_below(c->l, term, s->terms);
        inside = kir_cmp(c->l->k, KIR_LT, 0, term, kir_i64(c->l->k, s->terms));
    }
    for (uint32_t i = 0; i < c->nsum; i++)
        dims[i] = c->sum[i].size;
    lower_unflatten(c->l, term, dims, c->nsum, at);
    for (uint32_t i = 0; i < c->nsum; i++)
        c->sum[i].at = at[i];
    return inside;
}

/* ---- slabs ------------------------------------------------------------------------------------ */

/* The element that the thread has at place `i`, a multiple of the unit, plus `x`, of a slab: line and term in the tile. */
static void unit_place(struct shared *s, const struct panel *p, int64_t i, kir_val x, kir_val *line, kir_val *term) {
    struct lower *l = s->c->l;
    int64_t inner = (p->along_sum ? s->depth : p->size) / p->unit;
    kir_val at = lower_add(l, s->lane, kir_i64(l->k, i / p->unit * SHARED_THREADS));
    kir_val near = lower_add(l, lower_mul(l, lower_rem(l, at, inner), p->unit), x), far = lower_div(l, at, inner);
    *line = p->along_sum ? far : near;
    *term = p->along_sum ? near : far;
}

/* The same for each element of a unit, by an UNROLLED loop that this opens; returns the place of the element. */
static kir_val open_unit(struct shared *s, const struct panel *p, int64_t i, kir_val *line, kir_val *term) {
    kir_val x = kir_loop(s->c->l->k, KIR_UNROLLED, p->unit, 0);
    unit_place(s, p, i, x, line, term);
    return lower_add(s->c->l, kir_i64(s->c->l->k, i), x);
}

/* Elements of a slab that a thread loads. */
static int64_t panel_elements(const struct shared *s, const struct panel *p) {
    return p->size * s->depth / SHARED_THREADS;
}

static void load_slab(struct shared *s, uint32_t side, kir_val slab) {
    struct lower *l = s->c->l;
    struct panel *p = &s->side[side];
    kir_val line, term, first = lower_mul(l, slab, s->depth);
    for (int64_t i = 0; i < panel_elements(s, p); i += p->unit) {
        kir_val place = open_unit(s, p, i, &line, &term);
        l->guard = s->guard;
        shared_set_line(s, p, line);
        kir_val inside = set_term(s, lower_add(l, first, term));
        s->c->packed[side].on = false;
        kir_val x = contract_factor(s->c, side);
        x = inside.i ? kir_select(l->k, inside, x, contract_zero(s->c)) : x; /* factors need not be loads, which are masked */
        if (kir_type(l->k, x) != kir_type(l->k, p->next))
            x = kir_typed(l->k, KIR_CONVERT, 0, kir_type(l->k, p->next), x);
        kir_set_reg(l->k, p->next, place, x);
        l->guard = s->guard;
        kir_close(l->k);
    }
}

static void store_slab(struct shared *s, struct panel *p) {
    struct lower *l = s->c->l;
    kir_val line, term;
    for (int64_t i = 0; i < panel_elements(s, p); i += p->unit) {
        kir_val place = open_unit(s, p, i, &line, &term);
        kir_store(l->k, p->scratch, shared_place(l, s, p, line, term), kir_get_reg(l->k, p->next, place));
        kir_close(l->k);
    }
}

/* ---- stages ----------------------------------------------------------------------------------- */

/* The load that a factor is, perhaps converted; none. */
static kir_val factor_load(const struct kir *k, kir_val x) {
    const struct kir_node *n = kir_get(k, x);
    x = n->op == KIR_CONVERT ? n->arg[0] : x;
    return kir_get(k, x)->op == KIR_LOAD ? x : (kir_val){0};
}

/* Whether the elements of all units lie side by side in memory, at a multiple of their bytes. */
static bool units_are_aligned(const struct shared *s, uint32_t side) {
    const struct contraction *c = s->c;
    const struct panel *p = &s->side[side];
    const struct axis *sum = &c->sum[c->nsum - 1], *line = p->lines.n ? &c->result[p->lines.v[p->lines.n - 1]] : sum;
    const struct axis *along = p->along_sum ? sum : line;
    for (uint32_t i = 0; i < c->nresult + c->nsum; i++) {
        const struct axis *a = i < c->nresult ? &c->result[i] : &c->sum[i - c->nresult];
        if (a != along && a->size > 1 && (a->stride[side] == CONTRACT_UNKNOWN || a->stride[side] % p->unit))
            return false;
    }
    return along->stride[side] == 1 && along->size % p->unit == 0;
}

/* Whether units of an operand are copies of memory that the kernel only reads, of sizes that asynchronous copies have. The
   factor has to be a load, without a condition, wherever tiles reach: a padded operand is one at index 0 alone. *first: the
   element there. */
static bool can_copy(const struct shared *s, uint32_t side, int64_t *first) {
    struct contraction *c = s->c;
    const struct panel *p = &s->side[side];
    int64_t bytes = p->unit * ir_dtype_get(p->dtype)->bytes;
    struct contract_kernel probe;
    if (c->conv || !units_are_aligned(s, side) || (bytes != 4 && bytes != 8 && bytes != 16))
        return false;
    contract_probe_begin(c, &probe);
    struct kir *k = c->l->k;
    for (uint32_t i = 0; i < c->nresult + c->nsum; i++)
        *(i < c->nresult ? &c->result[i].at : &c->sum[i - c->nresult].at) = kir_loop(k, KIR_SERIAL, INT32_MAX, 0);
    kir_val load = factor_load(k, contract_factor(c, side));
    bool can = load.i && !kir_get(k, load)->arg[1].i;
    for (uint32_t i = 0; i < c->nresult + c->nsum; i++)
        *(i < c->nresult ? &c->result[i].at : &c->sum[i - c->nresult].at) = kir_i64(k, 0);
    load = factor_load(k, contract_factor(c, side));
    const struct kir_node *n = kir_get(k, load);
    can = can && load.i && k->buffers.v[n->of].role == KIR_IN && k->buffers.v[n->of].dtype == p->dtype &&
          kir_is_const(k, n->arg[0], first) && *first % p->unit == 0;
    contract_probe_end(c, &probe);
    return can;
}

/* The distance of elements along axes that are taken as one; 0 where they are not equally far apart. Of the result, or of the
   sum (v NULL). */
static int64_t common_stride(const struct contraction *c, const uint32_t *v, uint32_t n, uint32_t side) {
    int64_t stride = 0, next = 0;
    for (uint32_t i = n; i-- > 0;) {
        const struct axis *a = v ? &c->result[v[i]] : &c->sum[i];
        if (a->size == 1)
            continue;
        if (a->stride[side] <= 0 || (stride && a->stride[side] != next) ||
            __builtin_mul_overflow(a->stride[side], a->size, &next))
            return 0;
        stride = stride ? stride : a->stride[side];
    }
    return stride;
}

/* Whether the elements of an operand, from `first` on, are a matrix in memory whose boxes are its slabs: lines of it are rows
   or columns of the operand, or terms; batches are further lines, or parts of lines. Where terms end, there are zeros only if
   the matrix ends there; elsewhere slabs have to be whole. */
static bool find_box(struct shared *s, uint32_t side, int64_t first) {
    const struct contraction *c = s->c;
    struct panel *p = &s->side[side];
    int64_t lines = common_stride(c, p->lines.v, p->lines.n, side), terms = common_stride(c, NULL, c->nsum, side);
    int64_t stride = p->along_sum ? lines : terms;
    int64_t last = 0, far = p->along_sum ? p->lines.size : s->terms, near = p->along_sum ? s->terms : p->lines.size;
    if (stride < near || (p->along_sum ? terms : lines) != 1 || stride % p->unit || first < 0)
        return false;
    p->box.column = last = first % stride;
    p->box.line = first / stride;
    far += p->box.line;
    for (uint32_t i = 0; i < s->batch.n; i++) {
        const struct axis *a = &c->result[s->batch.v[i]];
        int64_t step = a->stride[side], moved;
        if (step < 0 || __builtin_mul_overflow(step / stride, a->size - 1, &moved) ||
            __builtin_add_overflow(far, moved, &far) || __builtin_mul_overflow(step % stride, a->size - 1, &moved) ||
            __builtin_add_overflow(last, moved, &last))
            return false;
        p->box.columns[i] = step % stride;
        p->box.lines[i] = step / stride;
    }
    bool ends = p->along_sum ? last == 0 : far == s->terms;
    if (last > stride - near || last + near > INT32_MAX / 2 || far > INT32_MAX / 2 || stride >= INT64_C(1) << 36 ||
        (!ends && s->terms % s->depth))
        return false;
    uint32_t box = p->along_sum ? (uint32_t)p->size : KIR_WGMMA_TERMS;
    p->box.map = (struct kir_map){.box = box, .lines = far, .columns = last + near, .stride = stride};
    return true;
}

/* As many as there is shared memory for, of which a part is left for reductions. */
static void choose_stages(struct shared *s) {
    const struct lower *l = s->c->l;
    int64_t bytes = 0, slabs = (s->terms - 1) / s->depth + 1, first[2];
    bool copied = slabs > 1 && can_copy(s, 0, &first[0]) && can_copy(s, 1, &first[1]);
    s->boxes = copied && s->wgmma && l->k->maps.n + 2 <= KIR_MOST_MAPS && find_box(s, 0, first[0]) && find_box(s, 1, first[1]);
    int64_t limit = s->boxes ? SHARED_BOX_STAGES : SHARED_STAGES;
    int64_t most = (int64_t)(l->target->shared_bytes / 8 * (s->boxes ? 7 : 6)) - (int64_t)l->k->scratch_bytes;
    for (uint32_t i = 0; i < 2; i++)
        bytes += panel_slab(s, &s->side[i]) * ir_dtype_get(s->side[i].dtype)->bytes + 64;
    s->stages = slabs < limit ? slabs : limit;
    while (s->stages > 1 && s->stages * bytes > most)
        s->stages--;
    if (!copied)
        s->stages = 1;
    s->terms_guarded |= s->stages > 1; /* copies of slabs that do not exist are zeros */
}

/* Copies a slab of an operand to a stage. */
static void copy_slab(struct shared *s, uint32_t side, kir_val slab) {
    struct lower *l = s->c->l;
    struct panel *p = &s->side[side];
    kir_val line, term, first = lower_mul(l, slab, s->depth);
    p->stage = lower_mul(l, lower_rem(l, slab, s->stages), panel_slab(s, p));
    for (int64_t i = 0; i < panel_elements(s, p); i += p->unit) {
        unit_place(s, p, i, kir_i64(l->k, 0), &line, &term);
        l->guard = s->guard;
        shared_set_line(s, p, line);
        (void)set_term(s, lower_add(l, first, term));
        kir_val guard = l->guard;
        l->guard = (kir_val){0}; /* of the copy, not of the load that gives its place */
        kir_val load = factor_load(l->k, contract_factor(s->c, side)), to = shared_place(l, s, p, line, term);
        const struct kir_node *n = kir_get(l->k, load);
        kir_copy_async(l->k, p->scratch, to, n->of, n->arg[0], guard, p->unit);
    }
    l->guard = s->guard;
}

static void copy_slabs(struct shared *s, kir_val slab) {
    copy_slab(s, 0, slab);
    copy_slab(s, 1, slab);
    kir_copy_commit(s->c->l->k);
}

/* ---- boxes ------------------------------------------------------------------------------------ */

/* The map of an operand, whose buffer is that of any of its factors. */
static void open_box(struct shared *s, uint32_t side) {
    struct lower *l = s->c->l;
    struct panel *p = &s->side[side];
    shared_set_line(s, p, kir_i64(l->k, 0));
    (void)set_term(s, kir_i64(l->k, 0));
    p->box.map.buffer = kir_get(l->k, factor_load(l->k, contract_factor(s->c, side)))->of;
    p->box.number = kir_map(l->k, p->box.map);
    l->guard = s->guard;
}

/* The slab of an operand: one box of its lines, or one for each 64 of them. */
static void copy_box(struct shared *s, uint32_t side, kir_val slab) {
    struct lower *l = s->c->l;
    struct panel *p = &s->side[side];
    kir_val column = kir_i64(l->k, p->box.column), line = kir_i64(l->k, p->box.line), term = lower_mul(l, slab, s->depth);
    p->stage = lower_mul(l, lower_rem(l, slab, s->stages), panel_slab(s, p));
    for (uint32_t i = 0; i < s->batch.n; i++) {
        kir_val at = s->c->result[s->batch.v[i]].at;
        column = lower_add(l, column, lower_mul(l, at, p->box.columns[i]));
        line = lower_add(l, line, lower_mul(l, at, p->box.lines[i]));
    }
    column = lower_add(l, column, p->along_sum ? term : p->first);
    line = lower_add(l, line, p->along_sum ? p->first : term);
    for (int64_t i = 0; i < (p->along_sum ? 1 : p->size / KIR_WGMMA_TERMS); i++) {
        kir_val place = lower_add(l, p->stage, kir_i64(l->k, i * KIR_WGMMA_TERMS * KIR_WGMMA_TERMS));
        kir_copy_tensor(l->k, p->scratch, place, p->box.number, lower_add(l, column, kir_i64(l->k, i * KIR_WGMMA_TERMS)), line);
    }
}

static void copy_boxes(struct shared *s, kir_val slab) {
    int64_t bytes = 0;
    for (uint32_t i = 0; i < 2; i++)
        bytes += panel_slab(s, &s->side[i]) * ir_dtype_get(s->side[i].dtype)->bytes;
    kir_mbarrier_expect(s->c->l->k, s->mbarriers, slab, bytes);
    copy_box(s, 0, slab);
    copy_box(s, 1, slab);
}

/* As multiply_by_stages; slab i is group i of the copies. Those after the last one are of zeros, or not used. */
static void multiply_by_boxes(struct shared *s, int64_t slabs, kir_val sums) {
    struct lower *l = s->c->l;
    s->mbarriers = kir_scratch(l->k, IR_I64_T, s->stages);
    for (uint32_t i = 0; i < 2; i++)
        open_box(s, i);
    for (int64_t i = 0; i + 1 < s->stages; i++)
        copy_boxes(s, kir_i64(l->k, i));
    kir_val slab = kir_loop(l->k, KIR_SERIAL, slabs, 0);
    kir_mbarrier_wait(l->k, s->mbarriers, slab);
    for (uint32_t i = 0; i < 2; i++)
        s->side[i].stage = lower_mul(l, lower_rem(l, slab, s->stages), panel_slab(s, &s->side[i]));
    mma_multiply(s, sums);
    copy_boxes(s, lower_add(l, slab, kir_i64(l->k, s->stages - 1)));
    kir_wgmma_wait(l->k, sums);
    kir_close(l->k);
    for (int64_t i = 0; i + 1 < s->stages; i++)
        kir_mbarrier_wait(l->k, s->mbarriers, kir_i64(l->k, slabs + i));
}

/* The lines of the thread for SHARED_STEP terms from `first` on, to registers [term][line]. */
static void read_part(struct shared *s, struct panel *p, kir_val first) {
    struct lower *l = s->c->l;
    for (int64_t g = 0; g < p->each / p->unit; g++) {
        kir_val outer = kir_loop(l->k, KIR_UNROLLED, p->along_sum ? p->unit : SHARED_STEP, 0);
        kir_val inner = kir_loop(l->k, KIR_UNROLLED, p->along_sum ? SHARED_STEP : p->unit, 0);
        kir_val i = p->along_sum ? outer : inner, term = p->along_sum ? inner : outer;
        kir_val x = kir_load(l->k, p->scratch, shared_place(l, s, p, thread_line(l, p, g, i), lower_add(l, first, term)));
        kir_val place = lower_add(l, lower_mul(l, term, p->each), lower_add(l, kir_i64(l->k, g * p->unit), i));
        kir_set_reg(l->k, p->part, place, x);
        lower_close(l, 2);
    }
}

static void multiply_slab(struct shared *s, kir_val sums) {
    struct contraction *c = s->c;
    struct lower *l = c->l;
    for (uint32_t i = 0; i < 2; i++)
        s->side[i].part = kir_reg(l->k, contract_zero(c), SHARED_STEP * s->side[i].each);
    kir_val step = kir_loop(l->k, KIR_SERIAL, SHARED_DEPTH / SHARED_STEP, 0), first = lower_mul(l, step, SHARED_STEP);
    read_part(s, &s->side[0], first);
    read_part(s, &s->side[1], first);
    kir_val term = kir_loop(l->k, KIR_UNROLLED, SHARED_STEP, 0);
    kir_val i = kir_loop(l->k, KIR_UNROLLED, s->side[0].each, 0), j = kir_loop(l->k, KIR_UNROLLED, s->side[1].each, 0);
    for (uint32_t side = 0; side < 2; side++) {
        struct panel *p = &s->side[side];
        kir_val place = lower_add(l, lower_mul(l, term, p->each), side ? j : i);
        c->packed[side] = (struct packed){.on = true, .value = kir_get_reg(l->k, p->part, place)};
    }
    contract_multiply_add(c, sums, lower_add(l, lower_mul(l, i, s->side[1].each), j));
    lower_close(l, 4);
}

/* ---- the kernel ------------------------------------------------------------------------------- */

static void finish_tile(struct shared *s, kir_val sums) {
    struct lower *l = s->c->l;
    struct panel *rows = &s->side[0], *columns = &s->side[1];
    for (int64_t g = 0; g < rows->each / rows->unit; g++) {
        kir_val i = kir_loop(l->k, KIR_UNROLLED, rows->unit, 0);
        kir_val row = thread_line(l, rows, g, i);
        for (int64_t h = 0; h < columns->each / columns->unit; h++) {
            kir_val j = kir_loop(l->k, KIR_UNROLLED, columns->unit, 0);
            l->guard = s->guard;
            shared_set_line(s, rows, row);
            shared_set_line(s, columns, thread_line(l, columns, h, j));
            kir_val line = lower_mul(l, lower_add(l, kir_i64(l->k, g * rows->unit), i), columns->each);
            kir_val at = lower_add(l, line, lower_add(l, kir_i64(l->k, h * columns->unit), j));
            contract_finish(s->c, kir_get_reg(l->k, sums, at));
            l->guard = s->guard;
            kir_close(l->k);
        }
        kir_close(l->k);
    }
}

static void begin_tile(struct shared *s, uint32_t side, kir_val tile) {
    struct lower *l = s->c->l;
    struct panel *p = &s->side[side];
    p->first = p->guarded ? lower_mul(l, tile, p->size) : contract_tile_begin(l, tile, p->lines.size, p->size);
    p->scratch = kir_scratch(l->k, p->dtype, s->stages * panel_slab(s, p));
    p->stage = kir_i64(l->k, 0);
}

/* The slab that is multiplied is in scratch memory; the next one goes to registers. */
static void multiply_by_registers(struct shared *s, int64_t slabs, kir_val sums) {
    struct lower *l = s->c->l;
    for (uint32_t i = 0; i < 2; i++) {
        enum kir_type t = kir_type_of(s->side[i].dtype);
        kir_val zero = kir_is_float(t) ? kir_float(l->k, t, 0) : kir_int(l->k, t, 0);
        s->side[i].next = kir_reg(l->k, zero, panel_elements(s, &s->side[i]));
        load_slab(s, i, kir_i64(l->k, 0));
    }
    kir_val slab = kir_loop(l->k, KIR_SERIAL, slabs, 0);
    kir_val next = kir_op2(l->k, KIR_MIN, 0, lower_add(l, slab, kir_i64(l->k, 1)), kir_i64(l->k, slabs - 1));
    for (uint32_t i = 0; i < 2; i++)
        store_slab(s, &s->side[i]);
    for (uint32_t i = 0; i < 2; i++)
        load_slab(s, i, next);
    (s->mma ? mma_multiply : multiply_slab)(s, sums);
    kir_close(l->k);
}

/* The slab that is multiplied has been waited for, the next ones are copied, one into the place of the slab that was multiplied
   last: one barrier after the wait serves for both. Units of warpgroups multiply while the threads begin these copies. */
static void multiply_by_stages(struct shared *s, int64_t slabs, kir_val sums) {
    struct lower *l = s->c->l;
    for (int64_t i = 0; i + 1 < s->stages; i++)
        copy_slabs(s, kir_i64(l->k, i));
    kir_val slab = kir_loop(l->k, KIR_SERIAL, slabs, 0);
    kir_val next = lower_add(l, slab, kir_i64(l->k, s->stages - 1));
    kir_copy_wait(l->k, s->stages - 2);
    if (!s->wgmma)
        copy_slabs(s, next);
    for (uint32_t i = 0; i < 2; i++)
        s->side[i].stage = lower_mul(l, lower_rem(l, slab, s->stages), panel_slab(s, &s->side[i]));
    (s->mma ? mma_multiply : multiply_slab)(s, sums);
    if (s->wgmma) {
        copy_slabs(s, next);
        kir_wgmma_wait(l->k, sums);
    }
    kir_close(l->k);
    kir_copy_wait(l->k, 0);
}

static void build(struct shared *s) {
    struct contraction *c = s->c;
    struct lower *l = c->l;
    int64_t counts[3] = {s->batch.size}, slabs = (s->terms - 1) / s->depth + 1;
    kir_val at[3];
    for (uint32_t i = 0; i < 2; i++)
        counts[1 + i] = (s->side[i].lines.size - 1) / s->side[i].size + 1;
    for (uint32_t i = 0; i < c->nresult; i++)
        c->result[i].at = kir_i64(l->k, 0);
    lower_grid_nd(l, counts, 3, at);
    contract_set(c, &s->batch, at[0]);
    begin_tile(s, 0, at[1]);
    begin_tile(s, 1, at[2]);
    s->lane = kir_loop(l->k, KIR_VECTOR, SHARED_THREADS, SHARED_THREADS);
    if (s->mma) {
        mma_begin(s);
    } else {
        s->side[0].thread = lower_div(l, s->lane, SHARED_SIDE);
        s->side[1].thread = lower_rem(l, s->lane, SHARED_SIDE);
    }
    kir_val sums = kir_reg(l->k, contract_zero(c), s->mma ? mma_sums(s) : s->side[0].each * s->side[1].each);
    (s->boxes ? multiply_by_boxes : s->stages > 1 ? multiply_by_stages : multiply_by_registers)(s, slabs, sums);
    c->packed[0].on = c->packed[1].on = false;
    (s->mma ? mma_finish : finish_tile)(s, sums);
    lower_close(l, 2);
}

bool contract_shared(struct contraction *c) {
    struct shared s = {.c = c, .guard = c->l->guard};
    if (c->l->target->block_threads != SHARED_THREADS || c->l->native || c->nsum == 0)
        return false;
    divide_axes(&s);
    if (s.side[0].lines.size < SHARED_LEAST || s.side[1].lines.size < SHARED_LEAST || s.terms == 0 || s.batch.size == 0)
        return false;
    struct shared grouped = s;
    if (wgmma_choose(&grouped)) {
        find_layout(&grouped);
        choose_stages(&grouped);
    }
    if (grouped.stages > 1) {
        build(&grouped);
        return true;
    }
    if (!mma_choose(&s))
        choose_tile(&s);
    find_layout(&s);
    choose_stages(&s);
    build(&s);
    return true;
}
