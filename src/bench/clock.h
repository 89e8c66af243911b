/* The one clock of every measurement on a host: monotonic, the same in every process of the machine. */
#ifndef TILEC_BENCH_CLOCK_H
#define TILEC_BENCH_CLOCK_H
#include <sys/types.h>

#define CLOCK_NAME "host, CLOCK_MONOTONIC"

/* Of a device with queues: its own marks before and after launches that were recorded and are replayed. */
#define CLOCK_DEVICE_NAME "device, around recorded launches"

double clock_now_ns(void);
/* Processor time used so far by this process (0) or by another one, all threads together; negative when it cannot be told. */
double clock_used_ns(pid_t process);
/* Waits until this process and `others` have gone idle (libraries' threads spin for a while after their work), 100 ms at most. */
void clock_settle(const pid_t *others, int count);
#endif
