/* Kernels in other languages for the measuring lab. */
#ifndef TILEC_COMMAND_FOREIGN_BENCH_H
#define TILEC_COMMAND_FOREIGN_BENCH_H
#include "bench/arm.h"

/* Reads and proves as `tilec run k.cl` does; it has no context. */
extern const arm_reader foreign_reader;
#endif
