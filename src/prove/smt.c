/* Z3 behind dlopen: seven functions of its C interface, which takes and gives SMT-LIB text. */
#include "prove/smt.h"
#include "prove/sets.h"
#include <dlfcn.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A question, the search for its least point included, has so many of Z3's steps and so much time. Linear questions and bits take some ten thousand
 * steps. Z3 does not count the steps of its search among polynomials, which the clock ends. */
enum { QUESTION_STEPS = 2000000, QUESTION_MILLISECONDS = 1000 };
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
    double milliseconds;
};

smt *smt_new(arena *a, double milliseconds) {
    smt *q = NEW(a, smt);
    q->arena = a;
    q->milliseconds = milliseconds < QUESTION_MILLISECONDS ? milliseconds : QUESTION_MILLISECONDS;
    return q;
}

static void add_constant(text_buffer *out, int64_t value) {
    text_add(out, value < 0 ? "(- %" PRIu64 ")" : "%" PRIu64, value < 0 ? (uint64_t)0 - (uint64_t)value : (uint64_t)value);
}

const char *smt_constant(arena *a, smt_sort sort, int64_t value) {
    if (sort == SMT_BITS)
        return arena_printf(a, "#x%016" PRIx64, (uint64_t)value);
    text_buffer b = {0};
    add_constant(&b, value);
    const char *text = arena_strdup(a, text_get(&b));
    text_free(&b);
    return text;
}

int smt_variable(smt *q, smt_sort sort, int64_t least) {
    VEC_PUSH(q->arena, q->sorts, sort);
    VEC_PUSH(q->arena, q->least, least);
    int number = q->sorts.count - 1;
    smt_assert(q, "(%s %s x%d)", sort == SMT_BITS ? "bvule" : "<=", smt_constant(q->arena, sort, least), number);
    return number;
}

void smt_assert(smt *q, const char *format, ...) {
    va_list args;
    va_start(args, format);
    const char *copy = arena_printf_va(q->arena, format, args);
    va_end(args);
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

typedef struct asking {
    smt *of;
    z3_context context;
    double end; /* of the time for all checks, by prover_clock */
    int checks;
    int64_t *values; /* a point that satisfies the question, once one is found */
} asking;

/* What is left of the steps; 0 also when Z3 does not say. It counts them for the context, which is this question's own. */
static unsigned long long steps_left(const asking *q) {
    unsigned long long spent;
    const char *said = z3.evaluate(q->context, "(get-info :rlimit)");
    return said && sscanf(said, "(:rlimit %llu)", &spent) == 1 && spent < QUESTION_STEPS ? QUESTION_STEPS - spent : 0;
}

/* Checks what is asserted and `more`, below a push that the caller pops. */
static smt_answer check(asking *q, const char *more) {
    unsigned long long steps = steps_left(q);
    double left = q->end - prover_clock();
    text_buffer b = {0};
    text_add(&b, "(push)\n%s", more);
    smt_answer answer = SMT_UNKNOWN;
    bool asked = steps && left >= 1 && q->checks++ < MOST_CHECKS;
    if (asked)
        text_add(&b, "(set-option :rlimit %llu)(set-option :timeout %d)(check-sat)\n", steps, (int)left);
    const char *said = z3.evaluate(q->context, text_get(&b));
    if (asked && said && !strncmp(said, "sat", 3))
        answer = SMT_SOME;
    else if (asked && said && !strncmp(said, "unsat", 5))
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

/* Takes over the point that the last check found; false: it can't be read, and the one held stays. */
static bool read_point(asking *q) {
    int count = q->of->sorts.count;
    int64_t *found = NEW_ARRAY(q->of->arena, int64_t, count + 1);
    for (int i = 0; i < count; i++) {
        char text[64];
        snprintf(text, sizeof text, "(get-value (x%d))", i);
        if (!read_value(z3.evaluate(q->context, text), &found[i]))
            return false;
    }
    memcpy(q->values, found, (size_t)count * sizeof *found);
    return true;
}

/* Whether there is a point with this too; if so it is held from now on. */
static smt_answer try(asking *q, const char *assertion) {
    smt_answer a = check(q, assertion);
    if (a == SMT_SOME && !read_point(q))
        a = SMT_UNKNOWN;
    z3.evaluate(q->context, "(pop)");
    return a;
}

/* Makes a variable of the point that is held as small as Z3 can show, those before it being fixed. */
static void lower(asking *q, int variable) {
    arena *a = q->of->arena;
    smt_sort sort = q->of->sorts.at[variable];
    int64_t low = q->of->least.at[variable], reach = 0, *value = &q->values[variable];
    if (low < 0 && *value >= 0) { /* is any value negative? */
        smt_answer negative = try(q, arena_printf(a, "(assert (< x%d 0))\n", variable));
        if (negative == SMT_UNKNOWN)
            return;
        low = negative == SMT_NONE ? 0 : low;
    }
    while (low < *value) {
        int64_t middle = low + (*value - low) / 2;
        if (reach >= 0 && low + reach < middle)
            middle = low + reach; /* small values first */
        smt_answer answer = try(q, arena_printf(a, "(assert (%s x%d %s))\n", sort == SMT_BITS ? "bvule" : "<=", variable,
                                                smt_constant(a, sort, middle)));
        if (answer == SMT_UNKNOWN || (answer == SMT_SOME && *value > middle))
            return;
        if (answer == SMT_NONE)
            low = middle + 1;
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
    asking x = {q, c, prover_clock() + q->milliseconds, 0, values};
    const char *text = smt_text(q), *trouble = z3.evaluate(c, text);
    smt_answer answer = trouble && !*trouble ? check(&x, "") : SMT_UNKNOWN;
    if (answer == SMT_SOME && values && !read_point(&x))
        answer = SMT_UNKNOWN;
    for (int i = 0; answer == SMT_SOME && values && i < q->sorts.count; i++) {
        lower(&x, i);
        z3.evaluate(c, arena_printf(q->arena, "(assert (= x%d %s))\n", i, smt_constant(q->arena, q->sorts.at[i], values[i])));
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
        add_constant(out, x->value);
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
