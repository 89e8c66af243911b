/* Parts of the findings page, between findings.c and findings_summary.c. */
#ifndef TILEC_PROBE_FINDINGS_PARTS_H
#define TILEC_PROBE_FINDINGS_PARTS_H
#include "base/arena.h"
#include <jansson.h>

/* A string of a row; "": it has none. */
const char *findings_text(const json_t *row, const char *name);
/* With what HTML would take otherwise written out. */
void findings_add(text_buffer *out, const char *text);
bool findings_same_device(const json_t *x, const json_t *y);
/* What stands before the devices: how many facts, what the documents have otherwise, the units side by side, the models that are refuted. */
void findings_summary(const json_t *const *rows, size_t count, text_buffer *out);
#endif
