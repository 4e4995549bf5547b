/* The target of a compilation: a named machine, or the host. */
#include "codegen/codegen.h"
#include "runtime/code.h"

static hilo_status host(struct target *t, struct diag_list *d) {
    HILO_TRY(target_host(t, d));
    if (t->tile_rows && !rt_code_tiles()) { /* the system does not let processes use the matrix unit */
        t->tile_bf16 = t->tile_i8 = false;
        t->tile_rows = t->tile_row_bytes = t->tile_registers = 0;
    }
    return HILO_OK;
}

hilo_status cg_target(const char *name, struct target *out, struct diag_list *d) {
    return name ? target_named(name, out, d) : host(out, d);
}
