/* MAP for GPUs, whose vectors are thread blocks: see threads.h. */
#include "lower/threads.h"

enum {
    THREADS_BYTES = 16,     /* of an access */
    THREADS_TILE = TORTURED(TORTURE_TILE, 32), /* rows and columns of a tile that is transposed */
    THREADS_TRANSPOSED = 4, /* values of which a block holds a tile each */
    THREADS_SEARCH = 64     /* ops between an output and a transpose */
};

/* ---- loops over elements ---------------------------------------------------------------------- */

int64_t threads_unit(const struct lower *l, int64_t line, int64_t count) {
    uint32_t code = l->kernel->nops + l->kernel->code_size_cost;
    int64_t unit = THREADS_BYTES / lower_bytes(l), busy = (int64_t)l->target->cores * l->target->block_threads;
    if (code > 32 || l->kernel->nested)
        return 1;
    while (unit > 1 && (line % unit || count / unit < busy))
        unit /= 2;
    return unit;
}

uint32_t threads_lanes(const struct lower *l, int64_t count) {
    uint32_t lanes = l->target->warp_threads;
    while (lanes < l->target->block_threads && lanes < count)
        lanes *= 2;
    return lanes;
}

void threads_place(struct lower *l, const int64_t *dims, uint32_t rank, kir_val step, int64_t unit, kir_val *at) {
    int64_t steps[IR_MAX_RANK];
    uint32_t last = 0;
    for (uint32_t i = 0; i < rank; i++)
        last = dims[i] != 1 ? i : last;
    for (uint32_t i = 0; i < rank; i++)
        steps[i] = i == last ? dims[i] / unit : dims[i];
    kir_val element = kir_loop(l->k, KIR_UNROLLED, unit, 0);
    lower_unflatten(l, step, steps, rank, at);
    if (rank)
        at[last] = lower_add(l, lower_mul(l, at[last], unit), element);
}

uint32_t threads_loops(struct lower *l, const int64_t *dims, uint32_t rank, int64_t unit, kir_val *at) {
    int64_t steps = 1;
    for (uint32_t i = 0; i < rank; i++)
        steps *= dims[i];
    steps /= unit;
    uint32_t lanes = threads_lanes(l, steps);
    while (l->kernel->nested && lanes > l->target->warp_threads && steps / lanes < l->target->cores)
        lanes /= 2; /* elements are expensive: to more multiprocessors */
    kir_val step;
    if (steps <= lanes) {
        step = kir_loop(l->k, KIR_VECTOR, steps, lanes);
    } else {
        kir_val begin = lower_mul(l, lower_grid(l, (steps - 1) / lanes + 1), lanes);
        step = lower_chunk_loop(l, begin, lanes, steps, KIR_VECTOR, lanes);
    }
    threads_place(l, dims, rank, step, unit, at);
    return steps <= lanes ? 2 : 3;
}

/* The length of the innermost dimension. */
static int64_t line_of(const struct lower *l) {
    int64_t line = 1;
    for (uint32_t i = 0; i < l->kernel->rank; i++)
        line = l->kernel->dims[i] != 1 ? l->kernel->dims[i] : line;
    return line;
}

/* ---- transposes ------------------------------------------------------------------------------- */

struct tile {
    uint32_t last, other;               /* dimensions of the domain: contiguous in what is stored; in what is transposed */
    ir_val v[THREADS_TRANSPOSED];       /* results of transposes */
    uint32_t scratch[THREADS_TRANSPOSED], n;
    kir_val in_last, in_other;          /* the index in the tile */
};

/* Finds the transposes that an element of a value is computed from at its own index. */
static void find_transposes(const struct lower *l, struct tile *t, ir_val v, uint32_t *ops) {
    ir_op op = ir_val_get(l->m, v)->op;
    const struct ir_type_data *type = ir_val_type(l->m, v);
    if (IR_NONE(op) || fuse_is_constant(l->m, v) || lower_is_stored(l, v) || *ops == 0 || type->rank != l->kernel->rank ||
        memcmp(type->dims, l->kernel->dims, type->rank * sizeof *type->dims) != 0)
        return;
    --*ops;
    if (ir_kind(l->m, op) == IR_TRANSPOSE) {
        size_t n;
        const int64_t *p = ir_prop_i64s(l->m, op, IR_TRANSPOSE_permutation, &n);
        uint32_t k = 0;
        while (k + 1 < n && p[k] != (int64_t)n - 1)
            k++;
        bool fits = k != t->last && (t->n == 0 || k == t->other) && t->n < THREADS_TRANSPOSED && !lower_is_complex(type->dtype);
        for (uint32_t i = 0; i < t->n; i++)
            fits &= !IR_SAME(t->v[i], v);
        if (fits && type->dims[k] >= THREADS_TILE / 4 && type->dims[t->last] >= THREADS_TILE / 4) {
            t->other = k;
            t->v[t->n++] = v;
        }
    } else if (fuse_class(ir_kind(l->m, op)) == FUSE_ELEMENT) {
        for (uint32_t i = 0; i < ir_op_get(l->m, op)->noperands; i++)
            find_transposes(l, t, ir_operand(l->m, op, i), ops);
    }
}

/* Elements from one row of a tile in scratch memory to the next: an odd number of banks, so that those of a column are in
   different ones. */
static int64_t tile_row(const struct lower *l, ir_val v) {
    int64_t bytes = ir_dtype_get(ir_val_type(l->m, v)->dtype)->bytes;
    return THREADS_TILE + (bytes < 4 ? 4 / bytes : 1);
}

/* The place of an element in the tile of a value. */
static kir_val tile_place(struct lower *l, const struct tile *t, uint32_t i) {
    return lower_add(l, lower_mul(l, t->in_last, tile_row(l, t->v[i])), t->in_other);
}

/* Opens the lanes of a tile: rows of dimension `down`, along which lanes are in dimension `along`. Elements outside of the
   domain are masked. */
static void tile_loop(struct lower *l, struct tile *t, const kir_val *tile, uint32_t down, uint32_t along, kir_val *at) {
    kir_val lane = kir_loop(l->k, KIR_VECTOR, THREADS_TILE * THREADS_TILE, l->target->block_threads);
    kir_val row = lower_div(l, lane, THREADS_TILE), column = lower_rem(l, lane, THREADS_TILE);
    memcpy(at, tile, l->kernel->rank * sizeof *at);
    at[down] = lower_add(l, lower_mul(l, tile[down], THREADS_TILE), row);
    at[along] = lower_add(l, lower_mul(l, tile[along], THREADS_TILE), column);
    l->guard = (kir_val){0};
    for (uint32_t i = 0; i < l->kernel->rank; i++)
        if ((i == down || i == along) && l->kernel->dims[i] % THREADS_TILE) {
            kir_val inside = kir_cmp(l->k, KIR_LT, 0, at[i], kir_i64(l->k, l->kernel->dims[i]));
            l->guard = l->guard.i ? kir_op2(l->k, KIR_AND, 0, l->guard, inside) : inside;
        }
    t->in_last = along == t->last ? column : row;
    t->in_other = along == t->last ? row : column;
}

/* Tiles of what is transposed are read as they are in memory, to shared memory; its columns are read there. */
static void transposed_loops(struct lower *l, struct tile *t) {
    struct index domain = {.n = l->kernel->rank}, at;
    int64_t tiles[IR_MAX_RANK];
    kir_val tile[IR_MAX_RANK];
    for (uint32_t i = 0; i < l->kernel->rank; i++)
        tiles[i] = i == t->last || i == t->other ? (l->kernel->dims[i] - 1) / THREADS_TILE + 1 : l->kernel->dims[i];
    lower_grid_nd(l, tiles, l->kernel->rank, tile);
    for (uint32_t i = 0; i < t->n; i++)
        t->scratch[i] = kir_scratch(l->k, ir_val_type(l->m, t->v[i])->dtype, THREADS_TILE * tile_row(l, t->v[i]));
    tile_loop(l, t, tile, t->last, t->other, domain.at);
    for (uint32_t i = 0; i < t->n; i++) {
        lower_project_index(l, ir_val_type(l->m, t->v[i]), l->kernel->dims, domain.at, l->kernel->rank, &at);
        kir_store(l->k, t->scratch[i], tile_place(l, t, i), lower_value(l, t->v[i], &at).re);
    }
    kir_close(l->k);
    tile_loop(l, t, tile, t->other, t->last, domain.at);
    for (uint32_t i = 0; i < t->n; i++) {
        lower_project_index(l, ir_val_type(l->m, t->v[i]), l->kernel->dims, domain.at, l->kernel->rank, &at);
        lower_define(l, t->v[i], &at, (struct elem){kir_load(l->k, t->scratch[i], tile_place(l, t, i)), {0}});
    }
    lower_store_outputs(l, &domain);
    l->guard = (kir_val){0};
    lower_close(l, 2);
}

/* ---- MAP -------------------------------------------------------------------------------------- */

void threads_map(struct lower *l, bool flat) {
    int64_t n = lower_count(l, 0, l->kernel->rank), unit = threads_unit(l, flat ? n : line_of(l), n);
    uint32_t ops = THREADS_SEARCH;
    struct index at = {.flat = flat, .n = flat ? 1 : l->kernel->rank};
    struct tile t = {.n = 0};
    for (uint32_t i = 0; i < l->kernel->rank; i++)
        t.last = l->kernel->dims[i] != 1 ? i : t.last;
    for (uint32_t i = 0; i < l->kernel->outs.n && !flat && !l->kernel->nested && !l->native; i++)
        find_transposes(l, &t, l->kernel->outs.v[i], &ops);
    if (t.n) {
        transposed_loops(l, &t);
        return;
    }
    uint32_t opened = flat ? threads_loops(l, &n, 1, unit, at.at)
                           : threads_loops(l, l->kernel->dims, l->kernel->rank, unit, at.at);
    lower_store_outputs(l, &at);
    lower_close(l, opened);
}

/* ---- INTO ------------------------------------------------------------------------------------- */

uint32_t threads_into(struct lower *l, const struct ir_type_data *update, bool whole, kir_val *at) {
    int64_t line = 1, n = 1;
    for (uint32_t i = 0; i < update->rank; i++) {
        n *= update->dims[i];
        line = update->dims[i] != 1 ? update->dims[i] : line;
    }
    return threads_loops(l, update->dims, update->rank, whole ? threads_unit(l, line, n) : 1, at);
}
