/* Bindings of intrinsics against the rows of a target: names, types, and the cells that contracts must name. */
#include "schedule/intrinsic_table.h"
#include "base/suggest.h"
#include <stdlib.h>
#include <string.h>

/* ---- signatures ---- */

static const char *word(const char *at, char *out, size_t room) {
    size_t n = 0;
    while ((*at >= 'a' && *at <= 'z') || (*at >= '0' && *at <= '9')) {
        if (n + 1 < room)
            out[n++] = *at;
        at++;
    }
    out[n] = 0;
    return at;
}

intrinsic_type intrinsic_next_type(const char **from) {
    const char *at = *from;
    intrinsic_type t = {.lanes = 1};
    char name[16];
    t.constant = *at == '#';
    t.written = *at == '&';
    t.pointer = *at == '*' || t.written;
    t.matrix = *at == 'm';
    at = word(at + (t.constant || t.pointer || t.matrix), name, sizeof name);
    if (intrinsic_vector_type(name, &t.element, &t.lanes) == false) {
        t.element = element_of_memory_by_name(name);
        t.lanes = 1;
        t.nothing = !strcmp(name, "void");
    }
    if (*at == '[') {
        do
            t.dims[t.rank++] = strtoll(at + 1, (char **)&at, 10);
        while (*at == ',' && t.rank < INTRINSIC_MOST_RANK);
        at += *at == ']';
    }
    if (*at == '=') {
        int depth = 0;
        for (t.must = ++at; *at && (depth || (*at != ',' && *at != ')')); at++)
            depth += (*at == '(') - (*at == ')');
        t.must_length = (int)(at - t.must);
    }
    while (*at == '(' || *at == ',' || *at == ' ' || *at == ')')
        at++;
    *from = at;
    return t;
}

/* ---- one row ---- */

static const char *printed(arena *a, const intrinsic *f, const intrinsic_item *x, const char *pointer) {
    text_buffer t = {0};
    intrinsic_print_item(&t, f, x);
    text_buffer out = {0};
    size_t n = pointer ? strlen(pointer) : 0;
    for (const char *c = text_get(&t); *c; c++) {
        if (n && !strncmp(c, pointer, n) && c > text_get(&t) && c[-1] == '(' && (c[n] == ',' || c[n] == ')')) {
            text_add(&out, "$");
            c += n - 1;
        } else {
            text_add_bytes(&out, c, 1);
        }
    }
    const char *copy = arena_strdup(a, text_get(&out));
    text_free(&t);
    text_free(&out);
    return copy;
}

static const char *cells_text(arena *a, const intrinsic *f, const intrinsic_parameter *p) {
    text_buffer t = {0};
    text_add(&t, "%s[", p->name);
    for (int d = 0; d < p->rank; d++) {
        text_add(&t, d ? ", " : "");
        intrinsic_print_bound(&t, f, &p->lo[d]);
        text_add(&t, "..");
        intrinsic_print_bound(&t, f, &p->hi[d]);
    }
    text_add(&t, "]");
    const char *copy = arena_strdup(a, text_get(&t));
    text_free(&t);
    return copy;
}

static bool known_bound(const intrinsic_bound *b, int64_t *value) {
    for (int i = 0; i < INTRINSIC_MOST_PARAMETERS; i++)
        if (b->factors[i])
            return false;
    *value = b->constant;
    return true;
}

/* The function reads a box from where it points, all of which the contract must name, or writes one, which the contract must name and no more. NULL: it does. */
static const char *pointer_refusal(arena *a, const intrinsic *f, const intrinsic_row *r, const intrinsic_parameter *p,
                                   const intrinsic_type *t) {
    bool single = true;
    const char *verb = t->written ? "writes" : "reads";
    for (int d = 0; d < t->rank; d++)
        single = single && t->dims[d] == 1;
    if (t->written != p->writes)
        return arena_printf(a, "%s %s through `%s`, and the contract of `%s` %s there", r->name, verb, p->name, f->name,
                            t->written ? "reads" : "writes");
    if (p->type != t->element)
        return arena_printf(a, "`%s` points to %s, and %s takes a pointer to %s", p->name, element_table[p->type].name, r->name,
                            element_table[t->element].name);
    if (!single && p->rank != t->rank)
        return arena_printf(a, "`%s` sees %d dimensions, and %s %s cells of %d", p->name, p->rank, r->name, verb, t->rank);
    for (int d = 0; d < p->rank; d++) {
        int64_t lo, hi, last = single ? 0 : t->dims[d] - 1;
        bool low = known_bound(&p->lo[d], &lo) && lo <= 0, high = known_bound(&p->hi[d], &hi) && hi >= last;
        if (t->written && low && high && (lo < 0 || hi > last))
            return arena_printf(a, "the contract of `%s` writes %s, and %s less of it", f->name, cells_text(a, f, p), r->name);
        if (low && high)
            continue;
        text_buffer cell = {0};
        for (int n = 0; n < p->rank; n++)
            text_add(&cell, "%s%lld", n ? ", " : "", n == d && low ? (long long)last : 0LL);
        const char *why = arena_printf(a, "%s %s %s[%s], and the contract of `%s` names %s alone", r->name, verb, p->name,
                                       text_get(&cell), f->name, cells_text(a, f, p));
        text_free(&cell);
        return why;
    }
    return NULL;
}

static bool is_integer(element_type t) {
    return t == ELEMENT_I32 || t == ELEMENT_U32 || t == ELEMENT_I64 || t == ELEMENT_BOOL;
}

static const char *item_refusal(arena *a, const intrinsic *f, const intrinsic_row *r, const intrinsic_item *x,
                                const intrinsic_type *t, const char *pointer) {
    const intrinsic_parameter *p = x->kind == ITEM_PARAMETER ? &f->parameters[x->parameter] : NULL;
    const char *text = printed(a, f, x, pointer);
    if (t->must && ((int)strlen(text) != t->must_length || strncmp(text, t->must, (size_t)t->must_length)))
        return arena_printf(
            a, "`%s` is passed where %s takes `%.*s`, `$` being the pointer: it would read other cells than the contract's", text,
            r->name, t->must_length, t->must);
    if (t->matrix || (p && p->matrix)) {
        bool same = t->matrix && p && p->matrix && p->type == t->element && p->dims[0] == t->dims[0] && p->dims[1] == t->dims[1];
        return same        ? NULL
               : t->matrix ? arena_printf(a, "`%s` is passed where %s takes a matrix %s[%lld, %lld]", text, r->name,
                                          element_table[t->element].name, (long long)t->dims[0], (long long)t->dims[1])
                           : arena_printf(a, "`%s` is a matrix, and %s takes none there", text, r->name);
    }
    if (t->pointer != (p && p->rank))
        return arena_printf(
            a, t->pointer ? "`%s` is no pointer, and %s takes one there" : "`%s` is a pointer, and %s takes a value there", text,
            r->name);
    if (t->pointer)
        return pointer_refusal(a, f, r, p, t);
    if ((x->kind == ITEM_VECTOR ? x->count : 1) != t->lanes || (x->kind == ITEM_VECTOR && x->type != t->element))
        return arena_printf(a, "`%s` is no %s%s", text, element_table[t->element].name,
                            t->lanes > 1 ? arena_printf(a, "x%d", t->lanes) : "");
    bool fits = x->kind == ITEM_VECTOR || (p ? p->type == t->element || (p->type == ELEMENT_INDEX && is_integer(t->element))
                                             : is_integer(t->element) || (x->kind == ITEM_INTEGER && t->element == ELEMENT_F32));
    if (!fits)
        return arena_printf(a, "`%s` is %s, and %s takes %s there", text, p ? element_table[p->type].name : "an integer", r->name,
                            element_table[t->element].name);
    if (t->constant && x->kind != ITEM_INTEGER)
        return arena_printf(a, "`%s` is no constant, and %s takes one there", text, r->name);
    return NULL;
}

static const char *operands_refusal(arena *a, const intrinsic_row *r, const char *at, const intrinsic *f,
                                    const intrinsic_binding *b) {
    const char *pointer = NULL;
    for (int i = 0; i < b->count; i++)
        if (b->items[i].kind == ITEM_PARAMETER && f->parameters[b->items[i].parameter].rank)
            pointer = f->parameters[b->items[i].parameter].name;
    int count = 0;
    for (; *at; count++) {
        intrinsic_type t = intrinsic_next_type(&at);
        const char *why = count < b->count ? item_refusal(a, f, r, &b->items[count], &t, pointer) : NULL;
        if (why)
            return why;
    }
    return count == b->count ? NULL
                             : arena_printf(a, "%s takes %d operand%s, and %d %s given", r->name, count, count == 1 ? "" : "s",
                                            b->count, b->count == 1 ? "is" : "are");
}

/* Why the row is not what the binding means; NULL: it is. */
static const char *row_refusal(arena *a, const intrinsic_row *r, const intrinsic *f, const intrinsic_binding *b) {
    const char *at = r->signature;
    intrinsic_type result = intrinsic_next_type(&at);
    bool matrix = f->rows > 0;
    if (result.nothing != intrinsic_is_store(f))
        return arena_printf(a, result.nothing ? "%s gives nothing, and `%s` does" : "%s gives something, and `%s` nothing",
                            r->name, f->name);
    if (result.nothing)
        return operands_refusal(a, r, at, f, b);
    if (result.matrix != matrix || result.element != f->type ||
        (matrix && (result.dims[0] != f->rows || result.dims[1] != f->columns)))
        return arena_printf(
            a, "%s gives %s%s%s", r->name, element_table[result.element].name,
            result.matrix ? arena_printf(a, "[%lld, %lld]", (long long)result.dims[0], (long long)result.dims[1]) : "",
            result.element == f->type ? "" : arena_printf(a, ", and `%s` is %s", f->name, element_table[f->type].name));
    return operands_refusal(a, r, at, f, b);
}

static bool in_form(const intrinsic_row *r, const char *form) {
    return !r->form || (form && !strcmp(r->form, form));
}

const intrinsic_row *intrinsic_find(arena *a, const intrinsic_table *t, const char *form, const intrinsic *f,
                                    const intrinsic_binding *b, const char **why, const char **near) {
    VEC(const char *) names = {0};
    bool known = false;
    *why = *near = NULL;
    for (int i = 0; t && i < t->count; i++) {
        const intrinsic_row *r = &t->at[i];
        if (!in_form(r, form))
            continue;
        VEC_PUSH(a, names, r->name);
        if (strcmp(r->name, b->name))
            continue;
        const char *at = r->signature;
        const intrinsic_type gives = intrinsic_next_type(&at);
        bool same_result = gives.nothing || gives.element == f->type; /* of several rows that one's reason is told */
        const char *refusal = row_refusal(a, r, f, b);
        if (!refusal)
            return r;
        if (!known || same_result)
            *why = refusal;
        known = true;
    }
    if (!known)
        *near = suggest_nearest(b->name, names.at, names.count);
    return NULL;
}
