/* The findings page. */
#ifndef TILEC_PROBE_FINDINGS_H
#define TILEC_PROBE_FINDINGS_H
#include "base/arena.h"
#include <jansson.h>
#include <stdbool.h>

/* One self-contained page of the newest rows of each device, instruction and fact: what is documented, what was asked and how, what was measured, the
 * evidence. The same rows give the same bytes. False when there are none. */
bool findings_page(const json_t *rows, text_buffer *out);
/* Of each device, instruction and fact the newest row, in the order of the first. A new array. */
json_t *findings_newest(const json_t *rows);
/* What programs need of the findings of the device that calls itself so ("NVIDIA H200"): the units of its instructions, speeds, traits, conversions, with the runs
 * that they come from. A new object; NULL: there are none. describe.c */
json_t *describe_device(const json_t *rows, const char *name);
#endif
