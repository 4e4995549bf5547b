/* Order-preserving integers: the bits of a number become an unsigned integer that is larger where the number comes later, for
 * sort and top_k. Floats are in total order unless flags say otherwise. */
#ifndef HILO_LIBRARY_ORDER_H
#define HILO_LIBRARY_ORDER_H

#include "ir/ir.h"

enum order_flags {
    ORDER_DESCENDING = 1,
    ORDER_ONE_ZERO = 2,     /* -0 and +0 are one key */
    ORDER_ONE_NAN = 4,      /* all NaN are one key, above infinity */
    ORDER_NEGATIVE_NAN = 8, /* with ONE_NAN: below -infinity */
    ORDER_PARTIAL = 16      /* IEEE comparison: a NaN is neither before nor after anything (nothing changes here) */
};

/* NaN: a magnitude above nan_above, or nan_code; it keeps the bits nan_keep and gets nan_set. Then numbers with the sign bit
   are xored with neg_xor, others with pos_xor. */
#define ORDER(name, T)                                                                                                         \
    struct name {                                                                                                              \
        T magnitude, nan_above, nan_code, nan_keep, nan_set, zero_keep, sign, pos_xor, neg_xor;                                \
    };                                                                                                                         \
    static inline bool name##_nan(const struct name *m, T raw) {                                                               \
        return (raw & m->magnitude) > m->nan_above || raw == m->nan_code;                                                      \
    }                                                                                                                          \
    /* One code for each key. */                                                                                               \
    static inline T name##_canonical(const struct name *m, T raw) {                                                            \
        T number = raw & m->magnitude ? raw : raw & m->zero_keep;                                                              \
        return name##_nan(m, raw) ? (raw & m->nan_keep) | m->nan_set : number;                                                 \
    }                                                                                                                          \
    static inline T name##_key(const struct name *m, T raw) {                                                                  \
        T bits = name##_canonical(m, raw);                                                                                     \
        return bits ^ (bits & m->sign ? m->neg_xor : m->pos_xor);                                                              \
    }                                                                                                                          \
    /* The canonical code of a key: its sign bit shows, since pos_xor and neg_xor agree in it. */                              \
    static inline T name##_code(const struct name *m, T key) {                                                                 \
        T bits = key ^ m->pos_xor;                                                                                             \
        return bits & m->sign ? key ^ m->neg_xor : bits;                                                                       \
    }
ORDER(order64, uint64_t)
ORDER(order32, uint32_t) /* for elements of at most four bytes */
#undef ORDER

static inline struct order64 order64_identity(void) {
    const uint64_t all = UINT64_MAX;
    return (struct order64){.magnitude = all, .nan_above = all, .nan_code = all, .nan_keep = all, .zero_keep = all};
}

static inline struct order64 order64_of(enum ir_dtype dtype, unsigned flags) {
    const struct ir_dtype_info *t = ir_dtype_get(dtype);
    uint64_t all = UINT64_MAX >> (64 - 8 * t->bytes);
    struct order64 m = order64_identity();
    if (t->cls == IR_FLOAT) {
        const struct fp_info *f = fp_get(t->fp);
        uint64_t codes = UINT64_MAX >> (64 - f->bits);
        m.sign = f->sign;
        m.magnitude = codes & ~f->sign;
        m.pos_xor = f->sign;
        m.neg_xor = f->sign ? codes : 0;
        m.zero_keep = flags & ORDER_ONE_ZERO ? ~f->sign : all;
        if (f->flavour == FPF_FNUZ)
            m.nan_code = f->sign;
        else if (fp_has_nan(t->fp))
            m.nan_above = fp_has_inf(t->fp) ? f->largest + 1 : f->largest;
        if (flags & ORDER_ONE_NAN) {
            m.nan_keep = 0;
            m.nan_set = m.magnitude | (flags & ORDER_NEGATIVE_NAN ? f->sign : 0);
        } else if (f->flavour == FPF_FNUZ) {
            m.nan_set = m.magnitude; /* its NaN, whose code is a negative zero's, is negative */
        }
    } else if (t->cls == IR_SINT) {
        m.sign = m.pos_xor = m.neg_xor = all ^ all >> 1;
    }
    if (flags & ORDER_DESCENDING) {
        m.pos_xor ^= all;
        m.neg_xor ^= all;
    }
    return m;
}

static inline struct order32 order32_from(const struct order64 *m) {
    return (struct order32){(uint32_t)m->magnitude, (uint32_t)m->nan_above, (uint32_t)m->nan_code,
                            (uint32_t)m->nan_keep,  (uint32_t)m->nan_set,   (uint32_t)m->zero_keep,
                            (uint32_t)m->sign,      (uint32_t)m->pos_xor,   (uint32_t)m->neg_xor};
}

/* The bits of an element of 1, 2, 4 or 8 bytes. */
static inline uint64_t order_load(const char *p, size_t bytes) {
    uint64_t v64;
    uint32_t v32;
    uint16_t v16;
    switch (bytes) {
    case 1:
        return (uint8_t)*p;
    case 2:
        memcpy(&v16, p, 2);
        return v16;
    case 4:
        memcpy(&v32, p, 4);
        return v32;
    default:
        memcpy(&v64, p, 8);
        return v64;
    }
}

#endif
