/* Quantised numbers: (stored - zero point) * scale. Every step is rounded to the expressed type, as the specification's
 * `quantize` and `dequantize` say; only the subtraction of the zero point is exact. Arithmetic is in double: for formats up to
 * f32 rounding its results a second time gives what the format's own arithmetic gives. */
#include "eval/eval_core.h"

#include <math.h>

/* Which scale and zero point an element has. Elements that share them are in runs of `run`. */
struct quant_map {
    uint32_t naxes;
    size_t run;
    struct { size_t stride, dim, block, step; } axis[IR_MAX_RANK]; /* step: in the array of scales */
};

static bool quant_map_axis(const struct ir_quant *q, const struct value *v, uint32_t i, struct quant_map *map) {
    int64_t d = q->axes[i], block = q->kind == IR_QUANT_BLOCK ? q->block_sizes[i] : 1;
    if (d < 0 || d >= (int64_t)v->rank || block <= 0 || v->dims[d] % block != 0)
        return false;
    size_t stride = 1, step = 1;
    for (uint32_t k = (uint32_t)d + 1; k < v->rank; k++) {
        stride *= (size_t)v->dims[k];
        if (q->kind == IR_QUANT_BLOCK)
            step *= (size_t)q->scale_dims[k];
    }
    int64_t scales = q->kind == IR_QUANT_BLOCK ? q->scale_dims[d] : (int64_t)q->nscales;
    if (v->dims[d] / block != scales)
        return false;
    map->axis[i].stride = stride;
    map->axis[i].dim = (size_t)v->dims[d];
    map->axis[i].block = (size_t)block;
    map->axis[i].step = step;
    if (stride * (size_t)block < map->run)
        map->run = stride * (size_t)block;
    return true;
}

/* False when the parameters do not fit the shape. */
static bool quant_map_new(const struct ir_quant *q, const struct value *v, struct quant_map *map) {
    map->run = v->count;
    map->naxes = v->count == 0 || q->kind == IR_QUANT_TENSOR ? 0 : q->naxes;
    if (map->naxes > v->rank || (q->kind == IR_QUANT_BLOCK && q->scale_rank != v->rank))
        return false;
    for (uint32_t i = 0; i < map->naxes; i++)
        if (!quant_map_axis(q, v, i, map))
            return false;
    return true;
}

static size_t quant_map_index(const struct quant_map *map, size_t i) {
    size_t k = 0;
    for (uint32_t a = 0; a < map->naxes; a++)
        k += i / map->axis[a].stride % map->axis[a].dim / map->axis[a].block * map->axis[a].step;
    return k;
}

static double quant_round(enum fp_kind kind, double x) {
    if (kind == FP_F64)
        return x;
    return kind == FP_F32 ? (double)(float)x : fp_decode(kind, fp_encode(kind, x));
}

static void quant_store(struct value *v, size_t i, int64_t x) {
    switch (ir_dtype_get(v->dtype)->bytes) {
    case 1:
        ((uint8_t *)v->data)[i] = (uint8_t)x;
        break;
    case 2:
        ((uint16_t *)v->data)[i] = (uint16_t)x;
        break;
    case 4:
        ((uint32_t *)v->data)[i] = (uint32_t)x;
        break;
    default:
        ((int64_t *)v->data)[i] = x;
        break;
    }
}

/* The storage bounds again, because rounding them to the expressed type may have moved them outwards. NaN, for which the
   specification has no rule, becomes 0. */
static int64_t quant_clamp(const struct ir_quant *q, double x) {
    if (isnan(x))
        return 0;
    x = rint(x);
    return x >= (double)q->storage_max ? q->storage_max : x <= (double)q->storage_min ? q->storage_min : (int64_t)x;
}

static bool quant_is_sound(const struct ir_quant *q) {
    enum ir_dtype_class storage = ir_dtype_get(q->storage)->cls;
    return (storage == IR_SINT || storage == IR_UINT) && ir_dtype_get(q->expressed)->cls == IR_FLOAT;
}

hilo_status eval_dequantize(const hilo_allocator *al, const struct ir_quant *q, const struct value *v, struct value **out) {
    struct quant_map map;
    if (!quant_is_sound(q) || v->kind != EVAL_TENSOR || v->dtype != q->storage || !quant_map_new(q, v, &map))
        return HILO_INVALID_ARGUMENT;
    HILO_TRY(value_tensor(al, q->expressed, v->dims, v->rank, out));
    const struct ir_dtype_info *t = ir_dtype_get(q->expressed);
    for (size_t i = 0; i < v->count; i += map.run) {
        size_t k = quant_map_index(&map, i);
        double scale = quant_round(t->fp, q->scales[k]);
        for (size_t j = i; j < i + map.run; j++) {
            double x = quant_round(t->fp, (double)(value_i64(v, j) - q->zero_points[k])) * scale;
            fp_store(t->fp, (char *)(*out)->data + j * t->bytes, fp_encode(t->fp, x));
        }
    }
    return HILO_OK;
}

hilo_status eval_quantize(const hilo_allocator *al, const struct ir_quant *q, const struct value *v, struct value **out) {
    struct quant_map map;
    if (!quant_is_sound(q) || v->kind != EVAL_TENSOR || v->dtype != q->expressed || !quant_map_new(q, v, &map))
        return HILO_INVALID_ARGUMENT;
    HILO_TRY(value_tensor(al, q->storage, v->dims, v->rank, out));
    const struct ir_dtype_info *t = ir_dtype_get(q->expressed);
    double least = quant_round(t->fp, (double)q->storage_min), most = quant_round(t->fp, (double)q->storage_max);
    for (size_t i = 0; i < v->count; i += map.run) {
        size_t k = quant_map_index(&map, i);
        double scale = quant_round(t->fp, q->scales[k]), zero = quant_round(t->fp, (double)q->zero_points[k]);
        for (size_t j = i; j < i + map.run; j++) {
            double x = fp_decode(t->fp, fp_load(t->fp, (const char *)v->data + j * t->bytes));
            x = quant_round(t->fp, quant_round(t->fp, x / scale) + zero);
            quant_store(*out, j, quant_clamp(q, x < least ? least : x > most ? most : x));
        }
    }
    return HILO_OK;
}

/* ---- ops ------------------------------------------------------------------------------------------------------------- */

static hilo_status quant_misfit(struct eval *cx, ir_op op, hilo_status status) {
    if (status == HILO_INVALID_ARGUMENT)
        EVAL_FAIL(cx, op, status, "has quantization parameters that do not fit its tensors");
    return status;
}

hilo_status eval_quantised(struct eval *cx, ir_op op, eval_fn *fn, struct value *const *in, struct value **out) {
    const struct ir_op_data *o = ir_op_get(cx->m, op);
    struct value **scratch = out + o->nresults; /* see plan_block.nscratch */
    hilo_status status = HILO_OK;
    uint32_t n = 0;
    for (; n < o->noperands && status == HILO_OK; n++) {
        const struct ir_quant *q = ir_val_type(cx->m, o->operands[n])->quant;
        scratch[n] = NULL;
        if (q)
            status = quant_misfit(cx, op, eval_dequantize(&cx->al, q, in[n], &scratch[n]));
        else
            scratch[n] = value_ref(in[n]);
    }
    if (status == HILO_OK) {
        cx->expressed = true;
        status = fn(cx, op, scratch, out);
        cx->expressed = false;
    }
    eval_drop(scratch, n);
    for (uint32_t i = 0; i < o->nresults && status == HILO_OK; i++) {
        const struct ir_quant *q = ir_val_type(cx->m, ir_result(cx->m, op, i))->quant;
        struct value *numbers = out[i];
        if (!q)
            continue;
        out[i] = NULL;
        status = quant_misfit(cx, op, eval_quantize(&cx->al, q, numbers, &out[i]));
        value_unref(numbers);
    }
    return status;
}

hilo_status eval_uniform_dequantize(struct eval *cx, ir_op op, struct value *const *in, struct value **out) {
    const struct ir_quant *q = ir_val_type(cx->m, ir_operand(cx->m, op, 0))->quant;
    return q ? quant_misfit(cx, op, eval_dequantize(&cx->al, q, in[0], out)) : HILO_INVALID_ARGUMENT;
}

hilo_status eval_uniform_quantize(struct eval *cx, ir_op op, struct value *const *in, struct value **out) {
    const struct ir_quant *from = ir_val_type(cx->m, ir_operand(cx->m, op, 0))->quant;
    const struct ir_quant *to = ir_val_type(cx->m, ir_result(cx->m, op, 0))->quant;
    if (!to)
        return HILO_INVALID_ARGUMENT;
    if (!from)
        return quant_misfit(cx, op, eval_quantize(&cx->al, to, in[0], out));
    struct value *numbers;
    HILO_TRY(quant_misfit(cx, op, eval_dequantize(&cx->al, from, in[0], &numbers)));
    hilo_status status = quant_misfit(cx, op, eval_quantize(&cx->al, to, numbers, out));
    value_unref(numbers);
    return status;
}
