/* tilec check --read-back: what a target is given is what was proved. The text printed for a plan is read again (lift/), and both run in the simulator, every
 * access checked, on the same data: each of their results must be the same, bit for bit. */
#ifndef TILEC_COMMAND_READ_BACK_H
#define TILEC_COMMAND_READ_BACK_H
#include "command/command.h"

typedef struct read_back_kernel {
    const proved_plan *plan;
    json_t *entry; /* of the kernel, where JSON is written: gains `read_back`, and loses `held` where a text differs; else NULL */
} read_back_kernel;

/* One launch of each kernel, whose launch values --shape says (those not named are small). A line, or an object, for each form of its text that takes such a
 * launch (--read-back all), or for the quickest. --read-back FILE: the quickest's function is taken from that text of the same target instead of being printed. The
 * texts of all kernels are compiled together. False with diagnostics when a text is not read, misbehaves, or differs. */
bool read_back(report *r, const command_line *line, const read_back_kernel *kernels, int count, const target *t);

/* One launch of a program, its symbols and integers as --shape says: the text of each step's kernel is read and compared on the data that the steps before it
 * left, in the program's order. Of target c the program's own text (--read-back FILE: that file instead, and nothing else is read) is compiled and called, too: its results must be those
 * that the steps' Kernel IR gives in order. False with diagnostics. `list` gains an object where JSON is written. */
bool read_back_program(report *r, const command_line *line, const tile_module *m, const tile_program *p, const compile_options *o,
                       json_t *list);
#endif
