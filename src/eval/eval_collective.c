/* Collectives: the process groups of an op, and what its members make of each other's operands. Every member computes its own
 * results, in the order of the group, so that they are the same in every run. */
#include "eval/body.h"
#include "eval/eval_elt.h"
#include "eval/eval_process.h"

#include <inttypes.h>

/* ---- groups ---------------------------------------------------------------------------------------------------------- */

/* The group that this process is in; n = 0 when it is in none. */
struct group {
    uint32_t *members; /* process indices */
    uint32_t n, rank;  /* rank: position of this process */
    size_t bytes;
    int64_t channel;
};

static hilo_status group_of(struct eval *cx, ir_op op, struct group *g) {
    *g = (struct group){0};
    if (!eval_process_of(cx))
        return HILO_RESOURCE_EXHAUSTED;
    const struct eval_process *self = cx->process;
    struct ir_groups r;
    hilo_status status = ir_groups_read(cx->m, op, &cx->al, cx->d, &r);
    if (status == HILO_OK) {
        g->channel = r.channel;
        g->bytes = ir_groups_most(&r, self->replicas, self->partitions) * sizeof *g->members;
        g->members = mem_alloc(&cx->al, g->bytes);
        status = g->members ? HILO_OK : HILO_RESOURCE_EXHAUSTED;
    }
    const char *why = NULL;
    if (status == HILO_OK)
        why = ir_groups_find(&r, self->index, self->replicas, self->partitions, g->members, &g->n, &g->rank);
    ir_groups_free(&cx->al, &r);
    return why ? EVAL_FAIL(cx, op, HILO_INVALID_ARGUMENT, "%s", why) : status;
}

/* ---- joining --------------------------------------------------------------------------------------------------------- */

struct joint {
    struct group group;
    struct rendezvous *rendezvous;
};

static void joint_leave(struct eval *cx, struct joint *j) {
    if (j->rendezvous)
        rendezvous_leave(cx, j->rendezvous);
    mem_free(&cx->al, j->group.members, j->group.bytes);
}

static struct value *joint_value(const struct joint *j, uint32_t member, uint32_t i) {
    return rendezvous_value(j->rendezvous, member, i);
}

/* Operand i has one type and shape in all processes, except for dimension `free_dim` (UINT32_MAX = none). */
static hilo_status joint_agrees(struct eval *cx, ir_op op, const struct joint *j, uint32_t i, uint32_t free_dim) {
    const struct value *a = joint_value(j, j->group.rank, i);
    bool same = a->kind == EVAL_TENSOR;
    for (uint32_t k = 0; k < j->group.n && same; k++) {
        const struct value *b = joint_value(j, k, i);
        same = b->kind == EVAL_TENSOR && a->dtype == b->dtype && a->rank == b->rank;
        for (uint32_t d = 0; same && d < a->rank; d++)
            same = d == free_dim || a->dims[d] == b->dims[d];
    }
    return same ? HILO_OK
                : EVAL_FAIL(cx, op, HILO_INVALID_ARGUMENT, "has another type of operand %" PRIu32 " in another process", i);
}

/* Joins the rendezvous of the replica group with the first n operands. In no group: j->group.n = 0 and no rendezvous, or an
   error if it `must` be in one. Call joint_leave() in any case. */
static hilo_status joint_join(struct eval *cx, ir_op op, struct value *const *in, uint32_t n, bool must, uint32_t free_dim,
                              struct joint *j) {
    j->rendezvous = NULL;
    HILO_TRY(group_of(cx, op, &j->group));
    if (j->group.n == 0)
        return must ? EVAL_FAIL(cx, op, HILO_INVALID_ARGUMENT, "has no group for process (%" PRIu32 ", %" PRIu32 ")",
                                cx->process->index / cx->process->partitions, cx->process->index % cx->process->partitions)
                    : HILO_OK;
    HILO_TRY(rendezvous_join(cx, op, j->group.channel, j->group.members, j->group.n, in, n, &j->rendezvous));
    for (uint32_t i = 0; i < n; i++)
        HILO_TRY(joint_agrees(cx, op, j, i, free_dim));
    return HILO_OK;
}

/* Zero of the result's type; of a quantised one, what zero quantises to. */
static hilo_status zeros(struct eval *cx, ir_op op, uint32_t i, const struct value *like, struct value **out) {
    const struct ir_quant *q = ir_val_type(cx->m, ir_result(cx->m, op, i))->quant;
    struct value *v;
    enum ir_dtype t = q ? q->expressed : eval_result_dtype(cx, op, i);
    HILO_TRY(value_tensor(&cx->al, t, like->dims, like->rank, &v));
    memset(v->data, 0, v->bytes);
    if (!q) {
        *out = v;
        return HILO_OK;
    }
    hilo_status status = eval_quantize(&cx->al, q, v, out);
    value_unref(v);
    return status;
}

/* ---- reductions ------------------------------------------------------------------------------------------------------ */

/* A binary function over elements: a region, or the addition of cross-replica-sum. */
struct combine {
    struct body body;
    struct elt_kernel add;
    bool has_body;
};

static hilo_status combine_open(struct eval *cx, ir_op op, struct combine *c) {
    *c = (struct combine){.has_body = ir_op_get(cx->m, op)->nregions == 1};
    if (c->has_body) {
        HILO_TRY(body_open(cx, op, ir_op_region(cx->m, op, 0), &c->body));
        if (c->body.nargs == 2 && c->body.nresults == 1 && c->body.arg[0] == c->body.result[0] &&
            c->body.arg[1] == c->body.result[0])
            return HILO_OK;
        body_close(&c->body);
        return EVAL_FAIL(cx, op, HILO_INVALID_ARGUMENT, "needs a computation of two arguments and a result of one type");
    }
    enum ir_dtype t = eval_result_dtype(cx, op, 0);
    enum ir_dtype_class cls = ir_dtype_get(t)->cls;
    c->add = (struct elt_kernel){.op = IR_ADD, .in = t, .out = t, .nin = 2};
    bool found = cls == IR_FLOAT           ? elt_float_resolve(&c->add)
                 : cls == IR_COMPLEX_CLASS ? elt_complex_resolve(&c->add)
                                           : elt_int_resolve(&c->add);
    return found ? HILO_OK : EVAL_FAIL(cx, op, HILO_UNIMPLEMENTED, "cannot add elements of its type");
}

static void combine_close(struct combine *c) {
    if (c->has_body)
        body_close(&c->body);
}

/* acc = f(acc, v), element by element. */
static hilo_status combine_run(struct combine *c, struct value *acc, const struct value *v) {
    const void *args[] = {acc->data, v->data};
    void *results[] = {acc->data};
    if (c->has_body)
        return body_run(&c->body, args, results, acc->count);
    c->add.run(&c->add, args, acc->data, acc->count);
    return HILO_OK;
}

/* A copy of v in elements of type t. */
static hilo_status copy_as(struct eval *cx, struct value *v, enum ir_dtype t, struct value **out) {
    if (v->dtype != t)
        return body_convert(cx, v, t, out);
    HILO_TRY(value_tensor(&cx->al, t, v->dims, v->rank, out));
    memcpy((*out)->data, v->data, v->bytes);
    return HILO_OK;
}

/* The n values, combined from the left. */
static hilo_status reduce_values(struct eval *cx, struct combine *c, enum ir_dtype t, struct value *const *v, uint32_t n,
                                 struct value **out) {
    struct value *acc;
    HILO_TRY(copy_as(cx, v[0], t, &acc));
    hilo_status status = HILO_OK;
    for (uint32_t i = 1; i < n && status == HILO_OK; i++) {
        struct value *next;
        status = body_convert(cx, v[i], t, &next);
        if (status == HILO_OK) {
            status = combine_run(c, acc, next);
            value_unref(next);
        }
    }
    if (status != HILO_OK)
        value_unref(acc);
    else
        *out = acc;
    return status;
}

/* Operand i of all members, combined; of each the part of this process when `dim` is one (UINT32_MAX = all). */
static hilo_status reduce_joint(struct eval *cx, ir_op op, const struct joint *j, uint32_t i, uint32_t dim,
                                struct value **out) {
    uint32_t n = j->group.n;
    size_t bytes = n * sizeof(struct value *);
    struct value **v = mem_alloc(&cx->al, bytes);
    if (!v)
        return HILO_RESOURCE_EXHAUSTED;
    memset(v, 0, bytes);
    hilo_status status = HILO_OK;
    for (uint32_t k = 0; k < n && status == HILO_OK; k++) {
        struct value *operand = joint_value(j, k, i);
        if (dim == UINT32_MAX) {
            v[k] = value_ref(operand);
            continue;
        }
        int64_t dims[IR_MAX_RANK];
        memcpy(dims, operand->dims, operand->rank * sizeof *dims);
        dims[dim] /= n;
        status = value_tensor(&cx->al, operand->dtype, dims, operand->rank, &v[k]);
        if (status == HILO_OK)
            eval_copy_slab(operand, j->group.rank * dims[dim], v[k], 0, dims[dim], dim);
    }
    struct combine c;
    if (status == HILO_OK)
        status = combine_open(cx, op, &c);
    if (status == HILO_OK) {
        status = reduce_values(cx, &c, eval_result_dtype(cx, op, i), v, n, out);
        combine_close(&c);
    }
    eval_drop(v, n);
    mem_free(&cx->al, v, bytes);
    return status;
}

static void not_owned(void *user, void *data) {
    (void)user;
    (void)data;
}

/* The part of this process in operand i of all members, combined, into the same part of `common`. */
static hilo_status reduce_part(struct eval *cx, ir_op op, const struct joint *j, uint32_t i, struct value *common) {
    uint32_t n = j->group.n;
    size_t part = (common->count + n - 1) / n, begin = part * j->group.rank;
    if (begin >= common->count)
        return HILO_OK;
    int64_t size = (int64_t)(common->count - begin < part ? common->count - begin : part);
    size_t bytes = n * sizeof(struct value *), to = common->bytes / common->count;
    struct value **v = mem_alloc(&cx->al, bytes), *sum = NULL;
    if (!v)
        return HILO_RESOURCE_EXHAUSTED;
    memset(v, 0, bytes);
    hilo_status status = HILO_OK;
    for (uint32_t k = 0; k < n && status == HILO_OK; k++) {
        struct value *operand = joint_value(j, k, i);
        char *data = (char *)operand->data + operand->bytes / operand->count * begin;
        status = value_borrow(&cx->al, operand->dtype, &size, 1, data, not_owned, NULL, &v[k]);
    }
    struct combine c;
    if (status == HILO_OK)
        status = combine_open(cx, op, &c);
    if (status == HILO_OK) {
        status = reduce_values(cx, &c, common->dtype, v, n, &sum);
        combine_close(&c);
    }
    if (status == HILO_OK)
        memcpy((char *)common->data + begin * to, sum->data, (size_t)size * to);
    value_unref(sum);
    eval_drop(v, n);
    mem_free(&cx->al, v, bytes);
    return status;
}

/* What is large is combined in parts, one by each member, and is one value of all. */
static hilo_status all_reduce(struct eval *cx, ir_op op, const struct joint *j, uint32_t n, struct value **out) {
    enum { SHARED = 4096 }; /* elements that are worth to wait for once more */
    bool any = false;
    hilo_status status = HILO_OK;
    for (uint32_t i = 0; i < n && status == HILO_OK; i++) {
        if (joint_value(j, 0, i)->count < SHARED) {
            status = reduce_joint(cx, op, j, i, UINT32_MAX, &out[i]);
            continue;
        }
        struct value *common;
        status = rendezvous_common(cx, j->rendezvous, i, eval_result_dtype(cx, op, i), &common);
        if (status == HILO_OK)
            status = reduce_part(cx, op, j, i, common);
        if (status == HILO_OK)
            out[i] = value_ref(common);
        any = true;
    }
    return status == HILO_OK && any ? rendezvous_finish(cx, op, j->rendezvous) : status;
}

hilo_status eval_all_reduce(struct eval *cx, ir_op op, struct value *const *in, struct value **out) {
    uint32_t n = ir_op_get(cx->m, op)->noperands;
    struct joint j;
    hilo_status status = joint_join(cx, op, in, n, true, UINT32_MAX, &j);
    if (status == HILO_OK)
        status = all_reduce(cx, op, &j, n, out);
    joint_leave(cx, &j);
    return status;
}

hilo_status eval_cross_replica_sum(struct eval *cx, ir_op op, struct value *const *in, struct value **out) {
    return eval_all_reduce(cx, op, in, out);
}

hilo_status eval_reduce_scatter(struct eval *cx, ir_op op, struct value *const *in, struct value **out) {
    int64_t dim = ir_prop_i64(cx->m, op, IR_REDUCE_SCATTER_scatter_dimension);
    if (dim < 0 || dim >= (int64_t)in[0]->rank)
        return EVAL_FAIL(cx, op, HILO_INVALID_ARGUMENT, "scatters along a dimension that is not there");
    struct joint j;
    hilo_status status = joint_join(cx, op, in, 1, true, UINT32_MAX, &j);
    if (status == HILO_OK && in[0]->dims[dim] % j.group.n != 0)
        status = EVAL_FAIL(cx, op, HILO_INVALID_ARGUMENT, "cannot split %" PRId64 " into %" PRIu32 " parts", in[0]->dims[dim],
                           j.group.n);
    if (status == HILO_OK)
        status = reduce_joint(cx, op, &j, 0, (uint32_t)dim, out);
    joint_leave(cx, &j);
    return status;
}

/* The root of result i: the first of the group, or the one that the last operand names. */
static hilo_status root_of(struct eval *cx, ir_op op, const struct joint *j, const struct value *roots, uint32_t i,
                           uint32_t *out) {
    *out = 0;
    if (!roots)
        return HILO_OK;
    int64_t root = i < roots->count ? value_i64(roots, i) : -1;
    if (root < 0 || root >= j->group.n)
        return EVAL_FAIL(cx, op, HILO_OUT_OF_RANGE, "names process %" PRId64 " of a group of %" PRIu32 " as root", root,
                         j->group.n);
    *out = (uint32_t)root;
    return HILO_OK;
}

hilo_status eval_collective_reduce(struct eval *cx, ir_op op, struct value *const *in, struct value **out) {
    const struct ir_op_data *o = ir_op_get(cx->m, op);
    bool dynamic = !IR_NONE(ir_prop(cx->m, op, IR_COLLECTIVE_REDUCE_has_dynamic_root));
    uint32_t n = o->noperands - (dynamic ? 1 : 0), root = 0;
    struct joint j;
    hilo_status status = joint_join(cx, op, in, n, false, UINT32_MAX, &j);
    for (uint32_t i = 0; i < n && status == HILO_OK; i++) {
        if (j.group.n)
            status = root_of(cx, op, &j, dynamic ? in[n] : NULL, i, &root);
        if (status == HILO_OK)
            status = j.group.n && root == j.group.rank ? reduce_joint(cx, op, &j, i, UINT32_MAX, &out[i])
                                                       : zeros(cx, op, i, in[i], &out[i]);
    }
    joint_leave(cx, &j);
    return status;
}

/* ---- movement -------------------------------------------------------------------------------------------------------- */

static hilo_status gather_one(struct eval *cx, ir_op op, const struct joint *j, uint32_t i, uint32_t dim, struct value **out) {
    const struct value *mine = joint_value(j, j->group.rank, i);
    int64_t dims[IR_MAX_RANK], at = 0;
    memcpy(dims, mine->dims, mine->rank * sizeof *dims);
    dims[dim] = 0;
    for (uint32_t k = 0; k < j->group.n; k++)
        if (__builtin_add_overflow(dims[dim], joint_value(j, k, i)->dims[dim], &dims[dim]))
            return HILO_RESOURCE_EXHAUSTED;
    HILO_TRY(eval_out(cx, op, i, dims, mine->rank, out));
    for (uint32_t k = 0; k < j->group.n; k++) {
        const struct value *v = joint_value(j, k, i);
        eval_copy_slab(v, 0, *out, at, v->dims[dim], dim);
        at += v->dims[dim];
    }
    return HILO_OK;
}

hilo_status eval_all_gather(struct eval *cx, ir_op op, struct value *const *in, struct value **out) {
    uint32_t n = ir_op_get(cx->m, op)->noperands;
    int64_t dim = ir_prop_i64(cx->m, op, IR_ALL_GATHER_all_gather_dim);
    for (uint32_t i = 0; i < n; i++)
        if (dim < 0 || dim >= (int64_t)in[i]->rank)
            return EVAL_FAIL(cx, op, HILO_INVALID_ARGUMENT, "gathers along a dimension that is not there");
    struct joint j;
    hilo_status status = joint_join(cx, op, in, n, true, (uint32_t)dim, &j);
    for (uint32_t i = 0; i < n && status == HILO_OK; i++)
        status = gather_one(cx, op, &j, i, (uint32_t)dim, &out[i]);
    joint_leave(cx, &j);
    return status;
}

/* Part `rank` of each member's operand along `split`, concatenated along `concat`. */
static hilo_status exchange_one(struct eval *cx, ir_op op, const struct joint *j, uint32_t i, uint32_t split, uint32_t concat,
                                struct value **out) {
    const struct value *mine = joint_value(j, j->group.rank, i);
    uint32_t n = j->group.n;
    int64_t part[IR_MAX_RANK], joined[IR_MAX_RANK];
    memcpy(part, mine->dims, mine->rank * sizeof *part);
    if (part[split] % n != 0)
        return EVAL_FAIL(cx, op, HILO_INVALID_ARGUMENT, "cannot split %" PRId64 " into %" PRIu32 " parts", part[split], n);
    part[split] /= n;
    memcpy(joined, part, mine->rank * sizeof *joined);
    if (__builtin_mul_overflow(part[concat], (int64_t)n, &joined[concat]))
        return HILO_RESOURCE_EXHAUSTED;
    struct value *piece;
    HILO_TRY(value_tensor(&cx->al, mine->dtype, part, mine->rank, &piece));
    hilo_status status = eval_out(cx, op, i, joined, mine->rank, out);
    for (uint32_t k = 0; k < n && status == HILO_OK; k++) {
        eval_copy_slab(joint_value(j, k, i), j->group.rank * part[split], piece, 0, part[split], split);
        eval_copy_slab(piece, 0, *out, k * part[concat], part[concat], concat);
    }
    value_unref(piece);
    return status;
}

hilo_status eval_all_to_all(struct eval *cx, ir_op op, struct value *const *in, struct value **out) {
    uint32_t n = ir_op_get(cx->m, op)->noperands;
    int64_t split = ir_prop_i64(cx->m, op, IR_ALL_TO_ALL_split_dimension);
    int64_t concat = ir_prop_i64(cx->m, op, IR_ALL_TO_ALL_concat_dimension);
    int64_t count = ir_prop_i64(cx->m, op, IR_ALL_TO_ALL_split_count);
    for (uint32_t i = 0; i < n; i++)
        if (split < 0 || split >= (int64_t)in[i]->rank || concat < 0 || concat >= (int64_t)in[i]->rank)
            return EVAL_FAIL(cx, op, HILO_INVALID_ARGUMENT, "splits or concatenates a dimension that is not there");
    struct joint j;
    hilo_status status = joint_join(cx, op, in, n, true, UINT32_MAX, &j);
    if (status == HILO_OK && count != j.group.n)
        status = EVAL_FAIL(cx, op, HILO_INVALID_ARGUMENT, "splits into %" PRId64 " parts for a group of %" PRIu32, count,
                           j.group.n);
    for (uint32_t i = 0; i < n && status == HILO_OK; i++)
        status = exchange_one(cx, op, &j, i, (uint32_t)split, (uint32_t)concat, &out[i]);
    joint_leave(cx, &j);
    return status;
}

hilo_status eval_collective_broadcast(struct eval *cx, ir_op op, struct value *const *in, struct value **out) {
    const struct ir_op_data *o = ir_op_get(cx->m, op);
    bool dynamic = !IR_NONE(ir_prop(cx->m, op, IR_COLLECTIVE_BROADCAST_has_dynamic_root));
    uint32_t n = o->noperands - (dynamic ? 1 : 0), root;
    struct joint j;
    hilo_status status = joint_join(cx, op, in, n, false, UINT32_MAX, &j);
    for (uint32_t i = 0; i < n && status == HILO_OK; i++) {
        if (j.group.n == 0) {
            status = zeros(cx, op, i, in[i], &out[i]);
            continue;
        }
        status = root_of(cx, op, &j, dynamic ? in[n] : NULL, i, &root);
        if (status == HILO_OK)
            out[i] = value_ref(joint_value(&j, root, i));
    }
    joint_leave(cx, &j);
    return status;
}

/* ---- one to one ------------------------------------------------------------------------------------------------------ */

/* The process that this one sends to (side 0 is its own) or receives from (side 1 is); MESSAGE_ANY when there is none. */
static hilo_status partner(struct eval *cx, ir_op op, int side, uint32_t *out) {
    const struct eval_process *self = cx->process;
    struct ir_groups r;
    hilo_status status = ir_groups_read(cx->m, op, &cx->al, cx->d, &r);
    const char *why = NULL;
    if (status == HILO_OK)
        why = ir_groups_partner(&r, self->index, self->replicas, self->partitions, side, out);
    ir_groups_free(&cx->al, &r);
    return why ? EVAL_FAIL(cx, op, HILO_INVALID_ARGUMENT, "%s", why) : status;
}

hilo_status eval_collective_permute(struct eval *cx, ir_op op, struct value *const *in, struct value **out) {
    if (!eval_process_of(cx))
        return HILO_RESOURCE_EXHAUSTED;
    int64_t channel = ir_groups_channel(cx->m, op);
    uint32_t target, source;
    HILO_TRY(partner(cx, op, 0, &target));
    HILO_TRY(partner(cx, op, 1, &source));
    struct message_key key = {.kind = IR_COLLECTIVE_PERMUTE, .channel = channel, .source = cx->process->index,
                              .target = target};
    if (target != MESSAGE_ANY)
        HILO_TRY(message_send(cx, &key, in, 1));
    if (source == MESSAGE_ANY)
        return zeros(cx, op, 0, in[0], out);
    key.source = source;
    key.target = cx->process->index;
    return message_fetch(cx, op, &key, out, 1);
}

/* The ends of a channel: both processes where pairs name them, else any process that uses the channel. */
static hilo_status channel_key(struct eval *cx, ir_op op, ir_attr pairs, int64_t channel, bool host, int side,
                               struct message_key *key, bool *connected) {
    *key = (struct message_key){.kind = IR_SEND, .channel = channel, .source = MESSAGE_ANY, .target = MESSAGE_ANY};
    *connected = true;
    if (host || IR_NONE(pairs))
        return HILO_OK;
    uint32_t *mine = side ? &key->target : &key->source, *other = side ? &key->source : &key->target;
    *mine = cx->process->index;
    HILO_TRY(partner(cx, op, side, other));
    *connected = *other != MESSAGE_ANY;
    return HILO_OK;
}

hilo_status eval_send(struct eval *cx, ir_op op, struct value *const *in, struct value **out) {
    uint32_t n = ir_op_get(cx->m, op)->noperands - 1;
    struct message_key key;
    bool connected;
    if (!eval_process_of(cx))
        return HILO_RESOURCE_EXHAUSTED;
    HILO_TRY(channel_key(cx, op, ir_prop(cx->m, op, IR_SEND_source_target_pairs), ir_groups_channel(cx->m, op),
                         ir_prop_i64(cx->m, op, IR_SEND_is_host_transfer) != 0, 0, &key, &connected));
    if (connected)
        HILO_TRY(message_send(cx, &key, in, n));
    out[0] = value_ref(in[n]);
    return HILO_OK;
}

/* A process without a sender gets zeros, as from collective_permute. */
static hilo_status recv_nothing(struct eval *cx, ir_op op, struct value **out, uint32_t n) {
    for (uint32_t i = 0; i < n; i++) {
        const struct ir_type_data *t = ir_val_type(cx->m, ir_result(cx->m, op, i));
        struct value like = {.dims = (int64_t *)(uintptr_t)t->dims, .rank = t->rank};
        hilo_status status = t->kind == IR_TYPE_TENSOR ? zeros(cx, op, i, &like, &out[i]) : value_token(&cx->al, &out[i]);
        if (status != HILO_OK) {
            eval_drop(out, i);
            return status;
        }
    }
    return HILO_OK;
}

hilo_status eval_recv(struct eval *cx, ir_op op, struct value *const *in, struct value **out) {
    uint32_t n = ir_op_get(cx->m, op)->nresults - 1;
    struct message_key key;
    bool connected;
    if (!eval_process_of(cx))
        return HILO_RESOURCE_EXHAUSTED;
    HILO_TRY(channel_key(cx, op, ir_prop(cx->m, op, IR_RECV_source_target_pairs), ir_groups_channel(cx->m, op),
                         ir_prop_i64(cx->m, op, IR_RECV_is_host_transfer) != 0, 1, &key, &connected));
    HILO_TRY(connected ? message_fetch(cx, op, &key, out, n) : recv_nothing(cx, op, out, n));
    out[n] = value_ref(in[0]);
    return HILO_OK;
}

/* ---- asynchronous ops ------------------------------------------------------------------------------------------------ */

/* Runs at once: when an op is finished is up to the implementation. */
hilo_status eval_async_start(struct eval *cx, ir_op op, struct value *const *in, struct value **out) {
    const struct ir_op_data *o = ir_op_get(cx->m, op);
    ir_region r = ir_op_region(cx->m, op, 0);
    uint32_t n = ir_val_type(cx->m, ir_result(cx->m, op, 0))->ntypes;
    uint32_t nargs = ir_block_get(cx->m, ir_region_get(cx->m, r)->first)->nargs;
    if (nargs && nargs != o->noperands)
        return EVAL_FAIL(cx, op, HILO_INVALID_ARGUMENT, "has a body of other arguments than its operands");
    size_t bytes = n * sizeof(struct value *);
    struct value **items = mem_alloc(&cx->al, bytes);
    if (!items)
        return HILO_RESOURCE_EXHAUSTED;
    memset(items, 0, bytes);
    hilo_status status = eval_region(cx, r, in, nargs, items, n);
    if (status == HILO_OK)
        status = value_group(&cx->al, EVAL_FUTURE, items, n, out);
    eval_drop(items, n);
    mem_free(&cx->al, items, bytes);
    return status;
}

hilo_status eval_async_done(struct eval *cx, ir_op op, struct value *const *in, struct value **out) {
    const struct ir_op_data *o = ir_op_get(cx->m, op);
    if (in[0]->nitems != o->nresults)
        return EVAL_FAIL(cx, op, HILO_INVALID_ARGUMENT, "has another number of results than its future");
    for (uint32_t i = 0; i < o->nresults; i++)
        out[i] = value_ref(in[0]->items[i]);
    return HILO_OK;
}
