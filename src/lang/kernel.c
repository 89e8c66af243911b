/* A kernel's declaration: symbols, arguments, what the caller must satisfy, then its body. */
#include "base/suggest.h"
#include "lang/build.h"
#include <string.h>

enum { MAX_RANK = 16 }; /* flattened dimensions of an array */

static const static_syntax *find_static(const declaration *d, const char *name) {
    for (int i = 0; i < d->statics.count; i++)
        if (!strcmp(d->statics.at[i].name, name))
            return &d->statics.at[i];
    return NULL;
}

static index_var *add_symbol(builder *b, const char *name, source_span span) {
    const static_syntax *s = find_static(b->d, name);
    name_entry *n = name_add(b, name, NAME_SYMBOL, s ? s->span : span);
    if (!n)
        return NULL;
    index_var *v = tile_new_var(b->k, name, s ? INDEX_STATIC : INDEX_SYMBOL, s ? s->span : span);
    n->symbol = v;
    return v;
}

/* The extents of one dimension, as factors. Names met first here become symbols. */
static bool flatten_dimension(builder *b, const expr *e, index_expr **dims, int *count) {
    if (e->kind == EXPR_ERROR)
        return false;
    if (e->kind == EXPR_BINARY && e->op == OP_MUL)
        return flatten_dimension(b, e->a, dims, count) && flatten_dimension(b, e->b, dims, count);
    if (*count >= MAX_RANK) {
        lang_error(b, "E0222", e->span, "an array has at most %d dimensions and factors", MAX_RANK);
        return false;
    }
    if (e->kind == EXPR_NUMBER && e->integral && e->integer >= 1) {
        dims[(*count)++] = ix_const(b->arena, e->integer);
        return true;
    }
    if (e->kind == EXPR_NAME && strcmp(e->name, "inf") && strcmp(e->name, "true") && strcmp(e->name, "false")) {
        name_entry *n = name_find(b, e->name);
        index_var *v = n && n->kind == NAME_SYMBOL ? n->symbol : NULL;
        if (n && !v) {
            lang_error(b, "E0222", e->span, "`%s` is %s and cannot be an extent", e->name, name_describe(n));
            return false;
        }
        if (!v)
            v = add_symbol(b, e->name, e->span);
        if (!v)
            return false;
        dims[(*count)++] = ix_var(b->arena, v);
        return true;
    }
    diag *g = lang_error(b, "E0222", e->span, "`%s` is no extent", lang_source_text_of(b->arena, e));
    if (e->kind == EXPR_NUMBER)
        diag_caret(b->diags, g, "extents are integers of at least 1");
    else
        diag_caret(b->diags, g, "an extent is a name, an integer, or a product of them; name it, and add `where NAME == %s`",
                   lang_source_text_of(b->arena, e));
    return false;
}

static bool check_element(builder *b, const parameter_syntax *p, bool output) {
    const type_syntax *t = &p->type;
    if (t->element == ELEMENT_COUNT) {
        const char *names[ELEMENT_OF_LANGUAGE];
        for (int i = 0; i < ELEMENT_OF_LANGUAGE; i++)
            names[i] = element_table[i].name;
        const char *near = suggest_nearest(t->name, names, ELEMENT_OF_LANGUAGE);
        diag *g = lang_error(b, "E0206", t->span, "unknown element type `%s`", t->name);
        if (near)
            diag_caret(b->diags, g, "did you mean `%s`?", near);
        else
            diag_caret(b->diags, g,
                       "element types are f32, f16, bf16, i8, u8, i32, u32, bool, index(V), e4m3, e5m2, q8_0, q4_0 and mxfp4");
        return false;
    }
    if (t->element == ELEMENT_TF32) {
        diag *g = lang_error(b, "E0206", t->span,
                             "`%s` is an array, and tf32 is a type of values: what an f32 is rounded to for `@`", p->name);
        diag_caret(b->diags, g, "write f32, and `tf32(%s[...])` where it is multiplied", p->name);
        return false;
    }
    if (output && (element_table[t->element].block_elements > 1)) {
        diag *g = lang_error(b, "E0219", t->span, "`%s` is an output, and the block format %s is only read", p->name, t->name);
        diag_caret(b->diags, g, "write f32 or f16");
        return false;
    }
    if (output && t->element == ELEMENT_INDEX) {
        diag *g = lang_error(b, "E0206", t->span, "`%s` is an output; index(V) describes data that the caller gives", p->name);
        diag_caret(b->diags, g, "write u32 or i32");
        return false;
    }
    if (t->injective && t->element != ELEMENT_INDEX) {
        diag *g = lang_error(b, "E0231", t->span, "only index arrays can be injective");
        diag_caret(b->diags, g, "write `injective index(V)[...]`");
        return false;
    }
    return true;
}

/* First pass: symbols from the dimensions, in order of appearance, and the arrays. */
static void declare_array(builder *b, const parameter_syntax *p, bool output) {
    const type_syntax *t = &p->type;
    index_expr *dims[MAX_RANK];
    int rank = 0, groups[MAX_RANK];
    bool ok = check_element(b, p, output);
    if (t->dims.count > MAX_RANK) {
        lang_error(b, "E0222", p->span, "an array has at most %d dimensions and factors", MAX_RANK);
        ok = false;
    }
    for (int i = 0; i < t->dims.count && i < MAX_RANK; i++) {
        int before = rank;
        ok &= flatten_dimension(b, t->dims.at[i], dims, &rank);
        groups[i] = rank - before;
    }
    name_entry *n = name_add(b, p->name, NAME_ARRAY, p->span);
    if (!n)
        return;
    if (!ok) {
        n->kind = NAME_OPERAND;
        n->used = true;
        return;
    }
    array_role role = !output ? ARRAY_IN : p->update ? ARRAY_UPDATE : ARRAY_OUT;
    tile_array *x = tile_new_array(b->k, p->name, t->element, role, p->span);
    x->rank = rank;
    x->dims = NEW_ARRAY(b->arena, index_expr *, rank);
    memcpy(x->dims, dims, sizeof *dims * (size_t)rank);
    x->group_count = t->dims.count;
    x->groups = NEW_ARRAY(b->arena, int, x->group_count);
    memcpy(x->groups, groups, sizeof *groups * (size_t)x->group_count);
    x->injective = t->injective;
    n->array = x;
    if (element_table[t->element].block_elements > 1) {
        index_expr *last = ix_const(b->arena, 1);
        for (int i = rank - groups[x->group_count - 1]; i < rank; i++)
            last = ix_mul(b->arena, last, dims[i]);
        int64_t extent, block = element_table[t->element].block_elements;
        if (ix_is_const(last, &extent) && extent % block) {
            diag *g = lang_error(b, "E0219", t->dims.at[x->group_count - 1]->span,
                                 "%s holds blocks of %lld elements, and the last dimension is %lld", t->name, (long long)block,
                                 (long long)extent);
            diag_caret(b->diags, g, "make it a multiple of %lld", (long long)block);
        } else if (!ix_is_const(last, NULL)) {
            bool multiple = false;
            for (int i = rank - groups[x->group_count - 1]; i < rank; i++)
                multiple |= ix_is_const(dims[i], &extent) && extent % block == 0;
            if (!multiple) {
                cond *c =
                    cond_compare(b->arena, COND_EQ, ix_mod(b->arena, last, ix_const(b->arena, block)), ix_const(b->arena, 0));
                c->span = t->span;
                VEC_PUSH(b->arena, b->k->where, c);
            }
        }
    }
}

static void declare_scalar(builder *b, const parameter_syntax *p) {
    const type_syntax *t = &p->type;
    element_type type = t->name ? t->element : ELEMENT_INDEX;
    bool ok = type == ELEMENT_F32 || type == ELEMENT_I32 || type == ELEMENT_U32 || type == ELEMENT_BOOL || type == ELEMENT_INDEX;
    if (t->name && type == ELEMENT_INDEX) {
        diag *g = lang_error(b, "E0223", t->span, "`%s` is a scalar; index(V) is a type of arrays", p->name);
        diag_caret(b->diags, g, "write `%s: 0..V-1`", p->name);
        type = ELEMENT_COUNT;
    } else if (!ok && type == ELEMENT_COUNT) {
        check_element(b, p, false);
    } else if (!ok) {
        diag *g = lang_error(b, "E0223", t->span, "a scalar argument is not %s", t->name);
        diag_caret(b->diags, g, "scalars are f32, i32, u32, bool, or an integer in bounds such as `0..N`");
        type = ELEMENT_COUNT;
    }
    name_entry *n = name_add(b, p->name, NAME_SCALAR, p->span);
    if (!n)
        return;
    if (type == ELEMENT_COUNT) {
        n->kind = NAME_OPERAND;
        n->used = true;
        return;
    }
    n->scalar = tile_new_scalar(b->k, p->name, type, p->span);
}

static void finish_scalar(builder *b, const parameter_syntax *p) {
    name_entry *n = NULL;
    for (int i = 0; i < b->names.count; i++)
        if (!strcmp(b->names.at[i].name, p->name) && b->names.at[i].kind == NAME_SCALAR)
            n = &b->names.at[i];
    if (!n || !n->scalar->var)
        return;
    index_var *v = n->scalar->var;
    if (n->scalar->type == ELEMENT_I32) {
        v->lo = ix_const(b->arena, INT32_MIN);
        v->hi = ix_const(b->arena, INT32_MAX);
    } else if (n->scalar->type == ELEMENT_U32) {
        v->lo = ix_const(b->arena, 0);
        v->hi = ix_const(b->arena, UINT32_MAX);
    } else {
        v->lo = lang_integer_expression(b, p->type.lo, PLACE_BOUND);
        v->hi = lang_integer_expression(b, p->type.hi, PLACE_BOUND);
        int64_t lo, hi;
        if (v->lo && v->hi && ix_is_const(v->lo, &lo) && ix_is_const(v->hi, &hi) && lo > hi) {
            diag *g = lang_error(b, "E0223", p->type.span, "no integer lies in %lld..%lld", (long long)lo, (long long)hi);
            diag_caret(b->diags, g, "both ends are included; write the lower one first");
        }
        if (!v->lo)
            v->lo = ix_const(b->arena, 0);
        if (!v->hi)
            v->hi = v->lo;
    }
}

static bool mentions_any(const index_expr *x, const bool *unbound, const tile_kernel *k) {
    for (int i = 0; i < k->symbols.count; i++)
        if (unbound[i] && ix_mentions(x, k->symbols.at[i]))
            return true;
    return false;
}

/* A symbol that no input mentions follows from a `where S == ...`, or must be given at launch. */
static void derive_symbols(builder *b) {
    tile_kernel *k = b->k;
    bool *unbound = NEW_ARRAY(b->arena, bool, k->symbols.count + 1);
    for (int i = 0; i < k->symbols.count; i++) {
        unbound[i] = k->symbols.at[i]->kind == INDEX_SYMBOL;
        for (int j = 0; j < k->arrays.count; j++)
            for (int d = 0; k->arrays.at[j]->role != ARRAY_OUT && d < k->arrays.at[j]->rank; d++)
                if (ix_mentions(k->arrays.at[j]->dims[d], k->symbols.at[i]))
                    unbound[i] = false;
    }
    for (bool found = true; found;) {
        found = false;
        for (int i = 0; i < k->symbols.count; i++)
            for (int w = 0; unbound[i] && w < k->where.count; w++) {
                const cond *c = k->where.at[w];
                if (c->op != COND_EQ)
                    continue;
                for (int side = 0; side < 2 && unbound[i]; side++) {
                    index_expr *x = side ? c->y : c->x, *y = side ? c->x : c->y;
                    if (x->op != IX_VAR || x->var != k->symbols.at[i] || mentions_any(y, unbound, k))
                        continue;
                    bool scalars = false;
                    for (int s = 0; s < k->scalars.count; s++)
                        scalars |= k->scalars.at[s]->var && ix_mentions(y, k->scalars.at[s]->var);
                    if (scalars)
                        continue;
                    k->derived.at[i] = y;
                    unbound[i] = false;
                    found = true;
                }
            }
    }
}

static void add_where(builder *b, cond *c) {
    if (c->op == COND_AND) {
        add_where(b, c->a);
        add_where(b, c->b);
    } else if (c->op != COND_TRUE) {
        VEC_PUSH(b->arena, b->k->where, c);
    }
}

void lang_declare_parameters(builder *b, const declaration *d) {
    for (int pass = 0; pass < 2; pass++) {
        const parameter_syntax *list = pass ? d->outputs.at : d->inputs.at;
        int count = pass ? d->outputs.count : d->inputs.count;
        for (int i = 0; i < count; i++) {
            const parameter_syntax *p = &list[i];
            if (p->type.has_dims) {
                declare_array(b, p, pass == 1);
            } else if (pass == 1) {
                diag *g = lang_error(b, "E0222", p->span, "output `%s` has no dimensions", p->name);
                diag_caret(b->diags, g, "an output of one element is `%s: %s[1]`", p->name, p->type.name ? p->type.name : "i32");
                name_entry *n = name_add(b, p->name, NAME_OPERAND, p->span);
                if (n)
                    n->used = true;
            } else {
                declare_scalar(b, p);
            }
        }
    }
    for (int i = 0; i < d->statics.count; i++) {
        const static_syntax *s = &d->statics.at[i];
        name_entry *n = NULL;
        for (int j = 0; j < b->names.count; j++)
            if (!strcmp(b->names.at[j].name, s->name) && b->names.at[j].kind == NAME_SYMBOL &&
                b->names.at[j].symbol->kind == INDEX_STATIC)
                n = &b->names.at[j];
        bool repeated = find_static(d, s->name) != s;
        index_var *v = n && !repeated ? n->symbol : add_symbol(b, s->name, s->span);
        if (!v || !s->value)
            continue;
        index_expr *value = lang_integer_expression(b, s->value, PLACE_EXTENT);
        int64_t x;
        if (value && (!ix_is_const(value, &x) || x < 1)) {
            diag *g = lang_error(b, "E0228", s->value->span, "the default of static `%s` is no positive constant", s->name);
            diag_caret(b->diags, g, "write an integer of at least 1");
        } else if (value) {
            v->has_value = true;
            v->value = x;
        }
    }
    /* Bounds and conditions may use any symbol. */
    for (int i = 0; i < d->inputs.count; i++) {
        const parameter_syntax *p = &d->inputs.at[i];
        if (!p->type.has_dims)
            finish_scalar(b, p);
        for (int j = 0; p->type.index_bound && j < b->k->arrays.count; j++)
            if (!strcmp(b->k->arrays.at[j]->name, p->name)) {
                index_expr *bound = lang_integer_expression(b, p->type.index_bound, PLACE_BOUND);
                b->k->arrays.at[j]->index_bound = bound ? bound : ix_const(b->arena, 1);
            }
    }
    for (int i = 0; i < d->where.count; i++) {
        cond *c = lang_integer_condition(b, d->where.at[i], PLACE_WHERE);
        if (c)
            add_where(b, c);
    }
    derive_symbols(b);
}

static void warn_unused(builder *b) {
    for (int i = 0; i < b->names.count; i++) {
        const name_entry *n = &b->names.at[i];
        bool argument = (n->kind == NAME_ARRAY && n->array->role == ARRAY_IN) || n->kind == NAME_SCALAR;
        bool constant = n->kind == NAME_SYMBOL && n->symbol->kind == INDEX_STATIC;
        if (n->used || !(argument || constant))
            continue;
        diag *g =
            diag_warning(b->diags, "E0233", n->span, "%s `%s` is never used", argument ? "argument" : "static name", n->name);
        diag_caret(b->diags, g, "leave it out");
    }
}

void lang_build_kernel(module_builder *m, const declaration *d) {
    builder *b = NEW(m->arena, builder);
    b->m = m;
    b->arena = m->arena;
    b->diags = m->diags;
    b->d = d;
    b->want = ELEMENT_COUNT;
    int errors = m->diags->errors;
    b->k = tile_new_kernel(m->arena, d->name, d->span);
    VEC_PUSH(m->arena, m->module->kernels, b->k);
    VEC_PUSH(m->arena, m->kernel_syntax, d);
    lang_declare_parameters(b, d);
    if (d->outputs.count == 0 && !d->broken) {
        diag *g = lang_error(b, "E0312", d->span, "kernel `%s` has no outputs", d->name);
        diag_caret(b->diags, g, "declare them: `kernel %s(...) -> (y: f32[N])`", d->name);
    }
    const stmt *tile = NULL;
    for (int i = 0; i < d->body.items.count; i++) {
        const stmt *s = d->body.items.at[i];
        if (s->kind == STMT_TILE && !tile) {
            tile = s;
            continue;
        }
        diag *g = lang_error(b, "E0312", s->span,
                             s->kind == STMT_TILE ? "a second `for tile`; a kernel has one" : "a statement outside `for tile`");
        diag_caret(b->diags, g,
                   s->kind == STMT_TILE ? "write a second kernel, and a `program` that calls both" : "move it into `for tile`");
        break;
    }
    if (!tile && !d->broken && d->body.items.count == 0) {
        diag *g = lang_error(b, "E0312", d->span, "kernel `%s` has no `for tile`", d->name);
        diag_caret(b->diags, g, "its work is divided by `for tile y[i: B] { ... }`");
    }
    if (m->diags->errors != errors || !tile)
        return; /* the body would repeat what is wrong with the arguments */
    lang_own_tile(b, tile);
    if (m->diags->errors != errors)
        return;
    b->block = &b->k->body;
    lang_build_statements(b, &tile->body);
    if (m->diags->errors == errors && !d->broken) {
        lang_check_ownership(b);
        if (m->diags->errors == 0)
            warn_unused(b);
    }
}
