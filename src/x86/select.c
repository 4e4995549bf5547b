/* What is not used is removed; loads and constants become operands in memory, small numbers immediate ones. */
#include "x86/x86.h"

/* ---- what is used --------------------------------------------------------------------------------------- */

struct select_stack {
    struct x86_ins **v;
    uint32_t n, cap;
};

static void select_mark(struct x86_module *m, struct select_stack *s, struct x86_ins *i) {
    if (!i)
        return;
    i->uses++;
    if (i->live)
        return;
    i->live = true;
    ARENA_PUSH(m->arena, s, i);
}

static void select_mark_operands(struct x86_module *m, struct select_stack *s, struct x86_ins *i) {
    for (int j = 0; j < i->nargs; j++)
        select_mark(m, s, i->arg[j]);
    select_mark(m, s, i->base);
    select_mark(m, s, i->index);
    for (struct x86_incoming *in = i->in; in; in = in->next)
        select_mark(m, s, in->v);
}

static void select_remove_dead(struct x86_module *m, struct x86_function *f) {
    struct select_stack s = {0};
    for (struct x86_block *b = f->entry; b; b = b->next)
        for (struct x86_ins *i = b->first; i; i = i->next)
            if (x86_rows[i->op].class == X86_NO_CLASS) {
                i->live = true;
                select_mark_operands(m, &s, i);
            }
    while (s.n)
        select_mark_operands(m, &s, s.v[--s.n]);
    for (struct x86_block *b = f->entry; b; b = b->next) {
        for (struct x86_ins *i = b->first, *next; i; i = next) {
            next = i->next;
            if (!i->live)
                x86_unlink(i);
        }
        struct x86_ins **phi = &b->phis;
        while (*phi)
            if ((*phi)->live)
                phi = &(*phi)->next;
            else
                *phi = (*phi)->next;
    }
}

/* ---- operands in memory ----------------------------------------------------------------------------------- */

static uint32_t select_bytes(const struct x86_ins *i) {
    int8_t memory = x86_rows[i->op].memory;
    return memory < 0 ? i->size / (uint32_t)-memory : (uint32_t)memory;
}

static bool select_is_load(const struct x86_ins *i) {
    return i->memory && ((i->op >= X86_LD8 && i->op <= X86_LD64) || (i->op >= X86_VLD4 && i->op <= X86_VLD) ||
                         i->op == X86_VMOVD_VG || i->op == X86_VMOVQ_VG);
}

int x86_memory_operand(const struct x86_ins *i) {
    switch ((enum x86_form)x86_rows[i->op].form) {
    case X86_F_RM:
    case X86_F_RMI:
    case X86_F_RXM:
    case X86_F_RXMI:
    case X86_F_RZM:
    case X86_F_RMV:
    case X86_F_LEGACY_RM:
        return i->nargs && !i->memory && x86_rows[i->op].memory ? 0 : -1;
    case X86_F_RVM:
    case X86_F_RVM_C:
    case X86_F_RVMI:
    case X86_F_RVMR:
    case X86_F_ALU:
        return i->memory ? -1 : 1;
    default:
        return -1;
    }
}

static bool select_exchanges(const struct x86_ins *i) {
    return x86_rows[i->op].form == X86_F_RVM_C || (x86_rows[i->op].form == X86_F_ALU && i->op != X86_SUB);
}

static void select_exchange(struct x86_ins *i, int a, int b) {
    struct x86_ins *t = i->arg[a];
    i->arg[a] = i->arg[b];
    i->arg[b] = t;
}

/* Whether the load of an operand may move to the instruction. */
static bool select_may_fold(const struct x86_ins *i, const struct x86_ins *load, uint32_t epoch) {
    return select_is_load(load) && load->uses == 1 && load->block == i->block && (load->invariant || load->number == epoch) &&
           select_bytes(load) == select_bytes(i);
}

static void select_fold(struct x86_ins *i, int operand, struct x86_ins *load) {
    i->memory = true;
    i->folded = (uint8_t)(operand + 1);
    i->base = load->base;
    i->index = load->index;
    i->scale = load->scale;
    i->disp = load->disp;
    i->pooled = load->pooled;
    if (load->block)
        x86_unlink(load);
}

static bool select_try(struct x86_ins *i, int operand, uint32_t epoch) {
    struct x86_ins *a = i->arg[operand];
    if (a->op == X86_CONST_V && x86_rows[i->op].class != X86_NO_CLASS) {
        select_fold(i, operand, a);
        return true;
    }
    if (!select_may_fold(i, a, epoch))
        return false;
    select_fold(i, operand, a);
    return true;
}

static void select_fma(struct x86_ins *i, uint32_t epoch) {
    static const int order[] = {1, 0, 2};
    for (int j = 0; j < 3; j++)
        if (select_try(i, order[j], epoch))
            return;
}

static void select_memory(struct x86_ins *i, uint32_t epoch) {
    if (x86_rows[i->op].form == X86_F_FMA) {
        if (!i->memory)
            select_fma(i, epoch);
        return;
    }
    int at = x86_memory_operand(i);
    if (at < 0)
        return;
    struct x86_ins *a = i->arg[at]; /* a broadcast from memory needs no general register */
    bool narrow =
        (i->op == X86_VPBROADCASTB || i->op == X86_VPBROADCASTW) && a->op == X86_VMOVD_VG && !a->memory && a->uses == 1;
    if (narrow && select_may_fold(i, a->arg[0], epoch) && a->block == i->block) {
        struct x86_ins *load = a->arg[0];
        x86_unlink(a);
        select_fold(i, at, load);
        return;
    }
    if (!select_try(i, at, epoch) && select_exchanges(i)) {
        select_exchange(i, 0, 1);
        if (!select_try(i, at, epoch))
            select_exchange(i, 0, 1);
    }
}

/* ---- constants -------------------------------------------------------------------------------------------- */

static bool select_fits(int64_t v) {
    return v == (int32_t)v;
}

/* Whether the operand may be an immediate one. */
static bool select_immediate(const struct x86_ins *i, int operand) {
    int64_t v = i->arg[operand]->imm;
    switch ((enum x86_form)x86_rows[i->op].form) {
    case X86_F_ALU:
    case X86_F_SETCC:
    case X86_F_CMOV:
    case X86_F_JUMP:
        return operand == 1 && !i->test && (i->size == 4 || select_fits(v));
    case X86_F_STORE:
        return i->op != X86_ST64 || select_fits(v);
    default:
        return false;
    }
}

static struct x86_ins *select_materialise(struct x86_module *m, const struct x86_ins *constant, struct x86_ins *before,
                                          uint8_t size) {
    bool general = constant->op == X86_CONST_G, zero = !general && x86_is_zero(constant);
    struct x86_ins *i = x86_detached(m, general ? X86_MOVI : zero ? X86_VXOR : X86_VLD, general ? 8 : zero ? 16 : size);
    i->imm = constant->imm;
    i->uses = 1;
    i->live = i->reload = true;
    if (!general && !zero) {
        i->memory = true;
        i->pooled = constant->pooled;
    }
    x86_link(before->block, before, i);
    return i;
}

/* Constants that have to be in registers are made before the instruction. */
static void select_constants(struct x86_module *m, struct x86_ins *i) {
    for (int j = 0; j < i->nargs; j++) {
        struct x86_ins *a = i->arg[j];
        if (j + 1 == i->folded)
            continue;
        if (a->op == X86_CONST_V)
            i->arg[j] = select_materialise(m, a, i, i->size == 32 ? 32 : 16);
        else if (a->op == X86_CONST_G && !select_immediate(i, j))
            i->arg[j] = select_materialise(m, a, i, 8);
    }
    if (i->base && i->base->op == X86_CONST_G)
        i->base = select_materialise(m, i->base, i, 8);
    if (i->index && i->index->op == X86_CONST_G)
        i->index = select_materialise(m, i->index, i, 8);
}

void x86_select(struct x86_module *m, struct x86_function *f) {
    select_remove_dead(m, f);
    for (struct x86_block *b = f->entry; b; b = b->next) {
        uint32_t epoch = 0;
        for (struct x86_ins *i = b->first; i; i = i->next) {
            i->number = epoch; /* of stores before it */
            if (x86_rows[i->op].class == X86_NO_CLASS && i->memory && i->op != X86_PREFETCH)
                epoch++;
            else
                select_memory(i, epoch);
            if ((x86_rows[i->op].form == X86_F_ALU && select_exchanges(i)) && !i->memory && i->arg[0]->op == X86_CONST_G)
                select_exchange(i, 0, 1);
            select_constants(m, i);
        }
    }
}
