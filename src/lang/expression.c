/* Expressions to Tile IR values. */
#include "lang/build.h"
#include <math.h>
#include <string.h>

tile_value *lang_bind_value(builder *b, tile_value *v, const char *name, bool user) {
    if (v->bound || !b->block)
        return v;
    if (!user) { /* a name of our own must not read like one of the source's */
        const char *base = name;
        for (int n = 2, clash = 1; clash; n++) {
            clash = 0;
            for (int i = 0; i < b->names.count && !clash; i++)
                clash = !strcmp(b->names.at[i].name, name);
            if (clash)
                name = arena_printf(b->arena, "%s_%d", base, n);
        }
    }
    v->bound = true;
    v->name = name;
    tile_append(b->k, b->block, TILE_STMT_LET, v->span)->value = v;
    return v;
}

static bool is_allowed(tile_range **allowed, int count, const tile_range *r) {
    for (int i = 0; i < count; i++)
        if (allowed[i] == r)
            return true;
    return false;
}

bool lang_check_axes(builder *b, const tile_value *v, tile_range **allowed, int count, source_span span, const char *left) {
    for (int i = 0; i < v->axis_count; i++) {
        const tile_range *r = v->axes[i];
        if (is_allowed(allowed, count, r))
            continue;
        diag *g = lang_error(b, "E0218", span, "this value varies over `%s`, and %s does not", r->name, left);
        diag_caret(b->diags, g, "reduce it (`sum[%s](...)`), or give %s the range `%s`", r->name, left, r->name);
        return false;
    }
    return true;
}

bool lang_check_held(builder *b, tile_range **axes, int count, source_span span, const char *name) {
    for (int i = 0; i < count; i++) {
        const tile_range *r = axes[i];
        if (lang_index_is_constant_size(r->size))
            continue;
        const char *size = lang_index_text(b->arena, r->size);
        diag *g = lang_error(b, "E0310", span, "`%s` would hold all of `%s`, and its extent %s is only known at launch", name,
                             r->name, size);
        diag_caret(b->diags, g, "declare `static %s`, or go over it in a loop of tiles", size);
        return false;
    }
    return true;
}

/* Elements that a loop's `where` removes are missing from a reduction, so its result varies as the condition does. */
void lang_add_predicate_axes(builder *b, tile_value *v, const tile_range *reduced) {
    for (int i = 0; i < b->loops.count; i++) {
        const cond *p = b->loops.at[i].predicate;
        if (!p || !cond_mentions(p, reduced->var))
            continue;
        for (int j = 0; j < b->k->ranges.count; j++) {
            tile_range *r = b->k->ranges.at[j];
            bool contracted = r == v->range;
            for (int c = 0; c < v->contract_count; c++)
                contracted |= v->contract[c] == r;
            if (!contracted && cond_mentions(p, r->var))
                tile_add_axis(b->k, v, r);
        }
    }
}

operand lang_evaluate_left(builder *b, const expr *e, tile_range **target, int count, element_type want) {
    tile_range **old_target = b->target;
    int old_count = b->target_count;
    bool old_has = b->has_target;
    element_type old_want = b->want;
    b->target = target;
    b->target_count = count;
    b->has_target = true;
    b->want = want;
    operand x = lang_evaluate(b, e);
    b->target = old_target;
    b->target_count = old_count;
    b->has_target = old_has;
    b->want = old_want;
    return x;
}

static operand literal(double number, bool integral, const expr *e) {
    return (operand){.kind = OPERAND_LITERAL, .number = number, .integral = integral, .from = e, .side = -1};
}

static operand index_operand(index_expr *x, const expr *e) {
    return (operand){.kind = OPERAND_INDEX, .index = x, .from = e, .side = -1};
}

static operand lang_evaluate_name(builder *b, const expr *e) {
    const char *name = e->name;
    if (!strcmp(name, "true") || !strcmp(name, "false"))
        return operand_of_value(value_done(b, tile_constant(b->k, ELEMENT_BOOL, *name == 't', e->span)), e);
    if (!strcmp(name, "inf"))
        return literal(INFINITY, false, e);
    if (b->frame) {
        for (int i = 0; i < b->frame->count; i++)
            if (!strcmp(b->frame->names[i], name)) {
                operand x = b->frame->operands[i];
                x.from = e;
                return x;
            }
        diag *g = lang_error(b, "E0201", e->span, "unknown name `%s`", name);
        diag_caret(b->diags, g, "a function or join sees its parameters only");
        return operand_error();
    }
    name_entry *n = name_find(b, name);
    if (!n) {
        name_unknown(b, name, e->span);
        return operand_error();
    }
    switch (n->kind) {
    case NAME_SYMBOL:
        if (n->symbol->kind == INDEX_TILE) {
            diag *g = lang_error(b, "E0311", e->span, "`%s` is a tile size; it carries no meaning and is no value", name);
            diag_caret(b->diags, g, "make it a constant of the kernel: `static %s`", name);
            return operand_error();
        }
        return index_operand(ix_var(b->arena, n->symbol), e);
    case NAME_RANGE: return index_operand(ix_var(b->arena, n->range->var), e);
    case NAME_SCALAR: {
        if (n->scalar->var)
            return index_operand(ix_var(b->arena, n->scalar->var), e);
        tile_value *v = tile_new_value(b->k, TILE_SCALAR, n->scalar->type, e->span);
        v->scalar = n->scalar;
        return operand_of_value(value_done(b, v), e);
    }
    case NAME_ARRAY: {
        diag *g = lang_error(b, "E0207", e->span, "`%s` is an array; a value is one of its elements", name);
        text_buffer t = {0};
        for (int i = 0; i < n->array->group_count; i++)
            text_add(&t, "%s..", i ? ", " : "");
        diag_caret(b->diags, g, "index it: `%s[%s]`, with a range or an integer for each dimension", name, text_get(&t));
        text_free(&t);
        return operand_error();
    }
    case NAME_OPERAND: {
        operand x = n->operand;
        x.from = e;
        return x;
    }
    case NAME_VARIABLE: {
        if (!n->variable)
            return operand_error();
        if (n->variable->combine)
            return (operand){.kind = OPERAND_STATE, .variable = n->variable, .side = -1, .from = e};
        tile_value *v = tile_new_value(b->k, TILE_GET, n->variable->types[0], e->span);
        v->variable = n->variable;
        tile_derive_axes(b->k, v);
        return operand_of_value(value_done(b, v), e);
    }
    }
    return operand_error();
}

static operand lang_evaluate_field(builder *b, const expr *e) {
    operand x = lang_evaluate(b, e->a);
    if (x.kind == OPERAND_ERROR)
        return x;
    if (x.kind != OPERAND_STATE) {
        diag *g = lang_error(b, "E0224", e->span, "`%s` has no fields", lang_source_text_of(b->arena, e->a));
        diag_caret(b->diags, g, "only states (`acc: name(...)` of a `combine name`) have fields");
        return operand_error();
    }
    for (int f = 0; f < x.variable->field_count; f++) {
        if (strcmp(x.variable->field_names[f], e->name))
            continue;
        tile_value *v;
        if (x.side >= 0) {
            v = (x.side ? x.variable->right : x.variable->left)[f];
        } else {
            v = tile_new_value(b->k, TILE_FIELD, x.variable->types[f], e->span);
            v->variable = x.variable;
            v->field = f;
            tile_derive_axes(b->k, v);
            value_done(b, v);
        }
        return operand_of_value(v, e);
    }
    text_buffer t = {0};
    for (int f = 0; f < x.variable->field_count; f++)
        text_add(&t, "%s`%s`", f ? ", " : "", x.variable->field_names[f]);
    diag *g = lang_error(b, "E0224", e->span, "combine `%s` has no field `%s`", x.variable->combine, e->name);
    diag_caret(b->diags, g, "its fields are %s", text_get(&t));
    text_free(&t);
    return operand_error();
}

static operand lang_evaluate_negation(builder *b, const expr *e) {
    operand x = lang_evaluate(b, e->a);
    if (x.kind == OPERAND_ERROR)
        return x;
    if (x.kind == OPERAND_LITERAL)
        return literal(-x.number, x.integral, e);
    if (x.kind == OPERAND_INDEX && lang_index_size(x.index) < MAX_INDEX_SIZE)
        return index_operand(ix_sub(b->arena, ix_const(b->arena, 0), x.index), e);
    if (!lang_as_arithmetic(b, &x, ELEMENT_COUNT))
        return operand_error();
    if (x.value->type != ELEMENT_F32 && x.value->type != ELEMENT_I32) {
        diag *g = lang_error(b, "E0209", e->span, "`-` of %s", element_table[x.value->type].name);
        diag_caret(b->diags, g,
                   x.value->type == ELEMENT_U32 ? "u32 has no negative values; write `0 - x` for wrapping" : "use `not`");
        return operand_error();
    }
    return operand_of_value(value_done(b, tile_unary(b->k, TILE_NEG, x.value->type, x.value, e->span)), e);
}

static bool as_condition(builder *b, operand *x, const char *what) {
    if (x->kind == OPERAND_ERROR)
        return false;
    if (x->kind == OPERAND_VALUE && x->value->type == ELEMENT_BOOL)
        return true;
    diag *g = lang_error(b, "E0227", operand_span(b, x), "%s takes conditions, and this is %s", what, operand_describe(b, x));
    diag_caret(b->diags, g, "write a comparison: `%s != 0`", x->from ? lang_source_text_of(b->arena, x->from) : "x");
    return false;
}

static const char *op_text(binary_op op) {
    static const char *const names[] = {"`+`",  "`-`", "`*`",  "`/`", "`%`",  "`@`",   "`==`",
                                        "`!=`", "`<`", "`<=`", "`>`", "`>=`", "`and`", "`or`"};
    return names[op];
}

static operand literal_arithmetic(builder *b, binary_op op, operand x, operand y, const expr *e) {
    double n = 0;
    bool integral = x.integral && y.integral && op != OP_DIV;
    switch (op) {
    case OP_ADD: n = x.number + y.number; break;
    case OP_SUB: n = x.number - y.number; break;
    case OP_MUL: n = x.number * y.number; break;
    default: n = x.number / y.number; break;
    }
    bool grew = isinf(n) && !isinf(x.number) && !isinf(y.number);
    if (isnan(n) || grew || (integral && fabs(n) > 0x1p48)) {
        lang_error(b, "E0103", e->span, "`%s` is %s", lang_source_text_of(b->arena, e),
                   isnan(n) ? "not a number" : "too large a number");
        return operand_error();
    }
    return literal(n, integral, e);
}

static operand comparison(builder *b, binary_op op, operand x, operand y, const expr *e) {
    if (!lang_unify(b, &x, &y, e, op_text(op)))
        return operand_error();
    if (x.kind != OPERAND_VALUE && (!lang_as_arithmetic(b, &x, ELEMENT_COUNT) || !lang_as_arithmetic(b, &y, x.value->type)))
        return operand_error();
    if (x.value->type != y.value->type && !lang_unify(b, &x, &y, e, op_text(op)))
        return operand_error();
    if (x.value->type == ELEMENT_BOOL) {
        diag *g = lang_error(b, "E0227", e->span, "%s compares numbers, and these are conditions", op_text(op));
        diag_caret(b->diags, g, "join conditions by `and`, `or` and `not`");
        return operand_error();
    }
    tile_op ir = op == OP_EQ ? TILE_EQ : op == OP_NE ? TILE_NE : op == OP_LT || op == OP_GT ? TILE_LT : TILE_LE;
    bool swap = op == OP_GT || op == OP_GE;
    tile_value *v = tile_binary(b->k, ir, ELEMENT_BOOL, swap ? y.value : x.value, swap ? x.value : y.value, e->span);
    return operand_of_value(value_done(b, v), e);
}

operand lang_binary_operand(builder *b, binary_op op, operand x, operand y, const expr *e) {
    if (x.kind == OPERAND_ERROR || y.kind == OPERAND_ERROR)
        return operand_error();
    if (op == OP_AND || op == OP_OR) {
        if (!as_condition(b, &x, op_text(op)) || !as_condition(b, &y, op_text(op)))
            return operand_error();
        tile_value *v = tile_binary(b->k, op == OP_AND ? TILE_AND : TILE_OR, ELEMENT_BOOL, x.value, y.value, e->span);
        return operand_of_value(value_done(b, v), e);
    }
    if (op >= OP_EQ)
        return comparison(b, op, x, y, e);
    if (op == OP_MOD) {
        diag *g = lang_error(b, "E0235", e->span, "`%%` does not work on tiles");
        diag_caret(b->diags, g, "declare the dimension as a product (`f32[A*B]`), whose second factor is the remainder");
        return operand_error();
    }
    if (!lang_unify(b, &x, &y, e, op_text(op)))
        return operand_error();
    if (x.kind == OPERAND_LITERAL)
        return literal_arithmetic(b, op, x, y, e);
    if (x.kind == OPERAND_INDEX && op != OP_DIV) {
        if (lang_index_size(x.index) + lang_index_size(y.index) > MAX_INDEX_SIZE) {
            lang_error(b, "E0111", e->span, "this integer expression has more than %d parts", MAX_INDEX_SIZE);
            return operand_error();
        }
        index_op ir = op == OP_ADD ? IX_ADD : op == OP_SUB ? IX_SUB : IX_MUL;
        return index_operand(ix_op2(b->arena, ir, x.index, y.index), e);
    }
    if (x.kind == OPERAND_INDEX) {
        element_type real = lang_index_is_symbolic(x.index) && lang_index_is_symbolic(y.index) ? ELEMENT_F32 : ELEMENT_COUNT;
        if (!lang_as_arithmetic(b, &x, real) || !lang_as_arithmetic(b, &y, real))
            return operand_error();
    }
    element_type type = x.value->type;
    if (type == ELEMENT_BOOL) {
        diag *g = lang_error(b, "E0227", e->span, "%s takes numbers, and these are conditions", op_text(op));
        diag_caret(b->diags, g, "turn a condition into a number: `select(c, 1, 0)`");
        return operand_error();
    }
    if (op == OP_DIV && type != ELEMENT_F32) {
        diag *g = lang_error(b, "E0235", e->span, "`/` does not divide integers");
        diag_caret(b->diags, g, "divide numbers, `f32(a) / f32(b)`, and `floor` the result if need be");
        return operand_error();
    }
    tile_op ir = op == OP_ADD ? TILE_ADD : op == OP_SUB ? TILE_SUB : op == OP_MUL ? TILE_MUL : TILE_DIV;
    return operand_of_value(value_done(b, tile_binary(b->k, ir, type, x.value, y.value, e->span)), e);
}

static operand dot_operand(builder *b, const expr *e, const intrinsic **by) {
    bool had = b->has_target;
    const expr *outer = b->matrix_call;
    b->has_target = false;
    b->matrix_call = e;
    operand x = lang_evaluate(b, e);
    b->has_target = had;
    b->matrix_call = outer;
    if (x.kind == OPERAND_ERROR)
        return x;
    *by = b->matrix;
    b->matrix = NULL;
    if (x.kind != OPERAND_VALUE) {
        lang_error(b, "E0210", e->span, "`@` multiplies tiles, and this is %s", operand_describe(b, &x));
        return operand_error();
    }
    element_type t = x.value->type;
    if (element_table[t].block_elements > 1) {
        diag *g = lang_error(b, "E0219", e->span, "`@` does not take %s elements as they are", element_table[t].name);
        const char *text = lang_source_text_of(b->arena, e);
        diag_caret(b->diags, g, "convert them: `f16(%s)` or `f32(%s)`", text, text);
        return operand_error();
    }
    if (t == ELEMENT_BOOL || t == ELEMENT_INDEX || t == ELEMENT_U32) {
        diag *g = lang_error(b, "E0210", e->span, "`@` does not take %s elements", element_table[t].name);
        diag_caret(b->diags, g, "it takes f32, f16, bf16, tf32, e4m3, e5m2, i8, u8 and i32; convert explicitly");
        return operand_error();
    }
    return x;
}

operand lang_evaluate_dot(builder *b, const expr *e) {
    if (!b->has_target) {
        diag *g =
            lang_error(b, "E0217", e->span, "`@` sums the ranges that the left side lacks, and here no left side is declared");
        diag_caret(b->diags, g, "declare its ranges: `x: f32[i, j] = a[i, k] @ b[k, j]`");
        return operand_error();
    }
    const intrinsic *by[2], *multiplies = b->multiplies;
    b->multiplies = NULL; /* of this product, not of its operands' */
    operand x = dot_operand(b, e->a, &by[0]), y = dot_operand(b, e->b, &by[1]);
    if (x.kind == OPERAND_ERROR || y.kind == OPERAND_ERROR)
        return operand_error();
    if (x.value->type != y.value->type) {
        element_type tx = x.value->type, ty = y.value->type;
        diag *g = lang_error(b, "E0210", e->span, "`@` multiplies %s by %s", element_table[tx].name, element_table[ty].name);
        bool left = tx == ELEMENT_F32 || tx == ELEMENT_I8 || tx == ELEMENT_U8 || tx == ELEMENT_I32;
        diag_caret(b->diags, g, "convert one side: `%s(%s)`", element_table[left ? ty : tx].name,
                   lang_source_text_of(b->arena, left ? e->a : e->b));
        return operand_error();
    }
    if (multiplies && multiplies->parameters[0].type != x.value->type) {
        diag *g = lang_error(b, "E0333", e->span, "`%s` multiplies matrices of %s, and these operands are %s", multiplies->name,
                             element_table[multiplies->parameters[0].type].name, element_table[x.value->type].name);
        diag_caret(b->diags, g, "convert them, or declare the function of these types");
        return operand_error();
    }
    element_type type = element_table[x.value->type].is_float ? ELEMENT_F32 : ELEMENT_I32;
    VEC(tile_range *) contract = {0};
    const tile_range *kept = NULL;
    for (int i = 0; i < x.value->axis_count; i++) {
        tile_range *r = x.value->axes[i];
        if (!tile_has_axis(y.value, r))
            continue;
        if (is_allowed(b->target, b->target_count, r))
            kept = r;
        else
            VEC_PUSH(b->arena, contract, r);
    }
    if (!contract.count) {
        diag *g = lang_error(b, "E0215", e->span, "`@` sums nothing: its operands share no range%s",
                             kept ? " that the left side lacks" : "");
        if (kept)
            diag_caret(b->diags, g, "the left side keeps `%s`; multiply by `*`, or leave `%s` out on the left", kept->name,
                       kept->name);
        else
            diag_caret(b->diags, g, "multiply by `*`, or give both operands the range to sum");
        return operand_error();
    }
    tile_value *v = tile_new_value(b->k, TILE_DOT, type, e->span);
    v->accumulator = type;
    v->by[0] = by[0];
    v->by[1] = by[1];
    v->by[2] = multiplies;
    v->contract_count = contract.count;
    v->contract = contract.at;
    tile_set_operands(b->k, v, 2, (tile_value *[]){x.value, y.value});
    for (int i = 0; i < contract.count; i++)
        lang_add_predicate_axes(b, v, contract.at[i]);
    return operand_of_value(value_done(b, v), e);
}

operand lang_evaluate_reduction(builder *b, const expr *e) {
    if (e->bounded)
        return lang_bounded_reduction(b, e);
    name_entry *n = b->frame ? NULL : name_find(b, e->range);
    if (b->frame) {
        diag *g = lang_error(b, "E0220", e->range_span, "a function or join knows no ranges");
        diag_caret(b->diags, g, "reduce in the kernel, and pass the result");
        return operand_error();
    }
    if (!n || n->kind != NAME_RANGE) {
        if (!n)
            name_unknown_range(b, e->range, e->range_span);
        else {
            diag *g =
                lang_error(b, "E0220", e->range_span, "`%s` is %s; a reduction goes over a range", e->range, name_describe(n));
            diag_caret(b->diags, g, "reduce over a range of `for tile` or of a loop around this");
        }
        return operand_error();
    }
    tile_range *r = n->range;
    tile_range **old_target = b->target, **target = NEW_ARRAY(b->arena, tile_range *, b->target_count + 1);
    if (b->target_count)
        memcpy(target, b->target, sizeof *target * (size_t)b->target_count);
    target[b->target_count] = r;
    b->target = target;
    b->target_count++;
    VEC_PUSH(b->arena, b->reducing, r);
    operand x = lang_evaluate(b, e->a);
    b->reducing.count--;
    b->target = old_target;
    b->target_count--;
    if (!lang_as_arithmetic(b, &x, b->want))
        return operand_error();
    tile_op op = !strcmp(e->name, "sum")      ? TILE_REDUCE_SUM
                 : !strcmp(e->name, "max")    ? TILE_REDUCE_MAX
                 : !strcmp(e->name, "min")    ? TILE_REDUCE_MIN
                 : !strcmp(e->name, "argmax") ? TILE_ARGMAX
                                              : TILE_ARGMIN;
    if (x.value->type == ELEMENT_BOOL) {
        diag *g = lang_error(b, "E0227", e->a->span, "`%s` reduces numbers, and these are conditions", e->name);
        diag_caret(b->diags, g, "count with `sum[%s](select(c, 1, 0))`", r->name);
        return operand_error();
    }
    if (!tile_has_axis(x.value, r)) {
        bool counts = op == TILE_REDUCE_SUM && x.value->op == TILE_CONST; /* sum[k](1) */
        if (!counts) {
            diag *g = lang_error(b, "E0220", e->range_span, "`%s` does not vary over `%s`", lang_source_text_of(b->arena, e->a),
                                 r->name);
            diag_caret(b->diags, g,
                       op == TILE_REDUCE_SUM ? "multiply it by the number of elements, `sum[%s](1)`"
                                             : "leave the reduction over `%s` out",
                       r->name);
            return operand_error();
        }
    }
    tile_value *v = tile_new_value(b->k, op, op == TILE_ARGMAX || op == TILE_ARGMIN ? ELEMENT_INDEX : x.value->type, e->span);
    v->range = r;
    tile_set_operands(b->k, v, 1, &x.value);
    lang_add_predicate_axes(b, v, r);
    return operand_of_value(value_done(b, v), e);
}

operand lang_evaluate(builder *b, const expr *e) {
    if (!e || b->too_large)
        return operand_error();
    if (++b->steps > MAX_STEPS) {
        b->too_large = true;
        diag *g = lang_error(b, "E0111", e->span, "this kernel grows too large");
        diag_caret(b->diags, g, "its functions, inlined, repeat each other too often");
        return operand_error();
    }
    switch (e->kind) {
    case EXPR_ERROR: return operand_error();
    case EXPR_NUMBER: return literal(e->integral ? (double)e->integer : e->number, e->integral, e);
    case EXPR_NAME: return lang_evaluate_name(b, e);
    case EXPR_NEGATE: return lang_evaluate_negation(b, e);
    case EXPR_NOT: {
        operand x = lang_evaluate(b, e->a);
        if (!as_condition(b, &x, "`not`"))
            return operand_error();
        return operand_of_value(value_done(b, tile_unary(b->k, TILE_NOT, ELEMENT_BOOL, x.value, e->span)), e);
    }
    case EXPR_BINARY: {
        if (e->op == OP_DOT)
            return lang_evaluate_dot(b, e);
        element_type want = b->want;
        if (e->op >= OP_EQ)
            b->want = ELEMENT_COUNT;
        operand x = lang_evaluate(b, e->a), y = lang_evaluate(b, e->b);
        b->want = want;
        return lang_binary_operand(b, e->op, x, y, e);
    }
    case EXPR_INDEX: return lang_evaluate_load(b, e, NULL);
    case EXPR_ELSE:
        if (e->a->kind != EXPR_INDEX) {
            if (e->a->kind != EXPR_ERROR) {
                diag *g =
                    lang_error(b, "E0229", e->span, "`else` says what lies outside an array, and stands behind one element");
                diag_caret(b->diags, g, "put parentheses: `(x[i - 1] else 0) + ...`");
            }
            return operand_error();
        }
        return lang_evaluate_load(b, e->a, e->b);
    case EXPR_CALL: return lang_evaluate_call(b, e);
    case EXPR_REDUCE: return lang_evaluate_reduction(b, e);
    case EXPR_FIELD: return lang_evaluate_field(b, e);
    case EXPR_TUPLE: {
        diag *g = lang_error(b, "E0207", e->span, "a tuple is no value");
        diag_caret(b->diags, g, "tuples index product dimensions, `q[(h, g), d]`, and join states, `acc <- (a, b)`");
        return operand_error();
    }
    default: break;
    }
    lang_error(b, "E0104", e->span, "`%s` belongs in a `for tile` list", lang_source_text_of(b->arena, e));
    return operand_error();
}
