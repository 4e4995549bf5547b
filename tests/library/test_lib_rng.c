/* rng_bit_generator against the evaluator. */
#include "library_test.h"

/* Counters near where their words overflow. */
static void prepare(struct value *const *args) {
    uint64_t state[3]; /* a copy: elements may be of 32 bits, and aligned as such */
    size_t words = args[0]->bytes / 8;
    assert_in_range(words, 2, 3);
    for (size_t i = 0; i < words; i++)
        state[i] = random_bits();
    if (state[0] & 1)
        state[1] = UINT64_MAX - 40;
    else if (state[0] & 2)
        state[1] = UINT32_MAX - UINT64_C(100);
    memcpy(args[0]->data, state, words * sizeof *state);
}

static void generate(const char *algorithm, const char *state, const char *type, const char *shape, uint64_t seed) {
    routine_check(&(struct routine_case){
        .kind = IR_RNG_BIT_GENERATOR,
        .fill = {FILL_PLAIN},
        .seed = seed,
        .prepare = prepare,
        .text = program("func.func @main(%%s: tensor<%s>) -> (tensor<%s>, tensor<%s%s>) {\n"
                        "  %%r:2 = \"stablehlo.rng_bit_generator\"(%%s) <{rng_algorithm = #stablehlo<rng_algorithm %s>}>\n"
                        "    : (tensor<%s>) -> (tensor<%s>, tensor<%s%s>)\n"
                        "  return %%r#0, %%r#1 : tensor<%s>, tensor<%s%s>\n}\n",
                        state, state, shape, type, algorithm, state, state, shape, type, state, shape, type)});
}

static void test_generate(void **state) {
    (void)state;
    static const char *const types[] = {"ui32", "i32", "ui64", "i64", "ui16", "i8", "i4", "ui2", "i1", "f32", "bf16"};
    static const char *const shapes[] = {"",     "1x",     "7x",     "64x", "1000x", "3x5x",
                                         "3x6x", "7x8x3x", "5x9x7x", "0x",  "4x0x",  "5001x"};
    for (size_t t = 0; t < sizeof types / sizeof *types; t++)
        for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++)
            for (uint64_t seed = 1; seed < 4; seed++) {
                generate("THREE_FRY", "2xui64", types[t], shapes[s], seed);
                generate("THREE_FRY", "4xui32", types[t], shapes[s], seed);
                generate("PHILOX", "2xui64", types[t], shapes[s], seed);
                generate("PHILOX", "3xui64", types[t], shapes[s], seed);
                generate("DEFAULT", "3xui64", types[t], shapes[s], seed);
            }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_generate)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
