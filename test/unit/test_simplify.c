/* kernel_simplify: what it removes, and that every store, load and exchange still happens at the same places in the same order. */
#include "kernel/kernel.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <dirent.h>
#include <stdlib.h>
#include <string.h>

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

static kernel_ir *parsed(arena *a, const char *text) {
    diag_list diags;
    diag_init(&diags, a);
    diag_add_source(&diags, "text", text);
    kernel_ir *k = kernel_parse(a, "text", text, &diags);
    if (!k || !kernel_check(k, &diags)) {
        diag_print_all(&diags, stderr, false);
        fail_msg("refused:\n%s", text);
    }
    return k;
}

static char *printed(const kernel_ir *k) {
    text_buffer b = {0};
    kernel_print(&b, k);
    return b.text;
}

/* The statements alone, as one line: what stands between the blank line and the closing brace, spaces squeezed. */
static char *body_of(arena *a, const kernel_ir *k) {
    char *text = printed(k), *start = strstr(text, "\n\n") + 2;
    char *line = arena_strdup(a, start), *to = line;
    for (char *p = line; *p; p++)
        if (*p != '\n' && *p != ' ')
            *to++ = *p;
        else if (to > line && to[-1] != ' ')
            *to++ = ' ';
    *to = 0;
    char *end = strrchr(line, '}');
    while (end > line && end[-1] == ' ')
        end--;
    *end = 0;
    free(text);
    return line;
}

static const char declarations[] =
    "symbol N in 0 .. 1000 scalar n: i32 in 0 .. 40 task (t < N) global in x: f32[N] global out y: f32[N]\n"
    "global in ids: index[N] bound N private p: f32[64] register r: f32[4]\n";

static void expect(const char *before, const char *after) {
    arena *a = arena_new();
    kernel_ir *k = parsed(a, arena_printf(a, "kernel k { %s %s }", declarations, before));
    kernel_simplify(k);
    assert_string_equal(body_of(a, k), after);
    arena_free(a);
}

static void dead_lets_go(void **state) {
    (void)state;
    expect("let a = t + 1 store p[0] <- 0:f32", "store p[0] <- 0:f32");
    expect("let a: f32 = x[t] let b: f32 = neg(a) store p[0] <- 0:f32", "store p[0] <- 0:f32");
    expect("let a: f32 = x[t] store y[t] <- a", "let a: f32 = x[t] store y[t] <- a");
    expect("let a: index = ids[t] store y[a] <- 0:f32", "let a: index = ids[t] store y[a] <- 0:f32");
    expect("let a: index = ids[t] if a < 3 { store y[t] <- 0:f32 }", "let a: index = ids[t] if a < 3 { store y[t] <- 0:f32 }");
    expect("let a = t + 1 for i in 0 .. a { store p[i] <- 0:f32 }",
           "let a = t + 1 for i in 0 .. a step 1 { store p[i] <- 0:f32 }");
}

static void constants_and_second_names_go(void **state) {
    (void)state;
    expect("let a = 3 let b = a + 1 store p[b] <- convert(f32, a)", "store p[4] <- convert(f32, index(3))");
    expect("let a = t store y[a] <- x[a]", "store y[t] <- x[t]");
    expect("for i in 0 .. 8 { let a = i store p[a] <- 0:f32 }", "for i in 0 .. 8 step 1 { store p[i] <- 0:f32 }");
}

static void loops_of_no_or_one_trip_go(void **state) {
    (void)state;
    expect("for i in 5 .. 5 { store p[i] <- 0:f32 }", "");
    expect("for i in 3 .. n - 40 { store p[i] <- 0:f32 }", "");
    expect("for i in 0 .. 3 { }", "");
    expect("for i in 0 .. 3 { comment \"nothing\" }", "");
    expect("for i in 7 .. 8 { store p[i] <- 0:f32 }", "store p[7] <- 0:f32");
    expect("for i in t .. t + 1 step 16 { store p[i - t] <- 0:f32 }", "store p[0] <- 0:f32");
    expect("for i in 0 .. n step 16 { store p[i] <- 0:f32 }",
           "for i in 0 .. n step 16 { store p[i] <- 0:f32 }"); /* none to three */
    expect("for i in 0 .. n + 1 step 16 { store p[i] <- 0:f32 }", "for i in 0 .. n + 1 step 16 { store p[i] <- 0:f32 }");
    expect("for i in 0 .. n + 1 step 64 { store p[i] <- 0:f32 }", "store p[0] <- 0:f32"); /* 1 <= n + 1 <= 41 */
    expect("for i in 0 .. n step 64 { store p[i] <- 0:f32 }",
           "for i in 0 .. n step 64 { store p[i] <- 0:f32 }"); /* none when n = 0 */
    expect("for i in 0 .. 1 { if t < 4 { break } store p[i] <- 0:f32 }",
           "for i in 0 .. 1 step 1 { if t < 4 { break } store p[i] <- 0:f32 }");
    expect("for i in 0 .. 1 { let a: f32 = x[i] store p[i] <- a } for j in 0 .. 1 { let a: f32 = x[j + 1] store p[j] <- a }",
           "let a: f32 = x[0] store p[0] <- a let a_2: f32 = x[1] store p[0] <- a_2");
}

static void decided_ifs_go(void **state) {
    (void)state;
    expect("if n <= 40 { store p[0] <- 0:f32 } else { store p[1] <- 0:f32 }", "store p[0] <- 0:f32");
    expect("if 40 < n { store p[0] <- 0:f32 } else { store p[1] <- 0:f32 }", "store p[1] <- 0:f32");
    expect("if n <= 39 { store p[0] <- 0:f32 }", "if n <= 39 { store p[0] <- 0:f32 }");
    expect("if t < N and 0 <= n { store p[0] <- 0:f32 }", "if t < N { store p[0] <- 0:f32 }");
    expect("if n == 3 { }", "");
    expect("if n < 3 { } else { store p[0] <- 0:f32 }", "if 3 <= n { store p[0] <- 0:f32 }");
    expect("if_value true:bool { } else { }", "");
    expect("for i in 0 .. 9 { break when n < 0 store p[i] <- 0:f32 }", "for i in 0 .. 9 step 1 { store p[i] <- 0:f32 }");
}

static void integers_fold_by_ranges(void **state) {
    (void)state;
    expect("for i in 0 .. 8 { store p[min(i, 20)] <- 0:f32 }", "for i in 0 .. 8 step 1 { store p[i] <- 0:f32 }");
    expect("for i in 0 .. 8 { store p[min(i, 7)] <- 0:f32 }", "for i in 0 .. 8 step 1 { store p[i] <- 0:f32 }");
    expect("for i in 0 .. 8 { store p[min(i, 6)] <- 0:f32 }", "for i in 0 .. 8 step 1 { store p[min(i, 6)] <- 0:f32 }");
    expect("for i in 0 .. 8 { store p[max(i, 0)] <- 0:f32 }", "for i in 0 .. 8 step 1 { store p[i] <- 0:f32 }");
    expect("for i in 0 .. 8 { store p[(i mod 8)] <- 0:f32 }", "for i in 0 .. 8 step 1 { store p[i] <- 0:f32 }");
    expect("for i in 0 .. 9 { store p[(i mod 8)] <- 0:f32 }", "for i in 0 .. 9 step 1 { store p[(i mod 8)] <- 0:f32 }");
    expect("for i in 0 .. 8 { store p[floor(i / 8)] <- 0:f32 }", "for i in 0 .. 8 step 1 { store p[0] <- 0:f32 }");
    expect("for i in 0 .. 8 { store p[min(t, 2000)] <- 0:f32 }", "for i in 0 .. 8 step 1 { store p[t] <- 0:f32 }");
    expect("let a: index = ids[t] store p[min(a, 63)] <- 0:f32", "let a: index = ids[t] store p[min(a, 63)] <- 0:f32");
    /* what stands on both sides cancels, through names too */
    expect("for i in 0 .. 8 { store p[max(1 - (t - 1), 0 - (t + 1))] <- 0:f32 }",
           "for i in 0 .. 8 step 1 { store p[2 - t] <- 0:f32 }");
    expect("let s = t * 16 for i in s .. s + 16 step 16 { store p[i] <- 0:f32 }", "let s = t * 16 store p[s] <- 0:f32");
    expect("let s = t * 16 let e = s + 8 for i in e .. s + 8 { store p[i] <- 0:f32 }", "");
    expect("let s = min(t, 9) if s + n <= s + 40 { store p[s] <- 0:f32 }", "let s = min(t, 9) store p[s] <- 0:f32");
    expect("let s = min(t, 9) if s + n < s + 40 { store p[s] <- 0:f32 }",
           "let s = min(t, 9) if s + n < s + 40 { store p[s] <- 0:f32 }");
    /* ends near 2^63 never wrap into a decision */
    expect("if n * 4611686018427387904 < 5 { store p[0] <- 0:f32 }", "if n * 4611686018427387904 < 5 { store p[0] <- 0:f32 }");
    expect("if t * t * t * t * t * t * t < N * N * N { store p[0] <- 0:f32 }",
           "if t * t * t * t * t * t * t < N * N * N { store p[0] <- 0:f32 }");
}

/* Names are seen through, so that sixty lets stand for an expression of 2^60 terms: giving up is right, hanging is not. */
static void doubling_names_end(void **state) {
    (void)state;
    arena *a = arena_new();
    text_buffer b = {0};
    text_add(&b, "kernel k { %s register q: f32[4] for u in 0 .. 2 unroll { let a0 = t + u + 1 ", declarations);
    for (int i = 1; i <= 60; i++)
        text_add(&b, "let a%d = a%d + a%d * t ", i, i - 1, i - 1);
    text_add(&b, "if 0 < a60 { store p[min(a60, 63)] <- 0:f32 } for i in 0 .. a60 { store p[0] <- 0:f32 } let b0 = u + 0 ");
    for (int i = 1; i <= 60; i++)
        text_add(&b, "let b%d = min(b%d, b%d + 1) ", i, i - 1, i - 1);
    text_add(&b, "store p[b60] <- 0:f32 } }"); /* a register index would be refused: too long to be sure of */
    kernel_ir *k = parsed(a, text_get(&b));
    kernel_simplify(k);
    diag_list diags;
    diag_init(&diags, a);
    assert_true(kernel_check(k, &diags));
    text_free(&b);
    arena_free(a);
}

/* ---- the same places in the same order ---- */
typedef struct binding {
    const index_var *var;
    int64_t value;
} binding;
typedef struct tracer {
    VEC(binding) values;
    arena *arena;
    text_buffer out;
    long steps;
    bool leaving;
    uint64_t random;
} tracer;

static bool look_up(void *context, const index_var *v, int64_t *value) {
    const tracer *t = context;
    for (int i = t->values.count - 1; i >= 0; i--)
        if (t->values.at[i].var == v) {
            *value = t->values.at[i].value;
            return true;
        }
    return false;
}

static int64_t evaluate(tracer *t, const index_expr *x) {
    int64_t value = -1;
    if (!ix_eval(x, look_up, t, &value))
        fail_msg("an index expression mentions what is not in scope");
    return value;
}

static void bind_value(tracer *t, const index_var *v, int64_t value) {
    binding b = {v, value};
    VEC_PUSH(t->arena, t->values, b);
}

static void trace_access(void *context, kernel_access *access, bool is_write) {
    tracer *t = context;
    text_add(&t->out, " %s%s[", is_write ? "!" : "", access->array->name);
    for (int i = 0; i < access->array->rank; i++)
        text_add(&t->out, "%lld,", (long long)evaluate(t, access->indices[i]));
    int64_t active = access->active ? evaluate(t, access->active) : access->lanes;
    active = active < 0 ? 0 : active > access->lanes ? access->lanes : active;
    text_add(&t->out, "]:%d", (int)active);
}

static bool holds(tracer *t, const cond *c) {
    bool value = false;
    if (!cond_eval(c, look_up, t, &value))
        fail_msg("a condition mentions what is not in scope");
    return value;
}

static bool has_load(const kernel_value *v) {
    if (v->op == KERNEL_LOAD)
        return true;
    for (int i = 0; i < v->operand_count; i++)
        if (has_load(v->operands[i]))
            return true;
    return false;
}

static void trace_block(tracer *t, kernel_block *b) {
    kernel_visitor visitor = {.context = t, .access = trace_access};
    int mark = t->values.count;
    for (int i = 0; i < b->items.count && !t->leaving && t->steps < 3000; i++) {
        kernel_stmt *s = b->items.at[i];
        t->steps++;
        switch (s->kind) {
        case KSTMT_COMMENT: break;
        case KSTMT_LET:
            if (has_load(s->value)) {
                text_add(&t->out, " let");
                kernel_visit_value(s->value, &visitor);
            }
            if (s->var)
                bind_value(t, s->var, s->value->op == KERNEL_INDEX ? evaluate(t, s->value->index) : 1);
            break;
        case KSTMT_FOR: {
            int64_t lo = evaluate(t, s->lo), hi = evaluate(t, s->hi), step = evaluate(t, s->step);
            for (int64_t i0 = lo; i0 < hi && !t->leaving && t->steps < 3000; i0 += step) {
                bind_value(t, s->var, i0);
                trace_block(t, &s->body);
                t->values.count--;
            }
            t->leaving = false;
            break;
        }
        case KSTMT_TASKS:
            bind_value(t, s->var, 0);
            trace_block(t, &s->body);
            t->values.count--;
            break;
        case KSTMT_LOOP:
            trace_block(t, &s->body);
            t->leaving = false;
            break;
        case KSTMT_IF: trace_block(t, holds(t, s->condition) ? &s->body : &s->otherwise); break;
        case KSTMT_ROLE:
            if (holds(t, s->condition))
                trace_block(t, &s->body);
            break;
        case KSTMT_IF_VALUE:
            kernel_visit_stmt(s, &visitor);
            trace_block(t, &s->body);
            trace_block(t, &s->otherwise);
            break;
        case KSTMT_BREAK: t->leaving = !s->condition || holds(t, s->condition); break;
        case KSTMT_FRAGMENT_MAP:
            bind_value(t, s->row, 1);
            bind_value(t, s->column, 2);
            kernel_visit_stmt(s, &visitor);
            t->values.count -= 2;
            break;
        default:
            text_add(&t->out, " %s", kernel_stmt_names[s->kind]);
            kernel_visit_stmt(s, &visitor);
            if (s->kind == KSTMT_ATOMIC && s->var)
                bind_value(t, s->var, 1);
            break;
        }
    }
    t->values.count = mark;
}

static int64_t draw(tracer *t, int64_t bound) {
    t->random = t->random * 6364136223846793005u + 1442695040888963407u;
    return bound < 1 ? 0 : (int64_t)((t->random >> 33) % (uint64_t)bound);
}

/* What one thread of one task does at launch values drawn from `seed`; NULL when the launch has no task. *cut: it did more. */
static char *trace(arena *a, kernel_ir *k, uint64_t seed, bool *cut) {
    tracer t = {.arena = a, .random = seed};
    bool runs = true;
    for (int i = 0; i < k->symbols.count; i++)
        bind_value(&t, k->symbols.at[i], draw(&t, 150));
    for (int i = 0; i < k->scalars.count; i++)
        if (k->scalars.at[i].var) {
            const index_var *v = k->scalars.at[i].var;
            int64_t lo = v->lo ? evaluate(&t, v->lo) : 0, hi = v->hi ? evaluate(&t, v->hi) : 60;
            bind_value(&t, v, lo + draw(&t, hi - lo + 1 > 60 ? 60 : hi - lo + 1));
        }
    for (int i = 0; i < k->levels.count; i++)
        for (int d = 0; d < k->levels.at[i].rank; d++) {
            int64_t extent = evaluate(&t, k->levels.at[i].extents[d]);
            runs = runs && extent > 0;
            bind_value(&t, k->levels.at[i].ids[d], draw(&t, extent));
        }
    if (runs)
        trace_block(&t, &k->body);
    *cut = t.steps >= 3000;
    char *text = runs ? arena_strdup(a, text_get(&t.out)) : NULL;
    text_free(&t.out);
    return text;
}

/* A simplified program needs fewer statements, so that it gets further before it is cut. */
static bool differ(const char *x, bool x_cut, const char *y, bool y_cut) {
    size_t xs = strlen(x), ys = strlen(y);
    return x_cut || y_cut ? strncmp(x, y, xs < ys ? xs : ys) != 0 : strcmp(x, y) != 0;
}

static void texts_do_the_same(void **state) {
    (void)state;
    DIR *d = opendir("test/kernel-ir");
    if (!d)
        fail_msg("no folder test/kernel-ir (run from the project's root)");
    int compared = 0;
    for (struct dirent *e; (e = readdir(d));) {
        size_t length = strlen(e->d_name);
        if (length < 4 || strcmp(e->d_name + length - 4, ".kir"))
            continue;
        char path[512];
        snprintf(path, sizeof path, "test/kernel-ir/%s", e->d_name);
        char *text = read_text(path);
        arena *a = arena_new();
        kernel_ir *before = parsed(a, text), *after = parsed(a, text);
        kernel_simplify(after);
        diag_list diags;
        diag_init(&diags, a);
        if (!kernel_check(after, &diags)) {
            diag_print_all(&diags, stderr, false);
            fail_msg("%s: simplified into what the checker refuses", path);
        }
        char *once = printed(after);
        kernel_simplify(after);
        char *twice = printed(after);
        assert_string_equal(once, twice);
        kernel_ir *back = parsed(a, once); /* what is left still reads back */
        (void)back;
        free(once);
        free(twice);
        for (uint64_t seed = 1; seed <= 12; seed++) {
            bool x_cut, y_cut;
            char *x = trace(a, before, seed, &x_cut), *y = trace(a, after, seed, &y_cut);
            assert_true((x == NULL) == (y == NULL));
            if (x && differ(x, x_cut, y, y_cut))
                fail_msg("%s does something else after simplification:\n%.600s\n--\n%.600s", path, x, y);
            compared += x != NULL;
        }
        arena_free(a);
        free(text);
    }
    closedir(d);
    assert_true(compared > 100);
}

/* Random loops, ifs and stores over a few launch values; small enough that everything is traced. */
typedef struct generator {
    uint64_t random;
    text_buffer out;
    int names, depth;
    char scope[64][8];
    int in_scope;
} generator;

static int pick(generator *g, int bound) {
    g->random = g->random * 6364136223846793005u + 1442695040888963407u;
    return (int)((g->random >> 33) % (uint64_t)bound);
}

static void make_index(generator *g, int depth) {
    static const char *const forms[] = {"(%s", "min(%s", "max(%s"};
    int form = depth < 3 ? pick(g, 8) : 7;
    if (form < 3) {
        text_add(&g->out, forms[form], "");
        make_index(g, depth + 1);
        text_add(&g->out, form ? ", " : pick(g, 2) ? " + " : " - ");
        make_index(g, depth + 1);
        text_add(&g->out, ")");
    } else if (form == 3) {
        text_add(&g->out, "floor(");
        make_index(g, depth + 1);
        text_add(&g->out, " / %d)", pick(g, 5) + 1);
    } else if (form == 4) {
        text_add(&g->out, "(");
        make_index(g, depth + 1);
        text_add(&g->out, " mod %d)", pick(g, 9) + 1);
    } else if (pick(g, 3)) {
        text_add(&g->out, "%s", g->scope[pick(g, g->in_scope)]);
    } else {
        text_add(&g->out, "%d", pick(g, 12));
    }
}

static void make_block(generator *g) {
    int mark = g->in_scope;
    g->depth++;
    for (int i = 0; i < 3; i++) {
        int form = g->depth < 5 ? pick(g, 6) : 5;
        char name[8];
        snprintf(name, sizeof name, "v%d", g->names++ % 1000);
        if (form == 0) {
            text_add(&g->out, "let %s = ", name);
            make_index(g, 0);
            text_add(&g->out, "\n");
            strcpy(g->scope[g->in_scope++], name);
        } else if (form == 1 || form == 2) {
            text_add(&g->out, "for %s in ", name);
            make_index(g, 1);
            text_add(&g->out, " .. ");
            make_index(g, 1);
            text_add(&g->out, " step %d {\n", pick(g, 6) + 1);
            strcpy(g->scope[g->in_scope++], name);
            make_block(g);
            if (!pick(g, 5))
                text_add(&g->out, "break when %s < %d\n", name, pick(g, 8));
            text_add(&g->out, "}\n");
            g->in_scope--;
        } else if (form == 3) {
            text_add(&g->out, "if ");
            make_index(g, 1);
            text_add(&g->out, pick(g, 2) ? " < " : " == ");
            make_index(g, 1);
            text_add(&g->out, " {\n");
            make_block(g);
            text_add(&g->out, "} else {\n");
            if (pick(g, 2))
                make_block(g);
            text_add(&g->out, "}\n");
        } else {
            text_add(&g->out, "store p[");
            make_index(g, 0);
            text_add(&g->out, "] <- 0:f32\n");
        }
    }
    g->depth--;
    g->in_scope = mark;
}

static void random_programs_do_the_same(void **state) {
    (void)state;
    int programs = getenv("TILEC_QUICK") ? 60 : 1000, removed = 0;
    for (int n = 1; n <= programs; n++) {
        generator g = {.random = (uint64_t)n * 977, .in_scope = 3};
        strcpy(g.scope[0], "t");
        strcpy(g.scope[1], "N");
        strcpy(g.scope[2], "n");
        make_block(&g);
        arena *a = arena_new();
        char *text = arena_printf(a, "kernel k { %s %s }", declarations, text_get(&g.out));
        kernel_ir *before = parsed(a, text), *after = parsed(a, text);
        kernel_simplify(after);
        diag_list diags;
        diag_init(&diags, a);
        assert_true(kernel_check(after, &diags));
        removed += strlen(body_of(a, after)) < strlen(body_of(a, before));
        for (uint64_t seed = 1; seed <= 6; seed++) {
            bool x_cut, y_cut;
            char *x = trace(a, before, seed, &x_cut), *y = trace(a, after, seed, &y_cut);
            if (x && differ(x, x_cut, y, y_cut))
                fail_msg("seed %d:\n%s\n--\n%.600s\n--\n%.600s", n, text, x, y);
        }
        text_free(&g.out);
        arena_free(a);
    }
    assert_true(removed > programs / 4);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(dead_lets_go),
        cmocka_unit_test(constants_and_second_names_go),
        cmocka_unit_test(loops_of_no_or_one_trip_go),
        cmocka_unit_test(decided_ifs_go),
        cmocka_unit_test(integers_fold_by_ranges),
        cmocka_unit_test(texts_do_the_same),
        cmocka_unit_test(doubling_names_end),
        cmocka_unit_test(random_programs_do_the_same),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
