/* Rules of ops that talk to other processes or to the host: collectives, send and recv, infeed. */
#include "ir/rules/shape.h"

#include <inttypes.h>

/* ---- replica groups -------------------------------------------------------------------------- */

/* A mesh that is named exists. */
static hilo_status process_mesh(struct shape *s, ir_attr groups) {
    ir_attr mesh = ir_field(s->m, groups, IR_REPLICA_GROUP_MESH_AXES_mesh_F);
    struct str name = ir_attr_as_str(s->m, mesh);
    if (ir_attr_get(s->m, mesh)->kind == IR_ATTR_SYMBOL && IR_NONE(ir_module_symbol(s->m, name)))
        return shape_not_found(s, NULL, "mesh", name);
    return HILO_OK;
}

/* The groups as written in a matrix, a row each; -1 where a row is shorter. */
struct groups { const int64_t *ids; size_t n; int64_t count, size; };

/* False where they are axes of a mesh. */
static bool groups_read(struct shape *s, enum ir_slot slot, struct groups *out) {
    ir_attr a = ir_prop(s->m, s->op, slot);
    const struct ir_type_data *t = ir_type_get(s->m, ir_attr_get(s->m, a)->type);
    if (!shape_attr_ints(s, a, &out->ids, &out->n) || t->rank != 2)
        return false;
    out->count = t->dims[0];
    out->size = t->dims[1];
    return true;
}

struct group_rules {
    enum ir_slot slot;
    const char *unique, *range; /* labels */
    bool uniform;               /* no row may be shorter */
};

/* Each of the processes 0 … n - 1 is in one group. */
static hilo_status groups_check(struct shape *s, const struct group_rules *r) {
    struct groups g;
    if (!groups_read(s, r->slot, &g)) {
        ir_attr a = ir_prop(s->m, s->op, r->slot);
        if (ir_attr_get(s->m, a)->kind == IR_ATTR_STRUCT)
            return process_mesh(s, a);
        return shape_fail(s, r->range, "replica_groups has too many elements");
    }
    int64_t *ids = ARENA_ARRAY(&s->m->arena, int64_t, g.n);
    size_t n = 0;
    for (size_t i = 0; i < g.n; i++) {
        if (g.ids[i] != -1)
            ids[n++] = g.ids[i];
        else if (r->uniform)
            return shape_fail(s, r->range, "replica_groups must all have one size, but one has -1");
    }
    HILO_TRY(shape_unique(s, r->unique, "replica_groups", ids, n));
    return shape_in_range(s, r->range, "replica_groups", ids, n, (int64_t)n);
}

/* Global device ids are those of a channel's processes. */
static hilo_status process_channel(struct shape *s, const char *label, enum ir_slot use_global,
                                   enum ir_slot channel, enum ir_slot groups) {
    struct groups g;
    if (IR_NONE(ir_prop(s->m, s->op, use_global)))
        return HILO_OK;
    if (groups_read(s, groups, &g) && g.n == 0)
        return shape_fail(s, label, "replica_groups must not be empty with use_global_device_ids");
    int64_t id =
        ir_field_i64(s->m, ir_prop(s->m, s->op, channel), IR_CHANNEL_HANDLE_handle_F);
    if (id <= 0)
        return shape_fail(s, label, "the channel must be positive with use_global_device_ids, but "
                          "is %" PRId64, id);
    return HILO_OK;
}

/* ---- collectives that move ------------------------------------------------------------------- */

static hilo_status all_gather_pair(struct shape *s, uint32_t i, int64_t dim) {
    const struct ir_type_data *t = shape_in(s, i), *r = shape_res(s, i);
    HILO_TRY(shape_in_range(s, "all_gather_c1", "all_gather_dim", &dim, 1, t->rank));
    if (t->dims[dim] == 0)
        return shape_fail(s, NULL, "operand %u must not be empty along all_gather_dim", i);
    if (!s->verifying)
        return HILO_OK;
    HILO_TRY(shape_result_elem(s, "all_gather_c6", i, t->elem));
    if (r->rank != t->rank)
        return shape_fail(s, "all_gather_c6", "operand and result %u must have one rank, but have "
                          "%u and %u", i, t->rank, r->rank);
    for (uint32_t d = 0; d < t->rank; d++) {
        int64_t a = t->dims[d], b = r->dims[d];
        if (d != dim && !shape_dims_agree(a, b))
            return shape_fail(s, "all_gather_c6", "operand and result %u may differ in dimension %"
                              PRId64 " only, but have types %s and %s", i, dim,
                              shape_type_text(s, shape_in_type(s, i)),
                              shape_type_text(s, shape_res_type(s, i)));
        if (d == dim && shape_known(a) && shape_known(b) && b % a != 0)
            return shape_fail(s, "all_gather_c6", "dimension %u of result %u must be a multiple of "
                              "%" PRId64 ", but has size %" PRId64, d, i, a, b);
    }
    return HILO_OK;
}

/* How many processes take part is written in no type, so the result is as declared. */
hilo_status shape_all_gather(struct shape *s) {
    static const struct group_rules rules = {IR_ALL_GATHER_replica_groups, "all_gather_c2",
                                             "all_gather_c4", true};
    HILO_TRY(groups_check(s, &rules));
    HILO_TRY(process_channel(s, "all_gather_c5", IR_ALL_GATHER_use_global_device_ids,
                             IR_ALL_GATHER_channel_handle, rules.slot));
    HILO_TRY(shape_results(s, "all_gather_c6", s->o->noperands));
    for (uint32_t i = 0; i < s->o->noperands; i++)
        HILO_TRY(all_gather_pair(s, i, ir_prop_i64(s->m, s->op, IR_ALL_GATHER_all_gather_dim)));
    return HILO_OK;
}

/* size / n along `split`, then size * n along `concat`, which may be the same. */
static hilo_status all_to_all_pair(struct shape *s, uint32_t i, int64_t split, int64_t concat, int64_t n) {
    const struct ir_type_data *t = shape_in(s, i);
    struct shape_dim dims[IR_MAX_RANK];
    for (uint32_t d = 0; d < t->rank; d++)
        dims[d] = shape_dim_of(t, d);
    struct shape_dim *from = &dims[split], *to = &dims[concat];
    if (shape_known(from->size) && from->size % n != 0)
        return shape_fail(s, "all_to_all_c2", "split_dimension of size %" PRId64 " must be a "
                          "multiple of split_count, %" PRId64, from->size, n);
    from->size = shape_known(from->size) ? from->size / n : IR_DYNAMIC;
    from->bound = shape_known(from->bound) ? from->bound / n : IR_DYNAMIC;
    if ((shape_known(to->size) && __builtin_mul_overflow(to->size, n, &to->size)) ||
        (shape_known(to->bound) && __builtin_mul_overflow(to->bound, n, &to->bound)))
        return shape_fail(s, "all_to_all_c9", "concat_dimension becomes too large");
    s->out[i] = shape_tensor(s, t->elem, dims, t->rank);
    return HILO_OK;
}

hilo_status shape_all_to_all(struct shape *s) {
    static const struct group_rules rules = {IR_ALL_TO_ALL_replica_groups, "all_to_all_c5",
                                             "all_to_all_c7", true};
    int64_t split = ir_prop_i64(s->m, s->op, IR_ALL_TO_ALL_split_dimension);
    int64_t concat = ir_prop_i64(s->m, s->op, IR_ALL_TO_ALL_concat_dimension);
    int64_t n = ir_prop_i64(s->m, s->op, IR_ALL_TO_ALL_split_count);
    struct groups g;
    HILO_TRY(groups_check(s, &rules));
    if (groups_read(s, rules.slot, &g) && (g.count == 0 || g.size != n))
        return shape_fail(s, "all_to_all_c8", "replica_groups must have split_count, %" PRId64
                          ", replicas each, but are %" PRId64 " groups of %" PRId64, n, g.count,
                          g.size);
    HILO_TRY(shape_results(s, "all_to_all_c9", s->o->noperands));
    s->out_label = "all_to_all_c9";
    for (uint32_t i = 0; i < s->o->noperands; i++) {
        HILO_TRY(shape_in_range(s, "all_to_all_c1", "split_dimension", &split, 1,
                                shape_in(s, i)->rank));
        HILO_TRY(shape_in_range(s, "all_to_all_c3", "concat_dimension", &concat, 1,
                                shape_in(s, i)->rank));
        HILO_TRY(all_to_all_pair(s, i, split, concat, n));
    }
    return HILO_OK;
}

/* With a root that is computed, the last operand has one for each of the others. */
static hilo_status collective_data(struct shape *s, const char *label, bool dynamic_root, uint32_t *n) {
    *n = s->o->noperands;
    if (*n < 1 + (uint32_t)dynamic_root)
        return shape_fail(s, label, "needs at least one operand%s",
                          dynamic_root ? " besides the root" : "");
    if (!dynamic_root)
        return HILO_OK;
    const struct ir_type_data *root = shape_in(s, --*n);
    if (root->rank != 1 || root->dtype != IR_I32_T || root->quant || root->dims[0] != (int64_t)*n)
        return shape_fail(s, label, "the root must have type tensor<%uxi32>, but has %s", *n,
                          shape_type_text(s, shape_in_type(s, *n)));
    return HILO_OK;
}

/* Not all processes need to be in a group. */
hilo_status shape_collective_broadcast(struct shape *s) {
    enum ir_slot slot = IR_COLLECTIVE_BROADCAST_replica_groups;
    bool dynamic_root = !IR_NONE(ir_prop(s->m, s->op, IR_COLLECTIVE_BROADCAST_has_dynamic_root));
    struct groups g;
    uint32_t n;
    if (groups_read(s, slot, &g)) {
        for (size_t i = 0; i < g.n; i++)
            if (g.ids[i] < 0)
                return shape_fail(s, "collective_broadcast_c2", "replica_groups must not be "
                                  "negative, but have %" PRId64, g.ids[i]);
        HILO_TRY(shape_unique(s, "collective_broadcast_c1", "replica_groups", g.ids, g.n));
    } else if (ir_attr_get(s->m, ir_prop(s->m, s->op, slot))->kind == IR_ATTR_STRUCT) {
        HILO_TRY(process_mesh(s, ir_prop(s->m, s->op, slot)));
    }
    const char *label = dynamic_root ? "collective_broadcast_c4" : "collective_broadcast_c3";
    HILO_TRY(collective_data(s, label, dynamic_root, &n));
    HILO_TRY(shape_results(s, "collective_broadcast_c5", n));
    s->out_label = label;
    for (uint32_t i = 0; i < n; i++)
        s->out[i] = shape_in_type(s, i);
    return HILO_OK;
}

/* Pairs of a source and a target, each of which occurs once. */
static hilo_status process_pairs(struct shape *s, enum ir_slot slot) {
    ir_attr pairs = ir_prop(s->m, s->op, slot);
    const struct ir_type_data *t = ir_type_get(s->m, ir_attr_get(s->m, pairs)->type);
    const int64_t *v;
    size_t n;
    if (IR_NONE(pairs))
        return HILO_OK;
    if (t->dims[1] != 2 || !shape_attr_ints(s, pairs, &v, &n))
        return shape_fail(s, "_c1", "source_target_pairs must have the shape [N, 2], but has %s",
                          shape_list_text(s, t->dims, t->rank));
    for (size_t side = 0; side < 2; side++) {
        int64_t *ids = ARENA_ARRAY(&s->m->arena, int64_t, n / 2);
        for (size_t i = 0; i < n / 2; i++) {
            ids[i] = v[2 * i + side];
            if (ids[i] < 0)
                return shape_fail(s, "_c4", "source_target_pairs must not be negative, but have %"
                                  PRId64, ids[i]);
        }
        HILO_TRY(shape_unique(s, side == 0 ? "_c2" : "_c3",
                              side == 0 ? "sources of source_target_pairs"
                              : "targets of source_target_pairs", ids, n / 2));
    }
    return HILO_OK;
}

hilo_status shape_collective_permute(struct shape *s) {
    HILO_TRY(process_pairs(s, IR_COLLECTIVE_PERMUTE_source_target_pairs));
    s->out_label = "collective_permute_c5";
    s->out[0] = shape_in_type(s, 0);
    return HILO_OK;
}

/* ---- collectives that reduce ----------------------------------------------------------------- */

/* The region reduces elements of operand i; results have `elem`, what it returns. */
static hilo_status collective_region(struct shape *s, const char *label, uint32_t i, ir_type *elem) {
    ir_type input = shape_in_type(s, i), init = shape_scalar_of(s, shape_in(s, i)->elem);
    struct shape_reducer r = {
        .n = 1, .inputs = &input, .inits = &init, .label = label, .init_label = label,
    };
    HILO_TRY(shape_reducer(s, &r));
    *elem = ir_type_get(s->m, shape_yield_type(s, 0, 0))->elem;
    return HILO_OK;
}

/* Each of n operands is reduced to a result of its shape. */
static hilo_status collective_results(struct shape *s, const char *label, const char *shape_label,
                                      const char *elem_label, uint32_t n) {
    HILO_TRY(shape_results(s, shape_label, n));
    s->out_label = shape_label;
    for (uint32_t i = 0; i < n; i++) {
        ir_type elem;
        HILO_TRY(collective_region(s, label, i, &elem));
        HILO_TRY(shape_result_elem(s, elem_label, i, elem));
        s->out[i] = shape_with_elem(s, shape_in_type(s, i), elem);
    }
    return HILO_OK;
}

hilo_status shape_all_reduce(struct shape *s) {
    static const struct group_rules rules = {IR_ALL_REDUCE_replica_groups, "all_reduce_c1",
                                             "all_reduce_c3", false};
    HILO_TRY(groups_check(s, &rules));
    HILO_TRY(process_channel(s, "all_reduce_c4", IR_ALL_REDUCE_use_global_device_ids,
                             IR_ALL_REDUCE_channel_handle, rules.slot));
    return collective_results(s, "all_reduce_c5", "all_reduce_c6", "all_reduce_c7", s->o->noperands);
}

hilo_status shape_collective_reduce(struct shape *s) {
    static const struct group_rules rules = {IR_COLLECTIVE_REDUCE_replica_groups,
                                             "collective_reduce_c1", "collective_reduce_c2", false};
    bool dynamic_root = !IR_NONE(ir_prop(s->m, s->op, IR_COLLECTIVE_REDUCE_has_dynamic_root));
    uint32_t n;
    HILO_TRY(groups_check(s, &rules));
    HILO_TRY(process_channel(s, NULL, IR_COLLECTIVE_REDUCE_use_global_device_ids,
                             IR_COLLECTIVE_REDUCE_channel_handle, rules.slot));
    HILO_TRY(collective_data(s, "collective_reduce_c3", dynamic_root, &n));
    return collective_results(s, "collective_reduce_c4", "collective_reduce_c3", "collective_reduce_c4", n);
}

hilo_status shape_cross_replica_sum(struct shape *s) {
    s->out[0] = shape_in_type(s, 0);
    return HILO_OK;
}

/* The result is one part of the operand of as many as there are processes in a group. */
static hilo_status reduce_scatter_sizes(struct shape *s, int64_t dim) {
    const struct ir_type_data *t = shape_in(s, 0), *r = shape_res(s, 0);
    if (t->rank != r->rank)
        return shape_fail(s, "reduce_scatter_c8", "operand and result must have one rank, but have "
                          "%u and %u", t->rank, r->rank);
    for (uint32_t d = 0; d < t->rank; d++) {
        int64_t a = t->dims[d], b = r->dims[d];
        if (d != dim && !shape_dims_agree(a, b))
            return shape_fail(s, "reduce_scatter_c8", "operand and result may differ in dimension %"
                              PRId64 " only, but have types %s and %s", dim,
                              shape_type_text(s, shape_in_type(s, 0)),
                              shape_type_text(s, shape_res_type(s, 0)));
        if (d != dim || !shape_known(a) || !shape_known(b))
            continue;
        if (a == 0 || b == 0)
            return shape_fail(s, NULL, "the %s must not be empty along scatter_dimension",
                              b == 0 ? "result" : "operand");
        if (a % b != 0)
            return shape_fail(s, "reduce_scatter_c8", "dimension %u of the operand must be a "
                              "multiple of the result's %" PRId64 ", but has size %" PRId64, d, b,
                              a);
    }
    return HILO_OK;
}

hilo_status shape_reduce_scatter(struct shape *s) {
    static const struct group_rules rules = {IR_REDUCE_SCATTER_replica_groups, "reduce_scatter_c3",
                                             "reduce_scatter_c5", true};
    const struct ir_type_data *t = shape_in(s, 0);
    int64_t dim = ir_prop_i64(s->m, s->op, IR_REDUCE_SCATTER_scatter_dimension);
    ir_type elem;
    struct groups g;
    HILO_TRY(groups_check(s, &rules));
    HILO_TRY(collective_region(s, "reduce_scatter_c7", 0, &elem));
    HILO_TRY(shape_in_range(s, "reduce_scatter_c2", "scatter_dimension", &dim, 1, t->rank));
    HILO_TRY(process_channel(s, "reduce_scatter_c6", IR_REDUCE_SCATTER_use_global_device_ids,
                             IR_REDUCE_SCATTER_channel_handle, rules.slot));
    if (groups_read(s, rules.slot, &g) && g.size > 0 && shape_known(t->dims[dim]) &&
        t->dims[dim] % g.size != 0)
        return shape_fail(s, "reduce_scatter_c1", "scatter_dimension of size %" PRId64 " must be a "
                          "multiple of the size of groups, %" PRId64, t->dims[dim], g.size);
    if (!s->verifying)
        return HILO_OK;
    HILO_TRY(reduce_scatter_sizes(s, dim));
    return shape_result_elem(s, "reduce_scatter_c9", 0, elem);
}

/* ---- the host and other devices -------------------------------------------------------------- */

/* Results are tensors and a token after them. */
static hilo_status host_results(struct shape *s, const char *some, const char *tensors,
                                const char *token) {
    if (s->nout == 0)
        return shape_fail(s, some, "needs at least one result");
    for (uint32_t i = 0; s->verifying && i < s->nout; i++) {
        bool last = i == s->nout - 1;
        enum ir_type_kind kind = shape_res(s, i)->kind;
        if (last ? kind != IR_TYPE_TOKEN : kind != IR_TYPE_TENSOR)
            return shape_fail(s, last ? token : tensors, "result %u must be a %s, but is %s", i,
                              last ? "token" : "tensor",
                              shape_type_text(s, shape_res_type(s, i)));
    }
    return HILO_OK;
}

hilo_status shape_infeed(struct shape *s) {
    HILO_TRY(host_results(s, "infeed_c1", "infeed_c2", "infeed_c3"));
    const struct ir_attr_data *layout = ir_attr_get(s->m, ir_prop(s->m, s->op, IR_INFEED_layout));
    if (layout->kind == IR_ATTR_NONE)
        return HILO_OK;
    HILO_TRY(shape_size(s, NULL, "layout", layout->n, s->nout - 1));
    for (uint32_t i = 0; i < layout->n; i++) {
        const struct ir_attr_data *order = ir_attr_get(s->m, layout->items[i]);
        if (order->kind != IR_ATTR_ARRAY)
            return shape_fail(s, NULL, "element %u of layout must be an array", i);
        for (uint32_t k = 0; k < order->n; k++)
            if (ir_attr_get(s->m, order->items[k])->kind != IR_ATTR_INT)
                return shape_fail(s, NULL, "element %u of layout must be of integers", i);
    }
    return HILO_OK;
}

enum { DEVICE_TO_DEVICE = 1, DEVICE_TO_HOST = 2, HOST_TO_DEVICE = 3 }; /* types of channels */

static hilo_status host_channel(struct shape *s, enum ir_slot channel, enum ir_slot is_host,
                                int64_t host_type) {
    int64_t want = ir_prop_i64(s->m, s->op, is_host) ? host_type : DEVICE_TO_DEVICE;
    int64_t type = ir_field_i64(s->m, ir_prop(s->m, s->op, channel), IR_CHANNEL_HANDLE_type_F);
    if (type == want)
        return HILO_OK;
    return shape_fail(s, "_c5", "the channel's type must be %" PRId64 ", %s, but is %" PRId64, want,
                      want == DEVICE_TO_DEVICE ? "from device to device"
                      : want == DEVICE_TO_HOST ? "from device to host" : "from host to device",
                      type);
}

hilo_status shape_send(struct shape *s) {
    HILO_TRY(host_channel(s, IR_SEND_channel_handle, IR_SEND_is_host_transfer,
                          DEVICE_TO_HOST));
    HILO_TRY(process_pairs(s, IR_SEND_source_target_pairs));
    s->out[0] = ir_type_simple(s->m, IR_TYPE_TOKEN);
    return HILO_OK;
}

hilo_status shape_recv(struct shape *s) {
    HILO_TRY(host_channel(s, IR_RECV_channel_handle, IR_RECV_is_host_transfer,
                          HOST_TO_DEVICE));
    HILO_TRY(process_pairs(s, IR_RECV_source_target_pairs));
    return host_results(s, NULL, NULL, NULL);
}
