/* Reads PTX for the machine of ptx.h. */
#include "ptx.h"
#include "ptx_insn.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const type_names[TYPES] = {"b8",  "b16", "b32", "b64", "u8",  "u16", "u32", "u64",
                                              "s8",  "s16", "s32", "s64", "f16", "f32", "f64", "pred",
                                              "bf16"};
static const char *const op_names[OPS] = {
    "abs", "add", "and", "bar", "bfe", "bfi", "bra", "clz", "copysign", "cp", "cvt", "cvta", "div", "fence", "fma", "ld",
    "ldmatrix", "mad", "max", "mbarrier", "min", "mma", "mov", "mul", "neg", "not", "or", "popc", "rcp", "rem", "ret", "selp",
    "setp", "shfl", "shl", "shr", "sqrt", "st", "sub", "wgmma", "xor"};
static const struct { const char *name; unsigned bit; } modifiers[] = {
    {"lo", M_LO}, {"hi", M_HI}, {"wide", M_WIDE}, {"rzi", M_RZI}, {"rni", M_RNI}, {"rmi", M_RMI}, {"rpi", M_RPI},
    {"NaN", M_NAN}, {"shared", M_SHARED}, {"global", M_GLOBAL}, {"param", M_PARAM}, {"red", M_RED}, {"v2", M_V2},
    {"v4", M_V4}, {"or", M_OR},
    {"down", M_DOWN}, {"idx", M_IDX}, {"trans", M_TRANS}, {"commit_group", M_COMMIT}, {"wait_group", M_WAIT},
    {"bulk", M_BULK}, {"init", M_INIT}, {"inval", M_INVAL}, {"expect_tx", M_EXPECT}, {"try_wait", M_TRY}, {"arrive", M_NONE},
    {"parity", M_NONE}, {"tensor", M_NONE}, {"2d", M_NONE}, {"shared::cluster", M_SHARED},
    {"mbarrier::complete_tx::bytes", M_NONE}, {"fence", M_FENCE}, {"mma_async", M_PRODUCT}, {"proxy", M_NONE},
    {"shared::cta", M_SHARED},
    {"async", M_NONE}, {"ca", M_NONE}, {"cg", M_NONE}, {"aligned", M_NONE}, {"m8n8", M_NONE}, {"x4", M_NONE},
    {"m16n8k16", M_NONE}, {"m16n8k32", M_NONE}, {"row", M_NONE}, {"col", M_NONE},
    {"sat", M_SAT}, {"rn", M_NONE}, {"rz", M_NONE}, {"nc", M_NONE}, {"uni", M_NONE}, {"sync", M_NONE}};
static const char *const cmp_names[CMPS] = {"eq", "ne", "lt", "le", "gt", "ge", "lo", "ls", "hs", "equ", "neu",
                                            "ltu", "leu", "gtu", "geu", "num", "nan"};

struct symbol { char *name; uint64_t value; };
struct symbols { struct symbol *v; uint32_t n; };

struct parser {
    struct kernel *k;
    struct symbols registers, singles, labels, memory; /* singles: of a block in braces; memory: shared variables, parameters */
    char *why;
    size_t size;
    int line;
    bool failed;
};

static bool parse_fail(struct parser *p, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static bool parse_fail(struct parser *p, const char *fmt, ...) {
    char text[160];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    if (!p->failed)
        snprintf(p->why, p->size, "line %d: %s", p->line, text);
    p->failed = true;
    return false;
}

static struct symbol *symbol_find(const struct symbols *s, const char *name) {
    for (uint32_t i = 0; i < s->n; i++)
        if (strcmp(s->v[i].name, name) == 0)
            return &s->v[i];
    return NULL;
}

static void symbol_add(struct symbols *s, const char *name, uint64_t value) {
    s->v = realloc(s->v, (s->n + 1) * sizeof *s->v);
    s->v[s->n].name = strdup(name);
    s->v[s->n++].value = value;
}

static void symbols_free(struct symbols *s) {
    for (uint32_t i = 0; i < s->n; i++)
        free(s->v[i].name);
    free(s->v);
    *s = (struct symbols){0};
}

/* Registers are named by class and number; each class has its range. */
static uint32_t register_named(struct parser *p, const char *name) {
    size_t letters = 1 + strspn(name + 1, "abcdefghijklmnopqrstuvwxyz");
    char class[16];
    const struct symbol *s = symbol_find(&p->singles, name);
    if (s)
        return (uint32_t)s->value;
    snprintf(class, sizeof class, "%.*s", (int)letters, name);
    s = symbol_find(&p->registers, class);
    if (!s || !isdigit((unsigned char)name[letters])) {
        parse_fail(p, "unknown register %s", name);
        return 0;
    }
    return (uint32_t)(s->value + strtoul(name + letters, NULL, 10));
}

static void parse_arg(struct parser *p, const char *text, struct arg *out) {
    static const struct { const char *name; enum arg_kind kind; } special[] = {
        {"%tid.x", TID}, {"%ctaid.x", CTAID}, {"%ntid.x", NTID}, {"%nctaid.x", NCTAID}};
    *out = (struct arg){.kind = IMMEDIATE};
    if (strcmp(text, "_") == 0) {
        out->kind = NO_ARG;
        return;
    }
    for (size_t i = 0; i < sizeof special / sizeof *special; i++)
        if (strcmp(text, special[i].name) == 0) {
            out->kind = special[i].kind;
            return;
        }
    if (*text == '%') {
        out->kind = REGISTER;
        out->reg = register_named(p, text);
    } else if (text[0] == '0' && (text[1] == 'f' || text[1] == 'd')) {
        out->imm = strtoull(text + 2, NULL, 16);
    } else if (isdigit((unsigned char)*text) || *text == '-') {
        out->imm = (uint64_t)strtoll(text, NULL, 0);
        if (*text != '-')
            out->imm = strtoull(text, NULL, 0);
    } else if (*text == '$') {
        out->kind = LABEL;
        const struct symbol *s = symbol_find(&p->labels, text);
        if (s)
            out->imm = s->value;
        else
            parse_fail(p, "unknown label %s", text);
    } else if (symbol_find(&p->singles, text)) {
        out->kind = REGISTER;
        out->reg = (uint32_t)symbol_find(&p->singles, text)->value;
    } else {
        const struct symbol *s = symbol_find(&p->memory, text);
        if (s)
            out->imm = s->value;
        else
            parse_fail(p, "unknown operand %s", text);
    }
}

/* [%rd1+4], [name+4] */
static void parse_address(struct parser *p, char *text, struct arg *out) {
    char *plus = strchr(text, '+'), *end = strchr(text, ']');
    int64_t add = 0;
    if (!end) {
        parse_fail(p, "an address without end");
        return;
    }
    *end = '\0';
    if (plus) {
        *plus = '\0';
        add = strtoll(plus + 1, NULL, 0);
    }
    parse_arg(p, text + 1, out);
    out->imm += (uint64_t)add;
}

/* {%f1, %f2}: the number of registers; *text moves past it. */
static uint32_t parse_lanes(struct parser *p, char **text, struct arg *out) {
    char *end = strchr(*text, '}');
    uint32_t n = 0;
    if (!end) {
        parse_fail(p, "a list without end");
        return 0;
    }
    *end = '\0';
    for (char *save, *t = strtok_r(*text + 1, ", ", &save); t && n < 4; t = strtok_r(NULL, ", ", &save))
        parse_arg(p, t, &out[n++]);
    *text = end + 1;
    return n;
}

/* {%f1, …}: sums of WGMMA. */
static void parse_sums(struct parser *p, char **text, struct insn *x) {
    size_t n = strcspn(*text, "}");
    char *list = strndup(*text + 1, n ? n - 1 : 0);
    x->sums = calloc(n, sizeof *x->sums);
    for (char *save, *t = strtok_r(list, ", ", &save); t; t = strtok_r(NULL, ", ", &save))
        parse_arg(p, t, &x->sums[x->nsums++]);
    free(list);
    *text += n + ((*text)[n] != 0);
}

static bool parse_word(struct parser *p, struct insn *x, const char *word, uint32_t *ntypes) {
    for (int t = 0; t < TYPES; t++)
        if (strcmp(word, type_names[t]) == 0) {
            if ((*ntypes)++ == 0)
                x->type = (enum type)t;
            else if (*ntypes == 2)
                x->from = (enum type)t;
            else if (*ntypes <= 4)
                x->others[*ntypes - 3] = (enum type)t;
            return true;
        }
    for (int c = 0; c < CMPS && x->op == SETP; c++)
        if (strcmp(word, cmp_names[c]) == 0) {
            x->cmp = (enum cmp)c;
            return true;
        }
    if (x->op == WGMMA && sscanf(word, "m64n%uk16", &x->columns) == 1)
        return true;
    for (size_t i = 0; i < sizeof modifiers / sizeof *modifiers; i++)
        if (strcmp(word, modifiers[i].name) == 0) {
            x->mods |= modifiers[i].bit;
            return true;
        }
    return parse_fail(p, "unknown modifier .%s", word);
}

static bool parse_insn(struct parser *p, char *text) {
    struct kernel *k = p->k;
    if (k->ncode == k->cap) {
        k->cap = k->cap ? 2 * k->cap : 64;
        k->code = realloc(k->code, k->cap * sizeof *k->code);
    }
    struct insn *x = &k->code[k->ncode++];
    *x = (struct insn){.guard = -1, .line = p->line, .op = OPS};
    if (*text == '@') {
        char *end = text + strcspn(text, " \t");
        x->negated = text[1] == '!';
        *end = '\0';
        x->guard = (int)register_named(p, text + 1 + x->negated);
        text = end + 1 + strspn(end + 1, " \t");
    }
    size_t n = strcspn(text, " \t;");
    char opcode[128], *save, *rest = text + n;
    snprintf(opcode, sizeof opcode, "%.*s", (int)n, text);
    uint32_t ntypes = 0;
    for (char *word = strtok_r(opcode, ".", &save); word; word = strtok_r(NULL, ".", &save)) {
        if (x->op != OPS) {
            parse_word(p, x, word, &ntypes);
            continue;
        }
        for (int op = 0; op < OPS; op++)
            if (strcmp(word, op_names[op]) == 0)
                x->op = (enum op)op;
        if (x->op == OPS)
            return parse_fail(p, "unknown instruction %s", word);
    }
    k->wgmma |= x->op == WGMMA || x->op == MBARRIER || (x->op == CP && x->mods & M_BULK);
    char *semicolon = strchr(rest, ';');
    if (!semicolon)
        return parse_fail(p, "no semicolon");
    *semicolon = '\0';
    while (rest += strspn(rest, " \t,"), *rest) {
        if (*rest == '{' && x->op == MMA) {
            struct arg lanes[4];
            uint32_t count = parse_lanes(p, &rest, lanes);
            for (uint32_t i = 0; i < count && x->n < MOST_ARGS; i++)
                x->v[x->n++] = lanes[i];
            continue;
        }
        if (*rest == '{' && x->op == WGMMA) {
            parse_sums(p, &rest, x);
            continue;
        }
        if (*rest == '{') {
            x->unpacks = x->n == 0;
            x->nlanes = parse_lanes(p, &rest, x->lanes);
            continue;
        }
        if (*rest == '[' && x->op == CP && memchr(rest, '{', strcspn(rest, "]"))) { /* [%rd1, {%r1, %r2}] */
            struct arg place[4];
            char *list = strchr(rest, '{');
            list[-1] = '\0';
            rest[strcspn(rest, ",")] = '\0';
            parse_arg(p, rest + 1, &x->v[x->n++]);
            rest = list;
            uint32_t count = parse_lanes(p, &rest, place);
            for (uint32_t i = 0; i < count && x->n < MOST_ARGS; i++)
                x->v[x->n++] = place[i];
            rest += *rest == ']';
            continue;
        }
        size_t length = *rest == '[' ? strcspn(rest, "]") + 1 : strcspn(rest, ", \t");
        char arg[128];
        snprintf(arg, sizeof arg, "%.*s", (int)length, rest);
        if (x->n == MOST_ARGS)
            return parse_fail(p, "too many operands");
        if (*rest == '[')
            parse_address(p, arg, &x->v[x->n++]);
        else
            parse_arg(p, arg, &x->v[x->n++]);
        rest += length;
    }
    return !p->failed;
}

/* .reg .b32 %r<45>; .reqntid 256, 1, 1 */
static bool parse_directive(struct parser *p, char *text) {
    char class[32], type[16];
    unsigned long n;
    if (sscanf(text, ".reg .%15s %31[^<]<%lu>;", type, class, &n) == 3) {
        symbol_add(&p->registers, class, p->k->registers);
        p->k->registers += (uint32_t)n;
    } else if (sscanf(text, ".reg .%15s %31[^;<];", type, class) == 2) {
        symbol_add(&p->singles, class, p->k->registers++);
    } else if (sscanf(text, ".reqntid %lu", &n) == 1) {
        p->k->threads = (uint32_t)n;
    } else if (strncmp(text, ".loc", 4) != 0 && strncmp(text, ".pragma", 7) != 0 &&
               strncmp(text, ".minnctapersm", 13) != 0) {
        return parse_fail(p, "unknown directive %.60s", text);
    }
    return true;
}

static bool parse_line(struct parser *p, char *text);

/* { .reg .b16 tmp; mov.b32 {tmp, %rs11}, %r31; } */
static bool parse_scope(struct parser *p, char *text) {
    char *end = strrchr(text, '}'), *one;
    if (!end)
        return parse_fail(p, "a scope without end");
    *end = '\0';
    for (text++; (one = strsep(&text, ";")) != NULL;) {
        char statement[128];
        one += strspn(one, " \t");
        snprintf(statement, sizeof statement, "%s;", one);
        if (*one && !parse_line(p, statement))
            return false;
    }
    symbols_free(&p->singles);
    return true;
}

static bool parse_line(struct parser *p, char *text) {
    char *comment = strstr(text, "//");
    if (comment)
        *comment = '\0';
    text += strspn(text, " \t");
    for (size_t n = strlen(text); n && isspace((unsigned char)text[n - 1]); n--)
        text[n - 1] = '\0';
    if (*text == '{' && strchr(text, ';'))
        return parse_scope(p, text);
    if (strcmp(text, "}") == 0)
        symbols_free(&p->singles);
    if (!*text || strchr("{})", *text) || text[strlen(text) - 1] == ':')
        return true;
    return *text == '.' ? parse_directive(p, text) : parse_insn(p, text);
}

/* The number of instructions before each label: one for each line that ends with a semicolon and is no directive. */
static void find_labels(struct parser *p, const char *body) {
    uint64_t at = 0;
    for (const char *line = body; *line; line += strcspn(line, "\n"), line += *line == '\n') {
        size_t n = strcspn(line, "\n"), skip = strspn(line, " \t");
        char name[64];
        if (line[skip] == '$' && memchr(line, ':', n)) {
            snprintf(name, sizeof name, "%.*s", (int)strcspn(line + skip, ":"), line + skip);
            symbol_add(&p->labels, name, at);
        }
        at += line[skip] != '.' && line[skip] != '/' && memchr(line, ';', n) != NULL;
    }
}

/* .visible .entry name( parameters ) … { body } */
static bool parse_kernel(struct parser *p, char *head, char *body) {
    char *name = strstr(head, ".entry ") + strlen(".entry "), *open = strchr(name, '('), *line;
    char *close = open ? strchr(open, ')') : NULL;
    if (!close)
        return parse_fail(p, "an entry without parameters");
    p->k->name = strndup(name, (size_t)(open - name));
    for (char *at = open; (at = strstr(at, ".u64 ")) != NULL && at < close; p->k->params++) {
        char param[128];
        at += strspn(at, ".u64 ");
        snprintf(param, sizeof param, "%.*s", (int)strcspn(at, ",\n) "), at);
        symbol_add(&p->memory, param, p->k->params);
    }
    for (char *at = open; (at = strstr(at, ".align 64 .b8 ")) != NULL && at < close; p->k->maps++) {
        char param[128];
        at += strlen(".align 64 .b8 ");
        snprintf(param, sizeof param, "%.*s", (int)strcspn(at, "[,\n) "), at);
        if (strncmp(at + strlen(param), "[128]", 5) != 0)
            return parse_fail(p, "a parameter that is no tensor map");
        symbol_add(&p->memory, param, MAP_BASE + p->k->maps);
    }
    find_labels(p, body);
    for (char *c = head; c < close; c++)
        p->line += *c == '\n';
    for (close++; (line = strsep(&close, "\n")) != NULL; p->line++)
        if (!parse_line(p, line))
            return false;
    for (; (line = strsep(&body, "\n")) != NULL; p->line++) {
        for (char *more = line; body && strncmp(line, "\tmma.", 5) == 0 && !strchr(more, ';'); p->line++) {
            body[-1] = ' ';
            more = strsep(&body, "\n");
        }
        if (!parse_line(p, line))
            return false;
    }
    return p->k->threads > 0 || parse_fail(p, "a kernel without .reqntid");
}

struct ptx *ptx_load(const char *text, size_t n, char *why, size_t size) {
    struct ptx *x = calloc(1, sizeof *x);
    char *copy = strndup(text, n), *at = copy, *entry;
    bool ok = true, shared = strstr(copy, ".extern .shared .align 64 .b8 shared[];") != NULL ||
                             strstr(copy, ".extern .shared .align 1024 .b8 shared[];") != NULL;
    while (ok && (entry = strstr(at, ".entry ")) != NULL) {
        char *open = strstr(entry, "\n{"), *end = open ? strstr(open, "\n}") : NULL;
        struct parser p = {.why = why, .size = size, .line = 1};
        for (const char *c = text; c < text + (entry - copy); c++)
            p.line += *c == '\n';
        x->kernels = realloc(x->kernels, (x->n + 1) * sizeof *x->kernels);
        p.k = &x->kernels[x->n++];
        *p.k = (struct kernel){0};
        if (shared) /* the dynamic shared memory, which begins at 0: kernels have no other */
            symbol_add(&p.memory, "shared", 0);
        if (end) {
            *open = *end = '\0';
            ok = parse_kernel(&p, entry, open + 2);
            at = end + 1;
        } else {
            ok = parse_fail(&p, "a kernel without end");
        }
        symbols_free(&p.registers);
        symbols_free(&p.singles);
        symbols_free(&p.labels);
        symbols_free(&p.memory);
    }
    free(copy);
    if (ok && x->n)
        return x;
    if (ok)
        snprintf(why, size, "no kernel");
    ptx_free(x);
    return NULL;
}

void ptx_free(struct ptx *x) {
    for (uint32_t i = 0; x && i < x->n; i++) {
        for (uint32_t j = 0; j < x->kernels[i].ncode; j++)
            free(x->kernels[i].code[j].sums);
        free(x->kernels[i].name);
        free(x->kernels[i].code);
    }
    if (x)
        free(x->kernels);
    free(x);
}

const struct kernel *ptx_kernel_named(const struct ptx *p, const char *name) {
    for (uint32_t i = 0; i < p->n; i++)
        if (strcmp(p->kernels[i].name, name) == 0)
            return &p->kernels[i];
    return NULL;
}

uint32_t ptx_threads(const struct ptx *p, const char *kernel) {
    const struct kernel *k = ptx_kernel_named(p, kernel);
    return k ? k->threads : 0;
}
uint32_t ptx_params(const struct ptx *p, const char *kernel) {
    const struct kernel *k = ptx_kernel_named(p, kernel);
    return k ? k->params : 0;
}
uint32_t ptx_maps(const struct ptx *p, const char *kernel) {
    const struct kernel *k = ptx_kernel_named(p, kernel);
    return k ? k->maps : 0;
}
