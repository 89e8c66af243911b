/* Layouts found by one-hot operands on simulated devices with planted layouts; what the pictures and bank counts say. */
#include "probe/layout_view.h"
#include "probe/probe.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

static bool fails(void *context, int first, int cases, unsigned char *out, diag_list *diags) {
    (void)context, (void)cases, (void)out;
    if (first == 0 || first > 1 << 15)
        diag_error(diags, "E0859", (source_span){0}, "the simulated device fails");
    return diags->errors == 0;
}

static void documented(const char *instruction, fragment_layout layouts[3]) {
    assert_true(fragment_layouts_find("cuda", instruction, layouts));
}

static layout_finding ask(arena *a, const char *instruction, fragment_layout planted[3]) {
    fragment_layout table[3];
    probe_target t = {.onehot = layout_simulate, .context = planted};
    layout_finding found;
    diag_list diags;
    diag_init(&diags, a);
    documented(instruction, table);
    assert_true(layout_probe(a, &t, table, &found, &diags));
    return found;
}

static void swap(fragment_step *x, fragment_step *y) {
    fragment_step z = *x;
    *x = *y;
    *y = z;
}

static void planted_layouts(void **state) {
    (void)state;
    arena *a = arena_new();
    static const char *const instructions[] = {"m16n8k8.f16", "m16n8k16.bf16", "m16n8k8.tf32", "m16n8k16.e4m3", "m16n8k32.s8"};
    fragment_layout planted[3];
    int count = getenv("TILEC_QUICK") ? 1 : 5;
    for (int i = 0; i < count; i++) {
        documented(instructions[i], planted);
        layout_finding f = ask(a, instructions[i], planted);
        assert_int_equal(f.mismatches, 0);
        assert_int_equal(f.hits, planted[0].rows * planted[0].columns * planted[1].columns);
        /* Two bits of the lane changed round in a; then in b; then elements of c. */
        swap(&planted[0].lane[0], &planted[0].lane[3]);
        f = ask(a, instructions[i], planted);
        assert_true(f.mismatches > 0 && f.differences.count > 0);
        assert_non_null(strstr(f.differences.at[0], "lane 1 element 0 of a holds (2, "));
        documented(instructions[i], planted);
        swap(&planted[1].lane[2], &planted[1].lane[4]);
        f = ask(a, instructions[i], planted);
        assert_true(f.mismatches > 0);
        assert_non_null(strstr(f.differences.at[0], " of b holds "));
        documented(instructions[i], planted);
        swap(&planted[2].element[0], &planted[2].element[1]);
        assert_true(ask(a, instructions[i], planted).mismatches > 0);
    }
    arena_free(a);
}

/* Rows of two lanes alone changed round, which no table of bits describes; and a device that flips an answer now and then. */
typedef struct odd_device {
    fragment_layout layouts[3];
    int x, y; /* lanes of a that hold each other's entries */
    int flips, asked;
} odd_device;
static bool run_odd(void *context, int first, int cases, unsigned char *out, diag_list *diags) {
    odd_device *o = context;
    const int b_positions = 32 * o->layouts[1].elements, elements = o->layouts[0].elements;
    for (int i = 0; i < cases; i++) {
        int pa = (first + i) / b_positions, lane = pa / elements;
        lane = lane == o->x ? o->y : lane == o->y ? o->x : lane;
        if (!layout_simulate(o->layouts, (lane * elements + pa % elements) * b_positions + (first + i) % b_positions, 1,
                             out + i * 32, diags))
            return false;
        if (o->flips && ++o->asked % o->flips == 0)
            out[i * 32 + 7] ^= 1;
    }
    return true;
}

static void odd_devices(void **state) {
    (void)state;
    arena *a = arena_new();
    diag_list diags;
    diag_init(&diags, a);
    fragment_layout table[3];
    odd_device o = {.x = 5, .y = 18};
    probe_target t = {.onehot = run_odd, .context = &o};
    layout_finding f;
    documented("m16n8k8.f16", table);
    documented("m16n8k8.f16", o.layouts);
    assert_true(layout_probe(a, &t, table, &f, &diags));
    assert_false(f.unsteady);
    assert_int_equal(f.differences.count, 6); /* the first six of two lanes' eight */
    assert_non_null(strstr(f.differences.at[0], "lane 5 element 0 of a holds (4, 4), not (1, 2)"));
    assert_int_equal(f.mismatches,
                     2 * 8 * 8); /* a pair that came out, and one that comes out instead, of eight entries and eight columns */
    o = (odd_device){.flips = 3001};
    documented("m16n8k8.f16", o.layouts);
    assert_true(layout_probe(a, &t, table, &f, &diags));
    assert_true(f.unsteady && f.mismatches > 0 && !f.differences.count);
    assert_non_null(strstr(f.verdict, "not determined: asked again, the device answered otherwise (2, then"));
    arena_free(a);
}

/* A device of tiles in memory with a planted defect: results of two columns changed round where `swapped`. */
typedef struct memory_device {
    bool swapped, fails;
} memory_device;
static bool run_memory(void *context, int64_t tiles, const void *a, const void *b, const uint32_t *c, uint32_t *d,
                       diag_list *diags) {
    const memory_device *m = context;
    if (m->fails)
        diag_error(diags, "E0859", (source_span){0}, "the simulated device fails");
    for (int64_t cell = 0; cell < tiles * 12; cell++) {
        int64_t tile = cell / 12;
        int row = (int)(cell % 12) / 3, column = (int)(cell % 3);
        double sum = c[cell];
        for (int k = 0; k < 8; k++)
            sum += number_value(NUMBER_BF16, number_load(NUMBER_BF16, a, (tile * 4 + row) * 8 + k)) *
                   number_value(NUMBER_BF16, number_load(NUMBER_BF16, b, (tile * 3 + column) * 8 + k));
        d[m->swapped && row == 2 && column < 2 ? (cell - column + 1 - column) : cell] = sum != 0;
    }
    return !m->fails;
}

static void operands_in_memory(void **state) {
    (void)state;
    arena *a = arena_new();
    diag_list diags;
    diag_init(&diags, a);
    memory_device m = {false, false};
    matrix_box box = {"memory", "memory", NUMBER_BF16, NUMBER_BF16, NUMBER_F32, 8, 4, 3, &m, run_memory, NULL};
    layout_finding f;
    assert_true(layout_probe_memory(a, &box, &f, &diags));
    assert_int_equal(f.pairs, 4 * 8 * 8 * 3);
    assert_int_equal(f.hits, 4 * 8 * 3);
    assert_int_equal(f.mismatches, 0);
    m.swapped = true;
    assert_true(layout_probe_memory(a, &box, &f, &diags));
    assert_int_equal(f.mismatches, 2 * 8);
    assert_string_equal(f.differences.at[0], "1 in (2, 0) of a and in (0, 0) of b comes out in (2, 1)");
    m.fails = true;
    assert_false(layout_probe_memory(a, &box, &f, &diags));
    assert_null(f.verdict);
    assert_int_equal(diags.errors, 1);
    arena_free(a);
}

static void failing_devices(void **state) {
    (void)state;
    arena *a = arena_new();
    diag_list diags;
    diag_init(&diags, a);
    fragment_layout table[3];
    documented("m16n8k8.f16", table);
    probe_target t = {.onehot = fails};
    layout_finding found;
    assert_false(layout_probe(a, &t, table, &found, &diags));
    assert_null(found.verdict);
    assert_int_equal(diags.errors, 1);
    arena_free(a);
}

/* ---- banks ---- */

static void swizzles_are_permutations(void **state) {
    (void)state;
    for (int swizzle = 32; swizzle <= 128; swizzle *= 2) {
        bool seen[2048] = {false};
        for (int address = 0; address < 2048; address++) {
            int to = layout_swizzled(swizzle, address);
            assert_in_range(to, 0, 2047);
            assert_false(seen[to]);
            seen[to] = true;
            assert_int_equal(to % 16, address % 16);
            assert_int_equal(to / 128, address / 128);
            assert_int_equal(layout_swizzled(swizzle, to), address);
        }
    }
    for (int address = 0; address < 2048; address++) /* the device's rule, as its documents write it */
        assert_int_equal(layout_swizzled(128, address), address ^ (((address % 1024) >> 7) << 4));
}

static bool says(const layout_access_request *r, const char *what) {
    text_buffer out = {0};
    assert_null(layout_access_fault(r));
    layout_view_banks(&out, r, LAYOUT_TEXT);
    bool found = strstr(text_get(&out), what) != NULL;
    text_free(&out);
    return found;
}

static void conflicts_are_counted(void **state) {
    (void)state;
    assert_true(says(&(layout_access_request){128, 2, 64, "ldmatrix", NULL}, "4 cycles where 4 would do: no conflict"));
    assert_true(says(&(layout_access_request){0, 2, 64, "ldmatrix", NULL}, "32 cycles where 4 would do"));
    assert_true(says(&(layout_access_request){64, 2, 64, "ldmatrix", NULL}, "8 cycles where 4 would do"));
    assert_true(says(&(layout_access_request){0, 2, 72, "ldmatrix", NULL}, "4 cycles where 4 would do")); /* padded rows */
    assert_true(says(&(layout_access_request){0, 4, 32, "column", NULL}, "32 cycles where 1 would do"));
    assert_true(says(&(layout_access_request){0, 4, 33, "column", NULL}, "1 cycle where 1 would do"));
    assert_true(says(&(layout_access_request){0, 4, 32, "row", NULL}, "4 cycles where 4 would do"));
    fragment_layout l;
    assert_true(fragment_layout_find("cuda", "m16n8k16.f16", 'a', &l));
    assert_true(says(&(layout_access_request){128, 2, 64, "fragment", &l}, "4 cycles where 4 would do"));
    assert_true(says(&(layout_access_request){0, 2, 64, "fragment", &l}, "32 cycles where 4 would do"));
    assert_non_null(layout_access_fault(&(layout_access_request){16, 2, 64, "row", NULL}));
    assert_non_null(layout_access_fault(&(layout_access_request){0, 2, 0, "row", NULL}));
    assert_non_null(layout_access_fault(&(layout_access_request){0, 2, 63, "ldmatrix", NULL}));
    assert_non_null(layout_access_fault(&(layout_access_request){0, 2, 64, "diagonal", NULL}));
    assert_non_null(layout_access_fault(&(layout_access_request){0, 4, 64, "fragment", &l}));
}

/* Each entry once in each form. */
static void forms(void **state) {
    (void)state;
    fragment_layout l;
    assert_true(fragment_layout_find("cuda", "m16n8k32.e4m3", 'a', &l));
    text_buffer csv = {0}, svg = {0};
    layout_view_fragment(&csv, &l, "m16n8k32.e4m3", LAYOUT_CSV);
    layout_view_fragment(&svg, &l, "m16n8k32.e4m3", LAYOUT_SVG);
    int lines = 0, cells = 0;
    for (const char *at = text_get(&csv); *at; at++)
        lines += *at == '\n';
    for (const char *at = text_get(&svg); (at = strstr(at, "<rect")); at++)
        cells++;
    assert_int_equal(lines, 1 + 16 * 32);
    assert_int_equal(cells, 1 + 16 * 32);
    assert_non_null(strstr(text_get(&csv), "\na,3,7,13,0,24\n"));
    text_free(&csv);
    text_free(&svg);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(odd_devices),
                                       cmocka_unit_test(planted_layouts),
                                       cmocka_unit_test(operands_in_memory),
                                       cmocka_unit_test(failing_devices),
                                       cmocka_unit_test(swizzles_are_permutations),
                                       cmocka_unit_test(conflicts_are_counted),
                                       cmocka_unit_test(forms)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
