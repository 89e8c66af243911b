/* A program's C (`tilec build --kernel PROGRAM`) run as another program would run it: compiled with checks of addresses and of what C leaves undefined, called
 * once on arrays that are exactly as long as they are declared. */
#ifndef TILEC_RUN_BUILT_H
#define TILEC_RUN_BUILT_H
#include "base/diag.h"

typedef struct built_array {
    int64_t bytes;
    void *data; /* in; and out where it is written */
    bool written;
} built_array;

typedef struct built_call {
    const char *name;   /* of the function; NAME.h declares it, NAME_error explains its codes */
    const char *folder; /* that holds NAME.c and NAME.h, and is the caller's; more files come there */
    const built_array *arrays;
    int array_count;
    const char *values; /* the arguments behind the arrays, as C: "5, 0.75f" */
} built_call;

/* A fresh folder for such files, to be ended by temporary_remove (base/temporary.h). Heap text; NULL with E0842. */
char *built_folder(diag_list *diags);
/* False with diagnostics: no compiler (E0840), a text that it refuses (E0843), or a call that fails or leaves its arrays (E0876). *checked: the compiler had those checks. */
bool built_run(arena *a, const built_call *call, source_span span, bool *checked, diag_list *diags);
#endif
