/* The findings page. */
#ifndef TILEC_PROBE_FINDINGS_H
#define TILEC_PROBE_FINDINGS_H
#include "base/arena.h"
#include <jansson.h>
#include <stdbool.h>

/* One self-contained page of the newest rows of each device, instruction and fact: what is documented, what was asked and how, what was measured, the
 * evidence. The same rows give the same bytes. False when there are none. */
bool findings_page(const json_t *rows, text_buffer *out);
#endif
