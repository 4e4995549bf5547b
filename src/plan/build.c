/* The builder: buffers and a tree of nodes. */
#include "plan/build.h"

#include <assert.h>
#include <string.h>

struct plan_builder *plan_new(struct arena *a, const struct ir_module *m, uint32_t narguments, uint32_t nresults) {
    struct plan_builder *b = ARENA_NEW(a, struct plan_builder);
    *b = (struct plan_builder){.a = a, .m = m, .narguments = narguments, .nresults = nresults};
    b->list = &b->top;
    b->arguments = ARENA_ARRAY(a, uint32_t, narguments);
    b->results = ARENA_ARRAY(a, uint32_t, nresults);
    b->unchanged = ARENA_ARRAY(a, bool, narguments);
    b->donated = ARENA_ARRAY(a, bool, narguments);
    for (uint32_t i = 0; i < narguments; i++)
        b->arguments[i] = UINT32_MAX;
    for (uint32_t i = 0; i < nresults; i++)
        b->results[i] = UINT32_MAX;
    return b;
}

/* ---- buffers --------------------------------------------------------------------------------- */

static size_t type_bytes(struct arena *a, enum ir_dtype t, uint32_t rank, const int64_t *dims) {
    size_t n;
    if (!mem_shape(dims, rank, ir_dtype_get(t)->bytes, &n))
        arena_exhausted(a);
    return n;
}

static uint32_t buffer_new(struct plan_builder *b, struct plan_buffer x, const int64_t *dims) {
    uint32_t number = b->buffers.n;
    x.bytes = plan_is_value(&x) ? 0 : type_bytes(b->a, x.dtype, x.rank, dims);
    x.dims = arena_dup(b->a, dims, x.rank * sizeof *dims, _Alignof(int64_t));
    x.root = number;
    ARENA_PUSH(b->a, &b->buffers, x);
    return number;
}

uint32_t plan_argument(struct plan_builder *b, uint32_t index, enum ir_dtype t, uint32_t rank, const int64_t *dims) {
    assert(index < b->narguments);
    if (b->arguments[index] == UINT32_MAX)
        b->arguments[index] = buffer_new(b, (struct plan_buffer){.dtype = t, .rank = rank, .place = PLAN_ARGUMENT,
                                                                 .index = index}, dims);
    return b->arguments[index];
}

uint32_t plan_constant(struct plan_builder *b, enum ir_dtype t, uint32_t rank, const int64_t *dims, const void *data) {
    return buffer_new(b, (struct plan_buffer){.dtype = t, .rank = rank, .place = PLAN_CONSTANT, .data = data}, dims);
}

uint32_t plan_temp(struct plan_builder *b, enum ir_dtype t, uint32_t rank, const int64_t *dims) {
    return buffer_new(b, (struct plan_buffer){.dtype = t, .rank = rank, .place = PLAN_BLOCK}, dims);
}

uint32_t plan_value(struct plan_builder *b, enum ir_dtype t, uint32_t rank, const int64_t *dims) {
    return buffer_new(b, (struct plan_buffer){.dtype = t, .rank = rank, .place = PLAN_VALUE, .index = b->nvalues++}, dims);
}

uint32_t plan_like(struct plan_builder *b, uint32_t buffer) {
    const struct plan_buffer *x = &b->buffers.v[buffer];
    enum plan_space space = x->space;
    uint32_t like = (plan_is_value(x) ? plan_value : plan_temp)(b, x->dtype, x->rank, x->dims);
    b->buffers.v[like].space = space;
    return like;
}

uint32_t plan_alias(struct plan_builder *b, uint32_t of, size_t byte_offset, enum ir_dtype t, uint32_t rank,
                    const int64_t *dims) {
    const struct plan_buffer base = b->buffers.v[of];
    uint32_t number = buffer_new(b, (struct plan_buffer){.dtype = t, .rank = rank, .place = base.place, .index = base.index},
                                 dims);
    struct plan_buffer *x = &b->buffers.v[number];
    assert(byte_offset <= base.bytes && x->bytes <= base.bytes - byte_offset);
    x->root = base.root;
    x->root_offset = base.root_offset + byte_offset;
    x->space = base.space;
    if (base.place == PLAN_CONSTANT)
        x->data = (const char *)base.data + byte_offset;
    return number;
}

const struct plan_buffer *plan_buffer_get(const struct plan_builder *b, uint32_t buffer) {
    return &b->buffers.v[buffer];
}

/* ---- steps ----------------------------------------------------------------------------------- */

static struct plan_node *node_new(struct plan_builder *b, enum plan_node_kind kind, enum plan_step_kind step, uint32_t nuses) {
    struct plan_node *n = ARENA_NEW(b->a, struct plan_node);
    *n = (struct plan_node){
        .kind = kind, .step = step, .depth = b->opened.n, .nuses = nuses, .note = b->note, .outer = b->list};
    n->uses = ARENA_ARRAY(b->a, struct plan_use, nuses);
    ARENA_PUSH(b->a, &b->list->nodes, n);
    return n;
}

struct plan_node *plan_node_like(struct plan_builder *b, const struct plan_node *like, enum plan_node_kind kind,
                                 uint32_t nuses) {
    struct plan_node *n = ARENA_NEW(b->a, struct plan_node);
    *n = (struct plan_node){.kind = kind, .step = PLAN_COPY, .depth = like->depth, .nuses = nuses, .outer = like->outer};
    n->uses = ARENA_ARRAY(b->a, struct plan_use, nuses);
    return n;
}

void plan_kernel(struct plan_builder *b, const struct plan_kernel *k, const struct plan_use *uses) {
    struct plan_node *n = node_new(b, NODE_STEP, PLAN_KERNEL, k->nparams);
    n->kernel = k;
    if (k->nparams)
        memcpy(n->uses, uses, k->nparams * sizeof *uses);
}

/* Operands, then results. */
static struct plan_node *call_new(struct plan_builder *b, enum plan_step_kind step, uint32_t nin, const uint32_t *in,
                                  uint32_t nout, const uint32_t *out) {
    struct plan_node *n = node_new(b, NODE_STEP, step, nin + nout);
    for (uint32_t i = 0; i < nin; i++)
        n->uses[i] = (struct plan_use){in[i], PLAN_IN, 0, 0};
    for (uint32_t i = 0; i < nout; i++)
        n->uses[nin + i] = (struct plan_use){out[i], PLAN_OUT, 0, 0};
    return n;
}

void plan_routine(struct plan_builder *b, const struct lib_match *match, uint32_t nin, const uint32_t *in, uint32_t nout,
                  const uint32_t *out) {
    struct plan_node *n = call_new(b, PLAN_ROUTINE, nin, in, nout, out);
    n->routine = arena_dup(b->a, match, sizeof *match, _Alignof(struct lib_match));
    if (match->in_place && nin && nout)
        n->uses[nin].overlay = 1;
}

void plan_reference(struct plan_builder *b, ir_op func, bool effect, uint32_t nin, const uint32_t *in, uint32_t nout,
                    const uint32_t *out) {
    struct plan_node *n = call_new(b, PLAN_REFERENCE, nin, in, nout, out);
    n->func = func;
    n->effect = effect;
}

/* Every process takes part, whether it needs the results or not. */
void plan_exchange(struct plan_builder *b, const struct plan_collective *c, uint32_t nin, const uint32_t *in, uint32_t nout,
                   const uint32_t *out) {
    struct plan_node *n = call_new(b, PLAN_COLLECTIVE, nin, in, nout, out);
    struct plan_collective *own = arena_dup(b->a, c, sizeof *c, _Alignof(struct plan_collective));
    size_t ids = c->groups.n * c->groups.cols;
    own->groups.ids = arena_dup(b->a, c->groups.ids, ids * sizeof *c->groups.ids, _Alignof(int64_t));
    own->groups.own = NULL;
    n->collective = own;
    n->effect = true;
}

void plan_copy(struct plan_builder *b, uint32_t n, const uint32_t *from, const uint32_t *to) {
    struct plan_node *x = node_new(b, NODE_STEP, PLAN_COPY, 2 * n);
    for (uint32_t i = 0; i < n; i++) {
        x->uses[2 * i] = (struct plan_use){from[i], PLAN_IN, 0, 0};
        x->uses[2 * i + 1] = (struct plan_use){to[i], PLAN_OUT, 0, 0};
    }
}

void plan_note(struct plan_builder *b, const struct plan_note *note) {
    b->note = note;
}

void plan_undefined(struct plan_builder *b, uint32_t buffer) {
    node_new(b, NODE_UNDEFINED, PLAN_COPY, 1)->uses[0] = (struct plan_use){buffer, PLAN_OUT, 0, 0};
}

/* ---- nested lists ---------------------------------------------------------------------------- */

static void list_open(struct plan_builder *b, struct plan_node *n) {
    struct plan_list *list = ARENA_NEW(b->a, struct plan_list);
    ARENA_PUSH(b->a, &n->lists, list);
    b->list = list;
}

static struct plan_node *innermost(const struct plan_builder *b, enum plan_node_kind kind) {
    assert(b->opened.n && b->opened.v[b->opened.n - 1]->kind == kind);
    (void)kind;
    return b->opened.v[b->opened.n - 1];
}

static struct plan_node *node_open(struct plan_builder *b, enum plan_node_kind kind, uint32_t nuses) {
    struct plan_node *n = node_new(b, kind, PLAN_JUMP, nuses);
    ARENA_PUSH(b->a, &b->opened, n);
    list_open(b, n);
    return n;
}

static void node_close(struct plan_builder *b, enum plan_node_kind kind) {
    b->list = innermost(b, kind)->outer;
    b->opened.n--;
}

void plan_loop_begin(struct plan_builder *b) {
    node_open(b, NODE_LOOP, 1);
}

/* Its test is an empty list. */
void plan_loop_begin_counted(struct plan_builder *b, uint64_t trips) {
    struct plan_node *n = node_open(b, NODE_LOOP, 0);
    n->trips = trips;
    list_open(b, n);
}

void plan_loop_body(struct plan_builder *b, uint32_t predicate) {
    struct plan_node *n = innermost(b, NODE_LOOP);
    assert(n->lists.n == 1);
    n->uses[0] = (struct plan_use){predicate, PLAN_IN, 0, 0};
    list_open(b, n);
}

void plan_loop_end(struct plan_builder *b) {
    assert(innermost(b, NODE_LOOP)->lists.n == 2);
    node_close(b, NODE_LOOP);
}

void plan_branch_begin(struct plan_builder *b, uint32_t selector) {
    node_open(b, NODE_BRANCH, 1)->uses[0] = (struct plan_use){selector, PLAN_IN, 0, 0};
}

void plan_branch_next(struct plan_builder *b) {
    list_open(b, innermost(b, NODE_BRANCH));
}

void plan_branch_end(struct plan_builder *b) {
    node_close(b, NODE_BRANCH);
}

/* ---- results --------------------------------------------------------------------------------- */

void plan_result(struct plan_builder *b, uint32_t index, uint32_t buffer) {
    assert(index < b->nresults && buffer < b->buffers.n);
    b->results[index] = buffer;
}

void plan_donor(struct plan_builder *b, uint32_t argument, uint32_t result) {
    assert(argument < b->narguments && (result < b->nresults || result == UINT32_MAX));
    struct plan_donor_hint hint = {argument, result};
    b->donated[argument] = true;
    if (result != UINT32_MAX)
        ARENA_PUSH(b->a, &b->donor_hints, hint);
}
