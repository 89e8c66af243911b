/* Programs that the front end refuses, with every word of what it says: test/reject/X.tile against X.expected (UPDATE=1 rewrites them).
 * Programs that it takes: test/accept and kernels/, without a warning, whose Tile IR passes the checker and reads back as printed. */
#include "lang/lang.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char *read_text(const char *path) {
    FILE *f = fopen(path, "rb");
    if (!f)
        return NULL;
    text_buffer t = {0};
    char part[4096];
    for (size_t n; (n = fread(part, 1, sizeof part, f)) > 0;)
        text_add_bytes(&t, part, n);
    fclose(f);
    text_add(&t, "%s", "");
    return t.text;
}

static const char *base_name(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static char *printed(const diag_list *diags) {
    char *text = NULL;
    size_t size = 0;
    FILE *f = open_memstream(&text, &size);
    assert_non_null(f);
    diag_print_all(diags, f, false);
    fclose(f);
    return text;
}

static void find_files(const char *pattern, int least, glob_t *found) {
    assert_int_equal(glob(pattern, 0, NULL, found), 0);
    assert_true((int)found->gl_pathc >= least);
}

/* One rejected program; false when its diagnostics are not the expected ones. */
static bool reject_one(const char *path) {
    char *source = read_text(path);
    assert_non_null(source);
    arena *a = arena_new();
    diag_list diags;
    diag_init(&diags, a);
    tile_module *m = lang_load(a, base_name(path), source, &diags);
    char *got = printed(&diags);
    char *expected_path = arena_printf(a, "%.*s.expected", (int)(strlen(path) - strlen(".tile")), path);
    if (getenv("UPDATE")) {
        FILE *f = fopen(expected_path, "wb");
        assert_non_null(f);
        fputs(got, f);
        fclose(f);
    }
    char *expected = read_text(expected_path);
    bool same = expected && !strcmp(got, expected) && !m && diags.errors > 0;
    if (!same)
        print_message("%s: %s\n--- expected\n%s--- got\n%s", path, m ? "was accepted" : "says something else",
                      expected ? expected : "(no file)\n", got);
    free(expected);
    free(got);
    free(source);
    arena_free(a);
    return same;
}

static void test_rejected(void **state) {
    (void)state;
    glob_t found;
    find_files("test/reject/*.tile", 70, &found);
    int wrong = 0;
    for (size_t i = 0; i < found.gl_pathc; i++)
        wrong += !reject_one(found.gl_pathv[i]);
    globfree(&found);
    assert_int_equal(wrong, 0);
}

/* Every code of the front end stands in some expected text. */
static void test_every_code(void **state) {
    (void)state;
    static const char *const codes[] = {
#define ERROR(code, title, explanation) #code,
#define RESERVED(code, title, explanation)
#include "base/errors/lang.def"
#undef ERROR
#undef RESERVED
    };
    glob_t found;
    find_files("test/reject/*.expected", 70, &found);
    bool seen[sizeof codes / sizeof *codes] = {false};
    for (size_t i = 0; i < found.gl_pathc; i++) {
        char *text = read_text(found.gl_pathv[i]);
        for (size_t c = 0; c < sizeof codes / sizeof *codes; c++)
            seen[c] |= strstr(text, codes[c]) != NULL;
        free(text);
    }
    globfree(&found);
    int missing = 0;
    for (size_t c = 0; c < sizeof codes / sizeof *codes; c++)
        if (!seen[c]) {
            print_message("no program in test/reject gives %s\n", codes[c]);
            missing++;
        }
    assert_int_equal(missing, 0);
}

static bool accept_one(const char *path) {
    char *source = read_text(path);
    assert_non_null(source);
    arena *a = arena_new();
    diag_list diags, later;
    diag_init(&diags, a);
    diag_init(&later, a);
    tile_module *m = lang_load(a, base_name(path), source, &diags);
    bool ok = m && diags.items.count == 0;
    text_buffer once = {0}, again = {0};
    if (m) {
        for (int i = 0; i < m->kernels.count; i++)
            ok &= tile_check(m->kernels.at[i], &later);
        tile_print_module(&once, m);
        tile_module *back = tile_parse(a, "printed", text_get(&once), &later);
        if (back)
            tile_print_module(&again, back);
        ok &= back && !strcmp(text_get(&once), text_get(&again));
    }
    if (!ok) {
        char *first = printed(&diags), *second = printed(&later);
        print_message("%s is not accepted, or its Tile IR does not hold\n%s%s", path, first, second);
        free(first);
        free(second);
    }
    text_free(&once);
    text_free(&again);
    free(source);
    arena_free(a);
    return ok;
}

static void accept_all(const char *pattern, int least) {
    glob_t found;
    find_files(pattern, least, &found);
    int wrong = 0;
    for (size_t i = 0; i < found.gl_pathc; i++)
        wrong += !accept_one(found.gl_pathv[i]);
    globfree(&found);
    assert_int_equal(wrong, 0);
}

static void test_accepted(void **state) {
    (void)state;
    accept_all("test/accept/*.tile", 25);
}

static void test_kernels(void **state) {
    (void)state;
    accept_all("kernels/*.tile", 5);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rejected),
        cmocka_unit_test(test_every_code),
        cmocka_unit_test(test_accepted),
        cmocka_unit_test(test_kernels),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
