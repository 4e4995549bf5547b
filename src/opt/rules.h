/* Passes that are sets of rules (rules.def). A rule looks at an op and what defines its operands, and returns false, or changes
 * the op in place or replaces it by values, old or made before it, and returns true. The ops that it makes are visited next. */
#ifndef HILO_OPT_RULES_H
#define HILO_OPT_RULES_H

#include "opt/rewrite.h"

struct rules {
    struct opt *o;
    struct ir_module *m;
    struct opt_map map;
    uint16_t first[IR_OP_COUNT]; /* by root: 1 + the first rule of the set */
    uint16_t *next;              /* by rule: 1 + the next one of its root */
    uint64_t fuel;               /* rules may still apply as often: a bound should two undo each other */
};

typedef bool opt_rule(struct rules *r, ir_op op);
#define RULE(pass, name, root, class, text) opt_rule opt_rule_##name;
#include "opt/rules.def"

/* Goes through the module with the rules of a pass. */
hilo_status opt_rules(struct opt *o, enum opt_pass_id set);

/* ---- looking --------------------------------------------------------------------------------- */

static inline ir_val rules_in(const struct rules *r, ir_op op, uint32_t i) { return ir_operand(r->m, op, i); }
static inline ir_type rules_type(const struct rules *r, ir_val v) { return ir_val_get(r->m, v)->type; }
/* Of result 0. */
static inline ir_type rules_result(const struct rules *r, ir_op op) { return rules_type(r, ir_result(r->m, op, 0)); }
static inline const struct ir_type_data *rules_shape(const struct rules *r, ir_val v) { return ir_val_type(r->m, v); }
/* Known sizes in all dimensions, and how many elements that is. */
bool rules_static(const struct rules *r, ir_val v);
/* The op of this kind that the value is a result of; none when it is something else's. */
ir_op rules_def(const struct rules *r, ir_val v, enum ir_op_kind kind);
bool rules_is_integer(const struct rules *r, ir_val v);   /* or i1 */
bool rules_is_float(const struct rules *r, ir_val v);

/* The constant that the value is; NULL for anything else. */
const struct ir_attr_data *rules_constant(const struct rules *r, ir_val v);
/* The integer that all elements of a constant are. */
bool rules_integer(const struct rules *r, ir_val v, int64_t *out);
/* The floating-point number that all elements of a constant are. */
bool rules_float(const struct rules *r, ir_val v, double *out);
/* The n elements of a constant of integers. */
bool rules_integers(const struct rules *r, ir_val v, int64_t *out, size_t n);
/* The one op of a reduction's body of two scalars, which commutes and is associative but for rounding; IR_OP_NONE for any
   other body. Of integers, booleans or floats. */
enum ir_op_kind rules_reducer(const struct rules *r, ir_op reduce);
/* All elements of a constant are this number. */
enum rules_number { RULES_ZERO, RULES_MINUS_ZERO, RULES_ONE, RULES_TWO, RULES_ONES, RULES_LEAST, RULES_GREATEST };
bool rules_is(const struct rules *r, ir_val v, enum rules_number what);

/* ---- changing -------------------------------------------------------------------------------- */

/* Replaces the op by a value, if it has the type of its result. */
bool rules_become(struct rules *r, ir_op op, ir_val v);
/* Replaces the op by a new one, made before it, with the same type of result, whose attributes are to be set. */
ir_op rules_become_op(struct rules *r, ir_op op, enum ir_op_kind kind, const ir_val *operands, uint32_t n);
/* Replaces the op by a new one, made before it, with as many results, whose types say more: casts lead back to the old ones. */
void rules_cast(struct rules *r, ir_op op, ir_op fresh);
/* Replaces the op by a constant of this element (of its type, at `elem`); false when its shape is not known. */
bool rules_become_splat(struct rules *r, ir_op op, const void *elem);
/* By zeros, false, or what has no bit set. */
bool rules_become_zero(struct rules *r, ir_op op);

/* Makes an op before `at`, with its location and without attributes. */
ir_op rules_make(struct rules *r, ir_op at, enum ir_op_kind kind, const ir_val *operands, uint32_t n, ir_type result);
/* A reduction of in[0] from in[1] by one op of two scalars; its dimensions are to be set. */
ir_op rules_make_reduce(struct rules *r, ir_op at, enum ir_op_kind kind, const ir_val in[2], ir_type result);
/* The result of a new constant with equal elements, before `at`; of a type with known sizes. */
ir_val rules_make_splat(struct rules *r, ir_op at, ir_type type, const void *elem);
/* The same for floats, rounded to the type. */
ir_val rules_make_float(struct rules *r, ir_op at, ir_type type, double v);

#endif
