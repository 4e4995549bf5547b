/* Products of a GPU that cuBLASLt may compute in place of their kernels: those whose operands are in memory as they are, with
 * what its epilogues have of what is computed from them. The kernel is generated all the same: for files, and for addresses
 * that the library does not take. */
#include "compile/build.h"
#include "external/cublaslt.h"
#include "runtime/internal.h"

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

/* Whether what is stored is the product, or in f32 (others are rounded between the two) its sum with a bias; none else. The
   library's maximum with zero is not StableHLO's: what it makes of NaN is not documented. */
static bool epilogue(const struct ir_module *m, ir_val v, ir_val product, const struct ext_product *p, ir_val *bias) {
    *bias = (ir_val){0};
    if (IR_SAME(v, product))
        return true;
    ir_op add = lib_made_by(m, v, IR_ADD);
    for (uint32_t i = 0; i < 2 && !IR_NONE(add) && IR_NONE(*bias); i++)
        *bias = IR_SAME(ir_operand(m, add, i), product) ? row_of(m, ir_operand(m, add, !i)) : *bias;
    return !IR_NONE(*bias) && ir_val_type(m, v)->dtype == IR_F32_T && (size_t)ir_val_count(m, *bias) == p->axes.columns.count;
}

void build_products_free(struct build *b) {
    for (uint32_t i = 0; i < b->products.n; i++)
        ext_product_release(b->products.v[i]);
    b->products.n = 0;
}

const struct plan_library *build_product(struct build *b, const struct fuse_kernel *k) {
    const struct ir_module *m = b->m;
    const struct lowered_kernel *kernel = &b->now.kernels[0];
    struct ext_product p = {.bias = -1};
    struct diag_list d;
    ir_val bias;
    const struct build_choice *c = b->libraries == BUILD_CHEAPEST ? build_choose(b, k->anchor) : NULL;
    if (b->libraries == BUILD_CHEAPEST && (!c || c->by != LIB_CUBLASLT))
        return NULL;
    if (k->schedule != FUSE_CONTRACT || k->anchor_map || b->now.nkernels != 1 || k->outs.n != 1 ||
        !dot_axes_of(m, k->anchor, &p.axes) ||
        !epilogue(m, k->outs.v[0], ir_result(m, k->anchor, 0), &p, &bias))
        return NULL;
    p.a = param_of(kernel, ir_operand(m, k->anchor, 0), KIR_IN);
    p.b = param_of(kernel, ir_operand(m, k->anchor, 1), KIR_IN);
    p.out = param_of(kernel, k->outs.v[0], KIR_OUT);
    p.bias = IR_NONE(bias) ? -1 : param_of(kernel, bias, KIR_IN);
    if (p.a < 0 || p.b < 0 || p.out < 0 || (p.bias < 0) != IR_NONE(bias))
        return NULL;
    struct plan_library *l = ARENA_NEW(b->a, struct plan_library);
    void *state = NULL;
    ARENA_PUSH(b->a, &b->products, state); /* first: what is prepared is not lost when the arena's memory ends */
    b->products.n--;
    diag_init(&d, b->a->al);
    hilo_status status = ext_product_prepare(&p, rt_client_gpu(b->gpu_client), &d, &state);
    if (status != HILO_OK)
        rt_log(b->gpu_client, HILO_LOG_DEBUG, "a product stays a kernel: %s", d.first ? d.first->message : "out of memory");
    diag_clear(&d);
    if (status != HILO_OK)
        return NULL;
    b->products.v[b->products.n++] = state;
    *l = (struct plan_library){"cuBLASLt", state, ext_product_workspace(state), ext_product_run};
    return l;
}
