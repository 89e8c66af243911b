/* RAPL through the power capping folder. */
#include "bench/power.h"
#include <errno.h>
#include <stdio.h>

/* A number in a file of package n: < 0 when it can't be read. */
static double number_of(const char *root, int n, const char *file) {
    char path[256];
    double value = -1;
    snprintf(path, sizeof path, "%s/intel-rapl:%d/%s", root, n, file);
    FILE *f = fopen(path, "r");
    if (!f)
        return -1;
    if (fscanf(f, "%lf", &value) != 1)
        value = -1;
    fclose(f);
    return value;
}

static bool is_there(const char *root, int n) {
    char path[256];
    snprintf(path, sizeof path, "%s/intel-rapl:%d/name", root, n);
    FILE *f = fopen(path, "r");
    if (f)
        fclose(f);
    return f != NULL;
}

bool power_begin(power_meter *m, const char *root) {
    *m = (power_meter){.root = root ? root : "/sys/class/powercap"};
    bool any = false;
    for (int n = 0; n < POWER_MOST_DOMAINS; n++) {
        if (!is_there(m->root, n))
            continue;
        any = true;
        double energy = number_of(m->root, n, "energy_uj");
        if (energy < 0)
            continue;
        m->numbers[m->domains] = n;
        m->before[m->domains++] = energy;
    }
    m->why_not = m->domains ? NULL
                 : any      ? "RAPL's counters may be read by the superuser alone"
                            : "the system has no RAPL counters (/sys/class/powercap/intel-rapl:0 is missing)";
    return m->domains > 0;
}

double power_end(const power_meter *m) {
    double all = 0;
    for (int i = 0; i < m->domains; i++) {
        double now = number_of(m->root, m->numbers[i], "energy_uj"),
               range = number_of(m->root, m->numbers[i], "max_energy_range_uj");
        if (now < 0 || (now < m->before[i] && range < 0))
            return -1;
        all += now >= m->before[i] ? now - m->before[i] : now + range - m->before[i];
    }
    return all / 1e6;
}
