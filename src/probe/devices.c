/* The devices that can be probed. */
#include "probe/cuda_matrix.h"
#include "probe/cpu_matrix.h"
#include "probe/gates.h"
#include "probe/matrix_units.h"
#include "probe/probe.h"
#include "run/run.h"
#include <string.h>

static bool is_model(const char *device) {
    return !strncmp(device, "model:", 6);
}

static bool is_of(const char *device, const char *runtime) {
    size_t length = strlen(runtime);
    return !strncmp(device, runtime, length) && (!device[length] || device[length] == ':');
}

const char *const *probe_instructions(arena *a, const char *device, int *count, diag_list *diags) {
    VEC(const char *) names = {0};
    int rows;
    if (is_model(device)) {
        const matrix_unit_row *row = matrix_unit_rows(&rows);
        for (int i = 0; i < rows; i++)
            if (!strcmp(row[i].device, device + 6))
                VEC_PUSH(a, names, row[i].instruction);
    } else if (is_of(device, "cuda")) {
        for (int i = 0; i < cuda_instruction_count; i++)
            VEC_PUSH(a, names, cuda_instructions[i].name);
    } else if (!strcmp(device, "nvrtc")) {
        for (int i = 0; i < gate_count; i++)
            VEC_PUSH(a, names, gate_rows[i].name);
    } else if (is_of(device, "cpu")) {
        for (int i = 0; i < cpu_instruction_count; i++)
            VEC_PUSH(a, names, cpu_instructions[i].name);
    }
    *count = names.count;
    if (names.count)
        return names.at;
    diag *g = diag_error(diags, "E1201", (source_span){0}, "there is no device `%s` that can be probed", device);
    diag_note(diags, g,
              "there are cpu, cuda:N where a driver is installed, and, without any device, model:h200 and nvrtc (which features "
              "it takes)");
    return NULL;
}

static bool unknown_instruction(const char *device, const char *instruction, diag_list *diags) {
    diag *g =
        diag_error(diags, "E1203", (source_span){0}, "%s has no matrix instruction `%s` that can be probed", device, instruction);
    diag_note(diags, g, "`tilec probe --device %s --list` lists those there are", device);
    return false;
}

/* ---- recorded ones ---- */

typedef struct model_target {
    simulated_unit unit;
    fragment_layout layouts[3];
} model_target;

static bool model_onehot(void *context, int first, int cases, unsigned char *out, diag_list *diags) {
    return layout_simulate(((model_target *)context)->layouts, first, cases, out, diags);
}

static bool open_model(arena *a, const char *device, const char *instruction, probe_target *out, diag_list *diags) {
    const matrix_unit *u = matrix_unit_find(device + 6, instruction);
    if (!u)
        return unknown_instruction(device, instruction, diags);
    model_target *m = NEW(a, model_target);
    m->unit.unit = *u;
    out->box = simulated_box(&m->unit, instruction);
    out->box.device = device;
    out->box.context = &m->unit;
    out->context = m;
    out->at_hand = true;
    out->onehot = fragment_layouts_find("cuda", instruction, m->layouts) ? model_onehot : NULL;
    strcpy(out->description, "a model on this machine, no device");
    return true;
}

/* ---- CUDA ---- */

static bool cuda_onehot(void *context, int first, int cases, unsigned char *out, diag_list *diags) {
    return cuda_box_onehot(context, first, cases, out, diags);
}

static bool cuda_rate(void *context, rate_of which, double *per_second, diag_list *diags) {
    return cuda_box_rate(context, which, per_second, diags);
}

static bool cuda_sustained(void *context, rate_of which, double *per_second, double *watts, diag_list *diags) {
    return cuda_box_sustained(context, which, per_second, watts, diags);
}

static const char *opcodes_of(void *context, arena *a) {
    return cuda_opcodes(cuda_instruction_find(cuda_box_matrix(context)->instruction), cuda_box_architecture(context), a);
}

static bool cuda_place_of(void *context, int number, const char **name, matrix_box *out, diag_list *diags) {
    static const char *const names[] = {"layout, 128-byte swizzle", "layout, a in registers"};
    *name = names[number];
    return cuda_box_place(context, number ? PLACE_REGISTERS : PLACE_SWIZZLED, out, diags);
}

static bool cuda_rival(void *context, int number, const char **name, bool *without_addend, matrix_box *out, diag_list *diags) {
    *without_addend = !number;
    *name = number ? "beside mma.sync" : "scale-d 0";
    return number ? cuda_box_older(context, out, diags) : cuda_box_place(context, PLACE_UNSCALED, out, diags);
}

static void cuda_close_target(void *context) {
    cuda_box_close(context);
}

static bool open_cuda(const char *device, const char *instruction, probe_target *out, diag_list *diags) {
    const cuda_instruction *i = cuda_instruction_find(instruction);
    if (!i)
        return unknown_instruction(device, instruction, diags);
    cuda_box *b = cuda_box_open(device, i, diags);
    if (!b)
        return false;
    out->box = *cuda_box_matrix(b);
    strncpy(out->description, cuda_box_device(b), sizeof out->description - 1);
    out->context = b;
    out->close = cuda_close_target;
    out->onehot = i->warpgroup ? NULL : cuda_onehot;
    out->at_hand = true;
    out->place_count = i->warpgroup ? 2 : 0;
    out->place = cuda_place_of;
    out->rival_count = !i->warpgroup ? 0 : cuda_rate_instruction(i, RATE_LEGACY) ? 2 : 1;
    out->rival = cuda_rival;
    out->rate = cuda_rate;
    out->sustained = cuda_sustained;
    out->twin = cuda_rate_instruction(i, RATE_TWIN)->name;
    const cuda_instruction *legacy = cuda_rate_instruction(i, RATE_LEGACY);
    out->legacy = legacy ? legacy->name : NULL;
    out->opcodes = opcodes_of;
    if (strstr(out->description, "sm_90")) {
        out->recorded_as = "h200";
        out->recorded = matrix_unit_find("h200", instruction);
    }
    return true;
}

bool probe_open(arena *a, const char *device, const char *instruction, probe_target *out, diag_list *diags) {
    *out = (probe_target){0};
    if (is_model(device))
        return open_model(a, device, instruction, out, diags);
    if (is_of(device, "cuda"))
        return open_cuda(device, instruction, out, diags);
    if (is_of(device, "cpu")) {
        int index;
        if (!runtime_find(device, &index, diags))
            return false;
        const cpu_instruction *i = cpu_instruction_find(instruction);
        return i ? cpu_matrix_open(a, i, out, diags) : unknown_instruction(device, instruction, diags);
    }
    int count;
    probe_instructions(a, device, &count, diags);
    return false;
}

void probe_close(probe_target *t) {
    if (t->close)
        t->close(t->context);
    t->close = NULL;
}
