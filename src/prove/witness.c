/* The least misbehaving point, in the source's names. */
#include "prove/model.h"
#include <inttypes.h>
#include <string.h>

const char **scope_names(model *m, const scope *s) {
    const char **names = NEW_ARRAY(m->arena, const char *, s->depth + 2);
    for (int i = 0; i < s->depth; i++)
        names[i] = model_name(s, i);
    return names;
}

/* Launches that some array's elements can't be given for leave the set: it has elements, each of them to be below a bound of 0 or less. */
static int_set *with_data(model *m, int_set *x) {
    sets *z = m->sets;
    int dims = sets_dims(x);
    const char *why = m->why;
    for (int i = 0; i < m->kernel->arrays.count; i++) {
        const kernel_array *a = m->kernel->arrays.at[i];
        if (a->space != SPACE_GLOBAL || a->use != USE_IN || !a->element_bound)
            continue;
        affine *none = affine_of(m, dims, ix_sub(m->arena, ix_const(m->arena, 0), a->element_bound));
        int_set *impossible = none ? affine_nonnegative(m, none) : NULL;
        for (int d = 0; d < a->rank && impossible; d++) {
            affine *some = affine_of(m, dims, ix_sub(m->arena, a->dims[d], ix_const(m->arena, 1)));
            impossible = some ? sets_intersect(z, impossible, affine_nonnegative(m, some)) : NULL;
        }
        if (impossible)
            x = sets_subtract(z, x, impossible);
    }
    m->why = why;
    return x;
}

witness witness_of(model *m, int_set *violations, const char *const *names, int named) {
    witness w = {.verdict = VERDICT_UNKNOWN};
    sets *z = m->sets;
    sets_question(z);
    tri empty = sets_is_empty(z, violations);
    if (empty == TRI_NO) { /* what only happens beyond the target's limits does not happen */
        violations = with_data(m, sets_intersect(z, violations, parameter_limit(m, sets_dims(violations))));
        empty = sets_is_empty(z, violations);
    }
    if (empty != TRI_NO) {
        w.verdict = empty == TRI_YES ? VERDICT_PROVED : VERDICT_UNKNOWN;
        return w;
    }
    int parameters = m->parameters.count;
    w.values = NEW_ARRAY(m->arena, int64_t, parameters + sets_dims(violations) + 1);
    w.dims = w.values + parameters;
    if (!sets_least(z, violations, w.values))
        return w;
    w.verdict = VERDICT_REFUTED;
    text_buffer b = {0};
    for (int i = 0; i < parameters + named; i++)
        text_add(&b, "%s%s = %" PRId64, i ? ", " : "", i < parameters ? m->parameters.at[i]->name : names[i - parameters],
                 w.values[i]);
    w.text = arena_strdup(m->arena, text_get(&b));
    text_free(&b);
    return w;
}

typedef struct evaluation {
    model *m;
    const witness *w;
    int nesting;
} evaluation;

static bool look_up(void *context, const index_var *v, int64_t *value) {
    evaluation *e = context;
    model *m = e->m;
    for (int i = 0; i < m->parameters.count; i++)
        if (m->parameters.at[i] == v || (v->kind == m->parameters.at[i]->kind && !strcmp(m->parameters.at[i]->name, v->name))) {
            *value = e->w->values[i];
            return true;
        }
    if (v->has_value) {
        *value = v->value;
        return true;
    }
    if (!model_knows(m, v))
        return false;
    if (m->definition[v->id]) {
        bool fine = ++e->nesting < 100 && ix_eval(m->definition[v->id], look_up, e, value);
        e->nesting--;
        return fine;
    }
    if (m->position[v->id] < 0)
        return false;
    *value = e->w->dims[m->position[v->id]];
    return true;
}

bool witness_eval(model *m, const witness *w, const index_expr *x, int64_t *value) {
    evaluation e = {m, w, 0};
    return ix_eval(x, look_up, &e, value);
}

static bool is_inside(const region *r, const region *outer) {
    while (r && r != outer)
        r = r->parent;
    return r != NULL;
}

place *witness_place(model *m, region *r, const kernel_array *a, unsigned use, const int64_t *parameters, const int64_t *prefix,
                     int prefix_count, const int64_t *cell) {
    sets *z = m->sets;
    for (int i = 0; i < m->places.count; i++) {
        place *p = m->places.at[i];
        if (p->array != a || !(p->use & use) || !is_inside(p->region, r) || p->scope->depth < prefix_count)
            continue;
        sets_question(z);
        int_set *x = cells_of(m, p);
        for (int j = 0; j < m->parameters.count; j++)
            x = sets_fix_parameter(z, x, j, parameters[j]);
        for (int j = 0; j < prefix_count; j++)
            x = sets_fix(z, x, j, prefix[j]);
        for (int j = 0; j < a->rank; j++)
            x = sets_fix(z, x, p->scope->depth + j, cell[j]);
        if (sets_is_empty(z, x) == TRI_NO)
            return p;
    }
    return NULL;
}

const char *witness_cell(model *m, const kernel_array *a, const int64_t *cell) {
    text_buffer b = {0};
    text_add(&b, "%s[", a->name);
    for (int d = 0; d < a->rank; d++)
        text_add(&b, "%s%" PRId64, d ? ", " : "", cell[d]);
    text_add(&b, "]");
    const char *text = arena_strdup(m->arena, text_get(&b));
    text_free(&b);
    return text;
}

bool witness_is_less(const model *m, const witness *x, const witness *y) {
    for (int i = 0; i < m->parameters.count + m->task_dims; i++)
        if (x->values[i] != y->values[i])
            return x->values[i] < y->values[i];
    return false;
}
