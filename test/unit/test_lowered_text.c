/* What lowering makes of every kernel in kernels/: the checker passes it, its text reads back to the same program, before and after
 * simplification, and simplification never makes it longer. */
#include "compile.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <dirent.h>
#include <stdlib.h>
#include <string.h>

static char *printed(const kernel_ir *k) {
    text_buffer b = {0};
    kernel_print(&b, k);
    return b.text;
}

static int statements(const kernel_block *b) {
    int count = b->items.count;
    for (int i = 0; i < b->items.count; i++)
        count += statements(&b->items.at[i]->body) + statements(&b->items.at[i]->otherwise);
    return count;
}

static void reads_back(arena *a, const kernel_ir *k, diag_list *diags) {
    if (!kernel_check(k, diags)) {
        diag_print_all(diags, stderr, false);
        fail_msg("%s: refused", k->name);
    }
    char *once = printed(k);
    kernel_ir *again = kernel_parse(a, "printed", once, diags);
    if (!again || !kernel_check(again, diags)) {
        diag_print_all(diags, stderr, false);
        fail_msg("%s: its text does not read back:\n%s", k->name, once);
    }
    char *twice = printed(again);
    assert_string_equal(once, twice);
    assert_int_equal(kernel_private_bytes(k), kernel_private_bytes(again));
    free(once);
    free(twice);
}

static int check_kernel(const tile_module *m, const tile_kernel *source, diag_list *diags) {
    arena *a = arena_new();
    const target *c = target_find("c");
    compile_options o = {.target = c, .sample_statics = true};
    compiled_kernel out = {.module = m, .source = source};
    lowering lowered = {0};
    schedule_choice choice = {0};
    bool ok = compile_bind_statics(a, source, &o, &out, diags);
    tile_kernel *k = ok ? tile_specialise(a, source, out.statics.at, out.statics.count) : NULL;
    ok = ok && schedule_choose(a, m, k, c->machine(), NULL, 0, &choice, diags);
    k = ok ? tile_specialise(a, k, choice.bindings.at, choice.bindings.count) : NULL;
    const machine_model machine = schedule_machine(c->machine(), &choice.options);
    ok = ok && lower_kernel(a, k, &machine, &lowered, diags);
    if (!ok) {
        diag_print_all(diags, stderr, false);
        fail_msg("%s is not lowered", source->name);
    }
    int count = 0;
    for (int i = 0; i < lowered.plan->variants.count; i++) {
        kernel_ir *ir = lowered.plan->variants.at[i].kernel;
        int before = statements(&ir->body);
        reads_back(a, ir, diags);
        kernel_simplify(ir);
        reads_back(a, ir, diags);
        assert_true(statements(&ir->body) <= before);
        count++;
    }
    arena_free(a);
    return count;
}

static void kernels_read_back(void **state) {
    (void)state;
    DIR *d = opendir("kernels");
    if (!d)
        fail_msg("no folder kernels (run from the project's root)");
    int count = 0;
    for (struct dirent *e; (e = readdir(d));) {
        size_t length = strlen(e->d_name);
        if (length < 5 || strcmp(e->d_name + length - 5, ".tile"))
            continue;
        arena *a = arena_new();
        diag_list diags;
        diag_init(&diags, a);
        const tile_module *m = compile_load(a, arena_printf(a, "kernels/%s", e->d_name), NULL, &diags);
        assert_non_null(m);
        for (int i = 0; i < m->kernels.count; i++)
            count += check_kernel(m, m->kernels.at[i], &diags);
        arena_free(a);
    }
    closedir(d);
    assert_true(count >= 20);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(kernels_read_back)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
