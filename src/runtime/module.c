/* Modules, once they are read: their functions and their text. */
#include "runtime/runtime.h"

hilo_module *rt_module_new(hilo_client *client, struct ir_module *m) {
    struct { ir_op *v; uint32_t n, cap; } functions = {NULL, 0, 0};
    for (ir_op op = ir_block_get(m, ir_module_body(m))->first; !IR_NONE(op); op = ir_op_get(m, op)->next)
        if (ir_kind(m, op) == IR_FUNC)
            ARENA_PUSH(&m->arena, &functions, op);
    hilo_module *module = mem_alloc(&client->al, sizeof *module);
    if (!module)
        return NULL;
    *module = (hilo_module){.client = rt_client_retain(client), .m = m, .functions = functions.v,
                            .nfunctions = functions.n};
    atomic_init(&module->refs, 1);
    return module;
}

hilo_module *rt_module_retain(hilo_module *module) {
    atomic_fetch_add_explicit(&module->refs, 1, memory_order_relaxed);
    return module;
}

void hilo_module_release(hilo_module *module) {
    if (!module || atomic_fetch_sub_explicit(&module->refs, 1, memory_order_acq_rel) != 1)
        return;
    hilo_client *client = module->client;
    ir_module_free(module->m);
    for (struct rt_aligned *x; (x = module->aligned) != NULL;) {
        module->aligned = x->next;
        mem_free(&client->memory, x->data, x->bytes);
        mem_free(&client->al, x, sizeof *x);
    }
    file_close(&module->file);
    mem_free(&client->al, module, sizeof *module);
    hilo_client_release(client);
}

void hilo_print_options_init_sized(hilo_print_options *options, size_t struct_size) {
    static const hilo_print_options defaults = {.generic = 0};
    rt_options_init(options, struct_size, &defaults, sizeof defaults);
}

hilo_status hilo_module_print(const hilo_module *module, const hilo_print_options *options, hilo_write_fn write,
                              void *user) {
    hilo_print_options o;
    hilo_print_options_init(&o);
    if (!module || !write || !rt_options(&o, sizeof o, options))
        return HILO_INVALID_ARGUMENT;
    struct strbuf text;
    strbuf_init(&text, module->client->al);
    struct ir_print_options io = {.generic = o.generic != 0, .locations = o.locations != 0,
                                  .elide_elements = (size_t)o.elide_elements};
    ir_print_module(module->m, &io, &text);
    hilo_status status = text.failed ? HILO_RESOURCE_EXHAUSTED : HILO_OK;
    if (status == HILO_OK)
        write(user, text.p, text.n);
    strbuf_free(&text);
    struct diag_list d;
    diag_init(&d, module->client->al);
    return rt_finish(module->client, &d, status);
}

/* ---- functions ------------------------------------------------------------------------------- */

size_t hilo_module_function_count(const hilo_module *module) {
    return module ? module->nfunctions : 0;
}

/* Strings of a module are terminated. */
const char *hilo_module_function_name(const hilo_module *module, size_t index) {
    if (!module || index >= module->nfunctions)
        return NULL;
    return ir_prop_str(module->m, module->functions[index], IR_FUNC_sym_name).p;
}

int32_t hilo_module_function_public(const hilo_module *module, size_t index) {
    if (!module || index >= module->nfunctions)
        return 0;
    struct str visibility = ir_prop_str(module->m, module->functions[index], IR_FUNC_sym_visibility);
    return visibility.n == 0 || str_is(visibility, "public");
}

static const struct ir_type_data *function_type(const hilo_module *module, size_t index) {
    ir_attr type = ir_prop(module->m, module->functions[index], IR_FUNC_function_type);
    return ir_type_get(module->m, ir_attr_get(module->m, type)->type);
}

size_t hilo_module_function_input_count(const hilo_module *module, size_t index) {
    return module && index < module->nfunctions ? function_type(module, index)->ninputs : 0;
}

size_t hilo_module_function_output_count(const hilo_module *module, size_t index) {
    if (!module || index >= module->nfunctions)
        return 0;
    const struct ir_type_data *t = function_type(module, index);
    return t->ntypes - t->ninputs;
}
