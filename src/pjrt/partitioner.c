/* Custom calls that their framework divides, as JAX does its custom_partitioning: the framework registers functions for a
 * target, which get shapes and shardings and give shardings and a program on shards. A call of InspectSharding has a function
 * of its own in its config; it is called with the sharding. */
#include "base/decimal.h"
#include "opt/opt.h"
#include "pjrt/ffi.h"
#include "runtime/internal.h"

#include <dlfcn.h>
#include <inttypes.h>
#include <stdlib.h>

/* ---- targets --------------------------------------------------------------------------------- */

/* Registered for the process: the interface names no client. */
struct known {
    struct known *next;
    struct pjrt_divider *divider;
    size_t n;
    char name[];
};

static struct {
    pthread_mutex_t lock;
    struct known *first;
} registry = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* NULL where there is none; `lock` is held. */
static struct known *find_known(struct str target) {
    struct known *k = registry.first;
    while (k && !str_eq((struct str){k->name, k->n}, target))
        k = k->next;
    return k;
}

static struct pjrt_divider *find(struct str target) {
    pthread_mutex_lock(&registry.lock);
    struct known *k = find_known(target);
    struct pjrt_divider *out = k ? k->divider : NULL;
    pthread_mutex_unlock(&registry.lock);
    return out;
}

struct pjrt_error *pjrt_divider_register(struct pjrt_divider_register *a) {
    if (!a || a->struct_size < sizeof *a)
        return pjrt_fail(HILO_INVALID_ARGUMENT, "the argument struct of a partitioner has %zu bytes", a ? a->struct_size : 0);
    if (!a->target || !a->target_size || a->target_size > PJRT_TEXT || !a->divider || !a->divider->divide)
        return pjrt_fail(HILO_INVALID_ARGUMENT, "the name or the functions of a partitioner are missing");
    struct known *fresh = malloc(sizeof *fresh + a->target_size);
    if (!fresh)
        return pjrt_exhausted();
    *fresh = (struct known){.divider = a->divider, .n = a->target_size};
    memcpy(fresh->name, a->target, a->target_size);
    pthread_mutex_lock(&registry.lock);
    struct known *old = find_known((struct str){a->target, a->target_size});
    if (old) { /* one that is in use stays whole */
        old->divider = a->divider;
    } else {
        fresh->next = registry.first;
        registry.first = fresh;
    }
    pthread_mutex_unlock(&registry.lock);
    if (old)
        free(fresh);
    return NULL;
}

/* Calls of such a target say themselves how many of their first dimensions are a batch's (num_batch_dims), which the sharding
   rule of custom calls follows. */
struct pjrt_error *pjrt_batched_register(struct pjrt_batched_register *a) {
    return a && a->target && a->target_size ? NULL
                                            : pjrt_fail(HILO_INVALID_ARGUMENT, "the name of the custom call is missing");
}

/* ---- messages -------------------------------------------------------------------------------- */

enum { SHAPE_ELEMENT = 2, SHAPE_DIMENSION, SHAPE_MEMBER, SHAPE_DYNAMIC = 6, SHAPE_TUPLE = 13 };
enum {
    SHARDING_TYPE = 1,
    SHARDING_DIMENSION = 3, SHARDING_DEVICE, SHARDING_MEMBER, SHARDING_COPIES, SHARDING_LAST = 8, SHARDING_IOTA, SHARDING_ORDER
};
enum { TYPE_REPLICATED, TYPE_MAXIMAL, TYPE_TUPLE, TYPE_TILES, TYPE_MANUAL, TYPE_UNKNOWN, TYPE_UNREDUCED, NTYPES };

static bool put_shape(const struct ir_type_data *t, struct strbuf *out) {
    int number = ir_type_is_static(t) && !t->quant ? pjrt_ffi_dtype(ir_dtype_get(t->dtype)->number) : 0;
    if (!number)
        return false;
    pjrt_proto_varint(out, SHAPE_ELEMENT, (uint64_t)number);
    for (uint32_t d = 0; d < t->rank; d++)
        pjrt_proto_varint(out, SHAPE_DIMENSION, (uint64_t)t->dims[d]);
    for (uint32_t d = 0; d < t->rank; d++)
        pjrt_proto_varint(out, SHAPE_DYNAMIC, 0);
    return true;
}

/* `0,1,2`, a field each. */
static void put_numbers(struct str *s, uint32_t field, struct strbuf *out) {
    uint64_t number;
    do {
        const char *next;
        if (!dec_parse_u64(s->p, s->p + s->n, &number, &next))
            return;
        s->n -= (size_t)(next - s->p);
        s->p = next;
        pjrt_proto_varint(out, field, number);
    } while (str_take(s, ","));
}

/* An OpSharding of what sharding_text writes, or `{manual}`. */
static void put_sharding(struct str s, struct strbuf *out) {
    if (!str_take(&s, "{devices=[")) {
        int type = str_starts(s, "{manual") ? TYPE_MANUAL : str_starts(s, "{unreduced") ? TYPE_UNREDUCED : TYPE_REPLICATED;
        pjrt_proto_varint(out, SHARDING_TYPE, (uint64_t)type);
        return;
    }
    pjrt_proto_varint(out, SHARDING_TYPE, TYPE_TILES);
    put_numbers(&s, SHARDING_DIMENSION, out);
    str_take(&s, "]");
    put_numbers(&s, SHARDING_DEVICE, out);
    if (str_take(&s, " last_tile_dim_replicate"))
        pjrt_proto_varint(out, SHARDING_COPIES, 1);
    if (str_take(&s, " last_tile_dims={unreduced"))
        pjrt_proto_varint(out, SHARDING_LAST, TYPE_UNREDUCED);
    if (str_take(&s, ", replicated"))
        pjrt_proto_varint(out, SHARDING_LAST, TYPE_REPLICATED);
}

/* The numbers of a field that may be packed, each after a comma but the first of the list. */
static bool list_numbers(const struct pjrt_field *f, struct strbuf *out) {
    struct str rest = f->bytes;
    uint64_t value = f->value;
    if (!f->bytes.p) {
        strbuf_printf(out, out->n ? ",%" PRIu64 : "%" PRIu64, value);
        return true;
    }
    while (rest.n) {
        if (!pjrt_proto_value(&rest, &value))
            return false;
        strbuf_printf(out, out->n ? ",%" PRIu64 : "%" PRIu64, value);
    }
    return true;
}

static void put_list(struct strbuf *out, const char *before, const struct strbuf *list, const char *after) {
    strbuf_puts(out, before);
    strbuf_putn(out, list->p ? list->p : "", list->n);
    strbuf_puts(out, after);
}

/* An OpSharding as HLO writes it; false for one that is malformed. */
static bool sharding_text_of(struct str message, struct strbuf *out) {
    static const char *const words[NTYPES] = {"{replicated}", "{maximal}", "{tuple}", NULL, "{manual}", "{unknown}",
                                              "{unreduced}"};
    static const char *const last_words[NTYPES] = {[TYPE_REPLICATED] = "replicated", [TYPE_MANUAL] = "manual",
                                                   [TYPE_UNREDUCED] = "unreduced"};
    enum { DIMENSIONS, DEVICES, LAST, IOTA, ORDER, NLISTS };
    struct strbuf lists[NLISTS];
    struct pjrt_field f;
    uint64_t type = TYPE_REPLICATED;
    bool copies = false, ok = true;
    int more;
    for (int i = 0; i < NLISTS; i++)
        strbuf_init(&lists[i], mem_system_allocator());
    while ((more = pjrt_proto_next(&message, &f)) > 0 && ok) {
        switch (f.number) {
        case SHARDING_TYPE: type = f.value; break;
        case SHARDING_DIMENSION: ok = list_numbers(&f, &lists[DIMENSIONS]); break;
        case SHARDING_DEVICE: ok = list_numbers(&f, &lists[DEVICES]); break;
        case SHARDING_COPIES: copies = f.value; break;
        case SHARDING_LAST: ok = list_numbers(&f, &lists[LAST]); break;
        case SHARDING_IOTA: ok = list_numbers(&f, &lists[IOTA]); break;
        case SHARDING_ORDER: ok = list_numbers(&f, &lists[ORDER]); break;
        default: break;
        }
    }
    ok = ok && more == 0 && type < NTYPES;
    if (ok && type != TYPE_TILES) {
        strbuf_puts(out, words[type]);
    } else if (ok) {
        put_list(out, "{devices=[", &lists[DIMENSIONS], "]");
        put_list(out, lists[IOTA].n ? "<=[" : "", lists[IOTA].n ? &lists[IOTA] : &lists[DEVICES], lists[IOTA].n ? "]" : "");
        if (lists[IOTA].n && lists[ORDER].n)
            put_list(out, "T(", &lists[ORDER], ")");
        strbuf_puts(out, copies ? " last_tile_dim_replicate" : lists[LAST].n ? " last_tile_dims={" : "");
        for (size_t i = 0; i < lists[LAST].n && !copies; i++) { /* types have one digit */
            int t = lists[LAST].p[i] - '0';
            if (i % 2 == 0)
                ok = ok && t >= 0 && t < NTYPES && last_words[t];
            strbuf_puts(out, i % 2 ? ", " : ok ? last_words[t] : "");
        }
        strbuf_puts(out, !copies && lists[LAST].n ? "}}" : "}");
    }
    for (int i = 0; i < NLISTS; i++) {
        ok = ok && !lists[i].failed;
        strbuf_free(&lists[i]);
    }
    return ok && !out->failed;
}

/* ---- a program ------------------------------------------------------------------------------- */

struct pjrt_partitioner {
    struct pjrt_client *client;
    bool inspects;
    hilo_module *module;        /* what the last division gave */
    struct strbuf texts;        /* its shardings, or an error */
    struct str *shardings;
};

static void forget(struct pjrt_partitioner *p) {
    hilo_module_release(p->module);
    p->module = NULL;
    free(p->shardings);
    p->shardings = NULL;
    p->texts.n = 0;
}

void pjrt_partitioner_free(struct pjrt_partitioner *p) {
    if (!p)
        return;
    forget(p);
    strbuf_free(&p->texts);
    free(p);
}

static bool knows(void *user, struct str target) {
    (void)user;
    return str_is(target, "InspectSharding") || find(target);
}

static hilo_status fail(struct pjrt_partitioner *p, hilo_status status, struct str message, struct opt_division *out) {
    p->texts.n = 0;
    strbuf_str(&p->texts, message);
    out->error = (struct str){p->texts.p, p->texts.n};
    return status;
}

/* The config is the function and its data: of this process, unless the program was made by another one. */
static hilo_status inspect(struct pjrt_partitioner *p, struct str config, struct str sharding, struct opt_division *out) {
    struct pjrt_inspector with;
    struct strbuf message;
    Dl_info where;
    if (!p->inspects)
        return HILO_OK;
    if (config.n != sizeof with)
        return fail(p, HILO_INVALID_ARGUMENT, STR("its config is no function"), out);
    memcpy(&with, config.p, sizeof with);
    void *code;
    memcpy(&code, &with.call, sizeof code);
    if (!code || !dladdr(code, &where))
        return fail(p, HILO_INVALID_ARGUMENT, STR("its config is no function of this process"), out);
    strbuf_init(&message, mem_system_allocator());
    put_sharding(sharding, &message);
    struct pjrt_inspection x = {.sharding = message.p, .sharding_size = message.n};
    hilo_status status = message.failed ? HILO_RESOURCE_EXHAUSTED : HILO_OK;
    if (!message.failed)
        with.call(with.data, &x);
    if (x.message) {
        status = fail(p, HILO_INTERNAL, str_of(x.message), out);
        if (x.free_error)
            x.free_error(&x);
    }
    strbuf_free(&message);
    return status;
}

/* The messages of a call, one after the other; by operand, then one of all results: shape, sharding. */
struct messages {
    struct strbuf bytes;
    size_t *ends;           /* 2 for each */
    struct pjrt_division_value *values;
    bool ok;
};

static void add_results(const struct opt_custom_call *call, uint32_t nin, uint32_t nout, struct messages *x, size_t *ends) {
    struct strbuf one;
    strbuf_init(&one, mem_system_allocator());
    pjrt_proto_varint(&x->bytes, SHAPE_ELEMENT, SHAPE_TUPLE);
    for (uint32_t i = 0; i < nout && x->ok; i++) {
        one.n = 0;
        x->ok = put_shape(ir_type_get(call->m, call->types[nin + i]), &one);
        pjrt_proto_bytes(&x->bytes, SHAPE_MEMBER, (struct str){one.p, one.n});
    }
    ends[0] = x->bytes.n;
    pjrt_proto_varint(&x->bytes, SHARDING_TYPE, TYPE_TUPLE);
    for (uint32_t i = 0; i < nout; i++) {
        one.n = 0;
        put_sharding(call->shardings[nin + i], &one);
        pjrt_proto_bytes(&x->bytes, SHARDING_MEMBER, (struct str){one.p, one.n});
    }
    ends[1] = x->bytes.n;
    x->ok = x->ok && !one.failed;
    strbuf_free(&one);
}

static struct messages messages_of(const struct opt_custom_call *call, uint32_t nin, uint32_t nout) {
    struct messages x = {.ends = pjrt_alloc(nin + 1, 2 * sizeof *x.ends), .values = pjrt_alloc(nin + 1, sizeof *x.values)};
    strbuf_init(&x.bytes, mem_system_allocator());
    x.ok = x.ends && x.values;
    for (uint32_t i = 0; i < nin + 1 && x.ok; i++) {
        size_t *ends = x.ends + 2 * (size_t)i;
        if (i == nin && nout != 1) {
            add_results(call, nin, nout, &x, ends);
            continue;
        }
        x.ok = put_shape(ir_type_get(call->m, call->types[i]), &x.bytes);
        ends[0] = x.bytes.n;
        put_sharding(call->shardings[i], &x.bytes);
        ends[1] = x.bytes.n;
    }
    x.ok = x.ok && !x.bytes.failed;
    for (uint32_t i = 0; i < nin + 1 && x.ok; i++) {
        const size_t *ends = x.ends + 2 * (size_t)i;
        size_t begin = i ? ends[-1] : 0;
        x.values[i] = (struct pjrt_division_value){.shape = {x.bytes.p + begin, ends[0] - begin}, .has_sharding = true,
                                                   .sharding = {x.bytes.p + ends[0], ends[1] - ends[0]}};
    }
    return x;
}

static void messages_free(struct messages *x) {
    strbuf_free(&x->bytes);
    free(x->ends);
    free(x->values);
}

/* Shardings of operands and results, of several results those of a tuple, one text after the other; where each ends. */
static bool read_shardings(struct pjrt_partitioner *p, const struct pjrt_division *x, uint32_t nin, uint32_t nout,
                           size_t *ends) {
    for (uint32_t i = 0; i < nin + (nout == 1); i++) {
        const struct pjrt_span *s = i < nin ? &x->operand_shardings[i] : &x->result_sharding;
        if (!sharding_text_of((struct str){s->p, s->n}, &p->texts))
            return false;
        ends[i] = p->texts.n;
    }
    struct str rest = {x->result_sharding.p, x->result_sharding.n};
    struct pjrt_field f;
    uint32_t n = 0;
    int more = 0;
    while (nout != 1 && (more = pjrt_proto_next(&rest, &f)) > 0) {
        if (f.number != SHARDING_MEMBER)
            continue;
        if (n == nout || !f.bytes.p || !sharding_text_of(f.bytes, &p->texts))
            return false;
        ends[nin + n++] = p->texts.n;
    }
    return nout == 1 || (more == 0 && n == nout);
}

/* Reads what was given: the program, without calls of functions, and shardings. */
static hilo_status read_division(struct pjrt_partitioner *p, const struct pjrt_division *x, uint32_t nin, uint32_t nout,
                                 struct opt_division *out) {
    size_t *ends = pjrt_alloc(nin + nout, sizeof *ends);
    p->shardings = pjrt_alloc(nin + nout, sizeof *p->shardings);
    bool ok = ends && p->shardings && read_shardings(p, x, nin, nout, ends);
    for (uint32_t i = 0; i < nin + nout && ok; i++)
        p->shardings[i] = (struct str){p->texts.p + (i ? ends[i - 1] : 0), ends[i] - (i ? ends[i - 1] : 0)};
    free(ends);
    if (!ok)
        return fail(p, HILO_INVALID_ARGUMENT, STR("its partitioner gave shardings that cannot be read"), out);
    hilo_module_options mo;
    hilo_module_options_init(&mo);
    mo.name = "partition";
    hilo_status status = hilo_module_parse(p->client->hilo, x->program.p, x->program.n, &mo, &p->module);
    if (status != HILO_OK)
        return fail(p, status, STR("its partitioner gave a program that cannot be read"), out);
    struct ir_module *m = rt_module_ir(p->module);
    struct diag_list d;
    struct opt o;
    diag_init(&d, *rt_client_allocator(p->client->hilo));
    opt_init(&o, m, &d);
    o.options.passes = "inline,dce";
    status = opt_run(&o);
    opt_free(&o);
    status = rt_finish(p->client->hilo, &d, status);
    out->program = m;
    out->shardings = p->shardings;
    return status;
}

static hilo_status divide_by(struct pjrt_partitioner *p, struct pjrt_divider *by, const struct opt_custom_call *call,
                             struct str config, struct opt_division *out) {
    uint32_t nin = ir_op_get(call->m, call->op)->noperands, nout = ir_op_get(call->m, call->op)->nresults;
    struct messages in = messages_of(call, nin, nout);
    struct pjrt_division x = {.n = nin, .operands = in.values, .config = {config.p, config.n}};
    hilo_status status = HILO_OK;
    if (!in.ok) {
        status = fail(p, HILO_UNIMPLEMENTED, STR("a type of it is not known to its partitioner"), out);
    } else {
        x.result = in.values[nin];
        by->divide(by, &x);
        if (x.head.failed)
            status = fail(p, x.head.code ? (hilo_status)x.head.code : HILO_UNKNOWN,
                          (struct str){x.head.message.p, x.head.message.n}, out);
        else
            status = read_division(p, &x, nin, nout, out);
        if (x.head.cleanup)
            x.head.cleanup(x.head.data);
    }
    messages_free(&in);
    return status;
}

static hilo_status divide(void *user, const struct opt_custom_call *call, struct opt_division *out) {
    struct pjrt_partitioner *p = user;
    struct str target = ir_prop_str(call->m, call->op, IR_CUSTOM_CALL_call_target_name);
    struct str config = ir_prop_str(call->m, call->op, IR_CUSTOM_CALL_backend_config);
    forget(p);
    if (str_is(target, "InspectSharding"))
        return ir_op_get(call->m, call->op)->noperands == 1
                   ? inspect(p, config, call->shardings[0], out)
                   : fail(p, HILO_INVALID_ARGUMENT, STR("it has not one operand"), out);
    struct pjrt_divider *by = find(target);
    return by ? divide_by(p, by, call, config, out) : fail(p, HILO_NOT_FOUND, STR("its partitioner is gone"), out);
}

struct pjrt_partitioner *pjrt_partitioner_new(struct pjrt_client *c, bool inspect, struct opt_partitioner *out) {
    struct pjrt_partitioner *p = pjrt_alloc(1, sizeof *p);
    if (!p)
        return NULL;
    p->client = c;
    p->inspects = inspect;
    strbuf_init(&p->texts, mem_system_allocator());
    *out = (struct opt_partitioner){.user = p, .knows = knows, .divide = divide};
    return p;
}
