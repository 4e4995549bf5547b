/* What components above read of the objects: see internal.h. */
#include "runtime/device.h"

const hilo_allocator *rt_client_allocator(const hilo_client *client) {
    return &client->al;
}

const hilo_allocator *rt_client_memory(const hilo_client *client) {
    return &client->memory;
}

struct rt_pool *rt_client_pool(const hilo_client *client) {
    return client->pool;
}

const struct rt_store *rt_client_store(const hilo_client *client) {
    return &client->store;
}

void rt_client_on_custom_call(hilo_client *client, rt_custom_call_hook *hook, void *user) {
    client->custom_call = hook;
    client->custom_call_user = user;
}

hilo_status rt_buffer_fetch(hilo_buffer *const *buffers, size_t n) {
    hilo_status status = HILO_OK;
    struct diag_list d;
    if (!n || !buffers[0]->client->gpu)
        return HILO_OK;
    diag_init(&d, buffers[0]->client->al);
    for (size_t i = 0; i < n && status == HILO_OK; i++)
        status = rt_buffer_form(buffers[i], false, &d);
    return rt_finish(buffers[0]->client, &d, status);
}

struct value *rt_buffer_value(const hilo_buffer *buffer) {
    hilo_buffer *b = (hilo_buffer *)(uintptr_t)buffer; /* what it has on the device, it may have on the host */
    if (!b->value && rt_buffer_fetch(&b, 1) != HILO_OK)
        return NULL;
    return b->value;
}

struct ir_module *rt_module_ir(const hilo_module *module) {
    return module->m;
}

void rt_module_changed(hilo_module *module) {
    module->has_source = false;
}

size_t rt_module_nfunctions(const hilo_module *module) {
    return module->nfunctions;
}

const ir_op *rt_module_functions(const hilo_module *module) {
    return module->functions;
}

const struct plan *rt_executable_plan(const hilo_executable *exe) {
    return &exe->plan;
}

const char *rt_executable_gpu(const hilo_executable *exe) {
    return exe->on_device ? exe->features : NULL;
}

struct rt_gpu_code rt_executable_gpu_code(const hilo_executable *exe) {
    struct rt_gpu_code code = {.loaded = !exe->foreign, .runs_cubins = exe->runs_cubins};
    exe = rt_executable_base(exe);
    for (uint32_t i = 0; exe->on_device && i < exe->nobjects; i++) {
        code.ptx_bytes += exe->objects[i].n;
        code.cubin_bytes += exe->cubins ? exe->cubins[i].n : 0;
    }
    return code;
}

const hilo_module *rt_executable_module(const hilo_executable *exe) {
    return exe->module;
}

const struct ir_module *rt_executable_program(const hilo_executable *exe) {
    return exe->optimised ? exe->optimised : exe->module ? exe->module->m : NULL;
}

ir_op rt_executable_entry(const hilo_executable *exe) {
    return exe->entry;
}

const char *rt_executable_name(const hilo_executable *exe) {
    return exe->about.name;
}

bool rt_executable_only_copies(const hilo_executable *exe) {
    return exe->about.copies;
}
