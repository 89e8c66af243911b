/* What the benchmark programs of all kernels share: a kernel is described by tables and functions that tilec writes (NAME_metal.c); this runs it on the
 * device and on the processor, compares, and times. Plain C; only tilec_metal.m speaks to the device. */
#ifndef TILEC_KIT_H
#define TILEC_KIT_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum tilec_element {
    TILEC_F32, TILEC_F16, TILEC_BF16, TILEC_E4M3, TILEC_E5M2, TILEC_I8, TILEC_U8, TILEC_I32, TILEC_U32, TILEC_BOOL, TILEC_INDEX, TILEC_Q8_0, TILEC_Q4_0, TILEC_MXFP4
} tilec_element;

/* An extent or a scalar: NAME=value on the command line sets it. */
typedef struct tilec_value {
    const char *name;
    int64_t *integer; /* or */
    float *real;
    bool extent; /* an extent that no other settles */
    bool given;
} tilec_value;

typedef struct tilec_array {
    const char *name;
    tilec_element element;
    bool read, written;
    int64_t (*cells)(void);
    int64_t (*bound)(void); /* elements are in 0 .. bound - 1; NULL: any */
    bool distinct;          /* and differ from each other */
} tilec_array;

/* What stands at a buffer's place: 'a' array, 'i' integer of 64 bits, 'I' of 32, 'f' float, 'b' 32-bit truth value, 't' the first task of the launch, 'T' the
 * same in 32 bits. */
typedef struct tilec_parameter {
    char kind;
    int position;
} tilec_parameter;

typedef struct tilec_entry {
    const char *name;
    int threads; /* of a threadgroup; a threadgroup for each task */
    const tilec_parameter *parameters;
    int parameter_count;
    bool (*holds)(void);    /* whether it is made for these values */
    int64_t (*tasks)(void);
} tilec_entry;

typedef struct tilec_kernel {
    const char *name, *file; /* "matmul", "matmul.metal" */
    const tilec_array *arrays;
    int array_count;
    tilec_value *values;
    int value_count;
    const tilec_entry *entries; /* the first that holds is launched */
    int entry_count;
    void (*derive)(void);   /* values that follow from others, unless given */
    int64_t (*integer)(int position);
    float (*real)(int position);
    int (*reference)(void *const *arrays); /* the same kernel as C; 0, or a code that `error` explains */
    const char *(*error)(int code);
} tilec_kernel;

/* Runs, checks and times; prints a line. The program's exit status: 0 when device and processor agree; TILEC_REFUSED: the kernel is not for such values. */
enum { TILEC_REFUSED = 3 };
int tilec_main(const tilec_kernel *k, int argc, char **argv);

/* ---- tilec_metal.m ---- */
typedef struct tilec_argument {
    void *bytes;      /* on this side */
    size_t size;
    bool array, written, first_task; /* first_task: bytes are the 64-bit number of the launch's first task */
} tilec_argument;
/* Compiles `file`, launches `entry` once on copies of the arrays and copies those written back; then launches `repeats` times more for the clock.
 * The median of the device's own seconds, 0 when repeats is 0; negative, with a line on stderr, when something failed. */
double tilec_device_run(const char *file, const char *entry, int threads, int64_t tasks, const tilec_argument *arguments, int count, int repeats);
#endif
