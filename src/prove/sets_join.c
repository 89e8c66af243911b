/* Fewer pieces. Most sets here are products: constraints on rows, on columns and on the reduction's index share no variable. A union of
 * pieces that differ in one factor only is that factor's union times the rest, so pieces are joined factor by factor, on small sets. A
 * factor is joined when the constraints that hold for all its pieces *as integers* describe exactly the union, which a hull of rationals
 * does not notice: 0 <= c, 16 floor(c / 16) + 15 < N and 16 floor(N / 16) <= c < N are 0 <= c < N. */
#include "prove/sets_private.h"
#include <string.h>

enum { MOST_PIECES = 16, MOST_CONSTRAINTS = 96, MOST_VARIABLES = 64, GROUPS = MOST_VARIABLES + 1 };

/* ---- one basic set for a union ---- */

typedef struct hull {
    isl_set *of;
    isl_basic_set *found;
    isl_constraint *tried[MOST_CONSTRAINTS];
    int count;
    bool failed;
} hull;

/* Adds one side (c >= 0) if it holds in the whole set. */
static void add_if_valid(hull *h, isl_constraint *c, bool negate) {
    isl_aff *holds = isl_constraint_get_aff(c);
    if (negate)
        holds = isl_aff_neg(holds);
    isl_aff *broken = isl_aff_neg(isl_aff_copy(holds));
    broken = isl_aff_add_constant_si(broken, -1);
    isl_set *outside = isl_set_from_basic_set(half_space(broken));
    outside = isl_set_intersect(outside, isl_set_copy(h->of));
    isl_bool empty = isl_set_is_empty(outside);
    isl_set_free(outside);
    if (empty == isl_bool_true) {
        isl_basic_set *half = half_space(holds);
        h->found = isl_basic_set_intersect(h->found, half);
    } else {
        isl_aff_free(holds);
        h->failed = h->failed || empty == isl_bool_error;
    }
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

static isl_stat try_piece(isl_basic_set *b, void *user) {
    isl_basic_set_foreach_constraint(b, try_constraint, user);
    isl_basic_set_free(b);
    return isl_stat_ok;
}

/* One basic set that is exactly the union; NULL when there is none of this kind. */
static isl_basic_set *hull_of(isl_set *of) {
    hull h = {.of = of};
    h.found = isl_basic_set_universe(isl_set_get_space(of));
    isl_set_foreach_basic_set(of, try_piece, &h);
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

void union_cache_clear(union_cache *c) {
    for (int i = 0; i < UNIONS_KEPT; i++)
        forget(&c->at[i]);
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

/* The first variable that c involves, floors seen through; all that it involves join one group if `merge`. MOST_VARIABLES: none. */
static int variable_of(product *p, isl_constraint *c, bool merge) {
    isl_aff *a = isl_constraint_get_aff(c);
    int first = MOST_VARIABLES;
    for (int v = 0; v < p->variables; v++) {
        bool parameter = v < p->parameters;
        enum isl_dim_type type = parameter ? isl_dim_param : isl_dim_in;
        if (isl_aff_involves_dims(a, type, (unsigned)(parameter ? v : v - p->parameters), 1) == isl_bool_false)
            continue;
        if (first == MOST_VARIABLES)
            first = v;
        if (!merge)
            break;
        int x = representative(p, first), y = representative(p, v);
        p->group[x > y ? x : y] = x > y ? y : x;
    }
    isl_aff_free(a);
    return first;
}

static isl_stat merge_groups(isl_constraint *c, void *user) {
    if (isl_constraint_is_div_constraint(c) == isl_bool_false)
        variable_of(user, c, true);
    isl_constraint_free(c);
    return isl_stat_ok;
}

static isl_stat merge_piece(isl_basic_set *b, void *user) {
    isl_basic_set_foreach_constraint(b, merge_groups, user);
    isl_basic_set_free(b);
    return isl_stat_ok;
}

static isl_stat add_to_factor(isl_constraint *c, void *user) {
    product *p = user;
    if (isl_constraint_is_div_constraint(c) != isl_bool_false) {
        isl_constraint_free(c);
        return isl_stat_ok;
    }
    int v = variable_of(p, c, false), g = v == MOST_VARIABLES ? v : representative(p, v);
    isl_basic_set *alone = isl_basic_set_from_constraint(c), **factor = &p->factor[p->pieces][g];
    *factor = *factor ? isl_basic_set_intersect(*factor, alone) : alone;
    return isl_stat_ok;
}

static void free_piece(product *p, int i) {
    for (int g = 0; g < GROUPS; g++) {
        isl_basic_set_free(p->factor[i][g]);
        p->factor[i][g] = NULL;
    }
}

static isl_stat split_piece(isl_basic_set *b, void *user) {
    product *p = user;
    isl_basic_set_foreach_constraint(b, add_to_factor, p);
    isl_basic_set_free(b);
    bool empty = false;
    for (int g = 0; g < GROUPS && !empty; g++)
        empty = p->factor[p->pieces][g] && isl_basic_set_is_empty(p->factor[p->pieces][g]) == isl_bool_true;
    if (empty)
        free_piece(p, p->pieces);
    else
        p->pieces++;
    return isl_stat_ok;
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
        if (g >= 0 && join_along(p, i, g, &j, 1))
            return true;
        if (g >= 0)
            counts[g]++;
    }
    for (int g = 0; g < GROUPS; g++) { /* three or more may be one where no two are */
        int count = 0;
        if (counts[g] < 2)
            continue;
        for (int j = i + 1; j < p->pieces; j++)
            if (by[j] == g)
                along[count++] = j;
        if (join_along(p, i, g, along, count))
            return true;
    }
    return false;
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
    isl_set_foreach_basic_set(x, split_piece, &p);
    int before = (int)isl_set_n_basic_set(x);
    for (int i = 0; i < p.pieces; i++)
        if (join_piece(&p, i))
            i = -1;
    isl_set *fewer = p.pieces == before ? isl_set_copy(x) : multiplied(&p, isl_set_get_space(x));
    for (int i = p.pieces - 1; i >= 0; i--)
        free_piece(&p, i);
    isl_set_free(x);
    return fewer;
}
