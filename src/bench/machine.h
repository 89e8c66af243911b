/* The machine: what it is (an environment, with a hash) and what state it was in while something was measured. */
#ifndef TILEC_BENCH_MACHINE_H
#define TILEC_BENCH_MACHINE_H
#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

int64_t machine_last_cache_bytes(void); /* 32 MB when the system does not tell */
int64_t machine_available_bytes(void);
int machine_processors(void);

/* Everything that stays the same between runs on one machine and can change a time: processor, caches, memory, system, compiler.
 * A new object. */
json_t *machine_environment(void);
/* The hash that names the environment's file (12 digits and a NUL). */
void machine_environment_hash(const json_t *environment, char digits[13]);
/* Variables that steer libraries and threads (OMP_*, OPENBLAS_*, MKL_*, TILEC_*), as they are set now. A new object. */
json_t *machine_overrides(void);
/* One line of a program's output, heap text; NULL when it could not be run. */
char *machine_ask(const char *const *words);

/* A moment; the state lies between two of them. */
typedef struct machine_mark {
    double wall_ns, own_ns; /* own: this process and `others` */
    double busy_ticks, steal_ticks, total_ticks;
} machine_mark;
machine_mark machine_now(const pid_t *others, int count);
/* load, steal, frequency, what others used; "state": "quiet", or "loaded" when others used over a twentieth of the machine or
 * steal was over 1%. A new object. */
json_t *machine_state(const machine_mark *from, const machine_mark *to);

/* nvml.c: one object a GPU (name, driver, clocks, power, temperature, throttle reasons), through NVML where it is installed; an
 * empty array otherwise. */
json_t *machine_gpus(void);
#endif
