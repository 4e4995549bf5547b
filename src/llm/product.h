/* Products of rows with a model's matrices, in StableHLO. The reasons are in docs/adr/0006-low-precision.md. */
#ifndef HILO_LLM_PRODUCT_H
#define HILO_LLM_PRODUCT_H

#include "llm/build.h"
#include "llm/model.h"

/* Dequantises a matrix, or some of its rows, to f32[rows, cols]: `parts` are values, scales and offsets (ignored if it has
   none). */
ir_val product_dequantise(struct build *b, const struct llm_weight *w, const ir_val parts[3]);

/* x f32[n, cols] as few rows are multiplied by a matrix of 4 bits: in each of its groups of columns integers of 16 bits times a
   scale. Their products take fewer instructions than those of f32 (lower/matvec.c). */
ir_val product_round(struct build *b, ir_val x, const struct llm_weight *w);

/* x f32[n, cols] times the transposed matrix: f32[n, rows]. With a plain matrix the inputs are converted to `type`; likewise
   with a quantised one if the rows are few or the type is f32. Else both are rounded to integers: rows of x to 16 bits, the
   matrix to 8. */
ir_val product_of(struct build *b, ir_val x, const struct llm_weight *w, const ir_val parts[3], enum ir_dtype type);

#endif
