/* Version, statuses and element types of the public API. */
#include "runtime/runtime.h"

#define VERSION_TEXT(major, minor, patch) #major "." #minor "." #patch
#define VERSION_OF(major, minor, patch) VERSION_TEXT(major, minor, patch)

const char *hilo_version(void) {
    return VERSION_OF(HILO_VERSION_MAJOR, HILO_VERSION_MINOR, HILO_VERSION_PATCH);
}

const char *hilo_status_name(hilo_status status) {
    return diag_status_name(status);
}

enum ir_dtype rt_dtype(hilo_dtype t) {
    if (t != HILO_DTYPE_INVALID)
        for (int i = 1; i < IR_DTYPE_COUNT; i++)
            if (ir_dtype_get((enum ir_dtype)i)->number == t)
                return (enum ir_dtype)i;
    return IR_DTYPE_NONE;
}

size_t hilo_dtype_size(hilo_dtype dtype) {
    enum ir_dtype t = rt_dtype(dtype);
    return t ? ir_dtype_get(t)->bytes : 0;
}

const char *hilo_dtype_name(hilo_dtype dtype) {
    enum ir_dtype t = rt_dtype(dtype);
    return t ? ir_dtype_get(t)->name : dtype == HILO_TOKEN ? "token" : "invalid";
}
