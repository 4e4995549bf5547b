/* Contractions of a GPU that libraries may compute in place of their kernels: those whose operands are in memory as they are;
 * products by cuBLASLt, with what its epilogues have of what is computed from them, and convolutions by cuDNN. The kernel is
 * generated all the same: for files, and for addresses that the library does not take. */
#include "compile/build.h"
#include "external/cublaslt.h"
#include "external/cudnn.h"
#include "runtime/internal.h"

#include <stdio.h>

/* The parameter of the lowered kernel that holds a value; -1: there is none. */
static int param_of(const struct lowered_kernel *k, ir_val v, enum kir_role role) {
    for (uint32_t i = 0; i < k->params.n; i++)
        if (IR_SAME(k->params.v[i].v, v) && k->params.v[i].role == role)
            return (int)i;
    return -1;
}

/* A value that is the same along all dimensions but the last; none else. */
static ir_val row_of(const struct ir_module *m, ir_val v) {
    ir_op spread = lib_made_by(m, v, IR_BROADCAST_IN_DIM);
    size_t n;
    if (IR_NONE(spread))
        return (ir_val){0};
    const int64_t *to = ir_prop_i64s(m, spread, IR_BROADCAST_IN_DIM_broadcast_dimensions, &n);
    ir_val row = ir_operand(m, spread, 0);
    return n == 1 && to[0] == (int64_t)ir_val_type(m, v)->rank - 1 && ir_val_count(m, row) > 1 ? row : (ir_val){0};
}

/* What is stored of a product: itself, or in f32 (others are rounded between the two) its sum with a matrix, then with a bias.
   That is the order in which the library adds. */
struct epilogue {
    ir_val added, bias; /* none: of no element */
};

/* The other operand, where the op adds one of these to something; none else. */
static ir_val other_of(const struct ir_module *m, ir_val sum, ir_val v) {
    ir_op add = lib_made_by(m, sum, IR_ADD);
    for (uint32_t i = 0; i < 2 && !IR_NONE(add); i++)
        if (IR_SAME(ir_operand(m, add, i), v))
            return ir_operand(m, add, !i);
    return (ir_val){0};
}

/* The library's maximum with zero is not StableHLO's: what it makes of NaN is not documented. Nor is it documented how far its
   approximation of GELU is from the function. */
static bool epilogue_of(const struct ir_module *m, ir_val v, ir_val product, struct epilogue *out) {
    *out = (struct epilogue){{0}, {0}};
    if (IR_SAME(v, product))
        return true;
    ir_op last = lib_made_by(m, v, IR_ADD);
    if (IR_NONE(last) || ir_val_type(m, v)->dtype != IR_F32_T)
        return false;
    for (uint32_t i = 0; i < 2; i++) {
        ir_val sum = ir_operand(m, last, i), other = ir_operand(m, last, !i), row = row_of(m, other);
        ir_val added = other_of(m, sum, product);
        if (IR_SAME(sum, product)) {
            *out = IR_NONE(row) ? (struct epilogue){other, {0}} : (struct epilogue){{0}, row};
            return true;
        }
        if (!IR_NONE(added) && !IR_NONE(row)) {
            *out = (struct epilogue){added, row};
            return true;
        }
    }
    return false;
}

void build_prepared_free(struct build *b) {
    for (uint32_t i = 0; i < b->prepared.n; i++)
        b->prepared.v[i].release(b->prepared.v[i].state);
    b->prepared.n = 0;
}

/* The parameters of a kernel that a library would be given; false where some value is none. */
struct params {
    const struct lowered_kernel *kernel;
    bool all;
};

static int in_param(struct params *p, ir_val v) {
    int i = IR_NONE(v) ? -1 : param_of(p->kernel, v, KIR_IN);
    p->all = p->all && (i >= 0 || IR_NONE(v));
    return i;
}

static hilo_status prepare_product(struct build *b, const struct fuse_kernel *k, struct diag_list *d,
                                   struct plan_library *out) {
    const struct ir_module *m = b->m;
    struct params params = {&b->now.kernels[0], true};
    struct ext_product p;
    struct epilogue e;
    if (!dot_axes_of(m, k->anchor, &p.axes) || !epilogue_of(m, k->outs.v[0], ir_result(m, k->anchor, 0), &e) ||
        (!IR_NONE(e.bias) && (size_t)ir_val_count(m, e.bias) != p.axes.columns.count))
        return diag_error(d, HILO_UNIMPLEMENTED, "what is computed from it");
    p.a = in_param(&params, ir_operand(m, k->anchor, 0));
    p.b = in_param(&params, ir_operand(m, k->anchor, 1));
    p.bias = in_param(&params, e.bias);
    p.added = in_param(&params, e.added);
    p.out = param_of(params.kernel, k->outs.v[0], KIR_OUT);
    if (!params.all || p.out < 0)
        return diag_error(d, HILO_UNIMPLEMENTED, "its operands are computed with it");
    HILO_TRY(ext_product_prepare(&p, rt_client_gpu(b->gpu_client), d, &out->state));
    out->workspace_bytes = ext_product_workspace(out->state);
    out->run = ext_product_run;
    return HILO_OK;
}

static hilo_status prepare_convolution(struct build *b, const struct fuse_kernel *k, struct diag_list *d,
                                       struct plan_library *out) {
    const struct ir_module *m = b->m;
    struct params params = {&b->now.kernels[0], true};
    struct ext_convolution c;
    struct lib_match match = {.routine = LIB_CONVOLUTION};
    if (!IR_SAME(k->outs.v[0], ir_result(m, k->anchor, 0)) || !lib_match_convolution(m, k->anchor, &match) ||
        !conv_read(match.params, match.nparams, &c.shape))
        return diag_error(d, HILO_UNIMPLEMENTED, "what is computed from it");
    c.a = in_param(&params, ir_operand(m, k->anchor, 0));
    c.b = in_param(&params, ir_operand(m, k->anchor, 1));
    c.out = param_of(params.kernel, k->outs.v[0], KIR_OUT);
    if (!params.all || c.out < 0)
        return diag_error(d, HILO_UNIMPLEMENTED, "its operands are computed with it");
    HILO_TRY(ext_convolution_prepare(&c, rt_client_gpu(b->gpu_client), d, &out->state));
    out->workspace_bytes = ext_convolution_workspace(out->state);
    out->run = ext_convolution_run;
    return HILO_OK;
}

static const struct instead {
    enum lib_external by;
    hilo_status (*prepare)(struct build *b, const struct fuse_kernel *k, struct diag_list *d, struct plan_library *out);
    void (*release)(void *state);
} all_instead[] = {
    {LIB_CUBLASLT, prepare_product, ext_product_release},
    {LIB_CUDNN, prepare_convolution, ext_convolution_release},
};

/* Whether the library is there, and is to compute the kernel. */
static bool is_to(struct build *b, const struct fuse_kernel *k, enum lib_external by) {
    if (b->libraries == BUILD_ANY && ext_missing(by))
        b->wanted |= 1u << by;
    if (ext_missing(by) || k->anchor_map || b->now.nkernels != 1 || k->outs.n != 1)
        return false;
    const struct build_choice *c = b->libraries == BUILD_CHEAPEST ? build_choose(b, k->anchor) : NULL;
    return b->libraries != BUILD_CHEAPEST || (c && c->by == by);
}

const struct plan_library *build_instead(struct build *b, const struct fuse_kernel *k) {
    enum lib_external by = k->schedule == FUSE_CONTRACT ? build_asked_instead(b, k->anchor) : LIB_OWN;
    struct build_prepared none = {NULL, NULL};
    struct diag_list d;
    if (by == LIB_OWN || !is_to(b, k, by))
        return NULL;
    const struct instead *x = all_instead;
    while (x->by != by)
        x++;
    struct plan_library *l = ARENA_NEW(b->a, struct plan_library);
    l->name = ext_title(by);
    ARENA_PUSH(b->a, &b->prepared, none); /* first: what is prepared is not lost when the arena's memory ends */
    b->prepared.n--;
    diag_init(&d, b->a->al);
    hilo_status status = x->prepare(b, k, &d, l);
    if (status != HILO_OK) {
        char why[320];
        snprintf(why, sizeof why, "%s's: %s", l->name, d.first && d.first->message ? d.first->message : "out of memory");
        b->stays = arena_dup(b->a, why, strlen(why) + 1, 1);
    }
    diag_clear(&d);
    if (status != HILO_OK)
        return NULL;
    b->prepared.v[b->prepared.n++] = (struct build_prepared){l->state, x->release};
    return l;
}
