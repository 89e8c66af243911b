/* Order across threads and across launches, on small texts: what is right is proved, what is slightly wrong is refuted with its witness. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "prove/prove.h"
#include <stdio.h>
#include <string.h>

static const target_limits limits = {"sim", 1 << 20, 232448, 1024, 64, (int64_t)1 << 31, true};

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

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_update_order)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
