/* The headers that stand for those of Metal and CUDA: texts inside the program. Private to lift/. */
#ifndef TILEC_LIFT_SHIM_H
#define TILEC_LIFT_SHIM_H
#include "lift/front.h"

/* Writes those whose names begin so into the reading's private folder. False with E1101. */
bool shim_write(front *f, const char *prefix);
#endif
