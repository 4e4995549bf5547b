/* Help, from the tables of commands and options: as text, as the manual page man/hilo.1, and as the completion for bash in
 * completions/hilo.bash. A test compares both files with what is printed here. */
#include "cli/cli.h"

const struct cli_command *const cli_commands[] = {
    &cli_run, &cli_compile, &cli_explain, &cli_verify, &cli_check, &cli_bench, &cli_opt, &cli_ops, &cli_devices, &cli_kir,
    &cli_cache, &cli_calibrate, &cli_generate, &cli_embed, &cli_tokenize, &cli_template, &cli_perplexity, &cli_emit,
    &cli_quantize, &cli_convert, &cli_serve, NULL};

/* ---- exit codes and environment -------------------------------------------------------------- */

static const struct { int code; const char *text; } exit_codes[] = {
    {CLI_OK, "success"},
    {CLI_FAILED, "the program is invalid, its run failed, or a check or comparison failed"},
    {CLI_USAGE, "the command line or an environment variable is invalid, or the inputs do not fit the program"},
    {CLI_ENVIRONMENT, "the environment: a file cannot be read or written, memory is exhausted, a library is missing"},
    {CLI_INTERRUPTED, "interrupted"},
};

static const struct { const char *name, *text; } environment[] = {
#define ENV(name, text) {name, text},
#include "cli/environment.def"
};

/* ---- text ------------------------------------------------------------------------------------ */

enum { HELP_COLUMN = 20 };

/* `help` in a column of its own, after the `used` characters printed of the line. */
static void help_lines(FILE *out, int used, int column, const char *help) {
    for (const char *p = help; *p;) {
        size_t line = strcspn(p, "\n");
        fprintf(out, "%*s%.*s\n", column - used, "", (int)line, p);
        p += line + (p[line] != '\0');
        used = 0;
    }
}

/* The choices of an option are shown after a help text that ends with a colon: described one by one, or as a list. */
static bool shows_choices(const struct cli_option *o) {
    return cli_ends_with(o->help, ":");
}

static bool is_described(const struct cli_option *o) {
    return shows_choices(o) && cli_choice(o->kind, 0).help;
}

/* "auto, f32 or bf16", or "". */
static void choice_list(const struct cli_option *o, struct strbuf *out) {
    struct cli_choice c;
    for (size_t i = 0; shows_choices(o) && !is_described(o) && (c = cli_choice(o->kind, i)).name; i++)
        strbuf_printf(out, "%s%s", !i ? "" : cli_choice(o->kind, i + 1).name ? ", " : " or ", c.name);
}

static void help_option(FILE *out, const struct cli_option *o) {
    struct strbuf list;
    struct cli_choice c;
    int n = fprintf(out, "  %s%s%s", o->name, o->value && o->kind != CLI_LEVEL ? " " : "", o->value ? o->value : "");
    if (n > HELP_COLUMN - 2)
        n = fprintf(out, "\n") - 1;
    help_lines(out, n, HELP_COLUMN, o->help);
    strbuf_init(&list, mem_system_allocator());
    choice_list(o, &list);
    if (list.n)
        fprintf(out, "%*s%s\n", HELP_COLUMN, "", list.p);
    strbuf_free(&list);
    for (size_t i = 0; is_described(o) && (c = cli_choice(o->kind, i)).name; i++) {
        n = fprintf(out, "%*s  %-11s ", HELP_COLUMN, "", c.name);
        help_lines(out, n, HELP_COLUMN + 14, c.help);
    }
}

static const struct cli_option help_itself = {"--help", NULL, CLI_FLAG, 0, "print this text"};

void cli_help(const struct cli_command *c, FILE *out) {
    fprintf(out, "usage: hilo %s%s%s%s\n\n%s\noptions:\n", c->name, c->options->name ? " [options]" : "",
            *c->operands ? " " : "", c->operands, c->text);
    for (const struct cli_option *o = c->options; o->name; o++)
        help_option(out, o);
    help_option(out, &help_itself);
    fprintf(out, "\nexamples:\n%s", c->examples);
}

static void help_exit_codes(FILE *out) {
    fputs("exit codes:\n", out);
    for (size_t i = 0; i < sizeof exit_codes / sizeof *exit_codes; i++)
        fprintf(out, "  %-4d %s\n", exit_codes[i].code, exit_codes[i].text);
}

static void help_environment(FILE *out) {
    fputs("environment variables:\n", out);
    for (size_t i = 0; i < sizeof environment / sizeof *environment; i++) {
        fprintf(out, "  %s\n", environment[i].name);
        help_lines(out, 0, 6, environment[i].text);
    }
}

void cli_help_all(FILE *out) {
    fputs("hilo reads, verifies, compiles and runs StableHLO programs.\n\nusage: hilo COMMAND [options] [arguments]\n\n", out);
    for (const struct cli_command *const *c = cli_commands; *c; c++)
        fprintf(out, "  %-11s %s\n", (*c)->name, (*c)->summary);
    fputs("  help        explains a command: hilo help run\n"
          "\n"
          "  hilo help environment  lists the environment variables\n"
          "  hilo --version         prints the version, and whether LLVM was found\n"
          "\n", out);
    help_exit_codes(out);
}

/* ---- the manual page ------------------------------------------------------------------------- */

/* A piece of text in troff: the characters that mean something there are escaped. */
static void man_text(const char *p, size_t n) {
    for (size_t i = 0; i < n; i++) {
        if (i == 0 && (p[0] == '.' || p[0] == '\''))
            fputs("\\&", stdout);
        if (p[i] == '-')
            fputs("\\-", stdout);
        else if (p[i] == '\\')
            fputs("\\e", stdout);
        else
            fputc(p[i], stdout);
    }
}

/* Paragraphs are filled, indented lines kept. */
static void man_paragraphs(const char *text) {
    bool kept = false;
    for (const char *p = text; *p;) {
        size_t n = strcspn(p, "\n");
        bool keep = n && *p == ' ';
        if (keep != kept && (keep || n)) {
            fputs(keep ? ".nf\n" : ".fi\n", stdout);
            kept = keep;
        }
        if (n)
            man_text(p, n);
        else
            fputs(kept ? "" : ".PP", stdout);
        fputc('\n', stdout);
        p += n + (p[n] != '\0');
    }
    fputs(kept ? ".fi\n" : "", stdout);
}

static void man_item(const char *name, const char *value, bool joined) {
    fputs(".TP\n\\fB", stdout);
    man_text(name, strlen(name));
    fputs("\\fR", stdout);
    if (value) {
        fputs(joined ? "\\fI" : " \\fI", stdout);
        man_text(value, strlen(value));
        fputs("\\fR", stdout);
    }
    fputc('\n', stdout);
}

static void man_option(const struct cli_option *o) {
    struct strbuf list;
    struct cli_choice c;
    man_item(o->name, o->value, o->kind == CLI_LEVEL);
    man_paragraphs(o->help);
    strbuf_init(&list, mem_system_allocator());
    choice_list(o, &list);
    if (list.n)
        man_paragraphs(list.p);
    strbuf_free(&list);
    if (!is_described(o))
        return;
    fputs(".RS\n", stdout);
    for (size_t i = 0; (c = cli_choice(o->kind, i)).name; i++) {
        man_item(c.name, NULL, false);
        man_paragraphs(c.help);
    }
    fputs(".RE\n", stdout);
}

static void man_command(const struct cli_command *c) {
    printf(".SS hilo %s", c->name);
    fputs(c->options->name ? " [options]" : "", stdout);
    fputs(*c->operands ? " " : "", stdout);
    man_text(c->operands, strlen(c->operands));
    fputc('\n', stdout);
    man_paragraphs(c->text);
    for (const struct cli_option *o = c->options; o->name; o++)
        man_option(o);
    fputs(".PP\nExamples:\n.PP\n.nf\n", stdout);
    for (const char *p = c->examples; *p;) {
        size_t n = strcspn(p, "\n");
        man_text(p, n);
        fputc('\n', stdout);
        p += n + (p[n] != '\0');
    }
    fputs(".fi\n", stdout);
}

static void man_page(void) {
    printf(".\\\" Generated by `hilo help man`.\n.TH HILO 1 \"\" \"hilo %s\" \"User Commands\"\n", hilo_version());
    fputs(".SH NAME\nhilo \\- read, verify, compile and run StableHLO programs\n"
          ".SH SYNOPSIS\n.B hilo\n.I COMMAND\n[options] [arguments]\n.br\n.B hilo help\n.RI [ COMMAND ]\n.br\n.B hilo "
          "\\-\\-version\n"
          ".SH DESCRIPTION\n.B hilo\nreads StableHLO programs (text, MLIR bytecode, portable artifacts) and HLO text, verifies "
          "them "
          "against the specification, compiles and runs them. It also runs language models in the Hugging Face layout. Where a "
          "command takes a\n.I FILE\nwith a program,\n.B \\-\nis standard input.\n"
          ".PP\nAn option's value is the next argument, or follows =. Every command takes\n.BR \\-\\-help .\n.SH COMMANDS\n",
          stdout);
    for (const struct cli_command *const *c = cli_commands; *c; c++)
        man_command(*c);
    fputs(".SH EXIT STATUS\n", stdout);
    for (size_t i = 0; i < sizeof exit_codes / sizeof *exit_codes; i++) {
        char code[16];
        snprintf(code, sizeof code, "%d", exit_codes[i].code);
        man_item(code, NULL, false);
        man_paragraphs(exit_codes[i].text);
    }
    fputs(".SH ENVIRONMENT\n", stdout);
    for (size_t i = 0; i < sizeof environment / sizeof *environment; i++) {
        man_item(environment[i].name, NULL, false);
        man_paragraphs(environment[i].text);
    }
}

/* ---- completion ------------------------------------------------------------------------------ */

/* Adds a word to a list in quotes, in lines of limited length. */
static void put_word(const char *word, int *column) {
    if (*column + (int)strlen(word) > 100)
        *column = printf("\n            ") - 1;
    *column += printf("%s ", word);
}

/* How the value of an option is completed: by its choices, by files, or not at all. */
static void complete_value(const struct cli_command *c, const struct cli_option *o) {
    struct cli_choice choice;
    printf("    '%s %s')", c->name, o->name);
    if (cli_choice(o->kind, 0).name) {
        int column = 40;
        fputs(" words='", stdout);
        for (size_t i = 0; (choice = cli_choice(o->kind, i)).name; i++)
            put_word(choice.name, &column);
        fputs("' ;;\n", stdout);
    } else {
        static const char *const files[] = {"FILE", "OUT", "DIR", "MODEL", "X"};
        bool file = false;
        for (size_t i = 0; i < sizeof files / sizeof *files; i++)
            file |= strcmp(o->value, files[i]) == 0;
        fputs(file ? " files=1 ;;\n" : " ;;\n", stdout);
    }
}

static void completion(void) {
    fputs("# Completion of the hilo command for bash, generated by `hilo help completion`.\n"
          "\n"
          "_hilo() {\n"
          "    local word=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]} words='' files=''\n"
          "    case \"${COMP_WORDS[1]} $previous\" in\n", stdout);
    for (const struct cli_command *const *c = cli_commands; *c; c++)
        for (const struct cli_option *o = (*c)->options; o->name; o++)
            if (o->value && o->kind != CLI_LEVEL)
                complete_value(*c, o);
    fputs("    *)\n"
          "        files=1\n"
          "        if [ \"$COMP_CWORD\" = 1 ]; then\n"
          "            files=''\n"
          "            words='", stdout);
    int column = 20;
    for (const struct cli_command *const *c = cli_commands; *c; c++)
        put_word((*c)->name, &column);
    fputs("help --help --version'\n"
          "        elif [[ $word == -* ]]; then\n"
          "            files=''\n"
          "            case ${COMP_WORDS[1]} in\n", stdout);
    for (const struct cli_command *const *c = cli_commands; *c; c++) {
        column = printf("            %s) words='", (*c)->name);
        for (const struct cli_option *o = (*c)->options; o->name; o++)
            put_word(o->kind == CLI_LEVEL ? "-O0 -O1 -O2 -O3" : o->name, &column);
        fputs("--help' ;;\n", stdout);
    }
    fputs("            esac\n"
          "        fi\n"
          "        ;;\n"
          "    esac\n"
          "    mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$word\")\n"
          "    if [ -n \"$files\" ]; then\n"
          "        compopt -o filenames\n"
          "        mapfile -t COMPREPLY < <(compgen -f -- \"$word\")\n"
          "    fi\n"
          "}\n"
          "complete -F _hilo hilo\n", stdout);
}

/* ---- topics ---------------------------------------------------------------------------------- */

static const char *command_name(const void *names, size_t i) {
    const struct cli_command *const *c = names;
    return c[i] ? c[i]->name : NULL;
}

const struct cli_command *cli_command_named(const char *name) {
    for (const struct cli_command *const *c = cli_commands; *c; c++)
        if (strcmp((*c)->name, name) == 0)
            return *c;
    return NULL;
}

int cli_unknown_command(const char *name) {
    const char *nearest = cli_nearest(name, command_name, cli_commands);
    return cli_error(CLI_USAGE, "unknown command '%s'%s%s%s; see: hilo help", name, nearest ? "; did you mean " : "",
                     nearest ? nearest : "", nearest ? "?" : "");
}

int cli_help_topic(const char *word) {
    const struct cli_command *c = cli_command_named(word);
    if (c)
        cli_help(c, stdout);
    else if (strcmp(word, "environment") == 0)
        help_environment(stdout);
    else if (strcmp(word, "man") == 0)
        man_page();
    else if (strcmp(word, "completion") == 0)
        completion();
    else
        return cli_unknown_command(word);
    return CLI_OK;
}
