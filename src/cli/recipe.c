/* Inputs by a recipe: what a benchmark's program is to be run on, in a file next to it, X.json next to X.mlir:
 *
 *   {"inputs": [{"shape": [2, 3], "dtype": "float32", "kind": "uniform", "lo": 0, "hi": 1}, …]}
 *
 * uniform (lo ≤ x < hi), randint (integers, likewise), normal (of deviation std), const (lo), tril (normal below the diagonal,
 * which is dominant: a system that is solved), spd (symmetric and positive definite). Only the distribution is prescribed, not
 * the numbers; they depend on the parameter and the element alone. */
#include "cli/cli.h"
#include "llm/json.h"

#include <math.h>
#include <stdlib.h>

struct recipe {
    struct llm_json json;
    hilo_client *client;
};

struct spread {
    const char *kind;
    double lo, hi, std;
};

/* ---- numbers --------------------------------------------------------------------------------- */

static uint64_t mix(uint64_t x) { /* splitmix64 */
    x += UINT64_C(0x9E3779B97F4A7C15);
    x = (x ^ x >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    x = (x ^ x >> 27) * UINT64_C(0x94D049BB133111EB);
    return x ^ x >> 31;
}

static double unit(uint64_t bits) {
    return (double)(bits >> 11) * 0x1p-53;
}

/* Box and Muller's; one of the pair. */
static double normal(uint64_t bits) {
    return sqrt(-2 * log1p(-unit(bits))) * cos(6.283185307179586 * unit(mix(bits)));
}

/* Element k of a parameter whose rows have n elements. */
static double number(const struct spread *s, uint64_t seed, size_t k, size_t n) {
    uint64_t bits = mix(seed + k);
    size_t row = n ? k / n : 0, col = n ? k % n : 0;
    switch (s->kind[0]) {
    case 'u': return s->lo + (s->hi - s->lo) * unit(bits);
    case 'r': return floor(s->lo + (s->hi - s->lo) * unit(bits));
    case 'n': return s->std * normal(bits);
    case 't': return col > row ? 0 : col < row ? s->std * normal(bits) : s->std * (double)n;
    case 's':
        if (row == col)
            return s->std * (double)n * 2;
        return s->std * normal(mix(seed + (row < col ? row * n + col : col * n + row)));
    default: return s->lo;
    }
}

static void store(const struct ir_dtype_info *t, double x, double y, char *out) {
    if (t->cls == IR_FLOAT || t->cls == IR_COMPLEX_CLASS) {
        uint32_t part = t->cls == IR_FLOAT ? t->bytes : t->bytes / 2;
        fp_store(t->fp, out, fp_encode(t->fp, x));
        if (t->cls == IR_COMPLEX_CLASS)
            fp_store(t->fp, out + part, fp_encode(t->fp, y));
        return;
    }
    int64_t i = t->cls == IR_PRED ? x != 0 : (int64_t)x;
    memcpy(out, &i, t->bytes);
}

/* ---- parameters ------------------------------------------------------------------------------ */

static hilo_status fill(struct recipe *r, const hilo_type *t, const struct spread *s, uint64_t seed, hilo_buffer **out) {
    const struct ir_dtype_info *info = ir_dtype_get(rt_dtype(t->dtype));
    HILO_TRY(hilo_buffer_create(r->client, t->dtype, t->dims, t->rank, out));
    char *data = hilo_buffer_data(*out);
    size_t count = hilo_buffer_bytes(*out) / info->bytes, n = t->rank ? (size_t)t->dims[t->rank - 1] : 1;
    bool square = s->kind[0] == 't' || s->kind[0] == 's';
    for (size_t k = 0; k < count; k++)
        store(info, number(s, seed, square ? k % (n * n) : k, n), number(s, mix(seed), k, n), data + k * info->bytes);
    return HILO_OK;
}

static bool known_kind(const char *kind) {
    static const char *const kinds[] = {"uniform", "randint", "normal", "const", "tril", "spd"};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strcmp(kinds[i], kind) == 0)
            return true;
    return false;
}

static hilo_status parameter(struct recipe *r, const json_t *entry, size_t i, const hilo_type *t, hilo_buffer **out) {
    char where[32];
    snprintf(where, sizeof where, "inputs[%zu].", i);
    struct llm_object o = {&r->json, json_is_object(entry) ? entry : NULL, where};
    struct spread s = {llm_json_text(o, "kind", "const"), llm_json_real(o, "lo", 0), llm_json_real(o, "hi", 1),
                       llm_json_real(o, "std", 1)};
    const json_t *shape = llm_json_array(o, "shape");
    HILO_TRY(r->json.status);
    bool fits = t->dtype != HILO_TOKEN && json_array_size(shape) == t->rank;
    for (uint32_t k = 0; k < t->rank && fits; k++)
        fits = t->dims[k] == json_integer_value(json_array_get(shape, k));
    if (!known_kind(s.kind) || !fits)
        return llm_json_fail(&r->json, "inputs[%zu]: the kind is not known, or the shape is not the parameter's", i);
    return fill(r, t, &s, mix(i), out);
}

int cli_recipe_inputs(hilo_client *client, const hilo_executable *exe, const char *path, hilo_buffer **buffers) {
    struct diag_list d;
    struct recipe r = {.client = client};
    size_t n = hilo_executable_input_count(exe);
    diag_init(&d, mem_system_allocator());
    hilo_status status = llm_json_open(&r.json, path, mem_system_allocator(), &d);
    const json_t *inputs = status == HILO_OK ? llm_json_array(llm_json_root(&r.json), "inputs") : NULL;
    if (status == HILO_OK && json_array_size(inputs) != n)
        status = llm_json_fail(&r.json, "the recipe has %zu inputs, the program %zu", json_array_size(inputs), n);
    for (size_t i = 0; i < n && status == HILO_OK; i++) {
        hilo_type t = {HILO_DTYPE_INVALID, 0, NULL};
        hilo_executable_input_type(exe, i, &t);
        status = parameter(&r, json_array_get(inputs, i), i, &t, &buffers[i]);
    }
    int code = CLI_OK;
    if (status != HILO_OK)
        code = cli_error(CLI_ENVIRONMENT, "%s: %s", path, d.first ? d.first->message : hilo_status_name(status));
    llm_json_close(&r.json);
    diag_clear(&d);
    return code;
}
