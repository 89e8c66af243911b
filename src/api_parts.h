/* What the files of the public C API share among themselves. */
#ifndef TILEC_API_PARTS_H
#define TILEC_API_PARTS_H
#include "tilec.h"
#include "run/session.h"
#include <pthread.h>

/* One thread's last failure on a context. A thread that ends leaves its report to the next one with its id: there are never more of them
 * than threads that used the context at one time. */
typedef struct api_report {
    struct api_report *next;
    pthread_t thread;
    arena *arena; /* NULL while it has nothing to tell */
    VEC(tilec_diagnostic) items;
    const char *text; /* of all, when the function failed */
} api_report;

struct tilec_context {
    pthread_mutex_t lock; /* held by every function that touches what hangs on the context */
    session *session;     /* NULL: the device could not be opened */
    tilec_module *modules;
    api_report *reports;
};

struct tilec_module {
    tilec_context *context;
    tilec_module *next;
    tilec_call *calls;
    arena *arena;
    const tile_module *module;
    VEC(source_text) sources; /* later diagnostics quote them */
};

struct tilec_call {
    tilec_module *module;
    tilec_call *next;
    run_call *call;
    arena *view; /* what the inspecting functions have handed out; NULL once something changed */
    struct api_view *shown;
};

/* One function of the API at work: it has the context's lock from api_begin to api_end. */
typedef struct api_entry {
    tilec_context *context;
    arena *arena; /* of the diagnostics; gone after api_end */
    diag_list diags;
} api_entry;
/* `m` may be NULL: diagnostics then quote no text but what is added. */
void api_begin(api_entry *e, tilec_context *t, const tilec_module *m);
/* Copies the diagnostics into the thread's report, with the witnesses the proofs of `call` (or NULL) have. Returns `good`. */
bool api_end(api_entry *e, bool good, const run_call *call);
/* A beginning for functions that change a call: what was shown of it is out of date. */
void api_begin_call(api_entry *e, tilec_call *c);
void api_free_reports(tilec_context *t);

/* Copies a structure out to a caller whose version of it has `size` bytes, its first member. */
void api_copy_out(void *to, const void *from, size_t own_size);
/* Copies a caller's structure in, what it lacks zeroed; false (E0661) when its size cannot be. */
bool api_copy_in(api_entry *e, void *to, const void *from, size_t own_size, size_t least, const char *name);
tilec_type api_type(element_type type);
#endif
