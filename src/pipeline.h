/* THE list of passes, in order, from a kernel's Tile IR to the text a target compiles. */
#ifndef TILEC_PIPELINE_H
#define TILEC_PIPELINE_H
#include "compile.h"

/* What the passes hand on. */
typedef struct pipeline_state {
    arena *arena;
    const tile_module *module;
    const compile_options *options;
    compiled_kernel *out;
    diag_list *diags;
    text_buffer emitted; /* the target's text, once the last pass ran */
    bool wants_text;     /* the last pass runs only for a dump: runtimes ask the target themselves */
} pipeline_state;

typedef struct pass {
    char letter; /* for --dump=LETTERS */
    const char *name;
    const char *what; /* one line for people */
    bool (*run)(pipeline_state *s);
    bool (*check)(pipeline_state *s);                         /* the checker that runs after it; NULL for none */
    void (*print)(const pipeline_state *s, text_buffer *out); /* the IR after it */
} pass;
extern const pass pipeline[];
extern const int pipeline_count;

/* Runs every pass and its checker on s->out (source set by the caller). False, with diagnostics, at the first that fails. */
bool pipeline_run(pipeline_state *s);
/* The letter in `letters` that names no pass; 0 when all do. */
char pipeline_unknown_letter(const char *letters);
#endif
