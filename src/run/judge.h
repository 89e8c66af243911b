/* The judge of values: runs a prepared call step by step and compares every result with the oracle on the very bytes the device got. */
#ifndef TILEC_RUN_JUDGE_H
#define TILEC_RUN_JUDGE_H
#include "run/session.h"

typedef struct judge_options {
    double budget_ms;     /* of oracle time; beyond it a random part of the tasks is compared. Negative: no limit */
    double vacuous_share; /* more vacuous bounds than this share of the compared cells fail the check; 1: never */
    uint64_t seed;        /* chooses the part */
} judge_options;

typedef struct judgement {
    bool passed;
    int64_t cells; /* that the steps' outputs have */
    int64_t compared, vacuous, failed;
    double worst_ratio; /* worst error as a share of its bound */
    bool complete;      /* every task was compared */
    double oracle_ms, run_ms;
} judgement;

/* Runs the call (results and temporaries poisoned first) and judges it. False with a diagnostic when it could not be run or judged;
 * out->passed tells whether the values held, each failure a diagnostic (E0790, E0791). */
bool judge_call(run_call *c, const judge_options *options, judgement *out, diag_list *diags);
#endif
