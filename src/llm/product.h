/* Products of rows with a model's matrices, in StableHLO. Why they are what they are: docs/adr/0006-low-precision.md. */
#ifndef HILO_LLM_PRODUCT_H
#define HILO_LLM_PRODUCT_H

#include "llm/build.h"
#include "llm/model.h"

/* f32[rows, cols] of a quantised matrix, or of some of its rows: `parts` are values, scales and offsets (any value without). */
ir_val product_dequantise(struct build *b, const struct llm_weight *w, const ir_val parts[3]);

/* x f32[n, cols] times the transposed matrix: f32[n, rows]. A plain matrix meets inputs of that type; so does a quantised one
   where they are few, or the type is f32. Else both are rounded to integers: rows of x of 16 bits, the matrix of 8. */
ir_val product_of(struct build *b, ir_val x, const struct llm_weight *w, const ir_val parts[3], enum ir_dtype type);

#endif
