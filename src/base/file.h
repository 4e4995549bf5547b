/* Files: reading a whole one through a mapping, and writing one in a single step. */
#ifndef HILO_BASE_FILE_H
#define HILO_BASE_FILE_H

#include "base/diag.h"

enum { FILE_STREAM_MOST = 1 << 30 }; /* bytes that are read from a pipe or a device */

struct file {
    struct str text;    /* the contents; empty for an empty file */
    hilo_allocator al;
    bool mapped;        /* else the text was allocated */
};

/* Opens `path` for reading. A regular file is mapped, a pipe or a device is read to its end, or FILE_STREAM_MOST bytes.
   NOT_FOUND, PERMISSION_DENIED, RESOURCE_EXHAUSTED, or UNAVAILABLE for anything else, with a diagnostic. file_close gives the
   contents back. A mapped file must not shrink meanwhile. */
hilo_status file_open(const char *path, hilo_allocator al, struct diag_list *d, struct file *out);
/* The same for regular files only: anything else is refused (INVALID_ARGUMENT), and opening never waits. */
hilo_status file_open_regular(const char *path, hilo_allocator al, struct diag_list *d, struct file *out);
/* The same of a file that is open, and stays so; `path` is for messages. */
hilo_status file_open_fd(int fd, const char *path, hilo_allocator al, struct diag_list *d, struct file *out);
void file_close(struct file *f);
/* Has a stretch of a mapped file read and its pages mapped, where the system can; what is not is read when it is looked at. */
void file_pages_wanted(const char *p, size_t n);
/* Releases the memory of the complete pages in a range of a mapped file; accessing them again reads the file again. */
void file_pages_done(const char *p, size_t n);

/* A file that is being written: under its path it is complete after file_commit, and before, or after a failure, unchanged. It
   grows under an unpredictable name, next to its target; a symbolic link stays one. Pipes and devices are written
   directly. */
struct file_out {
    const char *path;                  /* for messages; must outlive this */
    char target[4096], temporary[4160]; /* temporary: "" when written directly */
    uint64_t written;                  /* bytes so far */
    int fd, error;                     /* error: errno of the first write that failed, or 0 */
    size_t n;                          /* of the buffer */
    char buffer[4096];
};
/* On failure there is nothing to commit. */
hilo_status file_create(const char *path, struct diag_list *d, struct file_out *out);
/* Appends; errors are reported by file_commit. */
void file_put(struct file_out *o, const void *bytes, size_t n);
/* Writes what is in the buffer. */
void file_flush(struct file_out *o);
/* Ends the file; `keep` false discards it, which returns OK. */
hilo_status file_commit(struct file_out *o, bool keep, struct diag_list *d);
/* The three of them. */
hilo_status file_write(const char *path, struct str text, struct diag_list *d);

#endif
