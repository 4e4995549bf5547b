/* Cholesky and triangular solves of real numbers, for linalg.c, once for each type and instruction set:
 *
 *   T        the type                  V, U     vectors of it, of 32 bytes; U at any place of an array
 *   NAME(x)  x with a prefix           TARGET   attribute of the functions
 *   MADD(a, b, c)  c - a b of vectors  SPLAT(x) a vector of copies
 *
 * Everything is built from one kernel: ROWS rows of a result of two vectors' width, from rows of one factor, any strides apart,
 * and a packed panel of the other, whose rows are as wide as the result. */

enum { NAME(WIDTH) = 2 * sizeof(V) / sizeof(T) };

/* c[i] -= sum over p < k of a(i, p) b[p]; element (i, p) of a is at row[i] + p * step. */
TARGET static inline __attribute__((always_inline)) void NAME(subtract)(V c[LINALG_ROWS][2], const T *const row[LINALG_ROWS],
                                                                        ptrdiff_t step, const T *b, size_t k) {
    for (size_t p = 0; p < k; p++, b += NAME(WIDTH)) {
        const V b0 = *(const U *)b, b1 = *(const U *)(b + NAME(WIDTH) / 2);
        for (size_t i = 0; i < LINALG_ROWS; i++) {
            const V x = SPLAT(row[i][(ptrdiff_t)p * step]);
            c[i][0] = MADD(x, b0, c[i][0]);
            c[i][1] = MADD(x, b1, c[i][1]);
        }
    }
}

/* Solves a x = b for a packed panel b of n rows, in place: a is lower triangular, its element (i, j) at a[i * rs + j * cs],
   with strides of either sign. */
TARGET static void NAME(solve)(const void *matrix, ptrdiff_t rs, ptrdiff_t cs, size_t n, bool unit, void *panel) {
    const T *a = matrix;
    T *b = panel;
    for (size_t at = 0; at < n; at += LINALG_ROWS) {
        size_t m = n - at < LINALG_ROWS ? n - at : LINALG_ROWS; /* rows after the last one repeat it */
        const T *row[LINALG_ROWS];
        V c[LINALG_ROWS][2];
        for (size_t i = 0; i < LINALG_ROWS; i++) {
            size_t r = at + (i < m ? i : m - 1);
            row[i] = a + (ptrdiff_t)r * rs;
            c[i][0] = *(const U *)(b + r * NAME(WIDTH));
            c[i][1] = *(const U *)(b + r * NAME(WIDTH) + NAME(WIDTH) / 2);
        }
        NAME(subtract)(c, row, cs, b, at);
        for (size_t i = 0; i < m; i++) {
            for (size_t j = 0; j < i; j++) {
                const V x = SPLAT(row[i][(ptrdiff_t)(at + j) * cs]);
                c[i][0] = MADD(x, c[j][0], c[i][0]);
                c[i][1] = MADD(x, c[j][1], c[i][1]);
            }
            if (!unit) {
                const V d = SPLAT(row[i][(ptrdiff_t)(at + i) * cs]);
                c[i][0] /= d;
                c[i][1] /= d;
            }
            *(U *)(b + (at + i) * NAME(WIDTH)) = c[i][0];
            *(U *)(b + (at + i) * NAME(WIDTH) + NAME(WIDTH) / 2) = c[i][1];
        }
    }
}

/* To a packed panel from `lanes` columns, and back: element (i, c) at b[i * rs + c * cs]. Missing columns are zero. */
static void NAME(pack)(const void *from, ptrdiff_t rs, ptrdiff_t cs, size_t n, size_t lanes, void *panel) {
    const T *b = from;
    T *p = panel;
    for (size_t i = 0; i < n; i++)
        for (size_t c = 0; c < NAME(WIDTH); c++)
            p[i * NAME(WIDTH) + c] = c < lanes ? b[(ptrdiff_t)i * rs + (ptrdiff_t)c * cs] : 0;
}

static void NAME(unpack)(const void *panel, ptrdiff_t rs, ptrdiff_t cs, size_t n, size_t lanes, void *to) {
    const T *p = panel;
    T *b = to;
    for (size_t i = 0; i < n; i++)
        for (size_t c = 0; c < lanes; c++)
            b[(ptrdiff_t)i * rs + (ptrdiff_t)c * cs] = p[i * NAME(WIDTH) + c];
}

/* ---- Cholesky ------------------------------------------------------------------------------------------------------ */

/* The lower factor of the first n rows and columns of l, in place, where its lower triangle is; n is small. */
static void NAME(factor)(void *matrix, size_t n, size_t ld) {
    T *l = matrix;
    for (size_t j = 0; j < n; j++) {
        T column[LINALG_BLOCK], d = NAME(sqrt)(l[j * ld + j]);
        l[j * ld + j] = d;
        for (size_t i = j + 1; i < n; i++)
            column[i] = l[i * ld + j] /= d;
        for (size_t i = j + 1; i < n; i++) {
            const T x = column[i];
            for (size_t k = j + 1; k <= i; k++)
                l[i * ld + k] -= x * column[k];
        }
    }
}

/* Rows [from, to) of a block column, below its diagonal block of n columns, which is factored: X becomes X L⁻ᵀ. They go through
   packed panels of their transposes, which are what `update` takes; panel i holds rows from i * WIDTH on. */
TARGET static void NAME(below)(const void *diagonal, void *rows, size_t n, size_t ld, size_t from, size_t to, void *panels) {
    for (size_t at = from; at < to; at += NAME(WIDTH)) {
        size_t lanes = to - at < NAME(WIDTH) ? to - at : NAME(WIDTH);
        T *x = (T *)rows + at * ld, *panel = (T *)panels + at * n;
        NAME(pack)(x, 1, (ptrdiff_t)ld, n, lanes, panel);
        NAME(solve)(diagonal, (ptrdiff_t)ld, 1, n, false, panel);
        NAME(unpack)(panel, 1, (ptrdiff_t)ld, n, lanes, x);
    }
}

/* Rows [from, to) of the trailing matrix of a block column, up to the diagonal: c -= x xᵀ, with x in rows and in packed
   panels. */
TARGET static void NAME(update)(const void *rows, const void *panels, void *trailing, size_t n, size_t ld, size_t from,
                                size_t to) {
    for (size_t at = from; at < to; at += LINALG_ROWS) {
        size_t m = to - at < LINALG_ROWS ? to - at : LINALG_ROWS;
        const T *row[LINALG_ROWS];
        for (size_t i = 0; i < LINALG_ROWS; i++)
            row[i] = (const T *)rows + (at + (i < m ? i : m - 1)) * ld;
        for (size_t j = 0; j < at + m; j += NAME(WIDTH)) {
            V c[LINALG_ROWS][2];
            for (size_t i = 0; i < LINALG_ROWS; i++)
                c[i][0] = c[i][1] = SPLAT(0);
            NAME(subtract)(c, row, 1, (const T *)panels + j * n, n);
            for (size_t i = 0; i < m; i++) {
                T *to_row = (T *)trailing + (at + i) * ld + j, sum[NAME(WIDTH)];
                size_t lanes = at + i + 1 < j ? 0 : at + i + 1 - j;
                *(U *)sum = c[i][0];
                *(U *)(sum + NAME(WIDTH) / 2) = c[i][1];
                for (size_t k = 0; k < lanes && k < NAME(WIDTH); k++)
                    to_row[k] += sum[k];
            }
        }
    }
}

static const struct linalg NAME(linalg) = {sizeof(T),    NAME(WIDTH),  NAME(solve), NAME(pack),
                                           NAME(unpack), NAME(factor), NAME(below), NAME(update)};

#undef T
#undef V
#undef U
#undef NAME
#undef TARGET
#undef MADD
#undef SPLAT
