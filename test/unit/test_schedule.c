/* Options of a schedule: what is legal for a target and a kernel, where errors stand and what they offer, and that each choice is honoured: the
 * Kernel IR, as proved, is of the form that was asked for. Values under them: test_lanes (blocks of threads), test/run/commands.py (the CPU). */
#include "compile.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char product[] = "kernel product(a: f16[M, K], b: f16[K, N]) -> (c: f32[M, N]) {\n"
                              "    for tile c[i: BM, j: BN] {\n"
                              "        acc: f32[i, j] = 0\n"
                              "        for k: BK in K { acc += a[i, k] @ b[k, j] }\n"
                              "        c[i, j] = acc\n"
                              "    }\n"
                              "}\n";
/* What `product` means, its operands exchanged and a range of one element beside. */
static const char exchanged[] = "kernel product(b: f16[U, K, N], a: f16[U, M, K]) -> (c: f32[U, M, N]) {\n"
                                "    for tile c[u: 1, i: BM, j: BN] {\n"
                                "        acc: f32[u, i, j] = 0\n"
                                "        for k: BK in K { acc += b[u, k, j] @ a[u, i, k] }\n"
                                "        c[u, i, j] = acc\n"
                                "    }\n"
                                "}\n";
static const char plain[] = "kernel product(a: f32[M, K], b: f32[K, N]) -> (c: f32[M, N]) {\n"
                            "    for tile c[i: BM, j: BN] {\n"
                            "        acc: f32[i, j] = 0\n"
                            "        for k: BK in K { acc += a[i, k] @ b[k, j] }\n"
                            "        c[i, j] = acc\n"
                            "    }\n"
                            "}\n";
static const char along_sum[] = "kernel product(a: f32[M, K], b: f32[N, K]) -> (c: f32[M, N]) {\n"
                                "    for tile c[i: BM, j: BN] {\n"
                                "        acc: f32[i, j] = 0\n"
                                "        for k: BK in K { acc += a[i, k] @ b[j, k] }\n"
                                "        c[i, j] = acc\n"
                                "    }\n"
                                "}\n";
static const char rounded[] = "kernel product(a: f32[M, K], b: f32[K, N]) -> (c: f32[M, N]) {\n"
                              "    for tile c[i: BM, j: BN] {\n"
                              "        acc: f32[i, j] = 0\n"
                              "        for k: BK in K { acc += f16(a[i, k]) @ f16(b[k, j]) }\n"
                              "        c[i, j] = acc\n"
                              "    }\n"
                              "}\n";
static const char sums[] = "kernel sums(x: f32[R, C]) -> (y: f32[R]) {\n"
                           "    for tile y[r: BR] {\n"
                           "        s: f32[r] = 0\n"
                           "        for c: BC in C { s += sum[c](x[r, c]) }\n"
                           "        y[r] = s\n"
                           "    }\n"
                           "}\n";

typedef struct trial {
    arena *arena;
    diag_list diags;
    compiled_kernel c;
    bool good;
} trial;

/* Compiles the text's kernel under its own schedule and one more setting (key NULL: none). */
static trial try_setting(const char *kernel, const char *schedule, const char *target, const char *key, const char *value) {
    trial t = {.arena = arena_new()};
    diag_init(&t.diags, t.arena);
    const char *text = arena_printf(t.arena, "%s%s", kernel, schedule ? schedule : "");
    tile_module *m = compile_load(t.arena, "x.tile", text, &t.diags);
    if (!m) {
        diag_print_all(&t.diags, stderr, false);
        fail_msg("the text is not accepted");
        return t;
    }
    const schedule_setting s = {.key = key, .value = value};
    const compile_options o = {
        .target = target_find(target), .settings = &s, .setting_count = key != NULL, .sample_statics = true};
    t.good = compile_kernel(t.arena, m, m->kernels.at[0], &o, &t.c, &t.diags);
    return t;
}

static void expect_refused(const char *kernel, const char *schedule, const char *target, const char *key, const char *value,
                           const char *code, int line, int column, const char *message, const char *mend) {
    trial t = try_setting(kernel, schedule, target, key, value);
    assert_false(t.good);
    assert_int_equal(t.diags.errors, 1);
    const diag *g = t.diags.items.at[0];
    assert_string_equal(g->code, code);
    assert_int_equal(g->span.line, line);
    assert_int_equal(g->span.column, column);
    if (!strstr(g->message, message))
        fail_msg("`%s` does not say `%s`", g->message, message);
    assert_non_null(g->caret);
    assert_string_equal(g->caret, mend);
    arena_free(t.arena);
}

static trial expect_accepted(const char *kernel, const char *schedule, const char *target, const char *key, const char *value,
                             const char *text) {
    trial t = try_setting(kernel, schedule, target, key, value);
    if (!t.good)
        diag_print_all(&t.diags, stderr, false);
    assert_true(t.good);
    assert_int_equal(t.c.proof.refuted + t.c.proof.unknown, 0);
    if (!strstr(t.c.schedule.text, text))
        fail_msg("`%s` does not say `%s`", t.c.schedule.text, text);
    assert_non_null(strstr(t.c.lowered.plan->variants.at[0].kernel->schedule, text)); /* provenance */
    return t;
}

static bool has_route(const trial *t, const char *words) {
    for (int i = 0; i < t->c.lowered.routes.count; i++)
        if (strstr(t->c.lowered.routes.at[i], words))
            return true;
    return false;
}

static int value_lanes(const kernel_value *v) {
    int most = v->lanes;
    for (int i = 0; i < v->operand_count; i++)
        most = value_lanes(v->operands[i]) > most ? value_lanes(v->operands[i]) : most;
    return most;
}

/* The widest access of a block. */
static int widest(const kernel_block *b) {
    int most = 1;
    for (int i = 0; i < b->items.count; i++) {
        const kernel_stmt *s = b->items.at[i];
        int own = s->value                ? value_lanes(s->value)
                  : s->kind == KSTMT_COPY ? kernel_row_lanes(s)
                                          : 1,
            inner = widest(&s->body), other = widest(&s->otherwise);
        most = own > most ? own : most;
        most = inner > most ? inner : most;
        most = other > most ? other : most;
    }
    return most;
}

static int64_t extent(const kernel_ir *ir, int level, int d) {
    int64_t n = 0;
    assert_true(ix_is_const(ir->levels.at[level].extents[d], &n));
    return n;
}

static const kernel_ir *kernel_of(const trial *t) {
    return t->c.lowered.plan->variants.at[0].kernel;
}

static void vectors(void **state) {
    (void)state;
    const int last = getenv("TILEC_QUICK") ? 1 : 3; /* under valgrind: one target */
    for (int n = 1; n <= 4; n *= 2)
        for (int on = 0; on < last; on++) {
            char value[12], said[24];
            snprintf(value, sizeof value, "%d", n);
            snprintf(said, sizeof said, "vector = %d", n);
            /* Metal's simdgroups load products' operands without vectors of ours, unless they are staged. */
            trial t = expect_accepted(product, on == 2 ? "schedule product for metal { operands = staged }\n" : NULL,
                                      (const char *[]){"c", "cuda", "metal"}[on], "vector", value, said);
            assert_int_equal(widest(&kernel_of(&t)->body), n);
            arena_free(t.arena);
        }
    expect_refused(product, NULL, "cuda", "vector", "16", "E0504", 1, 8, "1 .. 8", "the nearest legal value is 8");
    expect_refused(product, NULL, "metal", "vector", "8", "E0504", 1, 8, "1 .. 4", "the nearest legal value is 4");
    expect_refused(product, NULL, "cuda", "vector", "3", "E0504", 1, 8, "not a power of two", "the nearest legal value is 2");
    expect_refused(product, NULL, "cuda", "vector", "0", "E0504", 1, 8, "not a power of two", "the nearest legal value is 1");
    expect_refused(product, NULL, "cuda", "vector", "-4", "E0504", 1, 8, "not a power of two", "the nearest legal value is 1");
    expect_refused(product, NULL, "cuda", "vector", "wide", "E0504", 1, 8, "not a whole number", "a power of two, 1 .. 8");
    expect_refused(product, "schedule product { BM = 64, vector = 3 }\n", "cuda", NULL, NULL, "E0504", 8, 29,
                   "not a power of two", "the nearest legal value is 2");
}

static void subgroups(void **state) {
    (void)state;
    trial t = expect_accepted(product, NULL, "cuda", "subgroups", "8", "subgroups = 8");
    assert_int_equal(extent(kernel_of(&t), 1, 0), 4);
    assert_int_equal(extent(kernel_of(&t), 1, 1), 2);
    assert_true(has_route(&t, "blocks of 256 threads in 8 subgroups"));
    arena_free(t.arena);
    t = expect_accepted(product, "schedule product for cuda { subgroups = 1 x 4 }\n", "cuda", NULL, NULL, "subgroups = 1 x 4");
    assert_int_equal(extent(kernel_of(&t), 1, 0), 1);
    assert_int_equal(extent(kernel_of(&t), 1, 1), 4);
    arena_free(t.arena);
    t = expect_accepted(product, NULL, "opencl", "subgroups", "1", "subgroups = 1");
    arena_free(t.arena);
    t = expect_accepted(sums, NULL, "metal", "subgroups", "2", "subgroups = 2");
    assert_int_equal(extent(kernel_of(&t), 1, 0), 2);
    arena_free(t.arena);
    /* what is set goes before what the module says */
    t = expect_accepted(product, "schedule product for cuda { subgroups = 1 x 4 }\n", "cuda", "subgroups", "2x2",
                        "subgroups = 2 x 2");
    arena_free(t.arena);
    expect_refused(product, NULL, "opencl", "subgroups", "16", "E0504", 1, 8, "1 .. 8", "the nearest legal value is 8");
    expect_refused(product, NULL, "cuda", "subgroups", "8x8", "E0504", 1, 8, "1 .. 32", "the nearest legal value is 8 x 4");
    expect_refused(product, NULL, "cuda", "subgroups", "2x", "E0504", 1, 8, "neither",
                   "as in `subgroups = 4` or `subgroups = 2 x 2`");
    expect_refused(product, NULL, "cuda", "subgroups", "6", "E0504", 1, 8, "powers of two", "the nearest legal value is 4");
    expect_refused(sums, "schedule sums { subgroups = 2 x 2 }\n", "cuda", NULL, NULL, "E0504", 8, 17,
                   "no product of rows and columns", "the nearest legal value is 4");
    expect_refused(product, "schedule product { subgroups = 2 x 2 }\n", "c", NULL, NULL, "E0503", 8, 20,
                   "not a choice that target c", "its tile sizes: BM, BN, BK");
}

static void operands(void **state) {
    (void)state;
    trial t = expect_accepted(product, NULL, "c", "operands", "direct", "operands = direct");
    assert_int_equal(kernel_of(&t)->arrays.count > 0, 1);
    for (int i = 0; i < kernel_of(&t)->arrays.count; i++)
        assert_int_not_equal(kernel_of(&t)->arrays.at[i]->layout.kind, LAYOUT_PANEL);
    assert_true(has_route(&t, "operand 1 of dot is read in place: the schedule says direct"));
    arena_free(t.arena);
    t = expect_accepted(product, "schedule product for c { operands = staged(f16) }\n", "c", NULL, NULL,
                        "operands = staged(f16)");
    assert_true(has_route(&t, "operand 1 of dot is copied to private memory as f16"));
    assert_true(has_route(&t, "operand 2 of dot is copied to private memory in panels as f16"));
    arena_free(t.arena);
    t = expect_accepted(rounded, NULL, "c", "operands", "staged(f16)", "operands = staged(f16)"); /* computed, but of that type */
    arena_free(t.arena);
    t = expect_accepted(product, NULL, "c", "operands", "staged", "operands = staged");
    assert_true(has_route(&t, "operand 1 of dot is copied"));
    arena_free(t.arena);
    expect_refused(product, NULL, "c", "operands", "staged(bf16)", "E0504", 1, 8, "would round an operand of f16",
                   "the nearest legal value is staged(f16)");
    expect_refused(product, NULL, "c", "operands", "staged(q8_0)", "E0504", 1, 8, "not a way",
                   "direct, staged, or staged(f32): copies of that element type");
    expect_refused(product, "schedule product for c { operands = staged(4) }\n", "c", NULL, NULL, "E0504", 8, 26, "not a way",
                   "direct, staged, or staged(f32): copies of that element type");
    expect_refused(sums, NULL, "c", "operands", "direct", "E0504", 1, 8, "has no product", "leave it out");
}

/* Blocks of threads: the form that was asked for, proved. */
static void operands_of_blocks(void **state) {
    (void)state;
    for (int on = 1; on < target_count; on++) {
        if (!target_table[on].machine()->subgroup_lanes)
            continue;
        trial t = expect_accepted(product, "schedule product { operands = staged, vector = 2, subgroups = 2 x 4 }\n",
                                  target_table[on].name, NULL, NULL, "vector = 2, subgroups = 2 x 4, operands = staged");
        assert_true(has_route(&t, "staged in shared memory"));
        assert_true(kernel_shared_bytes(kernel_of(&t)) > 0);
        assert_int_equal(widest(&kernel_of(&t)->body), 2); /* copies into shared memory as well */
        arena_free(t.arena);
        t = expect_accepted(product, NULL, target_table[on].name, "operands", "direct", "operands = direct");
        assert_int_equal(kernel_shared_bytes(kernel_of(&t)), 0);
        arena_free(t.arena);
    }
}

/* Instructions of four subgroups, which read operands where they were copied to. */
static void warpgroups(void **state) {
    (void)state;
    static const char *const blocks[][3] = {
        {"BM = 128, BN = 128, subgroups = 8 x 1", "wgmma.m64n128k16", "64 x 128, 1 x 1 of them a warpgroup"},
        {"BM = 128, BN = 128, subgroups = 4", "wgmma.m64n128k16", "64 x 128, 2 x 1 of them a warpgroup"},
        {"BM = 64, BN = 128, BK = 128, subgroups = 4 x 2, stages = 3", "wgmma.m64n64k16", "ring of 3 stages"},
        {"BM = 128, BN = 256", "wgmma.m64n256k16", "ring of 4 stages"}};
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++) {
        char text[200];
        snprintf(text, sizeof text, "schedule product for cuda { operands = fragments(warpgroup), %s }\n", blocks[i][0]);
        trial t = expect_accepted(product, text, "cuda", NULL, NULL, "operands = fragments(warpgroup)");
        assert_true(has_route(&t, blocks[i][1]) && has_route(&t, blocks[i][2]));
        arena_free(t.arena);
    }
    expect_refused(product, "schedule product for cuda { operands = fragments(warpgroup), subgroups = 2 x 2 }\n", "cuda", NULL,
                   NULL, "E0506", 8, 29, "can't be made of fragments", "leave it out, or say fragments");
    expect_refused(product, "schedule product for cuda { operands = fragments(warpgroup), BK = 32 }\n", "cuda", NULL, NULL,
                   "E0506", 8, 29, "can't be made of fragments", "leave it out, or say fragments");
    expect_refused(product, "schedule product for cuda { operands = fragments(warpgroup), stages = 2 }\n", "cuda", NULL, NULL,
                   "E0506", 8, 29, "fragments of warpgroups", "the nearest legal value is fragments");
    /* threads that hold the next tiles: one of each operand, of tiles that a block has room for twice */
    expect_refused(product, "schedule product for metal { stages = 3 }\n", "metal", NULL, NULL, "E0506", 8, 30, "2 stages ahead",
                   "the nearest legal value is 2");
    expect_refused(product, "schedule product for metal { stages = 2, operands = fragments(direct) }\n", "metal", NULL, NULL,
                   "E0506", 8, 30, "1 stages ahead", "the nearest legal value is 1");
    expect_refused(product, "schedule product for metal { stages = 2, BM = 128, BN = 128, BK = 32 }\n", "metal", NULL, NULL,
                   "E0506", 8, 30, "1 stages ahead", "the nearest legal value is 1, or 2 of smaller tiles");
    /* operands that are no copies of their arrays: threads make them, a producer can't */
    trial t = expect_accepted(rounded, NULL, "cuda", "operands", "fragments(warpgroup)", "operands = fragments(warpgroup)");
    assert_true(has_route(&t, "wgmma.m64n128k16") && has_route(&t, "ring of 3 stages") &&
                has_route(&t, "operand 2 is loaded a step ahead, computed and stored"));
    arena_free(t.arena);
    expect_refused(rounded, "schedule product for cuda { operands = fragments(warpgroup), roles = producer }\n", "cuda", NULL,
                   NULL, "E0506", 8, 62, "can't be copied by a producer", "the nearest legal value is none");
    static const char eight[] = "kernel product(a: e4m3[M, K], b: e4m3[N, K]) -> (c: f32[M, N]) {\n"
                                "    for tile c[i: BM, j: BN] {\n"
                                "        acc: f32[i, j] = 0\n"
                                "        for k: BK in K { acc += a[i, k] @ b[j, k] }\n"
                                "        c[i, j] = acc\n"
                                "    }\n"
                                "}\n";
    static const char *const intervals[][2] = {{"promote = 128", "promote = 128"}, {"promote = 384, BK = 128", "promote = 384"}};
    for (size_t i = 0; i < sizeof intervals / sizeof *intervals; i++) {
        char text[200];
        snprintf(text, sizeof text, "schedule product for cuda { operands = fragments(warpgroup), %s }\n", intervals[i][0]);
        trial t = expect_accepted(eight, text, "cuda", NULL, NULL, intervals[i][1]);
        assert_true(has_route(&t, "dot by wgmma.m64n128k32 over all tiles"));
        bool unit = false;
        for (int r = 0; r < t.c.lowered.trees.count; r++)
            unit = unit || (t.c.lowered.trees.at[r].kept == 13 && t.c.lowered.trees.at[r].chunk == (i ? 384 : 128));
        assert_true(unit);
        arena_free(t.arena);
    }
    expect_refused(eight, "schedule product for cuda { operands = fragments(warpgroup) }\n", "cuda", NULL, NULL, "E0506", 8, 29,
                   "can't be made of fragments", "leave it out, or say fragments");
    expect_refused(eight, "schedule product for cuda { operands = fragments(warpgroup), promote = 192 }\n", "cuda", NULL, NULL,
                   "E0506", 8, 29, "can't be made of fragments", "leave it out, or say fragments");
    expect_refused(eight, "schedule product for cuda { promote = 128 }\n", "cuda", NULL, NULL, "E0506", 8, 29,
                   "no product of kernel `product` is summed in fewer bits",
                   "leave it out, or say operands = fragments(warpgroup)");
    expect_refused(eight, "schedule product for cuda { promote = 100 }\n", "cuda", NULL, NULL, "E0504", 8, 29,
                   "no multiple of 32", "as in promote = 128: so many products are summed by the unit, then added in f32");
    expect_refused(eight, "schedule product for metal { promote = 128 }\n", "metal", NULL, NULL, "E0503", 8, 30,
                   "not a choice that target metal has", "its tile sizes: BM, BN, BK");
    expect_refused(product, NULL, "c", "operands", "fragments(warpgroup)", "E0504", 1, 8, "no matrix instructions",
                   "the nearest legal value is staged");
}

static bool extent_of(void *context, const index_var *v, int64_t *value) {
    const int64_t *sizes = context;
    *value = !strcmp(v->name, "U") ? 1 : sizes[strcmp(v->name, "M") ? strcmp(v->name, "N") ? 2 : 1 : 0];
    return strlen(v->name) == 1 && strchr("MNKU", v->name[0]);
}

/* What the model says for a launch: its settings in one line; "": nothing. */
static void expect_tiles(const char *kernel, const char *schedule, split_device device, int64_t m, int64_t n, int64_t k, bool pay,
                         const char *operands, int64_t least_tasks) {
    arena *a = arena_new();
    diag_list diags;
    diag_init(&diags, a);
    tile_module *module = compile_load(a, "x.tile", arena_printf(a, "%s%s", kernel, schedule), &diags);
    machine_model row = *target_find("cuda")->machine();
    row.warpgroups_pay = pay;
    schedule_setting out[PRODUCT_SETTINGS];
    int64_t sizes[] = {m, n, k};
    product_choice *c = schedule_products(a, module, module->kernels.at[0], &row, NULL, 0, device);
    int count = schedule_product_tiles(c, extent_of, sizes, out);
    const char *route = schedule_product_route(a, c, extent_of, sizes, "\n");
    /* which copies such operands wherever it can, unless they are computed */
    const bool producer =
        operands && !strcmp(operands, "fragments(warpgroup)") && k % 16 == 0 && n % 16 == 0 && kernel != rounded;
    assert_int_equal(count, !operands ? 0 : producer ? PRODUCT_SETTINGS : PRODUCT_SETTINGS - 1);
    assert_true((route != NULL) == (count > 0));
    if (count) {
        int64_t rows = atoll(out[0].value), columns = atoll(out[1].value);
        assert_string_equal(out[0].key, "BM");
        assert_string_equal(out[1].key, "BN");
        assert_int_equal(rows % 64, 0);
        assert_string_equal(out[PRODUCT_SETTINGS - 2].value, operands);
        if (producer)
            assert_string_equal(out[PRODUCT_SETTINGS - 1].value, "producer");
        if ((m + rows - 1) / rows * ((n + columns - 1) / columns) < least_tasks)
            fail_msg("%s", route);
    }
    arena_free(a);
}

/* Large tiles where there are enough of them, smaller ones where a device would be idle. */
static void tiles_of_launches(void **state) {
    (void)state;
    const split_device hopper = {.units = 132, .blocks = true, .warpgroups = true}, other = {.units = 108, .blocks = true},
                       one = {.units = 1, .blocks = true, .warpgroups = true};
    expect_tiles(product, "", hopper, 4096, 4096, 4096, true, "fragments(warpgroup)", 264);
    expect_tiles(product, "", hopper, 1024, 1024, 1024, true, "fragments(warpgroup)", 100);
    expect_tiles(exchanged, "", hopper, 1024, 1024, 1024, true, "fragments(warpgroup)", 100);
    expect_tiles(product, "", hopper, 4096, 4096, 4095, true, "fragments(warpgroup)", 264);
    expect_tiles(product, "", hopper, 4096, 4096, 4096, false, "fragments", 264);
    expect_tiles(product, "", other, 1024, 1024, 1024, true, "fragments", 100);
    expect_tiles(rounded, "", hopper, 4096, 4096, 4096, true, "fragments(warpgroup)", 264);
    expect_tiles("kernel product(a: i8[M, K], b: i8[N, K]) -> (c: i32[M, N]) {\n"
                 "    for tile c[i: BM, j: BN] {\n"
                 "        acc: i32[i, j] = 0\n"
                 "        for k: BK in K { acc += a[i, k] @ b[j, k] }\n"
                 "        c[i, j] = acc\n"
                 "    }\n"
                 "}\n",
                 "", hopper, 2048, 2048, 2048, true, "fragments(warpgroup)", 100);
    expect_tiles(product, "", one, 4096, 4096, 4096, true, NULL, 0);
    expect_tiles(sums, "", hopper, 4096, 4096, 4096, true, NULL, 0);
    expect_tiles(product, "schedule product { BM = 64 }\n", hopper, 4096, 4096, 4096, true, NULL, 0);
    expect_tiles(product, "schedule product { operands = staged }\n", hopper, 4096, 4096, 4096, true, NULL, 0);
}

/* What people are told of it: what was taken, what was nearly, of which device, and what was refused and why. */
static void expect_route(const char *kernel, split_device device, const char *const *words) {
    arena *a = arena_new();
    diag_list diags;
    diag_init(&diags, a);
    tile_module *module = compile_load(a, "x.tile", kernel, &diags);
    int64_t sizes[] = {1024, 1024, 1024};
    product_choice *c = schedule_products(a, module, module->kernels.at[0], target_find("cuda")->machine(), NULL, 0, device);
    const char *route = schedule_product_route(a, c, extent_of, sizes, "\n");
    assert_non_null(route);
    for (int i = 0; words[i]; i++)
        if (!strstr(route, words[i]))
            fail_msg("`%s` is not in\n%s", words[i], route);
    arena_free(a);
}

static void routes_of_launches(void **state) {
    (void)state;
    const split_device hopper = {.units = 132,
                                 .blocks = true,
                                 .warpgroups = true,
                                 .shared_bytes = 228 * 1024,
                                 .registers = 65536,
                                 .threads = 2048,
                                 .clock_khz = 1980000},
                       smaller = {.units = 84, .blocks = true, .shared_bytes = 100 * 1024, .registers = 65536, .threads = 1536},
                       cramped = {.units = 84, .blocks = true, .shared_bytes = 40 * 1024};
    expect_route(
        product, hopper,
        (const char *const[]){"tiles of 64 x 128 x 64 by warpgroups and a producer by a model of the device: 128 of them, ",
                              " us; the next best, ", "132 processors, each with 228 KiB", "as the device says",
                              "what an H200 took", NULL});
    expect_route(
        rounded, hopper,
        (const char *const[]){"refused: 128 x 256 x 64 by warpgroups and a producer, 256 x 128 x 64 by warpgroups and a producer",
                              "can't be copied by a producer: an operand is computed by the threads", NULL});
    expect_route(product, smaller,
                 (const char *const[]){" clocks; the next best, ", "84 processors, each with 100 KiB",
                                       " 1536 threads, as the device says",
                                       "by warpgroups: the device has no matrix instructions of warpgroups", NULL});
    expect_route(product, cramped,
                 (const char *const[]){"an H200's where the device does not say",
                                       "refused: 128 x 128 x 32: a processor has no room for a block of it: 49 KiB shared",
                                       NULL});
}

static void not_built(void **state) {
    (void)state;
    static const char *const keys[] = {"swizzle", "cluster"};
    for (int i = 0; i < 2; i++)
        for (int on = 0; on < target_count; on++)
            expect_refused(product, NULL, target_table[on].name, keys[i], "2", "E0503", 1, 8, "not a choice",
                           "its tile sizes: BM, BN, BK");
    expect_refused(product, NULL, "c", "roles", "producer", "E0503", 1, 8, "not a choice", "its tile sizes: BM, BN, BK");
    expect_refused(product, NULL, "cuda", "roles", "two", "E0504", 1, 8, "neither producer nor none",
                   "producer: a thread of its own copies operands in bulk, warpgroups multiply them");
    expect_refused(product, NULL, "cuda", "roles", "producer", "E0506", 1, 8, "can't have a producer",
                   "the nearest legal value is none");
    expect_refused(product, NULL, "c", "stages", "2", "E0503", 1, 8, "not a choice", "its tile sizes: BM, BN, BK");
    expect_refused(product, NULL, "cuda", "stages", "9", "E0504", 1, 8, "not a whole number in 1 .. 8",
                   "1: operands are copied before each step; 2 and more: that many tiles, copied ahead");
    expect_refused(product, NULL, "c", "nonsense", "2", "E0502", 1, 8, "no tile size named", "its tile sizes: BM, BN, BK");
    expect_refused(product, NULL, "c", "BM", "2x2", "E0501", 1, 8, "must be an integer", "an integer, 1 .. 1048576");
}

/* A tile size may bear the name of an option. */
static void named_alike(void **state) {
    (void)state;
    static const char text[] = "kernel copy(x: f32[N]) -> (y: f32[N]) { for tile y[i: vector] { y[i] = x[i] } }\n";
    trial t = expect_accepted(text, NULL, "c", "vector", "33", "vector = 33");
    assert_int_equal(t.c.schedule.options.vector, 0);
    arena_free(t.arena);
}

static int64_t summed = 512;

/* Tiles of a launch on threads: NULL: the usual ones. With 3 MB of cache it has 16 registers of 8 lanes, else 32 of 16. */
static void expect_tall(const char *kernel, const char *schedule, int threads, int64_t cache, int64_t m, int64_t n,
                        const char *wanted) {
    arena *a = arena_new();
    diag_list diags;
    diag_init(&diags, a);
    tile_module *module = compile_load(a, "x.tile", arena_printf(a, "%s%s", kernel, schedule), &diags);
    machine_model row = *target_find("c")->machine();
    row.cache_bytes = cache;
    row.vector_lanes = cache == 3 << 20 ? 8 : 16;
    row.vector_registers = cache == 3 << 20 ? 16 : 32;
    int64_t sizes[] = {m, n, summed};
    const tall_choice *c = schedule_tall(a, module, module->kernels.at[0], &row, NULL, 0, (split_device){.units = threads});
    schedule_setting given[TALL_SETTINGS];
    const int count = schedule_tall_tiles(c, extent_of, sizes, given);
    text_buffer all = {0};
    for (int i = 0; i < count; i++)
        text_add(&all, "%s%s %s", i ? ", " : "", given[i].key, given[i].value);
    const char *said = count ? arena_strdup(a, text_get(&all)) : NULL;
    text_free(&all);
    assert_true((schedule_tall_route(a, c, extent_of, sizes) != NULL) == (count > 0));
    assert_string_equal(said ? said : "the usual", wanted ? wanted : "the usual");
    arena_free(a);
}

/* What they are, where none is meant, and what a lowering makes of them. */
static void sums_and_edges(void **state) {
    (void)state;
    static const char twice[] = "kernel twice(a: f32[M, K], b: f32[K, N]) -> (c: f32[M, N], d: f32[M, N]) {\n"
                                "    for tile c[i: BM, j: BN], d[i, j] {\n"
                                "        acc: f32[i, j] = 0\n"
                                "        for k: BK in K { acc += a[i, k] @ b[k, j] }\n"
                                "        c[i, j] = acc\n"
                                "        d[i, j] = 2 * acc\n"
                                "    }\n"
                                "}\n";
    static const char copy[] = "kernel copy(x: f32[N]) -> (y: f32[N]) { for tile y[i: B] { y[i] = x[i] } }\n";
    expect_refused(plain, NULL, "c", "sums", "lanes", "E0504", 1, 8, "neither registers nor memory",
                   "registers: of launches whose sums are one tile, stored as they are; memory: kept from tile to tile");
    expect_refused(plain, NULL, "c", "edges", "none", "E0504", 1, 8, "neither halved nor single",
                   "halved: rows and vectors left over go in smaller blocks; single: one at a time");
    expect_refused(twice, NULL, "c", "sums", "registers", "E0504", 1, 8, "one store reads", "leave it out");
    expect_refused(copy, NULL, "c", "edges", "halved", "E0504", 1, 8, "no product", "leave it out");
    expect_refused(plain, NULL, "cuda", "edges", "halved", "E0503", 1, 8, "not a choice that target cuda has",
                   "its tile sizes: BM, BN, BK");
    trial t = expect_accepted(plain, NULL, "c", "sums", "registers", "sums = registers");
    assert_true(has_route(&t, "sums are stored from registers: each is one tile, of at most"));
    arena_free(t.arena);
    static const char activated[] = "kernel activated(a: f32[M, K], b: f32[N, K]) -> (c: f32[M, N]) {\n"
                                    "    for tile c[i: BM, j: BN] {\n"
                                    "        acc: f32[i, j] = 0\n"
                                    "        for k: BK in K { acc += a[i, k] @ b[j, k] }\n"
                                    "        c[i, j] = 1 + tanh(acc)\n"
                                    "    }\n"
                                    "}\n";
    t = expect_accepted(activated, NULL, "c", "sums", "registers", "sums = registers");
    assert_true(has_route(&t, "sums are kept in private memory: lanes share each sum, and what is stored calls a function"));
    arena_free(t.arena);
    t = expect_accepted(twice, NULL, "c", "edges", "halved", "edges = halved");
    arena_free(t.arena);
}

static void rows_of_launches(void **state) {
    (void)state;
    enum { MIB = 1 << 20 };
    expect_tall(product, "", 1, 2 * MIB, 1024, 1024, "BM 384, edges halved");
    expect_tall(exchanged, "", 1, 2 * MIB, 1024, 1024, "BM 384, edges halved");
    expect_tall(rounded, "", 2, 2 * MIB, 1024, 1024, "BM 384, edges halved");
    expect_tall(product, "", 1, MIB, 1024, 1024, "BM 192, edges halved"); /* the near cache holds no more */
    expect_tall(product, "", 1, MIB / 2, 1024, 1024, "edges halved");
    expect_tall(product, "", 4, 2 * MIB, 1024, 1024,
                "BM 192, edges halved"); /* twelve tasks would be fewer than four for each thread */
    expect_tall(product, "", 16, 2 * MIB, 1024, 1024, "edges halved");
    expect_tall(product, "", 1, 2 * MIB, 100, 64, "BM 192, edges halved"); /* a thread that is alone shares with none */
    expect_tall(product, "", 2, 2 * MIB, 100, 64, "edges halved");
    expect_tall(product, "", 8, 2 * MIB, 256, 200, "BM 24, edges halved"); /* three tasks would leave five threads without one */
    expect_tall(product, "", 8, 2 * MIB, 24, 24, NULL);                    /* too little for a second */
    expect_tall(product, "", 1, 2 * MIB, 64, 64, "edges halved");          /* f16 is converted, once, to the packed tile */
    expect_tall(product, "", 1, 2 * MIB, 64, 16, NULL);                    /* 16 KB of it are not worth another text */
    expect_tall(plain, "", 1, 2 * MIB, 64, 64,
                "operands direct, BN 64, edges halved"); /* 128 KB of 2 MB lie in the near cache unpacked, */
    expect_tall(plain, "", 1, 2 * MIB, 64, 96, "operands direct, BN 48, edges halved"); /* no vector is left over, */
    expect_tall(plain, "", 1, 2 * MIB, 64, 112, "operands direct, BN 48, edges halved");
    expect_tall(plain, "", 1, 2 * MIB, 64, 80, "operands direct, BN 64, edges halved"); /* or one */
    expect_tall(plain, "", 1, 3 * MIB, 64, 96, "operands direct, BN 64, edges halved"); /* blocks of 16 columns */
    expect_tall(plain, "", 1, MIB / 2, 64, 64, "edges halved"); /* of half a megabyte they are too much of it, */
    expect_tall(plain, "", 1, MIB / 2, 24, 64, "operands direct, BN 64, edges halved"); /* but not for few rows */
    expect_tall(plain, "", 1, 2 * MIB, 64, 70, "edges halved");    /* rows that begin inside a cache line are packed sooner */
    expect_tall(plain, "", 2, 16 * MIB, 64, 1024, "edges halved"); /* and so are rows a page apart */
    expect_tall(along_sum, "", 1, 2 * MIB, 64, 64, "edges halved");
    expect_tall(plain, "schedule product { operands = staged }\n", 1, 2 * MIB, 64, 64, NULL);
    expect_tall(product, "schedule product { BM = 96 }\n", 1, 2 * MIB, 1024, 1024, NULL); /* a schedule says */
    summed = 200;                                                                         /* no more than a tile of the sum */
    expect_tall(plain, "", 1, 2 * MIB, 64, 64, "operands direct, BN 64, sums registers, edges halved");
    expect_tall(plain, "", 1, 2 * MIB, 64, 4, "operands direct, BN 64, sums registers");
    expect_tall(product, "", 2, 2 * MIB, 64, 96, "sums registers, edges halved");
    expect_tall(product, "", 2, 2 * MIB, 64, 64, NULL);
    summed = 512;
}

int main(void) {
    setenv("TILEC_MATRICES", "", 1); /* what is legal on target c does not depend on this processor */
    const struct CMUnitTest tests[] = {cmocka_unit_test(vectors),
                                       cmocka_unit_test(sums_and_edges),
                                       cmocka_unit_test(subgroups),
                                       cmocka_unit_test(operands),
                                       cmocka_unit_test(operands_of_blocks),
                                       cmocka_unit_test(not_built),
                                       cmocka_unit_test(named_alike),
                                       cmocka_unit_test(warpgroups),
                                       cmocka_unit_test(tiles_of_launches),
                                       cmocka_unit_test(routes_of_launches),
                                       cmocka_unit_test(rows_of_launches)};
    const struct CMUnitTest few[] = {cmocka_unit_test(vectors), cmocka_unit_test(not_built), cmocka_unit_test(named_alike)};
    return getenv("TILEC_QUICK") ? cmocka_run_group_tests(few, NULL, NULL) : cmocka_run_group_tests(tests, NULL, NULL);
}
