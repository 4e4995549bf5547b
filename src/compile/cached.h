/* Executables through the compile cache; see cached.c. */
#ifndef HILO_COMPILE_CACHED_H
#define HILO_COMPILE_CACHED_H

#include "base/file.h"
#include "runtime/internal.h"

struct rt_about;

/* Reads a program from its file: module.c. The module takes the file over, which is empty then, where constants stay in it. The
   text of a file without an allocator is the caller's, and is not used afterwards. */
hilo_status module_read(hilo_client *client, struct file *f, const hilo_module_options *o, struct diag_list *d,
                        hilo_module **out);
/* For struct rt_compiler: module.c, specialise.c. */
hilo_status module_read_program(hilo_allocator al, struct str text, struct diag_list *d, struct ir_module **out);
hilo_status specialise_loaded(hilo_executable *exe, struct str text);
/* Compiles it, whatever was compiled before: compile.c. `inputs`: for whose shapes, or NULL: for its declared ones.
   UNIMPLEMENTED where sizes of a program that is compiled for inputs stay unknown. */
hilo_status compile_module(hilo_client *client, hilo_module *module, const hilo_compile_options *o,
                           hilo_buffer *const *inputs, struct diag_list *d, hilo_executable **out);
/* If a program is evaluated because sizes are not known: makes runs compile exe->module for those that they bring, with these
   options, which are copied to the arena: specialise.c. */
void specialise_later(hilo_executable *exe, const hilo_compile_options *o);

/* The tier of these options: where they leave it to the client, that of its environment: cached.c. */
hilo_tier compile_tier(const hilo_client *client, const hilo_compile_options *o);
/* What has this key in the compile cache, with optimised code where `tier` is that; NULL where there is nothing. */
hilo_executable *cached_get(hilo_client *client, const uint8_t *key, hilo_tier tier);
/* What was compiled before of a program of these bytes, with these options; NULL where that is nothing. */
hilo_executable *cached_find(hilo_client *client, struct str bytes, const hilo_compile_options *o);
/* Name and cost of a program: about.c. Memory: `a`. */
void compile_about(const struct ir_module *m, struct arena *a, struct rt_about *out);
/* A hash of the ops, types, attributes and constants of a program with collectives, by which nodes recognise it; 0 without. It
   does not depend on locations, nor on the machine. RESOURCE_EXHAUSTED is the only failure. */
hilo_status compile_fingerprint(const struct ir_module *m, const hilo_allocator *al, uint64_t *out);

/* The hash of a program's bytes, to be kept with what is read from them. */
void cached_hash(struct str bytes, uint8_t out[RT_KEY_BYTES]);
/* Gives an executable of unknown sizes that was loaded the key that specialise_keyed needs, unless nothing is to be kept. */
void cached_loaded(hilo_executable *exe, struct str text, const hilo_compile_options *o);
/* The key of such an executable, which has one, for the shapes of inputs. */
void cached_specialised(const hilo_executable *exe, hilo_buffer *const *inputs, uint8_t out[RT_KEY_BYTES]);

#endif
