/* Files: see file.h. */
#include "base/file.h"
#include "base/torture.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

static hilo_status file_error(struct diag_list *d, const char *what, const char *path) {
    int e = errno;
    hilo_status status = e == ENOENT || e == ENOTDIR     ? HILO_NOT_FOUND
                         : e == EACCES || e == EPERM     ? HILO_PERMISSION_DENIED
                         : e == ENOMEM || e == ENOSPC    ? HILO_RESOURCE_EXHAUSTED
                                                         : HILO_UNAVAILABLE;
    char text[128];
    return diag_error(d, status, "cannot %s '%s': %s", what, path, strerror_r(e, text, sizeof text));
}

/* What has no size, to its end. */
static hilo_status file_slurp(int fd, const char *path, struct diag_list *d, struct file *f) {
    size_t n = 0, cap = 0;
    char *p = NULL;
    for (;;) {
        if (n == cap) {
            size_t more = cap ? cap * 2 : TORTURED(TORTURE_ROOM, 64 << 10);
            char *q = more > cap ? mem_resize(&f->al, p, cap, more) : NULL;
            if (!q) {
                mem_free(&f->al, p, cap);
                return diag_error(d, HILO_RESOURCE_EXHAUSTED, "out of memory while reading '%s'", path);
            }
            p = q;
            cap = more;
        }
        ssize_t got = read(fd, p + n, cap - n);
        if (got == 0)
            break;
        if (got > 0 && n + (size_t)got > FILE_STREAM_MOST) {
            mem_free(&f->al, p, cap);
            return diag_error(d, HILO_RESOURCE_EXHAUSTED, "'%s' is not a regular file, and more than %d MB long", path,
                              FILE_STREAM_MOST >> 20);
        }
        if (got > 0) {
            n += (size_t)got;
        } else if (errno != EINTR) {
            hilo_status status = file_error(d, "read", path);
            mem_free(&f->al, p, cap);
            return status;
        }
    }
    /* The size that was allocated is the size to free. */
    char *fit = mem_resize(&f->al, p, cap, n);
    if (!fit) {
        mem_free(&f->al, p, cap);
        return diag_error(d, HILO_RESOURCE_EXHAUSTED, "out of memory while reading '%s'", path);
    }
    f->text = (struct str){fit, n};
    return HILO_OK;
}

static hilo_status file_contents(int fd, const char *path, struct diag_list *d, struct file *f) {
    struct stat st;
    if (fstat(fd, &st) != 0)
        return file_error(d, "read", path);
    if (!S_ISREG(st.st_mode) || st.st_size == 0)
        return file_slurp(fd, path, d, f);
    void *p = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (p == MAP_FAILED)
        return file_error(d, "map", path);
    madvise(p, (size_t)st.st_size, MADV_SEQUENTIAL);
    f->text = (struct str){p, (size_t)st.st_size};
    f->mapped = true;
    return HILO_OK;
}

hilo_status file_open_fd(int fd, const char *path, hilo_allocator al, struct diag_list *d, struct file *out) {
    *out = (struct file){.al = al};
    return file_contents(fd, path, d, out);
}

static hilo_status file_open_as(const char *path, bool regular, hilo_allocator al, struct diag_list *d, struct file *out) {
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC | (regular ? O_NONBLOCK : 0));
    hilo_status status;
    if (fd < 0)
        return file_error(d, "open", path);
    if (regular && fstat(fd, &st) == 0 && !S_ISREG(st.st_mode))
        status = diag_error(d, HILO_INVALID_ARGUMENT, "'%s' is not a regular file", path);
    else
        status = file_open_fd(fd, path, al, d, out);
    close(fd);
    return status;
}

hilo_status file_open(const char *path, hilo_allocator al, struct diag_list *d, struct file *out) {
    return file_open_as(path, false, al, d, out);
}

hilo_status file_open_regular(const char *path, hilo_allocator al, struct diag_list *d, struct file *out) {
    return file_open_as(path, true, al, d, out);
}

void file_close(struct file *f) {
    if (f->mapped)
        munmap((void *)(uintptr_t)f->text.p, f->text.n);
    else
        mem_free(&f->al, (void *)(uintptr_t)f->text.p, f->text.n);
    *f = (struct file){.al = f->al};
}

void file_pages_wanted(const char *p, size_t n) {
#ifdef MADV_POPULATE_READ
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), from = (uintptr_t)p & ~(page - 1);
    madvise((void *)from, (uintptr_t)p + n - from, MADV_POPULATE_READ);
#else
    (void)p;
    (void)n;
#endif
}

void file_pages_done(const char *p, size_t n) {
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), from = ((uintptr_t)p + page - 1) & ~(page - 1);
    uintptr_t to = ((uintptr_t)p + n) & ~(page - 1);
    if (from < to)
        madvise((void *)from, to - from, MADV_DONTNEED);
}

/* ---- writing --------------------------------------------------------------------------------- */

/* Opens a new file next to the target, under a random name: -1 with errno. */
static int file_open_temporary(struct file_out *o) {
    enum { ATTEMPTS = 100 };
    struct stat st;
    for (int i = 0; i < ATTEMPTS; i++) {
        uint64_t name;
        if (getrandom(&name, sizeof name, 0) != sizeof name)
            return -1;
        snprintf(o->temporary, sizeof o->temporary, "%s.%016llx.tmp", o->target, (unsigned long long)name);
        int fd = open(o->temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
        if (fd >= 0 && stat(o->target, &st) == 0)
            (void)!fchmod(fd, st.st_mode & 0777);
        if (fd >= 0 || errno != EEXIST)
            return fd;
    }
    return -1;
}

hilo_status file_create(const char *path, struct diag_list *d, struct file_out *o) {
    struct stat st;
    bool exists = stat(path, &st) == 0;
    char *real = exists ? realpath(path, NULL) : NULL;
    const char *target = real ? real : path;
    o->path = path;
    o->temporary[0] = '\0';
    o->written = 0;
    o->n = 0;
    o->error = strlen(target) < sizeof o->target ? 0 : ENAMETOOLONG;
    if (!o->error)
        strcpy(o->target, target);
    free(real);
    if (o->error)
        errno = o->error;
    else if (exists && !S_ISREG(st.st_mode))
        o->fd = open(o->target, O_WRONLY | O_CLOEXEC);
    else
        o->fd = file_open_temporary(o);
    return o->error || o->fd < 0 ? file_error(d, "write", path) : HILO_OK;
}

static void file_put_all(struct file_out *o, const char *p, size_t n) {
    while (n && !o->error) {
        ssize_t put = write(o->fd, p, n);
        if (put < 0 && errno != EINTR)
            o->error = errno;
        if (put > 0) {
            p += put;
            n -= (size_t)put;
        }
    }
}

void file_put(struct file_out *o, const void *bytes, size_t n) {
    o->written += n;
    if (n > sizeof o->buffer - o->n) {
        file_put_all(o, o->buffer, o->n);
        o->n = 0;
    }
    if (n > sizeof o->buffer) {
        file_put_all(o, bytes, n);
    } else if (n) {
        memcpy(o->buffer + o->n, bytes, n);
        o->n += n;
    }
}

void file_flush(struct file_out *o) {
    file_put_all(o, o->buffer, o->n);
    o->n = 0;
}

hilo_status file_commit(struct file_out *o, bool keep, struct diag_list *d) {
    if (keep)
        file_flush(o);
    if (close(o->fd) != 0 && !o->error)
        o->error = errno;
    bool done = keep && !o->error && (!o->temporary[0] || rename(o->temporary, o->target) == 0);
    if (done)
        return HILO_OK;
    if (o->error)
        errno = o->error;
    hilo_status status = keep ? file_error(d, "write", o->path) : HILO_OK;
    if (o->temporary[0])
        unlink(o->temporary);
    return status;
}

hilo_status file_write(const char *path, struct str text, struct diag_list *d) {
    struct file_out o;
    HILO_TRY(file_create(path, d, &o));
    file_put(&o, text.p, text.n);
    return file_commit(&o, true, d);
}
