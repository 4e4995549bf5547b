/* Which code computes an op: hilo's, or an installed library's. */
#include "compile/build.h"

/* A kernel goes on with its results in registers; those of a library are written and read again. */
static double handed_on(const struct build *b, ir_op op) {
    size_t bytes;
    ir_val v = ir_result(b->m, op, 0);
    return lower_supports(b->m, op) && ir_type_bytes(ir_val_type(b->m, v), &bytes) ? b->model->copy * (double)bytes : 0;
}

enum lib_external build_asked_instead(const struct build *b, ir_op op) {
    enum lib_external by = ext_instead(ir_kind(b->m, op));
    return by != LIB_OWN && b->instead >> by & 1 ? by : LIB_OWN;
}

/* A contraction of a GPU's, by its kernel or a library; whether that takes it is seen when it is prepared (instead.c). */
static bool choose_instead(const struct build *b, ir_op op, enum lib_external by, struct build_choice *c) {
    const struct model_cost *cost =
        b->model->cost[ext_routine(b->m, op)][ir_val_type(b->m, ir_operand(b->m, op, 0))->dtype];
    struct model_work work = model_work(b->m, op);
    if (!cost[LIB_OWN].known || !cost[by].known)
        return false;
    c->ns[LIB_OWN] = model_ns(&cost[LIB_OWN], &work);
    c->ns[by] = model_ns(&cost[by], &work);
    c->by = c->ns[by] < c->ns[LIB_OWN] ? by : LIB_OWN;
    return true;
}

static bool choose_cheapest(struct build *b, ir_op op, struct build_choice *c) {
    struct gpu *gpu = b->gpu_client ? rt_client_gpu(b->gpu_client) : NULL;
    const struct model *model = b->model;
    struct model_work work = model_work(b->m, op);
    enum ir_dtype type = ir_val_type(b->m, ir_operand(b->m, op, 0))->dtype;
    bool found = false;
    double least = 0;
    for (int by = LIB_OWN + 1; by < LIB_EXTERNAL_COUNT; by++) {
        struct lib_match match;
        if (!ext_match(b->m, op, (enum lib_external)by, gpu, &match))
            continue;
        const struct model_cost *own = &model->cost[match.routine][type][LIB_OWN],
                                *theirs = &model->cost[match.routine][type][by];
        if (!own->known || !theirs->known)
            continue;
        c->ns[LIB_OWN] = model_ns(own, &work);
        c->ns[by] = model_ns(theirs, &work) + handed_on(b, op);
        if (match.alone && c->ns[LIB_OWN] > PLAN_SHARED_NS) /* the other threads would have to wait */
            c->ns[by] *= model->cores;
        if (!found)
            least = c->ns[LIB_OWN];
        found = true;
        if (c->ns[by] < least) {
            least = c->ns[by];
            c->match = match;
            c->match.ns = least;
            c->by = match.by;
        }
    }
    return found;
}

static bool choose_first(struct build *b, ir_op op, struct build_choice *c) {
    struct gpu *gpu = b->gpu_client ? rt_client_gpu(b->gpu_client) : NULL;
    for (int by = LIB_OWN + 1; by < LIB_EXTERNAL_COUNT; by++) {
        if ((b->libraries == BUILD_ONE && by != (int)b->library) || (lib_on_device((enum lib_external)by) && !gpu))
            continue;
        if (ext_does((enum lib_external)by, ext_routine(b->m, op)) && ext_missing((enum lib_external)by))
            b->wanted |= 1u << by;
        if (ext_match(b->m, op, (enum lib_external)by, gpu, &c->match)) {
            c->by = c->match.by;
            return true;
        }
    }
    return false;
}

const struct build_choice *build_choose(struct build *b, ir_op op) {
    if (b->libraries == BUILD_OWN || b->level == 0 || ext_routine(b->m, op) == LIB_NONE)
        return NULL;
    enum lib_external instead = b->libraries == BUILD_CHEAPEST ? build_asked_instead(b, op) : LIB_OWN;
    bool lowered = b->on_device && lower_supports(b->m, op);
    if (lowered && instead == LIB_OWN) /* libraries of the host are for what would be there anyway */
        return NULL;
    uint32_t known = opt_ids_get(&b->chosen, op.i);
    if (known)
        return b->choices.v[known - 1];
    struct build_choice *c = ARENA_NEW(b->a, struct build_choice);
    for (int by = 0; by < LIB_EXTERNAL_COUNT; by++)
        c->ns[by] = -1;
    bool found = lowered                          ? choose_instead(b, op, instead, c)
                 : b->libraries == BUILD_CHEAPEST ? choose_cheapest(b, op, c)
                                                  : choose_first(b, op, c);
    c = found ? c : NULL;
    ARENA_PUSH(b->a, &b->choices, c);
    opt_ids_set(&b->chosen, op.i, b->choices.n);
    return c;
}
