/* Grammars of JSON schemas: see grammar.h. What a grammar cannot express is refused by name, so that an answer always obeys. */
#include "llm/grammar.h"

#include "llm/grammar_text.h"

#include <math.h>
#include <stdio.h>

enum { SCHEMA_DEPTH = 64, SCHEMA_RULES = 20000, SCHEMA_REFS = 256, SCHEMA_PROPERTIES = 1000 };

struct schema {
    const json_t *root;
    struct diag_list *d;
    struct strbuf *out;
    unsigned nrules, depth, nrefs;
    const json_t *refs[SCHEMA_REFS];
    unsigned ref_rules[SCHEMA_REFS];
};

/* Numbers have few digits and space is short, so that no answer goes on for ever. */
static const char base_rules[] = "space ::= (\" \" | \"\\n\" [ \\t]{0,20})?\n"
                                 "value ::= object | array | string | number | boolean | null\n"
                                 "object ::= \"{\" space (member (\",\" space member)*)? \"}\" space\n"
                                 "member ::= string \":\" space value\n"
                                 "array ::= \"[\" space (value (\",\" space value)*)? \"]\" space\n"
                                 "char ::= [^\"\\\\\\x00-\\x1F\\x7F] | \"\\\\\" ([\"\\\\/bfnrt] | \"u\" ([0-9a-cA-CefEF] hex "
                                 "hex hex | [dD] [0-7] hex hex))\n"
                                 "hex ::= [0-9a-fA-F]\n"
                                 "string ::= \"\\\"\" char* \"\\\"\" space\n"
                                 "integer-part ::= \"0\" | [1-9] [0-9]{0,15}\n"
                                 "integer ::= \"-\"? integer-part space\n"
                                 "number ::= \"-\"? integer-part (\".\" [0-9]{1,16})? ([eE] [-+]? [0-9]{1,2})? space\n"
                                 "boolean ::= (\"true\" | \"false\") space\n"
                                 "null ::= \"null\" space\n";

static hilo_status rule_of(struct schema *s, const json_t *schema, unsigned *rule);

/* ---- text ------------------------------------------------------------------------------------ */

/* A literal of GBNF. */
static void put_literal(struct strbuf *out, const char *p, size_t n) {
    strbuf_putc(out, '"');
    for (size_t i = 0; i < n; i++) {
        if ((unsigned char)p[i] < 0x20 || p[i] == 0x7F)
            strbuf_printf(out, "\\x%02X", (unsigned)(unsigned char)p[i]);
        else if (p[i] == '"' || p[i] == '\\')
            strbuf_printf(out, "\\%c", p[i]);
        else
            strbuf_putc(out, p[i]);
    }
    strbuf_putc(out, '"');
}

/* A value as it is written, with `after` it. */
static hilo_status put_json(struct schema *s, struct strbuf *out, const json_t *v, const char *after) {
    char *text = json_dumps(v, JSON_COMPACT | JSON_ENCODE_ANY);
    if (!text)
        return diag_error(s->d, HILO_RESOURCE_EXHAUSTED, "out of memory");
    put_literal(out, text, strlen(text));
    strbuf_puts(out, after);
    free(text);
    return HILO_OK;
}

static hilo_status refuse(struct schema *s, const char *what) {
    return diag_error(s->d, HILO_INVALID_ARGUMENT, "the JSON schema has '%s', which is not supported", what);
}

static hilo_status new_rule(struct schema *s, unsigned *rule) {
    if (s->nrules == SCHEMA_RULES)
        return diag_error(s->d, HILO_RESOURCE_EXHAUSTED, "the JSON schema is too large");
    *rule = s->nrules++;
    return HILO_OK;
}

static void end_rule(struct schema *s, unsigned rule, struct strbuf *body) {
    strbuf_printf(s->out, "r%u ::= ", rule);
    strbuf_putn(s->out, body->p, body->n);
    strbuf_putc(s->out, '\n');
    s->out->failed |= body->failed;
}

/* ---- keywords -------------------------------------------------------------------------------- */

/* Keywords that are obeyed, and those that say nothing about the text. */
static bool known_keyword(const char *key) {
    static const char *const known[] = {"type",        "properties",  "required",    "additionalProperties",
                                        "items",       "prefixItems", "minItems",    "maxItems",
                                        "enum",        "const",       "anyOf",       "oneOf",
                                        "$ref",        "minLength",   "maxLength",   "$defs",
                                        "definitions", "title",       "description", "default",
                                        "examples",    "$schema",     "$id",         "$comment",
                                        "strict",      "deprecated",  "readOnly",    "writeOnly",
                                        "name",        "nullable",    "pattern",     "format",
                                        "minimum",     "maximum",     "allOf",       "exclusiveMinimum",
                                        "exclusiveMaximum"};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(key, known[i]) == 0)
            return true;
    return false;
}

static hilo_status check_keywords(struct schema *s, const json_t *schema) {
    const char *key;
    json_t *v;
    json_object_foreach((json_t *)(uintptr_t)schema, key, v) if (!known_keyword(key)) return refuse(s, key);
    return HILO_OK;
}

static hilo_status bounds(struct schema *s, const json_t *schema, const char *low, const char *high, long long *least,
                          long long *most) {
    const json_t *l = json_object_get(schema, low), *h = json_object_get(schema, high);
    *least = l ? json_integer_value(l) : 0;
    *most = h ? json_integer_value(h) : -1;
    if ((l && !json_is_integer(l)) || (h && !json_is_integer(h)) || *least < 0 || *least > 1024 ||
        (h && (*most < *least || *most > 1024)))
        return diag_error(s->d, HILO_INVALID_ARGUMENT, "%s and %s are not 0 to 1024, one after the other", low, high);
    return HILO_OK;
}

static void put_bounds(struct strbuf *out, long long least, long long most) {
    if (most < 0)
        strbuf_printf(out, "{%lld,}", least);
    else
        strbuf_printf(out, "{%lld,%lld}", least, most);
}

/* ---- types ----------------------------------------------------------------------------------- */

static hilo_status put_string(struct schema *s, struct strbuf *out, const json_t *schema) {
    const json_t *pattern = json_object_get(schema, "pattern"), *format = json_object_get(schema, "format");
    const char *expression = json_string_value(pattern);
    long long least, most;
    if (format && !(expression = json_is_string(format) ? grammar_format(json_string_value(format)) : NULL))
        return diag_error(s->d, HILO_INVALID_ARGUMENT, "the JSON schema has the 'format' '%.40s', which is not supported",
                          json_is_string(format) ? json_string_value(format) : "?");
    if ((pattern && !json_is_string(pattern)) || (pattern && format))
        return refuse(s, "pattern");
    HILO_TRY(bounds(s, schema, "minLength", "maxLength", &least, &most));
    if (expression && (json_object_get(schema, "minLength") || json_object_get(schema, "maxLength")))
        return refuse(s, pattern ? "pattern' with 'minLength' or 'maxLength" : "format' with 'minLength' or 'maxLength");
    if (expression) {
        strbuf_puts(out, "\"\\\"\" (");
        HILO_TRY(grammar_put_pattern(str_of(expression), s->d, out));
        strbuf_puts(out, ") \"\\\"\" space");
        return HILO_OK;
    }
    strbuf_puts(out, "\"\\\"\" char");
    put_bounds(out, least, most);
    strbuf_puts(out, " \"\\\"\" space");
    return HILO_OK;
}

/* Integers, or all numbers, within bounds, or of 15 digits before the point; of fractions those between the integers that the
   bounds contain. */
static hilo_status put_number(struct schema *s, struct strbuf *out, const json_t *schema, bool integers) {
    enum { NBOUNDS = 4 };
    static const struct { const char *key; bool upper, exclusive; } keys[NBOUNDS] = {
        {"minimum", false, false}, {"maximum", true, false},
        {"exclusiveMinimum", false, true}, {"exclusiveMaximum", true, true}};
    double limit = 999999999999999.0, least = -limit, most = limit, low = -limit, high = limit;
    bool bounded = false;
    for (size_t i = 0; i < NBOUNDS; i++) {
        const json_t *v = json_object_get(schema, keys[i].key);
        double x = json_number_value(v);
        if (v && (!json_is_number(v) || !isfinite(x)))
            return refuse(s, keys[i].key);
        if (!v)
            continue;
        bounded = true;
        double whole = keys[i].upper ? floor(x) : ceil(x), next = keys[i].exclusive && whole == x ? keys[i].upper ? -1 : 1 : 0;
        if (keys[i].upper) {
            high = fmin(high, whole);
            most = fmin(most, whole + next);
        } else {
            low = fmax(low, whole);
            least = fmax(least, whole + next);
        }
    }
    if (!bounded) {
        strbuf_puts(out, integers ? "integer" : "number");
        return HILO_OK;
    }
    if (least > most && (integers || low >= high))
        return diag_error(s->d, HILO_INVALID_ARGUMENT, "the JSON schema has bounds without an integer between them");
    strbuf_putc(out, '(');
    if (integers)
        grammar_put_integers((long long)least, (long long)most, out);
    else
        grammar_put_numbers((long long)least, (long long)most, (long long)low, (long long)high, out);
    strbuf_puts(out, ") space");
    return HILO_OK;
}

/* Items with a comma before each but the first: what the prefix fixes, then `rest` of any number. */
static hilo_status put_array(struct schema *s, struct strbuf *out, const json_t *schema) {
    const json_t *prefix = json_object_get(schema, "prefixItems"), *items = json_object_get(schema, "items");
    long long least, most;
    unsigned rule = 0;
    HILO_TRY(bounds(s, schema, "minItems", "maxItems", &least, &most));
    strbuf_puts(out, "\"[\" space ");
    if (prefix) {
        if (!json_is_array(prefix) || json_object_get(schema, "minItems") || json_object_get(schema, "maxItems"))
            return refuse(s, "prefixItems");
        for (size_t i = 0; i < json_array_size(prefix); i++) {
            HILO_TRY(rule_of(s, json_array_get(prefix, i), &rule));
            strbuf_printf(out, "%sr%u ", i ? "\",\" space " : "", rule);
        }
    } else if (most != 0) {
        char item[24] = "value";
        if (items && !json_is_true(items)) {
            HILO_TRY(rule_of(s, items, &rule));
            snprintf(item, sizeof item, "r%u", rule);
        }
        strbuf_printf(out, "(%s (\",\" space %s)", item, item);
        put_bounds(out, least ? least - 1 : 0, most < 0 ? -1 : most - 1);
        strbuf_puts(out, least ? ") " : ")? ");
    }
    strbuf_puts(out, "\"]\" space");
    return HILO_OK;
}

static bool is_required(const json_t *schema, const char *name) {
    size_t i;
    json_t *one;
    json_array_foreach(json_object_get(schema, "required"), i,
                       one) if (json_is_string(one) && strcmp(json_string_value(one), name) == 0) return true;
    return false;
}

/* Properties in the order of the schema, each of which may be absent unless it is required. Rule first[i] is what may follow
   `{` when the properties before i are absent, rule rest[i] the same after another one, with a comma. */
static hilo_status put_object(struct schema *s, struct strbuf *out, const json_t *schema) {
    const json_t *properties = json_object_get(schema, "properties"), *more = json_object_get(schema, "additionalProperties");
    unsigned first = 0, rest = 0, more_rule = 0, property = 0;
    struct strbuf body;
    const char *key;
    json_t *v;
    if (json_object_size(properties) > SCHEMA_PROPERTIES)
        return diag_error(s->d, HILO_RESOURCE_EXHAUSTED, "the JSON schema is too large");
    size_t i;
    json_t *one;
    json_array_foreach(
        json_object_get(schema, "required"), i,
        one) if (!json_is_string(one) ||
                 !json_object_get(
                     properties,
                     json_string_value(
                         one))) return diag_error(s->d, HILO_INVALID_ARGUMENT,
                                                  "the JSON schema requires a property that is not in 'properties'");
    bool open = json_is_object(more) || json_is_true(more) || (!more && !properties);
    if (open && json_object_size(properties))
        open = false; /* names of further properties could be those of the others: they are left out, which the schema allows */
    if (open) {
        char item[24] = "value";
        if (json_is_object(more)) {
            HILO_TRY(rule_of(s, more, &more_rule));
            snprintf(item, sizeof item, "r%u", more_rule);
        }
        strbuf_printf(out, "\"{\" space (string \":\" space %s (\",\" space string \":\" space %s)*)? \"}\" space", item, item);
        return HILO_OK;
    }
    HILO_TRY(new_rule(s, &first));
    strbuf_printf(out, "\"{\" space r%u \"}\" space", first);
    HILO_TRY(new_rule(s, &rest));
    strbuf_init(&body, s->out->al);
    hilo_status status = HILO_OK;
    json_object_foreach((json_t *)(uintptr_t)properties, key, v) {
        unsigned next_first = 0, next_rest = 0;
        bool required = is_required(schema, key);
        status = rule_of(s, v, &property);
        if (status == HILO_OK)
            status = new_rule(s, &next_first);
        if (status == HILO_OK)
            status = new_rule(s, &next_rest);
        json_t *name = status == HILO_OK ? json_string(key) : NULL;
        for (int after = 0; after < 2 && name && status == HILO_OK; after++) {
            body.n = 0;
            strbuf_puts(&body, after ? "\",\" space " : "");
            status = put_json(s, &body, name, "");
            strbuf_printf(&body, " \":\" space r%u r%u", property, next_rest);
            if (!required)
                strbuf_printf(&body, " | r%u", after ? next_rest : next_first);
            end_rule(s, after ? rest : first, &body);
        }
        json_decref(name);
        if (status != HILO_OK)
            break;
        first = next_first;
        rest = next_rest;
    }
    body.n = 0;
    strbuf_puts(&body, "\"\"");
    if (status == HILO_OK) {
        end_rule(s, first, &body);
        end_rule(s, rest, &body);
    }
    strbuf_free(&body);
    return status;
}

static hilo_status put_type(struct schema *s, struct strbuf *out, const json_t *schema, const char *type) {
    static const char *const plain[] = {"boolean", "null"};
    for (size_t i = 0; i < sizeof plain / sizeof *plain; i++)
        if (strcmp(type, plain[i]) == 0) {
            strbuf_puts(out, type);
            return HILO_OK;
        }
    if (strcmp(type, "integer") == 0 || strcmp(type, "number") == 0)
        return put_number(s, out, schema, *type == 'i');
    if (strcmp(type, "string") == 0)
        return put_string(s, out, schema);
    if (strcmp(type, "array") == 0)
        return put_array(s, out, schema);
    if (strcmp(type, "object") == 0)
        return put_object(s, out, schema);
    return diag_error(s->d, HILO_INVALID_ARGUMENT, "the JSON schema has the type '%.40s'", type);
}

/* "#", "#/$defs/name" … */
static hilo_status put_ref(struct schema *s, struct strbuf *out, const char *ref) {
    const json_t *at = s->root;
    unsigned rule, i = 0;
    if (*ref != '#')
        return refuse(s, "$ref to another document");
    for (const char *p = ref + 1; *p == '/' && at;) {
        char key[256];
        size_t n = strcspn(++p, "/");
        if (n >= sizeof key || memchr(p, '~', n) || memchr(p, '%', n))
            return refuse(s, "$ref with an escape");
        memcpy(key, p, n);
        key[n] = '\0';
        at = json_object_get(at, key);
        p += n;
    }
    if (!at)
        return diag_error(s->d, HILO_INVALID_ARGUMENT, "the JSON schema has no '%.80s'", ref);
    while (i < s->nrefs && s->refs[i] != at)
        i++;
    if (i == SCHEMA_REFS)
        return diag_error(s->d, HILO_RESOURCE_EXHAUSTED, "the JSON schema is too large");
    if (i == s->nrefs) {
        struct strbuf body;
        HILO_TRY(new_rule(s, &s->ref_rules[i]));
        s->refs[s->nrefs++] = at;
        HILO_TRY(rule_of(s, at, &rule));
        strbuf_init(&body, s->out->al);
        strbuf_printf(&body, "r%u", rule);
        end_rule(s, s->ref_rules[i], &body);
        strbuf_free(&body);
    }
    strbuf_printf(out, "r%u", s->ref_rules[i]);
    return HILO_OK;
}

/* Alternatives, each a rule, of a list of schemas. */
static hilo_status put_any(struct schema *s, struct strbuf *out, const json_t *list) {
    if (!json_array_size(list))
        return diag_error(s->d, HILO_INVALID_ARGUMENT, "the JSON schema has a list of alternatives without any");
    for (size_t i = 0; i < json_array_size(list); i++) {
        unsigned rule = 0;
        HILO_TRY(rule_of(s, json_array_get(list, i), &rule));
        strbuf_printf(out, "%sr%u", i ? " | " : "", rule);
    }
    return HILO_OK;
}

static hilo_status put_enum(struct schema *s, struct strbuf *out, const json_t *list) {
    if (!json_array_size(list))
        return diag_error(s->d, HILO_INVALID_ARGUMENT, "the JSON schema has an 'enum' without values");
    for (size_t i = 0; i < json_array_size(list); i++) {
        strbuf_puts(out, i ? " | " : "");
        HILO_TRY(put_json(s, out, json_array_get(list, i), " space"));
    }
    return HILO_OK;
}

static hilo_status put_schema(struct schema *s, struct strbuf *out, const json_t *schema) {
    const json_t *type = json_object_get(schema, "type"), *v;
    HILO_TRY(check_keywords(s, schema));
    if ((v = json_object_get(schema, "$ref")))
        return json_is_string(v) ? put_ref(s, out, json_string_value(v)) : refuse(s, "$ref");
    if ((v = json_object_get(schema, "const")))
        return put_json(s, out, v, " space");
    if ((v = json_object_get(schema, "enum")))
        return put_enum(s, out, v);
    if ((v = json_object_get(schema, "allOf"))) /* of one schema, as generators write references with a description */
        return json_array_size(v) == 1 && !type ? put_any(s, out, v) : refuse(s, "allOf");
    if ((v = json_object_get(schema, "anyOf")) || (v = json_object_get(schema, "oneOf")))
        return put_any(s, out, v);
    if (json_is_array(type)) {
        for (size_t i = 0; i < json_array_size(type); i++) {
            const char *one = json_string_value(json_array_get(type, i));
            unsigned rule = 0;
            struct strbuf body;
            if (!one)
                return refuse(s, "type");
            HILO_TRY(new_rule(s, &rule));
            strbuf_init(&body, s->out->al);
            hilo_status status = put_type(s, &body, schema, one);
            end_rule(s, rule, &body);
            strbuf_free(&body);
            HILO_TRY(status);
            strbuf_printf(out, "%sr%u", i ? " | " : "", rule);
        }
        return json_array_size(type) ? HILO_OK : refuse(s, "type");
    }
    if (json_is_string(type))
        return put_type(s, out, schema, json_string_value(type));
    if (type)
        return refuse(s, "type");
    if (json_object_get(schema, "properties") || json_object_get(schema, "required") ||
        json_object_get(schema, "additionalProperties"))
        return put_object(s, out, schema);
    if (json_object_get(schema, "items") || json_object_get(schema, "prefixItems"))
        return put_array(s, out, schema);
    static const struct { const char *key, *type; } implied[] = {
        {"minLength", "string"}, {"maxLength", "string"}, {"pattern", "string"}, {"format", "string"}, {"minimum", "number"},
        {"maximum", "number"}, {"exclusiveMinimum", "number"}, {"exclusiveMaximum", "number"}};
    for (size_t i = 0; i < sizeof implied / sizeof *implied; i++)
        if (json_object_get(schema, implied[i].key))
            return put_type(s, out, schema, implied[i].type);
    strbuf_puts(out, "value");
    return HILO_OK;
}

static hilo_status rule_of(struct schema *s, const json_t *schema, unsigned *rule) {
    struct strbuf body;
    HILO_TRY(new_rule(s, rule));
    if (!json_is_object(schema) && !json_is_true(schema))
        return diag_error(s->d, HILO_INVALID_ARGUMENT, "the JSON schema has something else where a schema is expected");
    if (++s->depth > SCHEMA_DEPTH)
        return diag_error(s->d, HILO_INVALID_ARGUMENT, "the JSON schema is nested too deeply");
    strbuf_init(&body, s->out->al);
    hilo_status status = HILO_OK;
    if (json_is_true(schema))
        strbuf_puts(&body, "value");
    else
        status = put_schema(s, &body, schema);
    if (status == HILO_OK)
        end_rule(s, *rule, &body);
    strbuf_free(&body);
    s->depth--;
    return status;
}

hilo_status llm_grammar_schema(const json_t *schema, struct diag_list *d, struct strbuf *out) {
    struct schema s = {.root = schema, .d = d, .out = out};
    unsigned rule = 0;
    strbuf_puts(out, base_rules);
    if (schema)
        HILO_TRY(rule_of(&s, schema, &rule));
    if (schema)
        strbuf_printf(out, "root ::= \" \"? r%u\n", rule);
    else
        strbuf_puts(out, "root ::= \" \"? object\n");
    return out->failed ? diag_error(d, HILO_RESOURCE_EXHAUSTED, "out of memory") : HILO_OK;
}
