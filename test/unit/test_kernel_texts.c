/* The sequential texts of test/kernel-ir are right: everything about them is proved for all launch values. Each broken twin, made by
 * changing one place of the text, is refuted. */
#include "prove/prove.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

static const target_limits limits = {
    .target = "c", .private_bytes = 1 << 20, .threads_per_block = 1, .index_bits = 64, .largest_extent = INT32_MAX};

static char *read_text(const char *name) {
    char path[256];
    snprintf(path, sizeof path, "test/kernel-ir/%s.kir", name);
    FILE *f = fopen(path, "rb");
    if (!f)
        fail_msg("cannot read %s (run from the project's root)", path);
    fseek(f, 0, SEEK_END);
    long size = ftell(f);
    rewind(f);
    char *text = calloc(1, (size_t)size + 1);
    assert_int_equal(fread(text, 1, (size_t)size, f), (size_t)size);
    fclose(f);
    return text;
}

static bool judge(const char *name, const char *text, proof *out, bool show) {
    arena *a = arena_new();
    diag_list diags;
    diag_init(&diags, a);
    diag_add_source(&diags, name, text);
    kernel_ir *k = kernel_parse(a, name, text, &diags);
    assert_non_null(k);
    bool proved = prove_kernel(a, k, &limits, out, &diags);
    if (show && !proved)
        diag_print_all(&diags, stderr, false);
    arena_free(a);
    return proved;
}

/* Under sanitizers and valgrind a sample has to do. */
static size_t step(void) {
    return getenv("TILEC_QUICK") ? 3 : 1;
}

static void sequential_texts_are_proved(void **state) {
    (void)state;
    static const char *const names[] = {"packed_matmul", "softmax_argmax", "activations", "quantize", "counter_random"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i += step()) {
        char *text = read_text(names[i]);
        proof p;
        if (!judge(names[i], text, &p, true))
            fail_msg("%s is not proved", names[i]);
        free(text);
    }
}

static void broken_twins_are_refuted(void **state) {
    (void)state;
    static const struct {
        const char *name, *was, *becomes;
    } twins[] = {
        {"packed_matmul", "for i in mi .. 12", "for i in mi + 1 .. 12"}, /* a row of the panel never zeroed */
        {"packed_matmul", "if 6 * p + r < mi", "if 6 * p + r <= mi"},    /* a row past the tile enters the sum */
        {"packed_matmul", "for k0 in 0 .. K step 128", "for k0 in 0 .. K - 127 step 128"}, /* the last K mod 128 dropped */
        {"packed_matmul", "active nj - j <- total", "active nj - j + 1 <- total"},         /* a column past the tile written */
        {"softmax_argmax", "max(n, 0) .. C", "max(n, 1) .. C"},                            /* a cell never written when n = 0 */
        {"quantize", "global out q: i8[R, 32 * B]", "global out q: i8[R, 32 * B - 1]"},    /* the last element outside */
        {"counter_random", "min(N, 1024 * t + 1024)", "min(N, 1024 * t + 1040)"},          /* two tasks write the same cells */
    };
    for (size_t i = 0; i < sizeof twins / sizeof *twins; i += step()) {
        char *text = read_text(twins[i].name), *at = strstr(text, twins[i].was);
        assert_non_null(at);
        char *twin = calloc(1, strlen(text) + strlen(twins[i].becomes) + 1);
        memcpy(twin, text, (size_t)(at - text));
        strcat(twin, twins[i].becomes);
        strcat(twin, at + strlen(twins[i].was));
        proof p;
        if (judge(twins[i].name, twin, &p, false) || !p.refuted)
            fail_msg("%s with `%s` is not refuted", twins[i].name, twins[i].becomes);
        free(twin);
        free(text);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sequential_texts_are_proved),
        cmocka_unit_test(broken_twins_are_refuted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
