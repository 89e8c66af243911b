/* Diagnostics: every failure is a value in a list, with a stable code, a place, a caret text and notes. */
#ifndef TILEC_BASE_DIAG_H
#define TILEC_BASE_DIAG_H
#include "base/arena.h"
#include <stdio.h>

/* A place in a source text. line and column count from 1; line 0 means "the file as a whole". */
typedef struct source_span {
    const char *file;
    int line, column, length;
} source_span;

typedef enum { SEVERITY_ERROR, SEVERITY_WARNING, SEVERITY_NOTE } severity;

typedef struct diag {
    const char *code; /* "E0214"; a row of base/errors.def */
    severity severity;
    source_span span;
    const char *message;     /* one line */
    const char *caret;       /* text after the caret: the mend; NULL for none */
    VEC(const char *) notes; /* further lines, each printed behind "| " */
} diag;

/* A source text that diagnostics quote from. */
typedef struct source_text {
    const char *file, *text;
} source_text;

typedef struct diag_list {
    arena *arena;
    VEC(diag *) items;
    VEC(source_text) sources;
    int errors; /* how many of items are errors */
} diag_list;

void diag_init(diag_list *d, arena *a);
void diag_add_source(diag_list *d, const char *file, const char *text);
/* Adds an error. `code` must be a row of errors.def (a test checks every code used). Returns it, so that caret and notes can be added. */
diag *diag_error(diag_list *d, const char *code, source_span span, const char *message, ...) PRINTF_LIKE(4, 5);
diag *diag_warning(diag_list *d, const char *code, source_span span, const char *message, ...) PRINTF_LIKE(4, 5);
void diag_caret(diag_list *d, diag *g, const char *format, ...) PRINTF_LIKE(3, 4); /* g may be NULL: ignored */
void diag_note(diag_list *d, diag *g, const char *format, ...) PRINTF_LIKE(3, 4);
/* Prints one as language.md shows it: "file:line:col: error E0214: text", the quoted line, the caret line, notes behind "| ". */
void diag_print(const diag_list *d, const diag *g, FILE *out, bool colour);
void diag_print_all(const diag_list *d, FILE *out, bool colour);

/* One row of errors.def: the code's title and what `tilec explain CODE` prints. */
typedef struct error_entry {
    const char *code, *title, *explanation;
} error_entry;
extern const error_entry error_entries[];
extern const int error_entry_count;
const error_entry *error_find(const char *code); /* NULL when there is none */
#endif
