/* The GPU of a client. A value on it has `device` set; its data is an address that the host neither reads nor writes. */
#ifndef HILO_RUNTIME_DEVICE_H
#define HILO_RUNTIME_DEVICE_H

#include "gpu/gpu.h"
#include "runtime/runtime.h"

/* Opens what the options of a client name: "gpu", "gpu:1"; nothing for "cpu". */
hilo_status rt_device_open(hilo_client *client, const char *device, struct diag_list *d);

/* A tensor on the device with undefined contents; RESOURCE_EXHAUSTED says that it was for `what`. */
hilo_status rt_device_tensor(hilo_client *client, enum ir_dtype t, const int64_t *dims, uint32_t rank, const char *what,
                             struct diag_list *d, struct value **out);
/* A copy on the device of a tensor of the host, enqueued; one on the host of a tensor of the device, which is waited for. */
hilo_status rt_device_put(hilo_client *client, const struct value *v, const char *what, struct diag_list *d,
                          struct value **out);
hilo_status rt_device_get(hilo_client *client, const struct value *v, struct diag_list *d, struct value **out);

/* Sees to it that a buffer has its device form, or its host form, if it was not donated. */
hilo_status rt_buffer_form(hilo_buffer *b, bool device, struct diag_list *d);

/* Whether a client's device runs code for a GPU of this name; FAILED_PRECONDITION says why not. */
hilo_status rt_device_check(const hilo_client *client, const char *cpu, struct diag_list *d);
/* Loads an executable's code, cubins or PTX, and finds its kernels; where the client's device cannot run it, exe->foreign
   says so. */
hilo_status rt_device_link(hilo_executable *exe, struct diag_list *d);
/* Copies the plan's constants. */
hilo_status rt_device_constants(hilo_executable *exe, struct diag_list *d);

/* A run of an executable begins, which may be timed unless it is the first with its memory or its steps are observed; returns
   whether it is: then it waits for the device before its end is told. One run is timed, during which there is no other. */
bool rt_guard_begin(hilo_executable *exe, bool may_time);
/* It has ended, after so long. A program whose timed run took longer than one side alone was expected to take is not divided
   again. */
void rt_guard_end(hilo_executable *exe, bool timed, hilo_status status, double ms);

/* Memory of the device, or the client's. */
hilo_status rt_memory_alloc(hilo_client *client, bool device, size_t bytes, const char *what, struct diag_list *d, void **out);
void rt_memory_free(hilo_client *client, bool device, void *p, size_t bytes);

#endif
