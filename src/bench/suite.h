/* Which cells are measured: from a suite's file or the command line; sweeps, shards, tournaments. */
#ifndef TILEC_BENCH_SUITE_H
#define TILEC_BENCH_SUITE_H
#include "bench/lab.h"

typedef struct suite {
    VEC(lab_cell) cells;
} suite;

/* Reads a suite: {"cells": [{"kernel": "matmul_f32", "shapes": ["M=64 N=64 K=64"], "arms": ["ours", "openblas"],
 * "threads": [1, "all"], "modes": ["warm"], "arguments": "eps=1e-6", "levers": ["wide:BN=256"], "file": "mine.tile", "beside": [{"kernel": "mine", "file": "mine.tile", "shape": "L=64"}]}]}. A
 * "{here}" in an arm or a file is the suite's folder. False
 * with E1020 or E1010. */
bool suite_read(arena *a, const char *path, suite *out, diag_list *diags);
/* One cell for each shape and number of threads. `threads` NULL: one, and all. False with E1010. */
bool suite_add(arena *a, suite *s, const lab_cell *like, const char *const *shapes, int shape_count, const char *threads,
               diag_list *diags);
/* A tournament (tournament.c): turns the levers ("wide:BN=256", up to four) into arms: each alone, and every stack of them whose levers set different
 * keys, all upon the cell's one arm, "ours", "ours@cuda" or "ours:BM=64". False with E1010. */
bool suite_levers(arena *a, lab_cell *cell, const char *const *levers, int count, diag_list *diags);
/* "2/4": keeps every fourth cell, beginning with the second. False with E1010. */
bool suite_shard(suite *s, const char *text, diag_list *diags);
#endif
