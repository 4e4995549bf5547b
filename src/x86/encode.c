/* Bytes: Intel 64 and IA-32 Architectures Software Developer's Manual, volume 2, chapter 2. */
#include "x86/x86.h"

struct x86_fixup {
    struct x86_fixup *next;
    uint32_t at, after;      /* of a distance of 32 bits; where it is counted from */
    struct x86_block *block; /* NULL: */
    struct x86_pooled *pooled;
};

struct encode {
    struct x86_module *m;
    struct x86_function *f;
    const struct x86_frame *frame;
    struct x86_fixup *jumps;
};

/* ---- bytes ------------------------------------------------------------------------------------------------- */

static void encode_room(struct x86_module *m, uint32_t n) {
    if (m->ncode + n <= m->code_capacity)
        return;
    uint32_t more = m->code_capacity ? 2 * m->code_capacity : 4096;
    uint8_t *code = ARENA_ARRAY(m->arena, uint8_t, more);
    if (m->ncode)
        memcpy(code, m->code, m->ncode);
    m->code = code;
    m->code_capacity = more;
}

static void encode_byte(struct x86_module *m, unsigned byte) {
    encode_room(m, 1);
    m->code[m->ncode++] = (uint8_t)byte;
}

static void encode_word(struct x86_module *m, uint64_t v, uint32_t bytes) {
    encode_room(m, bytes);
    memcpy(m->code + m->ncode, &v, bytes);
    m->ncode += bytes;
}

static bool encode_is_byte(int64_t v) {
    return v == (int8_t)v;
}

/* The M operand: a register, or memory. `after`: bytes of the instruction that follow. */
struct encode_rm {
    uint8_t reg;
    const struct x86_ins *memory; /* NULL: the register */
    uint8_t after;
};

static struct encode_rm encode_register(uint8_t reg) {
    return (struct encode_rm){reg, NULL, 0};
}

static struct encode_rm encode_operand(const struct x86_ins *i, int operand, uint8_t after) {
    if (i->memory)
        return (struct encode_rm){0, i, after};
    return (struct encode_rm){i->arg[operand]->reg, NULL, after};
}

static bool encode_x(struct encode_rm o) {
    return o.memory && o.memory->index && o.memory->index->reg >= 8;
}
static bool encode_b(struct encode_rm o) {
    return o.memory ? o.memory->base && o.memory->base->reg >= 8 : o.reg >= 8;
}

static void encode_fixup(struct x86_module *m, struct x86_fixup **list, struct x86_block *block, struct x86_pooled *pooled,
                         uint8_t after) {
    struct x86_fixup *f = ARENA_NEW(m->arena, struct x86_fixup);
    *f = (struct x86_fixup){*list, m->ncode, m->ncode + 4 + after, block, pooled};
    *list = f;
    encode_word(m, 0, 4);
}

static void encode_modrm(struct x86_module *m, unsigned reg, struct encode_rm o) {
    unsigned r = (reg & 7) << 3;
    const struct x86_ins *i = o.memory;
    if (!i) {
        encode_byte(m, 0xC0 | r | (o.reg & 7));
        return;
    }
    if (i->pooled) {
        encode_byte(m, r | 5);
        encode_fixup(m, &m->fixups, NULL, i->pooled, o.after);
        return;
    }
    unsigned base = i->base->reg, low = base & 7, mod = i->disp == 0 && low != 5 ? 0 : encode_is_byte(i->disp) ? 1 : 2;
    if (i->index || low == 4) {
        encode_byte(m, mod << 6 | r | 4);
        encode_byte(m, (unsigned)i->scale << 6 | (i->index ? i->index->reg & 7u : 4u) << 3 | low);
    } else {
        encode_byte(m, mod << 6 | r | low);
    }
    if (mod)
        encode_word(m, (uint64_t)(int64_t)i->disp, mod == 1 ? 1 : 4);
}

static void encode_vex(struct x86_module *m, const struct x86_row *row, bool w, bool wide, unsigned reg, unsigned v,
                       struct encode_rm o, unsigned opcode) {
    bool r = reg >= 8, x = encode_x(o), b = encode_b(o);
    unsigned last = (unsigned)(~v & 15) << 3 | (unsigned)wide << 2 | row->prefix;
    if (row->map == 1 && !x && !b && !w) {
        encode_byte(m, 0xC5);
        encode_byte(m, (unsigned)!r << 7 | last);
    } else {
        encode_byte(m, 0xC4);
        encode_byte(m, (unsigned)!r << 7 | (unsigned)!x << 6 | (unsigned)!b << 5 | row->map);
        encode_byte(m, (unsigned)w << 7 | last);
    }
    encode_byte(m, opcode);
    encode_modrm(m, reg, o);
}

/* bytes: a register that is accessed by its lowest byte, or none. */
static void encode_legacy(struct x86_module *m, const struct x86_row *row, bool w, unsigned reg, struct encode_rm o,
                          unsigned opcode, bool bytes) {
    static const uint8_t prefixes[] = {0, 0x66, 0xF3, 0xF2};
    unsigned rex = (unsigned)w << 3 | (unsigned)(reg >= 8) << 2 | (unsigned)encode_x(o) << 1 | encode_b(o);
    if (row->prefix)
        encode_byte(m, prefixes[row->prefix]);
    if (rex || bytes)
        encode_byte(m, 0x40 | rex);
    if (row->map)
        encode_byte(m, 0x0F);
    encode_byte(m, opcode);
    encode_modrm(m, reg, o);
}

/* ---- moves --------------------------------------------------------------------------------------------------- */

static const struct x86_row *encode_row(enum x86_op op) {
    return &x86_rows[op];
}

static void encode_move(struct x86_module *m, bool vector, unsigned to, unsigned from) {
    if (to == from)
        return;
    if (vector)
        encode_vex(m, encode_row(X86_VMOVAPS), false, true, to, 0, encode_register((uint8_t)from), 0x28);
    else
        encode_legacy(m, encode_row(X86_LD64), true, to, encode_register((uint8_t)from), 0x8B, false);
}

static void encode_immediate(struct x86_module *m, unsigned to, int64_t v) {
    if (v == 0 || (v > 0 && v <= UINT32_MAX)) { /* flags stay: no xor */
        if (to >= 8)
            encode_byte(m, 0x41);
        encode_byte(m, 0xB8 | (to & 7));
        encode_word(m, (uint64_t)v, 4);
    } else if (v == (int32_t)v) {
        encode_legacy(m, encode_row(X86_LD64), true, 0, encode_register((uint8_t)to), 0xC7, false);
        encode_word(m, (uint64_t)v, 4);
    } else {
        encode_byte(m, 0x48 | (to >= 8));
        encode_byte(m, 0xB8 | (to & 7));
        encode_word(m, (uint64_t)v, 8);
    }
}

/* ---- parallel moves ------------------------------------------------------------------------------------------- */

/* From and to registers, slots, or a constant. */
struct encode_place {
    uint8_t reg;                 /* X86_NO_REGISTER: */
    const struct x86_slot *slot; /* or */
    const struct x86_ins *constant;
};

struct encode_copy {
    struct encode_place from, to;
    bool vector, done;
    uint8_t size;
};

static struct encode_place encode_place_of(const struct x86_ins *i) {
    if (i->op == X86_CONST_G || i->op == X86_CONST_V)
        return (struct encode_place){X86_NO_REGISTER, NULL, i};
    if (i->slot)
        return (struct encode_place){X86_NO_REGISTER, i->slot, NULL};
    return (struct encode_place){i->reg, NULL, NULL};
}

static bool encode_same_place(const struct encode_place *a, const struct encode_place *b) {
    if (a->constant || b->constant)
        return false;
    return a->slot || b->slot ? a->slot == b->slot : a->reg == b->reg;
}

static void encode_slot_access(struct x86_module *m, bool vector, bool store, uint8_t size, unsigned reg,
                               const struct x86_slot *s, int32_t plus) {
    struct x86_ins base = {.reg = X86_RSP}, at = {.memory = true, .base = &base, .disp = s->at + plus};
    struct encode_rm o = {0, &at, 0};
    if (vector)
        encode_vex(m, encode_row(X86_VLD), false, size == 32, reg, 0, o, store ? 0x11 : 0x10);
    else
        encode_legacy(m, encode_row(X86_LD64), true, reg, o, store ? 0x89 : 0x8B, false);
}

/* From memory to memory through the stack: no register is free for that. */
static void encode_through_stack(struct x86_module *m, const struct encode_copy *c) {
    struct x86_ins base = {.reg = X86_RSP}, at = {.memory = true, .base = &base};
    uint32_t bytes = c->vector ? c->size : 8;
    for (uint32_t i = 0; i < bytes; i += 8) {
        at.disp = c->from.slot->at + (int32_t)i;
        encode_byte(m, 0xFF);
        encode_modrm(m, 6, (struct encode_rm){0, &at, 0});
        at.disp = c->to.slot->at + (int32_t)i;
        encode_byte(m, 0x8F);
        encode_modrm(m, 0, (struct encode_rm){0, &at, 0});
    }
}

static void encode_constant(struct x86_module *m, const struct encode_copy *c) {
    const struct x86_ins *k = c->from.constant;
    if (k->op == X86_CONST_G) {
        if (c->to.slot) {
            struct x86_ins base = {.reg = X86_RSP}, at = {.memory = true, .base = &base, .disp = c->to.slot->at};
            for (int i = 0; i < 2; i++, at.disp += 4) {
                encode_legacy(m, encode_row(X86_LD32), false, 0, (struct encode_rm){0, &at, 4}, 0xC7, false);
                encode_word(m, (uint64_t)k->imm >> 32 * i, 4);
            }
        } else {
            encode_immediate(m, c->to.reg, k->imm);
        }
        return;
    }
    if (c->to.slot) { /* eight bytes at a time */
        struct x86_ins base = {.reg = X86_RSP}, at = {.memory = true, .base = &base, .disp = c->to.slot->at};
        for (uint32_t i = 0; i < c->size; i += 4, at.disp += 4) {
            uint32_t word;
            memcpy(&word, k->pooled->bytes + i, sizeof word);
            encode_legacy(m, encode_row(X86_LD32), false, 0, (struct encode_rm){0, &at, 4}, 0xC7, false);
            encode_word(m, word, 4);
        }
        return;
    }
    unsigned to = c->to.reg;
    if (x86_is_zero(k)) {
        encode_vex(m, encode_row(X86_VXOR), false, false, to, to, encode_register((uint8_t)to), 0xEF);
        return;
    }
    struct x86_ins at = {.memory = true, .pooled = k->pooled};
    encode_vex(m, encode_row(X86_VLD), false, c->size == 32, to, 0, (struct encode_rm){0, &at, 0}, 0x10);
}

static void encode_one_copy(struct x86_module *m, const struct encode_copy *c) {
    if (c->from.constant)
        encode_constant(m, c);
    else if (c->from.slot && c->to.slot)
        encode_through_stack(m, c);
    else if (c->from.slot)
        encode_slot_access(m, c->vector, false, c->size, c->to.reg, c->from.slot, 0);
    else if (c->to.slot)
        encode_slot_access(m, c->vector, true, c->size, c->from.reg, c->to.slot, 0);
    else
        encode_move(m, c->vector, c->to.reg, c->from.reg);
}

static void encode_exchange(struct x86_module *m, bool vector, unsigned a, unsigned b) {
    if (!vector) {
        encode_legacy(m, encode_row(X86_LD64), true, a, encode_register((uint8_t)b), 0x87, false);
        return;
    }
    for (int i = 0; i < 3; i++) {
        unsigned to = i == 1 ? b : a;
        encode_vex(m, encode_row(X86_VXOR), false, true, to, a, encode_register((uint8_t)b), 0xEF);
    }
}

static bool encode_is_read(const struct encode_copy *c, uint32_t n, uint32_t but, const struct encode_place *p, bool vector) {
    for (uint32_t i = 0; i < n; i++)
        if (i != but && !c[i].done && c[i].vector == vector && encode_same_place(&c[i].from, p))
            return true;
    return false;
}

/* All at once: those first whose destination nothing else reads; what is left are cycles, which exchanges shorten. */
static void encode_parallel(struct x86_module *m, struct encode_copy *c, uint32_t n) {
    bool progress = true;
    for (uint32_t i = 0; i < n; i++)
        c[i].done = encode_same_place(&c[i].from, &c[i].to);
    while (progress) {
        progress = false;
        for (uint32_t i = 0; i < n; i++)
            if (!c[i].done && !encode_is_read(c, n, i, &c[i].to, c[i].vector)) {
                encode_one_copy(m, &c[i]);
                c[i].done = progress = true;
            }
        if (progress)
            continue;
        for (uint32_t i = 0; i < n && !progress; i++) {
            if (c[i].done)
                continue;
            if (c[i].from.slot || c[i].to.slot || c[i].from.constant) {
                x86_refuse(m, "a cycle of moves in memory");
                return;
            }
            encode_exchange(m, c[i].vector, c[i].to.reg, c[i].from.reg);
            struct encode_place a = c[i].from, b = c[i].to;
            c[i].done = progress = true;
            for (uint32_t j = 0; j < n; j++)
                if (!c[j].done && c[j].vector == c[i].vector) {
                    if (encode_same_place(&c[j].from, &b))
                        c[j].from = a;
                    else if (encode_same_place(&c[j].from, &a))
                        c[j].from = b;
                    c[j].done = encode_same_place(&c[j].from, &c[j].to);
                }
        }
    }
}

static uint32_t encode_edge_copies(struct x86_module *m, const struct x86_block *from, const struct x86_block *to,
                                   struct encode_copy **out) {
    uint32_t n = 0, moves = 0;
    for (const struct x86_ins *p = to->phis; p; p = p->next)
        n++;
    *out = ARENA_ARRAY(m->arena, struct encode_copy, n + 1);
    for (const struct x86_ins *p = to->phis; p; p = p->next)
        for (const struct x86_incoming *in = p->in; in; in = in->next)
            if (in->from == from) {
                struct encode_copy c = {.from = encode_place_of(in->v), .to = encode_place_of(p)};
                c.vector = p->op == X86_PHI_V;
                c.size = p->size;
                if (!encode_same_place(&c.from, &c.to))
                    (*out)[moves++] = c;
                break;
            }
    return moves;
}

/* ---- jumps ------------------------------------------------------------------------------------------------------ */

static void encode_compare(struct x86_module *m, const struct x86_ins *i) {
    bool w = i->size == 8;
    const struct x86_row *row = encode_row(X86_ADD);
    if (i->test) {
        encode_legacy(m, row, w, i->arg[0]->reg, encode_register(i->arg[1]->reg), 0x85, false);
    } else if (i->arg[1]->op != X86_CONST_G) {
        encode_legacy(m, row, w, i->arg[0]->reg, encode_register(i->arg[1]->reg), 0x3B, false);
    } else if (i->arg[1]->imm == 0) {
        encode_legacy(m, row, w, i->arg[0]->reg, encode_register(i->arg[0]->reg), 0x85, false);
    } else {
        bool byte = encode_is_byte(i->arg[1]->imm);
        encode_legacy(m, row, w, 7, encode_register(i->arg[0]->reg), byte ? 0x83 : 0x81, false);
        encode_word(m, (uint64_t)i->arg[1]->imm, byte ? 1 : 4);
    }
}

/* cc < 0: always. */
static void encode_jump_to(struct encode *e, int cc, struct x86_block *to) {
    struct x86_module *m = e->m;
    if (to->at != UINT32_MAX && encode_is_byte((int64_t)to->at - (int64_t)m->ncode - 2)) {
        encode_byte(m, cc < 0 ? 0xEB : 0x70u | (unsigned)cc);
        encode_byte(m, (uint8_t)(to->at - m->ncode - 1));
        return;
    }
    if (cc >= 0)
        encode_byte(m, 0x0F);
    encode_byte(m, cc < 0 ? 0xE9 : 0x80u | (unsigned)cc);
    encode_fixup(m, &e->jumps, to, NULL, 0);
}

static void encode_leave(struct encode *e, struct x86_block *from, struct x86_block *to) {
    struct encode_copy *copies;
    uint32_t n = encode_edge_copies(e->m, from, to, &copies);
    encode_parallel(e->m, copies, n);
    if (to != from->next)
        encode_jump_to(e, -1, to);
}

static void encode_branch(struct encode *e, struct x86_block *b, const struct x86_ins *i) {
    struct encode_copy *copies[2];
    uint32_t n[2];
    int cc = i->cc;
    encode_compare(e->m, i);
    for (int j = 0; j < 2; j++)
        n[j] = encode_edge_copies(e->m, b, b->to[j], &copies[j]);
    int taken = n[0] == 0 && b->to[0] != b->next ? 0 : n[1] == 0 ? 1 : n[0] == 0 ? 0 : 2;
    if (taken < 2) { /* by the jump itself */
        encode_jump_to(e, cc ^ taken, b->to[taken]);
        encode_leave(e, b, b->to[!taken]);
        return;
    }
    encode_byte(e->m, 0x0F);
    encode_byte(e->m, 0x80u | (unsigned)(cc ^ 1));
    uint32_t at = e->m->ncode;
    encode_word(e->m, 0, 4);
    encode_parallel(e->m, copies[0], n[0]);
    encode_jump_to(e, -1, b->to[0]);
    uint32_t distance = e->m->ncode - at - 4;
    memcpy(e->m->code + at, &distance, 4);
    encode_leave(e, b, b->to[1]);
}

/* ---- instructions of general registers ------------------------------------------------------------------------------ */

static bool encode_w(const struct x86_ins *i) {
    uint8_t w = x86_rows[i->op].w;
    return w == 2 ? i->size == 8 : w == 1;
}

static void encode_lea(struct x86_module *m, const struct x86_ins *i, unsigned a, const unsigned *b, int64_t disp) {
    struct x86_ins base = {.reg = (uint8_t)a}, index = {.reg = b ? (uint8_t)*b : 0};
    struct x86_ins at = {.memory = true, .base = &base, .index = b ? &index : NULL, .disp = (int32_t)disp};
    encode_legacy(m, encode_row(X86_LEA), i->size == 8, i->reg, (struct encode_rm){0, &at, 0}, 0x8D, false);
}

static void encode_alu(struct x86_module *m, const struct x86_ins *i) {
    static const uint8_t extensions[] = {[X86_ADD - X86_ADD] = 0,
                                         [X86_SUB - X86_ADD] = 5,
                                         [X86_AND - X86_ADD] = 4,
                                         [X86_OR - X86_ADD] = 1,
                                         [X86_XOR - X86_ADD] = 6};
    const struct x86_row *row = &x86_rows[i->op];
    unsigned to = i->reg, a = i->arg[0]->reg;
    bool w = encode_w(i), constant = !i->memory && i->arg[1]->op == X86_CONST_G;
    int64_t imm = constant ? i->arg[1]->imm : 0;
    if (i->op == X86_IMUL && constant) {
        encode_legacy(m, encode_row(X86_LEA), w, to, encode_register((uint8_t)a), encode_is_byte(imm) ? 0x6B : 0x69, false);
        encode_word(m, (uint64_t)imm, encode_is_byte(imm) ? 1 : 4);
        return;
    }
    if (!i->memory && to != a) {
        unsigned b = i->arg[1]->reg;
        if (constant && (i->op == X86_ADD || i->op == X86_SUB) && (int32_t)imm != INT32_MIN) {
            encode_lea(m, i, a, NULL, i->op == X86_ADD ? (int32_t)imm : -(int64_t)(int32_t)imm);
            return;
        }
        if (!constant && i->op == X86_ADD && to != b && b != X86_RSP) {
            encode_lea(m, i, a, &b, 0);
            return;
        }
        if (!constant && to == b) { /* the operands may be exchanged */
            encode_legacy(m, row, w, to, encode_register((uint8_t)a), row->opcode, false);
            return;
        }
    }
    encode_move(m, false, to, a);
    if (constant) {
        bool byte = encode_is_byte(imm);
        encode_legacy(m, encode_row(X86_ADD), w, extensions[i->op - X86_ADD], encode_register((uint8_t)to), byte ? 0x83 : 0x81,
                      false);
        encode_word(m, (uint64_t)imm, byte ? 1 : 4);
    } else {
        encode_legacy(m, row, w, to, encode_operand(i, 1, 0), row->opcode, false);
    }
}

static void encode_store(struct x86_module *m, const struct x86_ins *i) {
    const struct x86_row *row = &x86_rows[i->op];
    uint8_t bytes = (uint8_t)row->memory, n = bytes == 8 ? 4 : bytes;
    if (i->arg[0]->op == X86_CONST_G) {
        encode_legacy(m, row, row->w, 0, (struct encode_rm){0, i, n}, bytes == 1 ? 0xC6 : 0xC7, false);
        encode_word(m, (uint64_t)i->arg[0]->imm, n);
        return;
    }
    encode_legacy(m, row, row->w, i->arg[0]->reg, (struct encode_rm){0, i, 0}, row->opcode, bytes == 1);
}

static void encode_setcc(struct x86_module *m, const struct x86_ins *i) {
    const struct x86_row *byte = encode_row(X86_LD8);
    encode_compare(m, i);
    encode_legacy(m, byte, false, 0, encode_register(i->reg), 0x90u | i->cc, true);
    encode_legacy(m, byte, false, i->reg, encode_register(i->reg), 0xB6, true);
}

static void encode_cmov(struct x86_module *m, const struct x86_ins *i) {
    const struct x86_row *row = encode_row(X86_LD8);
    unsigned to = i->reg, x = i->arg[2]->reg, y = i->arg[3]->reg;
    encode_compare(m, i);
    if (to == x) {
        encode_legacy(m, row, true, to, encode_register((uint8_t)y), 0x40u | (i->cc ^ 1u), false);
        return;
    }
    encode_move(m, false, to, y);
    encode_legacy(m, row, true, to, encode_register((uint8_t)x), 0x40u | i->cc, false);
}

static void encode_divide(struct x86_module *m, const struct x86_ins *i) {
    const struct x86_row *row = encode_row(X86_LD64);
    encode_move(m, false, X86_RAX, i->arg[0]->reg);
    if (i->op == X86_IDIV) { /* cqo */
        encode_byte(m, 0x48);
        encode_byte(m, 0x99);
    } else if (i->op == X86_DIV) {
        encode_immediate(m, X86_RDX, 0);
    }
    encode_legacy(m, row, true, x86_rows[i->op].opcode, encode_register(i->arg[1]->reg), 0xF7, false);
    encode_move(m, false, i->reg, i->op == X86_DIV || i->op == X86_IDIV ? X86_RAX : X86_RDX);
}

static void encode_unary(struct x86_module *m, const struct x86_ins *i, bool shift) {
    encode_move(m, false, i->reg, i->arg[0]->reg);
    encode_legacy(m, encode_row(X86_LEA), encode_w(i), x86_rows[i->op].opcode, encode_register(i->reg), shift ? 0xC1 : 0xF7,
                  false);
    if (shift)
        encode_byte(m, (uint8_t)i->imm);
}

static void encode_general(struct x86_module *m, const struct x86_ins *i) {
    const struct x86_row *row = &x86_rows[i->op];
    switch ((enum x86_form)row->form) {
    case X86_F_LEGACY_RM: {
        bool bytes = !i->memory && row->memory == 1;
        encode_legacy(m, row, encode_w(i), i->reg, encode_operand(i, 0, 0), row->opcode, bytes);
        return;
    }
    case X86_F_STORE:
        encode_store(m, i);
        return;
    case X86_F_ALU:
        encode_alu(m, i);
        return;
    case X86_F_UNARY:
    case X86_F_SHIFT:
        encode_unary(m, i, row->form == X86_F_SHIFT);
        return;
    case X86_F_MOVI:
        encode_immediate(m, i->reg, i->imm);
        return;
    case X86_F_SETCC:
        encode_setcc(m, i);
        return;
    case X86_F_CMOV:
        encode_cmov(m, i);
        return;
    case X86_F_DIVIDE:
    case X86_F_MULHI:
        encode_divide(m, i);
        return;
    case X86_F_PREFETCH:
        encode_legacy(m, row, false, 1, (struct encode_rm){0, i, 0}, row->opcode, false);
        return;
    case X86_F_FENCE:
        encode_byte(m, 0x0F);
        encode_byte(m, 0xAE);
        encode_byte(m, 0xF8);
        return;
    default:
        return;
    }
}

/* ---- vector instructions --------------------------------------------------------------------------------------------- */

/* a · b + c: 132 = R · M + V, 213 = V · R + M, 231 = V · M + R. */
static void encode_fma(struct x86_module *m, const struct x86_ins *i) {
    const struct x86_row *row = &x86_rows[i->op];
    unsigned to = i->reg, a = i->arg[0]->reg, b = i->arg[1]->reg, c = i->arg[2]->reg;
    bool w = encode_w(i), wide = i->size == 32;
    struct encode_rm memory = {0, i, 0};
    unsigned f132 = row->opcode, f213 = f132 + 0x10, f231 = f132 + 0x20;
    if (i->folded == 3) {
        if (to != a && to != b)
            encode_move(m, true, to, a), a = to;
        encode_vex(m, row, w, wide, to, to == a ? b : a, memory, f213);
        return;
    }
    if (i->folded) {
        unsigned factor = i->folded == 2 ? a : b;
        if (to == factor && to != c) {
            encode_vex(m, row, w, wide, to, c, memory, f132);
            return;
        }
        if (to == c && to == factor) {
            encode_vex(m, row, w, wide, to, to, memory, f231);
            return;
        }
        encode_move(m, true, to, c);
        encode_vex(m, row, w, wide, to, factor, memory, f231);
        return;
    }
    if (to == c) {
        encode_vex(m, row, w, wide, to, a, encode_register((uint8_t)b), f231);
    } else if (to == a) {
        encode_vex(m, row, w, wide, to, b, encode_register((uint8_t)c), f213);
    } else if (to == b) {
        encode_vex(m, row, w, wide, to, a, encode_register((uint8_t)c), f213);
    } else {
        encode_move(m, true, to, c);
        encode_vex(m, row, w, wide, to, a, encode_register((uint8_t)b), f231);
    }
}

static void encode_vector(struct x86_module *m, const struct x86_ins *i) {
    const struct x86_row *row = &x86_rows[i->op];
    bool w = encode_w(i), wide = i->size == 32, general = row->class == X86_G;
    unsigned to = i->reg;
    switch ((enum x86_form)row->form) {
    case X86_F_RM:
        encode_vex(m, row, w, wide, to, 0, encode_operand(i, 0, 0), row->opcode);
        return;
    case X86_F_RMI:
        encode_vex(m, row, w, wide, to, 0, encode_operand(i, 0, 1), row->opcode);
        break;
    case X86_F_RZM: /* the upper lanes of the result are those of V: without a wait for them */
        encode_vex(m, encode_row(X86_VXOR), false, false, to, to, encode_register((uint8_t)to), 0xEF);
        encode_vex(m, row, w, false, to, to, encode_operand(i, 0, 0), row->opcode);
        return;
    case X86_F_RXM:
        encode_vex(m, row, w, false, to, i->memory ? to : i->arg[0]->reg, encode_operand(i, 0, 0), row->opcode);
        return;
    case X86_F_RXMI:
        encode_vex(m, row, w, false, to, i->memory ? to : i->arg[0]->reg, encode_operand(i, 0, 1), row->opcode);
        break;
    case X86_F_RVM:
    case X86_F_RVM_C:
        if (i->op == X86_VXOR && i->nargs == 0) { /* zero */
            encode_vex(m, row, false, false, to, to, encode_register((uint8_t)to), row->opcode);
            return;
        }
        encode_vex(m, row, w, wide, to, i->arg[0]->reg, encode_operand(i, 1, 0), row->opcode);
        return;
    case X86_F_RVMI:
        encode_vex(m, row, w, wide, to, i->arg[0]->reg, encode_operand(i, 1, 1), row->opcode);
        break;
    case X86_F_RVMR:
        encode_vex(m, row, w, wide, to, i->arg[0]->reg, encode_operand(i, 1, 1), row->opcode);
        encode_byte(m, (unsigned)i->arg[2]->reg << 4);
        return;
    case X86_F_RMV:
        encode_vex(m, row, w, false, to, i->arg[1]->reg, encode_operand(i, 0, 0), row->opcode);
        return;
    case X86_F_VMI:
        encode_vex(m, row, false, wide, row->w, to, encode_register(i->arg[0]->reg), row->opcode);
        break;
    case X86_F_MR:
        encode_vex(m, row, w, wide && !general, i->arg[0]->reg, 0,
                   i->memory ? (struct encode_rm){0, i, 0} : encode_register((uint8_t)to), row->opcode);
        return;
    case X86_F_MRI:
        encode_vex(m, row, w, wide && !general, i->arg[0]->reg, 0,
                   i->memory ? (struct encode_rm){0, i, 1} : encode_register((uint8_t)to), row->opcode);
        break;
    case X86_F_MVR:
        encode_vex(m, row, w, wide, i->arg[1]->reg, i->arg[0]->reg, (struct encode_rm){0, i, 0}, row->opcode);
        return;
    default:
        encode_fma(m, i);
        return;
    }
    encode_byte(m, (uint8_t)i->imm);
}

/* ---- functions ---------------------------------------------------------------------------------------------------------- */

static void encode_push_all(struct encode *e) {
    for (unsigned r = 0; r < X86_REGISTERS; r++)
        if (e->frame->saved >> r & 1) {
            if (r >= 8)
                encode_byte(e->m, 0x41);
            encode_byte(e->m, 0x50 | (r & 7));
        }
}

static void encode_enter(struct encode *e) {
    static const uint8_t params[] = {X86_RDI, X86_RSI, X86_RDX, X86_RCX};
    struct encode_copy copies[4];
    uint32_t n = 0;
    encode_push_all(e);
    if (e->frame->aligned) {
        encode_move(e->m, false, X86_RBP, X86_RSP);
        encode_legacy(e->m, encode_row(X86_ADD), true, 5, encode_register(X86_RSP), 0x81, false);
        encode_word(e->m, (uint32_t)(e->frame->bytes + 31) & ~31u, 4);
        encode_legacy(e->m, encode_row(X86_ADD), true, 4, encode_register(X86_RSP), 0x83, false);
        encode_byte(e->m, 0xE0);
    }
    for (const struct x86_ins *i = e->f->entry->first; i; i = i->next)
        if (i->op == X86_PARAM)
            copies[n++] = (struct encode_copy){.from = {params[i->imm], NULL, NULL}, .to = {i->reg, NULL, NULL}};
    encode_parallel(e->m, copies, n);
}

static void encode_return(struct encode *e) {
    struct x86_module *m = e->m;
    if (e->f->wide) {
        encode_byte(m, 0xC5);
        encode_byte(m, 0xF8);
        encode_byte(m, 0x77);
    }
    if (e->frame->aligned)
        encode_move(m, false, X86_RSP, X86_RBP);
    for (unsigned r = X86_REGISTERS; r-- > 0;)
        if (e->frame->saved >> r & 1) {
            if (r >= 8)
                encode_byte(m, 0x41);
            encode_byte(m, 0x58 | (r & 7));
        }
    encode_byte(m, 0xC3);
}

/* Loops begin at a line of the decoder. */
static void encode_align(struct x86_module *m, uint32_t to) {
    static const uint8_t nops[][9] = {{0x90},
                                      {0x66, 0x90},
                                      {0x0F, 0x1F, 0x00},
                                      {0x0F, 0x1F, 0x40, 0x00},
                                      {0x0F, 0x1F, 0x44, 0x00, 0x00},
                                      {0x66, 0x0F, 0x1F, 0x44, 0x00, 0x00},
                                      {0x0F, 0x1F, 0x80, 0x00, 0x00, 0x00, 0x00},
                                      {0x0F, 0x1F, 0x84, 0x00, 0x00, 0x00, 0x00, 0x00},
                                      {0x66, 0x0F, 0x1F, 0x84, 0x00, 0x00, 0x00, 0x00, 0x00}};
    uint32_t left = (0 - m->ncode) & (to - 1);
    while (left) {
        uint32_t n = left < 9 ? left : 9;
        encode_room(m, n);
        memcpy(m->code + m->ncode, nops[n - 1], n);
        m->ncode += n;
        left -= n;
    }
}

static void encode_block(struct encode *e, struct x86_block *b) {
    if (b->loop && b->loop->first == b->index)
        encode_align(e->m, 16);
    b->at = e->m->ncode;
    for (const struct x86_ins *i = b->first; i && !e->m->refused; i = i->next) {
        switch ((enum x86_form)x86_rows[i->op].form) {
        case X86_F_NONE:
            break;
        case X86_F_JUMP:
            if (i->op == X86_JMP)
                encode_leave(e, b, b->to[0]);
            else
                encode_branch(e, b, i);
            break;
        case X86_F_RET:
            encode_return(e);
            break;
        default:
            if (x86_rows[i->op].form >= X86_F_LEGACY_RM)
                encode_general(e->m, i);
            else
                encode_vector(e->m, i);
        }
    }
}

void x86_encode(struct x86_module *m, struct x86_function *f, const struct x86_frame *frame) {
    struct encode e = {m, f, frame, NULL};
    encode_align(m, 32);
    f->at = m->ncode;
    for (struct x86_block *b = f->entry; b; b = b->next)
        b->at = UINT32_MAX;
    encode_enter(&e);
    for (struct x86_block *b = f->entry; b && !m->refused; b = b->next)
        encode_block(&e, b);
    for (const struct x86_fixup *j = e.jumps; j && !m->refused; j = j->next) {
        uint32_t distance = j->block->at - j->after;
        memcpy(m->code + j->at, &distance, 4);
    }
    f->bytes = m->ncode - f->at;
}

/* Constants follow the code. */
void x86_encode_constants(struct x86_module *m) {
    encode_align(m, 32);
    for (struct x86_fixup *f = m->fixups; f; f = f->next) {
        if (f->pooled->at == UINT32_MAX) {
            f->pooled->at = m->ncode;
            encode_room(m, 32);
            memcpy(m->code + m->ncode, f->pooled->bytes, 32);
            m->ncode += 32;
        }
        uint32_t distance = f->pooled->at - f->after;
        memcpy(m->code + f->at, &distance, 4);
    }
}
