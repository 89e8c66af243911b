/* Kernel IR: the texts of test/kernel-ir parse, print back and pass the checker; broken ones are refused with their code. */
#include "base/file.h"
#include "kernel/kernel.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <dirent.h>
#include <stdlib.h>
#include <string.h>

static const char folder[] = "test/kernel-ir";

static char *read_text(const char *path) {
    FILE *f = fopen(path, "rb");
    if (!f)
        fail_msg("cannot read %s (run from the project's root)", path);
    fseek(f, 0, SEEK_END);
    long size = ftell(f);
    rewind(f);
    char *text = malloc((size_t)size + 1);
    assert_int_equal(fread(text, 1, (size_t)size, f), (size_t)size);
    text[size] = 0;
    fclose(f);
    return text;
}

static kernel_ir *parse(arena *a, const char *name, const char *text, diag_list *diags) {
    diag_init(diags, a);
    diag_add_source(diags, name, text);
    return kernel_parse(a, name, text, diags);
}

static char *print(const kernel_ir *k) {
    text_buffer b = {0};
    kernel_print(&b, k);
    return b.text;
}

/* text -> IR -> text1 -> IR -> text2: text1 == text2, and both pass the checker. */
static void round_trip(const char *name, const char *text) {
    arena *a = arena_new();
    diag_list diags;
    kernel_ir *k = parse(a, name, text, &diags);
    if (!k || !kernel_check(k, &diags)) {
        diag_print_all(&diags, stderr, false);
        fail_msg("%s: refused", name);
    }
    char *once = print(k);
    kernel_ir *again = parse(a, "printed", once, &diags);
    if (!again || !kernel_check(again, &diags)) {
        diag_print_all(&diags, stderr, false);
        fail_msg("%s: its printed text was refused:\n%s", name, once);
    }
    char *twice = print(again);
    assert_string_equal(once, twice);
    kernel_settle_names(again); /* texts have distinct names already */
    char *settled = print(again);
    assert_string_equal(once, settled);
    free(once);
    free(twice);
    free(settled);
    arena_free(a);
}

static void texts_round_trip(void **state) {
    (void)state;
    DIR *d = opendir(folder);
    if (!d)
        fail_msg("no folder %s (run from the project's root)", folder);
    int count = 0;
    for (struct dirent *e; (e = readdir(d));) {
        size_t length = strlen(e->d_name);
        if (length < 4 || strcmp(e->d_name + length - 4, ".kir"))
            continue;
        char path[512];
        snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
        char *text = read_text(path);
        round_trip(path, text);
        free(text);
        count++;
    }
    closedir(d);
    assert_true(count >= 20);
}

/* Every piece of a text matters: cutting it anywhere is refused and never crashes. */
static void cut_texts_are_refused(void **state) {
    (void)state;
    char *text = read_text("test/kernel-ir/producer_consumer.kir");
    size_t end = strlen(text);
    while (end && text[end - 1] != '}')
        end--;
    for (size_t cut = 0; cut < end; cut += cut < end - 40 ? 37 : 1) {
        arena *a = arena_new();
        diag_list diags;
        char *head = strndup(text, cut);
        assert_null(parse(a, "cut", head, &diags));
        assert_true(diags.errors > 0);
        free(head);
        arena_free(a);
    }
    free(text);
}

/* What a text says is what the program holds. */
static void meaning_of_a_text(void **state) {
    (void)state;
    arena *a = arena_new();
    diag_list diags;
    kernel_ir *k = parse(a, "t",
                         "kernel t { symbol N in 1 .. 64 scalar s: f32 task (i < floor((N + 3) / 4))\n"
                         "global in x: f16[N, 2] align 32 global out y: f32[N]\n"
                         "register r: f32x4[3]\n"
                         "for c in 4 * i .. min(N, 4 * i + 4) step 2 unroll { store y[c:4] active N - c <- mul(r[1], -2.5:f32x4) "
                         "break when c == 3 } }",
                         &diags);
    assert_non_null(k);
    assert_int_equal(k->symbols.count, 1);
    assert_int_equal(k->symbols.at[0]->kind, INDEX_SYMBOL);
    assert_int_equal(k->symbols.at[0]->hi->value, 64);
    assert_int_equal(k->levels.count, 1);
    assert_int_equal(k->levels.at[0].kind, LEVEL_TASK);
    assert_int_equal(k->levels.at[0].extents[0]->op, IX_FLOORDIV);
    assert_int_equal(k->arrays.count, 3);
    assert_int_equal(k->arrays.at[0]->element, ELEMENT_F16);
    assert_int_equal(k->arrays.at[0]->alignment, 32);
    assert_int_equal(k->arrays.at[1]->use, USE_OUT);
    assert_int_equal(k->arrays.at[2]->lanes, 4);
    const kernel_stmt *loop = k->body.items.at[0];
    assert_int_equal(loop->kind, KSTMT_FOR);
    assert_true(loop->unroll);
    assert_int_equal(loop->step->value, 2);
    const kernel_stmt *store = loop->body.items.at[0];
    assert_int_equal(store->access.lanes, 4);
    assert_int_equal(store->access.vector_dim, 0);
    assert_int_equal(store->access.active->op, IX_SUB);
    assert_ptr_equal(store->access.indices[0]->var, loop->var);
    assert_int_equal(store->value->op, KERNEL_MUL);
    assert_int_equal(store->value->operands[0]->access.vector_dim, -1);
    assert_true(store->value->operands[1]->number == -2.5);
    const kernel_stmt *leave = loop->body.items.at[1];
    assert_int_equal(leave->kind, KSTMT_BREAK);
    assert_int_equal(leave->condition->op, COND_EQ);
    arena_free(a);
}

static void numbers_survive(void **state) {
    (void)state;
    static const double numbers[] = {0, -0.0, 1, 0.1, 1.0 / 3, 1e300, 5e-324, 3.4028234663852886e38, -1234567.875, 16777217};
    arena *a = arena_new();
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        source_span none = {0};
        kernel_ir *k = kernel_new(a, "n", none);
        index_expr *one = ix_const(a, 1);
        kernel_add_level(k, LEVEL_TASK, 1, (const char *const[]){"t"}, &one);
        kernel_let(k, &k->body, "x", kernel_const(k, ELEMENT_F32, 1, numbers[i]), none);
        char *text = print(k);
        diag_list diags;
        kernel_ir *again = parse(a, "n", text, &diags);
        assert_non_null(again);
        double back = again->body.items.at[0]->value->number;
        assert_memory_equal(&back, &numbers[i], sizeof back);
        free(text);
    }
    arena_free(a);
}

typedef struct refusal {
    const char *code, *declarations, *body; /* declarations NULL: the common ones alone */
} refusal;

static const char common[] =
    "symbol N scalar f: f32 scalar n: i32 in 0 .. 9 task (t < N) subgroup (g < 2) lane (l < 32)\n"
    "global in x: f32[N, 8] global out y: f32[N] global update z: f32[N] global in h: f16[N] global in q: q8_0[N]\n"
    "shared s: f32[16] shared sh: f16[16, 16] private p: f32[4] register r: f32[4] register v: f32x4[2] ghost u: f32[N]\n"
    "fragment fa: a f16 16 x 16 held by subgroup fragment fb: b f16 16 x 8 held by subgroup\n"
    "fragment acc: accumulator f32 16 x 8 [2] held by subgroup fragment m: row_vector f32 16 x 1 held by subgroup\n"
    "mbarrier mb[2] arrivals 1\n";

static const refusal refusals[] = {
    /* the text */
    {"E0160", NULL, "comment \"open"},
    {"E0160", NULL, "store ?"},
    {"E0161", NULL, "store y[0] 1:f32"},
    {"E0161", NULL, "jump"},
    {"E0161", NULL, "let a = 3.5"},
    {"E0162", NULL, "store x[0, 0:1] <- 0:f32"},
    {"E0164", NULL, "store w[0] <- 1:f32"},
    {"E0164", NULL, "store y[k] <- 1:f32"},
    {"E0164", NULL, "store y[0] <- t"},
    {"E0164", NULL, "store y[0] <- frob(1:f32)"},
    {"E0164", NULL, "for k in 0 .. 2 { } store y[k] <- 1:f32"},
    {"E0165", NULL, "if t { }"},
    {"E0165", NULL, "let a = (t < 1)"},
    {"E0166", NULL, "store y[0, 1] <- 1:f32"},
    {"E0166", NULL, "let a: f32x4 = x[0:4, 0:4]"},
    {"E0166", NULL, "store v[0:4] <- 0:f32x4"},
    {"E0167", NULL, "let a = 1 let a = 2"},
    {"E0167", NULL, "for t in 0 .. 2 { }"},
    {"E0168", NULL, "let a: f32 = 0:f32x4"},
    {"E0168", NULL, "let a: f32 in 0 .. 2 = 0:f32"},
    /* declarations */
    {"E0931", "lane (l < 32) task (t < 1)", ""},
    {"E0931", "task (t < 1) lane (l < t)", ""},
    {"E0931", "subgroup (g < 2)", ""},
    {"E0932", "symbol N task (t < 1) private p: f32[N]", ""},
    {"E0932", "task (t < 1) private p: f32[0]", ""},
    {"E0932", "task (t < 1) shared s: f32[4]", ""},
    {"E0932", "task (t < 1) global in x: f32[4] unset", ""},
    {"E0932", "task (t < 1) private p: f32x4[4]", ""},
    {"E0932", "task (t < 1) private p: q8_0[32]", ""},
    {"E0932", "task (t < 1) global in x: f32[4] bound 3", ""},
    {"E0932", "task (t < 1) global out x: i32[4] bound 3", ""},
    {"E0932", "task (t < 1) global in x: f32[4] align 12", ""},
    {"E0932", "task (t < 1) global in x: f32[4] cells (i) where i < 2", ""},
    {"E0933", "task (t < 1) private p: f32[4] layout panel(1, 4)", ""},
    {"E0933", "task (t < 1) private p: f32[4] layout swizzle(3, 0, 0)", ""},
    {"E0933", "task (t < 1) private p: f32[4] layout box(4) swizzle(3, 0, 0)", ""},
    {"E0933", "task (t < 1) register p: f32[4] layout pad(1)", ""},
    {"E0934", "task (t < 1) private p: f32[4] private w: f32[2] view p at 12", ""},
    {"E0934", "task (t < 1) private p: f32[4] private w: f32[2] view p at 2", ""},
    {"E0934", "task (t < 1) lane (l < 4) private p: f32[4] shared w: f32[2] view p at 0", ""},
    {"E0935", "task (t < 1) symbol N global in x: f32[t]", ""},
    {"E0935", "task (t < 1) assume t < 3", ""},
    {"E0947", "task (t < 1) scalar s: f16", ""},
    {"E0952", "task (t < 1) grid 4", ""},
    {"E0952", "task (t < 1)", "tasks n { }"},
    {"E0952", "task (t < 1) grid 4", "tasks a { } tasks b { }"},
    {"E0952", "task (t < 1) grid 4", "tasks a { } if 0 < 1 { tasks b { } }"},
    {"E0935", "symbol N task (t < N) grid 4", "let a = t tasks n { }"},
    {"E0956", "task (t < 1) mbarrier m[2] arrivals 1", ""},
    {"E0957", "task (t < 1) fragment f: a f16 8 x 8 held by subgroup", ""},
    {"E0957", "task (t < 1) subgroup (g < 1) lane (l < 32) fragment f: a f16 8 x 8 held by lane", ""},
    {"E0957", "task (t < 1) subgroup (g < 1) lane (l < 32) fragment f: accumulator f16 8 x 8 held by warpgroup", ""},
    {"E0957", "task (t < 1) subgroup (g < 1) lane (l < 32) fragment f: accumulator i8 8 x 8 held by subgroup", ""},
    {"E0957", "task (t < 1) subgroup (g < 1) lane (l < 32) fragment f: row_vector f32 8 x 8 held by subgroup", ""},
    /* accesses */
    {"E0939", NULL, "let a: f32 = x[t, 0] active 3"},
    {"E0939", NULL, "let a: f32x4 = r[0:4]"},
    {"E0940", NULL, "store x[t, 0] <- 0:f32"},
    {"E0940", NULL, "let a: f32 = y[t]"},
    {"E0940", NULL, "consume y[t]"},
    {"E0940", NULL, "store u[t] <- 0:f32"},
    {"E0940", NULL, "let a: f32 = u[t]"},
    {"E0941", NULL, "store r[t] <- 0:f32"},
    {"E0941", NULL, "for k in 0 .. 4 { store r[k] <- 0:f32 }"},
    {"E0935", NULL, "let a = floor(t / (0 - 2))"},
    /* values */
    {"E0943", NULL, "let a: f32 = add(1:f32, 1:f32x4)"},
    {"E0943", NULL, "let a: f32 = lanes_sum(1:f32)"},
    {"E0943", NULL, "let a: f32x4 = broadcast(1:f32x2, 4)"},
    {"E0943", NULL, "let a: f32 = prefix_select(1:f32, 2:f32, 1)"},
    {"E0944", NULL, "let a: f32 = add(1:f32, 1:i32)"},
    {"E0944", NULL, "let a: f16 = exp(h[t])"},
    {"E0944", NULL, "let a: i32 = div(1:i32, 2:i32)"},
    {"E0944", NULL, "let a: f32 = and(1:f32, 2:f32)"},
    {"E0944", NULL, "let a: f32 = shl(1:f32, 2:f32)"},
    {"E0944", NULL, "let a: f32 = select(1:f32, 1:f32, 2:f32)"},
    {"E0944", NULL, "let a: q8_0 = q[t]"},
    {"E0944", NULL, "let a: i32 = floor(1:i32)"},
    {"E0944", NULL, "let a: f32 = shuffle(1:f32, 1:f32)"},
    {"E0945", NULL, "let a: bool = convert(bool, 1:f32)"},
    {"E0945", NULL, "let a: f16 = convert(f16, 1:f32, saturate)"},
    {"E0945", NULL, "let a: f16 = bitcast(f16, 1:f32)"},
    {"E0945", NULL, "let a: index = convert(index, 1:f32)"},
    {"E0946", NULL, "let a: i32 = 1.5:i32"},
    {"E0946", NULL, "let a: u32 = -1:u32"},
    {"E0946", NULL, "let a: bf16 = 1:bf16"},
    {"E0948", "task (t < 1)", "let a: f32 = subgroup_sum(1:f32)"},
    {"E0949", NULL, "store y[t] <- h[t]"},
    {"E0949", NULL, "store y[t] <- 1:f32x4"},
    {"E0949", NULL, "if_value 1:f32 { }"},
    /* control */
    {"E0950", NULL, "for k in 0 .. 4 step 0 { }"},
    {"E0950", NULL, "for k in 0 .. 4 step t { }"},
    {"E0950", NULL, "for k in 0 .. N unroll { }"},
    {"E0950", NULL, "for k in 0 .. 5000 unroll { }"},
    {"E0965", NULL, "break"},
    {"E0965", NULL, "loop { role a if g == 0 { break } }"},
    {"E0953", NULL, "role a if t == 0 { }"},
    {"E0953", NULL, "role a if g == 0 { role b if l == 0 { } }"},
    {"E0953", NULL, "role a if g == 0 { barrier block orders shared }"},
    {"E0953", NULL, "barrier subgroup orders shared by g == 0"},
    {"E0953", NULL, "barrier block orders shared by t == 0"},
    {"E0953", "task (t < 1)", "role a if 0 < 1 { }"},
    /* order */
    {"E0954", NULL, "barrier task orders shared"},
    {"E0954", NULL, "barrier warpgroup orders shared"},
    {"E0954", NULL, "barrier block orders private"},
    {"E0954", "task (t < 1)", "barrier block"},
    {"E0954", "task (t < 1)", "barrier block orders global"},
    {"E0955", NULL, "copy_async p[0] <- x[t, 0] box [4]"},
    {"E0955", NULL, "copy_async s[0] <- h[t] box [4]"},
    {"E0955", NULL, "copy_async s[0] <- x[t, 0] box [n]"},
    {"E0955", NULL, "copy_async sh[0, 0] <- h[t] box [2, 8]"},
    {"E0955", NULL, "copy_async z[t] <- s[0] box [8] clip"},
    {"E0955", NULL, "copy_async s[0] <- h[t] box [8] clip by block"},
    {"E0955", NULL, "copy_async s[0] <- h[t] box [8] by block wait_async 0"},
    {"E0939", NULL, "copy_async s[0:4] <- x[t, 0] box [4]"},
    {"E0956", NULL, "arrive mb[2]"},
    {"E0961", NULL, "atomic bit_or z[0] <- 1:f32 scope task"},
    {"E0961", NULL, "atomic add z[0] <- 1:f32 scope lane"},
    {"E0961", NULL, "atomic add p[0] <- 1:f32 scope block"},
    {"E0961", NULL, "atomic inc_wrap z[0] <- 1:f32 scope task"},
    {"E0949", NULL, "atomic compare_exchange z[0] if 1:i32 <- 1:f32 scope task"},
    {"E0961", NULL, "grid_reduce exchange z[0] <- 1:f32"},
    {"E0961", NULL, "grid_reduce add z[0] <- 1:f32"},
    {"E0961", NULL, "grid_reduce bit_or y[0] <- 1:f32"},
    {"E0940", NULL, "atomic old = add y[0] <- 1:f32 scope task"},
    {"E0962", NULL, "intrinsic \"\" ()"},
    {"E0962", NULL, "intrinsic \"i\" (async value 1:f32)"},
    {"E0962", NULL, "intrinsic \"i\" (reads s[0] box [-1])"},
    {"E0940", NULL, "intrinsic \"i\" (writes x[t, 0] box [1, 8])"},
    {"E0940", NULL, "intrinsic \"i\" (reads u[t] box [1])"},
    {"E0962", NULL, "intrinsic \"i\" (value 1:f32, result p[0])"},
    {"E0962", NULL, "intrinsic \"i\" (result s[0])"},
    {"E0962", NULL, "intrinsic \"i\" (result p[0], vector (1:f32, 1:i32))"},
    {"E0962", NULL, "intrinsic \"i\" (result p[0]) reference { store p[0] <- 1:f32 comment \"x\" }"},
    {"E0962", NULL, "intrinsic \"i\" (result fragment fa)"},
    {"E0962", NULL, "intrinsic \"i\" (fragment fa[0], writes x[t, 0] box [1, 8])"},
    {"E0962", NULL, "intrinsic \"i\" (fragment fa[0], fragment fa[0], fragment fa[0], fragment fa[0])"},
    {"E0962", NULL, "intrinsic \"i\" (async fragment fa[0]) reference { store p[0] <- 1:f32 }"},
    {"E0962", NULL, "intrinsic \"i\" (result p[0], fragment fa[0]) reference { store p[0] <- 1:f32 }"},
    {"E0962", NULL,
     "intrinsic \"i\" (result fragment acc[0], fragment fa[0], fragment acc[0]) reference { fragment_mma acc[0] <- fa[0], fb[0], "
     "acc[0] }"},
    {"E0962", NULL,
     "intrinsic \"i\" (result fragment acc[0], fragment fa[0], fragment fb[0], fragment acc[0]) reference { fragment_mma acc[1] "
     "<- fa[0], fb[0], acc[0] }"},
    /* fragments */
    {"E0957", NULL, "fragment_fill acc <- 0:f32"},
    {"E0957", NULL, "fragment_fill fa[0] <- convert(f16, 0:f32)"},
    {"E0957", NULL, "fragment_fill acc[2] <- 0:f32"},
    {"E0957", NULL, "fragment_fill acc[t] <- 0:f32"},
    {"E0949", NULL, "fragment_fill fa <- 0:f32"},
    {"E0958", NULL, "fragment_mma acc[0] <- fb, fa, acc[0]"},
    {"E0958", NULL, "fragment_mma fa <- fa, fb, acc[0]"},
    {"E0958", NULL, "fragment_reduce m <- add fa axis 1"},
    {"E0958", NULL, "fragment_reduce m <- add acc[0] axis 0"},
    {"E0958", NULL, "fragment_convert fa <- acc[0]"},
    {"E0959", NULL, "let a: f32 = element(acc[0])"},
    {"E0959", NULL, "fragment_map acc[0] (i, j) <- element(m)"},
    {"E0959", NULL, "fragment_map acc[0] (i, j) <- column_vector(element(m))"},
    {"E0959", NULL, "fragment_map acc[0] (i, j) <- row_vector(1:f32)"},
    {"E0960", NULL, "fragment_load fa <- sh[0, 0] rows 0 columns 0"},
    {"E0960", NULL, "fragment_load fa <- sh[0, 0] rows 0 columns 2"},
    {"E0960", NULL, "fragment_load fa <- x[t, 0] rows 0 columns 1"},
    {"E0960", NULL, "fragment_load m <- p[0] rows 0 columns 0"},
    {"E0960", NULL, "fragment_store y[t] <- acc[0] rows 0 columns 0"},
    {"E0960", NULL, "fragment_load fa <- sh[0, 0] rows 0 columns 1 within (8, 8) by_reference"},
    {"E0940", NULL, "fragment_store x[t, 0] <- acc[0] rows 0 columns 1"},
};

static void broken_texts_are_refused(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++) {
        const refusal *r = &refusals[i];
        arena *a = arena_new();
        diag_list diags;
        char *text = arena_printf(a, "kernel k {\n%s\n%s\n}", r->declarations ? r->declarations : common, r->body);
        kernel_ir *k = parse(a, "k", text, &diags);
        if (k)
            kernel_check(k, &diags);
        bool found = false, placed = true;
        for (int d = 0; d < diags.items.count; d++) {
            found = found || !strcmp(diags.items.at[d]->code, r->code);
            placed = placed && diags.items.at[d]->span.line > 0;
        }
        if (!found || !placed || diags.errors < 1) {
            diag_print_all(&diags, stderr, false);
            fail_msg("expected %s with a place from:\n%s", r->code, text);
        }
        arena_free(a);
    }
}

/* The common declarations themselves are fine: a refusal above is the body's. */
static void common_declarations_pass(void **state) {
    (void)state;
    arena *a = arena_new();
    round_trip("common", arena_printf(a, "kernel k {\n%s\n}", common));
    arena_free(a);
}

static char *nested(arena *a, const char *open, const char *middle, const char *close, int depth) {
    text_buffer b = {0};
    for (int i = 0; i < depth; i++)
        text_add(&b, open, i);
    text_add(&b, "%s", middle);
    for (int i = 0; i < depth; i++)
        text_add(&b, "%s", close);
    char *text = arena_strdup(a, text_get(&b));
    text_free(&b);
    return text;
}

static void deep_nesting_is_refused(void **state) {
    (void)state;
    arena *a = arena_new();
    char *bodies[] = {nested(a, "if t < %d { ", "", "}", 100000),
                      arena_printf(a, "let a = %s", nested(a, "(", "1", ")", 100000)),
                      arena_printf(a, "let a: f32 = %s", nested(a, "neg(", "1:f32", ")", 100000)),
                      arena_printf(a, "if %s < 1 { }", nested(a, "-", "1", "", 100000)),
                      arena_printf(a, "let a = %s", nested(a, "t + ", "1", "", 100000)),
                      arena_printf(a, "if %s { }", nested(a, "t < 3 or ", "true", "", 100000)),
                      arena_printf(a, "if %s true { }", nested(a, "not ", "", "", 100000)),
                      nested(a, "if t < %d { ", "", "}", 150),
                      arena_printf(a, "let a: f32 = %s", nested(a, "neg(", "1:f32", ")", 300))};
    for (size_t i = 0; i < sizeof bodies / sizeof *bodies; i++) {
        diag_list diags;
        char *text = arena_printf(a, "kernel k { task (t < 1) %s }", bodies[i]);
        kernel_ir *k = parse(a, "deep", text, &diags);
        bool ok = k && kernel_check(k, &diags);
        assert_false(ok);
        const char *code = diags.items.at[0]->code;
        assert_true(!strcmp(code, "E0163") || !strcmp(code, "E0963") || !strcmp(code, "E0161"));
    }
    arena_free(a);
}

/* What no text can say: a let that does not dominate, a name hidden, wrong marks. */
static void broken_ir_is_refused(void **state) {
    (void)state;
    arena *a = arena_new();
    source_span none = {0};
    for (int fault = 0; fault < 12; fault++) {
        kernel_ir *k = kernel_new(a, "k", none);
        diag_list diags;
        diag_init(&diags, a);
        index_var *n = kernel_add_symbol(k, "N");
        index_expr *extent = ix_var(a, n);
        kernel_add_level(k, LEVEL_TASK, 1, (const char *const[]){"t"}, &extent);
        index_expr *dims[] = {extent};
        kernel_array *y = kernel_add_array(k, "y", SPACE_GLOBAL, USE_OUT, ELEMENT_F32, 1, dims);
        index_expr *at[] = {ix_var(a, k->levels.at[0].ids[0])};
        kernel_value *one = kernel_const(k, ELEMENT_F32, 1, 1);
        kernel_stmt *loop = kernel_for(k, &k->body, "i", ix_const(a, 0), ix_const(a, 4), 1, none);
        kernel_stmt *let = kernel_let(k, &loop->body, "x", one, none);
        kernel_stmt *store = kernel_store(k, &k->body, kernel_at(k, y, at), one, none);
        const char *code = NULL;
        index_var *tile = kernel_new_var(k, "BM", INDEX_TILE);
        switch (fault) {
        case 0: store->value = kernel_ref(k, let), code = "E0937"; break;
        case 1: kernel_for(k, &loop->body, "i", ix_const(a, 0), ix_const(a, 4), 1, none), code = "E0930"; break;
        case 2: let->name = "and", code = "E0930"; break;
        case 3: store->access.indices[0] = ix_var(a, tile), code = "E0936"; break;
        case 4: store->access.indices[0] = ix_var(a, loop->var), code = "E0935"; break;
        case 5: store->value = NULL, code = "E0942"; break;
        case 6: store->value = kernel_op2(k, KERNEL_ADD, ELEMENT_I32, one, one), code = "E0944"; break;
        case 7: store->access.array = NULL, code = "E0938"; break;
        case 8: loop->step = NULL, code = "E0964"; break;
        case 9: store->access.lanes = 4, store->access.vector_dim = 3, code = "E0939"; break;
        case 10:
            store->value = kernel_op1(k, KERNEL_NEG, ELEMENT_F32, one), store->value->operand_count = 0, code = "E0942";
            break;
        default: kernel_append(k, &k->body, KSTMT_IF, none), code = "E0964"; break;
        }
        assert_false(kernel_check(k, &diags));
        if (strcmp(diags.items.at[0]->code, code)) {
            diag_print_all(&diags, stderr, false);
            fail_msg("fault %d: expected %s first", fault, code);
        }
        if (fault < 2) { /* names that hide each other are what kernel_settle_names mends */
            kernel_settle_names(k);
            diag_init(&diags, a);
            assert_int_equal(kernel_check(k, &diags), fault == 1);
        }
    }
    arena_free(a);
}

/* Storage in cells, from the layouts' definitions. */
static void storage_of_layouts(void **state) {
    (void)state;
    static const struct {
        const char *array;
        int64_t cells;
    } cases[] = {{"f32[6, 7]", 42},
                 {"f32[6, 7] layout pad(3)", 60},
                 {"f32[6, 7] layout panel(1, 4)", 48},
                 {"f32[7, 5] layout panel(0, 6)", 60},
                 {"f32[3, 5] layout swizzle(2, 1, 2)", 16},
                 {"f32[6, 7] layout box(4, 4)", 64},
                 {"f32[3, 5] layout box(3, 5) swizzle(2, 1, 2)", 16},
                 {"f32[6, 7] layout strides(10, 1)", 57},
                 {"f32[]", 1}};
    arena *a = arena_new();
    int64_t private_bytes = 0;
    text_buffer all = {0};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        text_add(&all, "private p%zu: %s\n", i, cases[i].array);
        private_bytes += (cases[i].cells * 4 + 63) / 64 * 64;
    }
    diag_list diags;
    kernel_ir *k = parse(a, "k", arena_printf(a, "kernel k { task (t < 1) %s }", text_get(&all)), &diags);
    assert_non_null(k);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_int_equal(kernel_array_cells(k->arrays.at[i]), cases[i].cells);
    assert_int_equal(kernel_private_bytes(k), private_bytes);
    text_free(&all);
    arena_free(a);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts_round_trip),         cmocka_unit_test(cut_texts_are_refused),
        cmocka_unit_test(meaning_of_a_text),        cmocka_unit_test(numbers_survive),
        cmocka_unit_test(common_declarations_pass), cmocka_unit_test(broken_texts_are_refused),
        cmocka_unit_test(deep_nesting_is_refused),  cmocka_unit_test(broken_ir_is_refused),
        cmocka_unit_test(storage_of_layouts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
