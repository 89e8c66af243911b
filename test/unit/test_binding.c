/* Symbols from shapes, and the recipes for data. */
#include "run/binding.h"
#include "run/recipe.h"
#include "base/suggest.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

typedef struct fixture {
    arena *a;
    diag_list diags;
    index_var *vars[8];
    int var_count;
    tile_array *arrays[4];
    index_expr *derived[8];
    cond *where[2];
    signature s;
} fixture;

static fixture *begin(void) {
    arena *a = arena_new();
    fixture *f = NEW(a, fixture);
    f->a = a;
    diag_init(&f->diags, a);
    f->s = (signature){
        .name = "k", .sort = "kernel", .arrays = f->arrays, .symbols = f->vars, .derived = f->derived, .where = f->where};
    return f;
}

static index_expr *symbol(fixture *f, const char *name, index_var_kind kind) {
    for (int i = 0; i < f->var_count; i++)
        if (strcmp(f->vars[i]->name, name) == 0)
            return ix_var(f->a, f->vars[i]);
    index_var *v = NEW(f->a, index_var);
    v->name = name;
    v->kind = kind;
    v->id = f->var_count;
    f->vars[f->var_count++] = v;
    f->s.symbol_count = f->var_count;
    return ix_var(f->a, v);
}

/* dims: flattened factors; groups: how many stand in each dimension the caller sees. */
static int array(fixture *f, const char *name, array_role role, int rank, index_expr **dims, int group_count, const int *groups) {
    tile_array *t = NEW(f->a, tile_array);
    t->name = name;
    t->type = ELEMENT_F32;
    t->role = role;
    t->rank = rank;
    t->dims = NEW_ARRAY(f->a, index_expr *, rank);
    memcpy(t->dims, dims, sizeof *dims * (size_t)rank);
    t->group_count = group_count;
    t->groups = NEW_ARRAY(f->a, int, group_count);
    memcpy(t->groups, groups, sizeof *groups * (size_t)group_count);
    f->arrays[f->s.array_count] = t;
    return f->s.array_count++;
}

static const char *first_code(const fixture *f) {
    return f->diags.items.count ? f->diags.items.at[0]->code : "none";
}
static int64_t value(const binding *b, const char *name) {
    int at = binding_find_symbol(b, name);
    assert_true(at >= 0 && b->known[at]);
    return b->values[at];
}

static fixture *product(binding *b) { /* a[M, K] b[K, N] -> c[M, N] */
    fixture *f = begin();
    index_expr *m = symbol(f, "M", INDEX_SYMBOL), *k = symbol(f, "K", INDEX_SYMBOL), *n = symbol(f, "N", INDEX_SYMBOL);
    symbol(f, "BM", INDEX_TILE);
    static const int ones[] = {1, 1};
    array(f, "a", ARRAY_IN, 2, (index_expr *[]){m, k}, 2, ones);
    array(f, "b", ARRAY_IN, 2, (index_expr *[]){k, n}, 2, ones);
    array(f, "c", ARRAY_OUT, 2, (index_expr *[]){m, n}, 2, ones);
    binding_init(b, f->a, f->s);
    return f;
}

static void shapes_give_symbols(void **state) {
    (void)state;
    binding b;
    fixture *f = product(&b);
    assert_true(binding_set_shape(&b, 0, 2, (int64_t[]){5, 7}, &f->diags));
    assert_true(binding_set_shape(&b, 1, 2, (int64_t[]){7, 3}, &f->diags));
    assert_true(binding_solve(&b, true, &f->diags));
    int64_t dims[2];
    assert_true(binding_extents(&b, f->arrays[2], dims));
    assert_int_equal(dims[0], 5);
    assert_int_equal(dims[1], 3);
    assert_string_equal(binding_text(&b), "M = 5, K = 7, N = 3");
    /* Another shape of the same kernel: what was solved before is forgotten. */
    assert_true(binding_set_shape(&b, 0, 2, (int64_t[]){0, 1}, &f->diags));
    assert_true(binding_set_shape(&b, 1, 2, (int64_t[]){1, 9}, &f->diags));
    assert_true(binding_solve(&b, true, &f->diags));
    assert_int_equal(value(&b, "M"), 0);
    assert_int_equal(value(&b, "N"), 9);
    arena_free(f->a);
}

static void disagreement_names_both(void **state) {
    (void)state;
    binding b;
    fixture *f = product(&b);
    binding_set_shape(&b, 0, 2, (int64_t[]){5, 7}, &f->diags);
    binding_set_shape(&b, 1, 2, (int64_t[]){8, 3}, &f->diags);
    assert_false(binding_solve(&b, true, &f->diags));
    assert_string_equal(first_code(f), "E0644");
    assert_string_equal(f->diags.items.at[0]->message, "dimension 0 of `b` is 8, but K = 7");
    assert_string_equal(f->diags.items.at[0]->notes.at[0], "K = 7 by dimension 1 of `a`");
    arena_free(f->a);
}

static void wrong_rank_and_names(void **state) {
    (void)state;
    binding b;
    fixture *f = product(&b);
    assert_false(binding_set_shape(&b, 0, 1, (int64_t[]){5}, &f->diags));
    assert_string_equal(f->diags.items.at[0]->code, "E0642");
    assert_string_equal(f->diags.items.at[0]->notes.at[0], "it is a: f32[M, K]");
    assert_false(binding_set_symbol(&b, "Q", 1, "test", &f->diags));
    assert_string_equal(f->diags.items.at[1]->code, "E0640");
    assert_false(binding_set_symbol(&b, "BM", 1, "test", &f->diags)); /* a tile size is no symbol */
    assert_string_equal(f->diags.items.at[2]->notes.at[0], "BM is a tile size: pass --set BM=1");
    assert_false(binding_set_symbol(&b, "M", -1, "test", &f->diags));
    assert_string_equal(f->diags.items.at[3]->code, "E0641");
    assert_false(binding_solve(&b, true, &f->diags));
    assert_string_equal(f->diags.items.at[4]->code, "E0643");
    arena_free(f->a);
}

static void product_dimensions(void **state) {
    (void)state;
    fixture *f = begin();
    index_expr *kv = symbol(f, "KV", INDEX_SYMBOL), *g = symbol(f, "G", INDEX_STATIC), *d = symbol(f, "D", INDEX_STATIC),
               *t = symbol(f, "T", INDEX_SYMBOL), *p = symbol(f, "P", INDEX_SYMBOL);
    array(f, "q", ARRAY_IN, 3, (index_expr *[]){kv, g, d}, 2, (const int[]){2, 1});
    array(f, "k", ARRAY_IN, 3, (index_expr *[]){t, kv, d}, 3, (const int[]){1, 1, 1});
    array(f, "x", ARRAY_IN, 2, (index_expr *[]){ix_const(f->a, 2), p}, 1, (const int[]){2});
    binding b;
    binding_init(&b, f->a, f->s);
    binding_set_shape(&b, 0, 2, (int64_t[]){12, 128}, &f->diags);
    binding_set_shape(&b, 1, 3, (int64_t[]){9, 2, 128}, &f->diags);
    binding_set_shape(&b, 2, 1, (int64_t[]){14}, &f->diags);
    assert_true(binding_solve(&b, true, &f->diags));
    assert_int_equal(value(&b, "KV"), 2);
    assert_int_equal(value(&b, "G"), 6);
    assert_int_equal(value(&b, "D"), 128);
    assert_int_equal(value(&b, "P"), 7);

    /* 13 heads are no multiple of 2; an odd 2*P is none either. */
    binding_set_shape(&b, 0, 2, (int64_t[]){13, 128}, &f->diags);
    assert_false(binding_solve(&b, true, &f->diags));
    assert_string_equal(first_code(f), "E0643");
    f->diags.items.count = 0;
    binding_set_shape(&b, 0, 2, (int64_t[]){12, 128}, &f->diags);
    binding_set_shape(&b, 2, 1, (int64_t[]){15}, &f->diags);
    assert_false(binding_solve(&b, true, &f->diags));
    arena_free(f->a);
}

static void unknown_factor_is_asked_for(void **state) {
    (void)state;
    fixture *f = begin();
    index_expr *kv = symbol(f, "KV", INDEX_SYMBOL), *g = symbol(f, "G", INDEX_STATIC);
    array(f, "q", ARRAY_IN, 2, (index_expr *[]){kv, g}, 1, (const int[]){2});
    binding b;
    binding_init(&b, f->a, f->s);
    binding_set_shape(&b, 0, 1, (int64_t[]){12}, &f->diags);
    assert_false(binding_solve(&b, true, &f->diags));
    assert_string_equal(first_code(f), "E0643");
    f->vars[1]->has_value = true; /* static G = 4 */
    f->vars[1]->value = 4;
    f->diags.items.count = 0;
    assert_true(binding_solve(&b, true, &f->diags));
    assert_int_equal(value(&b, "KV"), 3);
    assert_true(binding_set_symbol(&b, "G", 6, "--shape", &f->diags)); /* what is asked for beats the default */
    assert_true(binding_solve(&b, true, &f->diags));
    assert_int_equal(value(&b, "KV"), 2);
    arena_free(f->a);
}

static void derived_symbols(void **state) {
    (void)state;
    fixture *f = begin();
    index_expr *n = symbol(f, "N", INDEX_SYMBOL), *s = symbol(f, "S", INDEX_SYMBOL);
    array(f, "x", ARRAY_IN, 1, &n, 1, (const int[]){1});
    array(f, "v", ARRAY_OUT, 1, &s, 1, (const int[]){1});
    f->derived[1] = ix_ceildiv(f->a, n, ix_const(f->a, 4096));
    binding b;
    binding_init(&b, f->a, f->s);
    binding_set_shape(&b, 0, 1, (int64_t[]){4097}, &f->diags);
    assert_true(binding_solve(&b, true, &f->diags));
    assert_int_equal(value(&b, "S"), 2);
    binding_set_symbol(&b, "S", 3, "--shape", &f->diags);
    assert_false(binding_solve(&b, true, &f->diags));
    assert_string_equal(first_code(f), "E0645");
    arena_free(f->a);
}

static void written_equalities(void **state) {
    (void)state;
    fixture *f = begin();
    index_expr *n = symbol(f, "N", INDEX_SYMBOL), *k = symbol(f, "K", INDEX_SYMBOL);
    array(f, "x", ARRAY_IN, 1, &n, 1, (const int[]){1});
    f->where[0] = cond_compare(f->a, COND_EQ, ix_mul(f->a, ix_const(f->a, 3), k), n);
    f->s.where_count = 1;
    binding b;
    binding_init(&b, f->a, f->s);
    binding_set_shape(&b, 0, 1, (int64_t[]){12}, &f->diags);
    assert_true(binding_solve(&b, true, &f->diags));
    assert_int_equal(value(&b, "K"), 4);
    arena_free(f->a);
}

static void recipes_fit_their_types(void **state) {
    (void)state;
    enum { COUNT = 4096 };
    float *x = malloc(sizeof *x * COUNT);
    int32_t *ids = malloc(sizeof *ids * COUNT);
    uint16_t *h = malloc(sizeof *h * COUNT), *again = malloc(sizeof *again * COUNT);
    recipe_fill(RECIPE_RANDOM, 1, ELEMENT_F32, 0, COUNT, x);
    double sum = 0;
    for (int i = 0; i < COUNT; i++) {
        assert_true(x[i] >= -1 && x[i] < 1);
        sum += x[i];
    }
    assert_true(fabs(sum / COUNT) < 0.06); /* 6.6 deviations of a mean of 4096 */
    recipe_fill(RECIPE_RANDOM, 1, ELEMENT_INDEX, 37, COUNT, ids);
    bool last = false;
    for (int i = 0; i < COUNT; i++) {
        assert_true(ids[i] >= 0 && ids[i] < 37);
        last = last || ids[i] == 36;
    }
    assert_true(last);
    for (int r = 0; r < RECIPE_COUNT; r++) /* distinct as long as there are enough values, whatever the recipe but zeros */
        for (int bound = 1; bound <= 300; bound += 13) {
            int32_t distinct[300];
            bool seen[300] = {false}, sorted = true;
            recipe_fill_distinct((recipe_kind)r, 9, bound, bound, distinct);
            for (int i = 0; i < bound && r != RECIPE_ZEROS; i++) {
                assert_true(distinct[i] >= 0 && distinct[i] < bound && !seen[distinct[i]]);
                seen[distinct[i]] = true;
                sorted = sorted && distinct[i] == i;
            }
            assert_true(r != RECIPE_RANDOM || bound < 10 || !sorted);
        }
    recipe_fill(RECIPE_POSITIVE, 5, ELEMENT_F16, 0, COUNT, h);
    recipe_fill(RECIPE_POSITIVE, 5, ELEMENT_F16, 0, COUNT, again);
    assert_memory_equal(h, again, sizeof *h * COUNT);
    for (int i = 0; i < COUNT; i++)
        assert_true(f16_to_f32(h[i]) >= 0 && f16_to_f32(h[i]) <= 1);
    recipe_fill(RECIPE_ADVERSARIAL, 2, ELEMENT_F32, 0, COUNT, x);
    bool nan = false, infinite = false, subnormal = false;
    for (int i = 0; i < COUNT; i++) {
        nan = nan || isnan(x[i]);
        infinite = infinite || isinf(x[i]);
        subnormal = subnormal || (x[i] != 0 && fabsf(x[i]) < 0x1p-126f);
    }
    assert_true(nan && infinite && subnormal);
    for (int t = 0; t < ELEMENT_COUNT; t++) /* every recipe fits every type: sanitizers watch */
        for (int r = 0; r < RECIPE_COUNT; r++) {
            void *data = malloc((size_t)element_bytes((element_type)t, 64));
            recipe_fill((recipe_kind)r, 3, (element_type)t, t == ELEMENT_INDEX ? 5 : 0, 64, data);
            free(data);
        }
    free(x);
    free(ids);
    free(h);
    free(again);
}

static void suggestions(void **state) {
    (void)state;
    const char *const names[] = {"--kernel", "--shape", "--device"};
    assert_string_equal(suggest_nearest("--kernle", names, 3), "--kernel");
    assert_string_equal(suggest_nearest("--shap", names, 3), "--shape");
    assert_null(suggest_nearest("--verbose", names, 3));
    assert_null(suggest_nearest("", names, 3));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shapes_give_symbols),
        cmocka_unit_test(disagreement_names_both),
        cmocka_unit_test(wrong_rank_and_names),
        cmocka_unit_test(product_dimensions),
        cmocka_unit_test(unknown_factor_is_asked_for),
        cmocka_unit_test(derived_symbols),
        cmocka_unit_test(written_equalities),
        cmocka_unit_test(recipes_fit_their_types),
        cmocka_unit_test(suggestions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
