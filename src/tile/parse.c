/* Reads Tile IR text (doc/tile-ir.md): declarations, kernels, programs, schedules. Stops at the first error: the text is for tools and tests,
 * the tile language for people. */
#include "tile/reader.h"
#include <stdlib.h>
#include <string.h>

/* --- declarations --- */
static void parse_bounds(tile_reader *p, index_var *v) {
    if (tile_reader_accept(p, "within")) {
        v->lo = tile_read_index(p, 0);
        tile_reader_expect(p, "..");
        v->hi = tile_read_index(p, 0);
    }
}

static void parse_symbol(tile_reader *p, index_var_kind kind) {
    source_span span = p->span;
    int namesake;
    index_var *v = tile_new_var(p->k, tile_reader_split(p, tile_reader_name(p), &namesake), kind, span);
    parse_bounds(p, v);
    if (tile_reader_accept(p, "=")) {
        v->has_value = true;
        v->value = tile_reader_integer(p);
    }
}

static void parse_scalar(tile_reader *p) {
    source_span span = p->span;
    const char *name = tile_reader_name(p);
    tile_reader_expect(p, ":");
    tile_scalar *s = tile_new_scalar(p->k, name, tile_reader_type(p), span);
    if (s->var)
        parse_bounds(p, s->var);
}

static void parse_array(tile_reader *p, array_role role) {
    source_span span = p->span;
    const char *name = tile_reader_name(p);
    tile_reader_expect(p, ":");
    tile_array *x = tile_new_array(p->k, name, tile_reader_type(p), role, span);
    if (tile_reader_accept(p, "(")) {
        x->index_bound = tile_read_index(p, 0);
        tile_reader_expect(p, ")");
    }
    VEC(index_expr *) dims = {0};
    VEC(int) groups = {0};
    tile_reader_expect(p, "[");
    while (!p->failed && !tile_reader_is(p, "]")) {
        int factors = 0;
        /* `(KV, G)` is a product dimension, `(KV + 1) * 2` an expression: a comma inside the parentheses tells */
        tile_reader saved = *p;
        bool product = false;
        if (tile_reader_accept(p, "(")) {
            tile_read_index(p, 0);
            product = !p->failed && tile_reader_is(p, ",");
            p->diags->errors -= p->failed;
            p->diags->items.count -= p->failed;
            *p = saved;
        }
        if (product) {
            tile_reader_expect(p, "(");
            do {
                VEC_PUSH(p->arena, dims, tile_read_index(p, 0));
                factors++;
            } while (tile_reader_accept(p, ","));
            tile_reader_expect(p, ")");
        } else {
            VEC_PUSH(p->arena, dims, tile_read_index(p, 0));
            factors = 1;
        }
        VEC_PUSH(p->arena, groups, factors);
        if (!tile_reader_accept(p, ","))
            break;
    }
    tile_reader_expect(p, "]");
    x->rank = dims.count;
    x->dims = dims.at;
    x->group_count = groups.count;
    x->groups = groups.at;
    x->injective = tile_reader_accept(p, "injective");
}

static void parse_range_declaration(tile_reader *p) {
    source_span span = p->span;
    int namesake;
    const char *name = tile_reader_split(p, tile_reader_name(p), &namesake);
    tile_reader_expect(p, ":");
    index_expr *size = tile_read_index(p, 0);
    tile_reader_expect(p, "in");
    index_expr *extent = tile_read_index(p, 0);
    tile_range *r = tile_new_range(p->k, name, extent, size, span);
    r->whole = tile_reader_accept(p, "whole");
    r->held = r->whole && tile_reader_accept(p, "held");
    r->scheduled = tile_reader_accept(p, "scheduled");
}

static void parse_owned(tile_reader *p) {
    tile_owned *o = NEW(p->arena, tile_owned);
    o->span = p->span;
    o->array = tile_reader_array(p);
    if (p->failed)
        return;
    o->ranges = NEW_ARRAY(p->arena, tile_range *, o->array->rank);
    o->fixed = NEW_ARRAY(p->arena, index_expr *, o->array->rank);
    o->through = NEW_ARRAY(p->arena, tile_array *, o->array->rank);
    tile_reader_expect(p, "[");
    for (int d = 0; d < o->array->rank && !p->failed; d++) {
        if (d)
            tile_reader_expect(p, ",");
        if (tile_reader_accept(p, "=")) {
            o->fixed[d] = tile_read_index(p, 0);
        } else if (p->kind == TOKEN_NAME && *p->at == '[') {
            o->through[d] = tile_reader_array(p);
            tile_reader_expect(p, "[");
            o->ranges[d] = tile_reader_range(p);
            tile_reader_expect(p, "]");
        } else {
            o->ranges[d] = tile_reader_range(p);
        }
    }
    tile_reader_expect(p, "]");
    VEC_PUSH(p->arena, p->k->owned, o);
}

static void parse_variable(tile_reader *p) {
    source_span span = p->span;
    int namesake;
    const char *name = tile_reader_split(p, tile_reader_name(p), &namesake);
    tile_reader_expect(p, ":");
    const char *combine = NULL;
    source_span at = p->span;
    const char *word = tile_reader_name(p);
    VEC(const char *) names = {0};
    VEC(element_type) types = {0};
    VEC(int) counts = {0};
    VEC(tile_range **) axes = {0};
    bool state = tile_reader_accept(p, "(");
    if (state)
        combine = word;
    do {
        const char *field = NULL;
        if (state) {
            field = p->kind == TOKEN_NUMBER ? arena_printf(p->arena, "%d", (int)tile_reader_integer(p)) : tile_reader_name(p);
            tile_reader_expect(p, ":");
            at = p->span;
            word = tile_reader_name(p);
        }
        element_type t = element_by_name(word);
        if (t == ELEMENT_COUNT)
            tile_reader_fail(p, at, "E0151", arena_printf(p->arena, "`%s` is not an element type", word));
        tile_range **list = NULL;
        int count = 0;
        if (tile_reader_is(p, "["))
            tile_read_axes(p, &list, &count);
        VEC_PUSH(p->arena, names, field);
        VEC_PUSH(p->arena, types, t);
        VEC_PUSH(p->arena, counts, count);
        VEC_PUSH(p->arena, axes, list);
    } while (state && tile_reader_accept(p, ","));
    if (state)
        tile_reader_expect(p, ")");
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

/* Symbols, scalars and arrays: kernels and programs share them. False when the line is none of these. */
static bool parse_declaration(tile_reader *p) {
    if (tile_reader_accept(p, "symbol"))
        parse_symbol(p, INDEX_SYMBOL);
    else if (tile_reader_accept(p, "static"))
        parse_symbol(p, INDEX_STATIC);
    else if (tile_reader_accept(p, "tile"))
        parse_symbol(p, INDEX_TILE);
    else if (tile_reader_accept(p, "scalar"))
        parse_scalar(p);
    else if (tile_reader_accept(p, "in"))
        parse_array(p, ARRAY_IN);
    else if (tile_reader_accept(p, "out"))
        parse_array(p, ARRAY_OUT);
    else if (tile_reader_accept(p, "update"))
        parse_array(p, ARRAY_UPDATE);
    else
        return false;
    return true;
}

static tile_kernel *parse_kernel(tile_reader *p) {
    source_span span = p->span;
    tile_kernel *k = p->k = tile_new_kernel(p->arena, tile_reader_name(p), span);
    memset(&p->values, 0, sizeof p->values);
    memset(&p->depths, 0, sizeof p->depths);
    p->loops = 0;
    tile_reader_expect(p, "{");
    while (!p->failed && !tile_reader_accept(p, "do")) {
        if (parse_declaration(p))
            continue;
        if (tile_reader_accept(p, "derived")) {
            source_span at = p->span;
            const char *name = tile_reader_name(p);
            int i = 0;
            while (i < k->symbols.count && strcmp(k->symbols.at[i]->name, name))
                i++;
            if (i == k->symbols.count)
                tile_reader_fail(p, at, "E0152", arena_printf(p->arena, "no symbol is called `%s`", name));
            tile_reader_expect(p, "=");
            index_expr *x = tile_read_index(p, 0);
            if (!p->failed)
                k->derived.at[i] = x;
        } else if (tile_reader_accept(p, "where")) {
            VEC_PUSH(p->arena, k->where, tile_read_condition(p, 0));
        } else if (tile_reader_accept(p, "range")) {
            parse_range_declaration(p);
        } else if (tile_reader_accept(p, "task")) {
            do {
                tile_range *r = tile_reader_range(p);
                if (r) {
                    r->is_task = true;
                    VEC_PUSH(p->arena, k->task, r);
                }
            } while (tile_reader_accept(p, ","));
        } else if (tile_reader_accept(p, "own")) {
            parse_owned(p);
        } else if (tile_reader_accept(p, "var")) {
            parse_variable(p);
        } else if (tile_reader_accept(p, "intrinsic")) {
            tile_read_intrinsic(p);
        } else {
            FAIL(p, "expected a declaration or `do`, found `%.*s`", p->length, p->token);
        }
    }
    tile_reader_expect(p, "{");
    tile_read_block(p, &k->body);
    tile_reader_expect(p, "}");
    tile_reader_expect(p, "}");
    return k;
}

static tile_program *parse_program(tile_reader *p, const tile_module *m) {
    tile_program *g = NEW(p->arena, tile_program);
    g->span = p->span;
    g->name = tile_reader_name(p);
    tile_kernel *names = p->k = tile_new_kernel(p->arena, g->name, g->span); /* holds the declarations while they are read */
    tile_reader_expect(p, "{");
    while (!p->failed && !tile_reader_accept(p, "}")) {
        if (parse_declaration(p))
            continue;
        tile_call *c = NEW(p->arena, tile_call);
        c->span = p->span;
        tile_reader_expect(p, "call");
        source_span at = p->span;
        const char *name = tile_reader_name(p);
        c->kernel = p->failed ? NULL : tile_find_kernel(m, name);
        if (!c->kernel)
            tile_reader_fail(p, at, "E0152", arena_printf(p->arena, "no kernel before this is called `%s`", name));
        tile_reader_expect(p, "(");
        while (!p->failed && !tile_reader_is(p, ")")) {
            VEC_PUSH(p->arena, c->arguments, tile_reader_name(p));
            if (!tile_reader_accept(p, ","))
                break;
        }
        tile_reader_expect(p, ")");
        tile_reader_expect(p, "->");
        tile_reader_expect(p, "(");
        while (!p->failed && !tile_reader_is(p, ")")) {
            VEC_PUSH(p->arena, c->results, tile_reader_name(p));
            if (!tile_reader_accept(p, ","))
                break;
        }
        tile_reader_expect(p, ")");
        if (tile_reader_accept(p, "with"))
            do {
                VEC_PUSH(p->arena, c->bind_names, tile_reader_name(p));
                tile_reader_expect(p, "=");
                VEC_PUSH(p->arena, c->bind_values, tile_read_index(p, 0));
            } while (tile_reader_accept(p, ","));
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
static tile_schedule *parse_schedule(tile_reader *p) {
    tile_schedule *s = NEW(p->arena, tile_schedule);
    s->span = p->span;
    s->kernel = tile_reader_name(p);
    if (tile_reader_accept(p, "for")) {
        const char *target = tile_reader_name(p);
        while (tile_reader_accept(p, "."))
            target = arena_printf(p->arena, "%s.%s", target, tile_reader_name(p));
        s->target = target;
    }
    tile_reader_expect(p, "{");
    while (!p->failed && !tile_reader_is(p, "}")) {
        tile_schedule_entry e = {.span = p->span, .key = tile_reader_name(p)};
        if (!p->failed && !tile_reader_is(p, "="))
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
        tile_reader_next(p);
        VEC_PUSH(p->arena, s->entries, e);
    }
    tile_reader_expect(p, "}");
    return s;
}

tile_module *tile_parse(arena *a, const char *file, const char *text, diag_list *diags) {
    diag_add_source(diags, file, text);
    tile_reader p = {.arena = a, .diags = diags, .file = file, .at = text, .line = 1, .line_start = text};
    tile_module *m = NEW(a, tile_module);
    m->arena = a;
    tile_reader_next(&p);
    while (!p.failed && p.kind != TOKEN_END) {
        source_span span = p.span;
        if (tile_reader_accept(&p, "kernel")) {
            tile_kernel *k = parse_kernel(&p);
            if (!p.failed && tile_find_kernel(m, k->name))
                tile_reader_fail(&p, span, "E0152", arena_printf(a, "a kernel `%s` exists already", k->name));
            VEC_PUSH(a, m->kernels, k);
        } else if (tile_reader_accept(&p, "program")) {
            VEC_PUSH(a, m->programs, parse_program(&p, m));
        } else if (tile_reader_accept(&p, "schedule")) {
            VEC_PUSH(a, m->schedules, parse_schedule(&p));
        } else {
            FAIL(&p, "expected `kernel`, `program` or `schedule`, found `%.*s`", p.length, p.token);
        }
    }
    return p.failed ? NULL : m;
}
