/* Private to prove/. */
#ifndef TILEC_PROVE_ALIGNMENT_H
#define TILEC_PROVE_ALIGNMENT_H
#include "prove/model.h"

/* Vectors marked `aligned` begin at multiples of their size, whatever the launch: the array's base by its `align`, the offset by its indices. */
void judge_alignment(prover *p);
#endif
