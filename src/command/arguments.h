/* Arguments and results on the command line: --arg NAME=WHAT and --out NAME=FILE. */
#ifndef TILEC_COMMAND_ARGUMENTS_H
#define TILEC_COMMAND_ARGUMENTS_H
#include "command/command.h"
#include "run/recipe.h"
#include "run/run.h"
#include "run/session.h"

/* What stands behind NAME=: a file's array, a number, or a recipe. */
typedef struct argument_source {
    const char *name;
    bool is_recipe;
    recipe_kind recipe;
    uint64_t seed;
    npy_array file; /* data NULL when it is none */
} argument_source;

typedef struct argument_list {
    arena *arena;
    run_call *call;
    VEC(argument_source) items;
    bool has_awkward; /* adversarial data: many bounds say nothing, rightly */
    diag_list *diags;
} argument_list;

/* Reads one NAME=WHAT and binds it to the call; recipes wait until shapes are known. False with E0864 to E0866 or a file's diagnostic. */
bool arguments_add(argument_list *list, const char *text);
/* Makes and fills the arrays given by a recipe, once the call is solved. */
bool arguments_fill(argument_list *list);
void arguments_free(argument_list *list);
/* Writes an array of the call to a .npy file, whole or not at all. False with E0867 or a file's diagnostic. */
bool arguments_write(run_call *c, const char *name, const char *path, diag_list *diags);
#endif
