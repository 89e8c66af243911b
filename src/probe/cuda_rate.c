/* How fast a CUDA device's matrix instruction is, and what the assembler made of it. */
#include "probe/cuda_matrix.h"
#include "base/file.h"
#include "base/process.h"
#include "base/temporary.h"
#include "run/cuda.h"
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { OPCODE_LONGEST = 40, MOST_OPCODES = 12 };

/* The instruction of warps with the same operands. */
static const cuda_instruction *older(const cuda_instruction *i) {
    for (int n = 0; i->warpgroup && n < cuda_instruction_count; n++) {
        const cuda_instruction *o = &cuda_instructions[n];
        if (!o->warpgroup && o->a == i->a && o->b == i->b && o->c == i->c && o->k == i->k &&
            !strcmp(strrchr(o->name, '.'), strrchr(i->name, '.')))
            return o;
    }
    return NULL;
}

const cuda_instruction *cuda_rate_instruction(const cuda_instruction *i, rate_of which) {
    return which == RATE_OWN      ? i
           : which == RATE_TWIN   ? cuda_instruction_find(i->warpgroup ? "wgmma.m64n8k16.f16" : "m16n8k16.f16")
           : which == RATE_LEGACY ? older(i)
                                  : NULL;
}

/* "HMMA", "HGMMA", "QGMMA", "IMMA" do products; F2FP converts pairs on the way of an emulated format, FADD and HADD2 add parts of its sum. */
static bool is_telling(const char *opcode) {
    return strstr(opcode, "MMA") || !strncmp(opcode, "F2FP", 4) || !strncmp(opcode, "FADD", 4) || !strncmp(opcode, "HADD2", 5);
}

typedef struct opcode_count {
    char name[OPCODE_LONGEST];
    int count;
} opcode_count;

/* Mnemonics of a disassembly: the first word in capitals of each line with an address in comments. */
static int count_opcodes(const char *listing, opcode_count *counts, int most) {
    int used = 0;
    for (const char *line = listing; line && *line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL) {
        const char *end = strchr(line, '\n'), *at = strstr(line, "*/");
        if (!at || (end && at > end) || strncmp(line + strspn(line, " \t"), "/*", 2))
            continue;
        at += 2 + strspn(at + 2, " \t");
        if (*at == '@') /* a predicate */
            at += strcspn(at, " \t"), at += strspn(at, " \t");
        char name[OPCODE_LONGEST] = {0}; /* with what its types are: "HMMA.16816.F32" */
        for (size_t n = 0; n + 1 < sizeof name && (isalnum((unsigned char)at[n]) || at[n] == '.' || at[n] == '_'); n++)
            name[n] = at[n];
        if (!is_telling(name))
            continue;
        int i = 0;
        while (i < used && strcmp(counts[i].name, name))
            i++;
        if (i == used && used < most)
            strcpy(counts[used++].name, name);
        if (i < used)
            counts[i].count++;
    }
    return used;
}

bool cuda_has_disassembler(void) {
    char *found = process_find("nvdisasm");
    bool there = found || !access("/usr/local/cuda/bin/nvdisasm", X_OK);
    free(found);
    return there;
}

static char *disassembler(void) {
    char *found = process_find("nvdisasm");
    return found ? found : process_find("/usr/local/cuda/bin/nvdisasm");
}

const char *cuda_opcodes(const cuda_instruction *i, int architecture, arena *a) {
    char *program = disassembler(), *text = program ? cuda_dots_text(i) : NULL, folder[] = "/tmp/tilec-opcodes-XXXXXX";
    unsigned char *code = NULL;
    size_t length = 0;
    diag_list quiet;
    diag_init(&quiet, a);
    const char *line = NULL, *name = arena_printf(a, "sm_%d%s", architecture, i->warpgroup ? "a" : "");
    cuda_source source = {i->name, text, "source", "E1022", i->warpgroup};
    if (text && temporary_folder(folder)) {
        char *cubin = arena_printf(a, "%s/k.cubin", folder), *listing = arena_printf(a, "%s/k.sass", folder);
        const char *const arguments[] = {"nvdisasm", cubin, NULL};
        opcode_count counts[MOST_OPCODES] = {{{0}, 0}};
        if (cuda_compile_source(&source, name, &code, &length, &quiet) && file_write(cubin, code, length, &quiet) &&
            process_run(program, arguments, listing) == 0) {
            const char *sass = file_read(a, listing, 1 << 24, NULL, &quiet);
            int used = sass ? count_opcodes(sass, counts, MOST_OPCODES) : 0;
            text_buffer b = {0};
            for (int n = 0; n < used; n++)
                text_add(&b, "%s%d %s", n ? ", " : "", counts[n].count, counts[n].name);
            if (used)
                line = arena_printf(a, "machine code for one product: %s", text_get(&b));
            text_free(&b);
        }
        temporary_remove(folder);
    }
    free(code);
    free(text);
    free(program);
    return line;
}
