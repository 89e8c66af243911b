#include "run/binding.h"
#include "base/suggest.h"
#include <inttypes.h>
#include <string.h>

signature signature_of_kernel(const tile_kernel *k) {
    signature s = {.name = k->name, .sort = "kernel", .span = k->span};
    s.arrays = k->arrays.at;
    s.array_count = k->arrays.count;
    s.scalars = k->scalars.at;
    s.scalar_count = k->scalars.count;
    s.symbols = k->symbols.at;
    s.symbol_count = k->symbols.count;
    s.derived = k->derived.count == k->symbols.count ? k->derived.at : NULL;
    s.where = k->where.at;
    s.where_count = k->where.count;
    return s;
}

signature signature_of_program(const tile_program *p) {
    signature s = {.name = p->name, .sort = "program", .span = p->span};
    s.arrays = p->arrays.at;
    s.array_count = p->arrays.count;
    s.scalars = p->scalars.at;
    s.scalar_count = p->scalars.count;
    s.symbols = p->symbols.at;
    s.symbol_count = p->symbols.count;
    return s;
}

void binding_init(binding *b, arena *a, signature s) {
    b->arena = a;
    b->signature = s;
    b->shapes = NEW_ARRAY(a, bound_shape, s.array_count + 1);
    b->values = NEW_ARRAY(a, int64_t, s.symbol_count + 1);
    b->known = NEW_ARRAY(a, bool, s.symbol_count + 1);
    b->fixed = NEW_ARRAY(a, bool, s.symbol_count + 1);
    b->origin = NEW_ARRAY(a, const char *, s.symbol_count + 1);
}

int binding_find_symbol(const binding *b, const char *name) {
    for (int i = 0; i < b->signature.symbol_count; i++)
        if (strcmp(b->signature.symbols[i]->name, name) == 0)
            return i;
    return -1;
}
int binding_find_array(const binding *b, const char *name) {
    for (int i = 0; i < b->signature.array_count; i++)
        if (strcmp(b->signature.arrays[i]->name, name) == 0)
            return i;
    return -1;
}
int binding_find_scalar(const binding *b, const char *name) {
    for (int i = 0; i < b->signature.scalar_count; i++)
        if (strcmp(b->signature.scalars[i]->name, name) == 0)
            return i;
    return -1;
}

bool binding_set_symbol(binding *b, const char *name, int64_t value, const char *origin, diag_list *diags) {
    const signature *s = &b->signature;
    int at = binding_find_symbol(b, name);
    if (at < 0 || s->symbols[at]->kind == INDEX_TILE) {
        diag *g = diag_error(diags, "E0640", s->span, "%s %s has no symbol `%s`", s->sort, s->name, name);
        if (at >= 0) {
            diag_note(diags, g, "%s is a tile size: pass --set %s=%" PRId64, name, name, value);
            return false;
        }
        const char *names[64];
        int count = 0;
        text_buffer list = {0};
        for (int i = 0; i < s->symbol_count && count < 64; i++)
            if (s->symbols[i]->kind != INDEX_TILE) {
                text_add(&list, "%s%s", count ? ", " : "", s->symbols[i]->name);
                names[count++] = s->symbols[i]->name;
            }
        const char *near = suggest_nearest(name, names, count);
        if (near)
            diag_note(diags, g, "did you mean %s?", near);
        else
            diag_note(diags, g, count ? "its symbols: %s" : "it has none%s", text_get(&list));
        text_free(&list);
        return false;
    }
    if (value < 0) {
        diag_error(diags, "E0641", s->span, "%s cannot be %" PRId64 ": an extent is 0 or more", name, value);
        return false;
    }
    b->known[at] = b->fixed[at] = true;
    b->values[at] = value;
    b->origin[at] = arena_strdup(b->arena, origin);
    return true;
}

bool binding_set_shape(binding *b, int array, int rank, const int64_t *dims, diag_list *diags) {
    const tile_array *t = b->signature.arrays[array];
    if (rank != t->group_count || rank > BINDING_MAX_RANK) {
        diag *g = diag_error(diags, "E0642", t->span, "argument `%s` has %d dimension%s, but %s declares %d", t->name, rank,
                             rank == 1 ? "" : "s", b->signature.name, t->group_count);
        for (int i = 0, at = 0; g && i < 1; i++) {
            text_buffer shape = {0};
            for (int d = 0; d < t->group_count; d++) {
                text_add(&shape, "%s", d ? ", " : "");
                for (int f = 0; f < t->groups[d]; f++) {
                    text_add(&shape, "%s", f ? "*" : "");
                    ix_print(&shape, t->dims[at++]);
                }
            }
            diag_note(diags, g, "it is %s: %s[%s]", t->name, element_table[t->type].name, text_get(&shape));
            text_free(&shape);
        }
        return false;
    }
    b->shapes[array].given = true;
    b->shapes[array].rank = rank;
    for (int i = 0; i < rank; i++)
        b->shapes[array].dims[i] = dims[i];
    return true;
}

/* x with every known symbol replaced by its value. */
static index_expr *with_known(const binding *b, index_expr *x) {
    for (int i = 0; i < b->signature.symbol_count; i++)
        if (b->known[i])
            x = ix_substitute(b->arena, x, b->signature.symbols[i], ix_const(b->arena, b->values[i]));
    return x;
}

/* A static's default counts only once it is known: ix_eval by itself would take it at once. */
bool binding_evaluate(const binding *b, index_expr *x, int64_t *value) {
    return ix_is_const(with_known(b, x), value);
}

/* x == value: when x is affine in the one unknown symbol left, that symbol follows. `origin` tells from where. */
static bool solve_one(binding *b, index_expr *x, int64_t value, const char *origin) {
    x = with_known(b, x);
    int unknown = -1;
    for (int i = 0; i < b->signature.symbol_count; i++) {
        const index_var *v = b->signature.symbols[i];
        if (b->known[i] || v->kind == INDEX_TILE || !ix_mentions(x, v))
            continue;
        if (unknown >= 0)
            return false;
        unknown = i;
    }
    int64_t coefficient, constant;
    index_expr *rest;
    if (unknown < 0 || !ix_coefficient(b->arena, x, b->signature.symbols[unknown], &coefficient, &rest) || coefficient == 0 ||
        !ix_is_const(rest, &constant))
        return false;
    int64_t numerator = value - constant;
    if (numerator % coefficient || numerator / coefficient < 0)
        return false; /* no whole number does: the comparison afterwards says so */
    b->known[unknown] = true;
    b->values[unknown] = numerator / coefficient;
    b->origin[unknown] = arena_strdup(b->arena, origin);
    return true;
}

/* The product of the factors in a caller-visible dimension. */
static index_expr *group_extent(arena *a, const tile_array *t, int first, int factors) {
    index_expr *x = t->dims[first];
    for (int f = 1; f < factors; f++)
        x = ix_mul(a, x, t->dims[first + f]);
    return x;
}

static index_expr *group_at(binding *b, const tile_array *t, int dimension) {
    int first = 0;
    for (int d = 0; d < dimension; d++)
        first += t->groups[d];
    index_expr *x = NULL;
    for (int f = 0; f < t->groups[dimension]; f++) {
        index_expr *factor = with_known(b, t->dims[first + f]);
        x = x ? ix_mul(b->arena, x, factor) : factor;
    }
    return x ? x : ix_const(b->arena, 1);
}

static bool solve_round(binding *b) {
    const signature *s = &b->signature;
    bool progress = false;
    for (int i = 0; i < s->array_count; i++) {
        const tile_array *t = s->arrays[i];
        for (int d = 0; b->shapes[i].given && d < t->group_count; d++) {
            char origin[160];
            snprintf(origin, sizeof origin, "dimension %d of `%s`", d, t->name);
            progress = solve_one(b, group_at(b, t, d), b->shapes[i].dims[d], origin) || progress;
        }
    }
    for (int i = 0; s->derived && i < s->symbol_count; i++) {
        int64_t value;
        if (!b->known[i] && s->derived[i] && binding_evaluate(b, s->derived[i], &value)) {
            b->known[i] = true;
            b->values[i] = value;
            text_buffer text = {0};
            text_add(&text, "`where %s == ", s->symbols[i]->name);
            ix_print(&text, s->derived[i]);
            text_add(&text, "`");
            b->origin[i] = arena_strdup(b->arena, text_get(&text));
            text_free(&text);
            progress = true;
        }
    }
    for (int i = 0; i < s->where_count; i++) {
        const cond *c = s->where[i];
        int64_t value;
        if (c->op != COND_EQ)
            continue;
        if (binding_evaluate(b, c->y, &value))
            progress = solve_one(b, c->x, value, "a written `where`") || progress;
        else if (binding_evaluate(b, c->x, &value))
            progress = solve_one(b, c->y, value, "a written `where`") || progress;
    }
    return progress;
}

/* The first symbol of an expression that nobody gave a value; -1 when there is none. */
static int first_unknown(const binding *b, const index_expr *x) {
    for (int i = 0; i < b->signature.symbol_count; i++)
        if (!b->known[i] && b->signature.symbols[i]->kind != INDEX_TILE && ix_mentions(x, b->signature.symbols[i]))
            return i;
    return -1;
}

static bool compare_shape(binding *b, int array, diag_list *diags) {
    const tile_array *t = b->signature.arrays[array];
    for (int d = 0, first = 0; d < t->group_count; first += t->groups[d], d++) {
        index_expr *declared = group_extent(b->arena, t, first, t->groups[d]);
        text_buffer text = {0};
        ix_print(&text, declared);
        int64_t expected, given = b->shapes[array].dims[d];
        bool good = binding_evaluate(b, declared, &expected);
        if (!good) {
            int unknown = first_unknown(b, declared);
            const char *name = unknown >= 0 ? b->signature.symbols[unknown]->name : "a symbol";
            diag *g = diag_error(diags, "E0643", t->span, "dimension %d of `%s` is %" PRId64 " = %s, which does not tell %s", d,
                                 t->name, given, text_get(&text), name);
            diag_note(diags, g, "pass --shape %s=..", name);
        } else if (expected != given) {
            good = false;
            diag *g = diag_error(diags, "E0644", t->span, "dimension %d of `%s` is %" PRId64 ", but %s = %" PRId64, d, t->name,
                                 given, text_get(&text), expected);
            for (int i = 0; i < b->signature.symbol_count; i++)
                if (b->known[i] && b->origin[i] && ix_mentions(declared, b->signature.symbols[i]))
                    diag_note(diags, g, "%s = %" PRId64 " by %s", b->signature.symbols[i]->name, b->values[i], b->origin[i]);
        }
        text_free(&text);
        if (!good)
            return false;
    }
    return true;
}

bool binding_solve(binding *b, bool all, diag_list *diags) {
    const signature *s = &b->signature;
    for (int i = 0; i < s->symbol_count; i++)
        b->known[i] = b->fixed[i];
    while (solve_round(b)) {
    }
    /* Defaults of statics come last: an argument's shape wins, and may let more be solved. */
    for (int i = 0; i < s->symbol_count; i++)
        if (!b->known[i] && s->symbols[i]->kind == INDEX_STATIC && s->symbols[i]->has_value) {
            b->known[i] = true;
            b->values[i] = s->symbols[i]->value;
            b->origin[i] = "its default";
            while (solve_round(b)) {
            }
        }
    bool good = true;
    for (int i = 0; i < s->array_count; i++)
        if (b->shapes[i].given)
            good = compare_shape(b, i, diags) && good;
    for (int i = 0; good && all && i < s->symbol_count; i++)
        if (!b->known[i] && s->symbols[i]->kind != INDEX_TILE) {
            diag *g = diag_error(diags, "E0643", s->span, "nothing tells the value of %s", s->symbols[i]->name);
            diag_note(diags, g, "pass --shape %s=.., or an argument whose shape has it", s->symbols[i]->name);
            good = false;
        }
    for (int i = 0; good && s->derived && i < s->symbol_count; i++) {
        int64_t value;
        if (!s->derived[i] || !b->known[i] || !binding_evaluate(b, s->derived[i], &value) || value == b->values[i])
            continue;
        text_buffer text = {0};
        ix_print(&text, s->derived[i]);
        diag_error(diags, "E0645", s->span, "%s is %" PRId64 " by %s but %" PRId64 " by `where %s == %s`", s->symbols[i]->name,
                   b->values[i], b->origin[i] ? b->origin[i] : "the caller", value, s->symbols[i]->name, text_get(&text));
        text_free(&text);
        good = false;
    }
    return good;
}

bool binding_extents(const binding *b, const tile_array *array, int64_t *dims) {
    for (int d = 0, first = 0; d < array->group_count; first += array->groups[d], d++) {
        dims[d] = 1;
        for (int f = 0; f < array->groups[d]; f++) {
            int64_t factor;
            if (!binding_evaluate(b, array->dims[first + f], &factor) || __builtin_mul_overflow(dims[d], factor, &dims[d]))
                return false;
        }
    }
    return true;
}

const char *binding_text(const binding *b) {
    text_buffer text = {0};
    for (int i = 0; i < b->signature.symbol_count; i++)
        if (b->known[i])
            text_add(&text, "%s%s = %" PRId64, text.length ? ", " : "", b->signature.symbols[i]->name, b->values[i]);
    const char *copy = arena_strdup(b->arena, text_get(&text));
    text_free(&text);
    return copy;
}
