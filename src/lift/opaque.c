/* Functions whose bodies are elsewhere, and of which the contract says (--opaque NAME) that they touch no memory that others reach and order nothing. What such a
 * call gives may be anything: it is read from memory that only the host sets, a cell for each thread and call, of which nothing is promised. */
#include "lift/lifter.h"
#include <string.h>

static bool is_said(const lifter *l, const char *name) {
    for (int i = 0; i < l->contract->opaque.count; i++)
        if (!strcmp(l->contract->opaque.at[i], name))
            return true;
    return false;
}

enum { MOST_RANK = 7 };

/* `parts` cells of its own for each thread: the array, and where a thread's begin. */
static kernel_array *fresh_cells(lifter *l, const char *name, element_type e, int64_t parts, index_expr **at) {
    arena *a = l->arena;
    index_expr *dims[MOST_RANK];
    int rank = 0;
    for (int level = 0; level < 2; level++)
        for (int d = 2; d >= 0; d--) {
            dims[rank] = level ? ix_const(a, l->block[d]) : l->groups[d];
            at[rank] = level ? l->thread[d] : l->group[d];
            int64_t n;
            rank += !(ix_is_const(dims[rank], &n) && n == 1);
        }
    dims[rank++] = ix_const(a, parts);
    kernel_array *array = kernel_add_array(l->k, arena_printf(a, "%s_gives", name), SPACE_GLOBAL, USE_UPDATE, e, rank, dims);
    array->rewritable = true;
    array->span = lift_span(l, l->now);
    return array;
}

static element_type element_of(const lift_type *t) {
    switch (t->kind) {
    case LIFT_FLOAT: return ELEMENT_F32;
    case LIFT_HALF: return ELEMENT_F16;
    case LIFT_INTEGER: return t->bits <= 32 ? ELEMENT_I32 : t->bits == 64 ? ELEMENT_INDEX : ELEMENT_COUNT;
    default: return ELEMENT_COUNT;
    }
}

static lifted given(lifter *l, const lift_value *v, const char *name, const lift_type *t, kernel_array *array, index_expr **at) {
    kernel_value *load = kernel_load(l->k, kernel_at(l->k, array, at));
    load->span = lift_span(l, v);
    kernel_value *x = kernel_ref(l->k, lift_let(l, name, load));
    if (t->kind != LIFT_INTEGER || t->bits >= 32)
        return lifted_value(t->kind == LIFT_HALF ? 16 : t->kind == LIFT_FLOAT ? 32 : t->bits, x);
    if (t->bits == 1)
        return lifted_value(1, kernel_op2(l->k, KERNEL_NE, ELEMENT_BOOL, x, kernel_const(l->k, ELEMENT_I32, 1, 0)));
    return lift_extend(l, v, LIFT_TRUNC, lifted_value(32, x), 32, t->bits);
}

/* A thread's own variable that the function is given the address of may hold anything afterwards. False: it is not such. */
static bool lose_contents(lifter *l, const lift_value *v, const char *name, lifted p) {
    enum { MOST_PARTS = 64 };
    if (lift_stopped(l) || p.kind != LIFTED_POINTER || p.object->space != SPACE_PRIVATE || p.object->constant || !p.object->type)
        return false;
    const lift_type *t = p.object->facts->element ? p.object->facts->element : p.object->type;
    while (t->kind == LIFT_ARRAY || t->kind == LIFT_VECTOR)
        t = t->element;
    element_type e = element_of(t);
    int64_t parts = t->size ? p.object->bytes / t->size : 0;
    if (e == ELEMENT_COUNT || parts < 1 || parts > MOST_PARTS || p.object->bytes % t->size)
        return false;
    index_expr *at[MOST_RANK];
    kernel_array *array = fresh_cells(l, lift_name(l, name, "function"), e, parts, at);
    for (int64_t i = 0; i < parts && !lift_stopped(l); i++) {
        at[array->rank - 1] = ix_const(l->arena, i);
        lifted to = {.kind = LIFTED_POINTER, .bits = 64, .object = p.object, .offset = i * t->size};
        lift_store(l, t, to, given(l, v, name, t, array, at));
    }
    return true;
}

/* Whether nothing is done with a pointer but to access what it leads to. */
static bool only_an_address(const lift_function *f, const lift_value *pointer, int nesting) {
    for (int i = 0; i < f->blocks.count; i++)
        for (int j = 0; j < f->blocks.at[i]->items.count; j++) {
            const lift_value *v = f->blocks.at[i]->items.at[j];
            for (int n = 0; n < v->operand_count; n++) {
                if (v->operands[n] != pointer || v->op == LIFT_LOAD || (v->op == LIFT_STORE && n == 1))
                    continue;
                bool step = v->op == LIFT_GEP || v->op == LIFT_BITCAST || v->op == LIFT_ADDRSPACECAST || v->op == LIFT_PHI ||
                            v->op == LIFT_SELECT;
                if (!step || nesting > 8 || !only_an_address(f, v, nesting + 1))
                    return false;
            }
        }
    return true;
}

bool lift_gives_any_pointer(const lifter *l, const lift_value *v) {
    char name[64];
    if (v->kind != LIFT_INSTRUCTION || v->op != LIFT_CALL || !v->callee || v->type->kind != LIFT_POINTER)
        return false;
    lift_plain_name(v->callee, name, sizeof name);
    return is_said(l, name[0] ? name : v->callee) && only_an_address(l->function, v, 0);
}

void lift_any_value(lifter *l, const lift_value *v, const char *name) {
    const lift_type *t = v->type;
    bool vector = t->kind == LIFT_VECTOR;
    const lift_type *part = vector ? t->element : t;
    element_type e = element_of(part);
    if (e == ELEMENT_COUNT) {
        lift_fail(l, "E1128", v, "`%s` gives %s, of which nothing is known", name, t->text);
        return;
    }
    int count = vector ? (int)t->count : 1;
    index_expr *at[MOST_RANK];
    kernel_array *array = fresh_cells(l, lift_name(l, name, "function"), e, count, at);
    lifted r = {.kind = LIFTED_ELEMENTS, .count = count, .elements = NEW_ARRAY(l->arena, lifted, count)};
    for (int i = 0; i < count && !lift_stopped(l); i++) {
        at[array->rank - 1] = ix_const(l->arena, i);
        r.elements[i] = given(l, v, name, part, array, at);
    }
    if (!lift_stopped(l))
        lift_set(l, v, vector ? r : r.elements[0]);
}

bool lift_opaque_call(lifter *l, const lift_value *v, const char *name) {
    const lift_type *t = v->type;
    if (!is_said(l, name))
        return false;
    for (int i = 0; i < v->operand_count && !lift_stopped(l); i++)
        if (v->operands[i]->type->kind == LIFT_POINTER && !lift_is_handle(l, v->operands[i]) &&
            !lose_contents(l, v, name, lift_operand(l, v->operands[i])))
            lift_fail(l, "E1128", v, "`%s` is said to be opaque, but takes a pointer: what it does to memory is not known", name);
    if (lift_stopped(l))
        return true;
    const char *body = arena_printf(l->arena, "the body of `%s`", name);
    if (!l->out->opaque || strcmp(l->out->opaque, body))
        VEC_PUSH(l->arena, l->out->assumed, arena_printf(l->arena, "`%s` touches no memory of others and orders nothing", name));
    l->out->opaque = body;
    if (t->kind == LIFT_VOID)
        return true;
    if (lift_gives_any_pointer(l, v)) { /* so also one that leads nowhere */
        l->env[v->id] = lift_null(l, v);
        return true;
    }
    lift_any_value(l, v, name);
    return true;
}
