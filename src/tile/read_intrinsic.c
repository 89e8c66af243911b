/* Declarations of intrinsics in Tile IR text. */
#include "tile/reader.h"
#include <string.h>

static int parameter_of(tile_reader *p, const intrinsic *f) {
    source_span span = p->span;
    const char *name = tile_reader_name(p);
    for (int i = 0; i < f->parameter_count; i++)
        if (!strcmp(f->parameters[i].name, name))
            return i;
    tile_reader_fail(p, span, "E0152", arena_printf(p->arena, "the intrinsic has no parameter `%s`", name));
    return 0;
}

/* A bound may name parameters that follow: its names are looked up once all are read. */
typedef struct pending {
    intrinsic_bound *bound;
    const char *name;
    source_span span;
    int64_t factor;
} pending;
typedef VEC(pending) pending_list;

static void read_bound(tile_reader *p, intrinsic_bound *b, pending_list *names) {
    do {
        int64_t factor = 1;
        bool number = p->kind == TOKEN_NUMBER || tile_reader_is(p, "-");
        if (number)
            factor = tile_reader_integer(p);
        if (number && !tile_reader_accept(p, "*")) {
            b->constant += factor;
            continue;
        }
        pending x = {.bound = b, .span = p->span, .factor = factor};
        x.name = tile_reader_name(p);
        VEC_PUSH(p->arena, *names, x);
    } while (tile_reader_accept(p, "+"));
}

static void read_parameter(tile_reader *p, intrinsic_parameter *x, pending_list *names) {
    x->span = p->span;
    x->name = tile_reader_name(p);
    tile_reader_expect(p, ":");
    x->matrix = tile_reader_accept(p, "matrix");
    x->space = tile_reader_accept(p, "global")   ? INTRINSIC_GLOBAL
               : tile_reader_accept(p, "shared") ? INTRINSIC_SHARED
                                                 : INTRINSIC_ANYWHERE;
    x->type = tile_reader_type(p);
    if (x->matrix) {
        tile_reader_expect(p, "[");
        x->dims[0] = tile_reader_integer(p);
        tile_reader_expect(p, ",");
        x->dims[1] = tile_reader_integer(p);
        tile_reader_expect(p, "]");
        return;
    }
    if (!tile_reader_accept(p, "["))
        return;
    do {
        if (x->rank >= INTRINSIC_MOST_RANK) {
            FAIL(p, "a pointer sees at most %d dimensions", INTRINSIC_MOST_RANK);
            return;
        }
        x->dims[x->rank++] = tile_reader_integer(p);
    } while (tile_reader_accept(p, ","));
    tile_reader_expect(p, "]");
    bool updates = tile_reader_accept(p, "updates");
    x->writes = updates || tile_reader_accept(p, "writes");
    x->reads = updates || !x->writes;
    if (!x->writes)
        tile_reader_expect(p, "reads");
    tile_reader_expect(p, "[");
    for (int d = 0; d < x->rank; d++) {
        if (d)
            tile_reader_expect(p, ",");
        read_bound(p, &x->lo[d], names);
        tile_reader_expect(p, "..");
        read_bound(p, &x->hi[d], names);
    }
    tile_reader_expect(p, "]");
}

static void read_items(tile_reader *p, const intrinsic *f, intrinsic_item **items, int *count, int nesting);

static void read_item(tile_reader *p, const intrinsic *f, intrinsic_item *x, int nesting) {
    x->span = p->span;
    x->type = ELEMENT_I32;
    if (p->kind == TOKEN_NUMBER || tile_reader_is(p, "-")) {
        x->kind = ITEM_INTEGER;
        x->integer = tile_reader_integer(p);
        return;
    }
    if (tile_reader_accept(p, "stride")) {
        x->kind = ITEM_STRIDE;
        x->type = ELEMENT_I64;
        tile_reader_expect(p, "(");
        x->parameter = parameter_of(p, f);
        tile_reader_expect(p, ",");
        x->dim = (int)tile_reader_integer(p);
        tile_reader_expect(p, ")");
        if (!p->failed && (x->dim < 0 || x->dim >= f->parameters[x->parameter].rank))
            tile_reader_fail(p, x->span, "E0151", "the pointer has no such dimension");
        return;
    }
    element_type element;
    int lanes;
    const char *word = arena_strndup(p->arena, p->token, (size_t)p->length);
    if (p->kind == TOKEN_NAME && intrinsic_vector_type(word, &element, &lanes)) {
        tile_reader_next(p);
        x->kind = ITEM_VECTOR;
        x->type = element;
        tile_reader_expect(p, "(");
        if (nesting >= INTRINSIC_MOST_NESTING)
            tile_reader_fail(p, x->span, "E0153", "operands nest too deeply");
        read_items(p, f, &x->items, &x->count, nesting + 1);
        if (!p->failed && x->count != lanes)
            tile_reader_fail(p, x->span, "E0151", "a vector with another number of elements");
        return;
    }
    x->kind = ITEM_PARAMETER;
    x->parameter = parameter_of(p, f);
}

/* Up to the closing parenthesis. */
static void read_items(tile_reader *p, const intrinsic *f, intrinsic_item **items, int *count, int nesting) {
    VEC(intrinsic_item) list = {0};
    while (!p->failed && !tile_reader_is(p, ")")) {
        intrinsic_item x = {0};
        read_item(p, f, &x, nesting);
        VEC_PUSH(p->arena, list, x);
        if (!tile_reader_accept(p, ","))
            break;
    }
    tile_reader_expect(p, ")");
    *items = list.at;
    *count = list.count;
}

void tile_read_intrinsic(tile_reader *p) {
    intrinsic *f = NEW(p->arena, intrinsic);
    pending_list names = {0};
    f->span = p->span;
    f->name = tile_reader_name(p);
    tile_reader_expect(p, "(");
    while (!p->failed && !tile_reader_is(p, ")")) {
        if (f->parameter_count >= INTRINSIC_MOST_PARAMETERS) {
            FAIL(p, "an intrinsic has at most %d parameters", INTRINSIC_MOST_PARAMETERS);
            break;
        }
        read_parameter(p, &f->parameters[f->parameter_count++], &names);
        if (!tile_reader_accept(p, ","))
            break;
    }
    tile_reader_expect(p, ")");
    for (int i = 0; i < names.count && !p->failed; i++) {
        int at = 0;
        while (at < f->parameter_count && strcmp(f->parameters[at].name, names.at[i].name))
            at++;
        if (at == f->parameter_count)
            tile_reader_fail(p, names.at[i].span, "E0152", "the intrinsic has no such parameter");
        else
            names.at[i].bound->factors[at] += names.at[i].factor;
    }
    tile_reader_expect(p, "->");
    f->type = tile_reader_type(p);
    if (tile_reader_accept(p, "[")) {
        f->rows = (int)tile_reader_integer(p);
        tile_reader_expect(p, ",");
        f->columns = (int)tile_reader_integer(p);
        tile_reader_expect(p, "]");
    }
    f->referenced = tile_reader_accept(p, "value");
    f->anywhere = tile_reader_accept(p, "otherwise");
    while (!p->failed && tile_reader_accept(p, "for")) {
        intrinsic_binding b = {.span = p->span, .target = tile_reader_name(p)};
        while (tile_reader_accept(p, "."))
            b.target = arena_printf(p->arena, "%s.%s", b.target, tile_reader_name(p));
        tile_reader_expect(p, "=");
        if (p->kind != TOKEN_STRING)
            FAIL(p, "expected the function's name in quotes, found `%.*s`", p->length, p->token);
        if (p->failed)
            return;
        b.name = arena_strndup(p->arena, p->token + 1, (size_t)p->length - 2);
        tile_reader_next(p);
        tile_reader_expect(p, "(");
        read_items(p, f, &b.items, &b.count, 0);
        VEC_PUSH(p->arena, f->bindings, b);
    }
    if (!p->failed)
        VEC_PUSH(p->arena, p->k->intrinsics, f);
}
