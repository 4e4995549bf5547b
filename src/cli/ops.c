/* hilo ops: the table of operations. */
#include "cli/cli.h"

struct ops_options {
    bool markdown, json;
};

static const char *const evaluators[IR_OP_COUNT] = {
#define OP(id, name, form, operands, results, regions, traits, cost, rule, eval, ...) [IR_##id] = #eval,
#include "ir/ops.def"
};

static const struct {
    unsigned trait;
    const char *name;
} traits[] = {
    {IR_T_PURE, "pure"},           {IR_T_ELEMENTWISE, "elementwise"}, {IR_T_COMMUTATIVE, "commutative"},
    {IR_T_ASSOCIATIVE, "associative"}, {IR_T_IDEMPOTENT, "idempotent"}, {IR_T_SAME_SHAPE, "same shape"},
    {IR_T_SAME_TYPE, "same type"}, {IR_T_MOVEMENT, "movement"},       {IR_T_REDUCTION, "reduction"},
    {IR_T_CONTRACTION, "contraction"}, {IR_T_CONTROL, "control"},     {IR_T_COLLECTIVE, "collective"},
    {IR_T_EFFECT, "effect"},       {IR_T_TERMINATOR, "terminator"},   {IR_T_SYMBOL, "symbol"},
    {IR_T_ISOLATED, "isolated"},   {IR_T_CONSTANT, "constant"},       {IR_T_RANDOM, "random"},
    {IR_T_BROADCASTING, "broadcasting"}, {IR_T_MAY_FAIL, "may fail"}, {IR_T_SELECTION, "selection"},
    {IR_T_VIEW, "view"},           {IR_T_ALIAS, "alias"},             {IR_T_SLOTS, "slots"},
    {IR_T_PREDICATE, "predicate"}, {IR_T_ASYNC, "async"},             {IR_T_RUN_STATE, "run state"},
};

static void list_traits(unsigned set, char *out, size_t size) {
    size_t n = 0;
    out[0] = '\0';
    for (size_t i = 0; i < sizeof traits / sizeof *traits; i++)
        if (set & traits[i].trait)
            n += (size_t)snprintf(out + n, size - n, "%s%s", n ? ", " : "", traits[i].name);
}

static const char *evaluator(int k) {
    return strcmp(evaluators[k], "none") == 0 ? "" : evaluators[k];
}

static void print_text(int k, const struct ir_op_info *info, const char *traits_of) {
    printf("%-42s %-28s %-12s %-22s %s\n", info->name, info->operands, info->results, evaluator(k), traits_of);
}

static void print_markdown(int k, const struct ir_op_info *info, const char *traits_of) {
    const char *tick = *info->form ? "`" : "", *how = *evaluator(k) ? "`" : "";
    printf("| `%s` | %s%s%s | %s | %s | %s | %s%s%s |\n", info->name, tick, info->form, tick, info->operands,
           info->results, traits_of, how, evaluator(k), how);
}

static void print_json(int k, const struct ir_op_info *info, const char *traits_of) {
    printf("%s{\"op\":\"%s\",\"form\":\"%s\",\"operands\":\"%s\",\"results\":\"%s\",\"traits\":\"%s\","
           "\"evaluator\":\"%s\"}",
           k == 1 ? "[" : ",\n ", info->name, info->form, info->operands, info->results, traits_of, evaluator(k));
}

static void print_ops(const struct ops_options *o) {
    char list[256];
    if (o->markdown)
        printf("# Operations\n\n"
               "%d operations, as `hilo ops --markdown` prints them from `src/ir/ops.def`, where the words of the\n"
               "columns are explained. Kinds of operands and results are in `src/ir/typekinds.def`; an operation\n"
               "without a form has the generic form alone.\n\n"
               "| op | form | operands | results | traits | evaluator |\n|---|---|---|---|---|---|\n", IR_OP_COUNT - 1);
    else if (!o->json)
        printf("%-42s %-28s %-12s %-22s %s\n", "op", "operands", "results", "evaluator", "traits");
    for (int k = 1; k < IR_OP_COUNT; k++) {
        const struct ir_op_info *info = ir_op_info((enum ir_op_kind)k);
        list_traits(info->traits, list, sizeof list);
        (o->markdown ? print_markdown : o->json ? print_json : print_text)(k, info, list);
    }
    if (o->json)
        printf("]\n");
}

static int ops_main(const struct cli_command *self, int argc, char **argv) {
    struct ops_options o = {0};
    struct cli_texts operands;
    int code = cli_options(self, argc, argv, &o, &operands);
    if (code < 0) {
        print_ops(&o);
        code = CLI_OK;
    }
    cli_options_free(self, &o, &operands);
    return code;
}

static const struct cli_option options[] = {
    {"--markdown", NULL, CLI_FLAG, offsetof(struct ops_options, markdown), "print Markdown: docs/OPS.md"},
    {"--json", NULL, CLI_FLAG, offsetof(struct ops_options, json), "print JSON"},
    {0}
};

const struct cli_command cli_ops = {
    .name = "ops", .operands = "", .options = options, .run = ops_main,
    .summary = "prints the table of operations",
    .text = "Prints the operations that hilo reads, verifies and runs, with their operands, results and traits.\n",
    .examples = "  hilo ops | grep elementwise\n"
                "  hilo ops --markdown >OPS.md\n",
};
