/* Probing a device: what its matrix instructions do, with evidence. */
#ifndef TILEC_PROBE_PROBE_H
#define TILEC_PROBE_PROBE_H
#include "probe/find.h"
#include "target/fragment_layout.h"
#include <jansson.h>

/* Whose speed is asked: this instruction's, that of the f16 one of the same kind, of one multiply-add a thread, and of the older instruction for the same operands. */
typedef enum rate_of { RATE_OWN, RATE_TWIN, RATE_SCALAR, RATE_LEGACY, RATE_COUNT } rate_of;

/* An instruction of a device, opened. */
typedef struct probe_target {
    matrix_box box;
    char description[512];       /* the device, in words */
    const matrix_unit *recorded; /* what was found of this kind of device before; NULL: nothing */
    const char *recorded_as;     /* "h200" */
    /* Cases from `first` on of pairs (position of a, position of b) with 1 in both and 0 elsewhere: 32 bytes a case, of each lane the set of result
     * elements that are not 0. NULL: operands do not lie in registers. */
    bool (*onehot)(void *context, int first, int cases, unsigned char *out, diag_list *diags);
    /* One sample of a speed: multiply-adds a second. NULL: not asked. */
    bool (*rate)(void *context, rate_of which, double *per_second, diag_list *diags);
    const char *twin, *legacy; /* their names; legacy NULL: there is no older one */
    int twin_bits;             /* of the twin's operands; 0: 16 */
    /* The same over more than a second, and what the device draws meanwhile: watts, 0 where nobody tells. */
    bool (*sustained)(void *context, rate_of which, double *per_second, double *watts, diag_list *diags);
    const char *(*opcodes)(
        void *context,
        arena *a); /* a line beside the speed: which machine instructions it became, what it draws; NULL: nobody tells */
    /* The same instruction with operands elsewhere; each opens when asked for. 0: none. */
    int place_count;
    bool (*place)(void *context, int number, const char **name, matrix_box *out, diag_list *diags);
    /* What must be compared with it on random dots: the same told not to read c (`without_addend`), and the older instruction. NULL: nothing. */
    int rival_count;
    bool (*rival)(void *context, int number, const char **name, bool *without_addend, matrix_box *out, diag_list *diags);
    bool at_hand; /* it answers now: what is asked may follow from earlier answers */
    void *context;
    void (*close)(void *context);
} probe_target;

/* Devices: "cuda:N", "cpu", "model:NAME" (a recorded one). Their instructions; NULL and E1201 when there is no such device, E1202 when it has none. Arena. */
const char *const *probe_instructions(arena *a, const char *device, int *count, diag_list *diags);
/* False with a diagnostic: no such instruction (E1203), or the device does not take it. */
bool probe_open(arena *a, const char *device, const char *instruction, probe_target *out, diag_list *diags);
void probe_close(probe_target *t);

/* ---- layouts (layout_probe.c) ---- */
typedef struct layout_finding {
    bool asked;
    int64_t pairs, hits, mismatches; /* hits: pairs whose product came out somewhere */
    bool unsteady;                   /* asked again, the device answered otherwise: nothing is found */
    uint64_t answers;                /* of all answers, in order */
    const char *verdict;
    VEC(const char *) differences; /* the first few entries that stand elsewhere than the table says */
} layout_finding;
/* Holds the three layouts of `instruction` against one-hot answers. Rows and columns of the result are named by the table's layout of it, steps of k by the
 * table's layout of b. False with a diagnostic when the device fails. */
bool layout_probe(arena *a, const probe_target *t, const fragment_layout layouts[3], layout_finding *out, diag_list *diags);
/* Where operands lie in memory: every pair of one-hot operands, row and k of a with k and column of b, as tiles of `box`, whose kernel places them
 * and names the results as the documents say; each must come out in its own cell alone. False with a diagnostic when the device fails. */
bool layout_probe_memory(arena *a, const matrix_box *box, layout_finding *out, diag_list *diags);
/* Both ask twice where something stands elsewhere than documented: `first` is unsteady where the answers are not those of `again`. */
void layout_settle(arena *a, layout_finding *first, const layout_finding *again);
/* A simulated device's answers, for planted layouts (a, b, c). */
bool layout_simulate(void *layouts, int first, int cases, unsigned char *out, diag_list *diags);

/* ---- dots on record (known_dots.c), and two instructions side by side (compare.c) ---- */
typedef struct known_finding {
    int asked, as_recorded;
    const char *verdict;
    VEC(const char *) evidence; /* dot by dot: the answer, and the published models that it refutes */
} known_finding;
/* False with a diagnostic when the device fails. */
bool known_dots(arena *a, const probe_target *t, known_finding *out, diag_list *diags);
typedef struct compare_finding {
    bool asked;
    const char *name, *verdict; /* name: "against m16n8k32.e4m3" */
    int64_t dots, differ;
    VEC(const char *) evidence;
} compare_finding;
/* `each` dots of every kind. `without_addend`: x is given no c, y one that it must not read. False with a diagnostic when a device fails. */
bool compare_boxes(arena *a, const matrix_box *x, const matrix_box *y, const char *name, bool without_addend, int each,
                   uint64_t seed, compare_finding *out, diag_list *diags);

/* ---- speed (rate.c) ---- */
typedef struct rate_finding {
    bool asked, determined; /* not determined: the ratio varied by more than a tenth */
    bool
        accelerated; /* at least 3/4 of the twin's speed times 16 over the operand's bits: 1.5 for 8 bits, which two emulated halves can't reach */
    double ratio;             /* multiply-adds a second over the twin's, the median of pairs */
    double per_second, watts; /* its own; watts 0: not told */
    const char *verdict;
    VEC(const char *) evidence;
} rate_finding;
/* Where it executes, by three signals: its speed over that of multiply-adds in the threads' own units, over the older instruction's, and the energy of a
 * multiply-add. `accelerated`: in the matrix unit; `ratio`: over the threads' own. False with a diagnostic when the device fails. */
bool place_probe(arena *a, const probe_target *t, rate_finding *out, diag_list *diags);
/* False with a diagnostic when the device fails. */
bool rate_probe(arena *a, const probe_target *t, rate_finding *out, diag_list *diags);

/* ---- one instruction, everything (run.c) ---- */
enum { PROBE_MOST_PLACES = 2, PROBE_MOST_RIVALS = 2 };
typedef struct probe_options {
    int64_t dots;    /* for the model's check */
    int64_t planted; /* for the planted errors */
    uint64_t seed;
    int workers;
} probe_options;
typedef struct probe_result {
    const char *instruction, *description, *claim;
    layout_finding layout, placed[PROBE_MOST_PLACES]; /* placed: with operands elsewhere */
    const char *place_names[PROBE_MOST_PLACES];
    known_finding known;
    compare_finding compared[PROBE_MOST_RIVALS];
    rate_finding rate, place;
    matrix_finding finding;
    matrix_unit judged; /* the recorded unit, or the found one */
    bool has_judged, judged_is_recorded;
    matrix_check check; /* of `judged` */
    planted_unit plants[PLANT_MOST];
    matrix_check plant_checks[PLANT_MOST];
    int plant_count, plants_unnoticed;
    double seconds;
} probe_result;
/* False with diagnostics when the device fails: nothing is found then. */
bool probe_run(arena *a, const probe_target *t, const probe_options *o, probe_result *out, diag_list *diags);
/* Asks everything that probe_run asks, and takes no notice of the answers. */
bool probe_ask(arena *a, const matrix_box *box, const probe_options *o, diag_list *diags);
/* Everything found was determined, and no check failed. */
bool probe_holds(const probe_result *r);
void probe_print(arena *a, const probe_result *r, bool evidence);
/* Rows for the store, one a fact, into an array. */
void probe_rows(arena *a, const char *device, const probe_result *r, json_t *rows);
#endif
