/* hilo kir: verifies, transforms, prints and runs kernels. */
#include "base/file.h"
#include "cli/cli.h"
#include "kir/kir.h"
#ifdef HILO_HAVE_LLVM
#include "codegen/codegen.h"
#include "runtime/code.h"
#endif

#include <math.h>
#include <stdlib.h>

struct cli_kir_options {
    bool dump, run;
    const char *passes;
    int64_t seed;
    int form; /* enum cli_kir_form */
    const char *target;
};
#define AT(field) offsetof(struct cli_kir_options, field)

static const struct cli_option options[] = {
    {"--passes", "LIST", CLI_KIR_PASSES, AT(passes), "run these passes, separated by commas, in this order"},
    {"--dump", NULL, CLI_FLAG, AT(dump), "print the kernel after each pass"},
    {"--run", NULL, CLI_FLAG, AT(run),
     "run the kernels on random numbers with the interpreter\nand as machine code, and compare every bit"},
    {"--seed", "N", CLI_NUMBER, AT(seed), "seed of the random numbers; default 0"},
    {"--emit", "FORM", CLI_KIR_FORM, AT(form), "what to print; default kir:"},
    {"--target", "CPU", CLI_TEXT, AT(target), "processor for --emit, such as x86-64-v4; default: this one"},
    {0}
};

static int fail(struct diag_list *d) {
    struct strbuf text;
    strbuf_init(&text, mem_system_allocator());
    diag_render(d, &text, cli_colour(stderr));
    fputs(text.p ? text.p : "", stderr);
    strbuf_free(&text);
    return CLI_FAILED;
}

/* ---- interpreter and machine code ----------------------------------------------------------- */

struct memory {
    void **params, *scratch;
};

static void memory_free(const struct kir *k, struct memory *m) {
    for (uint32_t i = 0; m->params && i < kir_param_count(k); i++)
        free(m->params[i]);
    free(m->params);
    free(m->scratch);
}

static uint64_t next_random(uint64_t *state) {
    uint64_t z = *state += 0x9E3779B97F4A7C15;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9;
    z = (z ^ z >> 27) * 0x94D049BB133111EB;
    return z ^ z >> 31;
}

/* Floats: one sixteenth are edge cases, the others of moderate size. Integers are small, so that they can be indices in
   bounds. */
static void random_element(enum ir_dtype t, void *p, uint64_t *state) {
    static const double edges[] = {0, -0.0, 1, -1, 1e-40, 3e38, 1e300, (double)INFINITY, -(double)INFINITY, (double)NAN};
    const struct ir_dtype_info *info = ir_dtype_get(t);
    uint64_t bits = next_random(state);
    if (info->cls == IR_FLOAT) {
        double x = bits % 16 ? ((double)(bits >> 11) * 0x1p-53 - 0.5) * 16 : edges[bits / 16 % 10];
        fp_store(info->fp, p, fp_encode(info->fp, x));
        return;
    }
    uint8_t small = (uint8_t)(bits % (info->cls == IR_PRED ? 2 : info->bits < 8 ? 1u << (info->bits - 1) : 8));
    memset(p, 0, info->bytes);
    memcpy(p, &small, 1);
}

static bool memory_new(const struct kir *k, uint64_t seed, struct memory *m) {
    uint32_t n = 0;
    *m = (struct memory){calloc(kir_param_count(k) + 1u, sizeof(void *)), NULL};
    if (!m->params || (k->scratch_bytes && !(m->scratch = aligned_alloc(64, (k->scratch_bytes + 63) & ~(size_t)63))))
        return false;
    if (k->scratch_bytes)
        memset(m->scratch, 0, k->scratch_bytes);
    for (uint32_t i = 0; i < k->buffers.n; i++) {
        const struct kir_buffer *b = &k->buffers.v[i];
        uint32_t size = ir_dtype_get(b->dtype)->bytes;
        if (b->role == KIR_SCRATCH)
            continue;
        size_t bytes = (size_t)b->count * size;
        if (!(m->params[n] = aligned_alloc(64, (bytes + 64) & ~(size_t)63)))
            return false;
        for (size_t at = 0; at < bytes; at += size)
            random_element(b->dtype, (char *)m->params[n] + at, &seed);
        n++;
    }
    return true;
}

#ifdef HILO_HAVE_LLVM
static bool same_element(enum ir_dtype t, const char *a, const char *b) {
    const struct ir_dtype_info *info = ir_dtype_get(t);
    return memcmp(a, b, info->bytes) == 0 ||
           (info->cls == IR_FLOAT && fp_is_nan(info->fp, fp_load(info->fp, a)) && fp_is_nan(info->fp, fp_load(info->fp, b)));
}

/* Prints the first elements that differ; returns how many do. */
static int64_t differences(const struct kir *k, const struct memory *want, const struct memory *got) {
    enum { SHOWN = 5 };
    int64_t different = 0;
    uint32_t n = 0;
    for (uint32_t i = 0; i < k->buffers.n; i++) {
        const struct kir_buffer *b = &k->buffers.v[i];
        uint32_t size = ir_dtype_get(b->dtype)->bytes;
        if (b->role == KIR_SCRATCH)
            continue;
        const char *x = want->params[n], *y = got->params[n];
        n++;
        for (int64_t e = 0; e < b->count; e++, x += size, y += size) {
            uint64_t p = 0, q = 0;
            if (same_element(b->dtype, x, y) || ++different > SHOWN)
                continue;
            memcpy(&p, x, size);
            memcpy(&q, y, size);
            printf("%s: b%u[%lld]: interpreter 0x%llx, machine code 0x%llx\n", k->name, (unsigned)i, (long long)e,
                   (unsigned long long)p, (unsigned long long)q);
        }
    }
    return different;
}

static hilo_status run_code(const struct kir *k, const struct memory *m, struct diag_list *d) {
    hilo_allocator al = mem_system_allocator();
    struct target target;
    struct rt_code *code;
    void *object;
    size_t bytes;
    HILO_TRY(cg_target(NULL, &target, d));
    HILO_TRY(cg_compile(&k, 1, &target, CG_OPTIMISED, CG_OBJECT, &al, d, &object, &bytes));
    struct str text = {object, bytes};
    hilo_status status = rt_code_load(&text, 1, 0, al, d, &code);
    mem_free(&al, object, bytes);
    if (status != HILO_OK)
        return status;
    if (target.tile_bf16 || target.tile_i8)
        rt_code_tiles();
    rt_code_find(code, k->name)(m->params, m->scratch, 0, kir_grid_extent(k));
    rt_code_free(code);
    return HILO_OK;
}

static int compare(const struct kir *k, const struct memory *a, const struct memory *b, struct diag_list *d) {
    if (cg_open(d) != HILO_OK || run_code(k, b, d) != HILO_OK)
        return fail(d);
    int64_t different = differences(k, a, b);
    if (different)
        printf("%s: %lld elements differ\n", k->name, (long long)different);
    else
        printf("%s: equal\n", k->name);
    return different ? CLI_FAILED : CLI_OK;
}
#else
static int compare(const struct kir *k, const struct memory *a, const struct memory *b, struct diag_list *d) {
    (void)a, (void)b, (void)d;
    printf("%s: interpreted only: this hilo was built without LLVM\n", k->name);
    return CLI_OK;
}
#endif

static int run_both(const struct kir *k, uint64_t seed, struct diag_list *d) {
    struct memory a, b = {NULL, NULL};
    int code = CLI_OK;
    if (!memory_new(k, seed, &a) || !memory_new(k, seed, &b))
        code = cli_error(CLI_ENVIRONMENT, "out of memory");
    else if (!kir_run(k, a.params, a.scratch, 0, kir_grid_extent(k), d))
        code = fail(d);
    else
        code = compare(k, &a, &b, d);
    memory_free(k, &a);
    memory_free(k, &b);
    return code;
}

/* ---- kernels --------------------------------------------------------------------------------- */

static int emit(const struct kir *k, const struct cli_kir_options *o, struct diag_list *d) {
#ifdef HILO_HAVE_LLVM
    hilo_allocator al = mem_system_allocator();
    struct target target;
    void *text;
    size_t bytes;
    enum cg_emit form = o->form == CLI_KIR_ASM ? CG_ASSEMBLY : CG_LLVM;
    if (cg_open(d) != HILO_OK || cg_target(o->target, &target, d) != HILO_OK ||
        cg_compile(&k, 1, &target, CG_OPTIMISED, form, &al, d, &text, &bytes) != HILO_OK)
        return fail(d);
    fwrite(text, 1, bytes, stdout);
    mem_free(&al, text, bytes);
    return CLI_OK;
#else
    (void)k, (void)o, (void)d;
    return cli_error(CLI_ENVIRONMENT, "this hilo was built without LLVM");
#endif
}

static int print(const struct kir *k) {
    struct strbuf text;
    strbuf_init(&text, mem_system_allocator());
    kir_print(k, &text);
    if (!text.failed)
        fwrite(text.p, 1, text.n, stdout);
    strbuf_free(&text);
    return text.failed ? cli_error(CLI_ENVIRONMENT, "out of memory") : CLI_OK;
}

static int process(struct kir *k, const struct cli_kir_options *o, struct diag_list *d) {
    if (kir_verify(k, d) != HILO_OK)
        return fail(d);
    struct strbuf dump;
    strbuf_init(&dump, mem_system_allocator());
    hilo_status status = kir_run_passes(k, o->passes ? o->passes : "", o->dump ? &dump : NULL, d);
    if (status == HILO_OK && (o->run || o->form)) /* the code generator has no functions */
        status = kir_run_passes(k, "expand-math", NULL, d);
    if (dump.p)
        fwrite(dump.p, 1, dump.n, stdout);
    strbuf_free(&dump);
    if (status != HILO_OK)
        return fail(d);
    if (kir_verify(k, d) != HILO_OK)
        return fail(d);
    return o->run ? run_both(k, (uint64_t)o->seed, d) : o->form ? emit(k, o, d) : o->dump ? CLI_OK : print(k);
}

static int process_file(const char *path, const struct cli_kir_options *o) {
    struct kir *volatile k = NULL;
    struct diag_list d;
    struct file file;
    jmp_buf recover;
    volatile int code = CLI_OK;
    size_t at = 0;
    diag_init(&d, mem_system_allocator());
    if (file_open(path, d.al, &d, &file) != HILO_OK) {
        fail(&d);
        diag_clear(&d);
        return CLI_ENVIRONMENT;
    }
    if (setjmp(recover)) {
        code = cli_error(CLI_ENVIRONMENT, "out of memory");
    } else {
        hilo_status status;
        while ((status = kir_parse(file.text, &at, d.al, &recover, &d, (struct kir **)&k)) == HILO_OK) {
            int worst = process(k, o, &d);
            code = worst > code ? worst : code;
            diag_clear(&d);
            kir_free(k);
            k = NULL;
        }
        if (status != HILO_NOT_FOUND)
            code = fail(&d);
    }
    kir_free(k);
    file_close(&file);
    diag_clear(&d);
    return code;
}

static int kir_main(const struct cli_command *self, int argc, char **argv) {
    struct cli_kir_options o = {0};
    struct cli_texts files;
    int code = cli_options(self, argc, argv, &o, &files);
    if (code < 0) {
        code = CLI_OK;
        for (size_t i = 0; i < files.n; i++) {
            int worst = process_file(files.v[i], &o);
            code = worst > code ? worst : code;
        }
    }
    cli_options_free(self, &o, &files);
    return code;
}

const struct cli_command cli_kir = {
    .name = "kir", .operands = "FILE…", .least = 1, .most = SIZE_MAX, .options = options, .run = kir_main,
    .summary = "verifies, prints and runs kernels",
    .text = "Reads kernels in the text form of the kernel IR, verifies them and prints them; with --run, executes them with\n"
            "the interpreter, which defines what kernels compute, and as machine code, and compares the results.\n",
    .examples = "  hilo compile examples/mlp.mlir --emit kir -o mlp.kir\n"
                "  hilo kir --passes=expand-math,clean mlp.kir\n"
                "  hilo kir --run --seed 7 mlp.kir\n"
                "  hilo kir --emit asm --target x86-64-v4 mlp.kir\n",
};
