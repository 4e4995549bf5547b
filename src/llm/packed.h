/* Weights as GPTQ and AWQ pack them, converted to the layout of model.h.
 *
 * Both store the transposed matrix in 32-bit words, lowest bits first, and a number as (value - zero) * scale:
 *
 *   GPTQ   qweight [cols / n, rows]: n = 32 / bits neighbours of a row in a word · qzeros [groups, rows / n] ·
 *          scales [groups, rows] · g_idx [cols], the group of each column. 4 or 8 bits. Zeros are stored less one, but not
 *          in files whose config has `checkpoint_format` gptq_v2.
 *   AWQ    qweight [cols, rows / 8]: 8 neighbours of a column in a word, in the order 0 2 4 6 1 3 5 7 ·
 *          qzeros [groups, rows / 8], in that order too · scales [groups, rows]. 4 bits, the version `gemm`.
 *
 * The conversion is exact. If every zero point is the middle (symmetric quantisation), the middle is subtracted from the values
 * and the scales are kept; else values and scales are kept, with offsets -zero * scale in f32. Only where g_idx scatters the
 * columns of a group over the row (`desc_act`) there is no such layout: then the dequantised numbers are kept, in f16, as that
 * project computes them.
 *
 * Sources: github.com/AutoGPTQ/AutoGPTQ (nn_modules/qlinear), github.com/casper-hansen/AutoAWQ (modules/linear/gemm.py). */
#ifndef HILO_LLM_PACKED_H
#define HILO_LLM_PACKED_H

#include "llm/config.h"
#include "llm/tensors.h"

struct llm_packed {
    enum llm_layout layout;
    uint32_t bits;
    int64_t rows, cols, groups;
    const struct llm_tensor *values, *zeros, *scales, *order; /* values NULL: not packed; order NULL: g_idx is absent */
    bool symmetric;    /* every zero point is the middle */
    bool scattered; /* by g_idx */
};

/* Finds the matrix `base`, such as "model.layers.0.mlp.up_proj", of the given shape; out->values is NULL if there is no
   base.qweight. An error names the tensor that does not fit. */
hilo_status llm_packed_find(const struct llm_tensors *files, const struct llm_config *c, const char *base, int64_t rows,
                            int64_t cols, struct diag_list *d, struct llm_packed *out);

/* Converts rows 8 * begin to 8 * end - 1. The outputs are those of the whole matrix: values of `bits` each; scales [rows,
   groups] of their stored type; offsets f32[rows, groups], unless `symmetric`. */
void llm_packed_rows(const struct llm_packed *p, int64_t begin, int64_t end, void *values, void *scales, float *offsets);
/* Dequantises a `scattered` matrix: f16[rows, cols]. */
void llm_packed_numbers(const struct llm_packed *p, int64_t begin, int64_t end, uint16_t *out);

#endif
