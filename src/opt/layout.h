/* Layout assignment: what the pass `layout` consists of. layout.c rewrites the program, layout_class.c chooses the layouts,
 * layout_op.c knows what ops do with them, layout_split.c removes reshapes that are in the way.
 *
 * The layout of a tensor is the order of its dimensions in memory, from the one of the largest stride on: with {0, 2, 3, 1} an
 * NCHW tensor is in memory as NHWC. The program has no such attribute; a value that gets a layout other than {0, 1, 2, …}
 * becomes the transpose of what it was. So every backend sees the decision, and a layout in blocks would be a reshape beside
 * the transpose, in type_in and in_layout (layout.c). */
#ifndef HILO_OPT_LAYOUT_H
#define HILO_OPT_LAYOUT_H

#include "opt/rewrite.h"
#include "target/target.h"

/* The number of a layout; 0 is the one of the type, of any rank. */
typedef uint32_t layout_id;
enum { LAYOUT_NONE = UINT32_MAX };

/* What an op does with layouts. */
enum layout_role {
    LAYOUT_FIXED, /* operands and results have those of their types */
    LAYOUT_FREE,  /* its result is made in any layout: a constant, iota, or broadcast of a vector */
    LAYOUT_SAME,  /* operands of the rank of the results have the layout of the results */
    LAYOUT_VIEW,  /* the layout of the results follows from that of the operands: layout_forward */
    LAYOUT_CONV,  /* a convolution: any layouts, of which some are faster */
    LAYOUT_PASS   /* results, and arguments and results of regions, have the layouts of operands: loops, branches, barriers */
};

/* Values that have one layout. */
struct layout_class {
    uint32_t up; /* the class that it was merged into; itself */
    uint32_t rank;
    layout_id layout;
    uint32_t wants, links; /* first of each list; 0 = none */
    uint32_t move;         /* the last move of several classes that it was a part of */
    double ns;             /* that may be at stake */
};

struct layout {
    struct opt *o;
    struct target target;
    struct opt_ids class_of; /* by value: its class; none = the layout of the type */
    struct opt_ids seen;     /* by value: the class that its cost is a part of */
    double times;            /* that the block runs whose ops are looked at */
    uint32_t moves;
    uint64_t work;           /* that is left for moves of several classes */
    /* By value of the program, once its op was rewritten: its layout; what it is now, if that is another value; and what it is
       in one other layout. */
    struct opt_ids layout, now, cached, cached_layout;
    struct { ir_val *v; uint32_t n, cap; } retyped;                /* values that have other types in the end */
    struct { struct layout_class *v; uint32_t n, cap; } classes;   /* from 1 */
    struct { struct layout_order { uint32_t rank; const int64_t *at; } *v; uint32_t n, cap; } orders; /* by layout */
    struct { struct layout_want *v; uint32_t n, cap; } wants;      /* from 1 */
    struct { struct layout_link *v; uint32_t n, cap; } links;      /* from 1 */
};

/* ---- layouts (layout_class.c) ------------------------------------------------------------------ */

/* The number of an order of `rank` dimensions; LAYOUT_NONE when there are too many. */
layout_id layout_number(struct layout *l, const int64_t *order, uint32_t rank);
/* Writes the order of a layout. */
void layout_order(const struct layout *l, layout_id layout, uint32_t rank, int64_t *order);
/* Whether the elements of a tensor are at the same places in both: they differ in dimensions of size 1 at most. `t`: its type
   in the program. */
bool layout_alike(const struct layout *l, const struct ir_type_data *t, layout_id a, layout_id b);

/* Finds the classes and what they cost; again if the program was changed since. */
void layout_find(struct layout *l);
/* Chooses the layouts of all classes. */
void layout_choose(struct layout *l);
/* The class of a value; 0 = none. */
uint32_t layout_class_of(struct layout *l, ir_val v);
/* The next class that an op of that kind leads to or from; *link is 0 at first. False at the end. */
bool layout_neighbour(const struct layout *l, uint32_t class, enum ir_op_kind kind, uint32_t *link, uint32_t *to);
/* The layout that was chosen for a value; 0 where there is no choice. */
layout_id layout_chosen(const struct layout *l, ir_val v);

/* ---- ops (layout_op.c) --------------------------------------------------------------------------- */

enum layout_role layout_role(const struct ir_module *m, ir_op op);
/* A tensor of two dimensions and more of known sizes, whose type says nothing else of its dimensions. */
bool layout_plain(const struct ir_module *m, ir_val v);
/* The value is made by an op of role LAYOUT_FREE. */
bool layout_is_free(const struct ir_module *m, ir_val v);

/* LAYOUT_SAME, FREE: rewrites the attributes and indices for operands and results in that order. */
void layout_permute(struct ir_module *m, ir_op op, const int64_t *order);
/* LAYOUT_SAME, VIEW (reductions): whether the op combines elements in an order that the result depends on, and which another
   layout would change. */
bool layout_reorders(const struct ir_module *m, ir_op op, const int64_t *order);

/* LAYOUT_VIEW: the order of the results for operands in order `from`, such that nothing is moved, and the other way about.
   False when there is none, or more than one (backward). */
bool layout_forward(const struct ir_module *m, ir_op op, const int64_t *from, int64_t *to);
bool layout_backward(const struct ir_module *m, ir_op op, const int64_t *to, int64_t *from);

/* LAYOUT_CONV: whether operand 0 or 1, or the result (2), is fast in that order; the order to bring it into when it is not. */
bool layout_conv_fits(const struct ir_module *m, ir_op op, uint32_t which, const int64_t *order);
void layout_conv_order(const struct ir_module *m, ir_op op, uint32_t which, int64_t *order);
/* Whether a convolution multiplies the planes of one image by a matrix: its window has one place, and the places of an image,
   of which strides and negative padding may leave some, are contiguous and fill some vectors: `vector_bytes`
   places are four of f32. */
bool layout_multiplies_planes(const struct ir_module *m, const struct target *t, ir_op op);
/* Sets the dimension numbers of one of them that had the layout of its type and is in `order` now. */
void layout_conv_set(struct ir_module *m, ir_op op, uint32_t which, const int64_t *order);

/* ---- merged dimensions (layout_split.c) ----------------------------------------------------------- */

/* Splits dimensions of classes that reshapes lead to from convolutions, so that the reshapes allow layouts. True when the
   program was changed. */
bool layout_split(struct layout *l);

/* ---- costs, in ns of a thread (layout_op.c) ------------------------------------------------------- */

double layout_transpose_ns(const struct ir_module *m, const struct target *t, ir_val v);
/* What a convolution takes longer when operand `which`, or the result (2), is in another order than the fastest. */
double layout_conv_ns(const struct ir_module *m, const struct target *t, ir_op op, uint32_t which);

#endif
