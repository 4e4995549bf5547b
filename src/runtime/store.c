/* See store.h. */
#include "runtime/store.h"
#include "base/file.h"
#include "base/torture.h"
#include "runtime/runtime.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { STORE_PATH = 4096, STORE_BLOCK = 4096 /* what a file takes at least */ };
#define STORE_DEFAULT_BYTES (UINT64_C(1) << 30)
#define STORE_SUFFIX        ".hilo"
#define STORE_TEMPORARY     ".tmp-"

/* ---- where it is ----------------------------------------------------------------------------- */

/* "512M", "2G"; 0 for what is no size. */
uint64_t rt_store_size(const char *z) {
    char *end;
    errno = 0;
    unsigned long long v = strtoull(z, &end, 10);
    static const char units[] = "KMG";
    const char *unit = *end ? strchr(units, *end & ~0x20) : NULL;
    int shift = unit ? 10 * (int)(unit - units + 1) : 0;
    if (errno || end == z || *z == '-' || (*end && (!unit || end[1])) || v > UINT64_MAX >> shift)
        return 0;
    return (uint64_t)v << shift;
}

bool rt_store_init(struct rt_store *s, const hilo_allocator *al, const char *dir, uint64_t most) {
    const char *tail = "", *size = most ? NULL : secure_getenv("HILO_CACHE_SIZE");
    *s = (struct rt_store){.most = size && *size ? rt_store_size(size) : most};
    s->bad_size = size && *size && !s->most;
    s->most = s->most ? s->most : STORE_DEFAULT_BYTES;
    dir = dir ? dir : secure_getenv("HILO_CACHE_DIR");
    s->named = dir != NULL;
    if (!dir) { /* as the XDG base directory specification has it: a relative path there counts for nothing */
        const char *xdg = secure_getenv("XDG_CACHE_HOME"), *home = secure_getenv("HOME");
        dir = xdg && *xdg == '/' ? xdg : home && *home == '/' ? home : "";
        tail = dir == xdg ? "/hilo" : "/.cache/hilo";
    }
    size_t n = strlen(dir);
    if (!n || n + strlen(tail) + 2 * sizeof(struct rt_store_file) > STORE_PATH)
        return true;
    s->dir_bytes = n + strlen(tail) + 1;
    s->dir = mem_alloc(al, s->dir_bytes);
    if (s->dir)
        snprintf(s->dir, s->dir_bytes, "%s%s", dir, tail);
    return s->dir != NULL;
}

void rt_store_free(struct rt_store *s, const hilo_allocator *al) {
    if (s->dir)
        mem_free(al, s->dir, s->dir_bytes);
    s->dir = NULL;
}

static bool path_of(const struct rt_store *s, const char *name, char *out) {
    int n = snprintf(out, STORE_PATH, "%s/%s", s->dir, name);
    return n > 0 && n < STORE_PATH;
}

static void name_of(const uint8_t *key, char *out) {
    for (int i = 0; i < RT_KEY_BYTES; i++)
        out += sprintf(out, "%02x", key[i]);
    strcpy(out, STORE_SUFFIX);
}

/* A directory with those above it, for this user alone. */
static bool make_dir(const char *dir) {
    char path[STORE_PATH];
    size_t n = strlen(dir);
    memcpy(path, dir, n + 1);
    for (size_t i = 1; i <= n; i++) {
        char c = path[i];
        if (c && c != '/')
            continue;
        path[i] = '\0';
        if (mkdir(path, 0700) != 0 && errno != EEXIST && errno != EISDIR)
            return false;
        path[i] = c;
    }
    return true;
}

bool rt_store_make(const struct rt_store *s) {
    return s->dir && make_dir(s->dir);
}

/* ---- this build ------------------------------------------------------------------------------ */

struct build_id {
    uintptr_t inside; /* an address of the object that is looked for */
    struct str id;
};

static int find_build_id(struct dl_phdr_info *info, size_t size, void *user) {
    struct build_id *b = user;
    bool ours = false;
    (void)size;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        ours |= p->p_type == PT_LOAD && b->inside - (info->dlpi_addr + p->p_vaddr) < p->p_memsz;
    }
    for (int i = 0; ours && i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        const char *at = (const char *)(info->dlpi_addr + p->p_vaddr), *end = at + p->p_memsz;
        while (p->p_type == PT_NOTE && (size_t)(end - at) >= sizeof(ElfW(Nhdr))) {
            const ElfW(Nhdr) *note = (const ElfW(Nhdr) *)at;
            const char *name = at + sizeof *note, *id = name + ((note->n_namesz + 3) & ~3u);
            if (note->n_type == NT_GNU_BUILD_ID && note->n_namesz == 4 && memcmp(name, "GNU", 4) == 0)
                b->id = (struct str){id, note->n_descsz};
            at = id + ((note->n_descsz + 3) & ~3u);
        }
    }
    return ours;
}

static const char inside_of_this_object;

struct str rt_build_id(void) {
    struct build_id b = {.inside = (uintptr_t)&inside_of_this_object, .id = {"", 0}};
    dl_iterate_phdr(find_build_id, &b);
    return b.id;
}

/* ---- warnings -------------------------------------------------------------------------------- */

/* Errors of the directory itself: reported once, and only where the user has set it. */
static void warn_dir(hilo_client *client, const char *what) {
    struct rt_store *s = &client->store;
    int e = errno;
    char text[128];
    pthread_mutex_lock(&client->lock);
    bool say = s->named && !s->warned;
    s->warned = true;
    pthread_mutex_unlock(&client->lock);
    if (say)
        rt_log(client, HILO_LOG_WARNING, "compile cache: cannot %s '%s': %s", what, s->dir, strerror_r(e, text, sizeof text));
}

static void warn_file(hilo_client *client, const char *path, const char *why) {
    rt_log(client, HILO_LOG_WARNING, "compile cache: %s: %s; compiling again", path, why);
}

/* ---- in memory ------------------------------------------------------------------------------- */

/* A weak reference to an executable, which may have been freed. */
static bool retain_loaded(hilo_executable *exe) {
    int refs = atomic_load_explicit(&exe->refs, memory_order_relaxed);
    while (refs > 0 && !atomic_compare_exchange_weak(&exe->refs, &refs, refs + 1))
        ;
    return refs > 0;
}

static hilo_executable *find_loaded(hilo_client *client, const uint8_t *key) {
    pthread_mutex_lock(&client->lock);
    hilo_executable *exe = client->store.loaded;
    while (exe && !(memcmp(exe->key, key, RT_KEY_BYTES) == 0 && retain_loaded(exe)))
        exe = exe->next_loaded;
    pthread_mutex_unlock(&client->lock);
    return exe;
}

static void register_loaded(hilo_client *client, hilo_executable *exe, const uint8_t *key) {
    memcpy(exe->key, key, RT_KEY_BYTES);
    pthread_mutex_lock(&client->lock);
    exe->is_loaded = true;
    exe->next_loaded = client->store.loaded;
    client->store.loaded = exe;
    pthread_mutex_unlock(&client->lock);
}

void rt_store_forget(hilo_client *client, hilo_executable *exe) {
    if (!exe->is_loaded)
        return;
    pthread_mutex_lock(&client->lock);
    hilo_executable **at = &client->store.loaded;
    while (*at != exe)
        at = &(*at)->next_loaded;
    *at = exe->next_loaded;
    pthread_mutex_unlock(&client->lock);
}

/* ---- reading --------------------------------------------------------------------------------- */

/* A file is code: it must belong to this user or the system, and be writable by no other. */
static const char *distrust(const struct stat *st) {
    if (!S_ISREG(st->st_mode))
        return "is not a file";
    if (st->st_uid != geteuid() && st->st_uid != 0)
        return "belongs to another user";
    return st->st_mode & (S_IWGRP | S_IWOTH) ? "may be changed by other users" : NULL;
}

static hilo_status load(hilo_client *client, const uint8_t *key, const char *path, int fd, struct diag_list *d,
                        hilo_executable **out) {
    struct stat st;
    struct file file;
    const char *why = fstat(fd, &st) == 0 ? distrust(&st) : "cannot be read";
    if (why)
        return diag_error(d, HILO_PERMISSION_DENIED, "%s", why);
    HILO_TRY(file_open_fd(fd, path, client->al, d, &file));
    return rt_file_load(client, &file, key, d, out);
}

static hilo_executable *get_file(hilo_client *client, const uint8_t *key) {
    char name[80], path[STORE_PATH];
    hilo_executable *exe = NULL;
    struct diag_list d;
    name_of(key, name);
    if (!path_of(&client->store, name, path))
        return NULL;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK); /* a FIFO is refused, not waited for */
    if (fd < 0) {
        if (errno != ENOENT && errno != ENOTDIR)
            warn_dir(client, "read");
        return NULL;
    }
    diag_init(&d, client->al);
    hilo_status status = load(client, key, path, fd, &d, &exe);
    if (status == HILO_OK) {
        futimens(fd, (struct timespec[]){{.tv_nsec = UTIME_NOW}, {.tv_nsec = UTIME_NOW}});
    } else if (status != HILO_RESOURCE_EXHAUSTED) {
        warn_file(client, path, d.first && d.first->message ? d.first->message : hilo_status_name(status));
        unlink(path);
    }
    close(fd);
    diag_clear(&d);
    return exe;
}

hilo_executable *rt_store_get(hilo_client *client, const uint8_t *key) {
    if (TORTURE)
        return NULL; /* what compiles is tested */
    hilo_executable *alive = find_loaded(client, key);
    if (alive) {
        hilo_executable *exe = rt_executable_share(alive);
        hilo_executable_release(alive);
        return exe;
    }
    hilo_executable *exe = client->store.dir ? get_file(client, key) : NULL;
    if (exe) {
        exe->cached = HILO_CACHED_DISK;
        register_loaded(client, exe, key);
    }
    return exe;
}

/* ---- writing --------------------------------------------------------------------------------- */

/* The largest part of the cache that a file may take, as a fraction: of a program with larger constants, writing the file and
   reading it again takes longer than compiling the program, and the file would replace those of many small ones. */
enum { STORE_SHARE = 4 };

struct sink {
    int fd;
    uint64_t bytes;
    bool failed;
};

static void put_bytes(void *user, const char *p, size_t n) {
    struct sink *s = user;
    while (n && !s->failed) {
        ssize_t put = write(s->fd, p, n);
        if (put < 0 && errno != EINTR)
            s->failed = true;
        if (put > 0) {
            p += put;
            n -= (size_t)put;
            s->bytes += (uint64_t)put;
        }
    }
}

/* A unique name: a counter tells threads apart, the number of the process other processes; what an earlier one of
   that number has left is passed over. */
static int open_temporary(struct rt_store *s, char *path) {
    for (int tries = 0; tries < 100; tries++) {
        char name[80];
        snprintf(name, sizeof name, STORE_TEMPORARY "%ld-%u", (long)getpid(), atomic_fetch_add(&s->temporaries, 1));
        if (!path_of(s, name, path))
            return -1;
        int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
        if (fd < 0 && errno == ENOENT && make_dir(s->dir))
            fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
        if (fd >= 0 || errno != EEXIST)
            return fd;
    }
    return -1;
}

/* Looking through the directory takes time, so it is done for some files alone: with a chance that grows with the size of the
   file, so that what is too much is about 1/64 of the bound. The key is as good as a random number. */
static bool is_due(const struct rt_store *s, const uint8_t *key, uint64_t bytes) {
    uint64_t random;
    memcpy(&random, key, sizeof random);
    bytes = bytes < STORE_BLOCK ? STORE_BLOCK : bytes;
    return bytes >= s->most / 64 || (double)(random >> 11) * 0x1p-53 * ((double)s->most / 64) < (double)bytes;
}

void rt_store_write(hilo_client *client, const hilo_executable *exe, const uint8_t *key) {
    struct rt_store *s = &client->store;
    char temporary[STORE_PATH], path[STORE_PATH], name[80];
    struct diag_list d;
    name_of(key, name);
    if (!path_of(s, name, path))
        return;
    struct sink sink = {.fd = open_temporary(s, temporary)};
    if (sink.fd < 0) {
        warn_dir(client, "write to");
        return;
    }
    diag_init(&d, client->al);
    hilo_status written = rt_file_write(exe, key, s->most / STORE_SHARE, put_bytes, &sink, &d);
    bool done = written == HILO_OK && !sink.failed;
    done = close(sink.fd) == 0 && done && rename(temporary, path) == 0;
    if (!done) {
        if (sink.failed)
            warn_dir(client, "write to");
        if (written == HILO_OUT_OF_RANGE)
            rt_log(client, HILO_LOG_DEBUG, "not kept in the cache: more than 1/%d of its %" PRIu64 " bytes", STORE_SHARE,
                   s->most);
        unlink(temporary);
    } else if (is_due(s, key, sink.bytes)) {
        rt_store_trim(s, &client->al, s->most);
    }
    diag_clear(&d);
}

void rt_store_put(hilo_client *client, hilo_executable *exe, const uint8_t *key) {
    if (exe->tier_up)
        exe->tier_up->keyed = true;
    else
        rt_store_write(client, exe, key);
    register_loaded(client, exe, key);
}

/* ---- its size -------------------------------------------------------------------------------- */

static bool ends_with(const char *text, const char *end) {
    size_t n = strlen(text), m = strlen(end);
    return n > m && strcmp(text + n - m, end) == 0;
}

/* What a process left that ended in the middle. */
static bool is_stale_temp_file(const char *name, const struct stat *st) {
    return strncmp(name, STORE_TEMPORARY, sizeof STORE_TEMPORARY - 1) == 0 && time(NULL) - st->st_mtime > 3600;
}

hilo_status rt_store_list(const struct rt_store *s, const hilo_allocator *al, struct rt_store_file **v, size_t *n) {
    size_t cap = 0;
    DIR *dir = s->dir ? opendir(s->dir) : NULL;
    *v = NULL;
    *n = 0;
    if (!dir)
        return HILO_NOT_FOUND;
    for (const struct dirent *e; (e = readdir(dir)) != NULL;) {
        struct stat st;
        if (strlen(e->d_name) >= sizeof (*v)->name || fstatat(dirfd(dir), e->d_name, &st, AT_SYMLINK_NOFOLLOW) != 0 ||
            !S_ISREG(st.st_mode))
            continue;
        if (is_stale_temp_file(e->d_name, &st))
            unlinkat(dirfd(dir), e->d_name, 0);
        if (!ends_with(e->d_name, STORE_SUFFIX))
            continue;
        if (*n == cap) {
            size_t more = cap ? 2 * cap : TORTURED(TORTURE_ROOM, 64);
            struct rt_store_file *grown = mem_resize(al, *v, cap * sizeof **v, more * sizeof **v);
            if (!grown)
                break;
            *v = grown;
            cap = more;
        }
        struct rt_store_file *f = &(*v)[(*n)++];
        strcpy(f->name, e->d_name);
        f->bytes = (uint64_t)st.st_size;
        f->used = (int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec;
    }
    closedir(dir);
    if (*v && *n < cap) { /* the size that was allocated is the size to free */
        struct rt_store_file *fit = mem_resize(al, *v, cap * sizeof **v, *n * sizeof **v);
        if (!fit) {
            mem_free(al, *v, cap * sizeof **v);
            *v = NULL;
            *n = 0;
        } else {
            *v = fit;
        }
    }
    return HILO_OK;
}

static int older(const void *a, const void *b) {
    const struct rt_store_file *x = a, *y = b;
    return (x->used > y->used) - (x->used < y->used);
}

size_t rt_store_trim(const struct rt_store *s, const hilo_allocator *al, uint64_t most) {
    struct rt_store_file *v;
    size_t n, gone = 0;
    uint64_t sum = 0;
    if (rt_store_list(s, al, &v, &n) != HILO_OK)
        return 0;
    for (size_t i = 0; i < n; i++)
        sum += v[i].bytes < STORE_BLOCK ? STORE_BLOCK : v[i].bytes;
    if (n)
        qsort(v, n, sizeof *v, older);
    for (size_t i = 0; i < n && sum > most; i++) {
        char path[STORE_PATH];
        sum -= v[i].bytes < STORE_BLOCK ? STORE_BLOCK : v[i].bytes;
        if (path_of(s, v[i].name, path) && unlink(path) == 0)
            gone++;
    }
    mem_free(al, v, n * sizeof *v);
    return gone;
}
