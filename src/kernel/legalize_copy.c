/* Copies by the block: each thread makes its share of them where they are issued, and a barrier stands where they are waited for. A device is free to make them
 * that early, by any of the threads; the barrier orders more than the wait did. */
#include "kernel/legalize_parts.h"

enum { MOST_NESTING = 200, MOST_OWN = 16 };

typedef struct copier {
    legalizer *l;
    kernel_ir *k;
    index_expr *number; /* of the thread in its block */
    int64_t threads;
} copier;

static bool holds_copies(const kernel_block *b, int nesting) {
    for (int i = 0; i < b->items.count && nesting < MOST_NESTING; i++)
        if (kernel_is_of_block(b->items.at[i]) || holds_copies(&b->items.at[i]->body, nesting + 1) ||
            holds_copies(&b->items.at[i]->otherwise, nesting + 1))
            return true;
    return false;
}

/* Threads are numbered through the levels below the block, the last id fastest. */
static void number_threads(copier *c) {
    arena *a = c->k->arena;
    c->number = ix_const(a, 0);
    c->threads = 1;
    for (int i = 0; i < c->k->levels.count; i++)
        for (int d = 0; c->k->levels.at[i].kind > LEVEL_BLOCK && d < c->k->levels.at[i].rank; d++) {
            int64_t extent = 1;
            ix_is_const(c->k->levels.at[i].extents[d], &extent);
            c->threads *= extent;
            c->number = ix_add(a, ix_mul(a, c->number, ix_const(a, extent)), ix_var(a, c->k->levels.at[i].ids[d]));
        }
}

/* The cell of the box at these places: the source's dimensions match the last ones of the destination. */
static void copy_cell(copier *c, kernel_block *b, const kernel_stmt *s, index_expr *const *place) {
    arena *a = c->k->arena;
    int rank = s->access.array->rank, from = s->source.array->rank;
    kernel_access to = kernel_at(c->k, s->access.array, s->access.indices),
                  source = kernel_at(c->k, s->source.array, s->source.indices);
    for (int d = 0; d < rank; d++)
        to.indices[d] = ix_add(a, to.indices[d], place[d]);
    for (int d = 0; d < from; d++)
        if (d + rank - from >= 0)
            source.indices[d] = ix_add(a, source.indices[d], place[d + rank - from]);
    kernel_store(c->k, b, to, kernel_load(c->k, source), s->span);
}

static index_expr *spread(copier *c, index_expr *lo, int64_t step) {
    arena *a = c->k->arena;
    return ix_add(a, lo, ix_mul(a, c->number, ix_const(a, step)));
}

/* Neighbouring threads take neighbouring cells along the last dimension that has several. */
static void share_box(copier *c, kernel_block *b, const kernel_stmt *s) {
    arena *a = c->k->arena;
    int rank = s->access.array->rank, along = -1;
    index_expr **place = NEW_ARRAY(a, index_expr *, rank + 1);
    int64_t extent;
    for (int d = 0; d < rank; d++)
        if (!ix_is_const(s->extents[d], &extent) || extent != 1)
            along = d;
    if (along < 0) {
        kernel_stmt *first = kernel_append(c->k, b, KSTMT_IF, s->span);
        first->condition = cond_compare(a, COND_LT, c->number, ix_const(a, 1));
        b = &first->body;
    }
    for (int d = 0; d < rank; d++) {
        place[d] = ix_const(a, 0);
        if (ix_is_const(s->extents[d], &extent) && extent == 1)
            continue;
        bool shared = d == along;
        kernel_stmt *loop =
            kernel_for(c->k, b, "c", shared ? c->number : ix_const(a, 0), s->extents[d], shared ? c->threads : 1, s->span);
        place[d] = ix_var(a, loop->var);
        b = &loop->body;
    }
    copy_cell(c, b, s, place);
}

/* A loop that does nothing but copy a few cells is shared by trips, and each thread copies the cells of its own. */
static bool share_loop(copier *c, kernel_stmt *s) {
    arena *a = c->k->arena;
    int64_t step, cells = 1, extent;
    if (s->kind != KSTMT_FOR || s->body.items.count != 1 || !kernel_is_of_block(s->body.items.at[0]) ||
        s->body.items.at[0]->kind != KSTMT_COPY || !ix_is_const(s->step, &step))
        return false;
    const kernel_stmt *x = s->body.items.at[0];
    int rank = x->access.array->rank;
    for (int d = 0; d < rank; d++) {
        if (!ix_is_const(x->extents[d], &extent) || extent < 1 || extent > MOST_OWN)
            return false;
        cells *= extent;
    }
    if (cells > MOST_OWN)
        return false;
    s->lo = spread(c, s->lo, step);
    s->step = ix_const(a, step * c->threads);
    s->body = (kernel_block){0};
    for (int64_t n = 0; n < cells; n++) {
        index_expr **place = NEW_ARRAY(a, index_expr *, rank + 1);
        int64_t rest = n;
        for (int d = rank; d-- > 0;) {
            ix_is_const(x->extents[d], &extent);
            place[d] = ix_const(a, rest % extent);
            rest /= extent;
        }
        copy_cell(c, &s->body, x, place);
    }
    return true;
}

static void rewrite(copier *c, kernel_block *b, int nesting) {
    kernel_block old = *b;
    *b = (kernel_block){0};
    for (int i = 0; i < old.items.count; i++) {
        kernel_stmt *s = old.items.at[i];
        if (s->kind == KSTMT_COPY && kernel_is_of_block(s)) {
            share_box(c, b, s);
        } else if (s->kind == KSTMT_WAIT_ASYNC && kernel_is_of_block(s)) {
            kernel_stmt *barrier = kernel_append(c->k, b, KSTMT_BARRIER, s->span);
            barrier->scope = LEVEL_BLOCK;
            barrier->spaces = 1u << SPACE_GLOBAL | 1u << SPACE_SHARED;
        } else if (s->kind != KSTMT_COMMIT || s->matrix) {
            if (nesting < MOST_NESTING && !share_loop(c, s)) {
                rewrite(c, &s->body, nesting + 1);
                rewrite(c, &s->otherwise, nesting + 1);
            }
            VEC_PUSH(c->k->arena, b->items, s);
        }
    }
}

void legalize_copies(legalizer *l) {
    copier c = {.l = l, .k = l->kernel};
    if (!holds_copies(&l->kernel->body, 0))
        return;
    number_threads(&c);
    rewrite(&c, &l->kernel->body, 0);
    legalize_route(
        l, "copies by the block: each thread copies its share of the elements, and a barrier of the block stands for each wait");
}
