/* The system's C compiler as a tool: finding it, what identifies it, running it. Private to run/. */
#ifndef TILEC_RUN_COMPILER_H
#define TILEC_RUN_COMPILER_H
#include "base/diag.h"

typedef struct compiler compiler;
/* $TILEC_CC (words: a program and its first arguments), else cc. NULL with E0840 when there is none. */
compiler *compiler_find(diag_list *diags);
void compiler_free(compiler *c);
/* Everything besides the text that can change the code: the program's path, size and time, its flags, the processor's features. */
const char *compiler_identity(const compiler *c);
/* A fresh private folder: in $TMPDIR or /tmp, else in `otherwise` (may be NULL). Heap text; NULL with errno.
 * The caller ends it: temporary_remove, or, where an object in it is in use until then, compiler_remove_at_exit. */
char *compiler_work_folder(const char *otherwise);
/* Compiles `text` to a shared object in the folder. Its path (heap); NULL with E0841 or E0843. */
char *compiler_run(compiler *c, const char *folder, const char *text, diag_list *diags);
/* Compiles the folder's `files` (NULL ends them) to its file `program`, which stops where it leaves an array or does what C leaves undefined; where the compiler
 * has no such checks, without them, and *checked is false. False with E0841 or E0843. */
bool compiler_make_program(compiler *c, const char *folder, const char *const *files, bool *checked, diag_list *diags);
/* Runs that program, the folder its one argument: its exit status (see process_run). */
int compiler_run_program(const char *folder);
/* What the compiler or that program said last, as notes. */
void compiler_note_output(diag_list *diags, diag *g, const char *folder);
void compiler_remove_at_exit(const char *folder);
#endif
