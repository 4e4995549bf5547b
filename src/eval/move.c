/* Strided copies: see move.h. A copy is a loop nest over cells. The nest is made as shallow as the strides allow; its inner
 * loop runs where the destination is dense; and where the source is dense in another dimension (a transposition), the two
 * dimensions are walked in square blocks, so that every cache line is used up while it is near. */
#include "eval/move.h"

/* ---- preparing ------------------------------------------------------------------------------------------------------- */

static int64_t move_abs(int64_t x) {
    return x < 0 ? -x : x;
}

static void move_swap(int64_t *v, uint32_t i, uint32_t k) {
    int64_t x = v[i];
    v[i] = v[k];
    v[k] = x;
}

/* Brings the dimension that the source is densest in next to the last one. */
static void move_pair(struct move *p) {
    uint32_t last = p->rank - 1, best = last;
    for (uint32_t i = 0; i < last; i++)
        if (p->src[i] && move_abs(p->src[i]) < move_abs(p->src[best]) && move_abs(p->dst[i]) > move_abs(p->dst[last]))
            best = i;
    p->crosswise = best != last;
    if (!p->crosswise)
        return;
    move_swap(p->dims, best, last - 1);
    move_swap(p->dst, best, last - 1);
    move_swap(p->src, best, last - 1);
}

void move_plan(struct move *p, const int64_t *dims, const int64_t *dst_strides, const int64_t *src_strides, uint32_t rank) {
    p->cell = 0;
    p->rank = 0;
    p->crosswise = false;
    for (uint32_t i = 0; i < rank; i++)
        if (dims[i] == 0)
            return;
    p->cell = 1;
    for (uint32_t i = 0; i < rank; i++) {
        if (dims[i] == 1)
            continue;
        uint32_t k = p->rank - 1; /* the dimension around this one */
        if (p->rank && p->dst[k] == dst_strides[i] * dims[i] && p->src[k] == src_strides[i] * dims[i]) {
            p->dims[k] *= dims[i];
        } else {
            k = p->rank++;
            p->dims[k] = dims[i];
        }
        p->dst[k] = dst_strides[i];
        p->src[k] = src_strides[i];
    }
    if (p->rank && p->dst[p->rank - 1] == 1 && p->src[p->rank - 1] == 1)
        p->cell = p->dims[--p->rank];
    if (p->rank > 1)
        move_pair(p);
}

/* ---- copying --------------------------------------------------------------------------------------------------------- */

/* Rows of cells; strides in bytes. */
struct rows {
    int64_t n, dst, src;          /* cells of a row */
    int64_t nrows, row_dst, row_src;
};

struct bytes16 { uint64_t half[2]; };

/* The loops for one size of cell. A cell may be at any address, since it may be several elements. */
#define MOVE_ROWS(T)                                                                       \
    static void move_rows_##T(const struct rows *r, char *dst, const char *src) {          \
        for (int64_t k = 0; k < r->nrows; k++, dst += r->row_dst, src += r->row_src) {     \
            char *d = dst;                                                                 \
            const char *s = src;                                                           \
            T x;                                                                           \
            memcpy(&x, s, sizeof x);                                                       \
            if (r->dst == sizeof x && r->src == 0) {                                       \
                for (int64_t i = 0; i < r->n; i++, d += sizeof x)                          \
                    memcpy(d, &x, sizeof x);                                               \
            } else if (r->dst == sizeof x) {                                               \
                for (int64_t i = 0; i < r->n; i++, d += sizeof x, s += r->src)             \
                    memcpy(d, s, sizeof x);                                                \
            } else {                                                                       \
                for (int64_t i = 0; i < r->n; i++, d += r->dst, s += r->src)               \
                    memcpy(d, s, sizeof x);                                                \
            }                                                                              \
        }                                                                                  \
    }
MOVE_ROWS(uint8_t)
MOVE_ROWS(uint16_t)
MOVE_ROWS(uint32_t)
MOVE_ROWS(uint64_t)
typedef struct bytes16 bytes16;
MOVE_ROWS(bytes16)

static void move_rows(const struct rows *r, char *dst, const char *src, size_t cell) {
    switch (cell) {
    case 1: move_rows_uint8_t(r, dst, src); return;
    case 2: move_rows_uint16_t(r, dst, src); return;
    case 4: move_rows_uint32_t(r, dst, src); return;
    case 8: move_rows_uint64_t(r, dst, src); return;
    case 16: move_rows_bytes16(r, dst, src); return;
    default:
        for (int64_t k = 0; k < r->nrows; k++)
            for (int64_t i = 0; i < r->n; i++)
                memcpy(dst + k * r->row_dst + i * r->dst, src + k * r->row_src + i * r->src, cell);
    }
}

/* The same in blocks of one cache line each way. */
static void move_blocks(const struct rows *r, char *dst, const char *src, size_t cell) {
    int64_t side = cell < 64 ? 64 / (int64_t)cell : 1;
    for (int64_t k = 0; k < r->nrows; k += side)
        for (int64_t i = 0; i < r->n; i += side) {
            struct rows block = *r;
            block.nrows = r->nrows - k < side ? r->nrows - k : side;
            block.n = r->n - i < side ? r->n - i : side;
            move_rows(&block, dst + k * r->row_dst + i * r->dst, src + k * r->row_src + i * r->src, cell);
        }
}

void move_run(const struct move *p, void *dst, const void *src, size_t elem_bytes) {
    if (p->cell == 0)
        return;
    size_t cell = (size_t)p->cell * elem_bytes;
    int64_t size = (int64_t)elem_bytes, index[IR_MAX_RANK];
    struct rows r = {.n = 1, .nrows = 1};
    uint32_t outer = p->rank;
    if (outer) {
        outer--;
        r.n = p->dims[outer], r.dst = p->dst[outer] * size, r.src = p->src[outer] * size;
    }
    if (outer) {
        outer--;
        r.nrows = p->dims[outer], r.row_dst = p->dst[outer] * size, r.row_src = p->src[outer] * size;
    }
    memset(index, 0, outer * sizeof *index);
    do {
        int64_t d = 0, s = 0;
        for (uint32_t i = 0; i < outer; i++) {
            d += index[i] * p->dst[i];
            s += index[i] * p->src[i];
        }
        if (p->crosswise)
            move_blocks(&r, (char *)dst + d * size, (const char *)src + s * size, cell);
        else
            move_rows(&r, (char *)dst + d * size, (const char *)src + s * size, cell);
    } while (index_next(index, p->dims, outer));
}

void move_strided(void *dst, const int64_t *dst_strides, const void *src, const int64_t *src_strides, const int64_t *dims,
                  uint32_t rank, size_t elem_bytes) {
    struct move p;
    move_plan(&p, dims, dst_strides, src_strides, rank);
    move_run(&p, dst, src, elem_bytes);
}

int64_t move_index(const struct value *v, size_t i) {
    int64_t x = value_i64(v, i);
    return v->dtype == IR_UI64_T && x < 0 ? INT64_MAX : x;
}
