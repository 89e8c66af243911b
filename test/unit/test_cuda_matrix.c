/* Texts of CUDA probe kernels: each compiles for the oldest architecture that has its instruction. Without NVRTC only that they are made. */
#include "probe/cuda_matrix.h"
#include "probe/access.h"
#include "run/cuda.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool can_compile(void) {
    return nvrtc_open_system()->found && nvrtc_open_system()->major >= 12 && nvrtc_open_system()->major < 99 &&
           !getenv("TILEC_QUICK"); /* not while NVRTC itself is watched */
}

static void compiles(const char *name, const char *text, const char *architecture) {
    arena *a = arena_new();
    diag_list diags;
    unsigned char *bytes = NULL;
    size_t length = 0;
    diag_init(&diags, a);
    if (!cuda_compile(name, text, architecture, &bytes, &length, &diags)) {
        diag_print_all(&diags, stderr, false);
        fail_msg("%s does not compile for %s", name, architecture);
    }
    free(bytes);
    arena_free(a);
}

static void texts(void **state) {
    (void)state;
    if (!can_compile())
        print_message("no NVRTC: not compiled\n");
    for (int n = 0; n < cuda_instruction_count; n++) {
        const cuda_instruction *i = &cuda_instructions[n];
        char *made[3] = {cuda_dots_text(i), cuda_onehot_text(i), cuda_rate_text(i)}, architecture[16];
        assert_non_null(made[0]);
        assert_true((made[1] == NULL) == i->warpgroup);
        assert_non_null(strstr(made[0], i->mnemonic));
        assert_true(i->warpgroup || strstr(made[2], i->mnemonic));
        assert_non_null(made[2]);
        snprintf(architecture, sizeof architecture, "sm_%d%s", i->from, i->warpgroup ? "a" : "");
        for (int t = 0; t < 3; t++) {
            if (made[t] && can_compile() && (t < 2 || n % 2 == 0)) /* of those that tell speeds every second */
                compiles(i->name, made[t], architecture);
            free(made[t]);
        }
        assert_ptr_equal(cuda_instruction_find(i->name), i);
    }
    assert_null(cuda_instruction_find("m16n8k16.f64"));
}

/* Operands elsewhere: one instruction of each tail. */
static void places(void **state) {
    (void)state;
    static const char *const names[] = {"wgmma.m64n8k16.f16", "wgmma.m64n8k32.e4m3xe5m2", "wgmma.m64n8k32.s8"};
    for (int n = 0; n < 3; n++)
        for (int place = PLACE_SWIZZLED; place < PLACE_COUNT; place++) {
            char *text = cuda_placed_text(cuda_instruction_find(names[n]), (cuda_place)place);
            assert_non_null(text);
            if (can_compile())
                compiles(names[n], text, "sm_90a");
            free(text);
        }
    assert_null(cuda_placed_text(cuda_instruction_find("m16n8k16.f16"), PLACE_SWIZZLED));
}

/* All of them as one text. */
static void accesses(void **state) {
    (void)state;
    arena *a = arena_new();
    text_buffer all = {0};
    int documented, kernels = 0;
    for (int i = 0; access_name("cuda:0", i, &documented); i++) {
        const char *text = access_text(a, "cuda:0", i), *name = text ? strstr(text, "touch(") : NULL;
        assert_true(documented >= 4);
        if (!text)
            continue;
        assert_non_null(name);
        text_add(&all, "%.*stouch%d%s", (int)(name - text), text, kernels++, name + strlen("touch"));
    }
    assert_true(kernels >= 10);
    if (can_compile())
        compiles("accesses", text_get(&all), "sm_90a");
    text_free(&all);
    arena_free(a);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(texts), cmocka_unit_test(places), cmocka_unit_test(accesses)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
