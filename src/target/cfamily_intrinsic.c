/* C-like texts: calls of intrinsics. Vectors are computed lane by lane, each lane a call. */
#include "target/intrinsics.h"
#include <string.h>

static const char *cast(cfamily *p, const intrinsic_row *row, const char *text) {
    return row->pointer ? arena_printf(p->arena, "(%s)(%s)", row->pointer, text) : text;
}

static const char *pointer(cfamily *p, const intrinsic_row *row, const contract_operand *c) {
    kernel_access at = c->access;
    at.lanes = 1;
    if (c->from) {
        at.indices = NEW_ARRAY(p->arena, index_expr *, at.array->rank + 1);
        for (int d = 0; d < at.array->rank; d++)
            at.indices[d] = ix_add(p->arena, c->access.indices[d], c->from[d]);
    }
    p->arrays[at.array->id].used = true;
    return cast(p, row, arena_printf(p->arena, "&%s[%s]", p->arrays[at.array->id].name, cfamily_offset(p, &at, 0)));
}

/* One of the lanes of a named vector; of a scalar itself. */
static const char *lane_of(cfamily *p, const kernel_value *v, const char *name, int lane) {
    if (v->lanes == 1)
        return name;
    return p->dialect->lane ? p->dialect->lane(p, name, lane) : arena_printf(p->arena, "%s[%d]", name, lane);
}

static const char *vector_text(cfamily *p, element_type t, int lanes, const char *list) {
    const char *type = p->dialect->register_type(p, t, lanes);
    return arena_printf(p->arena, p->dialect->bare_vectors ? "%s%s%s%s" : "(%s)%s%s%s", type, p->dialect->vector_open, list,
                        p->dialect->vector_close);
}

/* A function of ours around an instruction of PTX: its result, then its operands. */
static const char *instruction(cfamily *p, const kernel_stmt *s, const intrinsic_row *row, element_type result) {
    text_buffer name = {0}, parameters = {0}, places = {0}, operands = {0};
    text_add(&name, "%s", s->name);
    int count = 0;
    const char *at = row->signature;
    intrinsic_next_type(&at);
    for (int i = 1; i < s->contract_count; i++) {
        const kernel_value *v = s->contract[i].value;
        const char *type = p->dialect->register_type(p, v->type, 1);
        if (intrinsic_next_type(&at).constant) { /* part of the instruction */
            text_add(&name, "_%lld", (long long)v->number);
            text_add(&places, ", %lld", (long long)v->number);
            continue;
        }
        text_add(&parameters, "%s%s x%d", count ? ", " : "", type, count);
        text_add(&places, ", %%%d", count + 1);
        text_add(&operands, "%s\"%s\"(x%d)", count ? ", " : "", v->type == ELEMENT_F32 ? "f" : "r", count);
        count++;
    }
    char *helper = arena_strdup(p->arena, text_get(&name));
    for (char *c = helper; *c; c++)
        if (*c == '.' || *c == '-')
            *c = '_';
    const char *own = arena_printf(p->arena, "ptx_%s", helper);
    if (cfamily_first_use(p, own)) {
        const char *type = p->dialect->register_type(p, result, 1);
        text_add(&p->prelude,
                 "%s%s %s(%s)\n{\n    %s result;\n    asm(\"%s %%0%s;\" : \"=%s\"(result) : %s);\n    return result;\n}\n",
                 p->dialect->function_head ? p->dialect->function_head : "", type, own, text_get(&parameters), type, s->name,
                 text_get(&places), result == ELEMENT_F32 ? "f" : "r", text_get(&operands));
    }
    text_free(&name);
    text_free(&parameters);
    text_free(&places);
    text_free(&operands);
    return own;
}

bool cfamily_intrinsic(cfamily *p, const kernel_stmt *s, const intrinsic_table *table) {
    const contract_operand *result = s->contract_count && s->contract[0].effect == CONTRACT_RESULT ? &s->contract[0] : NULL;
    const kernel_fragment *matrix = s->fragments[0].fragment;
    const int from = result != NULL; /* the first operand that is passed */
    const intrinsic_row *row = intrinsic_row_of(table, "", s);
    if (!row)
        return cfamily_refuse(p, s->span, "a call of `%s`, of which it knows nothing", s->name);
    const element_type t = matrix ? matrix->element : result ? result->access.array->element : ELEMENT_F32;
    const char *name = row->style == INTRINSIC_INSTRUCTION ? instruction(p, s, row, t) : s->name;
    const int lanes = matrix || !result ? 1 : result->access.array->lanes;
    VEC(const char *) texts = {0};
    for (int i = from; i < s->contract_count; i++) {
        const contract_operand *c = &s->contract[i];
        const char *text = "";
        if (c->effect == CONTRACT_VALUE) {
            text = cfamily_statement_value(p, c->value).text;
            if (c->value->lanes > 1) {
                const char *named = cfamily_unique(p, "operand");
                cfamily_line(p, "const %s %s = %s;", p->dialect->register_type(p, c->value->type, c->value->lanes), named, text);
                text = named;
            }
        } else if (c->effect == CONTRACT_FRAGMENT) {
            text = cfamily_fragment_name(p, s->fragments[c->which].fragment, s->fragments[c->which].index);
        } else if (c->effect == CONTRACT_VECTOR) {
            text_buffer list = {0};
            for (int n = 0; n < c->count; n++)
                text_add(&list, "%s%s", n ? ", " : "", cfamily_statement_value(p, c->values[n]).text);
            text = vector_text(p, c->values[0]->type, c->count, text_get(&list));
            text_free(&list);
        } else {
            text = pointer(p, row, c);
        }
        VEC_PUSH(p->arena, texts, text);
    }
    text_buffer all = {0};
    for (int l = 0; l < lanes; l++) {
        text_add(&all, "%s", l ? ", " : "");
        if (matrix)
            text_add(&all, "%s(%s", name, cfamily_fragment_name(p, matrix, s->fragments[0].index));
        else
            text_add(&all, "%s(", name);
        bool first = !matrix;
        const char *at = row->signature;
        intrinsic_next_type(&at);
        for (int i = from; i < s->contract_count; i++) {
            const kernel_value *v = s->contract[i].value;
            if (intrinsic_next_type(&at).constant && row->style == INTRINSIC_INSTRUCTION)
                continue;
            text_add(&all, "%s%s", first ? "" : ", ", v ? lane_of(p, v, texts.at[i - from], l) : texts.at[i - from]);
            first = false;
        }
        text_add(&all, ")");
    }
    if (matrix || !result) {
        cfamily_line(p, "%s;", text_get(&all));
    } else {
        cfamily_array *known = &p->arrays[result->access.array->id];
        known->used = true;
        const char *cell = known->in_registers
                               ? cfamily_cell(p, &result->access)
                               : arena_printf(p->arena, "%s[%s]", known->name, cfamily_offset(p, &result->access, 0));
        cfamily_line(p, "%s = %s;", cell, lanes > 1 ? vector_text(p, t, lanes, text_get(&all)) : text_get(&all));
    }
    text_free(&all);
    return true;
}
