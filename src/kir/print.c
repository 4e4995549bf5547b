/* Kernels as text:
 *
 *   kernel scale(b0: in f32[1000], b1: out bf16[1000] aligned) {
 *       %1 = loop grid 10 {
 *           %2: i64 = mul %1, 100
 *           %3 = loop vector 100 by 16 {
 *               %4: i64 = add %2, %3
 *               %5: f32 = load b0[%4]
 *               %6: f32 = mul %5, 2.000000e+00:f32
 *               store b1[%4], %6
 *           }
 *       }
 *   }
 *
 * Values are numbered as they are printed. Constants are printed where they are used: 4 is an i64; true and false; others name
 * their type. Floats that six digits do not determine have more, or are printed as bits. */
#include "base/decimal.h"
#include "kir/node.h"

struct printer {
    const struct kir *k;
    struct strbuf *out;
    uint32_t *number, next; /* of the values, from 1 */
};

static const char *const cmp_names[] = {"eq", "ne", "lt", "le", "gt", "ge"};
static const char *const loop_names[] = {"grid", "serial", "vector", "unrolled"};
static const char *const tile_names[] = {"bf16", "s8s8", "u8s8", "s8u8", "u8u8", "f16"};
static const char *const role_names[] = {"in", "out", "inout", "scratch"};

const char *kir_cmp_name(enum kir_cmp c) { return cmp_names[c]; }
const char *kir_loop_name(enum kir_loop l) { return loop_names[l]; }
const char *kir_tile_name(enum kir_tile t) { return tile_names[t]; }
const char *kir_role_name(enum kir_role r) { return role_names[r]; }

static void print_number(struct strbuf *out, const char *before, uint32_t number, const char *after) {
    strbuf_puts(out, before);
    strbuf_i64(out, number);
    strbuf_puts(out, after);
}

static void print_word(struct strbuf *out, const char *before, const char *word, const char *after) {
    strbuf_puts(out, before);
    strbuf_puts(out, word);
    strbuf_puts(out, after);
}

static void print_const(const struct kir_node *n, struct strbuf *out) {
    char text[DEC_PRINT_SIZE];
    enum kir_type t = (enum kir_type)n->type;
    if (t == KIR_I1) {
        strbuf_puts(out, n->imm ? "true" : "false");
        return;
    }
    if (t == KIR_F32)
        strbuf_putn(out, text, dec_print_float(text, fp_f32_from_bits((uint32_t)n->imm)));
    else if (t == KIR_F64)
        strbuf_putn(out, text, dec_print_double(text, fp_f64_from_bits((uint64_t)n->imm)));
    else
        strbuf_i64(out, n->imm);
    if (t != KIR_I64)
        print_word(out, ":", kir_type_name(t), "");
}

static void print_value(const struct printer *p, kir_val v) {
    if (kir_get(p->k, v)->op == KIR_CONST)
        print_const(kir_get(p->k, v), p->out);
    else
        print_number(p->out, "%", p->number[v.i], "");
}

static void print_place(const struct printer *p, uint32_t buffer, kir_val index) {
    print_number(p->out, "b", buffer, "[");
    print_value(p, index);
    strbuf_putc(p->out, ']');
}

static void print_register(const struct printer *p, const struct kir_node *n, kir_val index) {
    print_value(p, (kir_val){n->of});
    if (KIR_IS(index)) {
        strbuf_putc(p->out, '[');
        print_value(p, index);
        strbuf_putc(p->out, ']');
    }
}

/* %1[4]: register 4 and those after it */
static void print_registers(const struct printer *p, uint32_t reg, uint32_t first) {
    print_value(p, (kir_val){reg});
    print_number(p->out, "[", first, "]");
}

static void print_name(const struct printer *p, const struct kir_node *n) {
    strbuf_puts(p->out, kir_op_get((enum kir_op)n->op)->name);
    const char *sub = n->op == KIR_CMP    ? cmp_names[n->sub]
                      : n->op == KIR_MATH ? kir_math_get((enum kir_math)n->sub)->name
                      : n->op == KIR_ACC  ? kir_op_get((enum kir_op)n->sub)->name
                      : n->op == KIR_TMUL || n->op == KIR_MMA || n->op == KIR_WGMMA ? tile_names[n->sub]
                                          : NULL;
    if (sub)
        print_word(p->out, ".", sub, "");
    if (n->flags & KIR_U)
        strbuf_puts(p->out, ".u");
    if (n->flags & KIR_NT)
        strbuf_puts(p->out, ".nt");
    if (n->flags & KIR_T)
        strbuf_puts(p->out, ".t");
    if (n->op != KIR_COPY_COMMIT)
        strbuf_putc(p->out, ' ');
}

static void print_operands(const struct printer *p, const struct kir_node *n) {
    struct strbuf *out = p->out;
    switch (n->op) {
    case KIR_REG:
        strbuf_i64(out, n->imm);
        strbuf_puts(out, ", ");
        print_value(p, n->arg[0]);
        break;
    case KIR_GET: print_register(p, n, n->arg[0]); break;
    case KIR_SET:
    case KIR_ACC:
        print_register(p, n, n->arg[1]);
        strbuf_puts(out, ", ");
        print_value(p, n->arg[0]);
        break;
    case KIR_LOAD:
    case KIR_PREFETCH:
        print_place(p, n->of, n->arg[0]);
        if (KIR_IS(n->arg[1])) {
            strbuf_puts(out, " when ");
            print_value(p, n->arg[1]);
            strbuf_puts(out, " else ");
            print_value(p, n->arg[2]);
        }
        break;
    case KIR_STORE:
        print_place(p, n->of, n->arg[0]);
        strbuf_puts(out, ", ");
        print_value(p, n->arg[1]);
        if (KIR_IS(n->arg[2])) {
            strbuf_puts(out, " when ");
            print_value(p, n->arg[2]);
        }
        break;
    case KIR_EXT:
    case KIR_TZERO: strbuf_i64(out, n->imm); break;
    case KIR_ROUND: strbuf_puts(out, fp_get((enum fp_kind)n->imm)->name); break;
    case KIR_LDMATRIX:
        print_registers(p, n->arg[1].i, (uint32_t)n->imm);
        strbuf_puts(out, ", ");
        print_place(p, n->of, n->arg[0]);
        break;
    case KIR_COPY_ASYNC:
        print_place(p, n->of, n->arg[0]);
        strbuf_puts(out, ", ");
        print_place(p, kir_copy_from(n), n->arg[1]);
        strbuf_printf(out, ", %u", (unsigned)kir_copy_elements(n));
        if (KIR_IS(n->arg[2])) {
            strbuf_puts(out, " when ");
            print_value(p, n->arg[2]);
        }
        break;
    case KIR_COPY_WAIT: strbuf_i64(out, n->imm); break;
    case KIR_MBARRIER_EXPECT:
    case KIR_MBARRIER_WAIT:
        strbuf_printf(out, "b%u, ", (unsigned)n->of);
        print_value(p, n->arg[0]);
        if (n->op == KIR_MBARRIER_EXPECT)
            strbuf_printf(out, ", %lld", (long long)n->imm);
        break;
    case KIR_COPY_TENSOR:
        print_place(p, n->of, n->arg[0]);
        strbuf_printf(out, ", m%u[", (unsigned)n->imm);
        print_value(p, n->arg[1]);
        strbuf_puts(out, ", ");
        print_value(p, n->arg[2]);
        strbuf_putc(out, ']');
        break;
    case KIR_MMA:
        for (int i = 0; i < 3; i++) {
            strbuf_puts(out, i ? ", " : "");
            print_registers(p, i ? n->arg[i - 1].i : n->of, kir_mma_first(n, i));
        }
        break;
    case KIR_WGMMA:
        print_registers(p, n->of, kir_wgmma_first(n));
        for (int i = 0; i < 2; i++) {
            strbuf_puts(out, ", ");
            print_place(p, kir_wgmma_buffer(n, i), n->arg[i]);
            strbuf_puts(out, kir_wgmma_across(n, i) ? " across" : "");
        }
        strbuf_printf(out, ", %u", (unsigned)n->width);
        break;
    case KIR_WGMMA_WAIT: print_value(p, (kir_val){n->of}); break;
    case KIR_TMUL:
        strbuf_printf(out, "%d, %d, %d", (int)(n->imm & 7), (int)(n->imm >> 3 & 7), (int)(n->imm >> 6 & 7));
        break;
    case KIR_TLOAD:
    case KIR_TSTORE:
        strbuf_i64(out, n->imm);
        strbuf_puts(out, ", ");
        print_place(p, n->of, n->arg[0]);
        strbuf_puts(out, ", ");
        print_value(p, n->arg[1]);
        break;
    default:
        for (int i = 0; i < 3 && KIR_IS(n->arg[i]); i++) {
            strbuf_puts(out, i ? ", " : "");
            print_value(p, n->arg[i]);
        }
        return;
    }
    if (n->op == KIR_EXT || n->op == KIR_ROUND) {
        strbuf_puts(out, ", ");
        print_value(p, n->arg[0]);
    }
}

static void indent(const struct printer *p, uint32_t depth) {
    for (uint32_t i = 0; i < depth; i++)
        strbuf_puts(p->out, "    ");
}

static void print_block(struct printer *p, kir_block b);

/* `{`, a block, `}` on the line of its owner. */
static void print_body(struct printer *p, kir_block b) {
    strbuf_puts(p->out, "{\n");
    print_block(p, b);
    indent(p, kir_block_get(p->k, b)->depth);
    strbuf_putc(p->out, '}');
}

static void print_flow(struct printer *p, const struct kir_node *n) {
    print_word(p->out, "", kir_op_get((enum kir_op)n->op)->name, " ");
    if (n->op == KIR_WHILE) {
        print_body(p, n->other);
        strbuf_puts(p->out, " do ");
    }
    if (n->op == KIR_LOOP)
        print_word(p->out, "", loop_names[n->sub], " ");
    if (KIR_IS(n->arg[0]))
        print_value(p, n->arg[0]);
    else
        strbuf_i64(p->out, n->imm);
    if (n->op == KIR_LOOP && n->sub == KIR_VECTOR)
        print_number(p->out, " by ", n->width, "");
    strbuf_putc(p->out, ' ');
    print_body(p, n->body);
    if (n->op == KIR_IF && n->other.i) {
        strbuf_puts(p->out, " else ");
        print_body(p, n->other);
    }
}

static void print_block(struct printer *p, kir_block b) {
    for (kir_val v = kir_block_get(p->k, b)->first; KIR_IS(v); v = kir_get(p->k, v)->next) {
        const struct kir_node *n = kir_get(p->k, v);
        if (n->op == KIR_CONST)
            continue;
        indent(p, kir_block_get(p->k, b)->depth + 1);
        if (n->type != KIR_VOID) {
            p->number[v.i] = p->next++;
            print_number(p->out, "%", p->number[v.i], "");
            if (n->op != KIR_LOOP)
                print_word(p->out, ": ", kir_type_name((enum kir_type)n->type), "");
            strbuf_puts(p->out, " = ");
        }
        if (n->op == KIR_LOOP || n->op == KIR_IF || n->op == KIR_WHILE) {
            print_flow(p, n);
        } else {
            print_name(p, n);
            print_operands(p, n);
        }
        strbuf_putc(p->out, '\n');
    }
}

void kir_print(const struct kir *k, struct strbuf *out) {
    struct printer p = {k, out, mem_alloc(&out->al, k->nodes.n * sizeof *p.number), 1};
    if (!p.number) {
        out->failed = true;
        return;
    }
    memset(p.number, 0, k->nodes.n * sizeof *p.number);
    strbuf_printf(out, "kernel %s(", k->name);
    for (uint32_t i = 0; i < k->buffers.n; i++) {
        const struct kir_buffer *b = &k->buffers.v[i];
        bool aligned = b->aligned && b->role != KIR_SCRATCH;
        strbuf_printf(out, "%sb%u: %s %s[%lld]%s", i ? ", " : "", (unsigned)i, role_names[b->role],
                      ir_dtype_get(b->dtype)->name, (long long)b->count, aligned ? " aligned" : "");
    }
    for (uint32_t i = 0; i < k->maps.n; i++) {
        const struct kir_map *m = &k->maps.v[i];
        strbuf_printf(out, ", m%u: map b%u[%lld x %lld by %lld] %u", (unsigned)i, (unsigned)m->buffer, (long long)m->lines,
                      (long long)m->columns, (long long)m->stride, (unsigned)m->box);
    }
    strbuf_puts(out, ") ");
    print_body(&p, (kir_block){1});
    strbuf_putc(out, '\n');
    mem_free(&out->al, p.number, k->nodes.n * sizeof *p.number);
}
