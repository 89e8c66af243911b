/* Index expressions and conditions of Tile IR text. */
#include "tile/reader.h"
#include <string.h>

/* --- index expressions and conditions --- */

static index_expr *parse_index_atom(tile_reader *p, int depth) {
    index_expr *x = ix_const(p->arena, 0);
    if (depth > TILE_DEEPEST_INDEX)
        tile_reader_fail(p, p->span, "E0153", "this index expression nests too deeply");
    if (p->failed)
        return x;
    if (p->kind == TOKEN_NUMBER || tile_reader_is(p, "-"))
        return ix_const(p->arena, tile_reader_integer(p));
    if (p->kind == TOKEN_VALUE) {
        source_span span = p->span;
        tile_value *v = tile_reader_value(p);
        if (v && !v->value_var)
            tile_reader_fail(p, span, "E0151", "this value is not declared `index lo .. hi`");
        return p->failed ? x : ix_var(p->arena, v->value_var);
    }
    if (tile_reader_accept(p, "(")) {
        x = tile_read_index(p, depth + 1);
        if (tile_reader_accept(p, "mod"))
            x = p->failed ? x : ix_mod(p->arena, x, parse_index_atom(p, depth + 1));
        tile_reader_expect(p, ")");
        return x;
    }
    source_span span = p->span;
    const char *name = tile_reader_name(p);
    if (tile_reader_is(p, "(") && (!strcmp(name, "floor") || !strcmp(name, "min") || !strcmp(name, "max"))) {
        tile_reader_next(p);
        if (*name == 'f') {
            x = parse_index_atom(p, depth + 1);
            while (tile_reader_accept(p, "*"))
                x = ix_mul(p->arena, x, parse_index_atom(p, depth + 1));
            tile_reader_expect(p, "/");
            x = ix_floordiv(p->arena, x, parse_index_atom(p, depth + 1));
        } else {
            x = tile_read_index(p, depth + 1);
            tile_reader_expect(p, ",");
            index_expr *y = tile_read_index(p, depth + 1);
            x = name[1] == 'i' ? ix_min(p->arena, x, y) : ix_max(p->arena, x, y);
        }
        tile_reader_expect(p, ")");
        return x;
    }
    index_var *v = p->failed ? NULL : tile_reader_find(p, name);
    if (!v) {
        tile_reader_fail(p, span, "E0152", arena_printf(p->arena, "no symbol, scalar or range is called `%s`", name));
        return x;
    }
    return ix_var(p->arena, v);
}

static index_expr *parse_index_product(tile_reader *p, int depth) {
    index_expr *x = parse_index_atom(p, depth);
    while (tile_reader_accept(p, "*"))
        x = ix_mul(p->arena, x, parse_index_atom(p, depth + 1));
    return x;
}

index_expr *tile_read_index(tile_reader *p, int depth) {
    index_expr *x = parse_index_product(p, depth);
    int terms = 0; /* a long sum is a deep tree: everything that walks it recurses */
    while (!p->failed && (tile_reader_is(p, "+") || tile_reader_is(p, "-"))) {
        bool add = tile_reader_is(p, "+");
        tile_reader_next(p);
        index_expr *y = parse_index_product(p, depth + 1);
        x = add ? ix_add(p->arena, x, y) : ix_sub(p->arena, x, y);
        if (++terms > TILE_DEEPEST_INDEX)
            tile_reader_fail(p, p->span, "E0153", "this index expression has too many terms");
    }
    return x;
}

/* Whether the parenthesis that has just been opened holds a condition rather than an index expression. */
static bool parenthesis_holds_comparison(const char *at) {
    for (int open = 1; *at && open; at++) {
        if (*at == '<' || *at == '=' || *at == '!')
            return true;
        open += (*at == '(') - (*at == ')');
    }
    return false;
}

static cond *parse_condition_atom(tile_reader *p, int depth) {
    if (depth > TILE_DEEPEST_INDEX)
        tile_reader_fail(p, p->span, "E0153", "this condition nests too deeply");
    if (p->failed)
        return NEW(p->arena, cond);
    source_span span = p->span;
    if (tile_reader_accept(p, "true"))
        return NEW(p->arena, cond);
    if (tile_reader_accept(p, "not")) {
        tile_reader_expect(p, "(");
        cond *c = tile_read_condition(p, depth + 1);
        tile_reader_expect(p, ")");
        return cond_not(p->arena, c);
    }
    if (tile_reader_is(p, "(") && parenthesis_holds_comparison(p->at)) {
        tile_reader_next(p);
        cond *c = tile_read_condition(p, depth + 1);
        tile_reader_expect(p, ")");
        return c;
    }
    index_expr *x = tile_read_index(p, depth + 1);
    static const struct {
        const char *word;
        cond_op op;
    } words[] = {{"<=", COND_LE}, {"<", COND_LT}, {"==", COND_EQ}, {"!=", COND_NE}};
    for (int i = 0; i < 4; i++)
        if (tile_reader_accept(p, words[i].word)) {
            cond *c = cond_compare(p->arena, words[i].op, x, tile_read_index(p, depth + 1));
            c->span = span;
            return c;
        }
    FAIL(p, "expected a comparison, found `%.*s`", p->length, p->token);
    return NEW(p->arena, cond);
}

cond *tile_read_condition(tile_reader *p, int depth) {
    cond *c = parse_condition_atom(p, depth);
    int terms = 0;
    while (!p->failed && (tile_reader_is(p, "and") || tile_reader_is(p, "or"))) {
        bool both = tile_reader_is(p, "and");
        tile_reader_next(p);
        cond *d = parse_condition_atom(p, depth + 1);
        c = both ? cond_and(p->arena, c, d) : cond_or(p->arena, c, d);
        if (++terms > TILE_DEEPEST_INDEX)
            tile_reader_fail(p, p->span, "E0153", "this condition has too many terms");
    }
    return c;
}
