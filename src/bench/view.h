/* Rows made ready for reports: the newest row of each thing, several launches joined, what is stale marked. */
#ifndef TILEC_BENCH_VIEW_H
#define TILEC_BENCH_VIEW_H
#include "base/arena.h"
#include <jansson.h>

/* Of a row or an object in it: "" and NaN when there is no such text or number. */
const char *row_text(const json_t *row, const char *key);
double row_number(const json_t *row, const char *key);

typedef struct view_entry {
    const json_t *row; /* of the newest run (its last launch) */
    const char *kernel, *shape, *arguments, *arm, *mode, *environment, *lever;
    const char *device; /* that the first arm of its cell names, as in ours@cuda; "": the host */
    const char *beside; /* the kernel of its cell's first arm, where that is another; "": the row's own */
    bool apart;         /* of a tournament, or beside another kernel: not for tables and pictures of a kernel's arms */
    int threads;
    int rank;        /* of its arm among those of its place by how many rows they have, from 1; 0 for ours */
    bool timed;      /* status pass */
    bool stale;      /* the kernel has another meaning by now, or is gone */
    bool superseded; /* what its ratio is to was measured again since: it leaves the view */
    bool loaded;     /* taken in a bad state of the machine */
    bool launch_bound;
    double ns;
    int launches;            /* of the run */
    bool has_ratio;          /* not the first arm */
    double ratio, low, high; /* several launches: the median of their medians, and the widest interval */
    const char *first, *verdict;
} view_entry;

typedef struct view {
    arena *arena;
    VEC(view_entry) entries; /* by place, kernel, shape and work; each in the order in which they first appear */
    json_t *rows;
    json_t *machines; /* environment hash -> the machine of its newest run */
    json_t *environments; /* environment hash -> the one that stands for it, whose machine is the same but for the build of the system's kernel */
    json_t *ceilings; /* "environment threads" -> the newest ceilings row */
    int stale, loaded, failed, unsupported;
} view;

/* `hashes`: kernel name -> its meaning's hash now; NULL when that is not known. Keeps a reference to the rows. */
view *view_new(json_t *rows, const json_t *hashes);
void view_free(view *v);
const json_t *view_ceilings(const view *v, const char *environment, int threads); /* NULL */
/* A name for an arm that people read: "NumPy", "OpenBLAS", "ours". Arena text. */
const char *view_arm_name(const view *v, const view_entry *e);
/* Whether it is ours, as what the others are compared with: not ours in another form beside that. */
bool view_is_ours(const view *v, const view_entry *e);
/* "64 x 64 x 64" for products, "N = 1536" otherwise, with arguments that change the work. Arena text. */
const char *view_shape_name(const view *v, const view_entry *e);
/* Whether they are arms of one cell: kernel, shape, data, threads, machine and device. */
bool view_same_work(const view_entry *x, const view_entry *y);
/* Whether they are of one machine and one device of it. */
bool view_same_place(const view_entry *x, const view_entry *y);
#endif
