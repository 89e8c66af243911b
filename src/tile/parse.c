/* Reads Tile IR text (doc/tile-ir.md). Stops at the first error: the text is for tools and tests, the tile language for people. */
#include "tile/text.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef enum { TOKEN_END, TOKEN_NAME, TOKEN_NUMBER, TOKEN_VALUE, TOKEN_SYMBOL, TOKEN_BAD } token_kind;

typedef struct parser {
    arena *arena;
    diag_list *diags;
    const char *file, *at;
    int line;
    const char *line_start;
    bool failed;
    /* the current token */
    token_kind kind;
    source_span span;
    const char *token;
    int length;
    int previous_line; /* of the token before */
    /* the kernel being read */
    tile_kernel *k;
    VEC(tile_value *) values; /* by id; NULL: not defined yet */
    VEC(int) depths;          /* nesting of unbound values, by id */
    int loops;
} parser;

/* --- tokens --- */
static bool is_letter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}
static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

static void next(parser *p) {
    p->previous_line = p->span.line;
    for (;;) {
        if (*p->at == '\n') {
            p->line++;
            p->line_start = ++p->at;
        } else if (*p->at == ' ' || *p->at == '\t' || *p->at == '\r') {
            p->at++;
        } else if (p->at[0] == '/' && p->at[1] == '/') {
            while (*p->at && *p->at != '\n')
                p->at++;
        } else {
            break;
        }
    }
    const char *s = p->at;
    if (!*s) {
        p->kind = TOKEN_END;
    } else if (is_letter(*s)) {
        p->kind = TOKEN_NAME;
        while (is_letter(*s) || is_digit(*s))
            s++;
        if (*s == '.' && is_digit(s[1])) /* `c.1` tells a name from its namesakes */
            for (s++; is_digit(*s);)
                s++;
        if (s - p->at == 3 && (!strncmp(p->at, "max", 3) || !strncmp(p->at, "min", 3)) && s[0] == '=' && s[1] != '=') {
            p->kind = TOKEN_SYMBOL;
            s++;
        }
    } else if (is_digit(*s)) {
        p->kind = TOKEN_NUMBER;
        while (is_digit(*s))
            s++;
        if (*s == '.' && is_digit(s[1]))
            for (s++; is_digit(*s);)
                s++;
        if ((*s == 'e' || *s == 'E') && (is_digit(s[1]) || ((s[1] == '-' || s[1] == '+') && is_digit(s[2]))))
            for (s += 2; is_digit(*s);)
                s++;
    } else if (*s == '%' && is_digit(s[1])) {
        p->kind = TOKEN_VALUE;
        for (s++; is_digit(*s);)
            s++;
    } else {
        static const char *const two[] = {"->", "<-", "+=", "..", "<=", "==", "!="};
        p->kind = strchr("(){}[],:=+-*/<.", *s) ? TOKEN_SYMBOL : TOKEN_BAD;
        int length = 1;
        for (size_t i = 0; i < sizeof two / sizeof *two; i++)
            if (!strncmp(s, two[i], 2)) {
                p->kind = TOKEN_SYMBOL;
                length = 2;
            }
        s += length;
    }
    p->token = p->at;
    p->length = (int)(s - p->at);
    p->span = (source_span){p->file, p->line, (int)(p->at - p->line_start) + 1, p->length ? p->length : 1};
    p->at = s;
}

static void fail_at(parser *p, source_span span, const char *code, const char *message) {
    if (!p->failed)
        diag_error(p->diags, code, span, "%s", message);
    p->failed = true;
}
#define FAIL(p, ...) fail_at((p), (p)->span, "E0151", arena_printf((p)->arena, __VA_ARGS__))

static bool is(const parser *p, const char *text) {
    return (p->kind == TOKEN_NAME || p->kind == TOKEN_SYMBOL) && (int)strlen(text) == p->length && !memcmp(p->token, text, strlen(text));
}
static bool accept(parser *p, const char *text) {
    if (p->failed || !is(p, text))
        return false;
    next(p);
    return true;
}
static void expect(parser *p, const char *text) {
    if (!accept(p, text))
        FAIL(p, "expected `%s`, found `%.*s`", text, p->length, p->token);
}
static const char *expect_name(parser *p) {
    if (p->kind != TOKEN_NAME) {
        FAIL(p, "expected a name, found `%.*s`", p->length, p->token);
        return "";
    }
    const char *name = arena_strndup(p->arena, p->token, (size_t)p->length);
    next(p);
    return name;
}
/* `c.2` -> `c`, 2 */
static const char *split_name(parser *p, const char *name, int *namesake) {
    const char *dot = strchr(name, '.');
    *namesake = dot ? atoi(dot + 1) : 0;
    return dot ? arena_strndup(p->arena, name, (size_t)(dot - name)) : name;
}
static int64_t expect_integer(parser *p) {
    bool negative = accept(p, "-");
    int64_t value = 0;
    if (p->kind != TOKEN_NUMBER) {
        FAIL(p, "expected an integer, found `%.*s`", p->length, p->token);
        return 0;
    }
    for (int i = 0; i < p->length; i++) {
        if (!is_digit(p->token[i]) || value > (INT64_MAX - 9) / 10) {
            FAIL(p, "`%.*s` is not an integer in range", p->length, p->token);
            return 0;
        }
        value = value * 10 + (p->token[i] - '0');
    }
    next(p);
    return negative ? -value : value;
}
static element_type expect_type(parser *p) {
    source_span span = p->span;
    const char *name = expect_name(p);
    element_type t = element_by_name(name);
    if (t == ELEMENT_COUNT)
        fail_at(p, span, "E0151", arena_printf(p->arena, "`%s` is not an element type", name));
    return t == ELEMENT_COUNT ? ELEMENT_F32 : t;
}

/* --- names --- */
static index_var *find_index_name(parser *p, const char *full) {
    int skip;
    const char *name = split_name(p, full, &skip);
    tile_kernel *k = p->k;
    for (int i = 0; i < k->symbols.count; i++)
        if (!strcmp(k->symbols.at[i]->name, name) && !skip--)
            return k->symbols.at[i];
    for (int i = 0; i < k->scalars.count; i++)
        if (k->scalars.at[i]->var && !strcmp(k->scalars.at[i]->name, name) && !skip--)
            return k->scalars.at[i]->var;
    for (int i = 0; i < k->ranges.count; i++)
        if (!strcmp(k->ranges.at[i]->name, name) && !skip--)
            return k->ranges.at[i]->var;
    return NULL;
}
static tile_range *expect_range(parser *p) {
    source_span span = p->span;
    const char *name = expect_name(p);
    index_var *v = p->failed ? NULL : find_index_name(p, name);
    if (!v || v->kind != INDEX_RANGE) {
        fail_at(p, span, "E0152", arena_printf(p->arena, "no range is called `%s`", name));
        return NULL;
    }
    return v->owner;
}
static tile_array *expect_array(parser *p) {
    source_span span = p->span;
    const char *name = expect_name(p);
    for (int i = 0; i < p->k->arrays.count; i++)
        if (!strcmp(p->k->arrays.at[i]->name, name))
            return p->k->arrays.at[i];
    fail_at(p, span, "E0152", arena_printf(p->arena, "no array is called `%s`", name));
    return NULL;
}
static tile_variable *expect_variable(parser *p) {
    source_span span = p->span;
    int skip;
    const char *full = expect_name(p);
    const char *name = split_name(p, full, &skip);
    for (int i = 0; i < p->k->variables.count; i++)
        if (!strcmp(p->k->variables.at[i]->name, name) && !skip--)
            return p->k->variables.at[i];
    fail_at(p, span, "E0152", arena_printf(p->arena, "no variable is called `%s`", full));
    return NULL;
}
static int expect_field(parser *p, const tile_variable *x) {
    if (p->kind == TOKEN_NUMBER) {
        int64_t f = expect_integer(p);
        if (x && f < x->field_count)
            return (int)f;
    } else {
        const char *name = expect_name(p);
        for (int f = 0; x && x->field_names && f < x->field_count; f++)
            if (!strcmp(x->field_names[f], name))
                return f;
    }
    FAIL(p, "the variable has no such field");
    return 0;
}
static tile_value *expect_value(parser *p) {
    if (p->kind != TOKEN_VALUE) {
        FAIL(p, "expected a value such as %%3, found `%.*s`", p->length, p->token);
        return NULL;
    }
    long id = p->length > 8 ? 1L << 30 : strtol(p->token + 1, NULL, 10);
    if (id >= p->values.count || !p->values.at[id]) {
        fail_at(p, p->span, "E0152", arena_printf(p->arena, "`%.*s` is not defined before this", p->length, p->token));
        return NULL;
    }
    next(p);
    return p->values.at[id];
}

/* --- index expressions and conditions --- */
static index_expr *parse_index(parser *p, int depth);

static index_expr *parse_index_atom(parser *p, int depth) {
    index_expr *x = ix_const(p->arena, 0);
    if (depth > TILE_DEEPEST_INDEX)
        fail_at(p, p->span, "E0153", "this index expression nests too deeply");
    if (p->failed)
        return x;
    if (p->kind == TOKEN_NUMBER || is(p, "-"))
        return ix_const(p->arena, expect_integer(p));
    if (p->kind == TOKEN_VALUE) {
        source_span span = p->span;
        tile_value *v = expect_value(p);
        if (v && !v->value_var)
            fail_at(p, span, "E0151", "this value is not declared `index lo .. hi`");
        return p->failed ? x : ix_var(p->arena, v->value_var);
    }
    if (accept(p, "(")) {
        x = parse_index(p, depth + 1);
        if (accept(p, "mod"))
            x = p->failed ? x : ix_mod(p->arena, x, parse_index_atom(p, depth + 1));
        expect(p, ")");
        return x;
    }
    source_span span = p->span;
    const char *name = expect_name(p);
    if (is(p, "(") && (!strcmp(name, "floor") || !strcmp(name, "min") || !strcmp(name, "max"))) {
        next(p);
        if (*name == 'f') {
            x = parse_index_atom(p, depth + 1);
            while (accept(p, "*"))
                x = ix_mul(p->arena, x, parse_index_atom(p, depth + 1));
            expect(p, "/");
            x = ix_floordiv(p->arena, x, parse_index_atom(p, depth + 1));
        } else {
            x = parse_index(p, depth + 1);
            expect(p, ",");
            index_expr *y = parse_index(p, depth + 1);
            x = name[1] == 'i' ? ix_min(p->arena, x, y) : ix_max(p->arena, x, y);
        }
        expect(p, ")");
        return x;
    }
    index_var *v = p->failed ? NULL : find_index_name(p, name);
    if (!v) {
        fail_at(p, span, "E0152", arena_printf(p->arena, "no symbol, scalar or range is called `%s`", name));
        return x;
    }
    return ix_var(p->arena, v);
}

static index_expr *parse_index_product(parser *p, int depth) {
    index_expr *x = parse_index_atom(p, depth);
    while (accept(p, "*"))
        x = ix_mul(p->arena, x, parse_index_atom(p, depth + 1));
    return x;
}

static index_expr *parse_index(parser *p, int depth) {
    index_expr *x = parse_index_product(p, depth);
    int terms = 0; /* a long sum is a deep tree: everything that walks it recurses */
    while (!p->failed && (is(p, "+") || is(p, "-"))) {
        bool add = is(p, "+");
        next(p);
        index_expr *y = parse_index_product(p, depth + 1);
        x = add ? ix_add(p->arena, x, y) : ix_sub(p->arena, x, y);
        if (++terms > TILE_DEEPEST_INDEX)
            fail_at(p, p->span, "E0153", "this index expression has too many terms");
    }
    return x;
}

static cond *parse_condition(parser *p, int depth);

/* Whether the parenthesis that has just been opened holds a condition rather than an index expression. */
static bool parenthesis_holds_comparison(const char *at) {
    for (int open = 1; *at && open; at++) {
        if (*at == '<' || *at == '=' || *at == '!')
            return true;
        open += (*at == '(') - (*at == ')');
    }
    return false;
}

static cond *parse_condition_atom(parser *p, int depth) {
    if (depth > TILE_DEEPEST_INDEX)
        fail_at(p, p->span, "E0153", "this condition nests too deeply");
    if (p->failed)
        return NEW(p->arena, cond);
    source_span span = p->span;
    if (accept(p, "true"))
        return NEW(p->arena, cond);
    if (accept(p, "not")) {
        expect(p, "(");
        cond *c = parse_condition(p, depth + 1);
        expect(p, ")");
        return cond_not(p->arena, c);
    }
    if (is(p, "(") && parenthesis_holds_comparison(p->at)) {
        next(p);
        cond *c = parse_condition(p, depth + 1);
        expect(p, ")");
        return c;
    }
    index_expr *x = parse_index(p, depth + 1);
    static const struct { const char *word; cond_op op; } words[] = {{"<=", COND_LE}, {"<", COND_LT}, {"==", COND_EQ}, {"!=", COND_NE}};
    for (int i = 0; i < 4; i++)
        if (accept(p, words[i].word)) {
            cond *c = cond_compare(p->arena, words[i].op, x, parse_index(p, depth + 1));
            c->span = span;
            return c;
        }
    FAIL(p, "expected a comparison, found `%.*s`", p->length, p->token);
    return NEW(p->arena, cond);
}

static cond *parse_condition(parser *p, int depth) {
    cond *c = parse_condition_atom(p, depth);
    int terms = 0;
    while (!p->failed && (is(p, "and") || is(p, "or"))) {
        bool both = is(p, "and");
        next(p);
        cond *d = parse_condition_atom(p, depth + 1);
        c = both ? cond_and(p->arena, c, d) : cond_or(p->arena, c, d);
        if (++terms > TILE_DEEPEST_INDEX)
            fail_at(p, p->span, "E0153", "this condition has too many terms");
    }
    return c;
}

/* --- declarations --- */
static void parse_bounds(parser *p, index_var *v) {
    if (accept(p, "within")) {
        v->lo = parse_index(p, 0);
        expect(p, "..");
        v->hi = parse_index(p, 0);
    }
}

static void parse_symbol(parser *p, index_var_kind kind) {
    source_span span = p->span;
    int namesake;
    index_var *v = tile_new_var(p->k, split_name(p, expect_name(p), &namesake), kind, span);
    parse_bounds(p, v);
    if (accept(p, "=")) {
        v->has_value = true;
        v->value = expect_integer(p);
    }
}

static void parse_scalar(parser *p) {
    source_span span = p->span;
    const char *name = expect_name(p);
    expect(p, ":");
    tile_scalar *s = tile_new_scalar(p->k, name, expect_type(p), span);
    if (s->var)
        parse_bounds(p, s->var);
}

static void parse_array(parser *p, array_role role) {
    source_span span = p->span;
    const char *name = expect_name(p);
    expect(p, ":");
    tile_array *x = tile_new_array(p->k, name, expect_type(p), role, span);
    if (accept(p, "(")) {
        x->index_bound = parse_index(p, 0);
        expect(p, ")");
    }
    VEC(index_expr *) dims = {0};
    VEC(int) groups = {0};
    expect(p, "[");
    while (!p->failed && !is(p, "]")) {
        int factors = 0;
        /* `(KV, G)` is a product dimension, `(KV + 1) * 2` an expression: a comma inside the parentheses tells */
        parser saved = *p;
        bool product = false;
        if (accept(p, "(")) {
            parse_index(p, 0);
            product = !p->failed && is(p, ",");
            p->diags->errors -= p->failed;
            p->diags->items.count -= p->failed;
            *p = saved;
        }
        if (product) {
            expect(p, "(");
            do {
                VEC_PUSH(p->arena, dims, parse_index(p, 0));
                factors++;
            } while (accept(p, ","));
            expect(p, ")");
        } else {
            VEC_PUSH(p->arena, dims, parse_index(p, 0));
            factors = 1;
        }
        VEC_PUSH(p->arena, groups, factors);
        if (!accept(p, ","))
            break;
    }
    expect(p, "]");
    x->rank = dims.count;
    x->dims = dims.at;
    x->group_count = groups.count;
    x->groups = groups.at;
    x->injective = accept(p, "injective");
}

static void parse_range_declaration(parser *p) {
    source_span span = p->span;
    int namesake;
    const char *name = split_name(p, expect_name(p), &namesake);
    expect(p, ":");
    index_expr *size = parse_index(p, 0);
    expect(p, "in");
    index_expr *extent = parse_index(p, 0);
    tile_range *r = tile_new_range(p->k, name, extent, size, span);
    r->whole = accept(p, "whole");
    r->scheduled = accept(p, "scheduled");
}

static void parse_axes(parser *p, tile_range ***axes, int *count) {
    VEC(tile_range *) list = {0};
    expect(p, "[");
    while (!p->failed && !is(p, "]")) {
        VEC_PUSH(p->arena, list, expect_range(p));
        if (!accept(p, ","))
            break;
    }
    expect(p, "]");
    *axes = list.at;
    *count = list.count;
}

static void parse_owned(parser *p) {
    tile_owned *o = NEW(p->arena, tile_owned);
    o->span = p->span;
    o->array = expect_array(p);
    if (p->failed)
        return;
    o->ranges = NEW_ARRAY(p->arena, tile_range *, o->array->rank);
    o->fixed = NEW_ARRAY(p->arena, index_expr *, o->array->rank);
    expect(p, "[");
    for (int d = 0; d < o->array->rank && !p->failed; d++) {
        if (d)
            expect(p, ",");
        if (accept(p, "="))
            o->fixed[d] = parse_index(p, 0);
        else
            o->ranges[d] = expect_range(p);
    }
    expect(p, "]");
    VEC_PUSH(p->arena, p->k->owned, o);
}

static void parse_variable(parser *p) {
    source_span span = p->span;
    int namesake;
    const char *name = split_name(p, expect_name(p), &namesake);
    expect(p, ":");
    const char *combine = NULL;
    source_span at = p->span;
    const char *word = expect_name(p);
    VEC(const char *) names = {0};
    VEC(element_type) types = {0};
    VEC(int) counts = {0};
    VEC(tile_range **) axes = {0};
    bool state = accept(p, "(");
    if (state)
        combine = word;
    do {
        const char *field = NULL;
        if (state) {
            field = p->kind == TOKEN_NUMBER ? arena_printf(p->arena, "%d", (int)expect_integer(p)) : expect_name(p);
            expect(p, ":");
            at = p->span;
            word = expect_name(p);
        }
        element_type t = element_by_name(word);
        if (t == ELEMENT_COUNT)
            fail_at(p, at, "E0151", arena_printf(p->arena, "`%s` is not an element type", word));
        tile_range **list = NULL;
        int count = 0;
        if (is(p, "["))
            parse_axes(p, &list, &count);
        VEC_PUSH(p->arena, names, field);
        VEC_PUSH(p->arena, types, t);
        VEC_PUSH(p->arena, counts, count);
        VEC_PUSH(p->arena, axes, list);
    } while (state && accept(p, ","));
    if (state)
        expect(p, ")");
    if (p->failed)
        return;
    tile_variable *x = tile_new_variable(p->k, name, types.count, span);
    x->combine = combine;
    x->field_names = state ? names.at : NULL;
    for (int f = 0; f < types.count; f++) {
        x->types[f] = types.at[f];
        x->axis_counts[f] = counts.at[f];
        x->axes[f] = axes.at[f];
    }
}

/* --- values --- */
static double parse_number(parser *p) {
    double sign = accept(p, "-") ? -1 : 1;
    if (accept(p, "inf"))
        return sign * INFINITY;
    if (accept(p, "nan"))
        return NAN;
    if (p->kind != TOKEN_NUMBER) {
        FAIL(p, "expected a number, found `%.*s`", p->length, p->token);
        return 0;
    }
    double x = strtod(arena_strndup(p->arena, p->token, (size_t)p->length), NULL);
    next(p);
    return sign * x;
}

static void parse_value_payload(parser *p, tile_value *v) {
    switch (v->op) {
    case TILE_CONST:
        v->number = parse_number(p);
        break;
    case TILE_INDEX:
        v->index = parse_index(p, 0);
        break;
    case TILE_SCALAR: {
        source_span span = p->span;
        const char *name = expect_name(p);
        for (int i = 0; i < p->k->scalars.count; i++)
            if (!strcmp(p->k->scalars.at[i]->name, name))
                v->scalar = p->k->scalars.at[i];
        if (!v->scalar)
            fail_at(p, span, "E0152", arena_printf(p->arena, "no scalar is called `%s`", name));
        break;
    }
    case TILE_PARAM:
        v->variable = expect_variable(p);
        v->side = is(p, "right");
        if (!accept(p, "left"))
            expect(p, "right");
        v->field = expect_field(p, v->variable);
        break;
    case TILE_GET:
        v->variable = expect_variable(p);
        break;
    case TILE_FIELD:
        v->variable = expect_variable(p);
        v->field = expect_field(p, v->variable);
        break;
    case TILE_LOAD:
        v->array = expect_array(p);
        if (p->failed)
            break;
        v->indices = NEW_ARRAY(p->arena, index_expr *, v->array->rank ? v->array->rank : 1);
        expect(p, "[");
        for (int d = 0; d < v->array->rank; d++) {
            if (d)
                expect(p, ",");
            v->indices[d] = parse_index(p, 0);
        }
        expect(p, "]");
        v->has_outside = accept(p, "else");
        break;
    case TILE_REDUCE_SUM:
    case TILE_REDUCE_MAX:
    case TILE_REDUCE_MIN:
    case TILE_ARGMAX:
    case TILE_ARGMIN:
        expect(p, "[");
        v->range = expect_range(p);
        expect(p, "]");
        break;
    case TILE_DOT:
        parse_axes(p, &v->contract, &v->contract_count);
        break;
    default:
        break;
    }
}

static void remember(parser *p, tile_value *v, int id, int depth) {
    while (p->values.count <= id) {
        VEC_PUSH(p->arena, p->values, NULL);
        VEC_PUSH(p->arena, p->depths, 0);
    }
    p->values.at[id] = v;
    p->depths.at[id] = depth;
    if (p->k->value_count <= id)
        p->k->value_count = id + 1;
}

static void parse_definition(parser *p) {
    source_span span = p->span;
    long id = p->length > 8 ? 1L << 30 : strtol(p->token + 1, NULL, 10);
    if (id >= 1000000)
        fail_at(p, span, "E0151", "value numbers go up to 999999");
    else if (id < p->values.count && p->values.at[id])
        fail_at(p, span, "E0152", arena_printf(p->arena, "%%%ld is defined twice", id));
    next(p);
    expect(p, "=");
    source_span op_span = p->span;
    const char *name = expect_name(p);
    int op = 0;
    while (op < TILE_OP_COUNT && strcmp(tile_op_table[op].name, name))
        op++;
    if (op == TILE_OP_COUNT)
        fail_at(p, op_span, "E0151", arena_printf(p->arena, "`%s` is not an operation", name));
    if (p->failed)
        return;
    tile_value *v = NEW(p->arena, tile_value);
    v->op = (tile_op)op;
    v->span = span;
    v->id = (int)id;
    parse_value_payload(p, v);
    VEC(tile_value *) operands = {0};
    int depth = 0;
    while (!p->failed && p->kind == TOKEN_VALUE) {
        tile_value *o = expect_value(p);
        VEC_PUSH(p->arena, operands, o);
        if (o && !o->bound && p->depths.at[o->id] > depth)
            depth = p->depths.at[o->id];
    }
    expect(p, ":");
    v->type = v->accumulator = expect_type(p);
    if (p->failed)
        return;
    if (depth + 1 > TILE_DEEPEST_VALUE)
        fail_at(p, span, "E0153", "values nest too deeply: bind some of them with let");
    tile_set_operands(p->k, v, operands.count, operands.at);
    if (is(p, "["))
        parse_axes(p, &v->axes, &v->axis_count);
    if (accept(p, "accumulate"))
        v->accumulator = expect_type(p);
    v->saturate = accept(p, "sat");
    if (accept(p, "index")) {
        index_expr *lo = NULL, *hi = NULL;
        if (p->previous_line == p->span.line && !is(p, "}")) {
            lo = parse_index(p, 0);
            expect(p, "..");
            hi = parse_index(p, 0);
        }
        tile_index_of(p->k, v, lo, hi);
    }
    remember(p, v, (int)id, depth + 1);
}

static tile_value **parse_tuple(parser *p, int count) {
    tile_value **values = NEW_ARRAY(p->arena, tile_value *, count ? count : 1);
    expect(p, "(");
    for (int i = 0; i < count && !p->failed; i++) {
        if (i)
            expect(p, ",");
        values[i] = expect_value(p);
    }
    expect(p, ")");
    return values;
}

/* --- statements --- */
static void parse_block(parser *p, tile_block *b);

static void parse_statement(parser *p, tile_block *b) {
    source_span span = p->span;
    if (accept(p, "let")) {
        const char *name = NULL;
        if (p->kind == TOKEN_NAME) {
            name = expect_name(p);
            expect(p, "=");
        }
        tile_value *v = expect_value(p);
        if (p->failed)
            return;
        v->name = name;
        v->bound = true;
        if (v->value_var && name)
            v->value_var->name = name;
        tile_append(p->k, b, TILE_STMT_LET, span)->value = v;
    } else if (accept(p, "init")) {
        tile_variable *x = expect_variable(p);
        expect(p, "=");
        if (p->failed)
            return;
        x->empty = parse_tuple(p, x->field_count);
        if (accept(p, "left")) {
            x->left = parse_tuple(p, x->field_count);
            expect(p, "right");
            x->right = parse_tuple(p, x->field_count);
            expect(p, "join");
            x->join = parse_tuple(p, x->field_count);
        }
        tile_append(p->k, b, TILE_STMT_VAR, span)->variable = x;
    } else if (accept(p, "update")) {
        tile_variable *x = expect_variable(p);
        tile_op op = is(p, "+=") ? TILE_ADD : is(p, "max=") ? TILE_MAX : is(p, "min=") ? TILE_MIN : TILE_OP_COUNT;
        if (op == TILE_OP_COUNT)
            FAIL(p, "expected `+=`, `max=` or `min=`, found `%.*s`", p->length, p->token);
        next(p);
        tile_stmt *s = tile_append(p->k, b, TILE_STMT_UPDATE, span);
        s->variable = x;
        s->update = op;
        s->value = expect_value(p);
    } else if (accept(p, "join")) {
        tile_variable *x = expect_variable(p);
        expect(p, "<-");
        if (p->failed)
            return;
        tile_stmt *s = tile_append(p->k, b, TILE_STMT_JOIN, span);
        s->variable = x;
        s->values = parse_tuple(p, x->field_count);
    } else if (accept(p, "store")) {
        tile_array *x = expect_array(p);
        if (p->failed)
            return;
        tile_stmt *s = tile_append(p->k, b, TILE_STMT_STORE, span);
        s->array = x;
        s->indices = NEW_ARRAY(p->arena, index_expr *, x->rank ? x->rank : 1);
        expect(p, "[");
        for (int d = 0; d < x->rank; d++) {
            if (d)
                expect(p, ",");
            s->indices[d] = parse_index(p, 0);
        }
        expect(p, "]");
        expect(p, "=");
        s->value = expect_value(p);
    } else if (accept(p, "for")) {
        tile_stmt *s = tile_append(p->k, b, TILE_STMT_LOOP, span);
        s->range = expect_range(p);
        if (accept(p, "where"))
            s->predicate = parse_condition(p, 0);
        expect(p, "{");
        if (++p->loops > TILE_DEEPEST_LOOP)
            fail_at(p, span, "E0153", "loops nest too deeply");
        parse_block(p, &s->body);
        p->loops--;
        expect(p, "}");
    } else {
        FAIL(p, "expected a statement, found `%.*s`", p->length, p->token);
    }
}

static void parse_block(parser *p, tile_block *b) {
    while (!p->failed && p->kind != TOKEN_END && !is(p, "}")) {
        if (p->kind == TOKEN_VALUE)
            parse_definition(p);
        else
            parse_statement(p, b);
    }
}

/* Symbols, scalars and arrays: kernels and programs share them. False when the line is none of these. */
static bool parse_declaration(parser *p) {
    if (accept(p, "symbol"))
        parse_symbol(p, INDEX_SYMBOL);
    else if (accept(p, "static"))
        parse_symbol(p, INDEX_STATIC);
    else if (accept(p, "tile"))
        parse_symbol(p, INDEX_TILE);
    else if (accept(p, "scalar"))
        parse_scalar(p);
    else if (accept(p, "in"))
        parse_array(p, ARRAY_IN);
    else if (accept(p, "out"))
        parse_array(p, ARRAY_OUT);
    else if (accept(p, "update"))
        parse_array(p, ARRAY_UPDATE);
    else
        return false;
    return true;
}

static tile_kernel *parse_kernel(parser *p) {
    source_span span = p->span;
    tile_kernel *k = p->k = tile_new_kernel(p->arena, expect_name(p), span);
    memset(&p->values, 0, sizeof p->values);
    memset(&p->depths, 0, sizeof p->depths);
    p->loops = 0;
    expect(p, "{");
    while (!p->failed && !accept(p, "do")) {
        if (parse_declaration(p))
            continue;
        if (accept(p, "derived")) {
            source_span at = p->span;
            const char *name = expect_name(p);
            int i = 0;
            while (i < k->symbols.count && strcmp(k->symbols.at[i]->name, name))
                i++;
            if (i == k->symbols.count)
                fail_at(p, at, "E0152", arena_printf(p->arena, "no symbol is called `%s`", name));
            expect(p, "=");
            index_expr *x = parse_index(p, 0);
            if (!p->failed)
                k->derived.at[i] = x;
        } else if (accept(p, "where")) {
            VEC_PUSH(p->arena, k->where, parse_condition(p, 0));
        } else if (accept(p, "range")) {
            parse_range_declaration(p);
        } else if (accept(p, "task")) {
            do {
                tile_range *r = expect_range(p);
                if (r) {
                    r->is_task = true;
                    VEC_PUSH(p->arena, k->task, r);
                }
            } while (accept(p, ","));
        } else if (accept(p, "own")) {
            parse_owned(p);
        } else if (accept(p, "var")) {
            parse_variable(p);
        } else {
            FAIL(p, "expected a declaration or `do`, found `%.*s`", p->length, p->token);
        }
    }
    expect(p, "{");
    parse_block(p, &k->body);
    expect(p, "}");
    expect(p, "}");
    return k;
}

static tile_program *parse_program(parser *p, const tile_module *m) {
    tile_program *g = NEW(p->arena, tile_program);
    g->span = p->span;
    g->name = expect_name(p);
    tile_kernel *names = p->k = tile_new_kernel(p->arena, g->name, g->span); /* holds the declarations while they are read */
    expect(p, "{");
    while (!p->failed && !accept(p, "}")) {
        if (parse_declaration(p))
            continue;
        tile_call *c = NEW(p->arena, tile_call);
        c->span = p->span;
        expect(p, "call");
        source_span at = p->span;
        const char *name = expect_name(p);
        c->kernel = p->failed ? NULL : tile_find_kernel(m, name);
        if (!c->kernel)
            fail_at(p, at, "E0152", arena_printf(p->arena, "no kernel before this is called `%s`", name));
        expect(p, "(");
        while (!p->failed && !is(p, ")")) {
            VEC_PUSH(p->arena, c->arguments, expect_name(p));
            if (!accept(p, ","))
                break;
        }
        expect(p, ")");
        expect(p, "->");
        expect(p, "(");
        while (!p->failed && !is(p, ")")) {
            VEC_PUSH(p->arena, c->results, expect_name(p));
            if (!accept(p, ","))
                break;
        }
        expect(p, ")");
        if (accept(p, "with"))
            do {
                VEC_PUSH(p->arena, c->bind_names, expect_name(p));
                expect(p, "=");
                VEC_PUSH(p->arena, c->bind_values, parse_index(p, 0));
            } while (accept(p, ","));
        VEC_PUSH(p->arena, g->calls, c);
    }
    memcpy(&g->symbols, &names->symbols, sizeof g->symbols);
    memcpy(&g->arrays, &names->arrays, sizeof g->arrays);
    memcpy(&g->scalars, &names->scalars, sizeof g->scalars);
    memcpy(&g->arguments, &names->arguments, sizeof g->arguments);
    memcpy(&g->argument_is_scalar, &names->argument_is_scalar, sizeof g->argument_is_scalar);
    return g;
}

/* A schedule's values are whatever words stand between `=` and the end of the line. */
static tile_schedule *parse_schedule(parser *p) {
    tile_schedule *s = NEW(p->arena, tile_schedule);
    s->span = p->span;
    s->kernel = expect_name(p);
    if (accept(p, "for")) {
        const char *target = expect_name(p);
        while (accept(p, "."))
            target = arena_printf(p->arena, "%s.%s", target, expect_name(p));
        s->target = target;
    }
    expect(p, "{");
    while (!p->failed && !is(p, "}")) {
        tile_schedule_entry e = {.span = p->span, .key = expect_name(p)};
        if (!p->failed && !is(p, "="))
            FAIL(p, "expected `=`, found `%.*s`", p->length, p->token);
        const char *c = p->at;
        while (!p->failed && *c && *c != '\n') {
            while (*c == ' ' || *c == '\t' || *c == '\r')
                c++;
            const char *start = c;
            while (*c && *c != '\n' && *c != ' ' && *c != '\t' && *c != '\r')
                c++;
            if (c > start)
                VEC_PUSH(p->arena, e.words, arena_strndup(p->arena, start, (size_t)(c - start)));
        }
        p->at = c;
        if (e.words.count == 1) {
            char *end;
            long long n = strtoll(e.words.at[0], &end, 10);
            e.is_integer = !*end;
            e.integer = e.is_integer ? n : 0;
        }
        next(p);
        VEC_PUSH(p->arena, s->entries, e);
    }
    expect(p, "}");
    return s;
}

tile_module *tile_parse(arena *a, const char *file, const char *text, diag_list *diags) {
    diag_add_source(diags, file, text);
    parser p = {.arena = a, .diags = diags, .file = file, .at = text, .line = 1, .line_start = text};
    tile_module *m = NEW(a, tile_module);
    m->arena = a;
    next(&p);
    while (!p.failed && p.kind != TOKEN_END) {
        source_span span = p.span;
        if (accept(&p, "kernel")) {
            tile_kernel *k = parse_kernel(&p);
            if (!p.failed && tile_find_kernel(m, k->name))
                fail_at(&p, span, "E0152", arena_printf(a, "a kernel `%s` exists already", k->name));
            VEC_PUSH(a, m->kernels, k);
        } else if (accept(&p, "program")) {
            VEC_PUSH(a, m->programs, parse_program(&p, m));
        } else if (accept(&p, "schedule")) {
            VEC_PUSH(a, m->schedules, parse_schedule(&p));
        } else {
            FAIL(&p, "expected `kernel`, `program` or `schedule`, found `%.*s`", p.length, p.token);
        }
    }
    return p.failed ? NULL : m;
}
