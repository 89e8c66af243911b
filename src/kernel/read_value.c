/* Reading Kernel IR text: accesses, fragments and values. Values take the types their operands give them; the checker judges. */
#include "kernel/reader.h"
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

kernel_access read_access(reader *r) {
    kernel_access access = {.lanes = 1, .vector_dim = -1};
    const kernel_scope_entry *e = reader_lookup(r, NAME_ARRAY, "an array");
    if (!e)
        return access;
    kernel_array *array = e->object;
    access.indices = NEW_ARRAY(r->arena, index_expr *, array->rank ? array->rank : 1);
    access.lanes = array->lanes;
    access.vector_dim = array->lanes > 1 ? -1 : array->rank - 1;
    bool marked = false;
    reader_expect(r, "[");
    for (int i = 0; i < array->rank; i++) {
        if (i)
            reader_expect(r, ",");
        access.indices[i] = read_index(r);
        source_span span = r->now.span;
        if (!reader_accept(r, ":"))
            continue;
        if (marked || array->lanes > 1)
            reader_fail(r, "E0166", span, marked ? "a second vector dimension" : "the cells of `%s` are vectors already",
                        array->name);
        marked = true;
        access.lanes = (int)reader_integer(r, 2, 4096, "a lane count");
        access.vector_dim = i;
    }
    if (reader_at(r, ","))
        reader_fail(r, "E0166", r->now.span, "`%s` has %d dimension%s", array->name, array->rank, array->rank == 1 ? "" : "s");
    reader_expect(r, "]");
    if (reader_accept(r, "aligned"))
        access.aligned = true;
    if (reader_accept(r, "active"))
        access.active = read_index(r);
    if (!r->failed)
        access.array = array;
    return access;
}

fragment_ref read_fragment(reader *r) {
    fragment_ref ref = {0};
    const kernel_scope_entry *e = reader_lookup(r, NAME_FRAGMENT, "a fragment");
    if (!e)
        return ref;
    ref.fragment = e->object;
    if (reader_accept(r, "[")) {
        ref.index = read_index(r);
        reader_expect(r, "]");
    }
    return ref;
}

static kernel_value *nothing(reader *r) {
    return kernel_const(r->kernel, ELEMENT_F32, 1, 0);
}

static kernel_value *read_constant(reader *r) {
    bool negative = reader_accept(r, "-");
    double number = 0;
    if (r->now.kind == TOKEN_NUMBER)
        number = strtod(r->now.text, NULL);
    else if (reader_at(r, "inf"))
        number = (double)INFINITY;
    else if (reader_at(r, "nan"))
        number = (double)NAN;
    else if (reader_at(r, "true"))
        number = 1;
    else if (!reader_at(r, "false"))
        reader_fail(r, "E0161", r->now.span, "expected a number here, found `%s`", r->now.text);
    reader_next(r);
    reader_expect(r, ":");
    element_type type;
    int lanes;
    reader_element(r, &type, &lanes);
    return kernel_const(r->kernel, type, lanes, negative ? -number : number);
}

static kernel_value *new_value(reader *r, kernel_op op, int operand_count) {
    kernel_value *v = NEW(r->arena, kernel_value);
    v->op = op;
    v->lanes = 1;
    v->scope = LEVEL_SUBGROUP;
    v->operand_count = operand_count;
    v->operands = NEW_ARRAY(r->arena, kernel_value *, operand_count ? operand_count : 1);
    return v;
}

/* The part of a call before its operands: the type converted to, or the fragment. */
static void read_lead(reader *r, kernel_value *v) {
    int lanes;
    if (v->op == KERNEL_CONVERT || v->op == KERNEL_BITCAST) {
        source_span span = r->now.span;
        if (reader_element(r, &v->type, &lanes) && lanes != 1)
            reader_fail(r, "E0166", span, "name the element type alone; the lanes are the operand's");
        reader_expect(r, ",");
    } else if (v->op == KERNEL_FRAGMENT_ELEMENT || v->op == KERNEL_LANE_VIEW) {
        fragment_ref ref = read_fragment(r);
        v->fragment = ref.fragment;
        v->fragment_index = ref.index;
        if (v->fragment)
            v->type = v->fragment->element;
    }
}

static void read_tail(reader *r, kernel_value *v) {
    switch (v->op) {
    case KERNEL_BROADCAST:
        reader_expect(r, ",");
        v->lanes = (int)reader_integer(r, 2, 4096, "a lane count");
        break;
    case KERNEL_PREFIX_SELECT:
    case KERNEL_LANE_VIEW:
        reader_expect(r, ",");
        v->index = read_index(r);
        break;
    case KERNEL_CONVERT:
        if (reader_accept(r, ",")) {
            reader_expect(r, "saturate");
            v->saturate = true;
        }
        break;
    default: break;
    }
}

static void infer(kernel_value *v) {
    if (!v->operand_count)
        return;
    const kernel_value *x = v->operands[0];
    if (v->op == KERNEL_SELECT)
        v->type = v->operands[1]->type;
    else if (!strcmp(kernel_op_table[v->op].kind, "compare"))
        v->type = ELEMENT_BOOL;
    else if (v->op != KERNEL_CONVERT && v->op != KERNEL_BITCAST)
        v->type = x->type;
    if (v->op == KERNEL_LANES_SUM || v->op == KERNEL_LANES_MAX || v->op == KERNEL_LANES_MIN || v->op == KERNEL_BROADCAST)
        return;
    v->lanes = x->lanes;
}

static kernel_value *read_call(reader *r, kernel_op op) {
    kernel_value *v = new_value(r, op, kernel_op_table[op].operands);
    reader_next(r);
    reader_expect(r, "(");
    if (op == KERNEL_INDEX) {
        v->type = ELEMENT_INDEX;
        v->index = read_index(r);
    } else if (op == KERNEL_IOTA) {
        v->type = ELEMENT_I32;
        v->lanes = (int)reader_integer(r, 2, 4096, "a lane count");
    } else if (op == KERNEL_SCALAR) {
        const kernel_scope_entry *e = reader_lookup(r, NAME_SCALAR, "a launch scalar");
        const kernel_scalar *s = e ? e->object : NULL;
        v->scalar = s ? s->name : "?";
        v->type = s ? s->type : ELEMENT_F32;
    } else {
        read_lead(r, v);
        for (int i = 0; i < v->operand_count; i++) {
            if (i)
                reader_expect(r, ",");
            v->operands[i] = read_value(r);
        }
        read_tail(r, v);
        infer(v);
    }
    reader_expect(r, ")");
    return v;
}

static kernel_value *read_name(reader *r) {
    source_span span = r->now.span;
    if (r->at[strspn(r->at, " ")] == '(') {
        for (int op = 0; op < KERNEL_OP_COUNT; op++)
            if (op != KERNEL_CONST && op != KERNEL_REF && op != KERNEL_LOAD && strcmp(kernel_op_table[op].kind, "atomic") &&
                reader_at(r, kernel_op_table[op].name))
                return read_call(r, (kernel_op)op);
        reader_fail(r, "E0164", span, "there is no op called `%s`", r->now.text);
        return nothing(r);
    }
    if (reader_at(r, "inf") || reader_at(r, "nan") || reader_at(r, "true") || reader_at(r, "false"))
        return read_constant(r);
    const kernel_scope_entry *e = kernel_scope_find(&r->names, r->now.text);
    if (!e) {
        reader_fail(r, "E0164", span, "nothing in scope is called `%s`", r->now.text);
    } else if (e->kind == NAME_ARRAY) {
        kernel_access access = read_access(r);
        return access.array ? kernel_load(r->kernel, access) : nothing(r);
    } else if (e->kind == NAME_LET) {
        reader_next(r);
        return kernel_ref(r->kernel, e->object);
    } else {
        reader_fail(r, "E0164", span, "`%s` is not a value; an integer is written index(%s)", r->now.text, r->now.text);
    }
    return nothing(r);
}

kernel_value *read_value(reader *r) {
    if (!reader_enter(r))
        return nothing(r);
    source_span span = r->now.span;
    kernel_value *v = r->now.kind == TOKEN_NAME ? read_name(r) : read_constant(r);
    v->span = span;
    reader_leave(r);
    return v;
}
