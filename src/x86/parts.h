/* What the files that build values share. */
#ifndef HILO_X86_PARTS_H
#define HILO_X86_PARTS_H

#include "x86/x86.h"

/* q = (n - t >> first) + t >> second, with t = the upper half of n · multiplier; signed: n + t >> second, less the sign of n.
 */
struct x86_magic {
    uint64_t multiplier;
    uint32_t first, second;
};
struct x86_magic x86_magic_unsigned(uint64_t d, uint32_t bits);
struct x86_magic x86_magic_signed(int64_t d, uint32_t bits);

struct x86_value *x86_fold_binary(struct x86_module *m, enum x86_binary op, struct x86_value *a, struct x86_value *b);
struct x86_value *x86_fold_compare(struct x86_module *m, int predicate, struct x86_value *a, struct x86_value *b);
struct x86_value *x86_fold_neutral(enum x86_binary op, struct x86_value *a, struct x86_value *b);
struct x86_value *x86_scalar_binary(struct x86_module *m, enum x86_binary op, struct x86_value *a, struct x86_value *b);
struct x86_value *x86_scalar_compare(struct x86_module *m, int predicate, struct x86_value *a, struct x86_value *b);
struct x86_value *x86_scalar_select(struct x86_module *m, struct x86_value *c, struct x86_value *a, struct x86_value *b);
struct x86_value *x86_wide_binary(struct x86_module *m, enum x86_binary op, struct x86_value *a, struct x86_value *b);
struct x86_value *x86_wide_trunc(struct x86_module *m, struct x86_value *v, struct x86_type *to);
/* The type with integers of so many bits in its lanes. */
struct x86_type *x86_ints_like(struct x86_module *m, const struct x86_type *t, uint32_t bits);
/* A value with the parts of another, cut anew. */
struct x86_value *x86_as(struct x86_module *m, struct x86_value *v, struct x86_type *t);
/* One condition for all lanes, as a mask of all. */
struct x86_value *x86_spread(struct x86_module *m, struct x86_value *c, uint32_t lanes);
/* A value of `t` with room for its parts. */
struct x86_value *x86_new_parts(struct x86_module *m, struct x86_type *t, uint8_t *size);

#endif
