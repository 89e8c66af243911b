/* Fewer pieces. Most sets here are products: constraints on rows, on columns and on the reduction's index share no variable. A union of
 * pieces that differ in one factor only is that factor's union times the rest, so pieces are joined factor by factor, on small sets. A
 * factor is joined when the constraints that hold for all its pieces *as integers* describe exactly the union, which a hull of rationals
 * does not notice: 0 <= c, 16 floor(c / 16) + 15 < N and 16 floor(N / 16) <= c < N are 0 <= c < N. */
#include "prove/sets_private.h"
#include <string.h>

enum { MOST_PIECES = 16, MOST_CONSTRAINTS = 96, MOST_VARIABLES = 64, GROUPS = MOST_VARIABLES + 1 };

/* ---- one basic set for a union ---- */

typedef struct hull {
    isl_basic_set *pieces[MOST_PIECES];
    int piece_count, now;
    isl_basic_set *found;
    isl_constraint *tried[MOST_CONSTRAINTS];
    int count;
    bool failed;
} hull;

/* Adds one side (c >= 0) if it holds in the whole set; it does in the piece that it comes from. */
static void add_if_valid(hull *h, isl_constraint *c, bool negate) {
    isl_aff *holds = isl_constraint_get_aff(c);
    if (negate)
        holds = isl_aff_neg(holds);
    isl_aff *broken = isl_aff_neg(isl_aff_copy(holds));
    broken = isl_aff_add_constant_si(broken, -1);
    isl_basic_set *beyond = half_space(broken);
    bool valid = true;
    for (int i = 0; i < h->piece_count && valid; i++) {
        if (i == h->now)
            continue;
        isl_basic_set *outside = isl_basic_set_intersect(isl_basic_set_copy(h->pieces[i]), isl_basic_set_copy(beyond));
        isl_bool empty = isl_basic_set_is_empty(outside);
        isl_basic_set_free(outside);
        valid = empty == isl_bool_true;
        h->failed = h->failed || empty == isl_bool_error;
    }
    isl_basic_set_free(beyond);
    if (valid)
        h->found = isl_basic_set_intersect(h->found, half_space(holds));
    else
        isl_aff_free(holds);
}

static isl_stat try_constraint(isl_constraint *c, void *user) {
    hull *h = user;
    if (h->count == MOST_CONSTRAINTS || isl_constraint_is_div_constraint(c) != isl_bool_false) {
        isl_constraint_free(c);
        return isl_stat_ok;
    }
    for (int i = 0; i < h->count; i++)
        if (isl_constraint_is_equal(h->tried[i], c) == isl_bool_true) {
            isl_constraint_free(c);
            return isl_stat_ok;
        }
    h->tried[h->count++] = c;
    add_if_valid(h, c, false);
    if (isl_constraint_is_equality(c) == isl_bool_true)
        add_if_valid(h, c, true);
    return isl_stat_ok;
}

static isl_stat add_piece(isl_basic_set *b, void *user) {
    hull *h = user;
    h->pieces[h->piece_count++] = b;
    return isl_stat_ok;
}

/* One basic set that is exactly the union; NULL when there is none of this kind. */
static isl_basic_set *hull_of(isl_set *of) {
    hull h = {.found = NULL};
    if (isl_set_n_basic_set(of) > MOST_PIECES)
        return NULL;
    h.found = isl_basic_set_universe(isl_set_get_space(of));
    isl_set_foreach_basic_set(of, add_piece, &h);
    for (h.now = 0; h.now < h.piece_count; h.now++)
        isl_basic_set_foreach_constraint(h.pieces[h.now], try_constraint, &h);
    for (int i = 0; i < h.piece_count; i++)
        isl_basic_set_free(h.pieces[i]);
    for (int i = 0; i < h.count; i++)
        isl_constraint_free(h.tried[i]);
    isl_set *whole = isl_set_from_basic_set(isl_basic_set_copy(h.found));
    bool exact = !h.failed && isl_set_is_subset(whole, of) == isl_bool_true;
    isl_set_free(whole);
    if (exact)
        return h.found;
    isl_basic_set_free(h.found);
    return NULL;
}

static void forget(tried_union *t) {
    isl_set_free(t->of);
    isl_basic_set_free(t->both);
    *t = (tried_union){NULL, NULL};
}

static void forget_projection(tried_projection *t) {
    isl_set_free(t->of);
    isl_set_free(t->without);
    *t = (tried_projection){.of = NULL};
}

void union_cache_clear(union_cache *c) {
    for (int i = 0; i < UNIONS_KEPT; i++)
        forget(&c->at[i]);
    for (int i = 0; i < PROJECTIONS_KEPT; i++)
        forget_projection(&c->projections[i]);
}

/* Takes `of`. The same, on the dimensions that matter alone; what was tried before, perhaps at another depth of the program, is not tried
 * again. */
static isl_basic_set *joined(union_cache *cache, isl_set *of) {
    isl_ctx *ctx = isl_set_get_ctx(of);
    int dims = (int)isl_set_dim(of, isl_dim_set);
    bool kept[MOST_VARIABLES] = {false};
    for (int d = 0; d < dims; d++)
        kept[d] = isl_set_involves_dims(of, isl_dim_set, (unsigned)d, 1) != isl_bool_false;
    for (int d = dims - 1; d >= 0; d--)
        if (!kept[d])
            of = isl_set_project_out(of, isl_dim_set, (unsigned)d, 1);
    tried_union *t = NULL;
    for (int i = 0; i < UNIONS_KEPT && !t; i++)
        if (cache->at[i].of && isl_set_plain_is_equal(cache->at[i].of, of) == isl_bool_true)
            t = &cache->at[i];
    if (t) {
        isl_set_free(of);
    } else {
        t = &cache->at[cache->next++ % UNIONS_KEPT];
        forget(t);
        *t = (tried_union){of, hull_of(of)};
    }
    isl_basic_set *both = isl_basic_set_copy(t->both);
    for (int d = 0; both && d < dims; d++)
        if (!kept[d])
            both = isl_basic_set_insert_dims(both, isl_dim_set, (unsigned)d, 1);
    if (isl_ctx_last_error(ctx) != isl_error_none) /* no answer: to be tried again */
        forget(t);
    return both;
}

/* ---- pieces as products of factors ---- */

typedef struct product {
    union_cache *cache;
    int variables, parameters; /* parameters first */
    bool whole;                /* some constraint is on no variable: not to be split */
    bool apart;                /* what shares parameters alone is no group: each factor has all constraints on parameters */
    int group[MOST_VARIABLES]; /* a smaller variable of the same group, or itself */
    int pieces;
    isl_basic_set
        *factor[MOST_PIECES][GROUPS]; /* by the group's least variable; the last one: no variable at all. NULL: everything */
} product;

static int representative(const product *p, int v) {
    while (p->group[v] != v)
        v = p->group[v];
    return v;
}

/* All variables that c involves, floors seen through, join one group. */
static void merge_variables(product *p, isl_constraint *c) {
    isl_aff *a = isl_constraint_get_aff(c);
    int first = MOST_VARIABLES;
    bool any = false;
    for (int v = 0; v < p->variables; v++) {
        bool parameter = v < p->parameters;
        enum isl_dim_type type = parameter ? isl_dim_param : isl_dim_in;
        if (isl_aff_involves_dims(a, type, (unsigned)(parameter ? v : v - p->parameters), 1) == isl_bool_false)
            continue;
        any = true;
        if (parameter && p->apart)
            continue;
        if (first == MOST_VARIABLES)
            first = v;
        int x = representative(p, first), y = representative(p, v);
        p->group[x > y ? x : y] = x > y ? y : x;
    }
    p->whole = p->whole || !any;
    isl_aff_free(a);
}

static isl_stat take_piece(isl_basic_set *b, void *user) {
    isl_basic_set **piece = user;
    isl_basic_set_free(*piece);
    *piece = b;
    return isl_stat_ok;
}

isl_basic_set *set_piece(isl_set *x) {
    isl_basic_set *piece = NULL;
    isl_set_foreach_basic_set(x, take_piece, &piece);
    isl_set_free(x);
    return piece;
}

static isl_stat merge_groups(isl_constraint *c, void *user) {
    product *p = user;
    if (isl_constraint_is_div_constraint(c) == isl_bool_false)
        merge_variables(p, c);
    isl_constraint_free(c);
    return isl_stat_ok;
}

static isl_stat merge_piece(isl_basic_set *b, void *user) {
    isl_basic_set_foreach_constraint(b, merge_groups, user);
    isl_basic_set_free(b);
    return isl_stat_ok;
}

/* The constraints on one group's variables alone. Takes nothing. */
static isl_basic_set *factor_of(const product *p, isl_basic_set *b, int g) {
    isl_basic_set *f = isl_basic_set_copy(b);
    for (int v = p->apart ? p->parameters : 0; v < p->variables;) { /* runs of variables of other groups */
        int end = v, limit = v < p->parameters ? p->parameters : p->variables;
        while (end < limit && representative(p, end) != g)
            end++;
        bool parameter = v < p->parameters;
        if (end > v)
            f = isl_basic_set_drop_constraints_involving_dims(f, parameter ? isl_dim_param : isl_dim_set,
                                                              (unsigned)(parameter ? v : v - p->parameters), (unsigned)(end - v));
        v = end > v ? end : end + 1;
    }
    return f;
}

static void free_piece(product *p, int i) {
    for (int g = 0; g < GROUPS; g++) {
        isl_basic_set_free(p->factor[i][g]);
        p->factor[i][g] = NULL;
    }
}

/* Takes b. */
static isl_stat split_piece(isl_basic_set *b, void *user) {
    product *p = user;
    if (isl_basic_set_plain_is_empty(b) == isl_bool_true) {
        isl_basic_set_free(b);
        return isl_stat_ok;
    }
    bool used[GROUPS] = {false};
    for (int v = p->apart ? p->parameters : 0; v < p->variables; v++) {
        bool parameter = v < p->parameters;
        if (isl_basic_set_involves_dims(b, parameter ? isl_dim_param : isl_dim_set, (unsigned)(parameter ? v : v - p->parameters),
                                        1) != isl_bool_false)
            used[representative(p, v)] = true;
    }
    for (int g = 0; g < GROUPS; g++)
        if (used[g])
            p->factor[p->pieces][g] = factor_of(p, b, g);
    isl_basic_set_free(b);
    p->pieces++;
    return isl_stat_ok;
}

static bool piece_is_empty(const product *p, int i) {
    for (int g = 0; g < GROUPS; g++)
        if (p->factor[i][g] && isl_basic_set_is_empty(p->factor[i][g]) == isl_bool_true)
            return true;
    return false;
}

static bool same_factor(isl_basic_set *x, isl_basic_set *y) {
    if (!x || !y)
        return x == y;
    return isl_basic_set_plain_is_equal(x, y) == isl_bool_true || isl_basic_set_is_equal(x, y) == isl_bool_true;
}

/* The one factor in which two pieces differ; -1: none, -2: several. */
static int difference(const product *p, int i, int j) {
    int different = -1;
    for (int g = 0; g < GROUPS; g++)
        if ((p->factor[i][g] || p->factor[j][g]) && !same_factor(p->factor[i][g], p->factor[j][g])) {
            if (different >= 0)
                return -2;
            different = g;
        }
    return different;
}

static void remove_piece(product *p, int i) {
    free_piece(p, i);
    p->pieces--;
    if (i != p->pieces)
        memcpy(p->factor[i], p->factor[p->pieces], sizeof p->factor[i]);
    memset(p->factor[p->pieces], 0, sizeof p->factor[p->pieces]);
}

/* Joins pieces that differ from piece i in factor g alone; `with` in increasing order, after i. */
static bool join_along(product *p, int i, int g, const int *with, int count) {
    isl_basic_set **x = &p->factor[i][g], *both = NULL;
    bool everything = !*x; /* a factor without constraints swallows the others */
    for (int k = 0; k < count; k++)
        everything = everything || !p->factor[with[k]][g];
    if (!everything) {
        isl_set *of = isl_set_from_basic_set(isl_basic_set_copy(*x));
        for (int k = 0; k < count; k++)
            of = isl_set_union(of, isl_set_from_basic_set(isl_basic_set_copy(p->factor[with[k]][g])));
        if (!(both = joined(p->cache, of)))
            return false;
    }
    isl_basic_set_free(*x);
    *x = both;
    for (int k = count - 1; k >= 0; k--)
        remove_piece(p, with[k]);
    return true;
}

/* Joins piece i with others; true when something was joined. */
static bool join_piece(product *p, int i) {
    int by[MOST_PIECES], along[MOST_PIECES], counts[GROUPS] = {0};
    for (int j = i + 1; j < p->pieces; j++) {
        int g = by[j] = difference(p, i, j);
        if (g == -1) {
            remove_piece(p, j);
            return true;
        }
        if (g >= 0)
            counts[g]++;
    }
    for (int g = 0; g < GROUPS; g++) { /* several may be one where no two are */
        int count = 0;
        if (counts[g] < 2)
            continue;
        for (int j = i + 1; j < p->pieces; j++)
            if (by[j] == g)
                along[count++] = j;
        if (join_along(p, i, g, along, count))
            return true;
    }
    for (int j = i + 1; j < p->pieces; j++)
        if (by[j] >= 0 && join_along(p, i, by[j], &j, 1))
            return true;
    return false;
}

static void join_pieces(product *p) {
    for (int i = 0; i < p->pieces; i++)
        if (join_piece(p, i))
            i = -1;
}

/* Takes the space. */
static isl_set *multiplied(product *p, isl_space *space) {
    isl_set *all = isl_set_empty(isl_space_copy(space));
    for (int i = 0; i < p->pieces; i++) {
        isl_basic_set *b = isl_basic_set_universe(isl_space_copy(space));
        for (int g = 0; g < GROUPS; g++)
            if (p->factor[i][g])
                b = isl_basic_set_intersect(b, isl_basic_set_copy(p->factor[i][g]));
        all = isl_set_union(all, isl_set_from_basic_set(b));
    }
    isl_space_free(space);
    return all;
}

isl_set *sets_join(union_cache *cache, isl_set *x, int parameters, int variables) {
    if (!x || variables > MOST_VARIABLES || isl_set_n_basic_set(x) > MOST_PIECES)
        return isl_set_coalesce(x);
    product p = {.cache = cache, .variables = variables, .parameters = parameters};
    for (int v = 0; v < variables; v++)
        p.group[v] = v;
    isl_set_foreach_basic_set(x, merge_piece, &p);
    if (p.whole)
        return isl_set_coalesce(x);
    isl_set_foreach_basic_set(x, split_piece, &p);
    int before = (int)isl_set_n_basic_set(x);
    join_pieces(&p);
    if (p.pieces > 1) { /* what is empty may have been in the way */
        int kept = p.pieces;
        for (int i = p.pieces - 1; i >= 0; i--)
            if (piece_is_empty(&p, i))
                remove_piece(&p, i);
        if (p.pieces > 1 && p.pieces < kept)
            join_pieces(&p);
    }
    isl_set *fewer = p.pieces == before ? isl_set_copy(x) : multiplied(&p, isl_set_get_space(x));
    for (int i = p.pieces - 1; i >= 0; i--)
        free_piece(&p, i);
    isl_set_free(x);
    return fewer;
}

/* ---- projection, factor by factor ---- */

isl_set *set_intersection(isl_set *x, isl_set *y) {
    if (isl_set_n_basic_set(x) != 1 || isl_set_n_basic_set(y) != 1)
        return isl_set_intersect(x, y);
    isl_basic_set *a = set_piece(x);
    isl_basic_set *b = set_piece(y);
    return isl_set_from_basic_set(isl_basic_set_intersect(a, b));
}

/* Takes `of`, whose dimensions all matter. */
static isl_set *projection(union_cache *cache, isl_set *of, int first, int count, int parameters) {
    isl_ctx *ctx = isl_set_get_ctx(of);
    for (int i = 0; i < PROJECTIONS_KEPT; i++) {
        tried_projection *t = &cache->projections[i];
        if (t->of && t->first == first && t->count == count && isl_set_plain_is_equal(t->of, of) == isl_bool_true) {
            isl_set_free(of);
            return isl_set_copy(t->without);
        }
    }
    isl_set *without = isl_set_copy(of);
    if (isl_set_n_basic_set(of) == 1)
        without = isl_set_from_basic_set(set_digits_together(set_piece(without), first, count));
    without = isl_set_project_out(without, isl_dim_set, (unsigned)first, (unsigned)count);
    without = isl_set_compute_divs(without);
    if (without && isl_set_n_basic_set(without) > 1)
        without = sets_join(cache, without, parameters, parameters + (int)isl_set_dim(without, isl_dim_set));
    if (!without || isl_ctx_last_error(ctx) != isl_error_none) {
        isl_set_free(of);
        return without;
    }
    tried_projection *t = &cache->projections[cache->next_projection++ % PROJECTIONS_KEPT];
    forget_projection(t);
    *t = (tried_projection){of, first, count, isl_set_copy(without)};
    return without;
}

/* Takes a factor. */
static isl_set *factor_without(union_cache *cache, isl_basic_set *factor, int first, int count, int parameters) {
    isl_set *of = isl_set_from_basic_set(factor);
    int dims = (int)isl_set_dim(of, isl_dim_set), inside = 0, before = 0;
    bool kept[MOST_VARIABLES] = {false};
    for (int d = 0; d < dims; d++) {
        kept[d] = isl_set_involves_dims(of, isl_dim_set, (unsigned)d, 1) != isl_bool_false;
        inside += kept[d] && d >= first && d < first + count;
        before += kept[d] && d < first;
    }
    if (!inside)
        return isl_set_project_out(of, isl_dim_set, (unsigned)first, (unsigned)count);
    for (int d = dims - 1; d >= 0; d--)
        if (!kept[d])
            of = isl_set_project_out(of, isl_dim_set, (unsigned)d, 1);
    of = projection(cache, of, before, inside, parameters);
    for (int d = 0, at = 0; of && d < dims; d++) {
        if (d >= first && d < first + count)
            continue;
        if (!kept[d])
            of = isl_set_insert_dims(of, isl_dim_set, (unsigned)at, 1);
        at++;
    }
    return of;
}

typedef struct projecting {
    union_cache *cache;
    int first, count, parameters, variables;
    isl_set *all;
} projecting;

static isl_stat project_piece(isl_basic_set *b, void *user) {
    projecting *j = user;
    product p = {.cache = j->cache, .variables = j->variables, .parameters = j->parameters, .apart = true};
    for (int v = 0; v < j->variables; v++)
        p.group[v] = v;
    if (isl_basic_set_plain_is_empty(b) == isl_bool_true) {
        isl_basic_set_free(b);
        return isl_stat_ok;
    }
    merge_piece(isl_basic_set_copy(b), &p);
    bool none = true; /* on parameters alone */
    for (int v = j->parameters; v < j->variables && none; v++)
        none = isl_basic_set_involves_dims(b, isl_dim_set, (unsigned)(v - j->parameters), 1) == isl_bool_false;
    if (p.whole || none) {
        isl_set *without = isl_set_from_basic_set(b);
        without = isl_set_project_out(without, isl_dim_set, (unsigned)j->first, (unsigned)j->count);
        j->all = isl_set_union(j->all, isl_set_compute_divs(without));
        return j->all ? isl_stat_ok : isl_stat_error;
    }
    split_piece(b, &p);
    isl_set *whole = NULL;
    for (int g = 0; g < GROUPS; g++) {
        if (!p.factor[0][g])
            continue;
        isl_set *f = factor_without(j->cache, isl_basic_set_copy(p.factor[0][g]), j->first, j->count, j->parameters);
        whole = whole ? set_intersection(whole, f) : f;
        if (!whole)
            break;
    }
    free_piece(&p, 0);
    j->all = isl_set_union(j->all, whole);
    return j->all ? isl_stat_ok : isl_stat_error;
}

isl_set *sets_project_factors(union_cache *cache, isl_set *x, int first, int count, int parameters, int variables) {
    if (!x || variables > MOST_VARIABLES) {
        x = isl_set_project_out(x, isl_dim_set, (unsigned)first, (unsigned)count);
        return isl_set_compute_divs(x);
    }
    x = isl_set_compute_divs(x); /* floors are seen through */
    isl_space *space = isl_set_get_space(x);
    space = isl_space_drop_dims(space, isl_dim_set, (unsigned)first, (unsigned)count);
    projecting j = {cache, first, count, parameters, variables, isl_set_empty(space)};
    isl_stat done = isl_set_foreach_basic_set(x, project_piece, &j);
    isl_set_free(x);
    if (done != isl_stat_ok)
        j.all = isl_set_free(j.all);
    return j.all;
}
