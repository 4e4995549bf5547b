/* Windows, pads, slices and reversals along divided dimensions: each partition computes its part of the result from elements of
 * other partitions' parts of the operand, which they send (openxla/shardy, resolve_permutation_factors); see spmd.h.
 *
 * Part k needs `count` elements from first + k * step on; what is outside of the dimension is padding. Elements that part k + h
 * has are sent by one collective-permute for each distance h, as few as the part that needs the most of them takes. Where parts
 * are as far apart as what they need, pieces are concatenated; else each is put at its place. */
#include "opt/spmd.h"

struct halo {
    int64_t parts, size;         /* of the dimension, and of one part of it, whose end may be padding */
    int64_t step, first, count;
    bool mirrored;               /* what is said of part k is of the k-th from the end */
    bool wraps;                  /* after the last part comes the first */
    int64_t low, high;           /* padding that the local op adds */
    bool beyond;                 /* what is behind the dimension is read, also where its last parts end in padding */
};

/* A dimension of the first operand as the op reads it. */
struct reading {
    int64_t out, kernel;         /* its dimensions of the result and of a kernel; -1: none */
    int64_t window, dilation, stride, base, low;
    bool reversed;
};

enum { SIZES = 1 << 30 }; /* products of two sizes, and tables of i32, hold them */

/* ---- what an op reads --------------------------------------------------------------------------- */

static int64_t least(int64_t a, int64_t b) {
    return a < b ? a : b;
}

static bool read_slice(const struct spmd *p, ir_op op, uint32_t d, struct reading *r) {
    r->low = -ir_prop_i64_at(p->m, op, IR_SLICE_start_indices, d, 0);
    r->stride = ir_prop_i64_at(p->m, op, IR_SLICE_strides, d, 1);
    return true;
}

static bool read_pad(const struct spmd *p, ir_op op, uint32_t d, struct reading *r) {
    r->low = ir_prop_i64_at(p->m, op, IR_PAD_edge_padding_low, d, 0);
    r->base = least(ir_prop_i64_at(p->m, op, IR_PAD_interior_padding, d, 0), SIZES) + 1;
    return true;
}

static bool read_reverse(const struct spmd *p, ir_op op, uint32_t d, struct reading *r) {
    size_t n;
    const int64_t *dims = ir_prop_i64s(p->m, op, IR_REVERSE_dimensions, &n);
    for (size_t i = 0; i < n; i++)
        r->reversed |= dims[i] == d;
    return true;
}

static bool read_reduce_window(const struct spmd *p, ir_op op, uint32_t d, struct reading *r) {
    r->window = ir_prop_i64_at(p->m, op, IR_REDUCE_WINDOW_window_dimensions, d, 1);
    r->dilation = ir_prop_i64_at(p->m, op, IR_REDUCE_WINDOW_window_dilations, d, 1);
    r->stride = ir_prop_i64_at(p->m, op, IR_REDUCE_WINDOW_window_strides, d, 1);
    r->base = ir_prop_i64_at(p->m, op, IR_REDUCE_WINDOW_base_dilations, d, 1);
    r->low = ir_prop_i64_at(p->m, op, IR_REDUCE_WINDOW_padding, 2 * (size_t)d, 0);
    return true;
}

/* The number of a spatial dimension of the input, of n; n for other dimensions. */
static size_t spatial_number(const struct spmd *p, ir_op op, uint32_t d, size_t *n) {
    ir_attr dims = ir_prop(p->m, op, IR_CONVOLUTION_dimension_numbers);
    const int64_t *in = ir_field_dims(p->m, dims, IR_CONV_input_spatial_dimensions_F, n);
    size_t i = 0;
    while (i < *n && in[i] != d)
        i++;
    return i;
}

static bool read_convolution(const struct spmd *p, ir_op op, uint32_t d, struct reading *r) {
    ir_attr dims = ir_prop(p->m, op, IR_CONVOLUTION_dimension_numbers);
    const struct ir_attr_data *reversed = ir_attr_get(p->m, ir_prop(p->m, op, IR_CONVOLUTION_window_reversal));
    size_t n, i = spatial_number(p, op, d, &n);
    if (i == n)
        return false;
    r->out = ir_field_dims(p->m, dims, IR_CONV_output_spatial_dimensions_F, &n)[i];
    r->kernel = ir_field_dims(p->m, dims, IR_CONV_kernel_spatial_dimensions_F, &n)[i];
    r->dilation = ir_prop_i64_at(p->m, op, IR_CONVOLUTION_rhs_dilation, i, 1);
    r->stride = ir_prop_i64_at(p->m, op, IR_CONVOLUTION_window_strides, i, 1);
    r->base = ir_prop_i64_at(p->m, op, IR_CONVOLUTION_lhs_dilation, i, 1);
    r->low = ir_prop_i64_at(p->m, op, IR_CONVOLUTION_padding, 2 * i, 0);
    r->reversed = reversed->kind == IR_ATTR_DENSE_ARRAY && i < reversed->n && ((const char *)reversed->data)[i];
    return true;
}

/* ---- the attributes of one part ------------------------------------------------------------------ */

static void set_item(struct spmd *p, ir_op op, enum ir_slot slot, size_t i, int64_t v) {
    size_t n;
    const int64_t *old = ir_prop_i64s(p->m, op, slot, &n);
    int64_t items[IR_MAX_RANK];
    memcpy(items, old, n * sizeof *items);
    items[i] = v;
    ir_set_prop(p->m, op, slot, ir_attr_i64s(p->m, items, (uint32_t)n));
}

/* Of `n` dimensions. */
static void set_padding(struct spmd *p, ir_op op, enum ir_slot slot, size_t n, size_t i, const struct halo *h) {
    int64_t items[2 * IR_MAX_RANK];
    for (size_t k = 0; k < 2 * n; k++)
        items[k] = ir_prop_i64_at(p->m, op, slot, k, 0);
    items[2 * i] = h->low;
    items[2 * i + 1] = h->high;
    ir_set_prop(p->m, op, slot, ir_attr_dense_i64s(p->m, items, (int64_t[]){(int64_t)n, 2}, 2));
}

static void set_slice(struct spmd *p, ir_op op, uint32_t d, const struct halo *h) {
    set_item(p, op, IR_SLICE_start_indices, d, 0);
    set_item(p, op, IR_SLICE_limit_indices, d, h->count);
}

static void set_pad(struct spmd *p, ir_op op, uint32_t d, const struct halo *h) {
    set_item(p, op, IR_PAD_edge_padding_low, d, h->low);
    set_item(p, op, IR_PAD_edge_padding_high, d, h->high);
}

static void set_reverse(struct spmd *p, ir_op op, uint32_t d, const struct halo *h) {
    (void)p, (void)op, (void)d, (void)h;
}

static void set_reduce_window(struct spmd *p, ir_op op, uint32_t d, const struct halo *h) {
    set_padding(p, op, IR_REDUCE_WINDOW_padding, ir_val_type(p->m, ir_operand(p->m, op, 0))->rank, d, h);
}

static void set_convolution(struct spmd *p, ir_op op, uint32_t d, const struct halo *h) {
    size_t n, i = spatial_number(p, op, d, &n);
    set_padding(p, op, IR_CONVOLUTION_padding, n, i, h);
}

static const struct reader {
    enum ir_op_kind kind;
    bool (*read)(const struct spmd *p, ir_op op, uint32_t d, struct reading *r);
    void (*set)(struct spmd *p, ir_op op, uint32_t d, const struct halo *h);
} readers[] = {{IR_SLICE, read_slice, set_slice}, {IR_PAD, read_pad, set_pad}, {IR_REVERSE, read_reverse, set_reverse},
               {IR_REDUCE_WINDOW, read_reduce_window, set_reduce_window},
               {IR_CONVOLUTION, read_convolution, set_convolution}};

static const struct reader *reader_of(const struct spmd *p, ir_op op) {
    for (size_t i = 0; i < sizeof readers / sizeof *readers; i++)
        if (readers[i].kind == ir_kind(p->m, op))
            return &readers[i];
    return NULL;
}

static bool reading_of(const struct spmd *p, ir_op op, uint32_t d, struct reading *r) {
    const struct reader *x = reader_of(p, op);
    *r = (struct reading){.out = d, .kernel = -1, .window = 1, .dilation = 1, .stride = 1, .base = 1};
    return x && x->read(p, op, d, r);
}

/* ---- parts ---------------------------------------------------------------------------------------- */

static int64_t part_size(int64_t size, int64_t parts) {
    return size / parts + (size % parts != 0);
}

/* How a dimension of `in` elements, read as r, is divided: into parts of the result, or of the kernel where it `contracts`.
   False where parts differ in more than where they begin. The last parts of operand and result may end in padding. */
static bool divide(const struct reading *r, int64_t in, int64_t kernel, int64_t out, int64_t parts, bool contracts,
                   struct halo *h) {
    int64_t divided = contracts ? kernel : out, window = r->kernel < 0 ? r->window : kernel;
    const int64_t sizes[] = {in, out, window, r->dilation, r->stride, r->base};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        if (sizes[i] < 1 || sizes[i] > SIZES)
            return false;
    if (r->low < -SIZES || r->low > SIZES || parts > SIZES || (contracts && kernel % parts))
        return false;
    int64_t n = part_size(divided, parts), step = n * (contracts ? r->dilation : r->stride);
    int64_t windows = contracts ? out : n, places = contracts ? n : window;
    int64_t reach = (windows - 1) * r->stride + (places - 1) * r->dilation;
    int64_t low = r->low % r->base < 0 ? r->low % r->base + r->base : r->low % r->base;
    if (step % r->base || reach < low)
        return false;
    *h = (struct halo){.parts = parts, .size = part_size(in, parts), .step = step / r->base, .low = low,
                       .first = (low - r->low) / r->base, .count = (reach - low) / r->base + 1};
    h->mirrored = r->reversed && (contracts || r->kernel < 0);
    if (h->mirrored && !contracts) /* the last part of the result, which padding may end, is what comes first */
        h->first = in - parts * h->size;
    h->beyond = (out - 1) * r->stride + (window - 1) * r->dilation - r->low >= in * r->base;
    h->high = reach - low - (h->count - 1) * r->base;
    return h->count <= SIZES;
}

/* ---- pieces ------------------------------------------------------------------------------------- */

static int64_t floor_div(int64_t a, int64_t b) {
    return a / b - (a % b < 0);
}

/* What part k needs of part k + hop, from where that begins; false: nothing. */
static bool needed(const struct halo *h, int64_t k, int64_t hop, int64_t *from, int64_t *to) {
    int64_t begin = h->first + k * h->step - (k + hop) * h->size;
    *from = begin < 0 ? 0 : begin;
    *to = least(begin + h->count, h->size);
    return (h->wraps || (k + hop >= 0 && k + hop < h->parts)) && *from < *to;
}

static int64_t first_hop(const struct halo *h, int64_t k) {
    return floor_div(h->first + k * h->step, h->size) - k;
}

static int64_t last_hop(const struct halo *h, int64_t k) {
    return floor_div(h->first + k * h->step + h->count - 1, h->size) - k;
}

/* The most that a part needs of the one at that distance. */
static int64_t piece_size(const struct halo *h, int64_t hop) {
    int64_t most = 0, from, to;
    for (int64_t k = 0; k < h->parts; k++)
        if (needed(h, k, hop, &from, &to) && to - from > most)
            most = to - from;
    return most;
}

static void hops(const struct halo *h, int64_t *first, int64_t *last) {
    int64_t ends[4] = {first_hop(h, 0), first_hop(h, h->parts - 1), last_hop(h, 0), last_hop(h, h->parts - 1)};
    *first = ends[0] < ends[1] ? ends[0] : ends[1];
    *last = ends[2] > ends[3] ? ends[2] : ends[3];
    *first = *first < 1 - h->parts ? 1 - h->parts : *first;
    *last = least(*last, h->parts - 1);
}

/* Elements that a partition receives along the dimension, and in how many pieces. */
static int64_t received(const struct halo *h, int64_t *pieces) {
    int64_t first, last, sum = 0;
    *pieces = 0;
    hops(h, &first, &last);
    for (int64_t hop = first; hop <= last; hop++) {
        int64_t n = hop || h->mirrored ? piece_size(h, hop) : 0;
        sum += n;
        *pieces += n > 0;
    }
    return sum;
}

/* ---- which factors ------------------------------------------------------------------------------ */

static bool maps(const struct sdy_rule *rule, uint32_t tensor, int64_t dim, uint32_t factor) {
    for (uint32_t i = 0; dim >= 0 && i < rule->dims[tensor][dim].n; i++)
        if (rule->dims[tensor][dim].v[i] == factor)
            return true;
    return false;
}

static bool is_plain(const struct reading *r) {
    return r->kernel < 0 && r->window == 1 && r->stride == 1 && r->base == 1 && r->low == 0 && !r->reversed;
}

static const struct ir_type_data *operand_type(const struct spmd *p, ir_op op, uint32_t i) {
    return ir_type_get(p->m, spmd_global_type(p, ir_operand(p->m, op, i)));
}

/* The dimension of the first operand with the factor that is read so; -1: none. */
static int64_t halo_dim(const struct spmd *p, ir_op op, const struct sdy_rule *rule, uint32_t factor, struct reading *r) {
    const struct ir_type_data *out = ir_op_get(p->m, op)->nresults ? ir_val_type(p->m, ir_result(p->m, op, 0)) : NULL;
    for (uint32_t d = 0; rule->noperands && d < rule->ranks[0]; d++) {
        if (!maps(rule, 0, d, factor) || !reading_of(p, op, d, r))
            continue;
        bool whole = is_plain(r) && operand_type(p, op, 0)->dims[d] == out->dims[r->out];
        return whole ? -1 : (int64_t)d;
    }
    return -1;
}

bool spmd_is_halo(const struct spmd *p, ir_op op, const struct sdy_rule *rule, uint32_t factor) {
    struct reading r;
    return halo_dim(p, op, rule, factor, &r) >= 0;
}

bool spmd_halo_fits(const struct spmd *p, ir_op op, const struct sdy_rule *rule, uint32_t factor, int64_t parts) {
    struct reading r;
    struct halo h;
    int64_t d = halo_dim(p, op, rule, factor, &r), kernel, pieces;
    if (d < 0)
        return true;
    kernel = r.kernel < 0 ? 0 : operand_type(p, op, 1)->dims[r.kernel];
    bool contracts = r.kernel >= 0 && !maps(rule, rule->noperands, r.out, factor);
    if (!divide(&r, operand_type(p, op, 0)->dims[d], kernel, ir_val_type(p->m, ir_result(p->m, op, 0))->dims[r.out], parts,
                contracts, &h) || h.count / h.size > parts)
        return false;
    int64_t n = received(&h, &pieces);
    return pieces < 2 || n < (parts - 1) * h.size; /* else all may as well be gathered */
}

/* ---- exchanging --------------------------------------------------------------------------------- */

/* Along dimension d of the first operand; types and shardings of operands, then results. */
static bool halo_of(const struct spmd *p, ir_op op, const ir_type *types, uint32_t d, const struct sdy_sharding *const *s,
                    struct reading *r, struct halo *h) {
    if (!s[0] || !s[0]->dims[d].axes.n || !reading_of(p, op, d, r))
        return false;
    int64_t in = ir_type_get(p->m, types[0])->dims[d];
    int64_t out = ir_type_get(p->m, types[ir_op_get(p->m, op)->noperands])->dims[r->out];
    int64_t kernel = r->kernel < 0 ? 0 : ir_type_get(p->m, types[1])->dims[r->kernel];
    bool contracts = r->kernel >= 0 && s[1] && s[1]->dims[r->kernel].axes.n;
    return !(is_plain(r) && in == out) && divide(r, in, kernel, out, sdy_dim_parts(&s[0]->dims[d]), contracts, h);
}

/* Operands that are read so: all but the initial values, or the first. */
static uint32_t inputs_of(const struct spmd *p, ir_op op) {
    return ir_kind(p->m, op) == IR_REDUCE_WINDOW ? ir_op_get(p->m, op)->nresults : 1;
}

double spmd_halo_cost(const struct spmd *p, ir_op op, const ir_type *types, const struct sdy_sharding *const *s) {
    double bytes = 0;
    uint32_t rank = s[0] ? s[0]->rank : 0;
    for (uint32_t i = 0; i < inputs_of(p, op) && rank; i++) {
        const struct ir_type_data *t = ir_type_get(p->m, types[i]);
        double size = ir_dtype_get(t->dtype)->bits / 8.0;
        for (uint32_t d = 0; d < rank; d++)
            size *= (double)t->dims[d] / (double)sdy_dim_parts(&s[0]->dims[d]);
        for (uint32_t d = 0; d < rank; d++) {
            struct reading r;
            struct halo h;
            int64_t pieces;
            if (!halo_of(p, op, types, d, s, &r, &h))
                continue;
            bytes += size / (double)h.size * (double)received(&h, &pieces);
            size *= (double)h.count / (double)h.size;
        }
    }
    return bytes;
}

/* An exchange of one value. */
struct exchange {
    struct spmd *p;
    ir_op at;
    ir_val v;
    uint32_t dim;
    const struct sdy_mesh *mesh;
    struct sdy_axes axes;
    const struct halo *h;
    const int32_t *held;        /* by partition: its part */
    ir_val fill;                /* what is outside of the dimension; none: zeros */
    ir_val from;                /* v before its padding was overwritten */
};

static int64_t part_of(const struct exchange *x, uint32_t partition) {
    return x->h->mirrored ? x->h->parts - 1 - x->held[partition] : x->held[partition];
}

static ir_type sized(const struct exchange *x, int64_t n) {
    const struct ir_type_data *t = ir_val_type(x->p->m, x->v);
    int64_t dims[IR_MAX_RANK];
    memcpy(dims, t->dims, t->rank * sizeof *dims);
    dims[x->dim] = n;
    return ir_type_with_dims(x->p->m, ir_val_get(x->p->m, x->v)->type, dims, t->rank);
}

/* n elements of what is outside. */
static ir_val outside(const struct exchange *x, int64_t n) {
    ir_op op;
    if (IR_NONE(x->fill))
        return spmd_make_zero(x->p, x->at, sized(x, n));
    ir_val out = spmd_make(x->p, x->at, IR_BROADCAST_IN_DIM, &x->fill, 1, sized(x, n), &op);
    ir_set_prop(x->p->m, op, IR_BROADCAST_IN_DIM_broadcast_dimensions, ir_attr_i64s(x->p->m, NULL, 0));
    return out;
}

ir_val spmd_make_slice(struct spmd *p, ir_op at, ir_val v, uint32_t dim, int64_t from, int64_t to) {
    const struct ir_type_data *t = ir_val_type(p->m, v);
    int64_t begins[IR_MAX_RANK] = {0}, ends[IR_MAX_RANK], ones[IR_MAX_RANK], sizes[IR_MAX_RANK];
    uint32_t rank = t->rank;
    ir_op op;
    for (uint32_t d = 0; d < rank; d++) {
        ones[d] = 1;
        ends[d] = d == dim ? to : t->dims[d];
        sizes[d] = d == dim ? to - from : t->dims[d];
    }
    begins[dim] = from;
    ir_val out = spmd_make(p, at, IR_SLICE, &v, 1, ir_type_with_dims(p->m, ir_val_get(p->m, v)->type, sizes, rank), &op);
    ir_set_prop(p->m, op, IR_SLICE_start_indices, ir_attr_i64s(p->m, begins, rank));
    ir_set_prop(p->m, op, IR_SLICE_limit_indices, ir_attr_i64s(p->m, ends, rank));
    ir_set_prop(p->m, op, IR_SLICE_strides, ir_attr_i64s(p->m, ones, rank));
    return out;
}

/* n elements from those on that each partition begins at. */
static ir_val cut(const struct exchange *x, ir_val v, const int32_t *from, int64_t n) {
    struct ir_module *m = x->p->m;
    const struct ir_type_data *t = ir_val_type(m, v);
    uint32_t rank = t->rank;
    static const int32_t zero = 0;
    bool same = true;
    if (n == t->dims[x->dim])
        return v;
    for (uint32_t i = 0; i < x->p->partitions; i++)
        same &= from[i] == from[0];
    if (!same) {
        ir_val in[IR_MAX_RANK + 1] = {v};
        for (uint32_t d = 0; d < rank; d++)
            in[d + 1] = d == x->dim ? spmd_begin(x->p, x->at, from, 1) : spmd_make_table(x->p, x->at, &zero, 1, 0);
        ir_op op;
        ir_type type = sized(x, n);
        ir_val out = spmd_make(x->p, x->at, IR_DYNAMIC_SLICE, in, rank + 1, type, &op);
        ir_set_prop(m, op, IR_DYNAMIC_SLICE_slice_sizes, ir_attr_i64s(m, ir_type_get(m, type)->dims, rank));
        return out;
    }
    return spmd_make_slice(x->p, x->at, v, x->dim, from[0], from[0] + n);
}

/* Whether an op is computed wherever `at` is: before it in its block, or in one around it. */
static bool is_before(const struct spmd *p, ir_op op, ir_op at) {
    ir_block block = ir_op_get(p->m, op)->parent, b = ir_op_get(p->m, at)->parent;
    while (!IR_SAME(b, block)) {
        ir_op around = ir_region_get(p->m, ir_block_get(p->m, b)->parent)->parent;
        if (IR_NONE(around) || IR_NONE(ir_op_get(p->m, around)->parent))
            return false;
        b = ir_op_get(p->m, around)->parent;
    }
    return true;
}

/* What was sent before and has these elements, all partitions' at one place in it; none where nothing has. */
static ir_val sent_before(const struct exchange *x, const struct spmd_sent *s) {
    for (uint32_t i = 0; i < x->p->sent.n; i++) {
        const struct spmd_sent *k = &x->p->sent.v[i];
        int64_t from = s->begins[0] - k->begins[0];
        bool same = IR_SAME(k->v, s->v) && k->masked == s->masked && IR_SAME(k->fill, s->fill) && k->dim == s->dim &&
                    k->npairs == s->npairs && memcmp(k->pairs, s->pairs, 2 * (size_t)s->npairs * sizeof *s->pairs) == 0 &&
                    from >= 0 && from + s->size <= k->size && is_before(x->p, ir_val_get(x->p->m, k->made)->op, x->at);
        for (uint32_t n = 0; n < x->p->partitions && same; n++)
            same = s->begins[n] - k->begins[n] == from;
        if (same && k->size == s->size)
            return k->made;
        if (same)
            return spmd_make_slice(x->p, x->at, k->made, x->dim, from, from + s->size);
    }
    return (ir_val){0};
}

/* The piece of `size` elements that each partition gets from the part at that distance, zeros where there is none. *from, *has,
   by what is said of part k: where the piece begins in part k + hop, and whether there is one. */
static ir_val send(const struct exchange *x, int64_t hop, int64_t size, int64_t *from, bool *has) {
    const struct halo *h = x->h;
    const int64_t parts = h->parts;
    int32_t *source = ARENA_ARRAY(x->p->a, int32_t, x->p->partitions), *begin = ARENA_ARRAY(x->p->a, int32_t, x->p->partitions);
    int64_t *pairs = ARENA_ARRAY(x->p->a, int64_t, 2 * (size_t)x->p->partitions), to, any = 0;
    uint32_t n = 0;
    for (int64_t k = 0; k < h->parts; k++) {
        has[k] = needed(h, k, hop, &from[k], &to);
        from[k] = has[k] ? least(from[k], h->size - size) : 0;
        any = has[k] ? from[k] : any;
    }
    for (uint32_t i = 0; i < x->p->partitions; i++) {
        int64_t k = x->held[i] - hop, part = part_of(x, i), other = part + hop;
        k = h->wraps ? (k + parts) % parts : k;
        other = h->wraps ? other % parts : other;
        begin[i] = (int32_t)(k >= 0 && k < h->parts && has[k] ? from[k] : any); /* who sends nothing cuts as the others do */
        source[i] = has[part] ? (int32_t)other : -1;
    }
    if (hop % parts == 0 && !h->mirrored)
        return cut(x, x->v, begin, size);
    source = spmd_partners(x->p, x->mesh, x->axes, source);
    for (uint32_t i = 0; i < x->p->partitions; i++)
        if (source[i] >= 0) {
            pairs[2 * n] = source[i];
            pairs[2 * n++ + 1] = i;
        }
    bool masked = !IR_SAME(x->v, x->from);
    struct spmd_sent sent = {.v = x->from, .masked = masked, .fill = masked ? x->fill : (ir_val){0}, .dim = x->dim,
                             .npairs = n, .size = size, .begins = begin, .pairs = pairs};
    ir_val before = sent_before(x, &sent);
    if (!IR_NONE(before))
        return before;
    sent.made = spmd_make_permute(x->p, x->at, cut(x, x->v, begin, size), pairs, n);
    ARENA_PUSH(x->p->a, &x->p->sent, sent);
    return sent.made;
}

/* Partitions that have nothing get what is outside. */
static ir_val fill_missing(const struct exchange *x, ir_val piece, const bool *has, int64_t size) {
    int32_t *flags = ARENA_ARRAY(x->p->a, int32_t, x->p->partitions);
    bool all = true;
    for (uint32_t i = 0; i < x->p->partitions; i++) {
        flags[i] = has[part_of(x, i)];
        all &= flags[i] != 0;
    }
    if (all || IR_NONE(x->fill))
        return piece;
    ir_val there = spmd_begin(x->p, x->at, flags, 1);
    ir_val in[3] = {spmd_make(x->p, x->at, IR_CONVERT, &there, 1, ir_type_of(x->p->m, IR_I1_T, NULL, 0), NULL), piece,
                    outside(x, size)};
    return spmd_make(x->p, x->at, IR_SELECT, in, 3, sized(x, size), NULL);
}

/* Every part needs the same of the same neighbours. */
static ir_val concatenate(const struct exchange *x) {
    const struct halo *h = x->h;
    int64_t first = first_hop(h, 0), last = last_hop(h, 0), most = 1 - h->parts, size = 0;
    int64_t *from = ARENA_ARRAY(x->p->a, int64_t, (size_t)h->parts);
    bool *has = ARENA_ARRAY(x->p->a, bool, (size_t)h->parts);
    ir_val *in = ARENA_ARRAY(x->p->a, ir_val, 2 * (size_t)h->parts + 2);
    uint32_t n = 0;
    if (first < most) { /* before what any part has */
        size = least(h->count, most * h->size - h->first);
        in[n++] = outside(x, size);
    }
    for (int64_t hop = first < most ? most : first; hop <= last && (h->wraps || hop < h->parts); hop++) {
        int64_t piece = piece_size(h, hop);
        ir_val v = send(x, hop, piece, from, has);
        in[n++] = fill_missing(x, v, has, piece);
        size += piece;
    }
    if (size < h->count)
        in[n++] = outside(x, h->count - size);
    if (n == 1)
        return in[0];
    ir_op op;
    ir_val out = spmd_make(x->p, x->at, IR_CONCATENATE, in, n, sized(x, h->count), &op);
    ir_set_prop(x->p->m, op, IR_CONCATENATE_dimension, ir_attr_i64(x->p->m, x->dim));
    return out;
}

/* Pieces at their places in what is outside of the dimension, and a margin for what reaches over the ends. */
static ir_val put_pieces(const struct exchange *x) {
    const struct halo *h = x->h;
    static const int32_t zero = 0;
    int64_t first, last, margin = 0, *from = ARENA_ARRAY(x->p->a, int64_t, (size_t)h->parts);
    bool *has = ARENA_ARRAY(x->p->a, bool, (size_t)h->parts);
    int32_t *place = ARENA_ARRAY(x->p->a, int32_t, x->p->partitions);
    uint32_t rank = ir_val_type(x->p->m, x->v)->rank;
    hops(h, &first, &last);
    for (int64_t hop = first; hop <= last; hop++)
        margin = piece_size(h, hop) > margin ? piece_size(h, hop) : margin;
    int64_t n = h->count + 2 * margin;
    ir_val out = outside(x, n);
    for (int64_t hop = first; hop <= last; hop++) {
        int64_t size = piece_size(h, hop);
        if (!size)
            continue;
        ir_val in[IR_MAX_RANK + 2] = {out, send(x, hop, size, from, has)};
        for (uint32_t i = 0; i < x->p->partitions; i++) {
            int64_t k = part_of(x, i);
            place[i] = has[k] ? (int32_t)(margin + (k + hop) * h->size + from[k] - h->first - k * h->step) : 0;
        }
        for (uint32_t d = 0; d < rank; d++)
            in[d + 2] = d == x->dim ? spmd_begin(x->p, x->at, place, 1) : spmd_make_table(x->p, x->at, &zero, 1, 0);
        out = spmd_make(x->p, x->at, IR_DYNAMIC_UPDATE_SLICE, in, rank + 2, sized(x, n), NULL);
    }
    for (uint32_t i = 0; i < x->p->partitions; i++)
        place[i] = (int32_t)margin;
    return cut(x, out, place, h->count);
}

void spmd_halo(struct spmd *p, ir_op op, const ir_type *types, const struct sdy_sharding *const *s) {
    uint32_t rank = s[0] ? s[0]->rank : 0, inputs = inputs_of(p, op), n = 0;
    struct { struct halo h; uint32_t dim; } halos[IR_MAX_RANK];
    struct reading r;
    for (uint32_t d = 0; d < rank; d++)
        if (halo_of(p, op, types, d, s, &r, &halos[n].h))
            halos[n++].dim = d;
    for (uint32_t k = 0; k < n; k++) {
        const struct halo *h = &halos[k].h;
        struct sdy_axes axes = s[0]->dims[halos[k].dim].axes;
        struct exchange x = {.p = p, .at = op, .dim = halos[k].dim, .mesh = s[0]->mesh, .axes = axes, .h = h,
                             .held = spmd_held(p, s[0]->mesh, axes)};
        for (uint32_t i = 0; i < inputs; i++) {
            x.v = x.from = ir_operand(p->m, op, i);
            if (ir_kind(p->m, op) == IR_PAD || ir_kind(p->m, op) == IR_REDUCE_WINDOW)
                x.fill = ir_operand(p->m, op, inputs + i);
            if (h->beyond)
                x.v = spmd_mask_end(p, op, x.v, s[0], x.dim, ir_type_get(p->m, types[i])->dims[x.dim], x.fill);
            ir_set_operand(p->m, op, i, h->step == h->size ? concatenate(&x) : put_pieces(&x));
        }
        reader_of(p, op)->set(p, op, halos[k].dim, h);
    }
}

ir_val spmd_rotate(struct spmd *p, ir_op at, ir_val v, const struct sdy_sharding *s, uint32_t dim, int64_t by) {
    struct sdy_axes axes = s->dims[dim].axes;
    int64_t size = ir_val_type(p->m, v)->dims[dim];
    struct halo h = {.parts = sdy_axes_size(axes), .size = size, .step = size, .first = by, .count = size, .wraps = true};
    struct exchange x = {.p = p, .at = at, .v = v, .from = v, .dim = dim, .mesh = s->mesh, .axes = axes, .h = &h,
                         .held = spmd_held(p, s->mesh, axes)};
    return concatenate(&x);
}
