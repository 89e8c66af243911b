/* What the assembler makes of a matrix instruction: one machine instruction, or others. */
#include "probe/cuda_matrix.h"
#include "probe/gates.h"
#include <stdio.h>
#include <string.h>

enum { ARCHITECTURE = 90 };

/* "machine code for one product: 1 HMMA.16816.F32" names one opcode alone, and once. */
static bool is_single(const char *line) {
    const char *at = strstr(line, ": ");
    return at && !strchr(at, ',') && !strncmp(at + 2, "1 ", 2);
}

bool code_probe(arena *a, const char *instruction, code_finding *out, diag_list *diags) {
    const cuda_instruction *i = cuda_instruction_find(instruction);
    if (!i) {
        diag_error(diags, "E1203", (source_span){0}, "there is no matrix instruction `%s`", instruction);
        return false;
    }
    const char *line = cuda_has_disassembler() ? cuda_opcodes(i, ARCHITECTURE, a) : NULL;
    if (!line) {
        diag_error(diags, "E1202", (source_span){0}, "%s: no machine code: CUDA's disassembler nvdisasm is missing, or fails",
                   instruction);
        return false;
    }
    const char *opcodes = strstr(line, ": ") + 2;
    *out = (code_finding){.instruction = i->name, .evidence = line, .single = is_single(line)};
    out->verdict = arena_printf(a, "%s %s", out->single ? "one machine instruction:" : "made of others:", opcodes);
    return true;
}

void code_print(const code_finding *f) {
    printf("%-22s %s\n", f->instruction, f->verdict);
}

void code_json(const code_finding *f, const char *compiler, json_t *rows) {
    json_array_append_new(
        rows,
        json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:[s]}", "kind", "finding", "device", "nvrtc",
                  "description", compiler, "instruction", "machine code for sm_90a", "fact", f->instruction, "verdict",
                  f->verdict, "status", "found", "claim", "PTX ISA lists the instruction; what makes it is not said", "asks",
                  "Which machine instructions does it become?", "method",
                  "A kernel with one product, compiled for sm_90 or sm_90a and disassembled: what multiplies, converts or adds.",
                  "evidence", f->evidence));
}
