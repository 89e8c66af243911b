/* Fragments on targets whose matrix unit has none of their shape: by hand. Of an accumulator each lane keeps its own elements in registers; operands of products,
 * which other lanes need too, lie in shared memory by lane, and barriers stand around each product. The prover judges what comes out like anything else.
 *
 * Which lane holds what is that of Metal's simdgroups, for lane_view: lane l holds row 4 hi + mid, columns 4 cb + 2 ca + {0, 1}, where hi, cb, mid and ca are
 * the digits of l, of 2, 2, 4 and 2 values. */
#include "kernel/legalize_parts.h"
#include <string.h>

enum { SIDE = 8, OWN = 2, LANES = 32, MOST_NESTING = 200 };

typedef struct hand {
    legalizer *l;
    kernel_ir *k;
    kernel_array **arrays; /* by fragment id */
    index_expr *hi, *mid, *cb, *ca;
    kernel_block *at;
    source_span span;
} hand;

static bool is_operand(const kernel_fragment *f) {
    return f->role == FRAGMENT_A || f->role == FRAGMENT_B;
}

static const kernel_level *lanes_of(const kernel_ir *k) {
    for (int i = 0; i < k->levels.count; i++)
        if (k->levels.at[i].kind == LEVEL_LANE)
            return &k->levels.at[i];
    return NULL;
}

/* The digits of the lane's number, or of the four ids that are they already. */
static bool find_digits(hand *h) {
    arena *a = h->k->arena;
    const kernel_level *lanes = lanes_of(h->k);
    int64_t extent, count = 1, digits[4] = {2, 2, 4, 2};
    bool apart = lanes && lanes->rank == 4;
    index_expr *flat = ix_const(a, 0);
    for (int d = 0; lanes && d < lanes->rank; d++) {
        if (!ix_is_const(lanes->extents[d], &extent))
            return false;
        count *= extent;
        apart = apart && extent == digits[d];
        flat = ix_add(a, ix_mul(a, flat, ix_const(a, extent)), ix_var(a, lanes->ids[d]));
    }
    if (count != LANES)
        return false;
    index_expr **to[4] = {&h->hi, &h->cb, &h->mid, &h->ca};
    int64_t unit = LANES;
    for (int d = 0; d < 4; d++) {
        unit /= digits[d];
        index_expr *digit = ix_floordiv(a, flat, ix_const(a, unit));
        *to[d] = apart ? ix_var(a, lanes->ids[d]) : d ? ix_mod(a, digit, ix_const(a, digits[d])) : digit;
    }
    return true;
}

static index_expr *number(hand *h, int64_t n) {
    return ix_const(h->k->arena, n);
}

static index_expr *own_row(hand *h) {
    return ix_add(h->k->arena, ix_mul(h->k->arena, number(h, 4), h->hi), h->mid);
}

static index_expr *own_column(hand *h, int element) {
    arena *a = h->k->arena;
    index_expr *pair = ix_add(a, ix_mul(a, number(h, 4), h->cb), ix_mul(a, number(h, 2), h->ca));
    return ix_add(a, pair, number(h, element));
}

/* ---- where elements lie ---- */

/* The ids between task and lane say whose shared part it is. */
static int holders(const kernel_ir *k, index_expr **ids, index_expr **extents) {
    int rank = 0;
    for (int i = 0; i < k->levels.count; i++)
        for (int d = 0; k->levels.at[i].kind != LEVEL_TASK && k->levels.at[i].kind != LEVEL_LANE && d < k->levels.at[i].rank;
             d++) {
            if (ids)
                ids[rank] = ix_var(k->arena, k->levels.at[i].ids[d]);
            if (extents)
                extents[rank] = k->levels.at[i].extents[d];
            rank++;
        }
    return rank;
}

static void make_arrays(hand *h) {
    kernel_ir *k = h->k;
    h->arrays = NEW_ARRAY(k->arena, kernel_array *, k->fragments.count + 1);
    for (int i = 0; i < k->fragments.count; i++) {
        const kernel_fragment *f = k->fragments.at[i];
        index_expr *dims[64];
        int rank = is_operand(f) ? holders(k, NULL, dims) : 0;
        if (f->count > 1)
            dims[rank++] = number(h, f->count);
        if (is_operand(f))
            dims[rank++] = number(h, LANES);
        dims[rank++] = number(h, OWN);
        h->arrays[i] =
            kernel_add_array(k, f->name, is_operand(f) ? SPACE_SHARED : SPACE_REGISTER, USE_LOCAL, f->element, rank, dims);
        h->arrays[i]->span = f->span;
    }
}

/* Element `own` of what lane `lane` holds; `lane` NULL: of an accumulator. */
static kernel_access cell(hand *h, const fragment_ref *f, index_expr *lane, index_expr *own) {
    index_expr *at[64];
    int rank = lane ? holders(h->k, at, NULL) : 0;
    if (f->fragment->count > 1)
        at[rank++] = f->index;
    if (lane)
        at[rank++] = lane;
    at[rank++] = own;
    return kernel_at(h->k, h->arrays[f->fragment->id], at);
}

static index_expr *lane_number(hand *h, index_expr *hi, index_expr *cb, index_expr *mid, index_expr *ca) {
    arena *a = h->k->arena;
    index_expr *high = ix_add(a, ix_mul(a, number(h, 16), hi), ix_mul(a, number(h, 8), cb));
    return ix_add(a, high, ix_add(a, ix_mul(a, number(h, 2), mid), ca));
}

static kernel_access own_cell(hand *h, const fragment_ref *f, index_expr *own) {
    return cell(h, f, is_operand(f->fragment) ? lane_number(h, h->hi, h->cb, h->mid, h->ca) : NULL, own);
}

static void set_own(hand *h, const fragment_ref *f, int own, kernel_value *v) {
    kernel_store(h->k, h->at, own_cell(h, f, number(h, own)), v, h->span);
}

static kernel_value *get_own(hand *h, const fragment_ref *f, int own) {
    return kernel_load(h->k, own_cell(h, f, number(h, own)));
}

static kernel_value *as(hand *h, element_type to, kernel_value *v) {
    return v->type == to ? v : kernel_op1(h->k, KERNEL_CONVERT, to, v);
}

static kernel_value *named(hand *h, const char *name, kernel_value *v) {
    return kernel_ref(h->k, kernel_let(h->k, h->at, name, v, h->span));
}

/* ---- statements ---- */

static kernel_access memory_cell(hand *h, const kernel_stmt *s, int own) {
    arena *a = h->k->arena;
    kernel_access x = kernel_at(h->k, s->access.array, s->access.indices);
    index_expr *row = own_row(h), *column = own_column(h, own);
    if (s->row_step)
        row = ix_mul(a, row, s->row_step);
    if (s->column_step)
        column = ix_mul(a, column, s->column_step);
    x.indices[s->row_dim] = ix_add(a, x.indices[s->row_dim], row);
    x.indices[s->column_dim] = ix_add(a, x.indices[s->column_dim], column);
    return x;
}

static void transfer(hand *h, const kernel_stmt *s) {
    arena *a = h->k->arena;
    const fragment_ref *f = &s->fragments[0];
    kernel_block *outer = h->at;
    for (int own = 0; own < OWN; own++) {
        kernel_access there = memory_cell(h, s, own);
        kernel_stmt *choice = NULL;
        if (s->extents) {
            choice = kernel_append(h->k, outer, KSTMT_IF, h->span);
            choice->condition = cond_and(a, cond_compare(a, COND_LT, own_row(h), s->extents[0]),
                                         cond_compare(a, COND_LT, own_column(h, own), s->extents[1]));
            h->at = &choice->body;
        }
        if (s->kind == KSTMT_FRAGMENT_STORE)
            kernel_store(h->k, h->at, there, get_own(h, f, own), h->span);
        else
            set_own(h, f, own, kernel_load(h->k, there));
        if (choice && s->kind == KSTMT_FRAGMENT_LOAD) {
            element_type e = f->fragment->element;
            h->at = &choice->otherwise;
            bool plain = e == ELEMENT_F32 || e == ELEMENT_F16 || e == ELEMENT_I32;
            kernel_value *zero = kernel_const(h->k, plain ? e : element_table[e].is_float ? ELEMENT_F32 : ELEMENT_I32, 1, 0);
            set_own(h, f, own, as(h, e, zero));
        }
        h->at = outer;
    }
}

static void meet(hand *h) {
    kernel_stmt *s = kernel_append(h->k, h->at, KSTMT_BARRIER, h->span);
    s->scope = h->l->table->subgroups ? LEVEL_SUBGROUP : LEVEL_BLOCK;
    s->spaces = 1u << SPACE_SHARED;
}

/* Each lane: its row of a times its two columns of b. */
static void product(hand *h, const kernel_stmt *s) {
    const fragment_ref *d = &s->fragments[0], *a = &s->fragments[1], *b = &s->fragments[2], *c = &s->fragments[3];
    kernel_ir *k = h->k;
    element_type wide = element_table[d->fragment->element].is_float ? ELEMENT_F32 : ELEMENT_I32;
    kernel_value *x[SIDE], *y[SIDE][OWN], *sum[OWN];
    meet(h);
    for (int i = 0; i < SIDE; i++) {
        index_expr *there = lane_number(h, h->hi, number(h, i / 4), h->mid, number(h, i / 2 % 2));
        x[i] = named(h, "x", as(h, wide, kernel_load(k, cell(h, a, there, number(h, i % 2)))));
        there = lane_number(h, number(h, i / 4), h->cb, number(h, i % 4), h->ca);
        for (int own = 0; own < OWN; own++)
            y[i][own] = named(h, "y", as(h, wide, kernel_load(k, cell(h, b, there, number(h, own)))));
    }
    for (int own = 0; own < OWN; own++) {
        sum[own] = as(h, wide, get_own(h, c, own));
        for (int i = 0; i < SIDE; i++)
            sum[own] = wide == ELEMENT_F32
                           ? kernel_op3(k, KERNEL_FMA, wide, x[i], y[i][own], sum[own])
                           : kernel_op2(k, KERNEL_ADD, wide, kernel_op2(k, KERNEL_MUL, wide, x[i], y[i][own]), sum[own]);
        sum[own] = named(h, "sum", sum[own]);
    }
    for (int own = 0; own < OWN; own++)
        set_own(h, d, own, as(h, d->fragment->element, sum[own]));
    meet(h); /* before anything writes the operands again */
}

/* A map's value at this lane's own place. */
static kernel_value *at_place(hand *h, const kernel_stmt *s, const kernel_value *v, int own, int nesting) {
    arena *a = h->k->arena;
    index_expr *row = own_row(h), *column = own_column(h, own);
    if (nesting > MOST_NESTING || v->op == KERNEL_FRAGMENT_ROW || v->op == KERNEL_FRAGMENT_COLUMN ||
        (v->op == KERNEL_LOAD && v->access.active)) {
        legalize_refuse(h->l, s->span, "a map of fragments by hand that takes vectors or loads under a mask");
        return (kernel_value *)v;
    }
    if (v->op == KERNEL_FRAGMENT_ELEMENT) {
        fragment_ref f = {v->fragment, v->fragment_index};
        return get_own(h, &f, own);
    }
    kernel_value *to = NEW(a, kernel_value);
    *to = *v;
    if (v->index)
        to->index = ix_substitute(a, ix_substitute(a, v->index, s->row, row), s->column, column);
    if (v->op == KERNEL_LOAD) {
        to->access = kernel_at(h->k, v->access.array, v->access.indices);
        for (int d = 0; d < v->access.array->rank; d++)
            to->access.indices[d] = ix_substitute(a, ix_substitute(a, to->access.indices[d], s->row, row), s->column, column);
    }
    to->operands = NEW_ARRAY(a, kernel_value *, v->operand_count + 1);
    for (int i = 0; i < v->operand_count; i++)
        to->operands[i] = at_place(h, s, v->operands[i], own, nesting + 1);
    return to;
}

static void map(hand *h, const kernel_stmt *s) {
    kernel_value *all[OWN];
    for (int own = 0; own < OWN; own++) /* the result may be among what is mapped */
        all[own] = named(h, "mapped", at_place(h, s, s->value, own, 0));
    for (int own = 0; own < OWN; own++)
        set_own(h, &s->fragments[0], own, all[own]);
}

static void fragment_statement(hand *h, const kernel_stmt *s) {
    const fragment_ref *d = &s->fragments[0];
    h->span = s->span;
    switch (s->kind) {
    case KSTMT_FRAGMENT_FILL:
        for (int own = 0; own < OWN; own++)
            set_own(h, d, own, s->value);
        break;
    case KSTMT_FRAGMENT_LOAD:
    case KSTMT_FRAGMENT_STORE:
        if (s->by_reference)
            legalize_refuse(h->l, s->span, "fragments that a matrix unit reads from memory itself");
        else
            transfer(h, s);
        break;
    case KSTMT_FRAGMENT_MMA:
        if (s->asynchronous)
            legalize_refuse(h->l, s->span, "an asynchronous product of fragments of this shape");
        else
            product(h, s);
        break;
    case KSTMT_FRAGMENT_MAP: map(h, s); break;
    case KSTMT_FRAGMENT_CONVERT:
        for (int own = 0; own < OWN; own++)
            set_own(h, d, own, as(h, d->fragment->element, get_own(h, &s->fragments[1], own)));
        break;
    case KSTMT_FRAGMENT_SET: kernel_store(h->k, h->at, own_cell(h, d, s->element), s->value, s->span); break;
    default: legalize_refuse(h->l, s->span, "%s by hand", kernel_stmt_names[s->kind]); break;
    }
}

static void see_through(void *context, kernel_value *v) {
    hand *h = context;
    if (v->op != KERNEL_LANE_VIEW)
        return;
    fragment_ref f = {v->fragment, v->fragment_index};
    *v = *kernel_load(h->k, own_cell(h, &f, v->index));
}

static void rewrite_block(hand *h, kernel_block *b) {
    kernel_block old = *b, *outer = h->at;
    *b = (kernel_block){0};
    const kernel_visitor views = {.context = h, .value = see_through};
    for (int i = 0; i < old.items.count && !h->l->failed; i++) {
        kernel_stmt *s = old.items.at[i];
        h->at = b;
        kernel_visit_stmt(s, &views);
        if (s->kind >= KSTMT_FRAGMENT_FILL && s->kind <= KSTMT_FRAGMENT_SET) {
            fragment_statement(h, s);
            continue;
        }
        if (kernel_is_fragment_stmt(s)) { /* an intrinsic that gives a matrix: what it computes */
            legalize_route(h->l, "`%s`: what its reference says (refused: a matrix of the target's own)", s->name);
            rewrite_block(h, &s->body);
            for (int n = 0; n < s->body.items.count; n++)
                VEC_PUSH(h->k->arena, b->items, s->body.items.at[n]);
            continue;
        }
        VEC_PUSH(h->k->arena, b->items, s);
        rewrite_block(h, &s->body);
        rewrite_block(h, &s->otherwise);
    }
    h->at = outer;
}

/* ---- which are ---- */

static void find_view(void *context, kernel_value *v) {
    if (v->op == KERNEL_LANE_VIEW)
        *(bool *)context = true;
}

static bool is_native(const legal_table *table, const kernel_block *b, int nesting) {
    bool views = false;
    const kernel_visitor look = {.context = &views, .value = find_view};
    for (int i = 0; i < b->items.count && nesting < MOST_NESTING; i++) {
        kernel_stmt *s = b->items.at[i];
        kernel_visit_stmt(s, &look);
        if ((s->kind == KSTMT_FRAGMENT_MMA && !matrix_of_mma(&table->matrices, s)) ||
            ((s->kind == KSTMT_FRAGMENT_SET || views) && !table->lane_views))
            return false;
        if (!is_native(table, &s->body, nesting + 1) || !is_native(table, &s->otherwise, nesting + 1))
            return false;
    }
    return true;
}

void legalize_fragments(legalizer *l) {
    kernel_ir *k = l->kernel;
    hand h = {.l = l, .k = k};
    if (!k->fragments.count || (l->table->matrices.count && is_native(l->table, &k->body, 0)))
        return;
    bool digits = find_digits(&h);
    for (int i = 0; i < k->fragments.count && !l->failed; i++) {
        const kernel_fragment *f = k->fragments.at[i];
        if (f->rows != SIDE || f->columns != SIDE || f->holder != LEVEL_SUBGROUP || !digits)
            legalize_refuse(l, f->span, "`%s`, a fragment of %d x %d: by hand there are those of 8 x 8 that 32 lanes hold",
                            f->name, f->rows, f->columns);
    }
    if (l->failed)
        return;
    legalize_route(
        l, "fragments of 8 x 8: by hand, operands through shared memory (refused: a matrix unit, whose shapes are others)");
    make_arrays(&h);
    rewrite_block(&h, &k->body);
    k->fragments.count = 0;
}
