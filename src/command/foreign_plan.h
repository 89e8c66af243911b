/* A foreign kernel as a launch plan: what it assumes becomes checks. */
#ifndef TILEC_COMMAND_FOREIGN_PLAN_H
#define TILEC_COMMAND_FOREIGN_PLAN_H
#include "command/foreign.h"

/* A plan of the one kernel, whose assumptions, ranges of scalars and extents are checked before anything runs. */
launch_plan *foreign_plan(arena *a, kernel_ir *k);
/* Legalises the kernel for the target and proves the plan. `routes` gains each rewriting, and each refused. NULL with diagnostics. */
const proved_plan *foreign_prove(report *r, launch_plan *p, const target *t, proof *verdicts, legal_routes *routes);
/* A copy of the kernel proved for launches with these values of its symbols; what else it takes is the contract's to say. NULL with diagnostics. */
const proved_plan *foreign_prove_for(report *r, const kernel_ir *k, const int64_t *integers, const target *t, proof *verdicts,
                                     legal_routes *routes);
/* --explain: a line a route; and in the entry (NULL: none) `routes`. */
void foreign_explain(report *r, const command_line *line, const legal_routes *routes, json_t *entry);
#endif
