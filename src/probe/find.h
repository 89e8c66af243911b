/* Finding a matrix unit's parameters from its answers alone. Ladders of dots are asked; every value that the answers refute falls; what is left is the
 * finding, and it must then explain random dots to the bit. A fact is a file: what it asks, how, and which parameters it settles. */
#ifndef TILEC_PROBE_FIND_H
#define TILEC_PROBE_FIND_H
#include "probe/box.h"

typedef enum matrix_parameter {
    PARAMETER_ORDER, /* shape, step_mask, descending and addend_apart together */
    PARAMETER_ALIGNMENT,
    PARAMETER_CUT,
    PARAMETER_OUTPUT_BITS,
    PARAMETER_ROUNDING,
    PARAMETER_NORMALISED_PRODUCTS,
    PARAMETER_NORMALISED_OPERANDS,
    PARAMETER_NORMALISED_ADDEND,
    PARAMETER_ZEROS_COUNT,
    PARAMETER_LOWEST_EXPONENT,
    PARAMETER_FLUSH_OPERANDS,
    PARAMETER_FLUSH_ADDEND,
    PARAMETER_FLUSH_RESULT,
    PARAMETER_SIGNED_ZERO,
    PARAMETER_OVERFLOW_CLAMPS,
    PARAMETER_NAN,
    PARAMETER_IGNORED_BITS,
    PARAMETER_SATURATE,
    PARAMETER_COUNT
} matrix_parameter;

/* A parameter's value as a number, and back. */
int64_t parameter_get(const matrix_unit *u, matrix_parameter p);
void parameter_set(matrix_unit *u, matrix_parameter p, int64_t value);
/* The values that are tried, the plainest first. `values` holds at least PARAMETER_MOST_VALUES. NAN has none: it is read from an answer. */
enum { PARAMETER_MOST_VALUES = 1024 };
int parameter_values(const matrix_unit *u, matrix_parameter p, int64_t *values);
bool parameter_aligns(matrix_parameter p); /* whether it is about aligning terms: without a part where they are added exactly */
const char *parameter_name(matrix_parameter p);
const char *parameter_text(arena *a, const matrix_unit *u, matrix_parameter p, int64_t value); /* "25 bits" */

/* Questions of one fact. */
typedef struct matrix_ladder {
    arena *arena;
    const matrix_box *box;
    VEC(matrix_question) questions;
} matrix_ladder;

typedef struct matrix_fact_row {
    const char *name;            /* "alignment" */
    const char *asks;            /* what is asked, in words */
    const char *method;          /* how */
    matrix_parameter settles[8]; /* PARAMETER_COUNT ends them */
    void (*ask)(matrix_ladder *l);
    bool whole; /* of whole numbers; otherwise of floats */
} matrix_fact_row;
extern const matrix_fact_row *const matrix_fact_rows[];
extern const int matrix_fact_count;

/* ---- building questions (find_ladder.c). An exponent that the formats cannot say makes a question void: `ladder_add` leaves it out. ---- */
typedef struct ladder_dot {
    matrix_question question;
    bool possible;
} ladder_dot;
ladder_dot ladder_zero(const matrix_ladder *l);
/* a[position] * b[position] = +-2^exponent, by normal factors where they reach it. */
void ladder_power(const matrix_ladder *l, ladder_dot *d, int position, bool negative, int exponent);
/* Codes as they are. */
void ladder_codes(const matrix_ladder *l, ladder_dot *d, int position, uint32_t a, uint32_t b);
void ladder_addend(const matrix_ladder *l, ladder_dot *d, bool negative, int exponent, uint32_t fraction);
void ladder_add(matrix_ladder *l, const ladder_dot *d);
/* Exponents of products and addends that all formats reach without subnormals. */
int ladder_highest(const matrix_box *b);
int ladder_lowest(const matrix_box *b);
/* Dots of random codes: `kind` 0 narrow and dense, 1 wide, 2 with cancellation, 3 sparse, 4 near the smallest, 5 large, 6 any bits but NaN and infinity, 7 any
 * bits. */
enum { LADDER_KINDS = 8 };
void ladder_random(const matrix_box *b, uint64_t *state, int kind, matrix_question *q);

/* ---- findings ---- */
typedef enum { FACT_FOUND, FACT_UNREACHABLE, FACT_NOT_DETERMINED } fact_status;
typedef struct matrix_fact {
    const matrix_fact_row *row;
    fact_status status;
    const char *verdict;        /* one line */
    VEC(const char *) evidence; /* what refuted the neighbouring values, a line each */
    int questions;
} matrix_fact;

typedef struct matrix_finding {
    bool determined;     /* one unit, up to differences that nothing asked can show, explains every answer */
    const char *why_not; /* otherwise */
    matrix_unit unit;
    VEC(matrix_fact) facts;
    int questions, unstable;
    int64_t checked, mismatches; /* random dots against the model */
} matrix_finding;

typedef struct find_options {
    int64_t random; /* random dots to check the model with */
    uint64_t seed;
    int workers; /* threads */
} find_options;
/* False with diagnostics only when the device fails; then nothing is found. */
bool matrix_find(arena *a, const matrix_box *box, const find_options *o, matrix_finding *out, diag_list *diags);

/* Asks everything that matrix_find asks, and takes no notice of the answers. */
bool matrix_find_ask(arena *a, const matrix_box *box, const find_options *o, diag_list *diags);

/* Random dots in whole tiles, compared with a unit's model. */
typedef struct matrix_check {
    int64_t dots, mismatches;
    int64_t by_kind[LADDER_KINDS];
    matrix_question first; /* a dot that mismatched, with the device's answer */
} matrix_check;
/* The same dots against several units, so that planted errors are judged by the same answers. */
bool matrix_check_run(const matrix_box *box, const matrix_unit *units, int unit_count, int64_t dots, uint64_t seed, int workers,
                      matrix_check *out, diag_list *diags);
/* Units that differ from `u` in one parameter by one step, with a name each. The device's answers must refute them. Returns how many. */
enum { PLANT_MOST = 32 };
typedef struct planted_unit {
    matrix_unit unit;
    const char *name;
} planted_unit;
int matrix_plants(arena *a, const matrix_unit *u, planted_unit *out);
/* "c = -1; 1 x 1 at 0, 0x1p-13 x 0x1p-12 at 1" */
const char *question_text(arena *a, const matrix_box *box, const matrix_question *q);
#endif
