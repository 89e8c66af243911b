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

/* ---- the launch ---- */

typedef struct launch_values {
    const kernel_ir *kernel;
    int64_t *integers; /* as targets order them */
} launch_values;

static bool named_value(const char *launch, const char *name, int64_t *value) {
    size_t n = strlen(name);
    for (const char *at = launch; at && *at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL) {
        while (*at == ' ')
            at++;
        if (!strncmp(at, name, n) && !strncmp(at + n, " = ", 3)) {
            *value = strtoll(at + n + 3, NULL, 10);
            return true;
        }
    }
    return false;
}

static bool look_up(void *context, const index_var *v, int64_t *value) {
    const launch_values *l = context;
    int next = l->kernel->symbols.count;
    for (int i = 0; i < l->kernel->symbols.count; i++)
        if (!strcmp(l->kernel->symbols.at[i]->name, v->name)) {
            *value = l->integers[i];
            return true;
        }
    for (int i = 0; i < l->kernel->scalars.count; i++)
        if (l->kernel->scalars.at[i].var && !strcmp(l->kernel->scalars.at[next++ - l->kernel->symbols.count].name, v->name)) {
            *value = l->integers[next - 1];
            return true;
        }
    if (v->has_value)
        *value = v->value;
    return v->has_value;
}

/* A value that the launch does not name is the least that it may be, or 1, as it is in the simulator; what an assumption gives it, nobody works out here. */
static bool read_launch(arena *a, const kernel_ir *k, const char *launch, launch_values *out) {
    int next = k->symbols.count;
    *out = (launch_values){k, NEW_ARRAY(a, int64_t, k->symbols.count + k->scalars.count + 1)};
    for (int i = 0; i < k->symbols.count + k->scalars.count; i++) {
        bool symbol = i < k->symbols.count;
        const index_var *v = symbol ? k->symbols.at[i] : k->scalars.at[i - k->symbols.count].var;
        int64_t *value = symbol ? &out->integers[i] : v ? &out->integers[next++] : NULL, lo;
        if (!value || named_value(launch, symbol ? v->name : k->scalars.at[i - k->symbols.count].name, value))
            continue;
        if (v->lo && !ix_is_const(v->lo, NULL))
            return false;
        *value = v->lo && ix_is_const(v->lo, &lo) && (!symbol || lo > 0) ? lo : 1;
    }
    for (int i = 0; i < k->assumptions.count; i++) { /* the launch is one of the kernel's */
        bool holds = false;
        if (!cond_eval(k->assumptions.at[i], look_up, out, &holds) || !holds)
            return false;
    }
    return true;
}

/* ---- the simulation file ---- */

static bool write_arguments(FILE *f, const kernel_ir *k, const gpu_entry *e, const launch_values *l) {
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
    launch_values l;
    legal_routes routes = {0};
    gpu_program program = {0};
    launch_plan plan = {.name = k->name};
    int64_t tasks = 1;
    if (k->grid || k->mbarriers.count || k->fragments.count || !read_launch(a, k, launch, &l))
        return false;
    for (int d = 0; d < k->levels.at[0].rank; d++) {
        int64_t extent;
        if (!ix_eval(k->levels.at[0].extents[d], look_up, &l, &extent) || extent < 1 || (tasks *= extent) > MOST_TASKS)
            return false;
    }
    plan_variant v = {.kernel = k};
    VEC_PUSH(a, plan.variants, v);
    if (!kernel_legalize(k, &opencl_legal, &routes, &diags) || !gpu_plan_print(a, &plan, &opencl_gpu, &program, &diags) ||
        program.entries.count != 1 || !program.entries.at[0].name)
        return false;
    const gpu_entry *e = &program.entries.at[0];
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
    snprintf(command, sizeof command, "cd '%s' && timeout %d oclgrind-kernel --data-races --max-errors 4 mutant.sim 2>&1", folder,
             LONGEST_SECONDS);
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
    bool late = WIFEXITED(status) && WEXITSTATUS(status) == 124;
    return v == FOREIGN_HARM ? v : late || trouble || status < 0 ? FOREIGN_NONE : FOREIGN_QUIET;
}

foreign_verdict foreign_judge(const char *name, const char *text, const char *launch, char *said, size_t size) {
    char folder[] = "/tmp/tilec-mutant-XXXXXX", path[64];
    if (!foreign_available() || !mkdtemp(folder))
        return FOREIGN_NONE;
    arena *a = arena_new();
    diag_list diags;
    diag_init(&diags, a);
    kernel_ir *k = kernel_parse(a, name, text, &diags);
    foreign_verdict v =
        k && kernel_check(k, &diags) && write_files(a, k, launch, folder) ? run(folder, said, size) : FOREIGN_NONE;
    static const char *const files[] = {"mutant.cl", "mutant.sim"};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, files[i]);
        unlink(path);
    }
    rmdir(folder);
    arena_free(a);
    return v;
}
