/* Judging one mutant: the simulator at small launches says whether it does harm, the prover gives its verdict, and every witness is run. */
#ifndef TILEC_TEST_MUTATE_JUDGE_H
#define TILEC_TEST_MUTATE_JUDGE_H
#include "operators.h"
#include "prove/prove.h"
#include "sim/sim.h"

enum { LAUNCHES = 6 };

/* A proved kernel that mutants are made of. */
typedef struct mutation_base {
    const char *name;               /* "kernels/matmul.tile: matmul" */
    const char *text;               /* Kernel IR */
    const char *launches[LAUNCHES]; /* at which it behaves: "M = 33, N = 1" */
    int launch_count;
    int64_t steps; /* of the longest of them */
    int sites;
} mutation_base;

typedef struct mutant_result {
    int state; /* MUTANT_... */
    int op, line;
    bool affine;
    bool harmful;    /* the simulator saw it misbehave, at a launch or at a witness */
    bool by_witness; /* only at a witness */
    bool endless;    /* it only ran longer than its limit of steps */
    int verdict;
    int refuted, confirmed, not_run, unconfirmed; /* refuted properties; what became of their witnesses */
    int foreign, foreign_base;                    /* foreign_verdict at a launch: of the mutant, of its base */
    bool harmful_there;                           /* and what the simulator says at that launch */
    double prove_ms, sim_ms;
    char what[160];
    char harm[120]; /* what misbehaved and where */
    char foreign_said[120];
    char reason[120]; /* refuted without a misbehaving witness: which; not proved: why */
} mutant_result;
enum { MUTANT_WAITING, MUTANT_RUNNING, MUTANT_REFUSED, MUTANT_JUDGED, MUTANT_CRASHED };

extern const target_limits mutation_limits;

/* Launches at which the kernel behaves, found by chance with a fixed seed; small ones first. `given` are tried first ("M = 1; M = 2",
 * NULL: none). False with a message in `why` when it misbehaves, or when none was found. */
bool mutation_choose_launches(arena *a, mutation_base *b, const char *given, uint64_t seed, const char **why);
/* Makes the mutant and judges it; `ask_foreign`: by oclgrind, too. Its text is kept in `folder` (NULL: nowhere) when the verdict is
 * wrong. */
void mutation_judge(const mutation_base *b, int site, const char *folder, bool ask_foreign, mutant_result *out);
/* Runs the witness of each refuted property and counts them in `out`. */
void mutation_run_witnesses(const kernel_ir *k, const proof *p, mutant_result *out);
/* Whether a verdict contradicts the simulator: proved though harmful, or refuted at a witness that behaves. */
bool mutation_is_wrong(const mutant_result *r);
#endif
