/* Files: see file.h. */
#include "base/file.h"
#include "base/torture.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
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

hilo_status file_open(const char *path, hilo_allocator al, struct diag_list *d, struct file *out) {
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return file_error(d, "open", path);
    hilo_status status = file_open_fd(fd, path, al, d, out);
    close(fd);
    return status;
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

static bool file_put(int fd, struct str text) {
    while (text.n) {
        ssize_t put = write(fd, text.p, text.n);
        if (put < 0 && errno != EINTR)
            return false;
        if (put > 0) {
            text.p += put;
            text.n -= (size_t)put;
        }
    }
    return true;
}

hilo_status file_write(const char *path, struct str text, struct diag_list *d) {
    char temporary[4096];
    if ((size_t)snprintf(temporary, sizeof temporary, "%s.%ld.tmp", path, (long)getpid()) >= sizeof temporary) {
        errno = ENAMETOOLONG;
        return file_error(d, "write", path);
    }
    int fd = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd < 0)
        return file_error(d, "write", path);
    bool done = file_put(fd, text);
    done = close(fd) == 0 && done && rename(temporary, path) == 0;
    if (done)
        return HILO_OK;
    hilo_status status = file_error(d, "write", path);
    unlink(temporary);
    return status;
}
