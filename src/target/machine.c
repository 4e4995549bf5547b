/* See machine.h. */
#include "target/machine.h"

#include "base/decimal.h"

#include <stddef.h>
#include <string.h>

enum { MACHINE_NUMBERS = 4 };
#define MACHINE_LEAST 1e-3 /* above 0 */
#define MACHINE_MOST 1e18

/* Lines of numbers: where they go. */
static const struct line {
    const char *name, *expected;
    int n;
    size_t at[MACHINE_NUMBERS];
} lines[] = {
#define AT(field) offsetof(struct machine, field)
    {"processor", "ns, bytes/ns, operations/ns", 3,
     {AT(processor.least_ns), AT(processor.memory_rate), AT(processor.compute_rate)}},
    {"device", "ns, bytes/ns, operations/ns, bytes", 4,
     {AT(device.least_ns), AT(device.memory_rate), AT(device.compute_rate), AT(device_bytes)}},
    {"link", "ns, bytes/ns", 2, {AT(link_ns), AT(link_rate)}},
    {"together", "two shares, at most 1", 2, {AT(processor_kept), AT(device_kept)}},
#undef AT
};
enum { LINES = sizeof lines / sizeof *lines, TOGETHER = LINES - 1, ARGUMENTS = LINES, GPU, ALL };
static const char *const others[] = {[ARGUMENTS - LINES] = "arguments", [GPU - LINES] = "gpu"};

static const char *line_name(int line) {
    return line < LINES ? lines[line].name : others[line - LINES];
}

/* The next word of a line; empty at its end. */
static struct str next_word(const char **at, const char *end) {
    while (*at < end && (**at == ' ' || **at == '\t' || **at == '\r'))
        ++*at;
    const char *from = *at;
    while (*at < end && **at != ' ' && **at != '\t' && **at != '\r')
        ++*at;
    return (struct str){from, (size_t)(*at - from)};
}

static bool read_number(struct str word, double *out) {
    const char *end;
    return word.n && dec_parse_double(word.p, word.p + word.n, out, &end) && end == word.p + word.n &&
           (*out == 0 || (*out >= MACHINE_LEAST && *out <= MACHINE_MOST));
}

static bool is_gpu_name(struct str word) {
    bool good = word.n > 0 && word.n < sizeof((struct machine *)0)->gpu;
    for (size_t i = 0; i < word.n && good; i++) /* no zero byte, at which the copy would end */
        good = (word.p[i] >= 'a' && word.p[i] <= 'z') || (word.p[i] >= '0' && word.p[i] <= '9') || word.p[i] == '_';
    return good;
}

/* The words of a line after its name; false when they are not what is expected. */
static bool read_line(int line, const char *at, const char *end, struct machine *out) {
    bool good = true;
    struct str word;
    if (line < LINES) {
        for (int i = 0; i < lines[line].n && good; i++) {
            double x = 0;
            good = read_number(next_word(&at, end), &x);
            memcpy((char *)out + lines[line].at[i], &x, sizeof x);
        }
    } else if (line == ARGUMENTS) {
        word = next_word(&at, end);
        out->arguments_on_device = str_eq(word, STR("device"));
        good = out->arguments_on_device || str_eq(word, STR("host"));
    } else {
        word = next_word(&at, end);
        good = is_gpu_name(word);
        memcpy(out->gpu, word.p, good ? word.n : 0);
        out->gpu[good ? word.n : 0] = '\0';
    }
    return good && next_word(&at, end).n == 0;
}

hilo_status machine_read(struct str text, const char *name, struct diag_list *d, struct machine *out) {
    static const char *const expected[] = {[ARGUMENTS - LINES] = "host or device", [GPU - LINES] = "the name of a GPU, sm_90a"};
    unsigned seen = 0;
    *out = (struct machine){.gpu = "", .processor_kept = 1, .device_kept = 1};
    const char *p = text.p, *end = text.p + text.n;
    for (uint32_t number = 1; p < end; number++) {
        const char *newline = memchr(p, '\n', (size_t)(end - p)), *stop = newline ? newline : end;
        const char *comment = memchr(p, '#', (size_t)(stop - p)), *at = p;
        p = newline ? newline + 1 : end;
        stop = comment ? comment : stop;
        struct str word = next_word(&at, stop);
        int line = 0;
        while (word.n && line < ALL && !str_eq(word, str_of(line_name(line))))
            line++;
        if (!word.n)
            continue;
        if (line == ALL)
            return diag_error(d, HILO_INVALID_ARGUMENT,
                              "%s:%u: expected gpu, processor, device, link, together or arguments", name, number);
        if (!read_line(line, at, stop, out))
            return diag_error(d, HILO_INVALID_ARGUMENT, "%s:%u: expected after '%s': %s", name, number, line_name(line),
                              line < LINES ? lines[line].expected : expected[line - LINES]);
        if (seen >> line & 1)
            return diag_error(d, HILO_INVALID_ARGUMENT, "%s:%u: there is a line '%s' already", name, number, line_name(line));
        seen |= 1u << line;
    }
    for (int line = 0; line < ALL; line++)
        if (!(seen >> line & 1) && line != TOGETHER)
            return diag_error(d, HILO_INVALID_ARGUMENT, "%s: there is no line '%s'", name, line_name(line));
    for (const struct machine_unit *u = &out->processor; u; u = u == &out->processor ? &out->device : NULL)
        if (!(u->memory_rate > 0) || !(u->compute_rate > 0))
            return diag_error(d, HILO_INVALID_ARGUMENT, "%s: rates must be above 0", name);
    for (const double *x = &out->processor_kept; x; x = x == &out->processor_kept ? &out->device_kept : NULL)
        if (!(*x > 0) || *x > 1)
            return diag_error(d, HILO_INVALID_ARGUMENT, "%s: after 'together' are shares above 0, at most 1", name);
    return HILO_OK;
}
