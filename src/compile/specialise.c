/* Programs of unknown sizes: how runs compile them for the shapes that they bring (runtime/specialise.c), through the compile
 * cache; also of programs that come from .hilo files. */
#include "compile/cached.h"
#include "compile/code.h"
#include "runtime/runtime.h"

/* For exe->specialise. */
static hilo_status specialise_make(void *user, hilo_executable *exe, hilo_buffer *const *inputs, struct diag_list *d,
                                hilo_executable **out) {
    double begin = rt_now_ms();
    uint8_t key[RT_KEY_BYTES];
    *out = NULL;
    if (exe->specialise_keyed) {
        cached_specialised(exe, inputs, key);
        *out = cached_get(exe->client, key, compile_tier(exe->client, user));
    }
    if (!*out) {
        hilo_status status = compile_module(exe->client, exe->module, user, inputs, d, out);
        if (status == HILO_UNIMPLEMENTED)
            rt_log(exe->client, HILO_LOG_INFO, "the whole program runs on the reference evaluator: its sizes depend on data");
        if (status != HILO_OK)
            return status == HILO_UNIMPLEMENTED ? HILO_OK : status;
        if (exe->specialise_keyed)
            rt_store_put(exe->client, *out, key);
    }
    (*out)->compile_ms = rt_now_ms() - begin;
    rt_log(exe->client, HILO_LOG_DEBUG, "%s for the shapes of the inputs in %.3f ms",
           (*out)->cached ? "found what was compiled" : "compiled", (*out)->compile_ms);
    return HILO_OK;
}

static const char *keep_string(struct arena *a, const char *s) {
    return s ? arena_dup(a, s, strlen(s) + 1, 1) : NULL;
}

void specialise_later(hilo_executable *exe, const hilo_compile_options *options) {
    for (uint32_t i = 0; i < exe->plan.narguments; i++)
        if (exe->inputs[i].type.dtype == HILO_TOKEN)
            return;
    exe->specialise_level = options->level;
    struct diag_list d;
    diag_init(&d, exe->client->al);
    bool quick = compile_tier(exe->client, options) != HILO_TIER_OPTIMISED && code_has_baseline();
    bool can = options->backend == HILO_BACKEND_INTERPRETER || quick || code_available(&d) == HILO_OK;
    diag_clear(&d);
    if (!can)
        return;
    hilo_compile_options *o = ARENA_NEW(&exe->arena, hilo_compile_options);
    *o = *options;
    o->entry = keep_string(&exe->arena, o->entry);
    o->dump_dir = keep_string(&exe->arena, o->dump_dir);
    o->passes = keep_string(&exe->arena, o->passes);
    o->target_cpu = keep_string(&exe->arena, o->target_cpu);
    o->machine = keep_string(&exe->arena, o->machine);
    exe->specialiser = o;
    exe->specialise = specialise_make;
}

hilo_status specialise_loaded(hilo_executable *exe, struct str text) {
    struct ir_module *m = exe->optimised;
    struct str entry = ir_prop_str(m, exe->entry, IR_FUNC_sym_name);
    hilo_compile_options o;
    m->arena.recover = exe->arena.recover;
    exe->module = rt_module_new(exe->client, m);
    m->arena.recover = NULL;
    if (!exe->module)
        return HILO_RESOURCE_EXHAUSTED;
    exe->optimised = NULL;
    hilo_compile_options_init(&o);
    o.level = exe->specialise_level;
    o.entry = arena_dup(&exe->arena, entry.p, entry.n + 1, 1);
    specialise_later(exe, &o);
    if (exe->specialise)
        cached_loaded(exe, text, exe->specialiser);
    return HILO_OK;
}
