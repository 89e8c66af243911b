/* Built-in functions, conversions, functions of the source (inlined), and the joins of states. */
#include "base/suggest.h"
#include "lang/build.h"
#include "lang/elsewhere.h"
#include <math.h>
#include <string.h>

static const struct builtin {
    const char *name;
    tile_op op;
    bool integers; /* works on i32 too */
} unary_builtins[] = {
    {"exp", TILE_EXP, false},   {"log", TILE_LOG, false},     {"sqrt", TILE_SQRT, false}, {"rsqrt", TILE_RSQRT, false},
    {"tanh", TILE_TANH, false}, {"erf", TILE_ERF, false},     {"sin", TILE_SIN, false},   {"cos", TILE_COS, false},
    {"abs", TILE_ABS, true},    {"floor", TILE_FLOOR, false},
};
static const char *const other_builtins[] = {"select", "max",    "min", "f32",  "f16",     "bf16",   "i8",
                                             "u8",     "i32",    "u32", "tf32", "e4m3",    "e5m2",   "sum",
                                             "argmax", "argmin", "shl", "shr",  "bit_and", "bit_or", "bit_xor"};
enum {
    UNARY_COUNT = sizeof unary_builtins / sizeof *unary_builtins,
    OTHER_COUNT = sizeof other_builtins / sizeof *other_builtins
};

bool lang_is_builtin(const char *name) {
    for (int i = 0; i < UNARY_COUNT; i++)
        if (!strcmp(name, unary_builtins[i].name))
            return true;
    for (int i = 0; i < OTHER_COUNT; i++)
        if (!strcmp(name, other_builtins[i]))
            return true;
    return false;
}

static bool check_arity(builder *b, const expr *e, int wanted, const char *usage) {
    if (e->args.count == wanted)
        return true;
    diag *g = lang_error(b, "E0208", e->span, "`%s` takes %d argument%s, and %d %s given", e->name, wanted,
                         wanted == 1 ? "" : "s", e->args.count, e->args.count == 1 ? "is" : "are");
    diag_caret(b->diags, g, "write `%s`", usage);
    return false;
}

static operand call_unary(builder *b, const expr *e, const struct builtin *f) {
    if (!check_arity(b, e, 1, arena_printf(b->arena, "%s(x)", f->name)))
        return operand_error();
    element_type want = b->want;
    if (!f->integers)
        b->want = ELEMENT_F32;
    operand x = lang_evaluate(b, e->args.at[0]);
    b->want = want;
    if (x.kind == OPERAND_LITERAL && f->op == TILE_ABS) { /* still a literal: it takes the type of what it meets */
        x.number = fabs(x.number);
        x.from = e;
        return x;
    }
    if (!lang_as_arithmetic(b, &x, f->integers ? b->want : ELEMENT_F32))
        return operand_error();
    element_type t = x.value->type;
    if (t != ELEMENT_F32 && !(f->integers && t == ELEMENT_I32)) {
        diag *g = lang_error(b, "E0209", e->args.at[0]->span, "`%s` of %s", f->name, element_table[t].name);
        if (t == ELEMENT_BOOL)
            diag_caret(b->diags, g, "turn the condition into a number: `select(c, 1, 0)`");
        else
            diag_caret(b->diags, g, "convert it: `f32(%s)`", lang_source_text_of(b->arena, e->args.at[0]));
        return operand_error();
    }
    return operand_of_value(value_done(b, tile_unary(b->k, f->op, t, x.value, e->span)), e);
}

static operand call_extreme(builder *b, const expr *e) {
    bool max = !strcmp(e->name, "max");
    if (e->args.count < 2) {
        diag *g = lang_error(b, "E0208", e->span, "`%s` takes two values or more", e->name);
        diag_caret(b->diags, g, "write `%s(x, y)`, or `%s[k](x)` for the %s over a range", e->name, e->name,
                   max ? "maximum" : "minimum");
        return operand_error();
    }
    operand x = lang_evaluate(b, e->args.at[0]);
    for (int i = 1; i < e->args.count; i++) {
        operand y = lang_evaluate(b, e->args.at[i]);
        if (!lang_unify(b, &x, &y, e, max ? "`max`" : "`min`"))
            return operand_error();
        if (x.kind == OPERAND_LITERAL) {
            bool first = max ? x.number >= y.number : x.number <= y.number;
            x = first ? x : y;
        } else if (x.kind == OPERAND_INDEX) {
            if (lang_index_size(x.index) + lang_index_size(y.index) > MAX_INDEX_SIZE) {
                lang_error(b, "E0111", e->span, "this integer expression has more than %d parts", MAX_INDEX_SIZE);
                return operand_error();
            }
            x.index = max ? ix_max(b->arena, x.index, y.index) : ix_min(b->arena, x.index, y.index);
        } else if (x.value->type == ELEMENT_BOOL) {
            diag *g = lang_error(b, "E0227", e->span, "`%s` compares numbers, and these are conditions", e->name);
            diag_caret(b->diags, g, "write `%s`", max ? "a or b" : "a and b");
            return operand_error();
        } else {
            x = operand_of_value(
                value_done(b, tile_binary(b->k, max ? TILE_MAX : TILE_MIN, x.value->type, x.value, y.value, e->span)), e);
        }
    }
    x.from = e;
    return x;
}

/* Both integers of one type. */
static operand call_bits(builder *b, const expr *e, tile_op op) {
    if (!check_arity(b, e, 2, arena_printf(b->arena, "%s(x, y)", e->name)))
        return operand_error();
    operand x = lang_evaluate(b, e->args.at[0]), y = lang_evaluate(b, e->args.at[1]);
    if (x.kind == OPERAND_ERROR || y.kind == OPERAND_ERROR)
        return operand_error();
    /* Bits of a u32 scalar are u32's, and so are those of a literal that i32 does not hold. */
    bool is_unsigned = b->want == ELEMENT_U32;
    for (const operand *o = &x; o; o = o == &x ? &y : NULL)
        is_unsigned = is_unsigned || (o->kind == OPERAND_INDEX && lang_index_is_unsigned(o->index)) ||
                      (o->kind == OPERAND_LITERAL && o->integral && o->number > INT32_MAX);
    element_type want = is_unsigned ? ELEMENT_U32 : ELEMENT_I32;
    if (x.kind != OPERAND_VALUE && y.kind != OPERAND_VALUE && !lang_as_arithmetic(b, &x, want))
        return operand_error();
    if (!lang_unify(b, &x, &y, e, arena_printf(b->arena, "`%s`", e->name)))
        return operand_error();
    if (x.value->type != ELEMENT_I32 && x.value->type != ELEMENT_U32) {
        diag *g = lang_error(b, "E0209", e->span, "`%s` of %s", e->name, element_table[x.value->type].name);
        diag_caret(b->diags, g, "bits are those of i32 and u32: convert with `i32(...)` or `u32(...)`");
        return operand_error();
    }
    return operand_of_value(value_done(b, tile_binary(b->k, op, x.value->type, x.value, y.value, e->span)), e);
}

static operand call_select(builder *b, const expr *e) {
    if (!check_arity(b, e, 3, "select(condition, value, otherwise)"))
        return operand_error();
    element_type want = b->want;
    b->want = ELEMENT_COUNT;
    operand c = lang_evaluate(b, e->args.at[0]);
    b->want = want;
    operand x = lang_evaluate(b, e->args.at[1]), y = lang_evaluate(b, e->args.at[2]);
    if (c.kind == OPERAND_ERROR)
        return c;
    if (c.kind != OPERAND_VALUE || c.value->type != ELEMENT_BOOL) {
        diag *g = lang_error(b, "E0227", e->args.at[0]->span, "`select` chooses by a condition, and this is %s",
                             operand_describe(b, &c));
        diag_caret(b->diags, g, "write a comparison: `%s != 0`", lang_source_text_of(b->arena, e->args.at[0]));
        return operand_error();
    }
    bool conditions =
        x.kind == OPERAND_VALUE && y.kind == OPERAND_VALUE && x.value->type == ELEMENT_BOOL && y.value->type == ELEMENT_BOOL;
    if (!conditions) {
        if (!lang_unify(b, &x, &y, e, "`select`"))
            return operand_error();
        bool untyped = x.kind != OPERAND_VALUE;
        if (untyped) {
            bool real = (x.kind == OPERAND_LITERAL && (!x.integral || !y.integral)) || want == ELEMENT_F32;
            if (!lang_as_arithmetic(b, &x, real ? ELEMENT_F32 : want) || !lang_as_arithmetic(b, &y, real ? ELEMENT_F32 : want))
                return operand_error();
            if (x.value->type != y.value->type && !lang_unify(b, &x, &y, e, "`select`"))
                return operand_error();
        }
    }
    tile_value *v = tile_new_value(b->k, TILE_SELECT, x.value->type, e->span);
    tile_set_operands(b->k, v, 3, (tile_value *[]){c.value, x.value, y.value});
    return operand_of_value(value_done(b, v), e);
}

static operand call_conversion(builder *b, const expr *e, element_type type) {
    bool saturate = false, fp8 = type == ELEMENT_E4M3 || type == ELEMENT_E5M2;
    const char *other = type == ELEMENT_E4M3 ? "nan" : "inf";
    if (fp8) {
        const char *mode = e->args.count == 2 && e->args.at[1]->kind == EXPR_NAME ? e->args.at[1]->name : NULL;
        saturate = mode && !strcmp(mode, "sat");
        if (!mode || (!saturate && strcmp(mode, other))) {
            diag *g =
                lang_error(b, "E0212", e->span, "a conversion to %s says what becomes of values beyond its largest", e->name);
            const char *arg = e->args.count ? lang_source_text_of(b->arena, e->args.at[0]) : "x";
            diag_caret(b->diags, g, "write `%s(%s, sat)` for the largest value, or `%s(%s, %s)`", e->name, arg, e->name, arg,
                       other);
            return operand_error();
        }
    } else if (!check_arity(b, e, 1, arena_printf(b->arena, "%s(x)", e->name))) {
        return operand_error();
    }
    element_type want = b->want;
    b->want = type == ELEMENT_I32 || type == ELEMENT_U32 ? ELEMENT_COUNT : ELEMENT_F32;
    operand x = lang_evaluate(b, e->args.at[0]);
    b->want = want;
    return lang_convert_to(b, type, x, saturate, e);
}

/* How often a parameter occurs in a function's body. */
static int occurrences(const expr *e, const char *name) {
    if (!e)
        return 0;
    int n = e->kind == EXPR_NAME && !strcmp(e->name, name);
    n += occurrences(e->a, name) + occurrences(e->b, name);
    for (int i = 0; i < e->args.count; i++)
        n += occurrences(e->args.at[i], name);
    return n;
}

/* An argument used twice is computed once, under the parameter's name. */
static void bind_argument(builder *b, operand *x, const char *name) {
    if (x->kind != OPERAND_VALUE || x->value->bound || !b->block)
        return;
    switch (x->value->op) {
    case TILE_CONST:
    case TILE_INDEX:
    case TILE_SCALAR:
    case TILE_PARAM:
    case TILE_GET:
    case TILE_FIELD: return;
    default: break;
    }
    for (int i = 0; i < x->value->axis_count; i++)
        if (!lang_index_is_constant_size(x->value->axes[i]->size))
            return;
    lang_bind_value(b, x->value, name, false);
}

static operand inline_function(builder *b, const expr *e, const declaration *f) {
    if (e->args.count != f->names.count) {
        diag *g = lang_error(b, "E0208", e->span, "`%s` takes %d argument%s, and %d %s given", f->name, f->names.count,
                             f->names.count == 1 ? "" : "s", e->args.count, e->args.count == 1 ? "is" : "are");
        diag_note(b->diags, g, "`%s` is declared in line %d", f->name, f->span.line);
        return operand_error();
    }
    for (const frame *at = b->frame; at; at = at->outer)
        if (at->function == f) {
            lang_error(b, "E0230", e->span, "`%s` calls itself by way of other functions", f->name);
            return operand_error();
        }
    if (b->inline_depth >= MAX_INLINE_DEPTH) {
        lang_error(b, "E0110", e->span, "functions call functions more than %d levels deep", MAX_INLINE_DEPTH);
        return operand_error();
    }
    frame inner = {.function = f, .count = f->names.count, .outer = b->frame};
    inner.names = f->names.at;
    inner.operands = NEW_ARRAY(b->arena, operand, f->names.count + 1);
    bool ok = true;
    for (int i = 0; i < f->names.count; i++) {
        inner.operands[i] = lang_evaluate(b, e->args.at[i]);
        ok &= inner.operands[i].kind != OPERAND_ERROR;
        if (occurrences(f->value, f->names.at[i]) > 1)
            bind_argument(b, &inner.operands[i], f->names.at[i]);
    }
    if (!ok)
        return operand_error();
    b->frame = &inner;
    b->inline_depth++;
    operand x = lang_evaluate(b, f->value);
    b->inline_depth--;
    b->frame = inner.outer;
    x.from = e;
    return x;
}

static void suggest_function(const module_builder *m, diag_list *diags, diag *g, const char *name) {
    arena *a = m->arena;
    VEC(const char *) words = {0};
    for (int i = 0; i < UNARY_COUNT; i++)
        VEC_PUSH(a, words, unary_builtins[i].name);
    for (int i = 0; i < OTHER_COUNT; i++)
        VEC_PUSH(a, words, other_builtins[i]);
    for (int i = 0; i < m->syntax.items.count; i++)
        if (m->syntax.items.at[i]->kind == DECLARE_FN || m->syntax.items.at[i]->kind == DECLARE_INTRINSIC)
            VEC_PUSH(a, words, m->syntax.items.at[i]->name);
    const char *here = lang_function_elsewhere(name), *near = here ? NULL : suggest_nearest(name, words.at, words.count);
    if (here)
        diag_caret(diags, g, "write %s", here);
    else if (near)
        diag_caret(diags, g, "did you mean `%s`?", near);
}

operand lang_evaluate_call(builder *b, const expr *e) {
    for (int i = 0; i < UNARY_COUNT; i++)
        if (!strcmp(e->name, unary_builtins[i].name))
            return call_unary(b, e, &unary_builtins[i]);
    if (!strcmp(e->name, "select"))
        return call_select(b, e);
    if (!strcmp(e->name, "max") || !strcmp(e->name, "min"))
        return call_extreme(b, e);
    for (int op = TILE_SHL; op <= TILE_BIT_XOR; op++)
        if (!strcmp(e->name, tile_op_table[op].name))
            return call_bits(b, e, (tile_op)op);
    if (!strcmp(e->name, "sum") || !strcmp(e->name, "argmax") || !strcmp(e->name, "argmin")) {
        diag *g = lang_error(b, "E0208", e->span, "`%s` names the range it reduces", e->name);
        diag_caret(b->diags, g, "write `%s[k](%s)`", e->name, e->args.count ? lang_source_text_of(b->arena, e->args.at[0]) : "x");
        return operand_error();
    }
    static const element_type conversions[] = {ELEMENT_F32, ELEMENT_F16, ELEMENT_BF16, ELEMENT_I8,   ELEMENT_U8,
                                               ELEMENT_I32, ELEMENT_U32, ELEMENT_E4M3, ELEMENT_E5M2, ELEMENT_TF32};
    for (size_t i = 0; i < sizeof conversions / sizeof *conversions; i++)
        if (!strcmp(e->name, element_table[conversions[i]].name))
            return call_conversion(b, e, conversions[i]);
    const declaration *f = lang_find_declaration(b->m, DECLARE_INTRINSIC, e->name);
    if (f)
        return lang_call_intrinsic(b, e, f);
    f = lang_find_declaration(b->m, DECLARE_FN, e->name);
    if (f)
        return f->broken || !f->value ? operand_error() : inline_function(b, e, f);
    element_type named = element_by_name(e->name);
    diag *g = NULL;
    if (named < ELEMENT_OF_LANGUAGE && element_table[named].block_elements > 1) {
        g = lang_error(b, "E0219", e->span, "nothing converts to the block format %s within a kernel", e->name);
        diag_caret(b->diags, g, "block formats are read only");
    } else if (lang_find_declaration(b->m, DECLARE_KERNEL, e->name) || lang_find_declaration(b->m, DECLARE_PROGRAM, e->name)) {
        g = lang_error(b, "E0207", e->span, "`%s` is a kernel; kernels are called in a `program`", e->name);
        diag_caret(b->diags, g, "write `program ... { y = %s(x) }`", e->name);
    } else if (lang_find_declaration(b->m, DECLARE_COMBINE, e->name)) {
        g = lang_error(b, "E0207", e->span, "`%s` is a combine; it declares states", e->name);
        diag_caret(b->diags, g, "write `acc: %s(...)`", e->name);
    } else {
        g = lang_error(b, "E0202", e->span, "unknown function `%s`", e->name);
        suggest_function(b->m, b->diags, g, e->name);
    }
    return operand_error();
}

/* --- the joins of states --- */

static bool is_constant(const tile_value *v) {
    while (v->op == TILE_CONVERT)
        v = v->operands[0];
    return v->op == TILE_CONST;
}

bool lang_make_join(builder *b, tile_variable *x, const declaration *c, source_span span) {
    int n = x->field_count;
    (void)span;
    tile_block *block = b->block;
    frame inner = {.function = NULL, .outer = NULL};
    frame *outer = b->frame;
    b->block = NULL;
    b->frame = &inner;
    bool ok = true;
    x->left = NEW_ARRAY(b->arena, tile_value *, n);
    x->right = NEW_ARRAY(b->arena, tile_value *, n);
    x->join = NEW_ARRAY(b->arena, tile_value *, n);
    for (int f = 0; f < n; f++) {
        operand e = lang_evaluate_left(b, c->empty->args.at[f], x->axes[f], x->axis_counts[f], x->types[f]);
        x->empty[f] =
            lang_as_type(b, e, x->types[f], arena_printf(b->arena, "field `%s`", x->field_names[f]), c->empty->args.at[f]->span);
        if (x->empty[f] && !is_constant(x->empty[f])) {
            diag *g = lang_error(b, "E0317", c->empty->args.at[f]->span, "the empty value of field `%s` is no constant",
                                 x->field_names[f]);
            diag_caret(b->diags, g, "write a number, `inf` or `-inf`");
            x->empty[f] = NULL;
        }
        ok &= x->empty[f] != NULL;
        for (int side = 0; side < 2; side++) {
            tile_value *p = tile_new_value(b->k, TILE_PARAM, x->types[f], c->span);
            p->variable = x;
            p->field = f;
            p->side = side;
            tile_derive_axes(b->k, p);
            (side ? x->right : x->left)[f] = value_done(b, p);
        }
    }
    operand sides[2];
    const char *names[2] = {c->left, c->right};
    for (int side = 0; side < 2; side++)
        sides[side] = (operand){.kind = OPERAND_STATE, .variable = x, .side = side};
    inner.names = names;
    inner.operands = sides;
    inner.count = 2;
    b->sharing = true;
    b->shared.count = 0;
    for (int f = 0; f < n && ok; f++) {
        const expr *e = c->value->args.at[f];
        operand r = lang_evaluate_left(b, e, x->axes[f], x->axis_counts[f], x->types[f]);
        tile_value *v = lang_as_type(b, r, x->types[f], arena_printf(b->arena, "field `%s`", x->field_names[f]), e->span);
        x->join[f] = v;
        ok = v && lang_check_axes(b, v, x->axes[f], x->axis_counts[f], e->span,
                                  arena_printf(b->arena, "field `%s`", x->field_names[f]));
    }
    b->sharing = false;
    b->block = block;
    b->frame = outer;
    return ok;
}

/* --- what can be said of functions and combines without a call --- */

static bool names_hold(const declaration *d, const char *name) {
    if (d->kind == DECLARE_COMBINE)
        return (d->left && !strcmp(d->left, name)) || (d->right && !strcmp(d->right, name));
    for (int i = 0; i < d->names.count; i++)
        if (!strcmp(d->names.at[i], name))
            return true;
    return false;
}

static void check_body(module_builder *m, const declaration *d, const expr *e) {
    if (!e)
        return;
    if (e->kind == EXPR_NAME && !names_hold(d, e->name) && strcmp(e->name, "inf") && strcmp(e->name, "true") &&
        strcmp(e->name, "false")) {
        diag *g = diag_error(m->diags, "E0201", e->span, "unknown name `%s`", e->name);
        diag_caret(m->diags, g, "a function or join sees its parameters only");
    }
    if (e->kind == EXPR_CALL && !lang_is_builtin(e->name) && !lang_find_declaration(m, DECLARE_FN, e->name) &&
        !lang_find_declaration(m, DECLARE_INTRINSIC, e->name)) {
        diag *g = diag_error(m->diags, "E0202", e->span, "unknown function `%s`", e->name);
        suggest_function(m, m->diags, g, e->name);
    }
    check_body(m, d, e->a);
    check_body(m, d, e->b);
    /* the mode of an fp8 conversion is no name of a value */
    bool mode = e->kind == EXPR_CALL && (!strcmp(e->name, "e4m3") || !strcmp(e->name, "e5m2"));
    for (int i = 0; i < e->args.count && (i == 0 || !mode); i++)
        check_body(m, d, e->args.at[i]);
}

/* Finds a call of `wanted` reachable from e; `seen` marks functions looked at. */
static const expr *find_cycle(module_builder *m, const expr *e, const declaration *wanted, bool *seen, int depth) {
    if (!e || depth > MAX_INLINE_DEPTH)
        return NULL;
    if (e->kind == EXPR_CALL) {
        for (int i = 0; i < m->syntax.items.count; i++) {
            const declaration *f = m->syntax.items.at[i];
            if (f->kind != DECLARE_FN || strcmp(f->name, e->name) || lang_is_builtin(e->name))
                continue;
            if (f == wanted)
                return e;
            if (!seen[i]) {
                seen[i] = true;
                if (find_cycle(m, f->value, wanted, seen, depth + 1))
                    return e;
            }
        }
    }
    const expr *found = find_cycle(m, e->a, wanted, seen, depth);
    if (!found)
        found = find_cycle(m, e->b, wanted, seen, depth);
    for (int i = 0; i < e->args.count && !found; i++)
        found = find_cycle(m, e->args.at[i], wanted, seen, depth);
    return found;
}

void lang_check_functions(module_builder *m) {
    for (int i = 0; i < m->syntax.items.count; i++) {
        declaration *d = m->syntax.items.at[i];
        if (d->kind != DECLARE_FN && d->kind != DECLARE_COMBINE)
            continue;
        if (d->kind == DECLARE_FN && lang_is_builtin(d->name)) {
            diag *g = diag_error(m->diags, "E0204", d->span, "`%s` is a function of the language", d->name);
            diag_caret(m->diags, g, "choose another name");
        }
        for (int j = 0; j < d->names.count; j++)
            for (int k = 0; k < j; k++)
                if (!strcmp(d->names.at[j], d->names.at[k])) {
                    diag *g = diag_error(m->diags, "E0203", d->name_spans.at[j], "`%s` is named twice", d->names.at[j]);
                    diag_caret(m->diags, g, "choose another name");
                    d->broken = true;
                    break;
                }
        if (d->kind == DECLARE_COMBINE && d->left && d->right && !strcmp(d->left, d->right)) {
            diag *g = diag_error(m->diags, "E0203", d->right_span, "both states are called `%s`", d->right);
            diag_caret(m->diags, g, "choose another name");
            d->broken = true;
        }
        if (d->broken)
            continue;
        if (d->kind == DECLARE_COMBINE) {
            const expr *lists[] = {d->empty, d->value};
            for (int l = 0; l < 2; l++)
                if (lists[l]->args.count != d->names.count) {
                    diag_error(m->diags, "E0208", lists[l]->span, "combine `%s` has %d field%s, and %d value%s given", d->name,
                               d->names.count, d->names.count == 1 ? "" : "s", lists[l]->args.count,
                               lists[l]->args.count == 1 ? " is" : "s are");
                    d->broken = true;
                }
            if (d->names.count == 0) {
                diag_error(m->diags, "E0208", d->span, "combine `%s` has no fields", d->name);
                d->broken = true;
            }
        }
        int before = m->diags->errors;
        check_body(m, d, d->value);
        if (m->diags->errors != before)
            d->broken = true;
        bool *seen = NEW_ARRAY(m->arena, bool, m->syntax.items.count);
        const expr *cycle = d->kind == DECLARE_FN ? find_cycle(m, d->value, d, seen, 0) : NULL;
        if (cycle) {
            diag *g = diag_error(m->diags, "E0230", cycle->span, "`%s` calls itself%s", d->name,
                                 strcmp(cycle->name, d->name) ? " by way of other functions" : "");
            diag_caret(m->diags, g, "functions are inlined; repeat with a loop of the kernel");
            d->broken = true;
        }
    }
}
