/* async_work_group_copy, async_work_group_strided_copy and wait_group_events: copies by the block and waits for them (doc/kernel-ir.md, Order). A copy ends at the wait that covers
 * its event; until then its destination is written and its source is read, by whichever thread. */
#include "lift/lifter.h"
#include <stdlib.h>
#include <string.h>

/* What is copied: `count` scalars of `type` an element. */
typedef struct gentype {
    const lift_type *type; /* lasts: arrays are made of it */
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
    static const lift_type types[] = {
        {.text = "c", .kind = LIFT_INTEGER, .bits = 8, .size = 1},  {.text = "h", .kind = LIFT_INTEGER, .bits = 8, .size = 1},
        {.text = "s", .kind = LIFT_INTEGER, .bits = 16, .size = 2}, {.text = "t", .kind = LIFT_INTEGER, .bits = 16, .size = 2},
        {.text = "i", .kind = LIFT_INTEGER, .bits = 32, .size = 4}, {.text = "j", .kind = LIFT_INTEGER, .bits = 32, .size = 4},
        {.text = "l", .kind = LIFT_INTEGER, .bits = 64, .size = 8}, {.text = "m", .kind = LIFT_INTEGER, .bits = 64, .size = 8},
        {.text = "f", .kind = LIFT_FLOAT, .bits = 32, .size = 4},   {.text = "d", .kind = LIFT_DOUBLE, .bits = 64, .size = 8},
        {.text = "Dh", .kind = LIFT_HALF, .bits = 16, .size = 2}};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (!strncmp(c, types[i].text, strlen(types[i].text))) {
            out->type = &types[i];
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
    const lift_type *t = g->type;
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

typedef struct copy_call {
    const char *name;
    gentype g;
    bool from_global;
    index_expr *count, *stride; /* elements; of the global side */
    lifted other;               /* first where it comes from, then, as each array of these is taken, where it goes */
} copy_call;

/* Null is no array, so that nothing is copied: reaching it is the fault. */
static void touch_null(lifter *l, const copy_call *c, lifted to, lifted from) {
    kernel_block *outer = l->at;
    index_expr *cells = ix_mul(l->arena, c->count, ix_const(l->arena, c->g.count));
    kernel_stmt *loop = kernel_for(l->k, l->at, "c", ix_const(l->arena, 0), cells, 1, lift_span(l, l->now));
    l->statements++;
    l->at = &loop->body;
    to = lift_pointer_on(l, to, ix_var(l->arena, loop->var), c->g.type->size);
    from = lift_pointer_on(l, from, ix_var(l->arena, loop->var), c->g.type->size);
    lifted x = lift_load(l, l->now, c->g.type, from);
    if (!lift_stopped(l))
        lift_store(l, c->g.type, to, x);
    l->at = outer;
}

static void copy_one(lifter *l, const copy_call *c, lifted to, lifted from) {
    arena *a = l->arena;
    if (to.kind != LIFTED_POINTER || from.kind != LIFTED_POINTER) {
        lift_fail(l, "E1128", l->now, "`%s` between what are no pointers into arrays", c->name);
        return;
    }
    if (to.object->nothing || from.object->nothing) {
        touch_null(l, c, to, from);
        return;
    }
    if (to.object->space != (c->from_global ? SPACE_SHARED : SPACE_GLOBAL) ||
        from.object->space != (c->from_global ? SPACE_GLOBAL : SPACE_SHARED)) {
        lift_fail(l, "E1128", l->now, "`%s` other than between a global and a local array", c->name);
        return;
    }
    int64_t step;
    index_expr *one = ix_const(a, c->g.count), *far = ix_mul(a, c->stride, one);
    bool side_by_side = ix_is_const(c->stride, &step) && step == 1;
    if (!side_by_side || !copy_run(l, c->g.type, to, from, ix_mul(a, c->count, one)))
        copy_cells(l, &c->g, to, from, c->count, c->from_global ? one : far, c->from_global ? far : one);
}

static void from_side(lifter *l, lifted side, void *context) {
    const copy_call *c = context;
    if (side.kind == LIFTED_EITHER)
        lift_on_both(l, &side, from_side, context);
    else
        copy_one(l, c, c->other, side);
}

static void to_side(lifter *l, lifted side, void *context) {
    const copy_call *c = context;
    if (side.kind == LIFTED_EITHER) {
        lift_on_both(l, &side, to_side, context);
        return;
    }
    copy_call one = *c;
    one.other = side;
    from_side(l, c->other, &one);
}

static void copy(lifter *l, const lift_value *v, const char *name, bool strided) {
    copy_call c = {.name = name, .from_global = v->operands[0]->type->space == 3};
    if (v->operand_count != (strided ? 5 : 4) || !gentype_of(v->callee, name, &c.g)) {
        lift_fail(l, "E1128", v, "`%s` of what is not known", name);
        return;
    }
    lifted to = lift_operand(l, v->operands[0]), count = lift_operand(l, v->operands[2]);
    lifted stride = strided ? lift_operand(l, v->operands[3]) : lifted_number(l, 64, 1);
    c.other = lift_operand(l, v->operands[1]);
    if (lift_stopped(l))
        return;
    c.count = lift_exact(l, count, true);
    c.stride = lift_exact(l, stride, true);
    l->env[v->id] = (lifted){.kind = LIFTED_ANY}; /* what its event is for is known (events.c) */
    if (!lift_stopped(l))
        to_side(l, to, &c);
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

static index_expr *in_thread(lifter *l, index_expr *x, const int64_t *id) {
    for (int d = 0; d < 3; d++)
        if (l->thread[d]->op == IX_VAR)
            x = ix_substitute(l->arena, x, l->thread[d]->var, ix_const(l->arena, id[d]));
    return x;
}

/* 1: it holds in this thread; 0: it does not; -1: other things decide. */
static int holds_in(lifter *l, const cond *c, const int64_t *id) {
    int64_t x, y;
    if (c->op == COND_NOT) {
        int inner = holds_in(l, c->a, id);
        return inner < 0 ? -1 : !inner;
    }
    if ((c->op != COND_EQ && c->op != COND_NE) || !ix_is_const(in_thread(l, c->x, id), &x) ||
        !ix_is_const(in_thread(l, c->y, id), &y))
        return -1;
    return c->op == COND_EQ ? x == y : x != y;
}

/* Whether some threads of every block wait for one event, and some for another. */
static bool parts_threads(lifter *l, const lift_value *chosen) {
    lifted c = lift_operand(l, chosen->operands[0]);
    bool seen[2] = {false, false};
    int64_t threads = l->block[0] * l->block[1] * l->block[2];
    for (int64_t n = 0; c.kind == LIFTED_CONDITION && n < threads && !(seen[0] && seen[1]); n++) {
        int64_t id[3] = {n % l->block[0], n / l->block[0] % l->block[1], n / l->block[0] / l->block[1]};
        int holds = holds_in(l, c.c, id);
        if (holds < 0)
            return false;
        seen[holds] = true;
    }
    return seen[0] && seen[1];
}

static void wait_for(lifter *l, int64_t left) {
    if (waits_for_all(l)) /* one group of all that came before, however many */
        commit(l);
    kernel_stmt *s = kernel_append(l->k, l->at, KSTMT_WAIT_ASYNC, lift_span(l, l->now));
    l->statements++;
    s->scope = LEVEL_BLOCK;
    s->count = left;
}

/* Where threads wait for different events, each does for its own, and none meets all the others. */
static void wait_apart(lifter *l, const lift_value *chosen) {
    kernel_block *into[2], *before = l->at;
    lift_branch(l, lift_operand(l, chosen->operands[0]), &into[0], &into[1]);
    for (int i = 0; i < 2; i++) {
        l->at = into[i];
        wait_for(l, 0);
    }
    l->at = before;
}

static void wait(lifter *l, const lift_value *v) {
    const event_wait *w = NULL;
    for (int i = 0; i < l->events.waits.count && !w; i++)
        w = l->events.waits.at[i].call == v ? &l->events.waits.at[i] : NULL;
    if (w && w->chosen && parts_threads(l, w->chosen)) {
        wait_apart(l, w->chosen);
        return;
    }
    if (!w || w->why) {
        lift_fail(l, w && w->invalid ? "E1135" : "E1128", v, "%s", w ? w->why : "which copies a wait covers");
        return;
    }
    if (!v->operand_count)
        return;
    wait_for(l, w->left);
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
