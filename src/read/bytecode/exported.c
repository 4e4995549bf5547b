/* What jax.export serialises: a FlatBuffer around a portable artifact (flatbuffers.dev, "FlatBuffer Binary Format"; the table
 * `Exported` of JAX's serialization.fbs, of which one field counts here). */
#include "read/bytecode/bytecode.h"

enum { FIELD_MLIR_MODULE = 13 }; /* number of mlir_module_serialized; fields are never renumbered */

/* A little-endian number of `size` bytes at `at`, and where it ends. */
static bool flat_number(struct str file, size_t at, size_t size, size_t *out) {
    if (at > file.n || file.n - at < size)
        return false;
    *out = 0;
    for (size_t i = size; i-- > 0;)
        *out = *out << 8 | (uint8_t)file.p[at + i];
    return true;
}

/* The place that the offset at `at` leads to. */
static bool flat_follow(struct str file, size_t at, size_t *out) {
    size_t offset;
    if (!flat_number(file, at, 4, &offset) || offset == 0 || offset > file.n - at)
        return false;
    *out = at + offset;
    return true;
}

bool read_is_exported(struct str file, struct str *artifact) {
    size_t table, back, vtable, vbytes, field, vector, n;
    if (!flat_follow(file, 0, &table) || !flat_number(file, table, 4, &back) || back == 0 || back > table)
        return false;
    vtable = table - back;
    if (!flat_number(file, vtable, 2, &vbytes) || vbytes < 2 * (2 + FIELD_MLIR_MODULE + 1) ||
        !flat_number(file, vtable + 2 * (2 + FIELD_MLIR_MODULE), 2, &field) || field == 0 ||
        !flat_follow(file, table + field, &vector) || !flat_number(file, vector, 4, &n) || n > file.n - vector - 4)
        return false;
    *artifact = (struct str){file.p + vector + 4, n};
    return read_is_bytecode(*artifact);
}
