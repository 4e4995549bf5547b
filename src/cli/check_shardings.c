/* hilo check --shardings: the arguments, and some values on the way, of a program get random shardings over a random mesh, and
 * the program is partitioned and run by as many processes as the mesh has devices. Each makes all of the program's assertions,
 * so values must be those of one device. Programs that communicate themselves, or whose runs depend on each other, stay as
 * they are. */
#include "cli/check.h"
#include "ir/sdy.h"
#include "opt/rewrite.h"

#include <pthread.h>
#include <stdlib.h>

enum { MAX_AXES = 8 };

struct sharder {
    struct opt *o;
    struct ir_module *m;
    ir_op func;
    uint64_t state;
    int64_t sizes[MAX_AXES]; /* of axes "a", "b" … */
    uint32_t naxes;
    struct opt_ids to;      /* by value: its constraint */
};

static uint64_t draw(struct sharder *s, uint64_t below) {
    s->state += UINT64_C(0x9e3779b97f4a7c15);
    uint64_t x = s->state;
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return (x ^ x >> 31) % below;
}

/* Whether the program means something else when several processes run it. */
static bool communicates(const struct ir_module *m, ir_op op) {
    enum ir_op_kind kind = ir_kind(m, op);
    if (ir_op_has(kind, IR_T_COLLECTIVE | IR_T_RUN_STATE | IR_T_RANDOM) || kind == IR_PARTITION_ID || kind == IR_REPLICA_ID ||
        kind == IR_INFEED || kind == IR_OUTFEED || kind == IR_SDY_MESH ||
        (kind == IR_CUSTOM_CALL && str_starts(ir_prop_str(m, op, IR_CUSTOM_CALL_call_target_name), "SPMD")))
        return true;
    for (uint32_t i = 0; i < ir_op_get(m, op)->nregions; i++)
        for (ir_block b = ir_region_get(m, ir_op_region(m, op, i))->first; !IR_NONE(b); b = ir_block_get(m, b)->next)
            for (ir_op in = ir_block_get(m, b)->first; !IR_NONE(in); in = ir_op_get(m, in)->next)
                if (communicates(m, in))
                    return true;
    return false;
}

static void add_mesh(struct sharder *s, uint32_t partitions) {
    struct sdy_mesh_axis axes[MAX_AXES];
    while (partitions > 1) {
        int64_t size = partitions;
        while (s->naxes + 1 < MAX_AXES && size % 2 == 0 && size > 2 && draw(s, 2))
            size /= 2;
        axes[s->naxes] = (struct sdy_mesh_axis){{&"abcdefgh"[s->naxes], 1}, size};
        s->sizes[s->naxes++] = size;
        partitions /= (uint32_t)size;
    }
    ir_op mesh = ir_op_new(s->m, IR_SDY_MESH, NULL, 0, NULL, 0, 0);
    ir_set_prop(s->m, mesh, IR_SDY_MESH_sym_name, ir_attr_string(s->m, STR("mesh")));
    ir_set_prop(s->m, mesh, IR_SDY_MESH_mesh, sdy_mesh_attr(s->m, &(struct sdy_mesh){.naxes = s->naxes, .axes = axes}));
    ir_insert_before(s->m, ir_block_get(s->m, ir_module_body(s->m))->first, mesh);
}

/* Axes in a random order, each, or a part of it, for a random dimension, the parts of a sum, or none. Most parts have one
   size. */
static ir_attr random_sharding(struct sharder *s, const struct ir_type_data *t, bool open) {
    uint32_t dim_of[8], order[8] = {0}, partial = 0;
    bool sums = open && draw(s, 4) == 0;
    struct strbuf text;
    strbuf_init(&text, mem_system_allocator());
    strbuf_puts(&text, "#sdy.sharding<@mesh, [");
    for (uint32_t i = 0; i < s->naxes; i++) {
        uint32_t at = (uint32_t)draw(s, i + 1);
        order[i] = order[at];
        order[at] = i;
        dim_of[i] = (uint32_t)draw(s, t->rank + 1);
    }
    for (uint32_t d = 0; d < t->rank; d++) {
        int64_t size = t->dims[d];
        bool first = true;
        strbuf_puts(&text, d ? ", {" : "{");
        for (uint32_t i = 0; i < s->naxes; i++) {
            uint32_t axis = order[i];
            if (dim_of[axis] != d || (size % s->sizes[axis] && draw(s, 3)))
                continue;
            strbuf_printf(&text, "%s\"%c\"", first ? "" : ", ", 'a' + (int)axis);
            if (s->sizes[axis] > 2 && s->sizes[axis] % 2 == 0 && draw(s, 8) == 0)
                strbuf_puts(&text, ":(1)2");
            size /= s->sizes[axis];
            first = false;
        }
        strbuf_puts(&text, open && draw(s, 2) ? first ? "?}" : ", ?}" : "}");
    }
    strbuf_puts(&text, "]");
    for (uint32_t i = 0; i < s->naxes; i++)
        if (dim_of[i] == t->rank && sums)
            strbuf_printf(&text, "%s\"%c\"", partial++ ? ", " : ", unreduced={", 'a' + (int)i);
    strbuf_puts(&text, partial ? "}>" : ">");
    ir_attr out = ir_attr_opaque(s->m, (struct str){text.p, text.n});
    strbuf_free(&text);
    return out;
}

static void constrain(struct sharder *s, ir_op at, ir_val v) {
    const struct ir_type_data *t = ir_val_type(s->m, v);
    if (t->kind != IR_TYPE_TENSOR || !ir_type_is_static(t))
        return;
    ir_attr sharding = random_sharding(s, t, true);
    ir_type type = ir_val_get(s->m, v)->type;
    ir_op op = ir_op_new(s->m, IR_SDY_SHARDING_CONSTRAINT, &v, 1, &type, 1, 0);
    ir_set_prop(s->m, op, IR_SDY_SHARDING_CONSTRAINT_sharding, sharding);
    ir_insert_before(s->m, at, op);
    opt_ids_set(&s->to, v.i, ir_result(s->m, op, 0).i);
}

static void use_constrained(struct sharder *s, ir_op op) {
    for (uint32_t i = 0; i < ir_op_get(s->m, op)->noperands; i++) {
        uint32_t to = opt_ids_get(&s->to, ir_operand(s->m, op, i).i);
        if (to)
            ir_set_operand(s->m, op, i, (ir_val){to});
    }
    for (uint32_t i = 0; i < ir_op_get(s->m, op)->nregions; i++)
        for (ir_block b = ir_region_get(s->m, ir_op_region(s->m, op, i))->first; !IR_NONE(b); b = ir_block_get(s->m, b)->next)
            for (ir_op in = ir_block_get(s->m, b)->first; !IR_NONE(in); in = ir_op_get(s->m, in)->next)
                use_constrained(s, in);
}

/* Parameters are whole, and divided in the function. */
static void shard_function(struct sharder *s) {
    ir_block body = ir_func_body(s->m, s->func);
    uint32_t n = ir_block_get(s->m, body)->nargs;
    ir_attr *attrs = cli_alloc(n + 1, sizeof *attrs);
    ir_str name = ir_str_of(s->m, STR("sdy.sharding"));
    ir_op first = ir_block_get(s->m, body)->first, next;
    uint32_t naxes = s->naxes;
    s->naxes = 0;
    for (uint32_t i = 0; i < n; i++) {
        ir_attr whole = random_sharding(s, ir_val_type(s->m, ir_block_get(s->m, body)->args[i]), false);
        attrs[i] = ir_attr_dict(s->m, &name, &whole, 1);
    }
    s->naxes = naxes;
    ir_set_prop(s->m, s->func, IR_FUNC_arg_attrs, ir_attr_array(s->m, attrs, n));
    free(attrs);
    for (uint32_t i = 0; i < n; i++)
        constrain(s, first, ir_block_get(s->m, body)->args[i]);
    for (ir_op op = first; !IR_NONE(op); op = next) {
        next = ir_op_get(s->m, op)->next;
        use_constrained(s, op);
        if (!IR_NONE(next) && ir_op_get(s->m, op)->nresults == 1 && draw(s, 4) == 0)
            constrain(s, next, ir_result(s->m, op, 0));
    }
}

/* By the function's name, too, so that the functions of a program differ. */
static uint64_t seed_of(const struct ir_module *m, ir_op func, uint64_t seed) {
    struct str name = ir_prop_str(m, func, IR_FUNC_sym_name);
    return str_hash(name.p, name.n, seed);
}

hilo_status check_shardings(hilo_client *client, hilo_module *module, size_t function, uint32_t *partitions, uint64_t seed) {
    struct ir_module *m = rt_module_ir(module);
    ir_op func = rt_module_functions(module)[function];
    struct diag_list d;
    struct opt o;
    if (communicates(m, m->root)) {
        *partitions = 1;
        return HILO_OK;
    }
    diag_init(&d, *rt_client_allocator(client));
    opt_init(&o, m, &d);
    o.options.passes = "partition,dce";
    o.options.entry = func;
    o.options.verify = true;
    struct sharder s = {.o = &o, .m = m, .func = func, .state = seed_of(m, func, seed), .to = {.a = &m->arena}};
    jmp_buf recover;
    m->arena.recover = &recover;
    hilo_status status = HILO_RESOURCE_EXHAUSTED;
    if (!setjmp(recover)) {
        add_mesh(&s, *partitions);
        shard_function(&s);
        ir_str name = ir_str_of(m, STR("mhlo.num_partitions"));
        ir_attr number = ir_attr_int(m, ir_type_scalar(m, IR_I32_T), *partitions);
        ir_set_attrs(m, m->root, ir_attr_dict(m, &name, &number, 1));
        status = opt_run(&o);
    }
    opt_free(&o);
    rt_module_changed(module);
    return rt_finish(client, &d, status);
}

/* ---- running ------------------------------------------------------------------------------------ */

hilo_status check_run(hilo_executable *exe, hilo_buffer *const *inputs, size_t ninputs, uint32_t partitions) {
    size_t noutputs = partitions * hilo_executable_output_count(exe);
    struct rt_launch_options launch = {.replicas = 1, .partitions = partitions, .name = "program"};
    hilo_execute_options o;
    hilo_buffer **in = cli_alloc(partitions * ninputs + 1, sizeof *in), **out = cli_alloc(noutputs + 1, sizeof *out);
    hilo_execute_options_init(&o);
    for (size_t i = 0; i < partitions * ninputs; i++)
        in[i] = inputs[i % ninputs];
    hilo_status status = rt_execute_several(exe, &o, &launch, 0, partitions, in, out);
    for (size_t i = 0; i < noutputs; i++)
        hilo_buffer_release(out[i]);
    free(in);
    free(out);
    return status;
}
