/* Devices that are not here: CUDA's plans run thread by thread in the simulator, with the matrix units that `tilec probe` found of such a device, to
 * the bit. */
#include "probe/matrix_units.h"
#include "run/runtime.h"
#include "sim/sim.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

static const char *const names[] = {"h200"};
static const char *const devices[] = {"NVIDIA H200"}; /* as bench/devices names them: results are judged by the same units */
enum { NAMES = sizeof names / sizeof *names };

int model_count(void) {
    return NAMES;
}

int model_named(const char *name) {
    for (int i = 0; i < NAMES; i++)
        if (!strcmp(names[i], name))
            return i;
    return -1;
}

bool model_describe(int index, char *out, size_t size) {
    bool there = index >= 0 && index < NAMES;
    if (there)
        snprintf(out, size, "%s, as %s: the simulator with this device's matrix units, to the bit", devices[index], names[index]);
    else
        snprintf(out, size, "no such device");
    return there;
}

device *model_open(int index, diag_list *diags) {
    return simulator_open(index, diags);
}

int model_units(const device *d) {
    return simulator_units(d);
}

void model_close(device *d) {
    simulator_close(d);
}

void *model_allocate(device *d, int64_t bytes, diag_list *diags) {
    return simulator_allocate(d, bytes, diags);
}

void model_release(device *d, void *memory) {
    simulator_release(d, memory);
}

bool model_copy_in(device *d, void *to, const void *from, int64_t bytes, diag_list *diags) {
    return simulator_copy_in(d, to, from, bytes, diags);
}

bool model_copy_out(device *d, void *to, const void *from, int64_t bytes, diag_list *diags) {
    return simulator_copy_out(d, to, from, bytes, diags);
}

device_kernel *model_load(device *d, const proved_plan *p, diag_list *diags) {
    return simulator_load(d, p, diags);
}

void model_unload(device *d, device_kernel *k) {
    simulator_unload(d, k);
}

static number_kind kind_of(element_type e) {
    switch (e) {
    case ELEMENT_F16: return NUMBER_F16;
    case ELEMENT_BF16: return NUMBER_BF16;
    case ELEMENT_E4M3: return NUMBER_E4M3;
    case ELEMENT_E5M2: return NUMBER_E5M2;
    case ELEMENT_F32:
    case ELEMENT_TF32: return NUMBER_F32; /* the unit looks at no more of it than tf32 has */
    default: return NUMBER_COUNT;
    }
}

/* A value of the format, which the simulator holds as a double. */
static uint32_t code_of(number_kind kind, double x) {
    uint32_t sign = signbit(x) ? number_sign_bit(kind) : 0, code = 0;
    if (isnan(x))
        return sign | number_infinity(kind) | 1u << (number_table[kind].stored_bits - 1);
    if (isinf(x))
        return sign | number_infinity(kind);
    int exponent;
    double part = frexp(fabs(x), &exponent);
    number_encode(kind, sign, (uint64_t)ldexp(part, 53), exponent - 53, &code);
    return code;
}

/* The instruction with these fragments: a warp's m16n8kK of the operands' type, or a warpgroup's, which is alike for every number of columns. */
static bool dot(void *context, const kernel_stmt *mma, int k, const double *a, const double *b, double c, double *d) {
    const kernel_fragment *x = mma->fragments[1].fragment, *y = mma->fragments[2].fragment, *z = mma->fragments[0].fragment;
    number_kind operand = kind_of(x->element), result = kind_of(z->element);
    char name[64];
    if (operand == NUMBER_COUNT || result == NUMBER_COUNT || x->element == ELEMENT_F32 || x->element != y->element ||
        k > MATRIX_LONGEST)
        return false;
    const char *sums = result == NUMBER_F16 ? ".f16" : "";
    if (z->holder == LEVEL_WARPGROUP)
        snprintf(name, sizeof name, "wgmma.m64n8k%d.%s%s", k, element_table[x->element].name, sums);
    else
        snprintf(name, sizeof name, "m%dn%dk%d.%s%s", z->rows, z->columns, k, element_table[x->element].name, sums);
    const matrix_unit *u = matrix_unit_find(context, name);
    uint32_t codes_a[MATRIX_LONGEST], codes_b[MATRIX_LONGEST];
    if (!u)
        return false;
    for (int i = 0; i < k; i++) {
        codes_a[i] = code_of(operand, a[i]);
        codes_b[i] = code_of(operand, b[i]);
    }
    *d = number_value(result, matrix_unit_dot(u, codes_a, codes_b, code_of(result, c)));
    return true;
}

bool model_launch(device *d, device_kernel *k, void *const *arrays, const int64_t *integers, const float *floats,
                  diag_list *diags) {
    (void)d;
    char name[8]; /* a device keeps nothing, and there is one so far */
    snprintf(name, sizeof name, "%s", names[0]);
    sim_matrix units = {dot, name};
    return simulator_launch_with(&units, k, arrays, integers, floats, diags);
}
