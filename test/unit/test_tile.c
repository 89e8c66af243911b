/* Tile IR: text reads back to the same text, the checker refuses broken IR, specialising binds names. */
#include "tile/tile.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static char *read_text(const char *path) {
    FILE *f = fopen(path, "rb");
    if (!f)
        return NULL;
    text_buffer b = {0};
    char part[4096];
    for (size_t n; (n = fread(part, 1, sizeof part, f)) > 0;)
        text_add_bytes(&b, part, n);
    fclose(f);
    return b.text;
}

static tile_module *load(arena *a, diag_list *d, const char *name) {
    diag_init(d, a);
    char *heap = read_text(name);
    assert_non_null(heap);
    char *text = arena_strdup(a, heap);
    free(heap);
    tile_module *m = tile_parse(a, name, text, d);
    if (!m)
        diag_print_all(d, stderr, false);
    assert_non_null(m);
    return m;
}

static const char *const texts[] = {"test/tile/matmul.tir", "test/tile/softmax.tir", "test/tile/attention.tir",
                                    "test/tile/everything.tir", "test/tile/scatter.tir"};

static void round_trip(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        arena *a = arena_new();
        diag_list d, d2;
        tile_module *m = load(a, &d, texts[i]);
        for (int j = 0; j < m->kernels.count; j++) {
            if (!tile_check(m->kernels.at[j], &d))
                diag_print_all(&d, stderr, false);
            assert_int_equal(d.errors, 0);
        }
        text_buffer first = {0}, second = {0};
        tile_print_module(&first, m);
        diag_init(&d2, a);
        tile_module *again = tile_parse(a, "printed", text_get(&first), &d2);
        if (!again) {
            fputs(text_get(&first), stderr);
            diag_print_all(&d2, stderr, false);
        }
        assert_non_null(again);
        tile_print_module(&second, again);
        assert_string_equal(text_get(&first), text_get(&second));
        /* and the text means what was written: the file itself differs in comments and blank lines alone */
        char *source = read_text(texts[i]);
        const char *s = source, *t = text_get(&first);
        for (;;) {
            while (*s == '\n' || *s == ' ' || (s[0] == '/' && s[1] == '/')) {
                if (*s == '/')
                    while (*s && *s != '\n')
                        s++;
                else
                    s++;
            }
            while (*t == '\n' || *t == ' ')
                t++;
            if (!*s || *s != *t)
                break;
            s++;
            t++;
        }
        if (*s || *t)
            fprintf(stderr, "%s differs at:\n%.60s\nprinted:\n%.60s\n", texts[i], s, t);
        assert_true(!*s && !*t);
        free(source);
        text_free(&first);
        text_free(&second);
        arena_free(a);
    }
}

static void specialise(void **state) {
    (void)state;
    arena *a = arena_new();
    diag_list d;
    tile_module *m = load(a, &d, texts[0]);
    tile_binding b[] = {{"BM", 64}, {"BN", 32}, {"BK", 8}};
    tile_kernel *k = tile_specialise(a, m->kernels.at[0], b, 3);
    assert_true(tile_check(k, &d));
    int64_t size = 0;
    assert_true(ix_is_const(k->ranges.at[1]->size, &size));
    assert_int_equal(size, 32);
    assert_int_equal(k->symbols.count, 6);
    assert_true(k->symbols.at[3]->has_value && k->symbols.at[3]->value == 64);
    assert_false(ix_is_const(m->kernels.at[0]->ranges.at[1]->size, NULL)); /* the original stays free */
    text_buffer one = {0}, two = {0};
    tile_print_kernel(&one, tile_specialise(a, k, NULL, 0));
    tile_print_kernel(&two, k);
    assert_string_equal(text_get(&one), text_get(&two));
    text_free(&one);
    text_free(&two);
    arena_free(a);
}

/* Each row: an edit of a correct text, and the code that the checker (or the parser) must give. */
typedef struct broken {
    int file;
    const char *from, *to, *code;
} broken;
static const broken edits[] = {
    {0, "dot[k] %1 %2 : f32[i, j]", "dot[k] %1 %2 : f32[i]", "E0904"},
    {0, "dot[k] %1 %2 : f32[i, j]", "dot[k] %1 %2 : f32[i, j, k]", "E0904"},
    {0, "dot[k] %1 %2 : f32[i, j]", "dot[k] %1 %2 : i32[i, j]", "E0905"},
    {0, "dot[k] %1 %2 : f32[i, j]", "dot[i] %1 %2 : f32[k, j]", "E0904"},
    {0, "%1 = load a[i, k] : f16[i, k]", "%1 = load a[i, k] : f32[i, k]", "E0905"},
    {0, "%1 = load a[i, k] : f16[i, k]", "%1 = load a[BM, k] : f16[k]", "E0902"},
    {0, "%4 = get acc : f32[i, j]", "%4 = get acc : f32[i]", "E0904"},
    {0, "%4 = get acc : f32[i, j]", "%4 = get acc : i32[i, j]", "E0905"},
    {0, "%4 = get acc : f32[i, j]", "%4 = load c[i, j] : f32[i, j]", "E0907"},
    {0, "store c[i, j] = %4", "store c[i + 1, j] = %4", "E0908"},
    {0, "store c[i, j] = %4", "store a[i, j] = %4", "E0908"},
    {0, "store c[i, j] = %4", "", "E0908"},
    {0, "store c[i, j] = %4", "store c[i, 0] = %4", "E0908"},
    {0, "store c[i, j] = %4", "store c[i, j] = %3", "E0903"},
    {0, "init acc = (%0)", "", "E0906"},
    {0, "init acc = (%0)", "init acc = (%0) init acc = (%0)", "E0906"},
    {0, "own c[i, j]", "own c[i, i]", "E0908"},
    {0, "own c[i, j]", "own c[= 0, j]", "E0908"},
    {0, "own c[i, j]", "", "E0908"},
    {0, "task i, j", "task i", "E0908"},
    {0, "task i, j", "task i, j, j", "E0903"},
    {0, "for k {", "for j {", "E0903"},
    {0, "for k {", "for k where k < BM {", "E0902"},
    {0, "update acc += %3", "update acc += %1", "E0905"},
    {0, "update acc += %3", "update acc += %33", "E0152"},
    {0, "dot[k]", "dott[k]", "E0151"},
    {1, "for c.1 {", "for c {", "E0903"},
    {1, "for c.1 {", "for c.1 where c.1 <= r {", NULL}, /* sum over c.1 keeps the axis r: fine */
    {1, "range c.2: BC in C", "range c.2: BC in R", "E0908"},
    {1, "%8 = sum[c.1] %7 : f32[r]", "%8 = sum[c.2] %7 : f32[r, c.1]", "E0903"},
    {2, "for t where t < len {", "for t where t < len + h {", NULL},
    {2, "%34 = sum[t] %33 : f32[h, g]", "%34 = sum[t] %33 : f32[h]", "E0904"},
    {2, "let p = %33", "let p = %33 let p = %33", "E0906"},
    {2, "%22 = add %15 %21", "%41 = load q[h, g, d] : f16[h, g, d] %22 = add %15 %41", "E0909"},
    {2, "%11 = const 1 : f32", "%11 = scalar scale : f32", "E0909"},
    {2, "join acc <- (%31, %34, %37)", "join acc <- (%31, %37, %34)", "E0904"},
    {2, "join acc <- (%31, %34, %37)", "update acc += %34", "E0909"},
    {2, "%38 = field acc o", "%38 = param acc left o", "E0909"},
    {2, "right (%6, %7, %8)", "right (%6, %8, %7)", "E0904"},
    {2, "store o[h, g, d] = %40", "store o[h, 7, d] = %39", "E0908"},
    {2, "store o[h, g, d] = %40", "store o[h, g, d] = %33", "E0906"},
    {3, "%3 = scalar on : bool", "%3 = scalar on : f32", "E0905"},
    {3, "%8 = convert %7 : f32[d]", "%8 = convert %7 : f32[d] sat", "E0905"},
    {3, "%7 = load cache[pos, d]", "%7 = load cache[pos + 1, d]", "E0907"},
    {3, "range d: 32 in 32 whole", "range d: 16 in 32", "E0908"},
    {3, "index(V)[T]", "index[T]", "E0901"},
    {4, "[T] injective", "[T]", "E0908"},
    {4, "update y:", "out y:", "E0908"},
    {4, "own y[slot[t], d]", "own y[slot[d], d]", "E0908"},
    {4, "own y[slot[t], d]", "own y[t, d]", "E0908"},
    {4, "own y[slot[t], d]", "own y[x[t], d]", "E0908"},
    {4, "own y[slot[t], d]", "own y[slot[k], d]", "E0152"},
    {4, "store y[%0, d]", "store y[t, d]", "E0908"},
    {4, "store y[%0, d]", "store y[%0 + 1, d]", "E0908"},
    {4, "%0 = load slot[t]", "%0 = load slot[0]", "E0908"},
    {4, "%2 = load y[%1, d]", "%2 = load y[t, d]", "E0907"},
};

static void checker_refuses(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof edits / sizeof *edits; i++) {
        const broken *e = &edits[i];
        arena *a = arena_new();
        diag_list d;
        diag_init(&d, a);
        char *heap = read_text(texts[e->file]);
        const char *at = strstr(heap, e->from);
        assert_non_null(at);
        char *text = arena_printf(a, "%.*s%s%s", (int)(at - heap), heap, e->to, at + strlen(e->from));
        free(heap);
        tile_module *m = tile_parse(a, "edited", text, &d);
        for (int j = 0; m && j < m->kernels.count; j++)
            tile_check(m->kernels.at[j], &d);
        bool found = e->code == NULL && d.errors == 0;
        for (int j = 0; e->code && j < d.items.count; j++)
            found |= !strcmp(d.items.at[j]->code, e->code);
        if (!found) {
            fprintf(stderr, "edit %zu (%s -> %s) wanted %s, got:\n", i, e->from, e->to, e->code ? e->code : "no error");
            diag_print_all(&d, stderr, false);
        }
        assert_true(found);
        arena_free(a);
    }
}

/* Breakages that text cannot say. */
static void checker_refuses_torn_structures(void **state) {
    (void)state;
    for (int i = 0; i < 8; i++) {
        arena *a = arena_new();
        diag_list d;
        tile_module *m = load(a, &d, texts[0]);
        tile_kernel *k = m->kernels.at[0];
        tile_value *dot = k->body.items.at[1]->body.items.at[0]->value;
        switch (i) {
        case 0: dot->operand_count = 1; break;
        case 1: dot->id = 99; break;
        case 2: dot->operands[1]->id = dot->operands[0]->id; break;
        case 3: dot->op = TILE_OP_COUNT; break;
        case 4: k->ranges.at[0]->id = 1; break;
        case 5: k->arrays.at[0]->groups[0] = 2; break;
        case 6: dot->operands[0]->indices[0] = NULL; break;
        default: k->body.items.at[2]->value = NULL; break;
        }
        assert_false(tile_check(k, &d));
        assert_true(d.errors > 0);
        arena_free(a);
    }
}

/* Texts that once could hurt: deep nesting, torn tokens. Each must give a diagnostic and no more. */
static void parser_survives(void **state) {
    (void)state;
    text_buffer deep = {0};
    text_add(&deep, "kernel f { symbol N where ");
    for (int i = 0; i < 5000; i++)
        text_add(&deep, "(");
    text_add(&deep, "N");
    for (int i = 0; i < 5000; i++)
        text_add(&deep, ")");
    text_add(&deep, " < 3 do { } }");
    text_buffer chain = {0};
    text_add(&chain, "kernel f { do { %%0 = const 1 : f32\n");
    for (int i = 1; i < 5000; i++)
        text_add(&chain, "%%%d = neg %%%d : f32\n", i, i - 1);
    text_add(&chain, "let %%4999 } }");
    text_buffer loops = {0};
    text_add(&loops, "kernel f { symbol N range r: N in N whole do { ");
    for (int i = 0; i < 5000; i++)
        text_add(&loops, "for r { ");
    const char *const bad[] = {text_get(&deep),
                               text_get(&chain),
                               text_get(&loops),
                               "kernel",
                               "kernel f {",
                               "kernel f { in x: f32[",
                               "%",
                               "\x01\xff",
                               "kernel f { do { %99999999999999 = const 1 : f32 } }",
                               "kernel f { do { %0 = const 1 : f32 let %0",
                               "schedule s { a",
                               "kernel f { in x: f32[(1 } }",
                               "program p { call f() }",
                               "kernel f { symbol N = 99999999999999999999 do { } }"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        arena *a = arena_new();
        diag_list d;
        diag_init(&d, a);
        assert_null(tile_parse(a, "bad", bad[i], &d));
        assert_true(d.errors > 0);
        arena_free(a);
    }
    text_free(&deep);
    text_free(&chain);
    text_free(&loops);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(round_trip),      cmocka_unit_test(specialise),
        cmocka_unit_test(checker_refuses), cmocka_unit_test(checker_refuses_torn_structures),
        cmocka_unit_test(parser_survives),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
