/* Version gates: which architectures an installed NVRTC takes a feature of PTX for, and which machine instructions its matrix instructions become. No device is
 * needed. */
#ifndef TILEC_PROBE_GATES_H
#define TILEC_PROBE_GATES_H
#include "base/diag.h"
#include <jansson.h>

typedef struct gate_row {
    const char *name;
    int from;         /* the PTX manual's first architecture, 80 for sm_80 */
    const char *only; /* "100 103": with sm_100a and sm_103a alone; NULL: with everything from `from` on */
    const char *
        text; /* a statement of inline PTX, in a kernel with `unsigned x[8]; unsigned long long p;` and 4 KiB of shared memory `s` */
} gate_row;
extern const gate_row gate_rows[];
extern const int gate_count;

typedef struct gate_finding {
    const gate_row *row;
    VEC(const char *) accepted; /* "sm_90a" */
    int tried;
    bool as_documented;
    const char *verdict, *evidence; /* evidence: the compiler's words for the last one refused; NULL: none was */
} gate_finding;
/* False with E0854 when there is no NVRTC. Arena memory. */
bool gate_probe(arena *a, const gate_row *row, gate_finding *out, diag_list *diags);
const gate_row *gate_find(const char *name);           /* NULL: there is no such gate */
const char *gate_compiler(arena *a, diag_list *diags); /* "NVRTC 13.0"; NULL with E0854 */
void gate_print(const gate_finding *f, bool evidence);
void gate_json(const gate_finding *f, const char *compiler, json_t *rows);

/* ---- machine code (machine_code.c) ---- */
typedef struct code_finding {
    const char *instruction, *verdict, *evidence;
    bool single; /* one machine instruction, and nothing around it */
} code_finding;
/* A matrix instruction's, for sm_90 or sm_90a. False with a diagnostic: no such instruction (E1203), no disassembler (E1202), or NVRTC refuses it. */
bool code_probe(arena *a, const char *instruction, code_finding *out, diag_list *diags);
void code_print(const code_finding *f);
void code_json(const code_finding *f, const char *compiler, json_t *rows);
#endif
