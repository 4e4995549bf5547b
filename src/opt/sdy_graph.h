/* A module while shardings are propagated through it: uses of values, shardings of values, data flow edges, rules.
 *
 * Propagation revisits ops in an order that follows from lists of uses, and where shardings conflict its result depends on that
 * order. So lists of uses are kept as MLIR keeps them, the newest use first, and every change of an operand goes through here.
 * Shardings are decoded when the graph is made and encoded at its end. Memory: the pass's scratch arena. */
#ifndef HILO_OPT_SDY_GRAPH_H
#define HILO_OPT_SDY_GRAPH_H

#include "opt/rewrite.h"
#include "opt/sdy_factor.h"
#include "opt/sdy_rule.h"

struct sdy_use {
    ir_op op;
    uint32_t index, next;   /* next: 1 + its place in the pool */
};

struct sdy_ops {
    ir_op *v;
    uint32_t n, cap;
};

struct sdy_graph {
    struct opt *o;
    struct ir_module *m;
    struct sdy sdy;
    ir_op entry;
    struct opt_ids uses;                                                       /* by value: 1 + its first use */
    struct { struct sdy_use *v; uint32_t n, cap; } pool;
    struct opt_ids at;                                                         /* by value: 1 + its sharding */
    struct { const struct sdy_sharding **v; uint32_t n, cap; } shardings;
    const struct sdy_sharding **results;                                       /* of the entry function */
    struct opt_ids rule_at;                                                    /* by op: 1 + its rule */
    struct { const struct sdy_rule **v; uint32_t n, cap; } rules;
    struct opt_ids manual_at;                                                  /* by op: 1 + its manual axes */
    struct { struct sdy_manual { const struct str *names; uint32_t n; } *v; uint32_t n, cap; } manual;
};

/* Reads all shardings. UNIMPLEMENTED for modules without an entry function. */
hilo_status sdy_graph_begin(struct sdy_graph *g, struct opt *o);
/* Writes them. */
void sdy_graph_end(struct sdy_graph *g);

/* ---- ops and uses ---------------------------------------------------------------------------- */

/* All ops inside of an op: an op before or after what is in its regions. */
void sdy_walk(struct sdy_graph *g, ir_op root, bool post, struct sdy_ops *out);
/* The first use of a value; NULL when there is none. */
const struct sdy_use *sdy_first_use(const struct sdy_graph *g, ir_val v);
const struct sdy_use *sdy_next_use(const struct sdy_graph *g, const struct sdy_use *u);
bool sdy_has_one_use(const struct sdy_graph *g, ir_val v);
/* Notes the operands of a new op, and of what is in it, as uses. */
void sdy_add_uses(struct sdy_graph *g, ir_op op);
void sdy_set_operand(struct sdy_graph *g, ir_op op, uint32_t index, ir_val v);
/* Every use but those by `except` (none: all) become uses of `to`. */
void sdy_replace_uses(struct sdy_graph *g, ir_val from, ir_val to, ir_op except);
/* Takes an op, without uses, out of the module. */
void sdy_erase(struct sdy_graph *g, ir_op op);
/* Inserts behind the definition of a value. */
void sdy_insert_after(struct sdy_graph *g, ir_val v, ir_op op);
/* The op whose result, or the argument of whose block, it is. */
ir_op sdy_owner(const struct sdy_graph *g, ir_val v);
bool sdy_is_scalar(const struct sdy_graph *g, ir_val v);
bool sdy_is_static(const struct sdy_graph *g, ir_val v);
/* It, with what is inside, has no effect but its results. */
bool sdy_has_no_effect(const struct sdy_graph *g, ir_op op);

/* As the schedule of propagation sees it: constraints, barriers and reshards, too. */
bool sdy_is_elementwise(const struct sdy_graph *g, ir_op op);

/* ---- shardings ------------------------------------------------------------------------------- */

/* Of a value: that of its data flow edge, where it has one; without the manual axes of a manual computation inside of it. NULL
   when there is none. */
const struct sdy_sharding *sdy_get(struct sdy_graph *g, ir_val v);
/* The other values of the op that have none become open, as Shardy's attributes are of all values or of none. */
void sdy_set(struct sdy_graph *g, ir_val v, const struct sdy_sharding *s);
/* Of the value itself, as it is written: NULL = none. */
const struct sdy_sharding *sdy_raw(const struct sdy_graph *g, ir_val v);
void sdy_set_raw(struct sdy_graph *g, ir_val v, const struct sdy_sharding *s);
/* The value that has a sharding for this one; none where it cannot have any. */
ir_val sdy_holder(const struct sdy_graph *g, ir_val v);
const struct sdy_rule *sdy_rule(struct sdy_graph *g, ir_op op);

/* The dictionary with another value of an entry; none removes it. */
ir_attr sdy_dict_with(struct sdy_graph *g, ir_attr dict, struct str name, ir_attr value);

/* The sharding inside of a manual computation, and one from outside with other free axes. */
const struct sdy_manual *sdy_manual_axes(const struct sdy_graph *g, ir_op op);
const struct sdy_sharding *sdy_without_manual(struct sdy_graph *g, const struct sdy_sharding *s, const struct sdy_manual *m);
const struct sdy_sharding *sdy_with_free(struct sdy_graph *g, const struct sdy_sharding *outer,
                                         const struct sdy_sharding *inner, const struct sdy_manual *m);

/* ---- data flow edges ------------------------------------------------------------------------- */

/* Sources and targets that are sharded alike: operands of a loop, what its body returns, its arguments and results. The
   owner of an edge is one of its targets, and the op sdy.data_flow_edge its only use. */
bool sdy_is_data_flow(enum ir_op_kind kind);
/* Whether the arguments of the op's blocks are owners of edges, not its results. */
bool sdy_owns_arguments(enum ir_op_kind kind);
/* The edge that a value is a target of; none when there is none. */
ir_op sdy_edge_of_target(const struct sdy_graph *g, ir_val v);
/* The edge that is visited again when an operand, which is a source of it, gets another sharding. */
ir_op sdy_edge_of_source(const struct sdy_graph *g, ir_op op, uint32_t index);
/* The sources of an edge, in order. */
void sdy_edge_sources(struct sdy_graph *g, ir_op edge, ir_val *out, uint32_t *n);
/* How many sources an edge of the op can have. */
uint32_t sdy_edge_room(const struct sdy_graph *g, ir_op edge);

/* ---- stages ---------------------------------------------------------------------------------- */

hilo_status sdy_import(struct sdy_graph *g);
hilo_status sdy_propagate(struct sdy_graph *g, enum sdy_strategy strategy, bool op_priorities, bool user_priorities);
hilo_status sdy_export(struct sdy_graph *g);
/* Whether shardings can be propagated: all values have known sizes, and none is a tuple. */
bool sdy_can_propagate(const struct sdy_graph *g);
/* Finds the rules of all ops, so that types may change after. */
void sdy_note_rules(struct sdy_graph *g);

#endif
