/* AIR: fragments are values `<64 x T>` of the simdgroup, of which a lane holds the first two elements. Whole ones whose rows or columns lie side by side are loaded
 * and stored by Metal's functions, others by each lane for itself. Row and column vectors are a scalar, and two. */
#include "target/air.h"
#include "target/fragment_layout.h"
#include "target/metal.h"
#include <string.h>

enum { SIDE = 8, SHARE = 2 };

static bool is_matrix(const kernel_fragment *f) {
    return f->role != FRAGMENT_ROW_VECTOR && f->role != FRAGMENT_COLUMN_VECTOR;
}

static const char *element_type_of(const kernel_fragment *f) {
    return f->element == ELEMENT_F32 ? "float" : f->element == ELEMENT_F16 ? "half" : "bfloat";
}

static const char *short_type(const kernel_fragment *f) {
    return f->element == ELEMENT_F32 ? "f32" : f->element == ELEMENT_F16 ? "f16" : "bf16";
}

const char *air_fragment_type(air *a, const kernel_fragment *f) {
    return is_matrix(f)                     ? arena_printf(a->arena, "<64 x %s>", element_type_of(f))
           : f->role == FRAGMENT_ROW_VECTOR ? "float"
                                            : "<2 x float>";
}

bool air_fragments(air *a) {
    for (int i = 0; i < a->kernel->fragments.count; i++) {
        const kernel_fragment *f = a->kernel->fragments.at[i];
        int rows = f->role == FRAGMENT_COLUMN_VECTOR ? 1 : SIDE, columns = f->role == FRAGMENT_ROW_VECTOR ? 1 : SIDE;
        bool narrow = f->element == ELEMENT_F16 || f->element == ELEMENT_BF16;
        if (f->rows != rows || f->columns != columns || f->holder != LEVEL_SUBGROUP ||
            !(f->element == ELEMENT_F32 || (narrow && is_matrix(f))))
            return air_refuse(
                a, f->span,
                "fragments of %d x %d %s, role %s (it has 8 x 8 of %s, held by a subgroup, and vectors of f32 along them)",
                f->rows, f->columns, element_table[f->element].name, role_names[f->role],
                matrix_operands(a->arena, &metal_machine()->matrices));
    }
    return true;
}

int air_fragment_slot(air *a, const kernel_fragment *f, const index_expr *index) {
    int64_t n = 0;
    if (index && (!air_constant_index(a, index, &n) || n < 0 || n >= f->count)) {
        air_refuse(a, f->span, "a fragment's index that is no constant");
        n = 0;
    }
    return a->fragment_slots[f->id] + (int)n;
}

static const char *held(air *a, const fragment_ref *r) {
    const char *text = a->slots[air_fragment_slot(a, r->fragment, r->index)];
    return text ? text : "undef";
}

static void hold(air *a, const fragment_ref *r, const char *text) {
    a->slots[air_fragment_slot(a, r->fragment, r->index)] = text;
}

/* ---- a lane's share ---- */

static const fragment_layout *layout(void) {
    static fragment_layout row;
    if (!row.lanes)
        fragment_layout_find("metal", "simdgroup_matrix.8x8.f32", 'c', &row);
    return &row;
}

/* The row or column at which element e of this lane's share stands. */
static air_integer position(air *a, bool row, int e) {
    int constant = 0;
    const char *sum = NULL;
    for (int i = 0; i < FRAGMENT_ELEMENT_BITS; i++)
        if (e >> i & 1)
            constant += row ? layout()->element[i].row : layout()->element[i].column;
    for (int i = 0; i < FRAGMENT_LANE_BITS; i++) {
        int step = row ? layout()->lane[i].row : layout()->lane[i].column;
        if (!step)
            continue;
        const char *bit = air_pure(a, "and i32 %s, %d", i ? air_pure(a, "lshr i32 %s, %d", a->lane, i) : a->lane, 1);
        const char *part = step == 1 ? bit : air_pure(a, "mul i32 %s, %d", bit, step);
        sum = sum ? air_pure(a, "add i32 %s, %s", sum, part) : part;
    }
    return air_add(a, (air_integer){false, 0, air_pure(a, "zext i32 %s to i64", sum)}, air_known_integer(constant));
}

static int shares(const kernel_fragment *f) {
    return f->role == FRAGMENT_ROW_VECTOR ? 1 : SHARE;
}

/* Element e of the share, as values go: bf16 by its bits. */
static const char *element(air *a, const kernel_fragment *f, const char *matrix, int e) {
    if (f->role == FRAGMENT_ROW_VECTOR)
        return matrix;
    const char *x = air_pure(a, "extractelement %s %s, i32 %d", air_fragment_type(a, f), matrix, e);
    return f->element == ELEMENT_BF16 ? air_pure(a, "bitcast bfloat %s to i16", x) : x;
}

static const char *with_element(air *a, const kernel_fragment *f, const char *matrix, int e, const char *x) {
    if (f->role == FRAGMENT_ROW_VECTOR)
        return x;
    if (f->element == ELEMENT_BF16)
        x = air_pure(a, "bitcast i16 %s to bfloat", x);
    return air_pure(a, "insertelement %s %s, %s %s, i32 %d", air_fragment_type(a, f), matrix, element_type_of(f), x, e);
}

/* ---- memory ---- */

/* <2 x i64> <x, y>. */
static const char *pair(air *a, air_integer x, air_integer y) {
    const char *both = arena_printf(a->arena, "<i64 %s, i64 %s>", x.is_constant ? air_integer_text(a, x) : "undef",
                                    y.is_constant ? air_integer_text(a, y) : "undef");
    if (!x.is_constant)
        both = air_pure(a, "insertelement <2 x i64> %s, i64 %s, i32 0", both, x.text);
    return y.is_constant ? both : air_pure(a, "insertelement <2 x i64> %s, i64 %s, i32 1", both, y.text);
}

static bool is_one(air_integer x) {
    return x.is_constant && x.value == 1;
}

static bool reaches(air *a, const index_expr *extent, int size) {
    int64_t n;
    return air_constant_index(a, extent, &n) && n >= size;
}

static void native(air *a, const kernel_stmt *s, const char *place, air_integer row, air_integer column) {
    const kernel_fragment *f = s->fragments[0].fragment;
    int space = air_space(s->access.array);
    bool store = s->kind == KSTMT_FRAGMENT_STORE, transposed = !is_one(column);
    const char *element = element_type_of(f), *type = air_fragment_type(a, f), *pointer = air_pointer(a, element, space);
    air_integer leading = transposed ? column : row, eight = air_known_integer(SIDE), one = air_known_integer(1);
    if (f->element == ELEMENT_BF16 && a->form == AIR_TYPED)
        place = air_pure(a, "bitcast %s %s to %s", air_pointer(a, "i16", space), place, pointer);
    const char *name = arena_printf(a->arena, "air.simdgroup_matrix_8x8_%s.v64%s.p%d%s", store ? "store" : "load", short_type(f),
                                    space, short_type(f));
    const char *first = store ? arena_printf(a->arena, "%s, ", type) : "",
               *value = store ? arena_printf(a->arena, "%s %s, ", type, held(a, &s->fragments[0])) : "";
    const char *types, *arguments;
    if (a->form == AIR_OPAQUE) {
        types = arena_printf(a->arena, "%s%s, <2 x i64>, <2 x i64>, <2 x i64>", first, pointer);
        arguments = arena_printf(a->arena, "%s%s %s, <2 x i64> %s, <2 x i64> %s, <2 x i64> zeroinitializer", value, pointer,
                                 place, transposed ? pair(a, eight, leading) : pair(a, leading, eight),
                                 transposed ? pair(a, leading, one) : pair(a, one, leading));
    } else {
        types = arena_printf(a->arena, "%s%s, i64, <2 x i64>, i1", first, pointer);
        arguments = arena_printf(a->arena, "%s%s %s, i64 %s, <2 x i64> zeroinitializer, i1 %s", value, pointer, place,
                                 air_integer_text(a, leading), transposed ? "true" : "false");
    }
    const char *loaded = air_call(a, store ? "void" : type, name, types, arguments);
    if (!store)
        hold(a, &s->fragments[0], loaded);
}

/* Of lanes that hold the same element of a vector the first stores it. */
static const char *stores_alone(air *a, const kernel_fragment *f) {
    return is_matrix(f)
               ? NULL
               : air_pure(a, "icmp eq i64 %s, 0", air_integer_text(a, position(a, f->role == FRAGMENT_COLUMN_VECTOR, 0)));
}

static const char *exists(air *a, air_integer at, const index_expr *extent, int size, const char *so_far) {
    if (!extent || reaches(a, extent, size))
        return so_far;
    const char *c = air_pure(a, "icmp slt i64 %s, %s", air_integer_text(a, at), air_index_text(a, extent));
    return so_far ? air_pure(a, "and i1 %s, %s", so_far, c) : c;
}

/* Each lane its elements. */
static void by_lanes(air *a, const kernel_stmt *s, air_integer offset, air_integer row, air_integer column) {
    const kernel_fragment *f = s->fragments[0].fragment;
    const kernel_array *array = s->access.array;
    bool store = s->kind == KSTMT_FRAGMENT_STORE;
    const char *type = air_storage_type(array->element), *pointer = air_pointer(a, type, air_space(array)), *matrix = "undef";
    int bytes = element_table[array->element].block_bytes;
    for (int e = 0; e < shares(f); e++) {
        air_integer r = f->role == FRAGMENT_COLUMN_VECTOR ? air_known_integer(0) : position(a, true, e),
                    c = f->role == FRAGMENT_ROW_VECTOR ? air_known_integer(0) : position(a, false, e);
        const char *condition = exists(a, r, s->extents ? s->extents[0] : NULL, f->rows, NULL);
        condition = exists(a, c, s->extents ? s->extents[1] : NULL, f->columns, condition);
        if (store && stores_alone(a, f))
            condition = condition ? air_pure(a, "and i1 %s, %s", condition, stores_alone(a, f)) : stores_alone(a, f);
        const char *value = store ? element(a, f, held(a, &s->fragments[0]), e) : NULL;
        const char *inside = condition ? air_new_label(a, "part") : NULL, *on = condition ? air_new_label(a, "on") : NULL,
                   *from = a->block;
        int mark = a->known.count;
        if (condition) {
            air_line(a, "br i1 %s, label %%%s, label %%%s", condition, inside, on);
            air_begin_block(a, inside);
        }
        air_integer at = air_add(a, offset, air_add(a, air_multiply(a, r, row), air_multiply(a, c, column)));
        const char *place = air_place(a, array, at);
        if (store)
            air_line(a, "store %s %s, %s %s, align %d", type, value, pointer, place, bytes);
        else
            value = air_result(a, "load %s, %s %s, align %d", type, pointer, place, bytes);
        if (condition) {
            air_line(a, "br label %%%s", on);
            air_leave(a, mark);
            air_begin_block(a, on);
            if (!store)
                value = air_result(a, "phi %s [ %s, %%%s ], [ %s, %%%s ]", type, value, inside, *type == 'i' ? "0" : "0.0", from);
        }
        if (!store)
            matrix = with_element(a, f, matrix, e, value);
    }
    if (!store)
        hold(a, &s->fragments[0], matrix);
}

/* Each lane its two elements at once, which lie side by side: widened to the matrix, or narrowed from it. */
static void by_pairs(air *a, const kernel_stmt *s, air_integer offset, air_integer row) {
    const kernel_fragment *f = s->fragments[0].fragment;
    const kernel_array *array = s->access.array;
    const char *element = element_type_of(f), *two = arena_printf(a->arena, "<2 x %s>", element),
               *whole = air_fragment_type(a, f);
    int space = air_space(array), bytes = element_table[array->element].block_bytes;
    const char *pointer = air_pointer(a, two, space), *stored = air_pointer(a, air_storage_type(array->element), space);
    const char *place =
        air_place(a, array, air_add(a, offset, air_add(a, air_multiply(a, position(a, true, 0), row), position(a, false, 0))));
    if (a->form == AIR_TYPED)
        place = air_pure(a, "bitcast %s %s to %s", stored, place, pointer);
    if (s->kind == KSTMT_FRAGMENT_STORE) {
        const char *narrow =
            air_pure(a, "shufflevector %s %s, %s undef, <2 x i32> <i32 0, i32 1>", whole, held(a, &s->fragments[0]), whole);
        air_line(a, "store %s %s, %s %s, align %d", two, narrow, pointer, place, bytes);
        return;
    }
    text_buffer mask = {0};
    for (int i = 0; i < SIDE * SIDE; i++)
        text_add(&mask, "%si32 %s", i ? ", " : "", i < SHARE ? arena_printf(a->arena, "%d", i) : "undef");
    const char *pair = air_result(a, "load %s, %s %s, align %d", two, pointer, place, bytes);
    hold(a, &s->fragments[0], air_pure(a, "shufflevector %s %s, %s undef, <64 x i32> <%s>", two, pair, two, text_get(&mask)));
    text_free(&mask);
}

static bool load_or_store(air *a, const kernel_stmt *s) {
    const kernel_fragment *f = s->fragments[0].fragment;
    if (s->by_reference || s->access.array->element != f->element || air_space(s->access.array) == AIR_SPACE_THREAD)
        return false;
    air_integer offset, row, column;
    if (!air_offset(a, &s->access, 0, &offset) || !air_stride(a, s->access.array, s->row_dim, &row) ||
        !air_stride(a, s->access.array, s->column_dim, &column))
        return true; /* diagnosed */
    if (s->row_step)
        row = air_multiply(a, row, air_index(a, s->row_step));
    if (s->column_step)
        column = air_multiply(a, column, air_index(a, s->column_step));
    bool whole = !s->extents || (reaches(a, s->extents[0], f->rows) && reaches(a, s->extents[1], f->columns));
    if (is_matrix(f) && whole && is_one(column) && a->kernel->lane_access)
        by_pairs(a, s, offset, row);
    else if (is_matrix(f) && whole && (is_one(row) || is_one(column)) && !a->kernel->lane_access)
        native(a, s, air_place(a, s->access.array, offset), row, column);
    else
        by_lanes(a, s, offset, row, column);
    return true;
}

/* ---- arithmetic ---- */

static void fill(air *a, const kernel_stmt *s) {
    const kernel_fragment *f = s->fragments[0].fragment;
    int mark = a->bound.count;
    const char *x = air_value(a, s->value), *type = air_fragment_type(a, f);
    air_forget(a, mark);
    if (f->element == ELEMENT_BF16)
        x = air_pure(a, "bitcast i16 %s to bfloat", x);
    if (!is_matrix(f))
        hold(a, &s->fragments[0], f->role == FRAGMENT_ROW_VECTOR ? x : air_splat(a, "float", x, SHARE));
    else
        hold(a, &s->fragments[0],
             air_call(a, type,
                      arena_printf(a->arena, "air.simdgroup_matrix_8x8_init_filled.v64%s.%s", short_type(f), short_type(f)),
                      element_type_of(f), arena_printf(a->arena, "%s %s", element_type_of(f), x)));
}

static bool multiply(air *a, const kernel_stmt *s) {
    if (s->asynchronous || !matrix_of_mma(&metal_machine()->matrices, s))
        return false;
    const kernel_fragment *d = s->fragments[0].fragment;
    text_buffer name = {0}, types = {0}, arguments = {0};
    text_add(&name, "air.simdgroup_matrix_8x8_multiply_accumulate.v64%s", short_type(d));
    for (int i = 1; i < 4; i++) {
        const kernel_fragment *f = s->fragments[i].fragment;
        text_add(&name, ".v64%s", short_type(f));
        text_add(&types, "%s%s", i > 1 ? ", " : "", air_fragment_type(a, f));
        text_add(&arguments, "%s%s %s", i > 1 ? ", " : "", air_fragment_type(a, f), held(a, &s->fragments[i]));
    }
    hold(a, &s->fragments[0],
         air_call(a, air_fragment_type(a, d), arena_strdup(a->arena, text_get(&name)), text_get(&types), text_get(&arguments)));
    text_free(&name);
    text_free(&types);
    text_free(&arguments);
    return true;
}

/* Each element is made of what was held before. */
static void map(air *a, const fragment_ref *d, const index_var *row, const index_var *column, const kernel_value *v) {
    const kernel_fragment *f = d->fragment;
    const char *made = "undef";
    for (int e = 0; e < shares(f) && !a->failed; e++) {
        int mark = a->bound.count;
        a->in_map = true;
        a->map_element = air_known_integer(e);
        air_integer r = f->role == FRAGMENT_COLUMN_VECTOR ? air_known_integer(0) : position(a, true, e),
                    c = f->role == FRAGMENT_ROW_VECTOR ? air_known_integer(0) : position(a, false, e);
        if (row)
            air_bind(a, row, air_integer_text(a, r));
        if (column)
            air_bind(a, column, air_integer_text(a, c));
        made = with_element(a, f, made, e, air_value(a, v));
        a->in_map = false;
        air_forget(a, mark);
    }
    hold(a, d, made);
}

static void convert(air *a, const kernel_stmt *s) {
    const kernel_fragment *x = s->fragments[1].fragment, *d = s->fragments[0].fragment;
    kernel_value from = {
        .op = KERNEL_FRAGMENT_ELEMENT, .type = x->element, .lanes = 1, .fragment = (kernel_fragment *)x, .span = s->span};
    from.fragment_index = s->fragments[1].index;
    kernel_value *operand = &from;
    kernel_value to = {
        .op = KERNEL_CONVERT, .type = d->element, .lanes = 1, .operand_count = 1, .operands = &operand, .span = s->span};
    map(a, &s->fragments[0], NULL, NULL, x->element == d->element ? operand : &to);
}

/* The two elements of a lane, then those of the lanes that hold more of the same row, or column. */
static bool reduce(air *a, const kernel_stmt *s) {
    const kernel_fragment *x = s->fragments[1].fragment;
    bool rows = s->axis == 1; /* to an element for each row */
    if (x->element != ELEMENT_F32 || s->fragments[0].fragment->element != ELEMENT_F32)
        return false;
    const char *name = s->combine == KERNEL_MAX ? "air.fmax.f32" : "air.fmin.f32", *part[SHARE];
    for (int e = 0; e < SHARE; e++)
        part[e] = element(a, x, held(a, &s->fragments[1]), e);
    int count = rows ? 1 : SHARE;
#define COMBINED(l, r)                                                                                                           \
    (s->combine == KERNEL_ADD ? air_pure(a, "fadd float %s, %s", l, r)                                                           \
                              : air_call(a, "float", name, "float, float", arena_printf(a->arena, "float %s, float %s", l, r)))
    if (rows)
        part[0] = COMBINED(part[0], part[1]);
    for (int i = 0; i < FRAGMENT_LANE_BITS; i++)
        for (int e = 0; (rows ? layout()->lane[i].column : layout()->lane[i].row) && e < count; e++) {
            const char *other = air_call(a, "float", "air.simd_shuffle_xor.f32", "float, i16",
                                         arena_printf(a->arena, "float %s, i16 %d", part[e], 1 << i));
            part[e] = COMBINED(part[e], other);
        }
#undef COMBINED
    const char *all = rows ? part[0] : "undef";
    for (int e = 0; !rows && e < SHARE; e++)
        all = air_pure(a, "insertelement <2 x float> %s, float %s, i32 %d", all, part[e], e);
    hold(a, &s->fragments[0], all);
    return true;
}

const char *air_fragment_value(air *a, const kernel_value *v) {
    const kernel_value *of = v->op == KERNEL_FRAGMENT_ROW || v->op == KERNEL_FRAGMENT_COLUMN ? v->operands[0] : v;
    int64_t e = a->in_map ? a->map_element.value : 0;
    if (v->op == KERNEL_LANE_VIEW ? !air_constant_index(a, v->index, &e) || e < 0 || e >= SHARE : !a->in_map) {
        air_refuse(a, v->span, "`%s` here", kernel_op_table[v->op].name);
        return "undef";
    }
    const char *matrix = a->slots[air_fragment_slot(a, of->fragment, of->fragment_index)];
    return element(a, of->fragment, matrix ? matrix : "undef", (int)e);
}

bool air_fragment_statement(air *a, const kernel_stmt *s) {
    switch (s->kind) {
    case KSTMT_FRAGMENT_FILL: fill(a, s); return true;
    case KSTMT_FRAGMENT_LOAD:
    case KSTMT_FRAGMENT_STORE: return load_or_store(a, s);
    case KSTMT_FRAGMENT_MMA: return multiply(a, s);
    case KSTMT_FRAGMENT_MAP: map(a, &s->fragments[0], s->row, s->column, s->value); return true;
    case KSTMT_FRAGMENT_REDUCE: return reduce(a, s);
    case KSTMT_FRAGMENT_CONVERT: convert(a, s); return true;
    case KSTMT_FRAGMENT_SET: {
        int64_t e;
        if (!air_constant_index(a, s->element, &e) || e < 0 || e >= SHARE)
            return false;
        int mark = a->bound.count;
        const char *x = air_value(a, s->value);
        air_forget(a, mark);
        hold(a, &s->fragments[0], with_element(a, s->fragments[0].fragment, held(a, &s->fragments[0]), (int)e, x));
        return true;
    }
    default: return false;
    }
}
