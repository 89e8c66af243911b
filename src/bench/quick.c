/* Quick times. */
#define _XOPEN_SOURCE 700
#include "bench/quick.h"
#include "bench/clock.h"
#include "bench/statistics.h"
#include <fcntl.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/wait.h>

extern char **environ;

bool quick_launch_ms(run_call *call, int least, double budget_ms, double *out, diag_list *diags) {
    enum { MOST = 101 };
    int most = least > MOST ? least : MOST, done = 0;
    double *all = malloc(sizeof *all * (size_t)most), start = clock_now_ns();
    bool good = all != NULL;
    while (good && (done < least || (done < most && clock_now_ns() - start < budget_ms * 1e6))) {
        good = call_run(call, diags);
        all[done] = 0;
        for (int i = 0; i < call->steps.count; i++)
            all[done] += call->steps.at[i].milliseconds;
        done++;
    }
    if (good) {
        statistics_sort(all, done);
        *out = statistics_quantile(all, done, 0.5);
    } else if (!all) {
        diag_error(diags, "E0648", (source_span){0}, "no memory for %d times", most);
    }
    free(all);
    return good;
}

double quick_start_up_ms(void) {
    enum { RUNS = 5 };
    double all[RUNS];
    char *words[] = {"tilec", "--version", NULL};
    posix_spawn_file_actions_t quiet;
    if (posix_spawn_file_actions_init(&quiet))
        return -1;
    posix_spawn_file_actions_addopen(&quiet, 1, "/dev/null", O_WRONLY, 0);
    bool good = true;
    for (int i = 0; good && i < RUNS; i++) {
        double start = clock_now_ns();
        pid_t child;
        int status = 1;
        good = posix_spawn(&child, "/proc/self/exe", &quiet, NULL, words, environ) == 0 && waitpid(child, &status, 0) == child &&
               status == 0;
        all[i] = (clock_now_ns() - start) / 1e6;
    }
    posix_spawn_file_actions_destroy(&quiet);
    return good ? statistics_median(all, RUNS) : -1;
}
