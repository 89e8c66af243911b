/* Whole-number formulas of a manifest: how many blocks a launch has, when it is the one. */
#ifndef TILEC_BENCH_FORMULA_H
#define TILEC_BENCH_FORMULA_H
#include "base/arena.h"
#include <stdbool.h>
#include <stdint.h>

/* The value of an extent or a whole scalar. */
typedef bool (*formula_lookup)(void *context, const char *name, int64_t *value);
/* Numbers, names, + - * and / (which rounds down), mod or %, floor(x), ceildiv(a, b), min, max, < <= > >= == != (1 or 0), and, or, not,
 * true, false, parentheses. False with `*why` (arena text or constant): a text that is none, an unknown name, a division by nothing
 * positive, a value beyond 64 bits. */
bool formula_evaluate(arena *a, const char *text, formula_lookup lookup, void *context, int64_t *value, const char **why);
#endif
