/* The table of routines, and the queries of matchers on a module. */
#include "library/routine.h"

const char *lib_routine_name(enum lib_routine r) {
    static const char *const names[] = {
        "",
#define ROUTINE(id, name, what) #name,
#include "library/routines.def"
    };
    return r > LIB_NONE && r < LIB_ROUTINE_COUNT ? names[r] : "";
}

bool lib_match(const struct ir_module *m, ir_op op, struct lib_match *out) {
    static lib_match_fn *const matchers[] = {
        NULL,
#define ROUTINE(id, name, what) lib_match_##name,
#include "library/routines.def"
    };
    for (int r = LIB_NONE + 1; r < LIB_ROUTINE_COUNT; r++) {
        *out = (struct lib_match){.routine = (enum lib_routine)r};
        if (matchers[r](m, op, out))
            return true;
    }
    *out = (struct lib_match){.routine = LIB_NONE};
    return false;
}

hilo_status lib_run(enum lib_routine r, const struct lib_call *c) {
    static lib_run_fn *const routines[] = {
        NULL,
#define ROUTINE(id, name, what) lib_##name,
#include "library/routines.def"
    };
    return r > LIB_NONE && r < LIB_ROUTINE_COUNT ? routines[r](c) : HILO_INVALID_ARGUMENT;
}

bool lib_fits(const struct lib_match *match, const struct lib_sizes *sizes) {
    struct lib_call c = {.check = sizes, .params = match->params, .nparams = match->nparams};
    return sizes->scratch <= PTRDIFF_MAX && lib_run(match->routine, &c) == HILO_OK;
}

/* ---- installed libraries ---------------------------------------------------------------------- */

/* The row of a library's routine; NULL when there is none. */
static const struct lib_by *by_of(lib_rows_fn *rows, enum lib_external by, enum lib_routine r) {
    for (const struct lib_by *const *b = by != LIB_OWN && rows ? rows() : NULL; b && *b; b++)
        if ((*b)->by == by && (*b)->routine == r)
            return *b;
    return NULL;
}

bool lib_on_device(enum lib_external by) {
    static const bool on_device[] = {
        false,
#define EXTERNAL(id, name, title, packages, device) device,
#include "library/externals.def"
    };
    return on_device[by];
}

static const struct {
    enum lib_external by;
    enum lib_routine routine;
    const char *name;
} match_names[] = {
#define BY(id, name, ROUTINE, routine, OP) {LIB_##id, LIB_##ROUTINE, #name "." #routine},
#include "library/externals.def"
};

const char *lib_match_name(const struct lib_match *match) {
    for (size_t i = 0; i < sizeof match_names / sizeof *match_names; i++)
        if (match_names[i].by == match->by && match_names[i].routine == match->routine)
            return match_names[i].name;
    return lib_routine_name(match->routine);
}

bool lib_match_named(const char *name, struct lib_match *out) {
    *out = (struct lib_match){.routine = LIB_NONE};
    for (int r = LIB_NONE + 1; r < LIB_ROUTINE_COUNT; r++)
        if (strcmp(name, lib_routine_name((enum lib_routine)r)) == 0)
            out->routine = (enum lib_routine)r;
    for (size_t i = 0; i < sizeof match_names / sizeof *match_names; i++)
        if (strcmp(name, match_names[i].name) == 0) {
            out->routine = match_names[i].routine;
            out->by = match_names[i].by;
        }
    return out->routine != LIB_NONE;
}

void lib_prepare(struct lib_match *match, lib_rows_fn *rows, struct gpu *gpu) {
    const struct lib_by *by = by_of(rows, match->by, match->routine);
    match->gpu = gpu;
    struct lib_match here = *match; /* another version of the library may need more scratch than there is */
    if (by && (lib_on_device(by->by) ? gpu != NULL : by->can(&here) && here.scratch_bytes <= match->scratch_bytes))
        match->state = by->prepare(match);
    match->how = match->state ? by : NULL;
}

void lib_release(struct lib_match *match) {
    if (match->how)
        match->how->release(match->state);
    match->how = NULL;
}

hilo_status lib_run_match(const struct lib_match *match, const struct lib_call *c) {
    hilo_status status = match->how ? match->how->run(match->state, c) : HILO_UNIMPLEMENTED;
    return status == HILO_UNIMPLEMENTED ? lib_run(match->routine, c) : status;
}

/* ---- what matchers ask of a module ------------------------------------------------------------ */

/* The type of a value when it is a tensor of known shape without quantised elements whose bytes fit a size; NULL else. */
static const struct ir_type_data *lib_tensor(const struct ir_module *m, ir_val v) {
    const struct ir_type_data *t = ir_val_type(m, v);
    size_t bytes;
    bool fits =
        t->kind == IR_TYPE_TENSOR && !t->quant && ir_type_is_static(t) && ir_type_bytes(t, &bytes) && bytes <= PTRDIFF_MAX;
    return fits ? t : NULL;
}

bool lib_tensors(const struct ir_module *m, ir_op op) {
    const struct ir_op_data *o = ir_op_get(m, op);
    for (uint32_t i = 0; i < o->noperands; i++)
        if (!lib_tensor(m, o->operands[i]))
            return false;
    for (uint32_t i = 0; i < o->nresults; i++)
        if (!lib_tensor(m, ir_result(m, op, i)))
            return false;
    return true;
}

size_t lib_product(const int64_t *dims, uint32_t from, uint32_t to) {
    size_t n = 1;
    for (uint32_t i = from; i < to; i++)
        n *= (size_t)dims[i];
    return n;
}

ir_op lib_made_by(const struct ir_module *m, ir_val v, enum ir_op_kind kind) {
    ir_op op = ir_val_get(m, v)->op;
    return !IR_NONE(op) && ir_kind(m, op) == kind ? op : (ir_op){0};
}

bool lib_constant(const struct ir_module *m, ir_val v, uint64_t *bits) {
    for (ir_op b; !IR_NONE(b = lib_made_by(m, v, IR_BROADCAST_IN_DIM)) || !IR_NONE(b = lib_made_by(m, v, IR_RESHAPE));)
        v = ir_operand(m, b, 0);
    ir_op op = lib_made_by(m, v, IR_CONSTANT);
    const struct ir_attr_data *a = IR_NONE(op) ? NULL : ir_attr_get(m, ir_prop(m, op, IR_CONSTANT_value));
    size_t bytes = ir_dtype_get(ir_val_type(m, v)->dtype)->bytes;
    if (!a || a->kind != IR_ATTR_DENSE || !a->splat || !a->data || bytes > sizeof *bits || a->nbytes < bytes)
        return false;
    *bits = 0;
    memcpy(bits, a->data, bytes);
    return true;
}
