/* The CUDA target: what its text does and does not hold, the entries for aligned arrays, conversions bit for bit, and what it refuses. */
#include "compile.h"
#include "run/run.h"
#include "target/cuda_helpers.h"
#include "target/gpu_plan.h"
#include <dlfcn.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

static const char kernels[] = "kernel add(a: f32[N], b: f32[N]) -> (y: f32[N]) { for tile y[i: B] { y[i] = a[i] + b[i] } }\n"
                              "kernel rows(x: f32[R, C]) -> (y: f32[R]) {\n"
                              "    for tile y[r: BR] { t: f32[r] = 0  for c: BC in C { t += sum[c](x[r, c]) }  y[r] = t }\n"
                              "}\n"
                              "kernel product(x: f16[K], w: f16[N, K]) -> (y: f32[N]) {\n"
                              "    for tile y[n: BN] { t: f32[n] = 0  for k: BK in K { t += x[k] @ w[n, k] }  y[n] = t }\n"
                              "}\n"
                              "kernel first(x: f32[R, C]) -> (y: f32[R]) where C >= 1 { for tile y[r: BR] { y[r] = x[r, 0] } }\n";

typedef struct fixture {
    arena *arena;
    diag_list diags;
    compiled_kernel compiled;
    gpu_program program;
} fixture;

static void open_kernel(fixture *f, const char *name) {
    *f = (fixture){.arena = arena_new()};
    diag_init(&f->diags, f->arena);
    tile_module *m = compile_load(f->arena, "kernels.tile", kernels, &f->diags);
    assert_non_null(m);
    compile_options o = {.target = target_find("cuda")};
    if (!compile_kernel(f->arena, m, tile_find_kernel(m, name), &o, &f->compiled, &f->diags) ||
        !cuda_program(f->arena, f->compiled.plan, &f->program, &f->diags)) {
        diag_print_all(&f->diags, stderr, false);
        fail_msg("%s is refused", name);
    }
}

static void close_kernel(fixture *f) {
    arena_free(f->arena);
}

static void warps_are_used(void **state) {
    (void)state;
    fixture f;
    open_kernel(&f, "rows");
    assert_non_null(strstr(f.program.text, "__shfl_xor_sync(0xffffffffu, "));
    assert_null(strstr(f.program.text, "lane_parts")); /* what legalisation for targets without subgroups makes */
    assert_null(strstr(f.program.text, "#include"));
    assert_non_null(
        strstr(f.program.text, "extern \"C\" __global__ void __launch_bounds__(128)\nrows_variant_0_narrow_aligned("));
    close_kernel(&f);
}

static void aligned_entries(void **state) {
    (void)state;
    fixture f;
    open_kernel(&f, "add"); /* one dimension: any extent */
    const gpu_entry *plain = &f.program.forms[GPU_PLAIN].at[0], *aligned = &f.program.forms[GPU_ALIGNED].at[0];
    assert_string_equal(aligned->name, "add_variant_0_aligned");
    assert_int_equal(aligned->divided.count, 0);
    assert_null(strstr(plain->text, "(const f32x4 *)"));
    assert_non_null(strstr(aligned->text, "*(const f32x4 *)&a["));
    assert_int_equal(plain->parameters.count, aligned->parameters.count);
    for (int i = 0; i < plain->parameters.count; i++) {
        assert_int_equal(plain->parameters.at[i].kind, aligned->parameters.at[i].kind);
        assert_int_equal(plain->parameters.at[i].position, aligned->parameters.at[i].position);
    }
    close_kernel(&f);
    open_kernel(&f, "product"); /* rows: the last extent alone counts */
    aligned = &f.program.forms[GPU_ALIGNED].at[0];
    const kernel_ir *k = proved_plan_get(f.compiled.plan)->variants.at[0].kernel;
    assert_int_equal(aligned->divided.count, 1);
    assert_string_equal(k->symbols.at[aligned->divided.at[0]]->name, "K");
    assert_non_null(strstr(aligned->text, "*(const u16x8 *)&w["));
    close_kernel(&f);
    open_kernel(&f, "first"); /* no vector: one entry */
    assert_null(f.program.forms[GPU_ALIGNED].at[0].name);
    assert_null(strstr(f.program.text, "_aligned"));
    close_kernel(&f);
}

/* Narrow forms are the same kernels with other widths. */
static void narrow_entries(void **state) {
    (void)state;
    fixture f;
    open_kernel(&f, "product");
    assert_int_equal(gpu_quickest_form(&f.program, 0), GPU_NARROW_ALIGNED);
    for (int form = 0; form < GPU_FORMS; form++) {
        const gpu_entry *e = &f.program.forms[form].at[0], *plain = &f.program.forms[GPU_PLAIN].at[0];
        assert_int_equal(e->narrow, form == GPU_NARROW || form == GPU_NARROW_ALIGNED);
        assert_int_equal(e->parameters.count, plain->parameters.count);
        assert_int_equal(strstr(e->text, "long long") != NULL, !e->narrow);
        for (int i = 0; i < e->parameters.count; i++)
            assert_int_equal(e->parameters.at[i].kind, plain->parameters.at[i].kind);
        assert_int_equal(gpu_module_of(&f.program, 0, (gpu_form)form), form);
        assert_non_null(gpu_module_entry(&f.program, form, 0));
    }
    close_kernel(&f);
}

static void other_subgroups_are_refused(void **state) {
    (void)state;
    static const char text[] =
        "kernel k {\n symbol R\n task (r < R)\n subgroup (g < 2)\n lane (l < 16)\n global in x: f32[R, 64]\n"
        " global out y: f32[R, 64] cells (i, j) where j < 32\n store y[r, 16 * g + l] <- subgroup_sum(x[r, 16 * g + l])\n}\n";
    arena *a = arena_new();
    diag_list diags;
    diag_init(&diags, a);
    kernel_ir *k = kernel_parse(a, "kernel", text, &diags);
    assert_non_null(k);
    launch_plan plan = {.name = "k"};
    plan_variant v = {.kernel = k};
    VEC_PUSH(a, plan.variants, v);
    gpu_program program;
    assert_false(gpu_plan_print(a, &plan, &cuda_gpu, &program, &diags));
    assert_int_equal(diags.items.count > 0 && !strcmp(diags.items.at[0]->code, "E0551"), 1);
    arena_free(a);
}

/* What another lane hands over may be any lane's value: an index made of it is not the own lane's. */
static bool is_proved(const char *body, int columns) {
    arena *a = arena_new();
    diag_list diags;
    proof verdicts = {0};
    diag_init(&diags, a);
    const char *text = arena_printf(a,
                                    "kernel k {\n symbol R\n task (r < R)\n lane (l < 32)\n global in x: f32[R, %d]\n"
                                    " global out y: f32[R, 16] cells (i, j) where j < 16\n register v: i32[]\n%s\n}\n",
                                    columns, body);
    kernel_ir *k = kernel_parse(a, "kernel", text, &diags);
    if (!k || !kernel_check(k, &diags)) {
        diag_print_all(&diags, stderr, false);
        fail_msg("the test's own kernel is refused:\n%s", text);
    }
    bool good = prove_kernel(a, k, cuda_limits(), &verdicts, &diags);
    arena_free(a);
    return good;
}

static void other_lanes_values(void **state) {
    (void)state;
    static const char own[] = " store v[] <- convert(i32, index(l))\n if l < 16 {\n  let n: index = convert(index, v[])\n  store "
                              "y[r, l] <- x[r, n]\n }",
                      other[] = " store v[] <- shuffle_xor(convert(i32, index(l)), 16:i32)\n if l < 16 {\n  let n: index = "
                                "convert(index, v[])\n  store y[r, l] <- x[r, n]\n }",
                      again[] = " store v[] <- convert(i32, index(l))\n store v[] <- max(v[], shuffle_xor(v[], 16:i32))\n if l < "
                                "16 {\n  let n: index = convert(index, v[])\n"
                                "  store y[r, l] <- x[r, n]\n }";
    assert_true(is_proved(own, 32));
    assert_true(is_proved(other, 32));
    assert_true(is_proved(again, 32));
    assert_false(is_proved(other, 31)); /* lane 15 reads x[r, 31] */
    assert_false(is_proved(again, 31));
    assert_false(is_proved(other, 16)); /* with the own lane's value it would be right */
    assert_false(is_proved(again, 16));
}

/* ---- conversions: the emitted functions as C, against base/element.c ---- */

static const struct conversion {
    element_type to, from;
    bool saturates;
    const char *name, *declared; /* the function that the test calls, and how it calls the emitted one */
} conversions[] = {
    {ELEMENT_F32, ELEMENT_E4M3, false, "from_e4m3", "float from_e4m3(unsigned x) { return f32_from_e4m3((unsigned char)x); }"},
    {ELEMENT_F32, ELEMENT_E5M2, false, "from_e5m2", "float from_e5m2(unsigned x) { return f32_from_e5m2((unsigned char)x); }"},
    {ELEMENT_F32, ELEMENT_BF16, false, "from_bf16", "float from_bf16(unsigned x) { return f32_from_bf16((unsigned short)x); }"},
    {ELEMENT_E4M3, ELEMENT_F32, false, "to_e4m3", "unsigned to_e4m3(float x) { return e4m3_from_f32(x); }"},
    {ELEMENT_E5M2, ELEMENT_F32, false, "to_e5m2", "unsigned to_e5m2(float x) { return e5m2_from_f32(x); }"},
    {ELEMENT_E4M3, ELEMENT_F32, true, "to_e4m3_saturate",
     "unsigned to_e4m3_saturate(float x) { return e4m3_from_f32_saturate(x); }"},
    {ELEMENT_E5M2, ELEMENT_F32, true, "to_e5m2_saturate",
     "unsigned to_e5m2_saturate(float x) { return e5m2_from_f32_saturate(x); }"},
    {ELEMENT_BF16, ELEMENT_F32, false, "to_bf16", "unsigned to_bf16(float x) { return bf16_from_f32(x); }"},
    {ELEMENT_TF32, ELEMENT_F32, false, "to_tf32", "unsigned to_tf32(float x) { return __float_as_uint(tf32_from_f32(x)); }"}};
enum { CONVERSIONS = sizeof conversions / sizeof *conversions };

static uint32_t bits_of(float x) {
    uint32_t b;
    memcpy(&b, &x, sizeof b);
    return b;
}
static float float_of(uint32_t b) {
    float x;
    memcpy(&x, &b, sizeof x);
    return x;
}

static float expected_float(element_type from, uint32_t x) {
    return from == ELEMENT_E4M3   ? e4m3_to_f32((uint8_t)x)
           : from == ELEMENT_E5M2 ? e5m2_to_f32((uint8_t)x)
                                  : bf16_to_f32((uint16_t)x);
}
static unsigned expected_bits(const struct conversion *c, float x) {
    return c->to == ELEMENT_E4M3   ? f32_to_e4m3(x, c->saturates)
           : c->to == ELEMENT_E5M2 ? f32_to_e5m2(x, c->saturates)
           : c->to == ELEMENT_TF32 ? bits_of(f32_to_tf32(x))
                                   : f32_to_bf16(x);
}

static void conversions_bit_for_bit(void **state) {
    (void)state;
    if (getenv("TILEC_QUICK")) /* valgrind knows no AVX-512 */
        skip();
    arena *a = arena_new();
    diag_list diags;
    diag_init(&diags, a);
    cfamily p = {.arena = a, .dialect = cuda_gpu.values, .diags = &diags};
    text_buffer text = {0};
    for (int i = 0; i < CONVERSIONS; i++)
        cuda_helper(&p, conversions[i].saturates ? HELPER_CONVERT_SATURATE : HELPER_CONVERT, conversions[i].to,
                    conversions[i].from, 1);
    text_add(&text,
             "#define __device__\n#define __host__\n"
             "static float __uint_as_float(unsigned x) { union { unsigned u; float f; } b = {x}; return b.f; }\n"
             "static unsigned __float_as_uint(float x) { union { float f; unsigned u; } b = {x}; return b.u; }\n%s",
             text_get(&p.prelude));
    for (int i = 0; i < CONVERSIONS; i++)
        text_add(&text, "__attribute__((visibility(\"default\"))) %s\n", conversions[i].declared);
    bool hit;
    char *path = cache_compile(text_get(&text), "", &hit, &diags);
    if (!path)
        diag_print_all(&diags, stderr, false);
    assert_non_null(path);
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    assert_non_null(library);
    for (int i = 0; i < CONVERSIONS; i++) {
        const struct conversion *c = &conversions[i];
        float (*widen)(unsigned);
        unsigned (*narrow)(float);
        void *symbol = dlsym(library, c->name);
        assert_non_null(symbol);
        memcpy(&widen, &symbol, sizeof symbol);
        memcpy(&narrow, &symbol, sizeof symbol);
        if (c->to == ELEMENT_F32) {
            for (uint32_t x = 0; x < (c->from == ELEMENT_BF16 ? 65536u : 256u); x++) {
                float got = widen(x), wanted = expected_float(c->from, x);
                if (isnan(wanted) ? !isnan(got) : bits_of(got) != bits_of(wanted))
                    fail_msg("%s(0x%x): 0x%08x, not 0x%08x", c->name, x, bits_of(got), bits_of(wanted));
            }
            continue;
        }
        for (uint64_t n = 0; n < 1u << 22; n++) { /* every exponent, both signs, digits around where rounding turns */
            uint32_t x = (uint32_t)(n << 10) | (uint32_t)(n * 2654435761u >> 23 & (n % 3 ? 0x3ff : 0)) | (n % 5 == 0);
            unsigned got = narrow(float_of(x)), wanted = expected_bits(c, float_of(x));
            bool both_nan = c->to == ELEMENT_BF16   ? (got & wanted & 0x7fff) > 0x7f80
                            : c->to == ELEMENT_TF32 ? isnan(float_of(got)) && isnan(float_of(wanted))
                            : c->to == ELEMENT_E4M3 ? (got & wanted & 0x7f) == 0x7f
                                                    : (got & 0x7f) > 0x7c && (wanted & 0x7f) > 0x7c;
            if (got != wanted && !both_nan) /* any NaN will do */
                fail_msg("%s(0x%08x): 0x%x, not 0x%x", c->name, x, got, wanted);
        }
    }
    dlclose(library);
    free(path);
    text_free(&text);
    text_free(&p.prelude);
    arena_free(a);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(warps_are_used),     cmocka_unit_test(aligned_entries),
                                       cmocka_unit_test(narrow_entries),     cmocka_unit_test(other_subgroups_are_refused),
                                       cmocka_unit_test(other_lanes_values), cmocka_unit_test(conversions_bit_for_bit)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
