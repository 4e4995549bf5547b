/* Copies of boxes of matrices by the tensor memory accelerator, and the mbarriers that count them. */
#include "ptx_machine.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_MBARRIERS = 32, MBARRIER_BYTES = 8, UNIT = 16, LINE = 128, OF_MBARRIER = 255 };

/* Of its current phase: arrivals that it waits for, bytes that it expects and that have not come. */
struct mbarrier {
    uint64_t address, phase;
    int64_t bytes;
    uint32_t pending, count;
    uint32_t by, when; /* the thread that initialized it; barriers that the block had passed */
    bool live, awaited; /* a thread sleeps for it */
};
/* A box that is on its way. */
struct box {
    const struct insn *by;
    uint64_t to, phase;
    uint32_t mbarrier, bytes;
    unsigned char *data;
};
struct tensors {
    struct mbarrier mbarriers[MOST_MBARRIERS];
    struct box *boxes;
    uint32_t n, nboxes, cap;
    uint64_t events, woken;                    /* phases that have ended; when threads were woken last */
    uint64_t (*seen)[MOST_MBARRIERS];          /* by thread: phases that it knows to have ended */
    struct { uint64_t phase; uint8_t of; } *landed; /* by byte of shared memory: 1 + its mbarrier; OF_MBARRIER: it is one */
};

void tensors_new(struct machine *m) {
    struct tensors *x = m->tensors = calloc(1, sizeof *x);
    x->seen = calloc(m->k->threads, sizeof *x->seen);
    x->landed = calloc(m->shared_bytes + 8, sizeof *x->landed);
}

void tensors_reset(struct machine *m) {
    struct tensors *x = m->tensors;
    for (uint32_t i = 0; i < x->nboxes; i++)
        free(x->boxes[i].data);
    if (x->n)
        memset(x->landed, 0, m->shared_bytes * sizeof *x->landed);
    memset(x->seen, 0, m->k->threads * sizeof *x->seen);
    x->n = x->nboxes = 0;
    x->events = 0;
    x->woken = UINT64_MAX;
}

void tensors_free(struct machine *m) {
    tensors_reset(m);
    free(m->tensors->boxes);
    free(m->tensors->seen);
    free(m->tensors->landed);
    free(m->tensors);
}

bool tensors_access(struct machine *m, const struct insn *x, uint64_t address, uint32_t thread, bool store) {
    struct tensors *all = m->tensors;
    uint8_t of = all->n ? all->landed[address].of : 0;
    if (!of)
        return true;
    if (of == OF_MBARRIER)
        return machine_fail(m, x, "thread %u accesses %llx, which is of an mbarrier", thread, (unsigned long long)address);
    if (all->seen[thread][of - 1] <= all->landed[address].phase)
        return machine_fail(m, x, "thread %u has not waited for the box of which %llx is", thread, (unsigned long long)address);
    if (store)
        all->landed[address].of = 0;
    return true;
}

void tensors_barrier(struct machine *m) {
    struct tensors *x = m->tensors;
    for (uint32_t i = 0; i < x->n; i++) {
        uint64_t most = 0;
        for (uint32_t t = 0; t < m->k->threads; t++)
            most = x->seen[t][i] > most ? x->seen[t][i] : most;
        for (uint32_t t = 0; t < m->k->threads; t++)
            x->seen[t][i] = most;
    }
}

static void end_phase(struct tensors *x, struct mbarrier *b) {
    if (b->pending || b->bytes)
        return;
    b->phase++;
    b->pending = b->count;
    x->events++;
}

/* The mbarrier at an address that a thread may use; NULL: an error. */
static struct mbarrier *mbarrier_at(struct machine *m, const struct insn *x, uint32_t thread, uint64_t address) {
    struct tensors *all = m->tensors;
    for (uint32_t i = 0; i < all->n; i++) {
        struct mbarrier *b = &all->mbarriers[i];
        if (!b->live || b->address != address)
            continue;
        if (b->by == thread || b->when != m->phase)
            return b;
        machine_fail(m, x, "thread %u uses an mbarrier that thread %u initialized without a barrier since", thread, b->by);
        return NULL;
    }
    machine_fail(m, x, "no mbarrier is at %llx", (unsigned long long)address);
    return NULL;
}

static bool mbarrier_init(struct machine *m, const struct insn *x, uint32_t thread, uint64_t address) {
    struct tensors *all = m->tensors;
    unsigned char zeros[MBARRIER_BYTES] = {0};
    struct insn store = *x;
    uint32_t i = 0;
    store.mods = M_SHARED;
    if (!machine_access(m, &store, address, MBARRIER_BYTES, thread, zeros))
        return false;
    while (i < all->n && all->mbarriers[i].address != address)
        i++;
    if (i == MOST_MBARRIERS || !x->v[1].imm)
        return machine_fail(m, x, "too many mbarriers, or one without arrivals");
    uint64_t phases = i < all->n ? all->mbarriers[i].phase : 0; /* of the last mbarrier there; its parity does not matter */
    phases += phases % 2;
    all->mbarriers[i] = (struct mbarrier){.address = address, .phase = phases, .pending = (uint32_t)x->v[1].imm,
                                          .count = (uint32_t)x->v[1].imm, .by = thread, .when = m->phase, .live = true};
    all->n = i == all->n ? i + 1 : all->n;
    for (uint32_t b = 0; b < MBARRIER_BYTES; b++)
        all->landed[address + b].of = OF_MBARRIER;
    return true;
}

static bool mbarrier_end(struct machine *m, const struct insn *x, struct mbarrier *b) {
    struct tensors *all = m->tensors;
    for (uint32_t i = 0; i < all->nboxes; i++)
        if (&all->mbarriers[all->boxes[i].mbarrier] == b)
            return machine_fail(m, x, "an mbarrier that boxes on their way count for");
    b->live = false;
    for (uint32_t i = 0; i < MBARRIER_BYTES; i++)
        all->landed[b->address + i].of = 0;
    return true;
}

static bool run_mbarrier(struct machine *m, uint32_t thread, const struct insn *x) {
    struct tensors *all = m->tensors;
    uint32_t at = x->mods & (M_EXPECT | M_TRY) ? 1 : 0;
    uint64_t address = machine_arg(m, thread, &x->v[at]) + (x->v[at].kind == REGISTER ? x->v[at].imm : 0);
    if (x->mods & M_INIT)
        return mbarrier_init(m, x, thread, address);
    struct mbarrier *b = mbarrier_at(m, x, thread, address);
    if (!b)
        return false;
    if (x->mods & M_INVAL)
        return mbarrier_end(m, x, b);
    if (x->mods & M_EXPECT) {
        if (!b->pending)
            return machine_fail(m, x, "thread %u arrives at an mbarrier that waits for no arrival", thread);
        b->bytes += (int64_t)machine_arg(m, thread, &x->v[2]);
        b->pending--;
        end_phase(all, b);
        return true;
    }
    if (!(x->mods & M_TRY))
        return machine_fail(m, x, "an unknown form of mbarrier");
    /* whether the phase of this parity, which is the current one or that before it, has ended */
    bool ended = b->phase % 2 != (machine_arg(m, thread, &x->v[2]) & 1);
    if (ended)
        all->seen[thread][b - all->mbarriers] = b->phase;
    m->threads[thread].sleeps = !ended;
    b->awaited |= !ended;
    machine_set(m, thread, &x->v[0], ended);
    return true;
}

/* ---- boxes ----------------------------------------------------------------------------------- */

/* Elements of line `line` of a matrix from a column on, at `to`, which is zeros; counts the sectors. */
static bool read_line(struct machine *m, const struct insn *x, uint32_t thread, const struct hilo_gpu_map *map, int64_t column,
                      int64_t line, unsigned char *to) {
    int64_t each = LINE / map->element_bytes, first = column < 0 ? -column : 0, end = (int64_t)map->columns - column;
    struct insn load = *x;
    load.mods = M_GLOBAL;
    end = end < each ? end : each;
    if (line < 0 || line >= (int64_t)map->lines || first >= end)
        return true;
    uint64_t from = GLOBAL_BASE(map->param) + m->params[map->param].skew + (uint64_t)line * map->line_bytes +
                    (uint64_t)(column + first) * map->element_bytes;
    uint64_t bytes = (uint64_t)(end - first) * map->element_bytes, step = (from | bytes) % UNIT ? map->element_bytes : UNIT;
    for (uint64_t i = 0; i < bytes; i += step) {
        const unsigned char *p = machine_access(m, &load, from + i, (unsigned)step, thread, NULL);
        if (!p)
            return false;
        memcpy(to + (uint64_t)first * map->element_bytes + i, p, step);
    }
    if (m->counts) {
        m->counts->sectors += (from + bytes - 1) / SECTOR - from / SECTOR + 1;
        m->counts->wanted += (bytes + SECTOR - 1) / SECTOR;
    }
    return true;
}

/* Whether a box may be stored at once, where `address` is: nothing reads there, or is to be seen first. */
static bool may_land(struct machine *m, const struct insn *x, uint32_t thread, uint64_t address, const unsigned char *data) {
    struct insn store = *x;
    store.mods = M_SHARED;
    for (uint32_t i = 0; i < UNIT && address + i < m->shared_bytes; i++)
        if (!machine_sees(m, address + i, thread / WARP * WARP))
            return machine_fail(m, x, "a box is copied over %llx, stored without a fence", (unsigned long long)address);
    return machine_access(m, &store, address, UNIT, thread, data) != NULL;
}

static bool map_is_right(const struct machine *m, const struct hilo_gpu_map *map) {
    uint64_t width = map->columns * map->element_bytes;
    return map->param < m->nparams && m->params[map->param].skew % UNIT == 0 && map->line_bytes % UNIT == 0 && map->columns &&
           map->lines && map->box_lines && map->box_lines <= 256 && map->line_bytes >= width &&
           (map->lines - 1) * map->line_bytes + width <= m->params[map->param].bytes - m->params[map->param].skew;
}

/* Reads now, lands later: as late as it may. */
static bool begin_box(struct machine *m, uint32_t thread, const struct insn *x) {
    struct tensors *all = m->tensors;
    uint64_t v[5];
    for (uint32_t i = 0; i < 5 && x->n == 5; i++)
        v[i] = machine_arg(m, thread, &x->v[i]);
    if (x->n != 5 || v[1] - MAP_BASE >= m->nmaps)
        return machine_fail(m, x, "a box of no tensor map");
    const struct hilo_gpu_map *map = &m->maps[v[1] - MAP_BASE];
    struct mbarrier *b = mbarrier_at(m, x, thread, v[4]);
    if (!b)
        return false;
    if (!machine_sees(m, b->address, thread / WARP * WARP))
        return machine_fail(m, x, "an mbarrier that was initialized without a fence");
    if (!map_is_right(m, map) || v[0] % 1024)
        return machine_fail(m, x, "a tensor map or a place that is not aligned, or not inside");
    struct box y = {.by = x, .to = v[0], .phase = b->phase, .mbarrier = (uint32_t)(b - all->mbarriers),
                    .bytes = map->box_lines * LINE};
    y.data = calloc(1, y.bytes);
    bool ok = true;
    for (uint32_t i = 0; i < map->box_lines && ok; i++) {
        unsigned char line[LINE] = {0};
        ok = read_line(m, x, thread, map, (int32_t)v[2], (int64_t)(int32_t)v[3] + i, line);
        for (uint32_t u = 0; u < LINE / UNIT; u++) { /* bits 4 to 6 of the address are exchanged by bits 7 to 9 */
            uint64_t at = (uint64_t)i * LINE + u * UNIT;
            memcpy(y.data + (at ^ (at >> 7 & 7) << 4), line + u * UNIT, UNIT);
        }
    }
    for (uint32_t i = 0; i < y.bytes && ok; i += UNIT)
        ok = may_land(m, x, thread, y.to + i, y.data + i);
    if (!ok) {
        free(y.data);
        return false;
    }
    memset(m->copied + y.to, true, y.bytes);
    if (all->nboxes == all->cap)
        all->boxes = realloc(all->boxes, (all->cap = all->cap ? 2 * all->cap : 16) * sizeof *all->boxes);
    all->boxes[all->nboxes++] = y;
    return true;
}

/* What a box stores is seen by threads that know its phase to have ended, and by products of theirs. */
static bool land(struct machine *m, uint32_t i) {
    struct tensors *x = m->tensors;
    struct box y = x->boxes[i];
    struct mbarrier *b = &x->mbarriers[y.mbarrier];
    x->boxes[i] = x->boxes[--x->nboxes];
    memcpy(m->shared + y.to, y.data, y.bytes);
    free(y.data);
    for (uint64_t at = y.to; at < y.to + y.bytes; at++) {
        m->copied[at] = false;
        m->factors[at].stored = 0;
        m->shared_shadow[at].writer = 0;
        x->landed[at].of = (uint8_t)(y.mbarrier + 1);
        x->landed[at].phase = y.phase;
    }
    if (b->phase != y.phase)
        return machine_fail(m, y.by, "a box lands in a later phase of its mbarrier");
    b->bytes -= y.bytes;
    end_phase(x, b);
    return true;
}

bool tensors_wake(struct machine *m, uint64_t random) {
    struct tensors *x = m->tensors;
    uint32_t sleeper = UINT32_MAX;
    for (uint32_t t = 0; t < m->k->threads; t++) {
        sleeper = m->threads[t].sleeps ? t : sleeper;
        m->threads[t].sleeps = false;
    }
    if (x->events == x->woken && !x->nboxes)
        return machine_fail(m, &m->k->code[m->threads[sleeper].pc - 1], "thread %u waits for an mbarrier without end", sleeper);
    x->woken = x->events;
    if (!x->nboxes)
        return true;
    uint32_t i = (uint32_t)(random % x->nboxes), tried = 0;
    while (tried++ < x->nboxes && !x->mbarriers[x->boxes[i].mbarrier].awaited)
        i = (i + 1) % x->nboxes;
    for (uint32_t b = 0; b < x->n; b++)
        x->mbarriers[b].awaited = false;
    return land(m, i);
}

bool tensors_done(struct machine *m) {
    return !m->tensors->nboxes || machine_fail(m, m->tensors->boxes[0].by, "a block ends before a box has landed");
}

bool tensors_run(struct machine *m, uint32_t thread, const struct insn *x) {
    return x->op == MBARRIER ? run_mbarrier(m, thread, x) : begin_box(m, thread, x);
}
