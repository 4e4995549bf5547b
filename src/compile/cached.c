/* Keys of the compile cache, and hilo_compile. A key is a hash of everything that an executable depends on: the bytes of the
 * program (of one that was made in memory, its text), the options, this build of hilo, and the processor. See
 * docs/adr/0009-cache.md and runtime/store.h. */
#include "compile/cached.h"
#include "compile/dump.h"
#include "compile/model.h"
#include "runtime/code.h"
#include "runtime/runtime.h"
#include "target/target.h"

#include <stdlib.h>
#include <unistd.h>

void cached_hash(struct str bytes, uint8_t out[RT_KEY_BYTES]) {
    blake2_tree(bytes.p, bytes.n, out);
}

/* ---- keys ------------------------------------------------------------------------------------ */

/* Preceded by its size, so that two texts never read as one; NULL is not "". */
static void add_text(struct blake2 *b, const char *z) {
    uint64_t n = z ? strlen(z) : UINT64_MAX;
    blake2_add(b, &n, sizeof n);
    if (z)
        blake2_add(b, z, (size_t)n);
}

static void add_i64(struct blake2 *b, int64_t v) {
    blake2_add(b, &v, sizeof v);
}

/* Every option that changes what is made. */
static void add_options(struct blake2 *b, const hilo_compile_options *o) {
    add_i64(b, o->level);
    add_i64(b, o->backend);
    add_text(b, o->entry);
    add_text(b, o->passes);
    add_i64(b, (int64_t)o->memory_limit);
    add_i64(b, o->batch_invariant);
}

hilo_tier compile_tier(const hilo_client *client, const hilo_compile_options *o) {
    return o->tier == HILO_TIER_AUTO ? client->tier : o->tier;
}


/* This build, and what generated code depends on of this machine (target/target.h); false when the build is not known. */
static bool add_here(struct blake2 *b, const hilo_client *client) {
    struct str build = rt_build_id();
    struct strbuf text;
    struct target target;
    struct diag_list d;
    strbuf_init(&text, client->al);
    diag_init(&d, client->al);
    if (target_host(&target, &d) == HILO_OK) {
        target_expect_threads(&target, client->threads);
        target_print(&target, &text);
    }
    diag_clear(&d);
    add_text(b, hilo_version());
    add_i64(b, RT_FILE_VERSION);
    add_i64(b, HILO_KERNEL_ABI_VERSION);
    blake2_add(b, build.p, build.n);
    add_text(b, target_cpu_machine());
    add_text(b, text.p);
    add_i64(b, rt_code_tiles());
    add_text(b, getenv("HILO_LLVM_PATH")); /* another LLVM generates other code */
    bool known = build.n && !text.failed;
    strbuf_free(&text);
    return known;
}

/* Asking a virtual processor takes time, so that a client does it once. */
static bool here(hilo_client *client, uint8_t out[RT_KEY_BYTES]) {
    struct rt_store *s = &client->store;
    pthread_mutex_lock(&client->lock);
    if (!s->asked) {
        struct blake2 b;
        blake2_init(&b);
        s->known = add_here(&b, client);
        blake2_end(&b, s->here);
        s->asked = true;
    }
    memcpy(out, s->here, RT_KEY_BYTES);
    bool known = s->known;
    pthread_mutex_unlock(&client->lock);
    return known;
}

/* Measurements (compile/model.h) and installed libraries decide the provider of each op. */
static void add_calibration(struct blake2 *b, const hilo_client *client) {
    char path[4096];
    struct file file;
    struct diag_list d;
    if (!model_path(client, path, sizeof path) || access(path, R_OK) != 0) {
        add_text(b, NULL);
        return;
    }
    diag_init(&d, client->al);
    if (file_open(path, client->al, &d, &file) == HILO_OK) {
        blake2_add(b, file.text.p, file.text.n);
        file_close(&file);
    }
    diag_clear(&d);
    static const char *const paths[] = {"HILO_ONEDNN_PATH", "HILO_OPENBLAS_PATH", "HILO_FFTW_PATH", "HILO_CUBLASLT_PATH",
                                        "HILO_CUDNN_PATH", "HILO_CUFFT_PATH", "HILO_CUSOLVER_PATH", "HILO_CUBLAS_PATH"};
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++)
        add_text(b, getenv(paths[i]));
}

struct cached {
    hilo_client *client;
    const hilo_compile_options *o;
    struct diag_list *d;
    uint8_t key[RT_KEY_BYTES];
    bool on; /* there is a key */
    const char *why_not; /* the program is not kept although there is a cache; NULL when it is */
};

/* What shows how a program is compiled, or what it means, is made each time, and what files are not for. */
static const char *unwanted(const hilo_compile_options *o) {
    return o->backend != HILO_BACKEND_AUTO ? "its backend is named" :
           o->target_cpu                   ? "it is for a processor that is named" :
           o->machine                      ? "its steps are placed on the units of a machine" :
           dump_directory(o)               ? "what its passes make is written" :
                                             NULL;
}

static bool is_wanted(struct cached *c) {
    if (!c->client->store.dir || !c->o->cache)
        return false;
    c->why_not = unwanted(c->o);
    return !c->why_not;
}

/* What a content hash is of: the text of a module, or that of a .hilo file, which is optimised. */
enum content { CONTENT_SOURCE, CONTENT_TEXT, CONTENT_FILE };

static void make_key(struct cached *c, enum content of, const uint8_t content[RT_KEY_BYTES]) {
    struct blake2 b;
    uint8_t machine[RT_KEY_BYTES];
    c->on = here(c->client, machine);
    blake2_init(&b);
    blake2_add(&b, machine, sizeof machine);
    add_i64(&b, of);
    blake2_add(&b, content, RT_KEY_BYTES);
    add_options(&b, c->o);
    add_i64(&b, compile_tier(c->client, c->o) == HILO_TIER_BASELINE); /* else what is kept is optimised code */
    add_text(&b, rt_client_gpu_target(c->client));
    add_calibration(&b, c->client);
    blake2_end(&b, c->key);
}

static void key_of_module(struct cached *c, const hilo_module *module) {
    if (module->has_source) {
        make_key(c, CONTENT_SOURCE, module->source);
        return;
    }
    struct strbuf text;
    uint8_t content[RT_KEY_BYTES];
    strbuf_init(&text, c->client->al);
    ir_print_module(module->m, &(struct ir_print_options){.locations = true}, &text);
    if (!text.failed) {
        cached_hash((struct str){text.p, text.n}, content);
        make_key(c, CONTENT_TEXT, content);
    }
    strbuf_free(&text);
}

hilo_executable *cached_get(hilo_client *client, const uint8_t *key, hilo_tier tier) {
    hilo_executable *exe = rt_store_get(client, key);
    struct diag_list d;
    diag_init(&d, client->al);
    if (exe && tier == HILO_TIER_OPTIMISED && rt_tier_up(exe, &d) != HILO_OK) { /* it cannot be compiled to that */
        hilo_executable_release(exe);
        exe = NULL;
    }
    diag_clear(&d);
    return exe;
}

static hilo_executable *find(const struct cached *c) {
    return c->on ? cached_get(c->client, c->key, compile_tier(c->client, c->o)) : NULL;
}

/* ---- compiling ------------------------------------------------------------------------------- */

static void key_specialisations(const struct cached *c, hilo_executable *exe) {
    exe->specialise_keyed = true;
    memcpy(exe->key, c->key, RT_KEY_BYTES);
}

/* Whether it is whole in a file, which has no products by libraries. */
static bool is_whole(const struct plan *p) {
    for (uint32_t i = 0; i < p->nsteps; i++)
        if (p->steps[i].kind == PLAN_KERNEL && p->steps[i].kernel->library)
            return false;
    return true;
}

/* Evaluated plans are not cached: a compiler that is installed later, or the shapes of a run, may give better ones. */
static hilo_status compile_and_keep(struct cached *c, hilo_module *module, hilo_executable **out) {
    HILO_TRY(compile_module(c->client, module, c->o, NULL, c->d, out));
    if (c->on && !is_whole(&(*out)->plan)) {
        c->why_not = "it has products by libraries";
        return HILO_OK;
    }
    if (c->on && !(*out)->plan.evaluated)
        rt_store_put(c->client, *out, c->key);
    else if (c->on)
        key_specialisations(c, *out);
    return HILO_OK;
}

void cached_loaded(hilo_executable *exe, struct str text, const hilo_compile_options *o) {
    struct cached c = {exe->client, o, NULL, .on = false};
    uint8_t content[RT_KEY_BYTES];
    if (!is_wanted(&c))
        return;
    cached_hash(text, content);
    make_key(&c, CONTENT_FILE, content);
    if (c.on)
        key_specialisations(&c, exe);
}

void cached_specialised(const hilo_executable *exe, hilo_buffer *const *inputs, uint8_t out[RT_KEY_BYTES]) {
    struct blake2 b;
    blake2_init(&b);
    blake2_add(&b, exe->key, RT_KEY_BYTES);
    for (uint32_t i = 0; i < exe->plan.narguments; i++) {
        add_i64(&b, inputs[i]->rank);
        blake2_add(&b, inputs[i]->dims, inputs[i]->rank * sizeof(int64_t));
    }
    blake2_end(&b, out);
}

/* The end of all of them. */
static hilo_status finish(struct cached *c, double begin, hilo_status status, hilo_executable *exe, hilo_executable **out) {
    static const char *const from[] = {"compiled", "had compiled", "loaded from the cache"};
    if (status == HILO_OK) {
        exe->compile_ms = rt_now_ms() - begin;
        *out = exe;
        rt_log(c->client, HILO_LOG_DEBUG, "%s in %.3f ms: %u steps, %u buffers%s%s", from[exe->cached], exe->compile_ms,
               exe->plan.nsteps, exe->plan.nbuffers, c->why_not ? "; not kept in the compile cache: " : "",
               c->why_not ? c->why_not : "");
    }
    return rt_finish(c->client, c->d, status);
}

static void key_of_bytes(struct cached *c, struct str bytes) {
    uint8_t content[RT_KEY_BYTES];
    cached_hash(bytes, content);
    make_key(c, CONTENT_SOURCE, content);
}

hilo_executable *cached_find(hilo_client *client, struct str bytes, const hilo_compile_options *o) {
    struct cached c = {client, o, NULL, .on = false};
    if (is_wanted(&c))
        key_of_bytes(&c, bytes);
    return find(&c);
}

hilo_status hilo_compile(hilo_client *client, hilo_module *module, const hilo_compile_options *options, hilo_executable **out) {
    double begin = rt_now_ms();
    hilo_compile_options o;
    hilo_compile_options_init(&o);
    if (!client || !module || !out || !rt_options(&o, sizeof o, options))
        return HILO_INVALID_ARGUMENT;
    struct diag_list d;
    struct cached c = {client, &o, &d, .on = false};
    diag_init(&d, client->al);
    if (is_wanted(&c) && module->client == client)
        key_of_module(&c, module);
    hilo_executable *exe = find(&c);
    hilo_status status = exe ? HILO_OK : compile_and_keep(&c, module, &exe);
    return finish(&c, begin, status, exe, out);
}

static hilo_status read_and_compile(struct cached *c, struct file *f, const hilo_module_options *mo,
                                    hilo_executable **out) {
    hilo_module *module;
    HILO_TRY(module_read(c->client, f, mo, c->d, &module));
    hilo_status status = compile_and_keep(c, module, out);
    hilo_module_release(module);
    return status;
}

static hilo_status compile_bytes(struct cached *c, struct file *f, const hilo_module_options *mo, hilo_executable **out) {
    c->d->first_line = mo->first_line;
    if (is_wanted(c) && !mo->skip_verify) /* a hit implies that the program is valid */
        key_of_bytes(c, f->text);
    hilo_executable *exe = find(c);
    *out = exe;
    return exe ? HILO_OK : read_and_compile(c, f, mo, out);
}

hilo_status hilo_compile_source(hilo_client *client, const void *bytes, size_t nbytes,
                                const hilo_module_options *module_options, const hilo_compile_options *options,
                                hilo_executable **out) {
    double begin = rt_now_ms();
    hilo_module_options mo;
    hilo_compile_options o;
    hilo_module_options_init(&mo);
    hilo_compile_options_init(&o);
    if (!client || !out || (nbytes && !bytes) || !rt_options(&mo, sizeof mo, module_options) ||
        !rt_options(&o, sizeof o, options))
        return HILO_INVALID_ARGUMENT;
    struct diag_list d;
    struct cached c = {client, &o, &d, .on = false};
    hilo_executable *exe = NULL;
    diag_init(&d, client->al);
    struct file memory = {.text = {nbytes ? bytes : "", nbytes}};
    hilo_status status = compile_bytes(&c, &memory, &mo, &exe);
    return finish(&c, begin, status, exe, out);
}

hilo_status hilo_compile_file(hilo_client *client, const char *path, const hilo_module_options *module_options,
                              const hilo_compile_options *options, hilo_executable **out) {
    double begin = rt_now_ms();
    hilo_module_options mo;
    hilo_compile_options o;
    hilo_module_options_init(&mo);
    hilo_compile_options_init(&o);
    if (!client || !path || !out || !rt_options(&mo, sizeof mo, module_options) || !rt_options(&o, sizeof o, options))
        return HILO_INVALID_ARGUMENT;
    if (!mo.name)
        mo.name = path;
    struct diag_list d;
    struct cached c = {client, &o, &d, .on = false};
    hilo_executable *exe = NULL;
    struct file file;
    diag_init(&d, client->al);
    hilo_status status = file_open(path, client->al, &d, &file);
    if (status == HILO_OK) {
        status = compile_bytes(&c, &file, &mo, &exe);
        file_close(&file);
    }
    return finish(&c, begin, status, exe, out);
}
