/* What this machine's processor draws, where the system tells: RAPL's counters of energy under /sys/class/powercap. */
#ifndef TILEC_BENCH_POWER_H
#define TILEC_BENCH_POWER_H
#include <stdbool.h>

enum { POWER_MOST_DOMAINS = 16 };
typedef struct power_meter {
    const char *root; /* "/sys/class/powercap" */
    int domains;      /* packages */
    int numbers[POWER_MOST_DOMAINS];
    double before[POWER_MOST_DOMAINS]; /* microjoules */
    const char *why_not;               /* a static text; NULL: it tells */
} power_meter;
/* Reads the counters. `root` NULL: the system's. False, and why_not, where nobody tells. */
bool power_begin(power_meter *m, const char *root);
/* Joules of all packages since then; each counter may have gone round once. Below 0: a counter can't be read any more. */
double power_end(const power_meter *m);
#endif
