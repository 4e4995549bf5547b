/* hilo_client_create of libhilo: registers what the runtime calls of the components above it. */
#include "compile/cached.h"
#include "external/external.h"
#include "runtime/runtime.h"

hilo_status hilo_client_create(const hilo_client_options *options, hilo_client **out) {
    static const struct rt_compiler compiler = {
        .read_program = module_read_program, .specialise_loaded = specialise_loaded, .externals = ext_rows};
    return rt_client_create(options, &compiler, out);
}
