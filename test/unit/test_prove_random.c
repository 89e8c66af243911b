/* The prover against a plain interpreter: random small affine kernels, run for every small launch.
 *
 * A property proved that some launch breaks, or refuted with a witness that does not misbehave, is a failure; so is "not proved", since
 * everything here is affine. Half of the kernels are tilings with a constant or a comparison put slightly wrong. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "prove/prove.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LARGEST = 6, FARTHEST = 130, MOST_ARRAYS = 8 };

/* ---- random texts ---- */

static uint64_t state;

static int pick(int n) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (int)(state >> 33) % n;
}

static int fault; /* in percent: how often a constant is put wrong */
static int near(int x) {
    x = pick(100) < fault ? x + pick(3) - 1 : x;
    return x > 0 ? x : 1;
}

static void random_affine(text_buffer *b, int depth, const char *const *names) {
    int terms = 1 + pick(2);
    for (int t = 0; t < terms; t++) {
        if (t)
            text_add(b, " + ");
        switch (pick(5)) {
        case 0: text_add(b, "%d", pick(5)); break;
        case 1: text_add(b, "N"); break;
        case 2: text_add(b, "M"); break;
        default:
            if (depth)
                text_add(b, pick(4) ? "%s" : "2 * %s", names[pick(depth)]);
            else
                text_add(b, "%d", pick(3));
        }
    }
    if (!pick(3))
        text_add(b, " - %d", 1 + pick(3));
}

static void random_bound(text_buffer *b, int depth, const char *const *names) {
    switch (pick(6)) {
    case 0:
        text_add(b, "min(%d, ", 1 + pick(5));
        random_affine(b, depth, names);
        text_add(b, ")");
        break;
    case 1:
        text_add(b, "max(%d, ", pick(3));
        random_affine(b, depth, names);
        text_add(b, ")");
        break;
    case 2:
        text_add(b, "floor((");
        random_affine(b, depth, names);
        text_add(b, ") / %d)", 2 + pick(3));
        break;
    case 3:
        text_add(b, "((");
        random_affine(b, depth, names);
        text_add(b, ") mod %d)", 2 + pick(3));
        break;
    default: random_affine(b, depth, names);
    }
}

static void random_condition(text_buffer *b, int depth, const char *const *names) {
    static const char *const compares[] = {"<", "<=", "==", "!="};
    if (!pick(4))
        text_add(b, "not ");
    text_add(b, "(");
    random_affine(b, depth, names);
    text_add(b, " %s ", compares[pick(4)]);
    random_affine(b, depth, names);
    text_add(b, ")");
    if (!pick(4)) {
        text_add(b, pick(2) ? " and " : " or ");
        random_affine(b, depth, names);
        text_add(b, " < ");
        random_affine(b, depth, names);
    }
}

static void random_access(text_buffer *b, const char *array, int lanes, const char *active, int depth, const char *const *names) {
    text_add(b, "%s[", array);
    random_affine(b, depth, names);
    if (lanes > 1)
        text_add(b, ":%d", lanes);
    text_add(b, "]%s", active);
}

static void random_store(text_buffer *b, int depth, const char *const *names) {
    static const char *const targets[] = {"y", "p", "u", "y"}, *const sources[] = {"x", "p", "u", "x"};
    int lanes = 1 << pick(3);
    char active[64] = "";
    if (lanes > 1 && pick(2) && depth)
        snprintf(active, sizeof active, " active N - %s", names[pick(depth)]);
    if (!pick(5)) {
        text_add(b, "consume ");
        random_access(b, "g", lanes, active, depth, names);
        text_add(b, "\n");
        return;
    }
    text_add(b, "store ");
    random_access(b, targets[pick(4)], lanes, active, depth, names);
    text_add(b, " <- ");
    random_access(b, sources[pick(4)], lanes, active, depth, names);
    text_add(b, "\n");
}

static int unique;

static void random_block(text_buffer *b, int depth, const char **names, int nesting) {
    int count = 1 + pick(2);
    for (int s = 0; s < count; s++) {
        int what = pick(6);
        if (nesting < 3 && what < 2) {
            char *name = malloc(8); /* lives as long as the text is made */
            snprintf(name, 8, "v%d", unique++);
            text_add(b, "for %s in ", name);
            random_bound(b, depth, names);
            text_add(b, " .. ");
            random_bound(b, depth, names);
            text_add(b, " step %d {\n", 1 + pick(4));
            names[depth] = name;
            random_block(b, depth + 1, names, nesting + 1);
            text_add(b, "}\n");
            free(name);
        } else if (nesting < 3 && what == 2) {
            text_add(b, "if ");
            random_condition(b, depth, names);
            text_add(b, " {\n");
            random_block(b, depth, names, nesting + 1);
            text_add(b, "}");
            if (pick(2)) {
                text_add(b, " else {\n");
                random_block(b, depth, names, nesting + 1);
                text_add(b, "}");
            }
            text_add(b, "\n");
        } else {
            random_store(b, depth, names);
        }
    }
}

static void wild_kernel(text_buffer *b) {
    const char *names[16] = {"t"};
    int tile = 1 + pick(4);
    text_add(b, "kernel wild { symbol M, N\n task (t < floor((N + %d) / %d))\n", tile - 1, tile);
    text_add(b, "global in x: f32[N]\n global out y: f32[N]\n global update u: f32[M]\n private p: f32[%d]\n ghost g: f32[N]\n",
             2 + pick(8));
    unique = 0;
    random_block(b, 1, names, 0);
    text_add(b, "}\n");
}

/* A tiled kernel as lowering makes them: whole vectors, then a masked rest; a private row between two passes. */
static void tiled_kernel(text_buffer *b) {
    int tile = 1 + pick(5), lanes = 2 << pick(2), rows = 1 + pick(3);
    bool before = pick(2), interior = pick(2);
    text_add(b, "kernel tiled { symbol M, N\n task (i0 < floor((M + %d) / %d), j0 < floor((N + %d) / %d))\n", near(rows - 1),
             rows, near(tile * lanes - 1), tile * lanes);
    text_add(b,
             "global in x: f32[M, N]\n global out y: f32[M, N]\n global update u: f32[M, N]\n private p: f32[%d, %d]\n ghost g: "
             "f32[M, N]\n",
             near(rows), tile * lanes);
    text_add(b, "let ni = min(%d, M - %d * i0)\n let nj = min(%d, N - %d * j0)\n", near(rows), near(rows), near(tile * lanes),
             tile * lanes);
    const char *to = before ? "p[i, c:%d]" : "y[%d * i0 + i, %d * j0 + c:%d]";
    char place[96], source[96], use[96];
    if (before)
        snprintf(place, sizeof place, to, lanes);
    else
        snprintf(place, sizeof place, to, rows, tile * lanes, lanes);
    snprintf(source, sizeof source, "x[%d * i0 + i, %d * j0 + c:%d]", rows, tile * lanes, lanes);
    snprintf(use, sizeof use, "g[%d * i0 + i, %d * j0 + c:%d]", rows, near(tile * lanes), lanes);
    text_add(b, "for i in 0 .. ni {\n");
    if (interior)
        text_add(b, "if %d <= nj {\nfor c in 0 .. %d step %d { store %s <- %s consume %s }\n} else {\n", near(tile * lanes),
                 tile * lanes, lanes, place, source, use);
    text_add(b, "for c in 0 .. nj - %d step %d { store %s <- %s consume %s }\n", near(lanes - 1), lanes, place, source, use);
    text_add(
        b,
        "for c in floor(nj / %d) * %d .. nj step %d { store %s active nj - c <- %s active nj - c\n consume %s active nj - c }\n",
        lanes, lanes, near(lanes) > 0 ? lanes : 1, place, source, use);
    if (interior)
        text_add(b, "}\n");
    text_add(b, "}\n");
    if (before) {
        text_add(b, "for i in %d .. ni {\nfor c in 0 .. nj {\n", pick(100) < fault);
        if (pick(2))
            text_add(b, "store y[%d * i0 + i, %d * j0 + c] <- p[i, %s]\n", rows, tile * lanes, pick(100) < fault ? "c + 1" : "c");
        else /* an update that reads its own cell first */
            text_add(b,
                     "store y[%d * i0 + i, %d * j0 + c] <- p[i, c]\nstore u[%d * i0 + i, %d * j0 + c] <- u[%d * i0 + i, %d * j0 "
                     "+ c]\n",
                     rows, tile * lanes, rows, tile * lanes, near(rows), near(tile * lanes));
        text_add(b, "}\n}\n");
    }
    text_add(b, "}\n");
}

/* ---- the interpreter ---- */

typedef struct cell {
    bool used;
    int last_writer, last_reader; /* task + 1 */
    int writes_of_last, reads_after_write;
    bool written;
} cell;

typedef struct broken {
    char property[16], array[8], where[160];
} broken;

typedef struct run {
    const kernel_ir *k;
    int64_t values[256];
    bool bound[256];
    int task, at; /* dimensions in scope, for witnesses */
    const index_var *scope[16];
    cell *cells[MOST_ARRAYS];
    broken *found;
    int count, capacity;
    cell **used; /* to be cleared before the next launch */
    int used_count, used_capacity;
} run;

static int64_t side_of(const kernel_array *a) {
    return a->rank > 1 ? 260 : 1100;
}

/* Places outside the array exist too: some kernels go there. */
static cell *cell_at(run *r, const kernel_array *a, int64_t x, int64_t y) {
    int64_t side = side_of(a), origin = side / 4;
    if (a->rank < 2)
        y = -origin;
    assert_true(x >= -origin && x < side - origin && (a->rank < 2 || (y >= -origin && y < side - origin)));
    return &r->cells[a->id][(x + origin) * (a->rank > 1 ? side : 1) + y + origin];
}

static bool look_up(void *context, const index_var *v, int64_t *value) {
    run *r = context;
    if (v->id < 0 || v->id >= 256 || !r->bound[v->id])
        return false;
    *value = r->values[v->id];
    return true;
}

static int64_t number(run *r, const index_expr *x) {
    int64_t v = 0;
    if (!ix_eval(x, look_up, r, &v))
        fail_msg("an expression could not be evaluated");
    return v;
}

static void note(run *r, const char *property, const char *array) {
    if (r->count == r->capacity) {
        r->capacity = r->capacity ? 2 * r->capacity : 64;
        r->found = realloc(r->found, (size_t)r->capacity * sizeof *r->found);
    }
    broken *b = &r->found[r->count++];
    snprintf(b->property, sizeof b->property, "%s", property);
    snprintf(b->array, sizeof b->array, "%s", array);
    int n = 0;
    for (int i = 0; i < r->k->symbols.count; i++)
        n += snprintf(b->where + n, sizeof b->where - (size_t)n, "%s%s = %" PRId64, i ? ", " : "", r->k->symbols.at[i]->name,
                      r->values[r->k->symbols.at[i]->id]);
    for (int i = 0; i < r->at; i++)
        n +=
            snprintf(b->where + n, sizeof b->where - (size_t)n, ", %s = %" PRId64, r->scope[i]->name, r->values[r->scope[i]->id]);
}

static void touch(run *r, const kernel_access *a, char use) {
    const kernel_array *array = a->array;
    int64_t active = a->active ? number(r, a->active) : a->lanes;
    for (int lane = 0; lane < a->lanes && lane < active; lane++) {
        int64_t at[2] = {0, 0};
        bool inside = true;
        for (int d = 0; d < array->rank; d++) {
            at[d] = number(r, a->indices[d]) + (a->lanes > 1 && d == a->vector_dim ? lane : 0);
            inside = inside && at[d] >= 0 && at[d] < number(r, array->dims[d]);
        }
        cell *c = cell_at(r, array, at[0], at[1]);
        if (!c->used && r->used_count == r->used_capacity) {
            r->used_capacity = r->used_capacity ? 2 * r->used_capacity : 256;
            r->used = realloc(r->used, (size_t)r->used_capacity * sizeof *r->used);
        }
        if (!c->used)
            r->used[r->used_count++] = c;
        c->used = true;
        if (!inside)
            note(r, use == 'c' ? "contribution" : "bounds", array->name);
        if (array->space == SPACE_PRIVATE) {
            if (use == 'r' && c->last_writer != r->task)
                note(r, "initialised", array->name);
            if (use == 'w')
                c->last_writer = r->task;
            continue;
        }
        if (use == 'r') {
            if (c->written && c->last_writer != r->task)
                note(r, "race", array->name);
            if (c->written && c->last_writer == r->task)
                note(r, "update order", array->name);
            c->reads_after_write |= c->last_reader && c->last_reader != r->task; /* read by two tasks */
            c->last_reader = r->task;
            continue;
        }
        if (c->written)
            note(r, use == 'c' ? "contribution" : c->last_writer == r->task ? "coverage" : "race", array->name);
        if (c->last_reader && (c->last_reader != r->task || c->reads_after_write))
            note(r, "race", array->name);
        c->written = true;
        c->last_writer = r->task;
    }
}

static void touch_loads(run *r, const kernel_value *v) {
    if (v->op == KERNEL_LOAD)
        touch(r, &v->access, 'r');
    for (int i = 0; i < v->operand_count; i++)
        touch_loads(r, v->operands[i]);
}

static void execute(run *r, const kernel_block *b) {
    for (int i = 0; i < b->items.count; i++) {
        const kernel_stmt *s = b->items.at[i];
        bool holds;
        switch (s->kind) {
        case KSTMT_LET:
            r->values[s->var->id] = number(r, s->value->index);
            r->bound[s->var->id] = true;
            break;
        case KSTMT_STORE:
            touch_loads(r, s->value);
            touch(r, &s->access, 'w');
            break;
        case KSTMT_CONSUME: touch(r, &s->access, 'c'); break;
        case KSTMT_FOR: {
            int64_t hi = number(r, s->hi), step = number(r, s->step);
            r->scope[r->at++] = s->var;
            r->bound[s->var->id] = true;
            for (int64_t x = number(r, s->lo); x < hi; x += step) {
                r->values[s->var->id] = x;
                execute(r, &s->body);
            }
            r->at--;
            break;
        }
        case KSTMT_IF:
            assert_true(cond_eval(s->condition, look_up, r, &holds));
            execute(r, holds ? &s->body : &s->otherwise);
            break;
        default: fail_msg("an unexpected statement");
        }
    }
}

static void run_tasks(run *r, int dim) {
    const kernel_level *l = &r->k->levels.at[0];
    if (dim == l->rank) {
        r->task++;
        execute(r, &r->k->body);
        return;
    }
    int64_t extent = number(r, l->extents[dim]);
    r->scope[r->at++] = l->ids[dim];
    r->bound[l->ids[dim]->id] = true;
    for (int64_t x = 0; x < extent; x++) {
        r->values[l->ids[dim]->id] = x;
        run_tasks(r, dim + 1);
    }
    r->at--;
}

/* Runs one launch and notes everything that breaks a property. */
static void run_launch(run *r, int64_t m, int64_t n) {
    for (int i = 0; i < r->used_count; i++)
        *r->used[i] = (cell){0};
    r->used_count = r->count = r->task = r->at = 0;
    r->values[r->k->symbols.at[0]->id] = m;
    r->values[r->k->symbols.at[1]->id] = n;
    r->bound[r->k->symbols.at[0]->id] = r->bound[r->k->symbols.at[1]->id] = true;
    run_tasks(r, 0);
    for (int i = 0; i < r->k->arrays.count; i++) {
        const kernel_array *a = r->k->arrays.at[i];
        if (a->use != USE_OUT && a->space != SPACE_GHOST)
            continue;
        int64_t rows = number(r, a->dims[0]), columns = a->rank > 1 ? number(r, a->dims[1]) : 1;
        for (int64_t x = 0; x < rows; x++)
            for (int64_t y = 0; y < columns; y++)
                if (!cell_at(r, a, x, y)->written)
                    note(r, a->space == SPACE_GHOST ? "contribution" : "coverage", a->name);
    }
}

static bool breaks(const run *r, const char *property, const char *array, const char *where) {
    for (int i = 0; i < r->count; i++)
        if (!strcmp(r->found[i].property, property) && !strcmp(r->found[i].array, array) &&
            (!where || !strcmp(r->found[i].where, where)))
            return true;
    return false;
}

/* ---- the comparison ---- */

typedef struct tally {
    int failures, kernels, proved, refuted;
    double milliseconds, slowest;
} tally;

static void show(const char *text, const proof_item *t, const char *what) {
    static int shown;
    if (shown++ < 5)
        fprintf(stderr, "%s\n%s of %s: %s, %s (%s)\n%s\n", text, t->property, t->subject, verdict_names[t->verdict],
                t->explanation ? t->explanation : "", t->witness ? t->witness : "", what);
}

static int64_t parameter(const char *witness, const char *name) {
    char key[16];
    snprintf(key, sizeof key, "%s = ", name);
    const char *at = witness ? strstr(witness, key) : NULL;
    return at ? strtoll(at + strlen(key), NULL, 10) : -1;
}

static bool is_judged(const proof_item *t) {
    static const char *const properties[] = {"bounds", "race", "initialised", "coverage", "update order", "contribution"};
    for (size_t i = 0; i < sizeof properties / sizeof *properties; i++)
        if (!strcmp(properties[i], t->property))
            return true;
    return false;
}

static bool check_refuted(run *r, const proof_item *t) {
    int64_t m = parameter(t->witness, "M"), n = parameter(t->witness, "N");
    if (m < 0 || n < 0 || m > FARTHEST || n > FARTHEST)
        return false;
    run_launch(r, m, n);
    bool whole = !strcmp(t->property, "bounds") || !strcmp(t->property, "initialised");
    return breaks(r, t->property, t->subject, whole ? t->witness : NULL);
}

static void compare(const char *text, tally *sum) {
    arena *a = arena_new();
    diag_list diags;
    diag_init(&diags, a);
    kernel_ir *k = kernel_parse(a, "random", text, &diags);
    target_limits limits = {.target = "test", .private_bytes = 1 << 20, .index_bits = 64, .largest_extent = (int64_t)1 << 40};
    proof p = {0};
    if (!k) {
        diag_print_all(&diags, stderr, false);
        fail_msg("the generator made a text that does not parse:\n%s", text);
    }
    prove_kernel(a, k, &limits, &p, &diags);
    if (!p.items.count) {
        diag_print_all(&diags, stderr, false);
        fail_msg("the generator made a kernel that the checker refuses:\n%s", text);
    }
    sum->kernels++;
    sum->milliseconds += p.milliseconds;
    sum->slowest = p.milliseconds > sum->slowest ? p.milliseconds : sum->slowest;
    run r = {.k = k};
    assert_true(k->var_count < 256 && k->arrays.count <= MOST_ARRAYS);
    for (int i = 0; i < k->arrays.count; i++)
        r.cells[i] =
            calloc((size_t)(side_of(k->arrays.at[i]) * (k->arrays.at[i]->rank > 1 ? side_of(k->arrays.at[i]) : 1)), sizeof(cell));
    bool fine = true;
    for (int i = 0; i < p.items.count; i++) {
        const proof_item *t = &p.items.at[i];
        if (!is_judged(t))
            continue;
        sum->proved += t->verdict == VERDICT_PROVED;
        sum->refuted += t->verdict == VERDICT_REFUTED;
        if (t->verdict == VERDICT_UNKNOWN || (t->verdict == VERDICT_REFUTED && !check_refuted(&r, t))) {
            show(text, t, t->verdict == VERDICT_UNKNOWN ? "affine, but not proved" : "the witness does not misbehave");
            fine = false;
        }
    }
    for (int m = 0; m <= LARGEST; m++)
        for (int n = 0; n <= LARGEST; n++) {
            run_launch(&r, m, n);
            for (int i = 0; i < p.items.count; i++) {
                const proof_item *t = &p.items.at[i];
                if (is_judged(t) && t->verdict == VERDICT_PROVED && breaks(&r, t->property, t->subject, NULL)) {
                    fprintf(stderr, "M = %d, N = %d\n", m, n);
                    show(text, t, "proved, but a launch breaks it");
                    fine = false;
                    m = n = LARGEST;
                }
            }
        }
    for (int i = 0; i < k->arrays.count; i++)
        free(r.cells[i]);
    free(r.found);
    free(r.used);
    arena_free(a);
    sum->failures += !fine;
}

static void compare_many(int count, uint64_t seed, bool tiled) {
    tally sum = {0};
    for (int i = 0; i < count; i++) {
        text_buffer b = {0};
        state = (seed + (uint64_t)i) * 0x9E3779B97F4A7C15u;
        pick(2);
        fault = tiled ? (i % 3 ? 12 : 0) : 0;
        if (tiled)
            tiled_kernel(&b);
        else
            wild_kernel(&b);
        compare(text_get(&b), &sum);
        text_free(&b);
    }
    fprintf(stderr, "%d kernels: %d proved, %d refuted, none open; %.1f ms each, slowest %.1f ms\n", sum.kernels, sum.proved,
            sum.refuted, sum.milliseconds / sum.kernels, sum.slowest);
    assert_int_equal(sum.failures, 0);
    assert_true(sum.proved > count && sum.refuted > count / 3);
}

static int amount(void) {
    const char *text = getenv("TILEC_RANDOM_KERNELS");
    int n = text ? atoi(text) : getenv("TILEC_QUICK") ? 8 : 300;
    return n > 0 ? n : 1;
}

static void test_tiled(void **unused) {
    (void)unused;
    compare_many(amount(), 1000, true);
}

static void test_wild(void **unused) {
    (void)unused;
    compare_many(amount(), 5000000, false);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_tiled), cmocka_unit_test(test_wild)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
