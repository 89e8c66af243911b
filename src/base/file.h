/* Whole files: read at once, written whole or not at all. */
#ifndef TILEC_BASE_FILE_H
#define TILEC_BASE_FILE_H
#include "base/diag.h"

enum { FILE_SOURCE_LIMIT = 16 * 1024 * 1024 }; /* bytes a source text may have */

/* Reads a whole file into the arena, with a NUL behind it. At most `limit` bytes are allowed. NULL with a diagnostic
 * (E0880 to E0884) when the file is missing, not permitted, a folder, too large, or reading fails. `length` may be NULL. */
char *file_read(arena *a, const char *path, size_t limit, size_t *length, diag_list *diags);
/* Writes a file whole or not at all: a temporary beside it, fsync, rename. A file that was there keeps its permissions,
 * and its content if anything fails. A path that is no regular file (/dev/stdout, a pipe) is written directly.
 * False with a diagnostic (E0885, E0886). */
bool file_write(const char *path, const void *bytes, size_t length, diag_list *diags);
/* Makes a folder and its parents (an existing one is fine). False with a diagnostic (E0887). */
bool file_make_folders(const char *path, diag_list *diags);
bool file_exists(const char *path);
#endif
