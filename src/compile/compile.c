/* From a module to an executable: the entry, its parameters and results, optimisation, the plan. */
#include "base/file.h"
#include "base/hash.h"
#include "compile/cached.h"
#include "compile/code.h"
#include "compile/dump.h"
#include "compile/remat.h"
#include "opt/opt.h"
#include "read/hlo/write.h"
#include "runtime/runtime.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

void hilo_compile_options_init_sized(hilo_compile_options *options, size_t struct_size) {
    static const hilo_compile_options defaults = {.level = 2, .backend = HILO_BACKEND_AUTO, .cache = 1};
    rt_options_init(options, struct_size, &defaults, sizeof defaults);
}

struct compile {
    const struct ir_module *m;
    hilo_executable *exe;
    const hilo_compile_options *o;
    hilo_buffer *const *inputs; /* whose shapes the program is compiled for; NULL = for its declared ones */
    enum code_form form;
    enum lib_external by;       /* of the calibration: the provider of what it supports; LIB_EXTERNAL_COUNT = by the options */
    const struct machine *machine; /* of the options; or NULL */
    hilo_tier tier;             /* of generated code; OPTIMISED where there is no baseline */
    struct code_opening *opening; /* of LLVM, while the program is optimised and lowered */
    struct strbuf *text;        /* where its kernels are written in that form, which ends it; NULL = not written */
    struct diag_list *d;
};

/* ---- the entry ------------------------------------------------------------------------------- */

static struct str function_name(const struct ir_module *m, ir_op func) {
    return ir_prop_str(m, func, IR_FUNC_sym_name);
}

/* `why`, then the functions that there are. */
static hilo_status entry_error(const struct compile *c, const char *why, const char *name) {
    const hilo_module *module = c->exe->module;
    struct strbuf names;
    strbuf_init(&names, c->d->al);
    for (size_t i = 0; i < module->nfunctions; i++) {
        strbuf_puts(&names, i ? ", @" : "; there are: @");
        strbuf_str(&names, function_name(c->m, module->functions[i]));
    }
    hilo_status status = diag_error(c->d, HILO_NOT_FOUND, "%s%s%s", why, name,
                                    !module->nfunctions ? "; the program has no functions"
                                    : names.p           ? names.p
                                                        : "");
    strbuf_free(&names);
    return status;
}

static ir_op function_named(const struct compile *c, const char *name) {
    const hilo_module *module = c->exe->module;
    for (size_t i = 0; i < module->nfunctions; i++)
        if (str_is(function_name(c->m, module->functions[i]), name))
            return module->functions[i];
    return (ir_op){0};
}

static hilo_status find_entry(const struct compile *c, ir_op *out) {
    const hilo_module *module = c->exe->module;
    ir_op entry = function_named(c, c->o->entry ? c->o->entry : "main");
    if (IR_NONE(entry) && c->o->entry)
        return entry_error(c, "there is no function @", c->o->entry);
    size_t npublic = 0;
    for (size_t i = 0; i < module->nfunctions && IR_NONE(entry); i++)
        if (hilo_module_function_public(module, i)) {
            npublic++;
            *out = module->functions[i];
        }
    if (IR_NONE(entry) && npublic != 1)
        return entry_error(c, "name the entry: there is neither @main nor a single public function", "");
    if (!IR_NONE(entry))
        *out = entry;
    if (IR_NONE(ir_func_body(c->m, *out)))
        return ir_op_error(c->m, c->d, *out, HILO_INVALID_ARGUMENT, NULL, "is a declaration; the entry needs a body");
    return HILO_OK;
}

/* ---- parameters and results ------------------------------------------------------------------ */

/* Entry i of arg_attrs or res_attrs; none when absent. */
static ir_attr port_attrs(const struct ir_module *m, ir_op func, enum ir_slot slot, uint32_t i) {
    const struct ir_attr_data *a = ir_attr_get(m, ir_prop(m, func, slot));
    return a->kind == IR_ATTR_ARRAY && i < a->n ? a->items[i] : (ir_attr){0};
}

/* A string among the attributes, terminated; "" when it is absent. */
static const char *port_name(const struct ir_module *m, ir_attr attrs, const char *key) {
    struct str s = ir_attr_as_str(m, ir_dict_find(m, attrs, str_of(key)));
    return s.n ? s.p : "";
}

/* `loc("name")`, as JAX writes it after its parameters. */
static const char *location_name(const struct ir_module *m, ir_attr loc) {
    const struct ir_attr_data *a = ir_attr_get(m, loc);
    return a->kind == IR_ATTR_LOC_NAME ? ir_str_get(m, a->str).p : "";
}

static hilo_status port_type(const struct compile *c, const struct ir_module *m, ir_op func, ir_type type, const char *what,
                             uint32_t i, struct rt_port *out) {
    const struct ir_type_data *t = ir_type_get(m, type);
    out->alias = -1;
    out->name = "";
    if (t->kind == IR_TYPE_TOKEN) {
        out->type = (hilo_type){.dtype = HILO_TOKEN};
        return HILO_OK;
    }
    bool tensor = t->kind == IR_TYPE_TENSOR || t->kind == IR_TYPE_MEMREF;
    hilo_dtype dtype = tensor ? ir_dtype_get(t->dtype)->number : HILO_DTYPE_INVALID;
    if (dtype) {
        out->type = (hilo_type){dtype, t->rank, t->dims};
        out->bounds = t->bounds;
        return HILO_OK;
    }
    struct strbuf text;
    strbuf_init(&text, c->d->al);
    ir_print_type(m, type, &text);
    hilo_status status =
        ir_op_error(m, c->d, func, HILO_UNIMPLEMENTED, NULL,
                    "has the %s %u of type %s; an entry takes and gives tensors and tokens", what, i, text.p ? text.p : "");
    strbuf_free(&text);
    return status;
}

static hilo_status describe(const struct compile *c, const struct ir_module *m, ir_op func) {
    hilo_executable *exe = c->exe;
    const struct ir_type_data *t = ir_type_get(m, ir_attr_get(m, ir_prop(m, func, IR_FUNC_function_type))->type);
    uint32_t nin = t->ninputs, nout = t->ntypes - t->ninputs;
    const struct ir_block_data *body = ir_block_get(m, ir_func_body(m, func));
    exe->inputs = ARENA_ARRAY(&exe->arena, struct rt_port, nin);
    exe->outputs = ARENA_ARRAY(&exe->arena, struct rt_port, nout);
    for (uint32_t i = 0; i < nin; i++) {
        struct rt_port *p = &exe->inputs[i];
        HILO_TRY(port_type(c, m, func, t->types[i], "parameter", i, p));
        ir_attr attrs = port_attrs(m, func, IR_FUNC_arg_attrs, i);
        p->name = port_name(m, attrs, "jax.arg_info");
        if (!*p->name && i < body->nargs)
            p->name = location_name(m, ir_val_get(m, body->args[i])->loc);
        int64_t alias;
        if (ir_attr_as_i64(m, ir_dict_find(m, attrs, STR("tf.aliasing_output")), &alias) && alias >= 0 && alias < nout)
            p->alias = (int32_t)alias;
    }
    for (uint32_t i = 0; i < nout; i++) {
        struct rt_port *p = &exe->outputs[i];
        HILO_TRY(port_type(c, m, func, t->types[nin + i], "result", i, p));
        p->name = port_name(m, port_attrs(m, func, IR_FUNC_res_attrs, i), "jax.result_info");
    }
    return HILO_OK;
}

/* ---- optimisation ---------------------------------------------------------------------------- */

static bool is_unknown(const struct ir_type_data *t) {
    return ir_type_is_shaped(t) && !ir_type_is_static(t);
}

/* The sizes of all arguments are known: from the types of the parameters, or the shapes of the inputs. */
static bool knows_arguments(const struct compile *c, ir_op entry) {
    const struct ir_block_data *body = ir_block_get(c->m, ir_func_body(c->m, entry));
    for (uint32_t i = 0; i < body->nargs && !c->inputs; i++)
        if (is_unknown(ir_val_type(c->m, body->args[i])))
            return false;
    return true;
}

/* The types of the entry's parameters, with the shapes of the inputs. */
static const ir_type *argument_types(const struct compile *c, struct ir_module *m, ir_op entry) {
    const struct ir_block_data *body = ir_block_get(m, ir_func_body(m, entry));
    ir_type *types = ARENA_ARRAY(&c->exe->arena, ir_type, body->nargs + 1);
    for (uint32_t i = 0; i < body->nargs; i++) {
        types[i] = ir_val_get(m, body->args[i])->type;
        const struct ir_type_data *t = ir_type_get(m, types[i]);
        if (is_unknown(t)) /* then there are inputs, and they fit */
            types[i] = ir_type_tensor(m, t->elem, c->inputs[i]->dims, t->rank, (ir_attr){0});
    }
    return types;
}

/* Follows the sizes of the arguments through the program. UNIMPLEMENTED when some stay unknown: then states of loops may have
   been given sizes that they do not keep. */
static hilo_status refine(const struct compile *c, ir_op entry, struct ir_module *m) {
    struct diag_list ignored;
    diag_init(&ignored, c->d->al);
    m->arena.recover = c->exe->arena.recover;
    const ir_type *types = argument_types(c, m, entry);
    struct opt o;
    opt_init(&o, m, &ignored);
    hilo_status status = opt_refine(&o, entry, types);
    opt_free(&o);
    if (status == HILO_OK && build_can(m, entry) != BUILD_ALL)
        status = HILO_UNIMPLEMENTED;
    if (status == HILO_OK) {
        m->arena.recover = c->exe->arena.recover;
        status = ir_verify(m, &ignored);
        m->arena.recover = NULL;
    }
    diag_clear(&ignored);
    return status == HILO_OK || status == HILO_RESOURCE_EXHAUSTED ? status : HILO_UNIMPLEMENTED;
}

/* The name of the machine that kernels are for: that of the options, or of the client's GPU; NULL = this processor. */
static const char *target_name(const struct compile *c) {
    if (c->machine)
        return c->machine->gpu;
    bool compiles = c->o->backend == HILO_BACKEND_AUTO || c->o->backend == HILO_BACKEND_CODEGEN ||
                    c->o->backend == HILO_BACKEND_LIBRARY;
    return c->o->target_cpu || !compiles ? c->o->target_cpu : rt_client_gpu_target(c->exe->client);
}

/* The machine that passes estimate costs for, whether or not code can be generated for it. */
static void machine(const struct compile *c, struct target *out) {
    struct diag_list ignored;
    const char *name = target_name(c);
    diag_init(&ignored, c->d->al);
    bool host = !name || strcmp(name, "native") == 0;
    if ((c->o->backend == HILO_BACKEND_INTERPRETER && !name) ||
        (host ? target_host(out, &ignored) : target_named(name, out, &ignored)) != HILO_OK)
        target_portable(out);
    target_expect_threads(out, c->exe->client->threads);
    diag_clear(&ignored);
}

/* A copy of the module, in the place of an earlier one, optimised. */
static hilo_status optimised_copy(const struct compile *c, ir_op entry, bool refined, struct dump *to, struct ir_module **out) {
    ir_module_free(c->exe->optimised);
    struct ir_module *m = *out = c->exe->optimised = ir_module_clone(c->m, c->d->al, NULL);
    if (!m)
        return HILO_RESOURCE_EXHAUSTED;
    if (refined)
        HILO_TRY(refine(c, entry, m));
    struct opt o;
    struct target target;
    machine(c, &target);
    opt_init(&o, m, c->d);
    o.options.target = &target;
    o.options.level = c->o->level;
    o.options.batch_invariant = c->o->batch_invariant;
    o.options.passes = c->o->backend == HILO_BACKEND_REFERENCE ? "fused" : c->o->passes;
    o.options.entry = entry;
    dump_passes(to, &o.options);
    hilo_status status = opt_run(&o);
    opt_free(&o);
    return status;
}

/* The program that the plan is made from: a copy of the module, optimised; the module itself for the backend that defines every
   result, unless it has calls that are defined by what they are written out as. */
static hilo_status optimise(const struct compile *c, ir_op entry, struct dump *to, struct ir_module **out) {
    *out = NULL;
    bool reference = c->o->backend == HILO_BACKEND_REFERENCE;
    if (reference && !opt_has_fused(c->m))
        return HILO_OK;
    HILO_TRY(optimised_copy(c, entry, c->inputs != NULL, to, out));
    if (reference || c->inputs || build_can(*out, entry) != BUILD_SIZES || !knows_arguments(c, entry))
        return HILO_OK;
    hilo_status status = optimised_copy(c, entry, true, to, out);
    return status == HILO_UNIMPLEMENTED ? optimised_copy(c, entry, false, to, out) : status;
}

/* ---- the plan -------------------------------------------------------------------------------- */

static void free_build(void *build) {
    build_prepared_free(build);
    build_free(build);
}

/* An attempt to make a program one for little memory. */
struct fitting {
    struct remat r;
    struct opt o;
    struct ir_module *copy; /* that an attempt is made with */
    struct diag_list d;     /* of such */
};

static void end_fitting(void *fitting) {
    struct fitting *f = fitting;
    remat_free(&f->r);
    opt_free(&f->o);
    ir_module_free(f->copy);
    diag_clear(&f->d);
    f->copy = NULL;
}

/* Computes values of more than `most` bytes part by part, if it is not 0, and what is cheap again, until it fits. */
static hilo_status fit_module(const struct compile *c, struct fitting *f, const struct build *b, struct ir_module *m,
                              ir_op entry, size_t most, struct diag_list *d) {
    f->r = (struct remat){.m = m, .entry = entry, .like = b, .limit = c->o->memory_limit, .least = SIZE_MAX, .d = d};
    arena_init(&f->r.arena, c->d->al, c->exe->arena.recover);
    if (most) {
        opt_init(&f->o, m, d);
        f->o.options.passes = "strip-mine,cse";
        f->o.options.strip_bytes = most;
        f->o.options.entry = entry;
        HILO_TRY(opt_run(&f->o));
        opt_free(&f->o);
        m->arena.recover = c->exe->arena.recover;
    }
    return remat_fit(&f->r);
}

/* What the program would need at the least then, as far as that is more than the limit; it is left as it is. */
static size_t would_need(const struct compile *c, struct fitting *f, const struct build *b, ir_op entry, size_t most) {
    f->copy = ir_module_clone(b->m, c->d->al, c->exe->arena.recover);
    size_t need = SIZE_MAX;
    if (f->copy) {
        fit_module(c, f, b, f->copy, entry, most, &f->d);
        need = f->r.least;
    }
    end_fitting(f);
    return need;
}

/* Makes the program one for little memory, if it is to be. Parts are as large as that allows: the smaller they are, the more
   time they take. */
static hilo_status fit(const struct compile *c, struct build *b, ir_op entry) {
    enum { FIT_PARTS = 4, FIT_LEAST = TORTURED(16, 1 << 14) }; /* values are large by 0 or the limit over powers, at least */
    size_t limit = c->o->memory_limit, best = 0;
    if (!limit)
        return HILO_OK;
    struct fitting *f = ARENA_NEW(&c->exe->arena, struct fitting);
    opt_init(&f->o, b->m, c->d);
    diag_init(&f->d, c->d->al);
    rt_executable_keep(c->exe, f, end_fitting);
    size_t least = would_need(c, f, b, entry, 0);
    for (size_t most = limit / FIT_PARTS; least > limit && most >= FIT_LEAST; most /= FIT_PARTS) {
        size_t need = would_need(c, f, b, entry, most);
        if (need < least) {
            least = need;
            best = most;
        }
    }
    return fit_module(c, f, b, b->m, entry, best, c->d);
}

/* The machine that kernels are for; threads: see target_expect_threads. */
static hilo_status choose_target(struct build *b, const char *name, int32_t threads, bool interpret) {
    struct target *t = ARENA_NEW(b->a, struct target);
    if (name || !interpret)
        HILO_TRY(code_target(name, t, b->d));
    else
        target_portable(t);
    target_expect_threads(t, threads);
    b->target = t;
    return HILO_OK;
}

/* A number of the program as it was given, and of the machine. What is in large constants does not change how long it takes. */
static hilo_status placed_program(const struct compile *c, uint64_t *out) {
    enum { CONSTANT_ELEMENTS = 16 };
    struct strbuf text;
    struct hash h = {{0, 0}};
    strbuf_init(&text, c->d->al);
    ir_print_module(c->m, &(struct ir_print_options){.elide_elements = CONSTANT_ELEMENTS}, &text);
    bool failed = text.failed;
    if (!failed)
        hash_add(&h, text.p, text.n);
    strbuf_free(&text);
    hash_add(&h, c->machine, offsetof(struct machine, arguments_on_device) + 1);
    hash_add(&h, NULL, 0);
    *out = h.v[0] ? h.v[0] : 1;
    return failed ? HILO_RESOURCE_EXHAUSTED : HILO_OK;
}

/* Has the steps placed on the processor and the GPU of the machine that the options name. */
static hilo_status choose_units(const struct compile *c, struct build *b) {
    struct target *t = ARENA_NEW(b->a, struct target);
    if (!b->on_device)
        return diag_error(c->d, HILO_INVALID_ARGUMENT, "a machine is for generated code, and its gpu must be one");
    HILO_TRY(code_target(NULL, t, c->d));
    target_expect_threads(t, c->exe->client->threads);
    b->processor = t;
    b->machine = c->machine;
    HILO_TRY(placed_program(c, &b->placed));
    b->revoked = rt_client_revoked(c->exe->client, b->placed);
    return HILO_OK;
}

/* Kernels by their interpreter, which is slow: it is what machine code is compared with. They may be those of a processor that
   is not here. */
static hilo_status interpreted_plan(const struct compile *c, struct build *b, ir_op entry) {
    HILO_TRY(fit(c, b, entry));
    HILO_TRY(build_plan(b, entry, &c->exe->plan));
    for (uint32_t i = 0; i < b->kernels.n; i++)
        b->kernels.v[i].step->interpret = kir_run;
    return HILO_OK;
}

static void expect_time(hilo_executable *exe, const struct build *b) {
    const double *ns = b->offload->ns;
    if (b->offload->to == OFFLOAD_PART)
        exe->guard =
            (struct rt_guard){b->placed, ns[OFFLOAD_PART] * 1e-6, fmin(ns[OFFLOAD_NONE], ns[OFFLOAD_ALL]) * 1e-6};
}

/* The backend is one that generates code, or fails. */
static bool is_named(const struct compile *c) {
    return c->o->backend == HILO_BACKEND_CODEGEN || c->o->backend == HILO_BACKEND_LIBRARY ||
           c->o->backend == HILO_BACKEND_INTERPRETER;
}

/* Whether there is a code generator; logs once for each client why not. */
static bool can_generate(const struct compile *c) {
    struct diag_list d;
    diag_init(&d, c->d->al);
    bool can = code_available(&d) == HILO_OK;
    if (!can && !atomic_exchange(&c->exe->client->told_evaluated, true))
        rt_log(c->exe->client, HILO_LOG_WARNING, "%s; programs are evaluated",
               d.first && d.first->message ? d.first->message : "out of memory");
    diag_clear(&d);
    return can;
}

/* Code for the program needs LLVM, and there is none, or it is not known whether there is. */
static bool is_missing(const struct compile *c, struct build *b) {
    return c->tier == HILO_TIER_OPTIMISED || (!c->text && code_is_missing(b));
}

/* UNAVAILABLE without a message: there is no code generator, and the program is to be evaluated. */
static hilo_status compiled_plan(const struct compile *c, struct build *b, ir_op entry) {
    HILO_TRY(fit(c, b, entry));
    if (!c->text)
        code_begin(c->exe, b);
    HILO_TRY(build_plan(b, entry, &c->exe->plan));
    if (!is_named(c) && is_missing(c, b) && !can_generate(c))
        return HILO_UNAVAILABLE;
    if (b->offload) {
        c->exe->plan.placement = b->offload->reason;
        rt_log(c->exe->client, HILO_LOG_DEBUG, "placement: %s", b->offload->reason);
        expect_time(c->exe, b);
    }
    HILO_TRY(c->text ? code_text(b, c->form, c->text) : code_end(b));
    build_free(b); /* what it had is in the code now */
    return HILO_OK;
}

/* The program is written, not its kernels. */
static bool wants_program(const struct compile *c) {
    return c->text && (c->form == CODE_HLO || c->form == CODE_MLIR);
}

static hilo_status fused_program(const struct compile *c, struct build *b, ir_op entry) {
    HILO_TRY(fit(c, b, entry));
    return build_fusions(b, entry);
}

static hilo_status write_program(const struct compile *c, const struct ir_module *m) {
    if (c->form == CODE_HLO)
        return write_hlo(m, c->d, c->text);
    ir_print_module(m, &(struct ir_print_options){.locations = true}, c->text);
    return c->text->failed ? HILO_RESOURCE_EXHAUSTED : HILO_OK;
}

/* Code for another processor, and code that is interpreted, is hilo's alone. */
static void choose_libraries(const struct compile *c, struct build *b) {
    char why[256];
    if (c->by != LIB_EXTERNAL_COUNT) {
        b->libraries = c->by == LIB_OWN ? BUILD_OWN : BUILD_ONE;
        b->library = c->by;
    } else if (c->o->backend == HILO_BACKEND_LIBRARY) {
        b->libraries = BUILD_ANY;
    } else if (c->o->backend == HILO_BACKEND_AUTO && !c->machine && !c->o->target_cpu && (!c->text || wants_program(c))) {
        struct model *model = ARENA_NEW(b->a, struct model);
        const char *missing = model_load(c->exe->client, model, why, sizeof why);
        b->model = model;
        b->libraries = missing ? BUILD_OWN : BUILD_CHEAPEST;
        if (missing)
            rt_log(c->exe->client, HILO_LOG_DEBUG, "calibration: %s", missing);
    }
}

static void report_missing(const struct compile *c, const struct build *b) {
    for (int by = LIB_OWN + 1; by < LIB_EXTERNAL_COUNT; by++)
        if (b->wanted >> by & 1)
            rt_log(c->exe->client, HILO_LOG_WARNING, "backend 'library': no %s (%s): %s; hilo's own code is used",
                   ext_title((enum lib_external)by), ext_packages((enum lib_external)by), ext_missing((enum lib_external)by));
}

/* Reports the steps that are evaluated, by how often each op is. */
static void report_evaluated(const struct compile *c) {
    const struct plan *p = &c->exe->plan;
    struct strbuf ops;
    uint32_t n = 0;
    strbuf_init(&ops, c->d->al);
    for (uint32_t i = 0; i < p->nsteps; i++) {
        if (p->steps[i].kind != PLAN_REFERENCE)
            continue;
        const char *name = p->steps[i].note ? p->steps[i].note->ops : "";
        bool known = ops.p && strstr(ops.p, name);
        if (!known)
            strbuf_printf(&ops, "%s%s", ops.n ? ", " : "", name);
        n++;
    }
    if (n)
        rt_log(c->exe->client, HILO_LOG_INFO, "%u of %u steps run on the reference evaluator: %s", n, p->nsteps,
               ops.p ? ops.p : "");
    strbuf_free(&ops);
}

/* Whether a plan of several steps can be made of the program; logs why not, but for sizes that are known when it runs. */
static bool can_plan(const struct compile *c, ir_op entry, const struct ir_module *m) {
    enum build_can can = build_can(m, entry);
    if (can == BUILD_NOTHING)
        rt_log(c->exe->client, HILO_LOG_WARNING, "the whole program runs on the reference evaluator: it has values that are "
                                                 "neither tensors nor tokens");
    return can != BUILD_NOTHING && (can == BUILD_ALL || knows_arguments(c, entry)) &&
           (is_named(c) || c->tier != HILO_TIER_OPTIMISED || c->opening->started || can_generate(c));
}

/* Those of the client's GPU. */
static void choose_gpu_libraries(const struct compile *c, struct build *b) {
    static const enum lib_external all[] = {
#define INSTEAD(id, OP) LIB_##id,
#include "library/externals.def"
    };
    b->gpu_client = c->exe->client;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (b->libraries != BUILD_ONE || b->library == all[i])
            b->instead |= 1u << all[i];
}

static hilo_status evaluated_plan(const struct compile *c, ir_op entry, struct ir_module *m) {
    if (c->inputs)
        return HILO_UNIMPLEMENTED;
    return plan_evaluated(&c->exe->plan, &c->exe->arena, m ? m : c->m, entry, c->d);
}

/* A plan of kernels, routines and single evaluations; of one evaluation if the backend requires it, if sizes of arguments are
   not known, and where there is nothing to generate code with. */
static hilo_status make_plan(const struct compile *c, ir_op entry, struct ir_module *m) {
    hilo_executable *exe = c->exe;
    bool interpret = c->o->backend == HILO_BACKEND_INTERPRETER;
    bool reference = c->o->backend == HILO_BACKEND_REFERENCE;
    if (reference || !m || !can_plan(c, entry, m))
        return evaluated_plan(c, entry, m);
    m->arena.recover = exe->arena.recover;
    struct build *b = build_new(&exe->arena, m, c->d, c->o->level);
    choose_libraries(c, b);
    b->batch_invariant = c->o->batch_invariant;
    b->tier = c->tier;
    b->hoists = c->o->level > 0 && !c->o->memory_limit; /* what is kept takes memory */
    rt_executable_keep(exe, b, free_build);
    hilo_status status = choose_target(b, target_name(c), exe->client->threads, interpret);
    b->on_device = status == HILO_OK && b->target->isa == TARGET_NVPTX && !interpret;
    b->cubins = b->on_device && c->o->target_cpu; /* ahead of time */
    if (b->on_device && !c->o->target_cpu && !c->machine && !c->text && b->libraries != BUILD_OWN && c->o->level > 0)
        choose_gpu_libraries(c, b);
    if (status == HILO_OK && c->machine)
        status = choose_units(c, b);
    if (status == HILO_OK)
        status = wants_program(c) ? fused_program(c, b, entry)
                 : interpret      ? interpreted_plan(c, b, entry)
                                  : compiled_plan(c, b, entry);
    report_missing(c, b);
    if (status == HILO_OK)
        report_evaluated(c);
    m->arena.recover = NULL;
    if (status == HILO_UNAVAILABLE && !is_named(c) && !can_generate(c))
        return evaluated_plan(c, entry, m);
    return status;
}

/* ---- the call -------------------------------------------------------------------------------- */

/* The backend is one of machine code. */
static bool generates(const struct compile *c) {
    return c->o->backend != HILO_BACKEND_REFERENCE && c->o->backend != HILO_BACKEND_INTERPRETER;
}

/* What code is generated first. Text is that of optimised code, unless the other one is asked for. */
static hilo_tier tier_of(const struct compile *c) {
    const char *name = target_name(c);
    hilo_tier tier = compile_tier(c->exe->client, c->o);
    bool here = !c->machine && (!name || strcmp(name, "native") == 0);
    if (!here || (c->text && tier == HILO_TIER_AUTO) || tier == HILO_TIER_OPTIMISED || !code_has_baseline())
        return HILO_TIER_OPTIMISED;
    return tier;
}

/* Everything that takes memory from the executable's arena. */
static hilo_status fill(const struct compile *c) {
    ir_op entry;
    struct dump to;
    struct ir_module *m;
    HILO_TRY(find_entry(c, &entry));
    c->exe->entry = entry;
    HILO_TRY(dump_begin(&to, c->exe, c->m, c->o, c->d));
    HILO_TRY(optimise(c, entry, &to, &m));
    HILO_TRY(dump_end(&to, m ? m : c->m));
    HILO_TRY(describe(c, m ? m : c->m, entry));
    compile_about(m ? m : c->m, &c->exe->arena, &c->exe->about);
    HILO_TRY(compile_fingerprint(c->m, &c->exe->client->al, &c->exe->about.fingerprint));
    HILO_TRY(make_plan(c, entry, m));
    if (c->machine && c->exe->plan.evaluated && c->o->backend != HILO_BACKEND_REFERENCE)
        rt_log(c->exe->client, HILO_LOG_WARNING, "the program is evaluated; its steps are not placed on a GPU");
    if (wants_program(c))
        return write_program(c, m ? m : c->m);
    if (c->text)
        return !c->exe->plan.evaluated
                   ? HILO_OK
                   : diag_error(c->d, HILO_UNIMPLEMENTED, "no code is generated for this program: it is evaluated");
    if (c->exe->plan.evaluated && c->o->backend != HILO_BACKEND_REFERENCE && !knows_arguments(c, entry))
        specialise_later(c->exe, c->o);
    if (c->exe->plan.evaluated)
        return rt_executable_ready(c->exe, c->d);
    HILO_TRY(build_align_constants(c->exe->module, &c->exe->plan));
    HILO_TRY(rt_executable_ready(c->exe, c->d));
    build_release_constants(c->exe->module);
    return HILO_OK;
}

static hilo_status load_machine(hilo_client *client, const char *path, struct diag_list *d, struct machine *out) {
    struct file file;
    if (!path)
        return HILO_OK;
    HILO_TRY(file_open(path, client->al, d, &file));
    hilo_status status = machine_read(file.text, path, d, out);
    file_close(&file);
    return status;
}

static hilo_status compile_as(hilo_client *client, hilo_module *module, const hilo_compile_options *o,
                              hilo_buffer *const *inputs, enum lib_external by, enum code_form form, struct strbuf *text,
                              struct diag_list *d, hilo_executable **out) {
    if (module->client != client)
        return diag_error(d, HILO_INVALID_ARGUMENT, "the module belongs to another client");
    if (module->unverified)
        return diag_error(d, HILO_FAILED_PRECONDITION, "the program was read with skip_verify, and may be invalid");
    if (o->level < 0 || o->level > 3)
        return diag_error(d, HILO_INVALID_ARGUMENT, "there is no level %d; levels are 0 to 3", (int)o->level);
    if (o->backend < HILO_BACKEND_AUTO || o->backend > HILO_BACKEND_LIBRARY)
        return diag_error(d, HILO_INVALID_ARGUMENT, "there is no backend %d", (int)o->backend);
    if (o->tier < HILO_TIER_AUTO || o->tier > HILO_TIER_OPTIMISED)
        return diag_error(d, HILO_INVALID_ARGUMENT, "there is no tier %d", (int)o->tier);
    struct machine machine;
    HILO_TRY(load_machine(client, o->machine, d, &machine));
    hilo_executable *exe = rt_executable_new(client, module);
    if (!exe)
        return HILO_RESOURCE_EXHAUSTED;
    atomic_fetch_add_explicit(&client->compiled, 1, memory_order_relaxed);
    jmp_buf recover;
    exe->arena.recover = &recover;
    struct code_opening opening = {.started = false};
    struct compile c = {module->m, exe, o, inputs, form, by, o->machine ? &machine : NULL, HILO_TIER_OPTIMISED, &opening, text,
                        d};
    hilo_status status;
    if (generates(&c))
        c.tier = tier_of(&c);
    if (generates(&c) && c.tier == HILO_TIER_OPTIMISED)
        code_open_begin(&opening);
    if (!setjmp(recover))
        status = fill(&c);
    else
        status = HILO_RESOURCE_EXHAUSTED;
    exe->arena.recover = NULL;
    code_open_end(&opening);
    if (status == HILO_OK)
        *out = exe;
    else
        hilo_executable_release(exe);
    return status;
}

hilo_status compile_text(hilo_client *client, hilo_module *module, const hilo_compile_options *options, enum code_form form,
                         struct strbuf *out) {
    struct diag_list d;
    hilo_executable *exe = NULL;
    diag_init(&d, client->al);
    hilo_status status = compile_as(client, module, options, NULL, LIB_EXTERNAL_COUNT, form, out, &d, &exe);
    hilo_executable_release(exe);
    return rt_finish(client, &d, status);
}

hilo_status compile_fusions(struct ir_module *m, int level, struct diag_list *d) {
    jmp_buf recover;
    struct arena a;
    struct diag_list ignored;
    ir_op entry = ir_module_entry(m);
    if (IR_NONE(entry) || build_can(m, entry) != BUILD_ALL)
        return HILO_OK;
    diag_init(&ignored, d->al);
    bool portable = code_available(&ignored) != HILO_OK;
    diag_clear(&ignored);
    arena_init(&a, m->arena.al, &recover);
    m->arena.recover = &recover;
    volatile hilo_status status = HILO_RESOURCE_EXHAUSTED;
    struct build *volatile b = NULL;
    if (!setjmp(recover)) {
        b = build_new(&a, m, d, level);
        status = choose_target(b, NULL, 0, portable);
        status = status == HILO_OK ? build_fusions(b, entry) : status;
    }
    build_free(b);
    m->arena.recover = NULL;
    arena_free(&a);
    return status;
}

hilo_status compile_module(hilo_client *client, hilo_module *module, const hilo_compile_options *o,
                           hilo_buffer *const *inputs, struct diag_list *d, hilo_executable **out) {
    return compile_as(client, module, o, inputs, LIB_EXTERNAL_COUNT, CODE_KIR, NULL, d, out);
}

hilo_status model_compile(hilo_client *client, hilo_module *module, enum lib_external by, hilo_executable **out) {
    struct diag_list d;
    hilo_compile_options o;
    hilo_compile_options_init(&o);
    o.tier = HILO_TIER_OPTIMISED; /* it is timed */
    diag_init(&d, client->al);
    hilo_status status = compile_as(client, module, &o, NULL, by, CODE_KIR, NULL, &d, out);
    return rt_finish(client, &d, status);
}
