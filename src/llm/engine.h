/* Engines: what runs the programs of a model. An engine holds arrays where it computes, and compiles modules.
 *
 *   hilo          compiled by this library (engine_hilo.c); hilo:gpu, hilo:gpu:1 … for a GPU, which keeps all arrays
 *   reference     the evaluator that defines every result (engine_hilo.c)
 *   pjrt:PATH     a PJRT plugin's shared library, of any vendor (engine_pjrt.c)
 *
 * A program for several devices, those of the client, runs on all of them: an array has a part on each. Where they belong to
 * several nodes, the engine of node 0 sends what it is asked to do to those of the others (engine_nodes.c).
 *
 * Functions return a status; the reason is in the client's diagnostics. Use an engine from one thread at a time. */
#ifndef HILO_LLM_ENGINE_H
#define HILO_LLM_ENGINE_H

#include "runtime/internal.h"

struct llm_engine;

struct llm_engine_ops {
    const char *name;
    /* Makes an array of these elements, or of zeros where `data` is NULL; the same on all devices. */
    hilo_status (*upload)(struct llm_engine *e, hilo_dtype t, const int64_t *dims, uint32_t rank, const void *data, void **out);
    /* The same of data for each device of this node. It is unchanged until the engine is closed, and need not be copied. Each
       node calls it for the same arrays in the same order, before anything else. */
    hilo_status (*keep)(struct llm_engine *e, hilo_dtype t, const int64_t *dims, uint32_t rank, const void *const *data,
                        void **out);
    hilo_status (*compile)(struct llm_engine *e, hilo_module *m, void **out);
    /* `donate`: 1 = the run may take the array's memory. The array has no data afterwards and must still be released. */
    hilo_status (*run)(struct llm_engine *e, void *program, void *const *in, size_t nin, const uint8_t *donate, void **out,
                       size_t nout);
    hilo_status (*read)(struct llm_engine *e, void *array, void *dst, size_t nbytes); /* of the first device */
    void (*release)(struct llm_engine *e, void *array);       /* NULL is fine */
    void (*release_program)(struct llm_engine *e, void *program);
    /* Allocations and copies of its runs (hilo_stats); NULL if the engine does not report them. */
    void (*stats)(struct llm_engine *e, void *program, hilo_stats *out);
    void (*close)(struct llm_engine *e);
};

struct llm_engine {
    const struct llm_engine_ops *ops;
    hilo_client *client; /* of its modules: that which it was opened with, or one of its own, whose diagnostics go there */
    uint32_t devices; /* of this node */
    size_t ncached; /* programs that came from the compile cache */
    bool prompts_by_row; /* of weights in groups: as of those with a scale for each row, which it adds up faster (product.h) */
    bool prompts_in_words; /* rows of integers of 16 bits are multiplied as such, which have no faster products of bytes */
};

struct llm_engine_options {
    int32_t level;                   /* of optimisation */
    int (*cancelled)(void *user);    /* polled while a program runs; may be NULL */
    void *user;
};

#define LLM_ENGINES "hilo, hilo:gpu, reference or pjrt:PATH"
/* Whether an engine of that name can exist, as LLM_ENGINES has them; NULL = HILO_ENGINE, or hilo. */
bool llm_engine_known(const char *name);
/* Opens an engine by name; NULL = HILO_ENGINE, or hilo. NOT_FOUND, with a diagnostic that lists the engines. */
hilo_status llm_engine_open(hilo_client *client, const char *name, const struct llm_engine_options *o,
                            struct llm_engine **out);
void llm_engine_close(struct llm_engine *e); /* NULL is fine */

/* device NULL = the processor. */
hilo_status llm_engine_hilo(hilo_client *client, const char *device, bool reference, const struct llm_engine_options *o,
                            struct llm_engine **out);
hilo_status llm_engine_pjrt(hilo_client *client, const char *path, struct llm_engine **out);
/* On the nodes of a comm, each of which has `local`, an engine of its own; it is closed with the other, also after an error. */
hilo_status llm_engine_nodes(struct llm_engine *local, struct comm *comm, struct llm_engine **out);
/* On a node but the first: does what node 0 asks for, until it closes its engine. */
hilo_status llm_engine_follow(struct llm_engine *e);

/* For engines that have no way of their own: uploads an array of zeros from memory of the host. */
hilo_status llm_engine_upload_zeros(struct llm_engine *e, hilo_dtype t, const int64_t *dims, uint32_t rank, void **out);

/* Adds an error to the client's diagnostics; returns the status. */
hilo_status llm_error(hilo_client *client, hilo_status status, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

#endif
