/* Texts of CUDA probe kernels: each compiles for the oldest architecture that has its instruction, and for sm_90a. Without NVRTC only that they are made. */
#include "probe/cuda_matrix.h"
#include "run/cuda.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void compiles(const cuda_instruction *i, const char *text, const char *architecture) {
    arena *a = arena_new();
    diag_list diags;
    unsigned char *bytes = NULL;
    size_t length = 0;
    diag_init(&diags, a);
    if (!cuda_compile(i->name, text, architecture, &bytes, &length, &diags)) {
        diag_print_all(&diags, stderr, false);
        fail_msg("%s does not compile for %s", i->name, architecture);
    }
    free(bytes);
    arena_free(a);
}

static void texts(void **state) {
    (void)state;
    bool quick = getenv("TILEC_QUICK") != NULL,
         there = nvrtc_open_system()->found && nvrtc_open_system()->major >= 12 && nvrtc_open_system()->major < 99;
    if (!there)
        print_message("no NVRTC: not compiled\n");
    for (int n = 0; n < cuda_instruction_count; n++) {
        const cuda_instruction *i = &cuda_instructions[n];
        char *made[3] = {cuda_dots_text(i), cuda_onehot_text(i), cuda_rate_text(i)}, architecture[16];
        assert_non_null(made[0]);
        assert_true((made[1] == NULL) == i->warpgroup);
        assert_non_null(strstr(made[0], i->mnemonic));
        assert_non_null(strstr(made[2], i->mnemonic));
        snprintf(architecture, sizeof architecture, "sm_%d%s", i->from, i->warpgroup ? "a" : "");
        for (int t = 0; t < 3; t++) {
            if (made[t] && there && !quick) { /* not while NVRTC itself is watched */
                compiles(i, made[t], architecture);
                if (!i->warpgroup && n % 4 == 3)
                    compiles(i, made[t], "sm_90a");
            }
            free(made[t]);
        }
        assert_ptr_equal(cuda_instruction_find(i->name), i);
    }
    assert_null(cuda_instruction_find("m16n8k16.f64"));
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(texts)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
