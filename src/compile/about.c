/* What a program costs, as frameworks query it: arithmetic operations and bytes that ops read and write, by the table of ops;
 * loops count once, as in XLA. And what tells it from other programs. */
#include "base/hash.h"
#include "compile/cached.h"
#include "opt/cost.h"
#include "runtime/runtime.h"

static double bytes(const struct ir_module *m, ir_val v) {
    const struct ir_type_data *t = ir_type_get(m, ir_val_get(m, v)->type);
    size_t n = 0;
    return t->kind == IR_TYPE_TENSOR && ir_type_bytes(t, &n) ? (double)n : 0;
}

static bool moves_nothing(enum ir_op_kind kind) {
    return ir_op_has(kind, IR_T_CONSTANT | IR_T_SYMBOL | IR_T_CONTROL | IR_T_TERMINATOR);
}

static void count_block(const struct ir_module *m, ir_block block, struct rt_about *out);

static void count_op(const struct ir_module *m, ir_op op, struct rt_about *out) {
    const struct ir_op_data *o = ir_op_get(m, op);
    enum ir_op_kind kind = (enum ir_op_kind)o->kind;
    out->flops += opt_flops(m, op);
    for (uint32_t i = 0; i < o->noperands && !moves_nothing(kind); i++)
        out->bytes += bytes(m, ir_operand(m, op, i));
    for (uint32_t i = 0; i < o->nresults && !moves_nothing(kind); i++)
        out->bytes += bytes(m, ir_result(m, op, i));
    if (!ir_op_has(kind, IR_T_SYMBOL | IR_T_CONTROL))
        return; /* regions of the others are about elements */
    for (uint32_t i = 0; i < o->nregions; i++)
        for (ir_block b = ir_region_get(m, (ir_region){o->region0.i + i})->first; !IR_NONE(b); b = ir_block_get(m, b)->next)
            count_block(m, b, out);
}

static void count_block(const struct ir_module *m, ir_block block, struct rt_about *out) {
    for (ir_op op = ir_block_get(m, block)->first; !IR_NONE(op); op = ir_op_get(m, op)->next)
        count_op(m, op, out);
}

/* A function of moves and nothing else. */
static bool only_copies(const struct ir_module *m) {
    for (ir_op f = ir_block_get(m, ir_module_body(m))->first; !IR_NONE(f); f = ir_op_get(m, f)->next) {
        if (ir_kind(m, f) != IR_FUNC || IR_NONE(ir_func_body(m, f)))
            return false;
        for (ir_op op = ir_block_get(m, ir_func_body(m, f))->first; !IR_NONE(op); op = ir_op_get(m, op)->next)
            if (!(ir_op_info(ir_kind(m, op))->traits & (IR_T_MOVEMENT | IR_T_TERMINATOR)))
                return false;
    }
    return true;
}

void compile_about(const struct ir_module *m, struct arena *a, struct rt_about *out) {
    struct str name = ir_prop_str(m, m->root, IR_MODULE_sym_name);
    char *z = arena_alloc(a, name.n + 1, 1);
    if (name.n)
        memcpy(z, name.p, name.n);
    *out = (struct rt_about){.name = z, .copies = only_copies(m)};
    count_block(m, ir_module_body(m), out);
}

/* ---- the fingerprint ------------------------------------------------------------------------- */

enum { PRINTED_ELEMENTS = 64 }; /* of a constant, in the text that is hashed; larger ones are hashed as bytes */

/* The elements of constants; where `h` is NULL, none. True when there is a collective. */
static bool hash_block_data(const struct ir_module *m, ir_block block, struct hash *h) {
    bool any = false;
    for (ir_op op = ir_block_get(m, block)->first; !IR_NONE(op); op = ir_op_get(m, op)->next) {
        const struct ir_op_data *o = ir_op_get(m, op);
        enum ir_op_kind kind = (enum ir_op_kind)o->kind;
        const struct ir_attr_data *value = ir_op_has(kind, IR_T_CONSTANT) ? ir_attr_get(m, o->props[0]) : NULL;
        any |= ir_op_has(kind, IR_T_COLLECTIVE);
        if (h && value && value->data && value->nbytes)
            hash_add(h, value->data, value->nbytes);
        for (uint32_t i = 0; i < o->nregions; i++)
            for (ir_block b = ir_region_get(m, (ir_region){o->region0.i + i})->first; !IR_NONE(b); b = ir_block_get(m, b)->next)
                any |= hash_block_data(m, b, h);
    }
    return any;
}

hilo_status compile_fingerprint(const struct ir_module *m, const hilo_allocator *al, uint64_t *out) {
    const struct ir_print_options o = {.generic = true, .elide_elements = PRINTED_ELEMENTS, .portable = true};
    struct hash h = {{0, 0}};
    struct strbuf text;
    *out = 0;
    if (!hash_block_data(m, ir_module_body(m), NULL)) /* first: most programs have none, and many have large constants */
        return HILO_OK;
    (void)hash_block_data(m, ir_module_body(m), &h);
    strbuf_init(&text, *al);
    ir_print_module(m, &o, &text);
    bool whole = !text.failed;
    if (whole)
        hash_add(&h, text.p, text.n);
    strbuf_free(&text);
    *out = h.v[0] | 1;
    return whole ? HILO_OK : HILO_RESOURCE_EXHAUSTED;
}
