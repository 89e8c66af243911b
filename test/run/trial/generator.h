/* Random well-typed kernels in the tile language: trees that print as text and can be made smaller while they still fail. */
#ifndef TILEC_TEST_GENERATOR_H
#define TILEC_TEST_GENERATOR_H
#include "base/arena.h"
#include "trial.h"

typedef enum value_type { VALUE_F32, VALUE_I32, VALUE_BOOL, VALUE_NARROW } value_type;

/* An expression: `format` with %0 %1 %2 %3 standing for the parts. */
typedef struct node {
    const char *format;
    struct node *part[4];
    int parts;
    value_type type;
    unsigned axes; /* bit per range it varies over */
    bool used;     /* a name that some later expression mentions */
} node;

/* A statement: likewise, with a nested body for loops (braces are printed around it). */
typedef struct line {
    const char *format;
    node *part[4];
    int parts;
    bool is_loop, removed;
    int output; /* a store to this output (number from 1); 0 for others */
    VEC(struct line *) body;
} line;

typedef struct range {
    const char *name, *extent, *size; /* `i`, `M`, `BI` */
    bool is_static;                   /* extent is a compile-time constant: the tile is the whole dimension */
} range;

typedef struct argument {
    const char *name, *text; /* `a0`, `a0: f16[M, K]` */
} argument;

typedef struct output {
    const char *name, *text, *owned; /* `y`, `y: f32[M, N]`, `y[i, j]` (the first one declares: `y[i: BI, j: BJ]`) */
    const char *owned_first;
    const char *store; /* `y[i, j] = %0` */
    bool removed;
} output;

typedef struct program {
    arena *arena;
    random_state random;
    const char *name;
    VEC(range) ranges;
    VEC(argument) arguments;
    VEC(output) outputs;
    VEC(const char *) statics; /* `D = 8` */
    VEC(const char *) wheres;
    VEC(const char *) prelude; /* fn and combine declarations */
    VEC(line *) body;
    unsigned task_ranges, whole_ranges; /* masks; whole: owned by `..`, only in the storing loop */
    /* while generating */
    VEC(node *) names; /* lets and variables in scope, usable as values */
    int counter;
    unsigned prelude_made;
} program;

/* Makes program number `number` of a seed: the same text every time. */
program *program_new(uint64_t seed, int number);
void program_free(program *p);
/* The text of one file holding the kernel. */
void program_print(const program *p, text_buffer *out);

/* Makes the program smaller while `fails` says that it still fails in the same way: drops outputs and statements, then replaces
 * expressions by their parts or by constants. At most `limit` trials. Returns how many were made. */
typedef bool (*program_fails)(void *context, const char *text);
int program_minimise(program *p, program_fails fails, void *context, int limit);

/* generator_values.c */
node *generate_value(program *p, value_type type, unsigned scope, int depth);
/* A load or converted value of the named narrow type (a `@` operand) that varies over exactly `axes`. */
node *generate_operand(program *p, const char *type, unsigned axes);
node *generate_load(program *p, value_type type, unsigned axes, unsigned scope);
node *make_node(program *p, value_type type, unsigned axes, const char *format, int parts, ...);
line *make_line(program *p, bool is_loop, const char *format, int parts, ...);
const char *axes_text(program *p, unsigned axes, bool shuffled); /* "i, j" */
unsigned random_subset(program *p, unsigned set, int keep_percent);
int count_bits(unsigned set);
#endif
