#define _DEFAULT_SOURCE
#include "foreign.h"
#include "sim/sim.h"
#include "target/gpu_plan.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LONGEST_SECONDS = 20, MOST_TASKS = 4096, MOST_BYTES = 1 << 24 };

bool foreign_available(void) {
    static int known = -1;
    if (known < 0)
        known = system("command -v oclgrind-kernel > /dev/null 2>&1") == 0;
    return known;
}

/* The launch is one of the kernel's. */
static bool assumptions_hold(const kernel_ir *k, sim_launch *l) {
    bool holds = true;
    for (int i = 0; i < k->assumptions.count && holds; i++)
        holds = cond_eval(k->assumptions.at[i], sim_launch_value, l, &holds) && holds;
    return holds;
}

/* ---- the simulation file ---- */

static bool write_arguments(FILE *f, const kernel_ir *k, const gpu_entry *e, const sim_launch *l) {
    VEC(const kernel_array *) arrays = {0};
    for (int i = 0; i < k->arrays.count; i++)
        if (k->arrays.at[i]->space == SPACE_GLOBAL && !k->arrays.at[i]->view_of)
            VEC_PUSH(k->arena, arrays, k->arrays.at[i]);
    for (int i = 0; i < e->parameters.count; i++) {
        const gpu_parameter *p = &e->parameters.at[i];
        bool narrow = strstr(p->type, "int") != NULL;
        if (p->kind == GPU_ARRAY) {
            if (p->position >= arrays.count)
                return false;
            const kernel_array *x = arrays.at[p->position];
            int64_t bytes = sim_array_bytes(k, x, l->integers);
            if (x->element_injective || bytes < 1 || bytes > MOST_BYTES) /* constant data repeat; it has no empty buffers */
                return false;
            bool is_float = x->element == ELEMENT_F32;
            fprintf(f, "<size=%" PRId64 " fill=%d %s>\n", bytes, is_float, is_float ? "float" : "uchar");
        } else if (p->kind == GPU_FLOAT) {
            fprintf(f, "<size=4 fill=1 float>\n");
        } else if (p->kind == GPU_BOOL) {
            return false;
        } else {
            fprintf(f, "<size=%d fill=%" PRId64 " %s>\n", narrow ? 4 : 8, p->kind == GPU_INTEGER ? l->integers[p->position] : 0,
                    narrow ? "int" : "long");
        }
    }
    return true;
}

static bool write_files(arena *a, kernel_ir *k, const char *launch, const char *folder) {
    diag_list diags;
    diag_init(&diags, a);
    sim_launch l;
    legal_routes routes = {0};
    gpu_program program = {0};
    launch_plan plan = {.name = k->name};
    int64_t tasks = 1;
    if (k->grid || k->mbarriers.count || k->fragments.count || !sim_launch_of(a, k, launch, &l, &diags) ||
        !assumptions_hold(k, &l))
        return false;
    for (int d = 0; d < k->levels.at[0].rank; d++) {
        int64_t extent;
        if (!ix_eval(k->levels.at[0].extents[d], sim_launch_value, &l, &extent) || extent < 1 || (tasks *= extent) > MOST_TASKS)
            return false;
    }
    plan_variant v = {.kernel = k};
    VEC_PUSH(a, plan.variants, v);
    if (!kernel_legalize(k, &opencl_legal, &routes, &diags) || !gpu_plan_print(a, &plan, &opencl_gpu, &program, &diags) ||
        program.variants != 1 || !program.forms[GPU_PLAIN].at[0].name)
        return false;
    const gpu_entry *e = &program.forms[GPU_PLAIN].at[0];
    FILE *text = fopen(arena_printf(a, "%s/mutant.cl", folder), "w"), *sim = fopen(arena_printf(a, "%s/mutant.sim", folder), "w");
    bool good = text && sim;
    if (good) {
        fputs(program.text, text);
        fprintf(sim, "mutant.cl\n%s\n%" PRId64 " 1 1\n%" PRId64 " 1 1\n", e->name, tasks * e->threads, e->threads);
        good = write_arguments(sim, k, e, &l);
    }
    if (text)
        good = !fclose(text) && good;
    if (sim)
        good = !fclose(sim) && good;
    return good;
}

/* ---- what it says ---- */

static foreign_verdict run(const char *folder, char *said, size_t size) {
    static const char *const objections[] = {"data race", "Invalid read", "Invalid write", "divergence", "Invalid memory"};
    char command[512], line[512];
    /* as it stands: clang's optimiser loads above a condition what the text loads below it, which would be told as a race of the text's */
    snprintf(command, sizeof command,
             "cd '%s' && timeout %d oclgrind-kernel --build-options -cl-opt-disable --data-races --max-errors 4 mutant.sim 2>&1",
             folder, LONGEST_SECONDS);
    FILE *f = popen(command, "r");
    foreign_verdict v = FOREIGN_QUIET;
    bool trouble = false;
    while (f && fgets(line, sizeof line, f)) {
        for (size_t i = 0; i < sizeof objections / sizeof *objections && v == FOREIGN_QUIET; i++)
            if (strstr(line, objections[i])) {
                v = FOREIGN_HARM;
                line[strcspn(line, "\n")] = 0;
                snprintf(said, size, "%s", line);
            }
        trouble = trouble || strstr(line, "error") || strstr(line, "ERROR");
    }
    int status = f ? pclose(f) : -1;
    bool ended = status >= 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0; /* neither late nor killed */
    return v == FOREIGN_HARM ? v : !ended || trouble ? FOREIGN_NO_ANSWER : FOREIGN_QUIET;
}

foreign_verdict foreign_judge(const char *name, const char *text, const char *launch, char *said, size_t size) {
    char folder[] = "/tmp/tilec-mutant-XXXXXX", path[64];
    if (!foreign_available() || !mkdtemp(folder))
        return FOREIGN_NOT_PUT;
    arena *a = arena_new();
    diag_list diags;
    diag_init(&diags, a);
    kernel_ir *k = kernel_parse(a, name, text, &diags);
    bool put = k && kernel_check(k, &diags) && write_files(a, k, launch, folder);
    foreign_verdict v = put ? run(folder, said, size) : FOREIGN_NOT_PUT;
    static const char *const files[] = {"mutant.cl", "mutant.sim"};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, files[i]);
        unlink(path);
    }
    rmdir(folder);
    arena_free(a);
    return v;
}
