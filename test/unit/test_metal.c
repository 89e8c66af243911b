/* Target metal: what it prints and refuses, and the data of its host programs. What the texts compute is test/run/metal.sh's. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "../../kits/metal/tilec_kit.c"
#include "compile.h"
#include "run/recipe.h"

double tilec_device_run(const char *file, const char *entry, int threads, int64_t tasks, const tilec_argument *arguments,
                        int count, int repeats) {
    (void)file, (void)entry, (void)threads, (void)tasks, (void)arguments, (void)count, (void)repeats;
    return -1;
}

/* ---- the kit's data are the bytes of `tilec run --arg x=random:SEED` ---- */

static int64_t seven_hundred(void) {
    return 700;
}

static void same_bytes(tilec_element e, element_type t) {
    enum { COUNT = 640 + 3 };
    static unsigned char mine[4 * COUNT], theirs[4 * COUNT];
    bool blocks = element_table[t].block_elements > 1;
    for (uint64_t seed = 1; seed <= 3; seed++) {
        int64_t count = blocks ? 640 : COUNT;
        tilec_array a = {.name = "x", .element = e};
        memset(mine, 0xee, sizeof mine);
        memset(theirs, 0xee, sizeof theirs);
        fill(&a, seed, count, mine);
        recipe_fill(RECIPE_RANDOM, seed, t, 0, count, theirs);
        assert_memory_equal(mine, theirs, sizeof mine);
    }
}

static void data_are_the_recipes(void **state) {
    (void)state;
    static const struct {
        tilec_element mine;
        element_type theirs;
    } rows[] = {{TILEC_F32, ELEMENT_F32},    {TILEC_F16, ELEMENT_F16},   {TILEC_BF16, ELEMENT_BF16}, {TILEC_E4M3, ELEMENT_E4M3},
                {TILEC_E5M2, ELEMENT_E5M2},  {TILEC_I8, ELEMENT_I8},     {TILEC_U8, ELEMENT_U8},     {TILEC_I32, ELEMENT_I32},
                {TILEC_U32, ELEMENT_U32},    {TILEC_BOOL, ELEMENT_BOOL}, {TILEC_Q8_0, ELEMENT_Q8_0}, {TILEC_Q4_0, ELEMENT_Q4_0},
                {TILEC_MXFP4, ELEMENT_MXFP4}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        same_bytes(rows[i].mine, rows[i].theirs);
    int32_t mine[500], theirs[500];
    for (int distinct = 0; distinct < 2; distinct++) {
        tilec_array a = {.name = "ids", .element = TILEC_INDEX, .bound = seven_hundred, .distinct = distinct};
        fill(&a, 9, 500, mine);
        if (distinct)
            recipe_fill_distinct(RECIPE_RANDOM, 9, 700, 500, theirs);
        else
            recipe_fill(RECIPE_RANDOM, 9, ELEMENT_INDEX, 700, 500, theirs);
        assert_memory_equal(mine, theirs, sizeof mine);
    }
}

/* ---- number formats: every code of f16, every float that lies between two ---- */

static void formats_are_right(void **state) {
    (void)state;
    for (unsigned code = 0; code < 65536; code++) {
        uint16_t bits = (uint16_t)code;
        float mine = element_value(TILEC_F16, &bits, 0), theirs = f16_to_f32(bits);
        assert_true((isnan(mine) && isnan(theirs)) || (mine == theirs && signbit(mine) == signbit(theirs)));
        mine = element_value(TILEC_BF16, &bits, 0);
        theirs = bf16_to_f32(bits);
        assert_true((isnan(mine) && isnan(theirs)) || mine == theirs);
        if (code < 0x7bff || (code >= 0x8000 && code < 0xfbff)) {
            uint16_t above = (uint16_t)(code + 1);
            float x = f16_to_f32(bits), middle = (x + f16_to_f32(above)) / 2;
            assert_int_equal(to_f16(x), bits);
            assert_int_equal(to_f16(middle), f32_to_f16(middle));
            assert_int_equal(to_f16(nextafterf(middle, x)), bits);
        }
    }
    for (unsigned code = 0; code < 256; code++) {
        uint8_t bits = (uint8_t)code;
        float mine = element_value(TILEC_E4M3, &bits, 0), theirs = e4m3_to_f32(bits);
        assert_true((isnan(mine) && isnan(theirs)) || mine == theirs);
        mine = element_value(TILEC_E5M2, &bits, 0);
        theirs = e5m2_to_f32(bits);
        assert_true((isnan(mine) && isnan(theirs)) || mine == theirs);
    }
}

/* ---- the comparison can fail ---- */

static void comparison_can_fail(void **state) {
    (void)state;
    float a[4] = {1, -2, 3, 0}, b[4] = {1, -2, 3, 0};
    int32_t i[2] = {1, 2}, j[2] = {1, 3};
    tilec_array floats = {.name = "x", .element = TILEC_F32}, whole = {.name = "n", .element = TILEC_I32};
    double worst;
    assert_int_equal(wrong_elements(&floats, 4, a, b, 1e-4, &worst), 0);
    a[2] = 3.00001f;
    assert_int_equal(wrong_elements(&floats, 4, a, b, 1e-4, &worst), 0);
    assert_true(worst > 0);
    a[2] = 3.01f;
    a[3] = NAN;
    assert_int_equal(wrong_elements(&floats, 4, a, b, 1e-4, &worst), 2);
    b[3] = NAN;
    assert_int_equal(wrong_elements(&floats, 4, a, b, 1e-4, &worst), 1);
    assert_int_equal(wrong_elements(&whole, 2, i, j, 1e-4, &worst), 1);
}

/* ---- what is printed ---- */

/* The MSL of a text's only kernel; NULL with the first diagnostic's code in *code. Heap text. */
static char *printed(const char *source, const char **code) {
    arena *a = arena_new();
    diag_list diags;
    diag_init(&diags, a);
    const target *t = target_find("metal");
    assert_non_null(t);
    compile_options o = {.target = t};
    compiled_kernel c;
    tile_module *m = compile_load(a, "test.tile", source, &diags);
    text_buffer out = {0};
    bool good = m && compile_kernel(a, m, m->kernels.at[0], &o, &c, &diags) && t->emit(c.plan, &out, &diags);
    static char first[16];
    snprintf(first, sizeof first, "%s", diags.items.count ? diags.items.at[0]->code : "");
    *code = first;
    char *text = good ? strdup(text_get(&out)) : NULL;
    text_free(&out);
    arena_free(a);
    return text;
}

static void exchanges_stay_native(void **state) {
    (void)state;
    const char *code;
    char *text = printed("kernel sum(x: f32[R, C]) -> (y: f32[R]) {\n    for tile y[r: BR] {\n        acc: f32[r] = 0\n"
                         "        for c: BC in C { acc += sum[c](x[r, c]) }\n        y[r] = acc\n    }\n}\n",
                         &code);
    assert_non_null(text);
    assert_non_null(strstr(text, "simd_shuffle_xor("));
    assert_non_null(strstr(text, "threadgroup_barrier(mem_flags::mem_threadgroup)"));
    assert_null(strstr(text, " simd_sum(")); /* whose order Metal leaves open */
    assert_non_null(strstr(text, "#pragma METAL fp contract(off)"));
    assert_non_null(strstr(text, "[[max_total_threads_per_threadgroup(128)]]"));
    free(text);
}

/* 16 bytes would be eight halves or sixteen bytes: MSL's vectors end at four elements. */
static void vectors_have_four_elements(void **state) {
    (void)state;
    static const char *const types[] = {"f32", "f16", "bf16", "i8", "u8"};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        char source[256];
        const char *code;
        snprintf(source, sizeof source, "kernel copy(x: %s[N]) -> (y: %s[N]) {\n    for tile y[n: B] { y[n] = x[n] }\n}\n",
                 types[i], types[i]);
        char *text = printed(source, &code);
        assert_non_null(text);
        assert_non_null(strstr(text, "4 *)&x["));
        assert_null(strstr(text, "8 *)&x["));
        assert_null(strstr(text, "16 *)&x["));
        free(text);
    }
}

static void names_are_legal(void **state) {
    (void)state;
    const char *code;
    char *text = printed("kernel kernel_(thread: f32[N], device: f32[N], simd_lane: f32) -> (half: f32[N]) {\n"
                         "    for tile half[block_number: B] { half[block_number] = thread[block_number] + device[block_number] "
                         "* simd_lane }\n}\n",
                         &code);
    assert_non_null(text);
    assert_non_null(strstr(text, "device const float *thread_ "));
    assert_non_null(strstr(text, "device const float *device_ "));
    assert_non_null(strstr(text, "device float *half_ "));
    assert_non_null(strstr(text, "constant float &simd_lane_ "));
    free(text);
}

static void too_many_arguments(void **state) {
    (void)state;
    const char *code;
    text_buffer source = {0};
    text_add(&source, "kernel many(");
    for (int i = 0; i < 32; i++)
        text_add(&source, "%sx%d: f32[N]", i ? ", " : "", i);
    text_add(&source, ") -> (y: f32[N]) {\n    for tile y[n: B] { y[n] = x0[n]");
    for (int i = 1; i < 32; i++)
        text_add(&source, " + x%d[n]", i);
    text_add(&source, " }\n}\n");
    assert_null(printed(text_get(&source), &code));
    assert_string_equal(code, "E0551");
    text_free(&source);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(data_are_the_recipes),       cmocka_unit_test(formats_are_right),
                                       cmocka_unit_test(comparison_can_fail),        cmocka_unit_test(exchanges_stay_native),
                                       cmocka_unit_test(vectors_have_four_elements), cmocka_unit_test(names_are_legal),
                                       cmocka_unit_test(too_many_arguments)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
