/* Every kernel that is shipped, or accepted by a test, is proved in the form of each target, quickly: for a thread of the processor and for a block
 * of threads. */
#include "compile.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <dirent.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_KERNELS = 512 };

typedef struct times {
    double of[MOST_KERNELS];
    char slowest[64];
    int count;
} times;

static bool quick(void) {
    return getenv("TILEC_QUICK") != NULL; /* a sample: every 90th kernel */
}

static void prove_kernel_for(const tile_module *m, const tile_kernel *k, const char *target, times *t, diag_list *diags) {
    static int turn;
    if (quick() && turn++ % 90)
        return;
    arena *a = arena_new();
    compile_options o = {.target = target_find(target), .sample_statics = true};
    compiled_kernel out = {0};
    assert_non_null(o.target);
    bool good = compile_kernel(a, m, k, &o, &out, diags);
    if (!good || out.proof.unknown || out.proof.refuted || out.proof.left_out) {
        diag_print_all(diags, stderr, false);
        fail_msg("%s for %s: %d proved, %d refuted, %d not proved, left out: %s", k->name, target, out.proof.proved,
                 out.proof.refuted, out.proof.unknown, out.proof.left_out ? out.proof.left_out : "nothing");
    }
    assert_non_null(out.plan);
    if (t && t->count < MOST_KERNELS) {
        bool slowest = true;
        for (int i = 0; i < t->count; i++)
            slowest = slowest && out.proof.milliseconds > t->of[i];
        if (slowest)
            snprintf(t->slowest, sizeof t->slowest, "%s", k->name);
        t->of[t->count++] = out.proof.milliseconds;
    }
    arena_free(a);
}

static int prove_folder(const char *folder, const char *target, times *t) {
    DIR *d = opendir(folder);
    assert_non_null(d);
    int count = 0;
    for (struct dirent *e; (e = readdir(d));) {
        char path[512];
        size_t n = strlen(e->d_name);
        if (n < 6 || strcmp(e->d_name + n - 5, ".tile"))
            continue;
        snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
        arena *a = arena_new();
        diag_list diags;
        diag_init(&diags, a);
        FILE *f = fopen(path, "rb");
        assert_non_null(f);
        char *text = arena_alloc(a, 1 << 18);
        assert_true(fread(text, 1, (1 << 18) - 1, f) > 0);
        fclose(f);
        tile_module *m = compile_load(a, path, text, &diags);
        assert_non_null(m);
        for (int i = 0; i < m->kernels.count; i++)
            prove_kernel_for(m, m->kernels.at[i], target, t, &diags);
        count += m->kernels.count;
        arena_free(a);
    }
    closedir(d);
    return count;
}

static int by_size(const void *x, const void *y) {
    double a = *(const double *)x, b = *(const double *)y;
    return (a > b) - (a < b);
}

/* In processor time of this thread; a slow or busy machine may take some times longer than the 50 and 250 ms wished for. */
static void prove_shipped(const char *target) {
    times t = {.count = 0};
    assert_true(prove_folder("kernels", target, &t) >= 30);
    if (quick() && !t.count) /* none of the sample */
        return;
    assert_true(t.count > 0);
    qsort(t.of, (size_t)t.count, sizeof *t.of, by_size);
    double median = t.of[t.count / 2], worst = t.of[t.count - 1];
    fprintf(stderr, "%d kernels for %s: median %.0f ms, worst %.0f ms (%s)\n", t.count, target, median, worst, t.slowest);
    if (!quick())
        assert_true(median < 4 * 50 && worst < 4 * 250);
}

static void shipped_for_a_thread(void **state) {
    (void)state;
    prove_shipped("c");
    if (!quick())
        prove_shipped("opencl_cpu"); /* less memory for a task */
}
static void shipped_for_a_block(void **state) {
    (void)state;
    prove_shipped("opencl");
}
static void shipped_for_warps(void **state) { /* operands of products in shared memory, aligned forms */
    (void)state;
    prove_shipped("cuda");
    prove_shipped("metal");
}
static void accepted_for_a_thread(void **state) {
    (void)state;
    assert_true(prove_folder("test/accept", "c", NULL) >= 30);
}
static void accepted_for_a_block(void **state) {
    (void)state;
    assert_true(prove_folder("test/accept", "opencl", NULL) >= 30);
}

static void accepted_for_warps(void **state) {
    (void)state;
    assert_true(prove_folder("test/accept", "cuda", NULL) >= 30);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(shipped_for_a_thread),  cmocka_unit_test(shipped_for_a_block),
                                       cmocka_unit_test(accepted_for_a_thread), cmocka_unit_test(accepted_for_a_block),
                                       cmocka_unit_test(shipped_for_warps),     cmocka_unit_test(accepted_for_warps)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
