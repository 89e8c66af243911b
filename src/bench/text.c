/* Rows as lines. */
#include "bench/text.h"
#include "bench/view.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

void bench_text_time(text_buffer *out, double ns) {
    static const char *const units[] = {"ns", "us", "ms", "s"};
    int unit = 0;
    while (unit < 3 && ns >= 999.5) {
        ns /= 1000;
        unit++;
    }
    text_add(out, "%.*f %s", ns < 9.995 ? 2 : ns < 99.95 ? 1 : 0, ns, units[unit]);
}

void bench_text_cell(text_buffer *out, const json_t *row) {
    const char *arguments = row_text(row, "arguments");
    int threads = (int)row_number(row, "threads");
    text_add(out, "\n%s  %s%s%s  %d thread%s, %s\n", row_text(row, "kernel"), row_text(row, "shape"), *arguments ? ", " : "",
             arguments, threads, threads == 1 ? "" : "s", row_text(row, "mode"));
    text_add(out, "  %-30s %10s %10s  %-17s %s\n", "arm", "time", "one more", "of a ceiling", "against the first");
}

static void pad(text_buffer *out, size_t from, size_t width) {
    while (out->length - from < width)
        text_add(out, " ");
}

/* The last part of a path-like name, when the whole is too long. */
static const char *short_name(const char *arm) {
    size_t n = strlen(arm);
    const char *slash = n > 30 ? strrchr(arm, '/') : NULL;
    return slash ? slash + 1 : arm;
}

void bench_text_row(text_buffer *out, const json_t *row) {
    const char *lever = row_text(row, "lever"), *status = row_text(row, "status");
    const json_t *ratio = json_object_get(row, "ratio"), *ceiling = json_object_get(row, "ceiling"),
                 *control = json_object_get(row, "control");
    size_t start = out->length;
    text_add(out, "  ");
    if (*row_text(row, "beside"))
        text_add(out, "%s: ", row_text(row, "kernel"));
    text_add(out, "%s", *lever ? lever : short_name(row_text(row, "arm")));
    pad(out, start, 33);
    if (strcmp(status, "pass")) {
        text_add(out, "%s: %s\n", status, row_text(row, "reason"));
        return;
    }
    text_buffer time = {0}, marginal = {0};
    bench_text_time(&time, row_number(row, "t_median_ns"));
    const json_t *m = json_object_get(row, "marginal");
    if (json_is_object(m))
        bench_text_time(&marginal, row_number(m, "ns"));
    text_add(out, "%10s %10s ", text_get(&time), marginal.length ? text_get(&marginal) : "-");
    text_free(&time);
    text_free(&marginal);
    start = out->length;
    if (*row_text(ceiling, "binds"))
        text_add(out, "%6.0f%% of %s", row_number(ceiling, "percent"), row_text(ceiling, "binds"));
    pad(out, start, 18);
    if (json_is_object(ratio)) {
        double low = row_number(ratio, "low"), high = row_number(ratio, "high");
        const char *verdict = row_text(row, "verdict");
        if (!strcmp(verdict, "inconclusive")) /* then the answer is no number */
            text_add(out, "INCONCLUSIVE [%.3f, %.3f], spread %.1f%%, smallest claim %.1f%%", low, high,
                     100 * row_number(ratio, "spread"), 100 * row_number(control, "smallest_claim"));
        else
            text_add(out, "%.3fx [%.3f, %.3f] %s is %s", row_number(ratio, "median"), low, high, row_text(ratio, "first"),
                     verdict);
        const json_t *threshold = json_object_get(row, "threshold");
        if (json_is_object(threshold))
            text_add(out, "; threshold %.2fx %s", row_number(threshold, "ratio"), row_text(threshold, "verdict"));
    } else {
        text_add(out, "A/A %.3fx [%.3f, %.3f]: claims from %.1f%%", row_number(control, "median"), row_number(control, "low"),
                 row_number(control, "high"), 100 * row_number(control, "smallest_claim"));
    }
    const char *state = row_text(json_object_get(row, "state"), "state");
    if (json_is_true(json_object_get(ceiling, "launch_bound")))
        text_add(out, "  (launch-bound)");
    if (!strcmp(state, "loaded"))
        text_add(out, "  (machine loaded)");
    if (*row_text(row, "chosen"))
        text_add(out, "  (%s)", row_text(row, "chosen"));
    if (strcmp(row_text(row, "buffers"), "the same"))
        text_add(out, "  (%s)", row_text(row, "buffers"));
    text_add(out, "\n");
    const json_t *warnings = json_object_get(row, "warnings");
    for (size_t i = 0; i < json_array_size(warnings); i++)
        text_add(out, "    warning: %s\n", json_string_value(json_array_get(warnings, i)));
}
