/* Command lines, parsed by one table per command; the values that options can take. */
#include "cli/cli.h"
#include "kir/kir.h"
#include "llm/emit.h"
#include "opt/opt.h"

#include <errno.h>
#include <stdlib.h>

/* ---- spelling -------------------------------------------------------------------------------- */

/* Insertions, deletions, replacements and swaps of neighbours that transform a to b. */
static size_t edit_distance(const char *a, const char *b) {
    enum { MOST = 32 };
    size_t na = strlen(a), nb = strlen(b), d[MOST + 1][MOST + 1];
    if (na > MOST || nb > MOST)
        return MOST;
    for (size_t i = 0; i <= na; i++)
        for (size_t j = 0; j <= nb; j++) {
            if (i == 0 || j == 0) {
                d[i][j] = i + j;
                continue;
            }
            size_t best = d[i - 1][j - 1] + (a[i - 1] != b[j - 1]);
            if (d[i - 1][j] + 1 < best)
                best = d[i - 1][j] + 1;
            if (d[i][j - 1] + 1 < best)
                best = d[i][j - 1] + 1;
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] && d[i - 2][j - 2] + 1 < best)
                best = d[i - 2][j - 2] + 1;
            d[i][j] = best;
        }
    return d[na][nb];
}

const char *cli_nearest(const char *name, const char *(*next)(const void *names, size_t i), const void *names) {
    const char *nearest = NULL, *other;
    size_t least = strlen(name) / 3 + 2;
    for (size_t i = 0; (other = next(names, i)); i++) {
        size_t d = edit_distance(name, other);
        if (d < least) {
            least = d;
            nearest = other;
        }
    }
    return nearest;
}

static int usage_error(const struct cli_command *c, const char *what, const char *argument, const char *more) {
    return cli_error(CLI_USAGE, "%s '%s'%s; see: hilo %s --help", what, argument, more, c->name);
}

static const char *option_name(const void *names, size_t i) {
    const struct cli_option *o = names;
    return o[i].name;
}

static int unknown_option(const struct cli_command *c, const char *argument, size_t n) {
    char name[64], more[128] = "";
    snprintf(name, sizeof name, "%.*s", (int)(n < sizeof name ? n : sizeof name - 1), argument);
    const char *nearest = cli_nearest(name, option_name, c->options);
    if (nearest)
        snprintf(more, sizeof more, "; did you mean %s?", nearest);
    return usage_error(c, "unknown option", name, more);
}

static void add_text(struct cli_texts *t, const char *text) {
    if ((t->n & (t->n + 1)) == 0) { /* full: room is for 2^k - 1 */
        const char **v = cli_alloc(2 * t->n + 1, sizeof *v);
        if (t->n)
            memcpy(v, t->v, t->n * sizeof *v);
        free(t->v);
        t->v = v;
    }
    t->v[t->n++] = text;
}

/* ---- values ---------------------------------------------------------------------------------- */

/* By kind; a row's number is the option's value. */
static const struct cli_choice choices[][9] = {
    [CLI_BACKEND] = {
        [HILO_BACKEND_AUTO] = {"auto", "machine code, and installed libraries where\n`hilo calibrate` found them faster"},
        [HILO_BACKEND_REFERENCE] = {"reference", "the reference evaluator, which defines every result"},
        [HILO_BACKEND_INTERPRETER] = {"interpreter", "compiled, but kernels are interpreted"},
        [HILO_BACKEND_CODEGEN] = {"codegen", "machine code only"},
        [HILO_BACKEND_LIBRARY] = {"library", "installed libraries wherever they can: oneDNN,\nOpenBLAS, FFTW; else machine "
                                             "code"},
    },
    [CLI_TIER] = {
        [HILO_TIER_AUTO] = {"auto", "quick code first, which LLVM's replaces where runs\ntake long enough for that to pay"},
        [HILO_TIER_BASELINE] = {"baseline", "hilo's own code generator; LLVM for kernels that it\ndoes not support"},
        [HILO_TIER_OPTIMISED] = {"optimised", "LLVM"},
    },
    [CLI_COMPILE_FORM] = {
        [CLI_EMIT_HILO] = {"hilo", "an executable: machine code, constants and plan,\n"
                                    "for this kind of processor and version of hilo"},
        [CLI_EMIT_STABLEHLO] = {"stablehlo", "the optimised program"},
        [CLI_EMIT_PLAN] = {"plan", "the steps and the memory of their buffers, as text"},
        [CLI_EMIT_KIR] = {"kir", "the kernels, as loops over buffers; `hilo kir` reads it"},
        [CLI_EMIT_LLVM] = {"llvm", "the kernels as LLVM IR"},
        [CLI_EMIT_ASM] = {"asm", "the kernels as assembly"},
        [CLI_EMIT_OBJECT] = {"object", "the kernels as an ELF object file"},
    },
    [CLI_OPT_FORM] = {
        [CLI_OPT_TEXT] = {"text", "StableHLO as text"},
        [CLI_OPT_BYTECODE] = {"bytecode", "a portable artifact, as jax.export writes it"},
        [CLI_OPT_HLO] = {"hlo", "HLO text, as XLA reads it"},
    },
    [CLI_KIR_FORM] = {[CLI_KIR_TEXT] = {"kir", NULL}, [CLI_KIR_ASM] = {"asm", NULL}, [CLI_KIR_LLVM] = {"llvm", NULL}},
    [CLI_FLOATS] = {
        [OPT_EXACT] = {"exact", "nothing"},
        [OPT_NO_NAN] = {"no-nan", "no NaN, infinity or negative zero occurs"},
        [OPT_REASSOC] = {"reassoc", "also that rounding may differ"},
    },
    [CLI_GRAPH] = {
        [LLM_PREFILL] = {"prefill", "T tokens of each sequence"},
        [LLM_DECODE] = {"decode", "one more token of each sequence"},
        [LLM_VERIFY] = {"verify", "what follows each of a few tokens"},
        [LLM_SCORE] = {"score", "the log-probabilities of given tokens"},
        [LLM_LOGITS] = {"logits", "the logits after each of T tokens"},
        [LLM_EMBED] = {"embed", "vectors of texts"}, [LLM_GROW] = {"grow", "a larger cache of keys and values"},
    },
};

struct cli_choice cli_choice(enum cli_kind kind, size_t i) {
    const struct opt_rule_info *rule;
    const struct kir_pass *pass;
    switch (kind) {
    case CLI_PASSES:
    case CLI_PASS:
        return i < OPT_PASS_COUNT ? (struct cli_choice){opt_pass_get((enum opt_pass_id)i)->name, NULL} : (struct cli_choice){0};
    case CLI_KIR_PASSES:
        return (pass = kir_pass_get(i)) ? (struct cli_choice){pass->name, NULL} : (struct cli_choice){0};
    case CLI_RULES:
        return (rule = opt_rule_get(i)) ? (struct cli_choice){rule->name, NULL} : (struct cli_choice){0};
    case CLI_PRECISION:
        return i < LLM_PRECISIONS ? (struct cli_choice){llm_precision_name((enum llm_precision)i), NULL}
                                  : (struct cli_choice){0};
    default:
        return kind >= CLI_BACKEND ? choices[kind][i] : (struct cli_choice){0};
    }
}

static const char *choice_name(const void *kind, size_t i) {
    return cli_choice(*(const enum cli_kind *)kind, i).name;
}

/* The number of the choice; -1 when there is none of that name. */
static int choice_named(enum cli_kind kind, const char *name, size_t n) {
    const char *other;
    for (int i = 0; (other = cli_choice(kind, (size_t)i).name); i++)
        if (strlen(other) == n && memcmp(other, name, n) == 0)
            return i;
    return -1;
}

/* ---- parsing --------------------------------------------------------------------------------- */

static bool is_list(enum cli_kind kind) {
    return kind == CLI_PASSES || kind == CLI_KIR_PASSES;
}

/* The length of the first name in a list that is no choice; *at is moved to it. 0 when all are choices. */
static size_t unknown_name(enum cli_kind kind, const char **at) {
    for (; **at; *at += **at == ',') {
        size_t n = strcspn(*at, ",");
        if (n && choice_named(kind, *at, n) < 0)
            return n;
        *at += n;
    }
    return 0;
}

/* The value is none that the option can take: names those that it can. */
static int value_error(const struct cli_command *c, const struct cli_option *o, const char *value) {
    static const char *const expected[] = {[CLI_NUMBER] = "a non-negative integer", [CLI_REAL] = "a non-negative number",
                                           [CLI_LEVEL] = "0, 1, 2 or 3",
                                           [CLI_RULES] = "a rule of `hilo opt --list-passes`"};
    struct strbuf list;
    const char *name, *wrong = value, *known = o->kind < sizeof expected / sizeof *expected ? expected[o->kind] : NULL;
    size_t n = is_list(o->kind) ? unknown_name(o->kind, &wrong) : strlen(value);
    char word[64];
    strbuf_init(&list, mem_system_allocator());
    strbuf_puts(&list, known ? known : "");
    for (size_t i = 0; !known && (name = cli_choice(o->kind, i).name); i++)
        strbuf_printf(&list, "%s%s", i ? ", " : "", name);
    snprintf(word, sizeof word, "%.*s", (int)(n < sizeof word ? n : sizeof word - 1), wrong);
    const char *nearest = cli_nearest(word, choice_name, &o->kind);
    int code = cli_error(CLI_USAGE, "%s%s%s: expected %s%s%s%s; see: hilo %s --help", o->name, o->kind == CLI_LEVEL ? "" : " ",
                         word, list.p ? list.p : "", nearest ? "; did you mean " : "", nearest ? nearest : "",
                         nearest ? "?" : "", c->name);
    strbuf_free(&list);
    return code;
}

/* Sets the option's field; false when the value is none that it can take. */
static bool set_option(const struct cli_option *o, const char *value, void *into) {
    char *field = (char *)into + o->at, *end;
    switch (o->kind) {
    case CLI_FLAG:
        *(bool *)field = true;
        return true;
    case CLI_NUMBER: {
        errno = 0;
        long long n = strtoll(value, &end, 10);
        *(int64_t *)field = n;
        return *value && !*end && !errno && n >= 0;
    }
    case CLI_REAL:
        *(double *)field = strtod(value, &end);
        return *value && !*end && *(double *)field >= 0;
    case CLI_LEVEL:
        *(int32_t *)field = value[0] - '0';
        return value[0] >= '0' && value[0] <= '3' && !value[1];
    case CLI_PASSES:
    case CLI_KIR_PASSES:
    case CLI_PASS:
        *(const char **)field = value;
        return is_list(o->kind) ? !unknown_name(o->kind, &value) : choice_named(o->kind, value, strlen(value)) >= 0;
    case CLI_TEXT:
        *(const char **)field = value;
        return true;
    case CLI_RULES:
    case CLI_TEXTS:
        add_text((struct cli_texts *)field, value);
        return o->kind == CLI_TEXTS || choice_named(o->kind, value, strlen(value)) >= 0;
    default:
        *(int *)field = choice_named(o->kind, value, strlen(value));
        return *(int *)field >= 0;
    }
}

/* The option that argv[*i] names; its value may follow `=`, directly (-O2), or as the next argument. */
static int parse_option(const struct cli_command *c, int argc, char **argv, int *i, void *into) {
    const char *argument = argv[*i], *value = NULL;
    size_t n = strcspn(argument, "=");
    const struct cli_option *o = c->options;
    for (; o->name; o++) {
        size_t length = strlen(o->name);
        bool joined = o->kind == CLI_LEVEL && strncmp(argument, o->name, length) == 0;
        if (joined || (length == n && memcmp(argument, o->name, n) == 0)) {
            value = joined ? argument + length : argument[n] ? argument + n + 1 : NULL;
            break;
        }
    }
    if (!o->name)
        return unknown_option(c, argument, n);
    if (o->kind == CLI_FLAG && value)
        return usage_error(c, "no value is taken by", o->name, "");
    if (o->kind != CLI_FLAG && !value && ++*i >= argc)
        return usage_error(c, "a value is missing after", o->name, "");
    if (!value)
        value = argv[*i];
    if (!set_option(o, value, into))
        return value_error(c, o, value);
    return -1;
}

int cli_options(const struct cli_command *c, int argc, char **argv, void *into, struct cli_texts *operands) {
    bool only_operands = false;
    *operands = (struct cli_texts){NULL, 0};
    for (int i = 0; i < argc; i++) {
        const char *a = argv[i];
        if (only_operands || a[0] != '-' || !a[1]) {
            add_text(operands, a);
        } else if (strcmp(a, "--") == 0) {
            only_operands = true;
        } else if (strcmp(a, "--help") == 0 || strcmp(a, "-h") == 0) {
            cli_help(c, stdout);
            return CLI_OK;
        } else {
            int code = parse_option(c, argc, argv, &i, into);
            if (code >= 0)
                return code;
        }
    }
    if (operands->n > c->most)
        return usage_error(c, "one argument too many:", operands->v[c->most], "");
    if (operands->n < c->least)
        return cli_error(CLI_USAGE, "usage: hilo %s %s; see: hilo %s --help", c->name, c->operands, c->name);
    return -1;
}

void cli_options_free(const struct cli_command *c, void *into, struct cli_texts *operands) {
    for (const struct cli_option *o = c->options; o->name; o++)
        if (o->kind == CLI_TEXTS || o->kind == CLI_RULES)
            free(((struct cli_texts *)((char *)into + o->at))->v);
    free(operands->v);
}
