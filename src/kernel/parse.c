/* Reading Kernel IR text: declarations and statements. The first error ends the reading. */
#include "kernel/reader.h"
#include <limits.h>
#include <string.h>

static bool declare(reader *r, source_span span, const char *name, name_kind kind, void *object, index_var *var) {
    if (r->failed)
        return false;
    if (names_find(&r->names, name)) {
        reader_fail(r, "E0167", span, "`%s` is in scope already", name);
        return false;
    }
    names_add(&r->names, name, kind, object, var);
    return true;
}

static void declare_var(reader *r, source_span span, index_var *v) {
    v->span = span;
    declare(r, span, v->name, NAME_VAR, v, v);
}

static int find_word(reader *r, const char *const *words, int count) {
    for (int i = 0; i < count; i++)
        if (reader_accept(r, words[i]))
            return i;
    return -1;
}

static level_kind read_level_name(reader *r) {
    int i = find_word(r, level_names, LEVEL_LANE + 1);
    if (i < 0)
        reader_fail(r, "E0161", r->now.span, "expected a level (task .. lane) here, found `%s`", r->now.text);
    return i < 0 ? LEVEL_TASK : (level_kind)i;
}

static void read_range(reader *r, index_var *v) {
    if (!reader_accept(r, "in"))
        return;
    v->lo = read_index(r);
    reader_expect(r, "..");
    v->hi = read_index(r);
}

/* ---- declarations ---- */
static void read_symbols(reader *r) {
    do {
        source_span span = r->now.span;
        index_var *v = kernel_add_symbol(r->kernel, reader_name(r, "the symbol's name"));
        read_range(r, v);
        declare_var(r, span, v);
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
        read_range(r, s.var);
    }
    kernel_scalar *kept = NEW(r->arena, kernel_scalar); /* the vector may move */
    *kept = s;
    VEC_PUSH(r->arena, r->kernel->scalars, s);
    declare(r, span, s.name, NAME_SCALAR, kept, s.var);
}

static void read_level(reader *r, level_kind kind) {
    enum { MOST = 8 };
    const char *names[MOST];
    index_expr *extents[MOST];
    source_span spans[MOST];
    int rank = 0;
    reader_expect(r, "(");
    do {
        if (rank == MOST) {
            reader_fail(r, "E0162", r->now.span, "a level has at most %d ids", MOST);
            return;
        }
        spans[rank] = r->now.span;
        names[rank] = reader_name(r, "an id's name");
        reader_expect(r, "<");
        extents[rank++] = read_index(r);
    } while (reader_accept(r, ","));
    reader_expect(r, ")");
    if (r->failed)
        return;
    kernel_add_level(r->kernel, kind, rank, names, extents);
    kernel_level *l = &r->kernel->levels.at[r->kernel->levels.count - 1];
    for (int i = 0; i < rank; i++)
        declare_var(r, spans[i], l->ids[i]);
}

static void read_layout(reader *r, kernel_array *a) {
    static const char *const words[] = {"strides", "pad", "panel", "swizzle", "box"};
    kernel_layout *l = &a->layout;
    int kind = find_word(r, words, 5);
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
        l->bits = (int)reader_integer(r, 0, 60, "bits");
        reader_expect(r, ",");
        l->base = (int)reader_integer(r, 0, 60, "base");
        reader_expect(r, ",");
        l->shift = (int)reader_integer(r, 0, 60, "shift");
        break;
    case 4:
        l->kind = LAYOUT_BOX;
        l->box = NEW_ARRAY(r->arena, int64_t, a->rank ? a->rank : 1);
        for (int i = 0; i < a->rank; i++) {
            if (i)
                reader_expect(r, ",");
            l->box[i] = reader_integer(r, 1, INT_MAX, "a box extent");
        }
        break;
    default: reader_fail(r, "E0161", r->now.span, "expected a layout here, found `%s`", r->now.text); return;
    }
    reader_expect(r, ")");
}

static void read_cells(reader *r, kernel_array *a) {
    int mark = names_mark(&r->names);
    a->cell_vars = NEW_ARRAY(r->arena, index_var *, a->rank ? a->rank : 1);
    reader_expect(r, "(");
    for (int i = 0; i < a->rank; i++) {
        if (i)
            reader_expect(r, ",");
        source_span span = r->now.span;
        a->cell_vars[i] = kernel_new_var(r->kernel, reader_name(r, "a cell variable"), INDEX_LOOP);
        declare_var(r, span, a->cell_vars[i]);
    }
    reader_expect(r, ")");
    reader_expect(r, "where");
    a->cells = read_condition(r);
    names_undo(&r->names, mark);
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
        } else if (reader_accept(r, "cells")) {
            read_cells(r, a);
        } else if (reader_accept(r, "view")) {
            const name_entry *e = reader_lookup(r, NAME_ARRAY, "an array");
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
    if (space == SPACE_GLOBAL && (use = find_word(r, uses, 4)) < 0)
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
    declare(r, span, name, NAME_ARRAY, a, NULL);
}

static void read_fragment_declaration(reader *r) {
    source_span span = r->now.span;
    const char *name = reader_name(r, "the fragment's name");
    element_type type;
    int lanes, count = 1;
    reader_expect(r, ":");
    int role = find_word(r, role_names, FRAGMENT_COLUMN_VECTOR + 1);
    if (role < 0)
        reader_fail(r, "E0161", r->now.span, "expected a role (a, b, accumulator, row_vector, column_vector), found `%s`", r->now.text);
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
    level_kind holder = read_level_name(r);
    if (r->failed)
        return;
    kernel_fragment *f = kernel_add_fragment(r->kernel, name, (fragment_role)role, type, rows, columns, count, holder);
    f->span = span;
    declare(r, span, name, NAME_FRAGMENT, f, NULL);
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
    declare(r, m->span, m->name, NAME_MBARRIER, m, NULL);
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
        int i = find_word(r, level_names, LEVEL_LANE + 1);
        if (i >= 0) {
            read_level(r, (level_kind)i);
            return true;
        }
        i = find_word(r, space_names, SPACE_GHOST + 1);
        if (i < 0)
            return false;
        read_array(r, (memory_space)i);
    }
    return true;
}

/* ---- statements ---- */
static void read_braces(reader *r, kernel_block *b) {
    if (!reader_enter(r))
        return;
    reader_expect(r, "{");
    int mark = names_mark(&r->names);
    read_block(r, b, "}");
    names_undo(&r->names, mark);
    reader_leave(r);
}

static void name_let(reader *r, kernel_stmt *s, source_span span) {
    declare(r, span, s->name, NAME_LET, s, s->var);
}

static void read_let(reader *r, kernel_block *b, source_span span) {
    source_span name_span = r->now.span;
    const char *name = reader_name(r, "the let's name");
    element_type type = ELEMENT_INDEX;
    int lanes = 1;
    bool typed = reader_accept(r, ":");
    if (typed)
        reader_element(r, &type, &lanes);
    index_var range = {0};
    read_range(r, &range);
    reader_expect(r, "=");
    kernel_value *v = typed ? read_value(r) : kernel_index(r->kernel, read_index(r));
    if (!r->failed && (v->type != type || v->lanes != lanes))
        reader_fail(r, "E0168", v->span, "`%s` is declared %sx%d, its value is %sx%d", name, element_table[type].name, lanes,
                    element_table[v->type].name, v->lanes);
    v->span = v->span.line ? v->span : name_span;
    kernel_stmt *s = kernel_let(r->kernel, b, name, v, span);
    if (s->var) {
        s->var->lo = range.lo;
        s->var->hi = range.hi;
    } else if (range.hi) {
        reader_fail(r, "E0168", name_span, "only a scalar integer has a range");
    }
    name_let(r, s, name_span);
}

static void read_for(reader *r, kernel_block *b, source_span span) {
    source_span name_span = r->now.span;
    const char *name = reader_name(r, "the loop variable");
    reader_expect(r, "in");
    index_expr *lo = read_index(r);
    reader_expect(r, "..");
    index_expr *hi = read_index(r), *step = ix_const(r->arena, 1);
    if (reader_accept(r, "step"))
        step = read_index(r);
    kernel_stmt *s = kernel_for(r->kernel, b, name, lo, hi, 1, span);
    s->step = step;
    s->unroll = reader_accept(r, "unroll");
    int mark = names_mark(&r->names);
    declare_var(r, name_span, s->var);
    read_braces(r, &s->body);
    names_undo(&r->names, mark);
}

static void read_tasks(reader *r, kernel_stmt *s) {
    int mark = names_mark(&r->names);
    source_span span = r->now.span;
    s->var = kernel_new_var(r->kernel, reader_name(r, "the trip's name"), INDEX_LOOP);
    s->var->owner = s;
    s->var->lo = ix_const(r->arena, 0);
    declare_var(r, span, s->var);
    read_braces(r, &s->body);
    names_undo(&r->names, mark);
}

static unsigned read_spaces(reader *r) {
    unsigned spaces = 0;
    reader_expect(r, "orders");
    do {
        int i = find_word(r, space_names, SPACE_GHOST + 1);
        if (i < 0) {
            reader_fail(r, "E0161", r->now.span, "expected a memory space here, found `%s`", r->now.text);
            break;
        }
        spaces |= 1u << i;
    } while (reader_accept(r, ","));
    return spaces;
}

static void read_slot(reader *r, kernel_stmt *s) {
    const name_entry *e = reader_lookup(r, NAME_MBARRIER, "an mbarrier");
    s->name = e ? e->name : "?";
    reader_expect(r, "[");
    s->slot = read_index(r);
    reader_expect(r, "]");
}

static kernel_op read_combine(reader *r) {
    static const kernel_op ops[] = {KERNEL_ADD, KERNEL_MIN, KERNEL_MAX, KERNEL_BIT_AND, KERNEL_BIT_OR, KERNEL_BIT_XOR};
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++)
        if (reader_accept(r, kernel_op_table[ops[i]].name))
            return ops[i];
    reader_fail(r, "E0161", r->now.span, "expected add, min, max, bit_and, bit_or or bit_xor here, found `%s`", r->now.text);
    return KERNEL_ADD;
}

static void read_atomic(reader *r, kernel_stmt *s) {
    source_span span = r->now.span;
    if (s->kind == KSTMT_ATOMIC && r->at[strspn(r->at, " ")] == '=')
        s->name = reader_name(r, "the old value's name"), reader_expect(r, "=");
    s->combine = read_combine(r);
    s->access = read_access(r);
    reader_expect(r, "<-");
    s->value = read_value(r);
    if (s->kind != KSTMT_ATOMIC)
        return;
    reader_expect(r, "scope");
    s->scope = read_level_name(r);
    if (!s->name)
        return;
    if (!element_table[s->value->type].is_float && s->value->lanes == 1) {
        s->var = kernel_new_var(r->kernel, s->name, INDEX_VALUE);
        s->var->owner = s;
        s->var->span = span;
    }
    name_let(r, s, span);
}

static void read_copy(reader *r, kernel_stmt *s) {
    s->access = read_access(r);
    reader_expect(r, "<-");
    s->source = read_access(r);
    reader_expect(r, "box");
    reader_expect(r, "[");
    s->extents = read_index_list(r, s->access.array ? s->access.array->rank : 0, "]");
    s->clip = reader_accept(r, "clip");
    if (reader_accept(r, "signals"))
        read_slot(r, s);
}

static void read_intrinsic(reader *r, kernel_stmt *s) {
    static const char *const effects[] = {"value", "reads", "writes", "updates"};
    VEC(contract_operand) operands = {0};
    if (r->now.kind != TOKEN_STRING)
        reader_fail(r, "E0161", r->now.span, "expected the intrinsic's text here");
    s->name = r->now.text;
    reader_next(r);
    reader_expect(r, "(");
    while (!r->failed && !reader_at(r, ")")) {
        contract_operand c = {0};
        if (operands.count)
            reader_expect(r, ",");
        c.asynchronous = reader_accept(r, "async");
        int effect = find_word(r, effects, 4);
        if (effect < 0)
            reader_fail(r, "E0161", r->now.span, "expected value, reads, writes or updates here, found `%s`", r->now.text);
        c.effect = effect < 0 ? CONTRACT_VALUE : (contract_effect)effect;
        if (c.effect == CONTRACT_VALUE) {
            c.value = read_value(r);
        } else {
            c.access = read_access(r);
            reader_expect(r, "box");
            reader_expect(r, "[");
            c.extents = read_index_list(r, c.access.array ? c.access.array->rank : 0, "]");
        }
        VEC_PUSH(r->arena, operands, c);
    }
    reader_expect(r, ")");
    s->contract = operands.at;
    s->contract_count = operands.count;
}

static void read_place(reader *r, kernel_stmt *s) {
    reader_expect(r, "rows");
    s->row_dim = (int)reader_integer(r, 0, 100, "a dimension");
    reader_expect(r, "columns");
    s->column_dim = (int)reader_integer(r, 0, 100, "a dimension");
    if (reader_accept(r, "within")) {
        reader_expect(r, "(");
        s->extents = read_index_list(r, 2, ")");
    }
    if (s->kind == KSTMT_FRAGMENT_LOAD)
        s->by_reference = reader_accept(r, "by_reference");
}

static void read_map(reader *r, kernel_stmt *s) {
    int mark = names_mark(&r->names);
    const kernel_fragment *f = s->fragments[0].fragment;
    reader_expect(r, "(");
    for (int i = 0; i < 2; i++) {
        source_span span = r->now.span;
        index_var *v = kernel_new_var(r->kernel, reader_name(r, "a position's name"), INDEX_LOOP);
        v->owner = s;
        v->lo = ix_const(r->arena, 0);
        v->hi = ix_const(r->arena, f ? (i ? f->columns : f->rows) - 1 : 0);
        declare_var(r, span, v);
        *(i ? &s->column : &s->row) = v;
        reader_expect(r, i ? ")" : ",");
    }
    reader_expect(r, "<-");
    s->value = read_value(r);
    names_undo(&r->names, mark);
}

static void read_fragment_stmt(reader *r, kernel_stmt *s) {
    fragment_ref *f = s->fragments;
    if (s->kind == KSTMT_FRAGMENT_STORE)
        s->access = read_access(r);
    else
        f[0] = read_fragment(r);
    if (s->kind == KSTMT_FRAGMENT_MAP) {
        read_map(r, s);
        return;
    }
    if (s->kind == KSTMT_FRAGMENT_SET) {
        reader_expect(r, "lane_view");
        s->element = read_index(r);
    }
    reader_expect(r, "<-");
    switch (s->kind) {
    case KSTMT_FRAGMENT_FILL:
    case KSTMT_FRAGMENT_SET: s->value = read_value(r); break;
    case KSTMT_FRAGMENT_STORE:
        f[0] = read_fragment(r);
        read_place(r, s);
        break;
    case KSTMT_FRAGMENT_LOAD:
        s->access = read_access(r);
        read_place(r, s);
        break;
    case KSTMT_FRAGMENT_MMA:
        for (int i = 1; i < 4; i++) {
            f[i] = read_fragment(r);
            if (i < 3)
                reader_expect(r, ",");
        }
        s->asynchronous = reader_accept(r, "async");
        break;
    case KSTMT_FRAGMENT_REDUCE:
        s->combine = read_combine(r);
        f[1] = read_fragment(r);
        reader_expect(r, "axis");
        s->axis = (int)reader_integer(r, 0, 1, "the axis");
        break;
    default: f[1] = read_fragment(r); break;
    }
}

static void read_store(reader *r, kernel_stmt *s) {
    s->access = read_access(r);
    if (s->kind != KSTMT_STORE)
        return;
    reader_expect(r, "<-");
    s->value = read_value(r);
}

static void read_if(reader *r, kernel_stmt *s) {
    if (s->kind == KSTMT_IF)
        s->condition = read_condition(r);
    else
        s->value = read_value(r);
    read_braces(r, &s->body);
    if (reader_accept(r, "else"))
        read_braces(r, &s->otherwise);
}

static void read_plain(reader *r, kernel_stmt *s) {
    switch (s->kind) {
    case KSTMT_STORE:
    case KSTMT_CONSUME: read_store(r, s); break;
    case KSTMT_TASKS: read_tasks(r, s); break;
    case KSTMT_LOOP:
        s->opaque = true;
        read_braces(r, &s->body);
        break;
    case KSTMT_BREAK: /* `when`, not `if`: an `if` may be the next statement */
        if (reader_accept(r, "when"))
            s->condition = read_condition(r);
        break;
    case KSTMT_IF:
    case KSTMT_IF_VALUE: read_if(r, s); break;
    case KSTMT_ROLE:
        s->name = reader_name(r, "the role's name");
        reader_expect(r, "if");
        s->condition = read_condition(r);
        read_braces(r, &s->body);
        break;
    case KSTMT_BARRIER:
    case KSTMT_FENCE:
        s->scope = read_level_name(r);
        s->spaces = read_spaces(r);
        s->proxy = s->kind == KSTMT_FENCE && reader_accept(r, "proxy");
        if (s->kind == KSTMT_BARRIER && reader_accept(r, "by"))
            s->participants = read_condition(r);
        break;
    case KSTMT_COPY: read_copy(r, s); break;
    case KSTMT_COMMIT: s->matrix = reader_accept(r, "mma"); break;
    case KSTMT_WAIT_ASYNC:
        s->matrix = reader_accept(r, "mma");
        s->count = reader_integer(r, 0, 1000, "groups in flight");
        break;
    case KSTMT_MBARRIER_ARRIVE:
        read_slot(r, s);
        if (reader_accept(r, "by"))
            s->participants = read_condition(r);
        break;
    case KSTMT_MBARRIER_WAIT:
        read_slot(r, s);
        reader_expect(r, "phase");
        s->phase = read_index(r);
        break;
    case KSTMT_ATOMIC:
    case KSTMT_GRID_REDUCE: read_atomic(r, s); break;
    case KSTMT_INTRINSIC: read_intrinsic(r, s); break;
    case KSTMT_COMMENT:
        if (r->now.kind != TOKEN_STRING)
            reader_fail(r, "E0161", r->now.span, "expected a string here");
        s->name = r->now.text;
        reader_next(r);
        break;
    default: read_fragment_stmt(r, s); break;
    }
}

void read_block(reader *r, kernel_block *b, const char *close) {
    while (!r->failed && !reader_accept(r, close)) {
        source_span span = r->now.span;
        int kind = find_word(r, kernel_stmt_names, KSTMT_COUNT);
        if (kind < 0)
            reader_fail(r, "E0161", span, r->now.kind == TOKEN_END ? "expected `%s` here, found the end" : "no statement begins with `%s`",
                        r->now.kind == TOKEN_END ? close : r->now.text);
        else if (kind == KSTMT_LET)
            read_let(r, b, span);
        else if (kind == KSTMT_FOR)
            read_for(r, b, span);
        else
            read_plain(r, kernel_append(r->kernel, b, (kernel_stmt_kind)kind, span));
    }
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
