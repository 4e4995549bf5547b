/* Shards: what each of several devices has of a model, by the column `shard` of weights.def (tensor parallelism, as in
 * Megatron-LM, arxiv.org/abs/1909.08053).
 *
 * Queries, keys and values are divided by heads, gates and ups by rows, so that a device computes its share of the heads and of
 * the inner values without the others; outputs of attention and downs are divided by columns, so that each has a part of their
 * sums, which are added over the devices. Experts are each divided like an MLP. Embeddings and the output projection are
 * divided by tokens where the number of devices divides the vocabulary. The rest is on every device. */
#ifndef HILO_LLM_SHARD_H
#define HILO_LLM_SHARD_H

#include "llm/config.h"

struct llm_shard { int64_t index, count; };
#define LLM_UNDIVIDED (struct llm_shard){0, 1}

/* UNIMPLEMENTED when the model cannot be divided by so many devices: the diagnostic says what of it. */
hilo_status llm_shard_check(const struct llm_config *c, int64_t count, struct diag_list *d);
/* From the description of the model to that of its shard, which has the same layers. */
void llm_shard_config(struct llm_config *c, int64_t count);

/* Of the size n, in equal pieces, those that a shard has: *from and their number. Pieces that are fewer than the devices are on
   several of them. */
int64_t llm_shard_range(int64_t n, struct llm_shard s, int64_t *from);

#endif
