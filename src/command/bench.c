/* tilec bench: the measuring lab's command line. */
#define _XOPEN_SOURCE 700
#include "command/bench_options.h"
#include "base/file.h"
#include "bench/machine.h"
#include "bench/report.h"
#include "bench/store.h"
#include "bench/text.h"
#include "command/foreign_bench.h"
#include "command/library.h"
#include <errno.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

typedef struct other_module {
    const char *path;
    const tile_module *module;
} other_module;

typedef struct bench {
    report *report;
    const command_line *line;
    kernel_library library;
    const tile_module *file; /* --file */
    VEC(other_module) others;
    bool progress;   /* stderr is a terminal */
    int cell, cells; /* for the progress line */
    const char *doing;
} bench;

/* A file that a cell of a suite names, or a row; read once. NULL with a diagnostic. */
static const tile_module *other_file(bench *b, const char *path, diag_list *diags) {
    for (int i = 0; i < b->others.count; i++)
        if (!strcmp(b->others.at[i].path, path))
            return b->others.at[i].module;
    other_module o = {arena_strdup(b->report->arena, path), compile_load(b->report->arena, path, NULL, diags)};
    if (o.module)
        VEC_PUSH(b->report->arena, b->others, o);
    return o.module;
}

static const tile_module *find_kernel(void *context, const char *file, const char *kernel, diag_list *diags) {
    bench *b = context;
    if (!file && !b->file)
        return library_find(&b->library, kernel, diags);
    const tile_module *m = file ? other_file(b, file, diags) : b->file;
    if (!m || tile_find_kernel(m, kernel) || tile_find_program(m, kernel))
        return m;
    diag_error(diags, "E0646", (source_span){.file = file ? file : option_value(b->line, "--file")}, "no kernel `%s`", kernel);
    return NULL;
}

static void show_progress(void *context, const char *what, int done, int of) {
    bench *b = context;
    enum { WIDTH = 24 };
    if (!b->progress)
        return;
    int filled = of > 0 ? WIDTH * done / of : 0;
    fprintf(stderr, "\r\033[K%d/%d %s  %s [%.*s%*s] %d/%d", b->cell, b->cells, b->doing, what, filled, "########################",
            WIDTH - filled, "", done, of);
    fflush(stderr);
}

/* ---- reports: no device is touched ---- */

static void add_hashes(json_t *hashes, const tile_module *m) {
    char digits[33];
    for (int k = 0; k < m->kernels.count; k++)
        if (work_kernel_hash(m, m->kernels.at[k]->name, digits))
            json_object_set_new(hashes, m->kernels.at[k]->name, json_string(digits));
    for (int p = 0; p < m->programs.count; p++)
        if (work_kernel_hash(m, m->programs.at[p]->name, digits))
            json_object_set_new(hashes, m->programs.at[p]->name, json_string(digits));
}

/* What each kernel means now, so that rows of an older meaning show. Files that rows name and that are gone leave their rows stale. */
static json_t *kernel_hashes(bench *b, const json_t *rows) {
    json_t *hashes = json_object(), *files = json_object(), *row;
    const char *file;
    size_t r;
    json_array_foreach((json_t *)rows, r, row) if (*row_text(row, "file"))
        json_object_set_new(files, row_text(row, "file"), json_true());
    json_object_foreach(files, file, row) {
        diag_list ignored;
        diag_init(&ignored, b->report->arena);
        const tile_module *m = other_file(b, file, &ignored);
        if (m)
            add_hashes(hashes, m);
    }
    json_decref(files);
    for (int i = 0; i < b->library.modules.count; i++)
        add_hashes(hashes, b->library.modules.at[i]);
    return hashes;
}

static view *open_view(bench *b, const char *folder, bool may_be_empty) {
    diag_list *diags = &b->report->diags;
    json_t *rows = store_read(folder, diags), *hashes = rows ? kernel_hashes(b, rows) : NULL;
    view *v = rows ? view_new(rows, hashes) : NULL;
    json_decref(rows);
    json_decref(hashes);
    if (v && !v->entries.count && !may_be_empty) {
        diag *g = diag_error(diags, "E1005", (source_span){0}, "%s has no measured rows", folder);
        diag_note(diags, g, "`tilec bench --help` shows how to measure, `make measure` measures the standing suite");
        view_free(v);
        v = NULL;
    }
    return v;
}

static bool write_out(bench *b, const text_buffer *text) {
    const char *path = option_value(b->line, "-o");
    if (path)
        return file_write(path, text_get(text), text->length, &b->report->diags);
    fwrite(text_get(text), 1, text->length, stdout);
    return true;
}

static bool print_report(bench *b, const char *folder, const char *form) {
    static const char *const forms[] = {"text", "markdown", "html", "csv"};
    int which = 0;
    while (which < 4 && strcmp(forms[which], form))
        which++;
    if (which == 4) {
        diag_error(&b->report->diags, "E1006", (source_span){0}, "--report %s: text, markdown, html or csv", form);
        return false;
    }
    view *v = open_view(b, folder, false);
    if (!v)
        return false;
    text_buffer text = {0};
    if (which == 0)
        report_text(&text, v);
    else if (which == 1)
        report_markdown(&text, v, "Measurements");
    else if (which == 2)
        report_html(&text, v);
    else
        store_csv(v->rows, &text);
    bool good = write_out(b, &text);
    text_free(&text);
    view_free(v);
    return good;
}

static bool reproduce(bench *b, const char *folder) {
    view *v = open_view(b, folder, false);
    int changed = 0;
    bool good = v && report_reproduce(v, ".", &changed, &b->report->diags);
    if (good && !b->report->json)
        printf("README.md and bench/ rebuilt from %d rows: %d file%s changed\n", (int)json_array_size(v->rows), changed,
               changed == 1 ? "" : "s");
    if (good && v->stale && !b->report->json)
        printf("%d rows are stale: their kernels have another meaning by now; `make measure` takes new ones\n", v->stale);
    view_free(v);
    return good;
}

static bool verify(bench *b, const char *folder, const char *facts) {
    view *v = open_view(b, folder, true);
    text_buffer text = {0};
    bool good = v && report_verify(v, facts, &text, &b->report->diags);
    if (!b->report->json)
        fputs(text_get(&text), stdout);
    text_free(&text);
    view_free(v);
    return good;
}

static bool merge(bench *b, const char *folder) {
    int added, known;
    if (!b->line->positional_count) {
        diag_error(&b->report->diags, "E0860", (source_span){0}, "--merge: which stores?");
        return false;
    }
    bool good = store_merge(folder, b->line->positional, b->line->positional_count, &added, &known, &b->report->diags);
    if (good && !b->report->json)
        printf("%d rows added to %s, %d were there already\n", added, folder, known);
    return good;
}

/* ---- measuring ---- */

/* One more process with the same command line: what differs from launch to launch (where things lie, which core) differs here too. */
static bool launch_again(bench *b, const char *run, int launch) {
    const command_line *line = b->line;
    char number[16];
    const char **words = NEW_ARRAY(b->report->arena, const char *, 2 * line->option_count + line->positional_count + 10);
    int n = 0;
    words[n++] = "tilec";
    words[n++] = "bench";
    for (int i = 0; i < line->option_count; i++) {
        const char *name = line->options[i].row->name;
        if (!strcmp(name, "--launches") || !strcmp(name, "--run") || !strcmp(name, "--launch") || !strcmp(name, "--json"))
            continue;
        words[n++] = name;
        if (line->options[i].row->value)
            words[n++] = line->options[i].value;
    }
    snprintf(number, sizeof number, "%d", launch);
    words[n++] = "--run";
    words[n++] = run;
    words[n++] = "--launch";
    words[n++] = number;
    words[n++] = "--";
    for (int i = 0; i < line->positional_count; i++)
        words[n++] = line->positional[i];
    words[n] = NULL;
    fflush(stdout);
    pid_t child;
    int status = 1;
    if (posix_spawn(&child, "/proc/self/exe", NULL, NULL, (char *const *)words, environ))
        return false;
    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR)
            return false;
    return status == 0;
}

static void print_cell(bench *b, const json_t *rows) {
    text_buffer text = {0};
    size_t i;
    json_t *row;
    if (b->progress)
        fprintf(stderr, "\r\033[K");
    if (json_array_size(rows))
        bench_text_cell(&text, json_array_get(rows, 0));
    json_array_foreach((json_t *)rows, i, row) bench_text_row(&text, row);
    bench_text_tournament(&text, rows);
    fputs(text_get(&text), stdout);
    fflush(stdout);
    text_free(&text);
}

static void print_machine(bench *b, const json_t *machine, const char *hash, const char *folder, const char *run) {
    if (b->report->json)
        return;
    printf("%s, %d processors, %s; environment %s, run %s\n", row_text(machine, "processor"),
           (int)row_number(machine, "processors"), row_text(machine, "compiler"), hash, run);
    if (folder)
        printf("rows go to %s/%s.jsonl\n", folder, hash);
    printf("a ratio is an arm's time over the first arm's: above 1, the first is the faster one\n");
}

static bool measure(bench *b, const bench_options *o) {
    report *r = b->report;
    lab *l = lab_open(&o->lab, &r->diags);
    if (!l)
        return false;
    json_t *machine = machine_environment(), *all = json_array();
    bool held = true, stopped = false;
    print_machine(b, machine, lab_environment(l), o->lab.folder, lab_run(l));
    b->cells = o->suite.cells.count;
    for (int i = 0; i < o->suite.cells.count && !stopped; i++) {
        const lab_cell *cell = &o->suite.cells.at[i];
        json_t *rows = json_array();
        b->cell = i + 1;
        b->doing = cell->kernel;
        held = lab_measure(l, cell, rows, &r->diags) && held;
        if (r->json)
            json_array_extend(all, rows);
        else
            print_cell(b, rows);
        report_flush(r);
        json_decref(rows);
        for (int d = 0; d < r->diags.items.count; d++) /* a store that takes no more rows will not take the next either */
            stopped = stopped || !strcmp(r->diags.items.at[d]->code, "E1002") || !strcmp(r->diags.items.at[d]->code, "E1001");
    }
    const char *run = arena_strdup(r->arena, lab_run(l));
    lab_close(l);
    json_decref(machine);
    for (int launch = 2; launch <= o->launches && held; launch++)
        held = launch_again(b, run, launch);
    if (o->launches > 1 && o->lab.folder && !r->json)
        printf("\n%d launches of run %s: `tilec bench --report text` joins them\n", o->launches, run);
    if (r->json) {
        json_object_set_new(r->json, "run", json_string(run));
        json_object_set(r->json, "rows", all);
    }
    json_decref(all);
    return held;
}

int command_bench(const command_line *line) {
    report r;
    report_begin(&r, line);
    bench b = {.report = &r, .line = line, .progress = !r.json && isatty(STDERR_FILENO)};
    bench_options o = {0};
    bool held = false,
         only_reports = option_given(line, "--report") || option_given(line, "--reproduce") || option_given(line, "--verify");
    const char *store = option_value(line, "--store"), *folder = store ? store : "bench/results";
    if (option_given(line, "--merge")) {
        held = merge(&b, folder);
    } else if (only_reports) {
        held = library_load(&r, &b.library);
        held = held && (!option_given(line, "--report") || print_report(&b, folder, option_value(line, "--report")));
        held = held && (!option_given(line, "--reproduce") || reproduce(&b, folder));
        held = held && (!option_given(line, "--verify") || verify(&b, folder, option_value(line, "--verify")));
    } else if (bench_read_options(line, r.arena, &o, &r.diags)) {
        const char *file = option_value(line, "--file");
        b.file = file ? compile_load(r.arena, file, NULL, &r.diags) : NULL;
        held = file ? b.file != NULL : library_load(&r, &b.library);
        o.lab.find = find_kernel;
        o.lab.reader = &foreign_reader;
        o.lab.progress = show_progress;
        o.lab.context = o.lab.find_context = &b;
        held = held && measure(&b, &o);
    }
    return report_end(&r, held);
}
