/* The store: rows appended whole or not at all, whoever else writes, whoever is killed, however full the disk. */
#define _GNU_SOURCE
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "base/file.h"
#include "bench/report.h"
#include "bench/store.h"
#include "bench/view.h"
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

typedef struct place {
    arena *arena;
    diag_list diags;
    char folder[64];
} place;

static int open_place(void **state) {
    place *p = calloc(1, sizeof *p);
    p->arena = arena_new();
    diag_init(&p->diags, p->arena);
    snprintf(p->folder, sizeof p->folder, "/tmp/tilec-store-XXXXXX");
    *state = p;
    return mkdtemp(p->folder) ? 0 : 1;
}

static int close_place(void **state) {
    place *p = *state;
    char command[128];
    snprintf(command, sizeof command, "rm -rf '%s'", p->folder);
    int status = system(command);
    arena_free(p->arena);
    free(p);
    return status;
}

static json_t *new_row(int writer, int number, int padding) {
    char *filler = malloc((size_t)padding + 1);
    memset(filler, 'x', (size_t)padding);
    filler[padding] = 0;
    json_t *row = json_pack("{s:s, s:s, s:i, s:i, s:s}", "kind", "arm", "environment", "e", "writer", writer, "number", number,
                            "filler", filler);
    free(filler);
    return row;
}

static bool append(place *p, int writer, int number, int padding) {
    json_t *row = new_row(writer, number, padding);
    bool good = store_append(p->folder, "e", row, &p->diags);
    json_decref(row);
    return good;
}

static const char *path_of(place *p) {
    return arena_printf(p->arena, "%s/e.jsonl", p->folder);
}

static bool has_code(const place *p, const char *code) {
    for (int i = 0; i < p->diags.items.count; i++)
        if (!strcmp(p->diags.items.at[i]->code, code))
            return true;
    return false;
}

static void rows_come_back(void **state) {
    place *p = *state;
    for (int i = 0; i < 5; i++)
        assert_true(append(p, 1, i, 10));
    json_t *rows = store_read(p->folder, &p->diags);
    assert_int_equal(json_array_size(rows), 5);
    for (int i = 0; i < 5; i++)
        assert_int_equal(json_integer_value(json_object_get(json_array_get(rows, (size_t)i), "number")), i);
    assert_int_equal(p->diags.items.count, 0);
    json_decref(rows);
    rows = store_read(arena_printf(p->arena, "%s/none", p->folder), &p->diags); /* a store not made yet has no rows */
    assert_int_equal(json_array_size(rows), 0);
    json_decref(rows);
}

static void an_unfinished_line_is_left_out(void **state) {
    place *p = *state;
    assert_true(append(p, 1, 0, 10));
    FILE *f = fopen(path_of(p), "a");
    fputs("{\"kind\":\"arm\",\"numb", f); /* as a writer without the store's care would leave it */
    fclose(f);
    assert_true(append(p, 1, 1, 10)); /* ends that line, and is whole itself */
    json_t *rows = store_read(p->folder, &p->diags);
    assert_int_equal(json_array_size(rows), 2);
    assert_true(has_code(p, "E1003"));
    json_decref(rows);
}

/* A writer killed at any moment: its rows are the first ones in their order, each whole. (The system may stop in the middle of
 * the one write; such a line is left out.) */
static void killed_writers_leave_whole_rows(void **state) {
    place *p = *state;
    enum { KILLS = 25 };
    srand(11);
    for (int k = 0; k < KILLS; k++) {
        pid_t child = fork();
        if (child == 0) {
            for (int i = 0; i < 100000; i++)
                append(p, k, i, 200 + (i * 37) % 3000);
            _exit(0);
        }
        assert_true(child > 0);
        usleep((useconds_t)(rand() % 12000));
        kill(child, SIGKILL);
        waitpid(child, NULL, 0);
    }
    json_t *rows = store_read(p->folder, &p->diags), *row;
    int next[KILLS] = {0};
    size_t i;
    json_array_foreach(rows, i, row) {
        int writer = (int)json_integer_value(json_object_get(row, "writer"));
        assert_int_equal(json_integer_value(json_object_get(row, "number")), next[writer]);
        next[writer]++;
    }
    assert_true(append(p, 99, 0, 10)); /* a killed writer holds no lock */
    json_decref(rows);
}

static void writers_at_once_lose_nothing(void **state) {
    place *p = *state;
    enum { WRITERS = 4, EACH = 60 };
    pid_t children[WRITERS];
    for (int w = 0; w < WRITERS; w++)
        if ((children[w] = fork()) == 0) {
            bool good = true;
            for (int i = 0; i < EACH; i++)
                good = append(p, w, i, 5000 + w * 1000) && good;
            _exit(good ? 0 : 1);
        }
    for (int w = 0; w < WRITERS; w++) {
        int status;
        waitpid(children[w], &status, 0);
        assert_int_equal(status, 0);
    }
    json_t *rows = store_read(p->folder, &p->diags);
    assert_int_equal(json_array_size(rows), WRITERS * EACH);
    assert_int_equal(p->diags.items.count, 0);
    json_decref(rows);
}

static void a_full_device_is_said(void **state) {
    place *p = *state;
    if (access("/dev/full", W_OK))
        skip();
    assert_int_equal(symlink("/dev/full", path_of(p)), 0);
    assert_false(append(p, 1, 0, 10));
    assert_true(has_code(p, "E1002"));
}

/* A file that may not grow takes part of a row: the part is taken back. */
static void half_a_row_is_taken_back(void **state) {
    place *p = *state;
    assert_true(append(p, 1, 0, 1000));
    pid_t child = fork();
    if (child == 0) {
        struct rlimit limit = {1500, 1500};
        signal(SIGXFSZ, SIG_IGN);
        setrlimit(RLIMIT_FSIZE, &limit);
        bool refused = !append(p, 1, 1, 3000) && has_code(p, "E1002");
        _exit(refused ? 0 : 1);
    }
    int status;
    waitpid(child, &status, 0);
    assert_int_equal(status, 0);
    json_t *rows = store_read(p->folder, &p->diags);
    assert_int_equal(json_array_size(rows), 1);
    assert_false(has_code(p, "E1003"));
    json_decref(rows);
    assert_true(append(p, 1, 2, 10));
}

static void merging_adds_what_is_new(void **state) {
    place *p = *state;
    const char *a = arena_printf(p->arena, "%s/a", p->folder), *b = arena_printf(p->arena, "%s/b", p->folder);
    for (int i = 0; i < 6; i++) {
        json_t *row = new_row(7, i, 5);
        assert_true(store_append(i % 2 ? a : b, "e", row, &p->diags));
        json_decref(row);
    }
    const char *from[] = {a, b};
    int added, known;
    assert_true(store_merge(p->folder, from, 2, &added, &known, &p->diags));
    assert_int_equal(added, 6);
    assert_int_equal(known, 0);
    assert_true(store_merge(p->folder, from, 2, &added, &known, &p->diags)); /* again: nothing new */
    assert_int_equal(added, 0);
    assert_int_equal(known, 6);
    json_t *rows = store_read(p->folder, &p->diags);
    assert_int_equal(json_array_size(rows), 6);
    json_decref(rows);
    const char *lost[] = {arena_printf(p->arena, "%s/lost", p->folder)};
    assert_false(store_merge(p->folder, lost, 1, &added, &known, &p->diags));
    assert_true(has_code(p, "E1004"));
}

static void columns_of_the_view(void **state) {
    (void)state;
    json_t *rows = json_loads("[{\"a\":1,\"b\":{\"c\":\"x,\\\"y\\\"\",\"d\":2.5}},{\"a\":null,\"e\":true}]", 0, NULL);
    text_buffer text = {0};
    store_csv(rows, &text);
    assert_string_equal(text_get(&text), "a,b.c,b.d,e\n1,\"x,\"\"y\"\"\",2.5,\n,,,true\n");
    text_free(&text);
    json_decref(rows);
}

/* ---- views ---- */

static void add(json_t *rows, const char *utc, const char *run, const char *hash, double ratio) {
    json_array_append_new(
        rows, json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:i, s:s, s:f, s:s, s:{s:f, s:f, s:f, s:s}}", "kind",
                        "arm", "utc", utc, "run", run, "kernel", "k", "shape", "N = 1", "arm", "openblas", "mode", "warm",
                        "environment", "e", "kernel_hash", hash, "threads", 1, "status", "pass", "t_median_ns", 10.0, "verdict",
                        "faster", "ratio", "median", ratio, "low", ratio - 0.1, "high", ratio + 0.1, "first", "ours"));
}

static void the_newest_row_counts(void **state) {
    (void)state;
    json_t *rows = json_array(), *hashes = json_pack("{s:s}", "k", "now");
    add(rows, "2026-01-02T00:00:00Z", "b", "now", 2);
    add(rows, "2026-01-01T00:00:00Z", "a", "then", 3); /* merged later, taken earlier */
    view *v = view_new(rows, hashes);
    assert_int_equal(v->entries.count, 1);
    assert_true(v->entries.at[0].ratio == 2);
    assert_false(v->entries.at[0].stale);
    view_free(v);
    json_object_set_new(hashes, "k", json_string("changed"));
    v = view_new(rows, hashes);
    assert_true(v->entries.at[0].stale); /* the kernel means something else by now */
    assert_int_equal(v->stale, 1);
    view_free(v);
    json_decref(rows);
    json_decref(hashes);
}

static void launches_of_a_run_are_joined(void **state) {
    (void)state;
    json_t *rows = json_array();
    add(rows, "2026-01-02T00:00:00Z", "b", "h", 1.3);
    add(rows, "2026-01-02T00:00:01Z", "b", "h", 1.2);
    add(rows, "2026-01-02T00:00:02Z", "b", "h", 0.95); /* one launch says the contrary */
    view *v = view_new(rows, NULL);
    const view_entry *e = &v->entries.at[0];
    assert_int_equal(v->entries.count, 1);
    assert_int_equal(e->launches, 3);
    assert_true(e->ratio == 1.2 && e->low < 0.86 && e->high > 1.39);
    assert_string_equal(e->verdict, "inconclusive");
    view_free(v);
    json_decref(rows);
}

static void add_arm(json_t *rows, const char *arm, const char *status, const char *first, double ns) {
    json_t *row = json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:i, s:s}", "kind", "arm", "utc", "u", "run", "r",
                            "kernel", "k", "shape", "N = 1", "arm", arm, "mode", "warm", "environment", "e", "kernel_hash", "h",
                            "threads", 1, "status", status);
    if (ns > 0)
        json_object_set_new(row, "t_median_ns", json_real(ns));
    if (first)
        json_object_update_new(row, json_pack("{s:s, s:{s:f, s:f, s:f, s:s}}", "verdict", "faster", "ratio", "median", 2.0, "low",
                                              1.9, "high", 2.1, "first", first));
    json_array_append_new(rows, row);
}

/* One piece of work on the host and on a device of the same machine: two tables, and an arm that was not timed stands in its cell's. */
static void devices_have_tables_of_their_own(void **state) {
    (void)state;
    json_t *rows = json_array();
    json_array_append_new(rows, json_pack("{s:s, s:s, s:{s:s, s:[s,s]}}", "kind", "run", "environment", "e", "machine",
                                          "processor", "P", "gpus", "G0, driver 1", "G1, driver 1"));
    add_arm(rows, "ours", "pass", NULL, 1e3);
    add_arm(rows, "openblas", "pass", "ours", 2e3);
    add_arm(rows, "ours@cuda:1", "pass", NULL, 7e3);
    static const char *const others[] = {"file:mine.json", "file:b.json", "file:c.json",
                                         "file:d.json",    "file:e.json", "file:f.json"};
    for (int i = 0; i < 6; i++)
        add_arm(rows, others[i], "pass", "ours@cuda:1", 14e3 + i);
    view *v = view_new(rows, NULL);
    assert_string_equal(v->entries.at[1].device, "");
    assert_string_equal(v->entries.at[3].device, "cuda:1");
    text_buffer text = {0};
    report_summary(&text, v);
    const char *host = strstr(text_get(&text), "On P:"), *device = strstr(text_get(&text), "On G1 (--device cuda:1)");
    assert_non_null(host);
    assert_non_null(device);
    assert_true(host < device);
    assert_non_null(strstr(host, "| 1.00&nbsp;us |"));
    assert_true(strstr(host, "| 7.00&nbsp;us |") > device);
    text_free(&text);
    /* Each has its own colours: the device's arms take none of the host's. */
    assert_int_equal(v->entries.at[0].rank, 0);
    assert_int_equal(v->entries.at[1].rank, 1);
    assert_int_equal(v->entries.at[2].rank, 0);
    assert_int_equal(v->entries.at[8].rank, 6);
    plot_ratios(&text, v, false);
    device = strstr(text_get(&text), "On G1");
    assert_non_null(device);
    assert_true(strstr(text_get(&text), ">OpenBLAS</text>") < device);
    assert_non_null(strstr(device, ">others</text>"));
    assert_null(strstr(device, ">OpenBLAS</text>"));
    text_free(&text);
    view_free(v);
    json_decref(rows);
    rows = json_array();
    add_arm(rows, "ours@opencl", "pass", NULL, 7e3);
    add_arm(rows, "python:a.py", "fail", NULL, 0);
    v = view_new(rows, NULL);
    assert_string_equal(v->entries.at[1].device, "opencl");
    view_free(v);
    json_decref(rows);
}

/* A line names the fastest of what others wrote, then what is ours in another form, then what was not timed. */
static void the_fastest_other_is_named(void **state) {
    (void)state;
    static const struct {
        const char *arm, *status, *named;
        double ratio;
    } arms[] = {{"python:a.py", "fail", "| python:a.py | fail |", 0},
                {"ours@opencl", "pass", "| python:a.py | fail |", 0.5},
                {"file:slow.json", "pass", "| file:slow.json | **3.00**", 3},
                {"openblas", "pass", "| OpenBLAS | **2.00**", 2},
                {"file:other.json", "pass", "| OpenBLAS | **2.00**", 2.5}};
    json_t *rows = json_array();
    add_arm(rows, "ours", "pass", NULL, 1e3);
    for (size_t i = 0; i < sizeof arms / sizeof *arms; i++) {
        add_arm(rows, arms[i].arm, arms[i].status, "ours", 1e3);
        json_t *ratio = json_object_get(json_array_get(rows, json_array_size(rows) - 1), "ratio");
        json_object_set_new(ratio, "median", json_real(arms[i].ratio));
        view *v = view_new(rows, NULL);
        text_buffer text = {0};
        report_summary(&text, v);
        assert_non_null(strstr(text_get(&text), arms[i].named));
        text_free(&text);
        view_free(v);
    }
    json_decref(rows);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(rows_come_back, open_place, close_place),
        cmocka_unit_test_setup_teardown(an_unfinished_line_is_left_out, open_place, close_place),
        cmocka_unit_test_setup_teardown(killed_writers_leave_whole_rows, open_place, close_place),
        cmocka_unit_test_setup_teardown(writers_at_once_lose_nothing, open_place, close_place),
        cmocka_unit_test_setup_teardown(a_full_device_is_said, open_place, close_place),
        cmocka_unit_test_setup_teardown(half_a_row_is_taken_back, open_place, close_place),
        cmocka_unit_test_setup_teardown(merging_adds_what_is_new, open_place, close_place),
        cmocka_unit_test(columns_of_the_view),
        cmocka_unit_test(the_newest_row_counts),
        cmocka_unit_test(launches_of_a_run_are_joined),
        cmocka_unit_test(devices_have_tables_of_their_own),
        cmocka_unit_test(the_fastest_other_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
