/* Matrix units whose parameters were found: a row an instruction, named DEVICE:INSTRUCTION.TYPES. */
#ifndef TILEC_PROBE_MATRIX_UNITS_H
#define TILEC_PROBE_MATRIX_UNITS_H
#include "probe/matrix_unit.h"

typedef struct matrix_unit_row {
    const char *device;      /* "h200" */
    const char *instruction; /* "m16n8k16.f16": as fragment_layout_find spells it */
    matrix_unit unit;
} matrix_unit_row;
const matrix_unit_row *matrix_unit_rows(int *count);
const matrix_unit *matrix_unit_find(const char *device, const char *instruction); /* NULL when there is none */
#endif
