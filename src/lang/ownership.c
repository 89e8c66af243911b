/* Rules 1 and 5: that stores stay within what `for tile` owns, cover it and happen once, and when outputs may be read. */
#include "lang/build.h"
#include <string.h>

static const tile_owned *owned_of(builder *b, const tile_array *array) {
    for (int i = 0; i < b->k->owned.count; i++)
        if (b->k->owned.at[i]->array == array)
            return b->k->owned.at[i];
    return NULL;
}

/* How an index relates to what is owned in that dimension. */
typedef enum cover { COVER_NONE, COVER_TILE, COVER_LOOP, COVER_POINT } cover;

static cover cover_of(builder *b, const tile_owned *o, int i, index_expr *index, int64_t *point) {
    if (!o->ranges[i])
        return ix_equal(o->fixed[i], index) ? COVER_TILE : COVER_NONE;
    if (o->through[i] && tile_index_source(index, &index) != o->through[i])
        return COVER_NONE;
    tile_range *owned = o->ranges[i], *r = lang_only_range(index);
    if (r == owned)
        return COVER_TILE;
    if (!owned->whole)
        return COVER_NONE;
    if (r && !r->is_task && lang_extents_equal(b, r->extent, owned->extent))
        return COVER_LOOP;
    int64_t extent;
    if (o->through[i])
        return COVER_NONE;
    if (ix_is_const(index, point) && ix_is_const(o->array->dims[i], &extent) && *point >= 0 && *point < extent)
        return COVER_POINT;
    return COVER_NONE;
}

static void record(builder *b, access *a, const char *text, source_span span) {
    a->statement = b->statement;
    a->span = span;
    a->text = text;
    for (int i = 0; i < b->loops.count; i++)
        VEC_PUSH(b->arena, a->loops, b->loops.at[i]);
}

static diag *report_outside(builder *b, const char *code, const char *verb, const tile_owned *o, int i, const char *text,
                            source_span span) {
    const tile_range *r = o->ranges[i];
    diag *g = lang_error(b, code, span, "`%s` %s elements that this task does not own", text, verb);
    if (!r)
        diag_caret(b->diags, g, "it owns the slice at `%s`", lang_index_text(b->arena, o->fixed[i]));
    else if (o->through[i] && r->whole && !strcmp(r->name, "all"))
        diag_caret(b->diags, g, "it owns the cells at all elements of `%s`: index by `%s[t]` in a loop over them",
                   o->through[i]->name, o->through[i]->name);
    else if (o->through[i])
        diag_caret(b->diags, g, "it owns the cells at `%s[%s]`: index by that", o->through[i]->name, r->name);
    else if (r->whole && !strcmp(r->name, "all"))
        diag_caret(b->diags, g, "it owns the whole dimension of %s: use a loop over it, or a constant below a constant extent",
                   lang_index_text(b->arena, r->extent));
    else
        diag_caret(b->diags, g, "it owns the tile of `%s`: index by `%s`", r->name, r->name);
    return g;
}

/* Two accesses touch a common cell unless constants keep them apart. */
static bool overlap(const access *x, const access *y) {
    for (int i = 0; i < x->array->rank; i++) {
        int64_t p, q;
        if (ix_is_const(x->indices[i], &p) && ix_is_const(y->indices[i], &q) && p != q)
            return false;
    }
    return true;
}

void lang_check_read(builder *b, tile_value *load, const expr *e) {
    const tile_owned *o = owned_of(b, load->array);
    if (!o)
        return;
    const char *text = lang_source_text_of(b->arena, e);
    for (int i = 0; i < load->array->rank; i++) {
        int64_t point;
        if (cover_of(b, o, i, load->indices[i], &point) == COVER_NONE) {
            report_outside(b, "E0309", "reads", o, i, text, e->span);
            return;
        }
    }
    access a = {.array = load->array, .indices = load->indices, .value = load};
    record(b, &a, text, e->span);
    for (int i = 0; i < b->reducing.count; i++)
        for (int j = 0; j < load->array->rank; j++)
            a.in_reduction |= ix_mentions(load->indices[j], b->reducing.at[i]->var);
    for (int i = 0; i < b->stores.count; i++)
        if (b->stores.at[i].array == a.array && overlap(&a, &b->stores.at[i])) {
            diag *g =
                lang_error(b, "E0309", e->span, "`%s` is read after it was written in line %d", text, b->stores.at[i].span.line);
            diag_caret(b->diags, g, "bind what it held to a name before the store");
            return;
        }
    VEC_PUSH(b->arena, b->reads, a);
}

bool lang_record_store(builder *b, tile_array *array, index_expr **indices, const tile_value *v, const expr *target) {
    const tile_owned *o = owned_of(b, array);
    const char *text = lang_source_text_of(b->arena, target);
    (void)v;
    for (int i = 0; i < array->rank; i++) {
        int64_t point;
        if (cover_of(b, o, i, indices[i], &point) == COVER_NONE) {
            const tile_range *r = lang_only_range(indices[i]);
            if (r && !o->through[i] && !lang_extents_equal(b, r->extent, array->dims[i])) {
                const char *extent = lang_index_text(b->arena, r->extent), *wanted = lang_index_text(b->arena, array->dims[i]);
                diag *g = lang_error(b, "E0214", target->span, "`%s` spans %s, but that dimension of `%s` is %s", r->name, extent,
                                     array->name, wanted);
                diag_caret(b->diags, g, "use a range over %s, or add `where %s == %s`", wanted, extent, wanted);
            } else {
                report_outside(b, "E0304", "are", o, i, text, target->span)->message =
                    arena_printf(b->arena, "`%s` stores to elements that this task does not own", text);
            }
            return false;
        }
    }
    access a = {.array = array, .indices = indices};
    record(b, &a, text, target->span);
    VEC_PUSH(b->arena, b->stores, a);
    return true;
}

/* --- at the end of `for tile` --- */

/* Every loop around a store must move it, or it would be written again; false when reported. */
static bool check_repetition(builder *b, const tile_owned *o, const access *s) {
    for (int i = 0; i < o->array->rank; i++)
        for (int j = 0; j < i; j++) {
            const tile_range *r = lang_moving_range(s->indices[i]);
            if (r && r == lang_moving_range(s->indices[j])) {
                diag *g = lang_error(b, "E0307", s->span, "`%s` writes the diagonal only", s->text);
                diag_caret(b->diags, g, "give each dimension a range of its own");
                return false;
            }
        }
    for (int l = 0; l < s->loops.count; l++) {
        const loop_scope *loop = &s->loops.at[l];
        bool moves = false;
        for (int i = 0; i < o->array->rank; i++)
            moves |= lang_moving_range(s->indices[i]) == loop->range;
        if (!moves) {
            diag *g = lang_error(b, "E0306", s->span, "`%s` is written again for every tile of `%s`", s->text, loop->range->name);
            diag_caret(b->diags, g, "store after the loop over `%s`", loop->range->name);
            return false;
        }
        if (loop->predicate) {
            diag *g = lang_error(b, "E0307", s->span, "`%s` is not written where the loop's `where` fails", s->text);
            diag_caret(b->diags, g, "loop over all of `%s`, and choose the value: `select(condition, x, 0)`", loop->range->name);
            return false;
        }
    }
    return true;
}

enum { MAX_POINTS = 4096 };

/* Constant indices split dimensions; each combination must be written once. */
static void check_coverage(builder *b, const tile_owned *o) {
    const tile_array *array = o->array;
    int64_t extents[64];
    bool split[64] = {false};
    int64_t total = 1;
    int stores = 0;
    const access *last = NULL;
    for (int s = 0; s < b->stores.count; s++) {
        const access *x = &b->stores.at[s];
        if (x->array != array)
            continue;
        stores++;
        last = x;
        for (int i = 0; i < array->rank && i < 64; i++) {
            int64_t point;
            split[i] |= cover_of(b, o, i, x->indices[i], &point) == COVER_POINT;
        }
    }
    if (!stores) {
        diag *g = lang_error(b, "E0307", o->span, "`%s` is never written", array->name);
        diag_caret(b->diags, g, "store to it: `%s[...] = ...`", array->name);
        return;
    }
    for (int i = 0; i < array->rank && i < 64; i++)
        if (split[i]) {
            ix_is_const(array->dims[i], &extents[i]);
            if (extents[i] > MAX_POINTS || (total *= extents[i]) > MAX_POINTS) {
                diag *g = lang_error(b, "E0307", o->span, "`%s` is written element by element, more than %d of them", array->name,
                                     MAX_POINTS);
                diag_caret(b->diags, g, "use a loop");
                return;
            }
        }
    for (int64_t cell = 0; cell < total; cell++) {
        int64_t at[64], rest = cell;
        for (int i = array->rank - 1; i >= 0; i--)
            if (i < 64 && split[i]) {
                at[i] = rest % extents[i];
                rest /= extents[i];
            }
        const access *first = NULL, *second = NULL;
        for (int s = 0; s < b->stores.count && !second; s++) {
            const access *x = &b->stores.at[s];
            bool hits = x->array == array;
            for (int i = 0; hits && i < array->rank && i < 64; i++) {
                int64_t point;
                if (split[i] && ix_is_const(x->indices[i], &point) && point != at[i])
                    hits = false;
            }
            if (hits && first)
                second = x;
            else if (hits)
                first = x;
        }
        if (first && !second)
            continue;
        text_buffer t = {0};
        int flat = 0;
        text_add(&t, "%s[", array->name);
        for (int g = 0; g < array->group_count; g++) {
            text_add(&t, "%s%s", g ? ", " : "", array->groups[g] > 1 ? "(" : "");
            for (int f = 0; f < array->groups[g]; f++, flat++) {
                text_add(&t, f ? ", " : "");
                if (flat < 64 && split[flat])
                    text_add(&t, "%lld", (long long)at[flat]);
                else
                    text_add(&t, "%s", lang_index_text(b->arena, (first ? first : last)->indices[flat]));
            }
            text_add(&t, "%s", array->groups[g] > 1 ? ")" : "");
        }
        text_add(&t, "]");
        if (second) {
            diag *g = lang_error(b, "E0306", second->span, "`%s` is written again; line %d has written it", text_get(&t),
                                 first->span.line);
            diag_caret(b->diags, g, "write each element once");
        } else {
            diag *g = lang_error(b, "E0307", last->span, "`%s` is never written", text_get(&t));
            diag_caret(b->diags, g, "store to it too");
        }
        text_free(&t);
        return;
    }
}

/* The same integer, elements of one index array at one place included, which stand under two names. */
static bool same_index(index_expr *x, index_expr *y) {
    const tile_array *from = tile_index_source(x, &x);
    return from == tile_index_source(y, &y) && ix_equal(x, y);
}

/* An `update` cell may be read only before its own write: also in earlier trips of a common loop, and within one statement. */
static void check_order(builder *b, const access *r, const access *s) {
    if (r->array != s->array || !overlap(r, s))
        return;
    for (int l = 0; l < r->loops.count && l < s->loops.count; l++) {
        if (r->loops.at[l].serial != s->loops.at[l].serial)
            break;
        tile_range *q = s->loops.at[l].range;
        for (int i = 0; i < s->array->rank; i++)
            if (lang_moving_range(s->indices[i]) == q && lang_moving_range(r->indices[i]) != q) {
                diag *g =
                    lang_error(b, "E0309", r->span, "`%s` may have been written by an earlier tile of `%s`", r->text, q->name);
                diag_caret(b->diags, g, "read `%s`'s own elements, index by `%s`, or read in a loop before", s->array->name,
                           q->name);
                return;
            }
    }
    if (r->statement != s->statement)
        return;
    bool same = !r->in_reduction;
    for (int i = 0; i < s->array->rank; i++)
        same &= same_index(r->indices[i], s->indices[i]);
    if (!same) {
        diag *g = lang_error(b, "E0309", r->span, "`%s` is read for other elements while they are written", r->text);
        diag_caret(b->diags, g, "bind it to a name before the store");
    }
}

void lang_check_ownership(builder *b) {
    for (int i = 0; i < b->k->owned.count; i++) {
        const tile_owned *o = b->k->owned.at[i];
        bool ok = true;
        for (int s = 0; s < b->stores.count; s++)
            if (b->stores.at[s].array == o->array)
                ok &= check_repetition(b, o, &b->stores.at[s]);
        if (ok)
            check_coverage(b, o);
    }
    for (int r = 0; r < b->reads.count; r++) {
        int errors = b->diags->errors;
        for (int s = 0; s < b->stores.count && b->diags->errors == errors; s++)
            check_order(b, &b->reads.at[r], &b->stores.at[s]);
    }
}
