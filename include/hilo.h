/* hilo.h: read, verify, compile and run StableHLO programs from C.
 *
 * A complete program. It computes y = f(x) for a function with one f32[4] argument and one f32[4] result:
 *
 *     #include <hilo.h>
 *     #include <stdio.h>
 *
 *     int main(void) {
 *         hilo_client *client;
 *         hilo_module *module = NULL;
 *         hilo_executable *exe = NULL;
 *         hilo_buffer *x = NULL, *y = NULL;
 *         const int64_t dims[] = {4};
 *         float in[4] = {1, 2, 3, 4}, out[4];
 *         if (hilo_client_create(NULL, &client) != HILO_OK)
 *             return 1;
 *         if (hilo_module_load(client, "model.mlir", NULL, &module) == HILO_OK &&
 *             hilo_compile(client, module, NULL, &exe) == HILO_OK &&
 *             hilo_buffer_from_host(client, HILO_F32, dims, 1, in, NULL, &x) == HILO_OK &&
 *             hilo_execute(exe, NULL, &x, 1, &y, 1) == HILO_OK &&
 *             hilo_buffer_to_host(y, out, sizeof out) == HILO_OK)
 *             printf("%g %g %g %g\n", out[0], out[1], out[2], out[3]);
 *         else
 *             hilo_diagnostics_write(client, 0, hilo_write_stderr, NULL);
 *         hilo_buffer_release(y), hilo_buffer_release(x), hilo_executable_release(exe);
 *         hilo_module_release(module), hilo_client_release(client);
 *     }
 *
 * Contents: 1 version, status, types · 2 client and diagnostics · 3 modules · 4 compiling · 5 buffers · 6 executing ·
 * 7 statistics · 8 experimental (define HILO_EXPERIMENTAL before including).
 *
 * Rules for all functions:
 *
 * - Ownership. *_create, _load, _parse, _compile, _from_host … give the caller one reference through their last parameter.
 *   Return it with the type's *_release, which accepts NULL. Objects keep what they need alive: a client may be released
 *   before its buffers. Strings and arrays that accessors return belong to the object they were read from, and stay valid
 *   until it is released.
 * - Errors. A function that can fail returns a hilo_status and, unless stated otherwise, leaves *out untouched. The reason is
 *   appended to the client's diagnostics. INVALID_ARGUMENT for NULL where an object is needed and RESOURCE_EXHAUSTED for lack
 *   of memory are possible everywhere and not repeated below. The library never prints, exits or aborts.
 * - NULL. Accessors that return no status return 0, NULL or "" for a NULL object or an index out of range.
 * - Threads. A client, and its executables, modules and buffers, may be used from any number of threads at once, except while
 *   they are released. Callbacks are called on the thread of the call that causes them, unless they say otherwise.
 * - Options. Option structs begin with struct_size. Initialise one with the type's _init function, then set fields; NULL
 *   selects the defaults. A struct from an older header is accepted: fields that it lacks have their defaults. _init is an
 *   inline function that passes the header's size to _init_sized; other languages call _init_sized.
 * - Units. Sizes are in bytes, times in milliseconds, dimensions in elements. Tensors are dense and row-major.
 * - Libraries. HILO_API marks functions of libhilo and of libhilo-runtime, the library without reader and compiler.
 *   HILO_FULL_API marks functions of libhilo alone. */
#ifndef HILO_H
#define HILO_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define HILO_API __attribute__((visibility("default")))
#else
#define HILO_API
#endif
#define HILO_FULL_API HILO_API

/* ======== 1. Version, status, types =========================================================== */

#define HILO_VERSION_MAJOR 0
#define HILO_VERSION_MINOR 1
#define HILO_VERSION_PATCH 0

/* Returns the version of the library that is running, such as "0.1.0"; it may differ from the header's. Static storage. */
HILO_API const char *hilo_version(void);

/* Result of every call that can fail: the numbers of absl::Status and of PJRT. */
typedef enum hilo_status {
    HILO_OK = 0,
    HILO_CANCELLED = 1,            /* the `cancelled` callback ended the run */
    HILO_UNKNOWN = 2,
    HILO_INVALID_ARGUMENT = 3,     /* a program or an argument is wrong; a diagnostic gives the place */
    HILO_DEADLINE_EXCEEDED = 4,
    HILO_NOT_FOUND = 5,            /* no such file, function, backend */
    HILO_ALREADY_EXISTS = 6,
    HILO_PERMISSION_DENIED = 7,
    HILO_RESOURCE_EXHAUSTED = 8,   /* out of memory */
    HILO_FAILED_PRECONDITION = 9,  /* for example, a donated buffer is used again */
    HILO_ABORTED = 10,             /* another process of the same run failed */
    HILO_OUT_OF_RANGE = 11,
    HILO_UNIMPLEMENTED = 12,       /* valid, but not supported here */
    HILO_INTERNAL = 13,            /* a defect of hilo; please report it */
    HILO_UNAVAILABLE = 14,
    HILO_DATA_LOSS = 15,           /* a damaged file */
    HILO_UNAUTHENTICATED = 16
} hilo_status;

/* Returns "INVALID_ARGUMENT" and so on, or a text for unknown values. Static storage. */
HILO_API const char *hilo_status_name(hilo_status status);

/* Element types, with the numbers of PJRT_Buffer_Type where it has them. In memory an element takes hilo_dtype_size bytes:
   types of less than 8 bits take one byte each, sign- or zero-extended. */
typedef enum hilo_dtype {
    HILO_DTYPE_INVALID = 0,
    HILO_PRED = 1, /* i1: bytes 0 and 1 */
    HILO_S8 = 2, HILO_S16 = 3, HILO_S32 = 4, HILO_S64 = 5,
    HILO_U8 = 6, HILO_U16 = 7, HILO_U32 = 8, HILO_U64 = 9,
    HILO_F16 = 10, HILO_F32 = 11, HILO_F64 = 12, HILO_BF16 = 13,
    HILO_C64 = 14, HILO_C128 = 15, /* real part, imaginary part */
    HILO_F8E5M2 = 16, HILO_F8E4M3FN = 17, HILO_F8E4M3B11FNUZ = 18, HILO_F8E5M2FNUZ = 19, HILO_F8E4M3FNUZ = 20,
    HILO_S4 = 21, HILO_U4 = 22,
    HILO_TOKEN = 23, /* a parameter or result that carries no data */
    HILO_S2 = 24, HILO_U2 = 25,
    HILO_F8E4M3 = 26, HILO_F8E3M4 = 27, HILO_F8E8M0FNU = 28, HILO_F4E2M1FN = 29,
    HILO_F6E2M3FN = 1000, HILO_F6E3M2FN = 1001 /* without a PJRT number */
} hilo_dtype;

/* Returns the bytes of one element in memory; 0 for HILO_TOKEN and unknown values. */
HILO_API size_t hilo_dtype_size(hilo_dtype dtype);
/* Returns StableHLO's name ("f32", "ui8", "complex<f64>", "f8E4M3FN"); "invalid" for unknown values. Static storage. */
HILO_API const char *hilo_dtype_name(hilo_dtype dtype);

#define HILO_DYNAMIC INT64_MIN /* a dimension that is known only when the program runs */

/* The type of a parameter or result. `dims` belongs to the object that the type was read from. */
typedef struct hilo_type {
    hilo_dtype dtype;    /* quantised tensors: the storage type */
    uint32_t rank;
    const int64_t *dims; /* rank sizes; HILO_DYNAMIC where unknown */
} hilo_type;

/* Receives text in pieces of n bytes, which are not terminated. */
typedef void (*hilo_write_fn)(void *user, const char *text, size_t n);
/* A hilo_write_fn that writes to the process's standard error; `user` is ignored. */
HILO_API void hilo_write_stderr(void *user, const char *text, size_t n);

/* ======== 2. Client and diagnostics =========================================================== */

/* Provides all memory of a client. realloc_fn(user, NULL, 0, n, align) allocates, (user, p, old, 0, align) frees, any other
   call resizes and keeps the contents; NULL means that memory is exhausted. Called from any thread. */
typedef struct hilo_allocator {
    void *(*realloc_fn)(void *user, void *ptr, size_t old_bytes, size_t new_bytes, size_t align);
    void *user;
} hilo_allocator;

typedef enum hilo_log_level { HILO_LOG_ERROR, HILO_LOG_WARNING, HILO_LOG_INFO, HILO_LOG_DEBUG } hilo_log_level;

typedef struct hilo_client hilo_client;
struct hilo_diagnostic;

/* A key-value store that all nodes of a job share, in which their clients find each other. Any thread may call it. */
typedef struct hilo_node_store {
    /* Sets a key, which is set once, to n bytes. When it fails it may pass the reason to `write`. */
    hilo_status (*put)(void *user, const char *key, const void *value, size_t n, hilo_write_fn write, void *write_user);
    /* Waits until the key is there, and passes its value to `write`. When it fails, with DEADLINE_EXCEEDED if the key is not
       there in time, it may pass the reason. */
    hilo_status (*get)(void *user, const char *key, int64_t timeout_ms, hilo_write_fn write, void *write_user);
    void *user;
} hilo_node_store;

typedef struct hilo_client_options {
    size_t struct_size;
    int32_t threads;          /* threads that a run may use; 0 (default) = as many as the process may run at once */
    const char *device;       /* "cpu" (default); "gpu", "gpu:1": an NVIDIA GPU */
    hilo_allocator allocator; /* realloc_fn NULL (default) = the system's */
    void (*log)(void *user, hilo_log_level level, const char *message); /* NULL (default) = no log; called from any thread */
    void *log_user;
    /* Receives every diagnostic on the thread of the failing call, before that call returns; the client then collects none.
       For programs that use a client from many threads. NULL (default) = the client collects them. */
    void (*diagnostic)(void *user, const struct hilo_diagnostic *diagnostic);
    void *diagnostic_user;
    /* Directory of the compile cache, which stores executables for this process and others. Its files are code; files that
       belong to another user are ignored. Problems with it are logged as warnings and are never errors. NULL (default) =
       HILO_CACHE_DIR in the environment, else $XDG_CACHE_HOME/hilo or ~/.cache/hilo; "" = no cache. */
    const char *cache_dir;
    uint64_t cache_bytes;     /* approximate limit for all its files; the least recently used are deleted first. 0 (default) =
                                 HILO_CACHE_SIZE in the environment ("500M", "2G"), else 1 GB */
    /* Programs that run on several devices, and by several processes of the operating system ("nodes"), each with a client of
       these options. Nodes need UCX. All nodes create their clients at about the same time, and call hilo_execute for the same
       programs in the same order; nodes of one host share its cores unless `threads` is set. See docs/DISTRIBUTED.md. */
    int32_t devices;          /* of this node; 0 (default) = one, on which a program runs by itself if there is one node */
    int32_t nodes, node;      /* how many (0 (default) = 1); the number of this one, from 0 on */
    hilo_node_store node_store; /* used while the client is created; get NULL (default) = the directory: */
    const char *node_dir;     /* that all nodes see, and that no other job has used; NULL (default) = none */
} hilo_client_options;

HILO_API void hilo_client_options_init_sized(hilo_client_options *options, size_t struct_size);
static inline void hilo_client_options_init(hilo_client_options *options) {
    hilo_client_options_init_sized(options, sizeof *options);
}

/* Creates a client: a device, its thread pool and its diagnostics. options may be NULL. Fails with INVALID_ARGUMENT for a
   negative number of threads, NOT_FOUND for an unknown device, UNAVAILABLE for a GPU without its driver, for nodes without UCX
   and for one that cannot be reached, FAILED_PRECONDITION for nodes with other versions or processors, DEADLINE_EXCEEDED;
   `log` is told why. */
HILO_API hilo_status hilo_client_create(const hilo_client_options *options, hilo_client **out);
HILO_API void hilo_client_release(hilo_client *client);
/* Returns the number of threads that a run may use. */
HILO_API int32_t hilo_client_threads(const hilo_client *client);
/* Returns "cpu" or "gpu:0". */
HILO_API const char *hilo_client_device_name(const hilo_client *client);

typedef enum hilo_severity { HILO_SEVERITY_ERROR, HILO_SEVERITY_WARNING, HILO_SEVERITY_NOTE } hilo_severity;

/* One diagnostic. Its strings belong to the client, until the diagnostics are cleared or the client is released. */
typedef struct hilo_diagnostic {
    size_t struct_size;
    hilo_severity severity;
    hilo_status status;
    const char *message;      /* one line */
    const char *label;        /* constraint of the StableHLO specification, such as "dot_general_c10", or "" */
    const char *file;         /* or "" */
    uint32_t line, column;    /* from 1; 0 = unknown */
    const char *source;       /* that line of the program, or "" */
} hilo_diagnostic;

/* Returns the number of diagnostics. They collect in the client until cleared; after 20 errors, more are only counted. */
HILO_API size_t hilo_diagnostics_count(const hilo_client *client);
/* Reads one. Set out->struct_size before the call. Fails with OUT_OF_RANGE if there is no such index. While another thread may
   clear the diagnostics, use hilo_client_options.diagnostic instead: clearing frees the strings. */
HILO_API hilo_status hilo_diagnostics_get(const hilo_client *client, size_t index, hilo_diagnostic *out);
HILO_API void hilo_diagnostics_clear(hilo_client *client);
/* Writes all of them as `file:line:col: error: [label] message`, the source line and a caret; with ANSI colours if
   colour != 0. */
HILO_API void hilo_diagnostics_write(const hilo_client *client, int colour, hilo_write_fn write, void *user);

/* ======== 3. Modules ========================================================================== */

typedef struct hilo_module hilo_module;

typedef struct hilo_module_options {
    size_t struct_size;
    const char *name;       /* shown in diagnostics; NULL = the path, or "<input>" */
    uint32_t first_line;    /* number of the text's first line; 0 = 1 */
    int32_t skip_verify;    /* 1 = read without checking constraints; the module can be printed, not compiled. Default 0 */
} hilo_module_options;

HILO_FULL_API void hilo_module_options_init_sized(hilo_module_options *options, size_t struct_size);
static inline void hilo_module_options_init(hilo_module_options *options) {
    hilo_module_options_init_sized(options, sizeof *options);
}

/* Reads a program from memory and verifies it. The format is recognised by its first bytes: StableHLO text, MLIR bytecode
   (portable artifacts included), or HLO text. The text need not be terminated; the bytes are not used after the call.
   Fails with INVALID_ARGUMENT and diagnostics with the place of each error. */
HILO_FULL_API hilo_status hilo_module_parse(hilo_client *client, const void *bytes, size_t nbytes,
                                            const hilo_module_options *options, hilo_module **out);
/* Reads and verifies a file. Large constants of bytecode are not copied: the file stays mapped as long as the module and
   what is compiled from it. It may be removed or replaced meanwhile, but must not be written to. Fails as hilo_module_parse,
   or with NOT_FOUND or PERMISSION_DENIED if it cannot be read. */
HILO_FULL_API hilo_status hilo_module_load(hilo_client *client, const char *path, const hilo_module_options *options,
                                           hilo_module **out);
HILO_API void hilo_module_release(hilo_module *module);

typedef struct hilo_print_options {
    size_t struct_size;
    int32_t generic;         /* 1 = "dialect.op"(…) form for every op. Default 0 */
    int32_t locations;       /* 1 = with loc(…). Default 0 */
    uint64_t elide_elements; /* constants with more elements are shortened, and do not parse back; 0 (default) = never */
} hilo_print_options;

HILO_API void hilo_print_options_init_sized(hilo_print_options *options, size_t struct_size);
static inline void hilo_print_options_init(hilo_print_options *options) {
    hilo_print_options_init_sized(options, sizeof *options);
}
/* Writes the program as StableHLO text. */
HILO_API hilo_status hilo_module_print(const hilo_module *module, const hilo_print_options *options, hilo_write_fn write,
                                       void *user);

/* Returns the number of functions. An index below it selects one, in the order of the text. */
HILO_API size_t hilo_module_function_count(const hilo_module *module);
/* Returns the function's name, or NULL if there is no such index. */
HILO_API const char *hilo_module_function_name(const hilo_module *module, size_t index);
/* Returns 1 if other programs may call the function (it is not `private`), else 0. */
HILO_API int32_t hilo_module_function_public(const hilo_module *module, size_t index);
HILO_API size_t hilo_module_function_input_count(const hilo_module *module, size_t index);
HILO_API size_t hilo_module_function_output_count(const hilo_module *module, size_t index);

/* ======== 4. Compiling ======================================================================== */

typedef enum hilo_backend {
    HILO_BACKEND_AUTO,      /* machine code; for each step a library if `hilo calibrate` measured that it is faster */
    HILO_BACKEND_REFERENCE, /* the evaluator that defines every result */
    HILO_BACKEND_INTERPRETER, /* as AUTO, but kernels are interpreted: separates defects of plans from those of machine code */
    HILO_BACKEND_CODEGEN,   /* hilo's machine code only; UNAVAILABLE without a code generator, where AUTO would evaluate */
    HILO_BACKEND_LIBRARY    /* as CODEGEN, but from level 1 on oneDNN, OpenBLAS and FFTW compute what they can; each that is not
                               installed is logged as a warning */
} hilo_backend;

/* What makes machine code. The results of both have the same bits. Where there is only LLVM (processors other than x86-64, and
   those with AVX-512; GPUs; another target_cpu) each of these means OPTIMISED. */
typedef enum hilo_tier {
    HILO_TIER_AUTO,         /* HILO_TIER in the environment, if set. Else quick code at first; once runs of the executable have
                               taken as long as LLVM is expected to take, a thread of the client makes optimised code in the
                               background, which replaces the quick one between two kernels */
    HILO_TIER_BASELINE,     /* hilo's own code generator, LLVM only for kernels that it does not support */
    HILO_TIER_OPTIMISED     /* LLVM */
} hilo_tier;

typedef struct hilo_executable hilo_executable;

typedef struct hilo_compile_options {
    size_t struct_size;
    int32_t level;          /* optimisation level, 0 to 3; default 2 */
    hilo_backend backend;   /* default AUTO */
    const char *entry;      /* function to run; NULL (default) = "main", or the only public function */
    const char *dump_dir;   /* directory for the program before and after each pass, in numbered files; NULL (default) =
                               HILO_DUMP_TO in the environment, if set */
    const char *passes;     /* names of passes, separated by commas, that replace those of the level; NULL (default) = the
                               level's */
    int32_t cache;          /* 1 (default) = use the compile cache; 0 = compile, and store nothing */
    const char *target_cpu; /* "x86-64-v3", "sapphirerapids", "generic" …: compile for that processor, to write a file. The
                               executable runs here if this processor has the features, and anywhere with INTERPRETER. NULL
                               (default) or "native" = this machine's */
    size_t memory_limit;    /* bytes that a run may take for results and temporaries, without its arguments: cheap values are
                               recomputed instead of kept until the program fits; if that does not do, large ones are computed
                               part by part, which may add sums in another order. 0 (default) = no limit. Ignored for programs
                               that are evaluated */
    const char *machine;    /* file that describes a processor and a GPU (docs/GPU.md): steps are placed on the one or the other
                               so that their expected times and transfers are least. What it places on a GPU runs where the
                               client has that GPU. NULL (default) = kernels run on the client's device */
    int32_t batch_invariant; /* 1 = the bits of a row of a product do not depend on how many rows, up to 16, are computed
                                together, so that requests may be batched; products of 9 to 16 rows of f32 take longer. That
                                is for products of floats by a matrix of two or more lines, which are contiguous along the sum
                                (weights as dot_general contracts their last dimension) and whole words where elements have 4
                                bits. 0 (default) = they may */
    hilo_tier tier;         /* default AUTO */
} hilo_compile_options;

HILO_FULL_API void hilo_compile_options_init_sized(hilo_compile_options *options, size_t struct_size);
static inline void hilo_compile_options_init(hilo_compile_options *options) {
    hilo_compile_options_init_sized(options, sizeof *options);
}
/* Compiles a function of a module, or finds it in the compile cache. The module may be released afterwards. Fails with
   NOT_FOUND if the entry does not exist (the diagnostic lists those that do); INVALID_ARGUMENT for options out of range and
   unknown passes or processors; RESOURCE_EXHAUSTED for a program that needs more than memory_limit (the diagnostic states the
   least it needs); UNAVAILABLE for a backend that is not there. */
HILO_FULL_API hilo_status hilo_compile(hilo_client *client, hilo_module *module, const hilo_compile_options *options,
                                       hilo_executable **out);
/* Reads and compiles a program from memory, as hilo_module_parse and hilo_compile do. A program in the compile cache is not
   parsed. */
HILO_FULL_API hilo_status hilo_compile_source(hilo_client *client, const void *bytes, size_t nbytes,
                                              const hilo_module_options *module_options, const hilo_compile_options *options,
                                              hilo_executable **out);
/* The same from a file, which must not be written to; see hilo_module_load. */
HILO_FULL_API hilo_status hilo_compile_file(hilo_client *client, const char *path, const hilo_module_options *module_options,
                                            const hilo_compile_options *options, hilo_executable **out);
HILO_API void hilo_executable_release(hilo_executable *exe);
/* Returns once the executable has optimised code, which it helps to make unless that was done or the executable was compiled to
   keep its code. Runs may go on meanwhile. Fails with UNAVAILABLE without LLVM; the executable then runs as before. */
HILO_API hilo_status hilo_executable_optimise(hilo_executable *exe);

/* Writes the executable as a .hilo file: plan, machine code and constants, for processors with the features that it was
   compiled for and for the same version of hilo. Calls hilo_executable_optimise first. Steps that the reference evaluator
   runs are stored as text, which libhilo-runtime cannot load. Fails with UNIMPLEMENTED for interpreted kernels. */
HILO_API hilo_status hilo_executable_serialize(const hilo_executable *exe, hilo_write_fn write, void *user);
/* Loads an executable from memory, which is copied. A .hilo file is code: load only what you trust. Fails with DATA_LOSS for a
   damaged file; FAILED_PRECONDITION, with the reason, for one of another version or processor; UNIMPLEMENTED for one that
   needs a reader where there is none. */
HILO_API hilo_status hilo_executable_deserialize(hilo_client *client, const void *bytes, size_t nbytes, hilo_executable **out);
/* Loads an executable from a file, which is mapped and must not change while the executable exists. Fails likewise, or with
   NOT_FOUND or PERMISSION_DENIED. */
HILO_API hilo_status hilo_executable_load(hilo_client *client, const char *path, hilo_executable **out);

HILO_API size_t hilo_executable_input_count(const hilo_executable *exe);
HILO_API size_t hilo_executable_output_count(const hilo_executable *exe);
/* Read the type of an input or output; out->dims belongs to the executable. OUT_OF_RANGE if there is no such index. */
HILO_API hilo_status hilo_executable_input_type(const hilo_executable *exe, size_t index, hilo_type *out);
HILO_API hilo_status hilo_executable_output_type(const hilo_executable *exe, size_t index, hilo_type *out);
/* Return the name that the program's attributes give (`jax.arg_info`, `jax.result_info`), else for an input the name in its
   location, else "". */
HILO_API const char *hilo_executable_input_name(const hilo_executable *exe, size_t index);
HILO_API const char *hilo_executable_output_name(const hilo_executable *exe, size_t index);
/* Returns the output that takes the memory of this input when it is donated (`tf.aliasing_output`), or -1. */
HILO_API int32_t hilo_executable_input_alias(const hilo_executable *exe, size_t index);

/* ======== 5. Buffers ========================================================================== */

/* A tensor on the device. */
typedef struct hilo_buffer hilo_buffer;

/* Copies a tensor of `rank` dimensions from the host. byte_strides[i] is the distance between neighbours of dimension i, which
   may be negative or 0; NULL = dense and row-major. Bytes of HILO_PRED other than 0 become 1; for types of less than 8 bits the
   upper bits are ignored. Fails with INVALID_ARGUMENT for an unknown type, a negative size, or NULL data of a non-empty
   tensor. */
HILO_API hilo_status hilo_buffer_from_host(hilo_client *client, hilo_dtype dtype, const int64_t *dims, uint32_t rank,
                                           const void *data, const int64_t *byte_strides, hilo_buffer **out);
/* Allocates a tensor with undefined contents; write it through hilo_buffer_data. */
HILO_API hilo_status hilo_buffer_create(hilo_client *client, hilo_dtype dtype, const int64_t *dims, uint32_t rank,
                                        hilo_buffer **out);
/* Uses the caller's memory without copying it: dense, row-major, aligned to its elements. It must stay valid, and unchanged
   during runs, until release(user, data) is called, from any thread; `release` may be NULL. If this call fails, `release` is
   not called. */
HILO_API hilo_status hilo_buffer_wrap(hilo_client *client, hilo_dtype dtype, const int64_t *dims, uint32_t rank, void *data,
                                      void (*release)(void *user, void *data), void *user, hilo_buffer **out);
HILO_API void hilo_buffer_release(hilo_buffer *buffer);
/* Adds a reference; returns its argument. */
HILO_API hilo_buffer *hilo_buffer_retain(hilo_buffer *buffer);

HILO_API hilo_dtype hilo_buffer_dtype(const hilo_buffer *buffer);
HILO_API uint32_t hilo_buffer_rank(const hilo_buffer *buffer);
/* Returns the sizes of the dimensions; they belong to the buffer. */
HILO_API const int64_t *hilo_buffer_dims(const hilo_buffer *buffer);
/* Returns the size of the data in bytes. */
HILO_API size_t hilo_buffer_bytes(const hilo_buffer *buffer);
/* Copies the data to the host. Fails with INVALID_ARGUMENT unless `nbytes` is the buffer's size, FAILED_PRECONDITION after
   donation. */
HILO_API hilo_status hilo_buffer_to_host(const hilo_buffer *buffer, void *dst, size_t nbytes);
/* Returns the data; NULL after donation, and when a GPU's could not be read. Write to it only while no run uses the buffer.
   Of a GPU's buffer it is a copy in the host's memory, which each later run takes as the contents: where speed matters use
   hilo_buffer_from_host and hilo_buffer_to_host. */
HILO_API void *hilo_buffer_data(const hilo_buffer *buffer);
/* States that the contents were changed by the caller after a run had read them. Only needed for buffers that are given to
   arguments with the attribute `hilo.unchanged` (weights, for example): what an executable has packed of such a buffer is
   used as long as the buffer lives. */
HILO_API void hilo_buffer_changed(hilo_buffer *buffer);

/* ======== 6. Executing ======================================================================== */

typedef struct hilo_timing {
    double total_ms;   /* from call to return */
    double run_ms;     /* of that, running the program */
} hilo_timing;

/* A step that a run has finished. Strings belong to the executable. */
typedef struct hilo_step_event {
    size_t struct_size;
    const char *kind;        /* "kernel", "routine", "reference", "copy" */
    const char *name;        /* of the kernel, routine or function */
    double begin_ms, end_ms; /* since the call of hilo_execute */
    uint64_t bytes;          /* in the buffers that it read and wrote */
    uint32_t step;           /* its number in the plan, as `hilo compile --emit plan` shows it */
} hilo_step_event;

/* A task, the part of a kernel or routine that one thread runs without a break. */
typedef struct hilo_task_event {
    size_t struct_size;
    double begin_ms, end_ms; /* since the call of hilo_execute */
    uint32_t step;           /* whose part it is; that of a group's first step for all of the group */
} hilo_task_event;

typedef struct hilo_execute_options {
    size_t struct_size;
    const uint8_t *donate;         /* one for each input, 1 = the run may overwrite it: from its start on, even if it fails,
                                      the buffer has no data. NULL (default) = none */
    hilo_timing *timing;           /* filled if not NULL */
    int (*cancelled)(void *user);  /* polled during the run, from any thread; non-zero ends it with CANCELLED. NULL (default)
                                      = never */
    void *cancelled_user;
    void (*step)(void *user, const hilo_step_event *event); /* called after every step, on the calling thread. Steps that could
                                      run at once then run one after the other. NULL (default) = not observed, at no cost */
    void *step_user;
    void (*task)(void *user, const hilo_task_event *event); /* called after every task, on the thread that ran it, so by several
                                      at once. NULL (default) = not observed, at no cost */
    void *task_user;
} hilo_execute_options;

HILO_API void hilo_execute_options_init_sized(hilo_execute_options *options, size_t struct_size);
static inline void hilo_execute_options_init(hilo_execute_options *options) {
    hilo_execute_options_init_sized(options, sizeof *options);
}

/* Runs the program and blocks until the results are complete. The outputs are new references, to new buffers or to the memory
   of donated inputs; if the call fails, none is set. A program of unknown sizes is compiled by the first run with each
   combination of input shapes; the most recent specialisations are kept. If runs overlap, one uses the thread pool and the
   others their caller's thread. Fails with INVALID_ARGUMENT for the first input that does not match in number, element type
   or shape; FAILED_PRECONDITION for a donated input; CANCELLED; ABORTED.
   On a client with `devices` or `nodes` the program runs by a process for each device of all nodes. `inputs` are those of the
   first device of this node, then those of the next, as are `outputs` and `donate`; `step` and `task` tell of the first
   device. Fails also with UNAVAILABLE when a node is lost, DEADLINE_EXCEEDED when one does not answer, FAILED_PRECONDITION when
   one runs another program, ABORTED when one has failed: the diagnostic names it. Such errors are final for these nodes. */
HILO_API hilo_status hilo_execute(hilo_executable *exe, const hilo_execute_options *options, hilo_buffer *const *inputs,
                                  size_t ninputs, hilo_buffer **outputs, size_t noutputs);

/* ======== 7. Statistics ======================================================================= */

typedef struct hilo_stats {
    size_t struct_size;
    uint64_t executions;    /* that succeeded */
    double total_ms, last_ms, average_ms; /* of those */
    double compile_ms;      /* of hilo_compile, and of specialisations */
    uint64_t peak_bytes;    /* most memory in tensors during any run, inputs and outputs included */
    uint64_t allocations;   /* how often a run after the first took memory from the client's allocator */
    uint64_t copied_bytes;  /* by copies of whole values, which in-place updates of values that are still needed require */
    uint64_t specialisations; /* runs that first compiled the program for the shapes of their inputs */
    int32_t cached;         /* HILO_CACHED_…: where hilo_compile found the executable */
    /* Known as soon as the program is compiled. Bytes; sizes that are not known until a run count as 0. */
    uint32_t steps;         /* of the plan */
    uint32_t evaluated_steps; /* of those, by the reference evaluator, whose temporaries are not counted */
    uint64_t code_bytes;    /* of memory that the generated machine code takes */
    uint64_t input_bytes, output_bytes, constant_bytes;
    uint64_t alias_bytes;   /* of outputs that take the memory of an input that the program declares as donated */
    uint64_t temp_bytes;    /* between inputs and outputs; the scratch of further threads is not counted */
    uint64_t planned_peak_bytes; /* inputs, outputs, constants and temporaries together, without alias_bytes */
    double flops, bytes_accessed; /* arithmetic operations; what ops read and write. Loops count once */
    uint64_t packs;         /* kernels of runs that packed an operand of a product or convolution: of a constant of 1 MB or more
                               in the first run, and once more to keep it; of an unchanged argument when its buffer is new */
    uint32_t init_steps;    /* of the steps, those that do not run each time */
    uint64_t sent_bytes, messages; /* of runs by several processes: what collectives sent from one process to another */
    uint64_t transfers, transferred_bytes; /* steps of runs that copied between the host and a GPU; inputs are not counted */
    uint64_t scratch_bytes; /* of temp_bytes: what one kernel needs for itself, such as packed operands */
    uint32_t baseline_kernels, optimised_kernels; /* for the processor, by what made the code that runs use from now on */
    uint32_t replaced_kernels; /* of these: had baseline code before, whose memory code_bytes counts as well */
    uint64_t ir_bytes;      /* of memory that is kept to make optimised code; 0 once that is done */
} hilo_stats;

enum {
    HILO_CACHED_NOT,        /* compiled, or loaded from a file that the caller named */
    HILO_CACHED_MEMORY,     /* the same program was already compiled in this client */
    HILO_CACHED_DISK        /* a file of the compile cache */
};

/* Reads the statistics. Set out->struct_size before the call. */
HILO_API hilo_status hilo_executable_stats(const hilo_executable *exe, hilo_stats *out);
/* Zeroes the statistics of runs. */
HILO_API void hilo_executable_reset_stats(hilo_executable *exe);

#ifdef HILO_EXPERIMENTAL
/* ======== 8. Experimental: may change in any release ========================================== */

/* Implements a custom_call target. `inputs` are borrowed; set outputs[i] to new references. Return HILO_UNIMPLEMENTED to
   decline. Called from any thread that executes. */
typedef hilo_status (*hilo_custom_call_fn)(void *user, hilo_client *client, hilo_buffer *const *inputs, size_t ninputs,
                                           hilo_buffer **outputs, size_t noutputs);
/* Registers the implementation of a target for all executables of the client; fn NULL removes it. */
HILO_API hilo_status hilo_custom_call_register(hilo_client *client, const char *target, hilo_custom_call_fn fn, void *user);

/* -------- Language models in the Hugging Face layout --------------------------------------------

   A hilo_llm is a compiled model and the tokens that it has read. Use it from one thread at a time. The part of a prompt that
   equals the beginning of the previous text is not read again. */

typedef struct hilo_llm hilo_llm;

typedef struct hilo_llm_options {
    size_t struct_size;
    const char *engine;     /* "hilo" (default), "hilo:gpu", "reference", "pjrt:PATH"; NULL = HILO_ENGINE in the environment */
    const char *precision;  /* "f32", "bf16", "f16", "int8", "int4", "int4z"; NULL (default) = as the weights are stored */
    int32_t level;          /* optimisation level, 0 to 3; default 2 */
    int64_t context;        /* limit in tokens; 0 (default) = the model's limit */
    void (*progress)(void *user, const char *what, double done); /* done: 0 to 1; NULL (default) = not reported */
    void *progress_user;
} hilo_llm_options;

HILO_FULL_API void hilo_llm_options_init_sized(hilo_llm_options *options, size_t struct_size);
static inline void hilo_llm_options_init(hilo_llm_options *options) {
    hilo_llm_options_init_sized(options, sizeof *options);
}
/* Loads a model from a directory with config.json, tokenizer.json and safetensors files, which are mapped and must not change
   while the model exists. Fails with NOT_FOUND if the directory, a file or the engine does not exist; INVALID_ARGUMENT, with a
   diagnostic that names the field or tensor and what was expected, for a model that is wrong or of an unknown kind. */
HILO_FULL_API hilo_status hilo_llm_load(hilo_client *client, const char *path, const hilo_llm_options *options, hilo_llm **out);
HILO_FULL_API void hilo_llm_release(hilo_llm *model);
/* Returns the limit in tokens of a prompt together with its answer. */
HILO_FULL_API int64_t hilo_llm_context(const hilo_llm *model);

typedef struct hilo_llm_message {
    const char *role;       /* "system", "user", "assistant", or another that the template supports */
    const char *content;
} hilo_llm_message;

/* Tokenizes a text and adds the tokens that the tokenizer puts around it. Writes the first `capacity` ids; *n receives
   the number of all of them. */
HILO_FULL_API hilo_status hilo_llm_encode(hilo_llm *model, const char *text, size_t nbytes, int32_t *ids, size_t capacity,
                                          size_t *n);
/* Renders a conversation with the model's chat template, up to where the assistant answers, and tokenizes it; the contents of
   messages never become special tokens. Fails with NOT_FOUND when the model has no template, FAILED_PRECONDITION when the
   template refuses the conversation, INVALID_ARGUMENT when it is wrong or a message is not UTF-8. */
HILO_FULL_API hilo_status hilo_llm_encode_chat(hilo_llm *model, const hilo_llm_message *messages, size_t nmessages,
                                               int32_t *ids, size_t capacity, size_t *n);
/* Writes the text of n ids, in one call of `write`. */
HILO_FULL_API hilo_status hilo_llm_decode(hilo_llm *model, const int32_t *ids, size_t n, hilo_write_fn write, void *user);

typedef struct hilo_generate_options {
    size_t struct_size;
    size_t max_tokens;          /* 0 (default) = up to the end of the context */
    double temperature;         /* 0 (default) = always the most probable token */
    int64_t top_k;              /* 0 (default) = all */
    double top_p, min_p;        /* defaults 1 and 0: off */
    double repetition_penalty;  /* default 1: off */
    uint64_t seed;
    const char *const *stop;    /* texts that end the answer; they are not part of it */
    size_t nstop;
    /* Called after each token with the text that it adds: whole characters, possibly none. Non-zero ends the answer. */
    int (*on_text)(void *user, const char *text, size_t n);
    void *on_text_user;
} hilo_generate_options;

HILO_FULL_API void hilo_generate_options_init_sized(hilo_generate_options *options, size_t struct_size);
static inline void hilo_generate_options_init(hilo_generate_options *options) {
    hilo_generate_options_init_sized(options, sizeof *options);
}

typedef enum hilo_finish {
    HILO_FINISH_LENGTH,     /* max_tokens */
    HILO_FINISH_END,        /* the model ended its answer */
    HILO_FINISH_STOP,       /* a stop text */
    HILO_FINISH_CONTEXT,    /* the context is full */
    HILO_FINISH_CALLER      /* on_text returned non-zero */
} hilo_finish;

typedef struct hilo_generated {
    size_t struct_size;
    hilo_finish finish;
    size_t ntokens;                     /* generated, including the one that ended the answer */
    size_t prompt_read, prompt_reused;  /* tokens of the prompt that were read, and that were known from before */
    double prefill_ms, decode_ms, compile_ms;
    /* Of the decode steps after the first of each program: allocations, and bytes copied of the KV cache and other whole
       values. Both are 0; -1 if the engine does not report them. */
    int64_t decode_allocations, decode_copied_bytes;
} hilo_generated;

/* Continues a prompt of n tokens. Writes the first `capacity` generated ids. `out` may be NULL; else set out->struct_size
   before the call. */
HILO_FULL_API hilo_status hilo_llm_generate(hilo_llm *model, const int32_t *prompt, size_t n,
                                            const hilo_generate_options *options, int32_t *ids, size_t capacity,
                                            hilo_generated *out);

#endif /* HILO_EXPERIMENTAL */

#ifdef __cplusplus
}
#endif
#endif /* HILO_H */
