/* Experts as gpt-oss stores them: gates and ups in turn in one tensor, matrices transposed, or as MXFP4 blocks with scales.
 *
 *   gate_up_proj [E, hidden, 2 F]        down_proj [E, F, hidden]        in a float type
 *   *_blocks [E, rows, cols / 32, 16]    *_scales [E, rows, cols / 32]   MXFP4: neighbours in a byte, the first in the low bits
 *   gate_up_proj_bias [E, 2 F]           down_proj_bias [E, hidden]
 *
 * Source: transformers/models/gpt_oss, integrations/mxfp4.py; OCP Microscaling Formats 1.0. */
#ifndef HILO_LLM_GPT_OSS_H
#define HILO_LLM_GPT_OSS_H

#include "llm/model.h"

struct gpt_oss {
    const struct llm_tensor *t, *scales; /* t NULL: the files have none; scales NULL: not MXFP4 */
    int64_t experts, rows, cols;         /* of one expert; cols 0: a bias */
    int64_t first, step;                 /* which rows of the tensor */
    struct llm_tensor joined;            /* what gpt_oss_copy makes: [E rows, cols] or [E rows]; without data */
};

/* `base`: the experts of a layer, such as "model.layers.0.mlp.experts". A tensor of another shape is none. */
struct gpt_oss gpt_oss_find(const struct llm_tensors *files, const char *base, enum llm_role role, int64_t experts,
                            int64_t rows, int64_t cols);
/* Copies experts begin … end - 1 to out, which has space for all; blocks as GGUF has them. */
void gpt_oss_copy(const struct gpt_oss *x, int64_t begin, int64_t end, void *out);

#endif
