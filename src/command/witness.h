/* Refutations that run: a witness executed in the simulator, beside the verdict. And Kernel IR texts on the command line. */
#ifndef TILEC_COMMAND_WITNESS_H
#define TILEC_COMMAND_WITNESS_H
#include "command/command.h"

/* Runs the plan at the witness of every refuted property and prints what misbehaved, or that nothing did, which is an error of its own
 * (E0728). With --json the outcomes are the result, a new array; NULL otherwise. */
json_t *witness_run(report *r, const launch_plan *plan, const proof *verdicts);

/* Runs the plan where a property is neither proved nor refuted, on several data: what a run shows is refuted, and a diagnostic. */
void witness_seek(report *r, const launch_plan *plan, proof *verdicts);

/* Whether a file is Kernel IR, by its name: X.kir. */
bool kernel_text_named(const char *path);
/* Reads and checks a Kernel IR text. NULL with diagnostics. */
kernel_ir *kernel_text_read(report *r, const char *path);
const target_limits *kernel_any_machine(void);
/* Those of --target, or any machine's, with the time that --limit gives a proof, or `seconds` (0: the prover's own). False with E0860 or E0862. */
bool kernel_proof_limits(report *r, const command_line *line, double seconds, target_limits *out);
/* Proves a kernel for the target (NULL: any machine), prints or appends what was found, diagnostics from `first` on among it. */
bool kernel_ir_check(report *r, const command_line *line, const kernel_ir *k, const target_limits *limits, int first,
                     proof *verdicts, json_t *list);
/* tilec check X.kir: proves it, for the target of --target or for any machine. Appends to `list` with --json. */
bool kernel_text_check(report *r, const command_line *line, const char *path, json_t *list);
/* tilec run X.kir --device sim: executes it at the launch values of --shape and --arg, on made-up data, in several interleavings. */
bool kernel_text_run(report *r, const command_line *line, const char *path);
#endif
