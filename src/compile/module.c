/* From text, bytecode or HLO text to a verified module. */
#include "base/file.h"
#include "compile/cached.h"
#include "ir/sdy.h"
#include "read/bytecode/bytecode.h"
#include "read/hlo/hlo.h"
#include "read/text/text.h"
#include "runtime/runtime.h"

void hilo_module_options_init_sized(hilo_module_options *options, size_t struct_size) {
    static const hilo_module_options defaults = {.name = NULL};
    rt_options_init(options, struct_size, &defaults, sizeof defaults);
}

/* Everything that takes memory from the module's arena. */
static hilo_status fill(struct ir_module *m, const struct file *f, const hilo_module_options *o, struct diag_list *d) {
    struct str text = f->text, artifact;
    struct str name = str_of(o->name ? o->name : "<input>");
    m->bytes_stay = f->al.realloc_fn != NULL;
    m->name = (struct str){arena_dup(&m->arena, name.p, name.n, 1), name.n};
    if (read_is_bytecode(text) || read_is_exported(text, &artifact)) {
        HILO_TRY(read_bytecode(m, d, read_is_bytecode(text) ? text : artifact));
    } else {
        m->text = text;
        m->text_done = f->mapped ? file_pages_done : NULL;
        HILO_TRY(read_is_hlo(text) ? read_hlo(m, d, text, o->first_line ? o->first_line : 1)
                                   : read_text(m, d, text, o->first_line ? o->first_line : 1));
    }
    if (!o->skip_verify) {
        HILO_TRY(ir_verify(m, d));
        HILO_TRY(sdy_verify(m, d));
    }
    m->text = (struct str){NULL, 0};
    return HILO_OK;
}

/* The recovery point of a module's arena: nothing is assigned between setjmp and what may jump. With `client` there is a handle
   in `module`, which owns the module; else the module itself is in `out`. */
static hilo_status read_any(hilo_allocator al, const struct file *f, const hilo_module_options *o, struct diag_list *d,
                            hilo_client *client, hilo_module **module, struct ir_module **out) {
    jmp_buf recover;
    struct ir_module *m = ir_module_new(al, &recover);
    if (!m)
        return HILO_RESOURCE_EXHAUSTED;
    hilo_status status;
    if (!setjmp(recover)) {
        status = fill(m, f, o, d);
        if (status == HILO_OK && client && !(*module = rt_module_new(client, m)))
            status = HILO_RESOURCE_EXHAUSTED;
    } else {
        status = HILO_RESOURCE_EXHAUSTED;
    }
    if (status != HILO_OK) {
        ir_module_free(m);
        return status;
    }
    m->arena.recover = NULL;
    if (out)
        *out = m;
    return HILO_OK;
}

hilo_status module_read(hilo_client *client, struct file *f, const hilo_module_options *o, struct diag_list *d,
                        hilo_module **out) {
    hilo_module *module = NULL;
    atomic_fetch_add_explicit(&client->read, 1, memory_order_relaxed);
    HILO_TRY(read_any(client->al, f, o, d, client, &module, NULL));
    module->unverified = o->skip_verify != 0;
    if (module->m->bytes_used) {
        module->file = *f;
        *f = (struct file){.al = f->al};
    }
    *out = module;
    return HILO_OK;
}

/* A module that may be compiled, and is verified, keeps what it was read from. */
static hilo_status read_module(hilo_client *client, struct file *f, const hilo_module_options *o, struct diag_list *d,
                               hilo_module **out) {
    uint8_t hash[RT_KEY_BYTES];
    bool wanted = client->store.dir && !o->skip_verify;
    if (wanted) /* first: the pages are released while they are read */
        cached_hash(f->text, hash);
    HILO_TRY(module_read(client, f, o, d, out));
    (*out)->has_source = wanted;
    if (wanted)
        memcpy((*out)->source, hash, sizeof hash);
    return HILO_OK;
}

hilo_status module_read_program(hilo_allocator al, struct str text, struct diag_list *d, struct ir_module **out) {
    struct file memory = {.text = text};
    return read_any(al, &memory, &(hilo_module_options){.name = "program"}, d, NULL, NULL, out);
}

hilo_status hilo_module_parse(hilo_client *client, const void *bytes, size_t nbytes, const hilo_module_options *options,
                              hilo_module **out) {
    hilo_module_options o;
    hilo_module_options_init(&o);
    if (!client || !out || (nbytes && !bytes) || !rt_options(&o, sizeof o, options))
        return HILO_INVALID_ARGUMENT;
    struct diag_list d;
    diag_init(&d, client->al);
    d.first_line = o.first_line;
    struct file memory = {.text = {nbytes ? bytes : "", nbytes}};
    return rt_finish(client, &d, read_module(client, &memory, &o, &d, out));
}

hilo_status hilo_module_load(hilo_client *client, const char *path, const hilo_module_options *options, hilo_module **out) {
    hilo_module_options o;
    hilo_module_options_init(&o);
    if (!client || !path || !out || !rt_options(&o, sizeof o, options))
        return HILO_INVALID_ARGUMENT;
    if (!o.name)
        o.name = path;
    struct diag_list d;
    diag_init(&d, client->al);
    d.first_line = o.first_line;
    struct file file;
    hilo_status status = file_open(path, client->al, &d, &file);
    if (status == HILO_OK) {
        status = read_module(client, &file, &o, &d, out);
        file_close(&file);
    }
    return rt_finish(client, &d, status);
}
