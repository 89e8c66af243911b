/* Programs: kernels called in order, with their temporaries; and schedules. */
#include "base/suggest.h"
#include "lang/build.h"
#include <string.h>

/* What a name holds within a program: an argument, or a result of an earlier call. */
typedef struct holding {
    const char *name;
    source_span span;
    element_type type;
    int group_count;
    index_expr **groups; /* extents that the caller sees */
    int *factor_counts;
    index_expr ***factors;
    const tile_array *array; /* of the program's own */
    const tile_scalar *scalar;
    bool made; /* holds values already */
    bool used;
} holding;

typedef struct program_builder {
    builder *b;
    tile_program *program;
    VEC(holding) holdings;
    bool stopped; /* later calls depend on what went wrong */
} program_builder;

static holding *find_holding(program_builder *p, const char *name) {
    for (int i = 0; i < p->holdings.count; i++)
        if (!strcmp(p->holdings.at[i].name, name))
            return &p->holdings.at[i];
    return NULL;
}

static holding hold_array(arena *a, const tile_array *x) {
    holding h = {.name = x->name, .span = x->span, .type = x->type, .array = x, .group_count = x->group_count};
    h.groups = NEW_ARRAY(a, index_expr *, x->group_count);
    h.factor_counts = x->groups;
    h.factors = NEW_ARRAY(a, index_expr **, x->group_count);
    for (int g = 0, flat = 0; g < x->group_count; g++) {
        h.groups[g] = ix_const(a, 1);
        h.factors[g] = &x->dims[flat];
        for (int f = 0; f < x->groups[g]; f++)
            h.groups[g] = ix_mul(a, h.groups[g], x->dims[flat++]);
    }
    return h;
}

/* Values of the callee's symbols, in terms of the program's. */
typedef struct match {
    const tile_kernel *kernel;
    index_expr **values; /* by position in kernel->symbols; NULL: not known */
} match;

static int symbol_position(const tile_kernel *k, const index_var *v) {
    for (int i = 0; i < k->symbols.count; i++)
        if (k->symbols.at[i] == v)
            return i;
    return -1;
}

/* The expression with known symbols replaced; NULL when one is not known. */
static index_expr *in_caller(arena *a, const match *m, index_expr *x) {
    switch (x->op) {
    case IX_CONST: return x;
    case IX_VAR: {
        int i = symbol_position(m->kernel, x->var);
        return i >= 0 ? m->values[i] : NULL;
    }
    default: {
        index_expr *l = in_caller(a, m, x->a), *r = in_caller(a, m, x->b);
        return l && r ? ix_op2(a, x->op, l, r) : NULL;
    }
    }
}

/* Learns the callee's symbols from one dimension; false when the extents plainly differ. */
static bool match_dimension(builder *b, match *m, const tile_array *callee, int group, const holding *h) {
    int flat = 0;
    for (int g = 0; g < group; g++)
        flat += callee->groups[g];
    int count = callee->groups[group];
    index_expr **factors = &callee->dims[flat];
    if (count == h->factor_counts[group]) {
        for (int f = 0; f < count; f++) {
            int at = factors[f]->op == IX_VAR ? symbol_position(m->kernel, factors[f]->var) : -1;
            if (at >= 0 && !m->values[at])
                m->values[at] = h->factors[group][f];
        }
    } else {
        /* one factor unknown: the rest divides it out */
        index_expr *known = ix_const(b->arena, 1);
        int unknown = -1, missing = 0;
        for (int f = 0; f < count; f++) {
            index_expr *x = in_caller(b->arena, m, factors[f]);
            if (x)
                known = ix_mul(b->arena, known, x);
            else
                unknown = f, missing++;
        }
        if (missing == 1 && factors[unknown]->op == IX_VAR) {
            int at = symbol_position(m->kernel, factors[unknown]->var);
            if (at >= 0)
                m->values[at] = count == 1 ? h->groups[group] : ix_floordiv(b->arena, h->groups[group], known);
        }
    }
    index_expr *whole = ix_const(b->arena, 1);
    for (int f = 0; f < count && whole; f++) {
        index_expr *x = in_caller(b->arena, m, factors[f]);
        whole = x ? ix_mul(b->arena, whole, x) : NULL;
    }
    int64_t x, y;
    if (!whole || ix_equal(whole, h->groups[group]))
        return true;
    if (ix_is_const(whole, &x) && ix_is_const(h->groups[group], &y))
        return x == y;
    return true; /* compared at launch */
}

static bool pass_scalar(program_builder *p, const tile_scalar *wanted, const char *callee, const expr *e, const holding *h) {
    builder *b = p->b;
    bool integer = wanted->var != NULL;
    if (h->scalar && (h->scalar->type == wanted->type || (integer && h->scalar->var)))
        return true;
    diag *g = lang_error(b, "E0225", e->span, "`%s` of `%s` takes a scalar %s", wanted->name, callee,
                         integer && wanted->type == ELEMENT_INDEX ? "integer" : element_table[wanted->type].name);
    diag_caret(b->diags, g, "`%s` is %s", h->name, h->scalar ? element_table[h->scalar->type].name : "an array");
    return false;
}

static bool pass_array(program_builder *p, match *m, const tile_array *wanted, const char *callee, source_span span,
                       const holding *h) {
    builder *b = p->b;
    if (h->scalar) {
        lang_error(b, "E0225", span, "`%s` of `%s` takes an array, and `%s` is a scalar", wanted->name, callee, h->name);
        return false;
    }
    if (h->type != wanted->type) {
        diag *g = lang_error(b, "E0225", span, "`%s` of `%s` takes %s elements, and `%s` holds %s", wanted->name, callee,
                             element_table[wanted->type].name, h->name, element_table[h->type].name);
        if (wanted->type == ELEMENT_INDEX)
            diag_caret(b->diags, g, "index data is checked at launch: it comes from the program's caller, declared index(V)");
        return false;
    }
    if (h->group_count != wanted->group_count) {
        lang_error(b, "E0225", span, "`%s` of `%s` has %d dimension%s, and `%s` has %d", wanted->name, callee,
                   wanted->group_count, wanted->group_count == 1 ? "" : "s", h->name, h->group_count);
        return false;
    }
    for (int g = 0; g < wanted->group_count; g++)
        if (!match_dimension(b, m, wanted, g, h)) {
            lang_error(b, "E0225", span, "dimension %d of `%s` is %s, and `%s` of `%s` wants another extent there", g, h->name,
                       lang_index_text(b->arena, h->groups[g]), wanted->name, callee);
            return false;
        }
    return true;
}

static void receive_result(program_builder *p, match *m, const tile_array *out, const call_syntax *c, int at) {
    builder *b = p->b;
    const char *name = c->results.at[at];
    source_span span = c->result_spans.at[at];
    holding *h = find_holding(p, name);
    if (out->role == ARRAY_UPDATE) {
        if (!h || h->scalar || !h->made) {
            diag *g = lang_error(b, "E0225", span, "`%s` of `%s` is updated, and `%s` holds nothing yet", out->name,
                                 m->kernel->name, name);
            diag_caret(b->diags, g, "declare `update %s: ...` among the program's outputs, or make it by an earlier call", name);
        } else if (h->array && h->array->role == ARRAY_IN) {
            diag *g = lang_error(b, "E0225", span, "`%s` is an input of the program and cannot be updated", name);
            diag_caret(b->diags, g, "declare it among the outputs: `update %s: ...`", name);
        } else if (pass_array(p, m, out, m->kernel->name, span, h)) {
            h->used = true;
        }
        return;
    }
    holding made = {.name = name, .span = span, .type = out->type, .group_count = out->group_count, .made = true};
    made.groups = NEW_ARRAY(b->arena, index_expr *, out->group_count);
    made.factor_counts = out->groups;
    made.factors = NEW_ARRAY(b->arena, index_expr **, out->group_count);
    for (int g = 0, flat = 0; g < out->group_count; g++) {
        made.groups[g] = ix_const(b->arena, 1);
        made.factors[g] = NEW_ARRAY(b->arena, index_expr *, out->groups[g]);
        for (int f = 0; f < out->groups[g]; f++, flat++) {
            index_expr *x = in_caller(b->arena, m, out->dims[flat]);
            if (!x) {
                /* a result that is the program's own output names the extent itself */
                if (h && h->array && !h->made && h->group_count == out->group_count && match_dimension(b, m, out, g, h))
                    x = in_caller(b->arena, m, out->dims[flat]);
            }
            if (!x) {
                diag *e = lang_error(b, "E0225", c->span, "extent %s of `%s` does not follow from the arguments",
                                     lang_index_text(b->arena, out->dims[flat]), out->name);
                const char *symbol = out->dims[flat]->op == IX_VAR ? out->dims[flat]->var->name : "S";
                diag_caret(b->diags, e, "bind it in the call (`%s = ...`), or let the kernel say `where %s == ...`", symbol,
                           symbol);
                p->stopped = true; /* what follows depends on it */
                return;
            }
            made.factors[g][f] = x;
            made.groups[g] = ix_mul(b->arena, made.groups[g], x);
        }
    }
    if (!h) {
        VEC_PUSH(b->arena, p->holdings, made);
        return;
    }
    if (h->made || h->scalar || (h->array && h->array->role == ARRAY_IN)) {
        diag *g = lang_error(b, "E0203", span, "`%s` %s already", name,
                             h->scalar || (h->array && h->array->role == ARRAY_IN) ? "is an argument" : "is made");
        diag_caret(b->diags, g, "choose another name");
        return;
    }
    bool same = h->type == made.type && h->group_count == made.group_count;
    for (int g = 0; same && g < made.group_count; g++) {
        int64_t x, y;
        same = ix_equal(h->groups[g], made.groups[g]) || !(ix_is_const(h->groups[g], &x) && ix_is_const(made.groups[g], &y));
    }
    if (!same) {
        lang_error(b, "E0225", span, "output `%s` is %s of %d dimension%s, and `%s` makes %s of %d with other extents or type",
                   name, element_table[h->type].name, h->group_count, h->group_count == 1 ? "" : "s", m->kernel->name,
                   element_table[made.type].name, made.group_count);
    }
    h->made = true;
}

static void build_call(program_builder *p, const call_syntax *c) {
    builder *b = p->b;
    const tile_kernel *k = tile_find_kernel(b->m->module, c->callee);
    if (!k) {
        if (lang_find_declaration(b->m, DECLARE_PROGRAM, c->callee)) {
            lang_error(b, "E0225", c->span, "`%s` is a program; a program calls kernels", c->callee);
        } else {
            VEC(const char *) words = {0};
            for (int i = 0; i < b->m->module->kernels.count; i++)
                VEC_PUSH(b->arena, words, b->m->module->kernels.at[i]->name);
            diag *g = lang_error(b, "E0202", c->span, "unknown kernel `%s`", c->callee);
            const char *near = suggest_nearest(c->callee, words.at, words.count);
            if (near)
                diag_caret(b->diags, g, "did you mean `%s`?", near);
        }
        for (int i = 0; i < c->results.count; i++) { /* their uses stay silent */
            holding *h = find_holding(p, c->results.at[i]);
            if (h)
                h->made = true;
        }
        p->stopped = true; /* what follows depends on it */
        return;
    }
    if (c->args.count != k->arguments.count) {
        diag *g = lang_error(b, "E0208", c->span, "`%s` takes %d argument%s, and %d %s given", k->name, k->arguments.count,
                             k->arguments.count == 1 ? "" : "s", c->args.count, c->args.count == 1 ? "is" : "are");
        diag_note(b->diags, g, "`%s` is declared in line %d", k->name, k->span.line);
        p->stopped = true;
        return;
    }
    match m = {k, NEW_ARRAY(b->arena, index_expr *, k->symbols.count + 1)};
    tile_call *out = NEW(b->arena, tile_call);
    out->kernel = (tile_kernel *)(uintptr_t)k;
    out->span = c->span;
    for (int i = 0; i < c->bind_names.count; i++) {
        int at = -1;
        for (int s = 0; s < k->symbols.count; s++)
            if (!strcmp(k->symbols.at[s]->name, c->bind_names.at[i]) && k->symbols.at[s]->kind != INDEX_TILE)
                at = s;
        index_expr *x = lang_integer_expression(b, c->bind_values.at[i], PLACE_EXTENT);
        if (at < 0) {
            diag *g = lang_error(b, "E0225", c->bind_spans.at[i], "`%s` has no symbol `%s`", k->name, c->bind_names.at[i]);
            diag_caret(b->diags, g, "a call binds extents and static names of the kernel");
        } else if (x && m.values[at]) {
            lang_error(b, "E0203", c->bind_spans.at[i], "`%s` is bound twice", c->bind_names.at[i]);
        } else if (x) {
            m.values[at] = x;
            VEC_PUSH(b->arena, out->bind_names, c->bind_names.at[i]);
            VEC_PUSH(b->arena, out->bind_values, x);
        }
    }
    int errors = b->diags->errors;
    for (int i = 0; i < c->args.count; i++) {
        const expr *e = c->args.at[i];
        if (e->kind != EXPR_NAME) {
            diag *g = lang_error(b, "E0225", e->span, "a call takes names, not `%s`", lang_source_text_of(b->arena, e));
            diag_caret(b->diags, g, "make it an argument of the program, or the result of a kernel");
            continue;
        }
        holding *h = find_holding(p, e->name);
        if (!h) {
            name_entry *n = name_find(b, e->name);
            if (n && n->kind == NAME_SYMBOL) {
                lang_error(b, "E0225", e->span, "`%s` is an extent; a call takes arrays and scalars", e->name);
                continue;
            }
            VEC(const char *) words = {0};
            for (int j = 0; j < p->holdings.count; j++)
                VEC_PUSH(b->arena, words, p->holdings.at[j].name);
            diag *g = lang_error(b, "E0201", e->span, "unknown name `%s`", e->name);
            const char *near = suggest_nearest(e->name, words.at, words.count);
            if (near)
                diag_caret(b->diags, g, "did you mean `%s`?", near);
            continue;
        }
        if (!h->made) {
            diag *g = lang_error(b, "E0232", e->span, "`%s` is used before a call makes it", e->name);
            diag_caret(b->diags, g, "call the kernel that makes it first");
            continue;
        }
        for (int j = 0; j < c->results.count; j++)
            if (!strcmp(c->results.at[j], e->name)) {
                diag *g = lang_error(b, "E0232", e->span, "`%s` is an argument and a result of one call", e->name);
                diag_caret(b->diags, g, "an `update` array is read by the kernel itself; pass another array");
            }
        h->used = true;
        if (k->argument_is_scalar.at[i])
            pass_scalar(p, k->arguments.at[i], k->name, e, h);
        else
            pass_array(p, &m, k->arguments.at[i], k->name, e->span, h);
        VEC_PUSH(b->arena, out->arguments, e->name);
    }
    int outputs = 0;
    for (int i = 0; i < k->arrays.count; i++)
        outputs += k->arrays.at[i]->role != ARRAY_IN;
    if (outputs != c->results.count) {
        diag *g = lang_error(b, "E0208", c->result_spans.at[0], "`%s` makes %d result%s, and %d name%s given", k->name, outputs,
                             outputs == 1 ? "" : "s", c->results.count, c->results.count == 1 ? " is" : "s are");
        diag_note(b->diags, g, "`%s` is declared in line %d", k->name, k->span.line);
    }
    if (b->diags->errors != errors) {
        p->stopped = true;
        return;
    }
    for (int i = 0; i < c->results.count; i++)
        for (int j = 0; j < i; j++)
            if (!strcmp(c->results.at[i], c->results.at[j]))
                lang_error(b, "E0203", c->result_spans.at[i], "`%s` is named twice", c->results.at[i]);
    /* updated arrays bind symbols as inputs do; defaults and derived symbols come last */
    for (int pass = 0; pass < 2; pass++) {
        int r = 0;
        for (int i = 0; i < k->arrays.count; i++) {
            const tile_array *x = k->arrays.at[i];
            if (x->role == ARRAY_IN)
                continue;
            if ((x->role == ARRAY_UPDATE) == (pass == 0))
                receive_result(p, &m, x, c, r);
            r++;
        }
        for (int round = 0; pass == 0 && round < k->symbols.count; round++)
            for (int s = 0; s < k->symbols.count; s++) {
                if (!m.values[s] && k->symbols.at[s]->has_value)
                    m.values[s] = ix_const(b->arena, k->symbols.at[s]->value);
                if (!m.values[s] && k->derived.at[s])
                    m.values[s] = in_caller(b->arena, &m, k->derived.at[s]);
            }
    }
    for (int i = 0; i < c->results.count; i++)
        VEC_PUSH(b->arena, out->results, c->results.at[i]);
    for (int s = 0; s < k->symbols.count; s++)
        VEC_PUSH(b->arena, out->symbols, m.values[s]);
    VEC_PUSH(b->arena, p->program->calls, out);
}

void lang_build_program(module_builder *m, const declaration *d) {
    builder *b = NEW(m->arena, builder);
    b->m = m;
    b->arena = m->arena;
    b->diags = m->diags;
    b->d = d;
    b->want = ELEMENT_COUNT;
    int errors = m->diags->errors;
    /* The header is a kernel's; its parts are then the program's. */
    b->k = tile_new_kernel(m->arena, d->name, d->span);
    lang_declare_parameters(b, d);
    if (d->where.count) {
        diag *g = lang_error(b, "E0232", d->where.at[0]->span, "a program has no `where` of its own");
        diag_caret(b->diags, g, "the kernels it calls say what they need");
    }
    if (m->diags->errors != errors || d->broken)
        return;
    program_builder p = {.b = b, .program = NEW(m->arena, tile_program)};
    p.program->name = d->name;
    p.program->span = d->span;
    for (int i = 0; i < b->k->arrays.count; i++) {
        tile_array *x = b->k->arrays.at[i];
        VEC_PUSH(m->arena, p.program->arrays, x);
        holding h = hold_array(m->arena, x);
        h.made = x->role != ARRAY_OUT;
        VEC_PUSH(m->arena, p.holdings, h);
    }
    for (int i = 0; i < b->k->scalars.count; i++) {
        VEC_PUSH(m->arena, p.program->scalars, b->k->scalars.at[i]);
        holding h = {
            .name = b->k->scalars.at[i]->name, .span = b->k->scalars.at[i]->span, .scalar = b->k->scalars.at[i], .made = true};
        VEC_PUSH(m->arena, p.holdings, h);
    }
    for (int i = 0; i < b->k->arguments.count; i++) {
        VEC_PUSH(m->arena, p.program->arguments, b->k->arguments.at[i]);
        VEC_PUSH(m->arena, p.program->argument_is_scalar, b->k->argument_is_scalar.at[i]);
    }
    for (int i = 0; i < b->k->symbols.count; i++)
        VEC_PUSH(m->arena, p.program->symbols, b->k->symbols.at[i]);
    for (int i = 0; i < d->calls.count && !p.stopped; i++)
        build_call(&p, &d->calls.at[i]);
    if (m->diags->errors != errors)
        return;
    for (int i = 0; i < p.holdings.count; i++) {
        const holding *h = &p.holdings.at[i];
        if (h->array && h->array->role == ARRAY_OUT && !h->made) {
            diag *g = lang_error(b, "E0232", h->span, "no call makes the output `%s`", h->name);
            diag_caret(b->diags, g, "name it as a result: `%s = kernel(...)`", h->name);
        }
        if (h->made && !h->used && !(h->array && h->array->role != ARRAY_IN)) {
            diag *g = diag_warning(b->diags, "E0233", h->span, "`%s` is never used", h->name);
            diag_caret(b->diags, g, h->array || h->scalar ? "leave it out" : "pass it to a kernel, or make it an output");
        }
    }
    VEC_PUSH(m->arena, m->module->programs, p.program);
}

void lang_build_schedule(module_builder *m, const declaration *d) {
    const tile_kernel *k = tile_find_kernel(m->module, d->name);
    if (!k) {
        VEC(const char *) words = {0};
        for (int i = 0; i < m->module->kernels.count; i++)
            VEC_PUSH(m->arena, words, m->module->kernels.at[i]->name);
        diag *g = diag_error(m->diags, "E0226", d->span, "schedule for an unknown kernel `%s`", d->name);
        const char *near = suggest_nearest(d->name, words.at, words.count);
        if (near)
            diag_caret(m->diags, g, "did you mean `%s`?", near);
        return;
    }
    for (int i = 0; i < m->module->schedules.count; i++) {
        const tile_schedule *s = m->module->schedules.at[i];
        bool same = (s->target == NULL) == (d->target == NULL) && (!s->target || !strcmp(s->target, d->target));
        if (!strcmp(s->kernel, d->name) && same) {
            diag *g = diag_error(m->diags, "E0226", d->span, "a second schedule for `%s`%s%s", d->name, d->target ? " on " : "",
                                 d->target ? d->target : "");
            diag_note(m->diags, g, "the first one is in line %d", s->span.line);
            return;
        }
    }
    tile_schedule *s = NEW(m->arena, tile_schedule);
    s->kernel = d->name;
    s->target = d->target;
    s->span = d->span;
    for (int i = 0; i < d->entries.count; i++) {
        const schedule_entry_syntax *e = &d->entries.at[i];
        for (int j = 0; j < i; j++)
            if (!strcmp(d->entries.at[j].key, e->key)) {
                diag_error(m->diags, "E0226", e->span, "`%s` is set twice", e->key);
                break;
            }
        tile_schedule_entry out = {.key = e->key, .is_integer = e->is_integer, .integer = e->integer, .span = e->span};
        for (int w = 0; w < e->words.count; w++)
            VEC_PUSH(m->arena, out.words, e->words.at[w]);
        VEC_PUSH(m->arena, s->entries, out);
    }
    VEC_PUSH(m->arena, m->module->schedules, s);
}
