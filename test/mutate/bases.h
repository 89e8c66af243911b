/* The kernels that mutants are made of: those of kernels/ and test/accept, lowered, and the texts of test/kernel-ir. */
#ifndef TILEC_TEST_MUTATE_BASES_H
#define TILEC_TEST_MUTATE_BASES_H
#include "judge.h"

typedef struct mutation_bases {
    arena *arena;
    VEC(mutation_base) items;
    VEC(const char *) left_out; /* "NAME: why": not proved, or nothing that the simulator can run */
    bool unproved_too;          /* kernels that are not proved are taken all the same: what the simulator says of their mutants */
    int one_in;                 /* of the lowered kernels only one in so many is taken, by its name; 0: all */
    int misbehaving;            /* proved, but the simulator sees them misbehave as they stand */
    int wrongly_refuted;        /* refuted, but they behave at the witness */
} mutation_bases;

/* Reads, lowers, proves every kernel whose name contains `wanted` (NULL: all), and finds launches for it. */
void bases_collect(mutation_bases *out, const char *wanted);
#endif
