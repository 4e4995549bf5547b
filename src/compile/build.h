/* From an optimised module to a plan: clusters become kernels, other ops routines, single evaluations or control flow.
 *
 *   build.c       the walk over a function's blocks      build_op.c   ops by themselves: routines, evaluations, loops, branches
 *   note.c        what steps are, for readers                fusions.c    kernels as ops of the module, for readers
 */
#ifndef HILO_COMPILE_BUILD_H
#define HILO_COMPILE_BUILD_H

#include "base/blake2.h"
#include "compile/model.h"
#include "compile/offload.h"
#include "fuse/fuse.h"
#include "lower/lower.h"
#include "plan/plan.h"

/* Kernels of a plan, each once. */
struct build_kernel {
    struct kir *kir; /* NULL once its code was generated */
    const struct target *target;
    struct plan_kernel *step;
    const char *stays;          /* why no library computes it that was asked; NULL = none was, or one does */
    uint8_t hash[BLAKE2_BYTES]; /* of its text, without the name */
};

/* What a library of a GPU has prepared to compute in place of a kernel. */
struct build_prepared {
    void *state;
    void (*release)(void *state);
};

/* The provider chosen for an op, of those that can compute it. */
struct build_choice {
    struct lib_match match;       /* by whom; LIB_OWN: hilo's code, be it a kernel or a routine */
    enum lib_external by;         /* the same; or the library that is expected to compute what a kernel would, faster */
    double ns[LIB_EXTERNAL_COUNT]; /* what the model expects of each; below 0 = not asked */
};

struct build {
    struct arena *a;     /* of the plan, and of all that is needed on the way */
    struct ir_module *m; /* gets a function for each op that is evaluated by itself */
    struct diag_list *d;
    struct plan_builder *p;
    const struct target *target;    /* of the kernels that are lowered next */
    const struct machine *machine;  /* whose units the entry's steps are placed on; NULL = all are for one target */
    const struct target *processor; /* then the other target; else NULL */
    uint64_t placed;                /* a number of the program and the machine */
    bool revoked;                   /* it is not divided between them */
    struct offload *offload;        /* once it is decided; NULL without a machine */
    struct divided *divided;        /* of steps that both compute; NULL = there are none */
    struct {
        struct build_kernel *v;
        uint32_t n, cap;
        uint32_t *slots, nslots; /* by hash: 1 + index; open addressing, at most half full */
    } kernels;
    hilo_tier tier;    /* of the code; OPTIMISED where there is no baseline */
    struct code *code; /* where kernels' code is generated while the plan is built (code.h); NULL = it is not */
    struct opt opt;        /* for cloning */
    struct opt_ids buffer; /* by value: 1 + buffer */
    struct arena scratch;  /* of the lowering of a kernel */
    struct lowered now;    /* the kernel that is lowered; its IR is not in `kernels` yet */
    struct strbuf text;    /* of the kernel that is compared with others */
    struct {
        ir_val *v;
        uint32_t n, cap;
    } fills; /* constants that steps of the current lists have filled */
    const struct plan_note *note; /* of the kernels that are lowered next; or NULL */
    uint32_t nfuncs;
    bool hoists; /* what does not change is computed once, and kept */
    bool batch_invariant;           /* rows of products: see hilo_compile_options */
    bool on_device; /* kernels are launched on a GPU */
    const hilo_client *gpu_client;  /* whose GPU's libraries may compute steps; NULL = none may */
    unsigned instead;               /* libraries that are asked for what kernels compute, by bit */
    struct {
        struct build_prepared *v;
        uint32_t n, cap;
    } prepared; /* by them */
    const struct fuse_kernel *replaced; /* what `now` was lowered from, where a library of the GPU may compute it; or NULL */
    const char *stays;                  /* of the kernel that was made last */
    bool cubins;    /* their code is compiled to the end, where that can be done (nvjitlink.h), and not by the driver alone */
    int level;
    enum build_libraries {
        BUILD_OWN,      /* none */
        BUILD_ONE,      /* `library`, wherever it can */
        BUILD_ANY,      /* the first that can */
        BUILD_CHEAPEST  /* as `model` has it */
    } libraries;
    enum lib_external library;
    const struct model *model; /* outlives the build */
    struct opt_ids chosen;     /* by op: 1 + index in: */
    struct {
        struct build_choice **v;
        uint32_t n, cap;
    } choices;
    unsigned wanted; /* libraries that would have been asked, and are not there, by bit */
};

/* Whether a plan of buffers can be made of the function. */
enum build_can {
    BUILD_NOTHING, /* there are tuples, or other values that are neither tensors nor tokens */
    BUILD_SIZES,   /* there are tensors of unknown sizes: what they are of is evaluated */
    BUILD_ALL
};
enum build_can build_can(const struct ir_module *m, ir_op func);
/* The plan of `func`. The kernels it needs are added to b->kernels; their machine code is still to be made. */
hilo_status build_plan(struct build *b, ir_op func, struct plan *out);
/* Constants that stay in the module's file: constants.c. The first has those that kernels of each run and other code read where
   C wants them; the second releases the memory of the file's pages, once init steps have made what they make of them. */
struct hilo_module;
hilo_status build_align_constants(struct hilo_module *module, const struct plan *p);
void build_release_constants(const struct hilo_module *module);
/* A build in `a`, which outlives it, to be freed. */
struct build *build_new(struct arena *a, struct ir_module *m, struct diag_list *d, int level);
/* Instead of a plan: makes an `mhlo.fusion` of each kernel of several ops of `func`. The module then is the one that is run,
   with its clusters visible, and evaluates to the same values. Functions that are not called are removed. */
hilo_status build_fusions(struct build *b, ir_op func);
/* Frees the IR of the kernels, and of one that was not finished. NULL is fine. */
void build_free(struct build *b);

/* ---- between the files ------------------------------------------------------------------------ */

/* The buffer of a value that was computed before, of an argument, of a constant. */
uint32_t build_buffer(struct build *b, ir_val v);
uint32_t build_temp(struct build *b, ir_val v); /* a new one, of its type */
void build_bind(struct build *b, ir_val v, uint32_t buffer);
void build_cluster(struct build *b, ir_block block, struct fuse_block *out);
void build_block(struct build *b, ir_block block, const struct fuse_block *f);
/* The steps of the kernels in b->now. */
void build_lowered(struct build *b);
/* Large constants that were filled since b->fills had this value are not available in other lists of steps. */
void build_forget(struct build *b, uint32_t fills);
void build_op(struct build *b, ir_op op);
/* The op as a kernel by itself. */
void build_single(struct build *b, ir_op op);
/* The buffer of a step's result that is divided; parts are in its memory. */
uint32_t build_joined(struct build *b, ir_op join);
/* Whether all that the op reads and writes is memory of known size, and is there. */
bool build_is_static(const struct build *b, ir_op op);
/* What a kernel is, or an op by itself. */
const struct plan_note *build_note(struct build *b, ir_block block, const struct fuse_block *f, const struct fuse_kernel *k);
const struct plan_note *build_note_op(struct build *b, ir_op op);
/* Of a kernel that runs before or after the one that b->note describes, for it: packing, the end of a split reduction. */
const struct plan_note *build_note_part(struct build *b, bool before);
/* b->note, with why the kernel is no library's. */
const struct plan_note *build_note_stays(struct build *b, const char *why);
/* What computes the contraction in b->now, lowered from k, instead of its kernel; NULL where nothing does, with the
   reason in b->stays where a library was asked. (instead.c) */
const struct plan_library *build_instead(struct build *b, const struct fuse_kernel *k);
/* Frees what these need to run, which outlives build_free. */
void build_prepared_free(struct build *b);
/* The library that may compute an op in place of its kernel, of those that are asked; LIB_OWN: none. */
enum lib_external build_asked_instead(const struct build *b, ir_op op);
/* The provider of the op; NULL where no library can. */
const struct build_choice *build_choose(struct build *b, ir_op op);

#endif
