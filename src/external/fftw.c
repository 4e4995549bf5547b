/* FFTW 3: Fourier transforms, planned by its estimates, so that every process has the same plans. Single precision is a library
 * of its own. FFTW is under the GNU General Public License: hilo opens it where it is installed, and has nothing of it.
 *
 * A batch is split into pieces of whole transforms; each is a call on one thread. Plans are for memory at multiples of 16
 * bytes, so pieces are as long as that takes; memory at other addresses is not passed to FFTW. One thread plans at a time. */
#include "external/external.h"

#include <limits.h>
#include <pthread.h>
#include <stdio.h>

enum { FFTW_FORWARD_SIGN = -1, FFTW_BACKWARD_SIGN = 1, FFTW_PRESERVES = 1 << 4, FFTW_ESTIMATES = 1 << 6 };
enum {
    FFTW_MOST_DIMS = 3,
    FFTW_PIECE = 1 << 14, /* numbers that are worth a piece */
    FFTW_LINES = 16       /* pieces of this many transforms begin at multiples of 16 bytes, whatever their length */
};

struct fftw {
    void *(*plan_complex)(int rank, const int *n, int howmany, void *in, const int *inembed, int istride, int idist, void *out,
                          const int *onembed, int ostride, int odist, int sign, unsigned flags);
    void *(*plan_from_real)(int rank, const int *n, int howmany, void *in, const int *inembed, int istride, int idist,
                            void *out, const int *onembed, int ostride, int odist, unsigned flags);
    void *(*plan_to_real)(int rank, const int *n, int howmany, void *in, const int *inembed, int istride, int idist, void *out,
                          const int *onembed, int ostride, int odist, unsigned flags);
    void (*complex_)(const void *plan, void *in, void *out);
    void (*from_real)(const void *plan, void *in, void *out);
    void (*to_real)(const void *plan, void *in, void *out);
    void (*destroy)(void *plan);
    const char *version;
};

#define FFTW_FUNCTIONS(p)                                                                                                      \
    {p "_plan_many_dft", offsetof(struct fftw, plan_complex), false},                                                          \
        {p "_plan_many_dft_r2c", offsetof(struct fftw, plan_from_real), false},                                                \
        {p "_plan_many_dft_c2r", offsetof(struct fftw, plan_to_real), false},                                                  \
        {p "_execute_dft", offsetof(struct fftw, complex_), false},                                                            \
        {p "_execute_dft_r2c", offsetof(struct fftw, from_real), false},                                                       \
        {p "_execute_dft_c2r", offsetof(struct fftw, to_real), false},                                                         \
        {p "_destroy_plan", offsetof(struct fftw, destroy), false}, {                                                          \
        p "_version", offsetof(struct fftw, version), false                                                                    \
    }
static const struct ext_function fftw_functions[2][8] = {{FFTW_FUNCTIONS("fftwf")}, {FFTW_FUNCTIONS("fftw")}};

static struct {
    pthread_once_t once;
    pthread_mutex_t planning;
    struct fftw table[2]; /* f32, f64 */
    struct ext_opened opened;
} fftw_state = {.once = PTHREAD_ONCE_INIT, .planning = PTHREAD_MUTEX_INITIALIZER};

static void fftw_open(void) {
    static const char *const names[2][2] = {{"libfftw3f.so.3", NULL}, {"libfftw3.so.3", NULL}};
    for (int wide = 0; wide < 2; wide++)
        if (!ext_open("HILO_FFTW_PATH", names[wide], fftw_functions[wide], 8, &fftw_state.table[wide], &fftw_state.opened))
            return;
    snprintf(fftw_state.opened.version, sizeof fftw_state.opened.version, "%s", fftw_state.table[0].version);
}

const struct ext_opened *ext_open_fftw(void) {
    pthread_once(&fftw_state.once, fftw_open);
    return &fftw_state.opened;
}

/* ---- the op ----------------------------------------------------------------------------------- */

struct fftw_op {
    const struct fftw *fftw;
    int64_t type;
    bool wide, copies; /* copies: FFTW would destroy the input */
    int ndims, n[FFTW_MOST_DIMS];
    size_t batch, in, out; /* numbers of one transform, in reals */
    size_t per, pieces;    /* transforms of a piece */
    double factor;         /* of results */
    void *plan[2];         /* of a whole piece, of the last one */
};

static bool fftw_read(const struct lib_match *m, struct fftw_op *f) {
    struct lib_reader r = lib_reader_of(m->params, m->nparams);
    size_t outer = 1, last;
    *f = (struct fftw_op){.type = lib_get(&r), .wide = lib_get(&r) != 0, .factor = 1};
    f->ndims = (int)lib_get_size(&r, FFTW_MOST_DIMS);
    f->batch = lib_get_size(&r, PTRDIFF_MAX);
    bool fits = f->ndims > 0 && f->batch > 0;
    for (int i = 0; i < f->ndims; i++) {
        f->n[i] = (int)lib_get_size(&r, INT_MAX);
        fits = fits && f->n[i] > 0;
        f->factor /= f->type == IR_FFT_TYPE_IFFT || f->type == IR_FFT_TYPE_IRFFT ? f->n[i] : 1;
    }
    if (r.short_ || !fits)
        return false;
    for (int i = 0; i + 1 < f->ndims; i++)
        fits = fits && mem_mul(outer, (size_t)f->n[i], &outer);
    last = (size_t)f->n[f->ndims - 1];
    if (!fits || !mem_mul(outer, 2 * last + 2, &f->in) || f->in > INT_MAX)
        return false;
    f->in = outer * (f->type == IR_FFT_TYPE_RFFT ? last : f->type == IR_FFT_TYPE_IRFFT ? 2 * (last / 2 + 1) : 2 * last);
    f->out = outer * (f->type == IR_FFT_TYPE_IRFFT ? last : f->type == IR_FFT_TYPE_RFFT ? 2 * (last / 2 + 1) : 2 * last);
    f->copies = f->type == IR_FFT_TYPE_IRFFT && f->ndims > 1;
    size_t number = f->wide ? 8 : 4, unit = f->in * number % 16 == 0 && f->out * number % 16 == 0 ? 1 : FFTW_LINES;
    f->per = f->in < FFTW_PIECE ? FFTW_PIECE / f->in : 1;
    f->per = (f->per + unit - 1) / unit * unit;
    f->per = f->per < f->batch ? f->per : f->batch;
    f->pieces = (f->batch + f->per - 1) / f->per;
    return f->per <= INT_MAX;
}

static size_t fftw_copy_bytes(const struct fftw_op *f) {
    return f->copies ? f->batch * f->in * (f->wide ? 8 : 4) : 0;
}

bool ext_fftw_fft_can(struct lib_match *out) {
    struct fftw_op f;
    if (*ext_open_fftw()->why || !fftw_read(out, &f))
        return false;
    size_t copy = fftw_copy_bytes(&f);
    out->scratch_bytes = out->scratch_bytes < copy ? copy : out->scratch_bytes;
    out->alone = f.pieces == 1;
    return true;
}

/* For `howmany` transforms. The memory is there for its alignment only: with estimates nothing is written. */
static void *fftw_plan(const struct fftw_op *f, size_t howmany) {
    const struct fftw *l = f->fftw;
    bool real = f->type == IR_FFT_TYPE_RFFT || f->type == IR_FFT_TYPE_IRFFT;
    int idist = (int)(f->type == IR_FFT_TYPE_RFFT ? f->in : f->in / 2),
        odist = (int)(f->type == IR_FFT_TYPE_IRFFT ? f->out : f->out / 2);
    unsigned flags = FFTW_ESTIMATES | (f->copies ? 0u : FFTW_PRESERVES);
    _Alignas(64) char in[64], out[64];
    void *plan;
    pthread_mutex_lock(&fftw_state.planning);
    if (!real)
        plan = l->plan_complex(f->ndims, f->n, (int)howmany, in, NULL, 1, idist, out, NULL, 1, odist,
                               f->type == IR_FFT_TYPE_FFT ? FFTW_FORWARD_SIGN : FFTW_BACKWARD_SIGN, flags);
    else if (f->type == IR_FFT_TYPE_RFFT)
        plan = l->plan_from_real(f->ndims, f->n, (int)howmany, in, NULL, 1, idist, out, NULL, 1, odist, flags);
    else
        plan = l->plan_to_real(f->ndims, f->n, (int)howmany, in, NULL, 1, idist, out, NULL, 1, odist, flags);
    pthread_mutex_unlock(&fftw_state.planning);
    return plan;
}

void ext_fftw_fft_release(void *state) {
    struct fftw_op *f = state;
    hilo_allocator al = mem_system_allocator();
    pthread_mutex_lock(&fftw_state.planning);
    for (int i = 0; i < 2; i++)
        if (f->plan[i])
            f->fftw->destroy(f->plan[i]);
    pthread_mutex_unlock(&fftw_state.planning);
    mem_free(&al, f, sizeof *f);
}

void *ext_fftw_fft_prepare(const struct lib_match *match) {
    hilo_allocator al = mem_system_allocator();
    struct fftw_op *f = mem_alloc(&al, sizeof *f);
    if (!f)
        return NULL;
    if (!fftw_read(match, f)) {
        mem_free(&al, f, sizeof *f);
        return NULL;
    }
    size_t last = f->batch - (f->pieces - 1) * f->per;
    f->fftw = &fftw_state.table[f->wide];
    f->plan[0] = fftw_plan(f, f->per);
    f->plan[1] = last == f->per ? NULL : fftw_plan(f, last);
    if (f->plan[0] && (f->plan[1] || last == f->per))
        return f;
    ext_fftw_fft_release(f);
    return NULL;
}

struct fftw_run {
    const struct fftw_op *f;
    const struct lib_call *c;
};

static void fftw_scale(const struct fftw_op *f, char *out, size_t n) {
    float *x = (float *)(void *)out;
    double *y = (double *)(void *)out;
    for (size_t i = 0; i < n && !f->wide; i++)
        x[i] *= (float)f->factor;
    for (size_t i = 0; i < n && f->wide; i++)
        y[i] *= f->factor;
}

static void fftw_piece(void *user, int64_t i) {
    const struct fftw_run *r = user;
    const struct fftw_op *f = r->f;
    size_t number = f->wide ? 8 : 4, first = (size_t)i * f->per, n = f->batch - first < f->per ? f->batch - first : f->per;
    char *in = (char *)(uintptr_t)r->c->in[0] + first * f->in * number, *out = (char *)r->c->out[0] + first * f->out * number;
    const void *plan = f->plan[n == f->per ? 0 : 1];
    if (f->copies)
        in = memcpy((char *)r->c->scratch + first * f->in * number, in, n * f->in * number);
    if (f->type == IR_FFT_TYPE_RFFT)
        f->fftw->from_real(plan, in, out);
    else if (f->type == IR_FFT_TYPE_IRFFT)
        f->fftw->to_real(plan, in, out);
    else
        f->fftw->complex_(plan, in, out);
    if (f->factor < 1)
        fftw_scale(f, out, n * f->out);
}

hilo_status ext_fftw_fft_run(void *state, const struct lib_call *c) {
    struct fftw_run r = {state, c};
    if (((uintptr_t)c->in[0] | (uintptr_t)c->out[0]) % 16)
        return HILO_UNIMPLEMENTED;
    lib_each(c->pool, (int64_t)r.f->pieces, fftw_piece, &r);
    return HILO_OK;
}
