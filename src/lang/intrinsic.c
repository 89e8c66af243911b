/* Declarations of intrinsics: their types, their contracts as bounds over integer parameters, and whether what they compute stays within these. */
#include "base/suggest.h"
#include "lang/declared.h"
#include <string.h>

enum { MOST_WRITTEN_OUT = 64 }; /* values of a `sum[j in lo..hi]` */

diag *declared_fail(declared *c, const char *code, source_span span, const char *format, ...) {
    text_buffer t = {0};
    va_list args;
    va_start(args, format);
    text_add_va(&t, format, args);
    va_end(args);
    diag *g = diag_error(c->m->diags, code, span, "%s", text_get(&t));
    text_free(&t);
    c->ok = false;
    return g;
}

int declared_parameter(const intrinsic *f, const char *name) {
    for (int i = 0; name && i < f->parameter_count; i++)
        if (!strcmp(f->parameters[i].name, name))
            return i;
    return -1;
}

/* ---- integers over the parameters ---- */

static bool is_constant(const intrinsic_bound *b) {
    for (int i = 0; i < INTRINSIC_MOST_PARAMETERS; i++)
        if (b->factors[i])
            return false;
    return true;
}

static bool in_range(int64_t x) {
    return x > -(INT64_C(1) << 40) && x < INT64_C(1) << 40;
}

static bool scaled(intrinsic_bound *to, const intrinsic_bound *x, int64_t by) {
    if (!in_range(by))
        return false;
    intrinsic_bound sum = *to;
    bool ok = in_range(x->constant) && (!x->constant || in_range(by * (x->constant >> 20)));
    sum.constant += by * x->constant;
    for (int i = 0; i < INTRINSIC_MOST_PARAMETERS && ok; i++) {
        ok = in_range(x->factors[i]) && (!x->factors[i] || in_range(by * (x->factors[i] >> 20)));
        sum.factors[i] += ok ? by * x->factors[i] : 0;
    }
    *to = sum;
    return ok && in_range(sum.constant);
}

static bool bound_of(declared *c, const expr *e, intrinsic_bound *out) {
    memset(out, 0, sizeof *out);
    intrinsic_bound x, y;
    switch (e->kind) {
    case EXPR_NUMBER:
        if (e->integral) {
            out->constant = e->integer;
            return true;
        }
        break;
    case EXPR_NAME: {
        for (int i = c->count - 1; i >= 0; i--)
            if (!strcmp(c->names[i], e->name)) {
                out->constant = c->numbers[i];
                return true;
            }
        int p = declared_parameter(c->f, e->name);
        if (p >= 0 && !c->f->parameters[p].rank && c->f->parameters[p].type == ELEMENT_INDEX) {
            out->factors[p] = 1;
            return true;
        }
        if (p >= 0) {
            diag *g = declared_fail(c, "E0331", e->span, "`%s` is no integer that cells can be counted with", e->name);
            diag_caret(c->m->diags, g, "declare it `%s: index`", e->name);
        } else {
            diag *g = declared_fail(c, "E0201", e->span, "unknown name `%s`", e->name);
            diag_caret(c->m->diags, g, "an intrinsic sees its parameters only");
        }
        return false;
    }
    case EXPR_NEGATE: return bound_of(c, e->a, &x) && scaled(out, &x, -1);
    case EXPR_BINARY:
        if (e->op != OP_ADD && e->op != OP_SUB && e->op != OP_MUL)
            break;
        if (!bound_of(c, e->a, &x) || !bound_of(c, e->b, &y))
            return false;
        if (e->op != OP_MUL) {
            *out = x;
            if (scaled(out, &y, e->op == OP_ADD ? 1 : -1))
                return true;
        } else if (is_constant(&x) ? scaled(out, &y, x.constant) : is_constant(&y) && scaled(out, &x, y.constant)) {
            return true;
        }
        break;
    default: break;
    }
    diag *g = declared_fail(c, "E0331", e->span, "`%s` is no sum of integers and `index` parameters with constant factors",
                            lang_source_text_of(c->m->arena, e));
    diag_caret(c->m->diags, g, "cells are counted from the one pointed to: `reads p[0..3]`, `reads p[0..n - 1]`");
    return false;
}

/* Whether b can be negative for some values of the parameters; which, in *parameter (-1: for all) and *value. */
static bool may_be_negative(const intrinsic_bound *b, int *parameter, int64_t *value) {
    *parameter = -1;
    for (int i = 0; i < INTRINSIC_MOST_PARAMETERS; i++)
        if (b->factors[i]) {
            *parameter = i;
            int64_t f = b->factors[i] < 0 ? -b->factors[i] : b->factors[i], n = b->constant < 0 ? 0 : b->constant / f + 1;
            *value = b->factors[i] < 0 ? n : -n;
            return true;
        }
    return b->constant < 0;
}

/* ---- what it computes ---- */

static void check_value(declared *c, const expr *e);

static const char *cell_text(declared *c, const char *name, const intrinsic_bound *at, int rank) {
    text_buffer t = {0};
    text_add(&t, "%s[", name);
    for (int d = 0; d < rank; d++) {
        text_add(&t, d ? ", " : "");
        intrinsic_print_bound(&t, c->f, &at[d]);
    }
    text_add(&t, "]");
    const char *copy = arena_strdup(c->m->arena, text_get(&t));
    text_free(&t);
    return copy;
}

void declared_cell(declared *c, const expr *e, const intrinsic_parameter *p, bool written) {
    if (e->args.count != p->rank) {
        declared_fail(c, "E0213", e->span, "`%s` sees %d dimension%s, and %d ind%s given", p->name, p->rank,
                      p->rank == 1 ? "" : "s", e->args.count, e->args.count == 1 ? "ex is" : "ices are");
        return;
    }
    intrinsic_bound at[INTRINSIC_MOST_RANK];
    for (int d = 0; d < p->rank; d++)
        if (!bound_of(c, e->args.at[d], &at[d]))
            return;
    const char *verb = written ? "writes" : "reads";
    if (written ? !p->writes : !p->reads) {
        declared_fail(c, "E0332", e->span, "the value %s %s, and the contract of `%s` %s nothing of `%s`", verb,
                      cell_text(c, p->name, at, p->rank), c->f->name, verb, p->name);
        return;
    }
    for (int d = 0; d < p->rank; d++)
        for (int high = 0; high < 2; high++) {
            intrinsic_bound room = high ? p->hi[d] : at[d];
            int parameter;
            int64_t value;
            scaled(&room, high ? &at[d] : &p->lo[d], -1);
            if (!may_be_negative(&room, &parameter, &value))
                continue;
            const char *when =
                parameter < 0 ? ""
                              : arena_printf(c->m->arena, " when %s = %lld", c->f->parameters[parameter].name, (long long)value);
            text_buffer t = {0};
            intrinsic_print_bound(&t, c->f, &p->lo[d]);
            text_add(&t, "..");
            intrinsic_print_bound(&t, c->f, &p->hi[d]);
            diag *g = declared_fail(c, "E0332", e->span, "the value of `%s` %s %s, outside its contract%s", c->f->name, verb,
                                    cell_text(c, p->name, at, p->rank), when);
            diag_caret(c->m->diags, g, "the contract %s %s in dimension %d of `%s`", verb, text_get(&t), d, p->name);
            diag_note(c->m->diags, g, "the prover takes a contract's cells for all that is %s: it must name them all",
                      written ? "written" : "read");
            text_free(&t);
            return;
        }
}

static void check_bounded(declared *c, const expr *e) {
    intrinsic_bound lo, hi;
    if (!bound_of(c, e->args.at[0], &lo) || !bound_of(c, e->args.at[1], &hi))
        return;
    int64_t n = hi.constant - lo.constant + 1;
    if (!is_constant(&lo) || !is_constant(&hi) || n < 1 || n > MOST_WRITTEN_OUT || strcmp(e->name, "sum")) {
        diag *g = declared_fail(c, "E0331", e->span, "`%s` is not written out", lang_source_text_of(c->m->arena, e));
        diag_caret(c->m->diags, g, "`sum[j in 0..3](...)` goes over constant numbers, 1 to %d of them", MOST_WRITTEN_OUT);
        return;
    }
    if (c->count == 8) {
        declared_fail(c, "E0331", e->span, "sums nest more than 8 deep");
        return;
    }
    c->names[c->count++] = e->range;
    for (int64_t j = 0; j < n && c->ok; j++) {
        c->numbers[c->count - 1] = lo.constant + j;
        check_value(c, e->a);
    }
    c->count--;
}

static void check_value(declared *c, const expr *e) {
    if (!e || !c->ok)
        return;
    if (++c->steps > MAX_STEPS) {
        declared_fail(c, "E0111", e->span, "this value grows too large");
        return;
    }
    if (e->kind == EXPR_REDUCE && e->bounded) {
        check_bounded(c, e);
        return;
    }
    if (e->kind == EXPR_REDUCE) {
        declared_fail(c, "E0220", e->range_span, "an intrinsic knows no ranges");
        return;
    }
    int p = e->kind == EXPR_INDEX || e->kind == EXPR_NAME ? declared_parameter(c->f, e->name) : -1;
    if (e->kind == EXPR_INDEX) {
        if (p >= 0 && c->f->parameters[p].rank)
            declared_cell(c, e, &c->f->parameters[p], false);
        else
            declared_fail(c, "E0201", e->span, "`%s` is no pointer of this intrinsic", e->name);
        return;
    }
    if (e->kind == EXPR_NAME && p >= 0 && c->f->parameters[p].rank) {
        diag *g = declared_fail(c, "E0207", e->span, "`%s` is a pointer; a value is one of the cells it sees", e->name);
        diag_caret(c->m->diags, g, "write `%s[0]`", e->name);
        return;
    }
    bool known = p >= 0;
    for (int i = 0; i < c->count; i++)
        known |= e->kind == EXPR_NAME && !strcmp(c->names[i], e->name);
    if (e->kind == EXPR_NAME && !known && strcmp(e->name, "inf") && strcmp(e->name, "true") && strcmp(e->name, "false")) {
        diag *g = declared_fail(c, "E0201", e->span, "unknown name `%s`", e->name);
        diag_caret(c->m->diags, g, "what an intrinsic computes is said in terms of its parameters");
        return;
    }
    if (e->kind == EXPR_CALL && !lang_is_builtin(e->name) && !lang_find_declaration(c->m, DECLARE_FN, e->name)) {
        declared_fail(c, "E0202", e->span, "unknown function `%s`", e->name);
        return;
    }
    check_value(c, e->a);
    check_value(c, e->b);
    bool mode = e->kind == EXPR_CALL && (!strcmp(e->name, "e4m3") || !strcmp(e->name, "e5m2"));
    for (int i = 0; i < e->args.count && (i == 0 || !mode); i++)
        check_value(c, e->args.at[i]);
}

/* ---- parameters, contract, operands ---- */

static bool is_value_type(element_type t) {
    return t == ELEMENT_F32 || t == ELEMENT_I32 || t == ELEMENT_U32;
}

/* A matrix's type: f32, f16 or bf16, and two constant extents. */
static bool declare_shape(declared *c, const type_syntax *t, int64_t dims[2]) {
    bool shape = t->has_dims && t->dims.count == 2 &&
                 (t->element == ELEMENT_F32 || t->element == ELEMENT_F16 || t->element == ELEMENT_BF16);
    for (int i = 0; shape && i < 2; i++) {
        const expr *e = t->dims.at[i];
        shape = e->kind == EXPR_NUMBER && e->integral && e->integer >= 1 && e->integer <= 256;
        dims[i] = shape ? e->integer : 0;
    }
    if (!shape)
        declared_fail(c, "E0331", t->span, "a matrix is of f32, f16 or bf16, with two constant extents");
    return shape;
}

static void declare_parameter(declared *c, const intrinsic_parameter_syntax *s) {
    const type_syntax *t = &s->type;
    intrinsic_parameter *p = &c->f->parameters[c->f->parameter_count];
    if (declared_parameter(c->f, s->name) >= 0) {
        declared_fail(c, "E0203", s->span, "`%s` is named twice", s->name);
        return;
    }
    *p = (intrinsic_parameter){.name = s->name, .span = s->span, .type = t->element};
    c->f->parameter_count++;
    if (s->matrix) {
        p->matrix = declare_shape(c, t, p->dims);
        return;
    }
    if (!t->has_dims) {
        if (s->space || t->lo || t->index_bound || (!is_value_type(t->element) && t->element != ELEMENT_INDEX)) {
            diag *g = declared_fail(c, "E0331", t->span, "a value that is passed is f32, i32, u32 or an integer (`index`)");
            diag_caret(c->m->diags, g, "a pointer says what it sees: `%s: f32[8, 8]`", s->name);
        }
        return;
    }
    p->space = !s->space ? INTRINSIC_ANYWHERE : *s->space == 'g' ? INTRINSIC_GLOBAL : INTRINSIC_SHARED;
    p->rank = t->dims.count;
    bool plain = t->element != ELEMENT_COUNT && t->element != ELEMENT_INDEX && t->element != ELEMENT_BOOL && !t->injective &&
                 element_table[t->element].block_elements == 1;
    if (!plain || p->rank > INTRINSIC_MOST_RANK) {
        declared_fail(c, "E0331", t->span, "a pointer sees numbers of one type in 1 to %d dimensions", INTRINSIC_MOST_RANK);
        p->rank = 0;
        return;
    }
    for (int i = 0; i < p->rank; i++) {
        const expr *e = t->dims.at[i];
        if (e->kind != EXPR_NUMBER || !e->integral || e->integer < 1 || e->integer > 1 << 20) {
            declared_fail(c, "E0331", e->span, "what a pointer sees has constant extents, 1 to %d", 1 << 20);
            return;
        }
        p->dims[i] = e->integer;
    }
}

static void declare_contract(declared *c, const contract_syntax *s) {
    int at = declared_parameter(c->f, s->name);
    if (at < 0 || !c->f->parameters[at].rank) {
        diag *g = declared_fail(c, "E0331", s->span, "`%s` is no pointer of `%s`", s->name, c->f->name);
        diag_caret(c->m->diags, g, "a contract names the cells that each pointer %s", s->reads ? "reads" : "writes");
        return;
    }
    intrinsic_parameter *p = &c->f->parameters[at];
    if (s->writes && c->d->has_result) {
        diag *g = declared_fail(c, "E0331", s->span, "`%s` gives a value, and would write memory", c->f->name);
        diag_caret(c->m->diags, g, "a function that writes gives nothing: leave `->` and the type out");
        return;
    }
    if (p->reads || p->writes) {
        declared_fail(c, "E0331", s->span, "the contract says twice what `%s` reads or writes", s->name);
        return;
    }
    if (s->writes && intrinsic_is_store(c->f)) {
        declared_fail(c, "E0331", s->span, "`%s` would write through two pointers", c->f->name);
        return;
    }
    p->reads = s->reads;
    p->writes = s->writes;
    if (!s->whole && s->lo.count != p->rank) {
        declared_fail(c, "E0213", s->span, "`%s` sees %d dimension%s, and the contract names %d", p->name, p->rank,
                      p->rank == 1 ? "" : "s", s->lo.count);
        return;
    }
    for (int d = 0; d < p->rank; d++) {
        if (s->whole) {
            p->hi[d].constant = p->dims[d] - 1;
            continue;
        }
        if (!bound_of(c, s->lo.at[d], &p->lo[d]) || !bound_of(c, s->hi.at[d], &p->hi[d]))
            return;
        intrinsic_bound extent = p->hi[d];
        scaled(&extent, &p->lo[d], -1);
        if (is_constant(&extent) && extent.constant < 0) {
            declared_fail(c, "E0331", s->lo.at[d]->span, "these cells end before they begin");
            return;
        }
    }
}

static bool declare_items(declared *c, const expr *const *from, int count, intrinsic_item **items, int nesting);

static bool declare_item(declared *c, const expr *e, intrinsic_item *x, int nesting) {
    element_type element;
    int lanes;
    *x = (intrinsic_item){.span = e->span, .type = ELEMENT_I32};
    bool negative = e->kind == EXPR_NEGATE && e->a->kind == EXPR_NUMBER;
    const expr *number = negative ? e->a : e;
    if (number->kind == EXPR_NUMBER && number->integral && number->integer <= INT32_MAX) {
        x->kind = ITEM_INTEGER;
        x->integer = negative ? -number->integer : number->integer;
        return true;
    }
    if (e->kind == EXPR_NAME && declared_parameter(c->f, e->name) >= 0) {
        x->kind = ITEM_PARAMETER;
        x->parameter = declared_parameter(c->f, e->name);
        return true;
    }
    if (e->kind == EXPR_CALL && !strcmp(e->name, "stride") && e->args.count == 2 && e->args.at[0]->kind == EXPR_NAME &&
        e->args.at[1]->kind == EXPR_NUMBER && e->args.at[1]->integral) {
        x->kind = ITEM_STRIDE;
        x->type = ELEMENT_I64;
        x->parameter = declared_parameter(c->f, e->args.at[0]->name);
        int64_t d = e->args.at[1]->integer;
        if (x->parameter >= 0 && d >= 0 && d < c->f->parameters[x->parameter].rank) {
            x->dim = (int)d;
            return true;
        }
    }
    if (e->kind == EXPR_CALL && intrinsic_vector_type(e->name, &element, &lanes) && e->args.count == lanes &&
        nesting < INTRINSIC_MOST_NESTING) {
        x->kind = ITEM_VECTOR;
        x->type = element;
        x->count = lanes;
        return declare_items(c, (const expr *const *)e->args.at, e->args.count, &x->items, nesting + 1);
    }
    diag *g =
        declared_fail(c, "E0331", e->span, "`%s` is no operand of a target's function", lang_source_text_of(c->m->arena, e));
    diag_caret(c->m->diags, g,
               "operands are parameters, integers, `stride(p, 0)` of a pointer, and vectors of these such as `i64x2(n, 8)`");
    return false;
}

static bool declare_items(declared *c, const expr *const *from, int count, intrinsic_item **items, int nesting) {
    *items = NEW_ARRAY(c->m->arena, intrinsic_item, count + 1);
    for (int i = 0; i < count; i++)
        if (!declare_item(c, from[i], &(*items)[i], nesting))
            return false;
    return true;
}

static void declare_binding(declared *c, const binding_syntax *s) {
    intrinsic_binding b = {.target = s->target, .name = s->text, .span = s->span};
    for (int i = 0; i < c->f->bindings.count; i++)
        if (!strcmp(c->f->bindings.at[i].target, b.target)) {
            declared_fail(c, "E0203", s->span, "`%s` has a function for `%s` already", c->f->name, b.target);
            return;
        }
    if (!*b.name || strlen(b.name) > 120 ||
        strspn(b.name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.") != strlen(b.name)) {
        diag *g = declared_fail(c, "E0331", s->span, "`%s` is no name of a function", b.name);
        diag_caret(c->m->diags, g,
                   "names are made of letters, digits, `_` and `.`; an instruction's operands are not part of it");
        return;
    }
    b.count = s->listed ? s->items.count : c->f->parameter_count;
    if (s->listed) {
        if (!declare_items(c, (const expr *const *)s->items.at, b.count, &b.items, 0))
            return;
    } else {
        b.items = NEW_ARRAY(c->m->arena, intrinsic_item, b.count + 1);
        for (int i = 0; i < b.count; i++)
            b.items[i] = (intrinsic_item){.kind = ITEM_PARAMETER, .parameter = i, .type = ELEMENT_I32, .span = s->span};
    }
    VEC_PUSH(c->m->arena, c->f->bindings, b);
}

static void declare_result(declared *c) {
    const type_syntax *t = &c->d->result;
    intrinsic *f = c->f;
    int64_t dims[2];
    if (!c->d->has_result)
        return; /* what it writes says it */
    f->type = t->element;
    if (!t->has_dims) {
        if (t->lo || !is_value_type(t->element)) {
            diag *g = declared_fail(c, "E0331", t->span, "the result is f32, i32 or u32, or a matrix");
            diag_caret(c->m->diags, g, "a matrix held by a subgroup is written with its shape: `-> f16[8, 8]`");
        }
        return;
    }
    if (!declare_shape(c, t, dims))
        return;
    f->rows = (int)dims[0];
    f->columns = (int)dims[1];
}

static void fail_unwritten(declared *c) {
    diag *g = declared_fail(c, "E0331", c->d->span, "`%s` gives nothing, and writes nothing", c->f->name);
    diag_caret(c->m->diags, g, "say what it gives, `-> f32`, or what it writes, `writes p`");
}

/* One cell is written for each element: the one pointed to, which a store owns. */
static void check_store(declared *c, const intrinsic_parameter *p) {
    const declaration *d = c->d;
    for (int i = 0; i < p->rank; i++)
        if (!is_constant(&p->lo[i]) || p->lo[i].constant || !is_constant(&p->hi[i]) || p->hi[i].constant) {
            diag *g = declared_fail(c, "E0331", p->span, "`%s` would write more than the cell pointed to, for each element",
                                    c->f->name);
            diag_caret(c->m->diags, g, "a store writes `%s[0]`; matrices are written whole, by a subgroup", p->name);
            return;
        }
    if (!d->value)
        return;
    if (!d->written || strcmp(d->written->name, p->name) || d->names.count) {
        diag *g =
            declared_fail(c, "E0331", d->value->span, "`%s` gives nothing: its value is what it leaves in memory", c->f->name);
        diag_caret(c->m->diags, g, "write `value %s[0] = ...`", p->name);
        return;
    }
    declared_cell(c, d->written, p, true);
}

static void declare(module_builder *m, declaration *d) {
    declared c = {.m = m, .d = d, .ok = true};
    intrinsic *f = c.f = NEW(m->arena, intrinsic);
    f->name = d->name;
    f->span = d->span;
    if (lang_is_builtin(d->name)) {
        diag *g = declared_fail(&c, "E0204", d->span, "`%s` is a function of the language", d->name);
        diag_caret(m->diags, g, "choose another name");
    }
    if (d->parameters.count > INTRINSIC_MOST_PARAMETERS)
        declared_fail(&c, "E0331", d->parameters.at[INTRINSIC_MOST_PARAMETERS].span, "an intrinsic has at most %d parameters",
                      INTRINSIC_MOST_PARAMETERS);
    for (int i = 0; i < d->parameters.count && c.ok; i++)
        declare_parameter(&c, &d->parameters.at[i]);
    if (c.ok)
        declare_result(&c);
    for (int i = 0; i < d->contracts.count && c.ok; i++)
        declare_contract(&c, &d->contracts.at[i]);
    for (int i = 0; i < f->parameter_count && c.ok; i++)
        if (f->parameters[i].rank && !f->parameters[i].reads && !f->parameters[i].writes) {
            diag *g = declared_fail(&c, "E0331", f->parameters[i].span, "nothing says what `%s` reads%s", f->parameters[i].name,
                                    d->has_result ? "" : " or writes");
            diag_caret(m->diags, g, "add `reads %s`, or the cells: `reads %s[0..3]`", f->parameters[i].name,
                       f->parameters[i].name);
        }
    for (int i = 0; i < d->bindings.count && c.ok; i++)
        declare_binding(&c, &d->bindings.at[i]);
    f->referenced = d->value != NULL;
    f->anywhere = d->anywhere;
    const int written = intrinsic_written(f);
    if (c.ok && !d->has_result && written < 0)
        fail_unwritten(&c);
    if (c.ok && written >= 0)
        f->type = f->parameters[written].type;
    bool matrices = f->rows > 0;
    for (int i = 0; i < f->parameter_count; i++)
        matrices = matrices || f->parameters[i].matrix;
    if (c.ok && matrices && !f->rows && written < 0)
        declared_fail(&c, "E0331", d->span, "a function that is given matrices gives one, or stores one");
    else if (c.ok && matrices)
        declared_matrices(&c);
    else if (c.ok && written >= 0)
        check_store(&c, &f->parameters[written]);
    else if (c.ok && d->names.count)
        declared_fail(&c, "E0331", d->name_spans.at[0], "the result is one value for each element; it has no place in a matrix");
    else if (c.ok && d->written)
        declared_fail(&c, "E0331", d->written->span, "`%s` writes nothing: its value is `value = ...`", f->name);
    if (c.ok && d->value && !matrices)
        check_value(&c, d->value);
    if (c.ok && d->anywhere && !d->value)
        declared_fail(&c, "E0331", d->anywhere_span, "`otherwise = value`, and no `value = ...` says what that is");
    if (c.ok)
        d->made = f;
    else
        d->broken = true;
}

void lang_declare_intrinsics(module_builder *m) {
    for (int i = 0; i < m->syntax.items.count; i++) {
        declaration *d = m->syntax.items.at[i];
        if (d->kind == DECLARE_INTRINSIC && !d->broken)
            declare(m, d);
    }
}
