/* Values as text: leaves, memory accesses and register cells here; what an op is called is the dialect's. */
#include "target/cfamily.h"
#include <math.h>
#include <string.h>

static text_expr primary(const char *text) {
    return (text_expr){text, PRECEDENCE_PRIMARY};
}

const char *cfamily_call(cfamily *p, cfamily_helper h, element_type t, element_type from, int lanes, const char *format, ...) {
    text_buffer b = {0};
    va_list args;
    text_add(&b, "%s(", p->dialect->helper(p, h, t, from, lanes));
    va_start(args, format);
    text_add_va(&b, format, args);
    va_end(args);
    text_add(&b, ")");
    const char *text = arena_strdup(p->arena, text_get(&b));
    text_free(&b);
    return text;
}

bool cfamily_is_number(const kernel_value *v) {
    while (v->op == KERNEL_BROADCAST)
        v = v->operands[0];
    return v->op == KERNEL_CONST && !isnan(v->number);
}

const char *cfamily_zero(cfamily *p, element_type t, int lanes) {
    if (lanes == 1)
        return t == ELEMENT_BOOL ? "false" : p->dialect->constant(p, t, 0).text;
    return arena_printf(p->arena, p->dialect->bare_vectors ? "%s%s0%s" : "(%s)%s0%s", p->dialect->register_type(p, t, lanes),
                        p->dialect->vector_open, p->dialect->vector_close);
}

static bool is_block_format(element_type t) {
    return element_table[t].block_elements > 1;
}

const char *cfamily_cell(cfamily *p, const kernel_access *access) {
    const kernel_array *a = access->array;
    cfamily_array *known = &p->arrays[a->id];
    int64_t flat = 0, dim, index;
    const char *name = known->name;
    for (int d = 0; d < a->rank; d++) {
        if (!ix_is_const(cfamily_fold(p, access->indices[d]), &index) || !ix_is_const(a->dims[d], &dim) || index < 0 ||
            index >= dim) {
            diag_error(p->diags, "E0951", a->span, "printing %s: an index of register array `%s` is not a constant of its extent",
                       p->kernel->name, a->name);
            p->failed = true;
            return "0";
        }
        flat = flat * dim + index;
        name = arena_printf(p->arena, "%s_%lld", name, (long long)index);
    }
    if (!known->cells[flat]) {
        const char *suffix = p->suffix;
        p->suffix = NULL;
        known->cells[flat] = a->rank ? cfamily_unique(p, name) : known->name;
        p->suffix = suffix;
        names_add(p, &p->cell_names, known->cells[flat]);
    }
    return known->cells[flat];
}

/* A scalar's place: x[offset], or a block format's element decoded. */
static text_expr scalar_place(cfamily *p, const kernel_access *access, int lane) {
    const kernel_array *a = access->array;
    const char *name = p->arrays[a->id].name, *offset = cfamily_offset(p, access, lane);
    if (is_block_format(a->element))
        return primary(cfamily_call(p, HELPER_BLOCK_LOAD, a->element, a->element, 1, "%s, %s", name, offset));
    text_expr e = primary(arena_printf(p->arena, "%s[%s]", name, offset));
    if (a->element == ELEMENT_BOOL)
        return (text_expr){arena_printf(p->arena, "%s != 0", e.text), PRECEDENCE_COMPARE};
    if (a->element == ELEMENT_INDEX)
        return (text_expr){arena_printf(p->arena, "(%s)%s", cfamily_index_type(p), e.text), PRECEDENCE_UNARY};
    return e;
}

/* One lane after another, for layouts in which lanes lie at no equal distance. */
static text_expr lane_list(cfamily *p, const kernel_access *access) {
    text_buffer b = {0};
    element_type t = access->array->element;
    text_add(&b, p->dialect->bare_vectors ? "%s%s" : "(%s)%s", p->dialect->register_type(p, t, access->lanes),
             p->dialect->vector_open);
    for (int l = 0; l < access->lanes; l++) {
        const char *place = cfamily_wrap(p, scalar_place(p, access, l), PRECEDENCE_UNARY);
        text_add(&b, "%s", l ? ", " : "");
        if (access->active)
            text_add(&b, "%s > %d ? ", cfamily_wrap(p, cfamily_index(p, access->active), PRECEDENCE_ADD), l);
        text_add(&b, t == ELEMENT_BOOL ? "-(%s)" : "%s", place);
        if (access->active)
            text_add(&b, " : %s", p->dialect->lane_zero ? p->dialect->lane_zero(p, t) : "0");
    }
    text_add(&b, "%s", p->dialect->vector_close);
    text_expr e = primary(arena_strdup(p->arena, text_get(&b)));
    text_free(&b);
    return e;
}

static text_expr load(cfamily *p, const kernel_access *access) {
    const kernel_array *a = access->array;
    cfamily_array *known = &p->arrays[a->id];
    element_type t = a->element;
    int lanes = access->lanes;
    const char *active = access->active ? cfamily_index_text(p, access->active) : NULL;
    known->used = true;
    p->accessed = a;
    if (a->space == SPACE_REGISTER && (known->in_registers || access->vector_dim < 0)) {
        const char *cell = known->in_registers ? cfamily_cell(p, access)
                                               : arena_printf(p->arena, "%s[%s]", known->name, cfamily_offset(p, access, 0));
        if (!active)
            return primary(cell);
        if (lanes > 1)
            return primary(
                cfamily_call(p, HELPER_PREFIX_SELECT, t, t, lanes, "%s, %s, %s", active, cell, cfamily_zero(p, t, lanes)));
    }
    if (lanes == 1) {
        text_expr e = known->in_registers ? primary(cfamily_cell(p, access)) : scalar_place(p, access, 0);
        if (!active)
            return e;
        return (text_expr){arena_printf(p->arena, "%s > 0 ? %s : %s",
                                        cfamily_wrap(p, cfamily_index(p, access->active), PRECEDENCE_ADD),
                                        cfamily_wrap(p, e, PRECEDENCE_UNARY), cfamily_zero(p, t, 1)),
                           PRECEDENCE_CONDITIONAL};
    }
    if (is_block_format(t)) {
        /* Lanes that begin at a multiple of their count stay inside one block. */
        bool one_block = cfamily_contiguous(p, access) && element_table[t].block_elements % lanes == 0 &&
                         cfamily_multiple(p, cfamily_fold(p, access->indices[access->vector_dim])) % lanes == 0;
        if (!one_block)
            return lane_list(p, access);
        const char *whole = cfamily_call(p, HELPER_BLOCK_LOAD, t, t, lanes, "%s, %s", known->name, cfamily_offset(p, access, 0));
        if (!active)
            return primary(whole);
        return primary(cfamily_call(p, HELPER_PREFIX_SELECT, t, t, lanes, "%s, %s > 0 ? %s : %s, %s", active,
                                    cfamily_wrap(p, cfamily_index(p, access->active), PRECEDENCE_ADD), whole,
                                    cfamily_zero(p, t, lanes), cfamily_zero(p, t, lanes)));
    }
    const char *place = arena_printf(p->arena, "&%s[%s]", known->name, cfamily_offset(p, access, 0));
    if (p->dialect->load) {
        const char *stride = cfamily_contiguous(p, access) ? NULL : cfamily_stride(p, access);
        return !stride && !cfamily_contiguous(p, access) ? lane_list(p, access)
                                                         : primary(p->dialect->load(p, access, stride, active));
    }
    if (cfamily_contiguous(p, access))
        return primary(active ? cfamily_call(p, HELPER_LOAD_FIRST, t, t, lanes, "%s, %s", place, active)
                              : cfamily_call(p, HELPER_LOAD, t, t, lanes, "%s", place));
    const char *stride = cfamily_stride(p, access);
    if (!stride)
        return lane_list(p, access);
    return primary(active ? cfamily_call(p, HELPER_LOAD_STRIDED_FIRST, t, t, lanes, "%s, %s, %s", place, stride, active)
                          : cfamily_call(p, HELPER_LOAD_STRIDED, t, t, lanes, "%s, %s", place, stride));
}

void cfamily_store(cfamily *p, const kernel_access *access, const kernel_value *v) {
    const kernel_array *a = access->array;
    cfamily_array *known = &p->arrays[a->id];
    element_type t = a->element;
    int lanes = access->lanes;
    if (is_block_format(t)) {
        cfamily_refuse(p, v->span, "storing to block format %s", element_table[t].name);
        return;
    }
    const char *value = cfamily_statement_value(p, v).text;
    const char *active = access->active ? cfamily_index_text(p, access->active) : NULL;
    known->used = true;
    if (a->space == SPACE_REGISTER && (known->in_registers || access->vector_dim < 0)) {
        const char *cell = known->in_registers ? cfamily_cell(p, access)
                                               : arena_printf(p->arena, "%s[%s]", known->name, cfamily_offset(p, access, 0));
        if (active && lanes > 1)
            value = cfamily_call(p, HELPER_PREFIX_SELECT, t, t, lanes, "%s, %s, %s", active, value, cell);
        if (active && lanes == 1)
            cfamily_line(p, "if (%s > 0)", cfamily_wrap(p, cfamily_index(p, access->active), PRECEDENCE_ADD));
        cfamily_line(p, "%s%s = %s;", active && lanes == 1 ? "    " : "", cell, value);
        return;
    }
    if (lanes == 1) {
        if (active)
            cfamily_line(p, "if (%s > 0)", cfamily_wrap(p, cfamily_index(p, access->active), PRECEDENCE_ADD));
        cfamily_line(p, "%s%s[%s] = %s;", active ? "    " : "", known->name, cfamily_offset(p, access, 0), value);
        return;
    }
    const char *place = arena_printf(p->arena, "&%s[%s]", known->name, cfamily_offset(p, access, 0));
    const char *stride = cfamily_contiguous(p, access) ? NULL : cfamily_stride(p, access);
    if (p->dialect->store && (stride || cfamily_contiguous(p, access))) {
        cfamily_line(p, "%s;", p->dialect->store(p, access, stride, active, value));
    } else if (cfamily_contiguous(p, access)) {
        cfamily_line(p, "%s;",
                     active ? cfamily_call(p, HELPER_STORE_FIRST, t, t, lanes, "%s, %s, %s", place, value, active)
                            : cfamily_call(p, HELPER_STORE, t, t, lanes, "%s, %s", place, value));
    } else if (stride) {
        cfamily_line(
            p, "%s;",
            active ? cfamily_call(p, HELPER_STORE_STRIDED_FIRST, t, t, lanes, "%s, %s, %s, %s", place, stride, value, active)
                   : cfamily_call(p, HELPER_STORE_STRIDED, t, t, lanes, "%s, %s, %s", place, stride, value));
    } else {
        const char *name = cfamily_unique(p, "lanes");
        cfamily_line(p, "const %s %s = %s;", p->dialect->register_type(p, t, lanes), name, value);
        for (int l = 0; l < lanes; l++) {
            if (active)
                cfamily_line(p, "if (%s > %d)", cfamily_wrap(p, cfamily_index(p, access->active), PRECEDENCE_ADD), l);
            const char *one = p->dialect->lane ? p->dialect->lane(p, name, l) : arena_printf(p->arena, "%s[%d]", name, l);
            cfamily_line(p, "%s%s[%s] = %s%s;", active ? "    " : "", known->name, cfamily_offset(p, access, l), one,
                         t == ELEMENT_BOOL ? " & 1" : "");
        }
    }
}

text_expr cfamily_value(cfamily *p, const kernel_value *v) {
    const cfamily_binding *known = cfamily_find(p, v);
    if (known && known->text)
        return primary(known->text);
    switch (v->op) {
    case KERNEL_CONST:
        if (v->lanes == 1)
            return p->dialect->constant(p, v->type, v->number);
        return primary(
            cfamily_call(p, HELPER_SPLAT, v->type, v->type, v->lanes, "%s", p->dialect->constant(p, v->type, v->number).text));
    case KERNEL_INDEX: {
        text_expr e = cfamily_index(p, v->index);
        return v->lanes == 1 ? e : primary(cfamily_call(p, HELPER_SPLAT, v->type, v->type, v->lanes, "%s", e.text));
    }
    case KERNEL_SCALAR:
        for (int i = 0; i < p->kernel->scalars.count; i++)
            if (!strcmp(p->kernel->scalars.at[i].name, v->scalar)) {
                const kernel_scalar *s = &p->kernel->scalars.at[i];
                cfamily_binding *b = (cfamily_binding *)cfamily_find(p, s->var ? (const void *)s->var : (const void *)s);
                if (b)
                    b->used = true;
                if (b && b->text)
                    return s->var && v->type != ELEMENT_INDEX
                               ? (text_expr){arena_printf(p->arena, "(%s)%s", p->dialect->register_type(p, v->type, 1), b->text),
                                             PRECEDENCE_UNARY}
                               : primary(b->text);
            }
        diag_error(p->diags, "E0951", v->span, "printing %s: there is no launch scalar `%s`", p->kernel->name,
                   v->scalar ? v->scalar : "");
        p->failed = true;
        return primary("0");
    case KERNEL_REF: {
        const cfamily_binding *b = cfamily_find(p, v->let);
        if (b && b->text)
            return primary(b->text);
        diag_error(p->diags, "E0951", v->span, "printing %s: `%s` has no value here", p->kernel->name,
                   v->let->name ? v->let->name : "");
        p->failed = true;
        return primary("0");
    }
    case KERNEL_LOAD: return load(p, &v->access);
    case KERNEL_IOTA: return primary(cfamily_call(p, HELPER_IOTA, v->type, v->type, v->lanes, "%s", ""));
    default: return p->dialect->value(p, v);
    }
}

/* ---- values used twice inside one statement get a name, so that nothing is printed (or computed) twice ---- */

typedef struct counter {
    const kernel_value **at;
    int *uses;
    int count, capacity;
} counter;

static int *uses_of(cfamily *p, counter *c, const kernel_value *v) {
    for (int i = 0; i < c->count; i++)
        if (c->at[i] == v)
            return &c->uses[i];
    if (c->count == c->capacity) {
        int capacity = c->capacity;
        c->at = arena_grow(p->arena, c->at, c->count, &c->capacity, sizeof *c->at);
        c->uses = arena_grow(p->arena, c->uses, c->count, &capacity, sizeof *c->uses);
    }
    c->at[c->count] = v;
    c->uses[c->count] = 0;
    return &c->uses[c->count++];
}

static bool is_leaf(const kernel_value *v) {
    return v->op == KERNEL_CONST || v->op == KERNEL_INDEX || v->op == KERNEL_SCALAR || v->op == KERNEL_REF ||
           v->op == KERNEL_IOTA || (v->op == KERNEL_BROADCAST && is_leaf(v->operands[0]));
}

static void count_uses(cfamily *p, counter *c, const kernel_value *v) {
    if (is_leaf(v) || (*uses_of(p, c, v))++)
        return;
    for (int i = 0; i < v->operand_count; i++)
        count_uses(p, c, v->operands[i]);
}

static void name_shared(cfamily *p, counter *c, const kernel_value *v, const kernel_value *root) {
    if (is_leaf(v))
        return;
    const cfamily_binding *b = cfamily_find(p, v);
    if (b && b->text)
        return;
    for (int i = 0; i < v->operand_count; i++)
        name_shared(p, c, v->operands[i], root);
    if (v == root || *uses_of(p, c, v) < 2)
        return;
    const char *text = cfamily_value(p, v).text, *name = cfamily_unique(p, "t");
    cfamily_line(p, "const %s %s = %s;", p->dialect->register_type(p, v->type, v->lanes), name, text);
    cfamily_bind(p, v, name);
}

text_expr cfamily_statement_value(cfamily *p, const kernel_value *v) {
    counter c = {0};
    count_uses(p, &c, v);
    name_shared(p, &c, v, v);
    text_expr e = cfamily_value(p, v);
    for (int i = 0; i < c.count; i++)
        if (cfamily_find(p, c.at[i]))
            cfamily_bind(p, c.at[i], NULL); /* the same value in a later statement is computed anew: memory may have changed */
    return e;
}
