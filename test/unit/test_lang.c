/* What the front end makes of a source: Tile IR, piece by piece; and the proofs about integers that it rests on. */
#include "lang/lang.h"
#include "lang/linear.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <string.h>

static tile_module *load(arena *a, const char *text) {
    diag_list diags;
    diag_init(&diags, a);
    tile_module *m = lang_load(a, "test.tile", text, &diags);
    if (!m)
        diag_print_all(&diags, stderr, false);
    assert_non_null(m);
    return m;
}

static const tile_kernel *first(const tile_module *m) {
    assert_true(m->kernels.count > 0);
    return m->kernels.at[0];
}

static const tile_stmt *statement(const tile_block *b, int i) {
    assert_true(i < b->items.count);
    return b->items.at[i];
}

static bool varies(const tile_value *v, const char *range) {
    for (int i = 0; i < v->axis_count; i++)
        if (!strcmp(v->axes[i]->name, range))
            return true;
    return false;
}

static void test_matmul(void **state) {
    (void)state;
    arena *a = arena_new();
    const tile_kernel *k = first(load(a, "kernel matmul(a: f16[M, K], b: f16[K, N]) -> (c: f32[M, N]) {\n"
                                         "  for tile c[i: BM, j: BN] {\n"
                                         "    acc: f32[i, j] = 0\n"
                                         "    for k: BK in K { acc += a[i, k] @ b[k, j] }\n"
                                         "    c[i, j] = acc\n"
                                         "  }\n}\n"));
    assert_int_equal(k->task.count, 2);
    assert_true(k->task.at[0]->scheduled && k->task.at[0]->is_task && !k->task.at[0]->whole);
    assert_string_equal(k->task.at[0]->extent->var->name, "M");
    assert_int_equal(k->task.at[1]->size->var->kind, INDEX_TILE);
    const tile_stmt *loop = statement(&k->body, 1);
    assert_int_equal(loop->kind, TILE_STMT_LOOP);
    assert_false(loop->range->is_task);
    const tile_value *dot = statement(&loop->body, 0)->value;
    assert_int_equal(dot->op, TILE_DOT);
    assert_int_equal(dot->type, ELEMENT_F32);
    assert_int_equal(dot->accumulator, ELEMENT_F32);
    assert_int_equal(dot->contract_count, 1);
    assert_ptr_equal(dot->contract[0], loop->range);
    assert_int_equal(dot->operands[0]->type, ELEMENT_F16); /* operands stay narrow */
    assert_true(varies(dot, "i") && varies(dot, "j") && !varies(dot, "k"));
    arena_free(a);
}

/* What a name is bound to by this expression. */
static const tile_value *bound_to(arena *a, const char *value) {
    const char *text = arena_printf(a,
                                    "kernel f(x: f32[N], n: i32[N]) -> (y: f32[N]) {\n"
                                    "  for tile y[i: B] { t = %s  y[i] = f32(t) + x[i] + f32(n[i]) }\n}\n",
                                    value);
    return statement(&first(load(a, text))->body, 0)->value;
}

/* Literals stay literals beneath abs, -, max and min: they take the type of what they meet. */
static void test_literals(void **state) {
    (void)state;
    arena *a = arena_new();
    static const struct {
        const char *value;
        element_type type;
        double argument; /* of the operation's last operand, a constant */
    } cases[] = {
        {"sqrt(abs(-1))", ELEMENT_F32, 1},           {"exp(-abs(-3))", ELEMENT_F32, -3},
        {"sqrt(max(1, 2))", ELEMENT_F32, 2},         {"sqrt(min(abs(-4), 7))", ELEMENT_F32, 4},
        {"x[i] * abs(-2)", ELEMENT_F32, 2},          {"max(x[i], abs(-5))", ELEMENT_F32, 5},
        {"x[i] + -max(1, 2, 3)", ELEMENT_F32, -3},   {"n[i] * abs(-2)", ELEMENT_I32, 2},
        {"max(n[i], -abs(6 - 8))", ELEMENT_I32, -2}, {"x[i] - abs(0.5 - 1)", ELEMENT_F32, 0.5},
    };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        const tile_value *v = bound_to(a, cases[c].value);
        assert_int_equal(v->type, cases[c].type);
        const tile_value *constant = v->operands[v->operand_count - 1];
        assert_int_equal(constant->op, TILE_CONST);
        assert_int_equal(constant->type, cases[c].type);
        assert_true(constant->number == cases[c].argument);
    }
    /* A count within a function of f32 counts in f32; alone an integer literal is i32 still. */
    assert_int_equal(bound_to(a, "sqrt(select(x[i] < 0, 1, 4))")->operands[0]->type, ELEMENT_F32);
    assert_int_equal(bound_to(a, "select(x[i] < abs(-1), 1, 4)")->type, ELEMENT_I32);
    arena_free(a);
}

static void test_types(void **state) {
    (void)state;
    arena *a = arena_new();
    const tile_kernel *k = first(load(a, "kernel f(x: f16[N], n: i8[N], s: 0..N) -> (y: f32[N], z: u32[N], h: f16[N]) {\n"
                                         "  for tile y[i: B], z[i], h[i] {\n"
                                         "    y[i] = x[i] * 2 + f32(n[i]) / N\n"
                                         "    z[i] = i + 2 * s\n"
                                         "    h[i] = x[i]\n"
                                         "  }\n}\n"));
    const tile_value *sum = statement(&k->body, 0)->value;
    assert_int_equal(sum->op, TILE_ADD);
    const tile_value *product = sum->operands[0];
    assert_int_equal(product->operands[0]->op, TILE_CONVERT); /* f16 loads become f32 */
    assert_int_equal(product->operands[0]->operands[0]->type, ELEMENT_F16);
    assert_int_equal(product->operands[1]->type, ELEMENT_F32);
    assert_true(product->operands[1]->number == 2);
    const tile_value *extent = sum->operands[1]->operands[1]; /* N as f32 */
    assert_int_equal(extent->op, TILE_CONVERT);
    assert_int_equal(extent->operands[0]->op, TILE_INDEX);
    const tile_value *index = statement(&k->body, 1)->value; /* one exact integer expression, then u32 */
    assert_int_equal(index->type, ELEMENT_U32);
    assert_int_equal(index->operands[0]->op, TILE_INDEX);
    assert_true(varies(index, "i"));
    assert_int_equal(statement(&k->body, 2)->value->op, TILE_LOAD); /* copied as it is */
    assert_int_equal(k->scalars.at[0]->var->kind, INDEX_SCALAR);
    assert_string_equal(k->scalars.at[0]->var->hi->var->name, "N");
    arena_free(a);
}

static void test_narrow_accumulator(void **state) {
    (void)state;
    arena *a = arena_new();
    const tile_kernel *k = first(load(a, "kernel f(x: f16[M, K], w: f16[K]) -> (y: f16[M]) { for tile y[i: B] {\n"
                                         "  acc: f16[i] = 0\n  for k: BK in K { acc += x[i, k] @ w[k] }\n  y[i] = acc } }\n"));
    const tile_value *dot = statement(&statement(&k->body, 1)->body, 0)->value;
    assert_int_equal(dot->accumulator, ELEMENT_F16);
    assert_int_equal(k->variables.at[0]->types[0], ELEMENT_F16);
    arena_free(a);
}

/* Reductions vary as the loop's condition does. */
static void test_predicate_axes(void **state) {
    (void)state;
    arena *a = arena_new();
    const tile_kernel *k = first(load(a, "kernel f(x: f32[T], w: f32[T]) -> (y: f32[T], z: f32[T]) { for tile y[i: B], z[i] {\n"
                                         "  s: f32[i] = 0\n  p: f32[i] = 0\n"
                                         "  for t: BT in T where t <= i { s += sum[t](x[t])\n p += x[t] @ w[t] }\n"
                                         "  y[i] = s\n  z[i] = p } }\n"));
    const tile_stmt *loop = statement(&k->body, 2);
    assert_non_null(loop->predicate);
    assert_int_equal(loop->predicate->op, COND_LE);
    assert_true(varies(statement(&loop->body, 0)->value, "i"));
    assert_true(varies(statement(&loop->body, 1)->value, "i"));
    assert_false(varies(statement(&loop->body, 1)->value, "t"));
    arena_free(a);
}

static void test_gather(void **state) {
    (void)state;
    arena *a = arena_new();
    const tile_kernel *k = first(load(a, "kernel f(ids: index(V)[T], table: f32[V, D]) -> (x: f32[T, D]) {\n"
                                         "  for tile x[t: BT, d: BD] { x[t, d] = table[ids[t], d] } }\n"));
    const tile_stmt *let = statement(&k->body, 0); /* the index is computed once */
    assert_int_equal(let->kind, TILE_STMT_LET);
    assert_int_equal(let->value->type, ELEMENT_INDEX);
    const index_var *v = let->value->value_var;
    assert_int_equal(v->kind, INDEX_VALUE);
    int64_t lo;
    assert_true(ix_is_const(v->lo, &lo) && lo == 0);
    const tile_value *load_value = statement(&k->body, 1)->value;
    assert_ptr_equal(load_value->indices[0]->var, v);
    assert_true(varies(load_value, "t") && varies(load_value, "d"));
    arena_free(a);
}

static void test_product_dimensions(void **state) {
    (void)state;
    arena *a = arena_new();
    const tile_kernel *k =
        first(load(a, "kernel f(q: f16[KV*G, D]) -> (o: f16[KV*G, D]) static G, D = 64 {\n"
                      "  for tile o[(h: 1, g: G), ..] { for d: BD in D { o[(h, g), d] = q[(h, g), d] } } }\n"));
    const tile_array *q = k->arrays.at[0];
    assert_int_equal(q->rank, 3);
    assert_int_equal(q->group_count, 2);
    assert_int_equal(q->groups[0], 2);
    assert_int_equal(k->task.count, 3);
    assert_true(k->task.at[1]->whole && k->task.at[2]->whole && !k->task.at[0]->whole);
    const index_var *d = NULL, *g = NULL;
    for (int i = 0; i < k->symbols.count; i++) {
        if (!strcmp(k->symbols.at[i]->name, "D"))
            d = k->symbols.at[i];
        if (!strcmp(k->symbols.at[i]->name, "G"))
            g = k->symbols.at[i];
    }
    assert_true(d && d->kind == INDEX_STATIC && d->has_value && d->value == 64);
    assert_true(g && g->kind == INDEX_STATIC && !g->has_value);
    arena_free(a);
}

static void test_derived_and_block(void **state) {
    (void)state;
    arena *a = arena_new();
    const tile_module *m = load(a, "kernel f(x: q8_0[R, N]) -> (v: f32[R, S]) static CH = 32 where S == (N + CH - 1) / CH {\n"
                                   "  for tile v[r: 1, s: 1] {\n    m: f32[r, s] = -inf\n"
                                   "    for n: BN in N where s * CH <= n and n < (s + 1) * CH { m max= max[n](x[r, n]) }\n"
                                   "    v[r, s] = m } }\n"
                                   "program g(x: q8_0[R, N]) -> (v: f32[R, S]) { v = f(x, CH = 64) }\n");
    const tile_kernel *k = first(m);
    int derived = 0;
    for (int i = 0; i < k->symbols.count; i++)
        if (k->derived.at[i]) {
            assert_string_equal(k->symbols.at[i]->name, "S");
            assert_int_equal(k->derived.at[i]->op, IX_FLOORDIV);
            derived++;
        }
    assert_int_equal(derived, 1);
    assert_int_equal(k->where.count, 2); /* whole blocks, and the one written */
    const tile_program *p = m->programs.at[0];
    assert_int_equal(p->calls.count, 1);
    assert_string_equal(p->calls.at[0]->bind_names.at[0], "CH");
    assert_ptr_equal(p->calls.at[0]->kernel, k);
    arena_free(a);
}

/* A join is built once, its equal parts shared; the state so far is on the left. */
static void test_state(void **state) {
    (void)state;
    arena *a = arena_new();
    const tile_kernel *k = first(load(a, "combine mean(n, s) { empty = (0, 0) join(a, b) = (a.n + b.n, a.s - b.s) }\n"
                                         "kernel f(x: f32[R, C]) -> (y: f32[R]) { for tile y[r: B] {\n"
                                         "  acc: mean(f32[r], f32[r])\n"
                                         "  for c: BC in C { acc <- (sum[c](1), sum[c](x[r, c])) }\n"
                                         "  y[r] = acc.s / acc.n } }\n"));
    const tile_variable *x = k->variables.at[0];
    assert_string_equal(x->combine, "mean");
    assert_int_equal(x->field_count, 2);
    assert_ptr_equal(x->join[1]->operands[0], x->left[1]);
    assert_ptr_equal(x->join[1]->operands[1], x->right[1]);
    assert_int_equal(x->left[1]->side, 0);
    assert_int_equal(x->right[1]->side, 1);
    assert_true(x->empty[0]->op == TILE_CONST && x->empty[0]->number == 0);
    const tile_stmt *join = statement(&statement(&k->body, 1)->body, 0);
    assert_int_equal(join->kind, TILE_STMT_JOIN);
    assert_int_equal(join->values[0]->type, ELEMENT_F32); /* the count takes its field's type */
    arena_free(a);
}

/* An argument that a function uses twice is computed once. */
static void test_inlining(void **state) {
    (void)state;
    arena *a = arena_new();
    const tile_kernel *k = first(
        load(a, "fn square(x) = x * x\nkernel f(x: f32[N]) -> (y: f32[N]) { for tile y[i: B] { y[i] = square(exp(x[i])) } }\n"));
    const tile_stmt *let = statement(&k->body, 0);
    assert_int_equal(let->kind, TILE_STMT_LET);
    assert_int_equal(let->value->op, TILE_EXP);
    const tile_value *product = statement(&k->body, 1)->value;
    assert_ptr_equal(product->operands[0], let->value);
    assert_ptr_equal(product->operands[1], let->value);
    arena_free(a);
}

static void test_schedules(void **state) {
    (void)state;
    arena *a = arena_new();
    const tile_module *m = load(
        a,
        "kernel f(x: f32[N]) -> (y: f32[N]) { for tile y[i: B] { y[i] = x[i] } }\n"
        "schedule f { B = 64 }\nschedule f for cuda.sm_90 { B = 32, operands = staged(4)\n  roles = producer + 2 consumers }\n");
    assert_int_equal(m->schedules.count, 2);
    assert_null(m->schedules.at[0]->target);
    const tile_schedule *s = m->schedules.at[1];
    assert_string_equal(s->target, "cuda.sm_90");
    assert_int_equal(s->entries.count, 3);
    assert_true(s->entries.at[0].is_integer && s->entries.at[0].integer == 32);
    assert_int_equal(s->entries.at[1].words.count, 4);
    assert_int_equal(s->entries.at[2].words.count, 4);
    assert_false(s->entries.at[1].is_integer);
    arena_free(a);
}

/* --- linear.c --- */

typedef struct variables {
    arena *a;
    index_var n, m, c, i;
    tile_range range;
    index_expr *N, *M, *C, *I;
} variables;

static void make_variables(variables *v) {
    memset(v, 0, sizeof *v);
    v->a = arena_new();
    v->n = (index_var){.name = "N", .kind = INDEX_SYMBOL};
    v->m = (index_var){.name = "M", .kind = INDEX_SYMBOL};
    v->c = (index_var){.name = "C", .kind = INDEX_STATIC};
    v->i = (index_var){.name = "i", .kind = INDEX_RANGE, .owner = &v->range};
    v->N = ix_var(v->a, &v->n);
    v->M = ix_var(v->a, &v->m);
    v->C = ix_var(v->a, &v->c);
    v->I = ix_var(v->a, &v->i);
    v->range.extent = v->N;
    v->range.var = &v->i;
}

static index_expr *number(variables *v, int64_t x) {
    return ix_const(v->a, x);
}

static void test_proofs(void **state) {
    (void)state;
    variables v;
    make_variables(&v);
    arena *a = v.a;
    linear_facts none = {0};
    /* i >= 0, i <= N - 1, N >= 1 where an i exists */
    assert_true(linear_prove_nonnegative(&none, v.I));
    assert_true(linear_prove_nonnegative(&none, ix_sub(a, ix_sub(a, v.N, v.I), number(&v, 1))));
    assert_true(linear_prove_nonnegative(&none, ix_sub(a, ix_mul(a, number(&v, 3), v.N), ix_add(a, v.I, number(&v, 1)))));
    assert_false(linear_prove_nonnegative(&none, ix_sub(a, v.I, number(&v, 1))));
    assert_false(linear_prove_nonnegative(&none, ix_sub(a, v.N, number(&v, 1))));
    /* products: C*i <= C*(N - 1) */
    assert_true(linear_prove_nonnegative(&none, ix_sub(a, ix_mul(a, v.C, ix_sub(a, v.N, number(&v, 1))), ix_mul(a, v.C, v.I))));
    assert_false(linear_prove_nonnegative(&none, ix_sub(a, ix_mul(a, v.C, ix_sub(a, v.N, number(&v, 2))), ix_mul(a, v.C, v.I))));
    /* integers: 2 M == 2 N + 1 cannot be; 2 M <= 5 gives M <= 2 */
    linear_facts half = {0};
    VEC_PUSH(a, half.given, cond_compare(a, COND_LE, ix_mul(a, number(&v, 2), v.M), number(&v, 5)));
    assert_true(linear_prove_nonnegative(&half, ix_sub(a, number(&v, 2), v.M)));
    assert_false(linear_prove_nonnegative(&half, ix_sub(a, number(&v, 1), v.M)));
    /* given facts, a disjunction among them */
    linear_facts given = {0};
    VEC_PUSH(a, given.given, cond_or(a, cond_compare(a, COND_LT, v.M, v.I), cond_compare(a, COND_EQ, v.M, number(&v, 0))));
    assert_true(linear_prove_nonnegative(&given, ix_sub(a, v.N, v.M)));
    assert_true(linear_prove_nonnegative(&given, ix_sub(a, v.I, v.M)));
    assert_false(linear_prove_nonnegative(&given, ix_sub(a, ix_sub(a, v.I, v.M), number(&v, 1))));
    /* quotients: floor((N + 3) / 4) * 4 >= N; minima and maxima by cases */
    index_expr *blocks = ix_floordiv(a, ix_add(a, v.N, number(&v, 3)), number(&v, 4));
    assert_true(linear_prove_nonnegative(&none, ix_sub(a, ix_mul(a, blocks, number(&v, 4)), v.N)));
    assert_false(linear_prove_nonnegative(&none, ix_sub(a, v.N, ix_mul(a, blocks, number(&v, 4)))));
    index_expr *clamped = ix_min(a, ix_add(a, v.I, number(&v, 1)), ix_sub(a, v.N, number(&v, 1)));
    assert_true(linear_prove_nonnegative(&none, clamped));
    assert_true(linear_prove_nonnegative(&none, ix_sub(a, ix_sub(a, v.N, clamped), number(&v, 1))));
    linear_facts same = {0};
    VEC_PUSH(a, same.given, cond_compare(a, COND_EQ, v.N, v.M));
    assert_true(linear_prove_equal(&same, v.N, v.M));
    assert_false(linear_prove_equal(&none, v.N, v.M));
    arena_free(a);
}

/* Whatever is proved holds at every small value: random expressions, judged by evaluation. */
typedef struct point {
    const index_var *vars[4];
    int64_t values[4];
} point;

static bool look(void *context, const index_var *v, int64_t *value) {
    const point *p = context;
    for (int i = 0; i < 4; i++)
        if (p->vars[i] == v) {
            *value = p->values[i];
            return true;
        }
    return false;
}

static uint32_t next_random(uint32_t *s) {
    *s = *s * 1664525u + 1013904223u;
    return *s >> 8;
}

static index_expr *random_expression(variables *v, uint32_t *s, int depth) {
    index_expr *leaves[] = {v->N, v->M, v->C, v->I};
    uint32_t pick = next_random(s) % 8;
    if (depth == 0 || pick < 3)
        return pick == 0 ? number(v, (int64_t)(next_random(s) % 7) - 3) : leaves[next_random(s) % 4];
    index_expr *x = random_expression(v, s, depth - 1), *y = random_expression(v, s, depth - 1);
    switch (next_random(s) % 7) {
    case 0: return ix_add(v->a, x, y);
    case 1:
    case 2: return ix_sub(v->a, x, y);
    case 3: return ix_mul(v->a, x, y);
    case 4: return ix_min(v->a, x, y);
    case 5: return ix_max(v->a, x, y);
    default: return ix_floordiv(v->a, x, number(v, 1 + next_random(s) % 4));
    }
}

static void test_proofs_hold(void **state) {
    (void)state;
    uint32_t seed = 7;
    int shown = 0, refuted = 0;
    for (int trial = 0; trial < 1500; trial++) {
        variables v;
        make_variables(&v);
        index_expr *x = random_expression(&v, &seed, 3), *y = random_expression(&v, &seed, 2);
        linear_facts facts = {0};
        VEC_PUSH(v.a, facts.given, cond_compare(v.a, COND_LE, y, v.N));
        bool proved = linear_prove_nonnegative(&facts, x);
        linear_witness w = {0};
        bool found = linear_find_negative(v.a, &facts, x, NULL, &w);
        assert_false(proved && found);
        shown += proved;
        refuted += found;
        for (int64_t n = 0; proved && n < 6; n++)
            for (int64_t m = 0; m < 6; m++)
                for (int64_t c = 0; c < 6; c++)
                    for (int64_t i = 0; i < n; i++) {
                        point p = {{&v.n, &v.m, &v.c, &v.i}, {n, m, c, i}};
                        int64_t value;
                        bool holds;
                        assert_true(cond_eval(facts.given.at[0], look, &p, &holds));
                        assert_true(ix_eval(x, look, &p, &value));
                        if (holds)
                            assert_true(value >= 0);
                    }
        arena_free(v.a);
    }
    assert_true(shown > 200);
    assert_true(refuted > 400);
}

static void test_witness(void **state) {
    (void)state;
    variables v;
    make_variables(&v);
    arena *a = v.a;
    linear_facts none = {0};
    linear_witness w = {0};
    int64_t value;
    /* N - 1 - (i + 1) is negative first at N = 1, i = 0 */
    assert_true(linear_find_negative(a, &none, ix_sub(a, v.N, ix_add(a, v.I, number(&v, 2))), ix_add(a, v.I, number(&v, 1)), &w));
    assert_true(linear_lookup(&w, &v.n, &value) && value == 1);
    assert_true(linear_lookup(&w, &v.i, &value) && value == 0);
    assert_int_equal(w.value, 1);
    linear_facts large = {0};
    VEC_PUSH(a, large.given, cond_compare(a, COND_LE, number(&v, 3), v.M));
    linear_witness u = {0};
    assert_true(linear_find_negative(a, &large, ix_sub(a, number(&v, 2), v.M), NULL, &u));
    assert_true(linear_lookup(&u, &v.m, &value) && value == 3);
    linear_witness no = {0};
    assert_false(linear_find_negative(a, &none, v.I, NULL, &no));
    arena_free(a);
}

/* Any prefix of a source is answered: taken, or refused with a word. */
static void test_prefixes(void **state) {
    (void)state;
    static const char text[] =
        "combine best(v, n) { empty = (-inf, 0) join(a, b) = (max(a.v, b.v), select(a.v >= b.v, a.n, b.n)) }\n"
        "fn f(x) = x * x\n"
        "kernel k(x: f16[R, 2*C], len: 0..C, s: f32) -> (y: f32[R], update h: f32[R]) static G = 4 where C > 0 {\n"
        "  for tile y[r: BR], h[r] {\n"
        "    acc: best(f32[r], u32[r])\n"
        "    for c: BC in C where c < len or c == 3 { acc <- (max[c](f(x[r, (0, c)])), argmax[c](x[r, (1, c)])) }\n"
        "    y[r] = acc.v * s / G + (x[r, (1, 0)] else 1)\n"
        "    h[r] = h[r] + f32(acc.n)\n"
        "  }\n}\n"
        "schedule k for c { BR = 4, BC = 8 }\n";
    for (size_t n = 0; n <= sizeof text - 1; n++) {
        arena *a = arena_new();
        diag_list diags;
        diag_init(&diags, a);
        tile_module *m = lang_load(a, "prefix.tile", arena_strndup(a, text, n), &diags);
        assert_int_equal(m == NULL, diags.errors > 0);
        if (n == sizeof text - 1)
            assert_non_null(m);
        arena_free(a);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_matmul),
        cmocka_unit_test(test_literals),
        cmocka_unit_test(test_types),
        cmocka_unit_test(test_narrow_accumulator),
        cmocka_unit_test(test_predicate_axes),
        cmocka_unit_test(test_gather),
        cmocka_unit_test(test_product_dimensions),
        cmocka_unit_test(test_derived_and_block),
        cmocka_unit_test(test_state),
        cmocka_unit_test(test_inlining),
        cmocka_unit_test(test_schedules),
        cmocka_unit_test(test_proofs),
        cmocka_unit_test(test_proofs_hold),
        cmocka_unit_test(test_witness),
        cmocka_unit_test(test_prefixes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
