/* The store: JSON lines, one file an environment, appended whole or not at all. doc/bench.md lists the fields. */
#ifndef TILEC_BENCH_STORE_H
#define TILEC_BENCH_STORE_H
#include "base/diag.h"
#include <jansson.h>

#define STORE_SCHEMA 1

/* Appends a row to FOLDER/ENVIRONMENT.jsonl (the folder is made when missing): one write under a lock, then fsync. Gives the row
 * an "id", the hash of its content, when it has none. False with E1001 or E1002; then the file is as it was. */
bool store_append(const char *folder, const char *environment, json_t *row, diag_list *diags);
/* Reads a file, or every .jsonl file of a folder in the order of their names, into one array. Lines that are no JSON object (a
 * writer was killed, a disk was full) are left out and counted in a warning (E1003). A missing folder has no rows. NULL with a
 * diagnostic when something cannot be read. */
json_t *store_read(const char *path, diag_list *diags);
/* Appends the rows of `from` (files or folders) that `folder` lacks. False with a diagnostic. */
bool store_merge(const char *folder, const char *const *from, int count, int *added, int *known, diag_list *diags);
/* The view as comma-separated values: nested objects become columns like `ratio.low`. */
void store_csv(const json_t *rows, text_buffer *out);
#endif
