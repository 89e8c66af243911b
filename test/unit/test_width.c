/* The width of indices: 32 bits where the prover finds them enough for launches that fit, which the launch's values tell; 64 elsewhere. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "compile.h"
#include "run/run.h"
#include <string.h>

static const target_limits limits = {.target = "test",
                                     .private_bytes = 1 << 16,
                                     .shared_bytes = 1 << 15,
                                     .threads_per_block = 256,
                                     .index_bits = 64,
                                     .largest_extent = INT32_MAX,
                                     .has_lanes = true,
                                     .narrow_indices = true};

typedef struct fixture {
    arena *arena;
    diag_list diags;
    launch_plan plan;
    proof proof;
    const launch_plan *proved; /* NULL: it is not */
} fixture;

static void open_text(fixture *f, const char *text) {
    memset(f, 0, sizeof *f);
    f->arena = arena_new();
    diag_init(&f->diags, f->arena);
    plan_variant v = {.kernel = kernel_parse(f->arena, "kernel", text, &f->diags)};
    if (!v.kernel)
        diag_print_all(&f->diags, stderr, false);
    assert_non_null(v.kernel);
    f->plan.name = "k";
    VEC_PUSH(f->arena, f->plan.variants, v);
    const proved_plan *p = prove_plan(f->arena, &f->plan, &limits, &f->proof, &f->diags);
    if (!p)
        diag_print_all(&f->diags, stderr, false);
    f->proved = p ? proved_plan_get(p) : NULL;
}

static void expect_width(const char *text, const char *not_narrow) {
    fixture f;
    open_text(&f, text);
    assert_non_null(f.proved);
    assert_false(f.plan.variants.at[0].narrow); /* the prover says it of its own copy */
    const plan_variant *v = &f.proved->variants.at[0];
    if (v->narrow == (not_narrow != NULL) || (not_narrow && !strstr(v->not_narrow, not_narrow)))
        fail_msg("%s\n%s, but expected %s", text, v->narrow ? "narrow" : v->not_narrow, not_narrow ? not_narrow : "narrow");
    arena_free(f.arena);
}

/* One vector of a row for each task, the last of them masked. */
#define ROWS(LETS, INDEX)                                                                                                        \
    "kernel k {\n symbol M, N\n task (i < M, j < floor((N + 3) / 4))\n global in x: f32[M, N]\n global out y: f32[M, N]\n" LETS  \
    " store y[" INDEX ":4] active N - 4 * j <- x[" INDEX ":4] active N - 4 * j\n}\n"

static void what_is_enough(void **state) {
    (void)state;
    expect_width(ROWS("", "i, 4 * j"), NULL);
    /* a masked vector that may begin far behind its row, a number that is too large, or one of unknown size */
    expect_width("kernel k {\n symbol M, N\n task (i < M)\n global in x: f32[M, N]\n global out y: f32[M]\n register s: f32[]\n"
                 " store s[] <- 0:f32\n for j in 0 .. 2 {\n  let v: f32x4 = x[i, 40000 * j:4] active N - 40000 * j\n"
                 "  store s[] <- add(s[], lanes_sum(v))\n }\n store y[i] <- s[]\n}\n",
                 "where a masked access of `x` begins");
    expect_width(ROWS(" let far = 4 * N\n if far < 0 { store y[i, 0] <- 0:f32 }\n", "i, 4 * j"), "does not fit a 32-bit integer");
    expect_width("kernel k {\n symbol N\n scalar s: u32 in 0 .. 4294967295\n task (i < N)\n global out y: f32[N]\n"
                 " store y[i] <- convert(f32, scalar(s))\n}\n",
                 "the scalar `s`");
    /* strides that may be larger than the array's extents say */
    expect_width("kernel k {\n symbol N\n task (i < N)\n global in x: f32[N] layout strides(1)\n global out y: f32[N]\n store "
                 "y[i] <- x[i]\n}\n",
                 "the layout of `x`");
    /* indices as values: those that are made of indices, and those that arithmetic makes larger */
    expect_width("kernel k {\n symbol N\n task (i < N)\n global out y: index[N]\n store y[i] <- index(i)\n}\n", NULL);
    expect_width("kernel k {\n symbol N\n task (i < N)\n global out y: f32[N]\n let v: index = mul(index(i), index(4))\n"
                 " store y[i] <- convert(f32, v)\n}\n",
                 "an index made of data, by `mul`");
    expect_width("kernel k {\n symbol N\n task (i < N)\n global out y: f32[N]\n let v: index = shr(index(i), index(4))\n"
                 " store y[i] <- convert(f32, v)\n}\n",
                 "by `shr`");
}

static bool fits(const fixture *f, int64_t m, int64_t n) {
    return launch_fits_narrow(f->proved, 0, (const int64_t[]){m, n});
}

/* No memory is touched: the launch's values decide. */
static void what_fits(void **state) {
    (void)state;
    fixture f;
    open_text(&f, ROWS("", "i, 4 * j"));
    assert_non_null(f.proved);
    assert_true(fits(&f, 0, 0) && fits(&f, 1, 1) && fits(&f, 46339, 46339));
    assert_false(fits(&f, 46341, 46341)); /* 2^31 elements and more */
    assert_false(fits(&f, 65536, 32768));
    assert_false(fits(&f, 1 << 16, 1 << 16)); /* 0 in 32 bits */
    assert_true(fits(&f, 1, 1 << 30));
    assert_false(fits(&f, 1, (1 << 30) + 1));
    assert_false(fits(&f, 1 << 30, 2)); /* elements */
    assert_true(fits(&f, 0, 1 << 30));
    assert_false(fits(&f, INT32_MAX, 0));
    assert_false(launch_fits_narrow(&f.plan, 0, (const int64_t[]){1, 1})); /* nobody has proved it */
    arena_free(f.arena);
}

/* pytorch 24818: offsets of 32 bits for every launch. What fits is not asked there, and it stays refuted. */
static void every_launch(void **state) {
    (void)state;
    fixture f;
    open_text(&f, ROWS("", "i, 4 * j"));
    target_limits narrow = limits;
    narrow.index_bits = 32;
    proof p;
    diag_list diags;
    diag_init(&diags, f.arena);
    assert_false(prove_kernel(f.arena, f.plan.variants.at[0].kernel, &narrow, &p, &diags));
    assert_true(p.refuted > 0);
    arena_free(f.arena);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(what_is_enough), cmocka_unit_test(what_fits),
                                       cmocka_unit_test(every_launch)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
