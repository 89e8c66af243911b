/* Legalisation: a kernel with subgroup operations, and the same kernel through shared memory, give the same bits in the simulator, which finds
 * nothing wrong with either; what cannot be rewritten is refused at its place. */
#include "kernel/legalize.h"
#include "sim/sim.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

static const legal_table bare = {.target = "bare", .subgroups = false, .f16_arithmetic = false, .vector_lanes = 4};
static const legal_table full = {.target = "full", .subgroups = true, .f16_arithmetic = true, .vector_lanes = 16};
enum { ROWS = 3, CELLS = ROWS * 64 };

static kernel_ir *parsed(arena *a, const char *text, diag_list *diags) {
    diag_init(diags, a);
    diag_add_source(diags, "kernel", text);
    kernel_ir *k = kernel_parse(a, "kernel", text, diags);
    if (!k || !kernel_check(k, diags)) {
        diag_print_all(diags, stderr, false);
        fail_msg("the test's own kernel is refused");
    }
    return k;
}

static bool has_exchange(const kernel_value *v) {
    if (!strcmp(kernel_op_table[v->op].kind, "subgroup"))
        return true;
    for (int i = 0; i < v->operand_count; i++)
        if (has_exchange(v->operands[i]))
            return true;
    return false;
}

static int count_exchanges(const kernel_block *b) {
    int count = 0;
    for (int i = 0; i < b->items.count; i++) {
        const kernel_stmt *s = b->items.at[i];
        count += s->value && has_exchange(s->value);
        for (int c = 0; c < s->contract_count; c++) {
            count += s->contract[c].value && has_exchange(s->contract[c].value);
            for (int n = 0; n < s->contract[c].count; n++)
                count += has_exchange(s->contract[c].values[n]);
        }
        count += count_exchanges(&s->body) + count_exchanges(&s->otherwise);
    }
    return count;
}

static int count_barriers(const kernel_block *b) {
    int count = 0;
    for (int i = 0; i < b->items.count; i++)
        count += (b->items.at[i]->kind == KSTMT_BARRIER) + count_barriers(&b->items.at[i]->body) +
                 count_barriers(&b->items.at[i]->otherwise);
    return count;
}

/* Runs y = kernel(x) over `ROWS` tasks, with threads interleaved by several seeds. */
static void simulate(const kernel_ir *k, float *x, float *y, diag_list *diags) {
    for (uint64_t seed = 0; seed < 4; seed++) {
        arena *a = arena_new();
        void *arrays[] = {x, y};
        int64_t integers[] = {ROWS};
        sim_arguments arguments = {arrays, integers, NULL};
        sim_options options = {.seed = seed};
        sim_report report;
        memset(y, 0xA5, CELLS * sizeof *y);
        if (!sim_run(a, k, &arguments, &options, &report, diags)) {
            text_buffer b = {0};
            kernel_print(&b, k);
            fputs(text_get(&b), stderr);
            diag_print_all(diags, stderr, false);
            fail_msg("the simulator objects (seed %d)", (int)seed);
        }
        arena_free(a);
    }
}

/* Body and declarations of a kernel of 2 subgroups of 16 lanes, x and y having 64 columns. */
static const char *kernel_text(arena *a, const char *declarations, const char *body) {
    return arena_printf(a,
                        "kernel k {\n symbol R\n task (r < R)\n subgroup (g < 2)\n %s\n global in x: f32[R, 64]\n global out y: "
                        "f32[R, 64] cells (i, j) where j < 32\n"
                        " register v: f32[]\n%s\n}\n",
                        declarations, body);
}

static void agrees(const char *declarations, const char *body, int barriers_at_most) {
    arena *a = arena_new();
    diag_list diags;
    legal_routes routes = {0};
    float x[CELLS], before[CELLS], after[CELLS];
    for (int i = 0; i < CELLS; i++)
        x[i] = (float)((i * 37 + 11) % 41 - 20); /* small integers: sums are exact in any order */
    const char *text = kernel_text(a, declarations, body);
    kernel_ir *k = parsed(a, text, &diags);
    assert_true(count_exchanges(&k->body) > 0);
    simulate(k, x, before, &diags);
    if (!kernel_legalize(k, &bare, &routes, &diags) || !kernel_check(k, &diags)) {
        diag_print_all(&diags, stderr, false);
        fail_msg("not legalised:\n%s", text);
    }
    assert_int_equal(count_exchanges(&k->body), 0);
    assert_true(routes.count > 0);
    assert_non_null(strstr(routes.at[0], "refused: subgroup operations, which bare lacks"));
    if (barriers_at_most)
        assert_in_range(count_barriers(&k->body), 1, barriers_at_most);
    simulate(k, x, after, &diags);
    assert_memory_equal(before, after, sizeof before);
    /* The text of the legal form reads back, and a target that has everything leaves a kernel as it is. */
    text_buffer once = {0}, twice = {0};
    kernel_print(&once, k);
    kernel_print(&twice, parsed(a, text_get(&once), &diags));
    assert_string_equal(text_get(&once), text_get(&twice));
    text_free(&once);
    text_free(&twice);
    kernel_ir *same = parsed(a, text, &diags);
    routes = (legal_routes){0};
    assert_true(kernel_legalize(same, &full, &routes, &diags));
    assert_int_equal(routes.count, 0);
    assert_true(count_exchanges(&same->body) > 0);
    arena_free(a);
}

#define ONE "lane (l < 16)"
#define TWO "lane (a < 4, b < 4)"
#define OWN "x[r, 16 * g + l]"
#define OWN2 "x[r, 16 * g + 4 * a + b]"

static void reductions(void **state) {
    (void)state;
    agrees(ONE, "store y[r, 16 * g + l] <- subgroup_sum(" OWN ")", 2);
    agrees(ONE, "store y[r, 16 * g + l] <- subgroup_max(" OWN ")", 2);
    agrees(TWO, "store y[r, 16 * g + 4 * a + b] <- subgroup_min(" OWN2 ")", 2);
    agrees(ONE,
           "store y[r, 16 * g + l] <- add(subgroup_sum(" OWN "), mul(subgroup_max(" OWN "), subgroup_sum(mul(" OWN ", " OWN
           "))))",
           6);
}

static void shuffles(void **state) {
    (void)state;
    for (int mask = 0; mask < 16; mask++) {
        char body[128];
        snprintf(body, sizeof body, "store y[r, 16 * g + l] <- shuffle_xor(" OWN ", %d:i32)", mask);
        agrees(ONE, body, 1);
    }
    agrees(TWO, "store y[r, 16 * g + 4 * a + b] <- shuffle_xor(" OWN2 ", 6:i32)", 1);
    agrees(ONE, "store y[r, 16 * g + l] <- subgroup_broadcast(" OWN ", 5:i32)", 1);
    agrees(ONE, "let from: index = index(15 - l)\n store y[r, 16 * g + l] <- shuffle(" OWN ", from)", 1);
    agrees(ONE, "let d: f32 = shuffle_down(" OWN ", 3:i32)\n store y[r, 16 * g + l] <- select(lt(index(l), 13:index), d, 0:f32)",
           1);
    /* One after another, each from the last one's result: the cells take turns. */
    agrees(ONE,
           "let p: f32 = shuffle_xor(" OWN ", 1:i32)\n let q: f32 = shuffle_xor(add(p, " OWN "), 2:i32)\n"
           "let s: f32 = shuffle_xor(add(q, p), 8:i32)\n store y[r, 16 * g + l] <- add(s, q)",
           3);
    /* Two of one value share a barrier. */
    agrees(ONE,
           "store v[] <- " OWN "\n let p: f32 = shuffle_xor(v[], 1:i32)\n let n: i32 = shuffle_xor(convert(i32, v[]), 4:i32)\n"
           "store y[r, 16 * g + l] <- add(p, convert(f32, n))",
           1);
}

static void butterflies(void **state) {
    (void)state;
    agrees(ONE,
           "store v[] <- " OWN
           "\n store v[] <- add(v[], shuffle_xor(v[], 4:i32))\n store v[] <- add(v[], shuffle_xor(v[], 2:i32))\n"
           "store v[] <- add(v[], shuffle_xor(v[], 1:i32))\n store y[r, 16 * g + l] <- v[]",
           1);
    agrees(TWO,
           "store v[] <- " OWN2
           "\n store v[] <- max(v[], shuffle_xor(v[], 2:i32))\n store v[] <- max(v[], shuffle_xor(v[], 1:i32))\n"
           "store y[r, 16 * g + 4 * a + b] <- v[]",
           1);
    agrees(TWO,
           "store v[] <- " OWN2
           "\n store v[] <- add(v[], shuffle_xor(v[], 8:i32))\n store v[] <- add(v[], shuffle_xor(v[], 1:i32))\n"
           "store y[r, 16 * g + 4 * a + b] <- v[]",
           1);
}

/* The trips of an unrolled loop over register cells exchange together: the barriers are those of one trip. */
static void batches(void **state) {
    (void)state;
    const char *fill = "for i in 0 .. 4 unroll { store c[i] <- mul(" OWN ", convert(f32, index(i + 1))) }\n";
    const char *use = "store y[r, 16 * g + l] <- add(add(c[0], mul(3:f32, c[1])), add(mul(5:f32, c[2]), mul(7:f32, c[3])))";
    const struct {
        const char *body;
        int barriers;
    } cases[] = {
        {"for i in 0 .. 4 unroll { store c[i] <- subgroup_sum(c[i]) }\n", 2},
        {"for i in 0 .. 4 unroll { store c[i] <- add(c[i], shuffle_xor(c[i], 2:i32))\n store c[i] <- add(c[i], shuffle_xor(c[i], "
         "1:i32)) }\n",
         2},
        {"for j in 0 .. R { for i in 0 .. 4 unroll { store c[i] <- max(c[i], shuffle_xor(c[i], 8:i32))\n store c[i] <- max(c[i], "
         "shuffle_xor(c[i], 4:i32))\n"
         "store c[i] <- sub(c[i], 1:f32)\n store c[i] <- subgroup_min(add(c[i], " /* a value made in the trip itself */
         "c[i])) } }\n",
         4},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char body[1024];
        snprintf(body, sizeof body, "%s%s%s", fill, cases[i].body, use);
        agrees(ONE " register c: f32[4]", body, cases[i].barriers);
    }
    if (getenv("TILEC_QUICK")) /* long in the simulator */
        return;
    /* More trips than shared memory holds at once go by chunks, each behind barriers of its own. */
    agrees(
        ONE " register e: f32[128]",
        "for i in 0 .. 128 unroll { store e[i] <- mul(" OWN ", convert(f32, index(i))) }\n"
        "for i in 0 .. 128 unroll { store e[i] <- add(e[i], shuffle_xor(e[i], 1:i32))\n store e[i] <- add(e[i], "
        "shuffle_xor(e[i], 4:i32)) }\n"
        "store v[] <- 0:f32\n for i in 0 .. 128 unroll { store v[] <- add(v[], mul(convert(f32, index((i mod 7) + 1)), e[i])) }\n"
        "store y[r, 16 * g + l] <- v[]",
        2);
    /* Trips that depend on each other keep their order. */
    agrees(ONE " register c: f32[4]",
           "store v[] <- " OWN "\n for i in 0 .. 4 unroll { store v[] <- sub(subgroup_sum(v[]), " OWN
           ") }\n store y[r, 16 * g + l] <- v[]",
           0);
}

static void loops_and_branches(void **state) {
    (void)state;
    /* An exchange among an intrinsic's operands. */
    agrees(ONE,
           "let own: f32 = " OWN "\n"
           "intrinsic \"f\" (result v[], value subgroup_sum(own), vector (own, shuffle_xor(own, 1:i32))) reference { store v[] "
           "<- own }\n"
           "store y[r, 16 * g + l] <- v[]",
           0);
    agrees(ONE,
           "store v[] <- 0:f32\n for i in 0 .. R { store v[] <- add(subgroup_sum(add(v[], " OWN ")), shuffle_xor(v[], 3:i32)) }\n"
           "store y[r, 16 * g + l] <- v[]",
           0);
    agrees(ONE,
           "store v[] <- " OWN "\n for i in 0 .. 4 unroll { store v[] <- sub(shuffle_xor(v[], 5:i32), " OWN
           ") }\n store y[r, 16 * g + l] <- v[]",
           0);
    /* Both arms of a branch that all threads take alike go on from the cells used before it. */
    agrees(ONE,
           "store v[] <- shuffle_xor(" OWN
           ", 2:i32)\n if r < 1 { store v[] <- shuffle_xor(v[], 1:i32) } else { store v[] <- shuffle_xor(v[], 9:i32)\n"
           " store v[] <- shuffle_xor(v[], 4:i32) }\n store v[] <- shuffle_xor(v[], 7:i32)\n store y[r, 16 * g + l] <- v[]",
           0);
}

/* A choice that whole subgroups make is cut at the barriers; what one part names, later parts have. */
static void choices(void **state) {
    (void)state;
    const char *const conditions[] = {"g < 1", "floor((16 * g + l) / 16) == 1", "16 * g + l < 16", "16 <= 16 * g + l"};
    for (size_t i = 0; i < sizeof conditions / sizeof *conditions; i++) {
        char body[1024];
        snprintf(body, sizeof body,
                 "store v[] <- 0:f32\n if %s {\n let p in 0 .. 63 = 16 * g + l\n let d: f32 = x[r, p]\n"
                 "let s: f32 = subgroup_sum(d)\n let t: f32 = shuffle_xor(add(s, d), 1:i32)\n let q in 0 .. 64 = p + 1\n"
                 "store v[] <- add(d, add(s, t))\n store v[] <- add(v[], add(x[r, q - 1], subgroup_max(d)))\n }\n store y[r, 16 "
                 "* g + l] <- v[]",
                 conditions[i]);
        agrees(ONE, body, 0);
    }
}

static void refused(const char *declarations, const char *body, const char *words) {
    arena *a = arena_new();
    diag_list diags;
    legal_routes routes = {0};
    kernel_ir *k = parsed(a, kernel_text(a, declarations, body), &diags);
    assert_false(kernel_legalize(k, &bare, &routes, &diags));
    assert_true(diags.errors > 0);
    assert_string_equal(diags.items.at[0]->code, "E0552");
    assert_true(diags.items.at[0]->span.line > 1);
    if (!strstr(diags.items.at[0]->message, words))
        fail_msg("\"%s\" does not say \"%s\"", diags.items.at[0]->message, words);
    arena_free(a);
}

static void refusals(void **state) {
    (void)state;
    refused(ONE, "if l < 1 { store v[] <- subgroup_sum(" OWN ")\n store y[r, l] <- v[] }", "not every thread");
    refused(ONE, "if 16 * g + l < 15 { store v[] <- subgroup_sum(" OWN ")\n store y[r, l] <- v[] }", "not every thread");
    refused(ONE, "if g < 1 { for i in 0 .. 2 { store v[] <- subgroup_sum(" OWN ") }\n store y[r, l] <- v[] }",
            "not every thread");
    refused(ONE, "for i in 0 .. g { store v[] <- shuffle_xor(" OWN ", 1:i32) }\n store y[r, 16 * g + l] <- 0:f32",
            "not every thread");
    refused(ONE, "if_value lt(0:f32, " OWN ") { store v[] <- subgroup_max(" OWN ") }\n store y[r, 16 * g + l] <- 0:f32",
            "not every thread");
    refused(ONE, "let h: f16 = convert(f16, " OWN ")\n let f: f16 = fma(h, h, h)\n store y[r, 16 * g + l] <- convert(f32, f)",
            "fma");
    refused(ONE, "let s: f32 = lanes_sum(broadcast(" OWN ", 8))\n store y[r, 16 * g + l] <- s", "8 lanes");
    refused("lane (l < 12)", "store y[r, 16 * g + l] <- subgroup_sum(" OWN ")", "power of two");
}

/* A barrier of a subgroup becomes one of the block; one that orders nothing goes. */
static void barriers(void **state) {
    (void)state;
    arena *a = arena_new();
    diag_list diags;
    legal_routes routes = {0};
    const char *body = "if g < 1 { barrier subgroup }\n barrier subgroup orders global\n store y[r, 16 * g + l] <- 0:f32";
    kernel_ir *k = parsed(a, kernel_text(a, ONE, body), &diags);
    assert_true(kernel_legalize(k, &bare, &routes, &diags) && kernel_check(k, &diags));
    assert_int_equal(count_barriers(&k->body), 1);
    assert_int_equal(k->body.items.at[1]->scope, LEVEL_BLOCK);
    assert_int_equal(routes.count, 1);
    arena_free(a);
}

/* f16 sums and products through f32 are those of f16 itself: 2049 is no f16, and the product rounds to even. */
static void half_arithmetic(void **state) {
    (void)state;
    arena *a = arena_new();
    diag_list diags;
    legal_routes routes = {0};
    float x[CELLS], y[CELLS];
    for (int i = 0; i < CELLS; i++)
        x[i] = (float)(2048 + i % 3);
    const char *body =
        "let h: f16 = convert(f16, " OWN ")\n let s: f16 = add(h, 1:f16)\n let p: f16 = mul(s, 0.333251953125:f16)\n"
        "store y[r, 16 * g + l] <- convert(f32, sub(p, 1:f16))";
    kernel_ir *k = parsed(a, kernel_text(a, ONE, body), &diags);
    assert_true(kernel_legalize(k, &bare, &routes, &diags) && kernel_check(k, &diags));
    assert_int_equal(routes.count, 1);
    simulate(k, x, y, &diags);
    for (int i = 0; i < CELLS; i++)
        if (i % 64 < 32) {
            float h = f16_to_f32(f32_to_f16(x[i])), s = f16_to_f32(f32_to_f16(h + 1)),
                  p = f16_to_f32(f32_to_f16(s * 0.333251953125f));
            assert_true(y[i] == f16_to_f32(f32_to_f16(p - 1)));
        }
    arena_free(a);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reductions), cmocka_unit_test(shuffles),           cmocka_unit_test(butterflies),
        cmocka_unit_test(batches),    cmocka_unit_test(loops_and_branches), cmocka_unit_test(choices),
        cmocka_unit_test(refusals),   cmocka_unit_test(half_arithmetic),    cmocka_unit_test(barriers)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
