/* --input: numpy's files, literals and random numbers as values of parameters. */
#include "base/decimal.h"
#include "cli/cli.h"
#include "cli/npy.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

struct inputs {
    hilo_client *client;
    const hilo_executable *exe;
    const char *text;        /* the current --input */
    hilo_buffer **buffers;   /* by parameter; NULL = none yet */
    size_t n;
};

/* ---- parameters ------------------------------------------------------------------------------ */

static hilo_type parameter_type(const struct inputs *in, size_t i) {
    hilo_type t = {HILO_DTYPE_INVALID, 0, NULL};
    hilo_executable_input_type(in->exe, i, &t);
    return t;
}

/* `0` or `0 'weights'` */
static void put_parameter(const struct inputs *in, size_t i, struct strbuf *out) {
    const char *name = hilo_executable_input_name(in->exe, i);
    strbuf_printf(out, *name ? "%zu '%s'" : "%zu", i, name);
}

/* "--input X: parameter 0 'x' is tensor<4xf32>, but …" */
static int refuse(const struct inputs *in, size_t i, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

static int refuse(const struct inputs *in, size_t i, const char *fmt, ...) {
    struct strbuf b;
    strbuf_init(&b, mem_system_allocator());
    hilo_type t = parameter_type(in, i);
    put_parameter(in, i, &b);
    strbuf_puts(&b, " is ");
    rt_type_text(t.dtype, t.rank, t.dims, &b);
    strbuf_puts(&b, ", but ");
    va_list ap;
    va_start(ap, fmt);
    strbuf_vprintf(&b, fmt, ap);
    va_end(ap);
    int code = cli_error(CLI_USAGE, "--input %.60s%s: parameter %s", in->text, strlen(in->text) > 60 ? "…" : "",
                         b.p ? b.p : "");
    strbuf_free(&b);
    return code;
}

static bool shape_fits(const hilo_type *t, uint32_t rank, const int64_t *dims) {
    bool fits = t->rank == rank;
    for (uint32_t i = 0; i < rank && fits; i++)
        fits = t->dims[i] == HILO_DYNAMIC || t->dims[i] == dims[i];
    return fits;
}

static int refuse_shape(const struct inputs *in, size_t i, const char *what, hilo_dtype dtype, uint32_t rank,
                        const int64_t *dims) {
    struct strbuf b;
    strbuf_init(&b, mem_system_allocator());
    rt_type_text(dtype, rank, dims, &b);
    int code = refuse(in, i, "%s is %s", what, b.p ? b.p : "");
    strbuf_free(&b);
    return code;
}

static int set_parameter(struct inputs *in, size_t i, const int64_t *dims, uint32_t rank, const void *data) {
    hilo_status status = hilo_buffer_from_host(in->client, parameter_type(in, i).dtype, dims, rank, data, NULL,
                                               &in->buffers[i]);
    return status == HILO_OK ? CLI_OK : cli_fail(in->client, status);
}

/* ---- arrays ---------------------------------------------------------------------------------- */

/* Whether the array's elements have the type; those of ml_dtypes are written as V1 and V2, and match by size. */
static bool elements_fit(const struct npy_array *a, hilo_dtype dtype) {
    const struct ir_dtype_info *t = ir_dtype_get(rt_dtype(dtype));
    if (strcmp(a->descr, t->npy) == 0)
        return true;
    bool untyped = a->descr[0] == 'V' || (strcmp(a->descr, "f1") == 0 && dtype == HILO_F8E5M2);
    return untyped && !cli_numpy_has(t) && a->item_bytes == t->bytes;
}

static int set_array(struct inputs *in, size_t i, const struct npy_array *a) {
    hilo_type t = parameter_type(in, i);
    if (t.dtype == HILO_TOKEN || !elements_fit(a, t.dtype)) {
        hilo_dtype is = HILO_DTYPE_INVALID;
        for (int k = 1; k < IR_DTYPE_COUNT && !is; k++)
            if (strcmp(ir_dtype_get((enum ir_dtype)k)->npy, a->descr) == 0)
                is = ir_dtype_get((enum ir_dtype)k)->number;
        return is ? refuse_shape(in, i, "the array", is, (uint32_t)a->rank, a->dims)
                  : refuse(in, i, "the array's elements have numpy's type '%s'", a->descr);
    }
    if (!shape_fits(&t, (uint32_t)a->rank, a->dims))
        return refuse_shape(in, i, "the array", t.dtype, (uint32_t)a->rank, a->dims);
    return set_parameter(in, i, a->dims, (uint32_t)a->rank, a->data);
}

/* The first parameter without a value; n when all have one. */
static size_t next_parameter(const struct inputs *in) {
    size_t i = 0;
    while (i < in->n && in->buffers[i])
        i++;
    return i;
}

static int too_many(const struct inputs *in) {
    return cli_error(CLI_USAGE, "--input %s: too many inputs: the program takes %zu", in->text, in->n);
}

static int use_npy(struct inputs *in) {
    struct npy_array a;
    struct npy_error e;
    size_t i = next_parameter(in);
    if (i == in->n)
        return too_many(in);
    if (npy_read(in->text, &a, &e) != 0)
        return cli_error(CLI_ENVIRONMENT, "%s", e.message);
    int code = set_array(in, i, &a);
    npy_free(&a);
    return code;
}

/* The parameter of that name; n when there is none. */
static size_t parameter_named(const struct inputs *in, const char *name) {
    size_t i = 0;
    while (i < in->n && strcmp(hilo_executable_input_name(in->exe, i), name) != 0)
        i++;
    return i;
}

/* By name if all names match, otherwise in order. */
static int use_npz(struct inputs *in) {
    struct npy_array *a;
    struct npy_error e;
    size_t n;
    if (npz_read(in->text, &a, &n, &e) != 0)
        return cli_error(CLI_ENVIRONMENT, "%s", e.message);
    bool named = true;
    for (size_t k = 0; k < n; k++) {
        size_t i = parameter_named(in, a[k].name);
        named = named && i < in->n && !in->buffers[i];
    }
    int code = CLI_OK;
    for (size_t k = 0; k < n && code == CLI_OK; k++) {
        size_t i = named ? parameter_named(in, a[k].name) : next_parameter(in);
        code = i == in->n ? too_many(in) : set_array(in, i, &a[k]);
    }
    npz_free(a, n);
    return code;
}

/* ---- literals -------------------------------------------------------------------------------- */

/* A float of the format: decimal, inf, nan, or its bits as 0x…. */
static bool parse_float(enum fp_kind kind, const char **p, const char *end, void *out) {
    const char *s = *p;
    double x;
    float f;
    uint64_t bits;
    bool minus = s < end && *s == '-';
    const char *word = s + minus;
    if (end - word >= 3 && (memcmp(word, "inf", 3) == 0 || memcmp(word, "nan", 3) == 0)) {
        x = word[0] == 'i' ? INFINITY : NAN;
        fp_store(kind, out, fp_encode(kind, minus ? -x : x));
        *p = word + 3;
        return true;
    }
    if (end - s > 2 && s[0] == '0' && s[1] == 'x') {
        uint32_t width = fp_get(kind)->bits;
        if (!dec_parse_u64(s, end, &bits, p) || (width < 64 && bits >> width))
            return false;
        fp_store(kind, out, bits);
        return true;
    }
    if (kind == FP_F32) {
        if (!dec_parse_float(s, end, &f, p))
            return false;
        fp_store(kind, out, fp_f32_bits(f));
        return true;
    }
    if (!dec_parse_double(s, end, &x, p))
        return false;
    fp_store(kind, out, fp_encode(kind, x));
    return true;
}

static bool parse_int(const struct ir_dtype_info *t, const char **p, const char *end, void *out) {
    int64_t v = 0;
    uint64_t u = 0;
    if (t->cls == IR_UINT) {
        if (!dec_parse_u64(*p, end, &u, p) || (t->bits < 64 && u >> t->bits))
            return false;
    } else {
        if (!dec_parse_i64(*p, end, &v, p))
            return false;
        int64_t most = (int64_t)(UINT64_MAX >> (65 - t->bits));
        if (v > most || v < -most - 1)
            return false;
        u = (uint64_t)v;
    }
    memcpy(out, &u, t->bytes);
    return true;
}

static bool parse_bool(const char **p, const char *end, uint8_t *out) {
    static const char *const words[] = {"0", "1", "false", "true"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        size_t n = strlen(words[i]);
        if ((size_t)(end - *p) >= n && memcmp(*p, words[i], n) == 0) {
            *out = i & 1;
            *p += n;
            return true;
        }
    }
    return false;
}

/* `(re, im)`, or the real part alone. */
static bool parse_complex(const struct ir_dtype_info *t, const char **p, const char *end, char *out) {
    uint32_t half = t->bytes / 2;
    memset(out, 0, t->bytes);
    if (*p == end || **p != '(')
        return parse_float(t->fp, p, end, out);
    ++*p;
    if (!parse_float(t->fp, p, end, out) || *p == end || *(*p)++ != ',')
        return false;
    while (*p < end && **p == ' ')
        ++*p;
    return parse_float(t->fp, p, end, out + half) && *p < end && *(*p)++ == ')';
}

static bool parse_element(const struct ir_dtype_info *t, const char **p, const char *end, void *out) {
    switch (t->cls) {
    case IR_PRED:
        return parse_bool(p, end, out);
    case IR_FLOAT:
        return parse_float(t->fp, p, end, out);
    case IR_COMPLEX_CLASS:
        return parse_complex(t, p, end, out);
    default:
        return parse_int(t, p, end, out);
    }
}

/* Comma-separated elements: `count` of them, or one for all. */
static int parse_elements(const struct inputs *in, size_t i, const struct ir_dtype_info *t, const char *p, char *data,
                          size_t count) {
    const char *end = p + strlen(p);
    size_t n = 0;
    char beyond[16];
    for (;; n++) {
        p += strspn(p, " ");
        const char *at = p;
        if (!parse_element(t, &p, end, n < count ? data + n * t->bytes : beyond))
            return refuse(in, i, "'%.20s' is not a %s, or out of range", at, t->name);
        p += strspn(p, " ");
        if (*p != ',')
            break;
        p++;
    }
    n++;
    if (*p)
        return refuse(in, i, "found '%.20s' after a number; numbers are separated by commas", p);
    for (size_t k = 1; k < count && n == 1; k++)
        memcpy(data + k * t->bytes, data, t->bytes);
    if (n != count && n != 1)
        return refuse(in, i, "%zu numbers are given, expected %zu, or one for all", n, count);
    return CLI_OK;
}

/* `2x3xf32` before the '='; false when it is not a type. */
static bool parse_literal_type(const char *text, const char *equals, int64_t *dims, uint32_t *rank, enum ir_dtype *t) {
    const char *p = text, *next;
    for (*rank = 0; *rank < IR_MAX_RANK && *p >= '0' && *p <= '9'; ++*rank) {
        const char *x = p + strspn(p, "0123456789"); /* not a prefix 0x */
        if (!dec_parse_i64(p, x, &dims[*rank], &next) || *x != 'x')
            return false;
        p = x + 1;
    }
    *t = ir_dtype_named((struct str){p, (size_t)(equals - p)});
    return *t != IR_DTYPE_NONE && ir_dtype_get(*t)->number != HILO_DTYPE_INVALID;
}

static int use_literal(struct inputs *in, const char *equals) {
    int64_t dims[IR_MAX_RANK];
    uint32_t rank;
    enum ir_dtype t;
    if (!parse_literal_type(in->text, equals, dims, &rank, &t))
        return cli_error(CLI_USAGE, "--input %s: expected a type such as 2x3xf32 before '='", in->text);
    size_t i = next_parameter(in), bytes = ir_dtype_get(t)->bytes, count = 1;
    if (i == in->n)
        return too_many(in);
    hilo_type want = parameter_type(in, i);
    if (want.dtype != ir_dtype_get(t)->number || !shape_fits(&want, rank, dims))
        return refuse_shape(in, i, "the literal", ir_dtype_get(t)->number, rank, dims);
    if (!mem_shape(dims, rank, 1, &count) || count > SIZE_MAX / 16)
        return cli_error(CLI_ENVIRONMENT, "--input %s: out of memory", in->text);
    char *data = cli_alloc(count, bytes);
    int code = parse_elements(in, i, ir_dtype_get(t), equals + 1, data, count);
    if (code == CLI_OK)
        code = set_parameter(in, i, dims, rank, data);
    free(data);
    return code;
}

/* ---- random numbers -------------------------------------------------------------------------- */

static uint64_t splitmix64(uint64_t x) {
    x += UINT64_C(0x9E3779B97F4A7C15);
    x = (x ^ x >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    x = (x ^ x >> 27) * UINT64_C(0x94D049BB133111EB);
    return x ^ x >> 31;
}

/* A number in [0, 1) from as many leading bits as the significand has; the nearest one in types that lack such numbers. */
static void random_float(enum fp_kind kind, uint64_t bits, void *out) {
    int digits = fp_get(kind)->man_bits + 1;
    fp_store(kind, out, fp_encode(kind, ldexp((double)(bits >> (64 - digits)), -digits)));
}

static void random_element(const struct ir_dtype_info *t, uint64_t bits, char *out) {
    uint32_t most = t->cls == IR_SINT ? t->bits - 1 : t->bits; /* value bits */
    uint64_t small = bits >> (64 - (most < 3 ? most : 3));
    if (t->cls == IR_FLOAT) {
        random_float(t->fp, bits, out);
    } else if (t->cls == IR_COMPLEX_CLASS) {
        random_float(t->fp, bits, out);
        random_float(t->fp, splitmix64(bits), out + t->bytes / 2);
    } else {
        memcpy(out, &small, t->bytes);
    }
}

static int set_random(struct inputs *in, size_t i, uint64_t seed) {
    hilo_type t = parameter_type(in, i);
    if (t.dtype == HILO_TOKEN)
        return set_parameter(in, i, NULL, 0, NULL);
    const struct ir_dtype_info *info = ir_dtype_get(rt_dtype(t.dtype));
    size_t count = 1;
    for (uint32_t k = 0; k < t.rank; k++)
        if (t.dims[k] == HILO_DYNAMIC)
            return refuse(in, i, "random numbers need a static shape: use a literal or a file");
    if (!mem_shape(t.dims, t.rank, 1, &count))
        return cli_error(CLI_ENVIRONMENT, "--input %s: out of memory", in->text);
    hilo_status status = hilo_buffer_create(in->client, t.dtype, t.dims, t.rank, &in->buffers[i]);
    if (status != HILO_OK)
        return cli_fail(in->client, status);
    char *data = hilo_buffer_data(in->buffers[i]);
    uint64_t start = splitmix64(seed + i);
    for (size_t k = 0; k < count; k++)
        random_element(info, splitmix64(start + k), data + k * info->bytes);
    return CLI_OK;
}

/* One parameter, or all when it is the only --input. */
static int use_random(struct inputs *in, bool alone) {
    const char *p = in->text + strlen("random:"), *end = p + strlen(p), *next;
    uint64_t seed;
    if (!dec_parse_u64(p, end, &seed, &next) || next != end)
        return cli_error(CLI_USAGE, "--input %s: expected a number as seed, as in random:1", in->text);
    size_t i = next_parameter(in);
    if (i == in->n)
        return alone ? CLI_OK : too_many(in);
    int code = CLI_OK;
    do
        code = set_random(in, i, seed);
    while (alone && code == CLI_OK && ++i < in->n);
    return code;
}

/* ---- all inputs ------------------------------------------------------------------------------ */

static int use_input(struct inputs *in, bool alone) {
    const char *equals = strchr(in->text, '=');
    if (cli_ends_with(in->text, ".npy"))
        return use_npy(in);
    if (cli_ends_with(in->text, ".npz"))
        return use_npz(in);
    if (strncmp(in->text, "random:", 7) == 0)
        return use_random(in, alone);
    if (equals)
        return use_literal(in, equals);
    return cli_error(CLI_USAGE, "--input %s: expected a .npy or .npz file, a literal such as 4xf32=1,2,3,4, or random:SEED",
                     in->text);
}

/* Prints the parameters, and a command line with values for all of them. */
static int missing(const struct inputs *in, const char *file) {
    struct strbuf b;
    strbuf_init(&b, mem_system_allocator());
    size_t given = 0;
    for (size_t i = 0; i < in->n; i++) {
        hilo_type t = parameter_type(in, i);
        strbuf_printf(&b, "  parameter ");
        put_parameter(in, i, &b);
        strbuf_puts(&b, ": ");
        rt_type_text(t.dtype, t.rank, t.dims, &b);
        strbuf_puts(&b, in->buffers[i] ? "\n" : "  (missing)\n");
        given += in->buffers[i] != NULL;
    }
    strbuf_printf(&b, "for example:\n  hilo run %s", file);
    for (size_t i = 0; i < in->n && in->n <= 4; i++) {
        hilo_type t = parameter_type(in, i);
        strbuf_puts(&b, t.dtype == HILO_C64 || t.dtype == HILO_C128 ? " --input '" : " --input ");
        for (uint32_t k = 0; k < t.rank; k++)
            strbuf_printf(&b, "%" PRId64 "x", t.dims[k] == HILO_DYNAMIC ? 1 : t.dims[k]);
        strbuf_printf(&b, t.dtype == HILO_C64 || t.dtype == HILO_C128 ? "%s=0'" : "%s=0", hilo_dtype_name(t.dtype));
    }
    strbuf_printf(&b, "%s\n  hilo run %s --input random:1\n", in->n <= 4 ? "" : " --input arguments.npz", file);
    int code = cli_error(CLI_USAGE, "%zu of %zu inputs are given", given, in->n);
    fputs(b.p ? b.p : "", stderr);
    strbuf_free(&b);
    return code;
}

int cli_inputs(hilo_client *client, const hilo_executable *exe, const struct cli_texts *texts, const char *file,
               hilo_buffer ***out) {
    struct inputs in = {.client = client, .exe = exe, .n = hilo_executable_input_count(exe)};
    in.buffers = cli_alloc(in.n, sizeof *in.buffers);
    int code = CLI_OK;
    for (size_t i = 0; i < texts->n && code == CLI_OK; i++) {
        in.text = texts->v[i];
        code = use_input(&in, texts->n == 1);
    }
    for (size_t i = 0; i < in.n && code == CLI_OK; i++) /* tokens have no value and need not be given */
        if (!in.buffers[i] && parameter_type(&in, i).dtype == HILO_TOKEN)
            code = set_parameter(&in, i, NULL, 0, NULL);
    if (code == CLI_OK && next_parameter(&in) < in.n)
        code = missing(&in, file);
    if (code == CLI_OK) {
        *out = in.buffers;
        return CLI_OK;
    }
    for (size_t i = 0; i < in.n; i++)
        hilo_buffer_release(in.buffers[i]);
    free(in.buffers);
    return code;
}
