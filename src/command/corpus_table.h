/* The corpus: which kernels are run at which shapes, on which data. */
#ifndef TILEC_COMMAND_CORPUS_TABLE_H
#define TILEC_COMMAND_CORPUS_TABLE_H
#include <stdbool.h>

typedef struct corpus_row {
    const char *kernel;    /* a kernel or program of the kernels folder */
    const char *shape;     /* "M=64 N=64": symbols */
    const char *arguments; /* "eps=1e-6 x=positive": scalars, and arrays that are not `random` */
    bool full;             /* only with --full: too large for a minute */
} corpus_row;
extern const corpus_row corpus_table[];
extern const int corpus_count;
/* Every kernel once, ragged and small: what simulated devices run. */
extern const corpus_row corpus_small_table[];
extern const int corpus_small_count;
#endif
