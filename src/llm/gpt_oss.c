/* Experts of gpt-oss: see gpt_oss.h. */
#include "llm/gpt_oss.h"

#include <stdio.h>

enum { GROUP = 32, HALF = GROUP / 2, BLOCK = 1 + HALF }; /* numbers; bytes of their values; with the scale before them */

static const struct { enum llm_role role; const char *name; int64_t first, step; } tensors[] = {
    {LLM_W_GATES, "gate_up_proj", 0, 2},           {LLM_W_UPS, "gate_up_proj", 1, 2},
    {LLM_W_DOWNS, "down_proj", 0, 1},              {LLM_W_GATES_BIAS, "gate_up_proj_bias", 0, 2},
    {LLM_W_UPS_BIAS, "gate_up_proj_bias", 1, 2},   {LLM_W_DOWNS_BIAS, "down_proj_bias", 0, 1},
};

static const struct llm_tensor *find(const struct llm_tensors *files, const char *base, const char *name, const char *suffix,
                                     uint32_t rank, const int64_t *dims) {
    char full[192];
    snprintf(full, sizeof full, "%s.%s%s", base, name, suffix);
    const struct llm_tensor *t = llm_tensors_find(files, full);
    for (uint32_t i = 0; t && i < rank; i++)
        t = t->rank == rank && t->dims[i] == dims[i] ? t : NULL;
    return t;
}

struct gpt_oss gpt_oss_find(const struct llm_tensors *files, const char *base, enum llm_role role, int64_t experts,
                            int64_t rows, int64_t cols) {
    struct gpt_oss x = {.experts = experts, .rows = rows, .cols = cols};
    for (size_t i = 0; i < sizeof tensors / sizeof *tensors && !x.t; i++) {
        if (tensors[i].role != role)
            continue;
        x.first = tensors[i].first;
        x.step = tensors[i].step;
        const int64_t all = rows * x.step, plain[] = {experts, cols ? cols : all, all};
        const int64_t blocks[] = {experts, all, cols / GROUP, HALF};
        x.t = find(files, base, tensors[i].name, "", cols ? 3 : 2, plain);
        if (x.t && (x.t->dtype == IR_DTYPE_NONE || ir_dtype_get(x.t->dtype)->cls != IR_FLOAT))
            x.t = NULL;
        if (x.t || !cols || cols % GROUP)
            continue;
        x.t = find(files, base, tensors[i].name, "_blocks", 4, blocks);
        x.scales = find(files, base, tensors[i].name, "_scales", 3, blocks);
        if (!x.scales || !x.t || x.t->dtype != IR_UI8_T || x.scales->dtype != IR_UI8_T)
            x.t = x.scales = NULL;
    }
    if (!x.t)
        return x;
    x.joined = *x.t;
    x.joined.rank = cols ? 2 : 1;
    x.joined.dims[0] = experts * rows;
    x.joined.dims[1] = cols;
    x.joined.data = NULL;
    x.joined.bytes = x.t->bytes / (size_t)x.step;
    if (x.scales) {
        x.joined.format = gguf_format_named("mxfp4");
        x.joined.dtype = IR_DTYPE_NONE;
        x.joined.bytes += x.scales->bytes / (size_t)x.step;
    }
    return x;
}

/* From neighbours in a byte to the first half in the low bits, the second in the high ones. */
static void copy_block(const uint8_t *in, uint8_t scale, uint8_t *out) {
    out[0] = scale;
    for (int i = 0; i < HALF; i++) {
        int low = in[i / 2] >> i % 2 * 4 & 15, high = in[(i + HALF) / 2] >> i % 2 * 4 & 15;
        out[1 + i] = (uint8_t)(low | high << 4);
    }
}

void gpt_oss_copy(const struct gpt_oss *x, int64_t begin, int64_t end, void *out) {
    size_t size = x->scales ? 0 : ir_dtype_get(x->t->dtype)->bytes;
    int64_t all = x->rows * x->step, groups = x->cols / GROUP, cols = x->cols ? x->cols : 1;
    const char *in = x->t->data;
    for (int64_t i = begin * x->rows; i < end * x->rows; i++) { /* rows of all experts */
        int64_t expert = i / x->rows, row = x->first + i % x->rows * x->step;
        for (int64_t g = 0; g < groups && x->scales; g++) {
            int64_t at = (expert * all + row) * groups + g;
            copy_block((const uint8_t *)in + at * HALF, ((const uint8_t *)x->scales->data)[at],
                       (uint8_t *)out + (i * groups + g) * BLOCK);
        }
        for (int64_t c = 0; c < cols && !x->scales; c++)
            memcpy((char *)out + (size_t)(i * cols + c) * size, in + (size_t)((expert * cols + c) * all + row) * size, size);
    }
}
