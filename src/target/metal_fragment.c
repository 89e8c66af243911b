/* MSL: fragments as simdgroup matrices of 8 x 8. Whole fragments whose rows or columns lie side by side are loaded and stored by Metal's functions; others
 * element by element, each lane its two, through thread_elements(). Which element of the matrix these are is fragment_layout.c's to say: two functions of the
 * prelude, written from its row. Row and column vectors are scalars: a lane holds the element of its row, or the two of its columns. */
#include "target/fragment_layout.h"
#include "target/metal.h"
#include <string.h>

#define HEAD "static inline "
enum { SIDE = 8, SHARE = 2 };

/* ---- types and names ---- */

static bool is_matrix(const kernel_fragment *f) {
    return f->role != FRAGMENT_ROW_VECTOR && f->role != FRAGMENT_COLUMN_VECTOR;
}

static const char *element_type_of(const kernel_fragment *f) {
    return f->element == ELEMENT_BF16 ? "bfloat" : metal_scalar_type(f->element);
}

static const char *fragment_type(cfamily *p, const kernel_fragment *f) {
    return is_matrix(f) ? arena_printf(p->arena, "simdgroup_%s8x8", element_type_of(f))
                        : metal_register_type(p, f->element, f->role == FRAGMENT_COLUMN_VECTOR ? SHARE : 1);
}

static bool has_form(const kernel_fragment *f) {
    bool narrow = f->element == ELEMENT_F16 || f->element == ELEMENT_BF16;
    int rows = f->role == FRAGMENT_COLUMN_VECTOR ? 1 : SIDE, columns = f->role == FRAGMENT_ROW_VECTOR ? 1 : SIDE;
    return f->rows == rows && f->columns == columns && f->holder == LEVEL_SUBGROUP &&
           (f->element == ELEMENT_F32 || (narrow && is_matrix(f)));
}

bool metal_fragments_begin(cfamily *p, const kernel_ir *k) {
    for (int i = 0; i < k->fragments.count; i++) {
        const kernel_fragment *f = k->fragments.at[i];
        if (!has_form(f))
            return cfamily_refuse(
                p, f->span,
                "fragments of %d x %d %s, role %s (it has 8 x 8 of %s, held by a subgroup, and vectors of f32 along "
                "them)",
                f->rows, f->columns, element_table[f->element].name, role_names[f->role],
                matrix_operands(p->arena, &metal_machine()->matrices));
    }
    cfamily_fragments_name(p, k);
    return true;
}

void metal_fragments_declare(cfamily *p, const kernel_ir *k, text_buffer *out) {
    cfamily_fragments_declare(p, k, fragment_type, out);
}

static const char *name_of_ref(cfamily *p, const fragment_ref *r) {
    return cfamily_fragment_name(p, r->fragment, r->index);
}

/* ---- where a lane's share stands ---- */

static void steps(text_buffer *out, const fragment_step *at, int bits, const char *of, bool row, const char *join) {
    for (int i = 0; i < bits; i++) {
        int step = row ? at[i].row : at[i].column;
        if (!step)
            continue;
        text_add(out, "%s(%s >> %d & 1) * %d", join, of, i, step);
        join = " + ";
    }
}

static const fragment_layout *layout(void) {
    static fragment_layout row; /* alike for all operands and types */
    if (!row.lanes)
        fragment_layout_find("metal", "simdgroup_matrix.8x8.f32", 'c', &row);
    return &row;
}

static void lane_functions(cfamily *p) {
    if (!cfamily_first_use(p, "fragment_row"))
        return;
    text_add(&p->prelude, "/* where element e of a lane's share of an 8 x 8 matrix stands */\n");
    for (int row = 1; row >= 0; row--) {
        text_buffer sum = {0};
        steps(&sum, layout()->lane, FRAGMENT_LANE_BITS, "lane", row, "");
        steps(&sum, layout()->element, FRAGMENT_ELEMENT_BITS, "e", row, " + ");
        text_add(&p->prelude, HEAD "int fragment_%s(int lane, int e)\n{\n    return %s;\n}\n", row ? "row" : "column",
                 text_get(&sum));
        text_free(&sum);
    }
}

/* ---- memory ---- */

static const char *space_of(const kernel_access *access) {
    const kernel_array *a = access->array;
    while (a->view_of)
        a = a->view_of;
    return a->space == SPACE_GLOBAL ? "device" : a->space == SPACE_SHARED ? "threadgroup" : NULL;
}

static kernel_access along(const kernel_access *access, int d) {
    kernel_access two = *access;
    two.lanes = 2;
    two.vector_dim = d;
    return two;
}

/* (pointer, [fragment,] elements between rows and between columns, rows and columns that exist, lane): each lane its share. */
static const char *by_lanes(cfamily *p, const kernel_fragment *f, bool store) {
    const char *type = fragment_type(p, f), *element = element_type_of(f);
    const char *shape = is_matrix(f) ? "matrix" : role_names[f->role];
    const char *name = arena_printf(p->arena, "%s_%s_%s", store ? "store" : "load", shape, element_table[f->element].name);
    if (!cfamily_first_use(p, name))
        return name;
    lane_functions(p);
    text_add(&p->prelude,
             "template <typename P> " HEAD "%s %s(P tile%s%s, long row, long column, long rows, long columns, int lane)\n{\n",
             store ? "void" : type, name, store ? ", " : "", store ? arena_printf(p->arena, "%s f", type) : "");
    if (!store)
        text_add(&p->prelude, "    %s f;\n", type);
    bool one = f->role == FRAGMENT_ROW_VECTOR;
    text_add(&p->prelude, "    for (int e = 0; e < %d; e++) {\n        const int r = %s, c = %s;\n", one ? 1 : SHARE,
             f->role == FRAGMENT_COLUMN_VECTOR ? "0" : "fragment_row(lane, e)", one ? "0" : "fragment_column(lane, e)");
    const char *place = "tile[r * row + c * column]";
    const char *mine = is_matrix(f) ? "f.thread_elements()[e]" : one ? "f" : "f[e]";
    if (store) /* of lanes that hold the same element of a vector the first stores it */
        text_add(&p->prelude, "        if (r < rows && c < columns%s)\n            %s = %s;\n",
                 one            ? " && fragment_column(lane, 0) == 0"
                 : is_matrix(f) ? ""
                                : " && fragment_row(lane, 0) == 0",
                 place, mine);
    else
        text_add(&p->prelude,
                 "        if (r < rows && c < columns)\n            %s = %s;\n        else\n            %s = %s(0);\n", mine,
                 place, mine, element);
    text_add(&p->prelude, store ? "    }\n}\n" : "    }\n    return f;\n}\n");
    return name;
}

/* Elements from one row (column) to the next; NULL: at no equal distances. */
static const char *pitch(cfamily *p, const kernel_access *by, index_expr *step) {
    const char *unit = cfamily_stride(p, by);
    return unit && step ? arena_printf(p->arena, "(%s) * (%s)", unit, cfamily_index_text(p, step)) : unit;
}

static bool reaches(cfamily *p, index_expr *extent, int size) {
    int64_t n;
    return ix_is_const(cfamily_fold(p, extent), &n) && n >= size;
}

static bool load_or_store(cfamily *p, const kernel_stmt *s) {
    arena *a = p->arena;
    const kernel_fragment *f = s->fragments[0].fragment;
    const kernel_access *access = &s->access;
    bool store = s->kind == KSTMT_FRAGMENT_STORE;
    const char *space = space_of(access);
    if (s->by_reference || !space || access->array->element != f->element)
        return false;
    bool whole = !s->extents || (reaches(p, s->extents[0], f->rows) && reaches(p, s->extents[1], f->columns));
    p->arrays[access->array->id].used = true;
    const char *place = arena_printf(a, "&%s[%s]", p->arrays[access->array->id].name,
                                     whole ? cfamily_offset(p, access, 0) : cfamily_far_offset(p, access));
    if (f->element == ELEMENT_BF16) /* whose bits are elsewhere all that is looked at */
        place = arena_printf(a, "(%s %sbfloat *)%s", space, access->array->use == USE_IN ? "const " : "", place);
    kernel_access by_row = along(access, s->row_dim), by_column = along(access, s->column_dim);
    const char *row = pitch(p, &by_row, s->row_step), *column = pitch(p, &by_column, s->column_step),
               *fragment = name_of_ref(p, &s->fragments[0]);
    if (!row || !column)
        return cfamily_refuse(p, s->span, "fragments in a layout whose rows lie at no equal distances");
    bool rows_along = !s->row_step && cfamily_contiguous(p, &by_row),
         columns_along = !s->column_step && cfamily_contiguous(p, &by_column);
    if (is_matrix(f) && whole && (rows_along || columns_along) && !p->kernel->lane_access) {
        cfamily_line(p, "simdgroup_%s(%s, %s, %s%s);", store ? "store" : "load", fragment, place, columns_along ? row : column,
                     columns_along ? "" : ", ulong2(0, 0), true");
        return true;
    }
    const char *rows = s->extents ? cfamily_index_text(p, s->extents[0]) : arena_printf(a, "%d", f->rows),
               *columns = s->extents ? cfamily_index_text(p, s->extents[1]) : arena_printf(a, "%d", f->columns);
    const char *name = by_lanes(p, f, store);
    if (store)
        cfamily_line(p, "%s(%s, %s, %s, %s, %s, %s, simd_lane);", name, place, fragment, row, column, rows, columns);
    else
        cfamily_line(p, "%s = %s(%s, %s, %s, %s, %s, simd_lane);", fragment, name, place, row, column, rows, columns);
    return true;
}

/* ---- arithmetic ---- */

static void fill(cfamily *p, const kernel_stmt *s) {
    const kernel_fragment *f = s->fragments[0].fragment;
    const char *value = cfamily_statement_value(p, s->value).text, *fragment = name_of_ref(p, &s->fragments[0]);
    if (f->element == ELEMENT_BF16)
        value = arena_printf(p->arena, "as_type<bfloat>(%s)", value);
    if (is_matrix(f))
        cfamily_line(p, "%s = make_filled_simdgroup_matrix<%s, 8, 8>(%s);", fragment, element_type_of(f), value);
    else
        cfamily_line(p, "%s = %s(%s);", fragment, fragment_type(p, f), value);
}

static const char *element_of(cfamily *p, const kernel_fragment *f, const char *name, const char *e) {
    return f->role == FRAGMENT_ROW_VECTOR      ? name
           : f->role == FRAGMENT_COLUMN_VECTOR ? arena_printf(p->arena, "%s[%s]", name, e)
                                               : arena_printf(p->arena, "%s.thread_elements()[%s]", name, e);
}

static void set_element(cfamily *p, const kernel_fragment *f, const char *name, const char *e, const char *value) {
    cfamily_line(p, f->element == ELEMENT_BF16 ? "%s = as_type<bfloat>(%s);" : "%s = %s;", element_of(p, f, name, e), value);
}

/* The lane's elements one after the other. */
static void map(cfamily *p, const fragment_ref *d, index_var *row_var, index_var *column_var, const kernel_value *v) {
    const kernel_fragment *f = d->fragment;
    const char *fragment = name_of_ref(p, d), *outer = p->element;
    text_buffer body = {0}, *out = p->out;
    int taken = p->names.count;
    lane_functions(p);
    const char *element = cfamily_unique(p, "e"), *row = row_var ? cfamily_unique(p, row_var->name) : NULL,
               *column = column_var ? cfamily_unique(p, column_var->name) : NULL;
    if (row_var)
        cfamily_bind(p, row_var, row);
    if (column_var)
        cfamily_bind(p, column_var, column);
    p->element = element;
    p->out = &body;
    p->indent++;
    set_element(p, f, fragment, element, cfamily_statement_value(p, v).text);
    p->out = out;
    p->indent--;
    cfamily_line(p, "for (int %s = 0; %s < %d; %s++) {", element, element, f->role == FRAGMENT_ROW_VECTOR ? 1 : SHARE, element);
    p->indent++;
    if (row_var && cfamily_find(p, row_var)->used)
        cfamily_line(p, "const %s %s = %s;", cfamily_index_type(p), row,
                     f->role == FRAGMENT_COLUMN_VECTOR ? "0" : arena_printf(p->arena, "fragment_row(simd_lane, %s)", element));
    if (column_var && cfamily_find(p, column_var)->used)
        cfamily_line(p, "const %s %s = %s;", cfamily_index_type(p), column,
                     f->role == FRAGMENT_ROW_VECTOR ? "0" : arena_printf(p->arena, "fragment_column(simd_lane, %s)", element));
    text_add(out, "%s", text_get(&body));
    p->indent--;
    cfamily_line(p, "}");
    text_free(&body);
    p->element = outer;
    if (row_var)
        cfamily_bind(p, row_var, NULL);
    if (column_var)
        cfamily_bind(p, column_var, NULL);
    p->names.count = taken;
}

static void convert(cfamily *p, const kernel_stmt *s) {
    const kernel_fragment *d = s->fragments[0].fragment, *x = s->fragments[1].fragment;
    kernel_value element = {.op = KERNEL_FRAGMENT_ELEMENT, .type = x->element, .lanes = 1, .fragment = (kernel_fragment *)x};
    element.fragment_index = s->fragments[1].index;
    element.span = s->span;
    kernel_value *operand = &element;
    kernel_value to = {
        .op = KERNEL_CONVERT, .type = d->element, .lanes = 1, .operand_count = 1, .operands = &operand, .span = s->span};
    map(p, &s->fragments[0], NULL, NULL, d->element == x->element ? operand : &to);
}

/* (matrix): the two elements of a lane, then those of the lanes that hold more of the same row, or column. */
static const char *reduction(cfamily *p, const kernel_stmt *s) {
    const char *how = s->combine == KERNEL_ADD ? "add" : s->combine == KERNEL_MAX ? "max" : "min";
    bool rows = s->axis == 1; /* to an element for each row */
    const char *name = arena_printf(p->arena, "matrix_%s_of_%s", how, rows ? "rows" : "columns");
    if (!cfamily_first_use(p, name))
        return name;
    const char *type = rows ? "float" : "float2";
    const char *form = s->combine == KERNEL_ADD   ? "%s + %s"
                       : s->combine == KERNEL_MAX ? "precise::fmax(%s, %s)"
                                                  : "precise::fmin(%s, %s)";
    text_add(&p->prelude, HEAD "%s %s(simdgroup_float8x8 f)\n{\n    ", type, name);
    if (rows) {
        text_add(&p->prelude, "float r = ");
        text_add(&p->prelude, form, "f.thread_elements()[0]", "f.thread_elements()[1]");
    } else {
        text_add(&p->prelude, "float2 r = float2(f.thread_elements()[0], f.thread_elements()[1])");
    }
    text_add(&p->prelude, ";\n");
    for (int i = 0; i < FRAGMENT_LANE_BITS; i++)
        if (rows ? layout()->lane[i].column : layout()->lane[i].row) {
            text_add(&p->prelude, "    r = ");
            text_add(&p->prelude, form, "r", arena_printf(p->arena, "simd_shuffle_xor(r, ushort(%d))", 1 << i));
            text_add(&p->prelude, ";\n");
        }
    text_add(&p->prelude, "    return r;\n}\n");
    return name;
}

const char *metal_fragment_element(cfamily *p, const kernel_value *v) {
    const kernel_value *of = v->op == KERNEL_FRAGMENT_ROW || v->op == KERNEL_FRAGMENT_COLUMN ? v->operands[0] : v;
    const char *e = v->op == KERNEL_LANE_VIEW ? cfamily_index_text(p, v->index) : p->element;
    if (!e)
        return NULL;
    const char *text = element_of(p, of->fragment, cfamily_fragment_name(p, of->fragment, of->fragment_index), e);
    return of->fragment->element == ELEMENT_BF16 ? arena_printf(p->arena, "as_type<ushort>(%s)", text) : text;
}

bool metal_fragment_statement(cfamily *p, const kernel_stmt *s) {
    const fragment_ref *f = s->fragments;
    switch (s->kind) {
    case KSTMT_FRAGMENT_FILL: fill(p, s); return true;
    case KSTMT_FRAGMENT_LOAD:
    case KSTMT_FRAGMENT_STORE: return load_or_store(p, s);
    case KSTMT_FRAGMENT_MMA:
        if (s->asynchronous || !matrix_of_mma(&metal_machine()->matrices, s))
            return false;
        cfamily_line(p, "simdgroup_multiply_accumulate(%s, %s, %s, %s);", name_of_ref(p, &f[0]), name_of_ref(p, &f[1]),
                     name_of_ref(p, &f[2]), name_of_ref(p, &f[3]));
        return true;
    case KSTMT_FRAGMENT_MAP: map(p, &f[0], s->row, s->column, s->value); return true;
    case KSTMT_FRAGMENT_REDUCE:
        if (f[1].fragment->element != ELEMENT_F32 || f[0].fragment->element != ELEMENT_F32)
            return false;
        cfamily_line(p, "%s = %s(%s);", name_of_ref(p, &f[0]), reduction(p, s), name_of_ref(p, &f[1]));
        return true;
    case KSTMT_FRAGMENT_CONVERT: convert(p, s); return true;
    case KSTMT_FRAGMENT_SET:
        set_element(p, f[0].fragment, name_of_ref(p, &f[0]), cfamily_index_text(p, s->element),
                    cfamily_statement_value(p, s->value).text);
        return true;
    default: return false;
    }
}
