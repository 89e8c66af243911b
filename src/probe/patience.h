/* Devices that never answer. A driver's wait for one can't be given up, so the process is. */
#ifndef TILEC_PROBE_PATIENCE_H
#define TILEC_PROBE_PATIENCE_H
#include <stdbool.h>

/* From here on a question that has waited so many seconds ends this process: it says so, and SIGTERM does the rest. For a program alone, once. False: no thread for it. */
bool patience_begin(int seconds);
void patience_starts(void);
bool patience_ends(bool answered); /* gives `answered` back */
/* Around each call that waits for a device. */
#define ANSWERED(call) (patience_starts(), patience_ends(call))
#endif
