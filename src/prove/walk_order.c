/* The walk over statements that order, copy asynchronously or work on fragments. */
#include "kernel/exchange.h"
#include "prove/walk.h"

/* What stands before and after the step in the program is told apart. */
static void mark_ordering(region *step) {
    for (region *r = step; r; r = r->parent)
        r->syncs = true;
}

static region *ordering(walk *w, kernel_stmt *s) {
    region *step = walk_step(w, s);
    mark_ordering(step);
    VEC_PUSH(w->m->arena, w->m->meetings, ((meeting){s, w->scope, step}));
    return step;
}

/* ---- fragments: the lanes' shares are register arrays [count, elements of a share] ---- */

static int64_t share(model *m, const kernel_fragment *f) {
    int64_t lanes = 1, cells = (int64_t)f->rows * f->columns;
    for (int d = m->instance_dims[f->holder]; d < m->thread_dims; d++)
        lanes *= m->thread_extents[d] > 0 ? m->thread_extents[d] : 1;
    return cells > lanes ? (cells + lanes - 1) / lanes : 1;
}

void walk_fragments(model *m, const kernel_ir *k) {
    m->fragment_array = NEW_ARRAY(m->arena, kernel_array *, k->fragments.count + 1);
    for (int i = 0; i < k->fragments.count; i++) {
        const kernel_fragment *f = k->fragments.at[i];
        kernel_array like = {.name = f->name,
                             .space = SPACE_REGISTER,
                             .use = USE_LOCAL,
                             .element = ELEMENT_F32,
                             .lanes = 1,
                             .rank = 2,
                             .source_array = -1,
                             .span = f->span};
        like.dims = NEW_ARRAY(m->arena, index_expr *, 2);
        like.dims[0] = ix_const(m->arena, f->count);
        like.dims[1] = ix_const(m->arena, share(m, f));
        if (f->id != i)
            walk_beyond(m, f->span, "fragments numbered out of order");
        else
            m->fragment_array[i] = walk_new_array(m, &like);
    }
}

/* One of the fragments, whole (element NULL) or one element of the lane's share. */
static place *fragment_place(walk *w, region *step, const kernel_fragment *f, index_expr *index, index_expr *element,
                             access_use use, source_span span) {
    arena *a = w->m->arena;
    kernel_array *array = w->m->fragment_array[f->id];
    kernel_access access = {.array = array, .lanes = 1, .vector_dim = -1};
    access.indices = NEW_ARRAY(a, index_expr *, 2);
    access.indices[0] = index ? index : ix_const(a, 0);
    access.indices[1] = element ? element : ix_const(a, 0);
    place *p = walk_place(w, step, &access, use, span);
    p->extents = NEW_ARRAY(a, index_expr *, 2);
    p->extents[0] = ix_const(a, 1);
    p->extents[1] = element ? ix_const(a, 1) : array->dims[1];
    return p;
}

static void touch_fragment(walk *w, region *step, const fragment_ref *f, access_use use, bool asynchronous) {
    if (!f->fragment)
        return;
    place *p = fragment_place(w, step, f->fragment, f->index, NULL, use, step->stmt->span);
    p->asynchronous = p->matrix = asynchronous;
    walk_touch(p);
}

void walk_fragment_value(walk *w, region *step, const kernel_value *v) {
    index_expr *element = v->op == KERNEL_LANE_VIEW ? v->index : NULL;
    if (v->fragment)
        walk_touch(fragment_place(w, step, v->fragment, v->fragment_index, element, ACCESS_READ, v->span));
}

/* The logical position (row, column) of a fragment's elements: two loops around what is done at each. */
static walk inside_position(const walk *w, kernel_stmt *s, index_var *const vars[2], index_expr *const extents[2]) {
    model *m = w->m;
    walk inner = *w;
    for (int i = 0; i < 2; i++) {
        kernel_stmt *t = NEW(m->arena, kernel_stmt);
        *t = (kernel_stmt){.kind = KSTMT_FOR,
                           .span = s->span,
                           .var = vars[i],
                           .lo = ix_const(m->arena, 0),
                           .hi = extents[i],
                           .step = ix_const(m->arena, 1)};
        scope *position = walk_scope(m, inner.scope, SCOPE_LOOP, t, vars[i]);
        if (model_knows(m, vars[i]))
            m->loop[vars[i]->id] = t;
        region *loop = walk_region(m, inner.sequence, REGION_LOOP, position, inner.scope->depth, s);
        inner.sequence = walk_region(m, loop, REGION_SEQUENCE, position, position->depth, s);
        inner.scope = position;
    }
    return inner;
}

/* Cells of one dimension that lie side by side: a box of it says all of them. */
static bool is_one_run(const kernel_stmt *s) {
    const kernel_fragment *f = s->fragments[0].fragment;
    int64_t row = 1, column = 1;
    return s->row_dim == s->column_dim && !s->extents && (!s->row_step || ix_is_const(s->row_step, &row)) &&
           (!s->column_step || ix_is_const(s->column_step, &column)) &&
           ((column == 1 && row == f->columns) || (row == 1 && column == f->rows));
}

/* The cells of memory that a load or store covers. */
index_expr **walk_fragment_box(walk *w, const kernel_stmt *s) {
    model *m = w->m;
    arena *a = m->arena;
    const kernel_fragment *f = s->fragments[0].fragment;
    index_expr *rows = ix_const(a, f->rows), *columns = ix_const(a, f->columns),
               **box = NEW_ARRAY(a, index_expr *, s->access.array->rank + 1);
    int64_t own;
    if (s->extents && !(ix_is_const(s->extents[0], &own) && own >= f->rows))
        rows = ix_min(a, rows, s->extents[0]);
    if (s->extents && !(ix_is_const(s->extents[1], &own) && own >= f->columns))
        columns = ix_min(a, columns, s->extents[1]);
    for (int d = 0; d < s->access.array->rank; d++)
        box[d] = ix_const(a, 1);
    if (is_one_run(s)) {
        box[s->row_dim] = ix_const(a, (int64_t)f->rows * f->columns);
    } else if (s->row_dim != s->column_dim) {
        box[s->row_dim] = rows;
        box[s->column_dim] = columns;
    } else if (f->rows == 1 && ix_is_const(rows, NULL)) {
        box[s->row_dim] = columns;
    } else if (f->columns == 1 && ix_is_const(columns, NULL)) {
        box[s->row_dim] = rows;
    } else {
        walk_beyond(m, s->span, "a fragment whose rows and columns run along one dimension");
    }
    return box;
}

/* And the bytes behind it, if its array has views. */
static void touch_with_bytes(walk *w, region *step, place *p) {
    place *bytes = walk_view_place(w, step, p);
    walk_touch(p);
    if (!bytes)
        return;
    bytes->collective = p->collective;
    bytes->holder = p->holder;
    bytes->by_unit = p->by_unit;
    bytes->asynchronous = p->asynchronous;
    bytes->matrix = p->matrix;
    walk_touch(bytes);
}

/* Rows and columns at distances: cell by cell. */
static void stepped_memory(walk *w, const kernel_stmt *s, access_use use) {
    model *m = w->m;
    arena *a = m->arena;
    const kernel_fragment *f = s->fragments[0].fragment;
    index_expr *extents[2] = {ix_const(a, f->rows), ix_const(a, f->columns)};
    index_var *vars[2];
    for (int i = 0; i < 2; i++) {
        if (s->extents)
            extents[i] = ix_min(a, extents[i], s->extents[i]);
        vars[i] = walk_new_var(m, i ? "column" : "row", INDEX_LOOP);
        vars[i]->lo = ix_const(a, 0);
        vars[i]->hi = ix_sub(a, extents[i], ix_const(a, 1));
        if (vars[i]->id < 0)
            walk_beyond(m, s->span, "more transfers of fragments than this prover has room for");
    }
    walk inner = inside_position(w, (kernel_stmt *)s, vars, extents);
    kernel_access cell = s->access;
    cell.indices = NEW_ARRAY(a, index_expr *, cell.array->rank);
    for (int d = 0; d < cell.array->rank; d++)
        cell.indices[d] = s->access.indices[d];
    index_expr *row = ix_var(a, vars[0]), *column = ix_var(a, vars[1]);
    cell.indices[s->row_dim] = ix_add(a, cell.indices[s->row_dim], s->row_step ? ix_mul(a, row, s->row_step) : row);
    cell.indices[s->column_dim] =
        ix_add(a, cell.indices[s->column_dim], s->column_step ? ix_mul(a, column, s->column_step) : column);
    region *step = walk_step(&inner, (kernel_stmt *)s);
    place *p = walk_place(&inner, step, &cell, use, s->span);
    p->collective = true;
    p->holder = f->holder;
    touch_with_bytes(&inner, step, p);
}

static void memory_of_fragment(walk *w, region *step, const kernel_stmt *s, access_use use, bool by_unit, bool asynchronous) {
    if ((s->row_step || s->column_step) && !is_one_run(s)) {
        stepped_memory(w, s, use);
        return;
    }
    place *p = walk_place(w, step, &s->access, use, step->stmt->span);
    p->extents = walk_fragment_box(w, s);
    p->collective = true;
    p->holder = s->fragments[0].fragment->holder;
    p->by_unit = by_unit;
    p->asynchronous = p->matrix = asynchronous;
    touch_with_bytes(w, step, p);
}

/* A store in which no element exists reads nothing. */
static void read_for_store(walk *w, region *step, const kernel_stmt *s) {
    arena *a = w->m->arena;
    place *p = fragment_place(w, step, s->fragments[0].fragment, s->fragments[0].index, NULL, ACCESS_READ, s->span);
    if (s->extents)
        p->extents[0] = ix_min(a, ix_const(a, 1), ix_min(a, s->extents[0], s->extents[1]));
    walk_touch(p);
}

static bool stands_over(const scope *outer, const scope *inner) {
    while (inner && inner != outer)
        inner = inner->parent;
    return inner != NULL;
}

static bool same_index(const index_expr *x, const index_expr *y) {
    return x == y || (x && y && ix_equal(x, y));
}

/* What an operand by reference reads: the memory that its one load names, at each use. Such a fragment is a place alone, which the product has taken once it
 * is issued: the memory is in use until the product ends, the fragment is not. False: it is none. */
static bool operand_by_reference(walk *w, region *step, const fragment_ref *f, bool asynchronous) {
    model *m = w->m;
    const meeting *found = NULL;
    bool other = false, any = false;
    for (int i = 0; f->fragment && i < m->meetings.count; i++) {
        const meeting *t = &m->meetings.at[i];
        if (t->stmt->kind != KSTMT_FRAGMENT_LOAD || t->stmt->fragments[0].fragment != f->fragment)
            continue;
        any = any || t->stmt->by_reference;
        other = other || !t->stmt->by_reference;
        if (t->stmt->by_reference && same_index(t->stmt->fragments[0].index, f->index)) {
            if (found && !stands_over(found->scope, t->scope))
                other = true;
            found = t;
        }
    }
    if (!any)
        return false;
    if (!found || other || !stands_over(found->scope, w->scope)) {
        walk_beyond(m, step->stmt->span, model_text(m, "which load by reference fills `%s` here", f->fragment->name));
        return false;
    }
    memory_of_fragment(w, step, found->stmt, ACCESS_READ, true, asynchronous);
    mark_ordering(step);
    return true;
}

/* The map's value stands below its logical position: two loops around its loads. */
static void fragment_map(walk *w, kernel_stmt *s) {
    model *m = w->m;
    const kernel_fragment *f = s->fragments[0].fragment;
    index_var *vars[2] = {s->row, s->column};
    index_expr *extents[2] = {ix_const(m->arena, f->rows), ix_const(m->arena, f->columns)};
    walk inner = inside_position(w, s, vars, extents);
    region *step = walk_step(&inner, s);
    int before = m->places.count;
    walk_loads(&inner, step, s->value, 0);
    for (int i = before; i < m->places.count; i++) {
        place *p = m->places.at[i];
        if (p->array->space == SPACE_GLOBAL || p->array->space == SPACE_SHARED) {
            p->collective = true;
            p->holder = f->holder;
        }
    }
    touch_fragment(w, walk_step(w, s), &s->fragments[0], ACCESS_WRITE, false);
}

void walk_fragments_given(walk *w, region *step, kernel_stmt *s) {
    VEC_PUSH(w->m->arena, w->m->meetings, ((meeting){s, w->scope, NULL}));
    for (int i = 1; i < 4; i++)
        touch_fragment(w, step, &s->fragments[i], ACCESS_READ, false);
}

void walk_fragment_result(walk *w, region *step, kernel_stmt *s) {
    touch_fragment(w, step, &s->fragments[0], ACCESS_WRITE, false);
}

static bool fragment_stmt(walk *w, kernel_stmt *s) {
    model *m = w->m;
    region *step;
    VEC_PUSH(m->arena, m->meetings, ((meeting){s, w->scope, NULL}));
    switch (s->kind) {
    case KSTMT_FRAGMENT_FILL:
        step = walk_step(w, s);
        walk_loads(w, step, s->value, 0);
        touch_fragment(w, step, &s->fragments[0], ACCESS_WRITE, false);
        return true;
    case KSTMT_FRAGMENT_LOAD:
        step = walk_step(w, s);
        if (!s->by_reference)
            memory_of_fragment(w, step, s, ACCESS_READ, false, false);
        touch_fragment(w, step, &s->fragments[0], ACCESS_WRITE, false);
        return true;
    case KSTMT_FRAGMENT_STORE:
        step = walk_step(w, s);
        read_for_store(w, step, s);
        memory_of_fragment(w, step, s, ACCESS_WRITE, false, false);
        return true;
    case KSTMT_FRAGMENT_MMA:
        step = walk_step(w, s);
        for (int i = 1; i < 4; i++) {
            bool place_alone = i < 3 && operand_by_reference(w, step, &s->fragments[i], s->asynchronous);
            touch_fragment(w, step, &s->fragments[i], ACCESS_READ, s->asynchronous && !place_alone);
        }
        touch_fragment(w, step, &s->fragments[0], ACCESS_WRITE, s->asynchronous);
        if (s->asynchronous)
            mark_ordering(step);
        return true;
    case KSTMT_FRAGMENT_MAP: fragment_map(w, s); return true;
    case KSTMT_FRAGMENT_REDUCE:
    case KSTMT_FRAGMENT_CONVERT:
        step = walk_step(w, s);
        for (int i = 1; i < 4; i++)
            touch_fragment(w, step, &s->fragments[i], ACCESS_READ, false);
        touch_fragment(w, step, &s->fragments[0], ACCESS_WRITE, false);
        return true;
    case KSTMT_FRAGMENT_SET:
        m->meetings.count--; /* each lane for itself */
        step = walk_step(w, s);
        walk_loads(w, step, s->value, 0);
        walk_touch(fragment_place(w, step, s->fragments[0].fragment, s->fragments[0].index, s->element, ACCESS_WRITE, s->span));
        return true;
    default: m->meetings.count--; return false;
    }
}

/* ---- copies, atomics, tasks ---- */

/* By threads of the block, by which of them is not known, so that no thread's own order says when it begins. */
static void copied_by_block(place *p) {
    p->collective = true;
    p->holder = LEVEL_BLOCK;
    p->by_unit = false;
}

static void copy(walk *w, kernel_stmt *s) {
    model *m = w->m;
    region *step = walk_step(w, s);
    mark_ordering(step);
    const kernel_array *to = s->access.array, *from = s->source.array;
    const bool of_block = kernel_is_of_block(s);
    if (!of_block && (m->object_of[to->id] || m->object_of[from->id]))
        walk_beyond(m, s->span, "a copy of an array of several views");
    if (of_block)
        VEC_PUSH(m->arena, m->meetings, ((meeting){s, w->scope, NULL}));
    place *p = walk_place(w, step, &s->source, ACCESS_READ, s->span);
    p->extents = NEW_ARRAY(m->arena, index_expr *, from->rank + 1);
    for (int d = 0; d < from->rank; d++) {
        int at = d + to->rank - from->rank;
        p->extents[d] = at >= 0 ? s->extents[at] : ix_const(m->arena, 1);
    }
    p->clip = s->clip;
    p->asynchronous = p->by_unit = true;
    if (of_block)
        copied_by_block(p);
    touch_with_bytes(w, step, p);
    p = walk_place(w, step, &s->access, ACCESS_WRITE, s->span);
    p->extents = s->extents;
    p->asynchronous = true;
    if (of_block)
        copied_by_block(p);
    touch_with_bytes(w, step, p);
}

static void atomic(walk *w, kernel_stmt *s) {
    region *step = walk_step(w, s);
    kernel_value *values[KERNEL_STMT_VALUES];
    for (int i = 0, n = kernel_stmt_values(s, values); i < n; i++)
        walk_loads(w, step, values[i], 0);
    if (w->m->object_of[s->access.array->id])
        walk_beyond(w->m, s->span, "an atomic on an array of several views");
    for (int write = kernel_only_writes(s); write < (kernel_only_reads(s) ? 1 : 2); write++) {
        place *p = walk_place(w, step, &s->access, write ? ACCESS_WRITE : ACCESS_READ, s->span);
        p->atomic = true;
        p->atomic_scope = s->scope;
        walk_touch(p);
    }
}

static void tasks(walk *w, kernel_stmt *s) {
    model *m = w->m;
    if (w->depth || !m->persistent || w->scope->depth != m->task_dims + m->thread_dims) {
        walk_beyond(m, s->span, "`tasks` below something else");
        return;
    }
    region *trips = walk_region(m, w->sequence, REGION_SEQUENCE, m->inside_tasks, w->scope->depth, s);
    trips->trips = true;
    walk_inside(w, &s->body, trips, m->inside_tasks, NULL);
}

bool walk_order_stmt(walk *w, kernel_stmt *s) {
    region *step;
    switch (s->kind) {
    case KSTMT_BARRIER:
    case KSTMT_FENCE:
    case KSTMT_COMMIT:
    case KSTMT_WAIT_ASYNC:
    case KSTMT_MBARRIER_ARRIVE:
    case KSTMT_MBARRIER_WAIT: ordering(w, s); return true;
    case KSTMT_COPY: copy(w, s); return true;
    case KSTMT_ATOMIC: atomic(w, s); return true;
    case KSTMT_TASKS: tasks(w, s); return true;
    case KSTMT_GRID_REDUCE:
        step = walk_step(w, s);
        walk_loads(w, step, s->value, 0);
        place *p = walk_place(w, step, &s->access, ACCESS_WRITE, s->span);
        p->combined = true;
        walk_touch(p);
        return true;
    default: return fragment_stmt(w, s);
    }
}
