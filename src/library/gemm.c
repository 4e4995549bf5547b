/* GEMM: see gemm.h. The blocks are those of Goto and van de Geijn, "Anatomy of high-performance matrix
 * multiplication", TOMS 2008: a panel of b in the first cache, a block of a in the second, a tile of c in registers. */
#include "library/gemm.h"

#if LIB_X86
#include <immintrin.h>
#endif


typedef float v8f __attribute__((vector_size(32), may_alias));
typedef double v4d __attribute__((vector_size(32), may_alias));

#define T       float
#define V       v8f
#define NAME(x) f32_plain_##x
#define TARGET
#define MADD(a, b, c) ((c) + (a) * (b))
#define SPLAT(x)      ((x) - (v8f){0})
#include "library/gemm_tile.h"

#define T       double
#define V       v4d
#define NAME(x) f64_plain_##x
#define TARGET
#define MADD(a, b, c) ((c) + (a) * (b))
#define SPLAT(x)      ((x) - (v4d){0})
#include "library/gemm_tile.h"

#if LIB_X86
#define T             float
#define V             v8f
#define NAME(x)       f32_avx2_##x
#define TARGET        LIB_AVX2_FMA
#define MADD(a, b, c) ((v8f)_mm256_fmadd_ps((a), (b), (c)))
#define SPLAT(x)      ((v8f)_mm256_set1_ps(x))
#include "library/gemm_tile.h"

#define T             double
#define V             v4d
#define NAME(x)       f64_avx2_##x
#define TARGET        LIB_AVX2_FMA
#define MADD(a, b, c) ((v4d)_mm256_fmadd_pd((a), (b), (c)))
#define SPLAT(x)      ((v4d)_mm256_set1_pd(x))
#include "library/gemm_tile.h"
#endif

typedef void gemm_tile(const void *a, const void *b, size_t k, void *tile);

static gemm_tile *tile_of(bool wide) {
#if LIB_X86
    if (lib_has_avx2() && lib_has_fma())
        return wide ? f64_avx2_tile : f32_avx2_tile;
#endif
    return wide ? f64_plain_tile : f32_plain_tile;
}

struct gemm_work {
    const struct gemm *g;
    gemm_tile *tile;
    size_t bytes, width;                      /* of a number; columns of a panel */
    size_t panels, row_blocks, column_blocks; /* of a group */
    size_t pack_tasks, tasks, a, c, stride;   /* offsets in a task's scratch, and its size */
    size_t b, total;                          /* offset of the packed b; all scratch */
    char *scratch;
};

static size_t parts_of(size_t n, size_t each) {
    return n / each + (n % each != 0);
}

static bool gemm_plan(const struct gemm *g, struct gemm_work *w) {
    size_t jobs, all_panels, unused;
    *w = (struct gemm_work){.g = g, .tile = tile_of(g->wide), .bytes = g->wide ? 8 : 4, .width = g->wide ? 8 : 16};
    w->panels = parts_of(g->columns, w->width);
    w->row_blocks = parts_of(g->rows, GEMM_BLOCK_ROWS);
    w->column_blocks = parts_of(g->columns, GEMM_BLOCK_COLUMNS);
    if (!mem_mul(g->groups, w->row_blocks, &jobs) || !mem_mul(jobs, w->column_blocks, &jobs) ||
        !mem_mul(g->groups, w->panels, &all_panels) || !mem_mul(all_panels, g->depth, &unused) ||
        !lib_reserve(&w->total, unused, 64, &w->b))
        return false;
    w->tasks = lib_tasks(jobs, LIB_SCRATCH_TASKS);
    w->pack_tasks = lib_tasks(all_panels, LIB_TASKS);
    return lib_reserve(&w->stride, (size_t)GEMM_BLOCK_ROWS * GEMM_BLOCK_DEPTH, w->bytes, &w->a) &&
           lib_reserve(&w->stride, (size_t)GEMM_BLOCK_ROWS * GEMM_BLOCK_COLUMNS, w->bytes, &w->c) &&
           lib_reserve(&w->total, w->tasks, w->stride, &unused);
}

bool gemm_scratch(const struct gemm *g, size_t *bytes) {
    struct gemm_work w;
    bool fits = gemm_plan(g, &w);
    *bytes = w.total;
    return fits;
}

static char *gemm_panel(const struct gemm_work *w, size_t group, size_t panel) {
    return w->scratch + w->b + (group * w->panels + panel) * w->g->depth * 64;
}

static void gemm_pack(void *user, int64_t task) {
    const struct gemm_work *w = user;
    size_t at, to;
    lib_part(w->g->groups * w->panels, w->pack_tasks, (size_t)task, &at, &to);
    for (; at < to; at++) {
        size_t group = at / w->panels, column = at % w->panels * w->width;
        size_t n = w->g->columns - column < w->width ? w->g->columns - column : w->width;
        w->g->pack_b(w->g->user, group, column, n, w->width, gemm_panel(w, group, at % w->panels));
    }
}

/* A block of c: rows [row, row + nrows), panels [from, to). */
static void gemm_block(const struct gemm_work *w, size_t group, size_t row, size_t nrows, size_t from, size_t to,
                       char *scratch) {
    const struct gemm *g = w->g;
    char *a = scratch + w->a, *c = scratch + w->c;
    size_t slivers = parts_of(nrows, GEMM_ROWS), tile_bytes = (size_t)GEMM_ROWS * 64;
    memset(c, 0, slivers * (to - from) * tile_bytes);
    for (size_t p = 0; p < g->depth; p += GEMM_BLOCK_DEPTH) {
        size_t k = g->depth - p < GEMM_BLOCK_DEPTH ? g->depth - p : GEMM_BLOCK_DEPTH, sliver_bytes = k * GEMM_ROWS * w->bytes;
        for (size_t s = 0; s < slivers; s++) {
            size_t left = nrows - s * GEMM_ROWS;
            g->pack_a(g->user, group, row + s * GEMM_ROWS, left < GEMM_ROWS ? left : GEMM_ROWS, p, p + k, a + s * sliver_bytes);
        }
        for (size_t j = from; j < to; j++)
            for (size_t s = 0; s < slivers; s++)
                w->tile(a + s * sliver_bytes, gemm_panel(w, group, j) + p * 64, k, c + ((j - from) * slivers + s) * tile_bytes);
    }
    for (size_t j = from; j < to; j++)
        for (size_t s = 0; s < slivers; s++) {
            size_t left = nrows - s * GEMM_ROWS, column = j * w->width, columns = g->columns - column;
            g->unpack_c(g->user, group, row + s * GEMM_ROWS, left < GEMM_ROWS ? left : GEMM_ROWS, column,
                        columns < w->width ? columns : w->width, w->width, c + ((j - from) * slivers + s) * tile_bytes);
        }
}

static void gemm_task(void *user, int64_t task) {
    const struct gemm_work *w = user;
    size_t at, to, each = GEMM_BLOCK_COLUMNS / w->width;
    char *scratch = w->scratch + w->total - (w->tasks - (size_t)task) * w->stride;
    lib_part(w->g->groups * w->row_blocks * w->column_blocks, w->tasks, (size_t)task, &at, &to);
    for (; at < to; at++) {
        size_t rows = at / w->column_blocks % w->row_blocks, from = at % w->column_blocks * each;
        size_t row = rows * GEMM_BLOCK_ROWS, nrows = w->g->rows - row < GEMM_BLOCK_ROWS ? w->g->rows - row : GEMM_BLOCK_ROWS;
        gemm_block(w, at / w->column_blocks / w->row_blocks, row, nrows, from,
                   from + each < w->panels ? from + each : w->panels, scratch);
    }
}

void gemm_run(const struct gemm *g, void *scratch, const struct lib_pool *pool) {
    struct gemm_work w;
    if (!gemm_plan(g, &w))
        return;
    w.scratch = scratch;
    lib_each(pool, (int64_t)w.pack_tasks, gemm_pack, &w);
    lib_each(pool, (int64_t)w.tasks, gemm_task, &w);
}
