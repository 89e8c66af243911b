/* Integer expressions: extents, tile sizes, conditions, and the integers within indices. */
#include "lang/build.h"
#include <string.h>

static int size_up_to(const index_expr *x, int limit) {
    if (!x || limit <= 0)
        return 0;
    int n = 1;
    if (x->a)
        n += size_up_to(x->a, limit - n);
    if (x->b)
        n += size_up_to(x->b, limit - n);
    return n;
}

int lang_index_size(const index_expr *x) {
    return size_up_to(x, MAX_INDEX_SIZE + 1);
}

bool lang_index_is_symbolic(const index_expr *x) {
    if (x->op == IX_CONST)
        return true;
    if (x->op == IX_VAR)
        return x->var->kind == INDEX_SYMBOL || x->var->kind == INDEX_STATIC;
    return lang_index_is_symbolic(x->a) && lang_index_is_symbolic(x->b);
}

bool lang_index_is_unsigned(const index_expr *x) {
    if (!x)
        return false;
    if (x->op != IX_VAR)
        return lang_index_is_unsigned(x->a) || lang_index_is_unsigned(x->b);
    const tile_scalar *s = x->var->kind == INDEX_SCALAR ? x->var->owner : NULL;
    return s && s->type == ELEMENT_U32;
}

bool lang_index_is_constant_size(const index_expr *x) {
    if (x->op == IX_CONST)
        return true;
    if (x->op == IX_VAR)
        return x->var->kind == INDEX_STATIC || x->var->kind == INDEX_TILE;
    return lang_index_is_constant_size(x->a) && lang_index_is_constant_size(x->b);
}

tile_range *lang_only_range(const index_expr *x) {
    return x && x->op == IX_VAR && x->var->kind == INDEX_RANGE ? x->var->owner : NULL;
}

tile_range *lang_moving_range(const index_expr *x) {
    index_expr *at;
    return lang_only_range(tile_index_source(x, &at) ? at : x);
}

const char *lang_index_text(arena *a, const index_expr *x) {
    text_buffer t = {0};
    ix_print(&t, x);
    const char *copy = arena_strdup(a, text_get(&t));
    text_free(&t);
    return copy;
}

/* A range that has a tile has an element, unless it is a whole dimension, whose one tile may be empty. */
static void add_existence(builder *b, linear_facts *f, const tile_range *r) {
    if (!r->whole)
        VEC_PUSH(b->arena, f->given, cond_compare(b->arena, COND_LT, ix_const(b->arena, 0), r->extent));
}

linear_facts lang_facts_here(builder *b, index_expr **indices, int count) {
    linear_facts f = {0};
    for (int i = 0; i < b->k->where.count; i++)
        VEC_PUSH(b->arena, f.given, b->k->where.at[i]);
    for (int i = 0; i < b->k->task.count; i++)
        add_existence(b, &f, b->k->task.at[i]);
    for (int i = 0; i < b->loops.count; i++) {
        const loop_scope *l = &b->loops.at[i];
        add_existence(b, &f, l->range);
        /* A loop's `where` speaks of single elements: it protects accesses that move with the range. */
        bool moves = false;
        for (int j = 0; j < count; j++)
            moves |= indices[j] && ix_mentions(indices[j], l->range->var);
        if (l->predicate && moves)
            VEC_PUSH(b->arena, f.given, l->predicate);
    }
    return f;
}

bool lang_extents_equal(builder *b, index_expr *x, index_expr *y) {
    if (ix_equal(x, y))
        return true;
    linear_facts f = {0};
    for (int i = 0; i < b->k->where.count; i++)
        VEC_PUSH(b->arena, f.given, b->k->where.at[i]);
    return linear_prove_equal(&f, x, y);
}

static const char *place_words(integer_place place) {
    switch (place) {
    case PLACE_EXTENT: return "an extent";
    case PLACE_SIZE: return "a tile size";
    case PLACE_WHERE: return "a `where`";
    case PLACE_PREDICATE: return "a loop's `where`";
    case PLACE_BOUND: return "a bound";
    case PLACE_INDEX: return "an index";
    }
    return "an integer";
}

static index_expr *integer_name(builder *b, const expr *e, integer_place place) {
    name_entry *n = name_find(b, e->name);
    if (!n) {
        if (place == PLACE_BOUND || place == PLACE_WHERE || place == PLACE_EXTENT) {
            diag *g = lang_error(b, "E0201", e->span, "unknown extent `%s`", e->name);
            diag_caret(b->diags, g, "extents are the names in the arrays' dimensions, and static names");
        } else {
            name_unknown_range(b, e->name, e->span);
        }
        return NULL;
    }
    switch (n->kind) {
    case NAME_SYMBOL:
        if (n->symbol->kind == INDEX_TILE && place != PLACE_SIZE) {
            diag *g = lang_error(b, "E0311", e->span, "`%s` is a tile size; it carries no meaning and is no value", e->name);
            diag_caret(b->diags, g, "make it a constant of the kernel: `static %s`", e->name);
            return NULL;
        }
        return ix_var(b->arena, n->symbol);
    case NAME_RANGE:
        if (place == PLACE_PREDICATE || place == PLACE_INDEX)
            return ix_var(b->arena, n->range->var);
        break;
    case NAME_SCALAR:
        if (n->scalar->var && (place == PLACE_PREDICATE || place == PLACE_INDEX || place == PLACE_WHERE))
            return ix_var(b->arena, n->scalar->var);
        break;
    case NAME_OPERAND:
        if (n->operand.kind == OPERAND_ERROR)
            return NULL;
        if (place != PLACE_PREDICATE && place != PLACE_INDEX)
            break;
        if (n->operand.kind == OPERAND_INDEX)
            return n->operand.index;
        if (n->operand.kind == OPERAND_LITERAL && n->operand.integral)
            return ix_const(b->arena, (int64_t)n->operand.number);
        if (n->operand.kind == OPERAND_VALUE && place == PLACE_INDEX) {
            index_var *v = lang_index_of_value(b, e, n->operand.value);
            return v ? ix_var(b->arena, v) : NULL;
        }
        break;
    default: break;
    }
    if (place == PLACE_PREDICATE && n->kind == NAME_OPERAND) {
        diag *g =
            lang_error(b, "E0313", e->span,
                       "a loop's `where` speaks of ranges, extents and integer scalars, not of values such as `%s`", e->name);
        diag_caret(b->diags, g, "compute with every element and use `select(condition, x, 0)`");
        return NULL;
    }
    diag *g = lang_error(b, "E0207", e->span, "`%s` is %s; it cannot stand in %s", e->name, name_describe(n), place_words(place));
    if (n->kind == NAME_SCALAR && !n->scalar->var)
        diag_caret(b->diags, g, "declare it as an integer: `%s: i32`, or `%s: 0..N`", e->name, e->name);
    else if (n->kind == NAME_OPERAND || n->kind == NAME_VARIABLE)
        diag_caret(b->diags, g, "an index is an integer with known bounds: a range, an integer scalar, or data of type index(V)");
    return NULL;
}

static bool is_positive(builder *b, index_expr *x) {
    int64_t c;
    if (ix_is_const(x, &c))
        return c > 0;
    (void)b;
    /* an extent or static name may divide: the launch checks that it is not 0 */
    return lang_index_is_symbolic(x) && x->op == IX_VAR;
}

static index_expr *integer_binary(builder *b, const expr *e, integer_place place) {
    if (e->op >= OP_EQ) {
        diag *g = lang_error(b, "E0221", e->span, "a condition cannot stand in %s", place_words(place));
        diag_caret(b->diags, g, "write an integer here");
        return NULL;
    }
    if (e->op == OP_DOT) {
        lang_error(b, "E0221", e->span, "`@` multiplies tiles; it cannot stand in %s", place_words(place));
        return NULL;
    }
    index_expr *x = lang_integer_expression(b, e->a, place), *y = lang_integer_expression(b, e->b, place);
    if (!x || !y)
        return NULL;
    if (lang_index_size(x) + lang_index_size(y) > MAX_INDEX_SIZE) {
        diag *g = lang_error(b, "E0111", e->span, "this integer expression has more than %d parts", MAX_INDEX_SIZE);
        diag_caret(b->diags, g, "simplify it");
        return NULL;
    }
    index_op op = e->op == OP_ADD   ? IX_ADD
                  : e->op == OP_SUB ? IX_SUB
                  : e->op == OP_MUL ? IX_MUL
                  : e->op == OP_DIV ? IX_FLOORDIV
                                    : IX_MOD;
    if (op == IX_FLOORDIV || op == IX_MOD) {
        if (place == PLACE_INDEX || place == PLACE_PREDICATE) {
            if (!lang_index_is_symbolic(x) || !lang_index_is_symbolic(y)) {
                diag *g =
                    lang_error(b, place == PLACE_INDEX ? "E0221" : "E0313", e->span, "%s does not divide", place_words(place));
                if (op == IX_MOD && place == PLACE_INDEX)
                    diag_caret(b->diags, g,
                               "to go round at an array's end, read twice: `x[i - 1] else x[N - 1]`, `x[i + 1] else x[0]`");
                else if (place == PLACE_INDEX)
                    diag_caret(b->diags, g,
                               "declare the dimension as a product (`f32[A*B]`) and index it by its factors: `x[(a, b)]`");
                else
                    diag_caret(b->diags, g, "multiply the other side instead: `t < 2 * n`");
                return NULL;
            }
        }
        if (!is_positive(b, y)) {
            diag *g = lang_error(b, "E0221", e->b->span, "the divisor %s is not known to be positive",
                                 lang_source_text_of(b->arena, e->b));
            diag_caret(b->diags, g, "divide by a positive constant, an extent or a static name");
            return NULL;
        }
    }
    return ix_op2(b->arena, op, x, y);
}

index_expr *lang_integer_expression(builder *b, const expr *e, integer_place place) {
    if (!e)
        return NULL;
    switch (e->kind) {
    case EXPR_ERROR: return NULL;
    case EXPR_NUMBER:
        if (!e->integral) {
            diag *g = lang_error(b, "E0221", e->span, "%s is not an integer", lang_source_text_of(b->arena, e));
            diag_caret(b->diags, g, "%s holds integers only", place_words(place));
            return NULL;
        }
        return ix_const(b->arena, e->integer);
    case EXPR_NAME: return integer_name(b, e, place);
    case EXPR_NEGATE: {
        index_expr *x = lang_integer_expression(b, e->a, place);
        return x ? ix_sub(b->arena, ix_const(b->arena, 0), x) : NULL;
    }
    case EXPR_BINARY: return integer_binary(b, e, place);
    case EXPR_CALL:
        if ((!strcmp(e->name, "min") || !strcmp(e->name, "max")) && e->args.count == 2) {
            index_expr *x = lang_integer_expression(b, e->args.at[0], place),
                       *y = lang_integer_expression(b, e->args.at[1], place);
            if (!x || !y)
                return NULL;
            if (lang_index_size(x) + lang_index_size(y) > MAX_INDEX_SIZE) {
                lang_error(b, "E0111", e->span, "this integer expression has more than %d parts", MAX_INDEX_SIZE);
                return NULL;
            }
            return *e->name == 'm' && e->name[1] == 'i' ? ix_min(b->arena, x, y) : ix_max(b->arena, x, y);
        }
        break;
    case EXPR_INDEX:
    case EXPR_ELSE:
    case EXPR_REDUCE:
        if (place == PLACE_INDEX) {
            operand x = lang_evaluate(b, e);
            if (x.kind == OPERAND_ERROR)
                return NULL;
            if (x.kind == OPERAND_VALUE) {
                index_var *v = lang_index_of_value(b, e, x.value);
                return v ? ix_var(b->arena, v) : NULL;
            }
        }
        break;
    case EXPR_TUPLE:
        if (place == PLACE_INDEX) {
            lang_error(b, "E0216", e->span,
                       "a tuple indexes a dimension that was declared as a product; here stands one integer");
            return NULL;
        }
        break;
    default: break;
    }
    const char *code = place == PLACE_PREDICATE ? "E0313" : "E0221";
    diag *g = lang_error(b, code, e->span, "`%s` is no integer that may stand in %s", lang_source_text_of(b->arena, e),
                         place_words(place));
    if (place == PLACE_INDEX)
        diag_caret(b->diags, g, "an index is made of ranges, extents, integer scalars, data of type index(V), `+`, `-` and `*`");
    else if (place == PLACE_PREDICATE)
        diag_caret(b->diags, g, "a loop's `where` compares ranges, extents and integer scalars");
    return NULL;
}

/* Affine in ranges and scalars, with coefficients known before lowering. */
static bool is_affine(const index_expr *x, bool *varies) {
    bool a = false, c = false;
    switch (x->op) {
    case IX_CONST: return true;
    case IX_VAR: *varies = x->var->kind != INDEX_STATIC; return true;
    case IX_ADD:
    case IX_SUB:
        if (!is_affine(x->a, &a) || !is_affine(x->b, &c))
            return false;
        *varies = a || c;
        return true;
    case IX_MUL:
        if (!is_affine(x->a, &a) || !is_affine(x->b, &c))
            return false;
        *varies = a || c;
        return !(a && c);
    case IX_FLOORDIV:
    case IX_MOD:
        if (!is_affine(x->a, &a) || !is_affine(x->b, &c))
            return false;
        *varies = a || c;
        return !c;
    default: /* min and max */
        if (!is_affine(x->a, &a) || !is_affine(x->b, &c))
            return false;
        *varies = a || c;
        return true;
    }
}

cond *lang_integer_condition(builder *b, const expr *e, integer_place place) {
    if (!e || e->kind == EXPR_ERROR)
        return NULL;
    const char *code = place == PLACE_PREDICATE ? "E0313" : "E0221";
    if (e->kind == EXPR_NAME && (!strcmp(e->name, "true") || !strcmp(e->name, "false"))) {
        cond *yes = cond_compare(b->arena, COND_LE, ix_const(b->arena, 0), ix_const(b->arena, 0));
        return strcmp(e->name, "true") ? cond_not(b->arena, yes) : yes;
    }
    if (e->kind == EXPR_NOT && place == PLACE_WHERE) {
        cond *c = lang_integer_condition(b, e->a, place);
        return c ? cond_not(b->arena, c) : NULL;
    }
    if (e->kind != EXPR_BINARY || e->op < OP_EQ) {
        diag *g = lang_error(b, code, e->span, "`%s` is no comparison", lang_source_text_of(b->arena, e));
        diag_caret(b->diags, g, "%s holds comparisons of integers joined by `and` and `or`", place_words(place));
        return NULL;
    }
    if (e->op == OP_AND || e->op == OP_OR) {
        cond *x = lang_integer_condition(b, e->a, place), *y = lang_integer_condition(b, e->b, place);
        if (!x || !y)
            return NULL;
        return e->op == OP_AND ? cond_and(b->arena, x, y) : cond_or(b->arena, x, y);
    }
    if (e->op == OP_NE && place == PLACE_PREDICATE) {
        diag *g = lang_error(b, "E0313", e->span, "`!=` cannot bound a loop");
        diag_caret(b->diags, g, "write `a < b or a > b`");
        return NULL;
    }
    index_expr *x = lang_integer_expression(b, e->a, place), *y = lang_integer_expression(b, e->b, place);
    if (!x || !y)
        return NULL;
    bool varies;
    if (place == PLACE_PREDICATE && (!is_affine(x, &varies) || !is_affine(y, &varies))) {
        diag *g =
            lang_error(b, "E0313", e->span, "`%s` is not affine: two unknowns are multiplied", lang_source_text_of(b->arena, e));
        diag_caret(b->diags, g, "make one of them `static`, so that it is a constant when the kernel is compiled");
        return NULL;
    }
    cond *c = NULL;
    switch (e->op) {
    case OP_EQ: c = cond_compare(b->arena, COND_EQ, x, y); break;
    case OP_NE: c = cond_compare(b->arena, COND_NE, x, y); break;
    case OP_LT: c = cond_compare(b->arena, COND_LT, x, y); break;
    case OP_LE: c = cond_compare(b->arena, COND_LE, x, y); break;
    case OP_GT: c = cond_compare(b->arena, COND_LT, y, x); break;
    default: c = cond_compare(b->arena, COND_LE, y, x); break;
    }
    c->span = e->span;
    return c;
}
