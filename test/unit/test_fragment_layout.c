/* The table of fragment layouts against the formulas of the manual, written out independently, and the map against itself. */
#include "target/fragment_layout.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

/* The manual's formulas: g = lane >> 2, t = lane % 4, i = the element. */
static void by_manual(const char *which, int lane, int i, int *row, int *column) {
    int g = lane >> 2, t = lane & 3;
    if (!strcmp(which, "A16")) {
        *row = g + 8 * ((i >> 1) & 1);
        *column = 2 * t + (i & 1) + 8 * (i >> 2);
    } else if (!strcmp(which, "B16")) {
        *row = 2 * t + (i & 1) + 8 * (i >> 1);
        *column = g;
    } else if (!strcmp(which, "C")) {
        *row = g + 8 * (i >> 1);
        *column = 2 * t + (i & 1);
    } else if (!strcmp(which, "A8")) {
        *row = g + 8 * ((i >> 2) & 1);
        *column = 4 * t + (i & 3) + 16 * (i >> 3);
    } else if (!strcmp(which, "B8")) {
        *row = 4 * t + (i & 3) + 16 * (i >> 2);
        *column = g;
    } else if (!strcmp(which, "A32")) {
        *row = g + 8 * (i & 1);
        *column = t + 4 * (i >> 1);
    } else if (!strcmp(which, "B32")) {
        *row = t + 4 * i;
        *column = g;
    } else if (!strcmp(which, "W")) {
        int warp = lane >> 5, in = lane & 31;
        *row = 16 * warp + (in >> 2) + 8 * ((i >> 1) & 1);
        *column = 8 * (i >> 2) + 2 * (in & 3) + (i & 1);
    } else if (!strcmp(which, "T16")) { /* a tile: row l of 64 bytes holds two steps of k, or four, of each column */
        *row = 2 * lane + i % 2;
        *column = i / 2;
    } else if (!strcmp(which, "T8")) {
        *row = 4 * lane + i % 4;
        *column = i / 4;
    } else if (!strcmp(which, "T")) {
        *row = lane;
        *column = i;
    } else { /* a simdgroup's */
        *row = ((lane >> 1) & 3) + ((lane & 16) >> 2);
        *column = 2 * (lane & 1) + ((lane & 8) >> 1) + i;
    }
}

static void formulas(void **state) {
    (void)state;
    static const struct {
        const char *target, *instruction;
        char operand;
        const char *formula;
        int lanes, elements, registers;
    } cases[] = {{"cuda", "m16n8k16.f16", 'a', "A16", 32, 8, 4},
                 {"cuda", "m16n8k16.bf16", 'b', "B16", 32, 4, 2},
                 {"cuda", "m16n8k16.f16", 'c', "C", 32, 4, 4},
                 {"cuda", "m16n8k16.f16.f16", 'c', "C", 32, 4, 2},
                 {"cuda", "m16n8k8.f16", 'a', "A16", 32, 4, 2},
                 {"cuda", "m16n8k32.s8", 'a', "A8", 32, 16, 4},
                 {"cuda", "m16n8k32.e4m3", 'b', "B8", 32, 8, 2},
                 {"cuda", "m16n8k32.u8", 'c', "C", 32, 4, 4},
                 {"cuda", "m16n8k8.tf32", 'a', "A32", 32, 4, 4},
                 {"cuda", "m16n8k8.tf32", 'b', "B32", 32, 2, 2},
                 {"cuda", "wgmma.m64n8k16.f16", 'c', "W", 128, 4, 4},
                 {"cuda", "wgmma.m64n24k16.bf16", 'c', "W", 128, 12, 12},
                 {"cuda", "wgmma.m64n256k32.e4m3", 'c', "W", 128, 128, 128},
                 {"cpu", "tdpbf16ps", 'a', "T", 16, 32, 16},
                 {"cpu", "tdpbf16ps", 'b', "T16", 16, 32, 16},
                 {"cpu", "tdpbf16ps", 'c', "T", 16, 16, 16},
                 {"cpu", "tdpbssd", 'a', "T", 16, 64, 16},
                 {"cpu", "tdpbusd", 'b', "T8", 16, 64, 16},
                 {"cpu", "tdpbuud", 'c', "T", 16, 16, 16},
                 {"metal", "simdgroup_matrix.8x8.f16", 'a', "S", 32, 2, 1}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        fragment_layout l;
        assert_true(fragment_layout_find(cases[i].target, cases[i].instruction, cases[i].operand, &l));
        assert_int_equal(l.lanes, cases[i].lanes);
        assert_int_equal(l.elements, cases[i].elements);
        assert_int_equal(fragment_layout_registers(&l), cases[i].registers);
        for (int lane = 0; lane < l.lanes; lane++)
            for (int e = 0; e < l.elements; e++) {
                int row, column, wanted_row, wanted_column;
                fragment_layout_place(&l, lane, e, &row, &column);
                by_manual(cases[i].formula, lane, e, &wanted_row, &wanted_column);
                assert_int_equal(row, wanted_row);
                assert_int_equal(column, wanted_column);
            }
    }
}

/* Every entry has one holder, and every holder its entry. */
static void one_to_one(void **state) {
    (void)state;
    int count;
    const fragment_layout *rows = fragment_layout_rows(&count);
    for (int i = 0; i < count; i++) {
        const fragment_layout *l = &rows[i];
        assert_int_equal(l->rows * l->columns, l->lanes * l->elements);
        for (int row = 0; row < l->rows; row++)
            for (int column = 0; column < l->columns; column++) {
                int lane, element, r, c;
                assert_true(fragment_layout_holder(l, row, column, &lane, &element));
                assert_in_range(lane, 0, l->lanes - 1);
                assert_in_range(element, 0, l->elements - 1);
                fragment_layout_place(l, lane, element, &r, &c);
                assert_int_equal(r, row);
                assert_int_equal(c, column);
            }
        int lane, element;
        assert_false(fragment_layout_holder(l, l->rows, 0, &lane, &element));
        assert_false(fragment_layout_holder(l, 0, -1, &lane, &element));
    }
}

static void names_that_are_none(void **state) {
    (void)state;
    static const char *const names[] = {"",
                                        ".",
                                        "m16n8k16",
                                        "m16n8k16.",
                                        "m16n8k16.f32",
                                        "m16n8k16.f16.",
                                        "m16n8k16.f16.f64",
                                        "m16n8k16.bf16.f16",
                                        "m16n8k32.f16",
                                        "m16n8k32.s8.f32",
                                        "m16n8.f32",
                                        "wgmma.m64n4k16.f16",
                                        "wgmma.m64n264k16.f16",
                                        "wgmma.m64n8k8.f16",
                                        "wgmma.f32",
                                        "wgmma.k16.f16",
                                        "wgmma.m64n08k16.f16",
                                        "simdgroup_matrix.8x8",
                                        "m16n8k16.f16.f16.f16",
                                        "m16n8k16.f16 bf16",
                                        "wgmma.m99999999999999999999n8k16.f16"};
    fragment_layout l;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        for (const char *o = "abc"; *o; o++)
            assert_false(fragment_layout_find("cuda", names[i], *o, &l));
    assert_false(fragment_layout_find("opencl", "m16n8k16.f16", 'a', &l));
    assert_false(fragment_layout_find("cuda", "wgmma.m64n8k16.f16", 'b', &l)); /* it stands in memory */
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(formulas), cmocka_unit_test(one_to_one),
                                       cmocka_unit_test(names_that_are_none)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
