/* libFuzzer target: any bytes, read as a safetensors file, are read or refused, and every tensor is within them. */
#include "llm/tensors.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t nbytes);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t nbytes) {
    struct llm_tensors t;
    struct diag_list d;
    diag_init(&d, mem_system_allocator());
    hilo_status status = llm_tensors_parse((struct str){(const char *)bytes, nbytes}, "fuzz", d.al, &d, &t);
    if (status == HILO_OK)
        for (size_t i = 0; i < t.n; i++) {
            const uint8_t *data = t.v[i].data;
            if (data < bytes || data + t.v[i].bytes > bytes + nbytes || llm_tensors_find(&t, t.v[i].name.p) != &t.v[i])
                abort();
        }
    else if (!d.first)
        abort();
    llm_tensors_close(&t);
    diag_clear(&d);
    return 0;
}
