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

/* By number; those that have none follow after the greatest one. */
enum { NUMBERS = HILO_F6E3M2FN + 1 };
static const uint8_t dtypes[] = {
#define DTYPE(id, name, class, bits, bytes, fp, npy, hilo) \
    [HILO_##hilo != HILO_DTYPE_INVALID ? (int)HILO_##hilo : NUMBERS + (int)IR_##id##_T] = IR_##id##_T,
#include "ir/dtypes.def"
};

enum ir_dtype rt_dtype(hilo_dtype t) {
    return (unsigned)t < NUMBERS ? (enum ir_dtype)dtypes[t] : IR_DTYPE_NONE;
}

size_t hilo_dtype_size(hilo_dtype dtype) {
    enum ir_dtype t = rt_dtype(dtype);
    return t ? ir_dtype_get(t)->bytes : 0;
}

const char *hilo_dtype_name(hilo_dtype dtype) {
    enum ir_dtype t = rt_dtype(dtype);
    return t ? ir_dtype_get(t)->name : dtype == HILO_TOKEN ? "token" : "invalid";
}
