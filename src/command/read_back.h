/* tilec check --read-back: what a target is given is what was proved. The text printed for a plan is read again (lift/), and both run in the simulator, every
 * access checked, on the same data: each of their results must be the same, bit for bit. */
#ifndef TILEC_COMMAND_READ_BACK_H
#define TILEC_COMMAND_READ_BACK_H
#include "command/command.h"

/* One launch of the kernel, whose launch values --shape says (those not named are small). A line, or an object in `out`, for each form of the text that takes
 * such a launch (--read-back all), or for the quickest. False with diagnostics when a text is not read, misbehaves, or differs; targets whose text is no kernel for blocks of threads are refused. */
bool read_back(report *r, const command_line *line, const compiled_kernel *c, const target *t, json_t *out);
#endif
