/* Arms by their words. */
#include "bench/arm.h"
#include "bench/clock.h"
#include "base/suggest.h"
#include <stdlib.h>
#include <string.h>

/* Whether `words` begins with `word`, alone or before a colon; *rest is what stands behind it. */
static bool begins(const char *words, const char *word, const char **rest) {
    size_t n = strlen(word);
    if (strncmp(words, word, n) || (words[n] && words[n] != ':'))
        return false;
    *rest = words[n] ? words + n + 1 : words + n;
    return true;
}

bench_arm *arm_open(bench_work *w, const char *words, bool *unsupported, diag_list *diags) {
    bench_arm *arm = calloc(1, sizeof *arm);
    if (!arm) {
        diag_error(diags, "E0648", (source_span){0}, "no memory for an arm");
        return NULL;
    }
    *unsupported = false;
    *arm = (bench_arm){.name = arena_strdup(w->arena, words),
                       .clock = CLOCK_NAME,
                       .threads = w->threads,
                       .shares_buffers = true,
                       .description = json_object()};
    const char *rest;
    bool good = false;
    const char *device = strncmp(words, "ours@", 5) ? NULL : words + 5;
    if (device) {
        size_t n = strcspn(device, ":");
        good = arm_open_kernel(arm, w, arena_strndup(w->arena, device, n), device[n] ? device + n + 1 : "", diags);
    } else if (begins(words, "ours", &rest))
        good = arm_open_kernel(arm, w, session_device_name(w->session), rest, diags);
    else if (begins(words, "file", &rest))
        good = arm_open_file(arm, w, rest, diags);
    else if (begins(words, "read", &rest) && *rest)
        good = arm_open_read(arm, w, rest, unsupported, diags);
    else if (begins(words, "openblas", &rest) && !*rest)
        good = arm_open_library(arm, w, unsupported, diags);
    else if (begins(words, "python", &rest))
        good = arm_open_python(arm, w, rest, unsupported, diags);
    else {
        diag *g = diag_error(diags, "E1012", (source_span){0}, "no arm `%s`", words);
        const char *const kinds[] = {"ours", "file", "read", "openblas", "python"};
        char word[32];
        snprintf(word, sizeof word, "%.*s", (int)strcspn(words, ":"), words);
        const char *near = suggest_nearest(word, kinds, 5);
        diag_note(diags, g, near ? "did you mean `%s`?" : "%s",
                  near ? near : "ours, file:MANIFEST.json, read:FILE, openblas, or python:FILE.py");
    }
    if (good)
        return arm;
    arm_close(arm);
    return NULL;
}

void arm_close(bench_arm *arm) {
    if (!arm)
        return;
    if (arm->kind)
        arm->kind->close(arm);
    json_decref(arm->description);
    free(arm);
}
