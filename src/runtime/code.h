/* Machine code: object files put into memory and linked to themselves, without a compiler or a linker.
 *
 * Objects are what cg_compile makes (ELF, relocatable, position-independent, referring to nothing outside), and may come from a
 * file: every offset in them is checked. Code, constants and data are in pages of their own kind; the pages of several objects
 * are shared. Code is never writable once it can run. */
#ifndef HILO_RUNTIME_CODE_H
#define HILO_RUNTIME_CODE_H

#include "base/diag.h"
#include "hilo_kernel_abi.h"

struct rt_code;

enum { RT_CODE_FOREIGN = 1 }; /* objects for another processor are laid out too; to be looked at, not to be run */

/* The objects as one piece of code; they may be freed afterwards. INVALID_ARGUMENT for what is not a complete, self-contained
   object for this processor, and when two define one function; PERMISSION_DENIED when the system refuses memory that runs. */
hilo_status rt_code_load(const struct str *objects, uint32_t n, unsigned flags, hilo_allocator al, struct diag_list *d,
                         struct rt_code **out);
/* A kernel by its name; NULL when there is none. Any thread, until the code is freed. */
hilo_kernel_fn *rt_code_find(const struct rt_code *c, const char *name);
/* Bytes of memory that are mapped. */
size_t rt_code_bytes(const struct rt_code *c);
void rt_code_free(struct rt_code *c); /* NULL is fine */

/* Requests the matrix unit's tiles for this process, once; false when there are none or it does not. Threads that
   exist already may use them, too. */
bool rt_code_tiles(void);

#endif
