/* Rebuilding what is committed from committed rows. */
#include "base/file.h"
#include "bench/report.h"
#include <string.h>

static const char begin_mark[] = "<!-- bench:begin -->\n", end_mark[] = "<!-- bench:end -->";

/* Writes a file unless it has these bytes already. */
static bool settle_file(const char *path, const text_buffer *text, int *changed, diag_list *diags) {
    diag_list ignored;
    size_t length;
    enum { LIMIT = 64 << 20 };
    diag_init(&ignored, diags->arena);
    const char *now = file_exists(path) ? file_read(diags->arena, path, LIMIT, &length, &ignored) : NULL;
    if (now && length == text->length && !memcmp(now, text_get(text), length))
        return true;
    ++*changed;
    return file_write(path, text_get(text), text->length, diags);
}

static bool settle_readme(const view *v, const char *path, int *changed, diag_list *diags) {
    size_t length;
    const char *text = file_read(diags->arena, path, FILE_SOURCE_LIMIT, &length, diags);
    if (!text)
        return false;
    const char *begin = strstr(text, begin_mark), *end = begin ? strstr(begin, end_mark) : NULL;
    if (!end) {
        diag_error(diags, "E1007", (source_span){.file = path},
                   "there is no <!-- bench:begin --> line with a <!-- bench:end --> behind it");
        return false;
    }
    text_buffer out = {0};
    begin += strlen(begin_mark);
    text_add_bytes(&out, text, (size_t)(begin - text));
    text_add(&out, "![Geometric mean of each arm's time over ours](bench/figures/means.svg)\n\n");
    report_means(&out, v);
    text_add(&out, "\n");
    report_summary(&out, v);
    text_add(&out, "\n");
    report_machine(&out, v);
    if (v->loaded)
        text_add(&out, "%d of %d rows were taken while others used the machine (*loaded*).\n", v->loaded, v->entries.count);
    if (v->stale)
        text_add(&out, "%d rows are **stale**: their kernels have another meaning by now.\n", v->stale);
    text_add_bytes(&out, end, strlen(end));
    bool good = settle_file(path, &out, changed, diags);
    text_free(&out);
    return good;
}

static bool settle_figure(const view *v, const char *path, int *changed, diag_list *diags) {
    text_buffer figure = {0};
    plot_means(&figure, v, true);
    bool good = !figure.length || settle_file(path, &figure, changed, diags);
    text_free(&figure);
    return good;
}

bool report_reproduce(const view *v, const char *root, int *changed, diag_list *diags) {
    arena *a = diags->arena;
    text_buffer page = {0};
    *changed = 0;
    report_html(&page, v);
    bool good = file_make_folders(arena_printf(a, "%s/bench/figures", root), diags) &&
                settle_file(arena_printf(a, "%s/bench/report.html", root), &page, changed, diags) &&
                settle_figure(v, arena_printf(a, "%s/bench/figures/means.svg", root), changed, diags) &&
                settle_readme(v, arena_printf(a, "%s/README.md", root), changed, diags);
    text_free(&page);
    return good;
}
