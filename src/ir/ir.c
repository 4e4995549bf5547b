/* Modules: strings, ops, values, blocks, regions and their links. See ir.h. */
#include "ir/ir.h"
#include "base/torture.h"
#include "ir/store.h"

#include <stdio.h>

/* ---- interning ------------------------------------------------------------------------------- */

void intern_add(struct intern *t, struct arena *a, uint64_t hash, uint32_t id) {
    while (id >= t->hashes_cap)
        t->hashes = arena_grow(a, t->hashes, t->hashes_cap, &t->hashes_cap, sizeof *t->hashes);
    t->hashes[id] = hash;
    if (t->n >= t->cap / 2) {
        uint32_t cap = t->cap ? t->cap * 2 : TORTURED(TORTURE_BUCKETS, 64);
        if (cap < t->cap)
            arena_exhausted(a);
        uint32_t *slots = ARENA_ARRAY(a, uint32_t, cap);
        for (uint32_t i = 1; i <= t->n; i++) {
            uint32_t at = (uint32_t)t->hashes[i] & (cap - 1);
            while (slots[at])
                at = (at + 1) & (cap - 1);
            slots[at] = i;
        }
        t->slots = slots;
        t->cap = cap;
    }
    uint32_t at = (uint32_t)hash & (t->cap - 1);
    while (t->slots[at])
        at = (at + 1) & (t->cap - 1);
    t->slots[at] = id;
    t->n = id;
}

static bool str_entry_equal(const void *cx, uint32_t id, const void *key) {
    const struct ir_tables *t = cx;
    return str_eq(t->strs.v[id].s, *(const struct str *)key);
}

ir_str ir_str_find(const struct ir_module *m, struct str s) {
    return (ir_str){intern_find(&m->t->str_set, str_hash(s.p, s.n, 0), str_entry_equal, m->t, &s)};
}

ir_str ir_str_of(struct ir_module *m, struct str s) {
    struct ir_tables *t = m->t;
    uint64_t hash = str_hash(s.p, s.n, 0);
    uint32_t id = intern_find(&t->str_set, hash, str_entry_equal, t, &s);
    if (id)
        return (ir_str){id};
    char *copy = arena_alloc(&m->arena, s.n + 1, 1);
    if (s.n)
        memcpy(copy, s.p, s.n);
    id = t->strs.n;
    ARENA_PUSH(&m->arena, &t->strs, ((struct str_entry){.s = {copy, s.n}}));
    intern_add(&t->str_set, &m->arena, hash, id);
    return (ir_str){id};
}

struct str ir_str_get(const struct ir_module *m, ir_str s) {
    return m->t->strs.v[s.i].s;
}

enum ir_op_kind ir_op_named(const struct ir_module *m, struct str name) {
    ir_str s = ir_str_find(m, name);
    return s.i < IR_OP_COUNT ? (enum ir_op_kind)s.i : IR_OP_NONE;
}

/* ---- pages ----------------------------------------------------------------------------------- */

/* The first of n new consecutive entries, zeroed. */
static uint32_t pages_add(struct pages *p, struct arena *a, uint32_t n, size_t size) {
    if (n > UINT32_MAX - PAGE_SIZE - p->n)
        arena_exhausted(a);
    uint32_t first = p->n;
    while ((size_t)p->page.n * PAGE_SIZE < (size_t)first + n)
        ARENA_PUSH(a, &p->page, arena_array(a, PAGE_SIZE, size, 16));
    p->n = first + n;
    return first;
}

static struct ir_op_data *op_at(const struct ir_module *m, ir_op op) {
    return pages_at(&m->t->ops, op.i, sizeof(struct ir_op_data));
}
static struct ir_val_data *val_at(const struct ir_module *m, ir_val v) {
    return pages_at(&m->t->vals, v.i, sizeof(struct ir_val_data));
}
static struct ir_block_data *block_at(const struct ir_module *m, ir_block b) {
    return pages_at(&m->t->blocks, b.i, sizeof(struct ir_block_data));
}
static struct ir_region_data *region_at(const struct ir_module *m, ir_region r) {
    return pages_at(&m->t->regions, r.i, sizeof(struct ir_region_data));
}

const struct ir_op_data *ir_op_get(const struct ir_module *m, ir_op op) { return op_at(m, op); }
const struct ir_val_data *ir_val_get(const struct ir_module *m, ir_val v) { return val_at(m, v); }
const struct ir_block_data *ir_block_get(const struct ir_module *m, ir_block b) { return block_at(m, b); }
const struct ir_region_data *ir_region_get(const struct ir_module *m, ir_region r) { return region_at(m, r); }

const struct ir_type_data *ir_val_type(const struct ir_module *m, ir_val v) {
    return ir_type_get(m, val_at(m, v)->type);
}

size_t ir_val_count(const struct ir_module *m, ir_val v) {
    size_t n = 0;
    return ir_type_count(ir_val_type(m, v), &n) ? n : 0;
}

bool ir_is_inside(const struct ir_module *m, ir_val v, ir_op op) {
    const struct ir_val_data *d = ir_val_get(m, v);
    ir_block block = IR_NONE(d->op) ? d->block : ir_op_get(m, d->op)->parent;
    while (!IR_NONE(block)) {
        ir_op owner = ir_region_get(m, ir_block_get(m, block)->parent)->parent;
        if (IR_SAME(owner, op))
            return true;
        block = IR_NONE(owner) ? (ir_block){0} : ir_op_get(m, owner)->parent;
    }
    return false;
}

ir_attr ir_constant_value(const struct ir_module *m, ir_op op) {
    return ir_prop(m, op, (enum ir_slot)ir_op_info(ir_kind(m, op))->first_slot);
}

struct str ir_op_name(const struct ir_module *m, ir_op op) {
    const struct ir_op_data *o = op_at(m, op);
    return IR_NONE(o->name) ? str_of(ir_op_info(ir_kind(m, op))->name) : ir_str_get(m, o->name);
}

/* ---- attributes of ops ----------------------------------------------------------------------- */

ir_attr ir_prop(const struct ir_module *m, ir_op op, enum ir_slot slot) {
    const struct ir_op_data *o = op_at(m, op);
    return o->props[slot - ir_op_info((enum ir_op_kind)o->kind)->first_slot];
}

int64_t ir_prop_i64(const struct ir_module *m, ir_op op, enum ir_slot slot) {
    int64_t v;
    return ir_attr_as_i64(m, ir_prop(m, op, slot), &v) ? v : ir_slot_get(slot)->value;
}

const int64_t *ir_prop_i64s(const struct ir_module *m, ir_op op, enum ir_slot slot, size_t *n) {
    return ir_attr_as_i64s(m, ir_prop(m, op, slot), n);
}

int64_t ir_prop_i64_at(const struct ir_module *m, ir_op op, enum ir_slot slot, size_t i, int64_t absent) {
    size_t n;
    const int64_t *v = ir_prop_i64s(m, op, slot, &n);
    return v && i < n ? v[i] : absent;
}

bool ir_prop_i64s_are(const struct ir_module *m, ir_op op, enum ir_slot slot, int64_t x) {
    size_t n;
    const int64_t *v = ir_prop_i64s(m, op, slot, &n);
    for (size_t i = 0; v && i < n; i++)
        if (v[i] != x)
            return false;
    return true;
}

struct str ir_prop_str(const struct ir_module *m, ir_op op, enum ir_slot slot) {
    return ir_attr_as_str(m, ir_prop(m, op, slot));
}

void ir_set_prop(struct ir_module *m, ir_op op, enum ir_slot slot, ir_attr a) {
    struct ir_op_data *o = op_at(m, op);
    o->props[slot - ir_op_info((enum ir_op_kind)o->kind)->first_slot] = a;
    if ((slot == IR_FUNC_sym_name || slot == IR_SDY_MESH_sym_name) && ir_attr_get(m, a)->kind == IR_ATTR_STRING)
        m->t->strs.v[ir_attr_get(m, a)->str.i].symbol = op;
}

void ir_set_attrs(struct ir_module *m, ir_op op, ir_attr dict) { op_at(m, op)->attrs = dict; }
void ir_set_name(struct ir_module *m, ir_op op, ir_str name) { op_at(m, op)->name = name; }

void ir_set_loc(struct ir_module *m, ir_op op, ir_attr loc, uint32_t line, uint32_t col) {
    struct ir_op_data *o = op_at(m, op);
    o->loc = loc;
    o->line = line;
    o->col = col;
}

/* ---- building -------------------------------------------------------------------------------- */

ir_op ir_op_new(struct ir_module *m, enum ir_op_kind kind, const ir_val *operands, uint32_t noperands,
                const ir_type *results, uint32_t nresults, uint32_t nregions) {
    struct ir_tables *t = m->t;
    struct arena *a = &m->arena;
    ir_op op = {pages_add(&t->ops, a, 1, sizeof(struct ir_op_data))};
    struct ir_op_data *o = op_at(m, op);
    o->kind = (uint16_t)kind;
    o->nregions = (uint16_t)nregions;
    o->noperands = noperands;
    o->nresults = nresults;
    o->operands = ARENA_ARRAY(a, ir_val, noperands);
    if (noperands)
        memcpy(o->operands, operands, noperands * sizeof *operands);
    o->props = ARENA_ARRAY(a, ir_attr, ir_op_info(kind)->nslots);
    o->result0.i = pages_add(&t->vals, a, nresults, sizeof(struct ir_val_data));
    for (uint32_t i = 0; i < nresults; i++)
        *val_at(m, ir_result(m, op, i)) = (struct ir_val_data){.type = results[i], .op = op, .index = i};
    o->region0.i = pages_add(&t->regions, a, nregions, sizeof(struct ir_region_data));
    for (uint32_t i = 0; i < nregions; i++)
        region_at(m, ir_op_region(m, op, i))->parent = op;
    return op;
}

void ir_set_operand(struct ir_module *m, ir_op op, uint32_t i, ir_val v) { op_at(m, op)->operands[i] = v; }

void ir_set_operands(struct ir_module *m, ir_op op, const ir_val *v, uint32_t n) {
    struct ir_op_data *o = op_at(m, op);
    ir_val *operands = n > o->noperands ? ARENA_ARRAY(&m->arena, ir_val, n) : o->operands;
    if (n)
        memmove(operands, v, n * sizeof *v);
    o->operands = operands;
    o->noperands = n;
}

void ir_set_type(struct ir_module *m, ir_val v, ir_type t) { val_at(m, v)->type = t; }
void ir_set_val_loc(struct ir_module *m, ir_val v, ir_attr loc) { val_at(m, v)->loc = loc; }

ir_block ir_block_new(struct ir_module *m, ir_region r) {
    ir_block b = {pages_add(&m->t->blocks, &m->arena, 1, sizeof(struct ir_block_data))};
    if (!IR_NONE(r))
        ir_block_append(m, r, b);
    return b;
}

void ir_block_append(struct ir_module *m, ir_region r, ir_block b) {
    struct ir_region_data *region = region_at(m, r);
    block_at(m, b)->parent = r;
    if (IR_NONE(region->first))
        region->first = b;
    else
        block_at(m, region->last)->next = b;
    region->last = b;
}

ir_val ir_block_add_arg(struct ir_module *m, ir_block b, ir_type t) {
    struct ir_block_data *block = block_at(m, b);
    ir_val v = {pages_add(&m->t->vals, &m->arena, 1, sizeof(struct ir_val_data))};
    *val_at(m, v) = (struct ir_val_data){.type = t, .block = b, .index = block->nargs};
    if ((block->nargs & (block->nargs - 1)) == 0) { /* full at 0, 1, 2, 4, 8 … */
        ir_val *args = ARENA_ARRAY(&m->arena, ir_val, block->nargs ? (size_t)block->nargs * 2 : 1);
        if (block->nargs)
            memcpy(args, block->args, block->nargs * sizeof *args);
        block->args = args;
    }
    block->args[block->nargs++] = v;
    return v;
}

void ir_append(struct ir_module *m, ir_block b, ir_op op) {
    struct ir_block_data *block = block_at(m, b);
    struct ir_op_data *o = op_at(m, op);
    o->parent = b;
    o->prev = block->last;
    o->next = (ir_op){0};
    if (IR_NONE(block->last))
        block->first = op;
    else
        op_at(m, block->last)->next = op;
    block->last = op;
}

void ir_insert_before(struct ir_module *m, ir_op before, ir_op op) {
    struct ir_op_data *next = op_at(m, before), *o = op_at(m, op);
    o->parent = next->parent;
    o->prev = next->prev;
    o->next = before;
    if (IR_NONE(next->prev))
        block_at(m, next->parent)->first = op;
    else
        op_at(m, next->prev)->next = op;
    next->prev = op;
}

void ir_unlink(struct ir_module *m, ir_op op) {
    struct ir_op_data *o = op_at(m, op);
    if (IR_NONE(o->parent))
        return;
    if (IR_NONE(o->prev))
        block_at(m, o->parent)->first = o->next;
    else
        op_at(m, o->prev)->next = o->next;
    if (IR_NONE(o->next))
        block_at(m, o->parent)->last = o->prev;
    else
        op_at(m, o->next)->prev = o->prev;
    o->parent = (ir_block){0};
    o->prev = o->next = (ir_op){0};
}

/* ---- modules --------------------------------------------------------------------------------- */

struct ir_module *ir_module_new(hilo_allocator al, jmp_buf *recover) {
    struct ir_module *m = mem_alloc(&al, sizeof *m);
    if (!m)
        return NULL;
    memset(m, 0, sizeof *m);
    jmp_buf here;
    arena_init(&m->arena, al, &here);
    if (setjmp(here)) {
        ir_module_free(m);
        return NULL;
    }
    struct arena *a = &m->arena;
    struct ir_tables *t = m->t = ARENA_NEW(a, struct ir_tables);
    pages_add(&t->ops, a, 1, sizeof(struct ir_op_data));
    pages_add(&t->vals, a, 1, sizeof(struct ir_val_data));
    pages_add(&t->blocks, a, 1, sizeof(struct ir_block_data));
    pages_add(&t->regions, a, 1, sizeof(struct ir_region_data));
    ARENA_PUSH(a, &t->strs, ((struct str_entry){.s = STR("")}));
    ARENA_PUSH(a, &t->types, ARENA_NEW(a, struct ir_type_data));
    ARENA_PUSH(a, &t->attrs, ARENA_NEW(a, struct ir_attr_data));
    t->resources.n = 0;
    for (int k = 1; k < IR_OP_COUNT; k++)
        ir_str_of(m, str_of(ir_op_info((enum ir_op_kind)k)->name));
    m->root = ir_op_new(m, IR_MODULE, NULL, 0, NULL, 0, 1);
    ir_block_new(m, ir_op_region(m, m->root, 0));
    m->arena.recover = recover;
    return m;
}

void ir_module_free(struct ir_module *m) {
    if (!m)
        return;
    hilo_allocator al = m->arena.al;
    if (m->t)
        for (uint32_t i = 0; i < m->t->blobs.n; i++)
            mem_free(&al, m->t->blobs.v[i].p, m->t->blobs.v[i].n);
    arena_free(&m->arena);
    mem_free(&al, m, sizeof *m);
}

ir_block ir_module_body(const struct ir_module *m) {
    return region_at(m, ir_op_region(m, m->root, 0))->first;
}

/* The symbol name of an op that defines one; none otherwise. */
static ir_attr symbol_name(const struct ir_module *m, ir_op op) {
    const struct ir_op_info *info = ir_op_info(ir_kind(m, op));
    return info->traits & IR_T_SYMBOL ? ir_prop(m, op, (enum ir_slot)info->first_slot) : (ir_attr){0};
}

ir_op ir_module_symbol(const struct ir_module *m, struct str name) {
    ir_str s = ir_str_find(m, name);
    if (IR_NONE(s))
        return (ir_op){0};
    ir_block body = ir_module_body(m);
    ir_op hint = m->t->strs.v[s.i].symbol;
    if (!IR_NONE(hint) && IR_SAME(op_at(m, hint)->parent, body) &&
        IR_SAME(ir_attr_get(m, symbol_name(m, hint))->str, s))
        return hint;
    for (ir_op op = block_at(m, body)->first; !IR_NONE(op); op = op_at(m, op)->next)
        if (IR_SAME(ir_attr_get(m, symbol_name(m, op))->str, s))
            return op;
    return (ir_op){0};
}

ir_op ir_module_entry(const struct ir_module *m) {
    ir_op only = ir_module_symbol(m, STR("main"));
    uint32_t npublic = 0;
    if (!IR_NONE(only) && ir_kind(m, only) == IR_FUNC)
        return only;
    for (ir_op op = ir_block_get(m, ir_module_body(m))->first; !IR_NONE(op); op = ir_op_get(m, op)->next)
        if (ir_kind(m, op) == IR_FUNC && !str_is(ir_prop_str(m, op, IR_FUNC_sym_visibility), "private")) {
            npublic++;
            only = op;
        }
    return npublic == 1 ? only : (ir_op){0};
}

ir_attr ir_func_arg_attr(const struct ir_module *m, ir_op func, uint32_t i, struct str name) {
    const struct ir_attr_data *attrs = ir_attr_get(m, ir_prop(m, func, IR_FUNC_arg_attrs));
    return attrs->kind == IR_ATTR_ARRAY && i < attrs->n ? ir_dict_find(m, attrs->items[i], name) : (ir_attr){0};
}

bool ir_func_arg_is_unchanged(const struct ir_module *m, ir_op func, uint32_t i) {
    return !IR_NONE(ir_func_arg_attr(m, func, i, STR("hilo.unchanged")));
}

static ir_attr with_unit(struct ir_module *m, ir_attr dict, struct str name) {
    const struct ir_attr_data *old = ir_attr_get(m, dict);
    uint32_t n = old->kind == IR_ATTR_DICT ? old->n : 0;
    ir_str *names = ARENA_ARRAY(&m->arena, ir_str, n + 1);
    ir_attr *values = ARENA_ARRAY(&m->arena, ir_attr, n + 1);
    for (uint32_t i = 0; i < n; i++) {
        names[i] = old->names[i];
        values[i] = old->items[i];
    }
    names[n] = ir_str_of(m, name);
    values[n] = ir_attr_unit(m);
    return ir_attr_dict(m, names, values, n + 1);
}

void ir_func_mark_unchanged(struct ir_module *m, ir_op func, uint32_t first, uint32_t end) {
    const struct ir_attr_data *old = ir_attr_get(m, ir_prop(m, func, IR_FUNC_arg_attrs));
    uint32_t n = ir_block_get(m, ir_func_body(m, func))->nargs;
    ir_attr *attrs = ARENA_ARRAY(&m->arena, ir_attr, n + 1);
    for (uint32_t i = 0; i < n; i++) {
        attrs[i] = old->kind == IR_ATTR_ARRAY && i < old->n ? old->items[i] : ir_attr_dict(m, NULL, NULL, 0);
        if (i >= first && i < end && !ir_func_arg_is_unchanged(m, func, i))
            attrs[i] = with_unit(m, attrs[i], STR("hilo.unchanged"));
    }
    ir_set_prop(m, func, IR_FUNC_arg_attrs, ir_attr_array(m, attrs, n));
}

ir_block ir_func_body(const struct ir_module *m, ir_op func) {
    return region_at(m, ir_op_region(m, func, 0))->first;
}

ir_op ir_terminator(const struct ir_module *m, ir_block b) {
    return block_at(m, b)->last;
}

/* ---- diagnostics ----------------------------------------------------------------------------- */

/* The first file position in an MLIR location: through names, call sites (callee) and fusions (first). */
static const struct ir_attr_data *loc_file(const struct ir_module *m, ir_attr loc) {
    for (int depth = 0; depth < 64; depth++) {
        const struct ir_attr_data *l = ir_attr_get(m, loc);
        if (l->kind == IR_ATTR_LOC_FILE)
            return l;
        bool inner = l->kind == IR_ATTR_LOC_NAME || l->kind == IR_ATTR_LOC_CALL || l->kind == IR_ATTR_LOC_FUSED;
        if (!inner || l->n == 0)
            return NULL;
        loc = l->items[0];
    }
    return NULL;
}

const char *ir_op_place(const struct ir_module *m, ir_op op, struct arena *a) {
    const struct ir_op_data *o = op_at(m, op);
    const struct ir_attr_data *loc = ir_attr_get(m, o->loc), *file = loc_file(m, o->loc);
    struct str name = loc->kind == IR_ATTR_LOC_NAME ? ir_str_get(m, loc->str) : (struct str){"", 0};
    struct str path = file ? ir_str_get(m, file->str) : o->line ? m->name : (struct str){"", 0};
    unsigned line = file ? (unsigned)((uint64_t)file->i >> 32) : o->line;
    char text[256];
    int n = snprintf(text, sizeof text, "%.*s%s%.*s", (int)name.n, name.p, name.n && path.n ? " " : "", (int)path.n, path.p);
    if (path.n && n > 0 && (size_t)n < sizeof text)
        snprintf(text + n, sizeof text - (size_t)n, ":%u", line);
    return arena_dup(a, text, strlen(text) + 1, 1);
}

static void op_report(const struct ir_module *m, struct diag_list *d, ir_op op, enum diag_severity severity, hilo_status status,
                      const char *label, const char *fmt, va_list ap) {
    const struct ir_op_data *o = op_at(m, op);
    struct strbuf message;
    strbuf_init(&message, d->al);
    struct str name = ir_op_name(m, op);
    strbuf_printf(&message, "'%.*s' op ", (int)name.n, name.p);
    strbuf_vprintf(&message, fmt, ap);
    const struct ir_attr_data *file = loc_file(m, o->loc);
    struct diag_loc at = {m->name, o->line, o->col, (uint32_t)name.n};
    struct diag_loc from = {0};
    if (file)
        from = (struct diag_loc){ir_str_get(m, file->str), (uint32_t)((uint64_t)file->i >> 32), (uint32_t)file->i, 0};
    diag_add(d, severity, status, label, o->line || !file ? at : from, m->text, "%s", message.p ? message.p : "");
    if (o->line && file)
        diag_add(d, DIAG_NOTE, status, NULL, from, (struct str){NULL, 0}, "from here");
    strbuf_free(&message);
}

hilo_status ir_op_verror(const struct ir_module *m, struct diag_list *d, ir_op op, hilo_status status, const char *label,
                         const char *fmt, va_list ap) {
    op_report(m, d, op, DIAG_ERROR, status, label, fmt, ap);
    return status;
}

void ir_op_warn(const struct ir_module *m, struct diag_list *d, ir_op op, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    op_report(m, d, op, DIAG_WARNING, HILO_OK, NULL, fmt, ap);
    va_end(ap);
}

hilo_status ir_op_error(const struct ir_module *m, struct diag_list *d, ir_op op, hilo_status status, const char *label,
                        const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    ir_op_verror(m, d, op, status, label, fmt, ap);
    va_end(ap);
    return status;
}
