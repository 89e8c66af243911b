/* Reading Kernel IR text: statements. */
#include "kernel/reader.h"
#include <limits.h>
#include <string.h>

static void read_braces(reader *r, kernel_block *b) {
    if (!reader_enter(r))
        return;
    reader_expect(r, "{");
    int mark = kernel_scope_mark(&r->names);
    read_block(r, b, "}");
    kernel_scope_undo(&r->names, mark);
    reader_leave(r);
}

static void name_let(reader *r, kernel_stmt *s, source_span span) {
    reader_declare(r, span, s->name, NAME_LET, s, s->var);
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
    reader_range(r, &range);
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
    int mark = kernel_scope_mark(&r->names);
    reader_declare_var(r, name_span, s->var);
    read_braces(r, &s->body);
    kernel_scope_undo(&r->names, mark);
}

static void read_tasks(reader *r, kernel_stmt *s) {
    int mark = kernel_scope_mark(&r->names);
    source_span span = r->now.span;
    s->var = kernel_new_var(r->kernel, reader_name(r, "the trip's name"), INDEX_LOOP);
    s->var->owner = s;
    s->var->lo = ix_const(r->arena, 0);
    reader_declare_var(r, span, s->var);
    read_braces(r, &s->body);
    kernel_scope_undo(&r->names, mark);
}

static unsigned read_spaces(reader *r) {
    unsigned spaces = 0;
    reader_expect(r, "orders");
    do {
        int i = reader_word(r, space_names, SPACE_GHOST + 1);
        if (i < 0) {
            reader_fail(r, "E0161", r->now.span, "expected a memory space here, found `%s`", r->now.text);
            break;
        }
        spaces |= 1u << i;
    } while (reader_accept(r, ","));
    return spaces;
}

static void read_slot(reader *r, kernel_stmt *s) {
    const kernel_scope_entry *e = reader_lookup(r, NAME_MBARRIER, "an mbarrier");
    s->name = e ? e->name : "?";
    reader_expect(r, "[");
    s->slot = read_index(r);
    reader_expect(r, "]");
}

static kernel_op read_combine(reader *r) {
    static const kernel_op ops[] = {KERNEL_ADD,      KERNEL_MIN,     KERNEL_MAX,      KERNEL_BIT_AND,
                                    KERNEL_BIT_OR,   KERNEL_BIT_XOR, KERNEL_EXCHANGE, KERNEL_COMPARE_EXCHANGE,
                                    KERNEL_INC_WRAP, KERNEL_DEC_WRAP};
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++)
        if (reader_accept(r, kernel_op_table[ops[i]].name))
            return ops[i];
    reader_fail(
        r, "E0161", r->now.span,
        "expected add, min, max, bit_and, bit_or, bit_xor, exchange, compare_exchange, inc_wrap or dec_wrap here, found `%s`",
        r->now.text);
    return KERNEL_ADD;
}

static void read_atomic(reader *r, kernel_stmt *s) {
    source_span span = r->now.span;
    if (s->kind == KSTMT_ATOMIC && r->at[strspn(r->at, " ")] == '=')
        s->name = reader_name(r, "the old value's name"), reader_expect(r, "=");
    s->combine = read_combine(r);
    s->access = read_access(r);
    if (s->combine == KERNEL_COMPARE_EXCHANGE) {
        reader_expect(r, "if");
        s->expected = read_value(r);
    }
    reader_expect(r, "<-");
    s->value = read_value(r);
    if (s->kind != KSTMT_ATOMIC)
        return;
    reader_expect(r, "scope");
    s->scope = reader_level(r);
    s->ordered = reader_accept(r, "ordered");
    if (!s->name)
        return;
    if (!element_table[s->value->type].is_float && s->value->lanes == 1) {
        s->var = kernel_new_var(r->kernel, s->name, INDEX_VALUE);
        s->var->owner = s;
        s->var->span = span;
    }
    name_let(r, s, span);
}

/* "by block": the block makes it together. */
static void read_of_block(reader *r, kernel_stmt *s) {
    if (!reader_accept(r, "by"))
        return;
    reader_expect(r, "block");
    s->scope = LEVEL_BLOCK;
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
    read_of_block(r, s);
}

/* vector (value, value, ...) */
static void read_vector(reader *r, contract_operand *c) {
    VEC(kernel_value *) values = {0};
    reader_expect(r, "(");
    do
        VEC_PUSH(r->arena, values, read_value(r));
    while (reader_accept(r, ","));
    reader_expect(r, ")");
    c->values = values.at;
    c->count = values.count;
}

static void read_intrinsic(reader *r, kernel_stmt *s) {
    static const char *const effects[] = {"value", "reads", "writes", "updates", "result", "vector", "fragment"};
    VEC(contract_operand) operands = {0};
    int given = 0;
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
        int effect = reader_word(r, effects, 7);
        if (effect < 0)
            reader_fail(r, "E0161", r->now.span,
                        "expected value, reads, writes, updates, result, vector or fragment here, found `%s`", r->now.text);
        c.effect = effect < 0 ? CONTRACT_VALUE : (contract_effect)effect;
        if (c.effect == CONTRACT_VALUE) {
            c.value = read_value(r);
        } else if (c.effect == CONTRACT_VECTOR) {
            read_vector(r, &c);
        } else if (c.effect == CONTRACT_FRAGMENT) {
            c.which = ++given;
            const fragment_ref f = read_fragment(r);
            if (given < 4)
                s->fragments[given] = f;
            else
                reader_fail(r, "E0962", s->span, "an intrinsic is given at most 3 fragments");
        } else if (c.effect == CONTRACT_RESULT) {
            if (reader_accept(r, "fragment"))
                s->fragments[0] = read_fragment(r);
            else
                c.access = read_access(r);
            c.extents = kernel_single_cell(r->arena, c.access.array);
        } else {
            c.access = read_access(r);
            reader_expect(r, "box");
            reader_expect(r, "[");
            c.extents = read_index_list(r, c.access.array ? c.access.array->rank : 0, "]");
            if (reader_accept(r, "from")) {
                reader_expect(r, "[");
                c.from = read_index_list(r, c.access.array ? c.access.array->rank : 0, "]");
            }
        }
        VEC_PUSH(r->arena, operands, c);
    }
    reader_expect(r, ")");
    s->contract = operands.at;
    s->contract_count = operands.count;
    if (reader_accept(r, "reference"))
        read_braces(r, &s->body);
}

static void read_place(reader *r, kernel_stmt *s) {
    reader_expect(r, "rows");
    s->row_dim = (int)reader_integer(r, 0, 100, "a dimension");
    s->row_step = reader_accept(r, "by") ? read_index(r) : NULL;
    reader_expect(r, "columns");
    s->column_dim = (int)reader_integer(r, 0, 100, "a dimension");
    s->column_step = reader_accept(r, "by") ? read_index(r) : NULL;
    if (reader_accept(r, "within")) {
        reader_expect(r, "(");
        s->extents = read_index_list(r, 2, ")");
    }
    if (s->kind == KSTMT_FRAGMENT_LOAD)
        s->by_reference = reader_accept(r, "by_reference");
}

static void read_map(reader *r, kernel_stmt *s) {
    int mark = kernel_scope_mark(&r->names);
    const kernel_fragment *f = s->fragments[0].fragment;
    reader_expect(r, "(");
    for (int i = 0; i < 2; i++) {
        source_span span = r->now.span;
        index_var *v = kernel_new_var(r->kernel, reader_name(r, "a position's name"), INDEX_LOOP);
        v->owner = s;
        v->lo = ix_const(r->arena, 0);
        v->hi = ix_const(r->arena, f ? (i ? f->columns : f->rows) - 1 : 0);
        reader_declare_var(r, span, v);
        *(i ? &s->column : &s->row) = v;
        reader_expect(r, i ? ")" : ",");
    }
    reader_expect(r, "<-");
    s->value = read_value(r);
    kernel_scope_undo(&r->names, mark);
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
    default:
        f[1] = read_fragment(r);
        for (int i = 2; i < 4 && reader_accept(r, ","); i++)
            f[i] = read_fragment(r);
        break;
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
        s->scope = reader_level(r);
        s->spaces = s->kind == KSTMT_FENCE || reader_at(r, "orders") ? read_spaces(r) : 0;
        s->proxy = s->kind == KSTMT_FENCE && reader_accept(r, "proxy");
        if (s->kind == KSTMT_BARRIER && reader_accept(r, "by"))
            s->participants = read_condition(r);
        break;
    case KSTMT_COPY: read_copy(r, s); break;
    case KSTMT_COMMIT: s->matrix = reader_accept(r, "mma"); break;
    case KSTMT_WAIT_ASYNC:
        s->matrix = reader_accept(r, "mma");
        s->count = reader_integer(r, 0, 1000, "groups in flight");
        read_of_block(r, s);
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
        int kind = reader_word(r, kernel_stmt_names, KSTMT_COUNT);
        if (kind < 0)
            reader_fail(r, "E0161", span,
                        r->now.kind == TOKEN_END ? "expected `%s` here, found the end" : "no statement begins with `%s`",
                        r->now.kind == TOKEN_END ? close : r->now.text);
        else if (kind == KSTMT_LET)
            read_let(r, b, span);
        else if (kind == KSTMT_FOR)
            read_for(r, b, span);
        else
            read_plain(r, kernel_append(r->kernel, b, (kernel_stmt_kind)kind, span));
    }
}
