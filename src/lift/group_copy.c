/* async_work_group_copy, async_work_group_strided_copy and wait_group_events: copies by the block and waits for them (doc/kernel-ir.md, Order). A copy ends at the wait that covers
 * its event; until then its destination is written and its source is read, by whichever thread. */
#include "lift/lifter.h"
#include <stdlib.h>
#include <string.h>

/* What is copied: `count` scalars of `type` an element. */
typedef struct gentype {
    lift_type type;
    int count;
} gentype;

/* _Z21async_work_group_copyPU3AS3Dv4_fPU3AS1KS_m9ocl_event: the first pointer's type. */
static bool gentype_of(const char *callee, const char *name, gentype *out) {
    const char *c = strstr(callee, name);
    c = c ? c + strlen(name) : "";
    if (*c != 'P')
        return false;
    c++;
    if (*c == 'U') {
        size_t n = strtoul(c + 1, (char **)&c, 10);
        if (n > strlen(c))
            return false;
        c += n;
    }
    *out = (gentype){.count = 1};
    if (c[0] == 'D' && c[1] == 'v') {
        out->count = (int)strtoul(c + 2, (char **)&c, 10);
        out->count += out->count == 3; /* which take the room of four */
        c += *c == '_';
    }
    static const struct {
        const char *code;
        lift_type_kind kind;
        int bits;
    } types[] = {{"c", LIFT_INTEGER, 8},  {"h", LIFT_INTEGER, 8},  {"s", LIFT_INTEGER, 16}, {"t", LIFT_INTEGER, 16},
                 {"i", LIFT_INTEGER, 32}, {"j", LIFT_INTEGER, 32}, {"l", LIFT_INTEGER, 64}, {"m", LIFT_INTEGER, 64},
                 {"f", LIFT_FLOAT, 32},   {"d", LIFT_DOUBLE, 64},  {"Dh", LIFT_HALF, 16}};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (!strncmp(c, types[i].code, strlen(types[i].code))) {
            out->type =
                (lift_type){.kind = types[i].kind, .bits = types[i].bits, .size = types[i].bits / 8, .text = types[i].code};
            return out->count > 0 && out->count <= 16;
        }
    return false;
}

/* One copy of `count` cells side by side: of several dimensions, where the box stays in a row. False: it has to go cell by cell. */
static bool copy_run(lifter *l, const lift_type *t, lifted to, lifted from, index_expr *count) {
    kernel_access into = lift_cell(l, t, to, true, false), of = lift_cell(l, t, from, false, true);
    if (lift_stopped(l) || !into.array || !of.array)
        return true;
    int64_t n = 0;
    bool single = ix_is_const(count, &n) && n == 1;
    if (!single && (into.array->rank > 1 || of.array->rank > 1 || !into.array->rank || !of.array->rank))
        return false;
    if (into.array->element != of.array->element) {
        lift_fail(l, "E1128", l->now, "a copy between `%s`, which holds %s, and `%s`, which holds %s", of.array->name,
                  element_table[of.array->element].name, into.array->name, element_table[into.array->element].name);
        return true;
    }
    kernel_stmt *s = kernel_append(l->k, l->at, KSTMT_COPY, lift_span(l, l->now));
    l->statements++;
    s->scope = LEVEL_BLOCK;
    s->access = into;
    s->source = of;
    s->extents = NEW_ARRAY(l->arena, index_expr *, into.array->rank + 1);
    for (int d = 0; d < into.array->rank; d++)
        s->extents[d] = d == into.array->rank - 1 ? count : ix_const(l->arena, 1);
    return true;
}

/* Element by element, each `step` scalars further on its side. */
static void copy_cells(lifter *l, const gentype *g, lifted to, lifted from, index_expr *count, index_expr *to_step,
                       index_expr *from_step) {
    arena *a = l->arena;
    const lift_type *t = &g->type;
    kernel_block *outer = l->at;
    kernel_stmt *loop = kernel_for(l->k, l->at, "c", ix_const(a, 0), count, 1, lift_span(l, l->now));
    l->statements++;
    l->at = &loop->body;
    to = lift_pointer_on(l, to, ix_mul(a, ix_var(a, loop->var), to_step), t->size);
    from = lift_pointer_on(l, from, ix_mul(a, ix_var(a, loop->var), from_step), t->size);
    if (!lift_stopped(l) && !copy_run(l, t, to, from, ix_const(a, g->count)))
        for (int i = 0; i < g->count && !lift_stopped(l); i++)
            copy_run(l, t, lift_pointer_on(l, to, ix_const(a, i), t->size), lift_pointer_on(l, from, ix_const(a, i), t->size),
                     ix_const(a, 1));
    l->at = outer;
}

static void copy(lifter *l, const lift_value *v, const char *name, bool strided) {
    arena *a = l->arena;
    gentype g;
    if (v->operand_count != (strided ? 5 : 4) || !gentype_of(v->callee, name, &g)) {
        lift_fail(l, "E1128", v, "`%s` of what is not known", name);
        return;
    }
    lifted to = lift_operand(l, v->operands[0]), from = lift_operand(l, v->operands[1]), count = lift_operand(l, v->operands[2]);
    lifted stride = strided ? lift_operand(l, v->operands[3]) : lifted_number(l, 64, 1);
    if (lift_stopped(l))
        return;
    if (to.kind != LIFTED_POINTER || from.kind != LIFTED_POINTER ||
        (to.object->space == SPACE_SHARED) == (from.object->space == SPACE_SHARED)) {
        lift_fail(l, "E1128", v, "`%s` other than between one global and one local array", name);
        return;
    }
    bool from_global = to.object->space == SPACE_SHARED;
    index_expr *n = lift_exact(l, count, true), *by = lift_exact(l, stride, true), *one = ix_const(a, g.count);
    if (lift_stopped(l))
        return;
    l->env[v->id] = (lifted){.kind = LIFTED_ANY}; /* what its event is for is known (events.c) */
    int64_t step;
    bool side_by_side = ix_is_const(by, &step) && step == 1;
    if (side_by_side && copy_run(l, &g.type, to, from, ix_mul(a, n, one)))
        return;
    index_expr *far = ix_mul(a, by, one);
    copy_cells(l, &g, to, from, n, from_global ? one : far, from_global ? far : one);
}

/* Whether each wait of the function is for all copies under way. */
static bool waits_for_all(const lifter *l) {
    for (int i = 0; i < l->events.waits.count; i++)
        if (l->events.waits.at[i].left)
            return false;
    return true;
}

static void commit(lifter *l) {
    kernel_append(l->k, l->at, KSTMT_COMMIT, lift_span(l, l->now));
    l->statements++;
}

void lift_event_gap(lifter *l, const lift_block *from, const lift_block *to) {
    if (!l->events.gaps.count || waits_for_all(l))
        return;
    for (int i = 0; i < l->events.gaps.count; i++)
        for (int64_t n = 0; l->events.gaps.at[i].from == from && l->events.gaps.at[i].to == to && n < l->events.gaps.at[i].groups;
             n++)
            commit(l);
}

static void wait(lifter *l, const lift_value *v) {
    const event_wait *w = NULL;
    for (int i = 0; i < l->events.waits.count && !w; i++)
        w = l->events.waits.at[i].call == v ? &l->events.waits.at[i] : NULL;
    if (!w || w->why) {
        lift_fail(l, w && w->invalid ? "E1135" : "E1128", v, "%s", w ? w->why : "which copies a wait covers");
        return;
    }
    if (!v->operand_count)
        return;
    if (waits_for_all(l)) /* one group of all that came before, however many */
        commit(l);
    kernel_stmt *s = kernel_append(l->k, l->at, KSTMT_WAIT_ASYNC, lift_span(l, v));
    l->statements++;
    s->scope = LEVEL_BLOCK;
    s->count = w->left;
}

bool lift_group_copy_call(lifter *l, const lift_value *v, const char *name) {
    bool strided = !strcmp(name, "async_work_group_strided_copy");
    if (!strncmp(v->callee, LIFT_WAIT_EVENTS, sizeof LIFT_WAIT_EVENTS - 1)) {
        wait(l, v);
    } else if (strided || !strcmp(name, "async_work_group_copy")) {
        copy(l, v, name, strided);
        if (!lift_stopped(l) && !waits_for_all(l))
            commit(l);
    } else if (!strcmp(name, "wait_group_events")) {
        lift_fail(l, "E1128", v, "`%s` of a number of events that is not constant, or over 64", name);
    } else {
        return false;
    }
    return true;
}
