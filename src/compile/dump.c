/* Dumps: files that `hilo run` takes, as XLA names its own.
 *
 *   module_0001.NAME.before_optimizations.mlir
 *   module_0001.NAME.0001.after_inline.mlir       one for each pass that changed something
 *   module_0001.NAME.after_optimizations.mlir
 *   module_0001.NAME.after_optimizations.txt      HLO text, kernels as fusions */
#include "compile/dump.h"

#include "base/file.h"
#include "compile/code.h"
#include "read/hlo/write.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { DUMP_NAME = 100 /* characters of a module's name */ };

const char *dump_directory(const hilo_compile_options *o) {
    const char *dir = o->dump_dir ? o->dump_dir : getenv("HILO_DUMP_TO");
    return dir && *dir ? dir : NULL;
}

static hilo_status write_file(const struct dump *to, const char *stage, const struct strbuf *text) {
    struct strbuf path;
    strbuf_init(&path, to->d->al);
    strbuf_printf(&path, "%s.%s", to->name, stage);
    hilo_status status = path.failed || text->failed
                             ? HILO_RESOURCE_EXHAUSTED
                             : file_write(path.p, (struct str){text->p ? text->p : "", text->n}, to->d);
    strbuf_free(&path);
    return status;
}

static hilo_status write_module(const struct dump *to, const char *stage, const struct ir_module *m) {
    struct strbuf text;
    strbuf_init(&text, to->d->al);
    ir_print_module(m, &(struct ir_print_options){.locations = true}, &text);
    hilo_status status = write_file(to, stage, &text);
    strbuf_free(&text);
    return status;
}

/* "DIR/module_0001.NAME": numbers begin with that of the client's compilation; the first that is free in the directory, in
   which an empty file claims it. */
static hilo_status claim(struct dump *to, hilo_executable *exe, struct str name) {
    char safe[DUMP_NAME + 1];
    size_t n = name.n < DUMP_NAME ? name.n : DUMP_NAME;
    struct strbuf path;
    uint64_t number = atomic_load_explicit(&exe->client->compiled, memory_order_relaxed);
    int fd = -1;
    for (size_t i = 0; i < n; i++) {
        char c = name.p[i];
        bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
        safe[i] = plain ? c : '_';
    }
    safe[n] = '\0';
    strbuf_init(&path, to->d->al);
    do {
        path.n = 0;
        strbuf_printf(&path, "%s/module_%04llu.%s", to->dir, (unsigned long long)number++, n ? safe : "module");
        to->name = path.failed ? NULL : arena_dup(&exe->arena, path.p, path.n + 1, 1);
        strbuf_puts(&path, ".before_optimizations.mlir");
        fd = path.failed ? -1 : open(path.p, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    } while (fd < 0 && !path.failed && errno == EEXIST);
    hilo_status status = path.failed ? HILO_RESOURCE_EXHAUSTED
                         : fd < 0    ? diag_error(to->d, HILO_UNAVAILABLE, "cannot write to the directory '%s'", to->dir)
                                     : HILO_OK;
    if (fd >= 0)
        close(fd);
    strbuf_free(&path);
    return status;
}

hilo_status dump_begin(struct dump *to, hilo_executable *exe, const struct ir_module *m, const hilo_compile_options *o,
                       struct diag_list *d) {
    *to = (struct dump){.dir = dump_directory(o), .level = o->level, .d = d};
    if (!to->dir)
        return HILO_OK;
    if (mkdir(to->dir, 0777) != 0 && errno != EEXIST)
        return diag_error(d, HILO_UNAVAILABLE, "cannot make the directory '%s'", to->dir);
    struct str name = ir_prop_str(m, m->root, IR_MODULE_sym_name);
    HILO_TRY(claim(to, exe, name.n ? name : ir_prop_str(m, exe->entry, IR_FUNC_sym_name)));
    return write_module(to, "before_optimizations.mlir", m);
}

static void on_pass(void *user, const struct ir_module *m, const char *pass, bool changed) {
    struct dump *to = user;
    char stage[80];
    if (!changed || to->status != HILO_OK)
        return;
    snprintf(stage, sizeof stage, "%04u.after_%s.mlir", ++to->npasses, pass);
    to->status = write_module(to, stage, m);
}

void dump_passes(struct dump *to, struct opt_options *o) {
    if (!to->dir)
        return;
    o->dump_after = "all";
    o->dump = on_pass;
    o->dump_user = to;
}

hilo_status dump_end(struct dump *to, const struct ir_module *m) {
    if (!to->dir)
        return HILO_OK;
    HILO_TRY(to->status);
    HILO_TRY(write_module(to, "after_optimizations.mlir", m));
    struct diag_list ignored;
    struct strbuf text;
    struct ir_module *copy = ir_module_clone(m, to->d->al, NULL);
    if (!copy)
        return HILO_RESOURCE_EXHAUSTED;
    diag_init(&ignored, to->d->al);
    strbuf_init(&text, to->d->al);
    hilo_status status = to->level >= 2 ? compile_fusions(copy, to->level, &ignored) : HILO_OK;
    if (status == HILO_OK)
        status = write_hlo(copy, &ignored, &text);
    if (status == HILO_OK)
        status = write_file(to, "after_optimizations.txt", &text);
    else if (status != HILO_RESOURCE_EXHAUSTED) /* HLO does not have all ops, or no entry was found by its name */
        status = HILO_OK;
    strbuf_free(&text);
    diag_clear(&ignored);
    ir_module_free(copy);
    return status;
}
