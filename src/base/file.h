/* Files: reading a whole one through a mapping, and writing one in a single step. */
#ifndef HILO_BASE_FILE_H
#define HILO_BASE_FILE_H

#include "base/diag.h"

struct file {
    struct str text;    /* the contents; empty for an empty file */
    hilo_allocator al;
    bool mapped;        /* else the text was allocated */
};

/* Opens `path` for reading. A regular file is mapped, a pipe or a device is read to its end. NOT_FOUND,
   PERMISSION_DENIED, RESOURCE_EXHAUSTED, or UNAVAILABLE for anything else, with a diagnostic. file_close gives the
   contents back. A mapped file must not shrink meanwhile. */
hilo_status file_open(const char *path, hilo_allocator al, struct diag_list *d, struct file *out);
/* The same of a file that is open, and stays so; `path` is for messages. */
hilo_status file_open_fd(int fd, const char *path, hilo_allocator al, struct diag_list *d, struct file *out);
void file_close(struct file *f);
/* Has a stretch of a mapped file read and its pages mapped, where the system can; what is not is read when it is looked at. */
void file_pages_wanted(const char *p, size_t n);
/* Gives back the memory of the whole pages in a stretch of a mapped file; looking at them again reads them again. */
void file_pages_done(const char *p, size_t n);

/* Writes `path` so that it is either there in full or as it was before: through a temporary file beside it. */
hilo_status file_write(const char *path, struct str text, struct diag_list *d);

#endif
