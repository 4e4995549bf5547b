/* hilo.h — read, check, compile and run StableHLO programs from C.
 *
 * A complete program: y = f(x) for a function of one f32[4] argument and one result.
 *
 *     #include <hilo.h>
 *     #include <stdio.h>
 *
 *     int main(void) {
 *         hilo_client *client;
 *         hilo_module *module = NULL;
 *         hilo_executable *exe = NULL;
 *         hilo_buffer *x = NULL, *y = NULL;
 *         float in[4] = {1, 2, 3, 4}, out[4];
 *         if (hilo_client_create(NULL, &client) != HILO_OK)
 *             return 1;
 *         if (hilo_module_load(client, "model.mlir", NULL, &module) == HILO_OK &&
 *             hilo_compile(client, module, NULL, &exe) == HILO_OK &&
 *             hilo_buffer_from_host(client, HILO_F32, (int64_t[]){4}, 1, in, NULL, &x) == HILO_OK &&
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
 * Rules that hold everywhere
 * - Ownership: *_create, _load, _parse, _compile, _from_host … give the caller one reference in their last
 * parameter, to be
 *   given back by the type's *_release (NULL is fine). Objects keep what they need alive: releasing a client before its
 *   buffers is allowed. Strings and arrays returned by accessors belong to the object they were asked of.
 * - Errors: every function that can fail returns a hilo_status and leaves *out untouched. The reason is appended to the
 *   client's diagnostics. Nothing prints, exits or aborts; wrong input of any kind is answered, never obeyed.
 * - Threads: a client, and executables, modules and buffers of it, may be used from any number of threads at once.
 * What is
 *   being released must not be in use.
 * - Option structs begin with struct_size: initialise them with the type's _init function, then set fields. NULL =
 * defaults.
 *   A struct from an older header is accepted; what it lacks has its default. _init writes as much as the header knows; it
 *   calls _init_sized with that size, as programs in other languages do.
 * - Sizes are in bytes and dimensions in elements; tensors are dense and row-major. */
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

/* ======== 1. Version, status, types =========================================================== */

#define HILO_VERSION_MAJOR 0
#define HILO_VERSION_MINOR 1
#define HILO_VERSION_PATCH 0

/* "0.1.0": of the library that is running, which may differ from the header's. Never fails; static storage. */
HILO_API const char *hilo_version(void);

/* Result of every call that can fail: the numbers of absl::Status and of PJRT. */
typedef enum hilo_status {
    HILO_OK = 0,
    HILO_CANCELLED = 1,            /* the cancel callback said so */
    HILO_UNKNOWN = 2,
    HILO_INVALID_ARGUMENT = 3,     /* a program or an argument is wrong; a diagnostic says where */
    HILO_DEADLINE_EXCEEDED = 4,
    HILO_NOT_FOUND = 5,            /* no such file, function, backend */
    HILO_ALREADY_EXISTS = 6,
    HILO_PERMISSION_DENIED = 7,
    HILO_RESOURCE_EXHAUSTED = 8,   /* out of memory */
    HILO_FAILED_PRECONDITION = 9,  /* e.g. a donated buffer used again */
    HILO_ABORTED = 10,             /* another process of the same run failed */
    HILO_OUT_OF_RANGE = 11,
    HILO_UNIMPLEMENTED = 12,       /* valid, but not supported here */
    HILO_INTERNAL = 13,            /* a defect of hilo; please report it */
    HILO_UNAVAILABLE = 14,
    HILO_DATA_LOSS = 15,           /* a damaged file */
    HILO_UNAUTHENTICATED = 16
} hilo_status;

/* "INVALID_ARGUMENT" and so on; static storage. */
HILO_API const char *hilo_status_name(hilo_status status);

/* Element types, with the numbers of PJRT_Buffer_Type where it has them. In memory an element takes hilo_dtype_size
   bytes: types of less than 8 bits take a byte each, sign- or zero-extended. */
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

/* Bytes of one element in memory; 0 for HILO_TOKEN and unknown values. */
HILO_API size_t hilo_dtype_size(hilo_dtype dtype);
/* As StableHLO spells it ("f32", "ui8", "complex<f64>", "f8E4M3FN"); "invalid" for unknown values. Static storage. */
HILO_API const char *hilo_dtype_name(hilo_dtype dtype);

#define HILO_DYNAMIC INT64_MIN /* a dimension that is known only when the program runs */

/* The type of a parameter or result. `dims` belongs to the object that was asked. */
typedef struct hilo_type {
    hilo_dtype dtype;    /* quantised tensors: the storage type */
    uint32_t rank;
    const int64_t *dims; /* rank sizes; HILO_DYNAMIC where unknown */
} hilo_type;

/* Receives text in pieces; not terminated. */
typedef void (*hilo_write_fn)(void *user, const char *text, size_t n);
/* A hilo_write_fn that writes to the process's standard error. */
HILO_API void hilo_write_stderr(void *user, const char *text, size_t n);

/* ======== 2. Client and diagnostics =========================================================== */

/* Where all memory of a client comes from. realloc_fn(user, NULL, 0, n, align) allocates, (user, p, old, 0, align)
   frees, anything else resizes and keeps the contents; NULL answers exhaustion. Called from any thread. */
typedef struct hilo_allocator {
    void *(*realloc_fn)(void *user, void *ptr, size_t old_bytes, size_t new_bytes, size_t align);
    void *user;
} hilo_allocator;

typedef enum hilo_log_level { HILO_LOG_ERROR, HILO_LOG_WARNING, HILO_LOG_INFO, HILO_LOG_DEBUG } hilo_log_level;

typedef struct hilo_client hilo_client;
struct hilo_diagnostic;

typedef struct hilo_client_options {
    size_t struct_size;
    int32_t threads;          /* threads that a run may use; 0 (default) = one per core that the process may use */
    const char *device;       /* "cpu" (default) */
    hilo_allocator allocator; /* realloc_fn NULL (default) = the system's */
    void (*log)(void *user, hilo_log_level level, const char *message); /* NULL (default) = silent; any thread */
    void *log_user;
    /* Receives every diagnostic on the thread whose call made it, at the end of that call, in the client's place, which
       then gathers none: for programs that use a client from many threads. NULL (default) = they are gathered. */
    void (*diagnostic)(void *user, const struct hilo_diagnostic *diagnostic);
    void *diagnostic_user;
    /* The compile cache: a directory of executables, by all that they depend on, for this process and others. What is wrong
       with it is logged as a warning and never an error; files of it are code, and only those of this user are believed. NULL
       (default) = what HILO_CACHE_DIR in the environment names, else $XDG_CACHE_HOME/hilo or ~/.cache/hilo; "" = none. */
    const char *cache_dir;
    uint64_t cache_bytes;     /* of all files together, about; what was not used for longest goes first. 0 (default) =
                                 HILO_CACHE_SIZE ("500M", "2G"), else 1 GB */
} hilo_client_options;

HILO_API void hilo_client_options_init_sized(hilo_client_options *options, size_t struct_size);
static inline void hilo_client_options_init(hilo_client_options *options) {
    hilo_client_options_init_sized(options, sizeof *options);
}

/* INVALID_ARGUMENT for a negative thread count, NOT_FOUND for a device that does not exist. */
HILO_API hilo_status hilo_client_create(const hilo_client_options *options, hilo_client **out);
HILO_API void hilo_client_release(hilo_client *client);
HILO_API int32_t hilo_client_threads(const hilo_client *client);
/* "cpu"; belongs to the client. */
HILO_API const char *hilo_client_device_name(const hilo_client *client);

typedef enum hilo_severity { HILO_SEVERITY_ERROR, HILO_SEVERITY_WARNING, HILO_SEVERITY_NOTE } hilo_severity;

/* One diagnostic. Strings belong to the client, until it is cleared or released. */
typedef struct hilo_diagnostic {
    size_t struct_size;
    hilo_severity severity;
    hilo_status status;
    const char *message;      /* one line */
    const char *label;        /* constraint of the StableHLO specification, "dot_general_c10", or "" */
    const char *file;         /* or "" */
    uint32_t line, column;    /* from 1; 0 = unknown */
    const char *source;       /* that line of the program, or "" */
} hilo_diagnostic;

/* Diagnostics gather in the client until cleared, at most 20 errors; later ones are only counted. */
HILO_API size_t hilo_diagnostics_count(const hilo_client *client);
/* OUT_OF_RANGE when there is no such index. Set out->struct_size first. */
HILO_API hilo_status hilo_diagnostics_get(const hilo_client *client, size_t index, hilo_diagnostic *out);
HILO_API void hilo_diagnostics_clear(hilo_client *client);
/* `file:line:col: error: [label] message`, the source line and a caret, for all of them; with colour != 0, ANSI
   colours. */
HILO_API void hilo_diagnostics_write(const hilo_client *client, int colour, hilo_write_fn write, void *user);

/* ======== 3. Modules ========================================================================== */

typedef struct hilo_module hilo_module;

typedef struct hilo_module_options {
    size_t struct_size;
    const char *name;       /* shown in diagnostics; NULL = the path, or "<input>" */
    uint32_t first_line;    /* number of the text's first line; 0 = 1 */
    int32_t skip_verify;    /* 1 = only read, to be printed: constraints are not checked, and it cannot be compiled
                               (default 0) */
} hilo_module_options;

HILO_API void hilo_module_options_init_sized(hilo_module_options *options, size_t struct_size);
static inline void hilo_module_options_init(hilo_module_options *options) {
    hilo_module_options_init_sized(options, sizeof *options);
}

/* Reads a program from memory and verifies it: StableHLO text, bytecode such as portable artifacts, or HLO text, which its
   first bytes tell; not terminated. The bytes are not needed afterwards. INVALID_ARGUMENT with diagnostics that say where. */
HILO_API hilo_status hilo_module_parse(hilo_client *client, const void *bytes, size_t nbytes,
                                       const hilo_module_options *options, hilo_module **out);
/* The same from a file; NOT_FOUND or PERMISSION_DENIED when it cannot be read. */
HILO_API hilo_status hilo_module_load(hilo_client *client, const char *path, const hilo_module_options *options,
                                      hilo_module **out);
HILO_API void hilo_module_release(hilo_module *module);

typedef struct hilo_print_options {
    size_t struct_size;
    int32_t generic;         /* 1 = "dialect.op"(…) form throughout */
    int32_t locations;       /* 1 = with loc(…) */
    uint64_t elide_elements; /* constants with more elements are shortened (and do not parse back); 0 = never */
} hilo_print_options;

HILO_API void hilo_print_options_init_sized(hilo_print_options *options, size_t struct_size);
static inline void hilo_print_options_init(hilo_print_options *options) {
    hilo_print_options_init_sized(options, sizeof *options);
}
/* The program as text. RESOURCE_EXHAUSTED is the only failure. */
HILO_API hilo_status hilo_module_print(const hilo_module *module, const hilo_print_options *options, hilo_write_fn write,
                                       void *user);

/* Functions in the order of the text. */
HILO_API size_t hilo_module_function_count(const hilo_module *module);
/* Names belong to the module; NULL when there is no such index. */
HILO_API const char *hilo_module_function_name(const hilo_module *module, size_t index);
/* 1 when other programs may call it (no `private`), else 0. */
HILO_API int32_t hilo_module_function_public(const hilo_module *module, size_t index);
HILO_API size_t hilo_module_function_input_count(const hilo_module *module, size_t index);
HILO_API size_t hilo_module_function_output_count(const hilo_module *module, size_t index);

/* ======== 4. Compiling ======================================================================== */

typedef enum hilo_backend {
    HILO_BACKEND_AUTO,      /* the fastest that is there, step by step: `hilo calibrate` measures which that is */
    HILO_BACKEND_REFERENCE, /* the evaluator that defines every result */
    HILO_BACKEND_INTERPRETER, /* as AUTO, but kernels are interpreted: to tell defects of plans from those of machine code */
    HILO_BACKEND_CODEGEN,   /* machine code; UNAVAILABLE where there is no code generator, and AUTO would evaluate */
    HILO_BACKEND_LIBRARY    /* the same, but from level 1 on oneDNN, OpenBLAS and FFTW do what they can, where
                               they are installed; what is missing is logged as a warning */
} hilo_backend;

typedef struct hilo_executable hilo_executable;

typedef struct hilo_compile_options {
    size_t struct_size;
    int32_t level;          /* 0..3; default 2 */
    hilo_backend backend;   /* default AUTO */
    const char *entry;      /* function to run; NULL = "main", or the only public function */
    const char *dump_dir;   /* directory for the program before and behind optimisation; NULL (default) = what
                               HILO_DUMP_TO in the environment names, if anything; files there are numbered */
    const char *passes;     /* these passes, separated by commas, and not those of the level; NULL (default) = the level's */
    int32_t cache;          /* 1 (default) = answer what was compiled before; 0 = compile, and keep it nowhere */
    const char *target_cpu; /* "x86-64-v3", "sapphirerapids", "generic" …: code for processors of that kind, to be written to a
                               file; it runs here where this one is one, and with INTERPRETER anywhere. NULL (default) or
                               "native" = this machine's */
    size_t memory_limit;    /* bytes that a run may take for results and what is between, its arguments not counted: cheap
                               values are computed again rather than kept, until the program needs no more. 0 (default) = no
                               limit. Of no effect on programs that are evaluated */
} hilo_compile_options;

HILO_API void hilo_compile_options_init_sized(hilo_compile_options *options, size_t struct_size);
static inline void hilo_compile_options_init(hilo_compile_options *options) {
    hilo_compile_options_init_sized(options, sizeof *options);
}
/* The executable keeps what it needs of the module. NOT_FOUND when the entry does not exist (the diagnostic lists
   what does); INVALID_ARGUMENT for options out of range, and for processors that are not known (the diagnostic lists them);
   RESOURCE_EXHAUSTED for a program that needs more than memory_limit (the diagnostic says how much at the least). */
HILO_API hilo_status hilo_compile(hilo_client *client, hilo_module *module, const hilo_compile_options *options,
                                  hilo_executable **out);
/* The same from the program's bytes, or from its file, as hilo_module_parse and _load read it: what was compiled before is not
   even read. */
HILO_API hilo_status hilo_compile_source(hilo_client *client, const void *bytes, size_t nbytes,
                                         const hilo_module_options *module_options, const hilo_compile_options *options,
                                         hilo_executable **out);
HILO_API hilo_status hilo_compile_file(hilo_client *client, const char *path, const hilo_module_options *module_options,
                                       const hilo_compile_options *options, hilo_executable **out);
HILO_API void hilo_executable_release(hilo_executable *exe);

/* The executable as a .hilo file: its plan, machine code and constants, for processors of the kind that it was compiled for, to
   be loaded by the same version of hilo, also by one without a compiler. What the reference evaluator runs of the program is
   in the file as text; such a file cannot be loaded by libhilo-runtime, which has no reader. UNIMPLEMENTED for kernels that are
   interpreted. */
HILO_API hilo_status hilo_executable_serialize(const hilo_executable *exe, hilo_write_fn write, void *user);
/* The reverse, from memory (copied) or from a file (mapped; it must not change meanwhile). A file is code: load only what you
   trust. DATA_LOSS for a damaged file; FAILED_PRECONDITION, with the reason, for one of another version, or for another
   processor; UNIMPLEMENTED for one that needs a reader, where there is none. */
HILO_API hilo_status hilo_executable_deserialize(hilo_client *client, const void *bytes, size_t nbytes, hilo_executable **out);
HILO_API hilo_status hilo_executable_load(hilo_client *client, const char *path, hilo_executable **out);

HILO_API size_t hilo_executable_input_count(const hilo_executable *exe);
HILO_API size_t hilo_executable_output_count(const hilo_executable *exe);
/* OUT_OF_RANGE when there is no such index. */
HILO_API hilo_status hilo_executable_input_type(const hilo_executable *exe, size_t index, hilo_type *out);
HILO_API hilo_status hilo_executable_output_type(const hilo_executable *exe, size_t index, hilo_type *out);
/* From the program's attributes (`jax.arg_info`, `jax.result_info`), or of an input the name in its location; "" when
   it has none. Belongs to the executable. */
HILO_API const char *hilo_executable_input_name(const hilo_executable *exe, size_t index);
HILO_API const char *hilo_executable_output_name(const hilo_executable *exe, size_t index);
/* The output that takes over the memory of this input when it is donated (`tf.aliasing_output`); -1 = none. */
HILO_API int32_t hilo_executable_input_alias(const hilo_executable *exe, size_t index);

/* ======== 5. Buffers ========================================================================== */

typedef struct hilo_buffer hilo_buffer;

/* Copies `rank` dimensions of data from the host. byte_strides (rank of them, may be negative or 0) say where
   elements lie; NULL = dense row-major. Bytes of HILO_PRED other than 0 become 1; of types of less than 8 bits the
   upper bits are ignored. */
HILO_API hilo_status hilo_buffer_from_host(hilo_client *client, hilo_dtype dtype, const int64_t *dims, uint32_t rank,
                                           const void *data, const int64_t *byte_strides, hilo_buffer **out);
/* Uninitialised memory. */
HILO_API hilo_status hilo_buffer_create(hilo_client *client, hilo_dtype dtype, const int64_t *dims, uint32_t rank,
                                        hilo_buffer **out);
/* Uses the caller's dense memory, aligned as its elements are, without copying it: it must stay valid, and unchanged
   during runs, until `release` (may be NULL) is called with `user` and `data`, from any thread. It is not called when
   this call fails. */
HILO_API hilo_status hilo_buffer_wrap(hilo_client *client, hilo_dtype dtype, const int64_t *dims, uint32_t rank, void *data,
                                      void (*release)(void *user, void *data), void *user, hilo_buffer **out);
HILO_API void hilo_buffer_release(hilo_buffer *buffer);
/* One more reference; returns its argument. */
HILO_API hilo_buffer *hilo_buffer_retain(hilo_buffer *buffer);

HILO_API hilo_dtype hilo_buffer_dtype(const hilo_buffer *buffer);
HILO_API uint32_t hilo_buffer_rank(const hilo_buffer *buffer);
HILO_API const int64_t *hilo_buffer_dims(const hilo_buffer *buffer); /* belongs to the buffer */
HILO_API size_t hilo_buffer_bytes(const hilo_buffer *buffer);
/* Copies to the host: INVALID_ARGUMENT unless `nbytes` is the buffer's size, FAILED_PRECONDITION after donation. */
HILO_API hilo_status hilo_buffer_to_host(const hilo_buffer *buffer, void *dst, size_t nbytes);
/* The data itself; NULL after donation and on devices whose memory the host does not see. To be changed only while no
   run uses the buffer. */
HILO_API void *hilo_buffer_data(const hilo_buffer *buffer);

/* ======== 6. Executing ======================================================================== */

typedef struct hilo_timing {
    double total_ms;   /* from call to return */
    double run_ms;     /* of that, running the program */
} hilo_timing;

/* A step that a run has done. Strings belong to the executable. */
typedef struct hilo_step_event {
    size_t struct_size;
    const char *kind;        /* "kernel", "routine", "reference", "copy" */
    const char *name;        /* of the kernel, routine or function */
    double begin_ms, end_ms; /* since the call of hilo_execute */
    uint64_t bytes;          /* in the buffers that it read and wrote */
    uint32_t step;           /* its number in the plan, as `hilo compile --emit plan` shows it */
} hilo_step_event;

typedef struct hilo_execute_options {
    size_t struct_size;
    const uint8_t *donate;         /* one per input, 1 = the run may overwrite it: from its start on, even when it
                                      fails, the buffer has no data. NULL = none */
    hilo_timing *timing;           /* filled when not NULL */
    int (*cancelled)(void *user);  /* polled between steps, from any thread; non-zero ends the run with
                                      CANCELLED. NULL = never */
    void *cancelled_user;
    void (*step)(void *user, const hilo_step_event *event); /* told of every step, on the calling thread, to see where
                                      the time goes; steps that could run at once then follow each other. NULL = nobody
                                      looks, which costs nothing */
    void *step_user;
} hilo_execute_options;

HILO_API void hilo_execute_options_init_sized(hilo_execute_options *options, size_t struct_size);
static inline void hilo_execute_options_init(hilo_execute_options *options) {
    hilo_execute_options_init_sized(options, sizeof *options);
}

/* Runs the program. A program of unknown sizes is compiled for the shapes of the inputs by the first run that has them; the
   last ones are kept. Inputs must match in number, element type and shape (INVALID_ARGUMENT names the first that does
   not); outputs are new buffers, or a donated input's memory. On failure no output is set. Blocks until the results
   are there. */
HILO_API hilo_status hilo_execute(hilo_executable *exe, const hilo_execute_options *options, hilo_buffer *const *inputs,
                                  size_t ninputs, hilo_buffer **outputs, size_t noutputs);

/* ======== 7. Statistics ======================================================================= */

typedef struct hilo_stats {
    size_t struct_size;
    uint64_t executions;    /* that succeeded */
    double total_ms, last_ms, average_ms; /* of those */
    double compile_ms;      /* of hilo_compile, and of specialisations */
    uint64_t peak_bytes;    /* most memory in tensors during any run, inputs and outputs included */
    uint64_t allocations;   /* times that a run behind the first took memory from the client's allocator */
    uint64_t copied_bytes;  /* by copies of whole values, as in-place updates of what is still needed call for */
    uint64_t specialisations; /* runs that compiled the program for the shapes of their inputs first */
    int32_t cached;         /* HILO_CACHED_…: where hilo_compile had the executable from */
    /* Known as soon as the program is compiled. Bytes; sizes that are not known until a run count as 0. */
    uint32_t steps;         /* of the plan */
    uint32_t evaluated_steps; /* of those, by the reference evaluator, whose temporaries are not counted */
    uint64_t code_bytes;    /* of memory that the generated machine code takes */
    uint64_t input_bytes, output_bytes, constant_bytes;
    uint64_t alias_bytes;   /* of outputs that take the memory of an input that the program declares as donated */
    uint64_t temp_bytes;    /* between inputs and outputs; the scratch of further threads is not counted */
    uint64_t planned_peak_bytes; /* inputs, outputs, constants and temporaries together, without alias_bytes */
    double flops, bytes_accessed; /* arithmetic operations; what ops read and write. Loops count once */
} hilo_stats;

enum {
    HILO_CACHED_NOT,        /* it was compiled, or loaded from a file that the caller named */
    HILO_CACHED_MEMORY,     /* the client had the same program compiled, and it still is */
    HILO_CACHED_DISK        /* a file of the compile cache */
};

/* Set out->struct_size first. */
HILO_API hilo_status hilo_executable_stats(const hilo_executable *exe, hilo_stats *out);
/* Zeroes what counts runs. */
HILO_API void hilo_executable_reset_stats(hilo_executable *exe);

#ifdef HILO_EXPERIMENTAL
/* ======== 8. Experimental: may change in any release ========================================== */

/* Calls a custom_call target that the program names. `inputs` are borrowed; set outputs[i] to new references. Answer
   HILO_UNIMPLEMENTED to decline. Called from any thread that executes. */
typedef hilo_status (*hilo_custom_call_fn)(void *user, hilo_client *client, hilo_buffer *const *inputs, size_t ninputs,
                                           hilo_buffer **outputs, size_t noutputs);
/* Registers (fn NULL: removes) the implementation of a target for all executables of the client. */
HILO_API hilo_status hilo_custom_call_register(hilo_client *client, const char *target, hilo_custom_call_fn fn, void *user);

/* -------- Language models: a model in the Hugging Face layout, compiled, and what it has read -------------------

   A model is used by one thread at a time. What a text begins with like the one before it is not read again. */

typedef struct hilo_llm hilo_llm;

typedef struct hilo_llm_options {
    size_t struct_size;
    const char *engine;     /* "hilo" (default), "reference", "pjrt:PATH"; NULL = HILO_ENGINE in the environment */
    const char *precision;  /* "f32", "bf16", "f16", "int8", "int4", "int4z"; NULL = as the weights are stored */
    int32_t level;          /* of optimisation, 0..3; default 2 */
    int64_t context;        /* most tokens; 0 (default) = the model's limit */
    void (*progress)(void *user, const char *what, double done); /* done: 0..1; NULL (default) = silent */
    void *progress_user;
} hilo_llm_options;

HILO_API void hilo_llm_options_init_sized(hilo_llm_options *options, size_t struct_size);
static inline void hilo_llm_options_init(hilo_llm_options *options) {
    hilo_llm_options_init_sized(options, sizeof *options);
}
/* From a directory with config.json, tokenizer.json and safetensors files, which are mapped and must not change. The
   diagnostic of an INVALID_ARGUMENT names the field or tensor, and what was expected. */
HILO_API hilo_status hilo_llm_load(hilo_client *client, const char *path, const hilo_llm_options *options, hilo_llm **out);
HILO_API void hilo_llm_release(hilo_llm *model);
/* The most tokens of a prompt and its answer together. */
HILO_API int64_t hilo_llm_context(const hilo_llm *model);

typedef struct hilo_llm_message {
    const char *role;       /* "system" (the first only), "user", "assistant" */
    const char *content;
} hilo_llm_message;

/* Ids of a text, with what the tokenizer puts around it: as many as there is room for; *n is how many there are. */
HILO_API hilo_status hilo_llm_encode(hilo_llm *model, const char *text, size_t nbytes, int32_t *ids, size_t room, size_t *n);
/* The same of a conversation, by the model's chat template. UNIMPLEMENTED when its family is not known. */
HILO_API hilo_status hilo_llm_encode_chat(hilo_llm *model, const hilo_llm_message *messages, size_t nmessages, int32_t *ids,
                                          size_t room, size_t *n);
/* The text of ids, in one piece. */
HILO_API hilo_status hilo_llm_decode(hilo_llm *model, const int32_t *ids, size_t n, hilo_write_fn write, void *user);

typedef struct hilo_generate_options {
    size_t struct_size;
    size_t max_tokens;          /* 0 (default) = up to the end of the context */
    double temperature;         /* 0 (default) = always the most probable token */
    int64_t top_k;              /* 0 (default) = all */
    double top_p, min_p;        /* defaults 1 and 0: off */
    double repetition_penalty;  /* default 1: off */
    uint64_t seed;
    const char *const *stop;    /* texts that end the answer before them */
    size_t nstop;
    /* Called behind each token with what the text has grown by, in whole characters, perhaps nothing; non-zero ends it. */
    int (*on_text)(void *user, const char *text, size_t n);
    void *on_text_user;
} hilo_generate_options;

HILO_API void hilo_generate_options_init_sized(hilo_generate_options *options, size_t struct_size);
static inline void hilo_generate_options_init(hilo_generate_options *options) {
    hilo_generate_options_init_sized(options, sizeof *options);
}

typedef enum hilo_finish {
    HILO_FINISH_LENGTH,     /* max_tokens */
    HILO_FINISH_END,        /* the model ended its answer */
    HILO_FINISH_STOP,       /* a stop text */
    HILO_FINISH_CONTEXT,    /* the context is full */
    HILO_FINISH_CALLER      /* on_text said so */
} hilo_finish;

typedef struct hilo_generated {
    size_t struct_size;
    hilo_finish finish;
    size_t ntokens;                     /* generated, with the one that ended the answer */
    size_t prompt_read, prompt_reused;  /* tokens of the prompt that were read, that were known from before */
    double prefill_ms, decode_ms, compile_ms;
    /* Of the decode steps, behind the first of each program: what they took from the allocator, and what they copied of the
       cache and other whole values; both 0, unless the engine does not say (-1). */
    int64_t decode_allocations, decode_copied_bytes;
} hilo_generated;

/* Continues a prompt. `ids` receives the generated tokens, as many as there is room for. `out` may be NULL; else set
   out->struct_size first. */
HILO_API hilo_status hilo_llm_generate(hilo_llm *model, const int32_t *prompt, size_t n, const hilo_generate_options *options,
                                       int32_t *ids, size_t room, hilo_generated *out);

#endif /* HILO_EXPERIMENTAL */

#ifdef __cplusplus
}
#endif
#endif /* HILO_H */
