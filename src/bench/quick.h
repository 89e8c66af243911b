/* Quick times, for commands that show one beside something else: no claims are made from them. */
#ifndef TILEC_BENCH_QUICK_H
#define TILEC_BENCH_QUICK_H
#include "run/session.h"

/* The median time of a launch of a prepared call, all its steps together, in milliseconds: `least` launches, then as many as fit
 * the budget. False when a launch failed. */
bool quick_launch_ms(run_call *call, int least, double budget_ms, double *out, diag_list *diags);
/* How long this program takes to start and end: the median of five runs of `tilec --version`, in milliseconds; negative when it
 * could not be run. */
double quick_start_up_ms(void);
#endif
