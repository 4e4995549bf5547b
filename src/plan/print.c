/* Plans as text. */
#include "plan/plan.h"

#include <inttypes.h>
#include <string.h>

const char *plan_place_name(enum plan_place place) {
    static const char *const names[] = {"block", "constant", "argument", "result", "value", "init"};
    return names[place];
}

static void print_place(const struct plan_buffer *x, struct strbuf *out) {
    if (x->space == PLAN_DEVICE)
        strbuf_puts(out, "device ");
    strbuf_puts(out, plan_place_name(x->place));
    if (x->place == PLAN_ARGUMENT || x->place == PLAN_RESULT || x->place == PLAN_VALUE || x->place == PLAN_INIT)
        strbuf_printf(out, " %u", x->index);
    if (x->place == PLAN_BLOCK || (x->place != PLAN_CONSTANT && x->offset))
        strbuf_printf(out, "+%zu", x->offset);
}

static void print_type(const struct plan_buffer *x, struct strbuf *out) {
    if (x->dtype == IR_DTYPE_NONE) {
        strbuf_puts(out, "token");
        return;
    }
    strbuf_puts(out, "tensor<");
    for (uint32_t i = 0; i < x->rank; i++)
        if (x->dims[i] < 0)
            strbuf_puts(out, "?x");
        else
            strbuf_printf(out, "%" PRId64 "x", x->dims[i]);
    strbuf_printf(out, "%s>", ir_dtype_get(x->dtype)->name);
}

/* ` in b1, b2 out b3 inout b4`: what has the role of the one before is not said again. */
static void print_uses(const struct plan_step *s, struct strbuf *out) {
    static const char *const roles[] = {"in", "out", "inout"};
    for (uint32_t i = 0; i < s->nuses; i++) {
        bool same = i && s->uses[i].role == s->uses[i - 1].role;
        if (same)
            strbuf_printf(out, ", b%u", s->uses[i].buffer);
        else
            strbuf_printf(out, " %s b%u", roles[s->uses[i].role], s->uses[i].buffer);
    }
}

static void print_targets(const struct plan_step *s, struct strbuf *out) {
    for (uint32_t i = 0; i < s->ntargets; i++)
        strbuf_printf(out, "%s %u", i ? "," : " to", s->targets[i]);
}

const char *plan_kind_name(enum plan_step_kind kind) {
    static const char *const names[] = {"kernel", "routine", "reference", "copy", "collective",
                                        "done",   "test",    "switch",    "jump"};
    return names[kind];
}

const char *plan_exchange_name(enum plan_exchange kind) {
    static const char *const names[] = {"all_gather", "all_to_all", "collective_broadcast", "collective_permute", "replica_id",
                                        "partition_id"};
    return names[kind];
}

static void print_step(const struct plan *p, uint32_t number, struct strbuf *out) {
    const struct plan_step *s = &p->steps[number];
    strbuf_printf(out, "%4u  %*s%s", number, (int)(2 * s->depth), "", plan_kind_name(s->kind));
    if (s->kind == PLAN_KERNEL)
        strbuf_printf(out, " %s", s->kernel->name);
    else if (s->kind == PLAN_ROUTINE)
        strbuf_printf(out, " %s", lib_match_name(s->routine));
    else if (s->collective)
        strbuf_printf(out, " %s", plan_exchange_name(s->collective->kind));
    else if (s->kind == PLAN_REFERENCE) {
        strbuf_puts(out, " @");
        strbuf_str(out, ir_prop_str(p->m, s->func, IR_FUNC_sym_name));
    }
    if (s->collective && s->collective->number)
        strbuf_printf(out, " %s%u", s->kind == PLAN_COLLECTIVE ? "start " : "", s->collective->number);
    print_uses(s, out);
    if (s->kind == PLAN_TEST && !s->nuses)
        strbuf_printf(out, " %" PRIu64 " times, then", s->trips);
    print_targets(s, out);
    if (s->kind == PLAN_KERNEL)
        strbuf_printf(out, " grid %" PRId64, s->kernel->grid);
    if (s->kind == PLAN_KERNEL && s->kernel->scratch_bytes)
        strbuf_printf(out, " scratch %zu", s->kernel->scratch_bytes);
    if (s->kind == PLAN_KERNEL && s->kernel->library)
        strbuf_printf(out, " by %s", s->kernel->library->name);
    if (s->init && p->sections[s->init - 1].argument >= 0)
        strbuf_printf(out, " init argument %d", (int)p->sections[s->init - 1].argument);
    else if (s->init)
        strbuf_puts(out, " init");
    if (s->group)
        strbuf_printf(out, " group %u", s->group);
    if (s->note && s->note->text)
        strbuf_printf(out, " ; %s", s->note->text);
    strbuf_putc(out, '\n');
}

/* Marks the buffers that a step uses, or that are results. */
static void mark_used(const struct plan *p, bool *used) {
    for (uint32_t i = 0; i < p->nsteps; i++)
        for (uint32_t k = 0; k < p->steps[i].nuses; k++)
            used[p->steps[i].uses[k].buffer] = true;
    for (uint32_t i = 0; i < p->nresults; i++)
        used[p->results[i]] = true;
}

void plan_print(const struct plan *p, struct strbuf *out) {
    if (p->evaluated) {
        strbuf_puts(out, "plan of one step over values: reference @");
        strbuf_str(out, ir_prop_str(p->m, p->steps->func, IR_FUNC_sym_name));
        strbuf_putc(out, '\n');
        return;
    }
    const struct plan_memory *host = &p->memory[PLAN_HOST], *device = &p->memory[PLAN_DEVICE];
    strbuf_printf(out, "plan of %u arguments, %u results: temporaries %zu bytes (block %zu, scratch %zu), peak live %zu\n",
                  p->narguments, p->nresults, plan_temp_bytes(p, PLAN_HOST), host->block_bytes, host->scratch_bytes,
                  host->live_bytes);
    if (device->live_bytes || p->device_constants)
        strbuf_printf(out, "device: temporaries %zu bytes (block %zu, scratch %zu), peak live %zu, constants %zu\n",
                      plan_temp_bytes(p, PLAN_DEVICE), device->block_bytes, device->scratch_bytes, device->live_bytes,
                      p->device_constants);
    bool *used = mem_alloc(&out->al, p->nbuffers);
    if (!used) {
        out->failed = true;
        return;
    }
    memset(used, 0, p->nbuffers);
    mark_used(p, used);
    for (uint32_t i = 0; i < p->nbuffers; i++) {
        if (!used[i])
            continue;
        strbuf_printf(out, "  b%u = ", i);
        print_type(&p->buffers[i], out);
        strbuf_putc(out, ' ');
        print_place(&p->buffers[i], out);
        strbuf_putc(out, '\n');
    }
    mem_free(&out->al, used, p->nbuffers);
    for (uint32_t i = 0; i < p->nresults; i++)
        if (p->donors[i] >= 0)
            strbuf_printf(out, "  result %u may alias argument %d\n", i, (int)p->donors[i]);
    for (uint32_t i = 0; i < p->nsteps; i++)
        print_step(p, i, out);
}
