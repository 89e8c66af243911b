/* What a device is like beside its matrix units: caches, banks of shared memory, what it refuses. A trait asks a black box, which is a device or a simulated one
 * with planted facts. */
#ifndef TILEC_PROBE_TRAIT_H
#define TILEC_PROBE_TRAIT_H
#include "base/diag.h"
#include "probe/access.h"
#include <jansson.h>

typedef enum trait_limit {
    LIMIT_THREADS,         /* of a block */
    LIMIT_SHARED_DECLARED, /* bytes of shared memory of a block that a kernel declares */
    LIMIT_SHARED_ASKED,    /* and that a launch asks for */
    LIMIT_BLOCKS_Y,        /* of a launch, along y */
    LIMIT_BLOCKS_Z,        /* along z */
    LIMIT_THREADS_Z,       /* of a block, along z */
    LIMIT_PARAMETERS,      /* bytes of a kernel's parameters */
    LIMIT_REGISTERS,       /* of a thread, of a kernel that wants more */
    LIMIT_THREADS_FULL,    /* of a block, of such a kernel */
    LIMIT_MAP_BOX,         /* elements of a tensor map's box along a dimension */
    LIMIT_MAP_SWIZZLED,    /* pieces of 16 bytes of its innermost dimension under a swizzle of 128 bytes */
    LIMIT_COUNT
} trait_limit;
extern const char *const trait_limit_names[LIMIT_COUNT];

/* A device as traits see it. A function that it lacks is NULL: the traits that need it are not asked. Each returns false with a diagnostic when the device fails. */
typedef struct trait_box {
    const char *device;    /* "cuda:0" */
    char description[512]; /* in words */
    void *context;
    int64_t most_bytes; /* of a ring */
    int page;           /* bytes of a page where the ring's may be small; 0: nobody looks whether pages have a part in times */
    /* Nanoseconds a hop of a chain of loads through the slots of a ring, each once, in an order that nothing foresees, as often as needed for the caches to hold
     * what they can. `beside` > 0: each hop also loads so many bytes behind the slot's beginning, after that. */
    bool (*chase)(void *context, int64_t bytes, int slot, int beside, double *ns, diag_list *diags);
    /* Nanoseconds of one load by each of a block's 1024 threads, many following each other: thread l of a subgroup of 32 reads `words` words of 4 bytes from word
     * l x stride on. Of the device's processors one at least runs such a block. */
    bool (*shared)(void *context, int stride, int words, double *ns, diag_list *diags);
    bool (*accepts)(void *context, trait_limit limit, int64_t value, bool *accepted, diag_list *diags);
    int64_t (*told)(void *context,
                    trait_limit limit); /* what the driver or the guide says; 0: nothing; -1: there is no such limit */
    /* Accesses by number (NULL past the last) with the documented alignment, and what becomes of one so many bytes behind an aligned place. */
    const char *(*access_name)(const struct trait_box *box, int number, int *documented);
    bool (*touches)(const struct trait_box *box, arena *a, int number, int offset, access_outcome *outcome, const char **words,
                    diag_list *diags);
    int64_t (*cache_told)(void *context,
                          int level); /* bytes of the caches that documents or the system tell, nearest first; 0: no more */
    void (*close)(void *context);
} trait_box;

typedef struct trait_number {
    const char *name;
    double value;
} trait_number;

typedef struct trait_finding {
    bool asked, determined, contradicted;
    int questions;
    const char *verdict, *claim; /* claim: what the documents or the driver say; NULL: nothing */
    VEC(const char *) evidence;
    VEC(trait_number) numbers; /* what was found, for programs */
} trait_finding;

typedef struct trait_row {
    const char *name, *asks, *method;
    bool (*find)(arena *a, const trait_box *box, trait_finding *out, diag_list *diags);
} trait_row;
extern const trait_row trait_rows[];
extern const int trait_count;
const trait_row *trait_find_row(const char *name); /* NULL: there is none */

/* Row by row of trait_rows, one file each. `asked` stays false where the box cannot answer. */
bool trait_caches(arena *a, const trait_box *box, trait_finding *out, diag_list *diags);
bool trait_line(arena *a, const trait_box *box, trait_finding *out, diag_list *diags);
bool trait_banks(arena *a, const trait_box *box, trait_finding *out, diag_list *diags);
bool trait_limits(arena *a, const trait_box *box, trait_finding *out, diag_list *diags);
bool trait_alignment(arena *a, const trait_box *box, trait_finding *out, diag_list *diags);

/* Opens "cpu", "cuda:N" or "opencl:N". False with a diagnostic. */
bool trait_open(const char *device, trait_box *out, diag_list *diags);
void trait_close(trait_box *box);
bool trait_open_texts(const char *device, trait_box *out, diag_list *diags); /* devices that take texts */
bool trait_open_cpu(trait_box *out, diag_list *diags);
/* The ring of such a chase: `bytes` of words, each slot's first naming the next slot (or itself, and the word `beside` bytes behind it the next), as a number of
 * words from the beginning. One cycle, whose order follows from the seed. */
void trait_ring(uint32_t *ring, int64_t bytes, int slot, int beside, uint64_t seed);

/* Kernels that traits are asked with, for "cuda" and "opencl" (trait_kernels.c); heap memory. The first TRAIT_TEXTS go into kits, in files of these names. */
typedef enum trait_kernel {
    TRAIT_HOP,
    TRAIT_BANKS, /* of 1 word; the next two: of 2 and of 4 */
    TRAIT_EMPTY = TRAIT_BANKS + 3,
    TRAIT_TEXTS,
    TRAIT_HEAVY = TRAIT_TEXTS, /* with more live values than a thread can have registers */
    TRAIT_KERNELS
} trait_kernel;
extern const char *const trait_text_names[TRAIT_TEXTS], *const trait_text_entries[TRAIT_KERNELS];
char *trait_text(const char *target, trait_kernel which);
char *trait_text_of(const char *target, trait_kernel which, const char *attribute); /* "__maxnreg__(64)": of CUDA's function */
/* "name(parameters) {..}" in the words that both spellings have, behind `before`. */
char *trait_text_around(const char *target, const char *before, const char *text);

void trait_add_number(arena *a, trait_finding *f, const char *name, double value); /* the name outlives the finding */
void trait_print(const trait_row *row, const trait_finding *f, bool evidence);
/* A row for the store. */
void trait_json(const trait_box *box, const trait_row *row, const trait_finding *f, json_t *rows);

/* A simulated device, for tests: sizes and times of its caches (the last time is that of memory), what comes with a miss, banks, limits; `noise`: every answer is
 * off by up to so much of itself, now more, now less; `fails_after` questions (0: never). */
typedef struct simulated_traits {
    int64_t cache_bytes[4], cache_told[4];
    double cache_ns[5];
    int caches, line, banks;
    int page,
        pages; /* beyond so many pages of a ring a hop takes a nanosecond more for each time that their number doubles; 0: pages have no part */
    int64_t limits[LIMIT_COUNT], told[LIMIT_COUNT];
    int alignment[4]; /* that four accesses take, which should want 4, 8, 16 and 32; 0: not taken at all */
    double noise;
    int fails_after, asked;
} simulated_traits;
trait_box simulated_trait_box(simulated_traits *s);
#endif
