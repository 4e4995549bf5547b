/* Engines: what runs the programs of a model. An engine keeps arrays where it computes, and takes programs as modules.
 *
 *   hilo          compiled by this library (engine_hilo.c)
 *   reference     the evaluator that defines every result (engine_hilo.c)
 *   pjrt:PATH     a PJRT plugin's shared library, of any vendor (engine_pjrt.c)
 *
 * Functions answer a status; the reason is in the client's diagnostics. One thread at a time. */
#ifndef HILO_LLM_ENGINE_H
#define HILO_LLM_ENGINE_H

#include "runtime/runtime.h"

struct llm_engine;

struct llm_engine_ops {
    const char *name;
    /* An array with these elements. `lasts`: the data stays as it is until the engine is closed, and need not be copied. */
    hilo_status (*upload)(struct llm_engine *e, hilo_dtype t, const int64_t *dims, uint32_t rank, const void *data, bool lasts,
                          void **out);
    hilo_status (*compile)(struct llm_engine *e, hilo_module *m, void **out);
    /* `donate`: 1 = the array's memory may be taken; it holds nothing afterwards, and is still to be released. */
    hilo_status (*run)(struct llm_engine *e, void *program, void *const *in, size_t nin, const uint8_t *donate, void **out,
                       size_t nout);
    hilo_status (*read)(struct llm_engine *e, void *array, void *dst, size_t nbytes);
    void (*release)(struct llm_engine *e, void *array);       /* NULL is fine */
    void (*release_program)(struct llm_engine *e, void *program);
    /* What its runs took and copied (hilo_stats); NULL when the engine does not say. */
    void (*stats)(struct llm_engine *e, void *program, hilo_stats *out);
    void (*close)(struct llm_engine *e);
};

struct llm_engine {
    const struct llm_engine_ops *ops;
    hilo_client *client;
    size_t ncached; /* programs that compile had from the compile cache */
};

struct llm_engine_options {
    int32_t level;                   /* of optimisation */
    int (*cancelled)(void *user);    /* polled while a program runs; may be NULL */
    void *user;
};

/* Whether an engine of that name can exist: hilo, reference, pjrt:PATH; NULL = what HILO_ENGINE says, or hilo. */
bool llm_engine_known(const char *name);
/* By name; NULL = what HILO_ENGINE says, or hilo. NOT_FOUND with what engines there are, and how to get the one asked for. */
hilo_status llm_engine_open(hilo_client *client, const char *name, const struct llm_engine_options *o,
                            struct llm_engine **out);
void llm_engine_close(struct llm_engine *e); /* NULL is fine */

hilo_status llm_engine_hilo(hilo_client *client, bool reference, const struct llm_engine_options *o, struct llm_engine **out);
hilo_status llm_engine_pjrt(hilo_client *client, const char *path, struct llm_engine **out);

/* An error with a text, in the client's diagnostics. */
hilo_status llm_error(hilo_client *client, hilo_status status, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

#endif
