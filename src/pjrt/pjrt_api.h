/* The binary interface of PJRT plugins, version 0.112: what a framework such as JAX and a plugin pass to each other.
 *
 * These are declarations of our own of a public ABI (openxla/xla, pjrt_c_api.h): layouts and numbers are facts and must
 * not change. Structs that cross the interface begin with their size and a chain of extensions. The functions, and the
 * struct that each takes, are rows of pjrt_api.def. Handles are structs of this plugin (pjrt.h). */
#ifndef HILO_PJRT_PJRT_API_H
#define HILO_PJRT_PJRT_API_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { PJRT_MAJOR = 0, PJRT_MINOR = 112 };

/* ---- handles --------------------------------------------------------------------------------- */

struct pjrt_error;
struct pjrt_event;
struct pjrt_client;
struct pjrt_device;
struct pjrt_description; /* of a device */
struct pjrt_memory;
struct pjrt_buffer;
struct pjrt_executable;  /* compiled */
struct pjrt_loaded;      /* compiled, on devices */
struct pjrt_topology;
struct pjrt_context;     /* of an execution */
struct pjrt_manager;     /* of buffers that are filled piece by piece */
struct pjrt_stream;      /* of chunks to a device */
struct pjrt_alias;       /* the promise of an alias buffer, fulfilled with another buffer */
struct pjrt_tracker;     /* marks a span of time on a device */
struct pjrt_bytes;       /* that the plugin has allocated */

/* ---- extensions ------------------------------------------------------------------------------ */

enum pjrt_extension_type { PJRT_EXT_PARTITIONER = 2, PJRT_EXT_LAYOUTS = 4, PJRT_EXT_FFI = 5,
                           PJRT_EXT_MEMORY_DESCRIPTIONS = 6, PJRT_EXT_REMOTE = 12 };

struct pjrt_extension {
    size_t struct_size;
    int type;
    const struct pjrt_extension *next;
};

#define PJRT_HEAD        \
    size_t struct_size;  \
    const struct pjrt_extension *extension_start;

/* ---- values ---------------------------------------------------------------------------------- */

/* Element types have the numbers of hilo_dtype, and these two. */
enum { PJRT_F6E2M3FN = 32, PJRT_F6E3M2FN = 33 };

enum pjrt_named_kind { PJRT_STRING, PJRT_INT64, PJRT_INT64_LIST, PJRT_FLOAT, PJRT_BOOL };

struct pjrt_named {
    PJRT_HEAD
    const char *name;
    size_t name_size;
    int type; /* enum pjrt_named_kind */
    union {
        const char *string_value; /* not terminated */
        int64_t int64_value;
        const int64_t *int64_array_value;
        float float_value;
        bool bool_value;
    };
    size_t value_size; /* characters, or elements of the array, or 1 */
};

/* A memory is known by its table; user data lives as long as the memory. */
struct pjrt_memory_table {
    PJRT_HEAD
    size_t instance_size;
    void *(*get_user_data)(struct pjrt_memory *memory, const void *key);
    void (*set_user_data)(struct pjrt_memory *memory, const void *key, void *data, void (*destroy)(void *data));
};

typedef void pjrt_visit_fn(const char *key, size_t key_size, const char *value, size_t value_size, void *user);

struct pjrt_error_table {
    size_t struct_size, instance_size;
    const struct pjrt_extension *extension_start;
    void (*destroy)(struct pjrt_error *error);
    void (*message)(const struct pjrt_error *error, const char **message, size_t *message_size);
    int (*get_code)(const struct pjrt_error *error);
    void (*for_each_payload)(const struct pjrt_error *error, pjrt_visit_fn *visit, void *user);
};

typedef void pjrt_ready_fn(struct pjrt_error *error, void *user); /* takes over the error; NULL = success */

/* ---- programs and their execution ------------------------------------------------------------ */

struct pjrt_program {
    PJRT_HEAD
    char *code;
    size_t code_size;
    const char *format; /* "mlir" */
    size_t format_size;
};

struct pjrt_logical_id {
    int replica, partition;
};

struct pjrt_execute_options {
    PJRT_HEAD
    void *send_callbacks, *recv_callbacks; /* per device, per operation */
    size_t num_send_ops, num_recv_ops;
    int launch_id;
    const int64_t *non_donatable_input_indices;
    size_t num_non_donatable_input_indices;
    struct pjrt_context *context;
    const char *call_location;
    size_t num_tasks;
    int *task_ids;
    int64_t *incarnation_ids;
    void *multi_slice_config;
    bool use_major_to_minor_data_layout_for_callbacks;
    void *hlo_output_callbacks;
    size_t num_hlo_output_callbacks;
};

/* ---- buffers --------------------------------------------------------------------------------- */

enum pjrt_semantics {
    PJRT_ONLY_DURING_CALL,         /* the host's memory may change when the call returns */
    PJRT_UNTIL_TRANSFER_COMPLETES, /* until the event is ready */
    PJRT_ZERO_COPY,                /* never while the buffer lives; the buffer may use it, but not change it */
    PJRT_MUTABLE_ZERO_COPY         /* the buffer may use it and change it */
};

enum pjrt_layout_kind { PJRT_TILED, PJRT_STRIDES };

struct pjrt_layout {
    PJRT_HEAD
    union {
        struct {
            PJRT_HEAD
            const int64_t *minor_to_major; /* dimensions, the fastest varying first */
            size_t minor_to_major_size;
            const int64_t *tile_dims;
            const size_t *tile_dim_sizes;
            size_t num_tiles;
        } tiled;
        struct {
            PJRT_HEAD
            const int64_t *byte_strides;
            size_t nbyte_strides;
        } strides;
    };
    int type; /* enum pjrt_layout_kind */
};

struct pjrt_shape_spec {
    PJRT_HEAD
    const int64_t *dims;
    size_t rank;
    int dtype;
};

struct pjrt_chunk {
    void *data;
    size_t size;
    void (*deleter)(void *data, void *user);
    void *user;
};

struct pjrt_copy_done { /* passed to the callback that CopyRawToHostFuture returns */
    size_t struct_size;
    void *callback_data;
    int error_code;
    const char *error_message;
    size_t error_message_size;
    void *dst;
};

struct pjrt_dependency_done { /* passed to the callback that DonateWithControlDependency returns */
    size_t struct_size;
    void *callback_data;
    int error_code;
    const char *error_message;
    size_t error_message_size;
};

/* ---- extensions ------------------------------------------------------------------------------ */

/* Custom calls: the extension has these functions, in this order. The structs of registration have no chain of extensions. */
struct pjrt_ffi_type_register {
    PJRT_HEAD
    const char *name;
    size_t name_size;
    int64_t type_id; /* 0 = give it a number */
    void *type_info;
};

struct pjrt_ffi_user_data_add {
    PJRT_HEAD
    struct pjrt_context *context;
    int64_t type_id;
    void *data;
};

struct pjrt_ffi_register_handler {
    size_t struct_size;
    const char *target;
    size_t target_size;
    void *handler;
    const char *platform;
    size_t platform_size;
    int traits;
};

/* Ours: all stages of a custom call. */
struct pjrt_ffi_register_stages {
    size_t struct_size;
    const char *target;
    size_t target_size;
    void *stages[4]; /* functions: instantiate, prepare, initialize, execute; but for the last NULL where there is none */
};

/* Custom calls that their framework divides. Shapes are ShapeProtos, shardings OpShardings; of several results both are tuples.
   What a function gives lives until `cleanup(data)` is called, unless that is NULL. */
struct pjrt_span {
    const char *p;
    size_t n;
};

struct pjrt_division_head {
    int64_t version;
    void *data;
    void (*cleanup)(void *data);
    bool failed;
    int code;
    struct pjrt_span message;
};

struct pjrt_division_value {
    struct pjrt_span shape;
    bool has_sharding;
    struct pjrt_span sharding;
};

struct pjrt_division {
    struct pjrt_division_head head;
    size_t n;
    struct pjrt_division_value *operands, result;
    struct pjrt_span config;
    /* given: */
    struct pjrt_span program, *operand_shardings, result_sharding;
};

/* Of a target, for the life of the process. The functions for propagation are not called: Shardy has the sharding rule. */
struct pjrt_divider {
    int64_t version;
    void *data;
    void (*destroy)(struct pjrt_divider *self);
    void (*divide)(struct pjrt_divider *self, struct pjrt_division *division);
    void (*infer)(struct pjrt_divider *self, void *args);
    void (*propagate)(struct pjrt_divider *self, void *args);
    bool replicated;
};

struct pjrt_divider_register {
    size_t struct_size;
    const char *target;
    size_t target_size;
    struct pjrt_divider *divider;
};

struct pjrt_batched_register {
    size_t struct_size;
    const char *target;
    size_t target_size;
};

/* The bytes of the config of an InspectSharding: what is called with the sharding. The error lives until free_error. */
struct pjrt_inspection {
    const char *sharding;
    size_t sharding_size;
    const char *message;
    void *error;
    void (*free_error)(struct pjrt_inspection *self);
};
struct pjrt_inspector {
    void (*call)(void *data, struct pjrt_inspection *inspection);
    void *data;
};

/* Layouts: the order of dimensions in memory, as text such as "{1,0}". */
struct pjrt_layout_text;

#define PJRT_LAYOUT_FUNCTIONS(FN)                                                                                         \
    FN(destroy, struct pjrt_layout_text *layout;)                                                                         \
    FN(serialize, struct pjrt_layout_text *layout; const char *bytes; size_t nbytes; struct pjrt_bytes *owner;            \
       void (*deleter)(struct pjrt_bytes *owner);)                                                                        \
    FN(client_default, struct pjrt_client *client; int dtype; const int64_t *dims; size_t rank;                           \
       struct pjrt_layout_text *layout;)                                                                                  \
    FN(of_buffer, struct pjrt_buffer *buffer; struct pjrt_layout_text *layout;)                                           \
    FN(topology_default, struct pjrt_topology *topology; int dtype; const int64_t *dims; size_t rank;                     \
       struct pjrt_layout_text *layout;)                                                                                  \
    FN(of_outputs, struct pjrt_executable *executable; size_t n; struct pjrt_layout_text **layouts;)                      \
    FN(of_parameters, struct pjrt_executable *executable; size_t n; struct pjrt_layout_text **layouts;)
#define PJRT_LAYOUT_ARGS(name, ...) struct pjrt_layout_##name { PJRT_HEAD __VA_ARGS__ };
PJRT_LAYOUT_FUNCTIONS(PJRT_LAYOUT_ARGS)
#undef PJRT_LAYOUT_ARGS

/* Transfers between processes. A transfer has a key, and the numbers of the devices that send and receive. The first two
   functions are another way, by descriptors. */
#define PJRT_REMOTE_FUNCTIONS(FN)                                                                                         \
    FN(make_receive_buffers, struct pjrt_client *client;)                                                                 \
    FN(copy_to_device, struct pjrt_buffer *buffer;)                                                                       \
    FN(receive, struct pjrt_client *client; size_t n; const size_t *ranks; const int64_t *const *dims; const int *dtypes; \
       struct pjrt_layout *const *layouts; struct pjrt_device *device; const int *devices; const int64_t *keys;           \
       struct pjrt_buffer **buffers;)                                                                                     \
    FN(send, struct pjrt_client *client; size_t n; struct pjrt_buffer *const *buffers; const int *devices;                \
       const int64_t *keys; struct pjrt_event **events;)
#define PJRT_REMOTE_ARGS(name, ...) struct pjrt_remote_##name { PJRT_HEAD __VA_ARGS__ };
PJRT_REMOTE_FUNCTIONS(PJRT_REMOTE_ARGS)
#undef PJRT_REMOTE_ARGS
struct pjrt_remote_extension {
    struct pjrt_extension base;
#define PJRT_REMOTE_MEMBER(name, ...) struct pjrt_error *(*name)(struct pjrt_remote_##name *a);
    PJRT_REMOTE_FUNCTIONS(PJRT_REMOTE_MEMBER)
#undef PJRT_REMOTE_MEMBER
};

/* ---- functions ------------------------------------------------------------------------------- */

/* The struct that a function takes; and up to `end`, what every caller must give. */
#define PJRT_ARGS(name, in, rest)                    \
    struct pjrt_##name { PJRT_HEAD in rest };        \
    struct pjrt_##name##_least { PJRT_HEAD in char end; };
#define FN(name, handle, in, rest)   PJRT_ARGS(name, struct pjrt_##handle *handle; in, rest)
#define FN_FREE(name, in, rest)      PJRT_ARGS(name, in, rest)
#define FN_VOID(name, in, rest)      PJRT_ARGS(name, in, rest)
#include "pjrt/pjrt_api.def"

/* What GetPjrtApi returns. */
struct pjrt_api {
    PJRT_HEAD
    struct {
        PJRT_HEAD
        int major_version, minor_version;
    } version;
#define FN(name, handle, in, rest) struct pjrt_error *(*name)(struct pjrt_##name *args);
#define FN_FREE(name, in, rest)    struct pjrt_error *(*name)(struct pjrt_##name *args);
#define FN_VOID(name, in, rest)    void (*name)(struct pjrt_##name *args);
#include "pjrt/pjrt_api.def"
};

_Static_assert(sizeof(struct pjrt_api) == 40 + 138 * sizeof(void *), "the table has 138 functions");

#endif
