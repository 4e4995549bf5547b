/* hilo_client_create of libhilo-runtime, which has no component above this one; libhilo's is in compile/client.c. */
#include "runtime/runtime.h"

hilo_status hilo_client_create(const hilo_client_options *options, hilo_client **out) {
    return rt_client_create(options, NULL, out);
}
