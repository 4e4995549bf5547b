/* libFuzzer target: any bytes, read as what a framework hands the PJRT plugin beside programs: compile options, a device
 * assignment, a topology. They are read or refused, and nothing leaks. */
#include "pjrt/pjrt.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t nbytes);

static void read_options(struct str s) {
    const struct pjrt_client_options defaults = {.devices = 1, .level = 2};
    struct pjrt_compile_options o;
    struct pjrt_error *error = pjrt_compile_options_read(s, &defaults, &o);
    if (!error && (o.nreplicas < 1 || o.npartitions < 1 || o.nreplicas * o.npartitions > PJRT_MOST_DEVICES))
        abort();
    if (!error && o.assignment.n) {
        int ids[PJRT_MOST_DEVICES];
        error = pjrt_assignment_read(o.assignment, o.nreplicas, o.npartitions, ids);
    }
    pjrt_error_free(error);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t nbytes) {
    struct str s = {(const char *)bytes, nbytes};
    int ids[6];
    read_options(s);
    pjrt_error_free(pjrt_assignment_read(s, 3, 2, ids));
    struct pjrt_TopologyDescription_Deserialize t = {.struct_size = sizeof t, .bytes = s.p, .nbytes = s.n};
    pjrt_error_free(pjrt_TopologyDescription_Deserialize(&t));
    struct pjrt_TopologyDescription_Destroy d = {.struct_size = sizeof d, .topology = t.topology};
    pjrt_TopologyDescription_Destroy(&d);
    struct pjrt_named named = {.struct_size = sizeof named, .name = s.p, .name_size = s.n, .type = PJRT_STRING,
                               .string_value = s.p, .value_size = s.n};
    struct pjrt_client_options o;
    pjrt_error_free(pjrt_client_options_read(&named, 1, &o));
    return 0;
}
