/* Emitted CUDA C++: without arguments, or with those of trial/device.h, every kernel on the first CUDA device, against the oracle.
 *   cuda --compile [--all]   every kernel of kernels/ through NVRTC, for which no device is needed, with the time that takes
 * --all: those of test/accept/ too, and long texts for each architecture. */
#include "run/cuda.h"
#include "target/gpu_plan.h"
#include "compile.h"
#include "trial/device.h"
#include "trial/trial.h"
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { TEXT_LIMIT = 12000 };
static const char *const architectures[] = {"sm_90a", "sm_80", "sm_100"};
enum { ARCHITECTURES = sizeof architectures / sizeof *architectures };

typedef struct suite {
    bool all;
    int passed, failed, compiled;
    double total_ms, fastest_ms;
} suite;

static double now_ms(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

static bool prove(arena *a, const tile_module *m, const tile_kernel *k, compiled_kernel *ck, diag_list *diags) {
    static const int64_t candidates[] = {16, 4, 8, 2, 1};
    tile_binding statics[64];
    for (int attempt = 0; attempt < 5; attempt++) { /* a `where` may refuse some statics */
        int count = 0;
        for (int i = 0; i < k->symbols.count && count < 64; i++)
            if (k->symbols.at[i]->kind == INDEX_STATIC && !k->symbols.at[i]->has_value)
                statics[count++] = (tile_binding){k->symbols.at[i]->name, candidates[attempt]};
        compile_options options = {.target = target_find("cuda"), .statics = statics, .static_count = count};
        diag_init(diags, a);
        memset(ck, 0, sizeof *ck);
        if (compile_kernel(a, m, k, &options, ck, diags) && ck->plan)
            return true;
    }
    return false;
}

static bool try_text(suite *s, const char *name, const char *text, int architecture_count, text_buffer *times, diag_list *diags) {
    for (int i = 0; i < architecture_count; i++) {
        unsigned char *bytes;
        size_t length;
        double start = now_ms();
        if (!cuda_compile(name, text, architectures[i], &bytes, &length, diags))
            return false;
        double took = now_ms() - start;
        text_add(times, "%s%s %.0f ms", times->length ? ", " : "", architectures[i], took);
        s->total_ms += took;
        s->compiled++;
        s->fastest_ms = s->fastest_ms && s->fastest_ms < took ? s->fastest_ms : took;
        free(bytes);
    }
    return true;
}

/* The forms that a runtime compiles at once for every architecture, the others for one; NVRTC takes seconds over long texts. */
static void try_kernel(suite *s, const tile_module *m, const tile_kernel *k) {
    arena *a = arena_new();
    diag_list diags;
    compiled_kernel ck;
    gpu_program program;
    text_buffer times = {0};
    bool good = prove(a, m, k, &ck, &diags) && cuda_program(a, ck.plan, &program, &diags);
    if (!good && strstr(trial_first_error(&diags), "the question took too many steps")) {
        printf("skip nvrtc %s (%s)\n", k->name, trial_first_error(&diags));
    } else {
        for (int f = 0; good && f < GPU_FORMS; f++) {
            const char *text = gpu_module_text(a, &program, f);
            bool any = false, short_enough = strlen(text) <= TEXT_LIMIT;
            for (int i = 0; i < program.variants; i++)
                any = any || gpu_module_entry(&program, f, i);
            if (any && (!f || short_enough || s->all))
                good = try_text(s, k->name, text, !f && (short_enough || s->all) ? ARCHITECTURES : 1, &times, &diags);
        }
        if (good)
            printf("ok nvrtc %s  %s\n", k->name, text_get(&times));
        else
            printf("FAIL nvrtc %s  %s\n", k->name, trial_first_error(&diags));
        s->passed += good;
        s->failed += !good;
    }
    fflush(stdout);
    text_free(&times);
    arena_free(a);
}

static void try_folder(suite *s, const char *pattern) {
    glob_t found = {0};
    if (glob(pattern, 0, NULL, &found) == 0)
        for (size_t i = 0; i < found.gl_pathc; i++) {
            arena *a = arena_new();
            diag_list diags;
            diag_init(&diags, a);
            tile_module *m = compile_load(a, found.gl_pathv[i], NULL, &diags);
            s->failed += !m;
            if (!m)
                printf("FAIL nvrtc %s  %s\n", found.gl_pathv[i], trial_first_error(&diags));
            for (int j = 0; m && j < m->kernels.count; j++)
                try_kernel(s, m, m->kernels.at[j]);
            arena_free(a);
        }
    globfree(&found);
}

int main(int argc, char **argv) {
    suite s = {0};
    bool compiles = false;
    for (int i = 1; i < argc; i++) {
        compiles = compiles || !strcmp(argv[i], "--compile");
        s.all = s.all || !strcmp(argv[i], "--all");
    }
    if (!compiles)
        return trial_device_main("cuda", argc, argv);
    const nvrtc_system *c = nvrtc_open_system();
    if (!c->found) {
        printf("skip nvrtc (%s)\n", c->why);
        return 0;
    }
    try_folder(&s, "kernels/*.tile");
    if (s.all)
        try_folder(&s, "test/accept/*.tile");
    printf("NVRTC %d.%d: %d programs in %.1f s, %.0f ms each, the quickest %.0f ms\n", c->major, c->minor, s.compiled,
           s.total_ms * 1e-3, s.total_ms / (s.compiled ? s.compiled : 1), s.fastest_ms);
    return s.failed || !s.passed;
}
