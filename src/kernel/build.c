/* Builders of Kernel IR and the tables of its ops. Builders never fail: what they are given wrong, kernel_check refuses. */
#include "kernel/kernel.h"
#include <string.h>

const char *const level_names[] = {"task", "cluster", "block", "warpgroup", "subgroup", "lane"};
const char *const role_names[] = {"a", "b", "accumulator", "row_vector", "column_vector"};
const char *const space_names[] = {"global", "shared", "private", "register", "ghost"};

const kernel_op_info kernel_op_table[KERNEL_OP_COUNT] = {
#define KERNEL_OP(op, name, operands, kind) [KERNEL_##op] = {name, operands, kind},
#include "kernel/kernel_ops.def"
#undef KERNEL_OP
};

const char *const kernel_stmt_names[KSTMT_COUNT] = {
#define KERNEL_STMT(kind, name) [KSTMT_##kind] = name,
#include "kernel/kernel_stmts.def"
#undef KERNEL_STMT
};

kernel_ir *kernel_new(arena *a, const char *name, source_span span) {
    kernel_ir *k = NEW(a, kernel_ir);
    k->arena = a;
    k->name = arena_strdup(a, name);
    k->span = span;
    return k;
}

index_var *kernel_new_var(kernel_ir *k, const char *name, index_var_kind kind) {
    index_var *v = NEW(k->arena, index_var);
    v->name = arena_strdup(k->arena, name);
    v->kind = kind;
    v->id = k->var_count++;
    return v;
}

bool kernel_scalar_is_whole_type(const kernel_scalar *s) {
    int64_t lo, hi;
    if ((s->type != ELEMENT_I32 && s->type != ELEMENT_U32) || !s->var || !s->var->lo || !s->var->hi)
        return false;
    bool is_signed = s->type == ELEMENT_I32;
    return ix_is_const(s->var->lo, &lo) && lo == (is_signed ? INT32_MIN : 0) && ix_is_const(s->var->hi, &hi) &&
           hi == (is_signed ? (int64_t)INT32_MAX : (int64_t)UINT32_MAX);
}

index_var *kernel_add_symbol(kernel_ir *k, const char *name) {
    index_var *v = kernel_new_var(k, name, INDEX_SYMBOL);
    VEC_PUSH(k->arena, k->symbols, v);
    return v;
}

void kernel_add_level(kernel_ir *k, level_kind kind, int rank, const char *const *names, index_expr **extents) {
    kernel_level level = {.kind = kind, .rank = rank};
    level.ids = NEW_ARRAY(k->arena, index_var *, rank);
    level.extents = NEW_ARRAY(k->arena, index_expr *, rank);
    for (int i = 0; i < rank; i++) {
        index_var *v = kernel_new_var(k, names[i], INDEX_ID);
        v->lo = ix_const(k->arena, 0);
        v->hi = ix_sub(k->arena, extents[i], ix_const(k->arena, 1));
        level.ids[i] = v;
        level.extents[i] = extents[i];
    }
    VEC_PUSH(k->arena, k->levels, level);
}

kernel_array *kernel_add_array(kernel_ir *k, const char *name, memory_space space, array_use use, element_type e, int rank,
                               index_expr **dims) {
    kernel_array *array = NEW(k->arena, kernel_array);
    array->name = arena_strdup(k->arena, name);
    array->space = space;
    array->use = use;
    array->element = e;
    array->lanes = 1;
    array->rank = rank;
    array->dims = NEW_ARRAY(k->arena, index_expr *, rank);
    for (int i = 0; i < rank; i++)
        array->dims[i] = dims[i];
    array->layout.kind = LAYOUT_ROW;
    array->source_array = -1;
    array->id = k->arrays.count;
    VEC_PUSH(k->arena, k->arrays, array);
    return array;
}

kernel_fragment *kernel_add_fragment(kernel_ir *k, const char *name, fragment_role role, element_type e, int rows, int columns,
                                     int count, level_kind holder) {
    kernel_fragment *fragment = NEW(k->arena, kernel_fragment);
    fragment->name = arena_strdup(k->arena, name);
    fragment->role = role;
    fragment->element = e;
    fragment->rows = rows;
    fragment->columns = columns;
    fragment->count = count;
    fragment->holder = holder;
    fragment->id = k->fragments.count;
    VEC_PUSH(k->arena, k->fragments, fragment);
    return fragment;
}

kernel_stmt *kernel_append(kernel_ir *k, kernel_block *b, kernel_stmt_kind kind, source_span span) {
    kernel_stmt *s = NEW(k->arena, kernel_stmt);
    s->kind = kind;
    s->span = span;
    VEC_PUSH(k->arena, b->items, s);
    return s;
}

kernel_stmt *kernel_for(kernel_ir *k, kernel_block *b, const char *name, index_expr *lo, index_expr *hi, int64_t step,
                        source_span span) {
    kernel_stmt *s = kernel_append(k, b, KSTMT_FOR, span);
    s->var = kernel_new_var(k, name, INDEX_LOOP);
    s->var->owner = s;
    s->var->span = span;
    s->var->lo = lo;
    s->var->hi = ix_sub(k->arena, hi, ix_const(k->arena, 1));
    s->lo = lo;
    s->hi = hi;
    s->step = ix_const(k->arena, step);
    return s;
}

static bool is_integer_type(element_type t) {
    return t == ELEMENT_I8 || t == ELEMENT_U8 || t == ELEMENT_U16 || t == ELEMENT_I32 || t == ELEMENT_U32 || t == ELEMENT_INDEX;
}

kernel_stmt *kernel_let(kernel_ir *k, kernel_block *b, const char *name, kernel_value *v, source_span span) {
    kernel_stmt *s = kernel_append(k, b, KSTMT_LET, span);
    s->name = arena_strdup(k->arena, name);
    s->value = v;
    if (v->lanes == 1 && is_integer_type(v->type)) {
        s->var = kernel_new_var(k, name, INDEX_VALUE);
        s->var->owner = s;
        s->var->span = span;
    }
    return s;
}

kernel_stmt *kernel_store(kernel_ir *k, kernel_block *b, kernel_access access, kernel_value *v, source_span span) {
    kernel_stmt *s = kernel_append(k, b, KSTMT_STORE, span);
    s->access = access;
    s->value = v;
    return s;
}

static kernel_value *new_value(kernel_ir *k, kernel_op op, element_type t, int lanes, int operand_count) {
    kernel_value *v = NEW(k->arena, kernel_value);
    v->op = op;
    v->type = t;
    v->lanes = lanes;
    v->scope = LEVEL_SUBGROUP;
    v->operand_count = operand_count;
    if (operand_count)
        v->operands = NEW_ARRAY(k->arena, kernel_value *, operand_count);
    return v;
}

kernel_value *kernel_ref(kernel_ir *k, kernel_stmt *let) {
    kernel_value *v = new_value(k, KERNEL_REF, let->value->type, let->value->lanes, 0);
    v->let = let;
    v->span = let->span;
    return v;
}

kernel_value *kernel_const(kernel_ir *k, element_type t, int lanes, double number) {
    kernel_value *v = new_value(k, KERNEL_CONST, t, lanes, 0);
    v->number = number;
    return v;
}

kernel_value *kernel_index(kernel_ir *k, index_expr *x) {
    kernel_value *v = new_value(k, KERNEL_INDEX, ELEMENT_INDEX, 1, 0);
    v->index = x;
    return v;
}

static bool op_is(kernel_op op, const char *kind) {
    return !strcmp(kernel_op_table[op].kind, kind);
}

static element_type result_type(kernel_op op, element_type t) {
    return op_is(op, "compare") ? ELEMENT_BOOL : t;
}

kernel_value *kernel_op1(kernel_ir *k, kernel_op op, element_type t, kernel_value *x) {
    bool to_scalar = op == KERNEL_LANES_SUM || op == KERNEL_LANES_MAX || op == KERNEL_LANES_MIN;
    kernel_value *v = new_value(k, op, result_type(op, t), to_scalar ? 1 : x->lanes, 1);
    v->operands[0] = x;
    v->span = x->span;
    return v;
}

kernel_value *kernel_op2(kernel_ir *k, kernel_op op, element_type t, kernel_value *x, kernel_value *y) {
    int lanes = x->lanes > y->lanes ? x->lanes : y->lanes;
    kernel_value *v = new_value(k, op, result_type(op, t), lanes, 2);
    v->operands[0] = kernel_broadcast(k, x, lanes);
    v->operands[1] = kernel_broadcast(k, y, lanes);
    v->span = x->span;
    return v;
}

kernel_value *kernel_op3(kernel_ir *k, kernel_op op, element_type t, kernel_value *x, kernel_value *y, kernel_value *z) {
    int lanes = x->lanes > y->lanes ? x->lanes : y->lanes;
    if (z->lanes > lanes)
        lanes = z->lanes;
    kernel_value *v = new_value(k, op, result_type(op, t), lanes, 3);
    v->operands[0] = kernel_broadcast(k, x, lanes);
    v->operands[1] = kernel_broadcast(k, y, lanes);
    v->operands[2] = kernel_broadcast(k, z, lanes);
    v->span = x->span;
    return v;
}

kernel_value *kernel_prefix_select(kernel_ir *k, index_expr *count, kernel_value *x, kernel_value *y) {
    kernel_value *v = kernel_op2(k, KERNEL_PREFIX_SELECT, x->type, x, y);
    v->index = count;
    return v;
}

kernel_value *kernel_broadcast(kernel_ir *k, kernel_value *x, int lanes) {
    if (x->lanes == lanes || x->lanes != 1)
        return x; /* a mismatch of two vectors stays as it is: the checker names it */
    kernel_value *v = new_value(k, KERNEL_BROADCAST, x->type, lanes, 1);
    v->operands[0] = x;
    v->span = x->span;
    return v;
}

kernel_value *kernel_load(kernel_ir *k, kernel_access access) {
    kernel_value *v = new_value(k, KERNEL_LOAD, access.array->element, access.lanes, 0);
    v->access = access;
    return v;
}

kernel_access kernel_at(kernel_ir *k, kernel_array *array, index_expr **indices) {
    kernel_access access = {.array = array, .lanes = array->lanes > 1 ? array->lanes : 1};
    access.vector_dim = array->lanes > 1 ? -1 : array->rank - 1;
    access.indices = NEW_ARRAY(k->arena, index_expr *, array->rank);
    for (int i = 0; i < array->rank; i++)
        access.indices[i] = indices[i];
    return access;
}

bool kernel_stores_pieces(const kernel_fragment *f) {
    return f->role == FRAGMENT_ACCUMULATOR && f->holder == LEVEL_WARPGROUP && element_table[f->element].block_bytes == 2 &&
           f->columns % 32 == 0;
}

int kernel_row_lanes(const kernel_stmt *s) {
    int64_t box;
    if (s->kind == KSTMT_COPY) {
        const index_expr *last = s->extents && s->access.array->rank ? s->extents[s->access.array->rank - 1] : NULL;
        if (!last || !ix_is_const(last, &box) || box < 1 || box > 4096)
            return 1;
        /* a copy in bulk moves rows of its box in pieces of 16 bytes, wherever a swizzle puts these */
        int piece = 16 / element_table[s->access.array->element].block_bytes;
        return !s->name ? (int)box : piece > 0 && box % piece == 0 ? piece : 1;
    }
    const kernel_fragment *f = s->fragments[0].fragment;
    int last = s->access.array->rank - 1, bytes = element_table[s->access.array->element].block_bytes;
    if (s->row_step || s->column_step || s->row_dim == s->column_dim || (s->row_dim != last && s->column_dim != last))
        return 1;
    int side_by_side = s->column_dim == last ? f->columns : f->rows,
        most = f->role == FRAGMENT_A || f->role == FRAGMENT_B ? 16 / bytes : 2;
    if (s->kind == KSTMT_FRAGMENT_STORE && s->column_dim == last && kernel_stores_pieces(f))
        most = 16 / bytes;
    while (most > 1 && side_by_side % most)
        most /= 2;
    return most;
}

int kernel_aligned_lanes(const kernel_array *array, int lanes) {
    enum { LARGEST_BYTES = 16 };
    int bytes = element_table[array->element].block_bytes, most = LARGEST_BYTES / bytes;
    return lanes < most || most < 1 ? lanes : most;
}

static int64_t round_up(int64_t x, int64_t unit) {
    int64_t rest = x % unit, result;
    return !rest || __builtin_add_overflow(x, unit - rest, &result) ? x : result;
}

static bool multiply(int64_t *product, int64_t factor) {
    return !__builtin_mul_overflow(*product, factor, product);
}

int64_t kernel_array_cells(const kernel_array *a) {
    const kernel_layout *layout = &a->layout;
    int64_t cells = 1, dim;
    bool empty = false;
    for (int i = 0; i < a->rank; i++) {
        if (!ix_is_const(a->dims[i], &dim) || dim < 0)
            return -1;
        empty = empty || !dim;
    }
    if (empty)
        return 0;
    if (layout->kind == LAYOUT_STRIDES) {
        for (int i = 0; i < a->rank; i++) {
            int64_t stride, reach;
            ix_is_const(a->dims[i], &dim);
            if (!ix_is_const(layout->strides[i], &stride) || stride < 0)
                return -1;
            reach = dim - 1;
            if (!multiply(&reach, stride) || __builtin_add_overflow(cells, reach, &cells))
                return -1;
        }
        return cells;
    }
    for (int i = 0; i < a->rank; i++) {
        ix_is_const(a->dims[i], &dim);
        if (layout->kind == LAYOUT_PAD && i == a->rank - 1 && __builtin_add_overflow(dim, layout->amount, &dim))
            return -1;
        if (layout->kind == LAYOUT_PANEL && i == layout->dim && layout->amount > 0)
            dim = round_up(dim, layout->amount);
        if (layout->kind == LAYOUT_BOX && layout->box[i] > 0)
            dim = round_up(dim, layout->box[i]);
        if (!multiply(&cells, dim))
            return -1;
    }
    if (kernel_swizzle_run(layout) && layout->bits >= 0 && layout->base + layout->bits < 62)
        cells = round_up(cells, (int64_t)1 << (layout->base + layout->bits));
    return cells;
}

int64_t kernel_swizzle_run(const kernel_layout *layout) {
    bool swizzled = layout->kind == LAYOUT_SWIZZLE || (layout->kind == LAYOUT_BOX && layout->bits > 0);
    return swizzled && layout->base >= 0 && layout->base < 62 ? (int64_t)1 << layout->base : 0;
}

static int64_t space_bytes(const kernel_ir *k, memory_space space, int64_t unit) {
    int64_t total = 0;
    for (int i = 0; i < k->arrays.count; i++) {
        const kernel_array *a = k->arrays.at[i];
        if (a->space != space || a->view_of)
            continue;
        int64_t cells = kernel_array_cells(a);
        if (cells < 0 || !multiply(&cells, a->lanes) || cells > INT64_MAX / 64)
            return -1;
        if (space == SPACE_SHARED && a->alignment > unit)
            total = round_up(total, a->alignment);
        if (__builtin_add_overflow(total, round_up(element_bytes(a->element, cells), unit), &total))
            return -1;
    }
    return total;
}

int64_t kernel_private_bytes(const kernel_ir *k) {
    return space_bytes(k, SPACE_PRIVATE, 64);
}

int64_t kernel_mbarrier_bytes(const kernel_mbarrier *m) {
    return round_up(8 * (int64_t)m->slots, 128);
}

int64_t kernel_shared_bytes(const kernel_ir *k) {
    int64_t bytes = space_bytes(k, SPACE_SHARED, 128);
    for (int i = 0; i < k->mbarriers.count && bytes >= 0; i++) /* behind the arrays */
        if (__builtin_add_overflow(bytes, kernel_mbarrier_bytes(k->mbarriers.at[i]), &bytes))
            return -1;
    return bytes;
}

bool kernel_is_fragment_stmt(const kernel_stmt *s) {
    return (s->kind >= KSTMT_FRAGMENT_FILL && s->kind <= KSTMT_FRAGMENT_SET) ||
           (s->kind == KSTMT_INTRINSIC && (s->fragments[0].fragment || s->fragments[1].fragment));
}

level_kind kernel_fragment_holder(const kernel_stmt *s) {
    return s->fragments[s->fragments[0].fragment ? 0 : 1].fragment->holder;
}

index_expr **kernel_single_cell(arena *a, const kernel_array *array) {
    index_expr **extents = array ? NEW_ARRAY(a, index_expr *, array->rank + 1) : NULL;
    for (int d = 0; array && d < array->rank; d++)
        extents[d] = ix_const(a, 1);
    return extents;
}

const index_var *kernel_launch_integer(const kernel_ir *k, int i) {
    if (i < k->symbols.count)
        return k->symbols.at[i];
    i -= k->symbols.count;
    for (int j = 0; j < k->scalars.count; j++)
        if (k->scalars.at[j].var && i-- == 0)
            return k->scalars.at[j].var;
    return NULL;
}
