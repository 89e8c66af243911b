/* Lowering to the threads of a block: loop nests in which every thread does its share. */
#include "schedule/lower.h"

static index_expr *id_or_zero(arena *a, index_var *v) {
    return v ? ix_var(a, v) : ix_const(a, 0);
}

/* Local index of the first element of this thread's slot, the `within`th of its run: (((run * subgroups + subgroup) * lanes + lane) * run length + within) * vector */
static index_expr *share_position(lower *l, const spread *x, index_expr *run, index_expr *within) {
    arena *a = l->arena;
    int64_t own = (int64_t)x->run * x->vector;
    index_expr *at = ix_mul(a, run, ix_const(a, x->subgroups * x->lanes * own));
    at = ix_add(a, at, ix_mul(a, id_or_zero(a, x->subgroup), ix_const(a, x->lanes * own)));
    at = ix_add(a, at, ix_mul(a, x->lane ? x->lane : ix_const(a, 0), ix_const(a, own)));
    return ix_add(a, at, ix_mul(a, within, ix_const(a, x->vector)));
}

static void place_range(point *p, tile_range *r, index_expr *position, index_expr *slot, index_expr *end) {
    lower *l = p->l;
    const spread *x = &l->spreads[r->id];
    p->position[r->id] = position;
    p->slot[r->id] = slot;
    if (x->vector > 1) {
        p->vector = r;
        p->lanes = x->vector;
        int64_t whole, capacity = range_capacity(r);
        bool full = end && ix_is_const(end, &whole) && whole == capacity && whole % x->vector == 0;
        p->active = !end || full ? NULL : ix_sub(l->arena, end, position);
    }
}

/* Goes on within `if lo <= position < hi and guard`, as far as that is not known. */
static void guard_position(point *p, tile_range *r, index_expr *lo, index_expr *hi, cond *guard, source_span span) {
    lower *l = p->l;
    arena *a = l->arena;
    index_expr *position = p->position[r->id];
    int64_t most = spread_cells(l, r), constant;
    cond *inside = NULL;
    if (!ix_is_const(lo, &constant) || constant > 0)
        inside = cond_compare(a, COND_LE, lo, position);
    if (!ix_is_const(hi, &constant) || constant < most)
        inside = cond_and(a, inside, cond_compare(a, COND_LT, position, hi));
    if (guard)
        inside = cond_and(a, inside, emit_cond(p, guard));
    if (inside) {
        kernel_stmt *s = kernel_append(l->ir, p->block, KSTMT_IF, span);
        s->condition = inside;
        p->block = &s->body;
    }
}

/* Goes on within a loop of so many trips, to be written out; its variable. */
static index_expr *written_out(point *p, const tile_range *r, int64_t trips, const char *what, source_span span) {
    lower *l = p->l;
    arena *a = l->arena;
    if (trips == 1)
        return ix_const(a, 0);
    kernel_stmt *s = kernel_for(l->ir, p->block, lower_name(l, arena_printf(a, "%s_%s", r->name, what)), ix_const(a, 0),
                                ix_const(a, trips), 1, span);
    s->unroll = true;
    p->block = &s->body;
    return ix_var(a, s->var);
}

void lanes_share(point *p, tile_range *r, share_guard guarding, nest_body body, void *context, source_span span) {
    lower *l = p->l;
    arena *a = l->arena;
    if (range_open(p, r)) {
        body(p, context);
        return;
    }
    const spread *x = &l->spreads[r->id];
    bool guarded = guarding != SHARE_UNGUARDED;
    index_expr *lo = ix_const(a, 0), *hi = l->place[r->id].count;
    cond *guard = NULL;
    if (guarded)
        loop_bounds(p, r, false, &lo, &hi, &guard);
    int64_t slots = spread_slots(l, r), step = (int64_t)x->subgroups * x->lanes * x->vector, first, last;
    point inner = point_copy(p);
    index_expr *position;
    /* A loop whose trips all exist is left to the compiler, which overlaps their loads; with a guard around each slot it would not. */
    bool strided = guarding == SHARE_STRIDED && slots > 1 && x->run == 1 && !guard && ix_is_const(lo, &first) && !first &&
                   !(ix_is_const(hi, &last) && last >= slots * step);
    if (slots < 0 || strided) { /* nothing is held over it: a plain strided loop */
        kernel_stmt *s = kernel_for(l->ir, p->block, lower_name(l, r->name),
                                    ix_add(a, lo, share_position(l, x, ix_const(a, 0), ix_const(a, 0))), hi, step, span);
        inner.block = &s->body;
        place_range(&inner, r, ix_var(a, s->var), NULL, hi);
        body(&inner, context);
        return;
    }
    index_expr *run = written_out(&inner, r, slots / x->run, "slot", span),
               *within = written_out(&inner, r, x->run, "next", span);
    position = name_index(l, inner.block, r->name, share_position(l, x, run, within));
    place_range(&inner, r, position, ix_add(a, ix_mul(a, run, ix_const(a, x->run)), within), guarded ? hi : NULL);
    if (guarded)
        guard_position(&inner, r, lo, hi, guard, span);
    body(&inner, context);
}

void lanes_enter(point *p, tile_range *r, index_expr *position, index_expr *slot, source_span span) {
    index_expr *lo, *hi;
    cond *guard = NULL;
    loop_bounds(p, r, false, &lo, &hi, &guard);
    place_range(p, r, position, slot, hi);
    guard_position(p, r, lo, hi, guard, span);
}

cond *lanes_first_copy(lower *l, tile_range **axes, int axis_count) {
    arena *a = l->arena;
    cond *first = NULL;
    bool dealt = false; /* each subgroup has tiles of its own here */
    for (int i = 0; i < l->loops.count; i++)
        dealt = dealt || (l->dealt && l->loops.at[i] == l->dealt->range);
    for (int level = dealt ? 2 : 1; level < l->ir->levels.count; level++)
        for (int d = 0; d < l->ir->levels.at[level].rank; d++) {
            index_var *id = l->ir->levels.at[level].ids[d];
            bool used = false;
            for (int i = 0; i < axis_count; i++)
                used = used || !axes[i] ? used
                                        : l->spreads[axes[i]->id].subgroup == id ||
                                              (l->spreads[axes[i]->id].lane && ix_mentions(l->spreads[axes[i]->id].lane, id));
            if (!used)
                first = cond_and(a, first, cond_compare(a, COND_EQ, ix_var(a, id), ix_const(a, 0)));
        }
    return first;
}

void lanes_barrier(lower *l, unsigned spaces, source_span span) {
    kernel_stmt *s = kernel_append(l->ir, l->block, KSTMT_BARRIER, span);
    s->scope = LEVEL_BLOCK;
    s->spaces = spaces;
}

void lanes_store(point *p, tile_range **axes, int axis_count, const sink *s, tile_value *v) {
    lower *l = p->l;
    point q = point_copy(p);
    cond *first = s->array ? lanes_first_copy(l, axes, axis_count) : NULL;
    if (first) {
        kernel_stmt *guard = kernel_append(l->ir, p->block, KSTMT_IF, s->array->span);
        guard->condition = first;
        q.block = &guard->body;
    }
    emit_store(&q, s, emit_value(&q, v)); /* only the thread that stores computes what is stored */
}

typedef struct nest {
    tile_range **axes;
    int axis_count, depth;
    tile_value *value;
    const sink *s;
    source_span span;
    share_guard guarding;
    value_list turned; /* loads that are read from shared memory */
} nest;

static void nest_level(point *p, void *context) {
    nest n = *(nest *)context;
    while (n.depth < n.axis_count && range_open(p, n.axes[n.depth]))
        n.depth++;
    lanes_read_turned(p, &n.turned, n.span);
    if (n.depth == n.axis_count) {
        lanes_store(p, n.axes, n.axis_count, n.s, n.value);
        return;
    }
    emit_hoisted(p, n.value);
    tile_range *r = n.axes[n.depth++];
    lanes_share(p, r, n.guarding, nest_level, &n, n.span);
}

void lanes_root(lower *l, tile_range **axes, int axis_count, tile_value *value, const sink *s, source_span span) {
    nest n = {axes,
              axis_count,
              0,
              value,
              s,
              span,
              !s->array && lanes_from_registers(l, value, NULL) ? SHARE_UNGUARDED : SHARE_GUARDED,
              lanes_turn_loads(l, value, span)};
    point p = point_new(l);
    nest_level(&p, &n);
}
