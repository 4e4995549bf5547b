/* libFuzzer target: any bytes, read as the file of a machine, are read or refused with a message, and what was read has the
 * rates that costs divide by. */
#include "target/machine.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t nbytes);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t nbytes) {
    struct diag_list d;
    struct machine m;
    diag_init(&d, mem_system_allocator());
    if (machine_read((struct str){(const char *)bytes, nbytes}, "file", &d, &m) != HILO_OK) {
        if (!d.first)
            abort();
    } else if (!(m.processor.memory_rate > 0 && m.processor.compute_rate > 0 && m.device.memory_rate > 0 &&
                 m.device.compute_rate > 0 && m.link_rate >= 0 && m.device_bytes >= 0) ||
               !memchr(m.gpu, 0, sizeof m.gpu) || !*m.gpu) {
        abort();
    }
    diag_clear(&d);
    return 0;
}
