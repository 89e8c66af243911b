/* What this machine can do at most, measured in the same run: probes in C, compiled and run like kernels. */
#ifndef TILEC_BENCH_CEILINGS_H
#define TILEC_BENCH_CEILINGS_H
#include "run/session.h"

typedef struct ceilings {
    int threads;
    double launch_ns;                /* of a kernel with one empty task, */
    double launch_all_ns;            /* and of one with a task for each thread */
    double fma_per_second;           /* f32 operations, a fused multiply-add being two */
    double matrix_per_second;        /* bf16 operations of a matrix unit; 0 when there is none that the probe knows (AMX) */
    double read_memory, copy_memory; /* bytes a second over three times the last cache; 0 when memory does not suffice */
    int64_t memory_bytes;            /* that these two went over */
} ceilings;

typedef struct ceiling_probe ceiling_probe;
/* Compiles the probes and starts `threads` threads. NULL with a diagnostic. */
ceiling_probe *ceiling_open(int threads, diag_list *diags);
void ceiling_close(ceiling_probe *p);
/* Everything that does not depend on a kernel. False with a diagnostic. */
bool ceiling_measure(ceiling_probe *p, session *s, ceilings *out, diag_list *diags);
/* Bytes a second of reading, and of copying (bytes read and bytes written both count), over a working set of so many bytes:
 * repeated, so that what fits a cache comes from it. */
bool ceiling_bandwidth(ceiling_probe *p, int64_t bytes, double *read, double *copy, diag_list *diags);

/* The same for a device with queues ("cuda"), by copying and reading so many bytes there, and by multiplying and adding where it takes
 * CUDA C++. `host`: where the data is made. False with a diagnostic. */
bool ceiling_measure_device(session *host, const char *device, int64_t bytes, ceilings *out, diag_list *diags);

/* Which ceiling binds a piece of work, and how much of it a time reaches. */
typedef struct ceiling_share {
    const char *name; /* "read", "copy", "fma", "matrix", "launch"; NULL: the amount of work is not known */
    double percent;
    bool launch_bound; /* under twice the launch floor */
} ceiling_share;
ceiling_share ceiling_judge(const ceilings *c, double bytes_read, double bytes_written, double operations,
                            double matrix_operations, double read, double copy, double launch_ns, double ns);
#endif
