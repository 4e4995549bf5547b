/* What makes a case pass:
 *
 *   with expected errors   The program is rejected as invalid. Every error is on an expected line and is of the
 *                          constraint that is given there; every expectation is met, but for those that an error in
 *                          the syntax before them hides.
 *   else                   It is accepted, and runs without error: `main` when there is one, else every function
 *                          without parameters that the program itself does not refer to.
 *   without assertions     Also, it prints to a text that reads back as the same program, in both forms.
 *
 * A program that asserts nothing and has functions with parameters is an example of what is valid, and not run. */
#include "cli/check.h"

#include <stdlib.h>

struct checker {
    hilo_client *client;
    const struct check_case *c;
    const struct check_options *o;
    struct check_counts *counts;
    char *why;
    size_t size;
};

/* ---- reasons --------------------------------------------------------------------------------- */

static bool refute(const struct checker *k, uint32_t line, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

static bool refute(const struct checker *k, uint32_t line, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    int n = snprintf(k->why, k->size, "%s:%u: ", k->c->path, line);
    if (n > 0 && (size_t)n < k->size)
        vsnprintf(k->why + n, k->size - (size_t)n, fmt, ap);
    va_end(ap);
    return false;
}

static void append_text(void *user, const char *text, size_t n) {
    strbuf_putn(user, text, n);
}

/* The first error, or with --verbose all diagnostics, after `what`. */
static bool refute_by_error(const struct checker *k, const char *what) {
    hilo_diagnostic d = {.struct_size = sizeof d};
    struct strbuf all;
    if (k->o->verbose) {
        strbuf_init(&all, mem_system_allocator());
        hilo_diagnostics_write(k->client, 0, append_text, &all);
        snprintf(k->why, k->size, "%s%.*s", what, (int)(all.n ? all.n - 1 : 0), all.p); /* no newline at the end */
        strbuf_free(&all);
    } else if (hilo_diagnostics_get(k->client, 0, &d) != HILO_OK) {
        return refute(k, k->c->line, "%sfailed without a diagnostic", what);
    } else if (!d.line) {
        return refute(k, k->c->line, "%s%s", what, d.message);
    } else {
        snprintf(k->why, k->size, "%s:%u:%u: %s%s%s%s%s", d.file, d.line, d.column, what, *d.label ? "[" : "", d.label,
                 *d.label ? "] " : "", d.message);
    }
    return false;
}

static hilo_status read_case(const struct checker *k, bool verify, hilo_module **out) {
    hilo_module_options o;
    hilo_module_options_init(&o);
    o.name = k->c->path;
    o.first_line = k->c->line;
    o.skip_verify = !verify;
    return hilo_module_parse(k->client, k->c->text.p, k->c->text.n, &o, out);
}

/* ---- rejections ------------------------------------------------------------------------------ */

static bool matches(const struct expect *e, const hilo_diagnostic *d) {
    return e->line == d->line && (!*e->label || strcmp(e->label, d->label) == 0);
}

/* Every error must match an expectation. */
static bool errors_expected(const struct checker *k, const struct expect *e, size_t n) {
    size_t count = hilo_diagnostics_count(k->client);
    for (size_t i = 0; i < count; i++) {
        hilo_diagnostic d = {.struct_size = sizeof d};
        hilo_diagnostics_get(k->client, i, &d);
        size_t j = 0;
        while (j < n && !matches(&e[j], &d))
            j++;
        if (d.severity == HILO_SEVERITY_ERROR && j == n) {
            snprintf(k->why, k->size, "%s:%u:%u: unexpected error: %s%s%s%s", d.file, d.line, d.column,
                     *d.label ? "[" : "", d.label, *d.label ? "] " : "", d.message);
            return false;
        }
    }
    return true;
}

/* The first expectation that no error matches; n when there is none. */
static size_t first_unmet(const struct checker *k, const struct expect *e, size_t n) {
    size_t count = hilo_diagnostics_count(k->client);
    for (size_t j = 0; j < n; j++) {
        bool met = false;
        for (size_t i = 0; i < count && !met; i++) {
            hilo_diagnostic d = {.struct_size = sizeof d};
            met = hilo_diagnostics_get(k->client, i, &d) == HILO_OK && matches(&e[j], &d);
        }
        if (!met)
            return j;
    }
    return n;
}

static bool check_refused(const struct checker *k, const struct expect *e, size_t n) {
    hilo_module *module = NULL;
    hilo_status status = read_case(k, true, &module);
    if (status == HILO_OK) {
        hilo_module_release(module);
        return refute(k, e[0].line, "expected an error%s%s, but the program was accepted", *e[0].label ? " of " : "",
                      e[0].label);
    }
    if (status != HILO_INVALID_ARGUMENT)
        return refute_by_error(k, "expected a rejection, not: ");
    if (!errors_expected(k, e, n))
        return false;
    size_t unmet = first_unmet(k, e, n);
    if (unmet == n)
        return true;
    if (read_case(k, false, &module) != HILO_OK)
        return true; /* the syntax is wrong already */
    hilo_module_release(module);
    return refute(k, e[unmet].line, "expected an error%s%s, but there is none", *e[unmet].label ? " of " : "",
                  e[unmet].label);
}

/* ---- which functions to run ------------------------------------------------------------------ */

struct survey {
    const hilo_module *module;
    bool asserts;     /* check.*, or custom_call @check.* */
    bool *referred;   /* by function: whether the program refers to it */
};

static void survey_attr(struct survey *s, ir_attr attr) {
    const struct ir_module *m = rt_module_ir(s->module);
    const ir_op *functions = rt_module_functions(s->module);
    const struct ir_attr_data *a = ir_attr_get(m, attr);
    if (a->kind == IR_ATTR_SYMBOL)
        for (size_t i = 0; i < rt_module_nfunctions(s->module); i++)
            s->referred[i] |= str_eq(ir_prop_str(m, functions[i], IR_FUNC_sym_name), ir_str_get(m, a->str));
    if (a->kind == IR_ATTR_ARRAY || a->kind == IR_ATTR_DICT || a->kind == IR_ATTR_STRUCT)
        for (uint32_t i = 0; i < a->n; i++)
            survey_attr(s, a->items[i]);
}

static void survey_region(struct survey *s, ir_region r) {
    const struct ir_module *m = rt_module_ir(s->module);
    for (ir_block b = ir_region_get(m, r)->first; !IR_NONE(b); b = ir_block_get(m, b)->next)
        for (ir_op op = ir_block_get(m, b)->first; !IR_NONE(op); op = ir_op_get(m, op)->next) {
            const struct ir_op_data *o = ir_op_get(m, op);
            const struct ir_op_info *info = ir_op_info((enum ir_op_kind)o->kind);
            s->asserts |= str_starts(ir_op_name(m, op), "check.");
            if (o->kind == IR_CUSTOM_CALL)
                s->asserts |= str_starts(ir_prop_str(m, op, IR_CUSTOM_CALL_call_target_name), "check.");
            for (uint32_t i = 0; i < info->nslots; i++)
                survey_attr(s, o->props[i]);
            survey_attr(s, o->attrs);
            for (uint32_t i = 0; i < o->nregions; i++)
                survey_region(s, ir_op_region(m, op, i));
        }
}

/* ---- running --------------------------------------------------------------------------------- */

/* Replaces the executable by what its .hilo file loads. */
static hilo_status reload(const struct checker *k, hilo_executable **exe) {
    struct strbuf file;
    hilo_executable *again = NULL;
    strbuf_init(&file, mem_system_allocator());
    hilo_status status = hilo_executable_serialize(*exe, append_text, &file);
    if (status == HILO_OK)
        status = file.failed ? HILO_RESOURCE_EXHAUSTED : hilo_executable_deserialize(k->client, file.p, file.n, &again);
    strbuf_free(&file);
    hilo_executable_release(*exe);
    *exe = again;
    return status;
}

/* Adds the ops of a plan to the counts; a note lists those of a step as "add ×2, negate". Assertions are not counted. */
static void count_ops(struct check_counts *counts, const struct plan *p) {
    static const enum check_how how[] = {[PLAN_KERNEL] = CHECK_KERNEL, [PLAN_ROUTINE] = CHECK_ROUTINE,
                                         [PLAN_REFERENCE] = CHECK_EVALUATED};
    if (p->evaluated)
        atomic_fetch_add(&counts->ops[CHECK_WHOLE], 1);
    for (uint32_t i = 0; i < p->nsteps && !p->evaluated; i++) {
        const struct plan_step *s = &p->steps[i];
        bool computes = s->kind == PLAN_KERNEL || s->kind == PLAN_ROUTINE || s->kind == PLAN_REFERENCE;
        const char *ops = s->note ? s->note->ops : "";
        for (const char *end; computes && *ops; ops = *end ? end + 2 : end) {
            end = ops + strcspn(ops, ",");
            const char *times = memmem(ops, (size_t)(end - ops), "×", strlen("×"));
            if (strncmp(ops, "expect_", 7) != 0 && strncmp(ops, "custom_call", 11) != 0)
                atomic_fetch_add(&counts->ops[how[s->kind]], times ? strtoul(times + strlen("×"), NULL, 10) : 1);
        }
    }
}

/* The function as it is to be run: of `module`, or of a copy that takes its constants as inputs. */
static hilo_status prepare_entry(const struct checker *k, size_t function, hilo_module **module, hilo_buffer ***inputs,
                                 size_t *n, uint32_t *partitions) {
    *partitions = (uint32_t)k->o->shardings;
    if (!k->o->arguments && !*partitions) {
        rt_module_retain(*module);
        return HILO_OK;
    }
    hilo_status status = read_case(k, true, module);
    if (status == HILO_OK)
        status = check_arguments(k->client, *module, function, inputs, n);
    if (status == HILO_OK && *partitions)
        status = check_shardings(k->client, *module, function, partitions, (uint64_t)k->o->seed);
    return status;
}

static bool run_function(const struct checker *k, hilo_module *module, size_t function) {
    hilo_compile_options o;
    hilo_executable *exe = NULL;
    hilo_buffer **inputs = NULL, **outputs = NULL;
    size_t ninputs = 0, n = 0;
    uint32_t partitions = 0;
    cli_compile_options(&k->o->compile, hilo_module_function_name(module, function), &o);
    bool passed = prepare_entry(k, function, &module, &inputs, &ninputs, &partitions) == HILO_OK &&
                  hilo_compile(k->client, module, &o, &exe) == HILO_OK;
    if (!passed)
        refute_by_error(k, "");
    else if (k->o->reload && reload(k, &exe) != HILO_OK)
        passed = refute_by_error(k, "as a .hilo file: ");
    if (passed) {
        count_ops(k->counts, rt_executable_plan(exe));
    }
    if (passed && partitions > 1) {
        passed = check_run(exe, inputs, ninputs, partitions) == HILO_OK || refute_by_error(k, "");
    } else if (passed) {
        n = hilo_executable_output_count(exe);
        outputs = cli_alloc(n, sizeof *outputs);
        passed = hilo_execute(exe, NULL, inputs, ninputs, outputs, n) == HILO_OK || refute_by_error(k, "");
    }
    for (size_t i = 0; i < n; i++)
        hilo_buffer_release(outputs[i]);
    for (size_t i = 0; i < ninputs; i++)
        hilo_buffer_release(inputs[i]);
    free(outputs);
    free(inputs);
    hilo_executable_release(exe);
    hilo_module_release(module);
    return passed;
}

static bool has_body(const hilo_module *module, size_t i) {
    return !IR_NONE(ir_func_body(rt_module_ir(module), rt_module_functions(module)[i]));
}

static bool run_entries(const struct checker *k, hilo_module *module, const struct survey *s) {
    size_t n = hilo_module_function_count(module), main = n;
    bool passed = true, parameters = false;
    for (size_t i = 0; i < n; i++) {
        main = strcmp(hilo_module_function_name(module, i), "main") == 0 ? i : main;
        parameters |= hilo_module_function_input_count(module, i) > 0;
    }
    if (parameters && main == n && !s->asserts)
        return true;
    if (main < n)
        return run_function(k, module, main);
    for (size_t i = 0; i < n && passed; i++)
        if (has_body(module, i) && hilo_module_function_input_count(module, i) == 0 && !s->referred[i])
            passed = run_function(k, module, i);
    return passed;
}

/* ---- printing -------------------------------------------------------------------------------- */

static bool print_module(hilo_module *module, bool generic, struct strbuf *out) {
    hilo_print_options o;
    hilo_print_options_init(&o);
    o.generic = generic;
    strbuf_init(out, mem_system_allocator());
    return hilo_module_print(module, &o, append_text, out) == HILO_OK && !out->failed;
}

/* The module's text in one form, read and printed again, is `want`. */
static bool reprints(const struct checker *k, hilo_module *module, bool generic, struct str want) {
    struct strbuf text, again = {.p = NULL};
    hilo_module *copy = NULL;
    hilo_module_options o;
    hilo_module_options_init(&o);
    o.name = generic ? "<printed, generic form>" : "<printed>";
    bool passed = false;
    if (!print_module(module, generic, &text))
        refute_by_error(k, "cannot be printed: ");
    else if (hilo_module_parse(k->client, text.p, text.n, &o, &copy) != HILO_OK)
        refute_by_error(k, "does not read back as printed: ");
    else if (!print_module(copy, false, &again))
        refute_by_error(k, "cannot be printed again: ");
    else if (!(passed = str_eq((struct str){again.p, again.n}, want)))
        refute(k, k->c->line, "prints differently after it was printed%s and read",
               generic ? " in the generic form" : "");
    hilo_module_release(copy);
    strbuf_free(&text);
    if (again.p)
        strbuf_free(&again);
    return passed;
}

static bool check_printing(const struct checker *k, hilo_module *module) {
    struct strbuf text;
    bool passed = print_module(module, false, &text);
    if (!passed)
        refute_by_error(k, "cannot be printed: ");
    struct str want = {text.p, text.n};
    passed = passed && reprints(k, module, false, want) && reprints(k, module, true, want);
    strbuf_free(&text);
    return passed;
}

/* ---- the case -------------------------------------------------------------------------------- */

static bool check_accepted(const struct checker *k) {
    hilo_module *module;
    if (read_case(k, true, &module) != HILO_OK)
        return refute_by_error(k, "");
    struct survey s = {.module = module, .referred = cli_alloc(rt_module_nfunctions(module), sizeof *s.referred)};
    const struct ir_module *m = rt_module_ir(module);
    survey_region(&s, ir_op_region(m, m->root, 0));
    bool passed = run_entries(k, module, &s) && (s.asserts || check_printing(k, module));
    free(s.referred);
    hilo_module_release(module);
    return passed;
}

bool check_case(hilo_client *client, const struct check_case *c, const struct check_options *o, struct check_counts *counts,
                char *why, size_t size) {
    struct checker k = {client, c, o, counts, why, size};
    struct expect *expected;
    size_t n = expect_parse(c->text, c->line, &expected);
    bool passed = n ? check_refused(&k, expected, n) : check_accepted(&k);
    free(expected);
    hilo_diagnostics_clear(client);
    return passed;
}
