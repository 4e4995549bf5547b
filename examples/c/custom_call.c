/* Implements a custom_call: a program's call of @example.clip runs the function clip below.  make && ./custom_call */
#define HILO_EXPERIMENTAL /* custom calls may change in any release */
#include <hilo.h>
#include <stdio.h>
#include <string.h>

static const char program[] =
    "func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {\n"
    "  %0 = stablehlo.add %x, %x : tensor<4xf32>\n"
    "  %1 = stablehlo.custom_call @example.clip(%0) : (tensor<4xf32>) -> tensor<4xf32>\n"
    "  return %1 : tensor<4xf32>\n"
    "}\n";

/* Inputs are borrowed; the output is a new buffer. Any thread that executes may call it. */
static hilo_status clip(void *user, hilo_client *client, hilo_buffer *const *inputs, size_t ninputs, hilo_buffer **outputs,
                        size_t noutputs) {
    const float limit = *(const float *)user;
    if (ninputs != 1 || noutputs != 1 || hilo_buffer_dtype(inputs[0]) != HILO_F32)
        return HILO_INVALID_ARGUMENT;
    hilo_status status = hilo_buffer_create(client, HILO_F32, hilo_buffer_dims(inputs[0]), hilo_buffer_rank(inputs[0]),
                                            &outputs[0]);
    if (status != HILO_OK)
        return status;
    const float *x = hilo_buffer_data(inputs[0]);
    float *y = hilo_buffer_data(outputs[0]);
    for (size_t i = 0; i < hilo_buffer_bytes(inputs[0]) / sizeof *x; i++)
        y[i] = x[i] > limit ? limit : x[i] < -limit ? -limit : x[i];
    return HILO_OK;
}

int main(void) {
    float limit = 5;
    const float x[4] = {1, 2, 3, -4};
    const int64_t dims[1] = {4};
    hilo_client *client = NULL;
    hilo_module *module = NULL;
    hilo_executable *exe = NULL;
    hilo_buffer *in = NULL, *out = NULL;
    hilo_status status = hilo_client_create(NULL, &client);
    if (status == HILO_OK)
        status = hilo_custom_call_register(client, "example.clip", clip, &limit);
    if (status == HILO_OK)
        status = hilo_module_parse(client, program, strlen(program), NULL, &module);
    if (status == HILO_OK)
        status = hilo_compile(client, module, NULL, &exe);
    if (status == HILO_OK)
        status = hilo_buffer_from_host(client, HILO_F32, dims, 1, x, NULL, &in);
    if (status == HILO_OK)
        status = hilo_execute(exe, NULL, &in, 1, &out, 1);
    if (status == HILO_OK) {
        const float *y = hilo_buffer_data(out);
        printf("%g %g %g %g\n", (double)y[0], (double)y[1], (double)y[2], (double)y[3]);
    } else {
        hilo_diagnostics_write(client, 1, hilo_write_stderr, NULL);
    }
    hilo_buffer_release(out), hilo_buffer_release(in), hilo_executable_release(exe), hilo_module_release(module);
    hilo_client_release(client);
    return status != HILO_OK;
}
