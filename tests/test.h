/* What C tests share: skips, which have a reason, and how much a test does. */
#ifndef HILO_TESTS_TEST_H
#define HILO_TESTS_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

/* Ends the test; the runner shows the reason. */
#define SKIP_BECAUSE(...) (print_message("skipped: " __VA_ARGS__), print_message("\n"), skip())

/* Whether HILO_TEST_LONG asks for all that a test can do. */
static inline bool test_is_long(void) {
    const char *text = getenv("HILO_TEST_LONG");
    return text && *text;
}

#endif
