/* `expected-error` comments, as in MLIR's tests:
 *
 *     // expected-error@+2 {{text}}      an error two lines below; also @-2, @below, @above; none: on this line
 *
 * A space before @ and `expected-error-re` are accepted. The text is the wording of another tool and not compared, except a
 * constraint of the specification at its beginning: {{[add_c1] …}}. Expected warnings and notes are ignored. */
#include "cli/cli.h"

#include <stdlib.h>

static const char *skip_word(const char *p, const char *word) {
    size_t n = strlen(word);
    return strncmp(p, word, n) == 0 ? p + n : NULL;
}

/* Parses what follows `expected-error` on line number `line`; false when it is not an expectation. */
static bool expect_read(const char *p, uint32_t line, struct expect *out) {
    const char *q;
    *out = (struct expect){.line = line};
    if ((q = skip_word(p, "-re")))
        p = q;
    p += strspn(p, " ");
    if (*p == '@') {
        p++;
        if ((q = skip_word(p, "below"))) {
            out->line = line + 1;
        } else if ((q = skip_word(p, "above"))) {
            out->line = line - 1;
        } else {
            char *end;
            long offset = strtol(p, &end, 10);
            if (end == p || (*p != '+' && *p != '-'))
                return false;
            out->line = (uint32_t)((long)line + offset);
            q = end;
        }
        p = q + strspn(q, " ");
    }
    if (!(p = skip_word(p, "{{")))
        return false;
    size_t n = *p == '[' ? strcspn(p + 1, "]} ") : 0;
    if (n && n < sizeof out->label && p[n + 1] == ']')
        memcpy(out->label, p + 1, n);
    return true;
}

size_t expect_parse(struct str part, uint32_t first_line, struct expect **out) {
    char word[] = "expected-error", text[256];
    size_t n = 0, cap = 0;
    uint32_t line = first_line;
    *out = NULL;
    for (const char *p = part.p, *end = part.p + part.n; p < end; line++) {
        const char *nl = memchr(p, '\n', (size_t)(end - p)), *stop = nl ? nl : end;
        const char *at = memmem(p, (size_t)(stop - p), word, sizeof word - 1);
        const char *comment = at ? memmem(p, (size_t)(at - p), "//", 2) : NULL;
        p = nl ? nl + 1 : end;
        if (!comment)
            continue;
        at += sizeof word - 1;
        snprintf(text, sizeof text, "%.*s", (int)(stop - at < 200 ? stop - at : 200), at);
        struct expect e;
        if (!expect_read(text, line, &e))
            continue;
        if (n == cap) {
            cap = cap ? 2 * cap : 4;
            struct expect *more = cli_alloc(cap, sizeof *more);
            if (n)
                memcpy(more, *out, n * sizeof *more);
            free(*out);
            *out = more;
        }
        (*out)[n++] = e;
    }
    return n;
}
