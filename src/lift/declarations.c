/* Where each declaration of a namespace begins and ends, and what it is. */
#include "lift/declarations.h"
#include <string.h>

enum { NESTING = 64 }; /* of namespaces; what is deeper is taken as one declaration */

static const char *const attribute_like[] = {"__launch_bounds__", "__attribute__", "alignas",          "__align__",
                                             "decltype",          "noexcept",      "__cluster_dims__", "__maxnreg__",
                                             "_Alignas",          "annotate",      "explicit",         NULL};
static const char *const class_keys[] = {"struct", "class", "union", "enum", NULL};
static const char *const after_arguments[] = {"const", "noexcept", "override", "final", "volatile", "mutable", NULL};

/* The { at j: does it open a function's body? */
static bool opens_body(const tokens *t, const declaration *d, int j) {
    if (d->arguments < 0 || d->value >= 0)
        return false;
    int k = j - 1;
    while (k > d->from && tokens_named(t, k, after_arguments))
        k--;
    if (tokens_is(t, k, ")"))
        return !(d->is_class && tokens_named(t, tokens_match(t, k) - 1, attribute_like));
    /* A constructor's initialisers, a result type behind an arrow, attributes: there were arguments, so it is one, if no class is being declared. */
    return !d->is_class;
}

static int read_one(const tokens *t, int from, int end, declaration *d) {
    *d = (declaration){.from = from, .body = -1, .name = -1, .arguments = -1, .value = -1};
    int j = tokens_template(t, from);
    d->head = j;
    if (tokens_is(t, j, "template")) /* an explicit instantiation */
        j++;
    for (; j < end; j++) {
        if (tokens_is(t, j, ";"))
            return j + 1;
        if (tokens_is(t, j, "(") || tokens_is(t, j, "[")) {
            if (tokens_is(t, j, "(") && d->name < 0 && d->value < 0 && j > d->head && !tokens_named(t, j - 1, attribute_like)) {
                int name = j - 1;
                if (tokens_is(t, name, ">")) { /* of a specialisation */
                    int open = tokens_angle_back(t, name);
                    name = open > d->head ? open - 1 : name;
                }
                if (tokens_kind(t, name) == TOKEN_NAME || (name > d->head && tokens_is(t, name - 1, "operator"))) {
                    d->name = name;
                    d->arguments = j;
                }
            }
            if (tokens_match(t, j) > j)
                j = tokens_match(t, j);
            continue;
        }
        if (tokens_is(t, j, "{")) {
            bool body = opens_body(t, d, j);
            if (tokens_match(t, j) < j)
                return end;
            if (body) {
                d->body = j;
                return tokens_match(t, j) + 1;
            }
            j = tokens_match(t, j);
            continue;
        }
        if (tokens_is(t, j, "=") && d->value < 0 && !tokens_is(t, j - 1, "operator"))
            d->value = j;
        else if (tokens_named(t, j, class_keys) && d->name < 0 && d->value < 0)
            d->is_class = true;
        else if (tokens_is(t, j, "<") && d->value < 0 && tokens_kind(t, j - 1) == TOKEN_NAME) {
            int close = tokens_angle(t, j);
            if (close > j)
                j = close - 1;
        }
    }
    return end;
}

static void read_range(arena *a, const tokens *t, int from, int end, const declaration *in, declaration_list *out) {
    for (int i = from; i < end;) {
        int brace = -1;
        if (tokens_kind(t, i) == TOKEN_DIRECTIVE || tokens_is(t, i, ";") || tokens_is(t, i, "}")) {
            i++;
            continue;
        }
        if (tokens_is(t, i, "namespace") || (tokens_is(t, i, "inline") && tokens_is(t, i + 1, "namespace"))) {
            for (int j = i; j < end && !tokens_is(t, j, ";") && !tokens_is(t, j, "="); j++)
                if (tokens_is(t, j, "{")) {
                    brace = j;
                    break;
                }
        } else if (tokens_is(t, i, "extern") && i + 2 < end && tokens_kind(t, i + 1) == TOKEN_STRING && tokens_is(t, i + 2, "{"))
            brace = i + 2;
        if (brace >= 0 && in->depth < NESTING && tokens_match(t, brace) > brace && tokens_match(t, brace) < end) {
            declaration inner = *in;
            inner.depth++;
            if (!tokens_is(t, i, "extern")) {
                for (int k = i; k < brace; k++)
                    if (tokens_kind(t, k) == TOKEN_NAME && !tokens_is(t, k, "namespace") && !tokens_is(t, k, "inline"))
                        inner.scope = arena_printf(a, "%s%s::", inner.scope, tokens_word(a, t, k));
                inner.opens = arena_printf(a, "%s%s { ", inner.opens, tokens_text(a, t, i, brace));
                inner.closes = arena_printf(a, "%s } ", inner.closes);
            }
            read_range(a, t, brace + 1, tokens_match(t, brace), &inner, out);
            i = tokens_match(t, brace) + 1;
            continue;
        }
        declaration d;
        int to = read_one(t, i, end, &d);
        i = d.to = to;
        d.scope = in->scope;
        d.opens = in->opens;
        d.closes = in->closes;
        VEC_PUSH(a, *out, d);
    }
}

void declarations_read(arena *a, const tokens *t, declaration_list *out) {
    read_range(a, t, 0, t->count, &(declaration){.scope = "", .opens = "", .closes = ""}, out);
}

bool tokens_have(const tokens *t, int from, int to, const char *name) {
    for (int i = from; i < to; i++)
        if (tokens_is(t, i, name))
            return true;
    return false;
}

bool declaration_has(const tokens *t, const declaration *d, const char *const *names) {
    for (int i = d->from; i < (d->body >= 0 ? d->body : d->to); i++) {
        if (tokens_named(t, i, names))
            return true;
        if (d->is_class && tokens_is(t, i, "{") && tokens_match(t, i) > i)
            i = tokens_match(t, i);
    }
    return false;
}
