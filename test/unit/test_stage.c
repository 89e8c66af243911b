/* Operands in shared memory: which products have them there and what is said of the others; that each barrier and each cell's copy is needed, as the
 * prover sees it. Values: test/accept/staged.tile and the shipped kernels in test_lanes. */
#include "probe/layout_view.h"
#include "target/fragment_layout.h"
#include "compile.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#define KERNEL(arguments, loop)                                                                                                  \
    "kernel f" arguments " {\n"                                                                                                  \
    "    for tile c[i: BM, j: BN] {\n"                                                                                           \
    "        acc: f32[i, j] = 0\n"                                                                                               \
    "        " loop "\n"                                                                                                         \
    "        c[i, j] = acc\n"                                                                                                    \
    "    }\n"                                                                                                                    \
    "}\n"
static const char half[] =
    KERNEL("(a: f16[M, K], b: f16[K, N]) -> (c: f32[M, N])", "for k: BK in K { acc += a[i, k] @ b[k, j] }");
static const char single[] =
    KERNEL("(a: f32[M, K], b: f32[K, N]) -> (c: f32[M, N])", "for k: BK in K { acc += a[i, k] @ b[k, j] }");
static const char across[] =
    KERNEL("(a: f32[M, K], b: f32[N, K]) -> (c: f32[M, N])", "for k: BK in K { acc += a[i, k] @ b[j, k] }");
static const char rounded32[] =
    KERNEL("(a: f32[M, K], b: f32[K, N]) -> (c: f32[M, N])", "for k: BK in K { acc += tf32(a[i, k]) @ tf32(b[k, j]) }");
static const char bytes[] =
    KERNEL("(a: e4m3[M, K], b: e4m3[N, K]) -> (c: f32[M, N])", "for k: BK in K { acc += a[i, k] @ b[j, k] }");
static const char causal[] =
    KERNEL("(a: f16[M, K], b: f16[K, N]) -> (c: f32[M, N])", "for k: BK in K where k <= i { acc += a[i, k] @ b[k, j] }");
static const char whole[] =
    KERNEL("(a: f16[M, K], b: f16[K, N]) -> (c: f32[M, N]) static K = 16", "for k: K in K { acc += a[i, k] @ b[k, j] }");
static const char converted[] =
    KERNEL("(a: f16[M, K], b: i8[K, N]) -> (c: f32[M, N])", "for k: BK in K { acc += a[i, k] @ f16(f32(b[k, j])) }");
static const char vector[] = "kernel f(x: f16[K], w: f16[N, K]) -> (y: f32[N]) {\n"
                             "    for tile y[n: BN] {\n"
                             "        acc: f32[n] = 0\n"
                             "        for k: BK in K { acc += x[k] @ w[n, k] }\n"
                             "        y[n] = acc\n"
                             "    }\n"
                             "}\n";

static const char gated[] = "kernel f(x: f32[M, K], u: f32[K, N], w: f32[K, N]) -> (y: f32[M, N]) {\n"
                            "    for tile y[i: BM, j: BN] {\n"
                            "        a: f32[i, j] = 0\n"
                            "        b: f32[i, j] = 0\n"
                            "        for k: BK in K { a += x[i, k] @ u[k, j] b += x[i, k] @ w[k, j] }\n"
                            "        y[i, j] = a * b\n"
                            "    }\n"
                            "}\n";

static const char nested[] = "kernel f(x: f16[H, M, K], w: f16[H, K, N]) -> (y: f32[M, N]) {\n"
                             "    for tile y[i: BM, j: BN] {\n"
                             "        a: f32[i, j] = 0\n"
                             "        for h: 1 in H { for k: BK in K { a += x[h, i, k] @ w[h, k, j] } }\n"
                             "        y[i, j] = a\n"
                             "    }\n"
                             "}\n";

/* A gate of two products that share an operand, and a residual. */
static const char activated[] = "fn silu(x) = x / (1 + exp(-x))\n"
                                "kernel f(x: f16[M, K], u: f16[N, K], w: f16[N, K], r: f32[M, N]) -> (y: f32[M, N]) {\n"
                                "    for tile y[i: BM, j: BN] {\n"
                                "        a: f32[i, j] = 0\n"
                                "        b: f32[i, j] = 0\n"
                                "        for k: BK in K { a += x[i, k] @ u[j, k] b += x[i, k] @ w[j, k] }\n"
                                "        y[i, j] = silu(a) * b + r[i, j]\n"
                                "    }\n"
                                "}\n";

typedef struct trial {
    arena *arena;
    diag_list diags;
    compiled_kernel c;
    bool good;
} trial;

static trial compile(const char *text, const char *target, const char *operands) {
    trial t = {.arena = arena_new()};
    diag_init(&t.diags, t.arena);
    tile_module *m = compile_load(t.arena, "x.tile", text, &t.diags);
    if (!m) {
        diag_print_all(&t.diags, stderr, false);
        fail_msg("the text is not accepted");
        return t;
    }
    const schedule_setting s = {.key = "operands", .value = operands};
    const compile_options o = {
        .target = target_find(target), .settings = &s, .setting_count = operands != NULL, .sample_statics = true};
    t.good = compile_kernel(t.arena, m, m->kernels.at[0], &o, &t.c, &t.diags);
    return t;
}

static kernel_ir *kernel_of(const trial *t) {
    return t->c.lowered.plan->variants.at[0].kernel;
}

/* What lanes and subgroups exchange lies there too, under other names. */
static int shared_tiles(const kernel_ir *k, element_type e) {
    int count = 0;
    for (int i = 0; i < k->arrays.count; i++)
        count +=
            k->arrays.at[i]->space == SPACE_SHARED && k->arrays.at[i]->element == e && strstr(k->arrays.at[i]->name, "_tile");
    return count;
}

/* What the form is, and a route that says so. */
static void expect(const char *text, const char *target, const char *operands, int f32_tiles, int f16_tiles, const char *route) {
    trial t = compile(text, target, operands);
    if (!t.good)
        diag_print_all(&t.diags, stderr, false);
    assert_true(t.good);
    assert_int_equal(t.c.proof.refuted + t.c.proof.unknown, 0);
    if (shared_tiles(kernel_of(&t), ELEMENT_F32) != f32_tiles)
        fail_msg("%s for %s: %d tiles of f32", operands ? operands : "chosen", target, shared_tiles(kernel_of(&t), ELEMENT_F32));
    assert_int_equal(shared_tiles(kernel_of(&t), ELEMENT_F16), f16_tiles);
    bool said = !route;
    for (int i = 0; i < t.c.lowered.routes.count; i++)
        said = said || strstr(t.c.lowered.routes.at[i], route);
    if (!said)
        fail_msg("no route of %s says `%s`", target, route);
    arena_free(t.arena);
}

static int count_kind(const kernel_block *b, kernel_stmt_kind kind) {
    int count = 0;
    for (int i = 0; i < b->items.count; i++)
        count += (b->items.at[i]->kind == kind) + count_kind(&b->items.at[i]->body, kind) +
                 count_kind(&b->items.at[i]->otherwise, kind);
    return count;
}

static void forms(void **state) {
    (void)state;
    expect(half, "cuda", NULL, 0, 2, "dot by mma.sync.m16n8k16 over all tiles");
    expect(half, "cuda", "fragments", 0, 2, "`acc` stays in accumulators of 16 x 8");
    expect(half, "cuda", "staged", 2, 0, "operands a, b staged in shared memory: ");
    expect(half, "cuda", "staged(f16)", 0, 2, "operands a, b staged in shared memory: ");
    expect(half, "cuda", "direct", 0, 0, "read directly: the schedule says so");
    expect(half, "opencl", NULL, 2, 0, "staged in shared memory");            /* converted once */
    expect(across, "opencl", NULL, 2, 0, "staged in shared memory");          /* contiguous along the columns */
    expect(single, "opencl", NULL, 0, 0, "shared memory may be no nearer");   /* a copy would be no better */
    expect(single, "opencl", "staged", 2, 0, "8448 bytes (refused: direct)"); /* but may be wished for */
    expect(half, "cuda", "fragments(direct)", 0, 0, "loaded straight from memory, no copies (refused: staged)");
    expect(half, "metal", NULL, 0, 0, "loaded straight from memory, no copies (refused: staged)");
    expect(single, "metal", "fragments(direct)", 0, 0, "`acc` stays in accumulators of 8 x 8");
    expect(whole, "metal", NULL, 0, 0, "loaded straight from memory, no copies (refused: staged)");
    expect(half, "metal", "fragments(staged)", 0, 2, "operands a, b staged in shared memory: ");
    expect(converted, "metal", NULL, 0, 2, "loaded straight from memory, refused: an operand is computed");
    expect(converted, "cuda", NULL, 0, 2,
           "operand 2 is loaded a step ahead, computed and stored by the threads"); /* beside copies of the other */
    expect(causal, "metal", NULL, 0, 0, "refused: a predicate says for single results what is summed");
    expect(single, "metal", "staged", 2, 0, "staged in shared memory");
    expect(gated, "cuda", NULL, 3, 0, "operands copied asynchronously into a ring of 3 stages"); /* x once */
    trial one = compile(gated, "cuda", NULL);
    assert_int_equal(count_kind(&kernel_of(&one)->body, KSTMT_COPY), 6);
    arena_free(one.arena);
    expect(causal, "cuda", NULL, 0, 0, "a predicate says for single results what is summed");
    expect(nested, "cuda", NULL, 0, 2, "refused: a ring of stages: the loop lies in another");
    expect(activated, "cuda", NULL, 0, 4, "dot by mma.sync.m16n8k16 over all tiles, `b` stays in accumulators");
    expect(activated, "metal", NULL, 0, 0, "dot by simdgroup_matrix 8x8x8 over all tiles, `b` stays in accumulators");
    expect(rounded32, "cuda", NULL, 2, 0, "dot by mma.sync.m16n8k8 over all tiles");
    expect(rounded32, "cuda", NULL, 2, 0,
           "operands copied asynchronously into a ring of 3 stages"); /* and rounded in registers */
    expect(rounded32, "metal", NULL, 2, 0, "dot by simdgroup_matrix 8x8x8 over all tiles");
    expect(single, "cuda", NULL, 2, 0, "the nearest, mma.sync.m16n8k8, keeps 10 of the 23 bits of its operands");
    expect(bytes, "cuda", NULL, 0, 2, "dot by mma.sync.m16n8k16 over all tiles"); /* f16 holds every e4m3 */
    expect(bytes, "metal", NULL, 0, 2, "dot by simdgroup_matrix 8x8x8 over all tiles");
    expect(whole, "cuda", NULL, 0, 0, "no loop goes over tiles of");
    expect(vector, "opencl", NULL, 0, 0, NULL);
}

/* ---- operands loaded straight from memory ---- */

typedef struct census {
    int barriers, loads, guarded, mmas, ifs;
} census;

static void count(const kernel_block *b, census *c) {
    for (int i = 0; i < b->items.count; i++) {
        const kernel_stmt *s = b->items.at[i];
        c->barriers += s->kind == KSTMT_BARRIER;
        c->loads += s->kind == KSTMT_FRAGMENT_LOAD;
        c->guarded += s->kind == KSTMT_FRAGMENT_LOAD && s->extents;
        c->mmas += s->kind == KSTMT_FRAGMENT_MMA;
        c->ifs += s->kind == KSTMT_IF;
        count(&s->body, c);
        count(&s->otherwise, c);
    }
}

/* Loops that multiply and in which nothing is asked. */
static int unguarded_loops(const kernel_block *b) {
    int found = 0;
    for (int i = 0; i < b->items.count; i++) {
        const kernel_stmt *s = b->items.at[i];
        census c = {0};
        count(&s->body, &c);
        found += s->kind == KSTMT_FOR && c.mmas && c.loads && !c.guarded && !c.ifs
                     ? 1
                     : unguarded_loops(&s->body) + unguarded_loops(&s->otherwise);
    }
    return found;
}

/* The branch that says whether all of a subgroup's elements exist. */
static const kernel_stmt *branch_of_subgroups(const kernel_ir *k) {
    for (int i = 0; i < k->body.items.count; i++) {
        const kernel_stmt *s = k->body.items.at[i];
        for (int l = 0; s->kind == KSTMT_IF && l < k->levels.count; l++)
            for (int d = 0; k->levels.at[l].kind == LEVEL_SUBGROUP && d < k->levels.at[l].rank; d++)
                if (cond_mentions(s->condition, k->levels.at[l].ids[d]))
                    return s;
    }
    return NULL;
}

static void direct_has_no_copies(void **state) {
    (void)state;
    const char *const texts[] = {half, single, across, gated, whole};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        trial t = compile(texts[i], "metal", NULL);
        assert_true(t.good);
        const kernel_ir *k = kernel_of(&t);
        census all = {0}, inner = {0};
        count(&k->body, &all);
        assert_int_equal(all.barriers, 0);
        assert_int_equal(kernel_shared_bytes(k), 0);
        const kernel_stmt *branch = branch_of_subgroups(k);
        assert_non_null(branch);
        assert_true(unguarded_loops(&branch->body) >= 1);
        count(&branch->otherwise, &inner);
        assert_true(inner.loads > 0 && inner.guarded == inner.loads);
        arena_free(t.arena);
    }
}

/* Without a guard at the edge, or with one that says that more exists, some load leaves its array. */
static void unguard(arena *a, kernel_block *b, int how, int *left) {
    for (int i = 0; i < b->items.count; i++) {
        kernel_stmt *s = b->items.at[i];
        if (s->kind == KSTMT_FRAGMENT_LOAD && s->extents && (*left)-- == 0) {
            if (how == 2)
                s->extents = NULL;
            else
                s->extents[how] = ix_const(a, 8);
        }
        unguard(a, &s->body, how, left);
        unguard(a, &s->otherwise, how, left);
    }
}

static void guards_are_needed(void **state) {
    (void)state;
    for (int how = 0; how < 3; how++)
        for (int which = 0; which < 2; which++) {
            trial t = compile(half, "metal", NULL);
            assert_true(t.good);
            int left = 4 + which; /* in the path of the edge, of the last steps */
            launch_plan *plan = t.c.lowered.plan;
            plan->variants.at[0].aligned = NULL;
            unguard(t.arena, &plan->variants.at[0].kernel->body, how, &left);
            assert_true(left < 0);
            proof p = {0};
            assert_null(prove_plan(t.arena, plan, target_find("metal")->limits(), &p, &t.diags));
            bool refuted = false;
            for (int i = 0; i < p.items.count; i++)
                refuted = refuted || (!strcmp(p.items.at[i].property, "bounds") && p.items.at[i].verdict == VERDICT_REFUTED);
            assert_true(refuted);
            arena_free(t.arena);
        }
}

static void expect_refused(const char *text, const char *operands, int line, int column, const char *note) {
    trial t = compile(text, "cuda", operands);
    assert_false(t.good);
    assert_int_equal(t.diags.errors, 1);
    const diag *g = t.diags.items.at[0];
    assert_string_equal(g->code, "E0506");
    assert_int_equal(g->span.line, line);
    assert_int_equal(g->span.column, column);
    assert_string_equal(g->caret, "the nearest legal value is direct");
    assert_int_equal(g->notes.count, 1);
    if (!strstr(g->notes.at[0], note))
        fail_msg("`%s` does not say `%s`", g->notes.at[0], note);
    arena_free(t.arena);
}

static void refused(void **state) {
    (void)state;
    expect_refused(causal, "staged", 4, 54, "a predicate says for single results what is summed");
    expect_refused(vector, "staged", 4, 38, "no thread shares an element with others");
    trial t = compile(converted, "metal", "fragments(direct)");
    assert_false(t.good);
    assert_string_equal(t.diags.items.at[0]->code, "E0506");
    assert_non_null(strstr(t.diags.items.at[0]->notes.at[0], "an operand is computed"));
    arena_free(t.arena);
    char text[600];
    snprintf(text, sizeof text, "%sschedule f for cuda { operands = staged }\n", causal);
    expect_refused(text, NULL, 8, 23, "a predicate says for single results what is summed");
}

/* Takes the n-th barrier out, or (`store`) the n-th store to shared memory; false when there are fewer. */
static bool take_out(kernel_block *b, bool store, int *n) {
    for (int i = 0; i < b->items.count; i++) {
        kernel_stmt *s = b->items.at[i];
        bool is = store ? s->kind == KSTMT_STORE && s->access.array->space == SPACE_SHARED : s->kind == KSTMT_BARRIER;
        if (is && (*n)-- == 0) {
            memmove(&b->items.at[i], &b->items.at[i + 1], sizeof *b->items.at * (size_t)(b->items.count - 1 - i));
            b->items.count--;
            return true;
        }
        if (take_out(&s->body, store, n) || take_out(&s->otherwise, store, n))
            return true;
    }
    return false;
}

/* Two barriers in each of four loops, of which those over last tiles make one trip and would do with the first; a copy of each operand in each, with zeros
 * beside it where elements may be missing. */
static void each_part_is_needed(void **state) {
    (void)state;
    static const char small[] =
        KERNEL("(a: f16[M, K], b: f16[K, N]) -> (c: f32[M, N])",
               "for k: BK in K { acc += a[i, k] @ b[k, j] }") "schedule f for cuda { BM = 32, BN = 32, BK = 8 }\n";
    bool quick = getenv("TILEC_QUICK") != NULL; /* under valgrind: one barrier */
    for (int store = 0; store < 2 - quick; store++) {
        int found = 0;
        for (int n = 0; n < (quick ? 1 : 100); n++) {
            trial t = compile(small, "cuda", "staged");
            assert_true(t.good);
            int left = n;
            if (!take_out(&kernel_of(&t)->body, store, &left)) {
                arena_free(t.arena);
                break;
            }
            found++;
            proof p = {0};
            const proved_plan *good = prove_plan(t.arena, t.c.lowered.plan, target_find("cuda")->limits(), &p, &t.diags);
            if (!store && (n == 3 || n == 7))
                assert_non_null(good);
            else if (good)
                fail_msg("proved without %s %d", store ? "store" : "barrier", n);
            assert_true(good || p.refuted > 0);
            arena_free(t.arena);
        }
        assert_true(quick || (store ? found >= 8 : found == 8));
    }
}

static bool take_out_kind(kernel_block *b, kernel_stmt_kind kind, int *n) {
    for (int i = 0; i < b->items.count; i++) {
        kernel_stmt *s = b->items.at[i];
        if (s->kind == kind && (*n)-- == 0) {
            memmove(&b->items.at[i], &b->items.at[i + 1], sizeof *b->items.at * (size_t)(b->items.count - 1 - i));
            b->items.count--;
            return true;
        }
        if (take_out_kind(&s->body, kind, n) || take_out_kind(&s->otherwise, kind, n))
            return true;
    }
    return false;
}

/* A ring, one text for whole tiles and others, of matrix instructions and of single threads in turn: each copy, each group of them, the wait and the barrier. */
static void each_part_of_a_ring_is_needed(void **state) {
    (void)state;
    static const char small[] = KERNEL(
        "(a: f16[M, K], b: f16[K, N]) -> (c: f32[M, N])",
        "for k: BK in K { acc += a[i, k] @ b[k, j] }") "schedule f for cuda { BM = 32, BN = 32, BK = 16, subgroups = 2 x 2 }\n";
    static const struct {
        kernel_stmt_kind kind;
        int count;
    } parts[] = {{KSTMT_BARRIER, 1}, {KSTMT_WAIT_ASYNC, 1}, {KSTMT_COMMIT, 2}, {KSTMT_COPY, 4}};
    for (int i = 0; i < (getenv("TILEC_QUICK") ? 1 : 4); i++)
        for (int n = 0; n < parts[i].count; n++) {
            const bool threads = (i + n) % 2;
            trial t = threads ? compile(single, "cuda", NULL) : compile(small, "cuda", "fragments");
            proof p = {0};
            int left = n;
            assert_true(t.good);
            assert_int_equal(count_kind(&kernel_of(&t)->body, parts[i].kind), parts[i].count);
            assert_true(take_out_kind(&kernel_of(&t)->body, parts[i].kind, &left));
            if (prove_plan(t.arena, t.c.lowered.plan, target_find("cuda")->limits(), &p, &t.diags))
                fail_msg("proved without %s %d", kernel_stmt_names[parts[i].kind], n);
            assert_true(p.refuted > 0);
            arena_free(t.arena);
        }
}

/* The n-th slot of a ring of two, counted from the steps: 0 instead. */
static bool take_slot(arena *a, kernel_block *b, int *n) {
    for (int i = 0; i < b->items.count; i++) {
        kernel_stmt *s = b->items.at[i];
        kernel_value *v = s->kind == KSTMT_LET ? s->value : NULL;
        if (v && v->op == KERNEL_INDEX && v->index->op == IX_MOD && (*n)-- == 0) {
            v->index = ix_const(a, 0);
            return true;
        }
        if (take_slot(a, &s->body, n) || take_slot(a, &s->otherwise, n))
            return true;
    }
    return false;
}

/* Tiles held in registers while others are multiplied: each barrier, each store into shared memory (of the first and of further whole tiles), each slot. */
static void each_part_ahead_is_needed(void **state) {
    (void)state;
    enum { BARRIERS = 2, STORES = 4, SLOTS = 2 };
    static const char text[] = KERNEL("(a: f16[M, K], b: f16[K, N]) -> (c: f32[M, N])",
                                      "for k: BK in K { acc += a[i, k] @ b[k, j] }") "schedule f for metal { BM = 16, BN = 16, "
                                                                                     "BK = 8, subgroups = 2 x 2, stages = 2 }\n";
    trial whole = compile(text, "metal", NULL);
    assert_true(whole.good);
    bool told = false;
    for (int i = 0; i < whole.c.lowered.routes.count; i++)
        told = told || strstr(whole.c.lowered.routes.at[i], "loaded into registers before a step's products");
    assert_true(told);
    assert_int_equal(count_kind(&kernel_of(&whole)->body, KSTMT_BARRIER), BARRIERS);
    assert_int_equal(count_kind(&kernel_of(&whole)->body, KSTMT_COPY), 0);
    arena_free(whole.arena);
    for (int n = 0; n < BARRIERS + STORES + SLOTS; n++) {
        trial t = compile(text, "metal", NULL);
        int left = n < BARRIERS ? n : n < BARRIERS + STORES ? n - BARRIERS : n - BARRIERS - STORES;
        kernel_block *body = &kernel_of(&t)->body;
        assert_true(n < BARRIERS + STORES ? take_out(body, n >= BARRIERS, &left) : take_slot(t.arena, body, &left));
        proof p = {0};
        if (prove_plan(t.arena, t.c.lowered.plan, target_find("metal")->limits(), &p, &t.diags))
            fail_msg("proved without part %d", n);
        assert_true(p.refuted > 0);
        arena_free(t.arena);
    }
}

static bool without_conflicts(const kernel_array *tile, const char *instruction, char operand) {
    fragment_layout l;
    int64_t cells = 0;
    assert_true(fragment_layout_find("metal", instruction, operand, &l));
    assert_true(ix_is_const(tile->dims[tile->rank - 1], &cells));
    const int64_t stride = cells + (tile->layout.kind == LAYOUT_PAD ? tile->layout.amount : 0);
    const layout_access_request r = {0, element_table[tile->element].block_bytes, (int)stride, "fragment", &l};
    text_buffer out = {0};
    layout_view_banks(&out, &r, LAYOUT_TEXT);
    bool none = strstr(text_get(&out), "no conflict") != NULL;
    text_free(&out);
    return none;
}

/* Matrices of 8 x 8 out of staged tiles of any width: their rows lie in different banks. */
static void staged_matrices_have_their_banks(void **state) {
    (void)state;
    static const char *const sizes[] = {"BM = 32, BN = 32, BK = 8", "BM = 32, BN = 64, BK = 16", "BM = 64, BN = 32, BK = 32"};
    for (int i = 0; i < 6; i++) {
        const char *text = i % 2 ? single : half, *instruction = i % 2 ? "simdgroup_matrix.8x8.f32" : "simdgroup_matrix.8x8.f16";
        arena *a = arena_new();
        trial t = compile(arena_printf(a, "%sschedule f for metal { %s, operands = fragments(staged) }\n", text, sizes[i / 2]),
                          "metal", NULL);
        assert_true(t.good);
        int found = 0;
        for (int n = 0; n < kernel_of(&t)->arrays.count; n++) {
            const kernel_array *tile = kernel_of(&t)->arrays.at[n];
            if (tile->space != SPACE_SHARED)
                continue;
            assert_true(without_conflicts(tile, instruction, 'a'));
            found++;
        }
        assert_int_equal(found, 2);
        arena_free(t.arena);
        arena_free(a);
    }
    fragment_layout l; /* and without the padding they would not */
    assert_true(fragment_layout_find("metal", "simdgroup_matrix.8x8.f16", 'a', &l));
    text_buffer out = {0};
    layout_view_banks(&out, &(layout_access_request){0, 2, 32, "fragment", &l}, LAYOUT_TEXT);
    assert_non_null(strstr(text_get(&out), "4 cycles where 1 would do"));
    text_free(&out);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(forms),
                                       cmocka_unit_test(refused),
                                       cmocka_unit_test(each_part_is_needed),
                                       cmocka_unit_test(direct_has_no_copies),
                                       cmocka_unit_test(guards_are_needed),
                                       cmocka_unit_test(each_part_of_a_ring_is_needed),
                                       cmocka_unit_test(each_part_ahead_is_needed),
                                       cmocka_unit_test(staged_matrices_have_their_banks)};
    const struct CMUnitTest few[] = {cmocka_unit_test(each_part_is_needed)};
    return getenv("TILEC_QUICK") ? cmocka_run_group_tests(few, NULL, NULL) : cmocka_run_group_tests(tests, NULL, NULL);
}
