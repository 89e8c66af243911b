/* Arenas, texts, index expressions, conditions, diagnostics, files, hashes. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <limits.h>

#include "base/diag.h"
#include "base/errors.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/index.h"
#include <dirent.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static uint64_t random_state = 88172645463325252u;
static uint64_t next_random(void) {
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state;
}

static void arena_memory_is_zeroed_aligned_and_apart(void **state) {
    (void)state;
    arena *a = arena_new();
    unsigned char *pieces[500];
    size_t sizes[500];
    for (int i = 0; i < 500; i++) {
        sizes[i] = i == 250 ? 3000000 : next_random() % 2000;
        pieces[i] = arena_alloc(a, sizes[i]);
        assert_int_equal((uintptr_t)pieces[i] % 16, 0);
        for (size_t j = 0; j < sizes[i]; j++)
            assert_int_equal(pieces[i][j], 0);
        memset(pieces[i], i % 251 + 1, sizes[i]);
    }
    size_t total = 0;
    for (int i = 0; i < 500; i++) {
        total += sizes[i];
        for (size_t j = 0; j < sizes[i]; j++)
            assert_int_equal(pieces[i][j], i % 251 + 1);
    }
    assert_true(arena_bytes(a) == total);
    VEC(int) numbers = {0};
    for (int i = 0; i < 10000; i++)
        VEC_PUSH(a, numbers, i * 3);
    for (int i = 0; i < 10000; i++)
        assert_int_equal(numbers.at[i], i * 3);
    arena_free(a);
    arena_free(NULL);
}

static void text_grows(void **state) {
    (void)state;
    text_buffer b = {0};
    assert_string_equal(text_get(&b), "");
    for (int i = 0; i < 300; i++)
        text_add(&b, "%d,", i % 10);
    assert_int_equal(b.length, 600);
    text_add(&b, "%0999d", 7); /* longer than any one-step buffer */
    assert_int_equal(b.length, 1599);
    assert_int_equal(b.text[1598], '7');
    text_add_bytes(&b, "a\0b", 3);
    assert_int_equal(b.length, 1602);
    assert_memory_equal(b.text + 1599, "a\0b", 4);
    text_free(&b);
    arena *a = arena_new();
    assert_string_equal(arena_printf(a, "%s-%d", "x", 5), "x-5");
    assert_string_equal(arena_printf(a, "%d %ld %lld%% %s", INT_MIN, -1L, LLONG_MIN, ""),
                        "-2147483648 -1 -9223372036854775808% ");
    assert_string_equal(arena_printf(a, "%s=%d %5.2f|%-3d|%zu", "x", 0, 2.5, 7, (size_t)9),
                        "x=0  2.50|7  |9"); /* as printf has it */
    assert_string_equal(arena_strndup(a, "abcdef", 3), "abc");
    arena_free(a);
}

static void expect_text(const index_expr *x, const char *expected) {
    text_buffer b = {0};
    ix_print(&b, x);
    assert_string_equal(text_get(&b), expected);
    text_free(&b);
}

static void expect_condition(const cond *x, const char *expected) {
    text_buffer b = {0};
    cond_print(&b, x);
    assert_string_equal(text_get(&b), expected);
    text_free(&b);
}

static void index_folds(void **state) {
    (void)state;
    arena *a = arena_new();
    index_var m = {.name = "M", .kind = INDEX_SYMBOL}, k = {.name = "k", .kind = INDEX_RANGE};
    index_expr *M = ix_var(a, &m), *K = ix_var(a, &k);
#define C(value) ix_const(a, (value))
    expect_text(ix_add(a, M, C(0)), "M");
    expect_text(ix_add(a, C(3), M), "M + 3");
    expect_text(ix_add(a, ix_add(a, M, C(3)), C(4)), "M + 7");
    expect_text(ix_sub(a, ix_add(a, M, C(3)), C(4)), "M - 1");
    expect_text(ix_add(a, ix_sub(a, M, C(3)), C(3)), "M");
    expect_text(ix_sub(a, M, C(-2)), "M + 2");
    expect_text(ix_sub(a, M, M), "0");
    expect_text(ix_sub(a, ix_add(a, K, M), K), "M");
    expect_text(ix_add(a, K, ix_sub(a, M, K)), "M");
    expect_text(ix_sub(a, C(3), M), "3 - M");
    expect_text(ix_mul(a, C(1), M), "M");
    expect_text(ix_mul(a, M, C(0)), "0");
    expect_text(ix_mul(a, C(16), ix_mul(a, M, C(2))), "M * 32");
    expect_text(ix_mul(a, M, C(-3)), "M * (-3)");
    expect_text(ix_mul(a, ix_add(a, M, C(1)), K), "(M + 1) * k");
    expect_text(ix_sub(a, M, ix_sub(a, K, C(1))), "M - (k - 1)");
    expect_text(ix_min(a, M, M), "M");
    expect_text(ix_max(a, ix_max(a, M, C(2)), C(5)), "max(M, 5)");
    expect_text(ix_floordiv(a, M, C(1)), "M");
    expect_text(ix_mod(a, M, C(1)), "0");
    expect_text(ix_floordiv(a, ix_mul(a, M, C(8)), C(4)), "M * 2");
    expect_text(ix_ceildiv(a, M, C(8)), "floor((M + 7) / 8)");
    expect_text(ix_ceildiv(a, C(17), C(8)), "3");
    expect_text(ix_mod(a, ix_add(a, M, K), C(8)), "((M + k) mod 8)");
    expect_text(ix_floordiv(a, C(-7), C(2)), "-4");
    expect_text(ix_mod(a, C(-7), C(2)), "1");
    /* What does not fit, or divides by zero, stays an expression. */
    int64_t value;
    assert_false(ix_is_const(ix_mul(a, C(INT64_MAX), C(2)), &value));
    assert_false(ix_is_const(ix_add(a, C(INT64_MAX), C(1)), &value));
    assert_false(ix_is_const(ix_floordiv(a, C(5), C(0)), &value));
    assert_false(ix_eval(ix_floordiv(a, C(5), C(0)), NULL, NULL, &value));
    assert_false(ix_eval(ix_mul(a, C(INT64_MAX), C(2)), NULL, NULL, &value));
    assert_true(ix_equal(ix_add(a, M, C(3)), ix_add(a, C(3), M)));
    assert_false(ix_equal(ix_add(a, M, C(3)), ix_add(a, K, C(3))));
    arena_free(a);
}

/* Random expressions, kept as a recipe too: the constructors' folding must not change a value. */
enum { VARIABLES = 3 };
typedef struct environment {
    index_var vars[VARIABLES];
    int64_t values[VARIABLES];
} environment;

static bool look_up(void *context, const index_var *v, int64_t *value) {
    environment *e = context;
    for (int i = 0; i < VARIABLES; i++)
        if (v == &e->vars[i]) {
            *value = e->values[i];
            return true;
        }
    return false;
}

static index_expr *random_expression(arena *a, environment *e, int depth, int64_t *value) {
    if (depth == 0 || next_random() % 5 == 0) {
        if (next_random() % 2) {
            int i = (int)(next_random() % VARIABLES);
            *value = e->values[i];
            return ix_var(a, &e->vars[i]);
        }
        *value = (int64_t)(next_random() % 9) - 4;
        return ix_const(a, *value);
    }
    int64_t x, y;
    index_expr *left = random_expression(a, e, depth - 1, &x), *right = random_expression(a, e, depth - 1, &y);
    switch (next_random() % 7) {
    case 0: *value = x + y; return ix_add(a, left, right);
    case 1: *value = x - y; return ix_sub(a, left, right);
    case 2: *value = x * y; return ix_mul(a, left, right);
    case 3: *value = x < y ? x : y; return ix_min(a, left, right);
    case 4: *value = x > y ? x : y; return ix_max(a, left, right);
    default: {
        int64_t d = (int64_t)(next_random() % 6) + 1, quotient = x / d;
        while (quotient * d > x) /* floor, the slow way */
            quotient--;
        bool modulo = next_random() % 2;
        *value = modulo ? x - quotient * d : quotient;
        return modulo ? ix_mod(a, left, ix_const(a, d)) : ix_floordiv(a, left, ix_const(a, d));
    }
    }
}

static void index_folding_keeps_values(void **state) {
    (void)state;
    for (int round = 0; round < 20000; round++) {
        arena *a = arena_new();
        environment e = {.vars = {{.name = "x"}, {.name = "y", .kind = INDEX_TILE}, {.name = "z"}}};
        for (int i = 0; i < VARIABLES; i++)
            e.values[i] = (int64_t)(next_random() % 21) - 10;
        int64_t expected, value;
        index_expr *x = random_expression(a, &e, 4, &expected);
        assert_true(ix_eval(x, look_up, &e, &value));
        assert_true(value == expected);
        /* Replacing a variable by an expression of the same value keeps the value, and removes the variable. */
        index_expr *by = ix_add(a, ix_var(a, &e.vars[1]), ix_const(a, e.values[0] - e.values[1]));
        index_expr *replaced = ix_substitute(a, x, &e.vars[0], by);
        assert_false(ix_mentions(replaced, &e.vars[0]));
        assert_true(ix_eval(replaced, look_up, &e, &value));
        assert_true(value == expected);
        int64_t coefficient, rest_value;
        index_expr *rest;
        if (ix_coefficient(a, x, &e.vars[0], &coefficient, &rest)) {
            assert_false(ix_mentions(rest, &e.vars[0]));
            assert_true(ix_eval(rest, look_up, &e, &rest_value));
            assert_true(coefficient * e.values[0] + rest_value == expected);
        }
        e.vars[1].has_value = true;
        e.vars[1].value = e.values[1];
        index_expr *bound = ix_bind_constants(a, x);
        assert_false(ix_mentions(bound, &e.vars[1]));
        assert_true(ix_eval(bound, look_up, &e, &value));
        assert_true(value == expected);
        arena_free(a);
    }
}

static void index_coefficients(void **state) {
    (void)state;
    arena *a = arena_new();
    index_var i = {.name = "i"}, n = {.name = "N"};
    index_expr *I = ix_var(a, &i), *N = ix_var(a, &n), *rest;
    int64_t coefficient;
    assert_true(
        ix_coefficient(a, ix_sub(a, N, ix_mul(a, ix_add(a, I, ix_const(a, 2)), ix_const(a, 3))), &i, &coefficient, &rest));
    assert_int_equal(coefficient, -3);
    expect_text(rest, "N - 6");
    assert_false(ix_coefficient(a, ix_mul(a, I, N), &i, &coefficient, &rest));
    assert_false(ix_coefficient(a, ix_mul(a, I, I), &i, &coefficient, &rest));
    assert_false(ix_coefficient(a, ix_mod(a, I, ix_const(a, 4)), &i, &coefficient, &rest));
    assert_true(ix_coefficient(a, ix_mul(a, N, N), &i, &coefficient, &rest));
    assert_int_equal(coefficient, 0);
    arena_free(a);
}

static void conditions(void **state) {
    (void)state;
    arena *a = arena_new();
    environment e = {.vars = {{.name = "t"}, {.name = "len"}, {.name = "T"}}, .values = {3, 5, 8}};
    index_expr *t = ix_var(a, &e.vars[0]), *len = ix_var(a, &e.vars[1]), *T = ix_var(a, &e.vars[2]);
    cond *below = cond_compare(a, COND_LT, t, len), *fits = cond_compare(a, COND_LE, len, T);
    expect_condition(cond_and(a, below, fits), "t < len and len <= T");
    expect_condition(cond_and(a, NULL, below), "t < len");
    assert_null(cond_and(a, NULL, NULL));
    cond *yes = cond_compare(a, COND_LE, t, t);
    expect_condition(yes, "true");
    expect_condition(cond_and(a, yes, below), "t < len");
    expect_condition(cond_or(a, yes, below), "true");
    cond *no = cond_compare(a, COND_LT, ix_const(a, 4), ix_const(a, 4));
    expect_condition(no, "false");
    expect_condition(cond_and(a, below, no), "false");
    expect_condition(cond_or(a, no, below), "t < len");
    expect_condition(cond_not(a, below), "len <= t");
    expect_condition(cond_not(a, cond_compare(a, COND_EQ, t, T)), "t != T");
    cond *either = cond_or(a, below, fits);
    expect_condition(cond_not(a, either), "not (t < len or len <= T)");
    expect_condition(cond_and(a, either, fits), "(t < len or len <= T) and len <= T");
    expect_condition(cond_or(a, cond_and(a, below, fits), below), "t < len and len <= T or t < len");
    assert_ptr_equal(cond_not(a, cond_not(a, either)), either);
    bool value;
    assert_true(cond_eval(cond_and(a, below, fits), look_up, &e, &value) && value);
    e.values[0] = 5;
    assert_true(cond_eval(cond_and(a, below, fits), look_up, &e, &value) && !value);
    assert_true(cond_eval(NULL, look_up, &e, &value) && value);
    index_var stranger = {.name = "q"};
    assert_false(cond_eval(cond_or(a, fits, cond_compare(a, COND_LT, ix_var(a, &stranger), t)), look_up, &e, &value));
    assert_true(cond_mentions(either, &e.vars[2]) && !cond_mentions(below, &e.vars[2]));
    expect_condition(cond_substitute(a, either, &e.vars[0], ix_const(a, 2)), "2 < len or len <= T");
    arena_free(a);
}

static const char *printed(diag_list *d) {
    static char text[8192];
    FILE *f = fmemopen(text, sizeof text, "w");
    assert_non_null(f);
    diag_print_all(d, f, false);
    fclose(f);
    return text;
}

static void diagnostics_print_as_documented(void **state) {
    (void)state;
    arena *a = arena_new();
    diag_list d;
    diag_init(&d, a);
    diag_add_source(&d, "matmul.tile", "\n\n\n\n\n        for k: BK in K { acc += a[i, k] @ b[j, k] }\n\tx = \xC3\xA9 + y\r\n");
    diag *g = diag_error(&d, "E0214", (source_span){"matmul.tile", 6, 45, 1}, "`j` spans N, but dimension %d of `b` is K", 0);
    diag_caret(&d, g, "use a range over K, or add `where N == K`");
    assert_string_equal(printed(&d),
                        "matmul.tile:6:45: error E0214: `j` spans N, but dimension 0 of `b` is K\n"
                        "   6 |         for k: BK in K { acc += a[i, k] @ b[j, k] }\n"
                        "     |                                             ^ use a range over K, or add `where N == K`\n");

    diag_init(&d, a);
    g = diag_error(&d, "E0505", (source_span){"matmul.tile", 0, 0, 0},
                   "schedule for metal needs 33024 bytes of threadgroup memory, the device has 32768");
    diag_note(&d, g, "stages = 3 -> 2 saves 8192 bytes");
    assert_string_equal(
        printed(&d),
        "matmul.tile: error E0505: schedule for metal needs 33024 bytes of threadgroup memory, the device has 32768\n"
        "     | stages = 3 -> 2 saves 8192 bytes\n");

    diag_init(&d, a);
    g = diag_error(&d, "E0402", (source_span){"k.metal", 41, 9, 0}, "race on shmem[0], when ne00 >= 33");
    diag_note(&d, g, "line 38: thread 32 writes it\nno barrier orders them");
    diag_warning(&d, "E0101", (source_span){0}, "second");
    assert_int_equal(d.errors, 1);
    assert_string_equal(printed(&d), "k.metal:41:9: error E0402: race on shmem[0], when ne00 >= 33\n"
                                     "     | line 38: thread 32 writes it\n"
                                     "     | no barrier orders them\n"
                                     "\nwarning E0101: second\n");
    diag_caret(&d, NULL, "ignored");
    diag_note(&d, NULL, "ignored");
    arena_free(a);
}

static void diagnostics_survive_odd_sources(void **state) {
    (void)state;
    arena *a = arena_new();
    diag_list d;
    diag_init(&d, a);
    /* A tab, a two-byte character and a carriage return: the caret stands under the `y` all the same. */
    diag_add_source(&d, "t", "\tx = \xC3\xA9 + y\r\n");
    diag_error(&d, "E0101", (source_span){"t", 1, 11, 1}, "m");
    assert_string_equal(printed(&d), "t:1:11: error E0101: m\n   1 | \tx = \xC3\xA9 + y\n     | \t        ^\n");
    /* Places outside the text. */
    diag_init(&d, a);
    diag_add_source(&d, "t", "ab");
    diag *g = diag_error(&d, "E0101", (source_span){"t", 1, 99, 1}, "m");
    diag_error(&d, "E0101", (source_span){"t", 7, 1, 1}, "n");
    diag_caret(&d, g, "mend");
    assert_string_equal(printed(&d), "t:1:99: error E0101: m\n   1 | ab\n     |   ^ mend\n\nt:7:1: error E0101: n\n");
    /* Escape sequences of a source or a message reach no terminal. */
    diag_init(&d, a);
    diag_add_source(&d, "t", "\033[2J");
    diag_error(&d, "E0101", (source_span){"t", 1, 1, 1}, "\033[1m");
    assert_null(strchr(printed(&d), '\033'));
    /* A very long line is quoted around its caret. */
    char *line = arena_alloc(a, 100001);
    memset(line, 'a', 100000);
    line[50000] = 'X';
    diag_init(&d, a);
    diag_add_source(&d, "t", line);
    diag_error(&d, "E0101", (source_span){"t", 1, 50001, 1}, "m");
    const char *text = printed(&d), *x = strchr(text, 'X'), *caret = strchr(text, '^');
    assert_true(strlen(text) < 500);
    const char *quote = strstr(text, "   1 | "), *below = strstr(text, "\n     | ") + 1;
    assert_int_equal(x - quote, caret - below);
    arena_free(a);
}

static void error_table(void **state) {
    (void)state;
    for (int i = 0; i < error_entry_count; i++) {
        const error_entry *e = &error_entries[i];
        assert_int_equal(strlen(e->code), 5);
        assert_int_equal(e->code[0], 'E');
        assert_true(strspn(e->code + 1, "0123456789") == 4);
        assert_true(strlen(e->title) > 0 && strlen(e->explanation) > 40);
        assert_ptr_equal(error_find(e->code), e); /* no code twice */
    }
    assert_null(error_find("E0000"));
    char *text;
    size_t length;
    FILE *f = open_memstream(&text, &length);
    error_print_markdown(f);
    fclose(f);
    const char *at = text;
    int headings = 0;
    for (char last[6] = ""; (at = strstr(at, "\n### E")) != NULL; at += 5, headings++) {
        assert_true(strncmp(last, at + 5, 5) < 0); /* in order */
        memcpy(last, at + 5, 5);
    }
    assert_int_equal(headings, error_entry_count);
    free(text);
}

static char folder[] = "/tmp/tilec-base-XXXXXX";

static int entries_of_folder(void) {
    DIR *d = opendir(folder);
    int count = 0;
    for (struct dirent *e; (e = readdir(d)) != NULL;)
        count += e->d_name[0] != '.';
    closedir(d);
    return count;
}

static void expect_code(diag_list *d, const char *code) {
    assert_int_equal(d->items.count, 1);
    assert_string_equal(d->items.at[0]->code, code);
    diag_init(d, d->arena);
}

static void files(void **state) {
    (void)state;
    arena *a = arena_new();
    diag_list d;
    diag_init(&d, a);
    const char *path = arena_printf(a, "%s/out", folder);
    size_t length;
    assert_null(file_read(a, path, 100, NULL, &d));
    expect_code(&d, "E0880");
    assert_false(file_exists(path));
    assert_true(file_write(path, "one\0two", 7, &d));
    char *text = file_read(a, path, 100, &length, &d);
    assert_int_equal(length, 7);
    assert_memory_equal(text, "one\0two", 8);
    assert_null(file_read(a, path, 6, NULL, &d));
    expect_code(&d, "E0883");
    assert_non_null(file_read(a, path, 7, NULL, &d));
    assert_null(file_read(a, folder, 100, NULL, &d));
    expect_code(&d, "E0882");
    assert_null(file_read(a, "/dev/zero", 100000, NULL, &d)); /* endless, whatever stat says */
    expect_code(&d, "E0883");
    assert_null(file_read(a, arena_printf(a, "%s/x", path), 100, NULL, &d)); /* a file used as a folder */
    expect_code(&d, "E0880");

    /* Permissions and links are kept; nothing is left beside. */
    assert_int_equal(chmod(path, 0640), 0);
    const char *link = arena_printf(a, "%s/link", folder);
    assert_int_equal(symlink(path, link), 0);
    assert_true(file_write(link, "three", 5, &d));
    struct stat st;
    assert_int_equal(lstat(link, &st), 0);
    assert_true(S_ISLNK(st.st_mode));
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0640);
    assert_string_equal(file_read(a, path, 100, NULL, &d), "three");
    assert_int_equal(entries_of_folder(), 2);

    /* Failures name themselves and change nothing. */
    assert_false(file_write(folder, "x", 1, &d));
    expect_code(&d, "E0885");
    assert_false(file_write(arena_printf(a, "%s/no/out", folder), "x", 1, &d));
    expect_code(&d, "E0885");
    assert_false(file_write("/dev/full", "x", 1, &d));
    expect_code(&d, "E0886");
    struct rlimit old, low = {1000, 0};
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
    low.rlim_max = old.rlim_max;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &low), 0);
    char *big = arena_alloc(a, 5000);
    bool written = file_write(path, big, 5000, &d);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
    assert_false(written);
    expect_code(&d, "E0886");
    assert_string_equal(file_read(a, path, 100, NULL, &d), "three");
    assert_int_equal(entries_of_folder(), 2);

    const char *deep = arena_printf(a, "%s/a//b/c", folder);
    assert_true(file_make_folders(deep, &d));
    assert_true(file_make_folders(deep, &d));
    assert_true(file_exists(deep));
    assert_false(file_make_folders(arena_printf(a, "%s/d", path), &d));
    expect_code(&d, "E0887");
    if (geteuid() != 0) { /* root may do everything */
        assert_int_equal(chmod(path, 0), 0);
        assert_null(file_read(a, path, 100, NULL, &d));
        expect_code(&d, "E0881");
    }
    arena_free(a);
}

static void hashes(void **state) {
    (void)state;
    char digits[HASH_DIGITS + 1], other[HASH_DIGITS + 1];
    hash_bytes("", 0, digits);
    assert_string_equal(digits, "99aa06d3014798d86001c324468d497f"); /* XXH3's published value for no input */
    hash_bytes("abc", 3, digits);
    hash_bytes("abd", 3, other);
    assert_string_not_equal(digits, other);
    assert_int_equal(strlen(digits), HASH_DIGITS);
}

static int make_folder(void **state) {
    (void)state;
    return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state) {
    (void)state;
    char command[128];
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    return system(command);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(arena_memory_is_zeroed_aligned_and_apart),
        cmocka_unit_test(text_grows),
        cmocka_unit_test(index_folds),
        cmocka_unit_test(index_folding_keeps_values),
        cmocka_unit_test(index_coefficients),
        cmocka_unit_test(conditions),
        cmocka_unit_test(diagnostics_print_as_documented),
        cmocka_unit_test(diagnostics_survive_odd_sources),
        cmocka_unit_test(error_table),
        cmocka_unit_test(files),
        cmocka_unit_test(hashes),
    };
    return cmocka_run_group_tests_name("base", tests, make_folder, remove_folder);
}
