/* With sets_join.c the only file that calls isl. One __isl_take argument a statement: the order of evaluation of arguments is not fixed. */
#include "prove/sets_private.h"
#include <isl/aff.h>
#include <isl/constraint.h>
#include <isl/ctx.h>
#include <isl/id.h>
#include <isl/local_space.h>
#include <isl/map.h>
#include <isl/options.h>
#include <isl/point.h>
#include <isl/set.h>
#include <isl/space.h>
#include <isl/val.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* One thing made: a set or an expression. */
typedef struct made {
    isl_set *set;
    isl_aff *aff;
} made;

struct sets {
    isl_ctx *ctx;
    unsigned long operations;
    union_cache unions;
    answers answers;
    double end;   /* by prover_clock: no question gets an answer after it */
    bool hurried; /* the last question had fewer steps than others for that */
    char **names;
    int parameters;
    made *made;
    int count, capacity;
};

/* A question that begins shortly before the end has fewer steps: about as many as are taken until then. */
enum { OPERATIONS_OF_MILLISECOND = 200 };

double prover_clock(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

double sets_milliseconds_left(const sets *s) {
    return s->end - prover_clock();
}

void sets_end_at(sets *s, double end) {
    s->end = end;
}

sets *sets_new(unsigned long operations) {
    sets *s = calloc(1, sizeof *s);
    isl_ctx *ctx = isl_ctx_alloc();
    if (!s || !ctx) {
        free(s);
        if (ctx)
            isl_ctx_free(ctx);
        return NULL;
    }
    s->ctx = ctx;
    s->operations = operations;
    s->end = 1e300;
    isl_options_set_on_error(ctx, ISL_ON_ERROR_CONTINUE);
    isl_ctx_set_max_operations(ctx, operations);
    return s;
}

void sets_free(sets *s) {
    if (!s)
        return;
    for (int i = 0; i < s->count; i++) {
        isl_set_free(s->made[i].set);
        isl_aff_free(s->made[i].aff);
    }
    union_cache_clear(&s->unions);
    answers_forget(&s->answers);
    for (int i = 0; i < s->parameters; i++)
        free(s->names[i]);
    free(s->names);
    free(s->made);
    isl_ctx_free(s->ctx);
    free(s);
}

/* As arenas do it: running out of memory ends the process with a message. */
static _Noreturn void out_of_memory(void) {
    fprintf(stderr, "tilec: out of memory\n");
    exit(3);
}

int sets_declare(sets *s, const char *name) {
    for (int i = 0; i < s->parameters; i++)
        if (!strcmp(s->names[i], name))
            return i;
    char **names = realloc(s->names, ((size_t)s->parameters + 1) * sizeof *names);
    if (!names)
        out_of_memory();
    s->names = names;
    size_t length = strlen(name) + 1;
    names[s->parameters] = malloc(length);
    if (!names[s->parameters])
        out_of_memory();
    memcpy(names[s->parameters], name, length);
    return s->parameters++;
}

int sets_parameters(const sets *s) {
    return s->parameters;
}

void sets_question(sets *s) {
    isl_ctx_reset_error(s->ctx);
    isl_ctx_reset_operations(s->ctx);
    double left = sets_milliseconds_left(s) * OPERATIONS_OF_MILLISECOND;
    s->hurried = left < (double)s->operations;
    isl_ctx_set_max_operations(s->ctx, left < 1 ? 1 : left < (double)s->operations ? (unsigned long)left : s->operations);
}

bool sets_ran_late(const sets *s) {
    return s->hurried || sets_milliseconds_left(s) <= 0;
}

bool sets_gave_up(sets *s) {
    return isl_ctx_last_error(s->ctx) != isl_error_none;
}

/* Tests let one operation fail, to see that nothing is proved by it. */
static _Thread_local unsigned long fault_in;
static _Thread_local bool fault_armed;

void sets_fail_at(unsigned long operation) {
    fault_in = operation;
    fault_armed = operation > 0;
}

bool sets_fault_armed(void) {
    return fault_armed;
}
bool sets_fault_pending(void) {
    return fault_in > 0;
}

static bool fails(void) {
    return fault_in > 0 && --fault_in == 0;
}

static void remember(sets *s, isl_set *set, isl_aff *aff) {
    if (s->count == s->capacity) {
        int capacity = s->capacity ? 2 * s->capacity : 256;
        made *larger = realloc(s->made, (size_t)capacity * sizeof *larger);
        if (!larger)
            out_of_memory();
        s->made = larger;
        s->capacity = capacity;
    }
    s->made[s->count++] = (made){set, aff};
}

static int_set *own(sets *s, isl_set *x) {
    if (fails())
        x = isl_set_free(x);
    if (x)
        remember(s, x, NULL);
    return (int_set *)x;
}

static linear *own_linear(sets *s, isl_aff *x) {
    if (fails())
        x = isl_aff_free(x);
    if (x)
        remember(s, NULL, x);
    return (linear *)x;
}

static isl_set *borrow(int_set *x) {
    return x ? isl_set_copy((isl_set *)x) : NULL;
}
static isl_aff *borrow_linear(linear *x) {
    return x ? isl_aff_copy((isl_aff *)x) : NULL;
}

static isl_space *space(sets *s, int dims) {
    isl_space *p = isl_space_set_alloc(s->ctx, (unsigned)s->parameters, (unsigned)dims);
    for (int i = 0; i < s->parameters; i++) {
        isl_id *id = isl_id_alloc(s->ctx, s->names[i], NULL);
        p = isl_space_set_dim_id(p, isl_dim_param, (unsigned)i, id);
    }
    return p;
}

static isl_local_space *local_space(sets *s, int dims) {
    isl_space *p = space(s, dims);
    return isl_local_space_from_space(p);
}

linear *linear_constant(sets *s, int dims, int64_t value) {
    if (dims < 0)
        return NULL;
    operation o = {.kind = OPERATION_CONSTANT, .a = dims, .b = value};
    void *known = answer_known(&s->answers, &o);
    if (known)
        return known;
    isl_local_space *l = local_space(s, dims);
    isl_val *v = isl_val_int_from_si(s->ctx, (long)value);
    return answer_keep(&s->answers, &o, own_linear(s, isl_aff_val_on_domain(l, v)));
}

linear *linear_dim(sets *s, int dims, int position) {
    if (dims < 0 || position < 0 || position >= dims)
        return NULL;
    operation o = {.kind = OPERATION_DIM, .a = dims, .b = position};
    void *known = answer_known(&s->answers, &o);
    if (known)
        return known;
    isl_local_space *l = local_space(s, dims);
    return answer_keep(&s->answers, &o, own_linear(s, isl_aff_var_on_domain(l, isl_dim_set, (unsigned)position)));
}

linear *linear_parameter(sets *s, int dims, int index) {
    if (dims < 0)
        return NULL;
    operation o = {.kind = OPERATION_PARAMETER, .a = dims, .b = index};
    void *known = answer_known(&s->answers, &o);
    if (known)
        return known;
    isl_local_space *l = local_space(s, dims);
    return answer_keep(&s->answers, &o, own_linear(s, isl_aff_var_on_domain(l, isl_dim_param, (unsigned)index)));
}

linear *linear_add(sets *s, linear *x, linear *y) {
    if (!x || !y)
        return NULL;
    operation o = {.kind = OPERATION_ADD, .x = x, .y = y};
    void *known = answer_known(&s->answers, &o);
    if (known)
        return known;
    isl_aff *a = borrow_linear(x);
    isl_aff *b = borrow_linear(y);
    return answer_keep(&s->answers, &o, own_linear(s, isl_aff_add(a, b)));
}

linear *linear_scale(sets *s, linear *x, int64_t factor) {
    if (!x)
        return NULL;
    operation o = {.kind = OPERATION_SCALE, .x = x, .a = factor};
    void *known = answer_known(&s->answers, &o);
    if (known)
        return known;
    isl_aff *a = borrow_linear(x);
    isl_val *v = isl_val_int_from_si(s->ctx, (long)factor);
    return answer_keep(&s->answers, &o, own_linear(s, isl_aff_scale_val(a, v)));
}

linear *linear_floor(sets *s, linear *x, int64_t divisor) {
    if (!x)
        return NULL;
    operation o = {.kind = OPERATION_FLOOR, .x = x, .a = divisor};
    void *known = answer_known(&s->answers, &o);
    if (known)
        return known;
    isl_aff *a = borrow_linear(x);
    isl_val *v = isl_val_int_from_si(s->ctx, (long)divisor);
    a = isl_aff_scale_down_val(a, v);
    return answer_keep(&s->answers, &o, own_linear(s, isl_aff_floor(a)));
}

linear *linear_mod(sets *s, linear *x, int64_t divisor) {
    if (!x)
        return NULL;
    operation o = {.kind = OPERATION_MOD, .x = x, .a = divisor};
    void *known = answer_known(&s->answers, &o);
    if (known)
        return known;
    isl_aff *a = borrow_linear(x);
    isl_val *v = isl_val_int_from_si(s->ctx, (long)divisor);
    return answer_keep(&s->answers, &o, own_linear(s, isl_aff_mod_val(a, v)));
}

int_set *sets_universe(sets *s, int dims) {
    if (dims < 0)
        return NULL;
    operation o = {.kind = OPERATION_UNIVERSE, .a = dims};
    void *known = answer_known(&s->answers, &o);
    if (known)
        return known;
    isl_space *p = space(s, dims);
    return answer_keep(&s->answers, &o, own(s, isl_set_universe(p)));
}

int_set *sets_empty(sets *s, int dims) {
    if (dims < 0)
        return NULL;
    operation o = {.kind = OPERATION_EMPTY, .a = dims};
    void *known = answer_known(&s->answers, &o);
    if (known)
        return known;
    isl_space *p = space(s, dims);
    return answer_keep(&s->answers, &o, own(s, isl_set_empty(p)));
}

isl_basic_set *half_space(isl_aff *a) {
    isl_constraint *c = isl_inequality_from_aff(a);
    return isl_basic_set_from_constraint(c);
}

int_set *sets_nonnegative(sets *s, linear *x) {
    if (!x)
        return NULL;
    operation o = {.kind = OPERATION_NONNEGATIVE, .x = x};
    void *known = answer_known(&s->answers, &o);
    if (known)
        return known;
    isl_aff *a = borrow_linear(x);
    isl_basic_set *b = half_space(a);
    return answer_keep(&s->answers, &o, own(s, isl_set_from_basic_set(b)));
}

int_set *sets_zero(sets *s, linear *x) {
    if (!x)
        return NULL;
    operation o = {.kind = OPERATION_ZERO, .x = x};
    void *known = answer_known(&s->answers, &o);
    if (known)
        return known;
    isl_aff *a = borrow_linear(x);
    isl_basic_set *b = isl_aff_zero_basic_set(a);
    return answer_keep(&s->answers, &o, own(s, isl_set_from_basic_set(b)));
}

int_set *sets_intersect(sets *s, int_set *x, int_set *y) {
    if (!x || !y)
        return NULL;
    operation o = {.kind = OPERATION_INTERSECT, .x = x, .y = y};
    void *known = answer_known(&s->answers, &o);
    if (known)
        return known;
    isl_set *a = borrow(x);
    isl_set *b = borrow(y);
    return answer_keep(&s->answers, &o, own(s, set_intersection(a, b)));
}

int_set *sets_union(sets *s, int_set *x, int_set *y) {
    if (!x || !y)
        return NULL;
    operation o = {.kind = OPERATION_UNION, .x = x, .y = y};
    void *known = answer_known(&s->answers, &o);
    if (known)
        return known;
    isl_set *a = borrow(x);
    isl_set *b = borrow(y);
    return answer_keep(&s->answers, &o, own(s, isl_set_union(a, b)));
}

int_set *sets_subtract(sets *s, int_set *x, int_set *y) {
    if (!x || !y)
        return NULL;
    operation o = {.kind = OPERATION_SUBTRACT, .x = x, .y = y};
    void *known = answer_known(&s->answers, &o);
    if (known)
        return known;
    isl_set *a = borrow(x);
    isl_set *b = borrow(y);
    return answer_keep(&s->answers, &o, own(s, isl_set_subtract(a, b)));
}

int_set *sets_project(sets *s, int_set *x, int first, int count) {
    if (!x)
        return NULL;
    operation o = {.kind = OPERATION_PROJECT, .x = x, .a = first, .b = count};
    void *known = answer_known(&s->answers, &o);
    if (known)
        return known;
    isl_set *a = sets_project_factors(&s->unions, borrow(x), first, count, s->parameters, s->parameters + sets_dims(x));
    if (sets_gave_up(s))
        a = isl_set_free(a);
    return answer_keep(&s->answers, &o, own(s, a));
}

int_set *sets_insert(sets *s, int_set *x, int first, int count) {
    if (!x)
        return NULL;
    operation o = {.kind = OPERATION_INSERT, .x = x, .a = first, .b = count};
    void *known = answer_known(&s->answers, &o);
    if (known)
        return known;
    isl_set *a = borrow(x);
    return answer_keep(&s->answers, &o, own(s, isl_set_insert_dims(a, isl_dim_set, (unsigned)first, (unsigned)count)));
}

int_set *sets_fix(sets *s, int_set *x, int position, int64_t value) {
    if (!x)
        return NULL;
    operation o = {.kind = OPERATION_FIX, .x = x, .a = position, .b = value};
    void *known = answer_known(&s->answers, &o);
    if (known)
        return known;
    isl_set *a = borrow(x);
    isl_val *v = isl_val_int_from_si(s->ctx, (long)value);
    return answer_keep(&s->answers, &o, own(s, isl_set_fix_val(a, isl_dim_set, (unsigned)position, v)));
}

int_set *sets_fix_parameter(sets *s, int_set *x, int index, int64_t value) {
    if (!x)
        return NULL;
    operation o = {.kind = OPERATION_FIX_PARAMETER, .x = x, .a = index, .b = value};
    void *known = answer_known(&s->answers, &o);
    if (known)
        return known;
    isl_set *a = borrow(x);
    isl_val *v = isl_val_int_from_si(s->ctx, (long)value);
    return answer_keep(&s->answers, &o, own(s, isl_set_fix_val(a, isl_dim_param, (unsigned)index, v)));
}

int_set *sets_remap(sets *s, int_set *x, int dims, const int *from) {
    int old = sets_dims(x);
    bool fine = old >= 0 && dims >= 0;
    for (int i = 0; fine && i < old; i++)
        fine = from[i] >= 0 && from[i] < dims;
    if (!fine)
        return NULL;
    operation o = {.kind = OPERATION_REMAP, .x = x, .a = dims, .from = from, .places = old};
    void *known = answer_known(&s->answers, &o);
    if (known)
        return known;
    isl_space *to = space(s, dims);
    isl_local_space *l = local_space(s, dims);
    isl_space *both = isl_space_map_from_domain_and_range(to, isl_set_get_space((isl_set *)x));
    isl_multi_aff *m = isl_multi_aff_zero(both);
    for (int i = 0; i < old; i++) {
        isl_aff *a = isl_aff_var_on_domain(isl_local_space_copy(l), isl_dim_set, (unsigned)from[i]);
        m = isl_multi_aff_set_aff(m, i, a);
    }
    isl_local_space_free(l);
    isl_set *a = borrow(x);
    return answer_keep(&s->answers, &o, own(s, isl_set_preimage_multi_aff(a, m)));
}

int_set *sets_closure(sets *s, int_set *x, int prefix, int width) {
    if (sets_dims(x) != prefix + 2 * width)
        return NULL;
    isl_set *a = borrow(x);
    isl_map *m = isl_map_from_range(a);
    m = isl_map_move_dims(m, isl_dim_param, (unsigned)s->parameters, isl_dim_out, 0, (unsigned)prefix);
    for (int i = 0; i < prefix; i++) {
        char name[32];
        snprintf(name, sizeof name, "prefix %d", i);
        isl_id *id = isl_id_alloc(s->ctx, name, NULL);
        m = isl_map_set_dim_id(m, isl_dim_param, (unsigned)(s->parameters + i), id);
    }
    m = isl_map_move_dims(m, isl_dim_in, 0, isl_dim_out, 0, (unsigned)width);
    m = isl_map_reset_tuple_id(m, isl_dim_in);
    isl_bool exact = isl_bool_error;
    m = isl_map_coalesce(m);
    m = isl_map_transitive_closure(m, &exact);
    if (exact != isl_bool_true) {
        isl_map_free(m);
        return NULL;
    }
    m = isl_map_move_dims(m, isl_dim_out, 0, isl_dim_in, 0, (unsigned)width);
    m = isl_map_move_dims(m, isl_dim_out, 0, isl_dim_param, (unsigned)s->parameters, (unsigned)prefix);
    return own(s, isl_map_range(m));
}

int_set *sets_less(sets *s, int_set *x, int first, int second) {
    int dims = sets_dims(x);
    if (dims < 0)
        return NULL;
    linear *gap = linear_add(s, linear_dim(s, dims, second), linear_scale(s, linear_dim(s, dims, first), -1));
    return sets_intersect(s, x, sets_nonnegative(s, linear_add(s, gap, linear_constant(s, dims, -1))));
}

int sets_dims(int_set *x) {
    return x ? (int)isl_set_dim((isl_set *)x, isl_dim_set) : -1;
}
int sets_pieces(int_set *x) {
    return x ? (int)isl_set_n_basic_set((isl_set *)x) : -1;
}

int_set *sets_simplify(sets *s, int_set *x) {
    int pieces = sets_pieces(x), variables = s->parameters + (x ? sets_dims(x) : 0);
    if (pieces < 2)
        return x;
    operation o = {.kind = OPERATION_SIMPLIFY, .x = x};
    void *known = answer_known(&s->answers, &o);
    if (known)
        return known;
    isl_set *a = sets_join(&s->unions, borrow(x), s->parameters, variables);
    if (!sets_gave_up(s))
        return answer_keep(&s->answers, &o, own(s, a));
    isl_set_free(a);
    return x;
}

static tri tri_of(isl_bool b) {
    return fails() ? TRI_UNKNOWN : b == isl_bool_true ? TRI_YES : b == isl_bool_false ? TRI_NO : TRI_UNKNOWN;
}

static char yes, no; /* their addresses are the answers */

static bool tri_known(sets *s, operation *o, tri *t) {
    const char *known = answer_known(&s->answers, o);
    *t = known == &yes ? TRI_YES : TRI_NO;
    return known;
}

static tri keep_tri(sets *s, const operation *o, tri t) {
    if (t != TRI_UNKNOWN)
        answer_keep(&s->answers, o, t == TRI_YES ? &yes : &no);
    return t;
}

static _Thread_local sets_watcher *watcher;
static _Thread_local void *watcher_context;

void sets_watch(sets_watcher *w, void *context) {
    watcher = w;
    watcher_context = context;
}

tri sets_is_empty(sets *s, int_set *x) {
    operation o = {.kind = OPERATION_IS_EMPTY, .x = x};
    tri t = TRI_UNKNOWN;
    if (!x || tri_known(s, &o, &t))
        return x ? t : TRI_UNKNOWN;
    if (watcher)
        watcher(watcher_context, x, TRI_UNKNOWN);
    t = keep_tri(s, &o, tri_of(isl_set_is_empty((isl_set *)x)));
    if (watcher && t != TRI_UNKNOWN)
        watcher(watcher_context, x, t);
    return t;
}

tri sets_is_subset(sets *s, int_set *x, int_set *y) {
    operation o = {.kind = OPERATION_IS_SUBSET, .x = x, .y = y};
    tri t = TRI_UNKNOWN;
    if (!x || !y || tri_known(s, &o, &t))
        return x && y ? t : TRI_UNKNOWN;
    return keep_tri(s, &o, tri_of(isl_set_is_subset((isl_set *)x, (isl_set *)y)));
}

/* ---- the least point ---- */

typedef struct least {
    int count;
    int64_t *best, *now;
    bool found, failed;
} least;

static isl_stat least_of_piece(isl_basic_set *b, void *user) {
    least *l = user;
    isl_set *smallest = isl_basic_set_lexmin(b);
    isl_bool empty = smallest ? isl_set_is_empty(smallest) : isl_bool_error;
    if (empty != isl_bool_false) {
        l->failed = l->failed || empty == isl_bool_error;
        isl_set_free(smallest);
        return isl_stat_ok;
    }
    isl_point *p = isl_set_sample_point(smallest);
    bool whole = p && isl_point_is_void(p) == isl_bool_false;
    for (int i = 0; whole && i < l->count; i++) {
        isl_val *v = isl_point_get_coordinate_val(p, isl_dim_set, i);
        whole = v && isl_val_is_int(v) == isl_bool_true && isl_val_n_abs_num_chunks(v, sizeof(int64_t)) <= 1;
        l->now[i] = whole ? (int64_t)isl_val_get_num_si(v) : 0;
        isl_val_free(v);
    }
    isl_point_free(p);
    if (!whole) {
        l->failed = true;
        return isl_stat_ok;
    }
    int order = 0;
    for (int i = 0; l->found && !order && i < l->count; i++)
        order = l->now[i] < l->best[i] ? -1 : l->now[i] > l->best[i];
    if (!l->found || order < 0)
        memcpy(l->best, l->now, (size_t)l->count * sizeof *l->best);
    l->found = true;
    return isl_stat_ok;
}

bool sets_least(sets *s, int_set *x, int64_t *values) {
    if (!x)
        return false;
    sets_question(s);
    isl_ctx_set_max_operations(s->ctx, 10 * s->operations);
    int dims = sets_dims(x), count = dims + s->parameters;
    isl_set *a = borrow(x);
    a = isl_set_move_dims(a, isl_dim_set, 0, isl_dim_param, 0, (unsigned)s->parameters);
    int64_t *now = calloc((size_t)count + 1, sizeof *now);
    least l = {.count = count, .best = values, .now = now};
    if (a && now)
        isl_set_foreach_basic_set(a, least_of_piece, &l);
    isl_set_free(a);
    free(now);
    sets_question(s);
    return l.found && !l.failed;
}

char *sets_text(int_set *x) {
    return x ? isl_set_to_str((isl_set *)x) : NULL;
}
