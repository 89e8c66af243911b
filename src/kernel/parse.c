/* Reading Kernel IR text: declarations. The first error ends the reading. */
#include "kernel/reader.h"
#include <limits.h>
#include <string.h>

static void read_symbols(reader *r) {
    do {
        source_span span = r->now.span;
        index_var *v = kernel_add_symbol(r->kernel, reader_name(r, "the symbol's name"));
        reader_range(r, v);
        reader_declare_var(r, span, v);
    } while (reader_accept(r, ","));
}

static void read_scalar(reader *r) {
    source_span span = r->now.span;
    kernel_scalar s = {.name = reader_name(r, "the scalar's name")};
    int lanes;
    reader_expect(r, ":");
    reader_element(r, &s.type, &lanes);
    if (s.type == ELEMENT_I32 || s.type == ELEMENT_U32 || s.type == ELEMENT_INDEX) {
        s.var = kernel_new_var(r->kernel, s.name, INDEX_SCALAR);
        s.var->span = span;
        reader_range(r, s.var);
    }
    kernel_scalar *kept = NEW(r->arena, kernel_scalar); /* the vector may move */
    *kept = s;
    VEC_PUSH(r->arena, r->kernel->scalars, s);
    reader_declare(r, span, s.name, NAME_SCALAR, kept, s.var);
}

static void read_level(reader *r, level_kind kind) {
    enum { MOST = 8 };
    const char *names[MOST];
    index_expr *extents[MOST];
    source_span spans[MOST];
    int rank = 0;
    reader_expect(r, "(");
    while (!r->failed && !reader_at(r, ")")) {
        if (rank == MOST) {
            reader_fail(r, "E0162", r->now.span, "a level has at most %d ids", MOST);
            return;
        }
        if (rank)
            reader_expect(r, ",");
        spans[rank] = r->now.span;
        names[rank] = reader_name(r, "an id's name");
        reader_expect(r, "<");
        extents[rank++] = read_index(r);
    }
    reader_expect(r, ")");
    if (r->failed)
        return;
    kernel_add_level(r->kernel, kind, rank, names, extents);
    kernel_level *l = &r->kernel->levels.at[r->kernel->levels.count - 1];
    for (int i = 0; i < rank; i++)
        reader_declare_var(r, spans[i], l->ids[i]);
}

static void read_swizzle(reader *r, kernel_layout *l) {
    l->bits = (int)reader_integer(r, 0, 60, "bits");
    reader_expect(r, ",");
    l->base = (int)reader_integer(r, 0, 60, "base");
    reader_expect(r, ",");
    l->shift = (int)reader_integer(r, 0, 60, "shift");
}

static void read_layout(reader *r, kernel_array *a) {
    static const char *const words[] = {"strides", "pad", "panel", "swizzle", "box"};
    kernel_layout *l = &a->layout;
    int kind = reader_word(r, words, 5);
    reader_expect(r, "(");
    switch (kind) {
    case 0:
        l->kind = LAYOUT_STRIDES;
        l->strides = read_index_list(r, a->rank, ")");
        return;
    case 1:
        l->kind = LAYOUT_PAD;
        l->amount = reader_integer(r, 0, INT_MAX, "the padding");
        break;
    case 2:
        l->kind = LAYOUT_PANEL;
        l->dim = (int)reader_integer(r, 0, 100, "a dimension");
        reader_expect(r, ",");
        l->amount = reader_integer(r, 1, INT_MAX, "the panel's width");
        break;
    case 3:
        l->kind = LAYOUT_SWIZZLE;
        read_swizzle(r, l);
        break;
    case 4:
        l->kind = LAYOUT_BOX;
        l->box = NEW_ARRAY(r->arena, int64_t, a->rank ? a->rank : 1);
        for (int i = 0; i < a->rank; i++) {
            if (i)
                reader_expect(r, ",");
            l->box[i] = reader_integer(r, 1, INT_MAX, "a box extent");
        }
        reader_expect(r, ")");
        if (!reader_accept(r, "swizzle"))
            return;
        reader_expect(r, "(");
        read_swizzle(r, l);
        break;
    default: reader_fail(r, "E0161", r->now.span, "expected a layout here, found `%s`", r->now.text); return;
    }
    reader_expect(r, ")");
}

static void read_cells(reader *r, kernel_array *a) {
    int mark = kernel_scope_mark(&r->names);
    a->cell_vars = NEW_ARRAY(r->arena, index_var *, a->rank ? a->rank : 1);
    reader_expect(r, "(");
    for (int i = 0; i < a->rank; i++) {
        if (i)
            reader_expect(r, ",");
        source_span span = r->now.span;
        a->cell_vars[i] = kernel_new_var(r->kernel, reader_name(r, "a cell variable"), INDEX_LOOP);
        reader_declare_var(r, span, a->cell_vars[i]);
    }
    reader_expect(r, ")");
    reader_expect(r, "where");
    a->cells = read_condition(r);
    kernel_scope_undo(&r->names, mark);
}

static void read_attributes(reader *r, kernel_array *a) {
    while (!r->failed) {
        if (reader_accept(r, "layout")) {
            read_layout(r, a);
        } else if (reader_accept(r, "align")) {
            a->alignment = (int)reader_integer(r, 1, 1 << 20, "the alignment");
        } else if (reader_accept(r, "bound")) {
            a->element_bound = read_index(r);
            a->element_injective = reader_accept(r, "injective");
        } else if (reader_accept(r, "argument")) {
            a->source_array = (int)reader_integer(r, 0, INT_MAX, "the argument's number");
        } else if (reader_accept(r, "rewritable")) {
            a->rewritable = true;
        } else if (reader_accept(r, "unset")) {
            a->unset = true;
        } else if (reader_accept(r, "cells")) {
            read_cells(r, a);
        } else if (reader_accept(r, "view")) {
            const kernel_scope_entry *e = reader_lookup(r, NAME_ARRAY, "an array");
            a->view_of = e ? e->object : NULL;
            reader_expect(r, "at");
            a->view_offset = reader_integer(r, 0, INT64_MAX, "the offset in bytes");
        } else {
            return;
        }
    }
}

static void read_array(reader *r, memory_space space) {
    enum { MOST = 16 };
    static const char *const uses[] = {"in", "out", "update", "workspace"};
    index_expr *dims[MOST];
    int rank = 0, lanes, use = USE_LOCAL;
    element_type type;
    if (space == SPACE_GLOBAL && (use = reader_word(r, uses, 4)) < 0)
        reader_fail(r, "E0161", r->now.span, "expected in, out, update or workspace here, found `%s`", r->now.text);
    source_span span = r->now.span;
    const char *name = reader_name(r, "the array's name");
    reader_expect(r, ":");
    reader_element(r, &type, &lanes);
    reader_expect(r, "[");
    while (!r->failed && !reader_at(r, "]")) {
        if (rank == MOST) {
            reader_fail(r, "E0162", r->now.span, "an array has at most %d dimensions", MOST);
            return;
        }
        if (rank)
            reader_expect(r, ",");
        dims[rank++] = read_index(r);
    }
    reader_expect(r, "]");
    if (r->failed)
        return;
    kernel_array *a = kernel_add_array(r->kernel, name, space, (array_use)use, type, rank, dims);
    a->lanes = lanes;
    a->span = span;
    read_attributes(r, a);
    reader_declare(r, span, name, NAME_ARRAY, a, NULL);
}

static void read_fragment_declaration(reader *r) {
    source_span span = r->now.span;
    const char *name = reader_name(r, "the fragment's name");
    element_type type;
    int lanes, count = 1;
    reader_expect(r, ":");
    int role = reader_word(r, role_names, FRAGMENT_COLUMN_VECTOR + 1);
    if (role < 0)
        reader_fail(r, "E0161", r->now.span, "expected a role (a, b, accumulator, row_vector, column_vector), found `%s`",
                    r->now.text);
    reader_element(r, &type, &lanes);
    int rows = (int)reader_integer(r, 1, 4096, "rows");
    reader_expect(r, "x");
    int columns = (int)reader_integer(r, 1, 4096, "columns");
    if (reader_accept(r, "[")) {
        count = (int)reader_integer(r, 1, 4096, "the number of fragments");
        reader_expect(r, "]");
    }
    reader_expect(r, "held");
    reader_expect(r, "by");
    level_kind holder = reader_level(r);
    if (r->failed)
        return;
    kernel_fragment *f = kernel_add_fragment(r->kernel, name, (fragment_role)role, type, rows, columns, count, holder);
    f->span = span;
    reader_declare(r, span, name, NAME_FRAGMENT, f, NULL);
}

static void read_mbarrier(reader *r) {
    kernel_mbarrier *m = NEW(r->arena, kernel_mbarrier);
    m->span = r->now.span;
    m->name = reader_name(r, "the barrier's name");
    reader_expect(r, "[");
    m->slots = (int)reader_integer(r, 1, 4096, "the number of slots");
    reader_expect(r, "]");
    reader_expect(r, "arrivals");
    m->arrivals = reader_integer(r, 1, INT_MAX, "arrivals");
    VEC_PUSH(r->arena, r->kernel->mbarriers, m);
    reader_declare(r, m->span, m->name, NAME_MBARRIER, m, NULL);
}

/* False when no declaration begins here. */
static bool read_declaration(reader *r) {
    if (reader_accept(r, "schedule")) {
        if (r->now.kind == TOKEN_STRING)
            r->kernel->schedule = r->now.text;
        else
            reader_fail(r, "E0161", r->now.span, "expected a string here");
        reader_next(r);
    } else if (reader_accept(r, "symbol")) {
        read_symbols(r);
    } else if (reader_accept(r, "scalar")) {
        read_scalar(r);
    } else if (reader_accept(r, "assume")) {
        cond *c = read_condition(r);
        VEC_PUSH(r->arena, r->kernel->assumptions, c);
    } else if (reader_accept(r, "grid")) {
        r->kernel->grid = read_index(r);
    } else if (reader_accept(r, "fragment")) {
        read_fragment_declaration(r);
    } else if (reader_accept(r, "mbarrier")) {
        read_mbarrier(r);
    } else {
        int i = reader_word(r, level_names, LEVEL_LANE + 1);
        if (i >= 0) {
            read_level(r, (level_kind)i);
            return true;
        }
        i = reader_word(r, space_names, SPACE_GHOST + 1);
        if (i < 0)
            return false;
        read_array(r, (memory_space)i);
    }
    return true;
}

kernel_ir *kernel_parse(arena *a, const char *file, const char *text, diag_list *diags) {
    reader r;
    reader_init(&r, a, file, text, diags);
    reader_expect(&r, "kernel");
    source_span span = r.now.span;
    r.kernel = kernel_new(a, reader_name(&r, "the kernel's name"), span);
    reader_expect(&r, "{");
    while (!r.failed && read_declaration(&r))
        ;
    read_block(&r, &r.kernel->body, "}");
    if (!r.failed && r.now.kind != TOKEN_END)
        reader_fail(&r, "E0161", r.now.span, "text after the kernel's end");
    return r.failed ? NULL : r.kernel;
}
