/* The launch contract of a foreign kernel: what its text does not say and its host program knows. doc/reading.md describes flags and the sidecar file. */
#ifndef TILEC_LIFT_CONTRACT_H
#define TILEC_LIFT_CONTRACT_H
#include "base/diag.h"
#include "base/element.h"

/* More than any device has: what a target allows the capacity proof says. */
enum { MOST_BLOCK_THREADS = 1 << 20 };

/* One argument. Texts are read when the launch's names are known. */
typedef struct contract_argument {
    const char *name;
    const char *low, *high;    /* a scalar's range; both the same for one value; NULL: not said */
    VEC(const char *) extents; /* a buffer's, in elements, outermost first */
    bool has_type;
    element_type type;
    bool promised;     /* `out`: the kernel must write every element, once */
    bool only_read;    /* `in`: the host's memory is read-only */
    bool only_written; /* `unread`: it is write-only */
    bool unset;        /* the host has not filled it */
    const char *below; /* every element is in 0 .. below - 1; NULL: not said */
    source_span span;
} contract_argument;

typedef struct lift_contract {
    int64_t block[3];       /* threads of a block; 0: not said */
    VEC(const char *) grid; /* blocks in each direction, over launch values; empty: unknown numbers */
    VEC(contract_argument) arguments;
    VEC(const char *) conditions; /* --where */
    VEC(const char *) opaque; /* functions without a body that touch no memory others reach, order nothing and give anything */
    int subgroup;             /* lanes; 0: 32 */
    bool lockstep;            /* they make each access together */
    int64_t shared_bytes;     /* of each shared array whose size comes with the launch and is not said; 0: it is to be said */
    int64_t largest;          /* extents, and integer scalars in magnitude, unless an argument says more; 0: 2^30 */
    /* Arguments never overlap: that is checked where a launch is made. */
} lift_contract;

/* One line of a sidecar file, or a flag and its value: "block", "16,16". False with E1130. */
bool contract_add(arena *a, lift_contract *c, const char *key, const char *value, source_span span, diag_list *diags);
/* Reads a sidecar file (k.launch beside k.cl) into the contract: lines `key value`, under `kernel NAME` only that kernel's. A missing file is none. */
bool contract_read(arena *a, lift_contract *c, const char *path, const char *kernel, diag_list *diags);
/* The file's `step` lines, in order: the host's launches. */
typedef VEC(const char *) contract_steps;
bool contract_read_steps(arena *a, const char *path, contract_steps *out, diag_list *diags);
#endif
