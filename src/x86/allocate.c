/* Registers by linear scan.
 *
 * A value lives from its definition to its last use in the order of the blocks, to the end of a loop that uses it from outside;
 * such intervals have no holes, and splitting them is not worth its time: control flow is structured. Where registers do not
 * suffice, the value that is used least, by loops and for the length of its interval, lives in memory altogether: it is stored
 * once and loaded at each use, and the scan is repeated. */
#include "x86/x86.h"

enum { LATE = 1, STEP = 2, MOST_ROUNDS = 12, CLOBBERED = 1 << X86_RAX | 1 << X86_RDX };

static const uint8_t allocate_general[] = {X86_RAX, X86_RCX, X86_RDX, X86_RSI, X86_RDI, 8,  9,      10,
                                           11,      X86_RBX, 12,      13,      14,      15, X86_RBP};
static const uint8_t allocate_vector[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
static const uint8_t allocate_params[] = {X86_RDI, X86_RSI, X86_RDX, X86_RCX};
enum { CALLEE_SAVED = 1 << X86_RBX | 1 << X86_RBP | 1 << 12 | 1 << 13 | 1 << 14 | 1 << 15 };

struct allocate {
    struct x86_module *m;
    struct x86_function *f;
    struct x86_frame *frame;
    struct x86_ins *base;                   /* the stack pointer */
    struct x86_ins *held[2][X86_REGISTERS]; /* by class */
    uint32_t *clobbers, nclobbers, cap;     /* positions of instructions that need RAX and RDX */
    uint32_t used;                          /* general registers, as bits */
    bool spilled;
};

/* ---- loops -------------------------------------------------------------------------------------------------- */

/* A jump back to a block makes a loop of all blocks between; of several, the last one. */
static void allocate_loops(struct allocate *a) {
    struct x86_loop *open = NULL;
    for (struct x86_block *b = a->f->entry; b; b = b->next) {
        while (open && open->last < b->index)
            open = open->around;
        uint32_t last = 0;
        bool head = false;
        for (const struct x86_pred *p = b->preds; p; p = p->next)
            if (p->from->placed && p->from->index >= b->index) {
                head = true;
                last = p->from->index > last ? p->from->index : last;
            }
        if (head) {
            struct x86_loop *l = ARENA_NEW(a->m->arena, struct x86_loop);
            *l = (struct x86_loop){.around = open, .first = b->index, .last = last, .depth = open ? open->depth + 1 : 1};
            open = l;
        }
        b->loop = open;
    }
}

/* ---- intervals ---------------------------------------------------------------------------------------------- */

static const float allocate_weights[] = {1, 8, 64, 512, 4096};

static float allocate_weight(const struct x86_block *b) {
    uint32_t depth = b->loop ? b->loop->depth : 0;
    return allocate_weights[depth < 4 ? depth : 4];
}

static void allocate_use(struct x86_ins *v, const struct x86_block *b, uint32_t pos) {
    if (!v->block)
        return;
    uint32_t end = pos;
    for (const struct x86_loop *l = b->loop; l && (v->block->index < l->first || v->block->index > l->last); l = l->around)
        end = l->stop > end ? l->stop : end;
    if (end > v->end)
        v->end = end;
    v->weight += allocate_weight(b);
}

/* Whether an operand is read after the result is written. */
static bool allocate_late(const struct x86_ins *i, int operand) {
    switch ((enum x86_form)x86_rows[i->op].form) {
    case X86_F_ALU:
        return operand == 1 && i->op == X86_SUB;
    case X86_F_DIVIDE:
    case X86_F_MULHI:
        return operand == 1;
    default:
        return false;
    }
}

static void allocate_uses(struct x86_ins *i) {
    bool alu = x86_rows[i->op].form == X86_F_ALU;
    for (int j = 0; j < i->nargs; j++)
        if (j + 1 != i->folded)
            allocate_use(i->arg[j], i->block, i->pos + (allocate_late(i, j) ? LATE : 0));
    if (i->base)
        allocate_use(i->base, i->block, i->pos + (alu ? LATE : 0));
    if (i->index)
        allocate_use(i->index, i->block, i->pos + (alu ? LATE : 0));
}

static void allocate_number(struct allocate *a) {
    uint32_t pos = 0;
    for (struct x86_block *b = a->f->entry; b; b = b->next) {
        b->start = pos += STEP;
        for (struct x86_ins *p = b->phis; p; p = p->next) {
            p->pos = p->end = pos;
            p->weight = 0;
            p->phi = NULL;
        }
        for (struct x86_ins *i = b->first; i; i = i->next) {
            i->pos = i->end = pos += STEP;
            i->weight = allocate_weight(b);
            i->phi = NULL;
        }
        b->stop = pos;
        if (b->loop) /* a block's end is at least that of its loops so far */
            for (struct x86_loop *l = b->loop; l; l = l->around)
                l->stop = pos;
    }
}

static void allocate_intervals(struct allocate *a) {
    a->nclobbers = 0;
    allocate_number(a);
    for (struct x86_block *b = a->f->entry; b; b = b->next) {
        for (struct x86_ins *p = b->phis; p; p = p->next)
            for (struct x86_incoming *in = p->in; in; in = in->next) {
                if (!in->v->slot)
                    allocate_use(in->v, in->from, in->from->stop);
                if (!in->v->phi || in->from->index >= b->index)
                    in->v->phi = p;
                p->weight += allocate_weight(in->from);
            }
        for (struct x86_ins *i = b->first; i; i = i->next) {
            allocate_uses(i);
            if (x86_rows[i->op].form == X86_F_DIVIDE || x86_rows[i->op].form == X86_F_MULHI) {
                struct {
                    uint32_t *v, n, cap;
                } s = {a->clobbers, a->nclobbers, a->cap};
                ARENA_PUSH(a->m->arena, &s, i->pos);
                a->clobbers = s.v, a->nclobbers = s.n, a->cap = s.cap;
            }
        }
    }
}

/* ---- the scan ------------------------------------------------------------------------------------------------ */

/* Registers that an instruction within the interval destroys. */
static uint32_t allocate_forbidden(const struct allocate *a, const struct x86_ins *v) {
    uint32_t low = 0, high = a->nclobbers;
    while (low < high) {
        uint32_t mid = (low + high) / 2;
        if (a->clobbers[mid] <= v->pos)
            low = mid + 1;
        else
            high = mid;
    }
    return low < a->nclobbers && a->clobbers[low] < v->end ? CLOBBERED : 0;
}

static bool allocate_free(const struct allocate *a, int class, uint8_t reg, uint32_t pos) {
    const struct x86_ins *h = a->held[class][reg];
    return !h || h->end <= pos;
}

static uint8_t allocate_hint(const struct allocate *a, const struct x86_ins *v, int class, uint32_t forbidden) {
    const struct x86_ins *candidates[X86_ARGS + 4];
    uint32_t n = 0;
    if (v->op == X86_PARAM) { /* another parameter can be in its register, where divisions forbid its own */
        uint8_t reg = allocate_params[v->imm];
        return forbidden >> reg & 1 || !allocate_free(a, class, reg, v->pos) ? X86_NO_REGISTER : reg;
    }
    if (v->phi && !v->phi->slot)
        candidates[n++] = v->phi;
    for (const struct x86_incoming *in = v->in; in && n < X86_ARGS; in = in->next)
        if (in->v->block && in->from->index < v->block->index)
            candidates[n++] = in->v;
    if (x86_rows[v->op].form == X86_F_FMA) {
        candidates[n++] = v->arg[2];
        candidates[n++] = v->arg[0];
    } else if (v->nargs) {
        candidates[n++] = v->arg[x86_rows[v->op].form == X86_F_CMOV ? 3 : 0];
    }
    for (uint32_t i = 0; i < n; i++) {
        uint8_t reg = candidates[i]->reg;
        if (reg != X86_NO_REGISTER && x86_rows[candidates[i]->op].class == x86_rows[v->op].class && reg < X86_REGISTERS &&
            !(forbidden >> reg & 1) && !(class == 0 && reg == X86_RSP) && allocate_free(a, class, reg, v->pos))
            return reg;
    }
    return X86_NO_REGISTER;
}

static float allocate_cost(const struct x86_ins *v) {
    return v->reload ? 1e30f : v->weight / (float)(v->end - v->pos + STEP);
}

static void allocate_spill(struct allocate *a, struct x86_ins *v) {
    v->slot = ARENA_NEW(a->m->arena, struct x86_slot);
    *v->slot = (struct x86_slot){-1, (uint8_t)(x86_rows[v->op].class == X86_G ? 8 : v->size)};
    v->reg = X86_NO_REGISTER;
    a->spilled = true;
}

static void allocate_one(struct allocate *a, struct x86_ins *v) {
    int class = x86_rows[v->op].class == X86_V;
    uint32_t forbidden = class ? 0 : allocate_forbidden(a, v), n = class ? 16 : a->frame->aligned ? 14 : 15;
    const uint8_t *regs = class ? allocate_vector : allocate_general;
    uint8_t reg = allocate_hint(a, v, class, forbidden);
    for (uint32_t i = 0; reg == X86_NO_REGISTER && i < n; i++)
        if (!(forbidden >> regs[i] & 1) && allocate_free(a, class, regs[i], v->pos))
            reg = regs[i];
    if (reg == X86_NO_REGISTER) {
        struct x86_ins *least = v;
        for (uint32_t i = 0; i < n; i++) {
            struct x86_ins *h = a->held[class][regs[i]];
            if (!(forbidden >> regs[i] & 1) && allocate_cost(h) < allocate_cost(least))
                least = h;
        }
        if (least->reload) {
            x86_refuse(a->m, "an instruction with too many operands in registers");
            return;
        }
        reg = least->reg;
        allocate_spill(a, least);
        if (least == v)
            return;
    }
    v->reg = reg;
    a->held[class][reg] = v;
    if (!class)
        a->used |= 1u << reg;
}

static void allocate_scan(struct allocate *a) {
    memset(a->held, 0, sizeof a->held);
    a->used = 0;
    a->spilled = false;
    for (struct x86_block *b = a->f->entry; b; b = b->next) {
        for (struct x86_ins *p = b->phis; p; p = p->next)
            p->reg = X86_NO_REGISTER;
        for (struct x86_ins *i = b->first; i; i = i->next)
            i->reg = X86_NO_REGISTER;
    }
    for (struct x86_block *b = a->f->entry; b && !a->m->refused; b = b->next) {
        for (struct x86_ins *p = b->phis; p; p = p->next)
            if (!p->slot)
                allocate_one(a, p);
        for (struct x86_ins *i = b->first; i && !a->m->refused; i = i->next)
            if (x86_rows[i->op].class != X86_NO_CLASS)
                allocate_one(a, i);
    }
}

/* ---- values in memory ------------------------------------------------------------------------------------------ */

static void allocate_slot(struct allocate *a, struct x86_slot *s) {
    if (s->at >= 0)
        return;
    int32_t size = s->size == 8 ? 8 : 32;
    s->at = (a->f->frame + size - 1) & ~(size - 1);
    a->f->frame = s->at + size;
}

static void allocate_at_slot(struct allocate *a, struct x86_ins *i, const struct x86_slot *s) {
    i->memory = true;
    i->base = a->base;
    i->disp = s->at;
}

static struct x86_ins *allocate_reload(struct allocate *a, const struct x86_ins *v, struct x86_ins *before) {
    bool general = x86_rows[v->op].class == X86_G;
    struct x86_ins *i = x86_detached(a->m, general ? X86_LD64 : X86_VLD, general ? 8 : v->size);
    i->live = i->reload = true;
    allocate_at_slot(a, i, v->slot);
    x86_link(before->block, before, i);
    return i;
}

/* An operand in memory where the instruction allows that, else a load before it. */
static void allocate_reload_operand(struct allocate *a, struct x86_ins *i, int j) {
    struct x86_ins *v = i->arg[j];
    if (x86_rows[i->op].form == X86_F_FMA && !i->memory) {
        i->folded = (uint8_t)(j + 1);
        allocate_at_slot(a, i, v->slot);
        return;
    }
    if (x86_memory_operand(i) == j && x86_rows[i->op].form != X86_F_ALU) {
        i->folded = (uint8_t)(j + 1);
        allocate_at_slot(a, i, v->slot);
        return;
    }
    struct x86_ins *r = allocate_reload(a, v, i);
    for (int k = j; k < i->nargs; k++)
        if (i->arg[k] == v)
            i->arg[k] = r;
    if (i->base == v)
        i->base = r;
    if (i->index == v)
        i->index = r;
}

static void allocate_store(struct allocate *a, struct x86_ins *v) {
    bool general = x86_rows[v->op].class == X86_G;
    struct x86_ins *s = x86_detached(a->m, general ? X86_ST64 : X86_VST, general ? 8 : v->size), *at = v->next;
    s->nargs = 1;
    s->arg[0] = v;
    s->live = true;
    allocate_at_slot(a, s, v->slot);
    while (at && at->op == X86_PARAM)
        at = at->next;
    x86_link(v->block, at, s);
    v->reload = true; /* until it is stored */
}

/* A phi and what flows into it share their place where they do not live at the same time: one value from before it, and one
   from after it, of a loop. */
static void allocate_share_slots(struct allocate *a) {
    for (struct x86_block *b = a->f->entry; b; b = b->next)
        for (struct x86_ins *p = b->phis; p; p = p->next) {
            bool shared[2] = {false, false};
            for (struct x86_incoming *in = p->in; p->slot && in; in = in->next) {
                struct x86_ins *v = in->v;
                bool before = v->end <= p->pos, after = p->end <= v->pos;
                if (!v->slot || v->slot->at >= 0 || p->slot->at >= 0 || v->phi != p || v->in || (!before && !after) ||
                    shared[after])
                    continue;
                shared[after] = true;
                v->slot = p->slot;
            }
        }
}

static bool allocate_is_store_of(const struct allocate *a, const struct x86_ins *i) {
    return (i->op == X86_ST64 || i->op == X86_VST) && i->base == a->base && i->arg[0]->slot && i->disp == i->arg[0]->slot->at;
}

static void allocate_rewrite_operands(struct allocate *a, struct x86_ins *i) {
    if (allocate_is_store_of(a, i))
        return;
    for (int j = 0; j < i->nargs; j++)
        if (j + 1 != i->folded && i->arg[j]->slot)
            allocate_reload_operand(a, i, j);
    if (i->base && i->base->slot)
        i->base = allocate_reload(a, i->base, i);
    if (i->index && i->index->slot)
        i->index = allocate_reload(a, i->index, i);
}

static void allocate_rewrite(struct allocate *a) {
    allocate_share_slots(a);
    for (struct x86_block *b = a->f->entry; b; b = b->next) {
        for (struct x86_ins *p = b->phis; p; p = p->next)
            if (p->slot)
                allocate_slot(a, p->slot);
        for (struct x86_ins *i = b->first; i; i = i->next)
            if (i->slot)
                allocate_slot(a, i->slot);
    }
    for (struct x86_block *b = a->f->entry; b; b = b->next)
        for (struct x86_ins *i = b->first; i; i = i->next) {
            allocate_rewrite_operands(a, i);
            if (i->slot && !i->reload)
                allocate_store(a, i);
        }
}

void x86_allocate(struct x86_module *m, struct x86_function *f, struct x86_frame *frame) {
    struct allocate a = {.m = m, .f = f, .frame = frame};
    *frame = (struct x86_frame){.aligned = f->frame > 0};
    a.base = x86_detached(m, X86_FRAME, 8);
    a.base->reg = X86_RSP;
    allocate_loops(&a);
    for (int round = 0; round < MOST_ROUNDS; round++) {
        allocate_intervals(&a);
        allocate_scan(&a);
        if (m->refused)
            return;
        if (!a.spilled)
            break;
        if (round == MOST_ROUNDS - 1)
            x86_refuse(m, "too few registers");
        frame->aligned = true;
        allocate_rewrite(&a);
    }
    frame->bytes = f->frame;
    frame->saved = a.used & CALLEE_SAVED;
    if (frame->aligned)
        frame->saved |= 1 << X86_RBP;
}
