/* Z3 beside the sets: both agree wherever both answer, on random affine questions and on those that the prover asks; what sets can't say is answered
 * rightly; no answer, or no library, proves nothing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "compile.h"
#include "prove/model.h"
#include "prove/smt.h"
#include "prove/smt_model.h"
#include "sim/sim.h"
#include <dirent.h>
#include <isl/constraint.h>
#include <isl/ctx.h>
#include <isl/local_space.h>
#include <isl/set.h>
#include <isl/val.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool quick(void) {
    return getenv("TILEC_QUICK") != NULL;
}

#define NEED_Z3()                                                                                                                \
    do {                                                                                                                         \
        if (!smt_available()) {                                                                                                  \
            print_message("skipped: libz3.so.4 is not installed (Debian: libz3-4)\n");                                           \
            skip();                                                                                                              \
        }                                                                                                                        \
    } while (0)

static const target_limits limits = {.target = "c",
                                     .private_bytes = 1 << 24,
                                     .shared_bytes = 1 << 16,
                                     .threads_per_block = 1024,
                                     .index_bits = 64,
                                     .largest_extent = (int64_t)1 << 31,
                                     .has_lanes = true};

static uint64_t state = 20260301;
static int below(int n) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (int)((state >> 33) % (uint64_t)n);
}

/* ---- the questions themselves ---- */

static smt *of(arena *a, int integers, const char *assertion) {
    smt *q = smt_new(a, 1000);
    for (int i = 0; i < integers; i++)
        smt_variable(q, SMT_INTEGER, 0);
    smt_assert(q, "%s", assertion);
    return q;
}

static void test_answers(void **unused) {
    (void)unused;
    NEED_Z3();
    if (quick()) /* valgrind makes a second of Z3's into a minute */
        skip();
    arena *a = arena_new();
    int64_t v[3];
    assert_int_equal(smt_ask(of(a, 2, "(= (* x0 x1) 91)"), v), SMT_SOME);
    assert_int_equal(v[0], 1); /* the first variable first */
    assert_int_equal(v[1], 91);
    assert_int_equal(smt_ask(of(a, 2, "(and (= (* x0 x1) 91) (> x0 1) (> x1 1))"), v), SMT_SOME);
    assert_int_equal(v[0], 7);
    assert_int_equal(smt_ask(of(a, 2, "(and (= (* x0 x1) 97) (> x0 1) (> x1 1))"), v), SMT_NONE);
    assert_int_equal(smt_ask(of(a, 1, "(and (>= x0 1000000007) (= (mod x0 2) 0))"), v), SMT_SOME);
    assert_int_equal(v[0], 1000000008);
    assert_int_equal(smt_ask(of(a, 1, "(> x0"), v), SMT_UNKNOWN); /* no question at all */
    assert_int_equal(smt_ask(of(a, 1, "(> y 0)"), v), SMT_UNKNOWN);
    smt *q = smt_new(a, 1000);
    smt_variable(q, SMT_INTEGER, INT32_MIN);
    smt_assert(q, "(= (* x0 x0) 49)");
    assert_int_equal(smt_ask(q, v), SMT_SOME);
    assert_int_equal(v[0], -7);
    q = smt_new(a, 1000);
    smt_variable(q, SMT_BITS, 0);
    smt_assert(q, "(= (bvxor x0 (bvlshr x0 #x0000000000000003)) #x00000000000000ff)");
    assert_int_equal(smt_ask(q, v), SMT_SOME);
    assert_int_equal(v[0] ^ v[0] >> 3, 0xff);
    /* sums of three cubes: more than a second allows */
    smt_answer hard = smt_ask(of(a, 3, "(and (> x0 1) (> x1 1) (= (+ (* x0 x0 x0) (* x1 x1 x1)) (+ (* x2 x2 x2) 3)))"), v);
    if (hard == SMT_SOME)
        assert_int_equal(v[0] * v[0] * v[0] + v[1] * v[1] * v[1], v[2] * v[2] * v[2] + 3);
    assert_int_not_equal(hard, SMT_NONE);
    /* some values are found at once, smaller ones in no time: those found are told, and time is shared by all that is tried */
    double start = prover_clock();
    smt_answer some =
        smt_ask(of(a, 3, "(or (>= x0 5000) (and (> x0 1) (> x1 1) (= (+ (* x0 x0 x0) (* x1 x1 x1)) (+ (* x2 x2 x2) 3))))"), v);
    assert_int_equal(some, SMT_SOME);
    assert_true(v[0] >= 5000 || v[0] * v[0] * v[0] + v[1] * v[1] * v[1] == v[2] * v[2] * v[2] + 3);
    assert_true(prover_clock() - start < 1500);
    print_message("x0 = %lld after %.0f ms\n", (long long)v[0], prover_clock() - start);
    assert_int_equal(smt_ask(smt_new(a, 0), v), SMT_UNKNOWN); /* none left */
    /* a failure and a missing library are no answers */
    smt_fail_at(1);
    assert_int_equal(smt_ask(of(a, 1, "(< x0 0)"), v), SMT_UNKNOWN);
    assert_int_equal(smt_ask(of(a, 1, "(< x0 0)"), v), SMT_NONE);
    smt_pretend_missing(true);
    assert_int_equal(smt_ask(of(a, 1, "(< x0 0)"), v), SMT_UNKNOWN);
    smt_pretend_missing(false);
    arena_free(a);
}

/* ---- kernels beyond sets ---- */

#define ROWS(assumptions, body)                                                                                                  \
    "kernel rows { symbol R, n scalar ld: i32 in 1 .. 1048576 scalar C: i32 in 0 .. 1048576 task (r < R)\n"                      \
    "global in x: f32[n] global out y: f32[R] register s: f32[]\n" assumptions " store s[] <- 0:f32 for c in 0 .. C { " body     \
    " } store y[r] <- s[] }"
#define SUM(index) "store s[] <- add(s[], x[" index "])"
#define STRIDED(shape, strides)                                                                                                  \
    "kernel strided { symbol N task (t < 1) global in x: f32[" shape "] layout strides(" strides ")\n"                           \
    "global out y: f32[1] store y[0] <- 0:f32 }"

typedef struct beyond_sets {
    const char *text;
    verdict verdict; /* REFUTED: of the property below */
    const char *property, *witness;
} beyond_sets;

static const beyond_sets kernels[] = {
    {ROWS("assume C <= ld assume R * ld <= n", SUM("r * ld + c")), VERDICT_PROVED, NULL, NULL},
    {ROWS("assume C <= ld + 1 assume R * ld <= n", SUM("r * ld + c")), VERDICT_REFUTED, "bounds",
     "R = 1, n = 1, ld = 1, C = 2, r = 0, c = 1"},
    {ROWS("assume C <= ld assume R * ld <= n + 1", SUM("r * ld + c")), VERDICT_REFUTED, "bounds",
     "R = 1, n = 0, ld = 1, C = 1, r = 0, c = 0"},
    {ROWS("assume C <= ld assume R * ld <= n", SUM("r * ld + c - 1")), VERDICT_REFUTED, "bounds",
     "R = 1, n = 1, ld = 1, C = 1, r = 0, c = 0"},
    {ROWS("", "if r * ld + c < n { " SUM("r * ld + c") " }"), VERDICT_PROVED, NULL, NULL},
    {ROWS("", "if r * ld + c <= n { " SUM("r * ld + c") " }"), VERDICT_REFUTED, "bounds",
     "R = 1, n = 0, ld = 1, C = 1, r = 0, c = 0"},
    {STRIDED("2, 3", "3, 2"), VERDICT_PROVED, NULL, NULL}, /* 0 2 4, 3 5 7 */
    {STRIDED("3, 4", "3, 2"), VERDICT_REFUTED, "layout", "N = 0, cell = x[0, 3], cell = x[2, 0]"},
};

static kernel_ir *parsed(arena *a, const char *text) {
    diag_list diags;
    diag_init(&diags, a);
    kernel_ir *k = kernel_parse(a, "text", text, &diags);
    if (!k)
        diag_print_all(&diags, stderr, false);
    assert_non_null(k);
    return k;
}

static bool judged(arena *a, const char *text, proof *p) {
    diag_list diags;
    diag_init(&diags, a);
    return prove_kernel(a, parsed(a, text), &limits, p, &diags);
}

static void test_kernels_beyond_sets(void **unused) {
    (void)unused;
    NEED_Z3();
    for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++) {
        const beyond_sets *t = &kernels[i];
        arena *a = arena_new();
        proof p;
        bool fine = judged(a, t->text, &p), found = t->verdict == VERDICT_PROVED;
        for (int j = 0; j < p.items.count; j++) {
            const proof_item *x = &p.items.at[j];
            if (x->verdict != VERDICT_PROVED)
                print_message("%s of %s: %s, %s (%s)\n", x->property, x->subject, verdict_names[x->verdict],
                              x->explanation ? x->explanation : "", x->witness ? x->witness : "");
            found =
                found || (x->verdict == VERDICT_REFUTED && !strcmp(x->property, t->property) && !strcmp(x->witness, t->witness));
        }
        assert_int_equal(fine, t->verdict == VERDICT_PROVED);
        assert_true(found);
        arena_free(a);
    }
}

/* An element that is checked at launch keeps to its bound as it stands in memory; 200 as an i8 is -56. */
static void test_elements_that_wrap(void **unused) {
    (void)unused;
    NEED_Z3();
    if (quick()) /* the same */
        skip();
#define ELEMENT(value)                                                                                                           \
    "kernel row { symbol R, L, n task (r < R) global in ids: i32[R] bound L global in x: f32[n] global out y: f32[R]\n"          \
    "assume L * R <= n let v: index = convert(index, " value ") store y[r] <- x[v * R + r] }"
    arena *a = arena_new();
    proof p;
    assert_true(judged(a, ELEMENT("ids[r]"), &p));
    assert_false(judged(a, ELEMENT("convert(i8, ids[r])"), &p));
    for (int i = 0; i < p.items.count; i++)
        if (!strcmp(p.items.at[i].property, "bounds") && !strcmp(p.items.at[i].subject, "x"))
            assert_int_equal(p.items.at[i].verdict, VERDICT_UNKNOWN);
    arena_free(a);
}

/* Without the library, and where any one question gets no answer, such kernels are not proved and nothing is refuted. */
static void test_no_answer_proves_nothing(void **unused) {
    (void)unused;
    int need = 0;
    for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++) {
        arena *a = arena_new();
        proof p;
        smt_pretend_missing(true);
        char *text = arena_printf(a, "// missing\n%s", kernels[i].text); /* a proof is kept by its text */
        kernel_ir *k = parsed(a, text);
        k->name = "without"; /* likewise */
        diag_list diags;
        diag_init(&diags, a);
        bool fine = prove_kernel(a, k, &limits, &p, &diags);
        smt_pretend_missing(false);
        if (fine) { /* without it, too */
            assert_int_equal(kernels[i].verdict, VERDICT_PROVED);
            arena_free(a);
            continue;
        }
        bool said = false;
        for (int j = 0; j < p.items.count; j++) {
            if (p.items.at[j].verdict == VERDICT_REFUTED) { /* small launches show it, too */
                assert_int_equal(kernels[i].verdict, VERDICT_REFUTED);
                said = true;
            }
            said = said || (p.items.at[j].explanation && strstr(p.items.at[j].explanation, "needs Z3, which is not installed"));
        }
        assert_true(said);
        need++;
        for (unsigned long n = 1; smt_available() && kernels[i].verdict == VERDICT_REFUTED && n < (quick() ? 3 : 8); n++) {
            smt_fail_at(n);
            assert_false(judged(a, kernels[i].text, &p));
            smt_fail_at(0);
        }
        arena_free(a);
    }
    assert_true(need > 0);
}

/* ---- swizzles: the rank over GF(2), and bits ---- */

/* What the property says of the kernel's only array. */
static proof_item rank_of(arena *a, model *m, const kernel_ir *k, diag_list *diags) {
    proof of = {0};
    prover p = {
        .arena = a, .m = m, .kernel = k, .limits = &limits, .proof = &of, .diags = diags, .property = "layout", .code = "E0409"};
    judge_layout(&p);
    assert_int_equal(of.items.count, 1);
    return of.items.at[0];
}

static void test_swizzles(void **unused) {
    (void)unused;
    NEED_Z3();
    int checked = 0, collide = 0;
    for (int bits = 0; bits <= 6; bits += quick() ? 3 : 1)
        for (int base = 0; base <= 4; base += quick() ? 4 : 1)
            for (int shift = 0; shift <= 7; shift += quick() ? 3 : 1) {
                arena *a = arena_new();
                diag_list diags;
                diag_init(&diags, a);
                char *text =
                    arena_printf(a, "kernel k { task (t < 1) lane (l < 1) shared s: f32[64, 64] layout swizzle(%d, %d, %d) }",
                                 bits, base, shift ? shift : 1);
                kernel_ir *k = kernel_parse(a, "swizzle", text, &diags);
                assert_non_null(k);
                k->arrays.at[0]->layout.shift = shift; /* which the checker would refuse when it is 0 */
                sets *z = sets_new(1000000);
                model *m = model_new(a, z, k, &limits, NULL);
                witness w = smt_coincide(m, k->arrays.at[0]);
                if (w.verdict == VERDICT_UNKNOWN)
                    print_message("no answer for swizzle(%d, %d, %d)\n", bits, base, shift);
                bool bijective = shift > 0 || !bits; /* x ^ (x & mask) forgets bits, x ^ (x >> s & mask) does not */
                assert_int_equal(w.verdict, bijective ? VERDICT_PROVED : VERDICT_REFUTED);
                proof_item by_rank = rank_of(a, m, k, &diags);
                assert_int_equal(by_rank.verdict, w.verdict);
                if (w.verdict == VERDICT_REFUTED) {
                    unsigned long long other = 0;
                    uint64_t mask = (((uint64_t)1 << bits) - 1) << base;
                    assert_int_equal(sscanf(by_rank.witness, "offset = 0, offset = %llu", &other), 1);
                    assert_true(other > 0 && other < 64 * 64 && (other ^ (other >> shift & mask)) == 0);
                    uint64_t x = (uint64_t)(64 * w.dims[0] + w.dims[1]), y = (uint64_t)(64 * w.dims[2] + w.dims[3]);
                    assert_true(x != y && (x ^ (x >> shift & mask)) == (y ^ (y >> shift & mask)));
                    collide++;
                }
                checked++;
                sets_free(z);
                arena_free(a);
            }
    print_message("%d swizzles, %d of them not injective\n", checked, collide);
    assert_true(collide > 0);
}

/* ---- random affine questions ---- */

static void random_term(text_buffer *b, int depth) {
    static const char *const names[] = {"i", "j", "k", "M", "N"};
    switch (depth ? below(9) : below(2)) {
    case 0: text_add(b, "%d", below(13) - 3 < 0 ? 0 : below(40)); break;
    case 1:
    case 2: text_add(b, "%s", names[below(5)]); break;
    case 3:
    case 4:
        text_add(b, "(");
        random_term(b, depth - 1);
        text_add(b, below(2) ? " + " : " - ");
        random_term(b, depth - 1);
        text_add(b, ")");
        break;
    case 5:
        text_add(b, "%d * (", 1 + below(9));
        random_term(b, depth - 1);
        text_add(b, ")");
        break;
    case 6:
        text_add(b, "floor((");
        random_term(b, depth - 1);
        text_add(b, ") / %d)", 1 + below(7));
        break;
    case 7:
        text_add(b, "((");
        random_term(b, depth - 1);
        text_add(b, ") mod %d)", 1 + below(7));
        break;
    default:
        text_add(b, "%s(", below(2) ? "min" : "max");
        random_term(b, depth - 1);
        text_add(b, ", ");
        random_term(b, depth - 1);
        text_add(b, ")");
        break;
    }
}

static void random_condition(text_buffer *b, int depth) {
    static const char *const relations[] = {"<", "<=", "==", "!="};
    int kind = depth ? below(5) : 0;
    if (kind < 2) {
        random_term(b, 2);
        text_add(b, " %s ", relations[below(4)]);
        random_term(b, 2);
        return;
    }
    text_add(b, kind == 4 ? "not (" : "(");
    random_condition(b, depth - 1);
    text_add(b, ")");
    if (kind == 4)
        return;
    text_add(b, kind == 2 ? " and (" : " or (");
    random_condition(b, depth - 1);
    text_add(b, ")");
}

/* The innermost scope: can it be reached, and where first? */
static void test_random_conditions(void **unused) {
    (void)unused;
    NEED_Z3();
    enum { MOST = 2000 };
    int none = 0, some = 0, unknown[2] = {0, 0}, count = quick() ? 12 : MOST;
    for (int n = 0; n < count; n++) {
        arena *a = arena_new();
        text_buffer b = {0};
        text_add(&b, "kernel k { symbol M, N task (i < M, j < N) global update y: f32[1]\nfor k in %d .. %s step %d {\nif ",
                 below(4), below(2) ? "M" : "N + 9", 1 + below(4));
        random_condition(&b, 2);
        text_add(&b, " {\nif ");
        random_condition(&b, 1);
        text_add(&b, " { store y[0] <- 0:f32 } } } }");
        const char *text = arena_strdup(a, text_get(&b));
        text_free(&b);
        kernel_ir *k = parsed(a, text);
        sets *z = sets_new(1000000);
        model *m = model_new(a, z, k, &limits, NULL);
        scope *s = m->places.at[m->places.count - 1]->scope;
        witness x = witness_of(m, domain_of(m, s), scope_names(m, s), s->depth);
        witness y = smt_beyond(m, s, ix_const(a, 1), 0, 0); /* 1 is never 0: where it is reached at all */
        unknown[0] += x.verdict == VERDICT_UNKNOWN;
        unknown[1] += y.verdict == VERDICT_UNKNOWN;
        if (x.verdict != VERDICT_UNKNOWN && y.verdict != VERDICT_UNKNOWN) {
            if (x.verdict != y.verdict || (x.text && strcmp(x.text, y.text)))
                print_message("%s\nsets: %s, Z3: %s\n", text, x.text ? x.text : "never", y.text ? y.text : "never");
            assert_int_equal(x.verdict, y.verdict);
            if (x.text) /* both say which point comes first */
                assert_string_equal(x.text, y.text);
            none += x.verdict == VERDICT_PROVED;
            some += x.verdict == VERDICT_REFUTED;
        }
        sets_free(z);
        arena_free(a);
    }
    print_message(
        "%d random questions: both say never %d times, and the same first point %d times; open for sets %d, for Z3 %d\n", count,
        none, some, unknown[0], unknown[1]);
    assert_true(none + some > count * 9 / 10);
}

/* ---- the prover's own questions ---- */

typedef struct captured {
    uint64_t seen[1 << 14];
    int asked, kept, one_in, none, some, unanswered, parameters, dims;
    bool disagree;
    char *text; /* of the question being asked */
} captured;

typedef struct writer {
    text_buffer *b;
    int parameters, dims, divisions, largest;
    bool fine;
} writer;

static void add_term(writer *w, isl_val *v, int variable) {
    if (isl_val_is_zero(v) == isl_bool_true) {
        isl_val_free(v);
        return;
    }
    w->fine = w->fine && isl_val_is_int(v) == isl_bool_true && isl_val_n_abs_num_chunks(v, 8) <= 1;
    long n = w->fine ? isl_val_get_num_si(v) : 0;
    const char *sign = n < 0 ? "(- " : "", *end = n < 0 ? ")" : "";
    unsigned long size = n < 0 ? 0ul - (unsigned long)n : (unsigned long)n;
    if (variable < 0)
        text_add(w->b, " %s%lu%s", sign, size, end);
    else
        text_add(w->b, " (* %s%lu%s x%d)", sign, size, end, variable);
    isl_val_free(v);
}

static isl_stat write_constraint(isl_constraint *c, void *user) {
    writer *w = user;
    text_add(w->b, " (%s (+ 0", isl_constraint_is_equality(c) ? "=" : ">=");
    add_term(w, isl_constraint_get_constant_val(c), -1);
    for (int i = 0; i < w->parameters; i++)
        add_term(w, isl_constraint_get_coefficient_val(c, isl_dim_param, i), i);
    for (int i = 0; i < w->dims; i++)
        add_term(w, isl_constraint_get_coefficient_val(c, isl_dim_set, i), w->parameters + i);
    for (int i = 0; i < w->divisions; i++)
        add_term(w, isl_constraint_get_coefficient_val(c, isl_dim_div, i), w->parameters + w->dims + i);
    text_add(w->b, ") 0)");
    isl_constraint_free(c);
    return isl_stat_ok;
}

/* Divisions are unknowns like the others: whether there is a point does not depend on what they are called. */
static isl_stat write_piece(isl_basic_set *x, void *user) {
    writer *w = user;
    w->divisions = (int)isl_basic_set_dim(x, isl_dim_div);
    w->largest = w->divisions > w->largest ? w->divisions : w->largest;
    text_add(w->b, " (and true");
    isl_basic_set_foreach_constraint(x, write_constraint, w);
    text_add(w->b, ")");
    isl_basic_set_free(x);
    return isl_stat_ok;
}

static void compare(captured *c, const char *text, tri empty) {
    isl_ctx *ctx = isl_ctx_alloc();
    isl_set *x = isl_set_read_from_str(ctx, text);
    assert_non_null(x);
    text_buffer b = {0};
    writer w = {&b, (int)isl_set_dim(x, isl_dim_param), (int)isl_set_dim(x, isl_dim_set), 0, 0, true};
    text_add(&b, "(or false");
    isl_set_foreach_basic_set(x, write_piece, &w);
    text_add(&b, ")");
    arena *a = arena_new();
    smt *q = smt_new(a, 1000);
    for (int i = 0; i < w.parameters + w.dims + w.largest; i++)
        smt_variable(q, SMT_INTEGER, -((int64_t)1 << 60));
    smt_assert(q, "%s", text_get(&b));
    smt_answer answer = w.fine ? smt_ask(q, NULL) : SMT_UNKNOWN;
    if (answer == SMT_UNKNOWN) {
        c->unanswered++;
    } else if ((answer == SMT_NONE) != (empty == TRI_YES)) {
        c->disagree = true;
        print_message("sets say %s of %s\n", empty == TRI_YES ? "none" : "some", text);
    } else if (empty == TRI_YES) {
        c->none++;
    } else {
        c->some++;
    }
    text_free(&b);
    arena_free(a);
    isl_set_free(x);
    isl_ctx_free(ctx);
}

/* Told of a question before it is asked (and a set may find out that it is empty) and of the answer. */
static void watch(void *context, int_set *x, tri empty) {
    captured *c = context;
    if (empty == TRI_UNKNOWN) {
        c->asked++;
        free(c->text);
        c->text = c->asked % c->one_in ? NULL : sets_text(x);
        return;
    }
    uint64_t hash = 14695981039346656037u;
    for (const char *at = c->text; at && *at; at++)
        hash = (hash ^ (unsigned char)*at) * 1099511628211u;
    /* trivial ones and those met before are passed over */
    uint64_t *slot = &c->seen[hash % (sizeof c->seen / sizeof *c->seen)];
    if (c->text && *slot != hash && strlen(c->text) < 6000 && !strstr(c->text, ": false }")) {
        *slot = hash;
        c->kept++;
        compare(c, c->text, empty);
    }
    free(c->text);
    c->text = NULL;
}

static void capture_texts(captured *c, const char *folder) {
    DIR *d = opendir(folder);
    assert_non_null(d);
    for (struct dirent *e; (e = readdir(d));) {
        size_t n = strlen(e->d_name);
        if (n < 5 || strcmp(e->d_name + n - 4, ".kir") || (quick() && n % 4))
            continue;
        char path[512];
        snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
        arena *a = arena_new();
        diag_list diags;
        diag_init(&diags, a);
        char *text = calloc(1, 1 << 16);
        FILE *f = fopen(path, "rb");
        assert_non_null(f);
        assert_true(fread(text, 1, (1 << 16) - 1, f) > 0);
        fclose(f);
        kernel_ir *k = kernel_parse(a, path, text, &diags);
        proof p;
        sets_watch(watch, c);
        if (k)
            prove_kernel(a, k, &limits, &p, &diags);
        sets_watch(NULL, NULL);
        free(text);
        arena_free(a);
    }
    closedir(d);
}

static void capture_shipped(captured *c) {
    DIR *d = opendir("kernels");
    assert_non_null(d);
    for (struct dirent *e; (e = readdir(d));) {
        size_t n = strlen(e->d_name);
        if (n < 6 || strcmp(e->d_name + n - 5, ".tile") || quick())
            continue;
        char path[512];
        snprintf(path, sizeof path, "kernels/%s", e->d_name);
        arena *a = arena_new();
        diag_list diags;
        diag_init(&diags, a);
        tile_module *m = compile_load(a, path, NULL, &diags);
        compile_options o = {.target = target_find("c"), .sample_statics = true};
        sets_watch(watch, c);
        for (int i = 0; m && i < m->kernels.count; i++) {
            compiled_kernel out = {0};
            compile_kernel(a, m, m->kernels.at[i], &o, &out, &diags);
        }
        sets_watch(NULL, NULL);
        arena_free(a);
    }
    closedir(d);
}

static void test_the_provers_questions(void **unused) {
    (void)unused;
    NEED_Z3();
    captured *c = calloc(1, sizeof *c);
    c->one_in = quick() ? 23 : 4;
    capture_texts(c, "test/kernel-ir");
    capture_texts(c, "test/kernel-ir/defects");
    capture_shipped(c);
    print_message(
        "%d questions, %d distinct ones asked of Z3 too: both say none %d times, some %d times; %d without its answer\n",
        c->asked, c->kept, c->none, c->some, c->unanswered);
    assert_false(c->disagree);
    assert_true(quick() ? c->none + c->some > 0 : c->none > 0 && c->some > 0);
    free(c);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_answers),
        cmocka_unit_test(test_kernels_beyond_sets),
        cmocka_unit_test(test_elements_that_wrap),
        cmocka_unit_test(test_no_answer_proves_nothing),
        cmocka_unit_test(test_swizzles),
        cmocka_unit_test(test_random_conditions),
        cmocka_unit_test(test_the_provers_questions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
