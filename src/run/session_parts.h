/* What the session's files share among themselves; others use session.h. */
#ifndef TILEC_RUN_SESSION_PARTS_H
#define TILEC_RUN_SESSION_PARTS_H
#include "run/session.h"
#include "tile/split.h"

/* A kernel compiled in this session. The key is everything of the module and the call that can change the code. */
typedef struct compiled_entry {
    const tile_kernel *kernel;
    arena *arena;    /* of everything the compile made */
    const char *key; /* NULL: it was refused, and is kept to be explained only */
    compiled_kernel *compiled;
    device_kernel *loaded;
} compiled_entry;

/* What the kernel's launches choose from under these statics and settings: asked for once, not by each. launch_choice.c */
typedef struct launch_choices {
    const tile_kernel *kernel;
    const char *key;
    const few_choice *few;       /* whether tasks are few; NULL: never */
    const tall_choice *tall;     /* rows of products on threads; NULL: never */
    product_choice *products[2]; /* tiles of products, tasks being few or not; NULL: there is nothing to choose */
} launch_choices;

/* The tiles by which launches of a kernel are counted, under these settings: asked for once. launch_choice.c */
typedef struct kept_sizes {
    const tile_kernel *kernel;
    const char *key;
    const split_sizes *sizes;
} kept_sizes;

struct session {
    arena *arena;
    const runtime *runtime;
    const target *target;
    const char *target_route; /* why that one, where the device could take several; NULL */
    device *device;
    char name[64];
    int index;          /* of the device, among the runtime's */
    bool shares_memory; /* host pointers go to the device as they are */
    VEC(compiled_entry) compiled;
    VEC(launch_choices *) choices;
    VEC(kept_sizes) sizes;
    split_device processors;  /* of the device, for schedules; units 0: not asked yet */
    VEC(tile_split *) splits; /* of the kernels that some launch ran in two */
};

/* A scalar has another value: a call that was split by it is solved anew. call_solve.c */
void call_scalar_changed(run_call *c, const tile_scalar *s);
/* Compiles and loads the step's kernel for the statics its binding knows and the call's settings, or finds it compiled; sets
 * step->compiled (a refused one's too) and step->loaded. */
bool session_compile_step(run_call *c, call_step *step, diag_list *diags);

/* The processors of the session's device, for schedules. launch_choice.c */
split_device session_processors(session *s);
/* The tiles of the call's kernel as it is, for schedule_split. launch_choice.c */
const split_sizes *session_split_sizes(run_call *c);
/* The settings that the step's launch takes besides those given, for the symbols its binding knows: added to `settings` and, as text, to `key`, which says those
 * given and the statics. */
typedef VEC(schedule_setting) setting_list;
void launch_settings(run_call *c, call_step *step, const tile_binding *statics, int static_count, setting_list *settings,
                     text_buffer *key);

/* Whether an array declared as one type may be given as another (bytes of a block format, i32 words of an index array). */
bool session_type_fits(element_type declared, element_type given);
#endif
