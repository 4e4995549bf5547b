/* JSON files of models, through jansson: reading them, and fields by name and type.
 *
 * A reader reads the fields that it needs and checks the status once: the first error sticks, and later reads return the
 * default. Messages name the file and the field, `rope_scaling.factor`. A field that is null counts as absent. */
#ifndef HILO_LLM_JSON_H
#define HILO_LLM_JSON_H

#include "base/diag.h"

#include <jansson.h>

/* Reads a text with jansson's JSON_… flags; json_decref. Integers beyond 64 bits, such as a `model_max_length` of
   1000000000000000019884624838656, become real numbers; other integers stay integers. NULL with *error set. */
json_t *llm_json_load(struct str text, size_t flags, hilo_allocator al, json_error_t *error);

struct llm_json {
    const char *file;      /* for messages; outlives this struct */
    struct diag_list *d;
    json_t *root;
    hilo_status status;    /* the first error, or HILO_OK */
};

/* Reads an object from a file or from text in memory, or an array, which llm_json_close frees; after an error there is none,
   and that does nothing. The status is also in j->status. */
hilo_status llm_json_open(struct llm_json *j, const char *path, hilo_allocator al, struct diag_list *d);
hilo_status llm_json_open_array(struct llm_json *j, const char *path, hilo_allocator al, struct diag_list *d);
hilo_status llm_json_parse(struct llm_json *j, struct str text, const char *name, struct diag_list *d);
void llm_json_close(struct llm_json *j);

/* Reports an error in the file, unless there was one before. */
hilo_status llm_json_fail(struct llm_json *j, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* A field of the object `o` (NULL: an object without fields); `where` is the path to the object for messages, "" or "a.b.". */
struct llm_object {
    struct llm_json *j;
    const json_t *o;
    const char *where;
};
static inline struct llm_object llm_json_root(struct llm_json *j) { return (struct llm_object){j, j->root, ""}; }

#define LLM_REQUIRED INT64_MIN /* as the default of an integer: the field is required */
int64_t llm_json_int(struct llm_object o, const char *key, int64_t least, int64_t most, int64_t absent);
double llm_json_real(struct llm_object o, const char *key, double absent); /* finite; an integer is fine */
bool llm_json_bool(struct llm_object o, const char *key, bool absent);
const char *llm_json_text(struct llm_object o, const char *key, const char *absent); /* belongs to the file */
/* Of that type; NULL when absent. */
const json_t *llm_json_array(struct llm_object o, const char *key);
const json_t *llm_json_object(struct llm_object o, const char *key);
bool llm_json_has(struct llm_object o, const char *key);

#endif
