/* The compile cache: what is found again, in the client and by others; what is refused; how large it gets. */
#include "compile/code.h"
#include "runtime/runtime.h"
#include "tests/tools/meter.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char dir[] = "/tmp/hilo-test-cache-XXXXXX";

static const char program[] = "func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {\n"
                              "  %0 = stablehlo.add %x, %x : tensor<4xf32>\n"
                              "  return %0 : tensor<4xf32> }\n"
                              "func.func @other(%x: tensor<4xf32>) -> tensor<4xf32> {\n"
                              "  %0 = stablehlo.multiply %x, %x : tensor<4xf32>\n"
                              "  return %0 : tensor<4xf32> }\n";

/* ---- clients --------------------------------------------------------------------------------- */

struct heard {
    int warnings;
    char last[512];
    char why_not[128]; /* a program is not kept */
};

static void hear(void *user, hilo_log_level level, const char *message) {
    static const char told[] = "not kept in the compile cache: ";
    struct heard *h = user;
    const char *why_not = strstr(message, told);
    if (why_not)
        snprintf(h->why_not, sizeof h->why_not, "%s", why_not + strlen(told));
    if (level != HILO_LOG_WARNING)
        return;
    h->warnings++;
    snprintf(h->last, sizeof h->last, "%s", message);
}

static hilo_client *client_in(const char *where, uint64_t bytes, struct heard *h) {
    hilo_client *client;
    hilo_client_options o;
    hilo_client_options_init(&o);
    o.cache_dir = where;
    o.cache_bytes = bytes;
    o.log = h ? hear : NULL;
    o.log_user = h;
    assert_int_equal(hilo_client_create(&o, &client), HILO_OK);
    return client;
}

static hilo_executable *compiled(hilo_client *client, const hilo_compile_options *o, int32_t *cached) {
    hilo_executable *exe;
    hilo_stats stats = {.struct_size = sizeof stats};
    assert_int_equal(hilo_compile_source(client, program, strlen(program), NULL, o, &exe), HILO_OK);
    assert_int_equal(hilo_executable_stats(exe, &stats), HILO_OK);
    *cached = stats.cached;
    return exe;
}

static void check(hilo_client *client, hilo_executable *exe) {
    const float x[4] = {1, 2, 3, 4};
    float y[4];
    hilo_buffer *in, *out;
    assert_int_equal(hilo_buffer_from_host(client, HILO_F32, (int64_t[]){4}, 1, x, NULL, &in), HILO_OK);
    assert_int_equal(hilo_execute(exe, NULL, &in, 1, &out, 1), HILO_OK);
    assert_int_equal(hilo_buffer_to_host(out, y, sizeof y), HILO_OK);
    for (int i = 0; i < 4; i++)
        assert_true(y[i] == 2 * x[i]);
    hilo_buffer_release(in);
    hilo_buffer_release(out);
}

/* Where the executable comes from that a new client gets. */
static int32_t cached_anew(const hilo_compile_options *o, struct heard *h) {
    int32_t cached;
    hilo_client *client = client_in(dir, 0, h);
    hilo_executable *exe = compiled(client, o, &cached);
    if (!o || !o->entry || strcmp(o->entry, "main") == 0)
        check(client, exe);
    hilo_executable_release(exe);
    hilo_client_release(client);
    return cached;
}

static size_t files(struct rt_store_file **v) {
    size_t n = 0;
    struct rt_store s = {.dir = dir};
    hilo_allocator al = mem_system_allocator();
    assert_int_equal(rt_store_list(&s, &al, v, &n), HILO_OK);
    return n;
}

static void empty(void) {
    struct rt_store s = {.dir = dir};
    hilo_allocator al = mem_system_allocator();
    rt_store_trim(&s, &al, 0);
}

/* The only file. */
static void path_of_one(char *path, size_t size) {
    struct rt_store_file *v;
    assert_int_equal(files(&v), 1);
    snprintf(path, size, "%s/%s", dir, v->name);
    free(v);
}

/* ---- tests ----------------------------------------------------------------------------------- */

static void test_blake2(void **state) {
    (void)state;
    static const uint8_t abc[] = {0xbd, 0xdd, 0x81, 0x3c, 0x63, 0x42, 0x39, 0x72, 0x31, 0x71, 0xef,
                                  0x3f, 0xee, 0x98, 0x57, 0x9b, 0x94, 0x96, 0x4e, 0x3b, 0xb1, 0xcb,
                                  0x3e, 0x42, 0x72, 0x62, 0xc8, 0xc0, 0x68, 0xd5, 0x23, 0x19};
    static const uint8_t numbers[] = {0x3a, 0x48, 0x6e, 0x3f, 0xe3, 0xee, 0x41, 0x48, 0x53, 0x00, 0x02,
                                      0x69, 0xac, 0x02, 0x00, 0x30, 0xae, 0xef, 0x74, 0x8c, 0xb0, 0x5c,
                                      0xd6, 0x2b, 0xa8, 0x59, 0x39, 0xec, 0x29, 0x8e, 0xf2, 0x5c}; /* of 0 … 299, modulo 256 */
    uint8_t got[BLAKE2_BYTES], bytes[300];
    struct blake2 b;
    for (int i = 0; i < 300; i++)
        bytes[i] = (uint8_t)i;
    blake2_init(&b);
    blake2_add(&b, "abc", 3);
    blake2_end(&b, got);
    assert_memory_equal(got, abc, sizeof abc);
    for (size_t piece = 1; piece <= 300; piece++) {
        blake2_init(&b);
        for (size_t at = 0; at < 300; at += piece)
            blake2_add(&b, bytes + at, piece < 300 - at ? piece : 300 - at);
        blake2_end(&b, got);
        assert_memory_equal(got, numbers, sizeof numbers);
    }
}

/* Byte i is 7 i + i / 256, modulo 256. The hashes are those of Python's hashlib, which has the tree mode. */
static void test_blake2_tree(void **state) {
    (void)state;
    static const struct {
        size_t n;
        const char *hex;
    } cases[] = {{0, "0b38a46e727db372eae795668b9d079666309d1551dc12b6b9ef2af8f1fab802"},
                 {129, "4963ecf29a423db410b36663a92b4fc954d3e3940d5301b467113b53b9c54d7a"},
                 {2048, "f6814ac58cbc78fd5eaebc8693c63ff9f43ae1ee99434bee80673b6b39efce60"},
                 {5000, "ff14a584282a350d83b76555975b29b215f4b46dbfd411df4c5aad1c2244e027"}};
    uint8_t bytes[5000], got[BLAKE2_BYTES];
    char hex[2 * BLAKE2_BYTES + 1];
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (uint8_t)(7 * i + i / 256);
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        blake2_tree(bytes, cases[c].n, got);
        for (int i = 0; i < BLAKE2_BYTES; i++)
            snprintf(hex + 2 * i, 3, "%02x", got[i]);
        assert_string_equal(hex, cases[c].hex);
    }
}

static void test_hits(void **state) {
    (void)state;
    empty();
    int32_t cached;
    hilo_client *client = client_in(dir, 0, NULL);
    hilo_executable *first = compiled(client, NULL, &cached), *second;
    assert_int_equal(cached, HILO_CACHED_NOT);
    check(client, first);
    second = compiled(client, NULL, &cached);
    assert_int_equal(cached, HILO_CACHED_MEMORY);
    assert_ptr_not_equal(first, second);
    hilo_executable_release(first); /* what it has loaded stays as long as the second */
    check(client, second);
    check(client, second);
    hilo_stats stats = {.struct_size = sizeof stats};
    hilo_executable_stats(second, &stats);
    assert_int_equal(stats.executions, 2);
    first = compiled(client, NULL, &cached);
    assert_int_equal(cached, HILO_CACHED_MEMORY);
    hilo_executable_release(first);
    hilo_executable_release(second);
    second = compiled(client, NULL, &cached);
    assert_int_equal(cached, HILO_CACHED_DISK);
    assert_string_equal(hilo_executable_input_name(second, 0), "");
    hilo_executable_release(second);
    hilo_client_release(client);
    assert_int_equal(cached_anew(NULL, NULL), HILO_CACHED_DISK);
}

/* A module has the key of its bytes; one that was not read has one of its own, and is found again as well. */
static void test_modules(void **state) {
    (void)state;
    int32_t cached;
    hilo_client *client = client_in(dir, 0, NULL);
    hilo_module *module;
    hilo_executable *exe[3];
    hilo_stats stats = {.struct_size = sizeof stats};
    exe[0] = compiled(client, NULL, &cached);
    assert_int_equal(hilo_module_parse(client, program, strlen(program), NULL, &module), HILO_OK);
    for (int i = 1; i < 3; i++) {
        assert_int_equal(hilo_compile(client, module, NULL, &exe[i]), HILO_OK);
        hilo_executable_stats(exe[i], &stats);
        assert_int_equal(stats.cached, i == 1 ? HILO_CACHED_MEMORY : HILO_CACHED_NOT);
        module->has_source = false;
    }
    hilo_executable *again;
    assert_int_equal(hilo_compile(client, module, NULL, &again), HILO_OK);
    hilo_executable_stats(again, &stats);
    assert_int_equal(stats.cached, HILO_CACHED_MEMORY);
    check(client, again);
    hilo_executable_release(again);
    for (int i = 0; i < 3; i++)
        hilo_executable_release(exe[i]);
    hilo_module_release(module);
    hilo_client_release(client);
}

/* What is in the cache was verified; so is what is answered from it. */
static void test_unverified(void **state) {
    (void)state;
    hilo_module_options o;
    hilo_module *module;
    hilo_executable *exe;
    empty();
    assert_int_equal(cached_anew(NULL, NULL), HILO_CACHED_NOT);
    hilo_client *client = client_in(dir, 0, NULL);
    hilo_module_options_init(&o);
    o.skip_verify = 1;
    assert_int_equal(hilo_compile_source(client, program, strlen(program), &o, NULL, &exe), HILO_FAILED_PRECONDITION);
    assert_int_equal(hilo_module_parse(client, program, strlen(program), &o, &module), HILO_OK);
    assert_int_equal(hilo_compile(client, module, NULL, &exe), HILO_FAILED_PRECONDITION);
    hilo_module_release(module);
    hilo_client_release(client);
}

static void test_options(void **state) {
    (void)state;
    hilo_compile_options o;
    hilo_compile_options_init(&o);
    empty();
    assert_int_equal(cached_anew(NULL, NULL), HILO_CACHED_NOT);
    o.level = 1;
    assert_int_equal(cached_anew(&o, NULL), HILO_CACHED_NOT);
    assert_int_equal(cached_anew(&o, NULL), HILO_CACHED_DISK);
    o.entry = "other";
    assert_int_equal(cached_anew(&o, NULL), HILO_CACHED_NOT);
    o.passes = "dce";
    assert_int_equal(cached_anew(&o, NULL), HILO_CACHED_NOT);
    hilo_compile_options_init(&o);
    o.cache = 0;
    assert_int_equal(cached_anew(&o, NULL), HILO_CACHED_NOT);
    o.cache = 1;
    o.backend = HILO_BACKEND_REFERENCE;
    struct heard h = {0};
    assert_int_equal(cached_anew(&o, NULL), HILO_CACHED_NOT);
    assert_int_equal(cached_anew(&o, &h), HILO_CACHED_NOT);
    assert_string_equal(h.why_not, "its backend is named");
    hilo_compile_options_init(&o);
    o.machine = "tests/target/machines/unified.machine";
    assert_int_equal(cached_anew(&o, &h), HILO_CACHED_NOT);
    assert_int_equal(cached_anew(&o, &h), HILO_CACHED_NOT);
    assert_string_equal(h.why_not, "its steps are placed on the units of a machine");
    hilo_compile_options_init(&o);
    h = (struct heard){0};
    assert_int_equal(cached_anew(&o, &h), HILO_CACHED_DISK);
    assert_string_equal(h.why_not, "");
    struct rt_store_file *v;
    assert_int_equal(files(&v), 4);
    free(v);
}

static void overwrite(const char *path, const char *bytes, size_t n) {
    unlink(path);
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(bytes, 1, n, f), n);
    assert_int_equal(fclose(f), 0);
    assert_int_equal(chmod(path, 0600), 0);
}

static char *contents(const char *path, size_t *n) {
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    char *bytes = malloc(1 << 20);
    *n = fread(bytes, 1, 1 << 20, f);
    fclose(f);
    return bytes;
}

/* Every byte matters, and every length; what is refused goes. */
static void test_damage(void **state) {
    (void)state;
    char path[4096];
    uint8_t key[RT_KEY_BYTES];
    int32_t cached;
    size_t n;
    struct heard h = {0};
    empty();
    hilo_client *client = client_in(dir, 0, &h);
    hilo_executable *exe = compiled(client, NULL, &cached);
    memcpy(key, exe->key, sizeof key);
    hilo_executable_release(exe);
    path_of_one(path, sizeof path);
    char *bytes = contents(path, &n);
    for (size_t i = 0; i < n; i++) {
        bytes[i] ^= 4;
        overwrite(path, bytes, n);
        bytes[i] ^= 4;
        assert_null(rt_store_get(client, key));
        assert_int_equal(access(path, F_OK), -1);
        overwrite(path, bytes, i);
        assert_null(rt_store_get(client, key));
    }
    assert_int_equal(h.warnings, 2 * n);
    assert_non_null(strstr(h.last, path));
    assert_non_null(strstr(h.last, "compiling again"));
    overwrite(path, bytes, n);
    exe = rt_store_get(client, key);
    assert_non_null(exe);
    check(client, exe);
    hilo_executable_release(exe);
    overwrite(path, bytes, n / 2);
    assert_int_equal(cached_anew(NULL, &h), HILO_CACHED_NOT); /* and written once more */
    assert_int_equal(cached_anew(NULL, &h), HILO_CACHED_DISK);
    free(bytes);
    hilo_client_release(client);
}

/* Files that are whole, and not what they are called, or not to be trusted. */
static void test_foreign(void **state) {
    (void)state;
    char path[4096], other[4200];
    struct heard h = {0};
    hilo_compile_options o;
    hilo_compile_options_init(&o);
    empty();
    o.entry = "other";
    assert_int_equal(cached_anew(&o, NULL), HILO_CACHED_NOT);
    path_of_one(path, sizeof path);
    snprintf(other, sizeof other, "%s.kept", path);
    assert_int_equal(rename(path, other), 0);
    assert_int_equal(cached_anew(NULL, NULL), HILO_CACHED_NOT);
    path_of_one(path, sizeof path);
    assert_int_equal(rename(other, path), 0); /* another function's, under this one's name */
    assert_int_equal(cached_anew(NULL, &h), HILO_CACHED_NOT);
    assert_non_null(strstr(h.last, "of another program"));
    assert_int_equal(chmod(path, 0620), 0);
    assert_int_equal(cached_anew(NULL, &h), HILO_CACHED_NOT);
    assert_non_null(strstr(h.last, "may be changed by other users"));
    assert_int_equal(rename(path, other), 0);
    assert_int_equal(symlink(other, path), 0);
    assert_int_equal(cached_anew(NULL, &h), HILO_CACHED_NOT);
    assert_int_equal(cached_anew(NULL, &h), HILO_CACHED_DISK); /* the link was replaced */
    unlink(other);
}

static void test_no_directory(void **state) {
    (void)state;
    int32_t cached;
    struct heard h = {0};
    hilo_client *client = client_in("/dev/null/hilo", 0, &h); /* cannot be created */
    for (int i = 0; i < 2; i++) {
        hilo_executable *exe = compiled(client, NULL, &cached);
        assert_int_equal(cached, HILO_CACHED_NOT);
        check(client, exe);
        hilo_executable_release(exe);
    }
    assert_int_equal(h.warnings, 1);
    assert_non_null(strstr(h.last, "/dev/null/hilo"));
    hilo_client_release(client);
    client = client_in("", 0, &h);
    hilo_executable *exe[2];
    for (int i = 0; i < 2; i++) {
        exe[i] = compiled(client, NULL, &cached);
        assert_int_equal(cached, HILO_CACHED_NOT);
    }
    hilo_executable_release(exe[0]);
    hilo_executable_release(exe[1]);
    hilo_client_release(client);
    assert_int_equal(h.warnings, 1);
}

static void test_environment(void **state) {
    (void)state;
    static const struct {
        const char *text;
        uint64_t bytes;
    } sizes[] = {{"1000", 1000}, {"2k", 2048}, {"3M", 3 << 20}, {"1G", 1 << 30}, {"", 1 << 30}, {"-5", 1 << 30},
                 {"5x", 1 << 30}, {"99999999999999999999", 1 << 30}, {"99999999999999G", 1 << 30}};
    hilo_allocator al = mem_system_allocator();
    struct rt_store s;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        setenv("HILO_CACHE_SIZE", sizes[i].text, 1);
        assert_true(rt_store_init(&s, &al, "/x", 0));
        assert_int_equal(s.most, sizes[i].bytes);
        rt_store_free(&s, &al);
    }
    unsetenv("HILO_CACHE_SIZE");
    unsetenv("HILO_CACHE_DIR");
    setenv("XDG_CACHE_HOME", "relative", 1);
    setenv("HOME", "/h/me", 1);
    assert_true(rt_store_init(&s, &al, NULL, 0) && !s.named);
    assert_string_equal(s.dir, "/h/me/.cache/hilo");
    rt_store_free(&s, &al);
    setenv("XDG_CACHE_HOME", "/var/cache/me", 1);
    assert_true(rt_store_init(&s, &al, NULL, 7) && s.most == 7);
    assert_string_equal(s.dir, "/var/cache/me/hilo");
    rt_store_free(&s, &al);
    setenv("HILO_CACHE_DIR", "/named", 1);
    assert_true(rt_store_init(&s, &al, NULL, 0) && s.named);
    assert_string_equal(s.dir, "/named");
    rt_store_free(&s, &al);
    setenv("HILO_CACHE_DIR", "", 1);
    assert_true(rt_store_init(&s, &al, NULL, 0));
    assert_null(s.dir);
}

/* The oldest go, by use; files that a process has left in the middle go, too, when they are old. */
static void test_size(void **state) {
    (void)state;
    enum { MOST = 100 << 10, PROGRAMS = 64 };
    int32_t cached;
    uint8_t key[RT_KEY_BYTES] = {0}, kept[RT_KEY_BYTES];
    char old[4096];
    empty();
    hilo_client *client = client_in(dir, MOST, NULL);
    hilo_executable *exe = compiled(client, NULL, &cached);
    memcpy(kept, exe->key, sizeof kept);
    snprintf(old, sizeof old, "%s/.tmp-1-1", dir);
    overwrite(old, "half", 4);
    assert_int_equal(utimensat(AT_FDCWD, old, (struct timespec[]){{.tv_sec = 1}, {.tv_sec = 1}}, 0), 0);
    for (int i = 0; i < PROGRAMS; i++) {
        hilo_executable *used = NULL;
        hilo_client *another = client_in(dir, MOST, NULL);
        key[0] = (uint8_t)i;
        assert_non_null(used = rt_store_get(another, kept));
        rt_store_put(another, used, key);
        hilo_executable_release(used);
        hilo_client_release(another);
    }
    struct rt_store_file *v;
    size_t n = files(&v);
    assert_true(n > 5 && n < PROGRAMS && n * 4096 <= MOST);
    uint64_t bytes = v[0].bytes;
    free(v);
    assert_int_equal(access(old, F_OK), -1);
    hilo_executable_release(exe);
    hilo_client_release(client);
    assert_int_equal(cached_anew(NULL, NULL), HILO_CACHED_DISK); /* it was used all the time */
    for (int fits = 0; fits < 2; fits++) { /* a file takes at most a quarter */
        empty();
        client = client_in(dir, 4 * bytes - !fits, NULL);
        exe = compiled(client, NULL, &cached);
        hilo_executable_release(exe);
        hilo_client_release(client);
        assert_int_equal(files(&v), fits);
        free(v);
    }
}

/* Processes that write, read and delete the same few files. */
static void child(int number) {
    hilo_compile_options o;
    hilo_compile_options_init(&o);
    for (int i = 0; i < 20; i++) {
        o.level = i % 3;
        int32_t cached = cached_anew(&o, NULL);
        if (i % 7 == number % 7)
            empty();
        if (cached != HILO_CACHED_NOT && cached != HILO_CACHED_DISK)
            _exit(1);
    }
    _exit(0);
}

static void test_processes(void **state) {
    (void)state;
    enum { CHILDREN = 4 };
    pid_t pids[CHILDREN];
    int status;
    empty();
    for (int i = 0; i < CHILDREN; i++) {
        pids[i] = fork();
        assert_true(pids[i] >= 0);
        if (pids[i] == 0)
            child(i);
    }
    for (int i = 0; i < CHILDREN; i++) {
        assert_int_equal(waitpid(pids[i], &status, 0), pids[i]);
        assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
    struct rt_store_file *v;
    assert_true(files(&v) <= 3);
    free(v);
}

/* Where memory is short on the way to a file, the program is compiled, or there is an error; the file stays. */
static void test_exhaustion(void **state) {
    (void)state;
    empty();
    assert_int_equal(cached_anew(NULL, NULL), HILO_CACHED_NOT);
    bool found = false;
    for (long k = 0; !found; k++) {
        struct meter m = {.left = 1000};
        hilo_client_options o;
        hilo_client *client;
        hilo_client_options_init(&o);
        o.allocator = (hilo_allocator){meter_realloc, &m};
        o.cache_dir = dir;
        assert_int_equal(hilo_client_create(&o, &client), HILO_OK);
        hilo_executable *exe = NULL;
        hilo_stats stats = {.struct_size = sizeof stats};
        m.left = k;
        hilo_status status = hilo_compile_source(client, program, strlen(program), NULL, NULL, &exe);
        assert_true(status == HILO_OK || status == HILO_RESOURCE_EXHAUSTED);
        found = status == HILO_OK && hilo_executable_stats(exe, &stats) == HILO_OK && stats.cached == HILO_CACHED_DISK;
        hilo_executable_release(exe);
        hilo_client_release(client);
        assert_int_equal(m.live, 0);
    }
    struct rt_store_file *v;
    assert_int_equal(files(&v), 1);
    free(v);
}

static int set_up(void **state) {
    (void)state;
    return mkdtemp(dir) ? 0 : -1;
}

static int tear_down(void **state) {
    (void)state;
    empty();
    return rmdir(dir);
}

/* ---- unknown sizes ---------------------------------------------------------------------------- */

/* Runs a program on n numbers; how many runs of it have compiled. */
static uint64_t run_special(hilo_client *client, hilo_executable *exe, int64_t n) {
    float x[16] = {1, 2, 3, 4, 5, 6, 7, 8}, y[16];
    assert_true(n <= 16);
    hilo_stats stats = {.struct_size = sizeof stats};
    hilo_buffer *in, *out;
    assert_int_equal(hilo_buffer_from_host(client, HILO_F32, &n, 1, x, NULL, &in), HILO_OK);
    assert_int_equal(hilo_execute(exe, NULL, &in, 1, &out, 1), HILO_OK);
    assert_int_equal(hilo_buffer_to_host(out, y, (size_t)n * sizeof *y), HILO_OK);
    for (int64_t i = 0; i < n; i++)
        assert_true(y[i] == 2 * x[i]);
    assert_int_equal(hilo_executable_stats(exe, &stats), HILO_OK);
    hilo_buffer_release(in);
    hilo_buffer_release(out);
    return stats.specialisations;
}

static void append(void *user, const char *p, size_t n) {
    strbuf_putn(user, p, n);
}

/* What was compiled for some shapes is found by others, also where the program comes from a file of its own. */
static void test_specialisations(void **state) {
    static const char text[] = "func.func @main(%x: tensor<?xf32>) -> tensor<?xf32> {\n"
                               "  %0 = stablehlo.add %x, %x : tensor<?xf32>\n"
                               "  return %0 : tensor<?xf32> }\n";
    struct rt_store_file *v;
    struct strbuf file;
    (void)state;
    empty();
    strbuf_init(&file, mem_system_allocator());
    for (int round = 0; round < 4; round++) {
        hilo_client *client = client_in(dir, 0, NULL);
        hilo_executable *exe;
        if (round < 2)
            assert_int_equal(hilo_compile_source(client, text, strlen(text), NULL, NULL, &exe), HILO_OK);
        else
            assert_int_equal(hilo_executable_deserialize(client, file.p, file.n, &exe), HILO_OK);
        if (round == 0)
            assert_int_equal(hilo_executable_serialize(exe, append, &file), HILO_OK);
        bool first = round % 2 == 0;
        assert_int_equal(run_special(client, exe, 4), first);
        assert_int_equal(run_special(client, exe, 5), first ? 2 : 0);
        assert_int_equal(run_special(client, exe, 4), first ? 2 : 0);
        assert_int_equal(run_special(client, exe, 6 + round), first ? 3 : 1);
        hilo_executable_release(exe);
        hilo_client_release(client);
    }
    assert_int_equal(files(&v), 8);
    free(v);
    strbuf_free(&file);
    empty();
}

static uint64_t fingerprint_of(hilo_client *client, int index, const char *mark) {
    char text[1024];
    hilo_executable *exe;
    snprintf(text, sizeof text,
             "module attributes {mhlo.num_partitions = 2 : i32} {\n"
             "  func.func @main(%%x: tensor<2xf32>) -> tensor<4xf32> {\n"
             "    %%y = stablehlo.custom_call @call(%%x) {mhlo.backend_config = {index = %d : ui64}%s}\n"
             "        : (tensor<2xf32>) -> tensor<2xf32>\n"
             "    %%z = \"stablehlo.all_gather\"(%%y) {all_gather_dim = 0 : i64, use_global_device_ids,\n"
             "        replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>,\n"
             "        channel_handle = #stablehlo.channel_handle<handle = 1, type = 0>} : (tensor<2xf32>) -> tensor<4xf32>\n"
             "    return %%z : tensor<4xf32>\n  }\n}\n", index, mark);
    assert_int_equal(hilo_compile_source(client, text, strlen(text), NULL, NULL, &exe), HILO_OK);
    uint64_t n = rt_executable_fingerprint(exe);
    hilo_executable_release(exe);
    return n;
}

/* What nodes compare: the settings of calls, but not what means something in one process alone. */
static void test_fingerprint(void **state) {
    (void)state;
    hilo_client *client = client_in("", 0, NULL);
    assert_true(fingerprint_of(client, 1, "") == fingerprint_of(client, 1, ""));
    assert_true(fingerprint_of(client, 1, "") != fingerprint_of(client, 2, ""));
    assert_true(fingerprint_of(client, 1, ", hilo.of_process") == fingerprint_of(client, 2, ", hilo.of_process"));
    hilo_client_release(client);
}

int main(void) {
    const struct CMUnitTest always[] = {cmocka_unit_test(test_blake2), cmocka_unit_test(test_blake2_tree),
                                        cmocka_unit_test(test_environment), cmocka_unit_test(test_fingerprint)};
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_processes), cmocka_unit_test(test_hits),         cmocka_unit_test(test_modules),
        cmocka_unit_test(test_options),   cmocka_unit_test(test_damage),       cmocka_unit_test(test_foreign),
        cmocka_unit_test(test_unverified), cmocka_unit_test(test_specialisations),
        cmocka_unit_test(test_size),      cmocka_unit_test(test_no_directory), cmocka_unit_test(test_exhaustion)};
    struct diag_list d;
    setenv("HILO_TIER", "optimised", 1); /* files are written at once; test_tiers.c has the others */
    diag_init(&d, mem_system_allocator());
    int failed = cmocka_run_group_tests(always, NULL, NULL);
    bool can = code_available(&d) == HILO_OK;
    diag_clear(&d);
    if (!rt_build_id().n || !can) /* nothing is generated, or kept of a build that nothing tells from others */
        return failed;
    return failed + cmocka_run_group_tests(tests, set_up, tear_down);
}
