/* The CPU's dot-product instructions as black boxes, through C text that the CPU target's compiler makes. */
#ifndef TILEC_PROBE_CPU_MATRIX_H
#define TILEC_PROBE_CPU_MATRIX_H
#include "probe/probe.h"

typedef struct cpu_instruction {
    const char *name;
    number_kind a, b, c;
    int k;
    const char *macro,
        *intrinsic; /* what the compiler defines where the processor has it; the expression over x (a), y (b), z (c). NULL: of tiles of 16 rows and columns */
    bool floats;
    const char *claim;
} cpu_instruction;
extern const cpu_instruction cpu_instructions[];
extern const int cpu_instruction_count;
const cpu_instruction *cpu_instruction_find(const char *name);
/* Compiles C text as kernels are compiled, and loads it: its function of that name, and the library to close. Both NULL with a diagnostic. */
void *cpu_function_load(const char *text, const char *name, const char *symbol, void **library, diag_list *diags);
/* Compiles and loads it. False with E1202 when the processor has no such instruction, or with the compiler's diagnostic. */
bool cpu_matrix_open(arena *a, const cpu_instruction *i, probe_target *out, diag_list *diags);
/* Speeds: of the instruction (RATE_OWN), and of fma on as wide a vector of f32 (cpu_rate.c). */
enum { CPU_CHAINS = 24 };
typedef struct cpu_rates {
    void *library;
    int (*rate)(long n, int scalar);
    int sink;
} cpu_rates;
char *cpu_rate_text(const cpu_instruction *i);                            /* heap */
void cpu_rate_chains(text_buffer *t, int number, const char *expression); /* its function rateNUMBER */
/* The end of a text for compilers that do not know the instruction: it answers nothing. */
#define CPU_NO_DOTS                                                                                                              \
    "#else\n"                                                                                                                    \
    "int dots(long n, const char *a, const char *b, const char *c, char *d, unsigned control) {\n"                               \
    "    return 0;\n"                                                                                                            \
    "}\n"                                                                                                                        \
    "#endif\n"
/* Those of the matrix unit's instructions (cpu_tile.c): its dots, where n counts tiles, and its speed. Heap. */
char *cpu_tile_text(const cpu_instruction *i);
char *cpu_tile_rate_text(const cpu_instruction *i);
bool cpu_rate(cpu_rates *r, const cpu_instruction *i, rate_of which, double *per_second, diag_list *diags);
/* A line: the energy of a multiply-add by RAPL, or why nobody tells it. After cpu_rate. */
const char *cpu_energy(cpu_rates *r, const cpu_instruction *i, arena *a);
/* Whether the answers change with the processor's rounding control and its flush flags: how many of `count` random dots do in some mode. -1: they
 * were not asked. */
int cpu_controlled(const probe_target *t, int count, diag_list *diags);
#endif
