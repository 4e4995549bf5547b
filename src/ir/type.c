/* Types: interned, so that equal types have equal ids. See ir.h. */
#include "ir/ir.h"
#include "ir/store.h"

const struct ir_type_data *ir_type_get(const struct ir_module *m, ir_type t) {
    return m->t->types.v[t.i];
}

static bool i64s_equal(const int64_t *a, const int64_t *b, size_t n) {
    return n == 0 || (a && b ? memcmp(a, b, n * sizeof *a) == 0 : a == b);
}

static bool quant_equal(const struct ir_quant *a, const struct ir_quant *b) {
    return a->kind == b->kind && a->storage == b->storage && a->expressed == b->expressed &&
           a->storage_min == b->storage_min && a->storage_max == b->storage_max && a->has_range == b->has_range &&
           a->signed_storage == b->signed_storage &&
           a->naxes == b->naxes && a->nscales == b->nscales && a->scale_rank == b->scale_rank &&
           i64s_equal(a->axes, b->axes, a->naxes) &&
           i64s_equal(a->block_sizes, b->block_sizes, a->block_sizes ? a->naxes : 0) &&
           i64s_equal(a->scale_dims, b->scale_dims, a->scale_rank) &&
           memcmp(a->scales, b->scales, a->nscales * sizeof *a->scales) == 0 &&
           i64s_equal(a->zero_points, b->zero_points, a->nscales);
}

static uint64_t type_hash(const struct ir_type_data *t) {
    uint64_t h = hash_mix((uint64_t)t->kind, (uint64_t)t->dtype);
    h = hash_mix(h, t->elem.i);
    h = hash_mix(h, t->encoding.i);
    h = hash_mix(h, t->text.i);
    h = hash_mix(h, t->ninputs);
    h = str_hash(t->dims, t->rank * sizeof *t->dims, h);
    h = str_hash(t->types, t->ntypes * sizeof *t->types, h);
    if (t->kind == IR_TYPE_QUANT) {
        h = str_hash(t->quant->scales, t->quant->nscales * sizeof *t->quant->scales, h);
        h = str_hash(t->quant->zero_points, t->quant->nscales * sizeof *t->quant->zero_points, h);
    }
    return h;
}

static bool type_equal(const void *cx, uint32_t id, const void *key) {
    const struct ir_type_data *a = ((const struct ir_tables *)cx)->types.v[id], *b = key;
    return a->kind == b->kind && a->dtype == b->dtype && IR_SAME(a->elem, b->elem) && a->rank == b->rank &&
           IR_SAME(a->encoding, b->encoding) && IR_SAME(a->text, b->text) && a->ntypes == b->ntypes &&
           a->ninputs == b->ninputs && i64s_equal(a->dims, b->dims, a->rank) &&
           (a->ntypes == 0 || memcmp(a->types, b->types, a->ntypes * sizeof *a->types) == 0) &&
           (a->kind != IR_TYPE_QUANT || quant_equal(a->quant, b->quant));
}

static const void *type_keep(struct ir_module *m, const void *p, size_t n, size_t size) {
    return n ? arena_dup(&m->arena, p, n * size, 8) : NULL;
}

/* The id of a type equal to `key`, which may point to temporary arrays: they are copied when the type is new. */
static ir_type type_intern(struct ir_module *m, const struct ir_type_data *key) {
    struct ir_tables *t = m->t;
    uint64_t hash = type_hash(key);
    uint32_t id = intern_find(&t->type_set, hash, type_equal, t, key);
    if (id)
        return (ir_type){id};
    struct ir_type_data *own = arena_dup(&m->arena, key, sizeof *key, 8);
    own->dims = type_keep(m, key->dims, key->rank, sizeof *key->dims);
    own->types = type_keep(m, key->types, key->ntypes, sizeof *key->types);
    if (key->kind == IR_TYPE_QUANT) {
        const struct ir_quant *q = key->quant;
        struct ir_quant *mine = arena_dup(&m->arena, q, sizeof *q, 8);
        mine->axes = type_keep(m, q->axes, q->naxes, sizeof *q->axes);
        mine->block_sizes = q->block_sizes ? type_keep(m, q->block_sizes, q->naxes, sizeof *q->block_sizes) : NULL;
        mine->scale_dims = type_keep(m, q->scale_dims, q->scale_rank, sizeof *q->scale_dims);
        mine->scales = type_keep(m, q->scales, q->nscales, sizeof *q->scales);
        mine->zero_points = type_keep(m, q->zero_points, q->nscales, sizeof *q->zero_points);
        own->quant = mine;
    }
    id = t->types.n;
    ARENA_PUSH(&m->arena, &t->types, own);
    intern_add(&t->type_set, &m->arena, hash, id);
    return (ir_type){id};
}

ir_type ir_type_scalar(struct ir_module *m, enum ir_dtype t) {
    return type_intern(m, &(struct ir_type_data){.kind = IR_TYPE_SCALAR, .dtype = t});
}

ir_type ir_type_quant(struct ir_module *m, const struct ir_quant *q) {
    return type_intern(m, &(struct ir_type_data){.kind = IR_TYPE_QUANT, .dtype = q->storage, .quant = q});
}

ir_type ir_type_shaped(struct ir_module *m, enum ir_type_kind kind, ir_type elem, const int64_t *dims, uint32_t rank,
                       ir_attr encoding) {
    const struct ir_type_data *e = ir_type_get(m, elem);
    size_t nbounds;
    const int64_t *bounds = ir_field_dims(m, encoding, IR_TYPE_EXTENSIONS_bounds_F, &nbounds);
    return type_intern(m, &(struct ir_type_data){
                              .kind = kind, .dtype = e->dtype, .rank = rank, .dims = dims, .elem = elem,
                              .bounds = nbounds == rank ? bounds : NULL, .encoding = encoding, .quant = e->quant});
}

ir_type ir_type_tensor(struct ir_module *m, ir_type elem, const int64_t *dims, uint32_t rank, ir_attr encoding) {
    return ir_type_shaped(m, IR_TYPE_TENSOR, elem, dims, rank, encoding);
}

ir_type ir_type_of(struct ir_module *m, enum ir_dtype t, const int64_t *dims, uint32_t rank) {
    return ir_type_tensor(m, ir_type_scalar(m, t), dims, rank, (ir_attr){0});
}

ir_type ir_type_with_dims(struct ir_module *m, ir_type shaped, const int64_t *dims, uint32_t rank) {
    return ir_type_tensor(m, ir_type_get(m, shaped)->elem, dims, rank, (ir_attr){0});
}

ir_type ir_type_bounded(struct ir_module *m, ir_type elem, const int64_t *dims, const int64_t *bounds, uint32_t rank) {
    bool any = false;
    for (uint32_t i = 0; bounds && i < rank; i++)
        any |= bounds[i] != IR_DYNAMIC;
    ir_attr encoding = {0};
    if (any) {
        ir_attr list = ir_attr_i64s(m, bounds, rank);
        encoding = ir_attr_struct(m, IR_STRUCT_TYPE_EXTENSIONS, &list);
    }
    return ir_type_tensor(m, elem, dims, rank, encoding);
}

ir_type ir_type_group(struct ir_module *m, enum ir_type_kind kind, const ir_type *types, uint32_t n) {
    return type_intern(m, &(struct ir_type_data){.kind = kind, .types = types, .ntypes = n});
}

ir_type ir_type_function(struct ir_module *m, const ir_type *ins, uint32_t nins, const ir_type *outs, uint32_t nouts) {
    ir_type *all = ARENA_ARRAY(&m->arena, ir_type, (size_t)nins + nouts);
    if (nins)
        memcpy(all, ins, nins * sizeof *ins);
    if (nouts)
        memcpy(all + nins, outs, nouts * sizeof *outs);
    return type_intern(m, &(struct ir_type_data){
                              .kind = IR_TYPE_FUNCTION, .types = all, .ntypes = nins + nouts, .ninputs = nins});
}

ir_type ir_type_simple(struct ir_module *m, enum ir_type_kind kind) {
    return type_intern(m, &(struct ir_type_data){.kind = kind});
}

ir_type ir_type_opaque(struct ir_module *m, struct str text) {
    return type_intern(m, &(struct ir_type_data){.kind = IR_TYPE_OPAQUE, .text = ir_str_of(m, text)});
}

bool ir_type_is_shaped(const struct ir_type_data *t) {
    return t->kind == IR_TYPE_TENSOR || t->kind == IR_TYPE_UNRANKED || t->kind == IR_TYPE_MEMREF ||
           t->kind == IR_TYPE_VECTOR;
}

bool ir_type_is_static(const struct ir_type_data *t) {
    if (!ir_type_is_shaped(t) || t->kind == IR_TYPE_UNRANKED)
        return false;
    for (uint32_t i = 0; i < t->rank; i++)
        if (t->dims[i] == IR_DYNAMIC)
            return false;
    return true;
}

bool ir_type_count(const struct ir_type_data *t, size_t *out) {
    return ir_type_is_static(t) && mem_shape(t->dims, t->rank, 1, out);
}

enum ir_dtype ir_dtype_part(enum ir_dtype t) {
    return t == IR_C64_T ? IR_F32_T : t == IR_C128_T ? IR_F64_T : t;
}

bool ir_type_bytes(const struct ir_type_data *t, size_t *out) {
    size_t n;
    return ir_type_count(t, &n) && mem_mul(n, ir_dtype_get(t->dtype)->bytes, out);
}
