/* Arms of `tilec bench` that are kernels in other languages. */
#include "command/foreign_bench.h"
#include "command/foreign_plan.h"
#include <string.h>

/* A report whose diagnostics go on in the lab's list, and back. */
static report report_in(diag_list *diags) {
    return (report){.arena = diags->arena, .diags = *diags};
}

/* Whether the first error from `first` on is that there is no clang, or no plugin. */
static bool nothing_to_read_with(const diag_list *diags, int first) {
    for (int i = first; i < diags->items.count; i++)
        if (diags->items.at[i]->severity == SEVERITY_ERROR)
            return !strcmp(diags->items.at[i]->code, "E1100") || !strcmp(diags->items.at[i]->code, "E1120");
    return false;
}

static const kernel_ir *read_kernel(void *context, const char *path, const char *kernel, bool *unsupported, diag_list *diags) {
    (void)context;
    static const option_row named = {"--kernel", "NAME", NULL};
    struct given_option option = {&named, kernel};
    command_line line = {.options = &option, .option_count = kernel ? 1 : 0};
    report r = report_in(diags);
    int first = diags->items.count;
    foreign_list kernels = {0};
    bool good = foreign_named(path);
    if (!good)
        diag_error(&r.diags, "E1106", (source_span){.file = path}, "read: .metal, .cu, .cl or .ll");
    good = good && foreign_read(&r, &line, path, &kernels);
    if (good && kernels.count != 1) {
        diag_error(&r.diags, "E0646", (source_span){.file = path}, "the file has %d kernels: read:FILE:KERNEL says which",
                   kernels.count);
        good = false;
    }
    good = good && foreign_has_bodies(&r, &kernels.at[0]);
    *diags = r.diags;
    *unsupported = !good && nothing_to_read_with(diags, first);
    return good ? kernels.at[0].kernel : NULL;
}

static const proved_plan *prove(void *context, const kernel_ir *k, const int64_t *integers, const target *t, diag_list *diags) {
    (void)context;
    report r = report_in(diags);
    proof verdicts = {0};
    legal_routes routes = {0};
    const proved_plan *p = foreign_prove_for(&r, k, integers, t, &verdicts, &routes);
    *diags = r.diags;
    return p;
}

const arm_reader foreign_reader = {NULL, read_kernel, prove};
