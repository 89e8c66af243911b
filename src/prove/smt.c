/* Z3 behind dlopen: seven functions of its C interface, which takes and gives SMT-LIB text. */
#include "prove/smt.h"
#include <dlfcn.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Linear questions and bits take some ten thousand steps. Z3 does not count the steps of its search among polynomials, which the clock ends. */
#define QUESTION_STEPS "2000000"
#define QUESTION_MILLISECONDS "1000"
#define LIBRARY_MEGABYTES "1024"
enum { MOST_CHECKS = 400, DEEPEST = 200, LONGEST_TEXT = 200000 };

typedef struct _Z3_config *z3_config;
typedef struct _Z3_context *z3_context;
typedef void z3_error_handler(z3_context c, unsigned code);

static struct {
    z3_config (*make_config)(void);
    void (*delete_config)(z3_config c);
    z3_context (*make_context)(z3_config c);
    void (*delete_context)(z3_context c);
    void (*set_error_handler)(z3_context c, z3_error_handler *handler);
    void (*set_global)(const char *name, const char *value);
    const char *(*evaluate)(z3_context c, const char *text);
    bool found;
} z3;

static _Thread_local bool pretend_missing;
static _Thread_local unsigned long fault_in;

static bool look_up(void *library, const char *name, void *function, size_t size) {
    void *symbol = dlsym(library, name);
    memcpy(function, &symbol, size); /* ISO C has no conversion from an object to a function */
    return symbol != NULL;
}
#define LOOK_UP(name, member) look_up(library, name, &z3.member, sizeof z3.member)

static void find_library(void) {
    static const char *const names[] = {"libz3.so.4", "libz3.so", "libz3.dylib"};
    void *library = NULL;
    bool ours = true;
    for (size_t i = 0; i < sizeof names / sizeof *names && !library; i++) {
        library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
        ours = !library; /* else the program that tilec is a part of uses it too */
        if (!library)
            library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
    }
    z3.found = library && LOOK_UP("Z3_mk_config", make_config) && LOOK_UP("Z3_del_config", delete_config) &&
               LOOK_UP("Z3_mk_context", make_context) && LOOK_UP("Z3_del_context", delete_context) &&
               LOOK_UP("Z3_set_error_handler", set_error_handler) && LOOK_UP("Z3_global_param_set", set_global) &&
               LOOK_UP("Z3_eval_smtlib2_string", evaluate);
    if (z3.found && ours)
        z3.set_global("memory_max_size", LIBRARY_MEGABYTES);
}

bool smt_available(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, find_library);
    return z3.found && !pretend_missing;
}

void smt_pretend_missing(bool missing) {
    pretend_missing = missing;
}

void smt_fail_at(unsigned long question) {
    fault_in = question;
}

struct smt {
    arena *arena;
    VEC(smt_sort) sorts;
    VEC(int64_t) least;
    VEC(const char *) assertions;
};

smt *smt_new(arena *a) {
    smt *q = NEW(a, smt);
    q->arena = a;
    return q;
}

static const char *constant(arena *a, smt_sort sort, int64_t value) {
    if (sort == SMT_BITS)
        return arena_printf(a, "#x%016" PRIx64, (uint64_t)value);
    return value < 0 ? arena_printf(a, "(- %" PRIu64 ")", (uint64_t)0 - (uint64_t)value) : arena_printf(a, "%" PRId64, value);
}

int smt_variable(smt *q, smt_sort sort, int64_t least) {
    VEC_PUSH(q->arena, q->sorts, sort);
    VEC_PUSH(q->arena, q->least, least);
    int number = q->sorts.count - 1;
    smt_assert(q, "(%s %s x%d)", sort == SMT_BITS ? "bvule" : "<=", constant(q->arena, sort, least), number);
    return number;
}

void smt_assert(smt *q, const char *format, ...) {
    text_buffer b = {0};
    va_list args;
    va_start(args, format);
    text_add_va(&b, format, args);
    va_end(args);
    const char *copy = arena_strdup(q->arena, text_get(&b));
    text_free(&b);
    VEC_PUSH(q->arena, q->assertions, copy);
}

const char *smt_text(smt *q) {
    text_buffer b = {0};
    for (int i = 0; i < q->sorts.count; i++)
        text_add(&b, "(declare-const x%d %s)\n", i, q->sorts.at[i] == SMT_BITS ? "(_ BitVec 64)" : "Int");
    for (int i = 0; i < q->assertions.count; i++)
        text_add(&b, "(assert %s)\n", q->assertions.at[i]);
    const char *copy = arena_strdup(q->arena, text_get(&b));
    text_free(&b);
    return copy;
}

/* ---- asking ---- */

/* An error leaves the answer without "sat" or "unsat", so nobody need handle it; without a handler of ours the library would exit. */
static void no_handler(z3_context c, unsigned code) {
    (void)c;
    (void)code;
}

static smt_answer check(z3_context c, const char *more) {
    text_buffer b = {0};
    text_add(&b, "(push)\n%s(check-sat)\n", more);
    const char *said = z3.evaluate(c, text_get(&b));
    smt_answer answer = SMT_UNKNOWN;
    if (said && !strncmp(said, "sat", 3))
        answer = SMT_SOME;
    else if (said && !strncmp(said, "unsat", 5))
        answer = SMT_NONE;
    text_free(&b);
    return answer;
}

/* "((x3 12))", "((x3 (- 12)))", "((x3 #x000000000000000c))" */
static bool read_value(const char *said, int64_t *value) {
    char *end = NULL;
    const char *at = said ? strchr(said, ' ') : NULL;
    if (!at || strncmp(said, "((x", 3))
        return false;
    at++;
    bool negative = !strncmp(at, "(- ", 3), bits = !strncmp(at, "#x", 2);
    uint64_t n = strtoull(at + (negative ? 3 : bits ? 2 : 0), &end, bits ? 16 : 10);
    if (!end || *end != ')' || (!bits && n > INT64_MAX))
        return false;
    *value = negative ? -(int64_t)n : (int64_t)n;
    return true;
}

static bool model_value(z3_context c, int variable, int64_t *value) {
    char text[64];
    snprintf(text, sizeof text, "(get-value (x%d))", variable);
    return read_value(z3.evaluate(c, text), value);
}

/* The least value of a variable that Z3 finds, those before it being fixed; *value holds one. */
static void lower(z3_context c, smt *q, int variable, int64_t *value, int *checks) {
    smt_sort sort = q->sorts.at[variable];
    int64_t low = q->least.at[variable], reach = 0;
    if (low < 0 && *value >= 0) { /* is any value negative? */
        char *more = arena_printf(q->arena, "(assert (< x%d 0))\n", variable);
        bool none = check(c, more) == SMT_NONE;
        z3.evaluate(c, "(pop)");
        if (!none)
            return;
        low = 0;
    }
    while (low < *value && (*checks)++ < MOST_CHECKS) {
        int64_t middle = low + (*value - low) / 2;
        if (reach >= 0 && low + reach < middle)
            middle = low + reach; /* small values first */
        char *more = arena_printf(q->arena, "(assert (%s x%d %s))\n", sort == SMT_BITS ? "bvule" : "<=", variable,
                                  constant(q->arena, sort, middle));
        smt_answer a = check(c, more);
        int64_t found;
        bool read = a == SMT_SOME && model_value(c, variable, &found);
        z3.evaluate(c, "(pop)");
        if (read && found >= low && found <= middle)
            *value = found;
        else if (a == SMT_NONE)
            low = middle + 1;
        else
            return;
        reach = reach * 2 + 1;
        if (reach > (int64_t)1 << 40)
            reach = -1;
    }
}

smt_answer smt_ask(smt *q, int64_t *values) {
    if (!smt_available() || (fault_in && !--fault_in))
        return SMT_UNKNOWN;
    z3_config configuration = z3.make_config();
    z3_context c = configuration ? z3.make_context(configuration) : NULL;
    if (configuration)
        z3.delete_config(configuration);
    if (!c)
        return SMT_UNKNOWN;
    z3.set_error_handler(c, no_handler);
    z3.evaluate(c, "(set-option :rlimit " QUESTION_STEPS ")(set-option :timeout " QUESTION_MILLISECONDS ")");
    const char *text = smt_text(q), *trouble = z3.evaluate(c, text);
    smt_answer answer = trouble && !*trouble ? check(c, "") : SMT_UNKNOWN;
    int checks = 0;
    if (answer == SMT_SOME && values) {
        for (int i = 0; i < q->sorts.count && answer == SMT_SOME; i++)
            answer = model_value(c, i, &values[i]) ? SMT_SOME : SMT_UNKNOWN;
        for (int i = 0; i < q->sorts.count && answer == SMT_SOME; i++) {
            char *fixed;
            lower(c, q, i, &values[i], &checks);
            fixed = arena_printf(q->arena, "(assert (= x%d %s))\n", i, constant(q->arena, q->sorts.at[i], values[i]));
            z3.evaluate(c, fixed);
            /* what follows is read from a model that has this value */
            smt_answer again = check(c, "");
            for (int j = i + 1; j < q->sorts.count && again == SMT_SOME; j++)
                again = model_value(c, j, &values[j]) ? SMT_SOME : SMT_UNKNOWN;
            answer = again == SMT_SOME ? SMT_SOME : SMT_UNKNOWN;
        }
    }
    z3.delete_context(c);
    return answer;
}

/* ---- translation ---- */

static bool expression(text_buffer *out, const index_expr *x, smt_name name, void *context, int nesting) {
    static const char *const words[] = {[IX_ADD] = "+", [IX_SUB] = "-", [IX_MUL] = "*", [IX_FLOORDIV] = "div", [IX_MOD] = "mod"};
    if (nesting > DEEPEST || out->length > LONGEST_TEXT)
        return false;
    if (x->op == IX_CONST) {
        if (x->value < 0)
            text_add(out, "(- %" PRIu64 ")", (uint64_t)0 - (uint64_t)x->value);
        else
            text_add(out, "%" PRId64, x->value);
        return true;
    }
    if (x->op == IX_VAR) {
        const char *text = NULL;
        const index_expr *instead = NULL;
        if (x->var->has_value) {
            index_expr constant_value = {.op = IX_CONST, .value = x->var->value};
            return expression(out, &constant_value, name, context, nesting + 1);
        }
        if (!name(context, x->var, &text, &instead))
            return false;
        if (instead)
            return expression(out, instead, name, context, nesting + 1);
        text_add(out, "%s", text);
        return true;
    }
    if (x->op == IX_MIN || x->op == IX_MAX) { /* each operand stands twice; let keeps the text short */
        text_add(out, "(let ((a%d ", nesting);
        bool fine = expression(out, x->a, name, context, nesting + 1);
        text_add(out, ") (b%d ", nesting);
        fine = fine && expression(out, x->b, name, context, nesting + 1);
        text_add(out, ")) (ite (%s a%d b%d) a%d b%d))", x->op == IX_MIN ? "<=" : ">=", nesting, nesting, nesting, nesting);
        return fine;
    }
    text_add(out, "(%s ", words[x->op]);
    bool fine = expression(out, x->a, name, context, nesting + 1);
    text_add(out, " ");
    fine = fine && expression(out, x->b, name, context, nesting + 1);
    text_add(out, ")");
    return fine;
}

bool smt_expression(text_buffer *out, const index_expr *x, smt_name name, void *context) {
    return expression(out, x, name, context, 0);
}

static bool condition(text_buffer *out, const cond *c, smt_name name, void *context, int nesting) {
    if (nesting > DEEPEST)
        return false;
    switch (c->op) {
    case COND_TRUE: text_add(out, "true"); return true;
    case COND_NOT: {
        text_add(out, "(not ");
        bool fine = condition(out, c->a, name, context, nesting + 1);
        text_add(out, ")");
        return fine;
    }
    case COND_AND:
    case COND_OR: {
        text_add(out, c->op == COND_AND ? "(and " : "(or ");
        bool fine = condition(out, c->a, name, context, nesting + 1);
        text_add(out, " ");
        fine = fine && condition(out, c->b, name, context, nesting + 1);
        text_add(out, ")");
        return fine;
    }
    default: break;
    }
    text_add(out, c->op == COND_LE ? "(<= " : c->op == COND_LT ? "(< " : c->op == COND_EQ ? "(= " : "(distinct ");
    bool fine = expression(out, c->x, name, context, nesting + 1);
    text_add(out, " ");
    fine = fine && expression(out, c->y, name, context, nesting + 1);
    text_add(out, ")");
    return fine;
}

bool smt_condition(text_buffer *out, const cond *c, smt_name name, void *context) {
    return condition(out, c, name, context, 0);
}
