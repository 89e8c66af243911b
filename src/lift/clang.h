/* clang as a tool: finding it, running it in a private folder, and its errors as located diagnostics. Private to lift/. */
#ifndef TILEC_LIFT_CLANG_H
#define TILEC_LIFT_CLANG_H
#include "base/diag.h"

typedef struct clang {
    const char *path, *version; /* "/usr/bin/clang-19", "19.1.7" */
    int major;
} clang;
/* $TILEC_CLANG, else clang-19, else the newest of clang-22 to clang-18, else a clang that says it is one of those. False with E1100, which says what to install. */
bool clang_find(arena *a, clang *c, diag_list *diags);

/* A private folder with what one compilation needs; text of the arena, which the caller removes (temporary_remove). NULL with E1101. */
const char *clang_folder(arena *a, diag_list *diags);
bool clang_write(arena *a, const char *folder, const char *name, const char *text, size_t length, diag_list *diags); /* E1101 */

/* Runs clang with these arguments (no shell), reading nothing. Its errors stay in `messages` (text of the arena). Exit status; -1 with E1101 when it
 * could not be run. */
int clang_run(arena *a, const clang *c, const char *folder, const char *const *arguments, int count, const char **messages,
              diag_list *diags);

/* One message of clang. */
typedef struct clang_message {
    source_span span; /* file and line as clang says them: those of the source, by its line markers */
    enum { CLANG_NOTE, CLANG_WARNING, CLANG_ERROR } kind;
    const char *text;
} clang_message;
typedef VEC(clang_message) clang_messages;
void clang_read_messages(arena *a, const char *output, clang_messages *out);
/* Does the line of the source that the span names hold this character? */
bool clang_line_has(arena *a, source_span span, char c, diag_list *diags);
/* The errors among them as diagnostics of this code, notes with them, at most `limit`. `exact`: columns are those of the source. True when there was one. */
bool clang_report(arena *a, const clang_messages *m, const char *code, bool exact, int limit, diag_list *diags);
#endif
