/* Order across threads and across launches, on small texts: what is right is proved, what is slightly wrong is refuted with its witness. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "prove/prove.h"
#include <stdio.h>
#include <string.h>

static const target_limits limits = {.target = "sim",
                                     .private_bytes = 1 << 20,
                                     .shared_bytes = 232448,
                                     .threads_per_block = 1024,
                                     .index_bits = 64,
                                     .largest_extent = (int64_t)1 << 31,
                                     .has_lanes = true};

static kernel_ir *parse(arena *a, const char *text, diag_list *diags) {
    kernel_ir *k = kernel_parse(a, "text.kir", text, diags);
    if (!k)
        diag_print_all(diags, stderr, false);
    assert_non_null(k);
    return k;
}

static void expect_proved(const char *text) {
    arena *a = arena_new();
    diag_list diags;
    proof p;
    diag_init(&diags, a);
    if (!prove_kernel(a, parse(a, text, &diags), &limits, &p, &diags)) {
        diag_print_all(&diags, stderr, false);
        fail_msg("not proved:\n%s", text);
    }
    arena_free(a);
}

static const proof_item *find(const proof *p, const char *property, const char *subject) {
    for (int i = 0; i < p->items.count; i++)
        if (!strcmp(p->items.at[i].property, property) && !strcmp(p->items.at[i].subject, subject) &&
            p->items.at[i].verdict != VERDICT_PROVED)
            return &p->items.at[i];
    return NULL;
}

static void expect_refuted(const char *text, const char *property, const char *subject, const char *witness) {
    arena *a = arena_new();
    diag_list diags;
    proof p;
    diag_init(&diags, a);
    assert_false(prove_kernel(a, parse(a, text, &diags), &limits, &p, &diags));
    const proof_item *t = find(&p, property, subject);
    if (!t || t->verdict != VERDICT_REFUTED || !t->witness || strcmp(t->witness, witness)) {
        diag_print_all(&diags, stderr, false);
        fail_msg("%s of %s: %s at %s\n%s", property, subject, t ? verdict_names[t->verdict] : "no such item",
                 t && t->witness ? t->witness : "no witness", text);
    }
    arena_free(a);
}

#define HEAD                                                                                                                     \
    "kernel reversed {\n symbol N\n task (r < N)\n lane (l < 4)\n global update y: f32[N, 4] argument 0\n"                       \
    " register t: f32[]\n\n"

/* Lane l takes what lane 3 - l had. Read after the barrier, it is what the other lane has just written. */
static void test_update_order(void **state) {
    (void)state;
    expect_proved(HEAD " store t[] <- y[r, 3 - l]\n barrier block orders global\n store y[r, l] <- t[]\n}\n");
    expect_refuted(HEAD " store y[r, l] <- 0:f32\n barrier block orders global\n store t[] <- y[r, 3 - l]\n}\n", "update order",
                   "y", "N = 1, r = 0");
    expect_refuted(HEAD " for n in 0 .. 2 {\n store t[] <- y[r, 3 - l]\n barrier block orders global\n"
                        " if n == 0 {\n store y[r, l] <- t[]\n }\n barrier block orders global\n }\n}\n",
                   "update order", "y", "N = 1, r = 0");
    expect_proved(HEAD " for n in 0 .. 2 {\n store t[] <- y[r, 3 - l]\n barrier block orders global\n"
                       " if n == 1 {\n store y[r, l] <- t[]\n }\n barrier block orders global\n }\n}\n");
}

/* ---- plans of several kernels ---- */

/* A kernel that packs columns, then one that reads them; `packed` holds a column after the other. */
#define PACK                                                                                                                     \
    "kernel pack {\n symbol N, M\n task (c < M)\n global in x: f32[N, M] argument 0\n global out packed: f32[M, N] argument "    \
    "1\n\n"                                                                                                                      \
    " for r in 0 .. N {\n store packed[c, r] <- x[r, c]\n }\n}\n"
#define SUM                                                                                                                      \
    "kernel sums {\n symbol N, M\n task (c < M)\n global in x: f32[N, M] argument 0\n global in packed: f32[M, N] argument 1\n"  \
    " global out y: f32[M] argument 2\n register s: f32[]\n\n"                                                                   \
    " store s[] <- 0:f32\n for r in 0 .. N {\n store s[] <- add(s[], packed[c, r])\n }\n store y[c] <- s[]\n}\n"

static char *changed(arena *a, const char *text, const char *from, const char *to) {
    const char *at = strstr(text, from);
    assert_non_null(at);
    size_t size = strlen(text) + strlen(to) + 1;
    char *all = arena_alloc(a, size);
    snprintf(all, size, "%.*s%s%s", (int)(at - text), text, to, at + strlen(from));
    return all;
}

/* Judges the two texts, something replaced in each, as one plan whose workspace is `packed`. */
static bool judge_two(arena *a, const char *pack, const char *sum, bool order, proof *p, diag_list *diags) {
    diag_init(diags, a);
    kernel_ir *first = parse(a, pack, diags), *second = parse(a, sum, diags);
    launch_plan *plan = arena_alloc(a, sizeof *plan);
    memset(plan, 0, sizeof *plan);
    plan->name = "two";
    plan_variant v = {.kernel = second};
    if (order)
        VEC_PUSH(a, v.before, first);
    VEC_PUSH(a, plan->variants, v);
    for (int i = 0; i < first->arrays.count; i++)
        if (!strcmp(first->arrays.at[i]->name, "packed")) {
            kernel_array *w = arena_alloc(a, sizeof *w);
            *w = *first->arrays.at[i];
            w->use = USE_WORKSPACE;
            VEC_PUSH(a, plan->workspaces, w);
        }
    return prove_plan(a, plan, &limits, p, diags) != NULL;
}

static void expect_plan(const char *from, const char *to, bool in_first, bool order, const char *property, const char *subject,
                        const char *witness) {
    arena *a = arena_new();
    diag_list diags;
    proof p;
    const char *pack = in_first && from ? changed(a, PACK, from, to) : PACK,
               *sum = !in_first && from ? changed(a, SUM, from, to) : SUM;
    bool good = judge_two(a, pack, sum, order, &p, &diags);
    const proof_item *t = property ? find(&p, property, subject) : NULL;
    if (good != !property || (property && (!t || t->verdict != VERDICT_REFUTED || (witness && strcmp(t->witness, witness))))) {
        diag_print_all(&diags, stderr, false);
        fail_msg("`%s` for `%s`: %s at %s", to ? to : "", from ? from : "", t ? verdict_names[t->verdict] : "no such item",
                 t && t->witness ? t->witness : "no witness");
    }
    arena_free(a);
}

static void test_plans(void **state) {
    (void)state;
    expect_plan(NULL, NULL, false, true, NULL, NULL, NULL);
    /* nothing has written the workspace */
    expect_plan(NULL, NULL, false, false, "initialised", "packed", "N = 1, M = 1, c = 0, r = 0");
    /* the last row is not packed: each kernel for itself, and the next one reads it */
    expect_plan("0 .. N {", "0 .. N - 1 {", true, true, "coverage", "packed", "N = 1, M = 1");
    expect_plan("0 .. N {", "0 .. N - 1 {", true, true, "initialised", "packed", "N = 1, M = 1, c = 0, r = 0");
    /* the next one reads what no cell of the workspace is */
    expect_plan("0 .. N {", "0 .. N + 1 {", false, true, "bounds", "packed", "N = 0, M = 1, c = 0, r = 0");
    /* a workspace of another shape, an array that is nobody's */
    expect_plan("packed: f32[M, N]", "packed: f32[M + 1, N]", false, true, "launch plan", "packed", NULL);
    expect_plan("in x: f32[N, M]", "in z: f32[N, M]", false, true, "launch plan", "x", NULL);
    /* the first kernel takes for granted what no launch checks */
    expect_plan("argument 1\n\n", "argument 1\n assume N <= M\n\n", true, true, "launch plan", "pack", "N = 1, M = 0");
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_update_order), cmocka_unit_test(test_plans)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
