/* Products of rows with a model's matrices, in StableHLO. The reasons are in docs/adr/0006-low-precision.md. */
#ifndef HILO_LLM_PRODUCT_H
#define HILO_LLM_PRODUCT_H

#include "llm/build.h"
#include "llm/model.h"

/* Dequantises a matrix, or some of its rows, to f32[rows, cols]: `parts` are values, scales and offsets (ignored if it has
   none). */
ir_val product_dequantise(struct build *b, const struct llm_weight *w, const ir_val parts[LLM_PARTS]);

/* x f32[n, cols] times the transposed matrix: f32[n, rows].
 *   plain           the inputs are converted to `type`
 *   8 bits by row   as plain ones if the type is f32; else rows of x are rounded to integers of 16 bits with a scale each
 *   in groups       rows are rounded to integers of 8 bits, with a scale for each group of columns; with `prompts_by_row`
 *                   those of prompts, and the matrix, as with 8 bits by row
 * Integers of 16 bits are multiplied as two of 8, or with `prompts_in_words` as such; the sums are exact, so that the bits are
 * the same.
 * A model of f32 rounds nothing, nor do products in groups without `rounds`. */
ir_val product_of(struct build *b, ir_val x, const struct llm_model *model, const struct llm_weight *w,
                  const ir_val parts[LLM_PARTS], enum ir_dtype type, bool rounds);

#endif
