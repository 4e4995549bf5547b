/* Minimum cuts of random networks, against all cuts. */
#include "base/flow.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
/* cmocka wants the four headers before it */
#include <cmocka.h>

enum { ROUNDS = 2000, NODES = 9, ARCS = 30 };

struct arc {
    uint32_t from, to;
    int64_t capacity;
};

/* splitmix64 */
static uint64_t next_random(uint64_t *state) {
    uint64_t z = *state += UINT64_C(0x9E3779B97F4A7C15);
    z = (z ^ z >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ z >> 27) * UINT64_C(0x94D049BB133111EB);
    return z ^ z >> 31;
}

/* Of the arcs from the nodes of the set to others. */
static int64_t cut_of(const struct arc *v, uint32_t n, uint32_t set) {
    int64_t sum = 0;
    for (uint32_t i = 0; i < n; i++)
        sum += set >> v[i].from & 1 && !(set >> v[i].to & 1) ? v[i].capacity : 0;
    return sum;
}

/* Nodes 0 and 1 are the source and the sink. */
static void check_network(struct arena *a, uint64_t seed) {
    struct arc v[ARCS];
    uint64_t state = seed;
    uint32_t nodes = 2 + (uint32_t)(next_random(&state) % (NODES - 1)), n = (uint32_t)(next_random(&state) % (ARCS + 1));
    bool side[NODES + 1];
    struct flow f = {.a = a};
    for (uint32_t i = 0; i < nodes; i++)
        assert_int_equal(flow_node(&f), i);
    for (uint32_t i = 0; i < n; i++) {
        uint64_t r = next_random(&state);
        v[i] = (struct arc){(uint32_t)(r % nodes), (uint32_t)(r >> 8) % nodes, (int64_t)(r >> 32 & 15)};
        flow_arc(&f, v[i].from, v[i].to, v[i].capacity);
    }
    int64_t least = INT64_MAX, cut = flow_cut(&f, 0, 1, side);
    uint32_t found = 0, fewest = UINT32_MAX;
    for (uint32_t set = 1; set < 1u << nodes; set += 4) /* with the source, without the sink */
        least = cut_of(v, n, set) < least ? cut_of(v, n, set) : least;
    for (uint32_t set = 1; set < 1u << nodes; set += 4)
        fewest &= cut_of(v, n, set) == least ? set : UINT32_MAX; /* the least cuts' common part is one */
    for (uint32_t i = 0; i < nodes; i++)
        found |= (uint32_t)side[i] << i;
    if (cut != least || found != fewest)
        fail_msg("seed %llu: %lld of %lld, nodes %x of %x", (unsigned long long)seed, (long long)cut, (long long)least, found,
                 fewest);
}

static void random_networks(void **state) {
    struct arena a;
    jmp_buf recover;
    (void)state;
    arena_init(&a, mem_system_allocator(), &recover);
    assert_int_equal(setjmp(recover), 0);
    for (uint64_t seed = 1; seed <= ROUNDS; seed++) {
        check_network(&a, seed);
        arena_reset(&a);
    }
    arena_free(&a);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(random_networks)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
