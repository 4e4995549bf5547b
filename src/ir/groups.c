/* Which processes take part in a collective together: replica groups, as constants or by axes of a mesh, and pairs. */
#include "ir/ir.h"

static const struct collective {
    enum ir_op_kind kind;
    enum ir_slot groups, channel, global;
    enum ir_groups_how with_channel;
} collectives[] = {
    {IR_ALL_GATHER, IR_ALL_GATHER_replica_groups, IR_ALL_GATHER_channel_handle, IR_ALL_GATHER_use_global_device_ids,
     IR_CROSS_BOTH},
    {IR_ALL_REDUCE, IR_ALL_REDUCE_replica_groups, IR_ALL_REDUCE_channel_handle, IR_ALL_REDUCE_use_global_device_ids,
     IR_CROSS_BOTH},
    {IR_REDUCE_SCATTER, IR_REDUCE_SCATTER_replica_groups, IR_REDUCE_SCATTER_channel_handle,
     IR_REDUCE_SCATTER_use_global_device_ids, IR_CROSS_BOTH},
    {IR_ALL_TO_ALL, IR_ALL_TO_ALL_replica_groups, IR_ALL_TO_ALL_channel_handle, IR_SLOT_NONE, IR_CROSS_PARTITION},
    {IR_COLLECTIVE_BROADCAST, IR_COLLECTIVE_BROADCAST_replica_groups, IR_COLLECTIVE_BROADCAST_channel_handle, IR_SLOT_NONE,
     IR_CROSS_PARTITION},
    {IR_COLLECTIVE_REDUCE, IR_COLLECTIVE_REDUCE_replica_groups, IR_COLLECTIVE_REDUCE_channel_handle,
     IR_COLLECTIVE_REDUCE_use_global_device_ids, IR_CROSS_PARTITION},
    {IR_CROSS_REPLICA_SUM, IR_CROSS_REPLICA_SUM_replica_groups, IR_SLOT_NONE, IR_SLOT_NONE, IR_CROSS_REPLICA},
    {IR_COLLECTIVE_PERMUTE, IR_COLLECTIVE_PERMUTE_source_target_pairs, IR_COLLECTIVE_PERMUTE_channel_handle, IR_SLOT_NONE,
     IR_CROSS_PARTITION},
    {IR_SEND, IR_SEND_source_target_pairs, IR_SEND_channel_handle, IR_SLOT_NONE, IR_CROSS_PARTITION},
    {IR_RECV, IR_RECV_source_target_pairs, IR_RECV_channel_handle, IR_SLOT_NONE, IR_CROSS_PARTITION},
};

static const struct collective *collective_of(const struct ir_module *m, ir_op op) {
    const struct collective *c = collectives;
    while (c->kind != ir_kind(m, op))
        c++;
    return c;
}

int64_t ir_groups_channel(const struct ir_module *m, ir_op op) {
    enum ir_slot slot = collective_of(m, op)->channel;
    return slot == IR_SLOT_NONE ? 0 : ir_field_i64(m, ir_prop(m, op, slot), IR_CHANNEL_HANDLE_handle_F);
}

/* An axis of a mesh, or a part of one, by which groups are formed: coordinate = device / stride % size. */
struct mesh_ref {
    int64_t stride, size;
};

/* The mesh itself, or that of the symbol it names. */
static ir_attr mesh_of(const struct ir_module *m, ir_attr a) {
    if (ir_attr_get(m, a)->kind != IR_ATTR_SYMBOL)
        return a;
    ir_op op = ir_module_symbol(m, ir_attr_as_str(m, a));
    if (IR_NONE(op))
        return (ir_attr){0};
    ir_attr attrs = ir_op_get(m, op)->attrs, mesh = ir_dict_find(m, attrs, STR("mesh"));
    return IR_NONE(mesh) ? ir_dict_find(m, attrs, STR("stablehlo.mesh")) : mesh;
}

static bool mesh_ref_of(const struct ir_module *m, const struct ir_attr_data *axes, ir_attr ref, struct mesh_ref *out) {
    struct str name = ir_attr_as_str(m, ir_field(m, ref, IR_AXIS_REF_name_F));
    const struct ir_attr_data *sub = ir_attr_get(m, ir_field(m, ref, IR_AXIS_REF_sub_axis_info_F));
    int64_t stride = 1, size = 0, before = 1, part;
    for (uint32_t i = axes->n; i-- > 0;) {
        size = ir_field_i64(m, axes->items[i], IR_MESH_AXIS_size_F);
        if (str_eq(name, ir_attr_as_str(m, ir_field(m, axes->items[i], IR_MESH_AXIS_name_F))))
            break;
        stride *= size;
        size = 0;
    }
    part = size;
    if (sub->kind == IR_ATTR_ARRAY && sub->n == 2) {
        before = ir_attr_get(m, sub->items[0])->i;
        part = ir_attr_get(m, sub->items[1])->i;
    }
    if (size <= 0 || before <= 0 || part <= 0 || before > size || part > size / before || size % (before * part) != 0)
        return false;
    *out = (struct mesh_ref){.stride = stride * (size / (before * part)), .size = part};
    return true;
}

/* Devices that differ only in the axes referred to form a group, in the order of these axes' coordinates. `row_of` is scratch:
   by the device of a group that has all these coordinates 0. */
static bool mesh_fill(struct ir_groups *r, const struct mesh_ref *refs, uint32_t nrefs, const int64_t *devices, int64_t total,
                      int64_t *row_of) {
    int64_t next = 0;
    for (int64_t i = 0; i < total; i++) {
        int64_t at = 0, rest = i;
        for (uint32_t k = 0; k < nrefs; k++) {
            int64_t coordinate = i / refs[k].stride % refs[k].size;
            at = at * refs[k].size + coordinate;
            rest -= coordinate * refs[k].stride;
        }
        if (at == 0)
            row_of[i] = next++;
        if (rest < 0 || row_of[rest] < 0 || (size_t)row_of[rest] >= r->n) /* axes that overlap */
            return false;
        r->own[(size_t)row_of[rest] * r->cols + (size_t)at] = devices ? devices[i] : i;
    }
    return true;
}

enum { MESH_MOST = 1 << 20 }; /* devices */

/* Number of devices of a mesh; 0 when it makes no sense. */
static int64_t mesh_total(const struct ir_module *m, const struct ir_attr_data *axes) {
    int64_t total = axes->kind == IR_ATTR_ARRAY ? 1 : 0;
    for (uint32_t i = 0; i < axes->n && total; i++) {
        int64_t size = ir_field_i64(m, axes->items[i], IR_MESH_AXIS_size_F);
        total = size > 0 && size <= MESH_MOST / total ? total * size : 0;
    }
    return total;
}

static hilo_status mesh_rows(const struct ir_module *m, ir_op op, ir_attr a, const hilo_allocator *al, struct diag_list *d,
                             struct ir_groups *r) {
    ir_attr mesh = mesh_of(m, ir_field(m, a, IR_REPLICA_GROUP_MESH_AXES_mesh_F));
    const struct ir_attr_data *axes = ir_attr_get(m, ir_field(m, mesh, IR_MESH_axes_F));
    const struct ir_attr_data *used = ir_attr_get(m, ir_field(m, a, IR_REPLICA_GROUP_MESH_AXES_axes_F));
    int64_t total = mesh_total(m, axes), cols = 1;
    size_t ndevices;
    const int64_t *devices = ir_field_dims(m, mesh, IR_MESH_device_ids_F, &ndevices);
    struct mesh_ref refs[IR_MAX_RANK];
    bool sound = total > 0 && (ndevices == 0 || ndevices == (size_t)total) && used->n <= IR_MAX_RANK;
    for (uint32_t i = 0; i < used->n && sound; i++) {
        sound = mesh_ref_of(m, axes, used->items[i], &refs[i]) && refs[i].size <= total / cols;
        cols *= sound ? refs[i].size : 1;
    }
    if (sound) {
        *r = (struct ir_groups){.n = (size_t)(total / cols), .cols = (size_t)cols, .bytes = 2 * (size_t)total * sizeof *r->own};
        r->ids = r->own = mem_alloc(al, r->bytes);
        if (!r->own)
            return HILO_RESOURCE_EXHAUSTED;
        memset(r->own, 0xff, r->bytes); /* -1 */
        sound = mesh_fill(r, refs, used->n, ndevices ? devices : NULL, total, r->own + total);
    }
    return sound ? HILO_OK
                 : ir_op_error(m, d, op, HILO_INVALID_ARGUMENT, NULL, "has replica groups by axes that its mesh does not have");
}

hilo_status ir_groups_read(const struct ir_module *m, ir_op op, const hilo_allocator *al, struct diag_list *d,
                           struct ir_groups *r) {
    const struct collective *c = collective_of(m, op);
    ir_attr a = ir_prop(m, op, c->groups);
    const struct ir_attr_data *x = ir_attr_get(m, a);
    const struct ir_type_data *t = ir_type_get(m, x->type);
    size_t n = 0;
    *r = (struct ir_groups){0};
    if (x->kind == IR_ATTR_STRUCT) {
        HILO_TRY(mesh_rows(m, op, a, al, d, r));
    } else {
        r->ids = ir_attr_as_i64s(m, a, &n);
        if (!r->ids || t->rank != 2)
            return ir_op_error(m, d, op, HILO_INVALID_ARGUMENT, NULL, "needs groups as a constant of i64 of rank 2");
        r->cols = (size_t)t->dims[1];
        r->n = n ? (size_t)t->dims[0] : 0;
    }
    bool global = c->global != IR_SLOT_NONE && !IR_NONE(ir_prop(m, op, c->global));
    r->channel = ir_groups_channel(m, op);
    r->how = global ? IR_FLATTENED_IDS : r->channel > 0 ? c->with_channel : IR_CROSS_REPLICA;
    return HILO_OK;
}

void ir_groups_free(const hilo_allocator *al, struct ir_groups *r) {
    if (r->own)
        mem_free(al, r->own, r->bytes);
    r->own = NULL;
}

/* ---- the group of a process ------------------------------------------------------------------ */

/* What the ids of a row stand for: how many there are, and which this process is. */
static uint32_t id_of(const struct ir_groups *r, uint32_t index, uint32_t replicas, uint32_t partitions, uint32_t *all) {
    *all = r->how == IR_CROSS_PARTITION ? partitions : r->how == IR_FLATTENED_IDS ? replicas * partitions : replicas;
    return r->how == IR_CROSS_PARTITION ? index % partitions : r->how == IR_FLATTENED_IDS ? index : index / partitions;
}

size_t ir_groups_most(const struct ir_groups *r, uint32_t replicas, uint32_t partitions) {
    uint32_t all;
    (void)id_of(r, 0, replicas, partitions, &all);
    return (r->cols > all ? r->cols : all) * (r->how == IR_CROSS_BOTH ? partitions : 1);
}

/* The row that has `id`; NULL when none has. */
static const int64_t *row_of(const struct ir_groups *r, int64_t id) {
    for (size_t i = 0; i < r->n * r->cols; i++)
        if (r->ids[i] == id)
            return r->ids + i / r->cols * r->cols;
    return NULL;
}

/* Across both, partitions are outermost: (0, 0), (1, 0), …, (0, 1), (1, 1) … */
static void fill(const struct ir_groups *r, uint32_t index, uint32_t partitions, const int64_t *row, size_t cols,
                 uint32_t *members, uint32_t *n, uint32_t *rank) {
    uint32_t outer = r->how == IR_CROSS_BOTH ? partitions : 1;
    for (uint32_t p = 0; p < outer; p++)
        for (size_t i = 0; i < cols; i++) {
            uint32_t id = row ? (uint32_t)row[i] : (uint32_t)i;
            if (row && row[i] < 0)
                continue;
            uint32_t member = r->how == IR_CROSS_PARTITION ? index / partitions * partitions + id
                              : r->how == IR_CROSS_REPLICA ? id * partitions + index % partitions
                              : r->how == IR_CROSS_BOTH    ? id * partitions + p
                                                           : id;
            if (member == index)
                *rank = *n;
            members[(*n)++] = member;
        }
}

const char *ir_groups_find(const struct ir_groups *r, uint32_t index, uint32_t replicas, uint32_t partitions, uint32_t *members,
                           uint32_t *n, uint32_t *rank) {
    uint32_t all, id = id_of(r, index, replicas, partitions, &all);
    bool everybody = r->n * r->cols == 0; /* no groups: one of all processes */
    const int64_t *row = everybody ? NULL : row_of(r, id);
    *n = *rank = 0;
    if (!row && !everybody)
        return NULL;
    size_t cols = everybody ? all : r->cols;
    for (size_t i = 0; row && i < cols; i++) {
        if (row[i] < -1 || row[i] >= all)
            return "has a process in its groups that is not there";
        for (size_t k = 0; k < i; k++)
            if (row[i] >= 0 && row[i] == row[k])
                return "has a process twice in a group";
    }
    fill(r, index, partitions, row, cols, members, n, rank);
    return NULL;
}

const char *ir_groups_partner(const struct ir_groups *r, uint32_t index, uint32_t replicas, uint32_t partitions, int side,
                              uint32_t *out) {
    uint32_t all, id = id_of(r, index, replicas, partitions, &all);
    bool across = r->how == IR_CROSS_PARTITION;
    *out = UINT32_MAX;
    for (size_t i = 0; i < r->n && r->cols == 2; i++) {
        int64_t other = r->ids[2 * i + (side ? 0 : 1)];
        if (r->ids[2 * i + (size_t)side] != (int64_t)id)
            continue;
        if (other < 0 || other >= (int64_t)all)
            return "has a process in its pairs that is not there";
        *out = across ? index / partitions * partitions + (uint32_t)other : (uint32_t)other * partitions + index % partitions;
        break;
    }
    return NULL;
}
