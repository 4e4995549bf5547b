/* Parts of grammars of JSON schemas: texts that match an expression, and numbers within bounds. */
#ifndef HILO_LLM_GRAMMAR_TEXT_H
#define HILO_LLM_GRAMMAR_TEXT_H

#include "base/diag.h"

/* Appends what is between the quotes of a JSON string that an expression of ECMAScript matches, as alternatives of GBNF. Of
   characters that JSON escapes, a class or . stands for fewer than it contains. INVALID_ARGUMENT names what is not supported:
   assertions other than ^ and $ at the ends, references, properties. */
hilo_status grammar_put_pattern(struct str pattern, struct diag_list *d, struct strbuf *out);
/* The expression of a `format`; NULL for one that is not known. */
const char *grammar_format(const char *name);

/* Appends the integers least … most, which have 15 digits at most, as alternatives; or numbers between these, integers
   included where they are in least … most, and fractions from low to high. */
void grammar_put_integers(long long least, long long most, struct strbuf *out);
void grammar_put_numbers(long long least, long long most, long long low, long long high, struct strbuf *out);

#endif
