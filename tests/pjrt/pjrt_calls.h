/* Calls of the plugin through its table, for its tests. */
#ifndef HILO_TESTS_PJRT_CALLS_H
#define HILO_TESTS_PJRT_CALLS_H

#include "pjrt/pjrt.h"

#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

const struct pjrt_api *GetPjrtApi(void);

static const struct pjrt_api *api;

/* ---- calling --------------------------------------------------------------------------------- */

/* The args of a call, with everything else 0. */
#define ARGS(name, ...) struct pjrt_##name a = {.struct_size = sizeof a, __VA_ARGS__}

static inline int code_of(struct pjrt_error *error) {
    if (!error)
        return HILO_OK;
    struct pjrt_Error_GetCode code = {.struct_size = sizeof code, .error = error};
    assert_null(api->Error_GetCode(&code));
    struct pjrt_Error_Message message = {.struct_size = sizeof message, .error = error};
    api->Error_Message(&message);
    assert_true(message.text_size > 0);
    assert_int_equal(strlen(message.text), message.text_size);
    struct pjrt_Error_Destroy destroy = {.struct_size = sizeof destroy, .error = error};
    api->Error_Destroy(&destroy);
    return code.code;
}

static inline void ok_at(struct pjrt_error *error, int line) {
    if (error)
        fail_msg("line %d: %s", line, error->text);
}
#define OK(call)            ok_at((call), __LINE__)
#define FAILS(status, call) assert_int_equal(code_of(call), (status))

static inline struct pjrt_client *client_with(const struct pjrt_named *options, size_t n) {
    ARGS(Client_Create, .create_options = options, .noptions = n);
    OK(api->Client_Create(&a));
    return a.client;
}

static inline void client_destroy(struct pjrt_client *c) {
    ARGS(Client_Destroy, .client = c);
    OK(api->Client_Destroy(&a));
}

static inline struct pjrt_named named_int(const char *name, int64_t value) {
    return (struct pjrt_named){.struct_size = sizeof(struct pjrt_named), .name = name, .name_size = strlen(name),
                               .type = PJRT_INT64, .int64_value = value, .value_size = 1};
}

static inline struct pjrt_named named_text(const char *name, const char *value) {
    return (struct pjrt_named){.struct_size = sizeof(struct pjrt_named), .name = name, .name_size = strlen(name),
                               .type = PJRT_STRING, .string_value = value, .value_size = strlen(value)};
}

static inline void event_destroy(struct pjrt_event *e) {
    ARGS(Event_Destroy, .event = e);
    OK(api->Event_Destroy(&a));
}

static inline int await(struct pjrt_event *e) {
    ARGS(Event_Await, .event = e);
    int code = code_of(api->Event_Await(&a));
    event_destroy(e);
    return code;
}

static inline struct pjrt_buffer *upload(struct pjrt_client *c, int dtype, const int64_t *dims, size_t rank, const void *data) {
    ARGS(Client_BufferFromHostBuffer, .client = c, .data = data, .dtype = dtype, .dims = dims, .rank = rank);
    OK(api->Client_BufferFromHostBuffer(&a));
    assert_int_equal(await(a.done), HILO_OK);
    return a.buffer;
}

static inline struct pjrt_buffer *floats(struct pjrt_client *c, int64_t n, const float *data) {
    return upload(c, HILO_F32, &n, 1, data);
}

static inline int download(struct pjrt_buffer *b, void *out, size_t n) {
    ARGS(Buffer_ToHostBuffer, .buffer = b, .dst = out, .dst_size = n);
    int code = code_of(api->Buffer_ToHostBuffer(&a));
    return code ? code : await(a.done);
}

static inline void buffer_destroy(struct pjrt_buffer *b) {
    ARGS(Buffer_Destroy, .buffer = b);
    OK(api->Buffer_Destroy(&a));
}

#define MAIN(args, results, body) "module @jit_f { func.func @main(" args ") -> (" results ") {\n" body "} }"
static inline struct pjrt_error *try_compile(struct pjrt_client *c, const char *text, const char *format, struct str options,
                                      struct pjrt_loaded **out) {
    struct pjrt_program p = {.struct_size = sizeof p, .code = (char *)(uintptr_t)text, .code_size = strlen(text),
                             .format = format, .format_size = strlen(format)};
    ARGS(Client_Compile, .client = c, .program = &p, .options = options.p, .options_size = options.n);
    struct pjrt_error *error = api->Client_Compile(&a);
    *out = a.executable;
    return error;
}

static inline struct pjrt_loaded *compile(struct pjrt_client *c, const char *text) {
    struct pjrt_loaded *l;
    OK(try_compile(c, text, "mlir", (struct str){NULL, 0}, &l));
    return l;
}

static inline void loaded_destroy(struct pjrt_loaded *l) {
    ARGS(LoadedExecutable_Destroy, .loaded = l);
    OK(api->LoadedExecutable_Destroy(&a));
}

/* Runs a program with one result on one device; the status of the call, else that of the run. Without success there is no
   result. */
static inline int run(struct pjrt_loaded *l, struct pjrt_buffer *const *in, size_t nin, struct pjrt_buffer **out) {
    struct pjrt_execute_options o = {.struct_size = sizeof o};
    struct pjrt_event *done = NULL;
    ARGS(LoadedExecutable_Execute, .loaded = l, .options = &o, .argument_lists = &in, .ndevices = 1, .nargs = nin,
         .output_lists = &out, .device_complete_events = &done);
    int code = code_of(api->LoadedExecutable_Execute(&a));
    if (code)
        return code;
    code = await(done);
    if (code)
        buffer_destroy(*out);
    return code;
}

#endif
