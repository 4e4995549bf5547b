/* Attributes of the entry's parameters and results that the plugin obeys, not the compiler: layouts
 * (`mhlo.layout_mode`), memories (`mhlo.memory_kind`), donations without a result to alias (`jax.buffer_donor`).
 *
 * A layout is a transpose: a buffer holds its elements in the order of memory, the entry takes and gives tensors of those
 * dimensions and transposes them itself, where passes fuse or cancel the transposes. */
#include "base/decimal.h"
#include "opt/opt.h"
#include "pjrt/pjrt.h"

#include <stdlib.h>

static bool contains(struct str text, struct str word) {
    while (text.n >= word.n) {
        const char *p = memchr(text.p, word.p[0], text.n - word.n + 1);
        if (!p)
            return false;
        if (memcmp(p, word.p, word.n) == 0)
            return true;
        text = (struct str){p + 1, (size_t)(text.p + text.n - (p + 1))};
    }
    return false;
}

bool pjrt_ports_named(struct str code) {
    static const char *const names[] = {"mhlo.layout_mode", "mhlo.memory_kind", "jax.buffer_donor", "LayoutConstraint"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (contains(code, str_of(names[i])))
            return true;
    return false;
}

/* ---- reading --------------------------------------------------------------------------------- */

struct reader {
    struct ir_module *m;
    struct diag_list *d;
    struct arena *scratch;
    ir_op func;
    const struct ir_block_data *body;
    ir_op end;
    struct pjrt_port *ports;    /* of the parameters, then of the results */
    bool *automatic;            /* likewise: the layout is ours to choose */
    struct opt_ids to;          /* by value: what replaces it */
};

static ir_attr port_attr(const struct reader *r, uint32_t i, struct str key) {
    uint32_t nin = r->body->nargs, k = i < nin ? i : i - nin;
    enum ir_slot slot = i < nin ? IR_FUNC_arg_attrs : IR_FUNC_res_attrs;
    const struct ir_attr_data *list = ir_attr_get(r->m, ir_prop(r->m, r->func, slot));
    return list->kind == IR_ATTR_ARRAY && k < list->n ? ir_dict_find(r->m, list->items[k], key) : (ir_attr){0};
}

static ir_val port_value(const struct reader *r, uint32_t i) {
    return i < r->body->nargs ? r->body->args[i] : ir_operand(r->m, r->end, i - r->body->nargs);
}

static hilo_status refuse(struct reader *r, uint32_t i, const char *what, struct str text) {
    bool in = i < r->body->nargs;
    return ir_op_error(r->m, r->d, r->func, HILO_UNIMPLEMENTED, NULL, "has %s %u with %s '%.*s'", in ? "parameter" : "result",
                       in ? i : i - r->body->nargs, what, (int)(text.n < 200 ? text.n : 200), text.p ? text.p : "");
}

/* "default", "auto", or "{1,0}": dimensions, the fastest varying first. */
static hilo_status read_layout(struct reader *r, uint32_t i) {
    struct str text = ir_attr_as_str(r->m, port_attr(r, i, STR("mhlo.layout_mode")));
    const struct ir_type_data *t = ir_val_type(r->m, port_value(r, i));
    struct pjrt_port *port = &r->ports[i];
    if (!text.n || str_is(text, "default") || !ir_type_is_shaped(t))
        return HILO_OK;
    if (str_is(text, "auto")) {
        r->automatic[i] = true;
        return HILO_OK;
    }
    const char *p = text.p, *end = text.p + text.n;
    uint64_t seen = 0;
    uint32_t n = 0;
    for (bool ok = p < end && *p++ == '{'; ok && n < t->rank; n++) {
        uint64_t k;
        if (n && (p == end || *p++ != ','))
            break;
        if (!dec_parse_u64(p, end, &k, &p) || k >= t->rank || seen >> k & 1)
            break;
        seen |= UINT64_C(1) << k;
        port->minor_to_major[n] = (int64_t)k;
    }
    if (n != t->rank || p + 1 != end || *p != '}')
        return refuse(r, i, "the layout", text);
    port->laid_out = pjrt_is_row_major(port->minor_to_major, t->rank) ? 0 : t->rank;
    return HILO_OK;
}

static hilo_status read_port(struct reader *r, uint32_t i) {
    struct pjrt_port *port = &r->ports[i];
    struct str kind = ir_attr_as_str(r->m, port_attr(r, i, STR("mhlo.memory_kind")));
    int64_t donor = 0;
    for (int k = 0; kind.n && k < PJRT_NKINDS; k++)
        if (str_is(kind, pjrt_memory_kinds[k])) {
            port->kind = (enum pjrt_memory_kind)k;
            kind.n = 0;
        }
    if (kind.n)
        return refuse(r, i, "the unknown memory kind", kind);
    port->donor = i < r->body->nargs && ir_attr_as_i64(r->m, port_attr(r, i, STR("jax.buffer_donor")), &donor) && donor;
    return read_layout(r, i);
}

static bool calls(const struct ir_module *m, ir_op op, const char *target) {
    return ir_kind(m, op) == IR_CUSTOM_CALL && str_is(ir_prop_str(m, op, IR_CUSTOM_CALL_call_target_name), target);
}

/* Whether the op's result has the elements of its operand in their order. */
static bool is_mark(const struct ir_module *m, ir_op op) {
    const struct ir_op_data *o = ir_op_get(m, op);
    return o->noperands == 1 && o->nresults == 1 &&
           IR_SAME(ir_val_get(m, o->operands[0])->type, ir_val_get(m, o->result0)->type) &&
           (ir_kind(m, op) == IR_SDY_SHARDING_CONSTRAINT || calls(m, op, "Sharding") ||
            calls(m, op, "annotate_device_placement"));
}

/* The layout that a LayoutConstraint requires, in `order`, which has the row-major one. */
static void constrained(const struct ir_module *m, ir_op op, uint32_t rank, int64_t *order) {
    const struct ir_attr_data *layouts = ir_attr_get(m, ir_prop(m, op, IR_CUSTOM_CALL_result_layouts));
    const struct ir_attr_data *a = layouts->kind == IR_ATTR_ARRAY && layouts->n == 1 ? ir_attr_get(m, layouts->items[0]) : NULL;
    if (a && a->kind == IR_ATTR_DENSE && a->nbytes == rank * sizeof *order && !(a->splat && rank != 1))
        memcpy(order, a->data, a->nbytes);
}

/* The layout in which a result costs no transpose: that of what it is a transpose of. */
static void choose_layout(struct reader *r, uint32_t i) {
    const struct ir_module *m = r->m;
    ir_val v = port_value(r, i);
    uint32_t rank = ir_val_type(m, v)->rank;
    int64_t dims[IR_MAX_RANK], order[IR_MAX_RANK]; /* dimension k of the result is dims[k] of v, whose layout is order */
    for (uint32_t k = 0; k < rank; k++) {
        dims[k] = k;
        order[k] = rank - 1 - k;
    }
    for (;;) {
        ir_op op = ir_val_get(m, v)->op;
        size_t n;
        if (IR_NONE(op)) {
            const struct pjrt_port *port = &r->ports[ir_val_get(m, v)->index];
            if (port->laid_out && IR_SAME(ir_val_get(m, v)->block, ir_func_body(m, r->func)))
                memcpy(order, port->minor_to_major, rank * sizeof *order);
            break;
        }
        if (calls(m, op, "LayoutConstraint")) {
            constrained(m, op, rank, order);
            break;
        }
        if (ir_kind(m, op) == IR_TRANSPOSE) {
            const int64_t *perm = ir_prop_i64s(m, op, IR_TRANSPOSE_permutation, &n);
            for (uint32_t k = 0; k < rank; k++)
                dims[k] = perm[dims[k]];
        } else if (!is_mark(m, op)) {
            break;
        }
        v = ir_operand(m, op, 0);
    }
    struct pjrt_port *port = &r->ports[i];
    for (uint32_t k = 0; k < rank; k++)
        for (uint32_t j = 0; j < rank; j++)
            if (dims[j] == order[k])
                port->minor_to_major[k] = j;
    port->laid_out = pjrt_is_row_major(port->minor_to_major, rank) ? 0 : rank;
}

/* ---- changing -------------------------------------------------------------------------------- */

/* Operands become what replaces them, constraints of layouts their operands. */
static void update_block(struct reader *r, ir_block b) {
    struct ir_module *m = r->m;
    for (ir_op op = ir_block_get(m, b)->first, next; !IR_NONE(op); op = next) {
        next = ir_op_get(m, op)->next;
        for (uint32_t i = 0; i < ir_op_get(m, op)->noperands; i++) {
            uint32_t to = opt_ids_get(&r->to, ir_operand(m, op, i).i);
            if (to)
                ir_set_operand(m, op, i, (ir_val){to});
        }
        if (calls(m, op, "LayoutConstraint") && ir_op_get(m, op)->noperands == 1 && ir_op_get(m, op)->nresults == 1) {
            opt_ids_set(&r->to, ir_result(m, op, 0).i, ir_operand(m, op, 0).i);
            ir_unlink(m, op);
            continue;
        }
        for (uint32_t k = 0; k < ir_op_get(m, op)->nregions; k++)
            for (ir_block x = ir_region_get(m, ir_op_region(m, op, k))->first; !IR_NONE(x); x = ir_block_get(m, x)->next)
                update_block(r, x);
    }
}

/* In no block yet. */
static ir_op transpose(struct reader *r, ir_val v, ir_type type, const int64_t *perm, uint32_t rank) {
    ir_op op = ir_op_new(r->m, IR_TRANSPOSE, &v, 1, &type, 1, 0);
    ir_set_prop(r->m, op, IR_TRANSPOSE_permutation, ir_attr_i64s(r->m, perm, rank));
    return op;
}

/* The entry takes, or gives, port i in the order of memory: its type there, and the transpose, or none. */
static ir_type lay_out(struct reader *r, uint32_t i, ir_op *out) {
    const struct pjrt_port *port = &r->ports[i];
    ir_val v = port_value(r, i);
    ir_type type = ir_val_get(r->m, v)->type;
    const struct ir_type_data *t = ir_type_get(r->m, type);
    int64_t dims[IR_MAX_RANK], order[IR_MAX_RANK], inverse[IR_MAX_RANK];
    *out = (ir_op){0};
    if (!port->laid_out)
        return type;
    for (uint32_t k = 0; k < t->rank; k++) {
        order[k] = port->minor_to_major[t->rank - 1 - k];
        dims[k] = t->dims[order[k]];
        inverse[order[k]] = k;
    }
    uint32_t rank = t->rank;
    ir_type physical = ir_type_with_dims(r->m, type, dims, rank);
    if (i < r->body->nargs) {
        *out = transpose(r, v, type, inverse, rank);
        ir_set_type(r->m, v, physical);
        opt_ids_set(&r->to, v.i, ir_result(r->m, *out, 0).i);
    } else {
        *out = transpose(r, v, physical, order, rank);
    }
    return physical;
}

/* ---- the two steps --------------------------------------------------------------------------- */

static bool reader_init(struct reader *r) {
    r->func = ir_module_symbol(r->m, STR("main"));
    if (IR_NONE(r->func) || ir_kind(r->m, r->func) != IR_FUNC || IR_NONE(ir_func_body(r->m, r->func)))
        return false;
    r->body = ir_block_get(r->m, ir_func_body(r->m, r->func));
    r->end = ir_terminator(r->m, ir_func_body(r->m, r->func));
    r->to = (struct opt_ids){.a = r->scratch};
    return !IR_NONE(r->end);
}

static hilo_status read_all(struct reader *r, size_t *n) {
    if (!reader_init(r))
        return HILO_OK;
    *n = r->body->nargs + ir_op_get(r->m, r->end)->noperands;
    r->automatic = ARENA_ARRAY(r->scratch, bool, *n + 1);
    memset(r->automatic, 0, *n + 1);
    r->ports = pjrt_alloc(*n, sizeof *r->ports);
    if (!r->ports)
        return HILO_RESOURCE_EXHAUSTED;
    for (uint32_t i = 0; i < *n; i++)
        HILO_TRY(read_port(r, i));
    for (uint32_t i = r->body->nargs; i < *n; i++)
        if (r->automatic[i])
            choose_layout(r, i);
    update_block(r, ir_func_body(r->m, r->func));
    return HILO_OK;
}

static hilo_status apply_all(struct reader *r, size_t n) {
    if (!reader_init(r) || n != r->body->nargs + ir_op_get(r->m, r->end)->noperands)
        return HILO_OK;
    uint32_t nin = r->body->nargs;
    ir_type *types = ARENA_ARRAY(r->scratch, ir_type, n + 1);
    ir_op *ops = ARENA_ARRAY(r->scratch, ir_op, n + 1), first = r->body->first;
    for (uint32_t i = 0; i < nin; i++)
        types[i] = lay_out(r, i, &ops[i]);
    update_block(r, ir_func_body(r->m, r->func));
    for (uint32_t i = 0; i < n; i++) {
        if (i >= nin)
            types[i] = lay_out(r, i, &ops[i]);
        if (IR_NONE(ops[i]))
            continue;
        ir_insert_before(r->m, i < nin ? first : r->end, ops[i]);
        if (i >= nin)
            ir_set_operand(r->m, r->end, i - nin, ir_result(r->m, ops[i], 0));
    }
    ir_type type = ir_type_function(r->m, types, nin, types + nin, (uint32_t)n - nin);
    ir_set_prop(r->m, r->func, IR_FUNC_function_type, ir_attr_of_type(r->m, type));
    return HILO_OK;
}

/* Runs one of the two with a place for exhaustion to go. */
static hilo_status with_recovery(struct reader *r, hilo_status (*read)(struct reader *r, size_t *n), size_t *n) {
    jmp_buf recover;
    struct arena scratch;
    arena_init(&scratch, r->d->al, &recover);
    r->scratch = &scratch;
    r->m->arena.recover = &recover;
    hilo_status status = HILO_RESOURCE_EXHAUSTED;
    if (!setjmp(recover))
        status = read ? read(r, n) : apply_all(r, *n);
    r->m->arena.recover = NULL;
    arena_free(&scratch);
    return status;
}

hilo_status pjrt_ports_read(struct ir_module *m, struct diag_list *d, struct pjrt_port **out, size_t *n) {
    struct reader r = {.m = m, .d = d};
    *n = 0;
    hilo_status status = with_recovery(&r, read_all, n);
    *out = r.ports;
    return status;
}

hilo_status pjrt_ports_apply(struct ir_module *m, struct diag_list *d, struct pjrt_port *ports, size_t n) {
    struct reader r = {.m = m, .d = d, .ports = ports};
    return with_recovery(&r, NULL, &n);
}
