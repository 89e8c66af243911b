#include "emit.h"
#include "base/pieces.h"
#include "run/run.h"
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* -O1, with registers allocated over a whole function at once where the compiler knows that (gcc): a quarter less time, the same optimisations. */
static const char *optimised(const char *compiler, arena *a) {
    static int knows = -1;
    if (knows < 0)
        knows = !system(arena_printf(a, "%s -fira-region=one -x c -fsyntax-only /dev/null > /dev/null 2>&1", compiler));
    return knows ? "-O1 -fira-region=one" : "-O1";
}

void *trial_build(const char *const *texts, const char *const *names, int count, char *why, size_t size) {
    (void)names;
    static int batch; /* optimising takes most of the time of all: one batch in four */
    arena *a = arena_new();
    text_buffer unit = {0};
    pieces_join(texts, count, &unit);
    const char *folder = getenv("TMPDIR");
    char *path = arena_printf(a, "%s/tilec-trial-XXXXXX", folder ? folder : "/tmp");
    void *handle = NULL;
    if (!mkdtemp(path)) {
        snprintf(why, size, "no temporary folder %s", path);
    } else {
        const char *c = arena_printf(a, "%s/unit.c", path), *so = arena_printf(a, "%s/unit.so", path),
                   *log = arena_printf(a, "%s/log", path);
        FILE *f = fopen(c, "wb");
        bool good = f && fwrite(text_get(&unit), 1, unit.length, f) == unit.length;
        if (f && fclose(f) != 0)
            good = false;
        const char *wanted = getenv("TILEC_CC"), *compiler = wanted ? wanted : "cc";
        const char *command = arena_printf(a,
                                           "%s -std=gnu11 %s -march=native -ffp-contract=off -fno-math-errno -fno-trapping-math "
                                           "-shared -fPIC -o %s %s > %s 2>&1",
                                           compiler, batch++ % 4 ? "-O0" : optimised(compiler, a), so, c, log);
        if (good && system(command) == 0) {
            handle = dlopen(so, RTLD_NOW | RTLD_LOCAL);
            if (!handle)
                snprintf(why, size, "%s", dlerror());
        } else {
            char *said = trial_read_file(log);
            snprintf(why, size, "%.*s", (int)size - 1, said && *said ? said : "the compiler could not be run");
            free(said);
        }
        unlink(c);
        unlink(so);
        unlink(log);
        rmdir(path);
    }
    text_free(&unit);
    arena_free(a);
    return handle;
}

bool trial_execute(const launch_plan *plan, void *handle, const trial_case *c, const trial_memory *m, diag_list *diags) {
    typedef void entry(void *const *arrays, const int64_t *integers, const float *floats, int64_t first, int64_t last,
                       void *scratch);
    trial_launch l;
    bool good = trial_launch_new(c, m, plan->variants.at[0].kernel, &l);
    if (!good)
        diag_error(diags, "E0900", (source_span){0}, "a launch value has no source among the arguments");
    int variant =
        good && launch_checks(plan, l.arrays, l.integers, l.floats, diags) ? launch_variant(plan, l.integers, diags) : -1;
    if (variant >= 0 && variant != 0) {
        trial_launch_free(&l);
        good = trial_launch_new(c, m, plan->variants.at[variant].kernel, &l);
    }
    if (good && variant >= 0) {
        const kernel_ir *k = plan->variants.at[variant].kernel;
        char name[256];
        snprintf(name, sizeof name, "%s_variant_%d", plan->name, variant);
        entry *run = NULL;
        *(void **)&run = dlsym(handle, name);
        if (run) {
            size_t bytes = ((size_t)kernel_private_bytes(k) + 127) / 64 * 64;
            void *scratch = aligned_alloc(64, bytes);
            memset(scratch, 0xFF, bytes); /* NaNs: what is read before it is written shows */
            run(l.arrays, l.integers, l.floats, 0, l.tasks, scratch);
            free(scratch);
        } else {
            diag_error(diags, "E0900", (source_span){0}, "the compiled text has no function %s", name);
            good = false;
        }
    }
    trial_launch_free(&l);
    return good && variant >= 0;
}
