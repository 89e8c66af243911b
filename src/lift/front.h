/* What the languages' readers share. Private to lift/. */
#ifndef TILEC_LIFT_FRONT_H
#define TILEC_LIFT_FRONT_H
#include "lift/clang.h"
#include "lift/declarations.h"
#include "lift/source.h"

enum { FRONT_ERROR_LIMIT = 10 }; /* errors of clang that are shown */

typedef VEC(const char *) front_words;

/* A kernel as the source declares it: what the IR does not tell. */
typedef struct front_signature {
    const char *name;               /* without template arguments */
    VEC(const char *) types, names; /* of its parameters */
} front_signature;

/* One reading. */
typedef struct front {
    arena *arena;
    const char *path, *text;
    source_language language;
    const source_options *options;
    diag_list *diags;
    clang clang;
    const char *folder; /* private; removed by lift_source */
    VEC(front_signature) signatures;
    VEC(const char *) constants; /* Metal's function constants without a value */
    VEC(const char *) expected;  /* host names that the source has, and that were asked for: each must come out */
    front_words words;           /* clang's arguments that every step has: language, target, defines, folders */
} front;

void front_word(front *f, const char *format, ...) PRINTF_LIKE(2, 3);
/* The source as the file NAME in the private folder, behind a line marker that names its path, and between two other texts. */
bool front_write_source(front *f, const char *name, const char *before, const char *text, const char *after);
/* Preprocesses NAME of the folder with further arguments; the text in the arena. Messages are left to the caller. NULL when clang refuses. */
const char *front_preprocess(front *f, const char *name, const front_words *more, size_t *length, clang_messages *messages);
/* Compiles NAME to IR text. Messages are left to the caller. NULL when clang refuses. */
const char *front_compile(front *f, const char *name, const front_words *more, size_t *length, clang_messages *messages);
/* "No kernel is called X": E1104, with the nearest of those there are. */
void front_no_kernel(front *f, const char *name, const char *const *names, int count);
/* What the source says of a kernel's parameters. */
void front_keep_signature(front *f, const tokens *t, const declaration *d, const char *name_of_kernel);
bool front_is_called(arena *a, const char *host_name, const char *wanted);
bool front_wants(const front *f, const char *host_name); /* among the options' kernels, or those are not given */

/* The languages. Each fills in the module's text; false with diagnostics. */
bool front_opencl(front *f, source_module *m);
/* The text as clang is given it, with warnings. */
const char *front_opencl_text(front *f);
bool front_c(front *f, source_module *m);
bool front_cuda(front *f, source_module *m);
bool front_metal(front *f, source_module *m);
bool front_metal_names(front *f, source_names *names);
/* Of a preprocessed text, without clang: what it would be given. "" with diagnostics. */
const char *front_cuda_text(front *f, const char *text, size_t length);
const char *front_metal_text(front *f, const char *text, size_t length);
#endif
