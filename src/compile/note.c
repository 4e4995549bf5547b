/* What steps are, for readers of plans: see plan_note. */
#include "compile/build.h"
#include "fuse/patterns.h"
#include "opt/cost.h"

#include <stdio.h>

enum { NOTE_OPS = 64 /* of a kernel; more are not named, nor counted */ };

/* The ops of a kernel: what its outputs are computed from, as far as that is not stored. */
struct note_ops {
    struct build *b;
    const struct fuse_block *f;
    ir_block block;
    ir_op v[NOTE_OPS];
    uint32_t n;
};

static void add_op(struct note_ops *x, ir_op op) {
    const struct ir_module *m = x->b->m;
    if (IR_NONE(op) || x->n == NOTE_OPS || !IR_SAME(ir_op_get(m, op)->parent, x->block) ||
        ir_op_has(ir_kind(m, op), IR_T_CONSTANT))
        return;
    for (uint32_t i = 0; i < x->n; i++)
        if (IR_SAME(x->v[i], op))
            return;
    x->v[x->n++] = op;
    for (uint32_t i = 0; i < ir_op_get(m, op)->noperands; i++) {
        ir_val v = ir_operand(m, op, i);
        if (!opt_ids_get(&x->f->kernel_of, v.i) && fuse_reason(x->f, v) == FUSE_FUSED)
            add_op(x, ir_val_get(m, v)->op);
    }
}

/* "dot_general, add ×2", in the order in which they are computed. */
static const char *ops_text(const struct note_ops *x) {
    const struct ir_module *m = x->b->m;
    char text[256] = "";
    size_t n = 0;
    for (uint32_t i = x->n; i-- > 0 && n < sizeof text;) {
        struct str name = ir_op_name(m, x->v[i]);
        uint32_t before = 0, same = 0;
        for (uint32_t j = 0; j < x->n; j++) {
            bool equal = ir_kind(m, x->v[j]) == ir_kind(m, x->v[i]);
            same += equal;
            before += equal && j > i;
        }
        const char *dot = name.n ? memchr(name.p, '.', name.n) : NULL;
        int skip = dot ? (int)(dot + 1 - name.p) : 0;
        if (before)
            continue;
        n += (size_t)snprintf(text + n, sizeof text - n, "%s%.*s", n ? ", " : "", (int)name.n - skip, name.p + skip);
        if (same > 1 && n < sizeof text)
            n += (size_t)snprintf(text + n, sizeof text - n, " ×%u", same);
    }
    if (n >= sizeof text)
        memcpy(text + sizeof text - 4, "...", 4);
    return arena_dup(x->b->a, text, strlen(text) + 1, 1);
}

static const struct plan_note *note_of(const struct note_ops *x, const char *text) {
    struct build *b = x->b;
    struct plan_note *note = ARENA_NEW(b->a, struct plan_note);
    *note = (struct plan_note){.text = text, .ops = ops_text(x), .where = ""};
    for (uint32_t i = 0; i < x->n; i++) {
        size_t bytes;
        bool transpose = ir_kind(b->m, x->v[i]) == IR_TRANSPOSE;
        note->flops += opt_flops(b->m, x->v[i]);
        note->transposes += transpose;
        if (transpose && ir_type_bytes(ir_val_type(b->m, ir_result(b->m, x->v[i], 0)), &bytes))
            note->transposed_bytes += (double)bytes;
    }
    if (x->n)
        note->where = ir_op_place(b->m, x->v[0], b->a);
    return note;
}

/* "expected: oneDNN 0.120 ms, hilo 0.300 ms", the chosen provider first; 0 where nothing was compared. */
static size_t choice_text(const struct build_choice *c, char *out, size_t size) {
    size_t n = 0;
    *out = '\0';
    for (int pass = 0; pass < 2; pass++)
        for (int by = LIB_OWN; by < LIB_EXTERNAL_COUNT && n < size; by++)
            if (c->ns[by] >= 0 && (by == (int)c->by) == (pass == 0))
                n += (size_t)snprintf(out + n, size - n, "%s%s %.4f ms", n ? ", " : "expected: ",
                                      ext_title((enum lib_external)by), c->ns[by] * 1e-6);
    return n;
}

/* "; layouts [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]" of a convolution: its dimensions, as they are in memory. */
static size_t layout_text(struct build *b, ir_op op, char *out, size_t size) {
    static const char before[] = "#stablehlo.conv<";
    struct strbuf text;
    size_t n = 0;
    if (ir_kind(b->m, op) != IR_CONVOLUTION)
        return 0;
    strbuf_init(&text, b->a->al);
    ir_print_attr(b->m, ir_prop(b->m, op, IR_CONVOLUTION_dimension_numbers), &text);
    if (text.n > sizeof before && memcmp(text.p, before, sizeof before - 1) == 0)
        n = (size_t)snprintf(out, size, "; layouts %.*s", (int)(text.n - sizeof before), text.p + sizeof before - 1);
    strbuf_free(&text);
    return n;
}

/* What it computes, its schedule, and why each of its outputs is materialised. */
const struct plan_note *build_note(struct build *b, ir_block block, const struct fuse_block *f, const struct fuse_kernel *k) {
    static const char *const schedules[] = {
        [FUSE_MAP] = "loop", [FUSE_ROWS] = "row-wise", [FUSE_CONTRACT] = "contraction",
        [FUSE_INTO] = "in-place update", [FUSE_STAGES] = "contraction, row-wise, contraction"};
    char text[512], why[160];
    const char *pattern = fuse_pattern(b->m, f, k);
    size_t n = (size_t)snprintf(text, sizeof text, "%s%s%s, %u op%s; materialised:", pattern ? pattern : "",
                                pattern ? ": " : "", schedules[k->schedule], k->nops, k->nops == 1 ? "" : "s");
    struct note_ops x = {.b = b, .f = f, .block = block};
    for (uint32_t i = 0; i < k->outs.n; i++) {
        const char *name = fuse_reason_name(fuse_reason(f, k->outs.v[i]));
        if (n < sizeof text)
            n += (size_t)snprintf(text + n, sizeof text - n, "%s %s", i ? "," : "", name);
        add_op(&x, ir_val_get(b->m, k->outs.v[i])->op);
    }
    for (uint32_t i = 0; i < x.n && n < sizeof text; i++)
        n += layout_text(b, x.v[i], text + n, sizeof text - n);
    for (uint32_t i = 0; i < x.n && n < sizeof text; i++) {
        const struct build_choice *c = build_choose(b, x.v[i]);
        if (c && choice_text(c, why, sizeof why))
            n += (size_t)snprintf(text + n, sizeof text - n, "; %s", why);
    }
    return note_of(&x, arena_dup(b->a, text, strlen(text) + 1, 1));
}

const struct plan_note *build_note_part(struct build *b, bool before) {
    const char *of = b->note->text ? b->note->text : "a kernel";
    char text[160];
    snprintf(text, sizeof text, "%s %.*s", before ? "packs operands for" : "combines partial results of",
             (int)strcspn(of, ":,;"), of);
    struct plan_note *note = ARENA_NEW(b->a, struct plan_note);
    *note = (struct plan_note){.text = arena_dup(b->a, text, strlen(text) + 1, 1), .ops = "", .where = b->note->where};
    return note;
}

const struct plan_note *build_note_stays(struct build *b, const char *why) {
    char text[640];
    snprintf(text, sizeof text, "%s; not %s", b->note->text ? b->note->text : "a kernel", why);
    struct plan_note *note = ARENA_NEW(b->a, struct plan_note);
    *note = *b->note;
    note->text = arena_dup(b->a, text, strlen(text) + 1, 1);
    return note;
}

const struct plan_note *build_note_op(struct build *b, ir_op op) {
    struct note_ops x = {.b = b, .v = {op}, .n = 1};
    char text[320];
    const struct build_choice *c = build_choose(b, op);
    size_t n = c ? choice_text(c, text, sizeof text) : 0;
    if (n < sizeof text)
        n += layout_text(b, op, text + n, sizeof text - n);
    return note_of(&x, n ? arena_dup(b->a, text, strlen(text) + 1, 1) : NULL);
}
