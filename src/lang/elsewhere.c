/* What other languages have a word for, and how it is said here. */
#include "lang/elsewhere.h"
#include <stddef.h>
#include <string.h>

typedef struct saying {
    const char *word, *here;
} saying;

static const saying functions[] = {
    {"pow", "`exp(y * log(x))` for x > 0, or products"},
    {"sigmoid", "`1 / (1 + exp(-x))`"},
    {"relu", "`max(x, 0)`"},
    {"round", "`floor(x + 0.5)`"},
    {"rint", "`floor(x + 0.5)`"},
    {"ceil", "`-floor(-x)`"},
    {"trunc", "`f32(i32(x))`"},
    {"log2", "`log(x) * 1.4426950408889634`"},
    {"log10", "`log(x) * 0.4342944819032518`"},
    {"log1p", "`log(1 + x)`"},
    {"exp2", "`exp(x * 0.6931471805599453)`"},
    {"expm1", "`exp(x) - 1`"},
    {"tan", "`sin(x) / cos(x)`"},
    {"square", "`x * x`"},
    {"clamp", "`max(low, min(high, x))`"},
    {"clip", "`max(low, min(high, x))`"},
    {"sign", "`select(x > 0, 1.0, select(x < 0, -1.0, 0.0))`"},
    {"fmod", "`x - y * floor(x / y)`"},
    {"mod", "`x - y * floor(x / y)`"},
    {"fma", "`a * b + c`"},
    {"isnan", "`x != x`"},
    {"dot", "`a[i, k] @ b[k, j]`"},
    {"matmul", "`a[i, k] @ b[k, j]`"},
    {"mean", "`sum[k](x) / K` over the range k of extent K"},
    {"float", "`f32(x)`"},
    {"int", "`i32(x)`"},
    {"cumsum", "`for j: BJ in N where j <= i { s += sum[j](x[j]) }`, with `s: f32[i] = 0` before it"},
    {"load", "`x[i]`, or `x[i] else 0` where it may lie outside"},
    {"arange", "`i`: a range is a value, its elements' numbers"},
};

static const saying statements[] = {
    {"if", "there is no `if`: choose values by `select(condition, a, b)`, and leave elements out by a loop's `where`"},
    {"else", "there is no `if`: choose values by `select(condition, a, b)`, and leave elements out by a loop's `where`"},
    {"while", "there is no `while`: a loop goes over tiles of a range, `for k: BK in K { ... }`"},
    {"return", "nothing is returned: store to an output, `y[i] = value`"},
    {"let", "a name is bound without a word, `x = value`"},
    {"var", "a variable is declared with its type, `x: f32[i] = 0`"},
    {"float", "a variable is declared with its type behind its name, `x: f32[i] = 0`"},
    {"int", "a variable is declared with its type behind its name, `x: i32[i] = 0`"},
    {"def", "functions stand outside of kernels, `fn name(x) = expression`"},
};

static const char *find(const saying *list, size_t count, const char *word) {
    for (size_t i = 0; i < count; i++)
        if (!strcmp(list[i].word, word))
            return list[i].here;
    return NULL;
}

const char *lang_function_elsewhere(const char *name) {
    return find(functions, sizeof functions / sizeof *functions, name);
}

const char *lang_statement_elsewhere(const char *word) {
    return find(statements, sizeof statements / sizeof *statements, word);
}
