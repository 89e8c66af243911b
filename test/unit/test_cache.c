/* The cache of compiled code: hits, damage, folders that cannot be used, two processes at once, no compiler. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "run/run.h"
#include <dirent.h>
#include <dlfcn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

static char folder[] = "/tmp/test_cache-XXXXXX";

/* Compiles a function that gives `number`, calls it, and tells the diagnostic's code. -1 when it did not work. */
static int compile(int number, bool *hit, char code[8]) {
    arena *a = arena_new();
    diag_list d;
    diag_init(&d, a);
    char text[128];
    snprintf(text, sizeof text, "int number(void) { return %d; }\n", number);
    char *path = cache_compile(text, "a number\nfor the test", hit, &d);
    int got = -1;
    if (path) {
        void *object = dlopen(path, RTLD_NOW | RTLD_LOCAL);
        assert_non_null(object);
        int (*f)(void);
        void *symbol = dlsym(object, "number");
        memcpy(&f, &symbol, sizeof f);
        got = f();
        dlclose(object);
    }
    if (code)
        snprintf(code, 8, "%s", d.items.count ? d.items.at[0]->code : "");
    assert_int_equal(d.errors > 0, path == NULL);
    free(path);
    arena_free(a);
    return got;
}

static int files(const char *beginning) {
    int count = 0;
    DIR *d = opendir(folder);
    for (struct dirent *e; (e = readdir(d));)
        count += e->d_name[0] != '.' ? !*beginning : *beginning && !strncmp(e->d_name, beginning, strlen(beginning));
    closedir(d);
    return count;
}

static void only_entry(char *path, size_t size) {
    cache_entry *entries;
    assert_int_equal(cache_list(&entries), 1);
    snprintf(path, size, "%s/%s.so", folder, entries[0].key);
    free(entries[0].description);
    free(entries);
}

static void test_hit(void **state) {
    (void)state;
    bool hit;
    int64_t before = compiler_calls();
    assert_int_equal(compile(7, &hit, NULL), 7);
    assert_false(hit);
    assert_int_equal(compiler_calls() - before, 1);
    assert_int_equal(compile(7, &hit, NULL), 7);
    assert_true(hit);
    assert_int_equal(compiler_calls() - before, 1);
    assert_int_equal(compile(8, &hit, NULL), 8);
    assert_false(hit);
    cache_entry *entries;
    assert_int_equal(cache_list(&entries), 2);
    for (int i = 0; i < 2; i++) {
        assert_non_null(strstr(entries[i].description, "a number\nfor the test\ncompiler: "));
        assert_int_equal(strlen(entries[i].key), 32);
        assert_true(entries[i].bytes > 1000);
        free(entries[i].description);
    }
    free(entries);
    assert_int_equal(cache_prune(INT64_MAX), 0);
    assert_int_equal(cache_prune(0), 2);
    assert_int_equal(files(""), 0);
}

/* Another compiler, or another way to call it, is another key. */
static void test_key(void **state) {
    (void)state;
    bool hit;
    compile(9, &hit, NULL);
    setenv("TILEC_CC", "cc -DOTHER", 1);
    assert_int_equal(compile(9, &hit, NULL), 9);
    assert_false(hit);
    unsetenv("TILEC_CC");
    assert_int_equal(compile(9, &hit, NULL), 9);
    assert_true(hit);
    assert_int_equal(cache_prune(0), 2);
}

static void test_damage(void **state) {
    (void)state;
    bool hit;
    char path[256];
    compile(11, &hit, NULL);
    only_entry(path, sizeof path);
    struct stat s;
    assert_int_equal(stat(path, &s), 0);
    /* Cut short, emptied, a byte turned over at many places, something else altogether: each time it is made anew. */
    for (int kind = 0; kind < 12; kind++) {
        if (kind == 0)
            assert_int_equal(truncate(path, s.st_size / 2), 0);
        else if (kind == 1)
            assert_int_equal(truncate(path, 0), 0);
        else if (kind == 2)
            assert_int_equal(truncate(path, s.st_size - 1), 0);
        else {
            FILE *f = fopen(path, "r+b");
            long at = (long)(s.st_size - 1) * (kind - 3) / 8;
            fseek(f, at, SEEK_SET);
            int c = fgetc(f);
            fseek(f, at, SEEK_SET);
            fputc(c ^ 0x10, f);
            fclose(f);
        }
        assert_int_equal(compile(11, &hit, NULL), 11);
        assert_false(hit);
        assert_int_equal(compile(11, &hit, NULL), 11);
        assert_true(hit);
    }
    assert_int_equal(files(".making-"), 0);
    cache_prune(0);
}

static void test_unusable_folders(void **state) {
    (void)state;
    bool hit;
    char code[8], path[256];
    /* Below a file; a folder in which nothing can be made; no folder known at all. */
    snprintf(path, sizeof path, "%s/file", folder);
    fclose(fopen(path, "w"));
    char below[300];
    snprintf(below, sizeof below, "%s/cache", path);
    const char *const bad[] = {below, path, "/proc/self"};
    for (int i = 0; i < 3; i++) {
        setenv("TILEC_CACHE", bad[i], 1);
        assert_int_equal(compile(20 + i, &hit, code), 20 + i);
        assert_string_equal(code, "E0844");
        assert_false(hit);
    }
    setenv("TILEC_CACHE", "", 1);
    setenv("HOME", "", 1);
    unsetenv("XDG_CACHE_HOME");
    text_buffer why = {0};
    assert_null(cache_directory(&why));
    assert_non_null(strstr(text_get(&why), "HOME"));
    text_free(&why);
    assert_int_equal(compile(30, &hit, code), 30);
    assert_string_equal(code, "E0844");
    setenv("XDG_CACHE_HOME", folder, 1);
    char *d = cache_directory(NULL);
    snprintf(path, sizeof path, "%s/tilec", folder);
    assert_string_equal(d, path);
    free(d);
    rmdir(path);
    setenv("TILEC_CACHE", folder, 1);
    snprintf(path, sizeof path, "%s/file", folder);
    unlink(path);
    /* Temporary files have nowhere to go but the cache itself. */
    setenv("TMPDIR", "/nowhere", 1);
    assert_int_equal(compile(31, &hit, code), 31);
    assert_string_equal(code, "");
    unsetenv("TMPDIR");
    cache_prune(0);
}

static void test_compilers(void **state) {
    (void)state;
    bool hit;
    char code[8];
    setenv("TILEC_CC", "no-such-compiler", 1);
    assert_int_equal(compile(40, &hit, code), -1);
    assert_string_equal(code, "E0840");
    setenv("TILEC_CC", "/etc/passwd", 1);
    assert_int_equal(compile(40, &hit, code), -1);
    assert_string_equal(code, "E0840");
    setenv("TILEC_CC", "false", 1);
    assert_int_equal(compile(40, &hit, code), -1);
    assert_string_equal(code, "E0843");
    setenv("TILEC_CC", "  ", 1);
    assert_int_equal(compile(40, &hit, code), -1);
    assert_string_equal(code, "E0840");
    unsetenv("TILEC_CC");
    char *path = strdup(getenv("PATH"));
    setenv("PATH", "/nowhere", 1);
    assert_int_equal(compile(40, &hit, code), -1);
    assert_string_equal(code, "E0840");
    setenv("PATH", path, 1);
    free(path);
    arena *a = arena_new();
    diag_list d;
    diag_init(&d, a);
    assert_null(cache_compile("int number(void) { return nothing_such; }", "bad", &hit, &d));
    assert_string_equal(d.items.at[0]->code, "E0843");
    assert_true(d.items.at[0]->notes.count > 0);
    arena_free(a);
    assert_int_equal(files(""), 0);
}

static void test_processes(void **state) {
    (void)state;
    bool hit;
    enum { CHILDREN = 4 };
    pid_t children[CHILDREN];
    fflush(NULL);
    for (int i = 0; i < CHILDREN; i++) {
        children[i] = fork();
        if (!children[i])
            _exit(compile(50, &hit, NULL) == 50 ? 0 : 1);
    }
    for (int i = 0; i < CHILDREN; i++) {
        int status;
        waitpid(children[i], &status, 0);
        assert_int_equal(status, 0);
    }
    assert_int_equal(compile(50, &hit, NULL), 50);
    assert_true(hit);
    assert_int_equal(files(""), 1);
    assert_int_equal(files(".making-"), 0);
    cache_prune(0);
}

static int set_up(void **state) {
    (void)state;
    unsetenv("TILEC_CC");
    return mkdtemp(folder) && !setenv("TILEC_CACHE", folder, 1) ? 0 : -1;
}

static int tear_down(void **state) {
    (void)state;
    cache_prune(0);
    return rmdir(folder);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_hit),       cmocka_unit_test(test_key),
                                       cmocka_unit_test(test_damage),    cmocka_unit_test(test_unusable_folders),
                                       cmocka_unit_test(test_compilers), cmocka_unit_test(test_processes)};
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
