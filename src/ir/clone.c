/* A second copy of a module, to be changed while the first is kept. Ops, values, blocks and regions are copied with
 * their ids, a page at a time; strings, types, attributes and the data of constants, which nothing changes, are shared. */
#include "ir/store.h"

static void *clone_array(struct arena *a, const void *v, uint32_t n, uint32_t cap, size_t size) {
    void *copy = arena_array(a, cap, size, 16);
    if (n)
        memcpy(copy, v, n * size);
    return copy;
}

#define CLONE_VEC(a, vec) ((vec)->v = clone_array((a), (vec)->v, (vec)->n, (vec)->cap, sizeof *(vec)->v))

static void clone_pages(struct arena *a, struct pages *p, size_t size) {
    CLONE_VEC(a, &p->page);
    for (uint32_t i = 0; i < p->page.n; i++)
        p->page.v[i] = clone_array(a, p->page.v[i], PAGE_SIZE, PAGE_SIZE, size);
}

static void clone_intern(struct arena *a, struct intern *t) {
    t->slots = clone_array(a, t->slots, t->cap, t->cap, sizeof *t->slots);
    t->hashes = clone_array(a, t->hashes, t->hashes_cap, t->hashes_cap, sizeof *t->hashes);
}

/* Lists that are changed in place. */
static void clone_op(struct arena *a, struct ir_op_data *o) {
    uint32_t nprops = ir_op_info((enum ir_op_kind)o->kind)->nslots;
    o->operands = clone_array(a, o->operands, o->noperands, o->noperands, sizeof *o->operands);
    o->props = clone_array(a, o->props, nprops, nprops, sizeof *o->props);
}

static void clone_block(struct arena *a, struct ir_block_data *b) {
    uint32_t cap = 1; /* room as ir_block_add_arg makes it */
    while (cap < b->nargs)
        cap *= 2;
    b->args = clone_array(a, b->args, b->nargs, cap, sizeof *b->args);
}

static void clone_tables(struct arena *a, struct ir_tables *t) {
    clone_pages(a, &t->ops, sizeof(struct ir_op_data));
    clone_pages(a, &t->vals, sizeof(struct ir_val_data));
    clone_pages(a, &t->blocks, sizeof(struct ir_block_data));
    clone_pages(a, &t->regions, sizeof(struct ir_region_data));
    for (uint32_t i = 1; i < t->ops.n; i++)
        clone_op(a, pages_at(&t->ops, i, sizeof(struct ir_op_data)));
    for (uint32_t i = 1; i < t->blocks.n; i++)
        clone_block(a, pages_at(&t->blocks, i, sizeof(struct ir_block_data)));
    CLONE_VEC(a, &t->strs);
    CLONE_VEC(a, &t->types);
    CLONE_VEC(a, &t->attrs);
    CLONE_VEC(a, &t->resources);
    clone_intern(a, &t->str_set);
    clone_intern(a, &t->type_set);
    clone_intern(a, &t->attr_set);
}

struct ir_module *ir_module_clone(const struct ir_module *src, hilo_allocator al, jmp_buf *recover) {
    struct ir_module *m = mem_alloc(&al, sizeof *m);
    if (!m)
        return NULL;
    *m = (struct ir_module){.root = src->root, .name = src->name};
    jmp_buf here;
    arena_init(&m->arena, al, &here);
    if (setjmp(here)) {
        m->t = NULL; /* what it has of the source's is not to be freed */
        ir_module_free(m);
        return NULL;
    }
    struct ir_tables *t = ARENA_NEW(&m->arena, struct ir_tables);
    *t = *src->t;
    memset(&t->blobs, 0, sizeof t->blobs);
    clone_tables(&m->arena, t);
    m->t = t;
    m->arena.recover = recover;
    return m;
}
