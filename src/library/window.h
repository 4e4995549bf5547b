/* Windows that slide over a tensor, for reduce_window and select_and_scatter.
 *
 * Rows go along the last dimension; a window of more than one element in it is that many taps into the row. Neighbouring
 * dimensions in which windows are single elements are made one, so that channels, the innermost, are long rows. */
#ifndef HILO_LIBRARY_WINDOW_H
#define HILO_LIBRARY_WINDOW_H

#include "library/routine.h"

enum { WINDOW_MOST_RANK = 7 };

struct window {
    uint32_t rank; /* at least 1 */
    struct window_dim {
        int64_t in, out, size, stride, low, base, dilation; /* base: dilation of the input */
    } dim[WINDOW_MOST_RANK];
    int64_t strides[WINDOW_MOST_RANK]; /* of the input, in elements */
    size_t rows, length;               /* of the result */
};

/* The window of an op on `in` with results of shape `out`; false when it has too many dimensions or too large a span. */
struct window_slots {
    enum ir_slot size, stride, padding, base, dilation; /* the last two: IR_SLOT_NONE where the op has none */
};
bool window_match(const struct ir_module *m, ir_op op, const struct window_slots *s, const struct ir_type_data *in,
                  const struct ir_type_data *out, struct window *w);
bool window_put(struct lib_match *out, const struct window *w);
bool window_get(struct lib_reader *r, struct window *w);

/* Elements of the input, and of the result. */
size_t window_in(const struct window *w);
size_t window_out(const struct window *w);

/* Each element is a window of its own. */
bool window_is_elements(const struct window_dim *d);

/* The outer taps of a row, in order: those of all dimensions but the last. */
struct window_taps {
    const struct window *w;
    int64_t o[WINDOW_MOST_RANK], k[WINDOW_MOST_RANK];
    bool inside;    /* the tap is on elements of the input */
    int64_t offset; /* of the first of them, in elements */
    bool more;
};
struct window_taps window_row(const struct window *w, size_t row); /* before the first tap */
bool window_next(struct window_taps *t);                           /* false after the last one */

/* The positions of the last dimension whose tap k is on elements: `count` of them from `first` on, `period` apart (a dilated
   input has holes); their elements from `at` on, `advance` apart. */
struct window_span {
    size_t first, count, period, advance;
    int64_t at;
};
struct window_span window_span(const struct window *w, int64_t k);

#endif
