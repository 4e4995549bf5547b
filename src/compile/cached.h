/* The way to an executable through the compile cache; see cached.c. */
#ifndef HILO_COMPILE_CACHED_H
#define HILO_COMPILE_CACHED_H

#include "runtime/runtime.h"

/* Reads a program from its file: module.c. */
hilo_status module_read(hilo_client *client, const struct file *f, const hilo_module_options *o, struct diag_list *d,
                        hilo_module **out);
/* Compiles it, whatever was compiled before: compile.c. */
hilo_status compile_module(hilo_client *client, hilo_module *module, const hilo_compile_options *o, struct diag_list *d,
                           hilo_executable **out);

/* The hash of a program's bytes, to be kept with what is read from them. */
void cached_hash(struct str bytes, uint8_t out[RT_KEY_BYTES]);

#endif
