/* Marks vectors that begin at multiples of their size by what divides each term of their offset. */
#include "kernel/align.h"
#include <string.h>

/* Products stay within 64 bits; only vectors' widths matter. */
enum { MULTIPLE_LIMIT = 1 << 20 };

typedef struct known_multiple {
    const index_var *var;
    int64_t multiple;
} known_multiple;

typedef struct aligner {
    kernel_ir *kernel;
    bool global, shared; /* whose vectors are marked */
    int marked;          /* of global arrays */
    VEC(known_multiple) known;
} aligner;

/* A divisor of x; 0 when x is 0. */
static int64_t multiple_of(const aligner *l, const index_expr *x) {
    int64_t a = x->a ? multiple_of(l, x->a) : 1, b = x->b ? multiple_of(l, x->b) : 1, divisor;
    switch (x->op) {
    case IX_CONST: return x->value == INT64_MIN ? 1 : x->value < 0 ? -x->value : x->value;
    case IX_VAR:
        for (int i = l->known.count - 1; i >= 0; i--)
            if (l->known.at[i].var == x->var)
                return l->known.at[i].multiple;
        return 1;
    case IX_ADD:
    case IX_SUB:
    case IX_MIN:
    case IX_MAX:
    case IX_MOD: return ix_gcd(a, b);
    case IX_MUL: return a > MULTIPLE_LIMIT ? a : b > MULTIPLE_LIMIT ? b : a * b;
    case IX_FLOORDIV: return ix_is_const(x->b, &divisor) && divisor > 0 && a % divisor == 0 ? a / divisor : 1;
    }
    return 1;
}

static void learn(aligner *l, const index_var *v, int64_t multiple) {
    known_multiple one = {v, multiple};
    if (v && multiple != 1)
        VEC_PUSH(l->kernel->arena, l->known, one);
}

/* The offset of the first lane; NULL for layouts that may part the lanes. */
static index_expr *offset_of(const aligner *l, const kernel_access *access) {
    arena *a = l->kernel->arena;
    const kernel_array *array = access->array;
    const kernel_layout *layout = &array->layout;
    index_expr *offset = ix_const(a, 0);
    if (layout->kind == LAYOUT_BOX) /* whole rows of boxes lie before, and of its own the elements before it */
        return ix_add(a, ix_const(a, layout->box[array->rank - 1]), ix_bind_constants(a, access->indices[array->rank - 1]));
    if (layout->kind != LAYOUT_ROW && layout->kind != LAYOUT_PAD && layout->kind != LAYOUT_STRIDES)
        return NULL;
    for (int d = 0; d < array->rank; d++) {
        index_expr *at = ix_bind_constants(a, access->indices[d]);
        if (layout->kind == LAYOUT_STRIDES) {
            offset = ix_add(a, offset, ix_mul(a, at, ix_bind_constants(a, layout->strides[d])));
            continue;
        }
        index_expr *extent = ix_bind_constants(a, array->dims[d]);
        if (layout->kind == LAYOUT_PAD && d == array->rank - 1)
            extent = ix_add(a, extent, ix_const(a, layout->amount));
        offset = ix_add(a, ix_mul(a, offset, extent), at);
    }
    return offset;
}

/* Marks an access to `lanes` elements side by side along dimension `along`; rows that follow each other along the dimensions of the mask `across` too. */
static void mark_row(aligner *l, kernel_access *access, int lanes, int along, unsigned across) {
    kernel_array *array = access->array;
    int64_t stride = 0;
    if (!(array->space == SPACE_GLOBAL ? l->global : array->space == SPACE_SHARED && l->shared) || array->view_of || lanes < 2 ||
        (lanes & (lanes - 1)) || along != array->rank - 1 || element_table[array->element].block_elements > 1 ||
        array->element == ELEMENT_BOOL || array->element == ELEMENT_INDEX)
        return;
    if (array->layout.kind == LAYOUT_STRIDES && !(ix_is_const(array->layout.strides[array->rank - 1], &stride) && stride == 1))
        return;
    if (array->layout.kind == LAYOUT_BOX &&
        (lanes != kernel_aligned_lanes(array, lanes) || kernel_swizzle_run(&array->layout) % lanes))
        return;
    if (access->active && multiple_of(l, ix_bind_constants(l->kernel->arena, access->active)) % lanes)
        return;
    index_expr *offset = offset_of(l, access);
    if (!offset || multiple_of(l, offset) % kernel_aligned_lanes(array, lanes))
        return;
    for (int other = 0; other < array->rank; other++) {
        if (!(across >> other & 1))
            continue;
        kernel_access next = *access;
        next.indices = NEW_ARRAY(l->kernel->arena, index_expr *, array->rank);
        for (int d = 0; d < array->rank; d++)
            next.indices[d] = ix_const(l->kernel->arena, d == other);
        if (multiple_of(l, offset_of(l, &next)) % kernel_aligned_lanes(array, lanes))
            return;
    }
    access->aligned = true;
    array->alignment = array->alignment > PLAN_ALIGNMENT ? array->alignment : PLAN_ALIGNMENT;
    l->marked += array->space == SPACE_GLOBAL;
}

static void mark(void *context, kernel_access *access, bool is_write) {
    (void)is_write;
    mark_row(context, access, access->lanes, access->vector_dim, 0);
}

/* Where each row of memory begins that a fragment lies in. */
static void mark_fragment(aligner *l, kernel_stmt *s) {
    int along = s->access.array->rank - 1, across = along == s->column_dim ? s->row_dim : s->column_dim;
    int lanes = kernel_row_lanes(s);
    if (lanes > 1 && !s->by_reference)
        mark_row(l, &s->access, lanes, along, 1u << across);
}

/* The dimensions of the array, the copy's source or destination, along which its box has several rows. */
static unsigned rows_of_box(const kernel_stmt *s, const kernel_array *array) {
    unsigned mask = 0;
    int64_t extent;
    for (int d = 0; d < array->rank - 1 && d < 32; d++) {
        int at = d + s->access.array->rank - array->rank; /* the last dimensions match */
        if (at >= 0 && !(ix_is_const(s->extents[at], &extent) && extent == 1))
            mask |= 1u << d;
    }
    return mask;
}

static bool block_copies_in_bulk(const kernel_block *b) {
    bool all = true;
    for (int i = 0; i < b->items.count && all; i++) {
        const kernel_stmt *s = b->items.at[i];
        all = (s->kind != KSTMT_COPY || !s->name || (s->access.aligned && s->source.aligned)) && block_copies_in_bulk(&s->body) &&
              block_copies_in_bulk(&s->otherwise);
    }
    return all;
}

bool kernel_copies_in_bulk(const kernel_ir *k) {
    return k && k->mbarriers.count && block_copies_in_bulk(&k->body);
}

static void mark_block(aligner *l, const kernel_block *b) {
    const kernel_visitor visitor = {.context = l, .access = mark};
    for (int i = 0; i < b->items.count; i++) {
        kernel_stmt *s = b->items.at[i];
        int known = l->known.count;
        bool plain = s->kind == KSTMT_LET || s->kind == KSTMT_STORE || s->kind == KSTMT_IF_VALUE;
        if (plain) /* what other statements access is no vector in a register */
            kernel_visit_stmt(s, &visitor);
        if (s->kind == KSTMT_FRAGMENT_LOAD || s->kind == KSTMT_FRAGMENT_STORE)
            mark_fragment(l, s);
        if (s->kind == KSTMT_COPY && kernel_row_lanes(s) > 1) {
            mark_row(l, &s->access, kernel_row_lanes(s), s->access.array->rank - 1, rows_of_box(s, s->access.array));
            mark_row(l, &s->source, kernel_row_lanes(s), s->source.array->rank - 1, rows_of_box(s, s->source.array));
        }
        if (s->kind == KSTMT_FOR)
            learn(l, s->var, ix_gcd(multiple_of(l, s->lo), multiple_of(l, s->step)));
        mark_block(l, &s->body);
        mark_block(l, &s->otherwise);
        l->known.count = known;
        if (s->kind == KSTMT_LET && s->value->op == KERNEL_INDEX)
            learn(l, s->var, multiple_of(l, s->value->index));
    }
}

void kernel_align_shared(kernel_ir *k) {
    aligner l = {.kernel = k, .shared = true};
    mark_block(&l, &k->body);
}

/* The last extents of arrays of several dimensions: where they are multiples, so are the places at which rows begin. */
static bool ends_rows(const kernel_ir *k, const index_var *symbol) {
    for (int i = 0; i < k->arrays.count; i++) {
        const kernel_array *a = k->arrays.at[i];
        const index_expr *x = a->space == SPACE_GLOBAL && a->rank > 1 ? a->dims[a->rank - 1] : NULL;
        if (x && x->op == IX_VAR && x->var == symbol)
            return true;
    }
    return false;
}

static void unmark(void *context, kernel_access *access, bool is_write) {
    (void)context;
    (void)is_write;
    access->aligned = false;
}

static void unmark_block(const kernel_block *b) {
    const kernel_visitor visitor = {.access = unmark};
    for (int i = 0; i < b->items.count; i++) {
        kernel_visit_stmt(b->items.at[i], &visitor);
        unmark_block(&b->items.at[i]->body);
        unmark_block(&b->items.at[i]->otherwise);
    }
}

/* Whether the symbol is divided, or a loop goes up to it in steps: quotients are exact, and loops for what is left over have no trip, where it is a
 * multiple of as much as may be. */
typedef struct quotients {
    const index_var *symbol;
    bool found;
} quotients;

static void look_for_quotients(void *context, index_expr **x) {
    quotients *q = context;
    const index_expr *e = *x;
    if (!e || q->found || e->op == IX_CONST || e->op == IX_VAR)
        return;
    q->found = (e->op == IX_FLOORDIV || e->op == IX_MOD) && ix_mentions(e->a, q->symbol);
    look_for_quotients(q, &((index_expr *)e)->a);
    look_for_quotients(q, &((index_expr *)e)->b);
}

static void quotients_in_block(quotients *q, const kernel_block *b) {
    const kernel_visitor visitor = {.context = q, .index = look_for_quotients};
    int64_t step;
    for (int i = 0; i < b->items.count && !q->found; i++) {
        kernel_stmt *s = b->items.at[i];
        kernel_visit_stmt(s, &visitor);
        if (s->kind == KSTMT_FOR && (ix_mentions(s->hi, q->symbol) || ix_mentions(s->lo, q->symbol)))
            q->found = !ix_is_const(s->step, &step) || step > 1;
        quotients_in_block(q, &s->body);
        quotients_in_block(q, &s->otherwise);
    }
}

static bool has_quotients(const kernel_ir *k, int symbol) {
    quotients q = {k->symbols.at[symbol], false};
    quotients_in_block(&q, &k->body);
    return q.found;
}

/* How many vectors of global arrays are marked when extents are multiples of `multiple`; the kernel keeps those marks. */
static int mark_at(kernel_ir *k, const plan_variant *v, int multiple, bool shared) {
    aligner l = {.kernel = k, .global = true, .shared = shared};
    unmark_block(&k->body);
    for (int i = 0; i < v->divided.count; i++)
        learn(&l, k->symbols.at[v->divided.at[i]], multiple);
    mark_block(&l, &k->body);
    return l.marked;
}

void kernel_align_variant(arena *a, plan_variant *v, bool shared) {
    kernel_ir *own = v->before.count ? NULL : v->aligned, *k = own ? own : v->before.count ? NULL : kernel_copy(a, v->kernel);
    v->aligned = NULL;
    v->divided.count = 0;
    v->multiple = PLAN_DIVIDED;
    if (!k)
        return;
    for (int s = 0; s < k->symbols.count; s++)
        if (!k->symbols.at[s]->has_value && ends_rows(k, k->symbols.at[s]))
            VEC_PUSH(a, v->divided, s);
    int marked = mark_at(k, v, v->multiple, shared);
    bool quotients = false;
    for (int i = v->divided.count - 1; i >= 0; i--) { /* those that no mark needs may be of any size */
        int symbol = v->divided.at[i];
        bool has = has_quotients(k, symbol);
        v->divided.at[i] = v->divided.at[--v->divided.count];
        if (has || mark_at(k, v, v->multiple, shared) != marked) {
            VEC_PUSH(a, v->divided, v->divided.at[i]);
            v->divided.at[i] = symbol;
            quotients = quotients || has;
        }
    }
    while (marked && !quotients && v->multiple > 1 && v->divided.count && mark_at(k, v, v->multiple / 2, shared) == marked)
        v->multiple /= 2; /* as many rows as may be begin where wide accesses do */
    if (mark_at(k, v, v->multiple, shared))
        v->aligned = k;
    else
        v->divided.count = 0;
    if (own && !kernel_copies_in_bulk(v->aligned)) { /* it has no way to make them: the kernel itself, aligned */
        v->aligned = NULL;
        kernel_align_variant(a, v, shared);
        return;
    }
    for (int i = 0; i < v->divided.count; i++)
        VEC_PUSH(a, k->assumptions,
                 cond_compare(a, COND_EQ, ix_mod(a, ix_var(a, k->symbols.at[v->divided.at[i]]), ix_const(a, v->multiple)),
                              ix_const(a, 0)));
}

/* ---- what the door asks ---- */

static void print_unmarked(arena *a, text_buffer *out, const kernel_ir *k, int assumptions) {
    kernel_ir *bare = kernel_copy(a, k);
    unmark_block(&bare->body);
    for (int i = 0; i < bare->arrays.count; i++)
        bare->arrays.at[i]->alignment = 0;
    bare->assumptions.count = assumptions < bare->assumptions.count ? assumptions : bare->assumptions.count;
    kernel_print(out, bare);
}

bool kernel_is_aligned_form(const kernel_ir *aligned, const kernel_ir *plain) {
    arena *a = arena_new();
    text_buffer x = {0}, y = {0};
    bool same = aligned->assumptions.count >= plain->assumptions.count;
    print_unmarked(a, &x, aligned, plain->assumptions.count);
    print_unmarked(a, &y, plain, plain->assumptions.count);
    same = same && !strcmp(text_get(&x), text_get(&y));
    text_free(&x);
    text_free(&y);
    arena_free(a);
    return same;
}
