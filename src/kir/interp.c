/* Runs a kernel: the definition of what it computes.
 *
 * A value inside a vector loop has a number for each lane, any other has one. All active lanes execute an op before any
 * executes the next; in the last step of a loop whose extent is no multiple of its lanes, only the first ones are active. */
#include "kir/node.h"

/* A reduction over the lanes of a vector loop: `lanes` accumulators for each of the registers, a row per register. */
struct reduction {
    kir_val loop, acc;
    int64_t *sums;
};

/* Bytes of scratch memory that products read which are added to a register and not yet waited for. */
struct in_flight {
    uint32_t reg;
    size_t begin, end;
};

struct run {
    struct arena arena;
    const struct kir *k;
    struct diag_list *d;
    void **memory;      /* by buffer */
    int64_t begin, end; /* of the grid */
    uint64_t steps;     /* left to execute */
    int64_t **values;   /* by node: a number per lane; of REG a row of them per register; of ACC over lanes its sums */
    uint32_t *lanes;    /* by node: numbers; 1 outside of vector loops */
    uint32_t active;    /* lanes that run */
    struct { struct reduction *v; uint32_t n, cap; } reductions;
    uint8_t tiles[8][16][64];
    uint64_t *copied;   /* by 4 bytes of scratch memory: 1 + the group of the last copy to it; NULL in a kernel without */
    struct boxed { uint32_t mbarriers; uint64_t group; } *boxed; /* likewise: of copies of boxes; group from 1 */
    struct mbarriers { uint64_t base, begun, waited; } *mbarriers; /* by buffer: groups, since ever; base: before this loop */
    uint32_t expecting; /* the mbarriers of the copies that follow */
    struct { struct in_flight *v; uint32_t n, cap; } in_flight;
    uint64_t groups, landed, last; /* of copies: committed; waited for; 1 + that of the last copy */
    uint64_t counts[KIR_COUNTS];
};

static int64_t read_lane(const struct run *r, kir_val v, uint32_t lane) { return r->values[v.i][r->lanes[v.i] > 1 ? lane : 0]; }
/* The number of lanes of a node that are computed. */
static uint32_t lanes_of(const struct run *r, kir_val v) { return r->lanes[v.i] > 1 ? r->active : 1; }

static bool spend(struct run *r, uint64_t steps) {
    if (r->steps < steps) {
        diag_error(r->d, HILO_DEADLINE_EXCEEDED, "kernel %s: takes more steps than it may", r->k->name);
        return false;
    }
    r->steps -= steps;
    return true;
}

/* ---- memory ---------------------------------------------------------------------------------- */

static bool outside(struct run *r, uint32_t buffer, int64_t index) {
    diag_error(r->d, HILO_OUT_OF_RANGE, "kernel %s: index %lld of buffer b%u, which has %lld elements", r->k->name,
               (long long)index, (unsigned)buffer, (long long)r->k->buffers.v[buffer].count);
    return false;
}

/* Whether no copy to these bytes of the scratch memory is under way. */
static bool has_landed(const struct run *r, size_t offset, size_t bytes) {
    for (size_t i = offset / 4; i <= (offset + bytes - 1) / 4; i++)
        if ((r->copied && r->copied[i] > r->landed) ||
            (r->boxed && r->boxed[i].group > r->mbarriers[r->boxed[i].mbarriers].waited))
            return false;
    return true;
}

/* `bytes` bytes from an element on; NULL, with a diagnostic, when they are not inside, or being copied. */
static void *element(struct run *r, uint32_t buffer, int64_t index, size_t bytes) {
    const struct kir_buffer *b = &r->k->buffers.v[buffer];
    size_t size = ir_dtype_get(b->dtype)->bytes;
    if (index < 0 || index >= b->count || bytes > (size_t)(b->count - index) * size) {
        outside(r, buffer, index);
        return NULL;
    }
    if ((r->copied || r->boxed) && b->role == KIR_SCRATCH && !has_landed(r, b->offset + (size_t)index * size, bytes)) {
        diag_error(r->d, HILO_FAILED_PRECONDITION, "kernel %s: element %lld of buffer b%u, whose copy is not waited for",
                   r->k->name, (long long)index, (unsigned)buffer);
        return NULL;
    }
    return (char *)r->memory[buffer] + (size_t)index * size;
}

static int64_t load_element(enum ir_dtype t, const void *p) {
    const struct ir_dtype_info *info = ir_dtype_get(t);
    enum kir_type type = kir_type_of(t);
    if (info->cls == IR_FLOAT) {
        uint64_t bits = fp_load(info->fp, p);
        if (info->bits < 32)
            bits = fp_f32_bits((float)fp_decode(info->fp, bits));
        return kir_narrow(type, bits);
    }
    uint64_t bits = 0;
    for (uint32_t i = 0; i < info->bytes; i++)
        bits |= (uint64_t)((const uint8_t *)p)[i] << 8 * i;
    return info->cls == IR_PRED ? bits != 0 : kir_narrow(type, bits);
}

static void store_element(enum ir_dtype t, void *p, int64_t v) {
    const struct ir_dtype_info *info = ir_dtype_get(t);
    if (info->cls == IR_FLOAT) {
        bool narrow = info->bits < 32;
        fp_store(info->fp, p, narrow ? fp_encode_f32(info->fp, fp_f32_from_bits((uint32_t)v)) : (uint64_t)v);
        return;
    }
    for (uint32_t i = 0; i < info->bytes; i++)
        ((uint8_t *)p)[i] = (uint8_t)((uint64_t)v >> 8 * i);
}

static void count(struct run *r, enum kir_count what, uint64_t n) { r->counts[what] += n; }

const char *kir_count_name(enum kir_count c) {
    static const char *const names[] = {"mul",   "fma",          "dot2",   "dot4",         "dot2_i8", "dot2_bf16",  "tile",
                                        "loads", "loaded bytes", "stores", "stored bytes", "iterations"};
    return names[c];
}

static void count_access(struct run *r, enum kir_count elements, size_t bytes) {
    count(r, elements, 1);
    count(r, elements + 1, bytes);
}

static bool run_load(struct run *r, kir_val v, const struct kir_node *n) {
    enum ir_dtype t = r->k->buffers.v[n->of].dtype;
    for (uint32_t l = 0; l < lanes_of(r, v); l++) {
        if (KIR_IS(n->arg[1]) && !read_lane(r, n->arg[1], l)) {
            r->values[v.i][l] = read_lane(r, n->arg[2], l);
            continue;
        }
        void *p = element(r, n->of, read_lane(r, n->arg[0], l), ir_dtype_get(t)->bytes);
        if (!p)
            return false;
        r->values[v.i][l] = load_element(t, p);
        count_access(r, KIR_COUNT_LOADS, ir_dtype_get(t)->bytes);
    }
    return true;
}

static bool run_store(struct run *r, kir_val v, const struct kir_node *n) {
    enum ir_dtype t = r->k->buffers.v[n->of].dtype;
    for (uint32_t l = 0; l < lanes_of(r, v); l++) {
        if (KIR_IS(n->arg[2]) && !read_lane(r, n->arg[2], l))
            continue;
        void *p = element(r, n->of, read_lane(r, n->arg[0], l), ir_dtype_get(t)->bytes);
        if (!p)
            return false;
        store_element(t, p, read_lane(r, n->arg[1], l));
        count_access(r, KIR_COUNT_STORES, ir_dtype_get(t)->bytes);
    }
    return true;
}

/* ---- registers ------------------------------------------------------------------------------- */

/* The row of a register that an index, the same for all lanes, names; of GET, SET and ACC. */
static int64_t *row_of(const struct run *r, kir_val index, int64_t *rows, uint32_t lanes) {
    return rows + (KIR_IS(index) ? read_lane(r, index, 0) : 0) * lanes;
}

static void run_register(struct run *r, kir_val v, const struct kir_node *n) {
    kir_val reg = {n->op == KIR_REG ? v.i : n->of}, index = n->arg[n->op != KIR_GET];
    const struct kir_node *of = kir_get(r->k, reg);
    uint32_t lanes = lanes_of(r, v);
    int64_t *rows = r->values[reg.i];
    if (n->op == KIR_REG) {
        for (int64_t i = 0; i < n->imm; i++)
            for (uint32_t l = 0; l < lanes; l++)
                rows[i * r->lanes[v.i] + l] = read_lane(r, n->arg[0], l);
        return;
    }
    int64_t *row = row_of(r, index, rows, r->lanes[reg.i]);
    if (n->op == KIR_ACC && r->values[v.i])
        row = row_of(r, index, r->values[v.i], r->lanes[v.i]);
    for (uint32_t l = 0; l < lanes; l++)
        if (n->op == KIR_GET)
            r->values[v.i][l] = row[r->lanes[reg.i] > 1 ? l : 0];
        else if (n->op == KIR_SET)
            row[l] = read_lane(r, n->arg[0], l);
        else
            row[l] = kir_combine(n, (enum kir_type)of->type, row[l], read_lane(r, n->arg[0], l));
}

static void begin_reductions(struct run *r, kir_val loop, uint32_t lanes) {
    for (uint32_t i = 0; i < r->reductions.n; i++) {
        const struct reduction *red = &r->reductions.v[i];
        const struct kir_node *acc = kir_get(r->k, red->acc), *reg = &r->k->nodes.v[acc->of];
        if (red->loop.i == loop.i)
            for (int64_t j = 0; j < reg->imm * lanes; j++)
                red->sums[j] = kir_neutral_bits((enum kir_op)acc->sub, acc->flags, (enum kir_type)reg->type);
    }
}

/* Lane l with lane l + half of them, until one is left; then the register with that. */
static void end_reductions(struct run *r, kir_val loop, uint32_t lanes) {
    for (uint32_t i = 0; i < r->reductions.n; i++) {
        const struct reduction *red = &r->reductions.v[i];
        const struct kir_node *acc = kir_get(r->k, red->acc), *reg = &r->k->nodes.v[acc->of];
        enum kir_type t = (enum kir_type)reg->type;
        if (red->loop.i != loop.i)
            continue;
        for (int64_t j = 0; j < reg->imm; j++) {
            int64_t *row = red->sums + j * lanes, *total = r->values[acc->of] + j;
            for (uint32_t half = lanes / 2; half; half /= 2)
                for (uint32_t l = 0; l < half; l++)
                    row[l] = kir_combine(acc, t, row[l], row[l + half]);
            *total = kir_combine(acc, t, *total, row[0]);
        }
    }
}

/* ---- tiles ----------------------------------------------------------------------------------- */

static bool run_tile_rows(struct run *r, const struct kir_node *n) {
    int64_t at = read_lane(r, n->arg[0], 0), distance = read_lane(r, n->arg[1], 0);
    for (int row = 0; row < 16; row++) {
        void *p = element(r, n->of, at, 64);
        if (!p)
            return false;
        count_access(r, n->op == KIR_TLOAD ? KIR_COUNT_LOADS : KIR_COUNT_STORES, 64);
        if (n->op == KIR_TLOAD)
            memcpy(r->tiles[n->imm][row], p, 64);
        else
            memcpy(p, r->tiles[n->imm][row], 64);
        at = (int64_t)((uint64_t)at + (uint64_t)distance);
    }
    return true;
}

/* Subnormals count as zero, before and after. */
static float flushed(float x) {
    return (fp_f32_bits(x) & 0x7F800000) ? x : fp_f32_from_bits(fp_f32_bits(x) & 0x80000000);
}

/* As x86's TDPBF16PS: the products of even and of odd elements are added up apart, each with one rounding. */
static float dot_bf16(float sum, const uint8_t *a, const uint8_t (*b)[64], int column) {
    float part[2] = {0, 0};
    for (int i = 0; i < 32; i++) {
        uint16_t x, y;
        memcpy(&x, a + 2 * i, 2);
        memcpy(&y, b[i / 2] + 4 * column + 2 * (i % 2), 2);
        part[i % 2] = flushed(__builtin_fmaf(flushed(bf16_to_f32(x)), flushed(bf16_to_f32(y)), part[i % 2]));
    }
    return flushed(flushed(sum) + flushed(part[0] + part[1]));
}

static uint32_t dot_i8(uint32_t sum, const uint8_t *a, const uint8_t (*b)[64], int column, enum kir_tile format) {
    bool ua = kir_tile_unsigned(format, 0), ub = kir_tile_unsigned(format, 1);
    for (int i = 0; i < 64; i++) {
        uint8_t p = a[i], q = b[i / 4][4 * column + i % 4];
        int32_t x = ua ? p : (int8_t)p, y = ub ? q : (int8_t)q;
        sum += (uint32_t)(x * y);
    }
    return sum;
}

static void run_tile_mul(struct run *r, const struct kir_node *n) {
    uint8_t sums[16][64]; /* the same tile may be read */
    const uint8_t(*a)[64] = (const uint8_t(*)[64])r->tiles[n->imm >> 3 & 7];
    const uint8_t(*b)[64] = (const uint8_t(*)[64])r->tiles[n->imm >> 6 & 7];
    memcpy(sums, r->tiles[n->imm & 7], sizeof sums);
    for (int row = 0; row < 16; row++)
        for (int column = 0; column < 16; column++) {
            uint32_t bits;
            memcpy(&bits, sums[row] + 4 * column, 4);
            if (n->sub == KIR_TILE_BF16)
                bits = fp_f32_bits(dot_bf16(fp_f32_from_bits(bits), a[row], b, column));
            else
                bits = dot_i8(bits, a[row], b, column, (enum kir_tile)n->sub);
            memcpy(sums[row] + 4 * column, &bits, 4);
        }
    memcpy(r->tiles[n->imm & 7], sums, sizeof sums);
    count(r, KIR_COUNT_TILE, 16 * 16 * (n->sub == KIR_TILE_BF16 ? 32 : 64));
}

/* ---- copies ---------------------------------------------------------------------------------- */

static bool is_in_flight(struct run *r, const struct kir_node *n, int64_t index, size_t bytes) {
    const struct kir_buffer *b = &r->k->buffers.v[n->of];
    size_t begin = b->offset + (size_t)index * ir_dtype_get(b->dtype)->bytes;
    for (uint32_t i = 0; i < r->in_flight.n; i++)
        if (begin < r->in_flight.v[i].end && r->in_flight.v[i].begin < begin + bytes) {
            diag_error(r->d, HILO_FAILED_PRECONDITION,
                       "kernel %s: element %lld of buffer b%u, which products that are not waited for read", r->k->name,
                       (long long)index, (unsigned)n->of);
            return true;
        }
    return false;
}

/* At once, since nothing may see when. */
static bool run_copy(struct run *r, const struct kir_node *n) {
    const struct kir_buffer *to = &r->k->buffers.v[n->of];
    size_t size = ir_dtype_get(to->dtype)->bytes, bytes = kir_copy_elements(n) * size;
    for (uint32_t l = 0; l < r->active; l++) {
        int64_t index = read_lane(r, n->arg[0], l), at = read_lane(r, n->arg[1], l);
        bool on = !KIR_IS(n->arg[2]) || read_lane(r, n->arg[2], l);
        void *p = element(r, n->of, index, bytes), *from = p && on ? element(r, kir_copy_from(n), at, bytes) : NULL;
        if (!p || (on && !from) || is_in_flight(r, n, index, bytes))
            return false;
        if ((uint64_t)index * size % bytes || (on && (uint64_t)at * size % bytes)) {
            diag_error(r->d, HILO_OUT_OF_RANGE, "kernel %s: a copy is not aligned", r->k->name);
            return false;
        }
        for (size_t i = 0; i < bytes; i += 4)
            r->copied[(to->offset + (size_t)index * size + i) / 4] = r->groups + 1;
        memset(p, 0, bytes);
        if (on) {
            memcpy(p, from, bytes);
            count_access(r, KIR_COUNT_LOADS, bytes);
        }
        count_access(r, KIR_COUNT_STORES, bytes);
    }
    r->last = r->groups + 1;
    return true;
}

static void wait_copies(struct run *r, uint64_t but) {
    if (r->groups > but && r->groups - but > r->landed)
        r->landed = r->groups - but;
}

static bool all_landed(const struct run *r) {
    if (r->last > r->landed)
        diag_error(r->d, HILO_FAILED_PRECONDITION, "kernel %s: a loop ends before its copies are waited for", r->k->name);
    return r->last <= r->landed;
}

/* ---- boxes of matrices ------------------------------------------------------------------------ */

/* Whether an mbarrier op names the group whose turn it is. */
static bool run_mbarrier(struct run *r, const struct kir_node *n) {
    struct mbarriers *m = &r->mbarriers[n->of];
    uint64_t group = (uint64_t)read_lane(r, n->arg[0], 0) + m->base, each = (uint64_t)r->k->buffers.v[n->of].count;
    bool wait = n->op == KIR_MBARRIER_WAIT;
    if (group != (wait ? m->waited : m->begun) || (wait ? group >= m->begun : m->begun - m->waited >= each)) {
        diag_error(r->d, HILO_FAILED_PRECONDITION, "kernel %s: group %lld of mbarriers b%u %s", r->k->name,
                   (long long)(group - m->base), (unsigned)n->of,
                   wait ? "is waited for, which is not the next that was begun"
                        : "is begun, which is not the next, or whose mbarrier has another one");
        return false;
    }
    m->waited += wait;
    m->begun += !wait;
    r->expecting = n->of;
    return true;
}

/* At once, as COPY_ASYNC. */
static bool run_box(struct run *r, const struct kir_node *n) {
    const struct kir_map *map = &r->k->maps.v[n->imm];
    const struct kir_buffer *to = &r->k->buffers.v[n->of];
    size_t size = ir_dtype_get(to->dtype)->bytes;
    int64_t index = read_lane(r, n->arg[0], 0), columns = kir_box_columns(r->k, map);
    int64_t column = read_lane(r, n->arg[1], 0), line = read_lane(r, n->arg[2], 0);
    uint8_t *p = element(r, n->of, index, kir_box_bytes(map));
    if (!p || is_in_flight(r, n, index, kir_box_bytes(map)))
        return false;
    size_t offset = to->offset + (size_t)index * size;
    if (offset % KIR_WGMMA_ALIGN) {
        diag_error(r->d, HILO_OUT_OF_RANGE, "kernel %s: a box is not copied to a multiple of 1024 bytes", r->k->name);
        return false;
    }
    for (size_t i = 0; i < kir_box_bytes(map); i += 4)
        r->boxed[(offset + i) / 4] = (struct boxed){r->expecting, r->mbarriers[r->expecting].begun};
    memset(p, 0, kir_box_bytes(map));
    for (int64_t i = 0; i < map->box; i++) {
        int64_t first = column < 0 ? -column : 0, end = map->columns - column < columns ? map->columns - column : columns;
        if (line + i < 0 || line + i >= map->lines || first >= end)
            continue;
        for (int64_t j = first; j < end; j++) {
            const uint8_t *from = element(r, map->buffer, (line + i) * map->stride + column + j, size);
            size_t at = (size_t)j * size, unit = at / 16 ^ (size_t)i % 8;
            if (!from)
                return false;
            memcpy(p + i * KIR_BOX_BYTES + unit * 16 + at % 16, from, size);
        }
        count_access(r, KIR_COUNT_LOADS, (size_t)(end - first) * size);
    }
    count_access(r, KIR_COUNT_STORES, kir_box_bytes(map));
    return true;
}

/* Groups are numbered from 0 again. */
static bool all_boxes_landed(struct run *r) {
    for (uint32_t i = 0; r->mbarriers && i < r->k->buffers.n; i++) {
        struct mbarriers *m = &r->mbarriers[i];
        if (m->begun > m->waited) {
            diag_error(r->d, HILO_FAILED_PRECONDITION, "kernel %s: a loop ends before groups of mbarriers b%u are waited for",
                       r->k->name, (unsigned)i);
            return false;
        }
        m->base = m->begun;
    }
    return true;
}

/* ---- warps ----------------------------------------------------------------------------------- */

/* The registers of all lanes from number `first` on. */
static int64_t *rows_from(const struct run *r, uint32_t reg, uint32_t first) {
    return r->values[reg] + (size_t)first * r->lanes[reg];
}

static bool run_ldmatrix(struct run *r, const struct kir_node *n) {
    enum { ROWS = 8, WORDS = 4, BYTES = 16 };
    uint32_t reg = n->arg[1].i, lanes = r->lanes[reg], bytes = ir_dtype_get(r->k->buffers.v[n->of].dtype)->bytes;
    int64_t *out = rows_from(r, reg, (uint32_t)n->imm);
    for (uint32_t l = 0; l < lanes; l++) { /* row l % 8 of a matrix */
        uint8_t *row = element(r, n->of, read_lane(r, n->arg[0], l), BYTES);
        int64_t *to = out + (size_t)(l % KIR_WARP / ROWS) * lanes + l / KIR_WARP * KIR_WARP;
        if (!row)
            return false;
        if ((uint64_t)read_lane(r, n->arg[0], l) * bytes % BYTES) {
            diag_error(r->d, HILO_OUT_OF_RANGE, "kernel %s: a row of a matrix is not aligned", r->k->name);
            return false;
        }
        for (uint32_t i = 0; i < ROWS; i++) {
            uint16_t half;
            uint32_t word, lane = n->flags & KIR_T ? WORDS * i + l % ROWS / 2 : WORDS * (l % ROWS) + i / 2;
            unsigned shift = 16 * (n->flags & KIR_T ? l % 2 : i % 2);
            memcpy(&half, row + 2 * i, sizeof half);
            word = ((uint32_t)to[lane] & ~(UINT32_C(0xFFFF) << shift)) | (uint32_t)half << shift;
            to[lane] = kir_narrow(KIR_I32, word);
        }
        count_access(r, KIR_COUNT_LOADS, BYTES);
    }
    return true;
}

/* A sum and the products of two words, in order. */
static int64_t add_products(enum kir_tile format, int64_t sum, uint32_t a, uint32_t b) {
    uint32_t total = (uint32_t)sum;
    if (format == KIR_TILE_BF16 || format == KIR_TILE_F16) {
        float x = fp_f32_from_bits(total);
        for (unsigned i = 0; i < 32; i += 16) {
            uint16_t p = (uint16_t)(a >> i), q = (uint16_t)(b >> i);
            bool half = format == KIR_TILE_F16;
            x = __builtin_fmaf(half ? (float)fp_decode(FP_F16, p) : bf16_to_f32(p),
                               half ? (float)fp_decode(FP_F16, q) : bf16_to_f32(q), x);
        }
        return kir_narrow(KIR_F32, fp_f32_bits(x));
    }
    for (unsigned i = 0; i < 32; i += 8) {
        uint8_t p = (uint8_t)(a >> i), q = (uint8_t)(b >> i);
        int32_t x = kir_tile_unsigned(format, 0) ? p : (int8_t)p, y = kir_tile_unsigned(format, 1) ? q : (int8_t)q;
        total += (uint32_t)(x * y);
    }
    return kir_narrow(KIR_I32, total);
}

static void run_mma(struct run *r, const struct kir_node *n) {
    uint32_t lanes = r->lanes[n->of];
    int64_t *sums = rows_from(r, n->of, kir_mma_first(n, 0));
    const int64_t *a = rows_from(r, n->arg[0].i, kir_mma_first(n, 1)), *b = rows_from(r, n->arg[1].i, kir_mma_first(n, 2));
    for (uint32_t i = 0; i < 4; i++)
        for (uint32_t l = 0; l < lanes; l++) {
            uint32_t warp = l / KIR_WARP * KIR_WARP, row = l % KIR_WARP / 4, column = 2 * (l % 4) + i % 2;
            int64_t *sum = &sums[(size_t)i * lanes + l];
            for (uint32_t w = 0; w < KIR_MMA_WORDS; w++) {
                uint32_t x = (uint32_t)a[(size_t)(i / 2 + w / 4 * 2) * lanes + warp + 4 * row + w % 4];
                uint32_t y = (uint32_t)b[(size_t)(w / 4) * lanes + warp + 4 * column + w % 4];
                *sum = add_products((enum kir_tile)n->sub, *sum, x, y);
            }
        }
    count(r, KIR_COUNT_TILE, (uint64_t)lanes * 4 * KIR_MMA_WORDS * kir_tile_factors((enum kir_tile)n->sub));
}

/* ---- warpgroups ------------------------------------------------------------------------------ */

/* Where factors of an operand of WGMMA begin, for the warpgroup that begins at a lane; NULL, with a diagnostic. */
static const uint8_t *wgmma_factors(struct run *r, const struct kir_node *n, int i, uint32_t first) {
    uint32_t buffer = kir_wgmma_buffer(n, i);
    int64_t at = read_lane(r, n->arg[i], first);
    const uint8_t *p = element(r, buffer, at, kir_wgmma_bytes(n, i));
    bool same = true;
    for (uint32_t l = 1; l < KIR_WARPGROUP; l++)
        same &= read_lane(r, n->arg[i], first + l) == at;
    if (p && (!same || (r->k->buffers.v[buffer].offset + 2 * (uint64_t)at) % KIR_WGMMA_ALIGN)) {
        diag_error(r->d, HILO_OUT_OF_RANGE, "kernel %s: factors of a warpgroup are not %s", r->k->name,
                   same ? "aligned" : "the same for its lanes");
        return NULL;
    }
    if (p) {
        size_t begin = r->k->buffers.v[buffer].offset + 2 * (size_t)at;
        struct in_flight read = {n->of, begin, begin + kir_wgmma_bytes(n, i)};
        ARENA_PUSH(&r->arena, &r->in_flight, read);
        count_access(r, KIR_COUNT_LOADS, kir_wgmma_bytes(n, i));
    }
    return p;
}

/* The 64 factors of a row of A, a column of B. */
static void wgmma_line(const uint8_t *p, const struct kir_node *n, int i, uint32_t line, float *out) {
    for (uint32_t t = 0; t < KIR_WGMMA_TERMS; t++) {
        uint32_t far = kir_wgmma_across(n, i) ? t : line, near = kir_wgmma_across(n, i) ? line : t;
        uint32_t unit = near % 64 / 8 ^ far % 8;
        uint16_t x;
        memcpy(&x, p + near / 64 * 8192 + far * 128 + unit * 16 + near % 8 * 2, sizeof x);
        out[t] = n->sub == KIR_TILE_F16 ? (float)fp_decode(FP_F16, x) : bf16_to_f32(x);
    }
}

static bool run_wgmma(struct run *r, const struct kir_node *n) {
    uint32_t lanes = r->lanes[n->of];
    int64_t *sums = rows_from(r, n->of, kir_wgmma_first(n));
    for (uint32_t g = 0; g < lanes; g += KIR_WARPGROUP) {
        const uint8_t *p = wgmma_factors(r, n, 0, g), *q = p ? wgmma_factors(r, n, 1, g) : NULL;
        float a[KIR_WGMMA_ROWS][KIR_WGMMA_TERMS], b[KIR_WGMMA_TERMS];
        if (!q)
            return false;
        for (uint32_t row = 0; row < KIR_WGMMA_ROWS; row++)
            wgmma_line(p, n, 0, row, a[row]);
        for (uint32_t column = 0; column < n->width; column++) {
            wgmma_line(q, n, 1, column, b);
            for (uint32_t row = 0; row < KIR_WGMMA_ROWS; row++) {
                uint32_t lane = row / 16 * KIR_WARP + row % 8 * 4 + column % 8 / 2;
                uint32_t i = column / 8 * 4 + row % 16 / 8 * 2 + column % 2;
                int64_t *sum = &sums[(size_t)i * lanes + g + lane];
                float x = fp_f32_from_bits((uint32_t)*sum);
                for (uint32_t t = 0; t < KIR_WGMMA_TERMS; t++)
                    x = __builtin_fmaf(a[row][t], b[t], x);
                *sum = kir_narrow(KIR_F32, fp_f32_bits(x));
            }
        }
    }
    count(r, KIR_COUNT_TILE, (uint64_t)lanes / 2 * KIR_WGMMA_TERMS * n->width);
    return true;
}

/* The products have been added: nothing may see when. */
static void wait_products(struct run *r, uint32_t reg) {
    uint32_t left = 0;
    for (uint32_t i = 0; i < r->in_flight.n; i++)
        if (r->in_flight.v[i].reg != reg)
            r->in_flight.v[left++] = r->in_flight.v[i];
    r->in_flight.n = left;
}

/* ---- control --------------------------------------------------------------------------------- */

static bool run_block(struct run *r, kir_block b);

static bool run_vector(struct run *r, kir_val v, const struct kir_node *n, int64_t extent) {
    uint32_t width = n->width;
    bool ok = true;
    begin_reductions(r, v, width);
    for (int64_t at = 0; ok && at < extent; at += width) {
        r->active = extent - at < width ? (uint32_t)(extent - at) : width;
        for (uint32_t l = 0; l < r->active; l++)
            r->values[v.i][l] = at + l;
        ok = run_block(r, n->body);
        if (extent - at <= width)
            break; /* the sum may overflow */
    }
    r->active = 1;
    end_reductions(r, v, width);
    return ok && all_landed(r) && all_boxes_landed(r);
}

static bool run_loop(struct run *r, kir_val v, const struct kir_node *n) {
    int64_t begin = 0, end = KIR_IS(n->arg[0]) ? read_lane(r, n->arg[0], 0) : n->imm;
    if (n->sub == KIR_VECTOR)
        return run_vector(r, v, n, end);
    if (n->sub == KIR_GRID)
        begin = r->begin, end = r->end;
    for (int64_t i = begin; i < end; i++) {
        for (uint32_t l = 0; l < lanes_of(r, v); l++)
            r->values[v.i][l] = i;
        if (!run_block(r, n->body))
            return false;
    }
    return true;
}

static void run_any(struct run *r, kir_val v, const struct kir_node *n) {
    int64_t any = 0;
    for (uint32_t l = 0; l < lanes_of(r, v); l++)
        any |= read_lane(r, n->arg[0], l);
    for (uint32_t l = 0; l < lanes_of(r, v); l++)
        r->values[v.i][l] = any;
}

static void count_products(struct run *r, kir_val v, const struct kir_node *n) {
    static const uint8_t units[KIR_OP_COUNT] = {[KIR_MUL] = KIR_COUNT_MUL + 1,        [KIR_FMA] = KIR_COUNT_FMA + 1,
                                                [KIR_DOT2] = KIR_COUNT_DOT2 + 1,      [KIR_DOT4] = KIR_COUNT_DOT4 + 1,
                                                [KIR_DOT2_I8] = KIR_COUNT_DOT2_I8 + 1,
                                                [KIR_DOT2_BF16] = KIR_COUNT_DOT2_BF16 + 1};
    uint32_t each = n->op == KIR_DOT4 || n->op == KIR_DOT2_I8 ? 4 : n->op == KIR_DOT2 || n->op == KIR_DOT2_BF16 ? 2 : 1;
    if (units[n->op] && (n->op != KIR_MUL || kir_is_float((enum kir_type)n->type)))
        count(r, units[n->op] - 1, lanes_of(r, v) * each);
}

static bool run_node(struct run *r, kir_val v) {
    const struct kir_node *n = kir_get(r->k, v);
    switch (n->op) {
    case KIR_LOOP: return run_loop(r, v, n);
    case KIR_IF:
        if (read_lane(r, n->arg[0], 0))
            return run_block(r, n->body);
        return !n->other.i || run_block(r, n->other);
    case KIR_WHILE:
        for (;;) {
            if (!run_block(r, n->other))
                return false;
            if (!read_lane(r, n->arg[0], 0))
                return true;
            if (!run_block(r, n->body))
                return false;
        }
    case KIR_REG:
    case KIR_GET:
    case KIR_SET:
    case KIR_ACC: run_register(r, v, n); return true;
    case KIR_LOAD: return run_load(r, v, n);
    case KIR_STORE: return run_store(r, v, n);
    case KIR_PREFETCH: return true;
    case KIR_LDMATRIX: return run_ldmatrix(r, n);
    case KIR_MMA: run_mma(r, n); return true;
    case KIR_WGMMA: return spend(r, (uint64_t)r->lanes[n->of] * n->width) && run_wgmma(r, n);
    case KIR_WGMMA_WAIT: wait_products(r, n->of); return true;
    case KIR_COPY_ASYNC: return run_copy(r, n);
    case KIR_COPY_COMMIT: r->groups++; return true;
    case KIR_COPY_WAIT: wait_copies(r, (uint64_t)n->imm); return true;
    case KIR_MBARRIER_EXPECT:
    case KIR_MBARRIER_WAIT: return run_mbarrier(r, n);
    case KIR_COPY_TENSOR: return spend(r, kir_box_bytes(&r->k->maps.v[n->imm])) && run_box(r, n);
    case KIR_TZERO: memset(r->tiles[n->imm], 0, sizeof r->tiles[0]); return true;
    case KIR_TLOAD:
    case KIR_TSTORE: return run_tile_rows(r, n);
    case KIR_TMUL: run_tile_mul(r, n); return true;
    case KIR_ANY: run_any(r, v, n); return true;
    case KIR_MATH:
        diag_error(r->d, HILO_FAILED_PRECONDITION, "kernel %s: math.%s is not written out", r->k->name,
                   kir_math_get((enum kir_math)n->sub)->name);
        return false;
    default: break;
    }
    enum kir_type from = KIR_IS(n->arg[0]) ? kir_type(r->k, n->arg[0]) : KIR_VOID;
    count_products(r, v, n);
    for (uint32_t l = 0; l < lanes_of(r, v); l++)
        r->values[v.i][l] = kir_eval(n, from, KIR_IS(n->arg[0]) ? read_lane(r, n->arg[0], l) : 0,
                                     KIR_IS(n->arg[1]) ? read_lane(r, n->arg[1], l) : 0,
                                     KIR_IS(n->arg[2]) ? read_lane(r, n->arg[2], l) : 0);
    return true;
}

static bool run_block(struct run *r, kir_block b) {
    for (kir_val v = kir_block_get(r->k, b)->first; KIR_IS(v); v = kir_get(r->k, v)->next) {
        if (!spend(r, r->lanes[v.i]) || !run_node(r, v))
            return false;
    }
    return spend(r, 1);
}

/* ---- running --------------------------------------------------------------------------------- */

/* Room for the values of a block, in a vector loop or none; accumulators for reductions over its lanes. */
static void prepare_block(struct run *r, kir_block b, kir_val vector) {
    for (kir_val v = kir_block_get(r->k, b)->first; KIR_IS(v); v = kir_get(r->k, v)->next) {
        const struct kir_node *n = kir_get(r->k, v);
        kir_val inside = n->op == KIR_LOOP && n->sub == KIR_VECTOR ? v : vector;
        uint32_t lanes = KIR_IS(inside) ? kir_get(r->k, inside)->width : 1;
        size_t rows = n->op == KIR_REG ? (size_t)n->imm : 1;
        r->lanes[v.i] = lanes;
        if (n->op == KIR_ACC && KIR_IS(vector) &&
            !kir_block_within(r->k, r->k->nodes.v[n->of].block, kir_get(r->k, vector)->body)) {
            uint32_t i = 0;
            while (i < r->reductions.n && (r->reductions.v[i].loop.i != vector.i ||
                                           kir_get(r->k, r->reductions.v[i].acc)->of != n->of))
                i++;
            if (i == r->reductions.n) {
                size_t count = (size_t)r->k->nodes.v[n->of].imm * lanes;
                struct reduction red = {vector, v, ARENA_ARRAY(&r->arena, int64_t, count)};
                ARENA_PUSH(&r->arena, &r->reductions, red);
            }
            r->values[v.i] = r->reductions.v[i].sums;
        } else if (n->type != KIR_VOID) {
            r->values[v.i] = ARENA_ARRAY(&r->arena, int64_t, rows * lanes);
        }
        if (n->other.i)
            prepare_block(r, n->other, inside);
        if (n->body.i)
            prepare_block(r, n->body, inside);
    }
}

static bool run_all(struct run *r, void *const *buffers, void *scratch) {
    const struct kir *k = r->k;
    uint32_t param = 0;
    r->memory = ARENA_ARRAY(&r->arena, void *, k->buffers.n);
    for (uint32_t i = 0; i < k->buffers.n; i++) {
        const struct kir_buffer *b = &k->buffers.v[i];
        r->memory[i] = b->role != KIR_SCRATCH ? buffers[param++] : scratch ? (char *)scratch + b->offset : NULL;
    }
    for (uint32_t i = 1; i < k->nodes.n; i++) {
        if (k->nodes.v[i].op == KIR_COPY_ASYNC && !r->copied)
            r->copied = ARENA_ARRAY(&r->arena, uint64_t, k->scratch_bytes / 4 + 1);
        if (k->nodes.v[i].op == KIR_COPY_TENSOR && !r->boxed)
            r->boxed = ARENA_ARRAY(&r->arena, struct boxed, k->scratch_bytes / 4 + 1);
        if (k->nodes.v[i].op == KIR_MBARRIER_EXPECT || k->nodes.v[i].op == KIR_MBARRIER_WAIT)
            r->mbarriers = r->mbarriers ? r->mbarriers : ARENA_ARRAY(&r->arena, struct mbarriers, k->buffers.n);
    }
    r->values = ARENA_ARRAY(&r->arena, int64_t *, k->nodes.n);
    r->lanes = ARENA_ARRAY(&r->arena, uint32_t, k->nodes.n);
    prepare_block(r, (kir_block){1}, (kir_val){0});
    if (r->begin >= r->end)
        return true;
    if (r->begin < 0 || r->end > kir_grid_extent(k)) {
        diag_error(r->d, HILO_OUT_OF_RANGE, "kernel %s: iterations %lld to %lld of a grid of %lld", k->name,
                   (long long)r->begin, (long long)r->end, (long long)kir_grid_extent(k));
        return false;
    }
    return run_block(r, (kir_block){1});
}

bool kir_run_within(const struct kir *k, void *const *buffers, void *scratch, int64_t begin, int64_t end, uint64_t steps,
                    struct diag_list *d) {
    hilo_allocator al = k->arena.al;
    jmp_buf here;
    struct run *r = mem_alloc(&al, sizeof *r);
    bool ok = false;
    if (!r) {
        diag_error(d, HILO_RESOURCE_EXHAUSTED, "out of memory");
        return false;
    }
    memset(r, 0, sizeof *r);
    *r = (struct run){.k = k, .d = d, .begin = begin, .end = end, .steps = steps, .active = 1};
    arena_init(&r->arena, al, &here);
    if (setjmp(here) == 0)
        ok = run_all(r, buffers, scratch);
    else
        diag_error(d, HILO_RESOURCE_EXHAUSTED, "out of memory");
    count(r, KIR_COUNT_ITERATIONS, begin < end ? (uint64_t)(end - begin) : 0);
    for (int i = 0; i < KIR_COUNTS; i++)
        atomic_fetch_add_explicit(&k->counts[i], r->counts[i], memory_order_relaxed);
    arena_free(&r->arena);
    mem_free(&al, r, sizeof *r);
    return ok;
}

bool kir_run(const struct kir *k, void *const *buffers, void *scratch, int64_t begin, int64_t end, struct diag_list *d) {
    return kir_run_within(k, buffers, scratch, begin, end, UINT64_MAX, d);
}
