/* Aligned forms: a copy is the kernel it was made of, the door judges every mark of the form that runs, and broken twins are refuted and caught by the
 * simulator. */
#include "compile.h"
#include "kernel/align.h"
#include "sim/sim.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <dirent.h>
#include <stdlib.h>
#include <string.h>

static char *read_text(arena *a, const char *path) {
    FILE *f = fopen(path, "rb");
    char *text = arena_alloc(a, 1 << 18);
    assert_non_null(f);
    assert_true(fread(text, 1, (1 << 18) - 1, f) > 0);
    fclose(f);
    return text;
}

static void same_text(const kernel_ir *x, const kernel_ir *y) {
    text_buffer a = {0}, b = {0};
    kernel_print(&a, x);
    kernel_print(&b, y);
    assert_string_equal(text_get(&a), text_get(&b));
    text_free(&a);
    text_free(&b);
}

/* The copy reads as the original does, is well formed, and shares no statement with it: marking one leaves the other alone. */
static void copies_are_the_same(void **state) {
    (void)state;
    DIR *d = opendir("test/kernel-ir");
    int count = 0;
    assert_non_null(d);
    for (struct dirent *e; (e = readdir(d));) {
        char path[512];
        size_t n = strlen(e->d_name);
        if (n < 5 || strcmp(e->d_name + n - 4, ".kir"))
            continue;
        snprintf(path, sizeof path, "test/kernel-ir/%s", e->d_name);
        arena *a = arena_new();
        diag_list diags;
        diag_init(&diags, a);
        char *text = read_text(a, path);
        kernel_ir *k = kernel_parse(a, path, text, &diags), *again = kernel_parse(a, path, text, &diags);
        assert_non_null(k);
        kernel_ir *copy = kernel_copy(a, k);
        same_text(k, copy);
        assert_true(kernel_check(copy, &diags));
        assert_true(kernel_is_aligned_form(copy, k));
        kernel_align_shared(copy);
        kernel_simplify(copy);
        same_text(k, again);
        count++;
        arena_free(a);
    }
    closedir(d);
    assert_true(count >= 20);
}

static launch_plan *plan_of(arena *a, const char *file, const char *kernel, diag_list *diags) {
    compiled_kernel out = {0};
    compile_options o = {.target = target_find("cuda"), .sample_statics = true};
    tile_module *m = compile_load(a, file, read_text(a, file), diags);
    assert_non_null(m);
    for (int i = 0; i < m->kernels.count; i++)
        if (!strcmp(m->kernels.at[i]->name, kernel)) {
            assert_true(compile_kernel(a, m, m->kernels.at[i], &o, &out, diags));
            assert_non_null(out.lowered.plan->variants.at[0].aligned);
            assert_null(out.proof.left_out);
            return out.lowered.plan;
        }
    fail_msg("no kernel `%s`", kernel);
    return NULL;
}

typedef enum breakage { MARK_ALL, SHIFT, FORGET_ASSUMPTION, FORGET_DIVIDED, ALIGN_PLAIN } breakage;

typedef struct breaker {
    breakage how;
    kernel_ir *kernel;
    bool done;
} breaker;

static void break_access(void *context, kernel_access *access, bool is_write) {
    breaker *b = context;
    (void)is_write;
    if (b->how == MARK_ALL && access->lanes > 1 && access->array->space == SPACE_GLOBAL &&
        access->vector_dim == access->array->rank - 1) {
        access->aligned = true;
        access->array->alignment = PLAN_ALIGNMENT;
    }
    if (b->how == SHIFT && access->aligned && !b->done) {
        index_expr **at = &access->indices[access->vector_dim];
        *at = ix_sub(b->kernel->arena, *at, ix_const(b->kernel->arena, 2));
        b->done = true;
    }
}

static void break_block(breaker *b, const kernel_block *block) {
    const kernel_visitor visitor = {.context = b, .access = break_access};
    for (int i = 0; i < block->items.count; i++) {
        if (block->items.at[i]->value)
            kernel_visit_stmt(block->items.at[i], &visitor);
        break_block(b, &block->items.at[i]->body);
        break_block(b, &block->items.at[i]->otherwise);
    }
}

static void broken_twins_are_refuted(void **state) {
    (void)state;
    static const struct {
        const char *file, *kernel;
        breakage how;
        const char *property; /* the first that is refuted */
    } cases[] = {
        {"kernels/elementwise.tile", "vec_add", MARK_ALL, "alignment"}, /* the ragged tail's masks part the lanes */
        {"kernels/normalise.tile", "rms_norm", FORGET_ASSUMPTION, "alignment"},
        {"kernels/normalise.tile", "rms_norm", FORGET_DIVIDED, "launch plan"},
        {"kernels/normalise.tile", "rms_norm", ALIGN_PLAIN, "launch plan"},
        {"kernels/normalise.tile", "rms_norm", SHIFT, NULL}, /* whatever else is wrong, alignment is */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        arena *a = arena_new();
        diag_list diags;
        proof p;
        diag_init(&diags, a);
        launch_plan *plan = plan_of(a, cases[i].file, cases[i].kernel, &diags);
        plan_variant *v = &plan->variants.at[0];
        breaker b = {cases[i].how, v->aligned, false};
        assert_int_equal(diags.items.count, 0);
        if (b.how == FORGET_ASSUMPTION || b.how == FORGET_DIVIDED) {
            assert_true(v->divided.count > 0);
            v->divided.count = 0;
        }
        if (b.how == FORGET_ASSUMPTION)
            v->aligned->assumptions.count = v->kernel->assumptions.count;
        if (b.how == ALIGN_PLAIN)
            v->kernel->arrays.at[0]->alignment = PLAN_ALIGNMENT;
        break_block(&b, &v->aligned->body);
        assert_int_equal(kernel_is_aligned_form(v->aligned, v->kernel), b.how != SHIFT);
        assert_null(prove_plan(a, plan, target_find("cuda")->limits(), &p, &diags));
        assert_true(diags.items.count > 0);
        const proof_item *found = NULL;
        for (int j = 0; j < p.items.count; j++) {
            const proof_item *t = &p.items.at[j];
            if (t->verdict == VERDICT_REFUTED && !found &&
                !strcmp(t->property, cases[i].property ? cases[i].property : "alignment"))
                found = t;
        }
        if (!found)
            diag_print_all(&diags, stderr, false);
        assert_non_null(found);
        if (!strcmp(found->property, "alignment")) {
            sim_report report;
            bool seen = false;
            for (uint64_t seed = 0; seed < 8 && !seen; seed++) {
                sim_options options = {.seed = seed};
                seen = !sim_witness(a, v->aligned, found->witness, &options, &report, &diags);
            }
            assert_true(seen);
        }
        arena_free(a);
    }
}

/* Seven extents that may each have any residue: too many cases to try. The kernel itself is proved, and goes on without the form. */
static void what_is_not_judged_is_left_out(void **state) {
    (void)state;
    static const char text[] =
        "kernel k { symbol A, B, C, D, E, F, G, H task (i < A) global in x: f32[A, B, C, D, E, F, G, H] global out y: f32[A]\n"
        "if 1 <= B and 1 <= C and 1 <= D and 1 <= E and 1 <= F and 1 <= G and 4 <= H { let v: f32x4 = x[i, 0, 0, 0, 0, 0, 0, "
        "0:4] }\n"
        "store y[i] <- 0:f32 }";
    arena *a = arena_new();
    diag_list diags;
    proof p;
    diag_init(&diags, a);
    diag_add_source(&diags, "k", text);
    kernel_ir *k = kernel_parse(a, "k", text, &diags);
    if (!k)
        diag_print_all(&diags, stderr, false);
    assert_non_null(k);
    launch_plan plan = {.name = "k"};
    plan_variant v = {.kernel = k, .aligned = kernel_copy(a, k)};
    breaker b = {MARK_ALL, v.aligned, false};
    break_block(&b, &v.aligned->body);
    VEC_PUSH(a, plan.variants, v);
    const proved_plan *proved = prove_plan(a, &plan, target_find("cuda")->limits(), &p, &diags);
    diag_print_all(&diags, stderr, false);
    assert_non_null(proved);
    assert_non_null(p.left_out);
    assert_non_null(strstr(p.left_out, "too many extents"));
    assert_int_equal(p.proved, p.items.count);
    assert_int_equal(diags.items.count, 0);
    assert_null(proved_plan_get(proved)->variants.at[0].aligned);
    assert_non_null(plan.variants.at[0].aligned);
    arena_free(a);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(what_is_not_judged_is_left_out), cmocka_unit_test(copies_are_the_same),
                                       cmocka_unit_test(broken_twins_are_refuted)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
