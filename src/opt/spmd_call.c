/* Custom calls that their framework divides (struct opt_partitioner); see spmd.h.
 *
 * The partitioner gets the types and shardings of operands and results, and gives those that it wants, and a program on local
 * shards, whose ops replace the call: collectives in it are among all partitions, as in a manual computation over all axes. */
#include "opt/sharding.h"
#include "opt/spmd.h"

#include <inttypes.h>

void spmd_text(struct spmd *p, const struct sdy_sharding *s, struct strbuf *out) {
    const int32_t **held = ARENA_ARRAY(p->a, const int32_t *, (s ? s->rank : 0) + 1);
    if (s)
        held[s->rank] = spmd_held(p, s->mesh, s->unreduced);
    for (uint32_t d = 0; s && d < s->rank; d++)
        held[d] = spmd_held(p, s->mesh, s->dims[d].axes);
    sharding_text(s, held, p->partitions, out);
}

bool spmd_is_divided(const struct spmd *p, ir_op op) {
    const struct opt_partitioner *by = p->o->options.partitioner;
    return p->partitions > 1 && by && by->knows(by->user, ir_prop_str(p->m, op, IR_CUSTOM_CALL_call_target_name));
}

static struct str text_of(struct spmd *p, const struct sdy_sharding *s) {
    struct strbuf text;
    strbuf_init(&text, p->o->d->al);
    spmd_text(p, s, &text);
    if (text.failed) {
        strbuf_free(&text);
        arena_exhausted(p->a);
    }
    struct str out = {arena_dup(p->a, text.p, text.n, 1), text.n};
    strbuf_free(&text);
    return out;
}

/* Inside of a manual computation partitions see different values as one. */
static bool is_manual(const struct spmd *p) {
    for (uint32_t i = 0; i < p->partitions; i++)
        if (p->group[i])
            return true;
    return false;
}

static bool same_type(const struct ir_type_data *a, const struct ir_type_data *b) {
    return a->kind == b->kind && a->dtype == b->dtype && a->rank == b->rank && !a->quant && !b->quant &&
           (!a->rank || memcmp(a->dims, b->dims, a->rank * sizeof *a->dims) == 0);
}

/* The body of @main; none where the program has another form. */
static ir_block body_of(const struct ir_module *m) {
    ir_op func = ir_module_symbol(m, STR("main"));
    if (IR_NONE(func) || ir_kind(m, func) != IR_FUNC || IR_NONE(ir_func_body(m, func)))
        return (ir_block){0};
    for (ir_op op = ir_block_get(m, ir_module_body(m))->first; !IR_NONE(op); op = ir_op_get(m, op)->next)
        if (!IR_SAME(op, func))
            return (ir_block){0};
    return ir_func_body(m, func);
}

struct division {
    struct spmd *p;
    ir_op op;
    uint32_t nin, n;
    ir_type *types;                 /* of operands, then results */
    const struct sdy_sharding **s;  /* that the partitioner wants */
};

static hilo_status refuse(const struct division *x, const char *what) {
    return ir_op_error(x->p->m, x->p->o->d, x->op, HILO_INVALID_ARGUMENT, NULL, "is divided into a program %s", what);
}

static hilo_status read_shardings(struct division *x, const struct str *texts, const struct sdy_mesh *mesh) {
    for (uint32_t t = 0; t < x->n; t++) {
        const struct ir_type_data *type = ir_type_get(x->p->m, x->types[t]);
        bool supported;
        HILO_TRY(sharding_read_hlo(x->p->o, x->op, texts[t], x->types[t], x->p->partitions, mesh, &x->s[t], &supported));
        if (!supported)
            return ir_op_error(x->p->m, x->p->o->d, x->op, HILO_UNIMPLEMENTED, NULL,
                               "is divided by '%.*s', which is not supported", (int)(texts[t].n < 100 ? texts[t].n : 100),
                               texts[t].p);
        x->s[t] = spmd_even(x->p, x->s[t], type);
    }
    return HILO_OK;
}

/* Whether the program takes and gives shards of these types. */
static hilo_status check_program(const struct division *x, const struct ir_module *from, ir_block body) {
    if (IR_NONE(body))
        return refuse(x, "that is not one function @main");
    const struct ir_block_data *b = ir_block_get(from, body);
    ir_op end = ir_terminator(from, body);
    if (b->nargs != x->nin || ir_op_get(from, end)->noperands != x->n - x->nin)
        return refuse(x, "of another number of parameters or results");
    for (uint32_t t = 0; t < x->n; t++) {
        const struct ir_type_data *is = ir_val_type(from, t < x->nin ? b->args[t] : ir_operand(from, end, t - x->nin));
        if (!same_type(is, ir_type_get(x->p->m, spmd_local_type(x->p, x->types[t], x->s[t]))))
            return refuse(x, "whose parameters or results are not of the types of its shards");
    }
    return HILO_OK;
}

static hilo_status check_identity(const struct division *x) {
    bool same = x->n == 2 * x->nin;
    for (uint32_t i = 0; i < x->nin && same; i++)
        same = IR_SAME(x->types[i], x->types[x->nin + i]);
    return same ? HILO_OK : ir_op_error(x->p->m, x->p->o->d, x->op, HILO_INVALID_ARGUMENT, NULL,
                                        "has results of other types than its operands, which they are");
}

static hilo_status replace(struct division *x, const struct ir_module *program, const struct sdy_sharding *const *results) {
    struct spmd *p = x->p;
    ir_val *args = ARENA_ARRAY(p->a, ir_val, x->nin + 1), *out = ARENA_ARRAY(p->a, ir_val, x->n + 1);
    ir_block body = program ? body_of(program) : (ir_block){0};
    HILO_TRY(program ? check_program(x, program, body) : check_identity(x));
    for (uint32_t i = 0; i < x->nin; i++)
        args[i] = spmd_get(p, ir_operand(p->m, x->op, i), x->s[i]);
    if (program)
        ir_import(p->m, program, body, args, x->op, out, p->a);
    for (uint32_t i = 0; i < x->n - x->nin; i++)
        spmd_define(p, ir_result(p->m, x->op, i), x->types[x->nin + i], results[i], x->s[program ? x->nin + i : i], IR_ADD,
                    program ? out[i] : args[i]);
    ir_unlink(p->m, x->op);
    p->o->changes++;
    return HILO_OK;
}

hilo_status spmd_divide(struct spmd *p, ir_op op) {
    const struct opt_partitioner *by = p->o->options.partitioner;
    uint32_t nin = ir_op_get(p->m, op)->noperands, n = nin + ir_op_get(p->m, op)->nresults;
    struct division x = {.p = p, .op = op, .nin = nin, .n = n, .types = ARENA_ARRAY(p->a, ir_type, n + 1),
                         .s = ARENA_ARRAY(p->a, const struct sdy_sharding *, n + 1)};
    struct str *texts = ARENA_ARRAY(p->a, struct str, n + 1);
    const struct sdy_sharding **results = ARENA_ARRAY(p->a, const struct sdy_sharding *, n + 1);
    const struct sdy_mesh *mesh = NULL;
    bool manual = is_manual(p);
    for (uint32_t t = 0; t < n; t++) {
        ir_val v = t < nin ? ir_operand(p->m, op, t) : ir_result(p->m, op, t - nin);
        x.types[t] = t < nin ? spmd_global_type(p, v) : ir_val_get(p->m, v)->type;
        const struct sdy_sharding *raw = t < nin ? spmd_sharding(p, v) : sdy_raw(p->g, v);
        if (raw)
            HILO_TRY(spmd_check_mesh(p, op, raw->mesh));
        x.s[t] = spmd_even(p, raw, ir_type_get(p->m, x.types[t]));
        if (t >= nin)
            results[t - nin] = x.s[t];
        mesh = mesh ? mesh : x.s[t] ? x.s[t]->mesh : NULL;
        texts[t] = manual && !x.s[t] ? STR("{manual}") : text_of(p, x.s[t]);
    }
    struct opt_custom_call call = {.m = p->m, .op = op, .types = x.types, .shardings = texts};
    struct opt_division d = {.program = NULL};
    hilo_status status = by->divide(by->user, &call, &d);
    if (status != HILO_OK)
        return ir_op_error(p->m, p->o->d, op, status, NULL, "cannot be divided: %.*s",
                           (int)(d.error.n < 4000 ? d.error.n : 4000), d.error.p ? d.error.p : "");
    if (d.program && manual)
        return ir_op_error(p->m, p->o->d, op, HILO_UNIMPLEMENTED, NULL,
                           "is divided by its framework inside of a manual computation, which is not supported");
    if (d.program)
        HILO_TRY(read_shardings(&x, d.shardings, mesh));
    return replace(&x, d.program, results);
}
