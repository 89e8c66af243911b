/* Where values and statements keep their parts: one walk that every pass shares. */
#include "kernel/kernel.h"
#include <string.h>

static void visit_index(index_expr **x, const kernel_visitor *v) {
    if (*x && v->index)
        v->index(v->context, x);
}

static void visit_condition(cond **c, const kernel_visitor *v) {
    if (*c && v->condition)
        v->condition(v->context, c);
}

static void visit_access(kernel_access *a, bool is_write, const kernel_visitor *v) {
    if (!a->array)
        return;
    for (int i = 0; i < a->array->rank; i++)
        visit_index(&a->indices[i], v);
    visit_index(&a->active, v);
    if (v->access)
        v->access(v->context, a, is_write);
}

void kernel_visit_value(kernel_value *x, const kernel_visitor *v) {
    for (int i = 0; i < x->operand_count; i++)
        kernel_visit_value(x->operands[i], v);
    visit_index(&x->index, v);
    visit_index(&x->fragment_index, v);
    if (x->op == KERNEL_LOAD)
        visit_access(&x->access, false, v);
    if (v->value)
        v->value(v->context, x);
}

static int extent_count(const kernel_stmt *s) {
    if (!s->extents)
        return 0;
    return s->kind == KSTMT_COPY ? s->access.array->rank : 2;
}

void kernel_visit_stmt(kernel_stmt *s, const kernel_visitor *v) {
    kernel_value *values[KERNEL_STMT_VALUES];
    for (int i = 0, n = kernel_stmt_values(s, values); i < n; i++)
        kernel_visit_value(values[i], v);
    visit_access(&s->source, false, v);
    visit_access(&s->access, s->kind != KSTMT_FRAGMENT_LOAD, v);
    for (int i = 0; i < extent_count(s); i++)
        visit_index(&s->extents[i], v);
    visit_index(&s->lo, v);
    visit_index(&s->hi, v);
    visit_index(&s->step, v);
    visit_index(&s->slot, v);
    visit_index(&s->phase, v);
    visit_index(&s->element, v);
    visit_index(&s->row_step, v);
    visit_index(&s->column_step, v);
    visit_condition(&s->condition, v);
    visit_condition(&s->participants, v);
    for (int i = 0; i < 4; i++)
        if (s->fragments[i].fragment)
            visit_index(&s->fragments[i].index, v);
    for (int i = 0; i < s->contract_count; i++) {
        contract_operand *c = &s->contract[i];
        if (c->value)
            kernel_visit_value(c->value, v);
        for (int n = 0; n < c->count; n++)
            kernel_visit_value(c->values[n], v);
        if (!contract_has_cells(c))
            continue;
        for (int d = 0; d < c->access.array->rank; d++) {
            visit_index(&c->extents[d], v);
            if (c->from)
                visit_index(&c->from[d], v);
        }
        if (c->effect != CONTRACT_WRITES && c->effect != CONTRACT_RESULT)
            visit_access(&c->access, false, v);
        if (c->effect != CONTRACT_READS) /* an update is visited twice: as a read and as a write */
            visit_access(&c->access, true, v);
    }
}

/* ---- values of a statement's own ---- */

enum { MOST_NESTING = 200 };

static bool exchanges(const kernel_value *v, int nesting) {
    if (nesting > MOST_NESTING || v->op >= KERNEL_SUBGROUP_SUM) /* those of lanes, then those of fragments */
        return true;
    for (int i = 0; i < v->operand_count; i++)
        if (exchanges(v->operands[i], nesting + 1))
            return true;
    return false;
}

bool kernel_stmt_exchanges(const kernel_stmt *s) {
    return (s->expected && exchanges(s->expected, 0)) || (s->value && exchanges(s->value, 0));
}

static kernel_value *own_value(arena *a, const kernel_value *v, int nesting) {
    if (nesting > MOST_NESTING)
        return NULL;
    kernel_value *to = NEW(a, kernel_value);
    *to = *v;
    to->operands = NEW_ARRAY(a, kernel_value *, v->operand_count + 1);
    for (int i = 0; i < v->operand_count; i++)
        if (!(to->operands[i] = own_value(a, v->operands[i], nesting + 1)))
            return NULL;
    return to;
}

static void own_access(void *context, kernel_access *access, bool is_write) {
    arena *a = context;
    (void)is_write;
    if (!access->array || !access->array->rank)
        return;
    index_expr **indices = NEW_ARRAY(a, index_expr *, access->array->rank);
    memcpy(indices, access->indices, sizeof *indices * (size_t)access->array->rank);
    access->indices = indices;
}

bool kernel_unshare(arena *a, kernel_stmt *s) {
    const kernel_visitor visitor = {.context = a, .access = own_access};
    kernel_value *value = s->value ? own_value(a, s->value, 0) : NULL,
                 *expected = s->expected ? own_value(a, s->expected, 0) : NULL;
    if ((s->value && !value) || (s->expected && !expected))
        return false;
    s->value = value;
    s->expected = expected;
    kernel_visit_stmt(s, &visitor);
    return true;
}
