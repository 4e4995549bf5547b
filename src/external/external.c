/* See external.h. */
#include "external/external.h"
#include "library/dot.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

static const struct {
    const char *title, *packages;
    const struct ext_opened *(*open)(void);
} libraries[] = {
    [LIB_OWN] = {"hilo", "", NULL},
#define EXTERNAL(id, name, title, packages, device) [LIB_##id] = {title, packages, ext_open_##name},
#include "library/externals.def"
};

#define BY(id, name, ROUTINE, routine, OP)                                                                                     \
    static const struct lib_by by_##name##_##routine = {LIB_##id,                                                              \
                                                        LIB_##ROUTINE,                                                         \
                                                        ext_##name##_##routine##_can,                                          \
                                                        ext_##name##_##routine##_prepare,                                      \
                                                        ext_##name##_##routine##_release,                                      \
                                                        ext_##name##_##routine##_run};
#include "library/externals.def"

const struct lib_by *const *ext_rows(void) {
    static const struct lib_by *const all[] = {
#define BY(id, name, ROUTINE, routine, OP) &by_##name##_##routine,
#include "library/externals.def"
        NULL};
    return all;
}

const char *ext_title(enum lib_external by) {
    return libraries[by].title;
}

const char *ext_packages(enum lib_external by) {
    return libraries[by].packages;
}

const char *ext_missing(enum lib_external by) {
    const struct ext_opened *o = by == LIB_OWN ? NULL : libraries[by].open();
    return o && *o->why ? o->why : NULL;
}

const char *ext_version(enum lib_external by) {
    return by == LIB_OWN ? "" : libraries[by].open()->version;
}

enum lib_routine ext_routine(const struct ir_module *m, ir_op op) {
    static const struct {
        enum ir_op_kind kind;
        enum lib_routine routine;
    } all[] = {
#define BY(id, name, ROUTINE, routine, OP) {IR_##OP, LIB_##ROUTINE},
#include "library/externals.def"
    };
    enum ir_op_kind kind = ir_kind(m, op);
    struct lib_match match;
    if (kind == IR_CUSTOM_CALL) /* by its name */
        return lib_match(m, op, &match) ? match.routine : LIB_NONE;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (all[i].kind == kind)
            return all[i].routine;
    return LIB_NONE;
}

enum lib_external ext_instead(enum ir_op_kind kind) {
    static const struct {
        enum ir_op_kind kind;
        enum lib_external by;
    } all[] = {
#define INSTEAD(id, OP) {IR_##OP, LIB_##id},
#include "library/externals.def"
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (all[i].kind == kind)
            return all[i].by;
    return LIB_OWN;
}

/* How it does it; NULL where it does not. */
static const struct lib_by *how(enum lib_external by, enum lib_routine r) {
    for (const struct lib_by *const *b = ext_rows(); *b; b++)
        if ((*b)->by == by && (*b)->routine == r)
            return *b;
    return NULL;
}

bool ext_does(enum lib_external by, enum lib_routine r) {
    return how(by, r) != NULL;
}

bool ext_match(const struct ir_module *m, ir_op op, enum lib_external by, struct gpu *gpu, struct lib_match *out) {
    enum ir_op_kind kind = ir_kind(m, op);
    struct lib_match x;
    if ((lib_on_device(by) && !gpu) || !ext_does(by, ext_routine(m, op)) || ext_missing(by) ||
        !(kind == IR_DOT_GENERAL ? dot_match(m, op, &x) : lib_match(m, op, &x)))
        return false;
    const struct lib_by *b = how(by, x.routine);
    x.gpu = gpu;
    if (!b || !b->can(&x))
        return false;
    *out = x;
    out->by = by;
    out->gpu = NULL;
    out->in_place = false;
    return true;
}

void *ext_open(const char *variable, const char *const *names, const struct ext_function *functions, size_t n, void *table,
               struct ext_opened *out) {
    const char *dir = secure_getenv(variable);
    char path[4096];
    void *library = NULL, *p;
    snprintf(out->why, sizeof out->why, "not found");
    if (dir && !*dir)
        snprintf(out->why, sizeof out->why, "%s is empty", variable);
    for (size_t i = 0; names[i] && !library && !(dir && !*dir); i++) {
        snprintf(path, sizeof path, "%s%s%s", dir ? dir : "", dir ? "/" : "", names[i]);
        library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
        const char *why = library ? NULL : dlerror();
        if (why && i == 0)
            snprintf(out->why, sizeof out->why, "%s", why);
    }
    for (size_t i = 0; library && i < n; i++) {
        if (!(p = dlsym(library, functions[i].name)) && !functions[i].optional) {
            snprintf(out->why, sizeof out->why, "it has no %s", functions[i].name);
            return NULL;
        }
        memcpy((char *)table + functions[i].offset, &p, sizeof p);
    }
    if (library)
        out->why[0] = '\0';
    return library;
}
