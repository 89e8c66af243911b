/* src/kernel/coverage.def against the tree: no op or statement of Kernel IR without a row, and no row that claims what is not there. */
#include "kernel/kernel.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

typedef struct row {
    bool is_stmt;
    int which;
    const char *symbol; /* LANES_SUM */
    const char *producer, *text, *proved_by, *run_by;
} row;
static const row rows[] = {
#define COVERED_OP(op, producer, text, proved_by, run_by) {false, KERNEL_##op, #op, producer, text, proved_by, run_by},
#define COVERED_STMT(kind, producer, text, proved_by, run_by) {true, KSTMT_##kind, #kind, producer, text, proved_by, run_by},
#include "kernel/coverage.def"
};
enum { ROWS = sizeof rows / sizeof *rows };

static char *read_text(const char *path) {
    FILE *f = fopen(path, "rb");
    if (!f)
        return NULL;
    fseek(f, 0, SEEK_END);
    long size = ftell(f);
    rewind(f);
    char *text = calloc(1, (size_t)size + 1);
    size_t got = fread(text, 1, (size_t)size, f);
    fclose(f);
    assert_int_equal(got, (size_t)size);
    return text;
}

/* As a whole word when `needle` is one. */
static bool holds(const char *text, const char *needle) {
    size_t length = strlen(needle);
    for (const char *p = text; (p = strstr(p, needle)); p++) {
        bool word = isalnum((unsigned char)needle[0]) && isalnum((unsigned char)needle[length - 1]);
        bool before = p > text && (isalnum((unsigned char)p[-1]) || p[-1] == '_');
        bool after = isalnum((unsigned char)p[length]) || p[length] == '_';
        if (!word || (!before && !after))
            return true;
    }
    return false;
}

static bool begins(const char *text, const char *with) {
    return !strncmp(text, with, strlen(with));
}

static const char *text_of(const row *r) {
    return r->is_stmt ? kernel_stmt_names[r->which] : kernel_op_table[r->which].name;
}

static void every_op_has_one_row(void **state) {
    (void)state;
    int op_rows[KERNEL_OP_COUNT] = {0}, stmt_rows[KSTMT_COUNT] = {0};
    for (int i = 0; i < ROWS; i++)
        (rows[i].is_stmt ? stmt_rows : op_rows)[rows[i].which]++;
    for (int i = 0; i < KERNEL_OP_COUNT; i++)
        if (op_rows[i] != 1)
            fail_msg("op %s has %d rows in coverage.def", kernel_op_table[i].name, op_rows[i]);
    for (int i = 0; i < KSTMT_COUNT; i++)
        if (stmt_rows[i] != 1)
            fail_msg("statement %s has %d rows in coverage.def", kernel_stmt_names[i], stmt_rows[i]);
}

/* The producer names KERNEL_X or KSTMT_X, or calls its builder kernel_x. */
static void producers_make_them(void **state) {
    (void)state;
    for (int i = 0; i < ROWS; i++) {
        const row *r = &rows[i];
        if (begins(r->producer, "text only: "))
            continue;
        char *text = read_text(r->producer), symbol[64], builder[64];
        if (!text)
            fail_msg("%s: the producer %s does not exist", r->symbol, r->producer);
        snprintf(symbol, sizeof symbol, "%s_%s", r->is_stmt ? "KSTMT" : "KERNEL", r->symbol);
        snprintf(builder, sizeof builder, "kernel_%s", r->symbol);
        for (char *p = builder; *p; p++)
            *p = (char)tolower((unsigned char)*p);
        if (!holds(text, symbol) && !holds(text, builder))
            fail_msg("%s does not make %s", r->producer, symbol);
        free(text);
    }
}

static void texts_show_them(void **state) {
    (void)state;
    for (int i = 0; i < ROWS; i++) {
        const row *r = &rows[i];
        char path[256];
        snprintf(path, sizeof path, "test/kernel-ir/%s", r->text);
        char *text = read_text(path);
        if (!text)
            fail_msg("%s: the text %s does not exist", r->symbol, path);
        arena *a = arena_new();
        diag_list diags;
        diag_init(&diags, a);
        kernel_ir *k = kernel_parse(a, path, text, &diags);
        assert_non_null(k);
        text_buffer printed = {0}; /* comments are no proof */
        kernel_print(&printed, k);
        bool implied = !r->is_stmt && (r->which == KERNEL_CONST || r->which == KERNEL_REF ||
                                       r->which == KERNEL_LOAD); /* have no word of their own */
        if (!implied && !holds(text_get(&printed), text_of(r)))
            fail_msg("%s does not hold `%s`", path, text_of(r));
        text_free(&printed);
        arena_free(a);
        free(text);
    }
}

static void check_test(const row *r, const char *claim) {
    if (begins(claim, "none: "))
        return;
    char path[256];
    const char *colon = strstr(claim, ": "), *needle = colon ? colon + 2 : text_of(r);
    snprintf(path, sizeof path, "%.*s", (int)(colon ? (size_t)(colon - claim) : strlen(claim)), claim);
    char *text = read_text(path);
    if (!text)
        fail_msg("%s: the test %s does not exist", r->symbol, path);
    bool implied = !colon && !r->is_stmt && r->which == KERNEL_LOAD;
    if (!implied && !holds(text, needle))
        fail_msg("%s: %s does not hold `%s`", r->symbol, path, needle);
    free(text);
}

static void tests_exist(void **state) {
    (void)state;
    for (int i = 0; i < ROWS; i++) {
        check_test(&rows[i], rows[i].proved_by);
        check_test(&rows[i], rows[i].run_by);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_op_has_one_row),
        cmocka_unit_test(producers_make_them),
        cmocka_unit_test(texts_show_them),
        cmocka_unit_test(tests_exist),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
