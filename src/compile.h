/* From source text to a proved plan: runs the passes of pipeline.c. */
#ifndef TILEC_COMPILE_H
#define TILEC_COMPILE_H
#include "prove/prove.h"
#include "schedule/schedule.h"
#include "target/target.h"
#include "tile/tile.h"

typedef struct compile_options {
    const target *target;
    const tile_binding *statics; int static_count;     /* --shape for statics */
    const tile_binding *tiles; int tile_count;         /* --set */
    const char *dump;                                  /* letters of pipeline.c */
    bool no_proof_limit;
} compile_options;

typedef struct compiled_kernel {
    const tile_module *module;
    const tile_kernel *source;      /* as written: TILE names free */
    const tile_kernel *tiles;       /* specialised: what the oracle runs */
    schedule_choice schedule;
    lowering lowered;
    proof proof;
    const proved_plan *plan;        /* NULL when it was refused */
} compiled_kernel;

/* Loads a file (parse, resolve, type-check) into Tile IR. NULL with diagnostics. */
tile_module *compile_load(arena *a, const char *path, const char *text, diag_list *diags);
/* Schedules, lowers, proves. False with diagnostics. */
bool compile_kernel(arena *a, const tile_module *m, const tile_kernel *k, const compile_options *o, compiled_kernel *out, diag_list *diags);
#endif
