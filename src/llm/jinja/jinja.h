/* Jinja templates, as Hugging Face renders chat templates: Jinja2 3.1 with trim_blocks, lstrip_blocks, loop controls, the tag
 * `generation`, an immutable sandbox, and tojson without HTML escapes.
 *
 *   parse.c    text to a tree                      value.c     values: strings, comparison, repr, JSON
 *   render.c   the tree to text                    filters.c   filters, tests, methods and global functions
 *
 * Templates come with models, untrusted: steps, depth, memory and output are bounded. Each byte of a string records whether
 * it comes from the template or from its input (messages, tools), so that a tokenizer reads special tokens in the former only:
 * the text of users never becomes a special token.
 *
 * A template and what it renders live in one arena each; errors and exhausted memory jump to the public entry. */
#ifndef HILO_LLM_JINJA_H
#define HILO_LLM_JINJA_H

#include "base/diag.h"

#include <jansson.h>
#include <time.h>

struct jinja_template;

/* Bounds of a rendering; a field that is 0 stands for the default in parentheses. */
struct jinja_options {
    size_t steps;       /* nodes that are evaluated (20 million) */
    size_t bytes;       /* memory of values and output (256 MB) */
    time_t now;         /* for strftime_now; 0 = the system's clock */
};

/* A rendered text; free with jinja_text_free. */
struct jinja_text {
    hilo_allocator al;
    char *p;            /* n bytes */
    uint8_t *from_input; /* of each byte: 1 = it comes from the input, 0 = from the template */
    size_t n;
};

/* Parses a template. `name` is used in diagnostics. INVALID_ARGUMENT with a diagnostic at line and column when the text is no
   template or uses what is not supported, which is named. *out is freed with jinja_free. Not thread-safe; a template may be
   rendered by several threads at once. */
hilo_status jinja_parse(hilo_allocator al, struct diag_list *d, struct str name, struct str text, struct jinja_template **out);
void jinja_free(struct jinja_template *t); /* NULL is fine */

/* Renders a template with the members of `input` (strings of which are input) and `trusted` (such as bos_token: strings of the
   model, not input) as variables; both are objects, `trusted` may be NULL and wins. FAILED_PRECONDITION with the message of
   raise_exception; INVALID_ARGUMENT for errors in the template; RESOURCE_EXHAUSTED when a bound is reached. */
hilo_status jinja_render(const struct jinja_template *t, const json_t *input, const json_t *trusted,
                         const struct jinja_options *o, struct diag_list *d, struct jinja_text *out);
void jinja_text_free(struct jinja_text *text);

#endif
