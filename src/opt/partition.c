/* partition
 * does       rewrites a program over global arrays (Shardy, GSPMD) as the program of one partition, over local shards
 * requires   nothing
 * preserves  nothing
 * cost       linear but for propagation, and the number of partitions for each value that is resharded
 * example    func @main(%0: tensor<8xf32> {sdy.sharding = <@mesh, [{"x"}]>})  ⇒  func @main(%0: tensor<2xf32>)
 *
 * Shardings are propagated (sdy_graph.h), then each op is made local (spmd.h). Module attributes give the shardings of
 * parameters and results to frameworks (mhlo.spmd_parameters_shardings, mhlo.spmd_output_sharding). */
#include "opt/rules.h"
#include "opt/sharding.h"
#include "opt/spmd.h"

#include <inttypes.h>

struct partition {
    struct opt *o;
    struct sdy_graph *g;
    struct spmd *p;
    ir_op func;
    struct opt_ids told;    /* by attribute: a sharding of GSPMD's that is not supported, of which a warning told */
};

/* ---- the function ---------------------------------------------------------------------------- */

static ir_attr port_attrs(const struct partition *c, enum ir_slot slot, uint32_t i) {
    const struct ir_attr_data *a = ir_attr_get(c->o->m, ir_prop(c->o->m, c->func, slot));
    return a->kind == IR_ATTR_ARRAY && i < a->n ? a->items[i] : (ir_attr){0};
}

/* ---- GSPMD ----------------------------------------------------------------------------------- */

/* A call that gives what it takes. */
static bool is_gspmd_constraint(const struct ir_module *m, ir_op op) {
    const struct ir_op_data *x = ir_op_get(m, op);
    return x->kind == IR_CUSTOM_CALL && str_is(ir_prop_str(m, op, IR_CUSTOM_CALL_call_target_name), "Sharding") &&
           x->noperands == 1 && x->nresults == 1 &&
           IR_SAME(ir_val_get(m, x->operands[0])->type, ir_val_get(m, ir_result(m, op, 0))->type);
}

/* What is not supported is not followed: the value is the same. */
static hilo_status import_constraint(struct partition *c, ir_op op) {
    struct ir_module *m = c->o->m;
    ir_attr attr = ir_dict_find(m, ir_op_get(m, op)->attrs, STR("mhlo.sharding"));
    struct str text = ir_attr_as_str(m, attr);
    ir_val v = ir_operand(m, op, 0);
    ir_type type = ir_val_get(m, v)->type;
    const struct sdy_sharding *s;
    bool supported = text.n > 0;
    if (supported)
        HILO_TRY(sharding_read_hlo(c->o, op, text, type, c->p->partitions, NULL, &s, &supported));
    if (!supported && text.n && !opt_ids_get(&c->told, attr.i)) {
        opt_ids_set(&c->told, attr.i, 1);
        ir_op_warn(m, c->o->d, op, "has the sharding '%.*s', which is not supported: the value stays as it is",
                   (int)(text.n < 200 ? text.n : 200), text.p);
    }
    if (supported) {
        ir_op made = ir_op_new(m, IR_SDY_SHARDING_CONSTRAINT, &v, 1, &type, 1, 0);
        ir_insert_before(m, op, made);
        sdy_add_uses(c->g, made);
        v = ir_result(m, made, 0);
        sdy_set_raw(c->g, v, s);
    }
    sdy_replace_uses(c->g, ir_result(m, op, 0), v, (ir_op){0});
    sdy_erase(c->g, op);
    return HILO_OK;
}

static hilo_status import_port(struct partition *c, enum ir_slot slot, uint32_t i, ir_type type,
                               const struct sdy_sharding **out) {
    struct str text = ir_attr_as_str(c->o->m, ir_dict_find(c->o->m, port_attrs(c, slot, i), STR("mhlo.sharding")));
    bool supported = true;
    *out = NULL;
    if (text.n)
        HILO_TRY(sharding_read_hlo(c->o, c->func, text, type, c->p->partitions, NULL, out, &supported));
    return supported ? HILO_OK
                     : ir_op_error(c->o->m, c->o->d, c->func, HILO_UNIMPLEMENTED, NULL,
                                   "is divided by '%.*s', which is not supported", (int)(text.n < 100 ? text.n : 100), text.p);
}

/* Shardings of GSPMD's become ones of Shardy's, where there are none. */
static hilo_status import_gspmd(struct partition *c) {
    struct ir_module *m = c->o->m;
    ir_block body = ir_func_body(m, c->func);
    struct sdy_ops ops = {0};
    const struct sdy_sharding *s;
    for (uint32_t i = 0; i < ir_block_get(m, body)->nargs; i++) {
        ir_val arg = ir_block_get(m, body)->args[i];
        HILO_TRY(import_port(c, IR_FUNC_arg_attrs, i, ir_val_get(m, arg)->type, &s));
        if (s && !sdy_raw(c->g, arg))
            sdy_set_raw(c->g, arg, s);
    }
    for (uint32_t i = 0; i < ir_op_get(m, ir_terminator(m, body))->noperands; i++) {
        HILO_TRY(import_port(c, IR_FUNC_res_attrs, i, ir_val_get(m, ir_operand(m, ir_terminator(m, body), i))->type, &s));
        if (s && !c->g->results[i])
            c->g->results[i] = s;
    }
    sdy_walk(c->g, c->func, true, &ops);
    for (uint32_t i = 0; i < ops.n; i++)
        if (is_gspmd_constraint(m, ops.v[i]))
            HILO_TRY(import_constraint(c, ops.v[i]));
    return HILO_OK;
}

/* ---- parameters and results ------------------------------------------------------------------ */

/* The result that parameter i may give its memory to, which is why frameworks name results only where shardings are theirs to
   say: the first of its type that no other parameter has; -1 = none. `taken`: by result. */
static int64_t donated_to(struct partition *c, uint32_t i, bool *taken, uint32_t nout) {
    struct ir_module *m = c->o->m;
    ir_block body = ir_func_body(m, c->func);
    ir_attr attrs = port_attrs(c, IR_FUNC_arg_attrs, i);
    const struct ir_attr_data *donor = ir_attr_get(m, ir_dict_find(m, attrs, STR("jax.buffer_donor")));
    if (donor->kind != IR_ATTR_BOOL || !donor->i || !IR_NONE(ir_dict_find(m, attrs, STR("tf.aliasing_output"))))
        return -1;
    ir_type type = ir_val_get(m, ir_block_get(m, body)->args[i])->type;
    for (uint32_t j = 0; j < nout; j++)
        if (!taken[j] && IR_SAME(ir_val_get(m, ir_operand(m, ir_terminator(m, body), j))->type, type)) {
            taken[j] = true;
            return j;
        }
    return -1;
}

/* Results for the parameters that may be donated; those that are named must still have the parameter's type. By parameter, -1
   = none. */
static int64_t *find_donors(struct partition *c, uint32_t nin, uint32_t nout) {
    struct opt *o = c->o;
    int64_t *to = ARENA_ARRAY(&o->scratch, int64_t, nin + 1);
    bool *taken = ARENA_ARRAY(&o->scratch, bool, nout + 1);
    ir_block body = ir_func_body(o->m, c->func);
    memset(taken, 0, nout + 1);
    for (uint32_t i = 0; i < nin; i++) {
        ir_attr named = ir_dict_find(o->m, port_attrs(c, IR_FUNC_arg_attrs, i), STR("tf.aliasing_output"));
        ir_type type = ir_val_get(o->m, ir_block_get(o->m, body)->args[i])->type;
        if (!ir_attr_as_i64(o->m, named, &to[i]) || to[i] < 0 || to[i] >= nout || taken[to[i]] ||
            !IR_SAME(ir_val_get(o->m, ir_operand(o->m, ir_terminator(o->m, body), (uint32_t)to[i]))->type, type))
            to[i] = -1;
        else
            taken[to[i]] = true;
    }
    for (uint32_t i = 0; i < nin; i++)
        if (to[i] < 0)
            to[i] = donated_to(c, i, taken, nout);
    return to;
}

/* The entries of a list of dictionaries without what shardings and donations given; with `donors`, by entry, where they go. */
static void drop_shardings(struct partition *c, enum ir_slot slot, const int64_t *donors) {
    struct opt *o = c->o;
    const struct ir_attr_data *list = ir_attr_get(o->m, ir_prop(o->m, c->func, slot));
    if (list->kind != IR_ATTR_ARRAY)
        return;
    ir_attr *items = ARENA_ARRAY(&o->scratch, ir_attr, list->n + 1);
    for (uint32_t i = 0; i < list->n; i++) {
        const struct ir_attr_data *d = ir_attr_get(o->m, list->items[i]);
        ir_attr *kept = ARENA_ARRAY(&o->scratch, ir_attr, d->n + 2);
        ir_str *names = ARENA_ARRAY(&o->scratch, ir_str, d->n + 2);
        uint32_t n = 0;
        for (uint32_t k = 0; k < d->n; k++) {
            struct str name = ir_str_get(o->m, d->names[k]);
            if (str_is(name, "sdy.sharding") || str_is(name, "mhlo.sharding") ||
                (donors && (str_is(name, "tf.aliasing_output") || str_is(name, "jax.buffer_donor"))))
                continue;
            names[n] = d->names[k];
            kept[n++] = d->items[k];
        }
        if (donors && d->kind == IR_ATTR_DICT && donors[i] >= 0) {
            names[n] = ir_str_of(o->m, STR("tf.aliasing_output"));
            kept[n++] = ir_attr_int(o->m, ir_type_scalar(o->m, IR_I32_T), donors[i]);
        }
        items[i] = d->kind == IR_ATTR_DICT ? ir_attr_dict(o->m, names, kept, n) : list->items[i];
    }
    ir_set_prop(o->m, c->func, slot, ir_attr_array(o->m, items, list->n));
}

static hilo_status check_port(struct partition *c, const char *what, uint32_t number, const struct sdy_sharding *s,
                              const struct ir_type_data *t) {
    if (!s)
        return HILO_OK;
    HILO_TRY(spmd_check_mesh(c->p, c->func, s->mesh));
    if (t->quant && !sdy_sharding_is_empty(s))
        return ir_op_error(c->o->m, c->o->d, c->func, HILO_UNIMPLEMENTED, NULL,
                           "has a sharding of %s %" PRIu32 ", of a quantised type, which is not supported", what, number);
    for (uint32_t d = 0; d < s->rank; d++) {
        int64_t parts = sdy_dim_parts(&s->dims[d]);
        if (s->dims[d].axes.n && t->dims[d] == IR_DYNAMIC)
            return ir_op_error(c->o->m, c->o->d, c->func, HILO_UNIMPLEMENTED, NULL,
                               "has a sharding of dimension %" PRIu32 " of %s %" PRIu32 ", whose size is not known, which is "
                               "not supported", d, what, number);
        if (s->dims[d].axes.n && t->dims[d] % parts)
            return ir_op_error(c->o->m, c->o->d, c->func, HILO_UNIMPLEMENTED, NULL,
                               "has a sharding of %s %" PRIu32 " by which the %" PRId64 " elements of dimension %" PRIu32
                               " are in %" PRId64 " parts, which are not of one size; a sharding constraint inside may do "
                               "that, but parameters and results are divided evenly", what, number, t->dims[d], d, parts);
    }
    return HILO_OK;
}

/* Parts of different sizes are refused where they are given; propagation does not make any here. */
static hilo_status check_ports(struct partition *c) {
    struct ir_module *m = c->o->m;
    ir_block body = ir_func_body(m, c->func);
    for (uint32_t i = 0; i < ir_block_get(m, body)->nargs; i++) {
        ir_val arg = ir_block_get(m, body)->args[i];
        HILO_TRY(check_port(c, "parameter", i, sdy_raw(c->g, arg), ir_val_type(m, arg)));
    }
    for (uint32_t i = 0; i < ir_op_get(m, ir_terminator(m, body))->noperands; i++)
        HILO_TRY(check_port(c, "result", i, c->g->results[i], ir_val_type(m, ir_operand(m, ir_terminator(m, body), i))));
    return HILO_OK;
}

static void emit_sharding_attrs(struct partition *c, const struct sdy_sharding *const *in, uint32_t nin,
                                const struct sdy_sharding *const *out, uint32_t nout) {
    struct opt *o = c->o;
    struct ir_module *m = o->m;
    const struct ir_attr_data *old = ir_attr_get(m, ir_op_get(m, m->root)->attrs);
    ir_attr *items = ARENA_ARRAY(&o->scratch, ir_attr, old->n + 2), *list = ARENA_ARRAY(&o->scratch, ir_attr, nin + 1);
    ir_str *names = ARENA_ARRAY(&o->scratch, ir_str, old->n + 2);
    struct strbuf text;
    strbuf_init(&text, o->d->al);
    for (uint32_t i = 0; i < nin; i++) {
        text.n = 0;
        spmd_text(c->p, in[i], &text);
        list[i] = ir_attr_string(m, (struct str){text.p ? text.p : "", text.n});
    }
    text.n = 0;
    strbuf_puts(&text, nout == 1 ? "" : "{");
    for (uint32_t i = 0; i < nout; i++) {
        strbuf_puts(&text, i ? ", " : "");
        spmd_text(c->p, out[i], &text);
    }
    strbuf_puts(&text, nout == 1 ? "" : nout ? "}" : "{replicated}}"); /* XLA wants one of no results, too */
    uint32_t n = 0;
    for (; n < old->n; n++) {
        names[n] = old->names[n];
        items[n] = old->items[n];
    }
    names[n] = ir_str_of(m, STR("mhlo.spmd_parameters_shardings"));
    items[n++] = ir_attr_array(m, list, nin);
    names[n] = ir_str_of(m, STR("mhlo.spmd_output_sharding"));
    items[n++] = ir_attr_string(m, (struct str){text.p ? text.p : "", text.n});
    strbuf_free(&text);
    ir_set_attrs(m, m->root, ir_attr_dict(m, names, items, n));
}

/* The number of a module attribute; 1 when it is not there. */
static uint32_t module_count(const struct ir_module *m, const char *name) {
    int64_t n;
    if (!ir_attr_as_i64(m, ir_dict_find(m, ir_op_get(m, m->root)->attrs, str_of(name)), &n) || n < 1)
        n = 1;
    return n > SHARDING_PARTITIONS ? SHARDING_PARTITIONS : (uint32_t)n;
}

/* Whether a mesh is over so many devices. */
static bool has_mesh_over(const struct sdy_graph *g, uint32_t devices) {
    for (uint32_t i = 0; i < g->sdy.meshes.n; i++) {
        const struct sdy_mesh *mesh = g->sdy.meshes.v[i];
        int64_t n = 1;
        for (uint32_t k = 0; k < mesh->naxes; k++)
            n *= mesh->axes[k].size;
        if (mesh->naxes && n == devices)
            return true;
    }
    return false;
}

/* The entry, @main, or the first function that can be called from outside. */
static ir_op find_entry(const struct opt *o) {
    ir_op func = IR_NONE(o->options.entry) ? ir_module_symbol(o->m, STR("main")) : o->options.entry;
    ir_op op = ir_block_get(o->m, ir_module_body(o->m))->first;
    for (; IR_NONE(func) && !IR_NONE(op); op = ir_op_get(o->m, op)->next)
        if (ir_kind(o->m, op) == IR_FUNC && !str_is(ir_prop_str(o->m, op, IR_FUNC_sym_visibility), "private"))
            func = op;
    return !IR_NONE(func) && ir_kind(o->m, func) == IR_FUNC && !IR_NONE(ir_func_body(o->m, func)) ? func : (ir_op){0};
}

/* Shardings of all values, from those that are given. */
static hilo_status decide(struct partition *c) {
    if (c->p->partitions > 1)
        HILO_TRY(import_gspmd(c));
    HILO_TRY(check_ports(c));
    HILO_TRY(sdy_import(c->g));
    if (sdy_can_propagate(c->g))
        HILO_TRY(sdy_propagate(c->g, SDY_AGGRESSIVE, true, true));
    return sdy_export(c->g);
}

/* Windows and convolutions read what is before their pads: pads make sizes that cannot be divided evenly. */
static void drop_pads(struct partition *c) {
    struct sdy_ops ops = {0};
    struct rules r = {.o = c->o, .m = c->o->m};
    sdy_walk(c->g, c->func, true, &ops);
    for (uint32_t i = 0; i < ops.n; i++) {
        enum ir_op_kind kind = ir_kind(r.m, ops.v[i]);
        ir_op pad = kind == IR_CONVOLUTION || kind == IR_REDUCE_WINDOW ? rules_def(&r, rules_in(&r, ops.v[i], 0), IR_PAD)
                                                                       : (ir_op){0};
        bool alone = !IR_NONE(pad) && sdy_has_one_use(c->g, ir_result(r.m, pad, 0));
        bool dropped = !IR_NONE(pad) && (kind == IR_CONVOLUTION ? opt_rule_conv_pad : opt_rule_window_pad)(&r, ops.v[i]);
        if (dropped && alone)
            ir_unlink(r.m, pad);
    }
}

/* A slice along one dimension, of all elements from one on to another. */
static bool is_piece(const struct ir_module *m, ir_op op, int64_t dim, int64_t *from, int64_t *to) {
    const struct ir_type_data *t = ir_val_type(m, ir_operand(m, op, 0));
    size_t n;
    const int64_t *begins = ir_prop_i64s(m, op, IR_SLICE_start_indices, &n);
    const int64_t *ends = ir_prop_i64s(m, op, IR_SLICE_limit_indices, &n);
    const int64_t *strides = ir_prop_i64s(m, op, IR_SLICE_strides, &n);
    *from = begins[dim];
    *to = ends[dim];
    for (size_t d = 0; d < n; d++)
        if (strides[d] != 1 || ((int64_t)d != dim && (begins[d] || ends[d] != t->dims[d])))
            return false;
    return !t->quant;
}

/* The end of a value and then its beginning are a rotation of it, of the value's size; the slices need not be even. */
static void find_rotations(struct partition *c) {
    struct sdy_ops ops = {0};
    struct ir_module *m = c->o->m;
    struct rules r = {.o = c->o, .m = m};
    sdy_walk(c->g, c->func, true, &ops);
    for (uint32_t i = 0; i < ops.n; i++) {
        int64_t dim, from[2], to[2];
        ir_op piece[2], op = ops.v[i];
        if (ir_kind(m, op) != IR_CONCATENATE || ir_op_get(m, op)->noperands != 2)
            continue;
        dim = ir_prop_i64(m, op, IR_CONCATENATE_dimension);
        bool found = true;
        for (uint32_t k = 0; k < 2 && found; k++) {
            piece[k] = rules_def(&r, ir_operand(m, op, k), IR_SLICE);
            found = !IR_NONE(piece[k]) && is_piece(m, piece[k], dim, &from[k], &to[k]);
        }
        if (!found || !IR_SAME(ir_operand(m, piece[0], 0), ir_operand(m, piece[1], 0)) || from[1] || to[1] != from[0] ||
            from[0] < 1 || from[0] > INT32_MAX || to[0] <= from[0] || to[0] > INT32_MAX ||
            to[0] != ir_val_type(m, ir_operand(m, piece[0], 0))->dims[dim])
            continue;
        ir_val v = ir_operand(m, piece[0], 0);
        for (uint32_t k = 0; k < 2; k++) {
            bool alone = sdy_has_one_use(c->g, ir_operand(m, op, k));
            ir_set_operand(m, op, k, v);
            if (alone)
                ir_unlink(m, piece[k]);
        }
        opt_ids_set(&c->p->rotations, op.i, (uint32_t)from[0]);
    }
}

static struct sdy_axes without(struct partition *c, const struct sdy_mesh *mesh, struct sdy_axes axes, struct sdy_axes taken) {
    struct sdy_axis *v = ARENA_ARRAY(c->p->a, struct sdy_axis, 2 * (axes.n + taken.n) + 1);
    return (struct sdy_axes){sdy_axes_minus(mesh, axes, taken, v), v};
}

/* The axes along which partitions hold values of the operand of sdy.all_reduce or sdy.reduce_scatter, not parts of one: not
   those that it is unreduced along, or along which what it sums is divided, as it is the whole sum here. */
static hilo_status find_sums(struct partition *c) {
    struct sdy_ops ops = {0};
    struct ir_module *m = c->o->m;
    sdy_walk(c->g, c->func, true, &ops);
    for (uint32_t i = 0; i < ops.n; i++) {
        const struct sdy_sharding *to, *s;
        struct sdy_axes axes;
        if (ir_kind(m, ops.v[i]) != IR_SDY_ALL_REDUCE && ir_kind(m, ops.v[i]) != IR_SDY_REDUCE_SCATTER)
            continue;
        HILO_TRY(sdy_read_reduced_axes(&c->g->sdy, ops.v[i], &axes, &to));
        ir_val v = ir_operand(m, ops.v[i], 0);
        ir_op from = ir_val_get(m, v)->op;
        if ((s = sdy_raw(c->g, v)) && sdy_mesh_equal(s->mesh, to->mesh))
            axes = without(c, to->mesh, axes, s->unreduced);
        const struct sdy_rule *rule = IR_NONE(from) ? NULL : sdy_rule(c->g, from);
        for (uint32_t t = 0; rule && t < rule->noperands; t++)
            for (uint32_t d = 0; (s = sdy_raw(c->g, ir_operand(m, from, t))) && d < s->rank; d++)
                for (uint32_t f = 0; sdy_mesh_equal(s->mesh, to->mesh) && f < rule->dims[t][d].n; f++)
                    if (rule->factors[rule->dims[t][d].v[f]].type == SDY_REDUCTION)
                        axes = without(c, to->mesh, axes, s->dims[d].axes);
        ARENA_PUSH(c->p->a, &c->p->sums, axes);
        opt_ids_set(&c->p->reduced, ops.v[i].i, c->p->sums.n);
    }
    return HILO_OK;
}

hilo_status opt_partition(struct opt *o) {
    struct ir_module *m = o->m;
    ir_op func = find_entry(o);
    if (IR_NONE(func))
        return HILO_OK;
    struct sdy_graph g;
    struct spmd p = {.o = o, .m = m, .a = &o->scratch, .g = &g, .partitions = module_count(m, "mhlo.num_partitions"),
                     .replicas = module_count(m, "mhlo.num_replicas"), .of = {.a = &o->scratch},
                     .rotations = {.a = &o->scratch}, .reduced = {.a = &o->scratch},
                     .own = {.a = &o->scratch}};
    struct partition c = {.o = o, .g = &g, .p = &p, .func = func, .told = {.a = &o->scratch}};
    ir_op entry = o->options.entry;
    o->options.entry = func; /* from which the graph begins */
    hilo_status status = sdy_graph_begin(&g, o);
    o->options.entry = entry;
    HILO_TRY(status);
    if (p.partitions == 1 && p.replicas > 1 && has_mesh_over(&g, p.replicas)) {
        p.by_replica = true;
        p.partitions = p.replicas;
        p.replicas = 1;
    }
    HILO_TRY(decide(&c));
    if (p.partitions > 1) {
        drop_pads(&c);
        find_rotations(&c);
    }
    p.group = ARENA_ARRAY(&o->scratch, int32_t, p.partitions);
    sdy_note_rules(&g);
    HILO_TRY(find_sums(&c));
    ir_block body = ir_func_body(m, func);
    uint32_t nin = ir_block_get(m, body)->nargs, nout = ir_op_get(m, ir_terminator(m, body))->noperands;
    const struct sdy_sharding **in = ARENA_ARRAY(&o->scratch, const struct sdy_sharding *, nin + 1);
    const struct sdy_sharding **out = ARENA_ARRAY(&o->scratch, const struct sdy_sharding *, nout + 1);
    for (uint32_t i = 0; i < nin; i++) {
        ir_val arg = ir_block_get(m, body)->args[i];
        ir_type type = ir_val_get(m, arg)->type;
        in[i] = spmd_even(&p, sdy_raw(&g, arg), ir_type_get(m, type));
        ir_set_type(m, arg, spmd_local_type(&p, type, in[i]));
        spmd_define(&p, arg, type, in[i], in[i], IR_ADD, arg);
    }
    HILO_TRY(spmd_walk(&p, body, false));
    p.at = ir_terminator(m, body);
    for (uint32_t i = 0; i < nout; i++) {
        ir_val v = ir_operand(m, p.at, i);
        out[i] = spmd_even(&p, g.results[i], ir_type_get(m, spmd_global_type(&p, v)));
        ir_set_operand(m, p.at, i, spmd_get(&p, v, out[i]));
    }
    ir_type *types = ARENA_ARRAY(&o->scratch, ir_type, nin + nout + 1);
    for (uint32_t i = 0; i < nin; i++)
        types[i] = ir_val_get(m, ir_block_get(m, body)->args[i])->type;
    for (uint32_t i = 0; i < nout; i++)
        types[nin + i] = ir_val_get(m, ir_operand(m, ir_terminator(m, body), i))->type;
    ir_type type = ir_type_function(m, types, nin, types + nin, nout);
    ir_set_prop(m, func, IR_FUNC_function_type, ir_attr_of_type(m, type));
    drop_shardings(&c, IR_FUNC_arg_attrs, find_donors(&c, nin, nout));
    drop_shardings(&c, IR_FUNC_res_attrs, NULL);
    if (p.partitions > 1 && !p.by_replica)
        emit_sharding_attrs(&c, in, nin, out, nout);
    o->changes++;
    return HILO_OK;
}
