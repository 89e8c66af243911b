/* Dimensions that stand for the digits of one number: where x is in 0 .. a - 1, y in 0 .. b - 1, and nothing else mentions them but as x + a * y, they are one
 * number in 0 .. a * b - 1, whose every value one pair of them gives. Ids that were taken apart (split.c) are put together so where a set needs them whole: to
 * project one dimension takes isl far less than four. */
#include "prove/sets_private.h"
#include <isl/mat.h>
#include <isl/val.h>

enum { MOST_DIMENSIONS = 64 };

typedef struct matrices {
    isl_mat *equal, *inequal; /* a row for each constraint: dimensions, divisions, parameters, constant */
    int columns;
} matrices;

static bool small(isl_mat *m, int row, int column, int64_t *value) {
    isl_val *v = isl_mat_get_element_val(m, row, column);
    bool fits = v && isl_val_is_int(v) == isl_bool_true && isl_val_cmp_si(v, INT32_MAX) < 0 && isl_val_cmp_si(v, -INT32_MAX) > 0;
    *value = fits ? isl_val_get_num_si(v) : 0;
    isl_val_free(v);
    return fits;
}

/* Whether the row of an inequality is x >= 0, or x <= *most. */
static bool is_bound(const matrices *m, int row, int x, bool *lower, int64_t *most) {
    int64_t c, constant;
    for (int i = 0; i < m->columns - 1; i++)
        if (!small(m->inequal, row, i, &c) || (i == x ? c != 1 && c != -1 : c != 0))
            return false;
    if (!small(m->inequal, row, x, &c) || !small(m->inequal, row, m->columns - 1, &constant))
        return false;
    *lower = c == 1;
    *most = constant;
    return c == -1 ? constant >= 0 : constant == 0;
}

/* How many values x has, from 0 on, its bounds being rows of their own; 0: not so. */
static int64_t values_of(const matrices *m, int x) {
    bool from = false, lower;
    int64_t count = 0, most;
    for (int i = 0; i < (int)isl_mat_rows(m->inequal); i++) {
        if (!is_bound(m, i, x, &lower, &most))
            continue;
        from = from || lower;
        if (!lower)
            count = !count || most + 1 < count ? most + 1 : count;
    }
    return from ? count : 0;
}

/* Whether each row but the bounds of the two has y's factor `by` times x's. */
static bool go_together(const matrices *m, int x, int y, int64_t by) {
    bool lower, any = false;
    int64_t p, q, most;
    for (int equal = 0; equal < 2; equal++) {
        isl_mat *of = equal ? m->equal : m->inequal;
        for (int i = 0; i < (int)isl_mat_rows(of); i++) {
            if (!equal && (is_bound(m, i, x, &lower, &most) || is_bound(m, i, y, &lower, &most)))
                continue;
            if (!small(of, i, x, &p) || !small(of, i, y, &q) || q != p * by)
                return false;
            any = any || p;
        }
    }
    return any;
}

/* x becomes x + by * y, of `count` values; y is mentioned no more. */
static void put_together(matrices *m, int x, int y, int64_t count) {
    bool lower;
    int64_t most;
    for (int i = (int)isl_mat_rows(m->inequal) - 1; i >= 0; i--)
        if (is_bound(m, i, x, &lower, &most) || is_bound(m, i, y, &lower, &most))
            m->inequal = isl_mat_drop_rows(m->inequal, (unsigned)i, 1);
    for (int i = 0; i < (int)isl_mat_rows(m->inequal); i++)
        m->inequal = isl_mat_set_element_si(m->inequal, i, y, 0);
    for (int i = 0; i < (int)isl_mat_rows(m->equal); i++)
        m->equal = isl_mat_set_element_si(m->equal, i, y, 0);
    int at = (int)isl_mat_rows(m->inequal);
    m->inequal = isl_mat_add_zero_rows(m->inequal, 2);
    m->inequal = isl_mat_set_element_si(m->inequal, at, x, 1);
    m->inequal = isl_mat_set_element_si(m->inequal, at + 1, x, -1);
    m->inequal = isl_mat_set_element_si(m->inequal, at + 1, m->columns - 1, (int)(count - 1));
}

isl_basic_set *set_digits_together(isl_basic_set *b, int first, int count) {
    int dims = (int)isl_basic_set_dim(b, isl_dim_set);
    if (!b || count < 2 || dims > MOST_DIMENSIONS)
        return b;
    matrices m = {.equal = isl_basic_set_equalities_matrix(b, isl_dim_set, isl_dim_div, isl_dim_param, isl_dim_cst),
                  .inequal = isl_basic_set_inequalities_matrix(b, isl_dim_set, isl_dim_div, isl_dim_param, isl_dim_cst)};
    m.columns = (int)isl_mat_cols(m.inequal);
    bool any = false;
    int64_t has[MOST_DIMENSIONS] = {0};
    for (int x = first; x < first + count; x++)
        has[x] = values_of(&m, x);
    for (int x = first; x < first + count; x++)
        for (int y = first; y < first + count; y++) {
            if (x == y || has[x] < 2 || has[y] < 2 || has[x] * has[y] > INT32_MAX || !go_together(&m, x, y, has[x]))
                continue;
            put_together(&m, x, y, has[x] * has[y]);
            has[x] *= has[y];
            has[y] = 0;
            any = true;
            y = first - 1; /* x has more values now */
        }
    if (!any) {
        isl_mat_free(m.equal);
        isl_mat_free(m.inequal);
        return b;
    }
    isl_space *space = isl_basic_set_get_space(b);
    isl_basic_set_free(b);
    return isl_basic_set_from_constraint_matrices(space, m.equal, m.inequal, isl_dim_set, isl_dim_div, isl_dim_param,
                                                  isl_dim_cst);
}
