/* Stop strings: see generate.h. */
#include "llm/generate.h"

size_t llm_stop_find(const struct llm_stops *stops, struct str text, size_t from) {
    for (size_t at = from; at < text.n; at++)
        for (size_t i = 0; i < stops->n; i++)
            if (*stops->v[i] && str_starts((struct str){text.p + at, text.n - at}, stops->v[i]))
                return at;
    return text.n;
}

size_t llm_stop_safe(const struct llm_stops *stops, struct str text, size_t from) {
    for (size_t at = from; at < text.n; at++)
        for (size_t i = 0; i < stops->n; i++)
            if (strncmp(text.p + at, stops->v[i], text.n - at) == 0)
                return at;
    return text.n;
}
