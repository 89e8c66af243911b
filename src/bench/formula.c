/* Evaluating formulas while they are read. */
#include "bench/formula.h"
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { DEEPEST = 100 };

typedef struct reading {
    arena *a;
    const char *at;
    formula_lookup lookup;
    void *context;
    const char *why; /* the first thing wrong; NULL so far */
    int depth;
} reading;

static int64_t read_or(reading *r);

static int64_t refuse(reading *r, const char *why) {
    if (!r->why)
        r->why = why;
    return 0;
}

static void skip(reading *r) {
    while (isspace((unsigned char)*r->at))
        r->at++;
}

static size_t word_length(const char *at) {
    size_t n = 0;
    if (isalpha((unsigned char)*at) || *at == '_')
        while (isalnum((unsigned char)at[n]) || at[n] == '_')
            n++;
    return n;
}

/* Takes `token` when it stands next; words only as a whole, and no operator that is the beginning of a longer one. */
static bool take(reading *r, const char *token) {
    skip(r);
    size_t n = strlen(token), word = word_length(r->at);
    if (strncmp(r->at, token, n) || (isalpha((unsigned char)*token) && word != n))
        return false;
    if ((*token == '<' || *token == '>') && n == 1 && r->at[1] == '=')
        return false;
    r->at += n;
    return true;
}

static void expect(reading *r, const char *token) {
    if (!r->why && !take(r, token))
        refuse(r, arena_printf(r->a, "`%s` is missing before `%.20s`", token, r->at));
}

static int64_t divide(reading *r, int64_t a, int64_t b, bool rest) {
    if (b <= 0)
        return refuse(r, "a divisor is not positive");
    int64_t left = a % b < 0 ? a % b + b : a % b;
    return rest ? left : a / b - (a % b < 0);
}

static int64_t combine(reading *r, char op, int64_t a, int64_t b) {
    int64_t out = 0;
    bool beyond = op == '+'   ? __builtin_add_overflow(a, b, &out)
                  : op == '-' ? __builtin_sub_overflow(a, b, &out)
                              : __builtin_mul_overflow(a, b, &out);
    return beyond ? refuse(r, "a value is beyond 64 bits") : out;
}

static int64_t read_number(reading *r) {
    char *end;
    errno = 0;
    long long value = strtoll(r->at, &end, 10);
    r->at = end;
    return errno ? refuse(r, "a value is beyond 64 bits") : value;
}

static int64_t read_pair(reading *r, const char *name) {
    expect(r, "(");
    int64_t a = read_or(r);
    expect(r, ",");
    int64_t b = read_or(r);
    expect(r, ")");
    if (r->why)
        return 0;
    if (*name == 'c')
        return combine(r, '+', divide(r, a, b, false), b > 0 && divide(r, a, b, true) != 0);
    return (name[1] == 'i') == (a < b) ? a : b;
}

static int64_t read_primary(reading *r) {
    static const char *const pairs[] = {"min", "max", "ceildiv"};
    skip(r);
    if (isdigit((unsigned char)*r->at))
        return read_number(r);
    if (take(r, "true"))
        return 1;
    if (take(r, "false"))
        return 0;
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        if (take(r, pairs[i]))
            return read_pair(r, pairs[i]);
    bool floored = take(r, "floor"); /* divisions round down by themselves */
    if (floored || *r->at == '(') {
        expect(r, "(");
        int64_t value = read_or(r);
        expect(r, ")");
        return value;
    }
    size_t n = word_length(r->at);
    if (!n)
        return refuse(r, *r->at ? arena_printf(r->a, "`%.20s` is no formula", r->at) : "the formula ends too early");
    const char *name = arena_strndup(r->a, r->at, n);
    int64_t value = 0;
    r->at += n;
    return r->lookup(r->context, name, &value) ? value
                                               : refuse(r, arena_printf(r->a, "there is no extent or whole scalar `%s`", name));
}

static int64_t read_unary(reading *r) {
    if (r->why || r->depth >= DEEPEST)
        return refuse(r, "the formula is nested too deep");
    r->depth++;
    int64_t value = take(r, "-") ? combine(r, '-', 0, read_unary(r)) : read_primary(r);
    r->depth--;
    return value;
}

static int64_t read_product(reading *r) {
    int64_t value = read_unary(r);
    while (!r->why) {
        if (take(r, "*"))
            value = combine(r, '*', value, read_unary(r));
        else if (take(r, "/"))
            value = divide(r, value, read_unary(r), false);
        else if (take(r, "mod") || take(r, "%"))
            value = divide(r, value, read_unary(r), true);
        else
            break;
    }
    return value;
}

static int64_t read_sum(reading *r) {
    int64_t value = read_product(r);
    while (!r->why) {
        char op = take(r, "+") ? '+' : take(r, "-") ? '-' : 0;
        if (!op)
            break;
        value = combine(r, op, value, read_product(r));
    }
    return value;
}

static int64_t read_comparison(reading *r) {
    static const char *const operators[] = {"<=", ">=", "==", "!=", "<", ">"};
    int64_t a = read_sum(r);
    for (int i = 0; !r->why && i < 6; i++)
        if (take(r, operators[i])) {
            int64_t b = read_sum(r);
            bool holds[] = {a <= b, a >= b, a == b, a != b, a<b, a> b};
            return holds[i];
        }
    return a;
}

static int64_t read_not(reading *r) {
    bool turned = false;
    while (take(r, "not"))
        turned = !turned;
    int64_t value = read_comparison(r);
    return turned ? !value : value;
}

/* Both sides are read, so both must have a value. */
static int64_t read_and(reading *r) {
    int64_t value = read_not(r);
    while (!r->why && take(r, "and")) {
        int64_t other = read_not(r);
        value = value && other;
    }
    return value;
}

static int64_t read_or(reading *r) {
    int64_t value = read_and(r);
    while (!r->why && take(r, "or")) {
        int64_t other = read_and(r);
        value = value || other;
    }
    return value;
}

bool formula_evaluate(arena *a, const char *text, formula_lookup lookup, void *context, int64_t *value, const char **why) {
    reading r = {.a = a, .at = text, .lookup = lookup, .context = context};
    *value = read_or(&r);
    skip(&r);
    if (!r.why && *r.at)
        refuse(&r, arena_printf(a, "`%.20s` is left over", r.at));
    *why = r.why;
    return !r.why;
}
