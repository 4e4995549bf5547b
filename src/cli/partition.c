/* --partition: a program over global tensors becomes that of one of its partitions. */
#include "cli/cli.h"
#include "ir/sdy.h"
#include "opt/opt.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* How many partitions the module says it has, else the devices of its largest mesh; 0: neither is there. */
static hilo_status count_partitions(struct ir_module *m, struct diag_list *d, int64_t *out) {
    struct sdy s = {.m = m, .a = &m->arena, .d = d};
    *out = 0;
    if (ir_attr_as_i64(m, ir_dict_find(m, ir_op_get(m, m->root)->attrs, STR("mhlo.num_partitions")), out))
        return HILO_OK;
    for (ir_op op = ir_block_get(m, ir_module_body(m))->first; !IR_NONE(op); op = ir_op_get(m, op)->next) {
        const struct sdy_mesh *mesh;
        int64_t devices = 1;
        if (ir_kind(m, op) != IR_SDY_MESH)
            continue;
        HILO_TRY(sdy_mesh_named(&s, op, ir_prop_str(m, op, IR_SDY_MESH_sym_name), &mesh));
        for (uint32_t i = 0; i < mesh->naxes; i++)
            if (__builtin_mul_overflow(devices, mesh->axes[i].size, &devices))
                return ir_op_error(m, d, op, HILO_INVALID_ARGUMENT, NULL, "has more devices than can be counted");
        *out = devices > *out ? devices : *out;
    }
    return HILO_OK;
}

/* 0: more than can be counted. */
static int64_t devices_of(const struct sdy_mesh *mesh) {
    int64_t n = 1;
    for (uint32_t i = 0; i < mesh->naxes; i++)
        if (__builtin_mul_overflow(n, mesh->axes[i].size, &n))
            return 0;
    return n;
}

/* Meshes over `from` devices get `to`, by their first axis. */
static hilo_status scale_meshes(struct ir_module *m, struct diag_list *d, int64_t from, int64_t to) {
    struct sdy s = {.m = m, .a = &m->arena, .d = d};
    bool any = from == to;
    for (ir_op op = ir_block_get(m, ir_module_body(m))->first; !IR_NONE(op); op = ir_op_get(m, op)->next) {
        const struct sdy_mesh *mesh;
        if (ir_kind(m, op) != IR_SDY_MESH)
            continue;
        HILO_TRY(sdy_mesh_named(&s, op, ir_prop_str(m, op, IR_SDY_MESH_sym_name), &mesh));
        if (!mesh->naxes || devices_of(mesh) != from || from == to)
            continue;
        int64_t rest = from / mesh->axes[0].size;
        if (mesh->ndevices || to % rest != 0)
            return ir_op_error(m, d, op, HILO_INVALID_ARGUMENT, NULL,
                               mesh->ndevices ? "lists its devices: there is no such mesh over %" PRId64
                                              : "cannot be over %" PRId64 " devices by its first axis alone", to);
        struct sdy_mesh_axis axes[SDY_MESH_AXES];
        memcpy(axes, mesh->axes, mesh->naxes * sizeof *axes);
        axes[0].size = to / rest;
        ir_set_prop(m, op, IR_SDY_MESH_mesh, sdy_mesh_attr(m, &(struct sdy_mesh){.naxes = mesh->naxes, .axes = axes}));
        any = true;
    }
    return any ? HILO_OK
               : ir_op_error(m, d, m->root, HILO_INVALID_ARGUMENT, NULL,
                             "has no mesh over its %" PRId64 " devices, to be made larger", from);
}

static void set_partitions(struct ir_module *m, int64_t n) {
    const struct ir_attr_data *old = ir_attr_get(m, ir_op_get(m, m->root)->attrs);
    ir_str *names = cli_alloc(old->n + 1, sizeof *names);
    ir_attr *items = cli_alloc(old->n + 1, sizeof *items);
    uint32_t count = 0;
    for (uint32_t i = 0; i < old->n; i++)
        if (!str_is(ir_str_get(m, old->names[i]), "mhlo.num_partitions")) {
            names[count] = old->names[i];
            items[count++] = old->items[i];
        }
    names[count] = ir_str_of(m, STR("mhlo.num_partitions"));
    items[count++] = ir_attr_int(m, ir_type_scalar(m, IR_I32_T), n);
    ir_set_attrs(m, m->root, ir_attr_dict(m, names, items, count));
    free(names);
    free(items);
}

int cli_partition(hilo_client *client, hilo_module *module, const char *entry, int64_t partitions) {
    struct ir_module *m = rt_module_ir(module);
    struct diag_list d;
    struct opt o;
    int64_t n = 0;
    diag_init(&d, *rt_client_allocator(client));
    opt_init(&o, m, &d);
    o.options.passes = "inline,partition,dce,combine";
    o.options.verify = true;
    o.options.entry = entry ? ir_module_symbol(m, str_of(entry)) : (ir_op){0};
    hilo_status status = entry && IR_NONE(o.options.entry) ? HILO_NOT_FOUND : count_partitions(m, &d, &n);
    bool missing = status == HILO_OK && n < 1;
    if (status == HILO_OK && !missing && partitions > 0) {
        status = scale_meshes(m, &d, n, partitions);
        n = partitions;
    }
    if (status == HILO_OK && !missing) {
        set_partitions(m, n);
        status = opt_run(&o);
    }
    opt_free(&o);
    rt_module_changed(module);
    status = rt_finish(client, &d, status);
    if (missing)
        return cli_error(CLI_USAGE, "--partition: the program has no mesh, and does not say mhlo.num_partitions");
    if (status == HILO_NOT_FOUND)
        return cli_error(CLI_USAGE, "--partition: there is no function '%s'", entry);
    return status == HILO_OK ? CLI_OK : cli_fail(client, status);
}

/* `[2,4]` of `{devices=[2,4]0,1,…}`, without the parts that hold the same; `whole` where nothing is divided. */
static void put_sharding(struct str s, struct strbuf *out) {
    static const struct str tiles = {"{devices=", 9}, same = {"last_tile_dim_replicate", 23};
    size_t end = 0, last = 0;
    if (str_is(s, "{replicated}")) {
        strbuf_puts(out, "whole");
        return;
    }
    while (end < s.n && s.p[end] != ']')
        end++;
    if (!str_starts(s, tiles.p) || end == s.n) {
        strbuf_putn(out, s.p, s.n);
        return;
    }
    for (size_t i = tiles.n; i < end; i++)
        last = s.p[i] == ',' ? i : last;
    bool replicated = memmem(s.p, s.n, same.p, same.n) != NULL;
    strbuf_putn(out, s.p + tiles.n, (replicated && last ? last : end) - tiles.n);
    strbuf_putc(out, ']');
}

void cli_partition_text(hilo_module *module, struct strbuf *out) {
    struct ir_module *m = rt_module_ir(module);
    ir_attr attrs = ir_op_get(m, m->root)->attrs;
    const struct ir_attr_data *in = ir_attr_get(m, ir_dict_find(m, attrs, STR("mhlo.spmd_parameters_shardings")));
    struct str results = ir_attr_as_str(m, ir_dict_find(m, attrs, STR("mhlo.spmd_output_sharding")));
    int64_t n = 1;
    ir_attr_as_i64(m, ir_dict_find(m, attrs, STR("mhlo.num_partitions")), &n);
    strbuf_printf(out, "one of %" PRId64 " partition%s", n, n == 1 ? "" : "s");
    for (uint32_t i = 0; i < in->n && in->kind == IR_ATTR_ARRAY; i++) {
        strbuf_puts(out, i ? ", " : "; parts of parameters: ");
        put_sharding(ir_attr_as_str(m, in->items[i]), out);
    }
    bool list = str_starts(results, "{{");
    strbuf_puts(out, results.n ? "; of results: " : "");
    for (size_t at = list ? 1 : 0; at < results.n && results.p[at] == '{';) {
        size_t end = at;
        while (end < results.n && results.p[end] != '}')
            end++;
        strbuf_puts(out, at > 1 ? ", " : "");
        put_sharding((struct str){results.p + at, end - at + (end < results.n)}, out);
        for (at = end + 1; at < results.n && (results.p[at] == ',' || results.p[at] == ' ');)
            at++;
    }
}
