/* The binary interface of XLA's custom calls, version 0.3: what a program calls that frameworks and users register, such as
 * jaxlib's LAPACK routines. Declarations of our own of a public ABI (openxla/xla, ffi/api/c_api.h); layouts and numbers are
 * facts. A handler is a function of a call frame; NULL is success. */
#ifndef HILO_PJRT_FFI_H
#define HILO_PJRT_FFI_H

#include "pjrt/pjrt.h"

enum { FFI_MAJOR = 0, FFI_MINOR = 3 };
enum { FFI_BUFFER = 1 };                                                /* of arguments and results */
enum { FFI_ARRAY = 1, FFI_DICTIONARY = 2, FFI_SCALAR = 3, FFI_STRING = 4 }; /* of attributes */
/* Stages of a call. INSTANTIATE: once for an op of an executable, before its first call, with attributes alone; its state lives
   as long as the executable. The others: one after the other in each call, where a handler has them. */
enum ffi_stage { FFI_INSTANTIATE, FFI_PREPARE, FFI_INITIALIZE, FFI_EXECUTE, FFI_NSTAGES };

#define FFI_HEAD         \
    size_t struct_size;  \
    void *extension_start;

struct ffi_error;
struct ffi_future;

struct ffi_bytes {
    const char *p;
    size_t n;
};

struct ffi_scalar {
    int dtype;
    const void *value;
};

struct ffi_array {
    int dtype;
    size_t n;
    const void *data;
};

struct ffi_buffer {
    FFI_HEAD
    int dtype;
    void *data;
    int64_t rank;
    int64_t *dims;
};

struct ffi_buffers { /* arguments, or results */
    FFI_HEAD
    int64_t n;
    int *types;
    void **items;
};

struct ffi_attrs { /* sorted by name; a nested dictionary is one too */
    FFI_HEAD
    int64_t n;
    int *types;
    struct ffi_bytes **names;
    void **items;
};

struct ffi_frame {
    FFI_HEAD
    const struct ffi_api *api;
    struct ffi_context *context;
    int stage;
    struct ffi_buffers arguments, results;
    struct ffi_attrs attrs;
    struct ffi_future *future; /* not in struct_size; set by a handler that has not ended when it returns */
};

typedef struct ffi_error *ffi_handler(struct ffi_frame *frame);

struct ffi_handlers {
    ffi_handler *stages[FFI_NSTAGES]; /* NULL where there is none; EXECUTE always is */
};

struct ffi_type_info {
    FFI_HEAD
    void (*deleter)(void *object);
};

/* What a handler has set in a stage, for those after it. */
struct ffi_state {
    int64_t type; /* 0 = nothing */
    void *value;
};

/* A call, as its handlers know it. */
struct ffi_context {
    struct pjrt_client *client;
    const struct pjrt_running *running;
    struct ffi_state *states[FFI_EXECUTE]; /* of the stages before EXECUTE */
};

/* The functions that a handler may call: FFI_FN(name, fields of the struct that it takes). */
#define FFI_FUNCTIONS(FFI_FN, FFI_FN_VOID)                                                                       \
    FFI_FN(Error_Create, const char *message; int code;)                                                         \
    FFI_FN_VOID(Error_GetMessage, struct ffi_error *error; const char *message;)                                 \
    FFI_FN_VOID(Error_Destroy, struct ffi_error *error;)                                                         \
    FFI_FN(Handler_Register, struct ffi_bytes name, platform; struct ffi_handlers handlers; uint32_t traits;)          \
    FFI_FN(Stream_Get, struct ffi_context *context; void *stream;)                                               \
    FFI_FN(Type_Register, struct ffi_bytes name; int64_t *type_id; const struct ffi_type_info *type_info;)       \
    FFI_FN(ExecutionContext_Get, struct ffi_context *context; const int64_t *type_id; void *data;)               \
    FFI_FN(State_Set, struct ffi_context *context; int stage; const int64_t *type_id; void *state;)              \
    FFI_FN(State_Get, struct ffi_context *context; int stage; const int64_t *type_id; void *state;)              \
    FFI_FN(DeviceMemory_Allocate, struct ffi_context *context; size_t size, alignment; void *data;)              \
    FFI_FN(DeviceMemory_Free, struct ffi_context *context; size_t size; void *data;)                             \
    FFI_FN(ThreadPool_Schedule, struct ffi_context *context; void (*task)(void *data); void *data;)              \
    FFI_FN(ThreadPool_NumThreads, struct ffi_context *context; int64_t *num_threads;)                            \
    FFI_FN(Future_Create, struct ffi_future *future;)                                                            \
    FFI_FN(Future_SetAvailable, struct ffi_future *future;)                                                      \
    FFI_FN(Future_SetError, struct ffi_future *future; struct ffi_error *error;)                                 \
    FFI_FN(RunId_Get, struct ffi_context *context; int64_t run_id;)                                              \
    FFI_FN(DeviceOrdinal_Get, struct ffi_context *context; int32_t device_ordinal;)

#define FFI_ARGS(name, ...) struct ffi_##name { FFI_HEAD __VA_ARGS__ };
FFI_FUNCTIONS(FFI_ARGS, FFI_ARGS)

struct ffi_api {
    FFI_HEAD
    struct {
        FFI_HEAD
        int major_version, minor_version;
    } version;
    const void *internal;
#define FFI_ENTRY(name, ...)      struct ffi_error *(*name)(struct ffi_##name *a);
#define FFI_ENTRY_VOID(name, ...) void (*name)(struct ffi_##name *a);
    FFI_FUNCTIONS(FFI_ENTRY, FFI_ENTRY_VOID)
};

extern const struct ffi_api pjrt_ffi_api;

/* An error and its message: ownership is taken. */
struct ffi_error {
    int code;
    char *message;
};

/* Waits for an asynchronous handler; frees the future. */
struct ffi_error *pjrt_ffi_wait(struct ffi_future *future);

/* Number of an element type here; 0 where there is none. */
int pjrt_ffi_dtype(hilo_dtype dtype);

/* The handlers of a target; false when there are none. */
bool pjrt_ffi_find(struct str target, struct ffi_handlers *out);
/* Destroys a state or data of an execution by the function of its type. */
void pjrt_ffi_delete(int64_t type, void *value);

#endif
