/* A second judge of harm: oclgrind, an interpreter of OpenCL that knows nothing of tilec, runs what the OpenCL printer makes of a mutant. */
#ifndef TILEC_TEST_MUTATE_FOREIGN_H
#define TILEC_TEST_MUTATE_FOREIGN_H
#include "kernel/kernel.h"

typedef enum foreign_verdict {
    FOREIGN_NOT_PUT,   /* not asked: it is not installed, or OpenCL has no words for the kernel at this launch */
    FOREIGN_NO_ANSWER, /* it was run, and ended with an error of its own or took too long */
    FOREIGN_QUIET,
    FOREIGN_HARM
} foreign_verdict;

/* Whether oclgrind-kernel is there. */
bool foreign_available(void);
/* Runs a kernel at a launch, "M = 33, N = 1", with constant data. It sees races, accesses outside a buffer and barriers that not all reach, but knows
 * no rows inside a buffer. `said`: what it objects to, and where. */
foreign_verdict foreign_judge(const char *name, const char *text, const char *launch, char *said, size_t size);
#endif
