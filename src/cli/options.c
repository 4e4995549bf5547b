/* Command lines and their help, both from one table a command. */
#include "cli/cli.h"

#include <errno.h>
#include <stdlib.h>

/* ---- spelling -------------------------------------------------------------------------------- */

/* Insertions, deletions, replacements and swaps of neighbours that turn a into b. */
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

/* ---- help ------------------------------------------------------------------------------------ */

static void help_row(FILE *out, const char *name, const char *value, const char *help) {
    enum { COLUMN = 20 };
    int n = fprintf(out, "  %s%s%s", name, value && strcmp(name, "-O") != 0 ? " " : "", value ? value : "");
    if (n > COLUMN - 2)
        n = fprintf(out, "\n") - 1;
    for (const char *p = help; *p;) {
        size_t line = strcspn(p, "\n");
        fprintf(out, "%*s%.*s\n", COLUMN - n, "", (int)line, p);
        p += line + (p[line] != '\0');
        n = 0;
    }
}

void cli_help(const struct cli_command *c, FILE *out) {
    fprintf(out, "usage: hilo %s%s%s%s\n\n%s\noptions:\n", c->name, *c->operands ? " " : "", c->operands,
            c->options->name ? " [options]" : "", c->text);
    for (const struct cli_option *o = c->options; o->name; o++)
        help_row(out, o->name, o->value, o->help);
    help_row(out, "--help", NULL, "this text");
    fprintf(out, "\nexamples:\n%s", c->examples);
}

/* ---- parsing --------------------------------------------------------------------------------- */

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

static const struct {
    const char *name;
    hilo_backend backend;
} backends[] = {
    {"auto", HILO_BACKEND_AUTO},       {"reference", HILO_BACKEND_REFERENCE}, {"interpreter", HILO_BACKEND_INTERPRETER},
    {"codegen", HILO_BACKEND_CODEGEN}, {"library", HILO_BACKEND_LIBRARY},
};

/* Sets the option's field; false when the value cannot be one. */
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
    case CLI_BACKEND:
        for (size_t i = 0; i < sizeof backends / sizeof *backends; i++)
            if (strcmp(value, backends[i].name) == 0) {
                *(hilo_backend *)field = backends[i].backend;
                return true;
            }
        return false;
    case CLI_TEXT:
        *(const char **)field = value;
        return true;
    case CLI_TEXTS:
        add_text((struct cli_texts *)field, value);
        return true;
    }
    return false;
}

/* The option that argv[*i] names; its value may follow behind `=`, at once (-O2), or as the next argument. */
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
        return usage_error(c, "a value is missing behind", o->name, "");
    if (!value)
        value = argv[*i];
    if (!set_option(o, value, into))
        return usage_error(c, "wrong value", value, o->kind == CLI_LEVEL ? " for -O; levels are 0 to 3" : "");
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
        if (o->kind == CLI_TEXTS)
            free(((struct cli_texts *)((char *)into + o->at))->v);
    free(operands->v);
}
