/* Accesses that a device may refuse for their alignment: each is tried in a process of its own, which a fault may end. */
#ifndef TILEC_PROBE_ACCESS_H
#define TILEC_PROBE_ACCESS_H
#include "base/diag.h"
#include "run/run.h"

/* What becomes of an access `offset` bytes behind an aligned place. */
typedef enum access_outcome {
    ACCESS_TAKEN,
    ACCESS_ELSEWHERE, /* taken, and it touched other bytes */
    ACCESS_NOT_COMPILED,
    ACCESS_FAULTED,   /* by the device, or the process that asked was ended */
    ACCESS_NOT_ASKED, /* there is no such device or access, or it fails otherwise */
} access_outcome;
const char *access_outcome_text(access_outcome o);

/* Not an access: whether a kernel may declare so many bytes of local memory, which some drivers of OpenCL end the process for. */
#define ACCESS_LOCAL_MEMORY "local memory"
enum { ACCESS_MOST_OFFSET = 1 << 26 };
/* The accesses of "cpu", "cuda:0", "opencl:0" and the alignment in bytes that documents want; NULL past the last. */
const char *access_name(const char *device, int number, int *documented);
/* The kernel `touch` (bytes, offset) that asks for one, by number; NULL: no kernel does. Arena. */
char *access_text(arena *a, const char *device, int number);
/* Asks here, and may not come back. *words: what the compiler or the driver said; NULL: nothing. Arena. */
access_outcome access_try(arena *a, const char *device, const char *name, int offset, const char **words);
/* Asks in a child, which is this program with `probe NAME --offset N`. */
access_outcome access_ask(arena *a, const char *device, const char *name, int offset, const char **words);
/* Whether the driver makes a tensor map of 64 rows of 1024 16-bit words at `offset` of a CUDA device's memory, 1 MiB at least: *status is its answer, 0 when it
 * does. False: it makes none. */
bool access_map(device *d, const void *memory, int64_t offset, int64_t stride, uint32_t box_elements, uint32_t rows,
                bool swizzled, int *status);
/* On processors (access_cpu.c). */
const char *access_cpu_name(int number, int *documented);
access_outcome access_cpu_try(int number, int offset);
#endif
