/* Fragments by hand: kernels of 8 x 8 matrices, and the same with each lane's own elements in registers and operands in shared memory, give the same bits in the
 * simulator, which finds nothing wrong with either. */
#include "kernel/legalize.h"
#include "sim/sim.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

static const legal_table bare = {.target = "bare", .subgroups = false, .f16_arithmetic = true, .vector_lanes = 4};
static const legal_table warps = {.target = "warps", .subgroups = true, .f16_arithmetic = true, .vector_lanes = 4};
static const matrix_instruction square = {.name = "square",
                                          .m = 8,
                                          .n = 8,
                                          .k = 8,
                                          .operand = ELEMENT_F32,
                                          .accumulator = ELEMENT_F32,
                                          .holder = LEVEL_SUBGROUP,
                                          .lanes = 32};
static const legal_table native = {.target = "native",
                                   .subgroups = true,
                                   .f16_arithmetic = true,
                                   .vector_lanes = 4,
                                   .matrices = {&square, 1},
                                   .lane_views = true};

enum { TASKS = 2, CELLS = 64 };

/* Two inputs and two results of 64 cells a task; two subgroups of 32 lanes, of which the second works on its own fragments, too. */
#define HEAD(declarations, body)                                                                                                 \
    "kernel k {\n symbol T\n task (t < T)\n subgroup (g < 2)\n lane (l < 32)\n global in a: f32[T, 2, 8, 8]\n"                   \
    " global in b: f16[T, 128]\n global out c: f32[T, 2, 8, 8]\n global out d: f32[T, 2, 64]\n" declarations "\n" body "\n}\n"

#define MATRICES                                                                                                                 \
    " fragment x: a f32 8 x 8 held by subgroup\n fragment y: b f32 8 x 8 held by subgroup\n"                                     \
    " fragment h: b f16 8 x 8 [2] held by subgroup\n fragment s: accumulator f32 8 x 8 [2] held by subgroup\n"

static const char *const texts[] = {
    /* products in a loop, operands turned round, two accumulators */
    HEAD(MATRICES,
         " fragment_fill s[0] <- 0.5:f32\n fragment_fill s[1] <- 0:f32\n"
         " fragment_load x <- a[t, g, 0, 0] rows 2 columns 3\n fragment_load y <- a[t, g, 0, 0] rows 3 columns 2\n"
         " for i in 0 .. 2 unroll {\n fragment_mma s[i] <- x, y, s[i]\n"
         "  fragment_load y <- a[t, g, 0, 0] rows 2 columns 3\n }\n"
         " fragment_mma s[1] <- x, y, s[0]\n"
         " fragment_store c[t, g, 0, 0] <- s[0] rows 2 columns 3\n fragment_store d[t, g, 0] <- s[1] rows 2 by 8 columns 2\n"),
    /* conversions, parts of a tile, elements by place and by lane */
    HEAD(MATRICES, " fragment_load h[1] <- b[t, 64 * g] rows 1 by 8 columns 1 within (5, 7)\n fragment_convert y <- h[1]\n"
                   " intrinsic \"load\" (result fragment x, reads a[t, g, 0, 0] box [1, 1, 8, 8]) reference {\n"
                   "  intrinsic \"load_rows\" (result fragment x, reads a[t, g, 0, 0] box [1, 1, 8, 8]) reference {\n"
                   "   fragment_load x <- a[t, g, 0, 0] rows 2 columns 3\n  }\n }\n"
                   " fragment_map s[0] (i, j) <- select(lt(index(i), index(j)), 2:f32, convert(f32, index(i * 8 + j)))\n"
                   " fragment_mma s[1] <- x, y, s[0]\n"
                   " fragment_map s[1] (i, j) <- mul(element(s[1]), a[t, g, j, i])\n"
                   " let own: f32 = lane_view(s[1], 1)\n fragment_set s[1] lane_view 1 <- add(own, convert(f32, index(l)))\n"
                   " fragment_set x lane_view 0 <- lane_view(s[1], 0)\n fragment_set x lane_view 1 <- own\n"
                   " fragment_mma s[0] <- x, y, s[1]\n"
                   " fragment_store c[t, g, 0, 0] <- s[0] rows 3 columns 2\n"
                   " fragment_store d[t, g, 0] <- s[1] rows 2 by 8 columns 2\n"),
};
enum { COUNT = sizeof texts / sizeof *texts };

static kernel_ir *parsed(arena *a, const char *text, diag_list *diags) {
    diag_init(diags, a);
    diag_add_source(diags, "kernel", text);
    kernel_ir *k = kernel_parse(a, "kernel", text, diags);
    if (!k || !kernel_check(k, diags)) {
        diag_print_all(diags, stderr, false);
        fail_msg("the test's own kernel is refused:\n%s", text);
    }
    return k;
}

/* Small whole numbers: sums are exact. */
static void simulate(const kernel_ir *k, float *results, diag_list *diags) {
    for (uint64_t seed = 0; seed < 3; seed++) {
        arena *a = arena_new();
        float x[TASKS * 2 * CELLS];
        uint16_t y[TASKS * 2 * CELLS];
        for (int i = 0; i < TASKS * 2 * CELLS; i++) {
            x[i] = (float)((i * 37 + 11) % 15 - 7);
            element_store(ELEMENT_F16, y, i, (i * 23 + 5) % 9 - 4);
        }
        void *arrays[] = {x, y, results, results + TASKS * 2 * CELLS};
        int64_t integers[] = {TASKS};
        sim_arguments arguments = {arrays, integers, NULL};
        sim_options options = {.seed = seed};
        sim_report report;
        memset(results, 0xA5, sizeof *results * TASKS * 4 * CELLS);
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

static void by_hand_is_the_same(void **state) {
    (void)state;
    static const legal_table *const tables[] = {&bare, &warps};
    for (int t = 0; t < COUNT; t++)
        for (int n = 0; n < 2; n++) {
            arena *a = arena_new();
            diag_list diags;
            legal_routes routes = {0};
            float before[TASKS * 4 * CELLS], after[TASKS * 4 * CELLS];
            kernel_ir *k = parsed(a, texts[t], &diags);
            simulate(k, before, &diags);
            if (!kernel_legalize(k, tables[n], &routes, &diags) || !kernel_check(k, &diags)) {
                diag_print_all(&diags, stderr, false);
                fail_msg("not legalised:\n%s", texts[t]);
            }
            assert_int_equal(k->fragments.count, 0);
            assert_int_equal(routes.count, t ? 3 : 1); /* and one for each intrinsic */
            assert_non_null(strstr(routes.at[0], "by hand"));
            simulate(k, after, &diags);
            assert_memory_equal(before, after, sizeof before);
            arena_free(a);
        }
}

static void native_ones_stay(void **state) {
    (void)state;
    arena *a = arena_new();
    diag_list diags;
    legal_routes routes = {0};
    kernel_ir *k = parsed(a, texts[0], &diags);
    assert_true(kernel_legalize(k, &native, &routes, &diags));
    assert_int_equal(routes.count, 0);
    assert_int_equal(k->fragments.count, 4);
    arena_free(a);
}

static void others_are_refused(void **state) {
    (void)state;
    static const char *const bodies[][2] = {
        {HEAD(" fragment s: accumulator f32 16 x 8 held by subgroup\n", " fragment_fill s <- 0:f32\n"), "16 x 8"},
        {HEAD(" fragment s: accumulator f32 8 x 8 held by subgroup\n fragment r: row_vector f32 8 x 1 held by subgroup\n",
              " fragment_fill s <- 0:f32\n fragment_reduce r <- max s axis 1\n"),
         "8 x 1"}};
    for (size_t i = 0; i < sizeof bodies / sizeof *bodies; i++) {
        arena *a = arena_new();
        diag_list diags;
        legal_routes routes = {0};
        kernel_ir *k = parsed(a, bodies[i][0], &diags);
        assert_false(kernel_legalize(k, &bare, &routes, &diags));
        assert_int_equal(diags.items.count, 1);
        assert_string_equal(diags.items.at[0]->code, "E0552");
        assert_non_null(strstr(diags.items.at[0]->message, bodies[i][1]));
        arena_free(a);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(by_hand_is_the_same), cmocka_unit_test(native_ones_stay),
                                       cmocka_unit_test(others_are_refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
