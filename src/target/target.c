#include "target/target.h"
#include "target/air.h"
#include "target/c_plan.h"
#include "target/gpu_plan.h"
#include "target/metal.h"
#include <string.h>

const target target_table[] = {
#define TARGET(name, title, machine, limits, legal, emit, build) {name, title, machine, limits, legal, emit, build},
#include "target/target.def"
#undef TARGET
};
const int target_count = (int)(sizeof target_table / sizeof *target_table);

const target *target_find(const char *name) {
    for (int i = 0; i < target_count; i++)
        if (!strcmp(target_table[i].name, name))
            return &target_table[i];
    return NULL;
}

const target *target_companion(const target *t) {
    return t->build == metal_build || t->build == air_build ? target_find("c") : NULL;
}

bool target_statistics(arena *a, const target *t, const proved_plan *p, target_count_list *out, diag_list *diags) {
    return t->build == air_build && air_count(a, p, out, diags);
}

bool target_program(arena *a, const target *t, const proved_plan *p, gpu_program *out, const char **ending, const char **whole,
                    diag_list *diags) {
    static const struct {
        bool (*emit)(const proved_plan *p, text_buffer *out, diag_list *diags);
        const char *ending;
        bool (*program)(arena *a, const proved_plan *p, gpu_program *out, diag_list *diags);
    } doors[] = {{metal_emit, "metal", metal_program},
                 {cuda_emit, "cu", cuda_program},
                 {opencl_emit, "cl", opencl_program},
                 {c_emit, "c", c_program},
                 {air_emit, "ll", metal_program}}; /* whose entries take what Metal's do */
    *whole = NULL;
    for (size_t i = 0; i < sizeof doors / sizeof *doors; i++) {
        if (doors[i].emit != t->emit)
            continue;
        *ending = doors[i].ending;
        if (t->emit == air_emit) {
            text_buffer text = {0};
            bool fine = air_emit(p, &text, diags);
            *whole = arena_strdup(a, text_get(&text));
            text_free(&text);
            if (!fine)
                return false;
        }
        return doors[i].program(a, p, out, diags);
    }
    return false;
}

char *target_entry_name(const char *plan_name, int variant) {
    arena *a = arena_new();
    text_buffer b = {0};
    text_add(&b, "%s_variant_%d", cfamily_legal(a, plan_name), variant);
    arena_free(a);
    return b.text;
}

bool target_machine_name(const char *name, const char **why) {
    return c_machine_name(name, why);
}
