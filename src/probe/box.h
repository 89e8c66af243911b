/* A matrix unit as a black box: dots go in, results come out. A device, or a simulated one with planted facts. */
#ifndef TILEC_PROBE_BOX_H
#define TILEC_PROBE_BOX_H
#include "base/diag.h"
#include "probe/matrix_unit.h"

typedef struct matrix_box {
    const char *device, *instruction; /* "cuda:0", "m16n8k16.f16" */
    number_kind a, b, c;
    int k;
    int rows, columns; /* of a tile, whose rows of a meet all its columns of b; 1, 1: dots by themselves */
    void *context;
    /* a: tiles x rows x k codes in their format's bytes; b: tiles x columns x k; c and d: tiles x rows x columns codes, 32 bits each. False with a
     * diagnostic. */
    bool (*run)(void *context, int64_t tiles, const void *a, const void *b, const uint32_t *c, uint32_t *d, diag_list *diags);
    const char *claim; /* what the vendor's documents say of the arithmetic; NULL: nothing */
} matrix_box;

/* One dot, and the device's answer once asked. */
typedef struct matrix_question {
    uint32_t a[MATRIX_LONGEST], b[MATRIX_LONGEST], c, answer;
} matrix_question;

/* Asks dots that have nothing in common. Each is asked twice, at two places of a tile where there are several; `unstable`: how many answers differed.
 * False with a diagnostic when the device fails. */
bool matrix_box_ask(const matrix_box *box, matrix_question *questions, int count, int *unstable, diag_list *diags);

/* A simulated device: the model itself, with any parameters; every `noise`-th answer has a bit flipped (0: none), and it fails after `fails_after`
 * dots (0: never). */
typedef struct simulated_unit {
    matrix_unit unit;
    int noise;
    int64_t fails_after, asked;
} simulated_unit;
/* `unit` must stay as long as the box. */
matrix_box simulated_box(simulated_unit *unit, const char *instruction);
#endif
