/* Random programs for the planner: a program is made from a string of bytes and run twice, as it was written, every buffer with
 * memory of its own, and by its plan. The results must be the same bytes, and nothing that may not be written may
 * change. Kernels mix what they read, so that any byte that is overwritten too early shows in the results. */
#ifndef HILO_TESTS_PLAN_RANDOM_PLAN_H
#define HILO_TESTS_PLAN_RANDOM_PLAN_H

#include "plan/plan.h"

/* True when the plan is right; else `why` says what is not. */
bool random_plan_check(const uint8_t *bytes, size_t nbytes, struct strbuf *why);

#endif
