/* Rows as lines of text, while they come. */
#ifndef TILEC_BENCH_TEXT_H
#define TILEC_BENCH_TEXT_H
#include "base/arena.h"
#include <jansson.h>

/* The heading of a cell, from one of its rows, and a line for each row. */
void bench_text_cell(text_buffer *out, const json_t *row);
void bench_text_row(text_buffer *out, const json_t *row);
/* What a tournament's rows (one cell) say: which levers count, compound, cancel. Empty when they are none. */
void bench_text_tournament(text_buffer *out, const json_t *rows);
/* "281 ns", "4.31 us", "17.7 ms": three digits. */
void bench_text_time(text_buffer *out, double ns);
#endif
