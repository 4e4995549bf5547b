/* Attributes: interned, except constants too large to compare. See ir.h. */
#include "ir/ir.h"
#include "ir/store.h"

const struct ir_attr_data *ir_attr_get(const struct ir_module *m, ir_attr a) {
    return m->t->attrs.v[a.i];
}

static uint64_t attr_hash(const struct ir_attr_data *a) {
    uint64_t bits;
    memcpy(&bits, &a->f, sizeof bits);
    uint64_t h = hash_mix((uint64_t)a->kind, (uint64_t)a->sub | (uint64_t)a->splat << 16);
    h = hash_mix(h, a->type.i);
    h = hash_mix(h, a->str.i);
    h = hash_mix(h, (uint64_t)a->i);
    h = hash_mix(h, bits);
    h = str_hash(a->items, a->items ? a->n * sizeof *a->items : 0, h);
    h = str_hash(a->names, a->names ? a->n * sizeof *a->names : 0, h);
    return str_hash(a->data, a->nbytes, h);
}

static bool bytes_equal(const void *a, const void *b, size_t n) {
    return n == 0 || (a && b ? memcmp(a, b, n) == 0 : a == b);
}

static bool attr_equal(const void *cx, uint32_t id, const void *key) {
    const struct ir_attr_data *a = ((const struct ir_tables *)cx)->attrs.v[id], *b = key;
    return a->kind == b->kind && a->sub == b->sub && a->splat == b->splat && IR_SAME(a->type, b->type) &&
           IR_SAME(a->str, b->str) && a->n == b->n && a->i == b->i && memcmp(&a->f, &b->f, sizeof a->f) == 0 &&
           a->nbytes == b->nbytes && !a->items == !b->items && !a->names == !b->names &&
           bytes_equal(a->items, b->items, a->items ? a->n * sizeof *a->items : 0) &&
           bytes_equal(a->names, b->names, a->names ? a->n * sizeof *a->names : 0) &&
           bytes_equal(a->data, b->data, a->nbytes);
}

static ir_attr attr_push(struct ir_module *m, struct ir_attr_data *own, uint64_t hash) {
    uint32_t id = m->t->attrs.n;
    ARENA_PUSH(&m->arena, &m->t->attrs, own);
    intern_add(&m->t->attr_set, &m->arena, hash, id);
    return (ir_attr){id};
}

ir_attr ir_attr_intern(struct ir_module *m, const struct ir_attr_data *key) {
    uint64_t hash = attr_hash(key);
    uint32_t id = intern_find(&m->t->attr_set, hash, attr_equal, m->t, key);
    if (id)
        return (ir_attr){id};
    struct ir_attr_data *own = arena_dup(&m->arena, key, sizeof *key, 8);
    if (key->items)
        own->items = arena_dup(&m->arena, key->items, key->n * sizeof *key->items, 8);
    if (key->names)
        own->names = arena_dup(&m->arena, key->names, key->n * sizeof *key->names, 8);
    if (key->data)
        own->data = arena_dup(&m->arena, key->data, key->nbytes, 64);
    return attr_push(m, own, hash);
}

/* ---- scalars and lists ----------------------------------------------------------------------- */

ir_attr ir_attr_unit(struct ir_module *m) {
    return ir_attr_intern(m, &(struct ir_attr_data){.kind = IR_ATTR_UNIT});
}

ir_attr ir_attr_bool(struct ir_module *m, bool v) {
    return ir_attr_intern(m, &(struct ir_attr_data){.kind = IR_ATTR_BOOL, .i = v});
}

ir_attr ir_attr_int(struct ir_module *m, ir_type t, int64_t v) {
    return ir_attr_intern(m, &(struct ir_attr_data){.kind = IR_ATTR_INT, .type = t, .i = v});
}

ir_attr ir_attr_i64(struct ir_module *m, int64_t v) {
    return ir_attr_int(m, ir_type_scalar(m, IR_I64_T), v);
}

ir_attr ir_attr_float(struct ir_module *m, ir_type t, double v) {
    return ir_attr_intern(m, &(struct ir_attr_data){.kind = IR_ATTR_FLOAT, .type = t, .f = v});
}

ir_attr ir_attr_complex(struct ir_module *m, enum ir_dtype t, double re, double im) {
    ir_type part = ir_type_scalar(m, t == IR_C64_T ? IR_F32_T : IR_F64_T);
    ir_attr items[2] = {ir_attr_float(m, part, re), ir_attr_float(m, part, im)};
    ir_type type = ir_type_scalar(m, t);
    return ir_attr_intern(m, &(struct ir_attr_data){.kind = IR_ATTR_COMPLEX, .type = type, .items = items, .n = 2});
}

ir_attr ir_attr_string(struct ir_module *m, struct str s) {
    return ir_attr_intern(m, &(struct ir_attr_data){.kind = IR_ATTR_STRING, .str = ir_str_of(m, s)});
}

ir_attr ir_attr_of_type(struct ir_module *m, ir_type t) {
    return ir_attr_intern(m, &(struct ir_attr_data){.kind = IR_ATTR_TYPE, .type = t});
}

ir_attr ir_attr_array(struct ir_module *m, const ir_attr *items, uint32_t n) {
    return ir_attr_intern(m, &(struct ir_attr_data){.kind = IR_ATTR_ARRAY, .items = n ? items : NULL, .n = n});
}

ir_attr ir_attr_dict(struct ir_module *m, const ir_str *names, const ir_attr *items, uint32_t n) {
    return ir_attr_intern(
        m, &(struct ir_attr_data){.kind = IR_ATTR_DICT, .names = n ? names : NULL, .items = n ? items : NULL, .n = n});
}

ir_attr ir_attr_symbol(struct ir_module *m, struct str root, const ir_attr *nested, uint32_t n) {
    return ir_attr_intern(
        m, &(struct ir_attr_data){.kind = IR_ATTR_SYMBOL, .str = ir_str_of(m, root), .items = n ? nested : NULL, .n = n});
}

ir_attr ir_attr_enum(struct ir_module *m, enum ir_enum e, int64_t v) {
    return ir_attr_intern(m, &(struct ir_attr_data){.kind = IR_ATTR_ENUM, .sub = (uint16_t)e, .i = v});
}

ir_attr ir_attr_struct(struct ir_module *m, enum ir_struct s, const ir_attr *fields) {
    return ir_attr_intern(m, &(struct ir_attr_data){.kind = IR_ATTR_STRUCT, .sub = (uint16_t)s, .items = fields,
                                                    .n = ir_struct_get(s)->nfields});
}

ir_attr ir_attr_opaque(struct ir_module *m, struct str text) {
    return ir_attr_intern(m, &(struct ir_attr_data){.kind = IR_ATTR_OPAQUE, .str = ir_str_of(m, text)});
}

ir_attr ir_attr_loc(struct ir_module *m, enum ir_attr_kind kind, ir_str str, int64_t i, const ir_attr *items, uint32_t n) {
    return ir_attr_intern(m, &(struct ir_attr_data){.kind = kind, .str = str, .i = i, .items = n ? items : NULL, .n = n});
}

/* ---- arrays and constants -------------------------------------------------------------------- */

ir_attr ir_attr_dense_array(struct ir_module *m, ir_type elem, const void *data, uint32_t n) {
    size_t nbytes = (size_t)n * ir_dtype_get(ir_type_get(m, elem)->dtype)->bytes;
    return ir_attr_intern(m, &(struct ir_attr_data){.kind = IR_ATTR_DENSE_ARRAY, .type = elem, .n = n,
                                                    .data = n ? data : NULL, .nbytes = nbytes});
}

ir_attr ir_attr_i64s(struct ir_module *m, const int64_t *v, uint32_t n) {
    return ir_attr_dense_array(m, ir_type_scalar(m, IR_I64_T), v, n);
}

/* A blob that the module is to free. Exhaustion while it is being noted must not lose it, so room is made first. */
static void blob_own(struct ir_module *m, const void *data, size_t nbytes) {
    ARENA_PUSH(&m->arena, &m->t->blobs, ((struct ir_blob){0}));
    m->t->blobs.v[m->t->blobs.n - 1] = (struct ir_blob){(void *)(uintptr_t)data, nbytes};
}

bool ir_data_may_stay(enum ir_dtype t, const void *data) {
    const struct ir_dtype_info *d = ir_dtype_get(t);
    bool is_float = d->cls == IR_FLOAT || d->cls == IR_COMPLEX_CLASS;
    return (is_float && d->bytes >= 4) || (uintptr_t)data % (d->bytes < 8 ? d->bytes : 8) == 0;
}

void *ir_blob_new(struct ir_module *m, size_t nbytes) {
    void *data = NULL;
    blob_own(m, NULL, 0); /* room first: once it is allocated, the memory has an owner */
    if (nbytes && !(data = mem_alloc(&m->arena.al, nbytes)))
        arena_exhausted(&m->arena);
    m->t->blobs.v[m->t->blobs.n - 1] = (struct ir_blob){data, nbytes};
    return data;
}

static bool all_equal(const char *data, size_t nbytes, size_t size) {
    return nbytes <= size || memcmp(data, data + size, nbytes - size) == 0;
}

/* A small constant in its one form: all elements spelled out, `splat` telling whether they are equal. */
static ir_attr dense_small(struct ir_module *m, struct ir_attr_data key, size_t count, size_t size) {
    char full[IR_BLOB_BYTES];
    size_t nbytes = count * size;
    if (key.splat)
        for (size_t i = 0; i < count; i++)
            memcpy(full + i * size, key.data, size);
    else
        memcpy(full, key.data, nbytes);
    key.splat = all_equal(full, nbytes, size);
    key.data = full;
    key.nbytes = nbytes;
    return ir_attr_intern(m, &key);
}

ir_attr ir_attr_dense(struct ir_module *m, ir_type shaped, const void *data, size_t nbytes, bool splat, bool owned) {
    const struct ir_type_data *t = ir_type_get(m, shaped);
    size_t size = ir_dtype_get(t->dtype)->bytes, count = 0, full = SIZE_MAX;
    if (ir_type_count(t, &count) && !mem_mul(count, size, &full))
        full = SIZE_MAX;
    struct ir_attr_data key = {.kind = IR_ATTR_DENSE, .type = shaped, .splat = splat || count == 1, .data = data,
                               .nbytes = nbytes};
    if (owned)
        blob_own(m, data, nbytes);
    if (count == 0)
        return ir_attr_intern(m, &(struct ir_attr_data){.kind = IR_ATTR_DENSE, .type = shaped});
    if (full <= IR_BLOB_BYTES)
        return dense_small(m, key, count, size);
    if (nbytes <= IR_BLOB_BYTES)
        return ir_attr_intern(m, &key); /* a large splat: one element */
    uint64_t hash = hash_mix((uint64_t)(uintptr_t)data, m->t->attrs.n); /* a blob equals nothing else */
    return attr_push(m, arena_dup(&m->arena, &key, sizeof key, 8), hash);
}

ir_attr ir_attr_dense_i64s(struct ir_module *m, const int64_t *v, const int64_t *dims, uint32_t rank) {
    ir_type t = ir_type_of(m, IR_I64_T, dims, rank);
    size_t nbytes = 0;
    ir_type_bytes(ir_type_get(m, t), &nbytes);
    const void *data = v;
    if (nbytes > IR_BLOB_BYTES) /* blobs are not copied, and `v` is the caller's */
        data = arena_dup(&m->arena, v, nbytes, 64);
    return ir_attr_dense(m, t, data, nbytes, false, false);
}

ir_attr ir_attr_resource(struct ir_module *m, ir_type shaped, struct str key) {
    struct ir_tables *t = m->t;
    ir_str name = ir_str_of(m, key);
    uint32_t before = t->attrs.n;
    ir_attr a = ir_attr_intern(m, &(struct ir_attr_data){.kind = IR_ATTR_RESOURCE, .type = shaped, .str = name});
    if (a.i == before) { /* new: chain it to its key; chains count from 1 */
        ARENA_PUSH(&m->arena, &t->resources, ((__typeof__(*t->resources.v)){a, t->strs.v[name.i].resource}));
        t->strs.v[name.i].resource = t->resources.n;
    }
    return a;
}

void ir_resource_set(struct ir_module *m, struct str key, const void *data, size_t nbytes, bool owned) {
    struct ir_tables *t = m->t;
    if (owned)
        blob_own(m, data, nbytes);
    ir_str name = ir_str_find(m, key);
    for (uint32_t r = t->strs.v[name.i].resource; r; r = t->resources.v[r - 1].next) {
        struct ir_attr_data *a = t->attrs.v[t->resources.v[r - 1].attr.i];
        a->data = data;
        a->nbytes = nbytes;
    }
}

/* ---- readers --------------------------------------------------------------------------------- */

bool ir_attr_as_i64(const struct ir_module *m, ir_attr a, int64_t *out) {
    const struct ir_attr_data *d = ir_attr_get(m, a);
    if (d->kind != IR_ATTR_INT && d->kind != IR_ATTR_BOOL && d->kind != IR_ATTR_ENUM)
        return false;
    *out = d->i;
    return true;
}

const int64_t *ir_attr_as_i64s(const struct ir_module *m, ir_attr a, size_t *n) {
    const struct ir_attr_data *d = ir_attr_get(m, a);
    static const int64_t none[1] = {0};
    bool list = d->kind == IR_ATTR_DENSE_ARRAY || d->kind == IR_ATTR_DENSE;
    *n = 0;
    if (!list || ir_type_get(m, d->type)->dtype != IR_I64_T)
        return NULL;
    if (d->nbytes == 0)
        return none;
    size_t count = d->n;
    if (d->kind == IR_ATTR_DENSE && (!ir_type_count(ir_type_get(m, d->type), &count) || count * 8 != d->nbytes))
        return NULL; /* a splat of more than IR_BLOB_BYTES: no list that any op takes */
    *n = count;
    return d->data;
}

struct str ir_attr_as_str(const struct ir_module *m, ir_attr a) {
    const struct ir_attr_data *d = ir_attr_get(m, a);
    if (d->kind != IR_ATTR_STRING && d->kind != IR_ATTR_SYMBOL)
        return STR("");
    return ir_str_get(m, d->str);
}

ir_attr ir_dict_find(const struct ir_module *m, ir_attr dict, struct str name) {
    const struct ir_attr_data *d = ir_attr_get(m, dict);
    ir_str key = ir_str_find(m, name);
    if (d->kind == IR_ATTR_DICT && !IR_NONE(key))
        for (uint32_t i = 0; i < d->n; i++)
            if (IR_SAME(d->names[i], key))
                return d->items[i];
    return (ir_attr){0};
}

ir_attr ir_field(const struct ir_module *m, ir_attr s, enum ir_field_slot f) {
    const struct ir_attr_data *d = ir_attr_get(m, s);
    enum ir_struct of = ir_field_get((uint32_t)f)->of;
    if (d->kind != IR_ATTR_STRUCT || d->sub != of)
        return (ir_attr){0};
    return d->items[(uint32_t)f - ir_struct_get(of)->first_field];
}

const int64_t *ir_field_dims(const struct ir_module *m, ir_attr s, enum ir_field_slot f, size_t *n) {
    return ir_attr_as_i64s(m, ir_field(m, s, f), n);
}

int64_t ir_field_i64(const struct ir_module *m, ir_attr s, enum ir_field_slot f) {
    int64_t v;
    return ir_attr_as_i64(m, ir_field(m, s, f), &v) ? v : 0;
}
